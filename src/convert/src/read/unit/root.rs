//! Reads from the root DIE of a unit which compiler made it.

use crate::model::Together;
use crate::program::names::toolchain::Producer;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::space::string_within;
use crate::read::unit::roles::Role;
use crate::read::unit::walk::{UnitEntries, Walk};

/// The most bytes of `DW_AT_producer` that are read: the compiler's name and its command line.
const MAX_PRODUCER: usize = 4096;

impl<'f, E: Endianity> Walk<'_, 'f, E> {
    /// Reads producer and language from the root DIE (DWARF 5 3.1.1).
    pub(crate) fn root(
        &mut self,
        entries: &mut UnitEntries<'_, 'f, E>,
        mut entry: Entry<Role>,
    ) -> gimli::Result<()> {
        let (mut producer, mut language) = (Producer::default(), None);
        while let Some(attribute) = entries.attribute(&mut entry)? {
            match attribute.name {
                gimli::DW_AT_producer => {
                    let text = string_within(self.dwarf, self.unit, attribute.value, MAX_PRODUCER);
                    let text = text.as_ref().map_or(&[][..], |text| text.slice());
                    producer = Producer::of(text);
                    // The rest of a cut command line may have any option.
                    producer.merges |= text.len() >= MAX_PRODUCER;
                }
                gimli::DW_AT_language => language = attribute.number(),
                _ => {}
            }
        }
        let is = |of: gimli::DwLang| language == Some(of.0.into());
        self.out.head.assembly = is(gimli::DW_LANG_Mips_Assembler);
        self.out.head.keeps_callees = producer.keeps_callees;
        self.out.head.merges_nothing = producer.merges_nothing;
        self.out.head.rewrites = match producer.keeps_callees {
            true => producer.of_link.then_some(Together::Program),
            false if producer.merges || is(gimli::DW_LANG_Rust) || is(gimli::DW_LANG_Swift) => {
                Some(Together::Object(self.unit.header.debug_abbrev_offset().0 as u64))
            }
            false => None,
        };
        Ok(())
    }
}

//! Reads what the root of a unit says of the compiler that made it.

use super::roles::Role;
use super::{UnitEntries, UnitReader};
use crate::model::Together;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::units::space::string_within;

/// What gcc's names of itself begin with.
const GNU: &[u8] = b"GNU ";

/// And where it compiles what `-flto` kept of all units.
const GIMPLE: &[u8] = b"GNU GIMPLE ";

/// Go's own compiler.
const GO: &[u8] = b"Go cmd/compile";

/// How clang is asked to merge functions, where it writes its command line (`-grecord-command-line`).
const MERGES: &[u8] = b"-fmerge-functions";

/// Bytes of a compiler's name of itself, with its command line, that are read.
const MAX_PRODUCER: usize = 4096;

impl<'f, E: Endianity> UnitReader<'_, 'f, E> {
    /// Reads what the root says of the compiler (DWARF 5 3.1.1).
    pub(crate) fn root(
        &mut self,
        entries: &mut UnitEntries<'_, 'f, E>,
        mut entry: Entry<Role>,
    ) -> gimli::Result<()> {
        let (mut linked, mut merges, mut language) = (false, false, None);
        while let Some(attribute) = entries.attribute(&mut entry)? {
            match attribute.name {
                gimli::DW_AT_producer => {
                    let producer = string_within(self.dwarf, self.unit, attribute.value, MAX_PRODUCER);
                    let producer = producer.as_ref().map_or(&[][..], |text| text.slice());
                    self.out.keeps_callees = producer.starts_with(GNU);
                    self.out.merges_nothing = producer.starts_with(GO);
                    linked = producer.starts_with(GIMPLE);
                    merges = memchr::memmem::find(producer, MERGES).is_some();
                }
                gimli::DW_AT_language => language = attribute.number(),
                _ => {}
            }
        }
        let is = |of: gimli::DwLang| language == Some(of.0.into());
        self.out.assembly = is(gimli::DW_LANG_Mips_Assembler);
        self.out.rewrites = match self.out.keeps_callees {
            true => linked.then_some(Together::Program),
            false if merges || is(gimli::DW_LANG_Rust) || is(gimli::DW_LANG_Swift) => {
                Some(Together::Object(self.unit.header.debug_abbrev_offset().0 as u64))
            }
            false => None,
        };
        Ok(())
    }
}

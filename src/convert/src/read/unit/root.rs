//! Reads from the root DIE of a unit which compiler made it.

use crate::model::Together;
use crate::read::limits::MAX_PRODUCER;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::space::string_within;
use crate::read::unit::language::{Language, Languages};
use crate::read::unit::roles::Role;
use crate::read::unit::walked_unit::{UnitEntries, WalkedUnit};
use crate::toolchain::producers::Producer;

/// The bytes of `DW_AT_producer` that are shown: it may have the whole command line.
const MAX_PRODUCER_NAME: usize = 120;

/// What a unit's compiler does to functions. See the fields of [`UnitHead`](crate::model::UnitHead) with the same names.
pub(crate) struct Compiler {
    pub(crate) assembly: bool,
    pub(crate) c: bool,
    pub(crate) keeps_callees: bool,
    pub(crate) merges_nothing: bool,
    pub(crate) rewrites: Option<Together>,
    /// It counts as one that merges functions only because the text that names it is cut.
    pub(crate) is_cut: bool,
    /// The beginning of its name, if the options ask for sequences; else empty.
    pub(crate) producer: Vec<u8>,
}

/// Reads producer and language from the root DIE (DWARF 5 3.1.1).
pub(crate) fn compiler<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    entries: &mut UnitEntries<'_, 'f, E>,
    mut entry: Entry<Role>,
) -> gimli::Result<Compiler> {
    let (mut producer, mut languages, mut is_long) = (Producer::default(), Languages::default(), false);
    let mut name = Vec::new();
    while let Some(attribute) = entries.attribute(&mut entry)? {
        match attribute.name {
            gimli::DW_AT_producer => {
                let text = string_within(unit.dwarf, unit.unit, attribute.value, MAX_PRODUCER);
                let text = text.as_ref().map_or(&[][..], |text| text.slice());
                producer = Producer::of(text);
                is_long = text.len() >= MAX_PRODUCER;
                if unit.options.sequences {
                    name = text[..text.len().min(MAX_PRODUCER_NAME)].to_vec();
                }
            }
            other => languages.note(other, attribute.number()),
        }
    }
    // rustc and Swift always run LLVM's MergeFunctions, clang only with an option.
    let merges = producer.merges || languages.are(Language::Rust) || languages.are(Language::Swift);
    // The rest of a cut command line may have any option.
    let is_cut = is_long && !merges && !producer.keeps_callees && !producer.merges_nothing;
    Ok(Compiler {
        assembly: languages.are(Language::Assembly),
        c: languages.are(Language::C),
        keeps_callees: producer.keeps_callees,
        merges_nothing: producer.merges_nothing,
        rewrites: match producer.keeps_callees {
            // gcc names the function that the source called, so its calls can be trusted. With `-flto` that does not
            // hold.
            true => producer.of_link.then_some(Together::Program),
            false if merges || is_cut => {
                // LLVM writes one abbreviation table for all units of an object, so its offset shows which units were
                // compiled together.
                Some(Together::Object(unit.unit.header.debug_abbrev_offset().0 as u64))
            }
            false => None,
        },
        is_cut,
        producer: name,
    })
}

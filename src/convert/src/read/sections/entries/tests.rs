//! Walks random entries with plans and with `gimli`, attribute by attribute. Both must give the same result.

use gimli::{DwAt, DwForm, DwTag};
use proptest::prelude::*;

use crate::read::sections::abbreviations::AbbreviationTable;
use crate::read::sections::bytes::{Dwarf, Endianity};
use crate::read::sections::entries::*;

const WANTED_TAG: DwTag = gimli::DW_TAG_subprogram;
/// Wanted only inside open entries.
const INNER_TAG: DwTag = gimli::DW_TAG_structure_type;
const WANTED: Wanted<DwTag> = Wanted {
    role: |abbreviation| Some(abbreviation.tag).filter(|tag| [WANTED_TAG, INNER_TAG].contains(tag)),
    inner: |tag| tag == INNER_TAG,
    attribute: |name| {
        [gimli::DW_AT_low_pc, gimli::DW_AT_ranges, gimli::DW_AT_name, gimli::DW_AT_location].contains(&name)
    },
};
const TAGS: [DwTag; 3] = [WANTED_TAG, gimli::DW_TAG_variable, INNER_TAG];
const NAMES: [DwAt; 6] = [
    gimli::DW_AT_low_pc,
    gimli::DW_AT_ranges,
    gimli::DW_AT_name,
    gimli::DW_AT_type,
    gimli::DW_AT_location,
    gimli::DW_AT_decl_line,
];

/// Every form of the standard, GNU's forms, and an unknown one.
fn forms() -> Vec<DwForm> {
    let gnu = [
        gimli::DW_FORM_GNU_addr_index,
        gimli::DW_FORM_GNU_str_index,
        gimli::DW_FORM_GNU_ref_alt,
        gimli::DW_FORM_GNU_strp_alt,
    ];
    (1..=0x2d).map(DwForm).chain(gnu).collect()
}

/// Tag, whether it has children, and attributes.
type MadeAbbreviation = (DwTag, bool, Vec<(DwAt, DwForm)>);

#[derive(Clone, Debug)]
struct Made {
    version: u16,
    address_size: u8,
    abbreviations: Vec<MadeAbbreviation>,
    /// A factor of the codes. Large codes are in the sparse map.
    spread: u64,
    entries: Vec<u8>,
}

fn made() -> impl Strategy<Value = Made> {
    let attribute = (prop::sample::select(&NAMES[..]), prop::sample::select(forms()));
    let attributes = prop::collection::vec(attribute, 0..6);
    let abbreviation = (prop::sample::select(&TAGS[..]), any::<bool>(), attributes);
    // Small bytes are frequent, because they are valid codes and lengths.
    let byte = prop_oneof![4 => 0u8..8, 1 => any::<u8>()];
    (
        2u16..=5,
        prop::sample::select(&[2u8, 4, 8][..]),
        prop::collection::vec(abbreviation, 1..8),
        prop::sample::select(&[1u64, 5000][..]),
        prop::collection::vec(byte, 1..120),
    )
        .prop_map(|(version, address_size, abbreviations, spread, entries)| Made {
            version,
            address_size,
            abbreviations,
            spread,
            entries,
        })
}

fn uleb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

impl Made {
    /// `.debug_abbrev`
    fn abbreviations(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // The root, which must be readable.
        uleb(&mut out, 9);
        uleb(&mut out, gimli::DW_TAG_compile_unit.0.into());
        out.extend([1, 0, 0]);
        for (index, (tag, children, attributes)) in self.abbreviations.iter().enumerate() {
            let code = index as u64 + 1;
            uleb(&mut out, if code == 1 { self.spread } else { code });
            uleb(&mut out, tag.0.into());
            out.push((*children).into());
            for (name, form) in attributes {
                uleb(&mut out, name.0.into());
                uleb(&mut out, form.0.into());
                if *form == gimli::DW_FORM_implicit_const {
                    out.push(if *name == gimli::DW_AT_name { 0x7f } else { 5 });
                }
            }
            out.extend([0, 0]);
        }
        out.push(0);
        out
    }

    /// `.debug_info`
    fn info<E: Endianity>(&self, endian: E) -> Vec<u8> {
        let mut body = Vec::new();
        let short = |out: &mut Vec<u8>, value: u16| {
            out.extend(if endian.is_little_endian() { value.to_le_bytes() } else { value.to_be_bytes() });
        };
        let word = |out: &mut Vec<u8>, value: u32| {
            out.extend(if endian.is_little_endian() { value.to_le_bytes() } else { value.to_be_bytes() });
        };
        short(&mut body, self.version);
        if self.version >= 5 {
            body.extend([gimli::DW_UT_compile.0, self.address_size]);
            word(&mut body, 0);
        } else {
            word(&mut body, 0);
            body.push(self.address_size);
        }
        body.push(9);
        for &byte in &self.entries {
            // The first abbreviation also occurs if its code is large.
            if byte == 1 { uleb(&mut body, self.spread) } else { body.push(byte) }
        }
        let mut out = Vec::new();
        word(&mut out, body.len() as u32);
        out.extend(body);
        out
    }
}

/// Offset, depth, least depth since the previous entry, and the wanted attributes.
type Seen = (usize, isize, isize, Vec<String>);

fn text<E: Endianity>(attribute: &Attribute<'_, E>) -> String {
    format!("{} {:?}", attribute.name, attribute.value)
}

/// The entries up to the first damage, and whether the walk reached the end.
fn by_plans<'f, E: Endianity>(
    unit: &gimli::Unit<Bytes<'f, E>>,
    abbreviations: Abbreviations<'_, 'f>,
    outer: isize,
    plans: &mut Plans<DwTag>,
) -> (Vec<Seen>, bool) {
    let mut entries = Entries::new(unit, abbreviations, WANTED, std::mem::take(plans));
    let seen = walk(&mut entries, outer);
    *plans = entries.into_plans();
    seen
}

fn walk<E: Endianity>(entries: &mut Entries<'_, '_, E, DwTag>, outer: isize) -> (Vec<Seen>, bool) {
    let mut seen = Vec::new();
    loop {
        let mut entry = match entries.next(outer) {
            Ok(Some(entry)) => entry,
            Ok(None) => return (seen, true),
            Err(_) => return (seen, false),
        };
        let skipped = {
            let at = entries.at;
            let end = entries.skip(&entry).map(|()| entries.at);
            entries.at = at;
            end
        };
        let mut attributes = Vec::new();
        loop {
            match entries.attribute(&mut entry) {
                Ok(Some(attribute)) => attributes.push(text(&attribute)),
                Ok(None) => break,
                Err(_) => return (seen, false),
            }
        }
        if entries.at > entries.bytes.len() {
            return (seen, false);
        }
        assert_eq!(skipped.ok(), Some(entries.at), "skipping leads to where reading does");
        seen.push((entry.offset.0, entry.depth, entry.closes, attributes));
    }
}

fn by_gimli<E: Endianity>(unit: &gimli::Unit<Bytes<'_, E>>, outer: isize) -> (Vec<Seen>, bool) {
    let mut entries = unit.entries_raw(None).unwrap();
    let mut seen = Vec::new();
    let mut closes = isize::MAX;
    while !entries.is_empty() {
        let (offset, depth) = (entries.next_offset().0, entries.next_depth());
        let abbreviation = match entries.read_abbreviation() {
            Ok(Some(abbreviation)) => abbreviation,
            Ok(None) => continue,
            Err(_) => return (seen, false),
        };
        closes = closes.min(depth);
        let wanted = match abbreviation.tag() {
            WANTED_TAG => true,
            INNER_TAG => closes > outer,
            _ => false,
        };
        let mut attributes = Vec::new();
        for spec in abbreviation.attributes() {
            let read = if wanted && (WANTED.attribute)(spec.name()) {
                entries
                    .read_attribute(*spec)
                    .map(|attribute| attributes.push(text(&Attribute::of(&attribute))))
            } else {
                entries.skip_attributes(&[*spec])
            };
            if read.is_err() {
                return (seen, false);
            }
        }
        if wanted {
            seen.push((offset, depth, closes, attributes));
            closes = isize::MAX;
        }
    }
    (seen, true)
}

fn compare<E: Endianity>(made: &Made, endian: E) {
    let (abbreviations, info) = (made.abbreviations(), made.info(endian));
    let dwarf: Dwarf<'_, E> = gimli::Dwarf::load(|id| {
        let bytes = match id {
            gimli::SectionId::DebugAbbrev => &abbreviations[..],
            gimli::SectionId::DebugInfo => &info[..],
            _ => &[],
        };
        Ok::<_, gimli::Error>(Bytes::new(bytes, endian))
    })
    .unwrap();
    let header = dwarf.units().next().unwrap().expect("one unit");
    let mut table = AbbreviationTable::default();
    let read = table.read(&abbreviations, 0);
    // If gimli refuses the abbreviations, there is nothing to compare.
    let unit = match (read, dwarf.abbreviations(&header)) {
        (Ok(()), Ok(_)) => dwarf.unit(header),
        (ours, gimlis) => return assert_eq!(ours.err(), gimlis.err()),
    };
    let Ok(unit) = unit else { return };
    let (noted, mut plans) = (Abbreviations { section: &abbreviations, table: &table }, Plans::default());
    // From the second round on, the walk uses cached plans.
    for outer in [isize::MIN, 0, 1, isize::MAX] {
        assert_eq!(by_plans(&unit, noted, outer, &mut plans), by_gimli(&unit, outer));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn plans_see_what_gimli_sees(made in made()) {
        compare(&made, gimli::LittleEndian);
        compare(&made, gimli::BigEndian);
    }
}

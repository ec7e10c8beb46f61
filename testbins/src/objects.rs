//! The oracle of object pointers: where each method of a program has its object, by gimli's own reading of location lists.

use gimli::AttributeValue;

use crate::program::{Program, Reader};

type Error = Box<dyn std::error::Error + Send + Sync>;
type ObjectUnit<'a> = gimli::Unit<Reader<'a>>;
type Entry<'a> = gimli::DebuggingInformationEntry<Reader<'a>>;

/// A method that has its object somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Offset in `.debug_info`.
    pub die: u64,
    /// The linkage name, else the plain name.
    pub name: String,
    /// Where its ranges begin, as the linker left them.
    pub starts: Vec<u64>,
    /// Where it is: start, bytes (0 for an expression without a list), expression.
    pub places: Vec<(u64, u64, Vec<u8>)>,
}

/// All methods with a location of their object, in the order of the entries. Split units are not followed.
///
/// # Errors
/// DWARF that gimli cannot walk.
pub fn methods(program: &Program) -> Result<Vec<Method>, Error> {
    let sections = program.dwarf()?;
    let dwarf = sections.borrow();
    let mut found = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let mut starts = Vec::new();
            let mut ranges = dwarf.die_ranges(&unit, entry)?;
            while let Some(range) = ranges.next()? {
                starts.push(range.begin);
            }
            let Some(AttributeValue::UnitRef(pointer)) = entry.attr_value(gimli::DW_AT_object_pointer) else {
                continue;
            };
            let Some(location) = unit.entry(pointer)?.attr_value(gimli::DW_AT_location) else { continue };
            let mut places = Vec::new();
            match location {
                AttributeValue::Exprloc(expression) => places.push((0, 0, expression.0.slice().to_vec())),
                list => {
                    let Some(mut list) = dwarf.attr_locations(&unit, list)? else { continue };
                    while let Some(place) = list.next()? {
                        let len = place.range.end.saturating_sub(place.range.begin);
                        if len > 0 {
                            places.push((place.range.begin, len, place.data.0.slice().to_vec()));
                        }
                    }
                }
            }
            let name = name(&dwarf, &unit, entry)?;
            let die = header.offset().0 as u64 + entry.offset().0 as u64;
            found.push(Method { die, name, starts, places });
        }
    }
    Ok(found)
}

/// The name of an entry, or of what it refers to.
fn name<'a>(
    dwarf: &gimli::Dwarf<Reader<'a>>,
    unit: &ObjectUnit<'a>,
    entry: &Entry<'a>,
) -> Result<String, Error> {
    let mut plain = None;
    let mut entry = entry.clone();
    for _ in 0..4 {
        for attribute in [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name] {
            if let Some(value) = entry.attr_value(attribute) {
                return Ok(dwarf.attr_string(unit, value)?.to_string_lossy().into_owned());
            }
        }
        if let (None, Some(value)) = (&plain, entry.attr_value(gimli::DW_AT_name)) {
            plain = Some(dwarf.attr_string(unit, value)?.to_string_lossy().into_owned());
        }
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
        match origin.or_else(|| entry.attr_value(gimli::DW_AT_specification)) {
            Some(AttributeValue::UnitRef(offset)) => entry = unit.entry(offset)?,
            _ => break,
        }
    }
    Ok(plain.unwrap_or_default())
}

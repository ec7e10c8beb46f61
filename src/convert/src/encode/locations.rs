//! Writes LOCATIONS and LOCATED: expressions of functions, and what they refer to (schema, section 10).

use super::bits::put_varint;
use super::outline::{ABSENT, Outline, members};
use super::section::Section;
use super::tables::Table;
use crate::model::{
    FuncId, ImageAddr, Keys, Located, LocatedValue, LocationEntry, LocationKind, LocationList,
    LocationReference, ObjectCounts, Program, UnitLocations,
};
use crate::util::hash::HashMap;
use foldsym_format::SectionId;
use foldsym_format::records::locations as code;
use foldsym_format::sections::located;

/// The sections; none if no function of the file has expressions.
pub(super) fn sections(
    program: &Program<'_>,
    keys: &Keys,
    outline: &Outline,
    image_base: u64,
) -> (Vec<Section>, ObjectCounts) {
    let mut counts = ObjectCounts::default();
    // Most programs: only GPU code has expressions for lanes, and the other kinds are read only with `--locations`.
    if program.code.iter().all(|unit| unit.locations.is_none()) {
        return (Vec::new(), counts);
    }
    let mut in_group = vec![false; program.functions.len()];
    for piece in &program.pieces {
        members(program, piece.owner).iter().for_each(|member| in_group[member.function.index()] = true);
    }
    // The functions of each unit.
    let mut of_unit: Vec<Vec<FuncId>> = vec![Vec::new(); program.code.len()];
    for &id in &outline.functions {
        if let Some(source) = program.functions[id.index()].source {
            of_unit[source.unit.index()].push(id);
        }
    }
    // The first byte belongs to no record, so that place 0 can mean that there is none.
    let mut writer = Writer { image_base, out: vec![0], places: HashMap::default() };
    let mut rows: Vec<[i64; 4]> = Vec::new();
    for (unit, ids) in program.code.iter().zip(&of_unit) {
        let Some(locations) = &unit.locations else { continue };
        let first = rows.len();
        for &id in ids {
            let Some(source) = program.functions[id.index()].source else { continue };
            let function = &unit.functions[source.function.index()];
            let start = unit.pieces[function.pieces.start as usize].start.0;
            // Searched for each function: `located` is in the order of the DIEs, `outline` in the order of the code.
            let begin = locations.located.partition_point(|located| located.die < function.die);
            let own = locations.located[begin..].iter().take_while(|located| located.die == function.die);
            let len = unit.pieces[function.pieces.start as usize].len.into();
            let wanted = own.filter(|located| is_kept(located, in_group[id.index()]));
            let (own, without): (Vec<&Located>, Vec<&Located>) =
                wanted.partition(|located| located.is_known() && is_inside(located, len));
            let is_object = |located: &&Located| located.kind == LocationKind::Object;
            counts.kept += u64::from(own.iter().any(is_object));
            counts.lost += u64::from(without.iter().any(is_object));
            // Only another expression refers to the frame base (`DW_OP_fbreg`, DWARF 5 2.5.1.2), so without one it is of
            // no use.
            if own.iter().all(|located| located.kind == LocationKind::FrameBase) {
                continue;
            }
            let rank = i64::from(outline.function_ranks[id.index()]);
            for located in own {
                let place = match &located.value {
                    LocatedValue::Number(number) => *number as i64,
                    LocatedValue::List(list) => writer.list(list, start),
                };
                rows.push([rank, located.kind as i64, place, 0]);
            }
        }
        if rows.len() > first {
            let place = writer.unit(locations);
            // A number of lanes refers to nothing in its unit (schema, LOCATED).
            rows[first..].iter_mut().filter(|row| row[1] != LocationKind::Lanes as i64).for_each(|row| {
                row[3] = place;
            });
        }
    }
    if rows.is_empty() {
        return (Vec::new(), counts);
    }
    // The calls serve only the search for an object, so without the place of one they are of no use.
    if counts.kept > 0 {
        for (id, calls) in &keys.unknown_calls {
            let rank = outline.function_ranks[id.index()];
            if rank == ABSENT {
                continue;
            }
            let entry = |call: &ImageAddr| LocationEntry {
                // The byte before the return address is inside the call. That of the return address may belong to other
                // code (DWARF 5 6.4.4).
                start: call.0.wrapping_sub(1),
                len: 1,
                expression: Vec::new(),
            };
            let list = LocationList { from_start: false, entries: calls.iter().map(entry).collect() };
            let place = writer.list(&list, 0);
            rows.push([i64::from(rank), located::UNKNOWN_CALLS.cast_signed(), place, 0]);
        }
    }
    rows.sort_unstable();
    let record = |i: usize| rows[i];
    let sections = vec![
        Section::new(SectionId::LOCATIONS, writer.out),
        Section::new(SectionId::LOCATED, Table { count: rows.len(), record }.encode()),
    ];
    (sections, counts)
}

/// Locations of the object pointer are kept for members of groups only: they serve only to tell the members apart.
fn is_kept(located: &Located, in_group: bool) -> bool {
    located.kind != LocationKind::Object || in_group
}

/// False for a list whose addresses cannot be relative to the function's start.
///
/// If the linker erased the function's address, the addresses of the list are relative to the start of its section. The two
/// starts are the same only if the function is alone in its section. The first range of a parameter then begins at 0, and
/// all ranges are inside the function.
fn is_inside(located: &Located, len: u64) -> bool {
    let LocatedValue::List(list) = &located.value else { return true };
    let mut ranges = list.entries.iter().filter(|entry| entry.len > 0);
    let first = ranges.clone().map(|entry| entry.start).min().unwrap_or(0);
    let inside = |entry: &LocationEntry| entry.start.checked_add(entry.len).is_some_and(|end| end <= len);
    !list.from_start || (first == 0 && ranges.all(inside))
}

struct Writer {
    image_base: u64,
    out: Vec<u8>,
    /// The place of each record that was written. The flag is true for a unit: a unit and a list may have the same bytes.
    places: HashMap<(bool, Vec<u8>), i64>,
}

impl Writer {
    fn record(&mut self, is_unit: bool, record: Vec<u8>) -> i64 {
        let out = &mut self.out;
        // Members of a group mostly have `this` in one place, so equal lists are frequent.
        *self.places.entry((is_unit, record)).or_insert_with_key(|(_, record)| {
            let place = out.len() as i64;
            out.extend_from_slice(record);
            place
        })
    }

    /// Writes a list of a function that begins at `start`, and returns its place.
    fn list(&mut self, list: &LocationList, start: u64) -> i64 {
        let mut record = Vec::new();
        put_varint(&mut record, list.entries.len() as u64);
        for entry in &list.entries {
            let from = match (list.from_start, entry.len) {
                // Length 0: the default location (DWARF 5 2.6.2), which holds wherever no other entry does.
                (_, 0) => 0,
                (true, _) => start.wrapping_add(entry.start).wrapping_sub(self.image_base),
                (false, _) => entry.start.wrapping_sub(self.image_base),
            };
            put_varint(&mut record, from);
            put_varint(&mut record, entry.len);
            put_varint(&mut record, entry.expression.len() as u64);
            record.extend_from_slice(&entry.expression);
        }
        self.record(false, record)
    }

    fn unit(&mut self, unit: &UnitLocations) -> i64 {
        let codes = if unit.first_codes { code::FIRST_CODES } else { code::USER_CODES };
        let mut record = vec![unit.version as u8, unit.offset_size, codes];
        put_varint(&mut record, unit.references.len() as u64);
        for reference in &unit.references {
            let (kind, key) = reference.key();
            let value = match reference {
                LocationReference::Unit(_, list) | LocationReference::Section(_, list) => {
                    self.list(list, 0) as u64
                }
                LocationReference::BaseType(_, encoding, size) => {
                    u64::from(*encoding) | u64::from(*size) << 8
                }
                LocationReference::Address(_, address) => *address,
            };
            record.push(kind);
            put_varint(&mut record, key);
            put_varint(&mut record, value);
        }
        self.record(true, record)
    }
}

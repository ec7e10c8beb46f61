//! Finds the lengths and relative ranges of subroutines inlined into a folded function.
//!
//! The linker overwrites each address of a folded function with a tombstone. Two kinds of values survive, since they are
//! not addresses: `DW_AT_high_pc` as a length, and the offset pairs of a range list (DWARF 5 2.17.3). In clang's units, the
//! offset pairs of one section count from the address of its first function, and a folded function is the first of its
//! section (`-ffunction-sections`). If only a length survives, `recover` later finds the place of the inlined code.

use gimli::{AttributeValue, RawRngListEntry};

use crate::model::{How, OffsetRange};
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::line::{Lines, Sequence};
use crate::read::unit::addresses::Addresses;
use crate::read::unit::lists;
use crate::read::unit::ranges::RangeEntries;
use crate::read::unit::tree::{LostTree, Surviving};
use crate::read::unit::walked_unit::WalkedUnit;

/// The most code sections, and so line sequences, of a unit that was compiled without `-ffunction-sections`: `.text`,
/// `.text.unlikely`, `.text.hot`, `.text.startup`, `.text.exit`.
const FEW_SECTIONS: usize = 5;

/// Decides if the inlined subroutines of a function are kept. If its address is unknown, they are kept only if the unit has
/// a live line sequence of its length, or if functions share a section.
pub(crate) fn lost_tree<E: Endianity>(
    lines: &Lines,
    live: bool,
    how: Option<How>,
    addresses: &Addresses<'_, E>,
) -> LostTree {
    let base = match addresses.low_pc {
        Some(AttributeValue::DebugAddrIndex(index)) => Some(index),
        _ => None,
    };
    let kept = match (how, addresses.high_pc) {
        _ if live => false,
        (Some(_), _) => true,
        (None, Some(AttributeValue::Udata(len))) => {
            // If functions share a section, the linker may have folded the whole section, with one sequence for all of them.
            let longer = |sequence: &Sequence| sequence.end - sequence.start > len;
            let shared = lines.sequences.len() <= FEW_SECTIONS && lines.sequences.iter().any(longer);
            shared || lines.any_has_len(len)
        }
        // Without a length the function cannot be compared with sequences.
        (None, _) => false,
    };
    let whole = addresses.low_pc.is_some() && addresses.ranges.is_none();
    LostTree { live, kept, base, whole, scopes: Vec::new(), beyond: false }
}

/// What survives of the ranges of an inlined subroutine of `function`. Appends ranges to `lost_ranges`
/// ([`crate::model::UnitTraces::lost_ranges`]).
pub(crate) fn surviving<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    list_entries: &mut RangeEntries,
    function: &LostTree,
    addresses: &Addresses<'f, E>,
    lost_ranges: &mut Vec<OffsetRange>,
) -> Surviving {
    match (addresses.low_pc, addresses.high_pc, addresses.ranges) {
        // With an address in its place, `DW_AT_high_pc` was erased too, and nothing survives.
        (Some(_), Some(AttributeValue::Udata(len)), _) => match u32::try_from(len) {
            Ok(0) => Surviving::Empty,
            Ok(len) => Surviving::Len(len),
            Err(_) => Surviving::Nothing,
        },
        (None, _, Some(list)) => surviving_of_list(unit, list_entries, function, list, lost_ranges),
        (None, None, None) => Surviving::Empty,
        _ => Surviving::Nothing,
    }
}

fn surviving_of_list<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    list_entries: &mut RangeEntries,
    function: &LostTree,
    value: AttributeValue<Bytes<'f, E>>,
    lost_ranges: &mut Vec<OffsetRange>,
) -> Surviving {
    let (own, whole) = (function.base, function.whole);
    let Ok(Some(mut list)) = lists::ranges(unit.dwarf, unit.unit, value) else {
        return Surviving::Nothing;
    };
    let first = lost_ranges.len();
    // True if offset pairs count from the start of the function. Without a base entry they count from the unit's
    // `DW_AT_low_pc` (DWARF 5 2.17.3).
    let mut known = false;
    let mut alone = None;
    let mut all = 0;
    while let Ok(Some(entry)) = list.next_raw() {
        if !list_entries.spend() {
            return Surviving::Nothing;
        }
        let found = match entry {
            RawRngListEntry::BaseAddressx { addr } => {
                known = Some(addr) == own;
                continue;
            }
            // Before DWARF 5 the base has no index to compare with, but it is the start of the section as well.
            RawRngListEntry::BaseAddress { .. } => {
                known = unit.unit.header.version() < 5 && whole;
                continue;
            }
            RawRngListEntry::OffsetPair { begin, end }
            | RawRngListEntry::AddressOrOffsetPair { begin, end } => (known, begin, end),
            RawRngListEntry::StartxLength { begin, length } => (Some(begin) == own, 0, length),
            RawRngListEntry::StartLength { length, .. } => (false, 0, length),
            // Both ends were addresses, so not even the length survives.
            RawRngListEntry::StartxEndx { .. } | RawRngListEntry::StartEnd { .. } => (false, 0, 0),
        };
        let (is_known, Ok(begin), Ok(end)) = (found.0, u32::try_from(found.1), u32::try_from(found.2)) else {
            return Surviving::Nothing;
        };
        // An empty pair covers no code (DWARF 5 2.17.3).
        if begin == end && is_known {
            continue;
        }
        all += 1;
        if is_known && begin < end {
            lost_ranges.push(OffsetRange { start: begin, end });
        } else if all == 1 && end > 0 && begin == 0 {
            alone = Some(end);
        } else {
            return Surviving::Nothing;
        }
    }
    match (alone, all) {
        (Some(len), 1) => Surviving::Len(len),
        (None, 0) => Surviving::Empty,
        (None, _) if lost_ranges.len() == first + all => {
            Surviving::Ranges(first as u32..lost_ranges.len() as u32)
        }
        _ => Surviving::Nothing,
    }
}

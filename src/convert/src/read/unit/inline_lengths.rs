//! Reads the lengths and relative ranges of subroutines inlined into a folded function.
//!
//! The linker overwrites each address of a folded function with a tombstone. Two kinds of values survive, since they are
//! not addresses: `DW_AT_high_pc` as a length, and the offset pairs of a range list (DWARF 5 2.17.3). In clang's units, the
//! offset pairs of one section count from the address of its first function, and a folded function is the first of its
//! section (`-ffunction-sections`). If only a length survives, `recover` later finds the place of the inlined code.

use gimli::{AttributeValue, RawRngListEntry};

use crate::model::{How, LocalEdge, Lost, LostScope};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::line::Sequence;
use crate::read::unit::addresses::Addresses;
use crate::read::unit::lists;
use crate::read::unit::tree::LostTree;
use crate::read::unit::walk::{OpenFunction, Walk};

/// The most code sections, and so line sequences, of a unit that was compiled without `-ffunction-sections`: `.text`,
/// `.text.unlikely`, `.text.hot`, `.text.startup`, `.text.exit`.
const FEW_SECTIONS: usize = 5;

/// What survives of the ranges of an inlined subroutine.
enum Left {
    /// The length of its only range.
    Len(u32),
    /// Offsets from the start of the function, which were appended to [`crate::model::UnitTraces::lost_ranges`].
    Ranges,
    /// It has no code.
    Empty,
    Nothing,
}

impl<'f, E: Endianity> Walk<'_, 'f, E> {
    /// Decides if the inlined subroutines of a function are kept. If its address is unknown, they are kept only if the unit has
    /// a live line sequence of its length, or if functions share a section.
    pub(crate) fn lost_tree(
        &mut self,
        live: bool,
        how: Option<How>,
        addresses: &Addresses<'f, E>,
    ) -> LostTree {
        let base = match addresses.low_pc {
            Some(AttributeValue::DebugAddrIndex(index)) => Some(index),
            _ => None,
        };
        let kept = match (how, addresses.high_pc) {
            _ if live => false,
            (Some(_), _) => true,
            (None, Some(AttributeValue::Udata(len))) => {
                let sequences = &self.assign.lines.sequences;
                // If functions share a section, the linker may have folded the whole section, with one sequence for all of them.
                let longer = |sequence: &Sequence| sequence.end - sequence.start > len;
                let shared = sequences.len() <= FEW_SECTIONS && sequences.iter().any(longer);
                let lens = self.sequence_lens.get_or_insert_with(|| {
                    sequences.iter().map(|sequence| sequence.end - sequence.start).collect()
                });
                shared || lens.contains(&len)
            }
            (None, _) => false,
        };
        let whole = addresses.low_pc.is_some() && addresses.ranges.is_none();
        LostTree { live, kept, base, whole, scopes: Vec::new(), beyond: false }
    }

    /// Adds an inlined subroutine to the current function. Its node number is [`LostTree::last_node`].
    pub(crate) fn lost_scope(&mut self, parent: u32, edge: LocalEdge, addresses: &Addresses<'f, E>) {
        let first = self.out.traces.lost_ranges.len() as u32;
        let left = self.left(addresses);
        let ranges = first..self.out.traces.lost_ranges.len() as u32;
        let Some(function) = self.building.last_mut() else { return };
        let (len, ranges) = match left {
            Left::Len(len) => (len, first..first),
            Left::Ranges => (0, ranges),
            Left::Empty => (0, first..first),
            Left::Nothing => {
                function.lost.beyond = true;
                (0, first..first)
            }
        };
        function.lost.scopes.push(LostScope { parent, edge, len, ranges });
    }

    fn left(&mut self, addresses: &Addresses<'f, E>) -> Left {
        match (addresses.low_pc, addresses.high_pc, addresses.ranges) {
            (Some(_), Some(AttributeValue::Udata(len)), _) => match u32::try_from(len) {
                Ok(0) => Left::Empty,
                Ok(len) => Left::Len(len),
                Err(_) => Left::Nothing,
            },
            (None, _, Some(list)) => self.left_of_list(list),
            (None, None, None) => Left::Empty,
            _ => Left::Nothing,
        }
    }

    fn left_of_list(&mut self, value: AttributeValue<crate::read::sections::bytes::Bytes<'f, E>>) -> Left {
        let Some(function) = self.building.last() else { return Left::Nothing };
        let (own, whole) = (function.lost.base, function.lost.whole);
        let Ok(Some(mut list)) = lists::ranges(self.dwarf, self.unit, value) else { return Left::Nothing };
        let first = self.out.traces.lost_ranges.len();
        // True if offset pairs count from the start of the function.
        let mut known = false;
        let mut alone = None;
        let mut all = 0;
        while let Ok(Some(entry)) = list.next_raw() {
            if self.ranges_left == 0 {
                return Left::Nothing;
            }
            self.ranges_left -= 1;
            let found = match entry {
                RawRngListEntry::BaseAddressx { addr } => {
                    known = Some(addr) == own;
                    continue;
                }
                // Before DWARF 5 the base has no index to compare with, but it is the start of the section as well.
                RawRngListEntry::BaseAddress { .. } => {
                    known = self.unit.header.version() < 5 && whole;
                    continue;
                }
                RawRngListEntry::OffsetPair { begin, end }
                | RawRngListEntry::AddressOrOffsetPair { begin, end } => (known, begin, end),
                RawRngListEntry::StartxLength { begin, length } => (Some(begin) == own, 0, length),
                RawRngListEntry::StartLength { length, .. } => (false, 0, length),
                RawRngListEntry::StartxEndx { .. } | RawRngListEntry::StartEnd { .. } => (false, 0, 0),
            };
            let (is_known, Ok(begin), Ok(end)) = (found.0, u32::try_from(found.1), u32::try_from(found.2))
            else {
                return Left::Nothing;
            };
            if begin == end && is_known {
                continue;
            }
            all += 1;
            if is_known && begin < end {
                self.out.traces.lost_ranges.push((begin, end));
            } else if all == 1 && end > 0 && begin == 0 {
                alone = Some(end);
            } else {
                return Left::Nothing;
            }
        }
        match (alone, all) {
            (Some(len), 1) => Left::Len(len),
            (None, 0) => Left::Empty,
            (None, _) if self.out.traces.lost_ranges.len() == first + all => Left::Ranges,
            _ => Left::Nothing,
        }
    }

    /// Moves the inlined subroutines of a function to the unit.
    pub(crate) fn keep_lost(&mut self, function: &mut OpenFunction) -> Lost {
        let LostTree { scopes, beyond, .. } = std::mem::take(&mut function.lost);
        let first = self.out.traces.lost.len() as u32;
        if !beyond {
            self.out.traces.lost.extend(scopes);
        }
        Lost { scopes: first..self.out.traces.lost.len() as u32, beyond }
    }
}

//! Reads what is left of the inlined subroutines of a function that the linker folded: lengths, and the range lists
//! that count from the function's own address.
//!
//! A linker writes a tombstone over each address of a folded function. `DW_AT_high_pc` as a length is no address, and
//! neither are the offset pairs of a range list (DWARF 5 2.17.3): clang lets those of one section count from the
//! address of its first function, and a function that was folded is the first of its section. `recover` finds the
//! places of those of which a length is left.

use gimli::{AttributeValue, RawRngListEntry};

use crate::model::{How, LocalEdge, Lost, LostScope};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::line::Sequence;
use crate::read::unit::addresses::Addresses;
use crate::read::unit::lists;
use crate::read::unit::tree::LostTree;
use crate::read::unit::walk::{OpenFunction, Walk};

/// Sections with code that a unit has if its functions share them: `.text`, and those of what seldom runs, is often called, or
/// runs at the start or the end of the program. Each has a line sequence.
const FEW_SECTIONS: usize = 5;

/// What is left of the ranges of an inlined subroutine.
enum Left {
    /// The bytes of its only range.
    Len(u32),
    /// Offsets from the start of the function, as many as were added to [`crate::model::UnitTraces::lost_ranges`].
    Ranges,
    /// It has no code.
    Empty,
    Nothing,
}

impl<'f, E: Endianity> Walk<'_, 'f, E> {
    /// What will be kept of the inlined subroutines of a function. One whose address is not known may still turn out to
    /// be folded if the unit has a live line sequence of its length.
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
                // Functions that share a section may be folded with it.
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

    /// Adds an inlined subroutine to the function that is being read; its node number is that of the scope added last.
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
        // True where pairs count from the start of the function.
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
                // Before DWARF 5 the base is no index that could be compared; it is that of the section all the same.
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

    /// Moves what was kept of a function's inlined subroutines to the unit.
    pub(crate) fn keep_lost(&mut self, function: &mut OpenFunction) -> Lost {
        let LostTree { scopes, beyond, .. } = std::mem::take(&mut function.lost);
        let first = self.out.traces.lost.len() as u32;
        if !beyond {
            self.out.traces.lost.extend(scopes);
        }
        Lost { scopes: first..self.out.traces.lost.len() as u32, beyond }
    }
}

//! Reads the ranges of functions and inlined subroutines (DWARF 5 2.17), skips damaged entries, and separates ranges in code
//! from tombstones.

use gimli::{AttributeValue, RawRngListEntry, Reader as _, Section as _};

use crate::diagnostics::{Cap, Kind};
use crate::model::{DieOffset, MAX_PIECE};
use crate::open::DebugSection;
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::unit::addresses::{Addresses, DeadRange};
use crate::read::unit::lists;
use crate::read::unit::walk::Walk;

impl<'f, E: Endianity> Walk<'_, 'f, E> {
    /// Appends the ranges of a function that are in code; the range at the function's entry comes first. Returns the other
    /// ranges.
    pub(crate) fn live_ranges(
        &mut self,
        die: DieOffset,
        addresses: &Addresses<'f, E>,
        ranges: &mut Vec<(u64, u64)>,
    ) -> Vec<DeadRange> {
        let mut all = Vec::new();
        self.ranges(die, addresses, |start, end| all.push((start, end)));
        let mut dead = Vec::new();
        for (index, (start, end)) in all.into_iter().enumerate() {
            let Some(section) = self.code.section(start).filter(|_| start < end) else {
                dead.push(DeadRange { len: end - start, part: index > 0 });
                continue;
            };
            if end > section.end {
                self.ids.diagnostics.add(Kind::RangeLeavesSection, die.0, || {
                    format!("range {start:#x}..{end:#x} ends after its section, at {:#x}", section.end)
                });
            }
            let end = end.min(section.end);
            if end - start > MAX_PIECE {
                self.ids.diagnostics.add(Kind::Cap(Cap::RangeBytes), die.0, || {
                    format!("range {start:#x}..{end:#x} has more than {MAX_PIECE} bytes")
                });
            }
            ranges.push((start, end.min(start.saturating_add(MAX_PIECE))));
        }
        let address = |value| self.address(value);
        let low_pc = addresses.low_pc.and_then(address);
        let entry = match addresses.entry_pc {
            // A constant counts from the base address of the ranges (DWARF 5 2.18).
            Some(AttributeValue::Udata(offset)) => {
                let base = low_pc.or(ranges.first().map(|&(start, _)| start));
                base.map(|base| base.wrapping_add(offset))
            }
            Some(value) => address(value),
            None => low_pc,
        };
        if let Some(entry) = entry
            && let Some(at) = ranges.iter().position(|&(start, _)| start == entry)
        {
            ranges.swap(0, at);
        }
        dead
    }

    /// True if `open` replaced the tombstone in a function's address by the address in a kept relocation. `span` is the start and
    /// end of its DIE in `.debug_info`.
    pub(crate) fn was_restored(&self, addresses: &Addresses<'f, E>, span: (u64, u64)) -> bool {
        let restored = &self.code.restored;
        if restored.is_empty() {
            return false;
        }
        let size = u64::from(self.unit.header.address_size());
        let base = self.unit.addr_base.0 as u64;
        let indexed = |index: gimli::DebugAddrIndex<usize>| {
            let place = base.saturating_add(size.saturating_mul(index.0 as u64));
            restored.any(DebugSection::Addr, place, place.saturating_add(size))
        };
        let split = self.dwarf.file_type == gimli::DwarfFileType::Dwo;
        match (addresses.low_pc, addresses.ranges) {
            (Some(AttributeValue::DebugAddrIndex(index)), _) => indexed(index),
            (Some(_), _) => !split && restored.any(DebugSection::Info, span.0, span.1),
            (None, Some(list)) => {
                let Ok(Some(offset)) = lists::ranges_offset(self.dwarf, self.unit, list) else {
                    return false;
                };
                // The bytes of the first entry, which has at most a kind and two addresses.
                let (start, end) = (offset.0 as u64, (offset.0 as u64).saturating_add(2 * size));
                let section = if self.unit.header.version() < 5 {
                    DebugSection::Ranges
                } else {
                    DebugSection::RngLists
                };
                let first = self.dwarf.ranges(self.unit, offset).and_then(|mut list| list.next_raw());
                match first {
                    Ok(Some(
                        RawRngListEntry::BaseAddressx { addr: index }
                        | RawRngListEntry::StartxLength { begin: index, .. }
                        | RawRngListEntry::StartxEndx { begin: index, .. },
                    )) => indexed(index),
                    _ => !split && restored.any(section, start, end),
                }
            }
            (None, None) => false,
        }
    }

    /// The range of a function with a tombstone, if its own sequence is live: the linker folded the function. The range begins at
    /// the sequence, and its length is the surviving `DW_AT_high_pc`.
    pub(crate) fn folded_range(
        &self,
        addresses: &Addresses<'f, E>,
        own_sequence: Option<usize>,
    ) -> Option<(u64, u64)> {
        let sequence = &self.assign.lines.sequences[own_sequence?];
        let section = self.code.section(sequence.start)?;
        let len = match addresses.high_pc {
            Some(AttributeValue::Udata(len)) => len,
            _ => sequence.end - sequence.start,
        };
        // A function that is longer than the rest of the section was not folded here.
        let end = sequence.start.checked_add(len).filter(|end| *end <= section.end)?;
        (end > sequence.start).then_some((sequence.start, end))
    }

    /// The address in an attribute.
    #[inline]
    pub(crate) fn address(&self, value: AttributeValue<Bytes<'f, E>>) -> Option<u64> {
        match value {
            AttributeValue::Addr(address) => Some(address),
            AttributeValue::DebugAddrIndex(index) if !self.addresses.is_empty() => {
                let at = index.0.checked_mul(8)?;
                let word = self.addresses.get(at..)?.first_chunk::<8>()?;
                Some(self.dwarf.debug_addr.reader().endian().read_u64(word))
            }
            value => self.dwarf.attr_address(self.unit, value).ok().flatten(),
        }
    }

    /// Visits the ranges of a DIE, except empty ranges and the tombstones that gimli knows. See [`visit_list`] for the one kind of
    /// empty range that is visited.
    pub(crate) fn ranges(
        &mut self,
        die: DieOffset,
        addresses: &Addresses<'f, E>,
        mut visit: impl FnMut(u64, u64),
    ) {
        let (dwarf, unit) = (self.dwarf, self.unit);
        if let (Some(low), Some(high)) = (addresses.low_pc, addresses.high_pc) {
            let Some(start) = self.address(low) else {
                self.ids.diagnostics.add(Kind::BadRanges, die.0, || "unreadable DW_AT_low_pc".to_owned());
                return;
            };
            let end = match high {
                AttributeValue::Udata(len) => start.checked_add(len),
                value => self.address(value),
            };
            match end {
                Some(end) if end > start => visit(start, end),
                _ => self.ids.diagnostics.add(Kind::EmptyRange, die.0, || format!("no bytes at {start:#x}")),
            }
            return;
        }
        let Some(value) = addresses.ranges else {
            if addresses.low_pc.is_some() {
                self.ids
                    .diagnostics
                    .add(Kind::NoEnd, die.0, || "DW_AT_low_pc without DW_AT_high_pc".to_owned());
            }
            return;
        };
        let left = &mut self.ranges_left;
        let result = visit_list(dwarf, unit, value, left, visit);
        if let Err(error) = result {
            self.ids.diagnostics.add(Kind::BadRanges, die.0, || format!("DW_AT_ranges: {error}"));
        }
        if self.ranges_left == 0 {
            let most = self.max_ranges;
            self.ids.diagnostics.add(Kind::Cap(Cap::RangeEntries), die.0, || {
                format!("the unit has over {most} entries of range lists, which is its part of what the lists hold")
            });
        }
    }
}

/// Visits the ranges of a list, except the tombstones that gimli knows, until `left` entries were read. Before DWARF 5, linkers
/// write 1 for both ends of a range that they removed; this is visited as the empty range `1..1`.
///
/// # Errors
/// The first damage. After an entry with an index outside of the address table, the list is read on. After an entry of an
/// unknown kind, or a base with such an index, the rest of the list cannot be read.
fn visit_list<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    unit: &gimli::Unit<Bytes<'f, E>>,
    value: gimli::AttributeValue<Bytes<'f, E>>,
    left: &mut u64,
    mut visit: impl FnMut(u64, u64),
) -> gimli::Result<()> {
    let Some(mut list) = lists::ranges(dwarf, unit, value)? else { return Ok(()) };
    let mut damage = Ok(());
    while let Some(entry) = list.next_raw()? {
        // Every entry counts, even without a range, since any number of DIEs may refer to the same long list.
        *left = left.saturating_sub(1);
        if *left == 0 {
            break;
        }
        let is_base = matches!(entry, gimli::RawRngListEntry::BaseAddressx { .. });
        if let gimli::RawRngListEntry::AddressOrOffsetPair { begin: 1, end: 1 } = entry {
            visit(1, 1);
            continue;
        }
        match list.convert_raw(entry) {
            Ok(Some(range)) => visit(range.begin, range.end),
            Ok(None) => {}
            Err(error) if is_base => return Err(error),
            Err(error) => damage = damage.and(Err(error)),
        }
    }
    damage
}

//! Reads the subprograms of a unit that have an address attribute (DWARF 5 3.3.1), and decides where each one's code is.

use std::ops::Range;

use gimli::AttributeValue;

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{Calls, DieOffset, How, ImageAddr, Lost, UnitErased};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::sections::line::Lines;
use crate::read::unit::addresses::{Addresses, DeadRange};
use crate::read::unit::attributes as attribute;
use crate::read::unit::inline_lengths::lost_tree;
use crate::read::unit::named_sequence::{NamedSequence, covers, named_sequence};
use crate::read::unit::numbering::Numbering;
use crate::read::unit::open_function::OpenFunction;
use crate::read::unit::origins::{DiePlace, SubprogramIdentity};
use crate::read::unit::ranges::{
    RangeEntries, SubprogramRanges, folded_range, subprogram_ranges, was_restored,
};
use crate::read::unit::roles::Role;
use crate::read::unit::tree::InlineTree;
use crate::read::unit::walked_unit::{UnitEntries, WalkedUnit};

/// The attributes of a `DW_TAG_subprogram` that has an address.
pub(crate) struct SubprogramEntry<'f, E: Endianity> {
    place: DiePlace,
    die: DieOffset,
    /// Its bytes in `.debug_info`.
    bytes: Range<u64>,
    identity: SubprogramIdentity<'f>,
    addresses: Addresses<'f, E>,
    /// `DW_AT_LLVM_stmt_sequence`.
    stmt_sequence: Option<u64>,
    all_tail_calls: bool,
    all_calls: bool,
    /// True if it has expressions that are kept.
    pub(crate) located: bool,
}

/// A subprogram that has an address attribute.
pub(crate) enum Subprogram {
    /// It has code, or may have been folded.
    Function(OpenFunction),
    /// The linker removed it.
    Removed(UnitErased),
}

/// Reads the attributes of a `DW_TAG_subprogram`.
pub(crate) fn subprogram<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    ids: &mut Numbering<'_, 'f, E>,
    entries: &mut UnitEntries<'_, 'f, E>,
    mut entry: Entry<Role>,
) -> gimli::Result<SubprogramEntry<'f, E>> {
    let place = ids.origins.place(entry.offset);
    let mut identity = SubprogramIdentity::default();
    let mut addresses = Addresses::default();
    let mut stmt_sequence = None;
    let (mut all_tail_calls, mut all_calls) = (false, false);
    let mut located = unit.options.locations;
    while let Some(attribute) = entries.attribute(&mut entry)? {
        match attribute.name {
            gimli::DW_AT_low_pc => addresses.low_pc = Some(attribute.value),
            gimli::DW_AT_high_pc => addresses.high_pc = Some(attribute.value),
            gimli::DW_AT_ranges => addresses.ranges = Some(attribute.value),
            gimli::DW_AT_entry_pc => addresses.entry_pc = Some(attribute.value),
            attribute::STMT_SEQUENCE => {
                // A constant is another attribute: AMD's older extensions use this code for `DW_AT_LLVM_vector_size`.
                if let AttributeValue::SecOffset(offset) = attribute.value {
                    stmt_sequence = Some(offset as u64);
                }
            }
            gimli::DW_AT_call_all_tail_calls | gimli::DW_AT_GNU_all_tail_call_sites => {
                all_tail_calls |= attribute.is_set();
            }
            // `all_source_calls` promises more: also the calls that were inlined or removed (DWARF 5 3.3.1.3).
            gimli::DW_AT_call_all_calls
            | gimli::DW_AT_call_all_source_calls
            | gimli::DW_AT_GNU_all_call_sites
            | gimli::DW_AT_GNU_all_source_call_sites => all_calls |= attribute.is_set(),
            attribute::ACTIVE_LANE
            | attribute::LANES
            | attribute::FIRST_LANES
            | attribute::LANE_PC
            | attribute::FIRST_LANE_PC => located = true,
            _ => ids.origins.take(place, &mut identity, &attribute, &mut ids.diagnostics),
        }
    }
    let die = unit.die(entry.offset);
    let bytes = die.0..unit.die(entries.next_offset()).0;
    Ok(SubprogramEntry {
        place,
        die,
        bytes,
        identity,
        addresses,
        stmt_sequence,
        all_tail_calls,
        all_calls,
        located,
    })
}

impl<'f, E: Endianity> SubprogramEntry<'f, E> {
    /// The value of its `DW_AT_LLVM_stmt_sequence`.
    pub(crate) fn stmt_sequence(&self) -> Option<u64> {
        self.stmt_sequence
    }

    /// Decides if the subprogram is live, folded or removed. All its attributes together show it.
    pub(crate) fn finish(
        self,
        unit: &WalkedUnit<'_, 'f, E>,
        ids: &mut Numbering<'_, 'f, E>,
        list_entries: &mut RangeEntries,
        lines: &Lines,
    ) -> Subprogram {
        let SubprogramEntry { place, die, bytes, identity, addresses, .. } = self;
        let SubprogramRanges { live: mut ranges, mut dead } =
            subprogram_ranges(unit, list_entries, &mut ids.diagnostics, die, &addresses);
        let mut found = None;
        // Linkers write 0 as a tombstone, and some programs have code at 0. The function's name and length decide.
        if let Some(at_zero) = ranges.iter().find(|range| range.start == ImageAddr(0)) {
            let len = at_zero.len();
            let (origin, instance) = ids.origins.finish(place, identity, &mut ids.diagnostics);
            if !unit.code.believes_zero(ids.origins.tables.name_of(origin), len) {
                // The lengths survive, as they do where no code is at 0.
                for (index, range) in
                    ranges.iter().enumerate().filter(|(_, range)| range.start == ImageAddr(0))
                {
                    let part = index > 0 || dead.iter().any(|dead| !dead.part);
                    dead.push(DeadRange { len: range.len(), part });
                }
                ranges.retain(|range| range.start != ImageAddr(0));
            }
            found = Some((origin, instance));
        }
        let live = !ranges.is_empty();
        let named = named_sequence(self.stmt_sequence, unit.sequence_bases, lines, &ranges, &dead);
        let own_sequence = match named {
            NamedSequence::Live(own) if !live || covers(&lines.sequences[own], &ranges) => Some(own),
            _ => None,
        };
        report_stale(named, (live, own_sequence), die, &mut ids.diagnostics);
        let how = if live && was_restored(unit, &addresses, bytes) {
            ids.diagnostics
                .add(Kind::FoldedFunction, die.0, || format!("recovered at {:#x}", ranges[0].start));
            let own = own_sequence.map(|own| lines.sequences[own].start);
            // Of two proofs of one address the more trusted one is stored.
            Some(if own == Some(ranges[0].start.0) { How::StmtSequence } else { How::Relocation })
        } else if live {
            Some(How::LiveRange)
        } else if let Some(range) = folded_range(unit, lines, &addresses, own_sequence) {
            ranges.push(range);
            // The sequence gives the address of the first range. The other ranges remain unknown.
            dead.retain(|dead| dead.part);
            Some(How::StmtSequence)
        } else {
            if dead.is_empty() {
                dead.push(DeadRange { len: 0, part: false });
            }
            None
        };
        let (origin, instance) = match found {
            Some(found) => found,
            None => ids.origins.finish(place, identity, &mut ids.diagnostics),
        };
        // If its own sequence is dead too, the linker removed the function and did not fold it.
        if how.is_none() && named == NamedSequence::Dead {
            // Not empty: `how` is `None` only after a range was added to it, if it had none.
            let DeadRange { len: size, part } = dead[0];
            let external = ids.origins.tables.is_external(origin);
            let (removed, lost, calls) = (true, Lost::default(), Calls::default());
            return Subprogram::Removed(UnitErased {
                die,
                origin,
                instance,
                size,
                part,
                external,
                removed,
                lost,
                calls,
            });
        }
        let lost = lost_tree(lines, live, how, &addresses);
        Subprogram::Function(OpenFunction {
            die,
            origin,
            instance,
            how,
            dead,
            ranges,
            own_sequence,
            tree: InlineTree::default(),
            lost,
            calls: Vec::new(),
            // A promise of all calls includes the tail calls (DWARF 5 3.3.1.3), and compilers write just one of the two.
            all_tail_calls: self.all_tail_calls | self.all_calls,
            all_calls: self.all_calls,
        })
    }
}

/// Counts a value that names no sequence, or one that cannot be the function's. `own`: if the function kept its address, and its sequence.
fn report_stale(
    named: NamedSequence,
    (live, own): (bool, Option<usize>),
    die: DieOffset,
    diagnostics: &mut Diagnostics,
) {
    match named {
        NamedSequence::Nothing => diagnostics.add(Kind::NoSequence, die.0, || {
            format!("the DW_AT_LLVM_stmt_sequence of the function at .debug_info+{:#x} is the start of no line sequence", die.0)
        }),
        // A function that was removed or folded may name a dead sequence.
        NamedSequence::Live(_) | NamedSequence::Dead if live && own.is_none() => {
            diagnostics.add(Kind::SequenceElsewhere, die.0, || {
                format!("the DW_AT_LLVM_stmt_sequence of the function at .debug_info+{:#x} is of code elsewhere", die.0)
            });
        }
        _ => {}
    }
}

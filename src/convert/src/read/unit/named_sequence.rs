//! Finds the line sequence that the `DW_AT_LLVM_stmt_sequence` of a function names.
//!
//! In a program the value is an offset in `.debug_line`. In a `.dwo` it cannot be: a `.dwo` has no relocations. LLVM 24 writes the distance
//! from the begin of the object's part of `.debug_line`. The first unit of an object has its line program there, so its
//! `DW_AT_stmt_list` is the base, also for the other units of an object of link-time optimization. Other producers count from the
//! unit's own line program, or from the start of the section. So all these bases are tried.

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{AddressRange, SequenceUses};
use crate::read::sections::line::{Lines, Sequence};
use crate::read::unit::addresses::DeadRange;

/// The offsets in `.debug_line` from which values of the unit may count, the likeliest first. In a program all are 0.
pub(crate) type SequenceBases = [u64; 3];

/// What a value names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedSequence {
    /// There is no value, or it says that the function has no row: all bits of it are set (dsymutil).
    None,
    /// An index into [`Lines::sequences`].
    Live(usize),
    /// A sequence whose code the linker removed.
    Dead,
    /// No sequence begins there.
    Nothing,
}

/// What a value names. `live` and `dead` are the ranges of its function. If several bases lead to a sequence, one that covers the function
/// is taken, or has the length of a function without an address.
pub(crate) fn named_sequence(
    value: Option<u64>,
    bases: SequenceBases,
    lines: &Lines,
    live: &[AddressRange],
    dead: &[DeadRange],
) -> NamedSequence {
    let Some(value) = value.filter(|&value| !is_none(value)) else { return NamedSequence::None };
    let found = bases.into_iter().filter_map(|base| {
        let at = value.wrapping_add(base);
        let dead = || lines.is_dead(at).then_some(NamedSequence::Dead);
        lines.at_offset(at).map(NamedSequence::Live).or_else(dead)
    });
    let is_own = |named: &NamedSequence| match *named {
        NamedSequence::Live(index) => {
            let sequence = &lines.sequences[index];
            let len = dead.first().map(|dead| dead.len).filter(|_| live.is_empty());
            covers(sequence, live) || len == Some(sequence.end - sequence.start)
        }
        _ => false,
    };
    let own = found.clone().find(is_own);
    own.or_else(|| found.clone().next()).unwrap_or(NamedSequence::Nothing)
}

/// True for the value that no sequence is at: the function has no row (dsymutil), in either format of DWARF.
fn is_none(value: u64) -> bool {
    [u32::MAX.into(), u64::MAX].contains(&value)
}

/// Counts the values of a unit, whose damage was counted by the walk and by the assignment of rows.
pub(crate) fn count_uses(mut values: Vec<u64>, counted: &Diagnostics, uses: &mut SequenceUses) {
    values.retain(|&value| !is_none(value));
    values.sort_unstable();
    let groups = values.chunk_by(|one, other| one == other).map(|same| same.len() as u64);
    uses.values = values.len() as u64;
    uses.shared = groups.filter(|&users| users > 1).sum();
    uses.no_sequence = counted.count(Kind::NoSequence);
    let of_another = [Kind::SequenceElsewhere, Kind::SwappedSequence, Kind::ForeignSequence];
    uses.of_another = of_another.into_iter().map(|kind| counted.count(kind)).sum();
}

/// True if one of these ranges begins in the sequence. A function with several ranges names the sequence of one of them.
pub(crate) fn covers(sequence: &Sequence, live: &[AddressRange]) -> bool {
    live.iter().any(|range| sequence.start <= range.start.0 && range.start.0 < sequence.end)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::ImageAddr;

    /// Sequences by the offset of the first opcode, start and bytes; and the offset of a dead one.
    fn lines(sequences: &[(u64, u64, u64)], dead: u64) -> Lines {
        let of = |&(first_opcode, start, len): &(u64, u64, u64)| Sequence {
            start,
            end: start + len,
            rows: 0..0,
            first_opcode,
            set_address: first_opcode + 3,
        };
        let mut lines = Lines::default();
        lines.sequences.extend(sequences.iter().map(of));
        lines.finish_part(Arc::from([dead]), false);
        lines
    }

    #[test]
    fn the_base_that_leads_to_the_functions_own_sequence_counts() {
        use NamedSequence::{Dead, Live, None as NoValue, Nothing};
        let lines = lines(&[(0x43, 0x1000, 0x10), (0x110, 0x2000, 0x10), (0x153, 0x3000, 0x20)], 0x170);
        let at = |start| [AddressRange::of(ImageAddr(start), 0x10)];
        let erased = |len| [DeadRange { len, part: false }];
        let live = |value, bases, start| named_sequence(Some(value), bases, &lines, &at(start), &[]);
        let gone = |value, bases, len| named_sequence(Some(value), bases, &lines, &[], &erased(len));
        let (program, dwo) = ([0; 3], [0x110, 0, 0]);
        assert_eq!((live(0x43, program, 0x1000), live(0x46, program, 0x1000)), (Live(0), Live(0)));
        assert_eq!((live(0x44, program, 0x1000), live(u64::MAX - 1, program, 0x1000)), (Nothing, Nothing));
        assert_eq!((live(0x170, program, 0x1000), gone(0x60, dwo, 0x10)), (Dead, Dead));
        // A value that is right and wrong, by the base: 0x110 + 0x43, and 0x43.
        assert_eq!((live(0x43, dwo, 0x1000), live(0x43, dwo, 0x3000)), (Live(0), Live(2)));
        assert_eq!((gone(0x43, dwo, 0x10), gone(0x43, dwo, 0x20)), (Live(0), Live(2)));
        // Neither is the function's own: the likelier base.
        assert_eq!((live(0x43, dwo, 0x2000), gone(0x43, dwo, 7)), (Live(2), Live(2)));
        // The second unit of an object of link-time optimization: its own line program is at 0x150, the object's first at 0x110.
        assert_eq!(
            (live(0x43, [0x150, 0x110, 0], 0x3000), live(0, [0x150, 0x110, 0], 0x2000)),
            (Live(2), Live(1))
        );
        for none in [None, Some(u32::MAX.into()), Some(u64::MAX)] {
            assert_eq!(named_sequence(none, dwo, &lines, &at(0x1000), &[]), NoValue);
        }
    }
}

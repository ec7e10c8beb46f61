//! Divides the sequences of a line program among the units that name it.
//!
//! The ranges in the roots of the units say whose code an address is. That decides for each address at which one sequence
//! begins. A sequence over the code of several units (code without sections of its own) is cut where another unit's code
//! begins.
//!
//! If several sequences begin at one address, the linker folded functions, and the range is the survivor's. An assembler
//! writes the sequences of a unit side by side. So the survivor's is the one beside a sequence of its unit, and each other one
//! belongs to a unit beside it: to another unit than the survivor's, if there is one. For example, the sequences of units A and
//! B are in the order a1 a2 b1 b2. If b1 and a2 begin at one address, in the code of A, then a2 follows a1 and is A's, and b1
//! precedes b2 and is B's. `DW_AT_LLVM_stmt_sequence` says it instead where a unit has it: those of all units are read once several sequences
//! begin at one address.

use std::sync::Arc;

use crate::model::AddressRange;
use crate::read::sections::line::{LineRow, Lines, Sequence};
use crate::util::budget::Budget;
use crate::util::hash::HashMap;

/// A range of addresses, and the first unit whose root has it.
struct Owned {
    start: u64,
    end: u64,
    user: usize,
}

/// What one unit gets of a sequence.
struct CutPart {
    start: u64,
    user: usize,
}

/// The lines of each of `users` units. `owners`: the ranges of their roots. `named`: the units whose functions name a sequence, by its offset
/// in `.debug_line`.
pub(crate) fn divide(
    lines: Lines,
    owners: &[(AddressRange, usize)],
    users: usize,
    named: impl FnOnce() -> HashMap<u64, usize>,
) -> Vec<Lines> {
    let owned = disjoint(owners);
    // dwz's partial units come first and have no code.
    let any = owned.first().map_or(0, |owned| owned.user);
    let budget = Budget::of_part(lines.rows.len() + owned.len());
    let mut order: Vec<usize> = (0..lines.sequences.len()).collect();
    order.sort_unstable_by_key(|&index| lines.sequences[index].first_opcode);
    let start = |index: usize| lines.sequences.get(index).map(|sequence| sequence.start);
    let is_alone = |index: usize| {
        start(index) != start(index + 1)
            && index.checked_sub(1).is_none_or(|before| start(before) != start(index))
    };
    let parts: Vec<Vec<CutPart>> =
        lines.sequences.iter().map(|sequence| parts(sequence, &owned, &budget)).collect();
    // In the order of the program: the owner of the nearest sequence before, and after, whose owner is known.
    let known = |index: usize| is_alone(index).then(|| parts[index].last().map(|part| part.user)).flatten();
    let (mut before, mut after) = (vec![None; order.len()], vec![None; order.len()]);
    let mut last = None;
    for &index in &order {
        before[index] = last;
        last = known(index).or(last);
    }
    last = None;
    for &index in order.iter().rev() {
        after[index] = last;
        last = known(index).or(last);
    }
    let mut divided: Vec<Lines> = (0..users).map(|_| Lines::default()).collect();
    let several = lines.sequences.windows(2).any(|pair| pair[0].start == pair[1].start);
    let named = if several { named() } else { HashMap::default() };
    let user_of = |sequence: &Sequence| {
        let user = named.get(&sequence.first_opcode).or_else(|| named.get(&sequence.set_address));
        user.copied()
    };
    let mut at = 0;
    while let Some(first) = lines.sequences.get(at) {
        let here = lines.sequences[at..].partition_point(|sequence| sequence.start == first.start);
        let here = at..at + here;
        at = here.end;
        let owner = parts[here.start].first().map(|part| part.user);
        if here.len() == 1 && parts[here.start].len() > 1 {
            cut(&lines, here.start, &parts[here.start], &mut divided);
            continue;
        }
        let survivor = owner.and_then(|owner| {
            // What another unit names is not the survivor's.
            let mut free =
                here.clone().filter(|&index| user_of(&lines.sequences[index]).is_none_or(|of| of == owner));
            let own = here.clone().find(|&index| user_of(&lines.sequences[index]) == Some(owner));
            if own.is_some() {
                return own;
            }
            let beside = |near: &[Option<usize>]| free.clone().find(|&index| near[index] == Some(owner));
            beside(&before).or_else(|| beside(&after)).or_else(|| free.next())
        });
        for index in here {
            let named = user_of(&lines.sequences[index]);
            let own = named.or(owner.filter(|_| survivor == Some(index)));
            let beside = || [before[index], after[index]].into_iter().flatten();
            let other = || beside().find(|user| Some(*user) != owner);
            let user = own.or_else(other).or_else(|| beside().next()).or(owner).unwrap_or(any);
            let sequence = &lines.sequences[index];
            add(&mut divided[user], &lines.rows[sequence.rows.clone()], None, sequence.clone());
        }
    }
    let dead = Arc::from(lines.dead());
    for part in &mut divided {
        part.defined = Arc::clone(&lines.defined);
        part.finish_part(Arc::clone(&dead), lines.capped);
    }
    divided
}

/// Disjoint ranges, sorted by address. If several units have an address, the first one, by start, has it here.
fn disjoint(owners: &[(AddressRange, usize)]) -> Vec<Owned> {
    let mut owners = owners.to_vec();
    owners.sort_unstable();
    let (mut owned, mut end): (Vec<Owned>, u64) = (Vec::new(), 0);
    for (range, user) in owners {
        if range.end.0 > end {
            owned.push(Owned { start: range.start.0.max(end), end: range.end.0, user });
            end = range.end.0;
        }
    }
    owned
}

/// The units with code in a sequence, in the order of addresses, and where the code of each begins. The first one has the code
/// before it too, and each the code up to the next.
fn parts(sequence: &Sequence, owned: &[Owned], budget: &Budget) -> Vec<CutPart> {
    let first = owned.partition_point(|owned| owned.end <= sequence.start);
    let inside = owned[first..].iter().take_while(|owned| owned.start < sequence.end);
    let mut parts: Vec<CutPart> = Vec::new();
    for &Owned { start, user, .. } in inside {
        // Sequences that overlap could each be cut at the same ranges. Without steps the sequence stays whole.
        if !budget.spend(1) {
            break;
        }
        if parts.last().is_none_or(|last| last.user != user) {
            let start = if parts.is_empty() { sequence.start } else { start };
            parts.push(CutPart { start, user });
        }
    }
    parts
}

/// Gives each unit its part of the rows of a sequence.
fn cut(lines: &Lines, index: usize, parts: &[CutPart], divided: &mut [Lines]) {
    let sequence = &lines.sequences[index];
    for (at, part) in parts.iter().enumerate() {
        let end = parts.get(at + 1).map_or(sequence.end, |next| next.start);
        let rows = &lines.rows[sequence.rows.clone()];
        let from = |address: u64| rows.partition_point(|row| row.address < address);
        let (first, last) = (from(part.start), from(end));
        let starts_here = rows.get(first).is_some_and(|row| row.address == part.start);
        // A row holds until the next one, so the row before the cut has the line of the code after it.
        let held = first.checked_sub(1).filter(|_| !starts_here);
        let held = held.map(|before| LineRow { address: part.start, ..rows[before] });
        let sequence = Sequence { start: part.start, end, ..sequence.clone() };
        add(&mut divided[part.user], &rows[first..last], held, sequence);
    }
}

fn add(to: &mut Lines, rows: &[LineRow], first: Option<LineRow>, sequence: Sequence) {
    let start = to.rows.len();
    to.rows.extend(first);
    to.rows.extend_from_slice(rows);
    to.sequences.push(Sequence { rows: start..to.rows.len(), ..sequence });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ImageAddr;

    /// A sequence of rows at each 4 bytes of a range, whose lines count from 1.
    fn add_range(lines: &mut Lines, first_opcode: u64, range: std::ops::Range<u64>) {
        let rows = range.clone().step_by(4).zip(1..);
        let rows: Vec<LineRow> =
            rows.map(|(address, line)| LineRow { address, file: 1, line, column: 0 }).collect();
        let (start, end, set_address) = (range.start, range.end, first_opcode);
        add(lines, &rows, None, Sequence { start, end, rows: 0..0, first_opcode, set_address });
    }

    fn divided(
        sequences: &[(u64, std::ops::Range<u64>)],
        owners: &[(std::ops::Range<u64>, usize)],
    ) -> Vec<Vec<(u64, u64, u32)>> {
        let mut lines = Lines::default();
        sequences.iter().for_each(|(at, range)| add_range(&mut lines, *at, range.clone()));
        lines.finish_part(Arc::from([]), false);
        let range =
            |range: &std::ops::Range<u64>| AddressRange::new(ImageAddr(range.start), ImageAddr(range.end));
        let owners: Vec<_> = owners.iter().map(|(of, user)| (range(of), *user)).collect();
        let of_unit = |lines: Lines| {
            let first = |sequence: &Sequence| {
                let rows = &lines.rows[sequence.rows.clone()];
                assert!(
                    rows[0].address == sequence.start && rows.iter().all(|row| row.address < sequence.end)
                );
                (sequence.start, sequence.end, rows[0].line)
            };
            lines.sequences.iter().map(first).collect()
        };
        divide(lines, &owners, 3, HashMap::default).into_iter().map(of_unit).collect()
    }

    #[test]
    fn a_sequence_over_several_units_is_cut() {
        let owners = [(0x14..0x1e, 0), (0x22..0x30, 1), (0x30..0x40, 0)];
        // Code before the first range and between two is of the unit before; a cut between two rows repeats the row.
        assert_eq!(
            divided(&[(1, 0x10..0x40)], &owners),
            [vec![(0x10, 0x22, 1), (0x30, 0x40, 9)], vec![(0x22, 0x30, 5)], vec![]]
        );
    }

    #[test]
    fn sequences_of_one_address_are_of_the_units_beside_them() {
        let owners = [(0x10..0x30, 0), (0x40..0x50, 1), (0x60..0x70, 2)];
        let sequences = [
            (1, 0x10..0x20),
            (2, 0x20..0x30),
            (3, 0x20..0x30),
            (4, 0x40..0x50),
            (5, 0x20..0x30),
            (6, 0x60..0x70),
        ];
        let parts = divided(&sequences, &owners);
        // The second one is beside another one of the unit whose code this is, so it is the survivor's. The others are of the unit
        // before them, or after them where the survivor's is before.
        assert_eq!(parts[0], [(0x10, 0x20, 1), (0x20, 0x30, 1)]);
        assert_eq!((parts[1].len(), parts[2].len()), (3, 1));
        // A sequence outside of all ranges.
        assert_eq!(divided(&[(1, 0x10..0x20), (2, 0x80..0x90)], &owners)[0].len(), 2);
        assert_eq!(divided(&[(1, 0x80..0x90)], &owners)[0].len(), 1);
    }
}

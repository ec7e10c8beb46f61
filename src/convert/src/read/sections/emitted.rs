//! The sequences of a line program in its order, which is that of the object: also those that are dead.

use crate::model::{AddressRange, EmittedSequence, ImageAddr};
use crate::read::sections::line::Lines;

/// The sequences of a program, in the order of the line program.
pub(crate) fn in_program_order(lines: &Lines) -> Vec<EmittedSequence> {
    let live = lines.sequences.iter().map(|sequence| {
        let line = lines.rows.get(sequence.rows.start).map_or(0, |row| row.line);
        (sequence.first_opcode, EmittedSequence { range: sequence.range(), line, live: true })
    });
    let dead = lines.removed.iter().map(|removed| {
        let range = AddressRange::of(ImageAddr(0), removed.len);
        (removed.first_opcode, EmittedSequence { range, line: removed.line, live: false })
    });
    let mut order: Vec<(u64, EmittedSequence)> = live.chain(dead).collect();
    order.sort_unstable_by_key(|(first_opcode, _)| *first_opcode);
    order.into_iter().map(|(_, sequence)| sequence).collect()
}

//! Cuts line sequences that go on behind the functions that they begin with.
//!
//! An assembler ends a sequence with its section, and compilers put constants behind the code of a function (gcc for AArch64
//! with `-mcmodel=large`, ARM): the last row then holds for them as well, and the sequence is longer than the function. One
//! that no function has is taken for one of those that remain where it begins, if all of them have one length and no row
//! behind that is of another line.

use crate::model::{How, Row};
use crate::recover::recovered::Recovered;
use crate::util::hash::HashMap;

/// Cuts the sequences that no function has.
pub(crate) fn cut(recovered: &mut Recovered<'_, '_>) {
    let Recovered { code, traces, .. } = recovered;
    if traces.iter().all(|unit| unit.unclaimed.is_empty()) {
        return;
    }
    // The lengths of functions that remain, by start; 0 for several.
    let mut lens: HashMap<u64, u32> = HashMap::default();
    for piece in code.iter().flat_map(|unit| &unit.pieces).filter(|piece| piece.how == How::LiveRange) {
        let len = lens.entry(piece.start.0).or_insert(piece.len);
        if *len != piece.len {
            *len = 0;
        }
    }
    for (code, traces) in code.iter().zip(traces) {
        for lines in traces.unclaimed.iter_mut().filter(|lines| !lines.in_doubt) {
            let rows = code.rows_of(lines.rows);
            let Some(&len) = lens.get(&lines.start.0).filter(|len| 0 < **len && **len < lines.len) else {
                continue;
            };
            let (own, behind) = rows.split_at(rows.partition_point(|row| row.offset < len));
            let same = |row: &Row| own.last().is_some_and(|own| (own.file, own.line) == (row.file, row.line));
            if behind.iter().all(same) {
                lines.len = len;
                lines.rows.len = own.len() as u32;
            }
        }
    }
}

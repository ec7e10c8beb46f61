//! Cuts line sequences that extend beyond the function that they begin with.
//!
//! An assembler ends a sequence with its section. Compilers put constants after the code of a function (gcc for
//! AArch64 with `-mcmodel=large`, ARM), so the last row covers them too, and the sequence is longer than the
//! function. An unclaimed sequence is cut to the length of the functions that kept the address at which it begins, if
//! all of these have one length and no later row has another line.

use crate::model::{How, ImageAddr, Row};
use crate::recover::recovered::Recovered;
use crate::util::hash::HashMap;

/// Cuts the unclaimed sequences.
pub(crate) fn cut<'u, 'f>(mut recovered: Recovered<'u, 'f>) -> Recovered<'u, 'f> {
    let Recovered { code, traces, .. } = &mut recovered;
    if traces.iter().all(|unit| unit.unclaimed.is_empty()) {
        return recovered;
    }
    // By start: the length of the functions that kept their address; 0 if there are several lengths.
    let mut lens: HashMap<ImageAddr, u32> = HashMap::default();
    for piece in code.iter().flat_map(|unit| unit.pieces.iter()).filter(|piece| piece.how == How::LiveRange) {
        // Two lengths at one address: either function may be the survivor, so the sequence stays whole.
        let len = lens.entry(piece.start).or_insert(piece.len);
        if *len != piece.len {
            *len = 0;
        }
    }
    for (code, traces) in code.iter().zip(traces) {
        // A sequence in doubt is kept without rows, and without rows nothing shows what follows the function.
        for lines in traces.unclaimed.iter_mut().filter(|lines| !lines.in_doubt) {
            let rows = code.rows_of(lines.rows);
            let Some(&len) = lens.get(&lines.start).filter(|len| 0 < **len && **len < lines.len) else {
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
    recovered
}

//! Finds a number that occurs twice, without memory for all numbers: as many as a window has at once.

use crate::error::Error;

/// Words of a window, with a bit for each number.
const WORDS: usize = 32;

/// The first record with the number of a record before it in its window; `None` if all numbers are distinct. `number` reads that of a
/// record, `None` if the record has none. Each window of numbers takes a pass over all records.
pub(crate) fn repeated(
    records: core::ops::Range<u32>,
    number: &dyn Fn(u32) -> Result<Option<u32>, Error>,
) -> Result<Option<u32>, Error> {
    let mut from = 0u32;
    loop {
        let mut seen = [0u64; WORDS];
        // The lowest number after the window.
        let mut next = None;
        for record in records.clone() {
            let Some(number) = number(record)? else { continue };
            // Below the window: an earlier pass had it.
            let Some(at) = number.checked_sub(from) else { continue };
            let Some(word) = seen.get_mut(at.wrapping_shr(6) as usize) else {
                next = Some(next.map_or(number, |next: u32| next.min(number)));
                continue;
            };
            let bit = 1u64.wrapping_shl(at & 63);
            if *word & bit != 0 {
                return Ok(Some(record));
            }
            *word |= bit;
        }
        let Some(next) = next else { return Ok(None) };
        from = next;
    }
}

//! Compares the basic blocks of a file with those of its program, one by one.

use foldsym_lookup::{Error, SymbolFile};

use super::mismatches::Mismatches;
use crate::model::BlockMap;

/// Compares every block and every range.
///
/// # Errors
/// Damage.
pub(super) fn compare(
    path: &std::path::Display<'_>,
    file: &SymbolFile<'_>,
    map: &BlockMap,
    mismatches: &mut Mismatches,
) -> Result<(), Error> {
    let found = file.basic_blocks()?;
    let counts = |blocks: usize, ranges: usize| format!("{blocks} in {ranges} ranges");
    let ours = counts(map.blocks.len(), map.ranges.len());
    let theirs =
        found.map_or(counts(0, 0), |found| counts(found.len() as usize, found.range_count() as usize));
    if ours != theirs {
        // With other counts the numbers of ranges do not correspond, and every further comparison would be a mismatch.
        mismatches.add(|| format!("{path}: basic blocks: expected {ours}, found {theirs}"));
        return Ok(());
    }
    let Some(found) = found else { return Ok(()) };
    for (number, range) in map.ranges.iter().enumerate() {
        let theirs = (
            found.blocks_of(number as u32)?,
            found.entry_range(number as u32)?,
            found.next_range(number as u32)?,
            found.shared_block(number as u32)?.map(|block| (block.index, block.id, block.flags)),
        );
        let blocks = range.shared.map_or(range.blocks.clone(), |shared| shared.block..shared.block + 1);
        let shared = range.shared.map(|shared| (shared.block, shared.id, shared.flags));
        let ours = (blocks, range.entry, range.next, shared);
        if ours != theirs {
            mismatches.add(|| {
                format!("{path}: range {number} of basic blocks: expected {ours:?}, found {theirs:?}")
            });
        }
    }
    for (number, block) in map.blocks.iter().enumerate() {
        let theirs = found.block(number as u32)?;
        let ours = (block.start.0, u64::from(block.size), block.id, block.flags);
        let theirs = (theirs.start.0, theirs.size, theirs.id, theirs.flags);
        if ours != theirs {
            let (start, ..) = ours;
            mismatches.add(|| {
                format!("{path}: basic block {number} at {start:#x}: expected {ours:?}, found {theirs:?}")
            });
        }
        mismatches.asked += 1;
    }
    Ok(())
}

//! Where in the file a record begins.

use foldsym_format::bits::{mask, u8_at, word};
use foldsym_format::table::{BASES, BLOCK_LOG2, COLUMNS, HEADERS, OFFSET_BITS, RECORD_BITS_SHIFT, WORD};
use foldsym_lookup::{SectionId, SymbolFile};

/// Byte and bit at which a record of a table begins, from the start of the file; `None` if the table does not have it.
pub(crate) fn of_record(file: &SymbolFile<'_>, section: SectionId, record: u32) -> Option<(u64, u64)> {
    let data = file.records().section_bytes(section)?;
    let block_log2 = u32::from(u8_at(data, BLOCK_LOG2)?);
    let stride = usize::from(u8_at(data, COLUMNS)?).checked_add(BASES)?.checked_mul(WORD)?;
    let block = usize::try_from(record.checked_shr(block_log2)?).ok()?;
    // All arithmetic is checked: the head of a damaged table may have any numbers.
    let head = word(data, block.checked_mul(stride)?.checked_add(HEADERS)?)?;
    let index = u64::from(record) & mask(block_log2);
    let bit = (head & mask(OFFSET_BITS))
        .checked_mul(8)?
        .checked_add((head >> RECORD_BITS_SHIFT).checked_mul(index)?)?;
    Some((of_section(file, section)?.checked_add(bit / 8)?, bit % 8))
}

/// Byte at which a section begins.
pub(crate) fn of_section(file: &SymbolFile<'_>, section: SectionId) -> Option<u64> {
    file.records().sections().find(|info| info.id == section).map(|info| info.offset)
}

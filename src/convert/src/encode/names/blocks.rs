//! Writes the blocks of a name table. A block has a row for each name (how much it keeps of the name before, and the length of
//! its code), then the codes of the suffixes.

use super::code::Code;
use crate::encode::bits::{BitWriter, width_of};

/// Names in a block. Larger blocks store fewer names whole; in smaller blocks a reader takes fewer steps to a name.
pub(super) const BLOCK: usize = 16;

pub(super) fn narrow(size: usize) -> u32 {
    u32::try_from(size).expect("a name table is smaller than 4 GiB")
}

/// Writes codes from the most significant bit of each byte on.
#[derive(Default)]
struct CodeWriter {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl CodeWriter {
    fn push(&mut self, code: Code) {
        // Fewer than 32 bits wait here, and a code has at most [`MAX_CODE`](foldsym_format::names::MAX_CODE): 64 bits have
        // room for both.
        self.pending = self.pending << code.length | u64::from(code.bits);
        self.count += u32::from(code.length);
        if self.count >= 32 {
            self.count -= 32;
            self.bytes.extend_from_slice(&((self.pending >> self.count) as u32).to_be_bytes());
        }
    }

    /// Fills the last byte with zeros.
    fn end(&mut self) {
        let used = self.count.div_ceil(8) as usize;
        let left = (self.pending << (32 - self.count)) as u32;
        self.bytes.extend_from_slice(&left.to_be_bytes()[..used]);
        self.count = 0;
    }
}

/// Returns the blocks, and the offset of each.
pub(super) fn write_blocks(keeps: &[u32], suffixes: &[u32], codes: &[Code]) -> (Vec<u8>, Vec<u32>) {
    let mut blocks = Vec::new();
    let mut offsets = Vec::with_capacity(keeps.len().div_ceil(BLOCK));
    let mut bits = CodeWriter::default();
    let mut suffixes = suffixes.iter();
    for keeps in keeps.chunks(BLOCK) {
        offsets.push(narrow(blocks.len()));
        let mut sizes = [0; BLOCK];
        let sizes = &mut sizes[..keeps.len()];
        for size in &mut *sizes {
            // The suffix ends at `END`, which is no symbol.
            while let Some(&code) = suffixes.next().and_then(|&symbol| codes.get(symbol as usize)) {
                bits.push(code);
                *size += u32::from(code.length);
            }
        }
        // The codes of a block end at a byte, so that each block begins at one, and a reader finds it by a byte offset.
        bits.end();
        let mut fields = BitWriter::new(&mut blocks);
        RowWidths::plan(keeps, sizes).write(keeps, sizes, &mut fields);
        fields.finish();
        blocks.append(&mut bits.bytes);
    }
    (blocks, offsets)
}

/// The widths of the rows at the start of a block.
struct RowWidths {
    /// The least that a name of the block other than the first keeps.
    least: u32,
    keep_bits: u32,
    size_bits: u32,
    /// How much wider the fields of the first row are.
    more_least: u32,
    more_size: u32,
}

impl RowWidths {
    /// The most bits by which the first row's fields can be wider: the block stores each difference in 3 bits.
    const MOST_MORE: u32 = 7;

    fn plan(keeps: &[u32], sizes: &[u32]) -> RowWidths {
        let least = keeps[1..].iter().copied().min().unwrap_or(0);
        let spread = keeps[1..].iter().map(|keep| keep - least).max().unwrap_or(0);
        // The first name of a block is stored whole, and its code is mostly the longest. If its field were as wide as
        // the others, all of them would be as wide as it needs.
        let longest = sizes[1..].iter().copied().max().unwrap_or(0);
        let (least_bits, first_bits) = (width_of(least.into()), width_of(sizes[0].into()));
        let keep_bits = width_of(spread.into()).max(least_bits.saturating_sub(Self::MOST_MORE));
        let size_bits = width_of(longest.into()).max(first_bits.saturating_sub(Self::MOST_MORE));
        RowWidths {
            least,
            keep_bits,
            size_bits,
            more_least: least_bits.saturating_sub(keep_bits),
            more_size: first_bits.saturating_sub(size_bits),
        }
    }

    fn write(&self, keeps: &[u32], sizes: &[u32], fields: &mut BitWriter<'_>) {
        fields.put(self.keep_bits.into(), 5);
        fields.put(self.more_least.into(), 3);
        fields.put(self.size_bits.into(), 5);
        fields.put(self.more_size.into(), 3);
        fields.put(self.least.into(), self.keep_bits + self.more_least);
        fields.put(sizes[0].into(), self.size_bits + self.more_size);
        for (&keep, &size) in keeps.iter().zip(sizes).skip(1) {
            fields.put((keep - self.least).into(), self.keep_bits);
            fields.put(size.into(), self.size_bits);
        }
    }
}

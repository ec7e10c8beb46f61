//! Writes tables: blocks of records, each column packed above its base (schema, section 4).
//!
//! The base of a column is its least value in the block. Smaller blocks have narrower columns and need more headers: the writer measures
//! every size and takes the smallest table.

use super::bits::{BitWriter, width_of};
use foldsym_format::bits::TAIL;
use foldsym_format::table;
use rayon::prelude::*;
use std::ops::{Range, RangeInclusive};

/// Log2 of the block sizes that are measured. No program of a thousand functions or more got its smallest table from smaller blocks.
const BLOCK_LOG2: RangeInclusive<u32> = 5..=8;
/// Blocks of the largest size that one task measures.
const BLOCKS_PER_TASK: usize = 64;

/// The least and the largest of some numbers.
#[derive(Clone, Copy)]
struct Extent {
    least: i64,
    most: i64,
}

impl Extent {
    const NONE: Extent = Extent { least: i64::MAX, most: i64::MIN };

    fn of(values: &[i64]) -> Extent {
        values.iter().fold(Extent::NONE, |span, &value| span.and(Extent { least: value, most: value }))
    }

    /// How the values are stored.
    fn band(self) -> Band {
        Band { base: self.least, width: width_of((self.most - self.least) as u64) }
    }

    fn and(self, other: Extent) -> Extent {
        Extent { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// How one column of a block is packed.
#[derive(Clone, Copy, Default)]
struct Band {
    base: i64,
    width: u32,
}

/// A table of `K` columns; `record` gives the record of an index below `count`.
pub(super) struct Table<const K: usize, R> {
    pub(super) count: usize,
    pub(super) record: R,
}

impl<const K: usize, R: Fn(usize) -> [i64; K] + Sync> Table<K, R> {
    /// The bytes of the section. The absolute values of all columns are below 2^47.
    pub(super) fn encode(&self) -> Vec<u8> {
        let sizes = BLOCK_LOG2.zip(self.bands());
        let (block_log2, bands) = sizes
            .min_by_key(|(block_log2, bands)| (self.len(*block_log2, bands), *block_log2))
            .unwrap_or_default();
        self.write(block_log2, &bands)
    }

    fn blocks(&self, block_log2: u32) -> impl Iterator<Item = Range<usize>> {
        let step = 1 << block_log2;
        (0..self.count).step_by(step).map(move |start| start..(start + step).min(self.count))
    }

    /// For each block size the bands of all blocks.
    fn bands(&self) -> Vec<Vec<[Band; K]>> {
        let blocks: Vec<_> = self.blocks(*BLOCK_LOG2.end()).collect();
        let tasks: Vec<Vec<Vec<[Band; K]>>> =
            blocks.par_chunks(BLOCKS_PER_TASK).map(|blocks| self.bands_of(blocks)).collect();
        let mut all: Vec<Vec<[Band; K]>> = BLOCK_LOG2.map(|_| Vec::new()).collect();
        for (size, all) in all.iter_mut().enumerate() {
            all.reserve_exact(tasks.iter().map(|task| task[size].len()).sum());
        }
        // Each task's bands are freed as soon as they are joined.
        for task in tasks {
            all.iter_mut().zip(task).for_each(|(all, bands)| all.extend(bands));
        }
        all
    }

    /// The same for some blocks of the largest size. Each record is made once, for the block of the largest size and for the
    /// smaller blocks inside it.
    fn bands_of(&self, blocks: &[Range<usize>]) -> Vec<Vec<[Band; K]>> {
        let mut columns: [Vec<i64>; K] = std::array::from_fn(|_| Vec::with_capacity(1 << BLOCK_LOG2.end()));
        let mut bands: Vec<Vec<[Band; K]>> = BLOCK_LOG2.map(|_| Vec::new()).collect();
        for block in blocks {
            columns.iter_mut().for_each(Vec::clear);
            for i in block.clone() {
                for (column, value) in columns.iter_mut().zip((self.record)(i)) {
                    debug_assert!(value.unsigned_abs() < 1 << 47);
                    column.push(value);
                }
            }
            // The values of each block of the smallest size; those of a larger block have the span of its halves together.
            let mut spans: [Vec<Extent>; K] =
                std::array::from_fn(|k| columns[k].chunks(1 << BLOCK_LOG2.start()).map(Extent::of).collect());
            for (block_log2, bands) in BLOCK_LOG2.zip(&mut bands) {
                if block_log2 > *BLOCK_LOG2.start() {
                    for spans in &mut spans {
                        *spans = spans
                            .chunks(2)
                            .map(|halves| halves.iter().fold(Extent::NONE, |all, half| all.and(*half)))
                            .collect();
                    }
                }
                let blocks = 0..block.len().div_ceil(1 << block_log2);
                bands.extend(blocks.map(|number| std::array::from_fn(|k| spans[k][number].band())));
            }
        }
        bands
    }

    /// Bytes of the whole table with these bands.
    fn len(&self, block_log2: u32, bands: &[[Band; K]]) -> usize {
        let records =
            self.blocks(block_log2).zip(bands).map(|(block, bands)| record_bytes(bands, block.len()));
        headers_end::<K>(bands.len()) + records.sum::<usize>() + TAIL
    }

    fn write(&self, block_log2: u32, bands: &[[Band; K]]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len(block_log2, bands));
        out.extend_from_slice(&(self.count as u32).to_le_bytes());
        out.extend_from_slice(&[K as u8, block_log2 as u8, 0, 0]);
        // All headers come before the records, so the place of each block is needed first: it follows from the widths alone.
        let mut at = headers_end::<K>(bands.len()) as u64;
        for (block, bands) in self.blocks(block_log2).zip(bands) {
            out.extend_from_slice(&table::pack_block(at, record_bits(bands)).to_le_bytes());
            let width = |k: usize| bands.get(k).map_or(0, |band| band.width as u8);
            out.extend_from_slice(&std::array::from_fn::<u8, { table::WORD }, _>(width));
            bands.iter().for_each(|band| out.extend_from_slice(&band.base.to_le_bytes()));
            at += record_bytes(bands, block.len()) as u64;
        }
        for (block, bands) in self.blocks(block_log2).zip(bands) {
            let mut bits = BitWriter::new(&mut out);
            for at in block {
                for (band, value) in bands.iter().zip((self.record)(at)) {
                    bits.put((value - band.base) as u64, band.width);
                }
            }
            bits.finish();
        }
        out.resize(out.len() + TAIL, 0);
        out
    }
}

/// The offset of the first record.
fn headers_end<const K: usize>(blocks: usize) -> usize {
    table::HEADERS + blocks * (K + table::BASES) * table::WORD
}

fn record_bits(bands: &[Band]) -> u32 {
    bands.iter().map(|band| band.width).sum()
}

fn record_bytes(bands: &[Band], records: usize) -> usize {
    (record_bits(bands) as usize * records).div_ceil(8)
}

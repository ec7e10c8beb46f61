//! Writes BLOCKS, BLOCK_STARTS and BLOCK_RANGES: the basic-block address map (schema, section 9).

use foldsym_format::SectionId;
use foldsym_format::bits::TAIL;
use foldsym_format::records::basic_blocks::{GAP_SHIFT, GROUP_BLOCKS};

use super::bits::{BitWriter, width_of};
use super::section::Section;
use super::starts;
use super::tables::Table;
use crate::model::{Block, BlockMap};
use crate::util::hash::HashMap;

/// A block as it is stored.
struct BlockCell {
    id: u32,
    /// Index of its kind.
    kind: u32,
    /// The block begins a range.
    first: bool,
}

/// The three sections; no section for a program without a map.
pub(super) fn sections(map: &BlockMap, image_base: u64) -> Vec<Section> {
    if map.blocks.is_empty() {
        return Vec::new();
    }
    let kinds = kinds(map);
    let ranks: HashMap<u64, u32> = kinds.iter().copied().zip(0..).collect();
    let mut cells = cells(map, &ranks);
    let mut groups = Vec::new();
    let mut places: Vec<u32> = Vec::with_capacity(map.blocks.len().div_ceil(GROUP_BLOCKS as usize));
    let mut range = 0;
    for blocks in map.blocks.chunks(GROUP_BLOCKS as usize) {
        let cells: Vec<BlockCell> = cells.by_ref().take(blocks.len()).collect();
        places.push(groups.len() as u32);
        // `range` ranges began before this group. The group's first block belongs to the last of them, or begins the next.
        put_group(&cells, range - u32::from(!cells[0].first), &mut groups);
        range += cells.iter().filter(|cell| cell.first).count() as u32;
    }
    let kind_bits = width_of(kinds.iter().copied().max().unwrap_or(0));
    let mut out = Vec::new();
    out.extend_from_slice(&(map.blocks.len() as u32).to_le_bytes());
    out.extend_from_slice(&(kinds.len() as u32).to_le_bytes());
    out.extend_from_slice(&kind_bits.to_le_bytes());
    places.iter().for_each(|place| out.extend_from_slice(&place.to_le_bytes()));
    let mut packed = BitWriter::new(&mut out);
    kinds.iter().for_each(|&kind| packed.put(kind, kind_bits));
    packed.finish();
    out.extend_from_slice(&groups);
    out.resize(out.len() + TAIL, 0);
    // `encode::check` chose a base that is not above the first block.
    let from_base = |address: u64| address.wrapping_sub(image_base);
    let block_starts: Vec<u64> = map.blocks.iter().map(|block| from_base(block.start.0)).collect();
    let end = map.blocks.last().map_or(0, |last| from_base(last.start.0 + u64::from(last.size)));
    let record = |i: usize| {
        let range = &map.ranges[i];
        let entry = if range.entry as usize == i { 0 } else { i64::from(range.entry) + 1 };
        let optional = |range: Option<u32>| range.map_or(0, |range| i64::from(range) + 1);
        let shared = optional(range.shared.map(|shared| shared.block));
        let (id, flags) = range.shared.map_or((0, 0), |shared| (shared.id.into(), shared.flags.into()));
        [i64::from(range.blocks.start), entry, optional(range.next), shared, id, flags]
    };
    let ranges = Table { count: map.ranges.len(), record };
    vec![
        Section::new(SectionId::BLOCKS, out),
        Section::new(SectionId::BLOCK_STARTS, starts::encode(&block_starts, end, &starts::BLOCKS)),
        Section::new(SectionId::BLOCK_RANGES, ranges.encode()),
    ]
}

/// Each block with the bytes between its end and the start of the next.
fn gaps(map: &BlockMap) -> impl Iterator<Item = (&Block, u64)> {
    let starts = map.blocks.iter().skip(1).map(|next| Some(next.start.0)).chain([None]);
    map.blocks.iter().zip(starts).map(|(block, next)| {
        let end = block.start.0 + u64::from(block.size);
        (block, next.map_or(0, |next| next - end))
    })
}

fn kind_of(block: &Block, gap: u64) -> u64 {
    // Addresses of one file span less than 2^47 bytes.
    gap << GAP_SHIFT | u64::from(block.flags)
}

/// The distinct kinds, the most frequent first.
fn kinds(map: &BlockMap) -> Vec<u64> {
    let mut all: Vec<u64> = gaps(map).map(|(block, gap)| kind_of(block, gap)).collect();
    all.sort_unstable();
    let mut counted: Vec<(usize, u64)> =
        all.chunk_by(|a, b| a == b).map(|same| (same.len(), same[0])).collect();
    // Kinds of one count are in the order of their values: their order is part of the file.
    counted.sort_by_key(|&(count, kind)| (std::cmp::Reverse(count), kind));
    counted.into_iter().map(|(_, kind)| kind).collect()
}

fn cells<'m>(map: &'m BlockMap, ranks: &'m HashMap<u64, u32>) -> impl Iterator<Item = BlockCell> + 'm {
    let firsts = map.ranges.iter().flat_map(|range| range.blocks.clone().map(|i| i == range.blocks.start));
    gaps(map).zip(firsts).map(|((block, gap), first)| BlockCell {
        id: block.id,
        kind: ranks[&kind_of(block, gap)],
        first,
    })
}

/// Appends a group of up to 64 blocks, the first of which belongs to `range`.
fn put_group(cells: &[BlockCell], range: u32, out: &mut Vec<u8>) {
    let mut ranks = range;
    let mut stored = 0u64;
    let mut records: Vec<[u64; 3]> = Vec::with_capacity(cells.len());
    for (at, cell) in cells.iter().enumerate() {
        ranks += u32::from(at > 0 && cell.first);
        let counts_on = at > 0 && Some(cell.id) == cells[at - 1].id.checked_add(1);
        // A block of the most frequent kind (0), whose id follows that of the block before, takes one bit alone.
        if !counts_on || cell.first || cell.kind != 0 {
            stored |= 1 << at;
            records.push([cell.id.into(), (ranks - range).into(), cell.kind.into()]);
        }
    }
    let id_base = records.iter().map(|record| record[0]).min().unwrap_or(0);
    records.iter_mut().for_each(|record| record[0] -= id_base);
    let widths = [0, 1, 2].map(|field| width_of(records.iter().map(|r| r[field]).max().unwrap_or(0)));
    out.extend_from_slice(&(id_base as u32).to_le_bytes());
    out.extend_from_slice(&range.to_le_bytes());
    out.extend(widths.map(|width| width as u8));
    out.push(0);
    out.extend_from_slice(&stored.to_le_bytes());
    let mut packed = BitWriter::new(out);
    for (value, width) in records.iter().flat_map(|record| record.iter().zip(widths)) {
        packed.put(*value, width);
    }
    packed.finish();
}

//! Writes BLOCKS, BLOCK_STARTS, BLOCK_GROUPS and BLOCK_RANGES: the basic-block address map (schema, section 9).

use foldsym_format::SectionId;
use foldsym_format::bits::TAIL;
use foldsym_format::records::basic_blocks::{GAP_SHIFT, GROUP_BLOCKS};
use rustc_hash::FxHashMap;

use super::bits::{BitWriter, width_of};
use super::tables::Table;
use super::{Section, starts};
use crate::model::{Block, BlockMap};

/// A block as it is stored.
struct Cell {
    /// Bytes to the start of the next block.
    span: u64,
    id: u32,
    /// Index of its kind.
    kind: u32,
    /// Begins a range.
    first: bool,
}

/// None for a program without a map.
pub(super) fn sections(map: &BlockMap, image_base: u64) -> Vec<Section> {
    if map.blocks.is_empty() {
        return Vec::new();
    }
    let kinds = kinds(map);
    let mut out = Vec::new();
    out.extend_from_slice(&(map.blocks.len() as u32).to_le_bytes());
    out.extend_from_slice(&(kinds.len() as u32).to_le_bytes());
    kinds.iter().for_each(|kind| out.extend_from_slice(&kind.to_le_bytes()));
    let ranks: FxHashMap<u64, u32> = kinds.iter().copied().zip(0..).collect();
    let mut cells = cells(map, &ranks);
    let mut groups: Vec<[i64; 2]> = Vec::with_capacity(map.blocks.len().div_ceil(GROUP_BLOCKS as usize));
    let mut group_starts: Vec<u64> = Vec::with_capacity(groups.capacity());
    let mut range = 0;
    for blocks in map.blocks.chunks(GROUP_BLOCKS as usize) {
        let cells: Vec<Cell> = cells.by_ref().take(blocks.len()).collect();
        let begun = cells.iter().filter(|cell| cell.first).count() as i64;
        // `range` ranges began before this group; its first block belongs to the last of them, or begins the next.
        let of_first = range - i64::from(!cells[0].first);
        group_starts.push(blocks[0].start.0.wrapping_sub(image_base));
        groups.push([out.len() as i64, of_first]);
        range += begun;
        put_group(&cells, &mut out);
    }
    out.resize(out.len() + TAIL, 0);
    let end =
        map.blocks.last().map_or(0, |last| last.start.0 + u64::from(last.size)).wrapping_sub(image_base);
    let table = Table { count: groups.len(), record: |i: usize| groups[i] };
    let record = |i: usize| {
        let range = &map.ranges[i];
        let entry = if range.entry as usize == i { 0 } else { i64::from(range.entry) + 1 };
        [i64::from(range.blocks.start), entry, range.next.map_or(0, |next| i64::from(next) + 1)]
    };
    let ranges = Table { count: map.ranges.len(), record };
    vec![
        Section::new(SectionId::BLOCKS, out),
        Section::new(SectionId::BLOCK_STARTS, starts::encode(&group_starts, end)),
        Section::new(SectionId::BLOCK_GROUPS, table.encode()),
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

/// The kinds that there are, the most frequent first.
fn kinds(map: &BlockMap) -> Vec<u64> {
    let mut all: Vec<u64> = gaps(map).map(|(block, gap)| kind_of(block, gap)).collect();
    all.sort_unstable();
    let mut counted: Vec<(usize, u64)> =
        all.chunk_by(|a, b| a == b).map(|same| (same.len(), same[0])).collect();
    counted.sort_by_key(|&(count, kind)| (std::cmp::Reverse(count), kind));
    counted.into_iter().map(|(_, kind)| kind).collect()
}

fn cells<'m>(map: &'m BlockMap, ranks: &'m FxHashMap<u64, u32>) -> impl Iterator<Item = Cell> + 'm {
    let firsts = map.ranges.iter().flat_map(|range| range.blocks.clone().map(|i| i == range.blocks.start));
    gaps(map).zip(firsts).map(|((block, gap), first)| Cell {
        span: u64::from(block.size) + gap,
        id: block.id,
        kind: ranks[&kind_of(block, gap)],
        first,
    })
}

/// Appends a group of up to 32 blocks.
fn put_group(cells: &[Cell], out: &mut Vec<u8>) {
    let bits = |set: &dyn Fn(usize) -> bool| {
        (0..cells.len()).filter(|&i| set(i)).fold(0u32, |bits, i| bits | 1 << i)
    };
    let changes = bits(&|i| i == 0 || Some(cells[i].id) != cells[i - 1].id.checked_add(1));
    let others = bits(&|i| cells[i].kind != 0);
    let firsts = bits(&|i| cells[i].first);
    let among =
        |set: u32| cells.iter().enumerate().filter(move |(i, _)| set >> i & 1 != 0).map(|(_, cell)| cell);
    let id_base = among(changes).map(|cell| cell.id).min().unwrap_or(0);
    let span_width = width_of(cells.iter().map(|cell| cell.span).max().unwrap_or(0));
    let id_width = width_of(among(changes).map(|cell| u64::from(cell.id - id_base)).max().unwrap_or(0));
    let kind_width = width_of(among(others).map(|cell| u64::from(cell.kind)).max().unwrap_or(0));
    out.extend_from_slice(&[span_width as u8, id_width as u8, kind_width as u8, 0]);
    for word in [id_base, changes, others, firsts] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    let mut packed = BitWriter::new(out);
    cells.iter().for_each(|cell| packed.put(cell.span, span_width));
    among(changes).for_each(|cell| packed.put(u64::from(cell.id - id_base), id_width));
    among(others).for_each(|cell| packed.put(u64::from(cell.kind), kind_width));
    packed.finish();
}

//! Turns the sections of the basic-block address map into one [`BlockMap`]. It reads versions 0 to 5
//! (`SHT_LLVM_BB_ADDR_MAP`) and the old format without a version (`SHT_LLVM_BB_ADDR_MAP_V0`).
//!
//! A record has no length field. So after a record that cannot be read, the rest of its section is lost. Only the blocks of
//! a record are kept; ends of calls, hashes and profile numbers are skipped.

use foldsym_format::records::basic_blocks::ALL_FLAGS;

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{Block, BlockCounts, BlockMap, BlockRange, ImageAddr, SharedBlock};
use crate::open::{Arch, BlockMapSection};
use crate::read::code::CodeSections;
use crate::util::leb;

/// The newest known version.
const NEWEST: u8 = 5;

/// The feature bits of a record.
mod feature {
    pub(crate) const ENTRY_COUNT: u16 = 1 << 0;
    pub(crate) const FREQUENCY: u16 = 1 << 1;
    pub(crate) const BRANCHES: u16 = 1 << 2;
    pub(crate) const RANGES: u16 = 1 << 3;
    pub(crate) const NO_BLOCKS: u16 = 1 << 4;
    pub(crate) const CALL_ENDS: u16 = 1 << 5;
    pub(crate) const HASHES: u16 = 1 << 6;
    pub(crate) const POST_LINK: u16 = 1 << 7;

    /// The bits that a version has.
    pub(crate) const fn of(version: u8) -> u16 {
        match version {
            0 | 1 => 0,
            2 => 0x1f,
            3 => 0x3f,
            4 => 0x7f,
            _ => 0xff,
        }
    }
}

/// Why reading a section stopped.
enum Stop {
    /// A record has an unknown version or unknown features.
    Unknown(String),
    /// A record is cut off, or has numbers that no compiler writes.
    Damaged(&'static str),
}

const SHORT: Stop = Stop::Damaged("ends inside a record");

/// One function of the map: its ranges in the order of the record.
#[derive(Default)]
struct MapRecord {
    /// Base address and the range of `blocks`.
    ranges: Vec<(u64, std::ops::Range<usize>)>,
    blocks: Vec<Block>,
    counts: BlockCounts,
    /// The record says that its blocks were omitted.
    omitted: bool,
}

struct MapReader<'f> {
    bytes: &'f [u8],
    at: usize,
    address_size: usize,
    big_endian: bool,
}

impl MapReader<'_> {
    fn byte(&mut self) -> Result<u8, Stop> {
        let byte = self.bytes.get(self.at).copied().ok_or(SHORT)?;
        self.at += 1;
        Ok(byte)
    }

    /// An integer of up to 8 bytes in the program's byte order.
    fn fixed(&mut self, size: usize) -> Result<u64, Stop> {
        let field = self.bytes.get(self.at..).and_then(|rest| rest.get(..size)).ok_or(SHORT)?;
        self.at += size;
        let mut word = [0; 8];
        if self.big_endian {
            word[8 - size..].copy_from_slice(field);
            return Ok(u64::from_be_bytes(word));
        }
        word[..size].copy_from_slice(field);
        Ok(u64::from_le_bytes(word))
    }

    fn uleb(&mut self) -> Result<u64, Stop> {
        let (value, len) = leb::unsigned(self.bytes.get(self.at..).unwrap_or_default()).map_err(|_| SHORT)?;
        self.at += len;
        Ok(value)
    }

    /// LLVM allows 32 bits for the numbers of a block.
    fn uleb32(&mut self) -> Result<u32, Stop> {
        u32::try_from(self.uleb()?).map_err(|_| Stop::Damaged("a number of a block is 2^32 or more"))
    }

    /// Reads one function's record.
    fn record(&mut self, without_version: bool) -> Result<MapRecord, Stop> {
        // The old section type has neither a version byte nor a feature byte.
        let version = if without_version { 0 } else { self.byte()? };
        if version > NEWEST {
            return Err(Stop::Unknown(format!("version {version}, expected 0 to {NEWEST}")));
        }
        // The features differ from record to record: clang 22 sets `CALL_ENDS` only for functions with calls.
        let features = match (without_version, version) {
            (true, _) => 0,
            (false, 5..) => self.fixed(2)? as u16,
            _ => u16::from(self.byte()?),
        };
        if features & !feature::of(version) != 0 {
            return Err(Stop::Unknown(format!("features {features:#x} of version {version}")));
        }
        let mut record = MapRecord { omitted: features & feature::NO_BLOCKS != 0, ..MapRecord::default() };
        // With basic-block sections a function has a range for each of its sections. A number that is too large is
        // noticed at the end of the section.
        let ranges = if features & feature::RANGES != 0 { self.uleb()? } else { 1 };
        if ranges == 0 {
            return Err(Stop::Damaged("a function of no ranges"));
        }
        for _ in 0..ranges {
            self.range(version, features, &mut record)?;
        }
        self.profile(features, &mut record)?;
        Ok(record)
    }

    fn range(&mut self, version: u8, features: u16, record: &mut MapRecord) -> Result<(), Stop> {
        let base = self.fixed(self.address_size)?;
        let count = self.uleb()?;
        let first = record.blocks.len();
        if features & feature::NO_BLOCKS != 0 {
            record.ranges.push((base, first..first));
            return Ok(());
        }
        // Each block takes bytes of the section, so a wrong count ends with the section.
        let mut end = 0u64;
        for index in 0..count {
            // Blocks got ids in version 2. Before that, the position was the id.
            let id = if version >= 2 { self.uleb32()? } else { u32::try_from(index).map_err(|_| SHORT)? };
            let offset = u64::from(self.uleb32()?);
            // Since version 1 the offset counts from the end of the block before. In version 0 it counted from the start of the
            // range.
            let start = if version >= 1 { end + offset } else { offset };
            // These sums cannot overflow: each summand is below 2^32 and takes at least one byte of the section.
            let mut size = 0;
            if features & feature::CALL_ENDS != 0 {
                let calls = self.uleb()?;
                for _ in 0..calls {
                    size += u64::from(self.uleb32()?);
                }
                record.counts.call_ends += calls;
            }
            // An end of a call counts from the one before, and this number from the last of them: only the sum is the
            // block's size.
            size += u64::from(self.uleb32()?);
            let flags = self.uleb32()?;
            if features & feature::HASHES != 0 {
                self.fixed(8)?;
                record.counts.hashes += 1;
            }
            end = start + size;
            let too_long = || Stop::Damaged("a block of 2^32 bytes or more");
            record.blocks.push(Block {
                // A block that wraps begins before its base, and `BlocksRead::take` drops its function.
                start: ImageAddr(base.wrapping_add(start)),
                size: u32::try_from(size).map_err(|_| too_long())?,
                id,
                // Later compilers may add flags; unknown ones are dropped.
                flags: flags as u8 & ALL_FLAGS,
            });
        }
        record.ranges.push((base, first..record.blocks.len()));
        Ok(())
    }

    /// Skips the profile numbers, which follow all ranges.
    fn profile(&mut self, features: u16, record: &mut MapRecord) -> Result<(), Stop> {
        const NUMBERS: u16 = feature::ENTRY_COUNT | feature::FREQUENCY | feature::BRANCHES;
        record.counts.profiles = u64::from(features & NUMBERS != 0);
        if features & feature::ENTRY_COUNT != 0 {
            self.uleb()?;
        }
        if features & (feature::FREQUENCY | feature::BRANCHES) == 0 {
            return Ok(());
        }
        let post_link = features & feature::POST_LINK != 0;
        for _ in 0..record.blocks.len() {
            if features & feature::FREQUENCY != 0 {
                self.uleb()?;
            }
            // The frequency after linking is there even without `FREQUENCY`: LLVM writes it if there is any number for
            // each block.
            if post_link {
                self.uleb()?;
            }
            if features & feature::BRANCHES != 0 {
                for _ in 0..self.uleb()? {
                    self.uleb()?;
                    self.uleb()?;
                    if post_link {
                        self.uleb()?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Reads all sections of the map. The offset of a diagnostic counts from the start of the section that its text names.
pub(crate) fn read(
    sections: &[BlockMapSection<'_>],
    arch: &Arch,
    code: &CodeSections,
    diagnostics: &mut Diagnostics,
) -> BlockMap {
    let mut map = BlocksRead::default();
    for section in sections {
        map.counts.bytes += section.bytes.len() as u64;
        let mut reader = MapReader {
            bytes: section.bytes,
            at: 0,
            address_size: usize::from(arch.address_size),
            big_endian: arch.big_endian,
        };
        while reader.at < reader.bytes.len() {
            let offset = reader.at as u64;
            let place = || format!("section {} of the block map, offset {offset:#x}", section.index);
            match reader.record(section.without_version) {
                Ok(record) => map.take(
                    record,
                    code,
                    RecordPlace { section: section.index, offset },
                    &place,
                    diagnostics,
                ),
                Err(Stop::Unknown(what)) => {
                    diagnostics.add(Kind::UnknownBlockMap, offset, || format!("{}: {what}", place()));
                    break;
                }
                Err(Stop::Damaged(what)) => {
                    diagnostics.add(Kind::BadBlockMap, offset, || format!("{}: {what}", place()));
                    break;
                }
            }
        }
    }
    map.finish(diagnostics)
}

/// The place of a function's record.
#[derive(Clone, Copy)]
struct RecordPlace {
    /// The index of the section of the block map.
    section: usize,
    /// The offset in the section.
    offset: u64,
}

/// The records read so far, in section order.
#[derive(Default)]
struct BlocksRead {
    /// Base address, blocks, function, and position of the range in the function's record.
    ranges: Vec<(u64, std::ops::Range<usize>, u32, u32)>,
    blocks: Vec<Block>,
    /// The place of each function's record, for messages.
    functions: Vec<RecordPlace>,
    counts: BlockCounts,
}

impl BlocksRead {
    fn take(
        &mut self,
        record: MapRecord,
        code: &CodeSections,
        at: RecordPlace,
        place: &dyn Fn() -> String,
        diagnostics: &mut Diagnostics,
    ) {
        self.counts.call_ends += record.counts.call_ends;
        self.counts.profiles += record.counts.profiles;
        self.counts.hashes += record.counts.hashes;
        if record.omitted {
            diagnostics.add(Kind::OmittedBlocks, at.offset, place);
            return;
        }
        let inside = |(base, blocks): &(u64, std::ops::Range<usize>)| {
            if blocks.is_empty() {
                return true;
            }
            let Some(code) = code.section(ImageAddr(*base)) else { return false };
            let blocks = &record.blocks[blocks.clone()];
            blocks.iter().all(|block| {
                let end = block.start.checked_add(block.size.into());
                block.start.0 >= *base && end.is_some_and(|end| end <= code.end)
            })
        };
        // lld drops the record of a removed or folded function with its code (`SHF_LINK_ORDER`). Linkers that ignore this
        // flag keep the record, with a tombstone for its base.
        if !record.ranges.iter().all(inside) {
            diagnostics.add(Kind::DeadBlocks, at.offset, || {
                format!("{}: function at {:#x}", place(), record.ranges.first().map_or(0, |range| range.0))
            });
            return;
        }
        let overlap = |blocks: &std::ops::Range<usize>| {
            let ends = |block: &Block| block.start.0 + u64::from(block.size);
            record.blocks[blocks.clone()].windows(2).any(|pair| pair[1].start.0 < ends(&pair[0]))
        };
        // Only version 0 can describe overlapping blocks. Since version 1 the map has the gap between two blocks, which
        // is at least 0.
        if record.ranges.iter().any(|(_, blocks)| overlap(blocks)) {
            diagnostics.add(Kind::OverlappingBlocks, at.offset, place);
            return;
        }
        let (function, first) = (self.functions.len() as u32, self.blocks.len());
        self.functions.push(at);
        for (part, (base, blocks)) in (0..).zip(record.ranges) {
            if !blocks.is_empty() {
                self.ranges.push((base, first + blocks.start..first + blocks.end, function, part));
            }
        }
        self.blocks.extend(record.blocks);
    }

    /// Sorts the ranges by address. If functions overlap, the one that begins first is kept. If both begin at one address, the
    /// one that was read first is kept.
    fn finish(mut self, diagnostics: &mut Diagnostics) -> BlockMap {
        let span = |blocks: &[Block]| {
            let start = blocks.first().map_or(0, |block| block.start.0);
            (start, blocks.last().map_or(0, |block| block.start.0 + u64::from(block.size)))
        };
        // A range counts from its first block, since its base may be before that (padding).
        self.ranges.sort_by_key(|(_, blocks, function, part)| {
            let (start, end) = span(&self.blocks[blocks.clone()]);
            // An empty range overlaps nothing.
            (start, end > start, *function, *part)
        });
        // Linkers fold basic-block sections too. Then several functions have the same range, which is not an overlap.
        let mut refused = vec![false; self.functions.len()];
        let (mut before, mut end) = (None, 0);
        for (_, blocks, function, _) in &self.ranges {
            let here = span(&self.blocks[blocks.clone()]);
            if before == Some(here) {
                continue;
            }
            if here.0 < end {
                refused[*function as usize] = true;
            } else if !refused[*function as usize] {
                end = here.1;
                // Two ranges without bytes at one address are not folded into each other.
                before = Some(here).filter(|(start, end)| end > start);
            }
        }
        let refused_at = self.functions.iter().zip(&refused).filter(|(_, refused)| **refused);
        for (&RecordPlace { section, offset }, _) in refused_at {
            diagnostics.add(Kind::BlocksOverAnother, offset, || {
                format!("section {section} of the block map, offset {offset:#x}: overlaps another function")
            });
        }
        self.ranges.retain(|(_, _, function, _)| !refused[*function as usize]);
        let mut map = BlockMap { counts: self.counts, ..BlockMap::default() };
        // The ranges of each function, in the order of its record. If several functions have the same range, the first function
        // gets the blocks.
        let mut parts: Vec<(u32, (u32, u32), u32)> = Vec::with_capacity(self.ranges.len());
        let mut remains = vec![false; self.functions.len()];
        let mut folded: Vec<(usize, u32)> = Vec::new();
        let mut before = None;
        for (at, (_, blocks, function, part)) in self.ranges.iter().enumerate() {
            let here = span(&self.blocks[blocks.clone()]);
            let first = map.blocks.len() as u32;
            if let Some((_, range)) = before.filter(|(there, _)| *there == here) {
                folded.push((at, range));
                continue;
            }
            let range = map.ranges.len() as u32;
            map.blocks.extend_from_slice(&self.blocks[blocks.clone()]);
            let blocks = first..map.blocks.len() as u32;
            map.ranges.push(BlockRange { blocks, entry: range, next: None, shared: None });
            parts.push((*function, (*part, 0), range));
            remains[*function as usize] = true;
            before = (here.1 > here.0).then_some((here, range));
        }
        // The other functions of a folded range get shared blocks, but only if they have another range of their own.
        let end = map.blocks.len() as u32;
        for (at, range) in folded {
            let (base, blocks, function, part) = &self.ranges[at];
            let (blocks, there) = (&self.blocks[blocks.clone()], map.ranges[range as usize].blocks.clone());
            let place = |block: &Block| (block.start, block.size);
            let theirs = map.blocks[there.start as usize..there.end as usize].iter().map(place);
            // Equal code may be divided into blocks in different ways. Then no block of one function is a block of the
            // other.
            let alike = blocks.iter().map(place).eq(theirs);
            let RecordPlace { section, offset } = self.functions[*function as usize];
            let kind = if alike { Kind::FoldedBlocks } else { Kind::UnlikeBlocks };
            diagnostics.add(kind, offset, || {
                format!(
                    "section {section} of the block map, offset {offset:#x}: blocks at {base:#x} are another's too"
                )
            });
            // A reader finds the blocks of a function by code that only this function has. A function that was folded as
            // a whole has no such code.
            if !alike || !remains[*function as usize] {
                continue;
            }
            for ((block, index), order) in blocks.iter().zip(there).zip(0..) {
                let range = map.ranges.len() as u32;
                let shared = Some(SharedBlock { block: index, id: block.id, flags: block.flags });
                map.ranges.push(BlockRange { blocks: end..end, entry: range, next: None, shared });
                parts.push((*function, (*part, order), range));
            }
        }
        parts.sort_unstable();
        for pair in parts.windows(2) {
            let ([(function, _, before), (same, _, index)], entry) = ([pair[0], pair[1]], pair[0].2);
            if function == same {
                map.ranges[index as usize].entry = map.ranges[entry as usize].entry;
                map.ranges[before as usize].next = Some(index);
            }
        }
        parts.dedup_by_key(|(function, ..)| *function);
        map.counts.functions = parts.len() as u64;
        map
    }
}

#[cfg(test)]
mod tests;

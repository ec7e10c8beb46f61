//! An address to the basic block that holds it, and a function to its blocks (spec, section 9).
//!
//! Blocks stand in groups of 32: a search over the groups, then a sum over the spans of one group. No lookup of frames
//! needs them.

use foldsym_format::bits::{self, u8_at, u32_at};
use foldsym_format::records::basic_blocks as layout;
use foldsym_format::sections::block_ranges;
use foldsym_format::starts::Starts;
use foldsym_format::{SectionId, Table, What, steps};

use crate::error::{Error, InSection, small};
use crate::file::SymbolFile;
use crate::ids::ImageAddr;

/// A basic block of the machine code, as the compiler laid it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// The compiler's number of it, unique in its function.
    pub id: u32,
    /// Its first address.
    pub start: ImageAddr,
    /// Its bytes; 0 for a block without instructions.
    pub size: u64,
    /// Bits of [`foldsym_format::records::basic_blocks`].
    pub flags: u8,
    /// Its number, by address.
    pub index: u32,
    /// The range that it belongs to: blocks of one function that stand together.
    pub range: u32,
}

/// Words of LLVM's tools for the bits of [`BasicBlock::flags`], from the lowest.
const FLAG_NAMES: [&str; 5] = ["HasReturn", "HasTailCall", "IsEHPad", "CanFallThrough", "HasIndirectBranch"];

impl BasicBlock {
    /// What the compiler said of it, in the words of `llvm-readobj --bb-addr-map`.
    pub fn flag_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let flags = self.flags;
        FLAG_NAMES
            .into_iter()
            .zip(0u32..)
            .filter(move |&(_, bit)| flags >> bit & 1 != 0)
            .map(|(name, _)| name)
    }
}

/// The basic-block address map of a program.
#[derive(Clone, Copy)]
pub struct BasicBlocks<'d> {
    data: &'d [u8],
    count: u32,
    kinds: u32,
    starts: Starts<'d>,
    groups: Table<'d>,
    ranges: Table<'d>,
    image_base: u64,
}

/// The fixed part of a group, and where its columns are.
struct Group {
    /// Its first block, and how many it has.
    first: u32,
    len: u32,
    start: u64,
    /// Range of the first block.
    range: u32,
    span_width: u32,
    id_width: u32,
    kind_width: u32,
    id_base: u32,
    changes: u32,
    others: u32,
    firsts: u32,
    /// Bits at which the columns begin.
    spans: u64,
    ids: u64,
    kinds: u64,
}

const BLOCKS: SectionId = SectionId::BLOCKS;
const STARTS: SectionId = SectionId::BLOCK_STARTS;
const GROUPS: SectionId = SectionId::BLOCK_GROUPS;
const RANGES: SectionId = SectionId::BLOCK_RANGES;

impl<'d> SymbolFile<'d> {
    /// Opens the map of basic blocks; `None` where the file has none. Takes constant time.
    ///
    /// # Errors
    /// Sections that break the format, or one of the four missing.
    pub fn basic_blocks(&self) -> Result<Option<BasicBlocks<'d>>, Error> {
        let Some(data) = self.section_bytes(BLOCKS) else { return Ok(None) };
        let table = |id: SectionId| {
            let data = self.section_bytes(id).ok_or(Error::new(id, What::Missing, 0))?;
            Table::open(data, id.column_count(self.header().features)).within(id)
        };
        let (groups, ranges) = (table(GROUPS)?, table(RANGES)?);
        let starts = self.section_bytes(STARTS).ok_or(Error::new(STARTS, What::Missing, 0))?;
        let starts = Starts::open(starts).within(STARTS)?;
        let early = Error::new(BLOCKS, What::Truncated, data.len() as u64);
        let count = u32_at(data, layout::COUNT).ok_or(early)?;
        let kinds = u32_at(data, layout::KINDS).ok_or(early)?;
        if groups.len() != count.div_ceil(layout::GROUP_BLOCKS) || groups.len() != starts.len() {
            return Err(Error::new(GROUPS, What::Length, groups.len().into()));
        }
        Ok(Some(BasicBlocks { data, count, kinds, starts, groups, ranges, image_base: self.image_base().0 }))
    }
}

impl<'d> BasicBlocks<'d> {
    /// How many blocks there are.
    pub const fn len(&self) -> u32 {
        self.count
    }

    /// True where there is no block.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many ranges there are: a function has one, or one for each of its basic-block sections.
    pub const fn range_count(&self) -> u32 {
        self.ranges.len()
    }

    #[cold]
    fn damaged(&self, what: What, bit: u64) -> Error {
        Error::new(BLOCKS, what, bit >> 3)
    }

    #[inline(always)]
    fn bits(&self, bit: u64, width: u32) -> Result<u64, Error> {
        match bits::read(self.data, bit, width) {
            Some(value) => Ok(value),
            None => Err(self.damaged(What::Truncated, bit)),
        }
    }

    fn group(&self, group: u32, start: u64) -> Result<Group, Error> {
        let [place, range] = self.groups.record(group).within(GROUPS)?;
        let place = usize::try_from(place).map_err(|_| Error::new(GROUPS, What::Value, group.into()))?;
        let fixed = self.data.get(place..).and_then(|bytes| bytes.first_chunk::<{ layout::PACKED }>());
        let bytes = fixed.ok_or(Error::new(BLOCKS, What::Truncated, place as u64))?;
        let width = |at| u32::from(u8_at(bytes, at).unwrap_or(0));
        let word = |at| u32_at(bytes, at).unwrap_or(0);
        let first = group.wrapping_mul(layout::GROUP_BLOCKS);
        let found = Group {
            first,
            len: self.count.saturating_sub(first).min(layout::GROUP_BLOCKS),
            start: self.image_base.wrapping_add(start),
            range: small(range, GROUPS, group)?,
            span_width: width(layout::SPAN_WIDTH),
            id_width: width(layout::ID_WIDTH),
            kind_width: width(layout::KIND_WIDTH),
            id_base: word(layout::ID_BASE),
            changes: word(layout::CHANGES),
            others: word(layout::OTHERS),
            firsts: word(layout::FIRSTS),
            spans: (place as u64).wrapping_add(layout::PACKED as u64).wrapping_mul(8),
            ids: 0,
            kinds: 0,
        };
        if found.span_width.max(found.id_width).max(found.kind_width) > bits::MAX_WIDTH {
            return Err(Error::new(BLOCKS, What::Width, place as u64));
        }
        let behind =
            |bit: u64, width: u32, fields: u32| bit.wrapping_add(u64::from(width.wrapping_mul(fields)));
        let ids = behind(found.spans, found.span_width, found.len);
        let kinds = behind(ids, found.id_width, found.changes.count_ones());
        Ok(Group { ids, kinds, ..found })
    }

    /// Finishes block `at` of a group, which begins at `start` and ends `span` bytes on, gap included.
    fn block_of(&self, group: &Group, at: u32, start: u64, span: u64) -> Result<BasicBlock, Error> {
        // The bits of this block and those before.
        let through = u32::MAX.wrapping_shr(31u32.wrapping_sub(at));
        let stored = group.changes & through;
        let rank =
            stored.count_ones().checked_sub(1).ok_or_else(|| self.damaged(What::Value, group.spans))?;
        let since = at.wrapping_sub(31u32.wrapping_sub(stored.leading_zeros()));
        let id =
            self.bits(group.ids.wrapping_add(u64::from(rank.wrapping_mul(group.id_width))), group.id_width)?;
        let kind = match group.others >> at & 1 {
            0 => 0,
            _ => {
                let rank = (group.others & through).count_ones().wrapping_sub(1);
                let bit = group.kinds.wrapping_add(u64::from(rank.wrapping_mul(group.kind_width)));
                self.bits(bit, group.kind_width)?
            }
        };
        let place = kind.wrapping_mul(layout::KIND_LEN as u64).wrapping_add(layout::FIRST_KIND as u64);
        let word = usize::try_from(place).ok().and_then(|place| bits::word(self.data, place));
        let word = word.filter(|_| kind < self.kinds.into()).ok_or(Error::new(BLOCKS, What::Value, place))?;
        let size =
            span.checked_sub(word >> layout::GAP_SHIFT).ok_or(Error::new(BLOCKS, What::Value, place))?;
        // Ranges that begin in the group, behind its first block.
        let ranges = (group.firsts & through & !1).count_ones();
        Ok(BasicBlock {
            id: (id as u32).wrapping_add(group.id_base).wrapping_add(since),
            start: ImageAddr(start),
            size,
            flags: word as u8 & layout::ALL_FLAGS,
            index: group.first.wrapping_add(at),
            range: group.range.wrapping_add(ranges),
        })
    }

    /// The block that holds an address; `None` for one in no block, as the padding between two.
    ///
    /// Takes log2 of the groups plus at most 32 steps.
    ///
    /// # Errors
    /// Damage.
    pub fn at(&self, address: ImageAddr) -> Result<Option<BasicBlock>, Error> {
        let Some(key) = address.0.checked_sub(self.image_base) else { return Ok(None) };
        let Some(found) = self.starts.find(key).within(STARTS)? else { return Ok(None) };
        let group = self.group(found.piece, found.start)?;
        let mut behind = address.0.wrapping_sub(group.start);
        let mut bit = group.spans;
        for at in 0..group.len {
            steps::step();
            let span = self.bits(bit, group.span_width)?;
            if behind < span {
                let block = self.block_of(&group, at, address.0.wrapping_sub(behind), span)?;
                return Ok(Some(block).filter(|block| behind < block.size));
            }
            behind = behind.wrapping_sub(span);
            bit = bit.wrapping_add(group.span_width.into());
        }
        Ok(None)
    }

    /// Block `index`, counted by address.
    ///
    /// # Errors
    /// An index that does not exist, or damage.
    pub fn block(&self, index: u32) -> Result<BasicBlock, Error> {
        if index >= self.count {
            return Err(Error::new(BLOCKS, What::NoRecord, index.into()));
        }
        let group = index / layout::GROUP_BLOCKS;
        let group = self.group(group, self.starts.get(group).within(STARTS)?.start)?;
        let (mut start, mut bit) = (group.start, group.spans);
        for _ in 0..index % layout::GROUP_BLOCKS {
            start = start.wrapping_add(self.bits(bit, group.span_width)?);
            bit = bit.wrapping_add(group.span_width.into());
        }
        let span = self.bits(bit, group.span_width)?;
        self.block_of(&group, index % layout::GROUP_BLOCKS, start, span)
    }

    /// The range that the function of a range begins with.
    ///
    /// # Errors
    /// A range that does not exist, or damage.
    pub fn entry_range(&self, range: u32) -> Result<u32, Error> {
        let entry = small(self.ranges.value(range, block_ranges::ENTRY).within(RANGES)?, RANGES, range)?;
        Ok(entry.checked_sub(1).unwrap_or(range))
    }

    /// The next range of the same function, in the compiler's order.
    ///
    /// # Errors
    /// As [`BasicBlocks::entry_range`].
    pub fn next_range(&self, range: u32) -> Result<Option<u32>, Error> {
        let next = small(self.ranges.value(range, block_ranges::NEXT).within(RANGES)?, RANGES, range)?;
        Ok(next.checked_sub(1))
    }

    /// The numbers of the blocks of a range, by address.
    ///
    /// # Errors
    /// As [`BasicBlocks::entry_range`].
    pub fn blocks_of(&self, range: u32) -> Result<core::ops::Range<u32>, Error> {
        let first =
            |range: u32| small(self.ranges.value(range, block_ranges::FIRST).within(RANGES)?, RANGES, range);
        let next = range.wrapping_add(1);
        let end = if next < self.ranges.len() { first(next)? } else { self.count };
        Ok(first(range)?..end)
    }

    /// Where the function of a block begins: the first block of the range that it begins with.
    ///
    /// # Errors
    /// Damage.
    pub fn function_start(&self, block: &BasicBlock) -> Result<ImageAddr, Error> {
        let range = self.entry_range(block.range)?;
        Ok(self.block(self.blocks_of(range)?.start)?.start)
    }

    /// The blocks of the function that begins at `start`, range after range in the compiler's order; none where no
    /// function of the map begins there.
    pub fn of_function(&self, start: ImageAddr) -> FunctionBlocks<'_, 'd> {
        FunctionBlocks { blocks: self, begin: Some(start), range: None, left: 0..0, steps: self.ranges.len() }
    }

    /// The block of a function by the compiler's number: the reverse of [`BasicBlocks::at`].
    ///
    /// Takes a step for each block of the function.
    ///
    /// # Errors
    /// Damage.
    pub fn find(&self, function: ImageAddr, id: u32) -> Result<Option<BasicBlock>, Error> {
        for block in self.of_function(function) {
            let block = block?;
            if block.id == id {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The range that a function begins with at an address. Its first block may have no bytes, and so may others there.
    fn beginning_at(&self, address: ImageAddr) -> Result<Option<u32>, Error> {
        let Some(key) = address.0.checked_sub(self.image_base) else { return Ok(None) };
        let Some(found) = self.starts.find(key).within(STARTS)? else { return Ok(None) };
        let mut index = found.piece.saturating_mul(layout::GROUP_BLOCKS);
        // Empty blocks at the address may stand in groups before.
        while index > 0 && self.block(index)?.start >= address {
            steps::step();
            index = index.saturating_sub(layout::GROUP_BLOCKS);
        }
        while index < self.count {
            steps::step();
            let block = self.block(index)?;
            if block.start > address {
                break;
            }
            let begins = block.start == address && self.entry_range(block.range)? == block.range;
            if begins && self.blocks_of(block.range)?.start == index {
                return Ok(Some(block.range));
            }
            index = index.saturating_add(1);
        }
        Ok(None)
    }

    /// Checks every block and range.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.starts.verify().within(STARTS)?;
        self.groups.verify().within(GROUPS)?;
        self.ranges.verify().within(RANGES)?;
        let mut end = self.image_base;
        let mut range = None;
        for index in 0..self.count {
            let block = self.block(index)?;
            let wrong = Err(Error::new(BLOCKS, What::Order, index.into()));
            let starts = self.blocks_of(block.range)?.start == index;
            let expected = match (range, starts) {
                (None, true) => 0,
                (Some(range), true) => u32::wrapping_add(range, 1),
                (None, false) => return wrong,
                (Some(range), false) => range,
            };
            if block.start.0 < end || block.range != expected {
                return wrong;
            }
            range = Some(expected);
            end =
                block.start.0.checked_add(block.size).ok_or(Error::new(BLOCKS, What::Value, index.into()))?;
            if block.size > 0 && self.at(block.start)? != Some(block) {
                return wrong;
            }
        }
        if self.ranges.len() != range.map_or(0, |range| range.wrapping_add(1)) {
            return Err(Error::new(RANGES, What::Length, self.ranges.len().into()));
        }
        // Each range is in the chain of the one that its function begins with, so all chains have as many as there are.
        let mut left = self.ranges.len();
        for range in 0..self.ranges.len() {
            let mut next = Some(range).filter(|_| self.entry_range(range) == Ok(range));
            while let Some(part) = next {
                let wrong = Error::new(RANGES, What::Value, part.into());
                left = left.checked_sub(1).filter(|_| self.entry_range(part) == Ok(range)).ok_or(wrong)?;
                next = self.next_range(part)?;
            }
        }
        if left != 0 {
            return Err(Error::new(RANGES, What::Length, left.into()));
        }
        Ok(())
    }
}

/// The blocks of one function; see [`BasicBlocks::of_function`].
pub struct FunctionBlocks<'b, 'd> {
    blocks: &'b BasicBlocks<'d>,
    begin: Option<ImageAddr>,
    range: Option<u32>,
    left: core::ops::Range<u32>,
    /// Ranges that may still follow: a chain of more is a cycle.
    steps: u32,
}

impl FunctionBlocks<'_, '_> {
    fn step(&mut self) -> Result<Option<BasicBlock>, Error> {
        if let Some(start) = self.begin.take() {
            let Some(range) = self.blocks.beginning_at(start)? else { return Ok(None) };
            self.range = Some(range);
            self.left = self.blocks.blocks_of(range)?;
        }
        loop {
            if let Some(index) = self.left.next() {
                return self.blocks.block(index).map(Some);
            }
            let Some(range) = self.range else { return Ok(None) };
            self.range = self.blocks.next_range(range)?.filter(|_| self.steps > 0);
            self.steps = self.steps.saturating_sub(1);
            let Some(range) = self.range else { return Ok(None) };
            self.left = self.blocks.blocks_of(range)?;
        }
    }
}

impl Iterator for FunctionBlocks<'_, '_> {
    type Item = Result<BasicBlock, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if matches!(step, Some(Err(_))) {
            (self.range, self.left) = (None, 0..0);
        }
        step
    }
}

//! Finds the basic block that contains an address, and lists the blocks of a function (schema, section 9).
//!
//! Starts of blocks are coded like starts of pieces, so one search gives a block and its bytes. All other data of a block is in groups of
//! 64 blocks, and is read by the block's number. A lookup of frames reads none of this.

use foldsym_format::bits::{self, TAIL, u8_at, u32_at};
use foldsym_format::records::basic_blocks as layout;
use foldsym_format::sections::block_ranges;
use foldsym_format::starts::{Start, Starts};
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
    /// The range that it belongs to: adjacent blocks of one function.
    pub range: u32,
}

/// Words of LLVM's tools for the bits of [`BasicBlock::flags`], from the lowest.
const FLAG_NAMES: [&str; 5] = ["HasReturn", "HasTailCall", "IsEHPad", "CanFallThrough", "HasIndirectBranch"];

impl BasicBlock {
    /// Its flags, in the words of `llvm-readobj --bb-addr-map`.
    pub fn flag_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        Self::words_of(self.flags)
    }

    /// The same of any flags.
    pub fn words_of(flags: u8) -> impl Iterator<Item = &'static str> + use<> {
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
    kinds: u32,
    kind_bits: u32,
    /// Bit where the kinds begin.
    first_kind: u64,
    /// Byte where the groups begin.
    groups: usize,
    starts: Starts<'d>,
    ranges: Table<'d>,
    image_base: u64,
    /// Flags and gap of the most frequent kind.
    frequent: u64,
}

const BLOCKS: SectionId = SectionId::BLOCKS;
const STARTS: SectionId = SectionId::BLOCK_STARTS;
const RANGES: SectionId = SectionId::BLOCK_RANGES;

impl<'d> SymbolFile<'d> {
    /// Opens the map of basic blocks; `None` if the file has none. Takes constant time.
    ///
    /// # Errors
    /// Sections that break the format, or one of the three missing.
    pub fn basic_blocks(&self) -> Result<Option<BasicBlocks<'d>>, Error> {
        let Some(data) = self.section_bytes(BLOCKS) else { return Ok(None) };
        let section = |id: SectionId| self.section_bytes(id).ok_or(Error::new(id, What::Missing, 0));
        let ranges =
            Table::open(section(RANGES)?, RANGES.column_count(self.header().features)).within(RANGES)?;
        let starts = Starts::open(section(STARTS)?).within(STARTS)?;
        let early = Error::new(BLOCKS, What::Truncated, data.len() as u64);
        let count = u32_at(data, layout::COUNT).ok_or(early)?;
        let kinds = u32_at(data, layout::KINDS).ok_or(early)?;
        let kind_bits = u32_at(data, layout::KIND_BITS).ok_or(early)?;
        if kind_bits > bits::MAX_WIDTH {
            return Err(Error::new(BLOCKS, What::Width, layout::KIND_BITS as u64));
        }
        // Both sections number the blocks, so they must have the same count.
        if starts.len() != count {
            return Err(Error::new(STARTS, What::Length, starts.len().into()));
        }
        // Products of two numbers of 32 bits and less: nothing wraps.
        let groups = u64::from(count.div_ceil(layout::GROUP_BLOCKS));
        let first_kind = groups.wrapping_mul(layout::PLACE_LEN as u64).wrapping_add(layout::PLACES as u64);
        let kinds_len = u64::from(kinds).wrapping_mul(kind_bits.into()).div_ceil(8);
        let groups = usize::try_from(first_kind.wrapping_add(kinds_len)).map_err(|_| early)?;
        let first_kind = first_kind.wrapping_shl(3);
        Ok(Some(BasicBlocks {
            data,
            kinds,
            kind_bits,
            first_kind,
            groups,
            starts,
            ranges,
            image_base: self.image_base().0,
            frequent: bits::read(data, first_kind, kind_bits).ok_or(early)?,
        }))
    }
}

impl<'d> BasicBlocks<'d> {
    /// How many blocks there are.
    pub const fn len(&self) -> u32 {
        self.starts.len()
    }

    /// True if there is no block.
    pub const fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The number of ranges: a function has one, or one for each of its basic-block sections, even if the linker folded that section into
    /// another function's.
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

    /// Where a group begins, and its fixed part.
    #[inline(always)]
    fn group(&self, group: u32) -> Result<(usize, &'d [u8; layout::PACKED]), Error> {
        let at = (group as usize).wrapping_mul(layout::PLACE_LEN).wrapping_add(layout::PLACES);
        if let Some(place) = u32_at(self.data, at) {
            // On a 32-bit target the sum may wrap. The read below is checked in any case.
            let place = self.groups.wrapping_add(place as usize);
            let head = self.data.get(place..place.wrapping_add(layout::PACKED));
            if let Some(head) = head.and_then(|bytes| bytes.first_chunk()) {
                return Ok((place, head));
            }
        }
        Err(Error::new(BLOCKS, What::Truncated, at as u64))
    }

    /// Decodes a block whose place was found.
    #[inline(always)]
    fn block_at(&self, found: Start) -> Result<BasicBlock, Error> {
        let (place, head) = self.group(found.piece / layout::GROUP_BLOCKS)?;
        let at = found.piece % layout::GROUP_BLOCKS;
        // Counts the blocks with records up to this one. The first block of a group has a record, and the ids of later blocks count on from
        // the last record. A block without a record belongs to the same range, and has kind 0.
        let through = u64::MAX.wrapping_shr(63u32.wrapping_sub(at));
        let stored = bits::word(head, layout::STORED).unwrap_or(0) & through;
        // In a damaged file `stored` may be 0. Then both differences wrap, and the read below fails or gives a wrong record.
        let since = at.wrapping_sub(63u32.wrapping_sub(stored.leading_zeros()));
        let rank = u64::from(stored.count_ones().wrapping_sub(1));
        let width = |at: usize| u32::from(u8_at(head, at).unwrap_or(0));
        let widths @ [id_width, range_width, kind_width] =
            [width(layout::ID_WIDTH), width(layout::RANGE_WIDTH), width(layout::KIND_WIDTH)];
        let all = id_width.wrapping_add(range_width).wrapping_add(kind_width);
        let packed = (place as u64).wrapping_add(layout::PACKED as u64).wrapping_shl(3);
        let bit = packed.wrapping_add(rank.wrapping_mul(all.into()));
        let [id, range, number] = if all <= bits::MAX_WIDTH {
            let record = self.bits(bit, all)?;
            let behind = record.wrapping_shr(id_width);
            [
                record & bits::mask(id_width),
                behind & bits::mask(range_width),
                behind.wrapping_shr(range_width),
            ]
        } else {
            self.wide(bit, widths)?
        };
        let mut kind = self.frequent;
        if since == 0 {
            if number >= self.kinds.into() {
                return Err(self.damaged(What::Value, bit));
            }
            let bit = number.wrapping_mul(self.kind_bits.into()).wrapping_add(self.first_kind);
            kind = self.bits(bit, self.kind_bits)?;
        }
        let span = found.next.wrapping_sub(found.start);
        // The gap is the part of the span after the block's end (schema, section 9), so it cannot be longer.
        let Some(size) = span.checked_sub(kind >> layout::GAP_SHIFT) else {
            return Err(self.damaged(What::Value, packed));
        };
        let base = |at: usize| u32_at(head, at).unwrap_or(0);
        Ok(BasicBlock {
            id: (id as u32).wrapping_add(base(layout::ID_BASE)).wrapping_add(since),
            start: ImageAddr(self.image_base.wrapping_add(found.start)),
            size,
            flags: kind as u8 & layout::ALL_FLAGS,
            index: found.piece,
            range: (range as u32).wrapping_add(base(layout::RANGE)),
        })
    }

    /// A record that one load does not have.
    #[cold]
    fn wide(&self, mut bit: u64, widths: [u32; 3]) -> Result<[u64; 3], Error> {
        let mut fields = [0; 3];
        for (field, width) in fields.iter_mut().zip(widths) {
            *field = self.bits(bit, width)?;
            bit = bit.wrapping_add(width.into());
        }
        Ok(fields)
    }

    /// The block that holds an address; `None` for one in no block, as the padding between two.
    ///
    /// Takes the steps of [`Starts::find`].
    ///
    /// # Errors
    /// Damage.
    #[inline]
    pub fn at(&self, address: ImageAddr) -> Result<Option<BasicBlock>, Error> {
        let Some(key) = address.0.checked_sub(self.image_base) else { return Ok(None) };
        let Some(found) = self.starts.find(key).within(STARTS)? else { return Ok(None) };
        let block = self.block_at(found)?;
        // Damaged starts may not rise.
        let inside = key.checked_sub(found.start).is_some_and(|offset| offset < block.size);
        Ok(if inside { Some(block) } else { None })
    }

    /// Block `index`, counted by address. Takes the steps of [`Starts::get`].
    ///
    /// # Errors
    /// An index that does not exist, or damage.
    pub fn block(&self, index: u32) -> Result<BasicBlock, Error> {
        self.block_at(self.starts.get(index).within(STARTS)?)
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

    /// For a range that is one block of another function, into which the linker folded it: that block, with the number and the flags that
    /// this function has for it.
    ///
    /// # Errors
    /// As [`BasicBlocks::entry_range`].
    pub fn shared_block(&self, range: u32) -> Result<Option<BasicBlock>, Error> {
        let column = |column| small(self.ranges.value(range, column).within(RANGES)?, RANGES, range);
        let Some(index) = column(block_ranges::SHARED)?.checked_sub(1) else { return Ok(None) };
        let (id, flags) = (column(block_ranges::ID)?, column(block_ranges::FLAGS)?);
        Ok(Some(BasicBlock { id, flags: flags as u8, ..self.block(index)? }))
    }

    /// The numbers of the blocks of a range, by address; for a shared range, the number of the one block.
    ///
    /// # Errors
    /// As [`BasicBlocks::entry_range`].
    pub fn blocks_of(&self, range: u32) -> Result<core::ops::Range<u32>, Error> {
        let shared = small(self.ranges.value(range, block_ranges::SHARED).within(RANGES)?, RANGES, range)?;
        if let Some(index) = shared.checked_sub(1) {
            return Ok(index..shared);
        }
        let first =
            |range: u32| small(self.ranges.value(range, block_ranges::FIRST).within(RANGES)?, RANGES, range);
        let next = range.wrapping_add(1);
        // The shared ranges come last, with the number of all blocks as `first`. So the last range with blocks ends there too.
        let end = if next < self.ranges.len() { first(next)? } else { self.len() };
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

    /// The blocks of the function that begins at `start`, range after range in the compiler's order; none if no
    /// function of the map begins there.
    pub fn of_function(&self, start: ImageAddr) -> FunctionBlocks<'_, 'd> {
        FunctionBlocks {
            blocks: self,
            begin: Some(Begin::At(start)),
            range: None,
            left: 0..0,
            // Each block is in one range with blocks, and each shared range lists one block more.
            most: self.len().saturating_add(self.ranges.len()),
            steps: self.ranges.len(),
        }
    }

    /// The blocks of the function that a range belongs to, as [`BasicBlocks::of_function`] gives them.
    pub fn of_range(&self, range: u32) -> FunctionBlocks<'_, 'd> {
        FunctionBlocks { begin: Some(Begin::Range(range)), ..self.of_function(ImageAddr(0)) }
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
        // The first block that starts there.
        let (mut index, mut end) = (0, self.len());
        while index < end {
            steps::step();
            let middle = index.midpoint(end);
            if self.starts.get(middle).within(STARTS)?.start < key {
                index = middle.wrapping_add(1);
            } else {
                end = middle;
            }
        }
        while index < self.len() {
            steps::step();
            let block = self.block(index)?;
            if block.start > address {
                break;
            }
            // A block without bytes starts where the next one does. It may be the last of the function before, or the first of this one.
            let begins = block.start == address && self.entry_range(block.range)? == block.range;
            if begins && self.blocks_of(block.range)?.start == index {
                return Ok(Some(block.range));
            }
            index = index.saturating_add(1);
        }
        Ok(None)
    }

    /// Checks that the groups follow each other and fill the section, and that their contents are consistent.
    fn verify_groups(&self) -> Result<(), Error> {
        let wrong = |what, place: usize| Err(Error::new(BLOCKS, what, place as u64));
        let mut end = self.groups;
        for group in 0..self.len().div_ceil(layout::GROUP_BLOCKS) {
            let (place, head) = self.group(group)?;
            // No gap and no overlap, so each bit of the section has one meaning or is 0.
            if place != end {
                return wrong(What::Order, place);
            }
            let first = group.wrapping_mul(layout::GROUP_BLOCKS);
            let len = self.len().saturating_sub(first).min(layout::GROUP_BLOCKS);
            let stored = bits::word(head, layout::STORED).unwrap_or(0);
            // The group has a block, so `len` is 1 to 64 and the shift at most 63.
            if stored & 1 == 0 || stored & !u64::MAX.wrapping_shr(64u32.wrapping_sub(len)) != 0 {
                return wrong(What::Value, place);
            }
            let width = |at: usize| u8_at(head, at).unwrap_or(u8::MAX);
            let [id, range, kind] = [layout::ID_WIDTH, layout::RANGE_WIDTH, layout::KIND_WIDTH].map(width);
            if id.max(kind) > layout::MAX_WIDTH || range > layout::MAX_RANGE_WIDTH {
                return wrong(What::Width, place);
            }
            if width(layout::RESERVED) != 0 {
                return wrong(What::Reserved, place);
            }
            let record = u32::from(id).wrapping_add(range.into()).wrapping_add(kind.into());
            let packed = stored.count_ones().wrapping_mul(record).div_ceil(8);
            end = place.wrapping_add(layout::PACKED).wrapping_add(packed as usize);
        }
        if end.wrapping_add(TAIL) != self.data.len() {
            return wrong(What::Length, end);
        }
        Ok(())
    }

    /// Checks every block and range.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.starts.verify().within(STARTS)?;
        self.ranges.verify().within(RANGES)?;
        self.verify_groups()?;
        let mut end = self.image_base;
        let mut range = None;
        for index in 0..self.len() {
            let block = self.block(index)?;
            let wrong = Err(Error::new(BLOCKS, What::Order, index.into()));
            let starts = self.blocks_of(block.range)?.start == index;
            // Ranges with blocks are numbered by address: a block is of the range of the block before, or is the first of the next range.
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
            // A block without bytes holds no address. The search must find any other from its start.
            if block.size > 0 && self.at(block.start)? != Some(block) {
                return wrong;
            }
        }
        let own = range.map_or(0, |range| range.wrapping_add(1));
        if self.ranges.len() < own {
            return Err(Error::new(RANGES, What::Length, self.ranges.len().into()));
        }
        for range in 0..self.ranges.len() {
            let [first, _, _, shared, id, flags] = self.ranges.record(range).within(RANGES)?;
            let all = i64::from(self.len());
            let sound = match shared {
                0 => range < own && id == 0 && flags == 0,
                _ => {
                    range >= own
                        && first == all
                        && (1..=all).contains(&shared)
                        && u32::try_from(id).is_ok()
                        && (0..=i64::from(layout::ALL_FLAGS)).contains(&flags)
                }
            };
            if !sound {
                return Err(Error::new(RANGES, What::Value, range.into()));
            }
        }
        // Each range is in the chain of its function's first range, so all chains together have as many elements as there are ranges.
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

/// How a function is given.
enum Begin {
    /// By where it begins.
    At(ImageAddr),
    /// By a range of it.
    Range(u32),
}

/// The blocks of one function; see [`BasicBlocks::of_function`].
pub struct FunctionBlocks<'b, 'd> {
    blocks: &'b BasicBlocks<'d>,
    /// Where to begin, before the first block.
    begin: Option<Begin>,
    range: Option<u32>,
    left: core::ops::Range<u32>,
    /// Blocks that may still follow.
    most: u32,
    /// Ranges that may still follow: a chain of more is a cycle.
    steps: u32,
}

impl FunctionBlocks<'_, '_> {
    fn step(&mut self) -> Result<Option<BasicBlock>, Error> {
        if let Some(begin) = self.begin.take() {
            let range = match begin {
                Begin::At(start) => self.blocks.beginning_at(start)?,
                Begin::Range(range) => Some(self.blocks.entry_range(range)?),
            };
            let Some(range) = range else { return Ok(None) };
            self.range = Some(range);
            self.left = self.blocks.blocks_of(range)?;
        }
        loop {
            if let Some(index) = self.left.next() {
                let own = match self.range {
                    Some(range) => self.blocks.shared_block(range)?,
                    None => None,
                };
                // Each range has its blocks once.
                let wrong = Error::new(RANGES, What::Order, index.into());
                self.most = self.most.checked_sub(1).ok_or(wrong)?;
                return match own {
                    Some(block) => Ok(Some(block)),
                    None => self.blocks.block(index).map(Some),
                };
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

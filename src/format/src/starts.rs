//! Finds the piece that covers an address, by the section STARTS (schema, section 3).
//!
//! The starts of pieces rise. Addresses are split into buckets of a few pieces each. An index gives the first piece of
//! each bucket, and the low bits of the starts are stored next to each other. So a shift turns an address into its bucket,
//! and only the pieces of that bucket are compared: three places in memory, however many pieces there are.
//!
//! The low parts are some bits wider than a bucket. So the low part alone gives the start of a piece that begins in a nearby bucket,
//! without a search for that bucket. The index says whether the bucket is near enough.

use crate::bits::{self, MAX_WIDTH, TAIL, u8_at, u32_at};
use crate::error::{FormatError, What};
use crate::steps;

/// Byte offset of `count`.
pub const COUNT: usize = 0;
/// Byte offset of `low_width`.
pub const LOW_WIDTH: usize = 4;
/// Byte offset of `index_width`.
pub const INDEX_WIDTH: usize = 5;
/// Byte offset of `bucket_width`.
pub const BUCKET_WIDTH: usize = 6;
/// Byte offset of the reserved field.
pub const RESERVED: usize = 7;
/// Byte offset of `end`.
pub const END: usize = 8;
/// Byte offset of `buckets`.
pub const BUCKETS: usize = 16;
/// Byte offset of `first_bucket`.
pub const FIRST_BUCKET: usize = 20;
/// Byte offset of the index.
pub const INDEX: usize = 24;
/// The most bits by which low parts may be wider than a bucket.
pub const MAX_WIDER: u8 = 16;
/// The widest entry of the index.
pub const MAX_INDEX_WIDTH: u8 = 32;

/// Where pieces start, read in place. The default has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Starts<'d> {
    data: &'d [u8],
    count: u32,
    buckets: u32,
    /// Addresses before those of the first bucket.
    skipped: u64,
    low_width: u32,
    index_width: u32,
    /// Log2 of the addresses of a bucket; not above `low_width`.
    bucket_width: u32,
    /// Bit where the low parts begin.
    lows: u64,
    end: u64,
    /// Buckets in one turn of the low parts.
    around: u32,
}

/// A piece that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its number.
    pub piece: u32,
    /// Where it starts, from the image base.
    pub start: u64,
    /// The start of the next piece; for the last piece, its end.
    pub next: u64,
}

impl<'d> Starts<'d> {
    /// Opens the section: checks its first bytes, and that index and low parts are what it has. Takes constant time.
    ///
    /// # Errors
    /// A field out of range, or a section of another length than its fields say.
    pub fn open(data: &'d [u8]) -> Result<Self, FormatError> {
        Self::with_head(data, data)
    }

    /// As [`Starts::open`], for a section whose first [`INDEX`] bytes the caller has already loaded: reads nothing from `data`.
    ///
    /// # Errors
    /// As [`Starts::open`].
    pub fn with_head(head: &[u8], data: &'d [u8]) -> Result<Self, FormatError> {
        let early = FormatError::new(What::Truncated, data.len() as u64);
        let count = u32_at(head, COUNT).ok_or(early)?;
        let low_width = u8_at(head, LOW_WIDTH).ok_or(early)?;
        let index_width = u8_at(head, INDEX_WIDTH).ok_or(early)?;
        let bucket_width = u8_at(head, BUCKET_WIDTH).ok_or(early)?;
        let reserved = u8_at(head, RESERVED).ok_or(early)?;
        let end = bits::word(head, END).ok_or(early)?;
        let buckets = u32_at(head, BUCKETS).ok_or(early)?;
        let first_bucket = u32_at(head, FIRST_BUCKET).ok_or(early)?;
        // `bucket_width > low_width` is checked before the difference of both, so the difference does not wrap.
        if u32::from(low_width) > MAX_WIDTH
            || index_width > MAX_INDEX_WIDTH
            || bucket_width > low_width
            || low_width.wrapping_sub(bucket_width) > MAX_WIDER
        {
            return Err(FormatError::new(What::Width, LOW_WIDTH as u64));
        }
        if reserved != 0 {
            return Err(FormatError::new(What::Reserved, RESERVED as u64));
        }
        // Products of two numbers of 32 bits and less: nothing wraps.
        let index = u64::from(buckets).wrapping_add(1).wrapping_mul(index_width.into()).div_ceil(8);
        let lows = index.wrapping_add(INDEX as u64);
        let low_bytes = u64::from(count).wrapping_mul(low_width.into()).div_ceil(8);
        // With this exact length the index and the low parts of all pieces are in the section. `find_near` subtracts 1 from `buckets`.
        if lows.wrapping_add(low_bytes).wrapping_add(TAIL as u64) != data.len() as u64 || buckets == 0 {
            return Err(FormatError::new(What::Length, data.len() as u64));
        }
        let [low_width, index_width, bucket_width] = [low_width, index_width, bucket_width].map(u32::from);
        // In a damaged file the shift may lose high bits: `verify` compares the result with the field.
        let skipped = u64::from(first_bucket).wrapping_shl(bucket_width);
        let lows = lows.wrapping_shl(3);
        let around = 1u32.wrapping_shl(low_width.wrapping_sub(bucket_width));
        Ok(Self { data, count, buckets, skipped, low_width, index_width, bucket_width, lows, end, around })
    }

    /// Pieces.
    #[inline]
    pub const fn len(&self) -> u32 {
        self.count
    }

    /// True if there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    fn read(&self, bit: u64, width: u32) -> Result<u64, FormatError> {
        match bits::read(self.data, bit, width) {
            Some(value) => Ok(value),
            None => Err(FormatError::new(What::Truncated, bit >> 3)),
        }
    }

    /// The first piece of a bucket; for the bucket after the last one, the number of pieces.
    #[cfg_attr(feature = "small", inline(never))]
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn first_of(&self, bucket: u32) -> Result<u32, FormatError> {
        let bit = u64::from(self.index_width).wrapping_mul(bucket.into()).wrapping_add((INDEX as u64) << 3);
        Ok(self.read(bit, self.index_width)? as u32)
    }

    #[cfg_attr(feature = "small", inline(never))]
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn low(&self, piece: u32) -> Result<u64, FormatError> {
        self.read(self.low_bit(piece), self.low_width)
    }

    /// Where the low part of a piece begins.
    #[inline(always)]
    fn low_bit(&self, piece: u32) -> u64 {
        self.lows.wrapping_add(u64::from(self.low_width).wrapping_mul(piece.into()))
    }

    /// The first address of a bucket.
    #[inline(always)]
    fn base(&self, bucket: u32) -> u64 {
        u64::from(bucket).wrapping_shl(self.bucket_width).wrapping_add(self.skipped)
    }

    /// The first pieces of a bucket and of the next one.
    #[cfg_attr(feature = "small", inline(never))]
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn pieces_of(&self, bucket: u32) -> Result<(u32, u32), FormatError> {
        if self.index_width.wrapping_mul(2) <= MAX_WIDTH {
            // Nearly always: one load has both.
            let bit = u64::from(self.index_width).wrapping_mul(bucket.into());
            let bit = bit.wrapping_add((INDEX as u64) << 3);
            let Some(word) = bits::word(self.data, (bit >> 3) as usize) else {
                return Err(FormatError::new(What::Truncated, bit >> 3));
            };
            let (word, mask) = (word >> (bit & 7), bits::mask(self.index_width));
            return Ok(((word & mask) as u32, (word.wrapping_shr(self.index_width) & mask) as u32));
        }
        Ok((self.first_of(bucket)?, self.first_of(bucket.wrapping_add(1))?))
    }

    /// Finds the last piece that starts at or before `key`; `None` if the first one starts after it.
    ///
    /// Takes log2 of the number of pieces in a bucket, in steps; and if the piece or the next one is in a bucket far away, twice log2 of
    /// the number of buckets between.
    ///
    /// # Errors
    /// An index that is not one.
    #[cfg_attr(feature = "small", inline(never))]
    #[cfg_attr(not(feature = "small"), inline)]
    pub fn find(&self, key: u64) -> Result<Option<Start>, FormatError> {
        self.find_near(key, |_| ())
    }

    /// As [`Starts::find`]; calls `near` early, with a piece near the one that it will find.
    ///
    /// # Errors
    /// As [`Starts::find`].
    #[inline(always)]
    pub fn find_near(&self, key: u64, near: impl FnOnce(u32)) -> Result<Option<Start>, FormatError> {
        let end_bucket = self.buckets.wrapping_sub(1);
        let Some(inside) = key.checked_sub(self.skipped) else { return Ok(None) };
        let bucket = inside.wrapping_shr(self.bucket_width).min(end_bucket.into()) as u32;
        let base = self.base(bucket);
        // An address after the last bucket is after all of its pieces.
        let key = key.min(base.wrapping_add(bits::mask(self.bucket_width)));
        let (first, end) = self.pieces_of(bucket)?;
        near(first);
        let mask = bits::mask(self.low_width);
        let at = first.wrapping_add(self.among(first, end, key & mask)?);
        let Some(piece) = at.checked_sub(1) else { return Ok(None) };
        // The low parts of addresses give any start that is less than one turn of them away.
        let around = self.around;
        // If so, the piece starts in this bucket or in one of the `around - 1` buckets before it: less than a turn before the key.
        let is_near = self.first_of(bucket.saturating_add(1).saturating_sub(around))? <= piece
            // The next piece starts after the key. The index has one entry more than there are buckets, so the bound may be `buckets`.
            && at < self.first_of(bucket.saturating_add(around).min(self.buckets))?;
        if !is_near {
            return self.far(piece, bucket).map(Some);
        }
        // Both low parts are in one load, unless they are wide.
        let (low, next) = if self.low_width.wrapping_mul(2) <= MAX_WIDTH {
            let both = self.read(self.low_bit(piece), self.low_width.wrapping_mul(2))?;
            (both & mask, both.wrapping_shr(self.low_width))
        } else {
            (self.low(piece)?, self.low(at)?)
        };
        let start = key.wrapping_sub(key.wrapping_sub(low) & mask);
        let behind = key.wrapping_add(1);
        Ok(Some(Start { piece, start, next: behind.wrapping_add(next.wrapping_sub(behind) & mask) }))
    }

    /// A piece that a key in this bucket led to, where its start or that of the next one is far from the key.
    #[cold]
    #[inline(never)]
    fn far(&self, piece: u32, bucket: u32) -> Result<Start, FormatError> {
        let next = self.start(piece.wrapping_add(1), bucket)?;
        Ok(Start { piece, start: self.start(piece, bucket)?, next })
    }

    /// How many of the pieces from `first` up to `end`, all of one bucket, have low parts of at most `low`.
    #[cfg_attr(feature = "small", inline(never))]
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn among(&self, first: u32, end: u32, low: u64) -> Result<u32, FormatError> {
        // The writer makes low parts of basic blocks a byte wide where they nearly are: a search over bytes takes half the instructions.
        if self.low_width == 8 {
            let lows = self.bytes_of(first, end)?;
            steps::step();
            return Ok(lows.partition_point(|&stored| u64::from(stored) <= low) as u32);
        }
        // In a damaged index `end` may be less than `first`.
        let many = end.saturating_sub(first);
        match bits::count_up_to(self.data, self.low_bit(first), self.low_width, many, low) {
            Ok(count) => Ok(count),
            Err(bit) => Err(FormatError::new(What::Truncated, bit >> 3)),
        }
    }

    /// The low parts of pieces where each is a byte.
    #[inline(always)]
    fn bytes_of(&self, first: u32, end: u32) -> Result<&'d [u8], FormatError> {
        let start = (self.lows >> 3) as usize;
        match self.data.get(start.wrapping_add(first as usize)..start.wrapping_add(end as usize)) {
            Some(lows) => Ok(lows),
            None => Err(FormatError::new(What::Order, first.into())),
        }
    }

    /// The start of a piece that is in a bucket near this one; for the piece after the last, the end of the last.
    #[inline(never)]
    fn start(&self, piece: u32, near: u32) -> Result<u64, FormatError> {
        if piece >= self.count {
            return Ok(self.end);
        }
        // Its bucket is the last one whose first piece is at or before it: from `low` on, before `high`.
        // The steps double: the search takes log2 of the distance, which is mostly short, instead of log2 of all buckets.
        let (mut low, mut high) = (near, near.wrapping_add(1));
        let mut step = 1u32;
        while low > 0 && self.first_of(low)? > piece {
            steps::step();
            (low, high) = (low.saturating_sub(step), low);
            step = step.saturating_mul(2);
        }
        step = 1;
        while high < self.buckets && self.first_of(high)? <= piece {
            steps::step();
            (low, high) = (high, high.saturating_add(step).min(self.buckets));
            step = step.saturating_mul(2);
        }
        while low.wrapping_add(1) < high {
            steps::step();
            let middle = low.midpoint(high);
            if self.first_of(middle)? <= piece { low = middle } else { high = middle }
        }
        Ok(self.in_bucket(low, self.low(piece)?))
    }

    /// The address of a bucket that has this low part.
    #[inline(always)]
    fn in_bucket(&self, bucket: u32, low: u64) -> u64 {
        let base = self.base(bucket);
        // A low part may be wider than a bucket. It is the start modulo a turn, so only the bits above it come from the base.
        base.wrapping_add(low.wrapping_sub(base) & bits::mask(self.low_width))
    }

    /// Reads where a piece is. Takes four times log2 of the buckets steps.
    ///
    /// # Errors
    /// A number past the last piece, or an index that is not one.
    pub fn get(&self, piece: u32) -> Result<Start, FormatError> {
        if piece >= self.count {
            return Err(FormatError::new(What::NoRecord, piece.into()));
        }
        let next = self.start(piece.wrapping_add(1), 0)?;
        Ok(Start { piece, start: self.start(piece, 0)?, next })
    }

    /// Checks what [`Starts::open`] does not: that the index and the starts rise, that the index is of all pieces, and
    /// that other bits are 0. Reads everything once.
    ///
    /// # Errors
    /// The first entry that breaks a rule; buckets of addresses past 2^64, or more than the section has bits.
    pub fn verify(&self) -> Result<(), FormatError> {
        let last = u64::from(self.buckets.wrapping_sub(1));
        let last = self.skipped.wrapping_shr(self.bucket_width).wrapping_add(last);
        let fits = last.wrapping_shl(self.bucket_width).wrapping_shr(self.bucket_width) == last
            && u32_at(self.data, FIRST_BUCKET).map(u64::from)
                == Some(self.skipped.wrapping_shr(self.bucket_width));
        let bits = (self.data.len() as u64).wrapping_mul(8);
        // Fields of width 0 take no bits: a short section could claim nearly 2^32 of them, and the loops below would run that often.
        if !fits || u64::from(self.buckets.max(self.count)) > bits {
            return Err(FormatError::new(What::Value, BUCKETS as u64));
        }
        let mut before = 0;
        for bucket in 0..self.buckets {
            let (first, end) = (self.first_of(bucket)?, self.first_of(bucket.wrapping_add(1))?);
            if first > end || end > self.count || (bucket == 0 && first != 0) {
                return Err(FormatError::new(What::Order, bucket.into()));
            }
            for piece in first..end {
                let start = self.in_bucket(bucket, self.low(piece)?);
                let inside = start.wrapping_sub(self.base(bucket)) <= bits::mask(self.bucket_width);
                // Equal starts are sound: a basic block without bytes starts where the next one does.
                if start < before || !inside {
                    return Err(FormatError::new(What::Order, piece.into()));
                }
                before = start;
            }
        }
        if self.first_of(self.buckets)? != self.count || self.end < before {
            return Err(FormatError::new(What::Order, self.count.into()));
        }
        if self.count == 0 && self.end != 0 {
            return Err(FormatError::new(What::Value, END as u64));
        }
        let lows = u64::from(self.low_width).wrapping_mul(self.count.into()).wrapping_add(self.lows);
        let index = u64::from(self.buckets).wrapping_add(1).wrapping_mul(self.index_width.into());
        for end in [index.wrapping_add((INDEX as u64) << 3), lows] {
            if self.read(end, (end.wrapping_neg() & 7) as u32)? != 0 {
                return Err(FormatError::new(What::Reserved, end >> 3));
            }
        }
        let tail = self.data.get(self.data.len().saturating_sub(TAIL)..).unwrap_or(&[]);
        if tail.iter().any(|&byte| byte != 0) {
            return Err(FormatError::new(What::Reserved, lows.div_ceil(8)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::{vec, vec::Vec};

    /// The section of these starts, from its description: in buckets of `1 << bucket_width` addresses, numbered from `skip`.
    fn section(
        starts: &[u64],
        end: u64,
        (bucket_width, low_width): (u8, u8),
        index_width: u8,
        (skip, buckets): (u32, u32),
    ) -> Vec<u8> {
        let mut out = vec![];
        out.extend((starts.len() as u32).to_le_bytes());
        out.extend([low_width, index_width, bucket_width, 0]);
        out.extend(end.to_le_bytes());
        out.extend(buckets.to_le_bytes());
        out.extend(skip.to_le_bytes());
        let mut pack = |values: &mut dyn Iterator<Item = u64>, width: u8| {
            let bits: Vec<bool> =
                values.flat_map(|value| (0..width).map(move |bit| value >> bit & 1 == 1)).collect();
            out.extend(
                bits.chunks(8).map(|byte| byte.iter().rev().fold(0u8, |sum, &bit| sum << 1 | u8::from(bit))),
            );
        };
        let below = |bucket: u64| {
            let end = u128::from(u64::from(skip) + bucket) << bucket_width;
            starts.iter().filter(|&&start| u128::from(start) < end).count() as u64
        };
        pack(&mut (0..=u64::from(buckets)).map(below), index_width);
        pack(&mut starts.iter().map(|start| start & bits::mask(low_width.into())), low_width);
        out.resize(out.len() + TAIL, 0);
        out
    }

    fn check(starts: &[u64], end: u64, bucket_width: u8) {
        let buckets = starts.last().map_or(1, |last| (last >> bucket_width) as u32 + 1);
        // All buckets, all from the first that is not empty, and one before that.
        let skip = starts.first().map_or(0, |first| (first >> bucket_width) as u32);
        for skip in [0, skip, skip.saturating_sub(1)] {
            for (index_width, wider) in [(9, 0), (30, 0), (9, 1), (9, 3), (30, 16)] {
                let widths = (bucket_width, bucket_width + wider);
                answers(starts, end, &section(starts, end, widths, index_width, (skip, buckets - skip)));
            }
        }
    }

    fn answers(starts: &[u64], end: u64, bytes: &[u8]) {
        let opened = Starts::open(bytes).unwrap();
        opened.verify().unwrap();
        assert_eq!(opened.len() as usize, starts.len());
        let of = |piece: usize| Start {
            piece: piece as u32,
            start: starts[piece],
            next: starts.get(piece + 1).copied().unwrap_or(end),
        };
        let keys = (0..end + 3).chain([u64::MAX, 1 << 40]);
        for key in keys {
            let expected = starts.iter().rposition(|&start| start <= key).map(of);
            assert_eq!(opened.find(key).unwrap(), expected, "{starts:?} {:?} {key}", &bytes[..INDEX]);
        }
        for piece in 0..starts.len() {
            assert_eq!(opened.get(piece as u32).unwrap(), of(piece));
        }
        assert!(opened.get(starts.len() as u32).is_err());
    }

    #[test]
    fn every_address() {
        for width in 0..9 {
            check(&[], 0, width);
            check(&[0], 1, width);
            check(&[200], 300, width);
            check(&[3, 4, 5, 90, 91, 250], 251, width);
            check(&(0..150).map(|at| at * 2 + 1).collect::<Vec<_>>(), 400, width);
            check(&[7, 7, 7, 64, 64, 128], 130, width);
        }
    }

    /// Starts of any widths, also at the end of all addresses, against a list; keys around each start, bucket and turn.
    #[test]
    fn any_widths() {
        let mut seed = 1u64;
        let mut below = |bound: u64| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed >> 20) % bound
        };
        for _ in 0..3000 {
            let bucket_width = below(MAX_WIDTH as u64 + 1) as u8;
            let low_width = (bucket_width + below(17) as u8).min(MAX_WIDTH as u8);
            let buckets = 1 + below(20) as u32;
            let skip = match below(3) {
                0 => 0,
                1 => below(10) as u32,
                _ => u32::try_from((u64::MAX >> bucket_width).saturating_sub(u64::from(buckets) - 1))
                    .unwrap_or(u32::MAX - buckets),
            };
            let (size, low) = (1u64 << bucket_width, u64::from(skip) << bucket_width);
            let Some(last) =
                (u64::from(buckets) - 1).checked_mul(size).and_then(|last| last.checked_add(low))
            else {
                continue;
            };
            let mut starts: Vec<u64> = (0..below(30))
                .map(|_| {
                    low + below(u64::from(buckets)) * size + [0, size - 1, below(size)][below(3) as usize]
                })
                .collect();
            starts.sort_unstable();
            let end = starts.last().map_or(0, |last| last.saturating_add(below(9)));
            let bytes = section(&starts, end, (bucket_width, low_width), 9, (skip, buckets));
            let opened = Starts::open(&bytes).unwrap();
            let of = |piece: usize| Start {
                piece: piece as u32,
                start: starts[piece],
                next: starts.get(piece + 1).copied().unwrap_or(end),
            };
            let around = starts.iter().copied().chain([0, low, last, u64::MAX]).flat_map(|at| {
                let turn = 1 << low_width;
                [at, at / size * size, at.wrapping_add(turn), at.wrapping_sub(turn), at.wrapping_add(size)]
            });
            for key in around.flat_map(|at| [at.wrapping_sub(1), at, at.wrapping_add(1)]) {
                let expected = starts.iter().rposition(|&start| start <= key).map(of);
                assert_eq!(opened.find(key).unwrap(), expected, "{starts:x?} {:?} {key:#x}", &bytes[..INDEX]);
            }
            for piece in 0..starts.len() {
                assert_eq!(opened.get(piece as u32).unwrap(), of(piece));
            }
        }
    }

    #[test]
    fn what_is_broken_is_told() {
        let sound = section(&[3, 4, 90, 91], 100, (4, 4), 3, (0, 6));
        let broken = |at: usize, value: u8| {
            let mut bytes = sound.clone();
            bytes[at] = value;
            Starts::open(&bytes).and_then(|starts| starts.verify()).unwrap_err().what
        };
        assert_eq!(broken(COUNT, 3), What::Order);
        assert_eq!(broken(COUNT, 9), What::Length);
        assert_eq!(broken(LOW_WIDTH, 57), What::Width);
        assert_eq!(broken(INDEX_WIDTH, 33), What::Width);
        assert_eq!(broken(BUCKET_WIDTH, 5), What::Width);
        assert_eq!(broken(LOW_WIDTH, 21), What::Width);
        assert_eq!(broken(RESERVED, 1), What::Reserved);
        assert_eq!(broken(BUCKETS, 0), What::Length);
        assert_eq!(broken(FIRST_BUCKET, 2), What::Order);
        let far = section(&[3 << 60, (3 << 60) + 1], (3 << 60) + 9, (60, 60), 2, (3, 1));
        Starts::open(&far).unwrap_err();
        assert_eq!(broken(END, 90), What::Order);
        // The index of 7 entries takes 21 bits; its first is 0.
        assert_eq!(broken(INDEX, 1), What::Order);
        assert_eq!(broken(INDEX + 2, 0xe0 | sound[INDEX + 2]), What::Reserved);
        // The low parts of the first two.
        assert_eq!(broken(INDEX + 3, 0x34), What::Order);
        assert_eq!(broken(sound.len() - 1, 1), What::Reserved);
        assert_eq!(Starts::open(&sound[..sound.len() - 1]).unwrap_err().what, What::Length);
        // Any bytes: answers or errors, and all end.
        for at in 0..sound.len() {
            for bit in 0..8 {
                let mut bytes = sound.clone();
                bytes[at] ^= 1 << bit;
                if let Ok(starts) = Starts::open(&bytes) {
                    for key in 0..110 {
                        let _ = starts.find(key);
                    }
                    let _ = (starts.get(0), starts.get(3), starts.verify());
                }
            }
        }
    }
}

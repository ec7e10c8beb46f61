//! `Cursor`: looks addresses of one file up one after another, and reuses what the last lookup read.
//!
//! Addresses of a profile or a stack are mostly near each other. A cursor keeps the piece of the last address, its
//! function, the block of rows and the path of inlined calls, each with the range in which it holds. An address in the
//! same block of rows needs no search and reads no header. An address in the same inlined calls reads no origin. The
//! cursor borrows the file, so that it cannot hold anything of another file.

use crate::answer::{Answer, Entered, Lookup, NotFoundReason};
use crate::entities::Function;
use crate::error::Error;
use crate::file::SymbolFile;
use crate::frames::{FrameIter, Frames, OriginParts};
use crate::ids::ImageAddr;
use crate::row::Spot;
use crate::rows::{NearBlock, Place};

/// Looks addresses up in one file and remembers where the last one was; see [`SymbolFile::cursor`].
/// About 3 KiB.
#[derive(Clone)]
pub struct Cursor<'f, 'd> {
    file: &'f SymbolFile<'d>,
    frames: Frames,
    last: Option<Last>,
    block: NearBlock,
}

/// The piece of the last address.
#[derive(Clone, Copy)]
struct Last {
    answer: Answer,
    function: Function,
    origin: OriginParts,
    /// Bytes of the piece, and how many of them are no padding.
    len: u64,
    body: u64,
}

impl<'d> SymbolFile<'d> {
    /// A cursor, for addresses that are often near the one before. It answers as [`SymbolFile::lookup`] does,
    /// with frames of its own.
    ///
    /// ```
    /// use foldsym_lookup::{ImageAddr, Lookup, SymbolFile};
    ///
    /// let file = SymbolFile::open(include_bytes!("../../../schema/golden/demo.fsym"))?;
    /// let mut cursor = file.cursor();
    /// for address in (0x20_1c20..0x20_1c30).map(ImageAddr) {
    ///     let Lookup::Found(_) = cursor.lookup(address)? else { panic!("code of a function") };
    ///     let frame = cursor.frames().next().expect("one frame at least")?;
    ///     assert!(frame.line > 0);
    /// }
    /// # Ok::<(), foldsym_lookup::Error>(())
    /// ```
    pub const fn cursor<'f>(&'f self) -> Cursor<'f, 'd> {
        Cursor { file: self, frames: Frames::new(), last: None, block: NearBlock::NONE }
    }
}

impl<'f, 'd> Cursor<'f, 'd> {
    /// As [`SymbolFile::lookup`]; the frames are then those of [`Cursor::frames`].
    ///
    /// Allocates nothing. Takes at most the steps of that.
    ///
    /// # Errors
    /// Damage at a place that the lookup reads; there are no frames then.
    #[inline]
    pub fn lookup(&mut self, address: ImageAddr) -> Result<Lookup, Error> {
        let found = self.find(address);
        if found.is_err() {
            self.frames.len = 0;
        }
        found
    }

    #[inline(always)]
    fn find(&mut self, address: ImageAddr) -> Result<Lookup, Error> {
        // An address before the piece wraps to a large number: one comparison checks both ends.
        let near = |last: &Last| address.0.wrapping_sub(last.answer.piece_start.0) < last.len;
        if !self.last.as_ref().is_some_and(near)
            && let Some(reason) = self.enter(address)?
        {
            return Ok(Lookup::NotFound(reason));
        }
        let Some(last) = &self.last else { return Ok(Lookup::NotFound(NotFoundReason::OutsideCode)) };
        let offset = address.0.wrapping_sub(last.answer.piece_start.0);
        let spot = match last.answer.rows {
            None => Spot::NONE,
            Some(rows) => {
                let unit_log2 = self.file.header().unit_log2;
                let target = offset.wrapping_shr(unit_log2.into());
                if !self.block.holds(target) {
                    self.block.enter(self.file.rows, Place::of(self.file.rows, rows.0, target)?)?;
                }
                self.block.spot(self.file.rows, target)?
            }
        };
        let mut answer = last.answer;
        (answer.offset, answer.padding) = (offset, offset >= last.body);
        let function = (&last.function, &last.origin);
        self.file.found_frames(&answer, function, &spot, answer.name, &mut self.frames)?;
        Ok(Lookup::Found(answer))
    }

    /// Moves to the piece of an address; returns the reason if there is none.
    #[inline(never)]
    fn enter(&mut self, address: ImageAddr) -> Result<Option<NotFoundReason>, Error> {
        let file = self.file;
        self.frames.len = 0;
        self.block.leave();
        // `last` is cleared before the search, so that after an error or in a gap the cursor does not use the old piece again.
        self.last = None;
        let Entered { mut answer, len, body } = match file.enter(address, file.find_piece(address)?)? {
            Ok(entered) => entered,
            Err(reason) => return Ok(Some(reason)),
        };
        // Loads are started in the order in which their addresses are known: the rows, then the function. Only the frames
        // need the origin.
        file.functions.touch(answer.function.0);
        let unit_log2 = file.header().unit_log2;
        let target = answer.offset.wrapping_shr(unit_log2.into());
        // An error of the rows waits until the function is read: a single lookup reads the function first, and the errors must agree.
        let sought = answer.rows.map(|rows| Place::of(file.rows, rows.0, target));
        let function = file.entered_function(answer.function)?;
        if let Some(place) = sought.transpose()? {
            self.block.enter(file.rows, place)?;
        }
        let origin = file.root(&function)?;
        answer.settle(&function);
        self.last = Some(Last { answer, function, origin, len, body });
        Ok(None)
    }

    /// Where the frames of the last address are.
    pub(crate) const fn scratch(&self) -> &Frames {
        &self.frames
    }

    /// The frames of the last address, innermost first; see [`SymbolFile::frames`].
    pub const fn frames(&self) -> FrameIter<'_, 'd> {
        self.file.frames(&self.frames)
    }
}

//! Many addresses to answers, in stages, so that one address computes while another waits for memory.
//!
//! A single lookup is a chain of loads, each of which needs the one before. Here 16 lookups walk side by
//! side: first all find their pieces; then all find their rows; then their frames are resolved, one after the
//! other, into the one scratch.

use crate::answer::{Lookup, Reason};
use crate::entities::Function;
use crate::error::Error;
use crate::file::SymbolFile;
use crate::frames::Frames;
use crate::ids::ImageAddr;
use crate::rows::Spot;

/// Lookups that walk side by side.
const LANES: usize = 16;

impl SymbolFile<'_> {
    /// Looks up many addresses and calls `visit` for each, in order, with its index, what
    /// [`SymbolFile::lookup`] would give, and the frames, which hold until `visit` returns.
    ///
    /// Faster than single lookups where the file is large and the addresses are far apart; sorted addresses
    /// are faster in either. Allocates nothing and takes about 3 KiB of stack.
    pub fn lookup_batch(
        &self,
        addresses: &[ImageAddr],
        frames: &mut Frames,
        mut visit: impl FnMut(usize, Result<Lookup, Error>, &Frames),
    ) {
        let mut index = 0usize;
        for lane_addresses in addresses.chunks(LANES) {
            let mut lookups = [Ok(Lookup::NotFound(Reason::OutsideCode)); LANES];
            for (lookup, &address) in lookups.iter_mut().zip(lane_addresses) {
                *lookup = self.find_piece(address).and_then(|found| self.at_piece(address, found));
            }
            let mut spots = [Ok(Spot::NONE); LANES];
            for (spot, lookup) in spots.iter_mut().zip(&lookups) {
                if let Ok(Lookup::Found(answer)) = lookup {
                    *spot = self.spot(answer.rows, answer.offset);
                }
            }
            for ((lookup, spot), _) in lookups.iter_mut().zip(&spots).zip(lane_addresses) {
                frames.len = 0;
                if let Ok(Lookup::Found(answer)) = lookup {
                    let done = Function::read(self, answer.function).and_then(|function| {
                        answer.partial = function.partial;
                        let spot = (*spot)?;
                        let root = self.origin_parts(function.origin.0)?;
                        self.found_frames(answer, (&function, &root), &spot, answer.name, frames)
                    });
                    if let Err(error) = done {
                        *lookup = Err(error);
                    }
                }
                visit(index, *lookup, frames);
                index = index.wrapping_add(1);
            }
        }
    }
}

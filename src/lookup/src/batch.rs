//! Many addresses to answers, in stages, so that one address computes while another waits for memory.
//!
//! A single lookup is a chain of loads, each of which needs the one before. Here 16 lookups walk side by
//! side: first all search their pieces, step by step together; then all read their pieces; then all find
//! their rows; then their frames are resolved, one after the other, into the one scratch.

use foldsym_format::SectionId;

use crate::answer::Lookup;
use crate::entities::Function;
use crate::error::{Error, InSection};
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
            let mut lookups = self.pieces_of(lane_addresses);
            let mut spots = [Ok(Spot::NONE); LANES];
            for (spot, lookup) in spots.iter_mut().zip(&lookups) {
                if let Ok(Lookup::Found(answer)) = lookup {
                    *spot = self.spot(answer.rows, answer.offset);
                }
            }
            for ((lookup, spot), _) in lookups.iter_mut().zip(&spots).zip(lane_addresses) {
                frames.len = 0;
                if let Ok(Lookup::Found(answer)) = lookup {
                    let function = Function::read(self, answer.function);
                    let done = spot.and_then(|spot| {
                        let function = function?;
                        let root = self.origin_parts(function.origin.0)?;
                        answer.partial = function.partial;
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

    /// The pieces of up to [`LANES`] addresses.
    #[inline(always)]
    fn pieces_of(&self, addresses: &[ImageAddr]) -> [Result<Lookup, Error>; LANES] {
        let mut keys = [i64::MIN; LANES];
        for (key, address) in keys.iter_mut().zip(addresses) {
            // A key below all pieces stands for an address that none can have.
            *key = self.key(*address).unwrap_or(i64::MIN);
        }
        let mut lookups = [Ok(Lookup::NotFound(crate::Reason::OutsideCode)); LANES];
        match self.pieces.search_first_column_of(&keys).within(SectionId::PIECES) {
            Ok(found) => {
                for ((lookup, found), address) in lookups.iter_mut().zip(found).zip(addresses) {
                    *lookup = self.at_piece(*address, found);
                }
            }
            // One of them met damage: each for itself then.
            Err(_) => {
                for ((lookup, key), address) in lookups.iter_mut().zip(keys).zip(addresses) {
                    let found = self.pieces.search_first_column(key).within(SectionId::PIECES);
                    *lookup = found.and_then(|found| self.at_piece(*address, found));
                }
            }
        }
        lookups
    }
}

//! Reads a `.fsym`: bytes in, frames out.
//!
//! No allocation, no unsafe code, no lock, no syscall, no recursion, no panic; all methods take `&self`.
//! (`lookup_batch` sorts by `sort_unstable`, whose depth is bounded by the bits of a length.)
//! It opens bytes that the caller holds (a mapped file) and borrows from them; the only scratch is the
//! caller's [`Frames`]. Damaged bytes give an [`Error`] or no answer, never a wild read, and every loop
//! has a bound that follows from the header (see [`SymbolFile::lookup`]).
//!
//! It does not map files, subtract load biases, demangle, or write files: that is `front` and `convert`.
//!
//! ```
//! use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
//!
//! # fn demo(bytes: &[u8]) -> Result<(), foldsym_lookup::Error> {
//! let file = SymbolFile::open(bytes)?;
//! let mut frames = Frames::new();
//! if let Lookup::Found(answer) = file.lookup(ImageAddr(0x1234), &mut frames)? {
//!     for frame in file.frames(&frames) {
//!         let frame = frame?;
//!         let mut name = [0; 256];
//!         let len = frame.name.and_then(|id| file.write_name(id, &mut name));
//!         let _ = (len, frame.line, answer.certainty);
//!     }
//! }
//! # Ok(())
//! # }
//! # assert!(demo(&[]).is_err());
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

mod answer;
mod basic_blocks;
mod batch;
mod cursor;
mod entities;
mod error;
mod file;
mod frames;
mod high;
mod ids;
mod locations;
mod object;
mod program;
mod records;
mod row;
mod row_block;
mod rows;
mod scopes;
mod stack;
mod texts;
mod verify;

pub use answer::{Answer, Certainty, Evidence, Lookup, NotFoundReason};
pub use basic_blocks::{BasicBlock, BasicBlocks, FunctionBlocks};
pub use batch::BatchSlot;
pub use cursor::Cursor;
pub use entities::{Aliases, Call, CallHow, Edge, Function, Group, How, Member, Origin, Owner, Piece};
pub use error::Error;
pub use file::{SectionInfo, SymbolFile};
pub use foldsym_format::names::Names;
pub use foldsym_format::{Header, Reason, SectionId, What, features, header::flags};
pub use frames::{Frame, FrameIter, Frames};
pub use ids::{
    EdgeId, FileId, FunctionId, GroupId, ImageAddr, NameId, OriginId, PieceId, ReturnAddr, RowsOffset,
};
pub use locations::{LocationKey, LocationKind, LocationList, LocationTarget, LocationUnit, Locations};
pub use object::{Method, Overrider};
pub use program::{ProgramSection, ProgramSections, Segment, Segments};
pub use row::{FileCode, Row};
pub use rows::{RowIter, Rows};
pub use scopes::{Scope, Scopes};
pub use stack::{MAX_FRAME_STEPS, MAX_NAMED, Resolved, StackAddr};
pub use texts::Texts;

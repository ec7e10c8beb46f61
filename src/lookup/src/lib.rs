//! Reads a `.fsym`: bytes in, frames out.
//!
//! No allocation (but in the one method of the feature `alloc`), no unsafe code, no lock, no syscall, no recursion, no panic; all methods take `&self`.
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
//! let bytes = include_bytes!("../../../schema/golden/demo.fsym"); // of a program: mapped, or read
//! let file = SymbolFile::open(bytes)?;
//! let mut frames = Frames::new();
//! let Lookup::Found(answer) = file.lookup(ImageAddr(0x20_1c20), &mut frames)? else { panic!("code of a function") };
//! assert_eq!(answer.certainty.text(), "unique");
//! for frame in file.frames(&frames) {
//!     let frame = frame?;
//!     let mut name = [0; 256];
//!     let len = frame.name.and_then(|id| file.write_name(id, &mut name)).unwrap_or(0);
//!     assert!(name[..len.min(256)].starts_with(b"_ZN4demo") && frame.line > 0);
//! }
//! # Ok::<(), foldsym_lookup::Error>(())
//! ```
//!
//! With the feature `alloc`, `SymbolFile::symbolize` gives the frames of an address with their texts in one call.

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
mod by_return;
mod cursor;
mod entities;
mod error;
mod file;
mod frames;
mod guesses;
mod high;
mod ids;
mod imports;
mod locations;
mod object;
mod program;
mod records;
mod row;
mod row_block;
mod rows;
mod scopes;
mod stack;
#[cfg(feature = "alloc")]
mod symbolize;
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
pub use guesses::Guesses;
pub use ids::{
    EdgeId, FileId, FunctionId, GroupId, ImageAddr, NameId, OriginId, PieceId, ReturnAddr, RowsOffset,
};
pub use imports::Imports;
pub use locations::{LocationKey, LocationKind, LocationList, LocationTarget, LocationUnit, Locations};
pub use object::{Method, Overrider};
pub use program::{ProgramSection, ProgramSections, Segment, Segments};
pub use records::Records;
pub use row::{FileCode, Row};
pub use rows::{RowIter, Rows};
pub use scopes::{Scope, Scopes};
pub use stack::{MAX_FRAME_STEPS, MAX_NAMED, Resolved, StackAddr};
#[cfg(feature = "alloc")]
pub use symbolize::TextFrame;
pub use texts::Texts;

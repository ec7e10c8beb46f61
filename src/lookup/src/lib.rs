//! Reads a `.fsym`: bytes in, frames out.
//!
//! There is no allocation (except in the one method of the feature `alloc`), no unsafe code, no lock, no system call,
//! no recursion and no panic, and all methods take `&self`. (`lookup_batch` uses `sort_unstable`, whose depth is
//! bounded by the bits of a length.) A [`SymbolFile`] borrows from bytes that the caller holds (a mapped file). The
//! only working memory is the caller's [`Frames`]. For damaged bytes the answer is an [`Error`] or nothing: no read
//! is out of bounds, and every loop has a bound that follows from the header (see [`SymbolFile::lookup`]).
//!
//! This crate does not map files, subtract load biases, demangle, or write files: `foldsym-symbolize`, `foldsym-demangle`
//! and `foldsym-convert` do.
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
//! [`SymbolFile`] answers questions: what is at an address, which functions ran in a stack, what the text of an id is. The types of its
//! answers are in the root of the crate; those of [`SymbolFile::basic_blocks`] and [`SymbolFile::locations`] are in modules of their own.
//! [`SymbolFile::records`] lists what a file has, for programs that print or compare files; its types are in [`records`].
//!
//! With the feature `alloc`, `SymbolFile::symbolize` returns the frames of an address with their texts in one call.

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
pub mod basic_blocks;
mod batch;
mod by_return;
mod cursor;
mod dispatch;
mod entities;
mod error;
mod file;
mod frames;
mod guesses;
mod high;
mod ids;
mod imports;
pub mod locations;
mod object;
mod program;
pub mod records;
mod repeated;
mod row;
mod row_block;
mod rows;
mod scopes;
mod stack;
#[cfg(feature = "alloc")]
mod symbolize;
mod texts;
mod variables;
mod verify;
mod verify_keys;

pub use answer::{Answer, Certainty, Evidence, Lookup, NotFoundReason};
pub use batch::BatchSlot;
pub use cursor::Cursor;
pub use entities::{How, Member};
pub use error::Error;
pub use file::SymbolFile;
pub use foldsym_format::{DebugInfo, Header, Reason, SectionId, What, features, header::flags};
pub use frames::{Frame, FrameIter, Frames};
pub use ids::{FileId, FunctionId, GroupId, ImageAddr, NameId, OriginId, PieceId, ReturnAddr};
pub use stack::{MAX_FRAME_STEPS, MAX_NAMED, Resolved, StackAddr};
#[cfg(feature = "alloc")]
pub use symbolize::TextFrame;
pub use texts::Texts;
pub use variables::Variable;

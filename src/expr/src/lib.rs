//! Evaluates DWARF expressions: bytes in, a number or a location out.
//!
//! No allocation, no unsafe code, no panic, no recursion; it needs neither `std` nor `alloc`, and no other crate. Its memory is the
//! caller's [`Scratch`], and its knowledge of the stopped program is the caller's [`Context`]. Every evaluation ends: steps, calls, entries
//! and parts are bounded. If the context lacks something, the result is the reason ([`Missing`]), not a guess.
//!
//! The operations are those of DWARF 5, and those of LLVM's extensions for heterogeneous code (`DW_OP_LLVM_*`), in which locations are
//! stack values. Base types of at most 8 bytes are numbers; others are missing. A location here is one place: if a location list has
//! several entries for one address, the caller chooses.
//!
//! It does not parse sections or entries, find frames, or keep anything between evaluations.
//!
//! ```
//! use foldsym_expr::{Buffers, Context, Entry, Evaluation, Location, Settings, Want};
//!
//! struct Frame;
//! impl Context<'_> for Frame {
//!     fn read_register(&self, register: u64, offset: u64, bytes: &mut [u8]) -> Option<()> {
//!         (register == 6 && offset == 0).then(|| bytes.copy_from_slice(&0x7fff_0000u64.to_le_bytes()))
//!     }
//!     fn read_memory(&self, _: u64, _: u64, _: &mut [u8]) -> Option<()> {
//!         None
//!     }
//! }
//!
//! let mut buffers: Buffers<'_> = Buffers::new();
//! // DW_OP_breg6 -16
//! let mut evaluation = Evaluation::new(&[0x76, 0x70], Want::Location, Settings::default(), buffers.scratch());
//! assert_eq!(evaluation.run(&Frame), Ok(Entry::Location(Location::memory(0, 0x7ffe_fff0))));
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

pub mod amdgpu;
mod bytes;
pub mod cfi;
mod context;
mod evaluation;
mod location;
mod machine;
mod op;
mod problem;
mod read;
mod scratch;
mod settings;
mod value;
mod walk;

pub use context::Context;
pub use evaluation::Evaluation;
pub use location::{Entry, Location, Node, NodeId, Storage};
pub use op::{DieRef, dialect};
pub use problem::{Missing, Problem};
pub use read::Leaf;
pub use scratch::{Buffers, Return, Scratch};
pub use settings::{Dialect, Settings, Want};
pub use value::{Binary, Class, Type, Unary, Value};
pub use walk::{Reference, references};

//! Symbolizes whole stacks: modules and addresses in, frames with function, file, line and certainty out.
//!
//! [`foldsym_lookup`] answers for one file at a time. A stack of a running program crosses many modules, each at its own address, each
//! with a file of its own that must be found first. This crate finds the files (in stores, in folders, or by path), keeps them
//! mapped in a bounded cache, and resolves folded functions over the whole stack: the return address in the caller may
//! determine which of the functions that share the code ran.
//!
//! # What the crate promises
//!
//! - **A file of another build is never used.** If a module has an identity, the file must have the same one inside. A module without an
//!   identity takes a file by its name: in the search paths, or from a store in a folder that has one build of that name.
//! - **A missing answer has a reason.** A frame without a function says whether the file is absent, damaged, or could not be read
//!   ([`Unknown`]), with the module's name and the places where it was searched for.
//! - **A call from another module is evidence only by its name.** A caller's file records callees as addresses of its own module, which
//!   say nothing about the functions of another one. If the file was converted with `--imports`, it has the name that the call was linked
//!   to. That name makes one function the likeliest and rules none out. A frame whose caller is not known may be any function of its code.
//! - **One [`Symbolizer`] serves all threads.** It is `Send` and `Sync`; each thread has a [`Worker`] of its own.
//! - **A stranger's report opens no file by its path.** Only the last component of a module's name counts, and only within the folders of
//!   [`Builder::search`].
//!
//! # What the crate does not do
//!
//! It reads no crash reports and unwinds no stacks. It contacts no debuginfod server, unless the feature `debuginfod` is on and
//! `Builder::debuginfod` was called. Without the feature `convert` it builds neither `gimli` nor `object`, and reads only `.fsym` files:
//! it then skips programs in a search path.
//!
//! # Example
//!
//! ```
//! use foldsym_symbolize::{Module, Modules, Stack, StackFrame, Symbolizer};
//!
//! # let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/golden/demo.fsym");
//! let symbolizer = Symbolizer::builder().search([demo]).build()?;
//! // The program was loaded where it was linked to.
//! let modules = Modules::new(vec![Module::new("demo").at(0x200000)]);
//! let stack = Stack::new(&modules, vec![StackFrame::exact(0x2012b0), StackFrame::returns_to(0x2015f0)]);
//! let frames = symbolizer.symbolize(&stack);
//! let innermost = frames[0].functions.first().expect("the address is in the program's code");
//! assert!(!innermost.linkage_name.is_empty() && innermost.line > 0);
//! println!("{} at {}:{}", innermost.function, innermost.file, innermost.line);
//! # Ok::<(), foldsym_symbolize::BuildError>(())
//! ```

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod address;
mod answer;
mod batch;
mod batch_signature;
mod by_name;
mod cache;
mod certainty;
mod converter;
mod cover;
#[cfg(feature = "debuginfod")]
mod debuginfod;
mod fields;
mod fill;
mod find;
mod fits;
mod frame;
mod given;
mod given_frames;
mod in_memory;
#[cfg(feature = "convert")]
pub mod into_store;
pub mod json;
pub mod layout;
#[cfg(feature = "convert")]
mod load;
mod loaded;
mod maps;
mod names;
mod objects;
mod opened;
mod parse;
pub mod places;
#[cfg(feature = "convert")]
mod program;
mod query;
mod quote;
mod readable;
mod request;
mod request_error;
mod resolve;
mod running;
mod search;
mod signature;
mod stack;
mod symbolize;
mod symbolizer;
pub mod symbols;
mod texts;
mod trampoline;
mod unknown;
mod worker;

use foldsym_resolve as rank;

pub use answer::{Answer, Member, Symbol};
pub use batch::{Batch, BatchFrame};
pub use batch_signature::BatchSigning;
pub use certainty::{Certainty, Evidence, Reason};
pub use converter::{Converter, NotConverted};
#[cfg(feature = "debuginfod")]
pub use debuginfod::Debuginfod;
pub use fields::Fields;
pub use foldsym_lookup::NameId;
pub use foldsym_signature::{RuleError, Rules, Signature};
pub use foldsym_store::{
    BuildId, DebugId, LocalStore, ModuleId, Store, StoreError, SymbolMap, open_regular, text_id,
};
pub use frame::{Candidate, Frame, Location};
pub use given::{GivenStack, JsonError};
pub use given_frames::MAX_FRAMES;
pub use in_memory::in_memory;
pub use maps::{MapsEntry, modules_of_maps, modules_of_process, parse_maps};
pub use names::{Form, Kept, Names};
pub use objects::ObjectAnswer;
pub use parse::{ParseError, id_and_offset, module_and_offset, number};
#[cfg(feature = "convert")]
pub use program::LoadError;
pub use query::{Innermost, Query};
pub use readable::ReadableNames;
pub use request::{Request, Requests};
pub use request_error::RequestError;
pub use signature::{RulesError, Signing, rules_of};
pub use stack::{AddressKind, Mapping, Module, Modules, OpenFile, ReportedAddress, Stack, StackFrame};
pub use symbolizer::{BuildError, Builder, OpenedFiles, Symbolizer, Unfetched};
pub use trampoline::TRAMPOLINES;
pub use unknown::Unknown;
pub use worker::Worker;

//! Reads profiles as pprof writes them (`profile.proto`, with or without gzip), and writes them back with functions and lines filled in.
//!
//! The files of gperftools' own are read as the profile that pprof makes of them: those of the processor (binary), and those of the heap (text).
//!
//! | frame | address |
//! |---|---|
//! | first of a sample | exact |
//! | others | adjusted: Go's runtime and pprof's readers of gperftools' profiles subtract 1 from each return address. [`Options::callers`](crate::Options::callers) can say otherwise |
//! | all of a sample in gperftools' own profile of the heap | one less than a return address, the first too |
//!
//! One location represents an address in every stack, but a folded address may be a different function in each. So the rewritten profile
//! ([`Profile::rewrite`]) has a location for each answer. A location whose answer may be another function is marked `is_folded`.
//!
//! Profiles may be hostile: decompressed bytes, records and frames are bounded, and an index without a target is a warning.

mod legacy;
mod profile;
mod read;
mod rewrite;
mod wire;

pub use crate::profiles::Rewritten;
pub use read::Profile;
pub(crate) use read::{ProfileReader, begins_as_profile};

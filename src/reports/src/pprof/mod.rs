//! Reads profiles as pprof writes them (`profile.proto`, gzip around it or not), and writes them anew with functions and lines filled in.
//!
//! | frame | address |
//! |---|---|
//! | first of a sample | exact |
//! | others | adjusted: Go's runtime and pprof's readers of gperftools' profiles take 1 off each return address; [`Options::callers`](crate::Options::callers) says otherwise |
//!
//! A location stands for an address in all stacks, but a folded function is another one in each. So the rewritten profile ([`Profile::rewrite`])
//! has a location for each answer, and a location whose answer may be another function is marked `is_folded`.
//!
//! Profiles are hostile: bytes behind gzip, records and frames are bounded, and an index that leads nowhere is a warning.

mod profile;
mod read;
mod rewrite;

pub use read::Profile;
pub(crate) use read::is_one;
pub use rewrite::Rewritten;

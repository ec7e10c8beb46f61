//! Finds the `.fsym` file of a module by the module's identity, and publishes `.fsym` files so that readers never see a partial one.
//!
//! # What the crate promises
//!
//! - **The path follows from the identity.** A reader computes one path and opens it. It lists no folder, takes no lock, and reads no
//!   index. Only a debug id (Breakpad's short form of a build id) needs a second file, which has the build id.
//! - **A file of another program is never served.** Every open compares the build id inside the file with the requested one. If a file was
//!   renamed by hand, or restored into the wrong folder, the result is an error with both ids.
//! - **A file is whole or absent.** A writer writes to `tmp/`, syncs the bytes to the disk, reads them back, checks them, and then links
//!   the file to its final name. A killed process leaves at most files in `tmp/` and index entries without a file. A later
//!   writer removes the former after a day, [`LocalStore::gc`] both.
//! - **A published file does not change.** For one identity and one version of the format there is one content. If a second writer has the
//!   same bytes, publishing succeeds and changes nothing. If it has other bytes, it gets [`StoreError::Differs`], unless it
//!   sets [`EntryInfo::replace`].
//! - **Absence, damage and other errors are distinct.** `Ok(None)` means that the store does not have the module.
//!   [`StoreError::is_damage`] distinguishes a damaged file from a disk that cannot be read.
//!
//! # Layout of a folder
//!
//! ```text
//! ROOT/format                   the text "fsym-store 1"
//! ROOT/ab/cdef0123.../v2.fsym   build id abcdef0123... in lower-case hexadecimal; 2 is the version of the .fsym format
//!                     v2.json   report: size, checksum, debug id, file name, converter
//!                     missing   no remote store had the module at the time of this file
//!                     malformed a program of this identity could not be converted, and why
//! ROOT/debugid/ab/cdef...       one line: the build id
//! ROOT/name/libfoo.so/abcdef... an empty file, for people: the builds of libfoo.so in this store
//! ROOT/pins/RELEASE             build ids, one per line, that garbage collection keeps
//! ROOT/tmp/                     files being written, and locks
//! ```
//!
//! # Remote stores
//!
//! With the feature `remote`, [`Store::open`] takes addresses of S3, Google and Azure storage, and of HTTP servers, which are only read.
//! The keys of objects are the paths of files, without `format`, `name/`, `pins/` and `tmp/`. Fetched files are kept in a local store of
//! bounded size, for which all promises above hold. This crate removes no remote objects: use the lifecycle rules of the
//! storage.
//!
//! # What the crate does not do
//!
//! It does not convert programs, demangle, or look addresses up. It is no network server. It trusts everyone who may write into the folder:
//! it serves a file with a forged build id like any other. It refuses a folder that everybody may write to. Locks are advisory
//! (`flock`). Writing fails on a file system without locks. If a file system keeps locks local to each machine, two machines may do the
//! same work twice. Readers are safe in any case.
//!
//! # Example
//!
//! ```
//! use foldsym_store::{BuildId, EntryInfo, LocalStore, Published};
//!
//! # let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/golden/demo.fsym");
//! # let folder = tempfile::tempdir().unwrap();
//! # let root = folder.path().join("symbols");
//! let store = LocalStore::create(&root)?;
//! let published = store.add(demo.as_ref(), &EntryInfo::default())?;
//! let Published::New(id) = published else { panic!("{published:?}") };
//!
//! let found = store.get(&id)?.expect("it was just published");
//! assert_eq!(found.file().build_id(), id.as_bytes());
//!
//! let other = BuildId::parse("0123456789abcdef0123456789abcdef01234567")?;
//! assert!(store.get(&other)?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod cache;
mod error;
mod id;
mod local;
mod mapped;
#[cfg(feature = "remote")]
mod objects;
mod remote;
mod symbol_map;

pub use cache::{CachedStore, Store, StoreOptions, debuginfod_cache, default_cache};
pub use error::StoreError;
pub use id::{BuildId, DebugId, IdError, ModuleId, text_id};
pub use local::{
    Checked, EntryInfo, EntryLock, GcOptions, GcReport, Listed, LocalStore, Pin, Problem, Published,
};
pub use remote::{Remote, RemoteError};
pub use symbol_map::SymbolMap;

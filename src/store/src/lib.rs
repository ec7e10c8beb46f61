//! Finds the `.fsym` file of a module by the module's identity, and publishes `.fsym` files so that readers never see a partial one.
//!
//! # What the crate promises
//!
//! - **The path follows from the identity.** A reader computes one path and opens it. It lists no folder, takes no lock, and reads no
//!   index. Only a debug id (Breakpad's short form of a build id) needs a second file, which holds the build id.
//! - **A file of another program is never served.** Every open compares the build id inside the file with the requested one. A file that
//!   was renamed by hand, or restored into the wrong folder, is an error that names both ids.
//! - **A file is complete or missing.** A writer writes to `tmp/`, forces the bytes to the disk, reads them back, checks them, and then
//!   links the file to its final name. A killed process leaves no partial file under a final name. It may leave files in `tmp/`, which the
//!   next writer removes after a day. It may also leave a report or index entries without a file: the entry counts as absent, and
//!   [`LocalStore::gc`] removes them after a day.
//! - **A published file does not change.** One identity and one version of the format mean one content. If a second writer brings the same
//!   bytes, it has nothing to do; if it brings other bytes, it gets [`StoreError::Differs`], unless it asks to replace.
//! - **Absence, damage and errors are three things.** `Ok(None)` says that the store does not have the module; [`StoreError::is_damage`]
//!   distinguishes a damaged file from a disk that cannot be read.
//!
//! # Layout of a folder
//!
//! ```text
//! ROOT/format                   the text "fsym-store 1"
//! ROOT/ab/cdef0123.../v3.fsym   build id abcdef0123... in lower-case hexadecimal; 3 is the version of the .fsym format
//!                     v2.json   report: size, checksum, debug id, file name, converter, releases, level
//!                     missing   no remote store had the module at the time of this file
//!                     malformed a program of this identity could not be converted, and why
//! ROOT/ab/cdef0123.../missing-debug-id
//!                               the same note as `missing`, about a debug id: abcdef0123... is it, with 8 digits for its age
//! ROOT/debugid/ab/cdef...       the build id; several, one a line, where several programs have this debug id
//! ROOT/name/libfoo.so/abcdef... an empty file, for people: the builds of libfoo.so in this store
//! ROOT/pins/RELEASE             build ids, one per line, that garbage collection keeps
//! ROOT/tmp/                     files being written, and locks
//! ```
//!
//! A cache has two more folders, with a store in each folder of them. `check` and `gc` of the cache cover these too.
//!
//! ```text
//! ROOT/with/KEY/                programs that were converted with other options
//! ROOT/remote/KEY/              what was fetched from one remote store; the file `location` in it says from which
//! ```
//!
//! # Remote stores
//!
//! With the feature `remote`, [`Store::open`] takes addresses of S3, Google and Azure storage, and of HTTP servers, which are only
//! read. An `https://` address of Amazon, Cloudflare or Azure is one of storage. An address has no query and no fragment. Messages show
//! an address without `USER:PASSWORD@`. Objects have the same keys as files, without `format`, `name/` and `tmp/`. What was
//! fetched is kept in a local store, so that all promises above hold for it. It is in the folder of the cache, one for each remote
//! store. That folder is bounded (`FOLDSYM_CACHE_BYTES`, [`StoreOptions::cache_bytes`]).
//!
//! Credentials and endpoints come from the environment (`AWS_*`, `GOOGLE_*`, `AZURE_*`; `foldsym store --help` lists them). Without
//! credentials a store is not opened: the metadata service of the machine is asked only if a variable gives its address.
//!
//! Storage is listed, checked, pinned and collected as a folder is. It has no locks between machines and records no use: run one
//! collection at a time, and limit by age of publication, by release or by size. Plain HTTP cannot list or change files.
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
mod completeness;
mod error;
mod id;
mod local;
mod mapped;
#[cfg(feature = "remote")]
mod objects;
mod options;
mod policy;
mod regular;
mod release;
mod remote;
mod remote_admin;
#[cfg(feature = "remote")]
mod remote_setup;
mod shown;
mod store;
mod symbol_map;

pub use cache::CachedStore;
pub use completeness::Completeness;
pub use error::StoreError;
pub use id::{BuildId, DebugId, IdError, ModuleId, text_id};
pub use local::{
    Checked, EntryInfo, EntryLock, GcReport, Listed, LocalStore, Pin, Problem, Published, SEARCH_INDEXES,
    Scratch,
};
pub use options::{StoreOptions, debuginfod_cache, default_cache, default_cache_bytes, parse_bytes};
pub use policy::GcOptions;
pub use regular::open_regular;
pub use release::Release;
pub use remote::{Object, Remote, RemoteError};
pub use shown::{hide_secrets, without_secrets};
pub use store::{Store, StoreLock};
pub use symbol_map::SymbolMap;

//! A store in a folder.

mod absent;
mod files;
mod gc;
mod list;
mod lock;
mod pins;
mod publish;
mod store;

pub use gc::GcReport;
pub(crate) use list::is_versioned;
pub use list::{Checked, Listed, Problem, SEARCH_INDEXES};
pub use lock::EntryLock;
pub use pins::Pin;
pub(crate) use pins::{pin_name, read_pin};
pub(crate) use publish::Made;
pub use publish::{EntryInfo, Published, Scratch};
pub use store::LocalStore;
pub(crate) use store::{builds_in, is_of};

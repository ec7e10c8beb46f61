//! `convert --store`: publishes each program under its identity. A program is not converted again if the store's file is complete and has
//! what the options request; else the better of the two files stays.

use std::path::PathBuf;

use foldsym_convert::{Options, Report};
use foldsym_store::{BuildId, Completeness, Release, Store, StoreOptions};
use foldsym_symbolize::into_store::{IntoStoreError, Outcome, convert_into, entry_of};

use super::plan::Job;
use crate::args::Convert;
use crate::io::failure::{Failure, exit};
use crate::io::progress::Bar;

/// Where converted programs go.
pub(super) struct Target {
    store: Store,
    /// Also converts programs that the store has.
    force: bool,
    /// The release that the programs belong to, or none.
    releases: Vec<Release>,
}

/// The result for a program.
pub(super) struct Stored {
    /// `None` if the program was not converted.
    pub(super) report: Option<Report>,
    /// Which file the store has now, and why.
    pub(super) outcome: Outcome,
    /// What the store has now.
    pub(super) stands: Completeness,
    /// What the file that was replaced had besides.
    pub(super) without: Vec<&'static str>,
    pub(super) identity: BuildId,
    /// The file, or its address.
    pub(super) output: PathBuf,
}

impl Stored {
    /// True if the store has a new file.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.outcome, Outcome::New | Outcome::Replaced(_))
    }
}

impl From<IntoStoreError> for Failure {
    fn from(error: IntoStoreError) -> Self {
        match error {
            IntoStoreError::Store(error) => error.into(),
            IntoStoreError::Convert(error) => error.into(),
            other => Self { message: other.to_string(), code: exit::BAD_INPUT },
        }
    }
}

impl Target {
    /// Opens a store; makes one in a folder that does not exist.
    ///
    /// # Errors
    /// The store cannot be used.
    pub(super) fn open(location: &str, args: &Convert) -> Result<Self, Failure> {
        let store = Store::create(location, StoreOptions::default())?;
        let release =
            |product: &String| Release::now(product, args.version.as_deref(), args.revision.as_deref());
        Ok(Self { store, force: args.force, releases: args.product.iter().map(release).collect() })
    }

    /// Converts a program, unless the store has all of it. If several processes have the same program, they do so one after the other.
    pub(super) fn convert(&self, job: &Job, options: &Options, bar: &Bar) -> Result<Stored, Failure> {
        let identity = foldsym_convert::identify(&job.input, options)?;
        let (id, mut info) = entry_of(&identity).map_err(|error| Failure::input(&job.input, error))?;
        // A symbol file has the program's name.
        let stated = Some(identity.name.clone()).filter(|name| !name.is_empty());
        let own = || job.input.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        info.name = stated.or_else(own);
        info.converter = Some(concat!("foldsym ", env!("CARGO_PKG_VERSION")).to_owned());
        info.releases.clone_from(&self.releases);
        let stored = convert_into(&self.store, (&job.input, &id), info, (options, self.force), bar)?;
        Ok(Stored {
            report: stored.report,
            outcome: stored.outcome,
            stands: stored.stands,
            without: stored.without,
            output: self.place(&id),
            identity: id,
        })
    }

    fn place(&self, id: &BuildId) -> PathBuf {
        match &self.store {
            Store::Local(store) => store.file_path(id),
            // The location of a store has no secrets, unlike the address that the user gave.
            store => format!("{}/{id}", store.location().trim_end_matches('/')).into(),
        }
    }
}

//! `convert --store`: publishes each program under its identity. A program that is already there is not converted again, unless its file
//! lacks something that the options request.

use std::path::PathBuf;

use foldsym_convert::{Options, Report};
use foldsym_lookup::{SectionId, SymbolFile, features};
use foldsym_store::{
    BuildId, EntryInfo, Release, Store, StoreError, StoreLock, StoreOptions, SymbolMap, id_of_program,
};

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
    /// `None` if the store already has the file.
    pub(super) report: Option<Report>,
    /// The contents that the store's file lacked.
    pub(super) lacked: Vec<&'static str>,
    pub(super) identity: BuildId,
    /// The file, or its address.
    pub(super) output: PathBuf,
}

/// Either side may fail while a file is published.
enum Trouble {
    Store(StoreError),
    Convert(foldsym_convert::ConvertError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Store(error) => error.into(),
            Trouble::Convert(error) => error.into(),
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

    /// Converts a program, unless the store has it. If several processes have the same program, one of them converts it.
    pub(super) fn convert(&self, job: &Job, options: &Options, bar: &Bar) -> Result<Stored, Failure> {
        let identity = foldsym_convert::identify(&job.input, options)?;
        let found = id_of_program(&identity.build_id, &identity.text)
            .map_err(|error| Failure::input(&job.input, error))?;
        let Some((id, derived)) = found else {
            let message =
                format!("{}: has neither a build id nor code in .text to derive one from", job.named());
            return Err(Failure { message, code: exit::BAD_INPUT });
        };
        let mut info = EntryInfo::default();
        info.name = job.input.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        info.converter = Some(concat!("foldsym ", env!("CARGO_PKG_VERSION")).to_owned());
        (info.derived_id, info.replace) = (derived, self.force);
        info.releases.clone_from(&self.releases);
        // Held until the file is there.
        let lock = self.store.lock(&id)?;
        let mut lacked = Vec::new();
        // Each program needs its own copy: `complete` adds the options of its existing file.
        let mut options = options.clone();
        if !self.force
            && let Some(there) = sound(&lock)?
        {
            lacked = complete(&mut options, there.file());
            // The file may have been made before the debug file was there.
            if job.debug_file.is_some() && !has_lines(there.file()) {
                // `complete` compares only options. Here the debug file that was found makes the difference.
                lacked.push("debug information");
            }
            if lacked.is_empty() {
                lock.note_releases(&self.releases)?;
                return Ok(Stored { report: None, lacked, output: self.place(&id), identity: id });
            }
            // Without `replace`, the store would keep its file.
            info.replace = true;
        }
        let mut report = None;
        let make = |to: &std::path::Path| {
            let converted = foldsym_convert::convert(&job.input, to, &options, bar);
            report = Some(converted.map_err(Trouble::Convert)?);
            Ok(())
        };
        lock.publish(&info, make).map_err(|trouble: Trouble| Failure::from(trouble))?;
        Ok(Stored { report, lacked, output: self.place(&id), identity: id })
    }

    fn place(&self, id: &BuildId) -> PathBuf {
        match &self.store {
            Store::Local(store) => store.file_path(id),
            // The location of a store has no secrets, unlike the address that the user gave.
            store => format!("{}/{id}", store.location().trim_end_matches('/')).into(),
        }
    }
}

/// The file that the store has. One that is damaged is converted again.
fn sound(lock: &StoreLock<'_>) -> Result<Option<SymbolMap>, Failure> {
    match lock.get() {
        Ok(found) => Ok(found),
        Err(error) if error.is_damage() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether any function has rows. If none has, section ROWS has only the byte of offset 0 and its tail.
fn has_lines(file: &SymbolFile<'_>) -> bool {
    file.records()
        .section_bytes(SectionId::ROWS)
        .is_some_and(|rows| rows.len() > 1 + foldsym_format::bits::TAIL)
}

/// Returns what the options request that a file lacks. Adds to the options what the file has, so that the file that replaces it has both. A
/// file without locations or imports is not incomplete: the program may have none.
fn complete(options: &mut Options, there: &SymbolFile<'_>) -> Vec<&'static str> {
    let has = |id| there.records().section_bytes(id).is_some();
    let columns = there.header().features & features::COLUMNS != 0;
    let mut lacked = Vec::new();
    for (option, has, name) in [
        (&mut options.columns, columns, "columns"),
        (&mut options.unwind, has(SectionId::UNWIND), "rows for unwinding"),
        (&mut options.name_index, has(SectionId::NAME_INDEX), "an index of names"),
    ] {
        if *option && !has {
            lacked.push(name);
        }
        *option |= has;
    }
    options.locations |= has(SectionId::LOCATED);
    options.imports |= has(SectionId::IMPORTS) && !options.readable_names;
    lacked
}

//! Finds the unwind rules of a module, and keeps those of programs from report to report.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldsym_symbolize::{Symbolizer, Unknown};

use super::program::{Caller, Program, ThreadState};
use super::rows::Rows;

/// Most programs whose call frame information is kept before all are forgotten.
const MAX_PROGRAMS: usize = 512;

/// Name and identity of a module in its report.
type Key = (String, Option<foldsym_symbolize::ModuleId>);

/// How long a module without call frame information is remembered: a store may get it later.
const ABSENCE: Duration = Duration::from_secs(10);

/// Call frame information of programs, kept from report to report.
#[derive(Default)]
pub(crate) struct Programs {
    known: Mutex<HashMap<Key, (FoundSource, Instant)>>,
}

/// The unwind rules of a module, if there are any.
pub(super) type FoundSource = Option<Arc<Source>>;

/// The source of a module's unwind rules.
pub(super) enum Source {
    /// Section UNWIND of its file.
    Rows(Rows),
    /// Its program.
    Program(Program),
}

impl Source {
    /// Link-time address of the page that the first segment begins in.
    pub(super) fn first(&self) -> u64 {
        match self {
            Self::Rows(rows) => rows.first,
            Self::Program(program) => program.first,
        }
    }

    pub(super) fn covers(&self, address: u64) -> bool {
        match self {
            Self::Rows(rows) => rows.covers(address),
            Self::Program(program) => program.covers(address),
        }
    }

    pub(super) fn leave(&self, address: u64, state: &dyn ThreadState) -> Option<Caller> {
        match self {
            Self::Rows(rows) => rows.leave(address, state),
            Self::Program(program) => program.leave(address, state),
        }
    }
}

impl Programs {
    /// The unwind rules of a module. A module without any is remembered for a while, unless reading a file failed.
    pub(super) fn get(&self, module: &foldsym_symbolize::Module, symbolizer: &Symbolizer) -> FoundSource {
        // An identity decides alone, whatever names a build has.
        let name = if module.id.is_some() { String::new() } else { module.name.to_string() };
        let key = (name, module.id.clone());
        if let Some((source, when)) = lock(&self.known).get(&key)
            && (source.is_some() || when.elapsed() < ABSENCE)
        {
            return source.clone();
        }
        // The lock is released, so other threads do not wait while a file is fetched or converted.
        let file = symbolizer.file_of(module);
        let has_failed = matches!(&file, Err(why) if !matches!(why, Unknown::Absent(_)));
        // The file that answers lookups has the rows itself, if it was converted with them.
        if let Some(rows) = file.ok().and_then(Rows::of) {
            // Not kept here: the engine keeps the file open within its bounds, and finds it again at once.
            return Some(Arc::new(Source::Rows(rows)));
        }
        let of_program = || {
            let paths = symbolizer.programs(module);
            paths.iter().find_map(|path| Program::open(path, module.id.as_ref())).map(Source::Program)
        };
        let source = of_program().map(Arc::new);
        if source.is_none() && has_failed {
            return None;
        }
        let mut known = lock(&self.known);
        if known.len() >= MAX_PROGRAMS {
            known.clear();
        }
        let new = (source, Instant::now());
        // Another thread may have added it meanwhile.
        let entry = known.entry(key).or_insert_with(|| new.clone());
        if entry.0.is_none() {
            *entry = new;
        }
        entry.0.clone()
    }
}

/// Locks a mutex even after a panic: no panic leaves its data half written.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

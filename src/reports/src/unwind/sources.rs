//! Finds the unwind rules of a module, and keeps those of programs from report to report.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Most bytes that are kept of programs, unless the caller says how many.
const MAX_BYTES: u64 = 512 << 20;

/// Call frame information of programs, kept from report to report.
pub(crate) struct Programs {
    known: Mutex<KnownPrograms>,
    /// Bytes that there may be, kept and in use by reports.
    most: u64,
    /// Bytes that there are.
    live: Arc<AtomicU64>,
}

#[derive(Default)]
struct KnownPrograms {
    of: HashMap<Key, (FoundSource, Instant)>,
    /// Bytes of all of them.
    bytes: u64,
}

impl Default for Programs {
    fn default() -> Self {
        Self::within(MAX_BYTES)
    }
}

/// The unwind rules of a module, if there are any.
pub(super) type FoundSource = Option<Arc<Source>>;

/// The source of a module's unwind rules.
pub(super) enum Source {
    /// Section UNWIND of its file.
    Rows(Rows),
    /// Its program.
    Program(Program, Charged),
}

/// Bytes of a program that count until it is dropped.
pub(super) struct Charged {
    bytes: u64,
    live: Arc<AtomicU64>,
}

impl Charged {
    /// Counts them; `None` if there would be more than `most` then.
    fn take(bytes: u64, live: &Arc<AtomicU64>, most: u64) -> Option<Self> {
        let added = |before: u64| before.checked_add(bytes).filter(|after| *after <= most);
        live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, added).ok()?;
        Some(Self { bytes, live: live.clone() })
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.live.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Source {
    /// Link-time address of the page that the first segment begins in.
    pub(super) fn first(&self) -> u64 {
        match self {
            Self::Rows(rows) => rows.first,
            Self::Program(program, _) => program.first,
        }
    }

    /// Bytes of memory that it takes. The engine counts those of a file with rows.
    fn bytes(&self) -> u64 {
        match self {
            Self::Rows(_) => 0,
            Self::Program(_, counted) => counted.bytes,
        }
    }

    pub(super) fn covers(&self, address: u64) -> bool {
        match self {
            Self::Rows(rows) => rows.covers(address),
            Self::Program(program, _) => program.covers(address),
        }
    }

    pub(super) fn leave(&self, address: u64, state: &dyn ThreadState) -> Option<Caller> {
        match self {
            Self::Rows(rows) => rows.leave(address, state),
            Self::Program(program, _) => program.leave(address, state),
        }
    }
}

impl Programs {
    /// Keeps at most so many bytes.
    pub(crate) fn within(most: u64) -> Self {
        Self { known: Mutex::default(), most, live: Arc::default() }
    }

    /// A program, counted. What is only kept makes room for it. `None` if reports that are being read have no room for it: they do without
    /// its rules.
    pub(super) fn counted(&self, program: Program) -> Option<Source> {
        let bytes = program.memory();
        if bytes > self.most {
            return None;
        }
        let counted = Charged::take(bytes, &self.live, self.most).or_else(|| {
            *lock(&self.known) = KnownPrograms::default();
            Charged::take(bytes, &self.live, self.most)
        });
        counted.map(|counted| Source::Program(program, counted))
    }

    /// The unwind rules of a module. A module without any is remembered for a while, unless reading a file failed.
    pub(super) fn get(&self, module: &foldsym_symbolize::Module, symbolizer: &Symbolizer) -> FoundSource {
        // A build id decides alone, whatever names a build has. Other identities may be of several programs.
        let is_build = matches!(module.id, Some(foldsym_symbolize::ModuleId::Build(_)));
        let name = if is_build { String::new() } else { module.name.to_string() };
        let key = (name, module.id.clone());
        if let Some((source, when)) = lock(&self.known).of.get(&key)
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
            paths.iter().find_map(|path| Program::open(path, module.id.as_ref()))
        };
        let program = of_program();
        let is_there = program.is_some();
        let source = program.and_then(|program| self.counted(program)).map(Arc::new);
        // Without room it may be found the next time.
        if source.is_none() && (has_failed || is_there) {
            return None;
        }
        self.keep(key, source)
    }

    /// Keeps what was found, or finds what another thread kept meanwhile.
    fn keep(&self, key: Key, source: FoundSource) -> FoundSource {
        let mut known = lock(&self.known);
        if let Some((Some(other), _)) = known.of.get(&key) {
            return Some(other.clone());
        }
        let bytes = source.as_ref().map_or(0, |source| source.bytes());
        // The report that asked for it has it all the same.
        if bytes > self.most {
            return source;
        }
        if known.of.len() >= MAX_PROGRAMS || known.bytes + bytes > self.most {
            *known = KnownPrograms::default();
        }
        known.bytes += bytes;
        known.of.insert(key, (source.clone(), Instant::now()));
        source
    }
}

/// Locks a mutex even after a panic: no panic leaves its data half written.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_kept_within_bytes() {
        let image = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reports/crash")).unwrap();
        let program = || Program::of_image(&image).unwrap();
        let one = program().memory();
        let programs = Programs::within(3 * one);
        let source = || programs.counted(program()).map(Arc::new);
        let kept = || {
            let known = lock(&programs.known);
            (known.of.len() as u64, known.bytes)
        };
        let keep = |name: &str| programs.keep((name.to_owned(), None), source());
        for (name, count) in [("a", 1), ("b", 2), ("c", 3), ("d", 1)] {
            assert!(keep(name).is_some());
            assert_eq!(kept(), (count, count * one), "{name}");
        }
        // Those that a report uses count until it has ended, kept or not; there are never more.
        let used: Vec<_> = (0..3).map(|_| source().unwrap()).collect();
        assert!(source().is_none() && kept() == (0, 0));
        drop(used);
        assert!(source().is_some() && programs.live.load(Ordering::Relaxed) == 0);
        assert!(Programs::within(one - 1).counted(program()).is_none());
    }
}

//! The open files of an engine, by module: searches each once, keeps what was found, and closes what was not used for longest.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use foldsym_store::{ModuleId, SymbolMap};
use lru::LruCache;

use crate::find::{Finder, NotFound, Reach};
use crate::stack::Module;
use crate::unknown::Unknown;

/// Everything that the search for a module's file depends on. The mapping is no part of it, so several processes share a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) id: Option<ModuleId>,
    pub(crate) name: String,
    pub(crate) program: Option<Arc<Path>>,
}

impl Key {
    pub(crate) fn of(module: &Module) -> Self {
        Self { id: module.id.clone(), name: module.file_name().to_owned(), program: module.program.clone() }
    }
}

/// Whether remote stores and servers are to be asked for a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetch {
    /// They were asked, or need not be.
    No,
    /// They were not asked yet, and may have more than there is.
    Needed,
    /// They were asked a while ago: their answer of then is used, and they may have another one now.
    Again,
}

/// An opened file, or why there is none.
pub(crate) type Opened = Result<Arc<SymbolMap>, Unknown>;

/// The result of a search, and its time.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) opened: Opened,
    pub(crate) when: Instant,
    /// Another source may have more later: no file was found, or one that lacks a part of its debug information or code.
    pub(crate) is_lacking: bool,
    /// Whether remote stores and servers are to be asked.
    pub(crate) fetch: Fetch,
    /// The number of searches so far.
    looked: u64,
}

/// The file of a module. The first thread that needs it searches, and the others wait. During a later search the others go on with the
/// result that is known.
#[derive(Default)]
struct Slot {
    found: Mutex<Option<Found>>,
    /// Held by the thread that searches all places.
    looking: Mutex<()>,
    /// Held by the thread that searches this machine: it does not wait for one that fetches.
    looking_here: Mutex<()>,
}

/// The open files.
pub(crate) struct OpenFiles {
    pub(crate) finder: Finder,
    slots: Mutex<LruCache<Key, Arc<Slot>>>,
    /// The two numbers of [`Symbolizer::opened`](crate::Symbolizer::opened).
    pub(crate) files_opened: AtomicU64,
    pub(crate) bytes_opened: AtomicU64,
    pub(crate) retry_after: Duration,
    /// Bytes of files that stay open.
    pub(crate) most_bytes: u64,
}

/// Locks a mutex even after a panic: no panic leaves its data half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenFiles {
    pub(crate) fn new(
        finder: Finder,
        most: std::num::NonZeroUsize,
        most_bytes: u64,
        retry_after: Duration,
    ) -> Self {
        Self {
            finder,
            slots: Mutex::new(LruCache::new(most)),
            files_opened: AtomicU64::new(0),
            bytes_opened: AtomicU64::new(0),
            retry_after,
            most_bytes,
        }
    }

    /// The file of a module, searched in the places that `reach` says.
    pub(crate) fn open(&self, key: &Key, reach: Reach) -> Found {
        if let Some(found) = self.known_build(key) {
            return found;
        }
        // This lock is held only to find the slot. A search may convert a program, and holds only a lock of its slot.
        let slot = lock(&self.slots).get_or_insert_ref(key, Arc::<Slot>::default).clone();
        let before = self.files_opened.load(Ordering::Relaxed);
        let found = match reach {
            Reach::Local if self.may_fetch(key) => self.look_here(&slot, key),
            _ => self.look(&slot, key),
        };
        // Only a file that is new changes what is open. If another thread opened it, that one does the same.
        if found.opened.is_ok() && self.files_opened.load(Ordering::Relaxed) != before {
            self.share(key, &slot, &found);
        }
        found
    }

    /// What is known of a module without a search; `None` if a search is due. Waits for no other thread.
    pub(crate) fn known(&self, key: &Key) -> Option<Found> {
        self.known_build(key).or_else(|| {
            let slot = lock(&self.slots).get(key).cloned()?;
            let found = lock(&slot.found).clone()?;
            (!self.is_stale(&found) || found.fetch == Fetch::Needed).then_some(found)
        })
    }

    /// Whether a search for a module may ask a remote store or a server.
    fn may_fetch(&self, key: &Key) -> bool {
        self.finder.has_remotes() && (key.id.is_some() || key.program.is_some())
    }

    /// The file of a module's identity, whatever name it has here. An identity decides alone which file is right, so that a build that has many
    /// names is open once.
    fn known_build(&self, key: &Key) -> Option<Found> {
        let slot = lock(&self.slots).get(&of_build(key)?).cloned()?;
        let found = lock(&slot.found).clone()?;
        (found.opened.is_ok() && !found.is_lacking && found.fetch == Fetch::No).then_some(found)
    }

    /// Makes a file known by its identity, and closes others beyond the bounds.
    fn share(&self, key: &Key, slot: &Arc<Slot>, found: &Found) {
        let mut slots = lock(&self.slots);
        // Without a build id its identity is derived from its code, and names may decide between several programs.
        let has_build = found.opened.as_ref().is_ok_and(|map| map.build_id().is_some());
        if let Some(build) =
            of_build(key).filter(|_| has_build && !found.is_lacking && found.fetch == Fetch::No)
        {
            // The name's own entry would close another file.
            slots.pop(key);
            slots.put(build, slot.clone());
        }
        let bytes = |slot: &Arc<Slot>| match &*lock(&slot.found) {
            Some(Found { opened: Ok(map), .. }) => map.bytes().len() as u64,
            _ => 0,
        };
        let mut sum: u64 = slots.iter().map(|(_, slot)| bytes(slot)).sum();
        // The file that was just opened stays.
        while sum > self.most_bytes && slots.len() > 1 {
            let Some((_, oldest)) = slots.pop_lru() else { break };
            sum = sum.saturating_sub(bytes(&oldest));
        }
    }

    /// The result in a slot. Searches if there is none, or if it is stale.
    fn look(&self, slot: &Slot, key: &Key) -> Found {
        // A copy, so that this lock is not held during a search.
        let known = || lock(&slot.found).clone();
        let before = known();
        let _looking = match &before {
            Some(found) if !self.is_stale(found) && found.fetch == Fetch::No => return found.clone(),
            Some(found) if found.fetch == Fetch::No => match slot.looking.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return found.clone(),
            },
            _ => lock(&slot.looking),
        };
        // Another thread may have searched in between.
        let looked = before.as_ref().map_or(0, |found| found.looked);
        if let Some(found) = known().filter(|found| found.looked > looked && found.fetch == Fetch::No) {
            return found;
        }
        let new = self.find(key, Reach::All);
        let old = before.and_then(|found| found.opened.ok());
        let (opened, is_lacking) = match (new, old) {
            // After an error the old file stays. It also stays if the search found the same file again.
            (Err(_), Some(old)) => (Ok(old), true),
            // Nothing was found out about the module, so the next stack searches again.
            (Err(NotFound { why, is_passing: true }), None) => return passing(why, looked),
            (Ok((map, is_lacking)), Some(old)) if old.bytes() == map.bytes() => (Ok(old), is_lacking),
            (Ok((map, is_lacking)), _) => (Ok(Arc::new(map)), is_lacking),
            (Err(NotFound { why, .. }), None) => (Err(why), true),
        };
        let fetch = Fetch::No;
        keep(slot, Found { opened, when: Instant::now(), is_lacking, fetch, looked: looked + 1 })
    }

    /// The result in a slot, else what this machine has. Does not wait for a thread that fetches.
    fn look_here(&self, slot: &Slot, key: &Key) -> Found {
        let known = || lock(&slot.found).clone();
        let is_enough = |found: &Found| !self.is_stale(found) || found.fetch == Fetch::Needed;
        if let Some(found) = known().filter(is_enough) {
            return found;
        }
        let _looking = lock(&slot.looking_here);
        let before = known();
        if let Some(found) = before.clone().filter(is_enough) {
            return found;
        }
        let looked = before.as_ref().map_or(0, |found| found.looked);
        match (self.find(key, Reach::Local), before) {
            // Not kept, so that it is fetched once more, and then counts as new.
            (Err(_) | Ok((_, true)), Some(before)) => Found { fetch: Fetch::Again, ..before },
            (Ok((map, is_lacking)), _) => {
                let (opened, when) = (Ok(Arc::new(map)), Instant::now());
                // A whole file is as good as one that would be fetched.
                let fetch = if is_lacking { Fetch::Needed } else { Fetch::No };
                keep(slot, Found { opened, when, is_lacking, fetch, looked })
            }
            (Err(not_found), None) => Found { fetch: Fetch::Needed, ..passing(not_found.why, looked) },
        }
    }

    fn find(&self, key: &Key, reach: Reach) -> Result<(SymbolMap, bool), NotFound> {
        let found = self.finder.find(key.id.as_ref(), &key.name, key.program.as_deref(), reach);
        if let Ok((map, _)) = &found {
            // These are only counters. No other memory depends on them, so no ordering is needed.
            self.files_opened.fetch_add(1, Ordering::Relaxed);
            self.bytes_opened.fetch_add(map.bytes().len() as u64, Ordering::Relaxed);
        }
        found
    }

    /// True if a file that is missing or incomplete is due for another search.
    fn is_stale(&self, found: &Found) -> bool {
        found.is_lacking && found.when.elapsed() >= self.retry_after
    }
}

/// The key by which a build is known. `None` if the identity alone does not decide.
fn of_build(key: &Key) -> Option<Key> {
    let id = key.id.clone().filter(|_| key.program.is_none())?;
    Some(Key { id: Some(id), name: String::new(), program: None })
}

/// A result that is not kept.
fn passing(why: Unknown, looked: u64) -> Found {
    Found { opened: Err(why), when: Instant::now(), is_lacking: true, fetch: Fetch::No, looked }
}

fn keep(slot: &Slot, found: Found) -> Found {
    *lock(&slot.found) = Some(found.clone());
    found
}

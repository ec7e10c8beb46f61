//! Puts the units that several threads read back into file order.
//!
//! A thread puts a unit here after reading it. If no other thread is handing units over at that moment, this thread hands
//! over all units that are next in file order. Then it reads another unit. No thread waits.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{SlotKey, Unit};
use crate::open::{DebugSections, Files};
use crate::read::units::one_unit::{Done, SHARED, Starts};
use crate::util::budget::Allowance;
use crate::util::hash::HashMap;

/// Receives units in file order.
pub(crate) trait Take<'f>: Send {
    fn take(&mut self, unit: Unit<'f>);

    /// True if it wants no further units, so that they need not be read.
    fn is_full(&self) -> bool {
        false
    }

    /// Receives the calls in `.debug_vcall`, before the units.
    fn take_slots(&mut self, _: &[SlotKey]) {}
}

impl<'f> Take<'f> for Vec<Unit<'f>> {
    fn take(&mut self, unit: Unit<'f>) {
        self.push(unit);
    }
}

/// All units together may have this many shared items, in addition to the entries that the program's range lists allow. Shared
/// items are entries of range lists, and rows past `OWN_ROWS`: see [`Limits::of_others`](crate::read::limits::Limits).
const MIN_SHARED: u64 = 1 << 20;

/// Pages are released in parts of at least this many bytes.
const STRIDE: usize = 1 << 20;

pub(crate) struct Queue<'t, 'f> {
    /// Units that were read but not handed over, by index; `None` for a unit without code.
    waiting: Mutex<BTreeMap<usize, Option<Done<'f>>>>,
    front: Mutex<Front<'t, 'f>>,
    /// The shared items of all units read so far, in the order of reading.
    shared: AtomicU64,
    /// The most shared items of all units together.
    most_shared: u64,
    /// Bytes of memory of the waiting units.
    held: AtomicU64,
    /// If waiting units have more bytes than this, further units are deferred.
    most_held: u64,
    /// True if the taker wants no further units.
    full: AtomicBool,
}

/// The end of the queue at which units are handed over in file order.
struct Front<'t, 'f> {
    /// Index of the next unit.
    next: usize,
    taker: &'t mut dyn Take<'f>,
    files: &'f Files,
    sections: &'t DebugSections<'f>,
    /// For each section of [`SHARED`], the offset up to which its pages were released.
    given_back: Starts,
    diagnostics: Diagnostics,
    /// For each dwo id the offset of the last unit that has it.
    skeletons: HashMap<u64, u64>,
    /// The steps left for skeletons: for searching their files, and for reading a split unit that an earlier skeleton has
    /// named already. `None` after they were used up.
    steps: Option<u64>,
    /// The shared items left for the next unit.
    shared: u64,
    again: &'t Again<'t, 'f>,
}

/// How a unit is read again.
#[derive(Clone, Copy)]
pub(crate) struct ReadAgain {
    /// False to read the skeleton without its `.dwo`. From then on no unit is read from a `.dwo`.
    pub(crate) split: bool,
    /// The most shared items of the unit.
    pub(crate) limit: u64,
}

/// Reads a unit again.
pub(crate) type Again<'t, 'f> = dyn Fn(usize, ReadAgain) -> Option<Done<'f>> + Sync + 't;

impl<'t, 'f> Queue<'t, 'f> {
    pub(crate) fn new(
        taker: &'t mut dyn Take<'f>,
        files: &'f Files,
        sections: &'t DebugSections<'f>,
        diagnostics: Diagnostics,
        lists: u64,
        allowance: Allowance,
        again: &'t Again<'t, 'f>,
    ) -> Self {
        let most_shared = lists.saturating_add(MIN_SHARED);
        let front = Front {
            next: 0,
            taker,
            files,
            sections,
            given_back: Starts::default(),
            diagnostics,
            skeletons: HashMap::default(),
            steps: Some(allowance.steps()),
            shared: most_shared,
            again,
        };
        Queue {
            waiting: Mutex::default(),
            front: Mutex::new(front),
            shared: AtomicU64::new(0),
            most_shared,
            held: AtomicU64::new(0),
            most_held: allowance.kept(),
            full: AtomicBool::new(false),
        }
    }

    /// True if the taker wants no further units, so that nothing needs to be read.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Reads a unit, or defers it. It is deferred if the units read so far have more shared items than allowed, or if the waiting
    /// units have all the memory that units may have. A deferred unit is read when its turn comes, so that the memory of
    /// waiting units has a bound.
    pub(crate) fn read(&self, read: impl FnOnce() -> Option<Done<'f>>) -> Option<Done<'f>> {
        // The counters may be behind those of other threads. That changes only when a unit is read: `afford` applies the
        // limits again, in file order.
        let deferred = || Some(Done { deferred: true, ..Done::default() });
        if self.shared.load(Ordering::Relaxed) > self.most_shared
            || self.held.load(Ordering::Relaxed) > self.most_held
        {
            return deferred();
        }
        let done = read()?;
        let had = self.shared.fetch_add(done.steps.beyond_own(), Ordering::Relaxed);
        // Other threads used up the limit meanwhile. The unit is dropped, and its memory with it.
        if done.steps.beyond_own() > 0 && had > self.most_shared { deferred() } else { Some(done) }
    }

    /// Adds the unit at `index`, and hands over the units that are next in file order, unless another thread is doing so.
    pub(crate) fn put(&self, index: usize, unit: Option<Done<'f>>) {
        // Before the unit can be seen: otherwise another thread might hand it over first, and `held` would fall below 0.
        self.held.fetch_add(held(&unit), Ordering::Relaxed);
        lock(&self.waiting).insert(index, unit);
        if let Ok(mut front) = self.front.try_lock() {
            self.drain(&mut front);
        }
    }

    /// Hands over the remaining units, and returns the diagnostics of all units.
    pub(crate) fn finish(self) -> Diagnostics {
        self.drain(&mut lock(&self.front));
        self.front.into_inner().unwrap_or_else(PoisonError::into_inner).diagnostics
    }

    fn drain(&self, front: &mut Front<'t, 'f>) {
        loop {
            // The lock is held only here, so other threads can add units while this one hands over.
            let unit = lock(&self.waiting).remove(&front.next);
            // Another thread may put this unit after the look and find the front locked. The next `put`, or `finish`,
            // hands it over.
            let Some(unit) = unit else { break };
            self.held.fetch_sub(held(&unit), Ordering::Relaxed);
            if self.is_full() {
                front.next += 1;
                continue;
            }
            if let Some(done) = unit.and_then(|done| front.afford(done)) {
                front.hand_over(done);
            }
            if front.taker.is_full() {
                self.full.store(true, Ordering::Relaxed);
            }
            front.next += 1;
        }
    }
}

impl<'f> Front<'_, 'f> {
    /// Applies the limits that all units share, in file order, so that the result does not depend on threads. If the shared
    /// items are used up, the unit is read again with the rest of them. If the steps are used up, the skeleton is read
    /// without its `.dwo`.
    fn afford(&mut self, mut done: Done<'f>) -> Option<Done<'f>> {
        let mut had = self.is_known(&done);
        if done.deferred || done.steps.of_others(had) > self.shared {
            done = (self.again)(self.next, ReadAgain { split: true, limit: self.shared })?;
            had = self.is_known(&done);
        }
        self.shared = self.shared.saturating_sub(done.steps.of_others(had));
        let steps = done.steps.find.saturating_add(if had { done.steps.unit } else { 0 });
        if had {
            // The bytes of the `.dwo` were counted for the first unit that used it.
            (done.unit.tables.strings, done.unit.tables.brings) = (0, 0);
        }
        if steps == 0 {
            return Some(done);
        }
        // After they ran out they stay `None`: no later unit is read from its `.dwo`, however few steps it needs.
        self.steps = self.steps.and_then(|left| left.checked_sub(steps));
        if self.steps.is_some() {
            return Some(done);
        }
        let done = (self.again)(self.next, ReadAgain { split: false, limit: self.shared })?;
        // Read without its `.dwo`, the unit has no lists in a file of its own, so all of its items count.
        self.shared = self.shared.saturating_sub(done.steps.shared);
        Some(done)
    }

    /// True if an earlier skeleton has the same dwo id.
    fn is_known(&self, done: &Done<'f>) -> bool {
        done.dwo_id.is_some_and(|id| self.skeletons.contains_key(&id))
    }

    fn hand_over(&mut self, Done { unit, dwo_id, diagnostics, starts, .. }: Done<'f>) {
        // In file order, so that the first case of each kind does not depend on threads.
        self.diagnostics.merge(diagnostics);
        // All units before this one were read, so their parts of these sections are not needed any more.
        for ((section, start), given_back) in SHARED.into_iter().zip(starts).zip(&mut self.given_back) {
            if start >= given_back.saturating_add(STRIDE) {
                let bytes = self.sections.get(section).get(*given_back..start);
                self.files.release(bytes.unwrap_or_default());
                *given_back = start;
            }
        }
        if let Some(id) = dwo_id
            && let Some(first) = self.skeletons.insert(id, unit.head.offset)
        {
            self.diagnostics.add(Kind::DuplicateDwoId, unit.head.offset, || {
                format!("units at .debug_info+{first:#x} and +{:#x} have dwo id {id:#018x}", unit.head.offset)
            });
        }
        self.taker.take(unit);
    }
}

/// Bytes of memory of a waiting unit.
fn held(unit: &Option<Done<'_>>) -> u64 {
    let classes = |unit: &Unit<'_>| unit.records.described.as_ref().map_or(0, |unit| unit.bytes());
    unit.as_ref().map_or(0, |done| done.unit.bytes() + classes(&done.unit))
}

/// Locks a mutex and ignores poisoning: a thread that panicked ends the conversion anyhow.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Unit;
    use crate::read::units::split::SplitSteps;
    use crate::read::units::task;

    const LISTS: u64 = 100;

    fn done(offset: u64, id: u64, steps: SplitSteps) -> Option<Done<'static>> {
        let unit = task::empty(offset);
        Some(Done { unit, dwo_id: Some(id), steps, ..Done::default() })
    }

    /// The units (id, steps) are read in this order. Returns offset and `partial` of each unit that was handed over.
    fn taken(units: &[(u64, SplitSteps)], order: &[usize]) -> Vec<(u64, bool)> {
        let again = |index: usize, how: ReadAgain| {
            let (id, mut steps) = units[index];
            if !how.split {
                steps = SplitSteps::default();
            }
            steps.shared = steps.shared.min(how.limit);
            let mut read = done(index as u64, id, steps)?;
            read.unit.head.partial = steps.shared < units[index].1.shared || steps.shared == 0;
            Some(read)
        };
        let (files, sections, mut taken) = (Files::new(), DebugSections::default(), Vec::<Unit<'_>>::new());
        let (counted, none) = (Diagnostics::default(), Allowance::default());
        let queue = Queue::new(&mut taken, &files, &sections, counted, LISTS, none, &again);
        for &index in order {
            let (id, steps) = units[index];
            queue.put(index, queue.read(|| done(index as u64, id, steps)));
        }
        queue.finish();
        taken.iter().map(|unit| (unit.head.offset, unit.head.partial)).collect()
    }

    #[test]
    fn units_past_the_steps_are_read_without_their_files_whatever_comes_first() {
        let half = SplitSteps { find: Allowance::default().steps() / 2, ..SplitSteps::default() };
        let one = SplitSteps { find: 1, ..SplitSteps::default() };
        let units = [(1, half), (2, half), (3, SplitSteps::default()), (4, one), (5, one)];
        let expected = vec![(0, false), (1, false), (2, false), (3, true), (4, true)];
        assert_eq!(taken(&units, &[0, 1, 2, 3, 4]), expected);
        assert_eq!(taken(&units, &[4, 2, 3, 1, 0]), expected);
    }

    /// The first three units use up the limit, so the fourth and the fifth get nothing. Lists in a unit's own file count only for
    /// later units with the same file.
    #[test]
    fn units_past_the_entries_of_lists_have_none_whatever_comes_first() {
        let shared = |shared| SplitSteps { shared, ..SplitSteps::default() };
        let most = LISTS + MIN_SHARED;
        let units =
            [(1, shared(most - 5)), (2, shared(3)), (3, shared(2)), (4, shared(1)), (5, shared(most))];
        let expected = vec![(0, false), (1, false), (2, false), (3, true), (4, true)];
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [4, 2, 3, 1, 0], [3, 4, 0, 1, 2]] {
            assert_eq!(taken(&units, &order), expected, "{order:?}");
        }
        let own = SplitSteps { shared: most, own: most, ..SplitSteps::default() };
        assert_eq!(taken(&[(1, own), (2, own), (2, own)], &[2, 1, 0]), [(0, false), (1, false), (2, false)]);
        let units = [(1, own), (1, own), (1, own), (2, own)];
        assert_eq!(taken(&units, &[3, 2, 1, 0]), [(0, false), (1, false), (2, true), (3, false)]);
    }

    #[test]
    fn a_unit_counts_where_another_has_its_id() {
        let whole = SplitSteps { unit: Allowance::default().steps(), ..SplitSteps::default() };
        assert_eq!(taken(&[(1, whole), (2, whole)], &[0, 1]), [(0, false), (1, false)]);
        assert_eq!(
            taken(&[(1, whole), (1, whole), (1, whole)], &[0, 1, 2]),
            [(0, false), (1, false), (2, true)]
        );
    }
}

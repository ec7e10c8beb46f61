//! Brings the units that threads have read into the order of the file again.
//!
//! A thread that has read a unit puts it here and goes on with another. Whoever finds that nobody is handing units
//! over does it, as long as the next one in order is there. Nobody waits.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::Take;
use super::task::{Done, SHARED, Starts};
use crate::open::{DebugSections, Files};
use crate::report::{Diagnostics, Kind};

/// Steps for what skeletons have again that others before them had: to look through their files, and to read a unit once
/// more. Of a program of a hundred thousand units, each with a file of its own, the first are half a billion.
const MAX_STEPS: u64 = 1 << 33;

/// Memory is given back in parts of at least so many bytes.
const STRIDE: usize = 1 << 20;

pub(super) struct Queue<'t, 'f> {
    /// By index of the unit; `None` for one that holds nothing.
    waiting: Mutex<BTreeMap<usize, Option<Done<'f>>>>,
    front: Mutex<Front<'t, 'f>>,
}

/// Where the units leave.
struct Front<'t, 'f> {
    /// Index of the next unit.
    next: usize,
    taker: &'t mut dyn Take<'f>,
    files: &'f Files,
    sections: &'t DebugSections<'f>,
    /// Bytes of each of [`SHARED`] whose memory was given back.
    given_back: Starts,
    diagnostics: Diagnostics,
    /// By dwo id: the offset of the last unit with it.
    skeletons: FxHashMap<u64, u64>,
    /// What is left of [`MAX_STEPS`]; `None` once something took more.
    steps: Option<u64>,
    again: &'t Again<'t, 'f>,
}

/// Reads a unit again, without its `.dwo`, and has no other read with one.
pub(super) type Again<'t, 'f> = dyn Fn(usize) -> Option<Done<'f>> + Sync + 't;

impl<'t, 'f> Queue<'t, 'f> {
    pub(super) fn new(
        taker: &'t mut dyn Take<'f>,
        files: &'f Files,
        sections: &'t DebugSections<'f>,
        diagnostics: Diagnostics,
        again: &'t Again<'t, 'f>,
    ) -> Self {
        let front = Front {
            next: 0,
            taker,
            files,
            sections,
            given_back: Starts::default(),
            diagnostics,
            skeletons: FxHashMap::default(),
            steps: Some(MAX_STEPS),
            again,
        };
        Queue { waiting: Mutex::default(), front: Mutex::new(front) }
    }

    /// Puts the unit at `index`, and hands over what is next in order unless another thread does.
    pub(super) fn put(&self, index: usize, unit: Option<Done<'f>>) {
        lock(&self.waiting).insert(index, unit);
        if let Ok(mut front) = self.front.try_lock() {
            self.drain(&mut front);
        }
    }

    /// Hands over the rest; returns what all units counted.
    pub(super) fn finish(self) -> Diagnostics {
        self.drain(&mut lock(&self.front));
        self.front.into_inner().unwrap_or_else(PoisonError::into_inner).diagnostics
    }

    fn drain(&self, front: &mut Front<'t, 'f>) {
        loop {
            let unit = lock(&self.waiting).remove(&front.next);
            let Some(unit) = unit else { break };
            if let Some(done) = unit.and_then(|done| front.afford(done)) {
                front.hand_over(done);
            }
            front.next += 1;
        }
    }
}

impl<'f> Front<'_, 'f> {
    /// The unit, or what its skeleton alone says where all before it took the steps: which units that are does not depend
    /// on when threads were told.
    fn afford(&mut self, done: Done<'f>) -> Option<Done<'f>> {
        let had = done.dwo_id.is_some_and(|id| self.skeletons.contains_key(&id));
        let steps = done.steps.find.saturating_add(if had { done.steps.unit } else { 0 });
        if steps == 0 {
            return Some(done);
        }
        self.steps = self.steps.and_then(|left| left.checked_sub(steps));
        if self.steps.is_some() { Some(done) } else { (self.again)(self.next) }
    }

    fn hand_over(&mut self, Done { unit, dwo_id, diagnostics, starts, .. }: Done<'f>) {
        self.diagnostics.merge(diagnostics);
        // All units before this one are read.
        for ((section, start), given_back) in SHARED.into_iter().zip(starts).zip(&mut self.given_back) {
            if start >= given_back.saturating_add(STRIDE) {
                let bytes = self.sections.get(section).get(*given_back..start);
                self.files.release(bytes.unwrap_or_default());
                *given_back = start;
            }
        }
        if let Some(id) = dwo_id
            && let Some(first) = self.skeletons.insert(id, unit.offset)
        {
            self.diagnostics.add(Kind::DuplicateDwoId, unit.offset, || {
                format!("units at .debug_info+{first:#x} and +{:#x} have dwo id {id:#018x}", unit.offset)
            });
        }
        self.taker.take(unit);
    }
}

/// A thread that panicked ends the conversion anyhow.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::split::Steps;
    use super::*;
    use crate::model::Unit;

    fn done(offset: u64, id: u64, steps: Steps) -> Option<Done<'static>> {
        let unit = Unit { offset, ..Unit::default() };
        let (diagnostics, starts) = (Diagnostics::default(), Starts::default());
        Some(Done { unit, dwo_id: Some(id), steps, diagnostics, starts })
    }

    /// What is taken of units that come in this order: id and steps of each.
    fn taken(units: &[(u64, Steps)], order: &[usize]) -> Vec<(u64, bool)> {
        let again = |index: usize| {
            let mut read = done(index as u64, units[index].0, Steps::default())?;
            read.unit.partial = true;
            Some(read)
        };
        let (files, sections, mut taken) = (Files::new(), DebugSections::default(), Vec::<Unit<'_>>::new());
        let queue = Queue::new(&mut taken, &files, &sections, Diagnostics::default(), &again);
        for &index in order {
            let (id, steps) = units[index];
            queue.put(index, done(index as u64, id, steps));
        }
        queue.finish();
        taken.iter().map(|unit| (unit.offset, unit.partial)).collect()
    }

    #[test]
    fn units_past_the_steps_are_read_without_their_files_whatever_comes_first() {
        let half = Steps { find: MAX_STEPS / 2, unit: 0 };
        let one = Steps { find: 1, unit: 0 };
        let units = [(1, half), (2, half), (3, Steps::default()), (4, one), (5, one)];
        let expected = vec![(0, false), (1, false), (2, false), (3, true), (4, true)];
        assert_eq!(taken(&units, &[0, 1, 2, 3, 4]), expected);
        assert_eq!(taken(&units, &[4, 2, 3, 1, 0]), expected);
    }

    #[test]
    fn a_unit_counts_where_another_has_its_id() {
        let whole = Steps { find: 0, unit: MAX_STEPS };
        assert_eq!(taken(&[(1, whole), (2, whole)], &[0, 1]), [(0, false), (1, false)]);
        assert_eq!(
            taken(&[(1, whole), (1, whole), (1, whole)], &[0, 1, 2]),
            [(0, false), (1, false), (2, true)]
        );
    }
}

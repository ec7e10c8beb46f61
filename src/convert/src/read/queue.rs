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
    /// By dwo id: the offset of the first unit with it.
    skeletons: FxHashMap<u64, u64>,
}

impl<'t, 'f> Queue<'t, 'f> {
    pub(super) fn new(
        taker: &'t mut dyn Take<'f>,
        files: &'f Files,
        sections: &'t DebugSections<'f>,
        diagnostics: Diagnostics,
    ) -> Self {
        let front = Front {
            next: 0,
            taker,
            files,
            sections,
            given_back: Starts::default(),
            diagnostics,
            skeletons: FxHashMap::default(),
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
            front.next += 1;
            if let Some(done) = unit {
                front.hand_over(done);
            }
        }
    }
}

impl<'f> Front<'_, 'f> {
    fn hand_over(&mut self, Done { unit, dwo_id, diagnostics, starts }: Done<'f>) {
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

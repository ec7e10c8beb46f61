//! Collects the functions whose tail calls were not followed to their end, which several tasks may find, and reports each once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{FuncId, ImageAddr};

/// The functions whose tail calls were not followed to their end, by the limit. In most programs there are none.
#[derive(Default)]
pub(crate) struct UnfollowedTailCalls {
    // Sorted: threads add functions in any order, and the report must name the same first function on every run.
    by_functions: Mutex<BTreeSet<FuncId>>,
    by_steps: Mutex<BTreeSet<FuncId>>,
}

impl UnfollowedTailCalls {
    /// Adds a function that reaches too many.
    pub(crate) fn add_by_functions(&self, function: FuncId) {
        // A lock is poisoned only if a task panicked, and rayon passes that panic on.
        self.by_functions.lock().unwrap_or_else(PoisonError::into_inner).insert(function);
    }

    /// Adds a function whose steps were used up.
    pub(crate) fn add_by_steps(&self, function: FuncId) {
        self.by_steps.lock().unwrap_or_else(PoisonError::into_inner).insert(function);
    }

    /// Reports them. `starts`: the addresses of functions; `most`: the most functions that one may reach, and its steps.
    pub(crate) fn report(self, starts: &[ImageAddr], most: (usize, u64), diagnostics: &mut Diagnostics) {
        let (most_functions, most_steps) = most;
        for function in self.by_functions.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let start = starts[function.index()];
            diagnostics.add(Kind::Cap(Cap::TailFunctions), start.0, || {
                format!(
                    "tail calls of the function at {start:#x} reach over {most_functions} functions: a call of it rules out no function \
                     of a group"
                )
            });
        }
        for function in self.by_steps.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let start = starts[function.index()];
            diagnostics.add(Kind::Cap(Cap::TailSteps), start.0, || {
                format!(
                    "over {most_steps} steps to follow the tail calls of the function at {start:#x}: a call of it rules out no function \
                     of a group"
                )
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_is_reported_once_under_its_limit() {
        let unfollowed = UnfollowedTailCalls::default();
        [2, 1, 2].map(FuncId).into_iter().for_each(|function| unfollowed.add_by_functions(function));
        unfollowed.add_by_steps(FuncId(0));
        let mut found = Diagnostics::default();
        unfollowed.report(&[0x10, 0x20, 0x30].map(ImageAddr), (64, 1 << 14), &mut found);
        let found: Vec<_> = found.caps().map(|(cap, seen)| (cap, seen.count, seen.first)).collect();
        assert_eq!(found, [(Cap::TailFunctions, 2, 0x20), (Cap::TailSteps, 1, 0x10)]);
    }
}

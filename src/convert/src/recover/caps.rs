//! Counts how often the search for erased functions reached a limit, and for which names and sizes.

use std::cell::RefCell;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{NameId, UnitId};
use crate::recover::limits::{MAX_DEFINITIONS, MAX_SEARCH_STEPS, MAX_TOGETHER};
use crate::util::budget::Budget;
use crate::util::hash::HashSet;

/// The limits that were reached. The search visits some functions several times, so all but the first are sets.
pub(crate) struct Caps {
    /// How many symbols have a name that over [`MAX_TOGETHER`] erased functions have.
    of_name: RefCell<u64>,
    functions: RefCell<HashSet<(UnitId, u64)>>,
    sequences: RefCell<HashSet<(UnitId, u64)>>,
    /// Names with too many definitions, of which some function counts as a copy for this reason alone.
    definitions: RefCell<HashSet<NameId>>,
    pub(crate) steps: Budget,
}

impl Caps {
    pub(crate) fn new() -> Caps {
        Caps {
            of_name: RefCell::default(),
            functions: RefCell::default(),
            sequences: RefCell::default(),
            definitions: RefCell::default(),
            steps: Budget::new(MAX_SEARCH_STEPS),
        }
    }

    /// Counts a symbol if too many erased functions have its name. `functions`: how many have it.
    pub(crate) fn of_name(&self, functions: usize) {
        *self.of_name.borrow_mut() += u64::from(functions > MAX_TOGETHER);
    }

    /// Cuts the functions and the sequences of one size in a unit.
    pub(crate) fn of_size<F, S>(&self, size: (UnitId, u64), functions: &mut Vec<F>, sequences: &mut Vec<S>) {
        // The first ones stay, in the order of the unit's lists: the same ones on every run.
        if functions.len() > MAX_TOGETHER {
            self.functions.borrow_mut().insert(size);
            functions.truncate(MAX_TOGETHER);
        }
        if sequences.len() > MAX_TOGETHER {
            self.sequences.borrow_mut().insert(size);
            sequences.truncate(MAX_TOGETHER);
        }
    }

    /// A function counts as a copy because its name has too many definitions.
    pub(crate) fn of_definitions(&self, name: NameId) {
        self.definitions.borrow_mut().insert(name);
    }

    pub(crate) fn report(&self, diagnostics: &mut Diagnostics) {
        let mut add = |cap, count: u64, what: &dyn Fn() -> String| {
            for _ in 0..count {
                diagnostics.add(Kind::Cap(cap), 0, what);
            }
        };
        add(Cap::FoldedOfName, *self.of_name.borrow(), &|| {
            format!("over {MAX_TOGETHER} folded functions of one name: not all were found")
        });
        add(Cap::FoldedOfSize, self.functions.borrow().len() as u64, &|| {
            format!("over {MAX_TOGETHER} folded functions of one unit and size: not all were found")
        });
        add(Cap::SequencesOfSize, self.sequences.borrow().len() as u64, &|| {
            format!(
                "over {MAX_TOGETHER} line sequences of one unit and size that no function has: not all folded functions were found"
            )
        });
        add(Cap::FoldedDefinitions, self.definitions.borrow().len() as u64, &|| {
            format!(
                "{MAX_DEFINITIONS} or more definitions of one name: erased functions of that name count as discarded copies"
            )
        });
        add(Cap::FoldedSearch, u64::from(self.steps.is_short()), &|| {
            format!("over {MAX_SEARCH_STEPS} steps to find folded functions: not all were compared")
        });
    }
}

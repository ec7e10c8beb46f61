//! Collects the keys of calls, and decides which calls need one.

use std::cell::{OnceCell, RefCell};

use crate::keys::callee::CalleeSource;
use crate::keys::index::Index;
use crate::keys::limits::MAX_MATCHING_STEPS;
use crate::keys::tail_calls::{JumpsOf, Reach};
use crate::model::{CallCounts, CallHow, CallKey, FuncId, ImageAddr, UnitCall};
use crate::util::budget::Budget;
use crate::util::hash::HashMap;

/// The keys found so far, and caches for finding more.
pub(crate) struct CallKeyBuilder<'i, 'p, 'f> {
    pub(crate) index: &'i Index<'p, 'f>,
    pub(crate) calls: Vec<CallKey>,
    /// By function that may lead into a group and is no member of any: what it reaches by tail calls.
    pub(crate) tails: HashMap<FuncId, Reach>,
    /// By function: whether it is a member of a group or may reach one by tail calls.
    pub(crate) may_lead_into_group: &'i [bool],
    /// The entries of all functions, sorted, each once; made at first use.
    pub(crate) starts: OnceCell<Vec<ImageAddr>>,
    pub(crate) jumps: JumpsOf,
    pub(crate) counts: CallCounts,
    /// By start of a piece: how many of its direct calls go to each address; `None` if its code cannot be read. A
    /// cache.
    pub(crate) in_code: RefCell<HashMap<ImageAddr, Option<HashMap<ImageAddr, usize>>>>,
    pub(crate) steps: Budget,
}

impl<'i, 'p, 'f> CallKeyBuilder<'i, 'p, 'f> {
    /// A builder without keys.
    pub(crate) fn new(index: &'i Index<'p, 'f>, may_lead_into_group: &'i [bool]) -> Self {
        CallKeyBuilder {
            index,
            calls: Vec::new(),
            tails: index.reach_of_callees(may_lead_into_group),
            may_lead_into_group,
            starts: OnceCell::new(),
            jumps: JumpsOf::default(),
            counts: CallCounts::default(),
            in_code: RefCell::default(),
            steps: Budget::new(MAX_MATCHING_STEPS),
        }
    }

    /// True if a call of the function bears on a frame in folded code.
    fn affects_folded_frame(&mut self, callee: FuncId) -> bool {
        let index = self.index;
        // The cheap checks first: `reach` reads machine code.
        if index.functions.group(callee).is_some() {
            return true;
        }
        if !self.may_lead_into_group[callee.index()] {
            return false;
        }
        let reach = self.tails.entry(callee).or_insert_with(|| index.reach(&mut self.jumps, callee));
        !reach.members.is_empty()
    }

    /// Counts a call of the function; true if it needs a key. It needs none if a linker sent the call to other code
    /// (`--wrap`).
    pub(crate) fn needs_key(&mut self, return_addr: ImageAddr, callee: FuncId, how: Option<CallHow>) -> bool {
        let grouped = u64::from(self.index.functions.group(callee).is_some());
        let start = self.index.functions.starts[callee.index()];
        let needed = how.is_some()
            && self.affects_folded_frame(callee)
            && (!self.index.functions.machine.calls_other_code(return_addr, start)
                // With `--icf=safe_thunks` lld sends the call to the jump that it left for the folded callee.
                || self.index.calls_made(return_addr, callee));
        self.counts.into_groups += grouped;
        self.counts.keyed += if needed { grouped } else { 0 };
        needed
    }

    /// Adds the key of a call that the compiler recorded, if the call needs one.
    pub(crate) fn add_recorded(
        &mut self,
        unit: usize,
        return_addr: ImageAddr,
        caller: Option<FuncId>,
        (callee, source): (FuncId, CalleeSource),
    ) {
        let how = self.index.how(Some(unit), callee, source);
        if self.needs_key(return_addr, callee, how) {
            self.calls.extend(how.map(|how| CallKey { return_addr, caller, callee, how }));
        }
    }

    /// True for a call of a member of a group.
    pub(crate) fn grouped(&self, unit: usize, call: &UnitCall) -> bool {
        let callee = match call.return_addr() {
            Some(return_addr) => self.index.callee_at(unit, call.callee(), return_addr),
            None => self.index.callee(unit, call.callee()),
        };
        callee.function().is_some_and(|(callee, _)| self.index.functions.group(callee).is_some())
    }
}

//! Matches the calls of a folded function, whose addresses are erased, to the survivor's calls.

use crate::keys::callee::Callee;
use crate::keys::calls::call_keys::CallKeys;
use crate::keys::calls::subsequence::embed;
use crate::keys::index::Index;
use crate::model::{FuncId, ImageAddr, NameId};
use crate::util::hash::HashMap;

/// The target of a call. Several functions may have one address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum CallTarget {
    At(u64),
    Elsewhere(NameId),
    Indirect,
}

/// The calls to one target: the survivor's, a folded function's, and the callee of the latter.
#[derive(Default)]
struct CallsOfTarget {
    remaining: usize,
    erased: usize,
    /// `None` if they have several callees.
    callee: Option<Callee>,
}

impl Index<'_, '_> {
    /// The target of calls of a callee, for comparing calls; `None` if the callee is not known.
    fn target(&self, callee: Callee) -> Option<CallTarget> {
        match callee {
            Callee::Function(function) => Some(CallTarget::At(self.starts[function.index()])),
            Callee::Elsewhere(name) => Some(CallTarget::Elsewhere(name)),
            Callee::Indirect => Some(CallTarget::Indirect),
            Callee::Unknown => None,
        }
    }
}

impl CallKeys<'_, '_, '_> {
    /// How many direct calls in a range of code go to the callee; `None` if the code does not show it.
    fn calls_in_code(&self, (start, end): (u64, u64), callee: Callee) -> Option<usize> {
        let Callee::Function(callee) = callee else { return Some(0) };
        let mut in_code = self.in_code.borrow_mut();
        let starts = self.starts.get_or_init(|| self.index.starts.iter().copied().collect());
        let targets = in_code
            .entry(start)
            .or_insert_with(|| self.index.machine.calls(start, end, |target| starts.contains(&target)));
        Some(targets.as_ref()?.get(&self.index.starts[callee.index()]).copied().unwrap_or(0))
    }

    /// Matches the calls of a folded function to the survivor's `remaining` calls. Returns each matched return
    /// address with the folded function's callee.
    pub(crate) fn paired(
        &self,
        remaining: &[(ImageAddr, Callee)],
        function: FuncId,
    ) -> Vec<(ImageAddr, Callee)> {
        let Some((unit, _, listed)) = self.index.calls(function) else { return Vec::new() };
        let erased: Vec<Callee> = listed
            .iter()
            .filter(|call| !call.tail && call.return_addr.is_none())
            .map(|call| self.index.callee(unit, call.callee))
            .collect();
        if !self.steps.spend(listed.len() + remaining.len()) {
            return Vec::new();
        }
        let same = |a: Callee, b: Callee| {
            let a = self.index.target(a);
            a.is_some() && a == self.index.target(b)
        };
        let mut by_target: HashMap<CallTarget, CallsOfTarget> = HashMap::default();
        for target in remaining.iter().filter_map(|call| self.index.target(call.1)) {
            by_target.entry(target).or_default().remaining += 1;
        }
        for &callee in &erased {
            let Some(target) = self.index.target(callee) else { continue };
            let same = by_target.entry(target).or_default();
            same.callee = Some(callee).filter(|_| same.erased == 0 || same.callee == Some(callee));
            same.erased += 1;
        }
        let of_target = |callee: Callee| self.index.target(callee).and_then(|target| by_target.get(&target));
        let any_unknown = erased.iter().any(|callee| matches!(callee, Callee::Indirect | Callee::Unknown));
        let after = self.index.program.pieces.partition_point(|piece| piece.start.0 < remaining[0].0.0);
        let Some(piece) = after.checked_sub(1).and_then(|at| self.index.program.pieces.get(at)) else {
            return Vec::new();
        };
        let here = (piece.start.0, piece.start.0 + u64::from(piece.body));
        let own = self.index.ranges_of(function);
        let in_parts = own.len() > 1 || self.twice.is_missing(function);
        // If the function has several parts, the calls must be in this one.
        let in_others = |callee: Callee| {
            self.twice.is_missing(function)
                || own.iter().any(|&range| {
                    range != here && (!self.steps.spend(1) || self.calls_in_code(range, callee) != Some(0))
                })
        };
        // If the compiler recorded some call without a callee, that call may be one of these.
        let complete = |(address, other): (ImageAddr, Callee), callee: Callee| {
            let counts = of_target(callee).map_or([0; 2], |same| [same.remaining, same.erased]);
            match (self.calls_in_code(here, callee), self.index.program.heads[unit].keeps_callees) {
                (None | Some(0), _) if in_parts => false,
                (Some(calls), _) if in_parts => counts == [calls; 2] && !in_others(callee),
                // A stub belongs to the callee; a thunk belongs to an address.
                (Some(0), _) if self.index.machine.calls_stub(address.0) => other == callee,
                (Some(calls), _) if calls > 0 => {
                    let straight = self.index.machine.call_before(address.0);
                    counts == [calls; 2] && straight.map(CallTarget::At) == self.index.target(callee)
                }
                // The call goes through a register: another call may look the same.
                (_, true) => counts[0] == counts[1] && !any_unknown,
                // The compiler may have omitted a call, and no code shows it.
                (_, false) => false,
            }
        };
        let ordered = remaining.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if ordered && !self.index.program.heads[unit].keeps_callees {
            return embed(remaining.len(), erased.len(), |at, call| same(remaining[at].1, erased[call]))
                .into_iter()
                .filter(|&(at, call)| complete(remaining[at], erased[call]))
                .map(|(at, call)| (remaining[at].0, erased[call]))
                .collect();
        }
        // gcc lists calls in any order: all calls to one address must have one callee.
        let at_address = |call: (ImageAddr, Callee)| {
            let callee = of_target(call.1)?.callee.filter(|&callee| complete(call, callee))?;
            Some((call.0, callee))
        };
        remaining.iter().filter_map(|&call| at_address(call)).collect()
    }
}

//! Matches the calls of a folded function, whose addresses are erased, to the survivor's calls.
//!
//! If calls go through a register (`-mcmodel=large`), the code does not show their callees. Then only calls that gcc recorded are matched,
//! and only if it recorded the callees of all calls of the function.

use crate::keys::callee::Callee;
use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::keys::calls::subsequence::embed;
use crate::keys::index::Index;
use crate::model::{AddressRange, FuncId, ImageAddr, NameId};
use crate::util::hash::HashMap;

/// The target of a call. Several functions may have one address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum CallTarget {
    At(ImageAddr),
    OtherModule(NameId),
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

/// The calls of a folded function and of the survivor, for judging pairs of them.
struct CallLists {
    by_target: HashMap<CallTarget, CallsOfTarget>,
    /// The compiler recorded some call of the folded function without a callee.
    any_unknown: bool,
    /// The range of the survivor's code with the calls.
    here: AddressRange,
    /// The folded function has, or may have, several parts.
    in_parts: bool,
    /// The folded function.
    function: FuncId,
    /// Its unit's compiler always records the callee of the source (gcc).
    keeps_callees: bool,
}

impl Index<'_, '_> {
    /// The target of calls of a callee, for comparing calls; `None` if the callee is not known.
    fn target(&self, callee: Callee) -> Option<CallTarget> {
        match callee {
            Callee::Function(function) | Callee::ByName(function) => {
                Some(CallTarget::At(self.functions.starts[function.index()]))
            }
            Callee::OtherModule(name) => Some(CallTarget::OtherModule(name)),
            Callee::Indirect => Some(CallTarget::Indirect),
            Callee::Plain(_) | Callee::Unknown => None,
        }
    }
}

impl CallKeyBuilder<'_, '_, '_> {
    /// How many direct calls in a range of code go to the callee; `None` if the code does not show it.
    fn calls_in_code(&self, code: AddressRange, callee: Callee) -> Option<usize> {
        let Some((callee, _)) = callee.function() else { return Some(0) };
        let mut in_code = self.in_code.borrow_mut();
        let starts = self.starts.get_or_init(|| self.index.functions.distinct_starts());
        let targets = in_code.entry(code.start).or_insert_with(|| {
            self.index.functions.machine.calls(code, |target| starts.binary_search(&target).is_ok())
        });
        Some(targets.as_ref()?.get(&self.index.functions.starts[callee.index()]).copied().unwrap_or(0))
    }

    /// Matches the calls of a folded function to the survivor's `remaining` calls. Returns each matched return
    /// address with the folded function's callee.
    pub(crate) fn paired(
        &self,
        remaining: &[(ImageAddr, Callee)],
        function: FuncId,
    ) -> Vec<(ImageAddr, Callee)> {
        let Some((unit, _, listed)) = self.index.functions.calls(function) else { return Vec::new() };
        let erased: Vec<Callee> = listed
            .iter()
            .filter(|call| !call.is_tail() && call.return_addr().is_none())
            .map(|call| self.callee_among(unit, call.callee(), remaining))
            .collect();
        if !self.steps.spend(listed.len() + remaining.len()) {
            return Vec::new();
        }
        // `of_groups` passes a list that is not empty, with calls in one group. A group has one piece, so the first call shows
        // it.
        let after = self.index.functions.program.pieces.partition_point(|piece| piece.start < remaining[0].0);
        let Some(piece) = after.checked_sub(1).and_then(|at| self.index.functions.program.pieces.get(at))
        else {
            return Vec::new();
        };
        let own = self.index.functions.ranges_of(function);
        let lists = CallLists {
            by_target: self.by_target(remaining, &erased),
            any_unknown: erased
                .iter()
                .any(|callee| matches!(callee, Callee::Plain(_) | Callee::Indirect | Callee::Unknown)),
            here: piece.code(),
            in_parts: own.len() > 1 || self.index.ambiguous_parts.is_missing(function),
            function,
            keeps_callees: self.index.functions.program.heads[unit].keeps_callees,
        };
        // An alignment needs lists in the order of the code. gcc's DIEs are in another order, and the survivor's addresses show
        // whether its own are.
        let ordered = remaining.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if ordered && !lists.keeps_callees {
            let same = |a: Callee, b: Callee| {
                let a = self.index.target(a);
                a.is_some() && a == self.index.target(b)
            };
            return embed(remaining.len(), erased.len(), |at, call| same(remaining[at].1, erased[call]))
                .into_iter()
                .filter(|of| {
                    self.is_complete(&lists, remaining[of.left].0, remaining[of.left].1, erased[of.right])
                })
                .map(|of| (remaining[of.left].0, erased[of.right]))
                .collect();
        }
        // gcc lists calls in any order: all calls to one address must have one callee.
        let at_address = |call: (ImageAddr, Callee)| {
            let of_target = lists.by_target.get(&self.index.target(call.1)?)?;
            let callee =
                of_target.callee.filter(|&callee| self.is_complete(&lists, call.0, call.1, callee))?;
            Some((call.0, callee))
        };
        remaining.iter().filter_map(|&call| at_address(call)).collect()
    }

    /// Counts the survivor's calls and the folded function's calls by their target.
    fn by_target(
        &self,
        remaining: &[(ImageAddr, Callee)],
        erased: &[Callee],
    ) -> HashMap<CallTarget, CallsOfTarget> {
        let mut by_target: HashMap<CallTarget, CallsOfTarget> = HashMap::default();
        for target in remaining.iter().filter_map(|call| self.index.target(call.1)) {
            by_target.entry(target).or_default().remaining += 1;
        }
        for &callee in erased {
            let Some(target) = self.index.target(callee) else { continue };
            let same = by_target.entry(target).or_default();
            // `None` once two callees differ, and from then on.
            same.callee = Some(callee).filter(|_| same.erased == 0 || same.callee == Some(callee));
            same.erased += 1;
        }
        by_target
    }

    /// True if other ranges of the function may call the callee: of a function with several parts, the calls must be in this one.
    fn may_be_in_others(&self, lists: &CallLists, callee: Callee) -> bool {
        self.index.ambiguous_parts.is_missing(lists.function)
            || self.index.functions.ranges_of(lists.function).iter().any(|range| {
                range != lists.here && (!self.steps.spend(1) || self.calls_in_code(range, callee) != Some(0))
            })
    }

    /// True if the survivor's call and the folded function's call of `callee` may be a pair: both lists have all calls to that
    /// target. If the compiler recorded some call without a callee, that call may be one of these.
    fn is_complete(&self, lists: &CallLists, address: ImageAddr, other: Callee, callee: Callee) -> bool {
        let of_target = self.index.target(callee).and_then(|target| lists.by_target.get(&target));
        let counts = of_target.map_or([0; 2], |same| [same.remaining, same.erased]);
        match (self.calls_in_code(lists.here, callee), lists.keeps_callees) {
            // The call may be in another part of the function.
            (None | Some(0), _) if lists.in_parts => false,
            (Some(calls), _) if lists.in_parts => {
                counts == [calls; 2] && !self.may_be_in_others(lists, callee)
            }
            // A stub belongs to the callee; a thunk belongs to an address.
            (Some(0), _) if self.index.functions.machine.calls_stub(address) => other == callee,
            // The code has as many direct calls as each list, so neither list lacks one.
            (Some(calls), _) if calls > 0 => {
                let straight = self.index.functions.machine.call_before(address);
                counts == [calls; 2] && straight.map(CallTarget::At) == self.index.target(callee)
            }
            // The call goes through a register: another call may look the same.
            (_, true) => counts[0] == counts[1] && !lists.any_unknown,
            // The compiler may have omitted a call, and no code shows it.
            (_, false) => false,
        }
    }
}

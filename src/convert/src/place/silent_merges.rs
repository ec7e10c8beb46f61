//! Says which functions of clang's units may stand for another one that clang merged with them without a trace.
//!
//! Asked with `-Xclang -fmerge-functions`, clang keeps one of two functions whose code in LLVM's language is the same. If the
//! other is local, or its address tells nothing, it goes with its entry, its symbol and its lines, and its calls are recorded
//! as calls of the one that is kept. Nothing in the debug information says so. Two things tell all the same:
//!
//! - A program in which clang left two functions of one unit with the same code was compiled without that option. (A program
//!   is mostly compiled with the same options throughout. Code that is the same may come from functions that LLVM keeps apart,
//!   as their types differ; the shortest code, which does so most, does not count.) A linker that folds shows such a pair as a
//!   group with two described functions of one unit.
//! - LLVM removes a function only if all that used it can use the other one in its place. Of C that is a local function that is
//!   only called, so that the unit calls the one that is kept. What no call of its unit names stands for itself alone,
//!   where each function of the unit promises to list all its calls. (Of C++ a table of virtual functions may have named what
//!   was removed.)
//!
//! Units of which jumps show that they merge are known from [`crate::place::thunks`]: where one is, no pair is looked for.

use std::cell::OnceCell;

use crate::model::{Function, How, LocalOrigin, NameId, Reason, UnitHead, UnitId};
use crate::place::candidate::{Candidate, Candidates};
use crate::place::placing::Placing;
use crate::program::machine::Machine;
use crate::program::names::itanium::is_mangled;
use crate::util::hash::{HashSet, hash_of};

/// Bytes that the code of two functions needs at least to show that nobody merged them: LLVM makes no jump out of a function
/// that only returns a number, whose code is shorter than this.
const MIN_PAIR: u64 = 16;

pub(crate) struct SilentMerges<'a, 'f> {
    placing: &'a Placing<'a, 'f>,
    /// What holds for functions that may stand for others: `None` where nobody was asked to merge.
    of_program: Option<Reason>,
    /// A unit of the program shows that its compiler merged functions.
    shown: bool,
    /// By unit: the names that its calls give; `None` where not all calls are known.
    called: Vec<OnceCell<Option<HashSet<NameId>>>>,
}

impl<'a, 'f> SilentMerges<'a, 'f> {
    pub(crate) fn new(
        placing: &'a Placing<'a, 'f>,
        machine: &Machine<'_, 'f>,
        relocatable: bool,
        candidates: &Candidates,
    ) -> SilentMerges<'a, 'f> {
        let units = &placing.recovered.units.heads;
        let shown = candidates.merging.iter().any(|unit| units[unit.index()].may_merge());
        let of_program = match shown {
            true => Some(Reason::MergedWithoutTrace),
            false if !units.iter().any(is_unsaid) => None,
            false => unless_apart(placing, machine, relocatable, candidates),
        };
        SilentMerges { placing, of_program, shown, called: vec![OnceCell::new(); units.len()] }
    }

    /// Why a function may not be the only one of its unit that has its code.
    pub(crate) fn reason(&self, unit: UnitId, function: &Function) -> Option<Reason> {
        let of = &self.placing.recovered.units.heads[unit.index()];
        let asked = if self.shown { of.may_merge() } else { is_unsaid(of) };
        self.of_program.filter(|_| asked && self.may_stand_for_another(unit, function))
    }

    fn may_stand_for_another(&self, unit: UnitId, function: &Function) -> bool {
        let known = &self.placing.names;
        let names = [known.of_function(function), known.of_origin(function.origin)];
        let called = self.called[unit.index()].get_or_init(|| called(self.placing, unit));
        called.as_ref().is_none_or(|called| names.iter().any(|name| called.contains(name)))
    }
}

/// True for a unit whose compiler may have been asked to merge, and does not say.
fn is_unsaid(unit: &UnitHead<'_>) -> bool {
    unit.may_merge_unsaid && !unit.assembly && unit.rewrites.is_none()
}

/// The names that a unit's calls give; `None` where one may be missing, or where what is removed need not be called.
fn called(placing: &Placing<'_, '_>, unit: UnitId) -> Option<HashSet<NameId>> {
    let (names, unit) = (&placing.names, placing.recovered.unit(unit.index()));
    let name = |origin: LocalOrigin| names.of_origin(unit.origin_of(origin));
    let (functions, erased) = (&unit.code.functions, &unit.records.erased);
    let calls = functions.iter().map(|function| (&function.calls, function.origin));
    let calls = calls.chain(erased.iter().map(|erased| (&erased.calls, erased.origin)));
    for (calls, origin) in calls {
        if !calls.all_calls || is_mangled(names.text(name(origin))) {
            return None;
        }
    }
    let is_bare = functions.is_empty() || !unit.traces.bare.is_empty() || unit.head.partial;
    (!is_bare).then(|| unit.records.callees.iter().map(|callee| name(callee.origin)).collect())
}

/// What holds for functions that may stand for others, as no unit shows that it merged any: nothing, if two functions of a unit
/// have the same code.
fn unless_apart(
    placing: &Placing<'_, '_>,
    machine: &Machine<'_, '_>,
    relocatable: bool,
    candidates: &Candidates,
) -> Option<Reason> {
    let units = &placing.recovered.units.heads;
    let unit_of = |candidate: &Candidate, at: usize| {
        let source = candidates.functions[candidate.members[at].function.index()].source?;
        Some(source.unit).filter(|unit| is_unsaid(&units[unit.index()]))
    };
    let long = || candidates.dies.iter().filter(|candidate| candidate.end - candidate.start >= MIN_PAIR);
    let has_pair = |candidate: &Candidate| {
        let mut seen: HashSet<UnitId> = HashSet::default();
        (0..candidate.members.len()).filter_map(|at| unit_of(candidate, at)).any(|unit| !seen.insert(unit))
    };
    if long().any(|candidate| candidate.members.len() > 1 && has_pair(candidate)) {
        return None;
    }
    // In an object file two functions may have the same bytes and differ in what the linker puts into them.
    let mut seen: HashSet<(UnitId, u64)> = HashSet::default();
    for candidate in long().filter(|candidate| candidate.members.len() == 1 && !relocatable) {
        let is_live = candidate.members[0].how == How::LiveRange;
        let Some(unit) = unit_of(candidate, 0).filter(|_| is_live) else { continue };
        let Some(bytes) = machine.bytes(candidate.start, candidate.end) else { continue };
        if !seen.insert((unit, hash_of(bytes))) {
            return None;
        }
    }
    let has_code = candidates.dies.iter().any(|code| machine.bytes(code.start, code.end).is_some());
    Some(if has_code { Reason::MergedWithoutTrace } else { Reason::NoCode })
}

//! Calls of which the compiler may have recorded another callee than the source names: it merged the two, and rewrote the
//! call.
//!
//! LLVM's MergeFunctions removes a function that nobody else can call, and leaves a jump of another. clang runs it where it
//! is asked to, which shows in such jumps; rustc runs it always. gcc (`-fipa-icf`) leaves a jump where both functions have
//! their addresses taken, and removes one where it knows the whole program (`-flto`); else it says who was called.

use crate::keys::index::Index;
use crate::keys::rewritten::Within;
use crate::model::{CallHow, FuncId, UnitId};
use crate::program::names::toolchain::is_rust;

/// What names the callee of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CalleeSource {
    /// What the compiler recorded.
    Record,
    /// A relocation: what gcc keeps of whom it replaced is in what it describes, not in its code.
    Relocation,
}

impl Index<'_, '_> {
    /// True where functions of the group may stand for others that the compiler merged with them: a mangled name is
    /// there that no DIE has. (Compilers of C that rewrite calls are not known.)
    fn is_among_undescribed(&self, function: FuncId) -> bool {
        self.group(function).is_some_and(|group| self.undescribed[group.index()].mangled)
    }

    /// True where gcc made another function of the group jump to this one: its calls are calls of this one.
    fn is_jumped_to_within(&self, unit: usize, function: FuncId) -> bool {
        self.rewritten.jumping.contains(&UnitId(unit as u32))
            && self.group(function).is_some_and(|group| self.undescribed[group.index()].any)
    }

    /// True where a jump leads to the function that is all that is left of another.
    fn is_jumped_to(&self, function: FuncId) -> bool {
        self.passing.leads_to(self.starts[function.index()])
    }

    /// How a call of a function in code of a unit is known; `None` for the unit where that is not known. `None` where
    /// the callee may be one of which nothing is left.
    pub(crate) fn how(&self, unit: Option<usize>, callee: FuncId, named: CalleeSource) -> Option<CallHow> {
        let doubt = self.doubt(unit, callee, named);
        match (doubt, named) {
            (Doubt::Lost, _) => None,
            (Doubt::None, CalleeSource::Record) => Some(CallHow::CallSite),
            (Doubt::None, CalleeSource::Relocation) => Some(CallHow::Relocation),
            (Doubt::Named, CalleeSource::Record) => Some(CallHow::Doubtful),
            (Doubt::Named, CalleeSource::Relocation) => Some(CallHow::DoubtfulRelocation),
        }
    }

    /// True where what is recorded of a tail call in a unit may mean another callee.
    pub(crate) fn may_be_other(&self, unit: usize, callee: FuncId) -> bool {
        self.doubt(Some(unit), callee, CalleeSource::Record) == Doubt::Lost
            || self.is_jumped_to_within(unit, callee)
    }

    /// Whether what is recorded of a call may name another function than the source.
    fn doubt(&self, unit: Option<usize>, callee: FuncId, named: CalleeSource) -> Doubt {
        let keeps =
            named == CalleeSource::Record && unit.is_some_and(|unit| self.program.heads[unit].keeps_callees);
        let jumped_to = || unit.is_some_and(|unit| self.is_jumped_to_within(unit, callee));
        if self.is_rewritten(unit, callee) || (!keeps && self.is_jumped_to(callee)) {
            Doubt::Lost
        } else if (!keeps && self.is_among_undescribed(callee)) || jumped_to() {
            Doubt::Named
        } else {
            Doubt::None
        }
    }

    /// True where the compiler of a unit puts functions in the places of others, and the callee may be one of them.
    fn is_rewritten(&self, unit: Option<usize>, callee: FuncId) -> bool {
        let function = &self.program.functions[callee.index()];
        let name = self.program.origins[function.origin.index()].name;
        match unit {
            Some(unit) => self.rewritten.within[unit].is_some_and(|within| {
                // Its unit may be of the same object, and have no debug information.
                let of_object = function.source.is_none() && matches!(within, Within::Units(_));
                self.rewritten.defined.contains(&(within, name))
                    || (of_object && is_rust(&self.program.names[name.index()]))
            }),
            None => match function.source {
                Some(source) => self.program.heads[source.unit.index()].rewrites.is_some(),
                None => is_rust(&self.program.names[name.index()]),
            },
        }
    }
}

/// Whether the recorded callee is the one that the source names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doubt {
    None,
    /// It may be one of those of its group of which a symbol is left.
    Named,
    /// It may be one of which nothing is left.
    Lost,
}

//! Calls whose recorded callee may differ from the source's: the compiler merged the two functions and rewrote the
//! call.
//!
//! LLVM's MergeFunctions removes a function that no other unit can call, and leaves a jump in place of any other.
//! clang runs it only with an option, and then such jumps show it. rustc always runs it. gcc (`-fipa-icf`) leaves a
//! jump if the addresses of both functions are taken, and removes a function if it sees the whole program (`-flto`).
//! Otherwise gcc records the callee that the source names.

use crate::keys::callee::CalleeSource;
use crate::keys::index::Index;
use crate::model::{CallHow, FuncId, UnitId};
use crate::toolchain::functions::is_rust;

impl Index<'_, '_> {
    /// True if the compiler may have merged members of the group with others: the group has a mangled name that no
    /// DIE has. (No compiler of C is known to rewrite calls.)
    fn is_among_undescribed(&self, function: FuncId) -> bool {
        self.functions.group(function).is_some_and(|group| self.undescribed[group.index()].mangled)
    }

    /// True if gcc made another member of the group jump to this function: calls of that member are recorded as calls
    /// of this one.
    fn is_jumped_to_within(&self, unit: usize, function: FuncId) -> bool {
        self.merged_units.jumping.contains(&UnitId::new(unit as u32))
            && self.functions.group(function).is_some_and(|group| self.undescribed[group.index()].any)
    }

    /// True if a jump to the function replaces another, merged function.
    fn is_jumped_to(&self, function: FuncId) -> bool {
        self.passing.leads_to(self.functions.starts[function.index()])
    }

    /// How a callee in code of a unit is known; `unit` is `None` if the unit is not known. Returns `None` if the
    /// source may have named a callee of which the program has no trace.
    pub(crate) fn how(&self, unit: Option<usize>, callee: FuncId, named: CalleeSource) -> Option<CallHow> {
        let doubt = self.doubt(unit, callee, named);
        match (doubt, named) {
            (Doubt::Lost, _) => None,
            // The weakest evidence: further doubt takes nothing from it.
            (_, CalleeSource::NameAlone) => Some(CallHow::NameAlone),
            // The caller's code may be that of a folded function without a trace, which calls another member.
            _ if self.drops_symbols => Some(CallHow::NameAlone),
            (Doubt::None, CalleeSource::Record) => Some(CallHow::CallSite),
            (Doubt::None, CalleeSource::Relocation) => Some(CallHow::Relocation),
            (Doubt::Merged, _) => Some(CallHow::Merged),
            (Doubt::Named, CalleeSource::Record) => Some(CallHow::Doubtful),
            (Doubt::Named, CalleeSource::Relocation) => Some(CallHow::DoubtfulRelocation),
        }
    }

    /// True if a recorded tail call of a unit may mean another callee.
    pub(crate) fn may_be_other(&self, unit: usize, callee: FuncId) -> bool {
        self.doubt(Some(unit), callee, CalleeSource::Record) == Doubt::Lost
            || self.is_jumped_to_within(unit, callee)
    }

    /// Whether a recorded call may name another callee than the source.
    fn doubt(&self, unit: Option<usize>, callee: FuncId, named: CalleeSource) -> Doubt {
        let keeps = named != CalleeSource::Relocation
            && unit.is_some_and(|unit| self.functions.program.heads[unit].keeps_callees);
        let jumped_to = || unit.is_some_and(|unit| self.is_jumped_to_within(unit, callee));
        if self.is_rewritten(unit, callee) || (!keeps && self.is_jumped_to(callee)) {
            Doubt::Lost
        } else if jumped_to() {
            Doubt::Merged
        } else if !keeps && self.is_among_undescribed(callee) {
            Doubt::Named
        } else {
            Doubt::None
        }
    }

    /// True if the compiler of a unit replaces functions by others, and the callee may be a replacement.
    fn is_rewritten(&self, unit: Option<usize>, callee: FuncId) -> bool {
        let function = &self.functions.program.functions[callee.index()];
        let name = self.functions.program.origins[function.origin.index()].name;
        match unit {
            Some(unit) => self.merged_units.within[unit].is_some_and(|within| {
                // The callee's unit may be of the same object and have no debug information.
                let of_object = function.source.is_none() && self.merged_units.are_several(within);
                self.merged_units.defines(within, name) || (of_object && is_rust(self.functions.text(name)))
            }),
            // The caller has no DIE, so nothing shows its compiler. It may be of the same object as the callee.
            None => match function.source {
                Some(source) => self.functions.program.heads[source.unit.index()].rewrites.is_some(),
                None => is_rust(self.functions.text(name)),
            },
        }
    }
}

/// Whether the recorded callee is the one that the source names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doubt {
    None,
    /// The source may have named a member of the callee's group that has only a symbol.
    Named,
    /// The compiler merged functions of the unit, and the source may have named another member of the callee's group.
    Merged,
    /// The source may have named a function of which the program has no trace.
    Lost,
}

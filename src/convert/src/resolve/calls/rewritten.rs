//! Calls of which the compiler may have recorded another callee than the source names: it merged the two, and rewrote the
//! call (LLVM's MergeFunctions).

use rustc_hash::FxHashSet;

use super::super::names::is_mangled;
use super::Index;
use super::reach::Reach;
use crate::model::{FuncId, Group, How, NameId, Program, UnitId};

/// What is known of units whose compiler did so.
pub(super) struct Rewritten {
    /// Names of functions of those units, also where another unit has the copy that is left.
    defined: FxHashSet<(UnitId, NameId)>,
    /// Functions of groups in which something else than a symbol tells of each.
    told: FxHashSet<FuncId>,
}

impl Rewritten {
    pub(super) fn new(program: &Program<'_>, units: &[UnitId]) -> Self {
        let mut defined = FxHashSet::default();
        for &unit in units {
            let map = &program.maps[unit.index()];
            let data = &program.units[unit.index()];
            let functions = data.functions.iter().map(|function| function.origin);
            for origin in functions.chain(data.erased.iter().map(|erased| erased.origin)) {
                defined.insert((unit, program.origins[map.origins[origin.index()].index()].name));
            }
        }
        let told = program.groups.iter().map(|group| &group.members);
        let told = told.filter(|members| members.iter().all(|member| member.how != How::SymbolOnly));
        let told = told.flatten().map(|member| member.function).collect();
        Rewritten { defined, told }
    }
}

impl Index<'_, '_> {
    /// True where functions of the group may stand for others that the compiler merged with them: a mangled name is
    /// there that no DIE has. (Compilers of C that rewrite calls are not known.)
    pub(super) fn merged_by_compiler(&self, function: FuncId) -> bool {
        let undescribed = self.group.get(&function).is_some_and(|group| self.undescribed[group.index()]);
        undescribed || self.thunks.contains(&self.starts[function.index()])
    }

    /// True where the compiler of a unit may have put the callee in the place of another function in what it recorded.
    pub(super) fn is_rewritten(&self, unit: usize, callee: FuncId) -> bool {
        if self.program.units[unit].keeps_callees {
            return false;
        }
        let callee_data = &self.program.functions[callee.index()];
        let name = self.program.origins[callee_data.origin.index()].name;
        let within = self.rewritten.defined.contains(&(UnitId(unit as u32), name));
        within || self.merged_by_compiler(callee)
    }

    /// True where a symbol is left of a function that was merged with the callee, in each group that the call may lead
    /// into. Else a reader would rule out those that it does not know.
    pub(super) fn names_others(&self, callee: FuncId, reach: Option<&Reach>) -> bool {
        let reached = reach.map_or(&[][..], |reach| &reach.members);
        self.merged_by_compiler(callee)
            && !reached.iter().chain([&callee]).any(|function| self.rewritten.told.contains(function))
    }
}

/// Whether a group has a function with a mangled name and without a DIE.
pub(super) fn has_undescribed(program: &Program<'_>, group: &Group) -> bool {
    let name = |function: FuncId| {
        &program.names[program.origins[program.functions[function.index()].origin.index()].name.index()]
    };
    group.members.iter().any(|member| member.how == How::SymbolOnly && is_mangled(name(member.function)))
}

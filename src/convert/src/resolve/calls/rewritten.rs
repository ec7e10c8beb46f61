//! Calls of which the compiler may have recorded another callee than the source names: it merged the two, and rewrote the
//! call (LLVM's MergeFunctions).

use rustc_hash::FxHashSet;

use super::super::names::is_mangled;
use super::Index;
use crate::model::{FuncId, Group, How, NameId, Program, UnitId};

/// What is known of units whose compiler did so.
pub(super) struct Rewritten {
    /// Names of functions of those units, also where another unit has the copy that is left.
    defined: FxHashSet<(UnitId, NameId)>,
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
        Rewritten { defined }
    }
}

impl Index<'_, '_> {
    /// True where functions of the group may stand for others that the compiler merged with them: a mangled name is
    /// there that no DIE has. (Compilers of C that rewrite calls are not known.)
    fn is_among_undescribed(&self, function: FuncId) -> bool {
        self.group.get(&function).is_some_and(|group| self.undescribed[group.index()])
    }

    /// True where a jump leads to the function that is all that is left of another.
    fn is_jumped_to(&self, function: FuncId) -> bool {
        self.thunks.contains(&self.starts[function.index()])
    }

    /// What is recorded of calls of a function in code of a unit; `None` for the unit where that is not known.
    pub(super) fn doubt(&self, unit: Option<usize>, callee: FuncId) -> Doubt {
        let keeps = unit.is_some_and(|unit| self.program.units[unit].keeps_callees);
        match (self.is_rewritten(unit, callee), self.is_among_undescribed(callee) && !keeps) {
            (true, _) => Doubt::Lost,
            (false, true) => Doubt::Named,
            (false, false) => Doubt::None,
        }
    }

    /// True where the compiler of a unit put functions in the places of others, and the callee may be one of them.
    pub(super) fn is_rewritten(&self, unit: Option<usize>, callee: FuncId) -> bool {
        let name = self.program.origins[self.program.functions[callee.index()].origin.index()].name;
        let within = |unit: usize| self.rewritten.defined.contains(&(UnitId(unit as u32), name));
        match unit {
            Some(unit) if self.program.units[unit].keeps_callees => false,
            unit => unit.is_some_and(within) || self.is_jumped_to(callee),
        }
    }
}

/// Whether the recorded callee is the one that the source names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doubt {
    None,
    /// It may be one of those of its group of which a symbol is left.
    Named,
    /// It may be one of which nothing is left: LLVM removes what nobody else can call.
    Lost,
}

/// Whether a group has a function with a mangled name and without a DIE.
pub(super) fn has_undescribed(program: &Program<'_>, group: &Group) -> bool {
    let name = |function: FuncId| {
        &program.names[program.origins[program.functions[function.index()].origin.index()].name.index()]
    };
    group.members.iter().any(|member| member.how == How::SymbolOnly && is_mangled(name(member.function)))
}

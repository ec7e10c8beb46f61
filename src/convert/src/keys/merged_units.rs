//! Units whose compiler merged functions and rewrote the calls of them.

use crate::merge::units::Records;
use crate::model::{FuncId, Group, How, NameId, Program, Together, UnitId};
use crate::program::names::itanium::is_mangled;
use crate::util::hash::HashSet;

/// Merged functions, and the units in which calls of them were rewritten.
pub(crate) struct MergedUnits {
    /// Names of functions for which the compiler may have substituted others, even if another unit has the copy that
    /// was kept.
    pub(crate) defined: HashSet<(Within, NameId)>,
    /// By unit: the range of units in which its calls were rewritten.
    pub(crate) within: Vec<Option<Within>>,
    /// gcc's units in which functions jump to others of the same code.
    pub(crate) jumping: HashSet<UnitId>,
}

/// The units in which calls of a merged function are rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Within {
    Unit(UnitId),
    Units(Together),
}

impl MergedUnits {
    /// `merging`: as [`crate::place::Placed::merging`].
    pub(crate) fn new(program: &Program<'_>, records: &Records<'_>, merging: &[UnitId]) -> Self {
        let mut within: Vec<Option<Within>> =
            program.heads.iter().map(|unit| unit.rewrites.map(Within::Units)).collect();
        let mut jumping = HashSet::default();
        for &unit in merging {
            if program.heads[unit.index()].keeps_callees {
                jumping.insert(unit);
            } else {
                within[unit.index()].get_or_insert(Within::Unit(unit));
            }
        }
        let mut defined = HashSet::default();
        for (unit, within) in within.iter().enumerate() {
            let Some(within) = *within else { continue };
            let functions = program.code[unit].functions.iter().map(|function| function.origin);
            for origin in functions.chain(records.units[unit].erased.iter().map(|erased| erased.origin)) {
                defined.insert((within, program.origins[program.origin_of(unit, origin).index()].name));
            }
        }
        MergedUnits { defined, within, jumping }
    }
}

/// Whether a group has members that only a symbol shows.
#[derive(Clone, Copy, Default)]
pub(crate) struct SymbolMembers {
    pub(crate) any: bool,
    /// One of them has a mangled name.
    pub(crate) mangled: bool,
}

impl SymbolMembers {
    pub(crate) fn of(program: &Program<'_>, group: &Group) -> SymbolMembers {
        let name = |function: FuncId| {
            &program.names[program.origins[program.functions[function.index()].origin.index()].name.index()]
        };
        let mut by_symbol = group.members.iter().filter(|member| member.how == How::SymbolOnly).peekable();
        SymbolMembers {
            any: by_symbol.peek().is_some(),
            mangled: by_symbol.any(|member| is_mangled(name(member.function))),
        }
    }
}

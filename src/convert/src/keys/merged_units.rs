//! Units whose compiler merged functions and rewrote the calls of them.

use crate::keys::functions::Functions;
use crate::merge::units::Records;
use crate::model::{FuncId, Group, NameId, Program, Together, UnitId};
use crate::program::names::itanium::is_mangled;
use crate::util::fit::fit;
use crate::util::hash::{HashMap, HashSet};

/// Merged functions, and the units in which calls of them were rewritten.
pub(crate) struct MergedUnits {
    /// Names of functions for which the compiler may have substituted others, even if another unit has the copy that
    /// was kept; sorted.
    defined: Vec<(WithinId, NameId)>,
    /// By unit: the range of units in which its calls were rewritten.
    pub(crate) within: Vec<Option<WithinId>>,
    /// By [`WithinId`].
    ranges: Vec<Within>,
    /// gcc's units in which functions jump to others of the same code.
    pub(crate) jumping: HashSet<UnitId>,
}

/// Index into [`MergedUnits::ranges`]. A large program has millions of names with such an id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WithinId(u32);

/// The units in which calls of a merged function are rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Within {
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
                // A unit of a compiler that rewrites calls (rustc) keeps its wider range: LLVM merges across the units of an
                // object.
                within[unit.index()].get_or_insert(Within::Unit(unit));
            }
        }
        let (mut ranges, mut ids) = (Vec::new(), HashMap::default());
        let mut number = |within: Within| {
            *ids.entry(within).or_insert_with(|| {
                ranges.push(within);
                WithinId(ranges.len() as u32 - 1)
            })
        };
        let within: Vec<Option<WithinId>> =
            within.into_iter().map(|within| within.map(&mut number)).collect();
        let mut defined = Vec::new();
        for (unit, within) in within.iter().enumerate() {
            let Some(within) = *within else { continue };
            let functions = program.code[unit].functions.iter().map(|function| function.origin);
            for origin in functions.chain(records.units[unit].erased.iter().map(|erased| erased.origin)) {
                defined.push((within, program.origins[program.origin_of(unit, origin).index()].name));
            }
        }
        defined.sort_unstable();
        defined.dedup();
        fit(&mut defined);
        MergedUnits { defined, within, ranges, jumping }
    }

    /// True if a unit among these defines a function of this name.
    pub(crate) fn defines(&self, within: WithinId, name: NameId) -> bool {
        self.defined.binary_search(&(within, name)).is_ok()
    }

    /// True if these units are several: an object, or all of the program.
    pub(crate) fn are_several(&self, within: WithinId) -> bool {
        matches!(self.ranges[within.0 as usize], Within::Units(_))
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
    pub(crate) fn of(functions: &Functions<'_, '_>, group: &Group) -> SymbolMembers {
        let program = functions.program;
        let name = |function: FuncId| {
            functions.text(program.origins[program.functions[function.index()].origin.index()].name)
        };
        let mut by_symbol = group.members.iter().filter(|member| member.how.is_undescribed()).peekable();
        SymbolMembers {
            any: by_symbol.peek().is_some(),
            mangled: by_symbol.any(|member| is_mangled(name(member.function))),
        }
    }
}

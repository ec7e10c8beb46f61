//! The callee of each recorded call, and what compilers and linkers put in the places of callees.

use crate::keys::callee::Callee;
use crate::keys::folded_parts::AmbiguousParts;
use crate::keys::functions::Functions;
use crate::keys::merged_units::{MergedUnits, SymbolMembers};
use crate::keys::replaced::Replaced;
use crate::keys::thunks::Passing;
use crate::keys::unfollowed_tail_calls::UnfollowedTailCalls;
use crate::model::{
    CalleePlace, FuncId, ImageAddr, LocalCallee, Member, Origin, Owner, Program, UnitCallee, UnitFunction,
    UnitId,
};
use crate::program::names::itanium::{is_mangled, is_program_wide};

/// The functions of a program, with the callees that its units record. It is built in two stages: callees are looked
/// up among the functions.
pub(crate) struct Index<'p, 'f> {
    pub(crate) functions: Functions<'p, 'f>,
    /// Any caller may hide a folded function that nothing names, so no call rules a member out.
    pub(crate) has_forgotten_callers: bool,
    /// As [`crate::place::Placed::drops_symbols`]: a call makes its recorded callee likely, and proves nothing.
    pub(crate) drops_symbols: bool,
    pub(crate) passing: Passing,
    pub(crate) merged_units: MergedUnits,
    pub(crate) ambiguous_parts: AmbiguousParts,
    /// By unit: the callee of each local callee id.
    pub(crate) callees: Vec<Vec<Callee>>,
    pub(crate) replaced: Replaced,
    /// By group.
    pub(crate) undescribed: Vec<SymbolMembers>,
    pub(crate) unfollowed: UnfollowedTailCalls,
}

impl<'p, 'f> Index<'p, 'f> {
    pub(crate) fn new(mut functions: Functions<'p, 'f>) -> Self {
        let (program, placed, records) = (functions.program, functions.placed, functions.records);
        // Only `Replaced` needs the list, and a large program has a name there for most of its functions.
        let shared = std::mem::take(&mut functions.shared);
        let replaced = Replaced::new(&functions, &shared, records);
        drop(shared);
        let is_mangled = |member: &Member| {
            is_mangled(functions.text(program.name_of(&program.functions[member.function.index()])))
        };
        let has_mangled: Vec<bool> =
            program.groups.iter().map(|group| group.members.iter().any(is_mangled)).collect();
        let of_unit = |unit: usize| callees_of(&functions, &replaced, &has_mangled, unit);
        let callees = (0..program.code.len()).map(of_unit).collect();
        Index {
            has_forgotten_callers: placed.has_forgotten_callers,
            drops_symbols: placed.drops_symbols,
            passing: Passing::new(program, functions.machine),
            merged_units: MergedUnits::new(program, records, &placed.merging),
            ambiguous_parts: AmbiguousParts::new(&functions),
            callees,
            replaced,
            undescribed: program.groups.iter().map(|group| SymbolMembers::of(&functions, group)).collect(),
            functions,
            unfollowed: UnfollowedTailCalls::default(),
        }
    }

    /// True if a function of which the program has no trace may be a method of any class, or may have any code.
    pub(crate) fn may_lack_functions(&self) -> bool {
        self.has_forgotten_callers || self.drops_symbols
    }

    /// True if a call goes to code that a linker put in the place of the callee.
    pub(crate) fn calls_made(&self, return_addr: ImageAddr, callee: FuncId) -> bool {
        let target = self.functions.machine.call_before(return_addr);
        target.and_then(|target| self.passing.made_for(target)) == Some(callee)
    }

    /// The function or the group whose code begins at an address.
    pub(crate) fn owner_at(&self, address: ImageAddr) -> Option<Owner> {
        let pieces = &self.functions.program.pieces;
        let piece = pieces.binary_search_by_key(&address, |piece| piece.start).ok()?;
        Some(pieces[piece].owner)
    }

    /// The callee of a call of a unit.
    pub(crate) fn callee(&self, unit: usize, callee: Option<LocalCallee>) -> Callee {
        callee.map_or(Callee::Indirect, |local| self.callees[unit][local.index()])
    }
}

/// The callees of a unit, by their local ids.
fn callees_of(
    functions: &Functions<'_, '_>,
    replaced: &Replaced,
    has_mangled: &[bool],
    unit_index: usize,
) -> Vec<Callee> {
    let resolve = |(index, callee): (u32, &UnitCallee)| {
        let doubtful =
            functions.placed.doubtful_callees.contains(&(UnitId::new(unit_index as u32), LocalCallee(index)));
        let owner = match callee.place {
            // gcc writes the DIE of the instance that it kept as the callee of calls of the merged instance, too.
            _ if doubtful => None,
            CalleePlace::Here => Some(unit_index),
            CalleePlace::Program => {
                // `DW_FORM_ref_addr` counts from the start of `.debug_info` (DWARF 5 7.5.5): the DIE is in the last unit that
                // begins before it.
                functions.program.heads.partition_point(|u| u.offset <= callee.die.0).checked_sub(1)
            }
            CalleePlace::OtherDebugFile => None,
        };
        if let Some(function) = owner.and_then(|owner| functions.described(owner, callee.die)) {
            return if replaced.contains(function) { Callee::Unknown } else { Callee::Function(function) };
        }
        let origin = functions.program.origin_of(unit_index, callee.origin);
        let Origin { name, line, .. } = functions.program.origins[origin.index()];
        let bytes = functions.text(name);
        // For a local function clang at `-g1` writes only the plain name, and sometimes not even that. If the linker discarded this copy
        // of an inline function, the call goes to the copy that it kept.
        let has_only_name = || line == 0 && owner == Some(unit_index) && !is_mangled(bytes);
        // A function that is local to another unit may have the same name, so the name of a local callee identifies nothing.
        if bytes.is_empty() || !(callee.external || is_program_wide(bytes)) {
            return if has_only_name() { Callee::Plain(name) } else { Callee::Unknown };
        }
        match functions.of_name(name) {
            Some(Some(function)) if functions.shares_plain_name(name, function, has_mangled) => {
                Callee::Plain(name)
            }
            Some(Some(function))
                if functions.is_plain_alias(name, function) || replaced.contains(function) =>
            {
                Callee::Unknown
            }
            Some(Some(function)) => Callee::Function(function),
            Some(_) => Callee::Unknown,
            // No function of the program has the name, so another module has it, unless it is gcc's common name of constructors
            // (`C4`).
            None => functions.variant(bytes).unwrap_or(Callee::OtherModule(name)),
        }
    };
    // clang at `-g1` writes no linkage names, so foldsym gives a DIE the one symbol at its address that no other DIE has. That is no
    // proof: the symbol may be that of a function in an object without debug information.
    let by_name = is_line_tables_only(functions.program, unit_index);
    let resolve = |callee| match resolve(callee) {
        Callee::Function(function) if by_name => Callee::ByName(function),
        callee => callee,
    };
    let listed = &functions.records.units[unit_index].callees;
    let mut callees = Vec::with_capacity(listed.len());
    callees.extend((0..).zip(listed.iter()).map(resolve));
    callees
}

/// True for a unit of clang at `-g1` (`-gline-tables-only`): no function has `DW_AT_decl_line` or `DW_AT_external`.
fn is_line_tables_only(program: &Program<'_>, unit: usize) -> bool {
    let code = &program.code[unit].functions;
    let has_neither = |function: &UnitFunction| {
        !function.external && program.origins[program.origin_of(unit, function.origin).index()].line == 0
    };
    !code.is_empty() && code.iter().all(has_neither)
}

//! Decides who owns each address: turns units and symbols into disjoint pieces of code, each owned by one function or
//! by a group of folded functions.
//!
//! `subprograms` lists the subprograms of all units by address. `claims` joins them with symbols: each claim
//! is a range of code with the functions that have it. `aliases/decision` decides whether a further symbol is an alias of a
//! function there or the name of a folded function, by the facts in `folding_evidence`. `part_owners` handles the parts of
//! functions away from their entry (`f.cold`): DWARF gives the function that a part belongs to (`DW_AT_ranges`), a symbol gives
//! the part its name, and a symbol without a described function adds a folded function. `thunks` finds functions that the compiler merged. `certainty` decides, for a function that shares its code with
//! no other, whether that is certain. `pieces` cuts claims that overlap.

mod aliases;
mod bare_lines;
mod certainty;
mod claim;
mod claims;
mod folding_evidence;
mod inline_copies;
pub(crate) mod limits;
mod linkage_names;
mod named_functions;
mod namesakes;
mod part_owners;
pub(crate) mod pieces;
mod placing;
mod primary;
mod shared_range;
mod strays;
mod subprograms;
mod surplus;
mod symbol_ranges;
mod thunks;
mod unnamed_functions;
mod variables;

use std::collections::{BTreeMap, VecDeque};

use foldsym_format::names::MAX_NAME;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::merge::names::{NameIndex, NameTables, Names};
use crate::merge::units::Units;
use crate::merge::{LINE_COPIES, STRING_COPIES};
use crate::model::{
    AddressRange, BlockMap, DieOffset, FuncId, ImageAddr, LocalCallee, NameId, Piece, Program, UnitCode,
    UnitId, UnwindRows,
};
use crate::open::Image;
use crate::place::claim::{Claim, Claims};
use crate::place::placing::Placing;
pub use crate::place::primary::Naming;
use crate::policy::linker::Linker;
use crate::program::machine::Machine;
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::recovered::Recovered;
use crate::recover::relaxation::is_relaxed;
use crate::util::fit::fit;
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// The program with its final pieces, and what the search for keys needs besides.
pub(crate) struct Placed<'f> {
    pub(crate) program: Program<'f>,
    /// Finds the id of a name of the program.
    pub(crate) names: NameIndex,
    /// By unit: the functions that it describes and that have code in the program, by DIE.
    pub(crate) by_die: Vec<Vec<(DieOffset, FuncId)>>,
    /// Units whose compiler is taken to have merged functions and rewritten the calls of them; sorted.
    pub(crate) merging: Vec<UnitId>,
    /// As [`Recovered::doubtful_callees`].
    pub(crate) doubtful_callees: HashSet<(UnitId, LocalCallee)>,
    /// The linker dropped the symbols of local functions that it folded, in objects without debug information. Any
    /// caller may be such a function.
    pub(crate) has_forgotten_callers: bool,
    /// The linker may have dropped the symbols of all functions that it folded. Any function may have the code of another one
    /// that nothing names.
    pub(crate) drops_symbols: bool,
    /// Functions that got their names by order: no call is known to be of one of them for certain.
    pub(crate) tied: HashSet<FuncId>,
    /// Symbols of functions, if their order is that in which objects mention them. First those that all objects know, then those that
    /// are local to one. Empty if no unit has a list of its sequences, and if nothing is folded.
    pub(crate) mentioned: Vec<MentionedSymbols>,
}

/// Symbols in the order of the symbol table.
#[derive(Default)]
pub(crate) struct MentionedSymbols {
    /// The unit to which they are local.
    pub(crate) unit: Option<UnitId>,
    /// The linker made them local: other units of the program may mention them.
    pub(crate) made_local: bool,
    /// Where each begins, and its name.
    pub(crate) symbols: Vec<(ImageAddr, NameId)>,
}

/// Places the functions of the units and the symbols. The program has no units yet: [`Placed::with_units`] adds them.
pub(crate) fn place<'f>(
    image: &Image<'f>,
    (linker, naming): (Linker, Naming),
    machine: &Machine<'_, 'f>,
    names: Names<'f>,
    recovered: Recovered<'_, 'f>,
    symbols: Symbols<'f>,
    diagnostics: &mut Diagnostics,
) -> Placed<'f> {
    let mut placing = Placing {
        names,
        recovered: &recovered,
        // Without the whole table only the symbols for the loader are there, sorted by their hashes.
        keeps_order: linker.policy().keeps_order && symbols.has_table(),
        localizes: linker.policy().localizes,
        tied: Vec::new(),
        relaxed: is_relaxed(image.arch.machine),
    };
    let (folding, subprograms) = rayon::join(
        || folding_evidence::FoldingEvidence::new(image, linker, &placing, &symbols),
        || subprograms::by_address(&placing),
    );
    let (claims, merging) =
        claims::build(&mut placing, subprograms, &symbols, &folding, machine, diagnostics);
    // Names that were compared lie all over the string sections. Their pages are not needed again soon, and the next lists
    // would be added to them at the peak of memory.
    image.release_pages();
    let drops_symbols = certainty::drops_symbols(&folding, &placing, &symbols, &claims);
    // Whether a function is the only one with its code depends on the groups of the whole program: on whether anything was folded or
    // merged in it. So this comes after all claims.
    let (mut claims, nameless) =
        certainty::decide(image, &placing, &symbols, &folding, machine, claims, (&merging, drops_symbols));
    // After every decision: which name of a function is shown is evidence of nothing.
    primary::choose(naming, image, &mut placing, &symbols, &mut claims);
    if placing.names.cut > 0 {
        diagnostics.add(Kind::Cap(Cap::NameBytes), 0, || {
            format!("{} names are longer than {MAX_NAME} bytes: cut", placing.names.cut)
        });
    }
    if placing.names.names_without_room > 0 {
        diagnostics.add(Kind::Cap(Cap::NamesTogether), 0, || {
            let cut = placing.names.names_without_room;
            format!(
                "{cut} names were cut: all have over {STRING_COPIES} times the bytes of the program's strings"
            )
        });
    }
    if placing.names.paths_without_room > 0 {
        diagnostics.add(Kind::Cap(Cap::PathsTogether), 0, || {
            let cut = placing.names.paths_without_room;
            format!("{cut} paths were cut: all have over {LINE_COPIES} times the bytes of the program's line tables")
        });
    }
    let has_forgotten_callers = folding.may_hide_functions();
    let mentioned = mentioned(image, &placing, &symbols, &claims);
    // `pieces` needs neither, and in a large program both are among the largest lists.
    drop((symbols, folding));
    image.release_pages();
    let (cut, used) = pieces::cut(&mut placing, claims, nameless, diagnostics);
    let Placing { names, tied, .. } = placing;
    let Recovered { code, traces, doubtful_callees, inlines, .. } = recovered;
    // Millions of small lists take a while to free: a second thread does it while this one makes the tables of names.
    let (NameTables { texts, files, origins, index }, ()) =
        rayon::join(|| names.into_tables(), || drop((used, traces)));
    let pieces::Cut { pieces, groups, mut functions, numbers } = cut;
    fit(&mut functions);
    let by_die = by_die(&code, &numbers);
    let tied = tied.into_iter().filter_map(|function| numbers[function.index()]).collect();
    drop(numbers);
    let program = Program {
        names: texts,
        files,
        origins,
        code,
        functions,
        pieces,
        groups,
        inlines,
        ..Program::default()
    };
    Placed {
        program,
        names: index,
        by_die,
        merging,
        doubtful_callees,
        has_forgotten_callers,
        drops_symbols,
        tied,
        mentioned,
    }
}

/// See [`Placed::mentioned`].
fn mentioned(
    image: &Image<'_>,
    placing: &Placing<'_, '_>,
    symbols: &Symbols<'_>,
    claims: &Claims,
) -> Vec<MentionedSymbols> {
    let is_folded = |claim: &Claim| claim.members.len() > 1;
    if !placing.keeps_order
        || placing.recovered.records.units.iter().all(|unit| unit.emitted.is_empty())
        || !claims.dies.iter().chain(&claims.symbols).any(is_folded)
    {
        return Vec::new();
    }
    let units = units_of_files(image, placing);
    let mut in_order: Vec<&CodeSymbol<'_>> = symbols.iter().filter(|symbol| symbol.typed).collect();
    in_order.sort_unstable_by_key(|symbol| symbol.order);
    let mut global = MentionedSymbols::default();
    // The symbols that the linker made local are a list of their own, in the order in which it met them.
    let mut local: BTreeMap<(UnitId, bool), MentionedSymbols> = BTreeMap::new();
    for symbol in in_order {
        let Some(name) = symbol.name_id.or_else(|| placing.names.find(symbol.name)) else { continue };
        // lld lists hidden symbols after the other local symbols of their file.
        let is_local = placing.is_of_file(symbol) || (symbol.made_local && !placing.localizes);
        let unit = symbol.listed.and_then(|file| *units.get(file as usize)?);
        let list = match unit {
            _ if !is_local => &mut global,
            Some(unit) => local.entry((unit, symbol.made_local)).or_default(),
            None => continue,
        };
        list.symbols.push((symbol.start, name));
    }
    let of_unit = |((unit, made_local), list)| MentionedSymbols { unit: Some(unit), made_local, ..list };
    [global].into_iter().chain(local.into_iter().map(of_unit)).collect()
}

/// By file of the symbol table: its unit. Units and file symbols of one name come in one order, that of the link; `None` if there are not
/// as many of both.
fn units_of_files(image: &Image<'_>, placing: &Placing<'_, '_>) -> Vec<Option<UnitId>> {
    let mut of_name: HashMap<&[u8], (VecDeque<UnitId>, usize)> = HashMap::default();
    for (id, unit) in placing.recovered.numbered() {
        of_name.entry(&unit.head.file_name).or_default().0.push_back(id);
    }
    for file in &image.symbol_files {
        of_name.entry(base_name(file)).or_default().1 += 1;
    }
    of_name.retain(|_, (units, files)| units.len() == *files);
    image.symbol_files.iter().map(|file| of_name.get_mut(base_name(file))?.0.pop_front()).collect()
}

/// By unit: the functions that it describes and that have code, by DIE. `numbers`: by function, in the order of the units, its id in
/// the program, if it has any code there.
fn by_die(code: &[UnitCode<'_>], numbers: &[Option<FuncId>]) -> Vec<Vec<(DieOffset, FuncId)>> {
    let mut rest = numbers;
    let of_unit = code.iter().map(|unit| {
        // `subprograms::by_address` numbered the functions of all units first, unit by unit. Functions of symbols come after
        // them and stay in `rest`.
        let (own, later) = rest.split_at(unit.functions.len());
        rest = later;
        let functions = unit.functions.iter().zip(own);
        let mut by_die = Vec::with_capacity(own.iter().flatten().count());
        by_die.extend(functions.filter_map(|(function, id)| Some((function.die, (*id)?))));
        by_die.sort_by_key(|(die, _)| *die);
        by_die
    });
    of_unit.collect()
}

impl<'f> Placed<'f> {
    /// Adds the units to the program, its basic blocks, and its rows for unwinding.
    pub(crate) fn with_units(
        mut self,
        units: Units<'f>,
        blocks: BlockMap,
        unwind: Option<UnwindRows>,
    ) -> Placed<'f> {
        let Units { heads, maps, edges, .. } = units;
        (self.program.heads, self.program.maps, self.program.edges) = (heads, maps, edges);
        (self.program.blocks, self.program.unwind) = (blocks, unwind);
        self
    }

    /// Adds the calls of functions of other modules.
    pub(crate) fn with_imports(
        mut self,
        machine: &Machine<'_, 'f>,
        diagnostics: &mut Diagnostics,
    ) -> Placed<'f> {
        let ranges: Vec<AddressRange> = self.program.pieces.iter().map(Piece::code).collect();
        let Some(found) = machine.imports(&ranges) else {
            diagnostics.add(Kind::NoImports, 0, || {
                "calls into other modules are not kept: they cannot be read for this format or processor"
                    .into()
            });
            return self;
        };
        for AddressRange { start, end } in found.unread {
            diagnostics.add(Kind::UnreadImports, start.0, || {
                format!(
                    "code at {start:#x}..{end:#x} contains data: its calls into other modules are not kept"
                )
            });
        }
        let long = found.calls.iter().filter(|(_, name)| name.len() > MAX_NAME);
        report_long_imports(long.map(|(return_addr, _)| *return_addr), diagnostics);
        for (return_addr, name) in found.calls {
            let name = &name[..name.len().min(MAX_NAME)];
            let id = self.names.intern(&mut self.program.names, name.into());
            self.program.imports.push((return_addr, id));
        }
        self
    }

    /// The id of a name, if anything in the program has it.
    pub(crate) fn name_of(&self, name: &[u8]) -> Option<NameId> {
        self.names.find(&self.program.names, name)
    }
}

/// Reports calls of other modules whose names are cut, by their return addresses.
fn report_long_imports(mut calls: impl Iterator<Item = ImageAddr>, diagnostics: &mut Diagnostics) {
    if let Some(first) = calls.next() {
        let count = 1 + calls.count();
        diagnostics.add(Kind::Cap(Cap::NameBytes), first.0, || {
            format!(
                "{count} calls name a function of another module in over {MAX_NAME} bytes: the names are cut (the first call returns to \
                 {first:#x})"
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_other_modules_with_long_names_are_reported_once() {
        let mut diagnostics = Diagnostics::default();
        report_long_imports([].into_iter(), &mut diagnostics);
        assert_eq!(diagnostics.count(Kind::Cap(Cap::NameBytes)), 0);
        report_long_imports([ImageAddr(0x20), ImageAddr(0x30)].into_iter(), &mut diagnostics);
        let seen: Vec<_> = diagnostics.caps().map(|(cap, seen)| (cap, seen.count, seen.first)).collect();
        assert_eq!(seen, [(Cap::NameBytes, 1, 0x20)]);
    }
}

//! Decides who owns each address: turns units and symbols into disjoint pieces of code, each owned by one function or
//! by a group of folded functions.
//!
//! `subprograms` lists the subprograms of all units by address. `candidates` joins them with symbols: each candidate
//! is a range of code with the functions that have it. `aliases` weighs whether a symbol that no DIE explains is an
//! alias of a function there or the name of a folded function. `part_names` names function parts placed away from
//! their entry (`f.cold`) and adds folded functions whose part is known only by a symbol. DWARF supplies the owner.
//! `thunks` finds functions that the compiler merged. `certainty` decides, for a function that shares its code with
//! no other, whether that is certain. `pieces` cuts candidates that overlap.

mod aliases;
mod candidate;
mod candidates;
mod certainty;
mod linkage_names;
mod named_functions;
mod namesakes;
mod part_names;
pub(crate) mod pieces;
mod placing;
mod shared_range;
mod subprograms;
mod surplus;
mod symbol_ranges;
pub(crate) mod thunks;

use foldsym_format::names::MAX_NAME;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::merge::names::{NameIndex, NameTables, Names};
use crate::merge::units::Units;
use crate::model::{FuncId, ImageAddr, LocalCallee, NameId, Piece, Program, UnitId};
use crate::open::Image;
use crate::place::placing::Placing;
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;
use crate::recover::recovered::Recovered;
use crate::util::hash::HashSet;

/// The program with its final pieces, and what the search for keys needs besides.
pub(crate) struct Placed<'f> {
    pub(crate) program: Program<'f>,
    /// Finds the id of a name of the program.
    pub(crate) names: NameIndex,
    /// By function, in the order of the units: its id in the program, if it has any code there.
    pub(crate) numbers: Vec<Option<FuncId>>,
    /// Units whose compiler is taken to have merged functions and rewritten the calls of them; sorted.
    pub(crate) merging: Vec<UnitId>,
    /// As [`Recovered::doubtful_callees`].
    pub(crate) doubtful_callees: HashSet<(usize, LocalCallee)>,
    /// The linker dropped the symbols of local functions that it folded, in objects without debug information. Any
    /// caller may be such a function.
    pub(crate) has_forgotten_callers: bool,
}

/// Places the functions of the units and the symbols. The program has no units yet: [`Placed::with_units`] adds them.
pub(crate) fn place<'f>(
    image: &Image<'f>,
    machine: &Machine<'_, 'f>,
    names: Names<'f>,
    recovered: Recovered<'_, 'f>,
    symbols: &Symbols<'f>,
    diagnostics: &mut Diagnostics,
) -> Placed<'f> {
    let mut placing = Placing { names, recovered: &recovered };
    let (alias_rules, subprograms) = rayon::join(
        || aliases::AliasRules::new(image, &placing, symbols),
        || subprograms::by_address(&placing),
    );
    let mut candidates =
        candidates::build(&mut placing, subprograms, symbols, &alias_rules, machine, diagnostics);
    image.release_pages();
    certainty::decide(image, &placing, symbols, &alias_rules, machine, &mut candidates);
    if placing.names.cut > 0 {
        diagnostics.add(Kind::Cap(Cap::NameBytes), 0, || {
            format!("{} names are longer than {MAX_NAME} bytes: cut", placing.names.cut)
        });
    }
    if placing.names.without_room > 0 {
        diagnostics.add(Kind::Cap(Cap::NamesTogether), 0, || {
            format!(
                "names and paths have more bytes than the program's strings: {} are cut",
                placing.names.without_room
            )
        });
    }
    let has_forgotten_callers = alias_rules.may_be_forgotten();
    image.release_pages();
    let (cut, used) = pieces::cut(&mut placing, candidates, diagnostics);
    let Placing { names, .. } = placing;
    let Recovered { code, traces, doubtful_callees, inlines, .. } = recovered;
    let (NameTables { texts, files, origins, index }, ()) =
        rayon::join(|| names.into_tables(), || drop((used, traces)));
    let pieces::Cut { pieces, groups, functions, numbers, merging } = cut;
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
    Placed { program, names: index, numbers, merging, doubtful_callees, has_forgotten_callers }
}

impl<'f> Placed<'f> {
    /// Adds the units to the program.
    pub(crate) fn with_units(mut self, units: Units<'f>) -> Placed<'f> {
        let Units { heads, maps, edges, .. } = units;
        (self.program.heads, self.program.maps, self.program.edges) = (heads, maps, edges);
        self
    }

    /// Adds the calls of functions of other modules.
    pub(crate) fn add_imports(&mut self, machine: &Machine<'_, 'f>, diagnostics: &mut Diagnostics) {
        let piece = |piece: &Piece| (piece.start.0, piece.start.0 + u64::from(piece.body));
        let ranges: Vec<(u64, u64)> = self.program.pieces.iter().map(piece).collect();
        let Some(found) = machine.imports(&ranges) else {
            diagnostics.add(Kind::NoImports, 0, || {
                "calls of other modules were asked for, and are not read of this format or processor".into()
            });
            return;
        };
        for (start, end) in found.unread {
            diagnostics.add(Kind::UnreadImports, start, || {
                format!("code at {start:#x}..{end:#x} is not all instructions: no calls of other modules")
            });
        }
        for (return_addr, name) in found.calls {
            let name = &name[..name.len().min(MAX_NAME)];
            let id = self.names.intern(&mut self.program.names, name.into());
            self.program.imports.push((ImageAddr(return_addr), id));
        }
    }

    /// The id of a name, if anything in the program has it.
    pub(crate) fn name_of(&self, name: &[u8]) -> Option<NameId> {
        self.names.find(&self.program.names, name)
    }
}

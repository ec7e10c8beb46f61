//! Decides what stands at each address: units and symbols to disjoint pieces of code, each with its function or with the
//! group of functions that were folded into it.
//!
//! `subprograms` lists the subprograms of all units by address. `candidates` joins them with symbols: each candidate is a
//! range of code with the functions that have it. `aliases` decides whether a symbol that no DIE explains is another name of
//! a function there, or a folded function. `cold_parts` finds the function of a part that stands elsewhere (`f.cold`).
//! `thunks` finds functions that the compiler merged, `certainty` says of a function without company whether that is certain,
//! and `pieces` cuts candidates that overlap.

mod alias_owner;
mod aliases;
mod candidate;
mod candidates;
mod certainty;
mod cold_parts;
mod linkage_names;
mod namesakes;
pub(crate) mod pieces;
mod placing;
mod subprograms;
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

/// The program whose pieces are decided, and what its keys are found with.
pub(crate) struct Placed<'f> {
    pub(crate) program: Program<'f>,
    /// Finds a name among those of the program.
    pub(crate) names: NameIndex,
    /// By function, first of all units: its id in the program, if it has any code there.
    pub(crate) numbers: Vec<Option<FuncId>>,
    /// Units that count as merging functions, and rewriting the calls of those that they merged; sorted.
    pub(crate) merging: Vec<UnitId>,
    /// As [`Recovered::doubtful_callees`].
    pub(crate) doubtful_callees: HashSet<(usize, LocalCallee)>,
    /// The linker dropped the symbols of local functions that it folded, of objects without debug information: any caller
    /// may be one of those.
    pub(crate) forgotten: bool,
}

/// Places the functions of the units and the symbols. The program has no units yet: [`Placed::with_units`] gives it those.
pub(crate) fn place<'f>(
    image: &Image<'f>,
    machine: &Machine<'_, 'f>,
    names: Names<'f>,
    recovered: Recovered<'_, 'f>,
    symbols: &Symbols<'f>,
    diagnostics: &mut Diagnostics,
) -> Placed<'f> {
    let mut placing = Placing { names, recovered: &recovered };
    let (undescribed, subprograms) = rayon::join(
        || aliases::AliasRules::new(image, &placing, symbols),
        || subprograms::by_address(&placing),
    );
    let mut candidates =
        candidates::candidates(&mut placing, subprograms, symbols, &undescribed, machine, diagnostics);
    certainty::decide(image, &placing, symbols, &undescribed, machine, &mut candidates);
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
    let forgotten = undescribed.may_be_forgotten();
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
    Placed { program, names: index, numbers, merging, doubtful_callees, forgotten }
}

impl<'f> Placed<'f> {
    /// The same with what the units are.
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

    /// The id of a name that something of the program has.
    pub(crate) fn name_of(&self, name: &[u8]) -> Option<NameId> {
        self.names.find(&self.program.names, name)
    }
}

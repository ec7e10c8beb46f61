//! Finds the descriptions of one inline function among the subprograms that share a range, where the compiler wrote no linkage names
//! (clang at `-g1`).
//!
//! Every unit that uses an inline function has a copy of it, and the linker keeps one. gold gives the DIEs of the discarded copies the
//! address of the kept one. DIEs of several units count as one function if all of this holds: exactly one symbol at the address fits
//! their name, that symbol is known to the whole program, and the DIEs have the same lines. The lines keep a weak function apart from the
//! strong one that overrides it, unless both come from the same source line.

use crate::model::{FuncId, Function, How, OriginId, Rows};
use crate::place::limits::MAX_DEFINITIONS;
use crate::place::placing::Placing;
use crate::place::subprograms::DiePiece;
use crate::program::names::itanium::{PlainName, is_program_wide};
use crate::program::symbols::CodeSymbol;
use crate::util::hash::HashMap;

/// The functions without linkage names at a range.
pub(crate) struct InlineCopies<'s, 'f> {
    at_start: &'s [CodeSymbol<'f>],
    /// By origin: the functions with different lines, at most [`MAX_DEFINITIONS`]. None if the symbols do not show whose the name is.
    of_origin: HashMap<OriginId, Option<Vec<(FuncId, Rows)>>>,
}

impl<'s, 'f> InlineCopies<'s, 'f> {
    /// `at_start`: the symbols at the start of the range.
    pub(crate) fn new(at_start: &'s [CodeSymbol<'f>]) -> Self {
        InlineCopies { at_start, of_origin: HashMap::default() }
    }

    /// The function that another unit has described already; `None` if this piece is its first description.
    pub(crate) fn known(
        &mut self,
        placing: &Placing<'_, '_>,
        piece: &DiePiece,
        functions: &[Function],
    ) -> Option<FuncId> {
        let id = functions[piece.function.index()].origin;
        let origin = placing.names.origin(id);
        let has_place = origin.file.is_some() || origin.line > 0;
        // clang at `-g1` writes no `DW_AT_decl_line`. With a place of declaration `shared_range` decides, and a recovered
        // function was folded: it is no copy.
        let rows = piece.rows().filter(|_| !has_place && piece.how == How::LiveRange)?;
        // With more symbols the DIEs stay functions of their own. That makes the group larger and no answer wrong.
        let symbols = Some(self.at_start).filter(|symbols| symbols.len() <= MAX_DEFINITIONS);
        let has_one_symbol = || {
            let name = PlainName::new(placing.names.text(origin.name));
            let mut named = symbols?.iter().filter(|symbol| name.may_be_of(symbol.name));
            let only = named.next().filter(|_| named.next().is_none());
            only.filter(|symbol| is_program_wide(symbol.name))
        };
        let known =
            self.of_origin.entry(id).or_insert_with(|| has_one_symbol().map(|_| Vec::new())).as_mut()?;
        // A unit describes a function once: two DIEs of one unit with equal lines are two functions.
        let is_same =
            |(_, other): &&(_, Rows)| other.unit != rows.unit && placing.have_same_lines(*other, rows);
        let same = known.iter().find(is_same).map(|(function, _)| *function);
        if same.is_none() && known.len() < MAX_DEFINITIONS {
            known.push((piece.function, rows));
        }
        same
    }
}

//! The subprograms of all units by address, and which of them need no comparison with symbols or other subprograms.

use rayon::prelude::*;
use thin_vec::ThinVec;

use crate::model::{
    AddressRange, DieOffset, FuncId, Function, How, ImageAddr, Instance, LocalFunc, Member, NameId, RowRange,
    Rows, Source, UnitId,
};
use crate::place::folding_evidence::FoldingEvidence;
use crate::place::placing::Placing;
use crate::program::symbols::Symbols;
use crate::toolchain::suffixes::names_part;

/// One range of one subprogram, before ranges are compared.
#[derive(Clone, Copy)]
pub(crate) struct DiePiece {
    pub(crate) start: ImageAddr,
    pub(crate) end: ImageAddr,
    pub(crate) die: DieOffset,
    pub(crate) function: FuncId,
    pub(crate) name: NameId,
    pub(crate) instance: Instance,
    pub(crate) how: How,
    pub(crate) unit: UnitId,
    /// Empty for a recovered function without rows.
    rows: RowRange,
    pub(crate) entry: bool,
}

/// Where the unit's range is that begins at an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RangePlace {
    start: ImageAddr,
    unit: UnitId,
    /// Index into the unit's functions.
    function: u32,
    /// Index into the unit's pieces.
    piece: u32,
}

/// Makes one function per subprogram, and the list of all their ranges, sorted by address.
pub(crate) fn by_address(placing: &Placing<'_, '_>) -> (Vec<Function>, Vec<DiePiece>) {
    let recovered = placing.recovered;
    // These are sorted, and not the ranges themselves, which are large.
    let mut places: Vec<RangePlace> =
        Vec::with_capacity(recovered.code.iter().map(|unit| unit.pieces.len()).sum());
    // Symbols add a few functions. The list is large, so growing it would take twice its memory.
    let count: usize = recovered.code.iter().map(|unit| unit.functions.len()).sum();
    let mut functions = Vec::with_capacity(count + count / 8);
    // By unit: the number of its first function.
    let mut firsts = Vec::with_capacity(recovered.code.len());
    for (id, unit) in recovered.numbered() {
        firsts.push(functions.len());
        for (index, function) in unit.code.functions.iter().enumerate() {
            let origin = unit.origin_of(function.origin);
            functions.push(Function {
                origin,
                symbol: None,
                aliases: ThinVec::new(),
                primary: None,
                source: Some(Source { unit: id, function: LocalFunc(index as u32) }),
                how: function.how,
                partial: unit.head.partial,
                reason: None,
            });
            for piece in function.pieces.clone() {
                let start = unit.code.pieces[piece as usize].start;
                places.push(RangePlace { start, unit: id, function: index as u32, piece });
            }
        }
    }
    // All fields take part and no two places are equal, so the order does not depend on the algorithm.
    places.sort_unstable();
    let die_piece = |RangePlace { start, unit: id, function: index, piece }: RangePlace| {
        let unit = recovered.unit(id);
        let function = &unit.code.functions[index as usize];
        let found = unit.code.pieces[piece as usize];
        DiePiece {
            start,
            end: start + u64::from(found.len),
            die: function.die,
            function: FuncId((firsts[id.index()] + index as usize) as u32),
            name: placing.names.of_origin(unit.origin_of(function.origin)),
            instance: function.instance,
            how: found.how,
            rows: found.rows,
            unit: id,
            // `read` puts the range with the entry first, wherever it is in `DW_AT_ranges` (DWARF 5 2.18).
            entry: piece == function.pieces.start,
        }
    };
    let mut pieces: Vec<DiePiece> = places.into_iter().map(die_piece).collect();
    // DIE offsets start at 0 in each `.dwo`: among units the order of the file decides.
    for same in pieces.chunk_by_mut(|a, b| a.start == b.start).filter(|same| same.len() > 1) {
        same.sort_by_key(|p| (p.end, p.how, p.unit, p.die));
    }
    (functions, pieces)
}

/// Pieces that one task compares.
const PIECES_AT_ONCE: usize = 2048;

/// Which pieces are settled. A piece is settled if no other piece and no other line sequence has its range, and if the
/// only symbol at its start, if there is one, has the function's name.
pub(crate) fn settled<'f>(
    placing: &Placing<'_, 'f>,
    pieces: &[DiePiece],
    symbols: &Symbols<'f>,
    folding: &FoldingEvidence,
) -> Vec<bool> {
    let task = |first: usize| {
        let some = first..pieces.len().min(first + PIECES_AT_ONCE);
        // Pieces and symbols are sorted by address: a task searches once and then walks both lists.
        let mut symbols = symbols.starting_from(pieces[first].start);
        let is_settled = |at: usize| {
            let piece = &pieces[at];
            while let [symbol, behind @ ..] = symbols
                && symbol.start < piece.start
            {
                symbols = behind;
            }
            let is_here = |at: usize| symbols.get(at).filter(|symbol| symbol.start == piece.start);
            // Looking at two symbols is enough, and there may be any number at one address.
            let named = match (is_here(0), is_here(1)) {
                (None, _) => true,
                (Some(symbol), None) => {
                    symbol.function
                        && symbol.is_named(piece.name, || placing.names.text(piece.name))
                        && !names_part(symbol.name)
                }
                _ => false,
            };
            // Pieces of the same range are neighbours in this order.
            let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            let mut others = beside.filter_map(|at| pieces.get(at));
            named
                // `part_owners` compares the symbols of parts, and a recovered address is evidence of folding.
                && piece.entry
                && piece.how == How::LiveRange
                && others.all(|other| other.range() != piece.range())
                && folding.sequences(piece.range()).is_empty()
        };
        some.map(is_settled).collect::<Vec<bool>>()
    };
    // If the linker drops the symbols of folded functions, a single symbol proves nothing.
    if folding.drops_local_symbols() {
        return vec![false; pieces.len()];
    }
    let firsts: Vec<usize> = (0..pieces.len()).step_by(PIECES_AT_ONCE).collect();
    let found: Vec<Vec<bool>> = firsts.into_par_iter().map(task).collect();
    found.concat()
}

impl DiePiece {
    /// The addresses of its code.
    pub(crate) fn range(&self) -> AddressRange {
        AddressRange::new(self.start, self.end)
    }

    /// Its rows; `None` for a recovered function without any.
    pub(crate) fn rows(&self) -> Option<Rows> {
        (self.rows.len > 0).then_some(Rows { unit: self.unit, range: self.rows, skip: 0 })
    }

    pub(crate) fn member(&self) -> Member {
        Member { function: self.function, how: self.how, rows: self.rows(), symbol: None }
    }
}

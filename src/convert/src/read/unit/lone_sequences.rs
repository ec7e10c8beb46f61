//! Takes the rows of the only line sequence at an address away from functions that it does not fit.
//!
//! A linker keeps the sequence of each function that it folds. BOLT does not: it gives the DIE of a folded function the range of the other
//! one, and writes lines for one of them. Then several functions of the unit have one range and
//! one sequence. The sequence is of the function whose declaration is nearest before one of its rows. The lines of the others are lost, so
//! they have none. Two descriptions of one function are equally near, and both keep the rows.

use crate::diagnostics::Kind;
use crate::model::{RowRange, Unit};
use crate::read::sections::bytes::Endianity;
use crate::read::unit::assign::{Assign, InlinedFirst};
use crate::read::unit::numbering::Numbering;
use crate::read::unit::sequences::place_of;
use crate::util::pair::SourcePlace;

/// A piece of a function, by its address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PieceAt {
    start: u64,
    /// Indexes into the unit's pieces and functions.
    piece: u32,
    function: u32,
}

impl Assign<'_> {
    /// Removes the rows of functions that share an address and its only sequence with a function that fits it better.
    pub(crate) fn take_rows_of_others<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        unit: &Unit<'_>,
    ) {
        // A unit that takes too much memory is refused, and must not take more here.
        if unit.stopped_at.is_some() || self.lines.sequences.is_empty() {
            return;
        }
        // Almost always no two pieces have one address.
        let starts = || self.code.pieces.iter().map(|piece| piece.start);
        if starts().zip(starts().skip(1)).all(|(one, next)| one < next) {
            return;
        }
        let mut pieces: Vec<PieceAt> = Vec::with_capacity(self.code.pieces.len());
        for (index, function) in self.code.functions.iter().enumerate() {
            pieces.extend(function.pieces.clone().map(|piece| PieceAt {
                start: self.code.pieces[piece as usize].start.0,
                piece,
                function: index as u32,
            }));
        }
        pieces.sort_unstable();
        for here in pieces.chunk_by(|one, other| one.start == other.start).filter(|here| here.len() > 1) {
            let start = here[0].start;
            let sequences: Vec<usize> = self.lines.starting(start).map(|(index, _)| index).take(2).collect();
            if let [sequence] = sequences[..]
                // dsymutil joins sequences: others that begin before may have rows here.
                && self.lines.passing(start, &self.limits.compared).is_empty()
            {
                let without = self.fit_less(ids, unit, here, sequence);
                if !without.is_empty() {
                    ids.diagnostics.add(Kind::AmbiguousLines, start, || {
                        format!(
                            "{} of {} functions at {start:#x} have no lines: the only line sequence there fits another better",
                            without.len(),
                            here.len()
                        )
                    });
                }
                for piece in without {
                    self.code.pieces.own_mut()[piece as usize].rows = RowRange::default();
                }
            }
        }
    }

    /// The pieces of the functions whose declaration a sequence fits less than another's, or not at all. None if it fits no function: the
    /// body may come from another file.
    fn fit_less<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        unit: &Unit<'_>,
        here: &[PieceAt],
        sequence: usize,
    ) -> Vec<u32> {
        let rows = self.lines.sequences[sequence].rows.clone();
        let mut distances: Vec<(u32, Option<u32>)> = Vec::with_capacity(here.len());
        for at in here {
            let function = &self.code.functions[at.function as usize];
            let first = function.scopes.clone().next().map(|scope| self.code.scopes[scope as usize].edge);
            let call = first.and_then(|edge| unit.tables.edges.get(edge.index()));
            let call = call.map(|call| InlinedFirst { file: call.file, line: call.line });
            let place = place_of(ids, function.origin, call, call.is_none());
            // Without a place it may be a second description of any of the others.
            if place != SourcePlace::Unknown {
                distances.push((at.piece, self.distance(ids, place, rows.clone())));
            }
        }
        let nearest = distances.iter().filter_map(|of| of.1).min();
        // Distances that are not all known prove nothing.
        if nearest.is_none() || self.limits.compared.is_short() {
            return Vec::new();
        }
        distances.into_iter().filter(|of| of.1 != nearest).map(|of| of.0).collect()
    }
}

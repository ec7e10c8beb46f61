//! Keeps each function as it ends, with its rows, unless these are assigned after the walk.

use crate::model::{Calls, How, Lost, RowRange, UnitEdge, UnitFunction, UnitPiece};
use crate::read::sections::bytes::Endianity;
use crate::read::unit::assign::{Assign, BySequence, InlinedFirst, RowOwner, SharedPiece};
use crate::read::unit::numbering::Numbering;
use crate::read::unit::open_function::OpenFunction;

/// A function that has ended, with what the unit keeps of its children.
pub(crate) struct EndedFunction<'w> {
    pub(crate) function: &'w mut OpenFunction,
    pub(crate) how: How,
    /// The first call that is inlined into it.
    pub(crate) inlined: Option<&'w UnitEdge>,
    pub(crate) lost: Lost,
    pub(crate) calls: Calls,
}

impl Assign<'_> {
    /// Keeps a function that has code.
    pub(crate) fn function<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        ended: EndedFunction<'_>,
    ) {
        let EndedFunction { function, how, inlined, lost, calls } = ended;
        if let Some(sequence) = function.own_sequence {
            if function.lost.live {
                self.named.insert(sequence);
            } else {
                self.by_sequence.push(BySequence { function: self.code.functions.len(), sequence });
            }
        }
        // The tree is painted once for all ranges of the function: `rows` cuts the segments to each of them.
        let mut segments = std::mem::take(&mut self.memory.segments);
        self.memory.painter.paint(&mut function.tree.ranges, &mut segments);
        let first_piece = self.code.pieces.len() as u32;
        let joined = lost.scopes.is_empty();
        let inlined = inlined.map(|call| InlinedFirst { file: call.file, line: call.line });
        for &range in &function.ranges {
            let start = range.start.0;
            // A part at another address has another sequence.
            let covers = |own: &usize| {
                let sequence = &self.lines.sequences[*own];
                sequence.start <= start && start < sequence.end
            };
            let own = function.own_sequence.filter(covers);
            // dsymutil joins sequences, and then several functions may name one. The rows of each are those in its own
            // range, so nothing is left to compare.
            let whole = own.is_none_or(|own| self.lines.sequences[own].start == start);
            let rows = if whole && self.is_shared(start) {
                // Each range gets a copy of the segments, and there may be any number of ranges.
                let fits = self.limits.joined.spend(segments.len());
                let segments = if fits { segments.clone() } else { Vec::new() };
                self.shared.push(SharedPiece {
                    piece: self.code.pieces.len(),
                    origin: function.origin,
                    inlined,
                    named: own,
                    segments,
                    joined,
                });
                RowRange::default()
            } else {
                self.rows(ids, own.map_or(RowOwner::Any, RowOwner::Sequence), &segments, range, joined)
            };
            self.code.pieces.push(UnitPiece { start: range.start, len: range.len() as u32, how, rows });
        }
        self.memory.segments = segments;
        let first_scope = self.code.scopes.len() as u32;
        self.code.scopes.own_mut().append(&mut function.tree.scopes);
        self.code.functions.push(UnitFunction {
            die: function.die,
            origin: function.origin,
            instance: function.instance,
            how,
            external: ids.origins.tables.is_external(function.origin),
            pieces: first_piece..self.code.pieces.len() as u32,
            scopes: first_scope..self.code.scopes.len() as u32,
            lost,
            calls,
        });
    }
}

//! Keeps each function as it ends, with its rows, unless these are assigned after the walk.

use crate::model::{
    AddressRange, Calls, How, ImageAddr, Lost, MAX_PIECE, RowRange, Stray, UnitEdge, UnitFunction, UnitPiece,
};
use crate::read::sections::bytes::Endianity;
use crate::read::unit::assign::{Assign, BySequence, InlinedFirst, RowOwner, SharedPiece};
use crate::read::unit::numbering::Numbering;
use crate::read::unit::open_function::OpenFunction;
use crate::util::paint::Segment;

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
        self.strays(ids, function, &segments, joined);
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

    /// Keeps the inlined code of a function that is outside of the function's ranges.
    fn strays<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        function: &OpenFunction,
        segments: &[Segment],
        joined: bool,
    ) {
        let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return };
        // The last segment is the code after all inlined code, which is the function's own.
        let within = |range: &AddressRange| range.start.0 <= first.start && last.start <= range.end.0;
        if function.ranges.iter().take(1).any(within) {
            return;
        }
        for stray in outside(segments, &function.ranges) {
            // As for sequences: only the start is known to be in code.
            let Some(section) = self.sections.section(stray.start) else { continue };
            let end = stray.end.min(section.end).min(stray.start.saturating_add(MAX_PIECE));
            let range = AddressRange::new(stray.start, end);
            let rows = self.rows(ids, RowOwner::Stray, segments, range, joined);
            self.strays.push(Stray { die: function.die, start: range.start, len: range.len() as u32, rows });
        }
    }
}

/// The parts of inlined code that no range of its function covers. Takes O(n log n) time.
fn outside(segments: &[Segment], ranges: &[AddressRange]) -> Vec<AddressRange> {
    let mut ranges = ranges.to_vec();
    ranges.sort_unstable();
    let mut next = ranges.into_iter().peekable();
    let mut found: Vec<AddressRange> = Vec::new();
    let ends = segments.iter().skip(1).map(|segment| segment.start);
    for (segment, end) in segments.iter().zip(ends).filter(|(segment, _)| segment.node > 0) {
        let (mut at, end) = (ImageAddr(segment.start), ImageAddr(end));
        while at < end {
            while next.next_if(|range| range.end <= at).is_some() {}
            let (stop, after) = match next.peek() {
                Some(range) if range.start < end => (range.start.max(at), range.end),
                _ => (end, end),
            };
            match found.last_mut().filter(|last| last.end == at && at < stop) {
                Some(last) => last.end = stop,
                None if at < stop => found.push(AddressRange::new(at, stop)),
                None => {}
            }
            at = after;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inlined_code_outside_of_all_ranges_is_found() {
        let of = |start, end| AddressRange::new(ImageAddr(start), ImageAddr(end));
        let segment = |(start, node)| Segment { start, node };
        let segments = [(10, 1), (20, 2), (30, 0), (50, 1), (60, 0)].map(segment);
        let strays = |ranges: &[AddressRange]| outside(&segments, ranges);
        assert_eq!(strays(&[of(0, 100)]), []);
        assert_eq!(strays(&[of(50, 60), of(10, 30)]), []);
        assert_eq!(strays(&[of(30, 50)]), [of(10, 30), of(50, 60)]);
        assert_eq!(strays(&[of(12, 14), of(25, 55), of(12, 13)]), [of(10, 12), of(14, 25), of(55, 60)]);
    }
}

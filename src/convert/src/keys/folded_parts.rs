//! Parts of one function that were folded into each other. Example: `f` has two equal parts, each with a call, and
//! the linker keeps one at 0x3000. A frame there may be at either call, and the compiler may have recorded only one
//! of them. A jump in that code is a jump of each part.

use crate::keys::functions::Functions;
use crate::model::{DieOffset, FuncId, How, ImageAddr, UnitErased, UnitFunction, UnitPiece};
use crate::util::hash::{HashMap, HashSet};

/// Functions with the starts of ranges that are, or may be, several of their parts.
#[derive(Default)]
pub(crate) struct AmbiguousParts {
    /// With how many parts are, or may be, there besides the first.
    known: HashMap<(FuncId, ImageAddr), u32>,
    /// Functions with a part that was not recovered.
    missing: HashSet<FuncId>,
}

impl AmbiguousParts {
    pub(crate) fn new(functions: &Functions<'_, '_>) -> AmbiguousParts {
        let mut ambiguous_parts = AmbiguousParts::default();
        for (unit_index, (unit, records)) in
            functions.program.code.iter().zip(&functions.records.units).enumerate()
        {
            let mut erased: HashMap<DieOffset, Vec<&UnitErased>> = HashMap::default();
            for part in records.erased.iter().filter(|erased| erased.part) {
                erased.entry(part.die).or_default().push(part);
            }
            let in_parts =
                |function: &&UnitFunction| function.pieces.len() > 1 || erased.contains_key(&function.die);
            for function in unit.functions.iter().filter(in_parts) {
                let pieces = &unit.pieces[function.pieces.start as usize..function.pieces.end as usize];
                let Some(id) = functions.described(unit_index, function.die) else { continue };
                let erased = erased.get(&function.die).map_or(&[][..], |erased| erased);
                let is_found = |piece: &&UnitPiece| is_found(piece);
                // The first piece is the entry and no part.
                if pieces.iter().skip(1).filter(is_found).count() < erased.len() {
                    ambiguous_parts.missing.insert(id);
                }
                for start in several(pieces, erased) {
                    *ambiguous_parts.known.entry((id, start)).or_default() += 1;
                }
            }
        }
        ambiguous_parts
    }

    /// True if a part of the function was not recovered.
    pub(crate) fn is_missing(&self, function: FuncId) -> bool {
        self.missing.contains(&function)
    }

    /// How many parts of the function begin at an address, or may do so, besides the first.
    pub(crate) fn more_at(&self, function: FuncId, start: ImageAddr) -> u32 {
        self.known.get(&(function, start)).copied().unwrap_or(0)
    }

    /// True if the call before a return address may be another call of the same function.
    pub(crate) fn at(&self, functions: &Functions<'_, '_>, function: FuncId, return_addr: ImageAddr) -> bool {
        if self.known.is_empty() {
            return false;
        }
        // The call ends at its return address, which may be the end of the range (a call that never returns).
        let range = functions.ranges_of(function).last_below(return_addr);
        range.is_some_and(|range| self.known.contains_key(&(function, range.start)))
    }
}

fn is_found(piece: &UnitPiece) -> bool {
    matches!(piece.how, How::Symbol | How::LineSequence)
}

/// The starts of pieces that hold several parts of a function: pieces with equal ranges, and pieces with the size of
/// a part that was not recovered.
fn several(pieces: &[UnitPiece], erased: &[&UnitErased]) -> Vec<ImageAddr> {
    let parts = pieces.get(1..).unwrap_or_default();
    let mut by_start: Vec<ImageAddr> = pieces.iter().map(|piece| piece.start).collect();
    by_start.sort_unstable();
    // Two ranges of one function that begin together are two parts that the linker folded into each other.
    let mut starts: Vec<ImageAddr> =
        by_start.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    if erased.is_empty() {
        return starts;
    }
    let mut found: HashMap<u64, usize> = HashMap::default();
    for part in parts.iter().filter(|part| is_found(part)) {
        *found.entry(part.len.into()).or_default() += 1;
    }
    let mut lens: HashSet<u64> = HashSet::default();
    for part in erased.iter().filter(|part| part.size > 0) {
        match found.get_mut(&part.size) {
            Some(left) if *left > 0 => *left -= 1,
            _ => {
                lens.insert(part.size);
            }
        }
    }
    // A part whose size was erased may have any size.
    // An erased part without a size may be any found part whose size no erased part has. If there are more erased parts without a size
    // than such found ones, the rest may be at any part.
    let sizeless = erased.iter().filter(|part| part.size == 0).count();
    let any = sizeless > found.values().sum();
    starts.extend(parts.iter().filter(|p| any || lens.contains(&p.len.into())).map(|p| p.start));
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Calls, LocalOrigin, Lost, RowRange};

    fn starts(pieces: &[(u64, u32, How)], erased: &[u64]) -> Vec<u64> {
        let piece =
            |&(start, len, how)| UnitPiece { start: ImageAddr(start), len, how, rows: RowRange::default() };
        let part = |&size| UnitErased {
            die: DieOffset(1),
            origin: LocalOrigin(0),
            instance: crate::model::Instance::NAMED,
            size,
            part: true,
            external: true,
            removed: false,
            lost: Lost::default(),
            calls: Calls::default(),
        };
        let erased: Vec<UnitErased> = erased.iter().map(part).collect();
        let pieces: Vec<UnitPiece> = pieces.iter().map(piece).collect();
        let starts = several(&pieces, &erased.iter().collect::<Vec<_>>());
        starts.into_iter().map(|start| start.0).collect()
    }

    #[test]
    fn parts_that_are_several() {
        let (live, found) = (How::LiveRange, How::Symbol);
        // The entry has the size of a part but is no part.
        let two = [(0x10, 8, live), (0x20, 8, live), (0x30, 4, live)];
        assert_eq!(starts(&two, &[]), [0; 0]);
        assert_eq!(starts(&two, &[5]), [0; 0]);
        assert_eq!(starts(&two, &[4]), [0x30]);
        assert_eq!(starts(&two, &[0]), [0x20, 0x30]);
        assert_eq!(starts(&[(0x10, 8, found), (0x20, 8, live)], &[8]), [0x20]);
        assert_eq!(starts(&[(0x10, 8, live), (0x20, 8, found)], &[8]), [0; 0]);
        assert_eq!(starts(&[(0x10, 8, live), (0x20, 8, found)], &[8, 8]), [0x20]);
        assert_eq!(starts(&[(0x10, 8, live), (0x20, 8, found)], &[0]), [0; 0]);
        assert_eq!(starts(&[(0x10, 8, live), (0x20, 8, found)], &[0, 0]), [0x20]);
        assert_eq!(starts(&[(0x10, 8, live), (0x20, 8, live), (0x20, 8, found)], &[8]), [0x20]);
    }
}

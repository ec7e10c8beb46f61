//! Where the code of functions is: pieces know their functions, and this turns that around.

use foldsym_lookup::{FunctionId, Owner, PieceId, SymbolFile};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where a function's code is.
#[derive(Default)]
pub(crate) struct Places {
    /// Half-open ranges, in order of address.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// The most functions that one of the ranges has.
    pub(crate) sharing: u32,
    /// The pieces that the ranges are made of: where each starts, and how many functions have it.
    pub(crate) pieces: Vec<(u64, u32)>,
}

/// Collects the pieces of the functions. Pieces know their functions and not the other way round, so
/// this goes over all of them, once.
pub(crate) fn places(
    file: &SymbolFile<'_>,
    wanted: &[FunctionId],
) -> Result<FxHashMap<FunctionId, Places>, foldsym_lookup::Error> {
    let wanted: FxHashSet<FunctionId> = wanted.iter().copied().collect();
    let mut places: FxHashMap<FunctionId, Places> = FxHashMap::default();
    for id in (0..file.piece_count()).map(PieceId) {
        let piece = file.piece(id)?;
        let range = (piece.start.0, piece.start.0.saturating_add(piece.body));
        let mut add = |function, sharing: u32| {
            if wanted.contains(&function) && piece.body > 0 {
                let place = places.entry(function).or_default();
                place.sharing = place.sharing.max(sharing);
                place.pieces.push((range.0, sharing));
                match place.ranges.last_mut() {
                    // Another function was cut out before, or there is only a change of rows.
                    Some(last) if last.1 == range.0 => last.1 = range.1,
                    _ => place.ranges.push(range),
                }
            }
        };
        match piece.owner {
            Owner::Function(function) => add(function, 1),
            Owner::Group(group) => {
                let group = file.group(group)?;
                for member in file.members(group) {
                    add(member?.function, group.len());
                }
            }
        }
    }
    Ok(places)
}

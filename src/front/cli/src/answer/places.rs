//! Where the code of functions is: pieces know their functions, and this turns that around.

use foldsym_lookup::{Error, FunctionId, Member, NameId, Owner, Piece, PieceId, SymbolFile};
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

/// A part of a function that the compiler placed apart from the others.
pub(crate) struct Part {
    /// Half-open; code of another function may have been cut out of it.
    pub(crate) range: (u64, u64),
    /// The symbol that starts it, where that is not the function's own: then the function is not entered here.
    pub(crate) name: Option<NameId>,
}

/// The part at which a function is entered; `None` where several may be, since no symbol tells them apart.
pub(crate) fn entry(parts: &[Part]) -> Option<&Part> {
    let mut unnamed = parts.iter().filter(|part| part.name.is_none());
    unnamed.next().filter(|_| unnamed.next().is_none())
}

fn add_part(parts: &mut Vec<Part>, piece: &Piece, name: Option<NameId>) {
    let (start, end) = (piece.function_start().0, piece.start.0.saturating_add(piece.body));
    match parts.last_mut() {
        // The rest behind another function that was cut out.
        Some(last) if piece.skip > 0 && last.range.0 == start => last.range.1 = end,
        // Only a change of rows.
        Some(last) if name.is_none() && last.name.is_none() && last.range.1 == start => last.range.1 = end,
        _ => parts.push(Part { range: (start, end), name }),
    }
}

/// Collects the pieces of the functions.
///
/// # Errors
/// The file is damaged.
pub(crate) fn places(
    file: &SymbolFile<'_>,
    wanted: &[FunctionId],
) -> Result<FxHashMap<FunctionId, Places>, Error> {
    let wanted: FxHashSet<FunctionId> = wanted.iter().copied().collect();
    let mut places: FxHashMap<FunctionId, Places> = FxHashMap::default();
    each_owner(file, |piece, Owned { function, sharing, .. }| {
        if !wanted.contains(&function) {
            return;
        }
        let range = (piece.start.0, piece.start.0.saturating_add(piece.body));
        let place = places.entry(function).or_default();
        place.sharing = place.sharing.max(sharing);
        place.pieces.push((range.0, sharing));
        match place.ranges.last_mut() {
            // Another function was cut out before, or there is only a change of rows.
            Some(last) if last.1 == range.0 => last.1 = range.1,
            _ => place.ranges.push(range),
        }
    })?;
    Ok(places)
}

/// What the compiler placed apart (`f` and `f.cold`), of all functions, in order of address.
///
/// # Errors
/// The file is damaged.
pub(crate) fn parts(file: &SymbolFile<'_>) -> Result<FxHashMap<FunctionId, Vec<Part>>, Error> {
    let mut parts: FxHashMap<FunctionId, Vec<Part>> = FxHashMap::default();
    each_owner(file, |piece, owned| add_part(parts.entry(owned.function).or_default(), piece, owned.name))?;
    Ok(parts)
}

/// One function of a piece.
struct Owned {
    function: FunctionId,
    /// How many functions have the piece.
    sharing: u32,
    /// The symbol that starts the piece where it differs from the function's own name.
    name: Option<NameId>,
}

/// Gives each piece with each of its functions. Pieces know their functions and not the other way round, so
/// this goes over all of them, once.
fn each_owner(file: &SymbolFile<'_>, mut give: impl FnMut(&Piece, Owned)) -> Result<(), Error> {
    for id in (0..file.records().piece_count()).map(PieceId) {
        let piece = file.records().piece(id)?;
        if piece.body == 0 {
            continue;
        }
        match piece.owner {
            Owner::Function(function) => give(&piece, Owned { function, sharing: 1, name: piece.name }),
            Owner::Group(group) => {
                let group = file.records().group(group)?;
                for member in file.records().members(group) {
                    let Member { function, name, .. } = member?;
                    give(&piece, Owned { function, sharing: group.len(), name });
                }
            }
        }
    }
    Ok(())
}

//! Collects the ranges of functions: pieces refer to their functions, and this inverts that relation.

use foldsym_lookup::records::{Owner, Piece};
use foldsym_lookup::{Error, FunctionId, Member, NameId, PieceId, SectionId, SymbolFile, What};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where a function's code is.
#[derive(Default)]
pub struct Places {
    /// Half-open ranges, in order of address.
    pub ranges: Vec<(u64, u64)>,
    /// The most functions that one of the ranges has.
    pub sharing: u32,
    /// The pieces of the ranges: the start of each, and how many functions share it.
    pub pieces: Vec<(u64, u32)>,
}

/// A part of a function that the compiler placed apart from the others.
pub struct FunctionPart {
    /// Half-open; code of another function may have been cut out of it.
    pub range: (u64, u64),
    /// The symbol at its start, if that is not the function's own: then the function is not entered here.
    pub name: Option<NameId>,
}

/// The part at which a function is entered; `None` if there are several possible parts, since no symbol distinguishes them.
pub fn entry(parts: &[FunctionPart]) -> Option<&FunctionPart> {
    let mut unnamed = parts.iter().filter(|part| part.name.is_none());
    unnamed.next().filter(|_| unnamed.next().is_none())
}

fn add_part(parts: &mut Vec<FunctionPart>, piece: &Piece, name: Option<NameId>) {
    let (start, end) = (piece.function_start().0, piece.start.0.saturating_add(piece.body));
    match parts.last_mut() {
        // The rest, after another function that was cut out.
        Some(last) if piece.skip > 0 && last.range.0 == start => last.range.1 = end,
        // Only a change of rows.
        Some(last) if name.is_none() && last.name.is_none() && last.range.1 == start => last.range.1 = end,
        _ => parts.push(FunctionPart { range: (start, end), name }),
    }
}

/// Collects the pieces of the functions.
///
/// # Errors
/// The file is damaged.
pub fn places(file: &SymbolFile<'_>, wanted: &[FunctionId]) -> Result<FxHashMap<FunctionId, Places>, Error> {
    let wanted: FxHashSet<FunctionId> = wanted.iter().copied().collect();
    let mut places: FxHashMap<FunctionId, Places> = FxHashMap::default();
    each_owner(file, |piece, Owned { function, sharing, .. }| {
        if !wanted.contains(&function) {
            return;
        }
        // Padding is left out. The sum saturates, since a damaged piece may have any length.
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

/// The parts that the compiler split functions into (`f` and `f.cold`), in order of address: those that are wanted, by function and name.
///
/// # Errors
/// The file is damaged.
pub fn parts(
    file: &SymbolFile<'_>,
    mut is_wanted: impl FnMut(FunctionId, Option<NameId>) -> bool,
) -> Result<FxHashMap<FunctionId, Vec<FunctionPart>>, Error> {
    let mut parts: FxHashMap<FunctionId, Vec<FunctionPart>> = FxHashMap::default();
    each_owner(file, |piece, Owned { function, name, .. }| {
        if is_wanted(function, name) {
            add_part(parts.entry(function).or_default(), piece, name);
        }
    })?;
    Ok(parts)
}

/// One function of a piece.
struct Owned {
    function: FunctionId,
    /// How many functions have the piece.
    sharing: u32,
    /// The symbol at the start of the piece, if it differs from the function's own name.
    name: Option<NameId>,
}

/// Visits each piece with each of its functions. Pieces refer to their functions, but functions do not refer to their pieces, so this
/// visits all pieces, once.
fn each_owner(file: &SymbolFile<'_>, mut give: impl FnMut(&Piece, Owned)) -> Result<(), Error> {
    let mut visits = Visits::of(file);
    for id in (0..file.records().piece_count()).map(PieceId) {
        let piece = file.records().piece(id)?;
        // A piece without a body is padding, which no function owns.
        if piece.body == 0 {
            continue;
        }
        match piece.owner {
            Owner::Function(function) => give(&piece, Owned { function, sharing: 1, name: piece.name }),
            Owner::Group(group) => {
                let group = file.records().group(group)?;
                visits.take(group.len(), SectionId::PIECES, id.0)?;
                for member in file.records().members(group) {
                    let Member { function, name, .. } = member?;
                    give(&piece, Owned { function, sharing: group.len(), name });
                }
            }
        }
    }
    Ok(())
}

/// How many members of groups a walk over all pieces may still visit. Any number of pieces may name one group: without a bound, a file
/// could take the square of its size in time, and in the memory of what is kept for each visit.
pub struct Visits {
    left: u64,
}

impl Visits {
    /// Visits for each byte of a file: a member takes bytes of its own, and a group has few pieces and few calls of other modules.
    const A_BYTE: u64 = 4;
    /// And as many for any file, since records of constants take no bytes.
    const FLOOR: u64 = 1 << 20;

    /// The visits that the size of a file allows.
    pub fn of(file: &SymbolFile<'_>) -> Self {
        let bytes = file.records().bytes().len() as u64;
        Self { left: bytes.saturating_mul(Self::A_BYTE).saturating_add(Self::FLOOR) }
    }

    /// Takes the members of a group, before they are visited. `record` of `section` leads to the group.
    ///
    /// # Errors
    /// Too few visits are left: the file is damaged at this record.
    pub fn take(&mut self, members: u32, section: SectionId, record: u32) -> Result<(), Error> {
        let left = self.left.checked_sub(members.into());
        self.left = left.ok_or(Error { section, what: What::Length, offset: record.into() })?;
        Ok(())
    }
}

//! Finds the addresses of functions that the linker folded and whose debug information it erased.
//!
//! A subprogram that has a tombstone for an address, and no line sequence of its own to tell (`read` takes
//! those), was folded, or discarded as a copy of a function that another unit has, or removed since nobody calls
//! it. Two things still tell where it went, in this order. *Symbols*: lld leaves the symbol of a folded function
//! at the address of the one that remains. *Line sequences*: a linker erases those of functions that it
//! discards, but not those of functions that it folds, so a sequence of the unit that none of its functions
//! claims, and that begins where a function remains, is that of a folded one.
//!
//! Either counts only where a function of the same size remains at the address. A copy of a function that remains
//! is no fold: its name is already there.

use rustc_hash::{FxHashMap, FxHashSet};

use super::merge::Merged;
use super::names::is_program_wide;
use super::symbols::{CodeSymbol, Symbols};
use crate::model::{
    BareLines, How, ImageAddr, NONE16, NameId, OriginId, RowRange, Unit, UnitErased, UnitFunction, UnitPiece,
};
use crate::report::{Diagnostics, Kind};

/// An erased function: its unit and its place in [`Unit::erased`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Erased {
    unit: usize,
    index: usize,
}

/// Gives the erased functions that are found again an address, and counts the others.
pub(super) fn recover(merged: &mut Merged<'_>, symbols: &Symbols<'_>, diagnostics: &mut Diagnostics) {
    let units = &merged.program.units;
    let all: Vec<Erased> = (0..units.len())
        .flat_map(|unit| (0..units[unit].erased.len()).map(move |index| Erased { unit, index }))
        .collect();
    if all.is_empty() {
        return;
    }
    let mut finder = Finder::new(merged, symbols);
    finder.by_symbol(&all);
    finder.by_sequence(&all, diagnostics);
    let Finder { found, .. } = finder;
    count(merged, &all, &found, diagnostics);
    add(merged, &all, found);
}

/// Where an erased function was found.
struct Found {
    start: u64,
    how: How,
    /// Index into [`Unit::unclaimed`] of its own rows.
    sequence: Option<usize>,
}

struct Finder<'m, 'f> {
    merged: &'m Merged<'f>,
    symbols: &'m Symbols<'f>,
    /// Ranges of functions that remain, with what stands there.
    remaining: FxHashMap<(u64, u64), Vec<OriginId>>,
    found: FxHashMap<(usize, usize), Found>,
    /// Sequences that were given to a function: unit and index.
    taken: FxHashSet<(usize, usize)>,
}

impl<'m, 'f> Finder<'m, 'f> {
    fn new(merged: &'m Merged<'f>, symbols: &'m Symbols<'f>) -> Self {
        let mut remaining: FxHashMap<(u64, u64), Vec<OriginId>> = FxHashMap::default();
        for (unit, map) in merged.program.units.iter().zip(&merged.program.maps) {
            for function in &unit.functions {
                let piece = unit.pieces[function.pieces.start as usize];
                let range = (piece.start.0, piece.start.0 + u64::from(piece.len));
                remaining.entry(range).or_default().push(map.origins[function.origin.index()]);
            }
        }
        Finder { merged, symbols, remaining, found: FxHashMap::default(), taken: FxHashSet::default() }
    }

    fn erased(&self, at: Erased) -> &UnitErased {
        &self.merged.program.units[at.unit].erased[at.index]
    }

    fn origin(&self, at: Erased) -> OriginId {
        self.merged.program.maps[at.unit].origins[self.erased(at).origin.index()]
    }

    fn name(&self, at: Erased) -> NameId {
        self.merged.program.origins[self.origin(at).index()].name
    }

    /// Evidence 4: the symbol table has the function's name, at the address of another.
    fn by_symbol(&mut self, all: &[Erased]) {
        let mut by_name: FxHashMap<NameId, Vec<Erased>> = FxHashMap::default();
        for &at in all.iter().filter(|at| !self.erased(**at).removed) {
            by_name.entry(self.name(at)).or_default().push(at);
        }
        for symbol in self.symbols.iter().filter(|symbol| symbol.function && symbol.sized) {
            let Some(name) = self.merged.name_of(symbol.name) else { continue };
            let Some(erased) = by_name.get(&name) else { continue };
            if !self.folded_here(symbol, name) {
                continue;
            }
            let fits = |at: &&Erased| self.symbol_fits(symbol, **at);
            // One a name and address: the one whose unit has a line sequence there, else the first.
            let with_rows = erased
                .iter()
                .filter(fits)
                .find_map(|&at| Some((at, Some(self.sequence_at(at, symbol.start)?))));
            let Some((at, sequence)) = with_rows.or_else(|| erased.iter().find(fits).map(|&at| (at, None)))
            else {
                continue;
            };
            self.taken.extend(sequence.map(|sequence| (at.unit, sequence)));
            self.found.insert((at.unit, at.index), Found { start: symbol.start, how: How::Symbol, sequence });
        }
    }

    /// True where a function of another name remains in the symbol's range, and none of this name.
    fn folded_here(&self, symbol: &CodeSymbol<'f>, name: NameId) -> bool {
        let named = |origin: &OriginId| self.merged.program.origins[origin.index()].name == name;
        match self.remaining.get(&(symbol.start, symbol.end)) {
            Some(origins) => !origins.iter().any(named),
            None => {
                let other = |s: &CodeSymbol<'_>| s.function && s.end == symbol.end && s.name != symbol.name;
                self.symbols.at(symbol.start).iter().any(other)
            }
        }
    }

    fn symbol_fits(&self, symbol: &CodeSymbol<'f>, at: Erased) -> bool {
        let erased = self.erased(at);
        let unit = &self.merged.program.units[at.unit];
        erased.size == symbol.end - symbol.start
            && !self.found.contains_key(&(at.unit, at.index))
            && (!symbol.local || symbol.file.is_empty() || base_name(&unit.name) == base_name(symbol.file))
    }

    /// The sequence of the function's unit that begins at `start`, has its size and fits its declaration best.
    fn sequence_at(&self, at: Erased, start: u64) -> Option<usize> {
        let unit = &self.merged.program.units[at.unit];
        let first = unit.unclaimed.partition_point(|lines| lines.start.0 < start);
        let at_start = unit.unclaimed[first..].iter().take_while(|lines| lines.start.0 == start);
        let free = at_start.enumerate().map(|(i, lines)| (first + i, lines)).filter(|(index, lines)| {
            u64::from(lines.len) == self.erased(at).size && !self.taken.contains(&(at.unit, *index))
        });
        free.min_by_key(|(_, lines)| self.distance(at, lines).unwrap_or(u32::MAX)).map(|(index, _)| index)
    }

    /// Lines from the declaration of a function to the first row of a sequence; `None` where that is in another
    /// file or before it.
    fn distance(&self, at: Erased, lines: &BareLines) -> Option<u32> {
        let unit = &self.merged.program.units[at.unit];
        let map = &self.merged.program.maps[at.unit];
        let row = unit.rows.get(lines.rows.start as usize).filter(|row| row.file != NONE16)?;
        let origin = self.merged.program.origins[self.origin(at).index()];
        let same_file = origin.file == Some(map.files[usize::from(row.file)]);
        if same_file && origin.line > 0 { row.line.checked_sub(origin.line) } else { None }
    }

    /// Evidence 5: a sequence that no function claims, where a function of its length remains.
    fn by_sequence(&mut self, all: &[Erased], diagnostics: &mut Diagnostics) {
        for unit in all.chunk_by(|a, b| a.unit == b.unit) {
            let unit_index = unit[0].unit;
            for index in 0..self.merged.program.units[unit_index].unclaimed.len() {
                if self.taken.contains(&(unit_index, index)) {
                    continue;
                }
                let lines = self.merged.program.units[unit_index].unclaimed[index];
                let range = (lines.start.0, lines.start.0 + u64::from(lines.len));
                let Some(remaining) = self.remaining.get(&range) else { continue };
                let candidates = unit.iter().filter(|&&at| {
                    let erased = self.erased(at);
                    erased.size == u64::from(lines.len)
                        && !erased.removed
                        && !remaining.contains(&self.origin(at))
                        && !self.found.contains_key(&(at.unit, at.index))
                });
                let near = candidates.filter_map(|&at| Some((self.distance(at, &lines)?, at)));
                let mut near: Vec<(u32, Erased)> = near.collect();
                near.sort_unstable();
                match near[..] {
                    [] => {}
                    [(first, _), (second, _), ..] if first == second => {
                        diagnostics.add(Kind::AmbiguousSequence, lines.start.0, || {
                            format!("{:#x}..{:#x} fits several functions", range.0, range.1)
                        });
                    }
                    [(_, at), ..] => {
                        self.taken.insert((unit_index, index));
                        let found =
                            Found { start: lines.start.0, how: How::LineSequence, sequence: Some(index) };
                        self.found.insert((at.unit, at.index), found);
                    }
                }
            }
        }
    }
}

/// Tells apart what was not found again: copies of functions that the program has, and what it has no more.
fn count(
    merged: &Merged<'_>,
    all: &[Erased],
    found: &FxHashMap<(usize, usize), Found>,
    diagnostics: &mut Diagnostics,
) {
    let (mut live, mut folded): (FxHashSet<NameId>, FxHashSet<NameId>) = Default::default();
    let name = |unit: usize, origin: crate::model::LocalOrigin| {
        merged.program.origins[merged.program.maps[unit].origins[origin.index()].index()].name
    };
    for (index, unit) in merged.program.units.iter().enumerate() {
        for function in &unit.functions {
            let set = if function.how == How::LiveRange { &mut live } else { &mut folded };
            set.insert(name(index, function.origin));
        }
    }
    let is_found = |at: &&Erased| found.contains_key(&(at.unit, at.index));
    folded.extend(
        all.iter()
            .filter(is_found)
            .map(|at| name(at.unit, merged.program.units[at.unit].erased[at.index].origin)),
    );
    for at in all {
        let erased = &merged.program.units[at.unit].erased[at.index];
        let name = name(at.unit, erased.origin);
        let text = || String::from_utf8_lossy(merged.name_bytes(name)).into_owned();
        let shared = erased.external || is_program_wide(merged.name_bytes(name));
        let kind = match found.get(&(at.unit, at.index)) {
            Some(found) => {
                diagnostics
                    .add(Kind::FoldedFunction, erased.die.0, || format!("recovered at {:#x}", found.start));
                continue;
            }
            None if shared && live.contains(&name) => Kind::CopyOfLive,
            None if shared && folded.contains(&name) => Kind::CopyOfFolded,
            None => Kind::DeadFunction,
        };
        diagnostics.add(kind, erased.die.0, text);
    }
}

/// Makes functions of those that were found.
fn add(merged: &mut Merged<'_>, all: &[Erased], mut found: FxHashMap<(usize, usize), Found>) {
    for at in all {
        let Some(Found { start, how, sequence }) = found.remove(&(at.unit, at.index)) else { continue };
        let unit = &mut merged.program.units[at.unit];
        let erased = unit.erased[at.index].clone();
        let rows = sequence.map_or(RowRange::default(), |index| unit.unclaimed[index].rows);
        let Unit { pieces, functions, scopes, .. } = unit;
        pieces.push(UnitPiece { start: ImageAddr(start), len: erased.size as u32, rows });
        functions.push(UnitFunction {
            die: erased.die,
            origin: erased.origin,
            how,
            pieces: pieces.len() as u32 - 1..pieces.len() as u32,
            scopes: scopes.len() as u32..scopes.len() as u32,
            calls: erased.calls,
        });
    }
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

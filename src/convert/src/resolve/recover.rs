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
use super::names::{COLD, is_program_wide, source_name};
use super::symbols::{CodeSymbol, Symbols};
use crate::model::{
    BareLines, DieOffset, How, ImageAddr, MAX_PIECE, NONE16, NameId, OriginId, RowRange, Unit, UnitErased,
    UnitFunction, UnitPiece,
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
    let Finder { found, capped, .. } = finder;
    if capped {
        diagnostics.add(Kind::CapReached, 0, || {
            format!("over {MAX_TOGETHER} folded functions of one name, or of one unit at one address: not all were found")
        });
    }
    count(merged, &all, &found, diagnostics);
    add(merged, &all, found);
}

/// Functions and sequences of one unit at one address that are compared with each other.
const MAX_TOGETHER: usize = 1024;

/// Functions that remain at one address that each symbol there is compared with.
const MAX_REMAINING: usize = 4096;

/// Where an erased function was found.
struct Found {
    start: u64,
    end: u64,
    how: How,
    /// Index into [`Unit::unclaimed`] of its own rows.
    sequence: Option<usize>,
}

struct Finder<'m, 'f> {
    merged: &'m Merged<'f>,
    symbols: &'m Symbols<'f>,
    /// Ranges of functions that remain, with the unit and the origin of each that stands there.
    remaining: FxHashMap<(u64, u64), Vec<(usize, OriginId)>>,
    found: FxHashMap<(usize, usize), Found>,
    /// Sequences that were given to a function: unit and index.
    taken: FxHashSet<(usize, usize)>,
    /// More functions or sequences stand in one place than are compared.
    capped: bool,
}

impl<'m, 'f> Finder<'m, 'f> {
    fn new(merged: &'m Merged<'f>, symbols: &'m Symbols<'f>) -> Self {
        let mut remaining: FxHashMap<(u64, u64), Vec<(usize, OriginId)>> = FxHashMap::default();
        for (index, (unit, map)) in merged.program.units.iter().zip(&merged.program.maps).enumerate() {
            for function in &unit.functions {
                for piece in &unit.pieces[function.pieces.start as usize..function.pieces.end as usize] {
                    let range = (piece.start.0, piece.start.0 + u64::from(piece.len));
                    remaining.entry(range).or_default().push((index, map.origins[function.origin.index()]));
                }
            }
        }
        Finder {
            merged,
            symbols,
            remaining,
            found: FxHashMap::default(),
            taken: FxHashSet::default(),
            capped: false,
        }
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
            let Some(erased) =
                spellings(symbol.name).find_map(|name| by_name.get(&self.merged.name_of(name)?))
            else {
                continue;
            };
            let fits = |at: &&Erased| self.symbol_fits(symbol, **at);
            // One a name and address: the one whose unit has a line sequence there, else the first.
            let with_rows = |at: &&Erased| self.sequences(at.unit, symbol.start, symbol.end).next().is_some();
            let mut fitting = erased.iter().take(MAX_TOGETHER).filter(fits);
            let first = fitting.next();
            let chosen = first.into_iter().chain(fitting).find(with_rows).or(first);
            self.capped |= erased.len() > MAX_TOGETHER;
            if let Some(at) = chosen {
                let found = Found { start: symbol.start, end: symbol.end, how: How::Symbol, sequence: None };
                self.found.insert((at.unit, at.index), found);
            }
        }
        self.give_sequences(all);
    }

    /// Gives the functions that a unit has at one address the sequences that it has there: those that fit the
    /// declarations best first, and the last to the last.
    fn give_sequences(&mut self, all: &[Erased]) {
        let mut together: Vec<(usize, u64, u64, Erased)> = all
            .iter()
            .filter_map(|&at| {
                let found = self.found.get(&(at.unit, at.index))?;
                Some((at.unit, found.start, found.end, at))
            })
            .collect();
        together.sort_unstable();
        for here in together.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
            let (unit, start, end, _) = here[0];
            self.capped |= here.len() > MAX_TOGETHER;
            let mut functions: Vec<Erased> = here.iter().map(|entry| entry.3).take(MAX_TOGETHER).collect();
            let mut sequences: Vec<usize> = self.sequences(unit, start, end).take(MAX_TOGETHER).collect();
            let unclaimed = &self.merged.program.units[unit].unclaimed;
            let mut pairs: Vec<(u32, Erased, usize)> = functions
                .iter()
                .flat_map(|&at| sequences.iter().map(move |&index| (at, index)))
                .filter_map(|(at, index)| Some((self.distance(at, &unclaimed[index])?, at, index)))
                .collect();
            pairs.sort_unstable();
            let mut give = |finder: &mut Self, at: Erased, index: usize| {
                functions.retain(|other| *other != at);
                sequences.retain(|other| *other != index);
                finder.taken.insert((unit, index));
                if let Some(found) = finder.found.get_mut(&(at.unit, at.index)) {
                    found.sequence = Some(index);
                }
                if let ([at], [index]) = (&functions[..], &sequences[..]) {
                    Some((*at, *index))
                } else {
                    None
                }
            };
            let mut last = match (here, pairs.is_empty()) {
                ([only], true) => self.sequences(unit, start, end).next().map(|index| (only.3, index)),
                _ => None,
            };
            for (_, at, index) in pairs {
                let free = self.found.get(&(at.unit, at.index)).is_some_and(|found| found.sequence.is_none());
                if free && !self.taken.contains(&(unit, index)) {
                    last = give(self, at, index);
                }
            }
            if let Some((at, index)) = last {
                give(self, at, index);
            }
        }
    }

    /// The sequences of a unit that nobody has, and that cover a range.
    fn sequences(&self, unit: usize, start: u64, end: u64) -> impl Iterator<Item = usize> {
        let unclaimed = &self.merged.program.units[unit].unclaimed;
        let first = unclaimed.partition_point(|lines| lines.start.0 < start);
        let at_start = unclaimed[first..].iter().take_while(move |lines| lines.start.0 == start);
        at_start
            .enumerate()
            .filter(move |(_, lines)| u64::from(lines.len) == end - start)
            .map(move |(i, _)| first + i)
            .filter(move |index| !self.taken.contains(&(unit, *index)))
    }

    /// True where another function remains in the symbol's range, and not this one.
    fn folded_here(&self, symbol: &CodeSymbol<'f>, at: Erased) -> bool {
        let (own, name) = (self.origin(at), self.name(at));
        let wide = is_program_wide(self.merged.name_bytes(name)) || self.erased(at).external;
        // A static function of a header is another one in each unit.
        let same = |&(unit, origin): &(usize, OriginId)| match wide {
            true => self.merged.program.origins[origin.index()].name == name,
            false => origin == own && unit == at.unit,
        };
        match self.remaining.get(&(symbol.start, symbol.end)) {
            Some(origins) => !origins.iter().take(MAX_REMAINING).any(same),
            None => {
                let other = |s: &CodeSymbol<'_>| s.function && s.end == symbol.end && s.name != symbol.name;
                self.symbols.at(symbol.start).iter().take(MAX_REMAINING).any(other)
            }
        }
    }

    fn symbol_fits(&self, symbol: &CodeSymbol<'f>, at: Erased) -> bool {
        let erased = self.erased(at);
        let unit = &self.merged.program.units[at.unit];
        // What is split off has a suffix to its name, as have copies that a compiler specialised.
        let cold = symbol.name.windows(COLD.len()).any(|part| part == COLD);
        (erased.size == symbol.end - symbol.start || erased.size == 0)
            && erased.part == cold
            && !self.found.contains_key(&(at.unit, at.index))
            && (!symbol.local || symbol.file.is_empty() || base_name(&unit.name) == base_name(symbol.file))
            && self.folded_here(symbol, at)
    }

    /// Lines from the declaration of a function to the nearest row of a sequence; `None` where no row is behind it in
    /// its file.
    fn distance(&self, at: Erased, lines: &BareLines) -> Option<u32> {
        let unit = &self.merged.program.units[at.unit];
        let map = &self.merged.program.maps[at.unit];
        let origin = self.merged.program.origins[self.origin(at).index()];
        let file = origin.file.filter(|_| origin.line > 0)?;
        let rows = &unit.rows[lines.rows.start as usize..][..lines.rows.len as usize];
        let own = rows.iter().filter(|row| row.file != NONE16 && map.files[usize::from(row.file)] == file);
        own.filter_map(|row| row.line.checked_sub(origin.line)).min()
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
                        && !remaining.contains(&(at.unit, self.origin(at)))
                        && !self.found.contains_key(&(at.unit, at.index))
                });
                let near =
                    candidates.take(MAX_TOGETHER).filter_map(|&at| Some((self.distance(at, &lines)?, at)));
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
                        let found = Found {
                            start: range.0,
                            end: range.1,
                            how: How::LineSequence,
                            sequence: Some(index),
                        };
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
        let kind = if erased.part && kind == Kind::DeadFunction { Kind::DeadRange } else { kind };
        diagnostics.add(kind, erased.die.0, text);
    }
}

/// Makes functions of those that were found, and pieces of ranges whose functions have others.
fn add(merged: &mut Merged<'_>, all: &[Erased], mut found: FxHashMap<(usize, usize), Found>) {
    for unit_erased in all.chunk_by(|a, b| a.unit == b.unit) {
        let unit = &mut merged.program.units[unit_erased[0].unit];
        let mut of_die: Option<FxHashMap<DieOffset, usize>> = None;
        for at in unit_erased {
            let Some(Found { start, end, how, sequence }) = found.remove(&(at.unit, at.index)) else {
                continue;
            };
            let erased = unit.erased[at.index].clone();
            let rows = sequence.map_or(RowRange::default(), |index| unit.unclaimed[index].rows);
            let piece =
                UnitPiece { start: ImageAddr(start), len: (end - start).min(MAX_PIECE) as u32, how, rows };
            let of_die = of_die.get_or_insert_with(|| {
                unit.functions.iter().enumerate().map(|(index, function)| (function.die, index)).collect()
            });
            let Unit { pieces, functions, scopes, .. } = &mut *unit;
            let first = pieces.len() as u32;
            match of_die.get(&erased.die) {
                Some(&index) => {
                    let old = functions[index].pieces.clone();
                    // The entry is the first piece.
                    if erased.part {
                        pieces.extend_from_within(old.start as usize..old.end as usize);
                        pieces.push(piece);
                    } else {
                        pieces.push(piece);
                        pieces.extend_from_within(old.start as usize..old.end as usize);
                    }
                    functions[index].pieces = first..pieces.len() as u32;
                }
                None => {
                    of_die.insert(erased.die, functions.len());
                    pieces.push(piece);
                    functions.push(UnitFunction {
                        die: erased.die,
                        origin: erased.origin,
                        how,
                        external: erased.external,
                        pieces: first..first + 1,
                        scopes: scopes.len() as u32..scopes.len() as u32,
                        lost: erased.lost,
                        calls: erased.calls,
                    });
                }
            }
        }
    }
}

/// The names that a function of this symbol may have in its DIE: the symbol's, that before a suffix which a
/// compiler adds to copies and parts, the plain one of a mangled name.
fn spellings(symbol: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = symbol.split(|byte| *byte == b'.').next().filter(|whole| !whole.is_empty());
    [Some(symbol), whole, whole.and_then(source_name)].into_iter().flatten()
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

//! Gives recovered functions their code, and classifies the erased functions that were not recovered.

use crate::diagnostics::{Diagnostics, Kind};
use crate::merge::names::Names;
use crate::model::{
    DieOffset, ImageAddr, LocalOrigin, MAX_PIECE, RowRange, UnitCode, UnitFunction, UnitId, UnitPiece,
};
use crate::program::names::itanium::is_program_wide;
use crate::recover::erased::{Erased, FoundAt};
use crate::recover::recovered::Recovered;
use crate::recover::survivors::LiveFunctions;
use crate::util::hash::{HashMap, HashSet};

/// Classifies the functions that were not recovered: copies of functions that the program has, and functions that it
/// no longer has.
pub(crate) fn count(
    names: &Names<'_>,
    recovered: &Recovered<'_, '_>,
    all: &[Erased],
    LiveFunctions { live, mut folded, .. }: LiveFunctions,
    found: &HashMap<Erased, FoundAt>,
    diagnostics: &mut Diagnostics,
) {
    let name = |unit: UnitId, origin: LocalOrigin| names.of_origin(recovered.units.origin_of(unit, origin));
    let is_found = |at: &&Erased| found.contains_key(*at);
    // In a pass of its own: a copy of a folded function may come before it.
    for at in all.iter().filter(is_found) {
        folded[name(at.unit, recovered.records.units[at.unit.index()].erased[at.index].origin).index()] =
            true;
    }
    for at in all {
        let erased = &recovered.records.units[at.unit.index()].erased[at.index];
        let name = name(at.unit, erased.origin);
        let text = || String::from_utf8_lossy(names.text(name)).into_owned();
        let shared = erased.external || is_program_wide(names.text(name));
        let kind = match found.get(at) {
            Some(found) => {
                diagnostics.add(Kind::FoldedFunction, erased.die.0, || {
                    format!("recovered at {:#x}", found.range.start)
                });
                continue;
            }
            // Only a name that units share: the `static` function of another file is another function, however it is called.
            None if shared && live[name.index()] => Kind::CopyOfLive,
            None if shared && folded[name.index()] => Kind::CopyOfFolded,
            None => Kind::DeadFunction,
        };
        let kind = if erased.part && kind == Kind::DeadFunction { Kind::DeadRange } else { kind };
        diagnostics.add(kind, erased.die.0, text);
    }
}

/// A line sequence that no live function of its unit has: the unit, and the index in [`crate::model::UnitTraces::unclaimed`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Unclaimed {
    pub(crate) unit: UnitId,
    pub(crate) index: usize,
}

/// Counts sequences that fit several functions, or a function that a symbol places elsewhere; and sequences that
/// begin at a recovered function and do not end with it. `taken`: the sequences of recovered functions.
pub(crate) fn count_ambiguous(
    recovered: &Recovered<'_, '_>,
    known: &LiveFunctions,
    (found, taken): (&HashMap<Erased, FoundAt>, &HashSet<Unclaimed>),
    diagnostics: &mut Diagnostics,
) {
    let without = found.iter().filter(|(_, found)| found.sequence.is_none());
    let without: HashSet<(UnitId, ImageAddr)> =
        without.map(|(at, found)| (at.unit, found.range.start)).collect();
    for (unit, found) in recovered.numbered() {
        for (index, lines) in found.traces.unclaimed.iter().enumerate() {
            let range = lines.range();
            if !lines.in_doubt
                && !found.records.erased.is_empty()
                && !taken.contains(&Unclaimed { unit, index })
                && (known.at(range).is_some() || without.contains(&(unit, range.start)))
            {
                diagnostics.add(Kind::AmbiguousSequence, range.start.0, || {
                    format!("{:#x}..{:#x} fits several functions, or none", range.start, range.end)
                });
            }
        }
    }
}

/// Adds recovered functions to their units, and recovered parts to their functions.
pub(crate) fn add<'u, 'f>(
    mut recovered: Recovered<'u, 'f>,
    all: &[Erased],
    mut found: HashMap<Erased, FoundAt>,
) -> Recovered<'u, 'f> {
    for unit_erased in all.chunk_by(|a, b| a.unit == b.unit) {
        let unit = unit_erased[0].unit.index();
        let (records, traces) = (&recovered.records.units[unit], &recovered.traces[unit]);
        let UnitCode { pieces, functions, scopes, .. } = &mut recovered.code[unit];
        let mut of_die: Option<HashMap<DieOffset, usize>> = None;
        for at in unit_erased {
            let Some(FoundAt { range, how, sequence }) = found.remove(at) else {
                continue;
            };
            let erased = records.erased[at.index].clone();
            let rows = sequence.map_or(RowRange::default(), |index| traces.unclaimed[index].rows);
            let len = range.len().min(MAX_PIECE) as u32;
            let piece = UnitPiece { start: range.start, len, how, rows };
            // Built when the first function is found: most units have no recovered function, and the table has an entry for
            // each function.
            let of_die = of_die.get_or_insert_with(|| {
                functions.iter().enumerate().map(|(index, function)| (function.die, index)).collect()
            });
            let first = pieces.len() as u32;
            match of_die.get(&erased.die) {
                Some(&index) => {
                    // The pieces of a function are one run of the list, so its old ones are copied beside the new one.
                    let old = functions[index].pieces.clone();
                    let old = pieces[old.start as usize..old.end as usize].to_vec();
                    // The first piece of a function is its entry.
                    if erased.part {
                        pieces.own_mut().extend(old);
                        pieces.push(piece);
                    } else {
                        pieces.push(piece);
                        pieces.own_mut().extend(old);
                    }
                    functions[index].pieces = first..pieces.len() as u32;
                }
                None => {
                    of_die.insert(erased.die, functions.len());
                    pieces.push(piece);
                    functions.push(UnitFunction {
                        die: erased.die,
                        origin: erased.origin,
                        instance: erased.instance,
                        how,
                        external: erased.external,
                        pieces: first..first + 1,
                        scopes: scopes.len() as u32..scopes.len() as u32,
                        // Inlined code and calls have lost their addresses: `inlines` finds the places of the inlined code, and
                        // `keys` aligns the calls with those of the survivor.
                        lost: erased.lost,
                        calls: erased.calls,
                    });
                }
            }
        }
    }
    recovered
}

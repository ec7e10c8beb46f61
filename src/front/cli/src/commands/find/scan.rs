//! Finds the functions of matching names by reading a file's names one by one: without an index, and for names of which parts are left out.

use std::collections::BTreeSet;

use foldsym_demangle::{Query, demangle};
use foldsym_lookup::records::Owner;
use foldsym_lookup::{Error, FunctionId, NameId, PieceId, SectionId, SymbolFile, What};
use rustc_hash::FxHashMap;

use super::keys::Wanted;
use crate::answer::open::name_bytes;
use foldsym_symbolize::places::Visits;

/// Most names that are proposed if none matches.
const MOST_NEAR: usize = 5;

/// The functions that have a matching name, in the order of the file, each once.
pub(super) fn functions(file: &SymbolFile<'_>, wanted: &mut Wanted) -> Result<Vec<FunctionId>, Error> {
    let mut found = BTreeSet::new();
    let mut seen: FxHashMap<u32, bool> = FxHashMap::default();
    each_name(file, |function, name| {
        // Functions may share a name, and each name is demangled once.
        let matches = match seen.get(&name.0) {
            Some(matches) => *matches,
            None => {
                let matches = wanted.matches(&bytes(file, name)?);
                seen.insert(name.0, matches);
                matches
            }
        };
        if matches {
            found.insert(function.0);
        }
        Ok(())
    })?;
    Ok(found.into_iter().map(FunctionId).collect())
}

/// Readable names of functions that are spelled nearly so, the nearest first.
pub(super) fn near(file: &SymbolFile<'_>, query: &mut Query) -> Result<Vec<String>, Error> {
    let mut nearest: BTreeSet<(u32, String)> = BTreeSet::new();
    for id in (0..file.records().function_count()).map(FunctionId) {
        let Some(name) = file.records().function_name(id)? else { continue };
        let name = bytes(file, name)?;
        let Some(distance) = query.distance(&name) else { continue };
        // A name farther than all that are kept is skipped. `distance` has demangled it; it is not demangled again.
        if nearest.len() == MOST_NEAR && nearest.last().is_some_and(|(farthest, _)| *farthest < distance) {
            continue;
        }
        let readable = demangle(&name).unwrap_or_else(|| String::from_utf8_lossy(&name).into_owned());
        nearest.insert((distance, readable));
        if nearest.len() > MOST_NEAR {
            nearest.pop_last();
        }
    }
    Ok(nearest.into_iter().map(|(_, name)| name).collect())
}

/// Calls `call` with every name of a function: its own, its aliases, and those of its pieces.
fn each_name(
    file: &SymbolFile<'_>,
    mut call: impl FnMut(FunctionId, NameId) -> Result<(), Error>,
) -> Result<(), Error> {
    for id in (0..file.records().function_count()).map(FunctionId) {
        if let Some(name) = file.records().function_name(id)? {
            call(id, name)?;
        }
        for alias in file.records().aliases(&file.records().function(id)?) {
            call(id, alias?)?;
        }
    }
    let mut visits = Visits::of(file);
    for id in (0..file.records().piece_count()).map(PieceId) {
        let piece = file.records().piece(id)?;
        match piece.owner {
            Owner::Function(function) => {
                if let Some(name) = piece.name {
                    call(function, name)?;
                }
            }
            Owner::Group(group) => {
                let group = file.records().group(group)?;
                visits.take(group.len(), SectionId::PIECES, id.0)?;
                for member in file.records().members(group) {
                    let member = member?;
                    if let Some(name) = member.name {
                        call(member.function, name)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn bytes(file: &SymbolFile<'_>, name: NameId) -> Result<Vec<u8>, Error> {
    name_bytes(file, name).ok_or(Error { section: SectionId::NAMES, what: What::Name, offset: name.0.into() })
}

//! Where the functions of a linkage name are: made once for a file, for tools, logs and reports that name functions.

use std::collections::{HashMap, HashSet};

use foldsym_lookup::{Error, FunctionId, NameId, SectionId};
use foldsym_store::SymbolMap;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::names::bytes;
use crate::places::{FunctionPart, entry, parts};

/// The kernel counts the gap between two symbols as part of the first: functions begin at multiples of 16 or 64, or have room to be
/// patched.
const PADDING: u64 = 64;

/// Most functions of one wanted name: a name of more says nothing.
const MAX_OF_ONE: usize = 64;

/// The functions of a file by linkage name, aliases too, and their parts with names of their own (`f.cold`). A file may be a stranger's, so the hashes have a key.
pub struct SymbolNames {
    functions: HashMap<Box<[u8]>, Vec<FunctionId>>,
    parts: FxHashMap<FunctionId, Vec<FunctionPart>>,
    /// Functions that have a part of a name.
    of_parts: HashMap<Box<[u8]>, Vec<(FunctionId, NameId)>>,
}

impl SymbolNames {
    /// Reads all names and pieces of a file.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn of(map: &SymbolMap) -> Result<Self, Error> {
        Self::read(map, usize::MAX, |linkage| Some(linkage.into()))
    }

    /// As [`Self::of`], and keeps the functions of some names only, which may be linkage names or demangled. So it takes memory for those names
    /// alone. A name that more than 64 functions have, or parts of more than 64, is not kept.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn of_some(map: &SymbolMap, names: &HashSet<&str>) -> Result<Self, Error> {
        // Demangling each name of a large file takes a second.
        let has_demangled = names.iter().any(|name| name.contains(['(', ':', '<']));
        Self::read(map, MAX_OF_ONE, |linkage| {
            let linkage = String::from_utf8(linkage).ok()?;
            if names.contains(&*linkage) {
                return Some(linkage.into_bytes().into());
            }
            let demangled = foldsym_demangle::demangle(linkage.as_bytes()).filter(|_| has_demangled)?;
            names.contains(&*demangled).then(|| demangled.into_bytes().into())
        })
    }

    /// Keeps the names for which `key` has a text, under that text, if at most so many functions have it.
    fn read(map: &SymbolMap, most: usize, key: impl Fn(Vec<u8>) -> Option<Box<[u8]>>) -> Result<Self, Error> {
        let file = map.file();
        // A damaged name counts as none: nobody can ask for its function.
        let key = |id: NameId| key(bytes(file.records().names(), SectionId::NAMES, id.0).ok()?);
        let mut functions: HashMap<Box<[u8]>, Vec<FunctionId>> = HashMap::new();
        for id in (0..file.records().function_count()).map(FunctionId) {
            let function = file.records().function(id)?;
            let mut add = |name: Option<NameId>| {
                if let Some(name) = name.and_then(&key) {
                    add_one(functions.entry(name).or_default(), id, most);
                }
            };
            add(file.records().function_name(id)?);
            for alias in file.records().aliases(&function) {
                add(Some(alias?));
            }
        }
        functions.retain(|_, functions| functions.len() <= most);
        let is_kept: FxHashSet<FunctionId> = functions.values().flatten().copied().collect();
        // Any number of pieces may have one name, which is read and demangled once.
        let mut is_named: FxHashMap<NameId, bool> = FxHashMap::default();
        let mut is_wanted = |name: NameId| *is_named.entry(name).or_insert_with(|| key(name).is_some());
        let parts =
            parts(file, |function, name| is_kept.contains(&function) || name.is_some_and(&mut is_wanted))?;
        let mut of_parts: HashMap<Box<[u8]>, Vec<(FunctionId, NameId)>> = HashMap::new();
        for id in (0..file.records().function_count()).map(FunctionId) {
            for part in parts.get(&id).into_iter().flatten() {
                let Some((name, text)) = part.name.and_then(|name| Some((name, key(name)?))) else {
                    continue;
                };
                // Several parts of a function may have the same name.
                add_one(of_parts.entry(text).or_default(), (id, name), most);
            }
        }
        of_parts.retain(|_, parts| parts.len() <= most);
        Ok(Self { functions, parts, of_parts })
    }

    /// The parts that a symbol of this name starts: of a function the one at which it is entered.
    fn parts(&self, name: &str) -> impl Iterator<Item = &FunctionPart> {
        let functions = self.functions.get(name.as_bytes()).into_iter().flatten();
        let entries = functions.filter_map(|function| entry(self.parts.get(function)?));
        let named = self.of_parts.get(name.as_bytes()).into_iter().flatten();
        let named = named.filter_map(|(function, name)| Some((self.parts.get(function)?, *name)));
        entries
            .chain(named.flat_map(|(parts, name)| parts.iter().filter(move |part| part.name == Some(name))))
    }

    /// The addresses of the symbols of a name, in order.
    pub fn starts(&self, name: &str) -> Vec<u64> {
        let mut starts: Vec<u64> = self.parts(name).map(|part| part.range.0).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// The address of the symbol of a name. If there are several, the one that has `offset` in its code, and `size` bytes if that is known;
    /// `None` if no symbol fits, or more than one.
    pub fn start(&self, name: &str, offset: u64, size: Option<u64>) -> Option<u64> {
        let fits = |part: &&FunctionPart| {
            let (start, end) = part.range;
            // A call may be the last instruction, and symbols extend to the next one.
            let len = end.saturating_sub(start);
            size.map_or(offset <= len, |size| offset <= size && size.abs_diff(len) < PADDING)
        };
        only(self.parts(name).filter(fits).map(|part| part.range.0))
    }

    /// The address of the only symbol of a name; `None` if there is none, or more than one.
    pub fn only_start(&self, name: &str) -> Option<u64> {
        only(self.parts(name).map(|part| part.range.0))
    }
}

/// Adds an element that is not the last one already, unless there are more than so many.
fn add_one<T: PartialEq>(to: &mut Vec<T>, one: T, most: usize) {
    if to.len() <= most && to.last() != Some(&one) {
        to.push(one);
    }
}

/// The address that all of these are; `None` if there is none, or at the first that differs: a log may ask for a name of very many parts.
fn only(mut starts: impl Iterator<Item = u64>) -> Option<u64> {
    let first = starts.next()?;
    starts.all(|start| start == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_each_element_once_and_shows_that_it_is_too_long() {
        let mut list = Vec::new();
        for one in (0..1000).flat_map(|one| [one, one]) {
            add_one(&mut list, one, 3);
        }
        assert_eq!(list, [0, 1, 2, 3]);
    }

    #[test]
    fn the_only_address_of_several() {
        assert_eq!(only([].into_iter()), None);
        assert_eq!(only([5, 5, 5].into_iter()), Some(5));
        // The second of the different ones is enough.
        let mut asked = 0;
        assert_eq!(only((0..1 << 40).inspect(|_| asked += 1)), None);
        assert_eq!(asked, 2);
    }
}

//! Where the functions of a linkage name are: made once for a file, for tools and logs that name functions.

use std::collections::HashMap;

use foldsym_lookup::{Error, FunctionId, NameId};
use foldsym_symbolize::{Form, Kept, SymbolMap};
use rustc_hash::FxHashMap;

use crate::answer::places::{Part, entry, parts};

/// The kernel counts the gap between two symbols as part of the first: functions begin at multiples of 16 or 64, or have room to be
/// patched.
const PADDING: u64 = 64;

/// The functions of a file by linkage name, aliases too, and their parts with names of their own (`f.cold`). A file may be a stranger's, so the hashes have a key.
pub(crate) struct SymbolNames {
    functions: HashMap<Box<[u8]>, Vec<FunctionId>>,
    parts: FxHashMap<FunctionId, Vec<Part>>,
    /// Functions that have a part of a name.
    of_parts: HashMap<Box<[u8]>, Vec<(FunctionId, NameId)>>,
}

impl SymbolNames {
    /// Reads all names and pieces of a file.
    ///
    /// # Errors
    /// The file is damaged.
    pub(crate) fn of(map: &SymbolMap) -> Result<Self, Error> {
        let file = map.file();
        let mut kept = Kept::new(false, Form::Plain);
        let mut names = kept.of(file, map.path());
        let mut functions: HashMap<Box<[u8]>, Vec<FunctionId>> = HashMap::new();
        for id in (0..file.records().function_count()).map(FunctionId) {
            let function = file.records().function(id)?;
            // `entry` would need an owned key for every name, even for a known one.
            let mut add = |name: &[u8]| match functions.get_mut(name) {
                Some(known) => known.push(id),
                None => _ = functions.insert(name.into(), vec![id]),
            };
            add(names.function(file.records().function_name(id)?));
            for alias in file.records().aliases(&function) {
                add(names.function(Some(alias?)));
            }
        }
        let parts = parts(file)?;
        let mut of_parts: HashMap<Box<[u8]>, Vec<(FunctionId, NameId)>> = HashMap::new();
        for id in (0..file.records().function_count()).map(FunctionId) {
            for part in parts.get(&id).into_iter().flatten() {
                let Some(name) = part.name else { continue };
                let known = of_parts.entry(names.function(Some(name)).into()).or_default();
                // Several parts of a function may have the same name.
                if known.last() != Some(&(id, name)) {
                    known.push((id, name));
                }
            }
        }
        Ok(Self { functions, parts, of_parts })
    }

    /// The parts that a symbol of this name starts: of a function the one at which it is entered.
    fn parts(&self, name: &str) -> impl Iterator<Item = &Part> {
        let functions = self.functions.get(name.as_bytes()).into_iter().flatten();
        let entries = functions.filter_map(|function| entry(self.parts.get(function)?));
        let named = self.of_parts.get(name.as_bytes()).into_iter().flatten();
        let named = named.filter_map(|(function, name)| Some((self.parts.get(function)?, *name)));
        entries
            .chain(named.flat_map(|(parts, name)| parts.iter().filter(move |part| part.name == Some(name))))
    }

    /// The addresses of the symbols of a name, in order.
    pub(crate) fn starts(&self, name: &str) -> Vec<u64> {
        let mut starts: Vec<u64> = self.parts(name).map(|part| part.range.0).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// The address of the symbol of a name. If there are several, the one that has `offset` in its code, and `size` bytes if that is known;
    /// `None` if no symbol fits, or more than one.
    pub(crate) fn start(&self, name: &str, offset: u64, size: Option<u64>) -> Option<u64> {
        let fits = |part: &&Part| {
            let (start, end) = part.range;
            // A call may be the last instruction, and symbols extend to the next one.
            let len = end.saturating_sub(start);
            size.map_or(offset <= len, |size| offset <= size && size.abs_diff(len) < PADDING)
        };
        only(self.parts(name).filter(fits).map(|part| part.range.0))
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
    fn the_only_address_of_several() {
        assert_eq!(only([].into_iter()), None);
        assert_eq!(only([5, 5, 5].into_iter()), Some(5));
        // The second of the different ones is enough.
        let mut asked = 0;
        assert_eq!(only((0..1 << 40).inspect(|_| asked += 1)), None);
        assert_eq!(asked, 2);
    }
}

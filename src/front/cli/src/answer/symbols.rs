//! Where the functions of a linkage name are: made once for a file, for tools and logs that name functions.

use std::collections::HashMap;

use foldsym_lookup::{Error, FunctionId};
use foldsym_symbolize::{Form, Kept, SymbolMap};
use rustc_hash::FxHashMap;

use crate::answer::places::{Places, places};

/// The kernel takes what is between two symbols for the first one's: functions begin at multiples of 16 or 64, or have room to be patched.
const PADDING: u64 = 64;

/// The functions of a file by linkage name, aliases too. A file may be a stranger's, so the hashes have a key.
pub(crate) struct SymbolNames {
    functions: HashMap<Box<[u8]>, Vec<FunctionId>>,
    places: FxHashMap<FunctionId, Places>,
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
        let all: Vec<FunctionId> = (0..file.function_count()).map(FunctionId).collect();
        for &id in &all {
            let function = file.function(id)?;
            let mut add = |name: &[u8]| match functions.get_mut(name) {
                Some(known) => known.push(id),
                None => _ = functions.insert(name.into(), vec![id]),
            };
            add(names.function(file.function_name(id)?));
            for alias in file.aliases(&function) {
                add(names.function(Some(alias?)));
            }
        }
        Ok(Self { functions, places: places(file, &all)? })
    }

    /// Where the code of each function of a name is.
    pub(crate) fn places(&self, name: &str) -> impl Iterator<Item = &Places> {
        let functions = self.functions.get(name.as_bytes()).into_iter().flatten();
        functions.filter_map(|function| self.places.get(function))
    }

    /// Where the function of a name starts. Of several, the one that has `offset` in its code, and `size` bytes where that is known; `None`
    /// where that is none, or more than one.
    pub(crate) fn start(&self, name: &str, offset: u64, size: Option<u64>) -> Option<u64> {
        let mut starts: Vec<u64> = Vec::new();
        for place in self.places(name) {
            let Some(&(start, _)) = place.ranges.first() else { continue };
            // A call may be the last instruction, and symbols end where the next one begins.
            let end = place.ranges.iter().map(|range| range.1).max().unwrap_or(start);
            let len = end.saturating_sub(start);
            let fits = size.map_or(offset <= len, |size| offset <= size && size.abs_diff(len) < PADDING);
            if fits && !starts.contains(&start) {
                starts.push(start);
            }
        }
        match starts[..] {
            [start] => Some(start),
            _ => None,
        }
    }
}

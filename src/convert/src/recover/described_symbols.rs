//! Decides which symbols are those of described functions, so that no symbol is evidence for two functions.
//!
//! gcc writes no linkage name for a local function. So the overloads `look(A*)` and `look(B*)` are both named `look`,
//! and the plain name of their symbols is `look` too. If `look(A*)` has code at 0x1000 and one symbol of that plain
//! name is there, it is the symbol of `look(A*)`. It does not show where `look(B*)` is, which has no code of its own.

use rayon::prelude::*;

use crate::merge::names::Names;
use crate::model::{ImageAddr, NameId, OriginId, UnitFunction};
use crate::program::names::relation::spellings;
use crate::program::symbols::Symbols;
use crate::recover::recovered::{Recovered, UnitView};
use crate::util::hash::{HashMap, HashSet};

/// The names of functions without code, each with the declarations of these functions.
pub(crate) type CodelessNames = HashMap<NameId, HashSet<OriginId>>;

/// What is at the entry of a described function: the described functions of one plain name, and the symbols.
#[derive(Default)]
struct Here {
    functions: usize,
    symbols: usize,
    /// A function here has the declaration of one without code: it may be a clone of that one.
    of_codeless: bool,
}

/// The described functions that have the names of functions without code, and the symbols at their entries.
pub(crate) struct DescribedSymbols {
    here: HashMap<(NameId, ImageAddr), Here>,
}

impl DescribedSymbols {
    pub(crate) fn new(
        names: &Names<'_>,
        recovered: &Recovered<'_, '_>,
        symbols: &Symbols<'_>,
        codeless: &CodelessNames,
    ) -> DescribedSymbols {
        let mut here: HashMap<(NameId, ImageAddr), Here> = HashMap::default();
        if codeless.is_empty() {
            return DescribedSymbols { here };
        }
        let plain = |name: &[u8]| {
            let mut known = spellings(name).filter_map(|name| names.find(name));
            known.find(|name| codeless.contains_key(name))
        };
        let of_unit = |(_, unit): (_, UnitView<'_, '_>)| {
            let entry = |function: &UnitFunction| {
                let origin = unit.origin_of(function.origin);
                let name = plain(names.text(names.of_origin(origin)))?;
                Some((name, unit.code.pieces.get(function.pieces.start as usize)?.start, origin))
            };
            unit.code.functions.iter().filter_map(entry).collect::<Vec<_>>()
        };
        let found: Vec<Vec<(NameId, ImageAddr, OriginId)>> = recovered.par_numbered().map(of_unit).collect();
        for (name, address, origin) in found.into_iter().flatten() {
            let here = here.entry((name, address)).or_default();
            here.functions += 1;
            here.of_codeless |= codeless.get(&name).is_some_and(|origins| origins.contains(&origin));
        }
        for symbol in symbols.iter().filter(|symbol| symbol.function) {
            if let Some(name) = plain(symbol.name)
                && let Some(here) = here.get_mut(&(name, symbol.start))
            {
                here.symbols += 1;
            }
        }
        DescribedSymbols { here }
    }

    /// True if a symbol of this plain name at `address` may be that of a function without code.
    pub(crate) fn is_spare(&self, name: NameId, address: ImageAddr) -> bool {
        let here = self.here.get(&(name, address));
        here.is_none_or(|here| here.of_codeless || here.symbols > here.functions)
    }
}

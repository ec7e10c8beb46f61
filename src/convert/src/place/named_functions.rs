//! The functions at one address by name: finds the function that a further symbol there belongs to without comparing
//! every pair.
//!
//! Up to [`FEW`] names are compared one by one. Beyond that a symbol is looked up by three hashes: of its name, of
//! each beginning of it up to a dot (`f` and `f.isra` of the clone `f.isra.0`), and of the form that constructor
//! variants share. Each hit is then compared in full. A hostile program has tens of thousands of functions and of
//! symbols at one address.

use std::cell::Cell;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::merge::names::Names;
use crate::model::{FuncId, ImageAddr, NameId};
use crate::place::limits::MAX_TRIED;
use crate::program::names::itanium::{is_itanium, own_name, plain_base};
use crate::program::names::relation::{Relation, relation};
use crate::toolchain::suffixes::beginnings;
use crate::util::hash::{HashMap, hash_of};

/// Up to this many names are compared one by one.
const FEW: usize = 16;

/// The functions at one address with their names.
#[derive(Default)]
pub(crate) struct NamedFunctions {
    entries: Vec<(NameId, FuncId)>,
    /// Indexes of `entries` by hash, once there are more than [`FEW`].
    by_hash: HashMap<u64, Vec<u32>>,
    /// Names of one hash beyond [`MAX_TRIED`].
    similar: u64,
    /// Symbols with more dots than [`MAX_TRIED`].
    dotted: Cell<u64>,
}

impl NamedFunctions {
    /// Adds a function with its name.
    pub(crate) fn add(&mut self, names: &Names<'_>, name: NameId, function: FuncId) {
        // Of several functions of one name the first is kept.
        let known = match self.entries.len() {
            0..=FEW => self.entries.iter().any(|entry| entry.0 == name),
            _ => self
                .by_hash
                .get(&hash_of(names.text(name)))
                .is_some_and(|same| same.iter().any(|&index| self.entries[index as usize].0 == name)),
        };
        if known {
            return;
        }
        self.entries.push((name, function));
        let first = match self.entries.len() {
            0..=FEW => return,
            // With this name the table of hashes begins, so it gets the names before it, too.
            len if len == FEW + 1 => 0,
            len => len - 1,
        };
        for index in first..self.entries.len() {
            let name = names.text(self.entries[index].0);
            // A mangled symbol is looked up by the plain name in it, which has no template arguments: `tf` for the DIE
            // `tf<int>`.
            let base = plain_base(name);
            let base = (base.len() < name.len()).then(|| hash_of(base));
            for hash in [Some(hash_of(name)), variant_hash(name), base].into_iter().flatten() {
                let same = self.by_hash.entry(hash).or_default();
                if same.len() < MAX_TRIED {
                    same.push(index as u32);
                } else {
                    self.similar += 1;
                }
            }
        }
    }

    /// The function that fits a symbol's name best, and how; the first one added if several fit equally. `id` is the
    /// id of the name, if it is known.
    pub(crate) fn best(
        &self,
        names: &Names<'_>,
        symbol: &[u8],
        id: Option<NameId>,
        fits: impl Fn(Relation) -> bool,
    ) -> Option<(Relation, FuncId)> {
        // Most symbols have the exact name of a function.
        let few = self.entries.len() <= FEW;
        if fits(Relation::Same) {
            let is_same = |entry: &&(NameId, FuncId)| match id {
                // Names are interned: equal bytes have one id.
                Some(id) => entry.0 == id,
                None => names.text(entry.0) == symbol,
            };
            let of_hash = || self.by_hash.get(&hash_of(symbol)).map_or(&[][..], |same| same).iter();
            let same = match few {
                true => self.entries.iter().find(is_same),
                false => of_hash().map(|&index| &self.entries[index as usize]).find(is_same),
            };
            if let Some(&(_, function)) = same {
                return Some((Relation::Same, function));
            }
        }
        let compare = |index: usize| {
            let (name, function) = self.entries[index];
            let relation = relation(names.text(name), symbol);
            fits(relation).then_some((relation as u8, index, relation, function))
        };
        // The index decides between equal relations, so that the result does not depend on how candidates were found.
        let best = if few {
            (0..self.entries.len()).filter_map(compare).min_by_key(|found| (found.0, found.1))
        } else {
            let clone_of = beginnings(symbol).take(MAX_TRIED).map(hash_of);
            let has_more = beginnings(symbol).nth(MAX_TRIED).is_some();
            self.dotted.set(self.dotted.get() + u64::from(has_more));
            let plain = own_name(symbol).map(|name| hash_of(&name));
            let own = [Some(hash_of(symbol)), variant_hash(symbol), plain];
            let hashes = own.into_iter().flatten().chain(clone_of);
            let indexes = hashes.filter_map(|hash| self.by_hash.get(&hash)).flatten();
            indexes.filter_map(|&index| compare(index as usize)).min_by_key(|found| (found.0, found.1))
        };
        best.map(|(_, _, relation, function)| (relation, function))
    }
}

impl NamedFunctions {
    /// Reports the names at an address that were not compared with all names that may fit.
    pub(crate) fn report(&self, address: ImageAddr, diagnostics: &mut Diagnostics) {
        if self.similar > 0 {
            diagnostics.add(Kind::Cap(Cap::SimilarNames), address.0, || {
                let count = self.similar;
                format!(
                    "{count} names at {address:#x} resemble more than {MAX_TRIED} others: symbols were not compared with them"
                )
            });
        }
        if self.dotted.get() > 0 {
            diagnostics.add(Kind::Cap(Cap::AliasComparisons), address.0, || {
                let count = self.dotted.get();
                format!(
                    "{count} symbols at {address:#x} have more than {MAX_TRIED} dots: not every beginning was compared with functions there"
                )
            });
        }
    }
}

/// A hash of an Itanium name that ignores the digits of constructors and destructors and the letter that begins an
/// argument pack.
fn variant_hash(name: &[u8]) -> Option<u64> {
    if !is_itanium(name) {
        return None;
    }
    // gcc's ABI began an argument pack with `I` before its version 6, and since then with `J`, as the Itanium ABI says.
    let mut blank: Vec<u8> = name.iter().map(|byte| if *byte == b'J' { b'I' } else { *byte }).collect();
    // `_Z` and a letter come before the first digit of a kind. A digit of an identifier (`3fC1`) is replaced too, which only
    // adds candidates: `relation` compares each in full.
    for at in 3..blank.len() {
        // `CI1` and `CI2` are inheriting constructors.
        let kind = if name[at - 1] == b'I' { name[at - 2] } else { name[at - 1] };
        if matches!(kind, b'C' | b'D') && name[at].is_ascii_digit() {
            blank[at] = b'*';
        }
    }
    Some(hash_of(&blank))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    /// Comparing a few names and looking up many names give the same answers.
    #[test]
    fn many_names_answer_as_few_do() {
        let own = ["f", "_ZN1SC1Ev", "f.a", "_Z1gv", "_ZN1TD0Ev", "h<int>", "go", "_Z1kIJiEEvDpT_"];
        let asked = [
            "f",
            "f.a",
            "f.a.b",
            "f.isra.0",
            "_ZN1SC2Ev",
            "_ZN1SC9Ev",
            "_ZN1TD2Ev",
            "_Z1gv.cold",
            "_ZL1fi",
            "g",
            "_Z1hv",
            "_ZL1hIiET_v",
            "_ZZ1fvEN1S2goEi",
            "_Z1kIIiEEvDpT_",
        ];
        let mut names = Names::default();
        let (mut few, mut many) = (NamedFunctions::default(), NamedFunctions::default());
        for (index, name) in own.iter().enumerate() {
            let id = names.add(name.as_bytes());
            few.add(&names, id, FuncId(index as u32));
            many.add(&names, id, FuncId(index as u32));
        }
        for index in 0..100 {
            let id = names.intern(Cow::Owned(format!("other{index}").into_bytes()));
            many.add(&names, id, FuncId(1000));
        }
        for name in asked {
            let any = |relation| relation != Relation::Other;
            let expected = few.best(&names, name.as_bytes(), None, any);
            let id = names.find(name.as_bytes());
            for (known, id) in [(&many, None), (&many, id), (&few, id)] {
                assert_eq!(known.best(&names, name.as_bytes(), id, any), expected, "{name}");
            }
        }
        assert_eq!(few.best(&names, b"_ZN1SC2Ev", None, |_| true), Some((Relation::Variant, FuncId(1))));
    }
}

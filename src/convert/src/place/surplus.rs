//! Counts folded functions of one name from several files, by the symbols of that name at one range.

use crate::model::{Function, ImageAddr, Member};
use crate::place::folding_evidence::FoldingEvidence;
use crate::place::placing::{Placing, name_of};
use crate::program::symbols::CodeSymbol;
use crate::toolchain::suffixes::split_number;
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// Distinguishes functions of one name: the number that a compiler added, and the order of a local symbol.
type NumberAndObject<'f> = (&'f [u8], Option<u32>);

/// The surplus: names with more symbols at a range than functions, each with how many more. They are functions of one name in several
/// files. Link-time optimization numbers them when it joins files (`f.lto_priv.1`, `f.llvm.17`, `f.1`) and may merge
/// them.
pub(crate) fn surplus<'f>(
    placing: &Placing<'_, 'f>,
    folding: &FoldingEvidence,
    at_start: &[CodeSymbol<'f>],
    end: ImageAddr,
    members: &[Member],
    functions: &[Function],
) -> Vec<(&'f [u8], usize)> {
    // Only a sized function symbol names the whole range for certain: a label may mark only the first instruction.
    let whole = || at_start.iter().filter(|s| s.function && s.sized && !s.indirect && s.end == end);
    let mut files = folded_without_symbol(placing, folding, whole(), members, functions);
    // Nearly every address has one or a few different names: these need no map.
    if files.is_empty() && all_differ(whole()) {
        return Vec::new();
    }
    // A name may belong to one global function and to one local function of each object.
    let mut named: HashMap<&'f [u8], HashSet<NumberAndObject<'f>>> = HashMap::default();
    for symbol in whole() {
        let (name, number) = split_number(symbol.name);
        // An object has a local symbol of a name only once, even if the table no longer gives its file.
        let object = (symbol.local && folding.may_fold()).then_some(symbol.order);
        if object.is_some() || !symbol.local || !number.is_empty() {
            named.entry(name).or_default().insert((number, object));
        }
    }
    let mut several: Vec<(&[u8], usize)> = named
        .into_iter()
        .map(|(name, of)| (name, of.len() + files.remove(name).unwrap_or(0)))
        .filter(|(_, count)| *count > 1)
        .collect();
    if several.is_empty() {
        return several;
    }
    // The members are added in this order, which must not be the order of a hash map.
    several.sort_unstable();
    let mut have: HashMap<&[u8], usize> = HashMap::default();
    for member in members {
        *have.entry(split_number(name_of(placing, &functions[member.function.index()])).0).or_default() += 1;
    }
    // If no function here has the name, `aliases` has decided that its symbols are aliases.
    several.retain_mut(|(name, count)| {
        let have = have.get(*name).copied().unwrap_or(0);
        // There may be fewer symbols than functions: gold drops symbols of functions that it folds.
        *count = count.saturating_sub(have);
        have > 0 && *count > 0
    });
    several
}

/// Up to this many symbols are compared one by one.
const FEW: usize = 8;

/// True if there are only a few symbols and their names differ even without numbers.
fn all_differ<'s, 'f: 's>(symbols: impl Iterator<Item = &'s CodeSymbol<'f>>) -> bool {
    let mut names: [&[u8]; FEW] = [b""; FEW];
    for (at, symbol) in symbols.enumerate() {
        let (name, _) = split_number(symbol.name);
        if at == FEW || names[..at].contains(&name) {
            return false;
        }
        names[at] = name;
    }
    true
}

/// By name: local functions whose own symbol the linker dropped when it folded them, at an address that has a symbol
/// of that name from another file. Only a file that has symbols of its own is evidence: bitcode files have the
/// linker's. `whole`: the symbols of the range.
fn folded_without_symbol<'f, 's>(
    placing: &Placing<'_, 'f>,
    folding: &FoldingEvidence,
    whole: impl Iterator<Item = &'s CodeSymbol<'f>>,
    members: &[Member],
    functions: &[Function],
) -> HashMap<Vec<u8>, usize>
where
    'f: 's,
{
    let mut counts = HashMap::default();
    if !folding.drops_local_symbols() {
        return counts;
    }
    let mut files: HashMap<&[u8], HashSet<&[u8]>> = HashMap::default();
    for symbol in whole.filter(|symbol| symbol.local && !symbol.file.is_empty()) {
        files.entry(symbol.name).or_default().insert(base_name(symbol.file));
    }
    if files.is_empty() {
        return counts;
    }
    for function in members.iter().map(|member| &functions[member.function.index()]) {
        let Some(source) = function.source else { continue };
        let (name, file) = (name_of(placing, function), &*placing.recovered.unit(source.unit).head.file_name);
        if folding.has_symbols_of(file) && files.get(name).is_some_and(|files| !files.contains(file)) {
            *counts.entry(name.to_vec()).or_default() += 1;
        }
    }
    counts
}

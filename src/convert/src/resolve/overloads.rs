//! Gives mangled names to functions whose DIE has a plain one alone.
//!
//! gcc writes no linkage name for a function that is local to its unit, so that `f` of the debug information is
//! `_ZL1fi` of the symbol table, or `_ZL1fl`, which may have been folded into it. A function is given a name that alone
//! fits it: by the arguments of its template, and by the file that the symbol table gives. Of several it keeps the
//! plain one, since a wrong one would be that of another function. Names that no function here accounts for are those
//! of functions that have no DIE here, and are handed back.

use rustc_hash::FxHashMap;

use super::merge::Merged;
use super::names::{Relation, own_name, plain_base, relation};
use super::symbols::{CodeSymbol, principal};
use crate::demangle::demangle;
use crate::model::{FuncId, Function, Member, NameId, UnitId};
use crate::text::base_name;

/// A mangled name and its variants, with the symbols that have it.
type Name<'s, 'f> = &'s [&'s CodeSymbol<'f>];

/// Names and functions of one plain name that are compared with each other: of more, all names are handed back.
const MAX_TOGETHER: usize = 64;

/// Names the members by these symbols, and returns the names that are of none of them, each with its variants.
pub(super) fn name_plain<'f>(
    merged: &mut Merged<'f>,
    mut mangled: Vec<&CodeSymbol<'f>>,
    members: &[Member],
    functions: &mut [Function],
) -> Vec<Vec<NameId>> {
    mangled.sort_by_cached_key(|symbol| (own_name(symbol.name), symbol.name));
    if mangled.is_empty() {
        return Vec::new();
    }
    // By name first: many may have one long name.
    let mut of_name: FxHashMap<NameId, Vec<FuncId>> = FxHashMap::default();
    for member in members {
        let function = &functions[member.function.index()];
        if function.symbol.is_none() {
            let own = merged.program.origins[function.origin.index()].name;
            of_name.entry(own).or_default().push(member.function);
        }
    }
    let mut plain: FxHashMap<Vec<u8>, Vec<FuncId>> = FxHashMap::default();
    let mut names: Vec<NameId> = of_name.keys().copied().collect();
    names.sort_unstable();
    for name in names {
        let functions = of_name.remove(&name).unwrap_or_default();
        plain.entry(plain_base(merged.name_bytes(name)).to_vec()).or_default().extend(functions);
    }
    let mut left = Vec::new();
    for overloads in mangled.chunk_by(|a, b| own_name(a.name) == own_name(b.name)) {
        let named = own_name(overloads[0].name).and_then(|name| plain.get(&*name)).map_or(&[][..], |n| n);
        let same = |a: &&CodeSymbol<'_>, b: &&CodeSymbol<'_>| {
            a.name == b.name || relation(a.name, b.name) == Relation::Variant
        };
        let names: Vec<Name<'_, 'f>> = overloads.chunk_by(same).collect();
        match (&names[..], named) {
            ([only], [function]) => give(merged, &mut functions[function.index()], only),
            _ => left.extend(assign(merged, &names, named, functions)),
        }
    }
    left
}

/// Gives a function a name. Variants of a constructor or destructor are other names of it.
fn give<'f>(merged: &mut Merged<'f>, function: &mut Function, name: Name<'_, 'f>) {
    let symbols: Vec<CodeSymbol<'f>> = name.iter().map(|symbol| **symbol).collect();
    let Some(own) = principal(&symbols) else { return };
    function.symbol = Some(merged.name(own.name));
    for other in symbols.iter().filter(|other| other.name != own.name) {
        function.aliases.push(merged.name(other.name));
    }
}

fn assign<'f>(
    merged: &mut Merged<'f>,
    names: &[Name<'_, 'f>],
    named: &[FuncId],
    functions: &mut [Function],
) -> Vec<Vec<NameId>> {
    if names.len().max(named.len()) > MAX_TOGETHER {
        return names.iter().map(|name| variants(merged, name)).collect();
    }
    let texts: Vec<Option<String>> = names.iter().map(|name| demangle(name[0].name)).collect();
    let fitting: Vec<Vec<usize>> =
        named.iter().map(|f| fitting(merged, &functions[f.index()], names, &texts)).collect();
    let unit = |function: FuncId, functions: &[Function]| functions[function.index()].source.map(|s| s.unit);
    // Two functions of one unit that one name alone fits have overloads that are not here.
    let mut owners: FxHashMap<(usize, Option<UnitId>), usize> = FxHashMap::default();
    for (&function, fitting) in named.iter().zip(&fitting) {
        if let [at] = fitting[..] {
            *owners.entry((at, unit(function, functions))).or_default() += 1;
        }
    }
    let mut given = vec![false; names.len()];
    let mut open: Vec<(FuncId, &[usize])> = Vec::new();
    for (&function, fitting) in named.iter().zip(&fitting) {
        match fitting[..] {
            [at] if owners[&(at, unit(function, functions))] == 1 => {
                give(merged, &mut functions[function.index()], names[at]);
                given[at] = true;
            }
            _ => open.push((function, fitting)),
        }
    }
    let fitted = |at: &usize| open.iter().any(|(_, fitting)| fitting.contains(at));
    let rest: Vec<usize> = (0..names.len()).filter(|&at| !given[at]).collect();
    let contested = rest.iter().copied().filter(|at| fitted(at)).count();
    // As many functions as names: each has one of them.
    let accounted = contested <= open.len();
    for (function, fitting) in &open {
        for symbol in fitting.iter().filter(|at| accounted && !given[**at]).flat_map(|at| names[*at]) {
            let name = merged.name(symbol.name);
            functions[function.index()].aliases.push(name);
        }
    }
    let unaccounted = rest.into_iter().filter(|at| !(accounted && fitted(at)));
    unaccounted.map(|at| variants(merged, names[at])).collect()
}

/// The spellings of a name, which are sorted.
fn variants<'f>(merged: &mut Merged<'f>, name: Name<'_, 'f>) -> Vec<NameId> {
    let mut names: Vec<NameId> = name.iter().map(|symbol| merged.name(symbol.name)).collect();
    names.dedup();
    names
}

/// The names that may be a function's: those with the arguments of its template, or with none; of several, those of its
/// file. (gold and mold drop local symbols, so that another file's may be all that is left of a name.)
fn fitting(
    merged: &Merged<'_>,
    function: &Function,
    names: &[Name<'_, '_>],
    texts: &[Option<String>],
) -> Vec<usize> {
    let own = merged.program.origins[function.origin.index()].name;
    let own = format!("{}(", String::from_utf8_lossy(merged.name_bytes(own)));
    let mut fitting: Vec<usize> =
        (0..names.len()).filter(|&at| texts[at].as_ref().is_none_or(|text| text.contains(&own))).collect();
    if fitting.len() > 1
        && let Some(source) = function.source
    {
        let unit = &*merged.program.units[source.unit.index()].file_name;
        let of_file = |symbol: &&CodeSymbol<'_>| {
            !symbol.local || symbol.file.is_empty() || base_name(symbol.file) == unit
        };
        let fits = |at: &usize| names[*at].iter().any(of_file);
        if fitting.iter().any(fits) {
            fitting.retain(fits);
        }
    }
    fitting
}

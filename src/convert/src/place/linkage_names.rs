//! Gives mangled names to functions whose DIE has only a plain name.
//!
//! gcc writes no linkage name for a function that is local to its unit. So `f` in DWARF is `_ZL1fi` in the symbol
//! table, or `_ZL1fl`, which may have been folded into it. A function gets a name only if no other name fits it: by
//! the arguments of its template, by the function that it is local to, and by the file that the symbol table gives.
//! If several names fit, the function keeps its plain name, since a wrong name would be that of another function. Functions with the
//! same lines are an exception: they get the names by order ([`crate::members::ties`]), and no call of one of them is certain.
//! Names that fit no function here belong to functions without a DIE here and are returned.
//!
//! One symbol names one function of the source. gold and mold drop the symbols of local functions that they fold, so
//! the one symbol that remains proves nothing about functions of other files.

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::members::ties::{TiedDescription, TiedSymbol, by_order, by_words, words};
use crate::model::{FuncId, Function, Member, NameId, OriginId, Rows, UnitId};
use crate::place::limits::{MAX_INLINED_NAMES, MAX_OVERLOADS};
use crate::place::placing::Placing;
use crate::policy::order::order_of_symbols;
use crate::program::names::itanium::{
    call_spelling, demangled_spelling, enclosing, is_mangled, own_name, plain_base,
};
use crate::program::names::relation::{Relation, relation};
use crate::program::symbols::{CodeSymbol, principal};
use crate::toolchain::suffixes::has_suffix;
use crate::util::hash::HashMap;
use crate::util::text::base_name;

/// A mangled name and its variants, with the symbols that have it.
type Name<'s, 'f> = &'s [&'s CodeSymbol<'f>];

/// Gives these symbols to the members as their names, at code of `len` bytes. Returns the names that fit none, each with its variants.
pub(crate) fn name_plain<'f>(
    placing: &mut Placing<'_, 'f>,
    (mut mangled, len): (Vec<&CodeSymbol<'f>>, u32),
    members: &[Member],
    functions: &mut [Function],
    diagnostics: &mut Diagnostics,
) -> Vec<Vec<NameId>> {
    // Overloads of one plain name become neighbours, and among them the variants of one name (`C1`, `C2`). The key is cached,
    // since it may take a demangler.
    mangled.sort_by_cached_key(|symbol| (own_name(symbol.name), symbol.name));
    if mangled.is_empty() {
        return Vec::new();
    }
    // Grouped by name first: many members may have one long name.
    let mut of_name: HashMap<NameId, Vec<FuncId>> = HashMap::default();
    for member in members {
        let function = &functions[member.function.index()];
        // C mangles no names, so a mangled symbol here is of another function that was folded with it.
        let is_of_c = function.source.is_some_and(|source| placing.recovered.unit(source.unit).head.c);
        if function.symbol.is_none() && !is_of_c {
            let own = placing.names.of_origin(function.origin);
            of_name.entry(own).or_default().push(member.function);
        }
    }
    let mut plain: HashMap<Vec<u8>, Vec<FuncId>> = HashMap::default();
    let mut names: Vec<NameId> = of_name.keys().copied().collect();
    // The order of a hash map must not decide which of several functions comes first.
    names.sort_unstable();
    for name in names {
        let functions = of_name.remove(&name).unwrap_or_default();
        // A DIE has the template arguments (`tf<int>`), and the plain name in a mangled symbol has none.
        plain.entry(plain_base(placing.names.text(name)).to_vec()).or_default().extend(functions);
    }
    let mut left = Vec::new();
    for overloads in mangled.chunk_by(|a, b| own_name(a.name) == own_name(b.name)) {
        let named = own_name(overloads[0].name).and_then(|name| plain.get(&*name)).map_or(&[][..], |n| n);
        let same = |a: &&CodeSymbol<'_>, b: &&CodeSymbol<'_>| {
            a.name == b.name || relation(a.name, b.name) == Relation::Variant
        };
        let names: Vec<Name<'_, 'f>> = overloads.chunk_by(same).collect();
        match (&names[..], named) {
            ([only], [function]) if may_enclose(placing, &functions[function.index()], only) => {
                give(placing, &mut functions[function.index()], only);
            }
            _ if names.len().max(named.len()) > MAX_OVERLOADS => {
                let start = overloads[0].start;
                diagnostics.add(Kind::Cap(Cap::Overloads), start.0, || {
                    format!(
                        "over {MAX_OVERLOADS} functions or symbols of one plain name at {start:#x}: these functions keep plain names, and \
                         each symbol counts as a further function"
                    )
                });
                left.extend(names.iter().map(|name| variants(placing, name)));
            }
            _ => left.extend(assign(placing, (&names, len), named, (functions, members))),
        }
    }
    left
}

/// Gives a function a name. Variants of a constructor or destructor become aliases of it.
fn give<'f>(placing: &mut Placing<'_, 'f>, function: &mut Function, name: Name<'_, 'f>) {
    let symbols: Vec<CodeSymbol<'f>> = name.iter().map(|symbol| **symbol).collect();
    let Some(own) = principal(&symbols) else { return };
    function.symbol = Some(placing.names.add(own.name));
    for other in symbols.iter().filter(|other| other.name != own.name) {
        function.aliases.push(placing.names.add(other.name));
    }
}

fn assign<'f>(
    placing: &mut Placing<'_, 'f>,
    (names, len): (&[Name<'_, 'f>], u32),
    named: &[FuncId],
    (functions, members): (&mut [Function], &[Member]),
) -> Vec<Vec<NameId>> {
    let texts: Vec<Option<String>> = names.iter().map(|name| demangled_spelling(name[0].name)).collect();
    let fitting: Vec<Vec<usize>> =
        named.iter().map(|f| fitting(placing, &functions[f.index()], names, &texts)).collect();
    let unit = |function: FuncId, functions: &[Function]| functions[function.index()].source.map(|s| s.unit);
    // If one name is the only fit for two functions of a unit, the symbols of their other overloads are missing here.
    let mut owners: HashMap<(usize, Option<UnitId>), usize> = HashMap::default();
    // If a name fits functions of several declarations, it belongs to the functions whose file has a symbol of it.
    let mut declared: HashMap<usize, (OriginId, bool)> = HashMap::default();
    for (&function, fitting) in named.iter().zip(&fitting) {
        if let [at] = fitting[..] {
            *owners.entry((at, unit(function, functions))).or_default() += 1;
            let origin = functions[function.index()].origin;
            let declared = declared.entry(at).or_insert((origin, false));
            declared.1 |= declared.0 != origin;
        }
    }
    let is_own = |function: &Function, at: usize| {
        let unit = function.source.map(|source| &*placing.recovered.unit(source.unit).head.file_name);
        !declared[&at].1 || names[at].iter().any(|symbol| Some(base_name(symbol.file)) == unit)
    };
    let own: Vec<bool> = named
        .iter()
        .zip(&fitting)
        .map(|(function, fitting)| match fitting[..] {
            [at] => is_own(&functions[function.index()], at),
            _ => false,
        })
        .collect();
    let mut given = vec![false; names.len()];
    let mut open: Vec<(FuncId, &[usize])> = Vec::new();
    for ((&function, fitting), own) in named.iter().zip(&fitting).zip(own) {
        match fitting[..] {
            [at] if own && owners[&(at, unit(function, functions))] == 1 => {
                give(placing, &mut functions[function.index()], names[at]);
                given[at] = true;
            }
            _ => open.push((function, fitting)),
        }
    }
    for (function, at) in tied(placing, &open, (names, &texts, len), &given, (functions, members)) {
        give(placing, &mut functions[function.index()], names[at]);
        placing.tied.push(function);
        given[at] = true;
        open.retain(|(other, _)| *other != function);
    }
    let fitted = |at: &usize| open.iter().any(|(_, fitting)| fitting.contains(at));
    let rest: Vec<usize> = (0..names.len()).filter(|&at| !given[at]).collect();
    let contested = rest.iter().copied().filter(|at| fitted(at)).count();
    // There are as many functions as names: each name is that of one of them, and nothing shows of which.
    let accounted = contested <= open.len();
    let unaccounted = rest.into_iter().filter(|at| !(accounted && fitted(at)));
    unaccounted.map(|at| variants(placing, names[at])).collect()
}

/// The functions and names that are left, paired by their order, if the tools that made the program keep one.
fn tied(
    placing: &Placing<'_, '_>,
    open: &[(FuncId, &[usize])],
    (names, texts, len): (&[Name<'_, '_>], &[Option<String>], u32),
    given: &[bool],
    (functions, members): (&[Function], &[Member]),
) -> Vec<(FuncId, usize)> {
    if !placing.keeps_order {
        return Vec::new();
    }
    let left: Vec<usize> = (0..names.len())
        .filter(|at| !given[*at] && open.iter().any(|(_, fitting)| fitting.contains(at)))
        .collect();
    let open: Vec<_> =
        open.iter().filter(|(_, fitting)| left.iter().any(|at| fitting.contains(at))).collect();
    let inlined: Vec<String> =
        open.iter().map(|(function, _)| inlined_names(placing, &functions[function.index()])).collect();
    let by_words = by_words(
        &inlined.iter().map(|names| words(names)).collect::<Vec<_>>(),
        &left.iter().map(|at| texts[*at].as_deref().map(words).unwrap_or_default()).collect::<Vec<_>>(),
    );
    // Without inlined code a wrong name would do no harm: the functions differ in nothing else.
    let has_clones = by_words.is_none()
        && inlined.iter().any(|names| !names.is_empty())
        && left.iter().any(|at| names[*at].iter().any(|symbol| has_suffix(symbol.name)));
    let described = |(function, _): &&(FuncId, &[usize])| {
        let function = &functions[function.index()];
        let source = function.source?;
        let unit = placing.recovered.unit(source.unit);
        let own = &unit.code.functions[source.function.index()];
        let line_tables = !own.external && placing.names.origin(function.origin).line == 0;
        let records = &placing.recovered.records.units[source.unit.index()];
        let records_calls = !records.calls.is_empty() || !records.listed.is_empty();
        let order = order_of_symbols(unit.head, line_tables, records_calls, has_clones)?;
        Some(TiedDescription::of_die(source.unit, own.die, order))
    };
    let Some(descriptions) = open.iter().map(described).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    // If the order should not hold, no function gets the lines of another: those that are known are the same, and all are known, or the
    // functions are instances of one template.
    let rows = |function: FuncId| members.iter().find(|member| member.function == function)?.rows;
    let known: Vec<Rows> = open.iter().filter_map(|(function, _)| rows(*function)).collect();
    let same_lines = known.iter().all(|own| placing.have_same_lines_within(known[0], *own, len));
    let template = |at: &usize| texts[*at].as_deref().and_then(template);
    let of_template = || {
        let first = left.first().and_then(template);
        first.is_some() && left.iter().all(|at| template(at) == first)
    };
    if !same_lines || !(known.len() == open.len() || of_template()) {
        return Vec::new();
    }
    let symbol = |at: &usize| {
        let local = |symbol: &&&CodeSymbol<'_>| placing.is_of_file(symbol);
        let order = names[*at].iter().map(|symbol| symbol.order).min().unwrap_or_default();
        TiedSymbol { file: names[*at].iter().find(local).map(|symbol| base_name(symbol.file)), order }
    };
    let symbols: Vec<TiedSymbol<'_>> = left.iter().map(symbol).collect();
    let file = |unit: UnitId| &*placing.recovered.unit(unit).head.file_name;
    let pairs = by_words.unwrap_or_else(|| by_order(&descriptions, &symbols, file));
    let named = pairs.into_iter().map(|(function, symbol)| (open[function], left[symbol]));
    named
        .filter(|((_, fitting), at)| fitting.contains(at))
        .map(|((function, _), at)| (*function, at))
        .collect()
}

/// The names of the first functions that are inlined into a function, at most [`MAX_INLINED_NAMES`], with blanks between them.
fn inlined_names(placing: &Placing<'_, '_>, function: &Function) -> String {
    let Some(source) = function.source else { return String::new() };
    let unit = placing.recovered.unit(source.unit);
    let scopes = unit.code.scopes_of(&unit.code.functions[source.function.index()]);
    let mut names = String::new();
    for scope in scopes.iter().take(MAX_INLINED_NAMES) {
        let callee = placing.recovered.units.edges[unit.edge_of(scope.edge).index()].callee;
        let name = placing.names.text(placing.names.of_origin(callee));
        names += &demangled_spelling(name).unwrap_or_else(|| String::from_utf8_lossy(name).into_owned());
        names.push(' ');
    }
    names
}

/// The template of which a demangled function is an instance, without its arguments: its classes and namespaces, if it has any. `None` if
/// it is no instance, or if that is not certain.
fn template(text: &str) -> Option<String> {
    let (mut depth, mut plain, mut is_instance) = (0usize, String::new(), false);
    for letter in text.chars() {
        match letter {
            '<' => (depth, is_instance) = (depth + 1, true),
            '>' => depth = depth.checked_sub(1)?,
            // A local function's name has the parameters of the function around it.
            '(' if depth == 0 && !plain.ends_with(':') && !plain.is_empty() => break,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let scope = plain.rfind("::").map_or("", |end| &plain[..end]);
    (is_instance && depth == 0).then(|| scope.to_owned())
}

/// The variants of a name, sorted.
fn variants<'f>(placing: &mut Placing<'_, 'f>, name: Name<'_, 'f>) -> Vec<NameId> {
    let mut names: Vec<NameId> = name.iter().map(|symbol| placing.names.add(symbol.name)).collect();
    names.dedup();
    names
}

/// False if a name is local to a function that other units have and this function's unit does not.
fn may_enclose(placing: &mut Placing<'_, '_>, function: &Function, name: Name<'_, '_>) -> bool {
    let Some(source) = function.source else { return true };
    let enclosing = enclosing(name[0].name).unwrap_or_default();
    let mut known = enclosing.iter().filter_map(|name| placing.names.find(name));
    let known = known.find(|name| placing.names.is_described(*name));
    // An enclosing function that no unit describes rules no unit out.
    known.is_none_or(|name| placing.recovered.units.describes(&placing.names, source.unit, name))
}

/// The names that may be a function's: with the same template arguments, or none, and local to the same function. If
/// several remain, only the names with a symbol of the function's file. `texts`: see [`demangled_spelling`]. (gold and mold drop local
/// symbols, so a name may remain only by the symbol of another file.)
fn fitting(
    placing: &mut Placing<'_, '_>,
    function: &Function,
    names: &[Name<'_, '_>],
    texts: &[Option<String>],
) -> Vec<usize> {
    let own = placing.names.of_origin(function.origin);
    let own = call_spelling(placing.names.text(own));
    // A name that the demangler cannot read may have any template arguments.
    let has_text = |at: usize| texts[at].as_ref().is_none_or(|text| text.contains(&own));
    let mut fitting: Vec<usize> =
        (0..names.len()).filter(|&at| has_text(at) && may_enclose(placing, function, names[at])).collect();
    if fitting.len() > 1
        && let Some(source) = function.source
    {
        let unit = &*placing.recovered.unit(source.unit).head.file_name;
        // A file symbol precedes only the local symbols of its file (System V ABI, symbol table), so it does not show whose a
        // global symbol is.
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

/// The unexplained symbol that may be the function's own, when no symbol has the function's name. `None` if there are
/// several mangled names that are no variants of each other: nothing shows which is the function's.
pub(crate) fn sole(symbols: &[&CodeSymbol<'_>], may_be: impl Fn(&CodeSymbol<'_>) -> bool) -> Option<usize> {
    let mut of: Vec<usize> = (0..symbols.len()).filter(|&at| may_be(symbols[at])).collect();
    if of.iter().any(|&at| is_mangled(symbols[at].name)) {
        of.retain(|&at| is_mangled(symbols[at].name));
        let first = symbols[of[0]].name;
        // In both directions: `relation` takes `f.cold` for a clone of `f`, but not `f` for one of `f.cold`.
        let related = |name| {
            [relation(first, name), relation(name, first)].iter().any(|found| *found != Relation::Other)
        };
        if !of.iter().all(|&at| related(symbols[at].name)) {
            return None;
        }
    }
    let copies: Vec<CodeSymbol<'_>> = of.iter().map(|&at| *symbols[at]).collect();
    let best = principal(&copies)?;
    copies.iter().position(|symbol| std::ptr::eq(symbol, best)).map(|at| of[at])
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn templates_without_their_arguments() {
        assert_eq!(template("Queue<Car>::add(Car*)").as_deref(), Some("Queue"));
        assert_eq!(template("Celsiusclamp<Celsius>(Celsius)").as_deref(), Some(""));
        assert_eq!(
            template("std::_Rb_tree<long,std::less<long>>::_M_erase(long)").as_deref(),
            Some("std::_Rb_tree")
        );
        assert_eq!(["f(Bus*)", "operator<(A,B)", "operator->()"].map(template), [None, None, None]);
    }
}

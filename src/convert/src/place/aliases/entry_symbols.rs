//! The symbols at the entry of functions that DIEs describe: which name a function there, which are clones and variants of
//! one, and which no function explains.

use std::cell::OnceCell;

use crate::model::{FuncId, Function, Member, NameId, UnitId};
use crate::place::aliases::decision::{DescribedFunctions, is_own_function_at_entry};
use crate::place::claim::{Claim, by_name_alone};
use crate::place::folding_evidence::{FoldingEvidence, SymbolEvidence};
use crate::place::linkage_names::sole;
use crate::place::named_functions::NamedFunctions;
use crate::place::namesakes::Namesakes;
use crate::place::placing::Placing;
use crate::program::names::itanium::{is_mangled, own_name};
use crate::program::names::relation::{Relation, spells};
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::toolchain::functions::{is_main_program, is_rust};
use crate::toolchain::itanium_abi::{TLS_INIT_OF_UNIT, is_tls_init};
use crate::toolchain::suffixes::split_number;
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// The function that a symbol names, and how; `None` for a label, or if the symbol names none of these functions.
pub(crate) type SymbolMatch = Option<(Relation, FuncId)>;

/// Matches the symbols at an address with the functions known there.
pub(crate) fn fits(
    placing: &Placing<'_, '_>,
    symbols: &[CodeSymbol<'_>],
    known: &NamedFunctions,
) -> Vec<SymbolMatch> {
    symbols.iter().map(|symbol| if symbol.function { best(known, placing, symbol) } else { None }).collect()
}

fn best(known: &NamedFunctions, placing: &Placing<'_, '_>, symbol: &CodeSymbol<'_>) -> SymbolMatch {
    known.best(&placing.names, symbol.name, symbol.name_id, |relation| relation != Relation::Other)
}

/// The symbols at a function's entry, sorted by how each relates to the functions there.
#[derive(Default)]
pub(crate) struct EntrySymbols<'s, 'f> {
    pub(crate) unexplained: Vec<&'s CodeSymbol<'f>>,
    /// Symbols of clones (`f.isra.0`), with the function that each was cloned from.
    pub(crate) clones: Vec<(FuncId, NameId)>,
    /// Mangled names of functions whose DIE has a plain name.
    pub(crate) mangled: Vec<&'s CodeSymbol<'f>>,
    /// Some symbol names a function here.
    claimed: bool,
}

/// Sorts the symbols at an entry by their relation to the functions there. Constructor variants become aliases at once.
pub(crate) fn classify_symbols<'s, 'f>(
    placing: &mut Placing<'_, 'f>,
    at_start: &'s [CodeSymbol<'f>],
    fits: Vec<SymbolMatch>,
    members: &[Member],
    functions: &mut [Function],
) -> EntrySymbols<'s, 'f> {
    let mut entry = EntrySymbols::default();
    let namesakes = OnceCell::new();
    for (symbol, best) in at_start.iter().zip(fits).filter(|(symbol, _)| symbol.function) {
        entry.claimed |= best.is_some();
        match best {
            Some((Relation::Same, _)) => {}
            Some((Relation::Clone, function)) => {
                let namesakes = namesakes.get_or_init(|| Namesakes::new(placing, members, functions));
                let function = namesakes.owner(placing, symbol, function, functions);
                entry.clones.push((function, placing.names.add(symbol.name)));
            }
            Some((Relation::Mangled, _)) => entry.mangled.push(symbol),
            Some((Relation::Variant, function)) => {
                let name = placing.names.add(symbol.name);
                functions[function.index()].aliases.push(name);
            }
            _ => entry.unexplained.push(symbol),
        }
    }
    entry
}

/// Makes the symbol of a clone the function's symbol, or an alias if the function has a symbol already.
pub(crate) fn assign_clones(
    placing: &Placing<'_, '_>,
    at_start: &[CodeSymbol<'_>],
    clones: Vec<(FuncId, NameId)>,
    known: &NamedFunctions,
    functions: &mut [Function],
) {
    // Functions that have a symbol of exactly their name, and how many numbered symbols each name has (`f.1` and
    // `f.2`: two of `f`).
    let mut exact: HashSet<FuncId> = HashSet::default();
    let mut bases: HashMap<&[u8], usize> = HashMap::default();
    // Only clones need these.
    for symbol in at_start.iter().filter(|symbol| symbol.function && !clones.is_empty()) {
        exact.extend(best(known, placing, symbol).filter(|best| best.0 == Relation::Same).map(|best| best.1));
        let (base, number) = split_number(symbol.name);
        if !number.is_empty() {
            *bases.entry(base).or_default() += 1;
        }
    }
    for (function, name) in clones {
        let function_data = &mut functions[function.index()];
        // Several files have a local function of this name: the numbers do not show which symbol belongs to which
        // function.
        let base = split_number(placing.names.text(name));
        let several = !base.1.is_empty() && bases.get(base.0).is_some_and(|count| *count > 1);
        if several || exact.contains(&function) || function_data.symbol.is_some() {
            function_data.aliases.push(name);
        } else {
            function_data.symbol = Some(name);
        }
    }
}

/// Gives a single function whose own name is no symbol here (a C++ function without a linkage name) the symbol that no
/// function explains. True if no symbol here may be the function's: then it was folded into the function of that symbol.
pub(crate) fn adopt_unclaimed_symbol<'f>(
    placing: &mut Placing<'_, 'f>,
    SymbolEvidence { symbols, folding }: SymbolEvidence<'_, 'f>,
    entry: &mut EntrySymbols<'_, 'f>,
    members: &[Member],
    functions: &mut [Function],
    known: &mut NamedFunctions,
) -> bool {
    let unexplained = &mut entry.unexplained;
    let [Member { function, .. }] = *members else { return false };
    // The function's own symbol is here, so the others are not its own.
    if entry.claimed {
        return false;
    }
    let origin = functions[function.index()].origin;
    let own = placing.names.text(placing.names.of_origin(origin));
    let own = (own, functions[function.index()].source.map(|source| source.unit));
    // The code at an indirect symbol is that of its resolver: another symbol there names it, if there is one.
    let indirect = unexplained.iter().all(|symbol| symbol.indirect);
    let may_name = |symbol: &CodeSymbol<'_>| {
        symbol.indirect == indirect && is_possible_symbol(folding, placing, symbols, symbol, own)
    };
    let folded = !unexplained.iter().any(|symbol| is_possible_symbol(folding, placing, symbols, symbol, own));
    if let Some(at) = sole(unexplained, may_name) {
        let name = placing.names.add(unexplained.remove(at).name);
        functions[function.index()].symbol = Some(name);
        // Constructor variants of that symbol are aliases of this function.
        known.add(&placing.names, name, function);
    }
    folded
}

/// What is known of a claim's members before [`place_unexplained`] adds to them.
pub(crate) struct EntryMembers {
    /// How many members have DIEs; these come first.
    pub(crate) described: usize,
    /// The result of [`adopt_unclaimed_symbol`].
    pub(crate) folded: bool,
}

/// Makes each symbol that no function explains a member of its own or an alias, as [`is_own_function_at_entry`] decides.
pub(crate) fn place_unexplained<'f>(
    placing: &mut Placing<'_, 'f>,
    folding: &FoldingEvidence,
    unexplained: Vec<&CodeSymbol<'f>>,
    Claim { end, members, .. }: &mut Claim,
    functions: &mut Vec<Function>,
    known: &mut NamedFunctions,
    EntryMembers { described, folded }: EntryMembers,
) {
    let (end, first) = (*end, members[0].function);
    let here = OnceCell::new();
    for symbol in unexplained {
        let whole = !symbol.sized || symbol.end == end || (placing.relaxed && symbol.end > end);
        // Compared once more: a member that this loop added may explain a later symbol (`C2` of its `C1`).
        let explained = best(known, placing, symbol);
        let own = || {
            let here =
                here.get_or_init(|| DescribedFunctions::new(placing, &members[..described], functions));
            is_own_function_at_entry(folding, placing, symbol, end, here, folded)
        };
        if whole && explained.is_none() && own() {
            let name = placing.names.add(symbol.name);
            known.add(&placing.names, name, FuncId(functions.len() as u32));
            members.push(by_name_alone(&mut placing.names, functions, name));
        } else if symbol.function && !matches!(explained, Some((Relation::Same, _))) {
            let of = explained.map_or(first, |(_, function)| function);
            functions[of.index()].aliases.push(placing.names.add(symbol.name));
        }
    }
}

/// True if a symbol that no DIE explains may be the symbol of the function at its address. No symbol here has the
/// function's own name. A linker that folds may instead have folded the function into the symbol's function
/// and dropped its symbol. So one of these must hold: the function has no name; it has an unmangled name
/// and the symbol is a mangled name from which no plain name can be read; the symbol is a name of another language that spells the
/// function's, or that of a Fortran program; or no function of its unit has a symbol (Crystal writes `skip`), in a program that kept
/// its local symbols; or the symbol is a local one of the unit's file that no DIE names.
fn is_possible_symbol(
    folding: &FoldingEvidence,
    placing: &Placing<'_, '_>,
    symbols: &Symbols<'_>,
    symbol: &CodeSymbol<'_>,
    (own, unit): (&[u8], Option<UnitId>),
) -> bool {
    let untold = || {
        let has_name = || own_name(symbol.name).is_some() && !is_rust(symbol.name);
        is_mangled(symbol.name) && !is_mangled(own) && !has_name()
    };
    let misnamed = || {
        let has_symbols = folding.has_symbols.get_or_init(|| placing.units_with_symbols(symbols));
        symbols.has_locals() && unit.is_some_and(|unit| !has_symbols[unit.index()])
    };
    // gcc and clang initialize the thread-local variables of a unit in one function, which its DIE gives a name of no symbol.
    let of_variables = || is_tls_init(symbol.name) && own == TLS_INIT_OF_UNIT;
    let spelt = || {
        !is_mangled(symbol.name)
            && (spells(symbol.name, own) || is_main_program(symbol.name) || of_variables())
    };
    // A linker that keeps the symbols of folded functions has one of the DIE's function. A local one of its file that no DIE names is it
    // (`static int f() __asm__("g")`).
    let of_own_file = || {
        let file = base_name(symbol.file);
        symbol.local
            && folding.keeps_symbols()
            && folding.has_one_file(file)
            && unit.is_some_and(|unit| *placing.recovered.unit(unit).head.file_name == *file)
            && placing.names.find(symbol.name).is_none()
    };
    !folding.linker.is_folding() || own.is_empty() || untold() || spelt() || misnamed() || of_own_file()
}

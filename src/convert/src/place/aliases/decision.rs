//! The decision: whether a symbol that no DIE explains is an alias of a function, or the name of a function of its own that was
//! folded. The functions that give it are `is_own_function_...`: false is an alias.
//!
//! Each question below is asked where such a name is found: at the entry of described functions, at a part of a function,
//! at code that no DIE describes, and at a jump that the compiler may have left of a merged function.

use std::cell::RefCell;

use crate::model::{AddressRange, Function, How, ImageAddr, Member, NameId, UnitId};
use crate::place::folding_evidence::{FoldingEvidence, more_files};
use crate::place::placing::Placing;
use crate::program::names::itanium::is_mangled;
use crate::program::names::relation::{Relation, relation, spellings};
use crate::program::symbols::CodeSymbol;
use crate::toolchain::functions::may_be_merged;
use crate::toolchain::itanium_abi::is_tls_init;
use crate::toolchain::libraries::are_library_names;
use crate::toolchain::suffixes::{has_suffix, names_part};
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// True if a symbol at the entry of the functions `here`, which end at `end`, names a function of its own. `folded`: no symbol
/// at the entry can be the symbol of the one function that a DIE describes there, so it was folded into another.
pub(crate) fn is_own_function_at_entry(
    folding: &FoldingEvidence,
    placing: &Placing<'_, '_>,
    symbol: &CodeSymbol<'_>,
    end: ImageAddr,
    here: &DescribedFunctions,
    folded: bool,
) -> bool {
    if is_mangled(symbol.name) && !symbol.indirect {
        return !is_mangled_alias(folding, placing, symbol, here);
    }
    (folded && symbol.function && !symbol.indirect)
        || may_be_own_function(folding, placing, symbol, end, here)
}

/// True if a symbol at the start of a part that ends at `end` names a function of its own, which has the part too. `no_entry`:
/// no function begins there. `here`: the functions that have the part.
pub(crate) fn is_own_function_of_part<'d>(
    folding: &FoldingEvidence,
    placing: &Placing<'_, '_>,
    symbol: &CodeSymbol<'_>,
    end: ImageAddr,
    no_entry: bool,
    here: impl FnOnce() -> &'d DescribedFunctions,
) -> bool {
    names_part(symbol.name)
        || (no_entry && has_suffix(symbol.name))
        || is_mangled(symbol.name)
        || may_be_own_function(folding, placing, symbol, end, here())
}

/// True if a further symbol at code that no DIE describes names a function of its own. `first` is the symbol after which the
/// code is named, and `base` the symbol whose code it is (the resolver of an indirect function). `explained`: the symbol is a
/// name of a function there, or a variant of one.
pub(crate) fn is_own_function_without_die(
    folding: &FoldingEvidence,
    placing: &Placing<'_, '_>,
    symbol: &CodeSymbol<'_>,
    first: &CodeSymbol<'_>,
    base: &CodeSymbol<'_>,
    explained: bool,
) -> bool {
    let mangled = || {
        !symbol.indirect
            && is_mangled(symbol.name)
            // Two mangled names of one range are two functions under any linker: rustc merges functions before it links.
            && ((symbol.function && symbol.end == first.end)
                || (folding.may_fold() && base.may_share(symbol)))
    };
    match explained {
        true => symbol.of_another_object(base) && may_be_two_functions(folding, placing, base, symbol),
        false => mangled() || may_be_two_functions(folding, placing, base, symbol),
    }
}

/// True if an alias of the function `own` at small code that only jumps may be the name of a function that the compiler merged
/// into the target of the jump.
pub(crate) fn may_be_merged_away(own: &[u8], alias: &[u8]) -> bool {
    !is_mangled(alias) && may_be_merged(alias) && relation(own, alias) == Relation::Other
}

/// The described functions at one address, compared with the symbols there that no DIE explains.
pub(crate) struct DescribedFunctions {
    /// None of them kept its address.
    erased: bool,
    units: HashSet<UnitId>,
    /// The base names of the files of those units.
    files: HashSet<Vec<u8>>,
    /// By name: whether one of those units describes a codeless function of it. A cache, since symbols may repeat a
    /// name.
    codeless: RefCell<HashMap<NameId, bool>>,
}

impl DescribedFunctions {
    pub(crate) fn new(
        placing: &Placing<'_, '_>,
        members: &[Member],
        functions: &[Function],
    ) -> DescribedFunctions {
        let unit = |member: &Member| functions[member.function.index()].source.map(|source| source.unit);
        let units: HashSet<UnitId> = members.iter().filter_map(unit).collect();
        let file = |unit: &UnitId| placing.recovered.unit(*unit).head.file_name.to_vec();
        DescribedFunctions {
            erased: !members.iter().any(|member| member.how == How::LiveRange),
            files: units.iter().map(file).collect(),
            units,
            codeless: RefCell::default(),
        }
    }

    /// True if one of the functions is in one of these units, which are sorted.
    fn has_unit(&self, units: &[UnitId]) -> bool {
        match units.len() < self.units.len() {
            true => units.iter().any(|unit| self.units.contains(unit)),
            false => self.units.iter().any(|unit| units.binary_search(unit).is_ok()),
        }
    }
}

/// True if a mangled name at the address of functions is an alias of one of them. A linker that never folds
/// places the code of only one object at an address. gcc describes each function of that object, even a function
/// that it merged. So a name that gcc describes nowhere is a second mangling (`-fabi-compat-version`) or an
/// `__attribute__((alias))`.
fn is_mangled_alias(
    folding: &FoldingEvidence,
    placing: &Placing<'_, '_>,
    symbol: &CodeSymbol<'_>,
    described: &DescribedFunctions,
) -> bool {
    let tells = |unit: &UnitId| {
        let unit = placing.recovered.unit(*unit);
        unit.head.keeps_callees && unit.head.rewrites.is_none()
    };
    !folding.may_fold()
        && !described.units.is_empty()
        && described.units.iter().all(tells)
        && spellings(symbol.name)
            .filter_map(|name| placing.names.find(name))
            .all(|name| folding.codeless.get(&name).is_none_or(|units| !described.has_unit(units)))
}

/// True if an unmangled name at the start of functions that end at `end` may be a function of its own. A name
/// without a size is taken to end with them: assembly code need not give sizes.
fn may_be_own_function(
    folding: &FoldingEvidence,
    placing: &Placing<'_, '_>,
    symbol: &CodeSymbol<'_>,
    end: ImageAddr,
    described: &DescribedFunctions,
) -> bool {
    // gcc and clang initialize the thread-local variables of a unit in one function, so `_ZTH1a` and `_ZTH1b` are two names
    // of it. A static member of a template has a function of its own.
    if symbol.indirect || is_tls_init(symbol.name) {
        return false;
    }
    // The compiler merges only functions of one unit. A function of another unit may be a weak definition that
    // did not prevail.
    let codeless =
        placing.names.find(symbol.name).and_then(|name| Some((name, folding.codeless.get(&name)?)));
    let has_unit = |(name, units): (NameId, &Vec<UnitId>)| {
        *described.codeless.borrow_mut().entry(name).or_insert_with(|| described.has_unit(units))
    };
    if symbol.sized && codeless.is_some_and(has_unit) {
        return true;
    }
    if !folding.may_fold() {
        return false;
    }
    let is_erased = |name| {
        let size = end - symbol.start;
        // Size 0: the end of the function was an address and was erased, so any size may be its own.
        folding.lost_functions.contains(&(name, size)) || folding.lost_functions.contains(&(name, 0))
    };
    let name = placing.names.find(symbol.name);
    // clang refuses `__attribute__((alias))` for Mach-O, so there a second name is a second function.
    if !folding.has_aliases || name.is_some_and(is_erased) {
        return true;
    }
    if described.erased || !folding.sequences(AddressRange::new(symbol.start, end)).is_empty() {
        return true;
    }
    // An object without a unit may define the name. If the linker is not known, a call must name it too.
    let is_called = || name.is_some_and(|name| folding.called.contains(&name));
    let perhaps = folding.has_undescribed_objects && (folding.linker.is_folding() || is_called());
    if symbol.file.is_empty() || more_files(&folding.files, base_name(symbol.file)) {
        return perhaps;
    }
    // Units describe every object of this file, and none of the functions here is of it: the linker folded a function of the
    // file.
    !described.files.contains(base_name(symbol.file))
}

/// True if two names at one range that no DIE explains may be two functions.
/// Pairs of names as a C library gives them to one function (`read` and `__read`) need more than a fold elsewhere in the program, and so does
/// code that has lines.
fn may_be_two_functions(
    folding: &FoldingEvidence,
    placing: &Placing<'_, '_>,
    one: &CodeSymbol<'_>,
    other: &CodeSymbol<'_>,
) -> bool {
    let is_called = |symbol: &CodeSymbol<'_>| {
        placing.names.find(symbol.name).is_some_and(|name| folding.called.contains(&name))
    };
    folding.may_fold()
        && one.may_share(other)
        && !is_tls_init(other.name)
        && (one.of_another_object(other)
            || (one.name != other.name && is_called(one) && is_called(other))
            || (!folding.has_aliases && one.name != other.name)
            || (folding.folding_shown
                && one.name != other.name
                && !are_library_names(one.name, other.name)
                // Each described function has a line sequence.
                && folding.bare_lines(one.start).is_empty())
            || folding.multiply_folded.contains(&one.range()))
}

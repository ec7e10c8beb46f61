//! Finds the units that must be read once more for their classes. A program without folded methods needs none.

use crate::keys::objects::class_caps::MAX_NAME;
use crate::keys::objects::type_info::without_bounds;
use crate::merge::units::Records;
use crate::model::{FuncId, ImageAddr, UnitClasses};
use crate::open::{Binding, Image, Symbol, SymbolKind};
use crate::place::Placed;
use crate::program::names::itanium::nested;
use crate::toolchain::itanium_abi::{class_of_vtable, is_vtable};
use crate::util::hash::HashMap;

/// The units whose classes are needed and were not read with the rest. `None` if no classes are needed: no methods
/// were folded, or the program has no vtables.
pub(crate) fn units_with_needed_classes<'r>(
    placed: &Placed<'_>,
    records: &'r Records<'_>,
    image: &Image<'_>,
) -> Option<Vec<UnitClasses<'r>>> {
    let program = &placed.program;
    let is_method = |function: FuncId| {
        let function = &program.functions[function.index()];
        let own = program.origins[function.origin.index()].name;
        let unit = function.source.map(|source| &records.units[source.unit.index()]);
        // gcc writes no linkage names for methods of an unnamed namespace, so `nested` does not recognize them.
        let unnamed = unit.is_some_and(|unit| !unit.class_places.unnamed.is_empty());
        unnamed || nested(&program.names[own.index()]).is_some()
    };
    let mut members = program.groups.iter().flat_map(|group| &group.members);
    // Programs of C and Rust have no symbol `_ZTV...`, and their units need not be read again.
    if !image.symbols.iter().any(is_table) || !members.any(|member| is_method(member.function)) {
        return None;
    }
    let units = program.heads.iter().zip(&records.units);
    let with_classes = units.filter(|(_, unit)| !unit.class_places.is_empty());
    Some(with_classes.map(|(head, unit)| (head.offset, &unit.class_places)).collect())
}

/// True for a symbol that was local to its object file, as the tables of unnamed namespaces have.
pub(crate) fn is_of_object(symbol: &Symbol<'_>) -> bool {
    symbol.binding == Binding::Local && !symbol.dynamic && !symbol.hidden
}

/// True for the symbol of a vtable (Itanium C++ ABI 5.1.4).
pub(crate) fn is_table(symbol: &Symbol<'_>) -> bool {
    symbol.kind == SymbolKind::Data && is_vtable(symbol.name)
}

/// True for the symbol of a method, which is not a thunk to one.
pub(crate) fn is_of_method(symbol: &Symbol<'_>) -> bool {
    symbol.kind != SymbolKind::Data && symbol.name.starts_with(b"_ZN")
}

/// The keys of the classes that the symbols of vtables name, by address. An address with symbols of several classes is left out. None if
/// the program lost its local symbols: linkers fold equal tables, and one of a local class may have lost its symbol.
pub(crate) fn keys_of_tables<'f>(image: &Image<'f>) -> HashMap<ImageAddr, &'f [u8]> {
    let mut keys: HashMap<ImageAddr, Option<&[u8]>> = HashMap::default();
    let has_locals = image.symbols.iter().any(is_of_object);
    for symbol in image.symbols.iter().filter(|symbol| has_locals && is_table(symbol)) {
        let key = class_of_vtable(symbol.name).map(without_bounds).filter(|key| key.len() <= MAX_NAME);
        let known = keys.entry(ImageAddr(symbol.address)).or_insert(key);
        *known = known.filter(|known| key == Some(*known));
    }
    keys.into_iter().filter_map(|(address, key)| Some((address, key?))).collect()
}

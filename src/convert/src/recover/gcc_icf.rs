//! Finds functions that the compiler merged with others of the same code before there was any debug information.
//!
//! gcc (`-fipa-icf`) keeps the description of a function that it put another one in the place of, without an address,
//! and goes on naming it where it was called in the source. So the call tells where it is: the address that the call
//! instruction goes to. Where calls are made elsewhere, a symbol of its name may stand there, an alias. It counts only
//! where another function begins, and where no function of its name and declaration does: a compiler also leaves out the code of what
//! another unit has.
//!
//! Where it made copies of what it merged (`f.constprop.0`), it names the one that is left in the calls of both. Then nothing
//! tells where a function without code went but a function of the same declaration, another instance of its template: it
//! counts as one of them, and a call of such a one as a call of either.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::merge::names::Names;
use crate::model::{
    CalleePlace, Codeless, DieOffset, How, ImageAddr, Instance, LocalCallee, OriginId, RowRange,
    UnitFunction, UnitPiece,
};
use crate::program::machine::Machine;
use crate::program::names::itanium::is_program_wide;
use crate::program::names::relation::spellings;
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::recovered::{Recovered, UnitView};
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// A function without code: its unit, and its place in [`crate::model::UnitRecords::codeless`].
type UnitIndex = (usize, usize);

/// Functions that begin at one address and are compared with each that was merged with them.
const MAX_HERE: usize = 256;

/// A function with code, as what begins at its address is compared.
struct CodeHere {
    unit: usize,
    origin: OriginId,
    instance: Instance,
    len: u32,
}

/// Gives the functions that a call names, and that have no code, the code that is called.
pub(crate) fn find(
    names: &Names<'_>,
    recovered: &mut Recovered<'_, '_>,
    symbols: &Symbols<'_>,
    machine: &Machine<'_, '_>,
) {
    if recovered.records.units.iter().all(|unit| unit.codeless.is_empty()) {
        return;
    }
    let (called, named) = called(names, recovered, machine);
    let mut found = called;
    let instances = by_declaration(recovered, &found);
    let by_die: HashSet<UnitIndex> = found.keys().chain(instances.keys()).copied().collect();
    by_symbol(names, recovered, symbols, &named, &by_die, &mut found);
    found.retain(|_, addresses| addresses.len() == 1);
    found.extend(instances);
    let here = here(recovered, &found);
    let mut list: Vec<(UnitIndex, u64)> = found
        .into_iter()
        .flat_map(|(codeless, addresses)| addresses.into_iter().map(move |address| (codeless, address)))
        .collect();
    list.sort_unstable();
    let lines = FoldedLines::new(recovered, &list);
    for ((unit_index, index), address) in list {
        let Some(here) = here.get(&address).filter(|here| here.len() <= MAX_HERE) else { continue };
        let codeless = recovered.records.units[unit_index].codeless[index];
        let origin = recovered.units.origin_of(unit_index, codeless.origin);
        let name = names.of_origin(origin);
        let shared = codeless.external || is_program_wide(names.text(name));
        let own = |other: &CodeHere| {
            // Another unit's of this declaration is one of its own, and a symbol may be of either.
            let same = match (other.unit == unit_index, by_die.contains(&(unit_index, index))) {
                (true, _) => other.instance == codeless.instance,
                (false, true) => other.instance.is_same_elsewhere(codeless.instance),
                (false, false) => true,
            };
            (other.origin == origin && same)
                || (shared && names.of_origin(other.origin) == name && !names.are_apart(other.origin, origin))
        };
        if here.iter().any(own) {
            continue;
        }
        let Some(remains) = here.iter().find(|other| other.unit == unit_index).or(here.first()) else {
            continue;
        };
        let rows = lines.of(recovered.unit(unit_index), unit_index, (address, remains.len));
        let code = &mut recovered.code[unit_index];
        let (first, scopes) = (code.pieces.len() as u32, code.scopes.len() as u32);
        let (start, how) = (ImageAddr(address), How::CallSite);
        code.pieces.push(UnitPiece { start, len: remains.len, how, rows });
        code.functions.push(UnitFunction {
            die: codeless.die,
            origin: codeless.origin,
            instance: codeless.instance,
            how,
            external: codeless.external,
            pieces: first..first + 1,
            scopes: scopes..scopes,
            lost: Default::default(),
            calls: Default::default(),
        });
    }
}

/// Which functions without code may have had code all the same, which the linker folded: gcc makes a function jump to another
/// of its code, and puts the other's code in the place of that jump.
struct FoldedLines {
    /// By unit: how many of its functions without code were found.
    found: HashMap<usize, usize>,
    /// By unit and address.
    here: HashMap<(usize, u64), usize>,
}

impl FoldedLines {
    /// `found`: each once an address, sorted.
    fn new(recovered: &Recovered<'_, '_>, found: &[(UnitIndex, u64)]) -> FoldedLines {
        let mut lines = FoldedLines { found: HashMap::default(), here: HashMap::default() };
        for same in found.chunk_by(|a, b| a.0 == b.0) {
            *lines.found.entry(same[0].0.0).or_default() += 1;
        }
        for &((unit, _), address) in found {
            *lines.here.entry((unit, address)).or_default() += 1;
        }
        lines.found.retain(|unit, found| *found == recovered.records.units[*unit].codeless.len());
        lines
    }

    /// The rows of the only sequence of a range that no function of the unit has, where nothing else of the unit may have it.
    fn of(&self, unit: UnitView<'_, '_>, index: usize, (start, len): (u64, u32)) -> RowRange {
        if !unit.records.erased.is_empty()
            || !self.found.contains_key(&index)
            || self.here.get(&(index, start)) != Some(&1)
        {
            return RowRange::default();
        }
        let first = unit.traces.unclaimed.partition_point(|lines| lines.start.0 < start);
        let at_start = unit.traces.unclaimed[first..].iter().take_while(|lines| lines.start.0 == start);
        let mut of_range = at_start.filter(|lines| lines.len == len && !lines.continues);
        match (of_range.next(), of_range.next()) {
            (Some(only), None) if !only.in_doubt => only.rows,
            _ => RowRange::default(),
        }
    }
}

/// Where calls of functions without code go to, and, by name, whether calls name it at all.
fn called(
    names: &Names<'_>,
    recovered: &Recovered<'_, '_>,
    machine: &Machine<'_, '_>,
) -> (HashMap<UnitIndex, HashSet<u64>>, Vec<AtomicBool>) {
    let named: Vec<AtomicBool> = (0..names.len()).map(|_| AtomicBool::new(false)).collect();
    let of_unit = |(unit_index, unit): (usize, UnitView<'_, '_>)| {
        for callee in &unit.records.callees {
            let name = names.of_origin(unit.origin_of(callee.origin));
            named[name.index()].store(true, Ordering::Relaxed);
        }
        let mut targets: Vec<(UnitIndex, u64)> = Vec::new();
        if unit.records.codeless.is_empty() {
            return targets;
        }
        let by_die: HashMap<u64, usize> = unit
            .records
            .codeless
            .iter()
            .enumerate()
            .map(|(index, codeless)| (codeless.die.0, index))
            .collect();
        for call in unit.records.calls.iter().filter(|call| !call.tail) {
            let (Some(return_addr), Some(callee)) = (call.return_addr, call.callee) else { continue };
            let callee = unit.records.callees[callee.index()];
            if let Some(&index) = by_die.get(&callee.die.0).filter(|_| callee.place == CalleePlace::Here)
                && let Some(target) = machine.call_before(return_addr.0)
            {
                targets.push(((unit_index, index), target));
            }
        }
        targets
    };
    let found: Vec<Vec<(UnitIndex, u64)>> = recovered.par_all().map(of_unit).collect();
    let mut targets: HashMap<UnitIndex, HashSet<u64>> = HashMap::default();
    for (codeless, target) in found.into_iter().flatten() {
        targets.entry(codeless).or_default().insert(target);
    }
    (targets, named)
}

/// Where other instances of the declaration of a function begin that no call names. Whom calls of those call is not known
/// from here on.
fn by_declaration(
    recovered: &mut Recovered<'_, '_>,
    called: &HashMap<UnitIndex, HashSet<u64>>,
) -> HashMap<UnitIndex, HashSet<u64>> {
    let mut found: HashMap<UnitIndex, HashSet<u64>> = HashMap::default();
    let mut doubtful_callees: HashSet<(usize, LocalCallee)> = HashSet::default();
    for (unit_index, unit) in recovered.all().enumerate() {
        let is_uncalled = |index: usize| {
            unit.records.codeless[index].instance != Instance::NAMED
                && !called.contains_key(&(unit_index, index))
        };
        let uncalled: Vec<usize> =
            (0..unit.records.codeless.len()).filter(|&index| is_uncalled(index)).collect();
        if uncalled.is_empty() {
            continue;
        }
        let origins = uncalled.iter().map(|&index| unit.origin_of(unit.records.codeless[index].origin));
        let mut by_origin: HashMap<OriginId, Vec<&UnitFunction>> =
            origins.map(|origin| (origin, Vec::new())).collect();
        for function in unit.code.functions.iter().filter(|function| function.instance != Instance::NAMED) {
            if let Some(of) = by_origin.get_mut(&unit.origin_of(function.origin))
                && of.len() < MAX_HERE
            {
                of.push(function);
            }
        }
        let mut doubtful: HashSet<DieOffset> = HashSet::default();
        for index in uncalled {
            let Codeless { origin, instance, .. } = unit.records.codeless[index];
            let instances = by_origin.get(&unit.origin_of(origin)).map_or(&[][..], |instances| instances);
            if instances.is_empty() || instances.iter().any(|other| other.instance == instance) {
                continue;
            }
            doubtful.extend(instances.iter().map(|other| other.die));
            let entries =
                instances.iter().filter_map(|other| unit.code.pieces.get(other.pieces.start as usize));
            found.insert((unit_index, index), entries.map(|entry| entry.start.0).collect());
        }
        for (index, callee) in unit.records.callees.iter().enumerate() {
            if callee.place == CalleePlace::Here && doubtful.contains(&callee.die) {
                doubtful_callees.insert((unit_index, LocalCallee(index as u32)));
            }
        }
    }
    recovered.doubtful_callees = doubtful_callees;
    found
}

/// Adds those that a call names, no call of their unit shows, and a symbol has.
fn by_symbol(
    names: &Names<'_>,
    recovered: &Recovered<'_, '_>,
    symbols: &Symbols<'_>,
    named: &[AtomicBool],
    known: &HashSet<UnitIndex>,
    found: &mut HashMap<UnitIndex, HashSet<u64>>,
) {
    let mut by_name: HashMap<&[u8], Vec<UnitIndex>> = HashMap::default();
    for (unit_index, unit) in recovered.all().enumerate() {
        for (index, codeless) in unit.records.codeless.iter().enumerate() {
            let name = names.of_origin(unit.origin_of(codeless.origin));
            if named[name.index()].load(Ordering::Relaxed) && !known.contains(&(unit_index, index)) {
                by_name.entry(names.text(name)).or_default().push((unit_index, index));
            }
        }
    }
    let of_symbol = |symbol: &CodeSymbol<'_>| {
        let of_name = spellings(symbol.name).find_map(|name| by_name.get(name));
        // One name of several units: nothing tells whose symbol it is, but the file of a local one.
        let &[(unit, index)] = &of_name?[..] else { return None };
        let file = !symbol.local
            || symbol.file.is_empty()
            || *base_name(symbol.file) == *recovered.units.heads[unit].file_name;
        let fits = file && symbol.local != recovered.records.units[unit].codeless[index].external;
        fits.then_some(((unit, index), symbol.start))
    };
    let functions = symbols.par_iter().filter(|symbol| symbol.function && symbol.sized && !symbol.indirect);
    let places: Vec<(UnitIndex, u64)> = functions.filter_map(of_symbol).collect();
    for (codeless, address) in places {
        found.entry(codeless).or_default().insert(address);
    }
}

/// The functions that begin at the addresses that were found.
fn here(
    recovered: &Recovered<'_, '_>,
    found: &HashMap<UnitIndex, HashSet<u64>>,
) -> HashMap<u64, Vec<CodeHere>> {
    let addresses: HashSet<u64> = found.values().flatten().copied().collect();
    let mut here: HashMap<u64, Vec<CodeHere>> = HashMap::default();
    for (unit_index, unit) in recovered.all().enumerate() {
        for function in &unit.code.functions {
            let Some(entry) = unit.code.pieces.get(function.pieces.start as usize) else { continue };
            if addresses.contains(&entry.start.0) {
                let of = here.entry(entry.start.0).or_default();
                if of.len() <= MAX_HERE {
                    let origin = unit.origin_of(function.origin);
                    of.push(CodeHere {
                        unit: unit_index,
                        origin,
                        instance: function.instance,
                        len: entry.len,
                    });
                }
            }
        }
    }
    here
}

//! Finds functions that gcc merged with others of the same code before it wrote debug information.
//!
//! gcc (`-fipa-icf`) puts `f` in the place of an equal `g`. It keeps the DIE of `g`, without an address, and still
//! names `g` as the callee wherever the source calls it. So the target of such a call instruction is the address of
//! `g`: if a call recorded as one of `g` goes to 0x1000, `g` has the code at 0x1000. If no call of `g` is in the
//! unit, an alias symbol of its name may show the address, unless it is the symbol of a described function of that
//! name ([`super::described_symbols`]). An address counts only if another function begins there
//! and no function of the same name and declaration does: a compiler also omits the code of a function that another
//! unit has.
//!
//! gcc may have made clones of the merged function (`f.constprop.0`). It then names the kept function in the calls of
//! both. If a codeless function is named by no call, only another instance of the same template shows where it may
//! be: the function is taken to be at the addresses of such instances, and the callee of a call of such an instance
//! becomes unknown.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::merge::names::Names;
use crate::model::{
    AddressRange, CalleePlace, Codeless, DieOffset, How, ImageAddr, Instance, LocalCallee, NameId, OriginId,
    RowRange, UnitFunction, UnitId, UnitPiece,
};
use crate::program::machine::Machine;
use crate::program::names::itanium::is_program_wide;
use crate::program::names::relation::spellings;
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::described_symbols::{CodelessNames, DescribedSymbols};
use crate::recover::limits::MAX_HERE;
use crate::recover::recovered::{Recovered, UnitView};
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// A codeless function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct CodelessId {
    unit: UnitId,
    /// Index into [`crate::model::UnitRecords::codeless`].
    index: usize,
}

/// The addresses at which each codeless function may be.
type CodelessAt = HashMap<CodelessId, HashSet<ImageAddr>>;

/// An address at which a codeless function is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CodelessEntry {
    codeless: CodelessId,
    address: ImageAddr,
}

/// A function with code, in the form in which it is compared.
struct CodeHere {
    unit: UnitId,
    origin: OriginId,
    instance: Instance,
    len: u32,
}

/// Gives codeless functions the code that calls of them go to.
pub(crate) fn find<'u, 'f>(
    names: &Names<'_>,
    mut recovered: Recovered<'u, 'f>,
    symbols: &Symbols<'_>,
    machine: &Machine<'_, '_>,
    diagnostics: &mut Diagnostics,
) -> Recovered<'u, 'f> {
    if recovered.records.units.iter().all(|unit| unit.codeless.is_empty()) {
        return recovered;
    }
    let (called, named) = called(names, &recovered, machine);
    let mut found = called;
    let (instances, doubtful_callees) = by_declaration(&recovered, &found, diagnostics);
    let by_die: HashSet<CodelessId> = found.keys().chain(instances.keys()).copied().collect();
    by_symbol(names, &recovered, symbols, &named, &by_die, &mut found);
    // Calls or symbols that lead to several addresses show none. A function that no call names may be at the entry of several
    // instances, and counts at each.
    found.retain(|_, addresses| addresses.len() == 1);
    found.extend(instances);
    let here = here(&recovered, &found);
    let entries = |(codeless, addresses): (CodelessId, HashSet<ImageAddr>)| {
        addresses.into_iter().map(move |address| CodelessEntry { codeless, address })
    };
    let mut list: Vec<CodelessEntry> = found.into_iter().flat_map(entries).collect();
    // The functions are added in this order, which must not be the order of a hash map.
    list.sort_unstable();
    let lines = FoldedLines::new(&recovered, &list);
    for CodelessEntry { codeless: id, address } in list {
        let CodelessId { unit, index } = id;
        // At an address without the entry of a function nothing remains of the merged one: the call may go to a stub in `.plt`
        // or to a thunk of the linker.
        let Some(here) = here.get(&address) else { continue };
        if here.len() > MAX_HERE {
            diagnostics.add(Kind::Cap(Cap::MergedTogether), address.0, || {
                format!("over {MAX_HERE} functions at {address:#x}: a function that gcc merged with them has no code")
            });
            continue;
        }
        let codeless = recovered.records.units[unit.index()].codeless[index];
        let origin = recovered.units.origin_of(unit, codeless.origin);
        let name = names.of_origin(origin);
        let shared = codeless.external || is_program_wide(names.text(name));
        let own = |other: &CodeHere| {
            // A function of another unit with this declaration is its own copy, and a symbol may belong to either.
            let same = match (other.unit == unit, by_die.contains(&id)) {
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
        // gcc merges functions of one unit; with link-time optimization, of all units that it compiles together.
        let Some(remains) = here.iter().find(|other| other.unit == unit).or(here.first()) else {
            continue;
        };
        let range = AddressRange::of(address, remains.len);
        // gcc writes neither inlined subroutines nor call sites into a DIE without code, so the function gets lines at most.
        let rows = lines.of(recovered.unit(unit), unit, range);
        let code = &mut recovered.code[unit.index()];
        let (first, scopes) = (code.pieces.len() as u32, code.scopes.len() as u32);
        let how = How::CallSite;
        code.pieces.push(UnitPiece { start: address, len: remains.len, how, rows });
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
    Recovered { doubtful_callees, ..recovered }
}

/// Codeless functions that may have had code after all, folded by the linker: gcc replaces a function by a jump to
/// another of the same code, and inlines the other's code in place of the jump.
struct FoldedLines {
    /// By unit: how many of its codeless functions were found.
    found: HashMap<UnitId, usize>,
    /// By unit and address.
    here: HashMap<(UnitId, ImageAddr), usize>,
}

impl FoldedLines {
    /// `found`: sorted, each function once per address.
    fn new(recovered: &Recovered<'_, '_>, found: &[CodelessEntry]) -> FoldedLines {
        let mut lines = FoldedLines { found: HashMap::default(), here: HashMap::default() };
        for same in found.chunk_by(|a, b| a.codeless == b.codeless) {
            *lines.found.entry(same[0].codeless.unit).or_default() += 1;
        }
        for &CodelessEntry { codeless, address } in found {
            *lines.here.entry((codeless.unit, address)).or_default() += 1;
        }
        // A codeless function that was not found may have one of the sequences.
        lines.found.retain(|unit, found| *found == recovered.records.units[unit.index()].codeless.len());
        lines
    }

    /// The rows of the only sequence of a range that no function of its unit has, if no other function of the unit
    /// may have it.
    fn of(&self, unit: UnitView<'_, '_>, id: UnitId, range: AddressRange) -> RowRange {
        let start = range.start;
        // An erased function of the unit may have the sequence as well, and no check here could tell the two apart.
        if !unit.records.erased.is_empty()
            || !self.found.contains_key(&id)
            || self.here.get(&(id, start)) != Some(&1)
        {
            return RowRange::default();
        }
        let first = unit.traces.unclaimed.partition_point(|lines| lines.start < start);
        let at_start = unit.traces.unclaimed[first..].iter().take_while(|lines| lines.start == start);
        let mut of_range = at_start.filter(|lines| lines.range() == range && !lines.continues);
        match (of_range.next(), of_range.next()) {
            (Some(only), None) if !only.in_doubt => only.rows,
            _ => RowRange::default(),
        }
    }
}

/// The targets of calls of codeless functions, and by name whether any call names the function.
fn called(
    names: &Names<'_>,
    recovered: &Recovered<'_, '_>,
    machine: &Machine<'_, '_>,
) -> (CodelessAt, Vec<AtomicBool>) {
    // Threads only set a flag, and it is read after all have ended: their order does not matter.
    let named: Vec<AtomicBool> = (0..names.len()).map(|_| AtomicBool::new(false)).collect();
    let of_unit = |(id, unit): (UnitId, UnitView<'_, '_>)| {
        for callee in unit.records.callees.iter() {
            let name = names.of_origin(unit.origin_of(callee.origin));
            named[name.index()].store(true, Ordering::Relaxed);
        }
        let mut targets: Vec<CodelessEntry> = Vec::new();
        if unit.records.codeless.is_empty() {
            return targets;
        }
        let codeless = unit.records.codeless.iter().enumerate();
        let by_die: HashMap<DieOffset, usize> =
            codeless.map(|(index, codeless)| (codeless.die, index)).collect();
        for call in unit.records.calls.iter().filter(|call| !call.is_tail()) {
            let (Some(return_addr), Some(callee)) = (call.return_addr(), call.callee()) else { continue };
            let callee = unit.records.callees[callee.index()];
            // An offset in a supplementary file or another unit of a `.dwo` may be equal to that of a DIE here by chance.
            if let Some(&index) = by_die.get(&callee.die).filter(|_| callee.place == CalleePlace::Here)
                && let Some(target) = machine.call_before(return_addr)
            {
                let codeless = CodelessId { unit: id, index };
                targets.push(CodelessEntry { codeless, address: target });
            }
        }
        targets
    };
    let found: Vec<Vec<CodelessEntry>> = recovered.par_numbered().map(of_unit).collect();
    let mut targets: CodelessAt = HashMap::default();
    for CodelessEntry { codeless, address } in found.into_iter().flatten() {
        targets.entry(codeless).or_default().insert(address);
    }
    (targets, named)
}

/// The entries of other instances of a codeless function's declaration, if no call names the function; and the callees
/// that are such instances: which function a call of them runs is unknown.
fn by_declaration(
    recovered: &Recovered<'_, '_>,
    called: &CodelessAt,
    diagnostics: &mut Diagnostics,
) -> (CodelessAt, HashSet<(UnitId, LocalCallee)>) {
    let mut found: CodelessAt = HashMap::default();
    let mut doubtful_callees: HashSet<(UnitId, LocalCallee)> = HashSet::default();
    for (id, unit) in recovered.numbered() {
        let is_uncalled = |index: usize| {
            unit.records.codeless[index].instance != Instance::NAMED
                && !called.contains_key(&CodelessId { unit: id, index })
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
            // One more than the limit shows that there are too many.
            if let Some(of) = by_origin.get_mut(&unit.origin_of(function.origin))
                && of.len() <= MAX_HERE
            {
                of.push(function);
            }
        }
        let mut doubtful: HashSet<DieOffset> = HashSet::default();
        for index in uncalled {
            let Codeless { origin, instance, .. } = unit.records.codeless[index];
            let all = by_origin.get(&unit.origin_of(origin)).map_or(&[][..], |instances| instances);
            let instances = &all[..all.len().min(MAX_HERE)];
            if instances.is_empty() || instances.iter().any(|other| other.instance == instance) {
                continue;
            }
            if all.len() > MAX_HERE {
                let die = unit.records.codeless[index].die.0;
                diagnostics.add(Kind::Cap(Cap::MergedInstances), die, || {
                    format!(
                        "over {MAX_HERE} instances of the template of the function without code at .debug_info+{die:#x}: it is not \
                         among the functions of the later ones"
                    )
                });
            }
            // gcc writes the DIE of the instance that it kept as the callee of both, so a call of that DIE may be a call of
            // the merged instance.
            doubtful.extend(instances.iter().map(|other| other.die));
            let entries =
                instances.iter().filter_map(|other| unit.code.pieces.get(other.pieces.start as usize));
            found.insert(CodelessId { unit: id, index }, entries.map(|entry| entry.start).collect());
        }
        for (index, callee) in unit.records.callees.iter().enumerate() {
            if callee.place == CalleePlace::Here && doubtful.contains(&callee.die) {
                doubtful_callees.insert((id, LocalCallee(index as u32)));
            }
        }
    }
    (found, doubtful_callees)
}

/// Adds codeless functions that some call names, but no call with an address in their unit, and that have a symbol.
fn by_symbol(
    names: &Names<'_>,
    recovered: &Recovered<'_, '_>,
    symbols: &Symbols<'_>,
    named: &[AtomicBool],
    known: &HashSet<CodelessId>,
    found: &mut CodelessAt,
) {
    let mut by_name: HashMap<NameId, Vec<CodelessId>> = HashMap::default();
    let mut declared = CodelessNames::default();
    for (id, unit) in recovered.numbered() {
        for (index, codeless) in unit.records.codeless.iter().enumerate() {
            let origin = unit.origin_of(codeless.origin);
            let name = names.of_origin(origin);
            let id = CodelessId { unit: id, index };
            if named[name.index()].load(Ordering::Relaxed) && !known.contains(&id) {
                by_name.entry(name).or_default().push(id);
                declared.entry(name).or_default().insert(origin);
            }
        }
    }
    if by_name.is_empty() {
        return;
    }
    let described = DescribedSymbols::new(names, recovered, symbols, &declared);
    let of_symbol = |symbol: &CodeSymbol<'_>| {
        let mut listed = spellings(symbol.name).filter_map(|name| names.find(name));
        let name = listed.find(|name| by_name.contains_key(name))?;
        // If several functions have the name, none is taken: the file of a local symbol shows its unit, and one unit may have overloads.
        let &[codeless] = &by_name.get(&name)?[..] else { return None };
        let CodelessId { unit, index } = codeless;
        let file = !symbol.local
            || symbol.file.is_empty()
            || *base_name(symbol.file) == *recovered.units.heads[unit.index()].file_name;
        // A local symbol of this name belongs to a `static` function of another file, if this function is global.
        let fits = file && symbol.local != recovered.records.units[unit.index()].codeless[index].external;
        let is_evidence = fits && described.is_spare(name, symbol.start);
        is_evidence.then_some(CodelessEntry { codeless, address: symbol.start })
    };
    let functions = symbols.par_iter().filter(|symbol| symbol.function && symbol.sized && !symbol.indirect);
    let places: Vec<CodelessEntry> = functions.filter_map(of_symbol).collect();
    for CodelessEntry { codeless, address } in places {
        found.entry(codeless).or_default().insert(address);
    }
}

/// The functions that begin at the found addresses.
fn here(recovered: &Recovered<'_, '_>, found: &CodelessAt) -> HashMap<ImageAddr, Vec<CodeHere>> {
    let addresses: HashSet<ImageAddr> = found.values().flatten().copied().collect();
    let mut here: HashMap<ImageAddr, Vec<CodeHere>> = HashMap::default();
    for (id, unit) in recovered.numbered() {
        for function in unit.code.functions.iter() {
            // Only entries count: gcc merges whole functions, and no call goes to the start of `f.cold`.
            let Some(entry) = unit.code.pieces.get(function.pieces.start as usize) else { continue };
            if addresses.contains(&entry.start) {
                let of = here.entry(entry.start).or_default();
                // One more than the limit shows that there are too many.
                if of.len() <= MAX_HERE {
                    let origin = unit.origin_of(function.origin);
                    of.push(CodeHere { unit: id, origin, instance: function.instance, len: entry.len });
                }
            }
        }
    }
    here
}

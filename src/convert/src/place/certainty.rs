//! Decides for each function that shares its code with no other whether that is certain, and if it is not, why.
//!
//! `unique` claims that nobody else has this code. A function that was folded or merged away may leave nothing at its address,
//! so silence alone proves nothing. What stands behind `unique` is a check with two parts.
//!
//! **The linker.** Either it cannot fold: GNU ld, or no linker at all. Or what it folds would show. lld keeps the symbol of a
//! folded function, and all linkers keep the line sequence of a folded function that has one. So the program's table of
//! symbols must be there with its local symbols, or `stripped` holds; and every object with code must have debug information,
//! or `undescribed_object` holds: gold drops the local symbols of what it folds and mold with `--gc-sections` all of them, and
//! objects are often stripped before they are linked. Start-up code (`crt1.o`, `crtbegin.o`) does not count, since it is in
//! every program and nothing in it folds. Where several plain names are at the address, the further names may be of folded
//! functions: `plain_names`. That holds also where all objects have debug information, since a compiler may be told not to
//! describe a function (`nodebug`), whose symbol is all that is left of it. gold drops that too, of a local function: where it
//! folded something else, and a unit is of a compiler that may be told so, `stripped` holds.
//!
//! A table counts as one with local symbols if it has at least one that is not hidden. (Linkers make hidden symbols local, and
//! such symbols stay where those of objects were dropped.) Nor may any function that its entry calls local lack a symbol of
//! its name: then its object was stripped before it was linked, or the table after it.
//!
//! **The compiler.** rustc and Swift run LLVM's MergeFunctions always, clang where it is asked to. It removes functions that
//! nobody outside can call, with their symbols and entries. gcc does so with link-time optimization. Nothing is left to look
//! for: `merged_without_trace`. clang does not say in the debug information that it was asked to, but where it merges functions
//! that others can call it leaves a jump, which [`crate::place::thunks`] looks for. Where a unit of LLVM shows such a jump, all units of
//! LLVM in the program count as merging: a program is mostly built with the same options throughout. Where the code is missing
//! or not read, a small function without an entry might be such a jump: `no_code`. gcc (without link-time
//! optimization) describes what it merged: an entry without an address, which [`crate::recover::gcc_icf`] places. Where one stays
//! without a place and no symbol has its name, any function of its unit may be it: `merged_without_trace`. Code that no unit
//! describes may come from any compiler: `undescribed_object`, or `merged_without_trace` where its name shows who made it.
//!
//! The check reads units, symbols and code, and none of the members that rules add to groups. A rule that leaves out a second
//! function because nothing proves it need not say so where one of these reasons holds anyhow; where none would, it sets
//! [`Candidate::doubt`]. Such rules are: caps on comparisons (`cap_reached`). A function whose own address the linker erased
//! and that is alone at the address where it was found was folded into something without a description
//! (`undescribed_object`). A line sequence that no function has is that of another function (`unclaimed_lines`).
//!
//! Functions of groups get no reason: their answers name the others.

use crate::model::{DieOffset, Function, How, Member, NameId, Reason, UnitId};
use crate::open::{Image, ImageKind, Linker};
use crate::place::aliases::AliasRules;
use crate::place::candidate::{Candidate, Candidates};
use crate::place::placing::Placing;
use crate::place::thunks::bounds::MAX_THUNK;
use crate::program::machine::Machine;
use crate::program::names::itanium::is_mangled;
use crate::program::names::relation::{Relation, relation, spellings};
use crate::program::names::toolchain::is_rust;
use crate::program::names::toolchain::{START_UP_FILES, is_of_start, may_be_merged};
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::recovered::UnitView;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// Gives each function of one-member candidates its reason.
pub(crate) fn decide<'f>(
    image: &Image<'f>,
    placing: &Placing<'_, 'f>,
    symbols: &Symbols<'f>,
    undescribed: &AliasRules,
    machine: &Machine<'_, 'f>,
    candidates: &mut Candidates,
) {
    let can_fold = image.linker != Linker::NeverFolds && image.kind != ImageKind::Relocatable;
    let count = symbols.iter().count() + candidates.dies.len() + candidates.symbols.len();
    let max_compared = MAX_COMPARED.max(COMPARED_A_SYMBOL * count as u64);
    let is_whole = !can_fold
        || (is_whole(placing, symbols, candidates, max_compared) && !forgets(image, placing, candidates));
    let lines = lines(placing);
    let check = Check {
        placing,
        symbols,
        undescribed,
        has_objects: undescribed.has_objects() || has_mangled(placing, &lines, candidates),
        image,
        can_fold,
        is_whole,
        units: units(placing, symbols, machine, candidates),
        lines,
        compared: Budget::new(max_compared),
    };
    let (mut found, mut here) = (Vec::new(), SymbolsHere::new(symbols));
    let Candidates { dies, symbols: by_symbol, labels, functions, .. } = &mut *candidates;
    for candidate in dies.iter().chain(&*by_symbol).chain(&*labels) {
        if let [member] = &candidate.members[..]
            && let Some(reason) =
                check.reason(candidate, member, &functions[member.function.index()], here.at(candidate.start))
        {
            found.push((member.function, reason));
        }
    }
    for (function, reason) in found {
        let own = &mut functions[function.index()].reason;
        *own = Some(own.map_or(reason, |other| other.min(reason)));
    }
    candidates.nameless = check.of_linker();
}

/// Comparisons of names with symbols at one address: the larger of this, and of this for each symbol and each range of code. A
/// program has few symbols at each address: one that has more is made to.
const MAX_COMPARED: u64 = 1 << 18;
const COMPARED_A_SYMBOL: u64 = 16;

/// The symbols at an address that mostly moves upwards: several candidates may begin at one.
struct SymbolsHere<'a, 'f> {
    symbols: &'a Symbols<'f>,
    address: Option<u64>,
    here: &'a [CodeSymbol<'f>],
}

impl<'a, 'f> SymbolsHere<'a, 'f> {
    fn new(symbols: &'a Symbols<'f>) -> SymbolsHere<'a, 'f> {
        SymbolsHere { symbols, address: None, here: &[] }
    }

    fn at(&mut self, address: u64) -> &'a [CodeSymbol<'f>] {
        if self.address.replace(address) != Some(address) {
            self.here = self.symbols.at(address);
        }
        self.here
    }
}

struct Check<'a, 'f> {
    placing: &'a Placing<'a, 'f>,
    symbols: &'a Symbols<'f>,
    undescribed: &'a AliasRules,
    image: &'a Image<'f>,
    /// Objects with code have no debug information.
    has_objects: bool,
    can_fold: bool,
    /// The table of symbols is there, with those of local functions.
    is_whole: bool,
    /// By unit: what its compiler may have done.
    units: Vec<Option<Reason>>,
    /// Code that has lines and no entry, by start: start, end, unit.
    lines: Vec<(u64, u64, UnitId)>,
    compared: Budget,
}

impl Check<'_, '_> {
    /// The first reason that holds for the only function of a candidate.
    fn reason(
        &self,
        candidate: &Candidate,
        member: &Member,
        function: &Function,
        here: &[CodeSymbol<'_>],
    ) -> Option<Reason> {
        // Any number of functions may begin where any number of symbols is.
        if !self.compared.spend(here.len()) {
            return Some(Reason::CapReached);
        }
        let all = [
            self.of_linker(),
            self.of_names(here, function),
            self.of_unit(candidate, function, here),
            self.of_what_remains(candidate, member),
            candidate.doubt,
        ];
        all.into_iter().flatten().min()
    }

    /// What holds for the whole program, as far as the linker goes.
    fn of_linker(&self) -> Option<Reason> {
        match (self.can_fold, self.is_whole, self.has_objects) {
            (false, ..) | (_, true, false) => None,
            (_, false, _) => Some(Reason::Stripped),
            (_, _, true) => Some(Reason::UndescribedObject),
        }
    }

    /// Further plain names may be of functions that were folded, where not each of those has an entry or lines.
    fn of_names(&self, here: &[CodeSymbol<'_>], function: &Function) -> Option<Reason> {
        if !self.can_fold {
            return None;
        }
        let own = self.placing.names.text(self.placing.names.of_function(function));
        let described = self.placing.names.text(self.placing.names.of_origin(function.origin));
        let is_further = |symbol: &CodeSymbol<'_>| {
            let explained = |name| relation(name, symbol.name) != Relation::Other;
            // Of a linker that folds, `AliasRules::may_name` asked for proof before a symbol became the name.
            let is_own = explained(described) || (self.image.linker.is_folding() && explained(own));
            // A global name without a type may be a function that was written in assembly.
            let may_be_function = symbol.function || !(symbol.local || symbol.of_linker);
            // What chooses a function at start-up has no code of its own.
            may_be_function && !symbol.indirect && !is_mangled(symbol.name) && !is_own
        };
        here.iter().any(is_further).then_some(Reason::PlainNames)
    }

    /// What the compiler of the function may have done.
    fn of_unit(&self, candidate: &Candidate, function: &Function, here: &[CodeSymbol<'_>]) -> Option<Reason> {
        if let Some(unit) = self.unit(candidate, function) {
            return self.units[unit.index()];
        }
        let name = self.placing.names.text(self.placing.names.of_function(function));
        if is_rust(name) {
            return Some(Reason::MergedWithoutTrace);
        }
        let of_start = is_of_start(name)
            || here.iter().any(|symbol| symbol.of_linker || START_UP_FILES.contains(&base_name(symbol.file)))
            || self.is_of_linker(candidate.start);
        match (of_start, self.symbols.has_table()) {
            (true, _) => None,
            (_, true) => Some(Reason::UndescribedObject),
            (_, false) => Some(Reason::Stripped),
        }
    }

    /// True for the code that calls other modules: the linker made it.
    fn is_of_linker(&self, start: u64) -> bool {
        let section = self.image.section_at(start).map(|at| self.image.sections[at].name.as_bytes());
        section.is_some_and(|name| name.starts_with(b".plt") || name.starts_with(b".iplt"))
    }

    /// The unit of a function: that of its entry, else the one that has lines for its first byte.
    fn unit(&self, candidate: &Candidate, function: &Function) -> Option<UnitId> {
        if let Some(source) = function.source {
            return Some(source.unit);
        }
        unit_of_lines(&self.lines, candidate.start)
    }

    /// What the program says of a function that has its code besides, and that it does not name.
    fn of_what_remains(&self, candidate: &Candidate, member: &Member) -> Option<Reason> {
        if !self.can_fold {
            return None;
        }
        let was_erased = !matches!(member.how, How::LiveRange | How::SymbolOnly);
        if was_erased {
            return Some(Reason::UndescribedObject);
        }
        let others = self.undescribed.has_other_lines(candidate.start, candidate.end);
        others.then_some(Reason::UnclaimedLines)
    }
}

/// True where the program has its table of symbols, with those of local functions.
fn is_whole(
    placing: &Placing<'_, '_>,
    symbols: &Symbols<'_>,
    candidates: &Candidates,
    max_compared: u64,
) -> bool {
    let recovered = placing.recovered;
    // Functions that may have had a local symbol, and of which that cannot be asked: they are erased, or have no entries.
    let has_local = |unit: UnitView<'_, '_>| {
        unit.records.erased.iter().any(|erased| !erased.external && !erased.removed)
            || (unit.code.functions.is_empty() && !unit.traces.bare.is_empty())
    };
    if !symbols.has_table()
        || (!symbols.has_locals() && (recovered.code.is_empty() || recovered.all().any(has_local)))
    {
        return false;
    }
    let (mut here, compared) = (SymbolsHere::new(symbols), Budget::new(max_compared));
    let mut lacks_symbol = |candidate: &Candidate| {
        let [member] = candidate.members[..] else { return false };
        let function = &candidates.functions[member.function.index()];
        let Some(source) = function.source.filter(|_| member.how == How::LiveRange) else { return false };
        let unit = recovered.unit(source.unit.index());
        let own = &unit.code.functions[source.function.index()];
        if own.external
            || function.symbol.is_some()
            || unit.code.pieces[own.pieces.start as usize].start.0 != candidate.start
        {
            return false;
        }
        let name = placing.names.of_origin(function.origin);
        let is_own = |symbol: &CodeSymbol<'_>| {
            symbol.is_named(name, || placing.names.text(name))
                || relation(placing.names.text(name), symbol.name) != Relation::Other
        };
        let here = here.at(candidate.start);
        !compared.spend(here.len()) || !here.iter().any(is_own)
    };
    !candidates.dies.iter().any(&mut lacks_symbol)
}

/// True where nothing may be left of a function: gold folds in this program, and drops the symbols of local functions that it
/// folds, of which clang need not describe any (`nodebug`).
fn forgets(image: &Image<'_>, placing: &Placing<'_, '_>, candidates: &Candidates) -> bool {
    image.linker == Linker::MayFoldAndForget
        && candidates.dies.iter().chain(&candidates.symbols).any(|candidate| candidate.members.len() > 1)
        && placing.recovered.all().any(|unit| unit.head.may_merge())
}

/// What the compiler of each unit may have done to its functions, of which nothing is left.
fn units(
    placing: &Placing<'_, '_>,
    symbols: &Symbols<'_>,
    machine: &Machine<'_, '_>,
    candidates: &Candidates,
) -> Vec<Option<Reason>> {
    let (unread, lost) = (UnreadCode::new(symbols, machine, candidates), with_lost(placing, symbols));
    let of_unit = |(index, unit): (usize, UnitView<'_, '_>)| {
        if unit.head.rewrites.is_some() || lost.contains(&index) {
            Some(Reason::MergedWithoutTrace)
        } else if unread.may_be_of(placing, index, symbols) {
            Some(Reason::NoCode)
        } else if unit.head.may_merge() && candidates.merging.binary_search(&UnitId(index as u32)).is_ok() {
            Some(Reason::MergedWithoutTrace)
        } else {
            // What the compiler describes without an address is in the `.dwo` that is missing.
            unit.head.partial.then_some(Reason::UndescribedObject)
        }
    };
    placing.recovered.all().enumerate().map(of_unit).collect()
}

/// Units of gcc that describe a local function without an address of which there is neither a symbol nor a call that shows where
/// it is: gcc may have merged it with any of the unit. (It leaves a symbol of what it merged, which tools may drop. A function
/// that other units may call has its symbol, or is another unit's.)
fn with_lost(placing: &Placing<'_, '_>, symbols: &Symbols<'_>) -> HashSet<usize> {
    let mut by_name: HashMap<NameId, Vec<usize>> = HashMap::default();
    for (index, unit) in placing.recovered.all().enumerate() {
        let mut local = unit.records.codeless.iter().filter(|codeless| !codeless.external).peekable();
        if local.peek().is_none() {
            continue;
        }
        let placed = unit.code.functions.iter().filter(|function| function.how == How::CallSite);
        let placed: HashSet<DieOffset> = placed.map(|function| function.die).collect();
        for codeless in local.filter(|codeless| !placed.contains(&codeless.die)) {
            let origin = unit.origin_of(codeless.origin);
            by_name.entry(placing.names.of_origin(origin)).or_default().push(index);
        }
    }
    if !by_name.is_empty() {
        for symbol in symbols.iter().filter(|symbol| symbol.function) {
            for name in spellings(symbol.name) {
                if let Some(name) = placing.names.find(name) {
                    by_name.remove(&name);
                }
            }
        }
    }
    by_name.into_values().flatten().collect()
}

/// Small functions that have no entry and whose code is not at hand or not read: each may be a jump that a compiler put in the
/// place of a function which it merged with another of its unit.
struct UnreadCode<'f> {
    names: HashSet<&'f [u8]>,
    /// The base names of the files that some are of for certain.
    files: HashSet<&'f [u8]>,
    /// Of some the file is not known.
    of_any_file: bool,
}

impl<'f> UnreadCode<'f> {
    fn new(symbols: &'f Symbols<'_>, machine: &Machine<'_, '_>, candidates: &Candidates) -> UnreadCode<'f> {
        let mut unread =
            UnreadCode { names: HashSet::default(), files: HashSet::default(), of_any_file: false };
        for candidate in &candidates.symbols {
            let is_described =
                |member: &Member| candidates.functions[member.function.index()].source.is_some();
            if candidate.end - candidate.start > MAX_THUNK
                || machine.can_read(candidate.start, candidate.end)
                || candidate.members.iter().any(is_described)
            {
                continue;
            }
            for symbol in symbols.at(candidate.start).iter().filter(|symbol| symbol.function) {
                if !may_be_merged(symbol.name) || is_of_start(symbol.name) {
                    continue;
                }
                unread.names.insert(symbol.name);
                match symbols.sure_file(symbol) {
                    Some(file) => _ = unread.files.insert(file),
                    None => unread.of_any_file = true,
                }
            }
        }
        unread
    }

    /// True where one may be of a unit.
    fn may_be_of(&self, placing: &Placing<'_, '_>, index: usize, symbols: &Symbols<'_>) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let unit = placing.recovered.unit(index);
        if unit.head.assembly || unit.head.merges_nothing {
            return false;
        }
        if unit.head.keeps_callees {
            // gcc describes what it made jump, without an address.
            let name = |origin| placing.names.text(placing.names.of_origin(unit.origin_of(origin)));
            return unit.records.codeless.iter().any(|codeless| self.names.contains(name(codeless.origin)));
        }
        let file = &*unit.head.file_name;
        self.of_any_file || self.files.contains(file) || (!self.files.is_empty() && !symbols.has_file(file))
    }
}

/// Code that has lines and no entry, by start.
fn lines(placing: &Placing<'_, '_>) -> Vec<(u64, u64, UnitId)> {
    let of_unit = |(index, unit): (usize, UnitView<'_, '_>)| {
        let range = move |lines: &crate::model::BareLines| {
            (lines.start.0, lines.start.0 + u64::from(lines.len), UnitId(index as u32))
        };
        unit.traces.bare.iter().map(range).collect::<Vec<_>>()
    };
    let mut lines: Vec<_> = placing.recovered.all().enumerate().flat_map(of_unit).collect();
    lines.sort_unstable();
    lines
}

/// The unit that has lines for an address. Few lines overlap: the last that begin at or before an address mostly hold it.
fn unit_of_lines(lines: &[(u64, u64, UnitId)], address: u64) -> Option<UnitId> {
    const TRIED: usize = 8;
    let after = lines.partition_point(|lines| lines.0 <= address);
    let mut before = lines[..after].iter().rev().take(TRIED);
    before.find(|lines| address < lines.1).map(|lines| lines.2)
}

/// True where a function of C++ or Rust has neither entry nor lines: such a name is no linker's and no C library's. (What makes
/// virtual calls fit (`_ZThn`) has none with gcc.)
fn has_mangled(placing: &Placing<'_, '_>, lines: &[(u64, u64, UnitId)], candidates: &Candidates) -> bool {
    let is_mangled = |member: &Member| {
        let function = &candidates.functions[member.function.index()];
        let name = placing.names.text(placing.names.of_function(function));
        function.source.is_none() && is_mangled(name) && !name.starts_with(b"_ZT")
    };
    let undescribed = |candidate: &Candidate| {
        candidate.members.iter().any(is_mangled) && unit_of_lines(lines, candidate.start).is_none()
    };
    !placing.recovered.code.is_empty() && candidates.symbols.iter().any(undescribed)
}

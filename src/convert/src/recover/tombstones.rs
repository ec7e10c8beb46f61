//! Finds the addresses of functions whose address the linker erased because it folded them.
//!
//! A subprogram may have a tombstone for an address and no line sequence of its own that shows it (`read` handles
//! those). It was folded, or discarded as a copy of a function of another unit, or removed because nothing calls it.
//! Two kinds of evidence still show its address, in this order. *Symbols*: lld leaves the symbol of a folded function
//! at the survivor's address. *Line sequences*: a linker erases the sequences of discarded functions, but not those
//! of folded functions. So an unclaimed sequence that begins at the address of a function belongs to a function that
//! was folded into it.
//!
//! Either counts only if a function of the same size kept that address. Where the linker drops the symbols of folded functions, a symbol
//! of that size is enough, since perhaps no unit describes its function. Then the unit must have a sequence more than such functions. A
//! copy of a function that is there is no fold: its name is already there. `pair` decides which function of a unit a sequence belongs to, among all
//! functions that may have it: functions that a symbol places there, and functions of its size that no evidence
//! places elsewhere. The symbol table gives the file of a local symbol without its folder, so a local function counts
//! as found only if its unit has a sequence there. gcc writes no linkage name for a function that is local to its
//! unit, and `g` of one class may have been folded where only `g` of another class has a symbol. Such a symbol counts
//! only if the names of its file leave one address, or if lines agree.

use rayon::prelude::*;

use crate::diagnostics::Diagnostics;
use crate::merge::names::Names;
use crate::merge::units::Definition;
use crate::model::{
    AddressRange, BareLines, DieOffset, How, ImageAddr, Instance, NONE16, NameId, OriginId, Row, UnitErased,
    UnitId, UnitRecords,
};
use crate::policy::linker::{FoldedSymbols, Linker};
use crate::program::names::itanium::{is_program_wide, own_spelling};
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::caps::Caps;
use crate::recover::equal_rows;
use crate::recover::erased::{Erased, FoundAt};
use crate::recover::limits::MAX_TOGETHER;
use crate::recover::outcome::{Unclaimed, add, count, count_ambiguous};
use crate::recover::recovered::Recovered;
use crate::recover::survivors::{LiveFunctions, Survivor, is_kept_beside, keeps};
use crate::toolchain::itanium_abi::is_thunk;
use crate::toolchain::suffixes::{has_suffix, names_part, whole_name, whole_suffixed};
use crate::util::hash::{HashMap, HashSet, keep_only};
use crate::util::pair::{Fit, Paired, SourcePlace, pair};
use crate::util::text::base_name;

/// Gives erased functions that are found an address and counts the others; counts all if the linker cannot fold. In
/// that case the name of a discarded function may be at another function's address, but only as an alias. The symbols
/// come back with the ids of their names, if there are erased functions.
pub(crate) fn recover<'u, 'f>(
    names: &Names<'_>,
    recovered: Recovered<'u, 'f>,
    symbols: Symbols<'f>,
    linker: Linker,
    diagnostics: &mut Diagnostics,
) -> (Recovered<'u, 'f>, Symbols<'f>) {
    let records = &recovered.records.units;
    let of_unit = |(unit, records): (UnitId, &UnitRecords<'_>)| {
        (0..records.erased.len()).map(move |index| Erased { unit, index })
    };
    let all: Vec<Erased> = (0..).map(UnitId::new).zip(records).flat_map(of_unit).collect();
    if all.is_empty() {
        return (recovered, symbols);
    }
    let (symbols, known) =
        rayon::join(|| symbols.numbered(|name| names.find(name)), || LiveFunctions::new(names, &recovered));
    let lacks_symbols =
        matches!(linker.policy().folded_symbols, FoldedSymbols::Dropped | FoldedSymbols::AllOrNone);
    let mut finder = Finder::new(names, &recovered, (&symbols, lacks_symbols), known);
    let mut by_name: ByName = HashMap::default();
    // The sequence of a removed function is dead, so the linker did not fold it: a symbol of its name belongs to a function
    // of another unit.
    for &at in all.iter().filter(|at| !finder.erased(**at).removed) {
        by_name.entry(finder.name(at)).or_default().push(at);
    }
    if linker.may_fold() {
        let open = finder.by_symbol(&by_name);
        // A function that is found shows that functions of its name in other units are no copies, which leaves more
        // evidence for the rest.
        finder.by_lines(&all);
        finder.by_lines(&all);
        if finder.by_own_name(&open, &by_name) {
            finder.by_lines(&all);
        }
    }
    let Finder { known, found, caps, taken, .. } = finder;
    count_ambiguous(&recovered, &known, (&found, &taken), diagnostics);
    caps.report(diagnostics);
    count(names, &recovered, &all, known, &found, diagnostics);
    (add(recovered, &all, found), symbols)
}

/// Erased functions by name, in their order.
type ByName = HashMap<NameId, Vec<Erased>>;

/// The functions of one unit that kept one range.
type Owners = HashSet<(OriginId, Instance)>;

/// A local symbol, with the part of its name that the DIEs of its functions have.
type PartSymbol<'f> = (CodeSymbol<'f>, NameId);

struct Finder<'m, 'f> {
    names: &'m Names<'f>,
    recovered: &'m Recovered<'m, 'f>,
    symbols: &'m Symbols<'f>,
    known: LiveFunctions,
    found: HashMap<Erased, FoundAt>,
    /// Sequences already assigned to a function.
    taken: HashSet<Unclaimed>,
    /// How many parts of a function were found at the start of another of its parts: by unit, DIE and address.
    into_own: HashMap<(UnitId, DieOffset, ImageAddr), usize>,
    /// By unit and range: how many functions a symbol placed that need a sequence of the unit there, and have none yet.
    need_lines: HashMap<(UnitId, AddressRange), usize>,
    /// The linker may have dropped the symbols of functions that it folded.
    lacks_symbols: bool,
    caps: Caps,
}

impl<'m, 'f> Finder<'m, 'f> {
    fn new(
        names: &'m Names<'f>,
        recovered: &'m Recovered<'m, 'f>,
        (symbols, lacks_symbols): (&'m Symbols<'f>, bool),
        known: LiveFunctions,
    ) -> Self {
        Finder {
            names,
            recovered,
            symbols,
            known,
            found: HashMap::default(),
            taken: HashSet::default(),
            into_own: HashMap::default(),
            need_lines: HashMap::default(),
            lacks_symbols,
            caps: Caps::new(),
        }
    }

    fn erased(&self, at: Erased) -> &UnitErased {
        &self.recovered.records.units[at.unit.index()].erased[at.index]
    }

    fn origin(&self, at: Erased) -> OriginId {
        self.recovered.units.origin_of(at.unit, self.erased(at).origin)
    }

    fn definition(&self, at: Erased) -> Definition {
        Definition { unit: at.unit, origin: self.origin(at) }
    }

    fn name(&self, at: Erased) -> NameId {
        self.names.of_origin(self.origin(at))
    }

    /// Evidence 4: the symbol table has the function's name at the address of another function. Returns the local
    /// symbols whose functions have only a part of their name in their DIEs (`g` of `A::g` and `B::g`), if a file has
    /// several of them.
    fn by_symbol(&mut self, by_name: &ByName) -> Vec<PartSymbol<'f>> {
        // The end of a symbol without a size is a guess, and an `STT_GNU_IFUNC` symbol names the function that its code
        // resolves, not its code.
        let functions = |symbol: &&CodeSymbol<'_>| symbol.function && symbol.sized && !symbol.indirect;
        let (names, symbols) = (self.names, self.symbols);
        let whole = |symbol: &CodeSymbol<'_>| {
            // gcc makes `f.isra.0` of `f`, and the DIE of that code has the name `f`.
            let of_whole = || names.find(whole_suffixed(symbol.name)?);
            let known = symbol.name_id.and_then(|name| by_name.get_key_value(&name));
            known.or_else(|| by_name.get_key_value(&of_whole()?))
        };
        let own = |symbol: &CodeSymbol<'_>| {
            let name = own_spelling(symbol.name)?;
            by_name.get_key_value(&names.find(&name)?)
        };
        // By file, by the name in DIEs and by size: the addresses of the symbols.
        let mut places: HashMap<(Option<u32>, NameId, u64), HashSet<ImageAddr>> = HashMap::default();
        let place = |symbol: &CodeSymbol<'_>, name| (symbol.file_id, name, symbol.end - symbol.start);
        // With whether the DIE has only the last component of the name.
        let named = |symbol: &'m CodeSymbol<'f>| {
            let found = whole(symbol);
            let (&name, erased) = found.or_else(|| own(symbol))?;
            Some((symbol, name, erased, found.is_none()))
        };
        let named: Vec<(&CodeSymbol<'f>, NameId, &Vec<Erased>, bool)> =
            symbols.par_iter().filter(functions).filter_map(named).collect();
        for &(symbol, name, ..) in named.iter().filter(|(symbol, .., is_own)| *is_own && symbol.local) {
            places.entry(place(symbol, name)).or_default().insert(symbol.start);
        }
        let mut open = Vec::new();
        for (symbol, name, erased, is_own) in named {
            self.caps.of_name(erased.len());
            if is_own && places.get(&place(symbol, name)).is_some_and(|places| places.len() > 1) {
                open.push((*symbol, name));
                continue;
            }
            let fits = |at: &&Erased| self.symbol_fits(symbol, **at);
            // A symbol places one function: first one whose unit has a fitting line sequence there, then one whose
            // unit has any.
            let lines = |at: &Erased| self.sequences(at.unit, symbol.range());
            let with_own = |at: &&Erased| self.fits_lines(symbol, **at);
            let with_any = |at: &&Erased| lines(at).next().is_some();
            // A hostile file may give one name to all functions and all symbols: without the limit each pair of them would be
            // compared.
            let fitting: Vec<Erased> = erased.iter().take(MAX_TOGETHER).filter(fits).copied().collect();
            let chosen = fitting.iter().find(with_own).or_else(|| fitting.iter().find(with_any));
            let chosen = chosen.or(fitting.first()).copied();
            // Once the steps have run out, the function that the symbol is of may not have been compared.
            if let Some(at) = chosen.filter(|_| !self.caps.steps.is_short()) {
                self.keep(at, FoundAt { range: symbol.range(), how: How::Symbol, sequence: None });
            }
        }
        open
    }

    /// Functions that have only a part of their name in their DIEs and that are not placed yet: places a function if
    /// it is the only one that the lines at one of these symbols fit. True if any was placed.
    fn by_own_name(&mut self, open: &[PartSymbol<'f>], by_name: &ByName) -> bool {
        let mut places: HashMap<Erased, Option<AddressRange>> = HashMap::default();
        let mut functions: HashMap<(UnitId, AddressRange), Option<Erased>> = HashMap::default();
        for (symbol, name) in open {
            let fits = |at: &&Erased| self.symbol_fits(symbol, **at) && self.fits_lines(symbol, **at);
            for &at in by_name[name].iter().take(MAX_TOGETHER).filter(fits) {
                // A function that fits two places stays open, and so do two functions that fit one place.
                keep_only(&mut places, at, symbol.range());
                keep_only(&mut functions, (at.unit, symbol.range()), at);
            }
        }
        let mut sure: Vec<(Erased, AddressRange)> = places
            .into_iter()
            .filter_map(|(at, range)| Some((at, range?)))
            .filter(|&(at, range)| functions[&(at.unit, range)] == Some(at))
            .collect();
        sure.sort_unstable();
        // A place that was not compared any more may be a second one for a function that seems to fit one place alone.
        if self.caps.steps.is_short() {
            return false;
        }
        for &(at, range) in &sure {
            self.keep(at, FoundAt { range, how: How::Symbol, sequence: None });
        }
        !sure.is_empty()
    }

    /// True if the function's unit has a sequence at a symbol that fits the function's declaration.
    fn fits_lines(&self, symbol: &CodeSymbol<'f>, at: Erased) -> bool {
        let unclaimed = &self.recovered.traces[at.unit.index()].unclaimed;
        let mut lines = self.sequences(at.unit, symbol.range());
        lines.any(|index| self.distance(at, &unclaimed[index]).is_some())
    }

    fn keep(&mut self, at: Erased, found: FoundAt) {
        // From now on erased functions of this name in other units count as discarded copies of this one (`is_copy`).
        if self.is_shared(at) {
            let (name, origin) = (self.name(at), self.origin(at));
            self.known.definitions.add(name, Definition { unit: at.unit, origin });
        }
        if found.sequence.is_none() && !self.is_shared(at) {
            *self.need_lines.entry((at.unit, found.range)).or_default() += 1;
        }
        if self.erased(at).part {
            *self.into_own.entry((at.unit, self.erased(at).die, found.range.start)).or_default() += 1;
        }
        self.found.insert(at, found);
    }

    /// True if other units mean the same function by its name.
    fn is_shared(&self, at: Erased) -> bool {
        self.erased(at).external || is_program_wide(self.names.text(self.name(at)))
    }

    /// True if the linker discarded it as a copy of a known function.
    fn is_copy(&self, at: Erased) -> bool {
        let known = self.found.contains_key(&at) || !self.is_shared(at);
        let same = |other: Definition| {
            let own = self.definition(at);
            !(self.names.are_apart(other.origin, own.origin)
                || (self.recovered.units.are_apart_there(self.names, other, own) && self.has_lines(at)))
        };
        let (definitions, name) = (&self.known.definitions, self.name(at));
        // A `static` function is never a copy: no other unit has it.
        if known {
            return false;
        }
        let any = definitions.any(name, same);
        // The same function may be one of the definitions that are not kept.
        if !any && definitions.is_full(name) {
            self.caps.of_definitions(name);
            return true;
        }
        any
    }

    /// True if an unclaimed sequence of its unit fits a function, at the range of a function that kept its address.
    fn has_lines(&self, at: Erased) -> bool {
        let unclaimed = self.recovered.traces[at.unit.index()].unclaimed.iter().enumerate();
        let fits = |(index, lines): (usize, &BareLines)| {
            u64::from(lines.len) == self.erased(at).size
                && !lines.in_doubt
                && !self.taken.contains(&Unclaimed { unit: at.unit, index })
                && self.known.at(lines.range()).is_some()
                && self.distance(at, lines).is_some()
        };
        self.caps.steps.spend(unclaimed.len()) && { unclaimed }.any(fits)
    }

    /// Evidence 5, and the lines of functions found by evidence 4: unclaimed sequences at functions of the same
    /// length.
    fn by_lines(&mut self, all: &[Erased]) {
        for unit in all.chunk_by(|a, b| a.unit == b.unit) {
            let id = unit[0].unit;
            let mut by_len: HashMap<u64, (Vec<Erased>, Vec<usize>)> = HashMap::default();
            for (index, lines) in self.recovered.traces[id.index()].unclaimed.iter().enumerate() {
                if !lines.in_doubt && !self.taken.contains(&Unclaimed { unit: id, index }) {
                    by_len.entry(lines.len.into()).or_default().1.push(index);
                }
            }
            // Linkers erase the sequences of copies that they discard: a copy would take the sequence of a folded function.
            for &at in unit.iter().filter(|at| !self.erased(**at).removed && !self.is_copy(**at)) {
                let found = self.found.get(&at);
                // A function whose length was erased too has that of its symbol by now.
                let len = found.map_or(self.erased(at).size, |found| found.range.len());
                if found.is_none_or(|found| found.sequence.is_none())
                    && let Some(here) = by_len.get_mut(&len)
                {
                    here.0.push(at);
                }
            }
            let mut by_len: Vec<_> = by_len.into_iter().filter(|(_, here)| !here.0.is_empty()).collect();
            // Nothing may depend on the order of a hash map: a function that is found changes which others count as copies.
            by_len.sort_unstable_by_key(|(len, _)| *len);
            for (len, (mut functions, mut sequences)) in by_len {
                self.caps.of_size((id, len), &mut functions, &mut sequences);
                self.pair(id, &functions, &sequences);
            }
        }
    }

    /// Assigns sequences of one length to functions of one unit.
    fn pair(&mut self, unit: UnitId, functions: &[Erased], sequences: &[usize]) {
        let (code, unclaimed) =
            (&self.recovered.code[unit.index()], &self.recovered.traces[unit.index()].unclaimed);
        // Sequences with the same rows count as one.
        let mut numbers: HashMap<(ImageAddr, &[Row]), usize> = HashMap::default();
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        for &index in sequences {
            let BareLines { start, rows, .. } = unclaimed[index];
            let rows = code.rows_of(rows);
            let kind = *numbers.entry((start, rows)).or_insert_with(|| {
                kinds.push(Vec::new());
                kinds.len() - 1
            });
            kinds[kind].push(index);
        }
        // `pop` then gives the sequences of a kind in their order.
        kinds.iter_mut().for_each(|kind| kind.reverse());
        // Collected once for each address: thousands of functions may share a range, and each pair of function and sequence
        // compares with them.
        let mut owners: HashMap<ImageAddr, Option<Owners>> = HashMap::default();
        let mut counts: HashMap<ImageAddr, usize> = HashMap::default();
        for &index in sequences {
            *counts.entry(unclaimed[index].start).or_default() += 1;
        }
        // clang at `-g1` writes no lines of declarations, and no DIEs of most functions.
        let describes_all = functions.iter().any(|at| self.names.origin(self.origin(*at)).line > 0);
        for kind in &kinds {
            let lines = &unclaimed[kind[0]];
            let own = (!describes_all).then(|| counts[&lines.start]);
            owners.entry(lines.start).or_insert_with(|| self.owners(unit, lines.range(), own));
        }
        let may_have = |at, lines: &BareLines| {
            self.may_have(at, lines, owners.get(&lines.start).and_then(Option::as_ref))
        };
        let mut fits = Vec::new();
        for (sequence, kind) in kinds.iter().enumerate() {
            let lines = &unclaimed[kind[0]];
            for (function, &at) in functions.iter().enumerate() {
                if may_have(at, lines)
                    && let Some(distance) = self.distance(at, lines)
                {
                    fits.push(Fit { function, sequence, distance });
                }
            }
        }
        // `Fit::sequence` counts kinds, and a kind of three sequences may go to three functions.
        let mut room: Vec<usize> = kinds.iter().map(Vec::len).collect();
        let pairs = pair(fits, &mut room, &self.caps.steps);
        let mut paired = vec![false; functions.len()];
        for Paired { function, sequence: kind } in pairs {
            paired[function] = true;
            if let Some(index) = kinds[kind].pop() {
                self.give(functions[function], index);
            }
        }
        // The body of a function may come from another file. The last function gets the last sequence if a symbol
        // places it there and no other function can have it.
        let left: Vec<Erased> =
            functions.iter().zip(paired).filter(|(_, paired)| !paired).map(|(at, _)| *at).collect();
        let free: Vec<usize> = kinds.concat();
        if let ([at], [index]) = (&left[..], &free[..])
            && self.found.contains_key(at)
            && self.may_have(*at, &unclaimed[*index], None)
        {
            self.give(*at, *index);
            return;
        }
        let placed = left.iter().filter_map(|&at| Some((self.found.get(&at)?.range, at)));
        for (at, index) in
            equal_rows::pair(placed, &kinds, |index| unclaimed[index].range(), &self.caps.steps)
        {
            self.give(at, index);
        }
    }

    /// The functions of a unit that keep the range of a sequence; `None` if no function keeps it, or no steps are left. `own`: how many
    /// sequences of that range the unit has, if it may have functions that it does not describe.
    fn owners(&self, unit: UnitId, range: AddressRange, own: Option<usize>) -> Option<Owners> {
        let Some(remaining) = self.known.at(range) else {
            let here = self.symbols.at(range.start);
            if !self.lacks_symbols || !self.caps.steps.spend(here.len()) {
                return None;
            }
            let file = &*self.recovered.unit(unit).head.file_name;
            let is_kept = own.map_or(here.iter().any(|symbol| keeps(symbol, range)), |own| {
                is_kept_beside(here, range, file, own)
            });
            return is_kept.then(Owners::default);
        };
        let own = remaining.iter().filter(|other| other.unit == unit);
        self.caps
            .steps
            .spend(remaining.len())
            .then(|| own.map(|other| (other.origin, other.instance)).collect())
    }

    /// True if a function of this length and the sequence may be at one address; `owners` are the functions of the
    /// sequence's range.
    fn may_have(&self, at: Erased, lines: &BareLines, owners: Option<&Owners>) -> bool {
        match self.found.get(&at) {
            Some(found) => found.range == lines.range(),
            None => {
                owners.is_some_and(|owners| !owners.contains(&(self.origin(at), self.erased(at).instance)))
            }
        }
    }

    /// True if a function that kept its address is this same function, as its unit describes it: several functions
    /// may have one name, file and line.
    fn is_own(&self, other: &Survivor, at: Erased) -> bool {
        other.unit == at.unit && other.origin == self.origin(at) && other.instance == self.erased(at).instance
    }

    /// Whether a function that kept its address passes `is_such`; `None` if no steps are left.
    fn any(&self, remaining: &[Survivor], is_such: impl Fn(&Survivor) -> bool) -> Option<bool> {
        self.caps.steps.spend(remaining.len()).then(|| remaining.iter().any(is_such))
    }

    fn give(&mut self, at: Erased, index: usize) {
        self.taken.insert(Unclaimed { unit: at.unit, index });
        if let Some(found) = self.found.get_mut(&at) {
            found.sequence = Some(index);
            let range = found.range;
            if !self.is_shared(at) {
                self.need_lines.entry((at.unit, range)).and_modify(|waiting| *waiting -= 1);
            }
            return;
        }
        let range = self.recovered.traces[at.unit.index()].unclaimed[index].range();
        self.keep(at, FoundAt { range, how: How::LineSequence, sequence: Some(index) });
    }

    /// The unassigned sequences of a unit that cover a range.
    fn sequences(&self, unit: UnitId, range: AddressRange) -> impl Iterator<Item = usize> {
        let unclaimed = &self.recovered.traces[unit.index()].unclaimed;
        // The list is sorted by start: `read` makes it so, and `folded_sections` sorts it again after a cut.
        let first = unclaimed.partition_point(|lines| lines.start < range.start);
        let at_start = unclaimed[first..]
            .iter()
            .take_while(move |lines| lines.start == range.start && self.caps.steps.spend(1));
        at_start
            .enumerate()
            .filter(move |(_, lines)| lines.range() == range)
            .map(move |(i, _)| first + i)
            .filter(move |index| !self.taken.contains(&Unclaimed { unit, index: *index }))
    }

    /// True if another function than this one kept the symbol's range.
    fn folded_here(&self, symbol: &CodeSymbol<'f>, at: Erased) -> bool {
        let (own, name) = (self.definition(at), self.name(at));
        // A static function of a header is a different function in each unit, and differs from a global one of its
        // name. A function declared elsewhere is another definition, and no copy, if the linker left its lines.
        let has_lines = || self.sequences(at.unit, symbol.range()).next().is_some();
        let same = |other: &Survivor| match self.is_shared(at) {
            true => {
                other.shared
                    && self.names.of_origin(other.origin) == name
                    && !(self.recovered.units.are_apart_there(
                        self.names,
                        Definition { unit: other.unit, origin: other.origin },
                        own,
                    ) && has_lines())
            }
            false => self.is_own(other, at),
        };
        match self.known.at(symbol.range()) {
            Some(remaining) if self.erased(at).part => {
                let of_own = |other: &Survivor| other.unit == at.unit && other.die == self.erased(at).die;
                self.any(remaining, |other| same(other) && !of_own(other)) == Some(false)
                    && self.has_room(symbol, at, remaining.iter().filter(|other| of_own(other)).count())
            }
            Some(remaining) => self.any(remaining, same) == Some(false),
            // The survivor may be of an object without debug information: then only its symbol shows it.
            None => {
                let here = self.symbols.at(symbol.start);
                let other = |s: &CodeSymbol<'_>| {
                    s.function && s.end == symbol.end && (s.name != symbol.name || s.of_another_file(symbol))
                };
                self.caps.steps.spend(here.len()) && here.iter().any(other)
            }
        }
    }

    /// Parts of one function may be folded into each other: true if as many of its symbols are there that one is left
    /// for a further part. `remaining`: how many of its parts kept the range.
    fn has_room(&self, symbol: &CodeSymbol<'f>, at: Erased, remaining: usize) -> bool {
        if remaining == 0 {
            return true;
        }
        let here = self.symbols.at(symbol.start);
        let own = |other: &&CodeSymbol<'f>| {
            other.shares(symbol)
                && whole_name(other.name) == whole_name(symbol.name)
                && !other.of_another_file(symbol)
        };
        let found = self.into_own.get(&(at.unit, self.erased(at).die, symbol.start)).copied();
        self.caps.steps.spend(here.len()) && here.iter().filter(own).count() > remaining + found.unwrap_or(0)
    }

    fn symbol_fits(&self, symbol: &CodeSymbol<'f>, at: Erased) -> bool {
        let erased = self.erased(at);
        // The size was erased too if the end was an address: `DW_AT_high_pc` before DWARF 4, the pairs of `.debug_ranges`.
        self.caps.steps.spend(1)
            && (erased.size == symbol.end - symbol.start || erased.size == 0)
            && erased.part == self.is_of_part(symbol, at)
            && !self.found.contains_key(&at)
            && self.binding_fits(symbol, at)
            // Last, since it visits every function of the range.
            && self.folded_here(symbol, at)
    }

    /// True if a symbol that may be of a function is the symbol of a part of it. The name of a part has a suffix, but
    /// so has the name of a clone, and a clone may be folded into a part.
    fn is_of_part(&self, symbol: &CodeSymbol<'f>, at: Erased) -> bool {
        if !has_suffix(symbol.name) || symbol.name == self.names.text(self.name(at)) {
            return false;
        }
        let into_part = || {
            let here = self.known.at(symbol.range());
            here.is_some_and(|here| self.any(here, |other| !other.part) == Some(false))
        };
        names_part(symbol.name) || into_part()
    }

    /// A global symbol belongs to a function that units share. A local symbol belongs to a unit with lines at its
    /// address, unless no unit has lines there: another unit may have a function of that name.
    fn binding_fits(&self, symbol: &CodeSymbol<'f>, at: Erased) -> bool {
        let unit = self.recovered.unit(at.unit);
        // A unit with one sequence here has one function here, also if two symbols have its plain name: one may be of another unit.
        let waiting = self.need_lines.get(&(at.unit, symbol.range())).copied().unwrap_or_default();
        let lines =
            || unit.code.rows.is_empty() || self.sequences(at.unit, symbol.range()).nth(waiting).is_some();
        if !symbol.local {
            // A unit of `-g1` records neither which functions are global nor where they are declared.
            let undeclared = self.names.origin(self.origin(at)).line == 0;
            return self.is_shared(at) || (undeclared && lines());
        }
        let of_file = symbol.file.is_empty() || *unit.head.file_name == *base_name(symbol.file);
        // The symbols of an object without a file symbol follow those of another object.
        let without = || !unit.code.rows.is_empty() && !self.symbols.has_file(&unit.head.file_name);
        (of_file || without()) && lines()
    }

    /// How far a sequence is from a function (see [`SourcePlace::distance`]).
    fn distance(&self, at: Erased, lines: &BareLines) -> Option<u32> {
        let unit = self.recovered.unit(at.unit);
        let origin = self.names.origin(self.origin(at));
        let inlined = self.erased(at).lost.scopes.start as usize..self.erased(at).lost.scopes.end as usize;
        // clang leaves out the declaration at `-g1`: there the line of the first inlined call is used in its place.
        let inlined = unit.traces.lost[inlined].first();
        let call = inlined.map(|scope| self.recovered.units.edges[unit.edge_of(scope.edge).index()]);
        let call = call.map(|call| (call.file, call.line));
        let is_bare_thunk = !self.erased(at).lost.any() && is_thunk(self.names.text(self.name(at)));
        let place = SourcePlace::of(is_bare_thunk, (origin.file, origin.line), call);
        // Charged by the rows before they are read: every function of a size is compared with every sequence of that size.
        if place == SourcePlace::Unknown || !self.caps.steps.spend(lines.rows.len as usize + 1) {
            return None;
        }
        let rows = unit.code.rows_of(lines.rows).iter().filter(|row| row.file != NONE16);
        place.distance(rows.filter_map(|row| Some((unit.file_of(row.file)?, row.line))))
    }
}

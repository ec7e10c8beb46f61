//! Weighs whether an unmangled symbol with no matching DIE at its address is an alias of a function there or the name
//! of a second function folded into it. `candidates::name_entry` acts on the answer.
//!
//! If the linker folds nothing, every further name is an alias: glibc has `read` and `__read` at one address. If it
//! folds, any of these shows that the name is a function of its own:
//!
//! - All functions described at the address were erased, so no DIE describes the survivor.
//! - A unit has a line sequence of exactly this range and no function for it (`-g1` describes no more).
//! - The symbol table gives another source file for the symbol than the functions there have.
//! - A function of this name and size was erased and is at no other address.
//!
//! Otherwise the name may be a folded function, and the answer is ambiguous, if two things hold: the program shows
//! that the linker folded something, and some objects have no unit (they were built without `-g`). If units describe
//! every object, each function has a DIE, and a name without a DIE is an alias.
//!
//! Mach-O has no aliases: a name is a function of its own unless a DIE explains it, and so is each of several names
//! of code that no DIE describes. If the linker is not known, a call must name the function as well. Assembly code
//! may leave out the size and the type of a function: a symbol without a size is taken to have the size of the
//! function at its address. A resolver that chooses a function at start-up (`STT_GNU_IFUNC`) has no code of its own.
//!
//! gcc merges functions itself, whatever the linker: a function that gcc describes without code is no alias of
//! another function of its unit.

use std::cell::RefCell;
use std::sync::OnceLock;

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{BareLines, Function, How, LocalOrigin, Member, NameId, Rows, UnitId, UnitPiece};
use crate::open::{Format, Image, Linker};
use crate::place::candidate::{Candidate, by_name_alone};
use crate::place::placing::Placing;
use crate::program::names::itanium::{is_mangled, is_program_wide, own_name};
use crate::program::names::relation::{Relation, relation, spellings};
use crate::program::names::toolchain::{START_UP_FILES, WHOLE_PROGRAM_FILES};
use crate::program::names::toolchain::{are_library_names, is_rust};
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::recovered::UnitView;
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

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
        let file = |unit: &UnitId| placing.recovered.unit(unit.index()).head.file_name.to_vec();
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

/// What a program shows about functions that no DIE describes.
pub(crate) struct AliasRules {
    linker: Linker,
    /// The file format has aliases; Mach-O has none.
    has_aliases: bool,
    /// The program shows that something was folded.
    folding_shown: bool,
    /// Some object has no unit: the symbol table has more files of some name than there are units of it, or code
    /// without a unit.
    has_undescribed_objects: bool,
    /// By base name: how many files of the symbol table have it, and how many units.
    files: HashMap<Vec<u8>, (u32, u32)>,
    /// Names of callees; filled only if the linker may have folded objects that no unit describes.
    called: HashSet<NameId>,
    /// Codeless functions, with the units that describe them.
    codeless: HashMap<NameId, Vec<UnitId>>,
    /// Unmangled names of erased functions that other units may call and that no function with code has, with their
    /// sizes.
    lost_functions: HashSet<(NameId, u64)>,
    /// By range: line sequences of units that have no function there for them.
    sequences: Sequences,
    /// Ranges of several line sequences without a function: as many functions are folded there.
    multiply_folded: HashSet<(u64, u64)>,
    /// By start of bare lines: the units that have them. Filled only if the linker drops symbols.
    bare_line_starts: HashMap<u64, Vec<UnitId>>,
    /// By unit: whether the symbol table has any of its functions by name. Few programs need it.
    has_symbols: OnceLock<Vec<bool>>,
}

impl AliasRules {
    pub(crate) fn new(image: &Image<'_>, placing: &Placing<'_, '_>, symbols: &Symbols<'_>) -> AliasRules {
        let mut files: HashMap<Vec<u8>, (u32, u32)> = HashMap::default();
        for file in image.symbol_files.iter().filter(|file| !file.is_empty()) {
            files.entry(base_name(file).to_vec()).or_default().0 += 1;
        }
        for unit in placing.recovered.all() {
            files.entry(unit.head.file_name.to_vec()).or_default().1 += 1;
        }
        let mut named = image.symbol_files.iter().map(|file| base_name(file));
        let counts = |name: &&[u8]| !WHOLE_PROGRAM_FILES.contains(name) && !START_UP_FILES.contains(name);
        let has_undescribed_objects =
            named.any(|name| counts(&name) && more_files(&files, name)) || is_uncovered(placing, symbols);
        let (sequences, multiply_folded) = sequences(placing);
        // Folding by the compiler does not count.
        let recovered = |piece: &UnitPiece| match piece.how {
            How::LiveRange => false,
            How::CallSite => has_sequence(&piece),
            _ => true,
        };
        let folding_shown = !sequences.is_empty()
            || !multiply_folded.is_empty()
            || placing.recovered.all().any(|unit| unit.code.pieces.iter().any(recovered))
            || symbols.by_address().any(differ);
        let mut codeless: HashMap<NameId, Vec<UnitId>> = HashMap::default();
        for (index, unit) in placing.recovered.all().enumerate() {
            for function in &unit.records.codeless {
                let name = placing.names.of_origin(unit.origin_of(function.origin));
                codeless.entry(name).or_default().push(UnitId(index as u32));
            }
        }
        let has_aliases = image.format != Format::MachO;
        let lost_functions = lost_functions(placing);
        let linker = image.linker;
        let mut bare_line_starts: HashMap<u64, Vec<UnitId>> = HashMap::default();
        for (index, unit) in placing.recovered.all().enumerate() {
            let forgets = linker == Linker::MayFoldAndForget;
            let lines = unit.traces.bare.iter().filter(|lines| forgets && !lines.continues);
            lines.for_each(|lines| {
                bare_line_starts.entry(lines.start.0).or_default().push(UnitId(index as u32))
            });
        }
        let may_fold = linker != Linker::NeverFolds;
        let called = if may_fold && has_undescribed_objects { called(placing) } else { HashSet::default() };
        AliasRules {
            linker,
            has_aliases,
            folding_shown,
            has_undescribed_objects,
            files,
            called,
            codeless,
            lost_functions,
            sequences,
            multiply_folded,
            bare_line_starts,
            has_symbols: OnceLock::new(),
        }
    }

    /// True if the linker may have folded functions that no unit describes.
    pub(crate) fn may_fold(&self) -> bool {
        self.linker != Linker::NeverFolds
    }

    /// True if the linker drops the symbols of local functions that it folds.
    pub(crate) fn drops_symbols(&self) -> bool {
        self.linker == Linker::MayFoldAndForget
    }

    /// True if the program has objects that no unit describes.
    pub(crate) fn has_undescribed_objects(&self) -> bool {
        self.has_undescribed_objects
    }

    /// True if any function may hide a folded one that nothing in the program names: a local function of an object
    /// without debug information, whose symbol the linker dropped.
    pub(crate) fn may_be_forgotten(&self) -> bool {
        self.has_undescribed_objects && self.drops_symbols()
    }

    /// True if the symbol table has symbols of a file with this base name.
    pub(crate) fn has_symbols_of(&self, file: &[u8]) -> bool {
        self.files.get(file).is_some_and(|(symbols, _)| *symbols > 0)
    }

    /// True for code that no DIE describes whose lines are of one file and whose symbols are all of other files. The
    /// symbols name local functions of the other files. A function of the lines' own file was folded with them, and
    /// the linker dropped its symbol. A file without any symbol proves nothing.
    pub(crate) fn has_lines_of_another(&self, placing: &Placing<'_, '_>, here: &[CodeSymbol<'_>]) -> bool {
        let units = here
            .first()
            .and_then(|symbol| self.bare_line_starts.get(&symbol.start))
            .map_or(&[][..], |units| units);
        let is_local = |symbol: &CodeSymbol<'_>| {
            symbol.local && !symbol.file.is_empty() && !is_program_wide(symbol.name)
        };
        let functions = || here.iter().filter(|symbol| symbol.function);
        let of_another = |unit: &UnitId| {
            let file = &*placing.recovered.unit(unit.index()).head.file_name;
            self.has_symbols_of(file) && functions().all(|symbol| base_name(symbol.file) != file)
        };
        functions().all(is_local) && units.iter().any(of_another)
    }

    /// Line sequences of a range that no function there has; `None` for a sequence that a function there may have.
    pub(crate) fn sequences(&self, start: u64, end: u64) -> &[Option<Rows>] {
        match self.may_fold() {
            true => self.sequences.get(&(start, end)).map_or(&[], |found| found),
            false => &[],
        }
    }

    /// True if a mangled name at the address of functions is an alias of one of them. A linker that never folds
    /// places the code of only one object at an address. gcc describes each function of that object, even a function
    /// that it merged. So a name that gcc describes nowhere is a second mangling (`-fabi-compat-version`) or an
    /// `__attribute__((alias))`.
    pub(crate) fn is_mangled_alias(
        &self,
        placing: &Placing<'_, '_>,
        symbol: &CodeSymbol<'_>,
        described: &DescribedFunctions,
    ) -> bool {
        let tells = |unit: &UnitId| {
            let unit = placing.recovered.unit(unit.index());
            unit.head.keeps_callees && unit.head.rewrites.is_none()
        };
        !self.may_fold()
            && !described.units.is_empty()
            && described.units.iter().all(tells)
            && spellings(symbol.name)
                .filter_map(|name| placing.names.find(name))
                .all(|name| self.codeless.get(&name).is_none_or(|units| !described.has_unit(units)))
    }

    /// True if a line sequence shows that a range has a function besides those known there.
    pub(crate) fn has_other_lines(&self, start: u64, end: u64) -> bool {
        self.multiply_folded.contains(&(start, end)) || !self.sequences(start, end).is_empty()
    }

    /// True if an unmangled name at the start of functions that end at `end` may be a function of its own. A name
    /// without a size is taken to end with them: assembly code need not give sizes.
    pub(crate) fn may_be_own_function(
        &self,
        placing: &Placing<'_, '_>,
        symbol: &CodeSymbol<'_>,
        end: u64,
        described: &DescribedFunctions,
    ) -> bool {
        if symbol.indirect || symbol.name.starts_with(b"_ZTH") {
            return false;
        }
        // The compiler merges only functions of one unit. A function of another unit may be a weak definition that
        // did not prevail.
        let codeless =
            placing.names.find(symbol.name).and_then(|name| Some((name, self.codeless.get(&name)?)));
        let has_unit = |(name, units): (NameId, &Vec<UnitId>)| {
            *described.codeless.borrow_mut().entry(name).or_insert_with(|| described.has_unit(units))
        };
        if symbol.sized && codeless.is_some_and(has_unit) {
            return true;
        }
        if !self.may_fold() {
            return false;
        }
        let is_erased = |name| {
            let size = end - symbol.start;
            self.lost_functions.contains(&(name, size)) || self.lost_functions.contains(&(name, 0))
        };
        let name = placing.names.find(symbol.name);
        if !self.has_aliases || name.is_some_and(is_erased) {
            return true;
        }
        // If the linker folded anything, it may also have folded a function that the compiler was told not to
        // describe (`nodebug`).
        if self.folding_shown || described.erased || !self.sequences(symbol.start, end).is_empty() {
            return true;
        }
        // An object without a unit may define the name. If the linker is not known, a call must name it too.
        let is_called = || name.is_some_and(|name| self.called.contains(&name));
        let perhaps = self.has_undescribed_objects && (self.linker.is_folding() || is_called());
        if symbol.file.is_empty() || more_files(&self.files, base_name(symbol.file)) {
            return perhaps;
        }
        !described.files.contains(base_name(symbol.file))
    }

    /// True if a symbol that no DIE explains may be the symbol of the function at its address. No symbol here has the
    /// function's own name. A linker that folds may instead have folded the function into the symbol's function
    /// and dropped its symbol. So one of three things must hold: the function has no name; it has an unmangled name
    /// and the symbol is a mangled name from which no plain name can be read; or no function of its unit has a symbol
    /// (Crystal writes `skip`), in a program that kept its local symbols.
    pub(crate) fn may_name(
        &self,
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
            let has_symbols = self.has_symbols.get_or_init(|| placing.units_with_symbols(symbols));
            symbols.has_locals() && unit.is_some_and(|unit| !has_symbols[unit.index()])
        };
        !self.linker.is_folding() || own.is_empty() || untold() || misnamed()
    }

    /// Counts the members of a Mach-O candidate that are known only by a symbol.
    pub(crate) fn report(
        &self,
        candidate: &Candidate,
        placing: &Placing<'_, '_>,
        functions: &[Function],
        diagnostics: &mut Diagnostics,
    ) {
        let alone = candidate.members.iter().filter(|member| member.how == How::SymbolOnly);
        for member in alone.filter(|_| !self.has_aliases) {
            diagnostics.add(Kind::UndescribedFold, candidate.start, || {
                let name = String::from_utf8_lossy(name_of(placing, &functions[member.function.index()]));
                format!("{name} at {:#x}: link with --keep-icf-stabs, and build all with -g", candidate.start)
            });
        }
    }

    /// True if two names at one range that no DIE explains may be two functions.
    pub(crate) fn may_be_two_functions(
        &self,
        placing: &Placing<'_, '_>,
        one: &CodeSymbol<'_>,
        other: &CodeSymbol<'_>,
    ) -> bool {
        let is_called = |symbol: &CodeSymbol<'_>| {
            placing.names.find(symbol.name).is_some_and(|name| self.called.contains(&name))
        };
        self.may_fold()
            && one.may_share(other)
            && !other.name.starts_with(b"_ZTH")
            && (one.of_another_object(other)
                || (one.name != other.name && is_called(one) && is_called(other))
                || (!self.has_aliases && one.name != other.name)
                || (self.folding_shown && one.name != other.name && !are_library_names(one.name, other.name))
                || self.multiply_folded.contains(&(one.start, one.end)))
    }
}

/// The names of all callees.
fn called(placing: &Placing<'_, '_>) -> HashSet<NameId> {
    let units = placing.recovered.all();
    let callees =
        units.flat_map(|unit| unit.records.callees.iter().map(move |callee| unit.origin_of(callee.origin)));
    callees.map(|origin| placing.names.of_origin(origin)).collect()
}

fn lost_functions(placing: &Placing<'_, '_>) -> HashSet<(NameId, u64)> {
    let mut found: HashSet<(NameId, u64)> = HashSet::default();
    let name_of = |unit: usize, origin: LocalOrigin| {
        placing.names.of_origin(placing.recovered.units.origin_of(unit, origin))
    };
    for (index, unit) in placing.recovered.all().enumerate() {
        for erased in
            unit.records.erased.iter().filter(|erased| erased.external && !erased.removed && !erased.part)
        {
            let name = name_of(index, erased.origin);
            if !is_mangled(placing.names.text(name)) {
                found.insert((name, erased.size));
            }
        }
    }
    if !found.is_empty() {
        let functions = placing.recovered.all().enumerate().flat_map(|(index, unit)| {
            unit.code.functions.iter().map(move |function| name_of(index, function.origin))
        });
        let known: HashSet<NameId> = functions.collect();
        found.retain(|(name, _)| !known.contains(name));
    }
    found
}

/// True if the program has a function that no unit covers. Its object has no debug information and no `STT_FILE`
/// symbol (assembly code, even without symbol types, or a program without local symbols), or its compiler was told
/// not to describe it. Names that compilers, linkers and C libraries add are reserved and do not count.
fn is_uncovered(placing: &Placing<'_, '_>, symbols: &Symbols<'_>) -> bool {
    let units = placing.recovered;
    if units.code.is_empty() {
        return false;
    }
    let pieces = units.code.iter().flat_map(|unit| &unit.pieces).map(|piece| (piece.start.0, piece.len));
    let bare = units.traces.iter().flat_map(|unit| &unit.bare).map(|lines| (lines.start.0, lines.len));
    let mut covered: Vec<(u64, u64)> =
        pieces.chain(bare).map(|(start, len)| (start, start + u64::from(len))).collect();
    covered.sort_unstable();
    let mut ends = covered.into_iter().peekable();
    let mut end = 0;
    let unreserved = |name: &[u8]| !name.starts_with(b"_") && !name.contains(&b'.');
    for symbol in symbols.iter() {
        while let Some((_, next)) = ends.next_if(|range| range.0 <= symbol.start) {
            end = end.max(next);
        }
        let counts = !symbol.local || WHOLE_PROGRAM_FILES.contains(&base_name(symbol.file));
        let named = counts && !symbol.of_linker && unreserved(symbol.name);
        if end <= symbol.start && named {
            return true;
        }
    }
    false
}

fn more_files(files: &HashMap<Vec<u8>, (u32, u32)>, name: &[u8]) -> bool {
    files.get(name).is_some_and(|(files, units)| files > units)
}

/// True if the symbols at an address show different functions.
fn differ(here: &[CodeSymbol<'_>]) -> bool {
    let [first, rest @ ..] = here else { return false };
    let other = |symbol: &CodeSymbol<'_>| {
        let mangled = is_mangled(first.name) && is_mangled(symbol.name);
        first.of_another_object(symbol) || (mangled && relation(first.name, symbol.name) == Relation::Other)
    };
    rest.iter().any(|symbol| first.shares(symbol) && other(symbol))
}

/// By range: line sequences of functions that no DIE describes; `None` for a sequence that a described function may
/// have.
type Sequences = HashMap<(u64, u64), Vec<Option<Rows>>>;

/// Line sequences beyond the number of functions that their unit has at their range, and the ranges at which several
/// sequences and no function are.
fn sequences(placing: &Placing<'_, '_>) -> (Sequences, HashSet<(u64, u64)>) {
    let mut found = Sequences::default();
    let mut once: HashSet<(u64, u64)> = HashSet::default();
    let mut several: HashSet<(u64, u64)> = HashSet::default();
    // By range of such lines: whether any function has it.
    let mut described: HashMap<(u64, u64), bool> = HashMap::default();
    let all = placing.recovered.all().flat_map(lines_without_function);
    described.extend(all.map(|lines| (range(lines), false)));
    if described.is_empty() {
        return (found, several);
    }
    for piece in placing.recovered.code.iter().flat_map(|unit| &unit.pieces) {
        let range = (piece.start.0, piece.start.0 + u64::from(piece.len));
        described.entry(range).and_modify(|described| *described = true);
    }
    for (index, unit) in placing.recovered.all().enumerate() {
        // Each recovered function has one of the sequences. The other functions have claimed theirs already.
        let mut recovered: HashMap<(u64, u64), usize> = HashMap::default();
        for piece in unit.code.pieces.iter().filter(has_sequence) {
            *recovered.entry((piece.start.0, piece.start.0 + u64::from(piece.len))).or_default() += 1;
        }
        for lines in lines_without_function(unit) {
            let range = range(lines);
            if !described[&range] {
                if !once.insert(range) {
                    several.insert(range);
                }
                continue;
            }
            match recovered.get_mut(&range) {
                Some(recovered) if *recovered > 0 => *recovered -= 1,
                _ => {
                    let rows = Rows { unit: UnitId(index as u32), range: lines.rows, skip: 0 };
                    found.entry(range).or_default().push((!lines.in_doubt).then_some(rows));
                }
            }
        }
    }
    (found, several)
}

/// True for a recovered piece that has, or may have, a line sequence of its own.
fn has_sequence(piece: &&UnitPiece) -> bool {
    match piece.how {
        How::Symbol | How::LineSequence => true,
        How::CallSite => piece.rows.len > 0,
        _ => false,
    }
}

/// The line sequences of a unit that none of its functions has.
fn lines_without_function<'u>(unit: UnitView<'u, '_>) -> impl Iterator<Item = &'u BareLines> + use<'u> {
    // A unit without erased functions lists such sequences as bare lines.
    let bare = unit.traces.bare.iter().filter(|_| unit.records.erased.is_empty());
    unit.traces.unclaimed.iter().chain(bare).filter(|lines| !lines.continues)
}

fn range(lines: &BareLines) -> (u64, u64) {
    (lines.start.0, lines.start.0 + u64::from(lines.len))
}

pub(crate) fn name_of<'m>(placing: &'m Placing<'_, '_>, function: &Function) -> &'m [u8] {
    placing.names.text(placing.names.of_function(function))
}

/// Adds functions without a name: one for each line sequence that no function there has, and the survivor, if every
/// known function was folded into it.
pub(crate) fn add_nameless(
    placing: &mut Placing<'_, '_>,
    alias_rules: &AliasRules,
    Candidate { start, end, members, .. }: &mut Candidate,
    functions: &mut Vec<Function>,
) {
    let remains = members.iter().any(|member| member.how == How::LiveRange);
    if !remains && alias_rules.may_fold() && members.len() == 1 {
        let name = placing.names.add(b"");
        members.push(by_name_alone(&mut placing.names, functions, name));
    }
    for &rows in alias_rules.sequences(*start, *end) {
        let name = placing.names.add(b"");
        members.push(Member { rows, ..by_name_alone(&mut placing.names, functions, name) });
    }
}

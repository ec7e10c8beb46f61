//! Decides whether a plain name (of C, of assembly code) that no DIE at its address has is another name of a function
//! there, or that of a function of its own, which was folded into it.
//!
//! Long because all evidence for and against an alias is weighed in one place.
//!
//! A linker that folds nothing leaves other names alone: glibc's `read` and `__read`. Where one that does made the
//! program, a name is a function of its own if one of these shows it:
//!
//! - those that stand there were all erased, so that what remains is something that no DIE describes;
//! - a unit has a line sequence of exactly this range, and no function for it (a unit of `-g1` has no more);
//! - the symbol table gives the name to another source file than the functions there have;
//! - a function of this name and size was erased, and is nowhere else.
//!
//! And it may be one, so that nobody can say who ran, where the program shows that things were folded, and where it has
//! objects that no unit describes (built without `-g`). Where units describe all, each of its functions has a DIE, and a
//! name without one is an alias.
//!
//! Mach-O has no other names for functions: a name is a function of its own unless a DIE explains it, and so is each of
//! several names of code that no DIE describes. Where nothing tells which linker it was, a call must name the function too.
//! Assembly code may leave out the size and the type of a function: such a name counts as one with the size of what
//! stands there. What chooses a function at start-up (`STT_GNU_IFUNC`) has no code of its own.
//!
//! Whatever the linker is, gcc merges functions itself: one that it describes and gives no code is no alias of another
//! of its unit.

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
use crate::program::names::toolchain::{is_rust, numbered};
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::recovered::UnitView;
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// What is known of functions at one address that DIEs describe, for the names there that none describes.
pub(crate) struct DescribedFunctions {
    /// None of them kept its address.
    erased: bool,
    units: HashSet<UnitId>,
    /// The base names of those units.
    files: HashSet<Vec<u8>>,
    /// Whether one of those units describes a function of this name that has no code: symbols may repeat a name.
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

    /// True where one of them is of one of these units, which are sorted.
    fn has_unit(&self, units: &[UnitId]) -> bool {
        match units.len() < self.units.len() {
            true => units.iter().any(|unit| self.units.contains(unit)),
            false => self.units.iter().any(|unit| units.binary_search(unit).is_ok()),
        }
    }
}

/// What a program says of functions that no DIE describes.
pub(crate) struct AliasRules {
    linker: Linker,
    /// A compiler can make a plain name another name of a function: not for Mach-O.
    has_aliases: bool,
    /// Something in the program was folded.
    shown: bool,
    /// Files that the symbol table names more often than units are named so, or that have no unit.
    objects: bool,
    /// By base name: how many files of the symbol table have it, and how many units.
    files: HashMap<Vec<u8>, (u32, u32)>,
    /// Names that calls give, where the linker may have folded objects that no unit describes.
    called: HashSet<NameId>,
    /// Functions that have no code of their own, with the units that describe them.
    codeless: HashMap<NameId, Vec<UnitId>>,
    /// Plain names of functions that other units may call, that were erased, and that no function has; with their sizes.
    erased: HashSet<(NameId, u64)>,
    /// By range: line sequences of units that have no function there for them.
    sequences: Sequences,
    /// Ranges that several line sequences have and no function: so many are folded there.
    several: HashSet<(u64, u64)>,
    /// Where lines begin that no function of their unit has, with the units: only where the linker drops symbols.
    bare: HashMap<u64, Vec<UnitId>>,
    /// By unit: whether the symbol table has any of its functions by name. Few programs ask.
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
        let objects =
            named.any(|name| counts(&name) && more_files(&files, name)) || is_uncovered(placing, symbols);
        let (sequences, several) = sequences(placing);
        // Not by the compiler alone.
        let recovered = |piece: &UnitPiece| match piece.how {
            How::LiveRange => false,
            How::CallSite => has_sequence(&piece),
            _ => true,
        };
        let shown = !sequences.is_empty()
            || !several.is_empty()
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
        let erased = erased(placing);
        let linker = image.linker;
        let mut bare: HashMap<u64, Vec<UnitId>> = HashMap::default();
        for (index, unit) in placing.recovered.all().enumerate() {
            let forgets = linker == Linker::MayFoldAndForget;
            let lines = unit.traces.bare.iter().filter(|lines| forgets && !lines.continues);
            lines.for_each(|lines| bare.entry(lines.start.0).or_default().push(UnitId(index as u32)));
        }
        let may_fold = linker != Linker::NeverFolds;
        let called = if may_fold && objects { called(placing) } else { HashSet::default() };
        AliasRules {
            linker,
            has_aliases,
            shown,
            objects,
            files,
            called,
            codeless,
            erased,
            sequences,
            several,
            bare,
            has_symbols: OnceLock::new(),
        }
    }

    /// True where the linker may have folded what the program does not describe.
    pub(crate) fn may_fold(&self) -> bool {
        self.linker != Linker::NeverFolds
    }

    /// True where the linker drops the symbols of local functions that it folds.
    pub(crate) fn drops_symbols(&self) -> bool {
        self.linker == Linker::MayFoldAndForget
    }

    /// True where the program has objects that no unit describes.
    pub(crate) fn has_objects(&self) -> bool {
        self.objects
    }

    /// True where any function may stand for one that nothing in the program names: a local one of an object without debug
    /// information, whose symbol went when it was folded.
    pub(crate) fn may_be_forgotten(&self) -> bool {
        self.objects && self.drops_symbols()
    }

    /// True where code that no DIE describes has the lines of a file and the symbols of others: those are of local functions,
    /// and one of that file, whose own symbol went, was folded with them. Only a file that has symbols of its own tells.
    pub(crate) fn has_lines_of_another(&self, placing: &Placing<'_, '_>, here: &[CodeSymbol<'_>]) -> bool {
        let units =
            here.first().and_then(|symbol| self.bare.get(&symbol.start)).map_or(&[][..], |units| units);
        let is_local = |symbol: &CodeSymbol<'_>| {
            symbol.local && !symbol.file.is_empty() && !is_program_wide(symbol.name)
        };
        let functions = || here.iter().filter(|symbol| symbol.function);
        let of_another = |unit: &UnitId| {
            let file = &*placing.recovered.unit(unit.index()).head.file_name;
            let has_symbols = self.files.get(file).is_some_and(|(symbols, _)| *symbols > 0);
            has_symbols && functions().all(|symbol| base_name(symbol.file) != file)
        };
        functions().all(is_local) && units.iter().any(of_another)
    }

    /// Lines at a range that no function there has; `None` for those that one there may have.
    pub(crate) fn sequences(&self, start: u64, end: u64) -> &[Option<Rows>] {
        match self.may_fold() {
            true => self.sequences.get(&(start, end)).map_or(&[], |found| found),
            false => &[],
        }
    }

    /// True where a mangled name at the address of functions is one more name of them. A linker that never folds puts the code
    /// of one object at an address, and of that object gcc describes each function that it compiles, also one that it merged:
    /// a name that it describes nowhere is a second mangling (`-fabi-compat-version`), or `__attribute__((alias))`.
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

    /// True where a line sequence shows that a range has a function besides those that are known there.
    pub(crate) fn has_other_lines(&self, start: u64, end: u64) -> bool {
        self.several.contains(&(start, end)) || !self.sequences(start, end).is_empty()
    }

    /// True where a plain name at the start of functions that have a range up to `end` may be a function of its own. One
    /// without a size counts as one of theirs: assembly code need not give any.
    pub(crate) fn is_function(
        &self,
        placing: &Placing<'_, '_>,
        symbol: &CodeSymbol<'_>,
        end: u64,
        described: &DescribedFunctions,
    ) -> bool {
        if symbol.indirect || symbol.name.starts_with(b"_ZTH") {
            return false;
        }
        // The compiler merges functions of one unit; another unit's may be a weak one that did not prevail.
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
            self.erased.contains(&(name, size)) || self.erased.contains(&(name, 0))
        };
        let name = placing.names.find(symbol.name);
        if !self.has_aliases || name.is_some_and(is_erased) {
            return true;
        }
        // Where things were folded, a function that its compiler was told not to describe may have been.
        if self.shown || described.erased || !self.sequences(symbol.start, end).is_empty() {
            return true;
        }
        // As far as objects go that no unit describes; where the linker is not known, a call must show it.
        let is_called = || name.is_some_and(|name| self.called.contains(&name));
        let perhaps = self.objects && (self.linker.is_folding() || is_called());
        if symbol.file.is_empty() || more_files(&self.files, base_name(symbol.file)) {
            return perhaps;
        }
        !described.files.contains(base_name(symbol.file))
    }

    /// True where a symbol that no DIE names may be that of the function at its address, whose own name no symbol here has. A
    /// linker that folds may have put the function there instead, and its own symbol may be gone. So the function must have no
    /// name, or a plain one for a mangled symbol from which no name can be taken, or be of a unit whose names for functions are
    /// no symbols at all (Crystal writes `skip`) in a program that has its local symbols.
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

    /// Counts the functions at one range of a Mach-O program that have names alone.
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

    /// True where two names that no DIE has, at one range, are functions of their own.
    pub(crate) fn are_functions(
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
                || ((self.shown || !self.has_aliases) && one.name != other.name)
                || self.several.contains(&(one.start, one.end)))
    }
}

/// The names of all functions that calls name.
fn called(placing: &Placing<'_, '_>) -> HashSet<NameId> {
    let units = placing.recovered.all();
    let callees =
        units.flat_map(|unit| unit.records.callees.iter().map(move |callee| unit.origin_of(callee.origin)));
    callees.map(|origin| placing.names.of_origin(origin)).collect()
}

fn erased(placing: &Placing<'_, '_>) -> HashSet<(NameId, u64)> {
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

/// True where the program has a function that no unit covers: of an object without debug information and without
/// `STT_FILE` (assembly code, also without types, or a program without local symbols), or one that its compiler was told not
/// to describe. What compilers, linkers and C libraries add by themselves has reserved names.
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
    let plain = |name: &[u8]| !name.starts_with(b"_") && !name.contains(&b'.');
    for symbol in symbols.iter() {
        while let Some((_, next)) = ends.next_if(|range| range.0 <= symbol.start) {
            end = end.max(next);
        }
        let counts = !symbol.local || WHOLE_PROGRAM_FILES.contains(&base_name(symbol.file));
        let named = counts && !symbol.of_linker && plain(symbol.name);
        if end <= symbol.start && named {
            return true;
        }
    }
    false
}

fn more_files(files: &HashMap<Vec<u8>, (u32, u32)>, name: &[u8]) -> bool {
    files.get(name).is_some_and(|(files, units)| files > units)
}

/// True where the symbols at an address are of functions that differ.
fn differ(here: &[CodeSymbol<'_>]) -> bool {
    let [first, rest @ ..] = here else { return false };
    let other = |symbol: &CodeSymbol<'_>| {
        let mangled = is_mangled(first.name) && is_mangled(symbol.name);
        first.of_another_object(symbol) || (mangled && relation(first.name, symbol.name) == Relation::Other)
    };
    rest.iter().any(|symbol| first.shares(symbol) && other(symbol))
}

/// By range of addresses: lines of functions that no DIE describes; `None` for those that one there may have.
type Sequences = HashMap<(u64, u64), Vec<Option<Rows>>>;

/// The sequences of units that have fewer functions at their range than sequences; and the ranges of several sequences at
/// which no unit has a function.
fn sequences(placing: &Placing<'_, '_>) -> (Sequences, HashSet<(u64, u64)>) {
    let mut found = Sequences::default();
    let mut once: HashSet<(u64, u64)> = HashSet::default();
    let mut several: HashSet<(u64, u64)> = HashSet::default();
    // Whether a function has the range of such lines.
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
        // Functions that were found again have one of the sequences each; the others have claimed theirs already.
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

/// True for what was found again and has, or may have, a sequence of its own.
fn has_sequence(piece: &&UnitPiece) -> bool {
    match piece.how {
        How::Symbol | How::LineSequence => true,
        How::CallSite => piece.rows.len > 0,
        _ => false,
    }
}

/// The sequences of a unit that no function of it has.
fn lines_without_function<'u>(unit: UnitView<'u, '_>) -> impl Iterator<Item = &'u BareLines> + use<'u> {
    // A unit without functions of its own there has them as lines without a function.
    let bare = unit.traces.bare.iter().filter(|_| unit.records.erased.is_empty());
    unit.traces.unclaimed.iter().chain(bare).filter(|lines| !lines.continues)
}

fn range(lines: &BareLines) -> (u64, u64) {
    (lines.start.0, lines.start.0 + u64::from(lines.len))
}

/// What tells functions of one name apart: the number that a compiler gave, and the symbol of a local one.
type Namesake<'f> = (&'f [u8], Option<u32>);

/// Names that more symbols at a range have than functions, with how many more: functions of one name in several files.
/// Where compilers bring files together they number them (`f.lto_priv.1`, `f.llvm.17`, `f.1`), and may merge them.
pub(crate) fn surplus<'f>(
    placing: &Placing<'_, 'f>,
    undescribed: &AliasRules,
    at_start: &[CodeSymbol<'f>],
    end: u64,
    members: &[Member],
    functions: &[Function],
) -> Vec<(&'f [u8], usize)> {
    let whole = || at_start.iter().filter(|s| s.function && s.sized && !s.indirect && s.end == end);
    let mut files = forgotten(placing, undescribed, whole(), members, functions);
    if files.is_empty() && all_differ(whole()) {
        return Vec::new();
    }
    // A name may be of one function for the whole program, and of one for each object.
    let mut named: HashMap<&'f [u8], HashSet<Namesake<'f>>> = HashMap::default();
    for symbol in whole() {
        let (name, number) = numbered(symbol.name);
        // An object has a local symbol of a name once, whether or not the table still says which file it is.
        let object = (symbol.local && undescribed.may_fold()).then_some(symbol.order);
        if object.is_some() || !symbol.local || !number.is_empty() {
            named.entry(name).or_default().insert((number, object));
        }
    }
    let mut several: Vec<(&[u8], usize)> = named
        .into_iter()
        .map(|(name, of)| (name, of.len() + files.remove(name).unwrap_or(0)))
        .filter(|(_, count)| *count > 1)
        .collect();
    if several.is_empty() {
        return several;
    }
    several.sort_unstable();
    let mut have: HashMap<&[u8], usize> = HashMap::default();
    for member in members {
        *have.entry(numbered(name_of(placing, &functions[member.function.index()])).0).or_default() += 1;
    }
    several.retain_mut(|(name, count)| {
        let have = have.get(*name).copied().unwrap_or(0);
        *count = count.saturating_sub(have);
        have > 0 && *count > 0
    });
    several
}

/// Symbols that are compared one by one.
const FEW: usize = 8;

/// True where these are a few symbols whose names differ, also without numbers.
fn all_differ<'s, 'f: 's>(symbols: impl Iterator<Item = &'s CodeSymbol<'f>>) -> bool {
    let mut names: [&[u8]; FEW] = [b""; FEW];
    for (at, symbol) in symbols.enumerate() {
        let (name, _) = numbered(symbol.name);
        if at == FEW || names[..at].contains(&name) {
            return false;
        }
        names[at] = name;
    }
    true
}

/// Local functions whose own symbol went when they were folded, by name, where the symbol that is there is another file's.
/// Only files that have symbols of their own tell: bitcode has the linker's. `whole`: the symbols of the range.
fn forgotten<'f, 's>(
    placing: &Placing<'_, 'f>,
    undescribed: &AliasRules,
    whole: impl Iterator<Item = &'s CodeSymbol<'f>>,
    members: &[Member],
    functions: &[Function],
) -> HashMap<Vec<u8>, usize>
where
    'f: 's,
{
    let mut counts = HashMap::default();
    if !undescribed.drops_symbols() {
        return counts;
    }
    let mut files: HashMap<&[u8], HashSet<&[u8]>> = HashMap::default();
    for symbol in whole.filter(|symbol| symbol.local && !symbol.file.is_empty()) {
        files.entry(symbol.name).or_default().insert(base_name(symbol.file));
    }
    if files.is_empty() {
        return counts;
    }
    for function in members.iter().map(|member| &functions[member.function.index()]) {
        let Some(source) = function.source else { continue };
        let (name, file) =
            (name_of(placing, function), &*placing.recovered.unit(source.unit.index()).head.file_name);
        let has_symbols = undescribed.files.get(file).is_some_and(|(symbols, _)| *symbols > 0);
        if has_symbols && files.get(name).is_some_and(|files| !files.contains(file)) {
            *counts.entry(name.to_vec()).or_default() += 1;
        }
    }
    counts
}

fn name_of<'m>(placing: &'m Placing<'_, '_>, function: &Function) -> &'m [u8] {
    placing.names.text(placing.names.of_function(function))
}

/// Adds functions of which nothing has a name: lines that nobody has there, and what remains, if all that is known was
/// folded into it.
pub(crate) fn add_nameless(
    placing: &mut Placing<'_, '_>,
    undescribed: &AliasRules,
    Candidate { start, end, members, .. }: &mut Candidate,
    functions: &mut Vec<Function>,
) {
    let remains = members.iter().any(|member| member.how == How::LiveRange);
    if !remains && undescribed.may_fold() && members.len() == 1 {
        let name = placing.names.add(b"");
        members.push(by_name_alone(&mut placing.names, functions, name));
    }
    for &rows in undescribed.sequences(*start, *end) {
        let name = placing.names.add(b"");
        members.push(Member { rows, ..by_name_alone(&mut placing.names, functions, name) });
    }
}

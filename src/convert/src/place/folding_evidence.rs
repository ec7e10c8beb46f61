//! What a program shows about functions that no DIE describes: whether its linker folds, which objects have no unit, and
//! which line sequences have no function. The folder `aliases` decides by it.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{
    AddressRange, BareLines, Function, How, ImageAddr, LocalOrigin, NameId, RowRange, Rows, UnitId, UnitPiece,
};
use crate::open::{Format, Image};
use crate::place::claim::Claim;
use crate::place::limits::MAX_LINE_OWNERS;
use crate::place::placing::{Placing, name_of};
use crate::policy::linker::{FoldedSymbols, Linker};
use crate::policy::order::symbols_follow_dies;
use crate::program::names::itanium::{is_mangled, is_program_wide};
use crate::program::names::relation::{Relation, relation};
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::recovered::UnitView;
use crate::toolchain::functions::{START_UP_FILES, WHOLE_PROGRAM_FILES, is_reserved};
use crate::util::covering::LatestEnds;
use crate::util::hash::{HashMap, HashSet, Keyed};
use crate::util::text::base_name;

/// The symbols of the program, and the evidence about the names among them that no DIE explains.
#[derive(Clone, Copy)]
pub(crate) struct SymbolEvidence<'e, 'f> {
    pub(crate) symbols: &'e Symbols<'f>,
    pub(crate) folding: &'e FoldingEvidence,
}

/// How often a base name of a file occurs.
#[derive(Clone, Copy, Default)]
pub(crate) struct FileCounts {
    /// The files of the symbol table that have it.
    symbol_files: u32,
    units: u32,
}

/// What a program shows about functions that no DIE describes.
pub(crate) struct FoldingEvidence {
    pub(crate) linker: Linker,
    /// The file format has aliases; Mach-O has none.
    pub(crate) has_aliases: bool,
    /// The program shows that something was folded.
    pub(crate) folding_shown: bool,
    /// Some object has no unit: the symbol table has more files of some name than there are units of it, or code
    /// without a unit.
    pub(crate) has_undescribed_objects: bool,
    /// By base name.
    pub(crate) files: HashMap<Vec<u8>, FileCounts>,
    /// Names of callees; filled only if the linker may have folded objects that no unit describes.
    pub(crate) called: HashSet<NameId>,
    /// Codeless functions, with the units that describe them.
    pub(crate) codeless: HashMap<NameId, Vec<UnitId>>,
    /// Unmangled names of erased functions that other units may call and that no function with code has, with their
    /// sizes.
    pub(crate) lost_functions: HashSet<(NameId, u64)>,
    /// By range: line sequences of units that have no function there for them.
    sequences: Sequences,
    /// Ranges of several line sequences without a function: as many functions are folded there.
    pub(crate) multiply_folded: HashSet<AddressRange>,
    /// The lines that no function has, with their units, by start. Filled only if the linker may have folded functions.
    bare_lines: Vec<(UnitId, BareLines)>,
    bare_ends: LatestEnds,
    /// clang compiled all units, and merged no functions that this program shows.
    pub(crate) all_of_clang: bool,
    /// By unit: whether the symbol table has any of its functions by name. Few programs need it.
    pub(crate) has_symbols: OnceLock<Vec<bool>>,
}

impl FoldingEvidence {
    pub(crate) fn new(
        image: &Image<'_>,
        linker: Linker,
        placing: &Placing<'_, '_>,
        symbols: &Symbols<'_>,
    ) -> FoldingEvidence {
        let mut files: HashMap<Vec<u8>, FileCounts> = HashMap::default();
        // GNU ld writes a file symbol without a name before the local symbols that it makes itself.
        for file in image.symbol_files.iter().filter(|file| !file.is_empty()) {
            files.entry(base_name(file).to_vec()).or_default().symbol_files += 1;
        }
        for unit in placing.recovered.all() {
            files.entry(unit.head.file_name.to_vec()).or_default().units += 1;
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
        // The cheap checks first: `differ` walks all symbols and compares names.
        let folding_shown = !sequences.is_empty()
            || !multiply_folded.is_empty()
            || placing.recovered.all().any(|unit| unit.code.pieces.iter().any(recovered))
            || symbols.by_address().any(differ);
        let mut codeless: HashMap<NameId, Vec<UnitId>> = HashMap::default();
        for (id, unit) in placing.recovered.numbered() {
            for function in &unit.records.codeless {
                let name = placing.names.of_origin(unit.origin_of(function.origin));
                codeless.entry(name).or_default().push(id);
            }
        }
        let has_aliases = image.format != Format::MachO;
        let lost_functions = lost_functions(placing);
        let may_fold = linker.may_fold();
        let bare_lines = if may_fold { unowned_lines(placing) } else { Vec::new() };
        let bare_ends = LatestEnds::new(bare_lines.iter().map(|(_, lines)| lines.range().end.0));
        let called = if may_fold && has_undescribed_objects { called(placing) } else { HashSet::default() };
        FoldingEvidence {
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
            bare_lines,
            bare_ends,
            all_of_clang: placing.recovered.all().all(|unit| symbols_follow_dies(unit.head, true)),
            has_symbols: OnceLock::new(),
        }
    }

    /// True if the linker may have folded functions that no unit describes.
    pub(crate) fn may_fold(&self) -> bool {
        self.linker.may_fold()
    }

    /// True if the linker is known to keep the names of all functions that it folds.
    pub(crate) fn keeps_symbols(&self) -> bool {
        self.linker.keeps_symbols()
    }

    /// True if the linker drops the symbols of local functions that it folds.
    pub(crate) fn drops_local_symbols(&self) -> bool {
        self.linker.policy().folded_symbols == FoldedSymbols::LocalDropped
    }

    /// True if the program has objects that no unit describes.
    pub(crate) fn has_undescribed_objects(&self) -> bool {
        self.has_undescribed_objects
    }

    /// True if any function may hide a folded one that nothing in the program names: a local function of an object
    /// without debug information, whose symbol the linker dropped.
    pub(crate) fn may_hide_functions(&self) -> bool {
        self.has_undescribed_objects && self.drops_local_symbols()
    }

    /// True if the symbol table has symbols of a file with this base name.
    pub(crate) fn has_symbols_of(&self, file: &[u8]) -> bool {
        self.files.get(file).is_some_and(|counts| counts.symbol_files > 0)
    }

    /// True if the symbol table has one file with this base name, and the program no more units of it.
    pub(crate) fn has_one_file(&self, file: &[u8]) -> bool {
        self.files.get(file).is_some_and(|counts| counts.symbol_files == 1 && counts.units <= 1)
    }

    /// True for code that no DIE describes whose lines are of one file and whose symbols are all of other files. The
    /// symbols name local functions of the other files. A function of the lines' own file was folded with them, and
    /// the linker dropped its symbol. A file without any symbol proves nothing.
    pub(crate) fn has_lines_of_another(&self, placing: &Placing<'_, '_>, here: &[CodeSymbol<'_>]) -> bool {
        if !self.drops_local_symbols() {
            return false;
        }
        let is_local = |symbol: &CodeSymbol<'_>| {
            symbol.local && !symbol.file.is_empty() && !is_program_wide(symbol.name)
        };
        let functions = || here.iter().filter(|symbol| symbol.function);
        let of_another = |(unit, _): &(UnitId, BareLines)| {
            let file = &*placing.recovered.unit(*unit).head.file_name;
            self.has_symbols_of(file) && functions().all(|symbol| base_name(symbol.file) != file)
        };
        let bare = here.first().map_or(&[][..], |symbol| self.bare_lines(symbol.start));
        functions().all(is_local) && bare.iter().any(of_another)
    }

    /// How many functions of this code have a line sequence and no name, if the linker drops the symbols of functions that it folds: each
    /// sequence of exactly this range is of one function. `named`: how many functions have a symbol here.
    pub(crate) fn unnamed_functions(&self, range: AddressRange, named: usize) -> usize {
        if self.linker.policy().folded_symbols != FoldedSymbols::Dropped {
            return 0;
        }
        let own = self.bare_lines(range.start).iter().filter(|(_, lines)| lines.range() == range);
        own.take(MAX_LINE_OWNERS).count().saturating_sub(named)
    }

    /// The line sequences that begin at an address and that no function has, with their units, if the linker may have
    /// folded functions there.
    pub(crate) fn bare_lines(&self, start: ImageAddr) -> &[(UnitId, BareLines)] {
        let first = self.bare_lines.partition_point(|(_, lines)| lines.start < start);
        let count = self.bare_lines[first..].partition_point(|(_, lines)| lines.start == start);
        &self.bare_lines[first..first + count]
    }

    /// The unit of such a sequence that begins before an address and goes on there.
    pub(crate) fn unit_of_lines_over(&self, address: ImageAddr) -> Option<UnitId> {
        let first = self.bare_lines.partition_point(|(_, lines)| lines.start < address);
        let end = |at: usize| self.bare_lines[at].1.range().end.0;
        self.bare_ends.last_after(first, address.0, end).map(|at| self.bare_lines[at].0)
    }

    /// Line sequences of a range that no function there has; `None` for a sequence that a function there may have.
    pub(crate) fn sequences(&self, range: AddressRange) -> &[Option<Rows>] {
        match self.may_fold() {
            true => self.sequences.get(&range).map_or(&[], |found| found),
            false => &[],
        }
    }

    /// True if a line sequence shows that a range has a function besides those known there.
    pub(crate) fn has_other_lines(&self, range: AddressRange) -> bool {
        self.multiply_folded.contains(&range) || !self.sequences(range).is_empty()
    }

    /// Counts the members of a Mach-O claim that are known only by a symbol.
    pub(crate) fn report(
        &self,
        claim: &Claim,
        placing: &Placing<'_, '_>,
        functions: &[Function],
        diagnostics: &mut Diagnostics,
    ) {
        let alone = claim.members.iter().filter(|member| member.how.is_undescribed());
        for member in alone.filter(|_| !self.has_aliases) {
            diagnostics.add(Kind::UndescribedFold, claim.start.0, || {
                let name = String::from_utf8_lossy(name_of(placing, &functions[member.function.index()]));
                format!("{name} at {:#x}: link with --keep-icf-stabs, and build all with -g", claim.start)
            });
        }
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
    let name_of = |unit: UnitId, origin: LocalOrigin| {
        placing.names.of_origin(placing.recovered.units.origin_of(unit, origin))
    };
    for (id, unit) in placing.recovered.numbered() {
        // A local name may be that of functions in many files, a removed function (garbage-collected) has no code, and a part
        // has the name of its function.
        for erased in
            unit.records.erased.iter().filter(|erased| erased.external && !erased.removed && !erased.part)
        {
            let name = name_of(id, erased.origin);
            // `decision` takes a mangled name for a function of its own without this evidence.
            if !is_mangled(placing.names.text(name)) {
                found.insert((name, erased.size));
            }
        }
    }
    if !found.is_empty() {
        let functions = placing.recovered.numbered().flat_map(|(id, unit)| {
            unit.code.functions.iter().map(move |function| name_of(id, function.origin))
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
    let pieces = units.code.iter().flat_map(|unit| unit.pieces.iter()).map(UnitPiece::range);
    let bare = units.traces.iter().flat_map(|unit| &unit.bare).map(BareLines::range);
    let mut covered: Vec<AddressRange> = pieces.chain(bare).collect();
    covered.sort_unstable();
    let mut ends = covered.into_iter().peekable();
    let mut end = ImageAddr(0);
    for symbol in symbols.iter() {
        // `end` is the latest end of all ranges that begin at or before the symbol, since ranges may overlap.
        while let Some(range) = ends.next_if(|range| range.start <= symbol.start) {
            end = end.max(range.end);
        }
        // A local function shows its object by a file symbol, which `new` compares with the units. An object made of all units has one
        // file symbol, so its local functions count here.
        let counts = !symbol.local || WHOLE_PROGRAM_FILES.contains(&base_name(symbol.file));
        let named = counts && !symbol.of_linker && !is_reserved(symbol.name);
        if end <= symbol.start && named {
            return true;
        }
    }
    false
}

/// True if the symbol table has more files with this base name than there are units of it.
pub(crate) fn more_files(files: &HashMap<Vec<u8>, FileCounts>, name: &[u8]) -> bool {
    files.get(name).is_some_and(|counts| counts.symbol_files > counts.units)
}

/// True if the symbols at an address show different functions.
fn differ(here: &[CodeSymbol<'_>]) -> bool {
    let [first, rest @ ..] = here else { return false };
    let other = |symbol: &CodeSymbol<'_>| {
        let mangled = is_mangled(first.name) && is_mangled(symbol.name);
        first.of_another_object(symbol) || (mangled && relation(first.name, symbol.name) == Relation::Other)
    };
    // Compared with the first alone: the input chooses the number of symbols at an address, and all pairs would take quadratic
    // time.
    rest.iter().any(|symbol| first.shares(symbol) && other(symbol))
}

/// By range: line sequences of functions that no DIE describes; `None` for a sequence that a described function may
/// have.
type Sequences = HashMap<AddressRange, Vec<Option<Rows>>>;

/// The line sequences that no function has, with their units, by start.
fn unowned_lines(placing: &Placing<'_, '_>) -> Vec<(UnitId, BareLines)> {
    let of_unit = |(id, unit)| lines_without_function(unit).map(move |lines| (id, *lines));
    let mut all: Vec<_> =
        placing.recovered.numbered().flat_map(of_unit).filter(|(_, lines)| !lines.in_doubt).collect();
    all.sort_by_key(|(unit, lines)| (lines.start, *unit));
    all
}

/// The recovered functions of a unit at one range.
#[derive(Default)]
struct RecoveredThere {
    /// How many have rows with these lines, by [`lines_hash`], and no sequence was left out for them yet.
    with: HashMap<u64, usize>,
    /// How many have no rows, so that any sequence may be theirs, and for how many of these none was left out yet.
    without: usize,
    left: usize,
}

/// A hash of the lines of rows, without repetitions: where `recover` found inlined code it added rows that differ in their scope alone.
fn lines_hash(unit: UnitView<'_, '_>, rows: RowRange) -> u64 {
    let mut lines: Vec<(u16, u32)> = unit.code.rows_of(rows).iter().map(|row| (row.file, row.line)).collect();
    lines.dedup();
    Keyed.hash_one(&lines)
}

/// Line sequences beyond the number of functions that their unit has at their range, and the ranges at which several
/// sequences and no function are.
fn sequences(placing: &Placing<'_, '_>) -> (Sequences, HashSet<AddressRange>) {
    let mut found = Sequences::default();
    let mut once: HashSet<AddressRange> = HashSet::default();
    let mut several: HashSet<AddressRange> = HashSet::default();
    // By range of such lines: whether any function has it.
    let mut described: HashMap<AddressRange, bool> = HashMap::default();
    let all = placing.recovered.all().flat_map(lines_without_function);
    described.extend(all.map(|lines| (lines.range(), false)));
    if described.is_empty() {
        return (found, several);
    }
    // Only the ranges of such lines are kept: a program has many times as many pieces.
    for piece in placing.recovered.code.iter().flat_map(|unit| unit.pieces.iter()) {
        described.entry(piece.range()).and_modify(|described| *described = true);
    }
    for (id, unit) in placing.recovered.numbered() {
        // Each recovered function has one of the sequences. The other functions have claimed theirs already.
        let mut recovered: HashMap<AddressRange, RecoveredThere> = HashMap::default();
        let mut known: HashMap<RowRange, u64> = HashMap::default();
        for piece in unit.code.pieces.iter().filter(has_sequence) {
            let there = recovered.entry(piece.range()).or_default();
            match piece.rows.len {
                0 => (there.without, there.left) = (there.without + 1, there.left + 1),
                _ => {
                    let lines = *known.entry(piece.rows).or_insert_with(|| lines_hash(unit, piece.rows));
                    *there.with.entry(lines).or_default() += 1;
                }
            }
        }
        for lines in lines_without_function(unit) {
            let range = lines.range();
            let mut there = recovered.get_mut(&range);
            let of_function = there.as_mut().is_some_and(|there| {
                let count = there.with.get_mut(&lines_hash(unit, lines.rows)).filter(|count| **count > 0);
                count.map(|count| *count -= 1).is_some()
            });
            if !described[&range] {
                // One sequence without a function is code that `-g1` does not describe. Two with one range are two functions
                // with the same code.
                if !once.insert(range) {
                    several.insert(range);
                }
                continue;
            }
            if of_function {
                continue;
            }
            let in_doubt = lines.in_doubt || there.as_ref().is_some_and(|there| there.without > 0);
            match there {
                Some(there) if there.left > 0 => there.left -= 1,
                _ => {
                    let rows = Rows { unit: id, range: lines.rows, skip: 0 };
                    found.entry(range).or_default().push((!in_doubt).then_some(rows));
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
    // Of the sequences that begin at an address, `read` makes the first one bare lines.
    bare.chain(&unit.traces.unclaimed).filter(|lines| !lines.continues)
}

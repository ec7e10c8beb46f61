//! Turns the counts of a conversion into what a user must know: how much debug information the program has, and which parts of
//! it are not in the file.

use crate::diagnostics::opening::{OpenDiagnostic, OpenDiagnosticKind};
use crate::diagnostics::{Diagnostics, Kind};
use crate::report::{ConversionRecord, Counts, Report};

pub use foldsym_format::DebugInfo;

/// What a [`Warning`] is about. The name is what the report prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WarningKind {
    /// The program has no debug information and names no file that has it.
    NoDebugInfo,
    /// The program has no debug information, and the file that it names was not found.
    MissingDebugFile,
    /// The program has no debug information, and the file that was found belongs to another build.
    WrongDebugFile,
    /// The program has no debug information, and the file that was found cannot be read.
    UnreadableDebugFile,
    /// The supplementary (dwz) file was not found, or belongs to another build.
    MissingSupplementary,
    /// `.dwo` files were not found.
    MissingDwo,
    /// `.dwo` files belong to another build.
    WrongDwo,
    /// A package of split debug information (`.dwp`), or an entry of it, cannot be read.
    BadPackage,
    /// Units, or parts of them, are damaged.
    LostUnits,
    /// A limit of the conversion was reached; one warning for each limit.
    LimitReached,
    /// Smaller parts of the debug information are damaged or missing: a range list, a reference, a name, an expression.
    DamagedParts,
    /// Relocations of an unknown type, or of an offset outside of the section.
    UnknownRelocations,
    /// Sections that cannot be read, or are truncated.
    LostSections,
    /// Debug information without the code of the program.
    NoCode,
    /// A linked program without a build id: nothing proves that a file belongs to it.
    NoBuildId,
    /// Records of a Breakpad symbol file for which a `.fsym` has no place.
    NotKept,
}

impl WarningKind {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoDebugInfo => "no_debug_info",
            Self::MissingDebugFile => "missing_debug_file",
            Self::WrongDebugFile => "wrong_debug_file",
            Self::UnreadableDebugFile => "unreadable_debug_file",
            Self::MissingSupplementary => "missing_supplementary",
            Self::MissingDwo => "missing_dwo",
            Self::WrongDwo => "wrong_dwo",
            Self::BadPackage => "bad_package",
            Self::LostUnits => "lost_units",
            Self::LimitReached => "limit_reached",
            Self::DamagedParts => "damaged_parts",
            Self::UnknownRelocations => "unknown_relocations",
            Self::LostSections => "lost_sections",
            Self::NoCode => "no_code",
            Self::NoBuildId => "no_build_id",
            Self::NotKept => "not_kept",
        }
    }

    /// True if the program has or refers to debug information that is not in the file. A program without debug information loses
    /// none, and a program without code or build id keeps all of it. Rules for unwinding are no debug information.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::NoDebugInfo | Self::NoCode | Self::NoBuildId | Self::NotKept)
    }
}

/// One thing that a user of the file must know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// How many cases there are; at least 1.
    pub count: u64,
    /// The warning in words, with the first case.
    pub message: String,
}

impl Report {
    /// How much debug information the conversion found.
    pub fn debug_info(&self) -> DebugInfo {
        level(&self.counts, self.lost().is_empty())
    }

    /// The kinds of debug information that the program has or refers to and the file lacks, in the order of [`WarningKind`].
    pub fn lost(&self) -> Vec<WarningKind> {
        let warnings = self.warnings();
        let mut lost: Vec<_> =
            warnings.iter().map(|warning| warning.kind).filter(|kind| kind.is_loss()).collect();
        // Several limits are several warnings of one kind.
        lost.dedup();
        lost
    }

    /// What a user must know, in the order of [`WarningKind`].
    pub fn warnings(&self) -> Vec<Warning> {
        let mut found = Vec::new();
        let mut add = |kind, count: u64, message: String| {
            if count > 0 {
                found.push(Warning { kind, count, message });
            }
        };
        if self.counts.units == 0 {
            let (kind, message) = self.no_debug_info();
            add(kind, 1, message);
        }
        let (count, first) = noted(&self.notes, |kind| kind == OpenDiagnosticKind::SupplementaryNotFound);
        let what = "the supplementary file that holds names and types was not found";
        add(WarningKind::MissingSupplementary, count, format!("{what}: {first}"));
        for (kind, seen, what) in [
            (WarningKind::MissingDwo, &[Kind::MissingDwo], "not found"),
            (WarningKind::WrongDwo, &[Kind::DwoMismatch], "of another build"),
        ] {
            let (count, first) = counted(&self.diagnostics, &[&seen[..]]);
            let units = self.counts.units;
            let many = if count >= units { format!("all {count}") } else { format!("{count} of {units}") };
            let message = format!("the .dwo files of {many} units are {what}: {first}");
            add(kind, count, message);
        }
        let (unreadable, note) = noted(&self.notes, |kind| kind == OpenDiagnosticKind::PackageUnreadable);
        let (bad, example) = counted(&self.diagnostics, &[&[Kind::BadPackage], &[Kind::BadPackageUnit]]);
        let first = if note.is_empty() { example } else { note };
        add(WarningKind::BadPackage, unreadable + bad, format!("the .dwp package cannot be used: {first}"));
        let (count, first) = counted(&self.diagnostics, LOST_UNITS);
        let what = "units are lost or incomplete";
        add(WarningKind::LostUnits, count, format!("{count} {what}, the first: {first}"));
        let is_limit = |kind: &Kind| matches!(kind, Kind::Cap(_) | Kind::SkippedClasses(_) | Kind::TooDeep);
        for (limit, seen) in self.diagnostics.iter().filter(|(kind, _)| is_limit(kind)) {
            let message = format!("limit {} reached: {}", limit.name(), seen.example);
            add(WarningKind::LimitReached, seen.count, message);
        }
        let (count, first) = counted(&self.diagnostics, DAMAGED_PARTS);
        let what = "parts of the debug information are damaged or missing";
        add(WarningKind::DamagedParts, count, format!("{count} {what}, the first: {first}"));
        let (count, first) = noted(&self.notes, is_relocation);
        let what = "relocations of debug information were not applied";
        add(WarningKind::UnknownRelocations, count, format!("{count} {what}, the first: {first}"));
        let (count, first) = noted(&self.notes, is_section);
        let what = "sections cannot be read whole";
        add(WarningKind::LostSections, count, format!("{count} {what}, the first: {first}"));
        let (count, first) = noted(&self.notes, |kind| kind == OpenDiagnosticKind::NoCode);
        add(WarningKind::NoCode, count, format!("no code, so answers are less sure: {first}"));
        for (kinds, what) in [
            (STACK_WIN, "STACK WIN records are left out: a .fsym has no place for them"),
            (INEXPRESSIBLE, "STACK CFI rules are left out: a .fsym cannot express them"),
        ] {
            let (count, first) = counted(&self.diagnostics, kinds);
            add(WarningKind::NotKept, count, format!("{count} {what}; the first {first}"));
        }
        // An object file has no build id: the linker writes it. The PDB of a Windows program has another identifier.
        let imported = self.notes.iter().any(|note| note.kind == OpenDiagnosticKind::Imported);
        if self.is_linked && self.build_id.is_empty() && !imported {
            let message =
                "no build id, so nothing proves that a symbol file belongs to it (link with --build-id)";
            add(WarningKind::NoBuildId, 1, message.to_owned());
        }
        found
    }

    /// Why there is no debug information. A debug file that was found but is of no use counts before one that was not found.
    fn no_debug_info(&self) -> (WarningKind, String) {
        for (note, kind, what) in TRIED_DEBUG_FILES {
            let (count, first) = noted(&self.notes, |kind| kind == note);
            if count > 0 {
                return (kind, format!("no debug information, {what}: {first}"));
            }
        }
        (WarningKind::NoDebugInfo, "no debug information, symbols alone".to_owned())
    }
}

impl ConversionRecord {
    /// As [`Report::debug_info`], from what the file keeps of the report.
    pub fn debug_info(&self) -> DebugInfo {
        level(&self.counts, self.lost().is_empty())
    }

    /// As [`Report::lost`], from what the file keeps of the report.
    pub fn lost(&self) -> Vec<WarningKind> {
        use OpenDiagnosticKind as Open;
        use WarningKind as Lost;
        let has = |kinds: &[Kind]| kinds.iter().any(|kind| self.diagnostics.contains_key(kind.name()));
        let any = |ranked: &Ranked| ranked.iter().any(|kinds| has(kinds));
        let limits = ["cap_", "skipped_class"];
        let is_limit = |name: &String| {
            limits.iter().any(|prefix| name.starts_with(prefix)) || name == Kind::TooDeep.name()
        };
        let noted =
            |wanted: &dyn Fn(Open) -> bool| self.notes.iter().filter_map(|note| kind_of(note)).any(wanted);
        let tried = TRIED_DEBUG_FILES.iter().find(|(note, ..)| noted(&|kind| kind == *note));
        let debug_file = tried.filter(|_| self.counts.units == 0).map(|(_, lost, _)| *lost);
        let package = noted(&|kind| kind == Open::PackageUnreadable);
        let others = [
            (Lost::MissingSupplementary, noted(&|kind| kind == Open::SupplementaryNotFound)),
            (Lost::MissingDwo, has(&[Kind::MissingDwo])),
            (Lost::WrongDwo, has(&[Kind::DwoMismatch])),
            (Lost::BadPackage, package || has(&[Kind::BadPackage, Kind::BadPackageUnit])),
            (Lost::LostUnits, any(LOST_UNITS)),
            (Lost::LimitReached, self.diagnostics.keys().any(is_limit)),
            (Lost::DamagedParts, any(DAMAGED_PARTS)),
            (Lost::UnknownRelocations, noted(&is_relocation)),
            (Lost::LostSections, noted(&is_section)),
        ];
        let others = others.into_iter().filter(|(_, is_lost)| *is_lost).map(|(kind, _)| kind);
        debug_file.into_iter().chain(others).collect()
    }

    /// False if the file was made from a debug file without the code of the program, or from a symbol file, so that its answers are
    /// less sure.
    pub fn has_code(&self) -> bool {
        use OpenDiagnosticKind::{Imported, NoCode};
        !self.notes.iter().any(|note| matches!(kind_of(note), Some(NoCode | Imported)))
    }
}

fn level(counts: &Counts, is_whole: bool) -> DebugInfo {
    match (counts.units, counts.functions) {
        (0, _) => DebugInfo::None,
        // All of it is lost.
        (_, 0) if counts.rows == 0 && !is_whole => DebugInfo::None,
        (_, 0) => DebugInfo::Lines,
        _ if is_whole => DebugInfo::Full,
        _ => DebugInfo::Partial,
    }
}

/// What the note of a debug file that gave nothing is called as a warning. The first that was noted counts.
const TRIED_DEBUG_FILES: [(OpenDiagnosticKind, WarningKind, &str); 3] = [
    (
        OpenDiagnosticKind::DebugFileMismatch,
        WarningKind::WrongDebugFile,
        "the debug file is of another build",
    ),
    (
        OpenDiagnosticKind::DebugFileUnreadable,
        WarningKind::UnreadableDebugFile,
        "the debug file cannot be read",
    ),
    (OpenDiagnosticKind::DebugFileNotFound, WarningKind::MissingDebugFile, "the debug file was not found"),
];

/// The kind of a line of [`ConversionRecord::notes`], which begins with its name. `None` for kinds that no loss depends on.
fn kind_of(note: &str) -> Option<OpenDiagnosticKind> {
    use OpenDiagnosticKind as Open;
    let kinds = [
        // The numbers are in the rest of the line, and do not decide.
        Open::UnknownRelocation { machine: 0, kind: 0 },
        Open::BadRelocation,
        Open::UnknownCompression,
        Open::TruncatedSection,
        Open::BadSectionName,
        Open::BadMiniDebugInfo,
        Open::BadBlockMap,
        Open::BadCallGraph,
        Open::DebugFileNotFound,
        Open::DebugFileMismatch,
        Open::DebugFileUnreadable,
        Open::PackageUnreadable,
        Open::SupplementaryNotFound,
        Open::NoCode,
        Open::Imported,
    ];
    let name = |text: &str| text.split(' ').next().map(str::to_owned);
    kinds.into_iter().find(|kind| name(&kind.to_string()) == name(note))
}

/// The kinds of a warning, a row for each rank: the warning shows a case of the first row that has one. Of several kinds in
/// a row, it shows the case with the lowest offset.
type Ranked = [&'static [Kind]];

const LOST_UNITS: &Ranked = &[
    &[Kind::BadUnit],
    &[Kind::BadEntries],
    &[Kind::BadLineHeader, Kind::BadLineProgram, Kind::UnendedSequence],
];

const DAMAGED_PARTS: &Ranked = &[
    &[Kind::BadRecord],
    &[Kind::StrayInline],
    &[Kind::BadRanges, Kind::BadLowPc],
    &[Kind::BadCallTable],
    &[Kind::BadCallSlot],
    &[Kind::BadCallee],
    &[Kind::BadString],
    &[Kind::BadReference],
    &[Kind::MissingEntry],
    &[Kind::OriginCycle],
    &[Kind::BadFileIndex],
    &[Kind::UnknownBlockMap],
    &[Kind::BadBlockMap],
    &[Kind::BadCallGraph],
    &[Kind::BadExpression],
];

const STACK_WIN: &Ranked = &[&[Kind::StackWin]];
const INEXPRESSIBLE: &Ranked = &[&[Kind::InexpressibleFrame]];

fn is_relocation(kind: OpenDiagnosticKind) -> bool {
    matches!(kind, OpenDiagnosticKind::UnknownRelocation { .. } | OpenDiagnosticKind::BadRelocation)
}

fn is_section(kind: OpenDiagnosticKind) -> bool {
    use OpenDiagnosticKind as Kind;
    matches!(
        kind,
        Kind::UnknownCompression
            | Kind::TruncatedSection
            | Kind::BadSectionName
            | Kind::BadMiniDebugInfo
            | Kind::BadBlockMap
            | Kind::BadCallGraph
    )
}

/// How often diagnostics of these kinds occurred, and the case that the warning shows.
fn counted(diagnostics: &Diagnostics, ranked: &Ranked) -> (u64, String) {
    let of_row = |row: &&'static [Kind]| diagnostics.iter().filter(|(kind, _)| row.contains(kind));
    let shown = ranked.iter().find_map(|row| of_row(row).min_by_key(|(_, seen)| seen.first));
    let count = ranked.iter().flat_map(of_row).map(|(_, seen)| seen.count).sum();
    (count, shown.map(|(_, seen)| seen.example.clone()).unwrap_or_default())
}

/// The same for the diagnostics of `open`.
fn noted(notes: &[OpenDiagnostic], wanted: impl Fn(OpenDiagnosticKind) -> bool) -> (u64, String) {
    let mut found = notes.iter().filter(|note| wanted(note.kind)).peekable();
    let first = found.peek().map(|note| note.first.clone()).unwrap_or_default();
    (found.map(|note| note.count).sum(), first)
}

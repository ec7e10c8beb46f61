//! Turns the counts of a conversion into what a user must know: how much debug information the program has, and which parts of
//! it are not in the file.

use crate::diagnostics::opening::{OpenDiagnostic, OpenDiagnosticKind};
use crate::diagnostics::{Diagnostics, Kind};
use crate::report::Report;

/// How much debug information a conversion found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugInfo {
    /// All debug information that the program has or refers to.
    Full,
    /// A part of it is missing or damaged: the warnings say which.
    Partial,
    /// Units with line tables, but without a description of any function: assembly code, or a program whose `.dwo` files are missing.
    Lines,
    /// No unit: functions are known by their symbols only.
    None,
}

impl DebugInfo {
    /// The word that the report uses.
    pub fn text(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::Lines => "lines",
            Self::None => "none",
        }
    }
}

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
        }
    }

    /// True if the program has or refers to debug information that is not in the file. A program without debug information loses
    /// none, and a program without code or build id keeps all of it.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::NoDebugInfo | Self::NoCode | Self::NoBuildId)
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
        if self.counts.units == 0 {
            DebugInfo::None
        } else if self.counts.functions == 0 {
            DebugInfo::Lines
        } else if self.warnings().iter().any(|warning| warning.kind.is_loss()) {
            DebugInfo::Partial
        } else {
            DebugInfo::Full
        }
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
        // An object file has no build id: the linker writes it.
        if self.is_linked && self.build_id.is_empty() {
            let message =
                "no build id, so nothing proves that a symbol file belongs to it (link with --build-id)";
            add(WarningKind::NoBuildId, 1, message.to_owned());
        }
        found
    }

    /// Why there is no debug information. A debug file that was found but is of no use counts before one that was not found.
    fn no_debug_info(&self) -> (WarningKind, String) {
        use OpenDiagnosticKind as Open;
        let tried = [
            (Open::DebugFileMismatch, WarningKind::WrongDebugFile, "the debug file is of another build"),
            (Open::DebugFileUnreadable, WarningKind::UnreadableDebugFile, "the debug file cannot be read"),
            (Open::DebugFileNotFound, WarningKind::MissingDebugFile, "the debug file was not found"),
        ];
        for (note, kind, what) in tried {
            let (count, first) = noted(&self.notes, |kind| kind == note);
            if count > 0 {
                return (kind, format!("no debug information, {what}: {first}"));
            }
        }
        (WarningKind::NoDebugInfo, "no debug information, symbols alone".to_owned())
    }
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
    &[Kind::BadExpression],
];

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

//! Counts what `open` skipped or repaired, one entry a kind, with the place of its first case.

/// What was skipped or repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OpenDiagnosticKind {
    /// A relocation of a debug section of an object file has a type that is not known.
    UnknownRelocation { machine: u16, kind: u32 },
    /// A debug section has relocations of unknown types. It is not read: the addresses and offsets in it may be wrong.
    UnrelocatedSection,
    /// A relocation names a symbol or place outside its table or section; it was skipped.
    BadRelocation,
    /// A section is compressed by a method that is not known; it is treated as absent.
    UnknownCompression,
    /// A section reaches past the end of the file; what is there was taken.
    TruncatedSection,
    /// A section's name is not in the string table; the section was skipped.
    BadSectionName,
    /// The names of sections have together more bytes than the file; this one was cut.
    LongSectionName,
    /// A section's address range wraps around the address space; it was cut at its end.
    SectionWraps,
    /// A symbol's name or section is not in its table; the symbol was skipped.
    BadSymbol,
    /// The names of symbols have together several times the bytes of their table; the symbol was skipped.
    LongSymbolNames,
    /// A symbol's address is outside its section; the symbol was skipped.
    SymbolOutsideSection,
    /// A PPC64 function descriptor does not lead to code; the symbol was skipped.
    BadDescriptor,
    /// The program names a separate debug file, and none was found.
    DebugFileNotFound,
    /// A separate debug file belongs to another build; it was not used.
    DebugFileMismatch,
    /// A separate debug file, or the link to one, could not be read.
    DebugFileUnreadable,
    /// The package of split DWARF beside the program could not be read.
    PackageUnreadable,
    /// The supplementary file (dwz) was not found, or is of another build; its names are missing.
    SupplementaryNotFound,
    /// `.gnu_debugdata` could not be read; its symbols are missing.
    BadMiniDebugInfo,
    /// A section of the basic-block address map could not be unpacked; its blocks are missing.
    BadBlockMap,
    /// A path from debug information leaves the directories that were given; it was not opened.
    PathRefused,
    /// The file has the debug information of a program and not its code. What is told by code is not known: which functions a
    /// compiler merged, where functions jump to. So answers are less sure than the program's own, and few are `exact`.
    NoCode,
    /// Entries of a container of GPU code that are no ELF file (bitcode, SPIR-V, archives); they were passed over.
    DeviceCodeNotElf,
}

/// The name of the kind, which the report prints.
impl std::fmt::Display for OpenDiagnosticKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownRelocation { machine, kind } => {
                write!(f, "UnknownRelocation (type {kind} of machine {machine})")
            }
            // All others are a word.
            word => write!(f, "{word:?}"),
        }
    }
}

impl OpenDiagnosticKind {
    /// The words of a case name a file as it was found here, and so depend on where the program lies. In the others
    /// they are of the program alone.
    pub fn names_found_file(self) -> bool {
        use OpenDiagnosticKind as Kind;
        match self {
            Kind::DebugFileMismatch
            | Kind::DebugFileUnreadable
            | Kind::PackageUnreadable
            | Kind::BadMiniDebugInfo
            | Kind::BadBlockMap => true,
            Kind::UnknownRelocation { .. }
            | Kind::UnrelocatedSection
            | Kind::BadRelocation
            | Kind::UnknownCompression
            | Kind::TruncatedSection
            | Kind::BadSectionName
            | Kind::LongSectionName
            | Kind::SectionWraps
            | Kind::BadSymbol
            | Kind::LongSymbolNames
            | Kind::SymbolOutsideSection
            | Kind::BadDescriptor
            | Kind::DebugFileNotFound
            | Kind::SupplementaryNotFound
            | Kind::PathRefused
            | Kind::NoCode
            | Kind::DeviceCodeNotElf => false,
        }
    }
}

/// One kind of skipped or repaired thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDiagnostic {
    pub kind: OpenDiagnosticKind,
    /// How many there were; at least 1.
    pub count: u64,
    /// The first case: section, offset or path, in words.
    pub first: String,
}

impl OpenDiagnostic {
    /// The same line wherever the program lies: without the first case where that names a file that was found.
    pub fn portable(&self) -> String {
        if self.kind.names_found_file() {
            format!("{} x {}", self.kind, self.count)
        } else {
            self.to_string()
        }
    }
}

impl std::fmt::Display for OpenDiagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}: {}", self.kind, self.count, self.first)
    }
}

/// A hostile file could give every relocation another type.
const MAX_KINDS: usize = 256;

/// Collects diagnostics; the words of a case are made only for the first of its kind.
#[derive(Debug, Default)]
pub(super) struct OpenDiagnostics {
    entries: Vec<OpenDiagnostic>,
}

impl OpenDiagnostics {
    pub(super) fn note(&mut self, kind: OpenDiagnosticKind, first: impl FnOnce() -> String) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.kind == kind) {
            entry.count += 1;
        } else if self.entries.len() < MAX_KINDS {
            self.entries.push(OpenDiagnostic { kind, count: 1, first: first() });
        }
    }

    pub(super) fn merge(&mut self, other: Vec<OpenDiagnostic>) {
        for new in other {
            match self.entries.iter_mut().find(|entry| entry.kind == new.kind) {
                Some(entry) => entry.count += new.count,
                None => self.entries.push(new),
            }
        }
    }

    pub(super) fn into_vec(self) -> Vec<OpenDiagnostic> {
        self.entries
    }
}

//! Counts what was skipped or repaired while files were opened: one entry per kind, with the place of the first case.

/// What was skipped or repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OpenDiagnosticKind {
    /// In an object file, a relocation of a debug section has an unknown type.
    UnknownRelocation {
        /// ELF `e_machine` of the file.
        machine: u16,
        /// The type of the relocation.
        kind: u32,
    },
    /// A debug section has relocations of unknown types. The section is not read, since its addresses and offsets may be wrong.
    UnrelocatedSection,
    /// A relocation names a symbol outside the symbol table or an offset outside the section; it was skipped.
    BadRelocation,
    /// A section is compressed by an unknown method; it is treated as absent.
    UnknownCompression,
    /// A section extends past the end of the file; the bytes inside the file were used.
    TruncatedSection,
    /// A section's name is not in the string table; the section was skipped.
    BadSectionName,
    /// All section names together exceed the limit for this file; this name was cut.
    LongSectionName,
    /// A section's address range wraps around; it was cut at the end of the address space.
    SectionWraps,
    /// A symbol's name offset or section index is outside its table; the symbol was skipped.
    BadSymbol,
    /// All symbol names together have several times the size of the string table; the symbol was skipped.
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
    /// The `.dwp` file next to the program could not be read.
    PackageUnreadable,
    /// The supplementary file (dwz) was not found, or belongs to another build; the names in it are missing.
    SupplementaryNotFound,
    /// `.gnu_debugdata` could not be read; its symbols are missing.
    BadMiniDebugInfo,
    /// A section of the basic-block address map could not be decompressed or relocated; its blocks are missing.
    BadBlockMap,
    /// A section of the call graph (`.llvm.callgraph`) could not be decompressed or relocated; it is not used.
    BadCallGraph,
    /// A path in the program or its debug information leads outside the allowed folders; the file was not opened.
    PathRefused,
    /// The file has a program's debug information but not its code. Without the code foldsym cannot see which functions a
    /// compiler merged or where functions jump. So answers are less certain than with the program, and few are `exact`.
    NoCode,
    /// The file was made from a symbol file of another format, which has neither code nor a symbol table. So answers are less certain
    /// than with the program.
    Imported,
    /// The CODE_ID of a Breakpad symbol file is of another program than its MODULE.
    OtherCodeId,
    /// Entries of a container of GPU code that are not ELF files (bitcode, SPIR-V, archives); they were skipped.
    DeviceCodeNotElf,
}

/// The name of the kind, which the report prints.
impl std::fmt::Display for OpenDiagnosticKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownRelocation { machine, kind } => {
                write!(f, "UnknownRelocation (type {kind} of machine {machine})")
            }
            // The other kinds have no fields.
            word => write!(f, "{word:?}"),
        }
    }
}

impl OpenDiagnosticKind {
    /// True if the text of a case names a file that was found on this machine. Such a text depends on where the program
    /// lies. The texts of the other kinds depend on the program alone.
    pub fn names_found_file(self) -> bool {
        use OpenDiagnosticKind as Kind;
        match self {
            Kind::DebugFileMismatch
            | Kind::DebugFileUnreadable
            | Kind::PackageUnreadable
            | Kind::BadMiniDebugInfo
            | Kind::BadBlockMap
            | Kind::BadCallGraph => true,
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
            | Kind::Imported
            | Kind::OtherCodeId
            | Kind::DeviceCodeNotElf => false,
        }
    }
}

/// One kind of skipped or repaired thing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenDiagnostic {
    /// What was skipped or repaired.
    pub kind: OpenDiagnosticKind,
    /// How many cases there were; at least 1.
    pub count: u64,
    /// The first case as text: a section, offset or path.
    pub first: String,
}

impl OpenDiagnostic {
    /// A line that does not depend on where the program lies: without the first case if that names a file that was found.
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

/// The most kinds that are counted: a hostile file could give each of its relocations a different unknown type.
const MAX_KINDS: usize = 256;

/// Collects diagnostics. Only the first case of a kind costs a text.
#[derive(Debug, Default)]
pub(crate) struct OpenDiagnostics {
    entries: Vec<OpenDiagnostic>,
}

impl OpenDiagnostics {
    pub(crate) fn note(&mut self, kind: OpenDiagnosticKind, first: impl FnOnce() -> String) {
        // A list of at most [`MAX_KINDS`] entries, which keeps the kinds in the order of their first cases.
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.kind == kind) {
            entry.count += 1;
        } else if self.entries.len() < MAX_KINDS {
            self.entries.push(OpenDiagnostic { kind, count: 1, first: first() });
        }
    }

    pub(crate) fn merge(&mut self, other: Vec<OpenDiagnostic>) {
        for new in other {
            match self.entries.iter_mut().find(|entry| entry.kind == new.kind) {
                Some(entry) => entry.count += new.count,
                None => self.entries.push(new),
            }
        }
    }

    pub(crate) fn into_vec(self) -> Vec<OpenDiagnostic> {
        self.entries
    }
}

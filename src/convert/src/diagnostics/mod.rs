//! Counts everything that was kept despite a problem, repaired or left out, so that nothing is lost without a line in
//! the report.

pub(crate) mod opening;

use std::collections::BTreeMap;

/// A kind of problem. Its name is what the report prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A unit whose header or root DIE cannot be read; reading continues at the next unit, by the unit's length.
    BadUnit,
    /// A DIE tree that ends in damage: what came before it is kept.
    BadEntries,
    /// A line program whose header cannot be read: its functions keep names and lose lines.
    BadLineHeader,
    /// A line program that ends in damage: what came before it is kept.
    BadLineProgram,
    /// A line program whose last sequence has no end: that sequence is left out.
    UnendedSequence,
    /// A line sequence whose rows were not in order of address: sorted.
    UnorderedSequence,
    /// A limit of the conversion was reached: everything beyond it is not read, not compared or cut.
    Cap(Cap),
    /// A range list that cannot be read to its end: the ranges before the damage are kept.
    BadRanges,
    /// A `DW_AT_low_pc` that cannot be read, such as an index that the address table does not have.
    BadLowPc,
    /// A range that ends outside the section in which it starts: cut.
    RangeLeavesSection,
    /// A subprogram with a tombstone address: removed by the linker, not recovered.
    DeadFunction,
    /// A subprogram with a tombstone address whose name a function in the program has: a copy that the linker
    /// discarded (COMDAT).
    CopyOfLive,
    /// A copy like this, of a function that was folded into another.
    CopyOfFolded,
    /// Functions of a unit that kept one address, with line sequences of which none is certainly theirs: they have no
    /// lines.
    AmbiguousLines,
    /// A line sequence that fits several folded functions at its address, or none: no function gets it.
    AmbiguousSequence,
    /// A function that names another function's line sequence; it got its own.
    SwappedSequence,
    /// A folded function that names the line sequence of a function at another address: it is searched for by its
    /// symbol and its lines.
    ForeignSequence,
    /// A range with a tombstone address, of a function with other ranges.
    DeadRange,
    /// A subprogram with `DW_AT_low_pc` and no end.
    NoEnd,
    /// A folded function whose address was recovered.
    FoldedFunction,
    /// A folded function of a Mach-O program that no DIE describes. Either the program was linked without
    /// `--keep-icf-stabs`, so that dsymutil dropped the DIE, or it was built without `-g`. Its name is kept.
    UndescribedFold,
    /// A folded function whose inlined code has no proved place: it keeps only lines.
    LostInlines,
    /// A folded function that the linker folded into code that it had made shorter (RISC-V, LoongArch): it has lines up to the first
    /// instruction that may be shorter.
    ShortenedFold,
    /// A part of a call table (`.debug_dcall`, `.debug_vcall`) that cannot be read.
    BadCallTable,
    /// An entry of `.debug_vcall` with a slot number that is too large.
    BadCallSlot,
    /// An entry of `.debug_dcall` whose callee is no function of its unit.
    BadCallee,
    /// An entry of a call table whose call is not in code: of a folded or removed function, or damaged.
    DeadCall,
    /// A range of no bytes.
    EmptyRange,
    /// A reference to an offset where no unit is.
    BadReference,
    /// A reference to a DIE that is not there, or whose unit cannot be read.
    MissingEntry,
    /// A chain of origins longer than its cap, or a cycle.
    OriginCycle,
    /// A function or inlined subroutine without a name at the end of its chain.
    Nameless,
    /// A file index that the line table does not have.
    BadFileIndex,
    /// An inlined subroutine below the deepest level that is kept: its code counts as its ancestor's.
    TooDeep,
    /// A unit that needs a `.dwo` that was not found: functions from symbols, no inlines.
    MissingDwo,
    /// A unit whose `.dwo` belongs to another build: treated as missing.
    DwoMismatch,
    /// A `.dwp` that cannot be used.
    BadPackage,
    /// A unit of which a `.dwp` has an entry that cannot be used.
    BadPackageUnit,
    /// Two units of the program with one dwo id: each is matched to its file only by name.
    DuplicateDwoId,
    /// Two units of one `.dwo` with one dwo id: the first is read.
    DuplicateDwoUnit,
    /// Two DIEs with one linkage name and range: the first is kept.
    DuplicateFunction,
    /// A range that overlaps another function's and is cut.
    OverlapCut,
    /// A range that other functions cover completely: it has no address of its own.
    HiddenFunction,
    /// A symbol of size 0: it extends to the next symbol or the end of the section.
    SymbolWithoutSize,
    /// A record of the basic-block address map with an unknown version or unknown features: it and the rest of its
    /// section are skipped.
    UnknownBlockMap,
    /// A damaged record of the basic-block address map: skipped likewise.
    BadBlockMap,
    /// Basic blocks outside the executable sections: of a removed function, or damaged.
    DeadBlocks,
    /// Basic blocks of a function that overlap each other: the function's blocks are skipped.
    OverlappingBlocks,
    /// Basic blocks of a function that overlap the blocks of another: the blocks of this function are skipped.
    BlocksOverAnother,
    /// A basic-block section that was folded into another function's: both functions get the blocks.
    FoldedBlocks,
    /// A folded basic-block section with different blocks in the two functions: the blocks of this function are left
    /// out.
    UnlikeBlocks,
    /// A function whose map has no blocks (`-basic-block-address-map-skip-bb-entries`).
    OmittedBlocks,
    /// Classes beyond a cap: an object of such a class does not show which of its methods ran.
    SkippedClasses(ClassCap),
    /// An expression with an unknown operation: it is kept as one without a value.
    OpaqueExpression,
    /// An expression or location list that cannot be read, or that refers to a missing entry.
    BadExpression,
    /// An expression calls the expression of an entry in another unit (`DW_OP_call_ref`), which is not kept: an
    /// evaluation reports it as missing.
    ForeignProcedure,
    /// An entry of call frame information that cannot be read: its code has no rows.
    BadFrame,
    /// An entry of call frame information whose instructions cannot be executed: its code has one row without rules.
    BadFrameRows,
    /// A row of call frame information that the file cannot hold: a frame address in another address space, or a large
    /// offset. The row has no rules.
    UnheldFrame,
    /// An entry of call frame information outside the executable sections: of a removed function.
    DeadFrame,
    /// An entry of call frame information for code that another entry covers: the first entry of a section is kept,
    /// and `.eh_frame` before `.debug_frame`.
    OverlappingFrames,
    /// Calls of other modules were asked for (`--imports`), and they are not read of this format or processor.
    NoImports,
    /// Calls of other modules were asked for (`--imports`), and the names are readable ones (`--demangled`).
    ReadableImports,
    /// Code that is not all instructions: its calls of other modules are not kept.
    UnreadImports,
    /// What could not be read when a `.dwo` file or package was opened.
    Dwo(DwoProblem),
}

/// The cap that classes are beyond. Each cap keeps a first case of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ClassCap {
    /// Classes of one unit, and entries in them.
    Members,
    /// Bytes of the names in one unit.
    Names,
    /// Words of all tables of virtual functions.
    Tables,
    /// Keys of one table of virtual functions.
    Keys,
    /// Classes, and bases of classes, that only type information describes.
    Types,
}

impl ClassCap {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            ClassCap::Members => "skipped_class_members",
            ClassCap::Names => "skipped_class_names",
            ClassCap::Tables => "skipped_class_tables",
            ClassCap::Keys => "skipped_class_keys",
            ClassCap::Types => "skipped_class_types",
        }
    }
}

/// What could not be read when a `.dwo` file or package was opened. Each problem keeps a first case of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DwoProblem {
    /// A relocation of an unknown type.
    UnknownRelocation,
    /// A section with such relocations: it is not read.
    UnrelocatedSection,
    /// A relocation outside its section or its symbol table: skipped.
    BadRelocation,
    /// A section that is compressed by an unknown method: treated as absent.
    UnknownCompression,
    /// A section that extends past the end of the file: the bytes inside the file are used.
    TruncatedSection,
    /// A section whose name cannot be read: skipped.
    BadSectionName,
    /// Any other problem.
    Other,
}

impl DwoProblem {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            DwoProblem::UnknownRelocation => "dwo_unknown_relocation",
            DwoProblem::UnrelocatedSection => "dwo_unrelocated_section",
            DwoProblem::BadRelocation => "dwo_bad_relocation",
            DwoProblem::UnknownCompression => "dwo_unknown_compression",
            DwoProblem::TruncatedSection => "dwo_truncated_section",
            DwoProblem::BadSectionName => "dwo_bad_section_name",
            DwoProblem::Other => "dwo_other",
        }
    }
}

/// A limit of the conversion: what it counts, and what the file lacks beyond it. Each limit keeps a first case of its
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cap {
    /// Members of all groups together, counted for each range of code. Beyond it a range names no function.
    FoldedRanges,
    /// Beginnings of a symbol with many dots (`f.a.b`) that are tried as the name of its function. Beyond it the
    /// function may not be found, and the symbol counts as a function of its own.
    AliasComparisons,
    /// Bytes of one name. A longer name is cut.
    NameBytes,
    /// Bytes of all names and paths. Beyond it they are cut.
    NamesTogether,
    /// Symbols at a part of a function (`f.cold`), and functions that may own it. Beyond it an owner may be missing.
    PartOwners,
    /// Functions that the compiler may have merged. Beyond it a merged function may be missing.
    MergedFunctions,
    /// Symbols where several ranges begin, and comparisons of them with functions. Beyond it a symbol names only the
    /// first range.
    PartSymbols,
    /// Comparisons of functions that share an entry with functions of a part. Beyond it the part does not name them.
    PartFunctions,
    /// Bytes of code of one symbol. Code beyond them has no function.
    SymbolBytes,
    /// Steps of the search for sections that were folded. Beyond it a folded function may be missing.
    FoldedSections,
    /// Folded functions of one name, or of one unit and size. Beyond it a folded function is missing.
    FoldedTogether,
    /// Steps of the search for folded functions. Beyond it a folded function may be missing.
    FoldedSearch,
    /// Steps of the search for code inlined into folded functions. Beyond it inlined frames are missing.
    InlinedSearch,
    /// Line numbers from 2^32 on, and columns above 65535. They become 0, which means unknown.
    RowNumbers,
    /// Rows of one line program. Beyond it functions have no lines.
    LineRows,
    /// Readings of one `.dwo` for several units. Beyond it a unit is read without its `.dwo`.
    DwoReads,
    /// Rows of call frame information. Beyond it code has no rows.
    FrameRows,
    /// Bytes of one range of code. Code beyond them has no function.
    RangeBytes,
    /// Entries of the range lists of one unit. Beyond it functions have no code.
    RangeEntries,
    /// Comparisons of the functions of a unit with its line sequences. Beyond it functions have no lines.
    SequenceComparisons,
    /// Functions or line sequences at one address. Beyond it functions have no lines.
    SequencesTogether,
    /// Expressions of one unit. Beyond it locations are missing.
    Expressions,
    /// Rows that functions of one unit share. Beyond it functions have no lines.
    SharedRows,
    /// Attributes of one entry. The rest of its unit is not read.
    Attributes,
    /// Files of one unit, and bytes of their paths. Beyond it the file is unknown.
    Files,
    /// Bytes of the names of one unit. Beyond it a function has no name.
    UnitNames,
    /// Bytes of line programs that several units name. Beyond it a unit has no lines.
    LinePrograms,
    /// Steps of matching calls with folded functions. Beyond it answers stay `ambiguous`.
    CallMatching,
}

impl Cap {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Cap::FoldedRanges => "cap_folded_ranges",
            Cap::AliasComparisons => "cap_alias_comparisons",
            Cap::NameBytes => "cap_name_bytes",
            Cap::NamesTogether => "cap_names_together",
            Cap::PartOwners => "cap_part_owners",
            Cap::MergedFunctions => "cap_merged_functions",
            Cap::PartSymbols => "cap_part_symbols",
            Cap::PartFunctions => "cap_part_functions",
            Cap::SymbolBytes => "cap_symbol_bytes",
            Cap::FoldedSections => "cap_folded_sections",
            Cap::FoldedTogether => "cap_folded_together",
            Cap::FoldedSearch => "cap_folded_search",
            Cap::InlinedSearch => "cap_inlined_search",
            Cap::RowNumbers => "cap_row_numbers",
            Cap::LineRows => "cap_line_rows",
            Cap::DwoReads => "cap_dwo_reads",
            Cap::FrameRows => "cap_frame_rows",
            Cap::RangeBytes => "cap_range_bytes",
            Cap::RangeEntries => "cap_range_entries",
            Cap::SequenceComparisons => "cap_sequence_comparisons",
            Cap::SequencesTogether => "cap_sequences_together",
            Cap::Expressions => "cap_expressions",
            Cap::SharedRows => "cap_shared_rows",
            Cap::Attributes => "cap_attributes",
            Cap::Files => "cap_files",
            Cap::UnitNames => "cap_unit_names",
            Cap::LinePrograms => "cap_line_programs",
            Cap::CallMatching => "cap_call_matching",
        }
    }
}

impl Kind {
    /// The name of the kind in the report.
    pub fn name(self) -> &'static str {
        match self {
            Kind::BadUnit => "bad_unit",
            Kind::BadEntries => "bad_entries",
            Kind::BadLineHeader => "bad_line_header",
            Kind::BadLineProgram => "bad_line_program",
            Kind::UnendedSequence => "unended_sequence",
            Kind::UnorderedSequence => "unordered_sequence",
            Kind::Cap(cap) => cap.name(),
            Kind::BadRanges => "bad_ranges",
            Kind::BadLowPc => "bad_low_pc",
            Kind::RangeLeavesSection => "range_leaves_section",
            Kind::DeadFunction => "dead_function",
            Kind::CopyOfLive => "copy_of_live",
            Kind::CopyOfFolded => "copy_of_folded",
            Kind::AmbiguousLines => "ambiguous_lines",
            Kind::AmbiguousSequence => "ambiguous_sequence",
            Kind::SwappedSequence => "swapped_sequence",
            Kind::ForeignSequence => "foreign_sequence",
            Kind::DeadRange => "dead_range",
            Kind::NoEnd => "no_end",
            Kind::FoldedFunction => "folded_function",
            Kind::UndescribedFold => "undescribed_fold",
            Kind::LostInlines => "lost_inlines",
            Kind::ShortenedFold => "shortened_fold",
            Kind::BadCallTable => "bad_call_table",
            Kind::BadCallSlot => "bad_call_slot",
            Kind::BadCallee => "bad_callee",
            Kind::DeadCall => "dead_call",
            Kind::EmptyRange => "empty_range",
            Kind::BadReference => "bad_reference",
            Kind::MissingEntry => "missing_entry",
            Kind::OriginCycle => "origin_cycle",
            Kind::Nameless => "nameless",
            Kind::BadFileIndex => "bad_file_index",
            Kind::TooDeep => "too_deep",
            Kind::MissingDwo => "missing_dwo",
            Kind::DwoMismatch => "dwo_mismatch",
            Kind::BadPackage => "bad_package",
            Kind::BadPackageUnit => "bad_package_unit",
            Kind::DuplicateDwoId => "duplicate_dwo_id",
            Kind::DuplicateDwoUnit => "duplicate_dwo_unit",
            Kind::DuplicateFunction => "duplicate_function",
            Kind::OverlapCut => "overlap_cut",
            Kind::HiddenFunction => "hidden_function",
            Kind::SymbolWithoutSize => "symbol_without_size",
            Kind::UnknownBlockMap => "unknown_block_map",
            Kind::BadBlockMap => "bad_block_map",
            Kind::DeadBlocks => "dead_blocks",
            Kind::OverlappingBlocks => "overlapping_blocks",
            Kind::BlocksOverAnother => "blocks_over_another",
            Kind::FoldedBlocks => "folded_blocks",
            Kind::UnlikeBlocks => "unlike_blocks",
            Kind::OmittedBlocks => "omitted_blocks",
            Kind::SkippedClasses(cap) => cap.name(),
            Kind::OpaqueExpression => "opaque_expression",
            Kind::BadExpression => "bad_expression",
            Kind::ForeignProcedure => "foreign_procedure",
            Kind::BadFrame => "bad_frame",
            Kind::BadFrameRows => "bad_frame_rows",
            Kind::UnheldFrame => "unheld_frame",
            Kind::DeadFrame => "dead_frame",
            Kind::OverlappingFrames => "overlapping_frames",
            Kind::NoImports => "no_imports",
            Kind::ReadableImports => "readable_imports",
            Kind::UnreadImports => "unread_imports",
            Kind::Dwo(problem) => problem.name(),
        }
    }

    /// The example of a case, without the parts that depend on where the program and its files are. The file stores
    /// this, the report the whole example.
    pub(crate) fn portable_example(self, seen: &Seen) -> Option<&str> {
        match self {
            // "unit ... needs NAME (dwo id ID): REASON": the reason contains paths of files that were tried.
            Kind::MissingDwo | Kind::DwoMismatch => seen.example.split_inclusive(')').next(),
            // Both begin with the path of a file.
            Kind::BadPackage | Kind::Dwo(_) => None,
            _ => Some(&seen.example),
        }
    }
}

/// How often a kind occurred, and the first case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// At least 1.
    pub count: u64,
    /// Section offset of the DIE, unit or line program of the first case.
    pub first: u64,
    /// A description of it in words.
    pub example: String,
}

/// The counted diagnostics of a step. Merging in the order of the units gives the same result for any number of
/// threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    seen: BTreeMap<Kind, Seen>,
}

impl Diagnostics {
    /// Counts one case. `example` is called only for the first case.
    pub fn add(&mut self, kind: Kind, offset: u64, example: impl FnOnce() -> String) {
        self.seen.entry(kind).and_modify(|seen| seen.count += 1).or_insert_with(|| Seen {
            count: 1,
            first: offset,
            example: example(),
        });
    }

    /// Adds the counts of a later unit or step.
    pub fn merge(&mut self, later: Diagnostics) {
        for (kind, seen) in later.seen {
            self.seen.entry(kind).and_modify(|mine| mine.count += seen.count).or_insert(seen);
        }
    }

    /// The counts of skipped classes only.
    pub(crate) fn of_classes(mut self) -> Diagnostics {
        self.seen.retain(|kind, _| matches!(kind, Kind::SkippedClasses(_)));
        self
    }

    /// Every kind that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, &Seen)> {
        self.seen.iter().map(|(kind, seen)| (*kind, seen))
    }

    /// The limits that were reached.
    pub fn caps(&self) -> impl Iterator<Item = (Cap, &Seen)> {
        self.iter().filter_map(|(kind, seen)| match kind {
            Kind::Cap(cap) => Some((cap, seen)),
            _ => None,
        })
    }

    /// How often a kind occurred.
    pub fn count(&self, kind: Kind) -> u64 {
        self.seen.get(&kind).map_or(0, |seen| seen.count)
    }
}

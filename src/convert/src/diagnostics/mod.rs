//! Counts everything that was kept despite a problem, repaired or left out, so that nothing is lost without a line in
//! the report.

pub(crate) mod opening;

use std::collections::BTreeMap;

/// Declares an enum whose variants have a name in the report. The doc of a variant is its row in the table of kinds in
/// `schema/report.md`, and a test compares the two.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $variant:ident $(($inner:ident: $of:ty))? => $key:expr,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant $(($of))?,)*
        }

        impl $name {
            /// The name in the report.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant $(($inner))? => $key,)*
                }
            }
        }
    };
}

named! {
    /// A kind of problem.
    pub enum Kind {
        /// A unit whose header or root DIE cannot be read; reading continues at the next unit, by the unit's length.
        BadUnit => "bad_unit",
        /// A DIE tree that ends in damage: what came before it is kept.
        BadEntries => "bad_entries",
        /// A line program whose header cannot be read: its functions keep names and lose lines.
        BadLineHeader => "bad_line_header",
        /// A line program that ends in damage: what came before it is kept.
        BadLineProgram => "bad_line_program",
        /// A line program whose last sequence has no end: that sequence is left out.
        UnendedSequence => "unended_sequence",
        /// A line sequence whose rows were not in order of address: sorted.
        UnorderedSequence => "unordered_sequence",
        /// A limit of the conversion was reached: everything beyond it is not read, not compared or cut.
        Cap(cap: Cap) => cap.name(),
        /// A range list that cannot be read to its end: the ranges before the damage are kept.
        BadRanges => "bad_ranges",
        /// A `DW_AT_low_pc` that cannot be read, such as an index that the address table does not have.
        BadLowPc => "bad_low_pc",
        /// A range that ends outside the section in which it starts: cut.
        RangeLeavesSection => "range_leaves_section",
        /// A subprogram with a tombstone address that was found nowhere else: the linker removed it.
        DeadFunction => "dead_function",
        /// A subprogram with a tombstone address whose name a function in the program has: a copy that the linker discarded
        /// (COMDAT).
        CopyOfLive => "copy_of_live",
        /// A copy that the linker discarded (COMDAT), of a function that was folded into another.
        CopyOfFolded => "copy_of_folded",
        /// Functions of a unit that kept one address, with line sequences of which none is certainly theirs: they have no lines.
        AmbiguousLines => "ambiguous_lines",
        /// A line sequence that fits several folded functions at its address, or none: no function gets it.
        AmbiguousSequence => "ambiguous_sequence",
        /// A function that names another function's line sequence; it got its own.
        SwappedSequence => "swapped_sequence",
        /// A folded function that names the line sequence of a function at another address: it is searched for by its symbol and
        /// its lines.
        ForeignSequence => "foreign_sequence",
        /// A function whose `DW_AT_LLVM_stmt_sequence` is the start of no line sequence: it has the lines at its addresses.
        NoSequence => "no_sequence",
        /// A function that kept its address and names the line sequence of code elsewhere: it has the lines at its addresses.
        SequenceElsewhere => "sequence_elsewhere",
        /// A range with a tombstone address, of a function with other ranges.
        DeadRange => "dead_range",
        /// A subprogram with `DW_AT_low_pc` and no end.
        NoEnd => "no_end",
        /// A folded function whose address was recovered.
        FoldedFunction => "folded_function",
        /// A folded function of a Mach-O program that no DIE describes. Either the program was linked without `--keep-icf-stabs`,
        /// so that dsymutil dropped the DIE, or it was built without `-g`. Its name is kept.
        UndescribedFold => "undescribed_fold",
        /// A folded function whose inlined code has no proved place: it keeps only lines.
        LostInlines => "lost_inlines",
        /// A folded function that the linker folded into code that it had made shorter (RISC-V, LoongArch): it has lines up to the
        /// first instruction that may be shorter.
        ShortenedFold => "shortened_fold",
        /// A part of a call table (`.debug_dcall`, `.debug_vcall`) that cannot be read.
        BadCallTable => "bad_call_table",
        /// An entry of `.debug_vcall` with a slot number that is too large.
        BadCallSlot => "bad_call_slot",
        /// An entry of `.debug_dcall` whose callee is no function of its unit.
        BadCallee => "bad_callee",
        /// An entry of a call table whose call is not in code: of a folded or removed function, or damaged.
        DeadCall => "dead_call",
        /// A range of no bytes.
        EmptyRange => "empty_range",
        /// A reference to an offset where no unit is.
        BadReference => "bad_reference",
        /// A reference to a DIE that is not there, or whose unit cannot be read.
        MissingEntry => "missing_entry",
        /// A chain of origins longer than its cap, or a cycle.
        OriginCycle => "origin_cycle",
        /// A function or inlined subroutine without a name at the end of its chain.
        Nameless => "nameless",
        /// A file index that the line table does not have.
        BadFileIndex => "bad_file_index",
        /// A name that cannot be read: its string is outside of `.debug_str` or of `.debug_str_offsets`, or the section is missing.
        BadString => "bad_string",
        /// An inlined subroutine below the deepest level that is kept: its code counts as its ancestor's.
        TooDeep => "too_deep",
        /// A line of a Breakpad symbol file that cannot be read: left out.
        BadRecord => "bad_record",
        /// An INLINE record of a Breakpad symbol file that is more than one level below the record before it, or a range of one
        /// without code inside of its parent: left out.
        StrayInline => "stray_inline",
        /// A FUNC, line or STACK CFI INIT record of a Breakpad symbol file whose code an earlier one has: it keeps the rest of its
        /// code, if there is any.
        OverlappingRecord => "overlapping_record",
        /// A FUNC or PUBLIC record of a Breakpad symbol file with a name that its address has already: left out.
        RepeatedName => "repeated_name",
        /// A PUBLIC record of a Breakpad symbol file inside of a FUNC: it has no code there.
        HiddenPublic => "hidden_public",
        /// A STACK WIN record of a Breakpad symbol file: no `.fsym` has a place for it.
        StackWin => "stack_win",
        /// Rules of a STACK CFI record that DWARF cannot express: their registers are unknown there, or the code has no row.
        InexpressibleFrame => "inexpressible_frame",
        /// A unit that needs a `.dwo` that was not found: functions from symbols, no inlines.
        MissingDwo => "missing_dwo",
        /// A unit whose `.dwo` belongs to another build: treated as missing.
        DwoMismatch => "dwo_mismatch",
        /// A `.dwp` that cannot be used.
        BadPackage => "bad_package",
        /// A unit of which a `.dwp` has an entry that cannot be used.
        BadPackageUnit => "bad_package_unit",
        /// Two units of the program with one dwo id: each is matched to its file only by name.
        DuplicateDwoId => "duplicate_dwo_id",
        /// Two units of one `.dwo` with one dwo id: the first is read.
        DuplicateDwoUnit => "duplicate_dwo_unit",
        /// Two DIEs with one linkage name and range: the first is kept.
        DuplicateFunction => "duplicate_function",
        /// A range that overlaps another function's and is cut.
        OverlapCut => "overlap_cut",
        /// A range that other functions cover completely: it has no address of its own.
        HiddenFunction => "hidden_function",
        /// A symbol of size 0: it extends to the next symbol or the end of the section.
        SymbolWithoutSize => "symbol_without_size",
        /// A record of the basic-block address map with an unknown version or unknown features: it and the rest of its section are
        /// skipped.
        UnknownBlockMap => "unknown_block_map",
        /// A damaged record of the basic-block address map: it and the rest of its section are skipped.
        BadBlockMap => "bad_block_map",
        /// A record of the call graph (`.llvm.callgraph`) that is damaged or has an unknown version or unknown flags: it and the rest of its
        /// section are skipped.
        BadCallGraph => "bad_call_graph",
        /// A record of the call graph whose type of a function is not the one that the function's DIE gives: the types of the call
        /// graph are not used in this program.
        CallGraphTypes => "call_graph_types",
        /// A unit with too many entries for types: its folded functions have no types of the call graph.
        ManyTypes => "many_types",
        /// Basic blocks outside the executable sections: of a function that the linker removed, or damaged.
        DeadBlocks => "dead_blocks",
        /// Basic blocks of a function that overlap each other: the function's blocks are skipped.
        OverlappingBlocks => "overlapping_blocks",
        /// Basic blocks of a function that overlap the blocks of another: the blocks of this function are skipped.
        BlocksOverAnother => "blocks_over_another",
        /// A basic-block section that was folded into another function's: both functions get the blocks.
        FoldedBlocks => "folded_blocks",
        /// A folded basic-block section with different blocks in the two functions: the blocks of this function are left out.
        UnlikeBlocks => "unlike_blocks",
        /// A function whose map has no blocks (`-basic-block-address-map-skip-bb-entries`).
        OmittedBlocks => "omitted_blocks",
        /// Classes beyond a cap: an object of such a class does not show which of its methods ran.
        SkippedClasses(cap: ClassCap) => cap.name(),
        /// An expression with an unknown operation: it is kept as one without a value.
        OpaqueExpression => "opaque_expression",
        /// An expression or location list that cannot be read, or that refers to a missing entry.
        BadExpression => "bad_expression",
        /// An expression calls the expression of an entry in another unit (`DW_OP_call_ref`), which is not kept: an evaluation
        /// reports it as missing.
        ForeignProcedure => "foreign_procedure",
        /// An entry of call frame information that cannot be read: its code has no rows (with `--unwind`).
        BadFrame => "bad_frame",
        /// An entry of call frame information whose instructions cannot be executed: its code has one row without rules.
        BadFrameRows => "bad_frame_rows",
        /// A row of call frame information that the file cannot hold: a frame address in another address space, or a large offset.
        /// The row has no rules.
        UnheldFrame => "unheld_frame",
        /// An entry of call frame information outside the executable sections: of a function that the linker removed.
        DeadFrame => "dead_frame",
        /// An entry of call frame information for code that another entry covers: the first entry of a section is kept, and
        /// `.eh_frame` before `.debug_frame`.
        OverlappingFrames => "overlapping_frames",
        /// `--imports` has no effect: calls of other modules cannot be read for this format or processor.
        NoImports => "no_imports",
        /// `--imports` has no effect together with `--demangled`.
        ReadableImports => "readable_imports",
        /// Code that is not all instructions: its calls of other modules are not kept.
        UnreadImports => "unread_imports",
        /// What could not be read when a `.dwo` file or package was opened.
        Dwo(problem: DwoProblem) => problem.name(),
    }
}

named! {
    /// The cap that classes are beyond. Each cap keeps a first case of its own.
    pub enum ClassCap {
        /// Limit: entries in the classes of one unit. An object of a class beyond it does not show which of its methods ran.
        Members => "skipped_class_members",
        /// Limit: classes of one unit. An object of a class beyond it does not show which of its methods ran.
        Classes => "skipped_classes",
        /// Limit: bytes of the names in one unit. Beyond it no object of its classes shows which method ran.
        Names => "skipped_class_names",
        /// Limit: steps for all tables of virtual functions. An object with a table beyond it does not show which method ran.
        Tables => "skipped_class_tables",
        /// Limit: keys of all tables of virtual functions. An object with a table beyond it does not show which method ran.
        AllKeys => "skipped_class_all_keys",
        /// Limit: members of groups that are compared for words of tables of virtual functions. Beyond it a word may lead to any
        /// function, and fewer answers are `likely`.
        MemberSteps => "skipped_class_member_steps",
        /// Limit: keys of one table of virtual functions. An object with a table beyond it does not show which method ran.
        Keys => "skipped_class_keys",
        /// Limit: folded functions to which one word of all tables of virtual functions leads. Calls through a word beyond it do
        /// not show which function ran.
        SlotKeys => "skipped_class_slot_keys",
        /// Limit: words of the vtables of one class. If a class has more, its objects do not show which method ran.
        LongTables => "skipped_class_long_tables",
        /// Limit: vtables of one class. If a class has more, its objects do not show which method ran.
        Parts => "skipped_class_parts",
        /// Limit: classes that share one vtable. If more share it, an object with that vtable does not show which method ran.
        Sharing => "skipped_class_sharing",
        /// Limit: folded functions that the functions at one slot of all vtables reach by tail calls. If there are more, a call
        /// through that slot proves nothing, and fewer answers are `exact`.
        PassedOn => "skipped_class_passed_on",
        /// Limit: steps of following virtual calls whose static class is known. Of later calls the static class does not count, and
        /// fewer answers are `likely` or `exact`.
        CallTargets => "skipped_class_call_targets",
        /// Limit: subobjects of an object of one class, itself included. If there are more, fewer words of the class's vtables
        /// show which method they lead to, and fewer answers are `likely`.
        Subobjects => "skipped_class_subobjects",
        /// Limit: bases of a class, and their bases. An object of a class beyond it does not show which method ran.
        Ancestors => "skipped_class_ancestors",
        /// Limit: classes that only type information describes. An object of a class beyond it does not show which method ran.
        Types => "skipped_class_types",
        /// Limit: bases of classes that only type information describes. An object of a class beyond it does not show which method
        /// ran.
        Bases => "skipped_class_bases",
        /// Limit: levels of bases of a class that only type information describes. An object of a class with more does not show
        /// which method ran.
        BaseLevels => "skipped_class_base_levels",
        /// Limit: words of tables of virtual functions that are read to find type information. An object of a class beyond it does
        /// not show which method ran.
        TableWords => "skipped_class_table_words",
    }
}

named! {
    /// What could not be read when a `.dwo` file or package was opened. Each problem keeps a first case of its own.
    pub enum DwoProblem {
        /// A relocation of an unknown type in a `.dwo` or `.dwp`.
        UnknownRelocation => "dwo_unknown_relocation",
        /// A section of a `.dwo` or `.dwp` with such relocations: it is not read.
        UnrelocatedSection => "dwo_unrelocated_section",
        /// A relocation of a `.dwo` or `.dwp` outside its section or its symbol table: skipped.
        BadRelocation => "dwo_bad_relocation",
        /// A section of a `.dwo` or `.dwp` that is compressed by an unknown method: treated as absent.
        UnknownCompression => "dwo_unknown_compression",
        /// A section that extends past the end of its `.dwo` or `.dwp`: the bytes inside the file are used.
        TruncatedSection => "dwo_truncated_section",
        /// A section of a `.dwo` or `.dwp` whose name cannot be read: skipped.
        BadSectionName => "dwo_bad_section_name",
        /// Any other problem in opening a `.dwo` or `.dwp`.
        Other => "dwo_other",
    }
}

named! {
    /// A limit of the conversion: what it counts, and what the file lacks beyond it. Each limit keeps a first case of its
    /// own.
    pub enum Cap {
        /// Limit: members of all groups together, counted for each range of code. Beyond it a range names no function.
        FoldedRanges => "cap_folded_ranges",
        /// Limit: beginnings of a symbol with many dots (`f.a.b`) that are tried as the name of its function. Beyond it the
        /// function may not be found, and the symbol counts as a function of its own.
        AliasComparisons => "cap_alias_comparisons",
        /// Limit: functions at one address with similar names that are compared with a symbol. Beyond it the function may not be
        /// found, and the symbol counts as a function of its own.
        SimilarNames => "cap_similar_names",
        /// Limit: definitions of one name in one range. A further definition counts as the first one, and its lines are lost.
        Definitions => "cap_definitions",
        /// Limit: functions, and symbols, of one plain name at one address. Beyond it these functions keep their plain names, and
        /// each symbol counts as a further function.
        Overloads => "cap_overloads",
        /// Limit: bytes of one name. A longer name is cut.
        NameBytes => "cap_name_bytes",
        /// Limit: bytes of all names. Beyond it they are cut.
        NamesTogether => "cap_names_together",
        /// Limit: bytes of all paths. Beyond it they are cut.
        PathsTogether => "cap_paths_together",
        /// Limit: functions that may own one part of a function (`f.cold`). Beyond it an owner may be missing.
        PartOwners => "cap_part_owners",
        /// Limit: symbols at one part of a function (`f.cold`). Beyond it an owner may be missing.
        PartOwnerSymbols => "cap_part_owner_symbols",
        /// Limit: steps of matching functions that gcc may have replaced by a jump. Beyond it functions are added to groups without a
        /// comparison, so that more answers are `ambiguous`.
        MergedByGcc => "cap_merged_by_gcc",
        /// Limit: steps of matching functions that LLVM may have replaced by a jump. Beyond it functions are added to groups without a
        /// comparison, so that more answers are `ambiguous`.
        MergedByLlvm => "cap_merged_by_llvm",
        /// Limit: functions at one address with which a function that gcc merged is compared. At an address with more of them the
        /// merged function is missing.
        MergedTogether => "cap_merged_together",
        /// Limit: instances of one template in one unit with which a function that gcc merged is compared. The merged function is
        /// missing at the instances beyond it.
        MergedInstances => "cap_merged_instances",
        /// Limit: symbols where several ranges begin. Beyond it a symbol names only the first range.
        PartSymbols => "cap_part_symbols",
        /// Limit: comparisons of symbols with functions that have a part at their address. Beyond it a symbol names only the first
        /// range.
        PartComparisons => "cap_part_comparisons",
        /// Limit: comparisons of functions that share an entry with functions of a part. Beyond it the part does not name them.
        PartFunctions => "cap_part_functions",
        /// Limit: bytes of code of one symbol. Code beyond them has no function.
        SymbolBytes => "cap_symbol_bytes",
        /// Limit: steps of the search for sections that were folded. Beyond it a folded function may be missing.
        FoldedSections => "cap_folded_sections",
        /// Limit: units with code at one address with which a folded section is compared. Beyond it a folded function may be
        /// missing.
        FoldedSectionUnits => "cap_folded_section_units",
        /// Limit: folded functions of one name. Beyond it a folded function is missing.
        FoldedOfName => "cap_folded_of_name",
        /// Limit: folded functions of one unit and size that are compared with line sequences. Beyond it a folded function is missing.
        FoldedOfSize => "cap_folded_of_size",
        /// Limit: line sequences of one unit and size that are compared with folded functions. Beyond it a folded function is missing.
        SequencesOfSize => "cap_sequences_of_size",
        /// Limit: definitions of one name. Beyond it erased functions of that name count as discarded copies, and a folded function
        /// may be missing.
        FoldedDefinitions => "cap_folded_definitions",
        /// Limit: steps of the search for folded functions. Beyond it a folded function may be missing.
        FoldedSearch => "cap_folded_search",
        /// Limit: steps of the search for code inlined into folded functions. Beyond it inlined frames are missing.
        InlinedSearch => "cap_inlined_search",
        /// Limit: line numbers, which are below 2^32. A larger one becomes 0, which means unknown.
        LineNumbers => "cap_line_numbers",
        /// Limit: column numbers, which are at most 65535. A larger one becomes 0, which means unknown.
        ColumnNumbers => "cap_column_numbers",
        /// Limit: rows of one line program. Beyond it functions have no lines.
        LineRows => "cap_line_rows",
        /// Limit: readings of one `.dwo` for several units. Beyond it a unit is read without its `.dwo`.
        DwoReads => "cap_dwo_reads",
        /// Limit: rows of call frame information, and instructions of common entries. Beyond it code has no rows.
        FrameRows => "cap_frame_rows",
        /// Limit: bytes of one range of code. Code beyond them has no function.
        RangeBytes => "cap_range_bytes",
        /// Limit: entries of the range lists of one unit. Beyond it functions have no code.
        RangeEntries => "cap_range_entries",
        /// Limit: comparisons of the functions of a unit with its line sequences. Beyond it functions have no lines.
        SequenceComparisons => "cap_sequence_comparisons",
        /// Limit: functions of one unit at one address. Beyond it functions have no lines.
        FunctionsTogether => "cap_functions_together",
        /// Limit: line sequences of one unit at one address. Beyond it functions have no lines.
        SequencesTogether => "cap_sequences_together",
        /// Limit: names at one address of code that no DIE describes. Beyond it the functions there have no lines.
        UndescribedNames => "cap_undescribed_names",
        /// Limit: line sequences at one address of code that no DIE describes. Beyond it the functions there have no lines.
        UndescribedLines => "cap_undescribed_lines",
        /// Limit: expressions and entries of location lists in one unit. Locations beyond it are left out.
        LocationEntries => "cap_location_entries",
        /// Limit: bytes of the expressions of one unit. Locations beyond it are left out.
        ExpressionBytes => "cap_expression_bytes",
        /// Limit: bytes of one expression. A location with a longer one is left out.
        LongExpression => "cap_long_expression",
        /// Limit: entries and addresses to which the expressions of one unit refer. An expression that needs one beyond it has no value.
        ExpressionReferences => "cap_expression_references",
        /// Limit: rows that functions of one unit share. Beyond it functions have no lines.
        SharedRows => "cap_shared_rows",
        /// Limit: steps to find the rows of functions of one unit that share ranges. Beyond it functions have no lines.
        RowSteps => "cap_row_steps",
        /// Limit: attributes of one entry. The rest of its unit is not read.
        Attributes => "cap_attributes",
        /// Limit: files of one unit. Beyond it the file is unknown.
        Files => "cap_files",
        /// Limit: bytes of the paths of one unit. Beyond it the file is unknown.
        PathBytes => "cap_path_bytes",
        /// Limit: bytes of a path in the root of a unit, which is the unit's name or its folder. A longer one is cut.
        RootPathBytes => "cap_root_path_bytes",
        /// Limit: bytes of `DW_AT_producer`, which names the compiler and its options. If a text reaches the limit and is not
        /// gcc's, the compiler counts as one that merges functions, and fewer answers are certain.
        ProducerBytes => "cap_producer_bytes",
        /// Limit: bytes of the names of one unit. Beyond it a function has no name.
        UnitNames => "cap_unit_names",
        /// Limit: bytes of line programs that several units name. Beyond it a unit has no lines.
        LinePrograms => "cap_line_programs",
        /// Limit: steps of matching calls with folded functions, and comparisons of the names of folded functions. Beyond it answers
        /// stay `ambiguous`.
        CallMatching => "cap_call_matching",
        /// Limit: steps for the types of calls through pointers. Beyond it such calls show no types, and fewer answers are `likely`.
        PointerCalls => "cap_pointer_calls",
        /// Limit: bytes of one function that are searched for calls through vtables. For later calls the slot is not known, and
        /// folded functions that they call may stay `ambiguous`.
        SlotCode => "cap_slot_code",
        /// Limit: different targets of the forward jumps across one instruction. Beyond it the slots of the function's calls
        /// through vtables are not known, and folded functions that they call may stay `ambiguous`.
        SlotJumps => "cap_slot_jumps",
        /// Limit: functions that one function reaches by tail calls. A function that reaches more counts as reaching any, so that
        /// calls of it rule out no function of a group.
        TailFunctions => "cap_tail_functions",
        /// Limit: steps of following the tail calls of one function. Beyond it the function counts as reaching any.
        TailSteps => "cap_tail_steps",
    }
}

impl Kind {
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
    // Sorted, so that the report and the record list the kinds in one order.
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
            // The first case of a kind stays that of the earliest unit.
            self.seen.entry(kind).and_modify(|mine| mine.count += seen.count).or_insert(seen);
        }
    }

    /// The counts of skipped classes only.
    pub(crate) fn of_classes(mut self) -> Diagnostics {
        self.seen.retain(|kind, _| matches!(kind, Kind::SkippedClasses(_)));
        self
    }

    /// Those of reading types.
    pub(crate) fn of_types(mut self) -> Diagnostics {
        self.seen.retain(|kind, _| matches!(kind, Kind::ManyTypes));
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

#[cfg(test)]
mod tests {
    /// The texts of the variants with a name, by that name.
    fn documented() -> Vec<(String, String)> {
        let (mut rows, mut text) = (Vec::new(), Vec::new());
        for line in include_str!("mod.rs").lines().map(str::trim) {
            if let Some(doc) = line.strip_prefix("/// ") {
                text.push(doc);
            } else if let Some((_, name)) = line.split_once(" => \"") {
                let name = name.trim_end_matches("\",");
                rows.push((name.to_owned(), text.join(" ").trim_end_matches('.').to_owned()));
                text.clear();
            } else {
                text.clear();
            }
        }
        rows
    }

    #[test]
    fn the_table_of_kinds_has_the_docs_of_the_variants() {
        let report = include_str!("../../../../schema/report.md");
        let (_, table) = report.rsplit_once("| kind | what |\n|---|---|\n").expect("a table of kinds");
        let mut rows = table.lines();
        for (name, text) in documented() {
            assert_eq!(
                rows.next(),
                Some(&*format!("| `{name}` | {text} |")),
                "the next row of schema/report.md"
            );
        }
        assert_eq!(rows.next(), None, "a row of schema/report.md that no kind has");
    }
}

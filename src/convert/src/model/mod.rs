//! What was read of a program: functions, inline trees, line rows, names; plain data without logic.
//!
//! `read` fills one [`Unit`] for each compile unit, with ids local to the unit, so that units can be
//! read in parallel and in any order. `resolve` gives names, files, origins and call edges their ids in
//! the whole program ([`UnitMap`]) and decides which pieces of code exist ([`Program`]).

use std::borrow::Cow;

mod blocks;
mod bytes;
mod calls;
mod classes;
mod codeless;
mod instance;
mod locations;
mod name;

pub(crate) use crate::model::classes::UnitClasses;
pub use blocks::{Block, BlockCounts, BlockMap, BlockRange, SharedBlock};
pub use calls::{CalleePlace, Calls, UnitCall, UnitCallee};
pub use classes::{ClassPlaces, Described, SlotKey, UnitBase, UnitClass, UnitMethod, UnitVtable, VtableKey};
pub use codeless::Codeless;
pub use foldsym_format::Reason;
pub use instance::Instance;
pub use locations::{
    Located, LocatedValue, LocationEntry, LocationKind, LocationList, LocationReference, OPAQUE,
    UnitLocations,
};
pub use name::UnitName;

/// Marks the absence of an id in a packed field.
pub const NONE16: u16 = u16::MAX;

/// The longest piece of code, in bytes: offsets in it fit 31 bits. What is longer is cut, and counted.
pub const MAX_PIECE: u64 = (u32::MAX >> 1) as u64;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into the table that it numbers.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A name in [`Program::names`].
    NameId;
    /// A source file in [`Program::files`].
    FileId;
    /// An origin in [`Program::origins`].
    OriginId;
    /// A call edge in [`Program::edges`].
    EdgeId;
    /// A function in [`Program::functions`].
    FuncId;
    /// A group of folded functions in [`Program::groups`].
    GroupId;
    /// A unit in [`Program::units`], in the order of the file.
    UnitId;
    /// An origin in [`Unit::origins`].
    LocalOrigin;
    /// A call edge in [`Unit::edges`].
    LocalEdge;
    /// A callee in [`Unit::callees`].
    LocalCallee;
    /// A function in [`Unit::functions`].
    LocalFunc;
}

/// A link-time virtual address, as the image's section headers give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageAddr(pub u64);

/// Offset of a debugging information entry in its `.debug_info` (or `.debug_info.dwo`, `.debug_types`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DieOffset(pub u64);

/// The source identity of a subprogram, whether it was compiled on its own or inlined
/// (`DW_AT_linkage_name` or `DW_AT_name`, `DW_AT_decl_file`, `DW_AT_decl_line`; DWARF 5 2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The linkage name, else the plain name, else empty.
    pub name: NameId,
    /// `DW_AT_decl_file`; `None` where the DIE has none.
    pub file: Option<FileId>,
    /// `DW_AT_decl_line`, from 1; 0 where unknown.
    pub line: u32,
}

/// An inlined call as the source has it: this callee, inlined into that caller, at this line
/// (DWARF 5 3.3.8.2). Every inlined subroutine of that call, wherever it was compiled, shares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    pub caller: OriginId,
    pub callee: OriginId,
    /// `DW_AT_call_file`.
    pub file: Option<FileId>,
    /// `DW_AT_call_line`; 0 where unknown.
    pub line: u32,
    /// `DW_AT_call_column`; 0 where unknown or columns are not kept.
    pub column: u16,
}

/// A node of a function's inline tree. Node 0 is the function itself and is not stored; the scopes of a
/// function are its nodes 1, 2, ... in the order of their DIEs, so that a parent precedes its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Node number of the parent: less than this node's own.
    pub parent: u32,
    pub edge: LocalEdge,
}

/// An inlined subroutine of a function that was folded: the linker erased its address with the function's. A node
/// of its inline tree as [`Scope`] is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostScope {
    pub parent: u32,
    pub edge: LocalEdge,
    /// Bytes of its only range; 0 where `ranges` has them.
    pub len: u32,
    /// Index range into [`Unit::lost_ranges`]: what a range list still says of it.
    pub ranges: std::ops::Range<u32>,
}

/// From `offset` on (up to the next row of the piece), code belongs to this scope, file and line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Bytes from the start of the piece. The first row of a piece has 0; offsets increase strictly.
    pub offset: u32,
    /// Node of the function's inline tree.
    pub scope: u32,
    /// Line, from 1; 0 where the compiler gave none.
    pub line: u32,
    /// Index into [`Unit::files`]; [`NONE16`] where no row of the line table covers the address.
    pub file: u16,
    /// Column, from 1; 0 where unknown or columns are not kept.
    pub column: u16,
}

/// Rows `start..start + len` of the unit's [`Unit::rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RowRange {
    pub start: u32,
    pub len: u32,
}

/// One contiguous range of a function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitPiece {
    pub start: ImageAddr,
    /// Bytes that belong to the function; more than 0.
    pub len: u32,
    /// How its address became known: not always as that of the function's entry.
    pub how: How,
    pub rows: RowRange,
}

/// An origin with ids local to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnitOrigin {
    /// Index into [`Unit::names`].
    pub name: u32,
    /// Index into [`Unit::files`], or [`NONE16`].
    pub file: u16,
    pub line: u32,
}

/// A call edge with ids local to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnitEdge {
    pub caller: LocalOrigin,
    pub callee: LocalOrigin,
    pub line: u32,
    /// Index into [`Unit::files`], or [`NONE16`].
    pub file: u16,
    pub column: u16,
}

/// How the address of a function became known. The order is that of the evidence: what comes first
/// is trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum How {
    /// The DIE has a live address.
    LiveRange = 0,
    /// Tombstoned; its `DW_AT_LLVM_stmt_sequence` starts at a live address.
    StmtSequence = 1,
    /// Tombstoned; a relocation kept by the linker holds the address.
    Relocation = 2,
    /// Tombstoned; the symbol table has its linkage name there.
    Symbol = 3,
    /// Tombstoned; an unclaimed line sequence of its unit fits it alone.
    LineSequence = 4,
    /// Merged by the compiler; a call site names it.
    CallSite = 5,
    /// A symbol without a DIE.
    SymbolOnly = 6,
}

impl How {
    /// All of them, in their order.
    pub const ALL: [How; 7] = [
        How::LiveRange,
        How::StmtSequence,
        How::Relocation,
        How::Symbol,
        How::LineSequence,
        How::CallSite,
        How::SymbolOnly,
    ];

    /// The word for it in the report and in answers.
    pub const fn text(self) -> &'static str {
        match self {
            How::LiveRange => "live_range",
            How::StmtSequence => "stmt_sequence",
            How::Relocation => "relocation",
            How::Symbol => "symbol",
            How::LineSequence => "line_sequence",
            How::CallSite => "call_site",
            How::SymbolOnly => "symbol_only",
        }
    }
}

/// A subprogram with code, of one unit.
#[derive(Clone, Debug)]
pub struct UnitFunction {
    pub die: DieOffset,
    pub origin: LocalOrigin,
    pub instance: Instance,
    pub how: How,
    /// Other units mean the same function by its name (`DW_AT_external`).
    pub external: bool,
    /// Index range into [`Unit::pieces`]; the entry piece (`DW_AT_low_pc`, else the first range) first.
    pub pieces: std::ops::Range<u32>,
    /// Index range into [`Unit::scopes`].
    pub scopes: std::ops::Range<u32>,
    pub lost: Lost,
    pub calls: Calls,
}

/// What is inlined into a function whose address the linker erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Index range into [`Unit::lost`].
    pub scopes: std::ops::Range<u32>,
    /// Something is inlined into it of which not even a length is left: `scopes` is empty.
    pub beyond: bool,
}

impl Lost {
    /// True where anything is inlined.
    pub fn any(&self) -> bool {
        self.beyond || !self.scopes.is_empty()
    }
}

/// A subprogram, or one range of it, whose address the linker erased, for `resolve` to find again.
#[derive(Clone, Debug)]
pub struct UnitErased {
    pub die: DieOffset,
    pub origin: LocalOrigin,
    pub instance: Instance,
    /// Bytes of code (`DW_AT_high_pc` as an offset survives); 0 where they are gone as well.
    pub size: u64,
    /// A range of the function behind its first (`foo.cold`).
    pub part: bool,
    pub external: bool,
    /// Its own line sequence is dead as well: it was not folded.
    pub removed: bool,
    pub lost: Lost,
    pub calls: Calls,
}

/// Code that the unit's line table covers and no function of the unit claims (assembly without DIEs).
#[derive(Clone, Copy, Debug)]
pub struct BareLines {
    pub start: ImageAddr,
    pub len: u32,
    /// Rows of scope 0.
    pub rows: RowRange,
    /// The first row began before `start`: the line table has no row of its own here.
    pub continues: bool,
    /// A sequence that no function has, and that may be of one which got none: it shows that another function is there,
    /// and has no rows.
    pub in_doubt: bool,
}

/// Units that a compiler may merge functions of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Together {
    /// Those of one object: LLVM gives them one table of abbreviations, at this offset (rustc, Swift).
    Object(u64),
    /// All that were compiled when the program was linked (gcc's `-flto`).
    Program,
}

/// What was read of one compile unit.
#[derive(Default)]
pub struct Unit<'f> {
    /// Offset of the unit's header in `.debug_info`.
    pub offset: u64,
    /// Bytes of memory that the unit had taken when the reader stopped in its middle, as they were more than the whole program may
    /// take. The program is refused.
    pub stopped_at: Option<u64>,
    /// The last component of `DW_AT_name`, which is the path of the source file; its last 255 bytes.
    pub file_name: Cow<'f, [u8]>,
    /// The compiler merges functions itself and keeps who was called (gcc's ipa-icf).
    pub keeps_callees: bool,
    /// The compiler merges functions by itself, and calls of those that it removed are calls of what it put in their places,
    /// in what it records too: with which other units it may do so.
    pub rewrites: Option<Together>,
    /// The compiler merges no functions (Go's).
    pub merges_nothing: bool,
    /// The unit is of assembly code (`DW_LANG_Mips_Assembler`).
    pub assembly: bool,
    pub names: Vec<UnitName<'f>>,
    /// Bytes of strings that no unit before had: its own, and those of its file, if that has it alone.
    pub strings: u64,
    /// Bytes of the file that was opened for this unit alone (a `.dwo`), as the budget counts them; else 0.
    pub brings: u64,
    /// Full paths, spelled as `llvm-symbolizer` spells them.
    pub files: Vec<Vec<u8>>,
    pub origins: Vec<UnitOrigin>,
    pub edges: Vec<UnitEdge>,
    pub scopes: Vec<Scope>,
    pub lost: Vec<LostScope>,
    /// Start and end of ranges of [`Unit::lost`], in bytes from the start of the function.
    pub lost_ranges: Vec<(u32, u32)>,
    pub rows: Vec<Row>,
    pub pieces: Vec<UnitPiece>,
    pub functions: Vec<UnitFunction>,
    pub calls: Vec<UnitCall>,
    /// Calls of any functions that a table lists (`.debug_dcall`).
    pub listed: Vec<UnitCall>,
    pub callees: Vec<UnitCallee>,
    pub erased: Vec<UnitErased>,
    /// Functions that are described and have no code: the compiler put others of the same code in their places
    /// (gcc's ipa-icf), or describes their code in another unit (LTO).
    pub codeless: Vec<Codeless>,
    pub bare: Vec<BareLines>,
    /// Sequences of the line table that no function of the unit claims, where it has functions that were
    /// erased, or that begin with one of its functions; by start, then in the order of the line program.
    pub unclaimed: Vec<BareLines>,
    /// What a second look at the unit reads.
    pub class_places: ClassPlaces,
    /// What such a look gives, where it was taken with the first: `class_places` is empty then.
    pub described: Option<Box<Described<'f>>>,
    /// Only of that: classes that have a table of virtual functions, and what they derive from.
    pub classes: Vec<UnitClass>,
    /// Only of that.
    pub vtables: Vec<UnitVtable>,
    /// True where the unit's `.dwo` is missing: its functions come from symbols, inlines are unknown.
    pub partial: bool,
    /// `None` where no function has any.
    pub locations: Option<Box<UnitLocations>>,
}

impl Unit<'_> {
    /// Leaves of a unit what its functions' records are made from, and what keys are found with.
    pub(crate) fn forget_what_is_resolved(&mut self) {
        self.lost = Vec::new();
        self.lost_ranges = Vec::new();
        self.bare = Vec::new();
        self.unclaimed = Vec::new();
    }

    /// Leaves of a unit what its functions' records are made from: rows, inlined calls and expressions.
    pub(crate) fn forget_what_keys_are_of(&mut self) {
        self.calls = Vec::new();
        self.listed = Vec::new();
        self.callees = Vec::new();
        self.erased = Vec::new();
        self.codeless = Vec::new();
        self.class_places = ClassPlaces::default();
        self.described = None;
    }

    /// The same unit with the same names in memory that lives otherwise.
    pub(crate) fn with_names<'n>(self, names: Vec<UnitName<'n>>) -> Unit<'n> {
        Unit {
            offset: self.offset,
            stopped_at: self.stopped_at,
            file_name: Cow::Owned(self.file_name.into_owned()),
            keeps_callees: self.keeps_callees,
            rewrites: self.rewrites,
            merges_nothing: self.merges_nothing,
            assembly: self.assembly,
            names,
            strings: self.strings,
            brings: self.brings,
            files: self.files,
            origins: self.origins,
            edges: self.edges,
            scopes: self.scopes,
            lost: self.lost,
            lost_ranges: self.lost_ranges,
            rows: self.rows,
            pieces: self.pieces,
            functions: self.functions,
            calls: self.calls,
            listed: self.listed,
            callees: self.callees,
            erased: self.erased,
            codeless: self.codeless,
            bare: self.bare,
            unclaimed: self.unclaimed,
            class_places: self.class_places,
            // Of no unit whose names live otherwise.
            described: None,
            classes: self.classes,
            vtables: self.vtables,
            partial: self.partial,
            locations: self.locations,
        }
    }
}

/// Ids of a unit's names, files, origins and edges in the whole program; indexed by the local id.
#[derive(Default)]
pub struct UnitMap {
    pub files: Vec<FileId>,
    pub origins: Vec<OriginId>,
    pub edges: Vec<EdgeId>,
}

/// Where a function's inline tree and rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    pub unit: UnitId,
    pub function: LocalFunc,
}

/// A function of the program: one DIE, or a name without one.
#[derive(Clone, Debug)]
pub struct Function {
    pub origin: OriginId,
    /// The `FUNC` symbol that starts its entry piece, where that differs from the origin's name.
    pub symbol: Option<NameId>,
    /// Other names of the same function, sorted by bytes.
    pub aliases: Vec<NameId>,
    /// `None` for a function known by its symbol alone.
    pub source: Option<Source>,
    pub how: How,
    pub partial: bool,
    /// Where its code has no group: why it is not certain that it is the only function there.
    pub reason: Option<Reason>,
}

/// Where rows are: a range of one unit's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    pub unit: UnitId,
    pub range: RowRange,
    /// Bytes from the address that row offsets count from to the start of the piece: more than 0 where
    /// the piece begins inside what the rows describe.
    pub skip: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Function(FuncId),
    Group(GroupId),
}

/// A contiguous range of code with one owner. Pieces of a [`Program`] are sorted and disjoint.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub start: ImageAddr,
    /// Bytes that belong to the owner; more than 0 unless only padding is left.
    pub body: u32,
    /// Bytes after the body with a file and line and no name.
    pub pad: u32,
    pub owner: Owner,
    /// Rows of the function; `None` where no line table covers it. A group's rows are its members'.
    pub rows: Option<Rows>,
    /// Where an overlap was cut: bytes from the true start of the function's range to `start`.
    pub skip: u32,
    /// The `FUNC` symbol that starts this piece (`foo.cold`), where it differs from the function's own name.
    pub symbol: Option<NameId>,
}

/// One of the functions that share a piece.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub function: FuncId,
    pub how: How,
    pub rows: Option<Rows>,
    /// As [`Piece::symbol`].
    pub symbol: Option<NameId>,
}

/// Pieces of two or more different functions with one range. The live DIE with the lowest offset comes
/// first, then linkage names by bytes.
#[derive(Clone, Debug, Default)]
pub struct Group {
    pub members: Vec<Member>,
}

/// Whom a call calls, by the address that it returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    pub return_addr: ImageAddr,
    /// Where the calling code is folded and its functions do not all call the same: whose call this is.
    pub caller: Option<FuncId>,
    pub callee: FuncId,
    pub how: CallHow,
}

/// What says whom a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CallHow {
    /// A `DW_TAG_call_site`.
    CallSite = 0,
    /// A relocation that the linker kept names the callee's symbol.
    Relocation = 1,
    /// A call site, of a callee that the compiler may have put in the place of one that it merged with it.
    Doubtful = 2,
    /// A relocation, of such a callee.
    DoubtfulRelocation = 3,
}

/// What a function reaches by tail calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TailKey {
    pub function: FuncId,
    /// A function of a group; `None`: also ones that are not known.
    pub target: Option<FuncId>,
}

/// The whole program, decided: what `encode` writes.
#[derive(Default)]
pub struct Program<'f> {
    /// Unique, in no order.
    pub names: Vec<Cow<'f, [u8]>>,
    /// Unique, in no order.
    pub files: Vec<Vec<u8>>,
    pub origins: Vec<Origin>,
    pub edges: Vec<Edge>,
    pub units: Vec<Unit<'f>>,
    /// One for each unit.
    pub maps: Vec<UnitMap>,
    pub functions: Vec<Function>,
    pub pieces: Vec<Piece>,
    pub groups: Vec<Group>,
    /// What a table lists of calls through slots (`.debug_vcall`), for `resolve` to make [`Keys::slots`] of.
    pub listed_slots: Vec<SlotKey>,
    pub blocks: BlockMap,
    pub inlines: InlineCounts,
}

impl Program<'_> {
    /// The name of a function: its symbol's, else that of its entry.
    pub fn name_of(&self, function: &Function) -> NameId {
        function.symbol.unwrap_or(self.origins[function.origin.index()].name)
    }
}

/// What tells which of the functions that share code ran.
#[derive(Default)]
pub struct Keys {
    /// Sorted, no two of one address and caller.
    pub calls: Vec<CallKey>,
    /// Sorted, distinct.
    pub tails: Vec<TailKey>,
    /// Sorted, one an address.
    pub slots: Vec<SlotKey>,
    /// Sorted, distinct.
    pub vtables: Vec<VtableKey>,
    /// Return addresses of calls whose callee the compiler did not know, by function; only where a file is to say where
    /// objects are.
    pub unknown_calls: Vec<(FuncId, Vec<ImageAddr>)>,
    pub counts: CallCounts,
}

/// How many functions whose addresses the linker erased were given what is inlined into them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlineCounts {
    /// There is only one way to lay it over their lines.
    pub by_rows: u64,
    /// A function of the same code and source has it.
    pub by_twin: u64,
    /// Nothing is proved: lines alone.
    pub lost: u64,
}

/// How many calls lead into folded code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls whose callee shares its code, as the compiler described them.
    pub into_groups: u64,
    /// Those of them that have a key.
    pub keyed: u64,
}

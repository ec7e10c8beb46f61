//! What `read` finds in one compile unit, with ids that are local to the unit.

use std::borrow::Cow;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::calls::{Calls, UnitCall, UnitCallee};
use super::classes::{ClassPlaces, ClassUnit};
use super::codeless::Codeless;
use super::ids::{DieOffset, How, ImageAddr, LocalEdge, LocalOrigin};
use super::instance::Instance;
use super::locations::UnitLocations;
use super::name::UnitName;
use crate::util::spill::SpillVec;

/// A node of a function's inline tree. Node 0 is the function itself and is not stored; the scopes of a
/// function are its nodes 1, 2, ... in the order of their DIEs, so that a parent precedes its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
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
    /// Index range into [`UnitTraces::lost_ranges`]: what a range list still says of it.
    pub ranges: std::ops::Range<u32>,
}

/// From `offset` on (up to the next row of the piece), code belongs to this scope, file and line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Row {
    /// Bytes from the start of the piece. The first row of a piece has 0; offsets increase strictly.
    pub offset: u32,
    /// Node of the function's inline tree.
    pub scope: u32,
    /// Line, from 1; 0 where the compiler gave none.
    pub line: u32,
    /// Index into [`LocalTables::files`]; [`NONE16`](crate::model::NONE16) where no row of the line table covers the address.
    pub file: u16,
    /// Column, from 1; 0 where unknown or columns are not kept.
    pub column: u16,
}

/// Rows `start..start + len` of the unit's [`UnitCode::rows`].
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
    /// Index into [`LocalTables::names`].
    pub name: u32,
    /// Index into [`LocalTables::files`], or [`NONE16`](crate::model::NONE16).
    pub file: u16,
    pub line: u32,
}

/// A call edge with ids local to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnitEdge {
    pub caller: LocalOrigin,
    pub callee: LocalOrigin,
    pub line: u32,
    /// Index into [`LocalTables::files`], or [`NONE16`](crate::model::NONE16).
    pub file: u16,
    pub column: u16,
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
    /// Index range into [`UnitCode::pieces`]; the entry piece (`DW_AT_low_pc`, else the first range) first.
    pub pieces: std::ops::Range<u32>,
    /// Index range into [`UnitCode::scopes`].
    pub scopes: std::ops::Range<u32>,
    pub lost: Lost,
    pub calls: Calls,
}

/// What is inlined into a function whose address the linker erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Index range into [`UnitTraces::lost`].
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

/// A subprogram, or one range of it, whose address the linker erased, for `recover` to find again.
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

/// What was read of one compile unit: five parts, by how long each is needed.
#[derive(Default)]
pub struct Unit<'f> {
    /// Bytes of memory that the unit had taken when the reader stopped in its middle, as they were more than the whole program may
    /// take. The program is refused.
    pub stopped_at: Option<u64>,
    pub head: UnitHead<'f>,
    pub tables: LocalTables<'f>,
    pub code: UnitCode<'static>,
    pub traces: UnitTraces,
    pub records: UnitRecords<'f>,
}

/// What a unit is. Every step asks it.
#[derive(Default)]
pub struct UnitHead<'f> {
    /// Offset of the unit's header in `.debug_info`.
    pub offset: u64,
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
    /// True where the unit's `.dwo` is missing: its functions come from symbols, inlines are unknown.
    pub partial: bool,
}

impl UnitHead<'_> {
    /// True where the compiler may merge functions and is not known to say who was called.
    pub(crate) fn may_merge(&self) -> bool {
        !self.keeps_callees && !self.assembly && !self.merges_nothing
    }

    /// The same in memory of its own.
    fn into_owned<'n>(self) -> UnitHead<'n> {
        UnitHead {
            offset: self.offset,
            file_name: Cow::Owned(self.file_name.into_owned()),
            keeps_callees: self.keeps_callees,
            rewrites: self.rewrites,
            merges_nothing: self.merges_nothing,
            assembly: self.assembly,
            partial: self.partial,
        }
    }
}

/// What the ids of a unit count in. `merge` gives each entry its id in the whole program, and keeps a [`UnitMap`] instead.
///
/// [`UnitMap`]: super::UnitMap
#[derive(Default)]
pub struct LocalTables<'f> {
    pub names: Vec<UnitName<'f>>,
    /// Bytes of strings that no unit before had: its own, and those of its file, if that has it alone.
    pub strings: u64,
    /// Bytes of the file that was opened for this unit alone (a `.dwo`), as the budget counts them; else 0.
    pub brings: u64,
    /// Full paths, spelled as `llvm-symbolizer` spells them.
    pub files: Vec<Vec<u8>>,
    pub origins: Vec<UnitOrigin>,
    pub edges: Vec<UnitEdge>,
}

/// The functions of a unit, what is inlined into them, and their lines: what the file is made from.
///
/// Scopes and rows are most of what is known of a large program: `merge` moves them to a scratch file there.
#[derive(Default)]
pub struct UnitCode<'f> {
    pub scopes: SpillVec<'f, Scope>,
    pub rows: SpillVec<'f, Row>,
    pub pieces: Vec<UnitPiece>,
    pub functions: Vec<UnitFunction>,
    /// `None` where no function has any.
    pub locations: Option<Box<UnitLocations>>,
}

impl UnitCode<'_> {
    /// The rows of a range.
    pub fn rows_of(&self, range: RowRange) -> &[Row] {
        let start = range.start as usize;
        &self.rows[start..start + range.len as usize]
    }

    /// The scopes of a function: the nodes of its inline tree from 1 on.
    pub fn scopes_of(&self, function: &UnitFunction) -> &[Scope] {
        &self.scopes[function.scopes.start as usize..function.scopes.end as usize]
    }
}

/// What a linker that folds leaves of the functions that it folded. Nobody asks it once functions are placed.
#[derive(Default)]
pub struct UnitTraces {
    pub bare: Vec<BareLines>,
    /// Sequences of the line table that no function of the unit claims, where it has functions that were
    /// erased, or that begin with one of its functions; by start, then in the order of the line program.
    pub unclaimed: Vec<BareLines>,
    pub lost: Vec<LostScope>,
    /// Start and end of ranges of [`UnitTraces::lost`], in bytes from the start of the function.
    pub lost_ranges: Vec<(u32, u32)>,
}

/// What a unit records of calls, of functions without code, and of classes. Nobody asks it once keys are found.
#[derive(Default)]
pub struct UnitRecords<'f> {
    pub calls: Vec<UnitCall>,
    /// Calls of any functions that a table lists (`.debug_dcall`).
    pub listed: Vec<UnitCall>,
    pub callees: Vec<UnitCallee>,
    pub erased: Vec<UnitErased>,
    /// Functions that are described and have no code: the compiler put others of the same code in their places
    /// (gcc's ipa-icf), or describes their code in another unit (LTO).
    pub codeless: Vec<Codeless>,
    /// What a second look at the unit reads.
    pub class_places: ClassPlaces,
    /// What such a look gives: alone, or, where it was taken with the first, in place of `class_places`.
    pub described: Option<Box<ClassUnit<'f>>>,
}

impl Unit<'_> {
    /// The same unit with the same names in memory that lives otherwise: `keep` moves them.
    pub(crate) fn with_names<'n>(self, keep: impl Fn(&[UnitName<'_>]) -> Vec<UnitName<'n>>) -> Unit<'n> {
        let LocalTables { names, strings, brings, files, origins, edges } = self.tables;
        let UnitRecords { calls, listed, callees, erased, codeless, class_places, described } = self.records;
        let described = described.map(|unit| {
            let ClassUnit { offset, names, classes, vtables, skipped } = *unit;
            Box::new(ClassUnit { offset, names: keep(&names), classes, vtables, skipped })
        });
        let names = keep(&names);
        Unit {
            stopped_at: self.stopped_at,
            head: self.head.into_owned(),
            tables: LocalTables { names, strings, brings, files, origins, edges },
            code: self.code,
            traces: self.traces,
            records: UnitRecords { calls, listed, callees, erased, codeless, class_places, described },
        }
    }
}

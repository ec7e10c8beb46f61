//! What `read` finds in one compile unit, with ids that are local to the unit.

use std::borrow::Cow;

use super::call_graph::UnitTypes;
use super::calls::{Calls, UnitCall, UnitCallee};
use super::classes::{ClassPlaces, ClassUnit};
use super::codeless::Codeless;
use super::ids::{DieOffset, How, ImageAddr, LocalEdge, LocalOrigin};
use super::instance::Instance;
use super::locations::UnitLocations;
use super::name::UnitName;
use super::range::AddressRange;
use super::sequence_uses::SequenceUses;
use crate::util::spill::SpillVec;

/// A node of a function's inline tree. Node 0 is the function itself and is not stored; the scopes of a
/// function are its nodes 1, 2, ... in the order of their DIEs, so that a parent precedes its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Node number of the parent: less than this node's own.
    pub parent: u32,
    pub edge: LocalEdge,
}

/// Half-open range of a function's code, in bytes from the start of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OffsetRange {
    pub start: u32,
    pub end: u32,
}

/// An inlined subroutine of a folded function, whose address the linker erased with the function's. It is a node of
/// the function's inline tree, as [`Scope`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostScope {
    pub parent: u32,
    pub edge: LocalEdge,
    /// Bytes of its only range; 0 where `ranges` has them.
    pub len: u32,
    /// Index range into [`UnitTraces::lost_ranges`]: the ranges that its range list still has.
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
    /// Index into `LocalTables::files`; [`NONE16`](crate::model::NONE16) where no row of the line table covers the address.
    pub file: u16,
    /// Column, from 1; 0 where unknown or columns are not kept.
    pub column: u16,
}

/// Rows `start..start + len` of the unit's [`UnitCode::rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
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
    /// The evidence for its address, which may differ from the evidence for the function's entry.
    pub how: How,
    pub rows: RowRange,
}

/// An origin with ids local to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnitOrigin {
    /// Index into [`LocalTables::names`].
    pub name: u32,
    /// Index into [`LocalTables::files`], or [`NONE16`](crate::model::NONE16).
    pub file: u16,
    pub line: u32,
}

/// A call edge with ids local to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnitEdge {
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
    /// Index range into `UnitTraces::lost`.
    pub scopes: std::ops::Range<u32>,
    /// Some inlined code does not even have a length any more: `scopes` is empty.
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
pub(crate) struct UnitErased {
    pub die: DieOffset,
    pub origin: LocalOrigin,
    pub instance: Instance,
    /// Bytes of code (`DW_AT_high_pc` as an offset survives); 0 if that is lost too.
    pub size: u64,
    /// A range of the function other than its first (`foo.cold`).
    pub part: bool,
    pub external: bool,
    /// Its own line sequence is dead as well: it was not folded.
    pub removed: bool,
    pub lost: Lost,
    pub calls: Calls,
}

/// Code that the unit's line table covers and no function of the unit claims (assembly without DIEs).
#[derive(Clone, Copy, Debug)]
pub(crate) struct BareLines {
    pub start: ImageAddr,
    pub len: u32,
    /// Rows of scope 0.
    pub rows: RowRange,
    /// The first row began before `start`: the line table has no row of its own here.
    pub continues: bool,
    /// An unclaimed sequence that may belong to a function without a sequence: it shows that there is a further function, and
    /// has no rows here.
    pub in_doubt: bool,
}

/// The units whose functions a compiler may merge with each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Together {
    /// Those of one object: LLVM gives them one table of abbreviations, at this offset (rustc, Swift).
    Object(u64),
    /// All that were compiled when the program was linked (gcc's `-flto`).
    Program,
}

/// What was read of one compile unit: five parts, by how long each is needed.
#[derive(Default)]
pub(crate) struct Unit<'f> {
    /// Set if the unit alone takes more memory than the whole program may: the bytes that it had taken when the reader stopped. The
    /// program is refused.
    pub stopped_at: Option<u64>,
    pub head: UnitHead<'f>,
    pub tables: LocalTables<'f>,
    pub code: UnitCode<'static>,
    pub traces: UnitTraces,
    pub records: UnitRecords<'f>,
}

/// Facts about a unit that every step needs.
#[derive(Default)]
pub struct UnitHead<'f> {
    /// Offset of the unit's header in `.debug_info`.
    pub offset: u64,
    /// The last component of `DW_AT_name`, which is the path of the source file; its last 255 bytes.
    pub file_name: Cow<'f, [u8]>,
    /// The compiler merges functions, and its call records keep the callee that the source names (gcc's ipa-icf).
    pub keeps_callees: bool,
    /// The compiler merges functions and rewrites calls of a removed function, also in its call records, to the one that it
    /// kept. The value says between which units it may do so.
    pub rewrites: Option<Together>,
    /// The compiler merges no functions (Go's).
    pub merges_nothing: bool,
    /// The unit is of assembly code (`DW_LANG_Mips_Assembler`).
    pub assembly: bool,
    /// The unit is of C, whose functions have no mangled names.
    pub c: bool,
    /// True where the unit's `.dwo` is missing: its functions come from symbols, inlines are unknown.
    pub partial: bool,
    /// The rest of the unit's entries could not be read: there may be more functions than are known.
    pub cut_short: bool,
    /// A limit was reached, and functions of the unit lack lines or code.
    pub capped: bool,
}

impl UnitHead<'_> {
    /// True if the compiler may merge functions and its call records may not keep the callee of the source.
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
            c: self.c,
            partial: self.partial,
            cut_short: self.cut_short,
            capped: self.capped,
        }
    }
}

/// The tables that the local ids of a unit refer to. `merge` gives each entry its id in the whole program, and keeps a [`UnitMap`] instead.
///
/// [`UnitMap`]: super::UnitMap
#[derive(Default)]
pub(crate) struct LocalTables<'f> {
    pub names: Vec<UnitName<'f>>,
    /// Bytes of strings that no earlier unit has: the unit's own, and those of its file if no other unit is in that file.
    pub strings: u64,
    /// Bytes of the file that was opened only for this unit (a `.dwo`), as the budget counts them; else 0.
    pub brings: u64,
    /// Full paths, spelled as `llvm-symbolizer` spells them.
    pub files: Vec<Vec<u8>>,
    pub origins: Vec<UnitOrigin>,
    pub edges: Vec<UnitEdge>,
}

/// The functions of a unit, what is inlined into them, and their lines: what the file is made from.
///
/// `merge` moves the lists of a large program to the scratch file.
#[derive(Default)]
pub struct UnitCode<'f> {
    pub scopes: SpillVec<'f, Scope>,
    pub rows: SpillVec<'f, Row>,
    pub pieces: SpillVec<'f, UnitPiece>,
    pub functions: SpillVec<'f, UnitFunction>,
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

/// Inlined code that is in no range of its function. BOLT moves a part of a function, and before DWARF 5 it may leave the part out of
/// the function's ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    /// The DIE of the function.
    pub die: DieOffset,
    pub start: ImageAddr,
    pub len: u32,
    pub rows: RowRange,
}

/// A variable at a fixed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitVariable {
    pub address: ImageAddr,
    /// Its name and the place of its declaration.
    pub origin: LocalOrigin,
}

/// The traces of folded functions that a linker leaves. Not needed after `place`.
#[derive(Default)]
pub(crate) struct UnitTraces {
    pub strays: Vec<Stray>,
    pub bare: Vec<BareLines>,
    /// Sequences of the line table that no function of the unit claims, where it has functions that were
    /// erased, or that begin with one of its functions; by start, then in the order of the line program.
    pub unclaimed: Vec<BareLines>,
    pub lost: Vec<LostScope>,
    /// The ranges of [`UnitTraces::lost`].
    pub lost_ranges: Vec<OffsetRange>,
}

/// A sequence of a line program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EmittedSequence {
    /// The code that it covers: of a folded function, that of the function that it was folded into. Of a removed function only the length
    /// counts.
    pub range: AddressRange,
    /// The line of its first row.
    pub line: u32,
    /// The code is in the program. The sequence of a discarded copy of a function is not live, and neither is that of a function that
    /// nothing uses.
    pub live: bool,
}

/// Calls, functions without code, and classes of a unit. Not needed after `keys`. `merge` moves most lists of a large program to the
/// scratch file.
#[derive(Default)]
pub(crate) struct UnitRecords<'f> {
    pub calls: SpillVec<'f, UnitCall>,
    /// Calls of any functions that a table lists (`.debug_dcall`).
    pub listed: Vec<UnitCall>,
    pub callees: SpillVec<'f, UnitCallee>,
    pub erased: SpillVec<'f, UnitErased>,
    /// Functions that are described and have no code: the compiler put others of the same code in their places
    /// (gcc's ipa-icf), or describes their code in another unit (LTO).
    pub codeless: Vec<Codeless>,
    /// The sequences of the unit's line program, in its order, which is that of the object. Only for units that record no call, and for those without a function
    /// that other units know: clang at `-g1` says of none that they do.
    pub emitted: Vec<EmittedSequence>,
    /// Only if the options ask for variables.
    pub variables: Vec<UnitVariable>,
    /// The classes that a second reading of the unit reads.
    pub class_places: ClassPlaces,
    /// The classes, if they were read together with the unit; `class_places` is empty then.
    pub described: Option<Box<ClassUnit<'f>>>,
    /// The types of functions, which a second reading of the unit reads.
    pub types: Option<Box<UnitTypes>>,
    /// Only if the options ask for them.
    pub sequences: Option<Box<SequenceUses>>,
}

impl Unit<'_> {
    /// The same unit with the same names in memory that lives otherwise: `keep` moves them.
    pub(crate) fn with_names<'n>(self, keep: impl Fn(&[UnitName<'_>]) -> Vec<UnitName<'n>>) -> Unit<'n> {
        let LocalTables { names, strings, brings, files, origins, edges } = self.tables;
        let UnitRecords {
            calls,
            listed,
            callees,
            erased,
            codeless,
            emitted,
            variables,
            class_places,
            described,
            types,
            sequences,
        } = self.records;
        // Only `merge`, which runs later, moves lists to the scratch file: all elements are in memory here.
        let (calls, callees, erased) =
            (calls.into_own().into(), callees.into_own().into(), erased.into_own().into());
        let described = described.map(|unit| {
            let ClassUnit { offset, names, classes, bases, methods, vtables, skipped } = *unit;
            Box::new(ClassUnit {
                offset,
                names: keep(names.own()).into(),
                classes: classes.into_own().into(),
                bases: bases.into_own().into(),
                methods: methods.into_own().into(),
                vtables: vtables.into_own().into(),
                skipped,
            })
        });
        let names = keep(&names);
        Unit {
            stopped_at: self.stopped_at,
            head: self.head.into_owned(),
            tables: LocalTables { names, strings, brings, files, origins, edges },
            code: self.code,
            traces: self.traces,
            records: UnitRecords {
                calls,
                listed,
                callees,
                erased,
                codeless,
                emitted,
                variables,
                class_places,
                described,
                types,
                sequences,
            },
        }
    }
}

impl UnitPiece {
    /// The addresses of its code.
    pub(crate) fn range(&self) -> AddressRange {
        AddressRange::of(self.start, self.len)
    }
}

impl BareLines {
    /// The addresses that the sequence covers.
    pub(crate) fn range(&self) -> AddressRange {
        AddressRange::of(self.start, self.len)
    }
}

//! The program as a whole: what `merge` numbers, and the pieces, functions and groups that `place` decides.

use std::borrow::Cow;

use foldsym_format::Reason;
use thin_vec::ThinVec;

use super::blocks::BlockMap;
use super::ids::{
    EdgeId, FileId, FuncId, GroupId, How, ImageAddr, LocalFunc, LocalOrigin, NameId, OriginId, UnitId,
};
use super::range::AddressRange;
use super::unit::{RowRange, UnitCode, UnitHead};
use super::unwind::UnwindRows;
use crate::util::scratch::ScratchFile;
use crate::util::spill::SpillVec;

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

/// Ids of a unit's names, files, origins and edges in the whole program; indexed by the local id. `merge` moves those of a large program
/// to the scratch file.
#[derive(Default)]
pub struct UnitMap<'f> {
    pub files: Vec<FileId>,
    pub origins: SpillVec<'f, OriginId>,
    pub edges: SpillVec<'f, EdgeId>,
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
    pub aliases: ThinVec<NameId>,
    /// The name that answers show, if it is not that of `symbol` or of the origin: one of its other names. No step decides by it.
    pub primary: Option<NameId>,
    /// `None` for a function known by its symbol alone.
    pub source: Option<Source>,
    pub how: How,
    pub partial: bool,
    /// Why it is not certain that no other function has this code, if it has no group.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// A global variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub start: ImageAddr,
    /// Bytes; 0 if unknown.
    pub size: u64,
    pub name: NameId,
    pub file: Option<FileId>,
    /// Line of its declaration; 0 if unknown.
    pub line: u32,
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
    pub heads: Vec<UnitHead<'f>>,
    /// One for each unit.
    pub maps: Vec<UnitMap<'f>>,
    /// One for each unit, in the order of the file.
    pub code: Vec<UnitCode<'f>>,
    pub functions: Vec<Function>,
    pub pieces: Vec<Piece>,
    pub groups: Vec<Group>,
    pub blocks: BlockMap,
    /// `None` unless the options ask for it (`--unwind`).
    pub unwind: Option<UnwindRows>,
    /// Calls of functions of other modules: the return address, and the name that the call was linked to. Empty unless the options ask
    /// for them (`--imports`).
    pub imports: Vec<(ImageAddr, NameId)>,
    /// Global variables, by address; no two begin at one. Empty unless the options ask for them (`--data`).
    pub variables: Vec<Variable>,
    pub inlines: InlineCounts,
}

impl<'f> Program<'f> {
    /// The scratch file, if lists of units are in it: the program is large.
    pub(crate) fn scratch(&self) -> Option<&'f ScratchFile> {
        self.code.iter().find_map(|unit| unit.rows.scratch())
    }

    /// The name of a function: its symbol's, else that of its entry.
    pub fn name_of(&self, function: &Function) -> NameId {
        function.symbol.unwrap_or(self.origins[function.origin.index()].name)
    }

    /// The name of a function that answers show.
    pub fn shown_name(&self, function: &Function) -> NameId {
        function.primary.unwrap_or_else(|| self.name_of(function))
    }

    /// The other names of a function, beside the shown one; in no order, and one may occur twice.
    pub fn other_names(&self, function: &Function) -> impl Iterator<Item = NameId> {
        let shown = function.primary;
        let hidden = shown.map(|_| self.name_of(function));
        function.aliases.iter().copied().filter(move |name| Some(*name) != shown).chain(hidden)
    }

    /// The program's origin that a unit's is.
    pub fn origin_of(&self, unit: usize, local: LocalOrigin) -> OriginId {
        self.maps[unit].origins[local.index()]
    }
}

/// How many erased functions got their inlined code back, by the proof of its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlineCounts {
    /// By their rows: there is only one way to lay the inlined code over them.
    pub by_rows: u64,
    /// By a twin: a function with the same code and source.
    pub by_twin: u64,
    /// No proof: they keep only lines.
    pub lost: u64,
}

impl Piece {
    /// The addresses of its code, without the padding after it.
    pub(crate) fn code(&self) -> AddressRange {
        AddressRange::of(self.start, self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::{Edge, Function, Member, Origin, Piece};

    /// A large program has millions of each: one more field costs megabytes.
    #[test]
    fn what_a_program_has_many_of_is_small() {
        let bytes = [
            size_of::<Function>(),
            size_of::<Piece>(),
            size_of::<Member>(),
            size_of::<Origin>(),
            size_of::<Edge>(),
        ];
        assert_eq!(bytes, [32, 48, 28, 12, 20]);
    }
}

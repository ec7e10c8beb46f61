//! The records of a file by their ids: what lists a file reads, and what an answer's ids lead to.

use foldsym_format::SectionId;

use crate::entities::{Aliases, Edge, Function, Group, Member, Origin, Piece};
use crate::error::{Error, InSection};
use crate::file::SymbolFile;
use crate::ids::{EdgeId, FunctionId, GroupId, NameId, OriginId, PieceId, RowsOffset};
use crate::rows::Rows;
use crate::scopes::Scopes;

/// The records of a file. Ids of each kind count from 0 to the number of its records. Reading one takes constant time.
///
/// ```
/// use foldsym_lookup::{FunctionId, SymbolFile};
///
/// fn function_names(file: &SymbolFile<'_>) -> Result<usize, foldsym_lookup::Error> {
///     let records = file.records();
///     let mut named = 0;
///     for id in (0..records.function_count()).map(FunctionId) {
///         named += usize::from(records.function_name(id)?.is_some());
///     }
///     Ok(named)
/// }
/// let bytes = include_bytes!("../../../schema/golden/demo.fsym");
/// assert!(function_names(&SymbolFile::open(bytes)?)? > 0);
/// # Ok::<(), foldsym_lookup::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Records<'f, 'd> {
    file: &'f SymbolFile<'d>,
}

impl<'d> SymbolFile<'d> {
    /// The records, by their ids.
    #[inline(always)]
    pub const fn records(&self) -> Records<'_, 'd> {
        Records { file: self }
    }
}

impl<'f, 'd> Records<'f, 'd> {
    /// How many pieces of code there are, sorted by address and disjoint.
    pub const fn piece_count(self) -> u32 {
        self.file.pieces.len()
    }

    /// How many functions there are, those that only groups name included.
    pub const fn function_count(self) -> u32 {
        self.file.functions.len()
    }

    /// How many subprograms of the source there are.
    pub const fn origin_count(self) -> u32 {
        self.file.origins.len()
    }

    /// How many inlined calls of the source there are.
    pub const fn edge_count(self) -> u32 {
        self.file.edges.len()
    }

    /// How many groups of folded functions there are.
    pub const fn group_count(self) -> u32 {
        self.file.groups.len()
    }

    /// Opens a row record; the rows of a piece or of a member. Takes constant time.
    ///
    /// # Errors
    /// An offset outside the section, or damage.
    pub fn rows(self, rows: RowsOffset) -> Result<Rows<'d>, Error> {
        Rows::open(self.file.rows, rows.0, self.file.header().unit_log2)
    }

    /// Reads a piece.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn piece(self, id: PieceId) -> Result<Piece, Error> {
        Piece::read(self.file, self.file.starts.get(id.0).within(SectionId::STARTS)?)
    }

    /// Reads a function.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn function(self, id: FunctionId) -> Result<Function, Error> {
        Function::read(self.file, id)
    }

    /// The name of a function: its symbol's, else its origin's; `None` where that is empty.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn function_name(self, id: FunctionId) -> Result<Option<NameId>, Error> {
        let function = self.function(id)?;
        match function.name {
            Some(name) => Ok(self.file.non_empty(name)),
            None => Ok(self.origin(function.origin)?.name),
        }
    }

    /// Reads a subprogram of the source.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn origin(self, id: OriginId) -> Result<Origin, Error> {
        Origin::read(self.file, id)
    }

    /// Reads an inlined call of the source.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn edge(self, id: EdgeId) -> Result<Edge, Error> {
        Edge::read(self.file, id)
    }

    /// Reads where a group's members are.
    ///
    /// # Errors
    /// An id that does not exist, an empty group, or damage.
    pub fn group(self, id: GroupId) -> Result<Group, Error> {
        Group::read(self.file, id)
    }

    /// Reads member `index` of a group, from 0. The live function with the lowest DIE offset comes first,
    /// then linkage names by bytes.
    ///
    /// # Errors
    /// An index past the last member, or damage.
    pub fn member(self, group: Group, index: u32) -> Result<Member, Error> {
        Member::read(self.file, group, index)
    }

    /// The members of a group, in order. At most [`Header::max_group`](crate::Header::max_group) in a sound file.
    pub fn members(self, group: Group) -> impl Iterator<Item = Result<Member, Error>> + use<'f, 'd> {
        (0..group.len()).map(move |index| self.member(group, index))
    }

    /// The other names of a function (aliases, constructor and destructor variants), by bytes. Ends at the
    /// first damaged one.
    pub fn aliases(self, function: &Function) -> Aliases<'f, 'd> {
        Aliases::new(self.file, function.aliases)
    }

    /// Opens the inline tree of a function; `None` where nothing is inlined. Takes constant time.
    ///
    /// # Errors
    /// An offset outside the section, or damage.
    pub fn scopes(self, function: &Function) -> Result<Option<Scopes<'d>>, Error> {
        if function.scopes == 0 {
            return Ok(None);
        }
        Scopes::open(self.file.scopes, function.scopes).map(Some)
    }
}

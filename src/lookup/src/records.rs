//! The records of a file by their ids.

use foldsym_format::SectionId;

use crate::entities::{Aliases, Edge, Function, Group, Member, Origin, Piece};
use crate::error::{Error, InSection};
use crate::file::SymbolFile;
use crate::ids::{EdgeId, FunctionId, GroupId, NameId, OriginId, PieceId};
use crate::scopes::Scopes;

impl<'d> SymbolFile<'d> {
    /// Reads a piece.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn piece(&self, id: PieceId) -> Result<Piece, Error> {
        Piece::read(self, self.starts.get(id.0).within(SectionId::STARTS)?)
    }

    /// Reads a function.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn function(&self, id: FunctionId) -> Result<Function, Error> {
        Function::read(self, id)
    }

    /// The name of a function: its symbol's, else its origin's; `None` where that is empty.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn function_name(&self, id: FunctionId) -> Result<Option<NameId>, Error> {
        let function = self.function(id)?;
        match function.name {
            Some(name) => Ok(self.non_empty(name)),
            None => Ok(self.origin(function.origin)?.name),
        }
    }

    /// Reads a subprogram of the source.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn origin(&self, id: OriginId) -> Result<Origin, Error> {
        Origin::read(self, id)
    }

    /// Reads an inlined call of the source.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn edge(&self, id: EdgeId) -> Result<Edge, Error> {
        Edge::read(self, id)
    }

    /// Reads where a group's members are.
    ///
    /// # Errors
    /// An id that does not exist, an empty group, or damage.
    pub fn group(&self, id: GroupId) -> Result<Group, Error> {
        Group::read(self, id)
    }

    /// Reads member `index` of a group, from 0. The live function with the lowest DIE offset comes first,
    /// then linkage names by bytes.
    ///
    /// # Errors
    /// An index past the last member, or damage.
    pub fn member(&self, group: Group, index: u32) -> Result<Member, Error> {
        Member::read(self, group, index)
    }

    /// The members of a group, in order. At most [`Header::max_group`] in a sound file.
    pub fn members(&self, group: Group) -> impl Iterator<Item = Result<Member, Error>> + '_ {
        (0..group.len()).map(move |index| self.member(group, index))
    }

    /// The other names of a function (aliases, constructor and destructor variants), by bytes. Ends at the
    /// first damaged one.
    pub fn aliases(&self, function: &Function) -> Aliases<'_, 'd> {
        Aliases::new(self, function.aliases)
    }

    /// Opens the inline tree of a function; `None` where nothing is inlined. Takes constant time.
    ///
    /// # Errors
    /// An offset outside the section, or damage.
    pub fn scopes(&self, function: &Function) -> Result<Option<Scopes<'d>>, Error> {
        if function.scopes == 0 {
            return Ok(None);
        }
        Scopes::open(self.scopes, function.scopes).map(Some)
    }
}

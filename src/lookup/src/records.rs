//! Lists the sections of a file, and its records by the ids that answers have.

pub use foldsym_format::names::Names;

pub use crate::entities::{
    Aliases, Call, CallHow, Edge, Function, Group, Method, Origin, Overrider, Owner, Piece, Target,
};
pub use crate::guesses::{Guess, Guesses};
pub use crate::ids::{EdgeId, RowsOffset};
pub use crate::imports::Imports;
pub use crate::program::{ProgramSection, ProgramSections, Segment, Segments};
pub use crate::row::{FileCode, Row};
pub use crate::rows::{RowIter, Rows};
pub use crate::scopes::{Scope, Scopes};
pub use crate::variables::Variables;

use foldsym_format::sections::{calls, slots, vtables};
use foldsym_format::{DirectoryEntry, SectionId, What};

use crate::entities::Member;
use crate::error::{Error, InSection, large, optional, small};
use crate::file::SymbolFile;
use crate::ids::{FunctionId, GroupId, ImageAddr, NameId, OriginId, PieceId, ReturnAddr};

/// One section as the directory has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionInfo {
    /// Its id.
    pub id: SectionId,
    /// Its name in the specification, "?" if this reader does not know the id.
    pub name: &'static str,
    /// Where it starts in the file.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
}

/// The sections and the records of a file, for programs that list or compare files. [`SymbolFile`] has the methods that
/// look up addresses and resolve stacks. Ids of each kind count from 0 to the number of its records. Reading one record
/// takes constant time.
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
    /// The file's contents, for listing: sections, and records by their ids.
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

    /// The number of functions, including functions that only groups name.
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

    /// The name of a function: its symbol's, else its origin's; `None` if that is empty.
    ///
    /// # Errors
    /// An id that does not exist, or damage.
    pub fn function_name(self, id: FunctionId) -> Result<Option<NameId>, Error> {
        self.function(id)?.shown_name(self.file)
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

    /// Reads the places of a group's members.
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

    /// Opens the inline tree of a function; `None` if nothing is inlined. Takes constant time.
    ///
    /// # Errors
    /// An offset outside the section, or damage.
    pub fn scopes(self, function: &Function) -> Result<Option<Scopes<'d>>, Error> {
        if function.scopes == 0 {
            return Ok(None);
        }
        Scopes::open(self.file.scopes, function.scopes).map(Some)
    }

    /// The sections, in the order of the file.
    pub fn sections(self) -> impl Iterator<Item = SectionInfo> + use<'d> {
        self.file.directory().map(|DirectoryEntry { id, offset, len, .. }| SectionInfo {
            id,
            name: id.name(),
            offset,
            len,
        })
    }

    /// The whole file.
    pub const fn bytes(self) -> &'d [u8] {
        self.file.bytes
    }

    /// The bytes of a section; `None` if the file has none with this id.
    pub fn section_bytes(self, id: SectionId) -> Option<&'d [u8]> {
        self.file.section_bytes(id)
    }

    /// Function names, in the order of their bytes; [`NameId`] counts them.
    pub const fn names(self) -> &'f Names<'d> {
        &self.file.names
    }

    /// Paths, in the order of their bytes; [`FileId`](crate::FileId) counts them.
    pub const fn files(self) -> &'f Names<'d> {
        &self.file.files
    }

    /// The program's loaded sections, in the order of the file; none if they were not kept. Ends at the
    /// first damaged one.
    pub fn program_sections(self) -> ProgramSections<'d> {
        let data = self.section_bytes(SectionId::SECTIONS).unwrap_or(&[]);
        ProgramSections::new(data, self.file.header().image_base)
    }

    /// The parts of the program's file that are loaded, with their addresses; `None` if they were not kept, as for a
    /// separate debug file, or if the section has no count or one above [`segments::MAX`], for which [`SymbolFile::verify`] has an error.
    /// Ends at the first damaged one.
    ///
    /// [`segments::MAX`]: foldsym_format::sections::segments::MAX
    pub fn segments(self) -> Option<Segments<'d>> {
        Segments::new(self.section_bytes(SectionId::SEGMENTS)?, self.file.header().image_base)
    }

    /// The likely callees of calls that the compiler did not record; [`SymbolFile::guessed_callee`] finds that of one
    /// call. Takes constant time.
    ///
    /// # Errors
    /// A section that breaks the format.
    pub fn guesses(self) -> Result<Guesses<'d>, Error> {
        Guesses::open(self.file)
    }

    /// The calls of functions of other modules: those of a file that was converted with `--imports`.
    /// [`SymbolFile::imported_callee`] finds that of one call. Takes constant time.
    ///
    /// # Errors
    /// A section that breaks the format.
    pub fn imports(self) -> Result<Imports<'d>, Error> {
        Imports::open(self.file)
    }

    /// The global variables: those of a file that was converted with `--data`. [`SymbolFile::variable_at`] finds the one at an address.
    /// Takes constant time.
    ///
    /// # Errors
    /// A section that breaks the format.
    pub fn variables(self) -> Result<Variables<'d>, Error> {
        Variables::open(self.file)
    }

    /// The calls whose callees are known, by address, then caller. [`SymbolFile::resolve_stack`] resolves stacks by them.
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn calls(self) -> impl Iterator<Item = Result<Call, Error>> + use<'f, 'd> {
        const CALLS: SectionId = SectionId::CALLS;
        let file = self.file;
        (0..file.calls.len()).map(move |id| {
            let [address, caller, callee, how] = file.calls.record(id).within(CALLS)?;
            let address = large(address, CALLS, id)?;
            Ok(Call {
                address: ReturnAddr(file.header().image_base.wrapping_add(address)),
                caller: optional(caller, CALLS, id)?.map(FunctionId),
                callee: FunctionId(small(callee, CALLS, id)?),
                how: match large(how, CALLS, id)? {
                    calls::CALL_SITE => CallHow::CallSite,
                    calls::RELOCATION => CallHow::Relocation,
                    calls::DOUBTFUL => CallHow::Doubtful,
                    calls::DOUBTFUL_RELOCATION => CallHow::DoubtfulRelocation,
                    calls::UNPROVEN => CallHow::Unproven,
                    calls::MERGED => CallHow::Merged,
                    calls::NAME_ALONE => CallHow::NameAlone,
                    _ => return Err(Error::new(CALLS, What::Value, id.into())),
                },
            })
        })
    }

    /// The functions that tail calls of a function reach, by function: (function, reached), `None` if it may reach unknown
    /// functions.
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn tail_calls(
        self,
    ) -> impl Iterator<Item = Result<(FunctionId, Option<FunctionId>), Error>> + use<'f, 'd> {
        const TAILS: SectionId = SectionId::TAILS;
        let file = self.file;
        (0..file.tails.len()).map(move |id| {
            let [function, target] = file.tails.record(id).within(TAILS)?;
            Ok((FunctionId(small(function, TAILS, id)?), optional(target, TAILS, id)?.map(FunctionId)))
        })
    }

    /// The functions of groups that run on the objects of the program's classes, by vtable pointer.
    /// [`SymbolFile::resolve_object`] resolves frames by them.
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn methods(self) -> impl Iterator<Item = Result<Method, Error>> + use<'f, 'd> {
        const VTABLES: SectionId = SectionId::VTABLES;
        let file = self.file;
        (0..file.vtables.len()).map(move |id| {
            let [point, function, slot, doubtful] = file.vtables.record(id).within(VTABLES)?;
            Ok(Method {
                point: ImageAddr(file.header().image_base.wrapping_add(large(point, VTABLES, id)?)),
                function: FunctionId(small(function, VTABLES, id)?),
                slot: small(slot, VTABLES, id)?.checked_sub(1),
                doubtful: doubtful != 0,
                guessed: doubtful == vtables::GUESSED,
            })
        })
    }

    /// The calls through words of tables of functions: their return addresses, and the words.
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn slot_calls(self) -> impl Iterator<Item = Result<(ReturnAddr, u32), Error>> + use<'f, 'd> {
        const SLOTS: SectionId = SectionId::SLOTS;
        let file = self.file;
        (0..file.slots.len()).map(move |id| {
            let [address, slot] = file.slots.record(id).within(SLOTS)?;
            let address = file.header().image_base.wrapping_add(large(address, SLOTS, id)?);
            // Without the mark of a vtable, which is not part of the word's number.
            Ok((ReturnAddr(address), small(slot & slots::WORD, SLOTS, id)?))
        })
    }

    /// The functions of groups to which words of the program's vtables lead, by word. [`SymbolFile::resolve_slot`] resolves
    /// frames by them.
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn overriders(self) -> impl Iterator<Item = Result<Overrider, Error>> + use<'f, 'd> {
        const OVERRIDERS: SectionId = SectionId::OVERRIDERS;
        let file = self.file;
        (0..file.overriders.len()).map(move |id| {
            let [slot, function, doubtful] = file.overriders.record(id).within(OVERRIDERS)?;
            Ok(Overrider {
                slot: small(slot, OVERRIDERS, id)?,
                function: FunctionId(small(function, OVERRIDERS, id)?),
                doubtful: doubtful != 0,
            })
        })
    }

    /// The virtual calls and calls through pointers with a set of functions that each may call: their return addresses, and the numbers of
    /// the sets in [`Records::targets`].
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn dispatches(self) -> impl Iterator<Item = Result<(ReturnAddr, u32), Error>> + use<'f, 'd> {
        const DISPATCHES: SectionId = SectionId::DISPATCHES;
        let file = self.file;
        (0..file.dispatches.len()).map(move |id| {
            let [address, set, _] = file.dispatches.record(id).within(DISPATCHES)?;
            let address = file.header().image_base.wrapping_add(large(address, DISPATCHES, id)?);
            Ok((ReturnAddr(address), small(set, DISPATCHES, id)?))
        })
    }

    /// The functions of groups that such calls may call, by set. [`SymbolFile::resolve_slot`] resolves frames by them.
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn targets(self) -> impl Iterator<Item = Result<Target, Error>> + use<'f, 'd> {
        const TARGETS: SectionId = SectionId::TARGETS;
        let file = self.file;
        (0..file.targets.len()).map(move |id| {
            let [set, point, function, doubtful] = file.targets.record(id).within(TARGETS)?;
            let point = large(point, TARGETS, id)?.checked_sub(1);
            Ok(Target {
                set: small(set, TARGETS, id)?,
                point: point.map(|point| ImageAddr(file.header().image_base.wrapping_add(point))),
                function: FunctionId(small(function, TARGETS, id)?),
                doubtful: doubtful != 0,
            })
        })
    }
}

//! An address to an answer: which function, and the frames of its inlined calls.
//!
//! A lookup has four steps. The piece of the address is found by a search over block headers. The row of
//! the offset in the piece gives a node of the inline tree. The walk from that node to the root leaves,
//! for each step, which of its parent's edges the node is. Only then, from the root down, can those be
//! told apart: the function's origin has edges, one of them names the next origin. That second walk reads
//! each origin and each edge once, and leaves the innermost frames ready in [`Frames`].

use foldsym_format::sections::edges;
use foldsym_format::{SectionId, What};

use crate::entities::{Function, Group, How, Member, Owner, Piece};
use crate::error::{Error, InSection, small};
use crate::file::SymbolFile;
use crate::ids::{FileId, FunctionId, GroupId, ImageAddr, NameId, OriginId, PieceId, RowsOffset};
use crate::rows::{Row, Spot, find_spot};
use crate::scopes::Scopes;

/// What was found at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Nothing is known there, and why.
    NotFound(Reason),
    /// A function's code, or padding with a line. The frames are in the caller's [`Frames`].
    Found(Answer),
}

/// Why nothing is known at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is below all known code or above it.
    OutsideCode,
    /// It is between known functions, and belongs to none.
    NoFunction,
}

/// How sure it is that the answer's function is the one that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The code is not folded.
    Unique,
    /// It is folded, and the compiler recorded which function this call calls.
    Exact,
    /// It is folded, and some of the functions are ruled out.
    Narrowed,
    /// It is folded, and any of the functions may have run.
    Ambiguous,
}

impl Certainty {
    /// The word for it in text and JSON.
    ///
    /// ```
    /// assert_eq!(foldsym_lookup::Certainty::Narrowed.text(), "narrowed");
    /// ```
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::Exact => "exact",
            Self::Narrowed => "narrowed",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// What an [`Certainty::Exact`] or [`Certainty::Narrowed`] answer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The compiler recorded the callee of the call.
    DirectCall,
    /// The linker kept the relocation of the call.
    Relocation,
    /// The caller is folded itself, and each of its functions calls another.
    MergedCaller,
    /// The call reaches the code by tail calls.
    TailCall,
    /// The call goes through this slot of a vtable.
    VirtualSlot,
    /// The object's vtable pointer was given.
    Vtable,
}

impl Evidence {
    /// The word for it in text and JSON.
    ///
    /// ```
    /// assert_eq!(foldsym_lookup::Evidence::DirectCall.text(), "direct_call");
    /// ```
    pub const fn text(self) -> &'static str {
        match self {
            Self::DirectCall => "direct_call",
            Self::Relocation => "relocation",
            Self::MergedCaller => "merged_caller",
            Self::TailCall => "tail_call",
            Self::VirtualSlot => "virtual_slot",
            Self::Vtable => "vtable",
        }
    }
}

/// Whose code is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How sure it is that [`Answer::function`] ran.
    pub certainty: Certainty,
    /// What that rests on, where the code is folded and something is known.
    pub evidence: Option<Evidence>,
    /// The range of code.
    pub piece: PieceId,
    /// First address of the piece.
    pub piece_start: ImageAddr,
    /// Where the function's range truly starts: at or before the piece, where another was cut out of it.
    pub function_start: ImageAddr,
    /// Bytes from the start of the piece to the address.
    pub offset: u64,
    /// The address is in padding after the function: one frame, with file and line and without a name.
    pub padding: bool,
    /// The function's `.dwo` was missing: inlined frames are unknown.
    pub partial: bool,
    /// The function; at folded code the first of the group.
    pub function: FunctionId,
    /// The group, at folded code.
    pub group: Option<GroupId>,
    /// The group's members, at folded code.
    members: Option<Group>,
    /// Rows and symbol of [`Answer::function`] here.
    pub(crate) rows: Option<RowsOffset>,
    pub(crate) name: Option<NameId>,
}

impl Answer {
    /// How many functions share the code: 1 where it is not folded.
    pub const fn member_count(&self) -> u32 {
        match self.members {
            Some(group) => group.len(),
            None => 1,
        }
    }
}

/// The deepest inline tree that a file may have.
const MAX_DEPTH: usize = foldsym_format::header::MAX_DEPTH as usize;
/// Frames, from the innermost on, that a lookup leaves ready; those further out are read when asked for.
const READY: usize = 8;

/// Scratch of a lookup, the caller's: which frames were found. About 1.3 KiB, reusable without clearing.
///
/// It holds ids of one file; reading them with [`SymbolFile::frames`] of another gives an error or
/// nonsense, nothing worse.
#[derive(Clone)]
pub struct Frames {
    /// Frames: 0 before the first lookup.
    pub(crate) len: u32,
    padding: bool,
    /// The name of the outermost frame; `None`: its origin's.
    name: Option<NameId>,
    /// The origin of the outermost frame.
    origin: OriginId,
    ready: [Ready; READY],
    /// The inlined calls, innermost first.
    edges: [u32; MAX_DEPTH],
}

/// A frame, with 0 for no id and else 1 + id.
#[derive(Clone, Copy)]
struct Ready {
    origin: u32,
    name: u32,
    file: u32,
    line: u32,
    column: u32,
    start_file: u32,
    start_line: u32,
}

impl Ready {
    const NONE: Self = Self { origin: 0, name: 0, file: 0, line: 0, column: 0, start_file: 0, start_line: 0 };
}

impl Frames {
    /// Scratch without frames.
    pub const fn new() -> Self {
        Self {
            len: 0,
            padding: false,
            name: None,
            origin: OriginId(0),
            ready: [Ready::NONE; READY],
            edges: [0; MAX_DEPTH],
        }
    }

    /// How many frames the last lookup left: 0 where nothing was found.
    #[inline]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// True where the last lookup left none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for Frames {
    fn default() -> Self {
        Self::new()
    }
}

/// One function at an address: the one that the code was compiled into, or one inlined there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name; `None` where it has none, and in padding.
    pub name: Option<NameId>,
    /// The file of the line.
    pub file: Option<FileId>,
    /// The line, from 1; 0: unknown.
    pub line: u32,
    /// The column, from 1; 0: unknown or not kept.
    pub column: u32,
    /// The file where the function is declared.
    pub start_file: Option<FileId>,
    /// The line of its declaration, 0: unknown.
    pub start_line: u32,
    /// The function as the source has it.
    pub origin: OriginId,
    /// The last frame: the function that holds the code. The others are inlined.
    pub is_outermost: bool,
}

impl<'d> SymbolFile<'d> {
    /// Finds the function at an address and its inlined frames, which are left in `frames`; read them with
    /// [`SymbolFile::frames`]. At folded code the answer is the first member of the group, `Ambiguous`; the
    /// frames of the others come from [`SymbolFile::member_frames`].
    ///
    /// Allocates nothing. Steps: log2 of the blocks of PIECES and of the records in a block, log2 of the
    /// row blocks of the piece plus 6, and the depth of the inline tree twice, at most
    /// [`foldsym_format::Header::max_depth`]; it does not depend on the size of the function otherwise.
    ///
    /// # Errors
    /// Damage at a place that the lookup reads; `frames` is then empty.
    pub fn lookup(&self, address: ImageAddr, frames: &mut Frames) -> Result<Lookup, Error> {
        frames.len = 0;
        let found = match self.key(address) {
            Some(key) => self.pieces.search_first_column(key).within(SectionId::PIECES)?,
            None => None,
        };
        let mut lookup = self.at_piece(address, found)?;
        if let Lookup::Found(answer) = &mut lookup {
            answer.partial = self.resolve(answer, answer.function, answer.rows, answer.name, frames)?;
        }
        Ok(lookup)
    }

    /// What the search for a piece gives: the answer, but for its frames and whether it is partial.
    #[inline(always)]
    pub(crate) fn at_piece(&self, address: ImageAddr, found: Option<u32>) -> Result<Lookup, Error> {
        let Some(found) = found.map(PieceId) else {
            return Ok(Lookup::NotFound(Reason::OutsideCode));
        };
        let piece = Piece::read(self, found)?;
        let offset = address.0.wrapping_sub(piece.start.0);
        if offset >= piece.len() {
            let last = found.0 == self.pieces.len().wrapping_sub(1);
            return Ok(Lookup::NotFound(if last { Reason::OutsideCode } else { Reason::NoFunction }));
        }
        let mut answer = Answer {
            certainty: Certainty::Unique,
            evidence: None,
            piece: found,
            piece_start: piece.start,
            function_start: piece.function_start(),
            offset,
            padding: offset >= piece.body,
            partial: false,
            function: FunctionId(0),
            group: None,
            members: None,
            rows: piece.rows,
            name: piece.name,
        };
        match piece.owner {
            Owner::Function(function) => answer.function = function,
            Owner::Group(group) => {
                let members = Group::read(self, group)?;
                let first = Member::read(self, members, 0)?;
                answer.certainty = Certainty::Ambiguous;
                answer.group = Some(group);
                answer.members = Some(members);
                answer.function = first.function;
                answer.rows = first.rows;
                answer.name = first.name;
            }
        }
        Ok(Lookup::Found(answer))
    }

    /// The address as PIECES has it; `None` where that cannot be.
    #[inline(always)]
    pub(crate) fn key(&self, address: ImageAddr) -> Option<i64> {
        i64::try_from(address.0.checked_sub(self.header().image_base)?).ok()
    }

    /// Reads member `index` of the answer's functions, from 0 to [`Answer::member_count`], and leaves its
    /// frames at the answer's address in `frames`. Where the code is not folded, member 0 is the function
    /// itself, with [`How::LiveRange`].
    ///
    /// Takes the steps of a lookup without its search for the piece.
    ///
    /// # Errors
    /// An index past the last member, or damage; `frames` is then empty.
    pub fn member_frames(&self, answer: &Answer, index: u32, frames: &mut Frames) -> Result<Member, Error> {
        frames.len = 0;
        let member = match answer.members {
            Some(group) => Member::read(self, group, index)?,
            None if index == 0 => Member {
                function: answer.function,
                how: How::LiveRange,
                rows: answer.rows,
                name: answer.name,
            },
            None => return Err(Error::new(SectionId::MEMBERS, What::NoRecord, index.into())),
        };
        self.resolve(answer, member.function, member.rows, member.name, frames)?;
        Ok(member)
    }

    /// Leaves the frames of `function` at the answer's offset; says whether the function is partial.
    fn resolve(
        &self,
        answer: &Answer,
        function: FunctionId,
        rows: Option<RowsOffset>,
        name: Option<NameId>,
        frames: &mut Frames,
    ) -> Result<bool, Error> {
        let spot = self.spot(rows, answer.offset)?;
        let function = Function::read(self, function)?;
        self.found_frames(answer, &function, &spot, name, frames)?;
        Ok(function.partial)
    }

    /// The row that holds at `offset`.
    #[inline(always)]
    pub(crate) fn spot(&self, rows: Option<RowsOffset>, offset: u64) -> Result<Spot, Error> {
        match rows {
            None => Ok(Spot::NONE),
            Some(rows) => find_spot(self.rows, rows.0, self.header().unit_log2, offset),
        }
    }

    /// Leaves the frames of a row, as the answer has them.
    #[inline(always)]
    pub(crate) fn found_frames(
        &self,
        answer: &Answer,
        function: &Function,
        spot: &Spot,
        name: Option<NameId>,
        frames: &mut Frames,
    ) -> Result<(), Error> {
        self.spot_frames(function, spot, frames)?;
        frames.padding = answer.padding;
        if name.is_some() {
            frames.name = name;
        }
        Ok(())
    }

    /// Leaves the frames of a row of a function in `frames`: what a lookup of an address in that row gives,
    /// save for a piece's own symbol and padding, which the row does not know.
    ///
    /// # Errors
    /// A row whose scope the function does not have, a tree deeper than the header allows, or damage;
    /// `frames` is then empty.
    pub fn row_frames(&self, function: &Function, row: &Row, frames: &mut Frames) -> Result<(), Error> {
        let spot = Spot { scope: row.scope, line: row.line, file: row.file.code(), column: row.column };
        self.spot_frames(function, &spot, frames)
    }

    fn spot_frames(&self, function: &Function, spot: &Spot, frames: &mut Frames) -> Result<(), Error> {
        frames.len = 0;
        let depth = match spot.scope {
            0 => 0,
            scope => self.walk_up(function, scope, &mut frames.edges)?,
        };
        // From the root down: an origin says where its edges begin, an edge which origin is next.
        let mut id = function.origin.0;
        let mut origin = self.origin_parts(id)?;
        for level in (0..depth).rev() {
            let Some(slot) = frames.edges.get_mut(level) else { break };
            let edge = small(origin.edges.wrapping_add((*slot).into()), SectionId::ORIGINS, id)?;
            *slot = edge;
            let call = self.edge_parts(edge)?;
            if let Some(ready) = frames.ready.get_mut(level.wrapping_add(1)) {
                *ready = origin.frame(id, &call.place, SectionId::EDGES, edge)?;
            }
            id = call.callee;
            origin = self.origin_parts(id)?;
        }
        let place = Place { line: spot.line, file: spot.file, column: spot.column };
        if let Some(ready) = frames.ready.first_mut() {
            *ready = origin.frame(id, &place, SectionId::ROWS, 0)?;
        }
        frames.padding = false;
        frames.name = function.name;
        frames.origin = function.origin;
        frames.len = (depth as u32).wrapping_add(1);
        Ok(())
    }

    /// Leaves, for each node from `scope` up to node 0, which edge of its parent's origin it is; returns
    /// how many.
    fn walk_up(&self, function: &Function, scope: u32, edges: &mut [u32; MAX_DEPTH]) -> Result<usize, Error> {
        let wrong = || Error::new(SectionId::SCOPES, What::Depth, function.scopes);
        if function.scopes == 0 {
            return Err(wrong());
        }
        let scopes = Scopes::open(self.scopes, function.scopes)?;
        if scope > scopes.len() {
            return Err(wrong());
        }
        let mut node = scope;
        let mut at = Scopes::block_of(node);
        let mut block = scopes.block(at)?;
        for (depth, slot) in edges.iter_mut().take(self.header().max_depth as usize).enumerate() {
            let needed = Scopes::block_of(node);
            if needed != at {
                at = needed;
                block = scopes.block(at)?;
            }
            let scope = scopes.in_block(&block, node)?;
            *slot = scope.edge;
            node = scope.parent;
            if node == 0 {
                return Ok(depth.wrapping_add(1));
            }
        }
        Err(wrong())
    }

    #[inline(always)]
    fn origin_parts(&self, id: u32) -> Result<OriginParts, Error> {
        let [name, file, line, edges] = self.origins.record(id).within(SectionId::ORIGINS)?;
        Ok(OriginParts { name, file, line, edges })
    }

    #[inline(always)]
    fn edge_parts(&self, id: u32) -> Result<EdgeParts, Error> {
        const EDGES: SectionId = SectionId::EDGES;
        let [callee, line, file] = self.edges.record(id).within(EDGES)?;
        let column = match self.edges.columns() {
            edges::COLUMNS => 0,
            _ => small(self.edges.value(id, edges::COLUMN).within(EDGES)?, EDGES, id)?,
        };
        let place = Place { line: Some(line), file: small(file, EDGES, id)?, column };
        Ok(EdgeParts { callee: small(callee, EDGES, id)?, place })
    }

    /// The frames that the last lookup left, innermost first: the inlined calls at the address, then the
    /// function that holds the code. Ends after the first error.
    pub const fn frames<'f>(&'f self, frames: &'f Frames) -> FrameIter<'f, 'd> {
        FrameIter { file: self, frames, next: 0 }
    }

    /// Reads a frame that is not ready, from the edge that leads to it and the one that leads on.
    #[cold]
    fn far_frame(&self, frames: &Frames, index: u32) -> Result<Ready, Error> {
        let edge = |index: Option<u32>| {
            let index = index.and_then(|index| usize::try_from(index).ok());
            let id = index.and_then(|index| frames.edges.get(index)).copied();
            let id = id.ok_or(Error::new(SectionId::EDGES, What::NoRecord, 0))?;
            Ok((id, self.edge_parts(id)?))
        };
        let (id, call) = edge(index.checked_sub(1))?;
        let origin =
            if index.wrapping_add(1) == frames.len { frames.origin.0 } else { edge(Some(index))?.1.callee };
        self.origin_parts(origin)?.frame(origin, &call.place, SectionId::EDGES, id)
    }
}

/// The columns of an origin.
struct OriginParts {
    name: i64,
    file: i64,
    line: i64,
    edges: i64,
}

struct EdgeParts {
    callee: u32,
    place: Place,
}

/// File, line and column, relative to an origin.
struct Place {
    line: Option<i64>,
    /// A file code.
    file: u32,
    column: u32,
}

impl OriginParts {
    /// The frame of this origin at a place in it; `section` and `record` have the place.
    #[inline(always)]
    fn frame(&self, id: u32, place: &Place, section: SectionId, record: u32) -> Result<Ready, Error> {
        const ORIGINS: SectionId = SectionId::ORIGINS;
        let start_file = small(self.file, ORIGINS, id)?;
        let line = place.line.map_or(0, |line| self.line.wrapping_add(line));
        Ok(Ready {
            origin: id,
            name: small(self.name, ORIGINS, id)?.wrapping_add(1),
            // 0: the origin's; 1: unknown; else 2 + file. Ready frames have 0: unknown; else 1 + file.
            file: if place.file == 0 { start_file } else { place.file.wrapping_sub(1) },
            line: small(line, section, record)?,
            column: place.column,
            start_file,
            start_line: small(self.line, ORIGINS, id)?,
        })
    }
}

/// Frames of an answer, innermost first; see [`SymbolFile::frames`].
#[derive(Clone)]
pub struct FrameIter<'f, 'd> {
    file: &'f SymbolFile<'d>,
    frames: &'f Frames,
    next: u32,
}

impl Iterator for FrameIter<'_, '_> {
    type Item = Result<Frame, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index >= self.frames.len {
            return None;
        }
        self.next = index.wrapping_add(1);
        let ready = match self.frames.ready.get(index as usize) {
            Some(ready) => *ready,
            None => match self.file.far_frame(self.frames, index) {
                Ok(ready) => ready,
                Err(error) => {
                    self.next = self.frames.len;
                    return Some(Err(error));
                }
            },
        };
        let mut frame = Frame {
            name: ready.name.checked_sub(1).and_then(|name| self.file.non_empty(NameId(name))),
            file: ready.file.checked_sub(1).map(FileId),
            line: ready.line,
            column: ready.column,
            start_file: ready.start_file.checked_sub(1).map(FileId),
            start_line: ready.start_line,
            origin: OriginId(ready.origin),
            is_outermost: self.next == self.frames.len,
        };
        if frame.is_outermost
            && let Some(name) = self.frames.name
        {
            frame.name = self.file.non_empty(name);
        }
        if self.frames.padding {
            frame.name = None;
            frame.start_file = None;
            frame.start_line = 0;
            frame.is_outermost = true;
            self.next = self.frames.len;
        }
        Some(Ok(frame))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.frames.len.saturating_sub(self.next) as usize;
        (left.min(1), Some(left))
    }
}

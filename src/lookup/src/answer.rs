//! An address to an answer: which function, and the frames of its inlined calls.
//!
//! A lookup has four steps. The piece of the address is found by a search over block headers. The row of
//! the offset in the piece gives a node of the inline tree. The walk from that node to the root leaves,
//! for each step, which of its parent's edges the node is. Only then, from the root down, can those be
//! told apart: the function's origin has edges, one of them names the next origin. That walk leaves one
//! edge id for each inlined call in [`Frames`]; names, files and lines are read from origins and edges
//! when the frames are asked for.

use foldsym_format::sections::{edges, origins};
use foldsym_format::{SectionId, What};

use crate::entities::{Edge, Function, Group, How, Member, Owner, Piece};
use crate::error::{Error, InSection, small};
use crate::file::SymbolFile;
use crate::ids::{EdgeId, FileId, FunctionId, GroupId, ImageAddr, NameId, OriginId, PieceId, RowsOffset};
use crate::rows::{FileCode, Row, Rows};
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
    /// Rows and symbol of a piece that is not folded.
    rows: Option<RowsOffset>,
    name: Option<NameId>,
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

/// Scratch of a lookup, the caller's: which frames were found. About 1.1 KiB, reusable without clearing.
///
/// It holds ids of one file; reading them with [`SymbolFile::frames`] of another gives an error or
/// nonsense, nothing worse.
#[derive(Clone)]
pub struct Frames {
    /// Frames: 0 before the first lookup.
    len: u32,
    padding: bool,
    /// The name of the outermost frame; `None`: its origin's.
    name: Option<NameId>,
    /// The origin of the outermost frame.
    origin: OriginId,
    /// Place of the innermost frame.
    line: Option<i64>,
    file: FileCode,
    column: u32,
    /// The inlined calls, innermost first.
    edges: [u32; MAX_DEPTH],
}

impl Frames {
    /// Scratch without frames.
    pub const fn new() -> Self {
        Self {
            len: 0,
            padding: false,
            name: None,
            origin: OriginId(0),
            line: None,
            file: FileCode::Unknown,
            column: 0,
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
        let Some(found) = self.find_piece(address)? else {
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
        answer.partial = self.resolve(&answer, answer.function, answer.rows, answer.name, frames)?;
        Ok(Lookup::Found(answer))
    }

    /// The last piece that starts at or below the address.
    #[inline(always)]
    fn find_piece(&self, address: ImageAddr) -> Result<Option<PieceId>, Error> {
        let relative = address.0.checked_sub(self.header().image_base);
        let Some(key) = relative.and_then(|relative| i64::try_from(relative).ok()) else {
            return Ok(None);
        };
        Ok(self.pieces.search_first_column(key).within(SectionId::PIECES)?.map(PieceId))
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
    #[inline(always)]
    fn resolve(
        &self,
        answer: &Answer,
        function: FunctionId,
        rows: Option<RowsOffset>,
        name: Option<NameId>,
        frames: &mut Frames,
    ) -> Result<bool, Error> {
        let row = match rows {
            None => Row::NONE,
            Some(rows) => Rows::open(self.rows, rows.0, self.header().unit_log2)?.find(answer.offset)?.1,
        };
        let function = Function::read(self, function)?;
        self.row_frames(&function, &row, frames)?;
        frames.padding = answer.padding;
        if name.is_some() {
            frames.name = name;
        }
        Ok(function.partial)
    }

    /// Leaves the frames of a row of a function in `frames`: what a lookup of an address in that row gives,
    /// save for a piece's own symbol and padding, which the row does not know.
    ///
    /// # Errors
    /// A row whose scope the function does not have, a tree deeper than the header allows, or damage;
    /// `frames` is then empty.
    #[inline(always)]
    pub fn row_frames(&self, function: &Function, row: &Row, frames: &mut Frames) -> Result<(), Error> {
        frames.len = 0;
        let mut depth = 0usize;
        if row.scope != 0 {
            depth = self.walk_up(function, row.scope, frames)?;
        }
        let mut origin = function.origin.0;
        for slot in frames.edges.get_mut(..depth).unwrap_or(&mut []).iter_mut().rev() {
            let first = self.origins.value(origin, origins::EDGES).within(SectionId::ORIGINS)?;
            let edge = small(first.wrapping_add((*slot).into()), SectionId::ORIGINS, origin)?;
            let callee = self.edges.value(edge, edges::CALLEE).within(SectionId::EDGES)?;
            *slot = edge;
            origin = small(callee, SectionId::EDGES, edge)?;
        }
        frames.padding = false;
        frames.name = function.name;
        frames.origin = function.origin;
        frames.line = row.line;
        frames.file = row.file;
        frames.column = row.column;
        frames.len = (depth as u32).wrapping_add(1);
        Ok(())
    }

    /// Leaves, for each node from `scope` up to node 0, which edge of its parent's origin it is; returns
    /// how many.
    #[inline(always)]
    fn walk_up(&self, function: &Function, scope: u32, frames: &mut Frames) -> Result<usize, Error> {
        let wrong = || Error::new(SectionId::SCOPES, What::Depth, function.scopes);
        if function.scopes == 0 {
            return Err(wrong());
        }
        let scopes = Scopes::open(self.scopes, function.scopes)?;
        if scope > scopes.len() {
            return Err(wrong());
        }
        let mut depth = 0usize;
        let mut node = scope;
        let mut at = node.wrapping_sub(1) >> 6;
        let mut block = scopes.block(at)?;
        for slot in frames.edges.iter_mut().take(self.header().max_depth as usize) {
            let needed = node.wrapping_sub(1) >> 6;
            if needed != at {
                at = needed;
                block = scopes.block(at)?;
            }
            let scope = scopes.in_block(&block, node)?;
            *slot = scope.edge;
            depth = depth.wrapping_add(1);
            node = scope.parent;
            if node == 0 {
                return Ok(depth);
            }
        }
        Err(wrong())
    }

    /// The frames that the last lookup left, innermost first: the inlined calls at the address, then the
    /// function that holds the code. Ends after the first error.
    ///
    /// Each frame reads two records; those that are not asked for cost nothing.
    pub fn frames<'f>(&'f self, frames: &'f Frames) -> FrameIter<'f, 'd> {
        let place = Place { line: frames.line, file: frames.file, column: frames.column };
        FrameIter { file: self, frames, next: 0, place }
    }
}

/// File, line and column, relative to an origin.
#[derive(Clone, Copy)]
struct Place {
    line: Option<i64>,
    file: FileCode,
    column: u32,
}

/// Frames of an answer, innermost first; see [`SymbolFile::frames`].
#[derive(Clone)]
pub struct FrameIter<'f, 'd> {
    file: &'f SymbolFile<'d>,
    frames: &'f Frames,
    next: u32,
    /// Where the next frame stands.
    place: Place,
}

impl FrameIter<'_, '_> {
    #[inline(always)]
    fn read(&mut self, index: u32) -> Result<Frame, Error> {
        const ORIGINS: SectionId = SectionId::ORIGINS;
        let inlined = self.frames.len.wrapping_sub(1);
        let is_outermost = index == inlined;
        let mut call = None;
        let mut origin = self.frames.origin;
        if !is_outermost && let Some(&edge) = self.frames.edges.get(index as usize) {
            let edge = Edge::read(self.file, EdgeId(edge))?;
            origin = edge.callee;
            call = Some(Place { line: Some(edge.line), file: edge.file, column: edge.column });
        }
        let [name, path, start_line] = self.file.origins.record(origin.0).within(ORIGINS)?;
        let start_file = match path {
            0 => None,
            _ => Some(FileId(small(path.wrapping_sub(1), ORIGINS, origin.0)?)),
        };
        let place = self.place;
        let line = match place.line {
            None => 0,
            Some(line) => small(start_line.wrapping_add(line), ORIGINS, origin.0)?,
        };
        let name = match self.frames.name {
            Some(name) if is_outermost => name,
            _ => NameId(small(name, ORIGINS, origin.0)?),
        };
        let file = match place.file {
            FileCode::Origin => start_file,
            FileCode::Unknown => None,
            FileCode::File(file) => Some(file),
        };
        if let Some(call) = call {
            self.place = call;
        }
        let mut frame = Frame {
            name: self.file.non_empty(name),
            file,
            line,
            column: place.column,
            start_file,
            start_line: small(start_line, ORIGINS, origin.0)?,
            origin,
            is_outermost,
        };
        if self.frames.padding {
            frame.name = None;
            frame.start_file = None;
            frame.start_line = 0;
            frame.is_outermost = true;
            self.next = self.frames.len;
        }
        Ok(frame)
    }
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
        let frame = self.read(index);
        if frame.is_err() {
            self.next = self.frames.len;
        }
        Some(frame)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.frames.len.saturating_sub(self.next) as usize;
        (left.min(1), Some(left))
    }
}

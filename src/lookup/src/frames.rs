//! Turns a row of a function into frames: the path of inlined calls that contains the row.
//!
//! The row names a node of the inline tree. A first walk from that node up to the root collects, for each step, which of
//! its parent's edges the node is. A second walk goes from the root down: the function's origin has edges, and the chosen
//! edge names the next origin. It reads each origin and each edge once. Neighbouring rows are mostly in the same calls.
//! So if the path of the last row is of the same function ([`crate::Cursor`]), the walk up ends where it meets that path,
//! and only the rest is read.

use foldsym_format::sections::{edges, origins};
use foldsym_format::{FormatError, SectionId, Table, What, steps};

use crate::entities::Function;
use crate::error::{Error, InSection, small};
use crate::file::SymbolFile;
use crate::ids::{FileId, NameId, OriginId};
use crate::row::{Row, Spot};
use crate::scopes::Scopes;

/// The longest path: the function, and the deepest inline tree that a file may have.
const PATH: usize = foldsym_format::header::MAX_DEPTH as usize + 1;
/// Frames, from the function on, that a lookup prepares; frames further in are read on access.
const READY: usize = 16;

/// Scratch of a lookup, the caller's: which frames were found. About 2.5 KiB, reusable without clearing.
///
/// It holds ids of one file; reading them with [`SymbolFile::frames`] of another gives an error or
/// nonsense, nothing worse.
#[derive(Clone)]
pub struct Frames {
    /// Frames: 0 before the first lookup.
    pub(crate) len: u32,
    pub(crate) padding: bool,
    /// The `.dwo` of the function's unit was missing, so inlined frames are unknown.
    pub(crate) partial: bool,
    /// The name of the outermost frame; `None`: its origin's.
    pub(crate) name: Option<NameId>,
    /// Frames by depth: the function first.
    ready: [Ready; READY],
    /// The innermost frame, if it is deeper than those.
    innermost: Ready,
    /// From `first` on, by depth from 1: the node of the inline tree, and the edge that leads there. The walk up leaves them at the
    /// end, where they stay unless a part of another path is kept.
    first: u32,
    nodes: [u32; PATH],
    edges: [u32; PATH],
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
    /// First edge of the origin.
    edges: u32,
}

impl Ready {
    const NONE: Self =
        Self { origin: 0, name: 0, file: 0, line: 0, column: 0, start_file: 0, start_line: 0, edges: 0 };

    /// The file, line and name of its origin.
    #[inline(always)]
    fn parts(&self) -> OriginParts {
        OriginParts {
            name: i64::from(self.name).wrapping_sub(1),
            file: self.start_file.into(),
            line: self.start_line.into(),
            edges: self.edges.into(),
        }
    }
}

impl Frames {
    /// Scratch without frames.
    pub const fn new() -> Self {
        Self {
            len: 0,
            padding: false,
            partial: false,
            name: None,
            ready: [Ready::NONE; READY],
            innermost: Ready::NONE,
            first: 0,
            nodes: [0; PATH],
            edges: [0; PATH],
        }
    }

    /// Forgets the frames of the last lookup.
    pub const fn clear(&mut self) {
        self.len = 0;
    }

    /// The function's `.dwo` was missing: frames that were inlined into it are unknown.
    pub const fn is_partial(&self) -> bool {
        self.len > 0 && self.partial
    }

    /// How many frames the last lookup left: 0 if nothing was found.
    #[inline]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// True if the last lookup left none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The edge to the frame at a depth from 1.
    #[inline(always)]
    fn edge(&self, depth: usize) -> Option<u32> {
        self.edges.get((self.first as usize).wrapping_add(depth).wrapping_sub(1)).copied()
    }

    /// Moves the part of a path from `from` on to `to`, which is not after it.
    fn shift(&mut self, from: usize, to: usize) {
        for (from, to) in (from..PATH).zip(to..) {
            let moved = self.nodes.get(from).zip(self.edges.get(from)).map(|(&node, &edge)| (node, edge));
            if let (Some(moved), Some(node), Some(edge)) =
                (moved, self.nodes.get_mut(to), self.edges.get_mut(to))
            {
                (*node, *edge) = moved;
            }
        }
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
    /// Its name; `None` if it has none, and in padding.
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
    /// Leaves the frames of a row of a function in `frames`: as a lookup of an address in that row, except for a piece's own symbol and
    /// padding, which the row does not have.
    ///
    /// # Errors
    /// A row whose scope the function does not have, a tree deeper than the header allows, or damage;
    /// `frames` is then empty.
    pub(crate) fn row_frames(
        &self,
        function: &Function,
        row: &Row,
        frames: &mut Frames,
    ) -> Result<(), Error> {
        let spot = Spot { scope: row.scope, line: row.line, file: row.file.code(), column: row.column };
        // The path in `frames` may be of another function.
        frames.len = 0;
        self.spot_frames(function, &self.origin_parts(function.origin.0.into())?, &spot, frames)
    }

    /// Leaves the frames of a row, for a function with this origin. The path in `frames` must be of the same function; if `len` is 0 there
    /// is no path.
    pub(crate) fn spot_frames(
        &self,
        function: &Function,
        root: &OriginParts,
        spot: &Spot,
        frames: &mut Frames,
    ) -> Result<(), Error> {
        let before = frames.len as usize;
        // The length is set again once all frames are found, so an error leaves no part of a path.
        frames.len = 0;
        let Walk { depth, kept } = match spot.scope {
            0 => Walk { depth: 0, kept: 0 },
            scope => self.walk_up(function, scope, before, frames)?,
        };
        let mut id = u64::from(function.origin.0);
        let mut origin = match frames.ready.get(kept) {
            _ if kept == 0 => *root,
            Some(ready) if kept < before => {
                id = ready.origin.into();
                ready.parts()
            }
            // The kept path is deeper than `ready` has frames: the edge that leads there names the origin.
            _ => {
                id = self.edge_parts(frames.edge(kept).unwrap_or(0).into())?.callee;
                self.origin_parts(id)?
            }
        };
        let start = (frames.first as usize).wrapping_add(kept);
        let Frames { ready, innermost, edges, .. } = &mut *frames;
        let steps = edges.get_mut(start..).and_then(|steps| steps.get_mut(..depth.wrapping_sub(kept)));
        for (level, step) in (kept..).zip(steps.unwrap_or_default()) {
            steps::step();
            // Not compared with the end of the origin's edges: that is in the next origin's record. `verify` compares them.
            let edge = origin.edges.cast_unsigned().wrapping_add(u64::from(*step));
            let call = self.edge_parts(edge)?;
            // EDGES has fewer than 2^32 records, and has this one.
            *step = edge as u32;
            // A deeper frame would only write the place that the innermost frame takes at the end.
            if let Some(ready) = ready.get_mut(level) {
                *ready = origin.frame(id, &call.place, SectionId::EDGES, edge as u32)?;
            }
            id = call.callee;
            origin = self.origin_parts(id)?;
        }
        let place = SourcePlace { line: spot.line, file: spot.file.into(), column: spot.column };
        *ready.get_mut(depth).unwrap_or(innermost) = origin.frame(id, &place, SectionId::ROWS, 0)?;
        frames.padding = false;
        (frames.name, frames.partial) = (function.name, function.partial);
        frames.len = (depth as u32).wrapping_add(1);
        Ok(())
    }

    /// Leaves, for each node from `scope` up to node 0 or to the path of `before` frames that `frames` has,
    /// which edge of its parent's origin it is.
    #[inline(always)]
    fn walk_up(
        &self,
        function: &Function,
        scope: u32,
        before: usize,
        frames: &mut Frames,
    ) -> Result<Walk, Error> {
        let wrong = || Error::new(SectionId::SCOPES, What::Depth, function.scopes);
        let mut node = scope;
        let mut slot = PATH;
        // The deepest node of the path before that the walk may still meet. If there is one, the path moves to the front: the
        // walk fills the end.
        let mut kept = before.saturating_sub(1);
        if kept > 0 && frames.first > 0 {
            frames.shift(frames.first as usize, 0);
            frames.first = 0;
        }
        let scopes =
            if function.scopes == 0 { None } else { Some(Scopes::open(self.scopes, function.scopes)?) };
        let scopes = scopes.filter(|scopes| scope <= scopes.len()).ok_or_else(wrong)?;
        let mut number = Scopes::block_of(node);
        let mut block = scopes.block(number).ok_or_else(|| scopes.refused(node))?;
        // A parent's number is less than its child's, so the walk ends. A path longer than `PATH` finds no slot and is an error.
        while node != 0 {
            steps::step();
            if kept > 0 {
                // Only in trees of more than a hundred levels do the two meet: the walk is about to write over the path before.
                if slot <= kept {
                    kept = 0;
                }
                // Nodes are numbered in preorder: on the way up the previous path, numbers decrease.
                let known = |kept: usize| frames.nodes.get(kept.wrapping_sub(1)).copied().unwrap_or(u32::MAX);
                while kept > 0 && known(kept) > node {
                    steps::step();
                    kept = kept.wrapping_sub(1);
                }
                if kept > 0 && known(kept) == node {
                    break;
                }
            }
            if Scopes::block_of(node) != number {
                number = Scopes::block_of(node);
                block = scopes.block(number).ok_or_else(|| scopes.refused(node))?;
            }
            let Some(scope) = scopes.in_block(&block, node) else { return Err(scopes.refused(node)) };
            slot = slot.wrapping_sub(1);
            let (Some(nodes), Some(edges)) = (frames.nodes.get_mut(slot), frames.edges.get_mut(slot)) else {
                return Err(wrong());
            };
            (*nodes, *edges) = (node, scope.edge);
            node = scope.parent;
        }
        // The paths have no inlined call in common: only the function, at depth 0.
        if node == 0 {
            kept = 0;
        }
        // `slot` is at most PATH: it began there and went down.
        let walked = PATH.wrapping_sub(slot);
        let depth = kept.wrapping_add(walked);
        // The header promises at most `max_depth` + 1 frames, and callers may have room for no more.
        if depth > self.header().max_depth as usize {
            return Err(wrong());
        }
        if kept > 0 {
            frames.shift(slot, kept);
        } else {
            frames.first = slot as u32;
        }
        Ok(Walk { depth, kept })
    }

    #[inline(always)]
    pub(crate) fn origin_parts(&self, id: u64) -> Result<OriginParts, Error> {
        let Some([name, file, line, edges]) = self.origins.columns_at(id) else {
            return Err(refused(&self.origins, SectionId::ORIGINS, id));
        };
        let number = id.cast_signed();
        let name = name.wrapping_add(number);
        let edges = edges.wrapping_add(number.wrapping_mul(origins::EDGES_EACH));
        Ok(OriginParts { name, file, line, edges })
    }

    #[inline(always)]
    fn edge_parts(&self, id: u64) -> Result<EdgeParts, Error> {
        const EDGES: SectionId = SectionId::EDGES;
        let Some([callee, line, file]) = self.edges.columns_at(id) else {
            return Err(refused(&self.edges, EDGES, id));
        };
        let column = match self.edges.columns() {
            edges::COLUMNS => 0,
            _ => small(self.edges.value(id as u32, edges::COLUMN).within(EDGES)?, EDGES, id as u32)?,
        };
        // Neither is compared with 2^32 here: ORIGINS has no record of such a callee, and `OriginParts::frame` refuses such a file.
        let place = SourcePlace { line: Some(line), file: file.cast_unsigned(), column };
        Ok(EdgeParts { callee: callee.cast_unsigned(), place })
    }

    /// The frames that the last lookup left, innermost first: the inlined calls at the address, then the
    /// function that holds the code. Ends after the first error.
    pub const fn frames<'f>(&'f self, frames: &'f Frames) -> FrameIter<'f, 'd> {
        FrameIter { file: self, frames, left: frames.len }
    }

    /// Reads a frame that was not prepared, from its own edge and the edge to the next frame.
    #[cold]
    fn far_frame(&self, frames: &Frames, depth: usize) -> Result<Ready, Error> {
        let edge = |depth: usize| {
            let id = frames.edge(depth).ok_or(Error::new(SectionId::EDGES, What::NoRecord, 0))?;
            Ok((id, self.edge_parts(id.into())?))
        };
        let (id, call) = edge(depth.wrapping_add(1))?;
        let origin = edge(depth)?.1.callee;
        self.origin_parts(origin)?.frame(origin, &call.place, SectionId::EDGES, id)
    }
}

/// Why a lookup cannot read a record of ORIGINS or EDGES.
#[cold]
#[inline(never)]
fn refused(table: &Table<'_>, section: SectionId, record: u64) -> Error {
    let FormatError { what, offset } = table.refused(record, usize::from(edges::COLUMNS));
    Error { section, what, offset }
}

/// A path that was found.
struct Walk {
    /// The depth of the innermost frame: that of the function is 0.
    depth: usize,
    /// The depth up to which the path is that of the row before.
    kept: usize,
}

/// The columns of an origin.
#[derive(Clone, Copy)]
pub(crate) struct OriginParts {
    name: i64,
    file: i64,
    line: i64,
    edges: i64,
}

struct EdgeParts {
    callee: u64,
    place: SourcePlace,
}

/// File, line and column, relative to an origin.
struct SourcePlace {
    line: Option<i64>,
    /// A file code.
    file: u64,
    column: u32,
}

impl OriginParts {
    /// The first of its edges.
    #[inline(always)]
    pub(crate) const fn first_edge(&self) -> u32 {
        self.edges as u32
    }

    /// The frame of this origin at a place in it; `section` and `record` have the place.
    #[inline(always)]
    fn frame(&self, id: u64, place: &SourcePlace, section: SectionId, record: u32) -> Result<Ready, Error> {
        let line = place.line.map_or(0, |line| self.line.wrapping_add(line));
        // Checks all of them at once: none may be negative, or have more than 32 bits.
        let all = self.name | self.file | self.line | self.edges | line;
        if all.cast_unsigned() | place.file > u32::MAX.into() {
            return Err(self.refused(id, place, line, section, record));
        }
        let start_file = self.file as u32;
        Ok(Ready {
            // ORIGINS has this record, and fewer than 2^32.
            origin: id as u32,
            // No table has a name 2^32 - 1, so the wrap to 0 (no name) loses none.
            name: (self.name as u32).wrapping_add(1),
            // 0: the origin's; 1: unknown; else 2 + file. Ready frames have 0: unknown; else 1 + file.
            file: if place.file == 0 { start_file } else { (place.file as u32).wrapping_sub(1) },
            line: line as u32,
            column: place.column,
            start_file,
            start_line: self.line as u32,
            edges: self.edges as u32,
        })
    }

    /// Which value it is that no file has.
    #[cold]
    fn refused(&self, id: u64, place: &SourcePlace, line: i64, section: SectionId, record: u32) -> Error {
        let own = [self.name, self.file, self.line, self.edges];
        let wrong = u32::try_from(line).is_err() || u32::try_from(place.file).is_err();
        if wrong && own.iter().all(|&value| u32::try_from(value).is_ok()) {
            return Error::new(section, What::Value, record.into());
        }
        Error::new(SectionId::ORIGINS, What::Value, id)
    }
}

/// Frames of an answer, innermost first; see [`SymbolFile::frames`].
#[derive(Clone)]
pub struct FrameIter<'f, 'd> {
    file: &'f SymbolFile<'d>,
    frames: &'f Frames,
    /// Frames that are still to come; the next one's depth is one less.
    left: u32,
}

impl Iterator for FrameIter<'_, '_> {
    type Item = Result<Frame, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let depth = self.left.checked_sub(1)?;
        let innermost = self.left == self.frames.len;
        self.left = depth;
        let ready = match self.frames.ready.get(depth as usize) {
            Some(ready) => ready,
            None if innermost => &self.frames.innermost,
            None => match self.file.far_frame(self.frames, depth as usize) {
                Ok(ready) => &{ ready },
                Err(error) => {
                    self.left = 0;
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
            is_outermost: depth == 0,
        };
        if frame.is_outermost
            && let Some(name) = self.frames.name
        {
            frame.name = self.file.non_empty(name);
        }
        // Padding is of no function: the answer is the row's file, line and column alone (schema, section 3).
        if self.frames.padding {
            frame.name = None;
            frame.start_file = None;
            frame.start_line = 0;
            frame.is_outermost = true;
            self.left = 0;
        }
        Some(Ok(frame))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left as usize;
        (left.min(1), Some(left))
    }
}

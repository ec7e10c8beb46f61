//! Reads the code of a `.fsym` as both formats need it: ranges with their functions, absolute lines, and inlined calls with
//! the ranges that they cover.
//!
//! Records of a `.fsym` refer to each other, so that a few bytes of a hostile file can say the same rows and names any number of times. A
//! [`Source`] counts what it reads, and ends with an error where that is out of proportion to the file.

use std::cell::Cell;

use foldsym_lookup::records::{EdgeId, FileCode, Names, Owner, Piece, RowsOffset};
use foldsym_lookup::{Error, FileId, FunctionId, NameId, OriginId, PieceId, SectionId, SymbolFile, What};
use rustc_hash::FxHashMap;

use crate::ExportError;

/// How much a byte of a `.fsym` may give: functions, rows, inlined calls, their ranges, calls of each function, and bytes of names and
/// paths. Each takes at most about 60 bytes of the output. Files of real programs give up to 16 of them, most of them bytes of readable
/// names.
const UNITS_A_BYTE: u64 = 128;

/// How much a `.fsym` of any size may give besides.
const FREE_UNITS: u64 = 1 << 20;

/// A range of code, and every function that has it.
pub(crate) struct Code {
    /// Image address.
    pub(crate) start: u64,
    /// Bytes.
    pub(crate) len: u64,
    /// In the order of answers: the first is the function that a plain lookup returns.
    pub(crate) functions: Vec<FunctionCode>,
}

/// A function at a range of code.
pub(crate) struct FunctionCode {
    pub(crate) id: FunctionId,
    pub(crate) name: Option<NameId>,
    /// In the order of their offsets, the first at 0. Empty if no line is known.
    pub(crate) rows: Vec<Line>,
    /// Node 0 is the function; parents precede their children. Empty if there are no rows.
    pub(crate) nodes: Vec<Node>,
}

/// From an offset on, up to the next one, the code has this line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// Bytes from the start of the range.
    pub(crate) offset: u64,
    pub(crate) file: Option<FileId>,
    /// From 1; 0 if none is known.
    pub(crate) line: u32,
}

/// A function, or a call that was inlined into it.
pub(crate) struct Node {
    pub(crate) parent: u32,
    pub(crate) name: Option<NameId>,
    /// The file of the call in the parent's source.
    pub(crate) call_file: Option<FileId>,
    /// The line of the call, from 1; 0 if none is known.
    pub(crate) call_line: u32,
    /// Half-open, in bytes from the start of the code; sorted, no two are adjacent. The ranges of a child are inside those of its parent.
    pub(crate) ranges: Vec<(u64, u64)>,
    file: Option<FileId>,
    line: u32,
    /// The origin's edges: the first one, and the one after the last.
    edges: (u32, u32),
    /// How many nodes it is below node 0.
    pub(crate) depth: u32,
}

/// A file that is read, and how much it may still give.
pub(crate) struct Source<'f> {
    file: &'f SymbolFile<'f>,
    /// Units, as [`UNITS_A_BYTE`] counts them.
    most: u64,
    left: Cell<u64>,
    /// The start of the range that is read.
    address: Cell<u64>,
}

impl<'f> Source<'f> {
    pub(crate) fn new(file: &'f SymbolFile<'f>) -> Self {
        let len = file.records().bytes().len() as u64;
        let most = len.saturating_mul(UNITS_A_BYTE).saturating_add(FREE_UNITS);
        Self { file, most, left: Cell::new(most), address: Cell::new(file.image_base().0) }
    }

    /// Counts units.
    ///
    /// # Errors
    /// They are more than the file may still give.
    pub(crate) fn spend(&self, units: u64) -> Result<(), ExportError> {
        let repeats = || ExportError::Repeats { address: self.address.get(), most: self.most };
        self.left.set(self.left.get().checked_sub(units).ok_or_else(repeats)?);
        Ok(())
    }

    /// Reads every range of code, in the order of addresses, and calls `take` for each.
    ///
    /// # Errors
    /// The file is damaged, or gives more than it may; or the errors of `take`.
    pub(crate) fn each(
        &self,
        mut take: impl FnMut(Code) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let mut end = self.file.image_base().0;
        for id in (0..self.file.records().piece_count()).map(PieceId) {
            let piece = self.file.records().piece(id)?;
            end = end_of(&piece, id, end)?;
            self.address.set(piece.start.0);
            if piece.body > 0 {
                take(self.code(&piece)?)?;
            }
        }
        Ok(())
    }

    fn code(&self, piece: &Piece) -> Result<Code, ExportError> {
        let mut functions = Vec::with_capacity(1);
        match piece.owner {
            Owner::Function(function) => {
                functions.push(self.function_code(function, piece.name, piece.rows, piece.body)?);
            }
            Owner::Group(group) => {
                for member in self.file.records().members(self.file.records().group(group)?) {
                    let member = member?;
                    let code = self.function_code(member.function, member.name, member.rows, piece.body)?;
                    functions.push(code);
                }
            }
        }
        Ok(Code { start: piece.start.0, len: piece.body, functions })
    }

    fn function_code(
        &self,
        id: FunctionId,
        symbol: Option<NameId>,
        rows: Option<RowsOffset>,
        len: u64,
    ) -> Result<FunctionCode, ExportError> {
        self.spend(1)?;
        let name = match symbol {
            Some(symbol) => Some(symbol),
            None => self.file.records().function_name(id)?,
        };
        let mut code = FunctionCode { id, name, rows: Vec::new(), nodes: Vec::new() };
        let Some(rows) = rows else { return Ok(code) };
        code.nodes = self.nodes(id)?;
        // Offset and scope of the row before.
        let mut open: Option<(u64, u32)> = None;
        for row in self.file.records().rows(rows)? {
            let row = row?;
            if row.offset >= len {
                break;
            }
            let before = open.replace((row.offset, row.scope));
            let damaged = |what| Error { section: SectionId::ROWS, what, offset: rows.0 };
            // The writers subtract each offset from the next offset and from the length, so offsets must grow.
            if before.map_or(row.offset != 0, |before| row.offset <= before.0) {
                return Err(damaged(What::Order).into());
            }
            if let Some((start, scope)) = before {
                cover(&mut code.nodes, scope, start, row.offset);
            }
            let Some(scope) = code.nodes.get(row.scope as usize) else {
                return Err(damaged(What::NoRecord).into());
            };
            // A row may add a range to each node that it is in.
            self.spend(1 + u64::from(scope.depth))?;
            let line = row.line.map_or(0, |line| i64::from(scope.line).saturating_add(line));
            code.rows.push(Line {
                offset: row.offset,
                file: path(row.file, scope.file),
                line: u32::try_from(line).map_err(|_| damaged(What::Value))?,
            });
        }
        if let Some((start, scope)) = open {
            cover(&mut code.nodes, scope, start, len);
        }
        Ok(code)
    }

    /// The inline tree of a function, without ranges.
    fn nodes(&self, id: FunctionId) -> Result<Vec<Node>, ExportError> {
        let records = self.file.records();
        let function = records.function(id)?;
        let origin = records.origin(function.origin)?;
        let mut nodes = vec![Node {
            parent: 0,
            name: None,
            call_file: None,
            call_line: 0,
            ranges: Vec::new(),
            file: origin.file,
            line: origin.line,
            edges: origin.edges,
            depth: 0,
        }];
        let Some(scopes) = records.scopes(&function)? else { return Ok(nodes) };
        // Many nodes have one origin.
        let mut origins: FxHashMap<OriginId, foldsym_lookup::records::Origin> = FxHashMap::default();
        for scope in scopes.iter() {
            let scope = scope?;
            self.spend(1)?;
            let damaged = |what| Error { section: SectionId::SCOPES, what, offset: function.scopes_offset() };
            // This node is not in the list yet, so every parent in the list has a lower number.
            let parent = nodes.get(scope.parent as usize).ok_or(damaged(What::Value))?;
            // Each row goes up to the function. Without this check, that could be as many steps as there are nodes.
            let depth = parent.depth + 1;
            if depth > self.file.header().max_depth {
                return Err(damaged(What::Depth).into());
            }
            let edge_id = parent.edges.0.saturating_add(scope.edge);
            if edge_id >= parent.edges.1 {
                return Err(damaged(What::Value).into());
            }
            let edge = records.edge(EdgeId(edge_id))?;
            let line = i64::from(parent.line).saturating_add(edge.line);
            let wrong_line = Error { section: SectionId::EDGES, what: What::Value, offset: edge_id.into() };
            let call_file = path(edge.file, parent.file);
            let callee = match origins.get(&edge.callee) {
                Some(origin) => *origin,
                None => *origins.entry(edge.callee).or_insert(records.origin(edge.callee)?),
            };
            nodes.push(Node {
                parent: scope.parent,
                name: callee.name,
                call_file,
                call_line: u32::try_from(line).map_err(|_| wrong_line)?,
                ranges: Vec::new(),
                file: callee.file,
                line: callee.line,
                edges: callee.edges,
                depth,
            });
        }
        Ok(nodes)
    }

    /// The bytes of a name; empty for `None`.
    pub(crate) fn name(&self, name: Option<NameId>) -> Result<Vec<u8>, ExportError> {
        self.text(self.file.records().names(), SectionId::NAMES, name.map(|name| name.0))
    }

    /// The bytes of a path; empty for `None`.
    pub(crate) fn path(&self, path: Option<FileId>) -> Result<Vec<u8>, ExportError> {
        self.text(self.file.records().files(), SectionId::FILES, path.map(|path| path.0))
    }

    fn text(&self, texts: &Names<'_>, section: SectionId, id: Option<u32>) -> Result<Vec<u8>, ExportError> {
        let mut bytes = Vec::new();
        let Some(id) = id else { return Ok(bytes) };
        // The bytes before the damage are another name.
        let damaged = Error { section, what: What::Name, offset: id.into() };
        texts.visit(id, |piece| bytes.extend_from_slice(piece)).ok_or(damaged)?;
        self.spend(bytes.len() as u64)?;
        Ok(bytes)
    }
}

/// Where a piece ends that begins at `before` or after. Both formats sort ranges by their starts and give each one its length.
fn end_of(piece: &Piece, id: PieceId, before: u64) -> Result<u64, Error> {
    let damaged = |what| Error { section: SectionId::PIECES, what, offset: id.0.into() };
    if piece.start.0 < before {
        return Err(damaged(What::Order));
    }
    piece.start.0.checked_add(piece.len()).ok_or(damaged(What::Value))
}

/// Adds a range to a node and to all nodes that it was inlined into.
fn cover(nodes: &mut [Node], scope: u32, start: u64, end: u64) {
    let mut at = scope;
    loop {
        let Some(node) = nodes.get_mut(at as usize) else { return };
        match node.ranges.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => node.ranges.push((start, end)),
        }
        // Parents have lower numbers than their children.
        if at == 0 || node.parent >= at {
            return;
        }
        at = node.parent;
    }
}

fn path(code: FileCode, of_origin: Option<FileId>) -> Option<FileId> {
    match code {
        FileCode::Origin => of_origin,
        FileCode::Unknown => None,
        FileCode::File(file) => Some(file),
    }
}

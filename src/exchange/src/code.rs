//! Reads the code of a `.fsym` as both formats need it: ranges with their functions, absolute lines, and inlined calls with
//! the ranges that they cover.

use foldsym_lookup::records::{EdgeId, FileCode, Owner, RowsOffset};
use foldsym_lookup::{Error, FileId, FunctionId, NameId, OriginId, PieceId, SectionId, SymbolFile, What};
use rustc_hash::FxHashMap;

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
}

/// Reads every range of code, in the order of addresses, and calls `take` for each.
///
/// # Errors
/// The file is damaged; or the errors of `take`.
pub(crate) fn each<E: From<Error>>(
    file: &SymbolFile<'_>,
    mut take: impl FnMut(Code) -> Result<(), E>,
) -> Result<(), E> {
    for id in (0..file.records().piece_count()).map(PieceId) {
        let piece = file.records().piece(id)?;
        if piece.body == 0 {
            continue;
        }
        let mut functions = Vec::with_capacity(1);
        match piece.owner {
            Owner::Function(function) => {
                functions.push(function_code(file, function, piece.name, piece.rows, piece.body)?);
            }
            Owner::Group(group) => {
                for member in file.records().members(file.records().group(group)?) {
                    let member = member?;
                    functions.push(function_code(
                        file,
                        member.function,
                        member.name,
                        member.rows,
                        piece.body,
                    )?);
                }
            }
        }
        take(Code { start: piece.start.0, len: piece.body, functions })?;
    }
    Ok(())
}

fn function_code(
    file: &SymbolFile<'_>,
    id: FunctionId,
    symbol: Option<NameId>,
    rows: Option<RowsOffset>,
    len: u64,
) -> Result<FunctionCode, Error> {
    let name = match symbol {
        Some(symbol) => Some(symbol),
        None => file.records().function_name(id)?,
    };
    let mut code = FunctionCode { id, name, rows: Vec::new(), nodes: Vec::new() };
    let Some(rows) = rows else { return Ok(code) };
    code.nodes = nodes(file, id)?;
    // Offset and scope of the row before.
    let mut open: Option<(u64, u32)> = None;
    for row in file.records().rows(rows)? {
        let row = row?;
        if row.offset >= len {
            break;
        }
        let before = open.replace((row.offset, row.scope));
        // The writers subtract each offset from the next one and from the length.
        if before.map_or(row.offset != 0, |before| row.offset <= before.0) {
            return Err(Error { section: SectionId::ROWS, what: What::Order, offset: rows.0 });
        }
        if let Some((start, scope)) = before {
            cover(&mut code.nodes, scope, start, row.offset);
        }
        // Node 0 is always there. A row with an unknown scope counts as the function's own.
        let scope = code.nodes.get(row.scope as usize).unwrap_or(&code.nodes[0]);
        let line = row.line.map_or(0, |line| i64::from(scope.line).saturating_add(line));
        code.rows.push(Line {
            offset: row.offset,
            file: path(row.file, scope.file),
            line: u32::try_from(line).unwrap_or(0),
        });
    }
    if let Some((start, scope)) = open {
        cover(&mut code.nodes, scope, start, len);
    }
    Ok(code)
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

/// The inline tree of a function, without ranges.
fn nodes(file: &SymbolFile<'_>, id: FunctionId) -> Result<Vec<Node>, Error> {
    let function = file.records().function(id)?;
    let origin = file.records().origin(function.origin)?;
    let mut nodes = vec![Node {
        parent: 0,
        name: None,
        call_file: None,
        call_line: 0,
        ranges: Vec::new(),
        file: origin.file,
        line: origin.line,
        edges: origin.edges,
    }];
    let Some(scopes) = file.records().scopes(&function)? else { return Ok(nodes) };
    // Many nodes have one origin.
    let mut origins: FxHashMap<OriginId, foldsym_lookup::records::Origin> = FxHashMap::default();
    for scope in scopes.iter() {
        let scope = scope?;
        let damaged = |what| Error { section: SectionId::SCOPES, what, offset: function.scopes_offset() };
        // The node is not in the list yet, so a parent that is found has a lower number.
        let parent = nodes.get(scope.parent as usize).ok_or(damaged(What::Value))?;
        let edge = parent.edges.0.saturating_add(scope.edge);
        if edge >= parent.edges.1 {
            return Err(damaged(What::Value));
        }
        let edge = file.records().edge(EdgeId(edge))?;
        let line = i64::from(parent.line).saturating_add(edge.line);
        let (call_file, call_line) = (path(edge.file, parent.file), u32::try_from(line).unwrap_or(0));
        let callee = match origins.get(&edge.callee) {
            Some(origin) => *origin,
            None => *origins.entry(edge.callee).or_insert(file.records().origin(edge.callee)?),
        };
        nodes.push(Node {
            parent: scope.parent,
            name: callee.name,
            call_file,
            call_line,
            ranges: Vec::new(),
            file: callee.file,
            line: callee.line,
            edges: callee.edges,
        });
    }
    Ok(nodes)
}

fn path(code: FileCode, of_origin: Option<FileId>) -> Option<FileId> {
    match code {
        FileCode::Origin => of_origin,
        FileCode::Unknown => None,
        FileCode::File(file) => Some(file),
    }
}

/// The bytes of a name; empty for `None`.
pub(crate) fn name_bytes(file: &SymbolFile<'_>, name: Option<NameId>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(name) = name {
        // Of a damaged name, the bytes before the damage are kept.
        let _ = file.records().names().visit(name.0, |piece| bytes.extend_from_slice(piece));
    }
    bytes
}

/// The bytes of a path; empty for `None`.
pub(crate) fn path_bytes(file: &SymbolFile<'_>, path: Option<FileId>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(path) = path {
        let _ = file.records().files().visit(path.0, |piece| bytes.extend_from_slice(piece));
    }
    bytes
}

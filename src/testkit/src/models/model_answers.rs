//! Says what a program's model answers, in the simplest way.

use foldsym_convert::internal::model::*;

/// One frame, all in plain bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFrame {
    pub name: Vec<u8>,
    /// Empty where unknown.
    pub file: Vec<u8>,
    pub line: u32,
    pub column: u16,
    /// Where the frame's origin is declared.
    pub declared: (Vec<u8>, u32),
}

/// The answer for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelAnswer {
    Nothing,
    /// Padding: one frame without a name.
    Padding(ModelFrame),
    Function(Vec<ModelFrame>, Vec<Vec<u8>>, Option<Reason>),
    Group(Vec<(u8, Vec<ModelFrame>, Vec<Vec<u8>>)>),
    GroupPadding(Vec<ModelFrame>),
}

/// Return address, caller, callee, how.
pub type Call = (u64, Option<Vec<u8>>, Vec<u8>, i64);

/// Call keys, with functions by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    pub calls: Vec<Call>,
    pub tails: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Keys {
    pub fn sorted(mut self) -> Keys {
        self.calls.sort();
        self.tails.sort();
        self
    }
}

pub fn keys(program: &Program<'_>, keys: &foldsym_convert::internal::model::Keys) -> Keys {
    let name = |id: FuncId| {
        let name = program.name_of(&program.functions[id.index()]);
        program.names[name.index()].to_vec()
    };
    let call = |key: &CallKey| (key.return_addr.0, key.caller.map(name), name(key.callee), key.how as i64);
    let tail = |key: &TailKey| (name(key.function), key.target.map(name));
    Keys { calls: keys.calls.iter().map(call).collect(), tails: keys.tails.iter().map(tail).collect() }
        .sorted()
}

/// Deepest scope that a file holds.
const MAX_DEPTH: usize = 255;

/// The answers at the addresses around which something changes.
pub fn answers(program: &Program<'_>, columns: bool) -> Vec<(u64, ModelAnswer)> {
    let mut out = Vec::new();
    for piece in &program.pieces {
        let (body, len) = (u64::from(piece.body), u64::from(piece.body) + u64::from(piece.pad));
        for offset in 0..len {
            let answer = match piece.owner {
                Owner::Function(function) => {
                    let mut frames =
                        frames(program, function, piece.symbol, piece.rows, offset as u32, columns);
                    match offset < body {
                        true => {
                            let reason = program.functions[function.index()].reason;
                            ModelAnswer::Function(frames, aliases(program, function), reason)
                        }
                        false => ModelAnswer::Padding(nameless(frames.swap_remove(0))),
                    }
                }
                Owner::Group(group) => {
                    let members = program.groups[group.index()].members.iter().map(|member| {
                        let frames = frames(
                            program,
                            member.function,
                            member.symbol,
                            member.rows,
                            offset as u32,
                            columns,
                        );
                        (member.how as u8, frames, aliases(program, member.function))
                    });
                    match offset < body {
                        true => ModelAnswer::Group(members.collect()),
                        false => ModelAnswer::GroupPadding(
                            members.map(|mut m| nameless(m.1.swap_remove(0))).collect(),
                        ),
                    }
                }
            };
            out.push((piece.start.0 + offset, answer));
        }
    }
    let covered = |address: u64| {
        program
            .pieces
            .iter()
            .any(|p| (p.start.0..p.start.0 + u64::from(p.body) + u64::from(p.pad)).contains(&address))
    };
    let ends = program.pieces.iter().map(|p| p.start.0 + u64::from(p.body) + u64::from(p.pad));
    out.extend(
        ends.chain([0, 0x3ff, 0x400, 0xfff]).filter(|&a| !covered(a)).map(|a| (a, ModelAnswer::Nothing)),
    );
    out
}

/// What padding shows of the innermost frame: the place that the line table gives it, and no function.
pub fn nameless(frame: ModelFrame) -> ModelFrame {
    ModelFrame { name: Vec::new(), declared: (Vec::new(), 0), ..frame }
}

fn aliases(program: &Program<'_>, function: FuncId) -> Vec<Vec<u8>> {
    let ids = &program.functions[function.index()].aliases;
    let mut names: Vec<Vec<u8>> = ids.iter().map(|id| program.names[id.index()].to_vec()).collect();
    names.sort();
    names.dedup();
    names
}

fn frames(
    program: &Program<'_>,
    function: FuncId,
    symbol: Option<NameId>,
    rows: Option<Rows>,
    offset: u32,
    columns: bool,
) -> Vec<ModelFrame> {
    let function = &program.functions[function.index()];
    let file_name = |file: Option<FileId>| file.map_or(Vec::new(), |f| program.files[f.index()].clone());
    let frame = |origin: OriginId, file: Option<FileId>, line: u32, column: u16| {
        let origin = program.origins[origin.index()];
        ModelFrame {
            name: program.names[origin.name.index()].to_vec(),
            file: file_name(file),
            line,
            column: if columns { column } else { 0 },
            declared: (file_name(origin.file), origin.line),
        }
    };
    let mut out = Vec::new();
    if let Some(Rows { unit, range, skip }) = rows {
        let (unit, map) = (&program.code[unit.index()], &program.maps[unit.index()]);
        let rows = unit.rows_of(range);
        let row = rows.iter().rev().find(|row| row.offset <= skip + offset).unwrap_or(&rows[0]);
        let scopes = match function.source {
            None => &[][..],
            Some(source) => {
                let range = unit.functions[source.function.index()].scopes.clone();
                &unit.scopes[range.start as usize..range.end as usize]
            }
        };
        // From the row's scope to the root.
        let mut path = vec![row.scope as usize];
        while let Some(node @ 1..) = path.last().copied() {
            path.push(scopes[node - 1].parent as usize);
        }
        let too_deep = path.len().saturating_sub(MAX_DEPTH + 1);
        path.drain(..too_deep);
        let edge = |node: usize| program.edges[map.edges[scopes[node - 1].edge.index()].index()];
        let mut at = (map.files.get(row.file as usize).copied(), row.line, row.column);
        for node in path {
            if node == 0 {
                out.push(frame(function.origin, at.0, at.1, at.2));
            } else {
                let call = edge(node);
                out.push(frame(call.callee, at.0, at.1, at.2));
                at = (call.file, call.line, call.column);
            }
        }
    } else {
        out.push(frame(function.origin, None, 0, 0));
    }
    if let Some(name) = symbol.or(function.symbol) {
        out.last_mut().unwrap().name = program.names[name.index()].to_vec();
    }
    out
}

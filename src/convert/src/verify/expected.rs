//! The answer of a program's model at an address.

use foldsym_format::header::MAX_DEPTH;
use foldsym_format::names::MAX_NAME;

use super::words::{Answer, FrameWords, MemberWords};
use crate::model::{FileId, FuncId, How, NONE16, NameId, OriginId, Owner, Piece, Program, Row, Rows, Scope};

/// The model, for look-ups in the order of addresses.
pub(super) struct Expected<'a, 'f> {
    program: &'a Program<'f>,
    columns: bool,
    /// All pieces before this one end at or before the last address that was looked up.
    next: usize,
}

impl<'a, 'f> Expected<'a, 'f> {
    pub(super) fn new(program: &'a Program<'f>, columns: bool) -> Self {
        Self { program, columns, next: 0 }
    }

    /// Adds the addresses at which an answer may begin.
    pub(super) fn cuts(&self, cuts: &mut Vec<u64>) {
        for piece in &self.program.pieces {
            let len = u64::from(piece.body) + u64::from(piece.pad);
            let mut add = |offset| cuts.extend(piece.start.0.checked_add(offset));
            add(0);
            add(u64::from(piece.body));
            add(len);
            let jobs: Vec<Option<Rows>> = match piece.owner {
                Owner::Function(_) => vec![piece.rows],
                Owner::Group(group) => {
                    self.program.groups[group.index()].members.iter().map(|member| member.rows).collect()
                }
            };
            for rows in jobs.into_iter().flatten() {
                let skip = u64::from(rows.skip);
                let offsets =
                    self.rows(rows).iter().filter_map(|row| u64::from(row.offset).checked_sub(skip));
                offsets.filter(|&offset| offset < len).for_each(&mut add);
            }
        }
    }

    /// The answer at an address, which must not be below the address of the call before.
    pub(super) fn at(&mut self, address: u64) -> Option<Answer<'a>> {
        let pieces = &self.program.pieces;
        let offset_in = |piece: &Piece| address.checked_sub(piece.start.0);
        let len = |piece: &Piece| u64::from(piece.body) + u64::from(piece.pad);
        // Addresses rise from call to call and pieces are sorted: one pass over the pieces for all addresses.
        while pieces.get(self.next).and_then(|piece| Some(offset_in(piece)? >= len(piece))) == Some(true) {
            self.next += 1;
        }
        let piece = pieces.get(self.next)?;
        let offset = offset_in(piece)?;
        let padding = offset >= u64::from(piece.body);
        let members = match piece.owner {
            Owner::Function(function) => {
                vec![self.member(function, None, piece.rows, piece.symbol, offset, padding)]
            }
            Owner::Group(group) => self.program.groups[group.index()]
                .members
                .iter()
                .map(|m| self.member(m.function, Some(m.how), m.rows, m.symbol, offset, padding))
                .collect(),
        };
        let start = piece.start.0.wrapping_sub(u64::from(piece.skip));
        Some(Answer { start, padding, folded: matches!(piece.owner, Owner::Group(_)), members })
    }

    fn member(
        &self,
        id: FuncId,
        how: Option<How>,
        rows: Option<Rows>,
        symbol: Option<NameId>,
        offset: u64,
        padding: bool,
    ) -> MemberWords<'a> {
        let function = &self.program.functions[id.index()];
        let mut frames = self.frames(id, rows, offset);
        if let (Some(frame), Some(name)) =
            (frames.last_mut(), symbol.or(function.primary).or(function.symbol))
        {
            frame.name = self.name(name);
        }
        if padding {
            // Padding has the file and line of the line table, and belongs to no function.
            frames.truncate(1);
            frames[0] = FrameWords { name: b"", start_file: b"", start_line: 0, ..frames[0].clone() };
        }
        let mut aliases: Vec<&[u8]> =
            self.program.other_names(function).map(|name| self.name(name)).collect();
        aliases.sort_unstable();
        aliases.dedup();
        MemberWords {
            how: how.map(How::text),
            partial: function.partial,
            reason: function.reason,
            aliases,
            frames,
        }
    }

    /// The frames at an offset of a piece, innermost first.
    fn frames(&self, id: FuncId, rows: Option<Rows>, offset: u64) -> Vec<FrameWords<'a>> {
        let function = &self.program.functions[id.index()];
        let Some(rows) = rows else { return vec![self.frame(function.origin, None, 0, 0)] };
        let map = &self.program.maps[rows.unit.index()];
        let at = offset + u64::from(rows.skip);
        let all = self.rows(rows);
        // The first row has offset 0, so at least one row is at or before `at`.
        let row = all[all.partition_point(|row| u64::from(row.offset) <= at) - 1];
        let scopes: &[Scope] = match function.source {
            Some(source) => {
                let unit = &self.program.code[source.unit.index()];
                unit.scopes_of(&unit.functions[source.function.index()])
            }
            None => &[],
        };
        let mut path = Vec::new();
        let mut node = row.scope;
        // Ends: the number of a parent is less than that of its node ([`Scope::parent`]).
        while node > 0 {
            let scope = scopes[node as usize - 1];
            path.push(self.program.edges[map.edges[scope.edge.index()].index()]);
            node = scope.parent;
        }
        // A file holds scopes down to `MAX_DEPTH`; the rows of deeper ones get the ancestor at that depth.
        path.drain(..path.len().saturating_sub(MAX_DEPTH as usize));
        let mut frames = Vec::with_capacity(path.len() + 1);
        let file = (row.file != NONE16).then(|| map.files[usize::from(row.file)]);
        let mut place = (file, row.line, row.column);
        for edge in path {
            frames.push(self.frame(edge.callee, place.0, place.1, place.2));
            place = (edge.file, edge.line, edge.column);
        }
        frames.push(self.frame(function.origin, place.0, place.1, place.2));
        frames
    }

    fn rows(&self, rows: Rows) -> &'a [Row] {
        self.program.code[rows.unit.index()].rows_of(rows.range)
    }

    fn frame(&self, origin: OriginId, file: Option<FileId>, line: u32, column: u16) -> FrameWords<'a> {
        let origin = self.program.origins[origin.index()];
        FrameWords {
            name: self.name(origin.name),
            file: self.path(file),
            line,
            column: if self.columns { column.into() } else { 0 },
            start_file: self.path(origin.file),
            start_line: origin.line,
        }
    }

    fn name(&self, id: NameId) -> &'a [u8] {
        stored(&self.program.names[id.index()])
    }

    fn path(&self, file: Option<FileId>) -> &'a [u8] {
        file.map_or(b"", |file| stored(&self.program.files[file.index()]))
    }
}

/// The part of a string that a file holds.
fn stored(string: &[u8]) -> &[u8] {
    &string[..string.len().min(MAX_NAME)]
}

//! Writes the tables that link functions, origins, edges and rows together, and the lists of the program's
//! loaded sections and segments (schema, sections 3 and 7).

use super::bits::put_varint;
use super::input::ImageInfo;
use super::outline::{ABSENT, Outline};
use super::plan::Plan;
use super::section::Section;
use super::starts;
use super::tables::Table;
use crate::model::{FuncId, Function, NameId, Owner, Piece, Program, Reason};
use foldsym_format::SectionId;
use foldsym_format::sections::functions::{PARTIAL, REASON};
use foldsym_format::sections::origins::EDGES_EACH;

/// The data that the tables are written from.
pub(super) struct RecordTables<'e> {
    pub(super) program: &'e Program<'e>,
    pub(super) outline: &'e Outline,
    pub(super) plan: &'e Plan,
    pub(super) columns: bool,
    pub(super) image_base: u64,
}

/// Members of groups, in the order of the file.
struct Groups {
    /// Index of each group's first member.
    firsts: Vec<u32>,
    /// The index of each member's job.
    members: Vec<u32>,
    /// For each piece its group, or [`ABSENT`].
    of_piece: Vec<u32>,
    counts: GroupCounts,
}

#[derive(Clone, Copy, Default)]
pub(super) struct GroupCounts {
    pub(super) groups: u64,
    pub(super) members: u64,
    /// Members of the largest group.
    pub(super) largest: u32,
}

impl RecordTables<'_> {
    /// ORIGINS and EDGES, which do not need the records of rows and scopes.
    pub(super) fn sources(&self) -> Vec<Section> {
        let Plan { origins, edges, first_edges, .. } = self.plan;
        let origins_table = || {
            let record = |i: usize| {
                let origin = origins[i];
                let [name, file, line, edges] =
                    [origin.name, origin.file, origin.line, first_edges[i]].map(i64::from);
                [name - i as i64, file, line, edges - EDGES_EACH * i as i64]
            };
            Table { count: origins.len(), record }.encode()
        };
        let edges_table = || {
            // A record of EDGES does not name its caller, and `Table` makes records in any order: so the line of each caller
            // is spread over its edges first.
            let mut declared = vec![0; edges.len()];
            for (i, origin) in origins.iter().enumerate() {
                declared[first_edges[i] as usize..first_edges[i + 1] as usize].fill(origin.line);
            }
            let record = |i: usize| {
                let edge = edges[i];
                let line = i64::from(edge.line) - i64::from(declared[i]);
                [i64::from(edge.callee), line, i64::from(edge.file), i64::from(edge.column)]
            };
            let count = edges.len();
            if self.columns {
                return Table { count, record }.encode();
            }
            let record = |i: usize| {
                let [callee, line, file, _] = record(i);
                [callee, line, file]
            };
            Table { count, record }.encode()
        };
        let (origins, edges) = rayon::join(origins_table, edges_table);
        vec![Section::new(SectionId::ORIGINS, origins), Section::new(SectionId::EDGES, edges)]
    }

    /// FUNCTIONS and ALIASES, which do not need the records of rows, and STARTS.
    pub(super) fn functions(&self, scopes: &[u64]) -> Vec<Section> {
        let (first_aliases, aliases) = self.aliases();
        let mut sections = vec![
            Section::new(SectionId::FUNCTIONS, self.functions_table(&first_aliases, scopes)),
            Section::new(SectionId::STARTS, self.starts()),
        ];
        if !aliases.is_empty() {
            let record = |i: usize| aliases[i];
            let table = Table { count: aliases.len(), record };
            sections.push(Section::new(SectionId::ALIASES, table.encode()));
        }
        sections
    }

    /// PIECES, GROUPS and MEMBERS.
    pub(super) fn pieces(&self, rows: &[u64]) -> (Vec<Section>, GroupCounts) {
        let groups = self.groups();
        let mut sections = vec![Section::new(SectionId::PIECES, self.pieces_table(&groups, rows))];
        if groups.counts.groups > 0 {
            let record = |i: usize| [i64::from(groups.firsts[i])];
            let table = Table { count: groups.firsts.len(), record };
            sections.push(Section::new(SectionId::GROUPS, table.encode()));
            let record = |i: usize| {
                let at = groups.members[i] as usize;
                let job = self.outline.jobs[at];
                let member = job.member(self.program);
                let name = member.map_or(0, |member| self.piece_name(member.function, member.symbol));
                [i64::from(job.function), rows[at] as i64, member.map_or(0, |member| member.how as i64), name]
            };
            let table = Table { count: groups.members.len(), record };
            sections.push(Section::new(SectionId::MEMBERS, table.encode()));
        }
        (sections, groups.counts)
    }

    fn groups(&self) -> Groups {
        let (mut firsts, mut listed, mut largest) = (Vec::new(), Vec::new(), 0);
        let mut of_piece = vec![ABSENT; self.program.pieces.len()];
        for (i, piece) in self.program.pieces.iter().enumerate() {
            // Numbered in the order of the pieces, not by `GroupId`: a group has one piece, so both number the same groups.
            if let Owner::Group(_) = piece.owner {
                let jobs = self.outline.piece_jobs[i]..self.outline.piece_jobs[i + 1];
                of_piece[i] = firsts.len() as u32;
                firsts.push(listed.len() as u32);
                largest = largest.max(jobs.end - jobs.start);
                listed.extend(jobs);
            }
        }
        let counts = GroupCounts { groups: firsts.len() as u64, members: listed.len() as u64, largest };
        Groups { firsts, members: listed, of_piece, counts }
    }

    /// 1 + the symbol of a piece; 0 if it has none, or has the name of its function.
    fn piece_name(&self, function: FuncId, symbol: Option<NameId>) -> i64 {
        let function = &self.program.functions[function.index()];
        let own = self.program.shown_name(function);
        match symbol {
            Some(symbol) if self.plan.name(symbol) == self.plan.name(own) => 0,
            symbol => self.plan.optional_name(symbol),
        }
    }

    fn pieces_table(&self, groups: &Groups, rows: &[u64]) -> Vec<u8> {
        let record = |i: usize| {
            let piece = &self.program.pieces[i];
            let job = self.outline.piece_jobs[i] as usize;
            let (owner, rows, name) = match (piece.owner, groups.of_piece[i]) {
                (Owner::Function(id), _) => {
                    (self.outline.jobs[job].function * 2, rows[job], self.piece_name(id, piece.symbol))
                }
                (Owner::Group(_), group) => (group * 2 + 1, 0, 0),
            };
            // The file has no lengths: a reader gets a piece's from the start of the next one. So only the gap and the
            // padding are stored, which are small numbers.
            let gap = self.next_start(i) - piece_end(piece);
            let [pad, skip, owner] = [piece.pad, piece.skip, owner].map(i64::from);
            [gap as i64, pad, skip, owner, rows as i64, name]
        };
        Table { count: self.program.pieces.len(), record }.encode()
    }

    /// Where the next piece starts, or the last one ends.
    fn next_start(&self, piece: usize) -> u64 {
        match self.program.pieces.get(piece + 1) {
            Some(next) => next.start.0,
            None => piece_end(&self.program.pieces[piece]),
        }
    }

    fn starts(&self) -> Vec<u8> {
        let pieces = &self.program.pieces;
        // `encode::check` chose a base that is not above the first piece.
        let starts: Vec<u64> = pieces.iter().map(|piece| piece.start.0 - self.image_base).collect();
        let end = pieces.last().map_or(0, |last| piece_end(last) - self.image_base);
        starts::encode(&starts, end, &starts::PIECES)
    }

    fn functions_table(&self, first_aliases: &[u32], scopes: &[u64]) -> Vec<u8> {
        let record = |i: usize| {
            let function = &self.program.functions[self.outline.functions[i].index()];
            let origin = &self.program.origins[function.origin.index()];
            // The difference is small: most symbols are like `foo.isra.0`, whose rank follows that of `foo`.
            let own = i64::from(self.plan.name(origin.name));
            let name = i64::from(self.plan.name(self.program.shown_name(function))) - own;
            [
                i64::from(self.plan.origin_ranks[function.origin.index()]),
                scopes[i] as i64,
                flags(function) as i64,
                name,
                i64::from(first_aliases[i]),
            ]
        };
        Table { count: self.outline.functions.len(), record }.encode()
    }

    /// For each function 0 or 1 + the index of its first alias; and the records of ALIASES.
    fn aliases(&self) -> (Vec<u32>, Vec<[i64; 2]>) {
        let mut aliases = Vec::new();
        let first = |id: &FuncId| {
            // Sorted by rank, which is the order of the names' bytes, so that the model's order does not matter.
            let function = &self.program.functions[id.index()];
            let mut names: Vec<u32> =
                self.program.other_names(function).map(|name| self.plan.name(name)).collect();
            names.sort_unstable();
            names.dedup();
            let first = aliases.len() as u32 + 1;
            let last = names.len().checked_sub(1)?;
            aliases
                .extend(names.iter().enumerate().map(|(i, &name)| [i64::from(name), i64::from(i == last)]));
            Some(first)
        };
        let firsts = self.outline.functions.iter().map(first).map(|first| first.unwrap_or(0)).collect();
        (firsts, aliases)
    }
}

/// The flags of a function's record.
fn flags(function: &Function) -> u64 {
    let partial = if function.partial { PARTIAL } else { 0 };
    partial | function.reason.map_or(0, Reason::code) << REASON
}

fn piece_end(piece: &Piece) -> u64 {
    piece.start.0 + u64::from(piece.body) + u64::from(piece.pad)
}

/// The list of the program's segments.
pub(super) fn loaded_segments(image: &ImageInfo, image_base: u64) -> Vec<u8> {
    let mut out = vec![u8::from(image.position_independent)];
    put_varint(&mut out, image.segments.len() as u64);
    for segment in &image.segments {
        put_varint(&mut out, segment.start.wrapping_sub(image_base));
        put_varint(&mut out, segment.len);
        put_varint(&mut out, segment.file_offset);
        put_varint(&mut out, segment.file_len);
        out.push(u8::from(segment.executable));
    }
    out
}

/// The list of the program's loaded sections.
pub(super) fn loaded_sections(image: &ImageInfo, image_base: u64) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, image.sections.len() as u64);
    for section in &image.sections {
        // The offset of a section below the base wraps (an x86-64 Linux kernel has one at 0 for per-CPU data).
        put_varint(&mut out, section.start.wrapping_sub(image_base));
        put_varint(&mut out, section.size);
        out.push(u8::from(section.executable));
        put_varint(&mut out, section.name.len() as u64);
        out.extend_from_slice(&section.name);
    }
    out
}

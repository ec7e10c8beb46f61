//! Gives ids to the names, files, origins and edges that the file holds.
//!
//! Each table is sorted by the contents of its records. So an id is a rank, and the file does not depend on the order in which
//! the program was read. Equal records share a rank. Edges that differ only in their columns are equal if the file keeps no
//! columns.

use super::outline::{ABSENT, Outline, extra_names};
use super::sort::{Buckets, sort_by_bytes};
use super::usage::{Marks, Usage};
use crate::model::{Edge, FileId, NameId, Program};
use foldsym_format::names::MAX_NAME;
use foldsym_format::records::file_code::{FIRST, ORIGIN, UNKNOWN};

/// Byte strings in the order of the file.
pub(super) struct Strings {
    /// Rank by the id in the model, or [`ABSENT`].
    pub(super) ranks: Vec<u32>,
    /// For each rank an id in the model.
    pub(super) order: Vec<u32>,
}

/// The part of a string that a file holds: its first [`MAX_NAME`] bytes.
pub(super) fn stored(string: &[u8]) -> &[u8] {
    &string[..string.len().min(MAX_NAME)]
}

impl Strings {
    fn of<'s>(count: usize, used: &Marks, string: impl Fn(u32) -> &'s [u8] + Sync) -> Strings {
        let string = |id| stored(string(id));
        let mut order: Vec<u32> = used.iter().collect();
        sort_by_bytes(&mut order, string);
        let mut ranks = vec![ABSENT; count];
        let mut distinct = 0;
        for i in 0..order.len() {
            // Strings that differ only behind the bytes that a file holds become one.
            if distinct == 0 || string(order[i]) != string(order[distinct - 1]) {
                order[distinct] = order[i];
                distinct += 1;
            }
            // Only entries below `distinct`, which is at most `i + 1`, are overwritten, so `order[i]` is still its own id.
            ranks[order[i] as usize] = distinct as u32 - 1;
        }
        order.truncate(distinct);
        Strings { ranks, order }
    }
}

/// A record of ORIGINS without its column `edges`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RankedOrigin {
    pub(super) name: u32,
    /// 0: unknown; else 1 + file.
    pub(super) file: u32,
    pub(super) line: u32,
}

/// Codes a file relative to an origin's file: 0 the origin's, 1 unknown, else 2 + file. Both are given as in ORIGINS (0 unknown, else
/// 1 + file).
pub(super) fn file_code(file: u32, origin: u32) -> u32 {
    const { assert!(ORIGIN == 0 && UNKNOWN == 1 && FIRST == 2) };
    if file == origin { 0 } else { file + 1 }
}

/// A record of EDGES; the line is not yet relative to the caller's.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RankedEdge {
    pub(super) line: u32,
    /// 0: the caller's; 1: unknown; else 2 + file.
    pub(super) file: u32,
    pub(super) column: u16,
    pub(super) callee: u32,
}

/// Everything that has an id in the file, except functions.
pub(super) struct Plan {
    pub(super) names: Strings,
    pub(super) files: Strings,
    pub(super) origins: Vec<RankedOrigin>,
    /// Rank of an origin by its id in the model, or [`ABSENT`].
    pub(super) origin_ranks: Vec<u32>,
    pub(super) edges: Vec<RankedEdge>,
    /// Rank of an edge by its id in the model, or [`ABSENT`].
    pub(super) edge_ranks: Vec<u32>,
    /// For each origin its first edge, and one past the last of all.
    pub(super) first_edges: Vec<u32>,
}

impl Plan {
    pub(super) fn of(program: &Program<'_>, outline: &Outline, usage: &Usage, columns: bool) -> Plan {
        let origins = Marks::new(program.origins.len());
        for id in &outline.functions {
            origins.set(program.functions[id.index()].origin.0);
        }
        for edge in usage.edges.iter() {
            let Edge { caller, callee, file, .. } = program.edges[edge as usize];
            origins.set(caller.0);
            origins.set(callee.0);
            file.iter().for_each(|file| usage.files.set(file.number()));
        }
        let names = Marks::new(program.names.len());
        for id in origins.iter() {
            let origin = program.origins[id as usize];
            names.set(origin.name.number());
            origin.file.iter().for_each(|file| usage.files.set(file.number()));
        }
        // Symbols, aliases and imports have no origin, but the tables refer to their names as well.
        extra_names(program, outline).for_each(|(_, name)| names.set(name.number()));
        program.imports.iter().for_each(|(_, name)| names.set(name.number()));
        for variable in &program.variables {
            names.set(variable.name.number());
            variable.file.iter().for_each(|file| usage.files.set(file.number()));
        }

        let (names, files) = rayon::join(
            || Strings::of(program.names.len(), &names, |id| &program.names[id as usize]),
            || Strings::of(program.files.len(), &usage.files, |id| &program.files[id as usize]),
        );
        let (origins, origin_ranks) = rank_origins(program, &origins, &names, &files);
        let mut plan = Plan {
            names,
            files,
            origins,
            origin_ranks,
            edges: Vec::new(),
            edge_ranks: vec![ABSENT; program.edges.len()],
            first_edges: Vec::new(),
        };
        plan.rank_edges(program, &usage.edges, columns);
        plan
    }

    pub(super) fn name(&self, id: NameId) -> u32 {
        self.names.ranks[id.index()]
    }

    pub(super) fn file(&self, id: FileId) -> u32 {
        self.files.ranks[id.index()]
    }

    /// The value of a column for an optional name: 0 for none, else 1 + name.
    pub(super) fn optional_name(&self, id: Option<NameId>) -> i64 {
        id.map_or(0, |id| i64::from(self.name(id)) + 1)
    }

    /// A file relative to an origin: 0 the origin's, 1 unknown, else 2 + file.
    pub(super) fn relative_file(&self, file: Option<FileId>, origin: u32) -> u32 {
        let file = file.map_or(0, |id| self.file(id) + 1);
        file_code(file, self.origins[origin as usize].file)
    }

    fn rank_edges(&mut self, program: &Program<'_>, used: &Marks, columns: bool) {
        let ranked = |id: u32| {
            let edge = program.edges[id as usize];
            let caller = self.origin_ranks[edge.caller.index()];
            let ranked = RankedEdge {
                line: edge.line,
                file: self.relative_file(edge.file, caller),
                // Without columns two calls of one function on one line are one edge, and the scopes of both merge.
                column: if columns { edge.column } else { 0 },
                callee: self.origin_ranks[edge.callee.index()],
            };
            (caller, (ranked, id))
        };
        let caller = |id: &u32| self.origin_ranks[program.edges[*id as usize].caller.index()];
        let mut callers = Buckets::by(self.origins.len(), used.iter(), caller, ranked);
        let mut edges: Vec<RankedEdge> = Vec::with_capacity(callers.items.len());
        let mut first_edges = Vec::with_capacity(self.origins.len() + 1);
        for caller in 0..self.origins.len() {
            let first = edges.len();
            first_edges.push(first as u32);
            let bucket = callers.bucket_mut(caller);
            bucket.sort_unstable();
            for &(edge, id) in &*bucket {
                // A record does not have its caller, so the last edge of the caller before may be equal to the first of
                // this one. They are two edges.
                if edges.len() == first || edges.last() != Some(&edge) {
                    edges.push(edge);
                }
                self.edge_ranks[id as usize] = edges.len() as u32 - 1;
            }
        }
        first_edges.push(edges.len() as u32);
        self.edges = edges;
        self.first_edges = first_edges;
    }
}

fn rank_origins(
    program: &Program<'_>,
    used: &Marks,
    names: &Strings,
    files: &Strings,
) -> (Vec<RankedOrigin>, Vec<u32>) {
    let ranked = |id: u32| {
        let origin = program.origins[id as usize];
        let name = names.ranks[origin.name.index()];
        let file = origin.file.map_or(0, |file| files.ranks[file.index()] + 1);
        (name, (RankedOrigin { name, file, line: origin.line }, id))
    };
    let name = |id: &u32| names.ranks[program.origins[*id as usize].name.index()];
    // Names have their ranks by now, so the buckets are in order, and each has few origins to sort.
    let mut by_name = Buckets::by(names.order.len(), used.iter(), name, ranked);
    let mut origins: Vec<RankedOrigin> = Vec::with_capacity(by_name.items.len());
    let mut ranks = vec![ABSENT; program.origins.len()];
    for name in 0..names.order.len() {
        let bucket = by_name.bucket_mut(name);
        bucket.sort_unstable();
        for &(origin, id) in &*bucket {
            if origins.last() != Some(&origin) {
                origins.push(origin);
            }
            ranks[id as usize] = origins.len() as u32 - 1;
        }
    }
    (origins, ranks)
}

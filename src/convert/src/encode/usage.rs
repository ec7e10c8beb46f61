//! Marks the nodes of inline trees, the edges and the files that the kept rows need.
//!
//! A node is needed if a row refers to it or to a node below it. The marks of edges and files are bits. Many threads set them,
//! and no thread clears one, so the result does not depend on the order.

use super::outline::{Job, Outline, window};
use crate::model::{NONE16, Program, Source};
use crate::util::fit::fit;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Functions of one task: enough that starting it costs little, few enough that the threads finish together.
pub(super) const FUNCTIONS_PER_TASK: usize = 256;

/// A set of ids that threads fill together.
pub(super) struct Marks(Vec<AtomicU64>);

impl Marks {
    pub(super) fn new(len: usize) -> Marks {
        Marks((0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn set(&self, id: u32) {
        let (word, bit) = (&self.0[id as usize / 64], 1 << (id % 64));
        // Most ids are set many times; a read does not take the cache line from other threads.
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    /// The ids that are set, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + Clone {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut word = word.load(Relaxed);
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(i as u32 * 64 + bit)
            })
        })
    }
}

/// The nodes that are needed, for [`FUNCTIONS_PER_TASK`] functions. The functions of a large program have 25 million nodes.
#[derive(Default)]
pub(super) struct NeededNodes {
    /// For each function a bit for each of its nodes, from node 0 on. Each function begins with a byte of its own.
    bits: Vec<u8>,
}

impl NeededNodes {
    /// Adds the nodes of the next function.
    fn push(&mut self, nodes: &[bool]) {
        let bits = nodes.chunks(8).map(|nodes| {
            nodes.iter().zip(0..).fold(0, |bits, (&is_needed, bit)| bits | u8::from(is_needed) << bit)
        });
        self.bits.extend(bits);
    }

    /// The nodes of the functions, in their order.
    pub(super) fn reader(&self) -> NeededReader<'_> {
        NeededReader { bits: &self.bits }
    }
}

/// Reads [`NeededNodes`].
pub(super) struct NeededReader<'b> {
    /// The nodes of the functions that were not read yet.
    bits: &'b [u8],
}

impl NeededReader<'_> {
    /// Fills `nodes` with the flags of the next function, which has `count` nodes: they are indexed by their numbers in the model.
    pub(super) fn read(&mut self, count: usize, nodes: &mut Vec<bool>) {
        let (of_function, rest) = self.bits.split_at(count.div_ceil(8));
        self.bits = rest;
        nodes.clear();
        for bits in of_function {
            nodes.extend([0, 1, 2, 3, 4, 5, 6, 7].map(|bit| bits >> bit & 1 != 0));
        }
        nodes.truncate(count);
    }
}

/// The edges, files and nodes that the kept rows need, and sums over all rows.
pub(super) struct Usage {
    pub(super) edges: Marks,
    pub(super) files: Marks,
    /// An element for each task.
    pub(super) nodes: Vec<NeededNodes>,
    /// The row offsets in their pieces, combined by OR: all are multiples of 1 << (its trailing zeros).
    pub(super) offsets: u32,
    pub(super) rows: u64,
    pub(super) scopes: u64,
    /// Rows with a scope that their function does not have; they get the function itself.
    pub(super) stray_scopes: u64,
}

struct UsageTask {
    nodes: NeededNodes,
    offsets: u32,
    rows: u64,
    scopes: u64,
    stray_scopes: u64,
}

impl Usage {
    pub(super) fn of(program: &Program<'_>, outline: &Outline) -> Usage {
        let edges = Marks::new(program.edges.len());
        let files = Marks::new(program.files.len());
        let tasks: Vec<UsageTask> = outline
            .functions
            .par_chunks(FUNCTIONS_PER_TASK)
            .enumerate()
            .map(|(task, functions)| {
                let mut sums = UsageTask {
                    nodes: NeededNodes::default(),
                    offsets: 0,
                    rows: 0,
                    scopes: 0,
                    stray_scopes: 0,
                };
                let first = task * FUNCTIONS_PER_TASK;
                let mut nodes = Vec::new();
                for function in first..first + functions.len() {
                    function_needs(program, outline, function, &edges, &files, &mut nodes, &mut sums);
                    sums.nodes.push(&nodes);
                }
                // Kept until the trees are built, and up to a half of a list that grew is unused.
                fit(&mut sums.nodes.bits);
                sums
            })
            .collect();
        let mut usage =
            Usage { edges, files, nodes: Vec::new(), offsets: 0, rows: 0, scopes: 0, stray_scopes: 0 };
        for task in tasks {
            usage.nodes.push(task.nodes);
            usage.offsets |= task.offsets;
            usage.rows += task.rows;
            usage.scopes += task.scopes;
            usage.stray_scopes += task.stray_scopes;
        }
        usage
    }
}

/// Marks the nodes, edges and files that a function's rows refer to. Fills `nodes` with a flag for each node of the function.
fn function_needs(
    program: &Program<'_>,
    outline: &Outline,
    function: usize,
    edges: &Marks,
    files: &Marks,
    nodes: &mut Vec<bool>,
    sums: &mut UsageTask,
) {
    let source = program.functions[outline.functions[function].index()].source;
    let scopes = source.map_or(&[][..], |source| {
        let unit = &program.code[source.unit.index()];
        unit.scopes_of(&unit.functions[source.function.index()])
    });
    nodes.clear();
    nodes.resize(scopes.len() + 1, false);
    sums.scopes += scopes.len() as u64;
    nodes[0] = true;

    for job in outline.jobs_of(function) {
        let needs = job_needs(program, job, nodes, files);
        sums.offsets |= needs.offsets;
        sums.rows += needs.rows;
        sums.stray_scopes += needs.stray;
    }
    // A parent precedes its children: one walk from the last node up carries every mark to the root.
    let map = source.map(|Source { unit, .. }| program.maps[unit.index()].edges.whole());
    for (node, scope) in scopes.iter().enumerate().rev() {
        if nodes[node + 1] {
            if let Some(parent) = nodes.get_mut(scope.parent as usize) {
                *parent = true;
            }
            if let Some(map) = map {
                edges.set(map[scope.edge.index()].0);
            }
        }
    }
}

/// What the rows of a job are.
struct JobNeeds {
    /// Their offsets, combined by OR.
    offsets: u32,
    /// How many they are.
    rows: u64,
    /// How many of them refer to a node that the function does not have.
    stray: u64,
}

/// Marks the nodes and files that a job's rows refer to.
fn job_needs(program: &Program<'_>, job: Job, nodes: &mut [bool], files: &Marks) -> JobNeeds {
    let found = job.rows(program);
    let rows = window(program, job, found);
    let (mut offsets, mut stray, mut last_file) = (0, 0, NONE16);
    let skip = found.map_or(0, |rows| rows.skip);
    for row in rows {
        // The first row may begin before the piece. It is stored with offset 0, which any unit divides.
        offsets |= row.offset.saturating_sub(skip);
        match nodes.get_mut(row.scope as usize) {
            Some(node) => *node = true,
            None => stray += 1,
        }
        // Adjacent rows mostly have one file: each run of them looks it up once.
        if row.file != last_file {
            last_file = row.file;
            if let Some(file) =
                found.and_then(|rows| program.maps[rows.unit.index()].files.get(row.file as usize))
            {
                files.set(file.number());
            }
        }
    }
    JobNeeds { offsets, rows: rows.len() as u64, stray }
}

#[cfg(test)]
mod tests {
    use super::NeededNodes;

    #[test]
    fn nodes_are_read_as_they_were_pushed() {
        let functions: Vec<Vec<bool>> =
            [1, 7, 8, 9, 0, 16, 21].map(|count| (0..count).map(|node| node % 3 == 0).collect()).into();
        let mut needed = NeededNodes::default();
        functions.iter().for_each(|nodes| needed.push(nodes));
        let (mut reader, mut nodes) = (needed.reader(), vec![true; 3]);
        for function in functions {
            reader.read(function.len(), &mut nodes);
            assert_eq!(nodes, function);
        }
    }
}

//! Writes the inline trees of functions: SCOPES (schema, section 6).
//!
//! The writer drops nodes that no row needs. It merges siblings with the same edge (one callee, called from one place): a loop
//! that was unrolled four times has each call four times, and the answer is the same for all four. Merging goes from the root
//! down, since merging two nodes makes siblings of their children, which may merge in turn.
//!
//! So the new tree is a trie over the paths of edges. It is built without a map. [`MergedNodes`] is the set of old nodes that
//! became one new node. Their children are gathered, sorted by edge and cut into runs, each of which becomes a new node. Every
//! old node is gathered once, into one arena. The sets wait on a stack, last child first, so that they are taken and
//! numbered in preorder. Children stay in the order of their first DIE, which is nearly that of the addresses, so that
//! the rows of a block have scopes with similar numbers.

use super::bits::{BitWriter, put_varint, width_of};
use super::dedup::{Record, Store};
use super::outline::{ABSENT, Outline};
use super::plan::Plan;
use super::usage::{FUNCTIONS_PER_TASK, NeededNodes};
use crate::model::{Program, Scope};
use crate::util::fit::fit;
use crate::util::scratch::{ScratchFile, ScratchPart};
use crate::util::spill::SpillVec;
use foldsym_format::header::MAX_DEPTH;
use foldsym_format::records::scopes as records;
use rayon::prelude::*;

/// Nodes of a block. A record with more nodes has a directory of blocks.
const NODES_PER_BLOCK: usize = records::BLOCK_NODES as usize;

/// The reduced trees of all functions.
pub(super) struct Trees<'f> {
    tasks: Vec<TreeTask<'f>>,
}

/// Tasks of a large program whose trees move to the scratch file together.
const TASKS_PER_WAVE: usize = 64;

/// The trees of [`FUNCTIONS_PER_TASK`] functions, one after the other.
#[derive(Default)]
struct TreeTask<'f> {
    /// New node by old node, for functions with fewer than 2^16 old nodes: nearly all.
    narrow: SpillVec<'f, u16>,
    /// The same for the other functions.
    wide: SpillVec<'f, u32>,
    /// Origin by new node.
    origins: SpillVec<'f, u32>,
    /// For each function the start of its part of `narrow`, of `wide` and of `origins`.
    starts: SpillVec<'f, [usize; 3]>,
    bytes: SpillVec<'f, u8>,
    /// For each function the end of its record in `bytes`, and the record's hash.
    records: SpillVec<'f, (usize, u64)>,
    counts: TreeCounts,
}

/// Counts of the nodes that were stored, and of those that could not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeCounts {
    pub(super) nodes: u64,
    pub(super) max_depth: u32,
    /// Nodes deeper than [`MAX_DEPTH`]; their rows get the ancestor at that depth. All nodes that a tree of that depth lost count here.
    pub(super) too_deep: u64,
    /// Nodes whose edge does not begin at their parent's origin; their rows get the parent.
    pub(super) foreign: u64,
}

/// The tree of one function.
#[derive(Clone, Copy)]
pub(super) struct Tree<'t> {
    narrow: &'t [u16],
    wide: &'t [u32],
    origins: &'t [u32],
}

impl Tree<'_> {
    /// The node of the file that a node of the model became.
    pub(super) fn node(&self, old: u32) -> u32 {
        let old = old as usize;
        // A function has its nodes in one of the two lists, and its part of the other list is empty. An id that neither has
        // means a row with a stray scope, which gets node 0.
        let narrow = self.narrow.get(old).map(|&node| node.into());
        narrow.or_else(|| self.wide.get(old).copied()).unwrap_or(0)
    }

    /// The origin of a node of the file.
    pub(super) fn origin(&self, node: u32) -> u32 {
        self.origins[node as usize]
    }
}

impl<'f> Trees<'f> {
    /// The tree of a function of the file.
    pub(super) fn of(&self, function: u32) -> Tree<'_> {
        let task = &self.tasks[function as usize / FUNCTIONS_PER_TASK];
        let i = function as usize % FUNCTIONS_PER_TASK;
        let [narrow, wide, origins] = task.starts[i];
        let ends = [task.narrow.len(), task.wide.len(), task.origins.len()];
        let [narrow_end, wide_end, origins_end] = task.starts.get(i + 1).copied().unwrap_or(ends);
        Tree {
            narrow: &task.narrow[narrow..narrow_end],
            wide: &task.wide[wide..wide_end],
            origins: &task.origins[origins..origins_end],
        }
    }

    /// Reduces the trees of all functions to the nodes that are needed.
    pub(super) fn build(
        program: &Program<'f>,
        outline: &Outline,
        needed: Vec<NeededNodes>,
        plan: &Plan,
    ) -> Trees<'f> {
        let scratch_file = program.scratch();
        let (mut tasks, mut needed) = (Vec::with_capacity(needed.len()), needed.into_iter());
        // Without a scratch file all trees stay in memory anyway, so one wave keeps all threads busy.
        let at_once = if scratch_file.is_some() { TASKS_PER_WAVE } else { needed.len().max(1) };
        for wave in outline.functions.chunks(at_once * FUNCTIONS_PER_TASK) {
            let needed: Vec<NeededNodes> = needed.by_ref().take(at_once).collect();
            let made = wave.par_chunks(FUNCTIONS_PER_TASK).zip(needed).map(|(functions, needed)| {
                let mut task = TreeTask::default();
                let mut scratch = Scratch::default();
                let (mut reader, mut nodes) = (needed.reader(), Vec::new());
                for id in functions {
                    let function = &program.functions[id.index()];
                    let root = plan.origin_ranks[function.origin.index()];
                    let (scopes, edges) = match function.source {
                        None => Default::default(),
                        Some(source) => {
                            let unit = &program.code[source.unit.index()];
                            let edges = &program.maps[source.unit.index()].edges;
                            (unit.scopes_of(&unit.functions[source.function.index()]), edges.whole())
                        }
                    };
                    let edge = |scope: &Scope| plan.edge_ranks[edges[scope.edge.index()].index()];
                    reader.read(scopes.len() + 1, &mut nodes);
                    task.add(root, scopes, edge, &nodes, plan, &mut scratch);
                }
                task.fit();
                task
            });
            let mut made: Vec<TreeTask<'_>> = made.collect();
            if let Some(scratch) = scratch_file {
                spill(&mut made, scratch);
            }
            tasks.append(&mut made);
        }
        Trees { tasks }
    }

    /// The section, and the offset of each function's record.
    pub(super) fn section(&self) -> (Store, Vec<u64>) {
        let mut store = Store::new();
        let mut offsets = Vec::new();
        for task in &self.tasks {
            let mut start = 0;
            for &(end, hash) in task.records.iter() {
                offsets.push(store.add(Record { bytes: &task.bytes[start..end], hash }));
                start = end;
            }
        }
        (store, offsets)
    }

    pub(super) fn counts(&self) -> TreeCounts {
        self.tasks.iter().fold(TreeCounts::default(), |sum, TreeTask { counts, .. }| TreeCounts {
            nodes: sum.nodes + counts.nodes,
            max_depth: sum.max_depth.max(counts.max_depth),
            too_deep: sum.too_deep + counts.too_deep,
            foreign: sum.foreign + counts.foreign,
        })
    }
}

/// Moves the trees to the scratch file. If the disk is full, they stay in memory.
fn spill<'f>(tasks: &mut [TreeTask<'f>], scratch: &'f ScratchFile) {
    let bytes = tasks.iter().map(|TreeTask { narrow, wide, origins, starts, bytes, records, .. }| {
        ScratchPart::bytes_of(narrow.own())
            + ScratchPart::bytes_of(wide.own())
            + ScratchPart::bytes_of(origins.own())
            + ScratchPart::bytes_of(starts.own())
            + ScratchPart::bytes_of(bytes.own())
            + ScratchPart::bytes_of(records.own())
    });
    let Ok(mut part) = scratch.part(bytes.sum()) else { return };
    for task in tasks {
        task.narrow.spill(&mut part, scratch);
        task.wide.spill(&mut part, scratch);
        task.origins.spill(&mut part, scratch);
        task.starts.spill(&mut part, scratch);
        task.bytes.spill(&mut part, scratch);
        task.records.spill(&mut part, scratch);
    }
}

/// Up to this many children are compared pairwise, not sorted.
const FEW: usize = 8;

/// Old nodes that become one new node: a range of the arena.
#[derive(Clone, Copy)]
struct MergedNodes {
    start: usize,
    end: usize,
    /// New node of the parent.
    parent: u32,
    depth: u32,
    edge: u32,
}

/// A node as the file has it.
#[derive(Clone, Copy)]
struct StoredNode {
    /// Its number, minus its parent's, minus 1.
    above: u32,
    /// The index of its edge among those of the parent's origin.
    edge: u32,
}

/// Buffers that a task reuses from function to function.
#[derive(Default)]
struct Scratch {
    /// Needed old nodes by old parent: those of node `p` are `children[child_ends[p - 1]..child_ends[p]]`.
    children: Vec<u32>,
    child_ends: Vec<u32>,
    arena: Vec<u32>,
    stack: Vec<MergedNodes>,
    /// Edges and children of the nodes that are being merged.
    gathered: Vec<(u32, u32)>,
    /// Runs of `gathered` with one edge: the first old node, the range.
    runs: Vec<(u32, usize, usize)>,
    nodes: Vec<StoredNode>,
    /// New node by old node.
    new: Vec<u32>,
}

impl Scratch {
    /// Lists the children of each old node.
    fn list_children(&mut self, scopes: &[Scope], needed: &[bool]) {
        let kept = || {
            let all = scopes.iter().enumerate().map(|(i, scope)| (scope.parent as usize, i as u32 + 1));
            all.filter(|&(parent, node)| needed[node as usize] && parent < node as usize)
        };
        self.child_ends.clear();
        self.child_ends.resize(scopes.len() + 2, 0);
        // Counts are one place further, so that their sums are the starts of the children; the loop below advances these to the ends.
        kept().for_each(|(parent, _)| self.child_ends[parent + 1] += 1);
        for i in 1..self.child_ends.len() {
            self.child_ends[i] += self.child_ends[i - 1];
        }
        self.children.clear();
        self.children.resize(self.child_ends[scopes.len() + 1] as usize, 0);
        for (parent, node) in kept() {
            let at = &mut self.child_ends[parent];
            self.children[*at as usize] = node;
            *at += 1;
        }
    }

    /// Gathers the children of `olds`, which became node `parent`, merges them by edge, and puts them on the stack.
    /// `edges` are the edges of the node's origin; a child with another edge is left out.
    fn push_children(
        &mut self,
        olds: std::ops::Range<usize>,
        parent: u32,
        depth: u32,
        edges: std::ops::Range<u32>,
        edge: impl Fn(u32) -> u32,
    ) {
        self.gathered.clear();
        let single = olds.len() == 1;
        for at in olds {
            let old = self.arena[at] as usize;
            let start = if old == 0 { 0 } else { self.child_ends[old - 1] as usize };
            for &child in &self.children[start..self.child_ends[old] as usize] {
                let edge = edge(child);
                // The file numbers an edge among those of its caller. So an edge of another caller has no number here
                // ([`TreeCounts::foreign`]).
                if edges.contains(&edge) {
                    self.gathered.push((edge, child));
                }
            }
        }
        // Most nodes have no child, or few children, all from different calls, in the order of their DIEs already.
        let gathered = &self.gathered[..];
        if gathered.is_empty() {
            return;
        }
        let repeats = |i: usize| gathered[..i].iter().any(|child| child.0 == gathered[i].0);
        if single && gathered.len() <= FEW && !(1..gathered.len()).any(repeats) {
            for &(edge, child) in gathered.iter().rev() {
                let start = self.arena.len();
                self.arena.push(child);
                self.stack.push(MergedNodes { start, end: start + 1, parent, depth, edge });
            }
            return;
        }
        self.gathered.sort_unstable();
        self.runs.clear();
        let mut start = 0;
        for run in self.gathered.chunk_by(|a, b| a.0 == b.0) {
            self.runs.push((run[0].1, start, start + run.len()));
            start += run.len();
        }
        // By the first old node of each run. Rows of neighbouring addresses have nodes with similar numbers only in the
        // order of the DIEs, not in that of the edges.
        self.runs.sort_unstable();
        for &(_, run_start, run_end) in self.runs.iter().rev() {
            let start = self.arena.len();
            let run = &self.gathered[run_start..run_end];
            self.arena.extend(run.iter().map(|&(_, child)| child));
            self.stack.push(MergedNodes { start, end: self.arena.len(), parent, depth, edge: run[0].0 });
        }
    }
}

impl TreeTask<'_> {
    /// No tree is added any more.
    fn fit(&mut self) {
        fit(self.narrow.own_mut());
        fit(self.wide.own_mut());
        fit(self.origins.own_mut());
        fit(self.starts.own_mut());
        fit(self.bytes.own_mut());
        fit(self.records.own_mut());
    }

    /// Reduces the tree of the next function, whose origin is `root`.
    fn add(
        &mut self,
        root: u32,
        scopes: &[Scope],
        edge: impl Fn(&Scope) -> u32,
        needed: &[bool],
        plan: &Plan,
        scratch: &mut Scratch,
    ) {
        let origins_at = self.origins.len();
        self.starts.push([self.narrow.len(), self.wide.len(), origins_at]);
        scratch.new.clear();
        scratch.new.resize(scopes.len() + 1, ABSENT);
        scratch.new[0] = 0;
        self.origins.push(root);
        scratch.nodes.clear();
        let mut deepest = 0;
        if needed[1..].contains(&true) {
            scratch.list_children(scopes, needed);
            scratch.arena.clear();
            scratch.arena.push(0);
            let edge_of = |node: u32| edge(&scopes[node as usize - 1]);
            let edges =
                |origin: u32| plan.first_edges[origin as usize]..plan.first_edges[origin as usize + 1];
            scratch.push_children(0..1, 0, 1, edges(root), edge_of);
            // Ends: each needed node is gathered once, when its parent is taken, since `list_children` lists only children
            // that come after their parents.
            while let Some(MergedNodes { start, end, parent, depth, edge }) = scratch.stack.pop() {
                let node = scratch.nodes.len() as u32 + 1;
                let caller = self.origins[origins_at + parent as usize];
                let first_edge = edges(caller).start;
                scratch.nodes.push(StoredNode { above: node - parent - 1, edge: edge - first_edge });
                for &old in &scratch.arena[start..end] {
                    scratch.new[old as usize] = node;
                }
                let origin = plan.edges[edge as usize].callee;
                self.origins.push(origin);
                deepest = deepest.max(depth);
                // The limit of the format (schema, section 2): a reader has room for so many frames and one more.
                if depth < MAX_DEPTH {
                    scratch.push_children(start..end, node, depth + 1, edges(origin), edge_of);
                }
            }
        }
        let new = &mut scratch.new;
        let mut lost = 0;
        for (i, scope) in scopes.iter().enumerate() {
            // A parent precedes its children in the model, so it has its new node by now.
            if new[i + 1] == ABSENT {
                new[i + 1] = if scope.parent as usize <= i { new[scope.parent as usize] } else { 0 };
                lost += u64::from(needed[i + 1]);
            }
        }
        // Two bytes for each node of nearly all functions: those of a large program have 25 million nodes.
        match new.len() <= usize::from(u16::MAX) {
            true => self.narrow.own_mut().extend(new.iter().map(|&node| node as u16)),
            false => self.wide.own_mut().extend_from_slice(new),
        }
        let counts = &mut self.counts;
        *if deepest == MAX_DEPTH { &mut counts.too_deep } else { &mut counts.foreign } += lost;
        counts.max_depth = counts.max_depth.max(deepest);
        counts.nodes += scratch.nodes.len() as u64;
        let start = self.bytes.len();
        put_tree(&scratch.nodes, self.bytes.own_mut());
        let Record { hash, .. } = Record::of(&self.bytes.own()[start..]);
        self.records.push((self.bytes.len(), hash));
    }
}

/// Appends the record of a tree; nothing for a function without nodes.
fn put_tree(nodes: &[StoredNode], out: &mut Vec<u8>) {
    if nodes.is_empty() {
        return;
    }
    put_varint(out, nodes.len() as u64);
    if nodes.len() <= NODES_PER_BLOCK {
        return put_block(nodes, out);
    }
    let mut blocks = Vec::new();
    let mut places = Vec::new();
    for block in nodes.chunks(NODES_PER_BLOCK) {
        places.push(blocks.len() as u64);
        put_block(block, &mut blocks);
    }
    // The first block is at 0, so its place is not stored.
    put_places(&places[1..], out);
    out.extend_from_slice(&blocks);
}

fn put_places(places: &[u64], out: &mut Vec<u8>) {
    let width = width_of(places.last().copied().unwrap_or(0));
    out.push(width as u8);
    let mut bits = BitWriter::new(out);
    places.iter().for_each(|&place| bits.put(place, width));
    bits.finish();
}

fn put_block(nodes: &[StoredNode], out: &mut Vec<u8>) {
    let widest =
        |column: fn(&StoredNode) -> u32| width_of(u64::from(nodes.iter().map(column).max().unwrap_or(0)));
    let (parent_width, edge_width) = (widest(|node| node.above), widest(|node| node.edge));
    out.extend_from_slice(
        &((parent_width << records::PARENT_WIDTH_SHIFT | edge_width << records::EDGE_WIDTH_SHIFT) as u16)
            .to_le_bytes(),
    );
    let mut bits = BitWriter::new(out);
    for &StoredNode { above, edge } in nodes {
        bits.put(u64::from(above), parent_width);
        bits.put(u64::from(edge), edge_width);
    }
    bits.finish();
}

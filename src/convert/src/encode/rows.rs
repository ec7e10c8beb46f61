//! Writes the rows of pieces and of members of groups: ROWS (schema, section 5).
//!
//! Many threads make the records independently from the rows as they were read: cut to the piece, with the nodes of the reduced
//! tree, lines relative to the declaration of the node's origin, and equal neighbours merged. One thread then concatenates the
//! records in the order of pieces, and stores equal ones once.
//!
//! Members of a group run the same instructions, so their rows start at the same offsets, while the lines differ. Instead of its
//! own offsets, a member's block may store a distance: it has the offsets of the block so many bytes before it. The distance is
//! known only when all earlier records have their places. So a member's record that equals no earlier one is made a second time
//! then.

use super::bits::{put_varint, varint_len};
use super::dedup::{Record, Store};
use super::outline::{Job, Outline, window};
use super::plan::{Plan, file_code};
use super::row_block::{Cell, put_block, put_directory};
use super::scopes::{Tree, Trees};
use crate::model::{NONE16, Owner, Program, Rows};
use crate::util::hash::{HashMap, HashSet};
use foldsym_format::records::rows as records;
use rayon::prelude::*;

/// Rows of each block of a record except the last.
const ROWS_PER_BLOCK: usize = records::BLOCK_ROWS as usize;
/// Row records that one task makes.
const JOBS_PER_TASK: usize = 256;
/// Tasks of one wave: enough that all threads are busy until near its end.
const TASKS_PER_WAVE: usize = 64;

/// The data that the records are made from.
pub(super) struct RowSource<'e> {
    pub(super) program: &'e Program<'e>,
    pub(super) outline: &'e Outline,
    pub(super) plan: &'e Plan,
    pub(super) trees: &'e Trees<'e>,
    pub(super) columns: bool,
    pub(super) unit_log2: u32,
}

/// Counts of the stored rows and blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowCounts {
    /// Rows of distinct records.
    pub(super) rows: u64,
    pub(super) blocks: u64,
    /// Blocks that use the offsets of another block.
    pub(super) shared_blocks: u64,
}

/// The records of some jobs.
#[derive(Default)]
pub(super) struct RowTask {
    bytes: Vec<u8>,
    records: Vec<JobRecord>,
}

/// The record of one job: a range of the task's bytes. Equal records of a task share a range. That is frequent: members of a group
/// are adjacent jobs, and copies of one function have the same rows.
#[derive(Clone, Copy)]
struct JobRecord {
    start: usize,
    end: usize,
    hash: u64,
    rows: u32,
}

impl RowTask {
    /// The records, each with its number of rows.
    fn records(&self) -> impl Iterator<Item = (Record<'_>, u64)> {
        self.records.iter().map(|&JobRecord { start, end, hash, rows }| {
            (Record { bytes: &self.bytes[start..end], hash }, u64::from(rows))
        })
    }
}

impl RowSource<'_> {
    /// Makes the record of every job and concatenates the records. While one wave of records is concatenated, the next one is made:
    /// no more than two are in memory.
    pub(super) fn section(&self) -> RowSection {
        let mut section = RowSection {
            store: Store::new(),
            offsets: vec![0; self.outline.jobs.len()],
            counts: RowCounts::default(),
            with_foreign_offsets: HashSet::default(),
            pattern: None,
            piece: 0,
            job: 0,
        };
        let mut made = Vec::new();
        for wave in self.outline.jobs.chunks(JOBS_PER_TASK * TASKS_PER_WAVE) {
            let make = || wave.par_chunks(JOBS_PER_TASK).map(|jobs| self.task(jobs)).collect();
            let (next, ()) = rayon::join(make, || section.add(self, &made));
            made = next;
        }
        section.add(self, &made);
        section
    }

    /// Makes the records of some jobs.
    fn task(&self, jobs: &[Job]) -> RowTask {
        let mut task = RowTask::default();
        let mut cells = Vec::new();
        let mut blocks = BlockList::default();
        // For each hash the range of the first record that has it.
        let mut seen: HashMap<u64, (usize, usize)> = HashMap::default();
        for job in jobs {
            let start = task.bytes.len();
            self.cells(*job, &mut cells);
            put_record(&cells, self.columns, &mut blocks, &mut task);
            let (Record { hash, .. }, end) = (Record::of(&task.bytes[start..]), task.bytes.len());
            // Only the first record of a hash is remembered. If another one has the hash by chance, copies of it stay in
            // the task, and `Store` finds that they are equal.
            let first = *seen.entry(hash).or_insert((start, end));
            let is_known = first.0 < start && task.bytes[first.0..first.1] == task.bytes[start..];
            if is_known {
                task.bytes.truncate(start);
            }
            let (start, end) = if is_known { first } else { (start, end) };
            task.records.push(JobRecord { start, end, hash, rows: cells.len() as u32 });
        }
        task
    }

    /// Turns a job's rows into cells.
    fn cells(&self, job: Job, cells: &mut Vec<Cell>) {
        cells.clear();
        let found = job.rows(self.program);
        let Some(Rows { unit, skip, .. }) = found else { return };
        let files = &self.program.maps[unit.index()].files;
        let tree = self.trees.of(job.function);
        let (mut scope, mut file) = (ScopeOrigin::of(0, tree, self.plan), (NONE16, 0));
        for row in window(self.program, job, found) {
            // The first row may begin before the piece, and holds from the start of the piece on.
            let offset = if cells.is_empty() { 0 } else { (row.offset - skip) >> self.unit_log2 };
            // Adjacent rows mostly have the same scope and file.
            if row.scope != scope.old {
                scope = ScopeOrigin::of(row.scope, tree, self.plan);
            }
            if row.file != file.0 {
                file = (row.file, files.get(row.file as usize).map_or(0, |&id| self.plan.file(id) + 1));
            }
            let cell = Cell {
                offset,
                scope: scope.node,
                line: (row.line != 0).then(|| i64::from(row.line) - scope.line),
                file: file_code(file.1, scope.file),
                column: if self.columns { row.column } else { 0 },
            };
            // Rows of the model may differ only in what the file does not keep: a column, or two nodes that became one.
            if cells.last().is_none_or(|last| Cell { offset, ..*last } != cell) {
                cells.push(cell);
            }
        }
    }

    /// The blocks of a job whose record is at `offset` and stores its own offsets.
    fn pattern(&self, job: usize, offset: u64) -> Pattern {
        let mut cells = Vec::new();
        self.cells(self.outline.jobs[job], &mut cells);
        let (mut blocks, mut places) = (Vec::new(), Vec::new());
        for block in cells.chunks(ROWS_PER_BLOCK) {
            places.push(blocks.len() as u64);
            put_block(block, self.columns, None, &mut blocks);
        }
        let mut head = Vec::new();
        put_head(&cells, &places, &mut head);
        let places = places.iter().map(|place| offset + head.len() as u64 + place).collect();
        Pattern { cells, places }
    }

    /// The record of a job for offset `at` of the section, and the number of its blocks that refer to the offsets of a block of
    /// `pattern`: the blocks that get smaller by it. `None` if there is no such block, or if the length of the record's directory
    /// does not settle: the distances depend on that length, and it depends on the lengths of their codes.
    fn with_offsets_of(&self, job: usize, pattern: &Pattern, at: u64) -> Option<(Vec<u8>, u64)> {
        let mut cells = Vec::new();
        self.cells(self.outline.jobs[job], &mut cells);
        let mut head_len = varint_len((cells.len() as u64) << records::HEAD_SHIFT);
        let (mut head, mut blocks, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut candidate = Vec::new();
        for _attempt in 0..4 {
            head.clear();
            blocks.clear();
            places.clear();
            let mut shared = 0;
            for (i, block) in cells.chunks(ROWS_PER_BLOCK).enumerate() {
                let place = blocks.len();
                places.push(place as u64);
                put_block(block, self.columns, None, &mut blocks);
                if pattern.has_offsets_of(i, block) {
                    // The pattern's record is before this one, so the distance is positive.
                    let back = at + (head_len + place) as u64 - pattern.places[i];
                    candidate.clear();
                    put_block(block, self.columns, Some(back), &mut candidate);
                    // The few offsets of a short block may take fewer bytes than a long distance.
                    if candidate.len() < blocks.len() - place {
                        blocks.truncate(place);
                        blocks.extend_from_slice(&candidate);
                        shared += 1;
                    }
                }
            }
            put_head(&cells, &places, &mut head);
            if head.len() == head_len {
                head.extend_from_slice(&blocks);
                return (shared > 0).then_some((head, shared));
            }
            head_len = head.len();
        }
        None
    }
}

/// The section of row records, and what concatenating them needs from one record to the next.
pub(super) struct RowSection {
    pub(super) store: Store,
    /// By job: the offset of its record.
    pub(super) offsets: Vec<u64>,
    pub(super) counts: RowCounts,
    /// Offsets of records whose blocks refer to blocks of other records.
    with_foreign_offsets: HashSet<u64>,
    /// The blocks of the first member of the current group, if another member asked for them.
    pattern: Option<Pattern>,
    /// The piece of the next record, and its job.
    piece: usize,
    job: usize,
}

impl RowSection {
    /// Adds the records of a wave, which are in the order of the jobs.
    fn add(&mut self, source: &RowSource<'_>, tasks: &[RowTask]) {
        let RowSource { program, outline, .. } = source;
        for (record, rows) in tasks.iter().flat_map(RowTask::records) {
            // The next piece begins here: the pattern belongs to the group of the piece before.
            while self.job >= outline.piece_jobs[self.piece + 1] as usize {
                self.piece += 1;
                self.pattern = None;
            }
            let first = outline.piece_jobs[self.piece] as usize;
            let is_group = matches!(program.pieces[self.piece].owner, Owner::Group(_));
            let of_first = (is_group && self.job != first).then_some(first);
            self.offsets[self.job] = self.offset(source, record, rows, of_first);
            self.job += 1;
        }
    }

    /// The offset of the next record; 0 for an empty one. `first` is the job of the group's first member, if the record is that of
    /// another member.
    fn offset(&mut self, source: &RowSource<'_>, record: Record<'_>, rows: u64, first: Option<usize>) -> u64 {
        if record.bytes.is_empty() {
            return 0;
        }
        if let Some(offset) = self.store.find(record) {
            return offset;
        }
        self.counts.rows += rows;
        self.counts.blocks += rows.div_ceil(ROWS_PER_BLOCK as u64);
        // The first member's record must store its own offsets, or blocks would refer to blocks that refer to others.
        let own = |first: &usize| {
            self.offsets[*first] != 0 && !self.with_foreign_offsets.contains(&self.offsets[*first])
        };
        if let Some(first) = first.filter(own) {
            let at = self.offsets[first];
            let pattern = self.pattern.get_or_insert_with(|| source.pattern(first, at));
            let next = self.store.next_offset();
            if let Some((bytes, blocks)) = source.with_offsets_of(self.job, pattern, next)
                && bytes.len() < record.bytes.len()
            {
                let offset = self.store.add_as(record, &bytes);
                self.with_foreign_offsets.insert(offset);
                self.counts.shared_blocks += blocks;
                return offset;
            }
        }
        self.store.add_as(record, record.bytes)
    }
}

/// The node of a scope, and the line and file of its origin, to which its rows are relative.
struct ScopeOrigin {
    /// Number of the scope in the model.
    old: u32,
    node: u32,
    line: i64,
    /// 0: unknown; else 1 + file.
    file: u32,
}

impl ScopeOrigin {
    fn of(old: u32, tree: Tree<'_>, plan: &Plan) -> ScopeOrigin {
        let node = tree.node(old);
        let origin = plan.origins[tree.origin(node) as usize];
        ScopeOrigin { old, node, line: i64::from(origin.line), file: origin.file }
    }
}

/// A record whose offsets the blocks of another record may use.
struct Pattern {
    cells: Vec<Cell>,
    /// Offset of each block in the section.
    places: Vec<u64>,
}

impl Pattern {
    /// Whether block `i` has the same offsets, counted from its first row, as `block`.
    fn has_offsets_of(&self, i: usize, block: &[Cell]) -> bool {
        let Some(own) = self.cells.chunks(ROWS_PER_BLOCK).nth(i) else { return false };
        let relative = |cells: &[Cell], row: usize| cells[row].offset - cells[0].offset;
        own.len() == block.len() && (1..own.len()).all(|row| relative(own, row) == relative(block, row))
    }
}

/// The blocks of a record, and the place of each relative to the first.
#[derive(Default)]
struct BlockList {
    bytes: Vec<u8>,
    places: Vec<u64>,
}

/// Appends the record of the rows with their own offsets; nothing if there are no rows. `blocks` is a buffer.
fn put_record(cells: &[Cell], columns: bool, blocks: &mut BlockList, task: &mut RowTask) {
    if cells.len() <= ROWS_PER_BLOCK {
        if !cells.is_empty() {
            put_head(cells, &[], &mut task.bytes);
            put_block(cells, columns, None, &mut task.bytes);
        }
        return;
    }
    let BlockList { bytes, places } = blocks;
    bytes.clear();
    places.clear();
    for block in cells.chunks(ROWS_PER_BLOCK) {
        places.push(bytes.len() as u64);
        put_block(block, columns, None, bytes);
    }
    put_head(cells, places, &mut task.bytes);
    task.bytes.extend_from_slice(bytes);
}

/// Appends the part of a record before its first block; `places` are the blocks' places relative to the first block.
fn put_head(cells: &[Cell], places: &[u64], out: &mut Vec<u8>) {
    let many = cells.len() > ROWS_PER_BLOCK;
    let head = ((cells.len() as u64) << records::HEAD_SHIFT) | if many { records::HEAD_MANY } else { 0 };
    put_varint(out, head);
    if many {
        put_directory(cells.chunks(ROWS_PER_BLOCK).map(|block| block[0].offset), places, out);
    }
}

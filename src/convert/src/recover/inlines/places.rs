//! Finds the places of inlined code in a function of which only the lines and the lengths of the inlined code are
//! known.
//!
//! # The idea
//! Each inlined subroutine without a place is a run of whole line rows (a compiler that changes the scope begins a
//! row), of a known length, inside its caller and disjoint from its siblings. A row has a file and a line, and code
//! of a function has lines of the file that declares it, from its declaration on. So a row that its caller cannot
//! have written lies in a subroutine inlined there. A run with a row that no function of the inlined subtree can have
//! written is not one of its places.
//!
//! Rows of line 0 are the exception: between two scopes without a line no row need begin. So a run may also begin or
//! end inside such a row if its other end determines where. A run with both ends inside such rows has no certain
//! place.
//!
//! # The method
//! Each subroutine begins with all runs that fit it: its *places*. Then runs are removed that no solution can have:
//! runs outside every place of the caller, runs that leave no place for an inlined callee, runs that overlap a
//! sibling whose place is known, and runs that leave some row to no function. That is repeated until nothing changes.
//! No run of a solution is ever removed. So if one place per subroutine remains and these fit together, that is the
//! only solution. Otherwise the function gets no inlined code.
//!
//! # Termination
//! Each round removes a place or is the last. A budget bounds the work of all rounds as well.

use std::ops::Range;

use crate::model::OffsetRange;
use crate::recover::inlines::function::Ranges;
use crate::recover::limits::MAX_CELLS;
use crate::util::budget::Budget;

/// A line row of a function.
#[derive(Clone, Copy)]
pub(crate) struct UnplacedRow {
    /// Bytes from the start of the function.
    pub(crate) offset: u32,
    /// 0 if no row of the line table covers the code.
    pub(crate) file: u32,
    pub(crate) line: u32,
}

/// A function with inlined code of unknown places.
pub(crate) struct UnplacedFunction<'a> {
    pub(crate) rows: Vec<UnplacedRow>,
    /// Bytes of the function.
    pub(crate) size: u32,
    /// Node 0 is the function; the parent of a node comes before it.
    pub(crate) nodes: Vec<InlineNode<'a>>,
}

/// A function or an inlined subroutine.
pub(crate) struct InlineNode<'a> {
    pub(crate) parent: u32,
    /// Length in bytes of its only range; 0 if `ranges` has its ranges.
    pub(crate) len: u32,
    pub(crate) ranges: &'a [OffsetRange],
    /// File and line of its declaration; file 0 if unknown.
    pub(crate) file: u32,
    pub(crate) line: u32,
    /// Siblings that are one call at one line need not be distinguished.
    pub(crate) call: u32,
}

/// A run of rows, by their indexes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    first: u32,
    /// The index after its last row.
    end: u32,
}

impl Run {
    fn is_inside(self, around: Run) -> bool {
        around.first <= self.first && self.end <= around.end
    }

    /// The indexes of its rows.
    fn rows(self) -> Range<usize> {
        self.first as usize..self.end as usize
    }
}

/// The callees that can cover a row.
#[derive(Clone, Copy)]
struct RowCover {
    /// How many they are.
    callees: u32,
    /// The last one.
    last: u32,
}

struct Solver<'a> {
    nodes: &'a [InlineNode<'a>],
    children: Vec<Vec<u32>>,
    /// Offsets of the rows, and the end.
    starts: Vec<u32>,
    /// The offsets among them that lie inside a row of line 0, sorted.
    inside_zero: Vec<u32>,
    /// By node, by row: whether the node itself may have written the row.
    own: Vec<bool>,
    /// By node, by row: how many rows before it no function of the subtree can have written.
    foreign: Vec<u32>,
    /// By node: its possible runs. A node with several ranges is `fixed` and has all of its runs.
    places: Vec<Vec<Run>>,
    fixed: Vec<bool>,
    /// Work that is left in the budget.
    budget: &'a Budget,
}

/// The ranges of each node of a function except the first, as offsets; `None` if they are not the only possible ones,
/// or the budget is used up.
pub(crate) fn places(function: &UnplacedFunction<'_>, budget: &Budget) -> Option<Ranges> {
    let mut solver = Solver::new(function, budget)?;
    while solver.round()? {}
    solver.solution()
}

impl<'a> Solver<'a> {
    fn new(function: &'a UnplacedFunction<'a>, budget: &'a Budget) -> Option<Self> {
        let nodes = &function.nodes[..];
        let mut starts: Vec<u32> = function.rows.iter().map(|row| row.offset).collect();
        starts.extend(nodes.iter().flat_map(|node| node.ranges).flat_map(|range| [range.start, range.end]));
        starts.push(function.size);
        starts.sort_unstable();
        starts.dedup();
        // Rows or ranges past the end are damage, and so is code before the first row ([`Row::offset`](crate::model::Row)
        // begins at 0).
        if starts.last() != Some(&function.size) || starts.first() != Some(&0) {
            return None;
        }
        let inside_zero = inside_zero(function, &starts, budget)?;
        starts.extend(&inside_zero);
        starts.sort_unstable();
        let rows = starts.len() - 1;
        let cells = nodes.len().checked_mul(rows + 1).filter(|&cells| cells <= MAX_CELLS)?;
        budget.spend(cells).then_some(())?;
        let at = |start: u32| {
            let after = function.rows.partition_point(|row| row.offset <= start);
            after.checked_sub(1).map_or((0, 0), |at| (function.rows[at].file, function.rows[at].line))
        };
        let lines: Vec<(u32, u32)> = starts[..rows].iter().map(|&start| at(start)).collect();
        let mut own = Vec::with_capacity(nodes.len() * rows);
        for node in nodes {
            own.extend(lines.iter().map(|&(file, line)| {
                line == 0 || file == 0 || node.file == 0 || (file == node.file && line >= node.line)
            }));
        }
        let mut tree = own.clone();
        let mut children = vec![Vec::new(); nodes.len()];
        // Callees come after their callers: in reverse, the rows of a subtree are complete before they are added to its caller's.
        for (index, node) in nodes.iter().enumerate().skip(1).rev() {
            let parent = node.parent as usize;
            if parent >= index {
                return None;
            }
            children[parent].push(index as u32);
            let (before, after) = tree.split_at_mut(index * rows);
            for (up, own) in before[parent * rows..][..rows].iter_mut().zip(after) {
                // A caller counts with its callees: a row of an inlined callee is inside of every run of the caller.
                *up |= *own;
            }
        }
        // Sums up to each row: two of them show whether any row of a run is foreign.
        let mut foreign = Vec::with_capacity(cells);
        for subtree in tree.chunks_exact(rows) {
            let mut count = 0;
            foreign.push(0);
            foreign.extend(subtree.iter().map(|&fits| {
                count += u32::from(!fits);
                count
            }));
        }
        let mut solver = Solver {
            nodes,
            children,
            starts,
            inside_zero,
            own,
            foreign,
            places: Vec::with_capacity(nodes.len()),
            fixed: Vec::with_capacity(nodes.len()),
            budget,
        };
        solver.begin()?;
        Some(solver)
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Gives each node the runs that its length and the rows allow.
    fn begin(&mut self) -> Option<()> {
        self.places.push(vec![Run { first: 0, end: self.rows() as u32 }]);
        self.fixed.push(true);
        for index in 1..self.nodes.len() {
            let node = &self.nodes[index];
            let mut places = Vec::new();
            if node.len == 0 {
                for range in node.ranges {
                    let first = self.starts.binary_search(&range.start).ok()?;
                    let end = self.starts.binary_search(&range.end).ok()?;
                    places.push(Run { first: first as u32, end: end as u32 });
                }
                places.sort_unstable();
                join(&mut places);
            } else {
                let mut end = 0;
                for start in 0..self.rows() {
                    let wanted = u64::from(self.starts[start]) + u64::from(node.len);
                    // `wanted` rises with `start`, so `end` never goes back: one pass over the rows for each node.
                    while end < self.starts.len() && u64::from(self.starts[end]) < wanted {
                        end += 1;
                    }
                    if self.starts.get(end).is_some_and(|&found| u64::from(found) == wanted) {
                        places.push(Run { first: start as u32, end: end as u32 });
                    }
                }
            }
            let foreign = &self.foreign[index * self.starts.len()..][..self.starts.len()];
            let fits = |run: &Run| foreign[run.first as usize] == foreign[run.end as usize];
            if node.len == 0 {
                if !places.iter().all(fits) {
                    return None;
                }
            } else {
                places.retain(fits);
            }
            self.places.push(places);
            self.fixed.push(node.len == 0);
        }
        Some(())
    }

    /// Removes places that no solution can have; true if any was removed. `None` if no solution is left.
    fn round(&mut self) -> Option<bool> {
        let before: usize = self.left();
        // A caller comes before its callees: places are narrowed from the outermost node inwards, then back.
        for node in 1..self.nodes.len() {
            self.inside_caller(node)?;
        }
        for node in (1..self.nodes.len()).rev() {
            self.around_callees(node)?;
        }
        for node in 0..self.nodes.len() {
            if self.fixed[node] && !self.children[node].is_empty() {
                self.beside_siblings(node)?;
                self.no_row_left(node)?;
                self.alike(node);
            }
        }
        for node in 0..self.nodes.len() {
            self.fixed[node] |= self.places[node].len() == 1;
        }
        Some(self.left() < before)
    }

    /// The number of places left, and of nodes without a certain place.
    fn left(&self) -> usize {
        self.places.iter().map(Vec::len).sum::<usize>() + self.fixed.iter().filter(|fixed| !**fixed).count()
    }

    fn pay(&mut self, work: usize) -> Option<()> {
        self.budget.spend(work + 1).then_some(())
    }

    /// Keeps the places that lie inside a place of the caller.
    fn inside_caller(&mut self, node: usize) -> Option<()> {
        let parent = self.nodes[node].parent as usize;
        self.pay(self.places[node].len() * self.places[parent].len())?;
        let mut places = std::mem::take(&mut self.places[node]);
        let parent = &self.places[parent];
        let inside = |run: &Run| parent.iter().any(|&around| run.is_inside(around));
        if self.fixed[node] {
            // A fixed node has all of these ranges. If one is outside of every place of its caller, there is no solution.
            if !places.iter().all(inside) {
                return None;
            }
        } else {
            places.retain(inside);
            if places.is_empty() {
                return None;
            }
        }
        self.places[node] = places;
        Some(())
    }

    /// Keeps the places that leave one for each callee inlined there.
    fn around_callees(&mut self, node: usize) -> Option<()> {
        if self.fixed[node] {
            return Some(());
        }
        let inner: usize = self.children[node].iter().map(|&child| self.places[child as usize].len()).sum();
        self.pay(self.places[node].len() * inner)?;
        let mut places = std::mem::take(&mut self.places[node]);
        for &child in &self.children[node] {
            let inner = &self.places[child as usize];
            let fixed = self.fixed[child as usize];
            places.retain(|&around| {
                let inside = |run: &Run| run.is_inside(around);
                if fixed { inner.iter().all(inside) } else { inner.iter().any(inside) }
            });
        }
        self.places[node] = places;
        Some(())
    }

    /// Removes places that overlap an inlined callee of the node whose place is known.
    fn beside_siblings(&mut self, node: usize) -> Option<()> {
        let children = std::mem::take(&mut self.children[node]);
        let known = children.iter().filter(|&&child| self.fixed[child as usize]);
        let mut taken: Vec<Run> =
            known.clone().flat_map(|&child| self.places[child as usize].iter().copied()).collect();
        taken.sort_unstable();
        let apart = taken.windows(2).all(|pair| pair[0].end <= pair[1].first);
        let mut work = taken.len();
        for &child in children.iter().filter(|&&child| !self.fixed[child as usize]) {
            let places = &mut self.places[child as usize];
            work += places.len();
            places.retain(|run| {
                let next = taken.partition_point(|other| other.end <= run.first);
                taken.get(next).is_none_or(|other| other.first >= run.end)
            });
        }
        let none = children
            .iter()
            .any(|&child| self.places[child as usize].is_empty() && !self.fixed[child as usize]);
        self.children[node] = children;
        self.pay(work)?;
        (apart && !none).then_some(())
    }

    /// If the node cannot have written a row and only one of its callees can cover it, the row belongs to that
    /// callee.
    fn no_row_left(&mut self, node: usize) -> Option<()> {
        let covered = |run: &Run| run.rows().len();
        let inner = self.children[node].iter().flat_map(|&child| &self.places[child as usize]);
        self.pay(inner.chain(&self.places[node]).map(covered).sum())?;
        let rows = self.rows();
        let own = &self.own[node * rows..][..rows];
        let mut covers = vec![RowCover { callees: 0, last: 0 }; rows];
        let mut work = rows;
        for &child in &self.children[node] {
            for run in &self.places[child as usize] {
                for cover in &mut covers[run.rows()] {
                    // Node 0 is no callee, so the first callee always counts.
                    if cover.last != child {
                        *cover = RowCover { callees: cover.callees + 1, last: child };
                    }
                }
            }
        }
        // Callees, each with a row that it must cover.
        let mut needs: Vec<(u32, u32)> = Vec::new();
        for run in &self.places[node] {
            for row in run.first..run.end {
                match covers[row as usize] {
                    _ if own[row as usize] => {}
                    RowCover { callees: 0, .. } => return None,
                    RowCover { callees: 1, last } if !self.fixed[last as usize] => needs.push((last, row)),
                    _ => {}
                }
            }
        }
        for (child, row) in needs {
            let places = &mut self.places[child as usize];
            work += places.len();
            places.retain(|run| run.first <= row && row < run.end);
            if places.is_empty() {
                return None;
            }
        }
        self.pay(work)
    }

    /// Calls of one function at one line that have as many places as there are calls: any assignment is the same.
    fn alike(&mut self, node: usize) {
        let open = |child: &&u32| !self.fixed[**child as usize] && self.children[**child as usize].is_empty();
        let mut open: Vec<u32> = self.children[node].iter().filter(open).copied().collect();
        let key = |child: &u32| (self.nodes[*child as usize].call, self.nodes[*child as usize].len, *child);
        open.sort_unstable_by_key(key);
        for same in open.chunk_by(|a, b| (key(a).0, key(a).1) == (key(b).0, key(b).1)) {
            let places = self.places[same[0] as usize].clone();
            let alike = same.iter().all(|child| self.places[*child as usize] == places);
            if alike
                && places.len() == same.len()
                && places.windows(2).all(|pair| pair[0].end <= pair[1].first)
            {
                for (child, place) in same.iter().zip(places) {
                    self.places[*child as usize] = vec![place];
                }
            }
        }
    }

    /// The places, if each node has one and they fit together.
    fn solution(&self) -> Option<Ranges> {
        if !self.fixed.iter().all(|fixed| *fixed) {
            return None;
        }
        let rows = self.rows();
        let mut innermost = vec![0u32; rows];
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            for run in &self.places[index] {
                for row in &mut innermost[run.rows()] {
                    // A sibling, or code inlined into one, is there already.
                    if *row != node.parent {
                        return None;
                    }
                    *row = index as u32;
                }
            }
        }
        let fits = |(row, node): (usize, &u32)| self.own[*node as usize * rows + row];
        if !innermost.iter().enumerate().all(fits) {
            return None;
        }
        let offsets = |run: &Run| OffsetRange {
            start: self.starts[run.first as usize],
            end: self.starts[run.end as usize],
        };
        let inside = |offset: u32| self.inside_zero.binary_search(&offset).is_ok();
        let uncertain = |run: &Run| inside(offsets(run).start) && inside(offsets(run).end);
        let measured = self.nodes.iter().zip(&self.places).skip(1).filter(|(node, _)| node.len > 0);
        if measured.flat_map(|(_, places)| places).any(uncertain) {
            return None;
        }
        Some(self.places[1..].iter().map(|runs| runs.iter().map(offsets).collect()).collect())
    }
}

/// The offsets inside rows of line 0 at which a run may begin or end. These are the offsets at a node's length from a
/// row, and one offset for each two rows between which a run may lie with both ends inside.
fn inside_zero(function: &UnplacedFunction<'_>, starts: &[u32], budget: &Budget) -> Option<Vec<u32>> {
    let zero = |start: u32| {
        let after = function.rows.partition_point(|row| row.offset <= start);
        after.checked_sub(1).is_none_or(|at| function.rows[at].line == 0 || function.rows[at].file == 0)
    };
    let rows: Vec<OffsetRange> = starts
        .windows(2)
        .map(|pair| OffsetRange { start: pair[0], end: pair[1] })
        .filter(|row| row.end - row.start > 1 && zero(row.start))
        .collect();
    let mut found = Vec::new();
    if rows.is_empty() {
        return Some(found);
    }
    let mut lens: Vec<u32> = function.nodes.iter().map(|node| node.len).filter(|len| *len > 0).collect();
    lens.sort_unstable();
    lens.dedup();
    let work = lens.len().checked_mul(rows.len())?.checked_mul(starts.len())?;
    budget.spend(work).then_some(())?;
    // The starts strictly between two offsets.
    let between = |low: i64, high: i64| {
        let after = starts.partition_point(|&start| i64::from(start) <= low);
        starts[after..].iter().take_while(move |&&start| i64::from(start) < high)
    };
    for len in lens {
        let by = i64::from(len);
        for first in &rows {
            let (low, high) = (i64::from(first.start), i64::from(first.end));
            found.extend(between(low - by, high - by).map(|start| start + len));
            found.extend(between(low + by, high + by).map(|start| start - len));
            for second in &rows {
                // Offsets strictly inside the first row whose end is strictly inside the second.
                let low = (first.start + 1).max((second.start + 1).saturating_sub(len));
                let high = (first.end - 1).min((second.end - 1).saturating_sub(len));
                if low <= high
                    && low.checked_add(len).is_some_and(|end| second.start < end && end < second.end)
                {
                    found.extend([low, low + len]);
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// Joins runs that touch.
fn join(runs: &mut Vec<Run>) {
    runs.dedup_by(|next, before| {
        let touch = next.first <= before.end;
        if touch {
            before.end = before.end.max(next.end);
        }
        touch
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node declared at a line of file 1 that is `len` long.
    fn node(parent: u32, line: u32, len: u32) -> InlineNode<'static> {
        InlineNode { parent, len, ranges: &[], file: 1, line, call: line }
    }

    /// The ranges as pairs of start and end, of a function with rows of offset, file and line.
    fn of(rows: &[(u32, u32, u32)], size: u32, nodes: Vec<InlineNode<'_>>) -> Option<Vec<Vec<(u32, u32)>>> {
        let rows = rows.iter().map(|&(offset, file, line)| UnplacedRow { offset, file, line }).collect();
        let found = places(&UnplacedFunction { rows, size, nodes }, &Budget::new(1_000_000))?;
        let pairs = |ranges: &Vec<OffsetRange>| ranges.iter().map(|range| (range.start, range.end)).collect();
        Some(found.iter().map(pairs).collect())
    }

    #[test]
    fn a_row_that_the_caller_cannot_have_is_the_callees() {
        // Declared at line 10; lines 3 and 4 are of inlined code, and no other run is 6 long.
        let rows = [(0, 1, 11), (4, 1, 3), (7, 1, 4), (10, 1, 12)];
        assert_eq!(of(&rows, 20, vec![node(0, 10, 0), node(0, 2, 6)]), Some(vec![vec![(4, 10)]]));
        // Of another length there is none.
        assert_eq!(of(&rows, 20, vec![node(0, 10, 0), node(0, 2, 5)]), None);
        // Lines before its declaration are not its own.
        assert_eq!(of(&rows, 20, vec![node(0, 10, 0), node(0, 4, 6)]), None);
    }

    #[test]
    fn two_ways_are_none() {
        let rows = [(0, 1, 11), (4, 1, 12), (8, 1, 13), (12, 1, 14)];
        assert_eq!(of(&rows, 16, vec![node(0, 10, 0), node(0, 2, 4)]), None);
        // Another file leaves one.
        let rows = [(0, 1, 11), (4, 2, 12), (8, 1, 13), (12, 1, 14)];
        let inlined = InlineNode { file: 2, ..node(0, 2, 4) };
        assert_eq!(of(&rows, 16, vec![node(0, 10, 0), inlined]), Some(vec![vec![(4, 8)]]));
    }

    #[test]
    fn callees_stand_inside_their_callers_and_beside_each_other() {
        // 1 is 8 long, 2 inside it and 3 beside 2.
        let rows = [(0, 1, 31), (4, 1, 21), (8, 1, 1), (10, 1, 11), (12, 1, 32)];
        let nodes = vec![node(0, 30, 0), node(0, 20, 8), node(1, 1, 2), node(1, 10, 2)];
        assert_eq!(of(&rows, 16, nodes), Some(vec![vec![(4, 12)], vec![(8, 10)], vec![(10, 12)]]));
    }

    #[test]
    fn ranges_that_survived_are_kept() {
        let rows = [(0, 1, 11), (4, 1, 3), (6, 1, 12), (8, 1, 3), (12, 1, 13)];
        let inlined = InlineNode {
            len: 0,
            ranges: &[OffsetRange { start: 8, end: 12 }, OffsetRange { start: 4, end: 6 }],
            ..node(0, 2, 0)
        };
        let found = of(&rows, 16, vec![node(0, 10, 0), inlined]);
        assert_eq!(found, Some(vec![vec![(4, 6), (8, 12)]]));
        // A row that neither may have written.
        let inlined = InlineNode { len: 0, ranges: &[OffsetRange { start: 8, end: 12 }], ..node(0, 2, 0) };
        assert_eq!(of(&rows, 16, vec![node(0, 10, 0), inlined]), None);
    }

    #[test]
    fn calls_that_are_alike_share_their_places() {
        let rows = [(0, 1, 11), (4, 1, 3), (6, 1, 12), (9, 1, 3), (11, 1, 13)];
        let nodes = vec![node(0, 10, 0), node(0, 2, 2), node(0, 2, 2)];
        assert_eq!(of(&rows, 16, nodes), Some(vec![vec![(4, 6)], vec![(9, 11)]]));
        let other = InlineNode { call: 99, ..node(0, 2, 2) };
        assert_eq!(of(&rows, 16, vec![node(0, 10, 0), node(0, 2, 2), other]), None);
    }

    /// Between two scopes without a line no row begins: the place may differ from what whole rows show.
    #[test]
    fn rows_of_line_zero_leave_ways_open() {
        let rows = [(0, 1, 11), (4, 1, 0), (8, 1, 12), (10, 1, 13)];
        // 4..8 are whole rows; 2 bytes into the row without a line, up to 10, is as long.
        assert_eq!(of(&rows, 16, vec![node(0, 10, 0), node(0, 2, 4)]), None);
        // One end is certain if a row must be its own.
        let rows = [(0, 1, 11), (4, 1, 0), (8, 1, 3), (10, 1, 13), (13, 1, 14)];
        assert_eq!(of(&rows, 16, vec![node(0, 10, 0), node(0, 2, 4)]), Some(vec![vec![(6, 10)]]));
    }

    #[test]
    fn no_more_work_than_allowed() {
        let row = |at: u32| UnplacedRow { offset: at * 2, file: 1, line: 11 };
        let rows = (0..1000).map(row).collect();
        let nodes: Vec<InlineNode<'_>> =
            std::iter::once(node(0, 10, 0)).chain((0..100).map(|_| node(0, 2, 2))).collect();
        let budget = Budget::new(200_000);
        assert_eq!(places(&UnplacedFunction { rows, size: 2000, nodes }, &budget), None);
        assert!(budget.left() < 200_000);
    }
}

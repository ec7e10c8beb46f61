//! Restores the inlined code of folded functions if its place is proved.
//!
//! The linker erases the addresses of inlined subroutines together with that of their function. The lengths remain
//! (`read` keeps them), so do clang's offsets in range lists, and so do the line rows. There are two proofs. *Rows*:
//! there is only one way to lay the inlined code over the rows ([`places`]). *A twin*, which costs less and is tried
//! first: a function with the same code, known inlined code, the same lines, and an inline tree of the same
//! declarations, calls and lengths. Both were compiled from one piece of source (instances of one template), so code
//! that is inlined at an offset of the twin is inlined at that offset of the function. Without a proof the function
//! keeps only its lines, and is counted.

mod function;
mod places;
mod twin;

use rayon::prelude::*;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::merge::names::Names;
use crate::model::{
    AddressRange, How, InlineCounts, LocalFunc, OffsetRange, OriginId, Row, RowRange, Scope, UnitCode,
    UnitTraces,
};
use crate::recover::inlines::function::{FunctionAt, Ranges, file};
use crate::recover::limits::{INLINE_ROUNDS, MAX_INLINE_STEPS, MAX_TWINS};
use crate::recover::recovered::Recovered;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};
use crate::util::paint::{PaintRange, Painter, Segment};

/// Restores the inline trees of all functions that were recovered without them.
pub(crate) fn restore<'u, 'f>(
    names: &Names<'_>,
    mut recovered: Recovered<'u, 'f>,
    diagnostics: &mut Diagnostics,
) -> Recovered<'u, 'f> {
    let mut counts = InlineCounts::default();
    let mut left = MAX_INLINE_STEPS;
    let wanted = |&FunctionAt { unit, function }: &FunctionAt| {
        let found = &recovered.code[unit.index()].functions[function.index()];
        found.how != How::LiveRange && found.lost.any()
    };
    let all = recovered.numbered().flat_map(|(id, unit)| {
        let functions = (0..unit.code.functions.len() as u32).map(LocalFunc);
        functions.map(move |function| FunctionAt { unit: id, function })
    });
    let lost: Vec<FunctionAt> = all.filter(wanted).collect();
    make_room(&mut recovered, &lost);
    // A twin is found quickly. A function without one is tried by its rows, and may then be the twin of others.
    let mut twins = Twins::new(&recovered, &lost);
    let mut open: Vec<LostFunction> = lost.into_iter().map(|at| LostFunction { at, compared: 0 }).collect();
    twins.take(names, &mut recovered, &mut open, &mut counts, &mut left);
    let before = counts.by_rows;
    by_all_rows(names, &mut recovered, &mut open, &mut twins, &mut counts, &mut left);
    if counts.by_rows > before {
        twins.take(names, &mut recovered, &mut open, &mut counts, &mut left);
    }
    for LostFunction { at, .. } in open {
        // `read` kept equal neighbours apart, as inlined code might begin there. Now they can be joined.
        let laid = Laid::new(&recovered.code[at.unit.index()], at.function, &[]);
        lay(&mut recovered, at, laid);
        let code = &recovered.code[at.unit.index()];
        let found = &code.functions[at.function.index()];
        if rows_of(code, at.function).is_some_and(|rows| rows.len > 0) {
            counts.lost += 1;
            let die = found.die.0;
            diagnostics.add(Kind::LostInlines, die, || {
                format!("{} inlined subroutines have no place that is proved", found.lost.scopes.len())
            });
        }
    }
    if left == 0 {
        diagnostics.add(Kind::Cap(Cap::InlinedSearch), 0, || {
            format!("over {MAX_INLINE_STEPS} steps to find what is inlined into folded functions: the later functions have no inlined frames")
        });
    }
    Recovered { inlines: counts, ..recovered }
}

/// Reserves memory for the trees and rows of a unit's functions at once: growth would reserve up to twice as much.
fn make_room(recovered: &mut Recovered<'_, '_>, lost: &[FunctionAt]) {
    recovered.code.par_iter_mut().enumerate().for_each(|(index, unit)| {
        // `lost` is in the order of the units, so each task finds its part without visiting the others.
        let first = lost.partition_point(|at| at.unit.index() < index);
        let of_unit = lost[first..].iter().take_while(|at| at.unit.index() == index);
        let (mut scopes, mut rows) = (0, 0);
        for &FunctionAt { function, .. } in of_unit {
            scopes += unit.functions[function.index()].lost.scopes.len();
            rows += rows_of(unit, function).map_or(0, |rows| rows.len as usize);
        }
        unit.scopes.own_mut().reserve_exact(scopes);
        unit.rows.own_mut().reserve_exact(rows);
    });
}

/// A function without its inline tree.
#[derive(Clone, Copy)]
struct LostFunction {
    at: FunctionAt,
    /// How many possible twins it was compared with.
    compared: usize,
}

/// The result for each of these functions, while steps are left.
fn each<T: Copy + Sync, F: Send>(
    all: &[T],
    left: &mut u64,
    find: impl Fn(T, &Budget) -> Option<F> + Sync,
) -> Vec<Option<F>> {
    let mut found: Vec<Option<F>> = all.iter().map(|_| None).collect();
    let mut open: Vec<usize> = (0..all.len()).collect();
    // Steps of first attempts without a result are not taken from `left`, since those functions are tried again.
    let mut in_vain = MAX_INLINE_STEPS;
    for (round, (at_once, limit)) in INLINE_ROUNDS.into_iter().enumerate() {
        let (mut unseen, mut again) = (Vec::new(), Vec::new());
        for some in open.chunks(at_once) {
            if *left == 0 || (round == 0 && in_vain == 0) {
                unseen.extend(some);
                continue;
            }
            let look = |&index: &usize| {
                // One for each function: with one for all, threads would decide whose search is cut short.
                let budget = Budget::new(limit);
                (find(all[index], &budget), budget)
            };
            let looked: Vec<(Option<F>, Budget)> = some.par_iter().map(look).collect();
            for (&index, (one, budget)) in some.iter().zip(looked) {
                let steps = limit - budget.left();
                if round == 0 && budget.is_short() {
                    in_vain = in_vain.saturating_sub(steps);
                    again.push(index);
                    continue;
                }
                // Charged in the order of the list, not in the order in which threads finish, so that the same functions
                // get a result each time.
                found[index] = one.filter(|_| steps <= *left);
                *left = left.saturating_sub(steps);
            }
        }
        // Functions without a first attempt come first: most need few steps, and second attempts may use up what is left.
        unseen.append(&mut again);
        open = unseen;
    }
    found
}

/// Restores the inline trees of functions whose rows allow only one; the others stay in the list.
fn by_all_rows(
    names: &Names<'_>,
    recovered: &mut Recovered<'_, '_>,
    open: &mut Vec<LostFunction>,
    twins: &mut Twins,
    counts: &mut InlineCounts,
    left: &mut u64,
) {
    let all = std::mem::take(open);
    // All are searched before the first tree is laid: otherwise it would depend on threads which functions are twins by then.
    let found = each(&all, left, |open, budget| by_rows(names, recovered, open.at, budget));
    for (own, laid) in all.into_iter().zip(found) {
        match laid {
            Some(laid) => {
                counts.by_rows += 1;
                lay(recovered, own.at, laid);
                twins.add(recovered, own.at);
            }
            None => open.push(own),
        }
    }
}

/// The rows of a function of one piece, without inlined code.
fn rows_of(unit: &UnitCode<'_>, function: LocalFunc) -> Option<RowRange> {
    let pieces = unit.functions[function.index()].pieces.clone();
    // With several pieces (`f.cold`) a length alone does not show in which of them the inlined code is.
    (pieces.len() == 1).then(|| unit.pieces[pieces.start as usize].rows)
}

/// The inlined code of a function, if its rows allow only one placement.
fn by_rows(
    names: &Names<'_>,
    recovered: &Recovered<'_, '_>,
    at: FunctionAt,
    budget: &Budget,
) -> Option<Laid> {
    let ranges = places_by_rows(names, recovered, at, budget)?;
    Some(Laid::new(&recovered.code[at.unit.index()], at.function, &ranges))
}

fn places_by_rows(
    names: &Names<'_>,
    recovered: &Recovered<'_, '_>,
    FunctionAt { unit, function }: FunctionAt,
    budget: &Budget,
) -> Option<Ranges> {
    let unit = recovered.unit(unit);
    let found = &unit.code.functions[function.index()];
    // `beyond`: some inlined code has no length any more, and any row may be of that code.
    let rows = rows_of(unit.code, function).filter(|rows| rows.len > 0 && !found.lost.beyond)?;
    let rows = unit.code.rows_of(rows).iter();
    let row =
        |row: &Row| places::UnplacedRow { offset: row.offset, file: file(unit, row.file), line: row.line };
    let rows = rows.map(row).collect();
    let declared = |origin: OriginId| {
        let origin = names.origin(origin);
        (origin.file.map_or(0, |file| file.number() + 1), origin.line)
    };
    let own = declared(unit.origin_of(found.origin));
    let mut nodes =
        vec![places::InlineNode { parent: 0, len: 0, ranges: &[], file: own.0, line: own.1, call: 0 }];
    for scope in &unit.traces.lost[found.lost.scopes.start as usize..found.lost.scopes.end as usize] {
        let call = unit.edge_of(scope.edge);
        let (file, line) = declared(recovered.units.edges[call.index()].callee);
        let ranges = &unit.traces.lost_ranges[scope.ranges.start as usize..scope.ranges.end as usize];
        nodes.push(places::InlineNode {
            parent: scope.parent,
            len: scope.len,
            ranges,
            file,
            line,
            call: call.0,
        });
    }
    let size = unit.code.pieces[found.pieces.start as usize].len;
    places::places(&places::UnplacedFunction { rows, size, nodes }, budget)
}

/// The rows of a function with its inlined code.
struct Laid {
    /// The function has an inline tree.
    scopes: bool,
    /// By piece of the function.
    rows: Vec<Vec<Row>>,
}

impl Laid {
    /// Gives the rows of a function the scopes of nodes with these ranges. Without ranges it only joins rows with the
    /// same content.
    fn new(unit: &UnitCode<'_>, function: LocalFunc, ranges: &[Vec<OffsetRange>]) -> Laid {
        let mut segments: Vec<Segment> = Vec::new();
        let mut painted: Vec<PaintRange> = Vec::new();
        for (node, ranges) in (1..).zip(ranges) {
            painted.extend(ranges.iter().map(|&OffsetRange { start, end }| PaintRange {
                start: start.into(),
                node,
                end: end.into(),
            }));
        }
        Painter::default().paint(&mut painted, &mut segments);
        let joined = |piece: u32| join(unit.rows_of(unit.pieces[piece as usize].rows), &segments);
        let rows = unit.functions[function.index()].pieces.clone().map(joined).collect();
        Laid { scopes: !ranges.is_empty(), rows }
    }
}

/// Gives a function its inline tree, and its pieces their rows.
fn lay(recovered: &mut Recovered<'_, '_>, at: FunctionAt, laid: Laid) {
    let (unit, function) = (at.unit.index(), at.function.index());
    let UnitTraces { lost: traces, .. } = &recovered.traces[unit];
    let unit = &mut recovered.code[unit];
    if laid.scopes {
        let lost = unit.functions[function].lost.scopes.clone();
        let first = unit.scopes.len() as u32;
        let scopes = traces[lost.start as usize..lost.end as usize].iter();
        unit.scopes.own_mut().extend(scopes.map(|scope| Scope { parent: scope.parent, edge: scope.edge }));
        unit.functions[function].scopes = first..unit.scopes.len() as u32;
    }
    // Appended, not replaced: the list only grows, and other functions may share the old rows.
    for (piece, rows) in unit.functions[function].pieces.clone().zip(laid.rows) {
        unit.pieces[piece as usize].rows = RowRange { start: unit.rows.len() as u32, len: rows.len() as u32 };
        unit.rows.own_mut().extend(rows);
    }
}

/// Rows of scope 0 with the scopes of segments; each row differs from the one before it.
fn join(rows: &[Row], segments: &[Segment]) -> Vec<Row> {
    let mut joined: Vec<Row> = Vec::with_capacity(rows.len() + segments.len());
    let mut add = |row: Row| {
        let same = |last: &Row| Row { offset: 0, ..*last } == Row { offset: 0, ..row };
        if !joined.last().is_some_and(same) {
            joined.push(row);
        }
    };
    let mut next = 0;
    let mut scope = 0;
    for (index, row) in rows.iter().enumerate() {
        let end = rows.get(index + 1).map_or(u64::MAX, |row| row.offset.into());
        while segments.get(next).is_some_and(|segment| segment.start <= row.offset.into()) {
            scope = segments[next].node;
            next += 1;
        }
        add(Row { scope, ..*row });
        while let Some(segment) = segments.get(next).filter(|segment| segment.start < end) {
            scope = segment.node;
            next += 1;
            add(Row { scope, offset: segment.start as u32, ..*row });
        }
    }
    joined
}

/// Functions with known inline trees, by range, at ranges where another function needs a twin.
struct Twins {
    by_range: HashMap<AddressRange, Vec<FunctionAt>>,
}

impl Twins {
    fn new(recovered: &Recovered<'_, '_>, open: &[FunctionAt]) -> Twins {
        let wanted: HashSet<AddressRange> =
            open.iter().filter_map(|&at| range(&recovered.code[at.unit.index()], at.function)).collect();
        let mut twins = Twins { by_range: HashMap::default() };
        if wanted.is_empty() {
            return twins;
        }
        for (id, unit) in recovered.numbered() {
            for (number, function) in (0..).map(LocalFunc).zip(unit.code.functions.iter()) {
                // A function that was folded and has its tree by now is as good as one that kept its address.
                let known = !function.lost.any() || !function.scopes.is_empty();
                let range = range(unit.code, number).filter(|range| known && wanted.contains(range));
                if let Some(range) = range {
                    twins.by_range.entry(range).or_default().push(FunctionAt { unit: id, function: number });
                }
            }
        }
        twins
    }

    /// Restores the inline trees of functions that have a twin, each of which may be the twin of others; the others
    /// stay in the list.
    fn take(
        &mut self,
        names: &Names<'_>,
        recovered: &mut Recovered<'_, '_>,
        open: &mut Vec<LostFunction>,
        counts: &mut InlineCounts,
        left: &mut u64,
    ) {
        // Ends: a turn without a new tree is the last. `compared` lets each function be compared with a twin once, however
        // many turns there are.
        loop {
            let all = std::mem::take(open);
            let found = each(&all, left, |open, budget| self.find(names, recovered, open, budget));
            // Twins that are added from here on are compared in the next turn.
            let before = counts.by_twin;
            for own in &all {
                open.push(LostFunction { compared: self.at(recovered, own.at).len(), ..*own });
            }
            let mut found = found.into_iter();
            open.retain(|own| match found.next().flatten() {
                Some(laid) => {
                    counts.by_twin += 1;
                    lay(recovered, own.at, laid);
                    self.add(recovered, own.at);
                    false
                }
                None => true,
            });
            if counts.by_twin == before {
                return;
            }
        }
    }

    fn add(&mut self, recovered: &Recovered<'_, '_>, at: FunctionAt) {
        if let Some(range) = range(&recovered.code[at.unit.index()], at.function) {
            self.by_range.entry(range).or_default().push(at);
        }
    }

    /// The possible twins of a function: the known functions of its range.
    fn at(&self, recovered: &Recovered<'_, '_>, at: FunctionAt) -> &[FunctionAt] {
        let twins =
            range(&recovered.code[at.unit.index()], at.function).and_then(|range| self.by_range.get(&range));
        twins.map_or(&[], |twins| &twins[..twins.len().min(MAX_TWINS)])
    }

    /// Compares a function with the possible twins that it was not compared with yet.
    fn find(
        &self,
        names: &Names<'_>,
        recovered: &Recovered<'_, '_>,
        open: LostFunction,
        budget: &Budget,
    ) -> Option<Laid> {
        let mut twins = self.at(recovered, open.at)[open.compared..].iter();
        let ranges = twins.find_map(|&twin| twin::compare(names, recovered, twin, open.at, budget))?;
        Some(Laid::new(&recovered.code[open.at.unit.index()], open.at.function, &ranges))
    }
}

/// The range of a function of one piece.
fn range(unit: &UnitCode<'_>, function: LocalFunc) -> Option<AddressRange> {
    let pieces = unit.functions[function.index()].pieces.clone();
    let piece = &unit.pieces[pieces.start as usize];
    (pieces.len() == 1).then(|| piece.range())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::each;
    use crate::recover::limits::{INLINE_ROUNDS, MAX_INLINE_STEPS};
    use crate::util::budget::Budget;

    /// Takes so many steps: first those of the first attempt, then the others.
    fn find(steps: u64, budget: &Budget) -> Option<u64> {
        let first = steps.min(INLINE_ROUNDS[0].1);
        (budget.spend(first as usize) && budget.spend((steps - first) as usize)).then_some(steps)
    }

    #[test]
    fn what_takes_long_is_looked_at_again() {
        let [(_, first), (_, last)] = INLINE_ROUNDS;
        let all = [1, first + 1, first, last, last + 1, 2];
        let mut left = MAX_INLINE_STEPS;
        let found = each(&all, &mut left, find);
        assert_eq!(found, [Some(1), Some(first + 1), Some(first), Some(last), None, Some(2)]);
        // First attempts without a result do not count, second attempts do.
        assert_eq!(MAX_INLINE_STEPS - left, 1 + first + 1 + first + last + first + 2);
    }

    #[test]
    fn first_looks_in_vain_leave_the_steps_for_second_ones() {
        let (at_once, first) = INLINE_ROUNDS[0];
        let mut all = vec![first + 1; at_once];
        all.extend([10; 100]);
        let mut left = MAX_INLINE_STEPS;
        let found = each(&all, &mut left, find);
        // Functions that had no first attempt come before the second attempts.
        assert!(found[at_once..].iter().all(|found| *found == Some(10)));
        let possible = ((MAX_INLINE_STEPS - 10 * 100) / (first + 1)) as usize;
        assert_eq!(found[..at_once].iter().flatten().count(), possible);
        assert_eq!((found[possible - 1].is_some(), left), (true, 0));
    }

    /// More functions than steps: each takes one step of a first attempt and asks for more than there are.
    #[test]
    fn first_looks_in_vain_count_with_what_they_took() {
        let (at_once, first) = INLINE_ROUNDS[0];
        assert!(at_once as u64 * first >= MAX_INLINE_STEPS);
        let looked = AtomicUsize::new(0);
        let find = |_: u64, budget: &Budget| {
            looked.fetch_add(usize::from(budget.left() == first), Ordering::Relaxed);
            (budget.spend(1) && budget.spend(INLINE_ROUNDS[1].1 as usize)).then_some(())
        };
        let all = vec![0; 3 * at_once];
        let mut left = MAX_INLINE_STEPS;
        assert!(each(&all, &mut left, find).iter().all(Option::is_none));
        assert_eq!((looked.into_inner(), MAX_INLINE_STEPS - left), (all.len(), all.len() as u64));
    }

    #[test]
    fn without_steps_nothing_is_looked_at() {
        let mut left = 10;
        let all: Vec<u64> = (1..10_000).collect();
        let found = each(&all, &mut left, find);
        // The fifth takes more than is left, and the others of the same batch come too late.
        assert_eq!((&found[..5], left), (&[Some(1), Some(2), Some(3), Some(4), None][..], 0));
        assert!(found[5..].iter().all(Option::is_none));
    }
}

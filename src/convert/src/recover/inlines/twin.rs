//! Compares a function whose inlined code has no place with a possible twin whose inlined code has.

use crate::merge::names::Names;
use crate::model::{EdgeId, OffsetRange, OriginId, Row};
use crate::recover::inlines::function::{FunctionAt, Ranges, file};
use crate::recover::recovered::{Recovered, UnitView};
use crate::util::budget::Budget;

/// The places of `lost`'s inlined code, if `known` was compiled from the same source: every node of their inline
/// trees has the same declaration, call and length, and all their lines are the same.
pub(crate) fn compare(
    names: &Names<'_>,
    recovered: &Recovered<'_, '_>,
    known: FunctionAt,
    lost: FunctionAt,
    budget: &Budget,
) -> Option<Ranges> {
    let (twin_unit, unit) = (recovered.unit(known.unit), recovered.unit(lost.unit));
    let (twin, found) =
        (&twin_unit.code.functions[known.function.index()], &unit.code.functions[lost.function.index()]);
    let scopes = twin_unit.code.scopes_of(twin);
    let lost = &unit.traces.lost[found.lost.scopes.start as usize..found.lost.scopes.end as usize];
    // Both trees are in the order of their DIEs, so nodes of one number are compared, and the numbers of nodes must be equal.
    if scopes.is_empty() || scopes.len() != lost.len() {
        return None;
    }
    // By file and line, not by name: `max<int>` and `max<unsigned>` have one declaration and two linkage names.
    let declared = |origin: OriginId| {
        let origin = names.origin(origin);
        (origin.file, origin.line)
    };
    let called = |edge: EdgeId| {
        let edge = recovered.units.edges[edge.index()];
        (declared(edge.callee), edge.file, edge.line, edge.column)
    };
    if declared(twin_unit.origin_of(twin.origin)) != declared(unit.origin_of(found.origin)) {
        return None;
    }
    let alike = scopes.iter().zip(lost).all(|(twin, own)| {
        twin.parent == own.parent && called(twin_unit.edge_of(twin.edge)) == called(unit.edge_of(own.edge))
    });
    let (twin_piece, piece) =
        (&twin_unit.code.pieces[twin.pieces.start as usize], &unit.code.pieces[found.pieces.start as usize]);
    let twin_rows = twin_unit.code.rows_of(twin_piece.rows);
    let rows = unit.code.rows_of(piece.rows);
    if !alike || twin_rows.is_empty() || rows.is_empty() {
        return None;
    }
    budget.spend(twin_rows.len() + rows.len() + lost.len()).then_some(())?;
    // The lines must be the same, but rows may begin at different offsets.
    let line = |row: &Row, unit: UnitView<'_, '_>| (file(unit, row.file), row.line, row.column);
    let (mut at, mut twin_at) = (0, 0);
    loop {
        if line(&rows[at], unit) != line(&twin_rows[twin_at], twin_unit) {
            return None;
        }
        let next = |rows: &[Row], at: usize| rows.get(at + 1).map_or(u32::MAX, |row| row.offset);
        let (ends, twin_ends) = (next(rows, at), next(twin_rows, twin_at));
        // To the next place at which one of the two has a row: the twin also has a row where only the scope changes.
        match (ends, twin_ends) {
            (u32::MAX, u32::MAX) => break,
            _ => {
                at += usize::from(ends <= twin_ends);
                twin_at += usize::from(twin_ends <= ends);
            }
        }
    }
    // The ranges of each node of the twin, including code inlined into it.
    let mut ranges: Ranges = vec![Vec::new(); scopes.len()];
    for (index, row) in twin_rows.iter().enumerate() {
        let end = twin_rows.get(index + 1).map_or(twin_piece.len, |next| next.offset);
        let mut node = row.scope;
        while let Some(above) = node.checked_sub(1) {
            // Charged for each level: a deep tree makes many nodes of one row.
            budget.spend(1).then_some(())?;
            let scope = &scopes[above as usize];
            match ranges[above as usize].last_mut() {
                Some(last) if last.end == row.offset => last.end = end,
                _ => ranges[above as usize].push(OffsetRange { start: row.offset, end }),
            }
            // The search for the callers would not end at a parent that comes after its child.
            node = if scope.parent < node { scope.parent } else { return None };
        }
    }
    // The linker erased the addresses of `lost` but not its lengths. If one differs from the twin's, the two were not compiled
    // from one source.
    let as_long = ranges.iter().zip(lost).all(|(ranges, own)| {
        let own_ranges = &unit.traces.lost_ranges[own.ranges.start as usize..own.ranges.end as usize];
        match ranges[..] {
            [] => own.len == 0 && own_ranges.is_empty(),
            [OffsetRange { start, end }] if own.len > 0 => end - start == own.len,
            _ => own.len == 0 && same_cover(ranges, own_ranges),
        }
    });
    as_long.then_some(ranges)
}

/// True if ranges that may touch cover the same bytes as ranges that do not.
fn same_cover(joined: &[OffsetRange], ranges: &[OffsetRange]) -> bool {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut all: Vec<OffsetRange> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match all.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all == joined
}

//! Inlined code outside of the ranges of its function, for code that no function's own range covers.
//!
//! BOLT moves parts of functions (`main.cold.1`). In DWARF 4 it may move the addresses of what is inlined there and leave the function
//! without the range. The code is the symbol's, and the calls are those of the function that the inlined subroutine is in.

use crate::model::{AddressRange, DieOffset, FuncId, ImageAddr, Member, Reason, Stray, UnitId};
use crate::place::claim::{Claim, Claims, order, rows_from};
use crate::place::limits::group_members;
use crate::place::placing::Placing;
use crate::util::hash::{HashMap, HashSet};
use crate::util::paint::{PaintRange, Painter, Segment};

/// Inlined code of one symbol.
pub(crate) struct StrayClaim {
    pub(crate) claim: Claim,
    /// The start of the symbol that covers it, or its own start.
    pub(crate) origin: ImageAddr,
}

/// Makes claims of the strays of all units, by address and disjoint. The symbols of `claims` are sorted as `pieces` sorts them. A symbol
/// that several functions have keeps its code: nothing shows which of them has the inlined calls.
pub(crate) fn claims(placing: &Placing<'_, '_>, claims: &mut Claims) -> Vec<StrayClaim> {
    let strays = of_units(placing, claims);
    if strays.is_empty() {
        return Vec::new();
    }
    // Functions with the same stray code were folded.
    let same: Vec<Vec<&PlacedStray>> = strays.chunk_by(|a, b| a.range() == b.range()).map(distinct).collect();
    let inlined = paint(same.iter().map(|same| same[0].range()));
    // A range that many symbols divide has its members in each part.
    let mut members_left = group_members(strays.len() + claims.symbols.len());
    let symbols = paint(claims.symbols.iter().map(Claim::range));
    let mut found = Vec::new();
    let ends = inlined.iter().skip(1).map(|segment| ImageAddr(segment.start));
    for (segment, end) in inlined.iter().zip(ends).filter(|(segment, _)| segment.node > 0) {
        let of = &same[segment.node as usize - 1];
        let mut at = ImageAddr(segment.start);
        while at < end {
            let after = symbols.partition_point(|symbol| symbol.start <= at.0);
            let stop = symbols.get(after).map_or(end, |symbol| ImageAddr(symbol.start).min(end));
            let node = after.checked_sub(1).map_or(0, |here| symbols[here].node as usize);
            let symbol = node.checked_sub(1).map(|index| &claims.symbols[index]);
            if let Some(left) = members_left.checked_sub(of.len()) {
                members_left = left;
                found.extend(of_symbol(placing, claims, symbol, of, AddressRange::new(at, stop)));
            }
            at = stop;
        }
    }
    let doubts: Vec<(FuncId, Reason)> = found.iter().flat_map(|(_, doubt)| *doubt).collect();
    for (function, reason) in doubts {
        claims.functions[function.index()].reason.get_or_insert(reason);
    }
    let mut found: Vec<StrayClaim> = found.into_iter().map(|(claim, _)| claim).collect();
    let mut ordered = HashSet::default();
    for stray in &mut found {
        order(&placing.names, &mut stray.claim.members, &mut claims.functions, &mut ordered);
    }
    found
}

/// The first stray of each function.
fn distinct(strays: &[PlacedStray]) -> Vec<&PlacedStray> {
    let mut seen = HashSet::default();
    strays.iter().filter(|stray| seen.insert(stray.function)).collect()
}

/// A stray with the number of its function.
struct PlacedStray {
    start: ImageAddr,
    end: ImageAddr,
    unit: UnitId,
    function: FuncId,
    stray: Stray,
}

impl PlacedStray {
    fn range(&self) -> AddressRange {
        AddressRange::new(self.start, self.end)
    }
}

/// The strays of all units: by start, and of those of one start an inner one after the one around it.
fn of_units(placing: &Placing<'_, '_>, claims: &Claims) -> Vec<PlacedStray> {
    let (mut found, mut first) = (Vec::new(), 0);
    for (unit, view) in placing.recovered.numbered() {
        let functions = &view.code.functions;
        // The functions of all units come first in the list, in the order of the units.
        let first_of_unit = first;
        first += functions.len();
        if view.traces.strays.is_empty() {
            continue;
        }
        let mut numbers: HashMap<DieOffset, usize> = HashMap::default();
        for (index, function) in functions.iter().enumerate() {
            numbers.entry(function.die).or_insert(first_of_unit + index);
        }
        for &stray in &view.traces.strays {
            let Some(&number) = numbers.get(&stray.die) else { continue };
            let own = FuncId(number as u32);
            let function = claims.same.get(&own).copied().unwrap_or(own);
            let AddressRange { start, end } = AddressRange::of(stray.start, stray.len);
            found.push(PlacedStray { start, end, unit, function, stray });
        }
    }
    found.sort_by_key(|stray| (stray.start, std::cmp::Reverse(stray.end), stray.unit, stray.stray.die));
    found
}

/// The claim of strays in a part of the code of a symbol, and the function to which the symbol's doubt passes.
fn of_symbol(
    placing: &Placing<'_, '_>,
    claims: &Claims,
    symbol: Option<&Claim>,
    strays: &[&PlacedStray],
    AddressRange { start, end }: AddressRange,
) -> Option<(StrayClaim, Option<(FuncId, Reason)>)> {
    let named = match symbol.map(|claim| &claim.members[..]) {
        None => None,
        Some([member]) => Some(&claims.functions[member.function.index()]),
        Some(_) => return None,
    };
    let name = named.map(|function| function.primary.unwrap_or_else(|| placing.names.of_function(function)));
    let member = |stray: &&PlacedStray| Member {
        function: stray.function,
        how: claims.functions[stray.function.index()].how,
        rows: Some(rows_from(stray.unit, stray.stray.rows, (start - stray.start) as u32)),
        symbol: name,
    };
    let members: Vec<Member> = strays.iter().map(member).collect();
    let origin = symbol.map_or(start, |claim| claim.start);
    let doubt = named.and_then(|function| function.reason).zip(members.first());
    let doubt = doubt.map(|(reason, member)| (member.function, reason));
    Some((StrayClaim { claim: Claim { start, end, members, doubt: None }, origin }, doubt))
}

/// Disjoint segments of ranges, the later of two on top. Node 0 is code without a range.
fn paint(ranges: impl Iterator<Item = AddressRange>) -> Vec<Segment> {
    let numbered = ranges.zip(1..);
    let mut ranges: Vec<PaintRange> =
        numbered.map(|(range, node)| PaintRange { start: range.start.0, node, end: range.end.0 }).collect();
    let mut segments = Vec::new();
    Painter::default().paint(&mut ranges, &mut segments);
    segments
}

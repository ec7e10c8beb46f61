//! Cuts claims that overlap into disjoint pieces and numbers the functions that remain.
//!
//! The kinds of ranges in rising order of trust: bare lines, labels, function symbols, inlined code outside of its function's
//! ranges, subprograms. The more trusted
//! range wins. Among equals the inner one wins: the range that starts later, or ends earlier.

use thin_vec::ThinVec;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{
    FuncId, Function, Group, GroupId, How, ImageAddr, Member, Origin, Owner, Piece, Reason, Rows, UnitId,
};
use crate::place::claim::{Claim, Claims, rows_from};
use crate::place::limits::group_members;
use crate::place::placing::Placing;
use crate::place::strays::{self, StrayClaim};
use crate::util::fit::fit;
use crate::util::paint::{PaintRange, Painter, Segment};

/// A range of bare lines of one unit.
#[derive(Clone, Copy)]
struct Bare {
    start: ImageAddr,
    end: ImageAddr,
    unit: UnitId,
    rows: crate::model::RowRange,
    continues: bool,
    /// The unit's `.dwo` is missing.
    partial: bool,
}

/// The range that owns a segment: an index into the list of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Node {
    Nothing,
    Bare(usize),
    Label(usize),
    Symbol(usize),
    Stray(usize),
    Die(usize),
}

struct Nodes {
    bare: usize,
    labels: usize,
    symbols: usize,
    strays: usize,
}

impl Nodes {
    fn get(&self, node: u32) -> Node {
        // The lists follow each other as in [`cut`]: bare lines, labels, symbols, strays, subprograms. Node 0 is code that no range
        // covers.
        let mut at = node as usize;
        if at == 0 {
            return Node::Nothing;
        }
        at -= 1;
        for (len, make) in [
            (self.bare, Node::Bare as fn(usize) -> Node),
            (self.labels, Node::Label),
            (self.symbols, Node::Symbol),
            (self.strays, Node::Stray),
        ] {
            if at < len {
                return make(at);
            }
            at -= len;
        }
        Node::Die(at)
    }
}

/// The pieces of the program, and the new id of each function of the claims.
pub(crate) struct Cut {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) groups: Vec<Group>,
    pub(crate) functions: Vec<Function>,
    /// By function of the claims: its id, if it has any code.
    pub(crate) numbers: Vec<Option<FuncId>>,
}

/// Cuts the claims into pieces. `reason`: why code without a name is not certain to be one function's. Returns
/// the rest of the claims for the caller to free, which takes a while.
pub(crate) fn cut(
    placing: &mut Placing<'_, '_>,
    mut claims: Claims,
    reason: Option<Reason>,
    diagnostics: &mut Diagnostics,
) -> (Cut, Claims) {
    let mut bare = bare_lines(placing);
    // The painter gives code to the range with the highest number. So the kinds come in the order of trust, and in each kind an
    // inner range comes after the range around it.
    bare.sort_by_key(|b| (b.start, std::cmp::Reverse(b.end), b.unit));
    for list in [&mut claims.labels, &mut claims.symbols, &mut claims.dies] {
        list.sort_by_key(|c| (c.start, std::cmp::Reverse(c.end)));
    }
    let strays = strays::claims(placing, &mut claims);
    let mut ranges = Vec::new();
    let mut add = |start: ImageAddr, end: ImageAddr| {
        ranges.push(PaintRange { start: start.0, node: ranges.len() as u32 + 1, end: end.0 });
    };
    bare.iter().for_each(|b| add(b.start, b.end));
    for list in [&claims.labels, &claims.symbols] {
        list.iter().for_each(|c| add(c.start, c.end));
    }
    strays.iter().for_each(|stray| add(stray.claim.start, stray.claim.end));
    claims.dies.iter().for_each(|c| add(c.start, c.end));
    let (labels, symbols) = (claims.labels.len(), claims.symbols.len());
    let nodes = Nodes { bare: bare.len(), labels, symbols, strays: strays.len() };
    let mut segments = Vec::new();
    Painter::default().paint(&mut ranges, &mut segments);
    drop(ranges);
    // A symbol may have several pieces.
    let owned = segments.iter().filter(|segment| segment.node > 0).count();
    let most_members = group_members(labels + symbols + nodes.strays + claims.dies.len());
    let mut cutter = Cutter {
        pieces: Vec::with_capacity(owned + bare.len().min(owned / 8)),
        nodes,
        bare,
        strays,
        sweep: Sweep::default(),
        groups: Vec::new(),
        numbered: 0,
        renumbered: vec![None; claims.functions.len()],
        claims,
        nameless: [None; 2],
        reason,
        members_left: most_members,
        left_out: 0,
    };
    cutter.hidden(&segments, diagnostics);
    for (index, segment) in segments.iter().enumerate() {
        // The last segment is the uncovered code after all ranges, which makes no piece: its end does not matter.
        let end = segments.get(index + 1).map_or(segment.start, |next| next.start);
        cutter.segment(placing, *segment, ImageAddr(end), diagnostics);
    }
    let Cutter { mut pieces, groups, numbered, renumbered, mut claims, left_out, .. } = cutter;
    fit(&mut pieces);
    if left_out > 0 {
        diagnostics.add(Kind::Cap(Cap::FoldedRanges), 0, || {
            format!(
                "{left_out} ranges of folded code name no function: the limit of {most_members} group members is used up"
            )
        });
    }
    let mut functions = std::mem::take(&mut claims.functions);
    reorder(&mut functions, &renumbered, numbered);
    let mut numbers = renumbered;
    // A call may name any of the DIEs that describe one function: all of them lead to its number.
    for (other, function) in std::mem::take(&mut claims.same) {
        if let Some(number) = numbers[function.index()] {
            numbers[other.index()].get_or_insert(number);
        }
    }
    (Cut { pieces, groups, functions, numbers }, claims)
}

/// Moves each function to its number, in place, and drops the functions without one. The list keeps its memory. The
/// others have the numbers below `numbered`.
fn reorder(functions: &mut Vec<Function>, numbers: &[Option<FuncId>], numbered: u32) {
    // Functions without a number get the places after the numbered ones: `to` is a permutation, so each cycle of swaps ends.
    let mut free = numbered..;
    let mut to: Vec<u32> =
        numbers.iter().map(|number| number.map_or_else(|| free.next().unwrap_or(0), |id| id.0)).collect();
    for at in 0..functions.len() {
        // Each swap brings a function to its place, so that there are no more swaps than functions.
        while to[at] as usize != at {
            let there = to[at] as usize;
            functions.swap(at, there);
            to.swap(at, there);
        }
    }
    functions.truncate(numbered as usize);
}

fn bare_lines(placing: &Placing<'_, '_>) -> Vec<Bare> {
    let mut bare = Vec::new();
    for (id, unit) in placing.recovered.numbered() {
        bare.extend(unit.traces.bare.iter().map(|b| Bare {
            start: b.start,
            end: b.start + u64::from(b.len),
            unit: id,
            rows: b.rows,
            continues: b.continues,
            partial: unit.head.partial,
        }));
    }
    bare
}

/// A range of bare lines that may cover the address.
#[derive(Clone, Copy)]
struct OpenLines {
    /// Its index among the bare lines.
    index: usize,
    /// The latest end of the open ranges before it.
    end_below: ImageAddr,
}

/// Follows the bare lines along an address that only rises.
#[derive(Default)]
struct Sweep {
    /// The first range that starts behind the address.
    next: usize,
    /// The ranges before it, except those already seen to have ended.
    open: Vec<OpenLines>,
    /// The address up to which a unit without its `.dwo` has lines; `None` before the first of them. If functions were
    /// folded there, each of their units has lines, and the survivor is not known.
    partial_end: Option<ImageAddr>,
}

impl Sweep {
    /// Moves to an address no lower than the last one. Returns the lines that cover it: of several the range that
    /// starts last.
    fn to(&mut self, bare: &[Bare], address: ImageAddr) -> Option<Bare> {
        while let Some(found) = bare.get(self.next).filter(|found| found.start <= address) {
            let end_below =
                self.open.last().map_or(ImageAddr(0), |last| last.end_below.max(bare[last.index].end));
            self.open.push(OpenLines { index: self.next, end_below });
            if found.partial {
                self.partial_end = self.partial_end.max(Some(found.end));
            }
            self.next += 1;
        }
        // The address only rises, so a range that ended never covers again. One that ended under a later range is popped when
        // it is on top.
        while let Some(&last) = self.open.last() {
            if bare[last.index].end > address {
                return Some(bare[last.index]);
            }
            self.open.pop();
        }
        None
    }

    /// True if only one range is known to cover the address it moved to.
    fn is_alone(&self, address: ImageAddr) -> bool {
        self.open.last().is_none_or(|last| last.end_below <= address)
    }
}

struct Cutter {
    nodes: Nodes,
    /// Sorted by start.
    bare: Vec<Bare>,
    strays: Vec<StrayClaim>,
    sweep: Sweep,
    claims: Claims,
    pieces: Vec<Piece>,
    groups: Vec<Group>,
    /// How many functions have a number.
    numbered: u32,
    /// By function of the claims.
    renumbered: Vec<Option<FuncId>>,
    /// The functions that code without a name belongs to: one for units that are whole, one for units whose `.dwo` is
    /// missing.
    nameless: [Option<FuncId>; 2],
    /// The reason of these functions.
    reason: Option<Reason>,
    members_left: usize,
    /// Ranges that got no group because `members_left` ran out.
    left_out: u64,
}

impl Cutter {
    /// Counts subprograms that other ranges cover completely.
    fn hidden(&self, segments: &[Segment], diagnostics: &mut Diagnostics) {
        let mut shown = vec![false; self.claims.dies.len()];
        for segment in segments {
            if let Node::Die(index) = self.nodes.get(segment.node) {
                shown[index] = true;
            }
        }
        for (die, _) in self.claims.dies.iter().zip(shown).filter(|(_, shown)| !shown) {
            diagnostics.add(Kind::HiddenFunction, die.start.0, || {
                format!("{:#x}..{:#x} is covered by other functions", die.start, die.end)
            });
        }
    }

    fn segment(
        &mut self,
        placing: &mut Placing<'_, '_>,
        segment: Segment,
        end: ImageAddr,
        diagnostics: &mut Diagnostics,
    ) {
        let start = ImageAddr(segment.start);
        match self.nodes.get(segment.node) {
            Node::Nothing => {}
            Node::Bare(index) => self.bare_piece(placing, index, start, end),
            Node::Label(index) => self.symbol_pieces(start, end, |c| &mut c.labels[index]),
            Node::Symbol(index) => self.symbol_pieces(start, end, |c| &mut c.symbols[index]),
            Node::Stray(index) => self.stray_piece(index, start, end),
            Node::Die(index) => {
                let claim = &mut self.claims.dies[index];
                let skip = (start - claim.start) as u32;
                if skip > 0 || end < claim.end {
                    diagnostics.add(Kind::OverlapCut, claim.start.0, || {
                        format!("{:#x}..{:#x} is cut to {start:#x}..{end:#x}", claim.start, claim.end)
                    });
                }
                // Given back below: an inner range may cut the claim into several segments.
                let members = std::mem::take(&mut claim.members);
                self.piece(start, end, skip, &members, None);
                self.claims.dies[index].members = members;
            }
        }
    }

    /// The pieces of a symbol, cut at the starts and ends of bare lines.
    fn symbol_pieces(&mut self, start: ImageAddr, end: ImageAddr, pick: impl Fn(&mut Claims) -> &mut Claim) {
        let claim = pick(&mut self.claims);
        let (origin, members) = (claim.start, std::mem::take(&mut claim.members));
        // For several members `doubt` says that the lines here are not those of all of them (`symbol_ranges`).
        let has_own_lines = members.len() == 1 || claim.doubt.is_none();
        let mut at = start;
        while at < end {
            let covering = self.sweep.to(&self.bare, at);
            // Cut here too: the code after the lines has other lines, or none.
            let stop = match covering {
                Some(bare) => bare.end,
                None => self.bare.get(self.sweep.next).map_or(end, |b| b.start),
            };
            let stop = stop.min(end);
            // One function may have several names. If several sequences cover the code, nothing shows whose lines
            // apply.
            let rows = covering
                .filter(|_| members.len() == 1 || (has_own_lines && self.sweep.is_alone(at)))
                .map(|b| rows_from(b.unit, b.rows, (at - b.start) as u32));
            if self.sweep.partial_end > Some(at) {
                self.mark_partial(&members);
            }
            self.piece(at, stop, (at - origin) as u32, &members, rows);
            at = stop;
        }
        pick(&mut self.claims).members = members;
    }

    /// Inlined code outside of its function's ranges.
    fn stray_piece(&mut self, index: usize, start: ImageAddr, end: ImageAddr) {
        let StrayClaim { claim, origin } = &mut self.strays[index];
        let (skip, of_symbol) = ((start - claim.start) as u32, (start - *origin) as u32);
        let members = std::mem::take(&mut claim.members);
        // The rows count from the start of the claim, and the function's name is that of the symbol around it.
        match &members[..] {
            [Member { rows: Some(rows), .. }] => {
                let rows = Rows { skip: rows.skip + skip, ..*rows };
                self.piece(start, end, of_symbol, &members, Some(rows));
            }
            _ => self.piece(start, end, skip, &members, None),
        }
        self.strays[index].claim.members = members;
    }

    /// Marks functions whose inlined calls are not known because the `.dwo` is missing.
    fn mark_partial(&mut self, members: &[Member]) {
        for member in members {
            self.claims.functions[member.function.index()].partial = true;
        }
    }

    /// Bare lines: padding of the piece before, or a piece of a function without a name.
    fn bare_piece(&mut self, placing: &mut Placing<'_, '_>, index: usize, start: ImageAddr, end: ImageAddr) {
        let bare = self.bare[index];
        let len = (end - start) as u32;
        // Padding has no row of its own: the last row of the code before it goes on up to the next function.
        if bare.continues && bare.start == start && bare.rows.len == 1 {
            let owner = self.pieces.last().filter(|last| {
                let last_end = last.start + u64::from(last.body);
                let unit = self.rows_unit(last);
                last.pad == 0 && last_end == start && unit == Some(bare.unit)
            });
            if owner.is_some()
                && let Some(last) = self.pieces.last_mut()
            {
                last.pad = len;
                return;
            }
        }
        // Functions without a name differ in nothing that an answer shows, so all such code shares one.
        let function = match self.nameless[usize::from(bare.partial)] {
            Some(function) => function,
            None => {
                let name = placing.names.add(b"");
                let origin = placing.names.add_origin(Origin { name, file: None, line: 0 });
                self.claims.functions.push(Function {
                    origin,
                    symbol: None,
                    aliases: ThinVec::new(),
                    primary: None,
                    source: None,
                    how: How::SymbolOnly,
                    partial: bare.partial,
                    reason: self.reason,
                });
                self.renumbered.push(None);
                let function = FuncId(self.claims.functions.len() as u32 - 1);
                self.nameless[usize::from(bare.partial)] = Some(function);
                function
            }
        };
        let rows = rows_from(bare.unit, bare.rows, (start - bare.start) as u32);
        let member = Member { function, how: How::SymbolOnly, rows: Some(rows), symbol: None };
        self.piece(start, end, 0, &[member], None);
    }

    /// The unit whose rows a piece has.
    fn rows_unit(&self, piece: &Piece) -> Option<UnitId> {
        match piece.owner {
            Owner::Function(_) => piece.rows.map(|rows| rows.unit),
            Owner::Group(group) => self.groups[group.index()].members[0].rows.map(|rows| rows.unit),
        }
    }

    fn piece(&mut self, start: ImageAddr, end: ImageAddr, skip: u32, members: &[Member], rows: Option<Rows>) {
        if members.len() > 1 {
            match self.members_left.checked_sub(members.len()) {
                Some(left) => self.members_left = left,
                None => {
                    // No piece is better than one with some of the members: the reader would take the others for ruled out.
                    self.left_out += 1;
                    return;
                }
            }
        }
        let mut numbered = |member: &Member| {
            let rows = match member.rows {
                // A member's rows begin with the claim, and the piece may begin later.
                Some(own) if rows.is_none() => Some(Rows { skip: own.skip + skip, ..own }),
                _ => rows,
            };
            Member { function: self.renumber(member.function), rows, ..*member }
        };
        let (owner, rows, symbol) = match members {
            [member] => {
                let Member { function, rows, symbol, .. } = numbered(member);
                (Owner::Function(function), rows, symbol)
            }
            _ => {
                let members = members.iter().map(numbered).collect();
                self.groups.push(Group { members });
                (Owner::Group(GroupId(self.groups.len() as u32 - 1)), None, None)
            }
        };
        self.pieces.push(Piece { start, body: (end - start) as u32, pad: 0, owner, rows, skip, symbol });
    }

    /// The new id of a function: functions are numbered in the order in which pieces first name them.
    fn renumber(&mut self, old: FuncId) -> FuncId {
        *self.renumbered[old.index()].get_or_insert_with(|| {
            self.numbered += 1;
            FuncId(self.numbered - 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Bare, Sweep, reorder};
    use crate::model::{FuncId, Function, How, ImageAddr, OriginId, RowRange, UnitId};

    #[test]
    fn functions_move_to_their_numbers() {
        let function = |at| Function {
            origin: OriginId(at),
            symbol: None,
            aliases: Default::default(),
            primary: None,
            source: None,
            how: How::LiveRange,
            partial: false,
            reason: None,
        };
        for numbers in [&[][..], &[None], &[Some(0)], &[Some(2), None, Some(1), Some(0), None, Some(3)]] {
            let mut functions: Vec<Function> = (0..numbers.len() as u32).map(function).collect();
            let numbered = numbers.iter().flatten().count() as u32;
            let ids: Vec<Option<FuncId>> = numbers.iter().map(|number| number.map(FuncId)).collect();
            reorder(&mut functions, &ids, numbered);
            assert_eq!(functions.len() as u32, numbered);
            for (at, number) in numbers.iter().enumerate() {
                if let Some(number) = number {
                    assert_eq!(functions[*number as usize].origin, OriginId(at as u32), "{numbers:?}");
                }
            }
        }
    }

    /// A sweep finds the same lines as a walk over all of them, in ranges that overlap in every way.
    #[test]
    fn a_sweep_finds_the_lines_that_start_last() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let mut bare: Vec<Bare> = (0..random(20))
                .map(|number| {
                    let start = ImageAddr(random(40));
                    let (end, partial) = (start + (1 + random(20)), random(3) == 0);
                    let rows = RowRange::default();
                    Bare { start, end, unit: UnitId::new(number as u32), rows, continues: false, partial }
                })
                .collect();
            bare.sort_by_key(|b| (b.start, std::cmp::Reverse(b.end), b.unit));
            let mut sweep = Sweep::default();
            let mut at = ImageAddr(0);
            while at < ImageAddr(64) {
                let covering = |b: &&Bare| b.start <= at && at < b.end;
                let expected = bare.iter().rfind(covering).map(|b| b.unit);
                assert_eq!(sweep.to(&bare, at).map(|b| b.unit), expected, "at {at:?}");
                let partial = bare.iter().filter(covering).any(|b| b.partial);
                assert_eq!(sweep.partial_end > Some(at), partial, "at {at:?}");
                assert_eq!(sweep.is_alone(at), bare.iter().filter(covering).count() <= 1, "at {at:?}");
                at = at + random(3);
            }
        }
    }
}

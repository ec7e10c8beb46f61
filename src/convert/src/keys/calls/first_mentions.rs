//! Guesses the callees of calls that nothing recorded, by the order in which functions are first mentioned.
//!
//! A compiler makes the symbol of a function where it first mentions the function: in a call, or in the definition. So the symbols of an
//! object, the order of which lld and mold keep, and the mentions in its code are two lists in one order. Example: `f` calls 0x2000,
//! 0x3000 and 0x2000. The symbols are `f`, `add<Car>` at 0x2000, `sum` at 0x3000 and `add<Bus>` at 0x2000. Only one function is at
//! 0x3000, so `add<Car>` is mentioned before that call and `add<Bus>` after it: the first call is of `add<Car>`, the last of `add<Bus>`.
//!
//! Symbols of functions that share their code with no other are *anchors*: their first mention is known. Between two anchors the longest
//! common subsequence of symbols and mentions decides. A later call of the same address may be of any function that was mentioned
//! before it: it gets a guess if that is only one. Calls that name one DIE as their callee have one callee.
//!
//! A guess ranks the members of a group. It is no evidence.

use std::ops::Range;

use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::keys::limits::{MAX_GAP, MAX_GUESS_STEPS, MAX_MENTIONS};
use crate::model::{FuncId, ImageAddr, LocalCallee, NameId, Owner, UnitId};
use crate::place::MentionedSymbols;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// A place in an object that mentions a function.
#[derive(Clone, Copy)]
struct Mention {
    /// Where the function begins.
    target: ImageAddr,
    /// The return address of a call in code of one function only; `None` for a definition, and for a call in folded code.
    call: Option<ImageAddr>,
}

/// A symbol.
#[derive(Clone, Copy)]
struct Listed {
    start: ImageAddr,
    /// The member of the group there that has the symbol; `None` if the code is of one function only.
    member: Option<FuncId>,
}

/// The DIE that a unit's calls name as their callee.
type CalleeDie = (UnitId, LocalCallee);

/// What is known of the calls so far.
#[derive(Default)]
struct Guesses {
    by_call: HashMap<ImageAddr, FuncId>,
    /// By return address.
    dies: HashMap<ImageAddr, CalleeDie>,
    by_die: HashMap<CalleeDie, FuncId>,
    /// By unit and address: the functions that its DIEs are known to mean.
    taken: HashMap<(UnitId, ImageAddr), HashSet<FuncId>>,
    /// DIEs that a call before names.
    named: HashSet<CalleeDie>,
    /// The mentions that are the first one of a function, by index.
    first: HashMap<usize, FuncId>,
}

impl CallKeyBuilder<'_, '_, '_> {
    /// The guesses, by return address.
    pub(crate) fn by_first_mention(&self) -> Vec<(ImageAddr, FuncId)> {
        let mentioned = &self.index.functions.placed.mentioned;
        if mentioned.is_empty() {
            return Vec::new();
        }
        // A guess takes nothing from the budget of keys.
        let steps = Budget::new(MAX_GUESS_STEPS);
        let (mentions, of_units) = self.mentions();
        let members = self.members_by_name();
        let mut guesses = self.recorded_callees();
        for MentionedSymbols { unit, symbols } in mentioned {
            let listed: Vec<Listed> =
                symbols.iter().filter_map(|symbol| self.listed(*symbol, &members)).collect();
            // Only its own unit can mention a local function.
            let within = unit.map_or(0..mentions.len(), |unit| of_units[unit.index()].clone());
            guesses.add(&listed, &mentions, within, &steps);
        }
        guesses.repeat(&mentions, &of_units, &steps);
        let mut guesses: Vec<(ImageAddr, FuncId)> = guesses.by_call.into_iter().collect();
        guesses.sort_unstable();
        guesses
    }

    /// The mentions of all objects, in the order of the link, and by unit the indexes of its own.
    fn mentions(&self) -> (Vec<Mention>, Vec<Range<usize>>) {
        let functions = &self.index.functions;
        let pieces = &functions.program.pieces;
        let (mut mentions, mut of_units) = (Vec::new(), Vec::with_capacity(functions.records.units.len()));
        let mut once: HashSet<ImageAddr> = HashSet::default();
        // Folded functions have one code: its calls are read once.
        let mut known: HashMap<ImageAddr, Range<usize>> = HashMap::default();
        for unit in &functions.records.units {
            let from_unit = mentions.len();
            for range in &unit.emitted {
                let first = pieces.partition_point(|piece| piece.start < range.start);
                let here = pieces[first..].iter().take_while(|piece| piece.start < range.end);
                for piece in here {
                    if mentions.len() >= MAX_MENTIONS {
                        break;
                    }
                    mentions.push(Mention { target: piece.start, call: None });
                    if let Some(before) = known.get(&piece.start).cloned() {
                        // Sequences may overlap as often as the input likes.
                        let room = MAX_MENTIONS.saturating_sub(mentions.len());
                        mentions.extend_from_within(before.start..before.end.min(before.start + room));
                        continue;
                    }
                    let from = mentions.len();
                    let alone = matches!(piece.owner, Owner::Function(_));
                    let is_start = |target| self.index.owner_at(target).is_some();
                    for transfer in functions.machine.transfers(piece.code(), is_start) {
                        let target = transfer.target;
                        // Of a function alone, the first mention is enough.
                        let is_grouped = matches!(self.index.owner_at(target), Some(Owner::Group(_)));
                        if is_grouped || once.insert(target) {
                            let call = transfer.return_addr.filter(|_| alone);
                            mentions.push(Mention { target, call });
                        }
                    }
                    known.insert(piece.start, from..mentions.len());
                }
            }
            of_units.push(from_unit..mentions.len());
        }
        (mentions, of_units)
    }

    /// The members of groups by entry and name; `None` if several have the name.
    fn members_by_name(&self) -> HashMap<(ImageAddr, NameId), Option<FuncId>> {
        let program = self.index.functions.program;
        let mut members: HashMap<(ImageAddr, NameId), Option<FuncId>> = HashMap::default();
        for member in program.groups.iter().flat_map(|group| &group.members) {
            let function = &program.functions[member.function.index()];
            let start = self.index.functions.starts[member.function.index()];
            let names = [program.name_of(function)].into_iter().chain(function.aliases.iter().copied());
            for name in names {
                members
                    .entry((start, name))
                    .and_modify(|known| *known = known.filter(|known| *known == member.function))
                    .or_insert(Some(member.function));
            }
        }
        members
    }

    fn listed(
        &self,
        (start, name): (ImageAddr, NameId),
        members: &HashMap<(ImageAddr, NameId), Option<FuncId>>,
    ) -> Option<Listed> {
        match self.index.owner_at(start)? {
            Owner::Function(_) => Some(Listed { start, member: None }),
            Owner::Group(_) => Some(Listed { start, member: Some((*members.get(&(start, name))?)?) }),
        }
    }

    /// The DIEs that calls name as their callees, and the functions that are known of them.
    fn recorded_callees(&self) -> Guesses {
        let mut guesses = Guesses::default();
        for (number, unit) in (0..).zip(&self.index.functions.records.units) {
            if unit.emitted.is_empty() {
                continue;
            }
            for call in unit.calls.iter() {
                let (Some(return_addr), Some(callee)) = (call.return_addr(), call.callee()) else { continue };
                let die = (UnitId::new(number), callee);
                guesses.dies.insert(return_addr, die);
                let found = self.index.callee_at(number as usize, Some(callee), return_addr);
                if let Some((function, _)) = found.function() {
                    guesses.know(die, self.index.functions.starts[function.index()], function);
                }
            }
        }
        guesses
    }
}

impl Guesses {
    /// Records which function a DIE means.
    fn know(&mut self, die: CalleeDie, start: ImageAddr, function: FuncId) {
        if self.by_die.insert(die, function).is_none() {
            self.taken.entry((die.0, start)).or_default().insert(function);
        }
    }

    /// Aligns symbols with the mentions of some units.
    fn add(&mut self, symbols: &[Listed], mentions: &[Mention], within: Range<usize>, steps: &Budget) {
        if symbols.iter().all(|symbol| symbol.member.is_none()) || !steps.spend(within.len()) {
            return;
        }
        let mut first: HashMap<ImageAddr, usize> = HashMap::default();
        for at in within.clone() {
            first.entry(mentions[at].target).or_insert(at);
        }
        let anchor = |(at, symbol): (usize, &Listed)| {
            let place = first.get(&symbol.start).filter(|_| symbol.member.is_none())?;
            Some((at, *place))
        };
        let anchors = rising(&symbols.iter().enumerate().filter_map(anchor).collect::<Vec<_>>());
        let mut before = (0, within.start);
        for next in anchors.into_iter().chain([(symbols.len(), within.end)]) {
            let tied: Vec<(ImageAddr, FuncId)> = symbols[before.0..next.0]
                .iter()
                .filter_map(|symbol| Some((symbol.start, symbol.member?)))
                .collect();
            if !tied.is_empty() {
                self.between(&tied, mentions, before.1..next.1, steps);
            }
            before = next;
        }
    }

    /// Aligns the symbols and the mentions between two anchors.
    fn between(
        &mut self,
        tied: &[(ImageAddr, FuncId)],
        mentions: &[Mention],
        range: Range<usize>,
        steps: &Budget,
    ) {
        if !steps.spend(range.len()) {
            return;
        }
        let starts: HashSet<ImageAddr> = tied.iter().map(|(start, _)| *start).collect();
        // A DIE that an earlier call of the unit names was mentioned there.
        let mut repeated: HashSet<CalleeDie> = HashSet::default();
        let mut may_be_first = |at: &usize| {
            let mention = &mentions[*at];
            let is_repeated = match self.die(mention) {
                Some(die) => self.named.contains(&die) || !repeated.insert(die),
                None => false,
            };
            !is_repeated && !self.first.contains_key(at) && starts.contains(&mention.target)
        };
        let here: Vec<usize> = range.filter(|at| may_be_first(at)).collect();
        // So many are of no program that a compiler made: such a gap has no guesses.
        let cells = tied.len().saturating_mul(here.len());
        if cells > MAX_GAP || !steps.spend(cells) {
            return;
        }
        let place = |at: &usize| {
            let known = self.die(&mentions[*at]).and_then(|die| self.by_die.get(&die).copied());
            (mentions[*at].target, known)
        };
        let places: Vec<(ImageAddr, Option<FuncId>)> = here.iter().map(place).collect();
        let pairs = common(tied, &places, |symbol, place| {
            symbol.0 == place.0 && place.1.is_none_or(|known| known == symbol.1)
        });
        self.named.extend(here.iter().filter_map(|at| self.die(&mentions[*at])).collect::<Vec<_>>());
        for (symbol, at) in pairs {
            let (start, function) = tied[symbol];
            self.first.insert(here[at], function);
            let Some(call) = mentions[here[at]].call else { continue };
            if let Some(&die) = self.dies.get(&call) {
                self.know(die, start, function);
            }
        }
    }

    /// The DIE that a call names as its callee.
    fn die(&self, mention: &Mention) -> Option<CalleeDie> {
        self.dies.get(&mention.call?).copied()
    }

    /// Gives guesses to the other calls: to those that name a known DIE, and to those of functions that were mentioned before.
    fn repeat(&mut self, mentions: &[Mention], of_units: &[Range<usize>], steps: &Budget) {
        // By address: the functions that were mentioned so far.
        let mut seen: HashMap<ImageAddr, Vec<FuncId>> = HashMap::default();
        let mut is_seen: HashSet<(ImageAddr, FuncId)> = HashSet::default();
        for unit in of_units {
            // By address: the calls of the unit that name no DIE.
            let mut open: HashMap<ImageAddr, Vec<ImageAddr>> = HashMap::default();
            for at in unit.clone() {
                let mention = &mentions[at];
                let die = self.die(mention);
                let known = die.and_then(|die| self.by_die.get(&die).copied());
                if let Some(function) = known.or_else(|| self.first.get(&at).copied()) {
                    self.by_call.extend(mention.call.map(|call| (call, function)));
                    if is_seen.insert((mention.target, function)) {
                        seen.entry(mention.target).or_default().push(function);
                    }
                    continue;
                }
                let Some(call) = mention.call else { continue };
                let Some(die) = die else {
                    match seen.get(&mention.target).map_or(&[][..], |seen| seen) {
                        [only] => _ = self.by_call.insert(call, *only),
                        _ => open.entry(mention.target).or_default().push(call),
                    }
                    continue;
                };
                // The DIEs of a unit mean different functions: of those that are left, the first mentioned one comes first.
                let taken = self.taken.get(&(die.0, mention.target));
                let is_free = |function: &&FuncId| taken.is_none_or(|taken| !taken.contains(function));
                let known = seen.get(&mention.target).map_or(&[][..], |seen| seen);
                // Each of any number of DIEs may be compared with any number of functions.
                if !steps.spend(known.len()) {
                    continue;
                }
                if let Some(first) = known.iter().find(is_free).copied() {
                    self.by_call.insert(call, first);
                    self.know(die, mention.target, first);
                }
            }
            for (target, calls) in open {
                let seen = seen.get(&target).map_or(&[][..], |seen| seen);
                // A call of each, most likely in the order of their definitions.
                if seen.len() == calls.len() {
                    self.by_call.extend(calls.into_iter().zip(seen.iter().copied()));
                }
            }
        }
    }
}

/// The longest part of a list of (symbol, place of its mention), in the order of symbols, in which places rise.
fn rising(anchors: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // By length - 1: the anchor with the least place at which a rising list of that length ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; anchors.len()];
    for (at, &(_, place)) in anchors.iter().enumerate() {
        let len = ends.partition_point(|&end| anchors[end].1 < place);
        before[at] = len.checked_sub(1).map(|len| ends[len]);
        match ends.get_mut(len) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut list = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(here) = at {
        list.push(anchors[here]);
        at = before[here];
    }
    list.reverse();
    list
}

/// A longest common subsequence of two lists, as pairs of indexes: of several the one whose pairs come first.
fn common<A, B>(left: &[A], right: &[B], same: impl Fn(&A, &B) -> bool) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    // By the rests of both lists: the length of their longest common subsequence.
    let mut len = vec![0u32; (left.len() + 1) * width];
    for at in (0..left.len()).rev() {
        for other in (0..right.len()).rev() {
            len[at * width + other] = match same(&left[at], &right[other]) {
                true => 1 + len[(at + 1) * width + other + 1],
                false => len[(at + 1) * width + other].max(len[at * width + other + 1]),
            };
        }
    }
    let (mut at, mut other, mut pairs) = (0, 0, Vec::new());
    while at < left.len() && other < right.len() {
        if same(&left[at], &right[other]) {
            pairs.push((at, other));
            (at, other) = (at + 1, other + 1);
        } else if len[at * width + other + 1] >= len[(at + 1) * width + other] {
            other += 1;
        } else {
            at += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rising_list_leaves_out_what_does_not_fit() {
        assert_eq!(
            rising(&[(0, 1), (2, 9), (3, 4), (5, 6), (6, 2), (8, 7)]),
            [(0, 1), (3, 4), (5, 6), (8, 7)]
        );
        assert_eq!(rising(&[]), []);
    }

    #[test]
    fn a_common_subsequence_begins_as_early_as_it_can() {
        let pairs = |left: &str, right: &str| common(left.as_bytes(), right.as_bytes(), |a, b| a == b);
        assert_eq!(pairs("ab", "aabb"), [(0, 0), (1, 2)]);
        assert_eq!(pairs("xab", "yab"), [(1, 1), (2, 2)]);
        assert_eq!(pairs("ab", "ba"), [(0, 1)]);
        assert_eq!(pairs("", "a"), []);
    }

    #[test]
    fn anchors_separate_the_calls_of_one_address() {
        let at = |start: u64, member: u32| Listed {
            start: ImageAddr(start),
            member: Some(FuncId(member)).filter(|_| member > 0),
        };
        let call = |target: u64, return_addr: u64| Mention {
            target: ImageAddr(target),
            call: Some(ImageAddr(return_addr)).filter(|_| return_addr > 0),
        };
        // f, add<Car>, sum, add<Bus>
        let symbols = [at(0x1000, 0), at(0x2000, 7), at(0x3000, 0), at(0x2000, 8)];
        let mentions = [
            call(0x1000, 0),
            call(0x2000, 0x1005),
            call(0x2000, 0x100a),
            call(0x3000, 0x100f),
            call(0x2000, 0x1014),
        ];
        let mut guesses = Guesses::default();
        let steps = Budget::new(1 << 10);
        guesses.add(&symbols, &mentions, 0..mentions.len(), &steps);
        guesses.repeat(&mentions, std::slice::from_ref(&(0..mentions.len())), &steps);
        let mut found: Vec<(u64, u32)> =
            guesses.by_call.iter().map(|(call, guess)| (call.0, guess.0)).collect();
        found.sort_unstable();
        assert_eq!(found, [(0x1005, 7), (0x100a, 7), (0x1014, 8)]);
    }
}

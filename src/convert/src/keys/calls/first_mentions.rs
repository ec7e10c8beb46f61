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
//! Three facts say which symbols a mention cannot have:
//! - The unit's copy of a function was discarded, since an earlier object has one. Then the symbol stands with that object's, and no symbol of
//!   the unit is that function's. The unit's line program shows it: the copy's sequence is there and is not live.
//! - The compiler recorded other calls of the caller, and not this one. Then the unit does not define the callee.
//! - In folded code each function has callees of its own. So a guess is for a call and its caller.
//!
//! A guess ranks the members of a group. It is no evidence.

use std::ops::Range;

use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::keys::calls::mentions::{CalleeDie, Mention};
use crate::keys::limits::{MAX_GAP, MAX_GUESS_STEPS};
use crate::model::{CallFrom, FuncId, ImageAddr, NameId, Owner, UnitId};
use crate::place::MentionedSymbols;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// A symbol, or a DIE.
#[derive(Clone, Copy)]
pub(super) struct Listed {
    pub(super) start: ImageAddr,
    /// The member of the group there that has the symbol; `None` if the code is of one function only.
    pub(super) member: Option<FuncId>,
}

/// The symbols of one object, or those that all objects know.
pub(super) struct List {
    pub(super) unit: Option<UnitId>,
    /// Other objects may mention them.
    pub(super) shared: bool,
    pub(super) symbols: Vec<Listed>,
}

/// What is known of the calls so far.
#[derive(Default)]
pub(super) struct Guesses {
    by_call: HashMap<CallFrom, FuncId>,
    dies: HashMap<CallFrom, CalleeDie>,
    by_die: HashMap<CalleeDie, FuncId>,
    /// By unit and address: the functions that its DIEs are known to mean.
    taken: HashMap<(UnitId, ImageAddr), HashSet<FuncId>>,
    /// DIEs that calls name, with the index of the first such call that was looked at.
    named: HashMap<CalleeDie, usize>,
    /// DIEs of functions that the unit defines, and of which the linker took the copy of an earlier object.
    copies: HashSet<CalleeDie>,
    /// The mentions that are the first one of a function, by index.
    pub(super) first: HashMap<usize, FuncId>,
}

impl CallKeyBuilder<'_, '_, '_> {
    /// The guesses, by call.
    pub(crate) fn by_first_mention(&self) -> Vec<(CallFrom, FuncId)> {
        let mentioned = &self.index.functions.placed.mentioned;
        if mentioned.is_empty() {
            return Vec::new();
        }
        // A guess takes nothing from the budget of keys.
        let steps = Budget::new(MAX_GUESS_STEPS);
        let mut guesses = Guesses::default();
        let (mentions, of_units) = self.mentions(&mut guesses.dies, &steps);
        self.add_recorded_callees(&mut guesses);
        let members = self.members_by_name();
        let lists: Vec<List> = mentioned
            .iter()
            .map(|MentionedSymbols { unit, made_local, symbols }| List {
                unit: *unit,
                shared: unit.is_none() || *made_local,
                symbols: symbols.iter().filter_map(|symbol| self.listed(*symbol, &members)).collect(),
            })
            .collect();
        self.add_copies(&mut guesses, &mentions, &of_units, &lists);
        for list in &lists {
            // A unit's own symbols are first mentioned in it.
            let within = list.unit.map_or(0..mentions.len(), |unit| of_units[unit.index()].clone());
            guesses.add(list, &mentions, within, &steps);
        }
        guesses.repeat(&mentions, &of_units, &lists, &steps);
        let mut guesses: Vec<(CallFrom, FuncId)> = guesses.by_call.into_iter().collect();
        guesses.sort_unstable();
        guesses
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

    /// Finds the DIEs of discarded copies. The DIEs that a unit's calls of an address name stand in the order of its sequences there. A
    /// discarded copy has a sequence that is not live, with the length and the first line of the copy that stayed.
    fn add_copies(
        &self,
        guesses: &mut Guesses,
        mentions: &[Mention],
        of_units: &[Range<usize>],
        lists: &[List],
    ) {
        let shared = lists.iter().filter(|list| list.shared).flat_map(|list| &list.symbols);
        let shared: HashSet<ImageAddr> =
            shared.filter(|symbol| symbol.member.is_some()).map(|symbol| symbol.start).collect();
        let units = &self.index.functions.records.units;
        // `None` if functions at several addresses have this length and line.
        let mut kept: HashMap<(u64, u32), Option<ImageAddr>> = HashMap::default();
        for sequence in units.iter().flat_map(|unit| &unit.emitted) {
            let start = sequence.range.start;
            if sequence.live && shared.contains(&start) {
                kept.entry((sequence.range.len(), sequence.line))
                    .and_modify(|known| *known = known.filter(|known| *known == start))
                    .or_insert(Some(start));
            }
        }
        for (unit, own) in units.iter().zip(of_units) {
            // By address: whether each sequence is live.
            let mut sequences: HashMap<ImageAddr, Vec<bool>> = HashMap::default();
            for sequence in &unit.emitted {
                let start = match sequence.live {
                    true => Some(sequence.range.start),
                    false => kept.get(&(sequence.range.len(), sequence.line)).copied().flatten(),
                };
                if let Some(start) = start {
                    sequences.entry(start).or_default().push(sequence.live);
                }
            }
            sequences.retain(|_, live| live.contains(&false));
            let mut dies: HashMap<ImageAddr, Vec<CalleeDie>> = HashMap::default();
            let mut once: HashSet<CalleeDie> = HashSet::default();
            for mention in &mentions[own.clone()] {
                if sequences.contains_key(&mention.target)
                    && let Some(die) = guesses.die(mention)
                    && once.insert(die)
                {
                    dies.entry(mention.target).or_default().push(die);
                }
            }
            for (start, dies) in dies {
                let live = &sequences[&start];
                if dies.len() <= live.len() {
                    let copies = dies.into_iter().zip(live).filter(|(_, live)| !**live);
                    guesses.copies.extend(copies.map(|(die, _)| die));
                }
            }
        }
    }

    /// Adds the functions that are known of the DIEs which calls name as their callees.
    fn add_recorded_callees(&self, guesses: &mut Guesses) {
        let mut dies: Vec<(CallFrom, CalleeDie)> =
            guesses.dies.iter().map(|(call, die)| (*call, *die)).collect();
        // The first call that names a DIE decides.
        dies.sort_unstable_by_key(|(call, _)| *call);
        for ((return_addr, _), die) in dies {
            let found = self.index.callee_at(die.0.index(), Some(die.1), return_addr);
            if let Some((function, _)) = found.function() {
                guesses.know(die, self.index.functions.starts[function.index()], function);
            }
        }
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
    pub(super) fn add(&mut self, list: &List, mentions: &[Mention], within: Range<usize>, steps: &Budget) {
        let symbols = &list.symbols[..];
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
                self.between((&tied, list.unit), mentions, before.1..next.1, steps);
            }
            before = next;
        }
    }

    /// Aligns the symbols and the mentions between two anchors.
    fn between(
        &mut self,
        (tied, unit): (&[(ImageAddr, FuncId)], Option<UnitId>),
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
                Some(die) => {
                    self.copies.contains(&die)
                        || self.named.get(&die).is_some_and(|first| first < at)
                        || !repeated.insert(die)
                }
                None => false,
            };
            let is_own = unit.is_none() || !mention.elsewhere;
            is_own && !is_repeated && !self.first.contains_key(at) && starts.contains(&mention.target)
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
        for at in &here {
            if let Some(die) = self.die(&mentions[*at]) {
                let first = self.named.entry(die).or_insert(*at);
                *first = (*first).min(*at);
            }
        }
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
    fn repeat(&mut self, mentions: &[Mention], of_units: &[Range<usize>], lists: &[List], steps: &Budget) {
        // By address: the functions that other units than their own may mention.
        let mut shared: HashMap<ImageAddr, Vec<(Option<UnitId>, FuncId)>> = HashMap::default();
        for list in lists.iter().filter(|list| list.shared) {
            for symbol in &list.symbols {
                if let Some(member) = symbol.member {
                    shared.entry(symbol.start).or_default().push((list.unit, member));
                }
            }
        }
        // By address: the functions that were mentioned so far.
        let mut seen: HashMap<ImageAddr, Vec<FuncId>> = HashMap::default();
        let mut is_seen: HashSet<(ImageAddr, FuncId)> = HashSet::default();
        for (number, unit) in (0..).zip(of_units) {
            let unit_id = UnitId::new(number);
            // By address: the calls of the unit that name no DIE.
            let mut open: HashMap<ImageAddr, Vec<CallFrom>> = HashMap::default();
            let mut elsewhere: HashMap<ImageAddr, Vec<CallFrom>> = HashMap::default();
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
                if mention.elsewhere {
                    elsewhere.entry(mention.target).or_default().push(call);
                    continue;
                }
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
            for (target, calls) in elsewhere {
                let known = shared.get(&target).map_or(&[][..], |known| known);
                if !steps.spend(known.len()) {
                    continue;
                }
                let taken = self.taken.get(&(unit_id, target));
                let of_others = known.iter().filter(|(unit, function)| {
                    *unit != Some(unit_id) && taken.is_none_or(|taken| !taken.contains(function))
                });
                // Most likely in the order of the symbols.
                self.by_call.extend(calls.into_iter().zip(of_others.map(|(_, function)| *function)));
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
            call: Some((ImageAddr(return_addr), None)).filter(|_| return_addr > 0),
            elsewhere: false,
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
        let list = List { unit: None, shared: true, symbols: symbols.to_vec() };
        guesses.add(&list, &mentions, 0..mentions.len(), &steps);
        guesses.repeat(&mentions, std::slice::from_ref(&(0..mentions.len())), &[list], &steps);
        let mut found: Vec<(u64, u32)> =
            guesses.by_call.iter().map(|((call, _), guess)| (call.0, guess.0)).collect();
        found.sort_unstable();
        assert_eq!(found, [(0x1005, 7), (0x100a, 7), (0x1014, 8)]);
    }
}

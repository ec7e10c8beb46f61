//! Says, for the calls that lead into folded code, which of its functions they call.
//!
//! The key is the return address: a stack has it. A call that stands in folded code itself has one address and a
//! callee for each of the functions that share the code. The calls of the function that remains have their
//! addresses; those of the others are tombstones, and are given the addresses of the former, in order. That is
//! right since the code is the same, and is trusted only where it shows: as many calls in both, in address order in
//! the function that remains, and each pair of callees at one address, or both of one name that the program does not
//! have. gcc does not keep the order: there, those that call one address must all call one function.
//!
//! A callee may give its frame away by a tail call; then the code above a return address is that of whom it
//! reaches. Where it may reach functions that are not known, nothing can be ruled out.

use rustc_hash::{FxHashMap, FxHashSet};

use super::names::is_program_wide;
use super::pieces::Cut;
use crate::model::{
    CallCounts, CallHow, CallKey, Calls, FuncId, GroupId, How, ImageAddr, LocalCallee, NameId, Owner,
    Program, TailKey, UnitCall,
};

/// Functions that are visited to find what one reaches by tail calls; one that reaches more reaches what is not
/// known.
const MAX_REACH: usize = 64;

/// Whom a call calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Callee {
    Function(FuncId),
    /// A function of another module, by its name.
    Elsewhere(NameId),
    /// The call goes through a register or memory.
    Indirect,
    /// A function that the program may have, but not one that is known.
    Unknown,
}

/// Fills in the call keys of the program.
pub(super) fn key(cut: &mut Cut<'_>) {
    if cut.program.groups.is_empty() {
        return;
    }
    let index = Index::new(&cut.program, &cut.numbers);
    let mut keys =
        Keys { index: &index, calls: Vec::new(), tails: FxHashMap::default(), counts: CallCounts::default() };
    keys.of_single_functions();
    keys.of_groups();
    let Keys { mut calls, tails, counts, .. } = keys;
    calls.sort_unstable();
    calls.dedup_by_key(|key| (key.return_addr, key.caller));
    let used: FxHashSet<FuncId> = calls.iter().map(|key| key.callee).collect();
    let mut listed: Vec<TailKey> = tails
        .into_iter()
        .filter(|(function, _)| used.contains(function))
        .flat_map(|(function, reach)| reach.keys(function).collect::<Vec<_>>())
        .collect();
    listed.sort_unstable();
    cut.program.calls = calls;
    cut.program.tails = listed;
    cut.program.call_counts = counts;
}

/// What a function reaches by tail calls, itself left out.
#[derive(Clone, Default)]
struct Reach {
    /// Functions of groups.
    members: Vec<FuncId>,
    unknown: bool,
}

impl Reach {
    fn keys(&self, function: FuncId) -> impl Iterator<Item = TailKey> {
        let unknown = self.unknown.then_some(TailKey { function, target: None });
        let members = self.members.iter().map(move |&target| TailKey { function, target: Some(target) });
        unknown.into_iter().chain(members)
    }
}

/// What the calls refer to, by each way of referring.
struct Index<'p, 'f> {
    program: &'p Program<'f>,
    /// Functions by unit and DIE.
    by_die: FxHashMap<(u32, u64), FuncId>,
    /// Functions by name; `None` where several have it.
    by_name: FxHashMap<NameId, Option<FuncId>>,
    /// The group of each function, and its place in it. A function in several (one a piece) counts for its first.
    group: FxHashMap<FuncId, GroupId>,
    /// By unit: what each local callee is.
    callees: Vec<Vec<Callee>>,
    /// First address of each function.
    starts: Vec<u64>,
}

impl<'p, 'f> Index<'p, 'f> {
    fn new(program: &'p Program<'f>, numbers: &FxHashMap<FuncId, FuncId>) -> Self {
        let mut by_die = FxHashMap::default();
        let mut old = 0;
        for (unit_index, unit) in program.units.iter().enumerate() {
            for function in &unit.functions {
                if let Some(&id) = numbers.get(&FuncId(old)) {
                    by_die.insert((unit_index as u32, function.die.0), id);
                }
                old += 1;
            }
        }
        let mut by_name: FxHashMap<NameId, Option<FuncId>> = FxHashMap::default();
        for (index, function) in program.functions.iter().enumerate() {
            let id = FuncId(index as u32);
            let own = program.origins[function.origin.index()].name;
            for name in [own].into_iter().chain(function.symbol).chain(function.aliases.iter().copied()) {
                by_name
                    .entry(name)
                    .and_modify(|known| *known = known.filter(|known| *known == id))
                    .or_insert(Some(id));
            }
        }
        let mut group = FxHashMap::default();
        for (index, found) in program.groups.iter().enumerate() {
            for member in &found.members {
                group.entry(member.function).or_insert(GroupId(index as u32));
            }
        }
        let mut starts = vec![u64::MAX; program.functions.len()];
        for piece in &program.pieces {
            let mut start = |function: FuncId| {
                let start = &mut starts[function.index()];
                *start = piece.start.0.min(*start);
            };
            match piece.owner {
                Owner::Function(function) => start(function),
                Owner::Group(group) => {
                    program.groups[group.index()].members.iter().for_each(|m| start(m.function))
                }
            }
        }
        let mut index = Index { program, by_die, by_name, group, callees: Vec::new(), starts };
        index.callees = (0..program.units.len()).map(|unit| index.callees_of(unit)).collect();
        index
    }

    fn callees_of(&self, unit_index: usize) -> Vec<Callee> {
        let (unit, map) = (&self.program.units[unit_index], &self.program.maps[unit_index]);
        let resolve = |callee: &crate::model::UnitCallee| {
            let owner = if callee.here {
                unit_index
            } else {
                self.program.units.partition_point(|u| u.offset <= callee.die.0).saturating_sub(1)
            };
            if let Some(&function) = self.by_die.get(&(owner as u32, callee.die.0)) {
                return Callee::Function(function);
            }
            let name = self.program.origins[map.origins[callee.origin.index()].index()].name;
            let bytes = &self.program.names[name.index()];
            if bytes.is_empty() || !(callee.external || is_program_wide(bytes)) {
                return Callee::Unknown;
            }
            match self.by_name.get(&name) {
                Some(Some(function)) => Callee::Function(*function),
                Some(None) => Callee::Unknown,
                None => Callee::Elsewhere(name),
            }
        };
        unit.callees.iter().map(resolve).collect()
    }

    fn callee(&self, unit: usize, callee: Option<LocalCallee>) -> Callee {
        callee.map_or(Callee::Indirect, |local| self.callees[unit][local.index()])
    }

    /// The unit and the calls of a function.
    fn calls(&self, function: FuncId) -> Option<(usize, &'p Calls, &'p [UnitCall])> {
        let source = self.program.functions[function.index()].source?;
        let unit = &self.program.units[source.unit.index()];
        let calls = &unit.functions[source.function.index()].calls;
        let listed = &unit.calls[calls.range.start as usize..calls.range.end as usize];
        Some((source.unit.index(), calls, listed))
    }

    /// The group whose code stands before a return address.
    fn calling_group(&self, return_addr: ImageAddr) -> Option<GroupId> {
        let pieces = &self.program.pieces;
        let after = pieces.partition_point(|piece| piece.start.0 < return_addr.0);
        match pieces[after.checked_sub(1)?].owner {
            Owner::Group(group) => Some(group),
            Owner::Function(_) => None,
        }
    }

    fn reach(&self, function: FuncId) -> Reach {
        let mut reach = Reach::default();
        let mut seen = vec![function];
        let mut next = 0;
        while let Some(&at) = seen.get(next) {
            next += 1;
            let Some((unit, calls, listed)) = self.calls(at) else {
                reach.unknown = true;
                continue;
            };
            reach.unknown |= !calls.all_tail_calls;
            for call in listed.iter().filter(|call| call.tail) {
                match self.callee(unit, call.callee) {
                    Callee::Function(callee) if seen.contains(&callee) => {}
                    Callee::Function(callee) if seen.len() < MAX_REACH => seen.push(callee),
                    Callee::Elsewhere(_) => {}
                    _ => reach.unknown = true,
                }
            }
        }
        reach.members =
            seen[1..].iter().copied().filter(|function| self.group.contains_key(function)).collect();
        reach
    }

    /// True where functions of the group may stand for others that the compiler merged with them: a name is there that
    /// no DIE has.
    fn merged_by_compiler(&self, function: FuncId) -> bool {
        self.group.get(&function).is_some_and(|group| {
            self.program.groups[group.index()].members.iter().any(|member| member.how == How::SymbolOnly)
        })
    }
}

struct Keys<'i, 'p, 'f> {
    index: &'i Index<'p, 'f>,
    calls: Vec<CallKey>,
    tails: FxHashMap<FuncId, Reach>,
    counts: CallCounts,
}

impl<'p> Keys<'_, 'p, '_> {
    /// True where a call of the function tells something of a frame in folded code.
    fn matters(&mut self, callee: FuncId) -> bool {
        let index = self.index;
        let reach = self.tails.entry(callee).or_insert_with(|| index.reach(callee));
        index.group.contains_key(&callee) || !reach.members.is_empty()
    }

    fn add(&mut self, unit: usize, return_addr: ImageAddr, caller: Option<FuncId>, callee: FuncId) {
        let rewritten =
            !self.index.program.units[unit].keeps_callees && self.index.merged_by_compiler(callee);
        let how = if rewritten { CallHow::Doubtful } else { CallHow::CallSite };
        self.calls.push(CallKey { return_addr, caller, callee, how });
    }

    /// Calls in code that is not folded.
    fn of_single_functions(&mut self) {
        for id in (0..self.index.program.functions.len() as u32).map(FuncId) {
            let Some((unit, _, listed)) = self.index.calls(id) else { continue };
            for call in listed {
                let Some(return_addr) = call.return_addr else { continue };
                let Callee::Function(callee) = self.index.callee(unit, call.callee) else { continue };
                if self.index.calling_group(return_addr).is_some() {
                    continue;
                }
                let grouped = u64::from(self.index.group.contains_key(&callee));
                self.counts.into_groups += grouped;
                if self.matters(callee) {
                    self.counts.keyed += grouped;
                    self.add(unit, return_addr, None, callee);
                }
            }
        }
    }

    /// Calls in folded code: a callee for each of its functions.
    fn of_groups(&mut self) {
        for (index, group) in self.index.program.groups.iter().enumerate() {
            let id = GroupId(index as u32);
            let live = group.members.iter().filter(|member| member.how == How::LiveRange);
            let remaining =
                live.map(|member| self.live_calls(id, member.function)).find(|calls| !calls.is_empty());
            let mut found: FxHashMap<ImageAddr, Vec<(usize, FuncId, FuncId)>> = FxHashMap::default();
            let mut order = Vec::new();
            for member in &group.members {
                let calls = match (member.how, &remaining) {
                    (How::LiveRange, _) => self.live_calls(id, member.function),
                    (_, Some(remaining)) => self.paired(remaining, member.function).unwrap_or_default(),
                    (_, None) => Vec::new(),
                };
                let erased = self
                    .index
                    .calls(member.function)
                    .map_or((0, &[][..]), |(unit, _, listed)| (unit, listed));
                if calls.is_empty() {
                    // They stand in code that has an address, but which is whose is not shown.
                    self.counts.into_groups +=
                        erased.1.iter().filter(|call| !call.tail && self.grouped(erased.0, call)).count()
                            as u64;
                }
                for (address, callee) in calls {
                    let Callee::Function(callee) = callee else { continue };
                    let grouped = u64::from(self.index.group.contains_key(&callee));
                    self.counts.into_groups += grouped;
                    if self.matters(callee) {
                        self.counts.keyed += grouped;
                        let at = found.entry(address).or_default();
                        if at.is_empty() {
                            order.push(address);
                        }
                        at.push((erased.0, member.function, callee));
                    }
                }
            }
            for address in order {
                let calls = &found[&address];
                let (unit, _, first) = calls[0];
                if calls.len() == group.members.len() && calls.iter().all(|call| call.2 == first) {
                    self.add(unit, address, None, first);
                } else {
                    calls
                        .iter()
                        .for_each(|&(unit, caller, callee)| self.add(unit, address, Some(caller), callee));
                }
            }
        }
    }

    fn grouped(&self, unit: usize, call: &UnitCall) -> bool {
        matches!(self.index.callee(unit, call.callee), Callee::Function(callee) if self.index.group.contains_key(&callee))
    }

    /// The calls of a function that stand in the code of a group, in the order of their DIEs.
    fn live_calls(&self, group: GroupId, function: FuncId) -> Vec<(ImageAddr, Callee)> {
        let Some((unit, _, listed)) = self.index.calls(function) else { return Vec::new() };
        let here =
            listed.iter().filter_map(|call| Some((call.return_addr?, self.index.callee(unit, call.callee))));
        here.filter(|&(address, _)| self.index.calling_group(address) == Some(group)).collect()
    }

    /// The calls of a function whose addresses are gone, at those of the function that remains; `None` where it does
    /// not show that they are the same calls.
    fn paired(
        &self,
        remaining: &[(ImageAddr, Callee)],
        function: FuncId,
    ) -> Option<Vec<(ImageAddr, Callee)>> {
        let (unit, _, listed) = self.index.calls(function)?;
        let erased: Vec<Callee> = listed
            .iter()
            .filter(|call| !call.tail)
            .map(|call| self.index.callee(unit, call.callee))
            .collect();
        let same = |a: Callee, b: Callee| match (a, b) {
            (Callee::Function(a), Callee::Function(b)) => {
                self.index.starts[a.index()] == self.index.starts[b.index()]
            }
            (Callee::Elsewhere(a), Callee::Elsewhere(b)) => a == b,
            (Callee::Indirect, Callee::Indirect) => true,
            _ => false,
        };
        if remaining.len() != erased.len() {
            return None;
        }
        let ordered = remaining.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let in_address_order = !self.index.program.units[unit].keeps_callees && ordered;
        if in_address_order && remaining.iter().zip(&erased).all(|(a, b)| same(a.1, *b)) {
            return Some(remaining.iter().map(|call| call.0).zip(erased).collect());
        }
        // In any order, where those at one address are all one function.
        let mut left = erased.clone();
        let mut pairs = Vec::with_capacity(left.len());
        for &(address, callee) in remaining {
            let at = left.iter().position(|other| same(callee, *other))?;
            let found = left.swap_remove(at);
            if erased.iter().any(|other| same(callee, *other) && *other != found) {
                return None;
            }
            pairs.push((address, found));
        }
        Some(pairs)
    }
}

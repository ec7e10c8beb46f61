//! Says, for the calls that lead into folded code, which of its functions they call.
//!
//! The key is the return address: a stack has it. A call that stands in folded code itself has one address and a
//! callee for each of the functions that share the code. The calls of the function that remains have their
//! addresses; those of the others are tombstones, and are given the addresses of the former, in order, since the code
//! is the same. A pair must call one address, or one name that the program does not have. Compilers leave a call out
//! now and then (clang: of a callee that it has no declaration for), or its callee (gcc: of a constructor), so the
//! shorter list need only fit into the longer one, and a pair counts if every way to fit it has that pair, and both
//! lists have as many calls of that address as the code. gcc does not keep the order: there, those that call one
//! address must all call one function.
//!
//! A callee may give its frame away by a tail call; then the code above a return address is that of whom it
//! reaches. Where it may reach functions that are not known, nothing can be ruled out. What the compiler recorded
//! of tail calls is compared with the jumps in the code, since it leaves some out.

mod calls;
mod objects;
mod tail_calls;

use std::cell::{OnceCell, RefCell};

use crate::diagnostics::{Diagnostics, Kind};
use crate::keys::calls::folded_parts::Twice;
use crate::keys::calls::rewrites::{CalleeSource, Rewritten, SymbolMembers};
use crate::keys::calls::thunks::Passing;
use crate::keys::tail_calls::{JumpsOf, Reach};
use crate::merge::units::Records;
use crate::model::{
    CallCounts, CallHow, CallKey, CalleePlace, Calls, DieOffset, FuncId, Function, GroupId, How, ImageAddr,
    Keys, LocalCallee, NameId, Owner, Piece, Program, TailKey, Unit, UnitCall, UnitCallee, UnitClasses,
};
use crate::open::Image;
use crate::place::Placed;
use crate::program::machine::Machine;
use crate::program::names::itanium::{is_mangled, is_program_wide};
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// Whom a call calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Callee {
    Function(FuncId),
    /// A function of another module, by its name.
    Elsewhere(NameId),
    /// The call goes through a register or memory.
    Indirect,
    /// A function that the program may have, but not one that is known.
    Unknown,
}

/// Calls of functions that are looked at for each group that a function is in.
const MAX_STEPS: u64 = 1 << 28;

/// Reads the classes of these units, once it is known that they matter.
pub(crate) type ReadClasses<'a, 'f> =
    &'a (dyn Fn(&[UnitClasses<'_>], &mut Diagnostics) -> Vec<Unit<'f>> + Sync);

/// The keys of the program.
pub(crate) fn keys<'f>(
    placed: &Placed<'f>,
    records: &Records<'f>,
    image: &Image<'f>,
    classes: ReadClasses<'_, 'f>,
    diagnostics: &mut Diagnostics,
) -> Keys {
    if placed.program.groups.is_empty() {
        return Keys::default();
    }
    let machine = Machine::new(image);
    let index = Index::new(placed, records, &machine);
    // Objects and calls tell nothing of each other.
    let (found, OfCalls { calls, tails, counts, unknown_calls, capped }) =
        rayon::join(|| objects::classes::keys(&index, image, classes, diagnostics), || OfCalls::of(&index));
    if capped {
        diagnostics.add(Kind::CapReached, 0, || {
            format!(
                "gave up after {MAX_STEPS} steps of matching calls to folded functions: some calls stay `ambiguous`"
            )
        });
    }
    let objects::classes::ObjectKeys { slots, vtables, overriders } = found;
    Keys { calls, tails, slots, vtables, overriders, unknown_calls, counts }
}

/// What calls tell.
struct OfCalls {
    calls: Vec<CallKey>,
    tails: Vec<TailKey>,
    counts: CallCounts,
    unknown_calls: Vec<(FuncId, Vec<ImageAddr>)>,
    /// Not all calls were looked at.
    capped: bool,
}

impl OfCalls {
    fn of(index: &Index<'_, '_>) -> OfCalls {
        let lead = index.leading_into_groups();
        let mut keys = CallKeys {
            index,
            calls: Vec::new(),
            tails: index.reach_of_callees(&lead),
            lead,
            starts: OnceCell::new(),
            jumps: JumpsOf::default(),
            twice: Twice::new(index),
            counts: CallCounts::default(),
            in_code: RefCell::default(),
            steps: Budget::new(MAX_STEPS),
        };
        keys.of_single_functions();
        keys.of_groups();
        keys.of_tables();
        keys.of_relocations();
        let CallKeys { mut calls, tails, counts, steps, .. } = keys;
        calls.sort_unstable();
        // Two callees of one call: neither is known. Of two records of one callee the more doubtful counts.
        let calls: Vec<CallKey> = calls
            .chunk_by(|a, b| (a.return_addr, a.caller) == (b.return_addr, b.caller))
            .filter(|same| same.iter().all(|key| key.callee == same[0].callee))
            .map(|same| same[same.len() - 1])
            .collect();
        let used: HashSet<FuncId> = calls.iter().map(|key| key.callee).collect();
        let mut listed: Vec<TailKey> = tails
            .into_iter()
            .filter(|(function, _)| used.contains(function))
            .flat_map(|(function, reach)| reach.keys(function).collect::<Vec<_>>())
            .collect();
        listed.sort_unstable();
        let unknown_calls = match index.program.code.iter().any(|unit| unit.locations.is_some()) {
            true => calls::indirect::calls(index),
            false => Vec::new(),
        };
        OfCalls { calls, tails: listed, counts, unknown_calls, capped: steps.is_short() }
    }
}

/// What the calls refer to, by each way of referring.
struct Index<'p, 'f> {
    program: &'p Program<'f>,
    placed: &'p Placed<'f>,
    records: &'p Records<'f>,
    machine: &'p Machine<'p, 'f>,
    /// Any caller may stand for one that nothing names, so that no call rules a function out.
    forgotten: bool,
    /// Start and end of ranges of functions, by function, then by address.
    ranges: Vec<(u64, u64)>,
    /// By function, and one more: where its ranges begin among those.
    first_ranges: Vec<u32>,
    /// By unit: functions by DIE.
    by_die: Vec<Vec<(DieOffset, FuncId)>>,
    /// Functions whose name has several definitions: a call of one calls the one that prevailed.
    several: HashSet<FuncId>,
    /// Functions by name; `Some(None)` where several have it.
    by_name: Vec<Option<Option<FuncId>>>,
    /// The group of each function. One that is in several (one a piece) counts for its first.
    groups: Vec<Option<GroupId>>,
    passing: Passing,
    rewritten: Rewritten,
    /// By unit: what each local callee is.
    callees: Vec<Vec<Callee>>,
    /// By group.
    undescribed: Vec<SymbolMembers>,
    /// Where each function begins: not its lowest address, where a part of it stands before the rest.
    starts: Vec<u64>,
}

impl<'p, 'f> Index<'p, 'f> {
    fn new(placed: &'p Placed<'f>, records: &'p Records<'f>, machine: &'p Machine<'p, 'f>) -> Self {
        let Placed { program, numbers, merging, forgotten, .. } = placed;
        let mut rest = &numbers[..];
        let by_die = program.code.iter().map(|unit| {
            let (own, later) = rest.split_at(unit.functions.len());
            rest = later;
            let functions = unit.functions.iter().zip(own);
            let mut by_die: Vec<_> =
                functions.filter_map(|(function, id)| Some((function.die, (*id)?))).collect();
            by_die.sort_by_key(|(die, _)| *die);
            by_die
        });
        let by_die = by_die.collect();
        let mut by_name: Vec<Option<Option<FuncId>>> = vec![None; program.names.len()];
        let mut shared = Vec::new();
        for (index, function) in program.functions.iter().enumerate() {
            let id = FuncId(index as u32);
            let own = program.origins[function.origin.index()].name;
            // Nobody else means a function by its name that is local to its unit.
            let local = function.source.is_some_and(|source| {
                !program.code[source.unit.index()].functions[source.function.index()].external
            });
            if local && !is_program_wide(&program.names[own.index()]) {
                continue;
            }
            shared.extend(function.source.is_some().then_some(id));
            for name in [own].into_iter().chain(function.symbol).chain(function.aliases.iter().copied()) {
                let known = by_name[name.index()];
                by_name[name.index()] =
                    Some(known.map_or(Some(id), |known| known.filter(|known| *known == id)));
            }
        }
        let mut groups = vec![None; program.functions.len()];
        for (index, found) in program.groups.iter().enumerate() {
            for member in &found.members {
                groups[member.function.index()].get_or_insert(GroupId(index as u32));
            }
        }
        let (ranges, first_ranges) = ranges(program);
        let start = |(function, own): (&Function, &[u32])| match function.source {
            Some(source) => {
                let unit = &program.code[source.unit.index()];
                let entry = unit.functions[source.function.index()].pieces.start;
                unit.pieces[entry as usize].start.0
            }
            None => ranges[own[0] as usize..own[1] as usize].first().map_or(u64::MAX, |range| range.0),
        };
        let starts = program.functions.iter().zip(first_ranges.windows(2)).map(start).collect();
        let mut index = Index {
            program,
            placed,
            records,
            machine,
            forgotten: *forgotten,
            ranges,
            first_ranges,
            by_die,
            several: calls::overrides::functions(program, records, &shared),
            by_name,
            groups,
            passing: Passing::new(program, machine),
            rewritten: Rewritten::new(program, records, merging),
            callees: Vec::new(),
            undescribed: program.groups.iter().map(|group| SymbolMembers::of(program, group)).collect(),
            starts,
        };
        index.callees = (0..program.code.len()).map(|unit| index.callees_of(unit)).collect();
        index
    }

    /// The group that a function is in.
    fn group(&self, function: FuncId) -> Option<GroupId> {
        self.groups[function.index()]
    }

    /// The function that a unit describes by a DIE.
    fn described(&self, unit: usize, die: DieOffset) -> Option<FuncId> {
        let by_die = &self.by_die[unit];
        let before = by_die.partition_point(|known| known.0 <= die).checked_sub(1)?;
        (by_die[before].0 == die).then_some(by_die[before].1)
    }

    /// The function of a name; `Some(None)` where several have it.
    fn of_name(&self, name: NameId) -> Option<Option<FuncId>> {
        self.by_name[name.index()]
    }

    /// True where a function has a plain name beside its own: an alias, or a folded function that nothing describes.
    fn is_plain_alias(&self, name: NameId, function: FuncId) -> bool {
        let function = &self.program.functions[function.index()];
        let own = self.program.origins[function.origin.index()].name == name || function.symbol == Some(name);
        !own && !is_mangled(&self.program.names[name.index()])
    }

    fn callees_of(&self, unit_index: usize) -> Vec<Callee> {
        let resolve = |(index, callee): (u32, &UnitCallee)| {
            let doubtful = self.placed.doubtful_callees.contains(&(unit_index, LocalCallee(index)));
            let owner = match callee.place {
                _ if doubtful => None,
                CalleePlace::Here => Some(unit_index),
                CalleePlace::Program => {
                    self.program.heads.partition_point(|u| u.offset <= callee.die.0).checked_sub(1)
                }
                CalleePlace::Elsewhere => None,
            };
            if let Some(function) = owner.and_then(|owner| self.described(owner, callee.die)) {
                return if self.several.contains(&function) {
                    Callee::Unknown
                } else {
                    Callee::Function(function)
                };
            }
            let name = self.program.origins[self.program.origin_of(unit_index, callee.origin).index()].name;
            let bytes = &self.program.names[name.index()];
            if bytes.is_empty() || !(callee.external || is_program_wide(bytes)) {
                return Callee::Unknown;
            }
            match self.of_name(name) {
                Some(Some(function)) if !self.is_plain_alias(name, function) => Callee::Function(function),
                Some(_) => Callee::Unknown,
                None => self.variant(bytes).unwrap_or(Callee::Elsewhere(name)),
            }
        };
        (0..).zip(&self.records.units[unit_index].callees).map(resolve).collect()
    }

    fn callee(&self, unit: usize, callee: Option<LocalCallee>) -> Callee {
        callee.map_or(Callee::Indirect, |local| self.callees[unit][local.index()])
    }

    /// The unit and the calls of a function.
    fn calls(&self, function: FuncId) -> Option<(usize, &'p Calls, &'p [UnitCall])> {
        let source = self.program.functions[function.index()].source?;
        let unit = source.unit.index();
        let calls = &self.program.code[unit].functions[source.function.index()].calls;
        let listed = &self.records.units[unit].calls[calls.range.start as usize..calls.range.end as usize];
        Some((unit, calls, listed))
    }

    /// True where a call goes to what a linker put in the place of the callee.
    fn calls_made(&self, return_addr: ImageAddr, callee: FuncId) -> bool {
        let target = self.machine.call_before(return_addr.0);
        target.and_then(|target| self.passing.made_for(target)) == Some(callee)
    }

    /// Whose code stands before a return address.
    fn owner_before(&self, return_addr: ImageAddr) -> Option<Owner> {
        let pieces = &self.program.pieces;
        let after = pieces.partition_point(|piece| piece.start.0 < return_addr.0);
        let piece = &pieces[after.checked_sub(1)?];
        (return_addr.0 <= piece.start.0 + u64::from(piece.body)).then_some(piece.owner)
    }

    /// The group whose code stands before a return address.
    fn calling_group(&self, return_addr: ImageAddr) -> Option<GroupId> {
        match self.owner_before(return_addr)? {
            Owner::Group(group) => Some(group),
            Owner::Function(_) => None,
        }
    }
}

/// The ranges of functions, and by function, and one more, where its own begin.
fn ranges(program: &Program<'_>) -> (Vec<(u64, u64)>, Vec<u32>) {
    let owners = |piece: &Piece, add: &mut dyn FnMut(FuncId)| match piece.owner {
        Owner::Function(function) => add(function),
        Owner::Group(group) => {
            program.groups[group.index()].members.iter().for_each(|member| add(member.function));
        }
    };
    let mut next = vec![0; program.functions.len() + 1];
    for piece in &program.pieces {
        owners(piece, &mut |function| next[function.index() + 1] += 1);
    }
    let mut sum = 0;
    for next in &mut next {
        sum += *next;
        *next = sum;
    }
    let first = next.clone();
    let mut ranges = vec![(0, 0); sum as usize];
    // Pieces are sorted.
    for piece in &program.pieces {
        owners(piece, &mut |function| {
            let at = &mut next[function.index()];
            ranges[*at as usize] = (piece.start.0, piece.start.0 + u64::from(piece.body));
            *at += 1;
        });
    }
    (ranges, first)
}

struct CallKeys<'i, 'p, 'f> {
    index: &'i Index<'p, 'f>,
    calls: Vec<CallKey>,
    /// Of those functions that `lead` into groups.
    tails: HashMap<FuncId, Reach>,
    /// By function.
    lead: Vec<bool>,
    /// Where functions begin, once that is asked for.
    starts: OnceCell<HashSet<u64>>,
    jumps: JumpsOf,
    twice: Twice,
    counts: CallCounts,
    /// By the start of a piece: how many of its calls go straight to an address. No code is read twice.
    in_code: RefCell<HashMap<u64, Option<HashMap<u64, usize>>>>,
    steps: Budget,
}

impl<'p> CallKeys<'_, 'p, '_> {
    /// True where a call of the function tells something of a frame in folded code.
    fn matters(&mut self, callee: FuncId) -> bool {
        let index = self.index;
        if !self.lead[callee.index()] {
            return false;
        }
        let reach = self.tails.entry(callee).or_insert_with(|| index.reach(&mut self.jumps, callee));
        index.group(callee).is_some() || !reach.members.is_empty()
    }

    /// Counts a call of the function; true where it needs a key. A linker may send the call elsewhere (`--wrap`).
    fn wants(&mut self, return_addr: ImageAddr, callee: FuncId, how: Option<CallHow>) -> bool {
        let grouped = u64::from(self.index.group(callee).is_some());
        let start = self.index.starts[callee.index()];
        let wanted = how.is_some()
            && self.matters(callee)
            && (!self.index.machine.calls_other_code(return_addr.0, start)
                || self.index.calls_made(return_addr, callee));
        self.counts.into_groups += grouped;
        self.counts.keyed += if wanted { grouped } else { 0 };
        wanted
    }

    /// Adds a key of a call that the compiler recorded, if it needs one.
    fn add(&mut self, unit: usize, return_addr: ImageAddr, caller: Option<FuncId>, callee: FuncId) {
        let how = self.index.how(Some(unit), callee, CalleeSource::Record);
        if self.wants(return_addr, callee, how) {
            self.calls.extend(how.map(|how| CallKey { return_addr, caller, callee, how }));
        }
    }

    /// Calls in code that is not folded.
    fn of_single_functions(&mut self) {
        for id in (0..self.index.program.functions.len() as u32).map(FuncId) {
            let Some((unit, _, listed)) = self.index.calls(id) else { continue };
            for call in listed {
                let Some(return_addr) = call.return_addr else { continue };
                let Callee::Function(callee) = self.index.callee(unit, call.callee) else { continue };
                if !self.lead[callee.index()] {
                    continue;
                }
                let own = self.index.ranges_of(id);
                let before = own.partition_point(|range| range.0 < return_addr.0).checked_sub(1);
                if before.is_none_or(|at| own[at].1 < return_addr.0)
                    || self.index.calling_group(return_addr).is_some()
                    || self.twice.at(self.index, id, return_addr)
                {
                    continue;
                }
                self.add(unit, return_addr, None, callee);
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
            let mut found: HashMap<ImageAddr, Vec<(FuncId, FuncId, CallHow)>> = HashMap::default();
            let mut order = Vec::new();
            for member in &group.members {
                // A relocation that the linker kept may have the addresses of a folded one too.
                let own = self.live_calls(id, member.function);
                let calls = match (member.how, &remaining) {
                    (How::LiveRange, _) => own,
                    _ if !own.is_empty() => own,
                    (_, Some(remaining)) => self.paired(remaining, member.function),
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
                    let how = self.index.how(Some(erased.0), callee, CalleeSource::Record);
                    if self.wants(address, callee, how)
                        && let Some(how) = how
                        && !self.twice.at(self.index, member.function, address)
                    {
                        let at = found.entry(address).or_default();
                        if at.is_empty() {
                            order.push(address);
                        }
                        at.push((member.function, callee, how));
                    }
                }
            }
            for address in order {
                let calls = &found[&address];
                let (_, callee, how) = calls[0];
                let key = |caller, callee, how| CallKey { return_addr: address, caller, callee, how };
                if calls.len() == group.members.len()
                    && calls.iter().all(|call| (call.1, call.2) == (callee, how))
                {
                    self.calls.push(key(None, callee, how));
                } else {
                    let of_callers =
                        calls.iter().map(|&(caller, callee, how)| key(Some(caller), callee, how));
                    self.calls.extend(of_callers);
                }
            }
        }
    }

    fn grouped(&self, unit: usize, call: &UnitCall) -> bool {
        matches!(self.index.callee(unit, call.callee), Callee::Function(callee) if self.index.group(callee).is_some())
    }

    /// The calls of a function that stand in the code of a group, in the order of their DIEs.
    fn live_calls(&self, group: GroupId, function: FuncId) -> Vec<(ImageAddr, Callee)> {
        let Some((unit, _, listed)) = self.index.calls(function) else { return Vec::new() };
        if !self.steps.spend(listed.len()) {
            return Vec::new();
        }
        let here =
            listed.iter().filter_map(|call| Some((call.return_addr?, self.index.callee(unit, call.callee))));
        here.filter(|&(address, _)| self.index.calling_group(address) == Some(group)).collect()
    }
}

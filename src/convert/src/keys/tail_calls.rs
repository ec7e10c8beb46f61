//! Finds the functions that a function reaches by tail calls, from the recorded tail calls and from the jumps in the
//! code.

use std::rc::Rc;

use rayon::prelude::*;

use crate::keys::callee::Callee;
use crate::keys::index::Index;
use crate::keys::limits::{MAX_REACH, MAX_TAIL_STEPS, TAIL_STEPS};
use crate::model::{AddressRange, FuncId, ImageAddr, Owner, Piece, TailKey};
use crate::program::machine::Jumps;
use crate::toolchain::libraries::ends_outside;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// The functions that a function reaches by tail calls, without itself.
#[derive(Clone, Default)]
pub(crate) struct Reach {
    /// Those that are members of groups.
    pub(crate) members: Vec<FuncId>,
    /// True if it may also reach functions that are not in `members`.
    pub(crate) unknown: bool,
    /// True if something other than a missing DIE made `unknown` true: a computed jump, a record, missing code or a limit. If false,
    /// `unknown` is true only because some function on the way has no DIE.
    pub(crate) jumps_anywhere: bool,
}

impl Reach {
    pub(crate) fn keys(&self, function: FuncId) -> impl Iterator<Item = TailKey> {
        let unknown = self.unknown.then_some(TailKey { function, target: None });
        let members = self.members.iter().map(move |&target| TailKey { function, target: Some(target) });
        unknown.into_iter().chain(members)
    }
}

/// The jumps of pieces already read, by start of the piece, so that no code is read twice. Short jumps count only if
/// they go to the start of a piece.
pub(crate) type JumpsOf = HashMap<ImageAddr, Option<Rc<Jumps>>>;

/// Number of tasks, and the functions that each task takes at least. Code that functions of several tasks reach is
/// read once by each task.
const TASKS: usize = 16;
const AT_ONCE: usize = 256;

/// What may be a jump between two pieces, by their indexes.
struct PieceJump {
    to: u32,
    from: u32,
}

/// Lists of numbers, each list under a number.
struct Lists {
    /// By list: one more than the index of its last number in `all`; 0 for an empty list.
    last: Vec<u32>,
    /// Numbers, each with one more than the index of the number before it in its list.
    all: Vec<(u32, u32)>,
}

impl Lists {
    // Two allocations in all: most functions have an empty list, and a `Vec` for each would take 24 bytes.
    fn new(count: usize) -> Lists {
        Lists { last: vec![0; count], all: Vec::new() }
    }

    fn add(&mut self, list: u32, number: u32) {
        let before = self.last[list as usize];
        self.all.push((number, before));
        self.last[list as usize] = self.all.len() as u32;
    }

    fn of(&self, list: usize) -> impl Iterator<Item = u32> {
        let at = |place: u32| place.checked_sub(1).map(|at| self.all[at as usize]);
        std::iter::successors(at(self.last[list]), move |&(_, before)| at(before)).map(|(number, _)| number)
    }
}

/// Pieces that one task reads for jumps.
const PIECES_AT_ONCE: usize = 2048;

impl Index<'_, '_> {
    /// What each called function reaches, for the functions that may lead into groups and are no members of any: whether calls of
    /// these need keys depends on it.
    pub(crate) fn reach_of_callees(&self, may_lead: &[bool]) -> HashMap<FuncId, Reach> {
        let mut called = Vec::new();
        for callees in &self.callees {
            let functions = callees.iter().filter_map(|callee| Some(callee.function()?.0));
            called.extend(
                functions.filter(|function| {
                    may_lead[function.index()] && self.functions.group(*function).is_none()
                }),
            );
        }
        // Functions are numbered by address, so a task reads code that lies together, and each function is followed once.
        called.sort_unstable();
        called.dedup();
        let found = self.in_tasks(&called, |function, jumps| self.reach(jumps, function));
        called.into_iter().zip(found.into_iter().flatten()).collect()
    }

    /// What these functions reach. `known`: what some of them reach.
    pub(crate) fn reach_of_all(
        &self,
        functions: &[FuncId],
        known: &HashMap<FuncId, Reach>,
    ) -> Vec<(FuncId, Reach)> {
        let found = self.in_tasks(functions, |function, jumps| {
            let new = || self.reach(jumps, function);
            (function, known.get(&function).cloned().unwrap_or_else(new))
        });
        found.into_iter().flatten().collect()
    }

    /// Calls `work` for each of these functions, in a few tasks. Returns the results in the order of the functions, by task.
    fn in_tasks<T: Send>(
        &self,
        functions: &[FuncId],
        work: impl Fn(FuncId, &mut JumpsOf) -> T + Sync,
    ) -> Vec<Vec<T>> {
        let tasks = functions.par_chunks((functions.len() / TASKS).max(AT_ONCE)).map(|some| {
            let mut jumps = JumpsOf::default();
            some.iter().map(|&function| work(function, &mut jumps)).collect()
        });
        tasks.collect()
    }

    /// By function: whether it is a member of a group or may reach one by tail calls. In most programs few functions
    /// do, and only for them is [`Index::reach`] needed. So this accepts everything that may be a jump, and reads all
    /// code once.
    pub(crate) fn may_lead_into_group(&self) -> Vec<bool> {
        let program = self.functions.program;
        let mut jumps_into = Lists::new(program.pieces.len());
        for PieceJump { to, from } in self.jumps_between_pieces().into_iter().flatten() {
            jumps_into.add(to, from);
        }
        let mut tails_to = Lists::new(program.functions.len());
        for function in (0..program.functions.len() as u32).map(FuncId) {
            let Some((unit, _, listed)) = self.functions.calls(function) else { continue };
            for call in listed.iter().filter(|call| call.is_tail()) {
                if let Some((callee, _)) = self.callee(unit, call.callee()).function() {
                    tails_to.add(callee.0, function.0);
                }
            }
        }

        // From the groups backwards along jumps. A function enters `next` once, so cycles of jumps end and the time is linear.
        let mut may_lead = vec![false; program.functions.len()];
        let mut next: Vec<FuncId> = Vec::new();
        let add = |function: FuncId, may_lead: &mut [bool], next: &mut Vec<FuncId>| {
            if !std::mem::replace(&mut may_lead[function.index()], true) {
                next.push(function);
            }
        };
        for function in program.groups.iter().flat_map(|group| &group.members).map(|member| member.function) {
            add(function, &mut may_lead, &mut next);
        }
        // The jumps into code that several functions share are followed once.
        let mut followed = vec![false; program.pieces.len()];
        while let Some(function) = next.pop() {
            for tail in tails_to.of(function.index()) {
                add(FuncId(tail), &mut may_lead, &mut next);
            }
            for AddressRange { start, .. } in self.functions.ranges_of(function).iter() {
                let Ok(piece) = self.functions.entry(start) else { continue };
                if std::mem::replace(&mut followed[piece], true) {
                    continue;
                }
                for from in jumps_into.of(piece) {
                    match program.pieces[from as usize].owner {
                        Owner::Function(function) => add(function, &mut may_lead, &mut next),
                        Owner::Group(group) => program.groups[group.index()]
                            .members
                            .iter()
                            .for_each(|member| add(member.function, &mut may_lead, &mut next)),
                    }
                }
            }
        }
        may_lead
    }

    /// Everything that may be a jump from one piece to another, in one list per task. Jumps of group members and jumps within one function are left out.
    fn jumps_between_pieces(&self) -> Vec<Vec<PieceJump>> {
        let pieces = &self.functions.program.pieces;
        let end = pieces.last().map_or(ImageAddr(0), end_of);
        let all = AddressRange::new(pieces.first().map_or(ImageAddr(0), |piece| piece.start), end);
        let tasks = pieces.par_chunks(PIECES_AT_ONCE).enumerate().map(|(task, some)| {
            let (mut found, mut jumps) = (Vec::new(), Jumps::default());
            for (from, piece) in ((task * PIECES_AT_ONCE) as u32..).zip(some) {
                match piece.owner {
                    Owner::Function(function) if self.functions.group(function).is_none() => {}
                    _ => continue,
                }
                jumps.targets.clear();
                jumps.short.clear();
                self.functions.machine.add_direct_jumps(piece.code(), &mut jumps);
                // The jumps of a function to one part of it are mostly neighbours.
                let mut last = from as usize;
                for &target in jumps.targets.iter().chain(&jumps.short) {
                    // The bytes of other instructions may look like jumps, and most of these go nowhere: the two comparisons
                    // save a search for each.
                    if all.contains(target) && !self.is_in(last, target) {
                        let Some(piece) = self.piece_at(target) else { continue };
                        last = piece;
                        if pieces[piece].owner != pieces[from as usize].owner {
                            found.push(PieceJump { to: piece as u32, from });
                        }
                    }
                }
            }
            found
        });
        tasks.collect()
    }

    /// The piece that contains an address, including the padding behind it.
    fn piece_at(&self, address: ImageAddr) -> Option<usize> {
        let at = match self.functions.entry(address) {
            Ok(piece) => return Some(piece),
            Err(after) => after.checked_sub(1)?,
        };
        self.is_in(at, address).then_some(at)
    }

    fn is_in(&self, piece: usize, address: ImageAddr) -> bool {
        let piece = &self.functions.program.pieces[piece];
        AddressRange::new(piece.start, end_of(piece)).contains(address)
    }

    /// Steps for the tail calls of one function.
    fn tail_steps(&self) -> u64 {
        let part = MAX_TAIL_STEPS / (self.functions.program.functions.len() as u64).max(1);
        part.clamp(*TAIL_STEPS.start(), *TAIL_STEPS.end())
    }

    /// The most functions that one function may reach, and the steps to find them.
    pub(crate) fn most_reach(&self) -> (usize, u64) {
        (MAX_REACH, self.tail_steps())
    }

    pub(crate) fn reach(&self, jumps_of: &mut JumpsOf, function: FuncId) -> Reach {
        let mut reach = Reach { unknown: self.has_forgotten_callers, ..Reach::default() };
        let steps = Budget::new(self.tail_steps());
        // At most [`MAX_REACH`] functions, so that a search in the list is cheap.
        let mut seen = vec![function];
        let mut next = 0;
        // A limit takes nothing from a function that reaches unknown functions anyway.
        let (mut too_many, mut too_long, mut undescribed) = (false, false, false);
        while let Some(&at) = seen.get(next) {
            next += 1;
            let was_known = !reach.unknown && !undescribed;
            let (recorded, promised) = self.recorded_tails(at, &steps, &mut reach.unknown);
            reach.unknown |= recorded
                .iter()
                .any(|callee| matches!(callee, Callee::Function(callee) if self.records_other(at, *callee)));
            let mut found = recorded;
            // Code that no compiler described may leave in any way, for example by a return to an address that it
            // pushed.
            undescribed |= self.functions.program.functions[at.index()].source.is_none();
            match self.jumps(jumps_of, at, &steps) {
                Some(jumps) => {
                    // Compilers never record some jumps: clang omits jumps through a table of function addresses, and
                    // jumps of inline assembly.
                    reach.unknown |=
                        jumps.iter().any(|jumps| jumps.anywhere || (jumps.indirect && !promised));
                    self.unrecorded(at, &jumps, &steps, &mut found, &mut reach.unknown);
                }
                // Without code, nothing shows that the linker did not replace a recorded callee (`--wrap`).
                None => reach.unknown = true,
            }
            if steps.is_short() {
                reach.unknown = true;
                too_long = was_known;
                break;
            }
            for callee in found {
                match callee {
                    Callee::Function(callee) if seen.contains(&callee) => {}
                    Callee::Function(callee) if seen.len() < MAX_REACH => seen.push(callee),
                    Callee::Function(_) => too_many = true,
                    // A function of another module may jump to any address that it was given.
                    Callee::OtherModule(name) if ends_outside(self.functions.text(name)) => {}
                    _ => reach.unknown = true,
                }
            }
        }
        if too_long {
            self.unfollowed.add_by_steps(function);
        } else if too_many && !reach.unknown && !undescribed {
            self.unfollowed.add_by_functions(function);
        }
        reach.jumps_anywhere = reach.unknown || too_many;
        reach.unknown = reach.jumps_anywhere || undescribed;
        reach.members =
            seen[1..].iter().copied().filter(|function| self.functions.group(*function).is_some()).collect();
        reach
    }

    /// True if a tail call that a function records may mean another callee.
    fn records_other(&self, function: FuncId, callee: FuncId) -> bool {
        self.functions.calls(function).is_some_and(|(unit, ..)| self.may_be_other(unit, callee))
    }

    /// The callees of the tail calls that the compiler recorded, and whether it promises that the list is complete.
    fn recorded_tails(&self, function: FuncId, steps: &Budget, unknown: &mut bool) -> (Vec<Callee>, bool) {
        let Some((unit, calls, listed)) = self.functions.calls(function) else { return (Vec::new(), false) };
        if !steps.spend(listed.len()) {
            return (Vec::new(), false);
        }
        let tails = listed.iter().filter(|call| call.is_tail()).map(|call| self.callee(unit, call.callee()));
        let tails: Vec<Callee> = tails.collect();
        *unknown |=
            tails.iter().any(|callee| !matches!(callee, Callee::Function(_) | Callee::OtherModule(_)));
        (tails, calls.all_tail_calls)
    }

    /// The jumps out of a function, by part; `None` if some of its code is missing. Where the linker folded parts of the function
    /// into each other, a jump of their code is one jump of each.
    fn jumps(&self, known: &mut JumpsOf, function: FuncId, steps: &Budget) -> Option<Vec<Rc<Jumps>>> {
        let ranges = self.functions.ranges_of(function);
        let count = if steps.spend(ranges.len()) { ranges.len() } else { 0 };
        let read = |code: AddressRange| {
            let read = || {
                let jumps =
                    self.functions.machine.jumps(code, |target| self.functions.entry(target).is_ok())?;
                Some(Rc::new(jumps))
            };
            // Pieces do not overlap, so the start identifies the code.
            known.entry(code.start).or_insert_with(read).clone()
        };
        let mut jumps: Vec<Rc<Jumps>> = ranges.iter().take(count).map(read).collect::<Option<_>>()?;
        if self.ambiguous_parts.is_missing(function) {
            return None;
        }
        for (at, AddressRange { start, .. }) in ranges.iter().take(count).enumerate() {
            let more = self.ambiguous_parts.more_at(function, start) as usize;
            if !steps.spend(more) {
                return None;
            }
            let again = jumps[at].clone();
            jumps.extend(std::iter::repeat_n(again, more));
        }
        Some(jumps)
    }

    /// True if another function begins at a piece: a jump to it may be a tail call of that function, although the piece is a part of
    /// this one, too.
    fn is_entry_of_another(&self, piece: usize, function: FuncId, steps: &Budget) -> bool {
        let piece = &self.functions.program.pieces[piece];
        let Owner::Group(group) = piece.owner else { return false };
        let members = &self.functions.program.groups[group.index()].members;
        let begins = |other: FuncId| other != function && self.functions.starts[other.index()] == piece.start;
        steps.spend(members.len()) && members.iter().any(|member| begins(member.function))
    }

    /// Adds the functions of a piece. Of a folded piece it adds all members, since the jump does not show which is
    /// meant.
    fn owners(&self, piece: usize, steps: &Budget, found: &mut Vec<Callee>) {
        match self.functions.program.pieces[piece].owner {
            Owner::Function(function) => found.push(Callee::Function(function)),
            Owner::Group(group) => {
                let members = &self.functions.program.groups[group.index()].members;
                if steps.spend(members.len()) {
                    found.extend(members.iter().map(|member| Callee::Function(member.function)));
                }
            }
        }
    }

    /// Adds the functions that a function jumps to by jumps that the compiler did not record. clang omits a tail call
    /// to a function that it has no declaration for, and still promises that none is missing.
    fn unrecorded(
        &self,
        function: FuncId,
        jumps: &[Rc<Jumps>],
        steps: &Budget,
        found: &mut Vec<Callee>,
        unknown: &mut bool,
    ) {
        if !steps.spend(jumps.iter().map(|jumps| jumps.targets.len() + jumps.short.len()).sum()) {
            return;
        }
        let own = self.functions.ranges_of(function);
        let is_part = |start: ImageAddr| own.begin_at(start);
        let through = |target: ImageAddr| {
            self.passing.made_for(target).map_or(target, |made| self.functions.starts[made.index()])
        };
        let mut targets: Vec<ImageAddr> =
            jumps.iter().flat_map(|jumps| &jumps.targets).map(|&target| through(target)).collect();
        targets.sort_unstable();
        let short = || jumps.iter().flat_map(|jumps| &jumps.short).copied();
        let direct: HashSet<ImageAddr> = targets.iter().copied().chain(short().map(through)).collect();
        let RecordedTails { by_address, by_name } = self.recorded_by_target(found, &direct);
        let slots: HashSet<ImageAddr> = jumps.iter().flat_map(|jumps| &jumps.slots).copied().collect();
        let mut names = NameUse { used: 0, needed: slots.len() };
        for target in short() {
            if let Ok(piece) = self.functions.entry(target)
                && (!is_part(target) || self.is_entry_of_another(piece, function, steps))
            {
                self.owners(piece, steps, found);
            }
        }
        for same in targets.chunk_by(|a, b| a == b) {
            // If there are more jumps to an address than recorded calls, the further jump may call another function
            // there.
            if by_address.get(&same[0]).is_none_or(|&recorded| same.len() > recorded) {
                self.add_target(function, (same[0], is_part), steps, found, &mut names);
            }
        }
        // `used` may exceed the recorded names, since it also counts jumps to functions that no record names.
        *unknown |= names.needed > by_name.len().saturating_sub(names.used);
    }

    /// Sorts the recorded callees of tail calls into those that direct jumps go to, and the others.
    fn recorded_by_target(&self, recorded: &[Callee], direct: &HashSet<ImageAddr>) -> RecordedTails {
        let mut tails = RecordedTails::default();
        for &callee in recorded {
            match callee {
                Callee::Function(function) => {
                    let start = self.functions.starts[function.index()];
                    *tails.by_address.entry(start).or_default() += 1;
                    if !direct.contains(&start) {
                        tails.by_name.insert(callee);
                    }
                }
                Callee::OtherModule(_) => _ = tails.by_name.insert(callee),
                _ => {}
            }
        }
        tails
    }

    /// Adds the functions at the target of a direct jump of a function, or counts the name that it needs.
    fn add_target(
        &self,
        function: FuncId,
        (target, is_part): (ImageAddr, impl Fn(ImageAddr) -> bool),
        steps: &Budget,
        found: &mut Vec<Callee>,
        names: &mut NameUse,
    ) {
        match self.functions.entry(target) {
            // mold gives stubs of the linker symbols, too.
            _ if self.functions.machine.is_stub(target) => names.needed += 1,
            // A jump to a part of the function, or to its own entry if it shares that with no other function, is no tail
            // call.
            Ok(piece) => {
                let folded = matches!(self.functions.program.pieces[piece].owner, Owner::Group(_));
                if !is_part(target)
                    || (folded && self.functions.starts[function.index()] == target)
                    || self.is_entry_of_another(piece, function, steps)
                {
                    self.owners(piece, steps, found);
                    // The linker may have replaced a recorded callee by this function (`--wrap`).
                    names.used += 1;
                }
            }
            Err(_) => {
                if let Some(around) = self.piece_at(target) {
                    if !is_part(self.functions.program.pieces[around].start) {
                        self.owners(around, steps, found);
                    }
                } else if self.functions.machine.is_code(target) {
                    // Code in no piece, such as a linker's thunk without a symbol: only a recorded callee can explain where
                    // it goes.
                    names.needed += 1;
                }
            }
        }
    }
}

/// The recorded callees of a function's tail calls.
#[derive(Default)]
struct RecordedTails {
    /// By address: how many tail calls to it were recorded.
    by_address: HashMap<ImageAddr, usize>,
    /// Callees that no direct jump goes to. Jumps through stubs of the linker or through GOT slots may go to them.
    by_name: HashSet<Callee>,
}

/// How many recorded callees direct jumps account for, and how many jumps through stubs and slots need one.
struct NameUse {
    used: usize,
    needed: usize,
}

/// The end of a piece, including its padding.
fn end_of(piece: &Piece) -> ImageAddr {
    piece.start + u64::from(piece.body) + u64::from(piece.pad)
}

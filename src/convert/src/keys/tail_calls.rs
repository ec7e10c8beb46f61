//! Finds whom a function reaches by tail calls: those that the compiler recorded, and those that show in the code.

use std::rc::Rc;

use rayon::prelude::*;

use crate::keys::callee::Callee;
use crate::keys::index::Index;
use crate::model::{FuncId, Owner, Piece, TailKey};
use crate::program::machine::Jumps;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// Functions that are visited to find what one reaches by tail calls; one that reaches more reaches what is not
/// known.
const MAX_REACH: usize = 64;

/// What a function reaches by tail calls, itself left out.
#[derive(Clone, Default)]
pub(crate) struct Reach {
    /// Functions of groups.
    pub(crate) members: Vec<FuncId>,
    pub(crate) unknown: bool,
}

impl Reach {
    pub(crate) fn keys(&self, function: FuncId) -> impl Iterator<Item = TailKey> {
        let unknown = self.unknown.then_some(TailKey { function, target: None });
        let members = self.members.iter().map(move |&target| TailKey { function, target: Some(target) });
        unknown.into_iter().chain(members)
    }
}

/// Steps of all functions together: calls, jumps and members of groups that are looked at. Each function has its part,
/// within the bounds below, and reaches what is not known where that is used up.
const MAX_STEPS: u64 = 1 << 33;
const STEPS: std::ops::RangeInclusive<u64> = 1 << 14..=1 << 22;

/// The jumps of pieces that were read, by start, so that no code is read twice. Short ones are those to functions.
pub(crate) type JumpsOf = HashMap<u64, Option<Rc<Jumps>>>;

/// Tasks that look at functions side by side, each of so many or more: code that functions of several tasks reach is
/// read by each of them.
const TASKS: usize = 16;
const AT_ONCE: usize = 256;

/// Lists of numbers, by number.
struct Lists {
    /// By list: one more than the place of its last number, 0 where it has none.
    last: Vec<u32>,
    /// Numbers, each with the same of the one before it in its list.
    all: Vec<(u32, u32)>,
}

impl Lists {
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

/// Pieces whose jumps one task looks for.
const PIECES_AT_ONCE: usize = 2048;

impl Index<'_, '_> {
    /// What each function reaches that some call names, of those that `lead` into groups.
    pub(crate) fn reach_of_callees(&self, lead: &[bool]) -> HashMap<FuncId, Reach> {
        let mut called = Vec::new();
        for callees in &self.callees {
            called.extend(callees.iter().filter_map(|callee| match callee {
                Callee::Function(function) if lead[function.index()] => Some(*function),
                _ => None,
            }));
        }
        called.sort_unstable();
        called.dedup();
        let tasks = called.par_chunks((called.len() / TASKS).max(AT_ONCE)).map(|some| {
            let mut jumps = JumpsOf::default();
            some.iter().map(|&function| self.reach(&mut jumps, function)).collect::<Vec<_>>()
        });
        let found: Vec<Vec<Reach>> = tasks.collect();
        called.into_iter().zip(found.into_iter().flatten()).collect()
    }

    /// By function: whether it may reach one of a group by tail calls, or is one. Of most programs few do, and what the others
    /// reach need not be known; so this takes all that may be a jump for one, and looks at all code once.
    pub(crate) fn leading_into_groups(&self) -> Vec<bool> {
        let program = self.program;
        let mut jumps_into = Lists::new(program.pieces.len());
        for (to, from) in self.jumps_between_pieces().into_iter().flatten() {
            jumps_into.add(to, from);
        }
        let mut tails_to = Lists::new(program.functions.len());
        for function in (0..program.functions.len() as u32).map(FuncId) {
            let Some((unit, _, listed)) = self.calls(function) else { continue };
            for call in listed.iter().filter(|call| call.tail) {
                if let Callee::Function(callee) = self.callee(unit, call.callee) {
                    tails_to.add(callee.0, function.0);
                }
            }
        }

        let mut lead = vec![false; program.functions.len()];
        let mut next: Vec<FuncId> = Vec::new();
        let add = |function: FuncId, lead: &mut [bool], next: &mut Vec<FuncId>| {
            if !std::mem::replace(&mut lead[function.index()], true) {
                next.push(function);
            }
        };
        for function in program.groups.iter().flat_map(|group| &group.members).map(|member| member.function) {
            add(function, &mut lead, &mut next);
        }
        // The jumps into code that several functions share are followed once.
        let mut followed = vec![false; program.pieces.len()];
        while let Some(function) = next.pop() {
            for tail in tails_to.of(function.index()) {
                add(FuncId(tail), &mut lead, &mut next);
            }
            for &(start, _) in self.ranges_of(function) {
                let Ok(piece) = self.entry(start) else { continue };
                if std::mem::replace(&mut followed[piece], true) {
                    continue;
                }
                for from in jumps_into.of(piece) {
                    match program.pieces[from as usize].owner {
                        Owner::Function(function) => add(function, &mut lead, &mut next),
                        Owner::Group(group) => program.groups[group.index()]
                            .members
                            .iter()
                            .for_each(|member| add(member.function, &mut lead, &mut next)),
                    }
                }
            }
        }
        lead
    }

    /// All that may be a jump from one piece to another: to which, from which; in parts. Left out are those of functions
    /// of groups, and within one function.
    fn jumps_between_pieces(&self) -> Vec<Vec<(u32, u32)>> {
        let pieces = &self.program.pieces;
        let end = pieces.last().map_or(0, end_of);
        let all = pieces.first().map_or(0, |piece| piece.start.0)..end;
        let tasks = pieces.par_chunks(PIECES_AT_ONCE).enumerate().map(|(task, some)| {
            let (mut found, mut jumps) = (Vec::new(), Jumps::default());
            for (from, piece) in ((task * PIECES_AT_ONCE) as u32..).zip(some) {
                match piece.owner {
                    Owner::Function(function) if self.group(function).is_none() => {}
                    _ => continue,
                }
                jumps.targets.clear();
                jumps.short.clear();
                let (start, end) = (piece.start.0, piece.start.0 + u64::from(piece.body));
                self.machine.add_direct_jumps(start, end, &mut jumps);
                // A function's jumps to a part of it stand together.
                let mut last = from as usize;
                for &target in jumps.targets.iter().chain(&jumps.short) {
                    if all.contains(&target) && !self.is_in(last, target) {
                        let Some(piece) = self.piece_at(target) else { continue };
                        last = piece;
                        if pieces[piece].owner != pieces[from as usize].owner {
                            found.push((piece as u32, from));
                        }
                    }
                }
            }
            found
        });
        tasks.collect()
    }

    /// The piece that an address is in, or in what fills it up.
    fn piece_at(&self, address: u64) -> Option<usize> {
        let at = match self.entry(address) {
            Ok(piece) => return Some(piece),
            Err(after) => after.checked_sub(1)?,
        };
        self.is_in(at, address).then_some(at)
    }

    fn is_in(&self, piece: usize, address: u64) -> bool {
        let piece = &self.program.pieces[piece];
        (piece.start.0..end_of(piece)).contains(&address)
    }

    pub(crate) fn reach(&self, jumps_of: &mut JumpsOf, function: FuncId) -> Reach {
        let mut reach = Reach { unknown: self.forgotten, ..Reach::default() };
        let part = MAX_STEPS / (self.program.functions.len() as u64).max(1);
        let steps = Budget::new(part.clamp(*STEPS.start(), *STEPS.end()));
        let mut seen = vec![function];
        let mut next = 0;
        while let Some(&at) = seen.get(next) {
            next += 1;
            let (recorded, promised) = self.recorded_tails(at, &steps, &mut reach.unknown);
            reach.unknown |= recorded
                .iter()
                .any(|callee| matches!(callee, Callee::Function(callee) if self.records_other(at, *callee)));
            let mut found = recorded;
            // Code that no compiler described may leave in any way: a stub that returns to where it wants to jump.
            reach.unknown |= self.program.functions[at.index()].source.is_none();
            match self.jumps(jumps_of, at, &steps) {
                Some(jumps) => {
                    // What the compiler leaves out all the same: clang, jumps to what a table at a number holds;
                    // and those of inline assembly.
                    reach.unknown |=
                        jumps.iter().any(|jumps| jumps.anywhere || (jumps.indirect && !promised));
                    self.unrecorded(at, &jumps, &steps, &mut found, &mut reach.unknown);
                }
                // Nothing shows that a linker did not put others in the places of the names that it calls (`--wrap`).
                None => reach.unknown = true,
            }
            if steps.is_short() {
                reach.unknown = true;
                break;
            }
            for callee in found {
                match callee {
                    Callee::Function(callee) if seen.contains(&callee) => {}
                    Callee::Function(callee) if seen.len() < MAX_REACH => seen.push(callee),
                    // Another module's function may jump back to whatever it was given.
                    Callee::Elsewhere(name) if ends_outside(&self.program.names[name.index()]) => {}
                    _ => reach.unknown = true,
                }
            }
        }
        reach.members =
            seen[1..].iter().copied().filter(|function| self.group(*function).is_some()).collect();
        reach
    }

    /// True where what a function records of a tail call may mean another callee.
    fn records_other(&self, function: FuncId, callee: FuncId) -> bool {
        self.calls(function).is_some_and(|(unit, ..)| self.may_be_other(unit, callee))
    }

    /// The callees of the tail calls that the compiler recorded, and whether it promises that these are all.
    fn recorded_tails(&self, function: FuncId, steps: &Budget, unknown: &mut bool) -> (Vec<Callee>, bool) {
        let Some((unit, calls, listed)) = self.calls(function) else { return (Vec::new(), false) };
        if !steps.spend(listed.len()) {
            return (Vec::new(), false);
        }
        let tails = listed.iter().filter(|call| call.tail).map(|call| self.callee(unit, call.callee));
        let tails: Vec<Callee> = tails.collect();
        *unknown |= tails.iter().any(|callee| matches!(callee, Callee::Indirect | Callee::Unknown));
        (tails, calls.all_tail_calls)
    }

    /// The jumps out of a function, by range; `None` where its code is not at hand.
    fn jumps(&self, known: &mut JumpsOf, function: FuncId, steps: &Budget) -> Option<Vec<Rc<Jumps>>> {
        let ranges = self.ranges_of(function);
        let ranges = if steps.spend(ranges.len()) { ranges } else { &[] };
        let read = |&(start, end): &(u64, u64)| {
            let read = || {
                let jumps = self.machine.jumps(start, end, |target| self.entry(target).is_ok())?;
                Some(Rc::new(jumps))
            };
            known.entry(start).or_insert_with(read).clone()
        };
        ranges.iter().map(read).collect()
    }

    /// Adds the functions of a piece: all, where it is folded, since it does not show which is meant.
    fn owners(&self, piece: usize, steps: &Budget, found: &mut Vec<Callee>) {
        match self.program.pieces[piece].owner {
            Owner::Function(function) => found.push(Callee::Function(function)),
            Owner::Group(group) => {
                let members = &self.program.groups[group.index()].members;
                if steps.spend(members.len()) {
                    found.extend(members.iter().map(|member| Callee::Function(member.function)));
                }
            }
        }
    }

    /// Adds the functions that a function jumps to though nobody recorded it: clang leaves a tail call out where it has
    /// no declaration of the callee, and promises all the same that none is missing.
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
        let own = self.ranges_of(function);
        let part = |start: u64| own.binary_search_by_key(&start, |range| range.0).is_ok();
        let through =
            |target: u64| self.passing.made_for(target).map_or(target, |made| self.starts[made.index()]);
        let mut targets: Vec<u64> =
            jumps.iter().flat_map(|jumps| &jumps.targets).map(|&target| through(target)).collect();
        targets.sort_unstable();
        let short = || jumps.iter().flat_map(|jumps| &jumps.short).copied();
        let direct: HashSet<u64> = targets.iter().copied().chain(short().map(through)).collect();
        // How many tail calls of each address were recorded.
        let mut recorded: HashMap<u64, usize> = HashMap::default();
        // Whom calls through stubs of the linker, or through words of the loader, may call, as far as they were recorded.
        let mut by_name: HashSet<Callee> = HashSet::default();
        for &callee in found.iter() {
            match callee {
                Callee::Function(function) => {
                    let start = self.starts[function.index()];
                    *recorded.entry(start).or_default() += 1;
                    if !direct.contains(&start) {
                        by_name.insert(callee);
                    }
                }
                Callee::Elsewhere(_) => _ = by_name.insert(callee),
                Callee::Indirect | Callee::Unknown => {}
            }
        }
        let slots: HashSet<u64> = jumps.iter().flat_map(|jumps| &jumps.slots).copied().collect();
        let (mut names_used, mut names_needed) = (0, slots.len());
        for target in short() {
            if let Ok(piece) = self.entry(target)
                && !part(target)
            {
                self.owners(piece, steps, found);
            }
        }
        for same in targets.chunk_by(|a, b| a == b) {
            let target = same[0];
            // One more jump than calls of the address may call another of the functions there.
            if recorded.get(&target).is_some_and(|&recorded| same.len() <= recorded) {
                continue;
            }
            match self.entry(target) {
                // A stub of the linker has a symbol too in what mold makes.
                _ if self.machine.is_stub(target) => names_needed += 1,
                // A part of the function is its own, and so is its beginning where nobody shares it.
                Ok(piece) => {
                    let folded = matches!(self.program.pieces[piece].owner, Owner::Group(_));
                    if !part(target) || (folded && self.starts[function.index()] == target) {
                        self.owners(piece, steps, found);
                        // What the linker put in the place of a name that was recorded (`--wrap`).
                        names_used += 1;
                    }
                }
                Err(_) => {
                    if let Some(around) = self.piece_at(target) {
                        if !part(self.program.pieces[around].start.0) {
                            self.owners(around, steps, found);
                        }
                    } else if self.machine.is_code(target) {
                        names_needed += 1;
                    }
                }
            }
        }
        *unknown |= names_needed > by_name.len().saturating_sub(names_used);
    }
}

/// Where a piece ends, with what fills it up.
fn end_of(piece: &Piece) -> u64 {
    piece.start.0 + u64::from(piece.body) + u64::from(piece.pad)
}

/// True for functions of C's and C++'s libraries, by linkage name, that end without a jump to code that they were given: those
/// that get and give back memory, and those on strings and memory. Other libraries have names that begin alike.
fn ends_outside(name: &[u8]) -> bool {
    const MEMORY: [&str; 4] = ["free", "malloc", "calloc", "realloc"];
    const OF_BOTH: [&str; 31] = [
        "casecmp", "cat", "chr", "chrnul", "cmp", "coll", "cpy", "cspn", "dup", "ftime", "lcat", "lcpy",
        "len", "ncasecmp", "ncat", "ncmp", "ncpy", "nlen", "pbrk", "rchr", "spn", "str", "tod", "tof", "tok",
        "tol", "told", "toll", "toul", "toull", "xfrm",
    ];
    const OF_STRINGS: [&str; 8] = ["casestr", "error", "fmon", "ndup", "ptime", "sep", "signal", "verscmp"];
    const OF_WIDE: [&str; 4] = ["nrtombs", "rtombs", "tombs", "width"];
    const OF_MEMORY: [&str; 9] = ["ccpy", "chr", "cmp", "cpy", "mem", "move", "pcpy", "rchr", "set"];
    // Operators `new` and `delete` (C++20 17.6.3; Itanium C++ ABI 5.1.3), of both widths of a size.
    const NEW: [&str; 4] = ["", "RKSt9nothrow_t", "St11align_val_t", "St11align_val_tRKSt9nothrow_t"];
    let Ok(name) = str::from_utf8(name) else { return false };
    let is = |prefixes: &[&str], rests: &[&str]| {
        prefixes.iter().filter_map(|prefix| name.strip_prefix(prefix)).any(|rest| rests.contains(&rest))
    };
    MEMORY.contains(&name)
        || is(&["str", "wcs"], &OF_BOTH)
        || is(&["str"], &OF_STRINGS)
        || is(&["wcs"], &OF_WIDE)
        || is(&["mem"], &OF_MEMORY)
        || is(&["_Znwm", "_Znwj", "_Znam", "_Znaj"], &NEW)
        || is(&["_ZdlPv", "_ZdaPv"], &NEW)
        || is(&["_ZdlPvm", "_ZdlPvj", "_ZdaPvm", "_ZdaPvj"], &["", "St11align_val_t"])
}

#[cfg(test)]
mod tests {
    use super::ends_outside;

    #[test]
    fn what_ends_in_a_library() {
        for name in ["free", "memcpy", "strlen", "wcsncpy", "_ZdlPvm", "_ZnwmSt11align_val_t", "_ZdaPv"] {
            assert!(ends_outside(name.as_bytes()), "{name}");
        }
        let others = [
            ["apply", "mem", "str_apply", "freeze", "qsort", "_ZNSo5flushEv", "_Zd1f", ""],
            // Functions of anybody, and an operator that is given a function.
            ["memberapply", "streamrun", "strwidth", "memory", "str", "wcs", "_ZnwmPFvvE", "_ZdlPvPFvvE"],
        ];
        for name in others.concat() {
            assert!(!ends_outside(name.as_bytes()), "{name}");
        }
    }
}

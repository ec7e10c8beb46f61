//! Small programs of folded code with call keys, and what a plain walk over sets says of their stacks.

use std::collections::BTreeSet;

use super::{Contents, Random};

/// The link-time address that all others are relative to.
pub const BASE: u64 = 0x10_0000;
/// From one piece to the next: a body, padding, and bytes without an owner.
const STEP: u64 = 0x20;
pub const BODY: u64 = 0x10;
pub const PAD: u64 = 0x8;

/// One frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    Exact(u64),
    Return(u64),
    Foreign,
}

/// What the records of the callers give for a frame.
struct Called {
    possible: BTreeSet<u32>,
    /// Each record gives the same member, which makes that one likely.
    recorded: bool,
    /// A record is doubtful.
    doubtful: bool,
}

/// Functions that are not folded, then groups; each has a piece, in this order.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    pub singles: u32,
    /// How each member was recovered.
    pub groups: Vec<Vec<i64>>,
    /// Address, 0 or 1 + caller, callee, how.
    pub calls: Vec<(u64, u32, u32, u32)>,
    /// Function, 0 or 1 + target.
    pub tails: Vec<(u32, u32)>,
}

/// Where a frame's code belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Single(u32),
    Group(usize),
}

impl Folded {
    /// Groups of as many members, all with a DIE.
    pub fn new(singles: u32, groups: &[usize]) -> Self {
        let members = |&len: &usize| (0..len).map(|index| i64::from(index > 0)).collect();
        Self { singles, groups: groups.iter().map(members).collect(), ..Self::default() }
    }

    /// The number of a member's function.
    pub fn member(&self, group: usize, index: usize) -> u32 {
        self.singles + self.groups[..group].iter().map(Vec::len).sum::<usize>() as u32 + index as u32
    }

    pub fn start(&self, place: Place) -> u64 {
        let piece = match place {
            Place::Single(function) => function as usize,
            Place::Group(group) => self.singles as usize + group,
        };
        BASE + 0x1000 + STEP * piece as u64
    }

    /// A return address in the middle of a piece.
    pub fn inside(&self, place: Place) -> u64 {
        self.start(place) + 8
    }

    pub fn call(&mut self, address: u64, caller: Option<u32>, callee: u32, how: u32) -> &mut Self {
        self.calls.push((address, caller.map_or(0, |caller| caller + 1), callee, how));
        self
    }

    pub fn tail(&mut self, function: u32, target: Option<u32>) -> &mut Self {
        self.tails.push((function, target.map_or(0, |target| target + 1)));
        self
    }

    pub fn contents(&self) -> Contents {
        let functions = self.member(self.groups.len(), 0);
        let mut contents = Contents {
            image_base: BASE,
            block_log2: 2,
            max_group: self.groups.iter().map(Vec::len).max().unwrap_or(0) as u32,
            names: (0..functions).map(|name| format!("f{name:03}").into_bytes()).collect(),
            origins: (0..functions.into()).map(|name| [name, 0, 0, 0]).collect(),
            functions: (0..functions.into()).map(|origin| [origin, 0, 0, 0, 0]).collect(),
            rows: vec![0],
            scopes: vec![0],
            ..Contents::default()
        };
        let mut piece = |place, owner| {
            let start = (self.start(place) - BASE) as i64;
            contents.pieces.push([start, BODY as i64, PAD as i64, 0, owner, 0, 0]);
        };
        (0..self.singles).for_each(|function| piece(Place::Single(function), 2 * i64::from(function)));
        (0..self.groups.len()).for_each(|group| piece(Place::Group(group), 2 * group as i64 + 1));
        for (group, members) in self.groups.iter().enumerate() {
            contents.groups.push([contents.members.len() as i64]);
            let record = |(index, &how)| [i64::from(self.member(group, index)), 0, how, 0];
            contents.members.extend(members.iter().enumerate().map(record));
        }
        let call = |&(address, caller, callee, how): &(u64, u32, u32, u32)| {
            [(address - BASE) as i64, caller.into(), callee.into(), how.into()]
        };
        contents.calls = self.calls.iter().map(call).collect();
        contents.calls.sort_unstable();
        contents.tails =
            self.tails.iter().map(|&(function, target)| [function.into(), target.into()]).collect();
        contents.tails.sort_unstable();
        contents
    }

    pub fn file(&self) -> Vec<u8> {
        self.contents().file()
    }

    fn place(&self, frame: Frame) -> Option<Place> {
        let at = match frame {
            Frame::Exact(address) => address,
            Frame::Return(address) => address - 1,
            Frame::Foreign => return None,
        };
        let singles = (0..self.singles).map(Place::Single);
        let groups = (0..self.groups.len()).map(Place::Group);
        singles.chain(groups).find(|place| {
            let start = self.start(*place);
            (start..start + BODY).contains(&at)
        })
    }

    /// The answer that the specification gives for the innermost frame of a stack: its certainty, and its candidates. The frames further
    /// out are resolved first, by recursion.
    pub fn resolve(&self, stack: &[Frame]) -> (&'static str, BTreeSet<u32>) {
        let group = match self.place(stack[0]) {
            None => return ("none", BTreeSet::new()),
            Some(Place::Single(function)) => return ("unique", BTreeSet::from([function])),
            Some(Place::Group(group)) => group,
        };
        let every: BTreeSet<u32> =
            (0..self.groups[group].len()).map(|index| self.member(group, index)).collect();
        let Some(Called { possible, recorded, doubtful }) = self.called(&stack[1..], group, &every) else {
            return ("ambiguous", every);
        };
        if recorded {
            return ("likely", if possible.len() > 16 { every } else { possible });
        }
        match possible.len() {
            0 | 17.. => ("ambiguous", every),
            len if len == every.len() => ("ambiguous", every),
            1 if !doubtful => ("exact", possible),
            _ => ("narrowed", possible),
        }
    }

    /// The possible callees of the callers; `None` without a caller.
    fn called(&self, outer: &[Frame], group: usize, every: &BTreeSet<u32>) -> Option<Called> {
        let Some(&Frame::Return(address)) = outer.first() else { return None };
        let callers: Vec<u32> = match self.place(outer[0]) {
            Some(Place::Group(_)) => self.resolve(outer).1.into_iter().map(|caller| caller + 1).collect(),
            _ => vec![0],
        };
        let mut found = BTreeSet::new();
        let (mut doubtful, mut lost, mut unknown, mut by_tail) = (false, false, false, false);
        let mut merged = false;
        for caller in callers {
            let of = |wanted| self.calls.iter().find(|call| (call.0, call.1) == (address, wanted));
            let &(_, _, callee, how) = of(0).or_else(|| of(caller))?;
            let reached = self.tails.iter().filter(|tail| tail.0 == callee);
            let reached: Vec<u32> = reached.map(|tail| tail.1).collect();
            unknown |= reached.contains(&0);
            let reached = reached.into_iter().filter_map(|target| target.checked_sub(1)).chain([callee]);
            let reached: BTreeSet<u32> = reached.filter(|function| every.contains(function)).collect();
            lost |= reached.is_empty();
            (unknown, lost) = (unknown | matches!(how, 4 | 6), lost | (how == 4));
            unknown |= reached.is_empty() && !matches!(how, 2 | 5);
            merged |= how == 5;
            by_tail |= !every.contains(&callee);
            found.extend(reached);
            doubtful |= matches!(how, 2 | 5);
        }
        let mut possible = found.clone();
        if doubtful {
            let members = self.groups[group].iter().enumerate();
            let symbols = members.filter(|(_, how)| **how == 6).map(|(index, _)| self.member(group, index));
            let symbols: BTreeSet<u32> = symbols.collect();
            unknown |= lost && symbols.is_empty();
            possible.extend(symbols);
        }
        if unknown {
            possible.clone_from(every);
        }
        let recorded = found.len() == 1 && !lost && !merged && if unknown { !by_tail } else { doubtful };
        Some(Called { possible, recorded, doubtful })
    }

    /// A program with few places, so that keys meet frames; and groups larger than a frame names one by one.
    pub fn random(random: &mut Random) -> Self {
        let groups = 1 + random.below(4);
        let mut folded = Self { singles: 1 + random.below(4) as u32, ..Self::default() };
        for _ in 0..groups {
            let len = if random.below(8) == 0 { 15 + random.below(6) } else { 2 + random.below(4) };
            folded.groups.push(
                (0..len).map(|_| if random.below(6) == 0 { 6 } else { random.below(3) as i64 }).collect(),
            );
        }
        let functions = u64::from(folded.member(folded.groups.len(), 0));
        for address in folded.returns() {
            let group = match folded.place(Frame::Return(address)) {
                Some(Place::Group(group)) => Some(group),
                _ => None,
            };
            let how = |random: &mut Random| [0, 0, 0, 1, 2, 2, 4, 5, 6][random.below(9) as usize];
            if random.below(8) == 0 {
                continue;
            }
            if group.is_none() || random.below(8) == 0 {
                folded.call(address, None, random.below(functions) as u32, how(random));
            }
            let Some(group) = group else { continue };
            // Mostly one callee for all, else of one group, now and then anyone; and a record that is missing.
            let (near, one, gaps) =
                (random.below(groups) as usize, random.below(2) == 0, random.below(4) == 0);
            let len = folded.groups[near].len() as u64;
            let callee = folded.member(near, random.below(len) as usize);
            for index in 0..folded.groups[group].len() {
                let callee = match random.below(8) {
                    0 => random.below(functions) as u32,
                    _ if one => callee,
                    _ => folded.member(near, random.below(len) as usize),
                };
                if !gaps || random.below(4) > 0 {
                    folded.call(address, Some(folded.member(group, index)), callee, how(random));
                }
            }
        }
        let members = functions - u64::from(folded.singles);
        for function in 0..functions as u32 {
            if random.below(3) > 0 {
                continue;
            }
            let many = if random.below(6) == 0 { 40 } else { 3 };
            let targets: BTreeSet<u32> =
                (0..random.below(many)).map(|_| folded.singles + random.below(members) as u32).collect();
            targets.into_iter().filter(|target| *target != function).for_each(|target| {
                folded.tail(function, Some(target));
            });
            if random.below(6) == 0 {
                folded.tail(function, None);
            }
        }
        folded
    }

    /// Return addresses with and without code before them: in bodies, at their ends, in padding, and between pieces.
    pub fn returns(&self) -> Vec<u64> {
        let singles = (0..self.singles).map(Place::Single);
        let places = singles.chain((0..self.groups.len()).map(Place::Group));
        places
            .flat_map(|place| {
                let start = self.start(place);
                [start + 1, start + 8, start + BODY, start + BODY + 1, start + STEP]
            })
            .collect()
    }
}

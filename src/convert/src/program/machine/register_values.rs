//! Follows the values of registers along the code of one function, to the calls through a word of a table.

use std::collections::BTreeMap;

use crate::diagnostics::Cap;
use crate::model::ImageAddr;
use crate::program::machine::limits::MAX_JOINS;

/// The calls of a function through a word of a table.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotCalls {
    pub(crate) calls: Vec<SlotCall>,
    /// The limit for which some calls are missing.
    pub(crate) cut: Option<Cap>,
}

/// A call through a word of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotCall {
    pub(crate) return_addr: ImageAddr,
    pub(crate) slot: u16,
    /// The code loads the table's address from the first word of an object.
    pub(crate) by_object: bool,
    /// The word depends on the value of a register, and not only on the instruction.
    pub(super) by_register: bool,
}

/// The value of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    Unknown,
    /// The address of a place in the frame.
    Frame,
    /// The value at an offset from a pointer, and whether the pointer was the first word of an object.
    Loaded(i32, bool),
    /// A loaded pointer plus a number, and whether the pointer was the first word of an object.
    Inside(i32, bool),
}

/// General registers that are followed.
const REGISTERS: usize = 32;

pub(super) type State = [Held; REGISTERS];

impl Held {
    /// The value loaded from offset `by` of this value.
    pub(super) fn load(self, by: i64) -> Held {
        let Ok(by) = i32::try_from(by) else { return Held::Unknown };
        match self {
            // A place in the frame may hold anything, also a pointer to an object.
            Held::Frame => Held::Unknown,
            Held::Unknown => Held::Loaded(by, false),
            // The first word of an object of a class with virtual methods is its vtable pointer (Itanium C++ ABI 2.4).
            Held::Loaded(at, _) => Held::Loaded(by, at == 0),
            // A sum that saturates is the offset of no slot: `called` refuses it.
            Held::Inside(from, first) => Held::Loaded(from.saturating_add(by), first),
        }
    }

    pub(super) fn add(self, by: i64) -> Held {
        let Ok(by) = i32::try_from(by) else { return Held::Unknown };
        match self {
            Held::Frame => Held::Frame,
            Held::Loaded(at, _) => Held::Inside(by, at == 0),
            Held::Inside(from, first) => Held::Inside(from.saturating_add(by), first),
            Held::Unknown => Held::Unknown,
        }
    }

    /// The word that a call of this value goes through.
    fn called(self, width: i32) -> Option<CalledWord> {
        let Held::Loaded(at, by_object) = self else { return None };
        let whole = at >= 0 && at % width == 0;
        // The highest number means "no slot" (`NONE16`).
        let slot = u16::try_from(at / width).ok().filter(|slot| whole && *slot < u16::MAX)?;
        Some(CalledWord { slot, by_object })
    }
}

/// The word of a table in memory that a call goes through: see [`SlotCall`].
struct CalledWord {
    slot: u16,
    by_object: bool,
}

/// The effect of one instruction, in the terms of this file.
pub(super) enum Effect {
    /// Changes these registers to unknown values, one bit each.
    Forget(u32),
    Set(usize, Held),
    Jump {
        to: Option<u64>,
        /// Does not continue at the next instruction.
        ends: bool,
    },
    /// A call of this value, if it is indirect, and whether it goes through a register.
    Call(Option<Held>, bool),
}

/// Follows registers along the code of one function.
pub(super) struct Follower {
    pub(super) state: State,
    joins: Joins,
    /// The code before does not continue here.
    ended: bool,
    /// Callee-saved registers.
    kept: u32,
    /// The frame pointer.
    frame: usize,
    /// Values that are known everywhere.
    pub(super) start: State,
    found: Vec<SlotCall>,
    gave_up: bool,
    width: i32,
    /// The targets of backward jumps, sorted: nothing is known of the registers there.
    back: Vec<u64>,
}

impl Follower {
    pub(super) fn new([stack, frame]: [usize; 2], kept: u32, width: i32, mut back: Vec<u64>) -> Self {
        let mut start = [Held::Unknown; REGISTERS];
        start[stack] = Held::Frame;
        back.sort_unstable();
        Follower {
            state: start,
            joins: Joins::default(),
            ended: false,
            kept,
            frame,
            start,
            found: Vec::new(),
            gave_up: false,
            width,
            back,
        }
    }

    pub(super) fn calls(self) -> SlotCalls {
        match self.gave_up {
            true => {
                // Only calls through the table of an object become keys. Without one, nothing is lost.
                let any = self.found.iter().any(|call| call.by_object);
                SlotCalls { calls: Vec::new(), cut: any.then_some(Cap::SlotJumps) }
            }
            false => SlotCalls { calls: self.found, cut: None },
        }
    }

    /// Resumes at a place with no known values.
    pub(super) fn begin(&mut self) {
        self.state = self.start;
        self.joins.clear();
        self.ended = false;
    }

    /// Resumes at the start of an instruction.
    #[inline]
    pub(super) fn arrive(&mut self, address: u64) {
        while let Some((place, state)) = self.joins.take_until(address) {
            // A jump may lead between two instructions, where other instructions are hidden. That is no way to this one.
            if place == address {
                match self.ended {
                    true => self.state = *state,
                    false => keep_agreed(&mut self.state, state),
                }
                self.ended = false;
            }
        }
        if self.ended || self.back.binary_search(&address).is_ok() {
            self.state = self.start;
            self.ended = false;
        }
    }

    #[inline]
    pub(super) fn take(&mut self, step: Effect, address: u64, next: u64) {
        match step {
            Effect::Forget(registers) => self.forget(registers),
            Effect::Set(register, held) => {
                // The frame pointer keeps its value once it is set.
                if register == self.frame && held == Held::Frame {
                    self.start[register] = held;
                }
                self.state[register] = held;
            }
            Effect::Jump { to, ends } => {
                // The target of a backward jump was already read. If the function is read whole, `back` has it.
                if let Some(to) = to.filter(|to| *to > address) {
                    self.join(to);
                }
                self.ended = ends;
            }
            Effect::Call(held, by_register) => {
                if let Some(CalledWord { slot, by_object }) = held.and_then(|held| held.called(self.width)) {
                    self.found.push(SlotCall { return_addr: ImageAddr(next), slot, by_object, by_register });
                }
                // The callee may change every caller-saved register.
                self.forget(!self.kept);
            }
        }
    }

    /// Merges the current values into the state at the target of a jump.
    fn join(&mut self, to: u64) {
        self.gave_up |= !self.joins.add(to, &self.state);
    }

    fn forget(&mut self, registers: u32) {
        let mut left = registers;
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            // Values that are known everywhere remain known.
            self.state[number] = self.start[number];
        }
    }
}

/// The values of registers at the targets of forward jumps, until the code is read up to them.
#[derive(Default)]
struct Joins {
    /// The targets, each with the index of its values.
    targets: BTreeMap<u64, usize>,
    /// The lowest target; none is lower. Kept beside the map, since it is compared with the address of every instruction.
    next: Option<u64>,
    states: Vec<State>,
    /// Indexes of values whose target was taken.
    free: Vec<usize>,
}

impl Joins {
    /// Merges values into those at a target. False if there are too many targets.
    fn add(&mut self, target: u64, state: &State) -> bool {
        if let Some(&index) = self.targets.get(&target) {
            keep_agreed(&mut self.states[index], state);
            return true;
        }
        if self.targets.len() >= MAX_JOINS {
            return false;
        }
        let index = match self.free.pop() {
            Some(index) => {
                self.states[index] = *state;
                index
            }
            None => {
                self.states.push(*state);
                self.states.len() - 1
            }
        };
        self.targets.insert(target, index);
        self.next = Some(self.next.map_or(target, |next| next.min(target)));
        true
    }

    /// Takes the next target, if it is not after an address.
    #[inline]
    fn take_until(&mut self, address: u64) -> Option<(u64, &State)> {
        self.next.filter(|next| *next <= address)?;
        let (target, index) = self.targets.pop_first()?;
        self.next = self.targets.first_key_value().map(|first| *first.0);
        self.free.push(index);
        Some((target, &self.states[index]))
    }

    fn clear(&mut self) {
        self.targets.clear();
        self.next = None;
        self.states.clear();
        self.free.clear();
    }
}

/// Forgets the values on which the other state does not agree.
fn keep_agreed(state: &mut State, other: &State) {
    for (held, other) in state.iter_mut().zip(other) {
        if held != other {
            *held = Held::Unknown;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(by: i32) -> State {
        [Held::Loaded(by, false); REGISTERS]
    }

    #[test]
    fn targets_are_taken_in_their_order_whatever_the_order_of_the_jumps() {
        let mut joins = Joins::default();
        for target in [30, 10, 20] {
            assert!(joins.add(target, &state(target as i32)));
        }
        assert!(joins.take_until(9).is_none());
        assert_eq!(joins.take_until(10), Some((10, &state(10))));
        // The values of a target that was taken make room for others.
        assert!(joins.add(25, &state(25)) && joins.states.len() == 3);
        let mut left = Vec::new();
        while let Some((target, state)) = joins.take_until(29) {
            left.push((target, *state));
        }
        assert_eq!(left, [(20, state(20)), (25, state(25))]);
        assert_eq!(joins.take_until(u64::MAX), Some((30, &state(30))));
    }

    #[test]
    fn at_a_target_of_two_jumps_only_what_both_agree_on_is_known() {
        let mut joins = Joins::default();
        let mut other = state(8);
        other[3] = Held::Frame;
        assert!(joins.add(5, &state(8)) && joins.add(5, &other));
        let mut both = state(8);
        both[3] = Held::Unknown;
        assert_eq!(joins.take_until(5), Some((5, &both)));
    }

    #[test]
    fn too_many_targets_are_refused() {
        let mut joins = Joins::default();
        assert!((0..MAX_JOINS as u64).all(|target| joins.add(target, &state(0))));
        assert!(!joins.add(MAX_JOINS as u64, &state(0)));
        // A further jump to a known target needs no room.
        assert!(joins.add(MAX_JOINS as u64 - 1, &state(0)));
    }
}

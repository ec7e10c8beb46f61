//! The memory and the work that a conversion may take: the one rule from which every bound follows.
//!
//! Anybody may give foldsym a file, and in DWARF a few bytes may demand a lot: a unit takes 11 bytes, a thousand functions may
//! refer to one range list, every function may cover every line row. The rule is:
//!
//! - **The allowance is in proportion to the bytes of the input** ([`Allowance`]): the bytes of the mapped files, and the
//!   decompressed bytes of their compressed sections, up to [`UNPACKED`] times the bytes of the files. So a longer file
//!   may take more, and a few kilobytes that decompress to a gigabyte may not take much.
//! - **Kept data is charged in bytes of memory** against [`Allowance::kept`]: units with their functions, rows, calls and inline
//!   trees, and names, origins, paths and edges. The charge is made where units are taken one after the other, so whether the
//!   allowance suffices depends neither on threads nor on time. A conversion that exceeds it ends with an error (exit code 3):
//!   there is no meaningful part of the program that could be converted without the rest.
//! - **Work is charged in steps** against a [`Budget`] if the number of steps is a product of two counts that the input chooses
//!   (functions and rows, symbols and sequences). A step is one visited item, whether or not anything of it is kept, and is
//!   charged *before* it is taken. A product over the whole program has a budget in proportion to the input
//!   ([`Allowance::steps`]). A product inside a unit or at an address has a budget in proportion to that unit's items, so that
//!   the result for a unit depends neither on the thread that reads it nor on other units. If the budget runs out, that
//!   part of the answer is left out, the same on every run. A diagnostic (`cap_...`, one for each limit) says which part, and
//!   where first.
//! - **There is no cap where an algorithm does without**: a search in a sorted list or a hash table is better than a cap. Hash tables
//!   are keyed (see [`crate::util::hash`]), since in unkeyed ones the input could make lookups as long as it likes.
//!
//! The factors leave room: programs that compilers make need less than twice their bytes. `cargo xtask blowup` makes hostile
//! programs of every known shape, and fails if the cost of one grows faster than its size.

use std::cell::Cell;

/// Decompressed bytes count up to so many times the bytes of the files that hold them.
const UNPACKED: u64 = 64;

/// Bytes of memory for kept data: so many for each byte of the input, and so many for any input. Lists take up to twice as much while
/// they grow, and the later steps as much again. Line tables are the densest: a row is two or three bytes in a line program, and 20 here.
const KEPT_PER_BYTE: u64 = 16;
const KEPT_FLOOR: u64 = 64 << 20;

/// Steps over the whole program: so many for each byte of the input, and so many for any input.
pub(crate) const STEPS_PER_BYTE: u64 = 64;
const STEPS_FLOOR: u64 = 1 << 27;

/// Steps inside a part of the input (a unit, its line program): so many for each of its items, and so many for any part. A part that
/// uses up the floor takes a few kilobytes of a hostile file, so the floors of all parts are few steps for each byte, too.
pub(crate) const STEPS_PER_ITEM: u64 = 64;
const PART_FLOOR: u64 = 1 << 17;

/// The memory and the steps that a conversion may take, by the bytes of its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    input: u64,
}

impl Allowance {
    /// The allowance for files of `mapped` bytes, whose compressed sections have `unpacked` bytes once decompressed.
    pub(crate) fn of(mapped: u64, unpacked: u64) -> Allowance {
        Allowance { input: mapped.saturating_add(unpacked.min(mapped.saturating_mul(UNPACKED))) }
    }

    /// The allowance with the bytes of one more file: a `.dwo`, which is mapped only while its unit is read.
    pub(crate) fn and(self, bytes: u64) -> Allowance {
        Allowance { input: self.input.saturating_add(bytes) }
    }

    /// Bytes of the input that count.
    pub(crate) fn input(self) -> u64 {
        self.input
    }

    /// Bytes of memory for the data that is read and kept.
    pub(crate) fn kept(self) -> u64 {
        self.input.saturating_mul(KEPT_PER_BYTE).saturating_add(KEPT_FLOOR)
    }

    /// Steps for one kind of work over the whole program.
    pub(crate) fn steps(self) -> u64 {
        self.input.saturating_mul(STEPS_PER_BYTE).saturating_add(STEPS_FLOOR)
    }
}

impl Default for Allowance {
    /// The allowance for an empty input: the floors.
    fn default() -> Self {
        Allowance { input: 0 }
    }
}

/// The data read from a program takes more memory than the program's bytes allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unit at .debug_info+{unit:#x}: what is read of the units up to this one takes {kept} bytes of memory, and \
     {allowed} are allowed for {input} bytes of input"
)]
#[non_exhaustive]
pub struct TooMuch {
    /// Offset of the unit in `.debug_info`.
    pub unit: u64,
    /// Bytes of memory for the units up to this one.
    pub kept: u64,
    /// Bytes of memory that may be kept.
    pub allowed: u64,
    /// Bytes of the input that count.
    pub input: u64,
}

/// The steps that a part of the conversion may still take. Several callers may share it. Once it refuses a request, it refuses all
/// later ones, however small, so that the same work is left out on every run.
pub(crate) struct Budget {
    // Not atomics: if threads shared a budget, the time would decide whose work is left out.
    left: Cell<u64>,
    short: Cell<bool>,
}

impl Budget {
    pub(crate) fn new(steps: u64) -> Budget {
        Budget { left: Cell::new(steps), short: Cell::new(false) }
    }

    /// The budget for work inside a part of the input with so many items (bytes of entries, rows).
    pub(crate) fn of_part(items: usize) -> Budget {
        Budget::new((items as u64).saturating_mul(STEPS_PER_ITEM).saturating_add(PART_FLOOR))
    }

    /// Takes so many steps. False if fewer are left, and for every call after that.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        match self.left.get().checked_sub(steps as u64) {
            Some(left) if !self.short.get() => self.left.set(left),
            _ => self.short.set(true),
        }
        !self.short.get()
    }

    /// Steps that are left.
    pub(crate) fn left(&self) -> u64 {
        self.left.get()
    }

    /// True if a request was refused.
    pub(crate) fn is_short(&self) -> bool {
        self.short.get()
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;

    #[test]
    fn what_is_short_once_stays_so() {
        let budget = Budget::new(5);
        assert!(budget.spend(2) && budget.spend(3) && !budget.is_short());
        assert!(budget.spend(0) && !budget.spend(1) && !budget.spend(0) && budget.is_short());
        let budget = Budget::new(5);
        assert!(!budget.spend(6) && !budget.spend(1));
    }
}

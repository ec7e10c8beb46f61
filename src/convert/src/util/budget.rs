//! What a conversion may take: one rule that every bound on memory and on work follows from.
//!
//! Anybody may hand foldsym a file, and DWARF lets a few bytes ask for much: a unit is 11 bytes, a thousand functions may name one
//! range list, every function may cover every line row. The rule for all of this is:
//!
//! - **The allowance follows from the bytes of the input** ([`Allowance`]): of the files that are mapped, and of what they hold
//!   compressed, where the decompressed bytes count up to [`UNPACKED`] times the bytes of the files. So a longer file may
//!   take more, in proportion, and a few kilobytes that unpack to a gigabyte may not.
//! - **What is kept is charged in bytes of memory** against [`Allowance::kept`]: units with their functions, rows, calls and inline
//!   trees, and names, origins, paths and call edges. This is charged where units are taken up one after the other, so
//!   that whether the allowance suffices depends neither on the threads nor on the time. A conversion that exceeds it ends with an
//!   error (exit code 3), since no part of the program is left that could be told apart from the rest.
//! - **Work is charged in steps** against a [`Budget`], where the number of steps is a product of two counts that the input
//!   chooses (functions and rows, symbols and sequences). A step is one item that is looked at, whether or not anything is
//!   kept of it, and is charged *before* it is taken. A product over the whole program has steps in proportion to
//!   the input ([`Allowance::steps`]); one inside a unit or at an address has steps in proportion to that unit's own items, so
//!   that a unit is read alike whichever thread reads it and whatever others hold. Where the steps run out, that part of the
//!   answer is left out, the same on every run, and a diagnostic (`cap_...`, one for each limit) says which part and where first.
//! - **What needs no bound has none**: a search by a sorted list or a hash table is better than a cap. Hash tables are keyed
//!   (see [`crate::util::hash`]), since with unkeyed ones a lookup is as long as the input likes.
//!
//! The factors leave room: programs that compilers made keep less than twice their bytes. `cargo xtask blowup` makes hostile
//! programs of every shape that is known and fails where the cost of one grows faster than its size.

use std::cell::Cell;

/// Decompressed bytes count up to so many times the bytes of the files that hold them.
const UNPACKED: u64 = 64;

/// Bytes of memory that may be kept for each byte of the input, and for any input. Lists take up to twice as much while they grow, and
/// the later steps as much again. Line tables are the densest: a row is two or three bytes in a line program, and 20 bytes here.
const KEPT_PER_BYTE: u64 = 16;
const KEPT_FLOOR: u64 = 64 << 20;

/// Steps for each byte of the input, and for any input.
const STEPS_PER_BYTE: u64 = 64;
const STEPS_FLOOR: u64 = 1 << 27;

/// Steps inside a part of the input (a unit, its line program) for each of its items, and for any part. A hostile file has one
/// part for the floor in a few kilobytes, so that the floors of all parts are a small number of steps for each byte, too.
const STEPS_PER_ITEM: u64 = 64;
const PART_FLOOR: u64 = 1 << 17;

/// What a conversion may take, by the bytes of its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    input: u64,
}

impl Allowance {
    /// That of so many bytes of files, and of what they hold compressed.
    pub(crate) fn of(mapped: u64, unpacked: u64) -> Allowance {
        Allowance { input: mapped.saturating_add(unpacked.min(mapped.saturating_mul(UNPACKED))) }
    }

    /// More by another file's bytes: of a `.dwo`, which is mapped only as long as its unit is read.
    pub(crate) fn and(self, bytes: u64) -> Allowance {
        Allowance { input: self.input.saturating_add(bytes) }
    }

    /// Bytes of the input that count.
    pub(crate) fn input(self) -> u64 {
        self.input
    }

    /// Bytes of memory for what is read of the input and kept.
    pub(crate) fn kept(self) -> u64 {
        self.input.saturating_mul(KEPT_PER_BYTE).saturating_add(KEPT_FLOOR)
    }

    /// Steps for one kind of work over the whole program.
    pub(crate) fn steps(self) -> u64 {
        self.input.saturating_mul(STEPS_PER_BYTE).saturating_add(STEPS_FLOOR)
    }
}

impl Default for Allowance {
    /// That of no input: the floors.
    fn default() -> Self {
        Allowance { input: 0 }
    }
}

/// What is read of a program takes more memory than its bytes allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unit at .debug_info+{unit:#x}: what is read of the units up to this one takes {kept} bytes of memory, and \
     {allowed} are allowed for {input} bytes of input"
)]
pub struct TooMuch {
    /// Offset of the unit in `.debug_info`.
    pub unit: u64,
    /// Bytes of memory with that unit.
    pub kept: u64,
    /// Bytes of memory that may be kept.
    pub allowed: u64,
    /// Bytes of the input that count.
    pub input: u64,
}

/// Steps that are left to a part of the conversion. It is spent through shared references, and all at once runs out: what
/// follows then is left undone, the same on every run.
pub(crate) struct Budget {
    left: Cell<u64>,
    short: Cell<bool>,
}

impl Budget {
    pub(crate) fn new(steps: u64) -> Budget {
        Budget { left: Cell::new(steps), short: Cell::new(false) }
    }

    /// For work inside a part of the input that has so many items: bytes of entries, rows.
    pub(crate) fn of_part(items: usize) -> Budget {
        Budget::new((items as u64).saturating_mul(STEPS_PER_ITEM).saturating_add(PART_FLOOR))
    }

    /// Takes so many steps; false where fewer are left, and from then on.
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

    /// True where there was something to do for which no steps were left.
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

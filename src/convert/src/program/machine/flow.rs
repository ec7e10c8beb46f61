//! Where code goes: what the decoders of all processors say of an instruction, and what is made of it for a range.

use std::ops::Range;

/// Where a range of code may jump to.
#[derive(Default)]
pub(crate) struct Jumps {
    /// Through a register or memory.
    pub(crate) indirect: bool,
    /// Through a register or memory, and not shown to be the jump of a `switch` or to another module's function.
    pub(crate) anywhere: bool,
    /// The words that the loader fills with the addresses of functions that jumps name (`-fno-plt`): sorted, each once.
    pub(crate) slots: Vec<u64>,
    /// Addresses outside of the range, or its first one: sorted, each as often as a jump goes there.
    pub(crate) targets: Vec<u64>,
    /// Those of jumps that reach 127 bytes: most are no jumps, so that only those to the beginning of a function count.
    pub(crate) short: Vec<u64>,
}

/// Where control goes at an instruction, other than to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    /// Always or on a condition.
    Jump(Target),
    Call(Target),
    Return,
}

/// Where a jump or call goes, as far as the code shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    To(u64),
    /// To the sum of two numbers, of which one was read from a table: to a place of a `switch`. (Code that was made
    /// so does not record such a jump, but every other one.)
    Table,
    /// To what a table at this address holds at a number: to a place of a `switch` or to a function, as its first word tells, which
    /// has so many bytes.
    TableAt(u64, u8),
    /// To an address plus something that is not known: to a branch of a `switch`, if it is in the same code.
    Near(u64),
    /// To what stands at an address.
    Through(u64),
    Anywhere,
}

impl Jumps {
    /// Takes up the jumps of `code`. `first` reads the first address of a table in the program's file.
    pub(super) fn judge(
        &mut self,
        found: impl IntoIterator<Item = Target>,
        code: Range<u64>,
        first: impl Fn(u64, u8) -> Option<u64>,
        is_slot: impl Fn(u64) -> bool,
    ) {
        for jump in found {
            self.indirect |= !matches!(jump, Target::To(_));
            let is_within = |place: u64| place != code.start && code.contains(&place);
            match jump {
                Target::To(target) if is_within(target) => {}
                Target::To(target) => self.targets.push(target),
                Target::Table => {}
                // A table of functions holds no place within one.
                Target::TableAt(table, size) => self.anywhere |= !first(table, size).is_some_and(is_within),
                Target::Near(place) => self.anywhere |= !is_within(place),
                Target::Through(slot) if is_slot(slot) => self.slots.push(slot),
                Target::Through(_) | Target::Anywhere => self.anywhere = true,
            }
        }
        self.slots.sort_unstable();
        self.slots.dedup();
    }
}

/// Bytes of a stub.
pub(super) const MAX_STUB: u64 = 32;

/// One step of code that only goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hop {
    To(u64),
    /// To what the loader writes there.
    Through(u64),
}

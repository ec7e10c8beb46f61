//! Control flow: what the decoders of all processors return for an instruction, and what is collected for a range.

use crate::model::{AddressRange, ImageAddr};

/// The jumps out of a range of code.
#[derive(Default)]
pub(crate) struct Jumps {
    /// There is a jump through a register or memory.
    pub(crate) indirect: bool,
    /// There is a jump through a register or memory that is not shown to belong to a `switch` or to go to another
    /// module.
    pub(crate) anywhere: bool,
    /// The GOT slots that jumps go through (`-fno-plt`), in which the loader writes function addresses: sorted, each
    /// once.
    pub(crate) slots: Vec<ImageAddr>,
    /// Targets outside of the range, or at its start: sorted, each as often as a jump goes there.
    pub(crate) targets: Vec<ImageAddr>,
    /// Targets of short jumps (127 bytes). Most such places are no jumps, so a target counts only if a function
    /// begins there.
    pub(crate) short: Vec<ImageAddr>,
}

/// Control flow at an instruction, other than to the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    /// Unconditional or conditional.
    Jump(Target),
    Call(Target),
    Return,
}

/// The target of a jump or call, as far as the code shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    To(ImageAddr),
    /// The sum of two numbers, one of them read from a table: a `switch`. (For code compiled this way, the compiler
    /// records no such jump, but every other one.)
    Table,
    /// An element of a table at this address, with elements of this many bytes: a `switch` or a table of functions,
    /// as its first element shows.
    TableAt(ImageAddr, u8),
    /// An address plus an unknown number: a branch of a `switch`, if it is in the same code.
    Near(ImageAddr),
    /// The value at an address.
    Through(ImageAddr),
    Anywhere,
}

impl Jumps {
    /// Adds the jumps of `code`. `first` reads the first address of a table in the program's file.
    pub(super) fn judge(
        &mut self,
        found: impl IntoIterator<Item = Target>,
        code: AddressRange,
        first: impl Fn(ImageAddr, u8) -> Option<ImageAddr>,
        is_slot: impl Fn(ImageAddr) -> bool,
    ) {
        for jump in found {
            self.indirect |= !matches!(jump, Target::To(_));
            // A jump to the start may be a tail call: of the function to itself, or to a function that was folded with it.
            let is_within = |place: ImageAddr| place != code.start && code.contains(place);
            match jump {
                Target::To(target) if is_within(target) => {}
                Target::To(target) => self.targets.push(target),
                Target::Table => {}
                // A table of functions contains no address within one.
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

/// The size of a stub in bytes.
pub(super) const MAX_STUB: u64 = 32;

/// One step of code that only continues elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hop {
    To(ImageAddr),
    /// To the address that the loader writes there.
    Through(ImageAddr),
}

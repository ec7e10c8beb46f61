//! The interface to a stopped process, which a walk reads, and the result of a step.

use foldsym_format::FormatError;

/// A stopped process, or its remains in a core or minidump.
pub trait Process {
    /// Reads `bytes.len()` bytes of memory, 1 to 8; `None` if they are not there.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Option<()>;

    /// Strips the pointer authentication code (AArch64), which is in the high bits of a return address. The system chooses how many
    /// bits an address has: with 48, `address & 0x0000_ffff_ffff_ffff`. The default returns the address unchanged.
    fn strip(&self, address: u64) -> u64 {
        address
    }
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The frame is its caller's now.
    Caller,
    /// There is no caller: the frame is the outermost one.
    Outermost,
}

/// Why there was no step. The frame is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// No entry covers the address.
    NoEntry,
    /// A register that the row needs is not known.
    Register(u64),
    /// Memory that the row needs is missing.
    Memory(u64),
    /// The row needs an expression that has an unknown operation, or does not end well.
    Expression,
    /// The caller's frame would not be further out.
    Stuck,
    /// The section is damaged.
    Damaged(FormatError),
}

impl From<FormatError> for Stop {
    fn from(error: FormatError) -> Self {
        Stop::Damaged(error)
    }
}

impl core::fmt::Display for Stop {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Stop::NoEntry => f.write_str("no call frame entry covers the address"),
            Stop::Register(number) => write!(f, "register {number} is not known"),
            Stop::Memory(address) => write!(f, "memory at {address:#x} cannot be read"),
            Stop::Expression => f.write_str("an expression cannot be evaluated"),
            Stop::Stuck => f.write_str("the caller's frame is not further out"),
            Stop::Damaged(error) => write!(f, "section UNWIND: {error}"),
        }
    }
}

impl core::error::Error for Stop {}

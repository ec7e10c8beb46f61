//! What a walk asks of a stopped process, and what a step comes to.

use foldsym_format::FormatError;

/// A stopped process, or what is left of one.
pub trait Process {
    /// Reads `bytes.len()` bytes of memory, 1 to 8; `None` where they are not there.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Option<()>;

    /// Takes the bits of pointer authentication (AArch64) off a return address. They stand above the bits of an address,
    /// whose number the system chooses: with addresses of 48 bits `address & 0x0000_ffff_ffff_ffff`. As it is without.
    fn strip(&self, address: u64) -> u64 {
        address
    }
}

/// What a step led to.
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
    /// Memory that the row needs is not there.
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

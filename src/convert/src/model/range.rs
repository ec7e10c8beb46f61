//! A range of addresses.

use super::ImageAddr;

/// Half-open range of image addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AddressRange {
    pub start: ImageAddr,
    pub end: ImageAddr,
}

impl AddressRange {
    /// The range from one address up to another.
    pub(crate) fn new(start: ImageAddr, end: ImageAddr) -> AddressRange {
        AddressRange { start, end }
    }

    /// The range of `len` bytes from an address on.
    pub(crate) fn of(start: ImageAddr, len: u32) -> AddressRange {
        // The sum fits: `read` and `program::symbols` cut ranges at the ends of their sections.
        AddressRange { start, end: start + u64::from(len) }
    }

    /// True for the address of a byte of it.
    pub(crate) fn contains(self, address: ImageAddr) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The number of bytes.
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }
}

//! A range of addresses, and the ranges of pieces and sequences.

use super::{BareLines, ImageAddr, Piece, UnitPiece};

/// Half-open range of image addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AddressRange {
    pub start: u64,
    pub end: u64,
}

impl AddressRange {
    /// The range from one address up to another.
    pub(crate) fn new(start: ImageAddr, end: ImageAddr) -> AddressRange {
        AddressRange { start: start.0, end: end.0 }
    }

    /// The range of `len` bytes from an address on.
    pub(crate) fn of(start: ImageAddr, len: u32) -> AddressRange {
        AddressRange { start: start.0, end: start.0 + u64::from(len) }
    }

    /// The address of the first byte.
    pub(crate) fn start(self) -> ImageAddr {
        ImageAddr(self.start)
    }

    /// The address after the last byte.
    pub(crate) fn end(self) -> ImageAddr {
        ImageAddr(self.end)
    }

    /// The number of bytes.
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }
}

impl UnitPiece {
    /// The addresses of its code.
    pub(crate) fn range(&self) -> AddressRange {
        AddressRange::of(self.start, self.len)
    }
}

impl BareLines {
    /// The addresses that the sequence covers.
    pub(crate) fn range(&self) -> AddressRange {
        AddressRange::of(self.start, self.len)
    }
}

impl Piece {
    /// The addresses of its code, without the padding after it.
    pub(crate) fn code(&self) -> AddressRange {
        AddressRange::of(self.start, self.body)
    }
}

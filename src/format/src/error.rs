//! The kind and the place of damage in bytes: small, `Copy`, without allocation.

use core::fmt;

use crate::version::VERSION;

/// The kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The bytes end before this field.
    Truncated,
    /// The file does not begin with the magic.
    Magic,
    /// Another version of the format.
    Version,
    /// A feature that this reader does not know.
    Features,
    /// A bit or byte that must be 0.
    Reserved,
    /// A length, count or offset that does not fit the others.
    Length,
    /// A checksum that does not match.
    Checksum,
    /// Sections, records or names that must be sorted, or ranges that must be disjoint.
    Order,
    /// A section that must be present.
    Missing,
    /// A table with another number of columns than its section has.
    Columns,
    /// A field wider than the format allows.
    Width,
    /// An index past the last record; the offset is that index.
    NoRecord,
    /// A value out of range.
    Value,
    /// A scope deeper than the header allows, or not below its parent.
    Depth,
    /// A name that cannot be decoded.
    Name,
}

impl What {
    /// The kind in words, for a message.
    pub fn text(self) -> &'static str {
        match self {
            What::Truncated => "ends early",
            What::Magic => "not a .fsym file",
            What::Version => "an unknown version of the format",
            What::Features => "a feature that this reader does not know",
            What::Reserved => "a reserved bit that is not 0",
            What::Length => "a length that does not fit",
            What::Checksum => "a checksum that does not match",
            What::Order => "records out of order",
            What::Missing => "a section that must be present is not",
            What::Columns => "a wrong number of columns",
            What::Width => "a field wider than allowed",
            What::NoRecord => "an index past the last record",
            What::Value => "a value out of range",
            What::Depth => "an inline tree that is not one",
            What::Name => "a name that cannot be decoded",
        }
    }
}

/// Bytes that the format does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// The kind of damage.
    pub what: What,
    /// Where. For [`What::NoRecord`] it is that index. For [`What::Value`] and [`What::Order`] of a table's records it is the number of the
    /// record; of names, starts and blocks that are out of order it is the number of the name, start, bucket or block; of a list of code
    /// lengths it is the length. In all other cases it is a byte offset from the start of the section (of the file, for header and
    /// directory): also for both kinds in the header, in the directory, in the first fields of a section, and in sections without records
    /// of one size. For [`What::Version`] it is the version that the file has.
    pub offset: u64,
}

impl FormatError {
    /// An error of this kind at this offset.
    pub const fn new(what: What, offset: u64) -> Self {
        Self { what, offset }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Version => write!(
                f,
                "is of version {} of the format, and this reader of version {VERSION}: convert the program again",
                self.offset
            ),
            what => write!(f, "{} at {:#x}", what.text(), self.offset),
        }
    }
}

impl core::error::Error for FormatError {}

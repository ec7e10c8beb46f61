//! A section of the file, and the errors of encoding.

use foldsym_format::SectionId;

/// The most bytes of all names together, and of all paths. A name table of so many is always shorter than 2^32 bytes.
pub(super) const MAX_TEXT_BYTES: usize = 1 << 30;
/// The number of addresses that the base of a table's block can express.
pub(super) const MAX_SPAN: u64 = 1 << 47;

/// Why no file was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The code of the program is too far apart.
    #[error("code reaches from {lowest:#x} to {highest:#x}: a file holds at most 2^47 bytes of addresses")]
    AddressSpan {
        /// The lowest address.
        lowest: u64,
        /// The end of the code at the highest address.
        highest: u64,
    },
    /// The program has more of something than ids can number.
    #[error("{count} {what}: a file holds less than 2^31")]
    TooMany {
        /// What the program has too many of.
        what: &'static str,
        /// How many it has.
        count: usize,
    },
    /// The program has more segments than a reader accepts.
    #[error("{count} segments: a file holds at most {}", foldsym_format::sections::segments::MAX)]
    TooManySegments {
        /// How many it has.
        count: usize,
    },
    /// All names, or all paths, are too long together.
    #[error("the {what} take {bytes} bytes in total: a file holds at most {MAX_TEXT_BYTES}")]
    TooLong {
        /// `names` or `paths`.
        what: &'static str,
        /// Their bytes.
        bytes: usize,
    },
    /// A part of the section UNWIND is too long.
    #[error("the {what} of UNWIND have {bytes} bytes: a file holds less than 2^32")]
    UnwindPart {
        /// The part.
        what: &'static str,
        /// Its bytes.
        bytes: usize,
    },
    /// The name index cannot be built.
    #[error("the name index cannot be built: {problem}")]
    NameIndex {
        /// The problem.
        problem: String,
    },
    /// The conversion record cannot be compressed.
    #[error("the record cannot be compressed")]
    Record(#[source] std::io::Error),
}

/// A section of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub id: SectionId,
    pub bytes: Vec<u8>,
}

impl Section {
    pub(super) fn new(id: SectionId, bytes: Vec<u8>) -> Section {
        Section { id, bytes }
    }
}

//! A section of the file, and the errors of encoding.

use foldsym_format::SectionId;

/// The most bytes of all names together, and of all paths. A name table of so many is always shorter than 2^32 bytes.
pub(super) const MAX_TEXT_BYTES: usize = 1 << 30;
/// The number of addresses that the base of a table's block can express.
pub(super) const MAX_SPAN: u64 = 1 << 47;

/// Why no file was made.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("code reaches from {lowest:#x} to {highest:#x}: a file holds at most 2^47 bytes of addresses")]
    AddressSpan { lowest: u64, highest: u64 },
    #[error("{count} {what}: a file holds less than 2^31")]
    TooMany { what: &'static str, count: usize },
    #[error("the {what} have {bytes} bytes together: a file holds at most {MAX_TEXT_BYTES}")]
    TooLong { what: &'static str, bytes: usize },
    #[error("the {what} of UNWIND have {bytes} bytes: a file holds less than 2^32")]
    UnwindPart { what: &'static str, bytes: usize },
    #[error("the name index cannot be built")]
    NameIndex(#[source] fst::Error),
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

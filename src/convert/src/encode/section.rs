//! A section of the file, and why there is none.

use foldsym_format::SectionId;

/// Bytes of names, and of paths: a table of them has less than 2^32 then, whatever they are.
pub(super) const MAX_TEXT_BYTES: usize = 1 << 30;
/// Addresses that the base of a table's block can express.
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

//! Collects the records of a section, each content once: the first stays, later ones refer to it.

use foldsym_format::bits::TAIL;
use rustc_hash::FxHashMap;

/// A section of records that are found by their offset. Offset 0 belongs to no record.
pub(super) struct Store<'r> {
    bytes: Vec<u8>,
    offsets: FxHashMap<&'r [u8], u64>,
    /// Records that were found again.
    pub(super) shared: u64,
}

impl<'r> Store<'r> {
    pub(super) fn new(capacity: usize) -> Store<'r> {
        let mut bytes = Vec::with_capacity(capacity + 1 + TAIL);
        bytes.push(0);
        Store { bytes, offsets: FxHashMap::default(), shared: 0 }
    }

    /// The offset of a record with these bytes, which is added if there is none; 0 for no bytes.
    pub(super) fn add(&mut self, record: &'r [u8]) -> u64 {
        if record.is_empty() {
            return 0;
        }
        if let Some(offset) = self.find(record) {
            return offset;
        }
        self.add_as(record, record)
    }

    /// The offset of a record with these bytes.
    pub(super) fn find(&mut self, record: &[u8]) -> Option<u64> {
        let offset = self.offsets.get(record).copied();
        self.shared += u64::from(offset.is_some());
        offset
    }

    /// Adds a record that stands for `content` in another form.
    pub(super) fn add_as(&mut self, content: &'r [u8], record: &[u8]) -> u64 {
        let offset = self.next_offset();
        self.offsets.insert(content, offset);
        self.bytes.extend_from_slice(record);
        offset
    }

    /// The offset that the next record gets.
    pub(super) fn next_offset(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Distinct records.
    pub(super) fn records(&self) -> u64 {
        self.offsets.len() as u64
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + TAIL, 0);
        self.bytes
    }
}

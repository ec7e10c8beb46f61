//! Collects the records of a section, each content once: the first stays, later ones refer to it.

use foldsym_format::bits::TAIL;
use hashbrown::HashTable;

use crate::util::hash::hash_of;

/// The bytes of a record, with their hash: many threads make records, and one puts them behind each other.
#[derive(Clone, Copy)]
pub(super) struct Record<'r> {
    pub(super) bytes: &'r [u8],
    pub(super) hash: u64,
}

impl<'r> Record<'r> {
    pub(super) fn of(bytes: &'r [u8]) -> Record<'r> {
        Record { bytes, hash: hash_of(bytes) }
    }
}

/// A section of records that are found by their offset. Offset 0 belongs to no record.
pub(super) struct Store<'r> {
    bytes: Vec<u8>,
    /// Each with its offset.
    records: HashTable<(Record<'r>, u64)>,
    /// Records that were found again.
    pub(super) shared: u64,
}

impl<'r> Store<'r> {
    pub(super) fn new(capacity: usize) -> Store<'r> {
        let mut bytes = Vec::with_capacity(capacity + 1 + TAIL);
        bytes.push(0);
        Store { bytes, records: HashTable::new(), shared: 0 }
    }

    /// The offset of a record with these bytes, which is added if there is none; 0 for no bytes.
    pub(super) fn add(&mut self, record: Record<'r>) -> u64 {
        if record.bytes.is_empty() {
            return 0;
        }
        if let Some(offset) = self.find(record) {
            return offset;
        }
        self.add_as(record, record.bytes)
    }

    /// The offset of a record with these bytes.
    pub(super) fn find(&mut self, record: Record<'_>) -> Option<u64> {
        let is_it = |(known, _): &(Record<'_>, u64)| known.hash == record.hash && known.bytes == record.bytes;
        let offset = self.records.find(record.hash, is_it).map(|&(_, offset)| offset);
        self.shared += u64::from(offset.is_some());
        offset
    }

    /// Adds a record that is not there yet, and that stands as `bytes` in the section.
    pub(super) fn add_as(&mut self, record: Record<'r>, bytes: &[u8]) -> u64 {
        let offset = self.next_offset();
        self.records.insert_unique(record.hash, (record, offset), |(known, _)| known.hash);
        self.bytes.extend_from_slice(bytes);
        offset
    }

    /// The offset that the next record gets.
    pub(super) fn next_offset(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Distinct records.
    pub(super) fn records(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + TAIL, 0);
        self.bytes
    }
}

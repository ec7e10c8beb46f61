//! Collects the records of a section and stores equal ones once: later ones get the offset of the first.

use foldsym_format::bits::TAIL;
use hashbrown::HashTable;

use crate::util::hash::hash_of;

/// The bytes of a record and their hash. Many threads make records and hash them; one thread concatenates them.
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

/// A section whose records are referred to by offset. No record has offset 0.
pub(super) struct Store<'r> {
    bytes: Vec<u8>,
    /// The records with their offsets, by content.
    records: HashTable<(Record<'r>, u64)>,
    /// How often an equal record was found.
    pub(super) shared: u64,
}

impl<'r> Store<'r> {
    pub(super) fn new(capacity: usize) -> Store<'r> {
        let mut bytes = Vec::with_capacity(capacity + 1 + TAIL);
        bytes.push(0);
        Store { bytes, records: HashTable::new(), shared: 0 }
    }

    /// The offset of the record with these bytes, which is added if it is new; 0 for an empty record.
    pub(super) fn add(&mut self, record: Record<'r>) -> u64 {
        if record.bytes.is_empty() {
            return 0;
        }
        if let Some(offset) = self.find(record) {
            return offset;
        }
        self.add_as(record, record.bytes)
    }

    /// The offset of the record with these bytes, if it was added.
    pub(super) fn find(&mut self, record: Record<'_>) -> Option<u64> {
        let is_it = |(known, _): &(Record<'_>, u64)| known.hash == record.hash && known.bytes == record.bytes;
        let offset = self.records.find(record.hash, is_it).map(|&(_, offset)| offset);
        self.shared += u64::from(offset.is_some());
        offset
    }

    /// Adds a new record. The section gets `bytes`: the record itself, or a shorter coding of it.
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

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
pub(super) struct Store {
    bytes: Vec<u8>,
    /// The records that the section has in a shorter coding, one after the other.
    recoded: Vec<u8>,
    /// The records by content.
    records: HashTable<Stored>,
    /// How often an equal record was found.
    pub(super) shared: u64,
}

/// A record of the section.
struct Stored {
    hash: u64,
    offset: u64,
    /// Bytes of the record.
    len: u32,
    /// Its start in [`Store::recoded`]; `None` if the section has the record itself.
    recoded: Option<u32>,
}

impl Store {
    pub(super) fn new() -> Store {
        // The first byte belongs to no record, so that offset 0 can mean "no record": that of a function without rows,
        // for example.
        Store { bytes: vec![0], recoded: Vec::new(), records: HashTable::new(), shared: 0 }
    }

    /// The offset of the record with these bytes, which is added if it is new; 0 for an empty record.
    pub(super) fn add(&mut self, record: Record<'_>) -> u64 {
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
        let (bytes, recoded) = (&self.bytes, &self.recoded);
        let is_it = |known: &Stored| {
            let (from, start) = match known.recoded {
                Some(start) => (recoded, start as usize),
                None => (bytes, known.offset as usize),
            };
            // Compared in the coding that does not depend on the record's place. The section may have it in a shorter
            // one, which refers back by a distance: equal rows in two places then have different bytes.
            known.hash == record.hash && from[start..start + known.len as usize] == *record.bytes
        };
        let offset = self.records.find(record.hash, is_it).map(|known| known.offset);
        self.shared += u64::from(offset.is_some());
        offset
    }

    /// Adds a new record. The section gets `bytes`: the record itself, or a shorter coding of it.
    pub(super) fn add_as(&mut self, record: Record<'_>, bytes: &[u8]) -> u64 {
        let offset = self.next_offset();
        self.bytes.extend_from_slice(bytes);
        // Mostly equal: then the section itself keeps the bytes, and no copy of them is needed.
        let recoded = if bytes == record.bytes {
            None
        } else {
            // Records after the first 4 GiB of them are not found again: equal ones are stored twice.
            let Ok(start) = u32::try_from(self.recoded.len()) else { return offset };
            self.recoded.extend_from_slice(record.bytes);
            Some(start)
        };
        let stored = Stored { hash: record.hash, offset, len: record.bytes.len() as u32, recoded };
        // The hash is kept, so that a table that grows reads no record again.
        self.records.insert_unique(record.hash, stored, |known| known.hash);
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
        // A reader loads 8 bytes at once, also for the last field.
        self.bytes.resize(self.bytes.len() + TAIL, 0);
        self.bytes
    }
}

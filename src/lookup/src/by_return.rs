//! A table of two columns that is searched by return address; IMPORTS is one.

use foldsym_format::{SectionId, Table, What};

use crate::error::{Error, InSection, small, until_damaged};
use crate::file::SymbolFile;
use crate::ids::ReturnAddr;
use crate::stack::first;

/// Return addresses, each with the number of a record or name below a limit.
#[derive(Clone, Copy)]
pub(crate) struct ByReturn<'d> {
    section: SectionId,
    table: Table<'d>,
    image_base: u64,
    limit: u32,
}

impl<'d> ByReturn<'d> {
    /// Opens a section of a file; without records if the file does not have it. Its numbers are below `limit`.
    pub(crate) fn open(file: &SymbolFile<'d>, section: SectionId, limit: u32) -> Result<Self, Error> {
        let header = file.header();
        let table = match file.section_bytes(section) {
            Some(data) => Table::open(data, section.column_count(header.features)).within(section)?,
            None => Table::EMPTY,
        };
        Ok(Self { section, table, image_base: header.image_base, limit })
    }

    pub(crate) const fn len(&self) -> u32 {
        self.table.len()
    }

    /// The number of an address, below the limit. Takes log2 of the records.
    pub(crate) fn find(&self, address: ReturnAddr) -> Result<Option<u32>, Error> {
        // Records are relative to the image base: none is of a lower address.
        let Some(key) = address.0.checked_sub(self.image_base).map(u64::cast_signed) else { return Ok(None) };
        let record = first(&self.table, self.section, (key, 0))?;
        if record >= self.table.len() {
            return Ok(None);
        }
        let [address, number] = self.table.record(record).within(self.section)?;
        if address != key {
            return Ok(None);
        }
        self.below(number, record).map(Some)
    }

    /// All records: the address, and the number, below the limit. Ends at the first damaged one.
    pub(crate) fn iter(self) -> impl Iterator<Item = Result<(ReturnAddr, u32), Error>> + use<'d> {
        until_damaged(self.len(), move |record| self.read(record))
    }

    fn read(&self, record: u32) -> Result<(ReturnAddr, u32), Error> {
        let [address, number] = self.table.record(record).within(self.section)?;
        let address = self.image_base.wrapping_add_signed(address);
        Ok((ReturnAddr(address), self.below(number, record)?))
    }

    fn below(&self, number: i64, record: u32) -> Result<u32, Error> {
        match small(number, self.section, record)? {
            // Checked here, so that the error names this section and not the one to which the number would lead.
            number if number < self.limit => Ok(number),
            _ => Err(Error::new(self.section, What::Value, record.into())),
        }
    }

    /// The section is sound: sorted by address, no two alike, each number below the limit.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.table.verify().within(self.section)?;
        let wrong = |what, id: u32| Err(Error::new(self.section, what, id.into()));
        // Below the first address, which may be 0.
        let mut before = -1;
        for id in 0..self.table.len() {
            let [address, number] = self.table.record(id).within(self.section)?;
            if address <= before {
                return wrong(What::Order, id);
            }
            before = address;
            if !(0..i64::from(self.limit)).contains(&number) {
                return wrong(What::Value, id);
            }
        }
        Ok(())
    }
}

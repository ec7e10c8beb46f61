//! Global variables: the name, the bytes and the place in the source of the variable at an address of data.

use foldsym_format::{SectionId, Table, What};

use crate::error::{Error, InSection, large, optional, small, until_damaged};
use crate::file::SymbolFile;
use crate::ids::{FileId, ImageAddr, NameId};
use crate::stack::first;

const DATA: SectionId = SectionId::DATA;

/// A global variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its first byte.
    pub start: ImageAddr,
    /// Its number of bytes; 0 if the program does not say it.
    pub size: u64,
    /// Its linkage name.
    pub name: NameId,
    /// The file that declares it. If [`Variable::line`] is 0, the file of its symbol, without a folder.
    pub file: Option<FileId>,
    /// The line of its declaration; 0: unknown.
    pub line: u32,
}

/// The section DATA; without records if the file does not have it.
#[derive(Clone, Copy)]
pub struct Variables<'d> {
    table: Table<'d>,
    image_base: u64,
    /// How many names and files there are.
    limits: (u32, u32),
}

impl SymbolFile<'_> {
    /// The global variable that contains an address: of those that begin at or before it the last one, if the address is one of its bytes.
    /// A variable of unknown size goes on to the next one. `None` if there is no variable, or if the file was converted without `--data`.
    /// Takes log2 of the variables.
    ///
    /// # Errors
    /// A section that breaks the format, or damage at a place that it reads.
    pub fn variable_at(&self, address: ImageAddr) -> Result<Option<Variable>, Error> {
        let variables = Variables::open(self)?;
        // Records are relative to the image base: none is of a lower address.
        let Some(offset) = address.0.checked_sub(variables.image_base) else { return Ok(None) };
        let Ok(key) = i64::try_from(offset) else { return Ok(None) };
        // No size is so large: the record is the first of a higher address.
        let Some(record) = first(&variables.table, DATA, (key, i64::MAX))?.checked_sub(1) else {
            return Ok(None);
        };
        let found = variables.read(record)?;
        let within = address.0.wrapping_sub(found.start.0);
        Ok(Some(found).filter(|found| found.size == 0 || within < found.size))
    }
}

impl<'d> Variables<'d> {
    pub(crate) fn open(file: &SymbolFile<'d>) -> Result<Self, Error> {
        let header = file.header();
        let table = match file.section_bytes(DATA) {
            Some(data) => Table::open(data, DATA.column_count(header.features)).within(DATA)?,
            None => Table::EMPTY,
        };
        Ok(Self { table, image_base: header.image_base, limits: (file.names.len(), file.files.len()) })
    }

    /// How many there are.
    pub const fn len(&self) -> u32 {
        self.table.len()
    }

    /// True if there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them by address. Ends at the first damaged one.
    pub fn iter(self) -> impl Iterator<Item = Result<Variable, Error>> + use<'d> {
        until_damaged(self.len(), move |record| self.read(record))
    }

    fn read(&self, record: u32) -> Result<Variable, Error> {
        let [address, size, name, file, line] = self.table.record(record).within(DATA)?;
        let wrong = || Error::new(DATA, What::Value, record.into());
        let (names, files) = self.limits;
        let name = Some(small(name, DATA, record)?).filter(|name| *name < names).ok_or_else(wrong)?;
        let file = optional(file, DATA, record)?;
        if file.is_some_and(|file| file >= files) {
            return Err(wrong());
        }
        Ok(Variable {
            start: ImageAddr(self.image_base.wrapping_add(large(address, DATA, record)?)),
            size: large(size, DATA, record)?,
            name: NameId(name),
            file: file.map(FileId),
            line: small(line, DATA, record)?,
        })
    }

    /// The section is sound: sorted by address, no two alike, of names and files that exist.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.table.verify().within(DATA)?;
        let mut before = None;
        for record in 0..self.len() {
            let start = self.read(record)?.start;
            if before.is_some_and(|before| start <= before) {
                return Err(Error::new(DATA, What::Order, record.into()));
            }
            before = Some(start);
        }
        Ok(())
    }
}

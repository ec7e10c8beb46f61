//! Whom a call probably calls, where nobody recorded it: which candidate to show first, never how sure an answer is.

use foldsym_format::{SectionId, Table, What};

use crate::error::{Error, InSection, small};
use crate::file::SymbolFile;
use crate::ids::{FunctionId, ReturnAddr};
use crate::stack::first;

const GUESSES: SectionId = SectionId::GUESSES;

/// The section GUESSES; without records where a file has none.
#[derive(Clone, Copy)]
pub struct Guesses<'d> {
    table: Table<'d>,
    functions: u32,
    image_base: u64,
}

impl<'d> SymbolFile<'d> {
    /// Opens the guesses of a file. Takes constant time.
    ///
    /// # Errors
    /// A section that breaks the format.
    pub fn guesses(&self) -> Result<Guesses<'d>, Error> {
        let table = match self.section_bytes(GUESSES) {
            Some(data) => Table::open(data, GUESSES.column_count(self.header().features)).within(GUESSES)?,
            None => Table::EMPTY,
        };
        Ok(Guesses { table, functions: self.functions.len(), image_base: self.header().image_base })
    }
}

impl Guesses<'_> {
    /// How many there are.
    pub const fn len(&self) -> u32 {
        self.table.len()
    }

    /// True where there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whom the call that returns to an address probably calls; `None` where nothing is guessed. Takes log2 of the records.
    ///
    /// # Errors
    /// Damage at a place that it reads.
    pub fn callee(&self, address: ReturnAddr) -> Result<Option<FunctionId>, Error> {
        let Some(key) = address.0.checked_sub(self.image_base).map(u64::cast_signed) else { return Ok(None) };
        let record = first(&self.table, GUESSES, (key, 0))?;
        if record >= self.table.len() {
            return Ok(None);
        }
        let [address, callee] = self.table.record(record).within(GUESSES)?;
        if address != key {
            return Ok(None);
        }
        small(callee, GUESSES, record).map(|callee| Some(FunctionId(callee)))
    }

    /// The section is sound: sorted by address, no two alike, of functions that exist.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.table.verify().within(GUESSES)?;
        let mut before = -1;
        for id in 0..self.table.len() {
            let [address, callee] = self.table.record(id).within(GUESSES)?;
            if address <= before {
                return Err(Error::new(GUESSES, What::Order, id.into()));
            }
            before = address;
            if !(0..i64::from(self.functions)).contains(&callee) {
                return Err(Error::new(GUESSES, What::Value, id.into()));
            }
        }
        Ok(())
    }
}

//! The likely callee of a call that the compiler did not record. It only orders candidates, and never changes the certainty.

use foldsym_format::{SectionId, Table, What};

use crate::error::{Error, InSection, small, until_damaged};
use crate::file::SymbolFile;
use crate::ids::{FunctionId, ReturnAddr};
use crate::stack::first;

/// The section GUESSES; without records if the file does not have it.
#[derive(Clone, Copy)]
pub struct Guesses<'d> {
    table: Table<'d>,
    image_base: u64,
    functions: u32,
}

/// The likely callee of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// Where the call returns to.
    pub address: ReturnAddr,
    /// In folded code, which of its functions calls; `None`: whichever.
    pub caller: Option<FunctionId>,
    /// The callee.
    pub callee: FunctionId,
}

impl SymbolFile<'_> {
    /// The likely callee of the call that returns to an address, if `caller` makes it; `None` without a guess. Takes twice log2 of the
    /// guesses.
    ///
    /// # Errors
    /// A section that breaks the format, or damage at a place that it reads.
    pub fn guessed_callee(
        &self,
        address: ReturnAddr,
        caller: Option<FunctionId>,
    ) -> Result<Option<FunctionId>, Error> {
        let guesses = Guesses::open(self)?;
        if caller.is_some()
            && let Some(callee) = guesses.find(address, caller)?
        {
            return Ok(Some(callee));
        }
        guesses.find(address, None)
    }
}

impl<'d> Guesses<'d> {
    pub(crate) fn open(file: &SymbolFile<'d>) -> Result<Self, Error> {
        let (header, section) = (file.header(), SectionId::GUESSES);
        let table = match file.section_bytes(section) {
            Some(data) => Table::open(data, section.column_count(header.features)).within(section)?,
            None => Table::EMPTY,
        };
        Ok(Self { table, image_base: header.image_base, functions: file.functions.len() })
    }

    /// How many there are.
    pub const fn len(&self) -> u32 {
        self.table.len()
    }

    /// True if there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them by return address and caller. Ends at the first damaged one.
    pub fn iter(self) -> impl Iterator<Item = Result<Guess, Error>> + use<'d> {
        until_damaged(self.len(), move |record| self.read(record))
    }

    fn find(&self, address: ReturnAddr, caller: Option<FunctionId>) -> Result<Option<FunctionId>, Error> {
        // Records are relative to the image base: none is of a lower address.
        let Some(offset) = address.0.checked_sub(self.image_base).map(u64::cast_signed) else {
            return Ok(None);
        };
        let key = (offset, caller.map_or(0, |caller| i64::from(caller.0).saturating_add(1)));
        let record = first(&self.table, SectionId::GUESSES, key)?;
        if record >= self.table.len() {
            return Ok(None);
        }
        let guess = self.read(record)?;
        Ok((guess.address == address && guess.caller == caller).then_some(guess.callee))
    }

    fn read(&self, record: u32) -> Result<Guess, Error> {
        let [address, caller, callee] = self.table.record(record).within(SectionId::GUESSES)?;
        let address = ReturnAddr(self.image_base.wrapping_add_signed(address));
        let caller = match caller {
            0 => None,
            caller => Some(self.function(caller.wrapping_sub(1), record)?),
        };
        Ok(Guess { address, caller, callee: self.function(callee, record)? })
    }

    fn function(&self, number: i64, record: u32) -> Result<FunctionId, Error> {
        match small(number, SectionId::GUESSES, record)? {
            // Checked here, so that the error names this section and not the one to which the number would lead.
            number if number < self.functions => Ok(FunctionId(number)),
            _ => Err(Error::new(SectionId::GUESSES, What::Value, record.into())),
        }
    }

    /// The section is sound: sorted by address and caller, no two alike, of functions that exist.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.table.verify().within(SectionId::GUESSES)?;
        let mut before = (-1, i64::MAX);
        for id in 0..self.table.len() {
            let [address, caller, _] = self.table.record(id).within(SectionId::GUESSES)?;
            if (address, caller) <= before {
                return Err(Error::new(SectionId::GUESSES, What::Order, id.into()));
            }
            before = (address, caller);
            self.read(id)?;
        }
        Ok(())
    }
}

//! The likely callee of a call that the compiler did not record. It only orders candidates, and never changes the certainty.

use foldsym_format::SectionId;

use crate::by_return::ByReturn;
use crate::error::Error;
use crate::file::SymbolFile;
use crate::ids::{FunctionId, ReturnAddr};

/// The section GUESSES; without records if the file does not have it.
#[derive(Clone, Copy)]
pub struct Guesses<'d>(ByReturn<'d>);

impl SymbolFile<'_> {
    /// The likely callee of the call that returns to an address; `None` without a guess. Takes log2 of the guesses.
    ///
    /// # Errors
    /// A section that breaks the format, or damage at a place that it reads.
    pub fn guessed_callee(&self, address: ReturnAddr) -> Result<Option<FunctionId>, Error> {
        Ok(Guesses::open(self)?.0.find(address)?.map(FunctionId))
    }
}

impl<'d> Guesses<'d> {
    pub(crate) fn open(file: &SymbolFile<'d>) -> Result<Self, Error> {
        ByReturn::open(file, SectionId::GUESSES, file.functions.len()).map(Self)
    }

    /// How many there are.
    pub const fn len(&self) -> u32 {
        self.0.len()
    }

    /// True if there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them by return address, with the callee. Ends at the first damaged one.
    pub fn iter(&self) -> impl Iterator<Item = Result<(ReturnAddr, FunctionId), Error>> + use<'d> {
        self.0.iter().map(|record| record.map(|(address, number)| (address, FunctionId(number))))
    }

    /// The section is sound: sorted by address, no two alike, of functions that exist.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.0.verify()
    }
}

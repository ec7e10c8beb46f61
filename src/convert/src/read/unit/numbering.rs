//! The local ids of a unit's names, files and origins, which both its entries and its rows use; and the unit's diagnostics.

use crate::diagnostics::Diagnostics;
use crate::read::sections::bytes::Endianity;
use crate::read::unit::origins::Origins;

pub(crate) struct Numbering<'a, 'f, E: Endianity> {
    pub(crate) origins: Origins<'a, 'f, E>,
    pub(crate) diagnostics: Diagnostics,
}

impl<E: Endianity> Numbering<'_, '_, E> {
    /// The local id of a file of the line program.
    pub(crate) fn row_file(&mut self, index: u64) -> u16 {
        self.origins.row_file(index, &mut self.diagnostics)
    }
}

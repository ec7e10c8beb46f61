//! The address attributes of entries, before they are evaluated.

use gimli::AttributeValue;

use crate::read::sections::bytes::{Bytes, Endianity};

/// A range of a function whose address is a tombstone.
#[derive(Clone, Copy)]
pub(crate) struct DeadRange {
    /// The length; 0 if the linker erased that as well.
    pub(crate) len: u64,
    /// True if it is not the function's first range.
    pub(crate) part: bool,
}

/// The address attributes of a DIE (DWARF 5 2.17).
pub(crate) struct Addresses<'f, E: Endianity> {
    pub(crate) low_pc: Option<AttributeValue<Bytes<'f, E>>>,
    pub(crate) high_pc: Option<AttributeValue<Bytes<'f, E>>>,
    pub(crate) ranges: Option<AttributeValue<Bytes<'f, E>>>,
    pub(crate) entry_pc: Option<AttributeValue<Bytes<'f, E>>>,
}

impl<E: Endianity> Default for Addresses<'_, E> {
    fn default() -> Self {
        Addresses { low_pc: None, high_pc: None, ranges: None, entry_pc: None }
    }
}

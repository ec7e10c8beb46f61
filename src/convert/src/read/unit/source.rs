//! One unit, with the sections and tables from which its entries and lines are read.

use crate::read::sections::abbreviations::Abbreviations;
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::call_tables::DirectCall;
use crate::read::shared_lines::ReadLines;
use crate::read::space::Space;
use crate::read::unit::file::FileTable;

/// One unit to read, and the tables that it refers to.
pub(crate) struct UnitSource<'a, 'f, E: Endianity> {
    pub(crate) space: &'a Space<'f, E>,
    /// The unit at `index` of `space.main`.
    pub(crate) unit: &'a gimli::Unit<Bytes<'f, E>>,
    pub(crate) index: usize,
    pub(crate) abbreviations: Abbreviations<'a, 'f>,
    /// The file table for `DW_AT_decl_file` and `DW_AT_call_file`.
    pub(crate) files: FileTable<'a, 'f, E>,
    /// The line program of the unit's code. A split unit uses its skeleton's.
    pub(crate) rows: FileTable<'a, 'f, E>,
    /// In place of them, if other units have the program too.
    pub(crate) shared_rows: Option<&'a dyn ReadLines>,
    /// Of a split unit, the offset of the first line program of its object, if that is another's; else 0.
    pub(crate) object_lines: u64,
    /// The unit's calls in `.debug_dcall`.
    pub(crate) listed: &'a [DirectCall],
}

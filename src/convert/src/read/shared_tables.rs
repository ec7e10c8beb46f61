//! Caches abbreviation tables that several units share, and finds the line program that a unit names.
//!
//! A unit may have only a few bytes, but it names an abbreviation table by offset. If a hostile file had one table of half its
//! size and many units that name it, reading it for each unit would take quadratic time. So a table that several units
//! name is parsed once. It ends where the next named table begins, so that overlapping tables cost no more than their
//! section. Line programs: [`crate::read::shared_lines`].

use std::sync::{Arc, OnceLock};

use gimli::{Reader as _, Section as _};

use crate::read::limits::MAX_ATTRIBUTES;
use crate::read::sections::abbreviations;
use crate::read::sections::abbreviations::{AbbreviationTable, Abbreviations};
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};

pub(crate) type Header<'f, E> = gimli::UnitHeader<Bytes<'f, E>>;

/// An abbreviation table that one or more units name.
struct SharedTable {
    /// Offset in `.debug_abbrev`. The table ends before the offset of the next one.
    offset: usize,
    /// The index of the first unit that names it. LLVM writes one table for all units of an object.
    first: usize,
    /// The number of units that name it.
    users: u32,
    /// The parsed table, if several units name it.
    table: OnceLock<gimli::Result<AbbreviationTable>>,
    parsed: OnceLock<gimli::Result<Arc<gimli::Abbreviations>>>,
}

/// The tables of one `.debug_info`.
pub(crate) struct Shared {
    /// Sorted by offset, distinct.
    tables: Vec<SharedTable>,
}

impl Shared {
    pub(crate) fn of<E: Endianity>(headers: &[Header<'_, E>]) -> Shared {
        let offset = |header: &Header<'_, E>| header.debug_abbrev_offset().0;
        let mut offsets: Vec<(usize, usize)> = headers.iter().map(offset).zip(0..).collect();
        offsets.sort_unstable();
        let mut tables: Vec<SharedTable> = Vec::new();
        for (offset, first) in offsets {
            match tables.last_mut() {
                Some(last) if last.offset == offset => last.users += 1,
                _ => tables.push(SharedTable {
                    offset,
                    first,
                    users: 1,
                    table: OnceLock::new(),
                    parsed: OnceLock::new(),
                }),
            }
        }
        Shared { tables }
    }

    /// The abbreviations of a unit. They are read into `own`, unless several units share the table.
    ///
    /// # Errors
    /// Its table is damaged.
    pub(crate) fn abbreviations<'a, 'f, E: Endianity>(
        &'a self,
        dwarf: &Dwarf<'f, E>,
        header: &Header<'f, E>,
        own: &'a mut AbbreviationTable,
    ) -> gimli::Result<Abbreviations<'a, 'f>> {
        let (section, offset) = (dwarf.debug_abbrev.reader().slice(), header.debug_abbrev_offset().0);
        let (table, end) = self.named(section, offset);
        let table = match table {
            Some(SharedTable { table, .. }) => {
                let read = || {
                    let mut table = AbbreviationTable::default();
                    table.read(&section[..end], offset).map(|()| table)
                };
                table.get_or_init(read).as_ref().map_err(|error| *error)?
            }
            None => {
                own.read(&section[..end], offset)?;
                own
            }
        };
        Ok(Abbreviations { section, table })
    }

    /// The index of the first unit with the abbreviations of this one.
    pub(crate) fn first_of_table<E: Endianity>(&self, header: &Header<'_, E>) -> Option<usize> {
        let offset = header.debug_abbrev_offset().0;
        let table = self.tables.binary_search_by_key(&offset, |table| table.offset).ok()?;
        Some(self.tables[table].first)
    }

    /// The abbreviations of a unit in `gimli`'s form.
    ///
    /// # Errors
    /// Its table is damaged.
    pub(crate) fn parsed<'f, E: Endianity>(
        &self,
        dwarf: &Dwarf<'f, E>,
        header: &Header<'f, E>,
    ) -> gimli::Result<Arc<gimli::Abbreviations>> {
        let (section, offset) = (*dwarf.debug_abbrev.reader(), header.debug_abbrev_offset());
        let (table, end) = self.named(section.slice(), offset.0);
        let parse = || {
            let cut = gimli::DebugAbbrev::new(&section.slice()[..end], section.endian());
            cut.abbreviations(offset).map(Arc::new)
        };
        table.map_or_else(parse, |table| table.parsed.get_or_init(parse).clone())
    }

    /// The table at an offset, if several units name it, and the offset of its end.
    fn named(&self, section: &[u8], offset: usize) -> (Option<&SharedTable>, usize) {
        let index = self.tables.partition_point(|table| table.offset < offset);
        // Compilers end each table with a 0 before the next one begins. Only a hostile or damaged table is cut by this.
        let end = self.tables.get(index + 1).map_or(section.len(), |next| next.offset.min(section.len()));
        (self.tables.get(index).filter(|table| table.offset == offset && table.users > 1), end)
    }

    /// The offset of a unit's line program.
    pub(crate) fn line_program<'f, E: Endianity>(
        &self,
        dwarf: &Dwarf<'f, E>,
        header: &Header<'f, E>,
    ) -> Option<usize> {
        let (code, values) = root_code(header).ok()?;
        let (section, offset) = (dwarf.debug_abbrev.reader().slice(), header.debug_abbrev_offset().0);
        let mut unused = AbbreviationTable::default();
        let root = match self.named(section, offset) {
            // A shared table is parsed anyhow. In a table of one unit the root's declaration often comes first, and then
            // the search ends at once.
            (Some(_), _) => self.abbreviations(dwarf, header, &mut unused).ok()?.get(code).ok()?,
            (None, end) => abbreviations::find(&section[..end], offset, code)?,
        };
        let empty = gimli::Abbreviations::default();
        let mut entries = header.entries_raw(&empty, Some(values)).ok()?;
        let mut at = None;
        for (index, spec) in root.attributes().enumerate() {
            if index == MAX_ATTRIBUTES {
                return None;
            }
            let attribute = entries.read_attribute(spec).ok()?;
            if attribute.name() == gimli::DW_AT_stmt_list {
                at = attribute.offset_value();
            }
        }
        at
    }
}

/// The abbreviation code of the unit's root, and the unit offset of the root's attribute values.
///
/// # Errors
/// The unit has no entry.
pub(crate) fn root_code<'f, E: Endianity>(
    header: &gimli::UnitHeader<Bytes<'f, E>>,
) -> gimli::Result<(u64, gimli::UnitOffset)> {
    let root = header.root_offset();
    let mut input = header.range_from(root..)?;
    let len = input.len();
    let mut code = input.read_uleb128()?;
    // gimli skips null entries before the root too, so both find the same root.
    while code == 0 {
        if input.is_empty() {
            return Err(gimli::Error::MissingUnitDie);
        }
        code = input.read_uleb128()?;
    }
    Ok((code, gimli::UnitOffset(root.0 + len - input.len())))
}

//! Finds the sections of one split unit in a package (`.dwp`), with an index of version 2 (GNU) or 5 (DWARF 5 7.3.5).
//!
//! The index is a hash table from unit ids to rows. A row has an offset and a size for each section, in 32 bits. In
//! a `.debug_info.dwo` of more than 4 GiB the stored offset is the true offset modulo 2^32. The reader tries each possible
//! offset, since the unit there has the id. Other sections have no id, so if one has more than 4 GiB, the unit is refused.

use gimli::Reader as _;

use crate::open::{DebugSection, DebugSections};
use crate::read::limits::{MAX_INDEX_COLUMNS, MAX_PROBES, MAX_UNIT_COPIES};
use crate::read::sections::bytes::{Bytes, Endianity};

/// The offsets in an index are modulo this number.
const REACH: u64 = 1 << 32;

/// An opened package.
pub(crate) struct Package<'f, E: Endianity> {
    sections: DebugSections<'f>,
    index: PackageIndex<'f, E>,
}

/// `.debug_cu_index`.
struct PackageIndex<'f, E: Endianity> {
    version: u16,
    /// The section of each column; `None` for an unknown section number.
    columns: Vec<Option<DebugSection>>,
    units: u32,
    slots: u32,
    ids: Bytes<'f, E>,
    rows: Bytes<'f, E>,
    offsets: Bytes<'f, E>,
    sizes: Bytes<'f, E>,
}

impl<'f, E: Endianity> Package<'f, E> {
    /// Reads the index of a package.
    ///
    /// # Errors
    /// The index is damaged; the text says how.
    pub(crate) fn new(sections: &DebugSections<'f>, endian: E) -> Result<Self, String> {
        let section = Bytes::new(sections.get(DebugSection::CuIndex), endian);
        let index = PackageIndex::parse(section)?;
        index.check_shares(sections)?;
        Ok(Package { sections: sections.clone(), index })
    }

    /// The sections of the unit with this id, each cut to the unit's part. There are several results if the offset in
    /// `.debug_info.dwo` has several possible values, and none if the index does not have the id. `version` is the unit's
    /// DWARF version.
    ///
    /// # Errors
    /// The index refers to bytes outside of a section, or a section is too large for its offsets.
    pub(crate) fn find(&self, id: u64, version: u16) -> Result<Vec<DebugSections<'f>>, String> {
        if version >= 5 && self.index.version < 5 {
            // GNU dwp 2.40 writes such packages. Its index has no ids, and it drops sections that it does not know (ranges).
            return Err("a package of version 2 cannot hold a unit of DWARF 5".to_owned());
        }
        let Some(row) = self.index.row(id) else { return Ok(Vec::new()) };
        let row = self.index.contributions(row)?;
        let mut cut = self.sections.clone();
        // A section without a cell in the row has nothing of this unit, and its other bytes belong to other units.
        // `.debug_str.dwo` has no column: all units share the whole of it (DWARF 5 7.3.5.3).
        for (id, _) in COLUMNS_5.iter().chain(COLUMNS_2) {
            cut.set(*id, &[]);
        }
        let mut info = None;
        for (section, offset, size) in row {
            let whole = self.sections.get(section);
            if section == DebugSection::Info {
                info = Some((offset, size));
                continue;
            }
            if size > 0 && whole.len() as u64 > REACH {
                return Err(format!(
                    ".debug_{}.dwo has {:#x} bytes, more than the 32-bit offsets of the index reach",
                    section.base_name(),
                    whole.len()
                ));
            }
            cut.set(section, slice(section, whole, offset, size)?);
        }
        let (offset, size) = info.ok_or("the index has no column for .debug_info.dwo")?;
        if size == 0 {
            return Err("the index gives the unit no bytes of .debug_info.dwo".to_owned());
        }
        let whole = self.sections.get(DebugSection::Info);
        let mut found = Vec::with_capacity(1);
        let mut at = offset;
        loop {
            // The section has at most a few multiples of 4 GiB, so few places are tried. `split::find_unit` then compares
            // the id of the unit there.
            match slice(DebugSection::Info, whole, at, size) {
                Ok(bytes) => {
                    let mut sections = cut.clone();
                    sections.set(DebugSection::Info, bytes);
                    found.push(sections);
                }
                Err(problem) if found.is_empty() => return Err(problem),
                Err(_) => return Ok(found),
            }
            at += REACH;
        }
    }
}

fn slice(section: DebugSection, whole: &[u8], offset: u64, size: u64) -> Result<&[u8], String> {
    let end = offset.saturating_add(size);
    let (Ok(from), Ok(to)) = (usize::try_from(offset), usize::try_from(end)) else {
        return Err(format!(".debug_{}.dwo+{offset:#x} is past the address space", section.base_name()));
    };
    // An empty contribution may have any offset.
    if size == 0 {
        return Ok(&[]);
    }
    whole.get(from..to).ok_or_else(|| {
        let name = section.base_name();
        format!(
            "its index leads to {offset:#x}..{end:#x} of .debug_{name}.dwo, that has {:#x} bytes",
            whole.len()
        )
    })
}

/// Column numbers of version 5 (DWARF 5 7.3.5.3).
const COLUMNS_5: &[(DebugSection, u32)] = &[
    (DebugSection::Info, 1),
    (DebugSection::Abbrev, 3),
    (DebugSection::Line, 4),
    (DebugSection::LocLists, 5),
    (DebugSection::StrOffsets, 6),
    (DebugSection::RngLists, 8),
];

/// Column numbers of version 2 (GNU).
const COLUMNS_2: &[(DebugSection, u32)] = &[
    (DebugSection::Info, 1),
    (DebugSection::Types, 2),
    (DebugSection::Abbrev, 3),
    (DebugSection::Line, 4),
    (DebugSection::Loc, 5),
    (DebugSection::StrOffsets, 6),
];

impl<'f, E: Endianity> PackageIndex<'f, E> {
    fn parse(mut input: Bytes<'f, E>) -> Result<Self, String> {
        let short = |error: gimli::Error| format!("its index is cut short: {error}");
        let start = input;
        // GNU's version has 4 bytes. Version 5 has 2 bytes and 2 bytes of padding (DWARF 5 7.3.5.3), so the byte order
        // decides where it is.
        let (version, numbers) = match input.read_u32().map_err(short)? {
            2 => (2, COLUMNS_2),
            _ => match { start }.read_u16().map_err(short)? {
                5 => (5, COLUMNS_5),
                version => return Err(format!("its index has version {version}, expected 2 or 5")),
            },
        };
        let columns = input.read_u32().map_err(short)?;
        let units = input.read_u32().map_err(short)?;
        let slots = input.read_u32().map_err(short)?;
        if columns > MAX_INDEX_COLUMNS {
            return Err(format!("its index has {columns} columns, expected {MAX_INDEX_COLUMNS} at most"));
        }
        if slots != 0 && !slots.is_power_of_two() {
            return Err(format!("its index has {slots} slots, expected a power of two"));
        }
        // `count * size` fits: there are fewer than 2^32 rows or slots, at most `MAX_INDEX_COLUMNS` columns, and a cell
        // has 4 or 8 bytes.
        let mut take = |count: u64, size: u64| {
            let len = usize::try_from(count * size).map_err(|_| "its index is too large".to_owned())?;
            input.split(len).map_err(short)
        };
        let ids = take(slots.into(), 8)?;
        let rows = take(slots.into(), 4)?;
        let mut kinds = take(columns.into(), 4)?;
        let offsets = take(u64::from(units) * u64::from(columns), 4)?;
        let sizes = take(u64::from(units) * u64::from(columns), 4)?;
        let mut sections = Vec::with_capacity(columns as usize);
        for _ in 0..columns {
            let kind = kinds.read_u32().map_err(short)?;
            sections.push(numbers.iter().find(|(_, number)| *number == kind).map(|(section, _)| *section));
        }
        Ok(PackageIndex { version, columns: sections, units, slots, ids, rows, offsets, sizes })
    }

    /// Checks [`MAX_UNIT_COPIES`].
    ///
    /// # Errors
    /// All parts of `.debug_info.dwo` or `.debug_abbrev.dwo` together are too long.
    fn check_shares(&self, sections: &DebugSections<'f>) -> Result<(), String> {
        use DebugSection::{Abbrev, Info};
        let count = self.columns.len() as u64;
        for (column, section) in (0..).zip(&self.columns) {
            let Some(section @ (Info | Abbrev)) = *section else { continue };
            let parts = (0..u64::from(self.units)).map(|row| u32_at(self.sizes, row * count + column));
            let sum: u64 = parts.map(|size| u64::from(size.unwrap_or(0))).sum();
            let len = sections.get(section).len() as u64;
            if sum > len.saturating_mul(MAX_UNIT_COPIES) {
                let name = section.base_name();
                return Err(format!(
                    "its index gives units {sum:#x} bytes of .debug_{name}.dwo, that has {len:#x}"
                ));
            }
        }
        Ok(())
    }

    /// The row of an id, counted from 1 (DWARF 5 7.3.5.3).
    fn row(&self, id: u64) -> Option<u32> {
        let mask = self.slots.checked_sub(1)?;
        let mut slot = id as u32 & mask;
        // An odd step reaches every slot of a table whose size is a power of two (DWARF 5 7.3.5.3).
        let step = ((id >> 32) as u32 & mask) | 1;
        for _ in 0..self.slots.min(MAX_PROBES) {
            let row = u32_at(self.rows, u64::from(slot))?;
            // An empty slot has row 0. Its id does not show that it is empty, since an id may be 0.
            if row == 0 {
                return None;
            }
            let mut ids = self.ids;
            ids.skip(slot as usize * 8).ok()?;
            if ids.read_u64().ok()? == id {
                return Some(row);
            }
            slot = slot.wrapping_add(step) & mask;
        }
        None
    }

    /// Section, offset and size of each contribution in a row.
    fn contributions(&self, row: u32) -> Result<Vec<(DebugSection, u64, u64)>, String> {
        if row > self.units {
            return Err(format!("the index leads to row {row} of {}", self.units));
        }
        // `PackageIndex::row` never returns 0, which marks an empty slot.
        let first = u64::from(row - 1) * self.columns.len() as u64;
        let cells = self.columns.iter().zip(first..);
        let known = cells.filter_map(|(section, cell)| {
            Some(((*section)?, u32_at(self.offsets, cell)?.into(), u32_at(self.sizes, cell)?.into()))
        });
        Ok(known.collect())
    }
}

/// The number at this index of a table.
fn u32_at<E: Endianity>(table: Bytes<'_, E>, at: u64) -> Option<u32> {
    let mut table = table;
    table.skip(usize::try_from(at).ok()?.checked_mul(4)?).ok()?;
    table.read_u32().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index without an empty slot. Slot `at` has `id`, all others have another id, and all refer to the only row.
    fn full(slots: u32, id: u64, at: u32) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [5, 1, 1, slots] {
            out.extend(u32::to_le_bytes(number));
        }
        for slot in 0..slots {
            out.extend(if slot == at { id } else { !id }.to_le_bytes());
        }
        for _ in 0..slots {
            out.extend(1_u32.to_le_bytes());
        }
        // The only column, and the unit's offset and size in it.
        for number in [1, 0, 0] {
            out.extend(u32::to_le_bytes(number));
        }
        out
    }

    #[test]
    fn a_unit_without_bytes_is_an_error() {
        let table = full(1, 7, 0);
        let index = PackageIndex::parse(Bytes::new(&table, gimli::LittleEndian)).unwrap();
        let package = Package { sections: DebugSections::default(), index };
        assert!(package.find(7, 5).is_err_and(|problem| problem.contains("no bytes of .debug_info.dwo")));
        assert!(package.find(8, 5).unwrap().is_empty());
    }

    #[test]
    fn a_full_table_is_not_searched_to_its_end() {
        // With this id the search begins at slot 0 and tries each next slot.
        let id = 1 << 63;
        let row = |at| {
            let table = full(4 * MAX_PROBES, id, at);
            PackageIndex::parse(Bytes::new(&table, gimli::LittleEndian)).unwrap().row(id)
        };
        assert_eq!(row(0), Some(1));
        assert_eq!(row(MAX_PROBES - 1), Some(1));
        assert_eq!(row(MAX_PROBES), None);
    }
}

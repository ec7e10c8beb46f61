//! What several units name is read once, or not at all: abbreviation tables and line programs.
//!
//! A unit takes a few bytes, and names its abbreviations and its line program by offset. Read anew for each unit that
//! names it, a table of half the file would take the square of the file's size in time. A table that several units
//! name is therefore parsed once. It ends where the next one that is named begins, so that tables which overlap cost
//! no more than their section. The bytes of line programs that all units together may run are bounded by a multiple
//! of their section; which units get theirs depends on their order in the file alone.

use std::sync::{Arc, OnceLock};

use gimli::{Reader as _, Section as _};

use super::space::offset_of;
use super::unit::MAX_ATTRIBUTES;
use super::{Bytes, Dwarf, Endianity, UNITS_BETWEEN};
use crate::open::Files;
use crate::report::{Diagnostics, Kind};

/// Every byte of `.debug_line` may be run so many times: partial units share the program of the unit that they were
/// taken from.
const LINE_RUNS: u64 = 16;
/// And so many bytes in any file.
const LINE_FLOOR: u64 = 1 << 24;

type Header<'f, E> = gimli::UnitHeader<Bytes<'f, E>>;

/// An abbreviation table that units name.
struct Table {
    /// In `.debug_abbrev`; it ends before the next one's.
    offset: usize,
    /// Units that name it.
    users: u32,
    parsed: OnceLock<gimli::Result<Arc<gimli::Abbreviations>>>,
}

/// The tables and programs of one `.debug_info`.
pub(super) struct Shared {
    /// Sorted by offset, distinct.
    tables: Vec<Table>,
    /// By unit: its line program is not read. Empty where all are.
    without_lines: Vec<bool>,
}

impl Shared {
    pub(super) fn of<'f, E: Endianity>(headers: &[Header<'f, E>]) -> Shared {
        let mut offsets: Vec<usize> = headers.iter().map(|header| header.debug_abbrev_offset().0).collect();
        offsets.sort_unstable();
        let mut tables: Vec<Table> = Vec::new();
        for offset in offsets {
            match tables.last_mut() {
                Some(last) if last.offset == offset => last.users += 1,
                _ => tables.push(Table { offset, users: 1, parsed: OnceLock::new() }),
            }
        }
        Shared { tables, without_lines: Vec::new() }
    }

    /// Decides which line programs are read, before any is.
    pub(super) fn limit_lines<'f, E: Endianity>(
        &mut self,
        dwarf: &Dwarf<'f, E>,
        headers: &[Header<'f, E>],
        files: &Files,
        diagnostics: &mut Diagnostics,
    ) {
        let lines = dwarf.debug_line.reader().len() as u64;
        let allowed = lines.saturating_mul(LINE_RUNS).max(LINE_FLOOR);
        // Else all units may name the longest program that fits.
        if (headers.len() as u64).saturating_mul(lines) > allowed {
            self.without_lines = self.past_budget((dwarf, headers), allowed, files, diagnostics);
        }
    }

    /// The abbreviations of a unit.
    pub(super) fn abbreviations<'f, E: Endianity>(
        &self,
        dwarf: &Dwarf<'f, E>,
        header: &Header<'f, E>,
    ) -> gimli::Result<Arc<gimli::Abbreviations>> {
        let offset = header.debug_abbrev_offset();
        let index = self.tables.partition_point(|table| table.offset < offset.0);
        let parse = || {
            let section = *dwarf.debug_abbrev.reader();
            let end = self.tables.get(index + 1).map_or(section.len(), |next| next.offset.min(section.len()));
            let cut = gimli::DebugAbbrev::new(&section.slice()[..end], section.endian());
            cut.abbreviations(offset).map(Arc::new)
        };
        match self.tables.get(index) {
            Some(table) if table.offset == offset.0 && table.users > 1 => {
                table.parsed.get_or_init(parse).clone()
            }
            _ => parse(),
        }
    }

    /// True where the unit's line program is left out.
    pub(super) fn is_without_lines(&self, unit: usize) -> bool {
        self.without_lines.get(unit).copied().unwrap_or(false)
    }

    /// Which units have no part in the bytes of line programs that may be run.
    fn past_budget<'f, E: Endianity>(
        &self,
        (dwarf, headers): (&Dwarf<'f, E>, &[Header<'f, E>]),
        allowed: u64,
        files: &Files,
        diagnostics: &mut Diagnostics,
    ) -> Vec<bool> {
        let mut left = allowed;
        let units = headers.iter().enumerate().map(|(index, header)| {
            // With each root and header the system maps what is around it.
            if index.is_multiple_of(UNITS_BETWEEN) {
                for section in [dwarf.debug_info.reader(), dwarf.debug_line.reader(), dwarf.debug_abbrev.reader()] {
                    files.release(section.slice());
                }
            }
            let Some((at, len)) = self.line_program(dwarf, header) else { return false };
            match left.checked_sub(len) {
                Some(rest) => left = rest,
                None => {
                    let unit = offset_of(header);
                    diagnostics.add(Kind::CapReached, unit, || {
                        format!(
                            "unit at .debug_info+{unit:#x}: its line program at .debug_line+{at:#x} is not read, \
                             units before have {allowed} bytes of them together"
                        )
                    });
                    return true;
                }
            }
            false
        });
        units.collect()
    }

    /// Bytes of a unit's abbreviation table in which its root's is looked for: all that are its own.
    fn searched<E: Endianity>(&self, header: &Header<'_, E>) -> usize {
        let offset = header.debug_abbrev_offset().0;
        let index = self.tables.partition_point(|table| table.offset < offset);
        match self.tables.get(index) {
            Some(table) if table.offset == offset && table.users == 1 => {
                self.tables.get(index + 1).map_or(usize::MAX, |next| next.offset - offset)
            }
            _ => ROOT_BYTES,
        }
    }

    /// Where the line program of a unit is, and its bytes.
    fn line_program<'f, E: Endianity>(
        &self,
        dwarf: &Dwarf<'f, E>,
        header: &Header<'f, E>,
    ) -> Option<(u64, u64)> {
        let at = match root_attributes(dwarf, header, self.searched(header)) {
            Some((attributes, root)) => {
                let empty = gimli::Abbreviations::default();
                statements(&mut header.entries_raw(&empty, Some(root)).ok()?, &attributes)?
            }
            None => {
                let abbreviations = self.abbreviations(dwarf, header).ok()?;
                let mut entries = header.entries_raw(&abbreviations, None).ok()?;
                let attributes = entries.read_abbreviation().ok()??.attributes();
                if attributes.len() > MAX_ATTRIBUTES {
                    return None;
                }
                statements(&mut entries, attributes)?
            }
        };
        let mut section = *dwarf.debug_line.reader();
        section.skip(at).ok()?;
        let (len, _) = section.read_initial_length().ok()?;
        Some((at as u64, len.min(section.len()) as u64))
    }
}

/// Bytes of an abbreviation table that several units name in which the root's is looked for: they share no such search.
const ROOT_BYTES: usize = 512;

/// The attributes of a unit's first entry, and the offset of their values, without the rest of its abbreviation table.
/// `None` where the first `searched` bytes of the table do not have them: gcc numbers by use, so that the root's may be
/// the last.
fn root_attributes<E: Endianity>(
    dwarf: &Dwarf<'_, E>,
    header: &Header<'_, E>,
    searched: usize,
) -> Option<(Vec<gimli::AttributeSpecification>, gimli::UnitOffset)> {
    let root = header.root_offset();
    let mut entry = header.range_from(root..).ok()?;
    let before = entry.len();
    let wanted = entry.read_uleb128().ok()?;
    let root = gimli::UnitOffset(root.0 + before - entry.len());
    let mut table = *dwarf.debug_abbrev.reader();
    table.skip(header.debug_abbrev_offset().0).ok()?;
    table.truncate(table.len().min(searched)).ok()?;
    let mut attributes = Vec::new();
    loop {
        let code = table.read_uleb128().ok().filter(|&code| code != 0)?;
        // Tag, and whether there are children (DWARF 5 7.5.3).
        table.read_uleb128().and_then(|_| table.read_u8()).ok()?;
        loop {
            let (name, form) = (table.read_uleb128_u16().ok()?, table.read_uleb128_u16().ok()?);
            if name == 0 && form == 0 {
                break;
            }
            let form = gimli::DwForm(form);
            let value = match form {
                gimli::DW_FORM_implicit_const => Some(table.read_sleb128().ok()?),
                _ => None,
            };
            if code == wanted {
                if attributes.len() == MAX_ATTRIBUTES {
                    return None;
                }
                attributes.push(gimli::AttributeSpecification::new(gimli::DwAt(name), form, value));
            }
        }
        if code == wanted {
            return Some((attributes, root));
        }
    }
}

/// The `DW_AT_stmt_list` of the entry whose values come next.
fn statements<E: Endianity>(
    entries: &mut gimli::EntriesRaw<'_, Bytes<'_, E>>,
    attributes: &[gimli::AttributeSpecification],
) -> Option<usize> {
    let mut at = None;
    for spec in attributes {
        let attribute = entries.read_attribute(*spec).ok()?;
        if attribute.name() == gimli::DW_AT_stmt_list {
            at = attribute.offset_value();
        }
    }
    at
}

//! Caches abbreviation tables and line programs that several units share; refuses those whose repeated use would take quadratic time.
//!
//! A unit takes a few bytes, and names its abbreviations and its line program by offset. Read anew for each unit that
//! names it, a table of half the file would take the square of the file's size in time. A table that several units
//! name is therefore parsed once. It ends where the next one that is named begins, so that tables which overlap cost
//! no more than their section. The bytes of line programs that all units together may run are bounded by a multiple
//! of their section. A program that is not much longer than what a unit has on average is run for whoever names it.
//! Which units have the longer ones depends on their order in the file alone: for that the roots of all are read, once such
//! a program is named and the number of units allows for no more.

use std::sync::{Arc, OnceLock};

use gimli::{Reader as _, Section as _};

use crate::diagnostics::{Diagnostics, Kind};
use crate::open::Files;
use crate::read::limits::MAX_ATTRIBUTES;
use crate::read::limits::UNITS_BETWEEN;
use crate::read::sections::abbreviations;
use crate::read::sections::abbreviations::{AbbreviationTable, Abbreviations};
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};

/// Every byte of `.debug_line` may be run so many times in long programs: partial units share the program of the unit
/// that they were taken from.
const LINE_RUNS: u64 = 16;
/// And so many bytes in any file.
const LINE_FLOOR: u64 = 1 << 24;
/// A program that is longer than so many times the bytes that a unit has on average is a long one.
const LONG: u64 = 32;

type Header<'f, E> = gimli::UnitHeader<Bytes<'f, E>>;

/// An abbreviation table that units name.
struct SharedTable {
    /// In `.debug_abbrev`; it ends before the next one's.
    offset: usize,
    /// Units that name it.
    users: u32,
    /// Where several do.
    table: OnceLock<gimli::Result<AbbreviationTable>>,
    parsed: OnceLock<gimli::Result<Arc<gimli::Abbreviations>>>,
}

/// The tables and programs of one `.debug_info`.
pub(crate) struct Shared {
    /// Sorted by offset, distinct.
    tables: Vec<SharedTable>,
    /// Bytes of the longest line program that any unit may run, and of all longer ones.
    short: u64,
    allowed: u64,
    /// By unit: its long line program is not read.
    past_budget: OnceLock<Vec<bool>>,
}

/// The line program of a unit, that units before it have left no room for.
#[derive(Debug)]
pub(crate) struct PastBudget {
    /// In `.debug_line`.
    at: u64,
    allowed: u64,
}

impl PastBudget {
    /// Counts it for the unit at an offset.
    pub(crate) fn report(&self, unit: u64, diagnostics: &mut Diagnostics) {
        diagnostics.add(Kind::CapReached, unit, || {
            format!(
                "unit at .debug_info+{unit:#x}: its line program at .debug_line+{:#x} is not read, \
                 units before have {} bytes of them together",
                self.at, self.allowed
            )
        });
    }
}

impl Shared {
    pub(crate) fn of<'f, E: Endianity>(dwarf: &Dwarf<'f, E>, headers: &[Header<'f, E>]) -> Shared {
        let mut offsets: Vec<usize> = headers.iter().map(|header| header.debug_abbrev_offset().0).collect();
        offsets.sort_unstable();
        let mut tables: Vec<SharedTable> = Vec::new();
        for offset in offsets {
            match tables.last_mut() {
                Some(last) if last.offset == offset => last.users += 1,
                _ => tables.push(SharedTable {
                    offset,
                    users: 1,
                    table: OnceLock::new(),
                    parsed: OnceLock::new(),
                }),
            }
        }
        let lines = dwarf.debug_line.reader().len() as u64;
        let allowed = lines.saturating_mul(LINE_RUNS).max(LINE_FLOOR);
        let units = headers.len().max(1) as u64;
        let short = (lines.saturating_mul(LONG).max(allowed)) / units;
        Shared { tables, short, allowed, past_budget: OnceLock::new() }
    }

    /// The abbreviations of a unit, by `own` unless other units have them as well.
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

    /// The same for what `gimli` reads.
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

    /// The table at an offset, where several units name it, and where it ends.
    fn named(&self, section: &[u8], offset: usize) -> (Option<&SharedTable>, usize) {
        let index = self.tables.partition_point(|table| table.offset < offset);
        let end = self.tables.get(index + 1).map_or(section.len(), |next| next.offset.min(section.len()));
        (self.tables.get(index).filter(|table| table.offset == offset && table.users > 1), end)
    }

    /// Whether the unit at `index` runs the line program at `at`; that is found out before any of it is read.
    ///
    /// # Errors
    /// It is a long one, and units before have theirs.
    pub(crate) fn may_run<'f, E: Endianity>(
        &self,
        (dwarf, headers, files): (&Dwarf<'f, E>, &[Header<'f, E>], &Files),
        index: usize,
        at: usize,
    ) -> Result<(), PastBudget> {
        if program_len(dwarf, at).is_none_or(|len| len <= self.short) {
            return Ok(());
        }
        let past_budget = self.past_budget.get_or_init(|| self.past_budget(dwarf, headers, files));
        match past_budget.get(index) {
            Some(true) => Err(PastBudget { at: at as u64, allowed: self.allowed }),
            _ => Ok(()),
        }
    }

    /// Which units have no part in the bytes of long line programs that may be run.
    fn past_budget<'f, E: Endianity>(
        &self,
        dwarf: &Dwarf<'f, E>,
        headers: &[Header<'f, E>],
        files: &Files,
    ) -> Vec<bool> {
        let mut left = self.allowed;
        let units = headers.iter().enumerate().map(|(index, header)| {
            // With each root and header the system maps what is around it.
            if index.is_multiple_of(UNITS_BETWEEN) {
                for section in
                    [dwarf.debug_info.reader(), dwarf.debug_line.reader(), dwarf.debug_abbrev.reader()]
                {
                    files.release(section.slice());
                }
            }
            let len = self.line_program(dwarf, header).and_then(|at| program_len(dwarf, at));
            let Some(len) = len.filter(|&len| len > self.short) else { return false };
            let rest = left.checked_sub(len);
            left = rest.unwrap_or(left);
            rest.is_none()
        });
        units.collect()
    }

    /// Where the line program of a unit is.
    fn line_program<'f, E: Endianity>(&self, dwarf: &Dwarf<'f, E>, header: &Header<'f, E>) -> Option<usize> {
        let (code, values) = root_code(header).ok()?;
        let (section, offset) = (dwarf.debug_abbrev.reader().slice(), header.debug_abbrev_offset().0);
        let mut unused = AbbreviationTable::default();
        let root = match self.named(section, offset) {
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

/// Bytes of the line program at an offset.
fn program_len<E: Endianity>(dwarf: &Dwarf<'_, E>, at: usize) -> Option<u64> {
    let mut section = *dwarf.debug_line.reader();
    section.skip(at).ok()?;
    let (len, _) = section.read_initial_length().ok()?;
    Some(len.min(section.len()) as u64)
}

/// The code of the unit's root, and the offset of the root's values in the unit.
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
    while code == 0 {
        if input.is_empty() {
            return Err(gimli::Error::MissingUnitDie);
        }
        code = input.read_uleb128()?;
    }
    Ok((code, gimli::UnitOffset(root.0 + len - input.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_AT: usize = 0;
    const SHORT_AT: usize = 604;

    /// A hundred thousand units, of which each tenth names a short program, and all others one long program.
    #[test]
    fn a_long_program_is_run_until_the_budget_is_spent_and_a_short_one_always() {
        let program = |index: usize| if index.is_multiple_of(10) { SHORT_AT } else { LONG_AT };
        let unit = |index: usize| {
            let header = [12, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1];
            header.into_iter().chain((program(index) as u32).to_le_bytes())
        };
        let info: Vec<u8> = (0..100_000).flat_map(unit).collect();
        let mut lines = vec![0; SHORT_AT + 104];
        lines[LONG_AT..][..2].copy_from_slice(&600u16.to_le_bytes());
        lines[SHORT_AT] = 100;
        let dwarf: Dwarf<'_, gimli::LittleEndian> = gimli::Dwarf::load(|id| {
            let bytes = match id {
                gimli::SectionId::DebugAbbrev => &[1, 0x11, 0, 0x10, 0x17, 0, 0, 0][..],
                gimli::SectionId::DebugInfo => &info[..],
                gimli::SectionId::DebugLine => &lines[..],
                _ => &[],
            };
            Ok::<_, gimli::Error>(Bytes::new(bytes, gimli::LittleEndian))
        })
        .unwrap();
        let mut units = dwarf.units();
        let headers: Vec<_> = std::iter::from_fn(|| units.next().unwrap()).collect();
        let (shared, files) = (Shared::of(&dwarf, &headers), Files::new());
        let may_run = |index| shared.may_run((&dwarf, &headers, &files), index, program(index)).is_ok();
        // Asked for from the last to the first.
        let run: Vec<usize> = (0..headers.len()).rev().filter(|&index| may_run(index)).collect();
        let (short, long): (Vec<usize>, Vec<usize>) =
            run.into_iter().partition(|&index| program(index) == SHORT_AT);
        assert_eq!(short.len(), 10_000);
        assert_eq!(long.len() as u64, LINE_FLOOR / 600);
        assert_eq!(long[0], long.len() + (long.len() - 1) / 9, "the first ones have it");
    }
}

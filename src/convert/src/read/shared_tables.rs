//! Caches abbreviation tables that several units share, and limits how often units run shared line programs.
//!
//! A unit may have only a few bytes, but it names an abbreviation table and a line program by offset. If a hostile file had
//! one table of half its size and many units that name it, reading it for each unit would take quadratic time. So:
//!
//! - A table that several units name is parsed once. It ends where the next named table begins, so that overlapping tables
//!   cost no more than their section.
//! - Any unit may run a line program that is not much longer than the average per unit. Longer programs count: the bytes
//!   that all units together run in them are limited to a multiple of `.debug_line`. Units get their share in file order,
//!   so the result does not depend on threads. When the first unit names a long program, the roots of all units are read to
//!   find out which units are past the limit.

use std::sync::{Arc, OnceLock};

use gimli::{Reader as _, Section as _};

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::open::Files;
use crate::read::limits::MAX_ATTRIBUTES;
use crate::read::limits::UNITS_BETWEEN;
use crate::read::sections::abbreviations;
use crate::read::sections::abbreviations::{AbbreviationTable, Abbreviations};
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};

/// All units together may run this many times the bytes of `.debug_line` in long programs. More than 1, since dwz's partial
/// units share the line program of the unit that they were taken from.
const LINE_RUNS: u64 = 16;
/// This many bytes of long programs are always allowed.
const LINE_FLOOR: u64 = 1 << 24;
/// A line program is long if it has more than this many times the average bytes per unit.
const LONG: u64 = 32;

type Header<'f, E> = gimli::UnitHeader<Bytes<'f, E>>;

/// An abbreviation table that one or more units name.
struct SharedTable {
    /// Offset in `.debug_abbrev`. The table ends before the offset of the next one.
    offset: usize,
    /// The number of units that name it.
    users: u32,
    /// The parsed table, if several units name it.
    table: OnceLock<gimli::Result<AbbreviationTable>>,
    parsed: OnceLock<gimli::Result<Arc<gimli::Abbreviations>>>,
}

/// The tables and programs of one `.debug_info`.
pub(crate) struct Shared {
    /// Sorted by offset, distinct.
    tables: Vec<SharedTable>,
    /// Any unit may run a line program of up to this many bytes.
    short: u64,
    /// All units together may run this many bytes of longer programs.
    allowed: u64,
    /// By unit: true if its long line program is not run.
    past_budget: OnceLock<Vec<bool>>,
}

/// A unit's line program that is not run, because earlier units have used up the limit.
#[derive(Debug)]
pub(crate) struct PastBudget {
    /// Offset in `.debug_line`.
    at: u64,
    allowed: u64,
}

impl PastBudget {
    /// Counts it as a diagnostic of the unit at this offset.
    pub(crate) fn report(&self, unit: u64, diagnostics: &mut Diagnostics) {
        diagnostics.add(Kind::Cap(Cap::LinePrograms), unit, || {
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
        // All units together can then run at most `LONG` times the bytes of `.debug_line` in short programs, or the floor
        // if that is more. So short programs need not be counted.
        let short = (lines.saturating_mul(LONG).max(allowed)) / units;
        Shared { tables, short, allowed, past_budget: OnceLock::new() }
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

    /// Checks, before anything of it is read, if the unit at `index` may run the line program at offset `at`.
    ///
    /// # Errors
    /// The program is long, and earlier units have used up the limit.
    pub(crate) fn may_run<'f, E: Endianity>(
        &self,
        (dwarf, headers, files): (&Dwarf<'f, E>, &[Header<'f, E>], &Files),
        index: usize,
        at: usize,
    ) -> Result<(), PastBudget> {
        // If no length can be read, parsing the header fails as well and reports the damage.
        if program_len(dwarf, at).is_none_or(|len| len <= self.short) {
            return Ok(());
        }
        // Computed for all units at once: which units are past the limit must not depend on the thread that is first.
        let past_budget = self.past_budget.get_or_init(|| self.past_budget(dwarf, headers, files));
        match past_budget.get(index) {
            Some(true) => Err(PastBudget { at: at as u64, allowed: self.allowed }),
            _ => Ok(()),
        }
    }

    /// For each unit, true if its long line program does not fit into the limit.
    fn past_budget<'f, E: Endianity>(
        &self,
        dwarf: &Dwarf<'f, E>,
        headers: &[Header<'f, E>],
        files: &Files,
    ) -> Vec<bool> {
        let mut left = self.allowed;
        let units = headers.iter().enumerate().map(|(index, header)| {
            // Reading a root or a header maps the pages around it too.
            if index.is_multiple_of(UNITS_BETWEEN) {
                for section in
                    [dwarf.debug_info.reader(), dwarf.debug_line.reader(), dwarf.debug_abbrev.reader()]
                {
                    files.release(section.slice());
                }
            }
            let len = self.line_program(dwarf, header).and_then(|at| program_len(dwarf, at));
            let Some(len) = len.filter(|&len| len > self.short) else { return false };
            // A program that does not fit takes nothing, so a shorter one of a later unit may still run.
            let rest = left.checked_sub(len);
            left = rest.unwrap_or(left);
            rest.is_none()
        });
        units.collect()
    }

    /// The offset of a unit's line program.
    fn line_program<'f, E: Endianity>(&self, dwarf: &Dwarf<'f, E>, header: &Header<'f, E>) -> Option<usize> {
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

/// The length in bytes of the line program at an offset.
fn program_len<E: Endianity>(dwarf: &Dwarf<'_, E>, at: usize) -> Option<u64> {
    let mut section = *dwarf.debug_line.reader();
    section.skip(at).ok()?;
    let (len, _) = section.read_initial_length().ok()?;
    // A damaged length may exceed the section, but no more than the section can be run.
    Some(len.min(section.len()) as u64)
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

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_AT: usize = 0;
    const SHORT_AT: usize = 604;

    /// A hundred thousand units. Each tenth names a short program, and all others name the same long program.
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
        // The units ask in reverse order.
        let run: Vec<usize> = (0..headers.len()).rev().filter(|&index| may_run(index)).collect();
        let (short, long): (Vec<usize>, Vec<usize>) =
            run.into_iter().partition(|&index| program(index) == SHORT_AT);
        assert_eq!(short.len(), 10_000);
        assert_eq!(long.len() as u64, LINE_FLOOR / 600);
        assert_eq!(long[0], long.len() + (long.len() - 1) / 9, "the first ones have it");
    }
}

//! Decodes a line program that several units name once, and gives each of these units its part of the rows.
//!
//! LLVM writes one line program for all units of a module that it emits as assembly, type units name the program of their
//! compile unit, and dwz's partial units that of the unit that they were taken from. Only units with code need rows, so:
//!
//! - Type units need none, and never count.
//! - A program that several other units name is decoded when the first of them is read. Its sequences are divided
//!   (`line_parts`) by the ranges in the roots of the units, so that each unit works with its own rows only.
//! - Programs at different offsets may overlap in a hostile file. Any unit may name a program that is not much longer than the
//!   average per unit. Longer ones count: together they may have a multiple of the bytes of `.debug_line`. They get
//!   their share in file order, so the result does not depend on threads.
//!
//! Which units share a program is known only after the roots of all units were read. They are read if `.debug_line` has fewer
//! programs than there are units, or if a unit names a long program.

use std::sync::OnceLock;

use gimli::{Reader as _, Section as _};

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::open::Files;
use crate::read::code::CodeSections;
use crate::read::limits::UNITS_BETWEEN;
use crate::read::line_headers::LineHeaders;
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::sections::line::Lines;
use crate::read::shared_tables::{Header, Shared};

/// Programs that count may have this many times the bytes of `.debug_line` together.
const LINE_RUNS: u64 = 16;
/// This many bytes of such programs are always allowed.
const LINE_FLOOR: u64 = 1 << 24;
/// A line program is long if it has more than this many times the average bytes per unit.
const LONG: u64 = 32;

type GimliProgram<'f, E> = gimli::IncompleteLineProgram<Bytes<'f, E>>;

/// The line programs of one `.debug_info`.
pub(crate) struct LinePrograms<'f, E: Endianity> {
    /// Any unit may run a line program of up to this many bytes.
    short: u64,
    /// All units together may run this many bytes of longer programs.
    allowed: u64,
    /// The number of units that are not type units.
    units: usize,
    /// True if `.debug_line` has fewer programs than there are units.
    are_few: OnceLock<bool>,
    plan: OnceLock<SharingPlan<'f, E>>,
}

/// Which units share which program.
struct SharingPlan<'f, E: Endianity> {
    programs: Vec<SharedProgram<'f, E>>,
    /// (index of a unit, its program, its number among the users of the program), sorted.
    users: Vec<(usize, usize, usize)>,
    /// The units whose line program is not run, sorted.
    past_budget: Vec<usize>,
}

/// A line program that several units name.
pub(crate) struct SharedProgram<'f, E: Endianity> {
    /// Offset in `.debug_line`.
    pub(crate) at: usize,
    /// The indexes of the units that name it, in file order.
    pub(crate) users: Vec<usize>,
    /// If it cannot be divided, so many units run it: its bytes for each of them are `allowed` together.
    pub(crate) runs: usize,
    pub(crate) allowed: u64,
    header: OnceLock<gimli::Result<GimliProgram<'f, E>>>,
    pub(crate) lines: OnceLock<SharedRows>,
}

/// The rows of a shared program, and its damage.
pub(crate) struct SharedRows {
    pub(crate) rows: UsersRows,
    /// By user: false if its root names no code, and that of another user does.
    pub(crate) has_range: Vec<bool>,
    pub(crate) damage: Diagnostics,
}

pub(crate) enum UsersRows {
    /// Those of each user.
    Parts(Vec<Lines>),
    /// No user says which code it has.
    Whole(Box<Lines>),
}

/// Where a unit has its line program.
pub(crate) enum Named<'a, 'f, E: Endianity> {
    /// No other unit has it.
    Own,
    Shared(&'a SharedProgram<'f, E>),
    /// The unit has no code.
    Unneeded,
    PastBudget(PastBudget),
}

/// A unit's line program that is not run, because earlier units have used up the limit.
#[derive(Debug)]
pub(crate) struct PastBudget {
    /// Offset in `.debug_line`.
    pub(crate) at: u64,
    pub(crate) allowed: u64,
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

fn is_type_unit<E: Endianity>(header: &Header<'_, E>) -> bool {
    matches!(header.type_(), gimli::UnitType::Type { .. } | gimli::UnitType::SplitType { .. })
}

impl<'f, E: Endianity> LinePrograms<'f, E> {
    pub(crate) fn of(dwarf: &Dwarf<'f, E>, headers: &[Header<'f, E>]) -> LinePrograms<'f, E> {
        let units = headers.iter().filter(|header| !is_type_unit(header)).count();
        let lines = dwarf.debug_line.reader().len() as u64;
        let allowed = lines.saturating_mul(LINE_RUNS).max(LINE_FLOOR);
        // All units together can then run at most `LONG` times the bytes of `.debug_line` in short programs, or the floor
        // if that is more. So short programs need not be counted.
        let short = (lines.saturating_mul(LONG).max(allowed)) / units.max(1) as u64;
        LinePrograms { short, allowed, units, are_few: OnceLock::new(), plan: OnceLock::new() }
    }

    /// Decides, before anything of the program at offset `at` is read, how the unit at `index` gets it.
    pub(crate) fn of_unit(
        &self,
        of_all: (&Dwarf<'f, E>, &Shared, &[Header<'f, E>], &Files),
        index: usize,
        at: usize,
    ) -> Named<'_, 'f, E> {
        let (dwarf, _, headers, files) = of_all;
        if headers.get(index).is_some_and(is_type_unit) {
            return Named::Unneeded;
        }
        let are_few = || *self.are_few.get_or_init(|| self.are_few(dwarf, files));
        // If no length can be read, parsing the header fails as well and reports the damage.
        let is_long = || program_len(dwarf, at).is_some_and(|len| len > self.short);
        if self.units < 2 || !(are_few() || is_long()) {
            return Named::Own;
        }
        // Made for all units at once: which units are past the limit must not depend on the thread that is first.
        let plan = self.plan.get_or_init(|| self.plan(of_all));
        match self.shared(index) {
            Some((program, _)) => Named::Shared(program),
            None if plan.past_budget.binary_search(&index).is_ok() => {
                Named::PastBudget(PastBudget { at: at as u64, allowed: self.allowed })
            }
            None => Named::Own,
        }
    }

    /// The shared program of a unit, and the unit's number among its users. `None` before [`Self::of_unit`] was asked.
    pub(crate) fn shared(&self, index: usize) -> Option<(&SharedProgram<'f, E>, usize)> {
        let plan = self.plan.get()?;
        let at = plan.users.binary_search_by_key(&index, |user| user.0).ok()?;
        let (_, program, number) = plan.users[at];
        Some((&plan.programs[program], number))
    }

    /// True if `.debug_line` has fewer programs than there are units. Reads the length of each program.
    fn are_few(&self, dwarf: &Dwarf<'f, E>, files: &Files) -> bool {
        let section = *dwarf.debug_line.reader();
        let (mut count, mut at) = (0, 0);
        while count < self.units {
            let Some(rest) = section.slice().get(at..).filter(|rest| !rest.is_empty()) else { return true };
            // The longest length field has 12 bytes (DWARF 5 7.4). Read in place, each would map the pages around it.
            let mut copy = [0; 12];
            let field = if files.peek(rest, &mut copy) { &copy[..] } else { rest };
            let Ok((len, format)) = Bytes::new(field, section.endian()).read_initial_length() else {
                return false;
            };
            let size = len.checked_add(format.initial_length_size().into());
            let Some(next) = size.and_then(|size| at.checked_add(size)) else { return false };
            (count, at) = (count + 1, next);
        }
        false
    }

    /// Reads the roots of all units.
    fn plan(
        &self,
        (dwarf, tables, headers, files): (&Dwarf<'f, E>, &Shared, &[Header<'f, E>], &Files),
    ) -> SharingPlan<'f, E> {
        let mut named = Vec::new();
        for (index, header) in headers.iter().enumerate() {
            // Reading a root maps the pages around it too.
            if index.is_multiple_of(UNITS_BETWEEN) {
                for section in [dwarf.debug_info.reader(), dwarf.debug_abbrev.reader()] {
                    files.release(section.slice());
                }
            }
            if !is_type_unit(header) {
                named.extend(tables.line_program(dwarf, header).map(|at| (at, index)));
            }
        }
        named.sort_unstable();
        let mut by_first: Vec<&[(usize, usize)]> = named.chunk_by(|a, b| a.0 == b.0).collect();
        by_first.sort_unstable_by_key(|named| named[0].1);
        let mut plan = SharingPlan { programs: Vec::new(), users: Vec::new(), past_budget: Vec::new() };
        let mut left = self.allowed;
        // The bytes of programs that may still be copied whole, where no root says which rows are whose.
        let mut copied = self.allowed;
        let are_few = *self.are_few.get_or_init(|| self.are_few(dwarf, files));
        for named in by_first {
            let (at, units) = (named[0].0, named.iter().map(|named| named.1));
            let len = program_len(dwarf, at).unwrap_or(0);
            if len > self.short {
                // A program that does not fit takes nothing, so a shorter one of a later unit may still run.
                let Some(rest) = left.checked_sub(len) else {
                    plan.past_budget.extend(units);
                    continue;
                };
                left = rest;
            }
            // As `of_unit` decides: a unit whose program is its own must not be a user of a shared one.
            if named.len() > 1 && (are_few || len > self.short) {
                let program = plan.programs.len();
                plan.users.extend(units.clone().enumerate().map(|(number, unit)| (unit, program, number)));
                let (runs, users) = ((copied / len.max(1)).min(named.len() as u64), units.collect());
                copied -= runs * len;
                let runs = runs as usize;
                let (header, lines) = (OnceLock::new(), OnceLock::new());
                plan.programs.push(SharedProgram { at, users, runs, allowed: self.allowed, header, lines });
            }
        }
        plan.users.sort_unstable();
        plan.past_budget.sort_unstable();
        plan
    }
}

impl<'f, E: Endianity> SharedProgram<'f, E> {
    /// Its header, parsed on the first call.
    ///
    /// # Errors
    /// The header is damaged.
    pub(crate) fn header(
        &self,
        dwarf: &Dwarf<'f, E>,
        headers: &LineHeaders<'f, E>,
        address_size: u8,
    ) -> gimli::Result<&gimli::LineProgramHeader<Bytes<'f, E>>> {
        // `FileTable` knows the folder of each unit, so the program needs none.
        let at = gimli::DebugLineOffset(self.at);
        let parse = || headers.program(dwarf, at, address_size, (None, None));
        self.header.get_or_init(parse).as_ref().map(GimliProgram::header).map_err(|error| *error)
    }

    /// Its header, if it was parsed.
    pub(crate) fn parsed(&self) -> Option<&gimli::LineProgramHeader<Bytes<'f, E>>> {
        self.header.get()?.as_ref().ok().map(GimliProgram::header)
    }
}

/// Has the rows of a unit. A trait, so that a split unit need not live as long as the program whose rows it has.
pub(crate) trait ReadLines {
    /// The rows of the unit. The damage of the program is counted for its first user.
    fn lines(&self, code: &CodeSections, diagnostics: &mut Diagnostics) -> Lines;
    /// The offset of the program, if its rows were divided by the ranges in the roots of its units, and the root of this one has none.
    fn without_range(&self) -> Option<u64>;
}

/// The length in bytes of the line program at an offset.
fn program_len<E: Endianity>(dwarf: &Dwarf<'_, E>, at: usize) -> Option<u64> {
    let mut section = *dwarf.debug_line.reader();
    section.skip(at).ok()?;
    let (len, _) = section.read_initial_length().ok()?;
    // A damaged length may exceed the section, but no more than the section can be run.
    Some(len.min(section.len()) as u64)
}

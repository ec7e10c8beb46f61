//! Gives a unit its part of the rows of a line program that it shares with other units.

use gimli::{Reader as _, Section as _};

use crate::diagnostics::Diagnostics;
use crate::model::{AddressRange, ImageAddr};
use crate::read::code::CodeSections;
use crate::read::limits::{MAX_RANGES, MIN_OWNERS, allowed_entries, held};
use crate::read::sections::abbreviations::AbbreviationTable;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::{Entries, Plans, Wanted};
use crate::read::sections::line::{self, Lines};
use crate::read::sections::line_parts::divide;
use crate::read::shared_lines::{PastBudget, ReadLines, SharedProgram, SharedRows, UsersRows};
use crate::read::space::{Info, offset_of, parse, root_attributes};
use crate::read::unit::attributes::STMT_SEQUENCE;
use crate::read::unit::ranges::{RangeEntries, visit_list};
use crate::util::hash::{HashMap, HashSet};

/// A unit, and the line program that it shares with others.
pub(crate) struct SharedUser<'a, 'f, E: Endianity> {
    info: &'a Info<'f, E>,
    program: &'a SharedProgram<'f, E>,
    /// Its number among the users of the program.
    number: usize,
}

impl<E: Endianity> ReadLines for SharedUser<'_, '_, E> {
    fn lines(&self, code: &CodeSections, diagnostics: &mut Diagnostics) -> Lines {
        let &SharedUser { info, program, number } = self;
        let Some(header) = program.parsed() else { return Lines::default() };
        let read = || {
            let mut damage = Diagnostics::default();
            let lines = line::run(header, code, &mut damage);
            let mut has_range = vec![true; program.users.len()];
            let rows = match self.owners(code) {
                Some(owners) => {
                    has_range.fill(false);
                    owners.iter().for_each(|(_, user)| has_range[*user] = true);
                    UsersRows::Parts(divide(lines, &owners, program.users.len(), || self.named_sequences()))
                }
                None => UsersRows::Whole(Box::new(lines)),
            };
            SharedRows { rows, has_range, damage }
        };
        let SharedRows { rows, damage, .. } = program.lines.get_or_init(read);
        if number == 0 {
            diagnostics.merge(damage.clone());
        }
        match rows {
            UsersRows::Parts(parts) => parts[number].clone(),
            UsersRows::Whole(lines) if number < program.runs => Lines::clone(lines),
            UsersRows::Whole(_) => {
                let unit = offset_of(&info.headers[program.users[number]]);
                PastBudget { at: program.at as u64, allowed: program.allowed }.report(unit, diagnostics);
                Lines::default()
            }
        }
    }

    fn without_range(&self) -> Option<u64> {
        let rows = self.program.lines.get()?;
        (!rows.has_range[self.number]).then_some(self.program.at as u64)
    }
}

/// Subprograms that name a line sequence.
const NAMED: Wanted<()> = Wanted {
    role: |abbreviation| {
        let is_named = abbreviation.tag == gimli::DW_TAG_subprogram && abbreviation.has(STMT_SEQUENCE);
        is_named.then_some(())
    },
    inner: |()| false,
    attribute: |name| name == STMT_SEQUENCE,
};

impl<'a, 'f, E: Endianity> SharedUser<'a, 'f, E> {
    /// The unit at `index`, which was parsed; `None` if no other unit has its program.
    pub(crate) fn of(info: &'a Info<'f, E>, index: usize) -> Option<SharedUser<'a, 'f, E>> {
        info.shared_program(index).map(|(program, number)| SharedUser { info, program, number })
    }

    /// The code that the roots of the users name, with the number of the user. `None` if they name none, or more ranges than are read:
    /// then the rows cannot be divided.
    fn owners(&self, code: &CodeSections) -> Option<Vec<(AddressRange, usize)>> {
        let ranges = &self.info.dwarf.ranges;
        let lens = held(ranges.debug_ranges().reader().len(), ranges.debug_rnglists().reader().len());
        // Any number of programs and units may name one list, so each program has a part of the entries, by its users.
        let part = self.program.users.len() as u64;
        let most = allowed_entries(lens) / (self.info.headers.len() as u64).max(1) * part;
        let mut entries = RangeEntries::new(most.clamp(MIN_OWNERS * part, MAX_RANGES.max(MIN_OWNERS * part)));
        let mut owners = Vec::new();
        for (number, &unit) in self.program.users.iter().enumerate() {
            let keep = |range: AddressRange| {
                if range.start < range.end && code.contains(range.start.0) {
                    owners.push((range, number));
                }
            };
            // A root that cannot be read is reported with its unit.
            let _ = root_ranges(self.info, unit, &mut entries, keep);
            if !entries.spend() {
                return None;
            }
        }
        Some(owners).filter(|owners| !owners.is_empty())
    }

    /// The users whose functions name a sequence, by its offset. A sequence that several name is of none for certain.
    fn named_sequences(&self) -> HashMap<u64, usize> {
        let (mut named, mut twice): (HashMap<u64, usize>, HashSet<u64>) = Default::default();
        for (number, &unit) in self.program.users.iter().enumerate() {
            // What is damaged is reported with its unit.
            let _ = named_by(self.info, unit, |offset| {
                if *named.entry(offset).or_insert(number) != number {
                    twice.insert(offset);
                }
            });
        }
        named.retain(|offset, _| !twice.contains(offset));
        named
    }
}

/// Visits the offsets in `DW_AT_LLVM_stmt_sequence` of a unit's functions.
///
/// # Errors
/// The unit is damaged.
fn named_by<E: Endianity>(info: &Info<'_, E>, index: usize, mut visit: impl FnMut(u64)) -> gimli::Result<()> {
    let mut own = AbbreviationTable::default();
    let abbreviations = info.abbreviations(index, &mut own)?;
    let (unit, _) = parse(&info.dwarf, info.headers[index], abbreviations, |_, _| Ok(None))?;
    let mut entries = Entries::new(&unit, abbreviations, NAMED, Plans::default());
    while let Some(mut entry) = entries.next(isize::MAX)? {
        while let Some(attribute) = entries.attribute(&mut entry)? {
            if let gimli::AttributeValue::SecOffset(offset) = attribute.value {
                visit(offset as u64);
            }
        }
    }
    Ok(())
}

/// Visits the ranges of a unit's code, by its root (DWARF 5 3.1.1).
///
/// # Errors
/// The root cannot be read.
fn root_ranges<'f, E: Endianity>(
    info: &Info<'f, E>,
    index: usize,
    entries: &mut RangeEntries,
    mut visit: impl FnMut(AddressRange),
) -> gimli::Result<()> {
    let (header, mut own) = (info.headers[index], AbbreviationTable::default());
    let abbreviations = info.abbreviations(index, &mut own)?;
    let (unit, _) = parse(&info.dwarf, header, abbreviations, |_, _| Ok(None))?;
    let (mut low, mut high, mut ranges) = (None, None, None);
    root_attributes(&header, abbreviations, |attribute| match attribute.name() {
        gimli::DW_AT_low_pc => low = Some(attribute.value()),
        gimli::DW_AT_high_pc => high = Some(attribute.value()),
        gimli::DW_AT_ranges => ranges = Some(attribute.value()),
        _ => {}
    })?;
    if let Some(ranges) = ranges {
        return visit_list(&info.dwarf, &unit, ranges, entries, visit);
    }
    let address = |value| info.dwarf.attr_address(&unit, value);
    let (Some(start), Some(high)) = (low.map(address).transpose()?.flatten(), high) else { return Ok(()) };
    let end = match high.udata_value() {
        Some(len) => start.checked_add(len),
        None => address(high)?,
    };
    visit(AddressRange::new(ImageAddr(start), ImageAddr(end.unwrap_or(start))));
    Ok(())
}

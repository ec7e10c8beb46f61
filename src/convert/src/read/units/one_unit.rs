//! Reads one unit of the program. Its entries are in the program itself or in a `.dwo`.

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::Unit;
use crate::open::DebugSection;
use crate::read::sections::abbreviations::AbbreviationTable;
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::shared_lines::ReadLines;
use crate::read::space::{Without, bad_unit, offset_of, report_cut_paths};
use crate::read::unit::file::FileTable;
use crate::read::unit::source::UnitSource;
use crate::read::units::shared_rows::SharedUser;
use crate::read::units::split;
use crate::read::units::task::{UnitTask, UnitWalk, empty};

/// One unit after it was read.
#[derive(Default)]
pub(crate) struct Done<'f> {
    pub(crate) unit: Unit<'f>,
    /// The id of a skeleton.
    pub(crate) dwo_id: Option<u64>,
    pub(crate) steps: split::SplitSteps,
    /// True if it was not read yet, because the units read so far have used up a limit that all units share. It is read when its
    /// turn comes in file order.
    pub(crate) deferred: bool,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) starts: Starts,
}

/// The start of the unit's part in each section of [`SHARED`]; 0 if not known.
pub(crate) type Starts = [usize; SHARED.len()];

/// Sections in which each unit has a part of its own, in the order of the units.
pub(crate) const SHARED: [DebugSection; 4] =
    [DebugSection::Line, DebugSection::StrOffsets, DebugSection::Addr, DebugSection::RngLists];

fn starts<E: Endianity>(unit: &gimli::Unit<Bytes<'_, E>>) -> Starts {
    let line = unit.line_program.as_ref().map_or(0, |program| program.header().offset().0);
    [line, unit.str_offsets_base.0, unit.addr_base.0, unit.rnglists_base.0]
}

/// Reads the unit at `index`; `None` for a type unit, which has no code. For a skeleton it reads the unit in the `.dwo`, or the
/// skeleton itself if there is no `.dwo`.
pub(crate) fn read<'f, E: Endianity>(task: &UnitTask<'_, 'f, E>, index: usize) -> Option<Done<'f>> {
    let main = &task.space.main;
    let header = main.headers[index];
    if matches!(header.type_(), gimli::UnitType::Type { .. } | gimli::UnitType::SplitType { .. }) {
        return None;
    }
    let offset = offset_of(&header);
    let mut task = *task;
    if let UnitWalk::Classes(units) = task.walk {
        // The offsets are those of headers in the program, also for split units: `read_by` gives each split unit the
        // offset of its skeleton.
        let found = units.binary_search_by_key(&offset, |unit| unit.0).ok()?;
        task.walk = UnitWalk::ClassesAt(units[found].1);
    }
    if let UnitWalk::Types(units) = task.walk {
        units.binary_search(&offset).ok()?;
    }
    // Taken out of the memory, since `UnitTask::walk` locks the memory while the table is in use.
    let mut own = std::mem::take(&mut task.memory().abbreviations);
    let done = read_by(&task, index, &mut own);
    task.memory().abbreviations = own;
    Some(done)
}

/// Reads the unit at `index`. Its abbreviations are read into `own`, unless several units share the table.
fn read_by<'f, E: Endianity>(
    task: &UnitTask<'_, 'f, E>,
    index: usize,
    own: &mut AbbreviationTable,
) -> Done<'f> {
    let main = &task.space.main;
    let offset = offset_of(&main.headers[index]);
    let mut diagnostics = Diagnostics::default();
    let parsed = main.abbreviations(index, own).and_then(|own| Ok((own, main.parse(index, own)?)));
    let (abbreviations, unit) = match parsed {
        Ok((own, (unit, without))) => {
            match without {
                None => {}
                Some(Without::Damaged(error)) => diagnostics.add(Kind::BadLineHeader, offset, || {
                    format!("unit at .debug_info+{offset:#x} is read without its line program: {error}")
                }),
                Some(Without::Lines(past_budget)) => past_budget.report(offset, &mut diagnostics),
            }
            report_cut_paths(&unit, offset, &mut diagnostics);
            (own, unit)
        }
        Err(error) => {
            // An empty unit and not `None`, as the queue takes diagnostics only from units.
            bad_unit(&mut diagnostics, offset, error);
            let mut unit = empty(offset);
            unit.head.cut_short = true;
            return Done { unit, diagnostics, ..Done::default() };
        }
    };
    let starts = starts(&unit);
    let skeleton = split::skeleton(main, index, &unit, abbreviations);
    let dwo_id = skeleton.as_ref().map(|skeleton| skeleton.id);
    let mut steps = split::SplitSteps::default();
    if let Some(skeleton) = &skeleton
        && let Some(read) = split::read(task, skeleton, &mut steps, &mut diagnostics)
    {
        let mut unit = read;
        unit.head.offset = offset;
        return Done { unit, dwo_id, steps, diagnostics, starts, ..Done::default() };
    }
    let dwarf = (&main.dwarf, main.relative_paths);
    let files = FileTable::of(dwarf, &unit, main.line_header(index, &unit));
    let (listed, shared) = (task.tables.of_unit(offset), SharedUser::of(main, index));
    let shared_rows = shared.as_ref().map(|shared| shared as &dyn ReadLines);
    let (space, unit, rows) = (task.space, &unit, files);
    let source =
        UnitSource { space, unit, index, abbreviations, files, rows, shared_rows, listed, object_lines: 0 };
    let (mut read, shared) = task.walk(&source, &mut diagnostics);
    steps.shared = shared;
    // A skeleton with children (`-fsplit-dwarf-inlining`) has all functions and inlined subroutines.
    read.head.partial = skeleton.is_some() && read.code.functions.is_empty();
    Done { unit: read, dwo_id, steps, diagnostics, starts, ..Done::default() }
}

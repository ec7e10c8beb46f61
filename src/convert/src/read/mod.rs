//! Decodes the DWARF of one program into [`Unit`]s, in parallel over units.
//!
//! Most entries are skipped: a unit keeps its subprograms with code and the subroutines inlined into them. Names, files and
//! lines of a declaration are read only if such a function refers to it. Apart from `verify`, only this module names
//! `gimli`. Units come out in the order of the file, whatever the number of threads.

pub(crate) mod code;
pub(crate) mod dwarf_6;
mod far_headers;
mod frames;
pub(crate) use frames::read_unwind;

pub(crate) mod limits;
pub(crate) mod line_headers;
pub(crate) mod options;
pub(crate) mod sections;
pub(crate) mod shared_lines;
pub(crate) mod shared_tables;
pub(crate) mod space;
mod types;
pub(crate) mod unit;
pub(crate) mod units;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::diagnostics::Diagnostics;
use crate::model::{BlockMap, CallGraph, ClassUnit, Unit, UnitClasses, UnitTypes};
use crate::open::{DebugSection, Image};
use crate::read::code::CodeSections;
use crate::read::limits::{FUNCTION_UNITS_BETWEEN, UNITS_BETWEEN, allowed_entries, held_by_lists};
use crate::read::options::ReadOptions;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::call_tables::CallTables;
use crate::read::sections::{basic_blocks, call_graph, call_tables};
use crate::read::space::Space;
use crate::read::units::one_unit;
use crate::read::units::queue::{self, Queue, Take};
use crate::read::units::split_files::{SplitFiles, Supply};
use crate::read::units::task::{UnitTask, UnitWalk};

/// Reads all units in the image's debug information. `split` has the files of split units.
///
/// Uses the threads of the current `rayon` pool. `taker` gets the units in file order, each as soon as all units before it
/// are read. So it works on one unit while other threads read the next ones.
pub(crate) fn read<'f>(
    image: &Image<'f>,
    split: &SplitFiles<'_, 'f>,
    options: ReadOptions,
    advance: &(dyn Fn(u64) + Sync),
    taker: &mut dyn Take<'f>,
) -> Diagnostics {
    let how = ReadPlan { options, walk: UnitWalk::Functions, advance };
    if image.arch.big_endian {
        read_with(image, split, gimli::BigEndian, how, taker)
    } else {
        read_with(image, split, gimli::LittleEndian, how, taker)
    }
}

/// Reads the classes of the units at these offsets, which are sorted. Damage in these units is not counted again: [`read`]
/// counted it.
pub(crate) fn read_classes<'f>(
    image: &Image<'f>,
    split: &SplitFiles<'_, 'f>,
    units: &[UnitClasses<'_>],
    diagnostics: &mut Diagnostics,
) -> Vec<ClassUnit<'f>> {
    if units.is_empty() {
        return Vec::new();
    }
    let how = ReadPlan { options: ReadOptions::default(), walk: UnitWalk::Classes(units), advance: &|_| () };
    let mut read: Vec<Unit<'f>> = Vec::new();
    let counted = if image.arch.big_endian {
        read_with(image, split, gimli::BigEndian, how, &mut read)
    } else {
        read_with(image, split, gimli::LittleEndian, how, &mut read)
    };
    diagnostics.merge(counted.of_classes());
    // The offset of a split unit is the one of its skeleton.
    // Only units with classes to read have this, so units that turned out to be damaged drop out here.
    let classes = |unit: Unit<'f>| {
        let described = unit.records.described?;
        Some(ClassUnit { offset: unit.head.offset, ..*described })
    };
    read.into_iter().filter_map(classes).collect()
}

/// Reads the types of the functions of the units at these offsets, which are sorted: see [`types`].
pub(crate) fn read_types<'f>(
    image: &Image<'f>,
    split: &SplitFiles<'_, 'f>,
    units: &[u64],
    diagnostics: &mut Diagnostics,
) -> Vec<UnitTypes> {
    if units.is_empty() {
        return Vec::new();
    }
    let how = ReadPlan { options: ReadOptions::default(), walk: UnitWalk::Types(units), advance: &|_| () };
    let mut read: Vec<Unit<'f>> = Vec::new();
    let counted = if image.arch.big_endian {
        read_with(image, split, gimli::BigEndian, how, &mut read)
    } else {
        read_with(image, split, gimli::LittleEndian, how, &mut read)
    };
    diagnostics.merge(counted.of_types());
    // As for classes, the offset of a split unit is the one of its skeleton.
    let types = |unit: Unit<'f>| Some(UnitTypes { offset: unit.head.offset, ..*unit.records.types? });
    read.into_iter().filter_map(types).collect()
}

/// What to read from each unit.
#[derive(Clone, Copy)]
struct ReadPlan<'a> {
    options: ReadOptions,
    walk: UnitWalk<'a>,
    advance: &'a (dyn Fn(u64) + Sync),
}

fn read_with<'f, E: Endianity>(
    image: &Image<'f>,
    split: &SplitFiles<'_, 'f>,
    endian: E,
    ReadPlan { options, walk, advance }: ReadPlan<'_>,
    taker: &mut dyn Take<'f>,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    let space = Space::new(image, endian, split.files, options.relative_paths, &mut diagnostics);
    // Reading all headers mapped pages all over the section. The units map them again one by one.
    split.files.release(image.debug.get(DebugSection::Info));
    let code = CodeSections::new(image);
    let sections = [DebugSection::Dcall, DebugSection::Vcall].map(|section| image.debug.get(section));
    let is_unit = |at: u64| {
        let found = space.main.unit_at(usize::try_from(at).unwrap_or(usize::MAX));
        found.is_some_and(|unit| space::offset_of(&space.main.headers[unit]) == at)
    };
    let tables = match walk {
        UnitWalk::Functions => {
            call_tables::read(sections, image.arch.big_endian, &code, is_unit, &mut diagnostics)
        }
        // The first reading gave the slots to `taker` and counted the damage of the tables.
        UnitWalk::Classes(_) | UnitWalk::ClassesAt(_) | UnitWalk::Types(_) => CallTables::default(),
    };
    taker.take_slots(&tables.slots);
    let supply = Supply::new(split, image, endian, &mut diagnostics);
    let (memory, allowance) = (Mutex::default(), split.files.allowance());
    let (space, code, supply, tables) = (&space, &code, &supply, &tables);
    let task =
        UnitTask { space, code, options, supply, tables, walk, memory: &memory, limit: u64::MAX, allowance };
    let again = |index: usize, how: queue::ReadAgain| {
        if !how.split {
            // Other threads may be ahead and read the `.dwo` of later units all the same. When such a unit's turn comes,
            // it is read again without its `.dwo`, so the result does not depend on how far ahead they were.
            supply.close();
        }
        one_unit::read(&UnitTask { limit: how.limit, ..task }, index)
    };
    let package = split.package.as_ref().map(|package| &package.debug);
    let held = [&image.debug].into_iter().chain(package).map(held_by_lists).sum();
    let lists = allowed_entries(held);
    let queue = Queue::new(taker, split.files, &image.debug, diagnostics, lists, allowance, &again);
    // Later steps read only names again. Names stay in the program's `.debug_str`, so its pages are kept. Names of a package
    // were copied.
    use DebugSection::{Abbrev, Addr, Info, Line, Ranges, RngLists, Str, StrOffsets};
    let give_back = || {
        for section in [Info, Abbrev, Line, Addr, Ranges, RngLists, StrOffsets] {
            split.files.release(image.debug.get(section));
        }
    };
    let next = AtomicUsize::new(0);
    let worker = || {
        let memory = Mutex::default();
        let task = UnitTask { memory: &memory, ..task };
        loop {
            // Threads take units one at a time: units differ in size by orders of magnitude, so equal parts would not
            // take equal time.
            let index = next.fetch_add(1, Ordering::Relaxed);
            // Reading classes keeps more in memory than reading functions.
            let units =
                if matches!(walk, UnitWalk::Functions) { FUNCTION_UNITS_BETWEEN } else { UNITS_BETWEEN };
            if index.is_multiple_of(units) && index > 0 {
                give_back();
            }
            let Some(header) = space.main.headers.get(index).filter(|_| !queue.is_full()) else { break };
            let unit = queue.read(|| one_unit::read(&task, index));
            // A unit is read once, except for references from other units.
            split.files.release(space.main.read_by(index));
            advance(header.length_including_self() as u64);
            queue.put(index, unit);
        }
    };
    // Not `broadcast`, which would wait for threads that are busy with other work.
    rayon::scope(|scope| (0..rayon::current_num_threads()).for_each(|_| scope.spawn(|_| worker())));
    give_back();
    if let Some(package) = &split.package {
        // Each unit of the package released its own parts (`split::in_package`). The parts that units share, such as
        // abbreviations, are released here.
        for section in [Info, Abbrev, Line, Ranges, RngLists, Str, StrOffsets] {
            split.files.release(package.debug.get(section));
        }
    }
    queue.finish()
}

/// Reads the image's basic-block address map.
pub(crate) fn read_blocks(image: &Image<'_>, diagnostics: &mut Diagnostics) -> BlockMap {
    if image.block_maps.is_empty() {
        return BlockMap::default();
    }
    basic_blocks::read(&image.block_maps, &image.arch, &CodeSections::new(image), diagnostics)
}

/// Reads the image's call graph.
pub(crate) fn read_call_graph(image: &Image<'_>, diagnostics: &mut Diagnostics) -> CallGraph {
    if image.call_graphs.is_empty() {
        return CallGraph::default();
    }
    call_graph::read(&image.call_graphs, &image.arch, &CodeSections::new(image), diagnostics)
}

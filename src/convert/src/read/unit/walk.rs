//! The state of the walk over the entries of a unit: what stays the same, the functions that are open, and the unit so far.
//! `entry_walk` walks, and adds to the state what the readers of entries return.

use gimli::Section as _;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{LocalTables, NONE16, Unit, UnitHead};
use crate::read::code::CodeSections;
use crate::read::limits::{
    Limits, MAX_PATH_BYTES, MAX_RANGES, MIN_RANGES, NAME_BYTES, allowed_entries, held,
};
use crate::read::options::ReadOptions;
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::sections::entries::{Entries, Plans};
use crate::read::sections::line::Lines;
use crate::read::space::offset_of;
use crate::read::unit::assign::{Assign, Assigned};
use crate::read::unit::callees::Callees;
use crate::read::unit::edges::Edges;
use crate::read::unit::memory::Memory;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::open_function::OpenFunction;
use crate::read::unit::origins::{IDENTITY, Origins, UnitTables};
use crate::read::unit::ranges::RangeEntries;
use crate::read::unit::roles::Role;
use crate::read::unit::source::UnitSource;
use crate::read::unit::tree::InlineTree;
use crate::read::unit::walked_unit::WalkedUnit;
use crate::util::text::base_name;

/// The longest file name in bytes, as in most file systems.
const MAX_FILE_NAME: usize = 255;

/// The walk over the entries of one unit.
pub(crate) struct Walk<'a, 'f, E: Endianity> {
    pub(crate) fixed: WalkedUnit<'a, 'f, E>,
    pub(crate) ids: Numbering<'a, 'f, E>,
    pub(crate) edges: Edges,
    pub(crate) callees: Callees,
    /// Gets each function as it ends.
    pub(crate) assign: Assign<'a>,
    /// True if all code of the line program belongs to this unit. False for a partial unit.
    pub(crate) owns_lines: bool,
    /// The unit, without functions and rows.
    pub(crate) out: Unit<'f>,
    pub(crate) building: Vec<OpenFunction>,
    /// The functions whose expressions are read after the walk.
    pub(crate) with_locations: Vec<gimli::UnitOffset>,
    /// The values of `DW_AT_LLVM_stmt_sequence`, if the options ask for them.
    pub(crate) named_sequences: Vec<u64>,
    /// Empty trees with memory for reuse.
    pub(crate) spare: Vec<InlineTree>,
    pub(crate) list_entries: RangeEntries,
    pub(crate) plans: Plans<Role>,
}

impl<'a, 'f, E: Endianity> Walk<'a, 'f, E> {
    pub(crate) fn new(
        source: &UnitSource<'a, 'f, E>,
        code: &'a CodeSections,
        options: ReadOptions,
        mut lines: Lines,
        memory: Memory,
        limits: Limits,
        diagnostics: Diagnostics,
    ) -> Self {
        let &UnitSource { space, unit, index, abbreviations, files, rows, object_lines, .. } = source;
        let dwarf = &space.main.dwarf;
        let unit_offset = offset_of(&unit.header);
        let entry_bytes = unit.header.length_including_self();
        // The header shows a partial unit only since DWARF 5 (7.5.1.1). Before, the tag of its root shows it
        // (`Role::PartialRoot`).
        let owns_lines = !matches!(unit.header.type_(), gimli::UnitType::Partial);
        // gcc gives a `.dwo` a file table of its own (`.debug_line.dwo`). The rows are in the program, and their indexes
        // mean the program's table.
        let row_files = match (files.header, rows.header) {
            (Some(files), Some(program)) if !std::ptr::eq(files, program) => Some(rows),
            _ => None,
        };
        let (ranges, range_lists) =
            (dwarf.ranges.debug_ranges().reader(), dwarf.ranges.debug_rnglists().reader());
        // One more, so that a unit that needs exactly the limit gives the same result with and without it.
        let limit = limits.of_others.saturating_add(1);
        let max_ranges =
            allowed_entries(held(ranges.len(), range_lists.len())).clamp(MIN_RANGES, MAX_RANGES).min(limit);
        let split = dwarf.file_type == gimli::DwarfFileType::Dwo;
        let own_lines = rows.header.filter(|_| split).map_or(0, |header| header.offset().0 as u64);
        let origins = Origins {
            space,
            here: unit,
            here_index: index,
            here_files: files,
            row_files,
            tables: UnitTables::new(entry_bytes, memory.ids, std::mem::take(&mut lines.defined)),
            entries: Entries::new(unit, abbreviations, IDENTITY, memory.identities),
        };
        Walk {
            fixed: WalkedUnit {
                dwarf,
                unit,
                abbreviations,
                unit_offset,
                code,
                options,
                sequence_bases: [own_lines, object_lines, 0],
                addresses: addresses(dwarf, unit),
                max_kept: limits.kept,
            },
            ids: Numbering { origins, diagnostics },
            edges: Edges::new(memory.edges),
            callees: Callees::new(memory.callees),
            assign: Assign::new(unit_offset, entry_bytes, code, options.columns, lines, limit),
            owns_lines,
            out: Unit {
                head: UnitHead {
                    offset: unit_offset,
                    file_name: unit.name.map(|name| file_name(name.slice())).unwrap_or_default().into(),
                    ..UnitHead::default()
                },
                tables: LocalTables { strings: entry_bytes as u64, ..LocalTables::default() },
                ..Unit::default()
            },
            building: Vec::new(),
            with_locations: Vec::new(),
            named_sequences: Vec::new(),
            spare: Vec::new(),
            list_entries: RangeEntries::new(max_ranges),
            plans: memory.plans,
        }
    }

    /// The bytes of memory that the unit has so far.
    pub(crate) fn kept(&self) -> u64 {
        let tables = &self.ids.origins.tables;
        let named = size_of_val(&tables.names[..]) + size_of_val(&tables.origins[..]);
        let shared = size_of_val(&self.assign.shared[..]) + size_of_val(&self.assign.strays[..]);
        let listed = self.edges.bytes() + self.callees.bytes();
        self.out.bytes() + self.assign.code.bytes() + (named + shared + listed) as u64
    }

    /// The unit, after all rows are assigned.
    pub(crate) fn finish(mut self) -> (Unit<'f>, Diagnostics, Memory) {
        let mut tables = self.ids.origins.tables;
        let offset = self.fixed.unit_offset;
        if tables.lacks_files {
            self.ids.diagnostics.add(Kind::Cap(Cap::Files), offset, || {
                format!("the unit at {offset:#x} has over {NONE16} files: later ones are unknown")
            });
        }
        if tables.lacks_path_bytes {
            self.ids.diagnostics.add(Kind::Cap(Cap::PathBytes), offset, || {
                format!("the unit at {offset:#x} has over {MAX_PATH_BYTES} bytes of paths: later files are unknown")
            });
        }
        if tables.name_bytes.is_none() {
            self.ids.diagnostics.add(Kind::Cap(Cap::UnitNames), offset, || {
                format!("the unit at {offset:#x} has over {NAME_BYTES} bytes of names for each of its own bytes: later names are unknown")
            });
        }
        self.out.tables.names = std::mem::take(&mut tables.names);
        self.out.tables.files = std::mem::take(&mut tables.files);
        self.out.tables.origins = std::mem::take(&mut tables.origins);
        let Assigned { code, bare, unclaimed, strays } = self.assign.finish();
        self.out.code = code;
        let (callees, by_place) = self.callees.finish();
        self.out.records.callees = callees.into();
        self.out.records.fit();
        self.out.traces.fit();
        (self.out.traces.bare, self.out.traces.unclaimed, self.out.traces.strays) = (bare, unclaimed, strays);
        let memory = Memory {
            edges: self.edges.into_memory(),
            callees: by_place,
            ids: tables.into_ids(),
            plans: self.plans,
            identities: self.ids.origins.entries.into_plans(),
            // The other tables were taken out before the walk: `one_unit::read` has the abbreviations, `unit::read` has
            // `members`.
            ..Memory::default()
        };
        (self.out, self.ids.diagnostics, memory)
    }
}

/// The last component of a unit's path, cut to its last [`MAX_FILE_NAME`] bytes.
fn file_name(path: &[u8]) -> &[u8] {
    base_name(&path[path.len().saturating_sub(MAX_FILE_NAME)..])
}

/// The part of `.debug_addr` from the unit's base on, if addresses have 8 bytes.
fn addresses<'f, E: Endianity>(dwarf: &Dwarf<'f, E>, unit: &gimli::Unit<Bytes<'f, E>>) -> &'f [u8] {
    match unit.header.address_size() {
        8 => dwarf.debug_addr.reader().slice().get(unit.addr_base.0..).unwrap_or_default(),
        _ => &[],
    }
}

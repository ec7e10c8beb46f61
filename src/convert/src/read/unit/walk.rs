//! Walks the entries of a unit, and turns them into functions with inline trees, calls, functions without code, and places of
//! classes.

use gimli::Section as _;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{
    DieOffset, How, Instance, LocalCallee, LocalEdge, LocalOrigin, LocalTables, NONE16, Unit, UnitCall,
    UnitHead,
};
use crate::read::code::CodeSections;
use crate::read::limits::{Limits, MAX_ATTRIBUTES, allowed_entries, held};
use crate::read::options::ReadOptions;
use crate::read::sections::abbreviations::Abbreviations;
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::sections::entries::{Entries, Plans};
use crate::read::sections::line::{self, Lines};
use crate::read::space::offset_of;
use crate::read::unit::addresses::DeadRange;
use crate::read::unit::assign::Assign;
use crate::read::unit::class_places::Noted;
use crate::read::unit::memory::Memory;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::origins::{DiePlace, IDENTITY, Origins, UnitTables};
use crate::read::unit::roles::{Role, wanted};
use crate::read::unit::source::UnitSource;
use crate::read::unit::tree::{InlineTree, InlinedCall, LostTree};
use crate::util::hash::{HashMap, HashSet};
use crate::util::numbers::NumberedMap;
use crate::util::reuse::empty;
use crate::util::text::base_name;

/// A unit may visit as many entries of range lists as [`allowed_entries`] of its sections, between these two numbers. Any number
/// of DIEs may refer to the same long list.
const MAX_RANGES: u64 = 1 << 22;
const MIN_RANGES: u64 = 1 << 16;

/// The longest file name in bytes, as in most file systems.
const MAX_FILE_NAME: usize = 255;

/// The memory of a unit is checked after this many entries.
const ENTRIES_BETWEEN: u32 = 1 << 10;

pub(crate) type UnitEntries<'a, 'f, E> = Entries<'a, 'f, E, Role>;

/// An entry that encloses the current one.
pub(crate) struct OpenEntry {
    /// Its depth. It ends before the next entry that is not deeper.
    depth: isize,
    kind: OpenKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenKind {
    /// A function with code: the last of `Walk::building`.
    Function,
    /// An inlined subroutine of this function. Its children belong to `node`.
    Scope { node: u32 },
    /// An inlined subroutine of this function, of which nothing is kept.
    Lost,
    /// A subprogram without code. Its children are not kept.
    Without,
}

/// A function whose children are being read.
pub(crate) struct OpenFunction {
    pub(crate) die: DieOffset,
    pub(crate) origin: LocalOrigin,
    pub(crate) instance: Instance,
    /// `None` if the address was erased.
    pub(crate) how: Option<How>,
    pub(crate) dead: Vec<DeadRange>,
    pub(crate) ranges: Vec<(u64, u64)>,
    /// The sequence to which its `DW_AT_LLVM_stmt_sequence` refers.
    pub(crate) own_sequence: Option<usize>,
    pub(crate) tree: InlineTree,
    /// The inlined subroutines, if its address was erased.
    pub(crate) lost: LostTree,
    pub(crate) calls: Vec<UnitCall>,
    pub(crate) all_tail_calls: bool,
    pub(crate) all_calls: bool,
}

/// The walk over the entries of one unit.
pub(crate) struct Walk<'a, 'f, E: Endianity> {
    pub(crate) dwarf: &'a Dwarf<'f, E>,
    pub(crate) unit: &'a gimli::Unit<Bytes<'f, E>>,
    pub(crate) abbreviations: Abbreviations<'a, 'f>,
    pub(crate) unit_offset: u64,
    pub(crate) code: &'a CodeSections,
    pub(crate) options: ReadOptions,
    pub(crate) ids: Numbering<'a, 'f, E>,
    /// Gets each function as it ends.
    pub(crate) assign: Assign<'a>,
    /// The offset from which `DW_AT_LLVM_stmt_sequence` may count instead of the start of the section.
    pub(crate) sequence_base: u64,
    /// True if all code of the line program belongs to this unit. False for a partial unit.
    pub(crate) owns_lines: bool,
    /// The unit, without functions and rows.
    pub(crate) out: Unit<'f>,
    pub(crate) edge_ids: NumberedMap<InlinedCall, LocalEdge>,
    pub(crate) callee_ids: HashMap<DiePlace, LocalCallee>,
    pub(crate) unknown_callee: Option<LocalCallee>,
    pub(crate) building: Vec<OpenFunction>,
    /// The functions whose expressions are read after the walk.
    pub(crate) with_locations: Vec<gimli::UnitOffset>,
    /// Empty trees with memory for reuse.
    pub(crate) spare: Vec<InlineTree>,
    /// The most entries of range lists that may be visited.
    pub(crate) max_ranges: u64,
    /// The number of them that may still be visited.
    pub(crate) ranges_left: u64,
    /// The most bytes of memory of the unit.
    max_kept: u64,
    /// The unit's part of `.debug_addr`, if addresses have 8 bytes.
    pub(crate) addresses: &'f [u8],
    /// The lengths of the live line sequences; made on first use.
    pub(crate) sequence_lens: Option<HashSet<u64>>,
    plans: Plans<Role>,
}

impl<'a, 'f, E: Endianity> Walk<'a, 'f, E> {
    pub(crate) fn new(
        source: &UnitSource<'a, 'f, E>,
        code: &'a CodeSections,
        options: ReadOptions,
        memory: Memory,
        limits: Limits,
        mut diagnostics: Diagnostics,
    ) -> Self {
        let &UnitSource { space, unit, index, abbreviations, files, rows, debug_line, listed: _ } = source;
        let dwarf = &space.main.dwarf;
        let unit_offset = offset_of(&unit.header);
        let entry_bytes = unit.header.length_including_self();
        let owns_lines = !matches!(unit.header.type_(), gimli::UnitType::Partial);
        let lines = match rows.header {
            Some(header) => line::run(header, debug_line, code, &mut diagnostics),
            None => Lines::default(),
        };
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
        // In a `.dwo`, an offset in the line table counts from the skeleton's program.
        let split = dwarf.file_type == gimli::DwarfFileType::Dwo;
        let sequence_base = rows.header.filter(|_| split).map_or(0, |header| header.offset().0 as u64);
        let origins = Origins {
            space,
            here: unit,
            here_index: index,
            here_files: files,
            row_files,
            tables: UnitTables::new(entry_bytes, memory.ids),
            entries: Entries::new(unit, abbreviations, IDENTITY, memory.identities),
        };
        Walk {
            dwarf,
            unit,
            abbreviations,
            unit_offset,
            code,
            options,
            ids: Numbering { origins, diagnostics },
            assign: Assign::new((unit_offset, entry_bytes), code, options.columns, lines, limit),
            sequence_base,
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
            edge_ids: memory.edges,
            callee_ids: memory.callees,
            unknown_callee: None,
            building: Vec::new(),
            with_locations: Vec::new(),
            spare: Vec::new(),
            max_ranges,
            ranges_left: max_ranges,
            max_kept: limits.kept,
            addresses: addresses(dwarf, unit),
            sequence_lens: None,
            plans: memory.plans,
        }
    }

    /// The bytes of memory that the unit has so far.
    fn kept(&self) -> u64 {
        let tables = &self.ids.origins.tables;
        let named = size_of_val(&tables.names[..]) + size_of_val(&tables.origins[..]);
        let shared = size_of_val(&self.assign.shared[..]);
        self.out.bytes() + self.assign.code.bytes() + (named + shared) as u64
    }

    /// Walks all entries.
    ///
    /// # Errors
    /// An entry cannot be read. The entries after it are not read.
    pub(crate) fn all_entries(&mut self) -> gimli::Result<()> {
        let (wanted, plans) = (wanted(self.options.columns), std::mem::take(&mut self.plans));
        let mut entries = Entries::new(self.unit, self.abbreviations, wanted, plans);
        let mut open: Vec<OpenEntry> = Vec::new();
        let mut noted = Noted::default();
        let mut until_looked = ENTRIES_BETWEEN;
        let result = loop {
            until_looked -= 1;
            if until_looked == 0 {
                until_looked = ENTRIES_BETWEEN;
                let kept = self.kept();
                if kept > self.max_kept {
                    self.out.stopped_at = Some(kept);
                    break Ok(());
                }
            }
            let outer = open.first().map_or(isize::MAX, |open| open.depth);
            let entry = match entries.next(outer) {
                Ok(Some(entry)) => entry,
                Ok(None) => break Ok(()),
                Err(_) if entries.is_refused() => {
                    let offset = self.unit_offset;
                    self.ids.diagnostics.add(Kind::Cap(Cap::Attributes), offset, || {
                        format!(
                            "an entry has over {MAX_ATTRIBUTES} attributes; the rest of the unit is not read"
                        )
                    });
                    break Ok(());
                }
                Err(error) => break Err(error),
            };
            while open.last().is_some_and(|o| o.depth >= entry.closes) {
                self.close(open.pop());
            }
            noted.leave(entry.closes);
            let inside = open.last().map(|open| open.kind);
            let read = match (entry.role, inside) {
                (Role::Function, _) => self.subprogram(&mut entries, entry),
                (Role::Codeless, _) => self.codeless(&mut entries, entry),
                (Role::Declared, _) => entries.skip(&entry).map(|()| Some(OpenKind::Without)),
                (Role::Inlined, Some(OpenKind::Function)) => self.inlined(&mut entries, entry, 0),
                (Role::Inlined, Some(OpenKind::Scope { node })) => self.inlined(&mut entries, entry, node),
                (Role::Inlined, Some(OpenKind::Lost)) => entries.skip(&entry).map(|()| Some(OpenKind::Lost)),
                (Role::Call, Some(OpenKind::Function | OpenKind::Scope { .. } | OpenKind::Lost)) => {
                    self.call_site(&mut entries, entry).map(|()| None)
                }
                (Role::Inlined | Role::Call, _) => entries.skip(&entry).map(|()| None),
                (Role::Root, _) => self.root(&mut entries, entry).map(|()| None),
                (Role::PartialRoot, _) => {
                    self.owns_lines = false;
                    entries.skip(&entry).map(|()| None)
                }
                (Role::Class | Role::TableDeclaration | Role::Unnamed, _) => {
                    noted.note(&entry);
                    entries.skip(&entry).map(|()| None)
                }
                (Role::TableDefinition, _) => {
                    self.table(&mut entries, entry).map(|table| noted.defined.extend(table)).map(|()| None)
                }
            };
            match read {
                Ok(Some(kind)) => open.push(OpenEntry { depth: entry.depth, kind }),
                Ok(None) => {}
                Err(error) => break Err(error),
            }
        };
        while let Some(last) = open.pop() {
            self.close(Some(last));
        }
        self.plans = entries.into_plans();
        self.out.records.class_places = noted.places(self.out.head.keeps_callees);
        result
    }

    fn close(&mut self, open: Option<OpenEntry>) {
        if open.is_some_and(|open| open.kind == OpenKind::Function)
            && let Some(function) = self.building.pop()
        {
            self.close_function(function);
        }
    }

    /// The unit, after all rows are assigned.
    pub(crate) fn finish(mut self) -> (Unit<'f>, Diagnostics, Memory) {
        let mut tables = self.ids.origins.tables;
        if tables.full {
            let offset = self.unit_offset;
            self.ids.diagnostics.add(Kind::Cap(Cap::Files), offset, || {
                format!("the unit at {offset:#x} has over {NONE16} files or 16 MiB of paths: later ones are unknown")
            });
        }
        if tables.name_bytes.is_none() {
            let offset = self.unit_offset;
            self.ids.diagnostics.add(Kind::Cap(Cap::UnitNames), offset, || {
                format!("the unit at {offset:#x} has longer names than fit its size: later ones are unknown")
            });
        }
        self.out.tables.names = std::mem::take(&mut tables.names);
        self.out.tables.files = std::mem::take(&mut tables.files);
        self.out.tables.origins = std::mem::take(&mut tables.origins);
        let Assign { mut code, bare, unclaimed, .. } = self.assign;
        code.shrink_to_fit();
        self.out.code = code;
        self.out.records.shrink_to_fit();
        self.out.traces.shrink_to_fit();
        (self.out.traces.bare, self.out.traces.unclaimed) = (bare, unclaimed);
        let mut memory = Memory {
            edges: self.edge_ids,
            callees: self.callee_ids,
            ids: tables.into_ids(),
            plans: self.plans,
            identities: self.ids.origins.entries.into_plans(),
            ..Memory::default()
        };
        memory.edges.empty();
        empty(&mut memory.callees);
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

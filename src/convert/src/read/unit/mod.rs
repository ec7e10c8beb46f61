//! Reads one compile unit: its functions with code, what is inlined into them, and their rows.
//!
//! One walk over the entries in file order, without recursion. Entries that are neither a subprogram
//! with code nor an inlined subroutine inside one are skipped by their abbreviation, never decoded.
//!
//! Long because the walk over the entries and the state that it fills are one type.

mod calls;
mod classes;
mod codeless;
mod inline_lengths;
mod inlined;
mod locations;
pub(crate) mod origins;
mod ranges;
mod roles;
mod root;
mod rows;
mod sequence_owners;
mod sequences;
mod table_calls;

use gimli::{AttributeValue, Reader as _, Section as _};

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{
    Calls, DieOffset, How, ImageAddr, Instance, LocalCallee, LocalEdge, LocalOrigin, LocalTables, Lost,
    NONE16, RowRange, Unit, UnitCall, UnitCode, UnitFunction, UnitHead, UnitPiece,
};
use crate::read::code::CodeSections;
use crate::read::limits::held;
use crate::read::limits::{Limits, MAX_ATTRIBUTES, OWN_ROWS, allowed_entries};
use crate::read::options::ReadOptions;
use crate::read::sections::abbreviations::Abbreviations;
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::sections::entries::{Entries, Entry, Plans};
use crate::read::sections::line;
use crate::read::sections::line::{LineRow, Lines};
use crate::read::unit::inline_lengths::LostTree;
use crate::read::unit::origins::{DiePlace, IDENTITY, Origins, SubprogramIdentity, UnitTables};
use crate::read::unit::sequence_owners::BySequence;
use crate::read::unit::sequences::SharedPiece;
use crate::read::units::memory::{Memory, empty};
use crate::read::units::space::offset_of;
use crate::read::units::task::UnitSource;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};
use crate::util::numbers::NumberedMap;
use crate::util::paint::{Painter, Segment};
use crate::util::text::base_name;
use classes::Noted;
pub(crate) use classes::{MemberRole, classes};
use inlined::InlineTree;
pub(crate) use inlined::InlinedCall;
use locations::attribute;
use ranges::{Addresses, DeadRange};
pub(crate) use roles::Role;
use roles::wanted;
use rows::{NO_FILE, RowOwner};

/// The deepest inlining that is kept; the format's `max_depth` is at most this.
const MAX_DEPTH: u16 = 255;

/// Entries of range lists that a unit may have, and as many as its sections may hold: any number of DIEs may name one long
/// list.
const MAX_RANGES: u64 = 1 << 22;
const MIN_RANGES: u64 = 1 << 16;

/// Rows that a unit may keep: functions may share a range, and each keeps its rows.
const MAX_ROWS: usize = 1 << 24;
const MIN_ROWS: usize = 1 << 18;
const ROW_COPIES: usize = 32;
/// Bytes of the name of a file, as much of it as a file system holds.
const MAX_FILE_NAME: usize = 255;

/// Entries between two times that the memory of a unit is looked at.
const ENTRIES_BETWEEN: u32 = 1 << 10;

/// Walks one unit. What it has that others may have as well is returned: entries of range lists, and rows past [`OWN_ROWS`].
pub(crate) fn walk<'f, E: Endianity>(
    source: &UnitSource<'_, 'f, E>,
    code: &CodeSections,
    options: ReadOptions,
    memory: &mut Memory,
    limits: Limits,
    diagnostics: &mut Diagnostics,
) -> (Unit<'f>, u64) {
    let (kept, counted) = (std::mem::take(memory), std::mem::take(diagnostics));
    let mut reader = UnitReader::new(source, code, options, kept, limits, counted);
    if let Err(error) = reader.walk() {
        let offset = reader.unit_offset;
        reader
            .diagnostics
            .add(Kind::BadEntries, offset, || format!("unit at .debug_info+{offset:#x}: {error}"));
    }
    reader.refuse_foreign();
    reader.settle();
    reader.listed_calls(source.listed);
    reader.unclaimed();
    reader.bare_lines();
    reader.locations();
    let ranges = reader.max_ranges - reader.ranges_left;
    let rows = reader.out.code.rows.len().saturating_sub(OWN_ROWS * reader.lines.rows.len());
    let unit;
    (unit, *diagnostics, *memory) = reader.finish();
    (unit, ranges + rows as u64)
}

type UnitEntries<'a, 'f, E> = Entries<'a, 'f, E, Role>;

/// An entry that encloses the one being read.
struct OpenEntry {
    /// Depth of the entry; it ends before the next entry that is not deeper.
    depth: isize,
    kind: OpenKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenKind {
    /// A function with code: the last of `UnitReader::building`.
    Function,
    /// An inlined subroutine of it, or a function that gives no code: what is inside counts for `node`.
    Scope { node: u32 },
    /// An inlined subroutine of the last of `UnitReader::building`, of which nothing is kept.
    Lost,
    /// A subprogram without code, or whose code is gone: what is inside is not kept.
    Without,
}

/// A function while its entries are read.
struct OpenFunction {
    die: DieOffset,
    origin: LocalOrigin,
    instance: Instance,
    /// `None` where the address is gone.
    how: Option<How>,
    dead: Vec<DeadRange>,
    ranges: Vec<(u64, u64)>,
    /// The sequence that its `DW_AT_LLVM_stmt_sequence` names.
    own_sequence: Option<usize>,
    tree: InlineTree,
    /// What is inlined into it, where its address is gone.
    lost: LostTree,
    calls: Vec<UnitCall>,
    all_tail_calls: bool,
    all_calls: bool,
}

struct UnitReader<'a, 'f, E: Endianity> {
    dwarf: &'a Dwarf<'f, E>,
    unit: &'a gimli::Unit<Bytes<'f, E>>,
    abbreviations: Abbreviations<'a, 'f>,
    unit_offset: u64,
    code: &'a CodeSections,
    options: ReadOptions,
    origins: Origins<'a, 'f, E>,
    lines: Lines,
    /// What `DW_AT_LLVM_stmt_sequence` counts from, unless it counts from the section's start.
    sequence_base: u64,
    /// True where all of the line program's code belongs to this unit (not so for a partial unit).
    owns_lines: bool,
    out: Unit<'f>,
    diagnostics: Diagnostics,
    edge_ids: NumberedMap<InlinedCall, LocalEdge>,
    callee_ids: HashMap<DiePlace, LocalCallee>,
    unknown_callee: Option<LocalCallee>,
    /// By sequence: a function has its rows.
    claimed: Vec<bool>,
    building: Vec<OpenFunction>,
    /// Pieces whose rows wait for the rest of the unit.
    shared: Vec<SharedPiece>,
    by_sequence: Vec<BySequence>,
    /// Sequences that functions name which kept their address.
    named: HashSet<usize>,
    /// Sequences that show that there are more functions than the unit describes, and not whose lines they are.
    in_doubt: Vec<usize>,
    /// Functions of which expressions are kept.
    with_locations: Vec<gimli::UnitOffset>,
    /// Empty trees, with the memory of those that were read.
    spare: Vec<InlineTree>,
    painter: Painter,
    segments: Vec<Segment>,
    runs: Vec<LineRow>,
    last_file: (u32, u16),
    /// Entries of range lists that may be visited, and that may still be.
    max_ranges: u64,
    ranges_left: u64,
    /// Rows that may be kept.
    max_rows: usize,
    /// There was no room for the rows of a function.
    no_more_rows: bool,
    /// Bytes of memory that the unit may take.
    max_kept: u64,
    /// Rows that may still be compared to find the sequence of a function, and sequences that may be looked at for it.
    compared: Budget,
    /// Rows and segments that may still be joined, whether or not a row is kept of them.
    joined: Budget,
    /// The unit's table of addresses, if they have 8 bytes.
    addresses: &'f [u8],
    /// The lengths of the live line sequences, once asked for.
    sequence_lens: Option<HashSet<u64>>,
    /// Of the walk.
    plans: Plans<Role>,
}

impl<'a, 'f, E: Endianity> UnitReader<'a, 'f, E> {
    fn new(
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
        let owns_lines = !matches!(unit.header.type_(), gimli::UnitType::Partial);
        let lines = match rows.header {
            Some(header) => line::run(header, debug_line, code, &mut diagnostics),
            None => Lines::default(),
        };
        let row_files = match (files.header, rows.header) {
            (Some(files), Some(program)) if !std::ptr::eq(files, program) => Some(rows),
            _ => None,
        };
        let claimed = vec![false; lines.sequences.len()];
        let (ranges, range_lists) =
            (dwarf.ranges.debug_ranges().reader(), dwarf.ranges.debug_rnglists().reader());
        // One more, so that a unit which has just as much is read alike with and without a limit.
        let limit = limits.of_others.saturating_add(1);
        let own_rows = OWN_ROWS * lines.rows.len();
        let more_rows = usize::try_from(limit).unwrap_or(usize::MAX);
        let max_rows =
            (MIN_ROWS + ROW_COPIES * lines.rows.len()).min(own_rows.saturating_add(more_rows)).min(MAX_ROWS);
        let max_ranges =
            allowed_entries(held(ranges.len(), range_lists.len())).clamp(MIN_RANGES, MAX_RANGES).min(limit);
        let items = unit.header.length_including_self() + lines.rows.len();
        // Mostly a function keeps the rows of its lines, and some more where what is inlined begins and ends.
        let room = lines.rows.len() + lines.rows.len() / 4;
        // In a `.dwo` an offset into the line table counts from the skeleton's program.
        let split = dwarf.file_type == gimli::DwarfFileType::Dwo;
        let sequence_base = rows.header.filter(|_| split).map_or(0, |header| header.offset().0 as u64);
        UnitReader {
            dwarf,
            unit,
            abbreviations,
            unit_offset,
            code,
            options,
            origins: Origins {
                space,
                here: unit,
                here_index: index,
                here_files: files,
                row_files,
                tables: UnitTables::new(unit.header.length_including_self(), memory.ids),
                entries: Entries::new(unit, abbreviations, IDENTITY, memory.identities),
            },
            lines,
            sequence_base,
            owns_lines,
            out: Unit {
                head: UnitHead {
                    offset: unit_offset,
                    file_name: unit.name.map(|name| file_name(name.slice())).unwrap_or_default().into(),
                    ..UnitHead::default()
                },
                tables: LocalTables {
                    strings: unit.header.length_including_self() as u64,
                    ..LocalTables::default()
                },
                code: UnitCode { rows: Vec::with_capacity(room), ..UnitCode::default() },
                ..Unit::default()
            },
            diagnostics,
            edge_ids: memory.edges,
            callee_ids: memory.callees,
            unknown_callee: None,
            claimed,
            building: Vec::new(),
            shared: Vec::new(),
            by_sequence: Vec::new(),
            named: HashSet::default(),
            in_doubt: Vec::new(),
            with_locations: Vec::new(),
            spare: Vec::new(),
            painter: Painter::default(),
            segments: Vec::new(),
            runs: Vec::new(),
            last_file: (NO_FILE, NONE16),
            max_ranges,
            ranges_left: max_ranges,
            max_rows,
            no_more_rows: false,
            max_kept: limits.kept,
            compared: Budget::of_part(items),
            joined: Budget::of_part(items),
            addresses: addresses(dwarf, unit),
            sequence_lens: None,
            plans: memory.plans,
        }
    }

    /// Bytes of memory that the unit takes so far.
    fn kept(&self) -> u64 {
        let tables = &self.origins.tables;
        let named = size_of_val(&tables.names[..]) + size_of_val(&tables.origins[..]);
        self.out.bytes() + (named + size_of_val(&self.shared[..])) as u64
    }

    fn walk(&mut self) -> gimli::Result<()> {
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
                    self.diagnostics.add(Kind::CapReached, offset, || {
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

    /// Reads a `DW_TAG_subprogram` (DWARF 5 3.3.1) that has an address.
    // Long because the attributes of a subprogram bear on each other: what is live, folded or removed follows from all of them.
    fn subprogram(
        &mut self,
        entries: &mut UnitEntries<'_, 'f, E>,
        mut entry: Entry<Role>,
    ) -> gimli::Result<Option<OpenKind>> {
        let place = self.origins.place(entry.offset);
        let mut identity = SubprogramIdentity::default();
        let mut addresses = Addresses::default();
        let mut stmt_sequence = None;
        let (mut all_tail_calls, mut all_calls) = (false, false);
        let mut located = self.options.locations;
        while let Some(attribute) = entries.attribute(&mut entry)? {
            match attribute.name {
                gimli::DW_AT_low_pc => addresses.low_pc = Some(attribute.value),
                gimli::DW_AT_high_pc => addresses.high_pc = Some(attribute.value),
                gimli::DW_AT_ranges => addresses.ranges = Some(attribute.value),
                gimli::DW_AT_entry_pc => addresses.entry_pc = Some(attribute.value),
                DW_AT_LLVM_STMT_SEQUENCE => {
                    if let AttributeValue::SecOffset(offset) = attribute.value {
                        stmt_sequence = Some(offset as u64);
                    }
                }
                gimli::DW_AT_call_all_tail_calls | gimli::DW_AT_GNU_all_tail_call_sites => {
                    all_tail_calls |= attribute.is_set();
                }
                gimli::DW_AT_call_all_calls
                | gimli::DW_AT_call_all_source_calls
                | gimli::DW_AT_GNU_all_call_sites
                | gimli::DW_AT_GNU_all_source_call_sites => all_calls |= attribute.is_set(),
                attribute::ACTIVE_LANE
                | attribute::LANES
                | attribute::FIRST_LANES
                | attribute::LANE_PC
                | attribute::FIRST_LANE_PC => located = true,
                _ => self.origins.take(place, &mut identity, &attribute, &mut self.diagnostics),
            }
        }
        if located {
            self.with_locations.push(entry.offset);
        }
        let die = DieOffset(self.unit_offset + entry.offset.0 as u64);
        // Producers of a `.dwo` disagree on what it counts from.
        let named = stmt_sequence.map(|value| [value.wrapping_add(self.sequence_base), value]);
        let own_sequence =
            named.and_then(|offsets| offsets.into_iter().find_map(|at| self.lines.at_offset(at)));
        let mut ranges = Vec::new();
        let mut dead = self.live_ranges(die, &addresses, &mut ranges);
        let mut origin = None;
        if let Some(&(_, len)) = ranges.iter().find(|&&(start, _)| start == 0) {
            let found = self.origins.finish(place, identity, &mut self.diagnostics);
            if !self.code.believes_zero(self.origins.tables.name_of(found.0), len) {
                ranges.retain(|&(start, _)| start != 0);
            }
            origin = Some(found);
        }
        let span = (die.0, self.unit_offset + entries.next_offset().0 as u64);
        let live = !ranges.is_empty();
        let how = if live && self.was_restored(&addresses, span) {
            self.diagnostics.add(Kind::FoldedFunction, die.0, || format!("recovered at {:#x}", ranges[0].0));
            let own = own_sequence.map(|own| self.lines.sequences[own].start);
            Some(if own == Some(ranges[0].0) { How::StmtSequence } else { How::Relocation })
        } else if live {
            Some(How::LiveRange)
        } else if let Some(range) = self.folded_range(&addresses, own_sequence) {
            ranges.push(range);
            // Its sequence tells where the entry is; its other ranges are yet to be found.
            dead.retain(|dead| dead.part);
            Some(How::StmtSequence)
        } else {
            if dead.is_empty() {
                dead.push(DeadRange { len: 0, part: false });
            }
            None
        };
        let (origin, instance) = match origin {
            Some(found) => found,
            None => self.origins.finish(place, identity, &mut self.diagnostics),
        };
        // One with a sequence of its own, that is dead too, was removed and not folded.
        if how.is_none() && named.is_some_and(|offsets| offsets.iter().any(|&at| self.lines.is_dead(at))) {
            self.erased(die, (origin, instance), dead[0], true, Lost::default(), Calls::default());
            return Ok(Some(OpenKind::Without));
        }
        let lost = self.lost_tree(live, how, &addresses);
        let mut tree = self.spare.pop().unwrap_or_default();
        tree.nodes.push((origin, 0));
        self.building.push(OpenFunction {
            die,
            origin,
            instance,
            how,
            dead,
            ranges,
            own_sequence,
            tree,
            lost,
            calls: Vec::new(),
            all_tail_calls: all_tail_calls | all_calls,
            all_calls,
        });
        Ok(Some(OpenKind::Function))
    }

    fn close(&mut self, open: Option<OpenEntry>) {
        if open.is_some_and(|open| open.kind == OpenKind::Function)
            && let Some(function) = self.building.pop()
        {
            self.close_function(function);
        }
    }

    fn close_function(&mut self, mut function: OpenFunction) {
        if let Some(sequence) =
            function.own_sequence.filter(|_| function.how.is_some() && !function.lost.live)
        {
            self.by_sequence.push(BySequence { function: self.out.code.functions.len(), sequence });
        }
        self.named.extend(function.own_sequence.filter(|_| function.lost.live));
        let first_call = self.out.records.calls.len() as u32;
        self.out.records.calls.append(&mut function.calls);
        let OpenFunction { all_tail_calls, all_calls, .. } = function;
        let calls =
            Calls { range: first_call..self.out.records.calls.len() as u32, all_tail_calls, all_calls };
        let lost = self.keep_lost(&mut function);
        for dead in std::mem::take(&mut function.dead) {
            let named = (function.origin, function.instance);
            self.erased(function.die, named, dead, false, lost.clone(), calls.clone());
        }
        let Some(how) = function.how else {
            self.keep_tree(function.tree);
            return;
        };
        let mut segments = std::mem::take(&mut self.segments);
        self.painter.paint(&mut function.tree.ranges, &mut segments);
        let first_piece = self.out.code.pieces.len() as u32;
        let joined = lost.scopes.is_empty();
        for &(start, end) in &function.ranges {
            // A part that stands elsewhere has another.
            let covers = |own: &usize| {
                let sequence = &self.lines.sequences[*own];
                sequence.start <= start && start < sequence.end
            };
            let own = function.own_sequence.filter(covers);
            let whole = own.is_none_or(|own| self.lines.sequences[own].start == start);
            let rows = if whole && self.is_shared(start) {
                // Any number of ranges may have all that is inlined.
                let fits = self.joined.spend(segments.len());
                let segments = if fits { segments.clone() } else { Vec::new() };
                self.shared.push(SharedPiece {
                    piece: self.out.code.pieces.len(),
                    origin: function.origin,
                    named: own,
                    segments,
                    joined,
                });
                RowRange::default()
            } else {
                self.rows(own.map_or(RowOwner::Any, RowOwner::Sequence), &segments, start, end, joined)
            };
            self.out.code.pieces.push(UnitPiece {
                start: ImageAddr(start),
                len: (end - start) as u32,
                how,
                rows,
            });
        }
        self.segments = segments;
        let first_scope = self.out.code.scopes.len() as u32;
        self.out.code.scopes.append(&mut function.tree.scopes);
        self.out.code.functions.push(UnitFunction {
            die: function.die,
            origin: function.origin,
            instance: function.instance,
            how,
            external: self.origins.tables.is_external(function.origin),
            pieces: first_piece..self.out.code.pieces.len() as u32,
            scopes: first_scope..self.out.code.scopes.len() as u32,
            lost,
            calls,
        });
        self.keep_tree(function.tree);
    }

    fn finish(mut self) -> (Unit<'f>, Diagnostics, Memory) {
        let mut tables = self.origins.tables;
        if tables.full {
            let offset = self.unit_offset;
            self.diagnostics.add(Kind::CapReached, offset, || {
                format!("the unit at {offset:#x} has over {NONE16} files or 16 MiB of paths: later ones are unknown")
            });
        }
        if tables.name_bytes.is_none() {
            let offset = self.unit_offset;
            self.diagnostics.add(Kind::CapReached, offset, || {
                format!("the unit at {offset:#x} has longer names than fit its size: later ones are unknown")
            });
        }
        self.out.tables.names = std::mem::take(&mut tables.names);
        self.out.tables.files = std::mem::take(&mut tables.files);
        self.out.tables.origins = std::mem::take(&mut tables.origins);
        self.out.code.rows.shrink_to_fit();
        self.out.code.scopes.shrink_to_fit();
        let mut memory = Memory {
            edges: self.edge_ids,
            callees: self.callee_ids,
            ids: tables.into_ids(),
            plans: self.plans,
            identities: self.origins.entries.into_plans(),
            ..Memory::default()
        };
        memory.edges.empty();
        empty(&mut memory.callees);
        (self.out, self.diagnostics, memory)
    }
}

/// The last component of a unit's path, or the end of it.
fn file_name(path: &[u8]) -> &[u8] {
    base_name(&path[path.len().saturating_sub(MAX_FILE_NAME)..])
}

/// The addresses that the unit names by index, if they have 8 bytes.
fn addresses<'f, E: Endianity>(dwarf: &Dwarf<'f, E>, unit: &gimli::Unit<Bytes<'f, E>>) -> &'f [u8] {
    match unit.header.address_size() {
        8 => dwarf.debug_addr.reader().slice().get(unit.addr_base.0..).unwrap_or_default(),
        _ => &[],
    }
}

/// clang's pointer to the line sequence of a function (LLVM 20 and later).
const DW_AT_LLVM_STMT_SEQUENCE: gimli::DwAt = gimli::DwAt(0x3e0c);

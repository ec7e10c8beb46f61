//! Reads split units: finds the unit of a skeleton in a package or in a `.dwo`, and walks it with the skeleton's addresses and
//! line program.
//!
//! A thread maps a `.dwo` only while it reads its unit, so each thread has at most one `.dwo` mapped. Only the names outlive
//! the mapping; [`NamePool`](super::pool::NamePool) copies each once. A skeleton in a `.dwo`, which would lead to another
//! file, is never followed, so that files cannot form a cycle.

use std::sync::atomic::Ordering;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::Unit;
use crate::open::{DebugSection, DebugSections, Files, OpenError, open_dwo};
use crate::read::limits::{allowed_entries, held_by_lists};
use crate::read::sections::abbreviations::{AbbreviationTable, Abbreviations};
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::sections::package::Package;
use crate::read::shared_lines::ReadLines;
use crate::read::space::{Info, Space, Without, load, offset_of, root_attributes, string};
use crate::read::unit::file::FileTable;
use crate::read::unit::source::UnitSource;
use crate::read::units::shared_rows::SharedUser;
use crate::read::units::split_files::{foreign, note_opened};
use crate::read::units::task::UnitTask;
use crate::util::budget::STEPS_PER_BYTE;
use crate::util::text::{shown_path, shown_reason};

/// The steps for opening a file, and for each unit header in it: about the number of bytes that are read.
const OPEN_STEPS: u64 = 1 << 12;
const HEADER_STEPS: u64 = 1 << 5;

/// The most ids of other units that a message names.
const MAX_IDS_NAMED: usize = 4;

/// The cost of finding and reading a split unit. It is counted, since any number of skeletons may name the same file and unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SplitSteps {
    /// Steps for searching files.
    pub(crate) find: u64,
    /// Steps for reading the unit: its bytes.
    pub(crate) unit: u64,
    /// The unit's shared items: entries of range lists, and rows past `OWN_ROWS`.
    pub(crate) shared: u64,
    /// The part of `shared` that the lists in its own file allow.
    pub(crate) own: u64,
}

impl SplitSteps {
    /// The shared items beyond what the unit's own file allows.
    pub(crate) fn beyond_own(&self) -> u64 {
        self.shared.saturating_sub(self.own)
    }

    /// The shared items that count against the limit: all of them if another unit has the same file (`is_known`).
    pub(crate) fn of_others(&self, is_known: bool) -> u64 {
        if is_known { self.shared } else { self.beyond_own() }
    }
}

/// A unit whose entries are in a `.dwo` (DWARF 5 3.1.2; in DWARF 4 a GNU extension).
pub(crate) struct Skeleton<'a, 'f, E: Endianity> {
    /// The unit at this index of the program.
    index: usize,
    unit: &'a gimli::Unit<Bytes<'f, E>>,
    pub(crate) id: u64,
    name: &'f [u8],
}

/// The unit as a skeleton; `None` for a unit that has its entries itself.
pub(crate) fn skeleton<'a, 'f, E: Endianity>(
    info: &Info<'f, E>,
    index: usize,
    unit: &'a gimli::Unit<Bytes<'f, E>>,
    abbreviations: Abbreviations<'_, 'f>,
) -> Option<Skeleton<'a, 'f, E>> {
    if matches!(unit.header.type_(), gimli::UnitType::SplitCompilation(_)) {
        return None;
    }
    let id = unit.dwo_id?.0;
    let mut name = None;
    let has_lines = unit.line_program.is_some() || info.shared_program(index).is_some();
    let mut has_code = false;
    let read = root_attributes(&unit.header, abbreviations, |attribute| match attribute.name() {
        gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name => {
            name = string(&info.dwarf, unit, attribute.value());
        }
        gimli::DW_AT_low_pc | gimli::DW_AT_ranges => has_code = true,
        _ => {}
    });
    read.ok()?;
    let name = name.map_or(&[][..], |name| name.slice());
    // clang writes no `.dwo` for a unit without described functions (`-g1 -gsplit-dwarf`): its skeleton names none.
    if name.is_empty() && id == 0 {
        return None;
    }
    // A skeleton without code and lines, or whose file is one of clang's modules (`-gmodules`), refers to declarations only.
    let is_module = !has_code && (!has_lines || name.ends_with(b".pcm"));
    (!is_module).then_some(Skeleton { index, unit, id, name })
}

/// Reads the split unit of a skeleton. If it is not found, this is counted and the result is `None`.
pub(crate) fn read<'f, E: Endianity>(
    task: &UnitTask<'_, 'f, E>,
    skeleton: &Skeleton<'_, 'f, E>,
    steps: &mut SplitSteps,
    diagnostics: &mut Diagnostics,
) -> Option<Unit<'f>> {
    let die_off = offset_of(&skeleton.unit.header);
    if task.supply.closed.load(Ordering::Relaxed) {
        diagnostics.add(Kind::Cap(Cap::DwoReads), die_off, || {
            format!(
                "unit at .debug_info+{die_off:#x} (dwo id {:#018x}) is read without its .dwo: \
                 units before it name the same files again and again, which took over {STEPS_PER_BYTE} steps for each byte of the input",
                skeleton.id
            )
        });
        return None;
    }
    if let Some(package) = &task.supply.package {
        match in_package(task, skeleton, package, steps, diagnostics) {
            Ok(Some(unit)) => return Some(unit),
            Ok(None) => {}
            Err(problem) => diagnostics.add(Kind::BadPackageUnit, die_off, || {
                format!("unit at .debug_info+{die_off:#x} (dwo id {:#018x}): {problem}", skeleton.id)
            }),
        }
    }
    let mut missed = Missed::default();
    let comp_dir = skeleton.unit.comp_dir.map_or(&[][..], |dir| dir.slice());
    let mut candidates = task.supply.finder.find(comp_dir, skeleton.name);
    for path in candidates.by_ref() {
        // A file that cannot be opened counts too: the searching takes the time.
        steps.find += OPEN_STEPS;
        let files = Files::new();
        let file = match open_dwo(&files, &path) {
            Ok(file) => file,
            Err(error) => {
                missed.unreadable(error);
                continue;
            }
        };
        note_opened(&file, diagnostics);
        if let Some(problem) = foreign(&file.arch, &task.supply.arch) {
            missed.other_build(format!("{}: {problem}", path.display()));
            continue;
        }
        let before = steps.find;
        let brings = files.allowance().input();
        // The bytes of the `.dwo` are input as well, so the unit may take memory for them.
        let with_file = UnitTask { allowance: task.allowance.and(brings), ..*task };
        let read = from_sections(&with_file, skeleton, &file.debug, steps, diagnostics);
        // If the file has several units or the wrong one, its decompressed sections count as search.
        if steps.find > before + HEADER_STEPS || read.is_err() {
            steps.find += files.buffer_bytes();
        }
        match read {
            Ok(mut unit) => {
                unit.tables.brings = brings;
                unit.tables.strings += file.debug.get(DebugSection::Str).len() as u64;
                return Some(unit.with_names(|names| task.supply.names.keep(names)));
            }
            Err(problem) => missed.other_build(format!("{}: {problem}", path.display())),
        }
    }
    let name = shown_path(skeleton.name);
    // A file of another build is reported as a mismatch even if other places have no file: the user can act on that.
    let kind = if missed.other_build { Kind::DwoMismatch } else { Kind::MissingDwo };
    let reason = missed.reason.unwrap_or_else(|| match (candidates.refused(), candidates.irregular()) {
        (Some(path), _) => {
            format!("{} is outside the given directories", shown_path(path.as_os_str().as_encoded_bytes()))
        }
        (None, Some(path)) => {
            format!("{} is not a regular file", shown_path(path.as_os_str().as_encoded_bytes()))
        }
        (None, None) => format!("not found, compiled in {}", shown_path(comp_dir)),
    });
    diagnostics.add(kind, die_off, || {
        format!("unit at .debug_info+{die_off:#x} needs {name} (dwo id {:#018x}): {reason}", skeleton.id)
    });
    None
}

/// Why no candidate was used: the first one of another build, else the first damaged one.
#[derive(Default)]
struct Missed {
    other_build: bool,
    reason: Option<String>,
}

impl Missed {
    fn other_build(&mut self, reason: String) {
        if !self.other_build {
            self.other_build = true;
            self.reason = Some(shown_reason(&reason));
        }
    }

    fn unreadable(&mut self, error: OpenError) {
        self.reason.get_or_insert_with(|| shown_reason(&error.to_string()));
    }
}

/// Reads a unit of a package. The unit borrows from the package, which stays open.
fn in_package<'f, E: Endianity>(
    task: &UnitTask<'_, 'f, E>,
    skeleton: &Skeleton<'_, 'f, E>,
    package: &Package<'f, E>,
    steps: &mut SplitSteps,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Unit<'f>>, String> {
    let mut problem = None;
    for sections in package.find(skeleton.id, skeleton.unit.header.version())? {
        // If the place turns out to belong to another unit, its diagnostics are dropped.
        let mut counted = Diagnostics::default();
        match from_sections(task, skeleton, &sections, steps, &mut counted) {
            Ok(unit) => {
                diagnostics.merge(counted);
                // The lists of a package count for the whole program, so none of them count as the unit's own.
                steps.own = 0;
                // Releases the unit's pages, as unmapping does for a `.dwo`. Pages of strings that other units share are read again.
                use DebugSection::{Info, RngLists, Str, StrOffsets};
                for section in [Info, StrOffsets, RngLists, Str] {
                    task.supply.files.release(sections.get(section));
                }
                return Ok(Some(unit));
            }
            Err(found) => problem = Some(found),
        }
    }
    problem.map_or(Ok(None), Err)
}

/// Reads the skeleton's unit from the sections of its `.dwo`.
///
/// # Errors
/// There is no unit with the skeleton's id. The text says what was found instead.
fn from_sections<'d, 'f: 'd, E: Endianity>(
    task: &UnitTask<'_, 'f, E>,
    skeleton: &Skeleton<'_, 'f, E>,
    sections: &DebugSections<'d>,
    steps: &mut SplitSteps,
    diagnostics: &mut Diagnostics,
) -> Result<Unit<'d>, String> {
    let main = &task.space.main;
    let mut dwarf: Dwarf<'d, E> = load(sections, task.supply.endian);
    dwarf.make_dwo(&main.dwarf);
    let mut own = Info::of(dwarf, sections.get(DebugSection::LocLists), task.supply.files, diagnostics);
    own.relative_paths = main.relative_paths;
    let space = Space { main: own, supplementary: None };
    let headers = &space.main.headers;
    let abbreviations = sections.get(DebugSection::Abbrev).len() as u64;
    steps.find += headers.len() as u64 * HEADER_STEPS;
    // Before DWARF 5 the id is in the root DIE, so the root of each unit must be read.
    if headers.len() > 1 && headers.iter().any(|header| header.type_() == gimli::UnitType::Compilation) {
        steps.find += abbreviations;
    }
    let (index, mut unit) = find_unit(&space.main, skeleton.id, diagnostics).inspect_err(|_| {
        steps.find += abbreviations;
    })?;
    steps.unit += space.main.headers[index].length_including_self() as u64 + abbreviations;
    // The bases of addresses and ranges are in the skeleton alone, since a linker relocates no `.dwo`.
    unit.copy_relocated_attributes(skeleton.unit);
    // clang does not write it into the `.dwo`. If both have it, the skeleton's counts.
    unit.comp_dir = skeleton.unit.comp_dir.or(unit.comp_dir);
    let rows = FileTable::of(
        (&main.dwarf, main.relative_paths),
        skeleton.unit,
        main.line_header(skeleton.index, skeleton.unit),
    );
    // gcc writes `.debug_line.dwo`, clang only with type units. Without it, `DW_AT_decl_file` is an index in the
    // skeleton's table.
    let files = match space.main.line_header(index, &unit) {
        Some(header) => FileTable::of((&space.main.dwarf, main.relative_paths), &unit, Some(header)),
        None => rows,
    };
    let mut own = AbbreviationTable::default();
    let abbreviations = space.main.abbreviations(index, &mut own).map_err(|error| error.to_string())?;
    let shared = SharedUser::of(main, skeleton.index);
    let shared_rows = shared.as_ref().map(|shared| shared as &dyn ReadLines);
    let (space, unit) = (&space, &unit);
    // `listed` is empty: the call tables name units by offsets in the program's `.debug_info`.
    let object_lines = main.object_lines(skeleton.index).unwrap_or(0) as u64;
    let listed = &[];
    let source =
        UnitSource { space, unit, index, abbreviations, files, rows, shared_rows, listed, object_lines };
    // Each unit of the file gets an equal part of what its lists allow, so that the order of the units does not count.
    steps.own = allowed_entries(held_by_lists(sections)) / headers.len().max(1) as u64;
    let (read, shared) = task.walk(&source, diagnostics);
    steps.shared = shared;
    Ok(read)
}

/// The split unit with an id, and its index.
///
/// # Errors
/// There is none. The text says what was found instead.
fn find_unit<'d, E: Endianity>(
    info: &Info<'d, E>,
    id: u64,
    diagnostics: &mut Diagnostics,
) -> Result<(usize, gimli::Unit<Bytes<'d, E>>), String> {
    let mut found = None;
    let mut others = Vec::new();
    let mut damage = None;
    let mut own = AbbreviationTable::default();
    for (index, header) in info.headers.iter().enumerate() {
        let known = match header.type_() {
            gimli::UnitType::SplitCompilation(known) => Some(known.0),
            // Before DWARF 5 the id is an attribute of the root.
            gimli::UnitType::Compilation => None,
            gimli::UnitType::Skeleton(known) => {
                let offset = offset_of(header);
                damage.get_or_insert_with(|| {
                    format!(
                        "a skeleton at .debug_info.dwo+{offset:#x}, id {:#018x}, is not followed",
                        known.0
                    )
                });
                continue;
            }
            _ => continue,
        };
        // A `.dwo` of link-time optimization has several units, so the id decides, and not the position.
        if let Some(known) = known.filter(|&known| known != id) {
            others.push(known);
            continue;
        }
        let unit = info.abbreviations(index, &mut own).and_then(|own| info.parse(index, own));
        let unit = unit.and_then(|(unit, without)| match without {
            None => Ok(unit),
            Some(Without::Damaged(error)) => Err(error),
            Some(Without::Lines(past_budget)) => {
                past_budget.report(offset_of(header), diagnostics);
                Ok(unit)
            }
        });
        match unit {
            Ok(unit) => match unit.dwo_id.map(|id| id.0) {
                Some(known) if known != id => others.push(known),
                Some(_) if found.is_none() => found = Some((index, unit)),
                Some(_) => diagnostics.add(Kind::DuplicateDwoUnit, offset_of(header), || {
                    format!("two units of one file have dwo id {id:#018x}: the first is read")
                }),
                None => {}
            },
            Err(error) => {
                damage.get_or_insert_with(|| {
                    format!("unit at .debug_info.dwo+{:#x}: {error}", offset_of(header))
                });
            }
        }
    }
    found.ok_or_else(|| {
        let mut ids: Vec<String> =
            others.iter().take(MAX_IDS_NAMED).map(|id| format!("{id:#018x}")).collect();
        if others.len() > MAX_IDS_NAMED {
            ids.push(format!("{} more", others.len() - MAX_IDS_NAMED));
        }
        match (ids.is_empty(), damage) {
            (false, _) => format!("belongs to another build, its dwo id is {}", ids.join(", ")),
            (true, Some(damage)) => damage,
            (true, None) => "no unit with a dwo id".to_owned(),
        }
    })
}

//! Turns a [`Program`] into the bytes of a `.fsym` file, as `schema/README.md` defines it.
//!
//! Each step is a file. `outline` lists the functions and row records that the file holds. `usage` marks the scopes, edges
//! and files that they need. `plan` sorts these and gives them ids. `scopes` and `rows` write the records of functions,
//! `sections` and `tables` the tables that refer to the records, `names` the strings, `index` the index by name, and
//! `layout` the file. The steps read the model in place and never copy it.
//!
//! The same program and options give the same bytes, whatever the number of threads: tasks have fixed sizes, their results
//! are joined in order, and no hash map is iterated.

mod basic_blocks;
mod bits;
mod calls;
mod dedup;
mod encoded;
mod image;
mod imports;
mod index;
mod input;
mod layout;
mod locations;
pub mod names;
mod outline;
mod plan;
pub(crate) mod readable;
mod row_block;
mod rows;
mod scopes;
mod section;
mod sections;
mod sort;
mod starts;
mod tables;
mod unwind;
mod usage;
mod variables;

use crate::model::{Block, EncodeStats, Keys, LeftOut, Piece, Program};
use crate::util::pages::{NAME_WINDOWS, ReadWindows};
pub use encoded::Encoded;
use foldsym_format::sections::segments;
use foldsym_format::{DebugInfo, Header, SectionId, header};
pub(crate) use input::Demangle;
pub use input::{EncodeOptions, ImageInfo, LoadedSection};
use outline::Outline;
use plan::{Plan, stored};
use rows::{RowCounts, RowSection, RowSource};
use scopes::{TreeCounts, Trees};
pub use section::EncodeError;
pub(crate) use section::Section;
use section::{MAX_SPAN, MAX_TEXT_BYTES};
use sections::RecordTables;
use usage::{NeededNodes, Usage};

/// A file without its keys and without its conversion record.
pub struct Body {
    header: Header,
    sections: Vec<Section>,
    stats: EncodeStats,
    outline: Outline,
}

/// Encodes a program without its keys: no other section depends on them.
///
/// Uses the threads of the current `rayon` pool. Calls `names_done` when many texts of names were read and few, or none, will be.
///
/// # Errors
/// The code spans too many addresses, there are too many records, the names are too long, or an optional section cannot be built.
pub fn body(
    program: &Program<'_>,
    image: &ImageInfo,
    options: &EncodeOptions,
    names_done: &(dyn Fn() + Sync),
) -> Result<Body, EncodeError> {
    let image_base = check(program, image)?;
    let outline = Outline::of(program);
    let mut usage = Usage::of(program, &outline);
    let plan = Plan::of(program, &outline, &usage, options.columns);
    let tables =
        RecordTables { program, outline: &outline, plan: &plan, columns: options.columns, image_base };
    // Taken, not borrowed: `Trees::build` frees the marks of each task with its trees, and those of a large program are
    // megabytes.
    let needed = std::mem::take(&mut usage.nodes);
    let unit_log2 = if usage.offsets == 0 { 0 } else { usage.offsets.trailing_zeros().min(MAX_UNIT_LOG2) };

    let strings = || {
        let strings = rayon::join(
            || encode_strings(program, &plan, names_done),
            || index::section(program, &outline, &plan, options),
        );
        names_done();
        strings
    };
    let code =
        || rayon::join(|| encode_code(&tables, needed, usage.stray_scopes, unit_log2), || tables.sources());
    // The texts of names and the trees of a large program are not in memory together.
    let is_large = program.scratch().is_some();
    let ((names, index), (code, sources)) = match is_large {
        true => (strings(), code()),
        false => rayon::join(strings, code),
    };
    let mut sections = code.sections;
    sections.extend(sources);
    sections.extend(names);
    sections.extend(index?);
    let (imports, imports_outside) = imports::section(program, &plan, image_base);
    sections.extend(imports);
    let (variables, variables_outside) = variables::section(program, &plan, image_base);
    sections.extend(variables);
    sections.extend(basic_blocks::sections(&program.blocks, image_base));
    sections.extend(program.unwind.as_ref().map(|rows| unwind::section(rows, image_base)).transpose()?);
    sections.push(Section::new(SectionId::BUILD_ID, image.build_id.clone()));
    sections.push(Section::new(SectionId::SECTIONS, sections::loaded_sections(image, image_base)));
    if !image.segments.is_empty() {
        sections.push(Section::new(SectionId::SEGMENTS, sections::loaded_segments(image, image_base)));
    }

    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    // Names are sorted by bytes, so only the first one can be empty.
    let first_name = plan.names.order.first();
    let header = Header {
        features: if options.columns { foldsym_format::features::COLUMNS } else { 0 },
        image_base,
        machine: image.machine,
        address_size: image.address_size,
        flags: flag(image.big_endian, header::flags::BIG_ENDIAN)
            | flag(image.relocatable, header::flags::RELOCATABLE)
            | flag(image.mach_o, header::flags::MACH_O)
            | flag(image.readable_names, header::flags::READABLE_NAMES)
            | flag(
                first_name.is_some_and(|&id| program.names[id as usize].is_empty()),
                header::flags::EMPTY_NAME,
            ),
        unit_log2: unit_log2 as u8,
        max_depth: code.max_depth,
        max_group: code.max_group,
        // `layout` fills in the sizes.
        ..Header::default()
    };
    let stats = EncodeStats {
        pieces: program.pieces.len() as u64,
        functions: outline.functions.len() as u64,
        origins: plan.origins.len() as u64,
        edges: plan.edges.len() as u64,
        names: plan.names.order.len() as u64,
        files: plan.files.order.len() as u64,
        rows_read: usage.rows,
        scopes_read: usage.scopes,
        left_out: LeftOut { tables_outside: imports_outside + variables_outside, ..code.stats.left_out },
        ..code.stats
    };
    Ok(Body { header, sections, stats, outline })
}

impl Body {
    /// Adds the keys of the program, and section RECORD. `record` is how much of the debug information was kept, and the bytes of a
    /// [`ConversionRecord`](crate::report::ConversionRecord) before compression.
    ///
    /// # Errors
    /// The record cannot be compressed.
    pub fn finish(
        self,
        program: &Program<'_>,
        keys: &Keys,
        record: Option<(DebugInfo, &[u8])>,
    ) -> Result<Encoded, EncodeError> {
        let Body { mut header, mut sections, mut stats, outline } = self;
        let (of_keys, tables_outside) = calls::sections(keys, &outline, header.image_base);
        let (located, objects) = locations::sections(program, keys, &outline, header.image_base);
        sections.extend(of_keys);
        sections.extend(located);
        if let Some((level, record)) = record {
            header.flags |= level.code() << header::flags::DEBUG_INFO_SHIFT;
            // A record has a few kilobytes, so the slowest level takes no time that matters.
            let bytes = zstd::bulk::compress(record, 19).map_err(EncodeError::Record)?;
            sections.push(Section::new(SectionId::RECORD, bytes));
        }
        // Ids rise strictly in the directory (schema, section 2).
        sections.sort_by_key(|section| section.id);
        stats.objects = objects;
        stats.left_out.tables_outside += tables_outside;
        Ok(Encoded { header, sections, stats })
    }
}

/// Log2 of the largest unit of row offsets: no processor aligns its instructions to more than 4 bytes.
const MAX_UNIT_LOG2: u32 = 2;
/// The most records of one kind in a file: the column for the owner of a piece holds twice the number of a function.
const MAX_RECORDS: usize = 1 << 31;

/// Checks that the program can be stored. Returns the image base of the file, to which all its addresses are relative.
fn check(program: &Program<'_>, image: &ImageInfo) -> Result<u64, EncodeError> {
    // Of all groups together, since MEMBERS is one table.
    let members = program.groups.iter().map(|group| group.members.len()).sum();
    for (what, count) in [
        ("pieces", program.pieces.len()),
        ("functions", program.functions.len()),
        ("origins", program.origins.len()),
        ("calls", program.edges.len()),
        ("names", program.names.len()),
        ("files", program.files.len()),
        ("members of groups", members),
        ("basic blocks", program.blocks.blocks.len()),
        ("rows of call frame information", program.unwind.as_ref().map_or(0, |unwind| unwind.rows.len())),
    ] {
        if count >= MAX_RECORDS {
            return Err(EncodeError::TooMany { what, count });
        }
    }
    if image.segments.len() > segments::MAX as usize {
        return Err(EncodeError::TooManySegments { count: image.segments.len() });
    }
    for (what, bytes) in [
        ("names", program.names.iter().map(|name| stored(name).len()).sum()),
        ("paths", program.files.iter().map(|path| stored(path).len()).sum()),
    ] {
        if bytes > MAX_TEXT_BYTES {
            return Err(EncodeError::TooLong { what, bytes });
        }
    }
    let blocks = &program.blocks.blocks;
    let rows = program.unwind.as_ref().map_or(&[][..], |unwind| &unwind.rows);
    let first = program.pieces.first().map(|piece| piece.start.0).into_iter();
    let piece_end =
        // Code may end at the end of the address space (a kernel), so the sum may be 2^64.
        |piece: &Piece| piece.start.0.saturating_add(u64::from(piece.body) + u64::from(piece.pad));
    let last = program.pieces.last().map(piece_end).into_iter();
    // A basic-block map may have blocks outside of all known functions, and call frame information may have rows there.
    let first_block = blocks.first().map(|block| block.start.0);
    let Some(lowest) = first.chain(first_block).chain(rows.first().map(|row| row.start)).min() else {
        return Ok(image.image_base);
    };
    let block_end = |block: &Block| block.start.0.saturating_add(u64::from(block.size));
    let last = last.chain(blocks.last().map(block_end)).chain(rows.last().map(|row| row.start));
    let highest = last.max().unwrap_or(lowest);
    let fits = |base: u64| highest.checked_sub(base).is_some_and(|span| span < MAX_SPAN) && base <= lowest;
    // A Linux kernel has a segment at 0 for per-CPU data, far below its code.
    [image.image_base, lowest]
        .into_iter()
        .find(|&base| fits(base))
        .ok_or(EncodeError::AddressSpan { lowest, highest })
}

/// NAMES and FILES.
fn encode_strings(program: &Program<'_>, plan: &Plan, names_done: &(dyn Fn() + Sync)) -> [Section; 2] {
    // The names of a large program are all over its files, and each is read once.
    let (is_large, names_read) = (program.scratch().is_some(), ReadWindows::default());
    let name = |i: usize| {
        let name = &*program.names[plan.names.order[i] as usize];
        if is_large && names_read.is_over(name, NAME_WINDOWS) {
            names_read.clear();
            names_done();
        }
        name
    };
    let file = |i: usize| &program.files[plan.files.order[i] as usize][..];
    let names = || {
        let names = names::encode_list(plan.names.order.len(), name, names_done);
        Section::new(SectionId::NAMES, names)
    };
    let files = || {
        let files = names::encode_list(plan.files.order.len(), file, &|| ());
        Section::new(SectionId::FILES, files)
    };
    let (names, files) = rayon::join(names, files);
    [names, files]
}

/// The sections that describe code, and the header fields and counts that come from them.
struct LoadedCode {
    sections: Vec<Section>,
    max_depth: u32,
    max_group: u32,
    stats: EncodeStats,
}

/// ROWS, SCOPES and the tables that refer to them.
fn encode_code(
    tables: &RecordTables<'_>,
    needed: Vec<NeededNodes>,
    stray_scopes: u64,
    unit_log2: u32,
) -> LoadedCode {
    let &RecordTables { program, outline, plan, columns, .. } = tables;
    let trees = Trees::build(program, outline, needed, plan);
    let source = RowSource { program, outline, plan, trees: &trees, columns, unit_log2 };
    let of_functions = || {
        let (scopes, offsets) = trees.section();
        (scopes, tables.functions(&offsets))
    };
    let (of_rows, (scopes, functions)) = rayon::join(|| source.section(), of_functions);
    let RowSection { store: rows, offsets: row_offsets, counts: row_counts, .. } = of_rows;
    let (mut sections, groups) = tables.pieces(&row_offsets);
    sections.extend(functions);

    let TreeCounts { nodes, max_depth, too_deep, foreign } = trees.counts();
    let RowCounts { rows: rows_stored, blocks, shared_blocks } = row_counts;
    let stats = EncodeStats {
        groups: groups.groups,
        members: groups.members,
        rows: rows_stored,
        row_blocks: blocks,
        row_records: rows.records(),
        row_records_shared: rows.shared,
        row_blocks_shared: shared_blocks,
        scopes: nodes,
        scope_records: scopes.records(),
        scope_records_shared: scopes.shared,
        left_out: LeftOut {
            scopes_too_deep: too_deep,
            scopes_foreign: foreign,
            rows_stray: stray_scopes,
            ..LeftOut::default()
        },
        ..EncodeStats::default()
    };
    sections.push(Section::new(SectionId::ROWS, rows.finish()));
    sections.push(Section::new(SectionId::SCOPES, scopes.finish()));
    LoadedCode { sections, max_depth, max_group: groups.largest, stats }
}

#[cfg(test)]
mod tests {
    use super::input::ProgramSegment;
    use super::*;

    #[test]
    fn more_segments_than_a_reader_accepts_are_an_error() {
        let segment = ProgramSegment { start: 0, len: 8, file_offset: 0, file_len: 8, executable: true };
        let checked = |count| {
            let image = ImageInfo { segments: vec![segment.clone(); count], ..ImageInfo::default() };
            check(&Program::default(), &image)
        };
        assert_eq!(checked(1 << 16).unwrap(), 0);
        let error = checked((1 << 16) + 1).unwrap_err();
        assert_eq!(error.to_string(), "65537 segments: a file holds at most 65536");
    }
}

//! Turns the decided program into the bytes of a `.fsym` file, as `schema/README.md` defines it.
//!
//! The steps, each a file: `outline` lists the functions and row records of the file; `usage` marks what
//! they need; `plan` sorts that and gives it ids; `scopes` and `rows` write the records of functions;
//! `sections` and `tables` the tables between them; `names` the strings; `index` the search by name;
//! `layout` the file. The model is read in place, never copied.
//!
//! The same program and options give the same bytes, whatever the number of threads: tasks have fixed
//! sizes, their results are joined in order, and no hash map is walked.

mod basic_blocks;
mod bits;
mod calls;
mod dedup;
mod image;
mod index;
mod layout;
mod locations;
pub mod names;
mod outline;
mod plan;
pub(crate) mod readable;
mod row_block;
mod rows;
mod scopes;
mod sections;
mod sort;
mod starts;
mod tables;
#[cfg(test)]
mod tests;
mod unwind;
mod usage;

use crate::model::{Block, Keys, Program};
use foldsym_format::{Header, SectionId, header};
pub use locations::ObjectCounts;
use outline::Outline;
use plan::{Plan, stored};
use rows::{RowCounts, RowSource};
use scopes::{TreeCounts, Trees};
use sections::RecordTables;
use usage::Usage;

/// The readable form of a mangled name; `None` for a name that is not mangled.
pub type Demangle = fn(&[u8]) -> Option<String>;

/// What goes into the file.
#[derive(Clone, Debug, Default)]
pub struct EncodeOptions {
    /// Keep the columns of rows and calls.
    pub columns: bool,
    /// Write the index for searching by name.
    pub name_index: bool,
    /// Adds demangled names to that index.
    pub demangle: Option<Demangle>,
}

/// What the file says of the program as a whole.
#[derive(Clone, Debug, Default)]
pub struct ImageInfo {
    pub build_id: Vec<u8>,
    /// ELF `e_machine`.
    pub machine: u16,
    /// Bytes of an address: 4 or 8.
    pub address_size: u8,
    pub big_endian: bool,
    /// Addresses are synthetic: those of the sections in the list below.
    pub relocatable: bool,
    pub mach_o: bool,
    /// The program's names are readable ones.
    pub readable_names: bool,
    /// Lowest address of a loadable segment.
    pub image_base: u64,
    pub sections: Vec<LoadedSection>,
    /// What of the program's file is loaded where.
    pub segments: Vec<ProgramSegment>,
    /// The program may be loaded at any address.
    pub position_independent: bool,
}

/// A section of the program that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSection {
    pub name: Vec<u8>,
    pub start: u64,
    pub size: u64,
    pub executable: bool,
}

/// A part of the program's file that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramSegment {
    pub start: u64,
    /// Bytes of memory.
    pub len: u64,
    pub file_offset: u64,
    pub file_len: u64,
    pub executable: bool,
}

/// Why no file was made.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("code reaches from {lowest:#x} to {highest:#x}: a file holds at most 2^47 bytes of addresses")]
    AddressSpan { lowest: u64, highest: u64 },
    #[error("{count} {what}: a file holds less than 2^31")]
    TooMany { what: &'static str, count: usize },
    #[error("the {what} have {bytes} bytes together: a file holds at most {MAX_TEXT_BYTES}")]
    TooLong { what: &'static str, bytes: usize },
    #[error("the {what} of UNWIND have {bytes} bytes: a file holds less than 2^32")]
    UnwindPart { what: &'static str, bytes: usize },
    #[error("the name index cannot be built")]
    NameIndex(#[source] fst::Error),
    #[error("the record cannot be compressed")]
    Record(#[source] std::io::Error),
}

/// A section of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub id: SectionId,
    pub bytes: Vec<u8>,
}

impl Section {
    fn new(id: SectionId, bytes: Vec<u8>) -> Section {
        Section { id, bytes }
    }
}

/// What the file holds, and what was left out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeStats {
    pub pieces: u64,
    pub functions: u64,
    pub groups: u64,
    pub members: u64,
    pub origins: u64,
    pub edges: u64,
    pub names: u64,
    pub files: u64,
    /// Rows of all pieces and members as they were read, and what is stored: distinct records.
    pub rows_read: u64,
    pub rows: u64,
    pub row_blocks: u64,
    pub row_records: u64,
    /// Pieces and members whose record is an earlier one's.
    pub row_records_shared: u64,
    /// Blocks that use another's offsets.
    pub row_blocks_shared: u64,
    /// Scopes of all functions as they were read; after dropping and merging; in distinct records.
    pub scopes_read: u64,
    pub scopes: u64,
    pub scope_records: u64,
    pub scope_records_shared: u64,
    /// Where the pointers to the objects of methods are, if that was asked for.
    pub objects: ObjectCounts,
    pub left_out: LeftOut,
}

/// What could not be stored as it was read. All 0 for programs that compilers make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Scopes deeper than 255; their rows count as those of the ancestor there.
    pub scopes_too_deep: u64,
    /// Scopes whose call is not one of their parent's origin; their rows count as the parent's.
    pub scopes_foreign: u64,
    /// Rows with a scope that their function does not have; they count as the function's own.
    pub rows_stray: u64,
    /// Keys of tables of virtual functions that are below the image base.
    pub tables_outside: u64,
}

/// A file that is ready to be written.
#[derive(Clone, Debug)]
pub struct Encoded {
    header: Header,
    /// In the order of the file.
    pub sections: Vec<Section>,
    pub stats: EncodeStats,
}

/// A file but for its keys, and for what tells how it was made.
pub struct Body {
    header: Header,
    sections: Vec<Section>,
    stats: EncodeStats,
    outline: Outline,
}

/// Encodes a program but for its keys, which nothing else depends on.
///
/// Uses the threads of the current `rayon` pool.
///
/// # Errors
/// If the code spans too many addresses, there are too many records or too long names, or the optional sections fail.
pub fn body(program: &Program<'_>, image: &ImageInfo, options: &EncodeOptions) -> Result<Body, EncodeError> {
    let image_base = check(program, image)?;
    let outline = Outline::of(program);
    let usage = Usage::of(program, &outline);
    let plan = Plan::of(program, &outline, &usage, options.columns);
    let tables =
        RecordTables { program, outline: &outline, plan: &plan, columns: options.columns, image_base };
    let unit_log2 = if usage.offsets == 0 { 0 } else { usage.offsets.trailing_zeros().min(MAX_UNIT_LOG2) };

    let ((names, index), (code, sources)) = rayon::join(
        || {
            rayon::join(
                || encode_strings(program, &plan),
                || index::section(program, &outline, &plan, options),
            )
        },
        || rayon::join(|| encode_code(&tables, &usage, unit_log2), || tables.sources()),
    );
    let mut sections = code.sections;
    sections.extend(sources);
    sections.extend(names);
    sections.extend(index?);
    sections.extend(basic_blocks::sections(&program.blocks, image_base));
    sections.extend(program.unwind.as_ref().map(|rows| unwind::section(rows, image_base)).transpose()?);
    sections.push(Section::new(SectionId::BUILD_ID, image.build_id.clone()));
    sections.push(Section::new(SectionId::SECTIONS, sections::loaded_sections(image, image_base)));
    if !image.segments.is_empty() {
        sections.push(Section::new(SectionId::SEGMENTS, sections::loaded_segments(image, image_base)));
    }

    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let first_name = plan.names.order.first();
    let header = Header {
        features: if options.columns { header::features::COLUMNS } else { 0 },
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
        // `layout` knows the sizes.
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
        ..code.stats
    };
    Ok(Body { header, sections, stats, outline })
}

impl Body {
    /// The file with the keys of the program. `record`: JSON that tells how it was made.
    ///
    /// # Errors
    /// The record cannot be compressed.
    pub fn finish(
        self,
        program: &Program<'_>,
        keys: &Keys,
        record: Option<&[u8]>,
    ) -> Result<Encoded, EncodeError> {
        let Body { header, mut sections, mut stats, outline } = self;
        let (of_keys, tables_outside) = calls::sections(keys, &outline, header.image_base);
        let (located, objects) = locations::sections(program, keys, &outline, header.image_base);
        sections.extend(of_keys);
        sections.extend(located);
        if let Some(record) = record {
            let bytes = zstd::bulk::compress(record, 19).map_err(EncodeError::Record)?;
            sections.push(Section::new(SectionId::RECORD, bytes));
        }
        sections.sort_by_key(|section| section.id);
        (stats.objects, stats.left_out.tables_outside) = (objects, tables_outside);
        Ok(Encoded { header, sections, stats })
    }
}

/// Log2 of the largest unit of row offsets: no processor has a larger unit of instructions.
const MAX_UNIT_LOG2: u32 = 2;
/// Records of one kind in a file: owners of pieces are numbers of functions times two.
const MAX_RECORDS: usize = 1 << 31;
/// Bytes of names, and of paths: a table of them has less than 2^32 then, whatever they are.
const MAX_TEXT_BYTES: usize = 1 << 30;
/// Addresses that the base of a table's block can express.
const MAX_SPAN: u64 = 1 << 47;

/// Checks that the program can be stored. Returns the address that the file's addresses are relative to.
fn check(program: &Program<'_>, image: &ImageInfo) -> Result<u64, EncodeError> {
    let members = program.groups.iter().map(|group| group.members.len()).sum();
    for (what, count) in [
        ("pieces", program.pieces.len()),
        ("functions", program.functions.len()),
        ("origins", program.origins.len()),
        ("calls", program.edges.len()),
        ("names", program.names.len()),
        ("files", program.files.len()),
        ("members of groups", members),
        ("rows of call frame information", program.unwind.as_ref().map_or(0, |unwind| unwind.rows.len())),
    ] {
        if count >= MAX_RECORDS {
            return Err(EncodeError::TooMany { what, count });
        }
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
    let first = program.pieces.first().map(|piece| piece.start.0).into_iter();
    let last = program.pieces.last().map(|piece| piece.start.0).into_iter();
    // A map may have blocks where no function is known.
    let Some(lowest) = first.chain(blocks.first().map(|block| block.start.0)).min() else {
        return Ok(image.image_base);
    };
    let end = |block: &Block| block.start.0 + u64::from(block.size);
    let highest = last.chain(blocks.last().map(end)).max().unwrap_or(lowest);
    let fits = |base: u64| highest.checked_sub(base).is_some_and(|span| span < MAX_SPAN) && base <= lowest;
    // A Linux kernel has a segment at 0, for each processor's data, far below its code.
    [image.image_base, lowest]
        .into_iter()
        .find(|&base| fits(base))
        .ok_or(EncodeError::AddressSpan { lowest, highest })
}

/// NAMES and FILES.
fn encode_strings(program: &Program<'_>, plan: &Plan) -> [Section; 2] {
    let names = || {
        let names: Vec<&[u8]> =
            plan.names.order.iter().map(|&id| stored(&program.names[id as usize])).collect();
        Section::new(SectionId::NAMES, names::encode(&names))
    };
    let files = || {
        let files: Vec<&[u8]> =
            plan.files.order.iter().map(|&id| stored(&program.files[id as usize])).collect();
        Section::new(SectionId::FILES, names::encode(&files))
    };
    let (names, files) = rayon::join(names, files);
    [names, files]
}

/// Sections that hold code, and what is known of them.
struct LoadedCode {
    sections: Vec<Section>,
    max_depth: u32,
    max_group: u32,
    stats: EncodeStats,
}

/// ROWS, SCOPES and the tables that refer to them.
fn encode_code(tables: &RecordTables<'_>, usage: &Usage, unit_log2: u32) -> LoadedCode {
    let &RecordTables { program, outline, plan, columns, .. } = tables;
    let trees = Trees::build(program, outline, usage, plan);
    let source = RowSource { program, outline, plan, trees: &trees, columns, unit_log2 };
    let records = source.records();
    let of_functions = || {
        let (scopes, offsets) = trees.section();
        (scopes, tables.functions(&offsets))
    };
    let ((rows, row_offsets, row_counts), (scopes, functions)) =
        rayon::join(|| source.section(&records), of_functions);
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
            rows_stray: usage.stray_scopes,
            ..LeftOut::default()
        },
        ..EncodeStats::default()
    };
    sections.push(Section::new(SectionId::ROWS, rows.finish()));
    sections.push(Section::new(SectionId::SCOPES, scopes.finish()));
    LoadedCode { sections, max_depth, max_group: groups.largest, stats }
}

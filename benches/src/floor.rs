//! Walks all debug information of a program and keeps nothing: the time and memory below which no
//! converter that reads everything can go.
//!
//! The parts that are walked, by gimli's cheapest interface for each:
//!
//! - every entry of every unit of `.debug_info` and `.debug_types`: `entries_raw`,
//!   `read_abbreviation` and `skip_attributes`. Attribute values are stepped over, not decoded;
//!   gimli steps over runs of forms of fixed size at once. Abbreviations are parsed for each unit;
//! - of each unit's first entry, the attributes are decoded, to find `DW_AT_stmt_list`;
//! - every line program that a unit names, once each: header, all opcodes, all rows.
//!
//! Not walked: ranges, locations, strings, macros, symbol tables, `.dwo` files. A converter needs
//! some of these; the bars of the design are multiples of this walk with that in mind.

use gimli::{AttributeValue, DebugLineOffset, EndianSlice, RunTimeEndian, SectionId, UnitHeader};
use object::{Object, ObjectSection};
use rayon::prelude::*;
use std::path::Path;

type Slice<'d> = EndianSlice<'d, RunTimeEndian>;

/// How much was walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub units: u64,
    /// Entries, without the null entries that end lists of children.
    pub dies: u64,
    /// Attributes of all entries.
    pub attributes: u64,
    pub line_programs: u64,
    /// Line rows, with the rows that end sequences.
    pub rows: u64,
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            units: self.units + other.units,
            dies: self.dies + other.dies,
            attributes: self.attributes + other.attributes,
            line_programs: self.line_programs + other.line_programs,
            rows: self.rows + other.rows,
        }
    }
}

/// The results of one unit: its share of the counts, and its line program with the address size, which old line headers lack.
struct UnitWalk {
    counts: Counts,
    line: Option<(DebugLineOffset, u8)>,
}

/// Maps `path` and walks it on `threads` threads (0 counts as 1).
///
/// # Errors
///
/// Where the file cannot be mapped or parsed, a section is compressed (the floor is the walk, not a
/// decompressor: run `objcopy --decompress-debug-sections` first), or gimli refuses a unit.
pub fn walk_file(path: &Path, threads: usize) -> Result<Counts, Box<dyn std::error::Error>> {
    let file = std::fs::File::open(path)?;
    // SAFETY: the map is read-only and private; a benchmark's input is not changed while it is
    // measured.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    walk_bytes(&map, threads)
}

/// Walks the program in `bytes`, an ELF or Mach-O file, on `threads` threads.
///
/// # Errors
///
/// As [`walk_file`].
pub fn walk_bytes(bytes: &[u8], threads: usize) -> Result<Counts, Box<dyn std::error::Error>> {
    let object = object::File::parse(bytes)?;
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: SectionId| -> Result<Slice<'_>, Box<dyn std::error::Error>> {
        let Some(section) = object.section_by_name(id.name()) else {
            return Ok(EndianSlice::new(&[], endian));
        };
        let range = section.compressed_file_range()?;
        if range.format != object::CompressionFormat::None {
            return Err(format!("{} is compressed: decompress the file first", id.name()).into());
        }
        Ok(EndianSlice::new(section.data()?, endian))
    };
    let dwarf = gimli::Dwarf::load(load)?;

    let headers = unit_headers(&dwarf)?;
    if threads <= 1 {
        return walk_one_by_one(&dwarf, &headers);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    Ok(pool.install(|| walk_in_parallel(&dwarf, &headers))?)
}

fn unit_headers<'d>(dwarf: &gimli::Dwarf<Slice<'d>>) -> gimli::Result<Vec<UnitHeader<Slice<'d>>>> {
    let mut headers = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        headers.push(header);
    }
    let mut types = dwarf.type_units();
    while let Some(header) = types.next()? {
        headers.push(header);
    }
    Ok(headers)
}

fn walk_one_by_one(
    dwarf: &gimli::Dwarf<Slice<'_>>,
    headers: &[UnitHeader<Slice<'_>>],
) -> Result<Counts, Box<dyn std::error::Error>> {
    let mut counts = Counts::default();
    let mut lines = Vec::new();
    for header in headers {
        let unit = walk_unit(dwarf, header)?;
        counts = counts.plus(unit.counts);
        lines.extend(unit.line);
    }
    for (offset, address_size) in distinct(lines) {
        counts = counts.plus(walk_line_program(dwarf, offset, address_size)?);
    }
    Ok(counts)
}

fn walk_in_parallel(
    dwarf: &gimli::Dwarf<Slice<'_>>,
    headers: &[UnitHeader<Slice<'_>>],
) -> gimli::Result<Counts> {
    let units: Vec<UnitWalk> =
        headers.par_iter().map(|header| walk_unit(dwarf, header)).collect::<gimli::Result<_>>()?;
    let mut counts = units.iter().map(|unit| unit.counts).fold(Counts::default(), Counts::plus);
    let lines: Vec<Counts> = distinct(units.iter().filter_map(|unit| unit.line).collect())
        .into_par_iter()
        .map(|(offset, address_size)| walk_line_program(dwarf, offset, address_size))
        .collect::<gimli::Result<_>>()?;
    counts = lines.into_iter().fold(counts, Counts::plus);
    Ok(counts)
}

/// Partial and type units name the line program of the unit that they came from: each is run once.
fn distinct(mut lines: Vec<(DebugLineOffset, u8)>) -> Vec<(DebugLineOffset, u8)> {
    lines.sort_by_key(|(offset, _)| offset.0);
    lines.dedup_by_key(|(offset, _)| offset.0);
    lines
}

fn walk_unit(dwarf: &gimli::Dwarf<Slice<'_>>, header: &UnitHeader<Slice<'_>>) -> gimli::Result<UnitWalk> {
    let abbreviations = dwarf.abbreviations(header)?;
    let mut entries = header.entries_raw(&abbreviations, None)?;
    let mut counts = Counts { units: 1, ..Counts::default() };
    let mut line = None;

    if let Some(root) = entries.read_abbreviation()? {
        counts.dies += 1;
        counts.attributes += root.attributes().len() as u64;
        for &spec in root.attributes() {
            let attribute = entries.read_attribute(spec)?;
            if attribute.name() == gimli::DW_AT_stmt_list
                && let AttributeValue::DebugLineRef(offset) = attribute.value()
            {
                line = Some((offset, header.address_size()));
            }
        }
    }
    while !entries.is_empty() {
        if let Some(abbreviation) = entries.read_abbreviation()? {
            counts.dies += 1;
            counts.attributes += abbreviation.attributes().len() as u64;
            entries.skip_attributes(abbreviation.attributes())?;
        }
    }
    Ok(UnitWalk { counts, line })
}

fn walk_line_program(
    dwarf: &gimli::Dwarf<Slice<'_>>,
    offset: DebugLineOffset,
    address_size: u8,
) -> gimli::Result<Counts> {
    let program = dwarf.debug_line.program(offset, address_size, None, None)?;
    let mut rows = program.rows();
    let mut counts = Counts { line_programs: 1, ..Counts::default() };
    while let Some((_, row)) = rows.next_row()? {
        // Uses the address, as a reader of rows does. If it were unused, the compiler might drop the work that computes it.
        std::hint::black_box(row.address());
        counts.rows += 1;
    }
    Ok(counts)
}

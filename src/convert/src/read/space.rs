//! The debug sections of a program and of its supplementary file, with the headers of their units, so that a reference
//! from one unit finds its target in another.

use std::sync::{Arc, OnceLock};

use gimli::{Reader as _, Section as _};

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::open::{DebugSection, DebugSections, Files, Image};
use crate::read::dwarf_6::unit_header;
use crate::read::far_headers::{FAR, peeked};
use crate::read::limits::{MAX_ATTRIBUTES, MAX_ROOT_TEXT, UNITS_BETWEEN};
use crate::read::line_headers::{LineHeaders, LineProgram};
use crate::read::sections::abbreviations::{AbbreviationTable, Abbreviations};
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::shared_lines::{LinePrograms, Named, PastBudget, SharedProgram};
use crate::read::shared_tables::{Shared, root_code};
use crate::util::text;

/// The size of a 64-bit `.debug_str_offsets` header: length, version, padding.
const WIDE_HEADER: usize = 16;

/// The pages of this many units are released together. A unit of `LONG` bytes or more is released by itself.
const GIVEN_BACK: usize = 8;
const LONG: usize = 1 << 20;

/// A unit that other units refer to; `None` if it cannot be read. Boxed, since other units refer to few units.
type Referred<'f, E> = Option<Box<gimli::Unit<Bytes<'f, E>>>>;

/// One `.debug_info`, with its units sorted by offset.
pub(crate) struct Info<'f, E: Endianity> {
    pub(crate) dwarf: Dwarf<'f, E>,
    /// `.debug_loclists`; gimli does not give access to its bytes.
    pub(crate) location_lists: Bytes<'f, E>,
    /// True if string offsets have 64 bits although units are 32-bit DWARF. llvm-dwp may write them so.
    wide_strings: bool,
    /// `.debug_str`, if it ends with a zero byte, so that each string in it has an end. `None` for a `.dwo`, whose units are
    /// kept longer than its bytes.
    texts: Option<&'f [u8]>,
    pub(crate) headers: Vec<gimli::UnitHeader<Bytes<'f, E>>>,
    shared: Shared,
    programs: LinePrograms<'f, E>,
    line_headers: LineHeaders<'f, E>,
    /// For each unit, its parsed form, once another unit referred to it.
    referred: Vec<OnceLock<Referred<'f, E>>>,
    /// Paths of files lack the folder of the compiler.
    pub(crate) relative_paths: bool,
    /// The owner of the mapped files, which releases pages.
    files: &'f Files,
}

/// `DW_AT_comp_dir` and `DW_AT_name` of a unit.
type Paths<'f, E> = (Option<Bytes<'f, E>>, Option<Bytes<'f, E>>);

/// What is missing from a parsed unit.
#[derive(Debug)]
pub(crate) enum Without {
    /// The line program or the unit's `DW_AT_low_pc` is damaged. This is the first error.
    Damaged(gimli::Error),
    /// The line program is past the limit for shared programs.
    Lines(PastBudget),
}

impl<'f, E: Endianity> Info<'f, E> {
    pub(crate) fn new(
        sections: &DebugSections<'f>,
        endian: E,
        files: &'f Files,
        diagnostics: &mut Diagnostics,
    ) -> Info<'f, E> {
        Info::of(load(sections, endian), sections.get(DebugSection::LocLists), files, diagnostics)
    }

    /// Reads all unit headers. They are far apart, and reading one through the mapping maps the pages around it. So a
    /// header after a long unit is read by [`Files::peek`] if possible. Otherwise pages are released at intervals.
    pub(crate) fn of(
        dwarf: Dwarf<'f, E>,
        location_lists: &'f [u8],
        files: &'f Files,
        diagnostics: &mut Diagnostics,
    ) -> Info<'f, E> {
        let (mut headers, mut touched) = (Vec::<gimli::UnitHeader<Bytes<'f, E>>>::new(), 0);
        let section = *dwarf.debug_info.reader();
        let mut offset = 0;
        while offset < section.len() {
            let far = headers.last().is_some_and(|last| last.length_including_self() >= FAR);
            if let Some(header) = far.then(|| peeked(section, offset, files)).flatten() {
                headers.push(header);
                offset += header.length_including_self();
                continue;
            }
            let len = match unit_header(section, offset) {
                Ok(header) => {
                    headers.push(header);
                    touched += 1;
                    if touched % UNITS_BETWEEN == 0 {
                        files.release(section.slice());
                    }
                    header.length_including_self()
                }
                Err(error) => {
                    bad_unit(diagnostics, offset as u64, error);
                    // The length field gives the start of the next unit, even if this unit has an unknown version.
                    let Some(len) = unit_length(section, offset) else { break };
                    len
                }
            };
            // A length near 2^64 would wrap around and lead back to units that were read already.
            let Some(next) = offset.checked_add(len).filter(|&next| next > offset) else { break };
            offset = next;
        }
        let referred = headers.iter().map(|_| OnceLock::new()).collect();
        // Only the header of the offsets shows their size: a length of 0xffffffff begins 64-bit DWARF (DWARF 5 7.4). It
        // is at the start of the section, since a `.dwo` has one contribution, and a package is cut to the contribution
        // of its unit.
        let wide_strings = dwarf.file_type == gimli::DwarfFileType::Dwo
            && dwarf.debug_str_offsets.reader().slice().starts_with(&[0xff; 4]);
        let (shared, programs) = (Shared::of(&headers), LinePrograms::of(&dwarf, &headers));
        // Units of a `.dwo` are kept longer than the file's bytes, so their names must not borrow from it.
        let strings = dwarf.debug_str.reader().slice();
        let is_shared = dwarf.file_type == gimli::DwarfFileType::Main;
        let texts = (is_shared && strings.last() == Some(&0)).then_some(strings);
        let location_lists = Bytes::new(location_lists, section.endian());
        let line_headers = LineHeaders::new(files);
        Info {
            dwarf,
            location_lists,
            wide_strings,
            texts,
            headers,
            shared,
            programs,
            line_headers,
            referred,
            relative_paths: false,
            files,
        }
    }

    /// The bytes whose pages can be released after the unit at `index` was read. Units are read in order. A long unit is
    /// released by itself. Short units are released in groups, some units later, because each release interrupts every
    /// processor.
    pub(crate) fn read_by(&self, index: usize) -> &'f [u8] {
        let start = |index: usize| offset_of(&self.headers[index]) as usize;
        let len = self.headers[index].length_including_self();
        let bytes = self.dwarf.debug_info.reader().slice();
        // Not the group directly before `index`: other threads may still read its units, and would have to map the pages
        // again.
        let range = match index.checked_sub(2 * GIVEN_BACK) {
            _ if len >= LONG => start(index)..start(index) + len,
            Some(first) if index.is_multiple_of(GIVEN_BACK) => start(first)..start(first + GIVEN_BACK),
            _ => return &[],
        };
        bytes.get(range).unwrap_or(&[])
    }

    /// The string value of an attribute of this unit.
    pub(crate) fn string(
        &self,
        unit: &gimli::Unit<Bytes<'f, E>>,
        value: gimli::AttributeValue<Bytes<'f, E>>,
    ) -> Option<Bytes<'f, E>> {
        match value {
            gimli::AttributeValue::DebugStrOffsetsIndex(index)
                if self.wide_strings && unit.header.format() == gimli::Format::Dwarf32 =>
            {
                let format = gimli::Format::Dwarf64;
                let base = gimli::DebugStrOffsetsBase(WIDE_HEADER);
                let offset = self.dwarf.debug_str_offsets.get_str_offset(format, base, index).ok()?;
                string(&self.dwarf, unit, gimli::AttributeValue::DebugStrRef(offset))
            }
            _ => string(&self.dwarf, unit, value),
        }
    }

    /// The bytes of `.debug_str` from the start of an attribute's string on. The end of the string is not searched for: see
    /// [`crate::model::UnitName::Begins`]. `None` if the string is not in a `.debug_str` that can be borrowed.
    pub(crate) fn begins(
        &self,
        unit: &gimli::Unit<Bytes<'f, E>>,
        value: gimli::AttributeValue<Bytes<'f, E>>,
    ) -> Option<&'f [u8]> {
        let offset = match value {
            gimli::AttributeValue::DebugStrRef(offset) => offset,
            gimli::AttributeValue::DebugStrOffsetsIndex(index) => {
                // `wide_strings` does not matter here: only a `.dwo` may have them, and its `texts` are `None`.
                let (format, base) = (unit.header.format(), unit.str_offsets_base);
                self.dwarf.debug_str_offsets.get_str_offset(format, base, index).ok()?
            }
            _ => return None,
        };
        // An offset equal to the length of the section is damage: no zero byte follows it.
        self.texts?.get(offset.0..).filter(|text| !text.is_empty())
    }

    /// The index of the unit that contains this section offset.
    pub(crate) fn unit_at(&self, offset: usize) -> Option<usize> {
        let after = self.headers.partition_point(|h| offset_of(h) as usize <= offset);
        // A unit with a damaged header is not in the list, so the offset may be after the last unit that begins before
        // it.
        let index = after.checked_sub(1)?;
        let header = &self.headers[index];
        (offset - (offset_of(header) as usize) < header.length_including_self()).then_some(index)
    }

    /// The abbreviations of the unit at `index`. They are read into `own`, unless several units share the table.
    ///
    /// # Errors
    /// They are damaged.
    pub(crate) fn abbreviations<'a>(
        &'a self,
        index: usize,
        own: &'a mut AbbreviationTable,
    ) -> gimli::Result<Abbreviations<'a, 'f>> {
        self.shared.abbreviations(&self.dwarf, &self.headers[index], own)
    }

    /// The offset of the line program of the first unit of the object that the unit at `index` came from. `None` if this is the unit itself,
    /// or if the first unit has no line program.
    pub(crate) fn object_lines(&self, index: usize) -> Option<usize> {
        let first = self.shared.first_of_table(&self.headers[index]).filter(|first| *first != index)?;
        self.shared.line_program(&self.dwarf, &self.headers[first])
    }

    /// The abbreviations of the unit at `index` in `gimli`'s form.
    ///
    /// # Errors
    /// They are damaged.
    pub(crate) fn parsed_abbreviations(&self, index: usize) -> gimli::Result<Arc<gimli::Abbreviations>> {
        self.shared.parsed(&self.dwarf, &self.headers[index])
    }

    /// The unit with its abbreviations, parsed on the first call; `None` if its root DIE cannot be read.
    pub(crate) fn unit(&self, index: usize) -> Option<&gimli::Unit<Bytes<'f, E>>> {
        let parse = || {
            let mut own = AbbreviationTable::default();
            let (mut unit, _) = self.parse(index, self.abbreviations(index, &mut own).ok()?).ok()?;
            // Other units read entries of this one with gimli's `entries_raw`, which needs gimli's form of the
            // abbreviations.
            unit.abbreviations = self.parsed_abbreviations(index).ok()?;
            Some(Box::new(unit))
        };
        self.referred[index].get_or_init(parse).as_deref()
    }

    /// Parses a unit; its field `abbreviations` stays empty. If the header of its line program or its `DW_AT_low_pc` cannot be
    /// read, the unit has none, and `Without` says why. gimli would refuse such a unit as a whole, but its functions still
    /// have names, addresses and inlined subroutines.
    ///
    /// # Errors
    /// Its root cannot be read.
    pub(crate) fn parse(
        &self,
        index: usize,
        abbreviations: Abbreviations<'_, 'f>,
    ) -> gimli::Result<(gimli::Unit<Bytes<'f, E>>, Option<Without>)> {
        let (header, of_all) =
            (self.headers[index], (&self.dwarf, &self.shared, &self.headers[..], self.files));
        let is_own = |at| match self.programs.of_unit(of_all, index, at) {
            Named::Own => Ok(true),
            Named::Unneeded => Ok(false),
            // Before DWARF 5 units give the size of addresses: the first one's counts for all, whichever is read first.
            Named::Shared(program) => {
                let size = self.headers[program.users[0]].address_size();
                match program.header(&self.dwarf, &self.line_headers, size) {
                    Ok(_) => Ok(false),
                    Err(error) => Err(Without::Damaged(error)),
                }
            }
            Named::PastBudget(past_budget) => Err(Without::Lines(past_budget)),
        };
        let size = header.address_size();
        parse(&self.dwarf, header, abbreviations, |at, paths| {
            let read = || self.line_headers.program(&self.dwarf, at, size, paths);
            is_own(at.0).and_then(|is_own| is_own.then(read).transpose().map_err(Without::Damaged))
        })
    }

    /// The header of the line program of the unit at `index`, which may be one that it shares with others.
    pub(crate) fn line_header<'a>(
        &'a self,
        index: usize,
        unit: &'a gimli::Unit<Bytes<'f, E>>,
    ) -> Option<&'a gimli::LineProgramHeader<Bytes<'f, E>>> {
        let own = unit.line_program.as_ref().map(|program| program.header());
        own.or_else(|| self.programs.shared(index)?.0.parsed())
    }

    /// The line program that the unit at `index` shares with others, and its number among these. `None` before it was parsed.
    pub(crate) fn shared_program(&self, index: usize) -> Option<(&SharedProgram<'f, E>, usize)> {
        self.programs.shared(index)
    }
}

/// Reads the attributes of the unit's root, one after the other.
///
/// # Errors
/// As [`root_code`]. Also if the root's abbreviation is missing or has more than [`MAX_ATTRIBUTES`] attributes, or if a value
/// is cut off.
pub(crate) fn root_attributes<'f, E: Endianity>(
    header: &gimli::UnitHeader<Bytes<'f, E>>,
    abbreviations: Abbreviations<'_, 'f>,
    mut read: impl FnMut(gimli::Attribute<Bytes<'f, E>>),
) -> gimli::Result<()> {
    let (code, values) = root_code(header)?;
    let root = abbreviations.get(code)?;
    // gimli takes the form of each attribute from `spec`, so this reader of entries needs no abbreviations.
    let empty = gimli::Abbreviations::default();
    let mut entries = header.entries_raw(&empty, Some(values))?;
    for (index, spec) in root.attributes().enumerate() {
        if index == MAX_ATTRIBUTES {
            return Err(gimli::Error::InvalidAbbreviationCode(code));
        }
        read(entries.read_attribute(spec)?);
    }
    Ok(())
}

/// The string value of an attribute, cut at [`text::MAX_TEXT`] bytes. `gimli` would read it to its end, byte by byte, and any
/// number of attributes may refer to the same string of megabytes.
pub(crate) fn string<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    unit: &gimli::Unit<Bytes<'f, E>>,
    value: gimli::AttributeValue<Bytes<'f, E>>,
) -> Option<Bytes<'f, E>> {
    string_within(dwarf, unit, value, text::MAX_TEXT)
}

/// As [`string`], but cut at `most` bytes.
pub(crate) fn string_within<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    unit: &gimli::Unit<Bytes<'f, E>>,
    value: gimli::AttributeValue<Bytes<'f, E>>,
    most: usize,
) -> Option<Bytes<'f, E>> {
    use gimli::AttributeValue as Value;
    let (section, offset) = match value {
        Value::String(text) => (text, 0),
        Value::DebugStrRef(offset) => (*dwarf.debug_str.reader(), offset.0),
        Value::DebugStrRefSup(offset) => (*dwarf.sup()?.debug_str.reader(), offset.0),
        Value::DebugLineStrRef(offset) => (*dwarf.debug_line_str.reader(), offset.0),
        Value::DebugStrOffsetsIndex(index) => {
            let (format, base) = (unit.header.format(), unit.str_offsets_base);
            let offset = dwarf.debug_str_offsets.get_str_offset(format, base, index).ok()?;
            (*dwarf.debug_str.reader(), offset.0)
        }
        _ => return None,
    };
    let bytes = section.slice().get(offset..)?;
    let found = match value {
        // gimli has already removed the zero byte.
        Value::String(_) => &bytes[..bytes.len().min(most)],
        _ => text::until_zero_within(bytes, most)?,
    };
    Some(Bytes::new(found, section.endian()))
}

/// As `gimli::Unit::new`, with three differences: an error in the line program or in `DW_AT_low_pc` is returned together with
/// the unit, strings are cut, and the unit does not keep its abbreviations. `program` reads its line program, if
/// it is its own: the arguments are the program's offset, and the folder and the name of the unit.
pub(crate) fn parse<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    header: gimli::UnitHeader<Bytes<'f, E>>,
    abbreviations: Abbreviations<'_, 'f>,
    program: impl FnOnce(gimli::DebugLineOffset, Paths<'f, E>) -> Result<Option<LineProgram<'f, E>>, Without>,
) -> gimli::Result<(gimli::Unit<Bytes<'f, E>>, Option<Without>)> {
    use gimli::AttributeValue as Value;
    let (encoding, file_type) = (header.encoding(), dwarf.file_type);
    let mut unit = gimli::Unit {
        header,
        abbreviations: Arc::default(),
        name: None,
        comp_dir: None,
        low_pc: 0,
        // A split unit has no base attributes (DWARF 5 3.1.3): its tables of offsets begin after the header of their
        // section. In the program, the attributes below replace these values.
        str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file_type),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(encoding, file_type),
        rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(encoding, file_type),
        line_program: None,
        dwo_id: match header.type_() {
            gimli::UnitType::Skeleton(id) | gimli::UnitType::SplitCompilation(id) => Some(id),
            _ => None,
        },
    };
    let (mut name, mut comp_dir, mut low_pc, mut program_at) = (None, None, None, None);
    root_attributes(&header, abbreviations, |attribute| match (attribute.name(), attribute.value()) {
        (gimli::DW_AT_name, value) => name = Some(value),
        (gimli::DW_AT_comp_dir, value) => comp_dir = Some(value),
        (gimli::DW_AT_low_pc, value) => low_pc = Some(value),
        (gimli::DW_AT_stmt_list, Value::DebugLineRef(offset)) => program_at = Some(offset),
        (_, Value::DebugStrOffsetsBase(base)) => unit.str_offsets_base = base,
        (_, Value::DebugAddrBase(base)) => unit.addr_base = base,
        (_, Value::DebugRngListsBase(base)) => unit.rnglists_base = base,
        (_, Value::DebugLocListsBase(base)) => unit.loclists_base = base,
        // DWARF 5 has the id in the unit's header (7.5.1.2). GNU's extension of DWARF 4 has it in this attribute.
        (gimli::DW_AT_GNU_dwo_id, Value::DwoId(id)) => unit.dwo_id = unit.dwo_id.or(Some(id)),
        _ => {}
    })?;
    // Evaluated after the loop, because a string or an address by index needs the base attributes.
    unit.name = name.and_then(|value| string_within(dwarf, &unit, value, MAX_ROOT_TEXT));
    unit.comp_dir = comp_dir.and_then(|value| string_within(dwarf, &unit, value, MAX_ROOT_TEXT));
    let mut without = None;
    if let Some(at) = program_at {
        match program(at, (unit.comp_dir, unit.name)) {
            Ok(program) => unit.line_program = program,
            Err(what) => without = Some(what),
        }
    }
    // The base address of the unit's range and location lists (DWARF 5 3.1.1). gcc and clang write 0 if the unit has
    // several ranges.
    match low_pc.map_or(Ok(None), |value| dwarf.attr_address(&unit, value)) {
        Ok(address) => unit.low_pc = address.unwrap_or(0),
        Err(error) => without = without.or(Some(Without::Damaged(error))),
    }
    Ok((unit, without))
}

/// Reports that a path in the root of the unit at this offset is cut.
pub(crate) fn report_cut_paths<E: Endianity>(
    unit: &gimli::Unit<Bytes<'_, E>>,
    offset: u64,
    diagnostics: &mut Diagnostics,
) {
    // `string_within` does not say if it cut a text, so a path of exactly the limit counts as cut.
    let is_cut = |path: &Bytes<'_, E>| path.slice().len() >= MAX_ROOT_TEXT;
    for _ in [&unit.name, &unit.comp_dir].into_iter().flatten().filter(|path| is_cut(path)) {
        diagnostics.add(Kind::Cap(Cap::RootPathBytes), offset, || {
            format!("the name or the folder of the unit at {offset:#x} has {MAX_ROOT_TEXT} bytes or more: it is cut there")
        });
    }
}

/// The program's own debug information and the supplementary file's (dwz).
pub(crate) struct Space<'f, E: Endianity> {
    pub(crate) main: Info<'f, E>,
    pub(crate) supplementary: Option<Info<'f, E>>,
}

impl<'f, E: Endianity> Space<'f, E> {
    pub(crate) fn new(
        image: &Image<'f>,
        endian: E,
        files: &'f Files,
        relative_paths: bool,
        diagnostics: &mut Diagnostics,
    ) -> Space<'f, E> {
        let mut main = Info::new(&image.debug, endian, files, diagnostics);
        main.relative_paths = relative_paths;
        let supplementary = image.supplementary.as_ref().map(|sections| {
            // dwz moved strings into this file: `DW_FORM_GNU_strp_alt` and `DW_FORM_strp_sup` are offsets in its
            // `.debug_str`.
            main.dwarf.set_sup(load(sections, endian));
            let mut other = Info::new(sections, endian, files, diagnostics);
            other.relative_paths = relative_paths;
            other
        });
        Space { main, supplementary }
    }
}

/// The size in bytes of the unit at `offset`, with its length field (DWARF 5 7.4).
fn unit_length<E: Endianity>(section: Bytes<'_, E>, offset: usize) -> Option<usize> {
    let mut input = section;
    input.skip(offset).ok()?;
    let (len, format) = input.read_initial_length().ok()?;
    len.checked_add(usize::from(format.initial_length_size()))
}

/// The offset of a unit's header in its section.
pub(crate) fn offset_of<'f, E: Endianity>(header: &gimli::UnitHeader<Bytes<'f, E>>) -> u64 {
    header.debug_info_offset().map_or(0, |offset| offset.0 as u64)
}

pub(crate) fn load<'f, E: Endianity>(sections: &DebugSections<'f>, endian: E) -> Dwarf<'f, E> {
    let load = |id: gimli::SectionId| -> Result<Bytes<'f, E>, gimli::Error> {
        use gimli::SectionId as Id;
        let section = match id {
            Id::DebugAbbrev => DebugSection::Abbrev,
            Id::DebugAddr => DebugSection::Addr,
            Id::DebugInfo => DebugSection::Info,
            Id::DebugLine => DebugSection::Line,
            Id::DebugLineStr => DebugSection::LineStr,
            Id::DebugLoc => DebugSection::Loc,
            Id::DebugLocLists => DebugSection::LocLists,
            Id::DebugRanges => DebugSection::Ranges,
            Id::DebugRngLists => DebugSection::RngLists,
            Id::DebugStr => DebugSection::Str,
            Id::DebugStrOffsets => DebugSection::StrOffsets,
            Id::DebugTypes => DebugSection::Types,
            // The other sections are macros and indexes such as `.debug_names`, of which this reader uses nothing.
            _ => return Ok(Bytes::new(&[], endian)),
        };
        Ok(Bytes::new(sections.get(section), endian))
    };
    match Dwarf::load(load) {
        Ok(dwarf) => dwarf,
        // The loader above never fails.
        Err(_) => unreachable!("a loader that cannot fail"),
    }
}

/// Counts a damaged unit header.
pub(crate) fn bad_unit(diagnostics: &mut Diagnostics, offset: u64, error: gimli::Error) {
    diagnostics.add(Kind::BadUnit, offset, || format!("unit at .debug_info+{offset:#x}: {error}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit with this version, type and format, with `len` bytes after the length field.
    fn unit(version: u16, kind: u8, wide: bool, len: usize, big: bool) -> Vec<u8> {
        let number = |value: u64, bytes: usize| match big {
            true => value.to_be_bytes()[8 - bytes..].to_vec(),
            false => value.to_le_bytes()[..bytes].to_vec(),
        };
        let mut unit = match wide {
            true => [vec![0xff; 4], number(len as u64, 8)].concat(),
            false => number(len as u64, 4),
        };
        let (end, word) = (unit.len() + len, if wide { 8 } else { 4 });
        unit.extend(number(version.into(), 2));
        // The header of a skeleton or type unit, or only the abbreviation offset and the address size.
        match version {
            5 | 6 => unit.extend(
                [
                    vec![kind, 8],
                    number(0x12_3456, word),
                    number(0x1122_3344_5566_7788, 8),
                    number(0x998, word),
                ]
                .concat(),
            ),
            _ => unit.extend([number(0x12_3456, word), vec![kind]].concat()),
        }
        unit.resize(end, 7);
        unit
    }

    fn headers<E: Endianity>(bytes: &[u8], files: &Files, endian: E) -> (String, u64, usize) {
        let (mut sections, mut diagnostics) = (DebugSections::default(), Diagnostics::default());
        sections.set(DebugSection::Info, bytes);
        let info = Info::new(&sections, endian, files, &mut diagnostics);
        let bad = diagnostics.count(crate::diagnostics::Kind::BadUnit);
        (format!("{:?}", info.headers), bad, info.headers.len())
    }

    /// A copied header equals the header read in place.
    #[test]
    fn headers_of_a_file_are_those_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("info");
        // The last unit is whole, or cut off after its header, or inside it.
        let (bigs, cuts) = ([false, true], [0, 1, FAR - 40, FAR - 20, FAR - 5]);
        for (big, cut) in bigs.into_iter().flat_map(|big| cuts.map(|cut| (big, cut))) {
            let kinds = (2..=6).flat_map(|version| (0..=10).map(move |kind| (version, kind)));
            let of_kind = |(version, kind)| [false, true].map(|wide| unit(version, kind, wide, FAR, big));
            let mut units = [unit(4, 8, false, FAR, big), unit(4, 8, false, FAR, big)].to_vec();
            units.extend(kinds.flat_map(of_kind));
            // A header after a short unit is read in place.
            units.extend([
                unit(4, 8, false, 16, big),
                unit(4, 8, true, FAR, big),
                unit(5, 4, true, FAR, big),
            ]);
            let mut bytes = units.concat();
            bytes.truncate(bytes.len() - cut);
            std::fs::write(&path, &bytes).unwrap();
            let files = Files::new();
            let (mapped, kept) = (files.map(&path).unwrap(), files.keep(bytes));
            let [copied, in_place] = [mapped, kept].map(|bytes| match big {
                true => headers(bytes, &files, gimli::BigEndian),
                false => headers(bytes, &files, gimli::LittleEndian),
            });
            assert_eq!(copied, in_place, "{big} {cut}");
            assert!(copied.2 > 30);
            let second = peeked(Bytes::new(mapped, gimli::LittleEndian), units[0].len(), &files);
            assert_eq!(second.is_some(), !big);
        }
    }
}

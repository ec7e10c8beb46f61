//! The debug sections of a program and of its supplementary file, with the headers of their units, so
//! that a reference from one unit finds its target in another.

use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use gimli::{Reader as _, Section as _};

use super::shared::Shared;
use super::unit::MAX_ATTRIBUTES;
use super::{Bytes, Dwarf, Endianity, UNITS_BETWEEN, bad_unit};
use crate::open::{DebugSection, DebugSections, Files, Image};
use crate::report::{Diagnostics, Kind};

/// Bytes before the offsets of a `.debug_str_offsets` in 64 bits: length, version, padding.
const WIDE_HEADER: usize = 16;

/// Bytes of strings that the roots of all units may read together: each names its unit and its folder, and any number
/// of units may name one string.
const MAX_ROOT_STRINGS: u64 = 1 << 40;

/// One `.debug_info` with its units in the order of their offsets.
pub(crate) struct Info<'f, E: Endianity> {
    pub(crate) dwarf: Dwarf<'f, E>,
    /// llvm-dwp may store string offsets in 64 bits for units that are DWARF 32.
    wide_strings: bool,
    pub(crate) headers: Vec<gimli::UnitHeader<Bytes<'f, E>>>,
    shared: Shared,
    /// Units that another one referred to, parsed once and kept.
    referred: Vec<OnceLock<Option<gimli::Unit<Bytes<'f, E>>>>>,
}

impl<'f, E: Endianity> Info<'f, E> {
    pub(crate) fn new(
        sections: &DebugSections<'f>,
        endian: E,
        files: &Files,
        diagnostics: &mut Diagnostics,
    ) -> Info<'f, E> {
        Info::of(load(sections, endian), files, diagnostics)
    }

    /// The pages of a large section are given back to `files`, since the system maps what is around each header.
    pub(crate) fn of(mut dwarf: Dwarf<'f, E>, files: &Files, diagnostics: &mut Diagnostics) -> Info<'f, E> {
        let mut headers = Vec::new();
        let section = *dwarf.debug_info.reader();
        let mut offset = 0;
        while offset < section.len() {
            let len = match dwarf.debug_info.header_from_offset(gimli::DebugInfoOffset(offset)) {
                Ok(header) => {
                    headers.push(header);
                    if headers.len().is_multiple_of(UNITS_BETWEEN) {
                        files.release(section.slice());
                    }
                    header.length_including_self()
                }
                Err(error) => {
                    bad_unit(diagnostics, offset as u64, error);
                    // The length says where the next unit is, whatever the version of this one.
                    let Some(len) = unit_length(section, offset) else { break };
                    len
                }
            };
            let Some(next) = offset.checked_add(len).filter(|&next| next > offset) else { break };
            offset = next;
        }
        dwarf.debug_str = bounded(*dwarf.debug_str.reader(), headers.len(), diagnostics).into();
        dwarf.debug_line_str = bounded(*dwarf.debug_line_str.reader(), headers.len(), diagnostics).into();
        let referred = headers.iter().map(|_| OnceLock::new()).collect();
        let wide_strings = dwarf.file_type == gimli::DwarfFileType::Dwo
            && dwarf.debug_str_offsets.reader().slice().starts_with(&[0xff; 4]);
        let shared = Shared::of(&headers);
        Info { dwarf, wide_strings, headers, shared, referred }
    }

    /// Decides which line programs are read, before any is.
    pub(crate) fn limit_lines(&mut self, files: &Files, diagnostics: &mut Diagnostics) {
        self.shared.limit_lines(&self.dwarf, &self.headers, files, diagnostics);
    }

    /// The bytes of a unit with its header.
    pub(crate) fn unit_bytes(&self, index: usize) -> &'f [u8] {
        let header = &self.headers[index];
        let start = offset_of(header) as usize;
        let bytes = self.dwarf.debug_info.reader().slice();
        bytes.get(start..start + header.length_including_self()).unwrap_or(&[])
    }

    /// The whole `.debug_line`, that offsets of line programs and sequences count from.
    pub(crate) fn debug_line(&self) -> Bytes<'f, E> {
        *self.dwarf.debug_line.reader()
    }

    /// The string that an attribute of this unit means.
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
                self.str(offset)
            }
            gimli::AttributeValue::DebugStrOffsetsIndex(index) => {
                let (format, base) = (unit.header.format(), unit.str_offsets_base);
                let offset = self.dwarf.debug_str_offsets.get_str_offset(format, base, index).ok()?;
                self.str(offset)
            }
            gimli::AttributeValue::DebugStrRef(offset) => self.str(offset),
            _ => self.dwarf.attr_string(unit, value).ok(),
        }
    }

    /// The string at an offset in `.debug_str`: as `gimli` finds it, but by words instead of bytes.
    fn str(&self, offset: gimli::DebugStrOffset) -> Option<Bytes<'f, E>> {
        let section = *self.dwarf.debug_str.reader();
        let text = CStr::from_bytes_until_nul(section.slice().get(offset.0..)?).ok()?;
        Some(Bytes::new(text.to_bytes(), section.endian()))
    }

    /// Index of the unit that the section offset `offset` lies in.
    pub(crate) fn unit_at(&self, offset: usize) -> Option<usize> {
        let after = self.headers.partition_point(|h| offset_of(h) as usize <= offset);
        let index = after.checked_sub(1)?;
        let header = &self.headers[index];
        (offset - (offset_of(header) as usize) < header.length_including_self()).then_some(index)
    }

    /// The unit, parsed on the first call; `None` where its root DIE cannot be read.
    pub(crate) fn unit(&self, index: usize) -> Option<&gimli::Unit<Bytes<'f, E>>> {
        let parse = || self.parse(index).ok().map(|(unit, _)| unit);
        self.referred[index].get_or_init(parse).as_ref()
    }

    /// Parses a unit. Where the header of its line program, or its own `DW_AT_low_pc`, cannot be read, the unit
    /// comes without them and the error beside it: gimli refuses such a unit as a whole, but its functions
    /// still have names, addresses and what is inlined into them.
    pub(crate) fn parse(
        &self,
        index: usize,
    ) -> gimli::Result<(gimli::Unit<Bytes<'f, E>>, Option<gimli::Error>)> {
        let header = self.headers[index];
        let abbreviations = self.shared.abbreviations(&self.dwarf, &header)?;
        // A unit takes a few bytes; attributes without a byte may be any number.
        if let Some(root) = header.entries_raw(&abbreviations, None)?.read_abbreviation()?
            && root.attributes().len() > MAX_ATTRIBUTES
        {
            return Err(gimli::Error::InvalidAbbreviationCode(root.code()));
        }
        if self.shared.is_without_lines(index) {
            return Ok((unit_without_lines(&self.dwarf, header, abbreviations)?, None));
        }
        match gimli::Unit::new_with_abbreviations(&self.dwarf, header, abbreviations.clone()) {
            Ok(unit) => Ok((unit, None)),
            Err(error) => Ok((unit_without_lines(&self.dwarf, header, abbreviations)?, Some(error))),
        }
    }
}

/// A section of strings; empty where one of them is too long for so many units to read.
fn bounded<'f, E: Endianity>(
    section: Bytes<'f, E>,
    units: usize,
    diagnostics: &mut Diagnostics,
) -> Bytes<'f, E> {
    let too_much = |len: usize| (len as u64).saturating_mul(units as u64) > MAX_ROOT_STRINGS;
    if !too_much(section.len()) {
        return section;
    }
    let longest = section.slice().split(|&byte| byte == 0).map(<[u8]>::len).max().unwrap_or(0);
    if !too_much(longest) {
        return section;
    }
    diagnostics.add(Kind::CapReached, 0, || {
        format!("no debug string is read: one has {longest} bytes, and {units} units may name it")
    });
    Bytes::new(&[], section.endian())
}

fn unit_without_lines<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    header: gimli::UnitHeader<Bytes<'f, E>>,
    abbreviations: Arc<gimli::Abbreviations>,
) -> gimli::Result<gimli::Unit<Bytes<'f, E>>> {
    use gimli::AttributeValue as Value;
    let (encoding, file_type) = (header.encoding(), dwarf.file_type);
    let mut unit = gimli::Unit {
        header,
        abbreviations: abbreviations.clone(),
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file_type),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(encoding, file_type),
        rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(encoding, file_type),
        line_program: None,
        dwo_id: None,
    };
    let mut entries = header.entries(&abbreviations);
    let root = entries.next_dfs()?.ok_or(gimli::Error::MissingUnitDie)?;
    for attribute in root.attrs() {
        match (attribute.name(), attribute.value()) {
            (_, Value::DebugStrOffsetsBase(base)) => unit.str_offsets_base = base,
            (_, Value::DebugAddrBase(base)) => unit.addr_base = base,
            (_, Value::DebugRngListsBase(base)) => unit.rnglists_base = base,
            (_, Value::DebugLocListsBase(base)) => unit.loclists_base = base,
            _ => {}
        }
    }
    // Only now: a string or an address by index needs its base.
    let value = |name| root.attr_value(name);
    let string = |unit: &_, name| value(name).and_then(|value| dwarf.attr_string(unit, value).ok());
    unit.name = string(&unit, gimli::DW_AT_name);
    unit.comp_dir = string(&unit, gimli::DW_AT_comp_dir);
    let low_pc = value(gimli::DW_AT_low_pc).and_then(|low| dwarf.attr_address(&unit, low).ok().flatten());
    unit.low_pc = low_pc.unwrap_or(0);
    Ok(unit)
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
        files: &Files,
        diagnostics: &mut Diagnostics,
    ) -> Space<'f, E> {
        let mut main = Info::new(&image.debug, endian, files, diagnostics);
        let supplementary = image.supplementary.as_ref().map(|sections| {
            main.dwarf.set_sup(load(sections, endian));
            Info::new(sections, endian, files, diagnostics)
        });
        Space { main, supplementary }
    }
}

/// Bytes of the unit at `offset`, its length field included (DWARF 5 7.4).
fn unit_length<E: Endianity>(section: Bytes<'_, E>, offset: usize) -> Option<usize> {
    let mut input = section;
    input.skip(offset).ok()?;
    let (len, format) = input.read_initial_length().ok()?;
    len.checked_add(usize::from(format.initial_length_size()))
}

/// Offset of a unit's header in its section.
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

//! Turns the debug sections of an ELF file into joined, decompressed and relocated bytes.
//!
//! Several sections with the same name are joined in section order: gcc writes a `.debug_info` and a `.debug_info.dwo` for
//! each COMDAT group. In `ET_REL` the synthetic address of a debug section is its offset in the joined bytes, so that
//! a relocation against the section yields an offset in the joined bytes.

use std::path::Path;

use object::elf;
use object::elf::{CompressionHeader32, CompressionHeader64};
use object::endian::Endianness;
use object::pod::from_bytes;
use rayon::prelude::*;

use super::layout::Layout;
use super::others;
use super::relocate::Relocator;
use crate::diagnostics::opening::{OpenDiagnosticKind, OpenDiagnostics};
use crate::open::decompress::{self, Compression};
use crate::open::elf_tables::{ElfSection, Tables};
use crate::open::error::OpenError;
use crate::open::files::Files;
use crate::open::image::{BlockMapSection, DebugSection, DebugSections};
use crate::util::text::shown;

/// One file's tables, with the owner of new buffers and the path for messages.
pub(super) struct Contents<'a, 'f> {
    pub files: &'f Files,
    pub path: &'a Path,
    pub tables: &'a Tables<'f>,
}

impl<'f> Contents<'_, 'f> {
    /// File name and CRC-32 of `.gnu_debuglink`. The section holds a string, zero bytes up to a multiple of 4, the checksum.
    pub(super) fn debuglink(&self) -> Option<(&'f [u8], u32)> {
        let bytes = self.tables.bytes(self.tables.section(b".gnu_debuglink")?);
        let length = bytes.iter().position(|&byte| byte == 0)?;
        let checksum = bytes.get((length + 1).next_multiple_of(4)..)?.first_chunk()?;
        let checksum = if self.tables.is_big_endian() {
            u32::from_be_bytes(*checksum)
        } else {
            u32::from_le_bytes(*checksum)
        };
        Some((&bytes[..length], checksum))
    }

    /// Path and id of the supplementary file. `.gnu_debugaltlink` holds the path as a string, then the build id up to the
    /// end of the section. `.debug_sup` has a checksum in place of the build id.
    pub(super) fn altlink(&self) -> Option<(&'f [u8], &'f [u8])> {
        let Some(section) = self.tables.section(b".gnu_debugaltlink") else {
            let (is_supplementary, name, checksum) = self.tables.supplement()?;
            return (!is_supplementary).then_some((name, checksum));
        };
        let bytes = self.tables.bytes(section);
        let length = bytes.iter().position(|&byte| byte == 0)?;
        Some((&bytes[..length], &bytes[length + 1..]))
    }

    fn place(&self, section: usize) -> String {
        let section = &self.tables.sections[section];
        format!("section {} {}, offset {:#x}", section.index, shown(section.name), section.offset)
    }
}

/// One section of the file, which is a debug section or a part of one.
struct SectionPart<'f> {
    section: usize,
    /// The section's bytes in the file, without the compression header.
    input: &'f [u8],
    method: Option<Compression>,
    /// The uncompressed size that the file claims.
    size: u64,
    /// Offset in the joined bytes.
    offset: u64,
}

/// The sections that make up each debug section. Nothing is decompressed or copied yet.
#[derive(Default)]
pub(super) struct DebugLayout<'f> {
    parts: Vec<(DebugSection, Vec<SectionPart<'f>>)>,
}

impl<'f> DebugLayout<'f> {
    /// Finds the sections named `.debug_*` or `.zdebug_*`. With `split` it finds the ones that end in `.dwo` and the indices
    /// of a package.
    ///
    /// # Errors
    /// A compressed section is too short for its header.
    pub(super) fn find(
        contents: &Contents<'_, 'f>,
        split: bool,
        diagnostics: &mut OpenDiagnostics,
    ) -> Result<Self, OpenError> {
        let mut layout = Self::default();
        for section in &contents.tables.sections {
            let Some((id, z_name)) = debug_section_of(section.name, split) else { continue };
            if section.kind == elf::SHT_NOBITS.0 || section.kind == elf::SHT_NULL.0 {
                continue;
            }
            if contents.tables.is_cut(section) {
                diagnostics.note(OpenDiagnosticKind::TruncatedSection, || contents.place(section.index));
            }
            let Some(mut piece) = unpacking(contents, section, z_name, diagnostics)? else { continue };
            match layout.parts.iter_mut().find(|(known, _)| *known == id) {
                Some((_, pieces)) => {
                    // A size that is only claimed may be used: `decompress::append` fails if the section has another.
                    piece.offset = pieces.last().map_or(0, |last| last.offset.saturating_add(last.size));
                    pieces.push(piece);
                }
                None => layout.parts.push((id, vec![piece])),
            }
        }
        Ok(layout)
    }

    /// True if there is a `.debug_info` or a `.debug_types`.
    pub(super) fn has_units(&self) -> bool {
        self.parts.iter().any(|(id, _)| matches!(id, DebugSection::Info | DebugSection::Types))
    }

    /// Makes the bytes of every debug section. Runs in parallel if the caller allows it and several sections need work.
    /// A section that needs no work is borrowed from the mapped file.
    ///
    /// # Errors
    /// A compressed section is damaged, has another size than it claims, or is too large.
    pub(super) fn load(
        self,
        contents: &Contents<'_, 'f>,
        layout: &Layout,
        parallel: bool,
        diagnostics: &mut OpenDiagnostics,
    ) -> Result<DebugSections<'f>, OpenError> {
        let mut bias = layout.bias.clone();
        // Before anything is relocated, since the sections refer to each other (`.debug_info` to `.debug_str`).
        for piece in self.parts.iter().flat_map(|(_, pieces)| pieces) {
            bias[piece.section] = piece.offset;
        }
        let relocator = Relocator::new(contents.tables, &bias);
        let make = |(id, pieces): &(DebugSection, Vec<SectionPart<'f>>)| {
            // Each section counts by itself, and the counts are merged in the order of the file: threads must not decide the first case.
            let mut diagnostics = OpenDiagnostics::default();
            let bytes = join(contents, pieces, &relocator, &mut diagnostics);
            (*id, bytes, diagnostics)
        };
        let work = self.parts.iter().filter(|(_, pieces)| borrowed(pieces, &relocator).is_none()).count();
        let made: Vec<_> = if parallel && work > 1 {
            self.parts.par_iter().map(make).collect()
        } else {
            self.parts.iter().map(make).collect()
        };
        let mut debug = DebugSections::default();
        for (id, bytes, noted) in made {
            debug.set(id, bytes?);
            diagnostics.merge(noted.into_vec());
        }
        Ok(debug)
    }
}

/// The bytes of a debug section in the mapped file, if it is one uncompressed section without relocations.
fn borrowed<'f>(pieces: &[SectionPart<'f>], relocator: &Relocator<'_, 'f>) -> Option<&'f [u8]> {
    match pieces {
        [piece] if piece.method.is_none() && !relocator.applies_to(piece.section) => Some(piece.input),
        _ => None,
    }
}

/// Joins, decompresses and relocates the parts of one debug section. The result is empty if a relocation type is unknown.
fn join<'f>(
    contents: &Contents<'_, 'f>,
    pieces: &[SectionPart<'f>],
    relocator: &Relocator<'_, 'f>,
    diagnostics: &mut OpenDiagnostics,
) -> Result<&'f [u8], OpenError> {
    if let Some(bytes) = borrowed(pieces, relocator) {
        return Ok(bytes);
    }
    let Some(first) = pieces.first() else { return Ok(&[]) };
    // Saturates, so that `reserve` refuses sizes whose sum would wrap.
    let claimed = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.size));
    let source = pieces.iter().map(|piece| piece.input.len() as u64).sum();
    let mut bytes = contents.files.reserve(contents.path, &contents.place(first.section), claimed, source)?;
    for piece in pieces {
        let start = bytes.len();
        match piece.method {
            None => bytes.extend_from_slice(piece.input),
            Some(method) => {
                decompress::append(method, piece.input, piece.size, &mut bytes).map_err(|problem| {
                    OpenError::malformed(contents.path, contents.place(piece.section), problem)
                })?
            }
        }
        if !relocator.apply(piece.section, &mut bytes[start..], diagnostics) {
            let first = || {
                let place = contents.place(piece.section);
                format!("{place}, of {}", others::machine_name(contents.tables.machine))
            };
            diagnostics.note(OpenDiagnosticKind::UnrelocatedSection, first);
            return Ok(&[]);
        }
    }
    Ok(contents.files.keep(bytes))
}

/// `SHT_LLVM_BB_ADDR_MAP`.
const BLOCK_MAP: u32 = 0x6fff_4c0a;
/// `SHT_LLVM_BB_ADDR_MAP_V0`, written by LLVM 14 and older.
const BLOCK_MAP_V0: u32 = 0x6fff_4c08;

/// `SHT_LLVM_CALL_GRAPH`.
const CALL_GRAPH: u32 = 0x6fff_4c0f;

/// The sections of the basic-block address map.
pub(super) fn block_maps<'f>(
    contents: &Contents<'_, 'f>,
    layout: &Layout,
    diagnostics: &mut OpenDiagnostics,
) -> Vec<BlockMapSection<'f>> {
    let kinds = [BLOCK_MAP, BLOCK_MAP_V0];
    let found = of_kinds(contents, layout, &kinds, OpenDiagnosticKind::BadBlockMap, diagnostics);
    let map = |(section, bytes): (&ElfSection<'_>, _)| BlockMapSection {
        bytes,
        without_version: section.kind == BLOCK_MAP_V0,
        index: section.index,
    };
    found.into_iter().map(map).collect()
}

/// The sections of the call graph (`.llvm.callgraph`), in section order.
pub(super) fn call_graphs<'f>(
    contents: &Contents<'_, 'f>,
    layout: &Layout,
    diagnostics: &mut OpenDiagnostics,
) -> Vec<&'f [u8]> {
    let found = of_kinds(contents, layout, &[CALL_GRAPH], OpenDiagnosticKind::BadCallGraph, diagnostics);
    found.into_iter().map(|(_, bytes)| bytes).collect()
}

/// The bytes of the sections of some types. A section that cannot be decompressed is counted and left out, since nothing else
/// depends on it.
fn of_kinds<'a, 'f>(
    contents: &Contents<'a, 'f>,
    layout: &Layout,
    kinds: &[u32],
    bad: OpenDiagnosticKind,
    diagnostics: &mut OpenDiagnostics,
) -> Vec<(&'a ElfSection<'f>, &'f [u8])> {
    let sections = contents.tables.sections.iter();
    let mut sections = sections.filter(|section| kinds.contains(&section.kind)).peekable();
    if sections.peek().is_none() {
        return Vec::new();
    }
    // They refer to code only, so the offsets of joined debug sections are not needed.
    let relocator = Relocator::new(contents.tables, &layout.bias);
    let mut found = Vec::new();
    for section in sections {
        if contents.tables.is_cut(section) {
            diagnostics.note(OpenDiagnosticKind::TruncatedSection, || contents.place(section.index));
        }
        let unpacked = unpacking(contents, section, false, diagnostics).and_then(|piece| match piece {
            Some(piece) => join(contents, &[piece], &relocator, diagnostics).map(Some),
            None => Ok(None),
        });
        match unpacked {
            Ok(Some(bytes)) => found.push((section, bytes)),
            Ok(None) => {}
            Err(error) => diagnostics.note(bad, || error.to_string()),
        }
    }
    found
}

/// The debug section with this section name, and whether the name has the old prefix for compressed sections (`.zdebug_`).
fn debug_section_of(name: &[u8], split: bool) -> Option<(DebugSection, bool)> {
    let (base, z_name) = match name.strip_prefix(b".debug_") {
        Some(base) => (base, false),
        None => (name.strip_prefix(b".zdebug_")?, true),
    };
    // The indices of a package (`.debug_cu_index`, `.debug_tu_index`) belong to split DWARF but have no suffix `.dwo`.
    let id = match (base.strip_suffix(b".dwo"), split) {
        (Some(base), true) => DebugSection::from_base_name(base),
        (None, true) => DebugSection::from_base_name(base)
            .filter(|id| matches!(id, DebugSection::CuIndex | DebugSection::TuIndex)),
        (None, false) => DebugSection::from_base_name(base),
        // Object files of `-gsplit-dwarf=single` have both kinds, and `read_split` reads those with the suffix.
        (Some(_), false) => None,
    };
    id.map(|id| (id, z_name))
}

/// A section's compression method and size; `None` if the method is not known.
fn unpacking<'f>(
    contents: &Contents<'_, 'f>,
    section: &ElfSection<'f>,
    z_name: bool,
    diagnostics: &mut OpenDiagnostics,
) -> Result<Option<SectionPart<'f>>, OpenError> {
    let bytes = contents.tables.bytes(section);
    let piece = |input: &'f [u8], method, size| {
        Some(SectionPart { section: section.index, input, method, size, offset: 0 })
    };
    if section.flags & elf::SHF_COMPRESSED.0 != 0 {
        let (kind, size, input) = compression_header(contents.tables, bytes).ok_or_else(|| {
            OpenError::malformed(
                contents.path,
                contents.place(section.index),
                "shorter than a compression header",
            )
        })?;
        let method = match elf::CompressionType(kind) {
            elf::ELFCOMPRESS_ZLIB => Compression::Zlib,
            elf::ELFCOMPRESS_ZSTD => Compression::Zstd,
            _ => {
                diagnostics.note(OpenDiagnosticKind::UnknownCompression, || {
                    format!("{}: compression type {kind}", contents.place(section.index))
                });
                return Ok(None);
            }
        };
        return Ok(piece(input, Some(method), size));
    }
    if z_name && let Some(rest) = bytes.strip_prefix(b"ZLIB") {
        let Some((size, input)) = rest.split_first_chunk() else {
            let problem = "shorter than the header of a .zdebug section";
            return Err(OpenError::malformed(contents.path, contents.place(section.index), problem));
        };
        // Big-endian in every file: the format is older than `SHF_COMPRESSED`, whose header has the file's byte order.
        return Ok(piece(input, Some(Compression::Zlib), u64::from_be_bytes(*size)));
    }
    Ok(piece(bytes, None, bytes.len() as u64))
}

/// Compression type, uncompressed size and compressed bytes of a section with `SHF_COMPRESSED`.
fn compression_header<'f>(tables: &Tables<'f>, bytes: &'f [u8]) -> Option<(u32, u64, &'f [u8])> {
    if tables.is_64 {
        let (header, input) = from_bytes::<CompressionHeader64<Endianness>>(bytes).ok()?;
        Some((header.ch_type.get(tables.endian).0, header.ch_size.get(tables.endian), input))
    } else {
        let (header, input) = from_bytes::<CompressionHeader32<Endianness>>(bytes).ok()?;
        Some((header.ch_type.get(tables.endian).0, header.ch_size.get(tables.endian).into(), input))
    }
}

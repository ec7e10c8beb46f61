//! Relocates the debug sections of an ELF object file with the `object` crate alone, as a check of `elf::relocate`.

use object::read::elf::{ElfFile, FileHeader};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use object::{RelocationEncoding, RelocationKind, RelocationTarget};

use super::files::Files;
use super::image::{DebugSection, DebugSections, Format, Image, ImageKind};

type Result<T> = std::result::Result<T, String>;

/// True if `open` relocated the debug sections of this image.
pub(crate) fn needs_relocation(image: &Image<'_>) -> bool {
    image.kind == ImageKind::Relocatable && image.format == Format::Elf
}

/// The debug sections of an object file, relocated to the section addresses of its image.
///
/// # Errors
/// `object` does not know a relocation type, a section is compressed, or two sections have the same name. The text says
/// which.
pub(crate) fn relocated_by_object<'f>(files: &'f Files, image: &Image<'f>) -> Result<DebugSections<'f>> {
    use object::elf::{EM_SH, EM_XTENSA, FileHeader32, FileHeader64};
    if [EM_SH.0, EM_XTENSA.0].contains(&image.arch.machine) {
        return Err("`object` does not add the addends that SH and Xtensa have in the place".to_owned());
    }
    let path = image.debug_path.as_ref().unwrap_or(&image.path);
    let data = files.map(path).map_err(|error| error.to_string())?;
    match image.arch.address_size {
        8 => sections::<FileHeader64<object::Endianness>>(files, image, data),
        _ => sections::<FileHeader32<object::Endianness>>(files, image, data),
    }
}

fn sections<'f, Elf: FileHeader<Endian = object::Endianness>>(
    files: &'f Files,
    image: &Image<'f>,
    data: &'f [u8],
) -> Result<DebugSections<'f>> {
    let words = |error: object::Error| error.to_string();
    let file = ElfFile::<Elf>::parse(data).map_err(words)?;
    let start_of = |index: object::SectionIndex| {
        let section = image.sections.iter().find(|section| section.index == index.0);
        // A debug section is not in the image. It has offset 0 in the joined bytes, since two of one name are refused below.
        section.map_or(0, |section| section.range.start.0)
    };
    let mut debug = DebugSections::default();
    for (base, id) in DebugSection::all() {
        let name = [b".debug_", base].concat();
        let mut named = file.sections().filter(|section| section.name_bytes() == Ok(&name));
        // The check compares names, lines and ranges, which do not need these sections.
        let is_unused = matches!(
            id,
            DebugSection::Aranges | DebugSection::Frame | DebugSection::Loc | DebugSection::LocLists
        );
        let Some(section) = named.next().filter(|_| !is_unused) else { continue };
        if named.next().is_some() {
            return Err(format!("several sections {}", name.escape_ascii()));
        }
        let input = section.data().map_err(words)?;
        if section.compressed_file_range().map_err(words)?.format != object::CompressionFormat::None {
            return Err(format!("section {} is compressed", name.escape_ascii()));
        }
        let mut bytes = input.to_vec();
        for (offset, row) in section.relocations() {
            let target = match row.target() {
                RelocationTarget::Symbol(index) => {
                    let symbol = file.symbol_by_index(index).map_err(words)?;
                    symbol.section_index().map_or(0, start_of).wrapping_add(symbol.address())
                }
                _ => 0,
            };
            let size = match (row.kind(), row.encoding(), row.size()) {
                (RelocationKind::None, ..) => continue,
                (RelocationKind::Absolute, RelocationEncoding::Generic, 32) => 4,
                (RelocationKind::Absolute, RelocationEncoding::Generic, 64) => 8,
                _ => {
                    return Err(format!(
                        "a relocation of {} that `object` does not know",
                        name.escape_ascii()
                    ));
                }
            };
            let place = usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..)?.get_mut(..size));
            let place = place.ok_or_else(|| format!("a relocation outside {}", name.escape_ascii()))?;
            let big = image.arch.big_endian;
            let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
            let old = if big { place.iter().fold(0, fold) } else { place.iter().rev().fold(0, fold) };
            let kept = if row.has_implicit_addend() { old } else { 0 };
            let value = target.wrapping_add_signed(row.addend()).wrapping_add(kept);
            for (at, byte) in place.iter_mut().enumerate() {
                let at = if big { size - 1 - at } else { at };
                *byte = (value >> (8 * at)) as u8;
            }
        }
        debug.set(id, files.keep(bytes));
    }
    Ok(debug)
}

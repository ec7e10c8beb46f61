//! Finds a program's sections with call frame information, as plain bytes. In an object file they are relocated to the
//! synthetic section addresses that [`super::Image`] uses too.

use std::path::Path;

use object::{BinaryFormat, CompressionFormat, Object, ObjectKind, ObjectSection};

use super::decompress::{self, Compression};
use super::error::OpenError;
use super::files::Files;
use super::image::DebugSection;
use super::magic::not_an_object;
use super::{elf, gpu, macho};

/// A section with call frame information.
#[derive(Clone, Copy, Debug)]
pub struct FrameBytes<'f> {
    /// Its name.
    pub name: &'static str,
    /// True for `.eh_frame`, false for `.debug_frame`.
    pub eh: bool,
    /// Its link-time address; 0 if it is not loaded.
    pub address: u64,
    /// Its bytes, decompressed.
    pub bytes: &'f [u8],
    /// The size of the program's addresses in bytes.
    pub address_size: u8,
    /// The program's byte order.
    pub big_endian: bool,
}

/// The sections with call frame information, `.eh_frame` first. A program may have none.
///
/// `target` is as in `OpenOptions::target`.
///
/// # Errors
/// The file cannot be read, is neither an ELF file nor a linked Mach-O program, or has a damaged section.
pub fn frame_sections<'f>(
    files: &'f Files,
    path: &Path,
    target: Option<&str>,
) -> Result<Vec<FrameBytes<'f>>, OpenError> {
    let data = files.map(path)?;
    let data = gpu::choose(files, path, data, target, None)?.map_or(data, |(data, _)| data);
    if !data.starts_with(b"\x7fELF") && !macho::is_macho(data) {
        return Err(not_an_object(path, data));
    }
    // In a linked file nothing is relocated, so `object` suffices. It finds `.eh_frame` as `__eh_frame` in Mach-O too.
    let file = object::File::parse(data)
        .map_err(|error| OpenError::malformed(path, "file header, offset 0x0", error.to_string()))?;
    if file.kind() == ObjectKind::Relocatable {
        return relocated(files, path, data, &file);
    }
    let mut found = Vec::new();
    for (name, eh) in [(".eh_frame", true), (".debug_frame", false)] {
        let Some(section) = file.section_by_name(name) else { continue };
        let wrong = |problem: String| OpenError::malformed(path, format!("section {name}"), problem);
        // A separate debug file has a section header of `.eh_frame` without bytes.
        let packed = section.compressed_data().map_err(|error| wrong(error.to_string()))?;
        let method = match packed.format {
            CompressionFormat::None => None,
            CompressionFormat::Zlib => Some(Compression::Zlib),
            CompressionFormat::Zstandard => Some(Compression::Zstd),
            _ => return Err(wrong("its compression is not known".to_owned())),
        };
        let bytes = match method {
            None => packed.data,
            Some(method) => {
                let (claimed, from) = (packed.uncompressed_size, packed.data.len() as u64);
                let mut unpacked = files.reserve(path, name, claimed, from)?;
                decompress::append(method, packed.data, claimed, &mut unpacked).map_err(wrong)?;
                files.keep(unpacked)
            }
        };
        let address_size = if file.is_64() { 8 } else { 4 };
        let big_endian = !file.is_little_endian();
        found.push(FrameBytes { name, eh, address: section.address(), bytes, address_size, big_endian });
    }
    Ok(found)
}

/// The sections with call frame information of an object file.
fn relocated<'f>(
    files: &'f Files,
    path: &Path,
    data: &'f [u8],
    file: &object::File<'f>,
) -> Result<Vec<FrameBytes<'f>>, OpenError> {
    if file.format() != BinaryFormat::Elf {
        let what = "call frame information of an object file that is not ELF".to_owned();
        return Err(OpenError::Unsupported { path: path.to_owned(), what });
    }
    let (image, _) = elf::read(files, path, data)?;
    let (address_size, big_endian) = (image.arch.address_size, image.arch.big_endian);
    let mut found: Vec<FrameBytes<'f>> = elf::eh_frames(files, path, data)?
        .into_iter()
        .map(|(address, bytes)| FrameBytes {
            name: ".eh_frame",
            eh: true,
            address,
            bytes,
            address_size,
            big_endian,
        })
        .collect();
    // `.debug_frame` is a debug section, which `elf::read` has relocated. `.eh_frame` is a loaded section and is not among them.
    let bytes = image.debug.get(DebugSection::Frame);
    if !bytes.is_empty() {
        let name = ".debug_frame";
        found.push(FrameBytes { name, eh: false, address: 0, bytes, address_size, big_endian });
    }
    Ok(found)
}

//! Opens a program: the file itself, then its separate debug files.

use std::path::Path;

use super::arch::{is_arch, is_known};
use super::archive;
use super::compressed::map_program;
use super::elf::{self, Links};
use super::error::OpenError;
use super::files::Files;
use super::gpu;
use super::image::{Image, ImageKind};
use super::macho::{self, fat};
use super::magic::not_an_object;
use super::options::OpenOptions;
use super::separate;
use super::split::{SplitFile, open_package};
use crate::diagnostics::opening::{OpenDiagnostic, OpenDiagnosticKind};
use crate::toolchain::suffixes::without_version;

/// The source of a program.
#[derive(Clone, Copy)]
pub(crate) enum ProgramSource<'s> {
    Path(&'s Path),
    /// A name for messages, and the bytes.
    Bytes(&'s Path, &'s [u8]),
}

impl<'s> ProgramSource<'s> {
    pub(crate) fn name(self) -> &'s Path {
        match self {
            ProgramSource::Path(name) | ProgramSource::Bytes(name, _) => name,
        }
    }
}

/// Opens a program and the package of its `.dwo` files.
pub(crate) fn open_program<'f>(
    files: &'f Files,
    source: ProgramSource<'f>,
    options: &OpenOptions,
) -> Result<(Image<'f>, Option<SplitFile<'f>>), OpenError> {
    let mut image = match source {
        ProgramSource::Path(path) => open_image(files, path, options)?,
        ProgramSource::Bytes(name, bytes) => image_from_bytes(files, name, bytes, options)?,
    };
    let package = open_package(files, options, &mut image)?;
    Ok((image, package))
}

/// Opens a program, with its separate debug file, dSYM and dwz file if it has them.
///
/// The image borrows from `files`. This does not open a `.dwo` or `.dwp`.
///
/// # Errors
/// The path is not a regular file, has no known format, is damaged, or claims more than [`Files`] allows. A missing
/// separate file is not an error but a diagnostic of the image.
pub(crate) fn open_image<'f>(
    files: &'f Files,
    path: &Path,
    options: &OpenOptions,
) -> Result<Image<'f>, OpenError> {
    // A dSYM bundle is a folder, and `map` takes regular files only.
    let path = &macho::bundle::resolve(path)?;
    let data = map_program(files, path)?;
    let mut opened = open_alone(files, path, data, options)?;
    if options.separate {
        match &mut opened {
            Opened::Elf(image, links) => separate::complete(files, image, links, options)?,
            Opened::MachO(image, has_debug_map) => {
                let linked = matches!(image.kind, ImageKind::Executable | ImageKind::Dynamic);
                // A linked Mach-O program has no DWARF: `dsymutil` collects it from the object files into a dSYM.
                if options.debug_file.is_some() || linked && !image.debug.has_units() {
                    macho::bundle::complete(files, image, *has_debug_map, options)?;
                } else if image.kind == ImageKind::DebugOnly
                    && let Some(program) = macho::bundle::program_of(files, image)
                {
                    // `join` adds a debug file to a program. The user named the debug file, so the two change places.
                    let debug = std::mem::replace(image, program);
                    separate::join(image, debug);
                }
            }
        }
    }
    Ok(opened.finish(files))
}

/// Reads a program from bytes in memory; `path` is for messages. Opens no file.
///
/// # Errors
/// As [`open_image`].
pub(crate) fn image_from_bytes<'f>(
    files: &'f Files,
    path: &Path,
    bytes: &'f [u8],
    options: &OpenOptions,
) -> Result<Image<'f>, OpenError> {
    files.count(bytes);
    Ok(open_alone(files, path, bytes, options)?.finish(files))
}

/// An image, and its file's references to other files.
enum Opened<'f> {
    Elf(Image<'f>, Links<'f>),
    /// The flag is true if the program has a debug map (`N_OSO`).
    MachO(Image<'f>, bool),
}

impl<'f> Opened<'f> {
    fn finish(self, files: &'f Files) -> Image<'f> {
        let mut image = match self {
            Self::Elf(mut image, links) => {
                // Last, since a debug file that was joined may have brought the `.symtab` of which `.gnu_debugdata` is a part.
                separate::add_mini_symbols(files, &mut image, &links);
                // The tables of versions of a debug file have no bytes, and the program that has them is not there.
                if image.kind == ImageKind::DebugOnly && links.has_versions {
                    for symbol in &mut image.symbols {
                        symbol.name = without_version(symbol.name, |_| true);
                    }
                }
                image
            }
            Self::MachO(image, _) => image,
        };
        image.files = Some(files);
        if image.kind == ImageKind::DebugOnly {
            image.diagnostics.push(OpenDiagnostic {
                kind: OpenDiagnosticKind::NoCode,
                count: 1,
                first: "debug information alone; convert the program, with this file beside it".to_owned(),
            });
        }
        image
    }
}

fn open_alone<'f>(
    files: &'f Files,
    path: &Path,
    data: &'f [u8],
    options: &OpenOptions,
) -> Result<Opened<'f>, OpenError> {
    let (path, data) = &match options.member {
        Some(index) => archive::member(path, data, index)?,
        None => (path.to_owned(), data),
    };
    let data = *data;
    let wanted = options.arch.as_deref();
    // Before the magic decides: a host program with device code is an ELF file itself, and `--target` means a program inside it.
    let (data, note) =
        gpu::choose(files, path, data, options.target.as_deref(), options.device)?.unwrap_or((data, None));
    if data.starts_with(b"\x7fELF") {
        let (mut image, links) = elf::read(files, path, data)?;
        image.diagnostics.extend(note);
        if let Some(wanted) = wanted.filter(|wanted| !is_arch(&image.arch, wanted)) {
            return Err(other_arch(path, image.arch.name, wanted));
        }
        return Ok(Opened::Elf(image, links));
    }
    let thin = if fat::is_fat(data) { fat::choose(path, fat::slices(path, data)?, wanted)? } else { data };
    if !macho::is_macho(thin) {
        return Err(not_an_object(path, thin));
    }
    // `fat::choose` has already compared the architecture of a fat file.
    if let (Some(wanted), Some(arch)) = (wanted, fat::arch_of(thin).filter(|_| !fat::is_fat(data)))
        && !fat::same_arch(&arch, wanted)
    {
        return Err(other_arch(path, &arch, wanted));
    }
    macho::read(files, path, thin).map(|(image, has_debug_map)| Opened::MachO(image, has_debug_map))
}

fn other_arch(path: &Path, found: &str, wanted: &str) -> OpenError {
    let (path, found, wanted) = (path.to_owned(), found.to_owned(), wanted.to_owned());
    // A name that no processor has is a mistake in the option, not a property of the program.
    match is_known(&wanted) {
        true => OpenError::OtherArch { path, found, wanted },
        false => OpenError::UnknownArch { path, found, wanted },
    }
}

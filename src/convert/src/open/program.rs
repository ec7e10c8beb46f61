//! Opens a program: the file itself, then the files that it names.

use std::path::Path;

use super::elf;
use super::error::OpenError;
use super::files::Files;
use super::image::Image;
use super::options::OpenOptions;
use super::separate;

const ELF_MAGIC: &[u8] = b"\x7fELF";

/// Opens a program, with its separate debug file and dwz file where it names them.
///
/// The image borrows from `files`. No `.dwo` or `.dwp` is opened here.
///
/// # Errors
/// The path is not a regular file, is of no known format, is damaged, or claims more than [`Files`] allows. That a
/// separate file is missing is a diagnostic of the image.
pub fn open_image<'f>(files: &'f Files, path: &Path, options: &OpenOptions) -> Result<Image<'f>, OpenError> {
    let data = files.map(path)?;
    if data.starts_with(ELF_MAGIC) {
        let (mut image, mut links) = elf::read(files, path, data)?;
        if options.separate {
            separate::complete(files, &mut image, &mut links, options);
        }
        separate::add_mini_symbols(files, &mut image, &links);
        return Ok(image);
    }
    Err(not_an_object(path, data))
}

/// Reads a program from bytes that the caller has; `path` is for messages. Opens no file.
///
/// # Errors
/// As [`open_image`].
pub fn image_from_bytes<'f>(
    files: &'f Files,
    path: &Path,
    bytes: &'f [u8],
    _options: &OpenOptions,
) -> Result<Image<'f>, OpenError> {
    if bytes.starts_with(ELF_MAGIC) {
        let (mut image, links) = elf::read(files, path, bytes)?;
        separate::add_mini_symbols(files, &mut image, &links);
        return Ok(image);
    }
    Err(not_an_object(path, bytes))
}

fn not_an_object(path: &Path, bytes: &[u8]) -> OpenError {
    let found = match bytes {
        [] => "an empty file".to_owned(),
        _ if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") => {
            "an archive; extract its members".to_owned()
        }
        _ => format!("begins with \"{}\"", bytes[..bytes.len().min(4)].escape_ascii()),
    };
    OpenError::NotAnObject { path: path.to_owned(), found }
}

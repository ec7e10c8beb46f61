//! Turns the inputs of the command line into programs: response files are read, folders are searched.

use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use foldsym_convert::internal::is_symbol_file;
use foldsym_store::open_regular;
use glob::{MatchOptions, Pattern};

use super::probes::is_probe;
use crate::io::failure::Failure;

/// Most bytes of a response file: a list of a million paths.
const MAX_LIST: u64 = 1 << 28;

/// The inputs, with each `@FILE` replaced by the paths that it lists: one a line, or ended by zero bytes (`find -print0`).
///
/// # Errors
/// A response file cannot be read.
pub(super) fn listed(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut inputs = Vec::new();
    for input in given {
        match input.to_str().and_then(|text| text.strip_prefix('@')) {
            Some(list) => inputs.extend(read_list(list)?),
            None => inputs.push(input.clone()),
        }
    }
    Ok(inputs)
}

fn read_list(list: &str) -> Result<Vec<PathBuf>, Failure> {
    let wrong = |error: io::Error| Failure::input(Path::new(list), format!("list of inputs: {error}"));
    let mut bytes = Vec::new();
    let read = match list {
        "-" => io::stdin().lock().take(MAX_LIST + 1).read_to_end(&mut bytes),
        path => File::open(path).and_then(|file| file.take(MAX_LIST + 1).read_to_end(&mut bytes)),
    };
    if read.map_err(wrong)? as u64 > MAX_LIST {
        return Err(wrong(io::Error::other(format!("more than {MAX_LIST} bytes"))));
    }
    // A path cannot contain a zero, but it may contain a line end.
    let end = if bytes.contains(&0) { 0 } else { b'\n' };
    let paths = bytes.split(|&byte| byte == end);
    let paths = paths.map(|path| if end == 0 { path } else { path.strip_suffix(b"\r").unwrap_or(path) });
    Ok(paths.filter(|path| !path.is_empty()).map(path_of).collect())
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// Which files of a folder are wanted: patterns with a `/` are matched with the path below the folder, others with the name.
#[derive(Clone, Copy)]
pub(super) struct InputFilter<'p> {
    pub(super) include: &'p [Pattern],
    pub(super) exclude: &'p [Pattern],
    /// Breakpad symbol files are wanted, and no programs.
    pub(super) symbol_files: bool,
}

impl InputFilter<'_> {
    fn excludes(&self, below: &Path) -> bool {
        any(self.exclude, below)
    }

    fn takes(&self, below: &Path) -> bool {
        (self.include.is_empty() || any(self.include, below)) && !self.excludes(below)
    }
}

fn any(patterns: &[Pattern], below: &Path) -> bool {
    // `*` matches no `/`, as in a shell.
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    // `below` always has a name: it is the path of an entry.
    let name = below.file_name().map(Path::new).unwrap_or(below);
    patterns.iter().any(|pattern| {
        let text = if pattern.as_str().contains('/') { below } else { name };
        pattern.matches_path_with(text, options)
    })
}

/// An entry of a folder.
pub(super) enum Found {
    /// A program, and the path of its folder below the searched one.
    Program { path: PathBuf, name: OsString, below: PathBuf },
    /// An object file or an archive: programs have its code.
    Object { path: PathBuf, name: OsString, below: PathBuf },
    /// A program, or a folder of them, that a build system made to try the compiler.
    Probe,
    /// A file that is not a program.
    Other,
    /// A file or folder that could not be read.
    Unreadable(PathBuf, io::Error),
}

/// Visits the files in a folder and in the folders below it, by name. Symbolic links in it are not followed, so this ends.
pub(super) fn walk(folder: &Path, filter: InputFilter<'_>, mut found: impl FnMut(Found)) {
    // The open folders: the entries left in each, and its path below the first.
    let mut open = Vec::new();
    match entries(folder) {
        Ok(entries) => open.push((entries, PathBuf::new())),
        Err(error) => found(Found::Unreadable(folder.to_owned(), error)),
    }
    while let Some((entries_left, below)) = open.last_mut() {
        let Some(entry) = entries_left.next() else {
            open.pop();
            continue;
        };
        let (path, name, below) = (entry.path(), entry.file_name(), below.clone());
        let place = below.join(&name);
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => {
                found(Found::Unreadable(path, error));
                continue;
            }
        };
        if is_probe(&place) {
            found(Found::Probe);
            continue;
        }
        // A bundle is one input, so the walk does not enter it.
        let is_bundle = kind.is_dir() && is_bundle(&path) && !filter.symbol_files;
        if kind.is_dir() && !is_bundle {
            // `--include` does not apply to folders: a folder that does not match may contain files that do.
            if filter.excludes(&place) {
                continue;
            }
            match entries(&path) {
                Ok(entries) => open.push((entries, place)),
                Err(error) => found(Found::Unreadable(path, error)),
            }
        } else if !filter.takes(&place) {
            found(Found::Other);
        } else if is_bundle {
            found(Found::Program { path, name, below });
        } else if kind.is_file() && filter.symbol_files {
            let is_wanted = is_symbol_file(&path);
            found(if is_wanted { Found::Program { path, name, below } } else { Found::Other });
        } else if kind.is_file() {
            match kind_of(&path) {
                Ok(FolderFile::Program) => found(Found::Program { path, name, below }),
                Ok(FolderFile::Object) => found(Found::Object { path, name, below }),
                Ok(FolderFile::Other) => found(Found::Other),
                Err(error) => found(Found::Unreadable(path, error)),
            }
        } else {
            found(Found::Other);
        }
    }
}

fn entries(folder: &Path) -> io::Result<std::vec::IntoIter<DirEntry>> {
    let mut entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<DirEntry>>>()?;
    // The order of `read_dir` depends on the file system.
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries.into_iter())
}

/// A folder that is searched for programs.
pub(super) fn is_folder(path: &Path) -> bool {
    path.is_dir() && !is_bundle(path)
}

/// A folder that is one input: the debug information of a Mach-O program.
fn is_bundle(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dSYM")
}

/// True for a host program, which is converted beside the device programs that it holds.
pub(super) fn begins_like_elf(path: &Path) -> bool {
    begins_with(path, b"\x7fELF")
}

/// True for an archive of files.
pub(super) fn is_archive(path: &Path) -> bool {
    begins_with(path, b"!<arch>\n")
}

fn begins_with<const N: usize>(path: &Path, magic: &[u8; N]) -> bool {
    let mut head = [0; N];
    // An unreadable file is not reported here: its conversion fails and reports it.
    open_regular(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *magic
}

/// What a file of a folder is to a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FolderFile {
    Program,
    /// An object file, or an archive.
    Object,
    Other,
}

/// Says by name and first bytes what a file is: ELF programs, libraries, debug files and kernel modules, Mach-O files, and containers of GPU
/// code are programs. Parts of other programs (`.dwo`, `.dwp`) and core dumps are not converted by themselves.
fn kind_of(path: &Path) -> io::Result<FolderFile> {
    if path.extension().is_some_and(|extension| extension == "dwo" || extension == "dwp") {
        return Ok(FolderFile::Other);
    }
    let mut head = [0; 20];
    let mut file = open_regular(path)?;
    let mut filled = 0;
    while filled < head.len() {
        match file.read(&mut head[filled..])? {
            0 => return Ok(FolderFile::Other),
            read => filled += read,
        }
    }
    Ok(match kind_of_head(&head) {
        // A kernel module is an object file for the linker, and a program for who has its address.
        FolderFile::Object if is_kernel_module(path) && head.starts_with(b"\x7fELF") => FolderFile::Program,
        FolderFile::Other
            if is_kernel_module(path) && foldsym_convert::internal::open::is_compressed(&head) =>
        {
            FolderFile::Program
        }
        kind => kind,
    })
}

/// `NAME.ko`, its debug file, and the compressed forms in which distributions install it.
fn is_kernel_module(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let name = [".xz", ".zst", ".gz"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    name.strip_suffix(".debug").unwrap_or(name).ends_with(".ko")
}

fn kind_of_head(head: &[u8; 20]) -> FolderFile {
    const ET_REL: u8 = 1;
    const ET_CORE: u8 = 4;
    const MH_OBJECT: [u8; 4] = [0, 0, 0, 1];
    let of_mach_o = |kind: [u8; 4]| if kind == MH_OBJECT { FolderFile::Object } else { FolderFile::Program };
    match head {
        [0x7f, b'E', b'L', b'F', _, encoding, ..] => {
            // `e_type` is in the byte order that `EI_DATA` names (2: big-endian).
            match if *encoding == 2 { [head[17], head[16]] } else { [head[16], head[17]] } {
                [ET_REL, 0] => FolderFile::Object,
                [ET_CORE, 0] => FolderFile::Other,
                _ => FolderFile::Program,
            }
        }
        // `filetype` of a Mach-O header, in the byte order of its magic.
        [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] => of_mach_o([head[12], head[13], head[14], head[15]]),
        [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] => of_mach_o([head[15], head[14], head[13], head[12]]),
        // Fat files share their magic with Java classes, whose next number is a version from 45 up.
        [0xca, 0xfe, 0xba, 0xbe | 0xbf, 0, 0, 0, count, ..] if *count < 45 => FolderFile::Program,
        [b'C', b'C', b'O', b'B', 1..=3, 0, ..] | [0x10, 0xff, 0x10, 0xad, ..] => FolderFile::Program,
        _ if head.starts_with(b"__CLANG_OFFLOAD_BUN") => FolderFile::Program,
        _ if head.starts_with(b"!<arch>\n") || head.starts_with(b"!<thin>\n") => FolderFile::Object,
        _ => FolderFile::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(start: &[u8], kind: [u8; 2]) -> [u8; 20] {
        let mut head = [0; 20];
        head[..start.len()].copy_from_slice(start);
        if start[0] == 0x7f {
            head[16..18].copy_from_slice(&kind);
        }
        head
    }

    #[test]
    fn files_by_their_first_bytes() {
        let macho = |magic: &[u8; 4], kind: [u8; 4]| {
            let mut head = head(magic, [0, 0]);
            head[12..16].copy_from_slice(&kind);
            head
        };
        for (head, kind) in [
            (head(b"\x7fELF\x02\x01", [3, 0]), FolderFile::Program),
            (head(b"\x7fELF\x02\x01", [2, 0]), FolderFile::Program),
            (head(b"\x7fELF\x02\x01", [1, 0]), FolderFile::Object),
            (head(b"\x7fELF\x01\x02", [0, 1]), FolderFile::Object),
            (head(b"\x7fELF\x02\x01", [4, 0]), FolderFile::Other),
            (head(b"\x7fELF\x02\x02", [0, 4]), FolderFile::Other),
            (macho(b"\xcf\xfa\xed\xfe", [2, 0, 0, 0]), FolderFile::Program),
            (macho(b"\xcf\xfa\xed\xfe", [1, 0, 0, 0]), FolderFile::Object),
            (macho(b"\xfe\xed\xfa\xce", [0, 0, 0, 1]), FolderFile::Object),
            (head(b"\xca\xfe\xba\xbe\0\0\0\x02", [0, 0]), FolderFile::Program),
            (head(b"\xca\xfe\xba\xbe\0\0\0\x34", [0, 0]), FolderFile::Other),
            (head(b"__CLANG_OFFLOAD_BUND", [0, 0]), FolderFile::Program),
            (head(b"CCOB\x03\0\x01\0", [0, 0]), FolderFile::Program),
            (head(b"\x10\xff\x10\xad\x01", [0, 0]), FolderFile::Program),
            (head(b"!<arch>\nx", [0, 0]), FolderFile::Object),
            (head(b"#!/bin/sh\n", [0, 0]), FolderFile::Other),
        ] {
            assert_eq!(kind_of_head(&head), kind, "{head:?}");
        }
        for (name, is_module) in [
            ("a.ko", true),
            ("a.ko.xz", true),
            ("a.ko.debug", true),
            ("a.o", false),
            ("a.xz", false),
            ("ko", false),
        ] {
            assert_eq!(is_kernel_module(Path::new(name)), is_module, "{name}");
        }
    }

    #[test]
    fn patterns_match_names_or_paths() {
        let patterns =
            |text: &[&str]| -> Vec<Pattern> { text.iter().map(|text| Pattern::new(text).unwrap()).collect() };
        let (include, exclude) = (patterns(&["*.so", "bin/*"]), patterns(&["lib/old/*", "x*"]));
        let filter = InputFilter { include: &include, exclude: &exclude, symbol_files: false };
        for (path, taken) in [
            ("a.so", true),
            ("deep/er/a.so", true),
            ("bin/app", true),
            ("bin/deep/app", false),
            ("lib/old/a.so", false),
            ("lib/xa.so", false),
            ("app", false),
        ] {
            assert_eq!(filter.takes(Path::new(path)), taken, "{path}");
        }
    }
}

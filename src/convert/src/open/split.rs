//! Finds and opens the files of split DWARF: `.dwo`, objects with `.dwo` sections, and `.dwp` packages.
//!
//! `comp_dir` and `dwo_name` come from the program and are not trusted. Only regular files are opened. With `--dwo-dir`,
//! a file is opened only if its real path (after all symbolic links) is below one of these directories. This module does
//! not compare `dwo_id`: the reader does, and takes the next candidate if a file does not belong to the program.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::elf;
use super::error::OpenError;
use super::files::{Files, is_regular, path_from_bytes};
use super::image::{Arch, DebugSection, DebugSections, Image};
use super::options::OpenOptions;
use crate::diagnostics::opening::{OpenDiagnostic, OpenDiagnosticKind};

/// In `--dwo-dir`, a path with more components than this is looked up by its file name only.
const MAX_COMPONENTS: usize = 128;

/// One opened file of split DWARF.
pub(crate) struct SplitFile<'f> {
    pub path: PathBuf,
    pub arch: Arch,
    /// The sections whose names end in `.dwo`, and the indices of a package.
    pub debug: DebugSections<'f>,
    /// What was skipped or repaired.
    pub diagnostics: Vec<OpenDiagnostic>,
}

/// Opens a `.dwo`, or an object file compiled with `-gsplit-dwarf=single`. Use a new `Files` for each, and drop it after
/// reading, so that memory stays bounded over thousands of files.
///
/// # Errors
/// As [`super::open_image`]; also if the file has no `.debug_info.dwo` or `.debug_types.dwo`.
pub(crate) fn open_dwo<'f>(files: &'f Files, path: &Path) -> Result<SplitFile<'f>, OpenError> {
    let file = open_split(files, path)?;
    if !file.debug.has_units() {
        let what = "no section .debug_info.dwo, expected a file of split DWARF".to_owned();
        return Err(OpenError::Unsupported { path: path.to_owned(), what });
    }
    Ok(file)
}

/// Opens a `.dwp`.
///
/// # Errors
/// As [`super::open_image`]; also if the file has neither `.debug_cu_index` nor `.debug_tu_index`.
pub(crate) fn open_dwp<'f>(files: &'f Files, path: &Path) -> Result<SplitFile<'f>, OpenError> {
    let file = open_split(files, path)?;
    if file.debug.get(DebugSection::CuIndex).is_empty() && file.debug.get(DebugSection::TuIndex).is_empty() {
        let what = "no section .debug_cu_index, expected a package of split DWARF".to_owned();
        return Err(OpenError::Unsupported { path: path.to_owned(), what });
    }
    Ok(file)
}

/// Opens the package (`.dwp`) of a program, if there is one. If a package that the search found is damaged, the image gets
/// a diagnostic.
///
/// # Errors
/// The package that the user gave cannot be opened.
pub(crate) fn open_package<'f>(
    files: &'f Files,
    options: &OpenOptions,
    image: &mut Image<'f>,
) -> Result<Option<SplitFile<'f>>, OpenError> {
    let Some(path) = find_dwp(options, image) else { return Ok(None) };
    match open_dwp(files, &path) {
        Ok(package) => Ok(Some(package)),
        // Without the package the units may still be found in `.dwo` files.
        Err(error) if options.dwp.is_none() => {
            let kind = OpenDiagnosticKind::PackageUnreadable;
            image.diagnostics.push(OpenDiagnostic { kind, count: 1, first: error.to_string() });
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn open_split<'f>(files: &'f Files, path: &Path) -> Result<SplitFile<'f>, OpenError> {
    let data = files.map(path)?;
    if !data.starts_with(b"\x7fELF") {
        let found = "not an ELF file, as split DWARF is".to_owned();
        return Err(OpenError::NotAnObject { path: path.to_owned(), found });
    }
    let elf::Split { debug, arch, diagnostics } = elf::read_split(files, path, data)?;
    Ok(SplitFile { path: path.to_owned(), arch, debug, diagnostics: diagnostics.into_vec() })
}

/// The path of a program's package: the one that the user gave, which need not exist; else the first existing file of
/// `PROGRAM.dwp`, `DEBUGFILE.dwp` and the same names in each `--dwo-dir`. `None` if there is none.
pub(crate) fn find_dwp(options: &OpenOptions, image: &Image<'_>) -> Option<PathBuf> {
    if !options.separate {
        return None;
    }
    if let Some(given) = &options.dwp {
        return Some(given.clone());
    }
    let beside: Vec<PathBuf> = [Some(&image.path), image.debug_path.as_ref()]
        .into_iter()
        .flatten()
        .map(|path| with_dwp(path))
        .collect();
    let names = beside.iter().filter_map(|path| path.file_name());
    let in_dirs: Vec<PathBuf> =
        options.dwo_dirs.iter().flat_map(|dir| names.clone().map(move |name| dir.join(name))).collect();
    beside.into_iter().chain(in_dirs).find(|path| is_regular(path))
}

fn with_dwp(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".dwp");
    PathBuf::from(name)
}

/// Finds the `.dwo` files of one program.
pub(crate) struct DwoFinder<'a> {
    options: &'a OpenOptions,
    program_dir: PathBuf,
    /// The real paths of the `--dwo-dir` directories that exist.
    allowed: Vec<PathBuf>,
}

impl<'a> DwoFinder<'a> {
    /// Prepares the search for the `.dwo` files that this program names.
    pub(crate) fn new(options: &'a OpenOptions, program_path: &Path) -> Self {
        let allowed = options.dwo_dirs.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
        let program_dir = program_path.parent().unwrap_or(Path::new("")).to_owned();
        Self { options, program_dir, allowed }
    }

    /// The files that the name may mean, best first. The iterator looks up each path only when it reaches it.
    ///
    /// Order: the whole path (the name if absolute, else the name below `comp_dir`), first with its prefix mapped and then
    /// as it is; in the program's directory the name and its file name; in each `--dwo-dir` the name, then each suffix of the
    /// whole path, longest first. A relative path is never resolved against the current directory.
    pub(crate) fn find(&self, comp_dir: &[u8], dwo_name: &[u8]) -> DwoCandidates<'_> {
        let mut paths = Vec::new();
        // `..` and `/` name no file.
        let name = path_from_bytes(dwo_name).filter(|name| name.file_name().is_some());
        if let Some(name) = name.filter(|_| self.options.separate) {
            let comp_dir = path_from_bytes(comp_dir).unwrap_or_default();
            self.collect(&comp_dir, &name, &mut paths);
        }
        DwoCandidates {
            finder: self,
            paths: paths.into_iter(),
            seen: Vec::new(),
            refused: None,
            irregular: None,
        }
    }

    fn collect(&self, comp_dir: &Path, name: &Path, paths: &mut Vec<PathBuf>) {
        // If `name` is absolute, `join` ignores `comp_dir`. A relative `comp_dir` counts from the program's directory.
        let whole = comp_dir.join(name);
        paths.push(self.program_dir.join(self.options.mapped(&whole)));
        paths.push(self.program_dir.join(&whole));
        let file_name = name.file_name().unwrap_or_default();
        if name.is_relative() {
            paths.push(self.program_dir.join(name));
        }
        paths.push(self.program_dir.join(file_name));
        let suffixes = suffixes(&whole);
        for dir in &self.options.dwo_dirs {
            if name.is_relative() {
                paths.push(dir.join(name));
            }
            paths.extend(suffixes.iter().map(|suffix| dir.join(suffix)));
        }
    }

    /// Checks if there is a regular file at a path, and if it may be opened. The result has its real path.
    fn check(&self, path: &Path) -> Checked {
        // The real path is checked and returned, so that the caller opens the file that was checked.
        let Ok(real) = path.canonicalize() else { return Checked::Absent };
        if !is_regular(&real) {
            return Checked::Irregular(real);
        }
        if !self.options.dwo_dirs.is_empty() && !self.allowed.iter().any(|dir| real.starts_with(dir)) {
            return Checked::Refused(real);
        }
        Checked::Allowed(real)
    }
}

enum Checked {
    Absent,
    Irregular(PathBuf),
    Refused(PathBuf),
    Allowed(PathBuf),
}

/// The suffixes of a path, longest first. A suffix has no `..`: `a/../b/c` has the suffixes `b/c` and `c`.
fn suffixes(path: &Path) -> Vec<PathBuf> {
    let parts: Vec<&OsStr> = path
        .components()
        .rev()
        .filter(|part| !matches!(part, Component::CurDir))
        // From the end, up to a `..`, which could lead out of the directory, or to the root, which `join` would put in its place.
        .map_while(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    // All suffixes of n components have about n * n / 2 components together, and the program chooses n.
    let longest = if parts.len() > MAX_COMPONENTS { 1 } else { parts.len() };
    (1..=longest).rev().map(|length| parts[..length].iter().rev().collect()).collect()
}

/// Existing files that a `.dwo` name may mean. See [`DwoFinder::find`].
pub(crate) struct DwoCandidates<'a> {
    finder: &'a DwoFinder<'a>,
    paths: std::vec::IntoIter<PathBuf>,
    seen: Vec<PathBuf>,
    refused: Option<PathBuf>,
    irregular: Option<PathBuf>,
}

impl DwoCandidates<'_> {
    /// The first file so far that exists but was not opened, because it is outside of the `--dwo-dir` directories.
    pub(crate) fn refused(&self) -> Option<&Path> {
        self.refused.as_deref()
    }

    /// The first path so far that exists but was not opened, because it is a directory, FIFO, socket or device.
    pub(crate) fn irregular(&self) -> Option<&Path> {
        self.irregular.as_deref()
    }
}

impl Iterator for DwoCandidates<'_> {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        for path in self.paths.by_ref() {
            match self.finder.check(&path) {
                Checked::Absent => {}
                Checked::Irregular(real) => {
                    self.irregular.get_or_insert(real);
                }
                Checked::Refused(real) => {
                    self.refused.get_or_insert(real);
                }
                Checked::Allowed(real) => {
                    // Several paths often lead to one file. If its `dwo_id` did not fit, it does not fit again.
                    if !self.seen.contains(&real) {
                        self.seen.push(real.clone());
                        return Some(real);
                    }
                }
            }
        }
        None
    }
}

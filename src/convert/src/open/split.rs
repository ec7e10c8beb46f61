//! Finds and opens the files of split DWARF: `.dwo`, objects with `.dwo` sections, and `.dwp` packages.
//!
//! `comp_dir` and `dwo_name` come from the program and are data. Only regular files are opened. Where directories were
//! given with `--dwo-dir`, a path counts only if it is below one of them after all symbolic links are followed.
//! Whether a file belongs to the program (its `dwo_id`) is for the reader to decide: it asks for the next candidate.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::diagnostics::{OpenDiagnostic, OpenDiagnosticKind};
use super::elf;
use super::error::OpenError;
use super::files::{Files, is_regular, path_from_bytes};
use super::image::{Arch, DebugSection, DebugSections, Image};
use super::options::OpenOptions;

/// A path of more components than this is looked up by its file name alone.
const MAX_COMPONENTS: usize = 128;

/// One opened file of split DWARF.
pub struct SplitFile<'f> {
    pub path: PathBuf,
    pub arch: Arch,
    /// The sections whose names end in `.dwo`, and the indices of a package.
    pub debug: DebugSections<'f>,
    /// What was skipped or repaired.
    pub diagnostics: Vec<OpenDiagnostic>,
}

/// Opens a `.dwo`, or the object of a `-gsplit-dwarf=single` compilation. Use a `Files` of its own, and drop it with
/// what was read, so that memory stays bounded over thousands of them.
///
/// # Errors
/// As [`super::open_image`]; also if the file has no `.debug_info.dwo` or `.debug_types.dwo`.
pub fn open_dwo<'f>(files: &'f Files, path: &Path) -> Result<SplitFile<'f>, OpenError> {
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
pub fn open_dwp<'f>(files: &'f Files, path: &Path) -> Result<SplitFile<'f>, OpenError> {
    let file = open_split(files, path)?;
    if file.debug.get(DebugSection::CuIndex).is_empty() && file.debug.get(DebugSection::TuIndex).is_empty() {
        let what = "no section .debug_cu_index, expected a package of split DWARF".to_owned();
        return Err(OpenError::Unsupported { path: path.to_owned(), what });
    }
    Ok(file)
}

/// Opens the package of a program, where there is one. One beside the program that is damaged is noted in the image.
///
/// # Errors
/// The package that was given cannot be opened.
pub fn open_package<'f>(
    files: &'f Files,
    options: &OpenOptions,
    image: &mut Image<'f>,
) -> Result<Option<SplitFile<'f>>, OpenError> {
    let Some(path) = find_dwp(options, image) else { return Ok(None) };
    match open_dwp(files, &path) {
        Ok(package) => Ok(Some(package)),
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

/// The package of a program: the one that was given, without a look whether it exists; else the first of
/// `PROGRAM.dwp`, `DEBUGFILE.dwp` and, in each `--dwo-dir`, a file of these names. `None` where there is none.
pub fn find_dwp(options: &OpenOptions, image: &Image<'_>) -> Option<PathBuf> {
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
pub struct DwoFinder<'a> {
    options: &'a OpenOptions,
    program_dir: PathBuf,
    /// The given directories with all links followed; a directory that is not there has none.
    allowed: Vec<PathBuf>,
}

impl<'a> DwoFinder<'a> {
    /// Prepares to search for the files that the program of this path names.
    pub fn new(options: &'a OpenOptions, program_path: &Path) -> Self {
        let allowed = options.dwo_dirs.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
        let program_dir = program_path.parent().unwrap_or(Path::new("")).to_owned();
        Self { options, program_dir, allowed }
    }

    /// The files that may be meant, best first; each is looked up when it is asked for.
    ///
    /// Order: the name itself if absolute, else below `comp_dir`, each first with its prefix mapped; the name and its
    /// file name in the program's directory; in each `--dwo-dir` the name, then each end of the whole path, longest
    /// first. Nothing is looked up in the current directory.
    pub fn find(&self, comp_dir: &[u8], dwo_name: &[u8]) -> DwoCandidates<'_> {
        let mut paths = Vec::new();
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
        // `join` takes an absolute name alone; a relative directory is relative to the program.
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

    /// The real path of a regular file that may be opened.
    fn check(&self, path: &Path) -> Checked {
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

/// Each end of a path that begins with a plain component, longest first; `a/../b` ends are cut after the `..`.
fn suffixes(path: &Path) -> Vec<PathBuf> {
    let parts: Vec<&OsStr> = path
        .components()
        .rev()
        .filter(|part| !matches!(part, Component::CurDir))
        .map_while(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let longest = if parts.len() > MAX_COMPONENTS { 1 } else { parts.len() };
    (1..=longest).rev().map(|length| parts[..length].iter().rev().collect()).collect()
}

/// Existing files that a `.dwo` name may mean. See [`DwoFinder::find`].
pub struct DwoCandidates<'a> {
    finder: &'a DwoFinder<'a>,
    paths: std::vec::IntoIter<PathBuf>,
    seen: Vec<PathBuf>,
    refused: Option<PathBuf>,
    irregular: Option<PathBuf>,
}

impl DwoCandidates<'_> {
    /// The first file so far that exists, but is outside the given directories and was left alone.
    pub fn refused(&self) -> Option<&Path> {
        self.refused.as_deref()
    }

    /// The first so far that exists, but is a directory, FIFO, socket or device and was left alone.
    pub fn irregular(&self) -> Option<&Path> {
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

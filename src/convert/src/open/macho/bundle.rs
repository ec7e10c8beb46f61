//! Finds the Mach-O file in a dSYM bundle, the bundle of a program, and the program of a bundle.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{fat, is_macho, uuid};
use crate::diagnostics::opening::{OpenDiagnosticKind, OpenDiagnostics};
use crate::open::error::OpenError;
use crate::open::files::{Files, is_regular};
use crate::open::image::{Image, ImageKind};
use crate::open::options::OpenOptions;
use crate::open::separate::{hex, join};

/// How many folders above a program are searched for an enclosing bundle whose name its dSYM may have
/// (`X.app/Contents/MacOS/X` has `X.app.dSYM`).
const MAX_ENCLOSING: usize = 4;

/// The file to open for a path: the path itself, or for a dSYM bundle the file in it.
///
/// # Errors
/// The bundle has no file, or several of which none has the bundle's name.
pub(in crate::open) fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
    if path.extension() != Some(OsStr::new("dSYM")) || !path.is_dir() {
        return Ok(path.to_owned());
    }
    let mut inside = contents(path);
    if inside.len() == 1 {
        return Ok(inside.remove(0));
    }
    // `X.dSYM` and `X.app.dSYM` belong to a program `X`.
    let stem = path.file_stem().map(Path::new);
    let names = [stem.map(Path::as_os_str), stem.and_then(Path::file_stem)];
    let named = inside.iter().find(|file| names.contains(&file.file_name()));
    named.cloned().ok_or_else(|| {
        let what =
            format!("a dSYM bundle with {} files in Contents/Resources/DWARF, expected one", inside.len());
        OpenError::Unsupported { path: path.to_owned(), what }
    })
}

/// The regular files in a dSYM bundle, sorted by name.
fn contents(bundle: &Path) -> Vec<PathBuf> {
    let folder = bundle.join("Contents/Resources/DWARF");
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    // On other file systems (exFAT), macOS keeps the attributes of `NAME` in a file `._NAME`.
    let hidden =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| !hidden(path) && is_regular(path)).collect();
    // The order of `read_dir` differs between file systems.
    files.sort();
    files
}

/// Joins a program with the file in a dSYM bundle that has its UUID. The bundle is the one that the user gave, else one next
/// to the program or in a `--debug-dir`.
///
/// # Errors
/// The bundle that the user gave cannot be opened, or belongs to another build.
pub(in crate::open) fn complete<'f>(
    files: &'f Files,
    image: &mut Image<'f>,
    has_debug_map: bool,
    options: &OpenOptions,
) -> Result<(), OpenError> {
    let mut diagnostics = OpenDiagnostics::default();
    let paths = match &options.debug_file {
        Some(given) => vec![resolve(given)?],
        None => bundles(&image.path, options).iter().flat_map(|bundle| contents(bundle)).collect(),
    };
    if let Some(debug) = find(files, image, &paths, &mut diagnostics) {
        join(image, debug);
    } else if let Some(given) = &options.debug_file {
        let first = diagnostics.into_vec().into_iter().next().map(|noted| noted.first);
        let none = || format!("{}: no debug information of this program's UUID", given.display());
        return Err(OpenError::WrongDebugFile { problem: first.unwrap_or_else(none) });
    } else if has_debug_map {
        diagnostics.note(OpenDiagnosticKind::DebugFileNotFound, || {
            "no dSYM bundle of this UUID; the debug information is still in the object files (run dsymutil)".to_owned()
        });
    }
    diagnostics.merge(std::mem::take(&mut image.diagnostics));
    image.diagnostics = diagnostics.into_vec();
    Ok(())
}

/// The program for a dSYM that the user named instead of a program. The program must lie next to the bundle (`X` next to
/// `X.dSYM`, or inside of `X.app` next to `X.app.dSYM`) and have the same UUID.
pub(in crate::open) fn program_of<'f>(files: &'f Files, debug: &Image<'f>) -> Option<Image<'f>> {
    // Without a UUID nothing shows that a program beside the bundle is of the same build.
    if debug.build_id.is_empty() {
        return None;
    }
    let inside = &std::path::absolute(&debug.path).ok()?;
    let bundle = inside.ancestors().find(|folder| folder.extension() == Some(OsStr::new("dSYM")))?;
    let (beside, name) = (bundle.with_extension(""), inside.file_name()?);
    let paths = [
        beside.clone(),
        bundle.with_file_name(name),
        beside.join("Contents/MacOS").join(name),
        beside.join("Versions/A").join(name),
        beside.join(name),
    ];
    let readable =
        paths.iter().filter(|path| is_regular(path)).filter_map(|path| Some((path, files.map(path).ok()?)));
    for (path, data) in readable {
        let slices = if fat::is_fat(data) { fat::slices(path, data) } else { Ok(Vec::new()) };
        // A thin file is its only slice. The whole of a fat file is dropped by `is_macho`.
        let slices = slices.unwrap_or_default().into_iter().map(|slice| slice.data).chain([data]);
        let own = slices.filter(|slice| is_macho(slice)).find(|slice| uuid(slice) == debug.build_id);
        if let Some(Ok((program, _))) = own.map(|slice| super::read(files, path, slice)) {
            let is_program = program.kind != ImageKind::DebugOnly && program.arch == debug.arch;
            return is_program.then_some(program);
        }
    }
    None
}

fn find<'f>(
    files: &'f Files,
    image: &Image<'f>,
    paths: &[PathBuf],
    diagnostics: &mut OpenDiagnostics,
) -> Option<Image<'f>> {
    // As in `program_of`: an empty UUID would be equal to that of any file without one.
    if image.build_id.is_empty() {
        return None;
    }
    for path in paths {
        let data = match files.map(path) {
            Ok(data) => data,
            Err(error) => {
                diagnostics.note(OpenDiagnosticKind::DebugFileUnreadable, || error.to_string());
                continue;
            }
        };
        let slices = if fat::is_fat(data) { fat::slices(path, data) } else { Ok(Vec::new()) };
        let slices = slices.unwrap_or_default().into_iter().map(|slice| slice.data).chain([data]);
        let mut macho = slices.filter(|slice| is_macho(slice)).peekable();
        let first = macho.peek().map(|slice| uuid(slice)).unwrap_or_default();
        match macho.find(|slice| uuid(slice) == image.build_id).map(|slice| super::read(files, path, slice)) {
            Some(Ok((debug, _))) => return Some(debug),
            Some(Err(error)) => {
                diagnostics.note(OpenDiagnosticKind::DebugFileUnreadable, || error.to_string())
            }
            None => diagnostics.note(OpenDiagnosticKind::DebugFileMismatch, || {
                format!("{}: UUID {}, the program's is {}", path.display(), hex(first), hex(image.build_id))
            }),
        }
    }
    None
}

/// Where the dSYM may be: `X.dSYM` next to the program, next to each enclosing bundle, and in each `--debug-dir`.
fn bundles(program: &Path, options: &OpenOptions) -> Vec<PathBuf> {
    // With an absolute path the result does not depend on the working directory.
    let program = &std::path::absolute(program).unwrap_or_else(|_| program.to_owned());
    let with_suffix = |path: &Path| {
        let mut name = OsString::from(path);
        name.push(".dSYM");
        PathBuf::from(name)
    };
    // A bundle is a folder with an extension (`X.app`, `X.framework`).
    let enclosing =
        program.ancestors().skip(1).take(MAX_ENCLOSING).filter(|folder| folder.extension().is_some());
    let mut bundles: Vec<PathBuf> =
        std::iter::once(program.as_path()).chain(enclosing).map(with_suffix).collect();
    let names: Vec<OsString> =
        bundles.iter().filter_map(|bundle| bundle.file_name()).map(OsString::from).collect();
    bundles.extend(options.debug_dirs.iter().flat_map(|dir| names.iter().map(move |name| dir.join(name))));
    bundles
}

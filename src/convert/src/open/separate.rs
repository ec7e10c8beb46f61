//! Completes an ELF program with its separate debug file, its dwz file and its embedded symbols (`.gnu_debugdata`).
//!
//! The names of these files come from the program and are not trusted. A debug file is used only if it is a regular file
//! and has the program's build id. If there is no build id, its checksum must be the one in the program's debug link.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::compressed::map_program;
use super::decompress;
use super::elf::{self, Links};
use super::error::OpenError;
use super::files::{Files, is_regular, path_from_bytes};
use super::image::{DebugSections, Image, ImageKind, Symbol};
use super::options::OpenOptions;
use crate::diagnostics::opening::{OpenDiagnosticKind, OpenDiagnostics};
use crate::model::ImageAddr;
use crate::toolchain::suffixes::without_version;
use crate::util::hash::HashSet;
use crate::util::text::shown;

/// What must hold before a candidate is used as the program's debug file.
#[derive(Clone, Copy)]
enum Proof {
    /// Both files have the same build id.
    BuildId,
    /// Both files have the same build id. If one of them has none, the candidate has this CRC-32.
    Checksum(u32),
    /// The user named the file. If both files have a build id, the ids are the same.
    Given,
}

/// Joins the program with its separate debug file and its dwz file. The debug file is the one that the user gave. Without
/// one, a program that has no units gets the first candidate that belongs to it.
///
/// # Errors
/// The debug file that the user gave cannot be opened, or belongs to another build.
pub(super) fn complete<'f>(
    files: &'f Files,
    image: &mut Image<'f>,
    links: &mut Links<'f>,
    options: &OpenOptions,
) -> Result<(), OpenError> {
    let mut diagnostics = OpenDiagnostics::default();
    let debug = match &options.debug_file {
        Some(given) => {
            let opened = open_debug_file(files, image, given, Proof::Given)?;
            Some(opened.map_err(|problem| OpenError::WrongDebugFile { problem })?)
        }
        // A program that was not stripped needs no other file, even if it names one.
        None if image.debug.has_units() => None,
        None => find_debug_file(files, image, links, options, &mut diagnostics),
    };
    if let Some((debug, debug_links)) = debug {
        // The units are those of the debug file now, so its link counts: offsets in the units are offsets in that dwz file.
        links.altlink = debug_links.altlink;
        links.symtab |= debug_links.symtab;
        join(image, debug);
    }
    if let Some((name, id)) = links.altlink {
        let from = image.debug_path.as_deref().unwrap_or(&image.path).to_owned();
        image.supplementary = find_supplementary(files, &from, name, id, options, &mut diagnostics);
    }
    diagnostics.merge(std::mem::take(&mut image.diagnostics));
    image.diagnostics = diagnostics.into_vec();
    Ok(())
}

/// Adds the symbols in `.gnu_debugdata` (an ELF file in an xz stream) to a program without a `.symtab`.
pub(super) fn add_mini_symbols<'f>(files: &'f Files, image: &mut Image<'f>, links: &Links<'f>) {
    let Some(stream) = links.minidebug.filter(|_| !links.symtab) else { return };
    let mut diagnostics = OpenDiagnostics::default();
    let place = "section .gnu_debugdata";
    let unpacked = decompress::xz(stream, files.section_limit(stream.len() as u64))
        .map_err(|problem| OpenError::malformed(&image.path, place, problem))
        // An xz stream does not give its size at the start, so the total is counted only now.
        .and_then(|bytes| {
            files.account(&image.path, place, bytes.len() as u64, stream.len() as u64)?;
            elf::read(files, &image.path, files.keep(bytes))
        });
    match unpacked {
        Ok((mini, _)) => join_symbols(image, mini),
        Err(error) => diagnostics.note(OpenDiagnosticKind::BadMiniDebugInfo, || error.to_string()),
    }
    diagnostics.merge(std::mem::take(&mut image.diagnostics));
    image.diagnostics = diagnostics.into_vec();
}

/// The first candidate that belongs to the program.
fn find_debug_file<'f>(
    files: &'f Files,
    image: &Image<'f>,
    links: &Links<'f>,
    options: &OpenOptions,
    diagnostics: &mut OpenDiagnostics,
) -> Option<(Image<'f>, Links<'f>)> {
    let own = image.path.canonicalize().ok();
    // Paths by build id come first: to compare two ids costs little, and a checksum reads the whole candidate.
    let by_id = options.debug_roots().filter_map(|root| build_id_path(root, image.build_id));
    let mut candidates: Vec<(PathBuf, Proof)> = by_id.map(|path| (path, Proof::BuildId)).collect();
    if let Some((name, checksum)) = links.debuglink {
        match path_from_bytes(name).filter(|name| is_file_name(name)) {
            Some(name) => {
                let paths = debuglink_paths(&image.path, own.as_deref(), &name, options);
                candidates.extend(paths.into_iter().map(|path| (path, Proof::Checksum(checksum))));
            }
            None => diagnostics.note(OpenDiagnosticKind::PathRefused, || {
                format!("debug link \"{}\" is not a file name", shown(name))
            }),
        }
    }
    if !image.build_id.is_empty() {
        let cached =
            options.debuginfod_dirs.iter().map(|dir| dir.join(hex(image.build_id)).join("debuginfo"));
        // debuginfod creates an empty file if no server has the debug information.
        let cached = cached.filter(|path| std::fs::metadata(path).is_ok_and(|found| found.len() > 0));
        let others: Vec<PathBuf> = beside(&image.path).into_iter().chain(cached).collect();
        let is_new = |path: &PathBuf| !candidates.iter().any(|(listed, _)| listed == path);
        let others: Vec<PathBuf> = others.into_iter().filter(is_new).collect();
        candidates.extend(others.into_iter().map(|path| (path, Proof::BuildId)));
    }
    // Several candidate paths may lead to one file. It is tried once, so that it is also counted once.
    let mut tried = HashSet::default();
    let mut is_new = |path: &Path, proof| match path.canonicalize() {
        // The proof is part of the key: a file that fails by its build id is tried again by its checksum.
        // A debug link may lead to the program itself, whose build id fits too.
        Ok(real) => own.as_ref() != Some(&real) && tried.insert((real, matches!(proof, Proof::BuildId))),
        // A path that cannot be resolved cannot be opened either.
        Err(_) => false,
    };
    for (path, proof) in candidates {
        if !is_regular(&path) || !is_new(&path, proof) {
            continue;
        }
        match open_debug_file(files, image, &path, proof) {
            Ok(Ok(found)) => return Some(found),
            Ok(Err(mismatch)) => diagnostics.note(OpenDiagnosticKind::DebugFileMismatch, || mismatch),
            Err(error) => diagnostics.note(OpenDiagnosticKind::DebugFileUnreadable, || error.to_string()),
        }
    }
    if let Some((name, _)) = links.debuglink {
        diagnostics.note(OpenDiagnosticKind::DebugFileNotFound, || {
            format!("{} (build id {})", shown(name), hex(image.build_id))
        });
    }
    None
}

/// Opens a candidate. The inner error is a text that says why the file does not belong to this program.
fn open_debug_file<'f>(
    files: &'f Files,
    image: &Image<'f>,
    path: &Path,
    proof: Proof,
) -> Result<Result<(Image<'f>, Links<'f>), String>, OpenError> {
    let data = map_program(files, path)?;
    // The build id is compared before anything is decompressed.
    let theirs = elf::build_id(path, data)?;
    let ours = image.build_id;
    let name = path.display();
    if !ours.is_empty() && !theirs.is_empty() {
        if ours != theirs {
            return Ok(Err(format!("{name}: build id {}, the program's is {}", hex(theirs), hex(ours))));
        }
    } else if let Proof::Checksum(expected) = proof {
        let found = crc32fast::hash(data);
        if found != expected {
            return Ok(Err(format!(
                "{name}: CRC-32 {found:#010x}, the program's link says {expected:#010x}"
            )));
        }
    } else if let Proof::BuildId = proof {
        return Ok(Err(format!("{name}: no build id, the program's is {}", hex(ours))));
    }
    let (debug, links) = elf::read(files, path, data)?;
    // A file that the user gave may have no build id. Then only this shows that it is for another processor.
    if debug.arch != image.arch {
        return Ok(Err(format!("{name}: for {}, the program is for {}", debug.arch.name, image.arch.name)));
    }
    Ok(Ok((debug, links)))
}

/// `ROOT/.build-id/ab/cdef.debug`.
fn build_id_path(root: &Path, id: &[u8]) -> Option<PathBuf> {
    // An id of one byte leaves no file name.
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    Some(root.join(".build-id").join(hex(&[*first])).join(format!("{}.debug", hex(rest))))
}

/// Where build systems put a debug file that the program does not name: `NAME.debug` next to it or in `.debug`.
fn beside(program: &Path) -> Vec<PathBuf> {
    let Some(mut name) = program.file_name().map(OsString::from) else { return Vec::new() };
    name.push(".debug");
    let folder = program.parent().unwrap_or(Path::new(""));
    vec![folder.join(&name), folder.join(".debug").join(&name)]
}

/// Where gdb looks for the file of a debug link: next to the program, in `.debug` there, and below each root. If the
/// program's path is a symbolic link, the folder of the link comes before the folder of its target.
fn debuglink_paths(
    program: &Path,
    canonical: Option<&Path>,
    name: &Path,
    options: &OpenOptions,
) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let as_given = program.parent().unwrap_or(Path::new(""));
    // An empty path cannot be resolved.
    let here = if as_given == Path::new("") { Path::new(".") } else { as_given };
    let resolved = canonical.and_then(Path::parent);
    let other = resolved.filter(|&resolved| here.canonicalize().is_ok_and(|here| here != resolved));
    for folder in [Some(as_given), other].into_iter().flatten() {
        paths.push(folder.join(name));
        paths.push(folder.join(".debug").join(name));
    }
    // The real folder: if `/bin` is a link to `/usr/bin`, packages install `/usr/lib/debug/usr/bin/ls.debug`.
    if let Some(resolved) = resolved {
        paths.extend(options.debug_roots().map(|root| below(root, resolved).join(name)));
    }
    paths
}

/// An absolute path, moved below a root: `/usr/bin` below `/usr/lib/debug` is `/usr/lib/debug/usr/bin`.
fn below(root: &Path, path: &Path) -> PathBuf {
    let normal = path.components().filter(|part| matches!(part, Component::Normal(_)));
    normal.fold(root.to_owned(), |path, part| path.join(part))
}

fn is_file_name(name: &Path) -> bool {
    let mut parts = name.components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// The dwz file that `from` names, if it has the build id or checksum that `from` gives.
fn find_supplementary<'f>(
    files: &'f Files,
    from: &Path,
    name: &[u8],
    id: &[u8],
    options: &OpenOptions,
    diagnostics: &mut OpenDiagnostics,
) -> Option<DebugSections<'f>> {
    let mut candidates = Vec::new();
    if let Some(named) = path_from_bytes(name) {
        // As in gdb, a relative path counts from the real file: a debug file is often found by a link (`.build-id/ab/cdef.debug`).
        let from = from.canonicalize().unwrap_or_else(|_| from.to_owned());
        let folder = from.parent().unwrap_or(Path::new(""));
        candidates.push(options.mapped(&folder.join(&named)));
        let file_name = named.file_name().map(OsString::from).unwrap_or_default();
        for root in options.debug_roots() {
            candidates.extend(build_id_path(root, id));
            candidates.push(root.join(".dwz").join(&file_name));
            candidates.push(below(root, &named));
        }
    }
    let mut tried = HashSet::default();
    let allowed = options.given_roots();
    for path in candidates.iter().filter(|path| is_regular(path)) {
        let Ok(real) = path.canonicalize() else { continue };
        if allowed.as_ref().is_some_and(|roots| !roots.iter().any(|root| real.starts_with(root))) {
            // The message gives the name in the program only. It does not reveal what the link leads to.
            diagnostics.note(OpenDiagnosticKind::PathRefused, || {
                format!("link to \"{}\" leaves the given folders", shown(name))
            });
            continue;
        }
        if !tried.insert(real) {
            continue;
        }
        let opened = files.map(path).and_then(|data| Ok((elf::supplementary_id(path, data)?, data)));
        match opened {
            Ok((theirs, data)) if theirs == id => match elf::read(files, path, data) {
                Ok((image, _)) => {
                    diagnostics.merge(image.diagnostics);
                    return Some(image.debug);
                }
                Err(error) => diagnostics.note(OpenDiagnosticKind::DebugFileUnreadable, || error.to_string()),
            },
            Ok((theirs, _)) => diagnostics.note(OpenDiagnosticKind::DebugFileMismatch, || {
                format!("{}: build id {}, the link says {}", path.display(), hex(theirs), hex(id))
            }),
            Err(error) => diagnostics.note(OpenDiagnosticKind::DebugFileUnreadable, || error.to_string()),
        }
    }
    diagnostics.note(OpenDiagnosticKind::SupplementaryNotFound, || {
        format!("{} (build id {})", shown(name), hex(id))
    });
    None
}

/// Joins a stripped program and its debug file into one image.
pub(super) fn join<'f>(image: &mut Image<'f>, mut debug: Image<'f>) {
    image.debug_path = Some(std::mem::take(&mut debug.path));
    image.debug = std::mem::take(&mut debug.debug);
    image.restored = std::mem::take(&mut debug.restored);
    // Whether an address 0 is a tombstone depends on the file that has the units.
    image.zero_is_code = debug.zero_is_code;
    if image.build_id.is_empty() {
        image.build_id = debug.build_id;
    }
    image.relocations.append(std::mem::take(&mut debug.relocations));
    let mut diagnostics = OpenDiagnostics::default();
    diagnostics.merge(std::mem::take(&mut image.diagnostics));
    diagnostics.merge(std::mem::take(&mut debug.diagnostics));
    image.diagnostics = diagnostics.into_vec();
    let ranges = |image: &Image<'_>| image.sections.iter().map(|section| section.range).collect::<Vec<_>>();
    if image.kind == ImageKind::Relocatable && ranges(image) != ranges(&debug) {
        // The debug sections were relocated to the debug file's synthetic addresses, so its sections replace the program's.
        image.sections.clone_from(&debug.sections);
        // Everything that has addresses of the program's sections goes.
        image.symbols.clear();
        image.code_marks.clear();
        image.code.clear();
        image.data.clear();
        image.block_maps = std::mem::take(&mut debug.block_maps);
        image.call_graphs = std::mem::take(&mut debug.call_graphs);
    }
    // The map and the call graph are not loaded, so `llvm-strip` removes them from the program, and the debug file keeps them.
    if image.block_maps.is_empty() {
        image.block_maps = std::mem::take(&mut debug.block_maps);
    }
    if image.call_graphs.is_empty() {
        image.call_graphs = std::mem::take(&mut debug.call_graphs);
    }
    // Relocatable files have addresses of their own, and those of the debug file count.
    if image.kind == ImageKind::Relocatable {
        image.files_read.clear();
    }
    image.files_read.splice(0..0, std::mem::take(&mut debug.files_read));
    join_symbols(image, debug);
}

/// Puts the symbols of another file before the program's. A symbol that both have is kept once. Both files have the same
/// sections, but section positions may differ.
fn join_symbols<'f>(image: &mut Image<'f>, other: Image<'f>) {
    let positions: Vec<Option<usize>> = other
        .sections
        .iter()
        .map(|section| {
            // Empty sections may begin at the same address, so names are compared too.
            let from = image.sections.partition_point(|ours| ours.range.start < section.range.start);
            let mut same = image.sections.iter().enumerate().skip(from);
            let mut same = same.by_ref().take_while(|(_, ours)| ours.range.start == section.range.start);
            same.find(|(_, ours)| ours.name == section.name).map(|(position, _)| position)
        })
        .collect();
    let placed = |mut symbol: Symbol<'f>| {
        let position = positions.get(symbol.section as usize).copied().flatten();
        // The tables of versions of a debug file have no bytes.
        symbol.name = without_version(symbol.name, |version| image.versions.contains(version));
        symbol.section = position.or_else(|| image.section_at(ImageAddr(symbol.address)))? as u32;
        Some(symbol)
    };
    let mut symbols: Vec<Symbol<'f>> = other.symbols.into_iter().filter_map(placed).collect();
    if image.own_symbols.is_empty() && image.symbols.iter().all(|symbol| symbol.dynamic) {
        image.own_symbols = image.symbols.iter().map(|symbol| (symbol.address, symbol.name)).collect();
    }
    let known: HashSet<(u64, &[u8])> = symbols.iter().map(|symbol| (symbol.address, symbol.name)).collect();
    let shift = other.symbol_files.len() as u32;
    let parts = elf::exported_parts(&symbols);
    let is_new = |symbol: &&Symbol<'_>| {
        let named = (symbol.address, symbol.name);
        !known.contains(&named) && !parts.contains(&named)
    };
    let ours = image.symbols.iter().filter(is_new);
    // The names of the other file come first in `symbol_files`, so the indexes of the program move.
    symbols.extend(ours.map(|symbol| Symbol { file: symbol.file.map(|file| file + shift), ..*symbol }));
    image.symbols = symbols;
    image.code_marks.extend(other.code_marks);
    let ours = std::mem::replace(&mut image.symbol_files, other.symbol_files);
    // A source file that both tables name must not appear twice, so the program's entry becomes empty.
    let theirs: HashSet<&[u8]> = image.symbol_files.iter().copied().collect();
    image
        .symbol_files
        .extend(ours.into_iter().map(|name| if theirs.contains(name) { &[][..] } else { name }));
    image.linker = image.linker.joined(other.linker);
}

/// Lower-case hexadecimal digits; `none` for no bytes.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    if text.is_empty() { "none".to_owned() } else { text }
}

//! Turns the files that may be a module's into attempts to convert one, the best first: a stripped program goes with its debug file.

use std::path::{Path, PathBuf};

use foldsym_store::{BuildId, DebugId, ModuleId, text_id};

use crate::program::{Peeked, are_of_one_program, is_linked, peek};

/// A program to convert, and the file with its debug information where that is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) program: PathBuf,
    pub(crate) debug_file: Option<PathBuf>,
    /// It has code and debug information, its own or that of the debug file.
    pub(crate) is_whole: bool,
}

/// The identities by which a module may ask for a file. Without a build id they are those that crash reporters derive from the code, which
/// several programs may have.
pub(super) fn ids(peeked: &Peeked) -> Vec<ModuleId> {
    let Some(build) = BuildId::new(&peeked.build_id).ok().or_else(|| text_id(&peeked.text)) else {
        return Vec::new();
    };
    let debug = match peeked.mach_o {
        true => DebugId::of_mach_o(&build),
        false => DebugId::of_elf(&build, peeked.big_endian),
    };
    vec![build.into(), debug.into()]
}

/// The attempts for files in their order, and the files of other builds. A file whose identity is not known stays: the conversion
/// finds out.
pub(crate) fn attempts(paths: Vec<PathBuf>, id: Option<&ModuleId>) -> (Vec<Attempt>, Vec<PathBuf>) {
    let (mut known, mut others): (Vec<(PathBuf, Option<Peeked>)>, _) = (Vec::new(), Vec::new());
    for path in paths {
        if known.iter().any(|(listed, _)| *listed == path) {
            continue;
        }
        let peeked = peek(&path);
        let own = peeked.as_ref().map(ids).unwrap_or_default();
        // A program without a build id may be asked for by the hash of its contents, which its conversion computes.
        let is_known = |id: &ModuleId| own.contains(id) || !may_be_derived(id) && is_derived(peeked.as_ref());
        match id {
            Some(id) if !own.is_empty() && !is_known(id) => others.push(path),
            _ => known.push((path, peeked)),
        }
    }
    let mut ranked: Vec<(u32, Attempt)> = Vec::new();
    for (path, peeked) in &known {
        let (rank, debug_file) = match peeked {
            Some(peeked) if peeked.code && peeked.units => (0, None),
            Some(peeked) if peeked.code => match debug_file(&known, (path, peeked)) {
                Some(debug_file) => (1, Some(debug_file)),
                None => (2, None),
            },
            None => (3, None),
            Some(_) => (4, None),
        };
        ranked.push((rank, Attempt { program: path.clone(), debug_file, is_whole: rank <= 1 }));
    }
    // Stable: of one rank the given order counts.
    ranked.sort_by_key(|(rank, _)| *rank);
    (ranked.into_iter().map(|(_, attempt)| attempt).collect(), others)
}

/// Whether the identities of a file are derived from its code.
fn is_derived(peeked: Option<&Peeked>) -> bool {
    peeked.is_some_and(|peeked| peeked.build_id.is_empty())
}

fn debug_file(known: &[(PathBuf, Option<Peeked>)], (path, program): (&Path, &Peeked)) -> Option<PathBuf> {
    let fits = |file: &Path, other: &Peeked| match program.build_id.is_empty() {
        false => other.build_id == program.build_id,
        true => other.build_id.is_empty() && is_linked(path, file),
    };
    // A checksum reads the whole file.
    const MOST: usize = 16;
    let is_like = |file: &Path, other: &Peeked| match program.build_id.is_empty() {
        false => other.build_id == program.build_id,
        true => is_named(program, file),
    };
    let others = known.iter().filter_map(|(file, other)| Some((file, other.as_ref()?)));
    let mut others = others.filter(|(file, other)| other.units && is_like(file, other)).take(MOST);
    others.find(|(file, other)| fits(file, other)).map(|(file, _)| file.clone())
}

fn is_named(program: &Peeked, debug_file: &Path) -> bool {
    debug_file.file_name().is_some_and(|name| name.as_encoded_bytes() == program.debug_link)
}

/// The name of the debug file that a program without a build id and without debug information links to.
pub(crate) fn debug_link(program: &Path) -> Option<String> {
    let peeked = peek(program)?;
    let is_stripped = peeked.code && !peeked.units && peeked.build_id.is_empty();
    String::from_utf8(peeked.debug_link).ok().filter(|name| is_stripped && !name.is_empty())
}

/// Keeps debug files of exactly this name.
pub(super) fn retain_debug_files(paths: &mut Vec<PathBuf>, name: &str) {
    let is_debug_file = |path: &PathBuf| peek(path).is_some_and(|peeked| peeked.units && !peeked.code);
    paths.retain(|path| path.file_name().is_some_and(|own| own == name) && is_debug_file(path));
}

/// Whether an identity may be one that crash reporters derive from code. A hash of a program's contents is longer.
pub(crate) fn may_be_derived(id: &ModuleId) -> bool {
    match id {
        ModuleId::Build(id) => id.as_bytes().len() == 16,
        _ => true,
    }
}

/// Of the programs without a build id those that differ: an identity that is derived from the code does not choose between them.
pub(crate) fn different(attempts: &[Attempt], id: &ModuleId) -> Vec<PathBuf> {
    const MOST: usize = 64;
    let is_of = |peeked: &Peeked| peeked.code && peeked.build_id.is_empty() && ids(peeked).contains(id);
    let is_derived = |path: &&Path| peek(path).as_ref().is_some_and(is_of);
    let derived = attempts.iter().map(|attempt| attempt.program.as_path()).filter(is_derived).take(MOST);
    let mut different: Vec<PathBuf> = Vec::new();
    for path in derived {
        // A program and its stripped copy are one.
        if !different.iter().any(|known| are_of_one_program(known, path)) {
            different.push(path.to_owned());
        }
    }
    different
}

/// Leaves out what is no program, unless nothing else is there: its conversion says what it is.
pub(super) fn retain_programs(paths: &mut Vec<PathBuf>) {
    if paths.len() > 1 && paths.iter().any(|path| peek(path).is_some()) {
        paths.retain(|path| peek(path).is_some());
    }
}

/// Keeps the files of the first one's build.
pub(crate) fn retain_build_of_first(paths: &mut Vec<PathBuf>) {
    let build = |path: &PathBuf| peek(path).map(|peeked| peeked.build_id).filter(|id| !id.is_empty());
    let Some(first) = paths.first().cloned() else { return };
    let own = build(&first);
    paths.retain(|path| *path == first || own.is_some() && build(path) == own);
}

/// Whether files of one name are of several builds, so that the name alone does not choose.
pub(crate) fn are_several_builds(paths: &[PathBuf]) -> bool {
    let known = paths.iter().filter_map(|path| Some((path, peek(path)?)));
    // A debug file without a build id belongs to one of the programs.
    let mut known = known.filter(|(_, peeked)| peeked.code || !peeked.build_id.is_empty());
    let Some((first, peeked)) = known.next() else { return false };
    known.any(|(path, other)| {
        other.build_id != peeked.build_id || peeked.build_id.is_empty() && !are_of_one_program(first, path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_program_goes_with_its_debug_file() {
        let built = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
        let [stripped, debug, other] =
            ["split.gcc-dwarf4.set/stripped", "split.gcc-dwarf4.set/stripped.debug", "demo.elf"]
                .map(|name| built.join(name));
        let id = ids(&peek(&stripped).unwrap()).remove(0);
        let all = vec![debug.clone(), stripped.clone(), other.clone(), stripped.clone()];
        let (found, others) = attempts(all.clone(), Some(&id));
        assert_eq!(
            found[0],
            Attempt { program: stripped.clone(), debug_file: Some(debug.clone()), is_whole: true }
        );
        assert_eq!(found[1], Attempt { program: debug, debug_file: None, is_whole: false });
        assert_eq!((found.len(), others), (2, vec![other]));
        assert!(are_several_builds(&all) && !are_several_builds(&[stripped.clone(), stripped]));
    }
}

//! Turns the files that may be a module's into attempts to convert one, the best first: a stripped program goes with its debug file.

use std::path::PathBuf;

use foldsym_store::{BuildId, DebugId, ModuleId};

use crate::program::{Peeked, peek};

/// A program to convert, and the file with its debug information where that is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) program: PathBuf,
    pub(crate) debug_file: Option<PathBuf>,
}

/// The identities by which a module may ask for a file.
pub(super) fn ids(peeked: &Peeked) -> Vec<ModuleId> {
    let Ok(build) = BuildId::new(&peeked.build_id) else { return Vec::new() };
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
        match id {
            Some(id) if !own.is_empty() && !own.contains(id) => others.push(path),
            _ => known.push((path, peeked)),
        }
    }
    let mut ranked: Vec<(u32, Attempt)> = Vec::new();
    for (path, peeked) in &known {
        let (rank, debug_file) = match peeked {
            Some(peeked) if peeked.code && peeked.units => (0, None),
            Some(peeked) if peeked.code => match debug_file(&known, peeked) {
                Some(debug_file) => (1, Some(debug_file)),
                None => (2, None),
            },
            None => (3, None),
            Some(_) => (4, None),
        };
        ranked.push((rank, Attempt { program: path.clone(), debug_file }));
    }
    // Stable: of one rank the given order counts.
    ranked.sort_by_key(|(rank, _)| *rank);
    (ranked.into_iter().map(|(_, attempt)| attempt).collect(), others)
}

fn debug_file(known: &[(PathBuf, Option<Peeked>)], program: &Peeked) -> Option<PathBuf> {
    let fits =
        |other: &Peeked| other.units && !other.build_id.is_empty() && other.build_id == program.build_id;
    known.iter().find(|(_, other)| other.as_ref().is_some_and(fits)).map(|(path, _)| path.clone())
}

/// Leaves out what is no program, unless nothing else is there: its conversion says what it is.
pub(super) fn retain_programs(paths: &mut Vec<PathBuf>) {
    if paths.len() > 1 && paths.iter().any(|path| peek(path).is_some()) {
        paths.retain(|path| peek(path).is_some());
    }
}

/// Keeps the files of the first one's build.
pub(super) fn retain_build_of_first(paths: &mut Vec<PathBuf>) {
    let build = |path: &PathBuf| peek(path).map(|peeked| peeked.build_id).filter(|id| !id.is_empty());
    let Some(first) = paths.first().cloned() else { return };
    let own = build(&first);
    paths.retain(|path| *path == first || own.is_some() && build(path) == own);
}

/// Whether files of one name are of several builds, so that the name alone does not choose.
pub(super) fn are_several_builds(paths: &[PathBuf]) -> bool {
    let mut builds: Vec<Vec<u8>> =
        paths.iter().filter_map(|path| peek(path)).map(|peeked| peeked.build_id).collect();
    builds.sort_unstable();
    builds.dedup();
    builds.len() > 1
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
        assert_eq!(found[0], Attempt { program: stripped.clone(), debug_file: Some(debug.clone()) });
        assert_eq!(found[1], Attempt { program: debug, debug_file: None });
        assert_eq!((found.len(), others), (2, vec![other]));
        assert!(are_several_builds(&all) && !are_several_builds(&[stripped.clone(), stripped]));
    }
}

//! Joins the files of one build among the inputs: a program that was stripped is converted with its debug file.
//!
//! Distributions separate `usr/bin/app` and `usr/lib/debug/.build-id/ab/cdef.debug`. Each by itself gives a poor symbol file, and a store
//! has one file for both.

use std::collections::BTreeMap;

use foldsym_convert::internal::open::{Holdings, holdings, is_linked};

use super::inputs::begins_like_elf;
use super::plan::{Companion, Job, Which};

/// Gives each program without debug information the file of its build that has it. If outputs are named by build, as in a store, a debug
/// file whose program is also an input is not converted by itself; these debug files are returned.
pub(super) fn join(jobs: &mut Vec<Job>, by_build: bool) -> Vec<Companion> {
    if jobs.len() < 2 {
        return Vec::new();
    }
    // By build id and by where code is: a file with its code elsewhere is of another program, whatever its build id.
    let mut builds: BTreeMap<_, Vec<(usize, Holdings)>> = BTreeMap::new();
    // Without build ids a debug link shows that two files are of one build.
    let mut linked: BTreeMap<_, Vec<(usize, Holdings)>> = BTreeMap::new();
    for (at, job) in jobs.iter().enumerate() {
        if !matches!(job.which, Which::Whole) || !begins_like_elf(&job.input) {
            continue;
        }
        // The conversion reports the fault of the file.
        let Ok(holds) = holdings(&job.input) else { continue };
        match holds.build_id.is_empty() {
            false => {
                let key = (holds.build_id.clone(), holds.layout.clone());
                builds.entry(key).or_default().push((at, holds));
            }
            true => linked.entry(holds.layout.clone()).or_default().push((at, holds)),
        }
    }
    let mut joined = BTreeMap::new();
    for files in builds.values().filter(|files| files.len() > 1) {
        let Some((program, _)) = files.iter().find(|(_, holds)| holds.code) else { continue };
        let alone = files.iter().filter(|(_, holds)| !holds.code);
        let described = alone.clone().chain(files).find(|(_, holds)| holds.units);
        // A file with only symbols is better than none.
        let described = described.or_else(|| alone.clone().next());
        let debug_file = described.map(|(at, _)| jobs[*at].input.clone());
        for (at, _) in files.iter().filter(|(_, holds)| holds.code && !holds.units) {
            jobs[*at].debug_file.clone_from(&debug_file);
        }
        if by_build {
            joined.extend(alone.map(|(at, _)| (*at, jobs[*program].input.clone())));
        }
    }
    for files in linked.values().filter(|files| files.len() > 1) {
        for (program, holds) in files.iter().filter(|(_, holds)| holds.code && !holds.units) {
            let Some(name) = &holds.debug_link else { continue };
            let named = |at: &usize| {
                jobs[*at].input.file_name().is_some_and(|own| own.as_encoded_bytes() == &name[..])
            };
            let mut debug_files =
                files.iter().filter(|(at, holds)| !holds.code && holds.units && named(at)).map(|(at, _)| *at);
            let found = debug_files.find(|at| is_linked(&jobs[*program].input, &jobs[*at].input));
            let Some(found) = found else { continue };
            jobs[*program].debug_file = Some(jobs[found].input.clone());
            if by_build {
                joined.insert(found, jobs[*program].input.clone());
            }
        }
    }
    let mut companions = Vec::new();
    let mut at = 0;
    jobs.retain(|job| {
        let program = joined.remove(&at);
        at += 1;
        let is_kept = program.is_none();
        companions.extend(program.map(|program| Companion { input: job.input.clone(), program }));
        is_kept
    });
    companions
}

//! Turns the programs that may be a module's into its symbol file: the best of them is converted.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use foldsym_lookup::DebugInfo;
use foldsym_store::{ModuleId, SymbolMap};

use super::{Finder, Seen};
use crate::fits::level;
use crate::program::{Conversion, of_module};
use crate::search::programs::{
    Attempt, are_several_builds, attempts, debug_link, different, may_be_derived, retain_build_of_first,
};
use crate::search::{Given, told_paths};

impl Finder {
    /// Converts a program of the search paths, or the one at the module's path: first those where the module's name says, then those
    /// that have its identity.
    pub(super) fn converted(
        &self,
        id: Option<&ModuleId>,
        name: Option<&str>,
        program: Option<&Path>,
        seen: &mut Seen,
    ) -> Option<SymbolMap> {
        let mut paths = self.programs(id, name, program, &mut seen.several);
        if seen.several.is_some() {
            return None;
        }
        if let Some(map) = self.convert_first(paths.clone(), id, seen) {
            return Some(map);
        }
        let before = paths.len();
        let linked: BTreeSet<String> = paths.iter().filter_map(|path| debug_link(path)).collect();
        let mut known: HashSet<PathBuf> = paths.iter().cloned().collect();
        let of_links =
            linked.iter().flat_map(|name| self.search.iter().flat_map(|given| given.debug_files(name)));
        let of_id = id.into_iter().flat_map(|id| self.search.iter().flat_map(|given| given.programs_of(id)));
        paths.extend(of_links.chain(of_id).filter(|path| known.insert(path.clone())));
        // All of them once more: a stripped program of the name may have its debug file among these.
        if paths.len() > before { self.convert_first(paths, id, seen) } else { None }
    }

    /// The files that may be a module's program or debug file, by its name and the usual places of its build id.
    pub(crate) fn programs(
        &self,
        id: Option<&ModuleId>,
        name: Option<&str>,
        program: Option<&Path>,
        several: &mut Option<String>,
    ) -> Vec<PathBuf> {
        let (mut paths, mut in_folders): (Vec<PathBuf>, Vec<PathBuf>) = (Vec::new(), Vec::new());
        for given in &self.search {
            let found = given.programs(id, name, several);
            if given.path.is_dir() { &mut in_folders } else { &mut paths }.extend(found);
        }
        // A name alone does not choose between several builds. A file that the user named is meant, with what the folders have of its
        // build.
        let is_named = !paths.is_empty();
        let candidates = if is_named { &mut paths } else { &mut in_folders };
        if id.is_none() && are_several_builds(candidates) {
            self.use_all(candidates);
            let name = name.unwrap_or("?");
            *several = Some(format!(
                "several builds are called {name}, name one of them: {}",
                told_paths(candidates)
            ));
            return Vec::new();
        }
        paths.append(&mut in_folders);
        if id.is_none() && is_named {
            retain_build_of_first(&mut paths);
        }
        // A program that the module gives by path may have another name.
        paths.extend(program.map(Path::to_owned));
        paths
    }

    /// Converts the best of several programs.
    fn convert_first(
        &self,
        paths: Vec<PathBuf>,
        id: Option<&ModuleId>,
        seen: &mut Seen,
    ) -> Option<SymbolMap> {
        let (attempts, others) = attempts(paths, id);
        let mut differ = |path: &Path| {
            let text = format!("{}: another build", path.display());
            if !seen.absent.contains(&text) {
                seen.absent.push(text);
            }
        };
        others.iter().for_each(|path| differ(path));
        if let Some(id) = id.filter(|id| may_be_derived(id)) {
            let programs = different(&attempts, id);
            if programs.len() > 1 {
                self.use_all(&programs);
                let programs = told_paths(&programs);
                seen.several =
                    Some(format!("several programs have the id {id}, name one of them: {programs}"));
                return None;
            }
        }
        let mut best: Option<SymbolMap> = None;
        for Attempt { program, debug_file, is_whole } in attempts {
            // Only another copy of the whole program may have what this one has lost.
            if best.is_some() && !is_whole {
                break;
            }
            let made = |conversion: &Conversion| {
                of_module((&program, debug_file.as_deref()), id, conversion, self.cache.as_ref())
            };
            match made(&self.conversion) {
                Ok(Some(map)) => {
                    // A damaged file may be one of the cache: then the program is converted again.
                    let again = || made(&self.conversion.checking_cache()).ok().flatten();
                    let sound = seen.sound(map).or_else(|| again().and_then(|map| seen.sound(map)));
                    let Some(map) = sound else { continue };
                    self.use_all(
                        &[Some(&program), debug_file.as_ref()]
                            .into_iter()
                            .flatten()
                            .cloned()
                            .collect::<Vec<_>>(),
                    );
                    let Some(map) = seen.whole(map) else { continue };
                    if map.file().debug_info() == DebugInfo::Full {
                        return Some(map);
                    }
                    if best.as_ref().is_none_or(|best| level(best) < level(&map)) {
                        best = Some(map);
                    }
                }
                Ok(None) => seen.absent.push(format!("{}: another build", program.display())),
                Err(error) => seen.load_error(error),
            }
        }
        best
    }

    /// The given paths that have these files are of use.
    fn use_all(&self, paths: &[PathBuf]) {
        let has = |given: &&Given| paths.iter().any(|path| path.starts_with(&given.path));
        self.search.iter().filter(has).for_each(Given::use_it);
    }
}

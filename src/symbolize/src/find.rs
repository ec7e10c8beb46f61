//! Finds the file of a module: first in the search paths, then in stores. Programs come last, since they must be converted.

use std::path::{Path, PathBuf};

#[cfg(not(feature = "convert"))]
use foldsym_store::LocalStore;
use foldsym_store::{ModuleId, Store, StoreError, SymbolMap};

use crate::cache::Cache;
#[cfg(feature = "convert")]
use crate::program::{Conversion, of_cache, of_module};
use crate::unknown::{Unknown, of_error};

/// The places where files are searched.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    pub(crate) search: Vec<PathBuf>,
    pub(crate) stores: Vec<Store>,
    pub(crate) cache: Option<Cache>,
    /// Programs are skipped.
    pub(crate) files_alone: bool,
    /// How programs are converted.
    #[cfg(feature = "convert")]
    pub(crate) conversion: Conversion,
    #[cfg(feature = "debuginfod")]
    pub(crate) debuginfod: Option<crate::debuginfod::Debuginfod>,
}

/// What a search has seen so far.
#[derive(Default)]
struct Seen {
    /// Places that have no file, or one of another build.
    absent: Vec<String>,
    /// The first damage or failure.
    trouble: Option<Unknown>,
    /// The cached file of a program that was converted without some of its debug information. It is used if no other place has a file.
    lacking: Option<SymbolMap>,
}

impl Seen {
    fn error(&mut self, error: &StoreError) {
        self.trouble.get_or_insert(of_error(error));
    }
}

impl Finder {
    /// Finds and opens the file of a module. The flag is true if another place may have a better file later. `program` is the path of the
    /// module's program, if it is known. Errors are returned only if no place has the file, and then the first of them.
    pub(crate) fn find(
        &self,
        id: Option<&ModuleId>,
        name: &str,
        program: Option<&Path>,
    ) -> Result<(SymbolMap, bool), Unknown> {
        let mut seen = Seen::default();
        #[cfg(feature = "convert")]
        // The report's identity comes first, since the program that is at the path now may be another build. Without one, the identity
        // of this program is used.
        let own = match (id, program) {
            (None, Some(program)) => self.conversion.identify(program),
            _ => None,
        };
        #[cfg(feature = "convert")]
        let id = id.or(own.as_ref());
        // A name that leads out of the folder, or is not a file name, is not used; only the identity is.
        let name = Some(name).filter(|name| !matches!(*name, "" | "." | "..") && !name.contains('\0'));
        for path in &self.search {
            if let Some(map) = search(path, id, name, &mut seen) {
                return Ok((map, false));
            }
        }
        if let Some(id) = id {
            // A file that a build published may have more than one that was converted here from its program, such as rows or readable
            // names. A local folder costs no more to search than the cache.
            let (folders, others): (Vec<&Store>, Vec<&Store>) =
                self.stores.iter().partition(|store| matches!(store, Store::Local(_)));
            if let Some(map) = of_stores(&folders, id, &mut seen) {
                return Ok((map, false));
            }
            // The cache comes before remote stores, which cost a request.
            match self.cache.as_ref().and_then(Cache::to_read).map(|cache| of_cache(cache, id)) {
                Some(Ok(Some((map, true)))) => return Ok((map, false)),
                Some(Ok(Some((map, false)))) => seen.lacking = Some(map),
                Some(Err(error)) => seen.error(&error),
                Some(Ok(None)) | None => {}
            }
            if let Some(map) = of_stores(&others, id, &mut seen) {
                return Ok((map, false));
            }
        }
        #[cfg(feature = "convert")]
        if !self.files_alone {
            let mut programs: Vec<PathBuf> = Vec::new();
            for path in &self.search {
                programs.extend(candidates(path, id, name));
            }
            // A program that the module gives by path may have another name.
            programs.extend(program.map(Path::to_owned));
            for program in programs {
                match of_module(&program, id, &self.conversion, self.cache.as_ref()) {
                    Ok(Some(map)) => return Ok((map, false)),
                    Ok(None) => seen.absent.push(format!("{}: another build", program.display())),
                    Err(unknown) => _ = seen.trouble.get_or_insert(unknown),
                }
            }
        }
        #[cfg(not(feature = "convert"))]
        if !self.files_alone {
            let named =
                self.search.iter().filter(|path| path.is_dir()).filter_map(|path| Some(path.join(name?)));
            let programs = named.chain(program.map(Path::to_owned)).filter(|path| path.is_file());
            seen.absent.extend(programs.map(|path| {
                format!("{}: this build takes no programs (it lacks the feature `convert`)", path.display())
            }));
        }
        #[cfg(feature = "debuginfod")]
        if let Some(found) = self.fetched(id, &mut seen) {
            return Ok(found);
        }
        // This file comes after all places that may have a complete one.
        if let Some(map) = seen.lacking {
            return Ok((map, true));
        }
        Err(seen.trouble.unwrap_or_else(|| {
            let id = id.map_or("no identity".to_owned(), |id| format!("id {id}"));
            let places = match seen.absent.is_empty() {
                true if self.search.is_empty() => "no search path is given".to_owned(),
                true => "no file of this name in the search paths".to_owned(),
                false => seen.absent.join("; "),
            };
            Unknown::Absent(format!("{} ({id}): {places}", name.unwrap_or("?")).into())
        }))
    }
}

#[cfg(feature = "debuginfod")]
impl Finder {
    /// Converts the program that a debuginfod server has for a build id. The flag is true if a server failed, so that it may have more later.
    fn fetched(&self, id: Option<&ModuleId>, seen: &mut Seen) -> Option<(SymbolMap, bool)> {
        let (Some(debuginfod), Some(wanted @ ModuleId::Build(id))) = (&self.debuginfod, id) else {
            return None;
        };
        match debuginfod.program(id) {
            // If a server failed, only a debug file may have come, and the result is not kept in the cache.
            Ok(Some(found)) => {
                match of_module(
                    &found.path,
                    Some(wanted),
                    &self.conversion,
                    self.cache.as_ref().filter(|_| !found.has_failed),
                ) {
                    Ok(Some(map)) => return Some((map, found.has_failed)),
                    Ok(None) => {
                        let wrong = format!("{} sent another build", debuginfod.location());
                        _ = seen.trouble.get_or_insert(Unknown::Damaged(wrong.into()));
                    }
                    Err(unknown) => _ = seen.trouble.get_or_insert(unknown),
                }
            }
            Ok(None) => seen.absent.push(format!("not at {}", debuginfod.location())),
            Err(error) => _ = seen.trouble.get_or_insert(Unknown::Failed(error.to_string().into())),
        }
        None
    }
}

/// The cached file of an identity. Without the feature `convert`, it counts as complete.
#[cfg(not(feature = "convert"))]
fn of_cache(cache: &LocalStore, id: &ModuleId) -> Result<Option<(SymbolMap, bool)>, StoreError> {
    Ok(cache.get_module(id)?.map(|map| (map, true)))
}

/// The file of an identity in the first store that has it.
fn of_stores(stores: &[&Store], id: &ModuleId, seen: &mut Seen) -> Option<SymbolMap> {
    for store in stores {
        match store.get_module(id) {
            Ok(Some(map)) => return Some(map),
            Ok(None) => seen.absent.push(format!("not in {}", store.location())),
            Err(error) => seen.error(&error),
        }
    }
    None
}

/// Looks for a `.fsym` at a search path, which is a folder of `NAME.fsym` files, or one file.
fn search(path: &Path, id: Option<&ModuleId>, name: Option<&str>, seen: &mut Seen) -> Option<SymbolMap> {
    let (file, named) = if path.is_dir() {
        (path.join(format!("{}.fsym", name?)), true)
    } else if is_fsym(path) {
        let is_named = name.is_some_and(|name| path.file_stem().is_some_and(|stem| stem == name));
        (path.to_owned(), is_named)
    } else {
        return None;
    };
    // A file of another name counts only if its build id proves that it fits.
    if !named && id.is_none() {
        return None;
    }
    if !file.exists() {
        seen.absent.push(format!("no {}", file.display()));
        return None;
    }
    let map = match SymbolMap::open(&file) {
        Ok(map) => map,
        Err(error) => {
            seen.error(&error);
            return None;
        }
    };
    let fits = match id {
        None => true,
        Some(ModuleId::Build(id)) => map.build_id().as_ref() == Some(id),
        Some(ModuleId::Debug(id)) => map.debug_id().as_ref() == Some(id),
        Some(_) => false,
    };
    // A file of another name that does not fit belongs to another module, so the message does not list it.
    if !fits && named {
        let inside = map.build_id().map_or("no build id".to_owned(), |id| format!("build id {id}"));
        seen.absent.push(format!("{} holds {inside}", file.display()));
    }
    fits.then_some(map)
}

#[cfg(feature = "convert")]
/// The files at a search path that may be a module's program or its debug file.
fn candidates(path: &Path, id: Option<&ModuleId>, name: Option<&str>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if path.is_dir() {
        if let Some(ModuleId::Build(id)) = id {
            let key = id.to_string();
            // The path at which gdb looks for debug files, and distributions install them.
            found.push(path.join(".build-id").join(&key[..2]).join(format!("{}.debug", &key[2..])));
        }
        found.extend(name.filter(|name| !is_fsym(name.as_ref())).map(|name| path.join(name)));
    } else if !is_fsym(path)
        && (id.is_some() || name.is_some_and(|name| path.file_name().is_some_and(|file| file == name)))
    {
        found.push(path.to_owned());
    }
    found.retain(|path| path.is_file());
    found
}

/// True if the name ends in `.fsym`; the contents are checked when the file is opened.
pub(crate) fn is_fsym(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "fsym")
}

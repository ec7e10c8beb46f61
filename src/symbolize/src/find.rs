//! Finds the file of a module: first in the search paths, then in stores. Programs come last, since they must be converted.

#[cfg(feature = "convert")]
mod converted;

use std::path::Path;

use foldsym_lookup::DebugInfo;
#[cfg(not(feature = "convert"))]
use foldsym_store::LocalStore;
use foldsym_store::{ModuleId, Store, StoreError, SymbolMap};

use crate::cache::Cache;
use crate::fits::{has_debug_info, is_of, level};
use crate::in_memory::in_memory;
#[cfg(feature = "debuginfod")]
use crate::program::of_module;
#[cfg(feature = "convert")]
use crate::program::{Conversion, of_cache};
use crate::search::{Given, Outcomes};
use crate::unknown::{Unknown, is_passing_error, of_error};

/// The places where files are searched.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    pub(crate) search: Vec<Given>,
    pub(crate) outcomes: Outcomes,
    pub(crate) stores: Vec<Store>,
    pub(crate) cache: Option<Cache>,
    /// Programs are skipped.
    pub(crate) files_alone: bool,
    /// The checksums of a file are compared when it is opened. A damaged file counts as one that cannot be opened.
    pub(crate) checks: bool,
    /// Files are read into memory, and not mapped.
    pub(crate) reads: bool,
    /// How programs are converted.
    #[cfg(feature = "convert")]
    pub(crate) conversion: Conversion,
    #[cfg(feature = "debuginfod")]
    pub(crate) debuginfod: Option<crate::debuginfod::Debuginfod>,
}

/// The places that a search may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All places.
    All,
    /// Those of this machine: no remote store and no server.
    Local,
}

/// What a search has seen so far.
#[derive(Default)]
struct Seen {
    /// Places that have no file, or one of another build.
    absent: Vec<String>,
    /// The first damage or failure.
    trouble: Option<Unknown>,
    /// The file without lines that has the most. It is used if no other place has a better one.
    lacking: Option<SymbolMap>,
    /// As [`Finder::checks`].
    checks: bool,
    /// As [`Finder::reads`].
    reads: bool,
    /// A file could not be opened since the process has no descriptor left.
    is_passing: bool,
    /// Several programs have the name or the identity, in words. Then the search ends: no place decides which of them is meant.
    several: Option<String>,
}

/// Why a search has no file.
pub(crate) struct NotFound {
    pub(crate) why: Unknown,
    /// Another search may find one at once, so this result is not to be remembered.
    pub(crate) is_passing: bool,
}

impl Seen {
    /// The file, unless it is damaged: then the search goes on.
    fn sound(&mut self, map: SymbolMap) -> Option<SymbolMap> {
        // First into memory: what is checked must be what is used.
        let map = if self.reads { in_memory(map) } else { Ok(map) };
        match map.and_then(|map| if self.checks { map.check().map(|()| map) } else { Ok(map) }) {
            Ok(map) => Some(map),
            Err(error) => {
                self.error(&error);
                None
            }
        }
    }

    fn error(&mut self, error: &StoreError) {
        self.is_passing |= is_passing_error(error);
        self.trouble.get_or_insert(of_error(error));
    }

    /// Keeps the error of a program that could not be converted.
    #[cfg(feature = "convert")]
    fn load_error(&mut self, error: crate::program::LoadError) {
        self.is_passing |= error.is_passing();
        self.trouble.get_or_insert(error.unknown());
    }

    /// The first damage or failure, once there is one.
    fn damage(&mut self) -> Unknown {
        self.trouble.take().unwrap_or_else(|| Unknown::Failed("the file is damaged".into()))
    }

    /// Keeps a file with symbols alone for later, of several the one with the most; returns any other.
    fn whole(&mut self, map: SymbolMap) -> Option<SymbolMap> {
        if has_debug_info(&map) {
            return Some(map);
        }
        let much = |map: &SymbolMap| (map.file().debug_info(), map.bytes().len());
        if self.lacking.as_ref().is_none_or(|lacking| much(lacking) < much(&map)) {
            self.lacking = Some(map);
        }
        None
    }

    /// Ends the search if several programs were found.
    fn one(&mut self, name: Option<&str>, id: Option<&ModuleId>) -> Result<(), Unknown> {
        let Some(text) = self.several.take() else { return Ok(()) };
        let id = id.map_or("no identity".to_owned(), |id| format!("id {id}"));
        Err(Unknown::Absent(format!("{} ({id}): {text}", name.unwrap_or("?")).into()))
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
        reach: Reach,
    ) -> Result<(SymbolMap, bool), NotFound> {
        let mut seen = Seen { checks: self.checks, reads: self.reads, ..Seen::default() };
        let found = self.search_places(id, name, program, reach, &mut seen);
        if found.is_ok() {
            self.outcomes.found(id);
        }
        let lacks = || self.search.iter().any(Given::lacks);
        found.map_err(|why| NotFound { why, is_passing: seen.is_passing || lacks() })
    }

    fn search_places(
        &self,
        id: Option<&ModuleId>,
        name: &str,
        program: Option<&Path>,
        reach: Reach,
        seen: &mut Seen,
    ) -> Result<(SymbolMap, bool), Unknown> {
        let has_name_alone = id.is_none() && program.is_none();
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
        self.outcomes.asked();
        if let Some(map) = self.symbol_file(id, name, seen) {
            return Ok((map, false));
        }
        seen.one(name, id)?;
        if let Some(id) = id
            && let Some(map) = self.published(id, program, reach, seen)
        {
            return Ok((map, false));
        }
        seen.one(name, id)?;
        if let Some(id) = id
            && let Some(map) = self.symbol_file_of(id, seen)
        {
            return Ok((map, false));
        }
        if !self.files_alone
            && let Some(map) = self.converted(id, name, program, seen)
        {
            return Ok((map, false));
        }
        seen.one(name, id)?;
        #[cfg(feature = "debuginfod")]
        if reach == Reach::All
            && let Some((map, may_change)) = self.fetched(id, seen)
            && let Some(map) = seen.whole(map)
        {
            return Ok((map, may_change));
        }
        // A file of this name that lacks something says of which build the module is, and other places may have that build whole.
        if has_name_alone
            && let Some(own) = seen.lacking.as_ref().and_then(SymbolMap::build_id).map(ModuleId::from)
            && let Some(found) = self.of_build(&own, name, reach, seen)
        {
            return Ok(found);
        }
        // This file comes after all places that may have a complete one.
        if let Some(map) = seen.lacking.take() {
            return Ok((map, true));
        }
        let why = seen.trouble.take().unwrap_or_else(|| {
            let id = id.map_or("no identity".to_owned(), |id| format!("id {id}"));
            let places = match seen.absent.is_empty() {
                true if self.search.is_empty() => "no search path is given".to_owned(),
                true => "no file of this name in the search paths".to_owned(),
                false => seen.absent.join("; "),
            };
            Unknown::Absent(format!("{} ({id}): {places}", name.unwrap_or("?")).into())
        });
        let why = match (has_name_alone, name) {
            (true, Some(name)) => match crate::by_name::find(&self.stores, name, why, &mut seen.is_passing) {
                Ok((map, location)) => {
                    self.outcomes.was_in(&location);
                    return seen.sound(map).map(|map| (map, false)).ok_or_else(|| seen.damage());
                }
                Err(why) => why,
            },
            _ => why,
        };
        self.outcomes.missing(name, id);
        Err(why)
    }

    /// A file with debug information of a build that the search itself found out. The flag is that of [`Finder::find`].
    fn of_build(
        &self,
        id: &ModuleId,
        name: Option<&str>,
        reach: Reach,
        seen: &mut Seen,
    ) -> Option<(SymbolMap, bool)> {
        let published = self.published(id, None, reach, seen).and_then(|map| seen.whole(map));
        let map = published.or_else(|| self.symbol_file_of(id, seen).and_then(|map| seen.whole(map)));
        let map =
            map.or_else(|| if self.files_alone { None } else { self.converted(Some(id), name, None, seen) });
        if let Some(map) = map {
            return Some((map, false));
        }
        #[cfg(feature = "debuginfod")]
        if reach == Reach::All
            && let Some((map, may_change)) = self.fetched(Some(id), seen)
        {
            return seen.whole(map).map(|map| (map, may_change));
        }
        None
    }

    /// The symbol file of a module's name in the search paths, or one that the user named.
    fn symbol_file(&self, id: Option<&ModuleId>, name: Option<&str>, seen: &mut Seen) -> Option<SymbolMap> {
        let mut named: Option<(SymbolMap, &Given)> = None;
        // What the user named comes first.
        let (folders, files): (Vec<&Given>, Vec<&Given>) =
            self.search.iter().partition(|given| given.path.is_dir());
        for given in files.into_iter().chain(folders) {
            let Some(map) = search(given, id, name, seen).and_then(|map| seen.sound(map)) else { continue };
            // A name alone does not choose between the builds of several folders; a file that the user named is meant.
            if id.is_some() || !given.path.is_dir() {
                given.use_it();
                return Some(map);
            }
            match &named {
                Some((first, _)) if are_of_two_builds(first, &map) => {
                    let (one, other) = (first.path().display(), map.path().display());
                    seen.several =
                        Some(format!("several builds are called so, name one of them: {one}, {other}"));
                    return None;
                }
                Some(_) => {}
                None => named = Some((map, given)),
            }
        }
        named.map(|(map, given)| {
            given.use_it();
            map
        })
    }

    /// The symbol file with an identity in the search folders, whatever it is called.
    fn symbol_file_of(&self, id: &ModuleId, seen: &mut Seen) -> Option<SymbolMap> {
        for given in &self.search {
            for path in given.symbol_files_of(id) {
                match SymbolMap::open(&path) {
                    Ok(map) if is_of(&map, Some(id)) => {
                        if let Some(map) = seen.sound(map) {
                            given.use_it();
                            return Some(map);
                        }
                    }
                    Ok(_) => {}
                    Err(error) => seen.error(&error),
                }
            }
        }
        None
    }

    /// The file of an identity in the stores and the cache.
    fn published(
        &self,
        id: &ModuleId,
        program: Option<&Path>,
        reach: Reach,
        seen: &mut Seen,
    ) -> Option<SymbolMap> {
        // A file that a build published may have more than one that was converted here from its program, such as rows or readable
        // names. A local folder costs no more to search than the cache.
        let (folders, others): (Vec<&Store>, Vec<&Store>) =
            self.stores.iter().partition(|store| matches!(store, Store::Local(_)));
        let is_last = self.search.is_empty() && program.is_none() && !self.has_servers();
        // A store's file with symbols alone does not end the search, if there is another place.
        let taken = |map: SymbolMap, seen: &mut Seen| if is_last { Some(map) } else { seen.whole(map) };
        let mut found = self.of_stores(&folders, id, seen);
        let is_derived = found.as_ref().is_some_and(|map| map.build_id().is_none());
        if is_derived && reach == Reach::All && !others.is_empty() {
            // A remote store may have another program of a derived identity.
            found = self.of_stores(&self.stores.iter().collect::<Vec<_>>(), id, seen);
        }
        if let Some(map) = found.and_then(|map| taken(map, seen)) {
            return Some(map);
        }
        if seen.several.is_some() {
            return None;
        }
        // The cache comes before remote stores, which cost a request.
        match self.cache.as_ref().and_then(Cache::to_read).map(|cache| of_cache(cache, id)) {
            Some(Ok(Some((map, is_whole)))) => match seen.sound(map) {
                Some(map) if is_whole => {
                    // It was made from a program of the search paths at an earlier run.
                    self.search.iter().filter(|given| given.may_have(id)).for_each(Given::use_it);
                    return Some(map);
                }
                Some(map) => _ = seen.lacking.get_or_insert(map),
                None => {}
            },
            Some(Err(error)) => seen.error(&error),
            Some(Ok(None)) | None => {}
        }
        match reach {
            Reach::All => self.of_stores(&others, id, seen).and_then(|map| taken(map, seen)),
            Reach::Local => None,
        }
    }

    /// The file of an identity in the stores: that of the first one with all debug information, else the one with the most.
    fn of_stores(&self, stores: &[&Store], id: &ModuleId, seen: &mut Seen) -> Option<SymbolMap> {
        let mut best: Option<(SymbolMap, &Store)> = None;
        for store in stores {
            let map = match store.get_module(id) {
                Ok(Some(map)) => map,
                Ok(None) => {
                    seen.absent.push(format!("not in {}", store.location()));
                    continue;
                }
                Err(error @ StoreError::Several { .. }) => {
                    // Which of them is meant cannot be known, whatever another store has.
                    seen.several = Some(error.to_string());
                    return None;
                }
                Err(error) => {
                    seen.error(&error);
                    continue;
                }
            };
            // What a remote store has is sound, so it is fetched again in place of a damaged copy.
            let again = |store: &Store| match store {
                Store::Cached(store) => store.fetch_again(id).ok().flatten(),
                _ => None,
            };
            let Some(map) = seen.sound(map).or_else(|| again(store).and_then(|map| seen.sound(map))) else {
                continue;
            };
            let is_derived = map.build_id().is_none();
            if is_derived
                && let Some((one, first)) = &best
                && let Some(problem) = several((first, one), (store, &map), id)
            {
                seen.several = Some(problem);
                return None;
            }
            // Another store may have another program of a derived identity.
            let is_last = !is_derived && level(&map) == (true, DebugInfo::Full);
            if best.as_ref().is_none_or(|(best, _)| level(best) < level(&map)) {
                best = Some((map, store));
            }
            if is_last {
                break;
            }
        }
        let (map, store) = best?;
        self.outcomes.was_in(&store.location());
        Some(map)
    }

    /// Whether a search may wait for a network.
    pub(crate) fn has_remotes(&self) -> bool {
        self.has_servers() || self.stores.iter().any(|store| !matches!(store, Store::Local(_)))
    }

    fn has_servers(&self) -> bool {
        #[cfg(feature = "debuginfod")]
        return self.debuginfod.is_some();
        #[cfg(not(feature = "debuginfod"))]
        false
    }

    /// Says which programs would be converted, if this build could.
    #[cfg(not(feature = "convert"))]
    fn converted(
        &self,
        _: Option<&ModuleId>,
        name: Option<&str>,
        program: Option<&Path>,
        seen: &mut Seen,
    ) -> Option<SymbolMap> {
        let folders = self.search.iter().filter(|given| given.path.is_dir());
        let named = folders.filter_map(|given| Some(given.path.join(name?)));
        let programs = named.chain(program.map(Path::to_owned)).filter(|path| path.is_file());
        seen.absent.extend(programs.map(|path| {
            format!("{}: this build takes no programs (it lacks the feature `convert`)", path.display())
        }));
        None
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
                    (&found.path, None),
                    Some(wanted),
                    &self.conversion,
                    self.cache.as_ref().filter(|_| !found.has_failed),
                ) {
                    Ok(Some(map)) => return seen.sound(map).map(|map| (map, found.has_failed)),
                    Ok(None) => {
                        let wrong = format!("{} sent another build", debuginfod.location());
                        _ = seen.trouble.get_or_insert(Unknown::Damaged(wrong.into()));
                    }
                    Err(error) => seen.load_error(error),
                }
            }
            Ok(None) => seen.absent.push(format!("not at {}", debuginfod.location())),
            Err(error) => _ = seen.trouble.get_or_insert(Unknown::Failed(error.to_string().into())),
        }
        None
    }
}

/// Says that two stores have different programs of one identity, which is derived from their code.
fn several(one: (&Store, &SymbolMap), other: (&Store, &SymbolMap), id: &ModuleId) -> Option<String> {
    let entry = |(store, map): (&Store, &SymbolMap)| store.entry_of(id, map).ok().flatten();
    let (first, second) = (entry(one)?, entry(other)?);
    (first != second).then(|| {
        let (one, other) = (one.0.location(), other.0.location());
        format!("several programs have this id {id}: {first} in {one}, {second} in {other}")
    })
}

/// The cached file of an identity. Without the feature `convert`, it counts as complete.
#[cfg(not(feature = "convert"))]
fn of_cache(cache: &LocalStore, id: &ModuleId) -> Result<Option<(SymbolMap, bool)>, StoreError> {
    Ok(cache.get_module(id)?.map(|map| (map, true)))
}

/// Whether two symbol files of one name are of different builds. Without build ids those of one build are equal.
fn are_of_two_builds(one: &SymbolMap, other: &SymbolMap) -> bool {
    match (one.build_id(), other.build_id()) {
        (None, None) => one.bytes() != other.bytes(),
        (one, other) => one != other,
    }
}

/// Looks for a `.fsym` at a search path, which is a folder of `NAME.fsym` files, or one file.
fn search(given: &Given, id: Option<&ModuleId>, name: Option<&str>, seen: &mut Seen) -> Option<SymbolMap> {
    let path = &given.path;
    if !path.is_dir() {
        if !given.is_fsym() {
            return None;
        }
        return open(path, id, name.is_some_and(|name| given.is_called(name)), seen);
    }
    let direct = path.join(format!("{}.fsym", name?));
    if direct.exists() {
        return open(&direct, id, true, seen);
    }
    let mut found: Vec<SymbolMap> = Vec::new();
    let below = given.symbol_files(name?);
    let is_empty = below.is_empty();
    for path in below {
        found.extend(open(&path, id, true, seen));
        // Files of one identity have one content.
        if id.is_some() && !found.is_empty() {
            return found.pop();
        }
    }
    if is_empty {
        seen.absent.push(format!("no {}", direct.display()));
    }
    if let Some(other) = found.iter().find(|map| are_of_two_builds(map, &found[0])) {
        let (one, other) = (found[0].path().display(), other.path().display());
        seen.several = Some(format!("several builds are called so, name one of them: {one}, {other}"));
        return None;
    }
    found.into_iter().next()
}

/// Opens a `.fsym`, if it is of the module.
fn open(file: &Path, id: Option<&ModuleId>, is_named: bool, seen: &mut Seen) -> Option<SymbolMap> {
    // A file of another name counts only if its build id proves that it fits.
    if !is_named && id.is_none() {
        return None;
    }
    let map = match SymbolMap::open(file) {
        Ok(map) => map,
        Err(error) => {
            seen.error(&error);
            return None;
        }
    };
    let fits = is_of(&map, id);
    // A file of another name that does not fit belongs to another module, so the message does not list it.
    if !fits && is_named {
        let inside = map.build_id().map_or("no build id".to_owned(), |id| format!("build id {id}"));
        seen.absent.push(format!("{} holds {inside}", file.display()));
    }
    fits.then_some(map)
}

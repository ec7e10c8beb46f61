//! Takes a program in place of a `.fsym`: converts it, and keeps the result in the cache by its identity.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use foldsym_convert::{ConvertError, NoProgress, Options};
use foldsym_store::{BuildId, DebugId, EntryInfo, LocalStore, ModuleId, StoreError, SymbolMap, text_id};

use crate::find::{is_fsym, of_error};
use crate::frame::Unknown;

/// A program that could not be converted is tried again after so long.
const MALFORMED_FOR: Duration = Duration::from_secs(24 * 3600);

/// Why a program did not become a file.
enum Failure {
    Store(StoreError),
    Convert(ConvertError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    fn unknown(self) -> Unknown {
        match self {
            Self::Store(error) => of_error(&error),
            Self::Convert(error) => Unknown::Failed(error.to_string().into()),
        }
    }
}

/// The files at a search path that may be a module's program or its debug file.
pub(crate) fn candidates(path: &Path, id: Option<&ModuleId>, name: Option<&str>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if path.is_dir() {
        if let Some(ModuleId::Build(id)) = id {
            let key = id.to_string();
            // As gdb and distributions keep debug files.
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

/// Converts a program, or takes it from the cache. `Ok(None)` where it is of another build than `wanted`.
pub(crate) fn convert(
    program: &Path,
    wanted: Option<&ModuleId>,
    cache: Option<&LocalStore>,
) -> Result<Option<SymbolMap>, Unknown> {
    let options = Options::default();
    let identity =
        foldsym_convert::identify(program, &options).map_err(|error| Failure::Convert(error).unknown())?;
    let id = BuildId::new(&identity.build_id).ok();
    let derived = if identity.build_id.is_empty() { text_id(&identity.text) } else { None };
    let own = id.as_ref().or(derived.as_ref());
    let fits = match wanted {
        None => true,
        Some(ModuleId::Build(wanted)) => own == Some(wanted),
        Some(ModuleId::Debug(wanted)) => own.is_some_and(|own| {
            let own = if identity.mach_o {
                DebugId::of_mach_o(own)
            } else {
                DebugId::of_elf(own, identity.big_endian)
            };
            own == *wanted
        }),
        Some(_) => false,
    };
    if !fits {
        return Ok(None);
    }
    let converted = match (cache, own) {
        (Some(cache), Some(own)) => into_cache(program, own, derived.clone(), cache),
        _ => alone(program),
    };
    converted.map(Some).map_err(Failure::unknown)
}

/// Converts once for all processes that share the cache.
fn into_cache(
    program: &Path,
    id: &BuildId,
    derived: Option<BuildId>,
    cache: &LocalStore,
) -> Result<SymbolMap, Failure> {
    if let Ok(Some(map)) = cache.get(id) {
        return Ok(map);
    }
    let lock = cache.lock(id)?;
    // Another process may have converted it while this one waited.
    if let Ok(Some(map)) = cache.get(id) {
        return Ok(map);
    }
    let cause = cause(program);
    if let Some(why) = cache.malformed(id, &cause, MALFORMED_FOR)? {
        let problem = format!("{why} (noted at an earlier attempt)");
        return Err(StoreError::Damaged { path: program.to_owned(), problem }.into());
    }
    let mut info = EntryInfo::default();
    info.name = program.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    info.converter = Some(concat!("foldsym ", env!("CARGO_PKG_VERSION")).to_owned());
    info.derived_id = derived;
    let published = lock.publish(&info, |to| write(program, to));
    if let Err(Failure::Convert(error)) = &published {
        cache.note_malformed(id, &cause, &error.to_string())?;
    }
    published?;
    drop(lock);
    Ok(cache.get(id)?.ok_or_else(|| {
        let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
        StoreError::Io { path: cache.file_path(id), doing: "open", source: gone }
    })?)
}

/// Converts into a file that is gone when it is not mapped any more.
fn alone(program: &Path) -> Result<SymbolMap, Failure> {
    let folder = tempfile::tempdir();
    let folder =
        folder.map_err(|source| StoreError::Io { path: std::env::temp_dir(), doing: "write to", source })?;
    let path = folder.path().join("program.fsym");
    write(program, &path)?;
    Ok(SymbolMap::open(&path)?)
}

fn write(program: &Path, to: &Path) -> Result<(), Failure> {
    let converted = foldsym_convert::convert(program, to, &Options::default(), &NoProgress);
    converted.map(|_| ()).map_err(Failure::Convert)
}

/// What a failure depends on: the program, by size and time, and the converter.
fn cause(program: &Path) -> Arc<str> {
    let found = program.metadata().ok();
    let time = found.as_ref().and_then(|found| found.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let (size, time) = (found.map_or(0, |found| found.len()), time.unwrap_or_default().as_nanos());
    format!("{} {size} {time}", env!("CARGO_PKG_VERSION")).into()
}

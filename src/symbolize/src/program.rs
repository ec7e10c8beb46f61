//! Converts a program that is given in place of a `.fsym`, and keeps the result in the cache by the program's identity.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) use foldsym_convert::Options;
pub(crate) use foldsym_convert::internal::are_of_one_program;
pub(crate) use foldsym_convert::internal::open::{Peeked, is_linked, peek};
use foldsym_convert::report::DebugInfo;
use foldsym_convert::{ConvertError, Identity, NoProgress};
use foldsym_format::header::MAGIC;
use foldsym_store::{
    BuildId, DebugId, EntryInfo, LocalStore, ModuleId, StoreError, SymbolMap, open_regular, text_id,
};

use crate::cache::Cache;
use crate::converter::{Converter, NotConverted};
use crate::fits::{has_debug_info, is_of};
use crate::into_store::entry_of;
use crate::unknown::{Unknown, is_passing, is_passing_error, of_error};

/// A program that could not be converted is tried again after so long.
const MALFORMED_FOR: Duration = Duration::from_secs(24 * 3600);

/// Why a file that the user gave could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    Read(PathBuf, std::io::Error),
    /// A `.fsym` is damaged, or the cache failed.
    Store(StoreError),
    /// A program could not be converted.
    Convert(ConvertError),
    /// The engine's [`Converter`](crate::Converter) has not converted it.
    Converter(NotConverted),
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Store(error) => error.fmt(f),
            Self::Convert(error) => error.fmt(f),
            Self::Converter(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    /// Whether another attempt may succeed at once.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Read(_, error) => is_passing(error),
            Self::Store(error) => is_passing_error(error),
            Self::Convert(error) => error.system_error().is_some_and(is_passing),
            Self::Converter(error) => matches!(error, NotConverted::Busy(_)),
        }
    }

    /// Whether the program is at fault: a failed write, for example on a full disk, does not mean that it is malformed. Nor does a process
    /// without free descriptors, threads or memory.
    fn is_of_program(&self) -> bool {
        match self {
            Self::Convert(error) => {
                error.system_error().is_none() && !matches!(error, ConvertError::Threads { .. })
            }
            // It does not say why it failed.
            Self::Converter(_) | Self::Read(..) | Self::Store(_) => false,
        }
    }

    pub(crate) fn unknown(self) -> Unknown {
        match self {
            Self::Store(error) => of_error(&error),
            other => Unknown::Failed(other.to_string().into()),
        }
    }
}

/// Seconds after which a program that was converted without a part of its debug information is converted again, even if none of the folders
/// in `cause` changed.
const LACKING_FOR: u64 = 600;

/// The converter that made an entry of the cache: its version, and a number that grows when files converted with the default options get
/// other contents. An entry of another converter is made again.
const CONVERTER: &str = concat!(env!("CARGO_PKG_VERSION"), " 8");

/// How programs are converted.
#[derive(Debug)]
pub(crate) struct Conversion {
    options: Options,
    /// The name of the part of the cache with programs that were converted with these options; empty for the default options.
    key: String,
    /// A file of the cache is used only if its checksums are right, and is made again otherwise.
    checks_cache: bool,
    /// Converts programs in place of this process.
    by: Option<Arc<dyn Converter>>,
}

impl Default for Conversion {
    fn default() -> Self {
        Self::new(Options::default().with(|options| options.columns = true))
    }
}

impl Conversion {
    /// Conversion with these options. Imports are always kept, since an engine answers stacks over many modules.
    pub(crate) fn new(options: Options) -> Self {
        let options = options.with(|options| options.imports = true);
        let plain = Options::default().with(|options| {
            options.columns = true;
            options.imports = true;
        });
        // Every option counts but the number of threads; the address of a function is another one in each process.
        let text = |options: &Options| {
            let demangles = options.demangle.is_some();
            let counted = options.clone().with(|options| {
                options.threads = 0;
                options.demangle = None;
            });
            format!("{demangles} {counted:?}")
        };
        let key = match text(&options) {
            options if options == text(&plain) => String::new(),
            options => {
                let mut hash = DefaultHasher::new();
                options.hash(&mut hash);
                format!("{:016x}", hash.finish())
            }
        };
        Self { options, key, checks_cache: false, by: None }
    }

    /// The same, for a program whose file in the cache turned out to be damaged.
    pub(crate) fn checking_cache(&self) -> Self {
        Self { checks_cache: true, ..self.with(self.options.clone()) }
    }

    /// The same with other options.
    fn with(&self, options: Options) -> Self {
        let (key, by) = (self.key.clone(), self.by.clone());
        Self { options, key, checks_cache: self.checks_cache, by }
    }

    /// Has this converter convert programs, if the options are those that it takes.
    pub(crate) fn convert_by(&mut self, converter: Arc<dyn Converter>) {
        self.by = Some(converter).filter(|_| self.key.is_empty());
    }

    /// Converts a program into a file. Gives how much of the program's debug information the file has.
    fn run(&self, program: &Path, made: &Path) -> Result<DebugInfo, LoadError> {
        let Some(converter) = &self.by else {
            let report = foldsym_convert::convert(program, made, &self.options, &NoProgress);
            return report.map(|report| report.debug_info()).map_err(LoadError::Convert);
        };
        let debug_file = self.options.debug_file.as_deref();
        converter.convert(program, debug_file, made).map_err(LoadError::Converter)?;
        Ok(SymbolMap::open(made)?.file().debug_info())
    }

    /// The build id of a program on this machine.
    pub(crate) fn identify(&self, program: &Path) -> Option<ModuleId> {
        let identity = foldsym_convert::identify(program, &self.options).ok()?;
        BuildId::new(&identity.build_id).ok().map(ModuleId::from)
    }

    /// Names the part of the cache. What is converted otherwise is kept apart: one identity has one file in a store.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

/// The build id of a program or a debug file; empty if it has none.
///
/// # Errors
/// The file is neither.
#[cfg(feature = "debuginfod")]
pub(crate) fn build_id_in(path: &Path) -> Result<Vec<u8>, String> {
    let identity = foldsym_convert::identify(path, &Options::default());
    identity.map(|identity| identity.build_id).map_err(|error| error.to_string())
}

#[cfg(feature = "debuginfod")]
impl Conversion {
    /// Makes the conversion look for debug files in the cache of debuginfod.
    pub(crate) fn reads_cache(&mut self, cache: &Path) {
        self.options.debuginfod_dirs.push(cache.to_owned());
    }
}

/// Converts the program of a module, with the file that has its debug information if that is known, or opens it if it is a `.fsym`. A conversion is taken from the cache or kept there. `Ok(None)` if the
/// program is not of the build `wanted`.
pub(crate) fn of_module(
    (program, debug_file): (&Path, Option<&Path>),
    wanted: Option<&ModuleId>,
    conversion: &Conversion,
    cache: Option<&Cache>,
) -> Result<Option<SymbolMap>, LoadError> {
    if !begins_like_fsym(program) {
        let with_debug_file = debug_file.map(|file| {
            conversion
                .with(conversion.options.clone().with(|options| options.debug_file = Some(file.to_owned())))
        });
        let conversion = with_debug_file.as_ref().unwrap_or(conversion);
        return convert(program, wanted, conversion, cache);
    }
    let map = SymbolMap::open(program)?;
    Ok(is_of(&map, wanted).then_some(map))
}

fn begins_like_fsym(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    let read = open_regular(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == MAGIC
}

/// Converts a program, or takes the result from the cache. `Ok(None)` if the program is not of the build `wanted`.
pub(crate) fn convert(
    program: &Path,
    wanted: Option<&ModuleId>,
    conversion: &Conversion,
    cache: Option<&Cache>,
) -> Result<Option<SymbolMap>, LoadError> {
    let identity = foldsym_convert::identify(program, &conversion.options).map_err(LoadError::Convert)?;
    of_identity(program, &identity, wanted, conversion, cache)
}

/// As [`convert`], of a program with this identity.
fn of_identity(
    program: &Path,
    identity: &Identity,
    wanted: Option<&ModuleId>,
    conversion: &Conversion,
    cache: Option<&Cache>,
) -> Result<Option<SymbolMap>, LoadError> {
    let id = BuildId::new(&identity.build_id).ok();
    // A program without a build id gets one that is derived from its contents, so that it also has a place in the cache.
    let entry = entry_of(identity).ok();
    let own = entry.as_ref().map(|(id, _)| id);
    let info = entry.as_ref().map(|(_, info)| info.clone()).unwrap_or_default();
    let fits = match wanted {
        None => true,
        // The id that crash reporters derive from the code may be given as a build id too.
        Some(ModuleId::Build(wanted)) => {
            own == Some(wanted) || id.is_none() && text_id(&identity.text).as_ref() == Some(wanted)
        }
        Some(ModuleId::Debug(wanted)) if info.debug_id.is_some() => info.debug_id.as_ref() == Some(wanted),
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
    // The conversion opens the program again, and the file at its path may have been replaced since it was identified.
    let same = |map: SymbolMap| (wanted.is_none() || map.build_id() == id).then_some(map);
    if let (Some(cache), Some(own)) = (cache, own)
        && let Some(store) = cache.to_write()
    {
        match into_cache(program, own, info, (cache, store), conversion) {
            // A fault of the program itself is reported.
            Err(LoadError::Store(StoreError::Damaged { path, problem })) if path == program => {
                return Err(StoreError::Damaged { path, problem }.into());
            }
            // A cache that cannot be used, or whose disk is full, keeps nothing: the answer needs no cache.
            Err(LoadError::Store(_) | LoadError::Convert(ConvertError::Write { .. })) => {}
            other => return other.map(same),
        }
    }
    alone(program, conversion).map(same)
}

/// Converts once for all processes that share the cache.
fn into_cache(
    program: &Path,
    id: &BuildId,
    mut info: EntryInfo,
    (whole, cache): (&Cache, &LocalStore),
    conversion: &Conversion,
) -> Result<SymbolMap, LoadError> {
    let options = &conversion.options;
    // Computed before the conversion: an input that changes meanwhile must not count as the one that was read.
    let cause = cause(program, options);
    let is_derived = info.derived_id.is_some();
    let usable = || {
        let map = kept(cache, id, is_derived, &cause)?;
        (!conversion.checks_cache || map.check().is_ok()).then_some(map)
    };
    // The first look takes no lock: a reader needs none, and a conversion in another process may hold it for long.
    if let Some(map) = usable() {
        return Ok(map);
    }
    let lock = cache.lock(id)?;
    // Another process may have converted it while this one waited.
    if let Some(map) = usable() {
        return Ok(map);
    }
    if let Some(why) = cache.malformed(id, &cause, MALFORMED_FOR)? {
        let problem = format!("{why} (noted at an earlier attempt)");
        return Err(StoreError::Damaged { path: program.to_owned(), problem }.into());
    }
    info.name = program.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    info.converter = Some(concat!("foldsym ", env!("CARGO_PKG_VERSION")).to_owned());
    // There may be an entry that `kept` refused.
    info.replace = true;
    // `info` needs the report of the conversion. The file is made on the cache's disk: the system's folder of temporary files may be
    // too small for it.
    let scratch = cache.scratch()?;
    let made = scratch.file();
    let level = conversion.run(program, &made);
    if let Err(error) = &level
        && error.is_of_program()
    {
        cache.note_malformed(id, &cause, &error.to_string())?;
        whole.wrote(1);
    }
    let is_whole = level? == DebugInfo::Full;
    info.conversion = Some(serde_json::json!({
        "cause": &*cause,
        "whole": is_whole,
        "asked": now(),
        "converter": CONVERTER,
    }));
    let kept = lock.publish(&info, |to| -> Result<(), StoreError> {
        // Copied and not moved: it is opened below if the cache cannot keep the copy.
        std::fs::copy(&made, to).map(|_| ()).map_err(|error| at(to, "write", error))
    });
    let map = kept.and_then(|_| cache.get(id));
    drop(lock);
    match map {
        Ok(Some(map)) => {
            whole.wrote(map.bytes().len() as u64);
            Ok(map)
        }
        // If the result cannot be kept, it is used anyway.
        _ => Ok(SymbolMap::open(&made)?),
    }
}

/// The cached file of an identity, if it may be used for this program.
///
/// A stripped program and its debug file share a build id. So an entry is used for all files of its build id only if nothing was missing when it was made.
/// Otherwise it is used only for the file that it was made from, and only until the missing part may have appeared. An
/// entry of another converter is not used.
fn kept(cache: &LocalStore, id: &BuildId, is_derived: bool, cause: &str) -> Option<SymbolMap> {
    let map = cache.get(id).ok()??;
    let conversion = conversion(cache, id);
    if !is_current(&conversion) {
        return None;
    }
    let is_whole = conversion["whole"] != false;
    if !is_derived && is_whole && has_debug_info(&map) {
        return Some(map);
    }
    let asked = conversion["asked"].as_u64().unwrap_or(0);
    // The clock may have been set back, so the difference is absolute.
    let is_recent = is_whole || now().abs_diff(asked) < LACKING_FOR;
    (conversion["cause"] == cause && is_recent).then_some(map)
}

/// True if this converter made the entry, or if no engine made it.
fn is_current(conversion: &serde_json::Value) -> bool {
    conversion.is_null() || conversion["converter"] == CONVERTER
}

/// The cached file of an identity. The flag is true if nothing was missing when this converter made it, or if no engine made it. If it is
/// false, the caller should look for the program. An identity that is derived from code leads to nothing: the cache has only those of its
/// programs that were looked for, and the search paths may have others.
pub(crate) fn of_cache(cache: &LocalStore, id: &ModuleId) -> Result<Option<(SymbolMap, bool)>, StoreError> {
    let found = match cache.get_module(id) {
        Err(StoreError::Several { .. }) => None,
        found => found?,
    };
    let is_derived = |map: &SymbolMap| map.build_id().is_none();
    let Some(map) = found.filter(|map| !is_derived(map)) else { return Ok(None) };
    let is_whole = map.build_id().is_none_or(|id| {
        let conversion = conversion(cache, &id);
        is_current(&conversion) && conversion["whole"] != false
    });
    Ok(Some((map, is_whole)))
}

/// The key `conversion` of an entry's report; null if there is none.
fn conversion(cache: &LocalStore, id: &BuildId) -> serde_json::Value {
    let report = cache.report(id).ok().flatten();
    let report = report.and_then(|report| serde_json::from_str::<serde_json::Value>(&report).ok());
    report.map_or(serde_json::Value::Null, |mut report| report["conversion"].take())
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

fn at(path: &Path, doing: &'static str, error: std::io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), doing, error }
}

/// Converts into a temporary file, which the system removes once it is not mapped any more.
fn alone(program: &Path, conversion: &Conversion) -> Result<SymbolMap, LoadError> {
    let folder = tempfile::tempdir().map_err(|error| at(&std::env::temp_dir(), "write to", error))?;
    let made = folder.path().join("program.fsym");
    conversion.run(program, &made)?;
    Ok(SymbolMap::open(&made)?)
}

/// Identifies the inputs of a conversion: the program's file, its size and time, the version of the converter, and the times of the folders
/// in which a debug file or `.dwo` files may appear.
fn cause(program: &Path, options: &Options) -> Arc<str> {
    let stamp = |path: &Path| {
        let found = path.metadata().ok()?;
        let time = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some((found.len(), time.as_nanos()))
    };
    let (size, time) = stamp(program).unwrap_or_default();
    // Two copies of a program may have one size and one time.
    #[cfg(unix)]
    let which = program.metadata().ok().map(|found| {
        use std::os::unix::fs::MetadataExt;
        (found.dev(), found.ino())
    });
    #[cfg(not(unix))]
    let which = Some(program);
    let own = program.parent().unwrap_or(Path::new(""));
    // The parent of a bare name is the empty path, which system calls do not take for the current folder.
    let own = if own.as_os_str().is_empty() { Path::new(".") } else { own };
    let mut hash = DefaultHasher::new();
    (which, stamp(own), stamp(&own.join(".debug"))).hash(&mut hash);
    let Options { dwp, dwo_dirs, debug_dirs, debug_file, debuginfod_dirs, .. } = options;
    for path in
        [dwp, debug_file].into_iter().flatten().chain(dwo_dirs).chain(debug_dirs).chain(debuginfod_dirs)
    {
        stamp(path).hash(&mut hash);
    }
    format!("{} {size} {time} {:016x}", env!("CARGO_PKG_VERSION"), hash.finish()).into()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{BuildId, Cache, Conversion, ModuleId, Options, of_identity};

    #[test]
    fn a_program_that_was_replaced_after_it_was_identified_is_not_used() {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
        let (one, other) = (built.join("split.gcc-dwarf4.set/stripped"), built.join("symbols.clang"));
        let conversion = Conversion::default();
        let identity = foldsym_convert::identify(&one, &conversion.options).unwrap();
        let wanted = ModuleId::from(BuildId::new(&identity.build_id).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let caches = [None, Some(Cache::of(folder.path().join("cache"), "", u64::MAX))];
        for cache in &caches {
            let found = |path: &Path, wanted: Option<&ModuleId>| {
                of_identity(path, &identity, wanted, &conversion, cache.as_ref()).unwrap().is_some()
            };
            // The path has another program now. Whoever wants no build takes what is there.
            assert!(!found(&other, Some(&wanted)));
            assert!(found(&one, Some(&wanted)) && found(&one, None));
        }
        assert!(of_identity(&other, &identity, None, &conversion, None).unwrap().is_some());
    }

    #[test]
    fn a_door_that_asks_for_what_every_engine_keeps_shares_its_cache() {
        let of = |options: Options| Conversion::new(options).key;
        assert_eq!(Conversion::default().key, "");
        let every = Options::default().with(|options| options.columns = true);
        assert_eq!(of(every.clone().with(|options| options.threads = 3)), "");
        assert_ne!(of(every.with(|options| options.locations = true)), "");
    }

    #[test]
    fn options_that_change_the_file_have_folders_of_their_own() {
        let every = Options::default().with(|options| options.columns = true);
        let demangle = |_: &[u8]| None;
        let all = [
            every.clone().with(|options| options.unwind = true),
            every.clone().with(|options| options.name_index = true),
            every.clone().with(|options| {
                options.readable_names = true;
                options.demangle = Some(demangle);
            }),
            every.clone().with(|options| options.member = Some(1)),
            every.clone().with(|options| options.arch = Some("arm64".into())),
            every.clone().with(|options| options.debug_dirs = vec!["/debug".into()]),
            every,
        ];
        let keys: std::collections::BTreeSet<String> =
            all.iter().map(|options| Conversion::new(options.clone()).key).collect();
        assert_eq!(keys.len(), all.len(), "{keys:?}");
    }
}

//! Converts a program into a store in which an entry never gets worse: of the file that is there and the new one, the better one stays.
//!
//! Which is the better follows from the contents of the two files, so that the order of conversions does not matter. First counts how
//! much of the program a file has (`Quality`): the stripped copy of a program never replaces the file of the whole one, whatever its
//! options. Of two files of one quality the one with more options is better. So a program of the same quality as the entry is
//! converted with the options of both, and a program of better quality with its own alone: what a poorer file had besides would
//! otherwise depend on which of them came first.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::path::Path;

use foldsym_convert::report::{ConversionRecord, DebugInfo};
use foldsym_convert::{ConvertError, Identity, Options, Progress, Report};
use foldsym_format::checksum::crc32;
use foldsym_lookup::{SectionId, SymbolFile, features, flags};
use foldsym_store::{
    BuildId, Completeness, DebugId, EntryInfo, IdError, Store, StoreError, StoreLock, SymbolMap, text_id,
};

/// Why a program is not in the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntoStoreError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The program cannot be converted.
    #[error(transparent)]
    Convert(#[from] ConvertError),
}

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The store had no file, or a damaged one.
    New,
    /// The new file took the place of a poorer one, or of an equal one with `force`.
    Replaced(Improvement),
    /// The store's file is complete and has the options, or, without `force`, has the same bytes.
    Existing,
    /// The store's file is better than the new one. The text says what the new one has.
    Kept(String),
}

/// What the file has that the one before it lacked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Improvement {
    /// The one before had this (`symbols alone`).
    Level(String),
    /// Options of the new file, in words. Empty with `force` alone.
    Options(Vec<&'static str>),
    /// The same kinds of contents, and more of them.
    More,
}

/// The result of [`convert_into`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Stored {
    /// What became of the program.
    pub outcome: Outcome,
    /// The report of the conversion; `None` if the program was not converted.
    pub report: Option<Report>,
    /// What the store has now.
    pub stands: Completeness,
    /// What a file that was replaced had by its options and the new one lacks, in words. If the store's file stays: what was asked for and
    /// that file lacks.
    pub without: Vec<&'static str>,
}

/// Converts a program under its id, unless the store's file is complete and has the options; with `force` in any case. Then the better
/// of the two files stays. If several processes have the same program, they do this one after the other.
///
/// `info` gives name, converter and derived id of the entry.
///
/// # Errors
/// The program cannot be converted, or the store cannot be read or written. The store's file stays then.
pub fn convert_into(
    store: &Store,
    (program, id): (&Path, &BuildId),
    mut info: EntryInfo,
    (options, force): (&Options, bool),
    progress: &dyn Progress,
) -> Result<Stored, IntoStoreError> {
    // Held until the better file is there.
    let lock = store.lock(id)?;
    let (there, is_damaged) = there(&lock)?;
    let (asked, paths) = (Extras::asked(options), remapped(options));
    if let Some(there) = &there
        && !force
        && there.quality.is_complete()
        && asked.0.is_subset(&there.extras.0)
        && (paths.is_none() || paths == there.paths)
    {
        let stands = there.completeness();
        // A writer that was killed between the file and its report left the report of the file before.
        if lock.completeness(&there.map)?.is_none() {
            (info.completeness, info.replace) = (Some(stands.clone()), true);
            let same =
                |to: &Path| std::fs::write(to, there.map.bytes()).map_err(|error| at(to, "write", error));
            lock.publish(&info, same)?;
        }
        lock.note(&info)?;
        return Ok(Stored { outcome: Outcome::Existing, report: None, stands, without: Vec::new() });
    }
    // On the store's disk: the folder of temporary files may be too small for a symbol file, and a rename stays on one disk.
    let scratch = store.scratch()?;
    let path = scratch.file();
    let mut both = options.clone();
    if let Some(there) = &there {
        there.extras.add_to(&mut both, force);
    }
    let mut report = foldsym_convert::convert(program, &path, &both, progress)?;
    let mut made = SymbolMap::open(&path)?;
    let mut new = Standing::of(&made, Extras::asked(&both).0, paths.clone());
    let order = there.as_ref().map_or(Ordering::Greater, |there| new.quality.against(&there.quality));
    if order == Ordering::Greater && Extras::asked(&both) != asked {
        report = foldsym_convert::convert(program, &path, options, progress)?;
        made = SymbolMap::open(&path)?;
        new = Standing::of(&made, asked.0.clone(), paths);
    }
    let outcome = match &there {
        None => Outcome::New,
        Some(there) => outcome(there, (&new, &made), order, force),
    };
    if let Outcome::Kept(_) = outcome {
        lock.note(&info)?;
        let mut without = there.as_ref().map(|there| asked.words_beyond(&there.extras)).unwrap_or_default();
        if there.as_ref().is_some_and(|there| new.paths.is_some() && new.paths != there.paths) {
            without.push(REPLACED_PATHS);
        }
        let stands = there.map_or_else(|| new.completeness(), |there| there.completeness());
        return Ok(Stored { outcome, report: Some(report), stands, without });
    }
    let mut without = there.as_ref().map(|there| there.extras.words_beyond(&new.extras)).unwrap_or_default();
    if there.as_ref().is_some_and(|there| there.paths.is_some() && there.paths != new.paths) {
        without.push(REPLACED_PATHS);
    }
    info.completeness = Some(new.completeness());
    // The comparison has decided. If the bytes are those of the store's file, this writes its report alone. A new file replaces nothing:
    // another machine may have put a better one into a remote store since.
    info.replace = there.is_some() || is_damaged || force;
    let publish = |to: &Path| std::fs::rename(&path, to).map_err(|error| at(to, "write", error));
    lock.publish(&info, publish)?;
    Ok(Stored { outcome, report: Some(report), stands: new.completeness(), without })
}

/// The id under which a store keeps a program: the build id, else the hash of its contents. The entry's information has that hash, and the
/// id by which crash reporters know the program: that of its PDB, or the one that they derive from the code.
///
/// # Errors
/// The build id is longer than a store takes.
pub fn entry_of(identity: &Identity) -> Result<(BuildId, EntryInfo), IdError> {
    let mut info = EntryInfo::default();
    if !identity.build_id.is_empty() {
        return Ok((BuildId::new(&identity.build_id)?, info));
    }
    let id = BuildId::new(&identity.content)?;
    info.derived_id = Some(id.clone());
    // Of a Breakpad symbol file of a Windows program: reports have the identifier of its PDB.
    let stated = DebugId::parse(&identity.debug_id).ok();
    let derived = text_id(&identity.text).map(|code| match identity.mach_o {
        true => DebugId::of_mach_o(&code),
        false => DebugId::of_elf(&code, identity.big_endian),
    });
    info.debug_id = stated.or(derived);
    Ok((id, info))
}

/// How complete a `.fsym` is, by its conversion record and its sections; for one that another command made.
pub fn completeness_of(file: &SymbolMap) -> Completeness {
    Standing::of(file, BTreeSet::new(), None).completeness()
}

/// What becomes of a new file of this quality compared with the store's.
fn outcome(there: &There, (new, made): (&Standing, &SymbolMap), order: Ordering, force: bool) -> Outcome {
    if made.bytes() == there.map.bytes() && !force {
        return Outcome::Existing;
    }
    let mut gained = new.extras.words_beyond(&there.standing.extras);
    if new.paths > there.paths {
        gained.push(REPLACED_PATHS);
    }
    match order {
        Ordering::Less => Outcome::Kept(new.completeness().words()),
        Ordering::Greater if new.quality.level > there.quality.level => {
            Outcome::Replaced(Improvement::Level(there.completeness().words()))
        }
        Ordering::Greater => Outcome::Replaced(Improvement::More),
        // Which paths its conversion replaced is not known, so a new file of the rest cannot have them.
        Ordering::Equal if new.paths < there.paths && !force => {
            let paths = if new.paths.is_some() { "another" } else { "no" };
            Outcome::Kept(format!("{}, and {paths} --remap-path", new.completeness().words()))
        }
        Ordering::Equal if !gained.is_empty() || force => Outcome::Replaced(Improvement::Options(gained)),
        // A later version of the converter knows better. An earlier one does not take turns with it.
        Ordering::Equal if new.quality.tool > there.quality.tool => Outcome::Replaced(Improvement::More),
        // Two programs with one build id and equally much in them: which of them stays must not depend on the order either.
        Ordering::Equal if new.quality.tool == there.quality.tool && rank(made) > rank(&there.map) => {
            Outcome::Replaced(Improvement::More)
        }
        Ordering::Equal => Outcome::Kept(new.completeness().words()),
    }
}

fn rank(map: &SymbolMap) -> (usize, u32) {
    (map.bytes().len(), map.checksum())
}

/// The store's file.
struct There {
    map: SymbolMap,
    standing: Standing,
}

impl std::ops::Deref for There {
    type Target = Standing;
    fn deref(&self) -> &Standing {
        &self.standing
    }
}

/// The file that the store has. A damaged one counts as absent, and is replaced: the flag is true then.
fn there(lock: &StoreLock<'_>) -> Result<(Option<There>, bool), StoreError> {
    let map = match lock.get() {
        Ok(Some(map)) if map.file().verify().is_ok() => map,
        Ok(found) => return Ok((None, found.is_some())),
        Err(error) if error.is_damage() => return Ok((None, true)),
        Err(error) => return Err(error),
    };
    // A section that the program has nothing for is absent, so the file alone does not show which options were given.
    let asked = lock.completeness(&map)?.map(|completeness| completeness.options).unwrap_or_default();
    let known =
        OPTIONS.iter().map(|option| option.name).filter(|name| asked.iter().any(|asked| asked == name));
    let paths = asked.iter().find(|asked| asked.starts_with(REMAPPED)).cloned();
    let standing = Standing::of(&map, known.collect(), paths);
    Ok((Some(There { map, standing }), false))
}

/// What is compared of two files of one program.
struct Standing {
    quality: Quality,
    extras: Extras,
    /// As [`remapped`].
    paths: Option<String>,
    lost: Vec<String>,
}

impl Standing {
    /// `asked` are the options with which the file was made, as far as they are known.
    fn of(map: &SymbolMap, asked: BTreeSet<&'static str>, paths: Option<String>) -> Self {
        let file = map.file();
        let record = file.records().section_bytes(SectionId::RECORD);
        let record = record.and_then(|record| ConversionRecord::decode(record).ok());
        let lost = record.iter().flat_map(ConversionRecord::lost).map(|kind| kind.name().to_owned());
        let mut extras = Extras::of(file);
        extras.0.extend(asked);
        Self { lost: lost.collect(), quality: Quality::of(file, record.as_ref()), extras, paths }
    }

    fn completeness(&self) -> Completeness {
        let mut completeness = Completeness::new(self.quality.level, self.lost.clone());
        completeness.options = self.extras.0.iter().map(|&name| name.to_owned()).collect();
        completeness.options.extend(self.paths.clone());
        completeness
    }
}

/// How much of its program a file has. Options do not change it.
struct Quality {
    level: DebugInfo,
    /// The code of the program was there: without it answers are less sure.
    has_code: bool,
    /// The symbol table was whole: without it names of folded functions may be missing.
    has_symbols: bool,
    /// Described functions, inlined subroutines, functions, and how few kinds of loss there are.
    counts: (u64, u64, u64, Reverse<usize>),
    /// Rows of line tables; with columns there are more of them.
    rows: u64,
    has_columns: bool,
    /// The name and version of the converter.
    tool: String,
}

impl Quality {
    fn of(file: &SymbolFile<'_>, record: Option<&ConversionRecord>) -> Self {
        let has_columns = file.header().features & features::COLUMNS != 0;
        let Some(record) = record else {
            // A file that another program wrote, or another version: a conversion may know more.
            let has_files = !file.records().files().is_empty();
            let level = if has_files { DebugInfo::Partial } else { DebugInfo::None };
            let (has_code, has_symbols, counts) = (false, false, (0, 0, 0, Reverse(usize::MAX)));
            return Self { level, has_code, has_symbols, counts, rows: 0, has_columns, tool: String::new() };
        };
        let (counts, decided) = (&record.counts, &record.decided);
        Self {
            level: record.debug_info(),
            has_code: record.has_code(),
            has_symbols: !decided.likely.contains_key(foldsym_lookup::Reason::Stripped.text()),
            counts: (counts.functions, counts.inlines, decided.functions, Reverse(record.lost().len())),
            rows: counts.rows,
            has_columns,
            tool: record.tool.clone(),
        }
    }

    /// True if no other file of the program can have more.
    fn is_complete(&self) -> bool {
        self.level == DebugInfo::Full && self.has_code && self.has_symbols
    }

    /// `Greater` if this file has more of the program than another.
    fn against(&self, other: &Self) -> Ordering {
        let parts = |of: &Self| (of.level, of.has_code, of.has_symbols);
        let order = parts(self).cmp(&parts(other));
        // Of two complete files none has more.
        if order != Ordering::Equal || self.is_complete() {
            return order;
        }
        let rows = |of: &Self| if self.has_columns == other.has_columns { of.rows } else { 0 };
        self.counts.cmp(&other.counts).then(rows(self).cmp(&rows(other)))
    }
}

/// An option that adds contents to a file.
struct ExtraOption {
    /// Its name on the command line.
    name: &'static str,
    /// What a file without it lacks.
    words: &'static str,
    is_on: fn(&Options) -> bool,
    set: fn(&mut Options),
    /// True if the contents of a file show that it was given.
    is_in: fn(&SymbolFile<'_>) -> bool,
}

fn has(file: &SymbolFile<'_>, section: SectionId) -> bool {
    file.records().section_bytes(section).is_some()
}

const OPTIONS: [ExtraOption; 7] = [
    ExtraOption {
        name: "columns",
        words: "columns",
        is_on: |options| options.columns,
        set: |options| options.columns = true,
        is_in: |file| file.header().features & features::COLUMNS != 0,
    },
    ExtraOption {
        name: "unwind",
        words: "rows for unwinding",
        is_on: |options| options.unwind,
        set: |options| options.unwind = true,
        is_in: |file| has(file, SectionId::UNWIND),
    },
    ExtraOption {
        name: "name-index",
        words: "an index of names",
        is_on: |options| options.name_index,
        set: |options| options.name_index = true,
        is_in: |file| has(file, SectionId::NAME_INDEX),
    },
    ExtraOption {
        name: "locations",
        words: "locations",
        is_on: |options| options.locations,
        set: |options| options.locations = true,
        is_in: |file| has(file, SectionId::LOCATED),
    },
    ExtraOption {
        name: "imports",
        words: "calls of other modules",
        is_on: |options| options.imports && !options.readable_names,
        set: |options| options.imports = true,
        is_in: |file| has(file, SectionId::IMPORTS),
    },
    ExtraOption {
        name: "data",
        words: "variables",
        is_on: |options| options.data && !options.readable_names,
        set: |options| options.data = true,
        is_in: |file| has(file, SectionId::DATA),
    },
    // Readable names can be made of linkage names at any time, but not the other way round.
    ExtraOption {
        name: LINKAGE_NAMES,
        words: "linkage names",
        is_on: |options| !options.readable_names,
        set: |options| options.readable_names = false,
        is_in: |file| file.header().flags & flags::READABLE_NAMES == 0,
    },
];

/// The option with which the paths of a file were replaced, with a checksum of its values: they are often the paths that nobody is to see.
const REMAPPED: &str = "remap-path:";

/// What they are, in words.
const REPLACED_PATHS: &str = "the paths of its --remap-path";

fn remapped(options: &Options) -> Option<String> {
    let values = format!("{:?}", options.remap_path);
    (!options.remap_path.is_empty()).then(|| format!("{REMAPPED}{:08x}", crc32(values.as_bytes())))
}

/// The absence of `--demangled`.
const LINKAGE_NAMES: &str = "linkage-names";

/// The options that add contents, by name.
#[derive(Clone, PartialEq, Eq)]
struct Extras(BTreeSet<&'static str>);

impl Extras {
    fn asked(options: &Options) -> Self {
        Self(OPTIONS.iter().filter(|option| (option.is_on)(options)).map(|option| option.name).collect())
    }

    fn of(file: &SymbolFile<'_>) -> Self {
        Self(OPTIONS.iter().filter(|option| (option.is_in)(file)).map(|option| option.name).collect())
    }

    /// Adds these to options. Who forces a conversion with readable names gets them.
    fn add_to(&self, options: &mut Options, force: bool) {
        for option in OPTIONS.iter().filter(|option| self.0.contains(option.name)) {
            if !(force && option.name == LINKAGE_NAMES) {
                (option.set)(options);
            }
        }
    }

    fn words_beyond(&self, other: &Self) -> Vec<&'static str> {
        let gained = |option: &&ExtraOption| self.0.contains(option.name) && !other.0.contains(option.name);
        OPTIONS.iter().filter(gained).map(|option| option.words).collect()
    }
}

fn at(path: &Path, doing: &'static str, error: std::io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), doing, error }
}

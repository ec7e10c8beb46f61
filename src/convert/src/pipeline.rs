//! The whole conversion as one function: open, read, resolve, encode, write; with the time of each.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use foldsym_format::header::MAGIC;

use crate::budget::{Allowance, TooMuch};
use crate::encode::{self, EncodeOptions, Encoded, ImageInfo, LoadedSection, ProgramSegment};
use crate::model::{Keys, UnitClasses};
use crate::open::{self, Files, Format, Image, ImageKind, Linker, LoadedSegment, OpenError, OpenOptions};
use crate::output::{replaceable, write_whole};
use crate::read::{self, ReadOptions, SplitFiles};
use crate::report::{Counts, Diagnostics, Report, Step, Steps};
use crate::resolve::{self, ResolveOptions, Resolved};

/// What to convert and how. The default keeps no columns and writes no name index. Fields may be added: fill those that
/// matter and take the rest with `..Options::default()`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads; 0 for one a core, at most [`MAX_THREADS`]. The bytes of the file do not depend on it.
    pub threads: usize,
    /// The architecture to take of a fat Mach-O file; a program of another is refused.
    pub arch: Option<String>,
    /// The device target to take of a GPU bundle.
    pub target: Option<String>,
    /// Where [`crate::open::device_code`] found it, of several.
    pub device: Option<crate::open::DevicePlace>,
    /// The `.dwp` to use instead of the one beside the program.
    pub dwp: Option<PathBuf>,
    /// Directories of `.dwo` files; with one given, none outside is opened.
    pub dwo_dirs: Vec<PathBuf>,
    /// Roots of separate debug files, before `/usr/lib/debug`.
    pub debug_dirs: Vec<PathBuf>,
    /// The separate debug file or dSYM bundle to take, in place of what would be found. It must be of the same build.
    pub debug_file: Option<PathBuf>,
    /// Caches of debuginfod (`DIR/BUILDID/debuginfo`), which are searched last.
    pub debuginfod_dirs: Vec<PathBuf>,
    /// The member of an archive to take, counted from 0: [`crate::open::parts`] lists them.
    pub member: Option<usize>,
    /// Prefixes of paths in the debug information that are elsewhere on this machine.
    pub map_prefix: Vec<(PathBuf, PathBuf)>,
    /// Prefixes of stored paths to replace.
    pub remap_path: Vec<(String, String)>,
    /// Keep columns.
    pub columns: bool,
    /// Keep where methods that share their code with others have the pointer to their object.
    pub locations: bool,
    /// Write the index for `find`.
    pub name_index: bool,
    /// Gives the index readable names.
    pub demangle: Option<encode::Demangle>,
    /// Store readable names without parameters in place of linkage names, for readers that cannot demangle.
    pub readable_names: bool,
}

/// More threads than this are not started: they would wait for each other for minutes.
pub const MAX_THREADS: usize = 1024;

/// Is told how far a conversion is. Called from several threads.
pub trait Progress: Sync {
    /// A step begins that has `total` units of work (bytes of debug information; 0 where unknown).
    fn step(&self, name: &'static str, total: u64);
    /// Work was done.
    fn advance(&self, units: u64);
}

/// Takes no notice of progress.
pub struct NoProgress;

impl Progress for NoProgress {
    fn step(&self, _: &'static str, _: u64) {}
    fn advance(&self, _: u64) {}
}

/// Why a program was not converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A file could not be opened or is damaged. The message names it.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The program cannot be stored.
    #[error("{}: {source}", path.display())]
    Encode {
        /// The program.
        path: PathBuf,
        /// What does not fit.
        source: encode::EncodeError,
    },
    /// What is read of the program takes more memory than its bytes allow: it was made to.
    #[error("{}: {source}", path.display())]
    TooMuch {
        /// The program.
        path: PathBuf,
        /// How much that is.
        source: TooMuch,
    },
    /// The output could not be written; nothing is left of it.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The threads could not be started.
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The file to verify is not a readable `.fsym`.
    #[error("{}: {problem}", path.display())]
    Fsym {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
    },
}

impl ConvertError {
    /// True where other options would help (which architecture, which device program), false where the input is bad or the
    /// output cannot be written.
    pub fn is_usage(&self) -> bool {
        matches!(self, ConvertError::Open(error) if error.is_usage())
    }
}

/// Converts one program into one `.fsym` file, written beside its final name and renamed. A symbolic link of that name stays,
/// and what it leads to is replaced.
///
/// # Errors
/// The program cannot be opened, or the file cannot be written: nor over a device, a FIFO or a folder, nor over a file that
/// is no `.fsym`. Damage inside the debug information is no error: what can be read is kept, and the report counts the rest.
pub fn convert(
    input: &Path,
    output: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    let unwritable = |source| ConvertError::Write { path: output.to_owned(), source };
    // Before the work, which may take long.
    replaceable(output, &MAGIC, "symbol file").map_err(unwritable)?;
    let write = |encoded: &Encoded| write_whole(output, |file| encoded.write_to(file)).map_err(unwritable);
    produce(Source::Path(input), write, options, progress)
}

/// Converts one program and writes the bytes of its `.fsym` file to `out`.
///
/// # Errors
/// As [`convert`]; an error of `out` comes back as [`ConvertError::Write`], after a part of the file may have been written.
pub fn convert_to(
    input: &Path,
    out: &mut (dyn Write + Send),
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    produce(Source::Path(input), writer(input, out), options, progress)
}

/// Converts a program from its bytes and writes the bytes of its `.fsym` file to `out`. No file is opened: a separate debug
/// file, a dwz file, `.dwo` files and a `.dwp` are missing then, and the report says so. `name` stands for the program in
/// messages, in the report, and by its last component in the file.
///
/// # Errors
/// As [`convert_to`].
pub fn convert_bytes(
    name: &Path,
    bytes: &[u8],
    out: &mut (dyn Write + Send),
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    produce(Source::Bytes(name, bytes), writer(name, out), options, progress)
}

fn writer<'o>(
    name: &'o Path,
    out: &'o mut (dyn Write + Send),
) -> impl FnOnce(&Encoded) -> Result<(), ConvertError> + Send + 'o {
    move |encoded| {
        let written: io::Result<()> = encoded.write_to(&mut *out).and_then(|()| out.flush());
        written.map_err(|source| ConvertError::Write { path: name.to_owned(), source })
    }
}

/// Where a program comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'s> {
    Path(&'s Path),
    /// A name for messages, and the bytes.
    Bytes(&'s Path, &'s [u8]),
}

impl<'s> Source<'s> {
    fn name(self) -> &'s Path {
        match self {
            Source::Path(name) | Source::Bytes(name, _) => name,
        }
    }
}

/// The conversion: open, read, resolve, encode, and `write` what was encoded.
fn produce(
    source: Source<'_>,
    write: impl FnOnce(&Encoded) -> Result<(), ConvertError> + Send,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    in_pool(options.threads, || {
        let files = Files::default();
        let alone = matches!(source, Source::Bytes(..));
        let open_options = OpenOptions { separate: !alone, ..open_options(options) };
        let (mut loaded, mut report) = load(&files, source, options, &open_options, progress)?;
        progress.step("encode", 0);
        let encoded = encoded(&mut loaded, options, &mut report)
            .map_err(|problem| ConvertError::Encode { path: source.name().to_owned(), source: problem })?;
        progress.step("write", 0);
        let began = Instant::now();
        // Else the system does it when the process ends, after all threads but one have ended.
        let give_back = || {
            drop(loaded);
            files.release_all();
        };
        rayon::join(|| write(&encoded), give_back).0?;
        report.steps.write = Step::since(began);
        report.finish(&encoded);
        Ok(report)
    })?
}

/// A program that was opened, read and resolved.
pub(crate) struct Loaded<'a, 'f> {
    pub(crate) image: Image<'f>,
    pub(crate) resolved: Resolved<'f>,
    split: SplitFiles<'a, 'f>,
}

impl<'f> Loaded<'_, 'f> {
    /// The keys of the program, and what was noticed on the way.
    fn keys(&self) -> (Keys, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let classes = |units: &[UnitClasses<'_>], counted: &mut _| {
            read::read_classes(&self.image, &self.split, units, counted)
        };
        let keys = self.resolved.keys(&self.image, &classes, &mut diagnostics);
        // What is encoded may have the memory of what is not asked for any more.
        let code = self.image.code.iter().chain(&self.image.data);
        code.for_each(|(_, bytes)| self.split.files.release(bytes));
        (keys, diagnostics)
    }
}

/// Opens, reads and resolves a program: everything before the file.
pub(crate) fn load<'a, 'f>(
    files: &'f Files,
    source: Source<'f>,
    options: &Options,
    open_options: &'a OpenOptions,
    progress: &dyn Progress,
) -> Result<(Loaded<'a, 'f>, Report), ConvertError> {
    let mut report = Report::new(source.name());
    progress.step("open", 0);
    let began = Instant::now();
    let mut image = match source {
        Source::Path(path) => open::open_image(files, path, open_options)?,
        Source::Bytes(name, bytes) => open::image_from_bytes(files, name, bytes, open_options)?,
    };
    if options.member.is_some() {
        report.input.clone_from(&image.path);
    }
    let package = open::open_package(files, open_options, &mut image)?;
    report.open(&image);
    report.steps.open = Step::since(began);

    let info_len = image.debug.get(open::DebugSection::Info).len() as u64;
    progress.step("read", info_len);
    let began = Instant::now();
    let split = SplitFiles { files, options: open_options, package };
    let remap_path = options
        .remap_path
        .iter()
        .map(|(old, new)| (old.clone().into_bytes(), new.clone().into_bytes()))
        .collect();
    // Takes each unit as it is read: one thread numbers its names while others read.
    let allowance = Allowance::of(files);
    let mut merged = resolve::Merged::new(ResolveOptions { remap_path }, sizes(&image, &split), allowance);
    let classes = image.linker != Linker::NeverFolds;
    let read_options = ReadOptions { columns: options.columns, locations: options.locations, classes };
    let (counted, (symbols, mut diagnostics)) = rayon::join(
        || read::read(&image, &split, read_options, &|n| progress.advance(n), &mut merged),
        || resolve::Symbols::new(&image),
    );
    merged.is_within().map_err(|source| ConvertError::TooMuch { path: image.path.clone(), source })?;
    report.counts = Counts::of(merged.units());
    report.counts.units += merged.empty_units();
    report.diagnostics.merge(counted);
    let blocks = read::read_blocks(&image, &mut report.diagnostics);
    report.steps.read = Step::since(began);

    progress.step("resolve", 0);
    let began = Instant::now();
    let mut resolved = resolve::resolve(&image, merged, symbols, &mut diagnostics);
    resolved.program_mut().blocks = blocks;
    report.diagnostics.merge(diagnostics);
    report.steps.resolve = Step::since(began);
    Ok((Loaded { image, resolved, split }, report))
}

/// What bounds the names and paths that units may have.
fn sizes(image: &Image<'_>, split: &SplitFiles<'_, '_>) -> resolve::Sizes {
    use open::DebugSection::{Info, Line, LineStr, Str};
    let sections =
        [Some(&image.debug), image.supplementary.as_ref(), split.package.as_ref().map(|file| &file.debug)];
    let bytes = |ids: &[open::DebugSection]| {
        let each = sections
            .iter()
            .flatten()
            .flat_map(|sections| ids.iter().map(|&id| sections.get(id).len() as u64));
        each.sum()
    };
    resolve::Sizes { strings: bytes(&[Str, LineStr]), lines: bytes(&[Line]), entries: bytes(&[Info]) }
}

/// Encodes a program, and finds its keys beside that or, where it cannot be, before.
fn encoded(
    loaded: &mut Loaded<'_, '_>,
    options: &Options,
    report: &mut Report,
) -> Result<Encoded, encode::EncodeError> {
    let encode_options = EncodeOptions {
        columns: options.columns,
        name_index: options.name_index,
        demangle: options.demangle,
    };
    let info = ImageInfo { readable_names: options.readable_names, ..image_info(&loaded.image) };
    let keys = |loaded: &Loaded<'_, '_>| timed(|| loaded.keys());
    let body =
        |loaded: &Loaded<'_, '_>| timed(|| encode::body(loaded.resolved.program(), &info, &encode_options));
    // Keys are found by linkage names, and one thread does them first anyhow.
    let apart = options.readable_names || rayon::current_num_threads() == 1;
    let (((keys, diagnostics), found), (body, encoded)) = if apart {
        let found = keys(loaded);
        loaded.resolved.end_keys();
        if options.readable_names {
            crate::readable::rename(loaded.resolved.program_mut());
        }
        (found, body(loaded))
    } else {
        rayon::join(|| keys(loaded), || body(loaded))
    };
    report.diagnostics.merge(diagnostics);
    (report.steps.keys, report.steps.encode) = (found, encoded);
    let program = loaded.resolved.program();
    report.decided(program, &keys);
    // Without times and threads, so that the bytes depend on the program and the options alone.
    let record = report.record().to_string();
    body?.finish(program, &keys, Some(record.as_bytes()))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Step) {
    let began = Instant::now();
    let done = work();
    (done, Step::since(began))
}

pub(crate) fn image_info(image: &Image<'_>) -> ImageInfo {
    ImageInfo {
        build_id: image.build_id.to_vec(),
        machine: image.arch.machine,
        address_size: image.arch.address_size,
        big_endian: image.arch.big_endian,
        relocatable: image.kind == ImageKind::Relocatable,
        mach_o: image.format == Format::MachO,
        readable_names: false,
        image_base: image.image_base,
        sections: image
            .sections
            .iter()
            .map(|section| LoadedSection {
                name: section.name.clone().into_bytes(),
                start: section.range.start,
                size: section.range.end.saturating_sub(section.range.start),
                executable: section.executable,
            })
            .collect(),
        segments: image
            .segments
            .iter()
            .map(|&LoadedSegment { start, len, file_offset, file_len, executable }| ProgramSegment {
                start,
                len,
                file_offset,
                file_len,
                executable,
            })
            .collect(),
        position_independent: image.kind == ImageKind::Dynamic,
    }
}

pub(crate) fn open_options(options: &Options) -> OpenOptions {
    OpenOptions {
        arch: options.arch.clone(),
        target: options.target.clone(),
        device: options.device,
        debug_dirs: options.debug_dirs.clone(),
        debug_file: options.debug_file.clone(),
        debuginfod_dirs: options.debuginfod_dirs.clone(),
        member: options.member,
        dwo_dirs: options.dwo_dirs.clone(),
        map_prefix: options.map_prefix.clone(),
        dwp: options.dwp.clone(),
        ..OpenOptions::default()
    }
}

/// Runs `work` on a pool of its own, so that conversions side by side do not share one.
pub(crate) fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, ConvertError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.min(MAX_THREADS)).build()?;
    Ok(pool.install(work))
}

impl Steps {
    /// The steps with the names that the report gives them; progress counts the keys as a part of `encode`.
    pub fn named(&self) -> [(&'static str, Step); 6] {
        [
            ("open", self.open),
            ("read", self.read),
            ("resolve", self.resolve),
            ("keys", self.keys),
            ("encode", self.encode),
            ("write", self.write),
        ]
    }
}

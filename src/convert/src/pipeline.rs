//! The whole conversion, with the time of each step: open, read and merge, recover, place, keys beside encode, write.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use foldsym_format::header::MAGIC;

use crate::diagnostics::{Diagnostics, Kind};
use crate::encode::{self, EncodeError, EncodeOptions, Encoded, ImageInfo};
use crate::error::ConvertError;
use crate::keys;
use crate::merge::units::Records;
use crate::merge::{Merged, Merging, Sizes};
use crate::model::{BlockMap, Keys, UnwindRows};
use crate::open::{self, Files, Image, Linker, OpenOptions};
use crate::options::{MAX_THREADS, Options, Progress};
use crate::place::{self, Placed};
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;
use crate::read;
use crate::read::options::ReadOptions;
use crate::read::units::supply::SplitFiles;
use crate::recover;
use crate::report::{Counts, Report, Step};
use crate::util::output::{replaceable, write_whole};

/// Converts one program into one `.fsym` file, written beside its final name and renamed. If that name is a symbolic
/// link, the link stays and its target is replaced.
///
/// # Errors
/// The program cannot be opened, or the file cannot be written. A device, a FIFO, a folder, and a file that is no
/// `.fsym` are not overwritten. Damage inside the debug information is no error: everything readable is kept, and the
/// report counts the rest.
pub fn convert(
    input: &Path,
    output: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    let unwritable = |source| ConvertError::Write { path: output.to_owned(), source };
    // Checked before the work, which may take long.
    replaceable(output, &MAGIC, "symbol file").map_err(unwritable)?;
    let write = |encoded: &Encoded| write_whole(output, |file| encoded.write_to(file)).map_err(unwritable);
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    produce(ProgramSource::Path(input), Files::with_scratch(folder.to_owned()), write, options, progress)
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
    produce(ProgramSource::Path(input), Files::new(), writer(input, out), options, progress)
}

/// Converts a program from its bytes and writes the bytes of its `.fsym` file to `out`. It opens no file, so a
/// separate debug file, a dwz file, `.dwo` files and a `.dwp` are missing, and the report shows that. `name` is the
/// program's name in messages and in the report; its last component is stored in the file.
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
    produce(ProgramSource::Bytes(name, bytes), Files::new(), writer(name, out), options, progress)
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

/// The source of a program.
#[derive(Clone, Copy)]
pub(crate) enum ProgramSource<'s> {
    Path(&'s Path),
    /// A name for messages, and the bytes.
    Bytes(&'s Path, &'s [u8]),
}

impl<'s> ProgramSource<'s> {
    fn name(self) -> &'s Path {
        match self {
            ProgramSource::Path(name) | ProgramSource::Bytes(name, _) => name,
        }
    }
}

/// The conversion: loads the program ([`load`]), finds keys beside encoding, and calls `write` with the encoded file.
fn produce(
    source: ProgramSource<'_>,
    files: Files,
    write: impl FnOnce(&Encoded) -> Result<(), ConvertError> + Send,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    in_pool(options.threads, || {
        let alone = matches!(source, ProgramSource::Bytes(..));
        let open_options = OpenOptions { separate: !alone, ..options.open() };
        let (mut loaded, mut report) = load(&files, source, options, &open_options, progress)?;
        begin(progress, source.name(), "encode", 0)?;
        let encoded = encoded(&mut loaded, options, &mut report)
            .map_err(|problem| ConvertError::Encode { path: source.name().to_owned(), source: problem })?;
        begin(progress, source.name(), "write", 0)?;
        let began = Instant::now();
        // Freed while the file is written: the system would free it only at the end of the process, on one thread.
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

/// Begins a step, unless nobody wants the result any more.
fn begin(progress: &dyn Progress, path: &Path, step: &'static str, total: u64) -> Result<(), ConvertError> {
    if progress.is_cancelled() {
        return Err(ConvertError::Cancelled { path: path.to_owned() });
    }
    progress.step(step, total);
    Ok(())
}

/// A program whose functions are placed.
pub(crate) struct Loaded<'a, 'f> {
    pub(crate) image: Image<'f>,
    pub(crate) placed: Placed<'f>,
    /// Only the search for keys needs them. They are dropped after it if it runs before encoding, otherwise after the
    /// encoding.
    records: Records<'f>,
    split: SplitFiles<'a, 'f>,
}

impl<'f> Loaded<'_, 'f> {
    /// The keys of the program, with the diagnostics of finding them.
    fn keys(&self) -> (Keys, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let wanted = keys::wanted_classes(&self.placed, &self.records, &self.image);
        let classes =
            wanted.map(|units| read::read_classes(&self.image, &self.split, &units, &mut diagnostics));
        let keys = keys::keys(&self.placed, &self.records, &self.image, classes.as_deref(), &mut diagnostics);
        // Encoding may use the memory of code and data that are no longer needed.
        let code = self.image.code.iter().chain(&self.image.data);
        code.for_each(|(_, bytes)| self.split.files.release(bytes));
        (keys, diagnostics)
    }
}

/// Opens, reads, merges, recovers and places a program: every step before encoding.
pub(crate) fn load<'a, 'f>(
    files: &'f Files,
    source: ProgramSource<'f>,
    options: &Options,
    open_options: &'a OpenOptions,
    progress: &dyn Progress,
) -> Result<(Loaded<'a, 'f>, Report), ConvertError> {
    let mut report = Report::new(source.name());
    let (mut image, split) = open_program(files, source, options, open_options, progress, &mut report)?;
    let read = read_program(files, &mut image, &split, options, progress, &mut report)?;

    begin(progress, source.name(), "resolve", 0)?;
    let began = Instant::now();
    let ReadProgram { merged, mut symbols, mut diagnostics, blocks, unwind } = read;
    let Merged { names, units, records, code, traces, .. } = merged;
    let machine = Machine::new(&image);
    let (read, found) = ((&units, &records), (code, traces));
    let recovered = recover::recover(&image, &machine, &names, read, found, &mut symbols, &mut diagnostics);
    image.release_pages();
    let placed = place::place(&image, &machine, names, recovered, &symbols, &mut diagnostics);
    let mut placed = placed.with_units(units);
    match (options.imports, options.readable_names) {
        (false, _) => {}
        (true, false) => placed.add_imports(&machine, &mut diagnostics),
        (true, true) => diagnostics.add(Kind::NoImports, 0, || {
            "calls of other modules were asked for, and are not kept with readable names".into()
        }),
    }
    image.release_pages();
    drop((machine, symbols));
    (placed.program.blocks, placed.program.unwind) = (blocks, unwind);
    report.diagnostics.merge(diagnostics);
    report.steps.resolve = Step::since(began);
    Ok((Loaded { image, placed, records, split }, report))
}

/// Opens a program and the package of its `.dwo` files.
fn open_program<'a, 'f>(
    files: &'f Files,
    source: ProgramSource<'f>,
    options: &Options,
    open_options: &'a OpenOptions,
    progress: &dyn Progress,
    report: &mut Report,
) -> Result<(Image<'f>, SplitFiles<'a, 'f>), ConvertError> {
    begin(progress, source.name(), "open", 0)?;
    let began = Instant::now();
    let mut image = match source {
        ProgramSource::Path(path) => open::open_image(files, path, open_options)?,
        ProgramSource::Bytes(name, bytes) => open::image_from_bytes(files, name, bytes, open_options)?,
    };
    if options.member.is_some() {
        report.input.clone_from(&image.path);
    }
    let package = open::open_package(files, open_options, &mut image)?;
    report.open(&image);
    report.steps.open = Step::since(began);
    Ok((image, SplitFiles { files, options: open_options, package }))
}

/// A program after reading and merging.
struct ReadProgram<'f> {
    merged: Merged<'f>,
    symbols: Symbols<'f>,
    /// The diagnostics of the symbols.
    diagnostics: Diagnostics,
    blocks: BlockMap,
    unwind: Option<UnwindRows>,
}

/// Reads the symbols and all units of a program, and merges each unit as soon as it is read.
fn read_program<'f>(
    files: &'f Files,
    image: &mut Image<'f>,
    split: &SplitFiles<'_, 'f>,
    options: &Options,
    progress: &dyn Progress,
    report: &mut Report,
) -> Result<ReadProgram<'f>, ConvertError> {
    let info_len = image.debug.get(open::DebugSection::Info).len() as u64;
    begin(progress, &image.path, "read", info_len)?;
    let began = Instant::now();
    let package_sections = split.package.as_ref().map(|package| &package.debug);
    // Merges each unit as soon as it is read: one thread numbers its names while others read.
    let mut merging = Merging::new(options.remapped_paths(), Sizes::of(image, package_sections), files);
    let classes = image.linker != Linker::NeverFolds;
    let read_options = ReadOptions { columns: options.columns, locations: options.locations, classes };
    let (counted, (symbols, diagnostics)) = rayon::join(
        || read::read(image, split, read_options, &|n| progress.advance(n), &mut merging),
        || Symbols::new(image),
    );
    let merged = merging.finish();
    let merged = merged.map_err(|source| ConvertError::TooMuch { path: image.path.clone(), source })?;
    let heads = &merged.units.heads;
    let of_go = !heads.is_empty() && heads.iter().all(|head| head.merges_nothing);
    image.linker = image.linker.with_units(of_go);
    report.counts = Counts::of(heads, &merged.code);
    report.counts.units += merged.empty_units;
    report.diagnostics.merge(counted);
    image.release_pages();
    let blocks = read::read_blocks(image, &mut report.diagnostics);
    let unwind = options.unwind.then(|| read::read_unwind(image, &mut report.diagnostics));
    report.steps.read = Step::since(began);
    Ok(ReadProgram { merged, symbols, diagnostics, blocks, unwind })
}

/// Encodes a program and finds its keys, in parallel if possible, otherwise one before the other.
fn encoded(
    loaded: &mut Loaded<'_, '_>,
    options: &Options,
    report: &mut Report,
) -> Result<Encoded, EncodeError> {
    let encode_options = EncodeOptions {
        columns: options.columns,
        name_index: options.name_index,
        demangle: options.demangle,
    };
    let info = ImageInfo { readable_names: options.readable_names, ..ImageInfo::of(&loaded.image) };
    let keys = |loaded: &Loaded<'_, '_>| timed(|| loaded.keys());
    let body =
        |loaded: &Loaded<'_, '_>| timed(|| encode::body(&loaded.placed.program, &info, &encode_options));
    // Keys need linkage names, which `readable_names` replaces. With one thread nothing runs in parallel anyway.
    let apart = options.readable_names || rayon::current_num_threads() == 1;
    let (((keys, diagnostics), found), (body, encoded)) = if apart {
        let found = keys(loaded);
        // Freed before encoding begins.
        (loaded.records, loaded.placed.names) = Default::default();
        if options.readable_names {
            encode::readable::rename(&mut loaded.placed.program);
        }
        (found, body(loaded))
    } else {
        rayon::join(|| keys(loaded), || body(loaded))
    };
    report.diagnostics.merge(diagnostics);
    (report.steps.keys, report.steps.encode) = (found, encoded);
    let program = &loaded.placed.program;
    report.decided(program, &keys);
    // Without times and the number of threads: the bytes depend only on the program and the options.
    body?.finish(program, &keys, Some(&report.record().encode()))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Step) {
    let began = Instant::now();
    let done = work();
    (done, Step::since(began))
}

/// Runs `work` on a thread pool of its own, so that simultaneous conversions do not share one.
pub(crate) fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, ConvertError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.min(MAX_THREADS)).build()?;
    Ok(pool.install(work))
}

//! The whole conversion: open, read and merge, recover, place, keys beside encode, write; with the time of each step.

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
use crate::model::Keys;
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
    produce(ProgramSource::Path(input), write, options, progress)
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
    produce(ProgramSource::Path(input), writer(input, out), options, progress)
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
    produce(ProgramSource::Bytes(name, bytes), writer(name, out), options, progress)
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
    write: impl FnOnce(&Encoded) -> Result<(), ConvertError> + Send,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    in_pool(options.threads, || {
        let files = Files::default();
        let alone = matches!(source, ProgramSource::Bytes(..));
        let open_options = OpenOptions { separate: !alone, ..options.open() };
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

/// A program whose functions are placed.
pub(crate) struct Loaded<'a, 'f> {
    pub(crate) image: Image<'f>,
    pub(crate) placed: Placed<'f>,
    /// Only keys ask for it. Where they are found before encoding, it is given back between the two; else it is kept until the
    /// file is encoded.
    records: Records<'f>,
    split: SplitFiles<'a, 'f>,
}

impl<'f> Loaded<'_, 'f> {
    /// The keys of the program, and what was noticed on the way.
    fn keys(&self) -> (Keys, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let wanted = keys::wanted_classes(&self.placed, &self.records, &self.image);
        let classes =
            wanted.map(|units| read::read_classes(&self.image, &self.split, &units, &mut diagnostics));
        let keys = keys::keys(&self.placed, &self.records, &self.image, classes.as_deref(), &mut diagnostics);
        // What is encoded may have the memory of what is not asked for any more.
        let code = self.image.code.iter().chain(&self.image.data);
        code.for_each(|(_, bytes)| self.split.files.release(bytes));
        (keys, diagnostics)
    }
}

/// Opens, reads, merges, recovers and places a program: every step before the file.
pub(crate) fn load<'a, 'f>(
    files: &'f Files,
    source: ProgramSource<'f>,
    options: &Options,
    open_options: &'a OpenOptions,
    progress: &dyn Progress,
) -> Result<(Loaded<'a, 'f>, Report), ConvertError> {
    let mut report = Report::new(source.name());
    progress.step("open", 0);
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

    let info_len = image.debug.get(open::DebugSection::Info).len() as u64;
    progress.step("read", info_len);
    let began = Instant::now();
    let split = SplitFiles { files, options: open_options, package };
    let package_sections = split.package.as_ref().map(|package| &package.debug);
    // Takes each unit as it is read: one thread numbers its names while others read.
    let allowance = files.allowance();
    let mut merging = Merging::new(options.remapped_paths(), Sizes::of(&image, package_sections), allowance);
    let classes = image.linker != Linker::NeverFolds;
    let read_options = ReadOptions { columns: options.columns, locations: options.locations, classes };
    let (counted, (mut symbols, mut diagnostics)) = rayon::join(
        || read::read(&image, &split, read_options, &|n| progress.advance(n), &mut merging),
        || Symbols::new(&image),
    );
    let merged = merging.finish();
    let Merged { names, units, records, code, traces, empty_units } =
        merged.map_err(|source| ConvertError::TooMuch { path: image.path.clone(), source })?;
    let of_go = !units.heads.is_empty() && units.heads.iter().all(|head| head.merges_nothing);
    image.linker = image.linker.with_units(of_go);
    report.counts = Counts::of(&units.heads, &code);
    report.counts.units += empty_units;
    report.diagnostics.merge(counted);
    let blocks = read::read_blocks(&image, &mut report.diagnostics);
    let unwind = options.unwind.then(|| read::read_unwind(&image, &mut report.diagnostics));
    report.steps.read = Step::since(began);

    progress.step("resolve", 0);
    let began = Instant::now();
    let machine = Machine::new(&image);
    let (read, found) = ((&units, &records), (code, traces));
    let recovered = recover::recover(&image, &machine, &names, read, found, &mut symbols, &mut diagnostics);
    let placed = place::place(&image, &machine, names, recovered, &symbols, &mut diagnostics);
    let mut placed = placed.with_units(units);
    match (options.imports, options.readable_names) {
        (false, _) => {}
        (true, false) => placed.add_imports(&machine, &mut diagnostics),
        (true, true) => diagnostics.add(Kind::NoImports, 0, || {
            "calls of other modules were asked for, and are not kept with readable names".into()
        }),
    }
    drop((machine, symbols));
    (placed.program.blocks, placed.program.unwind) = (blocks, unwind);
    report.diagnostics.merge(diagnostics);
    report.steps.resolve = Step::since(began);
    Ok((Loaded { image, placed, records, split }, report))
}

/// Encodes a program, and finds its keys beside that or, where it cannot be, before.
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
    // Keys are found by linkage names, and one thread does them first anyhow.
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
    // Without times and threads, so that the bytes depend on the program and the options alone.
    body?.finish(program, &keys, Some(&report.record().encode()))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Step) {
    let began = Instant::now();
    let done = work();
    (done, Step::since(began))
}

/// Runs `work` on a pool of its own, so that conversions side by side do not share one.
pub(crate) fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, ConvertError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.min(MAX_THREADS)).build()?;
    Ok(pool.install(work))
}

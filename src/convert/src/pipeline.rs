//! The whole conversion, with the time of each step: open, read and merge, recover, place, keys beside encode, write.
//!
//! It is two functions, since verification needs a program as it is before encoding: [`load`] ends there, and [`produce`] goes on.

use std::time::Instant;

use crate::diagnostics::Kind;
use crate::encode::Encoded;
use crate::error::ConvertError;
#[cfg(feature = "import")]
use crate::import;
use crate::keys;
use crate::loaded::Loaded;
use crate::merge::{self, Merged, Merging, Sizes};
use crate::open::{self, DebugSection, Files, OpenOptions, ProgramSource};
use crate::options::{Options, Progress, begin};
use crate::place;
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;
use crate::read::options::ReadOptions;
use crate::read::units::split_files::SplitFiles;
use crate::read::{self, read_blocks, read_unwind};
use crate::recover::{self, ReadUnits};
use crate::report::{Counts, OpenedProgram, Report, Step};

/// The conversion: loads the program ([`load`]), finds keys beside encoding, and calls `write` with the encoded file.
pub(crate) fn produce(
    source: ProgramSource<'_>,
    files: Files,
    write: impl FnOnce(&Encoded) -> Result<(), ConvertError> + Send,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    #[cfg(feature = "import")]
    if import::is_import(source) {
        let work = || import::produce(source, &files, write, options, progress);
        return options.on_threads(work)?;
    }
    let work = || {
        // A program in memory has no folder in which its debug files could be.
        let alone = matches!(source, ProgramSource::Bytes(..));
        let open_options = OpenOptions { separate: !alone, ..options.open() };
        let (loaded, mut report) = load(&files, source, options, &open_options, progress)?;
        begin(progress, source.name(), "encode", 0)?;
        let (encoded, loaded) = loaded.encoded(options, &mut report);
        let encoded =
            encoded.map_err(|error| ConvertError::Encode { path: source.name().to_owned(), error })?;
        begin(progress, source.name(), "write", 0)?;
        let began = Instant::now();
        // Freed while the file is written: the system would free it only at the end of the process, on one thread.
        let give_back = || {
            drop(loaded);
            files.release_all();
        };
        rayon::join(|| write(&encoded), give_back).0?;
        report.steps.write = Step::since(began);
        report.finish(encoded.stats, encoded.section_lens(), encoded.file_len());
        Ok(report)
    };
    files.while_releasing(|| options.on_threads(work))?
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
    begin(progress, source.name(), "open", 0)?;
    let began = Instant::now();
    let (image, package) = open::open_program(files, source, open_options)?;
    // `open` adds the member's name to the path (`libx.a(y.o)`): the archive alone would not say which program this is.
    if options.member.is_some() {
        report.input.clone_from(&image.path);
    }
    report.opened(OpenedProgram {
        arch: image.arch.name,
        build_id: image.build_id.to_vec(),
        is_linked: image.is_linked(),
        notes: image.diagnostics.clone(),
    });
    // The symbol tables are read by now.
    image.release_pages();
    report.steps.open = Step::since(began);

    begin(progress, &image.path, "read", image.debug.get(DebugSection::Info).len() as u64)?;
    let began = Instant::now();
    let split = SplitFiles { files, options: open_options, package };
    let package = split.package.as_ref().map(|package| &package.debug);
    // Merges each unit as soon as it is read: one thread numbers its names while others read.
    let mut merging = Merging::new(options.remapped_paths(), Sizes::of(&image, package), files);
    // Classes serve only to tell folded methods apart.
    let classes = image.linker.may_fold();
    let read_options = ReadOptions {
        columns: options.columns,
        locations: options.locations,
        data: options.data && !options.readable_names,
        relative_paths: options.relative_paths,
        classes,
        sequences: false,
    };
    let advance = |bytes| progress.advance(bytes);
    // Neither needs the other: one thread sorts the symbols while the others read units.
    let (counted, (symbols, mut diagnostics)) = rayon::join(
        || read::read(&image, &split, read_options, &advance, &mut merging),
        || Symbols::new(&image),
    );
    let merged = merging.finish();
    let merged = merged.map_err(|error| ConvertError::TooMuch { path: image.path.clone(), error })?;
    let Merged { names, units, records, code, traces, empty_units } = merged;
    // Only now: which compilers made the program is known when all units are read.
    let linker = image.linker.with_units(units.are_of_go());
    report.counts = Counts::of(&units.heads, &code);
    // Units of which nothing is kept were read all the same.
    report.counts.units += empty_units;
    report.diagnostics.merge(counted);
    image.release_pages();
    let blocks = read_blocks(&image, &mut report.diagnostics);
    let unwind = options.unwind.then(|| read_unwind(&image, &mut report.diagnostics));
    report.steps.read = Step::since(began);

    begin(progress, source.name(), "recover", 0)?;
    let began = Instant::now();
    // Those that no later step asks for would take memory until the end.
    let image = if files.scratch().is_used() { keys::with_needed_symbols(image, &symbols) } else { image };
    let machine = Machine::new(&image);
    let read = ReadUnits { units: &units, records: &records, code, traces };
    let (mut recovered, symbols) =
        recover::recover(&image, linker, &machine, &names, read, symbols, &mut diagnostics);
    merge::spill::recovered(files.scratch(), &mut recovered.code);
    image.release_pages();
    report.steps.recover = Step::since(began);

    begin(progress, source.name(), "place", 0)?;
    let began = Instant::now();
    let chosen = (linker, options.naming);
    let placed = place::place(&image, chosen, &machine, names, recovered, symbols, &mut diagnostics);
    let mut placed = placed.with_units(units, blocks, unwind);
    if options.data && !options.readable_names {
        placed = placed.with_variables(&image, &records);
    }
    match (options.imports, options.readable_names) {
        (false, _) => {}
        (true, false) => placed = placed.with_imports(&machine, &mut diagnostics),
        (true, true) => diagnostics.add(Kind::ReadableImports, 0, || {
            "calls into other modules are not kept: the option for readable names excludes them".into()
        }),
    }
    image.release_pages();
    drop(machine);
    report.diagnostics.merge(diagnostics);
    report.steps.place = Step::since(began);
    Ok((Loaded { image, placed, records, split }, report))
}

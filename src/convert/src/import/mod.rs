//! Reads a Breakpad symbol file, and turns it into a program as `place` makes it of debug information.
//!
//! The format has less than debug information: names are readable ones, there are no columns and declarations, and nothing shows which
//! functions the linker folded but the mark `m`. So no answer is `unique` (see `place`). Addresses count from the beginning of the program,
//! whose image base is 0.
//!
//! `records` reads a line, `symbols` all lines; `flatten` makes intervals of the ranges of a FUNC, `functions` its inline tree and rows,
//! `place` the pieces, and `frames` the rows of call frame information. All of them take time and memory in proportion to the file: the one
//! product, of inlined calls and their depth, has a budget.

mod flatten;
mod frames;
mod functions;
mod identity;
mod names;
mod place;
mod records;
mod registers;
mod symbols;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use self::identity::{NamedProgram, System};
use self::registers::{NamedRegisters, processor};
use self::symbols::{SymTables, quoted};
use crate::diagnostics::opening::{OpenDiagnostic, OpenDiagnosticKind};
use crate::diagnostics::{Diagnostics, Kind};
use crate::encode::{self, EncodeOptions, Encoded, ImageInfo, readable};
use crate::error::ConvertError;
use crate::model::{Keys, Program};
use crate::open::{Files, ProgramSource};
use crate::options::{Options, Progress, begin};
use crate::report::{Counts, OpenedProgram, Report, Step};

/// The first bytes of every Breakpad symbol file.
const MAGIC: &[u8] = b"MODULE ";

/// True if bytes are the beginning of a Breakpad symbol file.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// True if a program is a Breakpad symbol file. What cannot be read is none: opening it says why.
pub(crate) fn is_import(source: ProgramSource<'_>) -> bool {
    match source {
        ProgramSource::Bytes(_, bytes) => begins(bytes),
        ProgramSource::Path(path) => is_symbol_file(path),
    }
}

/// True if a file is a Breakpad symbol file.
pub fn is_symbol_file(path: &Path) -> bool {
    let mut head = [0; MAGIC.len()];
    // Before it is opened: opening a FIFO would wait for its writer.
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && begins(&head)
}

/// The import: reads the file, encodes it, and calls `write` with the result.
pub(crate) fn produce(
    source: ProgramSource<'_>,
    files: &Files,
    write: impl FnOnce(&Encoded) -> Result<(), ConvertError> + Send,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    let path = source.name();
    begin(progress, path, "open", 0)?;
    let mut report = Report::new(path);
    let began = Instant::now();
    let text = text(source, files)?;
    report.steps.open = Step::since(began);

    begin(progress, path, "read", text.len() as u64)?;
    let began = Instant::now();
    let mut diagnostics = Diagnostics::default();
    let symbols = read(path, text, &mut diagnostics)?;
    let (processor, named) = (processor(symbols.module.arch), identity::named(&symbols, text));
    report.opened(OpenedProgram {
        arch: processor.name,
        build_id: named.build_id.clone(),
        is_linked: true,
        notes: notes(&symbols, &named),
    });
    report.steps.read = Step::since(began);

    begin(progress, path, "place", 0)?;
    let began = Instant::now();
    let mut program = place::program(&symbols, options.remapped_paths(), &mut diagnostics);
    if options.unwind {
        program.unwind = NamedRegisters::of(&processor)
            .map(|registers| frames::rows(&symbols, &registers, text.len(), &mut diagnostics));
        if program.unwind.is_none() {
            for frame in &symbols.frames {
                diagnostics.add(Kind::InexpressibleFrame, frame.offset, || {
                    format!("no names of the registers of {} are known", processor.name)
                });
            }
        }
    }
    report.counts = Counts::of(&program.heads, &program.code);
    report.diagnostics.merge(diagnostics);
    report.steps.place = Step::since(began);

    begin(progress, path, "encode", 0)?;
    let began = Instant::now();
    if options.readable_names {
        program = readable::renamed(program);
    }
    let info = ImageInfo {
        build_id: named.build_id,
        machine: processor.machine,
        address_size: processor.address_size,
        big_endian: processor.big_endian,
        mach_o: identity::system(&symbols.module) == System::MachO,
        readable_names: options.readable_names,
        position_independent: true,
        ..ImageInfo::default()
    };
    let encoded = encoded(&program, &info, options, &mut report);
    let encoded = encoded.map_err(|error| ConvertError::Encode { path: path.to_owned(), error })?;
    report.steps.encode = Step::since(began);
    begin(progress, path, "write", 0)?;
    let began = Instant::now();
    write(&encoded)?;
    report.steps.write = Step::since(began);
    report.finish(encoded.stats, encoded.section_lens(), encoded.file_len());
    Ok(report)
}

fn encoded(
    program: &Program<'_>,
    info: &ImageInfo,
    options: &Options,
    report: &mut Report,
) -> Result<Encoded, encode::EncodeError> {
    let encoding =
        EncodeOptions { columns: false, name_index: options.name_index, demangle: options.demangle };
    let keys = Keys::default();
    let body = encode::body(program, info, &encoding, &|| ())?;
    report.decided(program, &keys);
    let record = report.record().encode();
    body.finish(program, &keys, Some((report.debug_info(), &record[..])))
}

/// What names the program of a file.
pub(crate) struct IdentifiedProgram {
    pub(crate) named: NamedProgram,
    /// Its name in MODULE.
    pub(crate) name: String,
    pub(crate) big_endian: bool,
    pub(crate) mach_o: bool,
}

/// The identity of the program, as [`crate::identify`] gives it.
pub(crate) fn identify(source: ProgramSource<'_>) -> Result<IdentifiedProgram, ConvertError> {
    let files = Files::new();
    let text = text(source, &files)?;
    let symbols = read(source.name(), text, &mut Diagnostics::default())?;
    Ok(IdentifiedProgram {
        named: identity::named(&symbols, text),
        name: program_name(&symbols),
        big_endian: processor(symbols.module.arch).big_endian,
        mach_o: identity::system(&symbols.module) == System::MachO,
    })
}

fn text<'f>(source: ProgramSource<'f>, files: &'f Files) -> Result<&'f [u8], ConvertError> {
    Ok(match source {
        ProgramSource::Bytes(_, bytes) => bytes,
        ProgramSource::Path(path) => files.map(path)?,
    })
}

fn read<'f>(
    path: &Path,
    text: &'f [u8],
    diagnostics: &mut Diagnostics,
) -> Result<SymTables<'f>, ConvertError> {
    let read = symbols::symbols(text, diagnostics);
    read.map_err(|(line, problem)| ConvertError::Breakpad { path: path.to_owned(), line, problem })
}

/// What the file says about its program, and that it is no program.
fn notes(symbols: &SymTables<'_>, named: &NamedProgram) -> Vec<OpenDiagnostic> {
    let module = &symbols.module;
    let [os, arch, id, name] = [module.os, module.arch, module.id, module.name].map(quoted);
    let first = format!("a Breakpad symbol file of {os} {arch} {id} {name}");
    let mut notes = vec![OpenDiagnostic { kind: OpenDiagnosticKind::Imported, count: 1, first }];
    if named.disagrees {
        let first = format!("{}; the identifier of MODULE counts", quoted(symbols.code_id));
        notes.push(OpenDiagnostic { kind: OpenDiagnosticKind::OtherCodeId, count: 1, first });
    }
    notes
}

/// The name of the program: that beside the CODE_ID, since the name in MODULE may be that of a PDB.
fn program_name(symbols: &SymTables<'_>) -> String {
    let names = [symbols.code_file, symbols.module.name];
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    String::from_utf8_lossy(&name[..name.len().min(MAX_NAME)]).into_owned()
}

/// Bytes of the name of a file, at most, as file systems have it.
const MAX_NAME: usize = 255;

//! `foldsym export`: writes a `.fsym` in the format of another tool.

use std::path::Path;
use std::sync::Arc;

use foldsym_demangle::demangle;
use foldsym_exchange::{BreakpadModule, ExportError, GsymVersion, Summary, write_breakpad, write_gsym};
use foldsym_lookup::{SymbolFile, flags};
use foldsym_store::{BuildId, text_id};
use foldsym_symbolize::{SymbolMap, Symbolizer};

use crate::args::Export;
use crate::io::failure::{Failure, complain, exit};
use crate::io::mapped::Mapped;

/// Writes the file, under another name first, which is then replaced.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Export) -> Result<u8, Failure> {
    let mapped = Mapped::open(&args.file)?;
    let file = crate::answer::open::open(&mapped)?;
    let readable_names = file.header().flags & flags::READABLE_NAMES != 0;
    if readable_names && !args.format.breakpad {
        // Linkage names are what distinguishes functions in this format.
        complain(&format!("{}: has readable names: the GSYM file has them too", args.file.display()));
    }
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let module = args.module.clone().unwrap_or(stem);
    let has_rows = matches!(file.unwind(), Ok(Some(_)));
    let lacks_id = args.format.breakpad && file.build_id().is_empty();
    // Converting the program takes long, so it is done only if something is missing.
    let program = args.program.as_deref().filter(|_| !has_rows || lacks_id);
    let converted = program.map(|program| unwinding(program, &args.file, &file)).transpose()?;
    let other = converted.as_ref().map(|map| map.file()).filter(|_| !has_rows);
    let derived = match program.filter(|_| lacks_id) {
        Some(program) => id_of_code(program)?,
        None => None,
    };
    if lacks_id && derived.is_none() {
        let how = match args.program {
            Some(_) => "and the program has no code to derive one from",
            None => "--program PROGRAM derives one from its code, as dump_syms does",
        };
        complain(&format!(
            "{}: no build id, so MODULE has an identifier of zeros; {how}",
            args.file.display()
        ));
    }
    let id = derived.as_ref().map_or(file.build_id(), |id| id.as_bytes());
    // `write_whole` passes on only an `io::Error`, so other errors leave the closure through this variable.
    let mut written = Ok(());
    let result = foldsym_convert::internal::write_whole(&args.output, |out| {
        let summary = match &args.format {
            format if format.gsym => write_gsym(&file, GsymVersion::V1, out),
            format if format.gsym2 => write_gsym(&file, GsymVersion::V2, out),
            _ => {
                let as_they_are = args.no_demangle || readable_names;
                breakpad((&file, id), other.unwrap_or(&file), &module, as_they_are, out)
            }
        };
        match summary {
            Ok(summary) => {
                left_out(args, &file, &summary);
                Ok(())
            }
            Err(ExportError::Write(error)) => Err(error),
            Err(error) => {
                written = Err(Failure {
                    message: format!("{}: {error}", args.file.display()),
                    code: exit::BAD_INPUT,
                });
                Err(std::io::ErrorKind::InvalidData.into())
            }
        }
    });
    written?;
    result.map_err(|error| Failure::input(&args.output, format!("cannot write: {error}")))?;
    Ok(0)
}

/// Says what the format has no room or no words for.
fn left_out(args: &Export, file: &SymbolFile<'_>, summary: &Summary) {
    let output = args.output.display();
    if summary.build_id_left_out {
        let bytes = file.build_id().len();
        complain(&format!("{output}: the build id has {bytes} bytes, version 1 of GSYM holds 20: left out"));
    }
    if summary.frame_rows_left_out > 0 {
        complain(&format!(
            "{output}: {} rows of call frame information have no words in this format: left out",
            summary.frame_rows_left_out
        ));
    }
    if summary.unnamed_left_out > 0 {
        complain(&format!(
            "{output}: {} ranges of code have no name, which GSYM needs: left out",
            summary.unnamed_left_out
        ));
    }
}

/// The program's rows of call frame information, for a file that was converted without them.
fn unwinding(program: &Path, file: &Path, of: &SymbolFile<'_>) -> Result<Arc<SymbolMap>, Failure> {
    let options = foldsym_convert::Options::default().with(|options| options.unwind = true);
    let engine = Symbolizer::builder().conversion(options).build();
    let engine = engine.map_err(|error| Failure { message: error.to_string(), code: exit::BAD_INPUT })?;
    let loaded = crate::answer::open::load(&engine, program)?.map;
    // With rows of another build, a stack walker would find wrong frames, and nothing would show that.
    let is_same = match (loaded.file().build_id(), of.build_id()) {
        (b"", b"") => has_same_layout(loaded.file(), of),
        (one, other) => one == other,
    };
    if !is_same {
        return Err(Failure::input(program, format!("is of another build than {}", file.display())));
    }
    Ok(loaded)
}

/// Without build ids: whether two programs are loaded alike, section by section. Their rows of call frame information then cover the
/// same code.
fn has_same_layout(one: &SymbolFile<'_>, other: &SymbolFile<'_>) -> bool {
    let (first, second) = (one.header(), other.header());
    let is_same_machine = (first.machine, first.image_base) == (second.machine, second.image_base);
    let segments = |file: &SymbolFile<'_>| file.records().segments().map(Iterator::collect::<Vec<_>>);
    is_same_machine
        && segments(one) == segments(other)
        && one.records().program_sections().eq(other.records().program_sections())
}

/// The identity that Breakpad derives from the code of a program without a build id.
fn id_of_code(program: &Path) -> Result<Option<BuildId>, Failure> {
    let identity = foldsym_convert::identify(program, &foldsym_convert::Options::default())?;
    Ok(text_id(&identity.text))
}

fn breakpad(
    (file, id): (&SymbolFile<'_>, &[u8]),
    unwinding: &SymbolFile<'_>,
    name: &str,
    as_they_are: bool,
    out: &mut dyn std::io::Write,
) -> Result<Summary, ExportError> {
    // Breakpad's names of systems.
    let os = if file.header().flags & flags::MACH_O != 0 { "mac" } else { "Linux" };
    let big_endian = file.header().flags & flags::BIG_ENDIAN != 0;
    let debug_id = debug_id(id, file.header().flags & flags::MACH_O != 0, big_endian);
    let module = BreakpadModule { name, os, debug_id: &debug_id };
    let readable = |bytes: &[u8]| if as_they_are { None } else { demangle(bytes) };
    write_breakpad(file, &module, &readable, unwinding.unwind()?.as_ref(), out)
}

/// Breakpad's identifier: the first 16 bytes of the build id as a GUID, whose first three fields are numbers in the byte
/// order of the program, and the age 0. A UUID of Mach-O has its bytes in the order in which they are printed.
fn debug_id(id: &[u8], mach_o: bool, big_endian: bool) -> String {
    let mut guid = [0; 16];
    for (to, from) in guid.iter_mut().zip(id) {
        *to = *from;
    }
    if !mach_o && !big_endian {
        guid[..4].reverse();
        guid[4..6].reverse();
        guid[6..8].reverse();
    }
    let digits: String = guid.iter().map(|byte| format!("{byte:02X}")).collect();
    digits + "0"
}

#[cfg(test)]
mod tests {
    use super::debug_id;

    #[test]
    fn identifiers_of_breakpad() {
        let id: Vec<u8> = (1..=20).collect();
        assert_eq!(debug_id(&id, false, false), "0403020106050807090A0B0C0D0E0F100");
        assert_eq!(debug_id(&id[..16], true, false), "0102030405060708090A0B0C0D0E0F100");
        assert_eq!(debug_id(&[], false, false), "0".repeat(33));
    }
}

//! `foldsym symbolize --pprof`, `--otlp`: turns a profile into the same profile with functions and lines.

use std::path::Path;

use foldsym_reports::{Format, Options, otlp as profiles_of_otlp, pprof as profiles_of_pprof};
use foldsym_symbolize::Symbolizer;

use super::report_bytes::read;
use crate::args::Symbolize;
use crate::io::failure::{Failure, complain, exit};
use crate::io::output::Output;

/// Writes a file under another name first, which is then renamed.
#[cfg(feature = "convert")]
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = foldsym_convert::internal::write_whole(path, |file| std::io::Write::write_all(file, bytes));
    written.map_err(|error| Failure::input(path, error))
}

#[cfg(not(feature = "convert"))]
fn write_whole(_: &Path, _: &[u8]) -> Result<(), Failure> {
    Err(crate::commands::absent::needs_converter("--pprof FILE, --otlp FILE"))
}

fn failed(path: &Path, message: &str) -> Failure {
    Failure { message: format!("{}: {message}", path.display()), code: exit::BAD_INPUT }
}

fn only<'a>(args: &'a Symbolize, option: &str) -> Result<&'a Path, Failure> {
    match args.inputs.as_slice() {
        [input] => Ok(input),
        _ => Err(Failure::usage(format!("{option}: takes one profile"))),
    }
}

fn put(out: &Path, bytes: Vec<u8>) -> Result<(), Failure> {
    if out.as_os_str() == "-" {
        let mut output = Output::new();
        output.text = bytes;
        output.flush()?;
        return Ok(());
    }
    write_whole(out, &bytes)
}

fn tell(input: &Path, written: profiles_of_pprof::Rewritten, symbolizer: &Symbolizer) {
    complain(&format!(
        "{}: {} of {} frames have functions; {} locations were added{}",
        input.display(),
        written.named,
        written.frames,
        written.locations_added,
        match written.kept {
            0 => String::new(),
            kept => format!("; {kept} other frames keep the names that the profile had"),
        }
    ));
    crate::answer::open::tell_unused(symbolizer);
}

/// Writes one profile of pprof back with names.
pub(super) fn pprof(
    args: &Symbolize,
    out: &Path,
    symbolizer: &Symbolizer,
    options: &Options,
) -> Result<u8, Failure> {
    let input = only(args, "--pprof")?;
    let parse = |bytes: &[u8], _| {
        profiles_of_pprof::Profile::parse(bytes, options).map_err(|error| error.to_string())
    };
    // Named, so that the bytes are read whatever they begin with.
    let profile = read(input, Some(Format::Pprof), parse).map_err(|message| failed(input, &message))?;
    let mut bytes = Vec::new();
    let written = profile.rewrite(&mut symbolizer.worker(), &mut bytes);
    let written = written.map_err(|error| failed(out, &error.to_string()))?;
    put(out, bytes)?;
    tell(input, written, symbolizer);
    // By a name alone a store finds a file only if it has one build of that name.
    let nameless = profile.modules_without_id();
    if written.named < written.frames && nameless > 0 {
        complain(&format!(
            "{}: {nameless} of its modules have no build id (gperftools writes none), so that a store finds them only by a name that one build has: give their programs, --search PROGRAM",
            input.display()
        ));
    }
    Ok(0)
}

/// Writes one profile of OpenTelemetry back with names.
pub(super) fn otlp(
    args: &Symbolize,
    out: &Path,
    symbolizer: &Symbolizer,
    options: &Options,
) -> Result<u8, Failure> {
    let input = only(args, "--otlp")?;
    let parse = |bytes: &[u8], _| {
        profiles_of_otlp::Profiles::parse(bytes, options).map_err(|error| error.to_string())
    };
    let profiles = read(input, Some(Format::Otlp), parse).map_err(|message| failed(input, &message))?;
    let mut bytes = Vec::new();
    let written = profiles.rewrite(&mut symbolizer.worker(), &mut bytes, |_| true);
    let written = written.map_err(|error| failed(input, &error.to_string()))?;
    put(out, bytes)?;
    tell(input, written, symbolizer);
    Ok(0)
}

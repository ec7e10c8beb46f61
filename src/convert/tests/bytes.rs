//! Conversion from memory to a writer: the bytes that a conversion of files writes, and no file opened but those.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use foldsym_convert::report::{DebugInfo, Kind, WarningKind};
use foldsym_convert::{ConvertError, NoProgress, Options, Progress, convert, convert_bytes, convert_to};

fn built(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built").join(name)
}

#[test]
fn the_bytes_are_those_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (built("demo.elf"), folder.path().join("demo.fsym"));
    let options = Options::default().with(|options| options.columns = true);
    convert(&input, &output, &options, &NoProgress).unwrap();
    let file = std::fs::read(&output).unwrap();
    let bytes = std::fs::read(&input).unwrap();
    let (mut of_bytes, mut of_path) = (Vec::new(), Vec::new());
    let report = convert_bytes(&input, &bytes, &mut of_bytes, &options, &NoProgress).unwrap();
    convert_to(&input, &mut of_path, &options, &NoProgress).unwrap();
    assert!(of_bytes == file && of_path == file);
    assert_eq!((report.debug_info(), report.file_len), (DebugInfo::Full, file.len() as u64));
}

/// The program lies beside its `.dwo` files, and names them.
#[test]
fn no_other_file_is_opened() {
    let input = built("split.clang-dwarf5.set/split");
    let bytes = std::fs::read(&input).unwrap();
    let options = Options::default();
    let whole = convert_to(&input, &mut io::sink(), &options, &NoProgress).unwrap();
    let alone = convert_bytes(&input, &bytes, &mut io::sink(), &options, &NoProgress).unwrap();
    assert_eq!((whole.debug_info(), alone.debug_info()), (DebugInfo::Full, DebugInfo::Lines));
    assert_eq!(alone.diagnostics.count(Kind::MissingDwo), 2);
    assert_eq!(alone.warnings()[0].kind, WarningKind::MissingDwo);
    let stripped = std::fs::read(built("split.clang-dwarf5.set/stripped")).unwrap();
    let path = built("split.clang-dwarf5.set/stripped");
    let alone = convert_bytes(&path, &stripped, &mut io::sink(), &options, &NoProgress).unwrap();
    assert_eq!(alone.debug_info(), DebugInfo::None);
}

/// A store compares files by the record in them.
#[test]
fn the_record_says_what_the_report_says_of_losses() {
    let options = Options::default();
    let programs = [
        "demo.elf",
        "split.clang-dwarf5.set/split",
        "split.clang-dwarf5.set/stripped",
        "inline.clang-only-keep-debug",
        "inline.clang-symbols-only",
        "call_tables.damaged",
        "dwz.c-dwarf5.set/program",
    ];
    let mut levels = Vec::new();
    for input in programs.map(built).iter().filter(|path| path.exists()) {
        let bytes = std::fs::read(input).unwrap();
        for report in [
            convert_to(input, &mut io::sink(), &options, &NoProgress).unwrap(),
            convert_bytes(input, &bytes, &mut io::sink(), &options, &NoProgress).unwrap(),
        ] {
            let record = report.record();
            assert_eq!(record.lost(), report.lost(), "{}", input.display());
            assert_eq!(record.debug_info(), report.debug_info());
            assert_eq!(record.has_code(), report.warnings().iter().all(|of| of.kind != WarningKind::NoCode));
            levels.push(report.debug_info());
        }
    }
    assert!(DebugInfo::ALL.iter().all(|level| levels.contains(level)), "{levels:?}");
}

/// Wants the result until a step has begun.
struct Until(&'static str, Mutex<Vec<&'static str>>);

impl Progress for Until {
    fn step(&self, name: &'static str, _: u64) {
        self.1.lock().unwrap().push(name);
    }

    fn advance(&self, _: u64) {}

    fn is_cancelled(&self) -> bool {
        self.1.lock().unwrap().last() == Some(&self.0)
    }
}

#[test]
fn a_conversion_that_nobody_wants_ends_before_its_next_step() {
    let (input, steps) = (built("demo.elf"), ["open", "read", "recover", "place", "encode", "write"]);
    for (at, step) in steps.into_iter().enumerate() {
        let (until, mut out) = (Until(step, Mutex::default()), Vec::new());
        let ended = convert_to(&input, &mut out, &Options::default(), &until);
        assert_eq!(*until.1.lock().unwrap(), steps[..=at]);
        // Nothing comes after the last step.
        if step == "write" {
            assert!(ended.is_ok() && !out.is_empty());
        } else {
            assert!(
                matches!(ended, Err(ConvertError::Cancelled { path }) if path == input) && out.is_empty()
            );
        }
    }
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("full"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_the_writer_comes_back() {
    let bytes = std::fs::read(built("demo.elf")).unwrap();
    let error =
        convert_bytes(Path::new("demo"), &bytes, &mut Full, &Options::default(), &NoProgress).unwrap_err();
    assert!(matches!(error, ConvertError::Write { .. }) && error.to_string() == "demo: cannot write: full");
    let error = convert_bytes(Path::new("text"), b"hello", &mut Full, &Options::default(), &NoProgress);
    assert!(error.unwrap_err().to_string().starts_with("text: begins with "));
}

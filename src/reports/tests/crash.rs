//! A minidump that `minidump-writer` wrote, and cores that gdb writes at test time, of a program that crashes in a folded function.

use std::path::{Path, PathBuf};
use std::process::Command;

use foldsym_reports::{Format, Options, Report, Trust, read, read_with};
use foldsym_symbolize::{Certainty, Frame, Kind, Stack, Symbolizer};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports").join(name)
}

fn symbolizer(search: &[PathBuf]) -> Symbolizer {
    Symbolizer::builder().search(search).build().unwrap()
}

fn dump() -> Vec<u8> {
    std::fs::read(file("crash.dmp")).unwrap()
}

/// The call chain of the source, which `crash.cpp` has one way to take.
const CHAIN: [&str; 6] =
    ["write_to_target(int)", "save_world(int)", "twice(int)", "store(int)", "level(int)", "main"];

/// The crashed thread's functions in the program itself, innermost first.
fn chain(report: &Report, symbolizer: &Symbolizer) -> (Vec<String>, Vec<Frame>) {
    let thread = report.threads.iter().find(|thread| thread.crashed).unwrap();
    let frames = symbolizer.symbolize(&Stack::new(report.modules_of(thread), thread.frames.clone()));
    let names =
        frames.iter().flat_map(|frame| &frame.functions).map(|location| location.function.to_string());
    (names.take(CHAIN.len()).collect(), frames)
}

#[test]
fn a_minidump_is_walked_and_its_folded_function_is_exact() {
    let symbolizer = symbolizer(&[file("crash")]);
    let report = read(&dump(), &symbolizer).unwrap();
    assert_eq!(report.format, Format::Minidump);
    assert_eq!((report.reason.as_str(), report.crash_address), ("SIGSEGV / SEGV_MAPERR", Some(0)));
    let (names, frames) = chain(&report, &symbolizer);
    assert_eq!(names, CHAIN);
    assert_eq!(frames[1].certainty, Some(Certainty::Exact));
    assert_eq!(frames[1].candidate_count, Some(1));
    let crashed = &report.threads[0];
    assert_eq!(crashed.trust[..5], [Trust::Context, Trust::Cfi, Trust::Cfi, Trust::Cfi, Trust::Cfi]);
    assert_eq!((crashed.frames[0].kind, crashed.frames[1].kind), (Kind::Exact, Kind::Return));
    assert_eq!(report.threads.len(), 2);
}

#[test]
fn without_programs_guesses_are_marked() {
    let report = read(&dump(), &symbolizer(&[])).unwrap();
    let thread = &report.threads[0];
    assert_eq!(thread.frames.len(), thread.trust.len());
    assert_eq!(thread.trust[0], Trust::Context);
    assert!(!thread.trust.contains(&Trust::Cfi));
    let scans = thread.trust.iter().enumerate().filter(|(_, trust)| **trust == Trust::Scan);
    for (index, _) in scans {
        assert_eq!(thread.trust[index - 1], Trust::Gap);
    }
}

#[test]
fn cut_and_changed_minidumps_are_errors_or_less() {
    let (whole, none) = (dump(), symbolizer(&[]));
    for end in (0..whole.len()).step_by(997).chain(0..64) {
        let _ = read_with(&whole[..end], &none, &Options::default());
    }
    // Sizes and places of streams that are not there.
    for at in (0..2048).step_by(4) {
        let mut changed = whole.clone();
        changed[at..at + 4].fill(0xff);
        let _ = read(&changed, &none);
    }
    let mut version = whole.clone();
    version[4] ^= 0x55;
    let error = read(&version, &none).unwrap_err().to_string();
    assert_eq!(error, "minidump: header: Minidump version mismatch");
}

#[test]
fn a_core_is_walked_as_gdb_walks_it() {
    let folder = tempfile::tempdir().unwrap();
    let core = folder.path().join("core");
    let program = file("crash");
    let ran = Command::new("gdb")
        .args(["-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "run", "-ex"])
        .arg(format!("generate-core-file {}", core.display()))
        .args(["-ex", "bt"])
        .arg(&program)
        .output();
    let Some(ran) = ran.ok().filter(|_| core.exists()) else {
        assert!(std::env::var_os("CI").is_none(), "needs gdb");
        return println!("skipped: needs gdb");
    };
    let symbolizer = symbolizer(std::slice::from_ref(&program));
    let bytes = std::fs::read(&core).unwrap();
    let report = read(&bytes, &symbolizer).unwrap();
    assert_eq!((report.format, report.reason.as_str()), (Format::ElfCore, "SIGSEGV"));
    let (names, frames) = chain(&report, &symbolizer);
    assert_eq!(names, CHAIN);
    assert_eq!(frames[1].certainty, Some(Certainty::Exact));
    // gdb prints addresses of all frames but the first of a line and inlined ones.
    let text = String::from_utf8_lossy(&ran.stdout);
    for frame in &frames[1..2] {
        let address = format!("{:#018x}", frame.address.unwrap());
        assert!(text.contains(&address), "{address} {text}");
    }
    for end in (0..bytes.len().min(1 << 16)).step_by(1013) {
        let _ = read(&bytes[..end], &symbolizer);
    }
}

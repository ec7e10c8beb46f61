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

/// By the rows of a file, as out of a store, where no program is at hand; frame by frame as by the program itself.
#[test]
fn a_file_with_rows_walks_as_the_program_does() {
    let folder = tempfile::tempdir().unwrap();
    let convert = |name: &str, unwind| {
        let output = folder.path().join(name);
        let mut options = foldsym_convert::Options::default();
        (options.threads, options.unwind) = (1, unwind);
        foldsym_convert::convert(&file("crash"), &output, &options, &foldsym_convert::NoProgress).unwrap();
        symbolizer(&[output])
    };
    let (with, without) = (convert("with.fsym", true), convert("without.fsym", false));
    let of_program = read(&dump(), &symbolizer(&[file("crash")])).unwrap();
    let of_rows = read(&dump(), &with).unwrap();
    for (one, other) in of_program.threads.iter().zip(&of_rows.threads) {
        assert_eq!((&one.frames, &one.trust), (&other.frames, &other.trust));
    }
    let (names, frames) = chain(&of_rows, &with);
    assert_eq!(names, CHAIN);
    assert_eq!(frames[1].certainty, Some(Certainty::Exact));
    let guessed = read(&dump(), &without).unwrap();
    assert!(!guessed.threads[0].trust.contains(&Trust::Cfi), "{:?}", guessed.threads[0].trust);
}

/// A caller that was guessed proves nothing of the frame inside of it: what call frame information makes exact is not, found by a frame pointer or
/// by scanning.
#[test]
fn each_kind_of_trust_weakens_the_verdict() {
    let symbolizer = symbolizer(&[file("crash")]);
    let report = read(&dump(), &symbolizer).unwrap();
    let sure = &report.threads[0];
    assert_eq!(sure.trust[1..3], [Trust::Cfi, Trust::Cfi]);
    let certainty = |frames: &[foldsym_symbolize::StackFrame], at: usize| {
        let stack = Stack::new(report.modules_of(sure), frames.to_vec());
        symbolizer.symbolize(&stack)[at].certainty
    };
    assert_eq!(certainty(&sure.frames, 1), Some(Certainty::Exact));
    // The same frames without rows: the engine finds the names, the walk has to guess.
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("crash.fsym");
    let options = foldsym_convert::Options { threads: 1, ..foldsym_convert::Options::default() };
    foldsym_convert::convert(&file("crash"), &output, &options, &foldsym_convert::NoProgress).unwrap();
    let only_names = self::symbolizer(&[output]);
    let guessed = read(&dump(), &only_names).unwrap();
    let guess = &guessed.threads[0];
    let mut met = Vec::new();
    for (at, trust) in guess.trust.iter().enumerate() {
        if !matches!(trust, Trust::Scan | Trust::FramePointer) {
            continue;
        }
        assert_eq!(
            (guess.trust[at - 1], guess.frames[at - 1]),
            (Trust::Gap, foldsym_symbolize::StackFrame::UNKNOWN)
        );
        met.push(*trust);
    }
    assert!(met.contains(&Trust::Scan) || met.contains(&Trust::FramePointer), "{:?}", guess.trust);
    // With a gap in front of its caller the folded frame is not exact any more.
    let mut gap = sure.frames.clone();
    gap.insert(2, foldsym_symbolize::StackFrame::UNKNOWN);
    assert_eq!(certainty(&gap, 1), Some(Certainty::Ambiguous));
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

//! Small reports that refer to the same bytes many times: the cost of reading them is bounded by their size.
#![cfg(feature = "unwind")]

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::{STACK, core, core_of_notes, dump_of_names, dump_of_threads};
use foldsym_reports::{Options, Reader, Report, ReportError, read, read_with};
use foldsym_symbolize::Symbolizer;

fn none() -> Symbolizer {
    Symbolizer::builder().build().unwrap()
}

fn frames(report: &Report) -> usize {
    report.threads.iter().map(|thread| thread.frames.len()).sum()
}

/// Stacks may follow each other without a line between them: each gets the title above the first.
#[test]
fn stacks_under_one_long_heading() {
    for letter in ["h", "\u{20ac}"] {
        let log = format!("{}\n{}", letter.repeat(100_000), "#0 0x1 (a+0x1)\n".repeat(1000));
        let report = read(log.as_bytes(), &none()).unwrap();
        assert_eq!(report.threads.len(), 1000);
        let names: usize = report.threads.iter().map(|thread| thread.name.len()).sum();
        assert!((1000..=1_024_000).contains(&names), "{names}");
    }
}

#[test]
fn modules_and_threads_that_share_one_name() {
    let whole = read(&dump_of_names(100, 20, 20), &none()).unwrap();
    assert_eq!((whole.modules.len(), whole.modules[0].name.len()), (20, 100));
    assert_eq!(whole.threads[0].name, "a".repeat(100));
    for (modules, threads) in [(1000, 0), (0, 1000)] {
        let dump = dump_of_names(100_000, modules, threads);
        assert!(dump.len() < 400_000);
        let error = read(&dump, &none()).unwrap_err().to_string();
        assert!(
            error.starts_with("minidump: streams 4 and 24: ") && error.ends_with("share them"),
            "{error}"
        );
    }
}

/// Each frame of an answer repeats the name of its module.
#[test]
fn a_name_of_a_module_is_no_longer_than_a_path() {
    let name = "n".repeat(200_000);
    let json = format!("{{\"modules\":[{{\"name\":\"{name}\",\"base\":16}}],\"frames\":[17]}}");
    for report in [json, format!("#0 0x1 (/{name}+0x1)\n"), format!("a 1 1.1: x\n 1 f (/{name})\n")] {
        let report = read(report.as_bytes(), &none()).unwrap();
        let names: Vec<usize> = report.modules.iter().map(|module| module.name.len()).collect();
        assert!(names.iter().all(|len| *len <= 4096), "{names:?}");
    }
}

/// A chain of frame pointers of 6,000 frames, which 100 threads share.
fn shared_stack() -> Vec<u8> {
    deep_stack(100)
}

fn deep_stack(threads: usize) -> Vec<u8> {
    let stack: Vec<u64> = (0..6000).flat_map(|nth| [STACK + 16 * (nth + 2), 0x40_1000]).collect();
    let stack = [&[0, 0], &stack[..]].concat();
    core(threads, 0x40_1000, &stack, (0x100_0000, 0x100_1000), "/a")
}

#[test]
fn threads_that_share_one_stack() {
    let bytes = shared_stack();
    let report = read(&bytes, &none()).unwrap();
    assert_eq!(report.threads.len(), 100);
    assert!(report.threads[0].frames.len() > 6000, "{}", report.threads[0].frames.len());
    // The gap before each frame that a frame pointer found is not a frame.
    assert!(frames(&report) <= 2 * (1 << 16) + 200, "{}", frames(&report));
    let told = |text: &str| report.warnings.iter().filter(|warning| warning.contains(text)).count();
    assert_eq!(told("at most 65536 frames"), 1, "{:?}", report.warnings);
    assert!(told("was not walked to its end") > 80);
}

/// Little memory divides a walk into parts of few frames, and loses none.
#[test]
fn a_part_of_a_walk_that_is_full_leads_to_the_next() {
    let (bytes, symbolizer) = (deep_stack(1), none());
    let mut options = Options::default();
    let whole = read_with(&bytes, &symbolizer, &options).unwrap();
    options.memory = Some(1);
    let parts = read_with(&bytes, &symbolizer, &options).unwrap();
    assert!(whole.threads[0].frames.len() > 6000, "{}", whole.threads[0].frames.len());
    assert_eq!(parts.threads[0].frames, whole.threads[0].frames);
    assert_eq!(parts.threads[0].trust, whole.threads[0].trust);
}

#[test]
fn headers_that_name_the_same_notes() {
    let one = read(&core_of_notes(1, 1000), &none()).unwrap();
    assert_eq!(one.threads.len(), 1);
    let error = read(&core_of_notes(1000, 100_000), &none()).unwrap_err().to_string();
    assert!(
        error.starts_with("core: notes at offset 0x")
            && error.ends_with("more notes than the file has bytes"),
        "{error}"
    );
}

#[test]
fn reading_ends_when_nobody_waits() {
    let symbolizer = none();
    let reader = Reader::new(&symbolizer);
    let asked = AtomicUsize::new(0);
    let dump = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reports/crash.dmp")).unwrap();
    for bytes in [shared_stack(), dump] {
        asked.store(0, Ordering::Relaxed);
        let is_wanted = || asked.fetch_add(1, Ordering::Relaxed) < 2;
        let error = reader.read_while(&bytes, &Options::default(), &is_wanted).unwrap_err();
        assert!(matches!(error, ReportError::Stopped), "{error}");
        assert!(asked.load(Ordering::Relaxed) < 2000);
        let error = reader.read_while(&bytes, &Options::default(), &|| false).unwrap_err();
        assert!(matches!(error, ReportError::Stopped), "{error}");
    }
}

/// The words of a stack are scanned for callers. Here no word is one, and all threads scan the same stack.
#[test]
fn threads_that_scan_one_stack() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/golden/demo.fsym");
    let symbolizer = Symbolizer::builder().search([demo]).build().unwrap();
    // There is no function at this address of the module.
    let bytes = dump_of_threads(10_000, &[0x20_0001; 400], "/opt/demo", 0x20_0000);
    let asked = AtomicUsize::new(0);
    let is_wanted = || {
        asked.fetch_add(1, Ordering::Relaxed);
        true
    };
    let reader = Reader::new(&symbolizer);
    let report = reader.read_while(&bytes, &Options::default(), &is_wanted).unwrap();
    assert_eq!(report.threads.len(), 10_000);
    let told = |text: &str| report.warnings.iter().filter(|warning| warning.contains(text)).count();
    assert_eq!(told("too many words of stacks were scanned"), 1, "{:?}", &report.warnings[..1]);
    // Four words for each frame that the report may have; the others are not looked up.
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked > 4 * (1 << 16), "{asked}");
}

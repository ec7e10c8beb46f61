//! What must hold of reports: an error is one line that names its format; a report's frames can be answered; and of a profile, that what was
//! rewritten says the same of every sample.

use std::path::PathBuf;
use std::sync::OnceLock;

use foldsym_convert::{NoProgress, convert};
use foldsym_reports::{Format, Options, Report, pprof, read_with};
use foldsym_symbolize::{Stack, Symbolizer};

fn read(input: &[u8], format: Format, symbolizer: &Symbolizer) -> Option<Report> {
    let mut options = Options::default();
    options.format = Some(format);
    // What is of this format for the caller may be of another by its content; that must not fail either.
    let _ = Format::of(input);
    match read_with(input, symbolizer, &options) {
        Ok(report) => Some(report),
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with(&format!("{}: ", format.text())) && !text.contains('\n'), "{text}");
            None
        }
    }
}

/// Asks the engine for every frame; how many it names.
fn check(report: &Report, symbolizer: &Symbolizer) -> usize {
    let mut named = 0;
    for thread in &report.threads {
        assert!(thread.trust.is_empty() || thread.trust.len() == thread.frames.len());
        let stack = Stack::new(report.modules_of(thread), thread.frames.clone());
        let frames = symbolizer.symbolize(&stack);
        assert_eq!(frames.len(), thread.frames.len());
        named += frames.iter().filter(|frame| !frame.functions.is_empty()).count();
    }
    named
}

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../src/reports/tests/reports")
}

/// An engine that finds the programs which the seeds are of, with what unwinds them: it is made once.
fn symbolizer() -> &'static Symbolizer {
    static MADE: OnceLock<(tempfile::TempDir, Symbolizer)> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let files = tempfile::tempdir().expect("a folder for temporary files");
        let mut options = foldsym_convert::Options::default();
        (options.threads, options.unwind) = (1, true);
        let converted = ["crash", "mail"].map(|program| {
            let output = files.path().join(program).with_extension("fsym");
            convert(&folder().join(program), &output, &options, &NoProgress).expect("a sound program");
            output
        });
        let symbolizer = Symbolizer::builder().search(converted).build().expect("an engine");
        (files, symbolizer)
    });
    &made.1
}

/// Fails unless the functions of a seed are found: else no mutation of it reaches the code that names and unwinds.
pub fn has_names(input: &[u8], format: Format) {
    let report = read(input, format, symbolizer()).expect("a sound report");
    assert!(check(&report, symbolizer()) > 1, "{}: the seed names no functions", format.text());
}

pub fn core(input: &[u8]) {
    if let Some(report) = read(input, Format::ElfCore, symbolizer()) {
        check(&report, symbolizer());
    }
}

pub fn minidump(input: &[u8]) {
    if let Some(report) = read(input, Format::Minidump, symbolizer()) {
        check(&report, symbolizer());
    }
}

pub fn profile(input: &[u8]) {
    let symbolizer = symbolizer();
    let Some(report) = read(input, Format::Pprof, symbolizer) else { return };
    check(&report, symbolizer);
    let profile = pprof::Profile::parse(input, &Options::default()).expect("it was read before");
    let mut written = Vec::new();
    profile.rewrite(&mut symbolizer.worker(), &mut written).expect("memory takes all");
    let again = pprof::Profile::parse(&written, &Options::default()).expect("what was written").report();
    assert_eq!(again.value_types, report.value_types);
    assert_eq!(again.threads.len(), report.threads.len());
    for (one, other) in report.threads.iter().zip(&again.threads) {
        assert_eq!((&one.values, &one.frames), (&other.values, &other.frames));
    }
}

/// A core of one thread, with memory of its stack, the first page of the program and a list of mapped files.
pub fn seed_core(program: &[u8]) -> Vec<u8> {
    let note = |kind: u32, desc: &[u8]| {
        let mut bytes = [5u32.to_le_bytes(), (desc.len() as u32).to_le_bytes(), kind.to_le_bytes()].concat();
        bytes.extend(b"CORE\0\0\0\0");
        bytes.extend(desc);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let mut status = vec![0; 336];
    (status[12], status[32]) = (11, 7);
    // rip, rsp and rbp of `user_regs_struct`.
    for (register, value) in [(16usize, 0x40_1a00u64), (19, 0x7000), (4, 0x7010)] {
        status[112 + register * 8..][..8].copy_from_slice(&value.to_le_bytes());
    }
    let mut files: Vec<u8> =
        [1u64, 4096, 0x40_0000, 0x40_3000, 0].iter().flat_map(|one| one.to_le_bytes()).collect();
    files.extend(b"/opt/crash\0");
    let notes = [note(1, &status), note(0x4649_4c45, &files), note(0x5349_4749, &[11; 128])].concat();
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([4, 0, 62, 0, 1, 0, 0, 0]);
    bytes.extend([0; 8]);
    bytes.extend(64u64.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    let mut header = |kind: u32, offset: usize, address: u64, len: usize, size: u64| {
        bytes.extend([kind, 7].iter().flat_map(|one| one.to_le_bytes()));
        let words = [offset as u64, address, 0, len as u64, size, 4];
        bytes.extend(words.iter().flat_map(|one| one.to_le_bytes()));
    };
    // Return addresses in `save_world`, `store` and `level`, each above what its callee saved.
    let stack: Vec<u8> = [0x40_1a28u64, 0, 0x40_1a38, 0, 0x40_1a92, 0, 0, 0]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    let page = &program[..program.len().min(0x910)];
    let first = 64 + 3 * 56;
    header(4, first, 0, notes.len(), 0);
    header(1, first + notes.len(), 0x7000, stack.len(), stack.len() as u64);
    header(1, first + notes.len() + stack.len(), 0x40_0000, page.len(), 0x3000);
    bytes.extend(notes);
    bytes.extend(stack);
    bytes.extend(page);
    bytes
}

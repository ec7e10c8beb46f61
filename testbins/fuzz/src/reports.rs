//! What must hold of reports: an error is one line that names its format; a report's frames can be answered; and of a profile, that what was
//! rewritten says the same of every sample.

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

fn check(report: &Report, symbolizer: &Symbolizer) {
    for thread in &report.threads {
        assert!(thread.trust.is_empty() || thread.trust.len() == thread.frames.len());
        let stack = Stack::new(report.modules_of(thread), thread.frames.clone());
        assert_eq!(symbolizer.symbolize(&stack).len(), thread.frames.len());
    }
}

fn symbolizer() -> Symbolizer {
    Symbolizer::builder().build().expect("an engine without files")
}

pub fn core(input: &[u8]) {
    let symbolizer = symbolizer();
    if let Some(report) = read(input, Format::ElfCore, &symbolizer) {
        check(&report, &symbolizer);
    }
}

pub fn minidump(input: &[u8]) {
    let symbolizer = symbolizer();
    if let Some(report) = read(input, Format::Minidump, &symbolizer) {
        check(&report, &symbolizer);
    }
}

pub fn profile(input: &[u8]) {
    let symbolizer = symbolizer();
    let Some(report) = read(input, Format::Pprof, &symbolizer) else { return };
    check(&report, &symbolizer);
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

/// A core of one thread, with memory of its stack and a list of mapped files.
pub fn seed_core() -> Vec<u8> {
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
    for (register, value) in [(16usize, 0x40_1000u64), (19, 0x7000), (4, 0x7010)] {
        status[112 + register * 8..][..8].copy_from_slice(&value.to_le_bytes());
    }
    let mut files: Vec<u8> =
        [1u64, 4096, 0x40_0000, 0x40_2000, 0].iter().flat_map(|one| one.to_le_bytes()).collect();
    files.extend(b"/opt/app\0");
    let notes = [note(1, &status), note(0x4649_4c45, &files), note(0x5349_4749, &[11; 128])].concat();
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([4, 0, 62, 0, 1, 0, 0, 0]);
    bytes.extend([0; 8]);
    bytes.extend(64u64.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    let mut header = |kind: u32, offset: u64, address: u64, len: u64| {
        bytes.extend([kind, 6].iter().flat_map(|one| one.to_le_bytes()));
        bytes.extend([offset, address, 0, len, len, 4].iter().flat_map(|one| one.to_le_bytes()));
    };
    let stack: Vec<u8> = [0x7020u64, 0x40_1100, 0x7030, 0x40_1200, 0, 0, 0, 0]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    header(4, 176, 0, notes.len() as u64);
    header(1, 176 + notes.len() as u64, 0x7000, stack.len() as u64);
    bytes.extend(notes);
    bytes.extend(stack);
    bytes
}

//! Truncated or wrong cores. Whole cores are in `tests/formats/crash.rs`.

use super::*;

fn read_bytes(bytes: &[u8]) -> Result<Report, ReportError> {
    let symbolizer = foldsym_symbolize::Symbolizer::builder().build().unwrap();
    crate::Reader::new(&symbolizer)
        .read(bytes, &Options { format: Some(Format::ElfCore), ..Options::default() })
}

/// A header with one program header, of notes.
fn with_notes(notes: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([4, 0, 62, 0, 1, 0, 0, 0]);
    bytes.extend([0; 8]);
    bytes.extend(64u64.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend([4, 0, 0, 0, 0, 0, 0, 0]);
    for number in [120u64, 0, 0, notes.len() as u64, 0, 4] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(notes);
    bytes
}

fn note(kind: u32, desc: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(5u32.to_le_bytes());
    bytes.extend((desc.len() as u32).to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(b"CORE\0\0\0\0");
    bytes.extend(desc);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[test]
fn a_thread_without_memory_is_one_frame() {
    let mut status = vec![0; 336];
    status[12] = 11;
    status[32] = 7;
    status[112 + 16 * 8] = 0x10;
    let report = read_bytes(&with_notes(&note(NT_PRSTATUS, &status))).unwrap();
    assert_eq!((report.threads[0].id, report.threads[0].crashed), (Some(7), true));
    assert_eq!(report.threads[0].frames, [foldsym_symbolize::StackFrame::exact(0x10)]);
    assert_eq!(report.reason, "SIGSEGV");
    assert!(report.warnings.iter().any(|warning| warning.contains("NT_FILE")), "{:?}", report.warnings);
}

/// The code of the signal counts only if the note is about the signal that the thread received.
#[test]
fn a_signal_has_its_code_and_address() {
    let mut status = vec![0; 336];
    (status[12], status[32]) = (11, 7);
    let mut process = vec![0; 136];
    process[24] = 9;
    let read = |signal: u8, code: u8| {
        let mut info = vec![0; 128];
        (info[0], info[8], info[16]) = (signal, code, 0x30);
        let notes =
            [note(NT_PRSTATUS, &status), note(NT_SIGINFO, &info), note(NT_PRPSINFO, &process)].concat();
        let report = read_bytes(&with_notes(&notes)).unwrap();
        let about = report.about;
        assert_eq!((&*about.os, &*about.cpu, about.process), ("linux", "amd64", Some(9)));
        let signal = about.signal.unwrap();
        assert_eq!(signal.address, report.crash_address);
        (report.reason, signal.code, signal.address)
    };
    assert_eq!(read(11, 2), ("SIGSEGV / SEGV_ACCERR".to_owned(), Some(2), Some(0x30)));
    // The kernel has no address for a pointer that no process can have.
    assert_eq!(read(11, 0x80), ("SIGSEGV".to_owned(), Some(0x80), None));
    assert_eq!(read(17, 1), ("SIGSEGV".to_owned(), None, None));
}

#[test]
fn hostile_counts_and_cuts() {
    let mut status = vec![0; 336];
    status[32] = 7;
    let mut files = Vec::new();
    for number in [u64::MAX, 4096, 1, 2, 3] {
        files.extend(number.to_le_bytes());
    }
    let notes = [note(NT_PRSTATUS, &status), note(NT_FILE, &files), note(NT_SIGINFO, &[11, 0])].concat();
    let whole = with_notes(&notes);
    let report = read_bytes(&whole).unwrap();
    assert!(report.warnings[0].contains("NT_FILE) is cut off"), "{:?}", report.warnings);
    for end in 0..whole.len() {
        let _ = read_bytes(&whole[..end]);
    }
    for at in 0..whole.len() {
        for value in [0, 0x7f, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            let _ = read_bytes(&changed);
        }
    }
}

#[test]
fn what_is_not_known_says_so() {
    let mut bytes = with_notes(&[]);
    assert!(read_bytes(&bytes).unwrap_err().to_string().contains("no thread's registers"));
    bytes[18] = 243;
    assert_eq!(read_bytes(&bytes).unwrap_err().to_string(), "core: processor 243 at offset 18 is not known");
    // x32.
    (bytes[4], bytes[18]) = (1, 62);
    let error = read_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("class 1 (32 bits) at offset 4 of processor 62"), "{error}");
    bytes[4] = 9;
    assert!(read_bytes(&bytes).unwrap_err().to_string().contains("class 9 at offset 4"));
}

/// The paths of a longer list come after the whole table of ranges.
#[test]
fn ranges_and_threads_above_the_most_are_counted() {
    let count = MAX_FILES + 2;
    let mut files: Vec<u8> = [count as u64, 4096].iter().flat_map(|word| word.to_le_bytes()).collect();
    for index in 0..count as u64 {
        files.extend([index << 12, (index + 1) << 12, 0].iter().flat_map(|word| word.to_le_bytes()));
    }
    files.extend(b"/a\0".repeat(count));
    let threads = note(NT_PRSTATUS, &[]).repeat(MAX_THREADS + 3);
    let bytes = with_notes(&[note(NT_FILE, &files), threads].concat());
    let core = parse::<FileHeader64<Endianness>>(&bytes).unwrap();
    assert_eq!((core.files.len(), core.threads.len()), (MAX_FILES, MAX_THREADS));
    assert!(core.files.iter().all(|file| file.path == b"/a"));
    assert_eq!(
        core.warnings,
        [
            "ranges of mapped files (NT_FILE) after the first 262144: 2 are left out",
            "threads (NT_PRSTATUS) after the first 65536: 3 are left out"
        ]
    );
}

/// A core as gdb writes it, without code: of a file whose first page is in the core, and of a file that is not ELF.
#[test]
fn a_file_whose_code_was_left_out_is_a_module() {
    let program = b"\x7fELF\x02\x01\x01\0";
    let files = |parts: &[(u64, u64, u64, &str)]| {
        let mut desc: Vec<u8> =
            [parts.len() as u64, 0x1000].iter().flat_map(|word| word.to_le_bytes()).collect();
        for (start, end, page, _) in parts {
            desc.extend([start, end, page].iter().flat_map(|word| word.to_le_bytes()));
        }
        desc.extend(parts.iter().flat_map(|part| [part.3.as_bytes(), &[0]].concat()));
        note(NT_FILE, &desc)
    };
    let mut status = vec![0; 336];
    status[112 + 16 * 8..][..4].copy_from_slice(&0x5010u32.to_le_bytes());
    let listed = files(&[
        (0x4000, 0x5000, 0, "/lib/a.so"),
        (0x5000, 0x6000, 1, "/lib/a.so"),
        (0x8000, 0x9000, 0, "/lib/fonts"),
        (0x9000, 0xa000, 1, "/lib/fonts"),
    ]);
    let notes = [note(NT_PRSTATUS, &status), listed].concat();
    let mut bytes = with_notes(&notes);
    // Two more program headers, for the first pages, go between the header and the notes.
    let mut headers = Vec::new();
    let place = bytes.len() as u64 + 112;
    for (nth, address) in [0x4000u64, 0x8000].into_iter().enumerate() {
        headers.extend([1, 0, 0, 0, 4, 0, 0, 0]);
        let offset = place + 8 * nth as u64;
        headers.extend([offset, address, 0, 8, 0x1000, 0x1000].iter().flat_map(|word| word.to_le_bytes()));
    }
    bytes[56] = 3;
    bytes[72..80].copy_from_slice(&(120u64 + 112).to_le_bytes());
    bytes.splice(120..120, headers);
    bytes.extend(program);
    bytes.extend(b"OTTO\0\0\0\0");
    let report = read_bytes(&bytes).unwrap();
    let names: Vec<&str> = report.modules.iter().map(|module| &*module.name).collect();
    assert_eq!(names, ["/lib/a.so"]);
    assert_eq!(report.modules.find(0x5010), Some(0));
}

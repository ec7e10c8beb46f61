//! Cores that are cut or wrong. Whole ones are in `tests/crash.rs`.

use super::*;

fn read_bytes(bytes: &[u8]) -> Result<Report, ReportError> {
    let symbolizer = Symbolizer::builder().build().unwrap();
    read(bytes, &symbolizer, &Programs::default(), &Options::default())
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
    bytes[4] = 9;
    assert!(read_bytes(&bytes).unwrap_err().to_string().contains("class Some(9) at offset 4"));
}

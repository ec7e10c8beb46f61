//! Programs that ask for more than they give: each is converted in a process of its own, with limits on memory and on
//! the seconds of a processor, so that a cap which does not hold fails the test whatever else the machine does.

use std::path::Path;
use std::process::Command;

use foldsym_convert::report::Kind;
use foldsym_convert::{NoProgress, Options, convert};
use foldsym_demangle::demangle;

use crate::build::{CODE, CODE_LEN, Info, Symbol, elf, elf_with, line_program, sequence, uleb};

/// Names the program to convert, in the child.
const PROGRAM: &str = "FOLDSYM_CAPS_PROGRAM";

/// Address space that a conversion may take, in kB.
const MEMORY: u32 = 1_500_000;
/// Processor seconds that it may take, unoptimized.
const SECONDS: u32 = 30;

/// Not a test of its own: the other tests run it.
#[test]
#[ignore = "the tests below run it under limits"]
fn child() {
    let program = std::env::var(PROGRAM).unwrap();
    let output = Path::new(&program).with_extension("fsym");
    let options = Options::default().with(|options| {
        options.threads = 1;
        options.name_index = true;
        options.demangle = Some(demangle);
    });
    let result = convert(Path::new(&program), &output, &options, &NoProgress);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?");
    println!("\npeak: {}", peak.trim());
    match result {
        Ok(report) => {
            let count = |kind| report.diagnostics.count(kind);
            let notes: Vec<String> =
                report.notes.iter().map(|note| format!("{:?} x {}", note.kind, note.count)).collect();
            println!(
                "\nkept: {} caps, {} lines, {} units; {} bytes; {notes:?}; {}",
                report.diagnostics.caps().map(|(_, seen)| seen.count).sum::<u64>(),
                [Kind::BadLineHeader, Kind::BadLineProgram, Kind::UnendedSequence]
                    .map(count)
                    .iter()
                    .sum::<u64>(),
                count(Kind::BadUnit),
                std::fs::metadata(&output).unwrap().len(),
                report.summary()
            );
        }
        Err(error) => println!("\nrefused: {error}"),
    }
}

/// The outcome for a program under the limits.
pub(crate) fn limited(bytes: &[u8]) -> String {
    peak_of(bytes).0
}

/// The same, and the bytes of memory that it took.
pub(crate) fn peak_of(bytes: &[u8]) -> (String, u64) {
    peak_beside(bytes, &[])
}

/// The same of a program that has other files beside it.
pub(crate) fn peak_beside(bytes: &[u8], beside: &[(&str, &[u8])]) -> (String, u64) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in beside {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let program = folder.path().join("program");
    std::fs::write(&program, bytes).unwrap();
    let limits = format!("ulimit -v {MEMORY} && ulimit -t {SECONDS} && exec \"$0\" \"$@\"");
    let began = std::time::Instant::now();
    let ran = Command::new("sh")
        .args(["-c", &limits])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "caps::child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(PROGRAM, &program)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let line = text.lines().find(|line| line.starts_with("kept: ") || line.starts_with("refused: "));
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let line = line.unwrap_or_else(|| panic!("{} bytes: {}\n{text}\n{stderr}", bytes.len(), ran.status));
    let peak = text.lines().find_map(|line| line.strip_prefix("peak: ")).unwrap_or("?");
    println!("{} bytes in: {line}; {peak}, {:.1} s", bytes.len(), began.elapsed().as_secs_f64());
    let kib = peak.split(' ').next().and_then(|kib| kib.parse::<u64>().ok());
    (line.to_owned(), kib.unwrap_or_default() << 10)
}

/// Sets `SHF_COMPRESSED` on the first debug section of a made program.
pub(crate) fn compressed(mut program: Vec<u8>) -> Vec<u8> {
    let table = u64::from_le_bytes(program[0x28..0x30].try_into().unwrap()) as usize;
    program[table + 2 * 64 + 8..][..8].copy_from_slice(&0x800_u64.to_le_bytes());
    program
}

/// A zlib stream of one zero and `matches` copies of 258 bytes each, in 13 bits each (RFC 1951 3.2.6).
fn zlib(matches: usize) -> Vec<u8> {
    let (mut out, mut word, mut used) = (vec![0x78, 0x9c], 0_u64, 0);
    let mut put = |bits: u64, count: u32| {
        word |= bits << used;
        used += count;
        while used >= 8 {
            out.push(word as u8);
            word >>= 8;
            used -= 8;
        }
    };
    put(0b011, 3);
    put(0b0000_1100, 8);
    for _ in 0..matches {
        // Length 258 is code 285, distance 1 is code 0; codes begin with their most significant bit.
        put(0b1010_0011, 8);
        put(0, 5);
    }
    put(0, 7 + 7);
    out
}

#[test]
fn compressed_bombs_are_refused() {
    let gigabyte = zlib(4_000_000);
    for claimed in [16_u64, 1 << 40] {
        let section = [b"ZLIB", &claimed.to_be_bytes()[..], &gigabyte].concat();
        let line = limited(&elf(&[(".zdebug_info", section)], &[]));
        assert!(line.starts_with("refused: "), "{line}");
    }
    // Blocks of one byte, repeated 128 KiB times each (RFC 8878 3.1.1.2): 4 GiB in all.
    let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x58];
    for _ in 0..32_768 {
        zstd.extend([0b010, 0, 0b1_0000, 0]);
    }
    for claimed in [64_u64, 1 << 40] {
        let header =
            [&2_u32.to_le_bytes()[..], &[0; 4], &claimed.to_le_bytes(), &1_u64.to_le_bytes()].concat();
        let section = [header, zstd.clone()].concat();
        let line = limited(&compressed(elf(&[(".debug_info", section)], &[])));
        assert!(line.starts_with("refused: "), "{line}");
    }
}

/// Compressed sections whose headers give their true size, which is all that a small file may have; then one more.
#[test]
fn honest_bombs_are_refused_past_the_total() {
    // The first byte, and copies of it.
    let matches = (64 << 20) / 258 - 1;
    let len = 1 + 258 * matches as u64;
    let whole = |len: u64, matches| {
        // The checksum of zeros (RFC 1950): their number, and 1.
        let sum = ((len % 65_521) as u32) << 16 | 1;
        [b"ZLIB", &len.to_be_bytes()[..], &zlib(matches), &sum.to_be_bytes()].concat()
    };
    let section = whole(len, matches);
    let names = [".zdebug_str", ".zdebug_ranges", ".zdebug_loc"];
    let sections = names.map(|name| (name, section.clone()));
    let line = limited(&elf(&sections, &[]));
    let left = format!("at most {} allowed", (128 << 20) - 2 * len);
    assert!(line.starts_with("refused: ") && line.ends_with(&left), "{line}");
    let line = limited(&elf(&[(".zdebug_info", whole(len + 258 * 1000, matches + 1000))], &[]));
    assert!(line.starts_with("refused: ") && line.ends_with("at most 67108864 allowed"), "{line}");
}

/// More rows than are kept of one line program, each of one byte. 2^40 of them would take a terabyte.
#[test]
fn rows_past_the_cap_are_dropped() {
    let mut info = Info::new(4, &[]);
    info.function("f", CODE, 0x20);
    let mut sections = info.sections();
    let mut opcodes = sequence(&[(CODE, 10), (CODE + 8, 11)], CODE + 0x20);
    opcodes.extend([0, 9, 2]);
    opcodes.extend(CODE.to_le_bytes());
    // Each advances address and line.
    opcodes.resize(opcodes.len() + (1 << 24) + 1000, 0xff);
    opcodes.extend([0, 1, 1]);
    sections.push((".debug_line", line_program(&opcodes)));
    let line = limited(&elf(&sections, &[]));
    // The rows, and lines that go below 0.
    assert!(line.starts_with("kept: 2 caps"), "{line}");
}

/// A header that lists 2^40 directories of no bytes; and one with as many files as it has room for.
#[test]
fn file_tables_cost_their_bytes() {
    for (formats, count) in [(&[0][..], 1_u64 << 40), (&[1, 1, 8], 1 << 40), (&[1, 1, 8], 1_000_000)] {
        let mut tables = formats.to_vec();
        uleb(&mut tables, count);
        if count == 1_000_000 {
            // Empty strings.
            tables.resize(tables.len() + 1_000_000, 0);
        }
        tables.extend([1, 1, 8, 1]);
        tables.extend(b"unit.c\0");
        let mut header = vec![1, 1, 1, 0xfb, 14, 13];
        header.extend([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
        header.extend(tables);
        let mut program = 5_u16.to_le_bytes().to_vec();
        program.extend([8, 0]);
        program.extend((header.len() as u32).to_le_bytes());
        program.extend(header);
        let program = [(program.len() as u32).to_le_bytes().to_vec(), program].concat();
        let mut info = Info::new(5, &[]);
        info.function("f", CODE, 0x20);
        let mut sections = info.sections();
        sections.push((".debug_line", program));
        let line = limited(&elf(&sections, &[]));
        assert!(line.starts_with("kept: 0 caps"), "{line}");
    }
}

/// Units of DWARF 4 that name an abbreviation table each, and have these bytes after their header.
pub(crate) fn units(tables: impl Iterator<Item = u32>, entries: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for table in tables {
        out.extend((7 + entries.len() as u32).to_le_bytes());
        out.extend(4_u16.to_le_bytes());
        out.extend(table.to_le_bytes());
        out.push(8);
        out.extend(entries);
    }
    out
}

/// One table of half a million abbreviations, or as many that end alike, for tens of thousands of units.
#[test]
fn abbreviations_are_read_once() {
    let mut abbreviations = Vec::new();
    for code in 1..=500_000 {
        uleb(&mut abbreviations, code);
        abbreviations.extend([0x11, 0, 0, 0]);
    }
    abbreviations.push(0);
    for step in [0, 1] {
        let info = units((0..50_000).map(|unit| unit * step), &[1]);
        let line = limited(&elf(&[(".debug_info", info), (".debug_abbrev", abbreviations.clone())], &[]));
        assert!(line.starts_with("kept: "), "{line}");
    }
    // One abbreviation of 200,000 attributes without a byte, and a million entries of it.
    let mut wide = vec![1, 0x11, 1, 0, 0, 2, 0x34, 0];
    wide.extend([0x3c, 0x19].repeat(200_000));
    wide.extend([0, 0, 0]);
    let info = units([0].into_iter(), &[&[1][..], &[2; 1_000_000]].concat());
    let line = limited(&elf(&[(".debug_info", info), (".debug_abbrev", wide)], &[]));
    assert!(line.starts_with("kept: 1 caps"), "{line}");
}

/// One line program of four million rows for twenty thousand units.
#[test]
fn a_line_program_is_not_run_for_every_unit() {
    // DW_TAG_compile_unit with DW_AT_stmt_list, DW_FORM_sec_offset.
    let abbreviations = vec![1, 0x11, 0, 0x10, 0x17, 0, 0, 0];
    let info = units((0..20_000).map(|_| 0), &[1, 0, 0, 0, 0]);
    let mut opcodes = sequence(&[(CODE, 10)], CODE + 0x20);
    opcodes.extend([0, 9, 2]);
    opcodes.extend(CODE.to_le_bytes());
    opcodes.resize(4_000_000, 0x13);
    let sections =
        [(".debug_info", info), (".debug_abbrev", abbreviations), (".debug_line", line_program(&opcodes))];
    let line = limited(&elf(&sections, &[]));
    assert!(line.starts_with("kept: 19984 caps"), "{line}");
}

/// A name of 64 KiB for fifty thousand units: each reads it, and keeps its beginning.
#[test]
fn a_long_name_is_not_copied_for_every_unit() {
    // DW_TAG_compile_unit with DW_AT_name, DW_FORM_strp.
    let abbreviations = vec![1, 0x11, 0, 3, 0x0e, 0, 0, 0];
    let info = units((0..50_000).map(|_| 0), &[1, 0, 0, 0, 0]);
    let name = [vec![b'n'; 1 << 16], vec![0]].concat();
    let sections = [(".debug_info", info), (".debug_abbrev", abbreviations), (".debug_str", name)];
    let line = limited(&elf(&sections, &[]));
    assert!(line.starts_with("kept: "), "{line}");
}

/// A string of megabytes: each of many functions has a name that is the end of it; each of a million units is named so.
#[test]
fn a_long_string_is_not_read_for_every_entry() {
    // DW_TAG_compile_unit with children; DW_TAG_subprogram with DW_AT_name, DW_FORM_strp, and an address, DW_FORM_addr.
    let abbreviations =
        vec![1, 0x11, 1, 0, 0, 2, 0x2e, 0, 3, 0x0e, 0x11, 1, 0x12, 0x0f, 0, 0, 3, 0x11, 0, 3, 0x0e, 0, 0, 0];
    let mut entries = vec![1];
    for function in 0..200_000_u32 {
        entries.push(2);
        entries.extend(function.to_le_bytes());
        entries.extend(CODE.to_le_bytes());
        entries.push(0x10);
    }
    let strings = [vec![b's'; 20_000_000], vec![0]].concat();
    let info = units([0].into_iter(), &entries);
    let sections =
        [(".debug_info", info), (".debug_abbrev", abbreviations.clone()), (".debug_str", strings.clone())];
    let line = limited(&elf(&sections, &[]));
    // The unit's, and that of the one name, which is too long to keep.
    assert!(line.starts_with("kept: 2 caps"), "{line}");
    let info = units((0..1_000_000).map(|_| 0), &[3, 0, 0, 0, 0]);
    let sections = [(".debug_info", info), (".debug_abbrev", abbreviations), (".debug_str", strings)];
    let line = limited(&elf(&sections, &[]));
    assert!(is_too_much(&line), "{line}");
}

/// True if a program was refused, since its units take more memory than its bytes allow.
fn is_too_much(line: &str) -> bool {
    line.starts_with("refused: ") && line.contains("what is read of the units up to this one takes")
}

/// A list of only base addresses, or of removed ranges, for a hundred thousand functions.
#[test]
fn entries_of_range_lists_are_counted() {
    // DW_TAG_compile_unit with children; DW_TAG_subprogram with DW_AT_ranges, DW_FORM_sec_offset.
    let abbreviations = vec![1, 0x11, 1, 0, 0, 2, 0x2e, 0, 0x55, 0x17, 0, 0, 0];
    let info = units([0].into_iter(), &[&[1][..], &[2, 0, 0, 0, 0].repeat(100_000)].concat());
    for entry in [[u64::MAX, CODE], [1, 1], [CODE, CODE]] {
        let list: Vec<u8> = entry.iter().flat_map(|word| word.to_le_bytes()).collect();
        let list = [list.repeat(250_000), vec![0; 16]].concat();
        let sections = [
            (".debug_info", info.clone()),
            (".debug_abbrev", abbreviations.clone()),
            (".debug_ranges", list.clone()),
        ];
        let line = limited(&elf(&sections, &[]));
        assert!(line.starts_with("kept: ") && !line.starts_with("kept: 0"), "{line}");
        // As many, a function a unit.
        let info = units((0..1000).map(|_| 0), &[1, 2, 0, 0, 0, 0, 0]);
        let sections =
            [(".debug_info", info), (".debug_abbrev", abbreviations.clone()), (".debug_ranges", list)];
        let line = limited(&elf(&sections, &[]));
        let counted = line.starts_with("kept: ") && !line.starts_with("kept: 0");
        assert!(counted || is_too_much(&line), "{line}");
    }
}

/// Blocks in blocks, and forms that name a form that names a form.
#[test]
fn depth_takes_no_stack() {
    let mut info = Info::new(4, &[]);
    info.open(
        gimli::DW_TAG_subprogram,
        &[
            (gimli::DW_AT_name, crate::build::Value::Text("f")),
            (gimli::DW_AT_low_pc, crate::build::Value::Address(CODE)),
            (gimli::DW_AT_high_pc, crate::build::Value::Number(0x20)),
        ],
    );
    for _ in 0..1_000_000 {
        info.open(gimli::DW_TAG_lexical_block, &[]);
    }
    for _ in 0..=1_000_000 {
        info.close();
    }
    let line = limited(&elf(&info.sections(), &[]));
    assert!(line.starts_with("kept: 0 caps"), "{line}");
    // DW_AT_name of DW_FORM_indirect, a million times DW_FORM_indirect, then DW_FORM_flag_present.
    let abbreviations = vec![1, 0x11, 0, 3, 0x16, 0, 0, 0];
    let entries = [&[1][..], &[0x16; 1_000_000], &[0x19]].concat();
    let sections = [(".debug_info", units([0].into_iter(), &entries)), (".debug_abbrev", abbreviations)];
    let line = limited(&elf(&sections, &[]));
    assert!(line.starts_with("kept: "), "{line}");
}

/// Symbols whose readable names have gigabytes, of both languages: they stay mangled.
#[test]
fn names_that_read_as_gigabytes_stay_mangled() {
    let digit = |n: u32| char::from_digit(n, 36).unwrap().to_ascii_uppercase();
    // Each argument is twice the one before: `A<X, X>`.
    let mut cpp = String::from("_Z1f1AI1BS0_E");
    for n in 1..36 {
        cpp += &format!("S_IS{0}_S{0}_E", digit(n));
    }
    // Each generic argument is a pair of references to the one before (rustc's v0 scheme).
    let mut rust = String::from("_RINvC1a1bTuuE");
    for _ in 0..40 {
        let back = rust.len() - 2;
        rust += &format!("TB{0}_B{0}_E", back_reference(back));
    }
    rust.push('E');
    let line = limited(&elf(&[], &[(&cpp, CODE, 0x10), (&rust, CODE + 0x10, 0x10)]));
    assert!(line.starts_with("kept: "), "{line}");
}

/// Local symbols whose functions have a part of their names in their DIEs, and many erased functions that each may be.
#[test]
fn symbols_do_not_each_list_what_they_may_name() {
    let mut info = Info::new(4, &[]);
    for _ in 0..1100 {
        info.function("g", 0, 1);
    }
    let names: Vec<String> = (0..100_000).map(|at| format!("_ZN6a{at:05x}1gEv")).collect();
    let place = |at| CODE + at % (CODE_LEN - 1);
    let symbols = names.iter().zip(0..).map(|(name, at)| Symbol::Local((name, place(at), 2)));
    let line = limited(&elf_with(CODE, &info.sections(), &symbols.collect::<Vec<_>>()));
    assert!(line.starts_with("kept: "), "{line}");
}

/// A number of the v0 scheme: base 62, less one.
fn back_reference(place: usize) -> String {
    const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let (mut rest, mut out) = (place.saturating_sub(1), Vec::new());
    loop {
        out.push(DIGITS[rest % 62]);
        rest /= 62;
        if rest == 0 {
            break;
        }
    }
    out.reverse();
    String::from_utf8(out).unwrap()
}

/// A fat file that lists more than it has room for, and one whose parts are each the whole file.
#[test]
fn fat_files_that_lie_are_refused() {
    for count in [44_u32, 45, u32::MAX] {
        let mut fat = 0xcafe_babe_u32.to_be_bytes().to_vec();
        fat.extend(count.to_be_bytes());
        for _ in 0..count.min(44) {
            for word in [0x0100_0007_u32, 3, 0, 1 << 20, 0] {
                fat.extend(word.to_be_bytes());
            }
        }
        fat.resize(1 << 20, 0);
        let line = limited(&fat);
        assert!(line.starts_with("refused: "), "{line}");
    }
}

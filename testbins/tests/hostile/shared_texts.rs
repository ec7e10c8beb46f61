//! Programs in which thousands of things are named by one long text, or by its ends: the kept and compared bytes are bounded by the bytes
//! of the texts, not by the product.

use crate::build::{CODE, elf};
use crate::caps::{limited, units};

/// Bytes that no two places of have alike.
fn text(len: usize) -> String {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + (state >> 24) as u8 % 26)
    };
    (0..len).map(|_| letter()).collect()
}

/// The offset of a section's header, by its index after the first.
fn header(program: &[u8], section: usize) -> usize {
    u64::from_le_bytes(program[0x28..0x30].try_into().unwrap()) as usize + 64 * section
}

/// A program of symbols whose names begin at these places of one text.
fn symbols(text: &str, places: impl Iterator<Item = usize>) -> Vec<u8> {
    let places: Vec<u32> = places.map(|place| place as u32).collect();
    let mut symbols = vec![(text, CODE, 4)];
    symbols.extend((1..places.len()).map(|n| ("", CODE + n as u64 % 0xf00, 4)));
    let mut program = elf(&[], &symbols);
    // The third section, after the null section and the code.
    let table = header(&program, 2) + 0x18;
    let table = u64::from_le_bytes(program[table..table + 8].try_into().unwrap()) as usize;
    for (n, place) in places.iter().enumerate() {
        program[table + 24 * (n + 1)..][..4].copy_from_slice(&(1 + place).to_le_bytes());
    }
    program
}

/// Bytes of the file.
fn file_len(line: &str) -> usize {
    let words: Vec<&str> = line.split(' ').collect();
    words[words.iter().position(|word| word.starts_with("bytes;")).unwrap() - 1].parse().unwrap()
}

#[test]
fn symbols_whose_names_are_the_ends_of_one() {
    let program = symbols(&text(60_000), 0..2000);
    let line = limited(&program);
    assert!(line.contains("LongSymbolNames"), "{line}");
    assert!(file_len(&line) < 8 * program.len(), "{line}");
    // A name of megabytes: to look at it takes as long as to keep it.
    let line = limited(&symbols(&"s".repeat(4_000_000), (0..20_000).map(|n| n * 50)));
    assert!(line.contains("LongSymbolNames"), "{line}");
}

#[test]
fn sections_of_one_long_name() {
    let debug: Vec<(&str, Vec<u8>)> = (0..2000).map(|_| ("", Vec::new())).collect();
    let long = text(500_000);
    let mut program = elf(&[&[(&long[..], Vec::new())][..], &debug].concat(), &[]);
    for section in 2..2000 {
        let at = header(&program, section);
        // Its name is that of the second section; it is loaded, at an address of its own.
        let name: [u8; 4] = program[header(&program, 2)..][..4].try_into().unwrap();
        program[at..at + 4].copy_from_slice(&name);
        program[at + 8] = 2;
        program[at + 0x10..][..8].copy_from_slice(&(0x10_0000 + section as u64).to_le_bytes());
    }
    let line = limited(&program);
    assert!(line.contains("LongSectionName"), "{line}");
    assert!(file_len(&line) < 8 * program.len(), "{line}");
}

/// Names of functions, and the names, folders and compilers of units.
#[test]
fn entries_whose_names_are_the_ends_of_one() {
    // DW_TAG_compile_unit with children; DW_TAG_subprogram with DW_AT_name, DW_FORM_strp, and an address, DW_FORM_addr.
    let abbreviations = vec![1, 0x11, 1, 0, 0, 2, 0x2e, 0, 3, 0x0e, 0x11, 1, 0x12, 0x0f, 0, 0, 0];
    let function = |name: u32| {
        [&[2][..], &name.to_le_bytes(), &(CODE + u64::from(name) % 0xf00).to_le_bytes(), &[0x10]].concat()
    };
    let strings = [text(60_000).as_bytes(), &[0]].concat();
    let one =
        units([0].into_iter(), &[&[1][..], &(0..2000).flat_map(function).collect::<Vec<_>>(), &[0]].concat());
    let many =
        (0..2000).flat_map(|n| units([0].into_iter(), &[&[1][..], &function(n), &[0]].concat())).collect();
    for info in [one, many] {
        let sections = [
            (".debug_info", info),
            (".debug_abbrev", abbreviations.clone()),
            (".debug_str", strings.clone()),
        ];
        let program = elf(&sections, &[]);
        let line = limited(&program);
        assert!(line.starts_with("kept: 1 caps") || line.starts_with("kept: 2 caps"), "{line}");
        // In addition to what names take in any program.
        assert!(file_len(&line) < 2_000_000 + 8 * program.len(), "{line}");
    }
    // DW_TAG_compile_unit with DW_AT_name, DW_AT_comp_dir and DW_AT_producer, DW_FORM_strp.
    let abbreviations = vec![1, 0x11, 0, 3, 0x0e, 0x1b, 0x0e, 0x25, 0x0e, 0, 0, 0];
    let info = units((0..5000).map(|_| 0), &[&[1][..], &[0; 12]].concat());
    let strings = [vec![b's'; 10_000_000], vec![0]].concat();
    let sections = [(".debug_info", info), (".debug_abbrev", abbreviations), (".debug_str", strings)];
    let line = limited(&elf(&sections, &[]));
    // Each of these texts is cut.
    assert!(line.starts_with("kept: 15000 caps"), "{line}");
}

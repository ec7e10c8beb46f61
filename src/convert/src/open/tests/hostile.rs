//! Damaged files: opening returns an error or an image, and never panics.

use super::build::*;
use super::macho::{fat, thin};
use super::*;

fn refused(bytes: &[u8]) -> String {
    open(&Files::new(), bytes.to_vec()).err().unwrap().to_string()
}

#[test]
fn what_is_no_program_is_refused_in_words() {
    assert!(refused(b"").contains("an empty file"));
    assert!(refused(b"!<arch>\nmember").contains("an archive"));
    assert!(refused(b"#!/bin/sh\n").contains("begins with \"#!/b\""));
    assert!(refused(b"\x7fELF").contains("class"));
    assert!(refused(b"\x7fELF\x02\x01\x01").contains("ELF header"));
    assert!(refused(&Elf::x86_64(4).build()).contains("a core dump"));
    // A Java class file has the magic of fat files.
    assert!(refused(b"\xca\xfe\xba\xbe\x00\x00\x00\x34\x00\x10").contains("begins with"));
}

/// Opens the file and reads everything that is decoded on demand.
fn exercise(bytes: Vec<u8>) {
    let files = Files::new();
    let Ok(image) = open(&files, bytes) else { return };
    for kept in image.relocations.sections() {
        assert!(kept.iter().count() <= kept.len().max(1 << 16));
        for row in kept.iter().take(100) {
            kept.target(&row);
        }
    }
    for section in &image.sections {
        assert!(section.range.start <= section.range.end);
        image.section_at(section.range.start);
    }
    for symbol in &image.symbols {
        let section = &image.sections[symbol.section as usize];
        assert!(section.range.start.0 <= symbol.address && symbol.address <= section.range.end.0);
        assert!(symbol.file.is_none_or(|file| (file as usize) < image.symbol_files.len()));
    }
}

fn samples() -> Vec<Vec<u8>> {
    let mut samples: Vec<Vec<u8>> = programs().iter().map(Elf::build).collect();
    let mut object = Elf::x86_64(1);
    object.add(".text", PROGBITS, CODE, 0, &[0; 16]);
    let info = object.add(".debug_info", PROGBITS, 0, 0, &[0; 16]);
    object.add_compressed(".debug_str", 1, 5, b"\x78\x9c\x4b\x4c\x4a\x4e\x49\x05\x00\x05\xc8\x01\xf0");
    object.symbols = vec![func("f", 4, 4, 1)];
    object.add_relocations(".rela.debug_info", info, RELA, &[(0, 1, 1, 1), (8, 10, 1, 4)]);
    samples.push(object.build());
    // The same as a linked file, whose relocations are kept and decoded only on demand.
    object.file_type = 3;
    object.add(".gnu_debuglink", PROGBITS, 0, 0, b"x.debug\0\0\0\0\0");
    object.add(".gnu_debugdata", PROGBITS, 0, 0, b"\xfd7zXZ\0\0\x04");
    object.machine = 21;
    samples.push(object.build());
    samples.push(thin(false).build());
    samples.push(thin(true).build());
    samples.push(fat(&[thin(false).build()]));
    samples
}

#[test]
fn every_truncation_is_survived() {
    for sample in samples() {
        for length in 0..sample.len() {
            exercise(sample[..length].to_vec());
        }
    }
}

#[test]
fn every_damaged_byte_is_survived() {
    for sample in samples() {
        for at in 0..sample.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = sample.clone();
                bytes[at] ^= change;
                exercise(bytes);
            }
        }
    }
}

#[test]
fn extreme_words_are_survived() {
    for sample in samples() {
        for at in (0..sample.len().saturating_sub(8)).step_by(4) {
            for word in [u64::MAX, 1 << 63, 1 << 31, 0xffff_ffff_0000_0000] {
                let mut bytes = sample.clone();
                bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
                exercise(bytes);
            }
        }
    }
}

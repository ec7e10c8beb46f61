//! One thing, repeated many times: in a compressed section, and by units that all name one file.

use crate::build::{CODE, elf};
use crate::caps::{compressed, peak_beside, peak_of, units};

/// `DW_TAG_compile_unit`; `DW_TAG_subprogram` with `DW_AT_name`, `DW_AT_low_pc` and `DW_AT_high_pc`.
const FUNCTIONS: [u8; 16] = [1, 0x11, 1, 0, 0, 2, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x0f, 0, 0];

/// A million equal functions take 14 MB, and a few kilobytes when compressed. The cost of a small file is bounded by its own bytes, not by
/// their size after decompression.
#[test]
fn equal_functions_in_a_compressed_section_are_refused() {
    let function = [&[2, b'f', 0][..], &CODE.to_le_bytes(), &[8]].concat();
    let entries = [&[1][..], &function.repeat(1_000_000), &[0]].concat();
    let info = units(std::iter::once(0), &entries);
    let packed = zstd::bulk::compress(&info, 19).unwrap();
    let (len, align) = (info.len() as u64, 1_u64);
    // `Elf64_Chdr` of ELFCOMPRESS_ZSTD.
    let header = [&2_u32.to_le_bytes()[..], &[0; 4], &len.to_le_bytes(), &align.to_le_bytes()].concat();
    let abbreviations = [&FUNCTIONS[..], &[0]].concat();
    let sections = [(".debug_info", [header, packed].concat()), (".debug_abbrev", abbreviations)];
    let program = compressed(elf(&sections, &[("f", CODE, 8)]));
    assert!(program.len() < 64 << 10, "{}", program.len());
    let (line, peak) = peak_of(&program);
    assert!(line.starts_with("refused: ") && line.contains("bytes of memory, and "), "{line}");
    assert!(peak < 256 << 20, "{peak} bytes for {}", program.len());
}

/// Units that name one `.dwo` and one unit in it: past a bound it is not read for them.
#[test]
fn a_dwo_that_many_units_name_is_read_few_times() {
    const ID: [u8; 8] = *b"\x012345678";
    // DW_TAG_compile_unit: DW_AT_GNU_dwo_name, DW_AT_comp_dir, DW_AT_GNU_dwo_id, DW_AT_low_pc.
    let skeleton = [1, 0x11, 0, 0xb0, 0x42, 0x08, 0x1b, 0x08, 0xb1, 0x42, 0x07, 0x11, 0x01, 0, 0, 0];
    let unit = [&[1][..], b"one.dwo\0.\0", &ID, &CODE.to_le_bytes()].concat();
    let info = units((0..60_000).map(|_| 0), &unit);
    let program = elf(&[(".debug_info", info), (".debug_abbrev", skeleton.to_vec())], &[("f", CODE, 8)]);
    // DW_TAG_compile_unit: DW_AT_GNU_dwo_id; DW_TAG_subprogram: DW_AT_name, DW_AT_high_pc.
    let abbreviations = [1, 0x11, 1, 0xb1, 0x42, 0x07, 0, 0, 2, 0x2e, 0, 0x03, 0x08, 0x12, 0x0f, 0, 0, 0];
    let entries = [&[1][..], &ID, &[2, b'f', 0, 8].repeat(20_000), &[0]].concat();
    let inner = units(std::iter::once(0), &entries);
    let dwo = elf(&[(".debug_info.dwo", inner), (".debug_abbrev.dwo", abbreviations.to_vec())], &[]);
    let (line, peak) = peak_beside(&program, &[("one.dwo", &dwo[..])]);
    // The bound was reached, and is reported: the file was found, and belongs to the units.
    assert!(line.starts_with("kept: ") && !line.starts_with("kept: 0 caps"), "{line}");
    assert!(peak < 40 * (program.len() + dwo.len()) as u64 + (200 << 20), "{peak} bytes: {line}");
}

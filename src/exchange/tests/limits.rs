//! Programs at the limits of the formats: names of 64 KiB, the greatest line, code more than 4 GiB from the base, a function of
//! more than 4 GiB, names that would begin a record of their own.

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_exchange::{BreakpadModule, ExportError, GsymVersion, write_breakpad, write_gsym};
use foldsym_lookup::SymbolFile;

/// The longest name that a `.fsym` has, in bytes.
const LONGEST: usize = 65_535;
const NEAR: u64 = 0x40_0000;
const FAR: u64 = 0x5_0040_0000;

/// A section of the program that a test makes.
struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    address: u64,
    /// Of a section without bytes in the file.
    size: u64,
    bytes: Vec<u8>,
    link: u32,
    entry: u64,
}

fn plain(name: &'static str, bytes: Vec<u8>) -> Section {
    Section { name, kind: 1, flags: 0, address: 0, size: 0, bytes, link: 0, entry: 0 }
}

/// Code that takes no room in the file.
fn code(name: &'static str, address: u64, size: u64) -> Section {
    Section { kind: 8, flags: 6, address, size, ..plain(name, Vec::new()) }
}

fn put(out: &mut Vec<u8>, width: usize, value: u64) {
    out.extend_from_slice(&value.to_le_bytes()[..width]);
}

fn leb(out: &mut Vec<u8>, mut value: i64) {
    while !(-64..64).contains(&value) {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// An x86-64 program of these sections, with symbols of functions: name, address, size.
fn program(mut sections: Vec<Section>, symbols: &[(&[u8], u64, u64)]) -> Vec<u8> {
    let (mut strings, mut table) = (vec![0], vec![0; 24]);
    for (name, address, size) in symbols {
        let section = sections.iter().position(|section| {
            section.flags == 6 && (section.address..section.address + section.size).contains(address)
        });
        put(&mut table, 4, strings.len() as u64);
        table.extend_from_slice(&[0x12, 0]);
        put(&mut table, 2, section.unwrap() as u64 + 1);
        put(&mut table, 8, *address);
        put(&mut table, 8, *size);
        strings.extend_from_slice(name);
        strings.push(0);
    }
    let strtab = sections.len() as u32 + 2;
    sections.push(Section { kind: 2, link: strtab, entry: 24, ..plain(".symtab", table) });
    sections.push(Section { kind: 3, ..plain(".strtab", strings) });
    let names = sections.len() as u64 + 1;
    let mut text = vec![0];
    let mut offsets = Vec::new();
    for name in sections.iter().map(|section| section.name).chain([".shstrtab"]) {
        offsets.push(text.len() as u64);
        text.extend_from_slice(name.as_bytes());
        text.push(0);
    }
    sections.push(Section { kind: 3, ..plain(".shstrtab", text) });

    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let (headers, first) = (0x40, 0x40 + 0x38);
    let total: u64 = sections.iter().map(|section| section.bytes.len() as u64).sum();
    for (width, value) in [(2, 2), (2, 62), (4, 1), (8, NEAR), (8, headers), (8, first + total), (4, 0)] {
        put(&mut out, width, value);
    }
    for value in [0x40, 0x38, 1, 0x40, sections.len() as u64 + 1, names] {
        put(&mut out, 2, value);
    }
    // One segment, which the first section begins.
    for (width, value) in
        [(4, 1), (4, 5), (8, 0), (8, NEAR), (8, NEAR), (8, 0), (8, sections[0].size), (8, 0x1000)]
    {
        put(&mut out, width, value);
    }
    let mut table = vec![0; 0x40];
    for (section, name) in sections.iter().zip(offsets) {
        put(&mut table, 4, name);
        put(&mut table, 4, section.kind.into());
        put(&mut table, 8, section.flags);
        put(&mut table, 8, section.address);
        put(&mut table, 8, out.len() as u64);
        put(&mut table, 8, section.size.max(section.bytes.len() as u64));
        put(&mut table, 4, section.link.into());
        put(&mut table, 4, 1);
        put(&mut table, 8, 1);
        put(&mut table, 8, section.entry);
        out.extend_from_slice(&section.bytes);
    }
    out.extend_from_slice(&table);
    out
}

/// DWARF 4 of one function at `NEAR` with rows: offset from the one before, and line.
fn debug_info(rows: &[(u64, u32)]) -> Vec<Section> {
    // A unit with name, line program, low and high address; a function with name, low and high address.
    let abbreviations =
        b"\x01\x11\x01\x03\x08\x10\x17\x11\x01\x12\x07\0\0\x02\x2e\0\x03\x08\x11\x01\x12\x07\0\0\0".to_vec();
    let mut unit = Vec::new();
    put(&mut unit, 2, 4);
    put(&mut unit, 4, 0);
    unit.push(8);
    unit.extend_from_slice(b"\x01/src/near.c\0");
    put(&mut unit, 4, 0);
    put(&mut unit, 8, NEAR);
    put(&mut unit, 8, 16);
    unit.extend_from_slice(b"\x02near\0");
    put(&mut unit, 8, NEAR);
    put(&mut unit, 8, 16);
    unit.push(0);
    let mut info = Vec::new();
    put(&mut info, 4, unit.len() as u64);
    info.extend_from_slice(&unit);

    let header = b"\x01\x01\x01\xfb\x0e\x0d\0\x01\x01\x01\x01\0\0\0\x01\0\0\x01\0/src/near.c\0\0\0\0\0";
    let mut body = Vec::new();
    put(&mut body, 2, 4);
    put(&mut body, 4, header.len() as u64);
    body.extend_from_slice(header);
    body.extend_from_slice(b"\0\x09\x02");
    put(&mut body, 8, NEAR);
    let mut line = 1;
    for (advance, to) in rows {
        body.push(3);
        leb(&mut body, i64::from(*to) - line);
        line = i64::from(*to);
        body.extend_from_slice(&[2, *advance as u8, 1]);
    }
    let end: u64 = rows.iter().map(|row| row.0).sum();
    body.extend_from_slice(&[2, (16 - end) as u8, 0, 1, 1]);
    let mut lines = Vec::new();
    put(&mut lines, 4, body.len() as u64);
    lines.extend_from_slice(&body);
    vec![plain(".debug_abbrev", abbreviations), plain(".debug_info", info), plain(".debug_line", lines)]
}

fn converted(program: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("program"), folder.path().join("program.fsym"));
    std::fs::write(&path, program).unwrap();
    convert(&path, &out, &Options::default(), &NoProgress).unwrap();
    std::fs::read(out).unwrap()
}

fn gsym(file: &SymbolFile<'_>, version: GsymVersion) -> Result<Vec<u8>, ExportError> {
    let mut out = Vec::new();
    write_gsym(file, version, &mut out).map(|_| out)
}

fn breakpad(
    file: &SymbolFile<'_>,
    readable: &dyn Fn(&[u8]) -> Option<String>,
) -> Result<String, ExportError> {
    let module = BreakpadModule { name: "program", os: "Linux", debug_id: "0" };
    let mut out = Vec::new();
    write_breakpad(file, &module, readable, None, &mut out).map(|_| String::from_utf8(out).unwrap())
}

#[test]
fn the_longest_name_the_greatest_line_and_far_code() {
    let long = vec![b'n'; LONGEST];
    let mut sections = vec![code(".text", NEAR, 32), code(".far", FAR, 16)];
    sections.extend(debug_info(&[(0, 1), (4, u32::MAX), (4, 1)]));
    let symbols: &[(&[u8], u64, u64)] = &[(b"near", NEAR, 16), (&long, NEAR + 16, 16), (b"far", FAR, 16)];
    let bytes = converted(&program(sections, symbols));
    let file = SymbolFile::open(&bytes).unwrap();

    for version in [GsymVersion::V1, GsymVersion::V2] {
        let out = gsym(&file, version).unwrap();
        // Offsets of addresses have eight bytes, the base is the segment's.
        assert_eq!(out[6], 8);
        assert_eq!(out[8..16], NEAR.to_le_bytes());
        assert!(out.windows(8).any(|bytes| bytes == (FAR - NEAR).to_le_bytes()));
        let name = out.split(|byte| *byte == 0).find(|text| text.starts_with(b"nnnn")).unwrap();
        assert_eq!(name, long);
        // The difference of lines, there and back: SLEB128 of 2^32 - 2 and of its negative.
        for delta in [i64::from(u32::MAX) - 1, 1 - i64::from(u32::MAX)] {
            let mut number = Vec::new();
            leb(&mut number, delta);
            assert!(out.windows(number.len()).any(|bytes| bytes == number), "{delta}");
        }
    }

    let text = breakpad(&file, &|_| None).unwrap();
    assert!(text.contains("\nFUNC 0 10 0 near\n0 4 1 0\n4 4 4294967295 0\n8 8 1 0\n"), "{}", &text[..300]);
    assert!(text.contains(&format!("\nFUNC 10 10 0 {}\n", "n".repeat(LONGEST))));
    assert!(text.contains("\nFUNC 500000000 10 0 far\n"));
    // A readable name that readers' buffers do not hold: the linkage name is written.
    let longer = |_: &[u8]| Some("x".repeat(LONGEST + 1));
    assert!(breakpad(&file, &longer).unwrap().contains("\nFUNC 0 10 0 near\n"));
}

#[test]
fn a_function_of_more_than_4_gib_has_the_length_that_the_file_has() {
    let len = (1 << 32) + 16;
    let bytes = converted(&program(vec![code(".text", NEAR, len)], &[(b"huge", NEAR, len)]));
    let file = SymbolFile::open(&bytes).unwrap();
    let held = file.records().piece(foldsym_lookup::PieceId(0)).unwrap().body;
    assert!(held > 0 && held < 1 << 32, "{held:#x}");
    assert!(breakpad(&file, &|_| None).unwrap().contains(&format!("\nFUNC 0 {held:x} 0 huge\n")));
    for version in [GsymVersion::V1, GsymVersion::V2] {
        // Length and name, the only string but the empty one.
        let record = [held.to_le_bytes()[..4].to_vec(), vec![1, 0, 0, 0]].concat();
        let out = gsym(&file, version).unwrap();
        assert!(out.windows(8).any(|bytes| bytes == record));
    }
}

#[test]
fn a_name_begins_no_record() {
    let names: [&[u8]; 4] = [b"\nFUNC 0 1 0 evil", b"\r\n", b" \t ", b"\xff\xfe"];
    let symbols: Vec<(&[u8], u64, u64)> =
        names.iter().zip(0..).map(|(name, at)| (*name, NEAR + 8 * at, 8)).collect();
    let bytes = converted(&program(vec![code(".text", NEAR, 32)], &symbols));
    let file = SymbolFile::open(&bytes).unwrap();
    let text = breakpad(&file, &|_| None).unwrap();
    let functions: Vec<&str> = text.lines().filter(|line| line.starts_with("FUNC")).collect();
    assert_eq!(functions[0], "FUNC 0 8 0 FUNC 0 1 0 evil");
    // A record whose name is white space is refused by readers that take it for a separator.
    assert_eq!(
        functions[1..],
        ["FUNC 8 8 0 <name omitted>", "FUNC 10 8 0 <name omitted>", "FUNC 18 8 0 \u{fffd}\u{fffd}"]
    );
    for version in [GsymVersion::V1, GsymVersion::V2] {
        let out = gsym(&file, version).unwrap();
        assert!(out.windows(17).any(|bytes| bytes == b"\nFUNC 0 1 0 evil\0"));
    }
}

/// Version 1 of GSYM has room for 20 bytes of a build id, version 2 for any number.
#[test]
fn a_build_id_that_the_format_does_not_hold_is_left_out_and_told() {
    let mut note = Vec::new();
    for value in [4, 32, 3] {
        put(&mut note, 4, value);
    }
    note.extend_from_slice(b"GNU\0");
    note.extend(0..32);
    let note = Section { kind: 7, ..plain(".note.gnu.build-id", note) };
    let bytes = converted(&program(vec![code(".text", NEAR, 16), note], &[(b"main", NEAR, 16)]));
    let file = SymbolFile::open(&bytes).unwrap();
    assert_eq!(file.build_id().len(), 32);
    for (version, left_out) in [(GsymVersion::V1, true), (GsymVersion::V2, false)] {
        let mut out = Vec::new();
        assert_eq!(write_gsym(&file, version, &mut out).unwrap().build_id_left_out, left_out);
        assert_eq!(out.windows(32).any(|id| id.iter().copied().eq(0..32)), !left_out);
    }
}

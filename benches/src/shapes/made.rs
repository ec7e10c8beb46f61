//! Assembles an ELF program for x86-64 and its DWARF 4, byte by byte.

use std::io;

/// Where the code begins, and how much of it there is: enough for an address for each thing that a shape repeats.
pub(super) const CODE: u64 = 0x10_0000;
pub(super) const CODE_LEN: u64 = 0x4_0000;

/// Abbreviations of all units: the codes are the constants below.
const ABBREVIATIONS: &[u8] = &[
    // DW_TAG_compile_unit: DW_AT_name, DW_AT_comp_dir, DW_AT_stmt_list, DW_AT_language.
    1, 0x11, 1, 0x03, 0x08, 0x1b, 0x08, 0x10, 0x17, 0x13, 0x0f, 0, 0, //
    // DW_TAG_subprogram, without and with children: DW_AT_name, DW_AT_low_pc, DW_AT_high_pc.
    2, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x0f, 0, 0, //
    3, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x0f, 0, 0, //
    // DW_TAG_inlined_subroutine: DW_AT_abstract_origin, DW_AT_low_pc, DW_AT_high_pc, DW_AT_call_line.
    4, 0x1d, 1, 0x31, 0x13, 0x11, 0x01, 0x12, 0x0f, 0x59, 0x0f, 0, 0, //
    // DW_TAG_GNU_call_site: DW_AT_abstract_origin, DW_AT_low_pc.
    5, 0x89, 0x82, 0x01, 0, 0x31, 0x13, 0x11, 0x01, 0, 0, //
    // DW_TAG_subprogram: DW_AT_name, DW_AT_ranges.
    6, 0x2e, 0, 0x03, 0x08, 0x55, 0x17, 0, 0, //
    // DW_TAG_subprogram: DW_AT_abstract_origin (of any unit), DW_AT_low_pc, DW_AT_high_pc.
    7, 0x2e, 0, 0x31, 0x10, 0x11, 0x01, 0x12, 0x0f, 0, 0, //
    // DW_TAG_compile_unit without anything.
    8, 0x11, 0, 0, 0, //
    // DW_TAG_subprogram: DW_AT_name, DW_AT_decl_file, DW_AT_decl_line, DW_AT_low_pc, DW_AT_high_pc.
    9, 0x2e, 0, 0x03, 0x08, 0x3a, 0x0f, 0x3b, 0x0f, 0x11, 0x01, 0x12, 0x0f, 0, 0, //
    // A skeleton: DW_AT_GNU_dwo_name, DW_AT_comp_dir, DW_AT_GNU_dwo_id, DW_AT_low_pc.
    10, 0x11, 0, 0xb0, 0x42, 0x08, 0x1b, 0x08, 0xb1, 0x42, 0x07, 0x11, 0x01, 0, 0, //
    // DW_TAG_imported_unit: DW_AT_import.
    11, 0x3d, 0, 0x18, 0x10, 0, 0, //
    // DW_TAG_compile_unit: DW_AT_name.
    12, 0x11, 0, 0x03, 0x08, 0, 0, //
    // DW_TAG_compile_unit: DW_AT_stmt_list, DW_AT_low_pc, DW_AT_high_pc.
    13, 0x11, 1, 0x10, 0x17, 0x11, 0x01, 0x12, 0x0f, 0, 0, //
    // DW_TAG_type_unit: DW_AT_stmt_list.
    14, 0x41, 0, 0x10, 0x17, 0, 0, //
    0,
];

/// Abbreviations: of a unit with functions, of an empty one, of one with a name, and of a skeleton.
pub(super) const ROOT: u64 = 1;
pub(super) const FUNCTION: u64 = 2;
pub(super) const OPEN_FUNCTION: u64 = 3;
pub(super) const INLINED: u64 = 4;
pub(super) const CALL: u64 = 5;
pub(super) const RANGED: u64 = 6;
pub(super) const INSTANCE: u64 = 7;
pub(super) const EMPTY: u64 = 8;
pub(super) const DECLARED: u64 = 9;
pub(super) const SKELETON: u64 = 10;
pub(super) const IMPORT: u64 = 11;
pub(super) const NAMED: u64 = 12;
pub(super) const PLACED_ROOT: u64 = 13;
pub(super) const TYPES: u64 = 14;

/// DW_LANG_C and DW_LANG_Rust.
pub(super) const C: u64 = 2;
pub(super) const RUST: u64 = 0x1c;

/// A program as far as it is made.
#[derive(Default)]
pub struct Made {
    pub(super) info: Vec<u8>,
    pub(super) line: Vec<u8>,
    pub(super) ranges: Vec<u8>,
    /// Entries of `.symtab` after the first, and their names.
    symbols: Vec<u8>,
    names: Vec<u8>,
    /// Relocations of the code that the linker kept, of symbol 1.
    pub(super) relocations: Vec<u8>,
    /// Other sections: name and bytes.
    pub(super) sections: Vec<(&'static str, Vec<u8>)>,
    /// Files beside the program: name and bytes.
    pub beside: Vec<(&'static str, Vec<u8>)>,
}

pub(crate) fn uleb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// An entry: its abbreviation, and values that are written already.
pub(super) fn entry(out: &mut Vec<u8>, code: u64, values: &[&[u8]]) {
    uleb(out, code);
    values.iter().for_each(|value| out.extend_from_slice(value));
}

pub(super) fn number(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    uleb(&mut out, value);
    out
}

/// A function without children: name, start, bytes.
pub(super) fn function(out: &mut Vec<u8>, name: &[u8], start: u64, len: u64) {
    entry(out, FUNCTION, &[name, &[0], &start.to_le_bytes(), &number(len)]);
}

/// `DW_LNE_set_address`.
pub(super) fn set_address(out: &mut Vec<u8>, address: u64) {
    out.extend([0, 9, 2]);
    out.extend(address.to_le_bytes());
}

/// A sequence of one row.
pub(super) fn sequence(out: &mut Vec<u8>, start: u64, end: u64, line: u64) {
    set_address(out, start);
    // DW_LNS_advance_line, DW_LNS_copy.
    out.extend([3, line as u8 & 0x3f, 1]);
    set_address(out, end);
    out.extend([0, 1, 1]);
}

impl Made {
    /// A unit of DWARF 4 of these entries.
    pub(super) fn unit(&mut self, entries: &[u8]) {
        self.info.extend((entries.len() as u32 + 7).to_le_bytes());
        self.info.extend(4_u16.to_le_bytes());
        self.info.extend(0_u32.to_le_bytes());
        self.info.push(8);
        self.info.extend_from_slice(entries);
    }

    /// A unit with a name, a language, and the line program of these opcodes, around entries that `fill` adds.
    pub(super) fn code_unit(&mut self, language: u64, opcodes: &[u8], fill: impl FnOnce(&mut Vec<u8>)) {
        let program = self.line_program(&[b"\0unit.c\0\0\0\0\0"], opcodes);
        self.unit_of_program(language, program, fill);
    }

    pub(super) fn unit_of_program(&mut self, language: u64, program: u32, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut entries = Vec::new();
        let root = [&b"unit.c\0/made\0"[..], &program.to_le_bytes(), &number(language)];
        entry(&mut entries, ROOT, &root);
        fill(&mut entries);
        entries.push(0);
        self.unit(&entries);
    }

    /// A type unit of DWARF 5 that names a line program.
    pub(super) fn type_unit(&mut self, program: u32, signature: u64) {
        let mut entries = Vec::new();
        entry(&mut entries, TYPES, &[&program.to_le_bytes()]);
        self.info.extend((entries.len() as u32 + 20).to_le_bytes());
        // Version 5, type unit, addresses of 8 bytes; the offset of the type is that of the root.
        self.info.extend([5, 0, 2, 8, 0, 0, 0, 0]);
        self.info.extend(signature.to_le_bytes());
        self.info.extend(24_u32.to_le_bytes());
        self.info.extend_from_slice(&entries);
    }

    /// A line program with these tables of directories and files, and its offset.
    pub(super) fn line_program(&mut self, tables: &[&[u8]], opcodes: &[u8]) -> u32 {
        let tables = tables.concat();
        let fixed = [1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
        let at = self.line.len() as u32;
        let header = (fixed.len() + tables.len()) as u32;
        self.line.extend((header + 6 + opcodes.len() as u32).to_le_bytes());
        self.line.extend(4_u16.to_le_bytes());
        self.line.extend(header.to_le_bytes());
        self.line.extend(fixed);
        self.line.extend(tables);
        self.line.extend_from_slice(opcodes);
        at
    }

    /// A function symbol.
    pub(super) fn symbol(&mut self, name: &[u8], address: u64, size: u64) {
        self.symbols.extend((self.names.len() as u32 + 1).to_le_bytes());
        self.symbols.extend([0x12, 0, 1, 0]);
        self.symbols.extend([address, size].map(u64::to_le_bytes).concat());
        self.names.extend_from_slice(name);
        self.names.push(0);
    }

    /// A file of only these sections: a `.dwo`.
    pub(super) fn object(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut image = Image::new();
        sections.iter().for_each(|(name, bytes)| image.add(name, 1, 0, 0, [0, 0, 0], bytes.to_vec()));
        image.finish()
    }

    /// The program. With `compressed` all debug sections are, by zstd.
    ///
    /// # Errors
    /// Errors of zstd.
    pub fn program(&self, compressed: bool) -> io::Result<Vec<u8>> {
        let debug = [
            (".debug_info", &self.info[..]),
            (".debug_abbrev", ABBREVIATIONS),
            (".debug_line", &self.line),
            (".debug_ranges", &self.ranges),
        ];
        let others = self.sections.iter().map(|(name, bytes)| (*name, &bytes[..]));
        let mut image = Image::new();
        image.add(".text", 1, 6, CODE, [0, 0, 0], vec![0x90; CODE_LEN as usize]);
        let tables = (image.headers.len() / 64 + debug.len() + self.sections.len()) as u32;
        for (name, bytes) in debug.into_iter().chain(others) {
            if compressed && name.starts_with(".debug") {
                let header = [2, bytes.len() as u64, 1].map(u64::to_le_bytes).concat();
                let packed = zstd::bulk::compress(bytes, 19)?;
                image.add(name, 1, 0x800, 0, [0, 0, 0], [header, packed].concat());
            } else {
                image.add(name, 1, 0, 0, [0, 0, 0], bytes.to_vec());
            }
        }
        image.add(".symtab", 2, 0, 0, [tables + 1, 1, 24], [&[0; 24][..], &self.symbols].concat());
        image.add(".strtab", 3, 0, 0, [0, 0, 0], [&[0][..], &self.names].concat());
        if !self.relocations.is_empty() {
            image.add(".rela.text", 4, 0x40, 0, [tables, 1, 24], self.relocations.clone());
        }
        Ok(image.finish())
    }
}

/// An ELF file as far as it is written.
struct Image {
    out: Vec<u8>,
    headers: Vec<u8>,
    names: Vec<u8>,
}

impl Image {
    fn new() -> Image {
        Image { out: vec![0; 64], headers: vec![0; 64], names: vec![0] }
    }

    /// `other`: link, info and bytes of an entry.
    fn add(&mut self, name: &str, kind: u32, flags: u64, address: u64, other: [u32; 3], bytes: Vec<u8>) {
        let [link, info, entry] = other;
        self.headers.extend([self.names.len() as u32, kind].map(u32::to_le_bytes).concat());
        let words = [flags, address, self.out.len() as u64, bytes.len() as u64];
        self.headers.extend(words.map(u64::to_le_bytes).concat());
        self.headers.extend([link, info].map(u32::to_le_bytes).concat());
        self.headers.extend([1, u64::from(entry)].map(u64::to_le_bytes).concat());
        self.names.extend_from_slice(name.as_bytes());
        self.names.push(0);
        self.out.extend(bytes);
    }

    fn finish(mut self) -> Vec<u8> {
        let names = [&self.names[..], b".shstrtab\0"].concat();
        self.add(".shstrtab", 3, 0, 0, [0, 0, 0], names);
        let count = (self.headers.len() / 64) as u16;
        let table = self.out.len() as u64;
        let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        head.extend([2_u16, 62].map(u16::to_le_bytes).concat());
        head.extend(1_u32.to_le_bytes());
        head.extend([0, 0, table].map(u64::to_le_bytes).concat());
        head.extend(0_u32.to_le_bytes());
        head.extend([64, 0, 0, 64, count, count - 1].map(u16::to_le_bytes).concat());
        self.out[..64].copy_from_slice(&head);
        self.out.extend(self.headers);
        self.out
    }
}

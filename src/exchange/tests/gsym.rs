//! Reads exported GSYM files with a decoder of this test's own, written from the format's description, and compares what it
//! finds with the program's `.fsym`.

use std::path::Path;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_exchange::{BreakpadModule, GsymVersion, write_breakpad, write_gsym};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};

/// A decoder of one file: byte order little, as the test programs have it.
struct Gsym<'g> {
    bytes: &'g [u8],
    version: u64,
    base: u64,
    count: usize,
    /// Of the address offsets: their width, and where they begin.
    width: usize,
    offsets: usize,
    infos: usize,
    info_base: usize,
    files: usize,
    strings: usize,
}

fn int(bytes: &[u8], at: usize, width: usize) -> u64 {
    bytes[at..at + width].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

impl<'g> Gsym<'g> {
    fn open(bytes: &'g [u8]) -> Gsym<'g> {
        assert_eq!(int(bytes, 0, 4), 0x4753_594d);
        let (version, width) = (int(bytes, 4, 2), usize::from(bytes[6]));
        let (base, count) = (int(bytes, 8, 8), int(bytes, 16, 4) as usize);
        let mut gsym = Gsym {
            bytes,
            version,
            base,
            count,
            width,
            offsets: 0,
            infos: 0,
            info_base: 0,
            files: 0,
            strings: 0,
        };
        if version == 1 {
            gsym.offsets = 48_usize.next_multiple_of(width);
            gsym.infos = (gsym.offsets + width * count).next_multiple_of(4);
            gsym.files = gsym.infos + 4 * count;
            gsym.strings = int(bytes, 20, 4) as usize;
            let files = int(bytes, gsym.files, 4) as usize;
            assert_eq!(gsym.strings, gsym.files + 4 + 8 * files);
            return gsym;
        }
        for entry in (20..).step_by(20) {
            let (kind, place) = (int(bytes, entry, 4), int(bytes, entry + 4, 8) as usize);
            match kind {
                0 => break,
                1 => gsym.offsets = place,
                2 => gsym.infos = place,
                3 => gsym.strings = place,
                4 => gsym.files = place,
                5 => gsym.info_base = place,
                6 => {}
                other => panic!("section {other}"),
            }
        }
        gsym
    }

    fn string(&self, offset: u64) -> String {
        let text = &self.bytes[self.strings + offset as usize..];
        let end = text.iter().position(|byte| *byte == 0).unwrap();
        String::from_utf8(text[..end].to_vec()).unwrap()
    }

    fn path(&self, index: u64) -> String {
        let width = if self.version == 1 { 4 } else { 8 };
        let at = self.files + 4 + 2 * width * index as usize;
        let (folder, base) = (int(self.bytes, at, width), int(self.bytes, at + width, width));
        match self.string(folder) {
            folder if folder.is_empty() => self.string(base),
            folder if folder.ends_with('/') => folder + &self.string(base),
            folder => format!("{folder}/{}", self.string(base)),
        }
    }

    /// The functions at an address: name, then frames innermost first (name, path, line).
    fn at(&self, address: u64) -> Vec<Vec<(String, String, u64)>> {
        let start = |index: usize| self.base + int(self.bytes, self.offsets + index * self.width, self.width);
        let Some(index) = (0..self.count).rev().find(|&index| start(index) <= address) else {
            return Vec::new();
        };
        let width = if self.version == 1 { 4 } else { 8 };
        let place = int(self.bytes, self.infos + index * width, width) as usize + self.info_base;
        assert_eq!(place % 4, 0);
        let mut found = Vec::new();
        self.function(&self.bytes[place..], start(index), address, &mut found);
        found
    }

    /// Decodes a record; gives its bytes.
    fn function(
        &self,
        bytes: &[u8],
        start: u64,
        address: u64,
        found: &mut Vec<Vec<(String, String, u64)>>,
    ) -> usize {
        let string = if self.version == 1 { 4 } else { 8 };
        let size = int(bytes, 0, 4);
        let name = self.string(int(bytes, 4, string));
        assert!(!name.is_empty());
        let inside = address < start + size;
        let mut at = 4 + string;
        let mut place = (String::new(), 0);
        let mut frames = Vec::new();
        let slot = found.len();
        loop {
            let (kind, len) = (int(bytes, at, 4), int(bytes, at + 4, 4) as usize);
            let part = &bytes[at + 8..at + 8 + len];
            at += 8 + len;
            match kind {
                0 => break,
                1 => {
                    let (file, line) = line_at(part, address - start);
                    place = (self.path(file), line);
                }
                2 => {
                    let mut cursor = Cursor { bytes: part, at: 0 };
                    self.inlined(&mut cursor, start, start, address, &mut frames);
                    assert_eq!(cursor.at, part.len());
                }
                3 => {
                    let mut next = 4;
                    for _ in 0..int(part, 0, 4) {
                        let len = int(part, next, 4) as usize;
                        let used = self.function(&part[next + 4..next + 4 + len], start, address, found);
                        assert_eq!(used, len);
                        next += 4 + len;
                    }
                    assert_eq!(next, len);
                }
                4 => {
                    let mut next = 4;
                    for _ in 0..int(part, 0, 4) {
                        assert!((1..size).contains(&int(part, next, 8)));
                        let count = int(part, next + 9, 4) as usize;
                        for expression in 0..count {
                            let text = self.string(int(part, next + 13 + string * expression, string));
                            assert!(text.starts_with('^') && text.ends_with('$'), "{text}");
                        }
                        next += 13 + string * count;
                    }
                    assert_eq!(next, len);
                }
                other => panic!("part {other}"),
            }
        }
        if inside {
            // `frames` are the inlined calls from the outside in, with where each was called.
            let mut answer = Vec::new();
            let mut outer = name;
            let mut lines = Vec::new();
            for (callee, file, line) in frames {
                lines.push((outer, file, line));
                outer = callee;
            }
            answer.push((outer, place.0, place.1));
            answer.extend(lines.into_iter().rev());
            found.insert(slot, answer);
        }
        at
    }

    fn inlined(
        &self,
        cursor: &mut Cursor<'_>,
        start: u64,
        base: u64,
        address: u64,
        frames: &mut Vec<(String, String, u64)>,
    ) -> bool {
        let count = cursor.uleb();
        if count == 0 {
            return false;
        }
        let root = base == start && frames.is_empty() && cursor.at == 1;
        let ranges: Vec<(u64, u64)> = (0..count)
            .map(|_| {
                let from = base + cursor.uleb();
                (from, from + cursor.uleb())
            })
            .collect();
        let has_children = cursor.byte();
        let string = if self.version == 1 { 4 } else { 8 };
        let name = self.string(cursor.int(string));
        let (file, line) = (self.path(cursor.uleb()), cursor.uleb());
        let mut inner = Vec::new();
        let here = ranges.iter().any(|range| (range.0..range.1).contains(&address));
        if here && !root {
            inner.push((name, file, line));
        }
        if has_children != 0 {
            while self.inlined(cursor, start, ranges[0].0, address, &mut inner) {}
        }
        if here {
            frames.extend(inner);
        }
        true
    }
}

struct Cursor<'c> {
    bytes: &'c [u8],
    at: usize,
}

impl Cursor<'_> {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }

    fn int(&mut self, width: usize) -> u64 {
        self.at += width;
        int(self.bytes, self.at - width, width)
    }

    fn uleb(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }

    fn sleb(&mut self) -> i64 {
        let (mut value, mut shift) = (0_i64, 0);
        loop {
            let byte = self.byte();
            value |= i64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return if byte & 0x40 != 0 { value | -1 << shift } else { value };
            }
        }
    }
}

fn line_at(table: &[u8], offset: u64) -> (u64, u64) {
    let mut cursor = Cursor { bytes: table, at: 0 };
    let (min, max) = (cursor.sleb(), cursor.sleb());
    let (mut address, mut file, mut line) = (0, 1, cursor.uleb() as i64);
    let mut found = (0, 0);
    loop {
        match cursor.byte() {
            0 => return found,
            1 => {
                file = cursor.uleb();
                continue;
            }
            2 => address += cursor.uleb(),
            3 => {
                line += cursor.sleb();
                continue;
            }
            code => {
                let (adjusted, range) = (i64::from(code) - 4, max - min + 1);
                line += min + adjusted % range;
                address += (adjusted / range) as u64;
            }
        }
        if address <= offset {
            found = (file, line as u64);
        }
    }
}

fn converted(program: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program.fsym");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built").join(program);
    convert(&program, &path, &Options::default(), &NoProgress).unwrap();
    std::fs::read(path).unwrap()
}

fn text(visit: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = Vec::new();
    visit(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

/// The frames of one function, as the `.fsym` has them.
fn frames_of(file: &SymbolFile<'_>, frames: &Frames) -> Vec<(String, String, u64)> {
    let frame = |frame: foldsym_lookup::Frame| {
        let name = frame.name.map_or_else(String::new, |name| {
            text(|out| file.records().names().visit(name.0, |piece| out.extend_from_slice(piece)).unwrap())
        });
        let path = frame.file.map_or_else(String::new, |path| {
            text(|out| file.records().files().visit(path.0, |piece| out.extend_from_slice(piece)).unwrap())
        });
        (name, path, u64::from(frame.line))
    };
    file.frames(frames).map(|found| frame(found.unwrap())).collect()
}

#[test]
fn every_address_has_the_functions_of_the_fsym() {
    for program in
        ["demo.elf", "inline.clang-dwarf5", "fold.clang-lld.set/program", "fold.gcc-gold.set/program"]
    {
        let bytes = converted(program);
        let file = SymbolFile::open(&bytes).unwrap();
        for version in [GsymVersion::V1, GsymVersion::V2] {
            let mut out = Vec::new();
            let summary = write_gsym(&file, version, &mut out).unwrap();
            let gsym = Gsym::open(&out);
            assert_eq!(gsym.count as u64, summary.ranges);
            let mut merged = 0;
            for id in 0..file.records().piece_count() {
                let piece = file.records().piece(foldsym_lookup::PieceId(id)).unwrap();
                for offset in (0..piece.body).step_by(3) {
                    let address = piece.start.0 + offset;
                    let mut frames = Frames::new();
                    let Lookup::Found(answer) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
                        panic!("{program} {address:#x}")
                    };
                    let found = gsym.at(address);
                    let count = answer.member_count();
                    assert_eq!(found.len() as u32, count, "{program} {address:#x}");
                    for (member, found) in (0..count).zip(found) {
                        if answer.group.is_some() {
                            file.member_frames(&answer, member, &mut frames).unwrap();
                        }
                        let mut expected = frames_of(&file, &frames);
                        if expected.last().is_some_and(|frame| frame.0.is_empty()) {
                            expected.last_mut().unwrap().0 = "??".to_owned();
                        }
                        assert_eq!(found, expected, "{program} {address:#x} {member}");
                    }
                    merged += u64::from(count > 1);
                }
            }
            assert_eq!(merged > 0, program.starts_with("fold"), "{program}");
            assert_eq!(summary.merged > 0, program.starts_with("fold"), "{program}");
        }
    }
}

#[test]
fn a_breakpad_file_has_one_function_for_each_range() {
    let bytes = converted("fold.clang-lld.set/program");
    let file = SymbolFile::open(&bytes).unwrap();
    let module = BreakpadModule { name: "program\nFUNC 0 1 0 evil", os: "Linux", debug_id: &"0".repeat(33) };
    let mut out = Vec::new();
    let summary = write_breakpad(&file, &module, &|_| None, None, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let first = text.lines().next().unwrap();
    assert_eq!(first, format!("MODULE Linux x86_64 {} program FUNC 0 1 0 evil", "0".repeat(33)));
    let functions = text.lines().filter(|line| line.starts_with("FUNC "));
    assert_eq!(functions.count() as u64, summary.ranges);
    let shared = text.lines().filter(|line| line.starts_with("FUNC m ")).count();
    assert!(shared > 0 && (shared as u64) < summary.ranges, "{shared}");
    for line in text.lines().filter(|line| line.starts_with("INLINE ")) {
        // Depth, line, file, origin, then pairs.
        assert!(line.split(' ').count() >= 7 && line.split(' ').count() % 2 == 1, "{line}");
    }
}

#[test]
fn a_damaged_file_is_an_error() {
    let bytes = converted("demo.elf");
    let mut refused = 0;
    for at in (bytes.len() / 8..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let Ok(file) = SymbolFile::open(&damaged) else { continue };
        for version in [GsymVersion::V1, GsymVersion::V2] {
            refused += u32::from(write_gsym(&file, version, &mut Vec::new()).is_err());
        }
        let module = BreakpadModule { name: "x", os: "Linux", debug_id: "0" };
        let _ = write_breakpad(&file, &module, &|_| None, None, &mut Vec::new());
    }
    assert!(refused > 0);
}

//! Breakpad symbol files that are imported answer as the reader of minidump-stackwalk does, at every address: those that dump_syms made, and
//! those that this crate writes of programs.

use std::path::{Path, PathBuf};

use breakpad_symbols::{FrameSymbolizer, SimpleModule, SymbolFile as Breakpad};
use foldsym_convert::{NoProgress, Options, convert_bytes};
use foldsym_exchange::{BreakpadModule, write_breakpad};
use foldsym_lookup::{Certainty, Frame, Frames, ImageAddr, Lookup, PieceId, SymbolFile};

/// Name, file and line of each frame, innermost first.
type Answer = Vec<(String, String, u32)>;

/// What the reader of minidump-stackwalk fills in, from the outside in.
struct Found {
    address: u64,
    frames: Answer,
}

impl FrameSymbolizer for Found {
    fn get_instruction(&self) -> u64 {
        self.address
    }
    fn set_function(&mut self, name: &str, _base: u64, _parameter_size: u32) {
        self.frames.push((name.to_owned(), String::new(), 0));
    }
    fn set_source_file(&mut self, file: &str, line: u32, _base: u64) {
        (self.frames[0].1, self.frames[0].2) = (file.to_owned(), line);
    }
    fn add_inline_frame(&mut self, name: &str, file: Option<&str>, line: Option<u32>) {
        self.frames.push((name.to_owned(), file.unwrap_or_default().to_owned(), line.unwrap_or(0)));
    }
}

fn minidump_stackwalk(symbols: &Breakpad, address: u64) -> Answer {
    let mut found = Found { address, frames: Vec::new() };
    symbols.fill_symbol(&SimpleModule::default(), &mut found);
    found.frames.reverse();
    found.frames
}

fn text(write: impl Fn(&mut [u8]) -> Option<usize>) -> String {
    let mut bytes = vec![0; 1 << 16];
    let len = write(&mut bytes).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

fn answer(file: &SymbolFile<'_>, address: u64) -> (Answer, Option<Certainty>) {
    let mut frames = Frames::new();
    let Lookup::Found(answer) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
        return (Vec::new(), None);
    };
    let of_frame = |frame: Frame| {
        let name = frame.name.map_or(String::new(), |id| text(|out| file.write_name(id, out)));
        let path = frame.file.map_or(String::new(), |id| text(|out| file.write_path(id, out)));
        // A line of an unknown file says nothing.
        let line = if path.is_empty() { 0 } else { frame.line };
        (name, path, line)
    };
    (file.frames(&frames).map(|frame| of_frame(frame.unwrap())).collect(), Some(answer.certainty))
}

fn imported(text: &[u8], options: &Options) -> (Vec<u8>, foldsym_convert::Report) {
    let mut bytes = Vec::new();
    let report = convert_bytes(Path::new("x.sym"), text, &mut bytes, options, &NoProgress).unwrap();
    SymbolFile::open(&bytes).unwrap().verify().unwrap();
    (bytes, report)
}

/// Compares all addresses of the functions, and those around them. Returns how many have an answer, and how many have inlined frames.
fn compare(name: &str, text: &[u8]) -> (u64, u64) {
    let (bytes, report) = imported(text, &Options::default());
    assert!(report.lost().is_empty(), "{name}: {:?}", report.warnings());
    let file = SymbolFile::open(&bytes).unwrap();
    let symbols = Breakpad::from_bytes(text).unwrap();
    let pieces = (0..file.records().piece_count()).map(|id| file.records().piece(PieceId(id)).unwrap());
    let (mut answers, mut inlined) = (0, 0);
    let mut last = 0;
    for piece in pieces {
        let end = piece.start.0 + piece.body;
        // Code of no function, too.
        for address in last.max(piece.start.0.saturating_sub(64))..end {
            let (own, certainty) = answer(&file, address);
            let mut theirs = minidump_stackwalk(&symbols, address);
            // dump_syms writes these where there is no name.
            theirs.retain(|frame| {
                !frame.0.starts_with("<unknown in ") && !frame.0.contains(" ELF section in ")
            });
            for frame in &mut theirs {
                if frame.0 == "<name omitted>" {
                    frame.0.clear();
                }
                if frame.1.is_empty() {
                    frame.2 = 0;
                }
            }
            assert_eq!(own, theirs, "{name}: {address:#x}");
            assert!(certainty.is_none_or(|certainty| certainty > Certainty::Exact), "{name}: {address:#x}");
            answers += u64::from(!own.is_empty());
            inlined += u64::from(own.len() > 1);
        }
        last = end;
    }
    (answers, inlined)
}

fn testbins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins")
}

#[test]
fn files_of_dump_syms_answer_as_in_minidump_stackwalk() {
    for (name, least) in [("dump_syms_regtest64.sym", (30_000, 0)), ("basic.full.inlines.sym", (300, 30))] {
        let text = std::fs::read(testbins().join("breakpad").join(name)).unwrap();
        let (answers, inlined) = compare(name, &text);
        assert!(answers > least.0 && inlined >= least.1, "{name}: {answers} {inlined}");
        // The same with the line ends of Windows.
        let text: Vec<u8> = text.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
        assert_eq!(compare(name, &text), (answers, inlined), "{name}");
    }
}

/// Symbol files of the test programs, as this crate writes them.
#[test]
fn exported_files_answer_as_in_minidump_stackwalk() {
    let mut folders = vec![testbins().join("built")];
    let (mut programs, mut all, mut inlined) = (0, 0, 0);
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name.ends_with(".set") && !name.starts_with("fold.") {
                folders.push(path);
                continue;
            }
            let Ok(program) = std::fs::read(&path) else { continue };
            let mut bytes = Vec::new();
            if !program.starts_with(b"\x7fELF")
                || convert_bytes(&path, &program, &mut bytes, &Options::default(), &NoProgress).is_err()
            {
                continue;
            }
            let file = SymbolFile::open(&bytes).unwrap();
            let module = BreakpadModule { name: "program", os: "Linux", debug_id: &"1".repeat(33) };
            let mut text = Vec::new();
            write_breakpad(&file, &module, &|_| None, None, &mut text).unwrap();
            if text.len() > 400_000 {
                continue;
            }
            let (answers, with_inlines) = compare(&path.display().to_string(), &text);
            programs += 1;
            all += answers;
            inlined += with_inlines;
        }
    }
    println!("{programs} programs, {all} addresses, {inlined} with inlined calls");
    assert!(programs > 30 && all > 20_000 && inlined > 2_000, "{programs} {all} {inlined}");
}

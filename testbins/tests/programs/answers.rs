//! Converts every committed program and asks the file for every address whose answer is known.

use std::path::Path;

use foldsym_convert::internal::verify_by_addr2line;
use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use foldsym_testbins::compare::{self, Frame, Outcome, compare};
use foldsym_testbins::expected::Expected;
use foldsym_testbins::root;

fn converted(expected: &Expected, folder: &Path) -> Vec<u8> {
    let output = folder.join("out.fsym");
    let options = Options::default().with(|options| {
        options.threads = 2;
        options.arch = expected.arch.clone();
        options.columns = true;
        options.name_index = true;
    });
    let built = root().join("built").join(&expected.program);
    // Away from `built`, so that no separate debug file is found beside the program.
    let input = if built.is_file() { folder.join("program") } else { built.clone() };
    if built.is_file() {
        std::fs::copy(&built, &input).unwrap();
    }
    convert(&input, &output, &options, &NoProgress)
        .unwrap_or_else(|error| panic!("{}: {error}", expected.program));
    std::fs::read(&output).unwrap()
}

/// Where the answers' addresses of a relocatable file are in ours: both lay the sections out one after
/// another, from different bases.
fn placed(expected: &Expected, file: &SymbolFile<'_>, address: u64) -> u64 {
    if !expected.relocatable {
        return address;
    }
    let (index, start) = expected
        .sections
        .iter()
        .enumerate()
        .find(|(_, (_, _, start, size))| (*start..start + size).contains(&address))
        .map(|(index, (_, _, start, _))| (index, *start))
        .unwrap_or_else(|| panic!("{}: {address:#x} is in no section", expected.program));
    let ours: Vec<u64> = file
        .records()
        .program_sections()
        .filter(|section| section.executable && section.len > 0)
        .map(|section| section.start.0)
        .collect();
    assert_eq!(ours.len(), expected.sections.len(), "{}: code sections", expected.program);
    address - start + ours[index]
}

fn text(bytes: Option<Vec<u8>>) -> String {
    bytes.map(|bytes| String::from_utf8(bytes).unwrap()).unwrap_or_default()
}

fn answer(file: &SymbolFile<'_>, frames: &mut Frames, address: u64) -> Vec<Frame> {
    let Lookup::Found(_) = file.lookup(ImageAddr(address), frames).unwrap() else { return Vec::new() };
    let mut buffer = vec![0; 1 << 16];
    file.frames(frames)
        .map(|frame| {
            let frame = frame.unwrap();
            let name = frame.name.map(|id| {
                let len = file.write_name(id, &mut buffer).unwrap();
                buffer[..len].to_vec()
            });
            let path = frame.file.map(|id| {
                let len = file.write_path(id, &mut buffer).unwrap();
                buffer[..len].to_vec()
            });
            Frame { name: text(name), file: text(path), line: frame.line, column: frame.column }
        })
        .collect()
}

fn outcome(expected: &Expected, folder: &Path) -> Outcome {
    let bytes = converted(expected, folder);
    let file = SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap_or_else(|error| panic!("{}: {error:?}", expected.program));
    let mut frames = Frames::new();
    let options = compare::Options { columns: true, dwarf_only: false };
    compare(expected, options, |address| answer(&file, &mut frames, placed(expected, &file, address)))
}

#[test]
fn every_program_answers_as_llvm_symbolizer() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths: Vec<_> =
        std::fs::read_dir(root().join("expected")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let only = std::env::var("ONLY").unwrap_or_default();
    let (mut wrong, mut asked) = (String::new(), 0);
    for path in paths.iter().filter(|path| path.to_string_lossy().contains(&only)) {
        let expected = Expected::load(path).unwrap();
        let outcome = outcome(&expected, folder.path());
        asked += outcome.addresses;
        if !outcome.mismatches.is_empty() {
            wrong += &format!("{}: {}\n", expected.program, outcome.describe(2));
        }
    }
    assert!(asked > 0);
    assert!(wrong.is_empty(), "{wrong}");
}

/// `verify --against` asks `addr2line`, too: it agrees with the file of every program, and not with that of another.
#[test]
fn addr2line_agrees_with_every_file_and_finds_those_of_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("fsym");
    let options = Options::default().with(|options| options.threads = 2);
    let (mut asked, mut not_asked) = (0, Vec::new());
    for entry in std::fs::read_dir(root().join("built")).unwrap() {
        let program = entry.unwrap().path();
        let name = program.file_name().unwrap().to_str().unwrap().to_owned();
        if !program.is_file() || !(name.starts_with("inline.") || name.starts_with("zero.")) {
            continue;
        }
        convert(&program, &output, &options, &NoProgress).unwrap();
        match verify_by_addr2line(&output, &program, &options).unwrap() {
            Ok(same) => {
                assert_eq!(same.count, 0, "{name}: {:#?}", same.examples);
                asked += same.asked;
            }
            Err(reason) => not_asked.push(format!("{name}: {reason}")),
        }
    }
    assert!(asked > 3000, "{asked}");
    assert_eq!(not_asked.len(), 1, "{not_asked:#?}");
    let built = |name: &str| root().join("built").join(name);
    convert(&built("inline.clang-dwarf5"), &output, &options, &NoProgress).unwrap();
    let other = verify_by_addr2line(&output, &built("inline.clang-dwarf5-o1"), &options).unwrap().unwrap();
    assert!(other.count > 50, "{}", other.count);
}

//! Checks that the committed files fit together: every program has its case and its answers, is small, and contains no path of one machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use foldsym_testbins::cases;
use foldsym_testbins::expected::{Expected, path_of};
use foldsym_testbins::program::{Program, architectures};
use foldsym_testbins::root;

const LARGEST: usize = 300_000;
const ALL_BUILT: usize = 10_000_000;
const ALL_EXPECTED: u64 = 3_000_000;

/// Entries of `built/` that are not a program: a recorded stack, a folder of programs.
fn is_program(file: &str) -> bool {
    !file.ends_with(".stack") && !file.ends_with(".set")
}

fn built() -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join("built")).unwrap();
    entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

fn files_below(path: &Path) -> Vec<PathBuf> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flat_map(|e| files_below(&e.unwrap().path())).collect(),
        Err(_) => vec![path.to_owned()],
    }
}

/// The file as it is, and every section of it decompressed.
fn texts(path: &Path) -> Vec<Vec<u8>> {
    use object::{Object, ObjectSection};
    let bytes = std::fs::read(path).unwrap();
    let mut texts = Vec::new();
    if let Ok(file) = object::File::parse(&*bytes) {
        let compressed = file.sections().filter(|s| {
            s.compressed_file_range().is_ok_and(|range| range.format != object::CompressionFormat::None)
        });
        texts.extend(compressed.map(|s| s.uncompressed_data().unwrap().into_owned()));
    }
    texts.push(bytes);
    texts
}

#[test]
fn every_program_has_a_case_and_every_variant_a_program() {
    let cases = cases::read_all(&root().join("cases")).unwrap();
    let of_cases: BTreeSet<String> =
        cases.iter().flat_map(|case| case.variants.iter().map(|v| v.file.clone())).collect();
    assert_eq!(of_cases, built());
    for (file, twin) in cases.iter().flat_map(|case| &case.same) {
        assert!(of_cases.contains(file) && of_cases.contains(twin), "{file} and {twin}");
    }
}

#[test]
fn every_program_has_answers_that_parse_and_cover_its_code() {
    let mut wanted = BTreeSet::new();
    for file in built().into_iter().filter(|f| is_program(f)) {
        let path = root().join("built").join(&file);
        let architectures = architectures(&path).unwrap();
        let archs = match architectures.is_empty() {
            true => vec![None],
            false => architectures.iter().map(|a| Some(a.as_str())).collect(),
        };
        for arch in archs {
            let answers = path_of(&root(), &file, arch);
            let expected = Expected::load(&answers).unwrap();
            wanted.insert(answers);
            assert_eq!((expected.program.as_str(), expected.arch.as_deref()), (file.as_str(), arch));
            assert_eq!(Expected::from_json(&expected.to_json()).unwrap(), expected, "{file}");
            let program = Program::open(&path, arch).unwrap();
            let code: Vec<_> =
                program.code.iter().map(|s| (s.index, s.name.clone(), s.address, s.size)).collect();
            assert_eq!(expected.sections, code, "{file}");
            let (asked, all) = (
                expected.runs.iter().map(|run| run.end - run.start).sum::<u64>(),
                code.iter().map(|(.., size)| size).sum::<u64>(),
            );
            assert!(asked == all || !expected.every_address && asked > 1000, "{file}: {asked} of {all}");
            assert!(expected.runs.windows(2).all(|pair| pair[0].end <= pair[1].start), "{file}");
        }
    }
    let committed: BTreeSet<PathBuf> = files_below(&root().join("expected")).into_iter().collect();
    assert_eq!(committed, wanted);
}

#[test]
fn no_file_is_large() {
    let mut total = 0;
    for path in files_below(&root().join("built")) {
        let size = std::fs::metadata(&path).unwrap().len() as usize;
        assert!(size < LARGEST, "{}: {size}", path.display());
        total += size;
    }
    assert!(total < ALL_BUILT, "{total}");
    let answers = files_below(&root().join("expected"));
    let total: u64 = answers.iter().map(|p| std::fs::metadata(p).unwrap().len()).sum();
    assert!(total < ALL_EXPECTED, "{total}");
}

#[test]
fn no_file_names_a_machine() {
    // Spelled so that this source does not contain them.
    let machine: Vec<String> = ["work", "tmp", "root", "home"].iter().map(|dir| format!("/{dir}/")).collect();
    for folder in ["built", "expected"] {
        for path in files_below(&root().join(folder)) {
            for text in texts(&path) {
                for dir in &machine {
                    let found = text.windows(dir.len()).position(|at| at == dir.as_bytes());
                    if let Some(at) = found {
                        let end = text[at..].iter().position(|b| *b == 0).map_or(text.len(), |n| at + n);
                        panic!("{}: {}", path.display(), String::from_utf8_lossy(&text[at..end]));
                    }
                }
            }
        }
    }
}

//! Inputs that are not programs, programs without debug information, and past findings.

use foldsym_testbins::root;

use crate::harness::{Bench, Outcome};

#[test]
fn what_is_no_program_is_refused_in_one_line() {
    let bench = Bench::new();
    let folder = bench.input("folder");
    std::fs::create_dir(&folder).unwrap();
    assert!(bench.refused(&folder).ends_with("is a directory, expected a regular file"));
    let missing = bench.input("missing");
    assert!(bench.refused(&missing).contains("cannot open"));
    for (name, bytes, expected) in [
        ("empty", &b""[..], "an empty file, expected an ELF or Mach-O file"),
        ("text", b"int main() {}\n", "begins with \"int \", expected an ELF or Mach-O file"),
        (
            "archive",
            b"!<arch>\n",
            "an archive; --out-dir takes a file for each member, expected an ELF or Mach-O file",
        ),
        ("short", b"\x7fEL", "begins with \"\\x7fEL\", expected an ELF or Mach-O file"),
    ] {
        let path = bench.input(name);
        std::fs::write(&path, bytes).unwrap();
        let message = bench.refused(&path);
        assert_eq!(message, format!("{}: {expected}", path.display()));
    }
}

/// To open a FIFO would wait for a writer.
#[cfg(unix)]
#[test]
fn a_fifo_is_refused_and_not_waited_for() {
    let bench = Bench::new();
    let path = bench.input("fifo");
    match std::process::Command::new("mkfifo").arg(&path).status() {
        Ok(status) if status.success() => {}
        // Without the tool there is no FIFO to test with.
        _ => return,
    }
    assert!(bench.refused(&path).ends_with("is a FIFO, socket or device, expected a regular file"));
}

#[test]
fn a_program_without_debug_information_gives_its_symbols_and_says_so() {
    let bench = Bench::new();
    let bytes = std::fs::read(root().join("built/inline.clang-symbols-only")).unwrap();
    let kept = bench.kept(&bytes);
    assert!(kept.report.summary().starts_with("no debug information, symbols alone; "));
    assert_eq!(kept.report.counts.units, 0);
    assert_eq!(kept.report.decided.symbol_only, kept.report.decided.functions);
    let with_debug = std::fs::read(root().join("built/inline.clang-dwarf5")).unwrap();
    let with_debug = bench.kept(&with_debug);
    assert!(!with_debug.report.summary().contains("symbols alone"));
    let file = foldsym_lookup::SymbolFile::open(&kept.bytes).unwrap();
    assert!(file.records().piece_count() > 0);
    for id in 0..file.records().piece_count() {
        let piece = file.records().piece(foldsym_lookup::PieceId(id)).unwrap();
        let (name, path, line) = kept.frame(piece.start.0);
        assert!(!name.is_empty());
        assert_eq!((path.as_str(), line), ("", 0));
    }
}

/// Every file of `broken/` once caused a panic or a hang, or lost more than it had to; its README describes what was wrong.
#[test]
fn past_findings_stay_found() {
    let bench = Bench::new();
    let folder = root().join("broken");
    let stories = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut wrong = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        // A `.fsym` is refused here; `tests/steps.rs` asks it.
        assert!(stories.contains(&format!("| `{name}` |")), "{name} has no story in broken/README.md");
        let outcome = bench.try_bytes(&std::fs::read(&path).unwrap());
        match outcome {
            Ok(Outcome::Kept(_) | Outcome::Refused(_)) => {}
            Err(problem) => wrong += &format!("{name}: {problem}\n"),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

//! Nothing is lost in silence: a warning for each program, counts in the total, `--strict`, `--require-debug-info`, and a
//! report that has a line for each program.

use crate::common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use common::{Ran, command, file, foldsym, program};
use serde_json::Value;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

struct Converted {
    ran: Ran,
    report: Value,
}

impl Converted {
    fn kinds(&self) -> Vec<&str> {
        let warnings = self.report["warnings"].as_array().unwrap();
        warnings.iter().map(|warning| warning["kind"].as_str().unwrap()).collect()
    }

    fn info(&self) -> &str {
        self.report["debug_info"].as_str().unwrap()
    }
}

/// Converts a program with more options and gives its report.
fn convert(input: &Path, more: &[&str]) -> Converted {
    let folder = tempfile::tempdir().unwrap();
    let (out, report) = (folder.path().join("a.fsym"), folder.path().join("r.json"));
    let base = ["convert", text(input), "-o", text(&out), "--report", text(&report)];
    let ran = foldsym(&[&base, more].concat());
    let report = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    Converted { ran, report }
}

/// The split program without its `.dwo` files, except the named ones.
fn split(folder: &Path, dwos: &[&str]) -> PathBuf {
    let set = program("split.clang-dwarf5.set");
    let copy = folder.join("split");
    std::fs::copy(set.join("split"), &copy).unwrap();
    for dwo in dwos {
        std::fs::copy(set.join(dwo), folder.join(dwo)).unwrap();
    }
    copy
}

#[test]
fn a_whole_program_has_no_losses() {
    let whole = convert(&program("demo.elf"), &["--strict", "--require-debug-info"]);
    assert_eq!((whole.ran.code, whole.info()), (0, "full"), "{whole:?}", whole = whole.ran);
    assert!(!whole.ran.err.contains("lost") && whole.report["warnings"].is_array(), "{}", whole.report);
}

#[test]
fn missing_dwo_files() {
    let folder = tempfile::tempdir().unwrap();
    let none = convert(&split(folder.path(), &[]), &[]);
    assert_eq!((none.ran.code, none.info()), (0, "lines"), "{:?}", none.ran);
    assert!(none.kinds().contains(&"missing_dwo"), "{}", none.report);
    let line = "split: warning: the .dwo files of all 2 units are not found: unit at .debug_info+0x";
    assert!(none.ran.err.contains(line), "{}", none.ran.err);
    let one = convert(&split(folder.path(), &["a.dwo"]), &[]);
    assert_eq!((one.ran.code, one.info()), (0, "partial"));
    assert!(one.ran.err.contains("the .dwo files of 1 of 2 units are not found"), "{}", one.ran.err);
    std::fs::remove_file(folder.path().join("a.dwo")).unwrap();
    // `--quiet` hides progress and the summary, and no warnings.
    let strict = convert(&split(folder.path(), &[]), &["--strict", "--quiet"]);
    assert_eq!((strict.ran.code, strict.ran.out.as_str()), (4, ""));
    assert!(strict.ran.err.contains("the .dwo files of all 2 units"), "{}", strict.ran.err);
    let quiet = convert(&split(folder.path(), &[]), &["--quiet"]);
    assert_eq!((quiet.ran.code, quiet.ran.out.as_str()), (0, ""));
    assert!(quiet.ran.err.contains("the .dwo files of all 2 units"), "{}", quiet.ran.err);
    // The `.dwo` files of another build.
    let other = program("split.gcc-dwarf4.set");
    for dwo in ["a.dwo", "b.dwo"] {
        std::fs::copy(other.join(dwo), folder.path().join(dwo)).unwrap();
    }
    let wrong = convert(&split(folder.path(), &[]), &["--strict"]);
    assert_eq!((wrong.ran.code, wrong.kinds().contains(&"wrong_dwo")), (4, true), "{}", wrong.report);
}

#[test]
fn debug_files_that_are_missing_or_of_another_build() {
    let folder = tempfile::tempdir().unwrap();
    let set = program("split.clang-dwarf5.set");
    let app = folder.path().join("stripped");
    std::fs::copy(set.join("stripped"), &app).unwrap();
    let missing = convert(&app, &[]);
    assert_eq!((missing.ran.code, missing.info()), (0, "none"));
    assert!(missing.kinds().contains(&"missing_debug_file"), "{}", missing.report);
    assert!(missing.ran.err.contains("warning: no debug information, the debug file was not found: "));
    let beside = folder.path().join("stripped.debug");
    std::fs::copy(program("split.gcc-dwarf4.set").join("stripped.debug"), &beside).unwrap();
    let wrong = convert(&app, &["--strict"]);
    assert_eq!((wrong.ran.code, wrong.info()), (4, "none"));
    assert!(wrong.kinds().contains(&"wrong_debug_file"), "{}", wrong.report);
    assert!(wrong.ran.err.contains("the debug file is of another build: "), "{}", wrong.ran.err);
    std::fs::write(&beside, "no object").unwrap();
    assert!(convert(&app, &[]).kinds().contains(&"unreadable_debug_file"));
}

#[test]
fn programs_without_debug_information_are_counted() {
    let without = program("inline.clang-symbols-only");
    let plain = convert(&without, &[]);
    assert_eq!((plain.ran.code, plain.info()), (0, "none"));
    assert!(plain.ran.err.contains(": warning: no debug information, symbols alone\n"), "{}", plain.ran.err);
    // It has no debug information to lose.
    assert_eq!(convert(&without, &["--strict"]).ran.code, 0);
    assert_eq!(convert(&without, &["--require-debug-info"]).ran.code, 4);
    let folder = tempfile::tempdir().unwrap();
    let lost = split(folder.path(), &[]);
    let dir = folder.path().join("out");
    let ran = foldsym(&[
        "convert",
        text(&without),
        text(&program("demo.elf")),
        text(&lost),
        "--out-dir",
        text(&dir),
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let total = "3 converted (of these 1 without debug information, 1 with losses), 0 failed\n";
    assert!(ran.out.ends_with(total), "{}", ran.out);
}

#[test]
fn a_damaged_unit_is_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(program("demo.elf")).unwrap();
    // The version of the first unit, after its length.
    let info = {
        use object::{Object, ObjectSection};
        let parsed = object::File::parse(&*bytes).unwrap();
        parsed.section_by_name(".debug_info").unwrap().file_range().unwrap().0 as usize
    };
    bytes[info + 4..info + 6].copy_from_slice(&[0xff, 0xff]);
    let damaged = convert(&file(folder.path(), "damaged", &bytes), &["--strict"]);
    assert_eq!((damaged.ran.code, damaged.info()), (4, "partial"), "{}", damaged.report);
    assert!(damaged.kinds().contains(&"lost_units"), "{}", damaged.report);
    assert!(damaged.ran.err.contains("warning: 1 units are lost or incomplete, the first: "));
}

/// If a relocation of debug information has an unknown type, the unrelocated bytes are not read: only symbols are left, and the report says
/// so.
#[test]
fn debug_information_with_an_unknown_relocation_is_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let name = "inline.clang.o";
    let mut bytes = std::fs::read(program(name)).unwrap();
    let at = {
        use object::{Object, ObjectSection};
        let parsed = object::File::parse(&*bytes).unwrap();
        parsed.section_by_name(".rela.debug_info").unwrap().file_range().unwrap().0 as usize
    };
    // r_info: the type is its lower half (ELF-64 gABI).
    bytes[at + 8..at + 12].copy_from_slice(&99_u32.to_le_bytes());
    let lost = convert(&file(folder.path(), name, &bytes), &["--strict"]);
    assert_eq!((lost.ran.code, lost.kinds().contains(&"unknown_relocations")), (4, true), "{}", lost.report);
    assert!(lost.ran.err.contains(": warning: ") && lost.ran.err.contains("EM_X86_64"), "{}", lost.ran.err);
    let [fsym, whole] = ["lost.fsym", "whole.fsym"].map(|name| folder.path().join(name));
    for (input, output) in [(folder.path().join(name), &fsym), (program(name), &whole)] {
        assert_eq!(foldsym(&["convert", "-q", text(&input), "-o", text(output)]).code, 0);
    }
    let lines = |fsym: &Path| {
        foldsym(&["lookup", text(fsym), ".text:0x10", "--json"]).json()[0]["Symbol"][0]["Line"].clone()
    };
    assert_eq!((lines(&fsym) == 0, lines(&whole) == 0), (true, false));
}

#[test]
fn a_program_without_a_build_id_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(program("demo.elf")).unwrap();
    let note = bytes.windows(4).position(|bytes| bytes == b"GNU\0").unwrap();
    bytes[note..note + 3].copy_from_slice(b"XYZ");
    let without = convert(&file(folder.path(), "without", &bytes), &["--strict"]);
    assert_eq!((without.ran.code, without.info()), (0, "full"), "{}", without.report);
    assert_eq!(without.kinds(), ["no_build_id"]);
    assert!(without.ran.err.contains("without: warning: no build id"), "{}", without.ran.err);
    // Objects have no build id before they are linked.
    assert!(!convert(&program("inline.clang-sections.o"), &[]).kinds().contains(&"no_build_id"));
}

/// The first program is there in the report while the second is still waited for.
#[cfg(unix)]
#[test]
fn the_report_of_many_is_there_after_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, report) = (folder.path().join("out"), folder.path().join("r.jsonl"));
    std::fs::write(&report, "{\"old\": true}\n").unwrap();
    let many: Vec<PathBuf> = (0..60)
        .map(|number| {
            let copy = folder.path().join(format!("app{number}"));
            std::fs::copy(program("demo.elf"), &copy).unwrap();
            copy
        })
        .collect();
    let mut command = common::command();
    command.arg("convert").args(&many).arg("--out-dir").arg(&dir).arg("--report").arg(&report);
    let mut child = command.args(["--threads", "1"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
    assert!(line.contains("app0.fsym: "), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    let written = std::fs::read_to_string(&report).unwrap();
    let entries: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!entries.is_empty() && written.ends_with('\n') && !written.contains("\"old\":"), "{written}");
    for entry in &entries {
        assert!(Path::new(entry["output"].as_str().unwrap()).exists());
        assert_eq!(entry["debug_info"], "full");
        assert!(entry["build_id"].as_str().unwrap().len() >= 16 && entry["arch"] == "x86_64", "{entry}");
    }
}

/// An error of a batch is printed when it happens. The test does not read standard output yet, so the lines of the other programs fill its
/// pipe, and the command cannot end before the error is read.
#[test]
fn errors_of_a_batch_come_at_once() {
    const PIPE: usize = 64 << 10;
    let folder = tempfile::tempdir().unwrap();
    let bad = file(folder.path(), "bad.elf", b"\x7fELF");
    let (inputs, out) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::create_dir(&inputs).unwrap();
    let name = "n".repeat(200);
    let many = 2 * PIPE / name.len();
    let whole = program("zero.elf");
    for index in 0..many {
        std::fs::copy(&whole, inputs.join(format!("{name}{index}"))).unwrap();
    }
    let mut batch = command();
    batch.args(["convert", text(&bad), text(&inputs), "--out-dir", text(&out), "--threads", "1"]);
    let mut child = batch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let err = child.stderr.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(err).lines() {
            let _ = sender.send(line.unwrap());
        }
    });
    let mut first = receiver.recv_timeout(Duration::from_secs(100));
    while first.as_ref().is_ok_and(|line| !line.contains("bad.elf")) {
        first = receiver.recv_timeout(Duration::from_secs(100));
    }
    let ended = child.try_wait().unwrap();
    if first.is_err() {
        child.kill().unwrap();
    }
    let ran = child.wait_with_output().unwrap();
    reader.join().unwrap();
    assert!(first.is_ok() && ended.is_none(), "the error came {first:?} after {ended:?}");
    let total = format!("{many} converted");
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(
        (ran.status.code(), printed.contains(&total), printed.contains("1 failed")),
        (Some(4), true, true)
    );
}

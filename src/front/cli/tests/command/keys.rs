//! Every key of a report and of an answer is in the documents, and every warning of a report.

use crate::common;

use std::collections::BTreeSet;

use common::{Fsym, foldsym, foldsym_with, program};
use serde_json::Value;

fn root(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path);
    std::fs::read_to_string(path).unwrap()
}

/// The first column of the tables of a document.
fn documented(path: &str) -> BTreeSet<String> {
    let text = root(path);
    let cell = |line: &str| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned());
    text.lines().filter_map(cell).collect()
}

/// All keys of a value, by their path. The keys of an object whose path is among `open` are names that the program chooses.
fn paths(value: &Value, at: &str, open: &[(&str, &str)], found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let key = open.iter().find(|(path, _)| *path == at).map_or(key.as_str(), |(_, word)| word);
                let path = if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
                found.insert(path.clone());
                paths(value, &path, open, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, &format!("{at}[]"), open, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_a_report_is_documented() {
    let documented = documented("schema/report.md");
    let open = [
        ("seconds", "STEP"),
        ("peak_kib_after", "STEP"),
        ("section_bytes", "SECTION"),
        ("decided.folded_by_evidence", "EVIDENCE"),
        ("decided.likely", "REASON"),
        ("diagnostics", "KIND"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let (dir, report) = (folder.path().join("out"), folder.path().join("r.jsonl"));
    let names = [
        "macho.fat",
        "fold.clang-lld.set/program",
        "split.clang-dwarf5.set/stripped",
        "inline.clang-symbols-only",
        "demo.stack",
    ];
    let mut command = common::command();
    command.arg("convert").args(names.map(program)).arg("--out-dir").arg(&dir);
    assert_eq!(command.arg("--report").arg(&report).output().unwrap().status.code(), Some(4));
    let mut text = std::fs::read_to_string(&report).unwrap();
    let single = program("blocks.profile.set/program");
    let out = folder.path().join("one.fsym");
    let args = [single.to_str().unwrap(), "-o", out.to_str().unwrap(), "--report", report.to_str().unwrap()];
    std::fs::remove_file(&report).unwrap();
    assert_eq!(foldsym(&[&["convert"], &args[..]].concat()).code, 0);
    let pretty: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    text += &pretty.to_string();
    let mut found = BTreeSet::new();
    for line in text.lines() {
        paths(&serde_json::from_str(line).unwrap(), "", &open, &mut found);
    }
    found.remove("diagnostics.KIND");
    let missing: Vec<&String> = found.difference(&documented).collect();
    assert!(missing.is_empty(), "not in schema/report.md: {missing:?}");
    // And every key in the tables is written.
    let keys = documented.iter().filter(|key| key.contains('.') || found.contains(*key));
    let unused: Vec<&String> = keys.filter(|key| !found.contains(*key)).collect();
    assert!(unused.is_empty(), "nobody writes {unused:?}");
    for word in ["full", "partial", "lines", "none"] {
        assert!(root("schema/report.md").contains(&format!("`{word}`")));
    }
}

/// The words of warnings are taken from the source that writes them. A test of the converter compares the kinds of diagnostics.
#[test]
fn every_warning_of_a_report_is_documented() {
    let documented = documented("schema/report.md");
    let mut words = 0;
    for line in root("src/convert/src/report/losses.rs").lines().filter(|line| line.contains("Self::")) {
        let Some(word) = line.split("=> \"").nth(1).and_then(|rest| rest.split('"').next()) else {
            continue;
        };
        words += 1;
        assert!(documented.contains(word), "schema/report.md does not say what {word} is");
    }
    assert!(words > 14, "{words}");
}

#[test]
fn every_key_of_an_answer_is_documented() {
    let documented = documented("schema/answers.md");
    let version = foldsym_symbolize::json::VERSION;
    let page = root("schema/answers.md");
    assert!(page.lines().next().unwrap().ends_with(&format!(", version {version}")));
    assert!(page.contains(&format!("\n| {version} | ")));
    let mut found = BTreeSet::new();
    let mut take = |text: &str| {
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            let frames = value["Frames"].as_array().cloned().unwrap_or_default();
            paths(&value, "", &[], &mut found);
            frames.iter().for_each(|frame| paths(frame, "", &[], &mut found));
        }
    };
    let folded = Fsym::of("fold.clang-lld.set/program", &[]);
    take(&folded.run("stack", &["--json", "0x20ac42", "0x20989b", "0x20a7d6", "?"]).out);
    take(&folded.run("stack", &["--json", "--signature", "0x20ac42", "0x20989b"]).out);
    take(&folded.run_with("stack", &["--json"], "{\"pcs\": [16], \"id\": 1}\n{\"pcs\": 1, \"id\": 1}\n").out);
    take(&folded.run("lookup", &["--json", "0x20989b", "zz"]).out);
    let blocks = Fsym::of("blocks.sections.set/program", &[]);
    let starts = foldsym(&["blocks", blocks.str(), "dispatch", "--json"]).json();
    for block in starts[0]["Blocks"].as_array().unwrap() {
        take(&blocks.run("lookup", &["--json", "--blocks", block["Start"].as_str().unwrap()]).out);
    }
    let objects = Fsym::of("object.clang.set/program", &["--locations"]);
    let stops = std::fs::read_to_string(program("object.clang.set").join("stops")).unwrap();
    let stacks: String =
        stops.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap().to_owned() + "\n").collect();
    take(&objects.run_with("stack", &["--json"], &stacks).out);
    let aliases = Fsym::of("symbols.gcc-bfd", &[]);
    let place = aliases.run("find", &["real_read"]).out.split(['\t', '-']).nth(1).unwrap().to_owned();
    take(&aliases.run("lookup", &["--json", &place]).out);
    take(&foldsym(&["lookup", "--search", aliases.str(), "--json", "libgone.so+0x10"]).out);
    let report = root("src/reports/tests/reports/asan.txt");
    take(&foldsym_with(&["symbolize", "--json", "--signature", "-"], &report).out);
    let samples = root("src/reports/tests/reports/perf-events.txt");
    take(&foldsym_with(&["symbolize", "--json", "-"], &samples).out);
    let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reports/tests/reports/crash.dmp");
    let dump = foldsym(&["symbolize", "--json", dump]).json();
    paths(&dump[0], "", &[("Threads[].Registers", "NAME")], &mut found);
    assert!(found.remove("Threads[].Registers.NAME"));
    // Frames and candidates repeat what an address has.
    let nested = ["Frames[].", "Candidates[].Symbol[].", "Threads[].Frames[]."];
    let found: BTreeSet<String> =
        found.into_iter().filter(|path| !nested.iter().any(|prefix| path.starts_with(prefix))).collect();
    assert!(found.len() > 25, "{found:?}");
    let missing: Vec<&String> = found.difference(&documented).collect();
    assert!(missing.is_empty(), "not in schema/answers.md: {missing:?}");
}

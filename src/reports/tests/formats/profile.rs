//! Profiles of gperftools and of Go's runtime, and what `go tool pprof` prints for them after they were rewritten.

#![cfg(feature = "pprof")]

use std::path::{Path, PathBuf};
use std::process::Command;

use foldsym_reports::{Format, Options, pprof, read};
use foldsym_symbolize::{AddressKind, Certainty, Stack, Symbolizer};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports").join(name)
}

fn symbolizer() -> Symbolizer {
    Symbolizer::builder().search([file("mail")]).build().unwrap()
}

/// Runs `go tool pprof` with these arguments; `None` after printing that the test is skipped.
fn go(args: &[&str]) -> Option<String> {
    let Ok(output) = Command::new("go").args(["tool", "pprof"]).args(args).output() else {
        println!("skipped: needs go");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "go is missing");
        return None;
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{args:?}: {printed}{}", String::from_utf8_lossy(&output.stderr));
    Some(printed)
}

#[test]
fn a_folded_function_has_the_name_of_each_stack() {
    let symbolizer = symbolizer();
    let bytes = std::fs::read(file("mail.pb.gz")).unwrap();
    let report = read(&bytes, &symbolizer).unwrap();
    assert_eq!(report.format, Format::Pprof);
    let mut seen = std::collections::BTreeMap::new();
    for thread in &report.threads {
        let frames = symbolizer.symbolize(&Stack::new(&report.modules, thread.frames.clone()));
        let names: Vec<_> =
            frames.iter().flat_map(|frame| &frame.functions).map(|one| &*one.function).collect();
        // The source has two call paths; the function that `main` calls (`parcels` or not) shows which one a stack has.
        if names[0].starts_with("sort") {
            continue;
        }
        let kind = if names.contains(&"parcels()") { "parcel" } else { "letter" };
        assert_eq!(frames[0].certainty, Some(Certainty::Exact), "{names:?}");
        assert_eq!(names[..2], [format!("weigh_{kind}(long)"), format!("price_{kind}(long)")]);
        *seen.entry(kind).or_insert(0) += thread.values[0];
    }
    assert!(seen["parcel"] > seen["letter"] && seen["letter"] > 0, "{seen:?}");
}

#[test]
fn pprof_reads_what_was_rewritten() {
    let symbolizer = symbolizer();
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (file("mail.pb.gz"), folder.path().join("new.pb.gz"));
    let profile = pprof::Profile::parse(&std::fs::read(&old).unwrap(), &Options::default()).unwrap();
    let mut bytes = Vec::new();
    let written = profile.rewrite(&mut symbolizer.worker(), &mut bytes).unwrap();
    assert!(written.named > 0 && written.locations_added > 0, "{written:?}");
    std::fs::write(&new, &bytes).unwrap();
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let Some(raw) = go(&["-raw", "-symbolize=none", new]) else { return };
    assert!(raw.contains("weigh_letter(long)") || raw.contains("weigh_letter"), "{raw}");
    // The same counts by function, parcels with about three times the samples of letters.
    let top = go(&["-top", "-symbolize=none", "-sample_index=samples", new]).unwrap();
    let flat = |name: &str| -> u64 {
        let line = top.lines().find(|line| line.contains(name) && line.contains('%'));
        let first = line.and_then(|line| line.split_whitespace().next());
        first.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{name}: {top}"))
    };
    let report = profile.report();
    let all: i64 = report.threads.iter().map(|thread| thread.values[0]).sum();
    assert_eq!((flat("weigh_parcel") + flat("weigh_letter") + flat("sort_one")) as i64, all, "{top}");
    let total = |printed: &str| printed.lines().find(|line| line.starts_with("Showing")).map(str::to_owned);
    let before = go(&["-top", "-symbolize=none", "-sample_index=samples", old]).unwrap();
    assert_eq!(total(&before), total(&top));
    // pprof does not symbolize a profile with functions again: its own answer would name one function for both.
    let again = go(&["-top", "-sample_index=samples", new]).unwrap();
    assert!(again.contains("weigh_letter") && again.contains("weigh_parcel"), "{again}");
}

/// The profile of a Go program already has its functions, and the test has no program.
#[test]
fn what_a_profile_knows_itself_stays() {
    let symbolizer = Symbolizer::builder().build().unwrap();
    let bytes = std::fs::read(file("go.pb.gz")).unwrap();
    assert_eq!(foldsym_reports::Format::of(&bytes), Some(foldsym_reports::Format::Pprof));
    let mut options = Options::default();
    options.callers = Some(AddressKind::Return);
    let profile = pprof::Profile::parse(&bytes, &options).unwrap();
    assert_eq!(profile.report().threads[0].frames[1].kind, AddressKind::Return);
    let mut new = Vec::new();
    let written = profile.rewrite(&mut symbolizer.worker(), &mut new).unwrap();
    assert_eq!((written.named, written.locations_added), (0, 0));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.pb.gz");
    std::fs::write(&path, new).unwrap();
    let Some(mine) = go(&["-raw", "-symbolize=none", path.to_str().unwrap()]) else { return };
    let theirs = go(&["-raw", "-symbolize=none", file("go.pb.gz").to_str().unwrap()]).unwrap();
    assert_eq!(mine, theirs);
    assert!(mine.contains("main.weigh"), "{mine}");
}

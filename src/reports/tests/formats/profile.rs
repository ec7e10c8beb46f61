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

#[test]
fn every_kind_of_profile_of_go_is_read() {
    for kind in ["heap", "allocs", "goroutine", "threadcreate", "block", "mutex"] {
        let bytes = std::fs::read(file(&format!("go-kinds/{kind}.pb.gz"))).unwrap();
        assert_eq!(Format::of(&bytes), Some(Format::Pprof), "{kind}");
        let report = read(&bytes, &Symbolizer::builder().build().unwrap()).unwrap();
        // Go's runtime names the functions itself. It does not name the code that made its first thread.
        let named = report.threads.iter().flat_map(|thread| &thread.names);
        let named = named.filter(|name| name.function.starts_with("main.")).count();
        assert!(named > 0 || kind == "threadcreate", "{kind}");
    }
}

/// What pprof makes of a file, and what we make of it, as it prints both.
fn of_pprof_and_ours(name: &str) -> Option<[String; 2]> {
    let (folder, given) = (tempfile::tempdir().unwrap(), file(name));
    let bytes = std::fs::read(&given).unwrap();
    assert_eq!(Format::of(&bytes), Some(Format::Pprof), "{name}");
    let profile = pprof::Profile::parse(&bytes, &Options::default()).unwrap();
    let mut ours = Vec::new();
    profile.rewrite(&mut Symbolizer::builder().build().unwrap().worker(), &mut ours).unwrap();
    let path = folder.path().join("ours.pb.gz");
    std::fs::write(&path, ours).unwrap();
    let text = |path: &Path| go(&["-symbolize=none", "-addresses", "-top", path.to_str().unwrap()]);
    let rows = |text: String| {
        // Rows that are equal in all counts come in any order.
        let mut rows: Vec<String> =
            text.lines().skip_while(|line| !line.contains("flat%")).map(str::to_owned).collect();
        rows.sort();
        rows.join("\n")
    };
    Some([rows(text(&given)?), rows(text(&path)?)])
}

#[test]
fn files_of_gperftools_are_read_as_pprof_reads_them() {
    for name in ["mail.prof", "heap.txt"] {
        let Some([theirs, ours]) = of_pprof_and_ours(name) else { return };
        assert!(theirs.lines().count() > 4, "{theirs}");
        assert_eq!(ours, theirs, "{name}");
    }
    let symbolizer = symbolizer();
    let report = read(&std::fs::read(file("mail.prof")).unwrap(), &symbolizer).unwrap();
    assert_eq!(report.value_types, ["samples/count", "cpu/nanoseconds"]);
    let answer = |thread: &foldsym_reports::Thread| {
        symbolizer.symbolize(&Stack::new(&report.modules, thread.frames.clone()))
    };
    let exact =
        report.threads.iter().map(answer).filter(|frames| frames[0].certainty == Some(Certainty::Exact));
    assert!(exact.count() > 0);
    let heap = read(&std::fs::read(file("heap.txt")).unwrap(), &symbolizer).unwrap();
    assert_eq!(heap.value_types[2..], ["inuse_objects/count", "inuse_space/bytes"]);
    assert_eq!(heap.threads[0].values, [400, 4_079_800, 134, 1_366_733]);
}

/// A profile of the processor in words of any size and order.
fn words(words: &[u64], size: usize, is_big: bool) -> Vec<u8> {
    let word = |word: &u64| {
        let mut bytes = word.to_le_bytes()[..size].to_vec();
        if is_big {
            bytes.reverse();
        }
        bytes
    };
    words.iter().flat_map(word).collect()
}

#[test]
fn words_of_gperftools_are_of_any_size_and_order() {
    let given = [0, 3, 0, 10_000, 0, 2, 3, 0x1010, 0x1010, 0x2001, 0, 1, 0];
    for (size, is_big) in [(4, false), (4, true), (8, false), (8, true)] {
        let mut bytes = words(&given, size, is_big);
        bytes.extend_from_slice(b"build=/x\n00001000-00003000 r-xp 00000000 08:01 5 /opt/a b\n");
        assert_eq!(Format::of(&bytes), Some(Format::Pprof));
        let report = read(&bytes, &Symbolizer::builder().build().unwrap()).unwrap();
        assert_eq!(report.threads[0].values, [2, 20_000_000]);
        let numbers: Vec<_> =
            report.threads[0].frames.iter().map(|frame| (frame.place.given(), frame.kind)).collect();
        // 1 off each return address; the innermost address, which the profiler has twice here, is one of them.
        assert_eq!(numbers, [(Some(0x1010), AddressKind::Exact), (Some(0x2000), AddressKind::Adjusted)]);
        assert_eq!(&*report.modules.iter().next().unwrap().name, "/opt/a b");
        // Cut off before the trailer, or a stack that is longer than the file.
        for cut in 6..given.len() {
            let part = &bytes[..cut * size];
            let error = read(part, &Symbolizer::builder().build().unwrap()).unwrap_err().to_string();
            assert!(error.contains("cut off after"), "{cut}: {error}");
        }
    }
    // A stack of 2^64 addresses.
    let huge = words(&[0, 3, 0, 1, 0, 1, u64::MAX], 8, false);
    assert!(read(&huge, &symbolizer()).is_err());
    for other in [
        words(&[0; 16], 8, false),
        words(&[0, 3, 1, 1, 0], 8, false),
        b"heap profile: 1: 2 [3: 4] @ x\n".to_vec(),
    ] {
        assert_eq!(Format::of(&other), None);
    }
}

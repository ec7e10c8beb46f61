//! Profiles of OpenTelemetry: those that Python's package makes, one of its profiler, and what that package reads after they were rewritten.

#![cfg(feature = "pprof")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use foldsym_reports::{Format, Options, Report, otlp, read};
use foldsym_symbolize::{Certainty, Stack, Symbolizer};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports").join(name)
}

fn symbolizer() -> Symbolizer {
    Symbolizer::builder().search([file("mail")]).build().unwrap()
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(file(name)).unwrap()
}

/// The functions of each stack with what it counted.
fn stacks(report: &Report, symbolizer: &Symbolizer) -> BTreeMap<Vec<String>, i64> {
    let mut seen = BTreeMap::new();
    for thread in &report.threads {
        let stack = Stack::new(report.modules_of(thread), thread.frames.clone());
        let mut names = Vec::new();
        for (at, frame) in symbolizer.symbolize(&stack).iter().enumerate() {
            let own = thread.names_of(at).iter().map(|name| name.function.to_string());
            names.extend(frame.functions.iter().map(|one| one.function.to_string()).chain(own));
        }
        *seen.entry(names).or_insert(0) += thread.values[0];
    }
    seen
}

/// The same profile in three forms, with addresses of the process and of the file, as pprof's.
#[test]
fn answers_are_those_of_the_profile_that_it_was_made_of() {
    let symbolizer = symbolizer();
    let theirs = stacks(&read(&bytes("mail.pb.gz"), &symbolizer).unwrap(), &symbolizer);
    assert!(theirs.keys().flatten().any(|name| name == "weigh_letter(long)"));
    for name in ["mail.otlp", "mail-elf.otlp", "mail.otlp.json"] {
        let report = read(&bytes(name), &symbolizer).unwrap();
        assert_eq!(report.format, Format::Otlp);
        assert_eq!(stacks(&report, &symbolizer), theirs, "{name}");
        let exact = report.threads.iter().filter(|thread| {
            let stack = Stack::new(report.modules_of(thread), thread.frames.clone());
            symbolizer.symbolize(&stack)[0].certainty == Some(Certainty::Exact)
        });
        assert!(exact.count() > 0, "{name}");
    }
}

fn rewritten(name: &str, symbolizer: &Symbolizer) -> (Vec<u8>, foldsym_reports::pprof::Rewritten) {
    let profiles = otlp::Profiles::parse(&bytes(name), &Options::default()).unwrap();
    let mut out = Vec::new();
    let done = profiles.rewrite(&mut symbolizer.worker(), &mut out, |_| true).unwrap();
    (out, done)
}

#[test]
fn a_rewritten_profile_has_the_names_itself_and_is_rewritten_to_itself() {
    let (symbolizer, none) = (symbolizer(), Symbolizer::builder().build().unwrap());
    let theirs = stacks(&read(&bytes("mail.pb.gz"), &symbolizer).unwrap(), &symbolizer);
    for name in ["mail.otlp", "mail-elf.otlp", "mail.otlp.json"] {
        let (out, done) = rewritten(name, &symbolizer);
        assert_eq!((done.named, done.locations_added), (72, 4), "{name}");
        assert_eq!(stacks(&read(&out, &none).unwrap(), &none), theirs, "{name}");
        let again = otlp::Profiles::parse(&out, &Options::default()).unwrap();
        let mut twice = Vec::new();
        let done = again.rewrite(&mut symbolizer.worker(), &mut twice, |_| true).unwrap();
        assert_eq!((done.named, done.kept, twice == out), (0, 72, true), "{name}");
    }
}

/// The profiler of OpenTelemetry wrote it. Without its programs nothing is named, and every byte stays.
#[test]
fn a_profile_of_the_profiler_is_read_and_passes_through() {
    let none = Symbolizer::builder().build().unwrap();
    let report = read(&bytes("ebpf-profiler.otlp"), &none).unwrap();
    assert_eq!((report.threads.len(), report.warnings.len()), (49, 0));
    assert_eq!(report.value_types, ["samples/count"]);
    let names: Vec<_> =
        report.threads.iter().flat_map(|one| &one.names).map(|name| &*name.function).collect();
    assert!(names.contains(&"do_epoll_wait") && names.contains(&"void java.lang.Thread.run()"));
    let (out, done) = rewritten("ebpf-profiler.otlp", &none);
    assert_eq!((done.frames, done.named, done.kept), (812, 0, 416));
    assert!(out == bytes("ebpf-profiler.otlp"));
}

#[test]
fn fields_that_are_not_known_stay() {
    let symbolizer = symbolizer();
    let given = bytes("mail.otlp");
    // Field 100 of the message, as a number of 32 bits, and of the dictionary.
    let unknown = [0xa5, 0x06, 1, 2, 3, 4];
    let more = [&given[..], &unknown, &[0x12, 6], &unknown].concat();
    let profiles = otlp::Profiles::parse(&more, &Options::default()).unwrap();
    let mut out = Vec::new();
    assert_eq!(profiles.rewrite(&mut symbolizer.worker(), &mut out, |_| true).unwrap().named, 72);
    assert_eq!(out.windows(6).filter(|part| *part == unknown).count(), 2);
    let text = String::from_utf8(bytes("mail.otlp.json")).unwrap();
    let text = text.replacen("\"address\":", "\"later\":[1.50],\"address\":", 3);
    let profiles = otlp::Profiles::parse(text.as_bytes(), &Options::default()).unwrap();
    let mut out = Vec::new();
    profiles.rewrite(&mut symbolizer.worker(), &mut out, |_| true).unwrap();
    assert!(String::from_utf8(out).unwrap().matches("\"later\":[1.50]").count() >= 3);
}

/// Python's package is the oracle: it reads both forms, and they are equal to it.
#[test]
fn the_package_of_python_reads_what_was_rewritten() {
    const SCRIPT: &str = "import sys
from google.protobuf.json_format import Parse
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
binary, text = ProfilesData(), ProfilesData()
binary.ParseFromString(open(sys.argv[1], 'rb').read())
Parse(open(sys.argv[2]).read(), text)
assert binary == text, 'the forms differ'
tables = binary.dictionary
names = [tables.string_table[one.name_strindex] for one in tables.function_table]
for sample in binary.resource_profiles[0].scope_profiles[0].profiles[0].samples:
    stack = [tables.location_table[one] for one in tables.stack_table[sample.stack_index].location_indices]
    print(sample.values[0], *(names[line.function_index] for one in stack for line in one.lines), sep=';')
";
    let has =
        Command::new("python3").args(["-c", "import opentelemetry.proto.profiles.v1development"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: needs opentelemetry-proto");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "opentelemetry-proto is missing");
        return;
    }
    let (symbolizer, folder) = (symbolizer(), tempfile::tempdir().unwrap());
    let paths = ["mail-elf.otlp", "mail.otlp.json"].map(|name| {
        let path = folder.path().join(name);
        std::fs::write(&path, rewritten(name, &symbolizer).0).unwrap();
        path
    });
    let output = Command::new("python3").arg("-c").arg(SCRIPT).args(&paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut theirs = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (count, names) = line.split_once(';').unwrap();
        *theirs.entry(names.to_owned()).or_insert(0) += count.parse::<i64>().unwrap();
    }
    let ours = stacks(&read(&bytes("mail.pb.gz"), &symbolizer).unwrap(), &symbolizer);
    let ours: BTreeMap<_, _> = ours.into_iter().map(|(names, count)| (names.join(";"), count)).collect();
    assert_eq!(theirs, ours);
}

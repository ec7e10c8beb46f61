//! Samples of a program that perf wrote: the folded functions of its stacks, and its other frames beside llvm-symbolizer's answers.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use foldsym_reports::{Format, Report, read};
use foldsym_symbolize::{AddressKind, Certainty, Frame, Stack, Symbolizer};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports").join(name)
}

fn answered(name: &str) -> (Report, Vec<Vec<Frame>>) {
    let symbolizer = Symbolizer::builder().search([file("post")]).build().unwrap();
    let report = read(&std::fs::read(file(name)).unwrap(), &symbolizer).unwrap();
    assert_eq!(report.format, Format::PerfScript);
    let answer = |thread: &foldsym_reports::Thread| {
        symbolizer.symbolize(&Stack::new(report.modules_of(thread), thread.frames.clone()))
    };
    let frames = report.threads.iter().map(answer).collect();
    (report, frames)
}

fn names(frames: &[Frame]) -> Vec<&str> {
    frames.iter().flat_map(|frame| &frame.functions).map(|function| &*function.function).collect()
}

#[test]
fn a_stack_that_perf_walked_tells_the_folded_function() {
    let (_, stacks) = answered("perf-dwarf.txt");
    let mut seen = BTreeMap::new();
    for frames in &stacks {
        let names = names(frames);
        let Some(kind) =
            ["parcel", "letter"].into_iter().find(|kind| names.contains(&&*format!("{kind}s()")))
        else {
            continue;
        };
        assert_eq!(names[..2], [format!("weigh_{kind}(long)"), format!("price_{kind}(long)")]);
        assert_eq!(
            (frames[0].certainty, frames[1].certainty),
            (Some(Certainty::Exact), Some(Certainty::Exact))
        );
        *seen.entry(kind).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    // perf prints the inlined function on a line of its own; here it is a part of its frame's answer.
    let sorted = stacks.iter().find(|frames| names(frames).contains(&"sort_mail()")).unwrap();
    assert_eq!(names(sorted)[..3], ["mix(long, long)", "sort_mail()", "main"]);
    // Behind the frames of the kernel.
    let sent = stacks.last().unwrap();
    assert_eq!(names(sent), ["send_mail(int)"]);
}

/// A caller may be missing there, as `send_mail` is outside of `read` in one of the samples.
#[test]
fn a_stack_that_the_kernel_walked_proves_nothing() {
    let (_, stacks) = answered("perf.txt");
    let folded = |frame: &&Frame| frame.candidate_count.is_some_and(|count| count > 1);
    assert!(stacks.iter().flatten().filter(folded).count() > 4);
    assert!(stacks.iter().flatten().all(|frame| frame.certainty != Some(Certainty::Exact)));
    let named =
        stacks.iter().flatten().flat_map(|frame| &frame.functions).filter(|one| &*one.function == "main");
    assert_eq!(named.count(), stacks.len());
}

/// Addresses of the process, of which all frames are exact.
#[test]
fn samples_without_stacks() {
    let (_, stacks) = answered("perf-flat.txt");
    assert_eq!(names(&stacks[3]), ["mix(long, long)", "sort_mail()"]);
    assert_eq!(stacks.iter().filter(|frames| !names(frames).is_empty()).count(), 6);
}

#[test]
fn frames_of_one_function_are_those_of_llvm_symbolizer() {
    let (mut questions, mut ours) = (String::new(), Vec::new());
    for name in ["perf.txt", "perf-dwarf.txt"] {
        let (report, stacks) = answered(name);
        for (thread, frames) in report.threads.iter().zip(&stacks) {
            for (given, frame) in thread.frames.iter().zip(frames) {
                let (Some(offset), None) = (frame.address, frame.candidate_count) else { continue };
                if frame.functions.is_empty() {
                    continue;
                }
                // The program's code is mapped 4 KiB behind its place in the file (`readelf -lW`).
                let address = offset + 0x1000 - u64::from(given.kind == AddressKind::Return);
                questions.push_str(&format!("{address:#x}\n"));
                let lines = frame
                    .functions
                    .iter()
                    .map(|one| format!("{} {}:{}", one.linkage_name, one.file, one.line));
                ours.push(lines.collect::<Vec<_>>());
            }
        }
    }
    assert!(ours.len() > 30, "{}", ours.len());
    let asked = Command::new("llvm-symbolizer-22")
        .args(["--no-demangle", "--output-style=LLVM", "--obj"])
        .arg(file("post"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut asked) = asked else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "llvm-symbolizer-22 is missing");
        return println!("skipped: needs llvm-symbolizer-22");
    };
    asked.stdin.take().unwrap().write_all(questions.as_bytes()).unwrap();
    // Where it knows no file, ours is empty.
    let answer = String::from_utf8(asked.wait_with_output().unwrap().stdout).unwrap().replace("??:", ":");
    let theirs: Vec<Vec<String>> = answer
        .trim_end()
        .split("\n\n")
        .map(|frame| {
            let lines: Vec<&str> = frame.lines().collect();
            let pairs =
                lines.chunks(2).map(|pair| format!("{} {}", pair[0], pair[1].rsplit_once(':').unwrap().0));
            pairs.collect()
        })
        .collect();
    assert_eq!(ours, theirs);
}

//! Text formats: cut at every byte, with sizes that no report has, and of unknown versions. Binary formats have their own tests.

use foldsym_reports::{Format, Report, read};
use foldsym_symbolize::Symbolizer;

fn file(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports");
    std::fs::read(folder.join(name)).unwrap()
}

fn frames(report: &Report) -> usize {
    report.threads.iter().map(|thread| thread.frames.len()).sum()
}

const LINES: &str = r#"{"id":1,"modules":[{"name":"a","base":"0x1000"}],"frames":["0x1001","0x1002"]}
{"id":2,"modules":[{"name":"a","base":"0x1000"}],"frames":["0x1003"]}
"#;

const REQUEST: &str = r#"{"jobs":[{"memoryMap":[["a","0123456789ABCDEF0123456789ABCDEF0"]],"stacks":[[[0,1],[0,2]],[[-1,3]]]}],"version":5}"#;

fn good() -> Vec<(Format, Vec<u8>, usize)> {
    let log = |name| (Format::Sanitizer, file(name));
    let logs = ["asan.txt", "asan-segv.txt", "tsan.txt", "msan.txt", "ubsan.txt"].map(log);
    let perf = ["perf.txt", "perf-flat.txt"].map(|name| (Format::PerfScript, file(name)));
    let llvm = [(Format::Llvm, file("llvm.txt"))];
    let texts = [(Format::JsonLines, LINES.into()), (Format::Symbolicate, REQUEST.into())];
    let symbolizer = Symbolizer::builder().build().unwrap();
    let count = |(format, bytes): (Format, Vec<u8>)| {
        let report = read(&bytes, &symbolizer).unwrap();
        assert_eq!(report.format, format);
        (format, frames(&report), bytes)
    };
    let all = logs
        .into_iter()
        .chain(perf)
        .chain(llvm)
        .chain(texts)
        .map(count)
        .map(|(format, frames, bytes)| (format, bytes, frames));
    let all: Vec<_> = all.collect();
    assert!(all.iter().all(|(_, _, frames)| *frames > 0));
    all
}

#[test]
fn a_cut_report_has_no_more_frames_than_a_whole_one() {
    let symbolizer = Symbolizer::builder().build().unwrap();
    for (format, bytes, whole) in good() {
        let mut read_some = 0;
        for end in 0..bytes.len() {
            match read(&bytes[..end], &symbolizer) {
                Ok(report) => {
                    read_some += usize::from(frames(&report) > 0);
                    assert!(frames(&report) <= whole, "{format:?} {end}");
                }
                Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            }
        }
        // A request is a single JSON value, so a part of it is not readable.
        assert_eq!(read_some > 0, format != Format::Symbolicate, "{format:?}");
    }
}

#[test]
fn sizes_that_no_report_has() {
    let symbolizer = Symbolizer::builder().build().unwrap();
    let nines = "9".repeat(40);
    let log = String::from_utf8(file("asan-segv.txt")).unwrap();
    for number in [nines.as_str(), "0xffffffffffffffffffffffff", "-1"] {
        // Numbers of frames and addresses that no machine has: the line is not a frame.
        let changed =
            log.replace("#1 ", &format!("#{number} ")).replace("0x", &format!("0x{}", "f".repeat(30)));
        if let Ok(report) = read(changed.as_bytes(), &symbolizer) {
            assert!(frames(&report) <= frames(&read(log.as_bytes(), &symbolizer).unwrap()));
        }
        let line = LINES.replace("\"0x1002\"", &format!("\"{number}\""));
        let report = read(line.as_bytes(), &symbolizer).unwrap();
        assert!(frames(&report) < 3 || number == "-1" && frames(&report) <= 3, "{number}");
        let request = REQUEST.replace("[0,2]", &format!("[{nines},2]"));
        assert!(read(request.as_bytes(), &symbolizer).unwrap_err().to_string().starts_with("symbolicate: "));
    }
    // Nested values: a recursive reader would need a stack without bound.
    for open in ["[", "{\"frames\":"] {
        let deep = format!("{{\"modules\":[],\"frames\":{}", open.repeat(1 << 20));
        let _ = read(deep.as_bytes(), &symbolizer);
        let deep = format!("{{\"jobs\":{}", open.repeat(1 << 20));
        let _ = read(deep.as_bytes(), &symbolizer);
    }
    // More frames than a request may have, each in a few bytes.
    let many = format!("{{\"memoryMap\":[],\"stacks\":[[{}[-1,1]]]}}", "[-1,1],".repeat(1 << 20));
    let error = read(many.as_bytes(), &symbolizer).unwrap_err().to_string();
    assert!(error.contains("more than 1048576 frames"), "{error}");
    let jobs = format!("{{\"jobs\":[{}{{}}]}}", "{},".repeat(10_000));
    let error = read(jobs.as_bytes(), &symbolizer).unwrap_err().to_string();
    assert!(error.contains("more than 10000"), "{error}");
    // A missing module.
    let request = REQUEST.replace("[0,2]", "[1,2]");
    let error = read(request.as_bytes(), &symbolizer).unwrap_err().to_string();
    assert!(error.contains("stack 0 frame 1 has a module_index"), "{error}");
}

#[test]
fn versions_that_are_not_known() {
    let symbolizer = Symbolizer::builder().build().unwrap();
    for version in ["6", "4", "\"5\"", "null", "5.5"] {
        let request = REQUEST.replace("\"version\":5", &format!("\"version\":{version}"));
        let read = read(request.as_bytes(), &symbolizer);
        if version == "null" {
            assert!(read.is_ok());
            continue;
        }
        let error = read.unwrap_err().to_string();
        assert!(error.starts_with("symbolicate: version ") && error.contains("only 5 is known"), "{error}");
    }
    // Without a version, it is the endpoint's.
    assert!(read(REQUEST.replace(",\"version\":5", "").as_bytes(), &symbolizer).is_ok());
}

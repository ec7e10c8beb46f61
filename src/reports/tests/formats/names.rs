//! Names that a report itself has: of which frames they are, and which door prints them.

use std::path::Path;

use foldsym_reports::{Format, Options, Reader, Report, ReportError, ReportedName, read, read_with};
use foldsym_symbolize::{Innermost, Query, ReportedAddress, Symbolizer};

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports").join(name)).unwrap()
}

fn nothing() -> Symbolizer {
    Symbolizer::builder().build().unwrap()
}

fn read_text(text: &str) -> Report {
    read(text.as_bytes(), &nothing()).unwrap()
}

/// The report's names for the frames of a thread that have any, as `function@file:line`.
fn names(report: &Report, thread: usize) -> Vec<Vec<String>> {
    let thread = &report.threads[thread];
    let text = |name: &ReportedName| format!("{}@{}:{}", name.function, name.file, name.line);
    let frames = (0..thread.frames.len()).map(|frame| thread.names_of(frame));
    frames.filter(|names| !names.is_empty()).map(|names| names.iter().map(text).collect()).collect()
}

fn event(report: &Report, thread: usize) -> &str {
    report.threads[thread].event.as_deref().unwrap()
}

#[test]
fn perf_names_frames_of_the_kernel_and_inlined_functions() {
    let report = read(&file("perf-events.txt"), &nothing()).unwrap();
    assert_eq!(report.warnings, Vec::<String>::new());
    assert_eq!(names(&report, 0)[..2], [["elf_load@:0"], ["load_elf_binary@:0"]]);
    let last = report.threads.len() - 1;
    let expected = [
        vec!["add@:0", "work@:0"],
        vec!["main@:0"],
        vec!["__libc_start_call_main@:0"],
        vec!["__libc_start_main_impl@:0"],
        vec!["_start@:0"],
    ];
    assert_eq!(names(&report, last), expected);
    // A command that begins as a line of perf's header does.
    assert_eq!(&*report.threads[last].name, "# hash");
    assert_eq!(report.threads.len(), 10);
}

#[test]
fn events_of_perf_are_told_apart() {
    let report = read(&file("perf-events.txt"), &nothing()).unwrap();
    assert_eq!(report.events.iter().map(|event| &**event).collect::<Vec<_>>(), ["page-faults", "cpu-clock"]);
    let last = report.threads.len() - 1;
    assert_eq!((event(&report, 0), event(&report, last)), ("page-faults", "cpu-clock"));
    let mut options = Options::default();
    options.event = Some("cpu-clock".to_owned());
    let of_one = read_with(&file("perf-events.txt"), &nothing(), &options).unwrap();
    assert_eq!(of_one.threads.len(), 5);
    assert!((0..5).all(|thread| event(&of_one, thread) == "cpu-clock"));
    assert!(of_one.warnings.is_empty(), "{:?}", of_one.warnings);
    options.event = Some("cycles".to_owned());
    let error = read_with(&file("perf-events.txt"), &nothing(), &options).unwrap_err().to_string();
    assert_eq!(error, "perf: no sample of the event \"cycles\": the text has page-faults, cpu-clock");
    for (line, expected) in [
        ("a 7 2.0: 1 cycles:u:", Some("cycles:u")),
        ("a 7 2.0: sched:sched_switch: prev_comm=a", Some("sched:sched_switch")),
        ("a 7 2.0:", None),
        ("a 7 2.0: 1 ff f (/a)", None),
    ] {
        let report = read_text(&format!("{line}\n\t 1 f (/a)\n\n"));
        assert_eq!(report.threads[0].event.as_deref(), expected, "{line}");
    }
}

#[test]
fn the_text_of_perf_may_have_no_time_and_have_source_lines() {
    let bytes = file("perf-untimed.txt");
    assert_eq!(Format::of(&bytes), Some(Format::PerfScript));
    let report = read(&bytes, &nothing()).unwrap();
    let last = report.threads.len() - 1;
    assert_eq!((report.threads.len(), report.threads[last].id), (10, Some(28333)));
    assert_eq!((event(&report, 0), event(&report, last)), ("page-faults", "cpu-clock"));
    let expected = [
        vec!["add@loop.c:4", "work@loop.c:8"],
        vec!["main@loop.c:13"],
        vec!["__libc_start_call_main@libc-start.c:58"],
        vec!["__libc_start_main_impl@libc-start.c:360"],
        vec!["_start@:0"],
    ];
    assert_eq!(names(&report, last), expected);
    let flat = "           sleep  2331 page-faults:  ffffffff8175336a elf_load ([kernel.kallsyms])\n";
    assert_eq!(names(&read_text(flat), 0), [["elf_load@:0"]]);
    for (heading, command, id) in [
        ("Web 8 Content 12 [001] cpu/event=0x3c,umask=0x0/:", "Web 8 Content", 12),
        ("a 7/9     250000 cycles:u:", "a", 9),
        ("a 7 9 250000 cycles:", "a 7", 9),
        ("# hash 12 cycles:", "# hash", 12),
    ] {
        let text = format!("{heading}\n\t               1 f (/a)\n\n");
        assert_eq!(Format::of(text.as_bytes()), Some(Format::PerfScript), "{heading}");
        let report = read_text(&text);
        assert_eq!((&*report.threads[0].name, report.threads[0].id), (command, Some(id)), "{heading}");
    }
    // Without programs; equal addresses are then frames of a recursive function.
    let text =
        "a 7/7 cycles:\n\t    7f0000001100 f+0x10\n\t    7f0000001100 f+0x10\n\tffffffff8175336a g\n\n";
    assert_eq!(Format::of(text.as_bytes()), Some(Format::PerfScript));
    assert_eq!(names(&read_text(text), 0), [["f@:0"], ["f@:0"], ["g@:0"]]);
    // Samples with and without a time in one text; frames below another line are told.
    let text = "a 7 2.0: cycles:\n\t 1 f (/a)\n\nb 8 cycles:\n\t 1 g (/a)\n\nwhat is this\n\t 1 h (/a)\n\n";
    let report = read_text(text);
    assert_eq!(report.threads.len(), 2);
    assert_eq!(
        report.warnings.last().unwrap(),
        "1 frames were left out: the line above their stack is no heading of a sample"
    );
    for text in [
        "app 12 error: 12 f (/a)\n",
        "app 12 error:\n 12 f (/a)\n",
        "app 12 error:\nmore\n\t12 f (/a)\n",
        "# app : 12 error:\n\t12 f (/a)\n",
    ] {
        assert_eq!(Format::of(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn a_jit_s_names_are_the_report_s() {
    let report = read_text(
        "python3 7 2.0: 1 cycles:\n\t    7f0000001100 py::fib:/srv/my app.py (/tmp/perf-7.map)\n\t    7f0000001100 [unknown] ([unknown])\n\n",
    );
    assert_eq!(names(&report, 0), [["py::fib:/srv/my app.py@:0"]]);
}

#[test]
fn sanitizers_name_what_they_symbolized() {
    let report = read_text(
        "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n\
         \x20   #0 0x55d0c1234560 in inlined(int, char const*) /opt/my app/a.h:7:3\n\
         \x20   #1 0x55d0c1234560 in f(int) /opt/my app/app.cpp:3\n\
         \x20   #2 0x7f12 in main app.cpp:9:1\n\
         \x20   #3 0x7f13 in __libc_start_main (/lib/libc.so.6+0x27304) (BuildId: abcd)\n\
         \x20   #4 0x7f14  (/opt/app+0x1567)\n",
    );
    let expected = [
        vec!["inlined(int, char const*)@/opt/my app/a.h:7", "f(int)@/opt/my app/app.cpp:3"],
        vec!["main@app.cpp:9"],
        vec!["__libc_start_main@:0"],
    ];
    assert_eq!(names(&report, 0), expected);
    assert_eq!(report.threads[0].frames.len(), 4);
    // Without any module, below the heading of a sanitizer alone.
    let named = "    #0 0x7f12 in main app.cpp:9:1\n";
    let heading = "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0\n";
    assert_eq!(Format::of(format!("{heading}{named}").as_bytes()), Some(Format::Sanitizer));
    assert_eq!(Format::of(named.as_bytes()), None);
    // As macOS has it.
    let report =
        read_text("    #0 0x100 in wrap_malloc+0x90 (libclang_rt.asan_osx_dynamic.dylib:x86_64+0x40)\n");
    assert_eq!(names(&report, 0), [["wrap_malloc@:0"]]);
    // ThreadSanitizer writes no addresses.
    let report = read_text(
        "WARNING: ThreadSanitizer: data race (pid=1)\n    #0 f t.c:3:5 (t+0x10)\n    #1 <null> <null> (t+0x20)\n",
    );
    assert_eq!(names(&report, 0), [["f@t.c:3"]]);
}

#[test]
fn a_profile_names_locations_without_an_address() {
    // A sample type of two strings, a sample of location 1, which has a line of function 1 and no mapping.
    let mut bytes = vec![0x0a, 4, 8, 1, 16, 1, 0x12, 4, 0x0a, 0, 0x10, 9];
    bytes = [&bytes[..6], &[0x12, 6, 0x0a, 1, 1, 0x12, 1, 9]].concat();
    bytes.extend([0x22, 8, 8, 1, 0x22, 4, 8, 1, 16, 5]);
    bytes.extend([0x2a, 6, 8, 1, 16, 2, 0x20, 3]);
    for text in ["", "samples", "run", "/a.py"] {
        bytes.extend([0x32, text.len() as u8]);
        bytes.extend(text.as_bytes());
    }
    assert_eq!(Format::of(&bytes), Some(Format::Pprof));
    let report = read(&bytes, &nothing()).unwrap();
    assert_eq!(names(&report, 0), [["run@/a.py:5"]]);
}

/// The whole report as JSON, as the doors write it.
fn json(bytes: &[u8], symbolizer: &Symbolizer) -> String {
    let reader = Reader::new(symbolizer);
    let mut opened = reader.open_while(bytes, &Options::default(), &|| true).unwrap();
    let mut out = b"{".to_vec();
    foldsym_reports::json::begin(&mut out, opened.report());
    let (mut worker, mut index) = (symbolizer.worker(), 0);
    while let Some(thread) = opened.next_thread() {
        foldsym_reports::json::thread(&mut out, index, &thread);
        index += 1;
        let modules = opened.report().modules_of(&thread);
        let query = Query { modules, frames: &thread.frames, innermost: Innermost::Nothing };
        let mut frame = 0;
        let Ok(()) = worker.answer_json(query, |answer, names| {
            foldsym_reports::json::frame(&mut out, frame, answer, names, modules, &thread);
            frame += 1;
            Ok::<(), std::convert::Infallible>(())
        });
        out.extend_from_slice(b"]}");
    }
    foldsym_reports::json::end(&mut out, opened.report());
    String::from_utf8(out).unwrap()
}

#[test]
fn only_an_answer_replaces_a_name_of_the_report() {
    let text = "#0 0x1 in theirs x.c:1 (/build/t.asan+0x115856)\n#1 0x2 in post x.c:2 (post+0x1916)\n";
    let none = json(text.as_bytes(), &nothing());
    assert_eq!(none.matches("\"Source\":\"report\"").count(), 2, "{none}");
    assert!(none.contains("\"FunctionName\":\"theirs\",\"FileName\":\"x.c\",\"Line\":1,"), "{none}");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports/post");
    let symbolizer = Symbolizer::builder().search([program]).build().unwrap();
    let one = json(text.as_bytes(), &symbolizer);
    assert_eq!(one.matches("\"Source\":\"report\"").count(), 1, "{one}");
    assert!(one.contains("theirs") && !one.contains("x.c\",\"Line\":2"), "{one}");
}

/// All names of a file are read for lines that name functions: a thread that must not be kept waiting leaves that to others.
#[test]
fn functions_of_lines_are_searched_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports/crash");
    let symbolizer = Symbolizer::builder().search([program]).cache(folder.path()).build().unwrap();
    let quick = symbolizer.without_opening();
    let text = b"0  crash 0x0000000000001000 main + 16\n";
    let here =
        |symbolizer: &Symbolizer| read(text, symbolizer).map(|report| report.threads[0].frames[0].place);
    // The file is not open yet.
    assert!(matches!(here(&quick), Ok(ReportedAddress::Mapped { .. })) && quick.take_left());
    assert!(matches!(here(&symbolizer), Ok(ReportedAddress::Image { .. })));
    assert!(matches!(here(&quick), Err(ReportError::Stopped)) && quick.take_left());
}

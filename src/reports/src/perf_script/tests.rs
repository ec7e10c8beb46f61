//! Texts that perf 6.1 wrote (`tests/reports`), and lines as other versions write them.

use super::*;

fn read(bytes: &[u8], options: &Options) -> Result<Report, ReportError> {
    open(bytes, options).map(Opened::read)
}

fn read_text(text: &str) -> Report {
    read(text.as_bytes(), &Options::default()).unwrap()
}

/// The frames of a thread: name of the module, number, kind, trust.
fn frames(report: &Report, thread: usize) -> Vec<(&str, u64, AddressKind, Trust)> {
    let thread = &report.threads[thread];
    let frames = thread.frames.iter().zip(&thread.trust).filter(|(_, trust)| **trust != Trust::Gap);
    let of = |(frame, trust): (&StackFrame, &Trust)| {
        let ReportedAddress::Mapped { module, address } = frame.place else { panic!("{frame:?}") };
        (report.modules.get(module).map_or("?", |module| &*module.name), address, frame.kind, *trust)
    };
    assert_eq!(thread.frames.len(), thread.trust.len());
    frames.map(of).collect()
}

const KERNEL: &str = "[kernel.kallsyms]";
const LIBC: &str = "/usr/lib/x86_64-linux-gnu/libc.so.6";

#[test]
fn stacks_that_the_kernel_walked() {
    let text = include_str!("../../tests/reports/perf.txt");
    assert!(is_one(text.as_bytes()));
    let report = read_text(text);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    assert_eq!((report.threads[0].id, &*report.threads[0].name), (Some(26559), "post"));
    let pointer = |name, address| (name, address, AddressKind::Return, Trust::FramePointer);
    let expected = [
        ("/build/post", 0x916, AddressKind::Exact, Trust::Context),
        pointer("/build/post", 0x989),
        pointer("/build/post", 0x9aa),
        pointer("/build/post", 0xca7),
        pointer(LIBC, 0x2724a),
    ];
    assert_eq!(frames(&report, 0), expected);
    // A caller may be missing at each of them.
    let gaps = report.threads[0].trust.iter().filter(|trust| **trust == Trust::Gap).count();
    assert_eq!((gaps, report.threads[0].frames[1]), (4, StackFrame::UNKNOWN));
    let post = report.modules.iter().rfind(|module| &*module.name == "/build/post").unwrap();
    assert_eq!(post.id.as_ref().unwrap().to_string(), "519e5753275f04d0dcba25cc8989ef7fd93d82f6");
    assert_eq!(post.mapping, Mapping::FilePart { start: 0, size: u64::MAX, file_offset: 0 });
}

#[test]
fn stacks_that_perf_walked() {
    let report = read_text(include_str!("../../tests/reports/perf-dwarf.txt"));
    let walked = |name, address| (name, address, AddressKind::Adjusted, Trust::Cfi);
    // The line of `mix` is of the frame of `sort_mail`. That of `__libc_start_main_impl` has no other: its file is not known.
    let expected = [
        ("/build/post", 0xbf6, AddressKind::Exact, Trust::Context),
        walked("/build/post", 0xcb9),
        walked(LIBC, 0x27249),
        walked("?", 0x27304),
        walked("/build/post", 0x7f0),
    ];
    assert_eq!(frames(&report, 2), expected);
    // A system call: the kernel's frames, then the program's registers.
    let expected = [
        (KERNEL, 0xffff_ffff_821e_f666, AddressKind::Exact, Trust::Context),
        (KERNEL, 0xffff_ffff_8100_0130, AddressKind::Return, Trust::FramePointer),
        ("?", 0xf82ad, AddressKind::Exact, Trust::Context),
        walked("/build/post", 0xc6e),
        walked("?", u64::MAX),
    ];
    assert_eq!(frames(&report, report.threads.len() - 1), expected);
}

#[test]
fn a_sample_without_a_stack_has_an_address_of_the_process() {
    let text = include_str!("../../tests/reports/perf-flat.txt");
    assert!(is_one(text.as_bytes()));
    let report = read_text(text);
    assert_eq!(report.threads.len(), 7);
    assert_eq!(frames(&report, 0), [("/build/post", 0x55ab_d86c_490b, AddressKind::Exact, Trust::Context)]);
    assert_eq!(frames(&report, 6), [(KERNEL, 0xffff_ffff_821e_f666, AddressKind::Exact, Trust::Context)]);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

/// A program and a library that are mapped, and one sample of these frames.
fn mapped(frames: &str) -> String {
    format!(
        "a b 7/7 1.5: PERF_RECORD_MMAP2 7/7: [0x401000(0x900000) @ 0x1000 08:01 5 0]: r-xp /opt/a b\n\
         a b 7/7 1.6: PERF_RECORD_MMAP2 7/7: [0x7f0000001000(0x2000) @ 0x1000 <abcd>]: r-xp /lib/l.so\n\
         a b     7/9 [001] 2.5:   1 cycles:u:\n{frames}\n"
    )
}

#[test]
fn addresses_and_offsets_are_told_apart() {
    let of = |text: &str| {
        let report = read_text(&mapped(text));
        let found = frames(&report, 0).into_iter().map(|(name, address, ..)| (name.to_owned(), address));
        (found.collect::<Vec<_>>(), report)
    };
    let named = |name: &str, address| (name.to_owned(), address);
    // Addresses of the process: the library's number is no offset in it.
    let (found, report) = of("\t 500000 f(int (*)(char)) (/opt/a b)\n\t 7f0000001100 g+0x5 (/lib/l.so)\n");
    assert_eq!(found, [named("/opt/a b", 0x50_0000), named("/lib/l.so", 0x7f00_0000_1100)]);
    assert_eq!((report.threads[0].id, &*report.threads[0].name), (Some(9), "a b"));
    // Offsets: the library is not mapped at such an address.
    let (found, report) = of("\t 500000 f (/opt/a b)\n\t 1100 g+0x5 (/lib/l.so)\n");
    assert_eq!(found, [named("/opt/a b", 0x50_0000), named("/lib/l.so", 0x1100)]);
    let ReportedAddress::Mapped { module, .. } = report.threads[0].frames[0].place else { panic!() };
    assert_eq!(
        report.modules[module].mapping,
        Mapping::FilePart { start: 0, size: u64::MAX, file_offset: 0 }
    );
    // Nothing tells, or both are told: a wrong place is worse than none.
    for text in [
        "\t 500000 f (/opt/a b)\n",
        "\t 7f0000001100 g (/lib/l.so)\n\t 500000 f (/opt/a b)\n\t 1100 g (/lib/l.so)\n",
    ] {
        let (found, report) = of(text);
        assert!(found.iter().all(|(name, _)| name == "?"), "{found:?}");
        assert!(report.warnings[0].contains("--show-mmap-events"), "{:?}", report.warnings);
    }
}

#[test]
fn offsets_need_no_mappings() {
    let heading = "a 7 2.5: 1 cycles:\n";
    let report = read_text(&format!(
        "{heading}\t 7f0000001100 g+0x5 (/lib/l.so+0x1100)\n\t 1 [unknown] ([unknown])\n"
    ));
    let found = frames(&report, 0);
    assert_eq!(found[0], ("/lib/l.so", 0x1100, AddressKind::Exact, Trust::Context));
    assert_eq!(found[1], ("?", 1, AddressKind::Return, Trust::FramePointer));
    // Below the lowest address of a program.
    let report = read_text(&format!("{heading}\t 1100 g+0x5 (/lib/l.so)\n\t 31100 h (/lib/l.so)\n"));
    assert_eq!(frames(&report, 0)[1].0, "/lib/l.so");
    // An address of a process whose mappings are not there.
    let report = read_text(&format!("{heading}\t 7f0000001100 g+0x5 (/lib/l.so)\n"));
    assert_eq!((frames(&report, 0)[0].0, report.warnings.len()), ("?", 1));
}

#[test]
fn a_library_that_is_mapped_twice() {
    let event = |process, start| {
        format!(
            "a {process}/{process} 1.0: PERF_RECORD_MMAP2 {process}/{process}: [{start}(0x1000) @ 0x2000 <abcd>]: r-xp /l.so\n"
        )
    };
    let sample = |ids, address| format!("a {ids} 2.0: 1 cycles:\n\t {address} f (/l.so)\n\n");
    let of = |text: String| frames(&read_text(&text), 0)[0].0.to_owned();
    let two = event("7", "0x7f0000000000") + &event("8", "0x7f1000000000");
    assert_eq!(of(two.clone() + &sample("7/70", "7f0000000100")), "/l.so");
    assert_eq!(of(two.clone() + &sample("8", "7f1000000100")), "/l.so");
    // The other process's address, and a thread of which perf does not print the process.
    assert_eq!(of(two.clone() + &sample("7/70", "7f1000000100")), "?");
    assert_eq!(of(two + &sample("70", "7f0000000100")), "?");
    assert_eq!(of(event("7", "0x7f0000000000") + &sample("70", "7f0000000100")), "/l.so");
}

#[test]
fn callers_are_what_the_user_says() {
    let text = include_str!("../../tests/reports/perf.txt");
    let options = Options { callers: Some(AddressKind::Adjusted), ..Options::default() };
    let report = read(text.as_bytes(), &options).unwrap();
    assert_eq!(frames(&report, 0)[1].2, AddressKind::Adjusted);
    assert!(!report.threads[0].trust.contains(&Trust::Gap));
    let options = Options { callers: Some(AddressKind::Return), ..Options::default() };
    let report = read(include_bytes!("../../tests/reports/perf-dwarf.txt"), &options).unwrap();
    assert_eq!(frames(&report, 0)[1].2, AddressKind::Return);
}

#[test]
fn lines() {
    let line = FrameLine::parse("\t 934 f(int) (.cold)+0x7 (/opt/my (x)/app (deleted))").unwrap();
    assert_eq!((line.address, line.object, line.offset), (0x934, "/opt/my (x)/app (deleted)", None));
    assert_eq!(FrameLine::parse(" 934 (/a)").unwrap().object, "/a");
    for text in [
        "",
        "\t",
        "934",
        "934 f",
        "x f (/a)",
        "-1 f (/a)",
        "12345678123456781 f (/a)",
        "934 f (/a",
        "934 f(/a)",
    ] {
        assert_eq!(FrameLine::parse(text), None, "{text}");
    }
    let heading = Heading::parse("  Web 8 Content  12/-1 [000]  1.5:  cycles:").unwrap();
    assert_eq!((heading.command, heading.process, heading.thread), ("Web 8 Content", Some(12), None));
    assert_eq!(heading.rest, "cycles:");
    for text in
        ["", "a", "1.5:", "7 1.5:", "a 1.5: x", "a b 1.5: x", "a 99999999999999999999 1.5: x", "a 7 1.5 x"]
    {
        assert_eq!(Heading::parse(text), None, "{text}");
    }
    for event in [
        "PERF_RECORD_COMM: a:7/7",
        "PERF_RECORD_MMAP2 7/7: [0x1(0x1) @ 0 <ab>]: r--p /a",
        "PERF_RECORD_MMAP2 7/7: [0x1(0x1) @ ",
        "PERF_RECORD_MMAP2 7/7: [0xffffffffffffffffff(0x1) @ 0 <ab>]: r-xp /a",
    ] {
        assert!(Mapped::parse(event).is_none(), "{event}");
    }
}

#[test]
fn hostile_sizes() {
    let all = u64::MAX;
    let text = format!(
        "a 7/7 1.0: PERF_RECORD_MMAP2 7/7: [{all:#x}({all:#x}) @ {all:#x} <ab>]: r-xp /a\n\
         a 7/7 1.0: PERF_RECORD_MMAP2 7/7: [0x10000({all:#x}) @ {all:#x} <>]: r-xp /b\n\
         a 7/7 2.0: 1 cycles:\n\t {all:x} f (/a)\n\t 0 f (/a)\n\t {all:x} g (/b+{all:#x})\n\t 10000 g (/b)\n"
    );
    assert_eq!(frames(&read_text(&text), 0).len(), 4);
    // A long stack is cut.
    let long = format!("a 7 2.0: 1 c:\n{}", "\t 1 f (/a)\n".repeat(MAX_FRAMES + 5));
    let report = read_text(&long);
    assert!(report.threads[0].frames.len() < 2 * MAX_FRAMES);
    assert_eq!(report.warnings, ["5 samples, frames or modules were left out: there are too many"]);
}

#[test]
fn lines_that_are_none_are_skipped() {
    let text = "a 7 2.0: 1 sched:sched_switch: prev_comm=a: 12 x (y)\n\t 1 f (/a)\n  a.c:12\n\tnonsense\n\t 2 g (/a)\n\n\t 3 h (/a)\n";
    let report = read_text(text);
    assert_eq!(frames(&report, 0).len(), 2);
    for text in ["", "x\n", "#1 0x1 (a+0x1)\n", "a 7 2.0: 1 cycles:\n", "\t 1 f (/a)\n", "\u{ff}\n"] {
        assert!(!is_one(text.as_bytes()), "{text}");
    }
    assert!(is_one(b"a 7 2.0: 1 c:\n\xff\n\t 1 f (/a)\n"));
    let error = read(b"x\n", &Options::default()).unwrap_err().to_string();
    assert_eq!(error, "perf: no line is a sample");
}

#[test]
fn perf_walked_the_stacks_if_no_word_of_its_command_asks_for_another_walk() {
    for command in ["perf record --call-graph dwarf ./x", "perf record --call-graph=dwarf,8192 ./x"] {
        assert!(is_walked_by_perf(command), "{command}");
    }
    for command in [
        "perf record ./x",
        "perf record -g -- ./x --call-graph dwarf",
        "perf record --call-graph dwarf --call-graph fp ./x",
        "perf record --call-graph dwarf -e cycles/call-graph=fp/ ./x",
    ] {
        assert!(!is_walked_by_perf(command), "{command}");
    }
}

#[test]
fn more_modules_than_a_report_may_have_are_left_out_with_a_warning() {
    let frames: String = (0..=1 << 16).map(|number| format!("\t 1 f (/lib{number}+0x10)\n")).collect();
    let report = read_text(&format!("a 7 2.0: 1 cycles:\n{frames}\n"));
    assert!(
        report
            .warnings
            .iter()
            .any(|warning| warning.starts_with("1 samples, frames or modules were left out"))
    );
}

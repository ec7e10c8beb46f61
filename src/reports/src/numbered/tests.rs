//! Reports that the runtimes wrote (`tests/reports`), and lines that they never write.

use foldsym_symbolize::{AddressKind, ReportedAddress, StackFrame, Symbolizer};

use super::*;
use crate::opened::{FormatReader, ReadWith};
use crate::{Kept, Opened, Options, Report, ReportError};

fn read_form(format: Format, bytes: &[u8], options: &Options) -> Result<Report, ReportError> {
    read_with(&Symbolizer::builder().build().unwrap(), format, bytes, options)
}

fn read_with(
    symbolizer: &Symbolizer,
    format: Format,
    bytes: &[u8],
    options: &Options,
) -> Result<Report, ReportError> {
    let forms = [SANITIZER, LLVM, ANDROID, SYSTEMD, MACOS];
    let form = forms.into_iter().find(|form| form.format == format).unwrap();
    let with = ReadWith { symbolizer, kept: &Kept::default(), options, is_wanted: &|| true };
    form.open(bytes, &with).map(Opened::read)
}

fn read(bytes: &[u8], options: &Options) -> Result<Report, ReportError> {
    read_form(Format::Sanitizer, bytes, options)
}

/// A line of a sanitizer.
fn line(text: &str) -> Option<Line<'_>> {
    parse(Format::Sanitizer, text).map(|(_, line)| line)
}

fn read_text(text: &str) -> Report {
    read(text.as_bytes(), &Options::default()).unwrap()
}

/// Offsets and kinds of a stack.
fn offsets(report: &Report, thread: usize) -> Vec<u64> {
    let offset = |frame: &StackFrame| match frame.place {
        ReportedAddress::Image { address, .. } => address,
        other => panic!("{other:?}"),
    };
    report.threads[thread].frames.iter().map(offset).collect()
}

#[test]
fn address_sanitizer() {
    let text = include_str!("../../tests/reports/asan.txt");
    assert!(SANITIZER.is_one(text.as_bytes()));
    let report = read_text(text);
    assert_eq!(report.threads.len(), 3);
    assert!(report.reason.starts_with("AddressSanitizer: heap-use-after-free on address"));
    assert_eq!(report.threads[1].name, "freed by thread T0 here:");
    assert!(report.threads[0].crashed && !report.threads[1].crashed);
    // `callq boom` of `mid` returns to 0x1158bd.
    assert_eq!(offsets(&report, 0)[..2], [0x115856, 0x1158bc]);
    let kinds: Vec<AddressKind> = report.threads[0].frames.iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds[..3], [AddressKind::Exact, AddressKind::Adjusted, AddressKind::Adjusted]);
    assert_eq!(report.modules.len(), 2);
    assert_eq!(&*report.modules[0].name, "/build/t.asan");
    let id = report.modules[0].id.as_ref().unwrap().to_string();
    assert_eq!(id, "7e9aa3f125c70bafea46bd2fc67d4ac3f3926340");
}

#[test]
fn the_other_runtimes() {
    let report = read_text(include_str!("../../tests/reports/tsan.txt"));
    assert_eq!(report.threads.len(), 3);
    assert_eq!(report.reason, "ThreadSanitizer: data race (pid=16225)");
    // `callq pthread_create` of `main` returns to 0xe93bb.
    assert_eq!(offsets(&report, 2)[..2], [0x6495a, 0xe93ba]);
    assert_eq!(&*report.modules[0].name, "t.tsan");
    let report = read_text(include_str!("../../tests/reports/ubsan.txt"));
    assert!(report.reason.contains("runtime error: signed integer overflow"), "{}", report.reason);
    assert_eq!(offsets(&report, 0)[0], 0x320f7);
    let report = read_text(include_str!("../../tests/reports/msan.txt"));
    assert_eq!(report.reason, "MemorySanitizer: use-of-uninitialized-value");
    let report = read_text(include_str!("../../tests/reports/asan-segv.txt"));
    assert!(report.reason.starts_with("AddressSanitizer: SEGV on unknown address"));
    assert_eq!(offsets(&report, 0).len(), 4);
}

#[test]
fn a_cut_report_has_the_frames_before_the_cut() {
    let text = include_str!("../../tests/reports/asan.txt");
    for end in (0..text.len()).step_by(37) {
        if let Ok(report) = read(&text.as_bytes()[..end], &Options::default()) {
            assert!(report.threads.iter().all(|thread| !thread.frames.is_empty()));
        }
    }
    assert!(read(b"==1==ERROR: AddressSanitizer: x\n", &Options::default()).is_err());
}

#[test]
fn a_line_for_each_inlined_function_is_one_frame_and_recursion_is_many() {
    let report = read_text(
        "#0 0x10 in inner a.c:1 (app+0x10)\n#1 0x10 in outer a.c:2 (app+0x10)\n#2 0x20 in r a.c:3 (app+0x20)\n\
         #3 0x20 in r a.c:3 (app+0x20)\n#4 0x30 in gone a.c:4\n#5 0x40 (app+0x40)\n",
    );
    let places: Vec<ReportedAddress> = report.threads[0].frames.iter().map(|frame| frame.place).collect();
    let image = |address| ReportedAddress::Image { module: 0, address };
    assert_eq!(places, [image(0x10), image(0x20), image(0x20), ReportedAddress::Unknown, image(0x40)]);
}

#[test]
fn lines() {
    let found =
        line("    #3 0x55d0 in f(int) (.cold) a.cpp:3 (/opt/my (x)/app+0x1567) (BuildId: ab)").unwrap();
    assert_eq!(
        (found.number, found.given, found.id, found.kind),
        (3, "0x55d0", Some("ab"), AddressKind::Adjusted)
    );
    assert_eq!(found.place, Some(("/opt/my (x)/app", 0x1567)));
    assert_eq!(found.names, "in f(int) (.cold) a.cpp:3");
    let found = line("#0 0x55d0  (app+0x10)").unwrap();
    assert_eq!((found.place, found.names, found.kind), (Some(("app", 16)), "", AddressKind::Exact));
    let found = line("    #1 <null> <null> (libc.so.6+0x27249) (BuildId: 93)").unwrap();
    assert_eq!((found.given, found.place), ("", Some(("libc.so.6", 0x27249))));
    for text in [
        "",
        "#",
        "# 0x10 (a+0x1)",
        "#1 x",
        "#99999999999999999999 0x1 (a+0x1)",
        "#1 0x1 (a+0x1) (BuildId: ",
        "#include <a> (b)",
    ] {
        assert_eq!(line(text), None, "{text}");
    }
}

/// Stacks of the other producers, with the text of loggers and what stands between.
#[test]
fn other_producers() {
    let llvm = "PLEASE submit a bug report\nStack dump:\n0.\tProgram arguments: opt\n \
                #0 0x00007f0012345678 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) Signals.inc:723:11\n \
                #1 0x000055d0c1234567 main (/opt/app+0x1165)\n #2 0x000055d0c1234568 (/opt/app+0x1166)\n";
    let android = "10-01 12:00:00.1  1234  1234 F DEBUG   : signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x8\n\
                   10-01 12:00:00.1  1234  1234 F DEBUG   :       #00 pc 0000000000001253  /a/lib.so (boom(int)+20) (BuildId: abcd)\n\
                   10-01 12:00:00.1  1234  1234 F DEBUG   :       #01 pc 00000000000e3a4c  /a/libc.so (offset 0x1000) (abort(int) (.cfi)+168)\n";
    let systemd = "Oct  1 12:00:00 host systemd-coredump[9]: Process 7 (app) of user 0 dumped core.\n\
                   Stack trace of thread 7:\n#0  0x0000000000408c96 n/a (/opt/app + 0x8c96)\n\
                   #1  0x00007f0012345678 __libc_start_main (libc.so.6 + 0x2724a)\nStack trace of thread 8:\n\
                   #0  0x00007f0012345678 poll (libc.so.6 + 0xf)\n";
    for (format, text, reason, kinds, named) in [
        (
            Format::Llvm,
            llvm,
            "PLEASE submit a bug report",
            [AddressKind::Return; 2],
            &["llvm::sys::PrintStackTrace(llvm::raw_ostream&, int)", "main"][..],
        ),
        (
            Format::Android,
            android,
            "signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x8",
            [AddressKind::Exact, AddressKind::Adjusted],
            &["boom(int)", "abort(int) (.cfi)"],
        ),
        (
            Format::Systemd,
            systemd,
            "Process 7 (app) of user 0 dumped core.",
            [AddressKind::Exact, AddressKind::Return],
            &["__libc_start_main"],
        ),
    ] {
        assert_eq!(Format::of(text.as_bytes()), Some(format));
        let report = read_form(format, text.as_bytes(), &Options::default()).unwrap();
        assert_eq!(report.reason, reason);
        let first = &report.threads[0];
        assert!(first.crashed);
        let found: Vec<AddressKind> = first.frames.iter().map(|frame| frame.kind).collect();
        assert_eq!(found[..2], kinds, "{format:?}");
        let names: Vec<&str> = first.names.iter().map(|name| &*name.function).collect();
        assert_eq!(names, named, "{format:?}");
    }
    let report = read_form(Format::Systemd, systemd.as_bytes(), &Options::default()).unwrap();
    let names: Vec<&str> = report.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["Stack trace of thread 7:", "Stack trace of thread 8:"]);
}

/// The addresses around a signal are exact, and a frame in no module keeps its place.
#[test]
fn signals_and_frames_without_a_module() {
    let llvm = " #0 0x00007f0012345678 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) (/a/libLLVM.so+0x10)\n \
                #1 0x00007f0012345679 llvm::sys::RunSignalHandlers() (/a/libLLVM.so+0x20)\n \
                #2 0x00007f001234567a (/a/libLLVM.so+0x30)\n #3 0x00007f001234567b (/a/libc.so.6+0x3c050)\n \
                #4 0x00007f001234567c (/a/app+0x40)\n #5 0x00007f0000001000\n #6 0x00007f001234567d (/a/app+0x50)\n";
    let report = read_form(Format::Llvm, llvm.as_bytes(), &Options::default()).unwrap();
    assert_eq!(report.threads.len(), 1);
    let exact: Vec<usize> = report.threads[0]
        .frames
        .iter()
        .enumerate()
        .filter(|(_, frame)| frame.kind == AddressKind::Exact)
        .map(|(at, _)| at)
        .collect();
    assert_eq!(exact, [3, 4]);
    assert_eq!(report.threads[0].frames[5].place, ReportedAddress::Unknown);
    let systemd = "#0  0x00007f0012345678 __restore_rt (libc.so.6 + 0x2724a)\n\
                   #1  0x00007f0000000000 n/a (n/a + 0x0)\n#2  0x0000000000408c96 main (/opt/app + 0x8c96)\n";
    let report = read_form(Format::Systemd, systemd.as_bytes(), &Options::default()).unwrap();
    let frames = &report.threads[0].frames;
    assert_eq!((frames[1].place, frames[1].kind), (ReportedAddress::Unknown, AddressKind::Exact));
    assert_eq!(frames[2].place, ReportedAddress::Offset { module: 1, offset: 0x8c96 });
    assert_eq!(report.modules.len(), 2);
}

fn llvm(text: &str) -> Option<Line<'_>> {
    parse(Format::Llvm, text).map(|(_, line)| line)
}

fn macos(text: &str) -> Option<Line<'_>> {
    parse(Format::MacOs, text).map(|(_, line)| line)
}

/// LLVM and macOS write the same columns, in other widths. A name of a file that is not at hand is the report's.
#[test]
fn lines_of_columns() {
    let line = llvm("10 lib LLVM.so 0x00007f0012345678 f(int, \"0x \") + 54").unwrap();
    assert_eq!((line.number, line.place, line.kind), (10, Some(("lib LLVM.so", 54)), AddressKind::Return));
    assert_eq!((line.base, line.given), (AddressBase::Symbol("f(int, \"0x \")"), "0x00007f0012345678"));
    let line = llvm("4  opt 0x000055d0c1234568").unwrap();
    assert_eq!((line.place, line.base), (Some(("opt", 0x55d0_c123_4568)), AddressBase::Process));
    let line = macos("0   app    0x0000000100003f50 main + 16").unwrap();
    assert_eq!((line.place, line.kind), (Some(("app", 16)), AddressKind::Return));
    let line = macos("0   app                           \t0x0000000100003f50 main + 16").unwrap();
    assert_eq!((line.place, line.kind), (Some(("app", 16)), AddressKind::Exact));
    for text in [
        "",
        "0",
        "0  0x00007f0012345678 f + 1",
        "0 opt 0x00007f0012345678 f + 1",
        "0  opt 0x7f0012345678 f + 1",
        "0  opt0x00007f0012345678 f + 1",
        "x  opt 0x00007f0012345678 f + 1",
        "99999999999999999999 opt 0x00007f0012345678 f + 1",
        "0     opt 0x00007f0012345678 f + 1",
    ] {
        assert!(llvm(text).is_none() && macos(text).is_none(), "{text}");
    }
    let text = "0  libLLVM.so 0x00007f0012345678 llvm::sys::RunSignalHandlers() + 54\n\
                1  libLLVM.so 0x00007f0012345679\n2  libc.so.6  0x00007f001234567a\n3  opt        0x000055d0c1234568\n";
    let report = read_form(Format::Llvm, text.as_bytes(), &Options::default()).unwrap();
    assert_eq!((Format::of(text.as_bytes()), report.modules.len()), (Some(Format::Llvm), 3));
    let thread = &report.threads[0];
    let kinds: Vec<AddressKind> = thread.frames.iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [AddressKind::Return, AddressKind::Return, AddressKind::Exact, AddressKind::Exact]);
    assert_eq!(&*thread.names[0].function, "llvm::sys::RunSignalHandlers()");
}

/// From frame 100 on the modules of LLVM's dumps begin where macOS's do. If the longest of them has 36 letters, the lines of that
/// module are those that macOS would write, and the others are not.
#[test]
fn a_deep_stack_of_llvm_is_read_to_its_end() {
    let text = include_str!("../../tests/reports/llvm-deep.txt");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!((lines.len(), Format::of(text.as_bytes())), (110, Some(Format::Llvm)));
    let report = read_form(Format::Llvm, text.as_bytes(), &Options::default()).unwrap();
    assert_eq!((report.threads.len(), report.modules.len()), (1, 3));
    let thread = &report.threads[0];
    assert_eq!((thread.frames.len(), &*thread.names.last().unwrap().function), (110, "_start"));
    assert_eq!(thread.frames[4].kind, AddressKind::Exact, "the signal interrupted it");
    for line in &lines {
        assert!(parse_next(Format::Llvm, line).is_some(), "{line}");
    }
    assert!(llvm(lines[107]).is_some() && macos(lines[107]).is_none(), "{}", lines[107]);
    assert!(llvm(lines[106]).is_none() && macos(lines[106]).is_some(), "{}", lines[106]);
    // The same lines where no module has 35 letters are LLVM's by themselves.
    for line in text.lines().skip(101) {
        let narrow = line.replace("a_program_with_thirty_five_letters.o", "a_program_of_thirty_letters.exe");
        let narrow = narrow.replace("libc.so.6     ", "libc.so.6");
        assert!(llvm(&narrow).is_some() && macos(&narrow).is_none(), "{narrow}");
    }
}

/// Apple's crash reports have a tab before the address, and as many digits as it has. Its tools put the place in the source behind the offset.
#[test]
fn crash_reports_of_apple() {
    let text = "Thread 0 Crashed:: Dispatch queue: com.apple.main-thread\n\
                0   libsystem_kernel.dylib        \t    0x7ff808ebbaba mach_msg_trap + 10\n\
                1   SwiftUI                       \t    0x7ff913d0f91f static App.main() + 63\n\
                2   Capturinator                  \t       0x10b1fdd06 0x10b1fb000 + 11526\n\
                3   TouchCanvas                   \t0x0000000102afb3d0 f(a + b:) + 304 (NSString + View.swift:231)\n\
                4   TouchCanvas                   \t0x0000000102afb3d8 g() + 8 (<compiler-generated>:0)\n\
                5   TouchCanvas                   \t0x0000000102afb3e0 h() + 16 (in TouchCanvas)\n\
                \n\
                Thread 1:\n\
                0   libsystem_pthread.dylib       \t    0x7ff808ef3fec start_wqthread + 0\n\
                1   ???                           \t               0x0 ???\n\
                2   ???                           \t0x0000000000000000 0 + 0\n";
    assert_eq!(Format::of(text.as_bytes()), Some(Format::MacOs));
    let report = read_form(Format::MacOs, text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(report.threads.len(), 2);
    let (first, second) = (&report.threads[0], &report.threads[1]);
    assert!(first.frames[0].kind == AddressKind::Exact && second.frames[0].kind == AddressKind::Exact);
    assert_eq!((second.frames.len(), second.names.len()), (3, 1));
    assert!(first.frames[1..].iter().all(|frame| frame.kind == AddressKind::Return));
    assert_eq!(first.frames[2].place, ReportedAddress::Offset { module: 2, offset: 11526 });
    let names: Vec<(u32, &str, &str, u32)> =
        first.names.iter().map(|name| (name.frame, &*name.function, &*name.file, name.line)).collect();
    assert_eq!(
        names,
        [
            (0, "mach_msg_trap", "", 0),
            (1, "static App.main()", "", 0),
            (3, "f(a + b:)", "NSString + View.swift", 231),
            (4, "g()", "", 0),
            (5, "h()", "", 0),
        ]
    );
    let backtrace =
        text.replace("Thread 0 Crashed:: Dispatch queue: com.apple.main-thread", "Last Exception Backtrace:");
    let report = read_form(Format::MacOs, backtrace.as_bytes(), &Options::default()).unwrap();
    assert_eq!(report.threads[0].frames[0].kind, AddressKind::Return);
}

/// `backtrace_symbols` has return addresses alone, but for a signal; and counts from the module where it knows no function.
#[test]
fn what_backtrace_symbols_of_macos_writes() {
    let text = "0   app                                 0x0000000100003f50 handler + 32\n\
                1   libsystem_platform.dylib            0x0000000195572584 _sigtramp + 56\n\
                2   app                                 0x0000000100003e50 app + 15952\n\
                3   app                                 0x0000000100003e90 main + 16\n";
    let report = read_form(Format::MacOs, text.as_bytes(), &Options::default()).unwrap();
    let frames = &report.threads[0].frames;
    let kinds: Vec<AddressKind> = frames.iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [AddressKind::Return, AddressKind::Exact, AddressKind::Exact, AddressKind::Return]);
    assert_eq!(frames[2].place, ReportedAddress::Offset { module: 0, offset: 15952 });
    for line in [
        "104 app                                  0x0000000100003f50 main + 16",
        "104 app                                 0x100003f50 main + 16",
        "104 app                           \t100003f50 main + 16",
        "104 \t0x100003f50 main + 16",
        "104app                           \t0x100003f50 main + 16",
        "3  app                           \t0x100003f50 main + 16",
        "3   app                           \t0x10000000000003f50 main + 16",
        "3   app                           \t0x+3f50 main + 16",
        "3   app                           \t0x100003f50 main",
        "3   app                          \t0x100003f50 main + 16",
        "104 state\t0x12 a + 1",
    ] {
        assert!(macos(line).is_none(), "{line}");
    }
}

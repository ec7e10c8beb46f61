//! The crash handler (`include/foldsym_crash.h`): programs that crash in every way, and what the handler writes of each, beside gdb.

#![cfg(target_os = "linux")]

mod built;
#[path = "../common/mod.rs"]
mod common;
mod emulated;
mod loading;
mod soak;
mod words;

use std::process::Command;

use built::{LETTER, Line, PIE, PLAIN, Report, STATIC, STATIC_PIE, build, libc_signal, source, succeed};
use common::{compiler, crash_archive, crate_dir, folder, skip, text};
use foldsym_convert::{NoProgress, Options, convert};
use foldsym_symbolize::{GivenStack, Requests, Stack, Symbolizer};
use object::{Object, ObjectSymbol, SymbolKind};

/// Bytes of code that the archive adds to a program.
const CODE: u64 = 80 * 1024;
/// Bytes of its static memory.
const MEMORY: u64 = 36 * 1024;
/// Bytes of stack that the handler takes, the kernel's frame included.
const STACK: usize = if cfg!(target_arch = "x86_64") { 32 * 1024 } else { 40 * 1024 };

#[test]
fn every_crash_has_a_whole_report() {
    for way in [PIE, PLAIN] {
        let Some(built) = build("every", &way) else { return };
        let report = built.run(&["segv"]);
        report.is_whole(
            libc_signal("SEGV"),
            "SIGSEGV SEGV_MAPERR (nothing is mapped at the address), address 0x",
        );
        report.has(&[&LETTER[..], &["main"]].concat());
        let first = &report.lines()[0].rest;
        assert!(first.contains("folded.cpp:12 (libfolded.so) [exact]"), "{first}");
        assert!(report.lines()[3].rest.ends_with("(libplain.so) inlined"), "{}", report.text);
        for module in ["program", "libfolded.so", "libplain.so"] {
            let file = built.shipped.join(module);
            let line = report
                .text
                .lines()
                .find(|line| line.contains(&format!("{} build id ", file.display())))
                .unwrap();
            assert!(line.ends_with(&format!("symbols: {}.fsym", file.display())), "{line}");
        }
        let report = built.run(&["thread"]);
        report.is_whole(libc_signal("SEGV"), "SIGSEGV");
        report.has(&[&LETTER[..], &["(anonymous namespace)::in_thread"]].concat());
        for how in ["overflow", "overflow-thread"] {
            let report = built.run(&[how]);
            report.is_whole(libc_signal("SEGV"), "SIGSEGV");
            report.has(&["(anonymous namespace)::deeper"; 224]);
            let lines = report.lines();
            assert_eq!(
                lines.iter().map(|line| line.number).filter(|number| *number > 1000).count(),
                32,
                "{how}"
            );
            let outer = if how == "overflow" { "main" } else { "(anonymous namespace)::in_thread" };
            assert!(lines.iter().any(|line| line.name == outer), "{}", report.text);
        }
        let report = built.run(&["abort"]);
        report.is_whole(libc_signal("ABRT"), "SIGABRT SI_TKILL");
        assert!(report.text.contains(" abort+0x"), "{}", report.text);
        let report = built.run(&["terminate"]);
        report.is_whole(libc_signal("ABRT"), "SIGABRT");
        let message =
            "message: std::terminate after an exception of type std::runtime_error: no such parcel\n";
        assert!(report.text.contains(message), "{}", report.text);
        assert!(report.text.contains(" std::terminate+0x"), "{}", report.text);
        let report = built.run(&["assert"]);
        report.is_whole(libc_signal("ABRT"), "SIGABRT");
        assert!(report.text.contains("Assertion `mail[0] == 77' failed.\n#0 "), "{}", report.text);
        let report = built.run(&["divide"]);
        report.is_whole(libc_signal("FPE"), "SIGFPE FPE_INTDIV");
        report.has(&["(anonymous namespace)::divide", "main"]);
        built.run(&["trap"]).is_whole(libc_signal("TRAP"), "SIGTRAP");
        let report = built.run(&["null"]);
        report.is_whole(libc_signal("SEGV"), "SIGSEGV");
        report.has(&["", "twice", "carry", "main"]);
    }
}

#[test]
fn what_goes_wrong_costs_a_part_of_the_report_alone() {
    let Some(built) = build("wrong", &PIE) else { return };
    // A stack pointer that the crash destroyed: one frame, and all the rest of the report.
    let report = built.run(&["lost"]);
    report.is_whole(libc_signal("SEGV"), "SIGSEGV");
    report.has(&["(anonymous namespace)::lose_stack"]);
    assert!(report.text.contains("/libc.so.6 build id "), "{}", report.text);
    // A crash in a handler of the program: the walk goes through the frame that the kernel made.
    let report = built.run(&["in-handler"]);
    report.is_whole(libc_signal("SEGV"), "SIGSEGV");
    report.has(&[&LETTER[..], &["(anonymous namespace)::on_user_signal"]].concat());
    assert!(report.lines().iter().any(|line| line.name == "main"), "{}", report.text);
    // Two threads at once: the second one waits, and its report follows.
    let report = built.run(&["two"]);
    assert_eq!(report.status.code(), Some(128 + libc_signal("SEGV")), "{}", report.text);
    for text in
        ["*** crash: ", "*** end of the crash report\n", " (anonymous namespace)::grams_of_letter at "]
    {
        assert_eq!(report.text.matches(text).count(), 2, "{text}: {}", report.text);
    }
    // The handler that was there before gets the signal as the kernel gave it.
    let report = built.run(&["chain"]);
    assert!(
        report.text.ends_with("*** end of the crash report\nthe handler that was there before\n"),
        "{}",
        report.text
    );
    assert_eq!(report.status.code(), Some(77));
    // A child has its own report, and the parent goes on.
    let report = built.run(&["forked"]);
    assert_eq!(report.status.code(), Some(0), "{}", report.text);
    assert_eq!(report.text.matches("*** end of the crash report").count(), 1);
    let registers = built.run(&["registers"]).text;
    let program_counter = if cfg!(target_arch = "x86_64") { "\nrip 0x" } else { "  pc 0x" };
    assert!(registers.contains(program_counter), "{registers}");
    let report = built.run(&["print"]);
    assert_eq!(report.status.code(), Some(0));
    report.has(&["main"]);
    assert!(report.text.contains(" _start"), "{}", report.text);
    // Symbols that are cut short while they are mapped: SIGBUS in the handler, and the report goes on.
    let report = built.run(&["truncated"]);
    report.is_whole(libc_signal("SEGV"), "SIGSEGV");
    assert!(report.text.contains("(the handler met SIGBUS at 0x"), "{}", report.text);
    assert!(report.text.contains("/libc.so.6 build id "), "{}", report.text);
    built.symbols("program");
}

#[test]
fn a_signal_that_does_not_end_the_process_leaves_later_crashes_their_reports() {
    let Some(cc) = compiler("cc") else { return };
    let program = folder("handler-goes-on").join("goes_on");
    let include = format!("-I{}", crate_dir().join("include").display());
    let mut command = Command::new(cc);
    command
        .args(["-O2", "-g", "-fomit-frame-pointer", &include])
        .arg(source("goes_on.c"))
        .arg(crash_archive());
    succeed(command.args(["-pthread", "-ldl", "-o"]).arg(&program));
    let run = |way: &str| {
        let output = Command::new(&program).arg(way).output().unwrap();
        Report { text: String::from_utf8_lossy(&output.stderr).into_owned(), status: output.status }
    };
    let report = run("ignored");
    assert_eq!(report.text.matches("*** crash: signal 28 ").count(), 2, "{}", report.text);
    assert_eq!(report.text.matches("*** crash: SIGSEGV").count(), 1, "{}", report.text);
    assert!(report.text.ends_with("*** end of the crash report\n"), "{}", report.text);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&report.status), Some(libc_signal("SEGV")));
    // The report of a fault that does not come again went elsewhere.
    let report = run("mapped");
    assert!(report.text.starts_with("the page is there\n*** crash: SIGABRT"), "{}", report.text);
    assert!(report.text.ends_with("*** end of the crash report\n"), "{}", report.text);
    // Faults that somebody sends, at any moment of a stack that is printed.
    for _ in 0..20 {
        let report = run("sent");
        assert_eq!((report.text.as_str(), report.status.code()), ("still here\n", Some(0)));
    }
}

#[test]
fn a_stack_is_printed_by_an_archive_with_frame_pointers_too() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("handler-frame-pointers");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--release", "--locked"]).current_dir(crate_dir().join("crash"));
    build.env("CARGO_TARGET_DIR", &folder).env("RUSTFLAGS", "-Cforce-frame-pointers=yes");
    succeed(build.env_remove("CARGO_ENCODED_RUSTFLAGS"));
    let (source, program) = (folder.join("twice.c"), folder.join("twice"));
    std::fs::write(&source, TWICE).unwrap();
    for flag in ["-fomit-frame-pointer", "-fno-omit-frame-pointer"] {
        let mut command = Command::new(&cc);
        command.args(["-O2", "-g", "-fno-optimize-sibling-calls", flag]);
        command.arg(format!("-I{}", crate_dir().join("include").display()));
        command.arg(&source).arg(folder.join("release/libfoldsym_crash.a"));
        succeed(command.args(["-pthread", "-ldl", "-o"]).arg(&program));
        let output = Command::new(&program).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let report = Report { text, status: output.status };
        assert_eq!(report.status.code(), Some(42), "{flag}: {}", report.text);
        assert!(report.text.starts_with("#0 "), "{}", report.text);
        for name in [" twice+0x", " main+0x", " _start+0x"] {
            assert!(report.text.contains(name), "{name}: {}", report.text);
        }
    }
}

const TWICE: &str = r#"
#include "foldsym_crash.h"
__attribute__((noinline)) int twice(int value)
{
    int status = foldsym_print_stack(2);
    return status == FOLDSYM_CRASH_OK ? 2 * value : 1;
}
int main(void)
{
    if (foldsym_install_crash_handler(0) < 0)
        return 1;
    return twice(21);
}
"#;

#[test]
fn modules_without_their_symbols_say_so_and_are_named_by_the_linker() {
    let Some(built) = build("missing", &PIE) else { return };
    let of = |name: &str| built.shipped.join(format!("{name}.fsym"));
    // Of another build.
    std::fs::copy(of("libplain.so"), of("libfolded.so")).unwrap();
    let report = built.run(&["segv"]);
    report.is_whole(libc_signal("SEGV"), "SIGSEGV");
    assert!(report.text.contains("the .fsym is of another build: "), "{}", report.text);
    assert!(report.lines()[1].rest.starts_with("letters::post+0x"), "{}", report.text);
    assert!(report.lines()[1].rest.ends_with("(libfolded.so, .dynsym)"), "{}", report.text);
    // Cut short before the handler was installed, and no file at all.
    std::fs::write(of("libfolded.so"), &std::fs::read(of("libplain.so")).unwrap()[..200]).unwrap();
    std::fs::remove_file(of("program")).unwrap();
    let report = built.run(&["segv"]);
    report.is_whole(libc_signal("SEGV"), "SIGSEGV");
    assert!(report.text.contains("the .fsym is damaged: "), "{}", report.text);
    assert!(report.text.contains("program build id "), "{}", report.text);
    assert!(report.text.contains(", no .fsym was found\n"), "{}", report.text);
    // The walk went on by .eh_frame, through the program to the C library.
    let lines = report.lines();
    assert!(lines.iter().any(|line| line.rest.starts_with("__libc_start_main")), "{}", report.text);
    assert_eq!(lines.iter().map(|line| line.number).max(), Some(6), "{}", report.text);
    // The table of all symbols of a file that has one.
    std::fs::copy(built.whole.join("libfolded.so"), built.shipped.join("libfolded.so")).unwrap();
    let report = built.run(&["segv"]);
    assert!(report.lines()[0].rest.contains("(libfolded.so, .symtab)"), "{}", report.text);
}

#[test]
fn a_static_program_has_the_same_reports() {
    for way in [STATIC, STATIC_PIE] {
        let Some(built) = build("static", &way) else { return };
        for with_symbols in [true, false] {
            if !with_symbols {
                std::fs::remove_file(built.shipped.join("program.fsym")).unwrap();
                std::fs::copy(built.whole.join("program"), built.shipped.join("program")).unwrap();
            }
            let report = built.run(&["segv"]);
            report.is_whole(libc_signal("SEGV"), "SIGSEGV");
            let lines = report.lines();
            assert!(lines.iter().any(|line| line.name == "main"), "{}", report.text);
            assert!(lines.iter().any(|line| line.name == "_start"), "{}", report.text);
            let report = built.run(&["terminate"]);
            report.is_whole(libc_signal("ABRT"), "SIGABRT");
            assert!(
                report.lines().iter().any(|line| line.name == "main" || line.name == "main.cold"),
                "{}",
                report.text
            );
        }
    }
}

/// musl: a static program is `/proc/self/exe` to its loader, and the vDSO of a dynamic one has no name.
#[test]
fn a_program_of_musl_has_the_same_reports() {
    // Where musl is installed, Spark's library of snappy takes the system for one of musl, and its tests fail: so the checks of all
    // submissions do without.
    if Command::new("musl-gcc").arg("--version").output().is_err() {
        eprintln!("skipped: needs musl-gcc");
        return;
    }
    let Some(musl) = compiler("musl-gcc") else { return };
    let folder = folder("handler-musl");
    let file = folder.join("crash.c");
    std::fs::write(&file, MUSL).unwrap();
    let include = format!("-I{}", crate_dir().join("include").display());
    for way in ["-static", "-pie"] {
        let program = folder.join(format!("program{way}"));
        let mut command = Command::new(&musl);
        command
            .args(["-std=gnu11", "-O2", "-g", "-fomit-frame-pointer", "-Wl,--build-id", way])
            .arg(&include);
        succeed(command.arg(&file).arg(crash_archive()).args(["-pthread", "-o"]).arg(&program));
        let symbols = folder.join(format!("program{way}.fsym"));
        let options = Options::default().with(|options| (options.threads, options.unwind) = (1, true));
        convert(&program, &symbols, &options, &NoProgress).unwrap();
        let output = Command::new(&program).output().unwrap();
        let report =
            Report { text: String::from_utf8_lossy(&output.stderr).into_owned(), status: output.status };
        report.is_whole(libc_signal("SEGV"), "SIGSEGV");
        report.has(&["deep", "main"]);
        let symbols = format!("{} build id ", program.display());
        let line = report
            .text
            .lines()
            .find(|line| line.contains(&symbols))
            .unwrap_or_else(|| panic!("{}", report.text));
        assert!(line.ends_with(&format!("symbols: {}.fsym", program.display())), "{line}");
        assert!(way == "-static" || report.text.contains(" [vdso] build id "), "{}", report.text);
    }
}

const MUSL: &str = r#"
#include "foldsym_crash.h"
__attribute__((noinline)) int deep(const volatile int *from)
{
    return *from + 1;
}
int main(int count, char **words)
{
    (void)words;
    if (foldsym_install_crash_handler(NULL) != FOLDSYM_CRASH_OK)
        return 2;
    return deep(count > 7 ? &count : NULL) * 2;
}
"#;

/// The functions that gdb names, innermost first, of the frames and inlined functions that `wanted` takes by their line.
fn frames_of_gdb(printed: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = printed.lines().filter(|line| line.starts_with('#') && wanted(line));
    let name = |line: &str| {
        let rest = line.split_once(' ').unwrap().1.trim_start();
        let rest = if rest.starts_with("0x") { rest.split_once(" in ").unwrap().1 } else { rest };
        // Arguments follow, and a name may begin with a parenthesis.
        let inside = rest.strip_prefix("(anonymous namespace)").unwrap_or(rest);
        let end = inside.find(" (").map_or(rest.len(), |at| at + rest.len() - inside.len());
        rest[..end].to_owned()
    };
    lines.map(name).collect()
}

#[test]
fn stacks_are_those_of_gdb() {
    let Some(built) = build("gdb", &PIE) else { return };
    if Command::new("gdb").arg("--version").output().is_err() {
        return skip("gdb");
    }
    for how in ["segv", "thread", "in-handler", "terminate", "assert", "divide", "null", "abort"] {
        let mut gdb = Command::new("gdb");
        let signal = "handle SIGUSR1 nostop noprint pass";
        for command in
            ["set debuginfod enabled off", "set backtrace past-main on", "set width 0", signal, "run", "bt"]
        {
            gdb.arg("-ex").arg(command);
        }
        let output =
            gdb.args(["-nx", "-batch", "--args"]).arg(built.whole.join("program")).arg(how).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.contains("\n#3"), "{how}: {printed}{}", String::from_utf8_lossy(&output.stderr));
        let ours = |line: &str| {
            line.rsplit(" at ").next().unwrap().contains("/tests/c/handler/")
                || line.contains("foldsym_crash")
                || line.ends_with(" in _start ()")
        };
        let report = built.run(&[how]);
        let told = || format!("{how}: {printed}\n{}", report.text);
        // The functions of the program and its libraries, inlined ones included. Of folded ones gdb names that which the linker kept.
        let is_ours = |line: &&Line| {
            ["(program)", "(libfolded.so)", "(libplain.so)"].iter().any(|module| line.rest.contains(module))
        };
        let names: Vec<String> = report
            .lines()
            .iter()
            .filter(is_ours)
            .map(|line| line.name.replace("letter", "parcel").replace(".cold", ""))
            .collect();
        let expected: Vec<String> =
            frames_of_gdb(&printed, ours).iter().map(|name| name.replace("letter", "parcel")).collect();
        assert_eq!(names, expected, "{}", told());
        // Where each frame of the C library is, by its place in a page. gdb adds frames of functions that ended with a jump.
        let of_gdb = places(&printed);
        let mut rest = of_gdb.iter();
        // Of the frame that the kernel made, and of the one that it interrupted, gdb prints no address.
        let mut is_interrupted = true;
        let has_address = |line: &&str| {
            let was = std::mem::replace(&mut is_interrupted, line.contains("<signal handler called>"));
            !is_interrupted && !was
        };
        let lines: Vec<&str> =
            report.text.lines().filter(|line| line.starts_with('#')).filter(has_address).collect();
        for place in &places(&lines.join("\n")) {
            assert!(rest.any(|other| other == place), "{place:#x}: {}", told());
        }
        assert_eq!(rest.next(), None, "{}", told());
    }
}

/// The places in their pages of the frames that have an address, innermost first, each once.
fn places(printed: &str) -> Vec<u64> {
    let mut places: Vec<u64> = Vec::new();
    for line in printed.lines().filter(|line| line.starts_with('#')) {
        let address = line.split_whitespace().nth(1).and_then(|word| word.strip_prefix("0x"));
        if let Some(address) = address.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            let place = address & 0xfff;
            places.extend(Some(place).filter(|place| places.last() != Some(place)));
        }
    }
    places
}

#[test]
fn system_calls_of_the_handler_are_those_of_the_list() {
    const LISTED: [&str; 9] = [
        "write",
        "rt_sigaction",
        "rt_sigprocmask",
        "tgkill",
        "gettid",
        "clock_gettime",
        "nanosleep",
        "process_vm_readv",
        "exit_group",
    ];
    let Some(built) = build("calls", &PIE) else { return };
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("strace");
    }
    for how in ["segv", "abort", "chain", "truncated", "overflow"] {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq"]).arg(built.shipped.join("program")).arg(how);
        let output = strace.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let Some(from) = said.lines().position(|line| line.contains("--- SIG")) else { panic!("{said}") };
        let mut seen = 0;
        for line in said.lines().skip(from) {
            // `[pid 7] name(...`, or `[pid 7] <... name resumed>...`.
            let call = line.split_once("] ").filter(|_| line.starts_with('[')).map_or(line, |pair| pair.1);
            let call = call.strip_prefix("<... ").unwrap_or(call);
            let name = call.split(|letter: char| {
                !letter.is_ascii_lowercase() && !letter.is_ascii_digit() && letter != '_'
            });
            let name = name.into_iter().next().unwrap_or_default();
            if name.is_empty() || !call[name.len()..].starts_with(['(', ' ']) {
                continue;
            }
            seen += 1;
            // The kernel's own end of a handler.
            assert!(LISTED.contains(&name) || name == "rt_sigreturn", "{how}: {line}");
        }
        assert!(seen > 20, "{how}: {said}");
        built.symbols("program");
    }
}

/// All code that the archive adds, and the stack that the handler takes.
#[test]
fn bounds_hold() {
    let Some(built) = build("bounds", &PIE) else { return };
    let used = built.run(&["stack"]).text;
    let used: usize = used.lines().find_map(|line| line.strip_prefix("used ")).unwrap().parse().unwrap();
    println!("{used} bytes of stack");
    assert!((2048..=STACK).contains(&used), "{used}");
    let bytes = std::fs::read(built.whole.join("program")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let (mut code, mut panics) = (0, Vec::new());
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let name = symbol.name().unwrap();
        // Rust's names, and those of the header.
        if name.contains("foldsym_") || name.starts_with("_R") || name.contains("17h") {
            code += symbol.size();
        }
        if name.contains("panicking") {
            panics.push(name.to_owned());
        }
    }
    let of_library = |symbol: &object::Symbol<'_, '_>| {
        symbol.kind() == SymbolKind::Data && symbol.name().is_ok_and(|name| name.contains("foldsym_crash"))
    };
    let memory: u64 = file.symbols().filter(of_library).map(|symbol| symbol.size()).sum();
    println!("{memory} bytes of static memory");
    assert!((32 * 1024..=MEMORY).contains(&memory), "{memory}");
    println!("{code} bytes of code");
    assert!((16 * 1024..=CODE).contains(&code), "{code}");
    assert_eq!(panics, Vec::<String>::new());
}

/// The line of JSON, read by the engine of `foldsym symbolize`, gives the stack that the text has.
#[test]
fn the_line_of_json_has_the_same_stack() {
    let Some(built) = build("json", &PIE) else { return };
    let path = built.shipped.join("crash.json");
    let report = built.run(&["segv", text(&path)]);
    let line = std::fs::read_to_string(&path).unwrap();
    let given = GivenStack::parse(line.as_bytes()).unwrap();
    let request = Requests::default().parse(&given, None).unwrap();
    let echo: Vec<(&str, String)> = given.echo().collect();
    assert!(echo.contains(&("signal", "\"SIGSEGV\"".to_owned())), "{line}");
    let symbolizer = Symbolizer::builder().search([&built.shipped]).build().unwrap();
    let stack = Stack::new(&request.modules, request.frames.clone());
    let mut names = Vec::new();
    for frame in symbolizer.symbolize(&stack) {
        names.extend(frame.functions.iter().map(|function| function.function.to_string()));
    }
    let printed: Vec<String> = report.lines().into_iter().map(|line| line.name).collect();
    assert_eq!(names[..LETTER.len()], LETTER, "{line}");
    assert_eq!(names[..=LETTER.len()], printed[..=LETTER.len()], "{line}");
}

/// The header compiles as C99 and as C++11, and refuses what it does not know.
#[test]
fn the_header_is_c_and_cpp() {
    let folder = folder("handler-header");
    let include = format!("-I{}", crate_dir().join("include").display());
    let file = folder.join("options.c");
    std::fs::write(&file, OPTIONS).unwrap();
    for (tool, flags) in [("cc", ["-xc", "-std=c99"]), ("c++", ["-xc++", "-std=c++11"])] {
        let Some(compiler) = compiler(tool) else { continue };
        let program = folder.join(tool);
        let mut command = Command::new(compiler);
        command
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"])
            .args(flags)
            .arg(&include)
            .arg(&file);
        succeed(command.args(["-xnone"]).arg(crash_archive()).args(["-pthread", "-o"]).arg(&program));
        succeed(&mut Command::new(&program));
    }
}

const OPTIONS: &str = r#"
#include "foldsym_crash.h"
#include <string.h>
#ifndef __cplusplus
#define nullptr NULL
#endif
int main(void)
{
    static const int kill_signal[1] = { 9 }, no_signal[1] = { 65 };
    foldsym_crash_options options;
    struct { foldsym_crash_options options; size_t more; } newer;
    if (foldsym_crash_refresh() != FOLDSYM_CRASH_E_NOT_INSTALLED || foldsym_print_stack(1) != FOLDSYM_CRASH_E_NOT_INSTALLED)
        return 1;
    memset(&options, 0, sizeof options);
    if (foldsym_install_crash_handler(&options) != FOLDSYM_CRASH_E_SIZE)
        return 2;
    options.size = sizeof options;
    options.flags = 64;
    if (foldsym_install_crash_handler(&options) != FOLDSYM_CRASH_E_RESERVED)
        return 3;
    options.flags = 0;
    options.fd = -1;
    if (foldsym_install_crash_handler(&options) != FOLDSYM_CRASH_E_ARGUMENT)
        return 4;
    options.fd = 0;
    options.signals = no_signal;
    options.signal_count = 1;
    if (foldsym_install_crash_handler(&options) != FOLDSYM_CRASH_E_ARGUMENT)
        return 5;
    options.signals = kill_signal;
    memset(&newer, 0, sizeof newer);
    newer.options.size = sizeof newer;
    newer.more = 1;
    if (foldsym_install_crash_handler(&newer.options) != FOLDSYM_CRASH_E_RESERVED)
        return 8;
    newer.more = 0;
    newer.options.module_capacity = 1;
    if (foldsym_install_crash_handler(&newer.options) != FOLDSYM_CRASH_E_FULL)
        return 9;
    if (foldsym_install_crash_handler(nullptr) != FOLDSYM_CRASH_E_FULL || foldsym_crash_thread() != FOLDSYM_CRASH_OK)
        return 10;
    if (foldsym_install_crash_handler(&options) != FOLDSYM_CRASH_E_SIGNAL)
        return 11;
    return strcmp(foldsym_crash_text(FOLDSYM_CRASH_E_FULL), "done") == 0;
}
"#;

//! `filter` over logs of a program that was built here: a sanitizer's report, `backtrace_symbols`, and markup.

use crate::common;

use common::{Fsym, foldsym, foldsym_with, program};

/// An address with inlined code in `demo::crash`, and the return address of its call.
const INLINED: &str = "0x2012b0";

#[test]
fn each_form_of_stack_is_answered() {
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path().to_str().unwrap();
    let built = program("");
    let built = built.to_str().unwrap();
    let fsym = Fsym::of("demo.elf", &["--columns"]);
    let info = fsym.run("info", &["--json"]).json();
    let id = info[0]["BuildId"].as_str().unwrap();
    let filter = |log: &str| {
        let ran = foldsym_with(&["filter", "--search", built, "--cache", cache], log);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
        ran.out
    };
    let inner = "demo::print_address(unsigned long) /src/demo/demo.cpp:49:50 (/opt/demo.elf+0x2012b0)";
    let outer = "demo::crash() /src/demo/demo.cpp:62:5 (/opt/demo.elf+0x2012b0)";
    // A report of a sanitizer: inlined functions get numbers of their own; unknown frames keep their text.
    let out = filter(&format!(
        "==1==ERROR: x\n    #0 {INLINED}  (/opt/demo.elf+{INLINED}) (BuildId: {id})\n    #1 0x77  (/lib/libgone.so+0x77)\n\ndone\n"
    ));
    assert_eq!(
        out,
        format!(
            "==1==ERROR: x\n    #0 {INLINED} in {inner} (BuildId: {id})\n    #1 {INLINED} in {outer} (BuildId: {id})\n    #2 0x77  (/lib/libgone.so+0x77)\n\ndone\n"
        )
    );
    // An already symbolized report stays the same.
    assert_eq!(filter(&out), out);
    // A frame with another build id is not answered from a file of that name.
    let other = format!("    #0 {INLINED}  (/opt/demo.elf+{INLINED}) (BuildId: 0123456789)\n");
    let ran = foldsym_with(&["filter", "--search", built, "--cache", cache], &other);
    assert_eq!(ran.out, other);
    assert!(
        ran.err.ends_with(" is of demo.elf (id 0123456789)\n") && ran.err.lines().count() == 1,
        "{}",
        ran.err
    );

    let out = filter(&format!("a\n/opt/demo.elf(+{INLINED}) [0x5555]\n/lib/libc.so.6(qsort+0x1) [0x1]\n"));
    assert_eq!(
        out,
        format!(
            "a\n/opt/demo.elf(+{INLINED}) [0x5555] demo::print_address(unsigned long) at /src/demo/demo.cpp:49:50\n    (inlined by) demo::crash() at /src/demo/demo.cpp:62:5\n/lib/libc.so.6(qsort+0x1) [0x1]\n"
        )
    );

    let declared = format!(
        "{{{{{{reset}}}}}}\n{{{{{{module:0:demo.elf:elf:{id}}}}}}}\n{{{{{{mmap:0x10001000:0x1000:load:0:rx:0x201000}}}}}}\n"
    );
    let out = filter(&format!("{declared}{{{{{{bt:0:0x100012b0:pc}}}}}}\n{{{{{{bt:1:0x5}}}}}}\n"));
    assert_eq!(
        out,
        format!(
            "{declared}   #0.1  0x100012b0 {}\n   #0    0x100012b0 {}\n{{{{{{bt:1:0x5}}}}}}\n",
            inner.replace("/opt/", ""),
            outer.replace("/opt/", "")
        )
    );
}

/// Frames of other producers keep their lines, and logs keep their numbers, carriage returns, and what a logger puts in front.
#[test]
fn lines_are_read_as_what_they_are() {
    let cache = tempfile::tempdir().unwrap();
    let built = program("");
    let args = ["filter", "--search", built.to_str().unwrap(), "--cache", cache.path().to_str().unwrap()];
    let filter = |log: &str| {
        let ran = foldsym_with(&args, log);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out
    };
    let inner = "demo::print_address(unsigned long) at /src/demo/demo.cpp:49:50";
    let outer = "demo::crash() at /src/demo/demo.cpp:62:5";
    for (before, line) in [
        ("F/DEBUG   ( 1234):     ", "#00 pc 00000000002012b0  /data/app/demo.elf (boom+20)".to_owned()),
        (" ", "#5 0x000055d0c12012b0 (/opt/demo.elf+0x2012b1)".to_owned()),
        // The program is linked at 0x200000, and systemd counts from there.
        ("      ", "#0  0x00000000002012b0 n/a (/opt/demo.elf + 0x12b0)".to_owned()),
    ] {
        let line = format!("{before}{line}");
        assert_eq!(
            filter(&format!("{line}\n")),
            format!("{line} {inner}\n{before}    (inlined by) {outer}\n")
        );
    }
    // A frame that nobody knows has its place among the others.
    let unknown = "    #1 0x7f0012345678  (<unknown module>)";
    let out = filter(&format!(
        "k8s F     #0 {INLINED}  (/opt/demo.elf+{INLINED})\r\n{unknown}\r\n    #2 {INLINED}  (/opt/demo.elf+{INLINED})\n"
    ));
    let lines: Vec<&str> = out.split_inclusive('\n').collect();
    assert!(lines[0].starts_with("k8s F     #0 ") && lines[1].starts_with("k8s F     #1 "), "{out}");
    assert!(lines[..3].iter().all(|line| line.ends_with("\r\n")), "{out:?}");
    assert_eq!(lines[2], unknown.replace("#1", "#2") + "\r\n");
    assert!(
        lines[3].starts_with("    #3 ") && lines[4].starts_with("    #4 ") && !lines[4].contains('\r'),
        "{out}"
    );
    // A report that has names loses no line of it, with and without modules.
    for module in ["", " (/opt/gone+0x10)"] {
        let named =
            format!("    #0 0x4b1a2c in inl /src/a.c:3{module}\n    #1 0x4b1a2c in f /src/a.c:9{module}\n");
        assert_eq!(filter(&named), named);
    }
    // The first frame of a part of a stack keeps its number.
    assert!(filter(&format!("    #7 {INLINED}  (/opt/demo.elf+{INLINED})\n")).starts_with("    #7 "));
}

/// A folded frame is exact if its caller shows which function ran; a lookup of the single address could not show it.
#[test]
fn callers_tell_which_folded_function_ran() {
    let fsym = Fsym::of("fold.clang-lld.set/program", &[]);
    let name = fsym.path.file_stem().unwrap().to_str().unwrap();
    let search = fsym.folder.path().to_str().unwrap();
    let stack = ["0x20ac42", "0x20989b", "0x20a7d6"];
    let exact = fsym.run("stack", &["--certainty", stack[0], stack[1], stack[2]]).out;
    let called: Vec<&str> = exact.lines().filter(|line| line.contains(" [exact")).collect();
    // The sanitizer's runtime moves addresses of callers into the calls.
    let lines: String = stack
        .iter()
        .enumerate()
        .map(|(index, at)| {
            let at = u64::from_str_radix(&at[2..], 16).unwrap() - u64::from(index > 0);
            format!("    #{index} {at:#x}  ({name}+{at:#x})\n")
        })
        .collect();
    let ran = foldsym_with(&["filter", "--search", search], &lines);
    for line in called {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    let alone = fsym.run("lookup", &["--certainty", stack[0]]).out;
    assert_eq!(ran.out.contains("[exact"), exact.contains("[exact"), "{exact}{alone}{}", ran.out);
}

/// Lines of the Linux kernel name functions: the file is a program of that name, and a relocatable one for a module.
#[test]
fn functions_of_a_kernel_and_its_modules() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(program("demo.elf"), folder.path().join("vmlinux")).unwrap();
    std::fs::copy(program("inline.clang-sections.o"), folder.path().join("in-line.ko")).unwrap();
    let search = folder.path().to_str().unwrap();
    let cache = folder.path().join("cache");
    let cache = cache.to_str().unwrap();
    let filter = |log: &str| {
        let ran = foldsym_with(&["filter", "--search", search, "--cache", cache], log);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
        ran.out
    };
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let unknown = "[    1.2]  gone+0x10/0x20 [e1000e]";
    // The size is the distance to the next symbol; if it differs much, the kernel is another build.
    let other_build = "[    1.2]  demo_main+0x45/0x2000";
    let log = format!(
        "[    1.2] BUG: kernel NULL pointer dereference, address: 0000000000000000\n[    1.2] RIP: 0010:_ZN4demo5crashEv+0x20/0x2c0\n\
        [    1.2] Code: 8b 3d\n[    1.2] Call Trace:\n[    1.2]  <TASK>\n[    1.2]  ? _ZN4demo5crashEv+0x20/0x2c0\n\
        [    1.2]  demo_main+0x45/0x220\n[    1.2]  chain+0x10/0x2b0 [in_line]\n{unknown}\n{other_build}\n[    1.2]  </TASK>\n"
    );
    let fsym = Fsym::of("demo.elf", &["--columns"]);
    // The functions of an address, innermost first, as they are printed after the line.
    let answer = |fsym: &Fsym, line: &str, address: &str| {
        let out = lines(&fsym.run("lookup", &[address]).out);
        let pairs: Vec<String> =
            out[..out.len() - 1].chunks(2).map(|pair| format!("{} at {}", pair[0], pair[1])).collect();
        format!("{line} {}", pairs.join("\n    (inlined by) "))
    };
    let out = filter(&log);
    let crash = answer(&fsym, "[    1.2] RIP: 0010:_ZN4demo5crashEv+0x20/0x2c0", "0x2012b0");
    let doubtful = answer(&fsym, "[    1.2]  ? _ZN4demo5crashEv+0x20/0x2c0", "0x2012af");
    let main = answer(&fsym, "[    1.2]  demo_main+0x45/0x220", "0x201734");
    let relocatable = Fsym::of("inline.clang-sections.o", &["--columns"]);
    let module = answer(&relocatable, "[    1.2]  chain+0x10/0x2b0 [in_line]", ".text.chain:0xf");
    let expected = format!(
        "[    1.2] BUG: kernel NULL pointer dereference, address: 0000000000000000\n{crash}\n[    1.2] Code: 8b 3d\n\
        [    1.2] Call Trace:\n[    1.2]  <TASK>\n{doubtful}\n{main}\n{module}\n{unknown}\n{other_build}\n[    1.2]  </TASK>\n"
    );
    assert_eq!(out, expected);

    // A module's addresses, where /sys/module says its sections are.
    let sections = folder.path().join("sections");
    std::fs::create_dir(&sections).unwrap();
    for (name, address) in [(".text.chain", "0xffffffffc0201000\n"), (".text.die", "0xffffffffc0202000\n")] {
        std::fs::write(sections.join(name), address).unwrap();
    }
    let of = |path: &std::path::Path| format!("in-line.ko={}", path.display());
    let ask = |sections: &std::path::Path, address: &str| {
        foldsym(&["lookup", "--search", search, "--cache", cache, "--sections", &of(sections), address])
    };
    let expected = relocatable.run("lookup", &[".text.chain:0x10"]).out;
    assert_eq!(ask(&sections, "0xffffffffc0201010").out, expected);
    assert!(expected.contains("\nchain\n"), "{expected}");
    let text = folder.path().join("sections.txt");
    std::fs::write(&text, ".text.chain ffffffffc0201000\n.text.die 0xffffffffc0202000\n").unwrap();
    assert_eq!(ask(&text, "0xffffffffc0201010").out, expected);
    // After the end of a section there is no code of the module.
    assert!(ask(&sections, "0xffffffffc0203000").out.starts_with("??\n"));
    let json = "{\"modules\":[{\"name\":\"in-line.ko\",\"sections\":{\".text.chain\":\"0xffffffffc0201000\"}}],\"frames\":[\"0xffffffffc0201010\"]}\n";
    let ran = foldsym_with(&["stack", "--search", search, "--cache", cache, "--json"], json);
    let frame = &ran.json()[0]["Frames"][0];
    let functions = frame["Symbol"].as_array().unwrap();
    assert_eq!(functions.last().unwrap()["FunctionName"], "chain");
    assert_eq!(frame["ModuleName"], "in-line.ko");

    std::fs::write(&text, ".text.chain here\n").unwrap();
    let ran = ask(&text, "0");
    assert!(ran.code == 3 && ran.err.contains("sections.txt: expected the address of a section"), "{ran:?}");
    std::fs::write(&text, ".text.chain 0x0\n").unwrap();
    assert!(ask(&text, "0").err.contains("only to root"));
}

/// Frames that name a function which the library exports.
#[test]
fn functions_of_backtrace_symbols() {
    let folder = tempfile::tempdir().unwrap();
    let search = program("");
    let search = search.to_str().unwrap();
    let cache = folder.path().to_str().unwrap();
    let log = "/opt/demo.elf(demo_main+0x45) [0x7f0000001234]\n/opt/demo.elf(+0x201735)\n";
    let ran = foldsym_with(&["filter", "--search", search, "--cache", cache], log);
    let answers: Vec<&str> =
        ran.out.lines().filter_map(|line| line.split_once(" demo_main at ").map(|found| found.1)).collect();
    assert!(answers.len() == 2 && answers[0].contains("/src/demo/"), "{}", ran.out);
}

/// The address to which a handler returns, and the one that the signal interrupted, are no return addresses.
#[test]
fn addresses_around_a_signal_are_exact() {
    let search = program("");
    let search = search.to_str().unwrap();
    // By llvm-nm: the first bytes of relined, die and checked.
    let log = " #0 0x00007f0000000001 llvm::sys::RunSignalHandlers() (/opt/libLLVM.so+0x20)\n \
               #1 0x00007f0000000002 SignalHandler(int) (/opt/libLLVM.so+0x30)\n \
               #2 0x00005500002014b0 (/opt/inline.clang-dwarf5+0x2014b0)\n \
               #3 0x00005500002014e0 (/opt/inline.clang-dwarf5+0x2014e0)\n \
               #4 0x0000550000201500 (/opt/inline.clang-dwarf5+0x201500)\n";
    let ran = foldsym_with(&["filter", "--search", search], log);
    let lines: Vec<&str> =
        ran.out.lines().filter(|line| line.contains("+0x2015") || line.contains("+0x2014")).collect();
    assert!(lines[0].contains("+0x2014b0) relined"), "{}", ran.out);
    assert!(lines[1].contains("+0x2014e0) die"), "{}", ran.out);
    assert!(!lines[2].contains("checked"), "{}", ran.out);
}

/// The first address that `backtrace` returns is the one to which its own call returns. At the first byte of a function it is that of a call at
/// the end of the function before.
#[test]
fn the_first_address_of_a_backtrace_is_that_of_a_call() {
    let search = program("");
    let search = search.to_str().unwrap();
    let ask = |log: &str| foldsym_with(&["filter", "--search", search], log).out;
    // By llvm-nm: the first byte of checked, behind die.
    for log in [
        "/opt/inline.clang-dwarf5(+0x201500) [0x0000550000201500]\n",
        "0   inline.clang-dwarf5                 0x0000550000001500 0x0000550000000000 + 5376\n",
        "Last Exception Backtrace:\n0   inline.clang-dwarf5           \t0x0000550000001500 0x0000550000000000 + 5376\n",
    ] {
        assert!(ask(log).contains(" at /src/inline.c:84"), "{}", ask(log));
    }
    let crashed =
        "Thread 0 Crashed:\n0   inline.clang-dwarf5           \t    0x550000001500 0x550000000000 + 5376\n";
    assert!(ask(crashed).contains(" checked at "), "{}", ask(crashed));
}

/// gcc places `partitioned(int) [clone .cold]` before the function, whose entry follows it.
#[test]
fn offsets_count_from_the_symbol() {
    let name = "objects.gcc-cold-dwarf5";
    let search = program("");
    let search = search.to_str().unwrap();
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path().to_str().unwrap();
    // By llvm-nm: 0x4010f0 _Z11partitionedi, 0x401017 _Z11partitionedi.cold.
    let fsym = Fsym::of(name, &["--columns"]);
    let plain = |address: &str| fsym.run("lookup", &[address]).out.trim_end().replace('\n', " at ");
    for (word, address) in [("_Z11partitionedi+0x20", "0x401110"), ("_Z11partitionedi.cold+0x10", "0x401027")]
    {
        let line = format!("/opt/{name}({word}) [0x7f0000001234]");
        let ran = foldsym_with(&["filter", "--search", search, "--cache", cache], &format!("{line}\n"));
        assert_eq!(ran.out, format!("{line} {}\n", plain(address)), "{ran:?}");
    }
    assert_ne!(plain("0x401110"), plain("0x401027"));
    let kernel = "[    1.2]  _Z11partitionedi+0x20/0x33 [objects]\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(program(name), folder.path().join("objects.ko")).unwrap();
    let ran = foldsym_with(
        &["filter", "--search", folder.path().to_str().unwrap(), "--cache", cache],
        &format!("[    1.2] Call Trace:\n{kernel}"),
    );
    let expected = plain("0x40110f");
    assert!(ran.out.contains(&format!("[objects] {expected}\n")), "{expected}: {}", ran.out);
}

/// Whatever a log calls a program, it is opened and converted once.
#[cfg(target_os = "linux")]
#[test]
fn other_spellings_of_a_path_open_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("app");
    std::fs::copy(program("demo.elf"), &app).unwrap();
    let folder_text = folder.path().to_str().unwrap();
    let spelled = |slashes: usize| format!("{folder_text}{}app", "/".repeat(slashes));
    let line = |path: &str| format!("{path}(demo_main+0x45) [0x5555]\n");
    let log: String = (1..40).map(|slashes| line(&spelled(slashes))).collect();
    let opens = |log: &str| {
        let traced = folder.path().join("trace");
        let mut strace = std::process::Command::new("strace");
        strace.args(["-f", "-e", "trace=openat", "-o"]).arg(&traced).arg(env!("CARGO_BIN_EXE_foldsym"));
        strace.args(["filter", "--open-paths", "--cache"]).arg(folder.path().join("cache"));
        strace.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = match strace.spawn() {
            Ok(child) => child,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "needs strace: {error}");
                return None;
            }
        };
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), log.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        let out = String::from_utf8(out.stdout).unwrap();
        assert_eq!(out.matches("(inlined by) demo_main at /src/").count(), log.lines().count(), "{out}");
        let trace = std::fs::read_to_string(traced).unwrap();
        Some(trace.lines().filter(|line| line.contains("/app\"") || line.contains("v3.fsym\"")).count())
    };
    let Some(first) = opens(&log) else { return println!("skipped: needs strace") };
    let _ = first;
    // Now it is in the cache.
    assert_eq!(opens(&log), opens(&line(&spelled(1))));
}

#[test]
fn what_is_no_stack_is_copied() {
    let log = "a\n#1\n\u{1b}[31mred\u{1b}[0m\n{{{bt:0:0x10}}}\nlast";
    let ran = foldsym_with(&["filter", "--open-paths"], log);
    assert_eq!((ran.code, ran.out), (0, format!("{log}\n")));
    let ran = foldsym(&["filter", "--open-paths", "/nonexistent/log"]);
    assert!(ran.code == 3 && ran.err.contains("/nonexistent/log: No such file"), "{ran:?}");
    // The log may be from another machine: paths in it are opened only if that is requested.
    let demo = program("demo.elf");
    let line = format!("    #0 0x2012b0  ({}+0x2012b0)\n", demo.display());
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path().to_str().unwrap();
    assert_eq!(foldsym_with(&["filter", "--cache", cache], &line).out, line);
    let opened = foldsym_with(&["filter", "--open-paths", "--cache", cache], &line).out;
    assert!(opened.contains("in demo::crash() /src/demo/demo.cpp:62:5"), "{opened}");
}

/// A line that is too long for a frame is passed on as it is.
#[test]
fn a_long_line_is_not_lost() {
    let long = "x".repeat(3 << 20);
    let input = format!("before\n{long}\nafter\n{long}");
    let ran = foldsym_with(&["filter"], &input);
    assert!(ran.code == 0 && ran.out == format!("{input}\n"), "{} of {} bytes", ran.out.len(), input.len());
}

/// A reader of the output that goes away is no fault of the input.
#[test]
fn the_reader_of_a_copy_may_go_away() {
    use std::io::Write;
    use std::process::Stdio;
    for args in [&["filter"][..], &["filter", "/dev/stdin"]] {
        let mut command = common::command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        // The command may have ended.
        let _ = child.stdin.take().unwrap().write_all(b"a\n");
        let ran = child.wait_with_output().unwrap();
        assert_eq!((ran.status.code(), String::from_utf8_lossy(&ran.stderr).as_ref()), (Some(0), ""));
    }
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let mut command = common::command();
    let folder = tempfile::tempdir().unwrap();
    let log = common::file(folder.path(), "a.log", b"a\n");
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let ran = command.arg("filter").arg(&log).stdout(full).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(3) && err.starts_with("foldsym: output: "), "{err}");
}

/// The lines before an error are copied, and their stack is answered.
#[test]
fn a_log_that_cannot_be_read_comes_after_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (search, cache) = (program(""), folder.path().join("cache"));
    let (search, cache) = (search.to_str().unwrap(), cache.to_str().unwrap());
    let log = format!("one\n/opt/demo.elf(+{INLINED}) [0x5555]\n");
    let log = common::file(folder.path(), "a.log", log.as_bytes());
    let missing = folder.path().join("missing.log");
    // A folder can be opened, but not read.
    for (other, says) in [(missing.as_path(), "No such file"), (folder.path(), "directory")] {
        let (log, other) = (log.to_str().unwrap(), other.to_str().unwrap());
        let ran = foldsym(&["filter", "--search", search, "--cache", cache, log, other]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.out.starts_with("one\n/opt/demo.elf(+0x2012b0) [0x5555] demo::"), "{ran:?}");
        assert!(ran.out.ends_with("(inlined by) demo::crash() at /src/demo/demo.cpp:62:5\n"), "{ran:?}");
        assert!(ran.err.starts_with(&format!("foldsym: {other}: ")) && ran.err.contains(says), "{ran:?}");
    }
}

/// A stack is kept until it ends. One of too many bytes is several stacks: the first address of each is that of a call, as the others are.
#[test]
fn a_stack_of_too_many_bytes_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (search, cache) = (program(""), folder.path().join("cache"));
    let (search, cache) = (search.to_str().unwrap(), cache.to_str().unwrap());
    // 21 lines of nearly 1 MiB: the stack ends once it has 16 MiB. `demo::crash` has no code before its first byte.
    let fsym = Fsym::of("demo.elf", &[]);
    let found = fsym.run("find", &["demo::crash"]).out;
    let start = found.split('\t').nth(1).unwrap().split('-').next().unwrap();
    let line = format!("{}/opt/demo.elf(+{start}) [0x5555]\n", " ".repeat((1 << 20) - 100));
    let ran = foldsym_with(&["filter", "--search", search, "--cache", cache], &line.repeat(21));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let firsts: Vec<usize> = ran
        .out
        .lines()
        .filter(|line| line.contains("demo.elf("))
        .enumerate()
        .filter(|(_, line)| line.contains("] demo::crash() at "))
        .map(|(at, _)| at)
        .collect();
    assert!(firsts.is_empty(), "{firsts:?}");
    assert_eq!(ran.out.lines().filter(|line| line.contains("demo.elf(")).count(), 21);
}

//! `symbolize` over reports: text as a debugger prints it, JSON whose keys are documented, and reports that cannot be read.

use crate::common;

use common::{Fsym, foldsym, foldsym_with};
use serde_json::{Value, json};

/// A stack of three frames of which the folded ones are exact by their callers.
const STACK: [&str; 3] = ["0x20ac42", "0x20989b", "0x20a7d6"];

#[test]
fn a_report_is_answered_as_its_stacks_are() {
    let fsym = Fsym::of("fold.clang-lld.set/program", &[]);
    let search = fsym.folder.path().to_str().unwrap();
    let name = fsym.path.file_stem().unwrap().to_str().unwrap();
    let stack: Value = fsym.run("stack", &["--json", STACK[0], STACK[1], STACK[2]]).json()[0].clone();
    let request = json!({"modules": [{"name": name}], "thread": "main", "tag": [1],
        "frames": STACK.map(|at| json!({"module": 0, "address": at, "kind": if at == STACK[0] { "exact" } else { "return" }}))});
    let folder = tempfile::tempdir().unwrap();
    let (report, bad) = (folder.path().join("r.jsonl"), folder.path().join("bad"));
    std::fs::write(&report, format!("{request}\n{{}}\n")).unwrap();
    std::fs::write(&bad, "what\n").unwrap();
    let (report, bad) = (report.to_str().unwrap(), bad.to_str().unwrap());

    let ran = foldsym(&["symbolize", "--search", search, "--json", bad, report]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("not a known crash report"), "{ran:?}");
    let lines = ran.json();
    assert_eq!(lines[0]["File"], bad);
    assert!(lines[0]["Error"]["Message"].is_string());
    let thread = &lines[1]["Threads"][0];
    assert_eq!(
        (&thread["thread"], &thread["tag"], &thread["Name"]),
        (&"main".into(), &json!([1]), &"main".into())
    );
    assert_eq!(lines[1]["Warnings"].as_array().unwrap().len(), 1);
    for (mine, other) in thread["Frames"].as_array().unwrap().iter().zip(stack["Frames"].as_array().unwrap())
    {
        assert_eq!(
            (&mine["Symbol"], &mine["Certainty"], &mine["Evidence"]),
            (&other["Symbol"], &other["Certainty"], &other["Evidence"])
        );
    }

    // The same as a sanitizer's report, whose callers are moved into their calls.
    let text: String = (0..3)
        .map(|index| {
            let at = u64::from_str_radix(&STACK[index][2..], 16).unwrap() - u64::from(index > 0);
            format!("    #{index} {at:#x}  ({name}+{at:#x})\n")
        })
        .collect();
    let ran = foldsym_with(&["symbolize", "--search", search, "-"], &text);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for word in ["exact", "ambiguous", "narrowed", "likely"] {
        let frames = stack["Frames"].as_array().unwrap().iter();
        let count =
            frames.filter(|frame| frame["Certainty"] == word && frame["CandidateCount"].is_u64()).count();
        assert_eq!(ran.out.matches(&format!(" [{word}")).count(), count, "{}", ran.out);
    }
    assert!(
        ran.out.starts_with("-: sanitizer\n\nThread 0 (crashed)\n#0   0x000000000020ac42 in "),
        "{}",
        ran.out
    );
    let ran = foldsym(&["symbolize", bad]);
    assert_eq!(ran.code, 3);
    let ran = foldsym(&["symbolize", "--format", "x", bad]);
    assert!(ran.code == 2 && ran.err.contains("sanitizer"), "{ran:?}");
}

/// A file of the tests of `foldsym-reports`: a program, its minidump, or a profile of gperftools.
fn report(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tests/reports");
    folder.join(name).display().to_string()
}

#[test]
fn stacks_are_printed_as_gdb_and_minidump_stackwalk_print_them() {
    let (program, dump) = (report("crash"), report("crash.dmp"));
    let gdb = foldsym(&["symbolize", "--search", &program, "--style", "gdb", &dump]);
    assert_eq!(gdb.code, 0, "{gdb:?}");
    let line =
        |text: &str, start: &str| text.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
    // `#1  0x... in save_world () at /build/crash.cpp:N`, as gdb 13 prints a frame of which it knows no argument.
    let first = line(&gdb.out, "#1  0x");
    let (before, after) = first.split_once(" in ").unwrap();
    assert_eq!(before.len(), "#1  0x".len() + 16, "{first}");
    assert!(after.starts_with("save_world () at ") && after.contains("crash.cpp:"), "{first}");
    assert!(gdb.out.contains("\nThread 1 (LWP "), "{}", gdb.out);

    let stackwalk = foldsym(&["symbolize", "--search", &program, "--style", "stackwalk", &dump]);
    let text = &stackwalk.out;
    assert!(
        text.contains("Crash reason:  SIGSEGV / SEGV_MAPERR\nCrash address: 0x0000000000000000\n"),
        "{text}"
    );
    assert!(line(text, " 1  crash!save_world(int) [crash.cpp : ").ends_with(']'), "{text}");
    assert!(text.contains("    Found by: given as instruction pointer in context\n"), "{text}");
    assert!(text.contains("    Found by: call frame info\n"), "{text}");
    // The offset of the instruction in the code of its line, if no other function shares that code.
    let own = line(text, " 0  crash!write_to_target(int) [crash.cpp : ");
    assert!(own.contains(" + 0x") && own.ends_with(']'), "{own}");
    // Registers of each frame, as many in a line as 80 letters hold.
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with(" 0  ")).unwrap();
    assert!(
        lines[first + 1].starts_with("     rax = 0x") && lines[first + 1].len() <= 81,
        "{}",
        lines[first + 1]
    );
    assert_eq!(lines[first + 1].matches(" = 0x").count(), 2, "{}", lines[first + 1]);
    let second = &lines[lines.iter().position(|line| line.starts_with(" 1  ")).unwrap()..];
    assert!(second[..8].iter().any(|line| line.contains("    rsp = 0x")), "{:?}", &second[..8]);
    assert_eq!(foldsym(&["symbolize", "--style", "gdb", "--json", &dump]).code, 2);
}

/// Functions and lines of a backtrace from the handler on, without what gdb knows of arguments. In the C library it makes frames of tail
/// calls.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn frames_of(text: &str) -> Vec<String> {
    let frames = text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let rest = line.split_once(' ').unwrap().1.trim_start();
        let rest = rest
            .split_once(" in ")
            .filter(|(address, _)| address.starts_with("0x"))
            .map_or(rest, |(_, name)| name);
        let place = rest.rsplit_once(" at ").map_or("", |(_, place)| place.rsplit('/').next().unwrap());
        format!("{} {place}", rest.split(" (").next().unwrap())
    });
    frames.skip_while(|frame| !frame.starts_with("handler ")).collect()
}

/// gdb's own backtrace of the core that it writes, through a signal handler.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn gdb_s_style_is_what_gdb_prints() {
    let folder = tempfile::tempdir().unwrap();
    let (program, core) = (folder.path().join("signal"), folder.path().join("core"));
    let needs = |what: &str| {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "needs {what}");
        println!("skipped: needs {what}");
    };
    let made = std::process::Command::new("gcc")
        .args(["-g", "-O1", "-fomit-frame-pointer", "-pthread", "-o"])
        .args([program.to_str().unwrap(), &report("signal.c")])
        .status();
    if !made.is_ok_and(|made| made.success()) {
        return needs("gcc");
    }
    let mut gdb = std::process::Command::new("gdb");
    gdb.args([
        "-batch",
        "-nx",
        "-ex",
        "set debuginfod enabled off",
        "-ex",
        "handle SIGSEGV nostop noprint pass",
    ]);
    gdb.args(["-ex", "run", "-ex"]).arg(format!("generate-core-file {}", core.display()));
    let ran = gdb.args(["-ex", "bt"]).arg(&program).output();
    let Some(ran) = ran.ok().filter(|_| core.exists()) else { return needs("gdb") };
    let theirs = frames_of(&String::from_utf8_lossy(&ran.stdout));
    let search = program.to_str().unwrap();
    let ours =
        foldsym(&["symbolize", "--search", search, "--open-paths", "--style", "gdb", core.to_str().unwrap()]);
    let ours = frames_of(&ours.out);
    assert!(
        theirs[1] == "<signal handler called> " && theirs[2].starts_with("inner signal.c:"),
        "{theirs:?}"
    );
    // gdb ends at `main`.
    assert!(theirs.last().unwrap().starts_with("main signal.c:"), "{theirs:?}");
    assert_eq!(ours[..theirs.len()], theirs);
}

/// What a report says about the process, its system and its modules.
#[test]
fn json_has_what_a_dump_says_about_its_process() {
    let report = foldsym(&["symbolize", "--json", &report("crash.dmp")]).json()[0].clone();
    let expected =
        json!({"Number": 11, "Name": "SIGSEGV", "Code": 1, "CodeName": "SEGV_MAPERR", "Address": "0x0"});
    assert_eq!(report["Signal"], expected);
    assert_eq!((&report["Os"], &report["Cpu"]), (&"linux".into(), &"amd64".into()));
    assert_eq!(report["OsVersion"], "6.18.44-fc-v669 #1 SMP PREEMPT_DYNAMIC @0");
    assert_eq!(report["Time"], 1_795_485_272);
    let module = &report["Modules"][0];
    assert_eq!((&module["Base"], &module["Size"]), (&"0x55cd63170000".into(), &"0x4000".into()));
    assert_eq!(module["Version"], Value::Null);
    assert_eq!(report["Modules"][2]["Version"], "6.0.30.0");
    let registers = &report["Threads"][0]["Registers"];
    assert_eq!((&registers["rip"], registers.as_object().unwrap().len()), (&"0x000055cd63171a09".into(), 17));
    assert_eq!(report["Threads"][1]["Registers"], Value::Null);
    // Reports of other formats do not say these.
    let text = foldsym(&["symbolize", "--json", &self::report("asan.txt")]).json()[0].clone();
    for key in ["Os", "OsVersion", "Cpu", "ProcessId", "Time", "Signal"] {
        assert!(text.get(key).is_none(), "{key}");
    }
}

#[test]
fn a_profile_is_collapsed_and_written_anew() {
    let (program, profile) = (report("mail"), report("mail.pb.gz"));
    let samples = foldsym(&["symbolize", "--search", &program, "--collapsed=samples", &profile]);
    assert_eq!((samples.code, samples.err.as_str()), (0, ""));
    let count = |text: &str, way: &str| -> i64 {
        let lines = text.lines().filter(|line| line.contains(way));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap()).sum()
    };
    let parcels = "parcels();price_parcel(long);weigh_parcel(long) ";
    let letters = "letters();price_letter(long);weigh_letter(long) ";
    let (parcel, letter) = (count(&samples.out, parcels), count(&samples.out, letters));
    assert!(parcel > letter && letter > 0, "{}", samples.out);
    assert!(!samples.out.contains("price_letter(long);weigh_parcel"), "{}", samples.out);
    // The profile's default value.
    let time = foldsym(&["symbolize", "--search", &program, "--collapsed", &profile]);
    assert_eq!(count(&time.out, parcels), parcel * 5_000_000);
    let none = foldsym(&["symbolize", "--search", &program, "--collapsed=bytes", &profile]);
    assert!(none.code == 3 && none.err.contains("samples/count, cpu/nanoseconds"), "{none:?}");

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("named.pb.gz");
    let written = foldsym(&["symbolize", "--search", &program, &profile, "--pprof", out.to_str().unwrap()]);
    assert_eq!(written.code, 0, "{written:?}");
    assert!(std::fs::read(&out).unwrap().starts_with(&[0x1f, 0x8b]));
    let json = foldsym(&["symbolize", "--search", &program, "--json", &profile]).json();
    assert_eq!(
        (&json[0]["Format"], json[0]["Threads"][0]["Values"]["samples/count"].is_i64()),
        (&"pprof".into(), true)
    );
    // gperftools writes no build ids, so a store finds the program by its name alone, and the command suggests what finds more.
    let store = folder.path().join("store");
    let store = store.to_str().unwrap();
    assert_eq!(foldsym(&["convert", &program, "--store", store]).code, 0);
    let unnamed = foldsym(&["symbolize", "--store", store, &profile, "--pprof", out.to_str().unwrap()]);
    assert!(unnamed.code == 0 && unnamed.err.contains(": 72 of 104 frames have functions"), "{unnamed:?}");
    assert!(unnamed.err.contains("2 of its modules have no build id"), "{unnamed:?}");
    let two = foldsym(&["symbolize", "--pprof", "-", &profile, &profile]);
    assert_eq!(two.code, 2, "{two:?}");
}

#[test]
fn a_profile_of_opentelemetry_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("named.otlp");
    let [program, profile] = ["mail", "mail.otlp"].map(report);
    let written = foldsym(&["symbolize", "--search", &program, &profile, "--otlp", out.to_str().unwrap()]);
    assert!(
        written.code == 0 && written.err.contains("72 of 104 frames have functions; 4 locations"),
        "{written:?}"
    );
    let collapsed = |args: &[&str]| foldsym(&[&["symbolize", "--collapsed"], args].concat()).out;
    let named = collapsed(&[out.to_str().unwrap()]).replace(" [report]", "");
    assert_eq!(named, collapsed(&["--search", &program, &profile]));
    assert!(named.contains("parcels();price_parcel(long);weigh_parcel(long) 13\n"), "{named}");
    let json = foldsym(&["symbolize", "--search", &program, "--json", &profile]).json();
    assert_eq!(json[0]["Format"], "otlp");
    let pprof = report("mail.pb.gz");
    assert_eq!(foldsym(&["symbolize", &pprof, "--otlp", "-"]).code, 3);
    assert_eq!(foldsym(&["symbolize", &profile, &profile, "--otlp", "-"]).code, 2);
}

#[test]
fn a_request_of_symbolicate_is_a_report() {
    let request = json!({"jobs": [{"memoryMap": [["crash", "000000000000000000000000000000000"]],
        "stacks": [[[0, 4096], [-1, 7]], [[0, 1]]], "callers": "return"}], "version": 5});
    let ran = foldsym_with(&["symbolize", "--json", "-"], &request.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = &ran.json()[0];
    assert_eq!((&report["Format"], report["Threads"].as_array().unwrap().len()), (&"symbolicate".into(), 2));
    assert_eq!(report["Threads"][0]["Frames"].as_array().unwrap().len(), 2);
    for bad in [
        "{\"jobs\":[{\"memoryMap\":[],\"stacks\":[[[9,1]]]}]}",
        "{\"jobs\":[{}]}",
        "{\"jobs\":[{\"memoryMap\":[",
    ] {
        let ran = foldsym_with(&["symbolize", "-"], bad);
        assert_eq!(ran.code, 3, "{bad}: {ran:?}");
    }
}

#[test]
fn names_of_the_report_stand_where_no_function_is_known() {
    let perf = report("perf-events.txt");
    let text = foldsym(&["symbolize", &perf]);
    assert_eq!(text.code, 0, "{text:?}");
    for line in [
        "Thread 0 (28333) # hash (event page-faults)\n#0   0xffffffff8175336a in elf_load (named by the report)\n",
        " in add (inlined, named by the report)",
        " in work (named by the report)",
    ] {
        assert!(text.out.contains(line), "{line}: {}", text.out);
    }
    let json = foldsym(&["symbolize", "--json", "--event", "cpu-clock", &perf]).json();
    let thread = &json[0]["Threads"][0];
    assert_eq!((&thread["Event"], &thread["Frames"][0]["Source"]), (&"cpu-clock".into(), &"report".into()));
    let functions = thread["Frames"][0]["Symbol"].as_array().unwrap();
    let functions: Vec<&Value> = functions.iter().map(|function| &function["FunctionName"]).collect();
    assert_eq!(functions, ["add", "work"]);
    let gdb = foldsym(&["symbolize", "--style", "gdb", "--event", "cpu-clock", &perf]);
    assert!(
        gdb.out.contains(" in add ()") && gdb.out.contains(" work () from /build/# hash\n"),
        "{}",
        gdb.out
    );
    let stackwalk = foldsym(&["symbolize", "--style", "stackwalk", "--event", "cpu-clock", &perf]);
    assert!(stackwalk.out.contains("# hash!add\n    Found by: inlining\n"), "{}", stackwalk.out);
    // A frame has our name or the report's.
    let (program, post) = (report("post"), report("perf-dwarf.txt"));
    let ours = foldsym(&["symbolize", "--search", &program, "--collapsed", &post]);
    assert!(
        ours.out.contains(";main;") && ours.out.contains(";__libc_start_main_impl [report];"),
        "{}",
        ours.out
    );
    assert!(
        !ours.out.contains(";main [report];main") && !ours.out.contains(";main [report]"),
        "{}",
        ours.out
    );
}

/// A runtime without a demangler writes the names of the symbol table.
#[test]
fn mangled_names_of_the_report_are_demangled_as_others() {
    let log = "#0 0x10 in _ZN2ns1fEi a.cpp:3 (app+0x10)\n#1 0x20 in main a.cpp:9 (app+0x20)\n";
    let with = |args: &[&str]| foldsym_with(&[&["symbolize", "-"], args].concat(), log);
    for (args, shown) in [
        (&[][..], " ns::f(int) (named by the report)"),
        (&["--collapsed"], "main [report];ns::f(int) [report] 1\n"),
        (&["--style", "gdb"], " in ns::f () at a.cpp:3\n"),
        (&["--style", "stackwalk"], "app!ns::f(int) [a.cpp : 3]\n"),
    ] {
        let ran = with(args);
        assert!(ran.out.contains(shown), "{args:?}: {ran:?}");
        let raw = with(&[args, &["--no-demangle"]].concat());
        assert!(raw.out.contains("_ZN2ns1fEi") && !raw.out.contains("ns::f"), "{args:?}: {raw:?}");
    }
    for (args, function) in [(&["--json"][..], "ns::f(int)"), (&["--json", "--no-demangle"], "_ZN2ns1fEi")] {
        let json = with(args).json();
        let symbol = &json[0]["Threads"][0]["Frames"][0]["Symbol"][0];
        assert_eq!(
            (&symbol["FunctionName"], &symbol["LinkageName"]),
            (&function.into(), &"_ZN2ns1fEi".into())
        );
    }
}

#[test]
fn flame_graphs_are_of_one_event() {
    let perf = report("perf-events.txt");
    let counts = |out: &str| -> i64 {
        out.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap()).sum()
    };
    let first = foldsym(&["symbolize", "--collapsed", &perf]);
    assert_eq!((first.code, counts(&first.out)), (0, 5), "{first:?}");
    assert!(
        first.err.contains(
            "only samples of the event page-faults were counted; --event chooses another: cpu-clock"
        ),
        "{}",
        first.err
    );
    let other = foldsym(&["symbolize", "--collapsed", "--event", "cpu-clock", &perf]);
    assert_eq!((other.code, counts(&other.out), &*other.err), (0, 5, ""), "{other:?}");
    assert!(
        other.out.contains("work [report];add [report] ") && !first.out.contains("work"),
        "{}",
        other.out
    );
    let none = foldsym(&["symbolize", "--event", "cycles", &perf]);
    assert!(none.code == 3 && none.err.contains("the text has page-faults, cpu-clock"), "{none:?}");
    let of_another = foldsym(&["symbolize", "--event", "cycles", &report("asan.txt")]);
    assert!(of_another.code == 3 && of_another.err.contains("does not say the events"), "{of_another:?}");
}

/// A profile that has names of its own keeps them where we have none, and says so.
#[test]
fn a_profile_that_is_written_anew_says_whose_names_it_has() {
    let (program, profile) = (report("mail"), report("mail.prof"));
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.pb.gz"), folder.path().join("two.pb.gz"));
    let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
    let named = foldsym(&["symbolize", "--search", &program, &profile, "--pprof", one]);
    assert!(named.code == 0 && !named.err.contains("that the profile had"), "{named:?}");
    // Nothing is found now.
    let kept = foldsym(&["symbolize", one, "--pprof", two]);
    assert!(kept.code == 0 && kept.err.contains("frames keep the names that the profile had"), "{kept:?}");
    let text = foldsym(&["symbolize", "--collapsed=samples", two]);
    assert!(text.out.contains("weigh_parcel(long) [report] "), "{}", text.out);
}

/// Texts of producers other than sanitizers, each with its own kind of address.
#[test]
fn stacks_of_llvm_android_and_systemd_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.txt");
    let program = common::program("inline.clang-dwarf5");
    let search = program.parent().unwrap().to_str().unwrap();
    for (format, text, expected) in [
        (
            "llvm",
            " #0 0x00005500002011c1 (/opt/inline.clang-dwarf5+0x2011c1)\n #1 0x0000550000999999 gone a.c:3:5\n",
            "#0   0x00000000002011c1 in step1",
        ),
        (
            "android",
            "F/DEBUG   ( 1234):     #00 pc 00000000002011c0  /data/inline.clang-dwarf5 (old+20)\n",
            "#0   0x00000000002011c0 in step1",
        ),
        (
            "systemd",
            // The program is linked at 0x200000.
            "Stack trace of thread 1:\n#0  0x00005500002011c0 n/a (/opt/inline.clang-dwarf5 + 0x11c0)\n",
            "#0   0x00000000000011c0 in step1",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let said = foldsym(&["symbolize", "--search", search, path.to_str().unwrap()]);
        assert!(said.out.contains(expected), "{format}: {}", said.out);
        assert!(said.out.contains(&format!(": {format}")), "{format}: {}", said.out);
        assert_eq!(said.out.contains("gone"), format == "llvm", "{}", said.out);
    }
}

/// Lines that name a function and an offset from its start, in the columns of LLVM and in those of macOS.
#[test]
fn functions_of_lines_without_a_symbolizer_are_found() {
    let program = common::program("demo.elf");
    let search = program.parent().unwrap().to_str().unwrap();
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path().to_str().unwrap();
    // By llvm-nm: 0x2016f0 demo_main, 0x201290 demo::crash().
    let llvm = "Stack dump:\n\
                0  demo.elf 0x00007f0012345678 demo::crash() + 32\n\
                1  demo.elf 0x00007f0012345679 demo_main + 69\n\
                2  demo.elf 0x00007f001234567a\n\
                3  demo.elf 0x00007f001234567b demo_main + 99999\n\
                4  libgone.so 0x00007f001234567c gone() + 9\n\
                5  demo.elf 0x00007f001234567d demo::crash() + 1189\n";
    let macos = "0   demo.elf                            0x00007f0012345678 _ZN4demo5crashEv + 32\n\
                 1   demo.elf                            0x00007f0012345679 demo_main + 69\n\
                 2   demo.elf                            0x00007f001234567a 0x100000000 + 4660\n";
    for (format, log) in [("llvm", llvm), ("macos", macos)] {
        let json =
            foldsym_with(&["symbolize", "--json", "--search", search, "--cache", cache, "-"], log).json();
        assert_eq!(json[0]["Format"], format);
        let frames = &json[0]["Threads"][0]["Frames"];
        let of = |at: usize| {
            let frame = &frames[at];
            let outermost = frame["Symbol"].as_array().unwrap().last().unwrap();
            [&outermost["FunctionName"], &frame["Address"], &frame["Source"]].map(Value::to_string)
        };
        assert_eq!(of(0), ["\"demo::crash()\"", "\"0x2012b0\"", "null"], "{frames}");
        assert_eq!(of(1), ["\"demo_main\"", "\"0x201735\"", "null"], "{frames}");
        assert_eq!(of(2), ["\"\"", "\"0x7f001234567a\"", "null"], "{frames}");
        if format == "llvm" {
            // The offset is not in the function: the name is that of another function before it.
            assert_eq!(of(3), ["\"demo_main + 99999\"", "\"0x219d8f\"", "\"report\""], "{frames}");
            assert_eq!(of(5), ["\"demo_main\"", "\"0x201735\"", "null"], "{frames}");
            assert_eq!(of(4), ["\"gone()\"", "\"0x7f001234567c\"", "\"report\""], "{frames}");
        }
    }
}

//! What `--help` says: options under the headings that they belong to, examples that run, exit codes that are those of the text; and the
//! manual pages that are made of it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::common;

use common::{foldsym, program};

/// The headings of a help text with the options under each, in their long spelling.
fn headings(help: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in help.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
            found.push((heading.to_owned(), Vec::new()));
        } else if let (true, Some((_, options))) = (line.trim_start().starts_with('-'), found.last_mut())
            && let Some(at) = line.find("--")
        {
            let end = line[at..].find([' ', '=', '[']).map_or(line.len(), |end| at + end);
            options.push(line[at..end].to_owned());
        }
    }
    found
}

fn options(command: &str, flag: &str, heading: &str) -> Vec<String> {
    let help = foldsym(&[command, flag]).out;
    let found = headings(&help).into_iter().filter(|(name, _)| name == heading);
    found.flat_map(|(_, options)| options).collect()
}

#[test]
fn options_stand_under_the_headings_that_they_belong_to() {
    for command in ["lookup", "stack", "symbolize", "filter"] {
        let many = options(command, "--help", "Many modules");
        let expected = ["--store", "--search", "--maps", "--sections", "--open-paths", "--cache"];
        assert_eq!(many[..6], expected, "{command}");
        assert!(many.len() <= 7, "{command}: {many:?}");
        assert!(options(command, "--help", "Options").contains(&"--certainty".to_owned()), "{command}");
    }
    for command in ["lookup", "stack"] {
        assert!(options(command, "--help", "Options").contains(&"--json".to_owned()), "{command}");
        let as_llvm = options(command, "--help", "As in llvm-symbolizer and addr2line");
        assert!(as_llvm.contains(&"--functions".to_owned()) && !as_llvm.contains(&"--json".to_owned()));
    }
    let convert = headings(&foldsym(&["convert", "--help"]).out);
    assert!(convert.iter().all(|(_, options)| options.len() <= 9), "{convert:?}");
    assert!(convert.len() > 6, "{convert:?}");
}

#[test]
fn the_short_help_has_what_people_use_first() {
    for (command, first, rest) in [
        ("convert", "--out-dir", "--map-prefix"),
        ("lookup", "--json", "--output-style"),
        ("stack", "--json", "--output-style"),
        ("symbolize", "--search", "--callers"),
    ] {
        let (short, long) = (foldsym(&[command, "-h"]).out, foldsym(&[command, "--help"]).out);
        assert!(short.contains(first) && short.contains("Examples:") && !short.contains(rest), "{short}");
        assert!(long.contains(first) && long.contains("Examples:") && long.contains(rest), "{long}");
        assert!(short.lines().count() <= 45, "{command}: {}", short.lines().count());
    }
}

/// All commands, those of commands too.
fn commands() -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = found.get(next).cloned() {
        next += 1;
        let help = foldsym(&[&command[..], &["--help".to_owned()]].concat()).out;
        let Some(list) = help.split("\nCommands:\n").nth(1) else { continue };
        let names = list.lines().take_while(|line| line.starts_with("  "));
        let names = names.filter_map(|line| line[2..].split(' ').next()).filter(|name| !name.is_empty());
        for name in names.filter(|name| *name != "help") {
            found.push([&command[..], &[name.to_owned()]].concat());
        }
    }
    found
}

#[test]
fn an_output_has_both_spellings() {
    for command in commands() {
        let help = foldsym(&[&command[..], &["--help".to_owned()]].concat()).out;
        for line in help.lines().map(str::trim_start) {
            let is_output = line.starts_with("-o") || line.starts_with("--output ");
            assert!(!is_output || line.starts_with("-o, --output <"), "{command:?}: {line}");
        }
    }
}

/// The examples of a help text, without what explains them.
fn examples(help: &str) -> Vec<String> {
    let list = help.split("Examples:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    let command = |line: &str| {
        let line = line.trim();
        line.split_once("    ").map_or(line, |(command, _)| command).trim_end().to_owned()
    };
    lines.map(command).collect()
}

/// What examples name and the folder of the test has elsewhere: no test writes outside of its folder.
const ELSEWHERE: [(&str, &str); 9] = [
    ("/srv/symbols", "srv/symbols"),
    ("/proc/1234/maps", "maps"),
    ("/usr/lib/debug/boot/vmlinux", "vmlinux"),
    ("find / ", "find build "),
    ("~/", "home/"),
    (" && man foldsym-convert", ""),
    (".text.bar", ".text.chain"),
    ("blocks app.fsym main", "blocks blocks.fsym collatz"),
    ("cfi app 0x401180", "cfi unwound 0x401000"),
];

/// Words of examples that need what a test does not have: storage, a server, other people's tools, and reports that only a
/// machine in trouble writes.
const NOT_RUN: [&str; 12] = [
    "dump_syms",
    "s3://",
    "foldsym serve",
    "curl",
    "perf ",
    "cpu.pb.gz",
    "core.1234",
    "crash.dmp",
    "[default",
    "dmesg",
    "ASAN_",
    "cfi bundle",
];

/// A log of a sanitizer with a stack of `app`.
const LOG: &str = "==1==ERROR: AddressSanitizer: SEGV on unknown address\n    #0 0x20129b  (app+0x20129b)\n    #1 0x201fbd  (app+0x201fbd)\n\n";

fn folder_for_examples(folder: &Path) {
    let copy = |from: &str, to: &str| {
        let to = folder.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(program(from), to).unwrap();
    };
    for app in ["app", "build/app", "vmlinux", "modules/m.ko"] {
        copy("demo.elf", app);
    }
    for library in ["libfoo.so", "build/libbar.so"] {
        copy("inline.clang-shared-dynsym-dwarf", library);
    }
    let breakpad = "../breakpad/basic.full.inlines.sym";
    copy(breakpad, "app.sym");
    copy(breakpad, "server/basic.full/20AD60B0B4C68177552708AA192E77390/basic.full.sym");
    copy("gpu.containers.set/two.bundle", "bundle");
    copy("inline.gcc-dwarf5", "unwound");
    let texts = [
        ("maps", "00200000-00210000 r-xp 00000000 08:01 1 /nowhere/app\n"),
        ("addresses.txt", "0x20129b\n"),
        ("stacks.txt", "0x20129b 0x201fbd\n"),
        ("stacks.jsonl", r#"{"modules": [{"name": "app", "base": "0x0"}], "frames": ["0x20129b"]}"#),
        ("wave.json", r#"{"regs": {}}"#),
        ("crash.log", LOG),
        ("report.txt", LOG),
        ("reports/a.txt", LOG),
    ];
    for (name, text) in texts {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let prepare = [
        ("demo.elf", "app.fsym"),
        ("inline.gcc-sections.o", "foo.o.fsym"),
        ("lanes.user", "kernel.fsym"),
        ("blocks.clang.set/program", "blocks.fsym"),
    ];
    for (from, to) in prepare {
        let (from, to) = (program(from), folder.join(to));
        assert_eq!(foldsym(&["convert", "-q", from.to_str().unwrap(), "-o", to.to_str().unwrap()]).code, 0);
    }
    for store in ["symbols", "srv/symbols"] {
        let (build, store) = (folder.join("build"), folder.join(store));
        let args = ["convert", "-q", build.to_str().unwrap(), "--store", store.to_str().unwrap()];
        assert_eq!(foldsym(&[&args[..], &["--product", "mail", "--version", "4.2"]].concat()).code, 0);
    }
}

/// Each example ends with exit code 0 where its files are, and those of commands that answer find something.
#[test]
fn examples_run_as_they_are_printed() {
    let sandbox = tempfile::tempdir().unwrap();
    folder_for_examples(sandbox.path());
    let folder = Path::new(env!("CARGO_BIN_EXE_foldsym")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let (mut ran, mut failed) = (0, Vec::new());
    for command in commands() {
        let help = |flag: &str| foldsym(&[&command[..], &[flag.to_owned()]].concat()).out;
        let mut lines = [examples(&help("-h")), examples(&help("--help"))].concat();
        lines.sort();
        lines.dedup();
        for line in lines.into_iter().filter(|line| !NOT_RUN.iter().any(|word| line.contains(word))) {
            let mut script = ELSEWHERE.iter().fold(line.clone(), |line, (from, to)| line.replace(from, to));
            if script.starts_with("./app") {
                script = script.replace("./app 2>&1", "cat crash.log");
            }
            let mut shell = Command::new("sh");
            shell.args(["-c", &script]).current_dir(sandbox.path()).env("PATH", &path).stdin(Stdio::null());
            shell.env("FOLDSYM_CACHE", sandbox.path().join("cache")).env_remove("DEBUGINFOD_URLS");
            let out = shell.output().unwrap();
            ran += 1;
            if out.status.code() != Some(0) {
                failed.push(format!("{line}\n  {script}\n  {}", String::from_utf8_lossy(&out.stderr)));
            }
            let answers = ["lookup app", "stack app", "foldsym find", "--search build/", "filter"];
            let text = String::from_utf8_lossy(&out.stdout);
            if answers.iter().any(|answer| script.contains(answer)) && !text.contains("demo") {
                failed.push(format!("{line}\n  nothing is found: {text}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(ran > 30, "{ran}");
}

#[test]
fn exit_codes_are_as_promised() {
    let fsym = common::Fsym::of("demo.elf", &[]);
    let (app, folder) = (program("demo.elf"), fsym.folder.path());
    let (file, app, other) = (fsym.str(), app.to_str().unwrap(), program("demo.gcc"));
    let missing = folder.join("missing");
    let (missing, out_dir) = (missing.to_str().unwrap(), folder.join("out"));
    let lossy = program("inline.clang-symbols-only");
    let text = folder.join("text");
    std::fs::write(&text, "no program").unwrap();
    for (expected, args) in [
        (0, &["lookup", file, "0x1"][..]),
        (0, &["stack", file, "0x1"]),
        (1, &["find", file, "nothing_has_this_name"]),
        (1, &["find", file, "--prefix", "nothing_has_this_name"]),
        (1, &["dump", file, "--function", "nothing_has_this_name"]),
        (1, &["dump", file, "--address", "0x1"]),
        (1, &["blocks", file, "nothing_has_this_name"]),
        (1, &["cfi", app, "0x1"]),
        (1, &["verify", file, "--against", other.to_str().unwrap()]),
        (2, &["lookup", file, "words"]),
        (2, &["find", file]),
        (3, &["lookup", missing, "0x1"]),
        (3, &["convert", text.to_str().unwrap(), "-o", missing]),
        (4, &["convert", app, text.to_str().unwrap(), "--out-dir", out_dir.to_str().unwrap()]),
        (4, &["convert", lossy.to_str().unwrap(), "--require-debug-info", "-o", missing]),
    ] {
        assert_eq!(foldsym(args).code, expected, "{args:?}: {:?}", foldsym(args));
    }
}

/// `groff` formats the pages without a warning, and examples keep their lines.
#[test]
fn manual_pages_keep_the_lines_of_examples() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(foldsym(&["man", folder.path().to_str().unwrap()]).code, 0);
    for command in commands() {
        let name = [&["foldsym".to_owned()], &command[..]].concat().join("-");
        let path = folder.path().join(format!("{name}.1"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!page.contains(" \\fR]") && !page.contains(".SH EXTRA"), "{name}: {page}");
        let help = foldsym(&[&command[..], &["--help".to_owned()]].concat()).out;
        for example in examples(&help) {
            let plain = page.replace("\\*(Aq", "'").replace("\\-", "-").replace("\\\\", "\\");
            let lines: Vec<&str> = plain.lines().map(str::trim).collect();
            assert!(lines.iter().any(|line| line.starts_with(&example)), "{name}: {example}");
        }
        let Ok(groff) = Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(&path).output()
        else {
            continue;
        };
        assert!(groff.status.success() && groff.stderr.is_empty(), "{name}: {groff:?}");
    }
}

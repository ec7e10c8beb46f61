//! Inputs and outputs that are no plain files, that collide, or that are one another; lists, patterns and parts of files.

#![cfg(unix)]

use crate::common;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ran, command, file, foldsym, foldsym_with, program};
use serde_json::Value;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// All files below a folder, by path.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap().map(Result::unwrap) {
            match entry.path().is_dir() {
                true => open.push(entry.path()),
                false => found.push(text(entry.path().strip_prefix(folder).unwrap()).to_owned()),
            }
        }
    }
    found.sort();
    found
}

/// Runs the command in a shell, after a line of shell.
fn in_shell(before: &str, args: &[&str]) -> Ran {
    let script = format!("{before}; exec \"$0\" \"$@\"");
    let ran =
        Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_foldsym")]).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: ran.status.code().unwrap_or(-1), out: text(ran.stdout), err: text(ran.stderr) }
}

/// Puts programs of the test set into a folder.
fn copies(folder: &Path, names: &[(&str, &str)]) {
    for (from, to) in names {
        let to = folder.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(program(from), to).unwrap();
    }
}

#[test]
fn a_fifo_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (fifo, dir) = (folder.path().join("fifo"), folder.path().join("out"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let out = folder.path().join("a.fsym");
    for output in [["--out-dir", text(&dir)], ["-o", text(&out)]] {
        let mut child =
            command().args(["convert", text(&fifo)]).args(output).stderr(Stdio::piped()).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                child.kill().unwrap();
                panic!("waits for the FIFO");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let ran = child.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&ran.stderr).contains("fifo: is a FIFO"));
    }
}

#[test]
fn threads_that_cannot_be_made_are_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (program("demo.elf"), program("demo.gcc"));
    let dir = folder.path().join("out");
    let args = ["convert", text(&one), text(&two), "--out-dir", text(&dir), "--threads", "2"];
    // No system has room for such a stack.
    let ran = in_shell("export RUST_MIN_STACK=70368744177664", &args);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(!ran.err.contains("panicked") && ran.err.contains("cannot start threads"), "{}", ran.err);
}

#[test]
fn a_small_stack_is_enough() {
    let ran = in_shell("ulimit -s 48", &["--version"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.fsym");
    let ran = in_shell("ulimit -s 48", &["convert", text(&program("demo.elf")), "-o", text(&out)]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_report_and_an_output_that_are_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let input = program("demo.elf");
    for (out, report) in [("x.fsym", "./x.fsym"), ("./x.fsym", "x.fsym"), ("x.fsym", "new/../x.fsym")] {
        let ran = command()
            .current_dir(folder.path())
            .args(["convert", text(&input), "-o", out, "--report", report])
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(
            (ran.status.code(), err.contains("the report would replace it")),
            (Some(2), true),
            "{err}"
        );
    }
    assert_eq!(files(folder.path()), [""; 0]);
}

/// Whether or not this conversion reads it: a package, a debug file or a source file is not replaced.
#[test]
fn an_output_replaces_its_own_kind_alone() {
    let folder = tempfile::tempdir().unwrap();
    let set = "split.clang-dwarf5.set";
    let names =
        ["split", "split.dwp", "stripped", "stripped.debug", "a.dwo"].map(|name| format!("{set}/{name}"));
    copies(folder.path(), &names.each_ref().map(|name| (name.as_str(), name.rsplit('/').next().unwrap())));
    file(folder.path(), "main.c", b"int main(void) { return 0; }");
    let before: Vec<(String, Vec<u8>)> = files(folder.path())
        .into_iter()
        .map(|name| (name.clone(), std::fs::read(folder.path().join(name)).unwrap()))
        .collect();
    let at = |name: &str| folder.path().join(name);
    for (input, over) in
        [("split", "split.dwp"), ("split", "a.dwo"), ("stripped", "stripped.debug"), ("split", "main.c")]
    {
        for option in ["-o", "--report"] {
            let unused = at("new.fsym");
            let mut args = vec!["convert", text(Box::leak(Box::new(at(input)))), option];
            let over = at(over);
            args.push(text(&over));
            if option == "--report" {
                args.extend(["-o", text(&unused)]);
            }
            let ran = foldsym(&args);
            assert_eq!(ran.code, 3, "{over:?} {ran:?}");
            assert!(ran.err.contains(": cannot write: exists and is not a "), "{}", ran.err);
        }
    }
    for (name, bytes) in before {
        assert!(std::fs::read(at(&name)).unwrap() == bytes, "{name}");
    }
    // Its own kind, and an empty file.
    std::fs::write(at("made.fsym"), "").unwrap();
    for _ in 0..2 {
        assert_eq!(foldsym(&["convert", text(&at("split")), "-o", text(&at("made.fsym"))]).code, 0);
    }
}

#[test]
fn standard_output_is_an_output() {
    let folder = tempfile::tempdir().unwrap();
    let input = program("demo.elf");
    let out = folder.path().join("a.fsym");
    assert_eq!(foldsym(&["convert", text(&input), "-o", text(&out)]).code, 0);
    let ran =
        command().current_dir(folder.path()).args(["convert", text(&input), "-o", "-"]).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(ran.stdout == std::fs::read(&out).unwrap());
    let ran = command()
        .current_dir(folder.path())
        .args(["convert", text(&input), "-o", "a.fsym", "--report", "-"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(report["debug_info"], "full");
    let second = program("demo.gcc");
    let two = ["convert", text(&input), text(&second), "--out-dir", ".", "--report", "-"];
    let ran = command().current_dir(folder.path()).args(two).output().unwrap();
    let lines = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(
        lines.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count(),
        2,
        "{lines}"
    );
    assert_eq!(files(folder.path()), ["a.fsym", "demo.elf.fsym", "demo.gcc.fsym"]);
}

#[test]
fn the_output_may_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    copies(folder.path(), &[("demo.elf", "app")]);
    let ran = command().current_dir(folder.path()).args(["convert", "app"]).output().unwrap();
    assert!(ran.status.success());
    assert_eq!(files(folder.path()), ["app", "app.fsym"]);
}

/// A missing page of a mapped file ends the process by a signal: the command prints which file it was.
#[test]
fn an_input_that_is_cut_short_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("shrinks");
    let bytes = std::fs::read(program("demo.elf")).unwrap();
    let out = folder.path().join("a.fsym");
    let mut named = 0;
    for turn in 0..400 {
        // Large enough to be cut while it is mapped: the bytes after the program belong to no section.
        let large = [&bytes[..], &vec![0; 4 << 20]].concat();
        std::fs::write(&input, &large).unwrap();
        let child = command()
            .args(["convert", text(&input), "-o", text(&out), "--quiet"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(500 + 50 * (turn % 40)));
        std::fs::File::options().write(true).open(&input).unwrap().set_len(0).unwrap();
        let ran = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.signal(), None, "ended by a signal without a word: {err}");
        if err.contains("shrinks: cut short or unreadable while it was read") {
            assert_eq!(ran.status.code(), Some(3));
            named += 1;
        }
        if named == 2 {
            return;
        }
    }
    println!("met {named} times");
}

/// Answers addresses of a symbol file that is cut short after the first of them, and gives what is said then.
fn cut_short(fsym: &common::Fsym, args: &[&str], module: &str) -> String {
    let mut child = command()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    // An answer says that the file is mapped.
    std::io::Write::write_all(&mut input, format!("{module}0x10\n").as_bytes()).unwrap();
    std::io::BufRead::read_line(&mut output, &mut String::new()).unwrap();
    std::fs::File::options().write(true).open(&fsym.path).unwrap().set_len(0).unwrap();
    for address in (0x401000..0x501000).step_by(0x1000) {
        if std::io::Write::write_all(&mut input, format!("{module}{address:#x}\n").as_bytes()).is_err() {
            break;
        }
    }
    drop(input);
    let ran = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!((ran.status.code(), ran.status.signal()), (Some(3), None), "{err}");
    err
}

#[test]
fn a_symbol_file_that_is_cut_short_is_named() {
    let fsym = common::Fsym::of("golang.amd64.debug", &[]);
    let err = cut_short(&fsym, &["lookup", fsym.str()], "");
    assert!(err.contains("fsym: cut short or unreadable while it was read (SIGBUS)"), "{err}");
}

/// The engine maps the modules of a process, and the command does not know where.
#[test]
#[cfg(target_os = "linux")]
fn a_module_that_is_cut_short_is_named() {
    let fsym = common::Fsym::of("golang.amd64.debug", &[]);
    let search = fsym.folder.path().to_str().unwrap();
    let err = cut_short(&fsym, &["lookup", "--search", search], "golang.amd64.debug+");
    let named = "golang.amd64.debug.fsym: cut short or unreadable while it was read (SIGBUS)\n";
    assert!(err.ends_with(named) && err.lines().count() == 1, "{err}");
}

#[test]
fn deep_folders_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let deep: PathBuf = std::iter::repeat_n("d", 90).collect();
    copies(folder.path(), &[("demo.elf", text(&Path::new("in").join(&deep).join("app")))]);
    let (tree, dir) = (folder.path().join("in"), folder.path().join("out"));
    let ran = foldsym(&["convert", text(&tree), "--out-dir", text(&dir)]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(files(&dir), [text(&deep.join("app.fsym"))]);
}

/// An archive whose member's name is that of another file's output, in a folder with others.
#[test]
fn what_collides_does_not_stop_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let object = std::fs::read(program("inline.clang-sections.o")).unwrap();
    copies(folder.path(), &[("demo.elf", "in/app"), ("demo.gcc", "in/lib.a.x_y.o")]);
    file(&folder.path().join("in"), "lib.a", &archive(&[("x y.o", &object), ("z.o", &object)]));
    let (tree, dir) = (folder.path().join("in"), folder.path().join("out"));
    let ran = foldsym(&["convert", text(&tree), "--objects", "--out-dir", text(&dir)]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert_eq!(ran.err.matches(" would both become ").count(), 2, "{}", ran.err);
    assert_eq!(files(&dir), ["app.fsym", "lib.a.z.o.fsym"]);
    assert!(ran.out.ends_with("2 converted, 2 failed\n"), "{}", ran.out);
    // Two arguments of the command line are a mistake.
    let (one, two) = (tree.join("app"), folder.path().join("two/app"));
    copies(folder.path(), &[("demo.gcc", "two/app")]);
    assert_eq!(foldsym(&["convert", text(&one), text(&two), "--out-dir", text(&dir)]).code, 2);
}

/// An archive as `ar` writes it, with only short names.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let header =
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", format!("{name}/"), 0, 0, 0, 644, content.len());
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(content);
        if content.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[test]
fn members_of_archives_are_programs() {
    let folder = tempfile::tempdir().unwrap();
    let object = std::fs::read(program("inline.clang-sections.o")).unwrap();
    let other = std::fs::read(program("symbols.clang")).unwrap();
    let members: [(&str, &[u8]); 4] =
        [("a.o", &object), ("note", b"text\n"), ("a.o", &other), ("b.o", &object)];
    let lib = file(folder.path(), "lib.a", &archive(&members));
    let (dir, report) = (folder.path().join("out"), folder.path().join("r.jsonl"));
    let ran = foldsym(&["convert", text(&lib), "--out-dir", text(&dir), "--report", text(&report)]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(files(&dir), ["lib.a.a.o#2.fsym", "lib.a.a.o.fsym", "lib.a.b.o.fsym"]);
    let found = foldsym(&["find", text(&dir.join("lib.a.b.o.fsym")), "chain"]);
    assert!(found.code == 0 && found.out.starts_with("chain\t"), "{found:?}");
    let parts: Vec<Value> = std::fs::read_to_string(&report)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["part"].clone())
        .collect();
    assert!(["a.o", "a.o#2", "b.o"].iter().all(|part| parts.contains(&(*part).into())), "{parts:?}");
    // With -o there is nowhere to put several.
    let ran = foldsym(&["convert", text(&lib), "-o", text(&folder.path().join("a.fsym"))]);
    assert!(
        ran.code == 3 && ran.err.contains("an archive; --out-dir takes a file for each member"),
        "{ran:?}"
    );
    // An archive without objects is skipped in a folder.
    let tree = folder.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    file(&tree, "none.a", &archive(&members[1..2]));
    copies(&tree, &[("demo.elf", "app")]);
    let ran = foldsym(&["convert", text(&tree), "--objects", "--out-dir", text(&dir)]);
    assert!(ran.code == 0 && ran.out.ends_with("1 converted, 0 failed, 1 other files skipped\n"), "{ran:?}");
    for (name, bytes) in [
        ("thin.a", &b"!<thin>\na.o/            0           0     0     644     4         `\n"[..]),
        ("cut.a", &archive(&members)[..100]),
    ] {
        let lib = file(folder.path(), name, bytes);
        let ran = foldsym(&["convert", text(&lib), "--out-dir", text(&dir)]);
        assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "{ran:?}");
        assert!(ran.err.contains(name) && ran.err.contains("archive"), "{}", ran.err);
    }
}

#[test]
fn a_fat_file_gives_a_file_for_each_architecture() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("out");
    let ran = foldsym(&["convert", text(&program("macho.fat")), "--out-dir", text(&dir)]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let made = files(&dir);
    assert!(made.len() >= 2 && made.contains(&"macho.fat.x86_64.fsym".to_owned()), "{made:?}");
    let alone = folder.path().join("alone.fsym");
    let fat = program("macho.fat");
    let args = ["convert", text(&fat), "-o", text(&alone), "--arch", "x86_64"];
    assert_eq!(foldsym(&args).code, 0);
    assert!(std::fs::read(alone).unwrap() == std::fs::read(dir.join("macho.fat.x86_64.fsym")).unwrap());
}

#[test]
fn inputs_may_be_listed_and_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        ("demo.elf", "in/app"),
        ("demo.gcc", "in/lib/one.so"),
        ("demo.gcc", "in/lib/old/two.so"),
        ("symbols.clang", "in/three.so"),
    ];
    copies(folder.path(), &names);
    let tree = folder.path().join("in");
    let plan = |more: &[&str]| {
        let ran = foldsym(&[&["convert", text(&tree), "--out-dir", "out", "--dry-run"], more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let name = |line: &str| line.rsplit_once(" -> out/").unwrap().1.to_owned();
        ran.out.lines().map(name).collect::<Vec<String>>()
    };
    assert_eq!(plan(&[]), ["app.fsym", "lib/old/two.so.fsym", "lib/one.so.fsym", "three.so.fsym"]);
    assert_eq!(plan(&["--include", "*.so", "--exclude", "old"]), ["lib/one.so.fsym", "three.so.fsym"]);
    assert_eq!(plan(&["--include", "lib/**"]), ["lib/old/two.so.fsym", "lib/one.so.fsym"]);
    assert_eq!(plan(&["--exclude", "lib/old", "--exclude", "*p"]), ["lib/one.so.fsym", "three.so.fsym"]);
    let listed = [tree.join("app"), tree.join("three.so")].map(|path| text(&path).to_owned());
    let dir = folder.path().join("out");
    let list = file(folder.path(), "list", format!("{}\n\r\n{}\r\n", listed[0], listed[1]).as_bytes());
    let from_file = format!("@{}", text(&list));
    let args = ["convert", &from_file, "--out-dir", text(&dir)];
    assert_eq!(foldsym(&args).code, 0);
    assert_eq!(files(&dir), ["app.fsym", "three.so.fsym"]);
    std::fs::remove_dir_all(&dir).unwrap();
    let ran = foldsym_with(&["convert", "@-", "--out-dir", text(&dir)], &format!("{}\0", listed.join("\0")));
    assert_eq!((ran.code, files(&dir).len()), (0, 2), "{ran:?}");
    let ran = foldsym(&["convert", "@nothing", "--out-dir", text(&dir)]);
    assert!(ran.code == 3 && ran.err.contains("nothing: list of inputs: "), "{ran:?}");
}

#[test]
fn names_of_files_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let name = "a\u{1b}[2J\u{200e}\u{202e}\u{e0041}b";
    copies(folder.path(), &[("demo.elf", name), ("inline.clang-symbols-only", "x\u{2028}y")]);
    let dir = folder.path().join("out");
    let ran = foldsym(&["convert", text(folder.path()), "--out-dir", text(&dir)]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.is_ascii() && ran.err.is_ascii(), "{ran:?}");
    assert!(
        ran.out.contains("a\\u{1b}[2J\\u{200e}\\u{202e}\\u{e0041}b.fsym: ")
            && ran.err.contains("x\\u{2028}y")
    );
}

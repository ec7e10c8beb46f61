//! `lookup` and `stack` over many modules: a store, search paths, the maps of a process, JSON stacks, and missing modules.

use crate::common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use common::{Fsym, Ran, command, foldsym, foldsym_with, program};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An address with inlined code in `demo.elf`, which is linked to 0x200000.
const INLINED: u64 = 0x2012b0;

/// The command's answer for that address in the program's own file.
fn expected() -> Value {
    let mut answer =
        Fsym::of("demo.elf", &["--columns"]).run("lookup", &["--json", "0x2012b0"]).json().remove(0);
    let object = answer.as_object_mut().unwrap();
    object.retain(|key, _| ["Symbol", "Certainty", "Evidence", "Reason"].contains(&key.as_str()));
    answer
}

/// Whether an answer has the same functions.
fn is_same(answer: &Value, expected: &Value) -> bool {
    expected.as_object().unwrap().iter().all(|(key, value)| answer.get(key) == Some(value))
}

/// A store with the file of `demo.elf`, and its build id.
fn store() -> (TempDir, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store").to_str().unwrap().to_owned();
    let input = program("demo.elf");
    let ran = foldsym(&["convert", input.to_str().unwrap(), "--columns", "--store", &store]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let listed = foldsym(&["store", "list", "--json", &store]);
    let id = listed.json()[0]["BuildId"].as_str().unwrap_or_else(|| panic!("{listed:?}")).to_owned();
    (folder, store, id)
}

/// Runs the command with a cache of its own.
fn cached(cache: &TempDir, args: &[&str]) -> Ran {
    let mut all = args.to_vec();
    let folder = cache.path().join("cache");
    all.extend(["--cache", folder.to_str().unwrap()]);
    foldsym(&all)
}

#[test]
fn a_store_answers_by_build_id_and_keys_are_echoed() {
    let (_folder, store, id) = store();
    let expected = expected();
    let ran = foldsym(&["lookup", "--store", &store, "--json", &format!("{id}:0x2012b0")]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(is_same(&ran.json()[0], &expected), "{ran:?}");
    assert_eq!(ran.json()[0]["ModuleName"], *id);

    let part = json!({"id": id, "name": "/opt/demo", "base": "0x7f0000000000"});
    let stack = |frames: Value| {
        json!({"id": [1], "thread": {"name": "main"}, "modules": [part], "frames": frames}).to_string() + "\n"
    };
    let pc = 0x7f00_0000_0000 + INLINED - 0x200000;
    let input = stack(
        json!([format!("{pc:#x}"), pc + 1, {"module": 0, "offset": INLINED - 0x200000, "kind": "exact"}]),
    ) + &stack(json!([{"module": "demo", "address": INLINED, "kind": "exact"}, "0x10", "?"]))
        + "{\"id\": 5, \"frames\": []}\n";
    let ran = foldsym_with(&["stack", "--store", &store, "--json"], &input);
    assert_eq!(ran.code, 0, "{ran:?}");
    let answers = ran.json();
    assert_eq!((&answers[0]["id"], &answers[0]["thread"]), (&json!([1]), &json!({"name": "main"})));
    for frame in answers[0]["Frames"].as_array().unwrap() {
        assert!(is_same(frame, &expected), "{frame}");
        assert_eq!(frame["ModuleName"], "/opt/demo");
    }
    assert!(is_same(&answers[1]["Frames"][0], &expected));
    assert_eq!(answers[1]["Frames"][1]["Unknown"]["Kind"], "no_module");
    assert_eq!(answers[1]["Frames"][2]["Address"], "?");
    assert_eq!(answers[2], json!({"Frames": [], "id": 5}));
}

#[test]
fn what_is_not_found_says_so() {
    let (folder, store, id) = store();
    let other = "0123456789abcdef0123456789abcdef01234567";
    let ran = foldsym(&["lookup", "--store", &store, "--json", &format!("{other}:0x10"), "libgone.so+0x10"]);
    assert_eq!(ran.code, 0);
    let answers = ran.json();
    assert_eq!(answers[0]["Unknown"]["Kind"], "absent");
    let message = answers[0]["Unknown"]["Message"].as_str().unwrap();
    assert!(message.contains(other) && message.contains(&format!("not in {store}")), "{message}");
    let message = answers[1]["Unknown"]["Message"].as_str().unwrap();
    assert!(message.contains("libgone.so (no identity)"), "{message}");
    // The same as text.
    let ran = foldsym(&["lookup", "--store", &store, &format!("{other}:0x10")]);
    assert!(ran.out.starts_with("?? [absent: ") && ran.out.ends_with("]\n??:0:0\n\n"), "{ran:?}");

    // A damaged entry, and one of another program.
    let entry = |id: &str| std::path::Path::new(&store).join(&id[..2]).join(&id[2..]).join("v3.fsym");
    std::fs::create_dir_all(entry(other).parent().unwrap()).unwrap();
    std::fs::copy(entry(&id), entry(other)).unwrap();
    let ran = foldsym(&["lookup", "--store", &store, "--json", &format!("{other}:0x10")]);
    let answer = &ran.json()[0];
    assert_eq!(answer["Unknown"]["Kind"], "damaged", "{answer}");
    assert!(
        answer["Unknown"]["Message"].as_str().unwrap().contains(&format!("holds build id {id}")),
        "{answer}"
    );
    std::fs::write(entry(other), &std::fs::read(entry(&id)).unwrap()[..100]).unwrap();
    let ran = foldsym(&["lookup", "--store", &store, "--json", &format!("{other}:0x10")]);
    assert!(ran.json()[0]["Unknown"]["Message"].as_str().unwrap().contains("v3.fsym: damaged"), "{ran:?}");
    std::fs::remove_file(entry(other)).unwrap();
    std::fs::create_dir(entry(other)).unwrap();
    let ran = foldsym(&["lookup", "--store", &store, "--json", &format!("{other}:0x10")]);
    assert!(ran.json()[0]["Unknown"]["Message"].as_str().unwrap().contains("a folder"), "{ran:?}");

    // Malformed lines.
    for (word, says) in [
        ("../..:0x10", "is not an address"),
        ("x", "MODULE+OFFSET"),
        ("/etc/passwd 0x10", "need --open-paths"),
    ] {
        let ran = foldsym(&["lookup", "--store", &store, word]);
        assert!(ran.code == 2 && ran.err.contains(says), "{word}: {ran:?}");
    }
    for (line, says) in
        [("{", "EOF"), ("{}", "needs \"frames\""), ("{\"modules\": 1, \"frames\": []}", "is not a list")]
    {
        let ran = foldsym_with(&["stack", "--store", &store, "--json"], line);
        let message = ran.json()[0]["Error"]["Message"].as_str().unwrap_or_default().to_owned();
        assert!(ran.code == 2 && message.contains(says), "{line}: {ran:?}");
    }
    let object = program("inline.clang-sections.o");
    let object = object.to_str().unwrap();
    let part = json!({"name": "inline.clang-sections.o", "start": 4096, "size": 4096, "file_offset": 0});
    let input = json!({"modules": [part], "frames": [4100]}).to_string();
    let ran = foldsym_with(&["stack", "--search", object, "--json"], &input);
    let unknown = &ran.json()[0]["Frames"][0]["Unknown"];
    assert_eq!(unknown["Kind"], "no_mapping", "{ran:?}");
    assert!(unknown["Message"].as_str().unwrap().contains("has no segments"), "{unknown}");
    let gone = folder.path().join("gone");
    let gone = gone.to_str().unwrap();
    for (args, says) in [
        (["lookup", "--store", gone, "0x10"], "gone"),
        (["lookup", "--search", gone, "0x10"], "expected a .fsym file, a program, or a folder"),
        (["lookup", "--maps", gone, "0x10"], "No such file"),
    ] {
        let ran = foldsym(&args);
        assert!(ran.code == 3 && ran.err.contains(says), "{args:?}: {ran:?}");
    }
    let wrong = common::file(folder.path(), "maps", b"not a line of maps\n");
    let ran = foldsym(&["lookup", "--maps", wrong.to_str().unwrap(), "0x10"]);
    assert!(ran.code == 3 && ran.err.contains("expected START-END MODE"), "{ran:?}");
}

#[test]
fn deep_stacks_and_many_modules_end() {
    let (_folder, store, _) = store();
    let frames: Vec<u64> = vec![0x10; 100_000];
    let input = json!({"modules": [], "frames": frames}).to_string() + "\n";
    let ran = foldsym_with(&["stack", "--store", &store, "--json"], &input);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json()[0]["Frames"].as_array().unwrap().len(), 100_000);
    let input = json!({"modules": [], "frames": vec![1; 200_000]}).to_string() + "\n";
    let ran = foldsym_with(&["stack", "--store", &store, "--json"], &input);
    assert!(ran.code == 2 && ran.out.contains("more than 131072 frames"), "{}", ran.out);
    // A million modules, and addresses as reports have them.
    let module =
        |number: u64| json!({"name": format!("lib{number}.so"), "base": format!("{:#x}", number << 20)});
    let modules: Vec<Value> = (1..=1_000_000).map(module).collect();
    let input = format!("{}\n0x10\n", json!({"modules": modules, "frames": ["0xf424000010"]}));
    let ran = foldsym_with(&["stack", "--store", &store, "--json"], &input);
    assert_eq!(ran.code, 0, "{:.300}", ran.out);
    assert_eq!(ran.json()[0]["Frames"][0]["ModuleName"], "lib1000000.so");
    // A line that is longer than lines may be is an error, and the next is answered.
    let input = format!("{}\n0x10\n", "0x10 ".repeat((128 << 20) / 5 + 1));
    let ran = foldsym_with(&["stack", "--store", &store, "--json"], &input);
    assert!(ran.code == 2 && ran.out.contains("line too long"), "{:.300}", ran.out);
    assert_eq!(ran.json().len(), 2);
}

/// A process of a million modules is read, and each is found.
#[test]
fn a_process_of_a_million_modules() {
    use std::fmt::Write;
    let folder = tempfile::tempdir().unwrap();
    let mut maps = String::with_capacity(80 << 20);
    for number in 1..=1_000_000_u64 {
        let start = number << 16;
        writeln!(maps, "{start:x}-{:x} r-xp 00001000 fe:01 {number} /lib/lib{number}.so", start + 0x1000)
            .unwrap();
    }
    let path = folder.path().join("maps");
    std::fs::write(&path, maps).unwrap();
    let ran =
        foldsym(&["lookup", "--maps", path.to_str().unwrap(), "--json", "0x10010", "0xf42400010", "0x10"]);
    let names: Vec<String> =
        ran.json().iter().map(|answer| answer["ModuleName"].as_str().unwrap().to_owned()).collect();
    assert!(
        ran.code == 0 && names[0].ends_with("lib1.so") && names[1].ends_with("lib1000000.so"),
        "{names:?}"
    );
    assert_eq!(names[2], "");
}

#[test]
fn search_paths_and_lines_that_name_files() {
    let cache = tempfile::tempdir().unwrap();
    let expected = expected();
    let built = program("");
    let built = built.to_str().unwrap();
    for word in ["demo.elf+0x2012b0", "(/elsewhere/demo.elf+0x2012b0)"] {
        let ran = cached(&cache, &["lookup", "--search", built, "--json", word]);
        assert!(is_same(&ran.json()[0], &expected), "{ran:?}");
    }
    let path = program("demo.elf");
    let path = path.to_str().unwrap();
    for line in [format!("{path} 0x2012b0"), format!("\"{path}\" 2101936"), format!("{path}+0x2012b0")] {
        let ran = cached(&cache, &["lookup", "--open-paths", "--search", built, "--json", &line]);
        assert!(is_same(&ran.json()[0], &expected), "{line}: {ran:?}");
    }
    // A path without a program.
    let ran = cached(&cache, &["lookup", "--open-paths", "--json", "/nonexistent/app 0x10"]);
    assert_eq!(ran.json()[0]["Unknown"]["Kind"], "failed", "{ran:?}");
    assert!(ran.json()[0]["Unknown"]["Message"].as_str().unwrap().contains("/nonexistent/app"));
}

#[test]
fn tags_of_aarch64_addresses_are_ignored() {
    let fsym = Fsym::of("inline.aarch64", &[]);
    let map = foldsym_store::SymbolMap::open(&fsym.path).unwrap();
    let start = map.file().records().piece(foldsym_lookup::PieceId(0)).unwrap().start.0;
    let plain = fsym.run("lookup", &[&format!("{start:#x}")]);
    let tagged = fsym.run("lookup", &[&format!("{:#x}", start | 0xab << 56)]);
    assert!(!plain.out.starts_with("??") && plain.out == tagged.out, "{plain:?} {tagged:?}");
    // Not so on other machines.
    let fsym = Fsym::of("demo.elf", &[]);
    assert!(fsym.run("lookup", &["0xab000000002012b0"]).out.starts_with("??"));
}

/// A process that prints the address of one of its functions, and waits.
const SOURCE: &str = "\
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int here(int x) { return x * 3; }
int main(void) {
    printf(\"%p %p\\n\", (void *)&here, (void *)&qsort);
    fflush(stdout);
    return getchar() + here(1);
}
";

#[test]
#[cfg(target_os = "linux")]
fn a_running_process_is_answered_by_its_maps() {
    let folder = tempfile::tempdir().unwrap();
    let source = common::file(folder.path(), "here.c", SOURCE.as_bytes());
    let app = folder.path().join("here app");
    let built = Command::new("cc").args(["-g", "-O1", "-fPIE", "-pie", "-o"]).arg(&app).arg(&source).status();
    assert!(built.unwrap().success());
    let mut child = Command::new(&app).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let addresses: Vec<&str> = line.split_whitespace().collect();
    let maps = format!("/proc/{}/maps", child.id());
    let copy = common::file(folder.path(), "maps", &std::fs::read(&maps).unwrap());
    let cache = folder.path().join("cache");
    let run = |maps: &str, more: &[&str]| {
        let mut command = command();
        command.args(["lookup", "--json", "--maps", maps, "--cache"]).arg(&cache).args(more).args(&addresses);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let live = run(&maps, &[]);
    // A copy does not show who made it: its paths are opened only if that is requested.
    let untrusted = run(copy.to_str().unwrap(), &[]);
    let by_proc = run(&format!("/proc/..{}", copy.canonicalize().unwrap().display()), &[]);
    assert_eq!(by_proc, untrusted, "a path that merely begins with /proc");
    let trusted = run(copy.to_str().unwrap(), &["--open-paths"]);
    let search = run(copy.to_str().unwrap(), &["--search", folder.path().to_str().unwrap()]);
    // The same by the file offset of the part that has its code, as profiles say it.
    let text = std::fs::read_to_string(&maps).unwrap();
    let code = text.lines().find(|line| line.contains(" r-xp ") && line.ends_with("here app")).unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let (range, rest) = code.split_once(" r-xp ").unwrap();
    let (start, end) = range.split_once('-').unwrap();
    let offset = rest.split(' ').next().unwrap();
    let module = json!({"name": "here app", "start": number(start), "size": number(end) - number(start),
        "file_offset": number(offset)});
    let input = json!({"modules": [module], "frames": [addresses[0]]}).to_string();
    let parts = foldsym_with(&["stack", "--json", "--search", folder.path().to_str().unwrap()], &input);
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    child.wait().unwrap();
    let answers =
        |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    for answers in [answers(&live), answers(&trusted)] {
        assert_eq!(answers[0]["Symbol"][0]["FunctionName"], "here", "{live}");
        assert!(answers[0]["Symbol"][0]["FileName"].as_str().unwrap().ends_with("here.c"));
        assert_eq!(answers[0]["Symbol"][0]["Line"], 3);
        assert!(answers[0]["ModuleName"].as_str().unwrap().ends_with("/here app"));
        assert!(answers[1]["Symbol"][0]["LinkageName"].as_str().unwrap().ends_with("qsort"), "{live}");
        assert!(answers[1]["ModuleName"].as_str().unwrap().contains("libc"));
    }
    assert_eq!(parts.json()[0]["Frames"][0]["Symbol"][0]["FunctionName"], "here", "{parts:?}");
    assert_eq!(answers(&untrusted)[0]["Unknown"]["Kind"], "absent", "{untrusted}");
    let search = answers(&search);
    assert_eq!(search[0]["Symbol"][0]["FunctionName"], "here", "{search:?}");
    assert_eq!(search[1]["Unknown"]["Kind"], "absent");
}

/// In another mount namespace a path may lead to another build: the answer comes from the one that the process runs.
#[test]
#[cfg(target_os = "linux")]
fn a_process_in_another_mount_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let build = |name: &str, function: &str| {
        let source = SOURCE.replace("here", function).replace("x * 3", &format!("x * 3 + {}", name.len()));
        let source = common::file(folder.path(), &format!("{function}.c"), source.as_bytes());
        let app = folder.path().join(name);
        let built =
            Command::new("cc").args(["-g", "-O1", "-fPIE", "-pie", "-o"]).arg(&app).arg(&source).status();
        assert!(built.unwrap().success());
        app
    };
    let (app, inside) = (build("app", "outer"), build("inside", "inner"));
    let mut start = Command::new("unshare");
    start.args(["-m", "sh", "-c", "mount --bind \"$2\" \"$1\" && exec \"$1\"", "sh"]).arg(&app).arg(&inside);
    let child = start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut line = String::new();
    let child = child.ok().map(|mut child| {
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        child
    });
    let Some(mut child) = child.filter(|_| !line.is_empty()) else {
        return println!("skipped: needs the right to make a mount namespace");
    };
    let address = line.split_whitespace().next().unwrap();
    let maps = format!("/proc/{}/maps", child.id());
    let cache = tempfile::tempdir().unwrap();
    let ran = cached(&cache, &["lookup", "--json", "--maps", &maps, address]);
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    child.wait().unwrap();
    let answer = &ran.json()[0];
    assert_eq!(answer["Symbol"][0]["FunctionName"], "inner", "{ran:?}");
    assert_eq!(answer["ModuleName"], app.to_str().unwrap());
}

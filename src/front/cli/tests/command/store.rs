//! `foldsym store`: its output and its exit codes.

use crate::common;

use common::{Fsym, foldsym, keys};
use serde_json::Value;

#[test]
fn a_store_from_its_making_to_its_end() {
    let fsym = Fsym::of("demo.elf", &[]);
    let store = fsym.folder.path().join("symbols");
    let store = store.to_str().unwrap();
    let run = |args: &[&str]| foldsym(&[&["store"], args].concat());
    assert_eq!(run(&["list", store]).code, 3);

    let added = run(&["add", store, fsym.str(), "--json"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert_eq!(keys(added.out.trim()), ["Input", "BuildId", "DebugId", "Published"]);
    let line = &added.json()[0];
    assert_eq!(line["Published"], "new");
    let (id, debug_id) = (line["BuildId"].as_str().unwrap(), line["DebugId"].as_str().unwrap());
    // The build id begins with the GUID's bytes, three numbers of which are swapped.
    assert_eq!((id.len(), debug_id.len()), (40, 33));
    assert_eq!(debug_id[..2].to_lowercase(), id[6..8]);
    assert!(run(&["add", store, fsym.str()]).out.contains("existing"));
    let both = run(&["add", store, fsym.str(), "/dev/null", "--json"]);
    assert_eq!(both.code, 4);
    assert!(both.json()[1]["Error"]["Message"].as_str().unwrap().contains("/dev/null"), "{both:?}");
    assert_eq!(run(&["add", store, "/dev/null"]).code, 3);

    let listed = run(&["list", store, "--json"]);
    let listed_keys = ["BuildId", "DebugId", "Name", "Product", "Version", "Revision", "Releases"];
    let more_keys = ["Level", "Lost", "Size", "Published", "Used", "Pins", "Path"];
    assert_eq!(keys(listed.out.trim()), [&listed_keys[..], &more_keys].concat());
    assert_eq!(
        (&listed.json()[0]["BuildId"], &listed.json()[0]["Name"]),
        (&Value::from(id), &Value::from("demo.elf"))
    );
    assert!(run(&["list", store]).out.starts_with(id));

    let checked = run(&["check", store, "--json"]);
    assert_eq!(
        (checked.code, &checked.json()[0]["Files"], &checked.json()[0]["Problems"]),
        (0, &Value::from(1), &Value::Array(Vec::new()))
    );
    std::fs::write(format!("{store}/odd"), "").unwrap();
    let checked = run(&["check", store, "--json"]);
    assert_eq!(checked.code, 1);
    assert!(checked.json()[0]["Problems"][0]["Path"].as_str().unwrap().ends_with("/odd"));
    assert!(run(&["check", store]).out.contains("/odd: not a folder of a store"));

    let planned = run(&["gc", store, "--max-bytes", "1K", "--dry-run", "--json"]);
    assert_eq!(planned.json()[0]["Removed"][0], id);
    assert_eq!(run(&["gc", store, "--max-age", "30d", "--json"]).json()[0]["Kept"], 1);
    assert_eq!(run(&["gc", store, "--max-age", "soon"]).code, 2);

    assert_eq!(run(&["remove", store, "../.."]).code, 2);
    let removed = run(&["remove", store, debug_id, "--json"]);
    assert_eq!((removed.code, &removed.json()[0]["Removed"]), (0, &Value::Bool(true)));
    assert_eq!(run(&["remove", store, id]).code, 1);
    if !cfg!(feature = "remote") {
        assert!(run(&["add", "s3://bucket/x", fsym.str()]).err.contains("feature `remote`"));
    }
}

/// A command line that cannot be understood removes nothing.
#[test]
fn all_ids_are_read_before_the_first_is_removed() {
    let fsym = Fsym::of("demo.elf", &[]);
    let store = fsym.folder.path().join("symbols");
    let store = store.to_str().unwrap();
    let added = foldsym(&["store", "add", store, fsym.str(), "--json"]).json();
    let id = added[0]["BuildId"].as_str().unwrap();
    let ran = foldsym(&["store", "remove", store, id, "notanid"]);
    assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains("notanid"), "{ran:?}");
    assert!(foldsym(&["store", "list", store]).out.starts_with(id));
    let ran = foldsym(&["store", "remove", store, id, "abcdef"]);
    assert_eq!((ran.code, ran.out), (1, format!("{id} removed\nabcdef not in the store\n")));
}

#[test]
fn every_key_is_documented() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../schema/store.md");
    let text = std::fs::read_to_string(path).unwrap();
    let documented = |key: &str| text.contains(&format!("| `{key}` |"));
    let fsym = Fsym::of("demo.elf", &[]);
    let store = fsym.folder.path().join("symbols");
    let store = store.to_str().unwrap();
    let id = "0123456789abcdef";
    let tasks: [&[&str]; 7] = [
        &["add", store, fsym.str(), "/dev/null", "--json"],
        &["pin", store, "1.0", id, "--json"],
        &["unpin", store, "1.0", "--json"],
        &["list", store, "--json"],
        &["check", store, "--json"],
        &["gc", store, "--json"],
        &["remove", store, id, "--json"],
    ];
    let mut count = 0;
    for task in tasks {
        for line in foldsym(&[&["store"], task].concat()).out.lines() {
            for key in keys(line) {
                assert!(documented(&key), "{key} of {task:?}");
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn files_belong_to_releases_and_are_pinned() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("symbols");
    let store = store.to_str().unwrap();
    let run = |args: &[&str]| foldsym(&[&["store"], args].concat());
    let convert = |program: &str, more: &[&str]| {
        let program = common::program(program);
        let args = ["convert", program.to_str().unwrap(), "--store", store];
        let ran = foldsym(&[&args[..], more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    let first = ["--product", "mail", "--version", "4.1", "--revision", "8f3c2a"];
    convert("demo.elf", &first);
    convert("fold.clang-lld.set/program", &first);
    // Times of releases count in seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    convert("demo.elf", &["--product", "mail", "--version", "4.2"]);
    let listed = run(&["list", store, "--json"]).json();
    let of = |name: &str| listed.iter().find(|line| line["Name"] == name).unwrap().clone();
    let (both, old) = (of("demo.elf"), of("program"));
    assert_eq!(
        (&both["Product"], &both["Version"], &both["Revision"]),
        (&"mail".into(), &"4.2".into(), &Value::Null)
    );
    assert_eq!((both["Releases"].as_array().unwrap().len(), &old["Revision"]), (2, &"8f3c2a".into()));
    assert!(run(&["list", store]).out.contains(" program mail 4.1 8f3c2a\n"), "{listed:?}");
    let old = old["BuildId"].as_str().unwrap();
    let collect = ["gc", store, "--keep-releases", "1", "--dry-run", "--json"];
    assert_eq!(run(&collect).json()[0]["Removed"], serde_json::json!([old]));

    assert_eq!(run(&["pin", store, "lts", "--product", "mail", "--version", "4.1"]).out.lines().count(), 2);
    assert_eq!(run(&["pin", store, "lts", "--product", "chat"]).code, 1);
    assert_eq!(run(&["pin", store, "lts"]).code, 2);
    assert!(run(&["pin", store]).out.contains(&format!("lts {old}\n")));
    assert!(run(&["list", store]).out.contains("[pinned: lts]"));
    let kept = run(&collect).json();
    assert_eq!((&kept[0]["Removed"], &kept[0]["Pinned"]), (&serde_json::json!([]), &2.into()));
    assert_eq!(run(&["unpin", store, "lts", old]).code, 0);
    assert_eq!(run(&["unpin", store, "none"]).code, 1);
    let ran = run(&["gc", store, "--keep-releases", "1"]);
    assert!(ran.out.starts_with("removed 1 files"), "{ran:?}");
    assert_eq!(run(&["gc", store, "--older-than", "1d", "--json"]).json()[0]["Kept"], 1);
    let ran = foldsym(&["convert", "x", "--version", "1"]);
    assert!(ran.code == 2 && ran.err.contains("--product"), "{ran:?}");
}

/// A store's address may have a password, which no message repeats.
#[test]
fn no_message_has_the_password_of_a_store() {
    let store = "http://somebody:secret@127.0.0.1:1/all";
    for args in [
        &["store", "list", store][..],
        &["store", "gc", store],
        &["store", "remove", store, "0123456789abcdef"],
        &["lookup", "--store", store, "0123456789abcdef:0x10"],
    ] {
        let ran = foldsym(args);
        let text = format!("{}{}", ran.out, ran.err);
        assert!(!text.contains("secret") && !text.contains("somebody"), "{args:?}: {text}");
    }
}

/// The examples of `lookup --help` and the hint of the server's page.
#[test]
fn a_name_and_an_offset_find_the_build() {
    let fsym = Fsym::of("demo.elf", &[]);
    let store = fsym.folder.path().join("symbols");
    let store = store.to_str().unwrap();
    let added = foldsym(&["store", "add", store, fsym.str(), "--json"]).json();
    let id = added[0]["BuildId"].as_str().unwrap();
    let by_name = foldsym(&["lookup", "--store", store, "demo.elf+0x2012b0"]);
    let by_id = foldsym(&["lookup", "--store", store, &format!("{id}:0x2012b0")]);
    assert!(by_name.code == 0 && !by_name.out.starts_with("??"), "{by_name:?}");
    assert_eq!(by_name.out, by_id.out);
    let absent = foldsym(&["lookup", "--store", store, "libfoo.so+0x1234"]);
    assert!(format!("{}{}", absent.out, absent.err).contains("no build of this name in"), "{absent:?}");
}

/// A file with a flipped byte answers wrongly, or with an error; with the check it is said to be damaged.
/// Cargo links `deps/mail-420e38ebd8bb4667` to `mail`.
#[test]
fn a_program_is_found_by_each_of_its_names() {
    for order in [["deps/mail-1f", "mail"], ["mail", "deps/mail-1f"]] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let store = at("symbols");
        std::fs::create_dir(at("deps")).unwrap();
        for name in order {
            std::fs::copy(common::program("demo.elf"), at(name)).unwrap();
            assert_eq!(foldsym(&["convert", &at(name), "--store", &store]).code, 0);
        }
        let listed = foldsym(&["store", "list", &store, "--json"]).json();
        assert_eq!((listed.len(), &listed[0]["Name"]), (1, &Value::from("mail")), "{order:?}");
        for name in order {
            let word = format!("{}+0x2012b0", name.rsplit('/').next().unwrap());
            let ran = foldsym(&["lookup", "--store", &store, &word]);
            assert!(ran.code == 0 && !ran.out.starts_with("??") && ran.err.is_empty(), "{ran:?}");
        }
        // It goes with all its names.
        let id = listed[0]["BuildId"].as_str().unwrap();
        assert_eq!(foldsym(&["store", "remove", &store, id]).code, 0);
        let names = folder.path().join("symbols/name");
        assert!(!names.exists() || std::fs::read_dir(&names).unwrap().next().is_none());
    }
}

#[test]
fn a_damaged_file_is_refused_where_it_is_checked() {
    let fsym = Fsym::of("demo.elf", &[]);
    let mut bytes = std::fs::read(fsym.str()).unwrap();
    let last = bytes.len() - 40;
    bytes[last] ^= 0x10;
    let path = fsym.folder.path().join("bad.fsym");
    std::fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    let ran = foldsym(&["lookup", path, "0x2012b0", "--check"]);
    assert!(ran.code == 3 && ran.err.contains("bad.fsym: damaged: section"), "{ran:?}");
    assert_eq!(foldsym(&["lookup", fsym.str(), "0x2012b0", "--check"]).code, 0);
    let request = r#"{"modules": [{"name": "bad", "base": "0x0"}], "frames": ["0x2012b0"]}"#;
    let log = fsym.folder.path().join("stacks.jsonl");
    std::fs::write(&log, request).unwrap();
    let ran = foldsym(&["symbolize", "--search", path, log.to_str().unwrap(), "--json"]);
    assert!(ran.out.contains("damaged"), "{ran:?}");
}

#[test]
fn programs_are_converted_into_a_store_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("symbols");
    let report = folder.path().join("r.jsonl");
    // Two builds of one name, one program under two names, and one without a build id.
    let inputs = folder.path().join("in");
    for (name, from) in [
        ("a/app", "demo.elf"),
        ("b/app", "fold.clang-lld.set/program"),
        ("b/copy", "demo.elf"),
        ("none", "call_tables.lld"),
    ] {
        let to = inputs.join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(common::program(from), to).unwrap();
    }
    let run = |more: &[&str]| {
        let mut args = vec!["convert", inputs.to_str().unwrap(), "--store", store.to_str().unwrap()];
        args.extend(["--report", report.to_str().unwrap()]);
        args.extend(more);
        let ran = foldsym(&args);
        let lines = std::fs::read_to_string(&report).unwrap_or_default();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (ran, lines)
    };
    let (ran, lines) = run(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(lines.len(), 4);
    let converted = lines.iter().filter(|line| line.get("existing").is_none()).count();
    assert_eq!(converted, 3, "{lines:?}");
    assert!(ran.out.contains("3 converted") && ran.out.contains("1 already in the store"), "{}", ran.out);
    for line in &lines {
        let output = std::path::Path::new(line["output"].as_str().unwrap());
        let id = line["identity"].as_str().unwrap();
        assert!(output.is_file() && output.parent().unwrap().ends_with(&id[2..]), "{line}");
        let found = foldsym(&["info", output.to_str().unwrap(), "--json"]);
        let inside = found.json()[0]["BuildId"].clone();
        let is_derived = line["input"].as_str().unwrap().ends_with("none");
        assert_eq!(inside, if is_derived { Value::Null } else { Value::from(id) });
    }
    let checked = foldsym(&["store", "check", store.to_str().unwrap(), "--json"]);
    assert_eq!((checked.code, &checked.json()[0]["Files"]), (0, &Value::from(3)));

    let (ran, lines) = run(&[]);
    assert!(ran.code == 0 && lines.iter().all(|line| line["existing"] == true), "{ran:?}");
    // A file that lacks something is converted again, and keeps what it had.
    let (ran, lines) = run(&["--columns"]);
    assert!(ran.out.contains(": replaces one without columns: "), "{ran:?}");
    assert!(ran.out.contains("3 converted") && ran.out.contains("1 already in the store"), "{ran:?}");
    assert_eq!(lines.iter().filter(|line| line["lacked"] == serde_json::json!(["columns"])).count(), 3);
    let (ran, lines) = run(&["--unwind"]);
    assert!(ran.out.contains(": replaces one without rows for unwinding: "), "{ran:?}");
    let info = foldsym(&["info", lines[0]["output"].as_str().unwrap()]);
    assert!(info.out.contains("UNWIND"), "{info:?}");
    for options in [&[][..], &["--columns"], &["--unwind", "--columns"]] {
        assert!(run(options).0.out.contains("0 converted"), "{options:?}");
    }
    let (ran, lines) = run(&["--columns", "--force"]);
    assert!(ran.code == 0 && lines.iter().all(|line| line.get("existing").is_none()), "{ran:?}");
    assert_eq!(run(&["-o", "x.fsym"]).0.code, 2);
    let program = std::fs::read(common::program("demo.elf")).unwrap();
    std::fs::write(inputs.join("cut.so"), &program[..1000]).unwrap();
    let (ran, lines) = run(&[]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(lines.iter().any(|line| line.get("error").is_some()));
}

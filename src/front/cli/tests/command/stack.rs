//! `foldsym stack`: whole stacks, a line each.

use crate::common;

use common::Fsym;

#[test]
fn the_first_address_is_exact_and_the_rest_return() {
    let fsym = Fsym::of("inline.clang-dwarf5", &["--columns"]);
    // 0x201540 is the first byte of `_start`: as a return address it belongs to the code before it.
    let ran = fsym.run("stack", &["--json", "0x201540", "0x201541", "0x201540", "=0x201540"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let frames = ran.json()[0]["Frames"].as_array().unwrap().clone();
    let name = |at: usize| {
        frames[at]["Symbol"].as_array().unwrap().last().unwrap()["LinkageName"].as_str().unwrap().to_owned()
    };
    assert_eq!(frames.len(), 4);
    assert!(
        frames
            .iter()
            .zip([0x201540, 0x201541, 0x201540, 0x201540])
            .all(|(f, a)| f["Address"] == format!("{a:#x}").as_str())
    );
    assert_eq!((name(0).as_str(), name(1).as_str(), name(3).as_str()), ("_start", "_start", "_start"));
    assert_ne!(name(2), "_start");
    // Each frame is what `lookup` says of the byte.
    let before = fsym.run("lookup", &["--json", "0x20153f"]).json()[0].clone();
    assert_eq!(frames[2]["Symbol"], before["Symbol"]);
}

#[test]
fn text_is_that_of_lookup_and_an_empty_line() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let one = fsym.run("lookup", &["0x201540", "0x2011c8", "0x10"]).out;
    let ran = fsym.run("stack", &["0x201540", "0x2011c9", "?"]);
    assert_eq!((ran.code, ran.out), (0, one + "\n"));
}

#[test]
fn an_answer_has_a_most() {
    // 300 functions share one address: a frame there takes some 75,000 bytes.
    let fsym = Fsym::of("ring.clang-lld.set/program", &[]);
    let of =
        |frames: usize| fsym.run_with("stack", &["--json"], &("=0x201740 ".repeat(frames) + "\n0x201740\n"));
    let ran = of(3_000);
    assert_eq!(ran.code, 2);
    let lines = ran.json();
    assert!(lines[0]["Error"]["Message"].as_str().unwrap().contains("give fewer frames"), "{}", lines[0]);
    assert_eq!(lines[1]["Frames"][0]["CandidateCount"], 300);
    assert_eq!(of(30).code, 0);
}

#[test]
fn one_line_is_one_stack() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let ran = fsym.run_with(
        "stack",
        &["--json"],
        "0x201540 0x2011c9\nfoo\n0x201540 vptr=0x100 ? =0x2011c8\n\n0x201540 0x10 vptr=0x100\n? vptr=1\n",
    );
    assert_eq!(ran.code, 2);
    let lines = ran.json();
    let frames = |at: usize| lines[at]["Frames"].as_array().map(Vec::len);
    assert_eq!((0..6).map(frames).collect::<Vec<_>>(), [Some(2), None, Some(3), None, None, None]);
    for at in [1, 3, 4, 5] {
        assert!(lines[at]["Error"]["Message"].is_string());
    }
    // A frame of another module has no address here.
    assert_eq!(lines[2]["Frames"][1]["Address"], "?");
    assert!(lines[2]["Frames"][1]["Certainty"].is_null());
    assert_eq!(common::keys(ran.out.lines().next().unwrap()), ["Frames"]);
    let text = fsym.run_with("stack", &[], "0x201540\nfoo\n");
    assert_eq!(text.code, 2);
    // A blank line ends each answer, and one more each stack.
    assert_eq!(text.out, "_start\n/src/inline.c:121:0\n\n\n??\n??:0:0\n\n\n");
    assert!(text.err.contains("line 2: "), "{text:?}");
}

#[test]
fn a_load_bias_is_in_every_address() {
    let fsym = Fsym::of("inline.clang-pie", &[]);
    let start = fsym.run("find", &["_start"]).out.split(['\t', '-']).nth(1).unwrap().to_owned();
    let start = u64::from_str_radix(&start[2..], 16).unwrap();
    let linked = [format!("{start:#x}"), format!("{:#x}", start + 9)];
    let loaded = [format!("{:#x}", start + 0x1000), format!("{:#x}", start + 0x1009)];
    let plain = fsym.run("stack", &[&linked[0], &linked[1]]);
    let biased = fsym.run("stack", &["--base", "0x1000", &loaded[0], &loaded[1]]);
    assert!(plain.out.contains("_start"));
    assert_eq!(plain.out, biased.out);
    // Return addresses at the edges of the address space.
    let edges = fsym.run("stack", &["0", "0", "0xffffffffffffffff"]);
    assert_eq!(edges.code, 0);
}

#[test]
fn a_stack_of_a_relocatable_file_names_sections() {
    let fsym = Fsym::of("inline.clang-sections.o", &[]);
    let one = fsym.run("lookup", &[".text.chain:0", ".text.checked:7"]).out;
    let ran = fsym.run("stack", &[".text.chain:0", ".text.checked:8"]);
    assert_eq!((ran.code, ran.out), (0, one + "\n"));
    let frames =
        &fsym.run("stack", &["--json", ".text.chain:0", "=.text.checked:8", "?"]).json()[0]["Frames"];
    assert_eq!(frames[1]["Symbol"][0]["LinkageName"], "checked");
    assert_eq!(fsym.run("stack", &[".text.nothing:0"]).code, 2);
}

#[test]
fn what_is_not_in_the_module_is_an_answer() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let nothing = "??\n??:0:0\n\n";
    for (args, frames) in
        [(&["?"][..], 1), (&["?", "=0x1", "?"], 3), (&["--base", "0x5000000", "0x201540"], 1)]
    {
        let ran = fsym.run("stack", args);
        assert_eq!((ran.code, ran.out), (0, nothing.repeat(frames) + "\n"), "{args:?}");
    }
    // An exact address may carry a vtable pointer as well, below the load bias or not.
    for args in [&["=0x201540", "vptr=0x10"][..], &["--base", "0x1000", "0x202540", "vptr=0x10"]] {
        let ran = fsym.run("stack", args);
        assert!(ran.code == 0 && ran.out.starts_with("_start\n"), "{ran:?}");
    }
}

#[test]
fn a_request_has_an_id_and_a_base() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let input = concat!(
        "{\"pcs\": [\"0x2011c8\"], \"id\": {\"crash\": [1, \"a\"]}}\n",
        "{\"pcs\": [\"0x1002011c8\"], \"base\": \"0x100000000\"}\n",
        "0x2011c8\n",
        "{\"pcs\": [\"x\"], \"id\": 7}\n",
        "{\"pcs\": [\"0x2011c8\"], \"bse\": 1, \"id\": 8}\n",
        "{\"pcs\": [\"0x2011c8\"], \"base\": -1}\n",
        "{\"pcs\": [\"0x2011c8\"], \"mem\": [{\"addr\": 1, \"hex\": \"00\", \"spce\": 1}]}\n",
    );
    let ran = fsym.run_with("stack", &["--json"], input);
    assert_eq!(ran.code, 2);
    let answers = ran.json();
    assert_eq!(answers[0]["id"], serde_json::json!({"crash": [1, "a"]}));
    // The base is that of its own line.
    for answer in &answers[1..3] {
        assert_eq!(answer["Frames"][0]["Symbol"], answers[0]["Frames"][0]["Symbol"]);
        assert!(answer.get("id").is_none());
    }
    assert_eq!(answers[1]["Frames"][0]["Address"], "0x1002011c8");
    let message = |at: usize| answers[at]["Error"]["Message"].as_str().unwrap();
    assert_eq!((&answers[3]["id"], &answers[4]["id"]), (&7.into(), &8.into()));
    assert_eq!(message(4), "unknown key \"bse\", expected pcs, regs, mem, base, id");
    assert!(message(5).starts_with("\"base\": -1") && message(6).contains("unknown key \"spce\""));
}

/// An address that is in no section is not this program's: its answer does not have this program's name.
#[test]
fn frames_of_other_modules_have_no_name_of_ours() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let ran = fsym.run("stack", &["--json", "0x2011c8", "?", "0x7fff00001234", "0x2011c1"]);
    let modules: Vec<String> = ran.json()[0]["Frames"]
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| frame["ModuleName"].as_str().unwrap().to_owned())
        .collect();
    let ours = fsym.str();
    assert_eq!(modules, [ours, "", "", ours]);
}

#[test]
fn frames_have_numbers_on_request() {
    let fsym = Fsym::of("inline.clang-dwarf5", &["--columns"]);
    let ran = fsym.run("stack", &["-p", "0x2011c8", "?", "0x201541"]);
    let lines: Vec<&str> = ran.out.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines[0], "#0 step1 at /src/./inline.h:32:70");
    assert_eq!(lines[1], " (inlined by) chain at /src/inline.c:62:53");
    assert_eq!(lines[2], "#1 ?? at ??:0:0");
    assert!(lines[3].starts_with("#2 _start at "), "{}", lines[3]);
}

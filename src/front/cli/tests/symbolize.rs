//! `symbolize` over reports: text as a debugger prints it, JSON whose keys are documented, and reports that cannot be read.

mod common;

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
    assert!(ran.err.contains("no known report"), "{ran:?}");
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

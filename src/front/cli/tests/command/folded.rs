//! Stacks of a program that records which functions are on them, and what `info` and `dump` print of its folded functions.

use crate::common;

use common::Fsym;
use serde_json::{Value, json};

/// clang and lld with `--icf=all`: one stack of each kind of answer, outermost frame last. The names are those that the program itself
/// printed together with the addresses (`built/fold.clang-lld.set/stacks`).
const DIRECT: &[&str] = &["0x209939", "0x209df6", "0x20a59f", "0x20ae1b"];
const TAIL: &[&str] = &["0x209939", "0x20a657", "0x20ae1b"];
const SEVERAL: &[&str] = &["0x209939", "0x2099a3", "0x20a66d", "0x20ae1b"];
const TABLE: &[&str] = &["0x20ac42", "0x20989b", "0x20a7d6", "0x20ae1b"];

fn fsym() -> Fsym {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fold.fsym");
    let input = common::program("fold.clang-lld.set").join("program");
    let ran =
        common::foldsym(&[std::ffi::OsStr::new("convert"), input.as_os_str(), "-o".as_ref(), path.as_ref()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    Fsym { folder, path }
}

fn frames(fsym: &Fsym, stack: &[&str]) -> Vec<Value> {
    let ran = fsym.run("stack", &[&["--json"], stack].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()[0]["Frames"].as_array().unwrap().clone()
}

/// Certainty, evidence, number of candidates, and their names.
fn said(frame: &Value) -> (&str, &Value, &Value, Vec<&str>) {
    // The only candidate is the answer, which is not repeated.
    let alone = std::slice::from_ref(frame["Symbol"].as_array().unwrap().last().unwrap());
    let names = match (frame["Candidates"].as_array(), frame["CandidateCount"].as_u64()) {
        (Some(candidates), Some(2..)) => candidates.as_slice(),
        (None, Some(1)) => alone,
        (None, None) => &[],
        other => panic!("{other:?}"),
    };
    let names = names.iter().map(|candidate| candidate["LinkageName"].as_str().unwrap()).collect();
    (frame["Certainty"].as_str().unwrap(), &frame["Evidence"], &frame["CandidateCount"], names)
}

#[test]
fn json_says_who_ran_and_what_tells() {
    let fsym = fsym();
    let direct = frames(&fsym, DIRECT);
    assert_eq!(said(&direct[1]), ("exact", &json!("direct_call"), &json!(1), vec!["_ZN5K20_0C2EPK4Stepi"]));
    assert_eq!(said(&direct[0]), ("exact", &json!("merged_caller"), &json!(1), vec!["_Z4f6_1PK4Stepi"]));
    assert_eq!(said(&direct[2]), ("unique", &Value::Null, &Value::Null, vec![]));
    assert!(direct[2].get("Candidates").is_none());
    let tail = frames(&fsym, TAIL);
    assert_eq!(said(&tail[0]), ("exact", &json!("tail_call"), &json!(1), vec!["_Z4f6_1PK4Stepi"]));
    let several = frames(&fsym, SEVERAL);
    assert_eq!(
        said(&several[0]),
        ("narrowed", &json!("merged_caller"), &json!(2), vec!["_Z4f6_4PK4Stepi", "_Z4f6_0PK4Stepi"])
    );
    let table = frames(&fsym, TABLE);
    let all = ["_Z4f0_0PK4Stepi", "_Z4f0_1PK4Stepi", "_Z4f0_2PK4Stepi", "_Z4f0_3PK4Stepi", "_Z4f0_4PK4Stepi"];
    assert_eq!(said(&table[1]), ("ambiguous", &Value::Null, &json!(5), all.to_vec()));
    // The answer is that of the first candidate, with its own lines.
    for frame in [&several[0], &table[1]] {
        assert_eq!(frame["Symbol"], frame["Candidates"][0]["Symbol"]);
        assert!(frame.get("How").is_none() && frame["Candidates"][0]["How"].is_string());
    }
    for frame in [&direct[0], &direct[1], &tail[0], &several[0], &table[1]] {
        assert!(frame["Symbol"][0]["Line"].as_u64().unwrap() > 0);
    }
    let how = |frame: &Value| frame["How"].clone();
    assert_eq!((how(&direct[1]), how(&direct[0])), (json!("live_range"), json!("stmt_sequence")));
}

/// The line of text with the function itself, below the functions that were inlined into it, for each address.
fn functions(text: &str) -> Vec<&str> {
    text.trim_end().split("\n\n").map(|frames| frames.lines().rev().nth(1).unwrap()).collect()
}

#[test]
fn text_says_so_on_request() {
    let fsym = fsym();
    let with = |stack: &[&str]| fsym.run("stack", &[&["--certainty", "--no-demangle"], stack].concat()).out;
    let text = with(DIRECT);
    let said = functions(&text);
    assert_eq!(said[0], "_Z4f6_1PK4Stepi [exact: merged_caller]");
    assert_eq!(said[1], "_ZN5K20_0C2EPK4Stepi [exact: direct_call]");
    assert_eq!(said[2..], ["_Z5f33_0PK4Stepi", "run"]);
    // Inlined functions have no other label.
    assert_eq!(text.matches('[').count(), 2, "{text}");
    assert_eq!(functions(&with(TAIL))[0], "_Z4f6_1PK4Stepi [exact: tail_call]");
    assert_eq!(functions(&with(SEVERAL))[0], "_Z4f6_4PK4Stepi [narrowed 1/2: merged_caller]");
    assert_eq!(functions(&with(TABLE))[1], "_Z4f0_0PK4Stepi [ambiguous 1/5]");
    assert!(!fsym.run("stack", DIRECT).out.contains('['));
}

#[test]
fn a_frame_without_a_known_caller_is_ambiguous() {
    let fsym = fsym();
    let certainty = |stack: &[&str], at: usize| frames(&fsym, stack)[at]["Certainty"].clone();
    assert_eq!(certainty(&["0x209df6"], 0), "ambiguous");
    // A signal's frame and one of another module were not called by the frame further out.
    assert_eq!(certainty(&["0x209939", "0x209df6", "=0x20a59f"], 1), "ambiguous");
    assert_eq!(certainty(&["0x209939", "0x209df6", "?", "0x20a59f"], 1), "ambiguous");
    assert_eq!(certainty(&["?", "0x209df6", "0x20a59f"], 1), "exact");
    assert_eq!(certainty(&["0x209939", "=0x209df6", "0x20a59f"], 1), "exact");
    assert_eq!(certainty(&["0x209939", "=0x209df6", "0x20a59f"], 0), "ambiguous");
}

#[test]
fn a_load_bias_changes_nothing_but_the_addresses() {
    let fsym = fsym();
    let loaded: Vec<String> = DIRECT
        .iter()
        .map(|address| format!("{:#x}", u64::from_str_radix(&address[2..], 16).unwrap() + 0x5000_0000))
        .collect();
    let mut words = vec!["--base", "0x50000000"];
    words.extend(loaded.iter().map(String::as_str));
    let (plain, biased) = (frames(&fsym, DIRECT), frames(&fsym, &words));
    assert_eq!(plain.len(), biased.len());
    for ((plain, biased), given) in plain.iter().zip(&biased).zip(&loaded) {
        assert_eq!(biased["Address"], given.as_str());
        for key in ["Certainty", "Evidence", "CandidateCount"] {
            assert_eq!(plain[key], biased[key]);
        }
    }
}

#[test]
fn info_tells_how_functions_were_recovered() {
    let fsym = fsym();
    let info = &fsym.run("info", &["--json"]).json()[0];
    let (folded, decided) = (&info["Folded"], &info["Conversion"]["decided"]);
    for (key, of_record) in [
        ("Addresses", "folded_addresses"),
        ("Functions", "folded_functions"),
        ("NamesWithoutDie", "symbol_only"),
        ("CallsIntoFolded", "calls_into_folded"),
        ("CallsWithKey", "calls_with_key"),
        ("CallKeys", "call_keys"),
        ("TailKeys", "tail_keys"),
        ("VtableKeys", "vtable_keys"),
        ("SlotKeys", "slot_keys"),
    ] {
        // The tests of stacks check whether a slot says more than the object.
        assert!(key == "SlotKeys" || folded[key].as_u64().unwrap() > 0, "{key}: {folded}");
        assert_eq!(folded[key], decided[of_record], "{key}");
    }
    let evidence = folded["ByEvidence"].as_object().unwrap();
    assert_eq!(
        evidence.values().map(|n| n.as_u64().unwrap()).sum::<u64>(),
        folded["Functions"].as_u64().unwrap()
    );
    assert!(evidence["stmt_sequence"].as_u64() > evidence["live_range"].as_u64(), "{evidence:?}");
    let kept = evidence.iter().all(|(how, count)| decided["folded_by_evidence"][how] == *count);
    assert!(kept, "{evidence:?} and {decided}");
    let text = fsym.run("info", &[]).out;
    for (key, value) in [
        ("CallsIntoFolded", &folded["CallsIntoFolded"]),
        ("CallsWithKey", &folded["CallsWithKey"]),
        ("NamesWithoutDie", &folded["NamesWithoutDie"]),
        ("  stmt_sequence", &evidence["stmt_sequence"]),
        ("  live_range", &evidence["live_range"]),
    ] {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("  {key} ")))
            .unwrap_or_else(|| panic!("{key}: {text}"));
        assert_eq!(line.split_whitespace().last(), Some(&*value.to_string()), "{line}");
    }
}

#[test]
fn dump_lists_the_calls_of_a_member() {
    let fsym = fsym();
    let dump = |name: &str| fsym.run("dump", &["--function", name]).out;
    let member = dump("_ZN5K20_0C2EPK4Stepi");
    assert!(member.contains(" member 0 of 3, by live_range\n"), "{member}");
    assert!(member.contains("\n  called    returns to 0x20a59f, by call_site\n"), "{member}");
    // It is in folded code, and is the caller of this record; its callee ends in a call of a member.
    let line = |text: &str, begin: &str, end: &str| {
        assert!(
            text.lines().any(|line| line.starts_with(begin) && line.ends_with(end)),
            "{begin}{end}: {text}"
        );
    };
    let returns = "), returns to 0x209df6, by call_site";
    line(&member, "  calls     _Z5f11_0PK4Stepi (function ", returns);
    let callee = dump("_Z5f11_0PK4Stepi");
    line(&callee, "  called    by _ZN5K20_0C2EPK4Stepi (function ", returns);
    line(&callee, "  reaches   _Z4f6_1PK4Stepi (function ", ") by tail calls");
    assert!(dump("_Z4f6_1PK4Stepi").contains(", by stmt_sequence\n"));
    let all = fsym.run("dump", &[]).out;
    assert!(all.contains(" by tail calls\n"), "{all}");
    let info = &fsym.run("info", &["--json"]).json()[0]["Folded"];
    // Each record once for its callee, and once for its caller if that is a single function.
    let records = all.lines().filter(|line| line.starts_with("  called ")).count();
    assert_eq!(records as u64, info["CallKeys"].as_u64().unwrap());
    assert_eq!(all.matches(" by tail calls\n").count() as u64, info["TailKeys"].as_u64().unwrap());
    let objects = all.matches("  runs on   objects with vptr 0x").count();
    assert_eq!(objects as u64, info["VtableKeys"].as_u64().unwrap());
    let slots = all.matches("  is in     slot ").count();
    assert_eq!(slots as u64, info["OverriderKeys"].as_u64().unwrap());
}

/// Nothing but the order of declarations tells two methods of `Parcel` apart.
#[test]
fn dump_says_which_method_comes_first_by_a_guess() {
    let all = Fsym::of("merged_slots.lld", &[]).run("dump", &[]).out;
    assert!(all.contains("; another member may have run\n"), "{all}");
    assert!(all.contains("; another member may have run, but this one comes first by a guess\n"), "{all}");
}

/// A function that is not in a group, but may have been folded: JSON always has the reason, text if all answers are marked.
#[test]
fn a_likely_answer_has_its_reason() {
    // It has no local symbols, and its linker folds.
    let fsym = Fsym::of("alone.stripped.set/program", &[]);
    let (address, name) = ("0x201160", "other");
    let ran = fsym.run("lookup", &["--json", address]);
    let answer = &ran.json()[0];
    assert_eq!((&answer["Certainty"], &answer["Reason"]), (&json!("likely"), &json!("stripped")));
    assert_eq!((&answer["Evidence"], answer.get("CandidateCount")), (&Value::Null, None));
    assert_eq!(frames(&fsym, &[address])[0]["Reason"], "stripped");
    let line = |words: &[&str]| {
        let text = fsym.run("lookup", &[words, &[address]].concat()).out;
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(line(&["--certainty=all"]), format!("{name} [likely: stripped] [the file has symbols alone]"));
    assert_eq!((line(&["--certainty"]), line(&[])), (name.to_owned(), name.to_owned()));
    let info = &fsym.run("info", &["--json"]).json()[0];
    let functions = &info["Counts"]["Functions"];
    assert_eq!(info["Alone"], json!({"Unique": 0, "Likely": {"stripped": functions}}));
    let decided = &info["Conversion"]["decided"];
    assert_eq!((&decided["unique"], &decided["likely"]), (&json!(0), &info["Alone"]["Likely"]));
    assert!(
        fsym.run("dump", &["--function", name])
            .out
            .contains("  certainty likely where it is not folded: stripped\n")
    );
    // A certain function has none.
    let direct = self::fsym();
    let unique = frames(&direct, DIRECT)[2].clone();
    assert_eq!((&unique["Certainty"], unique.get("Reason")), (&json!("unique"), None));
}

/// Unrecorded calls that are guessed, and calls of other modules.
#[test]
fn dump_lists_guessed_and_imported_calls() {
    let fsym = Fsym::of("first_use.gcc", &[]);
    let dump = fsym.run("dump", &[]).out;
    let guessed = dump.lines().filter(|line| line.ends_with(", by the order of calls"));
    let counts = &fsym.run("info", &["--json"]).json()[0]["Folded"];
    assert_eq!(Some(guessed.count() as u64), counts["GuessedCalls"].as_u64());
    assert!(dump.contains("  called    perhaps, returns to 0x"), "{dump}");
    let fsym = Fsym::of("imports.caller", &["--imports"]);
    let dump = fsym.run("dump", &["--function", "count"]).out;
    for name in ["count_apples", "count_pears"] {
        assert!(dump.contains(&format!("  imports   {name}, returns to 0x")), "{dump}");
    }
}

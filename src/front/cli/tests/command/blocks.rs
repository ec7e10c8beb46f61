//! `foldsym lookup --blocks` and `foldsym blocks`.

use crate::common;

use common::{Fsym, foldsym};
use serde_json::{Value, json};

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_function_lists_its_blocks_and_each_address_says_which_it_is_in() {
    for set in ["clang", "sections", "split"] {
        let fsym = Fsym::of(&format!("blocks.{set}.set/program"), &[]);
        let ran = foldsym(&["blocks", fsym.str(), "dispatch", "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let [function] = &lines(&ran.out)[..] else { panic!("{ran:?}") };
        assert_eq!(function["LinkageName"], "dispatch");
        let blocks = function["Blocks"].as_array().unwrap();
        assert!(blocks.len() > 8, "{set}: {}", blocks.len());
        assert_eq!(blocks[0]["Start"], function["Start"]);
        for block in blocks {
            let start = block["Start"].as_str().unwrap();
            if block["Size"] == 0 {
                continue;
            }
            let ran = foldsym(&["lookup", fsym.str(), "--json", "--blocks", start]);
            let answer = &lines(&ran.out)[0];
            let mut expected = block.clone();
            expected["Function"] = json!("dispatch");
            assert_eq!(answer["BasicBlock"], expected, "{set}: {start}");
            assert!(foldsym(&["lookup", fsym.str(), "--json", start]).out.find("BasicBlock").is_none());
        }
        let ran = foldsym(&["blocks", fsym.str(), "dispatch"]);
        assert_eq!(ran.out.lines().count(), 1 + blocks.len(), "{}", ran.out);
        assert!(ran.out.contains("HasReturn") && ran.out.contains("CanFallThrough"), "{}", ran.out);
    }
}

#[test]
fn folded_functions_say_that_the_blocks_are_the_survivors() {
    let fsym = Fsym::of("blocks.clang.set/program", &[]);
    let listed: Vec<Value> = ["weigh", "price"]
        .iter()
        .map(|name| lines(&foldsym(&["blocks", fsym.str(), name, "--json"]).out)[0].clone())
        .collect();
    assert_eq!(listed[0]["Blocks"], listed[1]["Blocks"]);
    assert!(listed.iter().all(|function| function["Folded"] == true), "{listed:?}");
    let start = listed[0]["Start"].as_str().unwrap();
    let ran = foldsym(&["lookup", fsym.str(), "--json", "--blocks", start]);
    let answer = &lines(&ran.out)[0];
    assert_eq!((&answer["CandidateCount"], &answer["BasicBlock"]["Folded"]), (&json!(2), &json!(true)));
    let ran = foldsym(&["lookup", fsym.str(), "--blocks", start]);
    assert!(ran.out.contains("(folded): 0x"), "{}", ran.out);
}

#[test]
fn no_block_and_no_map() {
    let fsym = Fsym::of("blocks.clang.set/program", &[]);
    let ran = foldsym(&["lookup", fsym.str(), "--json", "--blocks", "0x1"]);
    assert_eq!(lines(&ran.out)[0]["BasicBlock"], Value::Null);
    assert!(foldsym(&["lookup", fsym.str(), "--blocks", "0x1"]).out.contains("no block\n"));
    let ran = foldsym(&["blocks", fsym.str(), "nobody"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("no function of the name nobody"), "{ran:?}");
    // A program that was built without a map.
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let ran = foldsym(&["lookup", fsym.str(), "--json", "--blocks", "0x1"]);
    assert_eq!((ran.code, &lines(&ran.out)[0]["BasicBlock"]), (0, &Value::Null));
    assert!(ran.err.contains("no basic blocks"), "{ran:?}");
    let ran = foldsym(&["blocks", fsym.str(), "main"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("no basic blocks"), "{ran:?}");
}

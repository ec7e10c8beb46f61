//! Folded functions in text and JSON, from a file that is made by hand: two functions and a bare name share one range, a third is not
//! folded, and a fourth has a name that must be escaped for terminals.

use crate::common;

use common::{Fsym, keys};
use foldsym_testkit::writer::{Contents, RawRow, rows_record};

fn contents() -> Contents {
    let mut rows = vec![0];
    let mut row = |line| {
        rows_record(&mut rows, &[RawRow { offset: 0, scope: 0, line: Some(line), file: 0, column: 0 }], false)
            as i64
    };
    let [alone, escape, b, a] = [1, 2, 3, 4].map(&mut row);
    let names = ["", "_Z1av", "_Z1bv", "_Z1cv", "alone", "esc\u{1b}[0m", "other_b"];
    Contents {
        max_group: 3,
        block_log2: 2,
        names: names.map(|name| name.as_bytes().to_vec()).to_vec(),
        files: vec![b"/f.cc".to_vec()],
        //   name file line edges
        origins: vec![[0, 0, 0, 0], [1, 1, 10, 0], [2, 1, 20, 0], [4, 1, 40, 0], [5, 1, 50, 0]],
        //   origin scopes name aliases flags
        functions: vec![
            [3, 0, 0, 0, 1],     // alone; its .dwo was missing
            [4, 0, 0, 0, 0],     // esc
            [2, 0, 0, 1, 0],     // b, also called other_b
            [1, 0, 0, 0, 0],     // a
            [0, 0, 1 + 3, 0, 0], // c, a name alone
        ],
        //   start body pad skip owner rows name
        pieces: vec![
            [0x1000, 16, 0, 0, 1, 0, 0],
            [0x1010, 16, 0, 0, 0, alone, 0],
            [0x1020, 16, 0, 0, 2, escape, 0],
        ],
        groups: vec![[0]],
        //   function rows how name
        members: vec![[2, b, 0, 0], [3, a, 1, 0], [4, 0, 6, 0]],
        aliases: vec![[6, 1]],
        rows,
        scopes: vec![0],
        ..Contents::default()
    }
}

fn fsym() -> Fsym {
    let folder = tempfile::tempdir().unwrap();
    let path = common::file(folder.path(), "made.fsym", &contents().file());
    Fsym { folder, path }
}

#[test]
fn text_prints_the_first_and_says_so_on_request() {
    let fsym = fsym();
    assert_eq!(fsym.run("verify", &[]).code, 0);
    assert_eq!(fsym.run("lookup", &["0x1004"]).out, "b()\n/f.cc:23:0\n\n");
    assert_eq!(fsym.run("lookup", &["0x1004", "--certainty"]).out, "b() [ambiguous 1/3]\n/f.cc:23:0\n\n");
    assert_eq!(fsym.run("lookup", &["0x1014", "--certainty"]).out, "alone\n/f.cc:41:0\n\n");
    assert_eq!(
        fsym.run("stack", &["0x1004", "--certainty", "--no-demangle"]).out,
        "_Z1bv [ambiguous 1/3]\n/f.cc:23:0\n\n\n"
    );
}

/// Text has the other members on request; if it does not show that there are several, standard error does.
#[test]
fn text_lists_the_others() {
    let fsym = fsym();
    let ran = fsym.run("lookup", &["0x1004", "--candidates"]);
    let expected = "b() [ambiguous 1/3]\n/f.cc:23:0\n (or) a()\n/f.cc:14:0\n (or) c()\n??:0:0\n\n";
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (expected, ""));
    let ran = fsym.run("stack", &["0x1004", "--candidates", "-p", "--certainty=none", "-s"]);
    assert_eq!(ran.out, "#0 b() at f.cc:23:0\n (or) a() at f.cc:14:0\n (or) c() at ??:0:0\n\n\n");
    let note = "foldsym: 2 answers are one of several functions that share their code: --certainty marks them, --candidates lists all\n";
    assert_eq!(fsym.run("lookup", &["0x1004", "0x1014", "0x1005"]).err, note);
    for quiet in
        [&["0x1014"][..], &["0x1004", "--certainty"], &["0x1004", "--certainty=none"], &["0x1004", "--json"]]
    {
        assert_eq!(fsym.run("lookup", quiet).err, "", "{quiet:?}");
    }
}

#[test]
fn json_has_every_candidate() {
    let fsym = fsym();
    let ran = fsym.run("lookup", &["--json", "0x1004"]);
    assert_eq!(
        keys(&ran.out),
        ["Address", "ModuleName", "Symbol", "Certainty", "Evidence", "CandidateCount", "Candidates"]
    );
    let answer = &ran.json()[0];
    assert_eq!(answer["Certainty"], "ambiguous");
    assert!(answer["Evidence"].is_null());
    assert_eq!(answer["CandidateCount"], 3);
    let candidates = answer["Candidates"].as_array().unwrap();
    let of = |key: &str| candidates.iter().map(|c| c[key].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("LinkageName"), ["_Z1bv", "_Z1av", "_Z1cv"]);
    assert_eq!(of("How"), ["live_range", "stmt_sequence", "symbol_only"]);
    assert_eq!(candidates[0]["Aliases"], serde_json::json!(["other_b"]));
    assert_eq!(candidates[1]["Aliases"], serde_json::json!([]));
    assert_eq!(candidates[0]["Symbol"], answer["Symbol"]);
    assert_eq!(answer["Symbol"][0]["Aliases"], serde_json::json!(["other_b"]));
    let line = |at: usize| {
        (candidates[at]["Symbol"][0]["FunctionName"].as_str(), candidates[at]["Symbol"][0]["Line"].as_u64())
    };
    assert_eq!(
        [line(0), line(1), line(2)],
        [(Some("b()"), Some(23)), (Some("a()"), Some(14)), (Some("c()"), Some(0))]
    );
    assert_eq!(candidates[2]["Symbol"].as_array().unwrap().len(), 1);
    assert_eq!(candidates[2]["Symbol"][0]["FileName"], "");
    let first = &ran.out[ran.out.find("\"Candidates\":[").unwrap() + 14..];
    assert_eq!(keys(first), ["LinkageName", "Aliases", "How", "Symbol"]);
    assert!(candidates.iter().all(|c| c["Symbol"][0]["StartAddress"] == "0x1000"));
}

#[test]
fn missing_parts_are_told() {
    let answers = fsym().run_with("lookup", &["--json"], "0x1014\n0x1004\n").json();
    assert_eq!(answers[0]["Partial"], true);
    assert!(answers[1].get("Partial").is_none());
}

#[test]
fn find_and_dump_know_the_others() {
    let fsym = fsym();
    assert_eq!(fsym.run("find", &["_Z1av"]).out, "a()\t0x1000-0x1010\t/f.cc:10\tfolded with 2\n");
    assert_eq!(
        fsym.run("find", &["--no-demangle", "other_b"]).out,
        "_Z1bv\t0x1000-0x1010\t/f.cc:20\tfolded with 2 also: other_b\n"
    );
    assert_eq!(fsym.run("find", &["--regex", "^_Z1.v$"]).out.lines().count(), 3);
    assert_eq!(fsym.run("find", &["--prefix", "esc"]).out, "esc\\u{1b}[0m\t0x1020-0x1030\t/f.cc:50\n");
    let dump = fsym.run("dump", &["--address", "0x1004"]).out;
    assert_eq!(dump.matches("function ").count(), 3, "{dump}");
    assert!(dump.contains("member 1 of 3, by stmt_sequence"), "{dump}");
    let info = &fsym.run("info", &["--json"]).json()[0];
    assert_eq!((&info["Counts"]["Groups"], &info["Counts"]["FoldedFunctions"]), (&1.into(), &3.into()));
}

#[test]
fn names_are_as_they_are_where_no_terminal_reads() {
    let fsym = fsym();
    assert_eq!(fsym.run("lookup", &["0x1020"]).out, "esc\u{1b}[0m\n/f.cc:52:0\n\n");
    let json = fsym.run("lookup", &["--json", "0x1020"]);
    assert!(json.out.contains(r"esc\u001b[0m"));
}

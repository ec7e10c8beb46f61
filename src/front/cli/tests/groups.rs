//! Folded functions in text and JSON, from a file that is made by hand: two functions and a bare name
//! share one range, a third stands alone.

mod common;

use std::borrow::Cow;

use common::{Fsym, keys};
use foldsym_convert::encode::{EncodeOptions, ImageInfo, encode};
use foldsym_convert::model::*;

/// Functions of one unit: `b` and `a` at 0x1000 with rows of their own, the name `_Z1cv` without a DIE
/// beside them, and `alone` at 0x1010.
fn program() -> Program<'static> {
    let names: Vec<Cow<'static, [u8]>> = [&b"_Z1av"[..], b"_Z1bv", b"_Z1cv", b"alone", b"other_b", b"esc\x1b[0m"].map(Cow::Borrowed).to_vec();
    let origin = |name, file, line| Origin { name: NameId(name), file, line };
    let origins = vec![
        origin(0, Some(FileId(0)), 10),
        origin(1, Some(FileId(0)), 20),
        origin(2, None, 0),
        origin(3, Some(FileId(0)), 40),
        origin(5, Some(FileId(0)), 50),
    ];
    let row = |line| Row { offset: 0, scope: 0, line, file: 0, column: 0 };
    let range = |start| RowRange { start, len: 1 };
    let unit_piece = |at, rows| UnitPiece { start: ImageAddr(at), body: 16, pad: 0, rows: range(rows) };
    let unit_function = |n: u32, how| UnitFunction { die: DieOffset(n.into()), origin: LocalOrigin(n), how, pieces: n..n + 1, scopes: 0..0 };
    let unit = Unit {
        names: names.clone(),
        files: vec![b"/f.cc".to_vec()],
        origins: [0, 1, 3, 5].map(|name| UnitOrigin { name, file: 0, line: 10 }).to_vec(),
        rows: [11, 21, 41, 51].map(row).to_vec(),
        pieces: vec![unit_piece(0x1000, 0), unit_piece(0x1000, 1), unit_piece(0x1010, 2), unit_piece(0x1020, 3)],
        functions: [How::StmtSequence, How::LiveRange, How::LiveRange, How::LiveRange].into_iter().zip(0..).map(|(how, n)| unit_function(n, how)).collect(),
        ..Unit::default()
    };
    let rows = |n| Some(Rows { unit: UnitId(0), range: range(n) });
    let source = |n| Some(Source { unit: UnitId(0), function: LocalFunc(n) });
    let function = |origin, source, how, aliases: &[NameId]| Function { origin: OriginId(origin), symbol: None, aliases: aliases.to_vec(), source, how, partial: origin == 3 };
    let member = |function, how, rows| Member { function: FuncId(function), how, rows, symbol: None };
    let piece = |start, owner, rows| Piece { start: ImageAddr(start), body: 16, pad: 0, owner, rows, skip: 0, symbol: None };
    Program {
        names,
        files: vec![b"/f.cc".to_vec()],
        origins,
        edges: Vec::new(),
        units: vec![unit],
        maps: vec![UnitMap { files: vec![FileId(0)], origins: [0, 1, 3, 4].map(OriginId).to_vec(), edges: Vec::new() }],
        functions: vec![
            function(1, source(1), How::LiveRange, &[NameId(4)]),
            function(0, source(0), How::StmtSequence, &[]),
            function(2, None, How::SymbolOnly, &[]),
            function(3, source(2), How::LiveRange, &[]),
            function(4, source(3), How::LiveRange, &[]),
        ],
        pieces: vec![
            piece(0x1000, Owner::Group(GroupId(0)), None),
            piece(0x1010, Owner::Function(FuncId(3)), rows(2)),
            piece(0x1020, Owner::Function(FuncId(4)), rows(3)),
        ],
        groups: vec![Group {
            members: vec![
                member(0, How::LiveRange, rows(1)),
                member(1, How::StmtSequence, rows(0)),
                member(2, How::SymbolOnly, None),
            ],
        }],
    }
}

fn fsym() -> Fsym {
    let image = ImageInfo { machine: 62, address_size: 8, ..ImageInfo::default() };
    let options = EncodeOptions { name_index: true, ..EncodeOptions::default() };
    let bytes = encode(&program(), &image, &options).unwrap().to_bytes();
    let folder = tempfile::tempdir().unwrap();
    let path = common::file(folder.path(), "made.fsym", &bytes);
    Fsym { folder, path }
}

#[test]
fn text_prints_the_first_and_says_so_on_request() {
    let fsym = fsym();
    assert_eq!(fsym.run("verify", &[]).code, 0);
    assert_eq!(fsym.run("lookup", &["0x1004"]).out, "b()\n/f.cc:21:0\n\n");
    assert_eq!(fsym.run("lookup", &["0x1004", "--certainty"]).out, "b() [ambiguous 1/3]\n/f.cc:21:0\n\n");
    assert_eq!(fsym.run("lookup", &["0x1014", "--certainty"]).out, "alone\n/f.cc:41:0\n\n");
    assert_eq!(fsym.run("stack", &["0x1004", "--certainty", "--no-demangle"]).out, "_Z1bv [ambiguous 1/3]\n/f.cc:21:0\n\n\n");
}

#[test]
fn json_has_every_candidate() {
    let fsym = fsym();
    let ran = fsym.run("lookup", &["--json", "0x1004"]);
    assert_eq!(keys(&ran.out), ["Address", "ModuleName", "Symbol", "Certainty", "Evidence", "CandidateCount", "Candidates"]);
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
    let line = |at: usize| (candidates[at]["Symbol"][0]["FunctionName"].as_str(), candidates[at]["Symbol"][0]["Line"].as_u64());
    assert_eq!([line(0), line(1), line(2)], [(Some("b()"), Some(21)), (Some("a()"), Some(11)), (Some("c()"), Some(0))]);
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
    assert_eq!(fsym.run("find", &["--no-demangle", "other_b"]).out, "_Z1bv\t0x1000-0x1010\t/f.cc:20\tfolded with 2 also: other_b\n");
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
    assert_eq!(fsym.run("lookup", &["0x1020"]).out, "esc\u{1b}[0m\n/f.cc:51:0\n\n");
    let json = fsym.run("lookup", &["--json", "0x1020"]);
    assert!(json.out.contains(r"esc\u001b[0m"));
}

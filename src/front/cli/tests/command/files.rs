//! `find`, `info`, `dump` and `verify` on a converted program.

use crate::common;

use common::{Fsym, foldsym, program};

#[test]
fn find_by_name_prefix_and_expression() {
    for options in [&[][..], &["--name-index"]] {
        let fsym = Fsym::of("objects.clang-o2", options);
        let find = |args: &[&str]| fsym.run("find", args);
        let line = find(&["_Z11partitionedi"]);
        assert_eq!(line.code, 0, "{line:?}");
        let fields: Vec<&str> = line.out.trim_end().split('\t').collect();
        assert_eq!((fields.len(), fields[0]), (3, "partitioned(int)"));
        assert!(fields[1].starts_with("0x") && fields[2].starts_with("/src/objects.cpp:"), "{line:?}");
        for name in ["partitioned(int)", "partitioned( int )", "int partitioned", "partitioned"] {
            assert_eq!(find(&[name]).out, line.out, "{name}");
        }
        assert_eq!(
            find(&["--no-demangle", "partitioned(int)"]).out,
            line.out.replace("partitioned(int)", "_Z11partitionedi")
        );
        assert_eq!(find(&["--prefix", "_Z11part"]).out, line.out);
        assert_eq!(find(&["--regex", "^_Z11part.*i$"]).out, line.out);
        assert_eq!(find(&["--regex", "titioned"]).out, line.out);
        let bases = find(&["--prefix", "geo::Base::"]);
        assert!(
            bases.out.lines().count() >= 3 && bases.out.lines().all(|line| line.starts_with("geo::Base::")),
            "{}",
            bases.out
        );
        for (nothing, why) in [
            (
                &["partitioned(long)"][..],
                "no function is named partitioned(long); there are: partitioned(int)",
            ),
            (&["Partition"], "no function is named Partition; there are: partitioned(int)"),
            (&["--prefix", "zzz"], "no function has a name with this prefix"),
            (&["--regex", "^partitioned$"], "no function has a name that matches"),
            (&[""], "no function is named "),
        ] {
            let ran = find(nothing);
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{nothing:?}");
            assert_eq!(ran.err, format!("foldsym: {why}\n"), "{nothing:?}");
        }
        let wrong = find(&["--regex", "("]);
        assert_eq!(wrong.code, 2);
        assert!(wrong.err.contains("unclosed group"), "{}", wrong.err);
    }
}

#[test]
fn find_takes_one_kind_of_pattern() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    for args in [&[][..], &["main", "--prefix", "m"], &["--regex", "m", "--prefix", "m"]] {
        assert_eq!(fsym.run("find", args).code, 2, "{args:?}");
    }
}

#[test]
fn a_function_in_several_parts_has_several_ranges() {
    let fsym = Fsym::of("objects.gcc-cold-dwarf5", &[]);
    let ran = fsym.run("find", &["partitioned(int)"]);
    assert_eq!(ran.out.split('\t').nth(1).unwrap().split(',').count(), 2, "{ran:?}");
}

#[test]
fn info_tells_what_is_inside() {
    let fsym = Fsym::of("inline.clang-dwarf5", &["--columns", "--name-index"]);
    let ran = fsym.run("info", &["--json"]);
    assert_eq!(ran.code, 0);
    let info = &ran.json()[0];
    let keys = common::keys(&ran.out);
    assert_eq!(
        keys,
        [
            "Version",
            "Architecture",
            "Machine",
            "AddressSize",
            "BigEndian",
            "Relocatable",
            "MachO",
            "ReadableNames",
            "BuildId",
            "ImageBase",
            "PositionIndependent",
            "Columns",
            "Size",
            "Counts",
            "Alone",
            "Folded",
            "Sections",
            "Conversion"
        ]
    );
    assert_eq!(info["Version"], 3);
    assert_eq!(info["Architecture"], "x86_64");
    assert_eq!(info["Columns"], true);
    assert_eq!(info["ReadableNames"], false);
    assert!(info["BuildId"].as_str().unwrap().len() >= 16);
    assert!(info["Counts"]["Functions"].as_u64().unwrap() >= 7);
    assert_eq!(info["Conversion"]["counts"]["units"], 1);
    assert_eq!(info["Conversion"]["tool"], concat!("foldsym ", env!("CARGO_PKG_VERSION")));
    let size = std::fs::metadata(&fsym.path).unwrap().len();
    assert_eq!(info["Size"].as_u64(), Some(size));
    let sections = info["Sections"].as_array().unwrap();
    assert!(sections.iter().map(|s| s["Size"].as_u64().unwrap()).sum::<u64>() <= size);
    assert!(sections.iter().any(|s| s["Name"] == "NAME_INDEX"));
    let text = fsym.run("info", &[]).out;
    for word in ["x86_64", "PIECES", "ROWS", "Conversion", "Functions"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let object = Fsym::of("inline.clang-sections.o", &[]).run("info", &["--json"]).json();
    assert_eq!((&object[0]["Relocatable"], &object[0]["Columns"]), (&true.into(), &false.into()));
    assert!(object[0]["Sections"].as_array().unwrap().iter().all(|s| s["Name"] != "NAME_INDEX"));
    assert!(object[0]["PositionIndependent"].is_null() && object[0]["Counts"]["Segments"] == 0, "{object:?}");
    for (name, is_independent) in
        [("inline.clang-shared-dynsym", true), ("demo.elf", false), ("macho.arm64", true)]
    {
        let info = Fsym::of(name, &[]).run("info", &["--json"]).json();
        assert_eq!(info[0]["PositionIndependent"], is_independent, "{name}");
        assert!(info[0]["Counts"]["Segments"].as_u64().unwrap() >= 2, "{name}: {}", info[0]["Counts"]);
    }
    let big = Fsym::of("inline.s390x-be", &[]).run("info", &["--json"]).json();
    assert_eq!((&big[0]["BigEndian"], &big[0]["Architecture"]), (&true.into(), &"s390x".into()));
}

#[test]
fn dump_prints_record_tree_and_rows() {
    let fsym = Fsym::of("inline.clang-dwarf5", &["--columns"]);
    let by_name = fsym.run("dump", &["--function", "chain"]);
    assert_eq!(by_name.code, 0);
    for word in [
        "FUNCTIONS[",
        "ORIGINS[",
        "PIECES[",
        "SCOPES at byte 0x",
        "ROWS at byte 0x",
        "step6 called at /src/./inline.h:16:13",
        "0x2011c0-",
    ] {
        assert!(by_name.out.contains(word), "{word} in {}", by_name.out);
    }
    let number = by_name.out.split(' ').nth(1).unwrap().to_owned();
    assert_eq!(fsym.run("dump", &["--function", &number]).out, by_name.out);
    assert_eq!(fsym.run("dump", &["--address", "0x2011c8"]).out, by_name.out);
    let all = fsym.run("dump", &[]).out;
    assert!(all.contains(&by_name.out));
    assert!(all.lines().filter(|line| line.starts_with("function ")).count() >= 7);
    assert_eq!(fsym.run("dump", &["--address", "0x10"]).code, 1);
    assert_eq!(fsym.run("dump", &["--function", "nothing"]).code, 1);
    assert_eq!(fsym.run("dump", &["--function", "99999"]).code, 2);
    assert_eq!(fsym.run("dump", &["--address", "zz"]).code, 2);
}

#[test]
fn dumped_rows_are_what_lookup_answers() {
    let fsym = Fsym::of("inline.clang-dwarf5", &["--columns"]);
    let dump = fsym.run("dump", &["--function", "chain"]).out;
    let rows: Vec<(&str, &str)> = dump
        .lines()
        .filter(|line| line.contains(" scope "))
        .map(|line| (line.split_whitespace().next().unwrap(), line.split_whitespace().last().unwrap()))
        .collect();
    assert!(rows.len() > 20);
    let input: String = rows.iter().map(|(address, _)| format!("{address}\n")).collect();
    let answers = fsym.run_with("lookup", &[], &input).out;
    for (answer, (address, place)) in answers.split("\n\n").zip(&rows) {
        let innermost = answer.lines().nth(1).unwrap();
        let innermost = innermost.strip_suffix(":0").unwrap_or(innermost);
        assert_eq!(innermost, *place, "{address}");
    }
}

#[test]
fn verify_finds_a_changed_byte() {
    let fsym = Fsym::of("inline.clang-dwarf5", &["--name-index"]);
    let ran = fsym.run("verify", &[]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains(": sound, "), "{}", ran.out);
    let bytes = std::fs::read(&fsym.path).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 50) {
        let mut bad = bytes.clone();
        bad[at] ^= 0x10;
        let path = common::file(fsym.folder.path(), "bad.fsym", &bad);
        let ran = common::foldsym(&["verify", path.to_str().unwrap()]);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "byte {at}: {ran:?}");
        let says = if at == 0 { "bad.fsym: not a .fsym file\n" } else { "bad.fsym: damaged: " };
        assert!(ran.err.contains(says), "byte {at}: {}", ran.err);
    }
}

#[test]
fn verify_against_a_program_finds_that_it_is_another() {
    let fsym = Fsym::of("demo.elf", &[]);
    let same = fsym.run("verify", &["--against", common::program("demo.elf").to_str().unwrap()]);
    assert_eq!(same.code, 0, "{same:?}");
    let asked: Vec<&str> = same.out.lines().collect();
    assert!(asked[0].ends_with(" addresses compared, 0 differ"), "{same:?}");
    assert!(asked[1].ends_with(" addresses compared with addr2line, 0 differ"), "{same:?}");
    let other = fsym.run("verify", &["--against", common::program("demo.gcc").to_str().unwrap()]);
    assert_eq!(other.code, 1, "{other:?}");
    // Each line has the file, the address, and both sides with their names.
    let file = fsym.str();
    assert!(other.out.starts_with(&format!("{file}: build id: expected ")), "{other:?}");
    let lines: Vec<&str> =
        other.out.lines().filter(|line| line.starts_with(&format!("{file}: 0x"))).collect();
    assert!(lines.len() > 5, "{other:?}");
    assert!(lines.iter().all(|line| line.contains("expected ") && line.contains(", found ")), "{other:?}");
    assert!(other.out.contains("demo::") || other.out.contains("_ZN4demo"), "{other:?}");
}

/// At `-g1` nothing shows which of two folded functions has which line sequence. The second reader answers with one of them.
#[test]
fn verify_against_leaves_out_sequences_of_several_functions() {
    for name in ["alone.lines.set/program", "alone.tied.set/program", "fold.thumb-lld.set/program"] {
        let program = common::program(name);
        let ran = Fsym::of(name, &[]).run("verify", &["--against", program.to_str().unwrap()]);
        assert!(ran.code == 0 && ran.out.contains(" not compared, which"), "{name}: {ran:?}");
    }
}

#[test]
fn verify_against_asks_with_the_files_columns() {
    let program = common::program("inline.clang-dwarf5");
    let asked = |options: &[&str]| {
        let ran =
            Fsym::of("inline.clang-dwarf5", options).run("verify", &["--against", program.to_str().unwrap()]);
        assert!(ran.code == 0 && ran.out.contains(" addresses compared, 0 differ\n"), "{ran:?}");
        ran.out.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    // Columns distinguish more rows.
    assert!(asked(&["--columns"]) > asked(&[]));
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    assert_eq!(fsym.run("verify", &["--against", "/nonexistent"]).code, 3);
    let ran = fsym.run("verify", &["--against", program.to_str().unwrap(), "--arch", "arm64"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
}

#[test]
fn dump_takes_a_section_and_an_offset() {
    let fsym = Fsym::of("inline.clang-sections.o", &[]);
    let ran = fsym.run("dump", &["--address", ".text.checked:8"]);
    assert_eq!((ran.code, &ran.out), (0, &fsym.run("dump", &["--function", "checked"]).out));
    assert_eq!(fsym.run("dump", &["--address", ".nothing:8"]).code, 2);
    assert_eq!(fsym.run("dump", &["--function", "a", "--address", "1"]).code, 2);
}

#[test]
fn the_same_program_under_another_name_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str| {
        let (copy, fsym) = (folder.path().join(name), folder.path().join(format!("{name}.fsym")));
        std::fs::copy(program("demo.elf"), &copy).unwrap();
        let ran = foldsym(&["convert", copy.to_str().unwrap(), "-o", fsym.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}");
        std::fs::read(fsym).unwrap()
    };
    assert!(named("one") == named("another-name"));
}

/// Two planted errors: a value that is the start of no sequence, which LLVM's verifier finds too, and another function's value.
#[test]
fn verify_counts_wrong_line_sequences() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(program("objects.clang-stmt-sequence")).unwrap();
    let value = 0x67u32.to_le_bytes();
    let places: Vec<usize> =
        whole.windows(4).enumerate().filter(|(_, bytes)| *bytes == value).map(|(at, _)| at).collect();
    let [place] = places[..] else { panic!("the value is at {places:x?}") };
    for (planted, code, expected) in
        [(0x67u32, 0, [48, 0, 0, 0]), (0x68, 1, [48, 1, 0, 0]), (0x7f, 1, [48, 0, 1, 2])]
    {
        let mut bytes = whole.clone();
        bytes[place..place + 4].copy_from_slice(&planted.to_le_bytes());
        let path = common::file(folder.path(), "planted", &bytes);
        let path = path.to_str().unwrap();
        let json = foldsym(&["verify", "--sequences", "--json", path]);
        assert_eq!((json.code, json.err.as_str()), (code, ""), "{planted:#x}");
        let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
        for of in [&json, &json["Units"][0], &json["Producers"][0]] {
            let counts = ["Values", "NoSequence", "OfAnother", "Shared"].map(|key| of[key].as_u64().unwrap());
            assert_eq!(counts, expected, "{planted:#x}");
        }
        assert_eq!(json["Units"][0]["Name"], "objects.cpp");
        assert!(json["Units"][0]["Producer"].as_str().unwrap().contains("clang version"), "{json}");
        let text = foldsym(&["verify", "--sequences", path]);
        let [values, none, another, shared] = expected;
        let said = format!(
            "{path}: {values} functions name a line sequence: {none} name none that exists, {another} name another \
             function's, {shared} share one"
        );
        assert_eq!((text.code, text.out.lines().last()), (code, Some(said.as_str())));
        assert_eq!(text.out.contains("first: "), code == 1, "{}", text.out);
    }
    let ran = foldsym(&["verify", "--sequences", "--json", program("golang.amd64.debug").to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.contains("\"Values\":0")), (0, true), "{ran:?}");
    assert_eq!(foldsym(&["verify", "--json", "x.fsym"]).code, 2);
}

//! Counts of samples by the function that ran, beside the survivor.

use crate::common;

use common::{Fsym, foldsym, foldsym_with};
use serde_json::Value;

fn report(name: &str) -> String {
    format!("{}/../../reports/tests/reports/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn counted(args: &[&str]) -> Value {
    let ran = foldsym(&[&["symbolize", "--by-function", "--json"], args].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()[0].clone()
}

fn of<'a>(counts: &'a Value, name: &str) -> &'a Value {
    let all = counts["Functions"].as_array().unwrap();
    all.iter().find(|one| one["FunctionName"] == name).unwrap_or_else(|| panic!("{name}: {counts}"))
}

fn number(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or_else(|| panic!("{key}: {value}"))
}

/// In `mail` the linker folded `weigh_letter` and `weigh_parcel`, which two callers reach.
#[test]
fn profiles_are_counted_by_the_function_that_ran() {
    let program = report("mail");
    for profile in ["mail.pb.gz", "mail.otlp", "mail.otlp.json"].map(report) {
        let counts = counted(&["--search", &program, &profile]);
        let stacks = foldsym(&["symbolize", "--search", &program, "--collapsed", &profile]).out;
        let sum = |way: &str| -> i64 {
            let lines = stacks.lines().filter_map(|line| line.rsplit_once(' '));
            lines
                .filter(|(stack, _)| stack.ends_with(way))
                .map(|(_, count)| count.parse::<i64>().unwrap())
                .sum()
        };
        assert_eq!(number(&counts, "Samples"), sum(""), "{profile}");
        assert_eq!(number(&counts, "BySurvivor"), sum(""), "{profile}");
        let (letter, parcel) = (of(&counts, "weigh_letter(long)"), of(&counts, "weigh_parcel(long)"));
        for (one, way) in [(letter, ";weigh_letter(long)"), (parcel, ";weigh_parcel(long)")] {
            assert_eq!((number(one, "Samples"), number(one, "Exact")), (sum(way), sum(way)), "{one}");
            assert!(sum(way) > 0);
        }
        // One of the two is the survivor, and has the samples of both there.
        let both = [number(letter, "BySurvivor"), number(parcel, "BySurvivor")];
        assert!(both.contains(&0) && both.contains(&(sum("weigh_letter(long)") + sum("weigh_parcel(long)"))));
        let keys = ["Exact", "Alone", "Likely", "Undecided", "NamedByReport", "Unknown"];
        for one in counts["Functions"].as_array().unwrap().iter().chain([&counts]) {
            assert_eq!(keys.iter().map(|key| number(one, key)).sum::<i64>(), number(one, "Samples"), "{one}");
        }
    }
    let samples =
        foldsym(&["symbolize", "--search", &program, "--by-function=samples", &report("mail.pb.gz")]);
    let mut lines = samples.out.lines();
    assert_eq!(
        lines.next().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["samples", "survivor", "exact", "alone", "likely", "undecided", "function"]
    );
    assert!(lines.next().unwrap().ends_with(" (all)"));
    assert!(samples.out.contains("weigh_parcel(long) (mail)\n"), "{}", samples.out);
    let none = foldsym(&["symbolize", "--by-function=bytes", &report("mail.pb.gz")]);
    assert!(none.code == 3 && none.err.contains("samples/count, cpu/nanoseconds"), "{none:?}");
    assert_eq!(foldsym(&["symbolize", "--by-function", "--collapsed", &report("mail.pb.gz")]).code, 2);
}

/// Stacks that a program recorded: counts are those of the innermost frames of `stack --json`, and of `lookup` for the survivor.
#[test]
fn stacks_are_counted_as_their_innermost_frames_are_answered() {
    let fsym = Fsym::of("fold.clang-lld.set/program", &[]);
    let recorded = std::fs::read_to_string(common::program("fold.clang-lld.set").join("stacks")).unwrap();
    let stacks: Vec<Vec<String>> = recorded
        .lines()
        .map(|line| line.split('|').next().unwrap().split_whitespace().skip(3).collect())
        // Further out, more are folded. The byte before a return address is in the call.
        .flat_map(|words: Vec<&str>| {
            let inner = |from: usize| match from {
                0 => words[0].to_owned(),
                _ => format!("{:#x}", u64::from_str_radix(&words[from][2..], 16).unwrap() - 1),
            };
            let rest = |from: usize| words[from + 1..].iter().map(|word| (*word).to_owned());
            (0..words.len())
                .map(|from| [inner(from)].into_iter().chain(rest(from)).collect())
                .collect::<Vec<_>>()
        })
        .collect();
    let lines: String = stacks.iter().map(|words| words.join(" ") + "\n").collect();
    let answers = fsym.run_with("stack", &["--json"], &lines).json();
    let alone: String = stacks.iter().map(|words| words[0].to_owned() + "\n").collect();
    let survivors = fsym.run_with("lookup", &["--json"], &alone).json();
    let mut expected = std::collections::BTreeMap::<String, [i64; 5]>::new();
    let name = |answer: &Value| {
        answer["Symbol"].as_array().unwrap().last().unwrap()["LinkageName"].as_str().unwrap().to_owned()
    };
    for (answer, survivor) in answers.iter().zip(&survivors) {
        let first = &answer["Frames"][0];
        let column = match first["Certainty"].as_str().unwrap() {
            "unique" | "exact" => 1,
            "likely" if first.get("CandidateCount").is_none() => 2,
            "likely" => 3,
            _ => 4,
        };
        expected.entry(name(first)).or_default()[column] += 1;
        expected.entry(name(survivor)).or_default()[0] += 1;
    }
    let module = |frames: &[String]| {
        serde_json::json!({"modules": [{"id": "aff8cb27efbbfee0810d8659fede21594064a3e0", "base": "0x200000"}], "frames": frames})
            .to_string()
            + "\n"
    };
    let body: String = stacks.iter().map(|words| module(words)).collect();
    let ran = foldsym_with(&["symbolize", "--by-function", "--json", "--search", fsym.str(), "-"], &body);
    let counts = ran.json()[0].clone();
    let found = counts["Functions"].as_array().unwrap().iter().map(|one| {
        let keys = ["BySurvivor", "Exact", "Alone", "Likely", "Undecided"];
        (one["LinkageName"].as_str().unwrap().to_owned(), keys.map(|key| number(one, key)))
    });
    assert_eq!(found.collect::<std::collections::BTreeMap<_, _>>(), expected);
    assert!(number(&counts, "Undecided") > 0 && number(&counts, "Exact") > number(&counts, "Undecided"));
    assert!(expected.values().any(|one| one[0] > one[1..].iter().sum()), "a survivor has samples of others");
}

#[test]
fn what_is_not_known_is_counted_too() {
    // No module of this report is anywhere.
    let text = "Stack trace of thread 1:\n#0  0x000055d0c0de1234 Cart_total (/opt/absent/shop + 0x1234)\n\n\
                Stack trace of thread 2:\n#0  0x000055d0c0de2000 n/a (/opt/absent/shop + 0x2000)\n\
                #1  0x000055d0c0de1234 Cart_total (/opt/absent/shop + 0x1234)\n";
    let ran = foldsym_with(&["symbolize", "--by-function", "--json", "-"], text);
    let counts = ran.json()[0].clone();
    let keys = ["Samples", "BySurvivor", "NamedByReport", "Unknown"];
    assert_eq!(keys.map(|key| number(&counts, key)), [2, 2, 1, 1], "{counts}");
    assert_eq!(keys.map(|key| number(of(&counts, "Cart_total"), key)), [1, 1, 1, 0], "{counts}");
    assert_eq!(keys.map(|key| number(of(&counts, "??"), key)), [1, 1, 0, 1], "{counts}");
}

//! Signatures of stacks: text, JSON, rules of the user, frames that are folded or unknown.

use crate::common;

use common::{Fsym, foldsym, foldsym_with};

/// One stack each: all frames are exact; two candidates at the innermost frame, whose first is `f6_4`; any of five at the second.
const DIRECT: &str = "0x209939 0x209df6 0x20a59f 0x20ae1b";
const SEVERAL: &str = "0x209939 0x2099a3 0x20a66d 0x20ae1b";
const TABLE: &str = "0x20ac42 0x20989b 0x20a7d6 0x20ae1b";

fn fsym() -> Fsym {
    Fsym::of("fold.clang-lld.set/program", &[])
}

/// The texts of the signatures of lines.
fn texts(fsym: &Fsym, args: &[&str], lines: &str) -> Vec<String> {
    let ran = fsym.run_with("stack", &[&["--signature=only"], args].concat(), lines);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

#[test]
fn a_line_for_each_stack() {
    let fsym = fsym();
    let ran = fsym.run_with("stack", &["--signature=only"], &format!("{DIRECT}\nfoo\n{DIRECT}\n0x10\n"));
    assert_eq!(ran.code, 2);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!((lines.len(), lines[1], lines[0]), (4, "?? ??", lines[2]));
    let (hash, text) = lines[0].split_once(' ').unwrap();
    assert_eq!(text, "f6_1 | in67_0 | K20_0::K20_0");
    assert!(hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    // After the frames, with the blank line that ends a stack.
    let also = fsym.run_with("stack", &["--signature"], DIRECT).out;
    let plain = fsym.run_with("stack", &[], DIRECT).out;
    assert_eq!(also, format!("{}signature {}\n\n", plain.strip_suffix('\n').unwrap(), lines[0]));
    let json = fsym.run_with("stack", &["--signature", "--json"], DIRECT).json();
    let signature = &json[0]["Signature"];
    assert_eq!(
        (&signature["Text"], &signature["Hash"], &signature["Rules"]),
        (&text.into(), &hash.into(), &"1".into())
    );
    assert_eq!(json[0]["Frames"].as_array().unwrap().len(), 4);
    let only = fsym.run_with("stack", &["--signature=only", "--json"], DIRECT).json();
    assert!(only[0].get("Frames").is_none() && only[0]["Signature"] == *signature);
}

#[test]
fn candidates_count_and_not_the_first_of_them() {
    let fsym = fsym();
    let frames = |doubt: &str| {
        let rules =
            common::file(fsym.folder.path(), "doubt.rules", format!("doubt {doubt}\nframes 9").as_bytes());
        texts(&fsym, &["--signature-rules", rules.to_str().unwrap()], &format!("{SEVERAL}\n{TABLE}\n"))
    };
    let smallest = frames("smallest");
    assert!(smallest[0].starts_with("f6_0 | "), "{smallest:?}");
    assert!(smallest[1].contains(" | f0_0 | "), "{smallest:?}");
    let pass = frames("pass");
    assert!(!pass[0].contains("f6_") && !pass[1].contains("f0_"), "{pass:?}");
}

#[test]
fn rules_of_the_user_outweigh_the_others() {
    let fsym = fsym();
    let folder = tempfile::tempdir().unwrap();
    let with = |text: &str| {
        let rules = common::file(folder.path(), "my.rules", text.as_bytes());
        fsym.run_with(
            "stack",
            &["--signature=only", "--json", "--signature-rules", rules.to_str().unwrap()],
            DIRECT,
        )
    };
    let ran = with("version 9\nskip K*::** # constructors\nframes 2\n");
    let signature = &ran.json()[0]["Signature"];
    assert_eq!((&signature["Text"], &signature["Rules"]), (&"f6_1 | in67_0".into(), &"1+9".into()));
    let wrong = with("\n# fine\nskipp a\n");
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("my.rules:3: `skipp` is no rule"), "{}", wrong.err);
    let absent = fsym.run_with("stack", &["--signature", "--signature-rules", "/nonexistent"], DIRECT);
    assert!(absent.code == 3 && absent.err.contains("/nonexistent"), "{absent:?}");
    // A file that is no text.
    let binary = common::file(folder.path(), "binary", &[0xff, 0xfe]);
    let args = ["--signature", "--signature-rules", binary.to_str().unwrap()];
    assert_eq!(fsym.run_with("stack", &args, DIRECT).code, 3);
}

#[test]
fn unknown_frames_count_by_module_and_offset() {
    let fsym = fsym();
    let line = r#"{"modules": [{"name": "libgone.so", "base": "0x7f0000"}, {"name": "program", "base": "0x200000"}], "frames": ["0x7f0010", "0x209df6"]}"#;
    let ran = foldsym_with(&["stack", "--search", fsym.str(), "--signature=only"], line);
    assert!(
        ran.out.ends_with(" libgone.so+0x10 | program+0x9df6\n") || ran.out.contains(" libgone.so+0x10 | "),
        "{ran:?}"
    );
    let ran = foldsym_with(
        &["stack", "--search", fsym.str(), "--signature=only"],
        r#"{"modules": [], "frames": [1, 2]}"#,
    );
    assert!(ran.out.ends_with(" ??\n"), "{ran:?}");
}

#[test]
fn fields_are_chosen() {
    let fsym = fsym();
    let fields = |list: &str, line: &str| {
        let ran = fsym.run_with("stack", &["--json", "--fields", list], line);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()[0]["Frames"].clone()
    };
    let few = fields("function,file,line,certainty", DIRECT);
    let symbol = r#"{"FileName":"/src/fold/f1.cpp","FunctionName":"f6_1(Step const*, int)","Line":59}"#;
    assert_eq!(few[0].to_string(), format!(r#"{{"Certainty":"exact","Symbol":[{symbol}]}}"#));
    let places = fields("module-offset,function-offset,id,qualified,candidates", SEVERAL);
    assert_eq!(places[0]["Symbol"][0]["QualifiedName"], "f6_4");
    assert_eq!(places[0]["Candidates"].as_array().unwrap().len(), 2);
    assert_eq!(places[0]["ModuleOffset"], "0x9939");
    assert!(places[0]["FunctionOffset"].as_str().is_some_and(|offset| offset.starts_with("0x")));
    assert!(
        places[0]["BuildId"] == "aff8cb27efbbfee0810d8659fede21594064a3e0"
            && places[0]["DebugId"].is_string()
    );
    // The only candidate of an exact answer is the answer.
    assert!(fields("candidates,function", DIRECT)[0].get("Candidates").is_none());
    // A module without a file.
    let line = r#"{"modules": [{"name": "libgone.so", "id": "abcdef", "base": "0x7f0000"}], "frames": ["0x7f0010"]}"#;
    let args = ["stack", "--search", fsym.str(), "--json", "--fields", "module-offset,id,unknown"];
    let ran = foldsym_with(&args, line);
    let frame = &ran.json()[0]["Frames"][0];
    assert_eq!(frame.to_string(), r#"{"BuildId":"abcdef","ModuleOffset":"0x10","Unknown":"absent"}"#);
    let wrong = fsym.run_with("stack", &["--json", "--fields", "lines"], DIRECT);
    assert!(wrong.code == 2 && wrong.err.contains("no field `lines`"), "{wrong:?}");
    assert_eq!(fsym.run_with("stack", &["--fields", "line"], DIRECT).code, 2);
}

/// Fields of a report are those of `stack`, with the names that the report has itself, and how each frame was found.
#[test]
fn fields_of_a_report_are_chosen() {
    let reports = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reports/tests/reports");
    let (perf, dump) = (format!("{reports}/perf-events.txt"), format!("{reports}/crash.dmp"));
    let crash = format!("{reports}/crash");
    let few = |list: &str, report: &str| {
        foldsym(&["symbolize", "--json", "--search", &crash, "--fields", list, report]).json()[0].clone()
    };
    let all = |report: &str| foldsym(&["symbolize", "--json", "--search", &crash, report]).json()[0].clone();
    let frames = |report: &serde_json::Value| -> Vec<serde_json::Value> {
        let threads = report["Threads"].as_array().unwrap().iter();
        threads.flat_map(|thread| thread["Frames"].as_array().unwrap().clone()).collect()
    };
    for report in [&perf, &dump] {
        let (chosen, whole) = (few("function,line,certainty,trust,unknown", report), all(report));
        assert_eq!(chosen["Modules"], whole["Modules"]);
        let (chosen, whole) = (frames(&chosen), frames(&whole));
        assert_eq!(chosen.len(), whole.len());
        for (chosen, whole) in chosen.iter().zip(&whole) {
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            for key in ["Certainty", "Source", "Trust"] {
                assert_eq!(text(&chosen[key]), text(&whole[key]), "{key}");
            }
            // The default says this of modules alone.
            let why = text(&chosen["Unknown"]);
            let of_module = !["no_address", "no_function"].contains(&&*why);
            assert!(!of_module || why == text(&whole["Unknown"]["Kind"]), "{whole}");
            let named = |answer: &serde_json::Value| -> Vec<(String, u64)> {
                let of = answer["Symbol"].as_array().cloned().unwrap_or_default();
                let of = of.iter().map(|one| (text(&one["FunctionName"]), one["Line"].as_u64().unwrap_or(0)));
                of.filter(|(name, _)| !name.is_empty()).collect()
            };
            assert_eq!(named(chosen), named(whole));
            assert!(chosen.get("Address").is_none() && chosen.get("FileName").is_none());
        }
        let has = |key: &str| whole.iter().any(|frame| frame.get(key).is_some());
        assert!(if report == &perf { has("Source") } else { has("Trust") });
    }
    let usage = foldsym(&["symbolize", "--fields", "line", &perf]);
    assert!(usage.code == 2 && usage.err.contains("--json"), "{usage:?}");
}

/// `benches` has the whole input: `stacks` writes 100,000 such lines.
#[test]
fn few_fields_take_no_more_than_the_stacks() {
    let built = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testbins/built");
    let fleet = foldsym_benches::stacks::Fleet::of(&built).unwrap();
    let mut numbers = foldsym_benches::stacks::Numbers::new(1);
    let lines: String = (0..300).map(|id| fleet.line(id, &mut numbers) + "\n").collect();
    let mut search = vec!["stack", "--json"];
    for module in &fleet.modules {
        search.extend(["--search", module.program.to_str().unwrap()]);
    }
    let ran = |more: &[&str]| {
        let ran = foldsym_with(&[&search[..], more].concat(), &lines);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran
    };
    let few = ran(&["--fields", "function,file,line,certainty"]);
    let share = |bytes: usize| bytes as f64 / lines.len() as f64;
    assert!(share(few.out.len()) <= 1.2, "{}", share(few.out.len()));
    let all = ran(&[]);
    // Of these lines 3.3 times with the candidate of each exact answer.
    assert!(share(all.out.len()) <= 3.1, "{}", share(all.out.len()));
    let known = |line: &serde_json::Value| {
        let frames = line["Frames"].as_array().unwrap().iter();
        frames.filter(|frame| !frame["Certainty"].is_null()).count()
    };
    let frames: usize = all.json().iter().map(|line| line["Frames"].as_array().unwrap().len()).sum();
    assert_eq!(all.json().iter().map(known).sum::<usize>(), frames, "each frame has a function");
}

#[test]
fn long_stacks_and_recursion_are_answered() {
    let fsym = fsym();
    // The same frame 60,000 times.
    let deep = format!("0x209939 {}0x20ae1b", "0x209df6 ".repeat(60_000));
    let once = "0x209939 0x209df6 0x20ae1b";
    let both = texts(&fsym, &[], &format!("{deep}\n{once}\n"));
    assert_eq!(both[0], both[1]);
}

#[test]
fn a_report_has_those_of_its_threads() {
    let report = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reports/tests/reports/asan.txt");
    let json = foldsym(&["symbolize", "--signature", "--json", report]).json();
    let threads = json[0]["Threads"].as_array().unwrap();
    assert!(!threads.is_empty());
    threads.iter().for_each(|thread| assert_eq!(thread["Signature"]["Hash"].as_str().unwrap().len(), 16));
    let only = foldsym(&["symbolize", "--signature=only", report]);
    let crashed = threads.iter().filter(|thread| thread["Crashed"] == true).count();
    assert_eq!(only.out.lines().count(), if crashed == 0 { threads.len() } else { crashed });
    let text = foldsym(&["symbolize", "--signature", report]).out;
    assert_eq!(text.lines().filter(|line| line.starts_with("signature ")).count(), threads.len());
}

/// A line may ask for itself; its JSON has a signature then, by the rules that ship.
#[test]
fn a_stack_of_json_asks_for_its_signature() {
    let fsym = fsym();
    let line = |more: &str| {
        let module = r#"{"id": "aff8cb27efbbfee0810d8659fede21594064a3e0", "base": "0x200000"}"#;
        let frames = r#"["0x209939", "0x209df6", "0x20a59f", "0x20ae1b"]"#;
        format!("{{\"modules\": [{module}], \"frames\": {frames}, {more}\"id\": 1}}")
    };
    let lines = [line(""), line("\"signature\": true, "), line("\"signature\": \"mine\", ")].join("\n");
    let with = |args: &[&str]| {
        foldsym_with(&[&["stack", "--search", fsym.str(), "--json"], args].concat(), &lines).json()
    };
    let (plain, all) = (with(&[]), with(&["--signature"]));
    let text = "f6_1 | in67_0 | K20_0::K20_0";
    assert!(plain[0].get("Signature").is_none() && plain[2].get("Signature").is_none());
    assert_eq!((&plain[1]["Signature"]["Text"], plain[1].get("signature")), (&text.into(), None));
    assert_eq!(plain[2]["signature"], "mine");
    for line in &all {
        assert_eq!((&line["Signature"], &line["Frames"]), (&all[0]["Signature"], &plain[0]["Frames"]));
    }
    // Of text nothing can ask but the option.
    let text = foldsym_with(&["stack", "--search", fsym.str()], &line("\"signature\": true, "));
    assert!(!text.out.contains("signature"), "{text:?}");
}

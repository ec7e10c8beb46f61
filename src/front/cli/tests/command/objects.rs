//! `stack` with registers and memory, on programs that printed them inside folded methods, with the function that ran
//! (`testbins/cases/object.cpp`). Their output does not depend on debug information.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Fsym, foldsym};
use serde_json::{Value, json};

const SETS: [&str; 2] = ["object.clang.set", "object.gcc.set"];

/// Where a program stopped.
#[derive(Clone)]
struct Stop {
    /// Linkage name of the method that ran.
    truth: String,
    /// Which kind of stop it is.
    kind: String,
    stack: Value,
}

impl Stop {
    fn changed(&self, change: impl Fn(&mut Value)) -> Stop {
        let mut stop = self.clone();
        change(&mut stop.stack);
        stop
    }

    fn vptr(&self) -> u64 {
        let hex = self.stack["mem"][0]["hex"].as_str().unwrap();
        let byte = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
        u64::from_le_bytes(std::array::from_fn(byte))
    }
}

fn stops_of(text: &str) -> Vec<Stop> {
    let stop = |line: &str| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        let [truth, kind, stack] = std::array::from_fn(|_| words.next().unwrap());
        Stop { truth, kind, stack: serde_json::from_str(&stack).unwrap() }
    };
    text.lines().map(stop).collect()
}

fn stops(set: &str) -> Vec<Stop> {
    stops_of(&std::fs::read_to_string(common::program(set).join("stops")).unwrap())
}

fn fsym(set: &str) -> Fsym {
    Fsym::of(&format!("{set}/program"), &["--locations"])
}

/// The answer for the innermost frame.
#[derive(Debug)]
struct Answer {
    certainty: String,
    evidence: String,
    candidates: Vec<String>,
    object: Value,
    /// Linkage name of the next frame out; "" without one.
    caller: String,
}

impl Answer {
    fn reason(&self) -> &str {
        self.object["Reason"].as_str().unwrap_or_default()
    }

    fn by_object(&self) -> bool {
        self.certainty == "exact" && self.evidence == "vtable"
    }
}

fn answers(fsym: &Fsym, stops: &[Stop], more: &[&str]) -> Vec<Answer> {
    let input: String = stops.iter().map(|stop| format!("{}\n", stop.stack)).collect();
    let ran = fsym.run_with("stack", &[&["--json"], more].concat(), &input);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines = ran.json();
    assert_eq!(lines.len(), stops.len());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let answer = |(line, stop): (&Value, &Stop)| {
        let frame = &line["Frames"][0];
        // The only candidate is the answer.
        let candidates = frame["Candidates"].as_array().cloned().unwrap_or_else(|| {
            assert_eq!(frame["CandidateCount"], 1, "{frame}");
            frame["Symbol"].as_array().unwrap().last().cloned().into_iter().collect()
        });
        let answer = Answer {
            certainty: text(&frame["Certainty"]),
            evidence: text(&frame["Evidence"]),
            candidates: candidates.iter().map(|candidate| text(&candidate["LinkageName"])).collect(),
            object: frame["Object"].clone(),
            caller: text(&line["Frames"][1]["Symbol"][0]["LinkageName"]),
        };
        // Whatever is given, what ran is among the answers, and nothing but the innermost frame has an object.
        assert!(answer.candidates.contains(&stop.truth), "{} {}: {answer:?}", stop.truth, stop.kind);
        let frames = line["Frames"].as_array().unwrap();
        assert!(frames[1..].iter().all(|frame| frame.get("Object").is_none()));
        answer
    };
    lines.iter().zip(stops).map(answer).collect()
}

/// Judges the answers of a program to its own stops.
fn judge(fsym: &Fsym, stops: &[Stop]) {
    let (mut by_object, mut likely) = (0, 0);
    let mut before = 0;
    for (stop, answer) in stops.iter().zip(answers(fsym, stops, &[])) {
        let what = format!("{} {}: {answer:?}", stop.truth, stop.kind);
        by_object += u32::from(answer.by_object());
        let (certainty, evidence) = match &*stop.kind {
            "own" | "inherited" | "part" => ("exact", "vtable"),
            // Its compiler knew the callee and recorded it; the memory of the object has the vtable pointer of another.
            "stale" => ("exact", "direct_call"),
            "mixed" if stop.truth.contains("Plain") => ("exact", "direct_call"),
            // Nothing proves that no other method runs on such an object.
            "both" | "mixed" if answer.certainty == "likely" => {
                likely += 1;
                assert_eq!(answer.candidates[0], stop.truth, "{what}");
                ("likely", "vtable")
            }
            "both" | "mixed" | "elsewhere" | "unknown" => ("ambiguous", ""),
            kind => panic!("{kind}"),
        };
        assert_eq!((&*answer.certainty, &*answer.evidence), (certainty, evidence), "{what}");
        let reason = match &*stop.kind {
            // If its tables leave two methods, these come first.
            "both" | "mixed" if certainty != "exact" => "leaves other functions",
            "elsewhere" => "elsewhere than that of another possible function",
            "unknown" => "the compiler may have known the callee of this call",
            _ => "",
        };
        assert!(
            answer.reason().contains(reason) && (reason.is_empty() == answer.reason().is_empty()),
            "{what}"
        );
        // Who called is known from the source.
        let caller = match (&*stop.kind, &stop.truth) {
            ("stale", _) => "5stale",
            ("unknown", _) => "13stale_unknown",
            (_, truth) if truth.contains("turn") => "4turnEP4Base",
            (_, truth) if truth.contains("reset") => "5resetEP4Base",
            (_, truth) if truth.contains("Plain") => "5plainEP5Plain",
            (_, truth) if truth.contains("Virtual") => "4stepEP7Virtual",
            (_, truth) if truth.contains("Maker4make") => "4makeEP5Maker",
            _ => "3setEP6Setter",
        };
        assert!(answer.caller.contains(caller), "{what}");
        if answer.object["Address"].is_string() {
            assert_eq!(answer.object["Address"], stop.stack["mem"][0]["addr"], "{what}");
            assert_eq!(answer.object["Vtable"], format!("{:#x}", stop.vptr()), "{what}");
        }
        if stop.kind == "stale" {
            assert_eq!(stop.vptr(), before, "the object is whole: {what}");
        }
        before = stop.vptr();
    }
    assert_eq!(by_object, 12, "all of `own`, `inherited` and `part`");
    assert!(likely > 0, "none of `both` and `mixed`");
    println!("{likely} likely");
}

#[test]
fn the_object_names_the_method() {
    for set in SETS {
        let stops = stops(set);
        assert_eq!(stops.len(), 22, "{set}");
        judge(&fsym(set), &stops);
    }
}

/// A tool of the system, or LLVM's if that is in another folder.
fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let llvm = std::env::var_os("FOLDSYM_LLVM").map(PathBuf::from);
    let folders =
        llvm.into_iter().chain([PathBuf::from("/usr/lib/llvm-22/bin")]).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[test]
fn a_program_that_is_built_and_run_here() {
    let tools = (tool("c++"), tool("ld.lld"), cfg!(all(target_arch = "x86_64", target_os = "linux")));
    let (Some(compiler), Some(linker), true) = tools else {
        println!("skipped: needs a C++ compiler of x86-64 Linux, and lld");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "a C++ compiler or lld is missing");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = built(&compiler, &linker, folder.path());
    let ran = Command::new(&program).output().unwrap();
    let stops = stops_of(std::str::from_utf8(&ran.stdout).unwrap());
    assert_eq!(stops.len(), 22);
    let path = folder.path().join("fsym");
    let (input, output) = (program.to_str().unwrap(), path.to_str().unwrap());
    assert_eq!(foldsym(&["convert", "-q", input, "-o", output, "--locations"]).code, 0);
    // Which answers are exact depends on the compiler, that they are right does not.
    for (stop, answer) in stops.iter().zip(answers(&Fsym { folder, path }, &stops, &[])) {
        if answer.certainty == "exact" {
            assert_eq!(answer.candidates, [stop.truth.as_str()], "{}: {answer:?}", stop.kind);
        }
    }
}

fn built(compiler: &Path, linker: &Path, folder: &Path) -> PathBuf {
    let source = foldsym_testbins::root().join("cases/object.cpp");
    // The compiler's own merging would leave the linker nothing; clang warns of it.
    let flags = "-std=c++20 -O2 -gdwarf-5 -fno-exceptions -fno-rtti -ffreestanding -fno-stack-protector -fno-ipa-icf \
        -ffunction-sections -fno-omit-frame-pointer -fno-pic -fcf-protection=none -c";
    let objects = [("a.o", &[][..]), ("b.o", &["-DSECOND", "-g1"])].map(|(name, more)| {
        let object = folder.join(name);
        let mut command = Command::new(compiler);
        command.args(flags.split_ascii_whitespace()).args(more).arg(&source).arg("-o").arg(&object);
        assert!(command.status().unwrap().success());
        object
    });
    let program = folder.join("program");
    let mut command = Command::new(linker);
    command.args(["--icf=all", "-z", "norelro", "-e", "start"]).args(&objects).arg("-o").arg(&program);
    assert!(command.status().unwrap().success());
    program
}

#[test]
fn what_is_missing_is_said_and_rules_nothing_out() {
    for set in SETS {
        let (fsym, stops) = (fsym(set), stops(set));
        let plain = Fsym::of(&format!("{set}/program"), &[]);
        for stop in stops.iter().filter(|stop| matches!(&*stop.kind, "own" | "inherited" | "part" | "stale"))
        {
            let address = stop.stack["mem"][0]["addr"].as_str().unwrap();
            let changed = [
                (stop.changed(|stack| stack["regs"] = json!({})), "is not given".to_owned()),
                (
                    stop.changed(|stack| drop(stack.as_object_mut().unwrap().remove("regs"))),
                    "is not given".into(),
                ),
                (
                    stop.changed(|stack| stack["mem"] = json!([])),
                    format!("8 bytes of memory at {address}, the object, are not given"),
                ),
                (stop.changed(|stack| stack["mem"][0]["addr"] = json!("0x1000")), "are not given".into()),
                (
                    stop.changed(|stack| {
                        let hex = stack["mem"][0]["hex"].as_str().unwrap()[..14].to_owned();
                        stack["mem"][0]["hex"] = json!(hex);
                    }),
                    "are not given".into(),
                ),
                (
                    stop.changed(|stack| stack["mem"][0]["hex"] = json!("00".repeat(16))),
                    "has its table at 0x0".into(),
                ),
            ];
            // The caller does not show which method runs, except where the compiler knew it.
            let expected = if stop.kind == "stale" { "exact" } else { "ambiguous" };
            for (stop, reason) in changed {
                let answer = answers(&fsym, std::slice::from_ref(&stop), &[]).remove(0);
                assert_eq!((&*answer.certainty, answer.by_object()), (expected, false), "{answer:?}");
                assert!(answer.reason().contains(&reason) || expected == "exact", "{reason}: {answer:?}");
            }
            let answer = answers(&plain, std::slice::from_ref(stop), &[]).remove(0);
            assert_eq!(answer.certainty, expected, "a file without locations");
            assert_eq!(answer.reason(), "the program does not describe where the object is at this address");
        }
    }
}

#[test]
fn an_object_is_trusted_only_behind_a_call_that_nobody_knew() {
    for set in SETS {
        let (fsym, stops) = (fsym(set), stops(set));
        for stop in &stops {
            let changed = [
                stop.changed(|stack| stack["pcs"].as_array_mut().unwrap().truncate(1)),
                stop.changed(|stack| stack["pcs"][1] = json!("?")),
                stop.changed(|stack| {
                    stack["pcs"][1] = json!(format!("={}", stack["pcs"][1].as_str().unwrap()));
                }),
                // No code of the program.
                stop.changed(|stack| stack["pcs"][1] = json!("0x10")),
            ];
            for answer in answers(&fsym, &changed, &[]) {
                assert_eq!(answer.certainty, "ambiguous", "{answer:?}");
                if stop.kind == "own" {
                    assert_eq!(answer.reason(), "the caller is not given");
                }
            }
        }
    }
}

#[test]
fn a_load_bias_is_in_every_address_of_the_running_program() {
    let bias = 0x5555_0000_0000u64;
    let number = |value: &Value| u64::from_str_radix(&value.as_str().unwrap()[2..], 16).unwrap();
    let moved = |stop: &Stop| {
        stop.changed(|stack| {
            for pc in stack["pcs"].as_array_mut().unwrap() {
                *pc = json!(format!("{:#x}", number(pc) + bias));
            }
            // The pointer to virtual functions is an address too.
            let head: String =
                (stop.vptr() + bias).to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            let hex = stack["mem"][0]["hex"].as_str().unwrap()[16..].to_owned();
            stack["mem"][0]["hex"] = json!(head + &hex);
        })
    };
    for set in SETS {
        let (fsym, stops) = (fsym(set), stops(set));
        let loaded: Vec<Stop> = stops.iter().map(moved).collect();
        let there = answers(&fsym, &loaded, &["--base", &format!("{bias:#x}")]);
        for (here, there) in answers(&fsym, &stops, &[]).iter().zip(there) {
            assert_eq!((&here.certainty, &here.candidates), (&there.certainty, &there.candidates));
        }
    }
}

#[test]
fn text_says_why_an_object_does_not_tell() {
    let (fsym, stops) = (fsym(SETS[0]), stops(SETS[0]));
    let stop = stops.iter().find(|stop| stop.kind == "elsewhere").unwrap();
    let text = |more: &[&str], stack: &Value| fsym.run_with("stack", more, &format!("{stack}\n")).out;
    let said = text(&["--certainty"], &stop.stack);
    let first = said.lines().next().unwrap();
    assert_eq!(
        first,
        "Maker::make(unsigned long) [ambiguous 1/2] [object: the object would be elsewhere than that of another \
         possible function: Setter::make(Maker*, unsigned long)]"
    );
    assert!(!text(&[], &stop.stack).contains('['));
}

#[test]
fn lines_that_do_not_parse() {
    let fsym = fsym(SETS[0]);
    let good = stops(SETS[0]).remove(0).stack;
    let bad = [
        (r#"{"pcs": ["0x10"], "regs": {"rqx": 1}}"#, "\"rqx\" is not a register of this processor"),
        (r#"{"pcs": ["0x10"], "regs": {"rdi": "x"}}"#, "rdi"),
        (r#"{"pcs": ["0x10"], "regs": {"rdi": 1, "5": 1}}"#, "given twice"),
        (r#"{"pcs": ["0x10"], "mem": [{"addr": 1, "hex": "0"}]}"#, "hex"),
        (r#"{"regs": {}}"#, "\"pcs\""),
        (r#"{"pcs": ["0x10"]"#, "EOF"),
    ];
    for (line, says) in bad {
        let ran = fsym.run_with("stack", &[], &format!("{good}\n{line}\n{good}\n"));
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("line 2: ") && ran.err.contains(says), "{}", ran.err);
        let ran = fsym.run_with("stack", &["--json"], &format!("{good}\n{line}\n{good}\n"));
        assert!(ran.json()[1]["Error"]["Message"].as_str().unwrap().contains(says), "{}", ran.out);
    }
    // A processor without a table of names, by whose numbers all goes.
    let riscv = Fsym::of("inline.riscv64-relax", &["--locations"]);
    let ran = riscv.run_with("stack", &[], "{\"pcs\": [\"0x10\"], \"regs\": {\"a0\": 1}}\n");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("line 1: ") && ran.err.contains("give DWARF's numbers"), "{}", ran.err);
    let ran = riscv.run_with("stack", &[], "{\"pcs\": [\"0x10\"], \"regs\": {\"10\": 1}}\n");
    assert_eq!(ran.code, 0);
}

#[test]
fn locations_are_kept_on_demand() {
    // `turn` and `reset` of three classes, `step` and `make` of two; of clang what returns 5, too.
    for (set, methods) in SETS.into_iter().zip([12, 10]) {
        let (with, without) = (fsym(set), Fsym::of(&format!("{set}/program"), &[]));
        let kept = |fsym: &Fsym| {
            assert_eq!(fsym.run("verify", &[]).code, 0);
            fsym.run("info", &["--json"]).json()[0]["Folded"]["ObjectPointers"].as_u64().unwrap()
        };
        assert_eq!((kept(&with), kept(&without)), (methods, 0));
        let size = |fsym: &Fsym| std::fs::metadata(&fsym.path).unwrap().len();
        assert!(size(&with) > size(&without));
    }
    let program = common::program("inline.clang-dwarf5");
    let folder = tempfile::tempdir().unwrap();
    let bytes = |more: &[&str]| {
        let out = folder.path().join("out.fsym");
        let line = ["convert", "-q", program.to_str().unwrap(), "-o", out.to_str().unwrap()];
        assert_eq!(foldsym(&[&line[..], more].concat()).code, 0);
        std::fs::read(out).unwrap()
    };
    assert_eq!(bytes(&["--locations"]), bytes(&[]), "nothing is folded, nothing is kept");
}

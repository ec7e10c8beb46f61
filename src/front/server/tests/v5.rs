//! `/symbolicate/v5` as its clients use it: compared with llvm-symbolizer's answers, and with the functions that were on recorded stacks.

mod common;

use std::io::Write;

use common::{Programs, program};
use foldsym_server::Limits;
use foldsym_testbins::compare::{self, Frame, compare};
use foldsym_testbins::expected::{Expected, path_of};
use foldsym_testbins::root;
use foldsym_testbins::stacks::Stack;
use serde_json::{Value, json};

const FOLD: &str = "fold.clang-lld.set/program";

/// The frames of an answered address, innermost first.
fn frames(frame: &Value) -> Vec<Frame> {
    let one = |from: &Value| Frame {
        name: from["function"].as_str().unwrap_or_default().to_owned(),
        file: from["file"].as_str().unwrap_or_default().to_owned(),
        line: from["line"].as_u64().unwrap_or_default() as u32,
        column: 0,
    };
    let inlines = frame["inlines"].as_array().into_iter().flatten();
    inlines.chain([frame]).map(one).collect()
}

/// What the Firefox Profiler sends: a job a library, with all its addresses as one stack.
#[test]
fn every_address_as_the_profiler_asks_for_it() {
    let programs = Programs::of(&["demo.elf"]);
    let server = programs.server(Limits::default());
    let expected = Expected::load(&path_of(&root(), "demo.elf", None)).unwrap();
    let (base, id) = (programs.base(0), programs.debug_id(0));
    let addresses: Vec<u64> = expected.runs.iter().flat_map(|run| run.start..run.end).collect();
    let stack: Vec<Value> = addresses.iter().map(|address| json!([0, address - base])).collect();
    let body = json!({"jobs": [{"memoryMap": [["demo.elf", id]], "stacks": [stack]}]}).to_string();
    let response = server.post("/symbolicate/v5", body.as_bytes());
    assert_eq!(response.status, 200);
    let result = &response.json()["results"][0];
    assert_eq!(result["found_modules"], json!({format!("demo.elf/{id}"): true}));
    assert_eq!(result.get("module_errors"), None);
    let answers = result["stacks"][0].as_array().unwrap();
    assert_eq!(answers.len(), addresses.len());
    for (at, (answer, address)) in answers.iter().zip(&addresses).enumerate() {
        assert_eq!(answer["frame"], at);
        assert_eq!(answer["module"], "demo.elf");
        assert_eq!(answer["module_offset"], format!("{:#x}", address - base));
        // The profiler wants both or neither.
        assert_eq!(answer.get("function").is_some(), answer.get("function_offset").is_some(), "{answer}");
    }
    let outcome = compare(&expected, compare::Options::default(), |address| {
        let at = addresses.binary_search(&address).unwrap();
        if answers[at].get("function").is_some() { frames(&answers[at]) } else { vec![Frame::default()] }
    });
    assert!(outcome.addresses > 1000 && outcome.mismatches.is_empty(), "{}", outcome.describe(3));
}

/// Stacks of a program that knows who was on them.
fn recorded() -> Vec<Stack> {
    let text = std::fs::read_to_string(program("fold.clang-lld.set/stacks")).unwrap();
    text.lines().filter_map(|line| Stack::parse(line).unwrap()).collect()
}

#[test]
fn callers_tell_only_where_the_request_says_that_they_are_callers() {
    let programs = Programs::of(&[FOLD]);
    let server = programs.server(Limits::default());
    let (base, id) = (programs.base(0), programs.debug_id(0));
    let recorded = recorded();
    let ask = |callers: Option<&str>, back: u64| -> Value {
        let stack = |stack: &Stack| -> Value {
            let offset = |(at, address): (usize, &u64)| {
                json!([0, address - stack.bias - base - if at > 0 { back } else { 0 }])
            };
            stack.addresses.iter().enumerate().map(offset).collect()
        };
        let stacks: Vec<Value> = recorded.iter().map(stack).collect();
        let mut body = json!({"memoryMap": [["program", id]], "stacks": stacks, "version": 5});
        if let Some(callers) = callers {
            body["callers"] = callers.into();
        }
        let response = server.post("/symbolicate/v5", body.to_string().as_bytes());
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["results"][0]["stacks"].clone()
    };
    let (mut exact, mut right) = (0, 0);
    let by_return = ask(Some("return"), 0);
    for (stack, answer) in recorded.iter().zip(by_return.as_array().unwrap()) {
        for (truth, frame) in stack.frames.iter().zip(answer.as_array().unwrap()) {
            if frame["certainty"] == "exact" {
                exact += 1;
                // Constructors have two names of one code.
                let name = frame["function"].as_str().unwrap().replace("C1E", "C2E").replace("D1E", "D2E");
                let same = name == truth.name.replace("C1E", "C2E").replace("D1E", "D2E");
                right += usize::from(same);
                assert!(same, "{name} is not {}: {frame}", truth.name);
            }
        }
    }
    assert!(exact > 100 && right == exact, "{right} of {exact}");
    // One byte before a return address is the same frame.
    let adjusted = ask(Some("adjusted"), 1);
    for (one, other) in by_return.as_array().unwrap().iter().zip(adjusted.as_array().unwrap()) {
        for (one, other) in one.as_array().unwrap().iter().zip(other.as_array().unwrap()) {
            for key in ["function", "file", "line", "inlines", "certainty", "candidate_count"] {
                assert_eq!(one.get(key), other.get(key), "{one} {other}");
            }
        }
    }
    // Without the word a folded function is one of several.
    let alone = ask(None, 1);
    let frames = || alone.as_array().unwrap().iter().flat_map(|stack| stack.as_array().unwrap());
    assert!(frames().all(|frame| frame["certainty"] != "exact"));
    assert!(
        frames()
            .any(|frame| frame["candidate_count"].as_u64() > Some(1) && frame["candidates"][1].is_object())
    );
}

#[test]
fn one_job_modules_that_are_absent_and_frames_without_a_module() {
    let programs = Programs::of(&["demo.elf"]);
    let server = programs.server(Limits::default());
    let id = programs.debug_id(0);
    let gone = "030201000504070608090A0B0C0D0E0F0";
    let body = json!({
        "memoryMap": [["demo.elf", id], ["gone.so", gone], ["font", ""], ["unasked", gone]],
        "stacks": [[[1, 4096], [-1, 17], [2, 1], [0, -1]], []], "version": 5, "unknown": {"a": [1]},
    });
    let response = server.post("/symbolicate/v5", body.to_string().as_bytes());
    assert_eq!(response.header("content-type"), Some("application/json"));
    let result = response.json()["results"][0].clone();
    assert_eq!(
        result["stacks"],
        json!([[
        {"frame": 0, "module": "gone.so", "module_offset": "0x1000"},
        {"frame": 1, "module": "<unknown>", "module_offset": "0x11"},
        {"frame": 2, "module": "font", "module_offset": "0x1"},
        {"frame": 3, "module": "demo.elf", "module_offset": "-0x1"},
    ], []])
    );
    let key = format!("gone.so/{gone}");
    assert_eq!(
        result["found_modules"],
        json!({
            format!("demo.elf/{id}"): null, key.as_str(): false, "font/": false, format!("unasked/{gone}"): null,
        })
    );
    assert_eq!(result["module_errors"][&key][0]["name"], "absent");
    assert!(result["module_errors"][&key][0]["message"].as_str().unwrap().contains(gone));
}

#[test]
fn what_is_no_request_is_told_so() {
    let programs = Programs::of(&[]);
    let server = programs.server(Limits::default());
    for (body, says) in [
        ("", "EOF"),
        ("[]", "no symbolication request"),
        ("{}", "job 0 is invalid: no memoryMap"),
        (r#"{"jobs": 1}"#, "no symbolication request"),
        (r#"{"jobs": [{"memoryMap": []}]}"#, "no stacks"),
        (r#"{"memoryMap": [], "stacks": [[[0, 1]]]}"#, "stack 0 frame 0"),
        (r#"{"memoryMap": [], "stacks": [[[-2, 1]]]}"#, "stack 0 frame 0"),
        (r#"{"memoryMap": [["a", "0"]], "stacks": [[[0, -2]]]}"#, "stack 0 frame 0"),
        (r#"{"memoryMap": [["a", "0"]], "stacks": [[[0, 1, 2]]]}"#, "no symbolication request"),
        (r#"{"memoryMap": [["a", "../x"]], "stacks": []}"#, "module index 0 has an invalid debug_id"),
        (r#"{"memoryMap": [["a"]], "stacks": []}"#, "no symbolication request"),
        (r#"{"memoryMap": [], "stacks": [], "callers": "x"}"#, "no symbolication request"),
    ] {
        let response = server.post("/symbolicate/v5", body.as_bytes());
        assert_eq!(response.status, 400, "{body}");
        let json = response.json();
        // samply's key, and that of Mozilla's server.
        assert_eq!(json["error"], json["title"]);
        assert!(json["error"].as_str().unwrap().contains(says), "{body}: {json}");
    }
    let long = format!(r#"{{"memoryMap": [["{}", "0"]], "stacks": []}}"#, "a".repeat(2000));
    assert_eq!(server.post("/symbolicate/v5", long.as_bytes()).status, 400);
    assert_eq!(server.get("/symbolicate/v5").status, 405);
}

/// A page may read an answer only if that names the page: also where it says why there is none.
#[test]
fn refusals_name_the_page_that_may_read_them() {
    let programs = Programs::of(&[]);
    let mut limits = Limits::default();
    (limits.requests, limits.body) = (1, 100);
    limits.time = std::time::Duration::from_millis(500);
    let server = programs.server(limits);
    let profiler = "https://profiler.firefox.com";
    let asked = |more: &str, body: &[u8]| {
        server.ask(&format!("POST /symbolicate/v5 HTTP/1.1\r\nOrigin: {profiler}{more}"), body)
    };
    let stranger = asked("\r\nHost: evil.example", b"{\"jobs\":[]}");
    let large = asked("", &[b' '; 101]);
    // One that never sends its body takes the only place, until its time is over.
    let mut slow = server.connect();
    let head = format!("POST /symbolicate/v5 HTTP/1.1\r\nHost: localhost\r\nOrigin: {profiler}\r\n");
    slow.write_all(format!("{head}Content-Length: 9\r\n\r\n").as_bytes()).unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let busy = loop {
        let answer = asked("", b"{\"jobs\":[]}");
        if answer.status == 503 || std::time::Instant::now() > end {
            break answer;
        }
    };
    let late = common::read(&mut slow);
    for (refused, status) in [(stranger, 421), (large, 413), (busy, 503), (late, 408)] {
        assert_eq!(refused.status, status, "{refused:?}");
        assert_eq!(refused.header("access-control-allow-origin"), Some(profiler), "{refused:?}");
        assert_eq!(refused.header("x-content-type-options"), Some("nosniff"), "{refused:?}");
    }
}

#[test]
fn pages_of_the_profiler_may_ask_and_others_may_not() {
    let programs = Programs::of(&[]);
    let server = programs.server(Limits::default());
    // Firefox asks for the header that the profiler sets. Chromium knows that a page cannot set it.
    let preflight = |origin: &str| {
        let more = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: user-agent";
        let private = "Access-Control-Request-Private-Network: true";
        server
            .ask(&format!("OPTIONS /symbolicate/v5 HTTP/1.1\r\nOrigin: {origin}\r\n{more}\r\n{private}"), b"")
    };
    let profiler = "https://profiler.firefox.com";
    let allowed = preflight(profiler);
    assert_eq!(allowed.status, 200, "{allowed:?}");
    assert_eq!(allowed.header("access-control-allow-origin"), Some(profiler));
    assert_eq!(allowed.header("access-control-allow-methods"), Some("POST"));
    assert_eq!(allowed.header("access-control-allow-headers"), Some("user-agent"));
    assert_eq!(allowed.header("access-control-allow-private-network"), Some("true"));
    assert_eq!(preflight("https://example.com").header("access-control-allow-origin"), None);
    let body = br#"{"jobs": []}"#;
    let asked = server.ask(&format!("POST /symbolicate/v5 HTTP/1.1\r\nOrigin: {profiler}"), body);
    assert_eq!(asked.header("access-control-allow-origin"), Some(profiler));
    assert_eq!(asked.json(), json!({"results": []}));
    // What the profiler asks when a function is opened: a page reads why there is nothing only with these headers.
    for path in ["/source/v1", "/asm/v1"] {
        let none = server.ask(&format!("POST {path} HTTP/1.1\r\nOrigin: {profiler}"), b"{}");
        assert_eq!((none.status, none.header("access-control-allow-origin")), (404, Some(profiler)));
        assert!(none.json()["error"].as_str().unwrap().contains("neither source text"), "{none:?}");
    }
    let other = server.ask(&format!("POST /symbolicate HTTP/1.1\r\nOrigin: {profiler}"), body);
    assert_eq!(other.header("access-control-allow-origin"), None);
}

//! Signatures: of stacks that ask, of all stacks of a request, and by the server's rules.

mod common;

use std::sync::Arc;

use common::{Programs, Server};
use foldsym_server::{Config, Limits};
use foldsym_store::Store;
use foldsym_symbolize::{GivenStack, Requests, Rules, Signing, Stack};
use serde_json::{Value, json};

const FRAMES: [&str; 4] = ["0x20129b", "0x201fbd", "0x201e8d", "0x2018f9"];

fn line(programs: &Programs, extra: (&str, Value)) -> String {
    let module = json!({"id": programs.id(0).to_string(), "name": "demo.elf", "base": "0x200000"});
    let mut line = json!({"id": 7, "modules": [module], "frames": FRAMES});
    line[extra.0] = extra.1;
    line.to_string()
}

/// What the engine says.
fn expected(programs: &Programs, rules: Rules) -> Value {
    let text = line(programs, ("tag", json!(1)));
    let request = Requests::default().parse(&GivenStack::parse(text.as_bytes()).unwrap(), None).unwrap();
    let mut out = Vec::new();
    let stack = Stack::new(&request.modules, request.frames);
    programs.symbolizer().worker().write_signed_json(&stack, &mut Signing::new(rules), &mut out);
    let answer: Value = serde_json::from_slice(&out).unwrap();
    assert!(answer["Signature"]["Text"].as_str().unwrap().starts_with("demo::"), "{answer}");
    answer
}

#[test]
fn a_stack_asks_for_its_signature() {
    let programs = Programs::of(&["demo.elf"]);
    let server = programs.server(Limits::default());
    let expected = expected(&programs, Rules::shipped());
    let asks = line(&programs, ("signature", json!(true)));
    let body =
        [asks, line(&programs, ("signature", json!(false))), line(&programs, ("signature", json!("mine")))];
    let answer = server.post("/symbolicate", body.join("\n").as_bytes());
    assert_eq!(answer.status, 200);
    let answers: Vec<Value> = String::from_utf8(answer.body)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&answers[0]["Frames"], &answers[0]["Signature"]),
        (&expected["Frames"], &expected["Signature"])
    );
    // Another value is of the caller, as every key that is not known.
    assert_eq!(answers[0].get("signature"), None);
    for (other, echo) in answers[1..].iter().zip([None, Some(&json!("mine"))]) {
        assert_eq!((other.get("Signature"), other.get("signature")), (None, echo));
        assert_eq!(other["Frames"], expected["Frames"]);
    }
}

#[test]
fn all_stacks_of_a_request_have_signatures_by_the_rules_of_the_server() {
    let programs = Programs::of(&["demo.elf"]);
    let rules = || Rules::shipped().with("r", "frames 1\nversion mine").unwrap();
    let mut config = Config::new(programs.symbolizer());
    config.stores.push(Store::Local(programs.store.clone()));
    config.rules = Arc::new(rules());
    let server = Server::start(config);
    let expected = expected(&programs, rules());
    assert_eq!(expected["Signature"]["Rules"], "1+mine");
    let body = line(&programs, ("tag", json!(1)));
    let answer = server.post("/symbolicate?signature", body.as_bytes()).json();
    assert_eq!(answer["Signature"], expected["Signature"]);
    assert_eq!(server.post("/symbolicate", body.as_bytes()).json().get("Signature"), None);
    // A report has them by thread; the names that it has itself count where no file is known.
    let base = programs.base(0);
    let offsets = FRAMES.map(|at| json!([0, u64::from_str_radix(&at[2..], 16).unwrap() - base]));
    let map = json!([["demo.elf", programs.debug_id(0)]]);
    let report = json!({"memoryMap": map, "stacks": [offsets, offsets], "version": 5}).to_string();
    let answer = server.post("/symbolicate?signature=1", report.as_bytes()).json();
    for thread in answer["Threads"].as_array().unwrap() {
        assert_eq!(thread["Signature"]["Rules"], "1+mine", "{thread}");
        assert!(thread["Signature"]["Text"].as_str().unwrap().starts_with("demo::"), "{thread}");
    }
    let systemd = "Stack trace of thread 4711:\n#0  0x000055d0c0de1234 raise (/usr/bin/shop + 0x1234)\n\
                   #1  0x000055d0c0de1300 Cart_total (/usr/bin/shop + 0x1300)\n";
    let answer = server.post("/symbolicate?signature", systemd.as_bytes()).json();
    assert_eq!(answer["Threads"][0]["Signature"]["Text"], "Cart_total", "{answer}");
    for query in ["signatures", "signature=2", "symbolized"] {
        assert_eq!(server.post(&format!("/symbolicate?{query}"), body.as_bytes()).status, 400, "{query}");
    }
}

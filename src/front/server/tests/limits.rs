//! The other endpoints, what the server refuses, and how it ends.

mod common;

use std::io::Write;
use std::time::Duration;

use common::{Programs, program, read};
use foldsym_server::Limits;
use foldsym_symbolize::{GivenStack, Requests, Stack};
use foldsym_testbins::stacks::Stack as Recorded;
use serde_json::{Value, json};

/// Lines of stacks of the demo program.
fn lines(programs: &Programs) -> String {
    let module = json!({"id": programs.id(0).to_string(), "name": "demo.elf", "base": "0x200000"});
    let frames = ["0x20129b", "0x201fbd", "0x201e8d", "0x2018f9"];
    let line = json!({"id": 7, "tag": "x", "modules": [module], "frames": frames}).to_string();
    format!("{line}\n{{\"frames\": 1}}\n\n{{\n{line}")
}

#[test]
fn json_lines_are_answered_as_the_engine_answers_them() {
    let programs = Programs::of(&["demo.elf"]);
    let server = programs.server(Limits::default());
    let body = lines(&programs);
    let response = server.post("/symbolicate", body.as_bytes());
    assert_eq!(response.status, 200);
    let text = String::from_utf8(response.body).unwrap();
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = GivenStack::parse(body.lines().next().unwrap().as_bytes()).unwrap();
    let request = Requests::default().parse(&first, None).unwrap();
    let first: Value = serde_json::from_str(body.lines().next().unwrap()).unwrap();
    let mut expected = Vec::new();
    let symbolizer = programs.symbolizer();
    symbolizer.worker().write_json(&Stack::new(&request.modules, request.frames), &mut expected);
    let mut expected: Value = serde_json::from_slice(&expected).unwrap();
    (expected["id"], expected["tag"]) = (7.into(), "x".into());
    assert!(expected["Frames"][1]["Symbol"][0]["FunctionName"].as_str().unwrap().contains("demo"));
    // A line that is not a stack has an error, and the lines after it have their answers.
    assert_eq!((answers.len(), &answers[0], &answers[3]), (4, &expected, &expected));
    assert!(answers[1]["Error"]["Message"].as_str().unwrap().contains("modules"));
    assert!(answers[2]["Error"]["Message"].is_string());
    // One object over many lines.
    let pretty = serde_json::to_string_pretty(&first).unwrap();
    assert_eq!(server.post("/symbolicate", pretty.as_bytes()).json(), expected);
    for other in ["", "hello", "{}", "{\"a\": 1}", "{"] {
        assert_eq!(server.post("/symbolicate", other.as_bytes()).status, 400, "{other}");
    }
}

/// What is repeated is copied, not read: a tree of its values would take a hundred times its bytes, and have a depth.
#[test]
fn keys_that_are_not_known_are_repeated_as_they_are() {
    let programs = Programs::of(&[]);
    let server = programs.server(Limits::default());
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let body = format!(
        "{{\"modules\":[],\n \"frames\": [], \"z\": {{\"b\": 1.50, \"a\": \"x y\"}}, \"deep\": {deep}}}"
    );
    let answer = server.post("/symbolicate", body.as_bytes());
    assert_eq!(answer.status, 200);
    let expected = format!("{{\"Frames\":[],\"deep\":{deep},\"z\":{{\"b\":1.50,\"a\":\"x y\"}}}}\n");
    assert_eq!(String::from_utf8(answer.body).unwrap(), expected);
    // Before it is known what a body is, nothing of it is read either.
    let other = format!("{{\"x\": {deep}}}");
    assert_eq!(server.post("/symbolicate", other.as_bytes()).status, 400);
}

/// A log of AddressSanitizer, as it is.
#[test]
fn a_report_of_another_program_is_answered_as_far_as_it_goes() {
    let programs = Programs::of(&[]);
    let server = programs.server(Limits::default());
    let log =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tests/reports/asan-segv.txt");
    let answer = server.post("/symbolicate", &std::fs::read(log).unwrap()).json();
    assert_eq!(answer["Format"], "sanitizer");
    let frame = &answer["Threads"][0]["Frames"][0];
    assert_eq!(frame["Unknown"]["Kind"], "absent", "{answer}");
    assert!(
        frame["Unknown"]["Message"].as_str().unwrap().contains("7e9aa3f125c70bafea46bd2fc67d4ac3f3926340")
    );
    let schema = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../schema");
    let text =
        ["serve.md", "answers.md"].map(|name| std::fs::read_to_string(schema.join(name)).unwrap()).concat();
    let mut all = Vec::new();
    keys(&answer, &mut all);
    for key in all {
        assert!(text.contains(&format!("{key}`")), "{key}");
    }
}

#[test]
fn files_go_out_by_their_build_id_alone() {
    let programs = Programs::of(&["demo.elf"]);
    let server = programs.server(Limits::default());
    let id = programs.id(0).to_string();
    let response = server.get(&format!("/buildid/{id}/fsym"));
    assert_eq!((response.status, &response.body[..]), (200, programs.maps[0].bytes()));
    let etag = response.header("etag").unwrap().to_owned();
    let again = format!("GET /buildid/{id}/fsym HTTP/1.1\r\nIf-None-Match: {etag}");
    let again = server.ask(&again, b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(server.get("/buildid/0123456789abcdef/fsym").status, 404);
    for path in [
        "/buildid/..%2f..%2fformat/fsym",
        "/buildid/xyz/fsym",
        "/buildid/%00/fsym",
        "/buildid/%ff/fsym",
        "/buildid//fsym",
    ] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
    for path in ["/buildid/../../format", "/symbols", "/buildid/ab/cd/fsym"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(
        metrics.contains("foldsym_requests_total{route=\"/buildid/{id}/fsym\",status=\"200\"} 1"),
        "{metrics}"
    );
    // What is no route has no label of its own.
    assert!(metrics.contains("route=\"none\"") && !metrics.contains("symbols"), "{metrics}");
    // Converted with more, it is another file.
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = foldsym_convert::Options::default().with(|options| {
        options.threads = 1;
        options.columns = true;
    });
    foldsym_convert::convert(&program("demo.elf"), file.path(), &options, &foldsym_convert::NoProgress)
        .unwrap();
    let mut info = foldsym_store::EntryInfo::default();
    info.replace = true;
    programs.store.add(file.path(), &info).unwrap();
    let replaced = server.ask(&format!("GET /buildid/{id}/fsym HTTP/1.1\r\nIf-None-Match: {etag}"), b"");
    assert!(replaced.status == 200 && replaced.header("etag") != Some(etag.as_str()), "{}", replaced.head);
    // A list of files does without a report that cannot be read.
    let report = programs.store.file_path(&programs.id(0)).with_extension("json");
    assert!(report.is_file());
    std::fs::remove_file(&report).unwrap();
    std::fs::create_dir(&report).unwrap();
    let listed = server.get("/store").json();
    assert_eq!((&listed["Total"], &listed["Files"][0]["BuildId"]), (&1.into(), &id.as_str().into()));
}

/// Somebody copies another file over one of the store, which first cuts it short.
#[test]
fn a_file_that_is_cut_short_does_not_end_the_server() {
    let programs = Programs::of(&["demo.elf"]);
    let server = programs.server(Limits::default());
    let id = programs.id(0).to_string();
    let body = |frames: &str| {
        format!("{{\"modules\":[{{\"id\":\"{id}\",\"base\":\"0x200000\"}}],\"frames\":[{frames}]}}")
    };
    let first = server.post("/symbolicate", body("\"0x20129b\"").as_bytes()).json();
    assert!(first["Frames"][0]["Certainty"].is_string(), "{first}");
    let path = programs.store.file_path(&programs.id(0));
    std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    // Addresses that were not asked for before.
    let second =
        server.post("/symbolicate", body("\"0x201fbd\",\"0x201e8d\",\"0x2018f9\"").as_bytes()).json();
    assert!(second["Frames"][1]["Certainty"].is_string(), "{second}");
    assert_ne!(server.get(&format!("/buildid/{id}/layout")).status, 200);
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn what_is_over_a_limit_is_refused() {
    let programs = Programs::of(&["demo.elf"]);
    let mut limits = Limits::default();
    (limits.body, limits.answer, limits.time) = (1000, 2500, Duration::from_millis(500));
    (limits.requests, limits.wait) = (3, Duration::from_millis(100));
    let server = programs.server(limits);
    assert_eq!(server.post("/symbolicate", &[b' '; 1001]).status, 413);
    // An answer that grows too large is given up.
    let body = lines(&programs);
    let line = body.lines().next().unwrap();
    assert_eq!(server.post("/symbolicate", line.as_bytes()).status, 200);
    let two = server.post("/symbolicate", format!("{line}\n{line}").as_bytes());
    assert_eq!(two.status, 413);
    assert!(two.json()["error"].as_str().unwrap().contains("2500 bytes"), "{two:?}");

    // So is one of threads and stacks that have no frames.
    let sparse = json!({"memoryMap": [], "stacks": vec![Vec::<u8>::new(); 300], "version": 5}).to_string();
    assert!(sparse.len() < 1000);
    let refused = server.post("/symbolicate", sparse.as_bytes());
    assert_eq!(refused.status, 413, "{refused:?}");

    // So is one of lines that are no stacks.
    let wrong = format!("{{\"modules\":[],\"frames\":[]}}\n{}", "x\n".repeat(300));
    let refused = server.post("/symbolicate", wrong.as_bytes());
    assert_eq!(refused.status, 413, "{refused:?}");

    // Clients that never send the rest: all places are taken, then given back.
    let slow = |bytes: usize, announced: usize| {
        let mut stream = server.connect();
        let head = format!(
            "POST /symbolicate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {announced}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&vec![b' '; bytes]).unwrap();
        stream
    };
    let mut waiting: Vec<_> = (0..3).map(|_| slow(10, 400)).collect();
    std::thread::sleep(Duration::from_millis(100));
    let refused = server.post("/symbolicate", line.as_bytes());
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(server.get("/health").status, 200);
    for stream in &mut waiting {
        assert_eq!(read(stream).status, 408);
    }
    assert_eq!(server.post("/symbolicate", line.as_bytes()).status, 200);
}

/// Clients that send large bodies slowly, with memory for one of them.
#[test]
fn bodies_share_the_memory() {
    let programs = Programs::of(&[]);
    let mut limits = Limits::default();
    (limits.memory, limits.wait) = (64 << 20, Duration::from_millis(100));
    (limits.body, limits.time) = (16 << 20, Duration::from_secs(4));
    let server = programs.server(limits);
    let slow = || {
        let mut stream = server.connect();
        let head = "POST /symbolicate HTTP/1.1\r\nHost: localhost\r\nConnection: close";
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n", 16 << 20).unwrap();
        // The server may refuse before it has read everything.
        let _ = stream.write_all(&vec![b' '; 12 << 20]);
        stream
    };
    let mut waiting = [slow(), slow(), slow()];
    let mut statuses: Vec<u16> = waiting.iter_mut().map(|stream| read(stream).status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [408, 408, 503]);
    assert_eq!(server.post("/symbolicate/v5", b"{\"jobs\":[]}").status, 200);
}

/// Clients that do not read their answers.
#[test]
fn answers_share_the_memory() {
    let programs = Programs::of(&[]);
    let mut limits = Limits::default();
    (limits.memory, limits.wait) = (160 << 20, Duration::from_millis(100));
    (limits.body, limits.unread) = (4 << 20, Duration::from_secs(20));
    let server = programs.server(limits);
    let body = format!("{{\"modules\":[],\"frames\":[{}1]}}", "1,".repeat(120_000));
    // An answer has some 13 MB, of which the system keeps a part for its connection.
    let unread: Vec<_> = (0..12)
        .map(|_| {
            let mut stream = server.connect();
            let head = "POST /symbolicate HTTP/1.1\r\nHost: localhost\r\nConnection: close";
            write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
            std::io::Read::read_exact(&mut stream, &mut [0; 9]).unwrap();
            let mut status = [0; 3];
            std::io::Read::read_exact(&mut stream, &mut status).unwrap();
            (stream, String::from_utf8(status.to_vec()).unwrap())
        })
        .collect();
    let statuses: Vec<&str> = unread.iter().map(|(_, status)| status.as_str()).collect();
    assert!(statuses.contains(&"200") && statuses.contains(&"503"), "{statuses:?}");
    drop(unread);
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while server.post("/symbolicate", body.as_bytes()).status != 200 {
        assert!(std::time::Instant::now() < end, "the memory is given back");
    }
}

/// A configured body limit above the default for all bodies together takes effect.
#[test]
fn one_body_may_have_what_it_may_have() {
    let programs = Programs::of(&[]);
    let mut limits = Limits::default();
    (limits.body, limits.memory) = (1000, 100);
    let server = programs.server(limits);
    let answer = server.post("/symbolicate/v5", format!("{{\"jobs\":[]}}{}", " ".repeat(900)).as_bytes());
    assert_eq!((answer.status, answer.json()), (200, json!({"results": []})));
}

#[test]
fn a_stop_waits_for_requests_that_run() {
    let programs = Programs::of(&["demo.elf"]);
    let server = programs.server(Limits::default());
    let body = lines(&programs);
    let body = body.lines().next().unwrap();
    let mut stream = server.connect();
    let head = "POST /symbolicate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let head = format!("{head}Content-Length: {}\r\n\r\n{}", body.len(), &body[..20]);
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.bound.stop();
    std::thread::sleep(Duration::from_millis(200));
    assert!(std::net::TcpStream::connect(server.bound.address).is_err());
    stream.write_all(&body.as_bytes()[20..]).unwrap();
    let response = read(&mut stream);
    assert_eq!((response.status, response.json()["id"].as_u64()), (200, Some(7)));
    server.thread.join().unwrap().unwrap();
}

/// All keys of an answer, however deep.
fn keys(json: &Value, all: &mut Vec<String>) {
    match json {
        Value::Object(object) => {
            for (key, value) in object {
                // Names of modules are keys too.
                if !key.contains('/') {
                    all.push(key.clone());
                }
                keys(value, all);
            }
        }
        Value::Array(list) => list.iter().for_each(|item| keys(item, all)),
        _ => {}
    }
}

#[test]
fn every_key_is_documented() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../schema/serve.md");
    let text = std::fs::read_to_string(path).unwrap();
    let programs = Programs::of(&["fold.clang-lld.set/program"]);
    let server = programs.server(Limits::default());
    let map = [["program".to_owned(), programs.debug_id(0)], ["gone".to_owned(), "0".repeat(31) + "10"]];
    let recorded = std::fs::read_to_string(program("fold.clang-lld.set/stacks")).unwrap();
    let recorded = recorded.lines().filter_map(|line| Recorded::parse(line).unwrap());
    let base = programs.base(0);
    let mut stacks: Vec<Value> = recorded
        .map(|stack| stack.addresses.iter().map(|address| json!([0, address - stack.bias - base])).collect())
        .collect();
    stacks.push(json!([[1, 1]]));
    let body = json!({"memoryMap": map, "stacks": stacks, "callers": "return"}).to_string();
    let mut all = Vec::new();
    keys(&server.post("/symbolicate/v5", body.as_bytes()).json(), &mut all);
    keys(&server.get("/buildid/x/fsym").json(), &mut all);
    all.sort();
    all.dedup();
    for known in ["inlines", "candidates", "evidence", "module_errors", "title"] {
        assert!(all.iter().any(|key| key == known), "{known}: {all:?}");
    }
    for key in all {
        assert!(text.contains(&format!("`{key}`")), "{key}");
    }
}

/// A page whose name was made to resolve to this machine sends that name.
#[test]
fn a_name_of_a_stranger_is_refused_at_every_endpoint() {
    let programs = Programs::of(&[]);
    let server = programs.server(Limits::default());
    for path in ["/", "/health", "/metrics", "/store", "/buildid/00ff/fsym", "/nothing"] {
        let refused = server.ask(&format!("GET {path} HTTP/1.1\r\nHost: evil.example:3977"), b"");
        assert_eq!(refused.status, 421, "{path}");
        assert!(!String::from_utf8_lossy(&refused.body).contains("version"), "{path}");
    }
    for path in ["/symbolicate", "/symbolicate/v5"] {
        let head = format!("POST {path} HTTP/1.1\r\nHost: evil.example");
        assert_eq!(server.ask(&head, b"{\"jobs\":[]}").status, 421, "{path}");
    }
    assert_eq!(server.ask("GET /health HTTP/1.1\r\nHost: LOCALHOST:1", b"").status, 200);
    let mut config = foldsym_server::Config::new(programs.symbolizer());
    config.hosts.push("symbols.example".to_owned());
    let named = common::Server::start(config);
    assert_eq!(named.ask("GET /health HTTP/1.1\r\nHost: symbols.example", b"").status, 200);
    assert_eq!(named.ask("GET /health HTTP/1.1\r\nHost: evil.example", b"").status, 421);
}

/// A browser sends what a page of another site asks for, and keeps the answer from it. The work would be done.
#[test]
fn a_page_of_another_origin_sends_nothing() {
    let programs = Programs::of(&[]);
    let server = programs.server(Limits::default());
    let status = |path: &str, headers: &str| {
        server
            .ask(&format!("POST {path} HTTP/1.1{headers}"), b"{\"jobs\":[],\"frames\":[],\"modules\":[]}")
            .status
    };
    let evil = "\r\nOrigin: https://evil.example";
    let profiler = "\r\nOrigin: https://profiler.firefox.com";
    for path in ["/symbolicate", "/symbolicate/v5"] {
        for site in ["cross-site", "same-site"] {
            let site = format!("\r\nSec-Fetch-Site: {site}");
            assert_eq!(status(path, &format!("{site}{evil}")), 403, "{path}");
            // `no-cors` requests may lack the origin, or have the text `null`.
            assert_eq!(status(path, &site), 403, "{path}");
            assert_eq!(status(path, &format!("{site}{profiler}")), 200, "{path}");
        }
        for site in ["same-origin", "none"] {
            assert_eq!(status(path, &format!("\r\nSec-Fetch-Site: {site}{evil}")), 200, "{path}");
        }
        assert_eq!(status(path, ""), 200, "{path}");
    }
    // A link from another site leads to the page.
    assert_eq!(server.ask("GET / HTTP/1.1\r\nSec-Fetch-Site: cross-site", b"").status, 200);
    let mut config = foldsym_server::Config::new(programs.symbolizer());
    config.origins = vec!["*".to_owned()];
    let open = common::Server::start(config);
    let head = format!("POST /symbolicate/v5 HTTP/1.1\r\nSec-Fetch-Site: cross-site{evil}");
    assert_eq!(open.ask(&head, b"{\"jobs\":[]}").status, 200);
}

#[test]
fn a_body_that_is_announced_as_too_large_is_not_waited_for() {
    let programs = Programs::of(&[]);
    let mut limits = Limits::default();
    limits.body = 1000;
    let server = programs.server(limits);
    let mut stream = server.connect();
    let head = "POST /symbolicate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    // Nothing of the body was sent. Without the refusal the server would wait, and answer 408.
    assert_eq!(read(&mut stream).status, 413);
}

#[test]
fn a_request_of_version_5_is_a_report_at_the_other_endpoint() {
    let programs = Programs::of(&["demo.elf"]);
    let server = programs.server(Limits::default());
    let offset = 0x0020_129b - programs.base(0);
    let request =
        json!({"memoryMap": [["demo.elf", programs.debug_id(0)]], "stacks": [[[0, offset]]], "version": 5});
    let answer = server.post("/symbolicate", request.to_string().as_bytes()).json();
    assert_eq!(answer["Format"], "symbolicate", "{answer}");
    let named = &answer["Threads"][0]["Frames"][0]["Symbol"][0]["FunctionName"];
    let other = server.post("/symbolicate/v5", request.to_string().as_bytes()).json();
    let frame = &other["results"][0]["stacks"][0][0];
    let innermost = frame["inlines"].get(0).map_or(&frame["function"], |inline| &inline["function"]);
    assert_eq!(named, innermost);
    assert!(named.as_str().is_some_and(|name| !name.is_empty()), "{answer}");
}

#[test]
fn files_of_several_stores_are_one_list() {
    let one = Programs::of(&["demo.elf", "demo.gcc"]);
    let two = Programs::of(&["inline.clang-dwarf4", "demo.elf", "objects.gcc-o2"]);
    let mut config = foldsym_server::Config::new(one.symbolizer());
    let stores = [&two, &one].map(|programs| foldsym_store::Store::Local(programs.store.clone()));
    config.stores.extend(stores);
    let listed = common::Server::start(config).get("/store").json();
    let mut expected: Vec<String> =
        [one.id(0), one.id(1), two.id(0), two.id(2)].map(|id| id.to_string()).into();
    expected.sort();
    let files = listed["Files"].as_array().unwrap();
    let ids: Vec<&str> = files.iter().map(|file| file["BuildId"].as_str().unwrap()).collect();
    assert_eq!(ids, expected);
    assert_eq!(listed["Total"], 4);
}

/// Without a remote store there is nothing to wait for: an absent build id is absent, however many ask.
#[test]
fn an_absent_build_id_is_not_found_also_when_many_ask() {
    let programs = Programs::of(&[]);
    let server = programs.server(Limits::default());
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = || (0..20).map(|_| server.get("/buildid/0123456789abcdef/fsym").status).collect::<Vec<_>>();
        let asking: Vec<_> = (0..32).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let counts = |status: u16| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((counts(404), counts(503)), (640, 0));
}

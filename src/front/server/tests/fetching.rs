//! Files that come over a network, from a server that is silent: requests about other modules go on being answered.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Programs, Server};
use foldsym_server::Config;
use foldsym_store::Store;
use foldsym_symbolize::{Debuginfod, Symbolizer};

/// Takes connections, and has no file for the first of them. It never answers the others.
struct Silent {
    address: String,
    count: Arc<AtomicUsize>,
    _held: Arc<Mutex<Vec<TcpStream>>>,
}

impl Silent {
    fn start(answered: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (count, held) = (Arc::<AtomicUsize>::default(), Arc::<Mutex<Vec<TcpStream>>>::default());
        let (counted, holds) = (count.clone(), held.clone());
        std::thread::spawn(move || {
            for (at, mut stream) in listener.incoming().flatten().enumerate() {
                if at < answered {
                    let _ = stream.read(&mut [0; 4096]);
                    let none = "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
                    let _ = stream.write_all(none.as_bytes());
                    continue;
                }
                holds.lock().unwrap().push(stream);
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { address, count, _held: held }
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server with one thread that answers.
fn start(programs: &Programs, silent: &Silent, cache: &std::path::Path) -> Server {
    let patience = Some(Duration::from_secs(300));
    let servers = Debuginfod::new(vec![silent.address.clone()], cache, patience, None);
    let symbolizer = Symbolizer::builder()
        .store(Store::Local(programs.store.clone()))
        .debuginfod(servers)
        .demangle(false)
        .retry_after(Duration::from_millis(200))
        .build()
        .unwrap();
    let mut config = Config::new(symbolizer);
    config.stores.push(Store::Local(programs.store.clone()));
    (config.limits.threads, config.limits.fetches, config.limits.fetched) = (1, 2, 3);
    config.limits.fetch = Duration::from_secs(4);
    Server::start(config)
}

fn body(ids: impl Iterator<Item = String>) -> String {
    let modules: Vec<String> = ids
        .enumerate()
        .map(|(at, id)| {
            format!("{{\"id\":\"{id}\",\"name\":\"m{at}\",\"base\":{}}}", 0x20_0000 + at * 0x1000_0000)
        })
        .collect();
    let frames: Vec<String> =
        (0..modules.len()).map(|at| (0x20_129b + at * 0x1000_0000).to_string()).collect();
    format!("{{\"modules\":[{}],\"frames\":[{}]}}", modules.join(","), frames.join(","))
}

#[test]
fn a_silent_server_stops_no_other_request() {
    let programs = Programs::of(&["demo.elf"]);
    let (silent, cache) = (Silent::start(0), tempfile::tempdir().unwrap());
    let server = start(&programs, &silent, cache.path());
    let ours = programs.id(0).to_string();
    std::thread::scope(|scope| {
        let (unknown, server) = (body([ours.clone(), "0123456789abcdef".to_owned()].into_iter()), &server);
        let waits = scope.spawn(move || server.post("/symbolicate", unknown.as_bytes()).json());
        until("it is fetched", || silent.count.load(Ordering::SeqCst) > 0);
        let local = body(std::iter::once(ours.clone()));
        let answer = server.post("/symbolicate", local.as_bytes()).json();
        assert!(!waits.is_finished(), "the answer came after the fetch");
        assert!(answer["Frames"][0]["Certainty"].is_string(), "{answer}");
        // Then the answer says what did not come, and has the rest.
        let answer = waits.join().unwrap();
        assert!(answer["Frames"][0]["Certainty"].is_string(), "{answer}");
        assert_eq!(answer["Frames"][1]["Unknown"]["Kind"], "failed", "{answer}");
        let why = answer["Frames"][1]["Unknown"]["Message"].as_str().unwrap();
        assert!(why.ends_with("not fetched yet, ask again"), "{why}");
    });
    // One request has a few files fetched, whatever it names.
    let many = body((0..400).map(|at| format!("{at:032x}")));
    let start = Instant::now();
    let answer = server.post("/symbolicate", many.as_bytes());
    assert_eq!(answer.status, 200);
    // It waits for them once, although the answer lacks others then.
    assert!(start.elapsed() < Duration::from_secs(7), "{:?}", start.elapsed());
    assert!(silent.count.load(Ordering::SeqCst) <= 4, "{}", silent.count.load(Ordering::SeqCst));
}

/// What was not there is asked for again after a while. Until the answer comes, that of before is used.
#[test]
fn an_answer_of_before_is_not_waited_for_again() {
    let programs = Programs::of(&["demo.elf"]);
    // The program, and its debug file.
    let (silent, cache) = (Silent::start(2), tempfile::tempdir().unwrap());
    // elfutils' client remembers an absent file for so many seconds.
    std::fs::write(cache.path().join("cache_miss_s"), "0").unwrap();
    let server = start(&programs, &silent, cache.path());
    let unknown = body(std::iter::once("0123456789abcdef".to_owned()));
    let kind = || {
        let answer = server.post("/symbolicate", unknown.as_bytes()).json();
        answer["Frames"][0]["Unknown"]["Kind"].as_str().map(str::to_owned)
    };
    assert_eq!(kind().as_deref(), Some("absent"));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(kind().as_deref(), Some("absent"));
    until("it is asked for again", || silent.count.load(Ordering::SeqCst) > 0);
    assert_eq!(kind().as_deref(), Some("absent"));
}

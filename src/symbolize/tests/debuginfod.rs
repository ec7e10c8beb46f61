//! Programs by build id from debuginfod servers: Debian's own (`debuginfod`), and servers that fail. Needs the feature `debuginfod`.
#![cfg(feature = "debuginfod")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use foldsym_symbolize::{
    AddressKind, BuildId, Builder, Debuginfod, Frame, Module, Modules, ReportedAddress, Stack, StackFrame,
    Symbolizer, Unknown,
};

/// A program without debug information, and its debug file.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built/split.gcc-dwarf4.set")
}

fn id() -> BuildId {
    let identity =
        foldsym_convert::identify(&programs().join("stripped"), &foldsym_convert::Options::default());
    BuildId::new(&identity.unwrap().build_id).unwrap()
}

/// `outer(int)`, as llvm-nm and llvm-symbolizer say of the debug file.
const OUTER: u64 = 0x401030;

fn ask(servers: &[String], cache: &Path) -> Frame {
    ask_with(Symbolizer::builder(), servers, cache)
}

fn ask_with(builder: Builder, servers: &[String], cache: &Path) -> Frame {
    let wait = Some(Duration::from_secs(20));
    let servers = Debuginfod::new(servers.to_vec(), cache, wait, wait);
    let module = Module::new("stripped").with_id(id());
    let place = ReportedAddress::Image { module: 0, address: OUTER };
    let stack = Stack::new(&Modules::new(vec![module]), vec![StackFrame { place, kind: AddressKind::Exact }]);
    builder.debuginfod(servers).build().unwrap().symbolize(&stack).remove(0)
}

fn assert_answered(frame: &Frame) {
    let last = frame.functions.last().unwrap_or_else(|| panic!("{:?}", frame.unknown));
    assert_eq!((&*last.linkage_name, last.line > 0), ("_Z5outeri", true), "{last:?}");
}

fn failure(frame: &Frame) -> String {
    match &frame.unknown {
        Some(Unknown::Failed(why) | Unknown::Absent(why) | Unknown::Damaged(why)) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

/// A server that sends the same answer to every request, and counts requests.
fn canned(answer: Vec<u8>) -> (String, Arc<AtomicUsize>) {
    answering(move |_| answer.clone())
}

/// A server that answers by the first line of a request, and counts requests.
fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut first, mut line) = (String::new(), String::new());
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let _ = reader.read_line(&mut first);
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                line.clear();
            }
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = stream.write_all(&answer(&first));
        }
    });
    (url, count)
}

fn http(status: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

#[test]
fn what_no_server_has_is_not_asked_for_again() {
    let cache = tempfile::tempdir().unwrap();
    let (url, count) = canned(http("404 Not Found", 0, b""));
    for _ in 0..2 {
        let why = failure(&ask(std::slice::from_ref(&url), cache.path()));
        assert!(why.contains(&format!("not at {url}")), "{why}");
    }
    // The program and its debug file.
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let marker = cache.path().join(id().to_string()).join("debuginfo");
    assert_eq!(marker.metadata().unwrap().len(), 0);
    // The owner of the cache may say that markers do not hold.
    fs::write(cache.path().join("cache_miss_s"), "0\n").unwrap();
    failure(&ask(std::slice::from_ref(&url), cache.path()));
    assert_eq!(count.load(Ordering::Relaxed), 4);
}

/// An engine that searches again at once does so for each stack, not for each frame.
#[test]
fn a_failure_holds_for_one_stack() {
    let cache = tempfile::tempdir().unwrap();
    let (url, count) = canned(http("500 Internal Server Error", 0, b""));
    let wait = Some(Duration::from_secs(20));
    let servers = Debuginfod::new(vec![url], cache.path(), wait, wait);
    let builder = Symbolizer::builder().retry_after(Duration::ZERO).debuginfod(servers);
    let engine = builder.build().unwrap();
    let modules = Modules::new(vec![Module::new("stripped").with_id(id())]);
    let place = ReportedAddress::Image { module: 0, address: OUTER };
    let stack = Stack::new(&modules, vec![StackFrame { place, kind: AddressKind::Exact }; 5]);
    let (mut worker, mut frames) = (engine.worker(), Vec::new());
    for asked in 1..=2 {
        worker.symbolize(&stack, &mut frames);
        assert!(frames.len() == 5 && frames.iter().all(|frame| failure(frame).contains("500")));
        assert_eq!(count.load(Ordering::Relaxed), asked);
    }
}

#[test]
fn failures_are_told_and_leave_nothing() {
    let program = fs::read(programs().join("stripped.debug")).unwrap();
    let refused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (broken, _) = canned(http("500 Internal Server Error", 0, b""));
    let (short, _) = canned(http("200 OK", program.len() + 1, &program));
    let (huge, _) = canned(http("200 OK", usize::MAX / 2, b""));
    let (empty, _) = canned(http("200 OK", 0, b""));
    for (url, says) in [
        (format!("http://{refused}"), "onnect"),
        (broken, "500"),
        (short, "/debuginfo: "),
        (huge, "of which at most"),
        (empty, "an empty file"),
    ] {
        let cache = tempfile::tempdir().unwrap();
        let why = failure(&ask(std::slice::from_ref(&url), cache.path()));
        assert!(why.starts_with(&url) && why.contains(says), "{url}: {why}");
        let left = fs::read_dir(cache.path().join(id().to_string())).unwrap().count();
        assert_eq!(left, 0, "{url}");
    }
}

#[test]
fn a_debug_file_alone_answers_until_the_program_is_there() {
    let [program, debug] =
        ["stripped", "stripped.debug"].map(|name| fs::read(programs().join(name)).unwrap());
    let [sent, half] = [debug.clone(), debug].map(|debug| http("200 OK", debug.len(), &debug));
    let failing = answering(move |line| match line.contains("/executable") {
        true => http("503 Service Unavailable", 0, b""),
        false => half.clone(),
    });
    let whole = answering(move |line| match line.contains("/executable") {
        true => http("200 OK", program.len(), &program),
        false => sent.clone(),
    });
    let (cache, converted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ask = |url: &String| {
        let builder = Symbolizer::builder().cache(converted.path());
        ask_with(builder, std::slice::from_ref(url), cache.path())
    };
    let is_without_code = |frame: &Frame| frame.reason.is_some_and(|reason| reason.text() == "no_code");
    let frame = ask(&failing.0);
    assert_answered(&frame);
    assert!(is_without_code(&frame), "{frame:?}");
    // The debug file is in the cache of debuginfod; the program is requested again.
    assert_eq!(failing.1.load(Ordering::Relaxed), 2);
    let frame = ask(&whole.0);
    assert_answered(&frame);
    assert!(!is_without_code(&frame), "{frame:?}");
    assert_eq!(whole.1.load(Ordering::Relaxed), 1);
    // This was kept.
    assert!(!is_without_code(&ask(&failing.0)));
    assert_eq!(failing.1.load(Ordering::Relaxed), 2);
}

/// A program without debug information in a search folder answers only if no server has more.
#[test]
fn a_stripped_program_does_not_end_the_search() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(programs().join("stripped"), folder.path().join("stripped")).unwrap();
    let [program, debug] =
        ["stripped", "stripped.debug"].map(|name| fs::read(programs().join(name)).unwrap());
    let (url, count) = answering(move |line| match line.contains("/executable") {
        true => http("200 OK", program.len(), &program),
        false => http("200 OK", debug.len(), &debug),
    });
    let cache = tempfile::tempdir().unwrap();
    let ask =
        |url: String, cache: &Path| ask_with(Symbolizer::builder().search([folder.path()]), &[url], cache);
    assert_answered(&ask(url, cache.path()));
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let (none, _) = canned(http("404 Not Found", 0, b""));
    let frame = ask(none, tempfile::tempdir().unwrap().path());
    assert_eq!(frame.unknown, Some(Unknown::NoFunction), "{frame:?}");
}

/// What is made of a debug file alone serves until the program is there, and no longer.
#[test]
fn an_engine_asks_again_for_a_program() {
    let [program, debug] =
        ["stripped", "stripped.debug"].map(|name| fs::read(programs().join(name)).unwrap());
    let down = Arc::new(AtomicUsize::new(1));
    let is_down = down.clone();
    let (url, count) = answering(move |line| match line.contains("/executable") {
        true if is_down.load(Ordering::Relaxed) == 1 => http("503 Service Unavailable", 0, b""),
        true => http("200 OK", program.len(), &program),
        false => http("200 OK", debug.len(), &debug),
    });
    let (cache, converted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let wait = Some(Duration::from_secs(20));
    let builder = Symbolizer::builder().cache(converted.path()).retry_after(Duration::ZERO);
    let engine = builder.debuginfod(Debuginfod::new(vec![url], cache.path(), wait, wait)).build().unwrap();
    let ask = || {
        let module = Module::new("stripped").with_id(id());
        let place = ReportedAddress::Image { module: 0, address: OUTER };
        let frame = StackFrame { place, kind: AddressKind::Exact };
        let frame = engine.symbolize(&Stack::new(&Modules::new(vec![module]), vec![frame])).remove(0);
        assert_answered(&frame);
        frame.reason.is_some_and(|reason| reason.text() == "no_code")
    };
    assert!(ask() && ask());
    down.store(0, Ordering::Relaxed);
    assert!(!ask());
    let asked = count.load(Ordering::Relaxed);
    assert!(!ask() && count.load(Ordering::Relaxed) == asked);
}

/// What is made of a debug file alone is not lost when servers fail later, and serves while one thread waits for them.
#[test]
fn a_debug_file_alone_answers_while_servers_fail_or_wait() {
    const HALF: usize = 0;
    const DOWN: usize = 1;
    const WAITS: usize = 2;
    let [program, debug] =
        ["stripped", "stripped.debug"].map(|name| fs::read(programs().join(name)).unwrap());
    let state = Arc::new(AtomicUsize::new(HALF));
    let (told, is_asked) = std::sync::mpsc::channel();
    let (go, goes) = std::sync::mpsc::channel::<()>();
    let shared = state.clone();
    let (url, count) =
        answering(move |line| match (shared.load(Ordering::Relaxed), line.contains("/executable")) {
            (DOWN, _) | (HALF, true) => http("503 Service Unavailable", 0, b""),
            (WAITS, true) => {
                told.send(()).unwrap();
                goes.recv().unwrap();
                http("200 OK", program.len(), &program)
            }
            _ => http("200 OK", debug.len(), &debug),
        });
    let cache = tempfile::tempdir().unwrap();
    let wait = Some(Duration::from_secs(20));
    let builder = Symbolizer::builder().retry_after(Duration::ZERO);
    let engine = builder.debuginfod(Debuginfod::new(vec![url], cache.path(), wait, wait)).build().unwrap();
    let frame =
        StackFrame { place: ReportedAddress::Image { module: 0, address: OUTER }, kind: AddressKind::Exact };
    // One list of modules, so that workers know it again.
    let stack = Stack::new(&Modules::new(vec![Module::new("stripped").with_id(id())]), vec![frame]);
    let (mut worker, mut frames) = (engine.worker(), Vec::new());
    let mut has_code = || {
        worker.symbolize(&stack, &mut frames);
        assert_answered(&frames[0]);
        frames[0].reason.is_none_or(|reason| reason.text() != "no_code")
    };
    assert!(!has_code());
    // Every request fails, and the cache is empty.
    state.store(DOWN, Ordering::Relaxed);
    fs::remove_dir_all(cache.path().join(id().to_string())).unwrap();
    let asked = count.load(Ordering::Relaxed);
    assert!(!has_code());
    assert!(count.load(Ordering::Relaxed) > asked);
    state.store(WAITS, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| engine.symbolize(&stack).remove(0));
        is_asked.recv().unwrap();
        assert!(!has_code());
        go.send(()).unwrap();
        let frame = waits.join().unwrap();
        assert_answered(&frame);
        assert!(frame.reason.is_none_or(|reason| reason.text() != "no_code"), "{frame:?}");
    });
    let asked = count.load(Ordering::Relaxed);
    assert!(has_code() && count.load(Ordering::Relaxed) == asked);
}

/// A file of another build is not kept: the next server is tried, and later this one again.
#[test]
fn a_server_that_sends_another_build_is_not_believed() {
    let other = fs::read(programs().join("../split.clang-dwarf5.set/stripped.debug")).unwrap();
    let [program, debug] =
        ["stripped", "stripped.debug"].map(|name| fs::read(programs().join(name)).unwrap());
    let (right, _) = answering(move |line| match line.contains("/executable") {
        true => http("200 OK", program.len(), &program),
        false => http("200 OK", debug.len(), &debug),
    });
    let page = b"<html>Sign in</html>";
    for (body, says) in [(&other[..], "sent another build: build id "), (&page[..], "sent no program: ")] {
        let (wrong, _) = canned(http("200 OK", body.len(), body));
        let cache = tempfile::tempdir().unwrap();
        let why = failure(&ask(std::slice::from_ref(&wrong), cache.path()));
        assert!(why.starts_with(&wrong) && why.contains(says), "{why}");
        assert!(!why.contains(cache.path().to_str().unwrap()), "{why}");
        assert_eq!(fs::read_dir(cache.path().join(id().to_string())).unwrap().count(), 0);
        assert_answered(&ask(&[wrong, right.clone()], cache.path()));
    }
}

/// The answer of an engine that waits for two seconds only, and how long it took.
fn ask_in_haste(url: String, headers: &[(&str, &str)]) -> (String, Duration) {
    let cache = tempfile::tempdir().unwrap();
    let servers = Debuginfod::new(vec![url], cache.path(), Some(Duration::from_secs(2)), None);
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let builder = Symbolizer::builder().debuginfod(servers.with_headers(headers));
    let module = Module::new("stripped").with_id(id());
    let place = ReportedAddress::Image { module: 0, address: OUTER };
    let stack = Stack::new(&Modules::new(vec![module]), vec![StackFrame { place, kind: AddressKind::Exact }]);
    let start = Instant::now();
    let frame = builder.build().unwrap().symbolize(&stack).remove(0);
    (failure(&frame), start.elapsed())
}

/// A server that stops in the body, and one that sends a byte now and then.
#[test]
fn a_body_that_stalls_is_bounded_by_the_timeout() {
    for pause in [Duration::from_secs(3600), Duration::from_millis(300)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let _ = stream.write_all(&http("200 OK", 1 << 20, b"\x7fELF"));
                    while stream.write_all(b"x").is_ok() {
                        std::thread::sleep(pause);
                    }
                });
            }
        });
        let (why, took) = ask_in_haste(url.clone(), &[]);
        assert!(why.starts_with(&url), "{why}");
        assert!(took < Duration::from_secs(20), "{took:?}: {why}");
    }
}

/// A server that keeps the heads of requests, and answers by their first line.
fn recording(
    answer: impl Fn(&str) -> Vec<u8> + Send + 'static,
) -> (String, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = heads.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while reader.read_line(&mut head).is_ok_and(|count| count > 2) {}
            kept.lock().unwrap().push(head.to_ascii_lowercase());
            let _ = stream.write_all(&answer(&head));
        }
    });
    (url, heads)
}

#[test]
fn headers_and_passwords_do_not_follow_a_redirect_to_another_host() {
    let (other, others) = recording(|_| http("404 Not Found", 0, b""));
    let redirect = |location: &str| {
        let head = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\nLocation: ";
        format!("{head}{location}\r\n\r\n").into_bytes()
    };
    let first = format!("{other}/found");
    let (url, own) = recording(move |head| match () {
        () if head.starts_with("GET /buildid") => redirect("/second"),
        () => redirect(&first),
    });
    let url = url.replace("http://", "http://user:secret@");
    let (why, _) = ask_in_haste(url, &[("X-Token", "word"), ("Authorization", "Bearer word")]);
    assert!(why.contains("not at http://127.0.0.1") && !why.contains("secret"), "{why}");
    let (own, others) = (own.lock().unwrap().clone(), others.lock().unwrap().clone());
    assert!(own.len() == 4 && others.len() == 2, "{own:?} {others:?}");
    assert!(own.iter().all(|head| head.contains("x-token: word") && head.contains("bearer word")), "{own:?}");
    assert!(
        !others.iter().any(|head| head.contains("token") || head.contains("authorization")),
        "{others:?}"
    );
    // A redirect to the first host keeps the user of the address.
    let (url, own) = recording(move |head| match () {
        () if head.starts_with("GET /buildid") => redirect("/second"),
        () => http("404 Not Found", 0, b""),
    });
    ask_in_haste(url.replace("http://", "http://user:secret@"), &[]);
    let own = own.lock().unwrap().clone();
    assert!(own.len() == 4 && own.iter().all(|head| head.contains("authorization: basic")), "{own:?}");
}

/// Messages and `Debug` show a server without the secrets of its address.
#[test]
fn no_answer_has_the_password_of_a_server() {
    let refused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (missing, _) = canned(http("404 Not Found", 0, b""));
    let (broken, _) = canned(http("500 Internal Server Error", 0, b""));
    let (page, _) = canned(http("200 OK", 13, b"<html></html>"));
    for url in [format!("http://{refused}"), missing, broken, page, "http://a b".to_owned()] {
        let url = format!("{}/?key=secret", url.replace("http://", "http://somebody:secret@"));
        let servers = Debuginfod::new(vec![url.clone()], "cache", None, None);
        let servers = servers.with_headers([("Authorization".to_owned(), "secret".to_owned())]);
        let text = format!("{servers:?} {}", ask_in_haste(url, &[]).0);
        assert!(!text.contains("secret") && !text.contains("somebody"), "{text}");
    }
}

/// Ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn debians_server_answers() {
    let folder = tempfile::tempdir().unwrap();
    let served = folder.path().join("served");
    fs::create_dir(&served).unwrap();
    for name in ["stripped", "stripped.debug"] {
        fs::copy(programs().join(name), served.join(name)).unwrap();
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("debuginfod");
    command.arg("-d").arg(folder.path().join("index")).args(["-p", &port.to_string(), "-F"]).arg(&served);
    let _server = match command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
        Ok(child) => Server(child),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "needs debuginfod: {error}");
            return println!("skipped: needs debuginfod");
        }
    };
    // It listens before it has read the folder.
    let end = Instant::now() + Duration::from_secs(60);
    let path = format!("/buildid/{}/debuginfo", id());
    while !has(port, &path) || !has(port, &path.replace("debuginfo", "executable")) {
        assert!(Instant::now() < end, "debuginfod does not have the program");
        std::thread::sleep(Duration::from_millis(200));
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cache = folder.path().join("cache");
    let servers = [format!("http://{nobody}"), format!("http://127.0.0.1:{port}/")];
    let frame = ask(&servers, &cache);
    assert_answered(&frame);
    // The program was converted with its debug file, not the debug file alone.
    assert!(frame.reason.is_none_or(|reason| reason.text() != "no_code"), "{frame:?}");
    for name in ["debuginfo", "executable"] {
        assert!(cache.join(id().to_string()).join(name).metadata().unwrap().len() > 0);
    }
    // Elfutils' own client finds the fetched files without a server.
    let mut client = Command::new("debuginfod-find");
    client.args(["debuginfo", &id().to_string()]).env("DEBUGINFOD_CACHE_PATH", &cache);
    let found = client.env("DEBUGINFOD_URLS", format!("http://{nobody}")).output().unwrap();
    assert!(found.status.success(), "{found:?}");
    // And we take what is there.
    assert_answered(&ask(&[format!("http://{nobody}")], &cache));
}

/// Whether a server answers a request with 200.
fn has(port: u16, path: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let _ = write!(stream, "GET {path} HTTP/1.0\r\n\r\n");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).is_ok() && line.contains(" 200 ")
}

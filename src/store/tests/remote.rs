//! A store in S3, as moto's server emulates it (`moto_server`, from PyPI: `moto[server]`), and a folder served over HTTP. Needs the feature
//! `remote`.
#![cfg(feature = "remote")]

mod common;

use foldsym_format::header::VERSION;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{id, stamped};
use foldsym_store::{
    DebugId, EntryInfo, GcOptions, LocalStore, ModuleId, Published, Release, Store, StoreError, StoreOptions,
};

/// Ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the server on a free port; `None` if it is not installed.
fn server() -> Option<(Server, u16)> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("moto_server");
    command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let server = match command.spawn() {
        Ok(child) => Server(child),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "needs moto: {error}");
            println!("skipped: needs moto");
            return None;
        }
    };
    let end = Instant::now() + Duration::from_secs(120);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < end, "moto_server does not answer");
        std::thread::sleep(Duration::from_millis(100));
    }
    Some((server, port))
}

/// A request without a body; gives the head and the body of the answer.
fn request(port: u16, line: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn options(cache: &Path) -> StoreOptions {
    let mut options = StoreOptions::default();
    options.cache = Some(cache.to_owned());
    options.missing_for = Duration::ZERO;
    options
}

/// The port of an S3 server with a bucket `symbols`, in a process whose environment leads to it. The environment belongs to the whole process:
/// so a test runs itself again with it, and the first run gets `None` when the second one is done.
fn in_s3(test: &str) -> Option<String> {
    if let Ok(port) = std::env::var("FOLDSYM_MOTO_PORT") {
        return Some(port);
    }
    let (_server, port) = server()?;
    let made = request(port, "PUT /symbols");
    assert!(made.starts_with("HTTP/1.1 200"), "{made}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]);
    child.env("FOLDSYM_MOTO_PORT", port.to_string()).env("AWS_ENDPOINT", format!("http://127.0.0.1:{port}"));
    child.env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
    // Words of no account: moto takes any.
    child.env("AWS_ACCESS_KEY_ID", "nobody").env("AWS_SECRET_ACCESS_KEY", "nothing");
    assert!(child.status().unwrap().success());
    None
}

/// A remote store is listed, checked, pinned and collected as a folder is.
#[test]
fn a_remote_store_is_administered() {
    let Some(_port) = in_s3("a_remote_store_is_administered") else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create("s3://symbols/all", options(&folder.path().join("cache"))).unwrap();
    let publish = |number: u32, version: &str| {
        let mut info = common::info("app");
        let mut release = Release::now("mail", Some(version), None);
        release.published = number.into();
        info.releases = vec![release];
        let write = |path: &Path| -> Result<(), StoreError> {
            std::fs::write(path, stamped(id(number).as_bytes())).unwrap();
            Ok(())
        };
        store.publish(&info, write).unwrap()
    };
    for (number, version) in [(1, "1.0"), (2, "2.0"), (3, "3.0"), (4, "4.0")] {
        publish(number, version);
    }
    // The program did not change.
    assert_eq!(publish(2, "4.0"), Published::Existing(id(2)));
    let ids = |store: &Store| store.list().unwrap().into_iter().map(|listed| listed.id).collect::<Vec<_>>();
    let size = stamped(id(1).as_bytes()).len() as u64;
    let listed = store.list().unwrap();
    assert_eq!(ids(&store), [1, 2, 3, 4].map(id));
    assert!(listed[0].path.to_str().unwrap().starts_with("s3://symbols/all/"), "{listed:?}");
    assert_eq!(listed[0].size, size);
    let reports = store.reports(&[id(2), id(99)]).unwrap();
    assert_eq!((Release::of_report(&reports[0]).len(), reports[1].is_null()), (2, true));
    let checked = store.check().unwrap();
    assert_eq!((checked.files, checked.problems.as_slice()), (4, &[][..]));

    store.add_to_pin("lts", &[id(1)]).unwrap();
    assert_eq!(store.pins().unwrap()[0].ids.len(), 1);
    let mut limits = GcOptions::default();
    (limits.keep_releases, limits.dry_run) = (Some(1), true);
    let planned = store.gc(&limits).unwrap();
    assert_eq!((planned.removed.as_slice(), planned.pinned, planned.kept), (&[id(3)][..], 3, 3));
    assert_eq!(ids(&store).len(), 4);
    limits.dry_run = false;
    assert_eq!(store.gc(&limits).unwrap().removed, [id(3)]);
    assert_eq!(ids(&store), [1, 2, 4].map(id));
    // Neither the remote store nor the cache has it.
    assert!(store.get_module(&ModuleId::from(id(3))).unwrap().is_none());
    assert!(store.get_module(&ModuleId::from(DebugId::of_elf(&id(3), false))).unwrap().is_none());
    assert!(store.remove(&id(4)).unwrap() && !store.remove(&id(4)).unwrap());
    assert!(store.unpin("lts", &[id(1)]).unwrap() && store.pins().unwrap().is_empty());
    let mut limits = GcOptions::default();
    limits.max_bytes = Some(0);
    assert_eq!(store.gc(&limits).unwrap().removed, [id(1), id(2)]);
    assert!(ids(&store).is_empty() && store.check().unwrap().problems.is_empty());
}

/// Plain HTTP reads, and cannot administer.
#[test]
fn a_folder_behind_http_says_that_it_cannot_be_administered() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("symbols");
    LocalStore::create(&root).unwrap();
    let address = format!("http://user:secret@127.0.0.1:{}", serve(&root));
    let store = Store::open(&address, options(&folder.path().join("cache"))).unwrap();
    for error in [
        store.list().map(|_| ()).unwrap_err(),
        store.check().map(|_| ()).unwrap_err(),
        store.gc(&GcOptions::default()).map(|_| ()).unwrap_err(),
        store.remove(&id(1)).map(|_| ()).unwrap_err(),
        store.pins().map(|_| ()).unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(text.contains("plain HTTP cannot") && !text.contains("secret"), "{text}");
    }
    let error = store.add_to_pin("lts", &[id(1)]).unwrap_err().to_string();
    assert!(error.contains("only read"), "{error}");
}

/// A wrong endpoint, and keys that are refused: the message says which variables.
#[test]
fn a_wrong_endpoint_is_named() {
    let name = "a_wrong_endpoint_is_named";
    if std::env::var_os("AWS_ENDPOINT").is_none() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", name, "--nocapture"]).env("AWS_ENDPOINT", "http://user:secret@127.0.0.1:1");
        child.env("AWS_ALLOW_HTTP", "true").env("AWS_ACCESS_KEY_ID", "nobody");
        assert!(child.env("AWS_SECRET_ACCESS_KEY", "nothing").status().unwrap().success());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    options.patience = Duration::from_secs(1);
    let store = Store::open("s3://symbols/all", options).unwrap();
    let error = store.get_module(&ModuleId::from(id(1))).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("http://127.0.0.1:1 (AWS_ENDPOINT)"), "{error}");
    assert!(error.contains("AWS_ACCESS_KEY_ID") && !error.contains("secret"), "{error}");
}

#[test]
fn objects_are_published_once_and_read_by_all() {
    let Some(port) = in_s3("objects_are_published_once_and_read_by_all") else { return };
    let folder = tempfile::tempdir().unwrap();
    let writer = Store::create("s3://symbols/all/", options(&folder.path().join("writer"))).unwrap();
    let write = |number: u32| {
        move |path: &Path| -> Result<(), StoreError> {
            std::fs::write(path, stamped(id(number).as_bytes())).unwrap();
            Ok(())
        }
    };
    assert_eq!(writer.publish(&EntryInfo::default(), write(1)).unwrap(), Published::New(id(1)));
    assert_eq!(writer.publish(&EntryInfo::default(), write(1)).unwrap(), Published::Existing(id(1)));

    // What is there stays, unless it is to be replaced.
    let mut other = stamped(id(1).as_bytes());
    common::change(&mut other);
    let publish = |replace: bool| {
        let mut info = EntryInfo::default();
        info.replace = replace;
        writer.publish(&info, |path| -> Result<(), StoreError> {
            std::fs::write(path, &other).unwrap();
            Ok(())
        })
    };
    let error = publish(false).unwrap_err().to_string();
    assert!(error.starts_with("s3://symbols/all/") && error.contains("other bytes"), "{error}");
    let there = writer.lock(&id(1)).unwrap().get().unwrap().unwrap();
    assert_eq!(there.bytes(), stamped(id(1).as_bytes()));
    assert_eq!(publish(true).unwrap(), Published::Replaced(id(1)));
    let third = Store::open("s3://symbols/all", options(&folder.path().join("third"))).unwrap();
    assert_eq!(third.get_module(&ModuleId::from(id(1))).unwrap().unwrap().bytes(), other);
    assert!(third.lock(&id(2)).unwrap().get().unwrap().is_none());
    let mut info = EntryInfo::default();
    info.replace = true;
    assert_eq!(writer.publish(&info, write(1)).unwrap(), Published::Replaced(id(1)));

    let debug_id = DebugId::of_elf(&id(1), false);
    let s3 = Store::open("s3://symbols/all", options(&folder.path().join("s3"))).unwrap();
    assert!(s3.get_module(&ModuleId::from(id(2))).unwrap().is_none());
    for module in [ModuleId::from(debug_id), ModuleId::from(id(1))] {
        assert_eq!(s3.get_module(&module).unwrap().unwrap().bytes(), stamped(id(1).as_bytes()));
    }
    // An object of another program is not served.
    let key = |number: u32| {
        let key = id(number).to_string();
        format!("/symbols/all/{}/{}/v{VERSION}.fsym", &key[..2], &key[2..])
    };
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    let body = stamped(id(1).as_bytes());
    let head = format!(
        "PUT {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        key(4),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let error = s3.get_module(&ModuleId::from(id(4))).unwrap_err();
    assert!(matches!(error, StoreError::WrongId { .. }), "{error}");
}

/// Answers each request with a file of a folder, or 404, until the test ends.
fn serve(root: &Path) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let root = root.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head.split(' ').nth(1).unwrap_or("/").trim_start_matches('/').to_owned();
            let (status, body) = match std::fs::read(root.join(path)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nLast-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    port
}

#[test]
fn a_folder_behind_http_is_read_and_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("symbols");
    let published = LocalStore::create(&root).unwrap();
    published.add(&common::stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    let address = format!("http://127.0.0.1:{}", serve(&root));
    let store = Store::open(&address, options(&folder.path().join("cache"))).unwrap();
    assert!(store.get_module(&ModuleId::from(id(2))).unwrap().is_none());
    for module in [ModuleId::from(DebugId::of_elf(&id(1), false)), ModuleId::from(id(1))] {
        assert_eq!(store.get_module(&module).unwrap().unwrap().bytes(), stamped(id(1).as_bytes()));
    }
    let write = |path: &Path| -> Result<(), StoreError> {
        std::fs::write(path, stamped(id(3).as_bytes())).unwrap();
        Ok(())
    };
    let error = store.publish(&EntryInfo::default(), write).unwrap_err();
    assert!(error.to_string().contains("only read"), "{error}");
    // A server that does not answer is not the same as an absent file.
    let gone = Store::open("http://127.0.0.1:1", options(&folder.path().join("other"))).unwrap();
    let error = gone.get_module(&ModuleId::from(id(1))).unwrap_err();
    assert!(matches!(error, StoreError::Remote { .. }) && !error.is_damage(), "{error}");
}

/// The address of a store may have a password, which the messages of the HTTP client repeat.
#[test]
fn no_message_has_the_password_of_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    options.patience = Duration::from_secs(3);
    let address = answering(|path, stream| match path.ends_with(".fsym") {
        true => send(stream, "403 Forbidden", 0, b""),
        false => send(stream, "404 Not Found", 0, b""),
    });
    let host = address.strip_prefix("http://").unwrap();
    for location in
        [format!("http://somebody:secret@{host}/all"), "http://somebody:secret@127.0.0.1:1/all".to_owned()]
    {
        let store = Store::open(&location, options.clone()).unwrap();
        let error = store.get_module(&ModuleId::from(id(1))).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("/all/"), "{error}");
        let texts = format!("{error} {error:?} {store:?} {}", store.location());
        assert!(!texts.contains("secret") && !texts.contains("somebody"), "{texts}");
    }
    for location in
        ["ftp://user:secret@host", "https://user:sec/secret@host", "https://user:secret@host/?secret"]
    {
        let error = Store::open(location, options.clone()).map(|_| ()).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("sec"), "{error}");
    }
}

/// Answers each request by its path, until the test ends.
fn answering(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> String {
    answering_to(move |_, path, stream| answer(path, stream))
}

/// The same, by the method too.
fn answering_to(answer: impl Fn(&str, &str, &mut TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let answer = Arc::new(answer);
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let mut words = head.split(' ');
                let (method, path) = (words.next().unwrap_or("GET"), words.next().unwrap_or("/"));
                answer(method, path, &mut stream);
            });
        }
    });
    address
}

/// The head and the body of an answer that claims to have so many bytes.
fn send(stream: &mut TcpStream, status: &str, claimed: usize, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {claimed}\r\nLast-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\nConnection: close\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// What a store that fails says, with its cache; the cache keeps nothing that a failed answer left.
#[test]
fn a_server_that_fails_is_told_and_leaves_nothing() {
    let whole = stamped(id(1).as_bytes());
    let is_file = |path: &str| path.ends_with(".fsym");
    type Answer = Box<dyn Fn(&str, &mut TcpStream) + Send + Sync>;
    let status = |status: &'static str| -> Answer { Box::new(move |_, stream| send(stream, status, 0, b"")) };
    // The reports are absent, so the client requests the file itself.
    let file = |answer: Answer| -> Answer {
        Box::new(move |path, stream| match is_file(path) {
            true => answer(path, stream),
            false => send(stream, "404 Not Found", 0, b""),
        })
    };
    let half_size = format!("ended after {} of {} bytes", whole.len() / 2, whole.len());
    let (half, noise, endless) = (whole.clone(), whole.clone(), Duration::from_secs(60));
    let cases: [(&str, Answer, &str); 7] = [
        ("403", status("403 Forbidden"), "403"),
        ("500", status("500 Internal Server Error"), "500"),
        ("401", file(status("401 Unauthorized")), "401"),
        (
            "half a file",
            file(Box::new(move |_, stream| send(stream, "200 OK", half.len(), &half[..half.len() / 2]))),
            &half_size,
        ),
        (
            "a page",
            file(Box::new(|_, stream| send(stream, "200 OK", 13, b"<html></html>"))),
            "not a .fsym file",
        ),
        (
            "another build",
            file(Box::new(|_, stream| {
                let other = stamped(id(2).as_bytes());
                send(stream, "200 OK", other.len(), &other);
            })),
            "build id",
        ),
        (
            "silence",
            file(Box::new(move |_, stream| {
                send(stream, "200 OK", noise.len(), &noise[..100]);
                std::thread::sleep(endless);
            })),
            "within",
        ),
    ];
    for (name, answer, says) in cases {
        let folder = tempfile::tempdir().unwrap();
        // Until the server is well.
        let (is_well, file) = (Arc::new(AtomicBool::new(false)), whole.clone());
        let asked = is_well.clone();
        let address = answering(move |path, stream| match asked.load(Ordering::SeqCst) {
            false => answer(path, stream),
            true if is_file(path) => send(stream, "200 OK", file.len(), &file),
            true => send(stream, "404 Not Found", 0, b""),
        });
        let mut options = options(folder.path());
        options.patience = Duration::from_secs(3);
        let store = Store::open(&address, options).unwrap();
        let error = store.get_module(&ModuleId::from(id(1))).map(|_| ()).expect_err(name);
        let text = error.to_string();
        assert!(text.contains(says), "{name}: {text}");
        assert!(text.contains(&address), "{name}: {text}");
        let left = common::files(folder.path());
        assert!(!left.iter().any(|file| file.contains("fsym")), "{name}: {left:?}");
        // When the server is well, the same cache has the file.
        is_well.store(true, Ordering::SeqCst);
        assert_eq!(store.get_module(&ModuleId::from(id(1))).unwrap().unwrap().bytes(), whole, "{name}");
    }
    // 404 is an absence.
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&answering(status("404 Not Found")), options(folder.path())).unwrap();
    assert!(store.get_module(&ModuleId::from(id(1))).unwrap().is_none());
}

/// A server that sends a byte now and then is never silent. Others wait for the file meanwhile.
#[test]
fn a_server_that_is_slow_is_told() {
    let whole = stamped(id(1).as_bytes());
    let address = answering(move |path, stream| {
        if !path.ends_with(".fsym") {
            return send(stream, "404 Not Found", 0, b"");
        }
        send(stream, "200 OK", whole.len(), b"");
        for byte in whole.chunks(1) {
            if stream.write_all(byte).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    options.patience = Duration::from_secs(1);
    let store = Store::open(&address, options).unwrap();
    let error = store.get_module(&ModuleId::from(id(1))).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with(&address) && error.contains("too slow: "), "{error}");
}

/// A storage that takes a file and says nothing. The environment of the process belongs to the test.
#[test]
fn a_storage_that_is_silent_is_told() {
    const NAME: &str = "a_storage_that_is_silent_is_told";
    if std::env::var_os("FOLDSYM_SILENT").is_none() {
        // The client first checks for an existing object, and finds none.
        let address = answering_to(|method, _, stream| match method {
            "GET" | "HEAD" => send(stream, "404 Not Found", 0, b""),
            _ => std::thread::sleep(Duration::from_secs(60)),
        });
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", NAME, "--nocapture"]).env("FOLDSYM_SILENT", "1").env("AWS_ENDPOINT", address);
        child.env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
        child.env("AWS_ACCESS_KEY_ID", "nobody").env("AWS_SECRET_ACCESS_KEY", "nothing");
        assert!(child.status().unwrap().success());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    options.patience = Duration::from_secs(2);
    let store = Store::create("s3://symbols/all", options).unwrap();
    let write = |path: &Path| -> Result<(), StoreError> {
        std::fs::write(path, stamped(id(1).as_bytes())).unwrap();
        Ok(())
    };
    let start = Instant::now();
    let error = store.publish(&EntryInfo::default(), write).unwrap_err().to_string();
    assert!(error.contains("s3://symbols/all/") && error.contains("no answer within 2s"), "{error}");
    // The crate's own limits are minutes.
    assert!(start.elapsed() < Duration::from_secs(25), "{:?}", start.elapsed());
}

/// A server that sends without end fills neither memory nor disk.
#[test]
fn an_answer_has_a_most() {
    let folder = tempfile::tempdir().unwrap();
    let address = answering(|path, stream| {
        let zeros = vec![0_u8; 1 << 20];
        send(
            stream,
            if path.ends_with(".json") { "404 Not Found" } else { "200 OK" },
            if path.ends_with(".json") { 0 } else { 1 << 40 },
            b"",
        );
        while !path.ends_with(".json") && stream.write_all(&zeros).is_ok() {}
    });
    let mut options = options(folder.path());
    options.cache_bytes = 32 << 20;
    let store = Store::open(&address, options).unwrap();
    for module in [ModuleId::from(id(1)), ModuleId::from(DebugId::of_elf(&id(1), false))] {
        let error = store.get_module(&module).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("more than") && error.contains("bytes"), "{error}");
    }
    assert!(!common::files(folder.path()).iter().any(|file| file.contains("fsym")));
}

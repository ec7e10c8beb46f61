//! A server over a store of test programs, and a client of one connection a request.
#![allow(dead_code, reason = "no test file uses all of it")]

pub(crate) mod browser;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_server::{Bound, Config, Limits, ServeError, serve};
use foldsym_store::{BuildId, EntryInfo, LocalStore, Store, SymbolMap};
use foldsym_symbolize::Symbolizer;
use serde_json::Value;
use tempfile::TempDir;

/// A store with converted test programs.
pub(crate) struct Programs {
    _folder: TempDir,
    pub(crate) store: LocalStore,
    pub(crate) maps: Vec<SymbolMap>,
}

impl Programs {
    pub(crate) fn of(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = LocalStore::create(&folder.path().join("store")).unwrap();
        let maps = names.iter().map(|name| {
            let file = folder.path().join("converted.fsym");
            let options = Options::default().with(|options| options.threads = 1);
            convert(&program(name), &file, &options, &NoProgress).unwrap();
            let published = store.add(&file, &EntryInfo::default()).unwrap();
            store.get(published.id()).unwrap().unwrap()
        });
        let maps = maps.collect();
        Self { store, _folder: folder, maps }
    }

    pub(crate) fn id(&self, index: usize) -> BuildId {
        self.maps[index].build_id().unwrap()
    }

    pub(crate) fn debug_id(&self, index: usize) -> String {
        self.maps[index].debug_id().unwrap().to_string()
    }

    pub(crate) fn base(&self, index: usize) -> u64 {
        self.maps[index].file().header().image_base
    }

    pub(crate) fn symbolizer(&self) -> Symbolizer {
        Symbolizer::builder().store(Store::Local(self.store.clone())).demangle(false).build().unwrap()
    }

    pub(crate) fn server(&self, limits: Limits) -> Server {
        let mut config = Config::new(self.symbolizer());
        config.stores.push(Store::Local(self.store.clone()));
        (config.limits, config.metrics) = (limits, true);
        Server::start(config)
    }
}

pub(crate) fn program(name: &str) -> PathBuf {
    foldsym_testbins::root().join("built").join(name)
}

/// A server in this process.
pub(crate) struct Server {
    pub(crate) bound: Bound,
    pub(crate) thread: JoinHandle<Result<(), ServeError>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Server {
    pub(crate) fn start(config: Config) -> Self {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || serve(config, |bound| sender.send(bound).unwrap()));
        Self { bound: receiver.recv_timeout(Duration::from_secs(20)).unwrap(), thread }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.bound.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    pub(crate) fn ask(&self, head: &str, body: &[u8]) -> Response {
        ask(self.bound.address, head, body)
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.ask(&format!("GET {path} HTTP/1.1"), b"")
    }

    pub(crate) fn post(&self, path: &str, body: &[u8]) -> Response {
        self.ask(&format!("POST {path} HTTP/1.1"), body)
    }
}

/// Sends a request over its own connection. `head` is the request line, and may have further headers.
pub(crate) fn ask(address: SocketAddr, head: &str, body: &[u8]) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let host = if head.contains("\r\nHost:") { String::new() } else { format!("\r\nHost: {address}") };
    let head = format!("{head}{host}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    // The server may refuse before it has read everything.
    let _ = stream.write_all(body);
    read(&mut stream)
}

/// Reads a response: as much as its head says, else to the end of the connection.
pub(crate) fn read(stream: &mut TcpStream) -> Response {
    let (mut bytes, mut piece) = (Vec::new(), [0; 1 << 16]);
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let head = end.map(|end| String::from_utf8(bytes[..end].to_vec()).unwrap());
        let len = head.as_ref().and_then(|head| {
            let mut lines = head.lines().map(str::to_ascii_lowercase);
            lines.find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok())
        });
        if let (Some(end), Some(len)) = (end, len)
            && bytes.len() >= end + 4 + len
        {
            break;
        }
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&piece[..count]),
            _ => break,
        }
    }
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("the head of a response");
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response { status, head, body: bytes[end + 4..].to_vec() }
}

//! Clients that are slow to send a request or to read the response, and more connections than the limit.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::{Programs, Server, read};
use foldsym_server::Limits;

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asks for an answer that is larger than what the system keeps of a connection, and reads its first byte.
fn ask_and_leave(server: &Server) -> TcpStream {
    let body = format!("{{\"modules\":[],\"frames\":[{}1]}}", "1,".repeat(120_000));
    let mut stream = server.connect();
    let head = "POST /symbolicate HTTP/1.1\r\nHost: localhost\r\n";
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    stream.read_exact(&mut [0]).unwrap();
    stream
}

/// A request has its place until its answer was sent. A client that does not read gives it back after a while, with its connection.
#[test]
fn who_reads_nothing_has_a_place_for_a_while_alone() {
    let programs = Programs::of(&[]);
    let mut limits = Limits::default();
    (limits.requests, limits.unread) = (2, Duration::from_secs(4));
    let unread = limits.unread;
    let server = programs.server(limits);
    let begun = Instant::now();
    let mut waiting = [ask_and_leave(&server), ask_and_leave(&server)];
    let status = || server.post("/symbolicate/v5", b"{\"jobs\":[]}").status;
    let busy = status();
    // A machine may be so slow that the first client was sent away before.
    assert!(busy == 503 || begun.elapsed() >= unread, "{busy}");
    // The one that asks is counted too.
    let is_alone = || {
        let metrics = server.get("/metrics");
        metrics.status == 200 && String::from_utf8_lossy(&metrics.body).contains("requests_running 1\n")
    };
    until("the places are given back", is_alone);
    assert_eq!(status(), 200);
    for stream in &mut waiting {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!rest.ends_with(b"}\n"), "it was not sent whole");
    }
    // A client that reads gets the whole response.
    let mut stream = ask_and_leave(&server);
    let mut rest = b"H".to_vec();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    while !rest.ends_with(b"}\n") {
        let mut piece = [0; 1 << 16];
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the answer ended early");
        rest.extend_from_slice(&piece[..count]);
    }
    assert!(rest.len() > 10 << 20, "{}", rest.len());
    until("its place is given back", is_alone);
}

#[test]
fn connections_over_the_limit_wait() {
    let programs = Programs::of(&[]);
    let mut limits = Limits::default();
    limits.connections = 1;
    let server = programs.server(limits);
    let first = server.connect();
    let mut second = server.connect();
    second.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    second.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let nothing = second.read(&mut [0]).unwrap_err();
    assert!(matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{nothing}");
    drop(first);
    second.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(read(&mut second).status, 200);
}

#[test]
fn a_head_that_does_not_come_ends_the_connection() {
    let programs = Programs::of(&[]);
    let mut limits = Limits::default();
    limits.head = Duration::from_millis(200);
    let server = programs.server(limits);
    let mut stream = server.connect();
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: lo").unwrap();
    let mut said = Vec::new();
    let ended = stream.read_to_end(&mut said);
    assert!(ended.is_ok(), "{ended:?}");
    assert!(!String::from_utf8_lossy(&said).contains("200 OK"));
}

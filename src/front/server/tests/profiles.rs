//! Exports of profiles by the protocol of OpenTelemetry.

mod common;

use std::path::Path;

use common::Server;
use foldsym_server::{Config, Limits};
use foldsym_symbolize::Symbolizer;

fn report(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tests/reports").join(name))
        .unwrap()
}

#[test]
fn an_export_is_answered_and_symbolized() {
    let search = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tests/reports/mail");
    let symbolizer = Symbolizer::builder().search([search]).build().unwrap();
    let mut config = Config::new(symbolizer);
    config.limits = Limits::default();
    let server = Server::start(config);
    let post = |query: &str, kind: &str, body: &[u8]| {
        server.ask(&format!("POST /v1development/profiles{query} HTTP/1.1\r\nContent-Type: {kind}"), body)
    };
    let (protobuf, json) = ("application/x-protobuf", "application/json; charset=utf-8");
    for (kind, name, empty) in [(protobuf, "mail.otlp", &b""[..]), (json, "mail.otlp.json", &b"{}"[..])] {
        let body = report(name);
        let taken = post("", kind, &body);
        assert_eq!((taken.status, &taken.body[..]), (200, empty), "{taken:?}");
        assert_eq!(taken.header("content-type"), kind.split(';').next());
        let named = post("?symbolized", kind, &body);
        assert_eq!(named.status, 200);
        let text = String::from_utf8_lossy(&named.body);
        assert!(text.contains("weigh_letter(long)"), "{text}");
        // An answer that has its names is not changed.
        assert_eq!(post("?symbolized", kind, &named.body).body, named.body);
    }
    for (kind, body) in [
        (protobuf, &b"{}"[..]),
        (json, &report("mail.otlp")[..]),
        ("text/plain", &report("mail.otlp")[..]),
        (protobuf, &report("mail.otlp.json")[..]),
        (protobuf, &b"\x12\xff"[..]),
    ] {
        let refused = post("", kind, body);
        assert_eq!(refused.status, 400, "{kind}: {refused:?}");
        assert!(refused.json()["error"].is_string());
    }
}

//! Paths that come from logs and requests are opened only if they are regular files: a FIFO waits for ever, and a device may not end.

#![cfg(all(unix, feature = "convert"))]

use crate::common;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::command;

/// Runs the command, which must end soon.
fn ends(args: &[&str], input: &str) -> String {
    let mut child = command()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("{args:?} waits: {input}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let ran = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
}

fn odd_paths(folder: &Path) -> [String; 3] {
    let fifo = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let link = folder.join("link");
    std::os::unix::fs::symlink(&fifo, &link).unwrap();
    [fifo, link, "/dev/zero".into()].map(|path| path.to_str().unwrap().to_owned())
}

#[test]
fn paths_of_logs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for path in odd_paths(folder) {
        let log = format!(
            "    #0 0x1234  ({path}+0x10) (BuildId: abcdef0123456789)\n{path}(+0x1234) [0x7f0000001234]\n"
        );
        assert!(ends(&["filter", "--open-paths"], &log).contains(&path));
        ends(&["filter", "--search", &path], &log);
        let report = folder.join("report.json");
        let modules = format!("[{{\"name\":\"{path}\",\"base\":\"0x1000\"}}]");
        std::fs::write(&report, format!("{{\"modules\":{modules},\"frames\":[\"0x1010\"]}}\n")).unwrap();
        ends(&["symbolize", "--open-paths", report.to_str().unwrap()], "");
        let asan = folder.join("asan.txt");
        let text = format!(
            "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0\n    #0 0x1234  ({path}+0x10)\n"
        );
        std::fs::write(&asan, text).unwrap();
        ends(&["symbolize", "--open-paths", asan.to_str().unwrap()], "");
        ends(&["lookup", "--open-paths"], &format!("{path} 0x10\n"));
    }
}

#[test]
fn paths_of_requests() {
    let folder = tempfile::tempdir().unwrap();
    for path in odd_paths(folder.path()) {
        for tool in ["llvm-symbolizer", "llvm-addr2line"] {
            ends(&[tool], &format!("{path} 0x10\nCODE {path} 0x20\nDATA {path} 0x20\n"));
        }
        let said = ends(&["addr2line", "-e", &path, "0x10"], "");
        assert!(said.contains("expected a file"), "{said}");
    }
    // What the user names may be a pipe, but only a symbol file is read to its end.
    let said = ends(&["lookup", "/dev/zero", "0x10"], "");
    assert!(said.contains("/dev/zero"), "{said}");
}

//! `foldsym serve` as a process: it prints its address, answers as `foldsym stack` does, and ends on a signal.
#![cfg(all(feature = "serve", unix))]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use common::{Fsym, command, foldsym, foldsym_with};

fn post(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("POST /symbolicate HTTP/1.1\r\nHost: {address}\r\nConnection: close");
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{response}");
    body.to_owned()
}

#[test]
fn a_server_from_its_start_to_a_signal() {
    let fsym = Fsym::of("demo.elf", &[]);
    let store = fsym.folder.path().join("symbols");
    let store = store.to_str().unwrap();
    let added = foldsym(&["store", "add", store, fsym.str(), "--json"]);
    let id = added.json()[0]["BuildId"].as_str().unwrap().to_owned();
    let unused = fsym.folder.path().join("unused");
    let unused = unused.to_str().unwrap();
    let serve = ["serve", "--store", store, "--read-only", "--cache", unused, "--listen", "127.0.0.1:0"];
    let mut child = command().args(serve).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().trim_end_matches('/');
    let frames = r#"["0x20129b","0x201fbd","0x201e8d","0x2018f9"]"#;
    let stack =
        format!(r#"{{"id":7,"modules":[{{"id":"{id}","name":"d","base":"0x200000"}}],"frames":{frames}}}"#);
    // The user's own cache may have the program, converted with columns.
    let cache = fsym.folder.path().join("cache");
    let cache = cache.to_str().unwrap();
    let printed =
        foldsym_with(&["stack", "--cache", cache, "--store", store, "--json"], &format!("{stack}\n"));
    assert!(printed.out.contains("demo::crash()"), "{printed:?}");
    assert_eq!(post(address, &stack), printed.out);
    // The address is taken.
    let second = foldsym(&["serve", "--store", store, "--listen", address]);
    assert!(second.code == 3 && second.err.contains("cannot listen on"), "{second:?}");

    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let out = child.wait_with_output().unwrap();
    let log = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(0), "{log}");
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["path"], &lines[0]["frames"]), (&"/symbolicate".into(), &4.into()));
    assert_eq!(lines.last().unwrap()["event"], "stopping");
    assert_eq!(foldsym(&["serve", "--listen", "127.0.0.1:0"]).code, 2);
    assert!(!std::path::Path::new(unused).exists());
    // Files of a remote store need a cache folder, and with --read-only the default one must not be used.
    let remote = foldsym(&["serve", "--store", "https://127.0.0.1:9/symbols", "--read-only"]);
    assert!(remote.code == 2 && remote.err.contains("--cache DIR"), "{remote:?}");
}

/// Idle connections leave descriptors for the files that answer.
#[test]
fn idle_connections_leave_descriptors_for_files() {
    let fsym = Fsym::of("demo.elf", &[]);
    let store = fsym.folder.path().join("symbols");
    let store = store.to_str().unwrap();
    let added = foldsym(&["store", "add", store, fsym.str(), "--json"]);
    let id = added.json()[0]["BuildId"].as_str().unwrap().to_owned();
    let program = command();
    let line = format!(
        "ulimit -n 200 && exec '{}' serve --store '{store}' --read-only --listen 127.0.0.1:0 --threads 2",
        program.get_program().to_str().unwrap()
    );
    let mut child =
        Command::new("sh").args(["-c", &line]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut first = TcpStream::connect(address).unwrap();
    // A part of a head, so that the server has accepted it.
    let body =
        format!(r#"{{"modules":[{{"id":"{id}","name":"d","base":"0x200000"}}],"frames":["0x20129b"]}}"#);
    write!(first, "POST /symbolicate HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n").unwrap();
    let idle: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    std::thread::sleep(std::time::Duration::from_millis(500));
    write!(first, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut response = String::new();
    first.read_to_string(&mut response).unwrap();
    drop(idle);
    child.kill().unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(response.contains("demo::"), "{response}\n{}", String::from_utf8_lossy(&out.stderr));
}

/// Built with the feature `remote` of `foldsym-store`, as the command is.
#[test]
fn files_of_remote_stores_are_kept_in_the_cache_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let location = |name: &str| {
        let stores = std::fs::read_dir(folder.path().join(name).join("remote")).ok()?;
        let one = stores.map(|store| store.unwrap().path().join("location")).next()?;
        std::fs::read_to_string(one).ok()
    };
    // No server answers there.
    let store = ["--store", "http://127.0.0.1:1/symbols"];
    let lookup = ["lookup", "--cache", &path("lookup"), "0123456789abcdef:0x10"];
    let ran = command().args(lookup).args(store).env("FOLDSYM_CACHE", path("own")).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    if text.contains("feature `remote`") {
        return println!("skipped: needs the feature remote");
    }
    let serve = ["serve", "--listen", "127.0.0.1:0", "--cache", &path("serve")];
    let mut child = command();
    child.args(serve).args(store).env("FOLDSYM_CACHE", path("own")).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    for name in ["lookup", "serve"] {
        assert_eq!(location(name).as_deref(), Some("http://127.0.0.1:1/symbols\n"), "{name}: {text}");
    }
    assert!(!folder.path().join("own").exists());
}

/// The most memory that a process had so far, in kilobytes.
#[cfg(target_os = "linux")]
fn peak(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().split(' ').next().unwrap().parse().unwrap()
}

/// Reports that were made to take memory, and clients that do not read their answers.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_within_its_budget() {
    const MEMORY: usize = 256 << 20;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().to_str().unwrap();
    let memory = MEMORY.to_string();
    let cache = folder.path().join("cache");
    let serve =
        ["serve", "--search", store, "--listen", "127.0.0.1:0", "--threads", "2", "--memory", &memory];
    let mut child = command();
    child.args(serve).args(["--cache", cache.to_str().unwrap()]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
    let ask = |path: &str, body: &[u8]| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close");
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
        // The server may refuse before it has read everything.
        let _ = stream.write_all(body);
        let mut status = [0; 12];
        let _ = stream.read_exact(&mut status);
        (stream, String::from_utf8_lossy(&status[9..]).into_owned())
    };
    let heading = format!("==1==ERROR: AddressSanitizer: {}\n#0 0x1 (a+0x1)\n", "h".repeat(1000));
    let stacks = [heading.as_str(), &"#0 0x1\n".repeat(2_000_000)].concat();
    let lists = format!("{{\"memoryMap\":[],\"stacks\":[{}[]]}}", "[],".repeat(5_000_000));
    let lines = "{\"modules\":[],\"frames\":[]}\n".repeat(500_000);
    let long = format!(
        "{{\"modules\":[{{\"name\":\"{}\",\"base\":16}}],\"frames\":[{}17]}}",
        "n".repeat(200_000),
        "17,".repeat(100_000)
    );
    for body in [&stacks, &lists, &lines, &long] {
        for path in ["/symbolicate", "/symbolicate/v5"] {
            let (mut stream, _) = ask(path, body.as_bytes());
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    }
    // An answer has some 13 MB.
    let frames = format!("{{\"modules\":[],\"frames\":[{}1]}}", "1,".repeat(120_000));
    let unread: Vec<_> = (0..14).map(|_| ask("/symbolicate", frames.as_bytes())).collect();
    let refused = unread.iter().filter(|(_, status)| status == "503").count();
    let peak = peak(child.id());
    drop(unread);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refused > 0, "all answers fit");
    // The program itself, and what the allocator keeps, are no part of the budget.
    assert!(peak < MEMORY / 1024 * 3 / 2 + 100_000, "{peak} kB");
}

/// A program is converted in a process of its own. Where it needs more than that may have, the answer says so, and the server goes on.
#[test]
fn a_conversion_has_a_part_of_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::copy(common::program("demo.elf"), tree.join("app")).unwrap();
    let paths = [&tree, &folder.path().join("cache")].map(|path| path.to_str().unwrap().to_owned());
    let stack = r#"{"modules":[{"name":"app","base":"0x200000"}],"frames":["0x20129b","0x201fbd"]}"#;
    let line = format!("{stack}\n");
    let alone = foldsym_with(&["stack", "--search", &paths[0], "--cache", &paths[1], "--json"], &line);
    assert!(alone.out.contains("demo::crash()"), "{alone:?}");
    // This command is a program of many million bytes.
    let large = command().get_program().to_str().unwrap().to_owned();
    let of_large = r#"{"modules":[{"name":"foldsym","base":"0x0"}],"frames":["0x100000"]}"#;
    for (memory, search, stack) in [("1073741824", &paths[0], stack), ("67108864", &large, of_large)] {
        let cache = folder.path().join(memory);
        let args = ["--search", search, "--cache", cache.to_str().unwrap(), "--listen", "127.0.0.1:0"];
        // Of the least body, so that the memory is no more than was asked for.
        let args = [&["serve", "--memory", memory, "--max-body", "65536"][..], &args].concat();
        let mut child = command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().trim_end_matches('/');
        let answer = post(address, stack);
        if search == &paths[0] {
            assert_eq!(answer, alone.out);
        } else if cfg!(target_os = "linux") {
            assert!(answer.contains("foldsym: its conversion ended before it was done"), "{answer}");
            assert_eq!(post(address, stack), answer);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

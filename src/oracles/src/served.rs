//! `foldsym serve` as a process, and requests to it: what both kinds of soak need.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use xtask::sh;

/// Megabytes of so many kilobytes.
pub(crate) fn mb(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// `foldsym serve` as a process. It ends when this is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts it with a symbol file and more arguments. Its log is in the folder `scratch`.
    pub(crate) fn start(
        foldsym: &Path,
        symbols: &Path,
        scratch: &Path,
        more: &[&str],
    ) -> Result<Self, String> {
        let log = std::fs::File::create(scratch.join("log")).map_err(|error| error.to_string())?;
        let mut command = Command::new(foldsym);
        command
            .args(["serve", "--read-only", "--metrics", "--listen", "127.0.0.1:0", "--search"])
            .arg(symbols)
            .args(more);
        let mut child =
            command.stdout(Stdio::piped()).stderr(log).spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("no output")?;
        BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { child, address })
    }

    /// Frames that it says it answered.
    pub(crate) fn frames(&self) -> Result<u64, String> {
        let failed = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect(&self.address).map_err(failed)?;
        let head = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(head.as_bytes()).map_err(failed)?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map_err(failed)?;
        let count = text.lines().find_map(|line| line.strip_prefix("foldsym_frames_total "));
        count.and_then(|count| count.trim().parse().ok()).ok_or_else(|| format!("no count of frames: {text}"))
    }

    /// Kilobytes: `VmRSS:` as they are, `VmHWM:` the most that there were.
    pub(crate) fn memory(&self, field: &str) -> Result<u64, String> {
        let text = sh::read(Path::new(&format!("/proc/{}/status", self.child.id())))?;
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
            .ok_or_else(|| format!("no {field}"))
    }
}

/// Connects to the server.
pub(crate) fn connect(address: &str) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(Duration::from_secs(120))).map_err(|error| error.to_string())?;
    Ok(stream)
}

/// A request, but for its body.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    pub(crate) address: &'r str,
    pub(crate) path: &'r str,
    /// Lines of the head, each with its end.
    pub(crate) more: &'r str,
}

impl Request<'_> {
    /// Sends it with `sent` bytes of its body.
    pub(crate) fn send(&self, stream: &mut TcpStream, body: &[u8], sent: usize) -> Result<(), String> {
        let Self { address, path, more } = self;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\n{more}Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut write = |bytes: &[u8]| stream.write_all(bytes).map_err(|error| error.to_string());
        write(head.as_bytes())?;
        write(&body[..sent])
    }
}

/// Asks once for stacks or a report, over a connection that stays open, as clients of HTTP/1.1 keep theirs. `Err` for an answer that is none.
pub(crate) fn ask(
    stream: &mut BufReader<TcpStream>,
    address: &str,
    body: impl AsRef<[u8]>,
) -> Result<Vec<u8>, String> {
    let request = Request { address, path: "/symbolicate", more: "" };
    let body = body.as_ref();
    request.send(stream.get_mut(), body, body.len())?;
    let failed = |error: std::io::Error| error.to_string();
    let (mut head, mut length) = (String::new(), None);
    loop {
        let before = head.len();
        if stream.read_line(&mut head).map_err(failed)? == 0 {
            return Err("no head".to_owned());
        }
        let line = head[before..].trim_end();
        if line.is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        length = lower.strip_prefix("content-length:").and_then(|text| text.trim().parse().ok()).or(length);
    }
    let mut answer = vec![0; length.ok_or("an answer without its length")?];
    stream.read_exact(&mut answer).map_err(failed)?;
    if head.starts_with("HTTP/1.1 200 ") { Ok(answer) } else { Err(head) }
}

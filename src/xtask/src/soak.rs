//! `cargo xtask soak`: 64 clients ask `foldsym serve` for as long as one likes, and some of them break off at random. No request of the others may
//! fail, each answer has the bytes of the first, the server's memory stays flat, and its processor time a frame is compared with that of
//! `foldsym stack --json` over the same lines.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::sh;

const HELP: &str = "cargo xtask soak [--seconds N] [--clients N]

  --seconds N  600 without it
  --clients N  64 without it";

/// Lines of a request, as crash services batch them.
const LINES: usize = 200;
/// One in so many requests is broken off.
const KILLED: u64 = 16;
/// What memory may grow by from the first quarter of the run to its end: buffers of as many requests as may meet.
const GROWTH_KB: u64 = 32 << 10;
/// Times that the comparison repeats a request.
const REPEATS: usize = 50;

struct Options {
    seconds: u64,
    clients: u64,
}

fn parse(args: &[String]) -> Result<Option<Options>, String> {
    let mut options = Options { seconds: 600, clients: 64 };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let slot = match arg.as_str() {
            "--help" => return Ok(None),
            "--seconds" => &mut options.seconds,
            "--clients" => &mut options.clients,
            other => return Err(format!("unknown argument {other}\n{HELP}")),
        };
        let value = args.next().and_then(|value| value.parse().ok()).filter(|value| *value > 0);
        *slot = value.ok_or_else(|| format!("{arg} needs a number"))?;
    }
    Ok(Some(options))
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let Some(options) = parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    sh::run(sh::cargo().args(["build", "--quiet", "--release", "-p", "foldsym", "--features", "serve"]))?;
    let foldsym = sh::target_dir().join("release/foldsym");
    let scratch = sh::scratch("soak")?;
    let set = sh::root().join("testbins/built/fold.clang-lld.set");
    let symbols = scratch.join("program.fsym");
    sh::run(
        Command::new(&foldsym).args(["convert", "--quiet"]).arg(set.join("program")).arg("-o").arg(&symbols),
    )?;
    let (body, frames) = body(&sh::read(&set.join("stacks"))?);
    let lines = scratch.join("lines");
    std::fs::write(&lines, body.repeat(REPEATS)).map_err(|error| error.to_string())?;
    let process = in_process(&foldsym, &symbols, &lines, frames * REPEATS as u64)?;
    let server = Server::start(&foldsym, &symbols, &scratch)?;
    let load = load(&server, &options, &body)?;
    let mine = load.seconds / (load.answered * frames).max(1) as f64;
    println!(
        "soak: {} requests of {frames} frames answered, {} broken off, {} failed, {} differ",
        load.answered, load.killed, load.failed, load.differ
    );
    println!(
        "soak: processor time a frame: server {:.2} us, in process {:.2} us: {:.2} times (bar 1.25)",
        mine * 1e6,
        process * 1e6,
        mine / process
    );
    println!(
        "soak: memory of the server, MB: {:.1} at a quarter, {:.1} at the end",
        mb(load.memory[0]),
        mb(load.memory[1])
    );
    if load.failed + load.differ > 0 || load.answered == 0 {
        return Err("requests failed".to_owned());
    }
    if load.memory[1] > load.memory[0] + GROWTH_KB {
        return Err("the server's memory grows".to_owned());
    }
    Ok(())
}

fn mb(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// Lines of recorded stacks as JSON, and how many frames they have.
fn body(stacks: &str) -> (String, u64) {
    let (mut body, mut frames) = (String::new(), 0);
    for line in stacks.lines().cycle().take(LINES) {
        let addresses: Vec<String> = line
            .split('|')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(3)
            .enumerate()
            .map(|(at, address)| {
                let kind = if at == 0 { "exact" } else { "return" };
                format!("{{\"module\":0,\"address\":\"{address}\",\"kind\":\"{kind}\"}}")
            })
            .collect();
        frames += addresses.len() as u64;
        body += &format!("{{\"modules\":[{{\"name\":\"program\"}}],\"frames\":[{}]}}\n", addresses.join(","));
    }
    (body, frames)
}

/// Seconds of processor time of a process, from the fields that begin at `first` (proc_pid_stat(5)).
fn seconds(process: &str, first: usize) -> Result<f64, String> {
    let text = sh::read(Path::new(&format!("/proc/{process}/stat")))?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((ticks(first) + ticks(first + 1)) / 100.0)
}

/// Seconds a frame of the engine and its JSON in one process, which reads lines and writes them.
fn in_process(foldsym: &Path, symbols: &Path, lines: &Path, frames: u64) -> Result<f64, String> {
    let before = seconds("self", 13)?;
    let input = std::fs::File::open(lines).map_err(|error| error.to_string())?;
    let mut command = Command::new(foldsym);
    command.args(["stack", "--json", "--search"]).arg(symbols).stdin(input).stdout(Stdio::null());
    sh::run(&mut command)?;
    Ok((seconds("self", 13)? - before) / frames as f64)
}

struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(foldsym: &Path, symbols: &Path, scratch: &Path) -> Result<Self, String> {
        let log = std::fs::File::create(scratch.join("log")).map_err(|error| error.to_string())?;
        let mut command = Command::new(foldsym);
        command
            .args(["serve", "--read-only", "--metrics", "--listen", "127.0.0.1:0", "--search"])
            .arg(symbols);
        let mut child =
            command.stdout(Stdio::piped()).stderr(log).spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("no output")?;
        BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { child, address })
    }

    fn memory(&self) -> Result<u64, String> {
        let text = sh::read(Path::new(&format!("/proc/{}/status", self.child.id())))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
            .ok_or_else(|| "no VmRSS".to_owned())
    }
}

/// What the clients saw together.
#[derive(Default)]
struct Load {
    answered: u64,
    killed: u64,
    failed: u64,
    differ: u64,
    /// Of the server.
    seconds: f64,
    /// Kilobytes at a quarter of the time, and at the end.
    memory: [u64; 2],
}

/// Asks once. `Err` for an answer that is none.
fn ask(address: &str, body: &str, breaks_off: bool) -> Result<Option<Vec<u8>>, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(120))).map_err(failed)?;
    let head = format!(
        "POST /symbolicate HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).map_err(failed)?;
    if breaks_off {
        // In the middle of the request, or of the answer.
        let _ = stream.write_all(
            &body.as_bytes()[..if body.len().is_multiple_of(2) { body.len() } else { body.len() / 2 }],
        );
        let _ = stream.read(&mut [0; 1024]);
        return Ok(None);
    }
    stream.write_all(body.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(failed)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or("no head")?;
    if !answer.starts_with(b"HTTP/1.1 200 ") {
        return Err(String::from_utf8_lossy(&answer[..end]).into_owned());
    }
    Ok(Some(answer.split_off(end + 4)))
}

fn load(server: &Server, options: &Options, body: &str) -> Result<Load, String> {
    let expected = ask(&server.address, body, false)?.ok_or("no answer")?;
    let process = server.child.id().to_string();
    let before = seconds(&process, 11)?;
    let counts: [AtomicU64; 4] = Default::default();
    let stop = AtomicBool::new(false);
    let mut memory = [0; 2];
    let start = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..options.clients {
            let (counts, stop, expected) = (&counts, &stop, &expected);
            scope.spawn(move || {
                let mut random = client.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                while !stop.load(Ordering::Relaxed) {
                    // xorshift64: which requests break off is no secret.
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let slot = match ask(&server.address, body, random % KILLED == 0) {
                        Ok(None) => 1,
                        Ok(Some(answer)) if answer == *expected => 0,
                        Ok(Some(_)) => 3,
                        Err(error) => {
                            eprintln!("soak: {error}");
                            2
                        }
                    };
                    counts[slot].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut wait = |part: u64, slot: usize| {
            let until = Duration::from_secs(options.seconds) * part as u32 / 4;
            std::thread::sleep(until.saturating_sub(start.elapsed()));
            memory[slot] = server.memory().unwrap_or(u64::MAX);
        };
        wait(1, 0);
        wait(4, 1);
        stop.store(true, Ordering::Relaxed);
    });
    let [answered, killed, failed, differ] = counts.map(AtomicU64::into_inner);
    let seconds = seconds(&process, 11)? - before;
    Ok(Load { answered, killed, failed, differ, seconds, memory })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_stacks_are_lines_of_json() {
        let (body, frames) = body("stack 0x0 - 0x10 0x20 | a b\n");
        assert_eq!((body.lines().count(), frames), (LINES, 2 * LINES as u64));
        assert!(body.starts_with("{\"modules\":[{\"name\":\"program\"}],\"frames\":[{\"module\":0,\"address\":\"0x10\",\"kind\":\"exact\"},"));
    }

    #[test]
    fn arguments() {
        let of = |args: &[&str]| parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["--seconds", "5"]).unwrap().unwrap().seconds, 5);
        assert!(of(&["--seconds"]).is_err() && of(&["x"]).is_err() && of(&["--help"]).unwrap().is_none());
    }
}

//! `cargo xtask soak`: 64 clients ask `foldsym serve` for as long as one likes, and some of them break off at random, each in one of the
//! ways of [`Break`]. No request of the others may fail, each answer has the bytes of the first, the server's memory stays flat, and its
//! processor time a frame is compared with that of `foldsym stack --json` over the same lines, which runs again and again meanwhile.

use std::io::{BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::results;
use crate::served::{Request, Server, ask, connect, mb};
use crate::soak_hostile;
use xtask::sh;

const HELP: &str = "cargo xtask soak [--hostile] [--seconds N] [--clients N] [--foldsym PATH] [--publish]

  --hostile    ordinary clients beside those that read nothing, send slowly, send hostile reports and ask for what a silent
               remote store has: the memory of the server stays below its --memory. Takes --seconds and --foldsym alone
  --seconds N  600 without it
  --clients N  64 without it
  --foldsym PATH  the command, with its server (default: the workspace's release build, which is made)
  --publish    writes the result to benches/results/DATE-soak.md";

/// Lines of a request, as crash services batch them.
const LINES: usize = 200;
/// One in so many requests is broken off.
const KILLED: u64 = 16;
/// What memory may grow by from the first quarter of the run to its end: buffers of as many requests as may meet.
const GROWTH_KB: u64 = 32 << 10;
/// Times that the comparison repeats a request, and how often it runs: each takes some half of a second, as the system counts processor time
/// in hundredths.
const REPEATS: usize = 500;
const COMPARISONS: u32 = 8;
/// What the server's processor time a frame may be, in that of one process which reads lines and writes them.
const BAR: f64 = 1.25;
/// How long a client says nothing in the middle of a request.
const SILENCE: Duration = Duration::from_secs(3);

/// How a client breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    /// It closes in the middle of the request.
    HalfRequest,
    /// It says nothing for a while in the middle of the request, then closes.
    Silence,
    /// It closes before the answer.
    BeforeAnswer,
    /// Its system resets the connection in the middle of the request: it closes with something that it did not read.
    Reset,
    /// It closes when the answer has begun, and reads no more of it, which resets the connection too.
    InAnswer,
}

const BREAKS: [Break; 5] =
    [Break::HalfRequest, Break::Silence, Break::BeforeAnswer, Break::Reset, Break::InAnswer];

struct SoakOptions {
    seconds: u64,
    clients: u64,
    foldsym: Option<PathBuf>,
    publish: bool,
    hostile: bool,
}

fn parse(args: &[String]) -> Result<Option<SoakOptions>, String> {
    let mut options =
        SoakOptions { seconds: 600, clients: 64, foldsym: None, publish: false, hostile: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let slot = match arg.as_str() {
            "--help" => return Ok(None),
            "--foldsym" => {
                options.foldsym = Some(args.next().ok_or("--foldsym needs a path")?.into());
                continue;
            }
            "--publish" => {
                options.publish = true;
                continue;
            }
            "--hostile" => {
                options.hostile = true;
                continue;
            }
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
    let foldsym = results::command_with_server(options.foldsym.as_deref())?;
    let scratch = sh::scratch("soak")?;
    let set = sh::root().join("testbins/built/fold.clang-lld.set");
    let symbols = scratch.join("program.fsym");
    sh::run(
        Command::new(&foldsym).args(["convert", "--quiet"]).arg(set.join("program")).arg("-o").arg(&symbols),
    )?;
    let (body, frames) = body(&sh::read(&set.join("stacks"))?);
    if options.hostile {
        let length = Duration::from_secs(options.seconds);
        return soak_hostile::run(&foldsym, &symbols, &scratch, &body, length);
    }
    let lines = scratch.join("lines");
    std::fs::write(&lines, body.repeat(REPEATS)).map_err(|error| error.to_string())?;
    let server = Server::start(&foldsym, &symbols, &scratch, &[])?;
    let compare = || in_process(&foldsym, &symbols, &lines, frames * REPEATS as u64);
    let load = load(&server, &options, &body, compare)?;
    let mine = load.seconds / load.frames.max(1) as f64;
    let ratio = mine / load.in_process;
    let broken: Vec<String> =
        BREAKS.iter().zip(load.broken).map(|(kind, count)| format!("{kind:?} {count}")).collect();
    let text = format!(
        "{} clients, {} seconds: {} requests of {frames} frames answered, {} failed, {} differ; broken off: {}.\n\n\
         Processor time a frame: server {:.2} us, in process {:.2} us: {ratio:.3} times (bar {BAR}).\n\n\
         Memory of the server, MB: {:.1} at a quarter, {:.1} at the end; highest {:.1}.\n",
        options.clients,
        options.seconds,
        load.answered,
        load.failed,
        load.differ,
        broken.join(", "),
        mine * 1e6,
        load.in_process * 1e6,
        mb(load.memory[0]),
        mb(load.memory[1]),
        mb(server.memory("VmHWM:")?)
    );
    print!("{text}");
    if options.publish {
        let command = format!("cargo xtask soak --seconds {} --clients {}", options.seconds, options.clients);
        let (title, foldsym) = ("The server under load", options.foldsym.as_deref());
        results::publish(
            &results::Page { name: "soak", title, command: &command, tools: &[], foldsym },
            &text,
        )?;
    }
    if load.failed + load.differ > 0 || load.answered == 0 {
        return Err("requests failed".to_owned());
    }
    if load.memory[1] > load.memory[0] + GROWTH_KB {
        return Err("the server's memory grows".to_owned());
    }
    if ratio > BAR {
        return Err(format!("a frame takes {ratio:.3} times the processor time, more than {BAR}"));
    }
    Ok(())
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

/// What the clients saw together.
#[derive(Default)]
struct Load {
    answered: u64,
    failed: u64,
    differ: u64,
    /// By the way of breaking off.
    broken: [u64; BREAKS.len()],
    /// Processor time of the server, and the frames that it answered meanwhile: those of clients that broke off while they were answered too.
    seconds: f64,
    frames: u64,
    /// Seconds a frame of the comparison.
    in_process: f64,
    /// Kilobytes at a quarter of the time, and at the end.
    memory: [u64; 2],
}

/// Connects for a request that is broken off.
fn begin(address: &str, body: &str, sent: usize, more: &str) -> Result<TcpStream, String> {
    let mut stream = connect(address)?;
    let request = Request { address, path: "/symbolicate", more };
    request.send(&mut stream, body.as_bytes(), sent)?;
    Ok(stream)
}

/// Breaks a request off. A connection that is closed with something to read is reset by the system (RFC 1122 4.2.2.13).
fn break_off(address: &str, body: &str, kind: Break) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let (half, whole) = (body.len() / 2, body.len());
    match kind {
        Break::HalfRequest => drop(begin(address, body, half, "")?),
        Break::Silence => {
            let stream = begin(address, body, half, "")?;
            std::thread::sleep(SILENCE);
            drop(stream);
        }
        Break::BeforeAnswer => drop(begin(address, body, whole, "")?),
        Break::Reset => {
            // The server says "100 Continue" when it wants the body.
            let stream = begin(address, body, half, "Expect: 100-continue\r\n")?;
            stream.peek(&mut [0; 16]).map_err(failed)?;
        }
        Break::InAnswer => {
            let mut stream = begin(address, body, whole, "")?;
            stream.read_exact(&mut [0; 512]).map_err(failed)?;
        }
    }
    Ok(())
}

/// What clients count, all together.
#[derive(Default)]
struct Outcomes {
    answered: AtomicU64,
    failed: AtomicU64,
    differ: AtomicU64,
    broken: [AtomicU64; BREAKS.len()],
}

/// One client, until `stop`.
fn client(number: u64, address: &str, body: &str, expected: &[u8], counts: &Outcomes, stop: &AtomicBool) {
    let mut connection: Option<BufReader<TcpStream>> = None;
    let mut random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while !stop.load(Ordering::Relaxed) {
        // xorshift64: which requests break off is no secret.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let slot = if random.is_multiple_of(KILLED) {
            let way = (random / KILLED) as usize % BREAKS.len();
            break_off(address, body, BREAKS[way]).map(|()| &counts.broken[way])
        } else {
            let same = |answer| if answer == expected { &counts.answered } else { &counts.differ };
            let stream = connection.take().map_or_else(|| connect(address).map(BufReader::new), Ok);
            stream.and_then(|mut stream| {
                let answer = ask(&mut stream, address, body)?;
                connection = Some(stream);
                Ok(same(answer))
            })
        };
        let slot = slot.unwrap_or_else(|error| {
            eprintln!("soak: {error}");
            &counts.failed
        });
        slot.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs the clients, and the comparison some times beside them, so that both have the same machine.
fn load(
    server: &Server,
    options: &SoakOptions,
    body: &str,
    compare: impl Fn() -> Result<f64, String>,
) -> Result<Load, String> {
    let expected = ask(&mut BufReader::new(connect(&server.address)?), &server.address, body)?;
    let process = server.child.id().to_string();
    let (before, frames) = (seconds(&process, 11)?, server.frames()?);
    let (counts, stop) = (Outcomes::default(), AtomicBool::new(false));
    let mut memory = [0; 2];
    let (mut in_process, mut problem) = (0.0, None);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..options.clients {
            let (counts, stop, expected) = (&counts, &stop, &expected);
            scope.spawn(move || client(number, &server.address, body, expected, counts, stop));
        }
        for part in 1..=COMPARISONS {
            let until = Duration::from_secs(options.seconds) * part / COMPARISONS;
            match compare() {
                Ok(seconds) => in_process += seconds,
                Err(error) => problem = Some(error),
            }
            std::thread::sleep(until.saturating_sub(start.elapsed()));
            let slot = usize::from(part > COMPARISONS / 4);
            memory[slot] = server.memory("VmRSS:").unwrap_or(u64::MAX);
        }
        stop.store(true, Ordering::Relaxed);
    });
    if let Some(problem) = problem {
        return Err(problem);
    }
    let Outcomes { answered, failed, differ, broken } = counts;
    let [answered, failed, differ] = [answered, failed, differ].map(AtomicU64::into_inner);
    let (broken, seconds) = (broken.map(AtomicU64::into_inner), seconds(&process, 11)? - before);
    let frames = server.frames()? - frames;
    Ok(Load {
        answered,
        failed,
        differ,
        broken,
        seconds,
        frames,
        in_process: in_process / f64::from(COMPARISONS),
        memory,
    })
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

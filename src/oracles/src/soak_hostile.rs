//! `cargo xtask soak --hostile`: ordinary clients of `foldsym serve` beside those of [`Hostile`], and a remote store that accepts connections
//! and never answers. The server has a given memory (`--memory`), which it may not exceed but by what it needs without requests. The
//! ordinary clients go on being answered, with the same bytes.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldsym_testkit::writer::varint;

use crate::served::{Request, Server, ask, connect, mb};

/// What the server gets as `--memory`, and the largest body.
const MEMORY: u64 = 512 << 20;
const MAX_BODY: u64 = 16 << 20;
/// Kilobytes that it may have beyond that and beyond what it has before the load: stacks of threads, buffers of connections, and
/// memory that the allocator keeps.
const BASE_KB: u64 = 64 << 10;
/// Seconds that a request may take: more than it waits for a remote store.
const MAX_SECONDS: &str = "25";
/// The longest time in which no ordinary client is answered.
const LONGEST_GAP: Duration = Duration::from_secs(10);
/// Ordinary clients, and those of each hostile kind.
const CLIENTS: u64 = 8;
const HOSTILE_CLIENTS: u64 = 3;
/// How often the memory is sampled.
const SAMPLE: Duration = Duration::from_millis(50);
/// How long a client that reads nothing, or sends slowly, holds its connection. The server ends it before.
const HOLD: Duration = Duration::from_secs(40);
/// How often it looks whether the server ended the connection, and sends a byte.
const HOLD_STEP: Duration = Duration::from_millis(50);
/// Bytes of an answer that no buffers of the system hold.
const LARGE_ANSWER: usize = 8 << 20;

/// What a client does to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hostile {
    /// It asks for a large answer, and reads nothing of it.
    ReadsNothing,
    /// It sends its body byte by byte.
    SlowBody,
    /// It sends reports that were made to be expensive.
    Reports,
    /// It asks for modules that only the silent store may have.
    SilentStore,
}

const KINDS: [Hostile; 4] =
    [Hostile::ReadsNothing, Hostile::SlowBody, Hostile::Reports, Hostile::SilentStore];

/// What the clients saw together.
#[derive(Default)]
struct ClientCounts {
    answered: AtomicU64,
    /// Ordinary requests for which there was no memory.
    refused: AtomicU64,
    failed: AtomicU64,
    /// By kind: requests that came to their end.
    hostile: [AtomicU64; KINDS.len()],
    /// Milliseconds from the start of the load to the latest answer of an ordinary client, and the longest time between two.
    latest: AtomicU64,
    gap: AtomicU64,
}

impl ClientCounts {
    fn answered(&self, start: Instant) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.gap(start);
    }

    /// Keeps the time since the latest answer, if no longer one was seen.
    fn gap(&self, start: Instant) {
        let now = start.elapsed().as_millis() as u64;
        let before = self.latest.fetch_max(now, Ordering::Relaxed);
        self.gap.fetch_max(now.saturating_sub(before), Ordering::Relaxed);
    }
}

/// A store of an address where connections are accepted, and nothing is ever answered. It ends with the process.
fn silent_store() -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    std::thread::spawn(move || {
        // The connections stay open.
        let _held: Vec<TcpStream> = listener.incoming().filter_map(Result::ok).collect();
    });
    Ok(format!("http://{address}/symbols"))
}

/// A field of protobuf that is a message or a list.
fn field(out: &mut Vec<u8>, number: u8, body: &[u8]) {
    out.push(number << 3 | 2);
    varint(out, body.len() as u64);
    out.extend_from_slice(body);
}

/// A profile with one sample of so many frames.
fn deep_profile(frames: usize) -> Vec<u8> {
    let (mut profile, mut sample) = (Vec::new(), Vec::new());
    field(&mut profile, 1, &[8, 0, 16, 0]);
    field(&mut sample, 1, &vec![1; frames]);
    field(&mut sample, 2, &[1]);
    field(&mut profile, 2, &sample);
    field(&mut profile, 4, &[8, 1, 24, 16]);
    field(&mut profile, 6, &[]);
    profile
}

/// A profile with many samples at one location, which has many lines of a function with a long name.
fn named_profile() -> Vec<u8> {
    let (mut profile, mut sample, mut location) = (Vec::new(), Vec::new(), vec![8, 1]);
    field(&mut profile, 1, &[8, 0, 16, 0]);
    field(&mut sample, 1, &[1; 10_000]);
    field(&mut sample, 2, &[1]);
    field(&mut profile, 2, &sample);
    (0..1_000).for_each(|_| field(&mut location, 4, &[8, 1]));
    field(&mut profile, 4, &location);
    field(&mut profile, 5, &[8, 1, 16, 1]);
    field(&mut profile, 6, &[]);
    field(&mut profile, 6, &[b'n'; 1_000_000]);
    profile
}

/// Reports that were made to be expensive, with the endpoint of each.
fn hostile_reports() -> Vec<(&'static str, Vec<u8>)> {
    let lists = |of: &str, count: usize| of.repeat(count);
    let name = "n".repeat(1 << 20);
    let frames = vec!["\"0x1001\""; 200_000].join(",");
    vec![
        ("/symbolicate", deep_profile(2 << 20)),
        ("/symbolicate", named_profile()),
        (
            "/symbolicate/v5",
            format!("{{\"memoryMap\":[],\"stacks\":[{}[]]}}", lists("[],", 2_000_000)).into(),
        ),
        ("/symbolicate", format!("{{\"memoryMap\":[],\"stacks\":[{}[]]}}", lists("[],", 1_000_000)).into()),
        ("/symbolicate", lists("[],", 4 << 20).into()),
        ("/symbolicate/v5", lists("[", 4 << 20).into()),
        (
            "/symbolicate",
            format!("{{\"modules\":[{{\"name\":\"{name}\",\"base\":\"0x1000\"}}],\"frames\":[{frames}]}}\n")
                .into(),
        ),
        (
            "/symbolicate",
            ["==1==ERROR: AddressSanitizer: ", &name, "\n", &lists("#0 0x1 (a+0x1)\n", 500_000)]
                .concat()
                .into(),
        ),
        (
            "/symbolicate",
            ["a 1 1.1: x\n", &lists("\t1 f (inlined)\n", 500_000), "\t1 f (/a)\n"].concat().into(),
        ),
        // More than a body may be.
        ("/symbolicate", vec![b'{'; MAX_BODY as usize + 1]),
    ]
}

/// Reads an answer of HTTP to its end.
fn read_answer(stream: &mut TcpStream) -> Result<(), String> {
    let mut start = [0; 9];
    stream.read_exact(&mut start).map_err(|error| error.to_string())?;
    if !start.starts_with(b"HTTP/1.1 ") {
        return Err(format!("no answer: {}", start.escape_ascii()));
    }
    // The rest is read and dropped.
    std::io::copy(stream, &mut std::io::sink()).map(|_| ()).map_err(|error| error.to_string())
}

/// Whether the other side has not reset the connection. What it has sent stays unread.
fn has_peer(stream: &TcpStream) -> bool {
    let _ = stream.set_nonblocking(true);
    let peeked = stream.peek(&mut [0]);
    let _ = stream.set_nonblocking(false);
    match peeked {
        Ok(read) => read > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

/// What all clients share.
struct Scene<'s> {
    server: &'s str,
    body: &'s str,
    /// A body whose answer is larger than what the system buffers of a connection.
    large: &'s str,
    expected: &'s [u8],
    reports: &'s [(&'static str, Vec<u8>)],
    counts: &'s ClientCounts,
    stop: &'s AtomicBool,
    start: Instant,
}

impl Scene<'_> {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// An ordinary client, until the end.
    fn ordinary(&self) {
        let mut connection: Option<BufReader<TcpStream>> = None;
        while !self.is_over() {
            let stream = connection.take().map_or_else(|| connect(self.server).map(BufReader::new), Ok);
            let answer = stream.and_then(|mut stream| {
                let answer = ask(&mut stream, self.server, self.body)?;
                connection = Some(stream);
                Ok(answer)
            });
            match answer {
                Ok(answer) if answer == self.expected => self.counts.answered(self.start),
                Err(head) if head.starts_with("HTTP/1.1 503 ") => {
                    self.counts.refused.fetch_add(1, Ordering::Relaxed);
                }
                other => {
                    self.counts.failed.fetch_add(1, Ordering::Relaxed);
                    match other {
                        Ok(answer) => eprintln!("soak: an answer of {} bytes differs", answer.len()),
                        Err(error) => eprintln!("soak: {error}"),
                    }
                }
            }
        }
    }

    /// One request of a hostile client. That the server ends the connection is an end too. Whether it counts.
    fn attack(&self, kind: Hostile, random: u64) -> Result<bool, String> {
        let once = Request { address: self.server, path: "/symbolicate", more: "Connection: close\r\n" };
        let mut stream = connect(self.server)?;
        let start = Instant::now();
        let is_held = |stream: &TcpStream| {
            std::thread::sleep(HOLD_STEP);
            !self.is_over() && start.elapsed() < HOLD && has_peer(stream)
        };
        match kind {
            Hostile::ReadsNothing => {
                once.send(&mut stream, self.large.as_bytes(), self.large.len())?;
                while is_held(&stream) {}
                // A refusal is no large answer.
                let mut start = [0; 12];
                let peeked = stream.peek(&mut start);
                return Ok(peeked.is_err() || &start == b"HTTP/1.1 200");
            }
            Hostile::SlowBody => {
                once.send(&mut stream, self.large.as_bytes(), self.large.len() / 2)?;
                while is_held(&stream) && stream.write_all(b"x").is_ok() {}
            }
            Hostile::Reports => {
                let (path, report) = &self.reports[random as usize % self.reports.len()];
                // A body that is refused early is not read to its end.
                if (Request { path, ..once }).send(&mut stream, report, report.len()).is_ok() {
                    read_answer(&mut stream)?;
                }
            }
            Hostile::SilentStore => {
                let module = format!("{{\"id\":\"{random:032x}\",\"name\":\"far\",\"base\":\"0x1000\"}}");
                let line = format!("{{\"modules\":[{module}],\"frames\":[\"0x1001\"]}}\n");
                once.send(&mut stream, line.as_bytes(), line.len())?;
                read_answer(&mut stream)?;
            }
        }
        Ok(true)
    }

    /// A hostile client, until the end.
    fn hostile(&self, at: usize, number: u64) {
        let mut random = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        while !self.is_over() {
            // xorshift64.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            match self.attack(KINDS[at], random) {
                Ok(counts) => {
                    self.counts.hostile[at].fetch_add(u64::from(counts), Ordering::Relaxed);
                }
                Err(_) if self.is_over() => {}
                Err(error) => {
                    self.counts.failed.fetch_add(1, Ordering::Relaxed);
                    eprintln!("soak: {:?}: {error}", KINDS[at]);
                }
            }
        }
    }
}

/// Runs the server under this load for a time.
///
/// # Errors
/// Memory above the budget, an answer that differs, a request without an answer, or no answer of an ordinary client for a while.
pub(crate) fn run(
    foldsym: &Path,
    symbols: &Path,
    scratch: &Path,
    body: &str,
    length: Duration,
) -> Result<(), String> {
    let (memory, most) = (MEMORY.to_string(), MAX_BODY.to_string());
    let store = silent_store()?;
    let cache = scratch.join("cache");
    let cache = cache.to_str().ok_or("a folder whose name is no text")?;
    let limits = ["--memory", &memory, "--max-body", &most, "--max-seconds", MAX_SECONDS];
    let stores = ["--store", &store, "--cache", cache];
    let server = Server::start(foldsym, symbols, scratch, &[&limits[..], &stores].concat())?;
    let expected = ask(&mut BufReader::new(connect(&server.address)?), &server.address, body)?;
    let base = server.memory("VmRSS:")?;
    let (counts, stop, reports) = (ClientCounts::default(), AtomicBool::new(false), hostile_reports());
    let large = body.repeat((LARGE_ANSWER / expected.len()).max(1));
    let scene = Scene {
        server: &server.address,
        body,
        large: &large,
        expected: &expected,
        reports: &reports,
        counts: &counts,
        stop: &stop,
        start: Instant::now(),
    };
    let mut highest = 0;
    let sampled = std::thread::scope(|scope| {
        (0..CLIENTS).for_each(|_| drop(scope.spawn(|| scene.ordinary())));
        for at in 0..KINDS.len() {
            for number in 0..HOSTILE_CLIENTS {
                let scene = &scene;
                scope.spawn(move || scene.hostile(at, number));
            }
        }
        let mut sampled = Ok(());
        while sampled.is_ok() && scene.start.elapsed() < length {
            std::thread::sleep(SAMPLE);
            sampled = server.memory("VmRSS:").map(|now| highest = highest.max(now));
        }
        counts.gap(scene.start);
        stop.store(true, Ordering::Relaxed);
        sampled
    });
    sampled.map_err(|error| format!("the server ended: {error}"))?;
    let allowed = base + (MEMORY >> 10) + BASE_KB;
    // Between two samples too.
    highest = highest.max(server.memory("VmHWM:")?);
    let ClientCounts { answered, refused, failed, hostile, gap, .. } = &counts;
    let [answered, refused, failed, gap] =
        [answered, refused, failed, gap].map(|count| count.load(Ordering::Relaxed));
    let kinds = KINDS.iter().zip(hostile);
    let kinds: Vec<String> =
        kinds.map(|(kind, count)| format!("{kind:?} {}", count.load(Ordering::Relaxed))).collect();
    println!(
        "{} seconds: {answered} ordinary requests answered, {refused} refused for lack of memory, {failed} failed; the longest time \
         without an answer {:.1} s; hostile: {}.\n\
         Memory of the server, MB: {:.1} before the load, highest {:.1}, allowed {:.1}.",
        length.as_secs(),
        gap as f64 / 1000.0,
        kinds.join(", "),
        mb(base),
        mb(highest),
        mb(allowed)
    );
    judge(failed, answered, [highest, allowed], Duration::from_millis(gap))
}

/// What must hold: the counts of failed and answered requests, the highest and the allowed kilobytes, the longest time without an answer.
fn judge(failed: u64, answered: u64, [highest, allowed]: [u64; 2], gap: Duration) -> Result<(), String> {
    if failed > 0 || answered == 0 {
        return Err("requests failed".to_owned());
    }
    if highest > allowed {
        return Err("the server has more memory than it may have".to_owned());
    }
    if gap > LONGEST_GAP {
        return Err(format!("no ordinary client was answered for {:.1} s", gap.as_secs_f64()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_fails_above_it() {
        let second = Duration::from_secs(1);
        assert_eq!(judge(0, 1, [7, 7], LONGEST_GAP), Ok(()));
        assert!(judge(1, 1, [7, 7], second).is_err() && judge(0, 0, [7, 7], second).is_err());
        assert!(judge(0, 1, [8, 7], second).unwrap_err().contains("memory"));
        assert!(judge(0, 1, [7, 7], LONGEST_GAP + second).unwrap_err().contains("11.0 s"));
    }

    /// That a client counts no answer for a while shows between two answers, and at the end.
    #[test]
    fn the_longest_time_without_an_answer() {
        let counts = ClientCounts::default();
        let start = Instant::now() - Duration::from_millis(5_000);
        counts.answered(start);
        counts.answered(start);
        let gap = counts.gap.load(Ordering::Relaxed);
        assert!((5_000..60_000).contains(&gap), "{gap}");
        assert_eq!(counts.answered.load(Ordering::Relaxed), 2);
    }
}

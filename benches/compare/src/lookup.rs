//! Times a reader over addresses.
//!
//! Every pass over all addresses is made once untimed before it is timed, so that the file is in
//! memory and mapped; cold start is measured on its own, in a fresh process.

use crate::tools::{Output, Reader, mapped_in};
use foldsym_benches::process;
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the caller's buffer: more than the names of any answer.
const OUTPUT_LEN: usize = 1 << 20;

/// Nanoseconds a lookup over `random` (in that order, then sorted, then with names), and how much
/// was answered: a tool that answers little is fast.
pub(crate) fn average<R: Reader>(path: &Path, base: u64, random: &[u64]) -> Result<Value, String> {
    let mut reader = R::open(path, base)?;
    let mut sorted = random.to_vec();
    sorted.sort_unstable();

    let mut answered = 0;
    let mut frames = 0;
    for &address in random {
        let count = reader.ids(address);
        frames += count;
        answered += usize::from(count > 0);
    }
    let ns_random = timed(random, |address| reader.ids(address));
    timed(&sorted, |address| reader.ids(address));
    let ns_sorted = timed(&sorted, |address| reader.ids(address));

    let mut out = Output::new(OUTPUT_LEN);
    let mut bytes = 0;
    let mut names = |address| {
        out.clear();
        let count = reader.names(address, &mut out);
        bytes += black_box(out.written()).len();
        count
    };
    timed(random, &mut names);
    let ns_names = timed(random, &mut names);
    let name_bytes = bytes / 2;

    reader.batch(random);
    let start = Instant::now();
    let batch = reader.batch(random);
    let ns_batch = batch.map(|_| start.elapsed().as_nanos() as f64 / random.len() as f64);
    Ok(json!({
        "ns_random": ns_random, "ns_sorted": ns_sorted, "ns_names": ns_names, "ns_batch": ns_batch,
        "addresses": random.len(), "answered": answered, "frames": frames, "name_bytes": name_bytes,
    }))
}

fn timed(addresses: &[u64], mut lookup: impl FnMut(u64) -> usize) -> f64 {
    let start = Instant::now();
    for &address in addresses {
        black_box(lookup(address));
    }
    start.elapsed().as_nanos() as f64 / addresses.len() as f64
}

/// The 99.9th percentile and the slowest of single lookups, each timed on its own.
///
/// Each address counts with the faster of two passes over all of them: the caches are as cold in
/// the second as in the first, but an interrupt seldom hits an address twice. The clock's own cost
/// is in every figure; it is given beside them.
pub(crate) fn tail<R: Reader>(path: &Path, base: u64, random: &[u64]) -> Result<Value, String> {
    let mut reader = R::open(path, base)?;
    let mut times = vec![u64::MAX; random.len()];
    for _ in 0..2 {
        for (time, &address) in times.iter_mut().zip(random) {
            let start = Instant::now();
            black_box(reader.ids(address));
            *time = (*time).min(start.elapsed().as_nanos() as u64);
        }
    }
    let slowest_at = times.iter().enumerate().max_by_key(|(_, time)| **time).map(|(at, _)| random[at]);
    times.sort_unstable();
    let at = |part: f64| times.get((times.len() as f64 * part) as usize).copied();
    let clock = timed(random, |_| Instant::now().elapsed().as_nanos() as usize);
    Ok(json!({
        "ns_p50": at(0.5), "ns_p999": at(0.999), "ns_max": times.last(),
        "slowest_address": slowest_at.map(|address| format!("{address:#x}")), "ns_clock": clock,
    }))
}

/// How often a file is opened again, and for how long at most: some readers read all of it.
const OPENED_AGAIN: usize = 101;
const OPENED_FOR: Duration = Duration::from_millis(200);

/// Opens the file and looks one address up, once, in this fresh process: time and page faults. Then opens it again several times: the time
/// of opening with code and file in memory.
pub(crate) fn cold<R: Reader>(path: &Path, base: u64, address: u64) -> Result<Value, String> {
    let mut out = Output::new(OUTPUT_LEN);
    let before = process::own();
    let start = Instant::now();
    let mut reader = R::open(path, base)?;
    let open = start.elapsed();
    let mapped = mapped_in();
    let frames = black_box(reader.names(address, &mut out));
    let total = start.elapsed();
    let after = process::own();
    let begin = Instant::now();
    let mut again = Vec::new();
    while again.len() < OPENED_AGAIN && begin.elapsed() < OPENED_FOR {
        let start = Instant::now();
        let reader = R::open(path, base)?;
        again.push(start.elapsed().as_nanos());
        drop(reader);
    }
    again.sort_unstable();
    Ok(json!({
        "us_open_again": again[again.len() / 2] as f64 / 1e3,
        "us_open": open.as_nanos() as f64 / 1e3,
        "us_map": mapped.map(|mapped| mapped.as_nanos() as f64 / 1e3),
        "us_first": (total - open).as_nanos() as f64 / 1e3,
        "minor_faults": after.minor_faults - before.minor_faults,
        "major_faults": after.major_faults - before.major_faults,
        "frames": frames,
    }))
}

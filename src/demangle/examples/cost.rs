//! Reads linkage names, one a line, and prints what a name costs here and in the demanglers alone, in one run: the
//! least of several times, few names at a time.

use std::hint::black_box;
use std::io::{self, Read};
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;

/// As the two crates demangle, in their own spelling.
fn plain(name: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(name).ok()?;
    let hash = name.len().checked_sub(20).map(|at| &name[at..]);
    if name.starts_with(b"_R") || hash.is_some_and(|hash| hash.starts_with(b"17h")) {
        return Some(format!("{:#}", rustc_demangle::try_demangle(text).ok()?));
    }
    cpp_demangle::BorrowedSymbol::new(name).ok()?.demangle().ok()
}

fn time(names: &[&str], demangle: impl Fn(&[u8]) -> Option<String>) -> Duration {
    let start = Instant::now();
    for name in names {
        black_box(demangle(black_box(name.as_bytes())));
    }
    start.elapsed()
}

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text)?;
    let names: Vec<&str> = text.lines().collect();
    let (mut alone, mut ours) = (Duration::ZERO, Duration::ZERO);
    // Few at a time, so that some round of each is not interrupted.
    for names in names.chunks(64) {
        let least = |demangle: &dyn Fn(&[u8]) -> Option<String>| {
            (0..ROUNDS).map(|_| time(names, demangle)).min().unwrap_or_default()
        };
        alone += least(&plain);
        ours += least(&foldsym_demangle::demangle);
    }
    let each = |time: Duration| time.as_nanos() as f64 / names.len().max(1) as f64;
    let (alone, ours) = (each(alone), each(ours));
    println!(
        "{} names: {ours:.0} ns a name, the demanglers alone {alone:.0} ns ({:.2})",
        names.len(),
        ours / alone
    );
    Ok(())
}

//! Times lookups in a file: random addresses inside its pieces, in random order and sorted, all frames
//! read to file ids and lines. Names and paths are not: they would hide the rest.

use std::hint::black_box;
use std::time::Instant;

use foldsym_lookup::{Error, Frames, ImageAddr, Lookup, PieceId, SymbolFile};

const ADDRESSES: usize = 200_000;
/// Each stretch of so many addresses is timed apart, and the best of the rounds counts: all else is
/// disturbance by other programs. Between two rounds of a stretch are all others, so that it is not cached.
const STRETCH: usize = 500;
const ROUNDS: usize = 25;

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: lookup_time FILE.fsym");
        std::process::exit(2);
    };
    let bytes = std::fs::read(&path).expect("a file that can be read");
    let file = SymbolFile::open(&bytes).expect("a .fsym");
    let mut addresses = addresses(&file).expect("pieces without damage");
    let random = nanoseconds(&file, &addresses);
    addresses.sort_unstable_by_key(|address| address.0);
    let sorted = nanoseconds(&file, &addresses);
    println!("{ADDRESSES} addresses: random {random:.1} ns, sorted {sorted:.1} ns a lookup");
}

/// Addresses that are equally likely anywhere in the code (splitmix64).
fn addresses(file: &SymbolFile<'_>) -> Result<Vec<ImageAddr>, Error> {
    let mut starts = Vec::new();
    let mut total = 0;
    for id in 0..file.records().piece_count() {
        let piece = file.records().piece(PieceId(id))?;
        starts.push((total, piece.start.0));
        total += piece.len();
    }
    let mut state = 1u64;
    let mut address = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = state;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let at = (value ^ value >> 31) % total.max(1);
        let (before, start) = starts[starts.partition_point(|&(before, _)| before <= at) - 1];
        ImageAddr(start + at - before)
    };
    Ok((0..ADDRESSES).map(|_| address()).collect())
}

fn nanoseconds(file: &SymbolFile<'_>, addresses: &[ImageAddr]) -> f64 {
    let mut frames = Frames::new();
    let mut best = vec![u128::MAX; addresses.len().div_ceil(STRETCH)];
    for _ in 0..ROUNDS {
        for (best, stretch) in best.iter_mut().zip(addresses.chunks(STRETCH)) {
            let start = Instant::now();
            let mut sum = 0u64;
            for &address in stretch {
                if let Ok(Lookup::Found(_)) = file.lookup(black_box(address), &mut frames) {
                    for frame in file.frames(&frames).flatten() {
                        sum += u64::from(frame.line) + frame.file.map_or(0, |file| u64::from(file.0));
                    }
                }
            }
            black_box(sum);
            *best = start.elapsed().as_nanos().min(*best);
        }
    }
    best.iter().sum::<u128>() as f64 / addresses.len() as f64
}

//! Prints sizes and times of the name table for files of sorted lines: `names FILE...`

use foldsym_convert::internal::encode::names::encode;
use foldsym_format::names::Names;
use std::hint::black_box;
use std::time::Instant;

/// Time on the processor so far, where the system tells it.
fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}

fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read(&path).expect("a readable file");
        let mut names: Vec<&[u8]> = text.split(|&b| b == b'\n').filter(|n| !n.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        let mut encoding = f64::MAX;
        let mut blob = Vec::new();
        for _ in 0..5 {
            let start = cpu_ms();
            blob = encode(&names);
            encoding = encoding.min(cpu_ms() - start);
        }
        let table = Names::open(&blob).expect("a table");
        let mut out = [0; 65_536];
        for (id, name) in (0..).zip(&names) {
            assert_eq!(table.write(id, &mut out), Some(name.len()));
            assert_eq!(&&out[..name.len()], name);
        }
        let raw: usize = names.iter().map(|n| n.len() + 1).sum();
        let mut ids: Vec<u32> = (0..table.len()).collect();
        let mut state = 1u64;
        for i in (1..ids.len()).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ids.swap(i, (state >> 33) as usize % (i + 1));
        }
        let per = |run: &mut dyn FnMut(u32)| {
            // The best time of each slice over several passes: what else runs here does not count.
            let mut best = vec![f64::MAX; ids.len().div_ceil(256)];
            for _ in 0..12 {
                for (best, slice) in best.iter_mut().zip(ids.chunks(256)) {
                    let start = Instant::now();
                    slice.iter().for_each(|&id| run(id));
                    *best = best.min(start.elapsed().as_secs_f64());
                }
            }
            best.iter().sum::<f64>() * 1e9 / ids.len() as f64
        };
        let copy = per(&mut |id| {
            let name = names[id as usize];
            out[..name.len()].copy_from_slice(name);
            black_box(&out);
        });
        let write = per(&mut |id| {
            black_box(table.write(id, &mut out));
        });
        let visit = per(&mut |id| {
            let mut n = 0;
            table.visit(id, |piece| n += piece.len());
            black_box(n);
        });
        let find = per(&mut |id| {
            black_box(table.find(names[id as usize])).expect("found");
        });
        let word = |at: usize| u32::from_le_bytes(blob[at..at + 4].try_into().unwrap()) as usize;
        let file = path.rsplit('/').next().unwrap();
        println!(
            "{file}: {} names, {raw} raw, {} blob ({:.1}%): tokens {}, bodies {} x {} b, pool {}, blocks {}; encode {encoding:.0} ms CPU; raw copy {copy:.0} ns, write {write:.0} ns, visit {visit:.0} ns, find {find:.0} ns",
            names.len(),
            blob.len(),
            blob.len() as f64 * 100.0 / raw as f64,
            word(4),
            word(8),
            blob[21],
            word(12),
            word(16),
        );
    }
}

//! Real programs, cut short or with bytes changed: whatever is left, the promises of a conversion hold.

use std::path::PathBuf;

use foldsym_testbins::root;
use object::{Object, ObjectSection};

use crate::harness::{Bench, Outcome};

/// ELF of DWARF 5 and 4, big-endian, a relocatable file, Mach-O.
const TRUNCATED: &[&str] =
    &["inline.clang-dwarf5", "inline.clang-dwarf4", "inline.ppc64-be", "inline.s390x-be.o", "macho.x86_64.o"];

const MUTATED: &[&str] = &[
    "inline.clang-dwarf5-64bit",
    "inline.gcc-dwarf4",
    "inline.ppc64-be",
    "inline.s390x-be.o",
    "lines.gas.o",
    "macho.arm64.o",
    "objects.clang-stmt-sequence",
    "units.gcc-dwz-dwarf5",
    "units.emit-relocs",
    "nested.gcc-o2",
];

/// The sections whose bytes control what is read.
const STEERING: &[&str] =
    &["info", "abbrev", "line", "ranges", "rnglists", "addr", "str_offsets", "symtab", "rela.debug_info"];

fn built(name: &str) -> Vec<u8> {
    std::fs::read(root().join("built").join(name)).unwrap()
}

/// Where the sections of a program are in its file, with their names.
fn sections(bytes: &[u8]) -> Vec<(String, std::ops::Range<usize>)> {
    let file = object::File::parse(bytes).unwrap();
    let ranges = file.sections().filter_map(|section| {
        let (start, len) = section.file_range()?;
        Some((section.name().unwrap().to_owned(), start as usize..(start + len) as usize))
    });
    ranges.filter(|(_, range)| !range.is_empty()).collect()
}

/// Writes the input of a broken promise into the folder for temporary files, and prints its path.
fn keep(name: &str, what: u64, bytes: &[u8], problem: &str) -> String {
    let path: PathBuf = std::env::temp_dir().join(format!("foldsym-damaged-{name}-{what}"));
    std::fs::write(&path, bytes).unwrap();
    format!("{}: {problem}\n", path.display())
}

#[test]
fn every_truncation_gives_an_error_or_a_file() {
    let bench = Bench::new();
    let (mut wrong, mut refused, mut kept) = (String::new(), 0, 0);
    for name in TRUNCATED {
        let bytes = built(name);
        let mut lengths: Vec<usize> = (0..150).map(|step| step * bytes.len() / 150).collect();
        for (_, range) in sections(&bytes) {
            lengths.extend([range.start, range.start + 1, range.end - 1, range.end]);
        }
        lengths.extend([1, 4, 16, 63, 64, bytes.len() - 1]);
        lengths.sort_unstable();
        lengths.dedup();
        assert!(lengths.len() >= 160);
        for length in lengths.into_iter().filter(|length| *length < bytes.len()) {
            match bench.try_bytes(&bytes[..length]) {
                Ok(Outcome::Refused(_)) => refused += 1,
                Ok(Outcome::Kept(_)) => kept += 1,
                Err(problem) => wrong += &keep(name, length as u64, &bytes[..length], &problem),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(refused > 0, "none of {kept} truncated programs was refused");
}

/// Changes and truncations of the smallest program: all that one byte can do.
#[test]
fn every_byte_of_a_small_program() {
    let bytes = built("lines.clang-dwarf4");
    assert!(bytes.len() < 8192);
    let wrong: String = std::thread::scope(|scope| {
        let halves = [0..bytes.len() / 2, bytes.len() / 2..bytes.len()];
        let workers = halves.map(|half| {
            let bytes = &bytes;
            scope.spawn(move || {
                let (bench, mut wrong) = (Bench::new(), String::new());
                let mut judge = |at: usize, bytes: &[u8]| {
                    if let Err(problem) = bench.try_bytes(bytes) {
                        wrong += &keep("byte", at as u64, bytes, &problem);
                    }
                };
                for at in half {
                    judge(at, &bytes[..at]);
                    let old = bytes[at];
                    for value in [0, 0xff, old ^ 1, old ^ 0x80].into_iter().filter(|value| *value != old) {
                        let mut changed = bytes.clone();
                        changed[at] = value;
                        judge(at, &changed);
                    }
                }
                wrong
            })
        });
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong}");
}

/// Numbers that look random and are the same on every machine (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

/// Changes one to four places: flips a bit, or overwrites up to eight bytes with zeros, ones, or anything.
fn mutate(bytes: &mut [u8], steering: &[std::ops::Range<usize>], random: &mut Random) {
    for _ in 0..=random.below(4) {
        let range = match random.below(5) {
            0 => 0..bytes.len(),
            _ => steering[random.below(steering.len())].clone(),
        };
        let at = range.start + random.below(range.len());
        let end = (at + 1 + random.below(8)).min(bytes.len());
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at..end].fill(0),
            2 => bytes[at..end].fill(0xff),
            _ => bytes[at..end].iter_mut().for_each(|byte| *byte = random.below(256) as u8),
        }
    }
}

/// 200 mutants of each program; `MUTANTS` asks for more, `SEED` for others.
#[test]
fn every_mutant_gives_an_error_or_a_file() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (count, first_seed): (u64, u64) = (number("MUTANTS", 200), number("SEED", 1));
    let outcomes: Vec<(String, u64, u64)> = std::thread::scope(|scope| {
        // Two threads: the machine that is promised.
        let halves = MUTATED.chunks(MUTATED.len().div_ceil(2));
        let workers: Vec<_> =
            halves.map(|names| scope.spawn(move || mutants(names, first_seed, count))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let wrong: String = outcomes.iter().map(|outcome| outcome.0.as_str()).collect();
    assert!(wrong.is_empty(), "{wrong}");
    // Damage in debug information affects its own place, not the whole program.
    let (refused, kept) = outcomes.iter().fold((0, 0), |sum, outcome| (sum.0 + outcome.1, sum.1 + outcome.2));
    assert_eq!(refused + kept, count * MUTATED.len() as u64);
    assert!(kept > refused, "{refused} of {} mutants were refused", refused + kept);
}

fn mutants(names: &[&str], first_seed: u64, count: u64) -> (String, u64, u64) {
    let bench = Bench::new();
    let (mut wrong, mut refused, mut kept) = (String::new(), 0, 0);
    for name in names {
        let bytes = built(name);
        let steering: Vec<_> = sections(&bytes)
            .into_iter()
            .filter(|(section, _)| STEERING.iter().any(|end| section.ends_with(end)))
            .map(|(_, range)| range)
            .collect();
        assert!(!steering.is_empty(), "{name}");
        for seed in first_seed..first_seed + count {
            let mut mutant = bytes.clone();
            mutate(&mut mutant, &steering, &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            match bench.try_bytes(&mutant) {
                Ok(Outcome::Refused(_)) => refused += 1,
                Ok(Outcome::Kept(_)) => kept += 1,
                Err(problem) => wrong += &keep(name, seed, &mutant, &problem),
            }
        }
    }
    (wrong, refused, kept)
}

//! Stacks of processes with eight modules, as JSON lines: modules at other addresses in each line, frames as programs recorded them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment};

/// The programs, each built by another compiler or linker, whose recorded stacks are used.
const PROGRAMS: [&str; 8] = [
    "fold.clang-lld",
    "fold.clang-gold",
    "fold.clang-mold",
    "fold.clang-relocs",
    "fold.clang-lld-safe",
    "fold.clang-mixed",
    "fold.gcc-gold",
    "fold.gcc-lld",
];

/// Frames of a stack from which on no callers of a second module are added.
const FRAMES: usize = 5;

/// A program and what it recorded.
pub struct Module {
    /// Its path.
    pub program: PathBuf,
    name: String,
    id: String,
    /// Bytes of memory.
    size: u64,
    /// Offsets from the first segment, innermost first.
    stacks: Vec<Vec<u64>>,
}

/// The modules of every process.
pub struct Fleet {
    /// Eight of them.
    pub modules: Vec<Module>,
}

/// Numbers that look random, and are the same for one seed (SplitMix64).
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Low numbers come far more often than high ones, as some crashes do.
    fn skewed_below(&mut self, end: u64) -> u64 {
        let (one, other) = (self.below(end), self.below(end));
        one * other / end.max(1)
    }
}

impl Module {
    fn of(built: &Path, name: &str) -> Result<Self, String> {
        let folder = built.join(format!("{name}.set"));
        let program = folder.join("program");
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", program.display());
        let bytes = std::fs::read(&program).map_err(|error| failed(&error))?;
        let file = object::File::parse(&*bytes).map_err(|error| failed(&error))?;
        let id = file.build_id().map_err(|error| failed(&error))?.ok_or_else(|| failed(&"no build id"))?;
        let ends = file.segments().map(|segment| (segment.address(), segment.address() + segment.size()));
        let (start, end) = ends.fold((u64::MAX, 0), |all, each| (all.0.min(each.0), all.1.max(each.1)));
        let start = start & !0xfff;
        let text = std::fs::read_to_string(folder.join("stacks")).map_err(|error| failed(&error))?;
        let stacks: Option<Vec<_>> = text.lines().map(|line| offsets(line, start)).collect();
        Ok(Self {
            name: format!("/usr/lib/lib{}.so.2", name.replace('.', "-")),
            id: id.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")),
            size: (end - start).next_multiple_of(0x1000),
            stacks: stacks.ok_or_else(|| failed(&"its stacks are not as programs record them"))?,
            program,
        })
    }
}

/// The offsets of a line `stack BIAS VPTR ADDRESS... | what ran`.
fn offsets(line: &str, start: u64) -> Option<Vec<u64>> {
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let mut words = line.split('|').next()?.split_whitespace().skip(1);
    let bias = hex(words.next()?)?;
    words.skip(1).map(|word| hex(word)?.checked_sub(bias)?.checked_sub(start)).collect()
}

impl Fleet {
    /// Reads the programs in the folder of built test programs.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn of(built: &Path) -> Result<Self, String> {
        let modules = PROGRAMS.iter().map(|name| Module::of(built, name)).collect::<Result<_, _>>()?;
        Ok(Self { modules })
    }

    /// The next line: a request as `foldsym stack --store` reads it.
    pub fn line(&self, id: u64, numbers: &mut Numbers) -> String {
        let mut bases = Vec::new();
        let mut line = format!("{{\"id\":{id},\"modules\":[");
        // Libraries follow each other in memory.
        let mut next = 0x7f00_0000_0000 + (numbers.below(1 << 20) << 16);
        for (at, module) in self.modules.iter().enumerate() {
            let Module { name, id, size, .. } = module;
            let comma = if at > 0 { "," } else { "" };
            let written = write!(
                line,
                "{comma}{{\"id\":\"{id}\",\"name\":\"{name}\",\"base\":\"{next:#x}\",\"size\":\"{size:#x}\"}}"
            );
            debug_assert!(written.is_ok(), "a String takes everything");
            bases.push(next);
            next += size + (numbers.below(16) << 12);
        }
        line.push_str("],\"frames\":[");
        let mut count = 0;
        while count < FRAMES {
            let at = numbers.skewed_below(self.modules.len() as u64) as usize;
            let stacks = &self.modules[at].stacks;
            let stack = &stacks[numbers.skewed_below(stacks.len() as u64) as usize];
            // The innermost frame of a recorded stack is exact, and cannot be a caller.
            for offset in stack.iter().skip(usize::from(count > 0)) {
                let comma = if count > 0 { "," } else { "" };
                let written = write!(line, "{comma}\"{:#x}\"", bases[at] + offset);
                debug_assert!(written.is_ok(), "a String takes everything");
                count += 1;
            }
        }
        line.push_str("]}");
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_for_a_seed_and_of_the_stated_size() {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbins/built");
        let fleet = Fleet::of(&built).unwrap();
        let lines = |seed| {
            let mut numbers = Numbers::new(seed);
            (0..500).map(|id| fleet.line(id, &mut numbers)).collect::<Vec<_>>()
        };
        let (one, same, other) = (lines(1), lines(1), lines(2));
        assert!(one == same && one != other);
        let bytes: usize = one.iter().map(|line| line.len() + 1).sum();
        // 120 MB are 1,200 bytes a line.
        assert!((1150 * 500..1250 * 500).contains(&bytes), "{}", bytes / 500);
        for line in &one {
            let stack: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(stack["modules"].as_array().unwrap().len(), 8);
            let frames = stack["frames"].as_array().unwrap().len();
            assert!((FRAMES..2 * FRAMES + 8).contains(&frames), "{frames}");
        }
        let distinct: std::collections::HashSet<_> =
            one.iter().map(|line| line.split("\"frames\":").nth(1).unwrap()).collect();
        assert_eq!(distinct.len(), 500, "each line loads its modules elsewhere");
    }
}

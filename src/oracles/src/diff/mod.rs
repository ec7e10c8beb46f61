//! `cargo xtask diff`: a program's answers, address by address and frame by frame, against two oracles; every difference must
//! have a named cause.

pub(crate) mod answer;
mod ask;
mod causes;
mod options;
pub(crate) mod program;
mod tally;

use std::path::{Path, PathBuf};

pub(crate) use ask::Tools;
pub(crate) use causes::Oracle;
pub(crate) use options::DiffOptions;
pub(crate) use program::Program;
use tally::AskedAddress;
pub(crate) use tally::{DiffTally, causes_of};

use xtask::sh;

const HELP: &str = "cargo xtask diff PROGRAM [OPTIONS] [-- CONVERT ARGS]
  converts PROGRAM, asks foldsym, llvm-symbolizer 22 and the addr2line crate for the same addresses, and compares
  linkage name, file and line of every frame; fails if a difference has no named cause
  --addresses N   random addresses over all code sections (20000)
  --exhaustive    every byte of code as well, up to 1 MiB of it
  --at ADDR       only this address; may be repeated
  --columns       columns and the place where each function starts too
  --seed S        another random choice (1)
  --only ORACLE   `llvm` or `addr2line`
  --arch A        of a fat file
  --fsym F        compare this file instead of converting
  --foldsym BIN   another build of foldsym than this checkout's
  --threads N     for the conversion
  --examples N    how many to show of what has no cause (1)";

/// Code up to this size can be compared at every byte.
const EXHAUSTIVE: u64 = 1 << 20;

/// # Errors
/// A usage error, a tool that is missing or fails, or a difference without a cause.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (path, options) = parse(args)?;
    let tools = Tools::build(&options)?;
    let program = Program::open(&path, options.arch.as_deref())?;
    let tally = compare(&tools, &program, &options)?;
    println!("{}: {}", path.display(), tally.line());
    print!("{}", tally.report());
    match tally.unexplained() {
        0 => Ok(()),
        count => Err(format!("{count} unexplained differences")),
    }
}

fn parse(args: &[String]) -> Result<(PathBuf, DiffOptions), String> {
    let mut options = DiffOptions::default();
    let mut path = None;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{HELP}"));
        let number =
            |text: &String| text.parse::<u64>().map_err(|_| format!("{arg}: `{text}` is not a number"));
        match arg.as_str() {
            "--addresses" => options.addresses = number(value()?)? as usize,
            "--exhaustive" => options.exhaustive = true,
            "--at" => {
                let text = value()?;
                let digits = text.strip_prefix("0x").unwrap_or(text);
                options.at.push(
                    u64::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is not an address"))?,
                );
            }
            "--columns" => options.columns = true,
            "--seed" => options.seed = number(value()?)?,
            "--only" => {
                options.oracles = match value()?.as_str() {
                    "llvm" => vec![Oracle::Llvm],
                    "addr2line" => vec![Oracle::Addr2line],
                    other => return Err(format!("no oracle `{other}`\n{HELP}")),
                }
            }
            "--arch" => options.arch = Some(value()?.clone()),
            "--fsym" => options.fsym = Some(value()?.into()),
            "--foldsym" => options.foldsym = Some(value()?.into()),
            "--threads" => options.convert.extend(["--threads".to_owned(), value()?.clone()]),
            "--examples" => options.examples = number(value()?)? as usize,
            "--" => options.convert.extend(args.by_ref().cloned()),
            other if other.starts_with('-') || path.is_some() => return Err(HELP.to_owned()),
            _ => path = Some(PathBuf::from(arg)),
        }
    }
    Ok((path.ok_or(HELP)?, options))
}

/// Compares one program.
///
/// # Errors
/// A tool that is missing or fails, or a program whose addresses the oracles cannot look up.
pub(crate) fn compare(tools: &Tools, program: &Program, options: &DiffOptions) -> Result<DiffTally, String> {
    let mut oracles = options.oracles.clone();
    if program.relocatable {
        // llvm-symbolizer takes an offset without its section; the crate has an address space of its own.
        if program.code.len() != 1 {
            return Err("an ET_REL file with several code sections: cannot be compared with llvm-symbolizer"
                .to_owned());
        }
        oracles.retain(|oracle| *oracle == Oracle::Llvm);
    }
    if program.legacy_compressed {
        // LLVM 22 does not read `.zdebug_*`.
        oracles.retain(|oracle| *oracle == Oracle::Addr2line);
    }
    let addresses = if options.at.is_empty() { choose(program, options)? } else { options.at.clone() };
    let scratch = sh::scratch(&format!("diff-{}", std::process::id()))?;
    let result = asked(tools, program, options, &oracles, &addresses, &scratch);
    std::fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    result
}

fn asked(
    tools: &Tools,
    program: &Program,
    options: &DiffOptions,
    oracles: &[Oracle],
    addresses: &[u64],
    scratch: &Path,
) -> Result<DiffTally, String> {
    let ours = || {
        let fsym = match &options.fsym {
            Some(fsym) => fsym.clone(),
            None => {
                let out = scratch.join("program.fsym");
                let mut args = options.convert.clone();
                args.extend(options.columns.then(|| "--columns".to_owned()));
                tools.convert(program, &out, &args)?;
                out
            }
        };
        tools.ours(program, &fsym, addresses, scratch)
    };
    let (ours, theirs) = std::thread::scope(|scope| {
        let asked: Vec<_> = oracles
            .iter()
            .map(|oracle| scope.spawn(|| tools.theirs(*oracle, program, addresses, scratch)))
            .collect();
        let ours = ours();
        let theirs = asked.into_iter().zip(oracles).map(|(thread, oracle)| {
            thread.join().map_err(|_| format!("{}: the thread panicked", oracle.name()))?
        });
        Ok::<_, String>((ours?, theirs.collect::<Result<Vec<_>, String>>()?))
    })?;
    let mut tally = DiffTally::keeping(options.examples);
    for (place, oracle) in oracles.iter().enumerate() {
        for (index, address) in addresses.iter().enumerate() {
            let (symbols, columns) = (&program.symbols, options.columns);
            let asked = AskedAddress { oracle: *oracle, address: *address, symbols, columns };
            let other = (0..theirs.len()).find(|other| *other != place).map(|other| &theirs[other][index]);
            tally.add(&asked, &ours[index], &theirs[place][index], other);
        }
    }
    Ok(tally)
}

/// The addresses to ask for, sorted, each once.
pub(crate) fn choose(program: &Program, options: &DiffOptions) -> Result<Vec<u64>, String> {
    let size = program.code_size();
    if size == 0 {
        return Err(format!("{}: no code sections", program.file.display()));
    }
    let mut random = SplitMix(options.seed);
    let mut offsets: Vec<u64> = (0..options.addresses).map(|_| random.next() % size).collect();
    if options.exhaustive {
        if size > EXHAUSTIVE {
            return Err(format!("{size} bytes of code; --exhaustive is for up to {EXHAUSTIVE}"));
        }
        offsets = (0..size).collect();
    }
    let mut addresses: Vec<u64> = offsets.into_iter().filter_map(|offset| address(program, offset)).collect();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}

/// The address of a byte, counted over all code sections.
fn address(program: &Program, mut offset: u64) -> Option<u64> {
    for code in &program.code {
        if offset < code.size {
            return Some(code.start + offset);
        }
        offset -= code.size;
    }
    None
}

/// A small random generator (Steele, Lea and Flood's SplitMix64): the same addresses for the same seed everywhere.
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::program::Symbols;
    use super::*;
    use crate::llvm::Code;

    fn program() -> Program {
        let code = |start, size| Code { name: ".text".into(), start, size };
        Program {
            path: "p".into(),
            file: "p".into(),
            arch: None,
            code: vec![code(0x1000, 4), code(u64::MAX - 8, 8)],
            symbols: Symbols::default(),
            relocatable: false,
            legacy_compressed: false,
        }
    }

    #[test]
    fn addresses_cover_the_code_and_nothing_else() {
        let all = choose(&program(), &DiffOptions { exhaustive: true, ..DiffOptions::default() }).unwrap();
        assert_eq!(all.len(), 12);
        assert_eq!((all[0], all[3], all[4], all[11]), (0x1000, 0x1003, u64::MAX - 8, u64::MAX - 1));
        let random = choose(&program(), &DiffOptions { addresses: 1000, ..DiffOptions::default() }).unwrap();
        assert_eq!(random, all);
        let few = |seed| choose(&program(), &DiffOptions { addresses: 3, seed, ..DiffOptions::default() });
        assert_eq!(few(7), few(7));
    }

    #[test]
    fn options_are_read() {
        let args = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (path, options) =
            parse(&args("p --addresses 5 --columns --only llvm --at 0x10 -- --dwo-dir x")).unwrap();
        assert_eq!((path, options.addresses, options.columns), (PathBuf::from("p"), 5, true));
        assert_eq!((options.oracles, options.at), (vec![Oracle::Llvm], vec![0x10]));
        assert_eq!(options.convert, ["--dwo-dir", "x"]);
        for bad in ["", "p q", "p --unknown", "p --seed", "p --seed x", "p --only y"] {
            assert!(parse(&args(bad)).is_err() || bad.is_empty(), "{bad}");
        }
    }
}

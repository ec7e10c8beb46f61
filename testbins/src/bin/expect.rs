//! Writes `expected/`: asks `llvm-symbolizer` 22 for every code address of the given programs, notes where its naming is not ours.
//!
//! `expect FILE...` takes files (or dSYM bundles) of `built/`; without arguments it does all of them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use foldsym_testbins::cases;
use foldsym_testbins::expected::{Accepted, Expected, PrintedFrame, Run, path_of};
use foldsym_testbins::program::{Kind, Piece, Program, Symbol, architectures, pieces_and_rows};
use foldsym_testbins::root;

type Error = Box<dyn std::error::Error + Send + Sync>;

const FLAGS: &[&str] = &["--output-style=JSON", "--no-demangle", "--inlines", "--functions=linkage"];

/// Up to this many bytes of code every address is looked up; beyond, only starts, ends, rows and a sample.
const EVERY_ADDRESS: u64 = 128 << 10;
const SAMPLE: u64 = 1024;
const ROWS: usize = 2048;

fn main() -> Result<(), Error> {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        files = std::fs::read_dir(root().join("built"))?.flatten().map(|entry| entry.path()).collect();
        files.sort();
    }
    let llvm = std::env::var("FOLDSYM_LLVM").unwrap_or_else(|_| "/usr/lib/llvm-22/bin".to_owned());
    let symbolizer = Path::new(&llvm).join("llvm-symbolizer");
    let same: Vec<(String, String)> =
        cases::read_all(&root().join("cases"))?.into_iter().flat_map(|case| case.same).collect();
    // A recorded stack and a folder of programs are not a program.
    for file in files.iter().filter(|file| file.extension().is_none_or(|e| e != "stack" && e != "set")) {
        let architectures = architectures(file)?;
        let archs = match architectures.is_empty() {
            true => vec![None],
            false => architectures.iter().map(|a| Some(a.as_str())).collect(),
        };
        for arch in archs {
            let name = file.file_name().and_then(|n| n.to_str()).ok_or("a file name")?;
            let twin = same.iter().find(|(of, _)| of == name).map(|(_, twin)| file.with_file_name(twin));
            let asked = twin.as_ref().unwrap_or(file);
            let mut expected =
                expect(&symbolizer, asked, arch).map_err(|e| format!("{}: {e}", asked.display()))?;
            if let Some(twin) = &twin {
                expected.oracle +=
                    &format!(", of {}", twin.file_name().and_then(|n| n.to_str()).unwrap_or_default());
            }
            expected.program = name.to_owned();
            std::fs::write(path_of(&root(), &expected.program, arch), expected.to_json())?;
        }
    }
    Ok(())
}

fn expect(symbolizer: &Path, file: &Path, arch: Option<&str>) -> Result<Expected, Error> {
    let program = Program::open(file, arch)?;
    let (pieces, rows) = pieces_and_rows(&program)?;
    let (addresses, every_address) = addresses(&program, &pieces, &rows);
    // A copy, since the sections of an `ET_REL` file all begin at 0 and llvm-symbolizer would take the first.
    let mut copy = tempfile::NamedTempFile::new()?;
    copy.write_all(&program.placed_bytes()?)?;
    let stacks = ask(symbolizer, copy.path(), &addresses)?;

    let version = Command::new(symbolizer).arg("--version").output()?.stdout;
    let version = String::from_utf8(version)?;
    let version =
        version.split("LLVM version ").nth(1).and_then(|v| v.split_whitespace().next()).unwrap_or("?");
    let mut expected = Expected {
        arch: arch.map(str::to_owned),
        oracle: format!("llvm-symbolizer {version} {}", FLAGS.join(" ")),
        every_address,
        relocatable: program.relocatable,
        sections: program.code.iter().map(|s| (s.index, s.name.clone(), s.address, s.size)).collect(),
        ..Expected::default()
    };
    for (address, stack) in addresses.iter().copied().zip(stacks) {
        let outermost = stack.last().map_or("", |frame| frame.name.as_str());
        if let Some((kind, names)) = accepted(&program, &pieces, address, outermost) {
            match expected.accepted.last_mut() {
                Some(last) if last.end == address && last.kind == kind && last.names == names => {
                    last.end += 1
                }
                _ => expected.accepted.push(Accepted {
                    kind: kind.to_owned(),
                    start: address,
                    end: address + 1,
                    names,
                }),
            }
        }
        let id = expected.stacks.iter().rposition(|s| *s == stack).unwrap_or_else(|| {
            expected.stacks.push(stack);
            expected.stacks.len() - 1
        });
        match expected.runs.last_mut() {
            Some(last) if last.end == address && last.stack == id => last.end += 1,
            _ => expected.runs.push(Run { start: address, end: address + 1, stack: id }),
        }
    }
    Ok(expected)
}

/// Which addresses to ask, in order, and whether that is all of them.
fn addresses(program: &Program, pieces: &[Piece], rows: &[u64]) -> (Vec<u64>, bool) {
    let total: u64 = program.code.iter().map(|s| s.size).sum();
    let all = program.code.iter().flat_map(|s| s.address..s.address + s.size);
    let mut some: Vec<u64> = match total <= EVERY_ADDRESS {
        true => all.collect(),
        false => {
            let edges = program.code.iter().flat_map(|s| [s.address, s.address + s.size - 1]);
            let edges = edges.chain(pieces.iter().flat_map(|p| [p.start, p.end - 1]));
            let edges =
                edges.chain(program.symbols.iter().flat_map(|s| [s.address, s.address + s.size.max(1) - 1]));
            let rows = rows.iter().copied().step_by(rows.len().div_ceil(ROWS).max(1));
            edges.chain(rows).chain(sample(program, total)).collect()
        }
    };
    some.retain(|at| program.code.iter().any(|s| (s.address..s.address + s.size).contains(at)));
    some.sort_unstable();
    some.dedup();
    (some, total <= EVERY_ADDRESS)
}

/// Random code addresses; the same ones every time (SplitMix64 from a fixed seed).
fn sample(program: &Program, total: u64) -> Vec<u64> {
    let mut state = 0x000f_01d5_u64;
    let mut pick = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mut at = (z ^ z >> 31) % total;
        for section in &program.code {
            if at < section.size {
                return section.address + at;
            }
            at -= section.size;
        }
        0
    };
    (0..SAMPLE).map(|_| pick()).collect()
}

fn ask(symbolizer: &Path, file: &Path, addresses: &[u64]) -> Result<Vec<Vec<PrintedFrame>>, Error> {
    let mut child = Command::new(symbolizer)
        .args(FLAGS)
        .arg(format!("--obj={}", file.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no pipe")?;
    let lines: String = addresses.iter().map(|at| format!("{at:#x}\n")).collect();
    // llvm-symbolizer answers while it reads: both pipes must move.
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "the writer failed")??;
    let mut stacks = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let json: serde_json::Value = serde_json::from_str(line)?;
        let symbol = json["Symbol"].as_array().ok_or_else(|| format!("an answer without frames: {line}"))?;
        stacks.push(symbol.iter().map(frame).collect());
    }
    if stacks.len() != addresses.len() {
        return Err(format!("{} answers to {} addresses", stacks.len(), addresses.len()).into());
    }
    Ok(stacks)
}

fn frame(json: &serde_json::Value) -> PrintedFrame {
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| json[key].as_u64().unwrap_or(0) as u32;
    let start = text("StartAddress");
    PrintedFrame {
        name: text("FunctionName"),
        file: text("FileName"),
        line: number("Line"),
        column: number("Column"),
        start_file: text("StartFileName"),
        start_line: number("StartLine"),
        start_address: u64::from_str_radix(start.trim_start_matches("0x"), 16).unwrap_or(0),
    }
}

/// Where our rule for the outermost name gives, or allows, another one than llvm-symbolizer's: the kind and the names.
fn accepted(
    program: &Program,
    pieces: &[Piece],
    address: u64,
    llvm: &str,
) -> Option<(&'static str, Vec<String>)> {
    let symbols = &program.symbols;
    let names_at = |start: u64, kind: Kind| -> Vec<String> {
        symbols.iter().filter(|s| s.kind == kind && s.address == start).map(|s| s.name.clone()).collect()
    };
    let judge = |names: Vec<String>, other: &'static str| match names.iter().any(|n| n == llvm) {
        true => (names.len() > 1).then_some(("alias", names)),
        false => Some((other, names)),
    };
    let covering = pieces.iter().filter(|p| (p.start..p.end).contains(&address));
    if let Some(piece) = covering.max_by_key(|p| (p.start, std::cmp::Reverse(p.end))) {
        let names = names_at(piece.start, Kind::Function);
        if !names.is_empty() {
            return judge(names, "label");
        }
        let name = piece.name.clone()?;
        let by_label = names_at(piece.start, Kind::Label).iter().any(|n| n == llvm);
        return (name != llvm).then(|| (if by_label { "notype-piece" } else { "no-symbol" }, vec![name]));
    }
    let functions = symbols.iter().filter(|s| s.kind == Kind::Function);
    let inside = functions.clone().filter(|s| (s.address..s.address + s.size).contains(&address));
    let inside: Vec<&Symbol> = inside.collect();
    if let Some(symbol) = inside.iter().max_by_key(|s| s.address) {
        let names = names_at(symbol.address, Kind::Function);
        let label = symbols.iter().any(|s| s.kind == Kind::Label && s.name == llvm);
        return judge(names, if label { "label" } else { "inner-symbol" });
    }
    if llvm.is_empty() {
        return None;
    }
    // Symbols without a size: the nearest one below, what shares its address, and a function that holds the label.
    let nearest = symbols.iter().filter(|s| s.address <= address).max_by_key(|s| s.address)?;
    let same = symbols.iter().filter(|s| s.address == nearest.address);
    let holder = functions.filter(|s| s.address <= address).max_by_key(|s| s.address);
    let holder =
        holder.filter(|s| s.size == 0 && !pieces.iter().any(|p| (p.start..p.end).contains(&s.address)));
    let mut names: Vec<String> = same.chain(holder).map(|s| s.name.clone()).filter(|n| n != llvm).collect();
    names.dedup();
    (!names.is_empty()).then_some(("past-symbol", names))
}

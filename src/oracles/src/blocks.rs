//! `cargo xtask blocks`: compares the basic blocks of a program with the output of `llvm-readobj --bb-addr-map`, at the first and the last
//! byte of every block and at the byte after it, and prints the bytes that they take.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fold::Foldsym;
use serde_json::Value;

use crate::json::Answered;
use crate::llvm::readelf;
use xtask::sh;

const HELP: &str = "cargo xtask blocks [PROGRAM] [--foldsym BIN]
  compares every basic block of PROGRAM (corpus/rocksdb/librocksdb.bbmap.so, from `cargo xtask corpus rocksdb bbmap`) with
  llvm-readobj --bb-addr-map; fails for a block that differs, or that only one of both has, and where the blocks take more
  than half the bytes of the sections that they were read from
  --foldsym BIN   another build of foldsym than this checkout's";

/// A block, by address: its end, number, flags, and where its function begins.
struct Block {
    end: u64,
    id: u64,
    flags: Vec<String>,
}

const FLAGS: [&str; 5] = ["HasReturn", "HasTailCall", "IsEHPad", "CanFallThrough", "HasIndirectBranch"];

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails, a difference.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut program, mut foldsym) = (None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--foldsym" => foldsym = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            other if other.starts_with('-') || program.is_some() => return Err(HELP.to_owned()),
            other => program = Some(PathBuf::from(other)),
        }
    }
    let program = program.unwrap_or_else(|| sh::root().join("corpus/rocksdb/librocksdb.bbmap.so"));
    let oracle = oracle(&program)?;
    let foldsym = Foldsym::build(foldsym)?;
    let fsym = sh::scratch("blocks")?.join("program.fsym");
    foldsym.convert(&program, &fsym)?;
    let mut asked: Vec<u64> = Vec::new();
    for (&start, block) in &oracle {
        asked.extend([start, block.end - 1, block.end]);
    }
    asked.sort_unstable();
    asked.dedup();
    let (mut differences, mut inside) = (0u64, 0u64);
    for (address, answer) in asked.iter().zip(foldsym.blocks(&fsym, &asked)?) {
        let expected = oracle.range(..=address).next_back().filter(|(_, block)| *address < block.end);
        inside += u64::from(expected.is_some());
        let (ours, theirs) = (said(&answer), expected.map(|(&start, block)| shown(start, block)));
        if ours != theirs {
            differences += 1;
            if differences <= 10 {
                println!("{address:#x}: foldsym {ours:?}, llvm-readobj {theirs:?}");
            }
        }
    }
    println!(
        "{} blocks, {} addresses ({inside} in a block): {differences} differ",
        oracle.len(),
        asked.len()
    );
    if differences > 0 {
        return Err(format!("{differences} addresses differ"));
    }
    let (stored, read) = (stored(&foldsym, &fsym)?, read(&program)?);
    println!("{stored} bytes of {read}: {:.3}", stored as f64 / read as f64);
    if 2 * stored <= read {
        Ok(())
    } else {
        Err("the blocks take more than half of what was read".to_owned())
    }
}

/// Bytes of the blocks in the file.
fn stored(foldsym: &Foldsym, fsym: &Path) -> Result<u64, String> {
    let text = sh::output(Command::new(foldsym.path()).arg("info").arg(fsym))?;
    let fields = text.lines().filter(|line| line.starts_with("BLOCK")).map(str::split_whitespace);
    Ok(fields.filter_map(|mut fields| fields.nth(2)?.parse::<u64>().ok()).sum())
}

/// Bytes of the map in the program.
fn read(program: &Path) -> Result<u64, String> {
    let maps = readelf::sections(program)?.into_iter().filter(|section| section.kind == "LLVM_BB_ADDR_MAP");
    Ok(maps.map(|map| map.size).sum())
}

fn shown(start: u64, block: &Block) -> String {
    format!("{} {start:#x}-{:#x} {}", block.id, block.end, block.flags.join(" "))
}

fn said(block: &Value) -> Option<String> {
    let start = u64::from_str_radix(block["Start"].text().trim_start_matches("0x"), 16).ok()?;
    let flags: Vec<&str> = block["Flags"].items().iter().map(Answered::text).collect();
    let end = start + block["Size"].number();
    Some(format!("{} {start:#x}-{end:#x} {}", block["Id"].number(), flags.join(" ")))
}

/// The blocks that have bytes, by address.
fn oracle(program: &Path) -> Result<BTreeMap<u64, Block>, String> {
    let text = sh::output(Command::new(sh::llvm("llvm-readobj")?).arg("--bb-addr-map").arg(program))?;
    let mut blocks = BTreeMap::new();
    let (mut base, mut id, mut start) = (0, 0, 0);
    let mut block: Option<Block> = None;
    for line in text.lines().map(str::trim) {
        let Some((key, value)) = line.split_once(": ") else {
            if line == "}"
                && let Some(block) = block.take()
                && block.end > start
            {
                blocks.insert(start, block);
            }
            continue;
        };
        let number = || {
            u64::from_str_radix(value.trim_start_matches("0x"), 16)
                .map_err(|_| format!("llvm-readobj: {line}"))
        };
        match key {
            "Base Address" => base = number()?,
            "ID" if block.is_none() => id = value.parse().map_err(|_| format!("llvm-readobj: {line}"))?,
            "Offset" => start = base + number()?,
            "Size" => block = Some(Block { end: start + number()?, id, flags: Vec::new() }),
            flag if FLAGS.contains(&flag) && value == "Yes" => {
                block.iter_mut().for_each(|block| block.flags.push(flag.to_owned()));
            }
            _ => {}
        }
    }
    if blocks.is_empty() { Err(format!("{}: no basic blocks", program.display())) } else { Ok(blocks) }
}

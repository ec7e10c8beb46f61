//! Turns the command line into [`Options`].

use crate::commands::Commands;
use crate::tools::Tool;
use std::path::PathBuf;

const USAGE: &str = "\
usage: compare --input FILE... [options]
  --input FILE     a program to convert; may be given again
  --beside PLAIN   convert PLAIN, the same code built in another way, beside each input: only conversions, and
                   what the input costs as a multiple of PLAIN
  --only TOOL      measure this tool alone; may be given again (the floor, foldsym and what the
                   bars need are not added)
  --runs N         runs of each measurement, interleaved; the median counts (default 3)
  --json           one JSON object a measurement on standard output instead of the tables
  --addresses N    code addresses looked up, random and sorted (default 200000)
  --tail N         lookups for the 99.9th percentile and the slowest (default 1000000)
  --seed N         of the random addresses (default 1)
  --no-zstd        leave out zstd -19 of the outputs (it takes longer than all the rest)
  --foldsym PATH   the foldsym command (default: the workspace's release build)
  --gsymutil PATH  the llvm-gsymutil command (default: llvm-gsymutil-22 or llvm-gsymutil)
  --out DIR        keep the outputs in DIR (default: a temporary folder, removed)
tools: ";

pub(crate) struct Options {
    pub(crate) inputs: Vec<PathBuf>,
    /// Compare conversions with this program's.
    pub(crate) beside: Option<PathBuf>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) runs: usize,
    pub(crate) json: bool,
    pub(crate) addresses: usize,
    pub(crate) tail: usize,
    pub(crate) seed: u64,
    pub(crate) zstd: bool,
    pub(crate) commands: Commands,
    pub(crate) out: Option<PathBuf>,
}

pub(crate) fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options {
        inputs: Vec::new(),
        beside: None,
        tools: Vec::new(),
        runs: 3,
        json: false,
        addresses: 200_000,
        tail: 1_000_000,
        seed: 1,
        zstd: true,
        commands: Commands {
            foldsym: workspace_target().join("release/foldsym"),
            gsymutil: on_path(&["llvm-gsymutil-22", "llvm-gsymutil"]),
        },
        out: None,
    };
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{word} needs a value\n{}", usage()));
        match word.as_str() {
            "--input" => options.inputs.push(value()?.into()),
            "--beside" => options.beside = Some(value()?.into()),
            "--only" => {
                let name = value()?;
                let tool = Tool::named(name).ok_or_else(|| format!("no tool {name}\n{}", usage()))?;
                options.tools.push(tool);
            }
            "--runs" => options.runs = number(word, value()?)?,
            "--addresses" => options.addresses = number(word, value()?)?,
            "--tail" => options.tail = number(word, value()?)?,
            "--seed" => options.seed = number(word, value()?)?,
            "--foldsym" => options.commands.foldsym = value()?.into(),
            "--gsymutil" => options.commands.gsymutil = Some(value()?.into()),
            "--out" => options.out = Some(value()?.into()),
            "--json" => options.json = true,
            "--no-zstd" => options.zstd = false,
            _ => return Err(usage()),
        }
    }
    if options.inputs.is_empty() || options.runs == 0 || options.addresses == 0 {
        return Err(usage());
    }
    if options.tools.is_empty() {
        options.tools = Tool::ALL.to_vec();
    }
    Ok(options)
}

/// The workspace's target folder.
fn workspace_target() -> PathBuf {
    let own = || [env!("CARGO_MANIFEST_DIR"), "../../target"].iter().collect();
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(own, PathBuf::from)
}

fn usage() -> String {
    let names: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
    format!("{USAGE}{}", names.join(" "))
}

fn number<T: std::str::FromStr>(word: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{word}: {value} is not a number"))
}

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = |name: &&str| {
        std::env::split_paths(&path).map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
    };
    names.iter().find_map(found)
}

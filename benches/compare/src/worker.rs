//! The words that `compare` runs in child processes: one step of one tool each, result as JSON.
//!
//! `worker-sample IN OUT COUNT SEED`, `worker-convert TOOL IN OUT --threads N`,
//! `worker-lookup average|tail|cold TOOL FILE BASE ADDRESSES COUNT`, `worker-zstd FILE`.

use crate::tools::{self, Tool};
use crate::{lookup, sample};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn work(word: &str, args: &[String]) -> Result<(), String> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match (word, args.as_slice()) {
        ("worker-sample", [input, out, count, seed]) => sample_to(input, out, number(count)?, number(seed)?)?,
        ("worker-convert", [tool, input, out, "--threads", threads]) => {
            let converted = tools::convert(named(tool)?, Path::new(input), Path::new(out), number(threads)?)?;
            json!({ "base": converted.base, "note": converted.note })
        }
        ("worker-lookup", [kind, tool, file, base, addresses, count]) => {
            let addresses = read_addresses(addresses, number(count)?)?;
            look_up(kind, named(tool)?, Path::new(file), number(base)?, &addresses)?
        }
        ("worker-zstd", [file]) => {
            let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
            let packed = zstd::bulk::compress(&bytes, 19).map_err(|error| error.to_string())?;
            json!({ "zstd19_bytes": packed.len() })
        }
        _ => return Err(format!("{word}: not a step, or not its arguments")),
    };
    println!("{result}");
    Ok(())
}

fn sample_to(input: &str, out: &str, count: usize, seed: u64) -> Result<Value, String> {
    let map = tools::map(Path::new(input))?;
    let addresses = sample::addresses(map, count, seed)?;
    let bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
    std::fs::write(out, bytes).map_err(|error| error.to_string())?;
    Ok(json!({ "addresses": addresses.len() }))
}

fn read_addresses(path: &str, count: usize) -> Result<Vec<u64>, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let (words, _) = bytes.as_chunks::<8>();
    Ok(words.iter().take(count).map(|word| u64::from_le_bytes(*word)).collect())
}

fn look_up(kind: &str, tool: Tool, file: &Path, base: u64, addresses: &[u64]) -> Result<Value, String> {
    match tool {
        Tool::Foldsym => measure::<tools::foldsym::FoldsymReader>(kind, file, base, addresses),
        Tool::LlvmGsymutil | Tool::GsymRs => measure::<tools::gsym::GsymReader>(kind, file, base, addresses),
        Tool::SymCache => measure::<tools::symcache::SymCacheReader>(kind, file, base, addresses),
        Tool::Addr2line => measure::<tools::addr2line::Addr2lineReader>(kind, file, base, addresses),
        Tool::Blazesym => measure::<tools::blazesym::BlazesymReader>(kind, file, base, addresses),
        Tool::Floor | Tool::DumpSyms => Err("no reader".into()),
    }
}

fn measure<R: tools::Reader>(kind: &str, file: &Path, base: u64, addresses: &[u64]) -> Result<Value, String> {
    match (kind, addresses) {
        ("average", [_, ..]) => lookup::average::<R>(file, base, addresses),
        ("tail", [_, ..]) => lookup::tail::<R>(file, base, addresses),
        ("cold", [address, ..]) => lookup::cold::<R>(file, base, *address),
        _ => Err(format!("{kind} over {} addresses", addresses.len())),
    }
}

fn named(name: &str) -> Result<Tool, String> {
    Tool::named(name).ok_or_else(|| format!("no tool {name}"))
}

fn number<T: std::str::FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{value} is not a number"))
}

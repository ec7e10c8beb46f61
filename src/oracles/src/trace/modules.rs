//! Answers stacks: those of a single program by its addresses, those of a program with plugins by the modules of its process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fold::Foldsym;
use crate::fold::stacks::Answer;
use crate::llvm::readelf;
use xtask::sh;

use super::entries::Word;
use super::run::{Pair, Traced};

/// foldsym's answer for each frame of each stack.
///
/// # Errors
/// A process that fails, or output that is not an answer.
pub(super) fn ask(foldsym: &Foldsym, folded: &[&Path], traced: &Traced) -> Result<Vec<Vec<Answer>>, String> {
    let mut files = Vec::new();
    for program in folded {
        // `stack` finds the file of a module by the module's name.
        let fsym = PathBuf::from(format!("{}.fsym", program.display()));
        foldsym.convert(program, &fsym)?;
        files.push(fsym);
    }
    let words = |stack: &Vec<Pair>| -> Vec<String> {
        let word = |(at, (ours, _)): (usize, &Pair)| match ours {
            Word::Exact(address) if at > 0 => format!("={address:#x}"),
            Word::Exact(address) | Word::Return(address) => format!("{address:#x}"),
        };
        stack.iter().enumerate().map(word).collect()
    };
    if let [fsym] = &files[..] {
        let lines: Vec<String> = traced.stacks.iter().map(|stack| words(stack).join(" ")).collect();
        return foldsym.stacks(fsym, 0, &lines);
    }
    let mut modules = Vec::new();
    for (program, base) in folded.iter().zip(&traced.bases) {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let base = base + first_segment(program)?;
        modules.push(serde_json::json!({ "name": name, "base": base }));
    }
    let request =
        |stack: &Vec<Pair>| serde_json::json!({ "modules": modules, "frames": words(stack) }).to_string();
    let lines: Vec<String> = traced.stacks.iter().map(request).collect();
    foldsym.processes(&files, &lines)
}

/// The link-time address of a module's first segment.
fn first_segment(module: &Path) -> Result<u64, String> {
    readelf::first_segment(module)?.ok_or_else(|| format!("{}: no segment", module.display()))
}

/// The function that llvm-symbolizer names at each address.
///
/// # Errors
/// It is missing or fails.
pub(super) fn by_llvm(folded: &[&Path], traced: &Traced) -> Result<BTreeMap<u64, String>, String> {
    let mut addresses: Vec<u64> = traced.stacks.iter().flatten().map(|pair| pair.0.address()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let mut found = BTreeMap::new();
    for (program, base) in folded.iter().zip(&traced.bases) {
        // An address belongs to the module that begins last before it.
        let is_here = |address: &u64| traced.bases.iter().filter(|base| *base <= address).max() == Some(base);
        let here: Vec<u64> = addresses.iter().copied().filter(is_here).collect();
        let input = program.with_extension("addresses");
        let text: String = here.iter().map(|address| format!("{:#x}\n", address - base)).collect();
        std::fs::write(&input, text).map_err(|error| format!("{}: {error}", input.display()))?;
        let mut symbolizer = Command::new(sh::llvm("llvm-symbolizer")?);
        symbolizer.args(["--no-inlines", "--no-demangle", "--functions=linkage"]).arg("--obj").arg(program);
        let output = sh::filter(&mut symbolizer, &input)?;
        let names = output.split("\n\n").map(|answer| answer.lines().next().unwrap_or_default().to_owned());
        found.extend(here.into_iter().zip(names));
    }
    Ok(found)
}

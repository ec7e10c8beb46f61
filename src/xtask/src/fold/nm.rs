//! A program's symbols: who is where without folding, and which functions are at one address with it.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;

use super::module::Module;
use crate::diff::Program;
use crate::diff::program::{Kind, Symbol};
use crate::sh;
use foldsym_testkit::stacks::{Stack, Truth, same_function};

/// Address, size, name.
type Placed = (u64, u64, String);

/// Each function, sorted.
fn functions(program: &Path) -> Result<Vec<Placed>, String> {
    let mut nm = Command::new(sh::llvm("llvm-nm")?);
    let text = sh::output(nm.args(["--defined-only", "--print-size", "--numeric-sort"]).arg(program))?;
    let mut all = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [address, size, kind, name] = words.as_slice() else { continue };
        let hex = |word: &str| u64::from_str_radix(word, 16).map_err(|e| format!("llvm-nm: {line}: {e}"));
        if matches!(*kind, "t" | "T" | "w" | "W") {
            all.push((hex(address)?, hex(size)?, (*name).to_owned()));
        }
    }
    Ok(all)
}

/// Checks that each frame of each stack is in a symbol of its name. Gives what is wrong with each stack.
pub(super) fn check(modules: &[Module], stacks: &[Option<Stack>]) -> Result<Vec<Option<String>>, String> {
    let tables: Vec<(&Module, Vec<Placed>)> =
        modules.iter().map(|module| Ok((module, functions(&module.path)?))).collect::<Result<_, String>>()?;
    let wrong = |stack: &Stack| {
        let mut places = stack.addresses.iter().zip(&stack.frames).enumerate();
        places.find_map(|(at, (address, truth))| {
            let Some((module, functions)) = tables.iter().find(|(module, _)| module.holds(stack, at)) else {
                return Some(format!("frame {at} of {stack:x?} is in no module"));
            };
            let address = address - module.bias - u64::from(at > 0);
            let end = functions.partition_point(|(start, ..)| *start <= address);
            let holds =
                |(start, size, name): &Placed| address - start < *size && same_function(name, &truth.name);
            let near = &functions[end.saturating_sub(64)..end];
            let last = near.last();
            (!near.iter().any(holds)).then(|| format!("frame {at} of {stack:x?} is in {last:x?}"))
        })
    };
    let none = || Some("a tail call left its frame, or the unwinder is lost".to_owned());
    Ok(stacks.iter().map(|stack| stack.as_ref().map_or_else(none, wrong)).collect())
}

/// The functions that a program's symbols name.
pub(super) struct Named {
    functions: HashSet<(String, Option<String>)>,
    /// Where parts of functions are that stand elsewhere.
    parts: Vec<(u64, u64)>,
}

impl Named {
    /// # Errors
    /// The program cannot be read.
    pub(super) fn of(program: &Path) -> Result<Named, String> {
        let symbols = Program::open(program, None)?.symbols;
        let all: Vec<&Symbol> = symbols.all().iter().filter(|symbol| symbol.kind == Kind::Function).collect();
        let named = all.iter().flat_map(|symbol| {
            let name = plain(&symbol.name);
            [(symbol.name.clone(), symbol.file.clone()), (name.clone(), None), (name, symbol.file.clone())]
        });
        let parts = all.iter().filter(|symbol| symbol.name.ends_with(".cold"));
        Ok(Named {
            functions: named.collect(),
            parts: parts.map(|part| (part.address, part.address + part.size)).collect(),
        })
    }

    /// Whether an address, or a return address, is in a part that stands elsewhere.
    pub(super) fn is_part(&self, address: u64) -> bool {
        self.parts.iter().any(|&(start, end)| (start..=end).contains(&address))
    }

    /// Whether one is the part of this function that stands elsewhere, which has a local symbol of its own.
    pub(super) fn has_part(&self, truth: &Truth) -> bool {
        self.functions.contains(&(format!("{}.cold", truth.name), Some(truth.file.clone())))
    }

    /// Whether one of them may be this function; a local one, by its file.
    pub(super) fn has(&self, truth: &Truth) -> bool {
        let file = truth.name.starts_with("_ZL").then(|| truth.file.clone());
        self.functions.contains(&(plain(&truth.name), file))
    }
}

/// A name without what [`same_function`] does not compare.
fn plain(name: &str) -> String {
    name.split('.').next().unwrap_or(name).replace("C1E", "C2E")
}

/// The functions that are at one address, where they are two or more; and how many of each name, since each file may have
/// a local one.
pub(super) fn groups(program: &Path) -> Result<BTreeMap<u64, BTreeMap<String, usize>>, String> {
    let mut groups: BTreeMap<u64, BTreeMap<String, usize>> = BTreeMap::new();
    for (address, _, name) in functions(program)? {
        // Only what the generator made: of the C library's start-up code some names share an address by themselves. The
        // variants of a constructor are one function.
        if name.starts_with("_Z") && !name.contains("C1E") {
            *groups.entry(address).or_default().entry(name).or_default() += 1;
        }
    }
    groups.retain(|_, names| names.values().sum::<usize>() > 1);
    Ok(groups)
}

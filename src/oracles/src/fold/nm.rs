//! A program's symbols: who is where without folding, and which functions are at one address with it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::module::Module;
use crate::diff::Program;
use crate::llvm::nm::{Placed, functions};
use crate::llvm::{Kind, Symbol};
use foldsym_testkit::stacks::{Stack, Truth, same_function};

/// What is wrong with a stack.
pub(super) struct Astray {
    pub(super) text: String,
    /// The address of a frame is in no function at all.
    pub(super) is_outside: bool,
}

/// Checks that each frame of each stack is in a symbol of its name. Gives what is wrong with each stack.
pub(super) fn check(modules: &[Module], stacks: &[Option<Stack>]) -> Result<Vec<Option<Astray>>, String> {
    let tables: Vec<(&Module, Vec<Placed>)> =
        modules.iter().map(|module| Ok((module, functions(&module.path)?))).collect::<Result<_, String>>()?;
    let wrong = |stack: &Stack| {
        let mut places = stack.addresses.iter().zip(&stack.frames).enumerate();
        places.find_map(|(at, (address, truth))| {
            let Some((module, functions)) = tables.iter().find(|(module, _)| module.holds(stack, at)) else {
                let text = format!("frame {at} of {stack:x?} is in no module");
                return Some(Astray { text, is_outside: true });
            };
            let address = address - module.bias - u64::from(at > 0);
            let end = functions.partition_point(|(start, ..)| *start <= address);
            let covers = |(start, size, _): &&Placed| address - start < *size;
            let near = &functions[end.saturating_sub(64)..end];
            let mut here = near.iter().filter(covers).peekable();
            let (last, is_outside) = (near.last(), here.peek().is_none());
            let is_true = here.any(|(.., name)| same_function(name, &truth.name));
            let text = || format!("frame {at} of {stack:x?} is in {last:x?}");
            (!is_true).then(|| Astray { text: text(), is_outside })
        })
    };
    let lost = "a tail call left its frame, or the unwinder is lost";
    let none = || Some(Astray { text: lost.to_owned(), is_outside: false });
    Ok(stacks.iter().map(|stack| stack.as_ref().map_or_else(none, wrong)).collect())
}

/// The functions that a program's symbols name.
pub(super) struct Named {
    functions: HashSet<(String, Option<String>)>,
    /// Parts of functions that were split off.
    parts: Vec<(u64, u64)>,
    /// The addresses of the functions of a name.
    places: HashMap<String, Vec<(u64, u64)>>,
    /// Start and end of each table of virtual functions, sorted, with its class; `None` if it is of several: linkers fold equal tables,
    /// too.
    tables: Vec<(u64, u64, Option<String>)>,
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
        let mut places: HashMap<String, Vec<(u64, u64)>> = HashMap::new();
        // Blocks that have sections of their own have labels.
        let has_code =
            |symbol: &&Symbol| matches!(symbol.kind, Kind::Function | Kind::Label) && symbol.size > 0;
        for symbol in symbols.all().iter().filter(has_code) {
            let range = (symbol.address, symbol.address + symbol.size);
            places.entry(plain(&symbol.name)).or_default().push(range);
        }
        let of_class = |symbol: &&Symbol| symbol.name.starts_with("_ZTV");
        let mut tables: Vec<(u64, u64, &str)> = { symbols.all().iter().filter(of_class) }
            .map(|symbol| (symbol.address, symbol.address + symbol.size, symbol.name.as_str()))
            .collect();
        tables.sort_unstable();
        tables.dedup();
        let tables = tables.chunk_by(|one, other| one.0 == other.0).map(|same| {
            let class = same[0].2.trim_start_matches("_ZTV").trim_start_matches(|c: char| c.is_ascii_digit());
            (same[0].0, same[0].1, (same.len() == 1).then(|| class.to_owned()))
        });
        Ok(Named {
            places,
            tables: tables.collect(),
            functions: named.collect(),
            parts: parts.map(|part| (part.address, part.address + part.size)).collect(),
        })
    }

    /// The class that a vtable pointer identifies: the only one that has the vtable.
    pub(super) fn class_of(&self, pointer: u64) -> Option<&str> {
        let at = self.tables.partition_point(|table| table.0 <= pointer);
        let (_, end, class) = &self.tables[at.checked_sub(1)?];
        class.as_deref().filter(|_| pointer < *end)
    }

    /// Whether a function of this name, or a part of it, covers an address.
    pub(super) fn covers(&self, name: &str, address: u64) -> bool {
        let places = self.places.get(&plain(name));
        places.is_some_and(|places| places.iter().any(|&(start, end)| (start..end).contains(&address)))
    }

    /// Whether an address, or a return address, is in a part that was split off.
    pub(super) fn is_part(&self, address: u64) -> bool {
        self.parts.iter().any(|&(start, end)| (start..=end).contains(&address))
    }

    /// Whether this function has a part that was split off, which has a local symbol of its own.
    pub(super) fn has_part(&self, truth: &Truth) -> bool {
        self.functions.contains(&(format!("{}.cold", truth.name), Some(truth.file.clone())))
    }

    /// Whether this function has symbols, none of which contains the address or return address.
    pub(super) fn is_elsewhere(&self, truth: &Truth, address: u64) -> bool {
        let places = self.places.get(&plain(&truth.name));
        places.is_some_and(|places| !places.iter().any(|&(start, end)| (start..=end).contains(&address)))
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

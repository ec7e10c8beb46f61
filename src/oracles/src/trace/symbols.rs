//! Finds the function symbols at the addresses of modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::llvm::nm::{self, Placed};

/// Function symbols by address.
pub(super) struct FunctionSymbols {
    /// Start, size, name; by start.
    pub(super) all: Vec<Placed>,
    pub(super) names: BTreeSet<String>,
    sizes: BTreeMap<String, u64>,
}

impl FunctionSymbols {
    /// Start, size and name of each.
    pub(super) fn new(mut all: Vec<Placed>) -> FunctionSymbols {
        all.sort();
        let names = all.iter().map(|(.., name)| name.clone()).collect();
        let sizes = all.iter().map(|(_, size, name)| (name.clone(), *size)).collect();
        FunctionSymbols { all, names, sizes }
    }

    /// Of modules, each at its place in memory.
    ///
    /// # Errors
    /// `llvm-nm` is missing or fails.
    pub(super) fn of<'p>(
        modules: impl Iterator<Item = (&'p PathBuf, u64)>,
    ) -> Result<FunctionSymbols, String> {
        let mut all = Vec::new();
        for (path, base) in modules {
            let functions = nm::functions(path)?.into_iter().filter(|(.., name)| !is_label(name));
            all.extend(functions.map(|(address, size, name)| (base + address, size, name)));
        }
        Ok(Self::new(all))
    }

    /// Where the functions of a name are, each from its start to its end.
    pub(super) fn ranges(&self, name: &str) -> Vec<(u64, u64)> {
        let of_name = self.all.iter().filter(|(_, size, other)| other == name && *size > 0);
        of_name.map(|(start, size, _)| (*start, start + size)).collect()
    }

    /// Whether a function starts at the address.
    pub(super) fn is_start(&self, address: u64) -> bool {
        self.all.binary_search_by_key(&address, |(start, ..)| *start).is_ok()
    }

    /// Bytes of a function's code; `None` if no function has the name.
    pub(super) fn size(&self, name: &str) -> Option<u64> {
        self.sizes.get(name).copied()
    }

    /// The start of a function; 0 if no function has the name.
    pub(super) fn start(&self, name: &str) -> u64 {
        self.all.iter().find(|(.., other)| other == name).map_or(0, |(start, ..)| *start)
    }

    /// The start of the function that has the address.
    pub(super) fn entry(&self, address: u64) -> Option<u64> {
        let end = self.all.partition_point(|(start, ..)| *start <= address);
        let near = self.all[end.saturating_sub(300)..end].iter().rev();
        near.into_iter().find(|(start, size, _)| address - start < *size).map(|(start, ..)| *start)
    }

    /// The functions that have the address.
    pub(super) fn at(&self, address: u64) -> Vec<&str> {
        let end = self.all.partition_point(|(start, ..)| *start <= address);
        let near = self.all[end.saturating_sub(300)..end].iter();
        near.filter(|(start, size, _)| address - start < *size).map(|(.., name)| name.as_str()).collect()
    }
}

/// Assemblers for RISC-V keep local labels, by which linkers make code shorter; ARM's and RISC-V's mark code and data by `$`.
pub(super) fn is_label(name: &str) -> bool {
    name.starts_with(".L") || name.starts_with('$')
}

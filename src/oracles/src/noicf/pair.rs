//! Both programs, the tools that answer for them, and the groups of the folded one.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::diff::program::Symbols;
use crate::diff::{self, Oracle, Program, SplitMix, Tools};
use crate::fold::Foldsym;
use crate::llvm::nm::debug_map;
use crate::llvm::{Kind, Symbol};

/// What to compare, and how much of it.
pub(super) struct NoicfOptions {
    pub(super) paths: Vec<PathBuf>,
    pub(super) seed: u64,
    pub(super) offsets: usize,
    pub(super) functions: usize,
    pub(super) members: bool,
    pub(super) calls: bool,
    pub(super) vtables: bool,
    pub(super) examples: usize,
    pub(super) foldsym: Option<PathBuf>,
    pub(super) macho: Option<u64>,
    pub(super) only: Option<String>,
}

/// The tools that answer.
pub(super) struct Asker {
    pub(super) tools: Tools,
    pub(super) foldsym: Foldsym,
}

impl Asker {
    pub(super) fn new(foldsym: Option<&PathBuf>) -> Result<Asker, String> {
        let asked = diff::DiffOptions {
            oracles: vec![Oracle::Llvm],
            foldsym: foldsym.cloned(),
            ..diff::DiffOptions::default()
        };
        Ok(Asker { tools: Tools::build(&asked)?, foldsym: Foldsym::build(foldsym.cloned())? })
    }
}

/// One of the two programs.
pub(super) struct Side {
    pub(super) program: Program,
    pub(super) fsym: PathBuf,
    /// The functions of each name, and of each without LLVM's number, by index.
    pub(super) by_name: HashMap<String, Vec<usize>>,
    pub(super) by_unnumbered: HashMap<String, Vec<usize>>,
    /// The functions, by address.
    pub(super) functions: Vec<Symbol>,
}

impl Side {
    pub(super) fn open(path: &Path, scratch: &Path) -> Result<Side, String> {
        let mut program = Program::open(path, None)?;
        // The symbols of Mach-O have no sizes: the debug map has them.
        if program.is_macho() {
            program.symbols = Symbols::new(debug_map(path)?).within(&program.code);
        }
        let functions: Vec<Symbol> = program
            .symbols
            .all()
            .iter()
            .filter(|symbol| symbol.kind == Kind::Function && symbol.size > 0)
            .cloned()
            .collect();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_unnumbered = by_name.clone();
        for (index, symbol) in functions.iter().enumerate() {
            by_name.entry(symbol.name.clone()).or_default().push(index);
            by_unnumbered.entry(unnumbered(&symbol.name).to_owned()).or_default().push(index);
        }
        // The whole name: both sides may differ in what looks like an extension.
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Side { program, fsym: scratch.join(name + ".fsym"), by_name, by_unnumbered, functions })
    }

    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        self.by_name.get(name).into_iter().flatten().map(|index| &self.functions[*index])
    }

    pub(super) fn unnumbered(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        self.by_unnumbered.get(name).into_iter().flatten().map(|index| &self.functions[*index])
    }

    /// The same function in this program: by name, size, and for local ones the file; `None` if that is not one address.
    pub(super) fn same(&self, symbol: &Symbol) -> Option<u64> {
        let fits = |other: &&Symbol| other.size == symbol.size && other.file == symbol.file;
        let mut found = self.named(&symbol.name).filter(fits).map(|other| other.address);
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// The functions that begin at an address.
    pub(super) fn beginning(&self, address: u64) -> impl Iterator<Item = &Symbol> {
        let first = self.functions.partition_point(|symbol| symbol.address < address);
        self.functions[first..].iter().take_while(move |symbol| symbol.address == address)
    }

    /// A function that covers an address.
    pub(super) fn covering(&self, address: u64) -> Option<&Symbol> {
        let end = self.functions.partition_point(|symbol| symbol.address <= address);
        self.functions[..end].iter().rev().take(8).find(|symbol| symbol.covers(address))
    }
}

/// A name without the number by which LLVM distinguishes functions of several units.
pub(super) fn unnumbered(name: &str) -> &str {
    match name.rsplit_once(".llvm.") {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Both programs, and the tools that answer for them.
pub(super) struct Programs<'a> {
    pub(super) options: &'a NoicfOptions,
    pub(super) asker: &'a Asker,
    pub(super) folded: Side,
    pub(super) unfolded: Side,
    pub(super) scratch: PathBuf,
}

/// Folded code: where several functions are by the answers of ours.
pub(super) struct Group {
    pub(super) size: u64,
    pub(super) members: usize,
}

impl Programs<'_> {
    /// The groups, by address: each function symbol's address is looked up.
    pub(super) fn groups(&self) -> Result<BTreeMap<u64, Group>, String> {
        let sizes: BTreeMap<u64, u64> =
            self.folded.functions.iter().map(|symbol| (symbol.address, symbol.size)).collect();
        let addresses: Vec<u64> = sizes.keys().copied().collect();
        let mut groups = BTreeMap::new();
        for some in addresses.chunks(2000) {
            let answers =
                self.asker.tools.ours(&self.folded.program, &self.folded.fsym, some, &self.scratch)?;
            for (address, answer) in some.iter().zip(answers) {
                let members = answer.candidates.len();
                if members > 0 {
                    groups.insert(*address, Group { size: sizes[address], members });
                }
            }
        }
        Ok(groups)
    }

    pub(super) fn random(&self) -> SplitMix {
        SplitMix(self.options.seed ^ 0x0f01d)
    }
}

//! `cargo xtask noicf`: a program whose functions are folded against the same objects linked without folding.
//!
//! Without folding each function has an address of its own, so what stands at each of its offsets is known without
//! knowing anything of folding: `llvm-symbolizer` says it. Folding keeps bytes, so the offsets are the same in the
//! program that is folded, and every member of a group must have those frames there. The callee of every direct call is
//! known by disassembly: a call's bytes hold its target.

mod calls;
mod macho;
mod members;
mod names;
mod vtables;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::diff::program::{Kind, Symbol, Symbols, debug_map};
use crate::diff::{self, Oracle, Program, SplitMix, Tools};
use crate::fold::Foldsym;
use crate::sh;

const HELP: &str = "cargo xtask noicf [FOLDED UNFOLDED | --macho SEEDS] [OPTIONS]
  compares every function that is folded in FOLDED (corpus/rocksdb/librocksdb.so) with the same function in UNFOLDED, the
  same objects linked without folding (`cargo xtask corpus rocksdb noicf`), the callee of every direct call, and what
  stands in each slot of each table of virtual functions; fails for
  a wrong line, a wrong frame, an `exact` that is wrong, or an answer without the right callee
  --macho SEEDS   so many generated programs (`cargo xtask fold`) as Mach-O instead: arm64 and x86_64 by ld64.lld and dsymutil
  --only TEXT     of those, only builds whose name contains TEXT (`arm64-4-O2-safe`)
  --seed N        another random choice of offsets, and the first generated program (1)
  --offsets N     offsets in each group, with its start (4)
  --functions N   so many members, chosen at random (all)
  --no-members    not the members
  --no-calls      not the calls
  --no-vtables    not the tables of virtual functions
  --examples N    of each kind (1)
  --foldsym BIN   another build of foldsym than this checkout's
  --calls F       writes the list of calls to a file: pc, return address, callee";

pub(crate) struct Options {
    paths: Vec<PathBuf>,
    seed: u64,
    offsets: usize,
    functions: usize,
    members: bool,
    calls: bool,
    vtables: bool,
    examples: usize,
    foldsym: Option<PathBuf>,
    list: Option<PathBuf>,
    macho: Option<u64>,
    only: Option<String>,
}

fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options {
        paths: Vec::new(),
        seed: 1,
        offsets: 4,
        functions: usize::MAX,
        members: true,
        calls: true,
        vtables: true,
        examples: 1,
        foldsym: None,
        list: None,
        macho: None,
        only: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{HELP}"));
        let number = |text: &String| text.parse::<u64>().map_err(|_| format!("{arg}: `{text}` is no number"));
        match arg.as_str() {
            "--seed" => options.seed = number(value()?)?,
            "--macho" => options.macho = Some(number(value()?)?),
            "--only" => options.only = Some(value()?.clone()),
            "--offsets" => options.offsets = number(value()?)?.max(1) as usize,
            "--functions" => options.functions = number(value()?)? as usize,
            "--no-members" => options.members = false,
            "--no-calls" => options.calls = false,
            "--no-vtables" => options.vtables = false,
            "--examples" => options.examples = number(value()?)? as usize,
            "--foldsym" => options.foldsym = Some(value()?.into()),
            "--calls" => options.list = Some(value()?.into()),
            other if other.starts_with('-') || options.paths.len() == 2 => return Err(HELP.to_owned()),
            other => options.paths.push(PathBuf::from(other)),
        }
    }
    if options.macho.is_some() && options.paths.is_empty() {
        return Ok(options);
    }
    if options.paths.is_empty() {
        let corpus = sh::root().join("corpus/rocksdb");
        options.paths = vec![corpus.join("librocksdb.so"), corpus.join("librocksdb.noicf.so")];
    }
    if options.paths.len() == 2 && options.macho.is_none() { Ok(options) } else { Err(HELP.to_owned()) }
}

/// # Errors
/// A usage error, a program or tool that is missing or fails, or a defect.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    if let Some(missing) = options.paths.iter().find(|path| !path.is_file()) {
        return Err(format!("{} is not there: cargo xtask corpus rocksdb main noicf", missing.display()));
    }
    let scratch = sh::scratch(&format!("noicf-{}", std::process::id()))?;
    let result = match options.macho {
        Some(seeds) => macho::compare(&options, seeds, &scratch),
        None => Asker::new(options.foldsym.as_ref())
            .and_then(|asker| compare(&asker, &options, (&options.paths[0], &options.paths[1]), &scratch))
            .map(|found| found.print()),
    };
    std::fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    match result? {
        0 => Ok(()),
        count => Err(format!("{count} defects")),
    }
}

/// Whom to ask.
struct Asker {
    tools: Tools,
    foldsym: Foldsym,
}

impl Asker {
    fn new(foldsym: Option<&PathBuf>) -> Result<Asker, String> {
        let asked = diff::Options {
            oracles: vec![Oracle::Llvm],
            foldsym: foldsym.cloned(),
            ..diff::Options::default()
        };
        Ok(Asker { tools: Tools::build(&asked)?, foldsym: Foldsym::build(foldsym.cloned())? })
    }
}

/// What comparing came to, by what was compared.
#[derive(Default)]
struct Found(Vec<(&'static str, Counts)>);

impl Found {
    fn add(&mut self, title: &'static str, counts: Counts) {
        match self.0.iter_mut().find(|(known, _)| *known == title) {
            Some((_, known)) => known.merge(counts),
            None => self.0.push((title, counts)),
        }
    }

    /// Prints all; gives the number of defects.
    fn print(&self) -> usize {
        for (title, counts) in &self.0 {
            println!("{title}");
            counts.print();
        }
        self.0.iter().map(|(_, counts)| counts.defects()).sum()
    }
}

fn compare(
    asker: &Asker,
    options: &Options,
    (folded, unfolded): (&Path, &Path),
    scratch: &Path,
) -> Result<Found, String> {
    let pair = Pair {
        options,
        asker,
        folded: Side::open(folded, scratch)?,
        unfolded: Side::open(unfolded, scratch)?,
        scratch: scratch.to_owned(),
    };
    for side in [&pair.folded, &pair.unfolded] {
        asker.foldsym.convert(&side.program.path, &side.fsym)?;
    }
    let groups = pair.groups()?;
    let mut found = Found::default();
    let mut all = Counts::keeping(options.examples);
    all.sum("groups", groups.len());
    all.sum("members of groups", groups.values().map(|group| group.members).sum());
    found.add("what we answer", all);
    found.add("what the symbol tables say is folded", names::compare(&pair, &groups)?);
    if options.members {
        found.add("frames of members", members::compare(&pair, &groups)?);
    }
    if options.calls {
        found.add("calls and jumps into groups", calls::compare(&pair, &groups)?);
    }
    if options.vtables {
        found.add("what tables of virtual functions lead to", vtables::compare(&pair, &groups)?);
    }
    Ok(found)
}

/// One of the two programs.
struct Side {
    program: Program,
    fsym: PathBuf,
    /// The functions of each name, and of each without LLVM's number, by index.
    by_name: HashMap<String, Vec<usize>>,
    by_unnumbered: HashMap<String, Vec<usize>>,
    /// The functions, by address.
    functions: Vec<Symbol>,
}

impl Side {
    fn open(path: &Path, scratch: &Path) -> Result<Side, String> {
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

    fn named(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        self.by_name.get(name).into_iter().flatten().map(|index| &self.functions[*index])
    }

    fn unnumbered(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        self.by_unnumbered.get(name).into_iter().flatten().map(|index| &self.functions[*index])
    }

    /// The same function in this program: by name, size, and for local ones the file; `None` if that is not one address.
    fn same(&self, symbol: &Symbol) -> Option<u64> {
        let fits = |other: &&Symbol| other.size == symbol.size && other.file == symbol.file;
        let mut found = self.named(&symbol.name).filter(fits).map(|other| other.address);
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// The functions that begin at an address.
    fn beginning(&self, address: u64) -> impl Iterator<Item = &Symbol> {
        let first = self.functions.partition_point(|symbol| symbol.address < address);
        self.functions[first..].iter().take_while(move |symbol| symbol.address == address)
    }

    /// A function that covers an address.
    fn covering(&self, address: u64) -> Option<&Symbol> {
        let end = self.functions.partition_point(|symbol| symbol.address <= address);
        self.functions[..end].iter().rev().take(8).find(|symbol| symbol.covers(address))
    }
}

/// A name without the number by which LLVM tells functions of several units apart.
fn unnumbered(name: &str) -> &str {
    match name.rsplit_once(".llvm.") {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Both programs, and whom to ask.
struct Pair<'a> {
    options: &'a Options,
    asker: &'a Asker,
    folded: Side,
    unfolded: Side,
    scratch: PathBuf,
}

/// Folded code: where several functions are by the answers of ours.
struct Group {
    size: u64,
    members: usize,
}

impl Pair<'_> {
    /// The groups, by address: each function symbol's address is asked.
    fn groups(&self) -> Result<BTreeMap<u64, Group>, String> {
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

    fn random(&self) -> SplitMix {
        SplitMix(self.options.seed ^ 0x0f01d)
    }
}

/// Counts by kind, with the first examples of each.
#[derive(Default)]
struct Counts {
    kinds: BTreeMap<String, (usize, Vec<String>)>,
    limit: usize,
}

impl Counts {
    fn keeping(limit: usize) -> Counts {
        Counts { limit, ..Counts::default() }
    }

    fn add(&mut self, kind: &str, example: impl FnOnce() -> String) {
        let (count, examples) = self.kinds.entry(kind.to_owned()).or_default();
        *count += 1;
        if examples.len() < self.limit {
            examples.push(example());
        }
    }

    fn print(&self) {
        for (kind, (count, examples)) in &self.kinds {
            println!("  {count:8} {kind}");
            for example in examples {
                println!("             {example}");
            }
        }
    }

    /// Counts something so many times.
    fn sum(&mut self, kind: &str, count: usize) {
        self.kinds.entry(kind.to_owned()).or_default().0 += count;
    }

    fn merge(&mut self, other: Counts) {
        for (kind, (count, examples)) in other.kinds {
            let entry = self.kinds.entry(kind).or_default();
            entry.0 += count;
            entry.1.extend(examples);
            entry.1.truncate(self.limit);
        }
    }

    /// How often something was counted that must not be.
    fn defects(&self) -> usize {
        self.kinds.iter().filter(|(kind, _)| kind.contains("DEFECT")).map(|(_, (count, _))| count).sum()
    }
}

//! One traced run of each link of a program, and which of their stacks belong together.
//!
//! Programs of x86-64 and i386 are stepped by `ptrace` (`tracer.c`), others by an emulator (the module `emulated`). Both give the same:
//! entries of functions with their stacks.
//!
//! The two programs run separately. Their common events are entries of the program's own functions, in one order: entry `n` of the one is
//! entry `n` of the other. That is checked for each: the symbol of the link without folding must be among the symbols at the address in the
//! other, or be gone there. At the first mismatch the comparison ends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::emulated;
use super::entries::{Limits, Run, Word};
use super::make::{Links, Made};
use super::symbols::{FunctionSymbols, is_label};
use super::targets::Target;
use crate::llvm::nm;
use xtask::sh;

/// A frame: in the folded program, and in the other.
pub(super) type Pair = (Word, Word);

/// Sorts all frame descriptions of a static program when something is first thrown: millions of instructions.
const SKIPPED: &str = "_Unwind_Find_FDE";

/// The common events of two runs.
pub(super) struct Traced {
    /// Distinct stacks.
    pub(super) stacks: Vec<Vec<Pair>>,
    /// The functions of the link without folding.
    pub(super) truth: FunctionSymbols,
    /// Names of functions that the program with folding still has, in its symbol table or that of its debug file.
    pub(super) held: BTreeSet<String>,
    /// The functions of the link with folding, with all its symbols.
    whole: FunctionSymbols,
    /// Where those functions begin whose code is that of several functions of the other link.
    folded: BTreeSet<u64>,
    /// The load bias of each module with folding.
    pub(super) bases: Vec<u64>,
    /// Entries that were compared, and why no more were.
    pub(super) entries: usize,
    pub(super) end: String,
    /// The two entered different functions.
    pub(super) is_diverged: bool,
    /// Stacks that were left out, as a library has other frames in the two.
    pub(super) unequal: usize,
}

/// Runs both links.
///
/// # Errors
/// A tool that is missing or fails.
pub(super) fn trace(tracer: &Path, target: &Target, made: &Made, limits: Limits) -> Result<Traced, String> {
    let modules = &made.modules;
    let [bases, other] =
        [bases(tracer, modules, |links| &links.folded), bases(tracer, modules, |links| &links.plain)];
    let (bases, other) = (bases?, other?);
    let whole = FunctionSymbols::of(modules.iter().map(|links| &links.whole).zip(bases.iter().copied()))?;
    let plain = FunctionSymbols::of(modules.iter().map(|links| &links.plain).zip(other))?;
    let mut defined = nm::defined(&made.objects)?;
    defined.retain(|name| !is_label(name));
    let own = own(&defined, &whole, &plain, made.is_merged);
    let run = |program: &Path, entries: &[u64], symbols: &FunctionSymbols| match target.emulator {
        Some(emulated) => emulated::run(emulated, program, entries, symbols, limits),
        None => {
            // Before it, the dynamic linker takes more instructions than all the rest.
            let from = if modules.len() > 1 { symbols.start("main") } else { 0 };
            run(tracer, program, entries, [symbols.start(SKIPPED), from], limits)
        }
    };
    let (ours, theirs) = std::thread::scope(|scope| {
        let ours = scope.spawn(|| run(&modules[0].folded, &own.0, &whole));
        let theirs = run(&modules[0].plain, &own.1, &plain);
        (ours.join().unwrap_or_else(|_| Err("tracer: a thread ended".to_owned())), theirs)
    });
    let (ours, theirs) = (ours?, theirs?);
    let (mut entries, mut unequal, mut distinct, mut is_diverged) = (0, 0, BTreeSet::new(), false);
    let mut end = format!("{}, {}", ours.end, theirs.end);
    let fits = |ours: Word, theirs: Word| {
        let (ours, theirs) = (whole.at(ours.address()), plain.at(theirs.address()));
        // A function whose name the compiler or gold dropped, or a jump: the code in its place has its length.
        let is_jump = |name: &str| made.is_merged && whole.size(name) != plain.size(name);
        let gone = |name: &str| !whole.names.contains(name) || is_jump(name);
        let is_as_long = |name: &str| ours.iter().any(|other| plain.size(other) == plain.size(name));
        let is_one = |name: &&str| ours.contains(name) || (gone(name) && is_as_long(name));
        ours.is_empty() == theirs.is_empty() && (theirs.is_empty() || theirs.iter().any(is_one))
    };
    for (&a, &b) in ours.entries.iter().zip(&theirs.entries) {
        let (one, other) = (&ours.stacks[a], &theirs.stacks[b]);
        if !fits(one[0], other[0]) {
            is_diverged = true;
            end =
                format!("diverged: {:?} and {:?}", whole.at(one[0].address()), plain.at(other[0].address()));
            break;
        }
        entries += 1;
        distinct.insert((a, b));
    }
    let mut stacks = Vec::new();
    for (a, b) in distinct {
        let (one, other) = (&ours.stacks[a], &theirs.stacks[b]);
        if one.len() == other.len() && one.iter().zip(other).all(|(a, b)| fits(*a, *b)) {
            stacks.push(one.iter().copied().zip(other.iter().copied()).collect());
        } else {
            unequal += 1;
        }
    }
    let folded = folded(&stacks, &whole, &plain);
    let held = held(modules)?;
    Ok(Traced { stacks, truth: plain, held, whole, folded, bases, entries, end, is_diverged, unequal })
}

impl Traced {
    /// True if several functions have the code at an address of the link with folding.
    pub(super) fn is_folded(&self, address: u64) -> bool {
        self.whole.entry(address).is_some_and(|entry| self.folded.contains(&entry))
    }
}

/// Where functions of the link with folding begin whose code is that of several functions of the other link: by their symbols, or as
/// they were entered. (A linker may drop the symbols.)
fn folded(stacks: &[Vec<Pair>], whole: &FunctionSymbols, plain: &FunctionSymbols) -> BTreeSet<u64> {
    let entries: BTreeMap<&str, u64> = plain.all.iter().map(|(start, _, name)| (&**name, *start)).collect();
    let mut of_entry: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (start, _, name) in &whole.all {
        of_entry.entry(*start).or_default().extend(entries.get(&**name));
    }
    for (ours, theirs) in stacks.iter().flatten() {
        if let (Some(ours), Some(theirs)) = (whole.entry(ours.address()), plain.entry(theirs.address())) {
            of_entry.entry(ours).or_default().insert(theirs);
        }
    }
    of_entry.into_iter().filter(|(_, of)| of.len() > 1).map(|(entry, _)| entry).collect()
}

/// The names of functions that are left in the programs and in their debug files.
fn held(modules: &[Links]) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for links in modules {
        let debug = links.folded.with_extension("debug");
        for file in [Some(&links.folded), Some(&debug).filter(|file| file.exists())].into_iter().flatten() {
            names.extend(nm::functions(file)?.into_iter().map(|(.., name)| name));
        }
    }
    Ok(names)
}

/// The address of each module in memory: a program without other modules is at its link-time address; one with others prints their
/// addresses. The tracer loads it at the same addresses again.
fn bases(tracer: &Path, modules: &[Links], link: impl Fn(&Links) -> &PathBuf) -> Result<Vec<u64>, String> {
    let mut bases = vec![0];
    if modules.len() > 1 {
        let printed = sh::output(Command::new(tracer).arg(link(&modules[0])))?;
        let base = |line: &str| u64::from_str_radix(line, 16).map_err(|_| format!("plugins: {line}"));
        bases.extend(printed.lines().map(base).collect::<Result<Vec<u64>, _>>()?);
    }
    if bases.len() == modules.len() { Ok(bases) } else { Err("plugins: not all were opened".to_owned()) }
}

/// The entries of the program's own functions in both links: the functions that its objects define. Libraries do other work in the two
/// links (there are fewer frame descriptions to register). A function that shares its address with a library's function in one link counts
/// in neither, nor does one that shares its address with such a function.
fn own(
    defined: &BTreeSet<String>,
    whole: &FunctionSymbols,
    plain: &FunctionSymbols,
    is_merged: bool,
) -> (Vec<u64>, Vec<u64>) {
    let mut left_out = if is_merged { merged(defined, whole, plain) } else { BTreeSet::new() };
    let mut folded: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for (start, _, name) in &whole.all {
        folded.entry(*start).or_default().push(name);
    }
    let is_own = |name: &str| defined.contains(name) && !name.contains(".cold");
    loop {
        let before = left_out.len();
        for names in folded.values() {
            if names.iter().any(|name| !is_own(name) || left_out.contains(name)) {
                left_out.extend(names.iter().filter(|name| is_own(name)));
            }
        }
        if left_out.len() == before {
            break;
        }
    }
    let counts = |name: &str| is_own(name) && !left_out.contains(name);
    let ours = folded.iter().filter(|(_, names)| names.iter().all(|name| counts(name)));
    let theirs = plain.all.iter().filter(|(.., name)| counts(name));
    (ours.map(|(start, _)| *start).collect(), theirs.map(|(start, ..)| *start).collect())
}

/// Functions that the compiler may have merged: functions that are gone or became jumps, so that their length changed, and functions of a
/// length that one of these had. There an entry of the one may be an entry of another, or of both.
fn merged<'n>(
    defined: &'n BTreeSet<String>,
    whole: &FunctionSymbols,
    plain: &FunctionSymbols,
) -> BTreeSet<&'n str> {
    let lengths = |name: &&String| plain.size(name).filter(|length| whole.size(name) != Some(*length));
    let lengths: BTreeSet<u64> = defined.iter().filter_map(|name| lengths(&name)).collect();
    let has = |name: &&String| plain.size(name).is_some_and(|length| lengths.contains(&length));
    defined.iter().filter(has).map(String::as_str).collect()
}

/// Steps one program.
fn run(
    tracer: &Path,
    program: &Path,
    entries: &[u64],
    [skipped, from]: [u64; 2],
    limits: Limits,
) -> Result<Run, String> {
    let text: String = entries.iter().map(|entry| format!("{entry:x}\n")).collect();
    let input = program.with_extension("entries");
    std::fs::write(&input, text).map_err(|error| format!("{}: {error}", input.display()))?;
    let mut command = Command::new(tracer);
    command.arg(program).args([limits.steps, limits.entries].map(|limit| limit.to_string()));
    command.args([skipped, from].map(|address| format!("{address:x}")));
    let output = sh::filter(&mut command, &input)?;
    let mut run = Run::default();
    for line in output.lines() {
        let bad = || format!("tracer: {line}");
        let mut words = line.split_ascii_whitespace();
        let first = words.next().ok_or_else(bad)?;
        if first == "end" {
            run.end = words.collect::<Vec<_>>().join(" after ");
            continue;
        }
        let number: usize = first.parse().map_err(|_| bad())?;
        let mut stack = Vec::new();
        for (at, word) in words.enumerate() {
            let exact = word.strip_prefix('=');
            let address = u64::from_str_radix(exact.unwrap_or(word), 16).map_err(|_| bad())?;
            stack.push(if at == 0 || exact.is_some() { Word::Exact(address) } else { Word::Return(address) });
        }
        if number == run.stacks.len() {
            run.stacks.push(stack);
        }
        if number >= run.stacks.len() {
            return Err(bad());
        }
        run.entries.push(number);
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(all: &[(u64, u64, &str)]) -> FunctionSymbols {
        FunctionSymbols::new(
            all.iter().map(|(start, size, name)| (*start, *size, (*name).to_owned())).collect(),
        )
    }

    #[test]
    fn what_a_library_may_share_is_no_entry() {
        let defined = ["alone", "shared", "twice"].map(str::to_owned).into();
        let plain = symbols(&[(1, 8, "alone"), (10, 8, "shared"), (20, 8, "twice"), (30, 8, "library")]);
        // `twice` is in two objects: one is folded into the library's function, the other is not.
        let whole = symbols(&[
            (1, 8, "alone"),
            (10, 8, "shared"),
            (10, 8, "twice"),
            (30, 8, "twice"),
            (30, 8, "library"),
        ]);
        assert_eq!(own(&defined, &whole, &plain, false), (vec![1], vec![1]));
    }

    #[test]
    fn what_the_compiler_merged_is_no_entry() {
        let defined = ["kept", "first", "second", "third"].map(str::to_owned).into();
        let plain = symbols(&[(0, 4, "kept"), (10, 8, "first"), (20, 8, "second"), (30, 8, "third")]);
        // `second` jumps to `first`, and `third` has no code.
        let whole = symbols(&[(0, 4, "kept"), (10, 8, "first"), (20, 5, "second")]);
        assert_eq!(own(&defined, &whole, &plain, true), (vec![0], vec![0]));
        assert_eq!(own(&defined, &whole, &plain, false), (vec![0, 10, 20], vec![0, 10, 20, 30]));
    }
}

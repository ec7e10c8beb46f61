//! `cargo xtask fold`: generated programs whose functions are folded, and that print who is on their stacks; every frame
//! of every stack is resolved and judged.
//!
//! A program is made from a seed: [`graph`] makes the call graph, [`emit`] writes it as C++, [`walk`] writes tables from which each
//! function learns its own name. A caller passes a table to its callee, so functions that differ only in their names have the same code,
//! and linkers fold them. The addresses come from the unwinder at run time. So neither the names nor the addresses come from debug
//! information, and a mistake in it, or in a reader of it, shows.
//!
//! Whether the tables are right is itself checked: the same objects are linked without folding, and there each address of
//! each stack must lie in the symbol of the function that the tables name.

mod ask;
mod build;
mod emit;
mod graph;
mod module;
mod nm;
mod tables;
mod tally;
mod walk;

pub(crate) use foldsym_testkit::stacks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

pub(crate) use ask::{Foldsym, answer};
use build::{Compile, LINKS, Link, UNFOLDED};
use graph::Graph;
use module::Module;
use stacks::{Lines, Stack, Truth, Verdict};
use tally::FoldTally;

use crate::results;
use xtask::sh;

const HELP: &str = "cargo xtask fold [OPTIONS]
  makes programs whose functions are folded, runs them, resolves every stack that they print, and judges each frame;
  fails for an `exact` or `unique` that is wrong, for an answer without the function that ran, and for its wrong lines
  --seeds N        programs (1)
  --first S        the first seed (1)
  --stacks N       stacks of each program (400)
  --only TEXT      only builds whose name contains TEXT (`clang-stmt-5-O2-pie.lld-all`); may be repeated: all must be in it
  --full           every combination of options, not only each pair
  --examples N     how many frames of each kind of defect to show (2)
  --no-gsym        without llvm-gsymutil beside it
  --foldsym BIN    another build of foldsym than this checkout's
  --keep           leaves the programs where they were made, and says where
  --out FILE       writes the tables there too, as a page of benches/results
  FOLDSYM_LLVM=D   the folder of the LLVM tools; corpus/sid-llvm has clang 23 (`cargo xtask corpus sid`)
  --emit S DIR     writes the sources of seed S to DIR, with as many stacks as --stacks says, and ends";

struct FoldOptions {
    seeds: u64,
    first: u64,
    stacks: usize,
    only: Vec<String>,
    full: bool,
    examples: usize,
    gsym: bool,
    keep: bool,
    foldsym: Option<PathBuf>,
    emit: Option<(u64, PathBuf)>,
    out: Option<PathBuf>,
}

fn parse(args: &[String]) -> Result<FoldOptions, String> {
    let mut options = FoldOptions {
        seeds: 1,
        first: 1,
        stacks: 400,
        only: Vec::new(),
        full: false,
        examples: 2,
        gsym: true,
        keep: false,
        foldsym: None,
        emit: None,
        out: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{HELP}"));
        let number =
            |text: &String| text.parse::<u64>().map_err(|_| format!("{arg}: `{text}` is not a number"));
        match arg.as_str() {
            "--seeds" => options.seeds = number(value()?)?,
            "--first" => options.first = number(value()?)?,
            "--stacks" => options.stacks = number(value()?)? as usize,
            "--only" => options.only.push(value()?.clone()),
            "--full" => options.full = true,
            "--examples" => options.examples = number(value()?)? as usize,
            "--no-gsym" => options.gsym = false,
            "--keep" => options.keep = true,
            "--foldsym" => options.foldsym = Some(value()?.into()),
            "--out" => options.out = Some(value()?.into()),
            "--emit" => options.emit = Some((number(value()?)?, value()?.into())),
            _ => return Err(HELP.to_owned()),
        }
    }
    Ok(options)
}

/// # Errors
/// A usage error, a tool that is missing or fails, tables that are not true, or an answer that must not be.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    if let Some((seed, dir)) = &options.emit {
        return write_sources(*seed, options.stacks, dir).map(|_| ());
    }
    let links: Vec<Link> = LINKS
        .iter()
        .filter(|link| match link.find() {
            Ok(_) => true,
            Err(why) => {
                println!("{}: skipped, {why}", link.name);
                false
            }
        })
        .copied()
        .collect();
    let session = Session {
        foldsym: Foldsym::build(options.foldsym.clone())?,
        scratch: sh::scratch(&format!("fold-{}", std::process::id()))?,
        links,
        results: Mutex::new(Results::default()),
        options,
    };
    let result = session.all();
    if session.options.keep {
        println!("the programs are in {}", session.scratch.display());
    } else {
        std::fs::remove_dir_all(&session.scratch)
            .map_err(|e| format!("{}: {e}", session.scratch.display()))?;
    }
    result?;
    let results = session.results.into_inner().map_err(|_| "a job panicked")?;
    results.print();
    if let Some(out) = &session.options.out {
        let head =
            results::head("Generated programs", "fold", args, &["clang", "gcc", "ld.lld", "mold", "ld.gold"]);
        std::fs::write(out, head + &results.page()).map_err(|e| format!("{}: {e}", out.display()))?;
    }
    match results.defects {
        0 => Ok(()),
        count => Err(format!("{count} answers that must not be")),
    }
}

/// What all programs gave.
#[derive(Default)]
struct Results {
    programs: BTreeMap<String, FoldTally>,
    shapes: BTreeMap<String, FoldTally>,
    defects: usize,
    /// Examples by kind of defect.
    examples: BTreeMap<String, Vec<String>>,
}

impl Results {
    /// The tables: all programs together, each kind of them, each way of calling.
    fn page(&self) -> String {
        let mut all = FoldTally::default();
        self.programs.values().for_each(|programs| all.add(programs));
        let all = BTreeMap::from([("all".to_owned(), all)]);
        format!(
            "{}\n{}\nA frame at folded code is *first right* if its first candidate is the function that ran. The *ceiling* counts the \
             frames of which the program's code and the stack leave one function; the second number counts the first right among them.\n\n{}",
            tally::programs(&all),
            tally::programs(&self.programs),
            tally::shapes(&self.shapes)
        )
    }

    fn print(&self) {
        println!("{}", self.page());
        for (kind, examples) in &self.examples {
            println!("{kind}:");
            for example in examples {
                println!("  {example}");
            }
        }
    }

    fn example(&mut self, kind: String, limit: usize, text: impl FnOnce() -> String) {
        let examples = self.examples.entry(kind).or_default();
        if examples.len() < limit {
            examples.push(text());
        }
    }
}

struct Session {
    options: FoldOptions,
    foldsym: Foldsym,
    scratch: PathBuf,
    links: Vec<Link>,
    results: Mutex<Results>,
}

impl Session {
    fn all(&self) -> Result<(), String> {
        for seed in self.options.first..self.options.first + self.options.seeds {
            let dir = self.scratch.join(format!("seed{seed}"));
            let files = write_all(sources(seed, self.options.stacks, true), &dir)?;
            let graph = Graph::new(seed);
            let compiles: Vec<Compile> = build::compiles(self.options.full)
                .into_iter()
                .filter(|compile| self.links.iter().any(|link| self.wants(compile, link)))
                .collect();
            sh::parallel(&format!("seed {seed}"), &compiles, |compile| {
                self.compile(compile, &graph, &dir, &files)
            })?;
        }
        Ok(())
    }

    fn wants(&self, compile: &Compile, link: &Link) -> bool {
        let name = format!("{}.{}", compile.name, link.name);
        compile.fits(link) && self.options.only.iter().all(|only| name.contains(only.as_str()))
    }

    fn compile(&self, compile: &Compile, graph: &Graph, dir: &Path, files: &[String]) -> Result<(), String> {
        let objects = compile.objects(dir, files)?;
        let out = dir.join(&compile.name);
        // Without `musttail` a compiler may leave a frame where the tables have none. Such walks are left out, by their
        // number; of clang none may be so.
        let mut left_out = Vec::new();
        if !compile.merging {
            let linked = compile.link(&UNFOLDED, &objects, &out.join("unfolded"))?;
            let (modules, recorded) = recorded(&linked)?;
            let wrong = nm::check(&modules, &recorded)?;
            if let Some(first) = wrong.iter().flatten().next().filter(|_| compile.clang) {
                return Err(format!("{}: the tables are not true: {}", compile.name, first.text));
            }
            left_out = wrong.iter().map(Option::is_some).collect();
        }
        let mut linked = Vec::new();
        for link in self.links.iter().filter(|link| self.wants(compile, link)) {
            linked.push((link, compile.link(link, &objects, &out.join(link.name))?));
        }
        let programs: Vec<PathBuf> = linked.iter().flat_map(|(_, files)| files.iter().cloned()).collect();
        compile.pack(&objects, &programs)?;
        for (link, files) in &linked {
            self.program(compile, link, graph, files, &left_out)
                .map_err(|e| format!("{}.{}: {e}", compile.name, link.name))?;
        }
        if self.options.keep {
            return Ok(());
        }
        // Objects and programs of a whole run are gigabytes.
        std::fs::remove_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))
    }

    fn program(
        &self,
        compile: &Compile,
        link: &Link,
        graph: &Graph,
        files: &[PathBuf],
        left_out: &[bool],
    ) -> Result<(), String> {
        let (modules, recorded) = recorded(files)?;
        let all = recorded.len();
        // Of folded parts with different frames the linker keeps one unwind entry. gcc makes such parts, and clang does with
        // basic-block sections. The addresses that come of it are in functions that the tables do not name, or in no code. Only lld
        // keeps all symbols, which show that.
        let has_parts = !compile.clang || compile.family.contains("sections");
        let seen = has_parts && link.linker() == "lld";
        let wrong = if seen { nm::check(&modules, &recorded)? } else { Vec::new() };
        // A compiler that merges functions leaves the name of one of them.
        let is_wrong = |astray: &nm::Astray| astray.is_outside || !compile.merging;
        let astray = |at: usize| wrong.get(at).is_some_and(|wrong| wrong.as_ref().is_some_and(is_wrong));
        let out = |at: usize| left_out.get(at).copied().unwrap_or(false) || astray(at);
        let stacks: Vec<Stack> = recorded
            .into_iter()
            .enumerate()
            .filter(|(at, _)| !out(*at))
            .filter_map(|(_, stack)| stack)
            .collect();
        let mut tally = FoldTally {
            programs: 1,
            stacks: stacks.len(),
            left_out: all - stacks.len(),
            ..FoldTally::default()
        };
        for module in &modules {
            self.module(compile, link, graph, module, &stacks, &mut tally)?;
        }
        let row =
            format!("{}, {} {}", compile.family, link.linker(), link.name.rsplit('-').next().unwrap_or(""));
        let mut results = self.results.lock().map_err(|_| "a job panicked")?;
        results.programs.entry(row).or_default().add(&tally);
        Ok(())
    }

    /// Asks for the frames of one file of a program.
    fn module(
        &self,
        compile: &Compile,
        link: &Link,
        graph: &Graph,
        module: &Module,
        stacks: &[Stack],
        tally: &mut FoldTally,
    ) -> Result<(), String> {
        let (program, fsym) = (&module.path, module.path.with_extension("fsym"));
        self.foldsym.convert(program, &fsym)?;
        let lines: Vec<String> = stacks.iter().map(|stack| module.line(stack, false)).collect();
        let answers = self.foldsym.stacks(&fsym, module.bias, &lines)?;
        let objects: Vec<&Stack> = stacks.iter().filter(|stack| module.has_class(stack)).collect();
        let lines: Vec<String> = objects.iter().map(|stack| module.line(stack, true)).collect();
        let by_class = self.foldsym.stacks(&fsym, module.bias, &lines)?;
        let folded = self.folded(program, &fsym, compile.merging)?;
        tally.folded.iter_mut().zip(folded).for_each(|(sum, count)| *sum += count);
        if self.options.gsym && !compile.shared {
            tally.gsym = ask::gsym(program, stacks)?;
        }
        let name = format!("{}.{}", compile.name, link.name);
        let named = nm::Named::of(program)?;
        let judged = |stack: &Stack, at: usize, truth: &Truth, answer: &stacks::Answer| {
            let (verdict, lines) = truth.judge(answer, compile.merging);
            // gold drops local symbols, those of parts too, and mold's libraries end in functions of the program.
            let may_be = link.linker() == "gold" || (link.linker() == "mold" && compile.shared);
            let local = truth.name.starts_with("_ZL");
            let part = named.is_part(stack.addresses[at] - module.bias);
            let told = if part { named.has_part(truth) } else { named.has(truth) };
            let told = told || ((local || part) && compile.describes(&truth.file)) || !may_be;
            // Two functions of a library call `f` and `g` of the same library. If mold folds `f` and `g`, it folds these callers too,
            // although the program may have an `f` and a `g` of its own, which the loader prefers. Then `f` of the program runs where
            // the source calls `g`, and what `f` calls runs inside of it.
            let exchanged = |outer: usize| {
                let outer_truth = module.truth(stack, outer);
                module.holds(stack, outer)
                    && named.is_elsewhere(&outer_truth, stack.addresses[outer] - module.bias)
            };
            if link.linker() == "mold" && compile.shared && (at..stack.frames.len()).any(exchanged) {
                return (Verdict::Untold, lines);
            }
            // Of a function that LLVM merged with another nothing need be left at the other's address.
            let told = told && !(compile.merging && compile.clang);
            let verdict = if told { verdict } else { verdict.of_untold(&answer.certainty) };
            (verdict, lines)
        };
        let mut results = self.results.lock().map_err(|_| "a job panicked")?;
        for (stack, answers) in stacks.iter().zip(&answers) {
            for (at, answer) in answers.iter().enumerate().filter(|(at, _)| module.holds(stack, *at)) {
                let truth = module.truth(stack, at);
                let verdict = judged(stack, at, &truth, answer);
                tally.frame(&truth, verdict);
                let shape = truth.shape.clone();
                self.judge(
                    &mut results,
                    &name,
                    (stack, at),
                    (&truth, shape, answer),
                    verdict,
                    compile.merging,
                );
            }
        }
        for (stack, answers) in objects.iter().zip(&by_class) {
            let (Some(truth), Some(answer)) = (stack.frames.first(), answers.first()) else { continue };
            // The class and the slot of the call leave one function. With basic-block sections linkers also fold blocks of methods that
            // differ, and only the labels of the blocks show whose they are. gold drops these.
            let class = stack.vptr.and_then(|vptr| named.class_of(vptr.wrapping_sub(module.bias)));
            let address = stack.addresses[0].wrapping_sub(module.bias);
            let lacks_labels = link.linker() == "gold" && compile.family.contains("sections");
            let may_run = |&(name, same): &(&str, bool)| same || lacks_labels || named.covers(name, address);
            let sure = class.is_some_and(|class| {
                !graph.rivals(class, &truth.name, module.holds(stack, 1)).iter().any(may_run)
            });
            let truth = Truth { sure, ..truth.clone() };
            let shape = format!("{} with vptr", truth.shape);
            let verdict = judged(stack, 0, &truth, answer);
            self.judge(&mut results, &name, (stack, 0), (&truth, shape, answer), verdict, compile.merging);
        }
        Ok(())
    }

    fn judge(
        &self,
        results: &mut Results,
        name: &str,
        (stack, at): (&Stack, usize),
        (truth, shape, answer): (&Truth, String, &stacks::Answer),
        (verdict, lines): (Verdict, Lines),
        merging: bool,
    ) {
        let text = || {
            let address = stack.addresses[at] - stack.bias;
            let found: Vec<String> = answer
                .candidates
                .iter()
                .take(4)
                .map(|c| format!("{} {:?}", c.names.join("="), c.frames))
                .collect();
            format!("{name} frame {at} at {address:#x}: {truth:?}; {} {}", answer.certainty, found.join(", "))
        };
        if !verdict.is_allowed() {
            results.defects += 1;
            results.example(format!("DEFECT {verdict:?}"), self.options.examples, text);
        } else if lines == Lines::Wrong {
            results.defects += 1;
            let kind = format!("DEFECT: wrong lines, {}", answer.certainty);
            results.example(kind, self.options.examples, text);
        } else if verdict == Verdict::OtherLikely {
            results.example(format!("likely, another function ran: {shape}"), self.options.examples, text);
        } else if truth.sure && matches!(verdict, Verdict::Narrowed | Verdict::Ambiguous) {
            let kind = format!("{}, could be exact: {shape}", answer.certainty);
            results.example(kind, self.options.examples, text);
        }
        let linker = name.rsplit_once('.').map_or("", |(_, link)| link.split('-').next().unwrap_or(link));
        let compiler = if name.starts_with("clang") { "clang" } else { "gcc" };
        let with_object = shape.ends_with("with vptr");
        // A set that the first column of the table names: by the kind of call alone, and by compiler and linker too.
        for row in [shape.clone(), format!("{shape}, {compiler}, {linker}")] {
            let tally = results.shapes.entry(row).or_default();
            tally.frame(truth, (verdict, lines));
            if answer.candidates.len() > 1 || answer.certainty == "exact" {
                let can_be_told = truth.sure || (truth.by_slot && !with_object);
                tally.folded_frame(truth.is_first(answer, merging), can_be_told);
            }
        }
        if !answer.candidates.is_empty() && !truth.is_first(answer, merging) {
            let kind = format!("{}, another function is first: {shape}", answer.certainty);
            results.example(kind, self.options.examples, text);
        }
    }

    /// Functions that share their address with another by the symbol table: how they are known to us.
    fn folded(&self, program: &Path, fsym: &Path, merging: bool) -> Result<[usize; 4], String> {
        let groups = nm::groups(program)?;
        let addresses: Vec<u64> = groups.keys().copied().collect();
        let mut counts = [0; 4];
        for (found, names) in self.foldsym.lookup(fsym, &addresses)?.iter().zip(groups.values()) {
            let candidates = answer(found).candidates;
            for candidate in candidates.iter().filter(|_| !merging) {
                let other = candidate.names.iter().find(|n| !stacks::same_function(n, &candidate.names[0]));
                if let Some(other) = other {
                    let mut results = self.results.lock().map_err(|_| "a job panicked")?;
                    results.defects += 1;
                    let kind = "DEFECT another function as an alias".to_owned();
                    let text = || format!("{}: {other} of {}", program.display(), candidate.names[0]);
                    results.example(kind, self.options.examples, text);
                }
            }
            for (name, count) in names {
                let of = |c: &&stacks::Candidate| stacks::same_function(&c.names[0], name);
                let known: Vec<_> = candidates.iter().filter(of).collect();
                let with_lines = |c: &&&stacks::Candidate| c.frames.iter().any(|(_, _, line)| *line > 0);
                let lines = known.iter().filter(with_lines).count().min(*count);
                let names_only = (known.len().min(*count)) - lines;
                let found = [lines, names_only, count - lines - names_only, *count];
                counts.iter_mut().zip(found).for_each(|(sum, number)| *sum += number);
            }
        }
        Ok(counts)
    }
}

/// Runs a program and reads where its modules are and the stacks that it prints; `None` for one with another number of
/// frames than its table has.
fn recorded(files: &[PathBuf]) -> Result<(Vec<Module>, Vec<Option<Stack>>), String> {
    let text = sh::output(&mut Command::new(&files[0]))?;
    let stacks = text.lines().filter(|line| !line.starts_with("module "));
    let stacks: Vec<Option<Stack>> = stacks.map(Stack::parse).map(|stack| stack.ok().flatten()).collect();
    let modules: Vec<Module> = match files {
        [program] => vec![Module::alone(program, &stacks)],
        _ => text.lines().filter_map(|line| Module::parse(line, files)).collect(),
    };
    if stacks.iter().flatten().count() * 2 <= stacks.len() {
        let first = text.lines().next().unwrap_or("");
        return Err(format!("of {} stacks half cannot be read: {first}", stacks.len()));
    }
    if modules.len() != files.len() {
        return Err(format!("{} modules of {} files", modules.len(), files.len()));
    }
    Ok((modules, stacks))
}

/// A program, and the stacks that it printed; `None` for one with another number of frames than its table has.
pub(crate) struct Recorded {
    pub(crate) path: PathBuf,
    pub(crate) stacks: Vec<Option<Stack>>,
}

/// One program of one seed and level of optimization.
pub(crate) struct LinkedPair {
    pub(crate) folded: Recorded,
    /// The same objects folded in another order, so that other functions remain.
    pub(crate) reversed: Recorded,
    pub(crate) unfolded: Recorded,
}

/// Makes the program of a seed by clang and lld, and runs its links. All have the same objects, whose stacks have the same numbers.
///
/// # Errors
/// A tool that is missing or fails.
pub(crate) fn pair(seed: u64, stacks: usize, level: &'static str, dir: &Path) -> Result<LinkedPair, String> {
    let dir = dir.join(format!("seed{seed}{level}"));
    let files = write_sources(seed, stacks, &dir)?;
    let compile = Compile::clang(level);
    let objects = compile.objects(&dir, &files)?;
    let folding = LINKS.iter().find(|link| link.name == "lld-all").ok_or("no link of lld")?;
    let made = |link: &Link, objects: &[PathBuf], name: &str| {
        let linked = compile.link(link, objects, &dir.join(name))?;
        let (_, stacks) = recorded(&linked)?;
        Ok::<_, String>(Recorded { path: linked[0].clone(), stacks })
    };
    let back: Vec<PathBuf> = objects.iter().rev().cloned().collect();
    Ok(LinkedPair {
        folded: made(folding, &objects, "folded")?,
        reversed: made(folding, &back, "reversed")?,
        unfolded: made(&UNFOLDED, &objects, "unfolded")?,
    })
}

/// The files that all programs have. They are kept with the committed program.
const RUNTIME: [(&str, &str); 2] = [
    ("runtime.h", include_str!("../../../../testbins/cases/fold/runtime.h")),
    ("runtime.cpp", include_str!("../../../../testbins/cases/fold/runtime.cpp")),
];

/// The files of a seed's program, `(name, text)`.
fn sources(seed: u64, count: usize, by_slot: bool) -> Vec<(String, String)> {
    let graph = Graph::new(seed);
    let mut sources = emit::sources(&graph);
    let mut walks = walk::walks(&graph, &sources.places, seed, count);
    // The programs that are committed have no such marks.
    if by_slot {
        walk::tell_slots(&graph, &mut walks);
    }
    sources.files.push(("walks.cpp".to_owned(), tables::walks(&graph, &walks)));
    for (name, text) in RUNTIME {
        sources.files.push((name.to_owned(), text.to_owned()));
    }
    sources.files
}

/// Writes the files of a seed's program. Gives their names.
pub(crate) fn write_sources(seed: u64, count: usize, dir: &Path) -> Result<Vec<String>, String> {
    write_all(sources(seed, count, false), dir)
}

fn write_all(sources: Vec<(String, String)>, dir: &Path) -> Result<Vec<String>, String> {
    sh::create_dir(dir)?;
    let mut names = Vec::new();
    for (name, text) in sources {
        let path = dir.join(&name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        names.push(name);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_sources_are_those_of_their_seed() {
        // As the first line of the case says.
        let folder = sh::root().join("testbins/cases/fold");
        let files = sources(6, 160, false);
        for (name, text) in &files {
            assert!(*text == sh::read(&folder.join(name)).unwrap(), "{name}: write and build the case again");
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), files.len());
    }
}

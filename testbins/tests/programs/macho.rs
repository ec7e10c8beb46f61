//! Compares Mach-O programs with folded functions with the same objects linked without folding.
//!
//! Neither program runs here. Without folding each function has an address of its own: `llvm-symbolizer` gives its frames at every offset,
//! and the disassembly shows its callees and jump targets. Folding keeps bytes, so both must hold for every member of a group at the same
//! offsets.

use std::collections::BTreeMap;
use std::path::Path;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::{
    Certainty, Frames, FunctionId, ImageAddr, Lookup, Resolved, ReturnAddr, StackAddr, SymbolFile,
};
use foldsym_testbins::expected::Expected;
use foldsym_testbins::{cases, root};

/// A function of a debug map.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// The source file of its object.
    file: String,
    address: u64,
    size: u64,
}

/// The lines `SO FILE`, `FUN NAME`, `FUN` with a size.
fn debug_map(text: &str) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    let mut file = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let value = u64::from_str_radix(words[0], 16).unwrap();
        match (words[1], words.get(2)) {
            ("SO", name) => file = name.copied().unwrap_or_default().to_owned(),
            (_, Some(name)) => functions.push(Function {
                name: name.strip_prefix('_').unwrap().to_owned(),
                file: file.clone(),
                address: value,
                size: 0,
            }),
            (_, None) => functions.last_mut().unwrap().size = value,
        }
    }
    functions
}

/// Name, file and line of each frame, innermost first; file and line of the outermost function's declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    frames: Vec<(String, String, u32)>,
    declared: (String, u32),
}

impl Answer {
    fn name(&self) -> &str {
        self.frames.last().map_or("", |frame| frame.0.as_str())
    }
}

/// The parts of both programs: the folded one as foldsym reads it, the other one as the oracles do.
struct Pair<'f> {
    file: SymbolFile<'f>,
    frames: Frames,
    /// The same function with and without folding.
    functions: Vec<(Function, Function)>,
    truth: Expected,
    /// Address, call or jump, target; without folding.
    transfers: Vec<(u64, bool, u64)>,
}

impl<'f> Pair<'f> {
    fn new(set: &str, bytes: &'f [u8]) -> Pair<'f> {
        let folder = root().join("built").join(set);
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let folded = debug_map(&read("folded"));
        let same = |function: &Function| {
            let found =
                folded.iter().find(|other| (&other.name, &other.file) == (&function.name, &function.file));
            (found.unwrap().clone(), function.clone())
        };
        let functions: Vec<_> = debug_map(&read("unfolded")).iter().map(same).collect();
        assert!(functions.iter().all(|(a, b)| a.size == b.size && a.size > 0));
        let transfers = read("transfers")
            .lines()
            .map(|line| {
                let [at, kind, target] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
                let hex = |text| u64::from_str_radix(text, 16).unwrap();
                (hex(at), matches!(kind, "callq" | "bl"), hex(target))
            })
            .collect();
        let unfolded = set.replace(".set", "-unfolded.dSYM");
        let truth = foldsym_testbins::expected::path_of(&root(), &unfolded, None);
        Pair {
            file: SymbolFile::open(bytes).unwrap(),
            frames: Frames::new(),
            functions,
            truth: Expected::from_json(&std::fs::read_to_string(truth).unwrap()).unwrap(),
            transfers,
        }
    }

    fn text(&self, write: impl Fn(&mut [u8]) -> Option<usize>) -> String {
        let mut buffer = vec![0; 1 << 12];
        let len = write(&mut buffer).unwrap_or(0);
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    }

    /// The frames that were read last.
    fn answer(&self) -> Answer {
        let path = |id| self.text(|buffer| self.file.write_path(id?, buffer));
        let mut answer = Answer { frames: Vec::new(), declared: (String::new(), 0) };
        for frame in self.file.frames(&self.frames) {
            let frame = frame.unwrap();
            let name = self.text(|buffer| self.file.write_name(frame.name?, buffer));
            answer.frames.push((name, path(frame.file), frame.line));
            answer.declared = (path(frame.start_file), frame.start_line);
        }
        answer
    }

    /// All functions at an address.
    fn members(&mut self, address: u64) -> Vec<Answer> {
        let Lookup::Found(found) = self.file.lookup(ImageAddr(address), &mut self.frames).unwrap() else {
            return Vec::new();
        };
        let Some(group) = found.group else { return vec![self.answer()] };
        let count = self.file.records().members(self.file.records().group(group).unwrap()).count() as u32;
        (0..count)
            .map(|index| {
                self.file.member_frames(&found, index, &mut self.frames).unwrap();
                self.answer()
            })
            .collect()
    }

    /// The names that a function has.
    fn names(&self, function: FunctionId, first: String) -> Vec<String> {
        let function = self.file.records().function(function).unwrap();
        let aliases = self.file.records().aliases(&function);
        let text = |alias| self.text(|buffer| self.file.write_name(alias, buffer));
        std::iter::once(first).chain(aliases.map(|alias| text(alias.unwrap()))).collect()
    }

    /// The answer to the innermost frame: how sure it is, and the names of each candidate.
    fn stack(&mut self, pc: u64, returns: &[u64]) -> (Option<Certainty>, Vec<Vec<String>>) {
        let returns = returns.iter().map(|&address| StackAddr::Return(ReturnAddr(address)));
        let entries: Vec<StackAddr> =
            std::iter::once(StackAddr::Exact(ImageAddr(pc))).chain(returns).collect();
        let mut resolved = vec![Resolved::NONE; entries.len()];
        self.file.resolve_stack(&entries, &mut resolved).unwrap();
        let Lookup::Found(found) = self.file.lookup(ImageAddr(pc), &mut self.frames).unwrap() else {
            return (None, Vec::new());
        };
        let mut candidates = Vec::new();
        for index in (0..resolved[0].candidate_count()).map_while(|index| resolved[0].candidate(index)) {
            let member = self.file.member_frames(&found, index, &mut self.frames).unwrap();
            candidates.push(self.names(member.function, self.answer().name().to_owned()));
        }
        (resolved[0].certainty, candidates)
    }

    fn is_folded(&mut self, address: u64) -> bool {
        self.members(address).len() > 1
    }
}

fn with_pair(set: &str, test: impl FnOnce(Pair<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.fsym");
    let program = root().join("built").join(set).join("program");
    convert(
        Path::new(&program),
        &output,
        &Options::default().with(|options| options.threads = 2),
        &NoProgress,
    )
    .unwrap();
    let bytes = std::fs::read(&output).unwrap();
    test(Pair::new(set, &bytes));
}

const SETS: &[&str] = &["fold_macho.arm64.set", "fold_macho.x86_64.set"];

#[test]
fn every_member_has_its_frames_at_every_offset() {
    for set in SETS {
        with_pair(set, |mut pair| {
            let (mut compared, mut in_groups) = (0, 0);
            let functions = pair.functions.clone();
            for (folded, unfolded) in functions.clone() {
                let together = functions.iter().filter(|(other, _)| other.address == folded.address).count();
                assert_eq!(pair.members(folded.address).len(), together, "{set}: {folded:x?}");
                for offset in 0..folded.size {
                    let truth = pair.truth.frames(unfolded.address + offset).unwrap().to_vec();
                    let Some(outer) = truth.last().filter(|frame| !frame.file.is_empty()) else { continue };
                    let frames = truth.iter().map(|f| (f.name.clone(), f.file.clone(), f.line)).collect();
                    let declared = (outer.start_file.clone(), outer.start_line);
                    let truth = Answer { frames, declared };
                    let members = pair.members(folded.address + offset);
                    assert!(
                        members.contains(&truth),
                        "{set}: {folded:x?}+{offset:#x}: {truth:?} of {members:?}"
                    );
                    compared += 1;
                    in_groups += usize::from(members.len() > 1);
                }
            }
            assert!(
                compared > 5000 && in_groups * 2 > compared,
                "{set}: {compared} compared, {in_groups} folded"
            );
        });
    }
}

/// Calls of the program without folding, with all functions that may be above the return address: the callee, and its jump targets.
fn ways(pair: &Pair<'_>) -> Vec<(usize, u64, usize, bool)> {
    let functions = &pair.functions;
    let holding = |address: u64| {
        functions.iter().position(|(_, f)| f.address <= address && address < f.address + f.size)
    };
    let starting = |address: u64| functions.iter().position(|(_, f)| f.address == address);
    let mut jumps: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut calls = Vec::new();
    for &(at, call, target) in &pair.transfers {
        let (Some(from), Some(to)) = (holding(at), starting(target)) else { continue };
        if call {
            let size = if pair.truth.program.contains("arm64") { 4 } else { 5 };
            calls.push((from, at + size - functions[from].1.address, to));
        } else if from != to {
            jumps.entry(from).or_default().push(to);
        }
    }
    let mut ways = Vec::new();
    for (from, offset, callee) in calls {
        let mut reached = vec![callee];
        let mut next = 0;
        while let Some(at) = reached.get(next).copied() {
            next += 1;
            for to in jumps.get(&at).into_iter().flatten() {
                if !reached.contains(to) {
                    reached.push(*to);
                }
            }
        }
        ways.extend(reached.iter().enumerate().map(|(at, to)| (from, offset, *to, at > 0)));
    }
    ways
}

#[test]
fn no_call_is_answered_wrong_and_as_many_exact_as_claimed() {
    let cases = cases::read_all(&root().join("cases")).unwrap();
    let case = cases.iter().find(|case| case.name == "fold_macho").unwrap();
    for set in SETS {
        with_pair(set, |mut pair| {
            let all = ways(&pair);
            let functions = pair.functions.clone();
            let start = |function: usize| functions[function].0.address;
            let (mut exact, mut direct, mut asked, mut lost) = (0, 0, 0, Vec::new());
            for &(from, offset, to, jumped) in &all {
                if !pair.is_folded(start(to)) {
                    continue;
                }
                let folded = pair.is_folded(start(from));
                let mut returns = vec![start(from) + offset];
                // A call of a folded caller, from code that is not folded, shows which caller it is.
                let known = all.iter().find(|&&(outer, _, callee, jumped)| {
                    callee == from && !jumped && !pair.is_folded(functions[outer].0.address)
                });
                if folded && let Some(&(outer, offset, ..)) = known {
                    returns.push(start(outer) + offset);
                }
                let (certainty, candidates) = pair.stack(start(to), &returns);
                let name = &functions[to].0.name;
                let is = |names: &Vec<String>| {
                    names.iter().any(|other| other.replace("C1E", "C2E") == name.replace("C1E", "C2E"))
                };
                let wrong = match certainty {
                    Some(Certainty::Exact) => candidates.len() != 1 || !is(&candidates[0]),
                    Some(Certainty::Narrowed | Certainty::Ambiguous) => !candidates.iter().any(is),
                    Some(Certainty::Likely) => !is(&candidates[0]),
                    Some(Certainty::Unique) | None => true,
                };
                if wrong {
                    lost.push(format!("{name} above {returns:x?} is {certainty:?} {candidates:?}"));
                }
                asked += 1;
                if !jumped && !folded {
                    exact += u32::from(certainty == Some(Certainty::Exact));
                    direct += 1;
                }
            }
            let claim = |list: &[(String, u32)]| list.iter().find(|(file, _)| file == set).unwrap().1;
            println!("{set}: {asked} asked, {} lost; direct {exact} of {direct} exact", lost.len());
            assert!(asked > 100 && direct > 10, "{set}: {asked}, {direct}");
            assert!(lost.len() <= claim(&case.lost) as usize, "{set}: {} lost: {}", lost.len(), lost[0]);
            assert!(100 * exact / direct >= claim(&case.exact), "{set}: {exact} of {direct}");
        });
    }
}

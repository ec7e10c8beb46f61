//! Stacks over several modules: the C interface answers as the engine does, in both tiers, through the C++ wrapper; and the
//! table of modules holds at its edges.

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{
    ask, both_tiers, compile, compiler, cxx_compilers, folder, run, sanitizers, source, symbol_file,
    symbol_file_with, text,
};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use foldsym_symbolize::{
    BuildId, Frame, Location, Mapping, Module, Modules, Stack, StackFrame, Symbolizer, Unknown,
};
use foldsym_testkit::writer;

/// A module of the made process.
struct Placed {
    name: &'static str,
    /// Its symbols; `None` if they are missing.
    path: Option<PathBuf>,
    stacks: Vec<foldsym_testbins::stacks::Stack>,
    bias: u64,
    start: u64,
    end: u64,
}

/// Two programs with recorded stacks as modules of one process, a third without symbols, and those of [`more`].
fn process(folder: &Path) -> Vec<Placed> {
    let placed = |name, set: &str, bias: u64, start: u64| {
        let path = foldsym_testbins::root().join("built").join(set).join("stacks");
        let lines = std::fs::read_to_string(path).unwrap();
        let stacks = lines.lines().map(|line| foldsym_testbins::stacks::Stack::parse(line).unwrap().unwrap());
        let path = Some(symbol_file(&format!("{set}/program"), folder));
        Placed { name, path, stacks: stacks.collect(), bias, start, end: start + 0x100_0000 }
    };
    let none = Placed { name: "none", path: None, stacks: Vec::new(), bias: 0, start: 0x10, end: 0x20 };
    // Linked to 0x200000, or without a fixed place.
    let a = placed("fold", "fold.clang-lld.set", 0x7f00_0000_0000, 0x7f00_0000_0000);
    let b = placed("ring", "ring.clang-lld.set", 0x5500_0000_0000, 0x5500_0000_0000);
    // The same file once more: its calls prove nothing about the other copy's functions.
    let again = placed("again", "fold.clang-lld.set", 0x6600_0000_0000, 0x6600_0000_0000);
    // Folded functions that another module calls, and a program whose order of calls says who is likeliest.
    let bare = |name, program: &str, bias: u64, start: u64| {
        let path = Some(symbol_file_with(program, folder, true));
        Placed { name, path, stacks: Vec::new(), bias, start, end: start + 0x10_0000 }
    };
    let callee = bare("callee", "imports.callee", CALLEE, CALLEE);
    let caller = bare("caller", "imports.caller", CALLER, CALLER);
    let ordered = bare("ordered", "first_use.clang", 0x10_0000, 0x30_0000);
    vec![a, none, b, Placed { stacks: Vec::new(), ..again }, callee, caller, ordered]
}

const CALLEE: u64 = 0x7100_0000_0000;
const CALLER: u64 = 0x7200_0000_0000;

/// Stacks that only the engine's own steps resolve: by the name of a call into another module, and by the order of calls.
fn more(modules: &[Placed]) -> Vec<Vec<u64>> {
    let bytes = |name: &str| {
        let module = modules.iter().find(|module| module.name == name).unwrap();
        std::fs::read(module.path.as_ref().unwrap()).unwrap()
    };
    let (callee, caller) = (bytes("callee"), bytes("caller"));
    let (callee, caller) = (SymbolFile::open(&callee).unwrap(), SymbolFile::open(&caller).unwrap());
    let mut frames = Frames::new();
    let mut is_folded = |address: &u64| match callee.lookup(ImageAddr(*address), &mut frames) {
        Ok(Lookup::Found(found)) => found.member_count() == 2,
        _ => false,
    };
    let folded = CALLEE + (0..0x2000).find(|address| is_folded(address)).unwrap();
    let calls = caller.records().imports().unwrap().iter().map(|call| CALLER + call.unwrap().0.0);
    let mut stacks: Vec<Vec<u64>> = calls.map(|returns_to| vec![folded, returns_to]).collect();
    assert_eq!(stacks.len(), 2);
    stacks.push(vec![0x30_1220, 0x30_11ae]);
    stacks.push(vec![folded]);
    stacks
}

/// Frames as the C++ program reads them, and as the engine does.
fn frames(modules: &[Placed]) -> Vec<(String, Vec<StackFrame>)> {
    let mut lines = Vec::new();
    let most = modules.iter().map(|module| module.stacks.len()).max().unwrap_or(0);
    assert!(most > 20, "{most}");
    for number in 0..most.min(120) {
        let (mut line, mut stack) = (String::new(), Vec::new());
        let mut add = |word: String, frame| {
            line += &word;
            line.push(' ');
            stack.push(frame);
        };
        for module in modules {
            let Some(recorded) = module.stacks.get(number % module.stacks.len().max(1)) else {
                add(format!("{:x}", module.start + 5), StackFrame::returns_to(module.start + 5));
                continue;
            };
            for (at, address) in recorded.addresses.iter().enumerate() {
                let address = address - recorded.bias + module.bias;
                assert!((module.start..module.end).contains(&address), "{}: {address:x}", module.name);
                match at {
                    0 => add(format!("={address:x}"), StackFrame::exact(address)),
                    _ => add(format!("{address:x}"), StackFrame::returns_to(address)),
                }
            }
        }
        // A stack that goes to and fro between the copies.
        let (copies, recorded) =
            ([&modules[0], &modules[3]], &modules[0].stacks[number % modules[0].stacks.len()]);
        for (at, address) in recorded.addresses.iter().enumerate().skip(1) {
            let address = address - recorded.bias + copies[(at / 2) % 2].bias;
            add(format!("{address:x}"), StackFrame::returns_to(address));
        }
        // In no module, at the border of one, and of another process.
        add("=999".into(), StackFrame::exact(0x999));
        add("20".into(), StackFrame::returns_to(0x20));
        add("=20".into(), StackFrame::exact(0x20));
        add("?".into(), StackFrame::UNKNOWN);
        lines.push((line, stack));
    }
    for addresses in more(modules) {
        let word = |(at, address): (usize, &u64)| format!("{}{address:x} ", if at == 0 { "=" } else { "" });
        let line = addresses.iter().enumerate().map(word).collect();
        let frame = |(at, &address): (usize, &u64)| match at {
            0 => StackFrame::exact(address),
            _ => StackFrame::returns_to(address),
        };
        lines.push((line, addresses.iter().enumerate().map(frame).collect()));
    }
    lines
}

fn print(out: &mut String, functions: &[Location], aliases: &[std::sync::Arc<str>]) {
    for Location { function, linkage_name, file, line, column, start_file, start_line, inlined, .. } in
        functions
    {
        write!(out, " | {function}@{linkage_name}@{file}:{line}:{column}@{start_file}:{start_line}").unwrap();
        if *inlined {
            out.push_str(" inlined");
        }
    }
    for alias in aliases {
        write!(out, " = {alias}").unwrap();
    }
}

/// What `wrapper.cpp` prints of a frame, by the engine.
fn expect(frame: &Frame, module: Option<&Placed>) -> String {
    let mut out = format!("{:x} {}", frame.address.unwrap_or(0), module.map_or("?", |module| module.name));
    let status = match &frame.unknown {
        None => 0,
        Some(Unknown::NoFunction) => 2,
        Some(Unknown::NoModule | Unknown::NoAddress) => 4,
        Some(Unknown::Absent(_)) => 5,
        Some(other) => panic!("{other}"),
    };
    let start = frame.start.map_or(0, |start| start + module.map_or(0, |module| module.bias));
    let count = frame.candidate_count.unwrap_or(u32::from(frame.unknown.is_none()));
    write!(
        out,
        " {status} {} {} {} {count} {start:x} {}",
        frame.certainty.map_or("-", |word| word.text()),
        frame.evidence.map_or("-", |word| word.text()),
        frame.reason.map_or("-", |word| word.text()),
        if frame.partial { 2 } else { 0 },
    )
    .unwrap();
    print(&mut out, &frame.functions, &frame.aliases);
    for candidate in &frame.candidates {
        write!(out, " ~ {}", candidate.how).unwrap();
        print(&mut out, &candidate.functions, &candidate.aliases);
    }
    out + "\n"
}

fn build_id(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    foldsym_lookup::SymbolFile::open(&bytes).unwrap().build_id().to_vec()
}

/// The arguments of `wrapper.cpp`, its input, and what it must print, as the engine answers.
fn case(folder: &Path) -> (Vec<String>, String, String) {
    let placed = process(folder);
    let modules = Modules::new(
        placed
            .iter()
            .map(|module| {
                let Placed { name, path, bias, start, end, .. } = module;
                let id = path.as_ref().map_or(vec![1, 2, 3, 4], |path| build_id(path));
                let mapping = Mapping::Bias { bias: *bias, start: *start, size: end - start };
                Module::new(name).with_id(BuildId::new(&id).unwrap()).mapped(mapping)
            })
            .collect(),
    );
    let search = placed.iter().filter_map(|module| module.path.clone());
    let symbolizer = Symbolizer::builder().search(search).build().unwrap();
    let (mut input, mut expected) = (String::new(), String::new());
    let (mut folded, mut told, mut aliased, mut imported) = (0, 0, 0, 0);
    for (line, stack) in frames(&placed) {
        input += &(line + "\n");
        for frame in symbolizer.symbolize(&Stack::new(&modules, stack)) {
            folded += u32::from(frame.candidates.len() > 1);
            aliased += u32::from(!frame.aliases.is_empty());
            told += u32::from(frame.certainty.is_some_and(|word| word.text() == "exact"));
            imported += u32::from(frame.certainty.is_some_and(|word| word.text() == "likely"));
            expected += &expect(&frame, frame.module.map(|module| &placed[module]));
        }
        expected += "--\n";
    }
    println!("{folded} frames of several candidates, {told} exact, {aliased} of several names");
    assert!(folded > 50 && told > 50 && imported >= 2, "{folded} {told} {imported}");
    let args = placed.iter().map(|module| {
        let path = module.path.as_ref().map_or("", |path| text(path));
        format!("{}:{path}:{:x}:{:x}:{:x}", module.name, module.start, module.end, module.bias)
    });
    (args.collect(), input, expected)
}

/// Where two texts differ, in few words.
fn same(ours: &str, expected: &str, what: &str) {
    for (number, (ours, expected)) in ours.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, expected, "{what}, line {number}");
    }
    assert_eq!(ours.lines().count(), expected.lines().count(), "{what}");
}

#[test]
fn the_wrapper_answers_as_the_engine_does() {
    let folder = folder("modules");
    let (args, input, expected) = case(&folder);
    let builds: Vec<(PathBuf, &str, &[&str])> = cxx_compilers()
        .into_iter()
        .flat_map(|compiler| {
            let checked = sanitizers(&compiler, &folder);
            let kinds =
                [("plain", &[][..]), ("quiet", &["-fno-exceptions", "-fno-rtti"]), ("checked", checked)];
            kinds.map(|(kind, flags)| (compiler.clone(), kind, flags))
        })
        .collect();
    let library = both_tiers().join("libfoldsym_capi.a");
    let build = |(compiler, kind, flags): &(PathBuf, &str, &[&str])| {
        let program = folder.join(format!("{}-{kind}", compiler.file_name().unwrap().display()));
        let source = source("wrapper.cpp");
        let mut all = vec!["-std=c++17", "-Wshadow", "-xc++", source.as_str(), "-xnone", text(&library)];
        all.extend(*flags);
        all.extend(["-lpthread", "-ldl", "-lm"]);
        compile(compiler, &program, &all);
        let printed = ask(Command::new(&program).args(&args), &input);
        same(&printed, &expected, text(&program));
        if *kind == "plain"
            && let Some(mut valgrind) = common::valgrind()
        {
            let first = input.split_inclusive('\n').take(8).collect::<String>();
            let printed = ask(valgrind.arg(&program).args(&args), &first);
            assert!(expected.starts_with(&printed) && printed.len() > 1000);
        }
    };
    // Compilers and sanitized programs take most of the time.
    let (some, others) = builds.split_at(builds.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| some.iter().for_each(build));
        others.iter().for_each(build);
    });
}

#[test]
fn the_table_holds_at_its_edges() {
    let folder = folder("modules-table");
    let file = symbol_file("fold.clang-lld.set/program", &folder);
    let id: String = build_id(&file).iter().map(|byte| format!("{byte:02x}")).collect();
    let anonymous = folder.join("anonymous.fsym");
    let mut contents = writer::folded::Folded::new(2, &[3]).contents();
    contents.build_id.clear();
    std::fs::write(&anonymous, contents.file()).unwrap();
    for (name, flags) in [("cc", ["-std=c99", "-xc"]), ("c++", ["-std=c++17", "-xc++"])] {
        let Some(compiler) = compiler(name) else { continue };
        for checks in [&[][..], sanitizers(&compiler, &folder)] {
            let program = folder.join(name);
            let mut all = vec![flags[0], flags[1]];
            let source = source("modules.c");
            all.extend([source.as_str(), "-xnone", text(common::embedded())]);
            all.extend(checks);
            compile(&compiler, &program, &all);
            assert_eq!(run(&program, &[text(&file), &id, text(&anonymous)]), "the table holds\n");
        }
    }
}

/// A module that is added while others are looked up is there whole or not at all, and the sanitizer of threads sees no race.
#[test]
fn the_table_grows_while_it_is_read() {
    let Some(compiler) = compiler("cc") else { return };
    let folder = folder("modules-threads");
    let program = folder.join("threads");
    let source = source("threads.c");
    let all = ["-std=c11", "-pthread", &source, text(common::embedded())];
    compile(&compiler, &program, &all);
    assert_eq!(run(&program, &[]), "3 readers found 4096 modules\n");
    let flags = ["-g", "-fsanitize=thread"];
    let empty = folder.join("empty.c");
    std::fs::write(&empty, "int main(void) { return 0; }\n").unwrap();
    let checked = folder.join("checked");
    let linked = Command::new(&compiler).args(flags).arg(&empty).arg("-o").arg(&checked).output().unwrap();
    // Some kernels randomize the memory layout in a way that the runtime does not expect, unless randomization is turned off.
    let ways: [&[&str]; 2] = [&["env"], &["setarch", "-R"]];
    let start = |way: &[&str]| {
        let mut command = Command::new(way[0]);
        command.args(&way[1..]).arg(&checked);
        command
    };
    let works = |way: &&[&str]| start(way).output().is_ok_and(|output| output.status.success());
    let Some(way) = ways.into_iter().find(|way| linked.status.success() && works(way)) else {
        return common::skip("the sanitizer of threads");
    };
    compile(&compiler, &checked, &[&all[..], &flags].concat());
    assert_eq!(ask(&mut start(way), ""), "3 readers found 4096 modules\n");
}

//! Every interface gives the same answer. Single addresses: in text and in JSON, through Rust and C, by both drop-ins, and in the exported
//! GSYM file as `llvm-symbolizer` reads it. Stacks over several modules: in text, in JSON, through Rust and C.

#![cfg(feature = "convert")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use foldsym_symbolize::{Module, Modules, Stack, StackFrame, Symbolizer};
use object::{Object, ObjectSection, SectionKind};
use serde_json::Value;

const LLVM: &str = "/usr/lib/llvm-22/bin/llvm-symbolizer";

/// The frames of an address, innermost first: the function and `FILE:LINE`. None if nothing is known.
type Frames = Vec<(String, String)>;

/// So many addresses fit the program in C.
const MANY: usize = 250;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path).canonicalize().unwrap()
}

/// Addresses spread over the executable sections.
fn addresses(program: &Path) -> Vec<u64> {
    let bytes = std::fs::read(program).unwrap();
    let object = object::File::parse(bytes.as_slice()).unwrap();
    let code = object.sections().filter(|section| section.kind() == SectionKind::Text);
    let all: Vec<u64> =
        code.flat_map(|section| section.address()..section.address() + section.size()).collect();
    all.iter().copied().step_by(all.len().div_ceil(MANY)).collect()
}

fn output(command: &mut Command, addresses: &[u64]) -> String {
    fed(command, addresses.iter().map(|address| format!("{address:#x}\n")).collect())
}

fn fed(command: &mut Command, input: String) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn foldsym(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
    command.args(args).env("FOLDSYM_CACHE", folder.join("cache"));
    command
}

/// An unknown value is empty, also if a reason is printed; a place has no column.
fn frame(name: &str, file: &str, line: u64) -> (String, String) {
    let is_unknown = |text: &str| text == "??" || text.starts_with("?? [no_");
    let known = |text: &str| if is_unknown(text) { String::new() } else { text.to_owned() };
    (known(name), format!("{}:{line}", known(file)))
}

fn known(frames: Frames) -> Frames {
    if frames.iter().all(|(name, place)| name.is_empty() && place == ":0") { Vec::new() } else { frames }
}

/// Answers in pairs of lines, a function and `FILE:LINE`, with `:COLUMN` if there are columns.
fn pairs(answer: &str, columns: bool) -> Frames {
    let lines: Vec<&str> = answer.lines().collect();
    let pair = |pair: &[&str]| {
        let place = if columns { pair[1].rsplit_once(':').unwrap().0 } else { pair[1] };
        let (file, line) = place.rsplit_once(':').unwrap();
        frame(pair[0], file, line.parse().unwrap_or(0))
    };
    known(lines.chunks(2).map(pair).collect())
}

fn in_text(text: &str) -> Vec<Frames> {
    text.split_terminator("\n\n").map(|answer| pairs(answer.trim_start_matches('\n'), true)).collect()
}

fn in_addr2line(text: &str) -> Vec<Frames> {
    let mut answers: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("0x") {
            answers.push(String::new());
        } else {
            answers.last_mut().unwrap().push_str(&format!("{line}\n"));
        }
    }
    answers.iter().map(|answer| pairs(answer, false)).collect()
}

fn in_json(text: &str) -> Vec<Frames> {
    let answer = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let frames = value["Symbol"].as_array().unwrap().iter().map(|one| {
            let text = |key: &str| one[key].as_str().unwrap_or_default();
            frame(text("FunctionName"), text("FileName"), one["Line"].as_u64().unwrap_or(0))
        });
        known(frames.collect())
    };
    text.lines().map(answer).collect()
}

fn in_rust(file: &Path, addresses: &[u64]) -> Vec<Frames> {
    let symbolizer = Symbolizer::builder().build().unwrap();
    let module = Module::new("program").with_file(symbolizer.load(file).unwrap());
    let modules = Modules::new(vec![module.at(0x10_0000)]);
    let base = symbolizer.load(file).unwrap().file().header().image_base;
    let ask = |address: &u64| {
        let stack = Stack::new(&modules, vec![StackFrame::exact(address - base + 0x10_0000)]);
        let frames = symbolizer.symbolize(&stack);
        known(
            frames[0].functions.iter().map(|one| frame(&one.function, &one.file, one.line.into())).collect(),
        )
    };
    addresses.iter().map(ask).collect()
}

/// The program of the tests in C, with the library of both tiers.
fn program_in_c(folder: &Path) -> Option<PathBuf> {
    linked(folder, "cc", "tier2.c")
}

/// A program of the C interface's own tests, with the library of both tiers.
fn linked(folder: &Path, compiler: &str, source: &str) -> Option<PathBuf> {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    if Command::new(compiler).arg("--version").output().is_err() {
        println!("skipped: needs {compiler}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{compiler} is missing");
        return None;
    }
    let capi = root("src/front/capi");
    let library = LIBRARY.get_or_init(|| {
        // The folder of the C interface's own tests, whose library this is.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("both");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["rustc", "--locked", "-p", "foldsym-capi", "--lib", "--crate-type", "staticlib,cdylib"]);
        cargo.args(["--", "-C", "link-arg=-Wl,-soname,libfoldsym_capi.so.0"]);
        let built = cargo.current_dir(&capi).env("CARGO_TARGET_DIR", &target).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        target.join("debug/libfoldsym_capi.a")
    });
    let program = folder.join(format!("{source}.program"));
    let mut cc = Command::new(compiler);
    cc.arg("-I").arg(capi.join("include")).arg(capi.join("tests/c").join(source)).arg(library);
    let linked = cc.args(["-lm", "-lpthread", "-ldl", "-o"]).arg(&program).output().unwrap();
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    Some(program)
}

/// Lines of `STATUS CERTAINTY REASON COUNT NAME@FILE:LINE NAME@FILE:LINE`, in which names have blanks.
fn in_c(program: &Path, file: &Path, addresses: &[u64]) -> Vec<String> {
    let mut command = Command::new(program);
    command.arg(file).args(addresses.iter().map(|address| format!("{address:x}")));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let frames = |line: &str| line.splitn(5, ' ').nth(4).unwrap_or_default().to_owned();
    text.lines().map(frames).collect()
}

/// As the program in C prints them.
fn as_in_c(frames: &Frames) -> String {
    frames.iter().map(|(name, place)| format!("{name}@{place}")).collect::<Vec<_>>().join(" ")
}

/// A tool's answer without what only these tools give: the file of a symbol without a line, and GNU's choice among the names of a function.
fn of_tool(tool: &str, mut frames: Frames, own: &Frames) -> Frames {
    for (_, place) in &mut frames {
        if place.ends_with(":0") && !place.contains('/') {
            ":0".clone_into(place);
        }
    }
    if let (Some(outermost), Some(own)) = (frames.last_mut(), own.last().filter(|_| tool == "addr2line")) {
        outermost.0.clone_from(&own.0);
    }
    frames
}

#[test]
fn every_door_gives_one_answer() {
    for name in ["demo.elf", "inline.clang-dwarf5-o1", "fold.clang-lld.set/program", "objects.gcc-o2"] {
        let folder = tempfile::tempdir().unwrap();
        let program = root("testbins/built").join(name);
        let (copy, file) = (folder.path().join("program"), folder.path().join("program.fsym"));
        std::fs::copy(&program, &copy).unwrap();
        let (copy_text, file_text) = (copy.to_str().unwrap(), file.to_str().unwrap());
        let done =
            foldsym(folder.path(), &["convert", "--quiet", copy_text, "-o", file_text]).status().unwrap();
        assert!(done.success(), "{name}");
        let asked = addresses(&program);
        assert!(asked.len() > 100, "{name}");
        let ask = |args: &[&str]| output(&mut foldsym(folder.path(), args), &asked);

        let text = in_text(&ask(&["lookup", file_text]));
        assert_eq!(text.len(), asked.len(), "{name}");
        let inlined = text.iter().filter(|frames| frames.len() > 1).count();
        assert!(inlined > 5 || name.starts_with("fold"), "{name}: few inlined functions");
        let same = |door: &str, answers: &[Frames]| {
            assert_eq!(answers.len(), asked.len(), "{name}, {door}");
            for (address, (one, other)) in asked.iter().zip(text.iter().zip(answers)) {
                assert_eq!(other, one, "{name}, {door}, {address:#x}");
            }
        };
        same("JSON", &in_json(&ask(&["lookup", "--json", file_text])));
        same("Rust", &in_rust(&file, &asked));
        let tool = |name: &str, answers: Vec<Frames>| {
            let answers = answers.into_iter().zip(&text);
            same(name, &answers.map(|(frames, own)| of_tool(name, frames, own)).collect::<Vec<_>>());
        };
        tool("llvm-symbolizer", in_text(&ask(&["llvm-symbolizer", "--obj", copy_text])));
        tool("llvm-addr2line", in_addr2line(&ask(&["llvm-addr2line", "-afiC", "-e", copy_text])));
        tool("addr2line", in_addr2line(&ask(&["addr2line", "-afiC", "-e", copy_text])));
        // `foldsym_symbolize` gives linkage names, and `foldsym_demangle` makes them readable; a GSYM file holds linkage names.
        let linkage = in_text(&ask(&["lookup", "--no-demangle", file_text]));
        if let Some(in_c_program) = program_in_c(folder.path()) {
            let answers = in_c(&in_c_program, &file, &asked);
            assert_eq!(answers.len(), asked.len(), "{name}, C");
            for (address, (one, other)) in asked.iter().zip(linkage.iter().zip(&answers)) {
                assert_eq!(*other, as_in_c(one), "{name}, C, {address:#x}");
            }
        }
        exported(name, folder.path(), &file, &program, &asked, &linkage);
    }
}

/// An interface's answer for a frame: the word of its certainty, and its functions.
type Told = (String, Frames);

/// A module of a process: its name and file, its link-time address, and its load address.
struct Loaded {
    name: &'static str,
    file: PathBuf,
    linked: u64,
    base: u64,
}

/// The answers of `foldsym_symbolize_stack`, as the program `wrapper.cpp` prints them.
fn stacks_in_c(folder: &Path, modules: &[Loaded], stacks: &[Vec<u64>]) -> Option<Vec<Vec<Told>>> {
    let program = linked(folder, "c++", "wrapper.cpp")?;
    let mut command = Command::new(program);
    for Loaded { name, file, linked, base } in modules {
        let end = base + 0x100_0000;
        command.arg(format!("{name}:{}:{base:x}:{end:x}:{:x}", file.display(), base.wrapping_sub(*linked)));
    }
    let line = |stack: &Vec<u64>| {
        let word = |(at, address): (usize, &u64)| format!("{}{address:x} ", if at == 0 { "=" } else { "" });
        stack.iter().enumerate().map(word).collect::<String>() + "\n"
    };
    let text = fed(&mut command, stacks.iter().map(line).collect());
    let told = |line: &str| {
        let answer = line.split(" ~ ").next().unwrap();
        let mut parts = answer.split(" = ").next().unwrap().split(" | ");
        let certainty = parts.next().unwrap().split(' ').nth(3).unwrap().trim_matches('-').to_owned();
        let one = |part: &str| {
            let mut words = part.split('@');
            let (name, place) = (words.next().unwrap(), words.nth(1).unwrap());
            let mut numbers = place.rsplit(':');
            let (_column, line) = (numbers.next(), numbers.next().unwrap().parse().unwrap());
            frame(name, place.rsplitn(3, ':').nth(2).unwrap(), line)
        };
        (certainty, known(parts.map(one).collect()))
    };
    let stacks = text.split_terminator("--\n").map(|stack| stack.lines().map(told).collect());
    Some(stacks.collect())
}

/// Folded functions that are resolved by a caller in their own module, by one in another, and by none.
#[test]
fn every_door_gives_one_answer_for_stacks_over_modules() {
    let folder = tempfile::tempdir().unwrap();
    let built = root("testbins/built");
    let module = |name: &'static str, program: &str, linked: u64, base: u64| {
        let file = folder.path().join(format!("{name}.fsym"));
        let (program, text) = (built.join(program), file.to_str().unwrap());
        let args = ["convert", "--quiet", "--imports", program.to_str().unwrap(), "-o", text];
        assert!(foldsym(folder.path(), &args).status().unwrap().success(), "{name}");
        Loaded { name, file, linked, base }
    };
    let modules = [
        module("callee", "imports.callee", 0, 0x7f00_0000_0000),
        module("caller", "imports.caller", 0, 0x7f10_0000_0000),
        module("ordered", "first_use.clang", 0x20_0000, 0x5000_0000),
        module("folded", "fold.clang-lld.set/program", 0x20_0000, 0x6000_0000),
    ];
    let search = folder.path().to_str().unwrap();
    let symbolizer = Symbolizer::builder().search([search]).build().unwrap();
    let process = Modules::new(modules.iter().map(|one| Module::new(one.name).at(one.base)).collect());
    let ask = |addresses: &[u64]| {
        let frame = |(at, &address): (usize, &u64)| match at {
            0 => StackFrame::exact(address),
            _ => StackFrame::returns_to(address),
        };
        symbolizer.symbolize(&Stack::new(&process, addresses.iter().enumerate().map(frame).collect()))
    };
    let callee = modules[0].base;
    let shared = (callee..callee + 0x2000).find(|address| ask(&[*address])[0].candidates.len() == 2).unwrap();
    let is_told = |returns_to: &u64| ask(&[shared, *returns_to])[0].evidence.is_some();
    let calls: Vec<u64> = (modules[1].base..modules[1].base + 0x2000).filter(is_told).collect();
    assert_eq!(calls.len(), 2);
    let mut stacks: Vec<Vec<u64>> = calls.iter().map(|returns_to| vec![shared, *returns_to]).collect();
    stacks.push(vec![0x5000_1220, 0x5000_11ae]);
    stacks.push(vec![shared, 0x10, shared]);
    let recorded = std::fs::read_to_string(built.join("fold.clang-lld.set/stacks")).unwrap();
    for line in recorded.lines().take(40) {
        let stack = foldsym_testbins::stacks::Stack::parse(line).unwrap().unwrap();
        let inside = stack.addresses.iter().map(|address| address - stack.bias - 0x20_0000 + 0x6000_0000);
        // A stack of one module, called from another, whose next frames are in the first again.
        stacks.push(inside.chain([calls[0], shared]).collect());
    }

    let in_rust: Vec<Vec<Told>> = stacks
        .iter()
        .map(|stack| {
            let told = |one: &foldsym_symbolize::Frame| {
                let functions =
                    one.functions.iter().map(|one| frame(&one.function, &one.file, one.line.into()));
                let certainty = one.certainty.map_or("", |certainty| certainty.text());
                (certainty.to_owned(), known(functions.collect()))
            };
            ask(stack).iter().map(told).collect()
        })
        .collect();
    let sure = in_rust.iter().flatten().filter(|(certainty, _)| certainty == "exact").count();
    let likely = in_rust.iter().flatten().filter(|(certainty, _)| certainty == "likely").count();
    assert!(sure > 40 && likely >= 2, "{sure} {likely}");

    let list: Vec<Value> = modules
        .iter()
        .map(|one| serde_json::json!({"name": one.name, "base": one.base, "size": 0x100_0000}))
        .collect();
    let input: String = stacks
        .iter()
        .map(|stack| format!("{}\n", serde_json::json!({"modules": list, "frames": stack})))
        .collect();
    let json = fed(&mut foldsym(folder.path(), &["stack", "--json", "--search", search]), input.clone());
    assert_eq!(json.lines().count(), in_rust.len());
    for (number, (line, expected)) in json.lines().zip(&in_rust).enumerate() {
        let value: Value = serde_json::from_str(line).unwrap();
        let frames = value["Frames"].as_array().unwrap();
        let certainties =
            frames.iter().map(|frame| frame["Certainty"].as_str().unwrap_or_default().to_owned());
        let lines: String = frames.iter().map(|frame| format!("{frame}\n")).collect();
        let told: Vec<Told> = certainties.zip(in_json(&lines)).collect();
        assert_eq!(told, *expected, "JSON, stack {number}");
    }
    let text = fed(&mut foldsym(folder.path(), &["stack", "--search", search]), input);
    let expected: Vec<&Frames> = in_rust.iter().flatten().map(|(_, frames)| frames).collect();
    // An empty line ends a frame, and another a stack.
    let told: Vec<Frames> = in_text(&text.replace("\n\n\n", "\n\n"));
    assert_eq!(told.iter().collect::<Vec<_>>(), expected, "text");
    let Some(in_c) = stacks_in_c(folder.path(), &modules, &stacks) else { return };
    assert_eq!(in_c.len(), in_rust.len());
    for (number, (told, expected)) in in_c.iter().zip(&in_rust).enumerate() {
        assert_eq!(told, expected, "C, stack {number}");
    }
}

/// `llvm-symbolizer` reads the GSYM file beside a program that was stripped of all else.
fn exported(name: &str, folder: &Path, file: &Path, program: &Path, asked: &[u64], expected: &[Frames]) {
    if !Path::new(LLVM).is_file() {
        println!("skipped: needs llvm-symbolizer of LLVM 22");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "llvm-symbolizer is missing");
        return;
    }
    let stripped = folder.join("stripped");
    let gsym = folder.join("stripped.gsym");
    let mut strip = Command::new(Path::new(LLVM).with_file_name("llvm-objcopy"));
    assert!(strip.arg("--strip-all").arg(program).arg(&stripped).status().unwrap().success());
    let (file, gsym_text) = (file.to_str().unwrap(), gsym.to_str().unwrap());
    assert!(foldsym(folder, &["export", "--gsym", file, "-o", gsym_text]).status().unwrap().success());
    let mut llvm = Command::new(LLVM);
    let answers = in_text(&output(llvm.args(["--no-demangle", "--obj"]).arg(&stripped), asked));
    assert_eq!(answers.len(), asked.len(), "{name}, GSYM");
    for (address, (own, read)) in asked.iter().zip(expected.iter().zip(&answers)) {
        // Code without a name has no record in a GSYM file.
        if own.last().is_some_and(|frame| frame.0.is_empty()) && read.is_empty() {
            continue;
        }
        assert_eq!(read, own, "{name}, GSYM, {address:#x}");
    }
}

//! The promise of tier 1, each clause measured: no syscall, little stack, little code, no panic, no heap.

mod common;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{compile, compiler, embedded, folder, run, skip, source, symbol_file, text};
use foldsym_lookup::{PieceId, SymbolFile};
use object::{Object, ObjectSymbol, SymbolKind};

/// Bytes of stack that opening, a lookup, or a resolution of a stack with a lookup of each frame may use.
const STACK: u64 = 4096;
/// Bytes of code of ours in a program that uses all of tier 1.
const CODE: u64 = 32 * 1024;

const SETS: &[&str] =
    &["fold.clang-lld.set", "fold.clang-relocs.set", "fold.gcc-lld.set", "ring.clang-lld.set"];

/// A symbol file and what `promise.c` reads of its recorded stacks.
fn recorded(set: &str, folder: &Path) -> (PathBuf, String) {
    let stacks = foldsym_testbins::root().join("built").join(set).join("stacks");
    let mut input = String::new();
    for line in std::fs::read_to_string(stacks).unwrap().lines() {
        let stack = foldsym_testbins::stacks::Stack::parse(line).unwrap().unwrap();
        let words: Vec<String> =
            std::iter::once(&stack.bias).chain(&stack.addresses).map(|word| format!("{word:x}")).collect();
        input += &(words.join(" ") + "\n");
        // Without its outermost caller, a stack of folded frames is ambiguous: all of a group must be asked.
        input += &(words[..words.len() - 1].join(" ") + "\n");
    }
    (symbol_file(&format!("{set}/program"), folder), input)
}

/// Programs with inlined calls in inlined calls.
const DEEP: &[&str] = &["core.dwarf5", "objects.gcc-o2"];

/// A symbol file and addresses all over its code, as frames of signal handlers that nobody called.
fn sampled(program: &str, folder: &Path) -> (PathBuf, String) {
    let path = symbol_file(program, folder);
    let bytes = std::fs::read(&path).unwrap();
    let file = SymbolFile::open(&bytes).unwrap();
    let mut addresses = Vec::new();
    for piece in (0..file.piece_count()).map(|piece| file.piece(PieceId(piece)).unwrap()) {
        addresses.extend((0..piece.len()).step_by(3).map(|at| piece.start.0 + at));
    }
    let line =
        |chunk: &[u64]| chunk.iter().fold(String::from("0"), |line, at| format!("{line} {at:x}")) + "\n";
    // As many as the C program takes.
    let input = addresses.chunks(256).take(512).map(line).collect();
    (path, input)
}

fn ask(program: &Path, mode: &str, file: &Path, input: &str) -> Output {
    let mut child = Command::new(program)
        .args([mode, text(file)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A child that is killed early does not read all.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn promise_program(cc: &Path, folder: &Path) -> PathBuf {
    let program = folder.join("promise");
    compile(cc, &program, &["-std=gnu11", "-Wno-pedantic", &source("promise.c"), text(embedded())]);
    program
}

#[test]
fn little_stack() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("promise-stack");
    let program = promise_program(&cc, &folder);
    let sets = SETS.iter().map(|set| (set, recorded(set, &folder)));
    for (set, (file, input)) in sets.chain(DEEP.iter().map(|program| (program, sampled(program, &folder)))) {
        let output = ask(&program, "stack", &file, &input);
        assert!(output.status.success(), "{set}: {}", output.status);
        let printed = String::from_utf8(output.stdout).unwrap();
        let numbers: Vec<u64> = printed.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [opened, looked, walked, answers] = numbers[..] else { panic!("{printed}") };
        println!(
            "{set}: stack of open {opened}, of lookups {looked}, of stacks {walked} bytes; {answers} answers"
        );
        assert!(answers > 100, "{set}");
        // A stack that is not used at all was not measured.
        assert!((64..=STACK).contains(&opened), "{set}: {opened}");
        assert!((64..=STACK).contains(&looked), "{set}: {looked}");
        assert!((64..=STACK).contains(&walked), "{set}: {walked}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_syscall() {
    use std::os::unix::process::ExitStatusExt;
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("promise-seccomp");
    let program = promise_program(&cc, &folder);
    for set in SETS {
        let (file, input) = recorded(set, &folder);
        // That the mode is on, or the rest proves nothing: 9 is SIGKILL.
        if ask(&program, "killed", &file, &input).status.signal() != Some(9) {
            return skip("seccomp's strict mode");
        }
        let output = ask(&program, "seccomp", &file, &input);
        assert!(output.status.success(), "{set}: {}", output.status);
        let answers: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        println!("{set}: {answers} answers without a syscall");
        assert!(answers > 100, "{set}");
    }
}

/// The symbols of a program: name, size, and whether it is code.
fn symbols(program: &Path) -> Vec<(String, u64, bool)> {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbols = file.symbols().map(|symbol| {
        let name = symbol.name().unwrap_or("").to_owned();
        (name, symbol.size(), symbol.kind() == SymbolKind::Text && symbol.is_definition())
    });
    symbols.collect()
}

#[test]
#[cfg(target_os = "linux")]
fn little_code_and_no_panic() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("promise-code");
    let program = folder.join("all");
    let library = text(embedded());
    compile(&cc, &program, &["-std=c11", "-Wl,--gc-sections", &source("all.c"), library]);
    let all = symbols(&program);
    // The rest of the program is C's: what a C program without the library has as well, by name.
    let (empty_c, empty) = (folder.join("empty.c"), folder.join("empty"));
    std::fs::write(&empty_c, "int main(void) { return 0; }\n").unwrap();
    compile(&cc, &empty, &["-std=c11", "-Wl,--gc-sections", text(&empty_c)]);
    let of_c: Vec<String> = symbols(&empty).into_iter().map(|(name, ..)| name).collect();
    let ours: Vec<_> =
        all.iter().filter(|(name, _, code)| *code && !of_c.contains(name)).map(|(n, s, _)| (n, s)).collect();
    let total: u64 = ours.iter().map(|(_, size)| **size).sum();
    println!("{total} bytes of code of ours in {} functions", ours.len());
    for wanted in ["foldsym_open", "foldsym_lookup", "foldsym_resolve_stack", "foldsym_write_name"] {
        assert!(ours.iter().any(|(name, _)| *name == wanted), "{wanted} is not in the program");
    }
    assert!(total <= CODE, "{total} bytes: {ours:#?}");
    for (name, ..) in &all {
        for word in [
            "panic",
            "unwrap_failed",
            "expect_failed",
            "slice_index",
            "bounds_check",
            "rust_eh",
            "begin_unwind",
        ] {
            assert!(!name.contains(word), "{name} is in the program");
        }
    }
}

/// A program that links the library needs nothing that it did not need before, but the four functions on
/// memory that every compiler assumes: no allocator among them.
#[test]
#[cfg(target_os = "linux")]
fn needs_nothing_of_the_system() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("promise-needs");
    let program = folder.join("all");
    let flags = ["-std=c11", "-nostdlib", "-r", "-Wl,--gc-sections", "-Wl,-u,main", "-Wl,-e,main"];
    let mut args: Vec<&str> = flags.to_vec();
    let source = source("all.c");
    args.extend([source.as_str(), text(embedded())]);
    compile(&cc, &program, &args);
    let bytes = std::fs::read(&program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    for symbol in file.symbols().filter(|symbol| symbol.is_undefined()) {
        let name = symbol.name().unwrap_or("");
        let allowed =
            ["", "memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen", "_GLOBAL_OFFSET_TABLE_"];
        assert!(allowed.contains(&name), "{name} is needed");
    }
}

/// Names and paths are cut, ended and told in whole; errors are told from absence. In C, and in C++.
#[test]
fn tier_one_in_c_and_cxx() {
    let folder = folder("promise-use");
    let file = symbol_file("fold.clang-lld.set/program", &folder);
    for (name, flags) in [("cc", ["-std=c11", "-xc"]), ("c++", ["-std=c++17", "-xc++"])] {
        let Some(compiler) = compiler(name) else { continue };
        let program = folder.join(name);
        let library = text(embedded());
        compile(&compiler, &program, &[flags[0], flags[1], &source("tier1.c"), "-xnone", library]);
        assert_eq!(run(&program, &[text(&file)]), "tier 1 holds\n");
    }
}

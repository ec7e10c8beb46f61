//! The promise of tier 1, each clause measured: no syscall, little stack, little code, no panic, no heap.

mod common;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{compile, compiler, embedded, folder, run, skip, source, symbol_file, text};
use foldsym_lookup::{PieceId, SymbolFile};
use foldsym_testkit::writer;
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
        // Without its outermost caller, a stack of folded frames is ambiguous: the reader must check all members of the group.
        input += &(words[..words.len() - 1].join(" ") + "\n");
    }
    (symbol_file(&format!("{set}/program"), folder), input)
}

/// Programs with inlined calls in inlined calls.
const DEEP: &[&str] = &["core.dwarf5", "objects.gcc-o2"];

/// A symbol file and addresses all over its code, as frames of signal handlers without a caller.
fn sampled(program: &str, folder: &Path) -> (PathBuf, String) {
    let path = symbol_file(program, folder);
    let bytes = std::fs::read(&path).unwrap();
    let file = SymbolFile::open(&bytes).unwrap();
    let mut addresses = Vec::new();
    for piece in (0..file.records().piece_count()).map(|piece| file.records().piece(PieceId(piece)).unwrap())
    {
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

fn promise_program(cc: &Path, folder: &Path, flags: &[&str]) -> PathBuf {
    let program = folder.join("promise").with_extension(flags.join("").replace(['/', ','], ""));
    let source = source("promise.c");
    let mut args = vec!["-std=gnu11", "-Wno-pedantic", source.as_str()];
    args.extend(flags);
    args.push(text(embedded()));
    compile(cc, &program, &args);
    program
}

/// A function with an inlined call in an inlined call, 255 deep: the most that a file may have.
fn deep() -> writer::Contents {
    let nodes: Vec<(u32, u32)> = (0..255).map(|parent| (parent, 0)).collect();
    let row = |scope| writer::RawRow { offset: scope, scope, line: Some(1), file: 0, column: 0 };
    let (mut rows, mut scopes) = (vec![0], vec![0]);
    let record = writer::rows_record(&mut rows, &(0..256).map(row).collect::<Vec<_>>(), true) as i64;
    let tree = writer::scopes_record(&mut scopes, &nodes) as i64;
    writer::Contents {
        image_base: BASE,
        max_depth: 255,
        block_log2: 2,
        names: vec![b"f".to_vec()],
        files: vec![b"/f.c".to_vec()],
        origins: vec![[0, 1, 1, 0]],
        edges: vec![[0, 1, 0, 0]],
        functions: vec![[0, tree, 0, 0, 0]],
        pieces: vec![[0, 256, 0, 0, 0, record, 0]],
        rows,
        scopes,
        ..writer::Contents::default()
    }
}

/// Functions of a group that objects distinguish.
fn classes() -> writer::Contents {
    let folded = writer::folded::Folded::new(2, &[MEMBERS]);
    let mut contents = folded.contents();
    contents.vtables = (0..MEMBERS as i64).map(|slot| [POINT, 2 + slot, 1 + slot, 0]).collect();
    contents.slots = vec![[0x1004, MEMBERS as i64 - 1]];
    contents
}

/// The names of more would not be in order.
const MEMBERS: usize = 900;
/// What an object of the class holds, less the base of the file.
const POINT: i64 = 0x8000;
const BASE: u64 = writer::folded::BASE;

/// Files that are made, with a stack at every address of a few, and one with an object.
fn made(folder: &Path) -> Vec<(String, writer::Contents, PathBuf, String)> {
    let at = writer::folded::Folded::new(2, &[MEMBERS]).start(writer::folded::Place::Group(0));
    let all: String = (0..256).map(|address| format!("0 {:x}\n", BASE + address)).collect();
    // A load bias that wraps, and the call through the last slot.
    let point = BASE.wrapping_add_signed(POINT);
    let stack = |bias: u64| {
        format!(
            "{bias:x} {:x} {:x} v{:x}\n",
            bias.wrapping_add(at),
            bias.wrapping_add(BASE + 0x1004),
            bias.wrapping_add(point)
        )
    };
    let objects = stack(0) + &stack(0x5000) + &stack(0_u64.wrapping_sub(0x10));
    [("deep", deep(), all), ("classes", classes(), objects)]
        .map(|(name, contents, input)| {
            let path = folder.join(name).with_extension("fsym");
            std::fs::write(&path, contents.file()).unwrap();
            SymbolFile::open(&std::fs::read(&path).unwrap()).unwrap().verify().unwrap();
            (name.to_owned(), contents, path, input)
        })
        .into()
}

/// What a run measured: the stack of open, of lookups, of stacks; and how many answers there were.
fn measured(program: &Path, mode: &str, file: &Path, input: &str) -> [u64; 4] {
    let output = ask(program, mode, file, input);
    assert!(output.status.success(), "{}: {}", file.display(), output.status);
    let printed = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = printed.split_whitespace().map(|word| word.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

#[test]
fn little_stack() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("promise-stack");
    // Bound when the program starts, or by foldsym_open before the handler runs.
    let now = (promise_program(&cc, &folder, &["-Wl,-z,now"]), "stack");
    let lazy = (promise_program(&cc, &folder, &["-Wl,-z,lazy"]), "opened");
    let sets = SETS.iter().map(|set| ((*set).to_owned(), recorded(set, &folder)));
    let deep = DEEP.iter().map(|program| ((*program).to_owned(), sampled(program, &folder)));
    let made = made(&folder).into_iter().map(|(name, _, path, input)| (name, (path, input)));
    for (set, (file, input)) in sets.chain(deep).chain(made) {
        for (program, mode) in [&now, &lazy] {
            let [opened, looked, walked, answers] = measured(program, mode, &file, &input);
            println!(
                "{set} ({mode}): stack of open {opened}, of lookups {looked}, of stacks {walked} bytes; {answers} answers"
            );
            assert!(answers > if set == "classes" { 8 } else { 100 }, "{set}: {answers}");
            // A stack that is not used at all was not measured.
            assert!((64..=STACK).contains(&opened), "{set}: {opened}");
            assert!((64..=STACK).contains(&looked), "{set}: {looked}");
            assert!((64..=STACK).contains(&walked), "{set}: {walked}");
        }
    }
}

/// The same of damaged files: where a record is not what it should be, another path is taken.
#[test]
fn little_stack_where_a_file_is_damaged() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("promise-damage");
    let program = promise_program(&cc, &folder, &["-Wl,-z,now"]);
    let mut random = writer::Random(5);
    let (mut most, mut refused) = (0, 0);
    for (_, contents, path, input) in made(&folder) {
        let whole = contents.file();
        for _ in 0..40 {
            let mut bytes = whole.clone();
            let directory = writer::directory_end(&bytes);
            for _ in 0..1 + random.below(3) {
                let at = directory + random.below((bytes.len() - directory) as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
            }
            writer::reseal(&mut bytes);
            std::fs::write(&path, &bytes).unwrap();
            let [opened, looked, walked, answers] = measured(&program, "stack", &path, &input);
            most = most.max(opened).max(looked).max(walked);
            refused += u64::from(answers < 100);
            assert!(most <= STACK, "{opened} {looked} {walked}");
        }
    }
    println!("at most {most} bytes, {refused} files with few answers or none");
    assert!(most > 64);
}

/// The C library's allocator ends the program while tier 1 runs, objects and all.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn no_malloc() {
    use std::os::unix::process::ExitStatusExt;
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("promise-malloc");
    let interpose = source("interpose.c");
    let program = promise_program(&cc, &folder, &[&interpose]);
    let sets = SETS.iter().map(|set| recorded(set, &folder));
    let made = made(&folder).into_iter().map(|(_, _, path, input)| (path, input));
    for (file, input) in sets.chain(made) {
        // That it ends the program, or the rest proves nothing: 6 is SIGABRT.
        assert_eq!(ask(&program, "allocates", &file, &input).status.signal(), Some(6));
        let output = ask(&program, "malloc", &file, &input);
        assert!(output.status.success(), "{}: {}", file.display(), output.status);
        let answers: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        println!("{}: {answers} answers without malloc", file.display());
        assert!(answers > 8);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_syscall() {
    use std::os::unix::process::ExitStatusExt;
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("promise-seccomp");
    let program = promise_program(&cc, &folder, &[]);
    let sets = SETS.iter().map(|set| ((*set).to_owned(), recorded(set, &folder)));
    let made = made(&folder).into_iter().map(|(name, _, path, input)| (name, (path, input)));
    for (set, (file, input)) in sets.chain(made) {
        // That the mode is on, or the rest proves nothing: 9 is SIGKILL.
        if ask(&program, "killed", &file, &input).status.signal() != Some(9) {
            return skip("seccomp's strict mode");
        }
        let output = ask(&program, "seccomp", &file, &input);
        assert!(output.status.success(), "{set}: {}", output.status);
        let answers: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        println!("{set}: {answers} answers without a syscall");
        assert!(answers > 8, "{set}");
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

/// Names and paths are truncated, terminated and returned whole; errors differ from absence. In C, and in C++.
#[test]
fn tier_one_in_c_and_cxx() {
    let folder = folder("promise-use");
    let file = symbol_file("fold.clang-lld.set/program", &folder);
    // As another library reads it.
    let program = foldsym_testbins::root().join("built/fold.clang-lld.set/program");
    let bytes = std::fs::read(program).unwrap();
    let id = object::File::parse(&*bytes).unwrap().build_id().unwrap().unwrap_or(&[]).to_vec();
    let build_id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    for (name, flags) in [("cc", ["-std=c11", "-xc"]), ("c++", ["-std=c++17", "-xc++"])] {
        let Some(compiler) = compiler(name) else { continue };
        let program = folder.join(name);
        let library = text(embedded());
        compile(&compiler, &program, &[flags[0], flags[1], &source("tier1.c"), "-xnone", library]);
        assert_eq!(run(&program, &[text(&file), &build_id]), "tier 1 holds\n");
    }
}

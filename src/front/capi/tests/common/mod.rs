//! Shared by the tests: the libraries, the C compiler, and symbol files made from committed programs.

#![allow(dead_code, unreachable_pub)] // each test uses some of it

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};

/// Says why a test cannot run here; where everything must be there, that is a failure.
pub fn skip(needs: &str) {
    println!("skipped: needs {needs}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{needs} is missing");
}

pub fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder for the outputs of a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The system's compiler of C or C++; `None` after saying that the test is skipped.
pub fn compiler(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| path.is_file());
    if found.is_none() {
        skip(match program {
            "cc" => "a C compiler",
            "c++" => "a C++ compiler",
            other => other,
        });
    }
    found
}

fn cargo(args: &[&str], dir: &Path, target: &Path) {
    let mut command = Command::new(env!("CARGO"));
    command.args(args).current_dir(dir).env("CARGO_TARGET_DIR", target);
    // The profile that is measured is the one in the manifest.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PROFILE_") || name == "RUSTFLAGS" || name == "CARGO_ENCODED_RUSTFLAGS" {
            command.env_remove(name);
        }
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The static library with only tier 1.
pub fn embedded() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| archive("embedded"))
}

/// The static library that walks frames.
pub fn unwind_archive() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| archive("unwind"))
}

/// The library for signal handlers that the folder of this name makes.
fn archive(name: &str) -> PathBuf {
    let target = folder(&format!("{name}-archive"));
    cargo(&["build", "--release", "--locked"], &crate_dir().join(name), &target);
    target.join(format!("release/libfoldsym_{name}.a"))
}

/// All libraries for signal handlers: the folder of each has a manifest.
pub fn archives() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(crate_dir()).unwrap().map(|entry| entry.unwrap().path());
    let names = folders.filter(|folder| folder.join("Cargo.toml").is_file());
    names.map(|folder| archive(folder.file_name().unwrap().to_str().unwrap())).collect()
}

/// The static library with the crash handler.
pub fn crash_archive() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| archive("crash"))
}

/// The folder with the static and the dynamic library of both tiers.
pub fn both_tiers() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = folder("both");
        let args = ["rustc", "--locked", "-p", "foldsym-capi", "--lib", "--crate-type", "staticlib,cdylib"];
        let name = ["--", "-C", "link-arg=-Wl,-soname,libfoldsym_capi.so.0"];
        let name = if cfg!(target_os = "linux") { &name[..] } else { &[] };
        cargo(&[&args, name].concat(), crate_dir(), &target);
        let libraries = target.join("debug");
        // The name that programs load it by.
        if cfg!(target_os = "linux") {
            std::fs::copy(libraries.join("libfoldsym_capi.so"), libraries.join("libfoldsym_capi.so.0"))
                .unwrap();
        }
        libraries
    })
}

/// The flags of every test program: warnings are errors.
const FLAGS: &[&str] = &["-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"];

/// Compiles and links a program.
pub fn compile(compiler: &Path, out: &Path, args: &[&str]) {
    let include = crate_dir().join("include");
    let output = Command::new(compiler)
        .args(FLAGS)
        .arg("-I")
        .arg(include)
        .args(args)
        .arg("-o")
        .arg(out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A C source of the tests, as an argument.
pub fn source(name: &str) -> String {
    crate_dir().join("tests/c").join(name).display().to_string()
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Converts a committed program; returns the symbol file.
pub fn symbol_file(program: &str, folder: &Path) -> PathBuf {
    symbol_file_with(program, folder, false)
}

/// The same, with the calls to functions of other modules if requested.
pub fn symbol_file_with(program: &str, folder: &Path, imports: bool) -> PathBuf {
    let from = foldsym_testbins::root().join("built").join(program);
    let to = folder.join(format!("{}.fsym", program.replace('/', ".")));
    convert(
        &from,
        &to,
        &Options::default().with(|options| {
            options.threads = 1;
            options.imports = imports;
        }),
        &NoProgress,
    )
    .unwrap_or_else(|error| panic!("{program}: {error}"));
    to
}

/// What `tier2.c` prints, by the Rust reader.
pub fn expect(file: &SymbolFile<'_>, address: u64) -> String {
    use std::fmt::Write as _;
    let mut frames = Frames::new();
    let Lookup::Found(answer) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
        return "1 0 0 0\n".into();
    };
    let reason = answer.reason.map_or(0, |reason| reason as u32);
    let certainty = match (answer.group, reason) {
        (Some(_), _) => 5,
        (None, 0) => 1,
        (None, _) => 3,
    };
    let mut out = format!("0 {certainty} {reason} {}", answer.member_count());
    for frame in file.frames(&frames) {
        let frame = frame.unwrap();
        let text = |write: &dyn Fn(&mut [u8]) -> Option<usize>| {
            let mut buffer = [0; 4096];
            let len = write(&mut buffer).unwrap_or(0);
            String::from_utf8(buffer[..len].to_vec()).unwrap()
        };
        let name = text(&|out| file.write_name(frame.name?, out));
        let path = text(&|out| file.write_path(frame.file?, out));
        write!(out, " {name}@{path}:{}", frame.line).unwrap();
    }
    out + "\n"
}

/// The output of a program that must succeed.
pub fn run(program: &Path, args: &[&str]) -> String {
    let Output { status, stdout, stderr } = Command::new(program).args(args).output().unwrap();
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{status}: {stdout}{}", String::from_utf8_lossy(&stderr));
    stdout
}

/// The C++ compilers to test: the system's, and clang 22; those that are missing are skipped.
pub fn cxx_compilers() -> Vec<PathBuf> {
    let clang = llvm("clang++");
    compiler("c++").into_iter().chain(clang).collect()
}

/// A tool of LLVM 22; `None` after saying that the test is skipped.
pub fn llvm(tool: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("FOLDSYM_LLVM").unwrap_or_else(|| "/usr/lib/llvm-22/bin".into());
    let path = Path::new(&dir).join(tool);
    if path.is_file() {
        return Some(path);
    }
    skip(&format!("{tool} of LLVM 22"));
    None
}

/// The flags of the sanitizers of addresses and undefined behaviour; none after saying that they are skipped, where the
/// compiler has no runtime of them.
pub fn sanitizers(compiler: &Path, folder: &Path) -> &'static [&'static str] {
    const FLAGS: &[&str] = &["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let (source, program) = (folder.join("sanitized.c"), folder.join("sanitized"));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let output = Command::new(compiler).args(FLAGS).arg(&source).arg("-o").arg(&program).output().unwrap();
    if output.status.success() && Command::new(&program).output().is_ok_and(|ran| ran.status.success()) {
        return FLAGS;
    }
    skip(&format!("the sanitizers of {}", compiler.display()));
    &[]
}

/// The output of a program that must succeed, given its input, on its own or under a checker of memory.
pub fn ask(command: &mut Command, input: &str) -> String {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A child that ends early does not read all.
    let writer = std::thread::spawn(move || _ = stdin.write_all(input.as_bytes()));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    assert!(
        status.success(),
        "{status}: {}{}",
        &stdout[..stdout.len().min(2000)],
        String::from_utf8_lossy(&stderr)
    );
    stdout
}

/// valgrind, which ends with 99 where memory is misused or lost; `None` after saying that it is skipped.
pub fn valgrind() -> Option<Command> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        skip("valgrind");
        return None;
    }
    let mut command = Command::new("valgrind");
    command.args(["-q", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite,indirect"]);
    command.arg("--errors-for-leak-kinds=definite,indirect");
    Some(command)
}

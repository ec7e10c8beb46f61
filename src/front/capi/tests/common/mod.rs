//! What the tests share: the libraries, the C compiler, and symbol files made from committed programs.

#![allow(dead_code, unreachable_pub)] // each test uses some of it

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use foldsym_convert::{NoProgress, Options, convert};

/// Says why a test cannot run here; where everything must be there, that is a failure.
pub fn skip(needs: &str) {
    println!("skipped: needs {needs}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{needs} is missing");
}

pub fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder for what a test builds.
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
        skip(if program == "cc" { "a C compiler" } else { "a C++ compiler" });
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

/// The static library of tier 1 alone.
pub fn embedded() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = folder("embedded");
        cargo(&["build", "--release", "--locked"], &crate_dir().join("embedded"), &target);
        target.join("release/libfoldsym_embedded.a")
    })
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

/// What the flags of every test program are: no warning passes.
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
    let from = foldsym_testbins::root().join("built").join(program);
    let to = folder.join(format!("{}.fsym", program.replace('/', ".")));
    convert(&from, &to, &Options { threads: 1, ..Options::default() }, &NoProgress)
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    to
}

/// The output of a program that must succeed.
pub fn run(program: &Path, args: &[&str]) -> String {
    let Output { status, stdout, stderr } = Command::new(program).args(args).output().unwrap();
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{status}: {stdout}{}", String::from_utf8_lossy(&stderr));
    stdout
}

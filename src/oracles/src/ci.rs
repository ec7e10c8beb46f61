//! `cargo xtask ci-diff`: the comparison with the oracles over our own binary with full debug info and the C library's
//! debug file; with `--all` also over all test programs byte by byte, with columns and places of declaration; with `--tenth` over a fixed tenth
//! of these programs and addresses.

use std::path::{Path, PathBuf};

use crate::diff::{DiffOptions, DiffTally, Program, Tools, compare};
use crate::ours;
use xtask::build_id;
use xtask::sh;

/// Random addresses in a large program: with both oracles a few minutes on two cores.
const MANY: usize = 20_000;

/// Libraries and programs of other people's builds in Debian: C, C++, assembly code, Rust, Go, and stripped ones without separate debug files.
/// `--all` compares those that this machine has, and says which it lacks.
const FOREIGN: &[&str] = &[
    "libcrypto.so.3",
    "libgio-2.0.so.0",
    "libglib-2.0.so.0",
    "libgnutls.so.30",
    "libicuuc.so.72",
    "libisl.so.23",
    "libperl.so.5.36",
    "libpython3.11.so.1.0",
    "librsvg-2.so.2",
    "librav1e.so.0",
    "libsqlite3.so.0",
    "libstdc++.so.6",
    "libunistring.so.2",
    "libxml2.so.2",
    "libz3.so.4",
    "/usr/lib/go/bin/go",
    "/usr/bin/debuginfod",
];

/// Addresses in each of them.
const FEW: usize = 2_000;

/// `--tenth` takes one in this many programs and addresses.
pub(crate) const TENTH: usize = 10;

/// Test programs with more code than this are compared at random addresses; the tests of testbins compare every address.
const BYTE_BY_BYTE: u64 = 128 << 10;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (all, tenth) = match args {
        [] => (false, false),
        [all] if all == "--all" => (true, false),
        [tenth] if tenth == "--tenth" => (true, true),
        _ => return Err("usage: cargo xtask ci-diff [--all | --tenth]".to_owned()),
    };
    let step = if tenth { TENTH } else { 1 };
    let options = DiffOptions::default();
    let tools = Tools::build(&options)?;
    let mut bad = Vec::new();
    // `cargo test` holds every test program to llvm-symbolizer's stored answers; asking it live adds its columns, its
    // places of declaration and the other oracle.
    for path in if all { test_programs()? } else { Vec::new() }.into_iter().step_by(step) {
        // For a file that the oracles cannot read, testbins/expected has the answers.
        for arch in Program::architectures(&path)? {
            let Some(program) = askable(&path, arch.as_deref())? else { continue };
            let exhaustive = program.code_size() <= BYTE_BY_BYTE;
            for columns in [false, true] {
                let options = DiffOptions { exhaustive, columns, ..DiffOptions::default() };
                record(&path, compare(&tools, &program, &options), &mut bad);
            }
        }
    }
    let mut large = vec![own_binary()?];
    match libc() {
        Some(debug) => large.push(debug),
        None => {
            let help = "needs the C library's debug file: package libc6-dbg, or cargo xtask corpus libc";
            return Err(help.to_owned());
        }
    }
    for path in large {
        let program = Program::open(&path, None)?;
        let options = DiffOptions { addresses: MANY / step, columns: all, ..DiffOptions::default() };
        record(&path, compare(&tools, &program, &options), &mut bad);
    }
    for path in if all && !tenth { foreign() } else { Vec::new() } {
        let program = Program::open(&path, None)?;
        let options = DiffOptions { addresses: FEW, ..DiffOptions::default() };
        record(&path, compare(&tools, &program, &options), &mut bad);
    }
    if bad.is_empty() {
        Ok(())
    } else {
        Err(format!("{} comparisons failed:\n  {}", bad.len(), bad.join("\n  ")))
    }
}

/// Prints one comparison and keeps its name if it failed.
fn record(path: &Path, result: Result<DiffTally, String>, bad: &mut Vec<String>) {
    let name = name_of(path);
    match result {
        Ok(tally) => {
            println!("{name}: {}", tally.line());
            if tally.unexplained() > 0 {
                print!("{}", tally.report());
                bad.push(name);
            }
        }
        Err(error) => {
            println!("{name}: {error}");
            bad.push(name);
        }
    }
}

/// The programs of [`FOREIGN`] that are installed.
fn foreign() -> Vec<PathBuf> {
    let folder = c_library().and_then(|library| Some(library.parent()?.to_owned())).unwrap_or_default();
    let (found, missing): (Vec<PathBuf>, Vec<PathBuf>) =
        FOREIGN.iter().map(|name| folder.join(name)).partition(|path| path.exists());
    for path in missing {
        println!("{}: skipped: not installed", name_of(&path));
    }
    found
}

/// The files and bundles of `testbins/built`, by name.
pub(crate) fn test_programs() -> Result<Vec<PathBuf>, String> {
    let built = sh::root().join("testbins/built");
    let entries = std::fs::read_dir(&built).map_err(|e| format!("{}: {e}", built.display()))?;
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| Program::is_one(path)).collect();
    paths.sort();
    Ok(paths)
}

/// A program that can be compared. Prints the reason and returns `None` for a program without code of its own, or whose addresses are
/// ambiguous.
///
/// # Errors
/// A file that cannot be read, or a tool that is missing or fails: no program is skipped for that.
pub(crate) fn askable(path: &Path, arch: Option<&str>) -> Result<Option<Program>, String> {
    let program = Program::open(path, arch)?;
    let why = unaskable(&program);
    if let Some(why) = why {
        println!("{}: skipped: {why}", name_of(path));
    }
    Ok(why.is_none().then_some(program))
}

/// Why a program cannot be compared.
fn unaskable(program: &Program) -> Option<&'static str> {
    if program.code.is_empty() {
        return Some("no code");
    }
    (program.relocatable && program.code.len() != 1).then_some("ET_REL with several code sections")
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The command itself: the program that `FOLDSYM_BUILT` has, else one with full debug information, which is built in a target folder
/// of its own, so that the other build stays.
fn own_binary() -> Result<PathBuf, String> {
    if let Some(folder) = ours::built(&["foldsym"])? {
        return Ok(folder.join("foldsym"));
    }
    let target = sh::target_dir().join("full-debug");
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--release", "--package", "foldsym"]);
    build.args(["--config", "profile.release.debug=2", "--config", "profile.release.strip=false"]);
    sh::run(build.arg("--target-dir").arg(&target))?;
    Ok(target.join("release/foldsym"))
}

/// The installed C library.
pub(crate) fn c_library() -> Option<PathBuf> {
    ["/usr/lib", "/lib"]
        .iter()
        .map(|lib| Path::new(lib).join(format!("{}-linux-gnu/libc.so.6", std::env::consts::ARCH)))
        .find(|library| library.exists())
}

/// The debug file of the C library: the installed one, else the corpus's.
pub(crate) fn libc() -> Option<PathBuf> {
    let installed = || {
        let library = c_library()?;
        let id = build_id(&library).ok()?;
        let (head, tail) = id.split_at_checked(2)?;
        Some(Path::new("/usr/lib/debug/.build-id").join(head).join(format!("{tail}.debug")))
    };
    let corpus = sh::root().join("corpus/libc/libc.so.6.debug");
    installed().into_iter().chain([corpus]).find(|file| file.exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::program::Symbols;
    use crate::llvm::Code;

    #[test]
    fn a_file_that_cannot_be_opened_fails() {
        let folder = sh::scratch("ci-test").unwrap();
        // An ELF file to its first bytes, and no further: the tools that read it fail.
        let broken = folder.join("broken");
        std::fs::write(&broken, b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0").unwrap();
        assert!(Program::is_one(&broken));
        assert!(askable(&broken, None).is_err());
        assert!(askable(&folder.join("missing"), None).is_err());
    }

    #[test]
    fn what_cannot_be_compared_has_a_reason() {
        let code = Code { name: ".text".into(), start: 0, size: 4 };
        let program = |code: &[Code], relocatable| Program {
            path: "p".into(),
            file: "p".into(),
            arch: None,
            code: code.to_vec(),
            symbols: Symbols::default(),
            relocatable,
            legacy_compressed: false,
        };
        let two = [code.clone(), code.clone()];
        assert_eq!(unaskable(&program(&[], false)), Some("no code"));
        assert_eq!(unaskable(&program(&two, true)), Some("ET_REL with several code sections"));
        assert_eq!((unaskable(&program(&two, false)), unaskable(&program(&two[..1], true))), (None, None));
    }
}

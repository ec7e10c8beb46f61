//! `cargo xtask testbins`: builds every variant of every case, compares it with the committed file, and refreshes the answers.

use std::path::{Path, PathBuf};
use std::process::Command;

// The parser belongs to the test programs; `xtask` has no dependencies, so it includes the file.
#[allow(dead_code, unreachable_pub)]
use foldsym_testkit::cases;

use crate::corpus;

const HELP: &str = "cargo xtask testbins [--update] [--only TEXT] [--list] [--no-expected]
  builds the test programs into a temporary folder and says which differ from testbins/built
  --update       writes them to testbins/built, and their answers to testbins/expected
  --only TEXT    only files whose name contains TEXT
  --list         prints the commands, runs none
  --no-expected  leaves testbins/expected alone
  FOLDSYM_LLVM   the folder of the LLVM 22 tools (else: llvm-22 of the system, else PATH)";

/// The tools that a command may name, and the program that is looked for.
const TOOLS: &[(&str, &str)] = &[
    ("CLANG", "llvm:clang"),
    ("CLANGXX", "llvm:clang++"),
    // `cargo xtask corpus sid` makes it.
    ("CLANGXX_23", "sid:clang++"),
    ("MOLD_3", "sid:mold"),
    ("LLD", "llvm:ld.lld"),
    ("LD64", "llvm:ld64.lld"),
    ("DSYMUTIL", "llvm:dsymutil"),
    ("LIPO", "llvm:llvm-lipo"),
    ("NM", "llvm:llvm-nm"),
    ("OBJDUMP", "llvm:llvm-objdump"),
    ("LLVM_OBJCOPY", "llvm:llvm-objcopy"),
    ("LLVM_DWP", "llvm:llvm-dwp"),
    ("READOBJ", "llvm:llvm-readobj"),
    ("BUNDLER", "llvm:clang-offload-bundler"),
    ("DWARFUTIL", "llvm:llvm-dwarfutil"),
    ("OFFLOAD", "llvm:llvm-offload-binary"),
    ("GCC", "gcc"),
    ("GXX", "g++"),
    ("GCC_AARCH64", "aarch64-linux-gnu-gcc"),
    ("GXX_ARM", "arm-linux-gnueabihf-g++"),
    ("OBJCOPY", "objcopy"),
    ("BFD", "ld.bfd"),
    ("GOLD", "ld.gold"),
    ("MOLD", "mold"),
    ("DWZ", "dwz"),
    ("DWP", "dwp"),
    ("RUSTC", "rustc"),
    ("GO", "go"),
    // They run programs of another processor.
    ("QEMU_ARM", "qemu-arm"),
    ("QEMU_RISCV64", "qemu-riscv64"),
];

struct TestbinOptions {
    update: bool,
    list: bool,
    expected: bool,
    only: Option<String>,
}

/// Builds the test programs; see `HELP`.
///
/// # Errors
/// A usage error, a case that does not parse, a build that fails, or (without `--update`) a file that differs.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut options = TestbinOptions { update: false, list: false, expected: true, only: None };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--update" => options.update = true,
            "--list" => options.list = true,
            "--no-expected" => options.expected = false,
            "--only" => options.only = Some(args.next().ok_or(HELP)?.clone()),
            _ => return Err(HELP.to_owned()),
        }
    }
    let testbins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins");
    let testbins = testbins.canonicalize().map_err(|e| format!("{}: {e}", testbins.display()))?;
    let scratch = std::env::temp_dir().join(format!("foldsym-testbins-{}", std::process::id()));
    let result = build_all(&options, &testbins, &scratch);
    let _ = std::fs::remove_dir_all(&scratch);
    let built = result?;
    if options.update && options.expected && !built.is_empty() {
        refresh_expected(&testbins, &built)?;
    }
    Ok(())
}

fn build_all(options: &TestbinOptions, testbins: &Path, scratch: &Path) -> Result<Vec<String>, String> {
    let sources = testbins.join("cases");
    let (tools, missing) = find_tools();
    let (mut built, mut failed, mut differ, mut same) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for case in cases::read_all(&sources)? {
        for variant in case.variants {
            if options.only.as_ref().is_some_and(|only| !variant.file.contains(only.as_str())) {
                continue;
            }
            if options.list {
                println!("{}: {}", variant.file, variant.command);
                continue;
            }
            let lacks: Vec<&str> = missing
                .iter()
                .filter(|(var, _)| names(&variant.command, var))
                .map(|(_, tool)| tool.as_str())
                .collect();
            if !lacks.is_empty() {
                println!("{}: not built, missing {}", variant.file, lacks.join(", "));
                continue;
            }
            match build(&sources, scratch, &tools, &variant) {
                Err(error) => failed.push(format!("{}: {error}", variant.file)),
                Ok(out) => {
                    let committed = testbins.join("built").join(&variant.file);
                    if options.update {
                        install(&out, &committed)?;
                        built.push(variant.file);
                    } else if equal(&out, &committed) {
                        same += 1;
                    } else {
                        differ.push(variant.file);
                    }
                }
            }
        }
    }
    if !failed.is_empty() {
        return Err(format!("{} variants failed\n{}", failed.len(), failed.join("\n")));
    }
    if !differ.is_empty() {
        return Err(format!(
            "{same} equal to the committed files, {} differ:\n{}",
            differ.len(),
            differ.join("\n")
        ));
    }
    if !options.list {
        println!("{} written, {same} equal to the committed files", built.len());
    }
    Ok(built)
}

/// Whether `command` uses the variable `$var`.
fn names(command: &str, var: &str) -> bool {
    cases::expand(command, &[(var.to_owned(), String::new())]) != command
}

/// Runs one variant's command in `cases/`. The paths that end up in its DWARF all begin with `/src`.
fn build(
    sources: &Path,
    scratch: &Path,
    tools: &[Tool],
    variant: &cases::Variant,
) -> Result<PathBuf, String> {
    let dir = scratch.join(&variant.file);
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let out = dir.join("out");
    std::fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let out = out.join(&variant.file);
    let text = |path: &Path| path.display().to_string();
    let mut vars = tools.to_vec();
    vars.push(("OUT".into(), text(&out)));
    vars.push(("T".into(), text(&dir)));
    vars.push(("SRC".into(), text(sources)));
    let map = format!("-ffile-prefix-map={}=/src -ffile-prefix-map={}=/tmpdir", text(sources), text(&dir));
    vars.push(("MAP".into(), map));
    let command = cases::expand(&variant.command, &vars);
    let output = Command::new("sh")
        .args(["-e", "-c", &command])
        .current_dir(sources)
        // Compilers write temporary names into some symbol tables; a fixed locale and epoch keep the rest equal.
        .env("TMPDIR", &dir)
        .env("LC_ALL", "C")
        .env("SOURCE_DATE_EPOCH", "1")
        .env("ZERO_AR_DATE", "1")
        .output()
        .map_err(|e| format!("sh: {e}"))?;
    if !output.status.success() || !out.exists() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}\n  {command}\n{stderr}", output.status));
    }
    Ok(out)
}

/// A variable that commands use, and the program that replaces it.
type Tool = (String, String);

/// The installed tools, and the missing ones.
fn find_tools() -> (Vec<Tool>, Vec<Tool>) {
    let llvm = std::env::var("FOLDSYM_LLVM").unwrap_or_else(|_| "/usr/lib/llvm-22/bin".to_owned());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = |tool: &str| std::env::split_paths(&path).map(|dir| dir.join(tool)).find(|p| p.is_file());
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (var, tool) in TOOLS {
        let of_sid = tool.strip_prefix("sid:").map(|tool| corpus::sid_llvm().join(tool));
        let program = match tool.strip_prefix("llvm:") {
            _ if of_sid.is_some() => of_sid.filter(|p| p.is_file()),
            Some(tool) => Some(Path::new(&llvm).join(tool)).filter(|p| p.is_file()).or_else(|| on_path(tool)),
            None => on_path(tool),
        };
        match program {
            Some(program) => found.push(((*var).to_owned(), program.display().to_string())),
            None => missing.push((
                (*var).to_owned(),
                tool.trim_start_matches("llvm:").trim_start_matches("sid:").to_owned(),
            )),
        }
    }
    (found, missing)
}

/// The files of a built variant: itself, or all files below it if it is a bundle.
fn files(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else { return vec![root.to_owned()] };
    let mut all: Vec<PathBuf> = entries.flatten().flat_map(|entry| files(&entry.path())).collect();
    all.sort();
    all
}

fn equal(a: &Path, b: &Path) -> bool {
    let (of_a, of_b) = (files(a), files(b));
    let relative = |all: &[PathBuf], root: &Path| -> Vec<PathBuf> {
        all.iter().map(|p| p.strip_prefix(root).unwrap_or(p).to_owned()).collect()
    };
    relative(&of_a, a) == relative(&of_b, b)
        && of_a.iter().zip(&of_b).all(|(a, b)| std::fs::read(a).ok() == std::fs::read(b).ok())
}

/// Copies a file or a bundle; the mode of a committed program is that of any data file.
fn install(from: &Path, to: &Path) -> Result<(), String> {
    if to.is_dir() {
        std::fs::remove_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    for file in files(from) {
        let target = match file.strip_prefix(from) {
            Ok(rest) if rest.as_os_str().is_empty() => to.to_owned(),
            Ok(rest) => to.join(rest),
            Err(_) => to.to_owned(),
        };
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
        }
        let bytes = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        std::fs::write(&target, bytes).map_err(|e| format!("{}: {e}", target.display()))?;
    }
    Ok(())
}

/// Asks the oracle again for the programs just built; that needs the testbins crate, so it goes through cargo.
fn refresh_expected(testbins: &Path, built: &[String]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(testbins)
        .args(["run", "--quiet", "--release", "--package", "foldsym-testbins", "--bin", "expect", "--"])
        .args(built.iter().map(|file| Path::new("built").join(file)))
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(()) } else { Err("the answers could not be refreshed".to_owned()) }
}

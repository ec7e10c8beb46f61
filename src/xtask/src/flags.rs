//! `cargo xtask flags`: gives compilers the flags that BUILD-FLAGS.md advises.

use std::path::Path;
use std::process::Command;

use crate::corpus;
use xtask::sh;

const HELP: &str = "cargo xtask flags [--sid]
  compiles and links a program with each flag of the table in BUILD-FLAGS.md; fails for a flag that a compiler refuses, and
  for one of the table that this task does not know
  --sid   with clang 23, gcc 16, lld 23 and mold 3.0 of corpus/sid (cargo xtask corpus sid) in place of clang 22 and the
          system's gcc";

const DOCUMENT: &str = "BUILD-FLAGS.md";

/// Who takes a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Both,
    Clang,
    Gcc,
    Rustc,
    /// A linker that folds: lld and mold.
    Folding,
}

/// The flags of the table. Several words are several arguments.
const FLAGS: &[(&str, Takes)] = &[
    ("-g", Takes::Both),
    ("-g1", Takes::Both),
    ("-O1", Takes::Both),
    ("-ffunction-sections", Takes::Both),
    ("-mllvm -emit-func-debug-line-table-offsets", Takes::Clang),
    ("-fexperimental-call-graph-section", Takes::Clang),
    ("-C llvm-args=-emit-func-debug-line-table-offsets", Takes::Rustc),
    ("-gsplit-dwarf", Takes::Both),
    ("-Wl,--icf=safe", Takes::Folding),
    ("-Wl,--icf=all", Takes::Folding),
    ("-Wl,--build-id", Takes::Both),
    ("-Wl,--emit-relocs", Takes::Both),
    ("-fbasic-block-address-map", Takes::Clang),
    ("-fasynchronous-unwind-tables", Takes::Both),
    ("-fno-ipa-icf", Takes::Gcc),
];

/// Flags that the table says clang refuses together.
const REFUSED: &str = "-gsplit-dwarf -mllvm -emit-func-debug-line-table-offsets";
/// What it says.
const REFUSAL: &str = "dwo section may not contain relocations";

/// Two functions with equal code and a caller of each.
const SOURCE: &str = "\
__attribute__((noinline)) int letter(volatile int *p) { return *p + 1; }
__attribute__((noinline)) int parcel(volatile int *p) { return *p + 1; }
int main() { volatile int at = 0; return letter(&at) + parcel(&at) - 2; }
";

/// See `HELP`.
///
/// # Errors
/// A flag that is refused or not known, or a missing tool.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let sid = match args {
        [] => false,
        [option] if option == "--sid" => true,
        _ => return Err(HELP.to_owned()),
    };
    let unknown: Vec<String> = advised(&sh::read(&sh::root().join(DOCUMENT))?)
        .into_iter()
        .filter(|flag| FLAGS.iter().all(|(known, _)| known != flag))
        .collect();
    if !unknown.is_empty() {
        return Err(format!("{DOCUMENT}: flags that nobody tries: {}", unknown.join(", ")));
    }
    if sid && !corpus::in_sid("").1.is_dir() {
        return Err("needs the root that `cargo xtask corpus sid` makes".to_owned());
    }
    let folder = if sid { corpus::in_sid("").1 } else { sh::scratch("flags")? };
    for (name, text) in [("flags.cc", SOURCE), ("flags.rs", "fn main() {}\n")] {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let compilers = if sid {
        ["clang++-23".to_owned(), "g++-16".to_owned()]
    } else {
        [sh::llvm("clang++")?.display().to_string(), sh::tool("g++", "g++")?.display().to_string()]
    };
    let mut refused = Vec::new();
    let mut tried = 0;
    let mut attempt = |compiler: &str, flags: &str, is_taken: bool| -> Result<(), String> {
        tried += 1;
        let words: Vec<&str> = flags.split(' ').collect();
        let said = compile(sid, &folder, compiler, &words)?;
        let is_right = match &said {
            None => is_taken,
            Some(said) => !is_taken && said.contains(REFUSAL),
        };
        if !is_right {
            eprint!("{}", said.unwrap_or_default());
            refused.push(format!("{compiler} {} {flags}", if is_taken { "refuses" } else { "takes" }));
        }
        Ok(())
    };
    for (flag, takes) in FLAGS {
        match takes {
            Takes::Rustc if sid => {}
            Takes::Rustc => attempt("rustc", flag, true)?,
            Takes::Clang => attempt(&compilers[0], flag, true)?,
            Takes::Gcc => attempt(&compilers[1], flag, true)?,
            Takes::Both => {
                for compiler in &compilers {
                    attempt(compiler, flag, true)?;
                }
            }
            Takes::Folding => {
                let lld = if sid { "-fuse-ld=lld-23" } else { "-fuse-ld=lld" };
                attempt(&compilers[0], &format!("{lld} {flag}"), true)?;
                // mold is not on every machine; in the root it is.
                if sid {
                    for compiler in &compilers {
                        attempt(compiler, &format!("-fuse-ld=mold {flag}"), true)?;
                    }
                }
            }
        }
    }
    attempt(&compilers[0], REFUSED, false)?;
    if refused.is_empty() {
        println!("flags: {tried} tried, none refused against {DOCUMENT}");
        return Ok(());
    }
    Err(refused.join("\n"))
}

/// Compiles and links the source, with debug information; what the compiler says if it refuses.
fn compile(sid: bool, folder: &Path, compiler: &str, flags: &[&str]) -> Result<Option<String>, String> {
    let source = if compiler == "rustc" { "flags.rs" } else { "flags.cc" };
    let mut command = match sid {
        true => corpus::in_sid(compiler).0,
        false => Command::new(compiler),
    };
    command.current_dir(folder).arg("-g").args(flags).args([source, "-o", "flags"]);
    let out = command.output().map_err(|error| format!("{compiler}: {error}"))?;
    // A flag that is taken and not used would gain nothing.
    let text = String::from_utf8_lossy(&out.stderr);
    let is_taken = out.status.success() && !text.contains("unused") && !text.contains("ignored");
    Ok((!is_taken).then(|| text.into_owned()))
}

/// The flags in the first column of the table, without those that a row replaces.
fn advised(document: &str) -> Vec<String> {
    let rows = document.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let spans = rows.flat_map(|cell| {
        cell.split(" in place of ").next().unwrap_or_default().split('`').skip(1).step_by(2)
    });
    spans.filter(|span| span.starts_with('-')).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_of_the_table_is_tried() {
        let found = advised(
            "| flag | gain |\n|---|---|\n| `-g1` in place of `-g` | `-x` |\n| `-a` or `-b c` (lld; rustc: `-C d`) | |\n",
        );
        assert_eq!(found, ["-g1", "-a", "-b c", "-C d"]);
        let document = sh::read(&sh::root().join(DOCUMENT)).unwrap();
        assert!(advised(&document).len() >= FLAGS.len());
    }
}

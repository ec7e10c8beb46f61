//! `cargo xtask unfolded`: counts the certainties of answers in programs that were linked without folding.
//!
//! Every doubt there is the converter's; the program gives no reason for it. Each function is counted by its record in `foldsym dump`:
//! described or known only by a symbol, in a group or not, and why it is not certain.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fold::Foldsym;

use crate::json::{self, Answered};
use crate::results;
use xtask::sh;

const HELP: &str = "cargo xtask unfolded [NAME=PROGRAM...] [--foldsym PROGRAM] [--out FILE] [--no-go]
  converts programs that were linked without folding, and prints a table: functions, how many are in groups, how many of the
  described ones are `unique`, and the reasons of the others; fails where over 1 % of a program's functions are in groups, or
  under 99.5 % of the described ones of a program with its code are `unique`
  the programs: libc and libm with their debug files, the debug file of libc alone, libstdc++6-12-dbg (where they are
  installed), testbins/cases/golang.go for eight processors, dSYMs of testbins alone, and those that are named
  --foldsym PROGRAM  another build of foldsym
  --out FILE         writes the table there too, as a page of benches/results
  --no-go            not the programs of Go";

/// The processors that Go builds for.
const PROCESSORS: &[&str] = &["amd64", "arm64", "riscv64", "386", "arm", "ppc64le", "s390x", "mips64le"];

/// The bars: functions in groups, and described functions that are `unique`, of a thousand.
const MOST_GROUPED: usize = 10;
const LEAST_UNIQUE: usize = 995;

/// Counts of the functions of one program.
#[derive(Default)]
struct UnfoldedCounts {
    functions: usize,
    described: usize,
    grouped: usize,
    /// Described, not in a group, and certain.
    unique: usize,
    /// Reasons of the others that are not in a group, with how many of those are described.
    reasons: BTreeMap<String, (usize, usize)>,
}

/// Runs the task; see `HELP`.
///
/// # Errors
/// A usage error, a conversion that fails, or a program that misses a bar.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut other, mut out, mut go, mut programs) = (None, None, true, Vec::new());
    let given = args;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--foldsym" => other = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            "--out" => out = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            "--no-go" => go = false,
            named => {
                let (name, path) = named.split_once('=').ok_or(HELP)?;
                programs.push((name.to_owned(), PathBuf::from(path)));
            }
        }
    }
    let foldsym = Foldsym::build(other)?;
    let dir = sh::scratch("unfolded")?;
    let mut all = of_system(&foldsym, &dir)?;
    if go {
        all.extend(of_go(&dir)?);
    }
    let built = sh::root().join("testbins/built");
    for name in ["fold_macho.arm64-unfolded.dSYM", "fold_macho.x86_64-unfolded.dSYM"] {
        all.push((format!("{name}, alone"), built.join(name)));
    }
    all.extend(programs);
    let mut table = "| program | functions | in groups | described | of these `unique` | others |\n|---|---|---|---|---|---|\n".to_owned();
    let mut missed = Vec::new();
    for (name, path) in &all {
        let counts = counts(&foldsym, path, &dir)?;
        let of = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let others: Vec<String> = counts
            .reasons
            .iter()
            .map(|(reason, (all, described))| format!("{reason} {all} ({described} described)"))
            .collect();
        let (grouped, unique) = (of(counts.grouped, counts.functions), of(counts.unique, counts.described));
        let line = format!(
            "| {name} | {} | {} ({grouped:.2} %) | {} | {} ({unique:.2} %) | {} |\n",
            counts.functions,
            counts.grouped,
            counts.described,
            counts.unique,
            others.join(", ")
        );
        print!("{line}");
        table += &line;
        let has_code = !name.ends_with("alone");
        if counts.grouped * 1000 > counts.functions * MOST_GROUPED {
            missed.push(format!("{name}: {grouped:.2} % in groups"));
        }
        if has_code && counts.unique * 1000 < counts.described * LEAST_UNIQUE {
            missed.push(format!("{name}: {unique:.2} % unique"));
        }
    }
    if let Some(out) = out {
        let head = results::head("Programs that nobody folded", "unfolded", given, &["clang", "gcc"]);
        std::fs::write(&out, head + &table).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ")) }
}

/// The C library, the C++ library, and their debug files, as far as they are there.
fn of_system(foldsym: &Foldsym, dir: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let folder = Path::new("/usr/lib/x86_64-linux-gnu");
    let mut found = Vec::new();
    for name in ["libc.so.6", "libm.so.6", "libpthread.so.0"] {
        let path = folder.join(name);
        let Some(debug) = path.is_file().then(|| debug_file(foldsym, &path, dir)).transpose()?.flatten()
        else {
            continue;
        };
        found.push((format!("{name} with its debug file"), path));
        found.push((format!("{name}, the debug file alone"), debug));
    }
    let cpp = folder.join("debug/libstdc++.so.6.0.30");
    if cpp.is_file() {
        found.push(("libstdc++.so.6.0.30 of libstdc++6-12-dbg".to_owned(), cpp));
    }
    Ok(found)
}

/// The debug file of a library, by its build id.
fn debug_file(foldsym: &Foldsym, path: &Path, dir: &Path) -> Result<Option<PathBuf>, String> {
    let report = dir.join("report.json");
    let mut convert = Command::new(foldsym.path());
    convert.arg("convert").arg(path).arg("-o").arg(dir.join("program.fsym")).arg("--quiet");
    sh::output(convert.arg("--report").arg(&report))?;
    let report = json::parse(&sh::read(&report)?)?;
    let id = report["build_id"].text();
    let (folder, file) = id.split_at_checked(2).unwrap_or_default();
    let debug = Path::new("/usr/lib/debug/.build-id").join(folder).join(format!("{file}.debug"));
    Ok(debug.is_file().then_some(debug))
}

/// A Go program for each processor, with the runtime and its dependencies.
fn of_go(dir: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let go = sh::tool("go", "golang-go")?;
    let source = sh::root().join("testbins/cases/golang.go");
    let mut found = Vec::new();
    for processor in PROCESSORS {
        let (main, program) = (dir.join("main.go"), dir.join(format!("go.{processor}")));
        // The first lines are directives, no Go.
        let text: Vec<String> =
            sh::read(&source)?.lines().filter(|line| !line.starts_with("//#")).map(str::to_owned).collect();
        std::fs::write(&main, text.join("\n")).map_err(|error| format!("{}: {error}", main.display()))?;
        let mut build = Command::new(&go);
        build.current_dir(dir).env("GOARCH", processor).env("GOOS", "linux").env("CGO_ENABLED", "0");
        build.env("GO111MODULE", "off").env("GOPATH", dir.join("go-path"));
        sh::output(build.arg("build").arg("-o").arg(&program).arg("main.go"))?;
        found.push((format!("Go, {processor}"), program));
    }
    Ok(found)
}

/// Converts a program and counts its functions.
fn counts(foldsym: &Foldsym, path: &Path, dir: &Path) -> Result<UnfoldedCounts, String> {
    let fsym = dir.join("program.fsym");
    foldsym.convert(path, &fsym)?;
    let text = sh::output(Command::new(foldsym.path()).arg("dump").arg(&fsym))?;
    Ok(tally(&text))
}

/// Counts the functions of a dump.
fn tally(dump: &str) -> UnfoldedCounts {
    let mut counts = UnfoldedCounts::default();
    for function in dump.split("\n\n").filter(|text| text.trim_start().starts_with("function ")) {
        let lines = || function.lines().map(str::trim_start);
        let is_described = lines().any(|line| {
            line.strip_prefix("origin ").is_some_and(|origin| !origin.ends_with("declared at ??:0"))
        }) || lines().any(|line| line.starts_with("rows "));
        let is_grouped = lines().any(|line| line.starts_with("piece ") && line.contains(", GROUPS["));
        let reason = lines().find_map(|line| line.strip_prefix("certainty likely where it is not folded: "));
        counts.functions += 1;
        counts.described += usize::from(is_described);
        match reason {
            _ if is_grouped => counts.grouped += 1,
            None => counts.unique += usize::from(is_described),
            Some(reason) => {
                let (all, described) = counts.reasons.entry(reason.to_owned()).or_default();
                *all += 1;
                *described += usize::from(is_described);
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_is_counted() {
        let dump = "function 0 _start
  origin    ORIGINS[7] at byte 0x3e7 bit 7, declared at ??:0
  piece     0x16f0-0x1712, PIECES[0] at byte 0x348 bit 0

function 1 sink
  origin    ORIGINS[0] at byte 0x3e0 bit 0, declared at /made/main.c:2
  piece     0x17e0-0x17e1, PIECES[5] at byte 0x34d bit 5

function 2 other
  certainty likely where it is not folded: plain_names
  origin    ORIGINS[1] at byte 0x3e0 bit 0, declared at /made/main.c:4
  piece     0x17e2-0x17e3, PIECES[6] at byte 0x34d bit 5

function 3 helper
  origin    ORIGINS[2] at byte 0x3e0 bit 0, declared at /made/main.c:8
  piece     0x1820-0x186f, PIECES[7] at byte 0x34f bit 7, GROUPS[0] member 0 of 3, by live_range
";
        let counts = tally(dump);
        assert_eq!((counts.functions, counts.described, counts.grouped, counts.unique), (4, 3, 1, 1));
        assert_eq!(counts.reasons, BTreeMap::from([("plain_names".to_owned(), (1, 1))]));
    }
}

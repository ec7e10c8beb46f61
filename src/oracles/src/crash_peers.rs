//! `cargo xtask crash-peers`: the crash handler beside those of other libraries, on the same crashes of one program: functions named, time,
//! calls of the allocator and of the system in the handler, bytes that it adds, lines to write.
//!
//! The sources are in `benches/compare/handlers`. All programs load a library in which lld folded functions. Peers read debug information, so
//! their programs have it. Ours is stripped, beside its `.fsym`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use xtask::sh;

use crate::{ours, results};

const HELP: &str = "cargo xtask crash-peers [--sources DIR] [--foldsym PATH] [--out FILE]
  crashes one program in six ways under each handler, and counts what it names and takes
  --sources DIR   where libbacktrace and cpptrace are built: DIR/libbacktrace/.libs/libbacktrace.a with backtrace.h beside .libs, and
                  DIR/cpptrace/{include,lib}, an installation of static libraries; a file `version` beside them is
                  shown (default: corpus/peers)
  --foldsym PATH  the command (default: FOLDSYM_BUILT, else the workspace's release build, which is made)
  --out FILE      where the page goes (default: standard output)

Needs g++, clang and lld 22, strace and binutils. Peers that are not installed are skipped: libabsl-dev, libbackward-cpp-dev with libdw-dev.";

/// What each way of the program has on its stack, innermost first.
const WAYS: [(&str, &[&str]); 6] = [
    ("letter", &["weigh_letter", "stamp_letter", "post_letter", "crash", "main"]),
    ("thread", &["weigh_letter", "stamp_letter", "post_letter", "in_thread"]),
    ("overflow", &["deeper", "crash", "main"]),
    ("abort", &["abort", "give_up", "crash", "main"]),
    ("terminate", &["abort", "terminate", "lose_parcel", "crash", "main"]),
    ("heap", &["abort", "spoil_heap", "crash", "main"]),
];
/// Of functions with the same code, the one that did not run.
const OTHER: &str = "_parcel";
/// How long a handler may take: the program's own alarm ends it after 20 s.
const LIMIT: Duration = Duration::from_secs(30);
/// Runs of each crash; the quickest counts.
const ROUNDS: usize = 3;

/// A handler that can be built here.
struct Peer {
    name: &'static str,
    flags: Vec<String>,
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut sources, mut foldsym, mut out) = (sh::root().join("corpus/peers"), None, None);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut path = || rest.next().map(PathBuf::from).ok_or_else(|| format!("{arg} needs a path"));
        match arg.as_str() {
            "--help" => {
                println!("{HELP}");
                return Ok(());
            }
            "--sources" => sources = path()?,
            "--foldsym" => foldsym = Some(path()?),
            "--out" => out = Some(path()?),
            other => return Err(format!("unknown argument {other}\n{HELP}")),
        }
    }
    let built = ours::built(&["foldsym"])?.map(|folder| folder.join("foldsym"));
    let foldsym = results::command_with_server(foldsym.or(built).as_deref())?;
    let folder = sh::scratch("crash-peers")?;
    build_shared(&folder)?;
    let (peers, skipped) = peers(&sources)?;
    let plain = build(&folder, &Peer { name: "none", flags: Vec::new() })?;
    let base = stripped_len(&plain)?;
    let tools = &["g++", "clang++", "strace"];
    let mut page = results::head("The crash handler beside other libraries", "crash-peers", &[], tools);
    let versions = versions(&sources);
    let _ = writeln!(page, "Peers: {}.\n", versions.join(", "));
    for reason in &skipped {
        let _ = writeln!(page, "Skipped: {reason}.\n");
        eprintln!("skipped: {reason}");
    }
    page.push_str(INTRODUCTION);
    let _ =
        writeln!(page, "| handler | lines to write | bytes added, stripped | of symbols, read in a crash |");
    page.push_str("|---|---|---|---|\n");
    let mut programs = Vec::new();
    for peer in &peers {
        let program = build(&folder, peer)?;
        let added = stripped_len(&program)?.saturating_sub(base);
        let symbols = if peer.name == "foldsym" {
            ship(&foldsym, &folder, &program)?
        } else {
            let library = folder.join("libfolded.so");
            len(&program)? - stripped_len(&program)? + len(&library)? - stripped_len(&library)?
        };
        let lines = lines_to_write(peer.name)?;
        let _ = writeln!(page, "| {} | {lines} | {added} | {symbols} |", peer.name);
        programs
            .push((peer.name, if peer.name == "foldsym" { folder.join("shipped/foldsym") } else { program }));
    }
    page.push_str(TABLE);
    for (way, expected) in WAYS {
        for (name, program) in &programs {
            let seen = crash(program, &folder, way, expected)?;
            eprintln!("{way} {name}: {seen:?}");
            let _ = writeln!(page, "| {way} | {name} | {} |", seen.cells(expected.len()));
        }
    }
    match out {
        Some(file) => std::fs::write(&file, page).map_err(|error| format!("{}: {error}", file.display())),
        None => {
            print!("{page}");
            Ok(())
        }
    }
}

const INTRODUCTION: &str = "Each handler is installed as its documentation says (`benches/compare/handlers`). libbacktrace and cpptrace have none, so that their user
writes it: lines to write are those of the file without includes of the program and braces of the function. cpptrace is taken the short
way; its documentation has a safe one, with a second program. abseil walks by frame pointers, which a program built with -O2 has not. Peers
read the debug information of the program, ours reads `.fsym`.

";

const TABLE: &str = "
`right`: functions of the program, the C library and the C++ runtime that the output has in their order, of those on the stack. `wrong`: lines with the function that
the linker folded with the one that ran. Time is from the crash to the end of the process, the quickest of 3; calls of the allocator (malloc, calloc,
realloc, memalign) are counted by a library that is preloaded, those of the system by strace; both include the C++ runtime's own for `terminate`.

| crash | handler | right | wrong | ms | allocations | system calls | ended by |
|---|---|---|---|---|---|---|---|
";

fn sources() -> PathBuf {
    sh::root().join("benches/compare/handlers")
}

fn flags(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The handlers that can be built, and why others cannot.
fn peers(sources: &Path) -> Result<(Vec<Peer>, Vec<String>), String> {
    let include = |folder: &Path| format!("-I{}", folder.display());
    let manifest = sh::root().join("src/front/capi/crash/Cargo.toml");
    let target = sh::scratch("crash-peers/archive")?;
    sh::run(
        sh::cargo()
            .args(["build", "--release", "--locked", "--quiet", "--manifest-path"])
            .arg(manifest)
            .env("CARGO_TARGET_DIR", &target)
            .env_remove("CARGO_PROFILE_RELEASE_DEBUG"),
    )?;
    let archive = target.join("release/libfoldsym_crash.a").display().to_string();
    let ours = vec![include(&sh::root().join("src/front/capi/include")), archive];
    let (mut found, mut skipped) = (vec![Peer { name: "foldsym", flags: ours }], Vec::new());
    let library = sources.join("libbacktrace/.libs/libbacktrace.a");
    if library.is_file() {
        let flags = vec![include(&sources.join("libbacktrace")), library.display().to_string()];
        found.push(Peer { name: "libbacktrace", flags });
    } else {
        skipped.push(format!("libbacktrace: needs {}", library.display()));
    }
    let modules = ["--libs", "--static", "absl_failure_signal_handler", "absl_symbolize"];
    match sh::output(Command::new("pkg-config").args(modules)) {
        Ok(words) => {
            // The archives, as of the others.
            let words = words.split_whitespace().map(|word| match word.strip_prefix("-labsl_") {
                Some(name) => format!("-l:libabsl_{name}.a"),
                None => word.to_owned(),
            });
            found.push(Peer { name: "abseil", flags: words.collect() });
        }
        Err(_) => skipped.push("abseil: needs the package libabsl-dev".to_owned()),
    }
    if Path::new("/usr/include/backward.hpp").is_file()
        && Path::new("/usr/include/elfutils/libdw.h").is_file()
    {
        found.push(Peer { name: "backward", flags: flags(&["-ldw"]) });
    } else {
        skipped.push("backward-cpp: needs the packages libbackward-cpp-dev and libdw-dev".to_owned());
    }
    let folder = sources.join("cpptrace");
    let libraries = ["lib/libcpptrace.a", "lib/libdwarf.a"].map(|name| folder.join(name));
    if libraries.iter().all(|library| library.is_file()) {
        let mut all = vec![include(&folder.join("include")), "-DCPPTRACE_STATIC_DEFINE".to_owned()];
        all.extend(libraries.iter().map(|library| library.display().to_string()));
        all.extend(flags(&["-lzstd", "-lz"]));
        found.push(Peer { name: "cpptrace", flags: all });
    } else {
        skipped.push(format!("cpptrace: needs {}", folder.join("lib/libcpptrace.a").display()));
    }
    Ok((found, skipped))
}

/// What is known of the peers' versions: of packages, and a line of the file `version` beside sources.
fn versions(sources: &Path) -> Vec<String> {
    let of_package = |package: &&str| {
        let show = ["-W", "-f", "${Package} ${Version}", package];
        sh::output(Command::new("dpkg-query").args(show)).ok()
    };
    let of_source = |name: &&str| {
        let text = sh::read(&sources.join(name).join("version")).ok()?;
        Some(format!("{name} {}", text.trim()))
    };
    let packages = ["libabsl-dev", "libbackward-cpp-dev", "libdw-dev"];
    ["libbacktrace", "cpptrace"]
        .iter()
        .filter_map(of_source)
        .chain(packages.iter().filter_map(of_package))
        .collect()
}

/// The folded library, and the library that counts.
fn build_shared(folder: &Path) -> Result<(), String> {
    let lld = format!("--ld-path={}", sh::llvm("ld.lld")?.display());
    let mut clang = Command::new(sh::llvm("clang++")?);
    clang.args(["-std=c++17", "-O2", "-fPIC", "-shared", "-gdwarf-5", "-mllvm"]);
    clang.args(["-emit-func-debug-line-table-offsets", "-ffunction-sections", "-Wl,--icf=all"]);
    clang.args(["-Wl,--build-id", "-Wl,-soname,libfolded.so", &lld]).arg(sources().join("folded.cpp"));
    sh::run(clang.arg("-o").arg(folder.join("libfolded.so")))?;
    let mut counter = Command::new(sh::tool("gcc", "gcc")?);
    counter.args(["-O2", "-shared", "-fPIC", "-fno-builtin"]).arg(sources().join("count.c"));
    sh::run(counter.arg("-o").arg(folder.join("count.so")))
}

/// The program with one handler.
fn build(folder: &Path, peer: &Peer) -> Result<PathBuf, String> {
    let program = folder.join(peer.name);
    let mut compiler = Command::new(sh::tool("g++", "g++")?);
    compiler.args(["-std=c++17", "-O2", "-g", "-fno-optimize-sibling-calls", "-Wl,--gc-sections"]);
    compiler.args(["-Wl,--build-id", "-Wl,-rpath,$ORIGIN"]);
    compiler.args([sources().join("program.cpp"), sources().join(format!("{}.cpp", peer.name))]);
    compiler.arg(folder.join("libfolded.so")).arg("-o").arg(&program).args(&peer.flags).arg("-pthread");
    sh::run(&mut compiler)?;
    Ok(program)
}

fn len(file: &Path) -> Result<u64, String> {
    std::fs::metadata(file).map(|file| file.len()).map_err(|error| format!("{}: {error}", file.display()))
}

fn strip(file: &Path, to: &Path) -> Result<(), String> {
    sh::run(Command::new(sh::tool("strip", "binutils")?).arg(file).arg("-o").arg(to))
}

fn stripped_len(file: &Path) -> Result<u64, String> {
    let to = file.with_extension("stripped");
    strip(file, &to)?;
    len(&to)
}

/// Strips our program and its library into a folder of their own, with their symbols. Returns the bytes of these.
fn ship(foldsym: &Path, folder: &Path, program: &Path) -> Result<u64, String> {
    let shipped = folder.join("shipped");
    sh::create_dir(&shipped)?;
    let mut bytes = 0;
    for (file, name) in [(program, "foldsym"), (&folder.join("libfolded.so"), "libfolded.so")] {
        strip(file, &shipped.join(name))?;
        let symbols = shipped.join(format!("{name}.fsym"));
        let mut convert = Command::new(foldsym);
        convert.args(["convert", "--unwind", "--demangled", "--quiet"]).arg(file);
        sh::run(convert.arg("-o").arg(&symbols))?;
        bytes += len(&symbols)?;
    }
    Ok(bytes)
}

/// Lines of a peer's file that its user writes: all but blank ones, comments, the include of the program, and the frame of `install`.
fn lines_to_write(name: &str) -> Result<usize, String> {
    let text = sh::read(&sources().join(format!("{name}.cpp")))?;
    let is_ours = |line: &&str| {
        let line = line.trim();
        !(line.is_empty()
            || line.starts_with("//")
            || line.contains("install.h")
            || line.starts_with("void install"))
    };
    // The braces of `install`.
    Ok(text.lines().filter(is_ours).count() - 2)
}

/// What one crash came to.
#[derive(Debug)]
struct Measured {
    right: usize,
    wrong: usize,
    millis: f64,
    allocations: u64,
    calls: usize,
    /// The signal by which the process ended.
    ended_by: i64,
}

impl Measured {
    fn cells(&self, expected: usize) -> String {
        let end = match self.ended_by {
            14 => "hangs".to_owned(),
            6 => "SIGABRT".to_owned(),
            11 => "SIGSEGV".to_owned(),
            other => other.to_string(),
        };
        let Measured { right, wrong, millis, allocations, calls, .. } = self;
        format!("{right} of {expected} | {wrong} | {millis:.1} | {allocations} | {calls} | {end}")
    }
}

/// Runs a command with a limit of time. Returns what it wrote to both of its outputs.
fn limited(command: &mut Command, folder: &Path) -> Result<(String, String), String> {
    let files = ["out", "err"].map(|name| folder.join(name));
    let create = |file: &Path| {
        std::fs::File::create(file).map(Stdio::from).map_err(|error| format!("{}: {error}", file.display()))
    };
    command.stdout(create(&files[0])?).stderr(create(&files[1])?).env_remove("DEBUGINFOD_URLS");
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let begun = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if begun.elapsed() > LIMIT {
            let _ = child.kill();
            return Err(format!("{command:?} does not end"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let text = |file: &Path| std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let [out, err] = files.map(|file| text(&file).unwrap_or_default());
    Ok((out, err))
}

fn crash(program: &Path, folder: &Path, way: &str, expected: &[&str]) -> Result<Measured, String> {
    let (mut millis, mut ended_by, mut report) = (f64::INFINITY, 0, String::new());
    let number = |out: &str, at: usize| -> Result<i64, String> {
        let word = out.lines().last().and_then(|line| line.split_whitespace().nth(at));
        word.and_then(|word| word.parse().ok()).ok_or_else(|| format!("{} {way}: {out}", program.display()))
    };
    for _ in 0..ROUNDS {
        let (out, err) = limited(Command::new(program).arg(way), folder)?;
        millis = millis.min(number(&out, 0)? as f64 / 1e6);
        (ended_by, report) = (number(&out, 2)?, err);
        if ended_by == 14 {
            break;
        }
    }
    let mut counted = Command::new(program);
    counted.arg(way).env("LD_PRELOAD", folder.join("count.so"));
    let allocations = number(&limited(&mut counted, folder)?.0, 1)?.unsigned_abs();
    let calls = folder.join("calls");
    let mut strace = Command::new(sh::tool("strace", "strace")?);
    limited(strace.args(["-f", "-o"]).arg(&calls).arg(program).arg(way), folder)?;
    // The one order in which the functions are found, from the side where the output begins.
    let lines: Vec<&str> = report.lines().collect();
    let backwards: Vec<&str> = lines.iter().rev().copied().collect();
    let right = in_order(&lines, expected).max(in_order(&backwards, expected));
    let wrong = match way {
        "letter" | "thread" => lines
            .iter()
            .filter(|line| ["weigh", "post"].iter().any(|verb| line.contains(&format!("{verb}{OTHER}"))))
            .count(),
        _ => 0,
    };
    Ok(Measured {
        right,
        wrong,
        millis,
        allocations,
        calls: calls_after_signal(&sh::read(&calls)?),
        ended_by,
    })
}

/// How many of the functions the lines have, each behind the one before.
fn in_order(lines: &[&str], expected: &[&str]) -> usize {
    let (mut at, mut right) = (0, 0);
    for name in expected {
        let is_named = |line: &&str| has_word(line, name);
        if let Some(found) = lines.get(at..).unwrap_or_default().iter().position(is_named) {
            (at, right) = (at + found + 1, right + 1);
        }
    }
    right
}

/// Whether a line has a name as a word of its own, or mangled: behind its length. The text behind ` at ` is a path, whose program may have such a name.
fn has_word(line: &str, name: &str) -> bool {
    // A line that backward prints of the source.
    if line.trim_start().starts_with(['|', '>']) && !line.contains("Source \"") {
        return false;
    }
    // glibc's own name for calls inside of it.
    let line = line.split(" at ").next().unwrap_or(line).replace("__GI_", "");
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let behind = line[at + name.len()..].chars().next();
        let is_alone = !before.is_some_and(is_word) && !behind.is_some_and(is_word);
        is_alone || line[..at].ends_with(&name.len().to_string())
    })
}

/// The calls of the system after the signal, of the process that crashed: strace's lines are `PID name(...`.
fn calls_after_signal(trace: &str) -> usize {
    let parent = trace.split_whitespace().next().unwrap_or_default();
    let after =
        trace.lines().skip_while(|line| !line.contains("--- SIGSEGV") && !line.contains("--- SIGABRT"));
    let calls =
        after.filter(|line| !line.starts_with(parent) && line.contains('(') && !line.contains(" resumed>"));
    calls.filter(|line| !line.contains("---") && !line.contains("+++")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        assert!(has_word("0x1 _ZL12weigh_letterPVKl at a.cpp:1", "weigh_letter"));
        assert!(has_word("#0 0x7f weigh_letter at folded.cpp:11", "weigh_letter"));
        assert!(!has_word("#0 0x7f reweigh_letter at folded.cpp:11", "weigh_letter"));
        assert!(!has_word("#0 0x7f foldsym_crash_terminate at x", "terminate"));
        assert!(!has_word("#0 ?? at /main/x.cpp:1", "main"));
        assert_eq!(in_order(&["a main", "b crash"], &["crash", "main"]), 1);
        assert_eq!(in_order(&["b crash", "a main"], &["crash", "main"]), 2);
    }

    #[test]
    fn calls_are_those_of_the_child_after_the_signal() {
        let trace = "7 fork() = 8\n8 write(1) = 1\n8 --- SIGSEGV {} ---\n8 gettid() = 8\n8 <... read resumed>) = 1\n7 wait4(8) = 8\n8 +++ killed by SIGSEGV +++\n";
        assert_eq!(calls_after_signal(trace), 1);
    }
}

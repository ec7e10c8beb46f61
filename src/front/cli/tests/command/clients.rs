//! Programs that start `llvm-symbolizer` or `addr2line`, with links to foldsym in their place: sanitizers, perf, pprof, and
//! what scripts send that are not installed everywhere.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

const LLVM: &str = "/usr/lib/llvm-22/bin";

/// A program with an error in an inlined function, for two sanitizers.
const FAULTY: &str = r#"#include <cstdlib>
static inline __attribute__((always_inline)) int read_at(int *array, int at) { return array[at]; }
static __attribute__((noinline)) int sum(int *array, int count) {
    int total = 0;
    for (int i = 0; i <= count; i++) total += read_at(array, i);
    return total;
}
static __attribute__((noinline)) int shifted(int by) { return 1 << by; }
int main(int argc, char **argv) {
    if (argc > 1) { volatile int got = shifted(40 + argc); return got; }
    int *array = (int *)malloc(40);
    for (int i = 0; i < 10; i++) array[i] = i;
    int got = sum(array, 9 + argc);
    free(array);
    return got;
}
"#;

const HOT: &str = "static inline __attribute__((always_inline)) unsigned mix(unsigned x) { return (x ^ (x >> 15)) * 2246822519u; }
__attribute__((noinline)) unsigned spin(unsigned n) { unsigned x = n; for (unsigned i = 0; i < n; i++) x = mix(x + i); return x; }
int main() { unsigned t = 0; for (int i = 0; i < 20; i++) t += spin(10000000 + i); return t == 7; }
";

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path).canonicalize().unwrap()
}

/// The program of this path or name, or, having said so, nothing. Where all is installed it must be there.
fn needs(program: &str) -> Option<()> {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skipped: needs {program}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{program} is missing");
    }
    found.then_some(())
}

/// A folder with links to foldsym in `bin`, and its converted programs in `cache`.
fn links() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let made =
        Command::new(env!("CARGO_BIN_EXE_foldsym")).arg("shims").arg(folder.path().join("bin")).output();
    assert!(made.unwrap().status.success());
    folder
}

fn compiled(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (file, program) = (folder.join(format!("{name}.cpp")), folder.join(name));
    std::fs::write(&file, source).unwrap();
    let mut command = Command::new(format!("{LLVM}/clang++"));
    let output = command.arg("-g").args(options).arg(&file).arg("-o").arg(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// The frames of a report in one file: number, function, and place.
fn frames_in(report: &str, file: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let (_, rest) = line.trim_start().strip_prefix('#')?.split_once(" in ")?;
        let (function, place) = rest.rsplit_once(' ')?;
        place.contains(file).then(|| (function.to_owned(), place.to_owned()))
    };
    report.lines().filter_map(line).collect()
}

fn without_column(place: &str) -> &str {
    place.rsplit_once(':').map_or(place, |(place, _)| place)
}

/// A program's report with this tool.
fn report(program: &Path, args: &[&str], folder: &Path, tool: &Path) -> String {
    let options = format!("external_symbolizer_path={}:print_stacktrace=1:detect_leaks=0", tool.display());
    let mut command = Command::new(program);
    command.args(args).env("FOLDSYM_CACHE", folder.join("cache"));
    command.env("ASAN_OPTIONS", &options).env("UBSAN_OPTIONS", &options);
    String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned()
}

#[test]
fn sanitizers_print_the_frames_of_both_tools() {
    let (Some(()), folder) = (needs(&format!("{LLVM}/clang++")), links()) else { return };
    for (name, options, args, functions) in [
        (
            "asan",
            ["-O1", "-fsanitize=address"],
            &[][..],
            vec!["read_at(int*, int)", "sum(int*, int)", "main", "main"],
        ),
        ("ubsan", ["-O1", "-fsanitize=undefined"], &["x"], vec!["shifted(int)", "main"]),
    ] {
        let program = compiled(folder.path(), name, FAULTY, &options);
        let ask =
            |tool: &Path| frames_in(&report(&program, args, folder.path(), tool), &format!("{name}.cpp"));
        let real = ask(&Path::new(LLVM).join("llvm-symbolizer"));
        assert_eq!(
            real.iter().map(|frame| &*frame.0).collect::<Vec<_>>(),
            functions,
            "{name}: the tool itself"
        );
        assert_eq!(ask(&folder.path().join("bin/llvm-symbolizer")), real, "{name}");
        assert!(folder.path().join("cache").is_dir(), "ours was asked");
        let plain: Vec<(String, String)> =
            real.iter().map(|(name, place)| (name.clone(), without_column(place).to_owned())).collect();
        assert_eq!(ask(&folder.path().join("bin/addr2line")), plain, "{name} in addr2line's form");
        std::fs::remove_dir_all(folder.path().join("cache")).unwrap();
    }
}

/// `perf report` of the system: it runs the first `addr2line` on PATH.
#[test]
fn perf_names_lines() {
    let (Some(()), Some(()), folder) = (needs("perf"), needs(&format!("{LLVM}/clang++")), links()) else {
        return;
    };
    let program = compiled(folder.path(), "hot", HOT, &["-O2"]);
    let data = folder.path().join("perf.data");
    let mut record = Command::new("perf");
    let record = record
        .env("HOME", folder.path())
        .args(["record", "-e", "cpu-clock", "-o"])
        .arg(&data)
        .arg(&program)
        .output()
        .unwrap();
    if !record.status.success() {
        let said = String::from_utf8_lossy(&record.stderr);
        println!("skipped: the kernel lets perf record nothing: {said}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "perf records nothing: {said}");
        return;
    }
    let lines = |path: &str| {
        let mut perf = Command::new("perf");
        perf.args(["report", "--stdio", "-F", "overhead,srcline", "--dsos", "hot", "-i"]).arg(&data);
        perf.env("PATH", path).env("HOME", folder.path()).env("FOLDSYM_CACHE", folder.path().join("cache"));
        let output = perf.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{text}{}", String::from_utf8_lossy(&output.stderr));
        let shown = text.lines().filter(|line| line.contains("hot.cpp:"));
        shown.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<String>>()
    };
    let path = std::env::var("PATH").unwrap();
    let real = lines(&path);
    assert!(real.iter().any(|line| line.contains("hot.cpp:1")), "perf with GNU's tool: {real:?}");
    let own = lines(&format!("{}:{path}", folder.path().join("bin").display()));
    assert!(folder.path().join("cache").is_dir(), "ours was asked");
    assert_eq!(own, real);
}

/// A tool that reads requests and prints answers, line by line.
struct Speaker {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Speaker {
    fn new(folder: &Path, name: &str, args: &[&str]) -> Speaker {
        let mut command = Command::new(folder.join("bin").join(name));
        command.args(args).env("FOLDSYM_CACHE", folder.join("cache"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Speaker { child, out }
    }

    fn say(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Waits for this many lines: it never sees the answers of a tool that keeps them until the end.
    fn hear(&mut self, lines: usize) -> Vec<String> {
        let mut heard = Vec::new();
        for _ in 0..lines {
            let mut line = String::new();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "no more after {heard:?}");
            heard.push(line.trim_end().to_owned());
        }
        heard
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// perf since Linux 6.0 (`tools/perf/util/addr2line.c`) sends `,` to detect the style, then each address followed by `,`.
#[test]
fn perf_shakes_hands() {
    let folder = links();
    let program = root("testbins/built/inline.clang-dwarf4");
    let mut tool =
        Speaker::new(folder.path(), "addr2line", &["-e", program.to_str().unwrap(), "-a", "-i", "-f"]);
    let end = ["0x0000000000000000", "??", "??:0"];
    tool.say(",\n");
    // A first character 0 says GNU's style.
    assert_eq!(tool.hear(3), end);
    tool.say("0000000000201400\n,\n");
    let inlined = tool.hear(1 + 2 * 7 + 3);
    assert_eq!(inlined[..3], ["0x0000000000201400", "step6", "/src/./inline.h:12"]);
    assert_eq!(
        (&inlined[13..15], &inlined[15..]),
        (&["chain", "/src/inline.c:62"].map(str::to_owned)[..], &end.map(str::to_owned)[..])
    );
    // An address without a function ends like any other.
    tool.say("0000000000000010\n,\n");
    assert_eq!(tool.hear(6), [&["0x0000000000000010", "??", "??:0"][..], &end].concat());
    tool.end();
}

/// `asan_symbolize.py` of compiler-rt: `"BINARY" OFFSET`, read to an empty line; and its way to addr2line, `-1` as the end.
#[test]
fn asan_symbolize_reads_pairs_to_an_empty_line() {
    let folder = links();
    let program = root("testbins/built/inline.clang-dwarf4");
    let args = ["--demangle", "--functions=linkage", "--inlines", "--default-arch=x86_64"];
    let mut tool = Speaker::new(folder.path(), "llvm-symbolizer", &args);
    tool.say(&format!("\"{}\" 0x201400\n", program.display()));
    let pairs = tool.hear(2 * 7 + 1);
    assert_eq!((&*pairs[0], &*pairs[12], &*pairs[14]), ("step6", "chain", ""), "{pairs:?}");
    assert!(pairs[1].starts_with("/src/./inline.h:12:"), "{pairs:?}");
    tool.say("\"/nowhere\" 0x10\n");
    assert_eq!(tool.hear(3), ["??", "??:0:0", ""]);
    tool.end();
    let args = ["-fi", "--demangle", "-e", program.to_str().unwrap()];
    let mut tool = Speaker::new(folder.path(), "addr2line", &args);
    tool.say("0x201400\n-1\n");
    let pairs = tool.hear(2 * 7 + 2);
    assert_eq!(pairs[..2], ["step6", "/src/./inline.h:12"]);
    assert_eq!(pairs[14..], ["??", "??:0"]);
    tool.end();
}

/// The kernel's `scripts/decode_stacktrace.sh`: a process for each address, and `??:0` exactly if nothing is known.
#[test]
fn decode_stacktrace_asks_one_process_for_each_address() {
    let (Some(()), folder) = (needs("addr2line"), links()) else { return };
    let program = root("testbins/built/inline.gcc-dwarf4");
    let ask = |tool: &Path, address: &str| {
        let mut command = Command::new(tool);
        command
            .args(["-i", "-e"])
            .arg(&program)
            .arg(address)
            .env("FOLDSYM_CACHE", folder.path().join("cache"));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let own = folder.path().join("bin/addr2line");
    let mut seen = BTreeSet::new();
    for address in ["401020", "401130", "4011a0", "10", "ffffffff81000000"] {
        let (real, own) = (ask(Path::new("addr2line"), address), ask(&own, address));
        // The script takes off the folder and what GNU says of discriminators.
        let plain = |text: &str| {
            let line = |line: &str| line.split_once(" (disc").map_or(line, |(line, _)| line).to_owned();
            text.lines().map(line).collect::<Vec<String>>()
        };
        assert_eq!(plain(&own), plain(&real), "{address}");
        seen.extend(plain(&own));
    }
    assert!(seen.contains("??:0") && seen.len() > 3, "{seen:?}");
}

/// pprof symbolizes a profile of gperftools by the tools that it is given. (`go tool pprof` of Go 1.19 reads programs itself and
/// starts no tool, so this is pprof's own command, from Debian's sources of it.)
#[test]
fn pprof_names_what_a_profile_lacks() {
    const SOURCES: &str = "/usr/share/gocode";
    let there = Path::new(SOURCES).join("src/github.com/google/pprof").is_dir();
    if !there || Command::new("go").arg("version").output().is_err() {
        println!("skipped: needs go and golang-github-google-pprof-dev");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "pprof is missing");
        return;
    }
    let folder = links();
    let pprof = folder.path().join("pprof");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&pprof).arg("github.com/google/pprof");
    build.env("GOPATH", SOURCES).env("GO111MODULE", "off").env("GOCACHE", folder.path().join("go"));
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let reports = root("src/reports/tests/reports");
    // Samples by line; the two `weigh_` functions are one code, and either name is right.
    let top = |tools: &Path| {
        let mut command = Command::new(&pprof);
        command.args(["-top", "-lines", "-symbolize=local", "-sample_index=samples"]);
        command.arg(reports.join("mail")).arg(reports.join("mail.pb.gz"));
        command.env("PPROF_BINARY_PATH", &reports).env("PPROF_TOOLS", tools).env("HOME", folder.path());
        let output = command.env("FOLDSYM_CACHE", folder.path().join("cache")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter(|line| line.contains("/build/mail.cpp"));
        let counted = lines.map(|line| {
            let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
            ["parcel", "letter"].iter().fold(words, |words, folded| words.replace(folded, "*"))
        });
        counted.collect::<BTreeSet<String>>()
    };
    let real = top(Path::new(LLVM));
    assert!(real.iter().any(|line| line.contains("weigh_* /build/mail.cpp:7")), "{real:?}");
    assert_eq!(top(&folder.path().join("bin")), real);
    assert!(folder.path().join("cache").is_dir(), "ours was asked");
}

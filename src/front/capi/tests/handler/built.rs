//! The program that crashes, in several builds, and what its handler writes, as lines.

#![allow(unreachable_pub)] // shared by the modules of one test

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use foldsym_convert::{NoProgress, Options, convert};

use crate::common::{compiler, crash_archive, crate_dir, folder, llvm};

pub fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

pub fn source(name: &str) -> PathBuf {
    crate_dir().join("tests/c/handler").join(name)
}

/// The program and its libraries: with their debug information in `whole`, stripped and beside their symbols in `shipped`.
pub struct Built {
    pub whole: PathBuf,
    pub shipped: PathBuf,
}

/// The flags of a build, and whether the program has its libraries in itself.
pub struct Way {
    pub name: &'static str,
    pub flags: &'static [&'static str],
    pub is_static: bool,
}

pub const PIE: Way = Way { name: "pie", flags: &["-pie", "-fPIE"], is_static: false };
pub const PLAIN: Way = Way { name: "no-pie", flags: &["-no-pie", "-fno-pie"], is_static: false };
pub const STATIC: Way = Way { name: "static", flags: &["-static"], is_static: true };
pub const STATIC_PIE: Way = Way { name: "static-pie", flags: &["-static-pie", "-fPIE"], is_static: true };

/// Builds the program; `None` after saying what is missing. Two builds of one folder would write the same files, so each test has its own.
pub fn build(test: &str, way: &Way) -> Option<Built> {
    let cxx = compiler("g++")?;
    let (clang, lld) = (llvm("clang++")?, llvm("ld.lld")?);
    let root = folder(&format!("handler-{test}-{}", way.name));
    let (whole, shipped) = (root.join("whole"), root.join("shipped"));
    for folder in [&whole, &shipped] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let common =
        ["-std=c++17", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-Wl,--build-id"];
    let folded = [
        "-gdwarf-5",
        "-mllvm",
        "-emit-func-debug-line-table-offsets",
        "-ffunction-sections",
        "-Wl,--icf=all",
    ];
    let include = format!("-I{}", crate_dir().join("include").display());
    let linker = format!("--ld-path={}", lld.display());
    let program = whole.join("program");
    if way.is_static {
        let args =
            [source("program.cpp"), source("plain.cpp"), source("folded.cpp"), crash_archive().to_owned()];
        let mut command = Command::new(&cxx);
        command.args(common).args(way.flags).arg(include).args(args).arg("-pthread").arg("-o").arg(&program);
        succeed(&mut command);
    } else {
        let (folded_so, plain_so) = (whole.join("libfolded.so"), whole.join("libplain.so"));
        let mut command = Command::new(clang);
        command.args(common).args(folded).arg(linker).args(["-shared", "-fPIC", "-Wl,-soname,libfolded.so"]);
        command.arg(source("folded.cpp"));
        succeed(command.arg("-o").arg(&folded_so));
        let mut command = Command::new(&cxx);
        command.args(common).args(["-shared", "-fPIC", "-Wl,-soname,libplain.so"]).arg(source("plain.cpp"));
        succeed(command.arg("-o").arg(&plain_so));
        let mut command = Command::new(&cxx);
        command.args(common).args(way.flags).arg(include).arg(source("program.cpp")).arg(crash_archive());
        command.args([&plain_so, &folded_so]).args(["-Wl,-rpath,$ORIGIN", "-pthread", "-ldl"]);
        succeed(command.arg("-o").arg(&program));
    }
    let built = Built { whole, shipped };
    for name in ["program", "libfolded.so", "libplain.so"] {
        let from = built.whole.join(name);
        if from.is_file() {
            built.symbols(name);
            succeed(Command::new("strip").arg(&from).arg("-o").arg(built.shipped.join(name)));
        }
    }
    Some(built)
}

impl Built {
    /// Makes the symbols of a program or library.
    pub fn symbols(&self, name: &str) {
        let options = Options::default().with(|options| {
            options.threads = 1;
            options.unwind = true;
            options.readable_names = true;
        });
        let to = self.shipped.join(format!("{name}.fsym"));
        convert(&self.whole.join(name), &to, &options, &NoProgress).unwrap();
    }

    pub fn run(&self, words: &[&str]) -> Report {
        let output = Command::new(self.shipped.join("program")).args(words).output().unwrap();
        let text = [output.stderr, output.stdout].concat();
        Report { text: String::from_utf8_lossy(&text).into_owned(), status: output.status }
    }
}

pub struct Report {
    pub text: String,
    pub status: std::process::ExitStatus,
}

/// A line of a stack: number, function, the rest.
#[derive(Debug, PartialEq)]
pub struct Line {
    pub number: usize,
    pub name: String,
    pub rest: String,
}

impl Report {
    pub fn lines(&self) -> Vec<Line> {
        let frames = self.text.lines().filter(|line| line.starts_with('#'));
        let parse = |line: &str| {
            let mut words = line.trim_start_matches('#').splitn(3, ' ');
            let number = words.next().unwrap().parse().unwrap();
            let rest = words.nth(1).unwrap().to_owned();
            let end = rest.find(" at ").or_else(|| rest.rfind(" (")).unwrap_or(0);
            let name = rest[..end].split('+').next().unwrap().to_owned();
            Line { number, name, rest }
        };
        frames.map(parse).collect()
    }

    /// The frames have these functions, innermost first.
    pub fn has(&self, names: &[&str]) {
        let lines = self.lines();
        let found: Vec<&str> = lines.iter().map(|line| line.name.as_str()).take(names.len()).collect();
        assert_eq!(found, names, "{}", self.text);
    }

    /// The report is whole, and the process ended by this signal.
    pub fn is_whole(&self, signal: i32, head: &str) {
        assert!(self.text.contains(&format!("*** crash: {head}")), "{}", self.text);
        assert!(self.text.ends_with("*** end of the crash report\n"), "{}", self.text);
        assert_eq!(self.status.signal(), Some(signal), "{}", self.text);
    }
}

pub const LETTER: [&str; 5] =
    ["(anonymous namespace)::grams_of_letter", "letters::weigh", "letters::post", "twice", "carry"];

/// The number of a signal by its name.
pub fn libc_signal(name: &str) -> i32 {
    match name {
        "ABRT" => 6,
        "BUS" => 7,
        "FPE" => 8,
        "SEGV" => 11,
        "TRAP" => 5,
        _ => panic!("{name}"),
    }
}

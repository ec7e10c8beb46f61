//! A program that crashes: what the first lines of its source say, and how it is built.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::sh;

/// Options of clang that keep every folded function, and have the program find its library beside it.
const CLANG: &[&str] = &[
    "-std=c++20",
    "-g",
    "-gdwarf-5",
    "-ffunction-sections",
    "-mllvm",
    "-emit-func-debug-line-table-offsets",
    "-fuse-ld=lld",
    "-Wl,--build-id=sha1",
    "-Wl,-rpath,$ORIGIN",
];

/// Options of rustc. The sanitizer's build has this form of names too.
const RUSTC: &[&str] =
    &["--edition=2024", "-g", "-C", "symbol-mangling-version=v0", "-C", "link-arg=-Wl,--build-id=sha1"];

/// A source, and what its lines that begin with `//#` say.
pub(super) struct Crash {
    pub(super) name: String,
    source: PathBuf,
    /// `build`: the compiler and its options.
    build: Vec<String>,
    /// `library`: the source of a library that the program is linked to, beside its own.
    library: Option<PathBuf>,
    /// `stack`: the functions that ran, innermost first, up to `main` or the first function of the thread. `...` is any number of functions
    /// of libraries. Further in may be functions of libraries too. A function that calls itself is there once.
    pub(super) stack: Vec<String>,
    /// `folded`: those of them whose code lld folded.
    pub(super) folded: Vec<String>,
    /// `perf`: how the kernel walks the stack, `fp` or else by a copy of the stack; and whether the sample is that of the `first` signal,
    /// where the program handles it and ends itself by another.
    pub(super) perf: Vec<String>,
    /// `gdb`: the function at which gdb's walk ends; else it ends where the stack does.
    pub(super) gdb: Option<String>,
}

impl Crash {
    pub(super) fn read(source: &Path) -> Result<Self, String> {
        let text = sh::read(source)?;
        let words = |key: &str| -> Vec<String> {
            let start = format!("//# {key}: ");
            let line = text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_default();
            line.split_whitespace().map(str::to_owned).collect()
        };
        let folder = source.parent().unwrap_or(Path::new("."));
        let crash = Self {
            name: source.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            source: source.to_owned(),
            build: words("build"),
            library: words("library").first().map(|name| folder.join(name)),
            stack: words("stack"),
            folded: words("folded"),
            perf: words("perf"),
            gdb: words("gdb").into_iter().next(),
        };
        match crash.build.is_empty() || crash.stack.is_empty() {
            true => Err(format!("{}: no line `//# build:` or `//# stack:`", source.display())),
            false => Ok(crash),
        }
    }

    /// The outermost function that is compared.
    pub(super) fn entry(&self) -> &str {
        self.stack.last().map_or("", String::as_str)
    }

    /// Whether AddressSanitizer reports its crash. Go's runtime handles signals itself.
    pub(super) fn has_sanitizer(&self) -> bool {
        self.build[0] != "go"
    }

    /// Builds the program into a folder, with AddressSanitizer if asked. The program, then its library.
    pub(super) fn build(&self, folder: &Path, sanitized: bool) -> Result<Vec<PathBuf>, String> {
        let program = folder.join(&self.name);
        let mut compiler = Command::new(match self.build[0].as_str() {
            "clang++" => sh::llvm("clang++")?,
            "gcc" => sh::tool("gcc", "gcc")?,
            "go" => sh::tool("go", "golang")?,
            _ => std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()).into(),
        });
        match self.build[0].as_str() {
            "clang++" => compiler.args(CLANG),
            "gcc" => compiler.args(["-g", "-Wl,--build-id=sha1"]),
            "go" => compiler.arg("build"),
            _ => compiler.args(RUSTC),
        };
        if sanitized {
            // The option of rustc is one of its nightly build.
            compiler.args(self.sanitizer()?).env("RUSTC_BOOTSTRAP", "1");
        }
        compiler.args(&self.build[1..]);
        let mut made = vec![program.clone()];
        if let Some(source) = &self.library {
            let name = source.file_stem().unwrap_or_default().to_string_lossy();
            let library = folder.join(format!("lib{name}.so"));
            let mut linked = Command::new(compiler.get_program());
            linked.args(CLANG).args(["-O2", "-fPIC", "-shared", "-Wl,--icf=all"]);
            if sanitized {
                linked.args(self.sanitizer()?);
            }
            sh::run(linked.arg(source).arg("-o").arg(&library))?;
            compiler.arg("-L").arg(folder).arg(format!("-l{name}"));
            made.push(library);
        }
        compiler.arg("-o").arg(&program).arg(&self.source);
        // A library is linked for the calls of the objects before it.
        if self.library.is_some() {
            compiler.arg("-Wl,--no-as-needed");
        }
        sh::run(&mut compiler)?;
        Ok(made)
    }

    /// The options for AddressSanitizer. Of C and C++ its runtime is a library, whose frames are known by their module.
    fn sanitizer(&self) -> Result<Vec<String>, String> {
        if self.build[0] == "rustc" {
            return Ok(vec!["-Z".to_owned(), "sanitizer=address".to_owned()]);
        }
        let mut options = vec!["-fsanitize=address".to_owned()];
        if self.build[0] == "clang++" {
            let runtime = "-print-file-name=libclang_rt.asan-x86_64.so";
            let runtime = sh::output(Command::new(sh::llvm("clang++")?).arg(runtime))?;
            let folder = Path::new(runtime.trim()).parent().unwrap_or(Path::new("/")).display().to_string();
            options.extend(["-shared-libasan".to_owned(), format!("-Wl,-rpath,{folder}")]);
        }
        Ok(options)
    }
}

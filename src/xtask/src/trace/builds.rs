//! The builds that are traced: sources, compilers, linkers and forms of a program, every pair of which is covered once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sh;

/// Sources in `programs`: a file, or a folder of files.
const SOURCES: &[&str] =
    &["callbacks.c", "library.cpp", "virtual.cpp", "throwing.cpp", "generators.cpp", "locals"];
/// Is compiled by rustc alone, which merges functions by itself.
const RUST: &str = "traits.rs";
const COMPILERS: &[&str] = &["clang", "gcc"];
const LINKERS: &[&str] = &["lld", "gold", "mold"];

/// What is done to a program besides being compiled with `-O2 -g` and linked with `--icf=all`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Form {
    Plain,
    /// The compiler merges functions too: clang's `-fmerge-functions`, gcc's ipa-icf.
    Merging,
    /// Debug information for line numbers alone.
    LineTables,
    /// Objects but the first have no debug information.
    Mixed,
    Unoptimized,
    /// Relocations are kept (`--emit-relocs`).
    Relocations,
    /// Local symbols were removed after the link.
    Stripped,
    /// The debug information is in a file of its own.
    DebugFile,
    Lto,
}

const FORMS: &[(&str, Form)] = &[
    ("plain", Form::Plain),
    ("merging", Form::Merging),
    ("g1", Form::LineTables),
    ("mixed", Form::Mixed),
    ("O0", Form::Unoptimized),
    ("relocs", Form::Relocations),
    ("stripped", Form::Stripped),
    ("debugfile", Form::DebugFile),
    ("lto", Form::Lto),
];

/// One build.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct TracedBuild {
    pub(super) source: &'static str,
    pub(super) compiler: &'static str,
    pub(super) linker: &'static str,
    pub(super) form: Form,
}

/// A build's two links.
pub(super) struct Links {
    pub(super) folded: PathBuf,
    pub(super) plain: PathBuf,
    /// The folded program before anything was stripped of it.
    pub(super) whole: PathBuf,
    /// The program's own objects, as the link without folding has them.
    pub(super) objects: Vec<PathBuf>,
}

impl TracedBuild {
    pub(super) fn name(&self) -> String {
        let form = FORMS.iter().find(|(_, form)| *form == self.form).map_or("?", |(name, _)| name);
        format!("{}.{}-{}-{form}", self.source, self.compiler, self.linker)
    }

    /// Whether the tools can make it here.
    fn is_possible(&self) -> bool {
        let files = self.source == "locals";
        match self.form {
            // gold and mold need a plugin for clang's bitcode, lld cannot read gcc's.
            Form::Lto => matches!((self.compiler, self.linker), ("clang", "lld") | ("gcc", "gold" | "mold")),
            Form::Mixed => files,
            // What a debug file and a stripped program leave does not depend on the source.
            Form::DebugFile => matches!(self.source, "virtual.cpp" | "throwing.cpp" | "locals"),
            // gold writes relocations that it did not adjust.
            Form::Relocations => self.linker != "gold",
            _ => true,
        }
    }

    fn pairs(&self) -> [(String, String); 6] {
        let of = [
            self.source.to_owned(),
            self.compiler.to_owned(),
            self.linker.to_owned(),
            format!("{:?}", self.form),
        ];
        [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)].map(|(a, b)| (of[a].clone(), of[b].clone()))
    }

    /// Compiles and links the program twice, into `dir`.
    ///
    /// # Errors
    /// A tool that is missing or fails.
    pub(super) fn make(&self, sources: &Path, dir: &Path) -> Result<Links, String> {
        sh::create_dir(dir)?;
        let source = sources.join(self.source);
        if self.compiler == "rustc" {
            return self.make_rust(&source, dir);
        }
        let files = match source.is_dir() {
            true => {
                let all = std::fs::read_dir(&source).map_err(|e| format!("{}: {e}", source.display()))?;
                let mut all: Vec<PathBuf> = all.filter_map(|entry| Some(entry.ok()?.path())).collect();
                all.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
                all.sort();
                all
            }
            false => vec![source],
        };
        let driver = self.driver(&files[0])?;
        let objects = |kind: &str, merging: bool| {
            let mut all = Vec::new();
            for (at, file) in files.iter().enumerate() {
                // Names of one length: the paths of objects are in the programs.
                let object = dir.join(format!("{kind}{at}.o"));
                let mut compile = Command::new(&driver);
                compile.args(self.flags(at, merging)).arg("-c").arg(file).arg("-o").arg(&object);
                sh::run(compile.current_dir(dir))?;
                all.push(object);
            }
            Ok::<_, String>(all)
        };
        let link = |objects: &[PathBuf], icf: &str, name: &str| {
            let out = dir.join(name);
            let mut link = Command::new(&driver);
            link.args(["-static", "-Wl,--build-id"]).arg(format!("-fuse-ld={}", self.linker));
            // gcc looks for the linker in folders of its own.
            if self.linker == "lld"
                && let Some(folder) = sh::llvm("ld.lld")?.parent()
            {
                link.arg(format!("-B{}", folder.display()));
            }
            link.arg(format!("-Wl,--icf={icf}"));
            match self.form {
                Form::Relocations => drop(link.arg("-Wl,--emit-relocs")),
                Form::Lto => drop(link.args(["-flto", "-O2", "-g"])),
                _ => {}
            }
            sh::run(link.args(objects).arg("-o").arg(&out).current_dir(dir)).map(|()| out)
        };
        let merged = objects("a", true)?;
        let apart = if self.form == Form::Merging { objects("b", false)? } else { merged.clone() };
        let (folded, plain) = (link(&merged, "all", "folded")?, link(&apart, "none", "single")?);
        self.stripped(dir, folded, plain, apart)
    }

    fn make_rust(&self, source: &Path, dir: &Path) -> Result<Links, String> {
        let clang = sh::llvm("clang")?;
        let link = |icf: &str, name: &str| {
            let out = dir.join(name);
            let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
            rustc.args(["--edition=2024", "-O", "-g", "-C", "target-feature=+crt-static"]);
            rustc.args(["-C", "relocation-model=static", "-C", "codegen-units=1"]);
            // What rustc merges has one symbol in both links, but where the build asks for it.
            if self.form != Form::Merging || name == "single" {
                rustc.args(["-Z", "merge-functions=disabled"]).env("RUSTC_BOOTSTRAP", "1");
            }
            if self.form == Form::Relocations {
                rustc.args(["-C", "link-arg=-Wl,--emit-relocs"]);
            }
            rustc.arg("-C").arg(format!("linker={}", clang.display()));
            rustc.arg("-C").arg(format!("link-arg=-fuse-ld={}", self.linker));
            rustc.arg("-C").arg(format!("link-arg=-Wl,--icf={icf}"));
            let object = dir.join(name).with_extension("o");
            rustc.arg(format!("--emit=obj={},link={}", object.display(), out.display()));
            sh::run(rustc.arg(source)).map(|()| (out, object))
        };
        let ((folded, _), (plain, object)) = (link("all", "folded")?, link("none", "single")?);
        self.stripped(dir, folded, plain, vec![object])
    }

    /// Takes away what the form takes away of the folded program.
    fn stripped(
        &self,
        dir: &Path,
        folded: PathBuf,
        plain: PathBuf,
        objects: Vec<PathBuf>,
    ) -> Result<Links, String> {
        let whole = dir.join("whole");
        std::fs::copy(&folded, &whole).map_err(|e| format!("{}: {e}", whole.display()))?;
        match self.form {
            // GNU's takes the debug information away with the local symbols.
            Form::Stripped => {
                sh::run(Command::new(sh::llvm("llvm-objcopy")?).arg("--discard-all").arg(&folded))?;
            }
            Form::DebugFile => {
                // LLVM's writes notes that are none into debug files of mold's programs.
                let objcopy = || Ok::<_, String>(Command::new(sh::tool("objcopy", "binutils")?));
                let debug = dir.join("folded.debug");
                sh::run(objcopy()?.arg("--only-keep-debug").arg(&folded).arg(&debug))?;
                sh::run(objcopy()?.arg("--strip-all").arg(&folded))?;
            }
            _ => {}
        }
        Ok(Links { folded, plain, whole, objects })
    }

    fn driver(&self, first: &Path) -> Result<PathBuf, String> {
        let is_cpp = first.extension().is_some_and(|extension| extension == "cpp");
        match (self.compiler, is_cpp) {
            ("clang", false) => sh::llvm("clang"),
            ("clang", true) => sh::llvm("clang++"),
            (_, false) => sh::tool("gcc", "gcc"),
            (_, true) => sh::tool("g++", "g++"),
        }
    }

    fn flags(&self, at: usize, merging: bool) -> Vec<&'static str> {
        let mut flags = vec!["-ffunction-sections", "-fno-pie", "-w"];
        if self.source.ends_with(".c") {
            flags.push("-std=gnu11");
        } else {
            flags.push("-std=c++20");
        }
        flags.push(if self.form == Form::Unoptimized { "-O0" } else { "-O2" });
        flags.push(match self.form {
            Form::LineTables => "-g1",
            Form::Mixed if at > 0 => "-g0",
            _ => "-g",
        });
        match self.form {
            Form::Lto if self.compiler == "gcc" => flags.extend(["-flto", "-ffat-lto-objects"]),
            Form::Lto => flags.push("-flto"),
            _ => {}
        }
        match (self.compiler, self.form == Form::Merging && merging) {
            ("gcc", false) => flags.push("-fno-ipa-icf"),
            ("clang", true) => flags.extend(["-Xclang", "-fmerge-functions"]),
            _ => {}
        }
        flags
    }
}

/// Every build, or as few as cover each pair of source, compiler, linker and form.
pub(super) fn builds(all: bool) -> Vec<TracedBuild> {
    let mut possible = Vec::new();
    for &source in SOURCES {
        for &compiler in COMPILERS {
            for &linker in LINKERS {
                for &(_, form) in FORMS {
                    possible.push(TracedBuild { source, compiler, linker, form });
                }
            }
        }
    }
    possible.retain(TracedBuild::is_possible);
    let rust = LINKERS.iter().flat_map(|&linker| {
        [Form::Plain, Form::Merging, Form::Relocations, Form::Stripped].map(|form| TracedBuild {
            source: RUST,
            compiler: "rustc",
            linker,
            form,
        })
    });
    let rust: Vec<TracedBuild> = rust.filter(TracedBuild::is_possible).collect();
    if all {
        return possible.into_iter().chain(rust).collect();
    }
    let mut chosen = covering(&possible);
    chosen.extend(covering(&rust));
    chosen
}

/// Builds that together have every pair that one of all has: again and again the one with most pairs that no other has yet.
fn covering(all: &[TracedBuild]) -> Vec<TracedBuild> {
    let mut open: BTreeSet<(String, String)> = all.iter().flat_map(TracedBuild::pairs).collect();
    let mut chosen = BTreeSet::new();
    while !open.is_empty() {
        let new = |build: &TracedBuild| build.pairs().iter().filter(|pair| open.contains(*pair)).count();
        // The first of equals: `max_by_key` takes the last.
        let Some(best) = all.iter().rev().max_by_key(|build| new(build)).copied() else { break };
        open.retain(|pair| !best.pairs().contains(pair));
        chosen.insert(best);
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_covered_by_at_most_sixty_builds() {
        let (all, chosen) = (builds(true), builds(false));
        assert!(chosen.len() <= 60 && chosen.len() < all.len() / 2, "{} of {}", chosen.len(), all.len());
        let pairs =
            |builds: &[TracedBuild]| builds.iter().flat_map(TracedBuild::pairs).collect::<BTreeSet<_>>();
        assert_eq!(pairs(&all), pairs(&chosen));
    }
}

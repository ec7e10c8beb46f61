//! A build to its programs: compiles the objects, links them with folding and without.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::builds::{Form, PLUGINS, TracedBuild};
use super::targets::Emulated;
use xtask::sh;

/// A program, or a shared object that it opens, in a build's two links.
pub(super) struct Links {
    pub(super) folded: PathBuf,
    pub(super) plain: PathBuf,
    /// The folded one with all its symbols.
    pub(super) whole: PathBuf,
}

/// The output of a build.
pub(super) struct Made {
    /// The program, and the modules that it loads.
    pub(super) modules: Vec<Links>,
    /// The build's own objects, as the links without folding have them.
    pub(super) objects: Vec<PathBuf>,
    /// The compiler merged functions of the folded program, and not of the other.
    pub(super) is_merged: bool,
}

impl TracedBuild {
    /// Compiles and links the program twice, into `dir`.
    ///
    /// # Errors
    /// A tool that is missing or fails.
    pub(super) fn make(&self, sources: &Path, dir: &Path) -> Result<Made, String> {
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
        let is_cpp = files[0].extension().is_some_and(|extension| extension == "cpp");
        let (driver, target) = self.target.driver(self.compiler, is_cpp)?;
        let command = || {
            let mut command = Command::new(&driver);
            command.args(&target).current_dir(dir);
            command
        };
        let objects = |kind: &str, merging: bool| {
            let mut all = Vec::new();
            for (at, file) in files.iter().enumerate() {
                // Names of one length: the paths of objects are in the programs.
                let object = dir.join(format!("{kind}{at}.o"));
                sh::run(command().args(self.flags(at, merging)).arg("-c").arg(file).arg("-o").arg(&object))?;
                all.push(object);
            }
            Ok::<_, String>(all)
        };
        let folder = self.linkers(dir)?;
        let link = |objects: &[PathBuf], icf: &str, name: &str, kind: &[&str]| {
            let out = dir.join(name);
            let mut link = command();
            link.args(self.discard(name));
            link.args(kind).arg("-Wl,--build-id").arg(format!("-fuse-ld={}", self.linker));
            link.args(&folder).arg(format!("-Wl,--icf={icf}"));
            match self.form {
                Form::Relocations => drop(link.arg("-Wl,--emit-relocs")),
                Form::Lto => drop(link.args(["-flto", "-O2", "-g"])),
                Form::LineTablesThin | Form::SimpleNames => drop(link.args(["-flto=thin", "-O2"])),
                _ => {}
            }
            sh::run(link.args(objects).arg("-o").arg(&out)).map(|()| out)
        };
        let merged = objects("a", true)?;
        let apart = if self.form == Form::Merging { objects("b", false)? } else { merged.clone() };
        let mut modules = Vec::new();
        let mut module = |range: std::ops::Range<usize>, suffix: &str, kind: &[&str]| {
            let [folded, whole] = [format!("folded{suffix}"), format!("folded{suffix}.whole")];
            let links = Links {
                folded: link(&merged[range.clone()], self.folding(), &folded, kind)?,
                whole: link(&merged[range.clone()], self.folding(), &whole, kind)?,
                plain: link(&apart[range], "none", &format!("single{suffix}"), kind)?,
            };
            self.strip(&links.folded)?;
            modules.push(links);
            Ok::<_, String>(())
        };
        if self.source == PLUGINS {
            // By name: first.cpp, main.cpp, second.cpp.
            module(1..2, "", &["-no-pie"])?;
            module(0..1, ".first.so", &["-shared"])?;
            module(2..3, ".second.so", &["-shared"])?;
        } else {
            module(0..merged.len(), "", &["-static"])?;
        }
        Ok(Made { modules, objects: apart, is_merged: self.form == Form::Merging })
    }

    fn make_rust(&self, source: &Path, dir: &Path) -> Result<Made, String> {
        let clang = sh::llvm("clang")?;
        let link = |icf: &str, name: &str| {
            let out = dir.join(name);
            let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
            rustc.current_dir(dir);
            rustc.args(
                self.discard(name).iter().flat_map(|flag| ["-C".to_owned(), format!("link-arg={flag}")]),
            );
            rustc.args(["--edition=2024", "-O", "-g", "-C", "target-feature=+crt-static"]);
            rustc.args(["-C", "relocation-model=static", "-C", "codegen-units=1"]);
            // A function that rustc merges has one symbol in both links, unless the build requests merging.
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
        let ((folded, _), (whole, _)) = (link("all", "folded")?, link("all", "folded.whole")?);
        let (plain, object) = link("none", "single")?;
        self.strip(&folded)?;
        Ok(Made {
            modules: vec![Links { folded, plain, whole }],
            objects: vec![object],
            is_merged: self.form == Form::Merging,
        })
    }

    /// What the linker folds.
    fn folding(&self) -> &'static str {
        if self.form == Form::LineTablesProfiled { "safe" } else { "all" }
    }

    /// Options of the linker for the symbols of a program.
    fn discard(&self, name: &str) -> Option<&'static str> {
        let is_whole = name.ends_with("whole") || name.starts_with("single");
        (self.form == Form::NoLocals && !is_whole).then_some("-Wl,--discard-all")
    }

    /// The folder where the driver finds the linker; gcc searches only its own folders.
    fn linkers(&self, dir: &Path) -> Result<Option<String>, String> {
        let folder = match (self.linker, self.compiler) {
            ("lld", _) => sh::llvm("ld.lld")?.parent().map(Path::to_owned),
            // The folder that mold is in has tools of this machine too.
            ("mold", "gcc") if !self.target.is_host => {
                let link = dir.join("ld.mold");
                if !link.exists() {
                    std::os::unix::fs::symlink(sh::tool("mold", "mold")?, &link)
                        .map_err(|error| format!("{}: {error}", link.display()))?;
                }
                Some(dir.to_owned())
            }
            _ => None,
        };
        Ok(folder.map(|folder| format!("-B{}", folder.display())))
    }

    /// Strips from a folded program what the form strips.
    fn strip(&self, folded: &Path) -> Result<(), String> {
        match self.form {
            Form::Stripped => {
                sh::run(Command::new(sh::llvm("llvm-objcopy")?).arg("--discard-all").arg(folded))
            }
            Form::DebugFile => {
                // LLVM's tool writes malformed notes into debug files of mold's programs.
                let objcopy = || Ok::<_, String>(Command::new(self.target.objcopy()?));
                let debug = folded.with_extension("debug");
                sh::run(objcopy()?.arg("--only-keep-debug").arg(folded).arg(&debug))?;
                sh::run(objcopy()?.arg("--strip-all").arg(folded))
            }
            _ => Ok(()),
        }
    }

    fn flags(&self, at: usize, merging: bool) -> Vec<&'static str> {
        let mut flags = vec!["-ffunction-sections", "-w"];
        flags.push(if self.source.ends_with(".c") { "-std=gnu11" } else { "-std=c++20" });
        // The second file is the program's.
        match self.source == PLUGINS && at != 1 {
            true => flags.extend(["-fPIC", "-fvisibility=hidden"]),
            false => flags.push("-fno-pie"),
        }
        flags.push(match self.form {
            Form::Unoptimized => "-O0",
            Form::O3 => "-O3",
            _ => "-O2",
        });
        flags.push(match self.form {
            form if form.is_line_tables() => "-g1",
            Form::Mixed if at > 0 => "-g0",
            _ => "-g",
        });
        match self.form {
            Form::LineTablesSplit => flags.push("-gsplit-dwarf"),
            Form::LineTablesThin => flags.push("-flto=thin"),
            Form::LineTablesProfiled => flags.extend(["-fdebug-info-for-profiling", "-faddrsig"]),
            Form::SimpleNames => flags.extend(["-gsimple-template-names", "-flto=thin"]),
            Form::SplitTypes => flags.extend(["-gsplit-dwarf", "-fdebug-types-section"]),
            Form::BlockSections => flags.push("-fbasic-block-sections=all"),
            Form::Lto if self.compiler == "gcc" => flags.extend(["-flto", "-ffat-lto-objects"]),
            Form::Lto => flags.push("-flto"),
            _ => {}
        }
        match (self.compiler, self.form == Form::Merging && merging) {
            ("gcc", false) => flags.push("-fno-ipa-icf"),
            ("clang", true) => flags.extend(["-Xclang", "-fmerge-functions"]),
            _ => {}
        }
        // mold 1.10 does not know the relocations that clang writes of lengths of code that may become shorter.
        if (self.compiler, self.linker, self.target.emulator) == ("clang", "mold", Some(Emulated::RiscV64)) {
            flags.push("-mno-relax");
        }
        flags
    }
}

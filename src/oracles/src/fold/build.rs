//! The ways in which a generated program is built: compilers with their options, and linkers.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::sh;

/// One compiler with its options.
#[derive(Clone, Debug)]
pub(super) struct Compile {
    /// `clang-stmt-5-O2-pie`.
    pub(super) name: String,
    /// `clang stmt`: what the table counts together.
    pub(super) family: &'static str,
    pub(super) clang: bool,
    /// The compiler merges functions itself, before there is a linker.
    pub(super) merging: bool,
    flags: Vec<&'static str>,
    pie: bool,
    relocs: bool,
    /// One unit without debug information, one with lines alone.
    mixed: bool,
    /// All files have lines and inlined calls alone.
    lines: bool,
    /// Linked from bitcode: by lld, which has the compiler in itself.
    lto: bool,
    /// The `.dwo` files are packed into one and removed.
    packed: bool,
    /// A part of the functions is in a shared library, and the parts call each other.
    pub(super) shared: bool,
    /// The classes have virtual bases.
    virtual_bases: bool,
    /// The classes have type information.
    rtti: bool,
}

/// One linker with its way of folding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) name: &'static str,
    linker: &'static str,
    icf: &'static str,
}

pub(super) const LINKS: &[Link] = &[
    Link { name: "lld-all", linker: "lld", icf: "all" },
    Link { name: "lld-safe", linker: "lld", icf: "safe" },
    Link { name: "gold-all", linker: "gold", icf: "all" },
    Link { name: "gold-safe", linker: "gold", icf: "safe" },
    Link { name: "mold-all", linker: "mold", icf: "all" },
    Link { name: "mold-safe", linker: "mold", icf: "safe" },
];

/// The unfolded link, which shows whether the tables are right.
pub(super) const UNFOLDED: Link = Link { name: "lld-none", linker: "lld", icf: "none" };

impl Link {
    pub(super) fn linker(&self) -> &'static str {
        self.linker
    }

    /// # Errors
    /// The linker is not there; names its package.
    pub(super) fn find(&self) -> Result<PathBuf, String> {
        match self.linker {
            "lld" => sh::llvm("ld.lld"),
            "gold" => sh::tool("ld.gold", "binutils, later binutils-gold"),
            other => sh::tool(other, other),
        }
    }
}

/// `(family, flags, merges)` of each compiler. With relocations kept, and without call sites, those are what is left.
const COMPILERS: &[(&str, &[&str], bool)] = &[
    ("clang stmt", &["-DMUSTTAIL", "-mllvm", "-emit-func-debug-line-table-offsets"], false),
    ("clang", &["-DMUSTTAIL"], false),
    ("clang split", &["-DMUSTTAIL", "-gsplit-dwarf"], false),
    ("clang relocs", &["-DMUSTTAIL", "-mllvm", "-emit-func-debug-line-table-offsets"], false),
    ("gcc", &["-fno-ipa-icf"], false),
    ("gcc split", &["-fno-ipa-icf", "-gsplit-dwarf"], false),
    ("gcc ipa-icf", &[], true),
    ("clang dwp", &["-DMUSTTAIL", "-gsplit-dwarf"], false),
    ("clang mixed -g", &["-DMUSTTAIL"], false),
    ("gcc mixed -g", &["-fno-ipa-icf"], false),
    ("clang lines -g1", &["-DMUSTTAIL"], false),
    ("clang lines -g1 relocs", &["-DMUSTTAIL"], false),
    ("clang retpoline", &["-DMUSTTAIL", "-mretpoline"], false),
    ("clang thin lto", &["-DMUSTTAIL", "-flto=thin"], false),
    ("clang shared", &["-DMUSTTAIL"], false),
    ("clang shared no-plt", &["-DMUSTTAIL", "-fno-plt"], false),
    ("gcc shared", &["-fno-ipa-icf"], false),
    ("clang sections", &["-DMUSTTAIL", "-fbasic-block-sections=all"], false),
    (
        "clang stmt sections",
        &["-DMUSTTAIL", "-fbasic-block-sections=all", "-mllvm", "-emit-func-debug-line-table-offsets"],
        false,
    ),
    ("clang split sections", &["-DMUSTTAIL", "-fbasic-block-sections=all", "-gsplit-dwarf"], false),
    ("clang call-graph", &["-DMUSTTAIL", "-fexperimental-call-graph-section"], false),
    ("clang merging", &["-DMUSTTAIL", "-Xclang", "-fmerge-functions"], true),
    ("clang virtual bases", &["-DMUSTTAIL"], false),
    ("gcc virtual bases", &["-fno-ipa-icf"], false),
];

/// What the shared library is made of, and how it is called.
const PART: &[&str] = &["f1.o", "f2.o"];
const PART_NAME: &str = "part.so";

/// The options that are tried: all of them, or so many that each pair of values occurs with each compiler.
pub(super) fn compiles(full: bool) -> Vec<Compile> {
    let mut all = Vec::new();
    for (family, flags, merging) in COMPILERS {
        for number in 0..10 {
            let (dwarf4, low, mut pie) = (number & 1 != 0, number & 2 != 0, number & 4 != 0);
            // Of three bits, the four with even parity show every pair.
            if !full && number < 8 && u32::count_ones(number) % 2 != 0 {
                continue;
            }
            let relocs = family.ends_with("relocs");
            let shared = family.contains("shared");
            let level = match (low, relocs) {
                _ if number >= 8 => "Os",
                (true, true) => "O0",
                (true, false) => "O1",
                (false, _) => "O2",
            };
            // A program that calls a library's functions through their addresses has stubs of its own unless it is PIE.
            if shared {
                if full && !pie && number < 8 {
                    continue;
                }
                pie = true;
            }
            let version = if dwarf4 { "4" } else { "5" };
            let name = format!(
                "{}-{version}-{level}{}",
                family.replace(' ', "-").replace("--", "-"),
                if pie { "-pie" } else { "" }
            );
            let mut flags = flags.to_vec();
            flags.push(if dwarf4 { "-gdwarf-4" } else { "-gdwarf-5" });
            flags.push(match level {
                "O0" => "-O0",
                "O1" => "-O1",
                "Os" => "-Os",
                _ => "-O2",
            });
            flags.push(match (shared, pie) {
                (true, _) => "-fPIC",
                (false, true) => "-fPIE",
                (false, false) => "-fno-pie",
            });
            if !family.starts_with("clang") {
                // At -O1 gcc makes no tail calls of its own accord.
                flags.push("-foptimize-sibling-calls");
            }
            let clang = family.starts_with("clang");
            all.push(Compile {
                name,
                family,
                clang,
                merging: *merging,
                flags,
                pie,
                relocs,
                mixed: family.contains("mixed"),
                lines: family.contains("lines"),
                lto: family.contains("lto"),
                packed: family.contains("dwp"),
                shared,
                virtual_bases: family.ends_with("virtual bases"),
                rtti: level != "Os",
            });
        }
    }
    all
}

impl Compile {
    /// clang at a level of optimization (`-O3`), without further options.
    pub(super) fn clang(level: &'static str) -> Compile {
        Compile {
            name: format!("clang{level}"),
            family: "clang",
            clang: true,
            merging: false,
            flags: vec!["-DMUSTTAIL", "-g", level, "-fno-pie"],
            pie: false,
            relocs: false,
            mixed: false,
            lines: false,
            lto: false,
            packed: false,
            shared: false,
            virtual_bases: false,
            rtti: true,
        }
    }

    /// Whether debug information describes the functions of a source file, each with its name.
    pub(super) fn describes(&self, file: &str) -> bool {
        self.level_of(file).is_none()
    }

    /// What a file has instead of debug information.
    fn level_of(&self, file: &str) -> Option<&'static str> {
        match file {
            "f1.cpp" if self.mixed => Some("-g0"),
            "f2.cpp" if self.mixed => Some("-g1"),
            _ if self.lines => Some("-g1"),
            _ => None,
        }
    }

    fn driver(&self) -> Result<PathBuf, String> {
        if self.clang { sh::llvm("clang++") } else { sh::tool("g++", "g++") }
    }

    /// Compiles the files of `dir` into `dir/NAME/`. Gives the objects.
    ///
    /// # Errors
    /// A compiler that is missing or fails.
    pub(super) fn objects(&self, dir: &Path, files: &[String]) -> Result<Vec<PathBuf>, String> {
        let out = dir.join(&self.name);
        sh::create_dir(&out)?;
        let from = if self.virtual_bases { with_virtual_bases(dir, &out, files)? } else { dir.to_owned() };
        let mut objects = Vec::new();
        for file in files.iter().filter(|file| file.ends_with(".cpp")) {
            let object = out.join(file.replace(".cpp", ".o"));
            let mut command = Command::new(self.driver()?);
            command.current_dir(&from).args(["-std=c++17", "-w", "-ffunction-sections"]);
            command.args((!self.rtti).then_some("-fno-rtti"));
            // The names of .dwo files are those of the objects: absolute, so that they are found.
            command.args(&self.flags).args(self.level_of(file));
            sh::output(
                command.args(self.shared.then_some("-DMODULES")).arg("-c").arg(file).arg("-o").arg(&object),
            )?;
            objects.push(object);
        }
        Ok(objects)
    }

    /// Whether the two go together: gold 2.40 cannot keep relocations of folded sections (an internal error), and only
    /// lld links bitcode of its own version.
    pub(super) fn fits(&self, link: &Link) -> bool {
        !(self.relocs && link.linker == "gold" || self.lto && link.linker != "lld")
    }

    /// Gives the files that were linked: the program, and its library if it has one.
    ///
    /// # Errors
    /// A linker that is missing or fails.
    pub(super) fn link(&self, link: &Link, objects: &[PathBuf], out: &Path) -> Result<Vec<PathBuf>, String> {
        let in_part = |object: &&PathBuf| {
            self.shared && object.file_name().is_some_and(|name| PART.iter().any(|part| name == *part))
        };
        let (part, rest): (Vec<&PathBuf>, Vec<&PathBuf>) = objects.iter().partition(in_part);
        let mut program = self.linker(link)?;
        program
            .arg(if self.pie { "-pie" } else { "-no-pie" })
            .args(self.relocs.then_some("-Wl,--emit-relocs"));
        if !self.shared {
            sh::output(program.args(rest).arg("-o").arg(out))?;
            return Ok(vec![out.to_owned()]);
        }
        let library = out.with_extension(PART_NAME);
        let mut shared = self.linker(link)?;
        sh::output(shared.arg("-shared").args(part).arg("-o").arg(&library))?;
        // The library calls functions of the program.
        program.arg("-rdynamic").args(rest).arg(&library);
        sh::output(program.arg("-Wl,-rpath,$ORIGIN").arg("-o").arg(out))?;
        Ok(vec![out.to_owned(), library])
    }

    fn linker(&self, link: &Link) -> Result<Command, String> {
        let mut command = Command::new(self.driver()?);
        command.arg(format!("-fuse-ld={}", link.linker));
        if let Some(folder) = link.find()?.parent() {
            command.arg(format!("-B{}", folder.display()));
        }
        command.args(self.lto.then_some("-flto=thin"));
        command.arg(format!("-Wl,--icf={}", link.icf));
        Ok(command)
    }

    /// Puts the `.dwo` files of a program into one package beside it, where the program is to have one.
    ///
    /// # Errors
    /// A packager that is missing or fails.
    pub(super) fn pack(&self, objects: &[PathBuf], programs: &[PathBuf]) -> Result<(), String> {
        if !self.packed {
            return Ok(());
        }
        let dwo: Vec<PathBuf> = objects.iter().map(|object| object.with_extension("dwo")).collect();
        for program in programs {
            let mut package = program.as_os_str().to_owned();
            package.push(".dwp");
            sh::output(Command::new(sh::llvm("llvm-dwp")?).args(&dwo).arg("-o").arg(package))?;
        }
        dwo.iter()
            .try_for_each(|file| std::fs::remove_file(file).map_err(|e| format!("{}: {e}", file.display())))
    }
}

/// Copies the sources so that classes derive from `Base` as a virtual base, and from one `Side` too: the same functions on
/// the same lines. Gives their folder.
fn with_virtual_bases(dir: &Path, out: &Path, files: &[String]) -> Result<PathBuf, String> {
    let copies = out.join("sources");
    sh::create_dir(&copies)?;
    for file in files {
        let text = sh::read(&dir.join(file))?;
        let text = text.replace(" : Base", " : virtual Base").replace(", Side0 {", ", virtual Side0 {");
        let copy = copies.join(file);
        std::fs::write(&copy, text).map_err(|e| format!("{}: {e}", copy.display()))?;
    }
    Ok(copies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_list_has_every_pair() {
        let (few, all) = (compiles(false), compiles(true));
        let shared = COMPILERS.iter().filter(|(family, ..)| family.contains("shared")).count();
        assert_eq!((few.len(), all.len()), (COMPILERS.len() * 6, COMPILERS.len() * 10 - shared * 4));
        for family in COMPILERS.iter().map(|(family, ..)| family) {
            let low = if family.ends_with("relocs") { "-O0" } else { "-O1" };
            for (a, b) in [("-4", low), ("-5", low), ("-4", "-pie"), (low, "-pie"), ("-O2", "-pie")] {
                let both = |c: &&Compile| c.family == *family && c.name.contains(a) && c.name.contains(b);
                assert!(few.iter().any(|c| both(&c)), "{family} {a} {b}");
            }
        }
    }
}

//! The ways in which a generated program is built: compilers with their options, and linkers.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sh;

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

/// The link that shows whether the tables tell the truth.
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
];

/// The options that are tried: all of them, or so many that each pair of values occurs with each compiler.
pub(super) fn compiles(full: bool) -> Vec<Compile> {
    let mut all = Vec::new();
    for (family, flags, merging) in COMPILERS {
        for number in 0..8 {
            let (dwarf4, low, pie) = (number & 1 != 0, number & 2 != 0, number & 4 != 0);
            // Of three bits, the four with even parity show every pair.
            if !full && u32::count_ones(number) % 2 != 0 {
                continue;
            }
            let relocs = family.ends_with("relocs");
            let level = match (low, relocs) {
                (true, true) => "O0",
                (true, false) => "O1",
                (false, _) => "O2",
            };
            let version = if dwarf4 { "4" } else { "5" };
            let name =
                format!("{}-{version}-{level}{}", family.replace(' ', "-"), if pie { "-pie" } else { "" });
            let mut flags = flags.to_vec();
            flags.push(if dwarf4 { "-gdwarf-4" } else { "-gdwarf-5" });
            flags.push(match level {
                "O0" => "-O0",
                "O1" => "-O1",
                _ => "-O2",
            });
            flags.push(if pie { "-fPIE" } else { "-fno-pie" });
            if !family.starts_with("clang") {
                // At -O1 gcc makes no tail calls of its own accord.
                flags.push("-foptimize-sibling-calls");
            }
            let clang = family.starts_with("clang");
            all.push(Compile { name, family, clang, merging: *merging, flags, pie, relocs });
        }
    }
    all
}

impl Compile {
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
        let mut objects = Vec::new();
        for file in files.iter().filter(|file| file.ends_with(".cpp")) {
            let object = out.join(file.replace(".cpp", ".o"));
            let mut command = Command::new(self.driver()?);
            command.current_dir(dir).args(["-std=c++17", "-w", "-fno-rtti", "-ffunction-sections"]);
            // The names of .dwo files are those of the objects: absolute, so that they are found.
            sh::output(command.args(&self.flags).arg("-c").arg(file).arg("-o").arg(&object))?;
            objects.push(object);
        }
        Ok(objects)
    }

    /// Whether the two go together: gold 2.40 cannot keep relocations of folded sections (an internal error).
    pub(super) fn fits(&self, link: &Link) -> bool {
        !(self.relocs && link.linker == "gold")
    }

    /// # Errors
    /// A linker that is missing or fails.
    pub(super) fn link(&self, link: &Link, objects: &[PathBuf], out: &Path) -> Result<(), String> {
        let mut command = Command::new(self.driver()?);
        command.arg(format!("-fuse-ld={}", link.linker));
        if let Some(folder) = link.find()?.parent() {
            command.arg(format!("-B{}", folder.display()));
        }
        command.arg(if self.pie { "-pie" } else { "-no-pie" });
        command.args(self.relocs.then_some("-Wl,--emit-relocs"));
        command.arg(format!("-Wl,--icf={}", link.icf)).args(objects).arg("-o").arg(out);
        sh::output(&mut command).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_list_has_every_pair() {
        let (few, all) = (compiles(false), compiles(true));
        assert_eq!((few.len(), all.len()), (COMPILERS.len() * 4, COMPILERS.len() * 8));
        for family in COMPILERS.iter().map(|(family, ..)| family) {
            let low = if family.ends_with("relocs") { "-O0" } else { "-O1" };
            for (a, b) in [("-4", low), ("-5", low), ("-4", "-pie"), (low, "-pie"), ("-O2", "-pie")] {
                let both = |c: &&Compile| c.family == *family && c.name.contains(a) && c.name.contains(b);
                assert!(few.iter().any(|c| both(&c)), "{family} {a} {b}");
            }
        }
    }
}

//! RocksDB's source to bitcode, once, and bitcode to the variants of one shared library.
//!
//! ```text
//! corpus/rocksdb/src            the source, from inside the Rust package
//!                bc/*.bc        each file after the optimiser, before code generation
//!                obj/VARIANT/   its objects
//!                librocksdb.so  the variant `main`; librocksdb.VARIANT.so the others
//! ```
//! Code generation from the bitcode gives the same objects, byte for byte, as one run of the compiler with the same flags. `-gdwarf-5` is
//! in both, since the driver derives from it that call sites carry their parameters.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::sh;

const PACKAGE: &str = "librocksdb-sys";
const VERSION: &str = "0.19.0";

const COMPILE: &[&str] = &[
    "-std=c++20",
    "-O2",
    "-fPIC",
    "-ffunction-sections",
    "-fno-rtti",
    "-gdwarf-5",
    "-Irocksdb/include/",
    "-Irocksdb/",
    "-Irocksdb/third-party/gtest-1.8.1/fused-src/",
    "-I.",
    "-DNDEBUG=1",
    "-DHAVE_ALIGNED_NEW",
    "-DHAVE_UINT128_EXTENSION",
    "-DOS_LINUX",
    "-DROCKSDB_PLATFORM_POSIX",
    "-DROCKSDB_LIB_IO_POSIX",
    "-DROCKSDB_AUXV_GETAUXVAL_PRESENT",
    "-DROCKSDB_SUPPORT_THREAD_LOCAL",
    "-msse2",
    "-w",
    "-emit-llvm",
];

const CODEGEN: &[&str] =
    &["-c", "-O2", "-fPIC", "-ffunction-sections", "-gdwarf-5", "-Xclang", "-disable-llvm-passes"];

/// clang takes the version of DWARF from the bitcode, llc from its option; the code is the same.
const CODEGEN_LLC: &[&str] = &[
    "-O2",
    "-filetype=obj",
    "-relocation-model=pic",
    "-function-sections",
    "-data-sections=0",
    "-emit-call-site-info",
    "-dwarf-version=4",
];

const STMT_SEQUENCE: &[&str] = &["-mllvm", "-emit-func-debug-line-table-offsets"];

struct Variant {
    name: &'static str,
    help: &'static str,
    /// The variant whose objects it links; its own name if it has objects of its own.
    objects: &'static str,
    /// Additional options of code generation.
    codegen: &'static [&'static str],
    linker: &'static str,
    link: &'static [&'static str],
}

const LLD: &str = "-fuse-ld=lld";
const ICF: &str = "-Wl,--icf=all";

const VARIANTS: &[Variant] = &[
    Variant {
        name: "main",
        help: "stmt_sequence, lld --icf=all: the reference",
        objects: "main",
        codegen: STMT_SEQUENCE,
        linker: LLD,
        link: &[ICF],
    },
    Variant {
        name: "noflag",
        help: "without stmt_sequence",
        objects: "noflag",
        codegen: &[],
        linker: LLD,
        link: &[ICF],
    },
    Variant {
        name: "noicf",
        help: "main's objects without folding: the truth about each function",
        objects: "main",
        codegen: &[],
        linker: LLD,
        link: &["-Wl,--icf=none"],
    },
    Variant {
        name: "relocs",
        help: "main's objects with --emit-relocs",
        objects: "main",
        codegen: &[],
        linker: LLD,
        link: &[ICF, "-Wl,--emit-relocs"],
    },
    Variant {
        name: "gold",
        help: "main's objects linked by gold --icf=all",
        objects: "main",
        codegen: &[],
        linker: "-fuse-ld=gold",
        link: &[ICF],
    },
    Variant {
        name: "split5",
        help: "DWARF 5 in .dwo files (obj/split5)",
        objects: "split5",
        codegen: &["-gsplit-dwarf"],
        linker: LLD,
        link: &[ICF],
    },
    Variant {
        name: "split4",
        help: "DWARF 4 in .dwo files (obj/split4)",
        objects: "split4",
        codegen: &[],
        linker: LLD,
        link: &[ICF],
    },
    Variant {
        name: "plain4",
        help: "split4 without .dwo files",
        objects: "plain4",
        codegen: &[],
        linker: LLD,
        link: &[ICF],
    },
    Variant {
        name: "dwp5",
        help: "split5 with a .dwp beside it",
        objects: "split5",
        codegen: &[],
        linker: LLD,
        link: &[ICF],
    },
    Variant {
        name: "bbmap",
        help: "main with a basic-block address map",
        objects: "bbmap",
        codegen: &["-mllvm", "-emit-func-debug-line-table-offsets", "-fbasic-block-address-map"],
        linker: LLD,
        link: &[ICF],
    },
];

/// The variants with what each is for.
pub(crate) fn list() -> String {
    VARIANTS.iter().map(|v| format!("  {:8} {}", v.name, v.help)).collect::<Vec<_>>().join("\n")
}

/// Builds the named variants; `main` if none is named.
///
/// # Errors
/// An unknown variant, a missing tool, a step that fails.
pub(crate) fn build(folder: &Path, names: &[String]) -> Result<(), String> {
    let main = ["main".to_owned()];
    for name in if names.is_empty() { &main } else { names } {
        let variant = VARIANTS
            .iter()
            .find(|v| v.name == name)
            .ok_or_else(|| format!("no variant `{name}`; there are\n{}", list()))?;
        make(folder, variant)?;
    }
    Ok(())
}

fn make(folder: &Path, variant: &Variant) -> Result<(), String> {
    let library = match variant.name {
        "main" => folder.join("librocksdb.so"),
        name => folder.join(format!("librocksdb.{name}.so")),
    };
    if library.exists() {
        println!("{} exists", library.display());
        return Ok(());
    }
    if variant.linker.ends_with("gold") {
        sh::tool("ld.gold", "binutils")?;
    } else {
        sh::llvm("ld.lld")?;
    }
    let objects = objects(folder, variant)?;
    let part = library.with_extension("so.part");
    // Objects are named relative to the folder, so that maps and messages do not depend on the folder's path.
    let names = objects.iter().map(|object| object.strip_prefix(folder).unwrap_or(object));
    let mut link = Command::new(sh::llvm("clang++")?);
    link.current_dir(folder).arg("-shared").arg(variant.linker).args(variant.link);
    sh::run(link.arg("-o").arg(&part).args(names))?;
    if variant.name == "dwp5" {
        let package = folder.join("librocksdb.dwp5.so.dwp");
        let dwos: Vec<PathBuf> = objects.iter().map(|object| object.with_extension("dwo")).collect();
        sh::run(Command::new(sh::llvm("llvm-dwp")?).args(dwos).arg("-o").arg(package))?;
    }
    sh::rename(&part, &library)?;
    println!("{}", library.display());
    Ok(())
}

/// The objects that a variant links, in order; they are made if they do not exist.
fn objects(folder: &Path, variant: &Variant) -> Result<Vec<PathBuf>, String> {
    let made_by = VARIANTS
        .iter()
        .find(|v| v.name == variant.objects)
        .ok_or_else(|| format!("variant {} has no objects", variant.name))?;
    let out = folder.join("obj").join(made_by.name);
    let made: Vec<(PathBuf, PathBuf)> = names(folder)?
        .into_iter()
        .map(|name| (folder.join("bc").join(format!("{name}.bc")), out.join(format!("{name}.o"))))
        .collect();
    if made.iter().any(|(_, object)| !object.exists()) {
        bitcode(folder)?;
        sh::create_dir(&out)?;
        sh::parallel(&format!("code of {}", made_by.name), &made, |(bitcode, object)| {
            if object.exists() { Ok(()) } else { codegen(made_by, bitcode, object) }
        })?;
    }
    Ok(made.into_iter().map(|(_, object)| object).collect())
}

fn codegen(variant: &Variant, bitcode: &Path, object: &Path) -> Result<(), String> {
    // The name of the .dwo inside the object is the one given here: absolute, so that every reader finds the file.
    let dwo = object.with_extension("dwo");
    let split = variant.name.starts_with("split");
    let part = if split { object.to_owned() } else { object.with_extension("o.part") };
    let mut command = if variant.name.ends_with('4') {
        let mut llc = Command::new(sh::llvm("llc")?);
        llc.args(CODEGEN_LLC);
        if split {
            llc.arg(format!("-split-dwarf-file={}", dwo.display()));
            llc.arg(format!("-split-dwarf-output={}", dwo.display()));
        }
        llc
    } else {
        let mut clang = Command::new(sh::llvm("clang")?);
        clang.args(CODEGEN);
        clang
    };
    sh::run(command.args(variant.codegen).arg(bitcode).arg("-o").arg(&part))?;
    if split { Ok(()) } else { sh::rename(&part, object) }
}

/// Compiles every source file to bitcode, if that does not exist yet. The flag that maps prefixes makes all paths `/rocksdb/...`.
fn bitcode(folder: &Path) -> Result<(), String> {
    let src = folder.join("src");
    let out = folder.join("bc");
    let missing: Vec<String> = sources(folder)?
        .into_iter()
        .filter(|source| !out.join(format!("{}.bc", flat(source))).exists())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let clang = sh::llvm("clang++")?;
    sh::create_dir(&out)?;
    sh::parallel("bitcode", &missing, |source| {
        let file = out.join(format!("{}.bc", flat(source)));
        let part = file.with_extension("part");
        let mut command = Command::new(&clang);
        command.current_dir(&src).args(COMPILE);
        command.arg(format!("-ffile-prefix-map={}=/rocksdb", src.display()));
        sh::run(command.arg("-c").arg(source).arg("-o").arg(&part))
            .map_err(|e| format!("{e}\nneeds a C++ standard library (package libstdc++-12-dev or later)"))?;
        sh::rename(&part, &file)
    })
}

/// The library's source files, relative to `src`, sorted by the name of their objects: the order in which they are linked.
fn sources(folder: &Path) -> Result<Vec<String>, String> {
    let src = folder.join("src");
    if !src.exists() {
        super::fetch::package(folder, PACKAGE, VERSION)?;
    }
    let list = sh::read(&src.join("rocksdb_lib_sources.txt"))?;
    // The package brings its own version of this file, as its build script says.
    let library =
        list.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "util/build_version.cc");
    let mut all: Vec<String> = library.map(|line| format!("rocksdb/{line}")).collect();
    all.push("build_version.cc".to_owned());
    all.sort_by_key(|source| format!("{}.o", flat(source)));
    Ok(all)
}

fn names(folder: &Path) -> Result<Vec<String>, String> {
    Ok(sources(folder)?.iter().map(|source| flat(source)).collect())
}

/// One file name from a path.
fn flat(source: &str) -> String {
    source.replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_links_objects_that_some_variant_makes() {
        for variant in VARIANTS {
            let maker = VARIANTS.iter().find(|v| v.name == variant.objects).unwrap();
            assert_eq!(maker.objects, maker.name, "{}", variant.name);
        }
    }
}

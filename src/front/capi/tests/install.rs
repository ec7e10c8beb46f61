//! What `install.sh` installs: found by pkg-config and by CMake wherever it was moved, and loaded by the names and versions that it
//! promises.

#![cfg(all(feature = "std", target_os = "linux"))]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{
    archives, both_tiers, compiler, crate_dir, expect, folder, run, skip, source, symbol_file, text,
};
use foldsym_lookup::{PieceId, SymbolFile};
use object::elf::FileHeader64;
use object::read::elf::{Dyn as _, FileHeader as _, Sym as _};
use object::{Endianness, elf};

/// All of it, installed into a folder and then moved to another one.
fn installed(name: &str) -> PathBuf {
    let folder = folder(name);
    let (built, prefix, moved) = (folder.join("built"), folder.join("prefix"), folder.join("moved to"));
    for old in [&built, &prefix, &moved] {
        _ = std::fs::remove_dir_all(old);
    }
    std::fs::create_dir_all(&built).unwrap();
    for library in archives().into_iter().chain([both_tiers().join("libfoldsym_capi.a")]) {
        std::fs::copy(&library, built.join(library.file_name().unwrap())).unwrap();
    }
    succeed(Command::new(crate_dir().join("install.sh")).arg(&prefix).env("FOLDSYM_BUILT", &built));
    std::fs::rename(prefix, &moved).unwrap();
    moved
}

/// Runs a command that must succeed; what it printed.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// A symbol file, an address in it, and what `tier2.c` prints of it.
fn question(folder: &Path) -> (PathBuf, String, String) {
    let symbols = symbol_file("fold.clang-lld.set/program", folder);
    let bytes = std::fs::read(&symbols).unwrap();
    let file = SymbolFile::open(&bytes).unwrap();
    let start = file.records().piece(PieceId(0)).unwrap().start.0;
    (symbols, format!("{start:x}"), expect(&file, start))
}

/// Compiles and links by what pkg-config says alone.
#[test]
fn pkg_config_finds_each_library() {
    if Command::new("pkg-config").arg("--version").output().is_err() {
        return skip("pkg-config");
    }
    let Some(cc) = compiler("cc") else { return };
    let prefix = installed("pkg-config");
    let (symbols, address, expected) = question(&prefix);
    // As a shell reads the words: the folder has a blank in its name.
    let link = |compiler: &Path, standard: &str, source_file: &str, package: &str, how: &str| {
        let program = prefix.join("program");
        let script = format!(
            "eval \"$1\" $2 -pthread -o '\"$3\"' '\"$4\"' \"$(pkg-config {how} --cflags --libs {package})\" '-Wl,-rpath,\"$5\"'"
        );
        let mut sh = Command::new("sh");
        sh.args(["-euc", &script, "sh", text(compiler), standard, text(&program), &source(source_file)]);
        succeed(sh.arg(prefix.join("lib")).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
        program
    };
    for package in ["foldsym", "foldsym-embedded", "foldsym-unwind", "foldsym-crash"] {
        let mut pkg_config = Command::new("pkg-config");
        pkg_config.args(["--modversion", package]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        assert_eq!(succeed(&mut pkg_config).trim(), env!("CARGO_PKG_VERSION"));
    }
    if let Some(cxx) = compiler("c++") {
        let program = link(&cxx, "-std=c++17", "wrapper.cpp", "foldsym", "");
        assert_eq!(run(&program, &[]), "");
        link(&cxx, "-std=c++17", "process.c", "foldsym-embedded", "");
    }
    link(&cc, "-std=c11", "tier1.c", "foldsym-embedded", "");
    link(&cc, "-std=gnu11", "unwind.c", "foldsym-unwind", "");
    let handler = link(&cc, "-std=gnu11", "two_lines.c", "foldsym-crash", "");
    assert_eq!(run(&handler, &[]), "");
    let words = [text(&symbols), address.as_str()];
    let program = link(&cc, "-std=c11", "tier2.c", "foldsym", "");
    assert_eq!(run(&program, &words), expected);
    // What a program is linked with is not what it needs: packages split the two.
    let (linked, away) = (prefix.join("lib/libfoldsym_capi.so"), prefix.join("away"));
    std::fs::rename(&linked, &away).unwrap();
    assert_eq!(run(&program, &words), expected);
    // Without the shared library the linker takes the archive, which needs more.
    let program = link(&cc, "-std=c11", "tier2.c", "foldsym", "--static");
    std::fs::remove_file(prefix.join("lib/libfoldsym_capi.so.0")).unwrap();
    assert_eq!(run(&program, &words), expected);
}

#[test]
fn cmake_finds_each_library() {
    if Command::new("cmake").arg("--version").output().is_err() {
        return skip("cmake");
    }
    if compiler("cc").is_none() {
        return;
    }
    let prefix = installed("cmake");
    let (symbols, address, expected) = question(&prefix);
    let project = tempfile::tempdir().unwrap();
    let programs = [
        ("shared", "tier2.c", "foldsym"),
        ("static", "tier2.c", "foldsym_static"),
        ("embedded", "tier1.c", "embedded"),
        ("walk", "unwind.c", "unwind"),
        ("handler", "two_lines.c", "crash"),
    ];
    let mut lines = String::from(
        "cmake_minimum_required(VERSION 3.16)\nproject(user C)\nset(CMAKE_POSITION_INDEPENDENT_CODE ON)\n\
         find_package(foldsym 0.1 REQUIRED COMPONENTS foldsym foldsym_static embedded unwind crash)\n\
         add_compile_options(-pthread)\nadd_link_options(-pthread)\n",
    );
    for (program, file, target) in programs {
        let file = source(file);
        lines += &format!(
            "add_executable({program} \"{file}\")\ntarget_link_libraries({program} foldsym::{target})\n"
        );
    }
    std::fs::write(project.path().join("CMakeLists.txt"), lines).unwrap();
    let build = project.path().join("b");
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(project.path()).arg("-B").arg(&build);
    succeed(cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    succeed(Command::new("cmake").arg("--build").arg(&build));
    for program in ["shared", "static"] {
        assert_eq!(run(&build.join(program), &[text(&symbols), &address]), expected, "{program}");
    }
    assert_eq!(run(&build.join("handler"), &[]), "");
}

/// The functions of the Rust source, of the list of versions and of the shared library are the same, and each has its version.
#[test]
fn the_shared_library_has_a_name_and_versions() {
    let Some(_) = compiler("cc") else { return };
    let library = installed("versions").join("lib/libfoldsym_capi.so");
    let bytes = std::fs::read(library).unwrap();
    let header = FileHeader64::<Endianness>::parse(&*bytes).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, &*bytes).unwrap();
    let versions = sections.versions(endian, &*bytes).unwrap().unwrap();
    let symbols = sections.symbols(endian, &*bytes, elf::SHT_DYNSYM).unwrap();
    let mut exported = BTreeMap::new();
    for (index, symbol) in symbols.enumerate() {
        let is_name = symbol.st_type() != elf::STT_OBJECT && symbol.st_type() != elf::STT_NOTYPE;
        if symbol.is_definition(endian, symbols.strings()) && is_name {
            let name = String::from_utf8(symbol.name(endian, symbols.strings()).unwrap().to_vec()).unwrap();
            let version = versions.version(versions.version_index(endian, index).index()).unwrap().unwrap();
            exported.insert(name, String::from_utf8(version.name().to_vec()).unwrap());
        }
    }
    let map = std::fs::read_to_string(crate_dir().join("libfoldsym_capi.map")).unwrap();
    let (mut promised, mut version) = (BTreeMap::new(), "");
    for line in map.lines() {
        if let Some(name) = line.strip_suffix(" {") {
            version = name;
        } else if let Some(name) = line.trim().strip_suffix(';').filter(|name| name.starts_with("foldsym_")) {
            promised.insert(name.to_owned(), version.to_owned());
        }
    }
    assert_eq!(exported, promised);
    let mut in_rust = BTreeSet::new();
    for file in ["tier1.rs", "tier2.rs"] {
        let source = std::fs::read_to_string(crate_dir().join("src/boundary").join(file)).unwrap();
        let functions = source.split("extern \"C\" fn ").skip(1);
        in_rust.extend(functions.map(|rest| rest.split('(').next().unwrap().to_owned()));
    }
    assert_eq!(promised.into_keys().collect::<BTreeSet<_>>(), in_rust);

    let (dynamic, link) = sections.dynamic(endian, &*bytes).unwrap().unwrap();
    let strings = sections.strings(endian, &*bytes, link).unwrap();
    let soname = dynamic.iter().find(|entry| entry.tag(endian) == elf::DT_SONAME).unwrap();
    assert_eq!(soname.string(endian, strings).unwrap(), b"libfoldsym_capi.so.0");
}

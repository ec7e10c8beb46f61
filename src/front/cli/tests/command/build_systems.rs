//! Projects of users with CMake, Make and Meson, in folders of their own: symbols after each link, as `BUILD-SYSTEMS.md` says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use object::{Object, ObjectSection, ObjectSymbol};
use tempfile::TempDir;

use crate::common::foldsym;

/// Whether the programs are there; if not, says that the test is skipped.
fn has(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing =
        programs.iter().find(|program| !std::env::split_paths(&path).any(|dir| dir.join(program).is_file()));
    if let Some(program) = missing {
        println!("skipped: needs {program}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{program} is missing");
    }
    missing.is_none()
}

/// The command and the CMake package, installed; the folder has a blank in its name.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("build systems");
        let (built, prefix) = (folder.join("built"), folder.join("prefix"));
        _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&built).unwrap();
        fs::hard_link(env!("CARGO_BIN_EXE_foldsym"), built.join("foldsym")).unwrap();
        let mut install = Command::new(root().join("src/front/capi/install.sh"));
        succeed(install.arg(&prefix).arg("command").env("FOLDSYM_BUILT", &built));
        prefix
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Runs a command that must succeed; what it printed.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {printed}");
    printed
}

/// A project with these files in an empty folder, whose name has a blank.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::Builder::new().prefix("a project").tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn configure(source: &Path, build: &Path, generator: &str, options: &[&str]) {
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(source).arg("-B").arg(build).args(["-G", generator]).args(options);
    succeed(cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix().display())));
}

fn build(folder: &Path, options: &[&str]) -> String {
    succeed(Command::new("cmake").arg("--build").arg(folder).args(options))
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).modified().unwrap()
}

fn build_id(program: &[u8]) -> Vec<u8> {
    object::File::parse(program).unwrap().build_id().unwrap().expect("a build id").to_vec()
}

/// The file has the symbols of this very program: its build id is that of the program, and it has the function.
fn is_of(symbols: &Path, program: &Path, function: &str) {
    let id: String = build_id(&fs::read(program).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect();
    let info = foldsym(&["info", symbols.to_str().unwrap()]);
    assert!(info.code == 0 && info.out.contains(&id), "{id}: {info:?}");
    let found = foldsym(&["find", symbols.to_str().unwrap(), function]);
    assert!(found.code == 0 && found.out.contains(function), "{found:?}");
}

const MAIL: &[(&str, &str)] = &[
    (
        "weigh.c",
        "__attribute__((noinline)) int weigh_letter(int *p) { return *p * 3; }\n\
         __attribute__((noinline)) int weigh_parcel(int *p) { return *p * 3; }\n\
         int weigh(int *p) { return weigh_letter(p) + weigh_parcel(p) + 1; }\n",
    ),
    ("price.c", "int weigh(int *);\nint price(int *p) { return weigh(p) * 7; }\n"),
    ("mail.c", "int price(int *);\nint main(int argc, char **argv) { return price(&argc) == 0 || !argv; }\n"),
    (
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)
project(mail C)
add_compile_options(-g -O1 -ffunction-sections)
add_link_options(-Wl,--build-id)
add_library(weigh SHARED weigh.c)
set_target_properties(weigh PROPERTIES VERSION 1.4.2 SOVERSION 1 DEBUG_POSTFIX -d)
if(LLD_FOLDER)
    target_link_options(weigh PRIVATE \"-B${LLD_FOLDER}\" -fuse-ld=lld -Wl,--icf=all)
endif()
add_library(price SHARED price.c)
target_link_libraries(price PRIVATE weigh)
add_executable(mail mail.c)
target_link_libraries(mail PRIVATE price)
install(TARGETS mail weigh price)
find_package(foldsym 0.1 REQUIRED COMPONENTS cli)
foldsym_symbols(weigh STORE \"${CMAKE_BINARY_DIR}/store\" INSTALL lib)
foldsym_symbols(price EMBED)
foldsym_symbols(mail INSTALL bin COMPONENT debug OPTIONS --unwind --demangled)
",
    ),
];

/// Builds the project, breaks it, builds it again. `folder` is where programs are, below the folder of the build.
fn mail(generator: &str, folder: &str, options: &[&str]) {
    let lld = Path::new("/usr/lib/llvm-22/bin");
    let source = project(MAIL);
    let root = source.path().join("b");
    let with_lld = format!(
        "-DLLD_FOLDER={}",
        if lld.join("ld.lld").is_file() { lld.display().to_string() } else { String::new() }
    );
    configure(source.path(), &root, generator, &[options, &["-DCMAKE_BUILD_TYPE=Debug", &with_lld]].concat());
    build(&root, &[]);
    let at = |name: &str| root.join(folder).join(name);
    let (weigh, mail) = (at("libweigh-d.so.1.fsym"), at("mail.fsym"));
    is_of(&mail, &at("mail"), "main");
    is_of(&weigh, &at("libweigh-d.so.1.4.2"), "weigh_letter");
    is_of(&weigh, &at("libweigh-d.so.1.4.2"), "weigh_parcel");
    if lld.join("ld.lld").is_file() {
        let program = fs::read(at("libweigh-d.so")).unwrap();
        let program = object::File::parse(&*program).unwrap();
        let symbols =
            program.symbols().filter(|symbol| symbol.name().is_ok_and(|name| name.starts_with("weigh_")));
        let mut places: Vec<u64> = symbols.map(|symbol| symbol.address()).collect();
        places.dedup();
        assert_eq!(places.len(), 1, "lld has folded both");
    }
    // What was embedded is what converting gives; there is no file beside the program.
    let price = fs::read(at("libprice.so")).unwrap();
    let inside =
        object::File::parse(&*price).unwrap().section_by_name(".fsym").unwrap().data().unwrap().to_vec();
    let extracted = source.path().join("inside.fsym");
    fs::write(&extracted, &inside).unwrap();
    is_of(&extracted, &at("libprice.so"), "price");
    assert!(!at("libprice.so.fsym").exists() && !at("libprice.so.embedded.fsym").exists());
    let stored = foldsym(&["store", "list", root.join("store").to_str().unwrap()]);
    assert!(stored.code == 0 && stored.out.contains("libweigh"), "{stored:?}");

    // Nothing to do.
    let (linked, converted) = (modified(&at("mail")), modified(&mail));
    build(&root, &[]);
    assert_eq!((modified(&at("mail")), modified(&mail)), (linked, converted), "{generator}");
    // A file that was deleted comes back, as it was, and nothing is linked.
    let before = fs::read(&mail).unwrap();
    fs::remove_file(&mail).unwrap();
    build(&root, &[]);
    assert_eq!(fs::read(&mail).unwrap(), before, "{generator}");
    assert_eq!(modified(&at("mail")), linked, "{generator}");
    // One target alone, linked again, has its own symbols.
    fs::write(
        source.path().join("mail.c"),
        "int price(int *);\nint main(void) { int i = 2; return price(&i); }\n",
    )
    .unwrap();
    build(&root, &["--target", "mail"]);
    assert_ne!(fs::read(&mail).unwrap(), before, "{generator}");
    is_of(&mail, &at("mail"), "main");

    // Stripped when it is installed, the library keeps its section.
    let installed = source.path().join("to");
    let mut cmake = Command::new("cmake");
    succeed(
        cmake.arg("--install").arg(&root).args(["--config", "Debug", "--strip", "--prefix"]).arg(&installed),
    );
    let price = fs::read(installed.join("lib/libprice.so")).unwrap();
    let price = object::File::parse(&*price).unwrap();
    assert!(price.section_by_name(".debug_info").is_none());
    assert_eq!(price.section_by_name(".fsym").unwrap().data().unwrap(), inside);
    assert!(
        installed.join("lib/libweigh-d.so.1.fsym").is_file() && installed.join("bin/mail.fsym").is_file()
    );
    let alone = source.path().join("alone");
    let mut cmake = Command::new("cmake");
    succeed(
        cmake
            .arg("--install")
            .arg(&root)
            .args(["--config", "Debug", "--component", "symbols", "--prefix"])
            .arg(&alone),
    );
    assert!(alone.join("lib/libweigh-d.so.1.fsym").is_file() && !alone.join("bin").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn cmake_with_ninja_has_symbols_after_each_link() {
    if has(&["cmake", "ninja", "cc"]) {
        mail("Ninja", "", &[]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn cmake_with_make_has_symbols_after_each_link() {
    if has(&["cmake", "make", "cc"]) {
        mail(
            "Unix Makefiles",
            "programs",
            &["-DCMAKE_RUNTIME_OUTPUT_DIRECTORY=programs", "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=programs"],
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn cmake_with_several_configurations_has_symbols_after_each_link() {
    if has(&["cmake", "ninja", "cc"]) {
        mail("Ninja Multi-Config", "Debug", &[]);
    }
}

/// The command is that of this machine, and objcopy that of the program.
#[test]
#[cfg(target_os = "linux")]
fn cmake_for_another_processor() {
    if !has(&["cmake", "ninja", "aarch64-linux-gnu-gcc"]) {
        return;
    }
    let source = project(MAIL);
    let root = source.path().join("b");
    let target = [
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        "-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc",
        "-DCMAKE_FIND_ROOT_PATH=/usr/aarch64-linux-gnu",
    ];
    configure(source.path(), &root, "Ninja", &target);
    build(&root, &[]);
    let price = fs::read(root.join("libprice.so")).unwrap();
    let price = object::File::parse(&*price).unwrap();
    assert_eq!(price.architecture(), object::Architecture::Aarch64);
    fs::write(source.path().join("inside"), price.section_by_name(".fsym").unwrap().data().unwrap()).unwrap();
    is_of(&source.path().join("inside"), &root.join("libprice.so"), "price");
    is_of(&root.join("mail.fsym"), &root.join("mail"), "main");
}

/// A library that others wrote, from another folder: the project of zstd, as Cargo has fetched it.
#[test]
#[cfg(target_os = "linux")]
fn cmake_in_a_project_of_others() {
    if !has(&["cmake", "ninja", "cc"]) {
        return;
    }
    let mut cargo = Command::new(env!("CARGO"));
    // Packages of other systems are not fetched.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    cargo.args([
        "metadata",
        "--format-version",
        "1",
        "--offline",
        "--locked",
        "--filter-platform",
        &platform,
    ]);
    let metadata = cargo.current_dir(root()).output().unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages.find(|package| package["name"] == "zstd-sys").unwrap();
    let theirs = Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("zstd/build/cmake");
    let text = format!(
        "cmake_minimum_required(VERSION 3.20)\nproject(others C)\n\
         find_package(foldsym REQUIRED)\nadd_subdirectory(\"{}\" theirs)\nfoldsym_symbols(libzstd_shared)\n",
        theirs.display()
    );
    let source = project(&[("CMakeLists.txt", &text)]);
    let root = source.path().join("b");
    // Decompression alone, which is compiled in two seconds.
    let without =
        ["COMPRESSION", "DICTBUILDER", "STATIC", "PROGRAMS", "TESTS"].map(|part| format!("BUILD_{part}"));
    let without = without.iter().map(String::as_str).chain(["LEGACY_SUPPORT", "MULTITHREAD_SUPPORT"]);
    let without: Vec<String> = without.map(|option| format!("-DZSTD_{option}=OFF")).collect();
    let mut options: Vec<&str> = without.iter().map(String::as_str).collect();
    options.extend(["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,--build-id"]);
    configure(source.path(), &root, "Ninja", &options);
    build(&root, &[]);
    let symbols = root.join("theirs/lib/libzstd.so.1.fsym");
    is_of(&symbols, &root.join("theirs/lib/libzstd.so.1"), "ZSTD_decompress");
    let converted = modified(&symbols);
    build(&root, &[]);
    assert_eq!(modified(&symbols), converted);
    fs::remove_file(&symbols).unwrap();
    build(&root, &["--target", "libzstd_shared_symbols"]);
    assert!(symbols.is_file());
}

/// What cannot work is said when the project is configured.
#[test]
#[cfg(target_os = "linux")]
fn cmake_says_what_is_wrong() {
    if !has(&["cmake", "ninja"]) {
        return;
    }
    for (line, said) in [
        ("foldsym_symbols(nothing)", "there is no such target"),
        ("add_custom_target(t)\nfoldsym_symbols(t)", "not of UTILITY"),
        ("add_custom_target(t)\nfoldsym_symbols(t EMBEDED)", "not understood: EMBEDED"),
        ("add_custom_target(t)\nfoldsym_symbols(t EMBED INSTALL lib)", "are installed with the target"),
        ("find_package(foldsym 0.2 REQUIRED)", "0.1.0"),
        ("find_package(foldsym REQUIRED COMPONENTS embedded)", "foldsym::embedded is neither in"),
    ] {
        let text = format!(
            "cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\nfind_package(foldsym 0.1.0 REQUIRED)\n{line}\n"
        );
        let source = project(&[("CMakeLists.txt", &text)]);
        let mut cmake = Command::new("cmake");
        cmake.arg("-S").arg(source.path()).arg("-B").arg(source.path().join("b")).args(["-G", "Ninja"]);
        let output = cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix().display())).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).replace("\n  ", " ");
        assert!(!output.status.success() && printed.contains(said), "{line}: {printed}");
    }
}

/// The code blocks of a language in the document.
fn recipes(language: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("BUILD-SYSTEMS.md")).unwrap();
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

const ONE: (&str, &str) = ("mail.c", "int main(int argc, char **argv) { return argc == 0 || !argv; }\n");

/// PATH with the command.
fn path() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(prefix().join("bin")).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn the_recipes_for_make() {
    if !has(&["make", "cc", "objcopy"]) {
        return;
    }
    let recipes = recipes("make");
    let (beside, inside) = (&recipes[0], &recipes[1]);
    let folder = project(&[ONE, ("Makefile", beside)]);
    let at = |name: &str| folder.path().join(name);
    let make = |target: &str| {
        let mut make = Command::new("make");
        make.args([target, "LDFLAGS=-Wl,--build-id", "DESTDIR=to", "PREFIX=/usr"]);
        succeed(make.current_dir(folder.path()).env("PATH", path()))
    };
    make("all");
    is_of(&at("mail.fsym"), &at("mail"), "main");
    assert!(make("all").contains("Nothing to be done"));
    fs::remove_file(at("mail.fsym")).unwrap();
    make("install");
    is_of(&at("to/usr/bin/mail.fsym"), &at("to/usr/bin/mail"), "main");

    // The second recipe stands in place of the first one's rule for the program.
    let (before, rest) = beside.split_once("mail: mail.o").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    fs::write(
        at("Makefile"),
        format!("{before}{inside}\n{after}").replace("all: mail mail.fsym", "all: mail"),
    )
    .unwrap();
    fs::remove_file(at("mail")).unwrap();
    fs::remove_file(at("mail.fsym")).unwrap();
    make("all");
    let program = fs::read(at("mail")).unwrap();
    let program = object::File::parse(&*program).unwrap();
    fs::write(at("inside"), program.section_by_name(".fsym").unwrap().data().unwrap()).unwrap();
    is_of(&at("inside"), &at("mail"), "main");
    assert!(!at("mail.fsym").exists() && !at("mail.linked").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn the_recipe_for_meson() {
    if !has(&["meson", "ninja", "cc"]) {
        return;
    }
    let folder = project(&[ONE, ("meson.build", &recipes("meson")[0])]);
    let at = |name: &str| folder.path().join(name);
    let meson = |args: &[&str]| {
        succeed(
            Command::new("meson")
                .args(args)
                .current_dir(folder.path())
                .env("PATH", path())
                .env("LDFLAGS", "-Wl,--build-id"),
        )
    };
    meson(&["setup", "b", "--prefix=/usr"]);
    meson(&["compile", "-C", "b"]);
    is_of(&at("b/mail.fsym"), &at("b/mail"), "main");
    let before = fs::read(at("b/mail.fsym")).unwrap();
    fs::remove_file(at("b/mail.fsym")).unwrap();
    meson(&["compile", "-C", "b"]);
    assert_eq!(fs::read(at("b/mail.fsym")).unwrap(), before);
    meson(&["install", "-C", "b", "--destdir", "../to", "--tags", "symbols"]);
    assert!(at("to/usr/bin/mail.fsym").is_file() && !at("to/usr/bin/mail").exists());
}

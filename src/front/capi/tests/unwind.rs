//! The archive that walks frames: its size, the second form of the example, and whole stacks beside libgcc's `backtrace()`.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{compile, compiler, crate_dir, embedded, folder, llvm, source, text, unwind_archive};
use foldsym_convert::{NoProgress, Options, convert};
use object::{Object, ObjectSymbol, SymbolKind};

/// Bytes of code of the archive in a program that uses all of it.
const CODE: u64 = 24 * 1024;

fn convert_with_rows(program: &Path, to: &Path) {
    let options = Options { threads: 1, unwind: true, ..Options::default() };
    convert(program, to, &options, &NoProgress).unwrap();
}

/// The C library of this process, as the loader names it.
fn libc() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    PathBuf::from(path.into_iter().find(|path| path.contains("/libc.so") || path.contains("/libc-")).unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn stacks_are_those_of_backtrace() {
    let folder = folder("unwind");
    let rows_of_libc = folder.join("libc.fsym");
    convert_with_rows(&libc(), &rows_of_libc);
    for (name, cc) in [("cc", compiler("cc")), ("clang", llvm("clang"))] {
        let Some(cc) = cc else { continue };
        for level in ["-O2", "-O0"] {
            let program = folder.join(format!("{name}{level}"));
            let args = ["-std=gnu11", "-Wno-pedantic", level, "-fomit-frame-pointer", "-pthread"];
            let source = source("unwind.c");
            compile(&cc, &program, &[&args[..], &[source.as_str(), text(unwind_archive())]].concat());
            let rows = program.with_extension("fsym");
            convert_with_rows(&program, &rows);
            let output = Command::new(&program).args([&rows, &rows_of_libc]).output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{name} {level}: {}: {printed}", output.status);
            assert_eq!(printed.matches(" frames, ").count(), 2, "{printed}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_handler_without_frame_pointers_names_the_folded_functions_that_ran() {
    let (Some(clang), Some(lld)) = (llvm("clang"), llvm("ld.lld")) else { return };
    let folder = folder("crash-unwind");
    let (program, source) = (folder.join("crash_unwind"), crate_dir().join("examples/crash_unwind.c"));
    let linker = format!("--ld-path={}", lld.display());
    let flags = [
        "-std=gnu11",
        "-gdwarf-5",
        "-mllvm",
        "-emit-func-debug-line-table-offsets",
        "-ffunction-sections",
        "-fomit-frame-pointer",
        "-pthread",
        "-fuse-ld=lld",
        "-Wl,--icf=all",
        "-Wl,-z,now",
        "-Wl,--build-id",
        &linker,
        text(&source),
        text(embedded()),
        text(unwind_archive()),
    ];
    compile(&clang, &program, &flags);
    let symbols = PathBuf::from(format!("{}.fsym", program.display()));
    convert(&program, &symbols, &Options { threads: 1, ..Options::default() }, &NoProgress).unwrap();
    let output = Command::new(&program).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("convert with --unwind"));
    convert_with_rows(&program, &symbols);
    let output = Command::new(&program).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(42), "{}: {printed}", output.status);
    let c = std::fs::read_to_string(&source).unwrap();
    let line = |comment: &str| c.lines().position(|line| line.contains(comment)).unwrap() + 1;
    let expected = format!(
        "#0 weigh_letter crash_unwind.c:{} [exact]\n#1 price_letter crash_unwind.c:{} [exact]\n#2 main crash_unwind.c:{}\n",
        line("/* crashes here */"),
        line("/* called from here */"),
        line("/* from main */"),
    );
    assert!(printed.starts_with(&expected), "{printed}");
}

/// All code that the archive adds to a program: the library's own functions, and those of the compiler's runtime that come with it.
#[test]
#[cfg(target_os = "linux")]
fn little_code_and_no_panic() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("unwind-code");
    let (with, source) = (folder.join("with"), source("unwind.c"));
    let args = ["-std=gnu11", "-Wno-pedantic", "-pthread", "-Wl,--gc-sections", source.as_str()];
    compile(&cc, &with, &[&args[..], &[text(unwind_archive())]].concat());
    let bytes = std::fs::read(&with).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let ours = ["main", "compare", "each", "less", "nest", "thread", "open_rows", "read_stack", "_start"];
    let (mut code, mut panics) = (0, Vec::new());
    for symbol in functions {
        let name = symbol.name().unwrap();
        if !ours.iter().any(|own| name == *own || name.starts_with(&format!("{own}."))) {
            code += symbol.size();
        }
        if name.contains("panicking") {
            panics.push(name.to_owned());
        }
    }
    println!("{code} bytes of code");
    assert!((1024..=CODE).contains(&code), "{code}");
    assert_eq!(panics, Vec::<String>::new());
}

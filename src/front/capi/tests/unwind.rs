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
    let options = Options::default().with(|options| {
        options.threads = 1;
        options.unwind = true;
    });
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

/// The same program for AArch64 under qemu, beside that processor's libgcc.
#[test]
#[cfg(target_os = "linux")]
fn stacks_of_aarch64_are_those_of_backtrace() {
    let sysroot = Path::new("/usr/aarch64-linux-gnu");
    let libc = sysroot.join("lib/libc.so.6");
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !libc.is_file() || !has("aarch64-linux-gnu-gcc") || !has("qemu-aarch64") {
        assert!(
            std::env::var_os("CI").is_none(),
            "needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user"
        );
        return println!("skipped: needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user");
    }
    let folder = folder("unwind-aarch64");
    let target = "aarch64-unknown-linux-gnu";
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--locked", "--quiet", "--target", target])
        .current_dir(crate_dir().join("unwind"))
        .env("CARGO_TARGET_DIR", folder.join("archive"))
        .output()
        .unwrap();
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(said.contains("target may not be installed"), "{said}");
        return println!("skipped: needs rustup target add {target}");
    }
    let archive = folder.join("archive").join(target).join("release/libfoldsym_unwind.a");
    let rows_of_libc = folder.join("libc.fsym");
    convert_with_rows(&libc, &rows_of_libc);
    for level in ["-O2", "-O0"] {
        let program = folder.join(format!("gcc{level}"));
        let args = ["-std=gnu11", level, "-fomit-frame-pointer", "-pthread"];
        let include = format!("-I{}", crate_dir().join("include").display());
        let source = source("unwind.c");
        let files = [include.as_str(), source.as_str(), text(&archive), "-o", text(&program)];
        compile_as_is(Path::new("aarch64-linux-gnu-gcc"), &[&args[..], &files].concat());
        let rows = program.with_extension("fsym");
        convert_with_rows(&program, &rows);
        let mut qemu = Command::new("qemu-aarch64");
        let output = qemu.arg("-L").arg(sysroot).args([&program, &rows, &rows_of_libc]).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{level}: {}: {printed}", output.status);
        assert_eq!(printed.matches(" frames, ").count(), 2, "{printed}");
    }
}

fn compile_as_is(compiler: &Path, args: &[&str]) {
    let output = Command::new(compiler).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
    convert(&program, &symbols, &Options::default().with(|options| options.threads = 1), &NoProgress)
        .unwrap();
    let output = Command::new(&program).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("convert with --unwind"));
    convert_with_rows(&program, &symbols);
    let text_of = |name: &str| std::fs::read_to_string(crate_dir().join("examples").join(name)).unwrap();
    let (shared, own) = (text_of("crash_report.h"), text_of("crash_unwind.c"));
    let line = |of: &str, comment: &str| of.lines().position(|line| line.contains(comment)).unwrap() + 1;
    let letters = format!(
        "#0 weigh_letter crash_report.h:{} [exact]\n#1 price_letter crash_report.h:{} [exact]\n#2 crash crash_unwind.c:{}\n",
        line(&shared, "/* crashes here */"),
        line(&shared, "/* called from here */"),
        line(&own, "/* from here */"),
    );
    let main = format!("{letters}#3 main crash_unwind.c:{}\n", line(&own, "/* from main */"));
    // A thread has a stack of its own, and a crash may have destroyed the stack pointer.
    let thread = format!("{letters}#3 in_thread crash_unwind.c:");
    let forked = format!("{letters}#3 in_child crash_unwind.c:");
    let lost = format!("#0 lose_stack crash_unwind.c:{}\n", line(&own, "/* lost */"));
    for (how, expected) in [("", main), ("thread", thread), ("lost", lost), ("forked", forked)] {
        let output = Command::new(&program).args(Some(how).filter(|how| !how.is_empty())).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(42), "{how}: {}: {printed}", output.status);
        assert!(printed.starts_with(&expected), "{how}: {printed}");
        assert!(how != "lost" || printed == expected, "{printed}");
    }
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

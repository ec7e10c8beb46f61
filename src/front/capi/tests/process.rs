//! The modules of a process and their symbols: beside the programs, in sections of them, in memory by `.incbin`; of another
//! build; of a library that is loaded later; and the C++ program with two shared libraries that crashes.

#![cfg(target_os = "linux")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{compile, compiler, crate_dir, embedded, folder, llvm, run, sanitizers, skip, source, text};
use foldsym_convert::{NoProgress, Options, convert};
use object::{Object, ObjectSection};

/// Converts a program; returns the symbol file beside it, `NAME.fsym`.
fn symbols_beside(program: &Path) -> PathBuf {
    let to = PathBuf::from(format!("{}.fsym", program.display()));
    let options = Options::default().with(|options| {
        options.threads = 1;
        options.readable_names = true;
    });
    convert(program, &to, &options, &NoProgress).unwrap();
    to
}

/// `objcopy` of binutils and of LLVM; those that miss are skipped.
fn objcopies() -> Vec<PathBuf> {
    let gnu = Command::new("objcopy").arg("--version").output().is_ok();
    if !gnu {
        skip("objcopy of binutils");
    }
    gnu.then(|| PathBuf::from("objcopy")).into_iter().chain(llvm("llvm-objcopy")).collect()
}

/// Puts symbols into a program as a section that is not loaded.
fn add_section(objcopy: &Path, program: &Path, symbols: &Path) {
    let section = format!(".fsym={}", symbols.display());
    let output = Command::new(objcopy).args(["--add-section", &section]).arg(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The three programs of `examples/mail`, built as `crash.cpp` says.
fn build_mail(folder: &Path) -> Option<[PathBuf; 3]> {
    let (clang, lld) = (llvm("clang++")?, llvm("ld.lld")?);
    let of = |name: &str| crate_dir().join("examples/mail").join(name).display().to_string();
    let linker = format!("--ld-path={}", lld.display());
    let flags = [
        "-std=c++17",
        "-O2",
        "-gdwarf-5",
        "-mllvm",
        "-emit-func-debug-line-table-offsets",
        "-ffunction-sections",
        "-fPIC",
        "-fvisibility=hidden",
        "-fuse-ld=lld",
        "-Wl,--icf=all",
        "-Wl,-z,now",
        "-Wl,--build-id",
        &linker,
    ];
    let [weigh, price, crash] = ["libweigh.so", "libprice.so", "crash"].map(|name| folder.join(name));
    let build = |out: &Path, rest: &[&str]| compile(&clang, out, &[&flags, rest].concat());
    build(&weigh, &["-shared", &of("weigh.cpp")]);
    build(&price, &["-shared", &of("price.cpp"), text(&weigh)]);
    let rest = [&of("crash.cpp"), text(&price), text(&weigh), "-Wl,-rpath,$ORIGIN", text(embedded())];
    build(&crash, &rest);
    Some([crash, weigh, price])
}

/// Runs the program that crashes; gives the lines of its stack but for the C library's, and what it said before.
fn crash(program: &Path) -> (Vec<String>, String) {
    let output = Command::new(program).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(42), "{}: {printed}", output.status);
    let lines = printed.lines().filter(|line| !line.contains(" libc.so"));
    (lines.map(str::to_owned).collect(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The number of the line of an example that has this comment.
fn line_of(name: &str, comment: &str) -> usize {
    let source = std::fs::read_to_string(crate_dir().join("examples/mail").join(name)).unwrap();
    source.lines().position(|line| line.ends_with(comment)).unwrap() + 1
}

#[test]
fn a_handler_resolves_two_libraries() {
    let folder = folder("mail");
    let Some(programs) = build_mail(&folder) else { return };
    let [program, weigh, price] = &programs;
    let files = programs.each_ref().map(|program| symbols_beside(program));
    let expected = [
        format!(
            "#0 libweigh.so (anonymous namespace)::grams_of_letter weigh.cpp:{} [exact]",
            line_of("weigh.cpp", "// crashes here")
        ),
        format!("#1 libweigh.so weigh::grams weigh.cpp:{}", line_of("weigh.cpp", "// weighed here")),
        format!(
            "#2 libprice.so (anonymous namespace)::cents_of_letter price.cpp:{} [exact]",
            line_of("price.cpp", "// asks libweigh")
        ),
        format!("#3 libprice.so price::cents price.cpp:{}", line_of("price.cpp", "// priced here")),
        format!("#4 crash main crash.cpp:{} ", line_of("crash.cpp", "// from main")),
    ];
    let check = |lines: &[String], what: &str| {
        for (line, expected) in lines.iter().zip(&expected) {
            // Of main it may be said how sure that is: the C library's objects have no debug information.
            assert!(format!("{line} ").starts_with(expected), "{what}: {lines:#?}");
        }
        assert!(lines.len() > expected.len() - 1, "{what}: {lines:#?}");
    };
    let (lines, said) = crash(program);
    check(&lines, "beside");
    assert_eq!(said, "");
    // The README shows this output.
    let readme = std::fs::read_to_string(crate_dir().join("README.md")).unwrap();
    let shown = expected.each_ref().map(|line| line.trim_end()).join("\n");
    assert!(readme.contains(&shown), "README.md does not show:\n{shown}");

    // Symbols of another build: said at the start, and in each frame that they would have answered.
    let own = std::fs::read(&files[2]).unwrap();
    for (bytes, word) in [
        (std::fs::read(&files[1]).unwrap(), "the symbols are of another build"),
        (own[..own.len() - 1].to_vec(), "the symbol file is damaged"),
    ] {
        std::fs::write(&files[2], bytes).unwrap();
        let (lines, said) = crash(program);
        assert_eq!(said, format!("libprice.so: {word}\n"));
        assert_eq!(lines[..2], expected[..2]);
        for number in [2, 3] {
            let start = format!("#{number} libprice.so+0x");
            assert!(
                lines[number].starts_with(&start) && lines[number].ends_with(&format!(" ({word})")),
                "{lines:#?}"
            );
        }
    }
    std::fs::remove_file(&files[2]).unwrap();
    let (lines, said) = crash(program);
    assert!(lines[2].ends_with(" (no symbols of the module)") && said.is_empty(), "{lines:#?} {said}");

    // In sections of the programs, which the loader does not load; the files beside are gone.
    std::fs::write(&files[2], &own).unwrap();
    let whole = [program, weigh, price].map(|program| std::fs::read(program).unwrap());
    let symbols =
        files.each_ref().map(|file| folder.join(file.file_name().unwrap()).with_extension("section"));
    for (file, to) in files.iter().zip(&symbols) {
        std::fs::rename(file, to).unwrap();
    }
    for objcopy in objcopies() {
        for ((program, symbols), whole) in programs.iter().zip(&symbols).zip(&whole) {
            std::fs::write(program, whole).unwrap();
            add_section(&objcopy, program, symbols);
        }
        let (lines, said) = crash(program);
        check(&lines, text(&objcopy));
        assert_eq!(said, "");
        // The section of another library is of another build, and the right file beside it is taken then.
        std::fs::write(price, &whole[2]).unwrap();
        add_section(&objcopy, price, &symbols[1]);
        let (lines, said) = crash(program);
        assert!(lines[2].ends_with(" (the symbols are of another build)"), "{lines:#?}");
        assert_eq!(said, "libprice.so: the symbols are of another build\n");
        std::fs::copy(&symbols[2], &files[2]).unwrap();
        let (lines, said) = crash(program);
        check(&lines, "a section of another build");
        assert_eq!(said, "");
        std::fs::remove_file(&files[2]).unwrap();
    }
}

/// Code, its address, and the build id of a program.
fn code_of(program: &Path) -> (u64, Vec<u8>, Vec<u8>) {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let code = file.section_by_name(".text").unwrap();
    (code.address(), code.data().unwrap().to_vec(), file.build_id().unwrap().unwrap().to_vec())
}

/// Linked twice, the second time with the symbols of the first: they lie in memory.
#[test]
fn symbols_lie_in_the_memory_of_the_program() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("inside");
    let of = |name: &str| crate_dir().join("examples/inside").join(name).display().to_string();
    let (first, second) = (folder.join("first"), folder.join("second"));
    let link = |out: &Path, room: &str, symbols: &str| {
        let (room, symbols) = (format!("-DROOM={room}"), format!("-DSYMBOLS=\"{symbols}\""));
        let id = "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567";
        let (c, s) = (of("inside.c"), of("symbols.S"));
        let mut args = vec!["-g", id, &room, &c, &s, text(embedded())];
        if symbols != "-DSYMBOLS=\"\"" {
            args.push(&symbols);
        }
        let include = format!("-I{}/include", crate_dir().display());
        Command::new(&cc)
            .args(["-O2", "-Wall", "-Wextra", "-Werror", &include])
            .args(args)
            .arg("-o")
            .arg(out)
            .output()
            .unwrap()
    };
    let done = |output: std::process::Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    done(link(&first, "65536", ""));
    let symbols = folder.join("inside.symbols");
    let options = Options::default().with(|options| options.threads = 1);
    convert(&first, &symbols, &options, &NoProgress).unwrap();
    // Empty room is no symbol file.
    assert_eq!(run(&first, &[]), "the symbol file is damaged\n");
    done(link(&second, "65536", text(&symbols)));
    assert!(code_of(&first) == code_of(&second), "the second link has other code");
    let c = std::fs::read_to_string(of("inside.c")).unwrap();
    let line = c.lines().position(|line| line.ends_with("/* delivered here */")).unwrap() + 1;
    assert_eq!(run(&second, &[]), format!("deliver inside.c:{line}\n"));
    if let Some(mut valgrind) = common::valgrind() {
        let printed = common::ask(valgrind.arg(&second), "");
        assert_eq!(printed, format!("deliver inside.c:{line}\n"));
    }
    // Too little room is an error of the assembler, and not other code.
    assert!(!link(&folder.join("none"), "100", text(&symbols)).status.success());
}

#[test]
fn libraries_come_later_and_programs_lie() {
    let Some(cc) = compiler("cc") else { return };
    let objcopies = objcopies();
    let Some(objcopy) = objcopies.first() else { return };
    let folder = folder("process");
    let [library, small] = ["delivered", "small"].map(|name| {
        let library = folder.join(format!("lib{name}.so"));
        let source = source(&format!("{name}.c"));
        compile(&cc, &library, &["-g", "-fPIC", "-shared", "-Wl,--build-id", &source]);
        let symbols = symbols_beside(&library);
        add_section(objcopy, &library, &symbols);
        std::fs::remove_file(&symbols).unwrap();
        library
    });
    let hold = |(name, flags, compiler, checks): (&str, [&str; 2], PathBuf, &'static [&str])| {
        for checks in [&[], checks] {
            let program = folder.join(name);
            let source = source("process.c");
            // g++ defines the macro itself.
            let mut all = vec![
                flags[0],
                "-U_GNU_SOURCE",
                flags[1],
                source.as_str(),
                "-xnone",
                text(embedded()),
                "-ldl",
            ];
            all.extend(checks);
            compile(&compiler, &program, &all);
            let mut command = Command::new(&program);
            // What stays for the life of the process is no leak.
            command.arg(&library).arg(&small).env("ASAN_OPTIONS", "detect_leaks=0");
            let printed = common::ask(&mut command, "");
            assert!(printed.ends_with("the process holds\n"), "{printed}");
            // The loader took the place of the one library for the other; a sanitizer's memory may keep it from that.
            assert!(!checks.is_empty() || printed.contains("covered\n"), "{printed}");
        }
    };
    let languages = [("cc", ["-std=c99", "-xc"]), ("c++", ["-std=c++17", "-xc++"])];
    let builds = languages.into_iter().filter_map(|(name, flags)| {
        let compiler = compiler(name)?;
        let checks = sanitizers(&compiler, &folder);
        Some((name, flags, compiler, checks))
    });
    let builds: Vec<_> = builds.collect();
    std::thread::scope(|scope| {
        for build in builds {
            scope.spawn(|| hold(build));
        }
    });
}

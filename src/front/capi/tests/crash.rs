//! The example `crash.c`, built by clang and lld, which fold its functions: its handler names those that ran.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{compile, crate_dir, embedded, folder, skip, text};
use foldsym_convert::{NoProgress, Options, convert};

/// clang 22 and lld; `None` after saying that the test is skipped.
fn llvm() -> Option<(PathBuf, PathBuf)> {
    let dir = std::env::var_os("FOLDSYM_LLVM").unwrap_or_else(|| "/usr/lib/llvm-22/bin".into());
    let (clang, lld) = (Path::new(&dir).join("clang"), Path::new(&dir).join("ld.lld"));
    if clang.is_file() && lld.is_file() {
        return Some((clang, lld));
    }
    skip("clang-22 and lld-22");
    None
}

/// The number of the line that has this comment.
fn line_of(source: &str, comment: &str) -> usize {
    source.lines().position(|line| line.contains(comment)).unwrap() + 1
}

#[test]
#[cfg(target_os = "linux")]
fn a_handler_names_the_folded_functions_that_ran() {
    let Some((clang, lld)) = llvm() else { return };
    let folder = folder("crash");
    let source = crate_dir().join("examples/crash.c");
    let shared = std::fs::read_to_string(crate_dir().join("examples/crash_report.h")).unwrap();
    let linker = format!("--ld-path={}", lld.display());
    for pie in [["-fPIE", "-pie"], ["-fno-pie", "-no-pie"]] {
        let program = folder.join(format!("crash{}", pie[1]));
        let flags = [
            "-std=gnu11",
            "-gdwarf-5",
            "-mllvm",
            "-emit-func-debug-line-table-offsets",
            "-ffunction-sections",
            "-fno-omit-frame-pointer",
            "-mno-omit-leaf-frame-pointer",
            "-fuse-ld=lld",
            "-Wl,--icf=all",
            "-Wl,-z,now",
            "-Wl,--build-id",
        ];
        let mut args = flags.to_vec();
        args.extend([pie[0], pie[1], &linker, text(&source), text(embedded())]);
        compile(&clang, &program, &args);
        let symbols = PathBuf::from(format!("{}.fsym", program.display()));
        // Symbols of another build would name other functions.
        let other = common::symbol_file("demo.elf", &folder);
        for (bytes, said) in [
            (None, "crash: no symbols of the module\n"),
            (Some(std::fs::read(&other).unwrap()), "crash: the symbols are of another build\n"),
            (Some(b"no symbols".to_vec()), "crash: the symbol file is damaged\n"),
        ] {
            let _ = std::fs::remove_file(&symbols);
            if let Some(bytes) = bytes {
                std::fs::write(&symbols, bytes).unwrap();
            }
            let output = Command::new(&program).output().unwrap();
            assert_eq!(output.status.code(), Some(2));
            assert_eq!(String::from_utf8_lossy(&output.stderr), said);
        }
        std::fs::remove_file(&symbols).unwrap();
        convert(&program, &symbols, &Options::default().with(|options| options.threads = 1), &NoProgress)
            .unwrap();
        let output = Command::new(&program).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(42), "{}: {printed}", output.status);
        let c = std::fs::read_to_string(&source).unwrap();
        let expected = format!(
            "#0 weigh_letter crash_report.h:{} [exact]\n#1 price_letter crash_report.h:{} [exact]\n#2 main crash.c:{}\n",
            line_of(&shared, "/* crashes here */"),
            line_of(&shared, "/* called from here */"),
            line_of(&c, "/* from main */"),
        );
        assert_eq!(printed, expected, "{}", pie[1]);
        // The README shows this output.
        let readme = std::fs::read_to_string(crate_dir().join("README.md")).unwrap();
        assert!(readme.contains(&expected), "README.md does not show:\n{expected}");
    }
}

//! Cores that the kernel writes at test time, of a program that dies in a signal handler.
#![cfg(all(feature = "unwind", target_os = "linux", target_arch = "x86_64"))]

use std::path::{Path, PathBuf};
use std::process::Command;

use foldsym_reports::{Format, Options, Report, Trust, read_with};
use foldsym_symbolize::{AddressKind, Stack, Symbolizer};

/// The only core in a folder.
fn core_in(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut cores = files
        .filter(|path| std::fs::read(path).is_ok_and(|bytes| Format::of(&bytes) == Some(Format::ElfCore)));
    cores.next()
}

/// Compiles the program. `None` if that or making a core is impossible; prints the reason.
fn program(folder: &Path) -> Option<PathBuf> {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.trim().is_empty() || pattern.contains(['/', '|']) {
        println!("skipped: needs a core_pattern that is a file name");
        return None;
    }
    let program = folder.join("signal");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports/signal.c");
    let options = ["-g", "-O1", "-fomit-frame-pointer", "-pthread", "-o"];
    let made = Command::new("gcc").args(options).arg(&program).arg(source).status();
    match made {
        Ok(status) => {
            assert!(status.success());
            Some(program)
        }
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "gcc: {error}");
            println!("skipped: needs gcc");
            None
        }
    }
}

/// The crashed thread's functions in the program, innermost first, each with its kind and how it was found.
fn functions(report: &Report, symbolizer: &Symbolizer) -> Vec<(String, AddressKind, Trust)> {
    let thread = report.threads.iter().find(|thread| thread.crashed).unwrap();
    let frames = symbolizer.symbolize(&Stack::new(report.modules_of(thread), thread.frames.clone()));
    let mut found = Vec::new();
    for ((frame, given), trust) in frames.iter().zip(&thread.frames).zip(&thread.trust) {
        for function in frame.functions.iter().filter(|function| function.file.ends_with("signal.c")) {
            found.push((function.function.to_string(), given.kind, *trust));
        }
    }
    found
}

/// The frame that the signal interrupted has the interrupted address, on whichever stack it is.
#[test]
fn a_walk_leaves_the_handler_for_the_stack_of_the_interrupted_frame() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path()) else { return };
    let symbolizer = Symbolizer::builder().search([&program]).build().unwrap();
    // The C library is needed too: it has the frame that the handler returns to.
    let mut options = Options::default();
    options.open_paths = true;
    for stack in ["0", "1", "2"] {
        let place = folder.path().join(stack);
        std::fs::create_dir(&place).unwrap();
        let run = "ulimit -c unlimited && exec \"$@\"";
        let ran =
            Command::new("sh").args(["-c", run, "sh"]).arg(&program).arg(stack).current_dir(&place).status();
        assert!(!ran.unwrap().success());
        let Some(core) = core_in(&place) else {
            return println!("skipped: needs a kernel that writes cores");
        };
        let report = read_with(&std::fs::read(&core).unwrap(), &symbolizer, &options).unwrap();
        assert_eq!((report.format, report.reason.as_str()), (Format::ElfCore, "SIGABRT"));
        let found = functions(&report, &symbolizer);
        let expected = [
            ("handler", AddressKind::Return),
            ("inner", AddressKind::Exact),
            ("middle", AddressKind::Return),
            ("outer", AddressKind::Return),
            ("run", AddressKind::Return),
        ];
        let expected = expected.map(|(name, kind)| (name.to_owned(), kind, Trust::Cfi));
        assert_eq!(found[..5], expected, "{stack}: {:?}", report.warnings);
        assert!(
            !report.warnings.iter().any(|warning| warning.contains("to its end")),
            "{:?}",
            report.warnings
        );
    }
}

//! Cores that the kernel writes at test time, of programs that die in a signal handler or by an overflow of the stack.
#![cfg(all(feature = "unwind", target_os = "linux", target_arch = "x86_64"))]

use std::path::{Path, PathBuf};
use std::process::Command;

use foldsym_reports::{Format, Options, Report, Trust, read_with};
use foldsym_symbolize::{AddressKind, Frame, Stack, Symbolizer};

/// The only core in a folder.
fn core_in(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut cores = files
        .filter(|path| std::fs::read(path).is_ok_and(|bytes| Format::of(&bytes) == Some(Format::ElfCore)));
    cores.next()
}

/// Compiles a program. `None` if that or making a core is impossible; prints the reason.
fn program(folder: &Path, name: &str) -> Option<PathBuf> {
    program_with(folder, name, &[])
}

/// The same with more options.
fn program_with(folder: &Path, name: &str, more: &[&str]) -> Option<PathBuf> {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.trim().is_empty() || pattern.contains(['/', '|']) {
        println!("skipped: needs a core_pattern that is a file name");
        return None;
    }
    let program = folder.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports").join(format!("{name}.c"));
    let options = ["-g", "-O1", "-fomit-frame-pointer", "-pthread", "-o"];
    let made = Command::new("gcc").args(options).arg(&program).arg(source).args(more).status();
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

/// Runs a program with an argument until it dies. `None` if the kernel writes no core.
fn core_of(program: &Path, argument: &str) -> Option<Vec<u8>> {
    let place = program.with_extension(argument);
    std::fs::create_dir(&place).unwrap();
    // A small stack, so that one which overflows makes a small core.
    let run = "ulimit -c unlimited && ulimit -s 512 && exec \"$@\"";
    let ran =
        Command::new("sh").args(["-c", run, "sh"]).arg(program).arg(argument).current_dir(&place).status();
    assert!(!ran.unwrap().success());
    let core = core_in(&place);
    if core.is_none() {
        println!("skipped: needs a kernel that writes cores");
    }
    Some(std::fs::read(core?).unwrap())
}

/// The outermost function of each frame of the first thread; empty where there is none.
fn names_of(report: &Report, symbolizer: &Symbolizer) -> Vec<String> {
    let thread = &report.threads[0];
    let frames = symbolizer.symbolize(&Stack::new(report.modules_of(thread), thread.frames.clone()));
    let name =
        |frame: &Frame| frame.functions.last().map_or(String::new(), |one| one.linkage_name.to_string());
    frames.iter().map(name).collect()
}

/// The crashed thread's functions in the program, innermost first, each with its kind and how it was found.
fn functions(report: &Report, symbolizer: &Symbolizer) -> Vec<(String, AddressKind, Trust)> {
    let thread = report.threads.iter().find(|thread| thread.crashed).unwrap();
    let frames = symbolizer.symbolize(&Stack::new(report.modules_of(thread), thread.frames.clone()));
    let mut found = Vec::new();
    for ((frame, given), trust) in frames.iter().zip(&thread.frames).zip(&thread.trust) {
        for function in frame
            .functions
            .iter()
            .filter(|function| function.file.ends_with(".c") && !function.file.starts_with("./"))
        {
            found.push((function.function.to_string(), given.kind, *trust));
        }
    }
    found
}

/// The C library is needed too: it has frames between those of a program.
fn with_libraries() -> Options {
    let mut options = Options::default();
    options.open_paths = true;
    options
}

/// Names, kinds and methods of the frames of a walk by call frame information.
fn by_rows(names: &[(&str, AddressKind)]) -> Vec<(String, AddressKind, Trust)> {
    names.iter().map(|(name, kind)| ((*name).to_owned(), *kind, Trust::Cfi)).collect()
}

/// The frame that the signal interrupted has the interrupted address, on whichever stack it is.
#[test]
fn a_walk_leaves_the_handler_for_the_stack_of_the_interrupted_frame() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path(), "signal") else { return };
    let symbolizer = Symbolizer::builder().search([&program]).build().unwrap();
    for stack in ["0", "1", "2"] {
        let Some(core) = core_of(&program, stack) else { return };
        let report = read_with(&core, &symbolizer, &with_libraries()).unwrap();
        assert_eq!((report.format, report.reason.as_str()), (Format::ElfCore, "SIGABRT"));
        let found = functions(&report, &symbolizer);
        let expected = [
            ("handler", AddressKind::Return),
            ("inner", AddressKind::Exact),
            ("middle", AddressKind::Return),
            ("outer", AddressKind::Return),
            ("run", AddressKind::Return),
        ];
        assert_eq!(found[..5], by_rows(&expected), "{stack}: {:?}", report.warnings);
        assert!(
            !report.warnings.iter().any(|warning| warning.contains("to its end")),
            "{:?}",
            report.warnings
        );
    }
}

/// Go's programs have rows in their debug information alone, which is compressed.
#[test]
fn rows_of_a_program_that_are_not_loaded_walk_too() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-fno-asynchronous-unwind-tables", "-gz=zlib"];
    let Some(program) = program_with(folder.path(), "signal", &options) else { return };
    let symbolizer = Symbolizer::builder().search([&program]).build().unwrap();
    let Some(core) = core_of(&program, "0") else { return };
    let report = read_with(&core, &symbolizer, &with_libraries()).unwrap();
    let expected = [
        ("handler", AddressKind::Return),
        ("inner", AddressKind::Exact),
        ("middle", AddressKind::Return),
        ("outer", AddressKind::Return),
        ("run", AddressKind::Return),
    ];
    assert_eq!(functions(&report, &symbolizer)[..5], by_rows(&expected), "{:?}", report.warnings);
}

/// After an overflow the stack pointer is below the memory of the stack: of the first thread, of another one, and where a handler runs on an
/// alternate stack.
#[test]
fn an_overflow_of_the_stack_is_walked_to_its_first_function() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path(), "stacks") else { return };
    let symbolizer = Symbolizer::builder().search([&program]).build().unwrap();
    for (argument, last, least) in [("o", "main", 1500), ("t", "thread", 200), ("a", "main", 1500)] {
        let Some(core) = core_of(&program, argument) else { return };
        let report = read_with(&core, &symbolizer, &with_libraries()).unwrap();
        let found = functions(&report, &symbolizer);
        assert!(found.len() > least, "{argument}: {} {:?}", found.len(), report.warnings);
        assert_eq!(found.last().unwrap().0, last, "{argument}");
        assert_eq!(found[found.len() - 2].0, "deep", "{argument}");
        let crashed = report.threads.iter().find(|thread| thread.crashed).unwrap().id.unwrap();
        // Where the kernel placed the stack, the push that overflows may begin at its last byte: then the pointer is still inside.
        assert!(report.warnings.len() <= 1, "{argument}: {:?}", report.warnings);
        for warning in &report.warnings {
            assert!(warning.starts_with(&format!("thread {crashed}: its stack pointer 0x")), "{warning}");
            assert!(warning.contains("outside of the memory of its stack"), "{warning}");
        }
    }
}

/// A trampoline without call frame information is found by its code, by its name, and by the rows of the function before it nowhere. It has the
/// address to which the handler returns, which is that of its first byte.
#[test]
fn a_walk_leaves_a_trampoline_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path(), "stacks") else { return };
    let Some(core) = core_of(&program, "h") else { return };
    let rows = folder.path().join("stacks.fsym");
    let mut options = foldsym_convert::Options::default();
    (options.threads, options.unwind) = (1, true);
    foldsym_convert::convert(&program, &rows, &options, &foldsym_convert::NoProgress).unwrap();
    // The last one has no code: the symbol's name is enough.
    for (source, options) in
        [(&program, Options::default()), (&rows, with_libraries()), (&rows, Options::default())]
    {
        let symbolizer = Symbolizer::builder().search([source]).build().unwrap();
        let report = read_with(&core, &symbolizer, &options).unwrap();
        let thread = &report.threads[0];
        assert_eq!(thread.signals, [1], "{:?}", report.warnings);
        let frames = symbolizer.symbolize(&Stack::new(report.modules_of(thread), thread.frames.clone()));
        let found = frames.iter().zip(&thread.frames).zip(&thread.trust).map(|((frame, given), trust)| {
            let name = frame.functions.last().map_or("", |one| &*one.function);
            (name, given.kind, *trust)
        });
        let found: Vec<_> = found.take(6).collect();
        let expected = [
            ("handler", AddressKind::Exact, Trust::Context),
            ("__restore_rt", AddressKind::Exact, Trust::Cfi),
            ("faults", AddressKind::Exact, Trust::Cfi),
            ("outer", AddressKind::Return, Trust::Cfi),
            ("on_fault", AddressKind::Return, Trust::Cfi),
            ("main", AddressKind::Return, Trust::Cfi),
        ];
        assert_eq!(found, expected);
    }
}

/// Go's runtime has a signal handler make the interrupted code appear to call `runtime.sigpanic`. Here the instruction is the first of its
/// function.
#[test]
fn the_caller_of_an_injected_function_has_an_exact_address() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path(), "stacks") else { return };
    let Some(core) = core_of(&program, "i") else { return };
    let symbolizer = Symbolizer::builder().search([&program]).build().unwrap();
    let report = read_with(&core, &symbolizer, &with_libraries()).unwrap();
    let thread = &report.threads[0];
    let names = names_of(&report, &symbolizer);
    let at = names.iter().position(|name| *name == "runtime.sigpanic").unwrap();
    assert_eq!(names[at + 1..at + 4], ["faults", "outer", "on_fault"]);
    assert_eq!(
        (thread.frames[at + 1].kind, thread.frames[at + 2].kind),
        (AddressKind::Exact, AddressKind::Return)
    );
    assert!(thread.signals.is_empty());
}

/// Go's runtime changes stacks in functions whose rows do not say so: a row that ends the walk there is no reason to stop.
#[test]
fn a_function_that_changes_stacks_does_not_end_a_walk() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path(), "stacks") else { return };
    let Some(core) = core_of(&program, "m") else { return };
    let symbolizer = Symbolizer::builder().search([&program]).build().unwrap();
    let report = read_with(&core, &symbolizer, &with_libraries()).unwrap();
    let thread = &report.threads[0];
    let names = names_of(&report, &symbolizer);
    assert_eq!(names[..4], ["crash", "runtime.mcall", "", "outer"], "{:?}", thread.trust);
    assert_eq!(thread.trust[..4], [Trust::Context, Trust::Cfi, Trust::Gap, Trust::Scan]);
}

/// The vDSO is in no file.
#[test]
fn the_vdso_is_unwound_by_its_image_in_the_core() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path(), "stacks") else { return };
    let Some(core) = core_of(&program, "v") else { return };
    let symbolizer = Symbolizer::builder().search([&program]).build().unwrap();
    let report = read_with(&core, &symbolizer, &with_libraries()).unwrap();
    let thread = &report.threads[0];
    let vdso = report.modules.iter().position(|module| &*module.name == "[vdso]").unwrap();
    assert!(report.modules[vdso].id.is_some());
    let first = thread.frames[0].place.given().unwrap();
    if report.modules.find(first) != Some(vdso) {
        // Without a clock in memory the vDSO makes the system call, which refuses the address.
        return println!("skipped: the vDSO did not crash");
    }
    let frames = symbolizer.symbolize(&Stack::new(report.modules_of(thread), thread.frames.clone()));
    // Without the converter its symbols are not read.
    if cfg!(feature = "convert") {
        let name = frames[0].functions.last().map_or("", |one| &*one.function);
        assert!(name.ends_with("clock_gettime"), "{:?}", frames[0]);
    }
    let found = functions(&report, &symbolizer);
    assert_eq!(found, by_rows(&[("main", AddressKind::Return)]), "{:?}", thread.trust);
    assert!(!thread.trust.contains(&Trust::Gap), "{:?}", thread.trust);
}

/// A process of 32 bits has other registers, and other places of them in the notes.
#[test]
fn a_core_of_i386_is_walked() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("small.c"), folder.path().join("small"));
    let text = "int *volatile nothing;\n\
                __attribute__((noinline)) int crash(int x) { return *nothing + x; }\n\
                __attribute__((noinline)) int outer(int x) { return crash(x) + 1; }\n\
                int main(int c, char **v) { return outer(c) + 1; }\n";
    std::fs::write(&source, text).unwrap();
    let mut gcc = Command::new("i686-linux-gnu-gcc");
    let made = gcc.args(["-g", "-O1", "-fomit-frame-pointer", "-o"]).arg(&program).arg(&source).status();
    if !made.is_ok_and(|status| status.success()) {
        return println!("skipped: needs gcc for i686");
    }
    let Some(core) = core_of(&program, "x") else { return };
    assert_eq!((core[4], core[18]), (1, 3), "32 bits, EM_386");
    let symbolizer = Symbolizer::builder().search([&program]).build().unwrap();
    let report = read_with(&core, &symbolizer, &with_libraries()).unwrap();
    let found = functions(&report, &symbolizer);
    let expected = [
        ("crash", AddressKind::Exact, Trust::Context),
        ("outer", AddressKind::Return, Trust::Cfi),
        ("main", AddressKind::Return, Trust::Cfi),
    ];
    assert_eq!(found, expected.map(|(name, kind, trust)| (name.to_owned(), kind, trust)));
    assert_eq!((report.crash_address, report.about.cpu.as_str()), (Some(0), "x86"));
    assert!(report.about.process.is_some() && report.reason.contains("SIGSEGV"), "{}", report.reason);
    let names: Vec<&str> = report.modules.iter().map(|module| module.file_name()).collect();
    assert!(names.contains(&"small") && names.contains(&"libc.so.6"), "{names:?}");
}

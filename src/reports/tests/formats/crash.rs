//! A minidump from `minidump-writer`, and cores that gdb writes at test time, of a program that crashes in a folded function.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::STACK;
use foldsym_reports::{Format, Options, Report, Trust, read, read_with};
use foldsym_symbolize::{AddressKind, Certainty, Frame, Stack, Symbolizer};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports").join(name)
}

fn symbolizer(search: &[PathBuf]) -> Symbolizer {
    Symbolizer::builder().search(search).build().unwrap()
}

fn dump() -> Vec<u8> {
    std::fs::read(file("crash.dmp")).unwrap()
}

/// The call chain of the source; `crash.cpp` has one possible path.
const CHAIN: [&str; 6] =
    ["write_to_target(int)", "save_world(int)", "twice(int)", "store(int)", "level(int)", "main"];

/// The crashed thread's functions in the program itself, innermost first.
fn chain(report: &Report, symbolizer: &Symbolizer) -> (Vec<String>, Vec<Frame>) {
    let thread = report.threads.iter().find(|thread| thread.crashed).unwrap();
    let frames = symbolizer.symbolize(&Stack::new(report.modules_of(thread), thread.frames.clone()));
    let names =
        frames.iter().flat_map(|frame| &frame.functions).map(|location| location.function.to_string());
    (names.take(CHAIN.len()).collect(), frames)
}

#[test]
fn a_minidump_is_walked_and_its_folded_function_is_exact() {
    let symbolizer = symbolizer(&[file("crash")]);
    let report = read(&dump(), &symbolizer).unwrap();
    assert_eq!(report.format, Format::Minidump);
    assert_eq!((report.reason.as_str(), report.crash_address), ("SIGSEGV / SEGV_MAPERR", Some(0)));
    let (names, frames) = chain(&report, &symbolizer);
    assert_eq!(names, CHAIN);
    assert_eq!(frames[1].certainty, Some(Certainty::Exact));
    assert_eq!(frames[1].candidate_count, Some(1));
    let crashed = &report.threads[0];
    assert_eq!(crashed.trust[..5], [Trust::Context, Trust::Cfi, Trust::Cfi, Trust::Cfi, Trust::Cfi]);
    assert_eq!((crashed.frames[0].kind, crashed.frames[1].kind), (AddressKind::Exact, AddressKind::Return));
    assert_eq!(report.threads.len(), 2);
}

/// The minidump's writer records the access rights of each range of memory. No function returns to memory that is not executable.
#[test]
fn a_walk_ends_where_the_return_address_is_not_executable() {
    /// The start of the program's code in the minidump; the offset of the rights in a `MINIDUMP_MEMORY_INFO`, and two values of them.
    const CODE: u64 = 0x55cd_6317_1000;
    const PROTECTION: usize = 36;
    const PAGE_READONLY: u32 = 0x02;
    const PAGE_EXECUTE_READ: u32 = 0x20;
    let mut bytes = dump();
    let entries: Vec<usize> = (0..bytes.len() - PROTECTION - 4)
        .filter(|&at| bytes[at..at + 8] == CODE.to_le_bytes())
        .map(|at| at + PROTECTION)
        .filter(|&at| bytes[at..at + 4] == PAGE_EXECUTE_READ.to_le_bytes())
        .collect();
    let [at] = entries[..] else { panic!("{entries:?}") };
    bytes[at..at + 4].copy_from_slice(&PAGE_READONLY.to_le_bytes());
    let symbolizer = symbolizer(&[file("crash")]);
    let (whole, ended) = (read(&dump(), &symbolizer).unwrap(), read(&bytes, &symbolizer).unwrap());
    assert_eq!(ended.threads[0].trust, [Trust::Context]);
    assert_eq!(ended.threads[0].frames, whole.threads[0].frames[..1]);
}

#[test]
fn without_programs_guesses_are_marked() {
    let report = read(&dump(), &symbolizer(&[])).unwrap();
    let thread = &report.threads[0];
    assert_eq!(thread.frames.len(), thread.trust.len());
    assert_eq!(thread.trust[0], Trust::Context);
    assert!(!thread.trust.contains(&Trust::Cfi));
    let scans = thread.trust.iter().enumerate().filter(|(_, trust)| **trust == Trust::Scan);
    for (index, _) in scans {
        assert_eq!(thread.trust[index - 1], Trust::Gap);
    }
}

/// By the rows of a file, as from a store, without the program; frame by frame the result is the same as by the program itself.
#[test]
fn a_file_with_rows_walks_as_the_program_does() {
    let folder = tempfile::tempdir().unwrap();
    let convert = |name: &str, unwind| {
        let output = folder.path().join(name);
        let mut options = foldsym_convert::Options::default();
        (options.threads, options.unwind) = (1, unwind);
        foldsym_convert::convert(&file("crash"), &output, &options, &foldsym_convert::NoProgress).unwrap();
        symbolizer(&[output])
    };
    let (with, without) = (convert("with.fsym", true), convert("without.fsym", false));
    let of_program = read(&dump(), &symbolizer(&[file("crash")])).unwrap();
    let of_rows = read(&dump(), &with).unwrap();
    for (one, other) in of_program.threads.iter().zip(&of_rows.threads) {
        assert_eq!((&one.frames, &one.trust), (&other.frames, &other.trust));
    }
    let (names, frames) = chain(&of_rows, &with);
    assert_eq!(names, CHAIN);
    assert_eq!(frames[1].certainty, Some(Certainty::Exact));
    let guessed = read(&dump(), &without).unwrap();
    assert!(!guessed.threads[0].trust.contains(&Trust::Cfi), "{:?}", guessed.threads[0].trust);
    // Then the report has a warning with the remedy.
    let told = |report: &Report| {
        let of_crash = |warning: &&String| {
            warning.starts_with("no call frame information for ")
                && warning.ends_with("crash, so callers of its frames are guessed: convert it with --unwind")
        };
        report.warnings.iter().filter(of_crash).count()
    };
    assert_eq!((told(&guessed), told(&of_rows)), (1, 0), "{:?}", guessed.warnings);
}

/// A guessed caller proves nothing about the frame inside of it: a frame that call frame information makes exact is not exact by a frame
/// pointer or by scanning.
#[test]
fn each_kind_of_trust_weakens_the_verdict() {
    let symbolizer = symbolizer(&[file("crash")]);
    let report = read(&dump(), &symbolizer).unwrap();
    let sure = &report.threads[0];
    assert_eq!(sure.trust[1..3], [Trust::Cfi, Trust::Cfi]);
    let certainty = |frames: &[foldsym_symbolize::StackFrame], at: usize| {
        let stack = Stack::new(report.modules_of(sure), frames.to_vec());
        symbolizer.symbolize(&stack)[at].certainty
    };
    assert_eq!(certainty(&sure.frames, 1), Some(Certainty::Exact));
    // The same frames without rows: the engine finds the names, but the walk has to guess.
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("crash.fsym");
    let options = foldsym_convert::Options::default().with(|options| options.threads = 1);
    foldsym_convert::convert(&file("crash"), &output, &options, &foldsym_convert::NoProgress).unwrap();
    let only_names = self::symbolizer(&[output]);
    let guessed = read(&dump(), &only_names).unwrap();
    let guess = &guessed.threads[0];
    let mut met = Vec::new();
    for (at, trust) in guess.trust.iter().enumerate() {
        if !matches!(trust, Trust::Scan | Trust::FramePointer) {
            continue;
        }
        assert_eq!(
            (guess.trust[at - 1], guess.frames[at - 1]),
            (Trust::Gap, foldsym_symbolize::StackFrame::UNKNOWN)
        );
        met.push(*trust);
    }
    assert!(met.contains(&Trust::Scan) || met.contains(&Trust::FramePointer), "{:?}", guess.trust);
    // With a gap before its caller the folded frame is no longer exact.
    let mut gap = sure.frames.clone();
    gap.insert(2, foldsym_symbolize::StackFrame::UNKNOWN);
    assert_eq!(certainty(&gap, 1), Some(Certainty::Ambiguous));
}

/// A core of one thread whose callers are in a chain of frame pointers: program counters innermost first, and the program's range.
fn core_with_frame_pointers(counters: &[u64], range: (u64, u64), path: &str) -> Vec<u8> {
    // Each frame has four words: two of its own, then the caller's frame pointer and the return address.
    let mut stack = Vec::new();
    for (nth, counter) in counters[1..].iter().enumerate() {
        stack.extend([7, 7, STACK + 32 * (nth as u64 + 1) + 16, *counter]);
    }
    core_with_stack(counters[0], &stack, range, path)
}

/// A core of one thread with these words on its stack, followed by zeros and not executable.
fn core_with_stack(counter: u64, stack: &[u64], range: (u64, u64), path: &str) -> Vec<u8> {
    common::core(1, counter, stack, range, path)
}

/// Only frame pointers: each caller is marked as found by one, and the folded function that rows make exact is not exact.
#[test]
fn frame_pointers_alone_prove_nothing() {
    let report = read(&dump(), &symbolizer(&[file("crash")])).unwrap();
    let sure = &report.threads[0];
    let address = |frame: &foldsym_symbolize::StackFrame| match frame.place {
        foldsym_symbolize::ReportedAddress::Memory(address) => address,
        other => panic!("{other:?}"),
    };
    let counters: Vec<u64> = sure.frames.iter().take(4).map(address).collect();
    let modules = report.modules_of(sure);
    let module = &modules[modules.find(counters[0]).unwrap()];
    let foldsym_symbolize::Mapping::LoadAddress { address: start, size: Some(size) } = module.mapping else {
        panic!("{module:?}")
    };
    let core = core_with_frame_pointers(&counters, (start, start + size), "/nowhere/crash");
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("crash.fsym");
    let options = foldsym_convert::Options::default().with(|options| options.threads = 1);
    foldsym_convert::convert(&file("crash"), &output, &options, &foldsym_convert::NoProgress).unwrap();
    let only_names = symbolizer(&[output]);
    let report = read(&core, &only_names).unwrap();
    let thread = &report.threads[0];
    let guess = [Trust::Gap, Trust::FramePointer];
    let expected = [&[Trust::Context][..], &guess, &guess, &guess].concat();
    assert_eq!(thread.trust[..7], expected);
    let found: Vec<u64> = thread
        .frames
        .iter()
        .filter(|frame| **frame != foldsym_symbolize::StackFrame::UNKNOWN)
        .map(address)
        .collect();
    assert_eq!(found[..4], counters);
    let frames = only_names.symbolize(&Stack::new(report.modules_of(thread), thread.frames.clone()));
    let folded = frames.iter().find(|frame| frame.address == Some(counters[1])).unwrap();
    assert!(folded.candidate_count.is_some_and(|count| count > 1), "{folded:?}");
    assert_ne!(folded.certainty, Some(Certainty::Exact));
}

/// A return address that scanning finds may be left over from a call that has returned. Rows lead from there to a caller, which proves
/// nothing about it.
#[test]
fn what_scanning_finds_is_never_exact() {
    let symbolizer = symbolizer(&[file("crash")]);
    let stack = [0x40_1a28, 0, 0x40_1a38, 0, 0x40_1a92, 0, 0, 0];
    let core = core_with_stack(0x7000_0000, &stack, (0x40_0000, 0x40_3000), "/nowhere/crash");
    let report = read(&core, &symbolizer).unwrap();
    let thread = &report.threads[0];
    assert_eq!(thread.trust[..5], [Trust::Context, Trust::Gap, Trust::Scan, Trust::Gap, Trust::Cfi]);
    assert_eq!(thread.frames[3], foldsym_symbolize::StackFrame::UNKNOWN);
    let found = |frames: &[foldsym_symbolize::StackFrame], at: usize| {
        let stack = Stack::new(report.modules_of(thread), frames.to_vec());
        symbolizer.symbolize(&stack)[at].clone()
    };
    let scanned = found(&thread.frames, 2);
    assert!(scanned.candidate_count.is_some_and(|count| count > 1), "{scanned:?}");
    assert_ne!(scanned.certainty, Some(Certainty::Exact));
    // The next frame out would have made it exact.
    let mut sure = thread.frames.clone();
    sure.remove(3);
    assert_eq!(found(&sure, 2).certainty, Some(Certainty::Exact));
}

/// The first function of a program has rows as if it had a caller. The word above it on the stack is an object, not a caller.
#[test]
fn nothing_returns_to_memory_that_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let program = file("../../../../testbins/built/object.gcc.set/program");
    let output = folder.path().join("program.fsym");
    let options = foldsym_convert::Options::default().with(|options| {
        options.threads = 1;
        options.unwind = true;
    });
    foldsym_convert::convert(&program, &output, &options, &foldsym_convert::NoProgress).unwrap();
    let symbolizer = symbolizer(&[output]);
    const START: u64 = 0x20_1cf0;
    let walk = |above: u64| {
        let core = core_with_stack(START, &[above], (0x20_0000, 0x20_3000), "/nowhere/program");
        let report = read(&core, &symbolizer).unwrap();
        report.threads[0].frames.iter().map(|frame| frame.place).collect::<Vec<_>>()
    };
    let memory = foldsym_symbolize::ReportedAddress::Memory;
    assert_eq!(walk(STACK + 32), [memory(START)]);
    // An address of code is a caller, and so is an address of memory that is missing from the core.
    assert_eq!(walk(0x20_1569)[..2], [memory(START), memory(0x20_1569)]);
    assert_eq!(walk(0x7000_0000)[..2], [memory(START), memory(0x7000_0000)]);
}

/// A walk that needs memory which the report lacks says so: at its start, and at a frame whose return address is missing.
#[test]
fn missing_memory_is_told_with_its_thread() {
    let none = symbolizer(&[]);
    let report = read(&common::dump_of_threads(1, &[], "crash", 0x10000), &none).unwrap();
    let says = |report: &Report, start: &str| {
        assert!(report.warnings.iter().any(|warning| warning.starts_with(start)), "{:?}", report.warnings);
    };
    says(&report, "thread 0: no memory of its stack at 0x7ffd00001000, so its callers");
    // The stack pointer of the context, which comes before other places that have this address, is below the stack's memory.
    let mut below = common::dump_of_threads(1, &[0; 8], "crash", 0x10000);
    let at = below.windows(8).position(|bytes| bytes == STACK.to_le_bytes()).unwrap();
    below[at..at + 8].copy_from_slice(&(STACK - 0x100).to_le_bytes());
    let report = read(&below, &none).unwrap();
    says(&report, "thread 0: its stack pointer 0x7ffd00000f00 is outside of the memory of its stack");
    // The core ends with the memory of the stack.
    let stack = [0, 0x40_1a38, 0, 0x40_1a92, 0, 0, 0, 0];
    let core = core_with_stack(0x40_1a28, &stack, (0x40_0000, 0x40_3000), "/nowhere/crash");
    let symbolizer = symbolizer(&[file("crash")]);
    let whole = read(&core, &symbolizer).unwrap();
    assert_eq!(whole.threads[0].trust[..2], [Trust::Context, Trust::Cfi]);
    assert!(!whole.warnings.iter().any(|warning| warning.contains("no memory")), "{:?}", whole.warnings);
    let cut = read(&core[..core.len() - 64 - 8 * 7], &symbolizer).unwrap();
    assert_eq!(cut.threads[0].trust, [Trust::Context]);
    says(&cut, "thread 7: no memory of its stack at 0x7ffd00001008, so its callers");
}

/// A thread whose stack is not in the dump, and memory above its stack pointer: only the thread's own stack makes it an overflow.
#[test]
fn memory_above_a_stack_pointer_need_not_be_its_stack() {
    let warnings = |memory: u64, maps: &str| {
        let dump = common::dump_with_memory(&[], memory, maps);
        read(&dump, &symbolizer(&[])).unwrap().warnings
    };
    let mapping = |from: u64, to: u64, rights: &str, name: &str| {
        format!("{from:x}-{to:x} {rights} 00000000 00:00 0 {name}\n")
    };
    let above = STACK + 0x1000;
    let guard = mapping(STACK, above, "---p", "");
    for (maps, is_overflow) in [
        (String::new(), false),
        (mapping(above, above + 0x1000, "rw-p", "[heap]"), false),
        ([mapping(STACK, above, "rw-p", ""), mapping(above, above + 0x1000, "rw-p", "")].concat(), false),
        (mapping(above, above + 0x1000, "rw-p", "[stack]"), true),
        // A file of this name, of which the kernel writes one for shared memory with eight digits, is as any other.
        (
            [mapping(0x1000, 0x2000, "r--p", "/SYSV"), mapping(above, above + 0x1000, "rw-p", "[stack]")]
                .concat(),
            true,
        ),
        ([guard.clone(), mapping(above, above + 0x1000, "rw-p", "")].concat(), true),
        ([guard, mapping(above + 0x1000, above + 0x2000, "rw-p", "")].concat(), false),
    ] {
        let memory = if maps.contains(&format!("\n{:x}-", above + 0x1000)) { above + 0x1000 } else { above };
        let warnings = warnings(memory, &maps);
        let is = |words: &str| warnings.iter().any(|warning| warning.contains(words));
        assert_eq!(is("a stack overflow?"), is_overflow, "{maps}: {warnings:?}");
        assert_eq!(is("no memory of its stack"), !is_overflow, "{maps}: {warnings:?}");
    }
    let damaged = warnings(above, "1000-2000 rw-p\n");
    assert!(damaged.iter().any(|warning| warning.starts_with("/proc/PID/maps: ")), "{damaged:?}");
}

#[test]
fn cut_and_changed_minidumps_are_errors_or_less() {
    let (whole, none) = (dump(), symbolizer(&[]));
    for end in (0..whole.len()).step_by(997).chain(0..64) {
        let _ = read_with(&whole[..end], &none, &Options::default());
    }
    // Sizes and offsets of missing streams.
    for at in (0..2048).step_by(4) {
        let mut changed = whole.clone();
        changed[at..at + 4].fill(0xff);
        let _ = read(&changed, &none);
    }
    let mut version = whole.clone();
    version[4] ^= 0x55;
    let error = read(&version, &none).unwrap_err().to_string();
    assert_eq!(error, "minidump: header: Minidump version mismatch");
}

#[test]
fn a_core_is_walked_as_gdb_walks_it() {
    let folder = tempfile::tempdir().unwrap();
    let core = folder.path().join("core");
    let program = file("crash");
    let ran = Command::new("gdb")
        .args(["-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "run", "-ex"])
        .arg(format!("generate-core-file {}", core.display()))
        .args(["-ex", "bt"])
        .arg(&program)
        .output();
    let Some(ran) = ran.ok().filter(|_| core.exists()) else {
        assert!(std::env::var_os("CI").is_none(), "needs gdb");
        return println!("skipped: needs gdb");
    };
    let symbolizer = symbolizer(std::slice::from_ref(&program));
    let bytes = std::fs::read(&core).unwrap();
    let report = read(&bytes, &symbolizer).unwrap();
    assert_eq!((report.format, report.reason.as_str()), (Format::ElfCore, "SIGSEGV / SEGV_MAPERR"));
    let signal = report.about.signal.as_ref().unwrap();
    assert_eq!((signal.number, signal.code, signal.address), (11, Some(1), Some(0)));
    assert_eq!(report.about.process, report.threads[0].id);
    let (names, frames) = chain(&report, &symbolizer);
    assert_eq!(names, CHAIN);
    assert_eq!(frames[1].certainty, Some(Certainty::Exact));
    // gdb omits the address of an inlined frame, and of a frame whose program counter is at the start of a line.
    let text = String::from_utf8_lossy(&ran.stdout);
    for frame in &frames[1..2] {
        let address = format!("{:#018x}", frame.address.unwrap());
        assert!(text.contains(&address), "{address} {text}");
    }
    for end in (0..bytes.len().min(1 << 16)).step_by(1013) {
        let _ = read(&bytes[..end], &symbolizer);
    }
}

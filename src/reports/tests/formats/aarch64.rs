//! A core of a program for 64-bit ARM, as QEMU writes it: it has no list of mapped files, and some frames can be unwound only by call frame
//! information.
#![cfg(feature = "unwind")]

use std::io::Read;
use std::path::{Path, PathBuf};

use foldsym_reports::{Format, Options, Report, Trust, read, read_with};
use foldsym_symbolize::{AddressKind, Certainty, Mapping, Stack, Symbolizer};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports").join(name)
}

fn core() -> Vec<u8> {
    core_of("crash-aarch64")
}

fn core_of(program: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(file(&format!("{program}.core.gz"))).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

fn symbolizer(search: &Path) -> Symbolizer {
    Symbolizer::builder().search([search]).build().unwrap()
}

/// The call chain of the source, which has one possible path, and `_start`, which calls `run`.
const CHAIN: [&str; 7] =
    ["write_to_target(int)", "save_world(int)", "twice(int)", "store(int)", "level(int)", "run", "_start"];

fn functions(report: &Report, symbolizer: &Symbolizer) -> Vec<(String, Option<Certainty>)> {
    let frames = symbolizer
        .symbolize(&Stack::new(report.modules_of(&report.threads[0]), report.threads[0].frames.clone()));
    let functions = |frame: &foldsym_symbolize::Frame| {
        let certainty = frame.certainty;
        frame.functions.iter().map(move |one| (one.function.to_string(), certainty)).collect::<Vec<_>>()
    };
    frames.iter().flat_map(functions).collect()
}

/// By the program's call frame information, and by the rows of its symbol file.
#[test]
fn a_core_without_a_list_of_files_is_walked() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("crash-aarch64.fsym");
    let mut options = foldsym_convert::Options::default();
    (options.threads, options.unwind) = (1, true);
    let program = file("crash-aarch64");
    foldsym_convert::convert(&program, &rows, &options, &foldsym_convert::NoProgress).unwrap();
    for source in [&program, &rows] {
        let symbolizer = symbolizer(source);
        let report = read(&core(), &symbolizer).unwrap();
        assert_eq!((report.format, report.reason.as_str()), (Format::ElfCore, "SIGSEGV"));
        let [module] = &report.modules[..] else { panic!("{:?}", report.modules) };
        // QEMU's note of the process has the first 15 bytes of the name.
        assert_eq!((&*module.name, module.id.is_some()), ("crash-aarch64", true));
        assert!(matches!(module.mapping, Mapping::LoadAddress { address: 0x20_0000, size: Some(_) }));
        let thread = &report.threads[0];
        assert!(thread.crashed && report.threads.len() == 1);
        assert_eq!(thread.trust[1..], [Trust::Cfi; 5], "{:?}", report.warnings);
        assert_eq!((thread.frames[0].kind, thread.frames[1].kind), (AddressKind::Exact, AddressKind::Return));
        let found = functions(&report, &symbolizer);
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), CHAIN);
        // The folded function, resolved by its caller's call.
        assert_eq!(found[1].1, Some(Certainty::Exact));
        assert!(report.warnings[0].starts_with("no list of mapped files (NT_FILE): 1 ELF files"));
    }
}

/// The core with the range of memory that has an address divided there, and the offset in the file of that address.
fn divided(core: &[u8], at: u64) -> (Vec<u8>, usize) {
    let word = |place: usize| u64::from_le_bytes(core[place..place + 8].try_into().unwrap());
    let (table, count) = (word(32) as usize, u16::from_le_bytes([core[56], core[57]]));
    let mut headers: Vec<Vec<u8>> =
        core[table..table + 56 * usize::from(count)].chunks(56).map(<[u8]>::to_vec).collect();
    let field =
        |header: &[u8], place: usize| u64::from_le_bytes(header[place..place + 8].try_into().unwrap());
    let has = |header: &&mut Vec<u8>| {
        let (start, size) = (field(header, 16), field(header, 40));
        header[0] == 1 && start < at && at - start < size
    };
    // Offset, address, bytes in the file and in memory.
    let first = headers.iter_mut().find(has).unwrap();
    let (mut second, skip) = (first.clone(), at - field(first, 16));
    for (place, value) in [(8, field(first, 8) + skip), (16, at)] {
        second[place..place + 8].copy_from_slice(&value.to_le_bytes());
    }
    for place in [32, 40] {
        second[place..place + 8].copy_from_slice(&(field(first, place) - skip).to_le_bytes());
        first[place..place + 8].copy_from_slice(&skip.to_le_bytes());
    }
    let offset = field(&second, 8) as usize;
    headers.push(second);
    let mut bytes = core.to_vec();
    bytes[32..40].copy_from_slice(&(core.len() as u64).to_le_bytes());
    bytes[56..58].copy_from_slice(&(count + 1).to_le_bytes());
    bytes.extend(headers.concat());
    (bytes, offset)
}

/// Pointer authentication signs return addresses in memory. The part of a walk that begins on another stack begins at one of them.
#[test]
fn a_signed_return_address_leads_to_another_stack() {
    let symbolizer = symbolizer(&file("crash-aarch64"));
    let mut options = Options::default();
    options.registers = true;
    let whole = read_with(&core(), &symbolizer, &options).unwrap();
    let thread = &whole.threads[0];
    let stack_pointer = |frame: usize| {
        let registers = &thread.registers[frame];
        let text = &registers.iter().find(|(name, _)| *name == "sp").unwrap().1;
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    };
    // The frames from the fourth on are on a stack of their own.
    let (callee, caller) = (stack_pointer(2), stack_pointer(3));
    let return_address = thread.frames[3].place.given().unwrap();
    let (mut bytes, end) = divided(&core(), caller);
    let places = (end - (caller - callee) as usize..end).step_by(8);
    let places: Vec<usize> =
        places.filter(|&place| bytes[place..place + 8] == return_address.to_le_bytes()).collect();
    let [place] = places[..] else { panic!("{places:?}") };
    for code in [0, 0x0055_u64 << 48] {
        bytes[place..place + 8].copy_from_slice(&(return_address | code).to_le_bytes());
        let report = read(&bytes, &symbolizer).unwrap();
        assert_eq!(report.threads[0].frames, thread.frames, "{code:#x}");
        let found = functions(&report, &symbolizer);
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), CHAIN);
    }
}

/// QEMU's trampoline is in memory of no file, so its code is all that there is.
#[test]
fn a_walk_leaves_a_trampoline_that_is_in_no_module() {
    let symbolizer = symbolizer(&file("signal-aarch64"));
    let report = read(&core_of("signal-aarch64"), &symbolizer).unwrap();
    let thread = &report.threads[0];
    assert_eq!(thread.trust, [&[Trust::Context][..], &[Trust::Cfi; 5]].concat(), "{:?}", report.warnings);
    let found = functions(&report, &symbolizer);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["handler", "inner", "middle", "run", "_start"]);
    assert_eq!(thread.signals, [1]);
    let kinds: Vec<AddressKind> = thread.frames.iter().map(|frame| frame.kind).collect();
    let (exact, returned) = (AddressKind::Exact, AddressKind::Return);
    assert_eq!(kinds, [exact, exact, exact, returned, returned, returned]);
}

#[test]
fn registers_are_of_the_processor() {
    let mut options = Options::default();
    options.registers = true;
    let report = read_with(&core(), &symbolizer(&file("crash-aarch64")), &options).unwrap();
    let registers = &report.threads[0].registers[0];
    let value = |name: &str| &registers.iter().find(|(known, _)| *known == name).unwrap().1;
    assert_eq!(registers.len(), 33, "{registers:?}");
    // The instruction that stores through a null pointer, and the return address in the link register.
    let pc = report.threads[0].frames[0].place.given().unwrap();
    assert_eq!(*value("pc"), format!("0x{pc:016x}"));
    assert_ne!(value("lr"), value("pc"));
}

#[test]
fn cut_and_changed_cores_are_errors_or_less() {
    let (whole, symbolizer) = (core(), symbolizer(&file("crash-aarch64")));
    for end in (0..0x2000).step_by(61) {
        let _ = read(&whole[..end], &symbolizer);
    }
    // The headers and the notes, then the header of the program in the memory of the process.
    for at in (0..0x5c0).chain(0x1000..0x1300).step_by(4) {
        let mut changed = whole.clone();
        changed[at..at + 4].fill(0xff);
        let _ = read(&changed, &symbolizer);
    }
}

//! The sources of unwind rules, the modules' ranges, and warnings. Whole reports are in `tests/formats`.

use std::path::Path;

use foldsym_symbolize::Modules;
use minidump::Endian;
use minidump::system_info::Os;

use super::*;

/// A failure to read a file is not remembered for the next report; that the file does not exist is.
#[test]
fn a_module_whose_file_failed_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crash.fsym");
    let symbolizer = || Symbolizer::builder().search([&file]).build().unwrap();
    let module = foldsym_symbolize::Module::new("crash");
    let programs = Programs::default();
    std::fs::write(&file, b"no such file").unwrap();
    assert!(programs.get(&module, &symbolizer()).is_none());
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports/crash");
    let mut options = foldsym_convert::Options::default();
    (options.threads, options.unwind) = (1, true);
    std::fs::remove_file(&file).unwrap();
    foldsym_convert::convert(&program, &file, &options, &foldsym_convert::NoProgress).unwrap();
    assert!(programs.get(&module, &symbolizer()).is_some());
    // The engine alone keeps the file open.
    let engine = symbolizer();
    drop(programs.get(&module, &engine));
    assert_eq!(Arc::strong_count(&engine.file_of(&module).unwrap()), 2);
    // The other way round: a missing file is not searched again.
    let other = foldsym_symbolize::Module::new("other");
    assert!(programs.get(&other, &symbolizer()).is_none());
    std::fs::rename(&file, folder.path().join("other.fsym")).unwrap();
    let found = Symbolizer::builder().search([folder.path().join("other.fsym")]).build().unwrap();
    assert!(programs.get(&other, &found).is_none());
}

/// A program without a build id has the identity that writers of minidumps derive from its code.
#[test]
fn a_program_without_a_build_id_is_known_by_its_code() {
    use foldsym_symbolize::{BuildId, DebugId, ModuleId, text_id};
    use object::{Object, ObjectSection};

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports/crash");
    let mut bytes = std::fs::read(path).unwrap();
    let (code, at) = {
        let file = object::File::parse(&*bytes).unwrap();
        let code = text_id(file.section_by_name(".text").unwrap().data().unwrap()).unwrap();
        let own = ModuleId::from(BuildId::new(file.build_id().unwrap().unwrap()).unwrap());
        assert!(program::is_of(&file, Some(&own)) && !program::is_of(&file, Some(&code.clone().into())));
        (code, file.section_by_name(".note.gnu.build-id").unwrap().file_range().unwrap().0 as usize)
    };
    // The kind of the note, `NT_GNU_BUILD_ID`, becomes another one.
    bytes[at + 8] = 9;
    let file = object::File::parse(&*bytes).unwrap();
    let has = |id: ModuleId| program::is_of(&file, Some(&id));
    assert!(has(code.clone().into()) && has(DebugId::of_elf(&code, false).into()));
    assert!(!has(BuildId::new(&[7; 16]).unwrap().into()));
}

fn module(name: &str, address: u64, size: u64) -> foldsym_symbolize::Module {
    let mapping = Mapping::LoadAddress { address, size: Some(size) };
    foldsym_symbolize::Module::new(name).mapped(mapping)
}

/// `minidump-unwind` finds code above the first 4 GiB of a module, too.
#[test]
fn a_module_above_4_gib_has_several_ranges() {
    let size = 9 << 30;
    let modules = Modules::new(vec![module("large", 0x1000, size), module("small", 0x1000 + size, 0x1000)]);
    let (list, more) = ranges(&modules);
    assert_eq!(more, None);
    for address in [0x1000, 0xffff_ffff, 0x1_0000_0fff, 0x1_0000_1000, 0x1000 + size - 1, 0x1000 + size] {
        assert!(list.module_at_address(address).is_some(), "{address:#x}");
    }
    assert!(list.module_at_address(0xfff).is_none() && list.module_at_address(0x2000 + size).is_none());
    // Sizes that no module has take no memory.
    let modules =
        Modules::new(vec![module("small", 0x1000, 0x1000), module("hostile", 0x2000, u64::MAX >> 1)]);
    let (list, more) = ranges(&modules);
    assert_eq!((list.iter().count(), more), (2 + MAX_MORE, Some(1)));
}

/// A walk of a thread without memory, by a processor's registers.
fn warnings(cpu: Cpu, modules: &Modules, raw: minidump::MinidumpRawContext) -> Vec<String> {
    let (symbolizer, programs) = (Symbolizer::builder().build().unwrap(), Programs::default());
    let options = Options::default();
    let memory: Range<'_> = (0x8000, &[0; 64]);
    let process = Process {
        modules,
        os: Os::Linux,
        cpu,
        endian: Endian::Little,
        executable: &|_| None,
        memory: &|_| Some(memory),
        above: &|_| None,
    };
    let walker = Walker::new(process, (&symbolizer, &programs), (&options, &|| true), 0);
    let _ = walker.walk(&MinidumpContext::from_raw(raw), Some(memory), None);
    walker.warnings()
}

#[test]
fn a_module_that_is_too_large_is_named() {
    let modules = Modules::new(vec![module("hostile", 0x1000, u64::MAX >> 1)]);
    let raw = minidump::MinidumpRawContext::Amd64(Default::default());
    let told = warnings(Cpu::X86_64, &modules, raw);
    assert!(told.len() == 1 && told[0].starts_with("hostile: is larger than"), "{told:?}");
}

#[test]
fn a_processor_without_rows_is_named() {
    let modules = Modules::new(vec![module("crash", 0x1000, 0x1000)]);
    let mut registers = minidump::format::CONTEXT_ARM::default();
    (registers.iregs[13], registers.iregs[15]) = (0x8000, 0x1010);
    let told = warnings(Cpu::Arm, &modules, minidump::MinidumpRawContext::Arm(registers));
    let says = "call frame information is not read for the processor arm, so callers of frames are guessed";
    assert_eq!(told, [says]);
}

/// The registers that the kernel saves for a signal, as each processor lays them out.
#[test]
fn a_signal_saves_all_registers() {
    const SP: u64 = 0x8000;
    let restored = |cpu, layout, words: &[(u64, u64)]| {
        let width = if cpu == Cpu::X86 { 4 } else { 8 };
        let mut memory = vec![0; 1024];
        for (offset, value) in words {
            memory[*offset as usize..][..width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        let range = |memory: &[u8]| -> Result<Vec<(&'static str, String)>, u64> {
            let held = |_: u64| Some((SP, memory));
            let process = Process {
                modules: &Modules::new(Vec::new()),
                os: Os::Linux,
                cpu,
                endian: Endian::Little,
                executable: &|_| None,
                memory: &held,
                above: &|_| None,
            };
            signal::interrupted(layout, SP, &process).map(|context| registers::known(&context))
        };
        // Memory that ends early is an address, not a panic.
        for end in 0..memory.len() {
            let _ = range(&memory[..end]);
        }
        assert!(range(&memory[..4]).is_err());
        range(&memory).unwrap()
    };
    let value = |registers: &[(&str, String)], name: &str| {
        let text = &registers.iter().find(|(known, _)| *known == name).unwrap().1;
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    };
    // r8, rbp, rsp and rip of `struct ucontext`.
    let amd64 = restored(Cpu::X86_64, signal::Layout::Amd64, &[(40, 8), (120, 6), (160, 7), (168, 16)]);
    assert_eq!(["r8", "rbp", "rsp", "rip"].map(|name| value(&amd64, name)), [8, 6, 7, 16]);
    // edi, esp, eax and eip of `struct sigcontext_32`; the word before is the number of the signal.
    let words = [(4 + 16, 7), (4 + 28, 4), (4 + 44, 1), (4 + 56, 8)];
    let x86 = restored(Cpu::X86, signal::Layout::X86, &words);
    assert_eq!(["edi", "esp", "eax", "eip"].map(|name| value(&x86, name)), [7, 4, 1, 8]);
    // The same behind a pointer to `struct ucontext_ia32`.
    let words =
        [(8, SP + 200), (200 + 20 + 16, 7), (200 + 20 + 28, 4), (200 + 20 + 44, 1), (200 + 20 + 56, 8)];
    let info = restored(Cpu::X86, signal::Layout::X86Info, &words);
    assert_eq!(x86, info);
    // x0, x29, sp and pc.
    let words = [(312, 1), (312 + 29 * 8, 29), (560, 31), (568, 32)];
    let arm64 = restored(Cpu::Arm64, signal::Layout::Arm64, &words);
    assert_eq!(["x0", "fp", "sp", "pc"].map(|name| value(&arm64, name)), [1, 29, 31, 32]);
}

/// The linker compresses the section with the debug information, as distributions have it do.
#[test]
fn a_compressed_debug_frame_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.c");
    std::fs::write(&source, "int f(int x) { return x * 3; }\nvoid _start(void) { f(2); for (;;); }\n")
        .unwrap();
    let mut covered = Vec::new();
    for kind in ["none", "zlib", "zstd"] {
        let program = folder.path().join(kind);
        let mut gcc = std::process::Command::new("gcc");
        gcc.args([
            "-g",
            "-fno-asynchronous-unwind-tables",
            "-fno-unwind-tables",
            "-nostdlib",
            "-static",
            "-no-pie",
        ]);
        gcc.arg(format!("-Wl,--compress-debug-sections={kind}")).arg("-o").arg(&program).arg(&source);
        if !gcc.status().is_ok_and(|status| status.success()) {
            return println!("skipped: needs gcc and a linker with zstd");
        }
        let program = program::Program::open(&program, None).unwrap_or_else(|| panic!("{kind}"));
        let entry = (0x40_0000..0x41_0000u64).find(|&address| program.covers(address));
        covered.push(entry.unwrap_or_else(|| panic!("{kind}")));
    }
    assert!(covered.iter().all(|entry| entry == &covered[0]));
}

//! The sources of unwind rules, the modules' ranges, and warnings. Whole reports are in `tests/formats`.

use std::path::Path;

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
    };
    let walker = Walker::new(process, (&symbolizer, &programs), (&options, &|| true), 0);
    let _ = walker.walk(&MinidumpContext::from_raw(raw), Some(memory));
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

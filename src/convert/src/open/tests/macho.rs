//! Mach-O: sections, symbols, fat files, dSYM bundles.

use std::fs;

use super::build::Bytes;
use super::*;
use crate::open::{DebugSection, Format, ImageKind, SymbolKind};

const ARM64: u32 = 0x0100_000c;
const X86_64: u32 = 0x0100_0007;

/// A 64-bit Mach-O file under construction.
#[derive(Clone)]
pub(super) struct Macho {
    cpu: u32,
    file_type: u32,
    flags: u32,
    uuid: [u8; 16],
    /// Segment, section, address, flags, bytes.
    sections: Vec<(&'static str, &'static str, u64, u32, Vec<u8>)>,
    /// Name, type, section, value.
    symbols: Vec<(&'static str, u8, u8, u64)>,
}

/// A program, or its companion file.
pub(super) fn thin(dsym: bool) -> Macho {
    let mut sections = vec![("__TEXT", "__text", 0x1_0000_0400, 0x8000_0400, vec![0; 0x40])];
    if dsym {
        sections.push(("__DWARF", "__debug_info", 0, 0x0200_0000, b"units".to_vec()));
        sections.push(("__DWARF", "__debug_str_offs", 0, 0x0200_0000, b"offsets".to_vec()));
    }
    Macho {
        cpu: ARM64,
        file_type: if dsym { 10 } else { 2 },
        flags: 0x20_0000,
        uuid: [7; 16],
        sections,
        symbols: vec![
            // `n_type` (Mach-O nlist.h): 0x0f is `N_SECT | N_EXT`, 0x0e is `N_SECT`, 0x66 is `N_OSO`, 0x01 is undefined.
            ("__mh_execute_header", 0x0f, 1, 0x1_0000_0000),
            ("_main", 0x0f, 1, 0x1_0000_0410),
            ("__ZN1A1fEv", 0x0e, 1, 0x1_0000_0420),
            ("/build/a.o", 0x66, 0, 0),
            ("_undefined", 0x01, 0, 0),
        ],
    }
}

impl Macho {
    pub(super) fn build(&self) -> Vec<u8> {
        let (header_size, segment_size, section_size) = (32, 72, 80);
        let commands_size = (segment_size + section_size) * self.sections.len() + 24 + 24;
        let mut data = Bytes::default();
        let mut commands = Bytes::default();
        let fixed = |name: &str| {
            let mut bytes = [0; 16];
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            bytes
        };
        for (segment, section, address, flags, bytes) in &self.sections {
            let offset = (header_size + commands_size + data.out.len()) as u64;
            let size = bytes.len() as u64;
            // `LC_SEGMENT_64`, with one section in each segment. `LC_UUID` and `LC_SYMTAB` follow (Mach-O loader.h).
            commands.number(0x19, 4).number((segment_size + section_size) as u64, 4).raw(&fixed(segment));
            commands.number(address & !0xfff, 8).number(0x1000, 8).number(offset, 8).number(size, 8);
            commands.number(5, 4).number(5, 4).number(1, 4).number(0, 4);
            commands.raw(&fixed(section)).raw(&fixed(segment)).number(*address, 8).number(size, 8);
            commands
                .number(offset, 4)
                .number(0, 4)
                .number(0, 4)
                .number(0, 4)
                .number((*flags).into(), 4)
                .raw(&[0; 12]);
            data.raw(bytes);
        }
        commands.number(0x1b, 4).number(24, 4).raw(&self.uuid);
        let mut names = vec![0];
        let symbols_at = header_size + commands_size + data.out.len();
        for (name, kind, section, value) in &self.symbols {
            data.number(names.len() as u64, 4).raw(&[*kind, *section, 0, 0]).number(*value, 8);
            names.extend_from_slice(name.as_bytes());
            names.push(0);
        }
        commands.number(2, 4).number(24, 4).number(symbols_at as u64, 4).number(self.symbols.len() as u64, 4);
        commands
            .number((header_size + commands_size + data.out.len()) as u64, 4)
            .number(names.len() as u64, 4);
        let mut file = Bytes::default();
        file.number(0xfeed_facf, 4).number(self.cpu.into(), 4).number(0, 4).number(self.file_type.into(), 4);
        file.number(self.sections.len() as u64 + 2, 4).number(commands_size as u64, 4);
        file.number(self.flags.into(), 4).number(0, 4);
        file.raw(&commands.out).raw(&data.out).raw(&names);
        file.out
    }
}

/// A fat file of these thin files.
pub(super) fn fat(files: &[Vec<u8>]) -> Vec<u8> {
    let mut header = Bytes { big: true, ..Bytes::default() };
    header.number(0xcafe_babe, 4).number(files.len() as u64, 4);
    let mut offset = 0x100;
    for file in files {
        let cpu = u32::from_le_bytes(*file[4..].first_chunk().unwrap());
        header.number(cpu.into(), 4).number(0, 4).number(offset, 4).number(file.len() as u64, 4).number(3, 4);
        offset += (file.len() as u64).next_multiple_of(8);
    }
    header.out.resize(0x100, 0);
    for file in files {
        header.raw(file);
        header.out.resize(header.out.len().next_multiple_of(8), 0);
    }
    header.out
}

#[test]
fn a_program_has_code_symbols_and_base() {
    let files = Files::new();
    let mut program = thin(false);
    // A C function, and an assembler's label.
    program.symbols.extend([("_ltmpnam", 0x0f, 1, 0x1_0000_0430), ("ltmp0", 0x0e, 1, 0x1_0000_0430)]);
    let image = open(&files, program.build()).unwrap();
    assert_eq!((image.format, image.kind), (Format::MachO, ImageKind::Dynamic));
    assert_eq!((image.arch.name, image.arch.machine, image.image_base), ("aarch64", 183, 0x1_0000_0000));
    assert_eq!(image.build_id, [7; 16]);
    assert_eq!(image.sections[0].name, "__TEXT,__text");
    let got: Vec<_> = image.symbols.iter().map(|symbol| (symbol.name, symbol.address, symbol.kind)).collect();
    let function = SymbolKind::Function;
    let expected =
        [(&b"main"[..], 0x1_0000_0410), (b"_ZN1A1fEv", 0x1_0000_0420), (b"ltmpnam", 0x1_0000_0430)];
    assert_eq!(got, expected.map(|(name, address)| (name, address, function)));
    assert_eq!(image.diagnostics, []);
}

#[test]
fn a_companion_has_debug_sections_by_their_cut_names() {
    let files = Files::new();
    let image = open(&files, thin(true).build()).unwrap();
    assert_eq!(image.kind, ImageKind::DebugOnly);
    assert_eq!(image.debug.get(DebugSection::Info), b"units");
    assert_eq!(image.debug.get(DebugSection::StrOffsets), b"offsets");
    assert_eq!(image.sections.len(), 1);
}

#[test]
fn a_fat_file_needs_an_architecture() {
    let other = Macho { cpu: X86_64, ..thin(false) };
    let bytes = fat(&[thin(false).build(), other.build()]);
    let open = |arch: Option<&str>| {
        let files = Box::leak(Box::new(Files::new()));
        let options = OpenOptions { arch: arch.map(str::to_owned), ..no_system() };
        image_from_bytes(files, Path::new("fat"), files.keep(bytes.clone()), &options)
    };
    let error = open(None).err().unwrap();
    assert!(error.is_usage());
    assert_eq!(
        error.to_string(),
        "fat: several architectures, choose one with --arch; it has: arm64, x86_64"
    );
    assert!(open(Some("ppc")).err().unwrap().to_string().contains("no architecture ppc"));
    assert_eq!(open(Some("x86_64")).unwrap().arch.name, "x86_64");
    assert_eq!(open(Some("aarch64")).unwrap().arch.name, "aarch64");
}

#[test]
fn a_bundle_is_opened_itself_and_found_beside_its_program() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("prog");
    let inside = dir.path().join("prog.dSYM/Contents/Resources/DWARF");
    fs::create_dir_all(&inside).unwrap();
    fs::write(&program, thin(false).build()).unwrap();
    let files = Files::new();

    let image = open_image(&files, &program, &no_system()).unwrap();
    assert!(noted(&image, OpenDiagnosticKind::DebugFileNotFound).unwrap().1.contains("dsymutil"));
    assert!(open_image(&files, &dir.path().join("prog.dSYM"), &no_system()).is_err());

    let other_build = Macho { uuid: [9; 16], ..thin(true) };
    fs::write(inside.join("prog"), other_build.build()).unwrap();
    let image = open_image(&files, &program, &no_system()).unwrap();
    let (_, first) = noted(&image, OpenDiagnosticKind::DebugFileMismatch).unwrap();
    assert!(first.contains(&"09".repeat(16)) && first.contains(&"07".repeat(16)), "{first}");
    assert!(!image.debug.has_units());

    let wrong_arch = Macho { cpu: X86_64, uuid: [9; 16], ..thin(true) };
    fs::write(inside.join("prog"), fat(&[wrong_arch.build(), thin(true).build()])).unwrap();
    let image = open_image(&files, &program, &no_system()).unwrap();
    assert_eq!(image.debug.get(DebugSection::Info), b"units");
    assert_eq!(image.debug_path, Some(inside.join("prog")));
    assert_eq!((image.kind, image.symbols.len()), (ImageKind::Dynamic, 2));

    // If the user names a bundle, the code comes from the program next to it. If there is none, there is no code.
    fs::write(inside.join("prog"), thin(true).build()).unwrap();
    for named in [dir.path().join("prog.dSYM"), inside.join("prog")] {
        let image = open_image(&files, &named, &no_system()).unwrap();
        assert_eq!((image.kind, image.symbols.len()), (ImageKind::Dynamic, 2));
        assert_eq!(image.debug.get(DebugSection::Info), b"units");
        assert!(noted(&image, OpenDiagnosticKind::NoCode).is_none());
        assert_eq!((&image.path, &image.debug_path), (&program, &Some(inside.join("prog"))));
    }
    for other in [&*other_build.build(), b""] {
        fs::write(&program, other).unwrap();
        let image = open_image(&files, &dir.path().join("prog.dSYM"), &no_system()).unwrap();
        assert_eq!(image.kind, ImageKind::DebugOnly);
        assert!(noted(&image, OpenDiagnosticKind::NoCode).is_some());
    }
}

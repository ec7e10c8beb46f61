//! ELF: tables, symbols, compression, relocation.

use std::io::Write;

use super::build::*;
use super::*;
use crate::model::ImageAddr;
use crate::open::{Binding, DebugSection, ImageKind, MarkKind, SymbolKind};

const ABSOLUTE: u16 = 0xfff1;

#[test]
fn both_classes_and_byte_orders_give_the_same() {
    for elf in programs() {
        let files = Files::new();
        let image = open(&files, elf.build()).unwrap();
        assert_eq!(image.kind, ImageKind::Executable);
        assert_eq!(image.arch.machine, elf.machine);
        assert_eq!(usize::from(image.arch.address_size), elf.word());
        assert_eq!(image.arch.big_endian, elf.big);
        assert_eq!(image.image_base, 0x1000);
        assert_eq!(image.build_id, [0xab, 0xcd, 0xef]);
        assert_eq!(image.debug.get(DebugSection::Info), b"info bytes");
        assert_eq!(image.debug.get(DebugSection::Str), b"string\0");
        assert_eq!(image.debug.get(DebugSection::Line), b"");
        let text = &image.sections[image.section_at(ImageAddr(0x103f)).unwrap()];
        assert_eq!((text.name.as_str(), text.executable, text.range.end.0), (".text", true, 0x1040));
        assert_eq!(image.section_at(ImageAddr(0x1040)), None);
        let symbols: Vec<_> = image.symbols.iter().map(|s| (s.name, s.address, s.size)).collect();
        assert_eq!(symbols, [(&b"first"[..], 0x1000, 0x10), (b"second", 0x1010, 0x20)]);
        assert_eq!(image.diagnostics, []);
    }
}

#[test]
fn addresses_in_the_top_half_and_at_the_end_of_the_address_space() {
    let mut elf = Elf::x86_64(2);
    elf.loads = vec![0xffff_ffff_8100_0000, 0];
    elf.add(".text", PROGBITS, CODE, 0xffff_ffff_8100_0000, &[0; 16]);
    elf.add(".last", PROGBITS, CODE, 0xffff_ffff_ffff_fff8, &[0; 16]);
    elf.symbols = vec![func("entry", 0xffff_ffff_8100_0008, 0, 1), func("end", 0xffff_ffff_ffff_fff8, 4, 2)];
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    assert_eq!(image.image_base, 0xffff_ffff_8100_0000);
    assert_eq!(image.symbols.len(), 2);
    assert_eq!(image.sections[1].range.end.0, u64::MAX);
    assert_eq!(noted(&image, OpenDiagnosticKind::SectionWraps).unwrap().0, 1);
}

#[test]
fn symbols_that_name_code_are_kept_and_others_are_not() {
    let mut elf = Elf::x86_64(3);
    elf.add(".text", PROGBITS, CODE, 0x1000, &[0; 0x40]);
    elf.add(".data", PROGBITS, ALLOC, 0x2000, &[0; 0x40]);
    elf.add(".tbss", NOBITS, ALLOC | 0x400, 0x2040, &[]);
    // `.tbss` claims addresses that other sections use: each thread gets its own copy elsewhere.
    elf.sections[2].size = Some(0x1000);
    let sym = |name, value, kind, bind, section| Sym { name, value, size: 4, kind, bind, section };
    elf.symbols = vec![
        sym("a.c", 0, 4, 0, ABSOLUTE),
        sym("local", 0x1000, 2, 0, 1),
        // Linkers write a file symbol without a name after the symbols of the last file.
        sym("", 0, 4, 0, ABSOLUTE),
        sym("linker_made", 0x1004, 2, 0, 1),
        sym("label", 0x1008, 0, 1, 1),
        sym(".Ltmp", 0x1008, 0, 0, 1),
        sym("etext", 0x1040, 0, 1, 1),
        sym("weak", 0x100c, 2, 2, 1),
        sym("ifunc", 0x1010, 10, 1, 1),
        sym("_ZTV1A", 0x2000, 1, 2, 2),
        sym("object", 0x2008, 1, 1, 2),
        sym("undefined", 0, 2, 1, 0),
        sym("absolute", 0x1000, 2, 1, ABSOLUTE),
        sym("thread", 0x2040, 6, 1, 3),
        sym("outside", 0x9000, 2, 1, 1),
        sym("no_section", 0x1000, 2, 1, 99),
        sym("*Type@Base#method", 0x1018, 2, 1, 1),
    ];
    elf.dynamic =
        vec![func("weak", 0x100c, 4, 1), func("only_dynamic", 0x1014, 4, 1), func("*Type", 0x1018, 4, 1)];
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    let got: Vec<_> = image
        .symbols
        .iter()
        .map(|s| (std::str::from_utf8(s.name).unwrap(), s.kind, s.binding, s.file, s.dynamic))
        .collect();
    use Binding::{Global, Local, Weak};
    use SymbolKind::{Data, Function, Indirect, Label};
    let expected = [
        ("local", Function, Local, Some(0), false),
        ("linker_made", Function, Local, None, false),
        ("label", Label, Global, None, false),
        ("weak", Function, Weak, None, false),
        ("ifunc", Indirect, Global, None, false),
        ("_ZTV1A", Data, Weak, None, false),
        ("*Type@Base#method", Function, Global, None, false),
        ("only_dynamic", Function, Global, None, true),
    ];
    assert_eq!(got, expected);
    assert_eq!(image.symbol_files, [b"a.c"]);
    assert_eq!(
        noted(&image, OpenDiagnosticKind::SymbolOutsideSection).unwrap(),
        (1, "outside at 0x9000".to_owned())
    );
    assert_eq!(noted(&image, OpenDiagnosticKind::BadSymbol).unwrap().0, 1);
    assert_eq!(image.sections.len(), 2, "thread-local zeroes have no address of their own");
}

#[test]
fn arm_symbols_lose_the_thumb_bit_and_mapping_symbols() {
    let mut elf = Elf::new(false, false, 2, 40);
    elf.add(".text", PROGBITS, CODE, 0x1000, &[0; 0x40]);
    let label = |name| Sym { name, value: 0x1000, size: 0, kind: 0, bind: 0, section: 1 };
    elf.symbols =
        vec![func("thumb", 0x1005, 4, 1), label("$t"), label("$d.1"), label("$a"), label("$dollar")];
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    let got: Vec<_> = image.symbols.iter().map(|symbol| (symbol.name, symbol.address)).collect();
    assert_eq!(got, [(&b"thumb"[..], 0x1004), (b"$dollar", 0x1000)]);
}

#[test]
fn ppc64_descriptors_lead_to_code() {
    let mut elf = Elf::new(true, true, 2, 21);
    elf.add(".text", PROGBITS, CODE, 0x1000, &[0; 0x40]);
    let mut descriptors = elf.bytes();
    descriptors.number(0x1020, 8).number(0, 16 - 8).number(0, 8).number(0x7777, 8).number(0, 8).number(0, 8);
    elf.add(".opd", PROGBITS, ALLOC, 0x2000, &descriptors.out);
    elf.symbols = vec![func("good", 0x2000, 8, 2), func("bad", 0x2018, 8, 2)];
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    assert_eq!(image.symbols.len(), 1);
    assert_eq!((image.symbols[0].address, image.symbols[0].section), (0x1020, 0));
    assert_eq!(noted(&image, OpenDiagnosticKind::BadDescriptor).unwrap().0, 1);
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_sections_of_all_kinds() {
    let text = b"the same words, the same words, the same words";
    for mut elf in programs() {
        elf.sections.truncate(2);
        elf.add_compressed(".debug_info", 1, text.len() as u64, &zlib(text));
        elf.add_compressed(".debug_line", 2, text.len() as u64, &zstd::encode_all(&text[..], 3).unwrap());
        let mut old = b"ZLIB".to_vec();
        old.extend((text.len() as u64).to_be_bytes());
        old.extend(zlib(text));
        elf.add(".zdebug_str", PROGBITS, 0, 0, &old);
        elf.add_compressed(".debug_abbrev", 77, 10, b"whatever");
        let files = Files::new();
        let image = open(&files, elf.build()).unwrap();
        for id in [DebugSection::Info, DebugSection::Line, DebugSection::Str] {
            assert_eq!(image.debug.get(id), text);
        }
        assert_eq!(image.debug.get(DebugSection::Abbrev), b"");
        let (count, first) = noted(&image, OpenDiagnosticKind::UnknownCompression).unwrap();
        assert!(count == 1 && first.contains(".debug_abbrev") && first.contains("77"), "{first}");
    }
}

#[test]
fn a_compressed_section_that_lies_about_its_size_is_an_error() {
    let text = [7; 1000];
    let error = |claimed: u64, method: u32, input: &[u8]| {
        let mut elf = Elf::x86_64(2);
        elf.add_compressed(".debug_info", method, claimed, input);
        let files = Files::new();
        let error = open(&files, elf.build()).err().unwrap();
        assert!(files.buffer_bytes() <= claimed);
        error
    };
    let zstd = zstd::encode_all(&text[..], 3).unwrap();
    for (method, input) in [(1, zlib(&text)), (2, zstd)] {
        let less = error(1001, method, &input).to_string();
        assert!(less.contains("holds 1000 bytes, 1001 claimed") && less.contains(".debug_info"), "{less}");
        let more = error(999, method, &input).to_string();
        assert!(more.contains("more than the 999 bytes claimed"), "{more}");
        assert!(matches!(error(1 << 40, method, &input), OpenError::TooLarge { claimed, allowed, .. }
            if claimed == 1 << 40 && allowed == 64 << 20));
        assert!(matches!(error(1000, method, &input[..input.len() / 2]), OpenError::Malformed { .. }));
        assert!(matches!(error(u64::MAX, method, &input), OpenError::TooLarge { .. }));
    }
    assert!(matches!(error(4, 1, &[]), OpenError::Malformed { .. }));
}

#[test]
fn all_buffers_together_have_a_limit() {
    let mut elf = Elf::x86_64(2);
    let names = [".debug_info", ".debug_line", ".debug_str", ".debug_addr", ".debug_loc", ".debug_types"];
    for name in names {
        elf.add_compressed(name, 2, 64 << 20, &[]);
    }
    let files = Files::new();
    // Six sections claim 64 MiB each. Which one fails first depends on the order of threads.
    assert!(open(&files, elf.build()).is_err());
    assert!(files.buffer_bytes() <= 128 << 20);
}

#[test]
fn an_object_file_is_laid_out_and_relocated() {
    let mut elf = Elf::x86_64(1);
    elf.add(".text.a", PROGBITS, CODE, 0, &[0; 6]);
    let second = elf.add(".text.b", PROGBITS, CODE, 0, &[0; 6]);
    elf.sections[second - 1].align = 16;
    let info = elf.add(".debug_info", PROGBITS, 0, 0, &[0xff; 16]);
    let more = elf.add(".debug_info", PROGBITS, 0, 0, &[0xff; 8]);
    let section = |index| Sym { name: "", value: 0, size: 0, kind: 3, bind: 0, section: index };
    elf.symbols = vec![func("b", 2, 4, second as u16), section(more as u16)];
    elf.symbols.push(func("undefined", 0, 0, 0));
    elf.add_relocations(
        ".rela.debug_info",
        info,
        RELA,
        &[(0, 1, 1, 1), (8, 10, 2, 4), (12, 10, 50, 0), (15, 10, 1, 0)],
    );
    elf.add_relocations(".rela.debug_info", more, RELA, &[(0, 1, 3, 5)]);
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    assert_eq!(image.kind, ImageKind::Relocatable);
    let ranges: Vec<_> =
        image.sections.iter().map(|section| (section.range.start.0, section.range.end.0)).collect();
    assert_eq!(ranges, [(0, 6), (16, 22)]);
    assert_eq!((image.symbols[0].address, image.symbols[0].section), (18, 1));
    let mut expected = 19u64.to_le_bytes().to_vec();
    // The second `.debug_info` begins at byte 16 of the joined one.
    expected.extend(20u32.to_le_bytes());
    expected.extend([0xff; 4]);
    expected.extend(5u64.to_le_bytes());
    assert_eq!(image.debug.get(DebugSection::Info), expected);
    assert_eq!(noted(&image, OpenDiagnosticKind::BadRelocation).unwrap().0, 2);
    assert_eq!(image.kept_relocations(".debug_info").count(), 0);
}

#[test]
fn a_debug_section_with_an_unknown_relocation_is_not_read() {
    let mut elf = Elf::x86_64(1);
    elf.add(".text", PROGBITS, CODE, 0, &[0; 6]);
    let info = elf.add(".debug_info", PROGBITS, 0, 0, &[0xff; 16]);
    let addr = elf.add(".debug_addr", PROGBITS, 0, 0, &[0xff; 8]);
    elf.symbols = vec![func("f", 2, 4, 1)];
    elf.add_relocations(".rela.debug_info", info, RELA, &[(0, 1, 1, 0), (8, 99, 1, 0)]);
    elf.add_relocations(".rela.debug_addr", addr, RELA, &[(0, 1, 1, 0)]);
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    assert_eq!(image.debug.get(DebugSection::Info), b"");
    assert_eq!(image.debug.get(DebugSection::Addr), 2u64.to_le_bytes());
    assert_eq!(image.symbols.len(), 1);
    let unknown = OpenDiagnosticKind::UnknownRelocation { machine: 62, kind: 99 };
    let (count, first) = noted(&image, unknown).unwrap();
    assert_eq!((count, first.as_str()), (1, "EM_X86_64, a type without a name, section 2, offset 0x8"));
    let (count, first) = noted(&image, OpenDiagnosticKind::UnrelocatedSection).unwrap();
    assert_eq!(count, 1);
    assert!(first.starts_with("section 2 .debug_info, ") && first.ends_with(", of EM_X86_64"), "{first}");
}

#[test]
fn a_debug_section_whose_relocations_have_no_symbols_is_not_read() {
    let mut elf = Elf::x86_64(1);
    let text = elf.add(".text", PROGBITS, CODE, 0, &[0; 6]);
    let info = elf.add(".debug_info", PROGBITS, 0, 0, &[0; 16]);
    elf.symbols = vec![func("f", 2, 4, 1)];
    elf.add_relocations(".rela.debug_info", info, RELA, &[(0, 1, 1, 0)]);
    let rows = elf.sections.len();
    elf.sections[rows - 1].link = text as u32;
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    assert_eq!(image.debug.get(DebugSection::Info), b"");
    let (count, first) = noted(&image, OpenDiagnosticKind::BadRelocation).unwrap();
    assert_eq!((count, first.as_str()), (1, "section 2, whose relocations name no symbol table"));
    assert_eq!(noted(&image, OpenDiagnosticKind::UnrelocatedSection).unwrap().0, 1);
}

#[test]
fn relocations_that_end_within_a_row_are_read_up_to_it() {
    let mut elf = Elf::x86_64(1);
    elf.add(".text", PROGBITS, CODE, 0, &[0; 6]);
    let info = elf.add(".debug_info", PROGBITS, 0, 0, &[0; 16]);
    elf.symbols = vec![func("f", 2, 4, 1)];
    elf.add_relocations(".rela.debug_info", info, RELA, &[(0, 1, 1, 0)]);
    elf.sections.last_mut().unwrap().bytes.push(0);
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    assert_eq!(image.debug.get(DebugSection::Info)[..8], 2u64.to_le_bytes());
}

/// Relocation types that our tables do not list: `object` knows the words, and the name of a type shows that it is thread-local.
#[test]
fn data_relocations_of_many_processors_are_applied() {
    const SH: u16 = 42;
    // 64-bit, big-endian, processor, relocation type of a word, relocation type of a thread-local offset.
    let processors = [
        (false, true, 4, 1, 31),
        (false, false, SH, 1, 150),
        (false, true, 15, 1, 244),
        (true, false, 0x9026, 2, 33),
        (false, false, 94, 1, 53),
    ];
    for (is_64, big, machine, word, thread_local) in processors {
        let mut elf = Elf::new(is_64, big, 1, machine);
        elf.add(".text", PROGBITS, CODE, 0, &[0; 0x40]);
        let info = elf.add(".debug_info", PROGBITS, 0, 0, &[0; 16]);
        elf.symbols = vec![func("f", 0x20, 4, 1)];
        let rows = [(0, word, 1, 5), (8, thread_local, 1, 0)];
        elf.add_relocations(".rela.debug_info", info, RELA, &rows);
        let files = Files::new();
        let image = open(&files, elf.build()).unwrap();
        let mut expected = elf.bytes();
        let expected = &expected.number(0x25, elf.word()).out;
        let mut bytes = image.debug.get(DebugSection::Info).to_vec();
        bytes.truncate(elf.word());
        assert_eq!((&bytes, &image.diagnostics), (expected, &vec![]), "machine {machine}");
    }
}

/// On SH and Xtensa the addend is in the relocated field, and the addend in the relocation is 0.
#[test]
fn addends_of_sh_are_in_the_place() {
    for (machine, expected) in [(42, 0x29), (94, 0x29), (4, 0x20)] {
        let big = machine == 4;
        let mut elf = Elf::new(false, big, 1, machine);
        elf.add(".text", PROGBITS, CODE, 0, &[0; 0x40]);
        let place = elf.bytes().number(9, 4).out.clone();
        let info = elf.add(".debug_info", PROGBITS, 0, 0, &place);
        elf.symbols = vec![func("f", 0x20, 4, 1)];
        elf.add_relocations(".rela.debug_info", info, RELA, &[(0, 1, 1, 0)]);
        let files = Files::new();
        let expected = elf.bytes().number(expected, 4).out.clone();
        assert_eq!(open(&files, elf.build()).unwrap().debug.get(DebugSection::Info), expected);
    }
}

/// `_fini` has no size. The objects after it and the data marked by a mapping symbol are not its code.
#[test]
fn where_data_begins_among_code_is_kept() {
    let mut elf = Elf::new(false, false, 2, 40);
    elf.add(".text", PROGBITS, CODE, 0x1000, &[0; 0x40]);
    elf.add(".data", PROGBITS, ALLOC, 0x2000, &[0; 0x40]);
    let sym = |name, value, size, kind, section| Sym { name, value, size, kind, bind: 0, section };
    elf.symbols = vec![
        sym("$t", 0x1000, 0, 0, 1),
        sym("_fini", 0x1001, 0, 2, 1),
        sym("$d.1", 0x1008, 0, 0, 1),
        sym("table", 0x1008, 8, 1, 1),
        sym("no_size", 0x1010, 0, 1, 1),
        sym("$d", 0x2000, 0, 0, 2),
        sym("elsewhere", 0x2000, 8, 1, 2),
    ];
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    let marks: Vec<_> = image.code_marks.iter().map(|mark| (mark.address, mark.kind)).collect();
    assert_eq!(marks, [(0x1000, MarkKind::Thumb), (0x1008, MarkKind::Data), (0x1008, MarkKind::Object)]);
}

#[test]
fn implicit_addends_stay() {
    let mut elf = Elf::new(false, true, 1, 8);
    elf.add(".text", PROGBITS, CODE, 0, &[0; 0x40]);
    let info = elf.add(".debug_info", PROGBITS, 0, 0, &[0, 0, 0, 9]);
    elf.symbols = vec![func("f", 0x20, 4, 1)];
    elf.add_relocations(".rel.debug_info", info, REL, &[(0, 2, 1, 0)]);
    let files = Files::new();
    assert_eq!(open(&files, elf.build()).unwrap().debug.get(DebugSection::Info), [0, 0, 0, 0x29]);
}

#[test]
fn relocations_of_a_linked_file_are_kept_and_not_applied() {
    let mut elf = Elf::x86_64(2);
    let text = elf.add(".text", PROGBITS, CODE, 0x1000, &[0; 0x40]);
    let info = elf.add(".debug_info", PROGBITS, 0, 0, &[0x55; 16]);
    let section = Sym { name: "", value: 0x1000, size: 0, kind: 3, bind: 0, section: 1 };
    elf.symbols = vec![section, func("f", 0x1010, 4, 1), func("gone", 0, 0, 0)];
    elf.add_relocations(".rela.debug_info", info, RELA, &[(0, 1, 1, 0x20), (8, 1, 3, 0)]);
    elf.add_relocations(".rela.text", text, RELA, &[(0x1004, 2, 2, -4)]);
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    assert_eq!(image.debug.get(DebugSection::Info), [0x55; 16]);
    let kept = image.kept_relocations(".debug_info").next().unwrap();
    let rows: Vec<_> = kept.iter().collect();
    assert_eq!((kept.len(), rows.len(), kept.has_addend), (2, 2, true));
    assert_eq!((rows[0].section_off, rows[0].kind, rows[0].addend), (0, 1, 0x20));
    assert_eq!(kept.target(&rows[0]), Some(0x1020));
    assert!(kept.symbol(rows[0].symbol).unwrap().is_section);
    assert_eq!(kept.target(&rows[1]), None, "its symbol is undefined");
    let kept = image.kept_relocations(".text").next().unwrap();
    let call = kept.iter().next().unwrap();
    let symbol = kept.symbol(call.symbol).unwrap();
    assert_eq!((call.section_off, symbol.name, symbol.is_function), (4, &b"f"[..], true));
}

#[test]
fn a_section_past_the_end_is_cut_and_counted() {
    let mut elf = Elf::x86_64(2);
    let index = elf.add(".debug_info", PROGBITS, 0, 0, b"abc");
    elf.sections[index - 1].size = Some(1 << 40);
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    assert!(image.debug.get(DebugSection::Info).starts_with(b"abc"));
    assert_eq!(noted(&image, OpenDiagnosticKind::TruncatedSection).unwrap().0, 1);
}

/// A section header has 64 bytes, and each relocation section can claim the whole file as its relocations.
#[test]
fn relocation_sections_are_read_as_far_as_they_can_all_be_in_the_file() {
    let mut elf = Elf::x86_64(2);
    let info = elf.add(".debug_info", PROGBITS, 0, 0, &[0x55; 16]);
    for _ in 0..3 {
        elf.add_relocations(".rela.debug_info", info, RELA, &[(0, 1, 0, 0x20)]);
    }
    for section in &mut elf.sections[1..] {
        section.size = Some(1 << 40);
    }
    elf.add(".filler", PROGBITS, 0, 0, &[0; 0x1000]);
    let files = Files::new();
    let image = open(&files, elf.build()).unwrap();
    assert_eq!(image.kept_relocations(".debug_info").count(), 1);
    let (count, first) = noted(&image, OpenDiagnosticKind::BadRelocation).unwrap();
    assert_eq!((count, first.as_str()), (2, "section 3 overlaps others"));
}

//! What is missing is said: by a warning, by the report, and by the certainty of the answers.

use foldsym_convert::report::{DebugInfo, Kind, WarningKind};
use foldsym_convert::{NoProgress, Options, convert, internal::verify_by_addr2line};
use foldsym_lookup::Reason;
use foldsym_testbins::root;
use gimli::{
    DW_AT_abstract_origin, DW_AT_addr_base, DW_AT_call_line, DW_AT_comp_dir, DW_AT_dwo_name, DW_AT_high_pc,
    DW_AT_low_pc, DW_AT_name, DW_TAG_inlined_subroutine, DW_TAG_subprogram,
};

use crate::build::Symbol::{File, Global};
use crate::build::{CODE, Info, Value, elf, elf_with, line_program, sequence};
use crate::certainty::{GNU, LLD, UNIQUE, answer, comment, likely, whole};
use crate::harness::{Bench, Kept};
use Value::{Address, Bytes, Expression, Label, Number, Offset, Text};

type Sections = Vec<(&'static str, Vec<u8>)>;

/// A unit with two functions. The address of the second has this form, which takes a LEB128 number (here 4) and four bytes (here
/// 0x10), as `DW_FORM_LLVM_addrx_offset` does. Address 4 of the table is the start of the code.
fn of_form(form: u16, linker: &str) -> Sections {
    let mut info = Info::new(5, &[(DW_AT_addr_base, Offset(8))]);
    info.function("first", CODE, 0x10);
    let address = 0x10_u32.to_le_bytes();
    let low = (DW_AT_low_pc, Expression(&address));
    info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("second")), low, (DW_AT_high_pc, Number(0x10))]).close();
    let mut sections = info.sections();
    let (mut leb, expression) = (Vec::new(), [gimli::DW_AT_low_pc.0 as u8, gimli::DW_FORM_exprloc.0 as u8]);
    crate::build::uleb(&mut leb, form.into());
    let abbreviations = &mut sections[1].1;
    let at = abbreviations.windows(2).position(|window| window == expression).unwrap();
    abbreviations.splice(at + 1..at + 2, leb);
    let addresses = [[0; 8]; 4].into_iter().chain([CODE.to_le_bytes()]).flatten();
    sections.push((".debug_addr", [44, 0, 0, 0, 5, 0, 8, 0].into_iter().chain(addresses).collect()));
    let rows = sequence(&[(CODE, 5), (CODE + 0x10, 6)], CODE + 0x20);
    sections.push((".debug_line", line_program(&rows)));
    sections.push(comment(linker));
    sections
}

#[test]
fn an_address_with_an_offset_is_read() {
    let kept = Bench::new().kept(&elf(&of_form(0x2001, GNU), &[]));
    assert_eq!(kept.frame(CODE + 0x10), ("second".to_owned(), "/made/unit.c".to_owned(), 6));
    assert_eq!(kept.count(Kind::BadEntries), 0);
}

#[test]
fn a_unit_that_was_cut_short_supports_no_unique() {
    let symbols =
        whole(&[File("unit.c"), Global(("first", CODE, 0x10)), Global(("second", CODE + 0x10, 0x10))]);
    for linker in [GNU, LLD] {
        let program = |form| elf_with(CODE, &of_form(form, linker), &symbols);
        assert_eq!(answer(&program(0x2001), CODE), UNIQUE, "{linker}");
        for address in [CODE, CODE + 0x10] {
            assert_eq!(answer(&program(0x2002), address), likely(Reason::UndescribedObject), "{linker}");
        }
    }
    // A function of the rest may have been folded into one of another unit.
    for (linker, expected) in [(GNU, UNIQUE), (LLD, likely(Reason::UndescribedObject))] {
        let mut sections = of_form(0x2002, linker);
        let abbreviations = sections[1].1.len() as u32;
        let mut other = Info::new(5, &[]);
        let others = other.function("other", CODE + 0x20, 0x10).sections();
        let mut info = others[0].1.clone();
        info[8..12].copy_from_slice(&abbreviations.to_le_bytes());
        sections[0].1.extend(info);
        sections[1].1.extend(&others[1].1);
        let symbols = [&symbols[..], &[Global(("other", CODE + 0x20, 0x10))]].concat();
        assert_eq!(answer(&elf_with(CODE, &sections, &symbols), CODE + 0x20), expected, "{linker}");
    }
}

/// A program of which a section has another name.
fn without(section: &str) -> Kept {
    let mut bytes = std::fs::read(root().join("built/inline.clang-dwarf5")).unwrap();
    let name = [b"\0", section.as_bytes(), b"\0"].concat();
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at + 2] = b'_';
    Bench::new().kept(&bytes)
}

#[test]
fn missing_strings_are_a_loss() {
    for section in [".debug_str", ".debug_str_offsets"] {
        let report = without(section).report;
        assert_eq!(report.debug_info(), DebugInfo::Partial, "{section}");
        let warnings = report.warnings();
        let damaged =
            warnings.iter().find(|warning| warning.kind == WarningKind::DamagedParts).expect(section);
        assert!(damaged.message.contains("is not in .debug_str"), "{}", damaged.message);
        assert!(report.diagnostics.count(Kind::BadString) > 0, "{section}");
    }
    // The functions need no call frame information.
    assert_eq!(without(".debug_frame").report.diagnostics.count(Kind::BadString), 0);
}

/// A skeleton of DWARF 5 with this id.
fn skeleton(id: u64, attributes: &[(gimli::DwAt, Value<'_>)]) -> Kept {
    let mut info = Info::new(5, attributes);
    let mut sections = info.sections();
    let unit = &mut sections[0].1;
    // The type of the unit, and the id after the offset of the abbreviations.
    unit[6] = 4;
    unit.splice(12..12, id.to_le_bytes());
    let len = unit.len() as u32 - 4;
    unit[..4].copy_from_slice(&len.to_le_bytes());
    sections.push((".debug_line", line_program(&sequence(&[(CODE, 5)], CODE + 0x20))));
    Bench::new().kept(&elf(&sections, &[]))
}

#[test]
fn a_unit_that_needs_no_dwo_lacks_none() {
    let code = [(DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x20))];
    let missing = |id, attributes: &[_]| skeleton(id, attributes).count(Kind::MissingDwo);
    // clang writes no `.dwo` for a unit without described functions.
    assert_eq!(missing(0, &code), 0);
    // A module of clang has types only.
    let names = |name| [(DW_AT_dwo_name, Text(name)), (DW_AT_comp_dir, Text("/made"))];
    assert_eq!(missing(7, &names("M-12.pcm")), 0);
    assert_eq!(missing(7, &[&names("M-12.pcm")[..], &code].concat()), 1);
    assert_eq!(missing(7, &names("unit.dwo")), 1);
    assert_eq!(missing(0, &[&names("unit.dwo")[..], &code].concat()), 1);
}

#[test]
fn a_file_that_the_line_program_defines_is_known() {
    let mut info = Info::new(4, &[]);
    info.function("f", CODE, 0x20);
    let mut sections = info.sections();
    // DW_LNE_define_file: name, directory, time, length; then DW_LNS_set_file 2.
    let defined = [&[0, 14, 3][..], b"defined.c\0", &[0, 0, 0], &[4, 2]].concat();
    sections.push((".debug_line", line_program(&[defined, sequence(&[(CODE, 5)], CODE + 0x20)].concat())));
    let kept = Bench::new().kept(&elf(&sections, &[]));
    assert_eq!(kept.frame(CODE), ("f".to_owned(), "/made/defined.c".to_owned(), 5));
    assert_eq!(kept.count(Kind::BadFileIndex), 0);
}

/// The second reader takes a removed function for code where it is longer than the code is far from 0, and has names as text.
#[test]
fn the_second_reader_finds_nothing_wrong_with_a_right_file() {
    let mut info = Info::new(4, &[]);
    info.label("g").open(DW_TAG_subprogram, &[(DW_AT_name, Bytes(b"g\xff"))]).close();
    info.function("gone", 0, CODE + 0x40);
    for at in [CODE, CODE + 0x100] {
        let code = [(DW_AT_low_pc, Address(at)), (DW_AT_high_pc, Number(0x20))];
        info.open(DW_TAG_subprogram, &[(DW_AT_name, Bytes(b"f\xfe")), code[0], code[1]]);
        let call = [(DW_AT_abstract_origin, Label("g")), (DW_AT_call_line, Number(3))];
        info.open(DW_TAG_inlined_subroutine, &[call[0], call[1], code[0], code[1]]).close().close();
    }
    let of = |start, end, line| sequence(&[(start, line)], end);
    let rows = [of(0, CODE + 0x40, 9), of(CODE, CODE + 0x20, 5), of(CODE + 0x100, CODE + 0x120, 6)].concat();
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&rows)));
    let folder = tempfile::tempdir().unwrap();
    let (program, output) = (folder.path().join("program"), folder.path().join("fsym"));
    std::fs::write(&program, elf(&sections, &[])).unwrap();
    let options = Options::default().with(|options| options.threads = 1);
    convert(&program, &output, &options, &NoProgress).unwrap();
    let mismatches = verify_by_addr2line(&output, &program, &options).unwrap().unwrap();
    assert_eq!(mismatches.count, 0, "{:#?}", mismatches.examples);
    assert!(mismatches.asked > 0);
}

/// gcc 12 leaves the references of `.dwo` files empty if it optimizes at link time.
#[test]
fn an_empty_reference_is_said_with_its_cause() {
    let mut info = Info::new(5, &[]);
    info.label("origin").open(DW_TAG_subprogram, &[(DW_AT_name, Text("f"))]).close();
    let code = [(DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x10))];
    info.open(DW_TAG_subprogram, &[code[0], code[1], (DW_AT_abstract_origin, Label("origin"))]);
    let reference = info.out.len() - 4;
    info.close();
    let mut sections = info.sections();
    let kept = Bench::new().kept(&elf(&sections, &[]));
    assert_eq!((kept.frame(CODE).0.as_str(), kept.count(Kind::MissingEntry)), ("f", 0));
    sections[0].1[reference..reference + 4].fill(0);
    let kept = Bench::new().kept(&elf(&sections, &[]));
    let warnings = kept.report.warnings();
    let warning = warnings.iter().find(|warning| warning.kind == WarningKind::DamagedParts).unwrap();
    assert!(warning.message.contains(" refers to nothing, as those of gcc with -flto and "), "{warning:?}");
}

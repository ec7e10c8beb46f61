//! Compares rows of the section UNWIND with the call frame information of the program.

use std::path::Path;

use foldsym_convert::internal::open::{Files, frame_sections};
use foldsym_convert::{NoProgress, Options, convert};
use foldsym_expr::cfi::{self, FrameSection};
use foldsym_lookup::SymbolFile;
use foldsym_testbins::root;
use foldsym_unwind::{Cfa, Row, Rule};

/// A kind of frame section, a compiler or a processor each.
const PROGRAMS: &[&str] = &[
    "inline.clang-dwarf5",
    "inline.gcc-dwarf2",
    "inline.i386-gcc",
    "inline.x32",
    "inline.aarch64-gcc",
    "inline.arm-thumb",
    "inline.riscv64-relax",
    "inline.s390x-be",
    "inline.ppc64-be",
    "objects.gcc-o2",
    "symbols.clang",
    "fold.clang-lld.set/program",
];

/// As `foldsym cfi` prints it.
type Words = (String, u64, Vec<(u64, String)>);

fn ours(row: &Row<'_>) -> Words {
    let cfa = match row.cfa {
        Cfa::Unknown => "unknown".to_owned(),
        Cfa::Register { register, offset } => format!("reg{register}{offset:+}"),
        Cfa::Expression(bytes) => format!("{bytes:?}"),
    };
    let rules = row.rules().map(|(register, rule)| {
        let rule = match rule {
            Rule::Undefined => "undefined".to_owned(),
            Rule::SameValue => "same".to_owned(),
            Rule::Offset(offset) => format!("[CFA{offset:+}]"),
            Rule::ValueOffset(offset) => format!("CFA{offset:+}"),
            Rule::Register(other) => format!("reg{other}"),
            Rule::Expression(bytes) => format!("[{bytes:?}]"),
            Rule::ValueExpression(bytes) => format!("{bytes:?}"),
        };
        (register, rule)
    });
    (cfa, row.return_register, rules.collect())
}

fn expected(sections: &[FrameSection<'_>], address: u64) -> Option<Words> {
    sections.iter().find_map(|section| {
        let fde = section.find(address).unwrap()?;
        let row = section.row::<64, 6>(&fde, address).unwrap();
        let cfa = match row.cfa {
            cfi::Cfa::Unknown => "unknown".to_owned(),
            cfi::Cfa::Register { register, offset, .. } => format!("reg{register}{offset:+}"),
            cfi::Cfa::Expression(bytes) => format!("{bytes:?}"),
        };
        let mut rules: Vec<(u64, String)> = row
            .rules()
            .map(|(register, rule)| {
                let rule = match rule {
                    cfi::Rule::Undefined => "undefined".to_owned(),
                    cfi::Rule::SameValue => "same".to_owned(),
                    cfi::Rule::Offset(offset) => format!("[CFA{offset:+}]"),
                    cfi::Rule::ValueOffset(offset) => format!("CFA{offset:+}"),
                    cfi::Rule::Register(other) => format!("reg{other}"),
                    cfi::Rule::Expression(bytes) => format!("[{bytes:?}]"),
                    cfi::Rule::ValueExpression(bytes) => format!("{bytes:?}"),
                };
                (register, rule)
            })
            .collect();
        rules.sort();
        Some((cfa, fde.cie.return_register, rules))
    })
}

/// At each address of each entry, and at the addresses around it.
#[test]
fn rows_are_those_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    for name in PROGRAMS {
        let program = root().join("built").join(name);
        let output = folder.path().join("out.fsym");
        let options = Options::default().with(|options| options.unwind = true);
        convert(&program, &output, &options, &NoProgress).unwrap();
        let bytes = std::fs::read(&output).unwrap();
        let file = SymbolFile::open(&bytes).unwrap();
        file.verify().unwrap();
        let unwind = file.unwind().unwrap().expect("a file with rows");
        assert_eq!(compare(&program, &unwind, name), Vec::<String>::new());
    }
}

fn compare(program: &Path, unwind: &foldsym_unwind::Unwind<'_>, name: &str) -> Vec<String> {
    let files = Files::default();
    let found = frame_sections(&files, program, None).unwrap();
    let sections: Vec<FrameSection<'_>> = found
        .iter()
        .map(|section| FrameSection {
            bytes: section.bytes,
            eh: section.eh,
            address: section.address,
            address_size: section.address_size,
            big_endian: section.big_endian,
        })
        .collect();
    let mut asked = 0;
    let mut wrong = Vec::new();
    for fde in sections.iter().flat_map(FrameSection::fdes).map(Result::unwrap) {
        // Entries of removed functions are at 0.
        if fde.start == 0 {
            continue;
        }
        let end = fde.start + fde.len;
        for address in (fde.start - 1)..=end {
            asked += 1;
            let row = unwind.row(address).unwrap();
            assert!(row.is_none_or(|row| row.start <= address && address < row.end));
            let (row, expected) = (row.map(|row| ours(&row)), expected(&sections, address));
            if row != expected {
                wrong.push(format!("{name} {address:#x}: {row:?}, not {expected:?}"));
            }
        }
    }
    assert!(asked > 10, "{name} has no entries");
    wrong.truncate(10);
    wrong
}

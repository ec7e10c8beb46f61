//! `STACK CFI` as the reader of minidump-stackwalk evaluates it, beside the rows of section UNWIND, which `cargo xtask cfi` compares with
//! llvm-dwarfdump.

use std::collections::HashMap;
use std::path::Path;

use breakpad_symbols::{FrameWalker, SymbolFile as Breakpad};
use foldsym_convert::report::WarningKind;
use foldsym_convert::{NoProgress, Options, convert, convert_bytes};
use foldsym_exchange::{BreakpadModule, write_breakpad};
use foldsym_lookup::SymbolFile;
use foldsym_unwind::{Cfa, Row, Rule};
use minidump::MinidumpModule;

/// x86-64's registers in the order of DWARF's numbers.
const NAMES: [&str; 17] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "rip",
];

/// What a register, or a word of memory, holds.
fn held(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8
}

/// A frame whose registers and memory are made up.
#[derive(Default)]
struct Walker {
    pc: u64,
    cfa: Option<u64>,
    returns_to: Option<u64>,
    set: HashMap<String, u64>,
}

impl FrameWalker for Walker {
    fn get_instruction(&self) -> u64 {
        self.pc
    }
    fn has_grand_callee(&self) -> bool {
        false
    }
    fn get_grand_callee_parameter_size(&self) -> u32 {
        0
    }
    fn get_register_at_address(&self, address: u64) -> Option<u64> {
        Some(held(address))
    }
    fn get_callee_register(&self, name: &str) -> Option<u64> {
        NAMES.iter().position(|known| *known == name).map(|number| held(number as u64))
    }
    fn set_caller_register(&mut self, name: &str, value: u64) -> Option<()> {
        self.set.insert(name.to_owned(), value);
        Some(())
    }
    fn clear_caller_register(&mut self, name: &str) {
        self.set.remove(name);
    }
    fn set_cfa(&mut self, value: u64) -> Option<()> {
        self.cfa = Some(value);
        Some(())
    }
    fn set_ra(&mut self, value: u64) -> Option<()> {
        self.returns_to = Some(value);
        Some(())
    }
}

/// What a row says of the caller; `None` if it needs an expression of DWARF.
fn expected(row: &Row<'_>) -> Option<(u64, u64, HashMap<String, u64>)> {
    let Cfa::Register { register, offset } = row.cfa else { return None };
    let cfa = held(register).wrapping_add_signed(offset);
    let mut set = HashMap::new();
    let mut returns_to = held(16);
    for (number, rule) in row.rules() {
        let value = match rule {
            Rule::Undefined if number == 16 => 0,
            Rule::Undefined => continue,
            Rule::SameValue => held(number),
            Rule::Offset(offset) => held(cfa.wrapping_add_signed(offset)),
            Rule::ValueOffset(offset) => cfa.wrapping_add_signed(offset),
            Rule::Register(other) => held(other),
            Rule::Expression(_) | Rule::ValueExpression(_) => return None,
        };
        if number == 16 {
            returns_to = value;
        } else if let Some(name) = NAMES.get(number as usize) {
            set.insert((*name).to_owned(), value);
        }
    }
    Some((cfa, returns_to, set))
}

/// The rows of an imported file: first address, the address after the last, and what the row says.
#[expect(clippy::type_complexity, reason = "a row of a table of this test")]
fn imported(text: &[u8]) -> Vec<(u64, u64, Option<(u64, u64, HashMap<String, u64>)>)> {
    let options = Options::default().with(|options| options.unwind = true);
    let mut bytes = Vec::new();
    let report = convert_bytes(Path::new("program.sym"), text, &mut bytes, &options, &NoProgress).unwrap();
    assert!(report.warnings().iter().all(|warning| warning.kind != WarningKind::NotKept));
    let file = SymbolFile::open(&bytes).unwrap();
    let mut rows = Vec::new();
    let unwind = file.unwind().unwrap().unwrap();
    unwind.each_row(&mut |row| rows.push((row.start, row.end, expected(row)))).unwrap();
    rows
}

/// Compares the first and the last byte of each row of a program; gives how many rows there are and how many were left out.
fn compare(program: &Path) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program.fsym");
    let options = Options::default().with(|options| {
        options.unwind = true;
        options.threads = 1;
    });
    convert(program, &path, &options, &NoProgress).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let file = SymbolFile::open(&bytes).unwrap();
    let unwind = file.unwind().unwrap().unwrap();
    let module = BreakpadModule { name: "program", os: "Linux", debug_id: &"0".repeat(33) };
    let mut out = Vec::new();
    let summary = write_breakpad(&file, &module, &|_| None, Some(&unwind), &mut out).unwrap();
    let symbols = Breakpad::from_bytes(&out).unwrap();
    let imported = imported(&out);
    let (mut rows, mut left_out) = (0, 0);
    let base = file.image_base().0;
    // Where a program is linked to 0, its first byte is at an address all the same.
    let loaded = 0x10_0000;
    let at = MinidumpModule::new(loaded, u32::MAX, "program");
    unwind
        .each_row(&mut |row| {
            rows += 1;
            let expected = expected(row);
            left_out += usize::from(expected.is_none());
            for pc in [row.start, row.end - 1] {
                let mut walker = Walker { pc: pc - base + loaded, ..Walker::default() };
                let found = symbols.walk_frame(&at, &mut walker);
                let Some((cfa, returns_to, set)) = &expected else {
                    assert!(found.is_none(), "{pc:#x}: {:?}", walker.set);
                    continue;
                };
                assert!(found.is_some(), "{pc:#x}");
                assert_eq!((walker.cfa, walker.returns_to), (Some(*cfa), Some(*returns_to)), "{pc:#x}");
                // What is said to be as it was need not be said.
                walker.set.retain(|name, value| {
                    NAMES.iter().position(|known| known == name).map(|number| held(number as u64))
                        != Some(*value)
                });
                assert_eq!(walker.set, *set, "{pc:#x}");
                // What `foldsym import` makes of the same record.
                let after = imported.partition_point(|(start, ..)| *start <= pc - base);
                let (_, end, Some((own_cfa, own_return, own))) = &imported[after - 1] else {
                    panic!("{pc:#x}: no row")
                };
                assert!(pc - base < *end, "{pc:#x}");
                assert_eq!((own_cfa, own_return), (cfa, returns_to), "{pc:#x}");
                let mut own = own.clone();
                own.retain(|name, value| {
                    NAMES.iter().position(|known| known == name).map(|number| held(number as u64))
                        != Some(*value)
                });
                assert_eq!(own, *set, "{pc:#x}");
            }
        })
        .unwrap();
    assert_eq!(summary.frame_rows_left_out, left_out as u64);
    (rows, left_out)
}

#[test]
fn every_row_is_evaluated_as_it_was_written() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
    let (rows, left_out) = compare(&built.join("demo.elf"));
    assert!(rows > 30 && left_out == 0, "{rows} {left_out}");
    for libc in ["/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6"].map(Path::new) {
        if libc.is_file() {
            let (rows, left_out) = compare(libc);
            // Its table of calls to other libraries has expressions, and so has what returns from signals.
            assert!(rows > 10_000 && (1..rows / 100).contains(&left_out), "{rows} {left_out}");
            return;
        }
    }
    println!("skipped: needs a C library of x86-64");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "there is no C library of x86-64");
}

//! `cfi`: addresses with a row and addresses without one.

use crate::common;

use common::foldsym;

fn cfi(program: &str, addresses: &[&str]) -> common::Ran {
    let path = common::program(program);
    foldsym(&[&["cfi", path.to_str().unwrap()], addresses].concat())
}

#[test]
fn the_row_of_each_address() {
    // `llvm-dwarfdump --eh-frame` prints this as RSP+48, RBX=[CFA-48] and so on.
    let ran = cfi("symbols.clang", &["0x2013a0", "0x2013e8"]);
    assert_eq!(
        ran.out,
        "0x2013a0: .eh_frame entry 0x94, 0x2013a0..0x2013ba, row 0x2013a0, return reg16: CFA=reg7+8 reg16=[CFA-8]\n\
         0x2013e8: .eh_frame entry 0x68, 0x2013e0..0x20148d, row 0x2013e8, return reg16: CFA=reg7+48 reg3=[CFA-48] \
         reg6=[CFA-16] reg12=[CFA-40] reg14=[CFA-32] reg15=[CFA-24] reg16=[CFA-8]\n"
    );
    assert_eq!(ran.code, 0);
    // A device program in a container; clang 22 writes no rules for it.
    let ran = cfi("gpu.containers.set/two.bundle", &["--target", "gfx90a", "0x1a04"]);
    let row = "0x1a04: .debug_frame entry 0x28, 0x1a00..0x1a9c, row 0x1a00, return reg16: CFA=unknown\n";
    assert_eq!((ran.code, ran.out.as_str()), (0, row));
}

#[test]
fn what_has_no_row_is_said() {
    let ran = cfi("gpu.containers.set/gfx90a", &["0x10"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "0x10: no entry\n"), "{ran:?}");
    let ran = cfi("macho.arm64.o", &["0x0"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("not ELF"), "{}", ran.err);
    let ran = cfi("gpu.containers.set/two.bundle", &["0x0"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(cfi("symbols.clang", &["x"]).code, 2);
    assert_eq!(cfi("symbols.clang", &[]).code, 2);
}

/// Name, start and bytes of each function in the symbol table of a program that overlaps no other.
fn functions(program: &str) -> Vec<(String, u64, u64)> {
    use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
    let bytes = std::fs::read(common::program(program)).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    // As everywhere, the sections of an object file get consecutive addresses in their order.
    let mut placed = std::collections::BTreeMap::new();
    if file.kind() == object::ObjectKind::Relocatable {
        let mut next = 0u64;
        for section in file.sections() {
            let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { panic!("ELF") };
            if sh_flags.0 & 2 != 0 {
                let start = next.next_multiple_of(section.align().max(1));
                placed.insert(section.index().0, start);
                next = start + section.size();
            }
        }
    }
    let symbols = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let start = |symbol: &object::Symbol<'_, '_>| {
        symbol.address() + symbol.section_index().and_then(|index| placed.get(&index.0)).unwrap_or(&0)
    };
    symbols.map(|symbol| (symbol.name().unwrap().to_owned(), start(&symbol), symbol.size())).collect()
}

/// The text of a line after its addresses.
fn rules(line: &str) -> &str {
    line.split_once("return ").unwrap_or_else(|| panic!("{line}")).1
}

#[test]
fn an_object_file_has_the_rows_of_the_program() {
    let (object, program) = ("blocks.clang.set/object.o", "blocks.clang.set/program");
    let linked: std::collections::BTreeMap<String, u64> =
        functions(program).into_iter().map(|(name, start, _)| (name, start)).collect();
    let mut rows = 0;
    for (name, start, size) in functions(object) {
        for offset in 0..size {
            let here = cfi(object, &[&format!("{:#x}", start + offset)]);
            let there = cfi(program, &[&format!("{:#x}", linked[&name] + offset)]);
            assert_eq!((here.code, there.code), (0, 0), "{name}+{offset}: {here:?} {there:?}");
            assert_eq!(rules(&here.out), rules(&there.out), "{name}+{offset}");
            assert!(here.out.contains(&format!(", {start:#x}..{:#x},", start + size)), "{}", here.out);
            rows += 1;
        }
        if rows > 120 {
            break;
        }
    }
    // `.eh_frame`, whose addresses count from their places.
    for object in ["objects.clang-sections.o", "objects.gcc-sections.o"] {
        let all = functions(object);
        assert!(all.len() > 10);
        for (name, start, size) in all {
            let ran = cfi(object, &[&format!("{start:#x}")]);
            assert!(
                ran.out.contains(&format!(", {start:#x}..{:#x}, row {start:#x},", start + size)),
                "{name}: {ran:?}"
            );
            assert!(ran.out.contains("return reg16: CFA=reg7+8 reg16=[CFA-8]"), "{name}: {ran:?}");
        }
    }
}

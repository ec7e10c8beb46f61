//! `cfi`: what has a row and what has none.

mod common;

use common::foldsym;

fn cfi(program: &str, addresses: &[&str]) -> common::Ran {
    let path = common::program(program);
    foldsym(&[&["cfi", path.to_str().unwrap()], addresses].concat())
}

#[test]
fn the_row_of_each_address() {
    // What llvm-dwarfdump --eh-frame prints as RSP+48, RBX=[CFA-48] and so on.
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
    let ran = cfi("inline.clang.o", &["0x0"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("before it is linked"), "{}", ran.err);
    let ran = cfi("gpu.containers.set/two.bundle", &["0x0"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(cfi("symbols.clang", &["x"]).code, 2);
    assert_eq!(cfi("symbols.clang", &[]).code, 2);
}

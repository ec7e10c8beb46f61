//! Programs in which two lists are long that are compared with each other: time must not be their product.

use crate::build::{CODE, Info, elf};
use crate::caps::limited;

/// As many folded functions of one name, functions that remain at an address, and symbols of that name there.
#[test]
fn folded_functions_are_not_compared_with_all_that_remain_for_each_symbol() {
    let mut info = Info::new(4, &[]);
    for index in 0..4000 {
        info.function(&format!("_Z5f{index:04}v"), CODE, 0x10);
    }
    for _ in 0..1000 {
        info.function("_Z1fv", 0, 0x10);
    }
    let symbols = vec![("_Z1fv", CODE, 0x10); 4000];
    let line = limited(&elf(&info.sections(), &symbols));
    assert!(line.starts_with("kept: 1 caps"), "{line}");
}

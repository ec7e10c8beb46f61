//! Any bytes as the `.dwp` or a `.dwo` of a fixed program.

#![no_main]

use std::cell::OnceCell;

use foldsym_fuzz::convert::{Bench, options};
use foldsym_fuzz::seeds::built;

/// Programs of split DWARF 4 and 5, by clang and gcc.
const PROGRAMS: [&str; 4] =
    ["split.clang-dwarf4.set", "split.clang-dwarf5.set", "split.gcc-dwarf4.set", "split.gcc-dwarf5.set"];

thread_local! {
    static BENCH: OnceCell<Bench> = const { OnceCell::new() };
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((&first, bytes)) = input.split_first() else { return };
    let program = built().join(PROGRAMS[usize::from(first >> 1) % PROGRAMS.len()]).join("split");
    BENCH.with(|bench| {
        let bench = bench.get_or_init(Bench::default);
        let mut with = options();
        if first & 1 == 0 {
            with.dwp = Some(bench.put("split.dwp", bytes));
        } else {
            let path = bench.put("a.dwo", bytes);
            with =
                with.with(|options| options.dwo_dirs = vec![path.parent().expect("its folder").to_owned()]);
        }
        bench.check(&program, &with);
    });
});

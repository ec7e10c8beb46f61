//! Any bytes as a program, or as the debug sections of one.

#![no_main]

use std::cell::OnceCell;

use foldsym_fuzz::convert::{Bench, options, program};

thread_local! {
    static BENCH: OnceCell<Bench> = const { OnceCell::new() };
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    BENCH.with(|bench| {
        let bench = bench.get_or_init(Bench::default);
        let path = bench.put("program", &program(input));
        bench.check(&path, &options());
    });
});

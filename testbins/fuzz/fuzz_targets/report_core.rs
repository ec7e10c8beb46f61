//! Any bytes as an ELF core.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| foldsym_fuzz::reports::core(input));

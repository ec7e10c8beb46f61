//! A model made from the input, encoded and read back.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| foldsym_fuzz::round_trip::check(input));

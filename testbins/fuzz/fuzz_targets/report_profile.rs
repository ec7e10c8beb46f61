//! Any bytes as a profile of pprof.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| foldsym_fuzz::reports::profile(input));

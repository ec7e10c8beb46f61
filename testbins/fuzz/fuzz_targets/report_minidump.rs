//! Any bytes as a minidump.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| foldsym_fuzz::reports::minidump(input));

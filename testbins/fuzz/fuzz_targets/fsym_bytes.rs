//! Any bytes as a `.fsym`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    foldsym_fuzz::c_interface::check(input);
    foldsym_fuzz::fsym::check(input);
});

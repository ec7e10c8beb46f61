//! Edits of a sound `.fsym`, with its checksums made right again.

#![no_main]

use std::sync::LazyLock;

use foldsym_fuzz::{c_interface, edits, fsym, seeds};

static FILES: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(seeds::symbol_files);

libfuzzer_sys::fuzz_target!(init: seeds::write_if_asked(), |input: &[u8]| {
    let Some((&which, edits)) = input.split_first() else { return };
    let (_, file) = &FILES[usize::from(which) % FILES.len()];
    let edited = edits::edited(file, edits);
    // The file of a finding, to keep it.
    if let Some(path) = std::env::var_os("FOLDSYM_EDITED") {
        std::fs::write(path, &edited).expect("the file that was asked for");
    }
    c_interface::check(&edited);
    fsym::check(&edited);
});

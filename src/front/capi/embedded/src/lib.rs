//! Turns tier 1 into a static library that needs neither `std` nor an allocator.
//!
//! The functions are `foldsym-capi`'s. Nothing in them panics; `tests/promise.rs` of that crate links a program that uses
//! all of them and finds no panicking symbol in it. The handler is here because the language asks for one.

#![no_std]

pub use foldsym_capi::boundary::tier1::*;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// A function of this crate, so that the compiler describes the crate. Link-time optimization puts the code of all crates into one object
/// with this crate's name, and a converter that finds no description by that name takes the object for one without debug information. The
/// number is one that no other function returns, so that no linker folds this with a function of a program.
extern "C" fn describe() -> u64 {
    0x666f_6c64_7379_6d00
}

#[used]
static DESCRIBED: extern "C" fn() -> u64 = describe;

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

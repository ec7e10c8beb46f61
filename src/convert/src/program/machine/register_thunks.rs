//! Thunks of x86 that go where a register points: `call __llvm_retpoline_r11` is a call through R11.

use super::reader::{Machine, RegisterThunks};
use crate::model::ImageAddr;
use crate::toolchain::functions::register_thunk;

const WIDE: [&[u8]; 16] = [
    b"rax", b"rcx", b"rdx", b"rbx", b"rsp", b"rbp", b"rsi", b"rdi", b"r8", b"r9", b"r10", b"r11", b"r12",
    b"r13", b"r14", b"r15",
];

const NARROW: [&[u8]; 8] = [b"eax", b"ecx", b"edx", b"ebx", b"esp", b"ebp", b"esi", b"edi"];

impl Machine<'_, '_> {
    /// The program's thunks, by their symbols.
    pub(super) fn register_thunks(&self) -> &RegisterThunks {
        self.register_thunks.get_or_init(|| {
            let mut thunks = RegisterThunks::default();
            for symbol in &self.image.symbols {
                let Some(register) = register_thunk(symbol.name) else { continue };
                let number = WIDE.iter().position(|name| *name == register);
                // Code of i386 calls thunks with 32-bit names. Registers have the same numbers in both modes.
                let number = number.or_else(|| NARROW.iter().position(|name| *name == register));
                let number = number.map(|number| number as u8);
                let known = thunks.entry(ImageAddr(symbol.address)).or_insert(number);
                // Two thunks at one address: a call of it does not show which register holds the callee.
                *known = known.filter(|known| Some(*known) == number);
            }
            thunks
        })
    }
}

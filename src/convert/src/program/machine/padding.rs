//! The bytes that linkers and compilers put between functions.

use iced_x86::{Decoder, DecoderOptions, Mnemonic};

use super::reader::{Machine, Processor};
use crate::model::AddressRange;

/// `nop`, `udf #0` and `brk` (with any operand) of 64-bit ARM.
const A64_NOP: u32 = 0xd503_201f;
const A64_BRK: u32 = 0xd420_0000;
const A64_BRK_OPERAND: u32 = 0x001f_ffe0;

impl Machine<'_, '_> {
    /// True if a range has no code but padding. False too if its bytes are missing, if the processor is neither x86 nor 64-bit ARM (on
    /// which Mach-O programs run), or for instructions without effect other than `nop`. An empty range is padding.
    pub(crate) fn is_padding(&self, code: AddressRange) -> bool {
        if code.start >= code.end {
            return true;
        }
        let Some(bytes) = self.bytes(code) else { return false };
        match self.processor {
            Some(Processor::X86 { wide }) => is_padding_of_x86(bytes, wide),
            Some(Processor::AArch64) => {
                bytes.chunks(4).all(|word| match word.try_into().map(u32::from_le_bytes) {
                    Ok(word) => word == 0 || word == A64_NOP || word & !A64_BRK_OPERAND == A64_BRK,
                    // In a damaged file, the range may end within an instruction.
                    Err(_) => word.iter().all(|byte| *byte == 0),
                })
            }
            _ => false,
        }
    }
}

fn is_padding_of_x86(bytes: &[u8], wide: bool) -> bool {
    // Zeros end what some linkers fill.
    let filled = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let bits = if wide { 64 } else { 32 };
    // A multi-byte `nop` may end in zeros.
    let mut decoder = Decoder::new(bits, bytes, DecoderOptions::NONE);
    while decoder.position() < filled {
        if !matches!(decoder.decode().mnemonic(), Mnemonic::Nop | Mnemonic::Int3) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_padding_of_x86;

    #[test]
    fn no_code_is_padding() {
        // nopw 0(%rax,%rax); int3; then zeros
        assert!(is_padding_of_x86(&[0x66, 0x0f, 0x1f, 0x44, 0, 0, 0xcc, 0, 0], true));
        assert!(is_padding_of_x86(&[0; 3], true));
        // nop; ret
        assert!(!is_padding_of_x86(&[0x90, 0xc3], true));
        // nop; then an instruction that ends early
        assert!(!is_padding_of_x86(&[0x90, 0xe8, 1], true));
    }
}

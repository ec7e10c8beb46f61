//! What the address of a frame says: the address itself, a return address, or an address inside a call.

use foldsym_lookup::{ImageAddr, ReturnAddr, StackAddr};

use crate::stack::AddressKind;

/// The address of a frame in its image, by what the report says of it.
pub(crate) fn of_kind(image: u64, kind: AddressKind, machine: u16) -> StackAddr {
    match kind {
        AddressKind::Exact => StackAddr::Exact(ImageAddr(image)),
        AddressKind::Return => returns_to(image),
        AddressKind::Adjusted => returns_to(behind_call(image, machine)),
    }
}

/// The link-time address of a frame as its report gives it, but for one inside of a call: a return address then.
pub(crate) fn as_given(address: StackAddr) -> Option<u64> {
    match address {
        StackAddr::Exact(address) => Some(address.0),
        StackAddr::Return(address) => Some(address.0),
        StackAddr::Foreign => None,
    }
}

/// `EM_AARCH64`.
pub(crate) const AARCH64: u16 = 183;

/// An address whose highest byte, which AArch64 ignores, is replaced by copies of bit 55: 0 in programs, 1 in the kernel.
pub(crate) fn untagged(address: u64) -> u64 {
    ((address << 8).cast_signed() >> 8).cast_unsigned()
}

/// The return address `image`. Nothing returns to address 0, as the byte before it is not in the module.
fn returns_to(image: u64) -> StackAddr {
    if image == 0 { StackAddr::Foreign } else { StackAddr::Return(ReturnAddr(image)) }
}

/// The return address of a call, from an address inside it: the next multiple of the smallest instruction size above the address.
fn behind_call(image: u64, machine: u16) -> u64 {
    let size = match machine {
        // PowerPC, MIPS, SPARC, LoongArch
        AARCH64 | 20 | 21 | 8 | 2 | 18 | 43 | 258 => 4,
        // ARM (Thumb), RISC-V (compressed), s390
        40 | 243 | 22 => 2,
        // Instructions of x86 have no common size, so an unwinder can only have subtracted 1.
        _ => 1,
    };
    (image / size).wrapping_add(1).wrapping_mul(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adjusted_address_is_inside_its_call() {
        for (machine, adjusted, behind) in [
            (62, 0x1004, 0x1005),
            (183, 0x1003, 0x1004),
            (183, 0x1000, 0x1004),
            (40, 0x1001, 0x1002),
            (243, 0x1002, 0x1004),
        ] {
            assert_eq!(behind_call(adjusted, machine), behind, "{machine} {adjusted:#x}");
        }
        assert_eq!(behind_call(u64::MAX, 62), 0);
    }
}

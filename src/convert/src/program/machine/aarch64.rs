//! Branches of AArch64 (Arm ARM C4.1), and which of those to a register are those of a `switch`.

use super::ways::Hop;
use super::{Indirect, Jumps};

/// Instructions before a branch among which its table is read.
const WINDOW: usize = 8;

/// Of a number of so many bits that begins at a bit of an instruction: how many bytes a branch goes, which counts in
/// instructions.
fn by(word: u32, low: u32, bits: u32) -> i64 {
    i64::from((word << (32 - low - bits)).cast_signed() >> (32 - bits)) * 4
}

/// How many bytes from here an instruction may branch to.
fn branch(word: u32) -> Option<i64> {
    match word {
        // B
        _ if word & 0xfc00_0000 == 0x1400_0000 => Some(by(word, 0, 26)),
        // B.cond, BC.cond
        _ if word & 0xff00_0000 == 0x5400_0000 => Some(by(word, 5, 19)),
        // CBZ, CBNZ
        _ if word & 0x7e00_0000 == 0x3400_0000 => Some(by(word, 5, 19)),
        // TBZ, TBNZ
        _ if word & 0x7e00_0000 == 0x3600_0000 => Some(by(word, 5, 14)),
        // CB<cc>, with registers, bytes and halfwords of them, and with a constant (FEAT_CMPBR)
        _ if word & 0x7e00_0000 == 0x7400_0000 => Some(by(word, 5, 9)),
        _ => None,
    }
}

/// The register that an instruction branches to, other than by a return.
fn branch_register(word: u32) -> Option<u32> {
    let register = word >> 5 & 31;
    // BR, and with authentication BRAA, BRAAZ, BRAB, BRABZ.
    let jumps = word & 0xfeff_fc1f == 0xd61f_0000 || word & 0xfeff_f800 == 0xd61f_0800;
    // RET of another register than the link register.
    let returns = word & 0xffff_fc1f == 0xd65f_0000 && register != 30;
    (jumps || returns).then_some(register)
}

/// True where code has a return: `RET`, with authentication `RETAA` or `RETAB`, also of SP and PC (Arm ARM C6.2.316 to 318).
pub(super) fn returns(bytes: &[u8]) -> bool {
    let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let is_return = |word: u32| word & 0xffff_fc1f == 0xd65f_0000 || word & 0xffff_fbe0 == 0xd65f_0be0;
    words.into_iter().any(is_return)
}

/// True where code has only what stands around a call that is passed on: no argument has a value of its own (AAPCS64 6.4).
pub(super) fn only_passes_on(bytes: &[u8]) -> bool {
    let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let may_pass_on = |word: u32| {
        let (to, base) = (word & 31, word >> 5 & 31);
        match word >> 25 & 15 {
            // Of constants and of registers: an argument comes from a register that calls keep, or is the return address for a
            // profiler (MOV).
            8 | 9 | 5 | 13 => {
                to >= 8 || (word & 0x7fe0_ffe0 == 0x2a00_03e0 && matches!(word >> 16 & 31, 19..=30))
            }
            // Loads and stores: from and to the frame, or beside arguments.
            4 | 6 | 12 | 14 => matches!(base, 29 | 31) || (to >= 8 && base >= 8),
            // Branches and the system: not SVC.
            10 | 11 => word & 0xffe0_001f != 0xd400_0001,
            // FMOV, and MOV of vectors: from or to a register that calls keep.
            7 | 15 => {
                let is_move = word & 0xff3f_fc00 == 0x1e20_4000 || word & 0xbfe0_fc00 == 0x0ea0_1c00;
                is_move && ((8..16).contains(&to) || (8..16).contains(&base))
            }
            // UDF: what fills code up.
            0 => word >> 16 == 0,
            _ => false,
        }
    };
    words.into_iter().all(may_pass_on)
}

/// Adds the branches of code that begins at `start`. `indirect` is what it branches to through registers.
pub(super) fn jumps(bytes: &[u8], start: u64, jumps: &mut Jumps) -> Vec<Indirect> {
    let word = |word: &[u8]| u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
    let words: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
    let mut indirect = Vec::new();
    for (at, &word) in words.iter().enumerate() {
        let address = start.wrapping_add(at as u64 * 4);
        if let Some(by) = branch(word) {
            jumps.targets.push(address.wrapping_add_signed(by));
        } else if let Some(register) = branch_register(word) {
            indirect.push(kind(register, &words[at.saturating_sub(WINDOW)..at], address));
        }
    }
    indirect
}

/// The slots that code which begins at `start` calls through (BLR, and with authentication).
pub(super) fn called_slots(bytes: &[u8], start: u64) -> Vec<u64> {
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    let mut slots = Vec::new();
    for (at, &word) in words.iter().enumerate() {
        if word & 0xfeff_fc1f == 0xd63f_0000 || word & 0xfeff_f800 == 0xd63f_0800 {
            let before = &words[at.saturating_sub(WINDOW)..at];
            if let Indirect::Through(slot) = kind(word >> 5 & 31, before, start.wrapping_add(at as u64 * 4)) {
                slots.push(slot);
            }
        }
    }
    slots
}

/// Where code at `start` goes that does nothing else: a stub, or a thunk between distant code.
pub(super) fn hop(bytes: &[u8], start: u64) -> Option<Hop> {
    // What registers hold.
    let mut known: [Option<Hop>; 32] = [None; 32];
    for (address, word) in (start..).step_by(4).zip(bytes.chunks_exact(4)) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let (to, from) = ((word & 31) as usize, (word >> 5 & 31) as usize);
        match word {
            // HINT: BTI, NOP
            _ if word & 0xffff_f01f == 0xd503_201f => {}
            // B
            _ if word & 0xfc00_0000 == 0x1400_0000 => {
                return Some(Hop::To(address.wrapping_add_signed(by(word, 0, 26))));
            }
            // ADRP
            _ if word & 0x9f00_0000 == 0x9000_0000 => known[to] = Some(Hop::To(page(word, address))),
            // ADD of a constant.
            _ if word & 0xffc0_0000 == 0x9100_0000 => {
                let sum = |base: Hop| match base {
                    Hop::To(base) => Some(Hop::To(base.wrapping_add((word >> 10 & 0xfff).into()))),
                    Hop::Through(_) => None,
                };
                known[to] = known[from].and_then(sum);
            }
            // LDR of 64 bits at an offset.
            _ if word & 0xffc0_0000 == 0xf940_0000 => {
                let loaded = |base: Hop| match base {
                    Hop::To(base) => Some(Hop::Through(base.wrapping_add(u64::from(word >> 10 & 0xfff) * 8))),
                    Hop::Through(_) => None,
                };
                known[to] = known[from].and_then(loaded);
            }
            _ => return known[branch_register(word)? as usize],
        }
    }
    None
}

/// The page that an ADRP at an address gives.
fn page(word: u32, address: u64) -> u64 {
    let pages = (word >> 3 & 0x1f_fffc | word >> 29 & 3) << 11;
    (address & !0xfff).wrapping_add_signed(i64::from(pages.cast_signed() >> 11) << 12)
}

/// `before`: the instructions before a branch at `address` to a register.
fn kind(register: u32, before: &[u32], address: u64) -> Indirect {
    let mut loaded = false;
    let mut found_page: Option<(u32, u64)> = None;
    let mut found = Indirect::Anywhere;
    for (&word, back) in before.iter().zip((1..=before.len() as u64).rev()) {
        let to = word & 31;
        // A load with an index: any but a store.
        let indexed = word & 0x3f20_0c00 == 0x3820_0800 && word >> 22 & 3 != 0;
        // ADD of two registers, the second shifted or extended.
        let sum = word & 0xff20_0000 == 0x8b00_0000 || word & 0xffe0_0000 == 0x8b20_0000;
        // ADRP
        if word & 0x9f00_0000 == 0x9000_0000 {
            found_page = Some((to, page(word, address.wrapping_sub(back * 4))));
        }
        if indexed {
            loaded = true;
        }
        if to == register {
            found = Indirect::Anywhere;
        }
        if sum && loaded && to == register {
            found = Indirect::Table;
        }
        // LDR of 64 bits at an offset.
        if word & 0xffc0_0000 == 0xf940_0000
            && to == register
            && let Some((_, base)) = found_page.filter(|page| page.0 == word >> 5 & 31)
        {
            found = Indirect::Through(base.wrapping_add(u64::from(word >> 10 & 0xfff) * 8));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u32]) -> (Vec<Indirect>, Vec<u64>) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut found = Jumps::default();
        let indirect = jumps(&bytes, 0x1000, &mut found);
        (indirect, found.targets)
    }

    #[test]
    fn code_that_only_passes_on() {
        for (words, expected) in [
            (&[0x1400_0004][..], true),
            // paciasp; stp x29, x30, [sp, #-16]!; mov x29, sp; bl; ldp; autiasp; ret
            (
                &[0xd503_233f, 0xa9bf_7bfd, 0x9100_03fd, 0x9400_0000, 0xa8c1_7bfd, 0xd503_23bf, 0xd65f_03c0],
                true,
            ),
            // adrp x8; ldr x8, [x8]; str x8, [sp, #8]; cmp x8, x9: a guard
            (&[0x9000_0008, 0xf940_0108, 0xf900_07e8, 0xeb09_011f], true),
            // mov x19, x0; mov x0, x19; mov x0, x30; ldr x0, [sp, #8]
            (&[0xaa00_03f3, 0xaa13_03e0, 0xaa1e_03e0, 0xf940_07e0], true),
            // fmov d8, d0; fmov d0, d8; mov v9.16b, v1.16b; ldp q0, q1, [sp]
            (&[0x1e60_4008, 0x1e60_4100, 0x4ea1_1c29, 0xad40_07e0], true),
            // fmov d0, d1; fadd d8, d0, d0; fmov d0, #1.0
            (&[0x1e60_4020], false),
            (&[0x1e60_2808], false),
            (&[0x1e6e_1000], false),
            // mov w1, #1; mov x0, x8; mov x0, x1; add x0, x0, #1; ldr x0, [x0]; str x8, [x0]; adrp x0; svc #0
            (&[0x5280_0021], false),
            (&[0xaa08_03e0], false),
            (&[0xaa01_03e0], false),
            (&[0x9100_0400], false),
            (&[0xf940_0000], false),
            (&[0xf900_0008], false),
            (&[0x9000_0000], false),
            (&[0xd400_0001], false),
        ] {
            let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
            assert_eq!(only_passes_on(&bytes), expected, "{words:x?}");
        }
    }

    #[test]
    fn branches() {
        for (word, target) in [
            (0x1400_0004, 0x1010), // b
            (0x17ff_ffff, 0xffc),
            (0x5400_0040, 0x1008), // b.eq
            (0x5400_0050, 0x1008), // bc.eq
            (0x3400_0040, 0x1008), // cbz w0
            (0xb5ff_ffe3, 0xffc),  // cbnz x3
            (0x3618_0040, 0x1008), // tbz w0, #3
            (0xb7ff_ffe1, 0xffc),  // tbnz x1, #63
            (0x7401_0040, 0x1008), // cbgt w0, w1
            (0xf500_7fe0, 0xffc),  // cbgt x0, #0
        ] {
            assert_eq!(of(&[word]), (vec![], vec![target]), "{word:x}");
        }
        // br x16; braa x16, x17; ret x5
        for word in [0xd61f_0200, 0xd71f_0a11, 0xd65f_00a0] {
            assert_eq!(of(&[word]), (vec![Indirect::Anywhere], vec![]), "{word:x}");
        }
        // ret, retaa, blr, bl
        for word in [0xd65f_03c0, 0xd65f_0bff, 0xd63f_0100, 0x9400_0004] {
            assert_eq!(of(&[word]), (vec![], vec![]), "{word:x}");
        }
    }

    #[test]
    fn code_that_returns() {
        for (word, expected) in [
            (0xd65f_03c0_u32, true),
            (0xd65f_0bff, true),
            (0xd65f_0fff, true),
            (0xd61f_0200, false),
            (0x9400_0004, false),
        ] {
            assert_eq!(returns(&word.to_le_bytes()), expected, "{word:x}");
        }
    }

    #[test]
    fn branches_of_switches() {
        // adr x9, .; ldrb w10, [x8, x0]; add x9, x9, x10, lsl #2; br x9
        let bytes = [0x1000_0009, 0x3860_690a, 0x8b0a_0929, 0xd61f_0120];
        assert_eq!(of(&bytes).0, [Indirect::Table]);
        // ldrsw x10, [x8, x0, lsl #2]; add x8, x8, x10; br x8
        let words = [0xb8a0_790a, 0x8b0a_0108, 0xd61f_0100];
        assert_eq!(of(&words).0, [Indirect::Table]);
        // ldrb w1, [x1, w0, uxtw]; adr x0, .; add x1, x0, w1, sxtb #2; br x1
        let gcc = [0x3860_4821, 0x1000_0000, 0x8b21_8801, 0xd61f_0020];
        assert_eq!(of(&gcc).0, [Indirect::Table]);
        // Without the load; to another register; the register loaded behind it; a store.
        for words in [
            &bytes[2..],
            &[0x3860_690a, 0x8b0a_0928, 0xd61f_0120],
            &[0x3860_690a, 0x8b0a_0929, 0xf940_0009, 0xd61f_0120],
            &[0x3820_690a, 0x8b0a_0929, 0xd61f_0120],
        ] {
            assert_eq!(of(words).0, [Indirect::Anywhere], "{words:x?}");
        }
    }

    #[test]
    fn branches_through_slots() {
        // adrp x0, 0x3000; ldr x0, [x0, #16]; br x0
        assert_eq!(of(&[0xd000_0000, 0xf940_0800, 0xd61f_0000]).0, [Indirect::Through(0x3010)]);
        // adrp x0, 0; and of another register
        assert_eq!(of(&[0xf0ff_ffe0, 0xf940_0800, 0xd61f_0000]).0, [Indirect::Through(0x10)]);
        assert_eq!(of(&[0xd000_0001, 0xf940_0800, 0xd61f_0000]).0, [Indirect::Anywhere]);
    }

    #[test]
    fn stubs() {
        let of = |words: &[u32]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            hop(&bytes, 0x1000)
        };
        // adrp x16, 0x3000; ldr x17, [x16, #16]; add x16, x16, #16; br x17
        let stub = [0xd000_0010, 0xf940_0a11, 0x9100_4210, 0xd61f_0220];
        assert_eq!(of(&stub), Some(Hop::Through(0x3010)));
        // bti c
        assert_eq!(of(&[&[0xd503_245f][..], &stub].concat()), Some(Hop::Through(0x3010)));
        // adrp x16, 0x3000; add x16, x16, #16; br x16
        assert_eq!(of(&[stub[0], stub[2], 0xd61f_0200]), Some(Hop::To(0x3010)));
        assert_eq!(of(&[0x1400_0004]), Some(Hop::To(0x1010)));
        // br x17 without it; ret; ldr x17, [x16, #16]; blr x17
        assert_eq!(of(&[stub[0], 0xd61f_0220]), None);
        assert_eq!(of(&[0xd65f_03c0]), None);
        let call: Vec<u8> =
            [stub[0], stub[1], 0xd63f_0220].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        assert_eq!(called_slots(&call, 0x1000), [0x3010]);
    }
}

//! Finds every place of x86 code that could be a jump out of it, without decoding, at a twentieth of the cost. It
//! misses no direct jump in the code of a program. Where false places would matter, [`super::flows`] sorts them out.

use super::super::flow::Jumps;
use crate::model::ImageAddr;

/// Every place that could be a jump out of the code: direct `jmp` and conditional jumps (Intel SDM: EB, E9, 70..7F,
/// 0F 80..8F), `jmp` through a register or memory (FF /4). Returns the targets of the counting jumps (E0..E3):
/// compilers write none, and many other instructions contain these bytes.
pub(crate) fn jumps(bytes: &[u8], start: ImageAddr, jumps: &mut Jumps) -> Vec<ImageAddr> {
    let mut counting = Vec::new();
    let len = bytes.len();
    let mut look = |at: usize| {
        let (next, by) = match bytes[at..] {
            [0xff, operand, ..] => {
                jumps.indirect |= operand >> 3 & 7 == 4;
                return;
            }
            [0xe9, a, b, c, d, ..] => (at + 5, i32::from_le_bytes([a, b, c, d])),
            [0x0f, 0x80..=0x8f, a, b, c, d, ..] => (at + 6, i32::from_le_bytes([a, b, c, d])),
            [0xeb | 0x70..=0x7f | 0xe0..=0xe3, by, ..] => (at + 2, by.cast_signed().into()),
            _ => return,
        };
        let to = (next as u64).wrapping_add_signed(by.into());
        // After the start and before the end.
        if to.wrapping_sub(1) < len as u64 - 1 {
            return;
        }
        let found = match bytes[at] {
            0xe9 | 0x0f => &mut jumps.targets,
            0xe0..=0xe3 => &mut counting,
            _ => &mut jumps.short,
        };
        found.push(ImageAddr(start.0.wrapping_add(to)));
    };
    let mut look_at = |at: usize, mut places: u32| {
        while places != 0 {
            look(at + places.trailing_zeros() as usize);
            places &= places - 1;
        }
    };
    let mut at = 0;
    while let Some(some) = bytes[at..].first_chunk() {
        look_at(at, leaving(some, at, len - at));
        at += TOGETHER;
    }
    // The remaining places, and the place before them once more; the last byte begins no jump.
    match bytes.last_chunk() {
        Some(some) => {
            let last = len - some.len();
            look_at(at, leaving(some, last, some.len()) >> (at - last));
        }
        None => (0..len).for_each(look),
    }
    counting
}

/// Places that are examined at once.
const TOGETHER: usize = 16;

/// The places that may begin a jump out of the code, one bit per place; `before` and `after` are the bytes of code
/// before and from the first place. Without branches, so that it compiles to vector instructions: most places begin
/// no jump, and a processor cannot predict which do.
fn leaving(bytes: &[u8; TOGETHER + 1], before: usize, after: usize) -> u32 {
    // Cut so that all sums fit into 8 bits. Far from both ends, a few more places pass than jump out: `look` compares
    // exactly.
    let (low, high) = (-2 - before.min(100) as i8, after.min(127) as i8 - 2);
    let mut found = [0; TOGETHER];
    for at in 0..TOGETHER {
        let (byte, next) = (bytes[at], bytes[at + 1]);
        let far = u8::from(byte == 0xe9) | (u8::from(byte == 0x0f) & u8::from(next & 0xf0 == 0x80));
        let indirect = u8::from(byte == 0xff) & u8::from(next & 0x38 == 0x20);
        let short = u8::from(byte & 0xf0 == 0x70) | u8::from(byte == 0xeb) | u8::from(byte & 0xfc == 0xe0);
        let (by, place) = (next.cast_signed(), at as i8);
        let out = u8::from(by >= high - place) | u8::from(by <= low - place);
        found[at] = far | indirect | (short & out);
    }
    let (found, _) = found.as_chunks();
    // The bytes are 0 or 1: the product collects them in its highest byte.
    let bits = |bytes: [u8; 8]| (u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32;
    bits(found[0]) | bits(found[1]) << 8
}

/// Passes the targets of all places that may be a direct call.
pub(crate) fn calls(bytes: &[u8], start: ImageAddr, mut add: impl FnMut(ImageAddr)) {
    near(bytes, start, |is_call, _, target| {
        if is_call {
            add(target);
        }
    });
}

/// Passes all places that may be a direct call, or a direct jump with a distance of 32 bits: whether it is a call, the address of the
/// next instruction, and the target.
pub(crate) fn near(bytes: &[u8], start: ImageAddr, mut add: impl FnMut(bool, ImageAddr, ImageAddr)) {
    for (at, place) in bytes.windows(5).enumerate().filter(|(_, place)| place[0] & 0xfe == 0xe8) {
        let by = i32::from_le_bytes([place[1], place[2], place[3], place[4]]).into();
        // The distance counts from the next instruction (Intel SDM, CALL and JMP).
        let next = start.0.wrapping_add(at as u64 + 5);
        add(place[0] == 0xe8, ImageAddr(next), ImageAddr(next.wrapping_add_signed(by)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: ImageAddr = ImageAddr(0x1000);

    fn x86(bytes: &[u8]) -> Jumps {
        let mut found = Jumps::default();
        jumps(bytes, START, &mut found);
        found
    }

    #[test]
    fn jumps_of_x86() {
        assert_eq!(x86(&[0xe9, 0xfb, 0x0f, 0, 0]).targets, [ImageAddr(0x2000)]);
        assert_eq!(x86(&[0x0f, 0x84, 0xfa, 0xff, 0xff, 0xff]).targets, [START]);
        assert_eq!(x86(&[0x90, 0xeb, 0x10]).short, [ImageAddr(0x1013)]);
        // jmp *%rax, jmp *%r11, jmp *8(%rdi), jmp *(%rip); call *%rax and push are none.
        for indirect in [&[0xff, 0xe0][..], &[0x41, 0xff, 0xe3], &[0xff, 0x67, 8], &[0xff, 0x25, 0, 0, 0, 0]]
        {
            assert!(x86(indirect).indirect, "{indirect:x?}");
        }
        for other in [&[0xff, 0xd0][..], &[0xff, 0x75, 8], &[0xc3]] {
            assert!(!x86(other).indirect, "{other:x?}");
        }
    }

    #[test]
    fn near_calls_and_jumps() {
        let mut found = Vec::new();
        let bytes = [0xe8, 0xfb, 0x0f, 0, 0, 0x90, 0xe9, 0xfb, 0xff, 0xff, 0xff];
        near(&bytes, START, |is_call, next, target| found.push((is_call, next.0, target.0)));
        assert_eq!(found, [(true, 0x1005, 0x2000), (false, 0x100b, 0x1006)]);
    }

    /// The same, place by place.
    fn one_by_one(bytes: &[u8]) -> (bool, [Vec<ImageAddr>; 3]) {
        let (mut indirect, mut found): (bool, [Vec<ImageAddr>; 3]) = Default::default();
        for at in 0..bytes.len() {
            let (kind, len, by) = match bytes[at..] {
                [0xff, operand, ..] => {
                    indirect |= operand >> 3 & 7 == 4;
                    continue;
                }
                [0xe9, a, b, c, d, ..] => (0, 5, i32::from_le_bytes([a, b, c, d])),
                [0x0f, 0x80..=0x8f, a, b, c, d, ..] => (0, 6, i32::from_le_bytes([a, b, c, d])),
                [0x70..=0x7f | 0xeb, by, ..] => (1, 2, by.cast_signed().into()),
                [0xe0..=0xe3, by, ..] => (2, 2, by.cast_signed().into()),
                _ => continue,
            };
            let to = (at + len) as i64 + i64::from(by);
            if to <= 0 || to >= bytes.len() as i64 {
                found[kind].push(ImageAddr(START.0.wrapping_add_signed(to)));
            }
        }
        (indirect, found)
    }

    /// Places examined at once give the same answers as single places, in code of any length.
    #[test]
    fn places_together_answer_as_one_by_one() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        const OPCODES: [u8; 12] = [0xe9, 0x0f, 0x80, 0x8f, 0x70, 0x7f, 0xeb, 0xe0, 0xe3, 0xff, 0x25, 0];
        let mut found_any = [false; 3];
        for round in 0..6_000 {
            // Dense and sparse ones.
            let many = if round % 2 == 0 { 2 } else { 40 };
            let len = if round % 8 == 0 { random(600) } else { random(80) };
            let code: Vec<u8> = (0..len)
                .map(|_| match random(many) {
                    0 => OPCODES[random(OPCODES.len() as u64) as usize],
                    1 => random(256) as u8,
                    _ => 0x90,
                })
                .collect();
            let mut all = Jumps::default();
            let counting = jumps(&code, START, &mut all);
            let found = [all.targets, all.short, counting];
            for (any, found) in found_any.iter_mut().zip(&found) {
                *any |= !found.is_empty();
            }
            assert_eq!((all.indirect, found), one_by_one(&code), "{code:x?}");
        }
        assert_eq!(found_any, [true; 3]);
    }

    #[test]
    fn jumps_of_x86_on_a_count() {
        let counting = |bytes: &[u8]| jumps(bytes, START, &mut Jumps::default());
        // loopne, loope, loop, jrcxz: out of the code; one within it.
        for opcode in 0xe0..=0xe3 {
            assert_eq!(counting(&[0x90, opcode, 0x10]), [ImageAddr(0x1013)]);
            assert_eq!(counting(&[0x90, opcode, 0xff]), []);
        }
    }
}

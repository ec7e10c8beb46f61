//! Calls, and what is known of the registers that they go through.

use super::*;

/// Where each call returns to, and where it goes.
fn calls_entered(mode: Mode, code: &[u8], entries: &[u64]) -> Vec<(u64, Target)> {
    let entries: Vec<ImageAddr> = entries.iter().copied().map(ImageAddr).collect();
    let range = START..START + code.len() as u64;
    let found = calls(&[run(mode, code)], range, &entries, values(&|_| None, mode)).unwrap();
    found.into_iter().map(|(return_addr, target)| (return_addr.0, target)).collect()
}

/// adrp x1, 0x3000; ldr x1, [x1, #16]
const FIRST: [u32; 2] = [0xd000_0001, 0xf940_0821];
/// adrp x1, 0x3000; ldr x1, [x1, #24]
const SECOND: [u32; 2] = [0xd000_0001, 0xf940_0c21];
/// blr x1
const CALL: [u32; 1] = [0xd63f_0020];

#[test]
fn a_call_behind_two_ways_is_of_neither_function() {
    // cbz x0, 1f; FIRST; b 2f; 1: SECOND; 2: CALL
    let code = [&[0xb400_0080][..], &FIRST, &[0x1400_0003], &SECOND, &CALL].concat();
    assert_eq!(calls_entered(Mode::A64, &bytes(&code), &[]), [(0x101c, Target::Anywhere)]);
    // cbz x0, 1f; FIRST; CALL; ret; 1: CALL: the second one is reached from the first line alone.
    let code = [&[0xb400_00a0][..], &FIRST, &CALL, &[0xd65f_03c0], &CALL].concat();
    let expected = [(0x1010, Target::Through(ImageAddr(0x3010))), (0x1018, Target::Anywhere)];
    assert_eq!(calls_entered(Mode::A64, &bytes(&code), &[]), expected);
}

#[test]
fn a_call_that_other_code_jumps_to_is_of_no_function() {
    let code = bytes(&[&FIRST[..], &CALL].concat());
    assert_eq!(calls_entered(Mode::A64, &code, &[]), [(0x100c, Target::Through(ImageAddr(0x3010)))]);
    assert_eq!(calls_entered(Mode::A64, &code, &[0x1000]), [(0x100c, Target::Through(ImageAddr(0x3010)))]);
    assert_eq!(calls_entered(Mode::A64, &code, &[0x1008]), [(0x100c, Target::Anywhere)]);
}

/// A branch of a `switch` may begin anywhere.
#[test]
fn a_call_beside_a_switch_goes_where_one_instruction_says() {
    // bl +16; FIRST; CALL; br x2
    let code = bytes(&[&[0x9400_0004][..], &FIRST, &CALL, &[0xd61f_0040]].concat());
    let expected = [(0x1004, Target::To(ImageAddr(0x1010))), (0x1010, Target::Anywhere)];
    assert_eq!(calls_entered(Mode::A64, &code, &[]), expected);
    // auipc ra, 1; jalr 16(ra); jr a5: two instructions of RISC-V are one call.
    let wide = Mode::RiscV { wide: true };
    let code = [0x97, 0x10, 0, 0, 0xe7, 0x80, 0, 1, 0x82, 0x87];
    assert_eq!(calls_entered(wide, &code, &[]), [(0x1008, Target::To(ImageAddr(0x2010)))]);
}

#[test]
fn code_that_is_not_all_instructions_has_no_calls() {
    let code = [0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let wide = Mode::RiscV { wide: true };
    assert_eq!(calls(&[run(wide, &code)], START..START + 10, &[], values(&|_| None, wide)), None);
}

#[test]
fn what_a_linker_of_riscv_makes_shorter() {
    let may = |code: &[u8]| {
        let inst = riscv::decode(code, START, true).unwrap();
        riscv::may_be_shortened(&inst, START, START + 0x40)
    };
    for (code, expected) in [
        // jal +8; j +64; j +32; c.j +64; c.j +32
        (&[0xef, 0, 0x80, 0][..], true),
        (&[0x6f, 0, 0, 4], true),
        (&[0x6f, 0, 0, 2], false),
        (&[0x81, 0xa0], true),
        (&[0x05, 0xa0], false),
        // c.lui a0, 1; c.li a0, 1; lui a0, 1
        (&[0x05, 0x65], true),
        (&[0x05, 0x45], false),
        (&[0x37, 0x15, 0, 0], false),
        // lw a0, 16(gp); lw a0, 16(sp); addi a0, gp, 16; beq a0, a1, +64; jalr a0
        (&[0x03, 0xa5, 0x01, 0x01], true),
        (&[0x03, 0x25, 0x01, 0x01], false),
        (&[0x13, 0x85, 0x01, 0x01], true),
        (&[0x63, 0x00, 0xb5, 0x04], false),
        (&[0x02, 0x95], false),
    ] {
        assert_eq!(may(code), expected, "{code:x?}");
    }
}

//! The worked examples of "DWARF Extensions for Optimized SIMT/SIMD (GPU) Debugging" (GNU Tools Cauldron 2021), with the
//! whole stack after each step.
//!
//! The slides' program has SGPR0 = 0x0a3c0f00 and looks at lane 5. Registers have AMDGPU's numbers for waves of 64:
//! SGPR0 is 32, VGPR0 is 2560. `DW_OP_regval_type SGPR0 Generic` is written with type 0, the generic one. Examples of
//! which the text of the slides kept the drawing only in part are marked *rebuilt*: their expressions follow the rules
//! of the proposal.

mod common;

use common::{Known, bytes, steps};
use foldsym_expr::{Dialect, Settings};

const SGPR0: u8 = 32;
/// ULEB of 2560 and 2561.
const VGPR0: [u8; 2] = [0x80, 0x14];
const VGPR1: [u8; 2] = [0x81, 0x14];
const REGX: u8 = 0x90;
const USER: u8 = 0xe9;
const PUSH_LANE: [u8; 2] = [USER, 3];
const OFFSET: [u8; 2] = [USER, 4];

fn known() -> Known<'static> {
    Known { lane: Some(5), ..Known::default() }
        .register(32, 0x0a3c_0f00)
        .register(35, 0xabc0_0000)
        .vector(2560, 0x1000)
        .vector(2561, 0x2000)
}

fn slide(code: &[u8], expected: &[&str]) {
    assert_eq!(steps(code, &known(), Settings::default()), expected);
}

#[test]
fn dynamic_array_size() {
    // DW_OP_regval_type SGPR0 Generic; DW_OP_deref
    let code = [0xa5, SGPR0, 0, 0x06];
    let known = known().memory(0, 0x0a3c_0f00, &[42, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(steps(&code, &known, Settings::default()), ["0xa3c0f00", "0x2a", "= memory 0x2a"]);
    assert_eq!(common::value(&code, &known), Ok(42));
}

#[test]
fn variable_in_a_register() {
    slide(&[REGX, SGPR0], &["reg32", "= reg32"]);
}

#[test]
fn variable_in_memory() {
    // DW_OP_regval_type SGPR0 Generic; DW_OP_plus_uconst 0x10
    slide(&[0xa5, SGPR0, 0, 0x23, 0x10], &["0xa3c0f00", "0xa3c0f10", "= memory 0xa3c0f10"]);
}

#[test]
fn variable_spread_across_locations() {
    // DW_OP_regx SGPR3; piece 4; piece 2; bregx SGPR0 0x10; piece 2. Rebuilt: of the first register the text kept no
    // number.
    slide(
        &[REGX, 35, 0x93, 4, 0x93, 2, 0x92, SGPR0, 0x10, 0x93, 2],
        &[
            "reg35",
            "incomplete [4 of reg35]",
            "incomplete [4 of reg35, 2 of undefined]",
            "incomplete [4 of reg35, 2 of undefined] | memory 0xa3c0f10",
            "incomplete [4 of reg35, 2 of undefined, 2 of memory 0xa3c0f10]",
            "= [4 of reg35, 2 of undefined, 2 of memory 0xa3c0f10]",
        ],
    );
}

#[test]
fn a_composite_cannot_be_offset_by_plus() {
    // The same, followed by DW_OP_plus_uconst 5, which works only on numbers.
    let code = [REGX, 35, 0x93, 4, 0x93, 2, 0x92, SGPR0, 0x10, 0x93, 2, 0x23, 5];
    let all = steps(&code, &known(), Settings::default());
    assert_eq!(all.last().unwrap(), "error: a composite location is used before it is complete");
    // And as the extensions have it: piece_end, then offset_uconst 5. What is 5 bytes on is the undefined part's second.
    let code = [REGX, 35, 0x93, 4, 0x93, 2, 0x92, SGPR0, 0x10, 0x93, 2, USER, 10, USER, 5, 6];
    let all = steps(&code, &known(), Settings::default());
    assert_eq!(all.last().unwrap(), "= [4 of reg35, 2 of undefined, 2 of memory 0xa3c0f10]+6");
    let known = known().memory(0, 0x0a3c_0f10, &[7, 8]);
    assert_eq!(bytes(&code, 2, &known), Ok(vec![7, 8]));
}

#[test]
fn variable_spilled_to_part_of_a_vgpr() {
    // DW_OP_regx VGPR0; DW_OP_LLVM_offset_uconst 20
    let code = [REGX, VGPR0[0], VGPR0[1], USER, 5, 20];
    slide(&code, &["reg2560", "reg2560+20", "= reg2560+20"]);
    // Lane 5 of it.
    assert_eq!(bytes(&code, 4, &known()), Ok(0x1005u32.to_le_bytes().to_vec()));
}

/// DW_OP_regx VGPRn; DW_OP_LLVM_push_lane; DW_OP_uconst 4; DW_OP_mul; DW_OP_LLVM_offset
fn lane_of(vgpr: [u8; 2]) -> Vec<u8> {
    [&[REGX, vgpr[0], vgpr[1]][..], &PUSH_LANE, &[0x10, 4, 0x1e], &OFFSET].concat()
}

#[test]
fn variable_across_a_lane_of_several_vgprs() {
    let code = [lane_of(VGPR0), vec![0x93, 4], lane_of(VGPR1), vec![0x93, 4]].concat();
    slide(
        &code,
        &[
            "reg2560",
            "reg2560 | 0x5",
            "reg2560 | 0x5 | 0x4",
            "reg2560 | 0x14",
            "reg2560+20",
            "incomplete [4 of reg2560+20]",
            "incomplete [4 of reg2560+20] | reg2561",
            "incomplete [4 of reg2560+20] | reg2561 | 0x5",
            "incomplete [4 of reg2560+20] | reg2561 | 0x5 | 0x4",
            "incomplete [4 of reg2560+20] | reg2561 | 0x14",
            "incomplete [4 of reg2560+20] | reg2561+20",
            "incomplete [4 of reg2560+20, 4 of reg2561+20]",
            "= [4 of reg2560+20, 4 of reg2561+20]",
        ],
    );
    assert_eq!(bytes(&code, 8, &known()), Ok([0x1005u32.to_le_bytes(), 0x2005u32.to_le_bytes()].concat()));
}

#[test]
fn the_same_in_the_first_generation_of_codes() {
    let lane = |vgpr: [u8; 2]| [REGX, vgpr[0], vgpr[1], 0xe2, 0x10, 4, 0x1e, 0xe3];
    let code = [&lane(VGPR0)[..], &[0x93, 4], &lane(VGPR1), &[0x93, 4]].concat();
    let settings = Settings::default();
    assert_eq!(foldsym_expr::dialect(&code, Some(b"[llvm:v0.0]"), &settings), Some(Dialect::First));
    let first = Settings { dialect: Dialect::First, ..settings };
    assert_eq!(steps(&code, &known(), first).last().unwrap(), "= [4 of reg2560+20, 4 of reg2561+20]");
    // Without the augmentation these codes are undefined.
    assert_eq!(foldsym_expr::dialect(&code, None, &settings), Some(Dialect::User));
    assert_eq!(steps(&code, &known(), settings).last().unwrap(), "error: unknown operation 0xe2 at byte 3");
}

#[test]
fn variable_across_kinds_of_locations() {
    // As above, but the last 4 bytes are from memory (0xbeef) and a constant (0xf00d). Rebuilt: the text kept the values
    // alone. DW_OP_bregx SGPR0 0x10; piece 2; DW_OP_uconst 0xf00d; stack_value; piece 2
    let code =
        [lane_of(VGPR0), vec![0x93, 4, 0x92, SGPR0, 0x10, 0x93, 2, 0x10, 0x8d, 0xe0, 3, 0x9f, 0x93, 2]]
            .concat();
    slide(
        &code,
        &[
            "reg2560",
            "reg2560 | 0x5",
            "reg2560 | 0x5 | 0x4",
            "reg2560 | 0x14",
            "reg2560+20",
            "incomplete [4 of reg2560+20]",
            "incomplete [4 of reg2560+20] | memory 0xa3c0f10",
            "incomplete [4 of reg2560+20, 2 of memory 0xa3c0f10]",
            "incomplete [4 of reg2560+20, 2 of memory 0xa3c0f10] | 0xf00d",
            "incomplete [4 of reg2560+20, 2 of memory 0xa3c0f10] | implicit 0xf00d",
            "incomplete [4 of reg2560+20, 2 of memory 0xa3c0f10, 2 of implicit 0xf00d]",
            "= [4 of reg2560+20, 2 of memory 0xa3c0f10, 2 of implicit 0xf00d]",
        ],
    );
    let known = known().memory(0, 0x0a3c_0f10, &[0xef, 0xbe]);
    assert_eq!(bytes(&code, 8, &known), Ok(vec![0x05, 0x10, 0, 0, 0xef, 0xbe, 0x0d, 0xf0]));
}

#[test]
fn variable_in_an_address_space() {
    // DW_OP_regval_type SGPR0 Generic; DW_OP_uconst 1; form_aspace_address; then, as the slides print it, DW_OP_LLVM_offset
    // 0x10, which with an operand of its own is offset_uconst.
    let code = [0xa5, SGPR0, 0, 0x10, 1, USER, 2, USER, 5, 0x10];
    slide(
        &code,
        &["0xa3c0f00", "0xa3c0f00 | 0x1", "memory 1:0xa3c0f00", "memory 1:0xa3c0f10", "= memory 1:0xa3c0f10"],
    );
    let known = known().memory(0, 0x0a3c_0f10, &[1]).memory(1, 0x0a3c_0f10, &[2]);
    assert_eq!(bytes(&code, 1, &known), Ok(vec![2]));
}

#[test]
fn variable_at_a_bit_offset() {
    // DW_OP_regx SGPR3; DW_OP_uconst 20; DW_OP_LLVM_bit_offset
    let code = [REGX, 35, 0x10, 20, USER, 6];
    slide(&code, &["reg35", "reg35 | 0x14", "reg35+20 bits", "= reg35+20 bits"]);
    // 0xabc00000 from bit 20 on.
    assert_eq!(bytes(&code, 1, &known()), Ok(vec![0xbc]));
}

#[test]
fn composites_keep_bit_offsets_of_their_parts() {
    // "Locations with bit offsets allowed in composite location parts": 12 bits of SGPR3 from bit 20, then 20 of SGPR0.
    let code = [REGX, 35, 0x10, 20, USER, 6, 0x9d, 12, 0, REGX, SGPR0, 0x9d, 20, 0];
    assert_eq!(
        steps(&code, &known(), Settings::default()).last().unwrap(),
        "= [12 bits of reg35+20 bits, 20 bits of reg32]"
    );
    // 0xabc | 0xc0f00 << 12
    assert_eq!(bytes(&code, 4, &known()), Ok((0xabcu32 | 0xc0f00 << 12).to_le_bytes().to_vec()));
}

#[test]
fn saved_lanes_of_a_callee_saved_vgpr() {
    // "GPU only saves active lanes of VGPR callee saved registers": lane L of VGPR1 is in memory where EXEC on entry had
    // bit L, else still in the register. Rebuilt from the rules of select_bit_piece and call_frame_entry_reg.
    // DW_OP_regx VGPR1; DW_OP_bregx SGPR0 0; call_frame_entry_reg 17 (EXEC); deref; select_bit_piece 32, 64
    let code = [REGX, VGPR1[0], VGPR1[1], 0x92, SGPR0, 0, USER, 7, 17, 0x06, USER, 12, 32, 64];
    let stored: Vec<u8> = (0..64u32).flat_map(|lane| (0x9000 + lane).to_le_bytes()).collect();
    let mut known = known().memory(0, 0x0a3c_0f00, &stored).register(17, 0b101);
    known.entry.insert(17, foldsym_expr::Location::start(foldsym_expr::Storage::Register(17)));
    assert_eq!(
        steps(&code, &known, Settings::default()),
        [
            "reg2561",
            "reg2561 | memory 0xa3c0f00",
            "reg2561 | memory 0xa3c0f00 | reg17",
            "reg2561 | memory 0xa3c0f00 | 0x5",
            "[64 x 32 bits of 0x5 ? memory 0xa3c0f00 : reg2561]",
            "= [64 x 32 bits of 0x5 ? memory 0xa3c0f00 : reg2561]",
        ]
    );
    let words: Vec<u8> =
        [0x9000u32, 0x2001, 0x9002, 0x2003].iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(bytes(&code, 16, &known), Ok(words));
}

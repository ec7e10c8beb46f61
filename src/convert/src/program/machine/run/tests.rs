//! Runs of each instruction set. The bytes are those of an assembler (`llvm-mc`), and so are the targets.

use super::*;

mod calls;

const START: u64 = 0x1000;

fn run(mode: Mode, bytes: &[u8]) -> InstRun<'_> {
    InstRun { mode, start: START, bytes }
}

/// Literals of ARM are at the end of the code.
fn values(constant: &dyn Fn(u64) -> Option<u64>, mode: Mode) -> Values<'_> {
    Values::new(!matches!(mode, Mode::A64 | Mode::RiscV { wide: true }), constant)
}

fn ways(mode: Mode, bytes: &[u8]) -> Vec<Flow> {
    let code = START..START + bytes.len() as u64;
    flows(&[run(mode, bytes)], code, values(&|_| None, mode)).unwrap()
}

fn stub(mode: Mode, bytes: &[u8]) -> Option<Hop> {
    hop(&run(mode, bytes), values(&|address| (address == 0x1008).then_some(0x2001), mode))
}

fn passes_on(mode: Mode, bytes: &[u8]) -> bool {
    let convention = match mode {
        Mode::A64 => &aarch64::CONVENTION,
        Mode::A32 | Mode::T32 => &arm::CONVENTION,
        Mode::RiscV { .. } => &riscv::CONVENTION,
    };
    only_pass_on(&[run(mode, bytes)], convention)
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Where jumps go that are not to an address, and those that are.
fn jumps(mode: Mode, code: &[u8]) -> (Vec<Target>, Vec<u64>) {
    let (mut others, mut targets) = (Vec::new(), Vec::new());
    for flow in ways(mode, code) {
        match flow {
            Flow::Jump(Target::To(target)) => targets.push(target.0),
            Flow::Jump(other) => others.push(other),
            _ => {}
        }
    }
    (others, targets)
}

/// Any bytes are read to their end, in steps of an instruction.
#[test]
fn any_bytes_are_read() {
    let mut state = 7_u64;
    for round in 0..4_000 {
        let code: Vec<u8> = (0..round % 67)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as u8
            })
            .collect();
        let narrow = Mode::RiscV { wide: false };
        for mode in [Mode::A64, Mode::A32, Mode::T32, narrow, Mode::RiscV { wide: true }] {
            // At the end of the address space too.
            for start in [START, u64::MAX - 20] {
                let run = InstRun { mode, start, bytes: &code };
                let mut steps = 0;
                run.each(|_, inst| {
                    assert!(inst.len >= 2);
                    steps += 1;
                });
                assert!(steps <= code.len() / 2);
                flows(&[run], start..start.saturating_add(64), values(&|_| Some(1), mode));
            }
            stub(mode, &code);
            passes_on(mode, &code);
        }
    }
}

mod a64 {
    use super::*;

    fn of(words: &[u32]) -> (Vec<Target>, Vec<u64>) {
        jumps(Mode::A64, &bytes(words))
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
            // mrs x0, tpidr_el0
            (&[0xd53b_d040], false),
            // mov x29, x0; ldr x0, [x29]: no frame.
            (&[0xaa00_03fd, 0xf940_03a0], false),
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
            assert_eq!(passes_on(Mode::A64, &bytes), expected, "{words:x?}");
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
            assert_eq!(of(&[word]), (vec![Target::Anywhere], vec![]), "{word:x}");
        }
        // ret, retaa, blr, bl
        for word in [0xd65f_03c0, 0xd65f_0bff, 0xd63f_0100, 0x9400_0004] {
            assert_eq!(of(&[word]), (vec![], vec![]), "{word:x}");
        }
    }

    #[test]
    fn branches_of_switches() {
        // adr x9, .; ldrb w10, [x8, x0]; add x9, x9, x10, lsl #2; br x9
        let bytes = [0x1000_0009, 0x3860_690a, 0x8b0a_0929, 0xd61f_0120];
        assert_eq!(of(&bytes).0, [Target::Table]);
        // ldrsw x10, [x8, x0, lsl #2]; add x8, x8, x10; br x8
        let words = [0xb8a0_790a, 0x8b0a_0108, 0xd61f_0100];
        assert_eq!(of(&words).0, [Target::Table]);
        // ldrb w1, [x1, w0, uxtw]; adr x0, .; add x1, x0, w1, sxtb #2; br x1
        let gcc = [0x3860_4821, 0x1000_0000, 0x8b21_8801, 0xd61f_0020];
        assert_eq!(of(&gcc).0, [Target::Table]);
        // Without the load; to another register; the register loaded behind it; a store.
        for words in [
            &bytes[2..],
            &[0x3860_690a, 0x8b0a_0928, 0xd61f_0120],
            &[0x3860_690a, 0x8b0a_0929, 0xf940_0009, 0xd61f_0120],
            &[0x3820_690a, 0x8b0a_0929, 0xd61f_0120],
        ] {
            assert_eq!(of(words).0, [Target::Anywhere], "{words:x?}");
        }
    }

    #[test]
    fn branches_through_slots() {
        // adrp x0, 0x3000; ldr x0, [x0, #16]; br x0
        assert_eq!(of(&[0xd000_0000, 0xf940_0800, 0xd61f_0000]).0, [Target::Through(ImageAddr(0x3010))]);
        // adrp x0, 0; and of another register
        assert_eq!(of(&[0xf0ff_ffe0, 0xf940_0800, 0xd61f_0000]).0, [Target::Through(ImageAddr(0x10))]);
        assert_eq!(of(&[0xd000_0001, 0xf940_0800, 0xd61f_0000]).0, [Target::Anywhere]);
    }

    #[test]
    fn stubs() {
        let of = |words: &[u32]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            stub(Mode::A64, &bytes)
        };
        // adrp x16, 0x3000; ldr x17, [x16, #16]; add x16, x16, #16; br x17
        let stub_words = [0xd000_0010, 0xf940_0a11, 0x9100_4210, 0xd61f_0220];
        assert_eq!(of(&stub_words), Some(Hop::Through(ImageAddr(0x3010))));
        // bti c
        assert_eq!(of(&[&[0xd503_245f][..], &stub_words].concat()), Some(Hop::Through(ImageAddr(0x3010))));
        // adrp x16, 0x3000; add x16, x16, #16; br x16
        assert_eq!(of(&[stub_words[0], stub_words[2], 0xd61f_0200]), Some(Hop::To(ImageAddr(0x3010))));
        assert_eq!(of(&[0x1400_0004]), Some(Hop::To(ImageAddr(0x1010))));
        // br x17 without it; ret; ldr x17, [x16, #16]; blr x17
        assert_eq!(of(&[stub_words[0], 0xd61f_0220]), None);
        assert_eq!(of(&[0xd65f_03c0]), None);
        let call: Vec<u8> = [stub_words[0], stub_words[1], 0xd63f_0220]
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect();
        assert_eq!(ways(Mode::A64, &call), [Flow::Call(Target::Through(ImageAddr(0x3010)))]);
    }

    /// Where another jump arrives, registers may have other values.
    #[test]
    fn values_are_forgotten_where_jumps_meet() {
        // cbz x0, 1f; adrp x1, 0x3000; ldr x1, [x1, #16]; 1: br x1
        let words = [0xb400_0060, 0xd000_0001, 0xf940_0821, 0xd61f_0020];
        assert_eq!(of(&words), (vec![Target::Anywhere], vec![0x100c]));
        assert_eq!(of(&words[1..]).0, [Target::Through(ImageAddr(0x3010))]);
    }

    #[test]
    fn every_branch_is_one_that_may_branch() {
        let mut state = 1_u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let word = (state >> 32) as u32;
            let jumps = matches!(aarch64::decode(word, 0).op, Op::Jump(Goal::To(_)));
            assert!(!jumps || aarch64::may_branch(word), "{word:x}");
        }
    }
}

mod a32 {
    use super::*;

    fn of(words: &[u32]) -> Vec<Flow> {
        ways(Mode::A32, &bytes(words))
    }

    #[test]
    fn branches() {
        for (word, expected) in [
            (0xea00_0004, Flow::Jump(Target::To(ImageAddr(0x1018)))), // b
            (0x1aff_fffd, Flow::Jump(Target::To(ImageAddr(0xffc)))),  // bne
            (0xeb00_0004, Flow::Call(Target::To(ImageAddr(0x1018)))), // bl
            (0x1b00_0004, Flow::Call(Target::To(ImageAddr(0x1018)))), // blne
            (0xfa00_0004, Flow::Call(Target::To(ImageAddr(0x1018)))), // blx
            (0xfb00_0000, Flow::Call(Target::To(ImageAddr(0x100a)))), // blx, by a half word
            (0xe12f_ff33, Flow::Call(Target::Anywhere)),              // blx r3
            (0xe12f_ff1e, Flow::Return),                              // bx lr
            (0x112f_ff1e, Flow::Return),                              // bxne lr
            (0xe12f_ff13, Flow::Jump(Target::Anywhere)),              // bx r3
            (0xe12f_ff1f, Flow::Jump(Target::To(ImageAddr(0x1008)))), // bx pc
            (0xe1a0_f00e, Flow::Return),                              // mov pc, lr
            (0xe1a0_f003, Flow::Jump(Target::Anywhere)),              // mov pc, r3
            (0xe8bd_8010, Flow::Return),                              // pop {r4, pc}
            (0xe49d_f004, Flow::Return),                              // pop {pc}
            (0xe25e_f004, Flow::Return),                              // subs pc, lr, #4
            (0xe590_f000, Flow::Jump(Target::Anywhere)),              // ldr pc, [r0]
            (0xe12f_ff22, Flow::Jump(Target::Anywhere)),              // bxj r2
        ] {
            assert_eq!(of(&[word]), [expected], "{word:x}");
        }
        // mul, vldr, uxtb, ldrd of R15 (the decoder panics), all ones, svc, udf
        for word in [0xe000_0291, 0xed9d_0b00, 0xe6ef_0071, 0xe000_f0d0, u32::MAX, 0xef00_0000, 0xe7f0_00f0] {
            assert_eq!(of(&[word]), [], "{word:x}");
        }
    }

    #[test]
    fn switches_and_slots() {
        let target = |words: &[u32]| match of(words)[..] {
            [.., Flow::Jump(target)] => target,
            _ => panic!("{words:x?}"),
        };
        // ldrls pc, [pc, r3, lsl #2]; add pc, pc, r3, lsl #2
        assert_eq!(target(&[0x979f_f103]), Target::TableAt(ImageAddr(0x1008), 4));
        assert_eq!(target(&[0xe08f_f103]), Target::Near(ImageAddr(0x1008)));
        // adr r1, .+16; ldr r0, [r1, r0, lsl #2]; add pc, r0, r1
        assert_eq!(target(&[0xe28f_1008, 0xe791_0100, 0xe080_f001]), Target::Table);
        // sub r1, pc, #8; ldr pc, [r1, r0]
        assert_eq!(target(&[0xe24f_1008, 0xe791_f000]), Target::TableAt(ImageAddr(0x1000), 4));
        // movw r3, #0x3010; movt r3, #1; ldr r3, [r3]; bx r3
        assert_eq!(
            target(&[0xe303_3010, 0xe340_3001, 0xe593_3000, 0xe12f_ff13]),
            Target::Through(ImageAddr(0x13010))
        );
        // movne r3, #0x3010; bx r3
        assert_eq!(target(&[0x1303_3010, 0xe12f_ff13]), Target::Anywhere);
    }

    #[test]
    fn stubs() {
        // add ip, pc, #0, 12; add ip, ip, #0x12000; ldr pc, [ip, #8]!
        let plt = [0xe28f_c600, 0xe28c_ca12, 0xe5bc_f008];
        assert_eq!(stub(Mode::A32, &bytes(&plt)), Some(Hop::Through(ImageAddr(0x1_3010))));
        // ldr pc, [pc]: the constant behind it, whose bit 0 tells the instruction set
        assert_eq!(stub(Mode::A32, &bytes(&[0xe59f_f000])), Some(Hop::To(ImageAddr(0x2000))));
        // ldr ip, [pc]; bx ip
        assert_eq!(stub(Mode::A32, &bytes(&[0xe59f_c000, 0xe12f_ff1c])), Some(Hop::To(ImageAddr(0x2000))));
        // movw ip, #0x234; movt ip, #1; add ip, ip, pc; bx ip
        let far = [0xe300_c234, 0xe340_c001, 0xe08c_c00f, 0xe12f_ff1c];
        assert_eq!(stub(Mode::A32, &bytes(&far)), Some(Hop::To(ImageAddr(0x1_1244))));
        // str r0, [sp]; b
        assert_eq!(stub(Mode::A32, &bytes(&[0xe58d_0000, 0xea00_0004])), None);
    }

    #[test]
    fn code_that_only_passes_on() {
        for (words, expected) in [
            (&[0xea00_0004][..], true),
            // push {r11, lr}; mov r11, sp; bl; pop {r11, pc}
            (&[0xe92d_4800, 0xe1a0_b00d, 0xeb00_0000, 0xe8bd_8800], true),
            // sub sp, sp, #8; str r0, [sp, #4]; ldr r0, [sp, #4]; add sp, sp, #8
            (&[0xe24d_d008, 0xe58d_0004, 0xe59d_0004, 0xe28d_d008], true),
            // mov r4, r0; mov r0, r4; cmp r0, #1; nop
            (&[0xe1a0_4000, 0xe1a0_0004, 0xe350_0001, 0xe320_f000], true),
            // mov r0, r12; mov r0, #1; add r0, r0, #1; ldr r0, [r0]; str r4, [r0]; svc; mul r0, r1, r2; vldr
            (&[0xe1a0_000c], false),
            (&[0xe3a0_0001], false),
            (&[0xe280_0001], false),
            (&[0xe590_0000], false),
            (&[0xe580_4000], false),
            (&[0xef00_0000], false),
            (&[0xe000_0291], false),
            (&[0xed9d_0b00], false),
            // mov r11, r0; ldr r0, [r11]: no frame.
            (&[0xe1a0_b000, 0xe59b_0000], false),
        ] {
            assert_eq!(passes_on(Mode::A32, &bytes(words)), expected, "{words:x?}");
        }
    }

    /// No word makes the decoder panic, of those of each kind of its own; all were tried when the version was taken.
    #[test]
    fn any_word_is_read() {
        for high in 0..1_u32 << 16 {
            for low in
                [0, 0xf0d0, 0xf0f0, 0xfff0, 0xffff, 0x0090, 0x00b0, 0xff1f, high.rotate_left(5) & 0xffff]
            {
                let word = high << 16 | low;
                let inst = arm::decode_a32(word, 0);
                let jumps = matches!(inst.op, Op::Jump(Goal::To(_)));
                // BX to the program counter, in any spelling.
                assert!(!jumps || arm::may_branch_a32(word) || word & 0x0ff0_00ff == 0x0120_001f, "{word:x}");
            }
        }
    }
}

mod t32 {
    use super::*;

    #[test]
    fn branches() {
        for (code, expected) in [
            (&[0x08, 0xe0][..], Flow::Jump(Target::To(ImageAddr(0x1014)))), // b
            (&[0xfe, 0xe7], Flow::Jump(Target::To(ImageAddr(0x1000)))),     // b .
            (&[0x00, 0xf0, 0x08, 0xb8], Flow::Jump(Target::To(ImageAddr(0x1014)))), // b.w
            (&[0x08, 0xd1], Flow::Jump(Target::To(ImageAddr(0x1014)))),     // bne
            (&[0x50, 0xf0, 0x00, 0x80], Flow::Jump(Target::To(ImageAddr(0x1_1004)))), // bne.w
            (&[0x00, 0xb1], Flow::Jump(Target::To(ImageAddr(0x1004)))),     // cbz r0
            (&[0x10, 0xb1], Flow::Jump(Target::To(ImageAddr(0x1008)))),
            (&[0xf9, 0xbb], Flow::Jump(Target::To(ImageAddr(0x1082)))), // cbnz r1
            (&[0x00, 0xf0, 0x08, 0xf8], Flow::Call(Target::To(ImageAddr(0x1014)))), // bl
            (&[0x00, 0xf0, 0x08, 0xe8], Flow::Call(Target::To(ImageAddr(0x1014)))), // blx
            (&[0x98, 0x47], Flow::Call(Target::Anywhere)),              // blx r3
            (&[0x70, 0x47], Flow::Return),                              // bx lr
            (&[0x18, 0x47], Flow::Jump(Target::Anywhere)),              // bx r3
            (&[0x78, 0x47], Flow::Jump(Target::To(ImageAddr(0x1004)))), // bx pc
            (&[0xf7, 0x46], Flow::Return),                              // mov pc, lr
            (&[0x80, 0xbd], Flow::Return),                              // pop {r7, pc}
            (&[0xbd, 0xe8, 0x10, 0x88], Flow::Return),                  // pop.w {r4, r11, pc}
            (&[0xdf, 0xe8, 0x00, 0xf0], Flow::Jump(Target::Table)),     // tbb [pc, r0]
            (&[0xdf, 0xe8, 0x10, 0xf0], Flow::Jump(Target::Table)),     // tbh [pc, r0, lsl #1]
            (&[0x51, 0xf8, 0x20, 0xf0], Flow::Jump(Target::Anywhere)),  // ldr.w pc, [r1, r0, lsl #2]
        ] {
            assert_eq!(ways(Mode::T32, code), [expected], "{code:x?}");
        }
        // vldr d0, [sp]; nop.w
        assert_eq!(ways(Mode::T32, &[0x9d, 0xed, 0x00, 0x0b, 0xaf, 0xf3, 0x00, 0x80]), []);
    }

    /// What may branch is found without a decoder, at the same addresses.
    #[test]
    fn every_branch_is_one_that_may_branch() {
        let mut state = 1_u64;
        let mut found = 0;
        for _ in 0..300 {
            let code: Vec<u8> = (0..512)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 33) as u8
                })
                .collect();
            let (mut all, mut some) = (Vec::new(), Vec::new());
            let jump = |inst: Inst| match inst.op {
                // BX to the program counter goes to A32.
                Op::Jump(Goal::To(to)) if to & 3 != 0 => Some(to),
                _ => None,
            };
            run(Mode::T32, &code).each(|address, inst| all.extend(jump(inst).map(|to| (address, to))));
            arm::branches_of_t32(&code, START, &mut |address, inst| {
                some.extend(jump(inst).map(|to| (address, to)));
            });
            found += all.len();
            assert_eq!(some, all);
        }
        assert!(found > 1000, "{found}");
    }

    #[test]
    fn switches_and_stubs() {
        // adr r1, .+8; ldr r0, [r1, r0]; lsls r0, r0, #1; add pc, r0
        let code = [0x01, 0xa1, 0x08, 0x58, 0x40, 0x00, 0x87, 0x44];
        assert_eq!(jumps(Mode::T32, &code).0, [Target::Table]);
        // adr.w r1, .+8; add.w r0, r1, r0, lsl #2; mov pc, r0
        let code = [0x0f, 0xf2, 0x08, 0x01, 0x01, 0xeb, 0x80, 0x00, 0x87, 0x46];
        assert_eq!(jumps(Mode::T32, &code).0, [Target::Near(ImageAddr(0x100c))]);
        // movw ip, #0x234; movt ip, #1; add ip, pc; bx ip
        let far = [0x40, 0xf2, 0x34, 0x2c, 0xc0, 0xf2, 0x01, 0x0c, 0xfc, 0x44, 0x60, 0x47];
        assert_eq!(stub(Mode::T32, &far), Some(Hop::To(ImageAddr(0x1_1240))));
    }

    /// An `IT` makes up to four instructions conditional: what they write is not known, and they go on.
    #[test]
    fn conditional_instructions() {
        let mut found = Vec::new();
        // itte ne; movne r0, r1; movne r0, r1; moveq r0, r1; bx lr
        let code = [0x1a, 0xbf, 0x08, 0x46, 0x08, 0x46, 0x08, 0x46, 0x70, 0x47];
        run(Mode::T32, &code).each(|_, inst| found.push(inst.conditional));
        assert_eq!(found, [false, true, true, true, false]);
    }

    #[test]
    fn code_that_only_passes_on() {
        for (code, expected) in [
            (&[0x00, 0xf0, 0x08, 0xb8][..], true),
            // push {r7, lr}; mov r7, sp; bl; pop {r7, pc}
            (&[0x80, 0xb5, 0x6f, 0x46, 0x00, 0xf0, 0x08, 0xf8, 0x80, 0xbd], true),
            // movs r4, r0; str r0, [sp, #4]; ldr r0, [sp, #4]
            (&[0x04, 0x00, 0x01, 0x90, 0x01, 0x98], true),
            // movs r0, #1; ldr r0, [r1, #4]; adds r0, r1, r2; svc
            (&[0x01, 0x20], false),
            (&[0x48, 0x68], false),
            (&[0x88, 0x18], false),
            (&[0x00, 0xdf], false),
        ] {
            assert_eq!(passes_on(Mode::T32, code), expected, "{code:x?}");
        }
    }
}

mod riscv_code {
    use super::*;

    const WIDE: Mode = Mode::RiscV { wide: true };

    #[test]
    fn branches() {
        for (code, expected) in [
            (&[0x01, 0xa8][..], Flow::Jump(Target::To(ImageAddr(0x1010)))), // c.j
            (&[0xfd, 0xbf], Flow::Jump(Target::To(ImageAddr(0xffe)))),      // c.j
            (&[0x01, 0xc9], Flow::Jump(Target::To(ImageAddr(0x1010)))),     // c.beqz
            (&[0x75, 0xfd], Flow::Jump(Target::To(ImageAddr(0xffc)))),      // c.bnez
            (&[0x6f, 0, 0, 1], Flow::Jump(Target::To(ImageAddr(0x1010)))),  // j
            (&[0x63, 0x08, 0xb5, 0], Flow::Jump(Target::To(ImageAddr(0x1010)))), // beq
            (&[0xe3, 0x1c, 0xb5, 0xfe], Flow::Jump(Target::To(ImageAddr(0xff8)))), // bne
            (&[0xef, 0, 0, 1], Flow::Call(Target::To(ImageAddr(0x1010)))),  // jal
            (&[0xef, 0x02, 0, 1], Flow::Call(Target::To(ImageAddr(0x1010)))), // jal t0
            (&[0x6f, 0x03, 0, 1], Flow::Jump(Target::To(ImageAddr(0x1010)))), // jal t1
            (&[0x82, 0x80], Flow::Return),                                  // ret
            (&[0x82, 0x82], Flow::Return),                                  // jr t0
            (&[0x67, 0x80, 0, 0], Flow::Return),
            (&[0x82, 0x87], Flow::Jump(Target::Anywhere)), // jr a5
            (&[0x67, 0x80, 0x87, 0], Flow::Jump(Target::Anywhere)), // jr 8(a5)
            (&[0x82, 0x97], Flow::Call(Target::Anywhere)), // jalr a5
            (&[0xe7, 0x80, 0x07, 0], Flow::Call(Target::Anywhere)),
            (&[0x73, 0, 0x20, 0x30], Flow::Return), // mret
        ] {
            assert_eq!(ways(WIDE, code), [expected], "{code:x?}");
        }
        // ebreak, nop, ecall, fadd.d, an instruction of 48 bits, what traps
        for code in [
            &[0x02, 0x90][..],
            &[1, 0],
            &[0x73, 0, 0, 0],
            &[0x53, 0x75, 0xb5, 2],
            &[0x1f, 0, 0, 0, 0, 0],
            &[0, 0],
        ] {
            assert_eq!(ways(WIDE, code), [], "{code:x?}");
        }
        // c.jal of 32-bit processors is c.addiw of others.
        let code = [0x01, 0x28];
        assert_eq!(ways(Mode::RiscV { wide: false }, &code), [Flow::Call(Target::To(ImageAddr(0x1010)))]);
        assert_eq!(ways(WIDE, &code), []);
        // Longer than 64 bits: what comes behind is not known.
        let code = [0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(flows(&[run(WIDE, &code)], START..START + 10, values(&|_| None, WIDE)), None);
    }

    #[test]
    fn jumps_and_calls_of_two_instructions() {
        // auipc t1, 1; jr 16(t1)
        assert_eq!(
            ways(WIDE, &[0x17, 0x13, 0, 0, 0x67, 0, 3, 1]),
            [Flow::Jump(Target::To(ImageAddr(0x2010)))]
        );
        // auipc ra, 1; jalr 16(ra)
        assert_eq!(
            ways(WIDE, &[0x97, 0x10, 0, 0, 0xe7, 0x80, 0, 1]),
            [Flow::Call(Target::To(ImageAddr(0x2010)))]
        );
        // auipc t3, 2; ld t3, 16(t3); jalr t1, t3
        let plt = [0x17, 0x2e, 0, 0, 0x03, 0x3e, 0x0e, 1, 0x67, 0x03, 0x0e, 0];
        assert_eq!(stub(WIDE, &plt), Some(Hop::Through(ImageAddr(0x3010))));
        // lw in place of ld: no address
        let mut half = plt;
        half[5] = 0x2e;
        assert_eq!(stub(WIDE, &half), None);
        // auipc a5, 2; c.ld a5, 16(a5); jr a5
        assert_eq!(
            stub(WIDE, &[0x97, 0x27, 0, 0, 0x9c, 0x6b, 0x82, 0x87]),
            Some(Hop::Through(ImageAddr(0x3010)))
        );
    }

    #[test]
    fn switches() {
        // lui a4, 3; addi a4, a4, 16; slli a5, a5, 2; add a5, a5, a4; lw a5, 0(a5); jr a5
        let code = [0x0d, 0x67, 0x41, 0x07, 0x8a, 0x07, 0xba, 0x97, 0x9c, 0x43, 0x82, 0x87];
        assert_eq!(jumps(WIDE, &code).0, [Target::TableAt(ImageAddr(0x3010), 4)]);
        // ... lw a5, 0(a5); add a5, a5, a4; jr a5
        let code = [&code[..10], &[0xba, 0x97, 0x82, 0x87]].concat();
        assert_eq!(jumps(WIDE, &code).0, [Target::Table]);
        // Without the sum that the word is read by.
        assert_eq!(jumps(WIDE, &code[8..]).0, [Target::Anywhere]);
    }

    #[test]
    fn code_that_only_passes_on() {
        for (code, expected) in [
            (&[0x01, 0xa8][..], true),
            // addi sp, sp, -16; sd ra, 8(sp); addi s0, sp, 16; jal; ld ra, 8(sp); addi sp, sp, 16; ret
            (&[0x41, 0x11, 0x06, 0xe4, 0x00, 0x08, 0xef, 0, 0, 1, 0xa2, 0x60, 0x41, 0x01, 0x82, 0x80], true),
            // mv s1, a0; mv a0, s1; fmv.d fs0, fa0; fmv.d fa0, fs0; fsd fa0, 8(sp)
            (&[0xaa, 0x84, 0x26, 0x85, 0x53, 0x04, 0xa5, 0x22, 0x53, 0x05, 0x84, 0x22, 0x2a, 0xa4], true),
            // addi s0, sp, 16; sd a0, -24(s0); ld a0, -24(s0); and without the first.
            (&[0x00, 0x08, 0x23, 0x34, 0xa4, 0xfe, 0x03, 0x35, 0x84, 0xfe], true),
            (&[0x23, 0x34, 0xa4, 0xfe, 0x03, 0x35, 0x84, 0xfe], false),
            // mv a0, t1; li a0, 1; addi a0, a0, 1; ld a0, 0(a0); fadd.d; ecall
            (&[0x1a, 0x85], false),
            (&[0x05, 0x45], false),
            (&[0x05, 0x05], false),
            (&[0x08, 0x61], false),
            (&[0x53, 0x75, 0xb5, 2], false),
            (&[0x73, 0, 0, 0], false),
        ] {
            assert_eq!(passes_on(WIDE, code), expected, "{code:x?}");
        }
    }
}

//! Call frame information assembled by hand: the extensions for GPUs, and damage.

use foldsym_expr::cfi::{Cfa, CfiProblem, Fde, FrameSection, Row, Rule};

/// `.debug_frame` with one CIE as LLVM writes it for amdgcn (version 4, code and data factor 4, return column 16), and one
/// entry for 0x1000..0x1100.
fn section(augmentation: &str, initial: &[u8], instructions: &[u8]) -> Vec<u8> {
    let entry = |id: u32, body: &[u8]| {
        let mut body = [&id.to_le_bytes()[..], body].concat();
        while body.len() % 8 != 4 {
            body.push(0);
        }
        [&(body.len() as u32).to_le_bytes()[..], &body].concat()
    };
    let head =
        [4u8].iter().copied().chain(augmentation.bytes()).chain([0, 8, 0, 4, 4, 16]).collect::<Vec<_>>();
    let cie = entry(u32::MAX, &[&head, initial].concat());
    let range = [0x1000u64.to_le_bytes(), 0x100u64.to_le_bytes()].concat();
    [cie, entry(0, &[&range, instructions].concat())].concat()
}

fn frames(bytes: &[u8]) -> FrameSection<'_> {
    FrameSection { bytes, eh: false, address: 0, address_size: 8, big_endian: false }
}

fn row(bytes: &[u8], address: u64) -> Result<Row<'_, 96>, CfiProblem> {
    let frames = frames(bytes);
    let fde: Fde<'_> = frames.find(address).map_err(|error| error.problem)?.expect("an entry covers it");
    frames.row::<96, 4>(&fde, address).map_err(|error| error.problem)
}

/// def_aspace_cfa s32 (64), 0, private_wave (6)
const IN_WAVE: &[u8] = &[0x30, 64, 0, 6];

#[test]
fn a_frame_in_an_address_space() {
    // As the back end's manual has it: the frame is at s32 in private_wave memory; after 12 bytes of prologue the frame
    // register s33 (65) has it; s33 itself was saved in lane 5 of v40 (2600): DW_OP_regx v40; DW_OP_LLVM_offset_uconst 20.
    let saved = [0x10, 65, 6, 0x90, 0xa8, 0x14, 0xe9, 5, 20];
    let body = [
        &[0x43][..],                // advance 3 x 4
        &[0x0d, 65],                // def_cfa_register s33: offset and space stay
        &saved,                     // expression s33
        &[0x42, 0x31, 65, 0x7e, 6], // advance 2 x 4; def_aspace_cfa_sf s33, -2 x 4, 6
        &[0x02, 8, 0x0c, 64, 16],   // advance 8 x 4; def_cfa s32, 16: in the program's memory again
        &[0x02, 4, 0x0a, 0x30, 66, 4, 5, 0x02, 1, 0x0b],
    ]
    .concat();
    let bytes = section("[amd:v0.0]", IN_WAVE, &body);
    let at = |address| row(&bytes, address).unwrap();
    let cfa = |register, offset, space| Cfa::Register { register, offset, space };
    assert_eq!((at(0x1000).cfa, at(0x1000).start), (cfa(64, 0, 6), 0x1000));
    assert_eq!(at(0x100b).rules().count(), 0);
    assert_eq!(at(0x100c).cfa, cfa(65, 0, 6));
    assert_eq!(at(0x100c).rule(65), Some(Rule::Expression(&saved[3..])));
    assert_eq!((at(0x1014).cfa, at(0x1033).cfa), (cfa(65, -8, 6), cfa(65, -8, 6)));
    assert_eq!((at(0x1034).cfa, at(0x1034).start), (cfa(64, 16, 0), 0x1034));
    assert_eq!(at(0x1044).cfa, cfa(66, 4, 5));
    assert_eq!((at(0x1048).cfa, at(0x10ff).start), (cfa(64, 16, 0), 0x1048));
    assert!(frames(&bytes).find(0x1100).unwrap().is_none());
    // The entry's row does not depend on the augmentation: LLVM 22 writes none.
    let bytes = section("", IN_WAVE, &body);
    assert_eq!(row(&bytes, 0x1014).unwrap().cfa, cfa(65, -8, 6));
}

#[test]
fn rules_of_every_kind() {
    let body = [
        0x81, 2, 0x05, 40, 3, 0x11, 41, 0x7f, 0x2f, 42, 1, // offsets 8, 12, -4, -4
        0x07, 43, 0x08, 44, 0x09, 45, 46, 0x14, 47, 2, 0x15, 48,
        0x7e, // undefined, same, register, value offsets
        0x16, 49, 1, 0x30, 0xc1, 0x06, 40, 0x2e, 24, 0x0f, 1, 0x31,
    ];
    let bytes = section("", &[0x30, 64, 0, 6, 0x81, 1], &body);
    let row = row(&bytes, 0x1000).unwrap();
    let rules: Vec<_> = row.rules().collect();
    assert_eq!(
        rules,
        [
            (1, Rule::Offset(4)), // restored to what the CIE said
            (41, Rule::Offset(-4)),
            (42, Rule::Offset(-4)),
            (43, Rule::Undefined),
            (44, Rule::SameValue),
            (45, Rule::Register(46)),
            (47, Rule::ValueOffset(8)),
            (48, Rule::ValueOffset(-8)),
            (49, Rule::ValueExpression(&[0x30])),
        ]
    );
    assert_eq!((row.args_size, row.cfa), (24, Cfa::Expression(&[0x31])));
}

/// As in clang's programs for MIPS.
#[test]
fn a_register_before_any_offset() {
    let bytes = section("", &[0x0d, 29], &[0x41, 0x0e, 24]);
    let cfa = |address| row(&bytes, address).unwrap().cfa;
    assert_eq!(cfa(0x1000), Cfa::Register { register: 29, offset: 0, space: 0 });
    assert_eq!(cfa(0x1004), Cfa::Register { register: 29, offset: 24, space: 0 });
}

#[test]
fn what_is_damaged_is_said() {
    let wrong =
        |augmentation, initial: &[u8], body: &[u8]| row(&section(augmentation, initial, body), 0x1000).err();
    assert_eq!(wrong("", IN_WAVE, &[0x3f]), Some(CfiProblem::Instruction(0x3f)));
    assert_eq!(wrong("", &[], &[0x0e, 1]), Some(CfiProblem::BadState));
    assert_eq!(wrong("", &[0x0f, 1, 0x50], &[0x0d, 1]), Some(CfiProblem::BadState));
    assert_eq!(wrong("", IN_WAVE, &[0x0b]), Some(CfiProblem::BadState));
    assert_eq!(wrong("", IN_WAVE, &[0x0a; 5]), Some(CfiProblem::NoRoom));
    assert_eq!(wrong("", &[0xc1], &[]), Some(CfiProblem::BadState));
    assert_eq!(wrong("", IN_WAVE, &[0x10, 1, 0x7f]), Some(CfiProblem::Truncated));
    assert_eq!(wrong("eh", IN_WAVE, &[]), Some(CfiProblem::Augmentation));
    let many: Vec<u8> = (0..200u8).flat_map(|n| [0x05, n & 0x7f, 1]).collect();
    assert_eq!(wrong("", IN_WAVE, &many), Some(CfiProblem::NoRoom));
    // Lengths that lie, and a CIE that is none.
    let good = section("", IN_WAVE, &[]);
    let mut long = good.clone();
    long[0] = 0xf0;
    assert_eq!(row(&long, 0x1000).err(), Some(CfiProblem::Truncated));
    let mut version = good.clone();
    version[8] = 9;
    assert_eq!(row(&version, 0x1000).err(), Some(CfiProblem::Version(9)));
    let fde = 4 + u32::from_le_bytes(good[..4].try_into().unwrap()) as usize;
    let mut lost = good.clone();
    lost[fde + 4] = 8;
    assert_eq!(row(&lost, 0x1000).err(), Some(CfiProblem::NoCie));
    for len in 0..good.len() {
        let _ = frames(&good[..len]).find(0x1000);
        for flip in [1, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[len] ^= flip;
            for eh in [false, true] {
                let frames = FrameSection { eh, ..frames(&bad) };
                for fde in frames.fdes().flatten() {
                    let _ = frames.row::<4, 1>(&fde, fde.start);
                }
            }
        }
    }
}

#[test]
fn an_entry_that_cannot_be_read_hides_no_other() {
    let (unknown, good) = (section("eh", IN_WAVE, &[]), section("", IN_WAVE, &[]));
    // The entry names its common part by its offset.
    let mut both = [unknown.clone(), good].concat();
    let entry = both.len() - 20;
    assert_eq!(both[entry..entry + 4], [0; 4]);
    both[entry..entry + 4].copy_from_slice(&(unknown.len() as u32).to_le_bytes());
    assert_eq!(row(&both, 0x1000).unwrap().start, 0x1000);
    // Where no entry covers the address, the one that cannot be read may.
    let problem = frames(&both).find(0x5000).unwrap_err().problem;
    assert_eq!(problem, CfiProblem::Augmentation);
    let long = "z".repeat(300);
    assert_eq!(row(&section(&long, IN_WAVE, &[]), 0x1000).err(), Some(CfiProblem::Augmentation));
}

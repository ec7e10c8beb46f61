//! Maps that no compiler writes. Reading loses only the damaged part, counts it, and ends.

use super::*;
use crate::model::{AddressRange, ImageAddr};

const BASE: u64 = 0x1000;

fn arch() -> Arch {
    Arch { machine: 62, name: "x86_64", address_size: 8, big_endian: false }
}

fn read_map(bytes: &[u8]) -> (BlockMap, Diagnostics) {
    let code = CodeSections {
        ranges: vec![AddressRange::of(ImageAddr(BASE), 0x1000)],
        at_zero: Vec::new(),
        ..CodeSections::default()
    };
    let mut diagnostics = Diagnostics::default();
    let section = BlockMapSection { bytes, without_version: false, index: 7 };
    (read(&[section], &arch(), &code, &mut diagnostics), diagnostics)
}

/// A record of version 2: blocks of (id, gap, size, flags).
fn record(base: u64, blocks: &[[u8; 4]]) -> Vec<u8> {
    let mut bytes = vec![2, 0];
    bytes.extend(base.to_le_bytes());
    bytes.push(blocks.len() as u8);
    blocks.iter().for_each(|block| bytes.extend(block));
    bytes
}

fn kinds(diagnostics: &Diagnostics) -> Vec<(Kind, u64)> {
    diagnostics.iter().map(|(kind, seen)| (kind, seen.count)).collect()
}

#[test]
fn every_cut_of_a_section_keeps_what_is_before() {
    let whole = [record(BASE, &[[0, 0, 8, 8], [1, 2, 6, 1]]), record(BASE + 64, &[[0, 0, 9, 1]])].concat();
    let (map, diagnostics) = read_map(&whole);
    assert_eq!((map.blocks.len(), map.ranges.len(), kinds(&diagnostics)), (3, 2, vec![]));
    assert_eq!(map.blocks[1], Block { start: ImageAddr(BASE + 10), size: 6, id: 1, flags: 1 });
    let first = record(BASE, &[[0, 0, 8, 8], [1, 2, 6, 1]]).len();
    for cut in 0..whole.len() {
        let (map, diagnostics) = read_map(&whole[..cut]);
        let damaged = if cut == 0 || cut == first { vec![] } else { vec![(Kind::BadBlockMap, 1)] };
        assert_eq!(kinds(&diagnostics), damaged, "{cut}");
        assert_eq!(map.blocks.len(), if cut < first { 0 } else { 2 }, "{cut}");
    }
}

#[test]
fn counts_that_lie_end_with_the_section() {
    // 2^63 blocks, ranges, calls and successors.
    let huge = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1];
    let base = BASE.to_le_bytes();
    for bytes in [
        [&[2, 0], &base[..], &huge].concat(),
        [&[2, 8], &huge[..]].concat(),
        [&[3, 0x20], &base[..], &[1, 0, 0], &huge].concat(),
        [&[2, 4], &base[..], &[1, 0, 0, 4, 1], &huge].concat(),
        [&[2, 8, 0], &base[..]].concat(),
        // A size of 2^40, and offsets whose sum is more than an address.
        [&[2, 0], &base[..], &[1, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0]].concat(),
    ] {
        let (map, diagnostics) = read_map(&bytes);
        assert_eq!((map.blocks.len(), kinds(&diagnostics)), (0, vec![(Kind::BadBlockMap, 1)]), "{bytes:x?}");
    }
}

#[test]
fn unknown_versions_and_features_stop_the_section() {
    for bytes in [&[6u8, 0, 0][..], &[255, 0], &[2, 0x20], &[4, 0x80], &[5, 0, 1], &[1, 1], &[0, 8]] {
        let bytes =
            [record(BASE, &[[0, 0, 8, 1]]), bytes.to_vec(), record(BASE + 64, &[[0, 0, 8, 1]])].concat();
        let (map, diagnostics) = read_map(&bytes);
        assert_eq!(
            (map.blocks.len(), kinds(&diagnostics)),
            (1, vec![(Kind::UnknownBlockMap, 1)]),
            "{bytes:x?}"
        );
    }
}

#[test]
fn overlapping_blocks_are_refused_by_function() {
    // The second function begins inside the first. The third has two ranges, of which one begins inside the first. The fourth
    // ends later.
    let mut third = vec![2, 8, 2];
    for (base, block) in [(BASE + 4, [0, 0, 2, 1]), (BASE + 64, [1, 0, 8, 1])] {
        third.extend(base.to_le_bytes());
        third.push(1);
        third.extend(block);
    }
    let bytes = [
        record(BASE, &[[0, 0, 16, 1]]),
        record(BASE + 8, &[[0, 0, 16, 1]]),
        third,
        record(BASE, &[[5, 0, 17, 1]]),
        record(BASE + 64, &[[0, 0, 8, 1]]),
    ]
    .concat();
    let (map, diagnostics) = read_map(&bytes);
    let kept: Vec<(u64, u32)> = map.blocks.iter().map(|block| (block.start.0, block.id)).collect();
    assert_eq!(kept, [(BASE, 0), (BASE + 64, 0)]);
    assert_eq!(kinds(&diagnostics), [(Kind::BlocksOverAnother, 3)]);
    // In version 0, offsets count from the function's start, so blocks of one function can overlap.
    let mut own = vec![0, 0];
    own.extend(BASE.to_le_bytes());
    own.extend([2, 0, 8, 8, 4, 8, 1]);
    let (map, diagnostics) = read_map(&own);
    assert_eq!((map.blocks.len(), kinds(&diagnostics)), (0, vec![(Kind::OverlappingBlocks, 1)]));
}

#[test]
fn blocks_outside_the_code_are_dead() {
    for base in [0, 1, u64::MAX, u64::MAX - 1, BASE - 1, BASE + 0xff8, BASE + 0x1000] {
        let (map, diagnostics) = read_map(&record(base, &[[0, 0, 16, 1]]));
        assert_eq!((map.blocks.len(), kinds(&diagnostics)), (0, vec![(Kind::DeadBlocks, 1)]), "{base:#x}");
    }
}

#[test]
fn a_folded_section_of_blocks_is_the_first_functions() {
    let mut second = vec![2, 8, 2];
    for (base, block) in [(BASE + 64, [0, 0, 8, 8]), (BASE, [1, 0, 16, 1])] {
        second.extend(base.to_le_bytes());
        second.push(1);
        second.extend(block);
    }
    let (map, diagnostics) = read_map(&[record(BASE, &[[7, 0, 16, 1]]), second].concat());
    let kept: Vec<(u64, u32)> = map.blocks.iter().map(|block| (block.start.0, block.id)).collect();
    assert_eq!(kept, [(BASE, 7), (BASE + 64, 0)]);
    assert_eq!(kinds(&diagnostics), [(Kind::FoldedBlocks, 1)]);
    // The second function has it as a shared block, after its own block, with its own id and flags.
    assert_eq!((map.ranges[1].entry, map.ranges[1].next, map.counts.functions), (1, Some(2), 2));
    assert_eq!(
        (map.ranges[2].entry, map.ranges[2].shared),
        (1, Some(SharedBlock { block: 0, id: 1, flags: 1 }))
    );
}

/// Two calls of 5 bytes at 1 and 9 in a block of 0x13 bytes. Version 3 has the offsets at which calls start (LLVM 21), versions 4 and 5
/// those at which they end. In both the block's size is the sum.
#[test]
fn call_offsets_of_all_versions_give_the_size_of_the_block() {
    let base = BASE.to_le_bytes();
    let starts = [&[3, 0x20], &base[..], &[1, 0, 0, 2, 1, 8, 10, 1]].concat();
    let ends = [&[4, 0x20], &base[..], &[1, 0, 0, 2, 6, 8, 5, 1]].concat();
    let with_hash = [&[4, 0x60], &base[..], &[1, 0, 0, 2, 6, 8, 5, 1], &[0x88; 8]].concat();
    let wide = [&[5, 0x60, 0], &base[..], &[1, 0, 0, 2, 6, 8, 5, 1], &[0x88; 8]].concat();
    for (bytes, hashes) in [(starts, 0), (ends, 0), (with_hash, 1), (wide, 1)] {
        let (map, diagnostics) = read_map(&[bytes.clone(), record(BASE + 64, &[[0, 0, 8, 1]])].concat());
        assert_eq!(kinds(&diagnostics), [], "{bytes:x?}");
        assert_eq!(map.blocks[0], Block { start: ImageAddr(BASE), size: 0x13, id: 0, flags: 1 });
        assert_eq!((map.blocks.len(), map.counts.call_ends, map.counts.hashes), (2, 2, hashes), "{bytes:x?}");
    }
}

/// mold and gold keep the record of a folded function, at the address of the function that remains, and the record of a removed one, at 0.
#[test]
fn records_of_folded_and_removed_functions_add_no_block() {
    let all = [BASE, 0, BASE, BASE].map(|base| record(base, &[[0, 0, 8, 8], [1, 2, 6, 1]])).concat();
    let other = record(BASE + 64, &[[0, 0, 9, 1]]);
    let (map, diagnostics) = read_map(&[all, other].concat());
    assert_eq!((map.blocks.len(), map.ranges.len(), map.counts.functions), (3, 2, 2));
    assert_eq!(kinds(&diagnostics), [(Kind::DeadBlocks, 1), (Kind::FoldedBlocks, 2)]);
}

//! A name index of a few hundred bytes that has more keys than there is time to visit.

use super::index::NameIndex;
use super::keys::Keys;
use super::regex::Regex;

/// Bytes of an index of `depth` levels: each node leads to the next by `a` and by `b`, so that there are two to the power of `depth`
/// keys, all of value 0. The `fst` crate's builder makes no such index from fewer keys; its format is written by hand here.
fn doubling(depth: usize) -> Vec<u8> {
    // The version, the kind, and the last node of all: no transition, final.
    let mut map = [3_u64.to_le_bytes(), 0_u64.to_le_bytes()].concat();
    let mut last = None;
    for _ in 0..depth {
        let begins = map.len();
        // How far before this node the next one ends; 0 is the final node without transitions.
        let delta = last.map_or(0, |last| begins - last) as u8;
        // The targets of `b` and `a`, the bytes, how many bytes a target and an output take, and how many transitions.
        map.extend([delta, delta, b'b', b'a', 0x10, 2]);
        last = Some(map.len() - 1);
    }
    map.extend((1_u64 << depth.min(63)).to_le_bytes());
    map.extend((last.unwrap_or(0) as u64).to_le_bytes());
    let sum = crc32c(&map);
    map.extend((sum.rotate_right(15).wrapping_add(0xa282_ead8)).to_le_bytes());
    map
}

/// CRC-32C (Castagnoli), bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 0 { sum >> 1 } else { sum >> 1 ^ 0x82f6_3b78 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}

#[test]
fn a_search_ends_however_many_keys_share_their_nodes() {
    let small = doubling(3);
    let keys = fst::Map::new(&small[..]).unwrap();
    assert!(keys.as_fst().verify().is_ok());
    assert_eq!(keys.stream().into_str_keys().unwrap().len(), 8);
    let map = doubling(60);
    assert!(map.len() < 500);
    let index = NameIndex::of_parts(&map, &[], 5);
    for wanted in [Keys::Prefix(b"ab".to_vec()), Keys::Regex(Box::new(Regex::new("a.*b.*a$").unwrap()))] {
        assert!(index.find(&wanted).is_err());
    }
    assert!(index.verify().is_err());
}

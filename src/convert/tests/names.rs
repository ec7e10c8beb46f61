//! The name table: what goes in comes out, and damage never panics.

use foldsym_convert::internal::encode::names::encode;
use foldsym_format::names::{MAX_NAME, Names};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Names that look like a program's: mangled from a few parts, so that much repeats.
fn program_name() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just("_ZN".to_owned()),
        Just("7rocksdb".to_owned()),
        Just("St6vectorI".to_owned()),
        Just("SaIS1_EE".to_owned()),
        Just("25BlockBasedTableReader".to_owned()),
        Just("__ksymtab_".to_owned()),
        Just("_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmt".to_owned()),
        "[a-z]{1,20}".prop_map(|s| format!("{}{s}", s.len())),
        "S[0-9A-Z]{0,2}_",
        "/[a-z_]{1,8}\\.(cc|rs|h)",
        "[A-Z]{0,3}",
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat().into_bytes())
}

fn byte_name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(0u8..3, 0..400),
        (any::<u8>(), 0usize..3000).prop_map(|(byte, len)| vec![byte; len]),
    ]
}

fn refs(names: &BTreeSet<Vec<u8>>) -> Vec<&[u8]> {
    names.iter().map(Vec::as_slice).collect()
}

/// Every name comes back by every road, and is found.
fn check(names: &[&[u8]]) {
    let blob = encode(names);
    assert_eq!(blob, encode(names), "same names, same bytes");
    let table = Names::open(&blob).expect("own output opens");
    assert_eq!(table.len() as usize, names.len());
    let mut out = vec![0; 70_000];
    for (id, &name) in (0..).zip(names) {
        assert_eq!(table.write(id, &mut out), Some(name.len()));
        assert!(&out[..name.len()] == name, "name {id}");
        let mut visited = Vec::new();
        table.visit(id, |piece| visited.extend_from_slice(piece)).expect("a name");
        assert!(visited == name, "name {id}");
        let mut small = [0xee; 24];
        let cut = name.len().min(19);
        assert_eq!(table.write(id, &mut small[..cut]), Some(name.len()));
        assert_eq!(small[..cut], name[..cut]);
        assert!(small[cut..] == [0xee; 24][cut..], "wrote past the buffer");
        assert_eq!(table.find(name), Ok(id));
    }
    assert_eq!(table.write(names.len() as u32, &mut out), None);
}

fn agrees_with_binary_search(names: &[&[u8]], probe: &[u8]) {
    let blob = encode(names);
    let table = Names::open(&blob).expect("own output opens");
    let expected = names.binary_search(&probe).map(|i| i as u32).map_err(|i| i as u32);
    assert_eq!(table.find(probe), expected);
    assert_eq!(table.lower_bound(probe), expected.unwrap_or_else(|id| id));
}

/// Asks everything of a blob that may be damaged.
fn poke(blob: &[u8]) {
    let Ok(table) = Names::open(blob) else { return };
    let mut out = [0; 300];
    let last = table.len().saturating_sub(1);
    for id in [0, 1, 7, 15, 16, 17, 31, 40, last / 2, last, table.len(), u32::MAX] {
        let _ = table.write(id, &mut out);
        let mut bytes = 0;
        let _ = table.visit(id, |piece| bytes += piece.len());
        assert!(bytes <= MAX_NAME, "longer than any name");
    }
    let _ = table.find(b"_ZN7rocksdb");
}

fn sample() -> Vec<Vec<u8>> {
    let mut names = BTreeSet::new();
    for i in 0..120u32 {
        names.insert(format!("_ZN7rocksdb{}BlockBasedTable{}EvT_S{}_", i % 7, i / 3, i % 5).into_bytes());
        names.insert(format!("__ksymtab_handle_{}_{i}", i * 37 % 101).into_bytes());
        names.insert("abcdefgh".repeat(i as usize % 20).into_bytes());
    }
    names.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arbitrary_bytes_come_back(names in prop::collection::btree_set(byte_name(), 0..60)) {
        check(&refs(&names));
    }

    #[test]
    fn program_names_come_back(names in prop::collection::btree_set(program_name(), 0..300)) {
        check(&refs(&names));
    }

    #[test]
    fn find_is_a_binary_search(
        names in prop::collection::btree_set(program_name(), 0..200),
        probes in prop::collection::vec(program_name(), 20),
    ) {
        for probe in &probes {
            agrees_with_binary_search(&refs(&names), probe);
        }
    }

    #[test]
    fn garbage_never_panics(blob in prop::collection::vec(any::<u8>(), 0..400)) {
        poke(&blob);
    }

    #[test]
    fn damage_never_panics(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let names = sample();
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let mut blob = encode(&names);
        for (at, value) in flips {
            let at = at.index(blob.len());
            blob[at] = value;
        }
        poke(&blob);
        poke(&blob[..cut.index(blob.len())]);
    }
}

#[test]
fn every_flipped_bit_and_every_cut() {
    let names = sample();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let blob = encode(&names);
    for at in 0..blob.len() {
        poke(&blob[..at]);
        for bit in 0..8 {
            let mut damaged = blob.clone();
            damaged[at] ^= 1 << bit;
            poke(&damaged);
        }
    }
}

#[test]
fn no_names_and_the_empty_name() {
    check(&[]);
    check(&[b""]);
    check(&[b"", b"a"]);
}

#[test]
fn the_longest_names() {
    let long = b"ab_cdefghij".repeat(MAX_NAME / 11 + 1);
    let longest = &long[..MAX_NAME];
    check(&[&longest[..MAX_NAME - 1], longest]);
    // Longer names are cut.
    let blob = encode(&[&long]);
    let table = Names::open(&blob).unwrap();
    let mut out = vec![0; MAX_NAME + 10];
    assert_eq!(table.write(0, &mut out), Some(MAX_NAME));
    assert!(out[..MAX_NAME] == *longest);
}

#[test]
fn long_repeats_of_words_that_never_repeat() {
    let tail: String =
        (0..4000u32).map(|i| format!("{}_{}", i.wrapping_mul(2_654_435_761) % 9973, "x")).collect();
    let names: Vec<String> = "abcdefg".chars().map(|c| format!("{c}_{}", &tail[..20_000])).collect();
    check(&names.iter().map(|n| n.as_bytes()).collect::<Vec<_>>());
}

#[test]
fn a_small_table_stays_small() {
    let names: Vec<String> = (0..10).map(|i| format!("_ZN3foo{}bar{i}Ev", i * 7 % 10)).collect();
    let mut names: Vec<&[u8]> = names.iter().map(|n| n.as_bytes()).collect();
    names.sort_unstable();
    let raw: usize = names.iter().map(|n| n.len()).sum();
    let blob = encode(&names);
    // The header and the tail have 76 bytes.
    assert!(blob.len() <= raw + 80, "{} bytes for {raw}", blob.len());
}

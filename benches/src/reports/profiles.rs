//! Profiles of pprof (protobuf, not compressed) and of gperftools.

use std::fmt::Write as _;

// A varint of protobuf is a ULEB128 of DWARF.
use crate::shapes::uleb;

/// Fields of `Profile`.
const SAMPLE_TYPE: u8 = 1;
const SAMPLE: u8 = 2;
const MAPPING: u8 = 3;
const LOCATION: u8 = 4;
const FUNCTION: u8 = 5;
const STRING: u8 = 6;

/// A field that is a message, a list or a text.
fn field(out: &mut Vec<u8>, number: u8, body: &[u8]) {
    out.push(number << 3 | 2);
    uleb(out, body.len() as u64);
    out.extend_from_slice(body);
}

/// A message of numbers: field and value.
fn numbers(fields: &[(u8, u64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, value) in fields {
        out.push(number << 3);
        uleb(&mut out, *value);
    }
    out
}

/// A sample with the value 1 at these locations.
fn sample(out: &mut Vec<u8>, locations: &[u64], labels: &[Vec<u8>]) {
    let (mut list, mut body) = (Vec::new(), Vec::new());
    locations.iter().for_each(|location| uleb(&mut list, *location));
    field(&mut body, 1, &list);
    field(&mut body, 2, &[1]);
    labels.iter().for_each(|label| field(&mut body, 3, label));
    field(out, SAMPLE, &body);
}

/// A profile with one type of values, a mapping, and the given texts after the empty one. `fill` adds its records.
fn profile(texts: &[&str], fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    field(&mut out, SAMPLE_TYPE, &numbers(&[(1, 1), (2, 1)]));
    fill(&mut out);
    field(&mut out, STRING, &[]);
    texts.iter().for_each(|text| field(&mut out, STRING, text.as_bytes()));
    out
}

pub(super) fn locations(count: u64) -> Vec<u8> {
    profile(&["count", "/opt/app"], |out| {
        field(out, MAPPING, &numbers(&[(1, 1), (2, 0x1000), (3, 1 << 40), (5, 2)]));
        for id in 1..=count {
            field(out, LOCATION, &numbers(&[(1, id), (2, 1), (3, 0x1000 + 16 * id)]));
            sample(out, &[id], &[]);
        }
    })
}

pub(super) fn names(count: u64) -> Vec<u8> {
    profile(&["count", &"n".repeat(4_000)], |out| {
        for id in 1..=count {
            let mut location = numbers(&[(1, id)]);
            field(&mut location, 4, &numbers(&[(1, id), (2, 1)]));
            field(out, LOCATION, &location);
            field(out, FUNCTION, &numbers(&[(1, id), (2, 2)]));
            sample(out, &[id], &[]);
        }
    })
}

pub(super) fn lines(count: u64) -> Vec<u8> {
    profile(&["count", "name"], |out| {
        let mut location = numbers(&[(1, 1)]);
        (0..count).for_each(|line| field(&mut location, 4, &numbers(&[(1, 1), (2, line)])));
        field(out, LOCATION, &location);
        field(out, FUNCTION, &numbers(&[(1, 1), (2, 2)]));
        sample(out, &[1], &[]);
    })
}

pub(super) fn labels(count: u64) -> Vec<u8> {
    profile(&["count", "key"], |out| {
        field(out, LOCATION, &numbers(&[(1, 1), (3, 0x1000)]));
        let labels: Vec<Vec<u8>> = (0..count).map(|number| numbers(&[(1, 2), (3, number + 1)])).collect();
        sample(out, &[1], &labels);
    })
}

pub(super) fn mappings(count: u64) -> Vec<u8> {
    profile(&["count", "/opt/app"], |out| {
        for id in 1..=count {
            field(out, MAPPING, &numbers(&[(1, id), (2, 0x1000), (3, 0x2000), (5, 2)]));
            field(out, LOCATION, &numbers(&[(1, id), (2, id), (3, 0x1001)]));
            sample(out, &[id], &[]);
        }
    })
}

pub(super) fn depth(count: u64) -> Vec<u8> {
    profile(&["count", "/opt/app"], |out| {
        field(out, MAPPING, &numbers(&[(1, 1), (2, 0x1000), (3, 0x2000), (5, 2)]));
        field(out, LOCATION, &numbers(&[(1, 1), (2, 1), (3, 0x1001)]));
        sample(out, &vec![1; count as usize], &[]);
    })
}

/// A profile of the processor: the header, stacks of one frame, the trailer, and a text.
fn processor(stacks: u64, text: &str) -> Vec<u8> {
    let mut words = vec![0, 3, 0, 10_000, 0];
    (0..stacks).for_each(|at| words.extend([1, 1, 0x40_0000 + 16 * at]));
    words.extend([0, 1, 0]);
    let mut out: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    out.extend_from_slice(text.as_bytes());
    out
}

pub(super) fn gperftools_stacks(count: u64) -> Vec<u8> {
    processor(count, "00400000-7f00000000 r-xp 00000000 08:01 5 /opt/app\n")
}

/// Lines of `/proc/PID/maps`.
fn maps(count: u64) -> String {
    let mut text = String::new();
    for at in 0..count {
        let start = 0x40_0000 + 0x1000 * at;
        let _ = writeln!(text, "{start:08x}-{:08x} r-xp 00000000 08:01 5 /opt/app{at}", start + 0x1000);
    }
    text
}

pub(super) fn gperftools_maps(count: u64) -> Vec<u8> {
    processor(1, &maps(count))
}

pub(super) fn gperftools_heap(count: u64) -> Vec<u8> {
    let mut text = "heap profile:   1:   1 [   1:   1] @ heap_v2/524288\n".to_owned();
    for at in 0..count {
        let _ = writeln!(text, "  1: {at} [  1: {at}] @ 0x{:x} 0x400010 0x400020", 0x40_0000 + at);
    }
    let _ = write!(text, "\nMAPPED_LIBRARIES:\n{}", maps(1));
    text.into_bytes()
}

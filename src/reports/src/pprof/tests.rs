//! Profiles that are damaged, or made to cost much.

use std::io::Write;

use super::*;

/// A profile that gperftools took and pprof wrote; its gzip is small.
const GOOD: &[u8] = include_bytes!("../../tests/reports/mail.pb.gz");

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn plain() -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(GOOD).read_to_end(&mut bytes).unwrap();
    bytes
}

fn parse(bytes: &[u8]) -> Result<Profile, String> {
    Profile::parse(bytes, &Options::default()).map_err(|error| error.to_string())
}

#[test]
fn a_profile_is_known_with_gzip_and_without() {
    let plain = plain();
    assert!(is_one(GOOD) && is_one(&plain));
    let [one, other] = [GOOD, &plain].map(|bytes| parse(bytes).unwrap().report());
    assert_eq!(one.threads.len(), other.threads.len());
    assert_eq!(one.value_types, ["samples/count", "cpu/nanoseconds"]);
    assert_eq!(one.default_value, 1);
    assert!(one.warnings.is_empty());
    let frames = &one.threads[0].frames;
    assert_eq!((frames[0].kind, frames[1].kind), (Kind::Exact, Kind::Adjusted));
    let values = &one.threads[0].values;
    assert!(values[0] > 0 && values[1] == values[0] * 5_000_000, "{values:?}");
    for other in [
        &b""[..],
        b"\n",
        b"\n\n\n\n",
        b"hello",
        b"\x1f\x8b",
        b"\x0a\x00",
        b"\x0a\x02\x08\x01\x00",
        b"\x7fELF",
        b"==1==ERROR: AddressSanitizer",
    ] {
        assert!(!is_one(other), "{other:?}");
    }
    assert!(!is_one(&gzip(b"a log that was packed")));
}

#[test]
fn a_profile_that_is_cut_off_is_refused_at_every_length() {
    let plain = plain();
    let mut read = 0;
    for len in 0..plain.len() {
        // Between two records the bytes are a profile; its strings may be missing.
        match parse(&plain[..len]) {
            Ok(profile) => {
                read += 1;
                let _ = profile.report();
            }
            Err(error) => assert!(error.starts_with("pprof: "), "{error}"),
        }
    }
    assert!(read < plain.len() / 4, "{read}");
    for len in 0..GOOD.len() {
        assert!(parse(&GOOD[..len]).is_err(), "{len}");
    }
}

#[test]
fn sizes_that_are_not_there_and_bombs_are_refused() {
    // A record of 2^60 bytes.
    let mut huge = plain();
    huge.extend([0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]);
    assert!(parse(&huge).unwrap_err().contains("cut off"));
    // Groups, which the format does not have: decoders may recurse into them.
    let mut groups = plain();
    groups.extend([0x13; 100_000]);
    assert!(parse(&groups).is_err());
    let bomb = gzip(&vec![0; 32 << 20]);
    assert!(bomb.len() < 100_000);
    assert!(parse(&bomb).unwrap_err().contains("more than"));
    // Indices that lead nowhere.
    let mut lost = plain();
    // A sample of the locations 99 and 0, and a location of mapping 77 at the end of memory.
    lost.extend([0x12, 4, 0x0a, 2, 99, 0]);
    lost.extend([
        0x22, 16, 8, 0x63, 0x10, 77, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x28,
    ]);
    lost.push(1);
    let report = parse(&lost);
    if let Ok(profile) = report {
        assert!(profile.report().warnings.iter().any(|text| text.contains("mappings that are not there")));
    }
}

#[test]
fn a_profile_of_another_kind_is_told() {
    // Only a table of strings, as of a later version with other fields.
    let error = parse(&[0x32, 0, 0x32, 1, b'a']).unwrap_err();
    assert!(error.contains("sample_type") && error.contains("version"), "{error}");
}

#[test]
fn mappings_that_overlap_are_told_apart() {
    let mapping = |id, memory_start, memory_limit| profile::Mapping {
        id,
        memory_start,
        memory_limit,
        ..profile::Mapping::default()
    };
    let location = |id, mapping_id, address| profile::Location {
        id,
        mapping_id,
        address,
        ..profile::Location::default()
    };
    let inner = profile::ProfileRecord {
        sample_type: vec![profile::ValueType::default()],
        sample: vec![profile::Sample { location_id: vec![1, 2, 3], value: vec![1], label: Vec::new() }],
        mapping: vec![mapping(1, 0x1000, 0x3000), mapping(2, 0x2000, 0x4000)],
        location: vec![location(1, 1, 0x2500), location(2, 2, 0x2500), location(3, 9, 0x2500)],
        ..profile::ProfileRecord::default()
    };
    let report = Profile::new(inner, &Options::default()).report();
    let module = |at: usize| match report.threads[0].frames[at].place {
        Place::Memory(address) => report.modules.find(address),
        _ => None,
    };
    assert_eq!((module(0), module(1)), (Some(0), Some(1)));
}

//! Profiles that are damaged, or that were made to be expensive.

use std::io::{Read, Write};

use super::*;
use crate::profiles::MAX_FRAMES;

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
    assert_eq!((frames[0].kind, frames[1].kind), (AddressKind::Exact, AddressKind::Adjusted));
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
        // Cut between two records, the bytes are still a profile; its strings may be missing.
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
    // Groups, which profiles do not have: decoders may recurse into them.
    let mut groups = plain();
    groups.extend([0x13; 100_000]);
    assert!(parse(&groups).is_err());
    let bomb = gzip(&vec![0; 48 << 20]);
    assert!(bomb.len() < 100_000);
    assert!(parse(&bomb).unwrap_err().contains("more than"));
    // Indices without a target.
    let mut lost = plain();
    // A sample of the locations 99 and 0, and a location of mapping 77 at the end of memory.
    lost.extend([0x12, 4, 0x0a, 2, 99, 0]);
    lost.extend([
        0x22, 17, 8, 0x63, 0x10, 77, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x28, 1,
    ]);
    let report = parse(&lost).unwrap().report();
    assert!(report.warnings.iter().any(|text| text.contains("mappings that are not there")));
    let frames = &report.threads.last().unwrap().frames;
    assert_eq!((frames.len(), frames[1]), (2, StackFrame::UNKNOWN));
}

/// Pseudo-random numbers (splitmix64), the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// A profile as profilers write them: `samples` stacks of `depth` frames at `locations` addresses, each with these values and labels.
fn written(
    (samples, locations): (u64, u64),
    depth: std::ops::Range<u64>,
    value: impl Fn(&mut Random) -> Vec<i64>,
    label: impl Fn(&mut Random) -> Vec<profile::Label>,
) -> Vec<u8> {
    let mut random = Random(1);
    let values = value(&mut random).len();
    let mut sample = |_: u64| {
        let frames = depth.start + random.below(depth.end - depth.start);
        profile::Sample {
            location_id: (0..frames).map(|_| 1 + random.below(locations)).collect(),
            value: value(&mut random),
            label: label(&mut random),
        }
    };
    let sample = (0..samples).map(&mut sample).collect();
    let location = |id| profile::Location {
        id,
        mapping_id: 1,
        address: 0x5555_5540_0000 + random.below(1 << 23),
        ..profile::Location::default()
    };
    let inner = profile::ProfileRecord {
        sample_type: vec![profile::ValueType { r#type: 1, unit: 2 }; values],
        sample,
        location: (1..=locations).map(location).collect(),
        mapping: vec![profile::Mapping {
            id: 1,
            memory_start: 0x5555_5540_0000,
            memory_limit: 0x5555_5540_0000 + (1 << 23),
            filename: 3,
            ..profile::Mapping::default()
        }],
        string_table: ["", "samples", "count", "/bin/server", "thread", "bytes"].map(str::to_owned).into(),
        ..profile::ProfileRecord::default()
    };
    inner.encode_to_vec()
}

#[test]
fn memory_is_bounded_and_large_profiles_are_read_whole() {
    let cpu = |_: &mut Random| vec![1, 10_000_000];
    let heap = |random: &mut Random| {
        let (objects, size) = (1 + random.below(5_000) as i64, 16i64 << random.below(10));
        vec![objects, objects * size, objects / 2, objects / 2 * size]
    };
    let none = |_: &mut Random| Vec::new();
    let labels = |random: &mut Random| {
        let thread = profile::Label { key: 4, str: 1 + random.below(4) as i64, ..Default::default() };
        vec![thread, profile::Label { key: 5, num: 16i64 << random.below(10), ..Default::default() }]
    };
    for (name, samples, bytes) in [
        ("stacks", 30_000, written((30_000, 8_000), 8..17, cpu, none)),
        ("larger", 120_000, written((120_000, 20_000), 8..17, cpu, none)),
        ("leaves", 60_000, written((60_000, 60_000), 1..2, cpu, none)),
        ("few leaves", 60_000, written((60_000, 100), 1..2, |_| vec![1], none)),
        ("heap", 30_000, written((30_000, 8_000), 4..33, heap, none)),
        ("labels", 30_000, written((30_000, 8_000), 8..17, cpu, labels)),
    ] {
        let packed = gzip(&bytes);
        for input in [&packed, &bytes] {
            let report = parse(input).unwrap_or_else(|error| panic!("{name}: {error}")).report();
            assert_eq!(
                (report.threads.len(), report.warnings.len()),
                (samples, 0),
                "{name}: {:?}",
                report.warnings
            );
        }
        // A lower bound of the cost by this measure: the samples are counted.
        assert!(wire::memory(&bytes).unwrap() > samples as u64 * 136, "{name}");
    }
    // A sample without frames has two bytes and takes over a hundred.
    let mut samples = plain();
    samples.extend([0x12, 0].repeat(1 << 20));
    let packed = gzip(&samples);
    assert!(packed.len() < 20_000);
    for bytes in [&packed, &samples] {
        let error = parse(bytes).unwrap_err();
        assert!(error.contains("bytes of memory, more than"), "{error}");
    }
    // One sample of many numbers, each a byte.
    let mut numbers = plain();
    numbers.extend([0x12, 0x85, 0x80, 0x80, 4, 0x0a, 0x80, 0x80, 0x80, 4]);
    numbers.extend(vec![1; 1 << 23]);
    assert!(parse(&numbers).is_ok());
    assert!(parse(&gzip(&numbers)).unwrap_err().contains("bytes of memory, more than"));
    // Comments, packed and one by one.
    let mut comments = plain();
    comments.extend([0x68, 0].repeat(1 << 23));
    assert!(parse(&gzip(&comments)).unwrap_err().contains("bytes of memory, more than"));
    let mut comments = plain();
    comments.extend([0x6a, 0x80, 0x80, 0x80, 4]);
    comments.extend(vec![1; 1 << 23]);
    assert!(parse(&gzip(&comments)).unwrap_err().contains("bytes of memory, more than"));
    // A field that decoders skip hides nothing.
    let mut hidden = plain();
    hidden.extend([0x12, 13, 0x49, 1, 2, 3, 4, 5, 6, 7, 8, 0x1a, 0, 0x1a, 0]);
    assert!(parse(&hidden).unwrap_err().contains("of a kind that profiles do not have"));
    // Mappings that name one long text.
    let inner = profile::ProfileRecord {
        sample_type: vec![profile::ValueType::default()],
        mapping: vec![profile::Mapping { filename: 1, ..Default::default() }; 1 << 11],
        string_table: vec![String::new(), "x".repeat(1 << 16)],
        ..profile::ProfileRecord::default()
    };
    assert!(parse(&inner.encode_to_vec()).unwrap_err().contains("names of its mappings"));
}

/// Frames of a report are bounded too: a few bytes of gzip may expand to many samples of few frames.
#[test]
fn frames_are_bounded_by_the_bytes_of_the_input() {
    let mut samples = plain();
    let few = parse(&samples).unwrap().report();
    assert!(few.warnings.is_empty());
    samples.extend([0x12, 4, 0x0a, 2, 1, 1].repeat(100_000));
    let packed = gzip(&samples);
    let report = parse(&packed).unwrap().report();
    assert!(report.threads.len() < 50_000, "{}", report.threads.len());
    assert!(report.warnings[0].contains("samples were left out"), "{:?}", report.warnings);
}

/// The caller's bound is no fault of the profile. What is decompressed is there besides the records, once.
#[test]
fn the_caller_bounds_the_memory() {
    let plain = plain();
    let records = wire::memory(&plain).unwrap();
    let is_read = |bytes: &[u8], most: u64| {
        let options = Options { memory: Some(most), ..Options::default() };
        match Profile::parse(bytes, &options) {
            Ok(_) => true,
            Err(ReportError::Memory { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    };
    assert!(is_read(&plain, records) && !is_read(&plain, records - 1));
    let (packed, both) = (gzip(&plain), records + plain.len() as u64);
    let enough = both.max(2 * plain.len() as u64);
    assert!(is_read(&packed, enough) && !is_read(&packed, both - 1));
}

#[test]
fn a_profile_of_another_kind_is_told() {
    // Only a table of strings, as a later version with other fields might have.
    let error = parse(&[0x32, 0, 0x32, 1, b'a']).unwrap_err();
    assert!(error.contains("sample_type") && error.contains("version"), "{error}");
}

fn profile_of(mappings: &[(u64, u64, u64)], locations: &[(u64, u64, u64)]) -> Profile {
    let mapping = |&(id, memory_start, memory_limit): &(u64, u64, u64)| profile::Mapping {
        id,
        memory_start,
        memory_limit,
        ..profile::Mapping::default()
    };
    let location = |&(id, mapping_id, address): &(u64, u64, u64)| profile::Location {
        id,
        mapping_id,
        address,
        ..profile::Location::default()
    };
    let location_id = locations.iter().map(|location| location.0).collect();
    let inner = profile::ProfileRecord {
        sample_type: vec![profile::ValueType::default()],
        sample: vec![profile::Sample { location_id, value: vec![1], label: Vec::new() }],
        mapping: mappings.iter().map(mapping).collect(),
        location: locations.iter().map(location).collect(),
        ..profile::ProfileRecord::default()
    };
    Profile::new(inner, MAX_FRAMES as usize, &Options::default())
}

#[test]
fn mappings_that_overlap_are_told_apart() {
    let two = [(1, 0x1000, 0x3000), (2, 0x2000, 0x4000)];
    let locations = [(1, 1, 0x2500), (2, 2, 0x2500), (3, 9, 0x2500), (4, 0, 0x1000), (5, 1, 0x3500)];
    let report = profile_of(&two, &locations).report();
    let frames = &report.threads[0].frames;
    let places: Vec<_> = frames.iter().map(|frame| frame.place).collect();
    let mapped = |module, address| ReportedAddress::Mapped { module, address };
    // An address without a mapping belongs to neither process.
    assert_eq!(
        places,
        [
            mapped(0, 0x2500),
            mapped(1, 0x2500),
            ReportedAddress::Unknown,
            ReportedAddress::Unknown,
            mapped(0, 0x3500)
        ]
    );
    // An address outside of its mapping is not in another one.
    let symbolizer = foldsym_symbolize::Symbolizer::builder().build().unwrap();
    let stack = foldsym_symbolize::Stack::new(&report.modules, frames.clone());
    let modules: Vec<_> = symbolizer.symbolize(&stack).iter().map(|frame| frame.module.is_some()).collect();
    assert_eq!(modules, [true, true, false, false, false]);
    let apart = [(1, 0x1000, 0x2000), (2, 0x2000, 0x4000)];
    let report = profile_of(&apart, &locations[2..]).report();
    let places: Vec<_> = report.threads[0].frames.iter().map(|frame| frame.place).collect();
    assert_eq!(places, [ReportedAddress::Memory(0x2500), ReportedAddress::Memory(0x1000), mapped(0, 0x3500)]);
}

#[test]
fn what_is_missing_is_not_found_among_what_is_added() {
    let mut inner = profile::ProfileRecord::decode(&plain()[..]).unwrap();
    let (strings, locations, functions) =
        (inner.string_table.len(), inner.location.len(), inner.function.len());
    // An index and ids that would be the next free ones.
    let next = |ids: &mut dyn Iterator<Item = u64>| ids.max().unwrap_or(0) + 1;
    let location_id = next(&mut inner.location.iter().map(|one| one.id));
    let function_id = next(&mut inner.function.iter().map(|one| one.id));
    (inner.sample_type[0].unit, inner.period_type) = (strings as i64, None);
    inner.sample[0].location_id.insert(0, location_id);
    let line = profile::LineRecord { function_id, ..profile::LineRecord::default() };
    let lost = profile::Location { id: u64::MAX, line: vec![line], ..profile::Location::default() };
    inner.location.push(lost);
    let profile = Profile::new(inner, MAX_FRAMES as usize, &Options::default());

    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reports/mail");
    let symbolizer = foldsym_symbolize::Symbolizer::builder().search([program]).build().unwrap();
    let mut bytes = Vec::new();
    let done = profile.rewrite(&mut symbolizer.worker(), &mut bytes).unwrap();
    assert!(done.named > 0 && done.locations_added > 0, "{done:?}");
    let again = parse(&bytes).unwrap();
    assert!(again.strings.len() > strings && again.inner.location.len() > locations + 1);
    assert!(again.inner.function.len() > functions);
    assert_eq!(again.value_types()[0], "samples/");
    assert!(!again.locations.contains_key(&location_id));
    assert!(again.inner.function.iter().all(|function| function.id != function_id));
    let [before, after] = [&profile, &again].map(Profile::report);
    let places = |report: &Report| -> Vec<Vec<_>> {
        report.threads.iter().map(|one| one.frames.iter().map(|frame| frame.place).collect()).collect()
    };
    assert_eq!(places(&before), places(&after));
}

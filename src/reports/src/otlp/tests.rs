//! Messages that are damaged, of other versions, or that were made to be expensive.

use std::io::Write;

use foldsym_symbolize::{AddressKind, Mapping, ReportedAddress};
use prost::encoding::{WireType, encode_key, encode_varint};

use super::*;

const BINARY: &[u8] = include_bytes!("../../tests/reports/mail.otlp");
const JSON: &[u8] = include_bytes!("../../tests/reports/mail.otlp.json");

fn parse(bytes: &[u8]) -> Result<Profiles, String> {
    Profiles::parse(bytes, &Options::default()).map_err(|error| error.to_string())
}

fn is_one(bytes: &[u8]) -> bool {
    OtlpReader.is_one(bytes)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// A field that is a message, a string or a list.
fn field(number: u32, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut out);
    encode_varint(body.len() as u64, &mut out);
    out.extend_from_slice(body);
    out
}

fn number(number: u32, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key(number, WireType::Varint, &mut out);
    encode_varint(value, &mut out);
    out
}

/// A message with these samples, and a dictionary with these fields and an empty string.
fn message(samples: &[u8], dictionary: &[u8]) -> Vec<u8> {
    let profile = field(2, samples);
    [field(1, &field(2, &profile)), field(2, &[&field(5, b""), dictionary].concat())].concat()
}

#[test]
fn a_message_is_known_in_every_form() {
    let framed = [&(BINARY.len() as u32).to_be_bytes()[..], BINARY].concat().repeat(2);
    let count = parse(BINARY).unwrap().report().threads.len();
    assert!(count > 10);
    for (bytes, times) in [
        (BINARY.to_vec(), 1),
        (gzip(BINARY), 1),
        (JSON.to_vec(), 1),
        (gzip(JSON), 1),
        (JSON.repeat(3), 3),
        (framed, 2),
    ] {
        assert!(is_one(&bytes), "{}", bytes[..8].escape_ascii());
        assert_eq!(Format::of(&bytes), Some(Format::Otlp));
        let report = parse(&bytes).unwrap().report();
        assert_eq!(
            (report.threads.len(), &report.value_types[..]),
            (times * count, &["samples/count".to_owned()][..])
        );
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    }
    let pprof = include_bytes!("../../tests/reports/mail.pb.gz");
    for other in
        [&b""[..], b"\n", b"{}", b"{\"dictionary\":{}}", b"\x12\0", b"\0\0\0\x02\x12\0", b"\x1f\x8b", pprof]
    {
        assert!(!is_one(other), "{other:?}");
    }
}

#[test]
fn a_message_that_is_cut_off_is_refused_at_every_length() {
    let mut read = 0;
    for len in 0..BINARY.len() {
        read += usize::from(parse(&BINARY[..len]).is_ok_and(|profiles| profiles.samples() > 0));
    }
    // Before the dictionary there are samples, but no stacks.
    assert_eq!(read, 0);
    for len in 1..JSON.len() - 1 {
        assert!(parse(&JSON[..len]).is_err(), "{len}");
    }
    let framed = [&(BINARY.len() as u32 + 1).to_be_bytes()[..], BINARY].concat();
    assert!(parse(&framed).unwrap_err().contains("offset 0x0 extends beyond"));
}

/// Changed bytes are read, or refused with a message, and what is read can be written.
#[test]
fn damaged_bytes_do_no_harm() {
    let symbolizer = foldsym_symbolize::Symbolizer::builder().build().unwrap();
    let mut worker = symbolizer.worker();
    for given in [BINARY, JSON] {
        for at in (0..given.len()).step_by(1 + given.len() / 500) {
            for value in [0, 0x80, 0xff, b'9', given[at] ^ 4] {
                let mut bytes = given.to_vec();
                bytes[at] = value;
                if let Ok(profiles) = parse(&bytes) {
                    let mut out = Vec::new();
                    if profiles.rewrite(&mut worker, &mut out, |_| true).is_ok() {
                        assert!(!out.is_empty());
                    }
                    profiles.report();
                }
            }
        }
    }
}

#[test]
fn indices_outside_of_their_tables_are_warnings_and_stay_outside() {
    // A stack of location 9, which is missing, and of a location whose mapping and attribute are.
    let location = [number(1, 7), number(2, 0x10), field(4, &[99])].concat();
    let tables = [field(2, &[]), field(2, &location), field(7, &[]), field(7, &field(1, &[9, 1]))].concat();
    let samples = [field(2, &number(1, 1)), field(2, &number(1, 5)), field(2, &number(1, u64::MAX))].concat();
    let bytes = message(&samples, &tables);
    let profiles = parse(&bytes).unwrap();
    let symbolizer = foldsym_symbolize::Symbolizer::builder().build().unwrap();
    let error = profiles.rewrite(&mut symbolizer.worker(), &mut Vec::new(), |_| true).unwrap_err();
    assert_eq!(error, NotRewritten::Astray(1));
    let report = profiles.report();
    assert_eq!(report.threads.len(), 3);
    assert!(report.warnings[0].starts_with("4 references"), "{:?}", report.warnings);
    assert!(report.threads[0].frames.iter().all(|frame| frame.place == ReportedAddress::Unknown));
}

#[test]
fn a_version_without_a_table_of_stacks_says_so() {
    let bytes = message(&field(2, &number(1, 0)), &field(2, &[]));
    assert!(parse(&bytes).unwrap_err().contains("of a version of the protocol before 1.9"));
}

#[test]
fn addresses_of_the_kernel_and_of_interpreters() {
    let kernel = [number(1, 1), field(2, &field(1, b"kernel"))].concat();
    let at = |mapping: u64, address: u64, list: &[u8]| {
        field(2, &[number(1, mapping), number(2, address), field(4, list)].concat())
    };
    let tables = [
        field(5, b"profile.frame.type"),
        field(6, &[]),
        field(6, &kernel),
        field(1, &[]),
        field(1, &[]),
        field(1, &[]),
        field(1, &[number(1, 0x1000), number(2, 0x2000), number(3, 0x400)].concat()),
        field(2, &[]),
        at(1, 0x20, &[1]),
        at(1, 0x30, &[1]),
        at(2, 0x40, &[]),
        at(3, 0x1050, &[]),
        at(0, 0x60, &[]),
        field(7, &[]),
        field(7, &field(1, &[1, 2, 3, 4, 5])),
    ];
    let samples = field(2, &[number(1, 1), field(5, &[0; 24])].concat());
    let report = parse(&message(&samples, &tables.concat())).unwrap().report();
    let thread = &report.threads[0];
    let frames: Vec<_> = thread.frames.iter().map(|frame| (frame.place, frame.kind)).collect();
    let mapped = |module, address| ReportedAddress::Mapped { module, address };
    assert_eq!(
        frames,
        [
            (mapped(1, 0x20), AddressKind::Adjusted),
            (mapped(1, 0x30), AddressKind::Adjusted),
            // The first outside of the kernel.
            (ReportedAddress::Image { module: 2, address: 0x40 }, AddressKind::Exact),
            (mapped(3, 0x1050), AddressKind::Adjusted),
            (ReportedAddress::Unknown, AddressKind::Adjusted),
        ]
    );
    let modules = thread.modules.as_ref().unwrap();
    assert_eq!(modules[1].sections.as_deref(), Some(&[(".text".to_owned(), 0)][..]));
    assert_eq!(modules[3].mapping, Mapping::FilePart { start: 0x1000, size: 0x1000, file_offset: 0x400 });
    // Three times, and no values.
    assert_eq!(thread.values, [3]);
}

#[test]
fn memory_is_bounded_by_the_bytes_of_the_input() {
    let many = |one: Vec<u8>, count: usize| one.repeat(count);
    for (name, bytes) in [
        ("samples", message(&many(field(2, &[]), 1 << 22), &field(7, &[]))),
        ("stacks", message(&[], &many(field(7, &[]), 1 << 22))),
        ("locations", message(&[], &many(field(2, &[]), 1 << 22))),
        ("strings", message(&[], &many(field(5, &[]), 1 << 22))),
        ("mappings", message(&[], &many(field(1, &[]), 1 << 22))),
        ("indices", message(&[], &field(7, &field(1, &vec![1; 1 << 24])))),
    ] {
        let error = parse(&gzip(&bytes)).unwrap_err();
        assert!(error.contains("bytes of memory, more than"), "{name}: {error}");
    }
    let lists = format!(
        "{{\"resourceProfiles\":[],\"dictionary\":{{\"stackTable\":[{}{{}}]}}}}",
        "{},".repeat(1 << 22)
    );
    assert!(parse(&gzip(lists.as_bytes())).unwrap_err().contains("bytes of memory, more than"));
    let options = Options { memory: Some(100), ..Options::default() };
    assert!(matches!(Profiles::parse(BINARY, &options), Err(ReportError::Memory { .. })));
    // A text of many brackets.
    let deep = format!("{{\"resourceProfiles\":[],\"dictionary\":{}", "[".repeat(1 << 20));
    assert!(parse(deep.as_bytes()).is_err());
}

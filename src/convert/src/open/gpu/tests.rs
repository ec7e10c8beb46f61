//! Hand-made containers, whole and damaged.

use std::path::Path;

use super::*;

/// A file header is enough to be taken for an ELF file.
const ELF: &[u8] = b"\x7fELF\x02\x01\x01\x40";

fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    out.extend((entries.len() as u64).to_le_bytes());
    let mut at = 32 + entries.iter().map(|(name, _)| 24 + name.len()).sum::<usize>();
    for (name, data) in entries {
        for value in [at, data.len(), name.len()] {
            out.extend((value as u64).to_le_bytes());
        }
        out.extend(name.as_bytes());
        at += data.len();
    }
    entries.iter().for_each(|(_, data)| out.extend(*data));
    out
}

fn compressed(version: u16, plain: &[u8]) -> Vec<u8> {
    let packed = zstd::encode_all(plain, 3).unwrap();
    let mut out = b"CCOB".to_vec();
    out.extend(version.to_le_bytes());
    out.extend(1u16.to_le_bytes());
    match version {
        1 => out.extend((plain.len() as u32).to_le_bytes()),
        2 => {
            out.extend((24 + packed.len() as u32).to_le_bytes());
            out.extend((plain.len() as u32).to_le_bytes());
        }
        _ => {
            out.extend((32 + packed.len() as u64).to_le_bytes());
            out.extend((plain.len() as u64).to_le_bytes());
        }
    }
    out.extend([0; 8]);
    out.extend(packed);
    out
}

/// An offload binary of version 1 or 2 with one image.
fn offload(version: u32, arch: &str, image: &[u8]) -> Vec<u8> {
    let string_len = if version == 1 { 16 } else { 24 };
    let strings = 72u64;
    let texts = strings + 2 * string_len;
    let text = format!("triple\0amdgcn-amd-amdhsa\0arch\0{arch}\0");
    let offset = texts + text.len() as u64;
    let mut out = vec![0x10, 0xff, 0x10, 0xad];
    out.extend(version.to_le_bytes());
    let last = if version == 1 { 40 } else { 1 };
    for value in [offset + image.len() as u64, 32, last, 0, strings, 2, offset, image.len() as u64] {
        out.extend(value.to_le_bytes());
    }
    for (key, value) in [(0, 7), (25, 30)] {
        out.extend(u64::to_le_bytes(texts + key));
        out.extend(u64::to_le_bytes(texts + value));
        out.extend(vec![0; string_len as usize - 16]);
    }
    out.extend(text.as_bytes());
    out.extend(image);
    out
}

fn found(data: &[u8]) -> Result<Vec<(String, usize)>, String> {
    let files = Files::default();
    let data = files.keep(data.to_vec());
    let contents = contents(&files, Path::new("p"), data, None).map_err(|error| error.to_string())?;
    Ok(contents.objects.into_iter().map(|object| (object.target, object.data.len())).collect())
}

const GFX: &str = "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+";

#[test]
fn every_container() {
    let one = || vec![("amdgcn-amd-amdhsa--gfx90a:xnack+".to_owned(), ELF.len())];
    let plain = bundle(&[("host-x86_64-unknown-linux--", &[]), (GFX, ELF)]);
    assert_eq!(found(&plain), Ok(one()));
    for version in 1..=3 {
        assert_eq!(found(&compressed(version, &plain)), Ok(one()), "version {version}");
    }
    for version in 1..=2 {
        assert_eq!(
            found(&offload(version, "gfx906", ELF)),
            Ok(vec![("amdgcn-amd-amdhsa--gfx906".to_owned(), ELF.len())])
        );
    }
    // Several containers after each other, with two device programs of one target.
    let padded = [&plain[..], &[0; 100], &compressed(3, &plain), &offload(1, "gfx906", ELF)].concat();
    let names: Vec<String> = found(&padded).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "amdgcn-amd-amdhsa--gfx90a:xnack+",
            "amdgcn-amd-amdhsa--gfx90a:xnack+#2",
            "amdgcn-amd-amdhsa--gfx906"
        ]
    );
}

#[test]
fn names_of_entries() {
    for (name, expected) in [
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", Some("amdgcn-amd-amdhsa--gfx90a:xnack-")),
        (
            "hip-amdgcn-amd-amdhsa-unknown-gfx90a:sramecc+:xnack-",
            Some("amdgcn-amd-amdhsa-unknown-gfx90a:sramecc+:xnack-"),
        ),
        ("openmp-amdgcn-amd-amdhsa--", Some("amdgcn-amd-amdhsa")),
        ("host-x86_64-unknown-linux--", None),
        ("host-x86_64-pc-linux-gnu", None),
    ] {
        assert_eq!(bundle::target(name), expected, "{name}");
    }
    for (target, processor) in [
        ("amdgcn-amd-amdhsa--gfx90a:xnack-", "gfx90a:xnack-"),
        ("amdgcn-amd-amdhsa-unknown-gfx90a", "gfx90a"),
        ("amdgcn-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic"),
        ("amdgcn-amd-amdhsa-gfx906", "gfx906"),
        ("amdgcn-amd-amdhsa-gfx9-generic", "gfx9-generic"),
        ("nvptx64-nvidia-cuda-unknown-sm_70", "sm_70"),
        ("x86_64", "x86_64"),
    ] {
        assert_eq!(super::processor(target), processor, "{target}");
    }
    // The host's entry is an ELF file too. The bundle has one device program.
    let host = bundle(&[("host-x86_64-pc-linux-gnu", b"\x7fELFhost"), (GFX, ELF)]);
    assert_eq!(found(&host).unwrap().len(), 1);
}

#[test]
fn names_have_a_bound_and_entries_that_are_no_program_are_counted() {
    let long = "x".repeat(100_000);
    let entries: Vec<(&str, &[u8])> = (0..100).map(|_| (long.as_str(), &b"BC"[..])).collect();
    let error = found(&bundle(&entries)).unwrap_err();
    assert!(error.contains("names of device programs"), "{error}");
    let entries: Vec<(&str, &[u8])> = (0..100).map(|_| (GFX, &b"BC"[..])).collect();
    let files = Files::default();
    let found = contents(&files, Path::new("p"), files.keep(bundle(&entries)), None).unwrap();
    let note = found.note().unwrap();
    assert_eq!((note.count, note.first.matches("gfx90a").count()), (100, device::LISTED));
    assert!(note.first.ends_with(", ..."), "{note}");
}

#[test]
fn targets_by_their_names() {
    let two = bundle(&[(GFX, ELF), ("hip-amdgcn-amd-amdhsa--gfx906", b"\x7fELF!")]);
    let files = Files::default();
    let data = files.keep(two);
    let choose = |wanted| choose(&files, Path::new("p"), data, wanted, None);
    for wanted in ["gfx90a", "gfx90a:xnack+", "amdgcn-amd-amdhsa--gfx90a:xnack+"] {
        assert_eq!(choose(Some(wanted)).unwrap(), Some((ELF, None)), "{wanted}");
    }
    for wanted in [None, Some("gfx9"), Some("amdgcn"), Some("gfx90a:xnack-")] {
        let error = choose(wanted).unwrap_err();
        assert!(error.is_usage(), "{error}");
        let names = "it has: amdgcn-amd-amdhsa--gfx90a:xnack+, amdgcn-amd-amdhsa--gfx906";
        assert!(error.to_string().ends_with(names), "{error}");
    }
    // A single device program is selected. A container without one is an error.
    let data = files.keep(bundle(&[(GFX, ELF)]));
    assert_eq!(super::choose(&files, Path::new("p"), data, None, None).unwrap(), Some((ELF, None)));
    let data = files.keep(bundle(&[(GFX, b"BC\xc0\xde")]));
    let error = super::choose(&files, Path::new("p"), data, None, None).unwrap_err();
    assert!(!error.is_usage() && error.to_string().contains("gfx90a"), "{error}");
    // Two device programs with the same target: the number selects one, the name alone does not.
    let data = files.keep(bundle(&[(GFX, ELF), (GFX, b"\x7fELF2")]));
    let twice = |wanted| super::choose(&files, Path::new("p"), data, Some(wanted), None);
    assert!(twice("gfx90a").unwrap_err().is_usage());
    assert_eq!(twice("gfx90a:xnack+#2").unwrap(), Some((&b"\x7fELF2"[..], None)));
    assert_eq!(twice("amdgcn-amd-amdhsa--gfx90a:xnack+#2").unwrap(), Some((&b"\x7fELF2"[..], None)));
}

/// Sets 8 bytes.
fn with(mut data: Vec<u8>, at: usize, value: u64) -> Vec<u8> {
    data[at..at + 8].copy_from_slice(&value.to_le_bytes());
    data
}

#[test]
fn entries_outside_the_file_and_sizes_that_lie() {
    let plain = || bundle(&[(GFX, ELF)]);
    let packed = || compressed(3, &plain());
    let binary = || offload(1, "gfx906", ELF);
    for (what, data, word) in [
        ("an entry behind the end", with(plain(), 32, 1 << 40), "is outside of"),
        ("an entry that is too long", with(plain(), 40, 1 << 40), "is outside of"),
        ("an offset that wraps", with(plain(), 32, u64::MAX), "is outside of"),
        ("a name that is too long", with(plain(), 48, u64::MAX), "cut off"),
        ("a count of entries", with(plain(), 24, 1000), "cut off"),
        ("an absurd count", with(plain(), 24, u64::MAX), "at most"),
        ("a whole that is too long", with(packed(), 8, 1 << 40), "claimed"),
        ("too little decompressed", with(packed(), 16, 1), "more than the 1 bytes"),
        ("more decompressed than there is", with(packed(), 16, 4096), "4096 claimed"),
        ("more than is allowed", with(packed(), 16, 1 << 50), "at most"),
        (
            "another version",
            {
                let mut d = packed();
                d[4] = 9;
                d
            },
            "version 9",
        ),
        (
            "another method",
            {
                let mut d = packed();
                d[6] = 7;
                d
            },
            "method 7",
        ),
        ("a bundle that holds a bundle", compressed(3, &packed()), "no bundle"),
        ("a binary that is too long", with(binary(), 8, 1 << 40), "claimed"),
        ("a binary that is too short", with(binary(), 8, 8), "claimed"),
        ("an entry's header", with(binary(), 16, 1 << 40), "outside"),
        ("strings", with(binary(), 40, u64::MAX), "outside"),
        ("many strings", with(binary(), 48, u64::MAX), "outside"),
        ("an image", with(binary(), 56, 1 << 40), "outside"),
        ("many entries", with(offload(2, "gfx906", ELF), 24, 1 << 60), "at most"),
        ("junk behind it", [plain(), b"junk".to_vec()].concat(), "neither"),
    ] {
        let error = found(&data).expect_err(what);
        assert!(
            error.starts_with("p: offset 0x0, offload container at") && error.contains(word),
            "{what}: {error}"
        );
    }
}

#[test]
fn no_cut_makes_it_panic() {
    let plain = bundle(&[("host-x86_64-unknown-linux--", &[]), (GFX, ELF)]);
    for data in [plain.clone(), compressed(2, &plain), offload(1, "gfx906", ELF), offload(2, "gfx906", ELF)] {
        for len in 0..data.len() {
            let whole = found(&data[..len]);
            assert!(whole.as_ref().is_ok_and(Vec::is_empty) || whole.is_err(), "{len}: {whole:?}");
        }
        for at in 0..data.len() {
            let mut bad = data.clone();
            bad[at] ^= 0x81;
            let _ = found(&bad);
        }
    }
}

#[test]
fn the_most_exact_name_counts_and_a_place_is_found_again() {
    let files = Files::default();
    let (plain, other) = ("openmp-amdgcn-amd-amdhsa--gfx90a", b"\x7fELFplain");
    let data = files
        .keep([compressed(3, &bundle(&[(GFX, ELF)])), compressed(3, &bundle(&[(plain, other)]))].concat());
    let choose = |wanted, place| choose(&files, Path::new("p"), data, wanted, place).unwrap().unwrap().0;
    assert_eq!(choose(Some("gfx90a"), None), other);
    assert_eq!(choose(Some(plain), None), other);
    assert_eq!(choose(Some("gfx90a:xnack+"), None), ELF);
    let before = files.buffer_bytes();
    for (object, expected) in
        contents(&files, Path::new("p"), data, None).unwrap().objects.iter().zip([ELF, other])
    {
        assert_eq!(choose(None, Some(object.place)), expected);
    }
    // Each container is decompressed once for the list, and once for its program.
    assert_eq!(
        files.buffer_bytes() - before,
        2 * (bundle(&[(GFX, ELF)]).len() + bundle(&[(plain, other)]).len()) as u64
    );
}

//! Separate debug files, dwz files, embedded symbols, and paths that are not regular files.

use std::fs;
use std::io::Write;

use super::build::*;
use super::*;
use crate::open::{DebugSection, ImageKind};

const ID: [u8; 3] = [0xab, 0xcd, 0xef];

/// A program without debug sections, with this build id and debug link.
fn stripped(id: Option<&[u8]>, link: Option<(&str, u32)>) -> Vec<u8> {
    let mut elf = Elf::x86_64(3);
    elf.add(".text", PROGBITS, CODE, 0x1000, &[0x90; 0x40]);
    if let Some(id) = id {
        elf.add_build_id(id);
    }
    if let Some((name, checksum)) = link {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize((name.len() + 1).next_multiple_of(4), 0);
        bytes.extend(checksum.to_le_bytes());
        elf.add(".gnu_debuglink", PROGBITS, 0, 0, &bytes);
    }
    elf.dynamic = vec![func("exported", 0x1010, 4, 1), func("alias", 0x1010, 4, 1)];
    elf.build()
}

/// A file as `objcopy --only-keep-debug` makes it. Its section numbers differ from the program's.
fn debug_file(id: Option<&[u8]>, altlink: Option<(&str, &[u8])>) -> Vec<u8> {
    let mut elf = Elf::x86_64(3);
    elf.add(".interp", NOBITS, ALLOC, 0x10, &[]);
    let text = elf.add(".text", NOBITS, CODE, 0x1000, &[]);
    elf.sections[text - 1].size = Some(0x40);
    if let Some(id) = id {
        elf.add_build_id(id);
    }
    elf.add(".debug_info", PROGBITS, 0, 0, b"separate");
    if let Some((name, id)) = altlink {
        let bytes = [name.as_bytes(), &[0], id].concat();
        elf.add(".gnu_debugaltlink", PROGBITS, 0, 0, &bytes);
    }
    elf.symbols = vec![func("local", 0x1000, 8, text as u16), func("exported", 0x1010, 4, text as u16)];
    elf.build()
}

fn is_joined(image: &Image<'_>) -> bool {
    let names: Vec<_> =
        image.symbols.iter().map(|symbol| (symbol.name, symbol.section, symbol.dynamic)).collect();
    let text = image.sections.iter().position(|section| section.name == ".text").unwrap() as u32;
    image.debug.get(DebugSection::Info) == b"separate"
        && names == [(&b"local"[..], text, false), (b"exported", text, false), (b"alias", text, true)]
        && image.kind == ImageKind::Dynamic
}

#[test]
fn a_debug_file_is_found_by_build_id() {
    let dir = tempfile::tempdir().unwrap();
    let (program, root) = (dir.path().join("prog"), dir.path().join("root"));
    fs::write(&program, stripped(Some(&ID), None)).unwrap();
    fs::create_dir_all(root.join(".build-id/ab")).unwrap();
    fs::write(root.join(".build-id/ab/cdef.debug"), debug_file(Some(&ID), None)).unwrap();
    let files = Files::new();
    assert!(!open_image(&files, &program, &no_system()).unwrap().debug.has_units());
    let options = OpenOptions { debug_dirs: vec![root.clone()], ..no_system() };
    let image = open_image(&files, &program, &options).unwrap();
    assert!(is_joined(&image));
    assert_eq!(image.debug_path, Some(root.join(".build-id/ab/cdef.debug")));
    let off = OpenOptions { separate: false, ..options };
    assert!(!open_image(&files, &program, &off).unwrap().debug.has_units());
    let alone = open_image(&files, image.debug_path.as_ref().unwrap(), &no_system()).unwrap();
    assert_eq!(alone.kind, ImageKind::DebugOnly);
    assert!(alone.sections.iter().any(|section| section.executable && section.range.end.0 == 0x1040));
}

#[test]
fn a_debug_link_is_followed_where_gdb_does() {
    let debug = debug_file(None, None);
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (bin, root) = (base.join("bin"), base.join("root"));
    fs::create_dir_all(bin.join(".debug")).unwrap();
    let program = bin.join("prog");
    fs::write(&program, stripped(None, Some(("prog.debug", crc32fast::hash(&debug))))).unwrap();
    let below_root = root.join(bin.strip_prefix("/").unwrap_or(&bin));
    fs::create_dir_all(&below_root).unwrap();
    let options = OpenOptions { debug_dirs: vec![root], ..no_system() };
    for folder in [bin.clone(), bin.join(".debug"), below_root] {
        let place = folder.join("prog.debug");
        fs::write(&place, &debug).unwrap();
        let files = Files::new();
        assert!(is_joined(&open_image(&files, &program, &options).unwrap()));
        // A damaged file is refused by its checksum.
        fs::write(&place, [&debug[..], b"x"].concat()).unwrap();
        let image = open_image(&files, &program, &options).unwrap();
        assert!(noted(&image, OpenDiagnosticKind::DebugFileMismatch).unwrap().1.contains("CRC-32"));
        assert!(noted(&image, OpenDiagnosticKind::DebugFileNotFound).is_some());
        fs::remove_file(&place).unwrap();
    }
}

#[test]
fn a_debug_file_of_another_build_is_refused_with_both_ids() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("prog");
    let debug = debug_file(Some(&[1, 2, 3]), None);
    fs::write(&program, stripped(Some(&ID), Some(("prog.debug", crc32fast::hash(&debug))))).unwrap();
    fs::write(dir.path().join("prog.debug"), &debug).unwrap();
    let files = Files::new();
    let image = open_image(&files, &program, &no_system()).unwrap();
    assert!(!image.debug.has_units());
    let (_, first) = noted(&image, OpenDiagnosticKind::DebugFileMismatch).unwrap();
    assert!(first.contains("010203") && first.contains("abcdef"), "{first}");
}

#[test]
fn a_debug_link_is_a_file_name_and_not_the_program() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("bin")).unwrap();
    let program = dir.path().join("bin/prog");
    let debug = debug_file(None, None);
    fs::write(dir.path().join("evil"), &debug).unwrap();
    let files = Files::new();
    for name in ["../evil", "/etc/passwd", "..", "a/b"] {
        fs::write(&program, stripped(None, Some((name, crc32fast::hash(&debug))))).unwrap();
        let image = open_image(&files, &program, &no_system()).unwrap();
        assert!(noted(&image, OpenDiagnosticKind::PathRefused).is_some(), "{name}");
        assert!(!image.debug.has_units());
    }
    fs::write(&program, stripped(None, Some(("prog", 0)))).unwrap();
    let image = open_image(&files, &program, &no_system()).unwrap();
    assert!(noted(&image, OpenDiagnosticKind::DebugFileMismatch).is_none());
}

#[test]
fn a_dwz_file_is_found_by_name_and_checked_by_id() {
    let dir = tempfile::tempdir().unwrap();
    let mut dwz = Elf::x86_64(3);
    dwz.add_build_id(&[5, 6, 7]);
    dwz.sections[0].flags = 0;
    dwz.add(".debug_str", PROGBITS, 0, 0, b"shared\0");
    fs::create_dir_all(dir.path().join("root/.dwz")).unwrap();
    let program = dir.path().join("prog");
    let files = Files::new();
    let options = OpenOptions { debug_dirs: vec![dir.path().join("root")], ..no_system() };

    fs::write(&program, debug_file(None, Some(("no/such/common.dwz", &[5, 6, 7])))).unwrap();
    let image = open_image(&files, &program, &options).unwrap();
    assert!(noted(&image, OpenDiagnosticKind::SupplementaryNotFound).unwrap().1.contains("050607"));

    fs::write(dir.path().join("root/.dwz/common.dwz"), dwz.build()).unwrap();
    let image = open_image(&files, &program, &options).unwrap();
    assert_eq!(image.supplementary.unwrap().get(DebugSection::Str), b"shared\0");

    fs::write(&program, debug_file(None, Some(("root/.dwz/common.dwz", &[9, 9])))).unwrap();
    let image = open_image(&files, &program, &no_system()).unwrap();
    let (_, first) = noted(&image, OpenDiagnosticKind::DebugFileMismatch).unwrap();
    assert!(first.contains("050607") && first.contains("0909") && image.supplementary.is_none());
}

#[test]
fn embedded_symbols_serve_where_there_is_no_symbol_table() {
    let mut mini = Elf::x86_64(3);
    let text = mini.add(".text", NOBITS, CODE, 0x1000, &[]);
    mini.sections[text - 1].size = Some(0x40);
    mini.symbols = vec![func("hidden", 0x1020, 4, text as u16)];
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(&mini.build()).unwrap();
    let stream = encoder.finish().unwrap();

    let mut elf = Elf::x86_64(3);
    elf.add(".text", PROGBITS, CODE, 0x1000, &[0x90; 0x40]);
    elf.add(".gnu_debugdata", PROGBITS, 0, 0, &stream);
    let names = |elf: &Elf| {
        let files = Files::new();
        let image = open(&files, elf.build()).unwrap();
        let names =
            image.symbols.iter().map(|symbol| String::from_utf8_lossy(symbol.name).into_owned()).collect();
        (Vec::<String>::clone(&names), noted(&image, OpenDiagnosticKind::BadMiniDebugInfo).is_some())
    };
    assert_eq!(names(&elf), (vec!["hidden".to_owned()], false));
    elf.symbols = vec![func("own", 0x1000, 4, 1)];
    assert_eq!(names(&elf), (vec!["own".to_owned()], false));
    elf.symbols.clear();
    elf.sections[1].bytes.truncate(stream.len() / 2);
    assert_eq!(names(&elf), (vec![], true));
}

#[test]
fn only_regular_files_are_opened() {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::new();
    let refused = |path: &Path| open_image(&files, path, &no_system()).err().unwrap().to_string();
    assert!(refused(dir.path()).contains("is a directory, expected a regular file"));
    assert!(refused(&dir.path().join("missing")).contains("cannot open"));
    let empty = dir.path().join("empty");
    fs::write(&empty, []).unwrap();
    assert!(refused(&empty).contains("an empty file"));
    #[cfg(unix)]
    {
        assert!(refused(Path::new("/dev/null")).contains("expected a regular file"));
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(refused(&socket).contains("expected a regular file"));
    }
}

#[test]
fn a_released_part_of_a_file_reads_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let bytes: Vec<u8> = (0..100_000u32).map(|number| (number % 251) as u8).collect();
    fs::write(&path, &bytes).unwrap();
    let files = Files::new();
    let (mapped, kept) = (files.map(&path).unwrap(), files.keep(bytes.clone()));
    for part in [mapped, &mapped[5000..70_000], &mapped[99_999..], &mapped[..0], kept, &[1, 2]] {
        files.release(part);
        assert!(mapped == bytes && kept == bytes);
    }
}

/// `.debug_sup` of DWARF 5 7.3.6.
fn sup(is_supplementary: u8, name: &[u8], checksum: &[u8]) -> Vec<u8> {
    [&[5, 0, is_supplementary], name, &[0, checksum.len() as u8], checksum].concat()
}

#[test]
fn a_supplementary_file_of_dwarf_5_is_checked_by_its_checksum() {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::new();
    let opened = |link: &[u8], own: &[u8]| {
        let mut program = Elf::x86_64(3);
        program.add(".text", PROGBITS, CODE, 0x1000, &[0x90; 0x40]);
        program.add(".debug_info", PROGBITS, 0, 0, b"units");
        program.add(".debug_sup", PROGBITS, 0, 0, link);
        fs::write(dir.path().join("prog"), program.build()).unwrap();
        let mut shared = Elf::x86_64(3);
        shared.add(".debug_str", PROGBITS, 0, 0, b"shared\0");
        shared.add(".debug_sup", PROGBITS, 0, 0, own);
        fs::write(dir.path().join("shared"), shared.build()).unwrap();
        open_image(&files, &dir.path().join("prog"), &no_system()).unwrap()
    };
    let image = opened(&sup(0, b"shared", &[5, 6, 7]), &sup(1, b"", &[5, 6, 7]));
    assert_eq!(image.supplementary.unwrap().get(DebugSection::Str), b"shared\0");
    // Another checksum, and a file that does not say that it is a supplementary file.
    for own in [sup(1, b"", &[9, 9]), sup(0, b"", &[5, 6, 7])] {
        let image = opened(&sup(0, b"shared", &[5, 6, 7]), &own);
        assert!(image.supplementary.is_none());
        let (_, first) = noted(&image, OpenDiagnosticKind::DebugFileMismatch).unwrap();
        assert!(first.contains("the link says 050607"), "{first}");
    }
    // A damaged `.debug_sup` is not a link.
    let whole = sup(0, b"shared", &[5, 6, 7]);
    for cut in 0..whole.len() {
        assert!(opened(&whole[..cut], &sup(1, b"", &[5, 6, 7])).supplementary.is_none(), "{cut}");
    }
    let other_version = [&[4, 0], &whole[2..]].concat();
    assert!(opened(&other_version, &sup(1, b"", &[5, 6, 7])).supplementary.is_none());
}

#[test]
fn files_may_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let files = Files::new();
    shared(&files);
    let kept: Vec<&[u8]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8u8).map(|number| (number, &files)).collect();
        let threads: Vec<_> = threads
            .into_iter()
            .map(|(number, files)| scope.spawn(move || files.keep(vec![number; 100])))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (number, bytes) in kept.iter().enumerate() {
        assert_eq!(*bytes, [number as u8; 100]);
    }
}

/// GNU ld leaves the first half of `*Type@Base#method` in `.dynsym`: it is no other name of the function, also where the whole name is in a
/// debug file.
#[test]
fn half_a_name_of_a_stripped_program_is_no_name() {
    let dir = tempfile::tempdir().unwrap();
    let (program, debug) = (dir.path().join("prog"), dir.path().join("prog.debug"));
    let file = |is_stripped: bool| {
        let mut elf = Elf::x86_64(3);
        let text = elf.add(".text", if is_stripped { PROGBITS } else { NOBITS }, CODE, 0x1000, &[0x90; 0x40]);
        elf.add_build_id(&ID);
        match is_stripped {
            true => elf.dynamic = vec![func("*Type", 0x1010, 4, 1)],
            false => {
                elf.add(".debug_info", PROGBITS, 0, 0, b"separate");
                elf.symbols = vec![func("*Type@Base#method", 0x1010, 4, text as u16)];
            }
        }
        elf.build()
    };
    fs::write(&program, file(true)).unwrap();
    fs::write(&debug, file(false)).unwrap();
    let options = OpenOptions { debug_file: Some(debug), ..OpenOptions::default() };
    let files = Files::new();
    let image = open_image(&files, &program, &options).unwrap();
    let names: Vec<&[u8]> = image.symbols.iter().map(|symbol| symbol.name).collect();
    assert_eq!(names, [b"*Type@Base#method"]);
}

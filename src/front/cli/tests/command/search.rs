//! `--search` finds what is there, by name and by build id; and says what was given and not used.

#![cfg(feature = "convert")]

use crate::common;

use std::io::Write;
use std::path::{Path, PathBuf};

use common::{Ran, command, foldsym_with, program};
use foldsym_format::checksum::crc32;
use foldsym_store::text_id;
use foldsym_testkit::dwarf::{CODE, CODE_LEN, elf, with_code};
use object::{Object, ObjectSection, ObjectSymbol};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A function of `demo.elf`.
const CRASH: &str = "_ZN4demo5crashEv";
const STRIPPED: &str = "split.gcc-dwarf4.set/stripped";
const DEBUG: &str = "split.gcc-dwarf4.set/stripped.debug";

/// A folder with copies of test programs, and a cache of its own.
struct Place(tempfile::TempDir);

impl Place {
    fn new(copies: &[(&str, &str)]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for (from, to) in copies {
            place.write(to, &std::fs::read(program(from)).unwrap());
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join("tree").join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = command();
        command.env("FOLDSYM_CACHE", self.0.path().join("cache")).args(args);
        let ran = command.output().unwrap();
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: ran.status.code().unwrap_or(-1), out: lossy(&ran.stdout), err: lossy(&ran.stderr) }
    }

    /// The answer for a word, with a search path.
    fn lookup(&self, search: &Path, word: &str) -> Ran {
        self.run(&["lookup", "--search", text(search), word])
    }
}

fn build_id(name: &str) -> String {
    let bytes = std::fs::read(program(name)).unwrap();
    let object = object::File::parse(bytes.as_slice()).unwrap();
    object.build_id().unwrap().unwrap().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An address of a function with lines.
fn address(name: &str, function: &str) -> u64 {
    let bytes = std::fs::read(program(name)).unwrap();
    let object = object::File::parse(bytes.as_slice()).unwrap();
    let found = object.symbols().find(|symbol| symbol.name() == Ok(function)).unwrap();
    found.address()
}

/// The program with the name of a section replaced by one that is not longer.
fn renamed(name: &str, from: &str, to: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(program(name)).unwrap();
    let table = {
        let object = object::File::parse(bytes.as_slice()).unwrap();
        let table = object.section_by_name(".shstrtab").unwrap();
        table.file_range().unwrap()
    };
    let range = table.0 as usize..(table.0 + table.1) as usize;
    let at =
        bytes[range.clone()].windows(from.len() + 1).position(|text| text == format!("{from}\0").as_bytes());
    let at = range.start + at.unwrap();
    bytes[at..at + from.len()].fill(0);
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    bytes
}

#[test]
fn folders_are_searched_to_their_ends() {
    let main = address("demo.elf", CRASH);
    let word = format!("libx.so+{main:#x}");
    for at in ["libx.so", "build/lib/libx.so", "a/b/c/libx.so.debug", "debug/usr/lib/libx.so.debug"] {
        let place = Place::new(&[("demo.elf", at), ("demo.gcc", "build/lib/liby.so")]);
        let ran = place.lookup(&place.at(""), &word);
        assert!(ran.code == 0 && ran.out.contains("demo::crash()\n") && ran.err.is_empty(), "{at}: {ran:?}");
    }
    // libtool has a script in the place of the program.
    let place = Place::new(&[("demo.elf", ".libs/libx.so")]);
    place.write("libx.so", b"#!/bin/sh\nexec .libs/libx.so\n");
    let ran = place.lookup(&place.at(""), &word);
    assert!(ran.code == 0 && ran.out.contains("demo::crash()\n") && ran.err.is_empty(), "{ran:?}");
    // By build id, whatever the file is called.
    let place = Place::new(&[("demo.elf", "build/lib/any.name"), ("demo.gcc", "build/lib/other.name")]);
    let ran = place.lookup(&place.at(""), &format!("{}:{main:#x}", build_id("demo.elf")));
    assert!(ran.code == 0 && ran.out.contains("demo::crash()\n") && ran.err.is_empty(), "{ran:?}");
    // Symbol files too.
    let fsym = common::Fsym::of("demo.elf", &[]);
    let bytes = std::fs::read(&fsym.path).unwrap();
    for (at, word) in
        [("deep/er/libx.so.fsym", word), ("deep/er/n.fsym", format!("{}:{main:#x}", build_id("demo.elf")))]
    {
        let place = Place::new(&[]);
        place.write(at, &bytes);
        let ran = place.lookup(&place.at(""), &word);
        assert!(ran.code == 0 && ran.out.contains("demo::crash()\n"), "{ran:?}");
    }
}

#[test]
fn a_name_of_several_builds_does_not_choose() {
    let word = format!("libx.so+{:#x}", address("demo.elf", CRASH));
    let place = Place::new(&[("demo.elf", "release/libx.so"), ("symbols.clang", "debug/libx.so")]);
    let ran = place.lookup(&place.at(""), &word);
    assert!(
        !ran.out.contains("demo::crash()\n") && ran.out.contains("several builds are called libx.so"),
        "{ran:?}"
    );
    let ran = place.lookup(&place.at("release"), &word);
    assert!(ran.out.contains("demo::crash()\n"), "{ran:?}");
}

#[test]
fn a_named_file_is_used_for_what_it_is() {
    let main = address("demo.elf", CRASH);
    // A kernel exports its symbols in a section that no other program has.
    let place = Place::new(&[("demo.elf", "vmlinux-6.1.0-18-amd64")]);
    place.write("boot/image", &renamed("demo.elf", ".shstrtab", "__ksymtab"));
    for name in ["vmlinux-6.1.0-18-amd64", "boot/image"] {
        let ran = place.lookup(&place.at(name), &format!("vmlinux+{main:#x}"));
        assert!(
            ran.code == 0 && ran.out.contains("demo::crash()\n") && ran.err.is_empty(),
            "{name}: {ran:?}"
        );
    }
    let log = "[   12.345678]  _ZN4demo5crashEv+0x1/0x1000\n";
    let ran = foldsym_with(&["filter", "--search", text(&place.at("vmlinux-6.1.0-18-amd64"))], log);
    assert_eq!(ran.err, "", "{ran:?}");
    // What is of another module is not used, and said once.
    let ran = place.lookup(&place.at("vmlinux-6.1.0-18-amd64"), "libx.so+0x10");
    let says =
        format!("not used: no module has its id {}; there is no file for libx.so", build_id("demo.elf"));
    assert!(ran.err.contains(&says) && ran.err.lines().count() == 1, "{ran:?}");
    place.write("notes", b"no program at all, but some text");
    let ran = place.lookup(&place.at("notes"), "libx.so+0x10");
    assert!(ran.err.contains("notes: not used: it is no program, and no .fsym file"), "{ran:?}");
}

#[test]
fn a_folder_without_the_modules_is_told() {
    let place = Place::new(&[("demo.elf", "bin/app")]);
    let log = "/opt/lib/liba.so(+0x1234) [0x7f0000001234]\n/opt/lib/liba.so(+0x1236) [0x7f0000001236]\n";
    let ran = foldsym_with(&["filter", "--search", text(&place.at(""))], log);
    assert_eq!((ran.code, ran.out.as_str()), (0, log));
    let says = "not used: none of the 1 files below it that may be programs is of liba.so\n";
    assert!(ran.err.ends_with(says) && ran.err.lines().count() == 1, "{}", ran.err);
    let store = place.0.path().join("store");
    assert_eq!(place.run(&["convert", text(&place.at("bin/app")), "--store", text(&store)]).code, 0);
    let ran = foldsym_with(&["filter", "--store", text(&store)], log);
    assert!(ran.out == log && ran.err.ends_with("store: not used: it has no file of liba.so\n"), "{ran:?}");
    // A log without stacks needs nothing.
    let ran = foldsym_with(&["filter", "--search", text(&place.at(""))], "hello\n");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("hello\n", ""));
}

#[test]
fn compressed_kernel_modules() {
    let object = std::fs::read(program("inline.clang-sections.o")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&object).unwrap();
    let gzip = gzip.finish().unwrap();
    let place = Place::new(&[]);
    place.write("modules/6.1/kernel/fs/my-fs.ko", &object);
    let plain = place.lookup(&place.at("modules"), "my_fs.ko+0x4");
    std::fs::remove_file(place.at("modules/6.1/kernel/fs/my-fs.ko")).unwrap();
    place.write("modules/6.1/kernel/fs/my-fs.ko.gz", &gzip);
    let packed = place.lookup(&place.at("modules"), "my_fs.ko+0x4");
    assert!(!plain.out.starts_with("??") && plain.err.is_empty(), "{plain:?}");
    assert_eq!(plain.out, packed.out, "{packed:?}");
}

#[test]
fn a_stripped_program_does_not_end_the_search() {
    let id = build_id(STRIPPED);
    let main = address(DEBUG, "_Z5outeri");
    let has_lines =
        |ran: &Ran| ran.out.contains(".c:") || ran.out.contains(".cc:") || ran.out.contains(".cpp:");
    // Its debug file is elsewhere in the folder, called anything.
    let place = Place::new(&[(STRIPPED, "bin/app"), (DEBUG, "symbols/any")]);
    for word in [format!("app+{main:#x}"), format!("{id}:{main:#x}")] {
        // Each with a cache that no other word has filled.
        let place = Place::new(&[(STRIPPED, "bin/app"), (DEBUG, "symbols/any")]);
        let ran = place.lookup(&place.at(""), &word);
        assert!(ran.code == 0 && has_lines(&ran) && ran.err.is_empty(), "{ran:?}");
    }
    // By name, and the debug file in another search folder.
    let alone = Place::new(&[(STRIPPED, "bin/app"), (DEBUG, "symbols/any")]);
    let search = |name: &str| text(&alone.at(name)).to_owned();
    let ran = alone.run(&[
        "lookup",
        "--search",
        &search("bin"),
        "--search",
        &search("symbols"),
        &format!("app+{main:#x}"),
    ]);
    assert!(has_lines(&ran) && ran.err.is_empty(), "{ran:?}");
    // At its path, and the debug file below --search; or the whole program in the store.
    let (app, symbols) = (place.at("bin/app"), place.at("symbols"));
    let line = format!("{} {main:#x}\n", app.display());
    let ran = foldsym_with(&["lookup", "--open-paths", "--search", text(&symbols)], &line);
    assert!(has_lines(&ran) && ran.err.is_empty(), "{ran:?}");
    let store = place.0.path().join("store");
    let ran = place.run(&[
        "convert",
        text(&app),
        "--debug-file",
        text(&place.at("symbols/any")),
        "--store",
        text(&store),
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let bin = place.at("bin");
    let ran =
        foldsym_with(&["lookup", "--open-paths", "--search", text(&bin), "--store", text(&store)], &line);
    assert!(has_lines(&ran), "{ran:?}");
}

#[test]
fn a_damaged_file_of_the_cache_is_made_again() {
    let place = Place::new(&[("demo.elf", "app")]);
    let crash = address("demo.elf", CRASH);
    let report = place.0.path().join("report.json");
    let modules = "[{\"name\":\"app\",\"base\":\"0x200000\"}]";
    std::fs::write(&report, format!("{{\"modules\":{modules},\"frames\":[\"{crash:#x}\"]}}\n")).unwrap();
    let (tree, app) = (place.at(""), place.at("app"));
    let runs = |place: &Place| {
        let found = place.run(&["symbolize", "--search", text(&tree), text(&report)]);
        let named = place.run(&["symbolize", "--search", text(&app), text(&report)]);
        [found, named]
    };
    let whole = runs(&place);
    assert!(whole.iter().all(|ran| ran.out.contains("demo::crash") && ran.err.is_empty()), "{whole:?}");
    // Each way to the program is the first to meet the damage once.
    for (given, whole) in [&tree, &app].into_iter().zip(&whole) {
        let mut files = Vec::new();
        let mut folders = vec![place.0.path().join("cache")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        files.extend(path.extension().is_some_and(|ending| ending == "fsym").then_some(path))
                    }
                }
            }
        }
        assert_eq!(files.len(), 1, "{files:?}");
        let mut bytes = std::fs::read(&files[0]).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        std::fs::remove_file(&files[0]).unwrap();
        std::fs::write(&files[0], bytes).unwrap();
        let ran = place.run(&["symbolize", "--search", text(given), text(&report)]);
        assert_eq!((ran.code, &ran.out, ran.err.as_str()), (0, &whole.out, ""), "{ran:?}");
    }
}

#[test]
fn text_has_the_reason_that_json_has() {
    let place = Place::new(&[("demo.gcc", "bin/app")]);
    let report = place.0.path().join("report.json");
    let id = "0123456789abcdef0123456789abcdef01234567";
    let modules = format!("[{{\"name\":\"app\",\"id\":\"{id}\",\"base\":\"0x400000\"}}]");
    std::fs::write(&report, format!("{{\"modules\":{modules},\"frames\":[\"0x401010\"]}}\n")).unwrap();
    for search in [place.at("bin"), place.at("bin/app")] {
        let args = ["symbolize", "--search", text(&search), text(&report)];
        let ran = place.run(&args);
        assert!(
            ran.out.contains("?? from app [app (id 0123") && ran.out.contains("another build"),
            "{ran:?}"
        );
        assert!(!ran.out.contains("--unwind"), "{ran:?}");
        let json = place.run(&[&args[..], &["--json"]].concat());
        assert!(json.out.contains("another build"), "{json:?}");
    }
}

/// A program without a build id. The id that crash reporters derive from its code does not depend on `at`, where one byte of it is.
fn nameless(at: usize, function: &str) -> Vec<u8> {
    assert_eq!(at % 16, 0);
    let mut code = [0x90; 64];
    code[at] = 0xc3;
    with_code(elf(&[], &[(function, CODE, 64)]), CODE, &code)
}

/// The derived id of such programs.
fn derived() -> String {
    let mut text = vec![0x90; CODE_LEN as usize];
    text[0] = 0xc3;
    text_id(&text).unwrap().to_string()
}

/// Several programs may have one derived id: the cache of the first is not the answer for the second, and where the search paths or the
/// stores have both, neither is.
#[test]
fn a_derived_id_of_several_programs_does_not_choose() {
    let place = Place::new(&[]);
    place.write("a/one", &nameless(0, "first"));
    place.write("b/two", &nameless(16, "second"));
    place.write("copy/other", &nameless(0, "first"));
    let word = format!("{}:{:#x}", derived(), CODE + 1);
    let paths = ["a", "b", "copy"].map(|name| text(&place.at(name)).to_owned());
    let search = |folders: &[&String], word: &str| {
        let mut args = vec!["lookup", word];
        for folder in folders {
            args.extend(["--search", folder.as_str()]);
        }
        place.run(&args)
    };
    let [a, b, copy] = &paths;
    for _ in 0..2 {
        for (folders, name) in [(&[a][..], "first"), (&[b], "second"), (&[a, copy], "first")] {
            let ran = search(folders, &word);
            assert!(ran.code == 0 && ran.out.starts_with(&format!("{name}\n")), "{folders:?}: {ran:?}");
        }
    }
    for folders in [&[a, b][..], &[b, a], &[&text(&place.at("")).to_owned()]] {
        let ran = search(folders, &word);
        assert!(ran.out.starts_with("??") && ran.out.contains("several programs have the id"), "{ran:?}");
    }
    // In stores, one or two of them.
    let stores = ["one", "two", "both"].map(|name| text(&place.0.path().join(name)).to_owned());
    for (input, store) in [(a, 0), (b, 1), (a, 2), (b, 2)] {
        let ran = place.run(&["convert", input, "--store", &stores[store]]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let [one, two, both] = &stores;
    let stored = |stores: &[&String]| {
        let mut args = vec!["lookup", word.as_str()];
        for store in stores {
            args.extend(["--store", store.as_str()]);
        }
        place.run(&args)
    };
    assert!(stored(&[one]).out.starts_with("first\n") && stored(&[two]).out.starts_with("second\n"));
    for stores in [&[one, two][..], &[two, one], &[both], &[one, both]] {
        let ran = stored(stores);
        assert!(ran.out.starts_with("??") && ran.out.contains("several programs have this"), "{ran:?}");
    }
}

/// A name alone does not choose between the builds of two folders; a file that the user names is meant.
#[test]
fn a_name_in_several_folders_does_not_choose() {
    let crash = address("demo.elf", CRASH);
    let word = format!("app+{crash:#x}");
    let place =
        Place::new(&[("demo.elf", "new/app"), ("symbols.clang", "old/app"), ("demo.elf", "same/app")]);
    let [new, old, same] = ["new", "old", "same"].map(|name| text(&place.at(name)).to_owned());
    let named = text(&place.at("new/app")).to_owned();
    let search = |one: &str, other: &str| place.run(&["lookup", "--search", one, "--search", other, &word]);
    for (one, other) in [(&new, &old), (&old, &new)] {
        let ran = search(one, other);
        assert!(ran.out.starts_with("??") && ran.out.contains("several builds are called app"), "{ran:?}");
    }
    for (one, other) in [(&new, &same), (&old, &named), (&named, &old)] {
        let ran = search(one, other);
        assert!(ran.out.starts_with("demo::crash()\n"), "{ran:?}");
    }
    // Two files that the user names are no choice either, whatever a folder has.
    let other = text(&place.at("old/app")).to_owned();
    let args = ["lookup", "--search", &named, "--search", &other, "--search", &same, &word];
    let ran = place.run(&args);
    assert!(ran.out.starts_with("??") && ran.out.contains("several builds are called app"), "{ran:?}");
}

/// Two stores of one build: the first has the stripped program, the second the whole one.
fn poor_and_whole() -> (Place, [String; 2]) {
    let place = Place::new(&[(STRIPPED, "poor/app"), (STRIPPED, "whole/app"), (DEBUG, "whole/app.debug")]);
    let stores = ["poor", "whole"].map(|name| text(&place.0.path().join(name)).to_owned());
    for (from, store) in ["poor", "whole"].iter().zip(&stores) {
        assert_eq!(place.run(&["convert", text(&place.at(from)), "--store", store]).code, 0);
    }
    (place, stores)
}

/// The file with symbols alone in the first store does not hide the whole one in the second.
#[test]
fn the_best_entry_of_several_stores_answers() {
    let main = address(DEBUG, "_Z5outeri");
    let (place, stores) = poor_and_whole();
    let word = format!("{}:{main:#x}", build_id(STRIPPED));
    for [one, other] in [[0, 1], [1, 0]] {
        let ran = place.run(&["lookup", "--store", &stores[one], "--store", &stores[other], &word]);
        assert!(ran.code == 0 && ran.out.contains("/src/split.cpp:"), "{ran:?}");
    }
}

#[test]
fn a_kernel_module_is_found_by_its_name_without_the_ending() {
    let object = std::fs::read(program("inline.clang-sections.o")).unwrap();
    let place = Place::new(&[]);
    place.write("modules/6.1/kernel/fs/my-fs.ko", &object);
    let whole = place.lookup(&place.at("modules"), "my_fs.ko+0x4");
    for word in ["my_fs+0x4", "my-fs+0x4"] {
        let ran = place.lookup(&place.at("modules"), word);
        assert!(!ran.out.starts_with("??") && ran.out == whole.out && ran.err.is_empty(), "{word}: {ran:?}");
    }
}

/// A stripped program without a build id, and its debug file: the debug link joins them, wherever they are.
#[test]
fn a_debug_link_leads_to_a_file_in_another_folder() {
    let range = |bytes: &[u8], section: &str| {
        let object = object::File::parse(bytes).unwrap();
        let (start, size) = object.section_by_name(section).unwrap().file_range().unwrap();
        start as usize..(start + size) as usize
    };
    let nameless = |name: &str| {
        let mut bytes = std::fs::read(program(name)).unwrap();
        // The note gets a type that nobody knows.
        let note = range(&bytes, ".note.gnu.build-id").start;
        bytes[note + 8] = 0x77;
        bytes
    };
    let (mut app, mut debug) = (nameless(STRIPPED), nameless(DEBUG));
    let link = range(&app, ".gnu_debuglink");
    app[link.end - 4..link.end].copy_from_slice(&crc32(&debug).to_le_bytes());
    let place = Place::new(&[]);
    place.write("bin/app", &app);
    place.write("symbols/deep/stripped.debug", &debug);
    // One of another build.
    *debug.last_mut().unwrap() ^= 1;
    place.write("symbols/stripped.debug", &debug);
    let (bin, symbols) = (place.at("bin"), place.at("symbols"));
    let word = format!("app+{:#x}", address(DEBUG, "_Z5outeri"));
    let ran = place.run(&["lookup", "--search", text(&bin), "--search", text(&symbols), &word]);
    assert!(ran.code == 0 && ran.out.contains("/src/split.cpp:") && ran.err.is_empty(), "{ran:?}");
    // In one folder they are one entry.
    std::fs::remove_file(place.at("symbols/stripped.debug")).unwrap();
    let store = place.0.path().join("store");
    let ran = place.run(&["convert", text(&place.at("")), "--store", text(&store)]);
    assert!(ran.code == 0 && ran.out.contains("converted with it"), "{ran:?}");
    assert_eq!(place.run(&["store", "list", "--json", text(&store)]).out.lines().count(), 1);
}

/// Of several copies of one build the best answers, whichever the search finds first: a damaged or a stripped one does not.
#[test]
fn the_best_copy_of_a_build_answers() {
    let crash = address("demo.elf", CRASH);
    let word = format!("{}:{crash:#x}", build_id("demo.elf"));
    let whole = std::fs::read(program("demo.elf")).unwrap();
    for poor in [renamed("demo.elf", ".debug_abbrev", ".x"), renamed("demo.elf", ".debug_info", ".x")] {
        let place = Place::new(&[]);
        place.write("poor/app", &poor);
        place.write("whole/app", &whole);
        let [poor, whole] = ["poor", "whole"].map(|name| text(&place.at(name)).to_owned());
        let ran = place.run(&["lookup", "--search", &poor, "--search", &whole, &word]);
        assert!(ran.out.starts_with("demo::crash()\n/") && ran.err.is_empty(), "{ran:?}");
    }
}

/// A store with a stripped file of a build does not hide the whole one in another, by name too. A debug id is as good as a build id.
#[test]
fn a_name_takes_the_best_entry_of_several_stores() {
    let main = address(DEBUG, "_Z5outeri");
    let (place, stores) = poor_and_whole();
    let id = foldsym_store::BuildId::parse(&build_id(STRIPPED)).unwrap();
    let debug_id = foldsym_store::DebugId::of_elf(&id, false);
    for word in [format!("app+{main:#x}"), format!("{debug_id}:{main:#x}")] {
        let ran = place.run(&["lookup", "--store", &stores[0], "--store", &stores[1], &word]);
        assert!(ran.code == 0 && ran.out.contains("/src/split.cpp:"), "{word}: {ran:?}");
    }
}

//! Messages for wrong input: each names what was found, and what was expected.

use crate::common;

use common::{Fsym, foldsym, foldsym_with, program};
use tempfile::TempDir;

/// A folder with a text, a program, the beginning of a program, and a symbol file.
fn inputs() -> (TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let at = move |name: &str| path.join(name).to_str().unwrap().to_owned();
    let elf = std::fs::read(program("demo.elf")).unwrap();
    std::fs::write(at("notes.txt"), "hello\n").unwrap();
    std::fs::write(at("app"), &elf).unwrap();
    std::fs::write(at("cut"), &elf[..300]).unwrap();
    std::fs::write(at("app.exe"), b"MZ\x90\0").unwrap();
    std::fs::write(at("app.wasm"), b"\0asm\x01\0\0\0").unwrap();
    std::fs::write(at("app.pdb"), b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0").unwrap();
    let fsym = Fsym::of("demo.elf", &[]);
    std::fs::copy(&fsym.path, at("app.fsym")).unwrap();
    let mut later = std::fs::read(&fsym.path).unwrap();
    later[8] = 9;
    std::fs::write(at("later.fsym"), later).unwrap();
    (folder, at)
}

#[test]
fn one_line_says_what_was_found_and_what_was_expected() {
    let (_folder, at) = inputs();
    let [notes, app, cut, fsym] = ["notes.txt", "app", "cut", "app.fsym"].map(&at);
    let [notes, app, cut, fsym] = [&notes, &app, &cut, &fsym].map(String::as_str);
    let (store, out) = (at("store"), at("out"));
    let elf_text = "begins with \"hell\", expected an ELF or Mach-O file";
    let program_text = "a program, not a symbol file; convert it first: foldsym convert ";
    for (args, code, says) in [
        (&["dump", fsym, "--function", "nothing"][..], 1, "foldsym: no function is named nothing".to_owned()),
        (&["dump", fsym, "--address", "0x1"], 1, "foldsym: 0x1: no function at this address".to_owned()),
        (&["info", notes], 3, format!("foldsym: {notes}: not a .fsym file")),
        (&["find", notes, "main"], 3, format!("foldsym: {notes}: not a .fsym file")),
        (&["verify", notes], 3, format!("foldsym: {notes}: not a .fsym file")),
        (&["store", "add", &store, notes], 3, format!("foldsym: {notes}: not a .fsym file")),
        (&["info", app], 3, format!("foldsym: {app}: {program_text}{app}")),
        (&["store", "add", &store, app], 3, format!("foldsym: {app}: {program_text}{app}")),
        (&["convert", fsym], 3, format!("foldsym: {fsym}: is a .fsym file already; expected a program")),
        (
            &["convert", app, "--arch", "x"],
            3,
            format!("foldsym: {app}: unknown architecture x; the program is for x86_64"),
        ),
        (
            &["convert", app, "--arch", "arm64"],
            3,
            format!("foldsym: {app}: a program for x86_64, expected one for arm64"),
        ),
        (&["convert", notes], 3, format!("foldsym: {notes}: {elf_text}")),
        (
            &["convert", &at("app.exe")],
            3,
            format!("foldsym: {}: a PE file (a program for Windows), expected an ELF or Mach-O file", at("app.exe")),
        ),
        (
            &["convert", &at("app.pdb")],
            3,
            format!(
                "foldsym: {}: a PDB file (debug information for Windows), expected an ELF or Mach-O file",
                at("app.pdb")
            ),
        ),
        (
            &["convert", &at("app.wasm")],
            3,
            format!("foldsym: {}: a WebAssembly module, expected an ELF or Mach-O file", at("app.wasm")),
        ),
        (
            &["lookup", &at("later.fsym"), "0x1"],
            3,
            format!(
                "foldsym: {}: is of version 9 of the format, and this reader of version 3: convert the program again",
                at("later.fsym")
            ),
        ),
        (&["cfi", notes, "0x1"], 3, format!("foldsym: {notes}: {elf_text}")),
        (&["convert", app, "-o", &out, "--debug-file", notes], 3, format!("foldsym: {notes}: {elf_text}")),
        (
            &["convert", cut],
            3,
            format!(
                "foldsym: {cut}: section header table, offset 0x{:x}: the file ends at 0x12c, before this table",
                section_headers(app)
            ),
        ),
        (&["find", fsym, "--regex", "("], 2, "foldsym: --regex: unclosed group at offset 0".to_owned()),
        (
            &["find", fsym, "--regex", "a\\pZ"],
            2,
            "foldsym: --regex: Unicode not allowed here at offset 1".to_owned(),
        ),
        (&["shims", notes], 3, format!("foldsym: {notes}: a file, expected a folder")),
        (&["convert", app, "--store", notes], 3, format!("foldsym: {notes}: a file, expected a folder")),
        (
            &["lookup", "0x10"],
            3,
            "foldsym: 0x10: No such file or directory (os error 2); the first argument is FILE, unless --store, \
             --search or --maps is given"
                .to_owned(),
        ),
    ] {
        let ran = foldsym(args);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?}: {ran:?}");
        assert_eq!(ran.err, format!("{says}\n"), "{args:?}");
    }
}

/// The offset of the section header table.
fn section_headers(path: &str) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    u64::from_le_bytes(bytes[40..48].try_into().unwrap())
}

/// A word is quoted whole, and the number of a line is said once.
#[test]
fn wrong_lines() {
    let (_folder, at) = inputs();
    let fsym = at("app.fsym");
    for (words, quoted) in [("0x10 vptr=x", "\"vptr=x\""), ("=", "\"=\""), ("0x10 =y", "\"=y\"")] {
        for args in [&["stack", &fsym][..], &["stack", "--search", &fsym]] {
            let ran = foldsym_with(args, &format!("{words}\n"));
            assert!(ran.code == 2 && ran.err.contains(&format!("{quoted} is not an address")), "{ran:?}");
        }
    }
    for args in [&["stack", &fsym][..], &["stack", "--search", &fsym]] {
        let ran = foldsym_with(args, "0x10\n{\n");
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("line 2: EOF while parsing an object at column 1\n"), "{ran:?}");
    }
}

/// A module that has no address in memory is named.
#[test]
fn a_module_without_a_base() {
    let (_folder, at) = inputs();
    let line = r#"{"modules": [{"name": "app"}], "frames": ["0x10"]}"#;
    let ran = foldsym_with(&["stack", "--search", &at("app.fsym"), "--json"], line);
    let unknown = &ran.json()[0]["Frames"][0]["Unknown"];
    assert_eq!(unknown["Kind"], "no_module", "{ran:?}");
    assert_eq!(
        unknown["Message"], "module \"app\" has no base address, so no frame can be assigned to it",
        "{ran:?}"
    );
}

#[cfg(not(feature = "serve"))]
#[test]
fn a_build_without_serve() {
    let ran = foldsym(&["serve", "--store", "x"]);
    let says = "foldsym: this build lacks the feature `serve`: build foldsym with --features serve\n";
    assert_eq!((ran.code, ran.err.as_str()), (2, says));
}

#[test]
fn an_id_that_no_file_of_a_store_has() {
    let (_folder, at) = inputs();
    let store = at("store");
    assert_eq!(foldsym(&["store", "add", &store, &at("app.fsym")]).code, 0);
    let ran = foldsym(&["store", "remove", &store, "00112233"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "00112233 not in the store\n"), "{ran:?}");
}

/// `serve` and Parquet need features that a build may lack.
#[test]
#[cfg(not(feature = "parquet"))]
fn a_feature_that_the_build_lacks_is_named() {
    for args in [
        &["symbolize", "--parquet", "in.parquet", "-o", "out.parquet"][..],
        &["symbolize", "--output=out", "x"],
    ] {
        let ran = foldsym(args);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("this build lacks the feature `parquet`"), "{}", ran.err);
    }
}

/// A JSON stack over many modules is no stack of one file.
#[test]
fn a_stack_of_many_modules_names_the_options_that_find_them() {
    let fsym = Fsym::of("demo.elf", &[]);
    let ran = foldsym(&["stack", fsym.path.to_str().unwrap(), r#"{"modules": [], "frames": []}"#]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("leave out FILE, and say by --store, --search or --open-paths"), "{}", ran.err);
}

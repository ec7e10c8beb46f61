//! Small files that ask for much: the memory of the commands is bounded by the bytes of a file. Records of constants take no bytes.

#![cfg(all(unix, feature = "convert"))]

use crate::common;

use std::process::Command;

use common::file;
use foldsym_testkit::writer::Contents;

/// Two functions that are not folded, and a group with these functions as members.
fn contents(functions: i64, members: impl Iterator<Item = i64>) -> Contents {
    let members: Vec<[i64; 4]> = members.map(|function| [function, 0, 0, 0]).collect();
    Contents {
        max_group: members.len() as u32,
        block_log2: 12,
        names: vec![b"".to_vec(), b"name".to_vec()],
        origins: vec![[1, 0, 0, 0]],
        functions: (0..functions).map(|_| [0; 5]).collect(),
        //   start body pad skip owner rows name
        pieces: vec![[0x1000, 16, 0, 0, 1, 0, 0]],
        groups: vec![[0]],
        members,
        rows: vec![0],
        scopes: vec![0],
        ..Contents::default()
    }
}

/// Runs a command on a file, with 300 MB of address space: an answer has at most 128 MiB, and it is copied when it grows. The allocator
/// takes address space by 32 MiB if it cannot have a GiB.
fn limited(contents: &Contents, args: &[&str]) -> (i32, String, String) {
    limited_bytes(&contents.file(), args)
}

fn limited_bytes(bytes: &[u8], args: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "made.fsym", bytes);
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "ulimit -v 300000 && ulimit -t 20 && exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_foldsym"),
    ]);
    let ran = command.arg(args[0]).arg(path).args(&args[1..]).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ran.status.code().unwrap_or(-1), text(ran.stdout), text(ran.stderr))
}

/// The file with a name of 64 KiB, which takes a few bytes, in the place of the second.
fn with_a_long_name(contents: &Contents) -> Vec<u8> {
    let mut sections = contents.sections();
    let names = sections.iter_mut().find(|(id, _)| *id == foldsym_lookup::SectionId::NAMES.0).unwrap();
    names.1 = foldsym_convert::internal::encode::names::encode(&[b"", &[b'n'; 65_535]]);
    contents.assemble(&sections)
}

#[test]
fn a_group_of_many_members_takes_as_many_bytes_of_the_file() {
    let few = contents(300, 0..300);
    let (code, _, err) = limited(&few, &["verify"]);
    assert_eq!((code, &err[..]), (0, ""));
    let (code, out, _) = limited(&few, &["lookup", "--json", "0x1000"]);
    assert!(code == 0 && out.contains("\"CandidateCount\":300"), "{out}");
    assert_eq!(out.matches("{\"LinkageName\":\"name\"").count(), 300);

    // Every function is distinct, and its number takes some bits: the file has the bytes for its members.
    let many = contents(250_000, 0..250_000);
    assert!(many.file().len() > 250_000);
    let (code, _, err) = limited(&many, &["verify"]);
    assert_eq!((code, &err[..]), (0, ""));
    let (code, out, err) = limited(&many, &["lookup", "--json", "0x1000"]);
    assert!(code == 0 && out.contains("\"CandidateCount\":250000"), "{code} {out:.300} {err}");
    // The first of them is an answer.
    let (code, out, _) = limited(&many, &["lookup", "0x1000"]);
    assert!(code == 0 && out.starts_with("name\n"), "{out:.300}");
    let (code, ..) = limited(&many, &["find", "name"]);
    assert_eq!(code, 0);
}

#[test]
fn one_function_as_every_member_is_damage() {
    let (code, out, err) = limited(&contents(2, (0..300_000).map(|_| 1)), &["verify"]);
    assert!(code == 3 && err.contains("damaged: section MEMBERS"), "{code} {out} {err}");
}

#[test]
fn names_of_gigabytes_are_not_an_answer() {
    let bytes = with_a_long_name(&contents(50_000, 0..50_000));
    assert!(bytes.len() < 100_000);
    let (code, out, err) = limited_bytes(&bytes, &["lookup", "--json", "0x1000"]);
    assert!(code == 3 && out.contains("damaged: section NAMES"), "{code} {out:.300} {err}");
}

#[test]
fn more_aliases_than_the_file_can_hold() {
    let mut contents = contents(2, 0..2);
    contents.functions[0][3] = 1;
    contents.aliases = (0..600_000).map(|record| [1, i64::from(record == 599_999)]).collect();
    let (code, out, err) = limited(&contents, &["lookup", "--json", "0x1000"]);
    assert!(code == 3 && out.contains("damaged: section ALIASES"), "{code} {out:.300} {err}");
    let (code, _, err) = limited_bytes(&with_a_long_name(&contents), &["find", "--prefix", "n"]);
    assert!(code == 3 && err.contains("damaged: section NAMES"), "{code} {err}");
}

/// Pieces name their groups: a few bytes for each could ask for a visit of all members.
#[test]
fn one_group_as_the_owner_of_every_piece() {
    let mut of_many = contents(4000, 0..4000);
    of_many.pieces = (0..4000).map(|at| [0x1000 + 16 * at, 16, 0, 0, 1, 0, 0]).collect();
    let len = of_many.file().len();
    assert!(len < 100_000, "{len}");
    for args in [&["find", "name"][..], &["dump"], &["dump", "--function", "1"], &["find", "--regex", "x"]] {
        let (code, _, err) = limited(&of_many, args);
        assert!(code == 3 && err.contains("made.fsym: damaged: section PIECES"), "{args:?} {code} {err}");
    }
    // A line of a kernel's log asks for the parts of all functions.
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "vmlinux.fsym", &of_many.file());
    let line = "[    1.2]  name+0x1/0x10\n";
    let ran = common::foldsym_with(&["filter", "--search", folder.path().to_str().unwrap()], line);
    assert!(ran.code == 0 && ran.out == line, "{ran:?}");
    assert!(ran.err.contains("vmlinux.fsym: damaged: section PIECES"), "{ran:?}");
    // Fewer visits than any file may ask for.
    let mut sound = contents(4000, 0..4000);
    sound.pieces = (0..200).map(|at| [0x1000 + 16 * at, 16, 0, 0, 1, 0, 0]).collect();
    let (code, out, err) = limited(&sound, &["find", "name"]);
    assert!(code == 0 && out.lines().count() == 4000, "{code} {err}");
}

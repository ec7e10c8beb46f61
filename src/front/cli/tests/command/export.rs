//! `export`: which program may give its call frame information.

#![cfg(feature = "convert")]

use crate::common;

use std::path::{Path, PathBuf};

use common::{file, foldsym, program};

/// A test program whose build id was made unrecognisable.
fn without_build_id(name: &str, folder: &Path) -> PathBuf {
    let mut bytes = std::fs::read(program(name)).unwrap();
    if let Some(note) = bytes.windows(4).position(|bytes| bytes == b"GNU\0") {
        bytes[note..note + 3].copy_from_slice(b"XYZ");
    }
    file(folder, name, &bytes)
}

#[test]
fn a_program_of_another_build_gives_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (ours, other) =
        (without_build_id("demo.elf", folder.path()), without_build_id("demo.gcc", folder.path()));
    let (fsym, out) = (folder.path().join("demo.fsym"), folder.path().join("demo.sym"));
    let ran = foldsym(&["convert", &text(&ours), "-o", &text(&fsym)]);
    assert!(ran.code == 0 && ran.err.contains("no build id"), "{ran:?}");
    let export = |fsym: &Path, program: &Path| {
        foldsym(&["export", &text(fsym), "--breakpad", "--program", &text(program), "-o", &text(&out)])
    };
    // Neither has a build id: the addresses of their sections distinguish them.
    let refused = export(&fsym, &other);
    let expected = format!("foldsym: {}: is of another build than {}\n", other.display(), fsym.display());
    assert_eq!((refused.code, refused.err, out.exists()), (3, expected, false));
    let taken = export(&fsym, &ours);
    assert_eq!(taken.code, 0, "{taken:?}");
    let sym = std::fs::read_to_string(&out).unwrap();
    assert!(sym.contains("\nSTACK CFI INIT "));
    // The identifier is that of the code, as dump_syms and minidump writers derive it.
    let identity = foldsym_convert::identify(&ours, &foldsym_convert::Options::default()).unwrap();
    let mut guid = [0_u8; 16];
    identity.text.iter().enumerate().for_each(|(at, byte)| guid[at % 16] ^= byte);
    let number = |range: std::ops::Range<usize>| {
        guid[range].iter().rev().map(|byte| format!("{byte:02X}")).collect::<String>()
    };
    let rest: String = guid[8..].iter().map(|byte| format!("{byte:02X}")).collect();
    let expected = format!("MODULE Linux x86_64 {}{}{}{rest}0 ", number(0..4), number(4..6), number(6..8));
    assert!(sym.starts_with(&expected) && identity.text.len() > 16, "{:.80} {expected}", sym);
    // Without the program it is not known, which is said.
    let alone = foldsym(&["export", &text(&fsym), "--breakpad", "-o", &text(&out)]);
    assert!(alone.code == 0 && alone.err.contains("--program PROGRAM derives one"), "{alone:?}");
    assert!(std::fs::read_to_string(&out).unwrap().contains(&"0".repeat(33)));
    // One has a build id.
    std::fs::remove_file(&out).unwrap();
    let refused = export(&fsym, &program("demo.elf"));
    assert_eq!((refused.code, out.exists()), (3, false), "{refused:?}");
}

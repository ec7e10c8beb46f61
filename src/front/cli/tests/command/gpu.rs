//! `convert` on containers of device code: the program that is taken, the files that are written, and the inputs that are refused.

use crate::common;

use std::path::{Path, PathBuf};

use common::foldsym;

fn container(name: &str) -> PathBuf {
    common::program("gpu.containers.set").join(name)
}

/// Every function of a file, with its inline tree and rows.
fn dumped(fsym: &Path) -> String {
    let ran = foldsym(&["dump", fsym.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("twice"), "{}", ran.out);
    ran.out
}

fn convert(input: &Path, rest: &[&str]) -> common::Ran {
    foldsym(&[&["convert", "-q", input.to_str().unwrap()], rest].concat())
}

/// The dump of the program for gfx90a, which also exists as its own file: the containers hold its bytes.
fn alone(folder: &Path) -> String {
    let out = folder.join("alone");
    assert_eq!(convert(&container("gfx90a"), &["-o", out.to_str().unwrap()]).code, 0);
    dumped(&out)
}

const CONTAINERS: &[&str] = &["two.bundle", "two.compressed", "two.compressed2", "two.offload", "host"];

#[test]
fn one_target_of_each_container() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for name in CONTAINERS {
        for (target, is_alone) in [
            ("gfx906", false),
            ("gfx90a", true),
            ("gfx90a:xnack+", true),
            ("amdgcn-amd-amdhsa--gfx906", false),
        ] {
            let ran = convert(&container(name), &["-o", out.to_str().unwrap(), "--target", target]);
            assert_eq!(ran.code, 0, "{name} {target}: {ran:?}");
            assert_eq!(dumped(&out) == alone(folder.path()), is_alone, "{name} {target}");
        }
    }
}

#[test]
fn several_targets_need_a_choice() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("never");
    for name in CONTAINERS {
        for target in [None, Some("gfx1030"), Some("amdgcn")] {
            let target: Vec<&str> = target.iter().flat_map(|target| ["--target", *target]).collect();
            if *name == "host" && target.is_empty() {
                continue;
            }
            let ran = convert(&container(name), &[&["-o", out.to_str().unwrap()][..], &target].concat());
            assert_eq!(ran.code, 2, "{name}: {ran:?}");
            let list = "it has: amdgcn-amd-amdhsa--gfx906, amdgcn-amd-amdhsa--gfx90a:xnack+";
            assert!(ran.err.contains(list), "{}", ran.err);
            assert!(!out.exists());
        }
    }
    // A host program is converted for itself unless a target is given.
    assert_eq!(convert(&container("host"), &["-o", out.to_str().unwrap()]).code, 0);
    let ran = foldsym(&["find", out.to_str().unwrap(), "_start"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // A program without device code has no target.
    let plain = common::program("inline.clang-dwarf5");
    let ran = convert(&plain, &["-o", out.to_str().unwrap(), "--target", "gfx906"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("not a container of device code"), "{}", ran.err);
}

#[test]
fn damaged_device_code_of_a_host_program_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(container("host")).unwrap();
    let at = bytes.windows(4).rposition(|window| window == b"CCOB").unwrap();
    // The version of its form.
    bytes[at + 4] = 9;
    let (input, report) = (folder.path().join("host"), folder.path().join("r.json"));
    std::fs::write(&input, bytes).unwrap();
    let out = folder.path().to_str().unwrap();
    let ran = convert(&input, &["--out-dir", out, "--report", report.to_str().unwrap()]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("section .hip_fatbin, offload container at"), "{}", ran.err);
    // The program itself is converted, and both outcomes are in the report.
    assert!(folder.path().join("host.fsym").exists());
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("\"output\"") && report.contains("version 9 of the compressed form"), "{report}");
}

#[test]
fn a_folder_gets_one_file_for_each_program() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("all");
    let ran = convert(&common::program("gpu.containers.set"), &["--out-dir", into.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut names: Vec<String> = std::fs::read_dir(&into)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected: Vec<String> = CONTAINERS
        .iter()
        .flat_map(|name| {
            ["gfx906", "gfx90a_xnack+"].map(|end| format!("{name}.amdgcn-amd-amdhsa--{end}.fsym"))
        })
        .chain(["gfx90a.fsym", "host.fsym"].map(str::to_owned))
        .collect();
    expected.sort();
    assert_eq!(names, expected);
    let name = "two.compressed.amdgcn-amd-amdhsa--gfx90a_xnack+.fsym";
    assert_eq!(dumped(&into.join(name)), alone(folder.path()));
}

#[test]
fn a_damaged_container_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("never");
    let input = folder.path().join("bad.bundle");
    let good = std::fs::read(container("two.bundle")).unwrap();
    // The size of the second entry: after the magic, the count, and the first entry with its name.
    let name_len = u64::from_le_bytes(good[48..56].try_into().unwrap()) as usize;
    let mut bad = good.clone();
    bad[56 + name_len + 8..][..8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    for bytes in [&bad[..], &good[..40], &good[..good.len() - 1]] {
        std::fs::write(&input, bytes).unwrap();
        let ran = convert(&input, &["-o", out.to_str().unwrap()]);
        assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "{ran:?}");
        assert!(
            ran.err.contains("bad.bundle") && ran.err.contains("offload container at 0x0"),
            "{}",
            ran.err
        );
        assert!(!out.exists());
    }
}

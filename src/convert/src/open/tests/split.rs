//! Split DWARF: where a `.dwo` is searched, which files are refused, which sections are read.

use std::fs;
use std::path::PathBuf;

use super::build::*;
use super::*;
use crate::open::split::{find_dwp, open_dwp};
use crate::open::{DebugSection, DwoFinder, open_dwo};

struct Tree {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl Tree {
    /// Creates empty files at these places.
    fn new(files: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for file in files {
            let path = base.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"").unwrap();
        }
        Self { _dir: dir, base }
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        self.base.join(path).to_str().unwrap().as_bytes().to_vec()
    }

    /// The candidates for the program `bin/prog`, relative to the tree, and whether a file was refused.
    fn find(&self, options: &OpenOptions, comp_dir: &[u8], name: &[u8]) -> (Vec<String>, bool) {
        let finder = DwoFinder::new(options, &self.base.join("bin/prog"));
        let mut candidates = finder.find(comp_dir, name);
        let found = candidates
            .by_ref()
            .map(|path| path.strip_prefix(&self.base).unwrap().to_str().unwrap().to_owned());
        (found.collect(), candidates.refused().is_some())
    }

    fn with_dirs(&self, dirs: &[&str]) -> OpenOptions {
        OpenOptions { dwo_dirs: dirs.iter().map(|dir| self.base.join(dir)).collect(), ..no_system() }
    }
}

#[test]
fn the_order_is_compilation_directory_then_program_then_given_directories() {
    let tree =
        Tree::new(&["build/o/a.dwo", "bin/o/a.dwo", "bin/a.dwo", "dwo/a.dwo", "dwo/o/a.dwo", "bin/prog"]);
    let none = no_system();
    let found = tree.find(&none, &tree.bytes("build"), b"o/a.dwo");
    assert_eq!(found, (vec!["build/o/a.dwo".into(), "bin/o/a.dwo".into(), "bin/a.dwo".into()], false));
    let found = tree.find(&none, b"/no/such", &tree.bytes("build/o/a.dwo"));
    assert_eq!(found.0, ["build/o/a.dwo", "bin/a.dwo"]);
    let given = tree.with_dirs(&["dwo"]);
    let found = tree.find(&given, &tree.bytes("build"), b"o/a.dwo");
    assert_eq!(found, (vec!["dwo/o/a.dwo".into(), "dwo/a.dwo".into()], true));
    // Every suffix of the whole path, longest first.
    let given = tree.with_dirs(&["."]);
    let found = tree.find(&given, b"/elsewhere/dwo", b"o/a.dwo");
    assert_eq!(found.0, ["bin/o/a.dwo", "bin/a.dwo", "dwo/o/a.dwo"]);
    assert_eq!(tree.find(&none, b"", b"").0, Vec::<String>::new());
    assert_eq!(tree.find(&none, b"/", b"a\0b").0, Vec::<String>::new());
    assert_eq!(tree.find(&none, b"/", b"..").0, Vec::<String>::new());
}

#[test]
fn a_prefix_is_mapped_by_whole_components() {
    let tree = Tree::new(&["real/src/a.dwo", "bin/prog"]);
    let mapped = |old: &str| {
        let options = OpenOptions { map_prefix: vec![(old.into(), tree.base.join("real"))], ..no_system() };
        tree.find(&options, b"/build/src", b"a.dwo").0.len()
    };
    assert_eq!((mapped("/build"), mapped("/buil"), mapped("/other")), (1, 0, 0));
}

#[test]
fn with_directories_given_nothing_outside_them_is_opened() {
    let tree = Tree::new(&["dwo/good.dwo", "secret/a.dwo", "secret/b.dwo", "bin/a.dwo"]);
    let given = tree.with_dirs(&["dwo", "missing"]);
    for name in [&b"a.dwo"[..], b"../secret/a.dwo", &tree.bytes("secret/a.dwo"), b"dwo/../../secret/a.dwo"] {
        let found = tree.find(&given, &tree.bytes("secret"), name);
        assert_eq!(found, (vec![], true), "{}", name.escape_ascii());
    }
    assert_eq!(tree.find(&given, b"", b"../dwo/good.dwo").0, ["dwo/good.dwo"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(tree.base.join("secret/b.dwo"), tree.base.join("dwo/b.dwo")).unwrap();
        std::os::unix::fs::symlink(tree.base.join("secret"), tree.base.join("dwo/link")).unwrap();
        assert_eq!(tree.find(&given, b"/", b"b.dwo"), (vec![], true));
        assert_eq!(tree.find(&given, b"/", b"link/b.dwo"), (vec![], true));
        // A given directory may itself be a link.
        std::os::unix::fs::symlink(tree.base.join("dwo"), tree.base.join("alias")).unwrap();
        assert_eq!(tree.find(&tree.with_dirs(&["alias"]), b"/", b"good.dwo").0, ["dwo/good.dwo"]);
    }
}

#[test]
fn directories_and_long_paths_are_no_candidates() {
    let tree = Tree::new(&["bin/prog", "dwo/a.dwo"]);
    fs::create_dir(tree.base.join("bin/dir.dwo")).unwrap();
    assert_eq!(tree.find(&no_system(), b"/", b"dir.dwo").0, Vec::<String>::new());
    let long = "x/".repeat(100_000) + "a.dwo";
    assert_eq!(tree.find(&tree.with_dirs(&["dwo"]), b"/", long.as_bytes()).0, ["dwo/a.dwo"]);
}

fn dwo() -> Elf {
    let mut elf = Elf::x86_64(1);
    elf.add(".debug_info", PROGBITS, 0, 0, b"skeleton");
    elf.add(".debug_info.dwo", PROGBITS, 0, 0, b"type unit");
    elf.add(".debug_str.dwo", PROGBITS, 0, 0, b"s\0");
    elf.add(".debug_info.dwo", PROGBITS, 0, 0, b", unit");
    elf
}

#[test]
fn sections_of_one_name_are_joined_and_those_of_the_object_left_out() {
    let tree = Tree::new(&[]);
    let path = tree.base.join("a.o");
    fs::write(&path, dwo().build()).unwrap();
    let files = Files::new();
    let file = open_dwo(&files, &path).unwrap();
    assert_eq!(file.debug.get(DebugSection::Info), b"type unit, unit");
    assert_eq!(file.debug.get(DebugSection::Str), b"s\0");
    let object = open_image(&files, &path, &no_system()).unwrap();
    assert_eq!(object.debug.get(DebugSection::Info), b"skeleton");
    // A `.dwo` opened as a program has its own sections.
    let mut alone = dwo();
    alone.sections.remove(0);
    let image = open(&files, alone.build()).unwrap();
    assert_eq!(image.debug.get(DebugSection::Info), b"type unit, unit");

    assert!(open_dwp(&files, &path).err().unwrap().to_string().contains(".debug_cu_index"));
    let mut empty = Elf::x86_64(1);
    empty.add(".debug_info", PROGBITS, 0, 0, b"skeleton");
    fs::write(&path, empty.build()).unwrap();
    assert!(open_dwo(&files, &path).err().unwrap().to_string().contains(".debug_info.dwo"));
    fs::write(&path, b"text").unwrap();
    assert!(open_dwo(&files, &path).err().unwrap().to_string().contains("not an ELF file"));
}

#[test]
fn a_package_is_found_beside_the_program_or_as_given() {
    let tree = Tree::new(&[]);
    let program = tree.base.join("prog");
    fs::write(&program, programs()[0].build()).unwrap();
    let mut package = dwo();
    package.add(".debug_cu_index", PROGBITS, 0, 0, b"index");
    package.add(".debug_tu_index", PROGBITS, 0, 0, b"types");
    let files = Files::new();
    let image = open_image(&files, &program, &no_system()).unwrap();
    assert_eq!(find_dwp(&no_system(), &image), None);
    let path = tree.base.join("prog.dwp");
    fs::write(&path, package.build()).unwrap();
    assert_eq!(find_dwp(&no_system(), &image), Some(path.clone()));
    let given = OpenOptions { dwp: Some("/given.dwp".into()), ..no_system() };
    assert_eq!(find_dwp(&given, &image), Some("/given.dwp".into()));
    let file = open_dwp(&files, &path).unwrap();
    assert_eq!(file.debug.get(DebugSection::CuIndex), b"index");
    assert_eq!(file.debug.get(DebugSection::TuIndex), b"types");
}

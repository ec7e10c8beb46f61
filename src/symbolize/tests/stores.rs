//! Files of stores: by name alone, and damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use foldsym_lookup::SymbolFile;
use foldsym_store::{EntryInfo, LocalStore, Published, Store};
use foldsym_symbolize::{
    AddressKind, Frame, Module, Modules, ReportedAddress, Stack, StackFrame, Symbolizer, Unknown,
};

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/golden/demo.fsym")
}

/// Another build with the same name: the converted file of another program.
fn other(folder: &Path) -> PathBuf {
    let program =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built/fold.clang-lld.set/program");
    let to = folder.join("other.fsym");
    let options = foldsym_convert::Options::default();
    foldsym_convert::convert(&program, &to, &options, &foldsym_convert::NoProgress).unwrap();
    to
}

fn ask(symbolizer: &Symbolizer, name: &str) -> Frame {
    let modules = Modules::new(vec![Module::new(name)]);
    let place = ReportedAddress::Image { module: 0, address: 0x20_12b0 };
    let frames = vec![StackFrame { place, kind: AddressKind::Exact }];
    symbolizer.symbolize(&Stack::new(&modules, frames)).remove(0)
}

fn add(store: &LocalStore, file: &Path, name: &str) -> String {
    let mut info = EntryInfo::default();
    info.name = Some(name.to_owned());
    let published: Published = store.add(file, &info).unwrap();
    published.id().to_string()
}

#[test]
fn a_name_alone_finds_the_one_build_and_lists_several() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::create(&folder.path().join("symbols")).unwrap();
    let first = add(&store, &demo(), "libfoo.so");
    let engine = || Symbolizer::builder().store(Store::Local(store.clone())).build().unwrap();
    let frame = ask(&engine(), "libfoo.so");
    assert!(!frame.functions.is_empty(), "{:?}", frame.unknown);
    assert!(!ask(&engine(), "/usr/lib/libfoo.so").functions.is_empty());
    let why = ask(&engine(), "libbar.so").unknown.unwrap().to_string();
    let root = store.root().display().to_string();
    assert!(why.contains(&format!("no build of this name in {root}")), "{why}");
    let second = add(&store, &other(folder.path()), "libfoo.so");
    assert_ne!(first, second);
    let frame = ask(&engine(), "libfoo.so");
    let why = frame.unknown.unwrap().to_string();
    assert!(frame.functions.is_empty() && why.starts_with("libfoo.so: 2 builds of this name"), "{why}");
    assert!(why.contains(&format!("{first} (20")) && why.contains(&second), "{why}");
}

/// A byte of any section is flipped: an engine that checks says so, and one that does not may answer.
#[test]
fn a_damaged_file_is_said_if_files_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(demo()).unwrap();
    let path = folder.path().join("app.fsym");
    let mut silent = 0;
    // Header and directory are checked whenever a file is opened.
    let sections = SymbolFile::open(&whole).unwrap().records().sections().map(|section| section.offset).min();
    let start = sections.unwrap() as usize;
    for at in (start..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        let engine = |checks| Symbolizer::builder().search([&path]).check(checks).build().unwrap();
        let frame = ask(&engine(true), "app");
        assert!(matches!(frame.unknown, Some(Unknown::Damaged(_))) && frame.functions.is_empty(), "{at}");
        silent += u32::from(ask(&engine(false), "app").unknown.is_none());
    }
    assert!(silent > 0, "no damage went unseen without the check");
}

/// The search goes on after a damaged file, as it does after one that cannot be opened.
#[test]
fn a_damaged_file_does_not_end_the_search() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let paths = folders.each_ref().map(|folder| folder.path().join("app.fsym"));
    let whole = fs::read(demo()).unwrap();
    let mut bytes = whole.clone();
    let last = bytes.len() - 40;
    bytes[last] ^= 0x10;
    fs::write(&paths[0], bytes).unwrap();
    fs::write(&paths[1], whole).unwrap();
    let engine =
        |paths: &[&std::path::PathBuf]| Symbolizer::builder().search(paths).check(true).build().unwrap();
    assert!(matches!(ask(&engine(&[&paths[0]]), "app").unknown, Some(Unknown::Damaged(_))));
    let frame = ask(&engine(&[&paths[0], &paths[1]]), "app");
    assert!(frame.unknown.is_none() && !frame.functions.is_empty(), "{:?}", frame.unknown);
}

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

/// A profile may name one build in many ways. Each took a mapping of its own, in each thread.
#[test]
fn a_build_of_many_names_is_open_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::create(&folder.path().join("symbols")).unwrap();
    let id = store.add(&demo(), &EntryInfo::default()).unwrap().id().clone();
    let engine = Symbolizer::builder().store(Store::Local(store)).build().unwrap();
    let modules = (0..1000).map(|at| Module::new(&format!("/lib/name{at}")).with_id(id.clone())).collect();
    let frame = |module| StackFrame {
        place: ReportedAddress::Image { module, address: 0x20_12b0 },
        kind: AddressKind::Exact,
    };
    let frames = engine.symbolize(&Stack::new(&Modules::new(modules), (0..1000).map(frame).collect()));
    assert!(frames.iter().all(|frame| !frame.functions.is_empty()), "{:?}", frames[0].unknown);
    assert_eq!(engine.opened().files, 1);
}

/// Files that are open have a bound in bytes, for all stacks together and in one stack.
#[test]
fn open_files_have_a_bound_in_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::create(&folder.path().join("symbols")).unwrap();
    let files = [demo(), other(folder.path())];
    let module = |file: &PathBuf| {
        Module::new("m").with_id(store.add(file, &EntryInfo::default()).unwrap().id().clone())
    };
    let modules: Vec<Module> = files.iter().map(module).collect();
    let largest = files.iter().map(|file| file.metadata().unwrap().len()).max().unwrap();
    let engine =
        Symbolizer::builder().store(Store::Local(store.clone())).open_bytes(largest).build().unwrap();
    let place = |module| ReportedAddress::Offset { module, offset: 0x12b0 };
    let frame = |module| StackFrame { place: place(module), kind: AddressKind::Exact };
    let both = engine.symbolize(&Stack::new(&Modules::new(modules.clone()), vec![frame(0), frame(1)]));
    let why = both[1].unknown.as_ref().unwrap();
    assert!(matches!(why, Unknown::Failed(text) if text.starts_with("not opened: ")), "{why}");
    // Each by itself fits, and closes the other.
    let before = engine.opened().files;
    let mut worker = engine.worker();
    let mut found = Vec::new();
    for _ in 0..3 {
        for module in &modules {
            worker.symbolize(&Stack::new(&Modules::new(vec![module.clone()]), vec![frame(0)]), &mut found);
            assert!(!matches!(found[0].unknown, Some(Unknown::Failed(_))), "{:?}", found[0].unknown);
        }
    }
    assert!(engine.opened().files >= before + 5, "{}", engine.opened().files);
}

/// Files that a worker kept from earlier stacks do not take the room of the next stack.
#[test]
fn a_stack_has_the_whole_bound_after_another() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::create(&folder.path().join("symbols")).unwrap();
    let mut files = [demo(), other(folder.path())].map(|file| (file.metadata().unwrap().len(), file));
    files.sort();
    let modules = files.each_ref().map(|(_, file)| {
        Module::new("m").with_id(store.add(file, &EntryInfo::default()).unwrap().id().clone())
    });
    // The smaller file is kept, and both are more than the bound.
    let most = files[1].0.max(2 * files[0].0);
    let engine = Symbolizer::builder().store(Store::Local(store)).open_bytes(most).build().unwrap();
    let place = ReportedAddress::Offset { module: 0, offset: 0x12b0 };
    let (mut worker, mut found) = (engine.worker(), Vec::new());
    for module in modules {
        let frame = StackFrame { place, kind: AddressKind::Exact };
        worker.symbolize(&Stack::new(&Modules::new(vec![module]), vec![frame]), &mut found);
        assert!(!matches!(found[0].unknown, Some(Unknown::Failed(_))), "{:?}", found[0].unknown);
    }
}

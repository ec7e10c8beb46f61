//! Tests what the cache of converted programs keeps, and what it makes again.
#![cfg(feature = "convert")]

use std::fs;
use std::path::{Path, PathBuf};

use foldsym_symbolize::{
    AddressKind, LocalStore, Module, Modules, ReportedAddress, Stack, StackFrame, Store, Symbolizer, Unknown,
};

fn built(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built").join(name)
}

/// The line at an address, as a process of its own finds it: engines share nothing but the cache.
fn line(program: &Path, cache: &Path, address: u64, is_named: bool) -> u32 {
    let module = Module::new("app");
    let (builder, module) = match is_named {
        true => (Symbolizer::builder(), module.with_program(program)),
        false => (Symbolizer::builder().search([program.parent().unwrap()]), module),
    };
    let symbolizer = builder.cache(cache).build().unwrap();
    let place = ReportedAddress::Image { module: 0, address };
    let stack = Stack::new(&Modules::new(vec![module]), vec![StackFrame { place, kind: AddressKind::Exact }]);
    let frame = symbolizer.symbolize(&stack).remove(0);
    assert!(matches!(frame.unknown, None | Some(Unknown::NoFunction)), "{frame:?}");
    frame.functions.first().map_or(0, |location| location.line)
}

#[test]
fn a_debug_file_that_appears_later_is_taken() {
    for is_named in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (programs, cache) = (folder.path().join("programs"), folder.path().join("cache"));
        fs::create_dir(&programs).unwrap();
        let program = programs.join("app");
        fs::copy(built("split.gcc-dwarf4.set/stripped"), &program).unwrap();
        assert_eq!(line(&program, &cache, 0x401030, is_named), 0);
        fs::copy(built("split.gcc-dwarf4.set/stripped.debug"), programs.join("app.debug")).unwrap();
        // llvm-symbolizer's line for the debug file.
        assert_eq!(line(&program, &cache, 0x401030, is_named), 41, "named: {is_named}");
    }
}

/// What a build published has rows; what the cache has was converted from the program alone.
#[test]
fn a_store_comes_before_what_was_converted_here() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, root, file) =
        (folder.path().join("cache"), folder.path().join("store"), folder.path().join("app.fsym"));
    let program = built("fold.clang-lld.set/program");
    assert_ne!(line(&program, &cache, 0x209790, true), u32::MAX);
    let mut options = foldsym_convert::Options::default();
    (options.threads, options.unwind) = (1, true);
    foldsym_convert::convert(&program, &file, &options, &foldsym_convert::NoProgress).unwrap();
    let store = LocalStore::create(&root).unwrap();
    let published = store.add(&file, &foldsym_store::EntryInfo::default()).unwrap();
    let mut module = Module::new("app");
    module.id = Some(published.id().clone().into());
    let has_rows = |builder: foldsym_symbolize::Builder| {
        let symbolizer = builder.cache(&cache).build().unwrap();
        symbolizer.file_of(&module).unwrap().file().unwind().unwrap().is_some()
    };
    assert!(!has_rows(Symbolizer::builder()), "the cache has the program, without rows");
    assert!(has_rows(Symbolizer::builder().store(Store::Local(store))));
}

/// A file of an older converter lacks contents that files have now: it is made again, once.
#[test]
fn what_another_converter_made_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, programs) = (folder.path().join("cache"), folder.path().join("programs"));
    fs::create_dir(&programs).unwrap();
    let program = programs.join("app");
    fs::copy(built("demo.elf"), &program).unwrap();
    let store = || LocalStore::open(&cache).unwrap();
    for is_named in [true, false] {
        assert_ne!(line(&program, &cache, 0x2012b0, is_named), 0);
        let id = store().list().unwrap()[0].id.clone();
        let report = |of: &LocalStore| {
            serde_json::from_str::<serde_json::Value>(&of.report(&id).unwrap().unwrap()).unwrap()
        };
        let made = report(&store());
        assert!(made["conversion"]["converter"].is_string(), "{made}");
        // Named by its version alone, or not at all, as the first converters did.
        for old in [serde_json::json!(env!("CARGO_PKG_VERSION")), serde_json::Value::Null] {
            let mut conversion = made["conversion"].clone();
            conversion["converter"] = old;
            let (mut of_old, path) = (made.clone(), store().file_path(&id).with_extension("json"));
            of_old["conversion"] = conversion;
            fs::write(&path, of_old.to_string()).unwrap();
            assert_ne!(report(&store())["conversion"]["converter"], made["conversion"]["converter"]);
            assert_ne!(line(&program, &cache, 0x2012b0, is_named), 0);
            assert_eq!(report(&store())["conversion"]["converter"], made["conversion"]["converter"]);
        }
    }
}

/// Programs that were converted with other options are kept apart, and it does not matter which come first.
#[test]
fn other_options_may_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, program) = (folder.path().join("cache"), built("demo.elf"));
    let mut options = foldsym_convert::Options::default();
    (options.columns, options.debug_dirs) = (true, vec![folder.path().to_owned()]);
    let other = Symbolizer::builder().conversion(options).cache(&cache).build().unwrap();
    other.load(&program).unwrap();
    assert_ne!(line(&program, &cache, 0x2012b0, true), 0);
    let store = LocalStore::open(&cache).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    let checked = store.check().unwrap();
    assert_eq!((checked.files, checked.problems.as_slice()), (2, &[][..]));
}

#[test]
fn what_is_converted_is_held_to_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let bytes =
        || LocalStore::open(&cache).unwrap().list().unwrap().iter().map(|listed| listed.size).sum::<u64>();
    let mut most = u64::MAX;
    for name in ["fold.clang-lld.set/program", "demo.elf", "inline.clang-pie"] {
        let engine = Symbolizer::builder().cache(&cache).cache_bytes(most).build().unwrap();
        assert!(engine.load(&built(name)).is_ok());
        assert!(bytes() > 0);
        // The first one has most bytes.
        most = most.min(bytes());
        assert!(bytes() <= most, "{name}: {} of {most}", bytes());
    }
}

/// A cache that cannot keep a program does not stop the answer, and the program is not converted twice for it.
#[test]
fn a_folder_in_the_place_of_an_entry_does_not_stop_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, program) = (folder.path().join("cache"), built("demo.elf"));
    assert_ne!(line(&program, &cache, 0x2012b0, true), 0);
    let store = LocalStore::open(&cache).unwrap();
    let entry = store.list().unwrap().remove(0).path;
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    for is_named in [true, false] {
        let programs = folder.path().join("programs");
        fs::create_dir_all(&programs).unwrap();
        fs::copy(&program, programs.join("app")).unwrap();
        assert_ne!(line(&programs.join("app"), &cache, 0x2012b0, is_named), 0, "named: {is_named}");
    }
    let engine = Symbolizer::builder().cache(&cache).build().unwrap();
    assert!(engine.load(&program).is_ok());
    assert!(entry.is_dir());
}

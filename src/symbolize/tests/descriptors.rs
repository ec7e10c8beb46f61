//! A process that has no descriptor left. The limit is the process's, so this is a program of its own with one test.
#![cfg(unix)]

use std::fs::File;
use std::path::Path;

use foldsym_store::{EntryInfo, LocalStore, Store};
use foldsym_symbolize::{Module, Symbolizer, Unknown};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn modules_are_found_again_when_there_are_descriptors() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built/demo.elf");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/golden/demo.fsym");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let store = LocalStore::create(&path("store")).unwrap();
    let id = store.add(&golden, &EntryInfo::default()).unwrap().id().clone();
    std::fs::create_dir(path("files")).unwrap();
    std::fs::copy(&golden, path("files").join("other-name.fsym")).unwrap();
    std::fs::create_dir(path("programs")).unwrap();
    std::fs::copy(&built, path("programs").join("demo.elf")).unwrap();
    let mut module = Module::new("demo.elf");
    module.id = Some(id.into());
    let of = |place: &str| {
        let builder = Symbolizer::builder();
        match place {
            "store" => builder.store(Store::Local(store.clone())),
            "cached" => builder.search([path("programs")]).cache_if_usable(Some(path("cache"))),
            _ => builder.search([path(place)]),
        }
        .build()
        .unwrap()
    };
    // A file given by path is looked at when it is first asked for.
    let places = ["store", "files", "files/other-name.fsym", "programs", "programs/demo.elf", "cached"];
    let engines: Vec<_> = places.map(|place| (place, of(place))).into();
    let limits = Rlimit { current: Some(100), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limits).unwrap();
    let mut taken = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        taken.push(file);
    }
    for (place, engine) in &engines {
        let why = engine.file_of(&module).map(drop).unwrap_err();
        // The file is there, if the process could look.
        assert!(matches!(why, Unknown::Failed(_) | Unknown::Absent(_)), "{place}: {why}");
    }
    drop(taken);
    for (place, engine) in &engines {
        assert!(engine.file_of(&module).is_ok(), "{place}: {:?}", engine.file_of(&module).err());
    }
}

//! Garbage collection of a store in a folder: what it removes, what it leaves alone, and what it covers.

mod common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::{age, day, demo, files, id, info, stamped, stamped_file, store};
use foldsym_format::header::VERSION;
use foldsym_store::{BuildId, DebugId, EntryInfo, LocalStore, Release, StoreError};

#[test]
fn garbage_goes_by_age_and_size_and_pins_stay() {
    let (folder, store) = store();
    for number in 1..=6 {
        store.add(&stamped_file(folder.path(), number), &info("app")).unwrap();
        age(&store.file_path(&id(number)), 1000 * u64::from(number));
    }
    store.pin("1.0", [id(6), id(99)]).unwrap();
    let size = stamped(id(1).as_bytes()).len() as u64;
    let mut options = day();
    options.max_age = Some(Duration::from_secs(4500));
    options.dry_run = true;
    let planned = store.gc(&options).unwrap();
    assert_eq!((planned.removed.as_slice(), planned.pinned, planned.kept), (&[id(5)][..], 1, 5));
    assert_eq!(store.list().unwrap().len(), 6);
    options.dry_run = false;
    let done = store.gc(&options).unwrap();
    assert_eq!((done.removed, done.removed_bytes, done.kept_bytes), (vec![id(5)], size, 5 * size));
    assert!(!store.root().join("name/app").join(id(5).to_string()).exists());
    assert!(!store.file_path(&id(5)).parent().unwrap().exists());
    let mut options = day();
    options.max_bytes = Some(3 * size);
    assert_eq!(store.gc(&options).unwrap().removed, [id(4), id(3)]);
    let left: Vec<BuildId> = store.list().unwrap().into_iter().map(|listed| listed.id).collect();
    assert_eq!(left, [id(1), id(2), id(6)]);
    // Nothing dangles, and what was mapped stays readable.
    let map = store.get(&id(1)).unwrap().unwrap();
    assert!(store.remove(&id(1)).unwrap() && !store.remove(&id(1)).unwrap());
    map.file().verify().unwrap();
    assert!(store.check().unwrap().problems.is_empty());
    assert_eq!(files(&store.root().join("debugid")).len(), 2);
    assert!(store.unpin("1.0").unwrap() && !store.unpin("1.0").unwrap());
    options.max_bytes = Some(0);
    store.gc(&options).unwrap();
    assert_eq!(files(store.root()), ["format", "tmp/swept"]);
}

#[test]
fn a_pin_that_cannot_be_read_stops_the_collector() {
    let (folder, store) = store();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    store.pin("1.0", [id(1)]).unwrap();
    fs::write(store.root().join("pins/1.0"), "garbage\n").unwrap();
    let mut options = day();
    options.max_bytes = Some(0);
    assert!(store.gc(&options).unwrap_err().to_string().contains("pins/1.0"));
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn litter_of_killed_writers_goes_after_a_day() {
    let (_folder, store) = store();
    let tmp = store.root().join("tmp");
    fs::create_dir_all(&tmp).unwrap();
    for (name, seconds) in [("new-old", 90_000), ("new-young", 3600), ("aa.lock", 90_000)] {
        fs::write(tmp.join(name), "").unwrap();
        age(&tmp.join(name), seconds);
    }
    // What a conversion that was killed leaves, and a file in it that no conversion wrote.
    for (name, files) in [("new-killed", &["program.fsym", ".fsym-abc"][..]), ("new-odd", &["notes"])] {
        fs::create_dir(tmp.join(name)).unwrap();
        for file in files {
            fs::write(tmp.join(name).join(file), "").unwrap();
            age(&tmp.join(name).join(file), 90_000);
        }
        age(&tmp.join(name), 90_000);
    }
    // A conversion that still writes.
    fs::create_dir(tmp.join("new-busy")).unwrap();
    fs::write(tmp.join("new-busy/.fsym-abc"), "").unwrap();
    age(&tmp.join("new-busy"), 90_000);
    // A lock that is held stays, however old.
    let lock = store.lock(&id(7)).unwrap();
    age(&tmp.join(format!("{}.lock", id(7))), 90_000);
    // Index entries that lead nowhere, old and young.
    let keys = [1, 2].map(|number| DebugId::of_elf(&id(number), false).to_string().to_lowercase());
    for (key, seconds) in keys.iter().zip([90_000, 60]) {
        let place = store.root().join("debugid").join(&key[..2]).join(&key[2..]);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, format!("{}\n", id(1))).unwrap();
        age(&place, seconds);
    }
    assert_eq!(store.gc(&day()).unwrap().litter, 5);
    let left = files(store.root());
    assert!(!tmp.join("new-killed").exists() && tmp.join("new-odd/notes").exists());
    assert!(tmp.join("new-busy/.fsym-abc").exists());
    assert!(
        left.iter().any(|path| path == "tmp/new-young") && left.iter().any(|path| path.ends_with(".lock")),
        "{left:?}"
    );
    drop(lock);
    assert!(!files(store.root()).iter().any(|path| path.ends_with(".lock")));
    // A writer sweeps too, once an hour.
    fs::write(tmp.join("new-old"), "").unwrap();
    age(&tmp.join("new-old"), 90_000);
    store.add(&demo(), &EntryInfo::default()).unwrap();
    assert!(!tmp.join("new-old").exists());
}

/// A wrong clock may have written a stamp in the future.
#[test]
fn a_stamp_in_the_future_does_not_stop_sweeping() {
    let (folder, store) = store();
    let tmp = store.root().join("tmp");
    fs::create_dir_all(&tmp).unwrap();
    for name in ["swept", "new-old"] {
        fs::write(tmp.join(name), "").unwrap();
    }
    age(&tmp.join("new-old"), 90_000);
    let later = std::time::SystemTime::now() + Duration::from_secs(90_000);
    fs::File::options().append(true).open(tmp.join("swept")).unwrap().set_modified(later).unwrap();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    assert!(!tmp.join("new-old").exists());
    assert!(tmp.join("swept").metadata().unwrap().modified().unwrap() < later);
}

/// A writer that finds an old index entry keeps it: the collector leaves alone what it has locked, and what leads to a file by now.
#[test]
fn index_entries_of_a_file_that_is_published_now_stay() {
    let (folder, store) = store();
    let key = DebugId::of_elf(&id(1), false).to_string().to_lowercase();
    let index = store.root().join("debugid").join(&key[..2]).join(&key[2..]);
    let marker = store.root().join("name/app").join(id(1).to_string());
    for (path, text) in [(&index, format!("{}\n", id(1))), (&marker, String::new())] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        age(path, 90_000);
    }
    let lock = store.lock(&id(1)).unwrap();
    assert_eq!(store.gc(&day()).unwrap().litter, 0);
    let write = |path: &Path| -> Result<(), StoreError> {
        fs::write(path, stamped(id(1).as_bytes())).unwrap();
        Ok(())
    };
    lock.publish(&info("app"), write).unwrap();
    drop(lock);
    assert_eq!(store.gc(&day()).unwrap().litter, 0);
    assert!(index.exists() && marker.exists());
    // A file whose lock is held is in use.
    let lock = store.lock(&id(1)).unwrap();
    let mut options = day();
    options.max_bytes = Some(0);
    assert_eq!(store.gc(&options).unwrap().kept, 1);
    drop(lock);
    fs::remove_file(store.file_path(&id(1))).unwrap();
    assert_eq!(store.gc(&day()).unwrap().litter, 2);
    assert!(!index.exists() && !marker.exists());
    drop(folder);
}

/// Stores in folders of a cache are made in any order, and are checked and collected with it.
#[test]
fn a_cache_covers_the_stores_in_its_folders() {
    let (folder, store) = store();
    // As an earlier version left it, which made the inner store alone.
    let old = folder.path().join("old");
    LocalStore::create(&old.join("with/0123")).unwrap();
    assert!(LocalStore::create(&old).is_ok());
    let part = store.with_options("0123").unwrap();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    part.add(&stamped_file(folder.path(), 2), &EntryInfo::default()).unwrap();
    part.note_missing(&id(3)).unwrap();
    let checked = store.check().unwrap();
    assert_eq!((checked.files, checked.problems.as_slice()), (2, &[][..]));
    fs::write(part.root().join("odd"), "").unwrap();
    assert_eq!(store.check().unwrap().problems[0].path, part.root().join("odd"));
    age(&part.file_path(&id(2)), 7200);
    let mut options = day();
    // A note takes a block.
    options.max_bytes = Some(stamped(id(1).as_bytes()).len() as u64 + 4096);
    options.dry_run = true;
    assert_eq!(store.gc(&options).unwrap().removed, [id(2)]);
    options.dry_run = false;
    assert_eq!(store.gc(&options).unwrap().removed, [id(2)]);
    assert!(store.get(&id(1)).unwrap().is_some() && part.get(&id(2)).unwrap().is_none());
    // A pin of the cache holds for all of it.
    part.add(&stamped_file(folder.path(), 2), &EntryInfo::default()).unwrap();
    store.pin("1.0", [id(2)]).unwrap();
    options.max_bytes = Some(0);
    assert_eq!(store.gc(&options).unwrap().removed, [id(1)]);
    // The note went with them.
    assert!(!part.is_missing(&id(3), Duration::from_secs(3600)));
    fs::write(part.root().join("format"), "fsym-store 2\n").unwrap();
    let problems = store.check().unwrap().problems;
    assert!(
        problems[0].path == part.root() && problems[0].message.contains("not a symbol store"),
        "{problems:?}"
    );
    assert!(store.gc(&options).unwrap().removed.is_empty());
}

/// Links and folders that the store did not make. What links lead to is outside of the store.
#[cfg(unix)]
#[test]
fn a_collection_follows_no_link_and_removes_nothing_that_the_store_did_not_write() {
    use std::os::unix::fs::symlink;

    let (folder, store) = store();
    let outside = folder.path().join("outside");
    let put = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        age(path, 900_000);
    };
    // What would go if it were in the store.
    let [name, debug] = ["name", "debug"].map(|kind| outside.join(kind));
    put(&name.join(id(7).to_string()), "");
    put(&debug.join("cdef0123456789abcdef0123456789abcdef0"), &format!("{}\n", id(7)));
    put(&outside.join("tmp/new-1"), "");
    put(&outside.join("entry/v1.fsym"), "symbols");
    put(&outside.join("shelf/cdef/v1.fsym"), "symbols");
    put(&outside.join("part/ab/cdef/v1.fsym"), "symbols");
    put(&outside.join("part/format"), "fsym-store 1\n");
    put(&outside.join("file.fsym"), "symbols");
    let before = files(&outside);
    let root = store.root();
    for part in ["name", "debugid", "aa", "with", "bb/cdef"] {
        fs::create_dir_all(root.join(part)).unwrap();
    }
    symlink(&name, root.join("name/libfoo.so")).unwrap();
    symlink(&debug, root.join("debugid/ab")).unwrap();
    symlink(outside.join("entry"), root.join("aa/bbcc")).unwrap();
    symlink(outside.join("shelf"), root.join("ab")).unwrap();
    symlink(outside.join("part"), root.join("with/0123")).unwrap();
    symlink(outside.join("file.fsym"), root.join("bb/cdef/v1.fsym")).unwrap();
    // Folders and files that no store makes.
    for odd in ["bb/ccdd/v3.fsym/x", "name/README", "name/libbar.so/README", "pins/old/1.0", "tmp/notes"] {
        put(&root.join(odd), "kept");
    }
    store.add(&stamped_file(folder.path(), 1), &info("app")).unwrap();
    fs::remove_dir_all(root.join("tmp")).unwrap();
    symlink(outside.join("tmp"), root.join("tmp")).unwrap();
    let mut options = day();
    (options.max_age, options.max_bytes) = (Some(Duration::ZERO), Some(0));
    assert_eq!(store.gc(&options).unwrap().removed, [id(1)]);
    for linked in ["aabbcc", "abcdef"] {
        assert!(!store.remove(&BuildId::parse(linked).unwrap()).unwrap());
    }
    let mut after = files(&outside);
    // A writer through the link leaves its stamp.
    after.retain(|file| file != "tmp/swept");
    assert_eq!(after, before);
    for odd in ["bb/ccdd/v3.fsym/x", "name/README", "name/libbar.so/README", "pins/old/1.0"] {
        assert!(root.join(odd).exists(), "{odd}");
    }
    let problems = store.check().unwrap().problems;
    let named = |path: &str| problems.iter().any(|problem| problem.path == root.join(path));
    assert!(["aa/bbcc", "ab", "bb/ccdd/v3.fsym"].into_iter().all(named), "{problems:?}");
}

/// A check that runs while files are collected and published again finds sound files, or none.
#[test]
fn a_check_beside_a_collection_finds_no_damage() {
    let (folder, store) = store();
    let made: Vec<_> = (1..=4).map(|number| stamped_file(folder.path(), number)).collect();
    let mut options = day();
    options.max_bytes = Some(0);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..15 {
                for file in &made {
                    store.add(file, &info("app")).unwrap();
                }
                store.gc(&options).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            let problems = store.check().unwrap().problems;
            assert!(problems.is_empty(), "{problems:?}");
        }
    });
}

/// The releases of a product are counted by the time of their last program.
#[test]
fn the_newest_releases_of_each_product_stay() {
    let (folder, store) = store();
    let release = |product: &str, version: &str, published: u64| {
        let mut release = Release::now(product, Some(version), Some("8f3c2a"));
        release.published = published;
        release
    };
    let add = |number: u32, releases: &[Release]| {
        let mut info = info("app");
        info.releases = releases.to_vec();
        store.add(&stamped_file(folder.path(), number), &info).unwrap();
    };
    add(1, &[release("mail", "1.0", 10)]);
    add(2, &[release("mail", "2.0", 20)]);
    add(3, &[release("mail", "3.0", 30)]);
    add(4, &[release("chat", "1.0", 1)]);
    add(5, &[]);
    add(6, &[release("mail", "1.0", 10)]);
    // A program of the first release that the third has unchanged.
    add(6, &[release("mail", "3.0", 31)]);
    let report: serde_json::Value = serde_json::from_str(&store.report(&id(6)).unwrap().unwrap()).unwrap();
    let versions = Release::of_report(&report).into_iter().filter_map(|release| release.version);
    assert_eq!(versions.collect::<Vec<_>>(), ["1.0", "3.0"]);
    store.add_to_pin("lts", &[id(1)]).unwrap();
    let mut options = day();
    (options.keep_releases, options.older_than) = (Some(1), Some(Duration::from_secs(3600)));
    assert!(store.gc(&options).unwrap().removed.is_empty());
    options.older_than = None;
    let done = store.gc(&options).unwrap();
    assert_eq!((done.removed.as_slice(), done.pinned), (&[id(2)][..], 4));
    // A bound in bytes takes what is of no release, and leaves the others.
    options.max_bytes = Some(0);
    assert_eq!(store.gc(&options).unwrap().removed, [id(5)]);
    assert_eq!(store.list().unwrap().len(), 4);
    // The time of publication counts, though the file was just used.
    let mut options = day();
    options.older_than = Some(Duration::from_secs(3600));
    let key = id(4).to_string();
    age(&store.root().join(&key[..2]).join(&key[2..]).join(format!("v{VERSION}.json")), 7200);
    assert_eq!(store.gc(&options).unwrap().removed, [id(4)]);
}

/// Pins are changed by many processes at once, and hold files until they are gone.
#[test]
fn pins_are_added_to_and_taken_from() {
    let (folder, store) = store();
    for number in 1..=3 {
        store.add(&stamped_file(folder.path(), number), &info("app")).unwrap();
    }
    std::thread::scope(|scope| {
        for number in 1..=3 {
            let store = &store;
            scope.spawn(move || store.add_to_pin("1.0", &[id(number)]).unwrap());
        }
    });
    assert_eq!(store.pins().unwrap()[0].ids.len(), 3);
    let mut options = day();
    options.max_bytes = Some(0);
    assert_eq!(store.gc(&options).unwrap().pinned, 3);
    assert!(store.remove_from_pin("1.0", &[id(1)]).unwrap());
    assert!(!store.remove_from_pin("1.0", &[id(1)]).unwrap());
    assert_eq!(store.gc(&options).unwrap().removed, [id(1)]);
    assert!(store.remove_from_pin("1.0", &[id(2), id(3)]).unwrap() && store.pins().unwrap().is_empty());
    assert!(!store.remove_from_pin("none", &[id(2)]).unwrap());
    assert!(store.add_to_pin("../x", &[id(2)]).is_err());
}

/// The builds of a name are those whose files are there.
#[test]
fn the_builds_of_a_name_are_found() {
    let (folder, store) = store();
    for number in 1..=2 {
        store.add(&stamped_file(folder.path(), number), &info("libfoo.so")).unwrap();
    }
    let found = |name: &str| store.builds_named(name).unwrap().into_iter().map(|listed| listed.id);
    assert_eq!(found("libfoo.so").collect::<Vec<_>>(), [id(1), id(2)]);
    fs::remove_file(store.file_path(&id(1))).unwrap();
    assert_eq!(found("libfoo.so").collect::<Vec<_>>(), [id(2)]);
    assert_eq!(found("../name/libfoo.so").count() + found("libbar.so").count(), 0);
}

/// Cargo links `deps/mail-420e38ebd8bb4667` to `mail`.
#[test]
fn a_build_is_found_by_each_of_its_names() {
    for order in [["mail", "mail-1f"], ["mail-1f", "mail"]] {
        let (folder, store) = store();
        let file = stamped_file(folder.path(), 1);
        for name in order {
            store.add(&file, &info(name)).unwrap();
        }
        for name in order {
            let found: Vec<_> =
                store.builds_named(name).unwrap().into_iter().map(|listed| listed.id).collect();
            assert_eq!(found, [id(1)], "{name}");
        }
        // Whichever came first.
        let report: serde_json::Value =
            serde_json::from_str(&store.report(&id(1)).unwrap().unwrap()).unwrap();
        assert_eq!(report["name"], "mail", "{order:?}");
    }
}

/// A folder of another program may have the names of an entry and of its files.
#[test]
fn files_that_only_look_like_an_entry_stay() {
    let (folder, store) = store();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    let foreign = store.root().join("ab/cdef0123");
    fs::create_dir_all(&foreign).unwrap();
    for name in ["v2.fsym", "v3.json", "v4.fsym", "v4.json"] {
        fs::write(foreign.join(name), "{\"mine\": true}").unwrap();
        fs::File::open(foreign.join(name)).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    let mut options = day();
    options.max_bytes = Some(0);
    store.gc(&options).unwrap();
    assert_eq!(files(&foreign).len(), 4);
    assert!(store.list().unwrap().is_empty());
}

/// A lost index by debug id is made again when the program is converted again.
#[test]
fn a_lost_index_is_made_again() {
    let (folder, store) = store();
    store.add(&stamped_file(folder.path(), 1), &info("app")).unwrap();
    let map = store.get(&id(1)).unwrap().unwrap();
    let debug_id = DebugId::of_file(&id(1), map.file());
    fs::remove_dir_all(store.root().join("debugid")).unwrap();
    assert!(store.get_by_debug_id(&debug_id).unwrap().is_none());
    let whole = foldsym_store::Store::Local(store.clone());
    whole.lock(&id(1)).unwrap().note(&info("app")).unwrap();
    assert!(store.get_by_debug_id(&debug_id).unwrap().is_some());
}

//! Garbage collection of a store in a folder: what it removes, what it leaves alone, and what it covers.

mod common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::{age, day, demo, files, id, info, stamped, stamped_file, store};
use foldsym_store::{BuildId, DebugId, EntryInfo, LocalStore, StoreError};

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
    assert_eq!(store.gc(&day()).unwrap().litter, 3);
    let left = files(store.root());
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

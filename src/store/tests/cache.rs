//! A remote store with a cache: each file is fetched once, the cache is bounded, and the remote store is never trusted.

mod common;

use foldsym_format::header::VERSION;
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{files, id, stamped};
use foldsym_store::{
    BuildId, CachedStore, DebugId, EntryInfo, LocalStore, ModuleId, Published, Remote, RemoteError, Store,
    StoreError, StoreOptions,
};

/// Objects in memory, which count how often they are requested.
#[derive(Clone, Default)]
struct Memory {
    location: Option<&'static str>,
    objects: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    asked: Arc<AtomicU32>,
    /// The same for index entries.
    index_asked: Arc<AtomicU32>,
    /// The connection ends in the middle of an object.
    cut: Arc<AtomicBool>,
}

impl Memory {
    fn put(&self, id: &BuildId, bytes: Vec<u8>) {
        self.objects.lock().unwrap().insert(key(id), bytes);
    }

    fn files_asked(&self) -> u32 {
        self.asked.swap(0, Ordering::SeqCst)
    }
}

fn key(id: &BuildId) -> String {
    let key = id.to_string();
    format!("{}/{}/v{VERSION}.fsym", &key[..2], &key[2..])
}

impl Remote for Memory {
    fn get(&self, key: &str, out: &mut dyn Write) -> Result<bool, RemoteError> {
        if key.ends_with(".fsym") {
            self.asked.fetch_add(1, Ordering::SeqCst);
        }
        if key.starts_with("debugid/") {
            self.index_asked.fetch_add(1, Ordering::SeqCst);
        }
        let Some(bytes) = self.objects.lock().unwrap().get(key).cloned() else { return Ok(false) };
        let failed = |error: std::io::Error| RemoteError::new(format!("mem://{key}"), error);
        if self.cut.load(Ordering::SeqCst) {
            out.write_all(&bytes[..bytes.len() / 2]).map_err(failed)?;
            return Err(RemoteError::new(format!("mem://{key}"), "the connection ended early"));
        }
        out.write_all(&bytes).map_err(failed)?;
        Ok(true)
    }

    fn create(&self, key: &str, bytes: &[u8]) -> Result<bool, RemoteError> {
        let mut objects = self.objects.lock().unwrap();
        if objects.contains_key(key) {
            return Ok(false);
        }
        objects.insert(key.to_owned(), bytes.to_vec());
        Ok(true)
    }

    fn size(&self, key: &str) -> Result<Option<u64>, RemoteError> {
        Ok(self.objects.lock().unwrap().get(key).map(|bytes| bytes.len() as u64))
    }

    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), RemoteError> {
        self.objects.lock().unwrap().insert(key.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn remove(&self, key: &str) -> Result<(), RemoteError> {
        self.objects.lock().unwrap().remove(key);
        Ok(())
    }

    fn location(&self) -> &str {
        self.location.unwrap_or("mem:/")
    }
}

fn cached(folder: &Path, change: impl FnOnce(&mut StoreOptions)) -> (Memory, CachedStore) {
    of_remote(folder, "mem:/", change)
}

fn of_remote(
    folder: &Path,
    location: &'static str,
    change: impl FnOnce(&mut StoreOptions),
) -> (Memory, CachedStore) {
    let memory = Memory { location: Some(location), ..Memory::default() };
    let mut options = StoreOptions::default();
    options.cache = Some(folder.join("cache"));
    change(&mut options);
    (memory.clone(), CachedStore::new(Box::new(memory), options).unwrap())
}

/// What makes a file of these bytes.
fn write(bytes: Vec<u8>) -> impl FnOnce(&Path) -> Result<(), StoreError> {
    move |path| {
        fs::write(path, bytes).unwrap();
        Ok(())
    }
}

/// Another sound file of the same build id.
fn changed(number: u32) -> Vec<u8> {
    let mut bytes = stamped(id(number).as_bytes());
    common::change(&mut bytes);
    bytes
}

#[test]
fn a_file_is_fetched_once() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, store) = cached(folder.path(), |_| {});
    memory.put(&id(1), stamped(id(1).as_bytes()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert!(store.get(&id(1)).unwrap().is_some()));
        }
    });
    assert_eq!(memory.files_asked(), 1);
    assert!(store.cache().get(&id(1)).unwrap().is_some());
}

#[test]
fn what_is_not_there_is_asked_for_once_an_hour() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, store) = cached(folder.path(), |_| {});
    for _ in 0..3 {
        assert!(store.get(&id(1)).unwrap().is_none());
    }
    assert_eq!(memory.files_asked(), 1);
    let (memory, store) = cached(folder.path(), |options| options.missing_for = Duration::ZERO);
    memory.put(&id(1), stamped(id(1).as_bytes()));
    assert!(store.get(&id(1)).unwrap().is_some());
    // The note went with it.
    assert!(!store.cache().is_missing(&id(1), Duration::from_secs(3600)));
}

/// The note about a debug id is no note about the build id of the same digits, and is bounded as others are.
#[test]
fn a_debug_id_that_is_not_there_is_asked_for_once_an_hour() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, store) = cached(folder.path(), |options| options.cache_bytes = 20 << 10);
    let module = |number| ModuleId::from(DebugId::of_elf(&id(number), false));
    for _ in 0..3 {
        assert!(store.get_module(&module(1)).unwrap().is_none());
    }
    assert_eq!(memory.index_asked.load(Ordering::SeqCst), 1);
    let digits = DebugId::of_elf(&id(1), true).to_string().to_lowercase();
    let same = BuildId::parse(&format!("{}00000000", &digits[..32])).unwrap();
    memory.put(&same, stamped(same.as_bytes()));
    assert!(store.get_module(&ModuleId::from(DebugId::of_elf(&id(1), true))).unwrap().is_none());
    assert!(store.get(&same).unwrap().is_some());
    assert!(store.cache().check().unwrap().problems.is_empty());
    let notes =
        || files(store.cache().root()).iter().filter(|path| path.ends_with("missing-debug-id")).count();
    assert!(notes() >= 1);
    // The note goes when there is a file.
    store.publish(&EntryInfo::default(), write(stamped(id(1).as_bytes()))).unwrap();
    // Both build ids begin with the same 16 bytes, of which the debug id is made.
    let error = store.get_module(&module(1)).unwrap_err();
    assert!(matches!(error, StoreError::Several { .. }), "{error}");
    for number in 21..=60 {
        assert!(store.get_module(&module(number)).unwrap().is_none());
    }
    assert!((1..=5).contains(&notes()), "{:?}", files(store.cache().root()));
    let mut options = foldsym_store::GcOptions::default();
    options.max_bytes = Some(0);
    store.cache().gc(&options).unwrap();
    assert_eq!(notes(), 0);
}

#[test]
fn what_arrives_wrong_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, store) = cached(folder.path(), |_| {});
    memory.put(&id(1), stamped(id(2).as_bytes()));
    assert!(matches!(store.get(&id(1)).unwrap_err(), StoreError::WrongId { .. }));
    let mut damaged = stamped(id(1).as_bytes());
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    memory.put(&id(1), damaged);
    assert!(store.get(&id(1)).unwrap_err().is_damage());
    memory.put(&id(1), stamped(id(1).as_bytes()));
    memory.cut.store(true, Ordering::SeqCst);
    let error = store.get(&id(1)).unwrap_err();
    assert!(error.to_string().contains("mem://") && error.to_string().contains("ended early"), "{error}");
    let left = files(store.cache().root());
    assert_eq!(left, ["format", "location", "tmp/swept"]);
    memory.cut.store(false, Ordering::SeqCst);
    assert!(store.get(&id(1)).unwrap().is_some());
    // A file of the cache that was damaged since is fetched again.
    fs::write(store.cache().file_path(&id(1)), "cut").unwrap();
    memory.files_asked();
    assert_eq!(store.get(&id(1)).unwrap().unwrap().bytes(), stamped(id(1).as_bytes()));
    assert_eq!(memory.files_asked(), 1);
    // Damage that opening does not find, as soon as it is known.
    let path = store.cache().file_path(&id(1));
    let mut bytes = stamped(id(1).as_bytes());
    *bytes.last_mut().unwrap() ^= 1;
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    assert!(store.get(&id(1)).unwrap().unwrap().check().is_err());
    assert_eq!(memory.files_asked(), 0);
    for debug_id in [false, true] {
        let build_id = ModuleId::from(id(1));
        let wanted = if debug_id { ModuleId::from(DebugId::of_elf(&id(1), false)) } else { build_id };
        assert!(store.fetch_again(&wanted).unwrap().unwrap().check().is_ok());
        // A sound copy stays.
        assert_eq!(memory.files_asked(), u32::from(!debug_id));
    }
}

#[test]
fn the_cache_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let size = stamped(id(1).as_bytes()).len() as u64;
    let (memory, store) = cached(folder.path(), |options| options.cache_bytes = 3 * size);
    for number in 1..=20 {
        memory.put(&id(number), stamped(id(number).as_bytes()));
        assert!(store.get(&id(number)).unwrap().is_some());
        let bytes: u64 = store.cache().list().unwrap().iter().map(|listed| listed.size).sum();
        assert!(bytes <= 3 * size, "{bytes}");
    }
    assert!(store.get(&id(20)).unwrap().is_some());
    assert_eq!(memory.files_asked(), 20);
}

/// What is published counts as what is fetched does, and so does a note.
#[test]
fn all_that_is_written_into_the_cache_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let size = stamped(id(1).as_bytes()).len() as u64;
    let (memory, store) = cached(folder.path(), |options| options.cache_bytes = 3 * size);
    for number in 1..=20 {
        store.publish(&EntryInfo::default(), write(stamped(id(number).as_bytes()))).unwrap();
        let bytes: u64 = store.cache().list().unwrap().iter().map(|listed| listed.size).sum();
        assert!(bytes <= 3 * size, "{bytes}");
    }
    assert_eq!(memory.objects.lock().unwrap().keys().filter(|key| key.ends_with(".fsym")).count(), 20);
    for number in 21..=60 {
        assert!(store.get(&id(number)).unwrap().is_none());
    }
    let notes = || files(store.cache().root()).iter().filter(|path| path.ends_with("/missing")).count();
    assert!((1..=3).contains(&notes()), "{:?}", files(store.cache().root()));
    // What was converted into the folder of the cache, and what it keeps of another remote store, share the bound.
    let root = LocalStore::open(&folder.path().join("cache")).unwrap();
    for number in 61..=64 {
        root.add(&common::stamped_file(folder.path(), number), &EntryInfo::default()).unwrap();
    }
    let other = of_remote(folder.path(), "mem://other", |options| options.cache_bytes = 3 * size).1;
    other.publish(&EntryInfo::default(), write(stamped(id(65).as_bytes()))).unwrap();
    let held = [&root, store.cache(), other.cache()].map(|store| store.list().unwrap().len());
    assert!(held.iter().sum::<usize>() <= 3 && held[2] == 1, "{held:?}");
}

/// The bound is checked each time that an eighth of it was written, by any process.
#[test]
fn the_bound_is_held_at_times() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::create(&folder.path().join("cache")).unwrap();
    store.add(&common::stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    let (most, piece) = (8 * 10 * 65536, 65536);
    for _ in 0..5 {
        store.hold_bound(piece, most).unwrap();
        store.hold_bound(1, most).unwrap();
    }
    let counted = || folder.path().join("cache/tmp/written").metadata().map_or(0, |found| found.len());
    assert_eq!(counted(), 10);
    store.hold_bound(piece + 1, most).unwrap();
    assert_eq!(counted(), 0);
    assert_eq!(store.list().unwrap().len(), 1, "it is within the bound");
    // More than the bound at once.
    store.hold_bound(u64::MAX, 1).unwrap();
    assert_eq!(store.list().unwrap().len(), 0);
}

#[test]
fn remote_stores_and_conversions_are_apart_in_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    // What was converted here, poorly.
    let root = LocalStore::create(&folder.path().join("cache")).unwrap();
    root.publish(&EntryInfo::default(), write(changed(1))).unwrap();
    let (_, first) = of_remote(folder.path(), "mem://first", |_| {});
    let (memory, second) = of_remote(folder.path(), "mem://user:word@second/x", |_| {});
    memory.put(&id(1), stamped(id(1).as_bytes()));
    assert!(first.get(&id(1)).unwrap().is_none());
    assert_eq!(second.get(&id(1)).unwrap().unwrap().bytes(), stamped(id(1).as_bytes()));
    assert_eq!(root.get(&id(1)).unwrap().unwrap().bytes(), changed(1));
    assert_eq!(first.publish(&EntryInfo::default(), write(stamped(id(1).as_bytes()))).unwrap().text(), "new");
    let location = fs::read_to_string(second.cache().root().join("location")).unwrap();
    assert_eq!(location, "mem://second/x\n");
    // Neither does a message.
    memory.put(&id(2), b"no symbols".to_vec());
    let error = second.get(&id(2)).unwrap_err();
    assert!(error.to_string().starts_with("mem://second/x/"), "{error}");
    assert!(!format!("{second:?} {} {error:?}", second.location()).contains("word"));
    let checked = root.check().unwrap();
    assert_eq!((checked.files, checked.problems.as_slice()), (3, &[][..]));
}

/// Who converts a program asks the remote store itself.
#[test]
fn a_lock_tells_what_the_remote_store_has() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, cached) = cached(folder.path(), |_| {});
    let store = Store::Cached(cached.clone());
    let without_id = || write(stamped(&[]));
    let mut info = EntryInfo::default();
    info.derived_id = Some(id(1));
    store.publish(&info, without_id()).unwrap();
    assert!(store.lock(&id(1)).unwrap().get().unwrap().is_some());
    assert_eq!(memory.files_asked(), 0, "the cache has as many bytes");
    memory.objects.lock().unwrap().clear();
    assert!(cached.get(&id(1)).unwrap().is_some(), "it was fetched once");
    let lock = store.lock(&id(1)).unwrap();
    assert!(lock.get().unwrap().is_none());
    assert_eq!(lock.publish(&info, without_id()).unwrap(), Published::New(id(1)));
    drop(lock);
    assert!(memory.objects.lock().unwrap().contains_key(&key(&id(1))));
    // What another machine put in its place is fetched; the lock is held meanwhile.
    let longer = stamped(id(1).as_bytes());
    memory.put(&id(1), longer.clone());
    assert_eq!(store.lock(&id(1)).unwrap().get().unwrap().unwrap().bytes(), longer);
    assert_eq!(cached.get(&id(1)).unwrap().unwrap().bytes(), longer);
    // A lock is of one program.
    let error = store.lock(&id(2)).unwrap().publish(&info, without_id()).unwrap_err();
    assert!(matches!(error, StoreError::WrongId { .. }), "{error}");
}

#[test]
fn one_of_many_converts_for_a_remote_store() {
    let folder = tempfile::tempdir().unwrap();
    let (_, store) = cached(folder.path(), |_| {});
    let (store, made) = (Store::Cached(store), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let lock = store.lock(&id(1)).unwrap();
                if lock.get().unwrap().is_none() {
                    made.fetch_add(1, Ordering::SeqCst);
                    lock.publish(&EntryInfo::default(), write(stamped(id(1).as_bytes()))).unwrap();
                }
            });
        }
    });
    assert_eq!(made.into_inner(), 1);
}

#[test]
fn an_object_of_other_bytes_stays_unless_it_is_to_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, store) = cached(folder.path(), |_| {});
    let object = || memory.objects.lock().unwrap()[&key(&id(1))].clone();
    let publish = |bytes: &[u8], replace: bool| {
        let mut info = EntryInfo::default();
        info.replace = replace;
        store.publish(&info, write(bytes.to_vec()))
    };
    let whole = stamped(id(1).as_bytes());
    assert_eq!(publish(&whole, false).unwrap(), Published::New(id(1)));
    let error = publish(&changed(1), false).unwrap_err().to_string();
    let address = format!("mem://{}", key(&id(1)));
    assert!(error.starts_with(&format!("{address}: already published with other bytes")), "{error}");
    assert_eq!(publish(&whole, false).unwrap(), Published::Existing(id(1)));
    assert_eq!(object(), whole);
    assert_eq!(publish(&changed(1), true).unwrap(), Published::Replaced(id(1)));
    assert_eq!(object(), changed(1));
    assert_eq!(store.get(&id(1)).unwrap().unwrap().bytes(), changed(1));
    // What is damaged is replaced anyhow.
    memory.put(&id(1), whole[..100].to_vec());
    assert_eq!(publish(&whole, false).unwrap(), Published::Replaced(id(1)));
    assert_eq!(object(), whole);
    let (_, other) = of_remote(folder.path(), "mem://other", |_| {});
    let mut info = EntryInfo::default();
    info.replace = true;
    assert_eq!(other.publish(&info, write(whole)).unwrap(), Published::New(id(1)));
}

#[test]
fn damage_in_the_cache_is_healed_by_either_id() {
    let folder = tempfile::tempdir().unwrap();
    let (_, store) = cached(folder.path(), |_| {});
    store.publish(&EntryInfo::default(), write(stamped(id(1).as_bytes()))).unwrap();
    let debug_id = DebugId::of_elf(&id(1), false);
    let index = {
        let key = debug_id.to_string().to_lowercase();
        store.cache().root().join("debugid").join(&key[..2]).join(&key[2..])
    };
    for damaged in [store.cache().file_path(&id(1)), index] {
        fs::remove_file(&damaged).unwrap();
        fs::write(&damaged, "cut").unwrap();
        let found = store.get_module(&ModuleId::from(debug_id)).unwrap().unwrap();
        assert_eq!(found.bytes(), stamped(id(1).as_bytes()), "{}", damaged.display());
        assert!(store.cache().get_by_debug_id(&debug_id).unwrap().is_some(), "{}", damaged.display());
    }
}

/// An index entry of the cache that is missing, or leads to another program or to no file, is written anew.
#[test]
fn a_wrong_index_entry_of_the_cache_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, store) = cached(folder.path(), |_| {});
    for number in [1, 2] {
        store.publish(&EntryInfo::default(), write(stamped(id(number).as_bytes()))).unwrap();
    }
    let debug_id = DebugId::of_elf(&id(1), false);
    let key = debug_id.to_string().to_lowercase();
    let index = store.cache().root().join("debugid").join(&key[..2]).join(&key[2..]);
    for wrong in [Some(id(2)), Some(id(3)), None] {
        fs::remove_file(&index).unwrap();
        if let Some(wrong) = &wrong {
            fs::write(&index, format!("{wrong}\n")).unwrap();
        }
        for _ in 0..3 {
            let found = store.get_module(&ModuleId::from(debug_id)).unwrap().unwrap();
            assert_eq!(found.build_id(), Some(id(1)));
        }
        assert_eq!(memory.index_asked.swap(0, Ordering::SeqCst), 1, "{wrong:?}");
        assert_eq!(store.cache().build_id_of(&debug_id).unwrap(), Some(id(1)));
    }
}

#[test]
fn debug_ids_and_derived_ids_go_through_the_remote_store() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, writer) = cached(&folder.path().join("writer"), |_| {});
    let derived = foldsym_store::text_id(b"the code of a program").unwrap();
    let mut info = EntryInfo::default();
    info.derived_id = Some(derived.clone());
    assert_eq!(writer.publish(&info, write(stamped(&[]))).unwrap(), Published::New(derived.clone()));
    assert_eq!(writer.publish(&info, write(stamped(id(1).as_bytes()))).unwrap(), Published::New(id(1)));
    assert_eq!(writer.publish(&info, write(stamped(id(1).as_bytes()))).unwrap(), Published::Existing(id(1)));

    let mut options = StoreOptions::default();
    options.cache = Some(folder.path().join("reader"));
    let reader = CachedStore::new(Box::new(memory), options).unwrap();
    assert!(reader.get(&derived).unwrap().is_some());
    let debug_id = DebugId::of_elf(&id(1), false);
    for _ in 0..2 {
        let found = reader.get_module(&ModuleId::from(debug_id)).unwrap().unwrap();
        assert_eq!(found.build_id(), Some(id(1)));
    }
    assert!(reader.get_module(&ModuleId::from(DebugId::of_elf(&id(2), false))).unwrap().is_none());
}

#[test]
fn two_programs_of_one_debug_id_are_told_apart_at_any_time() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, writer) = cached(&folder.path().join("writer"), |_| {});
    let code = foldsym_store::text_id(b"the code of two programs").unwrap();
    let debug_id = DebugId::of_elf(&code, false);
    let publish = |derived: BuildId, bytes: Vec<u8>| {
        let mut info = EntryInfo::default();
        (info.derived_id, info.debug_id) = (Some(derived), Some(debug_id));
        writer.publish(&info, write(bytes)).unwrap();
    };
    let mut other = stamped(&[]);
    common::change(&mut other);
    let mut options = StoreOptions::default();
    options.cache = Some(folder.path().join("reader"));
    let reader = CachedStore::new(Box::new(memory.clone()), options).unwrap();
    publish(id(1), stamped(&[]));
    assert!(reader.get_module(&ModuleId::from(debug_id)).unwrap().is_some());
    assert!(reader.get_module(&ModuleId::from(code.clone())).unwrap().is_some());
    // The reader has fetched the first program when the second one comes.
    publish(id(2), other);
    let error = reader.get_module(&ModuleId::from(debug_id)).unwrap_err();
    assert!(matches!(error, StoreError::Several { .. }), "{error}");
    // Removing one leaves the index entry of the other.
    assert!(writer.remove(&id(1)).unwrap());
    assert_eq!(writer.build_id_of(&debug_id).unwrap(), Some(id(2)));
    assert!(writer.remove(&id(2)).unwrap());
    assert_eq!(writer.build_id_of(&debug_id).unwrap(), None);
    assert!(memory.objects.lock().unwrap().is_empty());
}

#[test]
fn an_address_is_not_taken_for_a_folder() {
    for (location, says) in [("ftp://host/x", "expected a folder, or an address"), ("s3//x", "cannot open")] {
        let error = Store::open(location, StoreOptions::default()).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    if !cfg!(feature = "remote") {
        let error = Store::open("s3://bucket/symbols", StoreOptions::default()).unwrap_err();
        assert!(error.to_string().contains("feature `remote`"), "{error}");
    }
}

//! A remote store behind a cache: fetched once, bounded, and never trusted.

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
    BuildId, CachedStore, DebugId, EntryInfo, ModuleId, Published, Remote, RemoteError, Store, StoreError,
    StoreOptions,
};

/// Objects in memory, which count how often they are asked for.
#[derive(Clone, Default)]
struct Memory {
    objects: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    asked: Arc<AtomicU32>,
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

    fn location(&self) -> &str {
        "mem:/"
    }
}

fn cached(folder: &Path, change: impl FnOnce(&mut StoreOptions)) -> (Memory, CachedStore) {
    let memory = Memory::default();
    let mut options = StoreOptions::default();
    options.cache = Some(folder.join("cache"));
    change(&mut options);
    (memory.clone(), CachedStore::new(Box::new(memory), options).unwrap())
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
    assert_eq!(left, ["format", "tmp/swept"]);
    memory.cut.store(false, Ordering::SeqCst);
    assert!(store.get(&id(1)).unwrap().is_some());
    // A file of the cache that was damaged since is fetched again.
    fs::write(store.cache().file_path(&id(1)), "cut").unwrap();
    memory.files_asked();
    assert_eq!(store.get(&id(1)).unwrap().unwrap().bytes(), stamped(id(1).as_bytes()));
    assert_eq!(memory.files_asked(), 1);
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

#[test]
fn debug_ids_and_derived_ids_go_through_the_remote_store() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, writer) = cached(&folder.path().join("writer"), |_| {});
    let write = |bytes: Vec<u8>| {
        move |path: &Path| -> Result<(), StoreError> {
            fs::write(path, bytes).unwrap();
            Ok(())
        }
    };
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

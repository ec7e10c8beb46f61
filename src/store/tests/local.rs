//! A store in a folder: what it serves, what it refuses, and what it says then.

mod common;

use foldsym_format::header::VERSION;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use common::{age, change, day, demo, files, id, info, stamped, stamped_file, store};
use foldsym_store::{BuildId, DebugId, EntryInfo, LocalStore, ModuleId, Published, StoreError, SymbolMap};

#[test]
fn a_published_file_is_found_by_both_ids() {
    let (_folder, store) = store();
    let published = store.add(&demo(), &info("demo")).unwrap();
    let Published::New(id) = published else { panic!("{published:?}") };
    let map = store.get(&id).unwrap().unwrap();
    assert_eq!(map.bytes(), fs::read(demo()).unwrap());
    let debug_id = map.debug_id().unwrap();
    assert_eq!(debug_id, DebugId::of_elf(&id, false));
    for module in [ModuleId::from(id.clone()), ModuleId::from(debug_id)] {
        assert_eq!(store.get_module(&module).unwrap().unwrap().build_id(), Some(id.clone()));
    }
    let key = id.to_string();
    let expected = [
        format!("{}/{}/v{VERSION}.fsym", &key[..2], &key[2..]),
        format!("{}/{}/v{VERSION}.json", &key[..2], &key[2..]),
        {
            let key = debug_id.to_string().to_lowercase();
            format!("debugid/{}/{}", &key[..2], &key[2..])
        },
        "format".to_owned(),
        format!("name/demo/{key}"),
        "tmp/swept".to_owned(),
    ];
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(files(store.root()), expected);
    let report: serde_json::Value = serde_json::from_str(&store.report(&id).unwrap().unwrap()).unwrap();
    assert_eq!(report["debug_id"], debug_id.to_string());
    assert_eq!(report["derived_id"], false);
    // A second store object, as another process has one.
    assert!(LocalStore::open(store.root()).unwrap().get(&id).unwrap().is_some());
    assert!(store.check().unwrap().problems.is_empty());
}

#[test]
fn equal_bytes_are_published_once_and_other_bytes_are_refused() {
    let (folder, store) = store();
    let file = stamped_file(folder.path(), 1);
    assert_eq!(store.add(&file, &EntryInfo::default()).unwrap(), Published::New(id(1)));
    // Under a second name: one file, two markers.
    assert_eq!(store.add(&file, &info("other")).unwrap(), Published::Existing(id(1)));
    assert!(store.root().join("name/other").join(id(1).to_string()).exists());
    // The same id with other content.
    let changed = folder.path().join("changed.fsym");
    let mut bytes = stamped(id(1).as_bytes());
    change(&mut bytes);
    fs::write(&changed, &bytes).unwrap();
    let error = store.add(&changed, &EntryInfo::default()).unwrap_err();
    assert!(matches!(error, StoreError::Differs { .. }), "{error}");
    assert!(error.to_string().contains("already published with other bytes"), "{error}");
    let before = store.get(&id(1)).unwrap().unwrap();
    let mut replace = EntryInfo::default();
    replace.replace = true;
    assert_eq!(store.add(&changed, &replace).unwrap(), Published::Replaced(id(1)));
    assert_eq!(store.get(&id(1)).unwrap().unwrap().bytes(), bytes);
    // What was mapped before stays as it was.
    assert_eq!(before.bytes(), stamped(id(1).as_bytes()));
}

#[test]
fn a_file_of_another_program_is_never_served() {
    let (folder, store) = store();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    let place = store.file_path(&id(2));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::copy(store.file_path(&id(1)), &place).unwrap();
    let error = store.get(&id(2)).unwrap_err();
    assert!(error.is_damage());
    assert_eq!(
        error.to_string(),
        format!("{}: holds build id {}, expected {}", place.display(), id(1), id(2))
    );
    // A file without any id is of another program too.
    fs::write(&place, stamped(&[])).unwrap();
    assert!(store.get(&id(2)).unwrap_err().to_string().contains("holds build id none"));
    assert_eq!(store.check().unwrap().problems.len(), 1);
    // Publishing the right one heals the entry.
    let healed = store.add(&stamped_file(folder.path(), 2), &EntryInfo::default()).unwrap();
    assert_eq!(healed, Published::Replaced(id(2)));
    assert!(store.get(&id(2)).unwrap().is_some());
    assert!(store.check().unwrap().problems.is_empty());
}

#[test]
fn a_debug_id_leads_to_its_own_program_alone() {
    let (folder, store) = store();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    let debug_id = DebugId::of_elf(&id(2), false);
    let key = debug_id.to_string().to_lowercase();
    let place = store.root().join("debugid").join(&key[..2]).join(&key[2..]);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(&place, format!("{}\n", id(1))).unwrap();
    let error = store.get_by_debug_id(&debug_id).unwrap_err();
    assert!(matches!(error, StoreError::WrongId { .. }), "{error}");
    let problems = store.check().unwrap().problems;
    assert_eq!((problems.len(), &problems[0].path), (1, &place));
    let says = format!("leads to build id {}, whose debug id is {}", id(1), DebugId::of_elf(&id(1), false));
    assert!(problems[0].message.contains(&says), "{problems:?}");
    fs::write(&place, "../../../etc/passwd\n").unwrap();
    let error = store.get_by_debug_id(&debug_id).unwrap_err();
    assert!(error.is_damage() && error.to_string().contains("is not a build id"), "{error}");
    fs::write(&place, format!("{}\n", id(3))).unwrap();
    assert!(store.get_by_debug_id(&debug_id).unwrap().is_none());
}

#[test]
fn damaged_entries_are_errors_that_name_the_file() {
    let (folder, store) = store();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    let path = store.file_path(&id(1));
    let whole = fs::read(&path).unwrap();
    for (bytes, says) in [
        (&whole[..100], "damaged"),
        (&whole[..whole.len() - 1], "damaged"),
        (&[], "damaged"),
        (b"text", "not a .fsym file"),
    ] {
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        let error = store.get(&id(1)).unwrap_err();
        let text = error.to_string();
        assert!(
            error.is_damage() && text.starts_with(&path.display().to_string()) && text.contains(says),
            "{text}"
        );
        assert_eq!(store.check().unwrap().problems[0].path, path);
    }
    // Damage after the header is found by the check, and by a reader of the damaged part.
    let mut bytes = whole.clone();
    let at = bytes.len() - 4;
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(store.get(&id(1)).unwrap().is_some());
    assert_eq!(store.check().unwrap().problems.len(), 1);
    // Nothing damaged is published.
    let error = store.add(&path, &EntryInfo::default()).unwrap_err();
    assert!(error.is_damage(), "{error}");
}

#[test]
fn other_things_than_files_are_refused() {
    let (folder, store) = store();
    let path = store.file_path(&id(1));
    fs::create_dir_all(&path).unwrap();
    let error = store.get(&id(1)).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: expected a regular file, found a folder", path.display()));
    assert!(error.is_damage());
    let error = store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap_err();
    assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
    fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink(demo(), &path).unwrap();
    assert!(store.get(&id(1)).unwrap_err().to_string().contains("found a symbolic link"));
    let error = store.add(folder.path(), &EntryInfo::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: expected a regular file, found a folder", folder.path().display())
    );
    assert!(SymbolMap::open(&folder.path().join("gone")).unwrap_err().to_string().contains("cannot open"));
}

/// A link in place of a lock would have a file made outside of the store, and a FIFO would be waited for.
#[test]
fn a_lock_is_a_regular_file() {
    let (folder, store) = store();
    store.add(&demo(), &info("demo")).unwrap();
    let id = id_of_demo(&store);
    let lock = store.root().join(format!("tmp/{id}.lock"));
    let outside = folder.path().parent().unwrap().join(format!("outside-{}", std::process::id()));
    std::os::unix::fs::symlink(&outside, &lock).unwrap();
    assert!(store.lock(&id).is_err());
    assert!(!outside.exists());
    fs::remove_file(&lock).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &lock, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(store.lock(&id).is_err());
    fs::remove_file(&lock).unwrap();
    store.lock(&id).unwrap();
}

fn id_of_demo(store: &LocalStore) -> BuildId {
    let Published::Existing(id) = store.add(&demo(), &info("demo")).unwrap() else { panic!("not there") };
    id
}

#[test]
fn a_folder_must_be_a_store_and_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    let text = |error: StoreError| error.to_string();
    assert!(text(LocalStore::open(&folder.path().join("gone")).unwrap_err()).contains("cannot open"));
    let error = text(LocalStore::open(folder.path()).unwrap_err());
    assert!(error.contains("not a symbol store") && error.contains("no such file"), "{error}");
    fs::write(folder.path().join("format"), "fsym-store 2\n").unwrap();
    let error = text(LocalStore::create(folder.path()).unwrap_err());
    assert!(error.contains("found \"fsym-store 2\\n\""), "{error}");
    fs::remove_file(folder.path().join("format")).unwrap();
    fs::write(folder.path().join("thesis.tex"), "").unwrap();
    let error = text(LocalStore::create(folder.path()).unwrap_err());
    assert!(error.contains("holds \"thesis.tex\""), "{error}");
    let error = text(LocalStore::create(&folder.path().join("thesis.tex")).unwrap_err());
    assert!(error.contains("thesis.tex"), "{error}");

    let root = folder.path().join("symbols");
    LocalStore::create(&root).unwrap();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
    let error = text(LocalStore::open(&root).unwrap_err());
    assert!(error.contains("not trusted: everybody may write"), "{error}");
    fs::set_permissions(&root, fs::Permissions::from_mode(0o775)).unwrap();
    assert!(LocalStore::open(&root).is_ok());
    let error = text(LocalStore::create_private(&root).unwrap_err());
    assert!(error.contains("its group may write"), "{error}");
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(LocalStore::create_private(&root).is_ok());
}

/// `src/front/cli/tests/command/faults.rs` fills a disk.
#[test]
fn a_writer_that_fails_leaves_nothing() {
    let (_folder, store) = store();
    let before = files(store.root());
    for part in [1000, usize::MAX] {
        let error = store
            .publish(&EntryInfo::default(), |path| {
                let whole = stamped(id(1).as_bytes());
                fs::write(path, &whole[..part.min(whole.len())]).unwrap();
                Err::<(), _>(BuildId::parse("no program").unwrap_err().into())
            })
            .map(|_| ())
            .unwrap_err();
        assert!(matches!(error, StoreError::Id(_)), "{error}");
        assert!(store.get(&id(1)).unwrap().is_none());
        let after: Vec<String> = files(store.root()).into_iter().filter(|path| path != "tmp/swept").collect();
        assert_eq!(after, before);
    }
}

/// Reads and writes a store as a user who may not write to it. Tests often run as root, for whom file modes are not enforced: then a copy
/// of this test program runs as the user `nobody`.
#[test]
fn a_store_that_cannot_be_written_is_read() {
    if let Some(root) = std::env::var_os("FOLDSYM_READ_ONLY_STORE") {
        let store = LocalStore::open(Path::new(&root)).unwrap();
        assert!(store.get(&id(1)).unwrap().is_some());
        let error = store.add(&demo_beside(&root), &EntryInfo::default()).unwrap_err();
        assert!(error.to_string().contains("Permission denied"), "{error}");
        assert!(store.remove(&id(1)).unwrap_err().to_string().contains("Permission denied"));
        return;
    }
    let (folder, store) = store();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    // Old, so that reading it would record the use.
    age(&store.file_path(&id(1)), 7200);
    fs::copy(demo(), folder.path().join("demo.fsym")).unwrap();
    let program = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for path in files(store.root()) {
        fs::set_permissions(store.root().join(path), fs::Permissions::from_mode(0o444)).unwrap();
    }
    for path in ["tmp", ""] {
        fs::set_permissions(store.root().join(path), fs::Permissions::from_mode(0o555)).unwrap();
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut child = std::process::Command::new(&program);
    child
        .args(["--exact", "a_store_that_cannot_be_written_is_read"])
        .env("FOLDSYM_READ_ONLY_STORE", store.root());
    if rustix::process::geteuid().is_root() {
        use std::os::unix::process::CommandExt;
        child.uid(65534).gid(65534).current_dir(folder.path());
    }
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    fs::set_permissions(store.root(), fs::Permissions::from_mode(0o755)).unwrap();
}

fn demo_beside(root: &std::ffi::OsStr) -> std::path::PathBuf {
    Path::new(root).with_file_name("demo.fsym")
}

#[test]
fn a_program_without_an_id_is_bound_to_its_report() {
    let (folder, store) = store();
    let file = folder.path().join("none.fsym");
    fs::write(&file, stamped(&[])).unwrap();
    let error = store.add(&file, &EntryInfo::default()).unwrap_err();
    assert!(error.to_string().contains("has no build id"), "{error}");
    let derived = foldsym_store::text_id(b"the code of a program").unwrap();
    let mut info = EntryInfo::default();
    info.derived_id = Some(derived.clone());
    assert_eq!(store.add(&file, &info).unwrap(), Published::New(derived.clone()));
    assert!(store.get(&derived).unwrap().is_some());
    assert!(store.get_by_debug_id(&DebugId::of_elf(&derived, false)).unwrap().is_some());
    // Another file without an id in its place, or the report of another, is not served.
    let mut other = stamped(&[]);
    change(&mut other);
    fs::remove_file(store.file_path(&derived)).unwrap();
    fs::write(store.file_path(&derived), other).unwrap();
    let error = store.get(&derived).unwrap_err();
    assert!(matches!(error, StoreError::WrongId { .. }), "{error}");
    // An id inside is never overruled.
    assert_eq!(store.add(&stamped_file(folder.path(), 5), &info).unwrap(), Published::New(id(5)));
}

/// Writers of minidumps give the id that they derive from the code as if it were a build id.
#[test]
fn a_program_without_an_id_is_found_by_the_id_of_its_code() {
    let (folder, store) = store();
    let code = foldsym_store::text_id(b"the code of a program").unwrap();
    let mut info = EntryInfo::default();
    (info.derived_id, info.debug_id) = (Some(id(1)), Some(DebugId::of_elf(&code, false)));
    let file = folder.path().join("none.fsym");
    fs::write(&file, stamped(&[])).unwrap();
    store.add(&file, &info).unwrap();
    assert!(store.get_module(&ModuleId::from(code.clone())).unwrap().is_some());
    // The build id of another program begins with the same 16 bytes.
    let long = BuildId::new(&[code.as_bytes(), &[7; 4]].concat()).unwrap();
    assert!(store.get_module(&ModuleId::from(long.clone())).unwrap().is_none());
    store.remove(&id(1)).unwrap();
    let file = folder.path().join("long.fsym");
    fs::write(&file, stamped(long.as_bytes())).unwrap();
    store.add(&file, &EntryInfo::default()).unwrap();
    assert!(store.get_module(&ModuleId::from(DebugId::of_elf(&code, false))).unwrap().is_some());
    assert!(store.get_module(&ModuleId::from(code)).unwrap().is_none());
}

/// A file without a build id and its report are two files: who reads while they change gets one file or the other, or none.
#[test]
fn a_program_without_an_id_is_read_while_it_is_replaced_and_removed() {
    let (_folder, store) = store();
    let derived = foldsym_store::text_id(b"the code of a program").unwrap();
    let (one, mut other) = (stamped(&[]), stamped(&[]));
    change(&mut other);
    let publish = |bytes: &[u8]| {
        let mut info = EntryInfo::default();
        (info.derived_id, info.replace) = (Some(derived.clone()), true);
        let write = |path: &Path| -> Result<(), StoreError> {
            fs::write(path, bytes).unwrap();
            Ok(())
        };
        store.publish(&info, write).unwrap();
    };
    publish(&one);
    for is_removed in [false, true] {
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(std::sync::atomic::Ordering::SeqCst) {
                        let found =
                            store.get(&derived).unwrap_or_else(|error| panic!("{is_removed}: {error}"));
                        assert!(
                            found
                                .as_ref()
                                .is_none_or(|map| [&one, &other].iter().any(|file| map.bytes() == **file))
                        );
                        assert!(is_removed || found.is_some());
                    }
                });
            }
            // Also after a panic, for which the threads would otherwise never end.
            let changed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for round in 0..40 {
                    if is_removed {
                        store.remove(&derived).unwrap();
                    }
                    publish(if round % 2 == 0 { &other } else { &one });
                }
            }));
            done.store(true, std::sync::atomic::Ordering::SeqCst);
            changed.unwrap();
        });
    }
    // The report that stays is of the last file alone.
    assert!(!store.report(&derived).unwrap().unwrap().contains("next"));
}

#[test]
fn names_of_files_cannot_leave_the_store() {
    let (folder, store) = store();
    for (number, name) in
        ["../../x", "..", ".", "", "a/b", "a\nb", "a\0b", &"x".repeat(300)].iter().enumerate()
    {
        store.add(&stamped_file(folder.path(), number as u32), &info(name)).unwrap();
    }
    assert!(!store.root().join("name").exists());
    assert!(!folder.path().join("x").exists());
    for name in ["../x", "..", "", "a/b"] {
        let error = store.pin(name, []).unwrap_err();
        assert!(error.to_string().contains("cannot name a pin"), "{error}");
    }
}

#[test]
fn reading_records_the_use_once_an_hour() {
    let (folder, store) = store();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    let path = store.file_path(&id(1));
    let used = || path.metadata().unwrap().modified().unwrap();
    age(&path, 1800);
    let before = used();
    store.get(&id(1)).unwrap();
    assert_eq!(used(), before);
    age(&path, 7200);
    let before = used();
    // Looking after the store is no use.
    assert!(store.check().unwrap().problems.is_empty() && store.inspect(&id(1)).unwrap().is_some());
    assert_eq!(used(), before);
    store.get(&id(1)).unwrap();
    assert!(used() > before + Duration::from_secs(7000));
}

#[test]
fn notes_of_what_is_not_there_end() {
    let (folder, store) = store();
    let hour = Duration::from_secs(3600);
    assert!(!store.is_missing(&id(1), hour));
    store.note_missing(&id(1)).unwrap();
    store.note_malformed(&id(1), "hash\nversion", "no code\nat all").unwrap();
    assert!(store.is_missing(&id(1), hour) && !store.is_missing(&id(1), Duration::ZERO));
    assert_eq!(store.malformed(&id(1), "hash version", hour).unwrap().as_deref(), Some("no code\nat all"));
    assert_eq!(store.malformed(&id(1), "other", hour).unwrap(), None);
    assert_eq!(store.get(&id(1)).unwrap().map(|_| ()), None);
    assert!(store.list().unwrap().is_empty() && store.check().unwrap().problems.is_empty());
    age(&store.root().join("tmp/..").join(store.file_path(&id(1)).parent().unwrap().join("missing")), 7200);
    assert!(!store.is_missing(&id(1), hour));
    // A file ends all notes.
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    assert_eq!(store.malformed(&id(1), "hash version", hour).unwrap(), None);
}

#[test]
fn one_thread_at_a_time_has_an_entry() {
    let (_folder, store) = store();
    let busy = std::sync::atomic::AtomicU32::new(0);
    let made = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let lock = store.lock(&id(1)).unwrap();
                use std::sync::atomic::Ordering::SeqCst;
                assert_eq!(busy.fetch_add(1, SeqCst), 0);
                if store.get(&id(1)).unwrap().is_none() {
                    made.fetch_add(1, SeqCst);
                    let write = |path: &Path| {
                        fs::write(path, stamped(id(1).as_bytes())).map_err(|error| StoreError::Io {
                            path: path.to_owned(),
                            doing: "write",
                            error,
                        })
                    };
                    lock.publish(&EntryInfo::default(), write).unwrap();
                }
                busy.fetch_sub(1, SeqCst);
            });
        }
    });
    assert_eq!(made.into_inner(), 1);
    // Who holds the lock of one entry cannot publish another's file.
    let lock = store.lock(&id(2)).unwrap();
    let error = lock.publish(&EntryInfo::default(), |path| {
        fs::copy(demo(), path).map(|_| ()).map_err(|error| StoreError::Io {
            path: path.to_owned(),
            doing: "write",
            error,
        })
    });
    assert!(matches!(error.unwrap_err(), StoreError::WrongId { .. }));
}

#[test]
fn strange_things_in_a_store_are_named_by_the_check() {
    let (folder, store) = store();
    store.add(&stamped_file(folder.path(), 1), &EntryInfo::default()).unwrap();
    let root = store.root();
    fs::create_dir_all(root.join("ab/CDEF")).unwrap();
    fs::create_dir_all(root.join("xy/zz")).unwrap();
    fs::write(root.join("notes.txt"), "").unwrap();
    fs::write(store.file_path(&id(1)).with_file_name("core.1"), "").unwrap();
    let problems = store.check().unwrap().problems;
    let names: Vec<String> = problems
        .iter()
        .map(|problem| problem.path.strip_prefix(root).unwrap().display().to_string())
        .collect();
    assert_eq!(names.len(), 4, "{problems:?}");
    assert!(names.contains(&"notes.txt".to_owned()) && names.contains(&"ab/CDEF".to_owned()), "{names:?}");
    // The collector leaves alone what is not the store's.
    let mut options = day();
    options.max_bytes = Some(0);
    store.gc(&options).unwrap();
    assert!(root.join("notes.txt").exists() && root.join("ab/CDEF").exists());
}

/// Breakpad's id of a program without a build id is that of its first page of code, which other programs may have too.
#[test]
fn a_debug_id_of_several_programs_names_them() {
    let (folder, store) = store();
    let debug_id = DebugId::of_elf(&foldsym_store::text_id(b"the code of both").unwrap(), false);
    let publish = |number: u32| {
        let file = folder.path().join(format!("program{number}.fsym"));
        fs::write(&file, stamped(&[])).unwrap();
        let mut info = EntryInfo::default();
        (info.derived_id, info.debug_id) = (Some(id(number)), Some(debug_id));
        info.name = Some(format!("program{number}"));
        store.add(&file, &info).unwrap()
    };
    assert_eq!(publish(1), Published::New(id(1)));
    assert!(store.get_by_debug_id(&debug_id).unwrap().is_some());
    assert_eq!(store.build_id_of(&debug_id).unwrap(), Some(id(1)));
    // All at once, as builds do.
    let publish = &publish;
    std::thread::scope(|scope| (2..6).for_each(|number| drop(scope.spawn(move || publish(number)))));
    let error = store.get_by_debug_id(&debug_id).unwrap_err();
    assert!(!error.is_damage() && matches!(error, StoreError::Several { .. }), "{error}");
    for number in 1..6 {
        let named = format!("program{number} ({})", id(number));
        assert!(error.to_string().contains(&named), "{error}");
        assert!(store.get(&id(number)).unwrap().is_some());
    }
    assert_eq!(store.check().unwrap().problems, []);
    // An index entry that lost a file without the index: collected by age.
    for number in 1..5 {
        assert!(store.remove(&id(number)).unwrap());
    }
    assert_eq!(store.build_id_of(&debug_id).unwrap(), Some(id(5)));
    fs::remove_file(store.file_path(&id(5))).unwrap();
    let mut options = foldsym_store::GcOptions::default();
    options.litter_age = std::time::Duration::ZERO;
    store.gc(&options).unwrap();
    assert_eq!(store.build_id_of(&debug_id).unwrap(), None);
}

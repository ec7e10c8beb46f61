//! Makes `.fsym` files of any build id from the golden file, by the format's own tables.
#![allow(dead_code)] // each test program uses a part

use std::path::{Path, PathBuf};

use foldsym_format::checksum::Crc32;
use foldsym_format::header::HEADER_LEN;
use foldsym_format::{DirectoryEntry, Header, SectionId};
use foldsym_store::{BuildId, EntryInfo, GcOptions, LocalStore};

/// The golden file.
pub(crate) fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/golden/demo.fsym")
}

/// A build id of 20 bytes that depends on a number.
pub(crate) fn id(number: u32) -> BuildId {
    let mut bytes = [0xa5; 20];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    bytes[16..].copy_from_slice(&number.wrapping_mul(0x9e37_79b1).to_be_bytes());
    BuildId::new(&bytes).unwrap()
}

/// The golden file with other bytes in the section BUILD_ID, which are at most 20, and right checksums.
pub(crate) fn stamped(id: &[u8]) -> Vec<u8> {
    let mut bytes = std::fs::read(demo()).unwrap();
    let mut header = Header::parse(&bytes).unwrap();
    let mut directory = bytes[HEADER_LEN..HEADER_LEN + header.directory_len as usize].to_vec();
    let entry = DirectoryEntry::parse(&directory, 0).unwrap();
    assert_eq!((entry.id, entry.len, entry.head_len), (SectionId::BUILD_ID, 20, 0));
    let at = entry.offset as usize;
    // The next section begins at the next multiple of 8, and gaps must be smaller: a shorter id takes what is between out.
    let (old_end, new_end) = (at + 24, at + id.len().next_multiple_of(8));
    bytes.splice(at..old_end, id.iter().copied().chain(std::iter::repeat_n(0, new_end - at - id.len())));
    let moved = (old_end - new_end) as u64;
    let mut crc = Crc32::new();
    crc.update(id);
    for index in 0..header.section_count as usize {
        let mut entry = DirectoryEntry::parse(&directory, index).unwrap();
        if index == 0 {
            (entry.len, entry.checksum) = (id.len() as u64, crc.finish());
        } else {
            entry.offset -= moved;
        }
        let place = index * entry.write().len();
        directory[place..place + entry.write().len()].copy_from_slice(&entry.write());
    }
    header.file_len -= moved;
    bytes[HEADER_LEN..HEADER_LEN + directory.len()].copy_from_slice(&directory);
    bytes[..HEADER_LEN].copy_from_slice(&header.write(&directory));
    bytes
}

/// The same as a file.
pub(crate) fn stamped_file(folder: &Path, number: u32) -> PathBuf {
    let path = folder.join(format!("{number}.fsym"));
    std::fs::write(&path, stamped(id(number).as_bytes())).unwrap();
    path
}

/// All files below a folder, as paths from it.
pub(crate) fn files(root: &Path) -> Vec<String> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    found.sort();
    found
}

/// Makes a file look as if it had been used last so many seconds ago.
pub(crate) fn age(path: &Path, seconds: u64) {
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
    std::fs::File::open(path).unwrap().set_modified(then).unwrap();
}

/// Makes another sound file of the same id: its header names another processor.
pub(crate) fn change(bytes: &mut [u8]) {
    let mut header = Header::parse(bytes).unwrap();
    header.machine = 183;
    let directory = bytes[HEADER_LEN..HEADER_LEN + header.directory_len as usize].to_vec();
    let written = header.write(&directory);
    bytes[..HEADER_LEN].copy_from_slice(&written);
}

/// An empty store.
pub(crate) fn store() -> (tempfile::TempDir, LocalStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::create(&folder.path().join("symbols")).unwrap();
    (folder, store)
}

/// A program of this name.
pub(crate) fn info(name: &str) -> EntryInfo {
    let mut info = EntryInfo::default();
    info.name = Some(name.to_owned());
    info
}

/// Removes what is of no use after a day.
pub(crate) fn day() -> GcOptions {
    GcOptions::default()
}

//! Turns a mapped symbol file into one that is read.
//!
//! A process that reads a page of a mapped file which another process has truncated ends by a signal. A command can print the file's name and
//! end. A server must go on. It checks all bytes of a file when it opens it, so reading them into memory costs it no more time.

use std::io::{self, Read};

use foldsym_store::{StoreError, SymbolMap, open_regular};

/// The same file, whose bytes are in memory: another process that cuts a mapped file short ends the processes that read it by a signal.
///
/// # Errors
/// The file cannot be read, or was replaced or changed since it was mapped.
pub fn in_memory(map: SymbolMap) -> Result<SymbolMap, StoreError> {
    let path = map.path().to_owned();
    let failed = |error| StoreError::Io { path: path.clone(), doing: "read", error };
    let file = match open_regular(&path) {
        Ok(file) => file,
        // A temporary file that was removed after it was mapped: no other process can write into it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(map),
        Err(error) => return Err(failed(error)),
    };
    let len = map.bytes().len();
    let mut bytes = Vec::with_capacity(len + 1);
    // A file that grew meanwhile is another one.
    file.take(len as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let is_whole = bytes.len() == len;
    let read = if is_whole { Some(SymbolMap::of_bytes(&path, bytes)?) } else { None };
    // The checksum covers those of the sections, which `SymbolMap::check` compares.
    let same = read.filter(|read| read.checksum() == map.checksum() && read.build_id() == map.build_id());
    same.ok_or_else(|| failed(io::Error::other("changed while it was opened")))
}

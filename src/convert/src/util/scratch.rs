//! The scratch file of a conversion: holds the lists of a large program's units, so that they take no memory.

use std::fs::File;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::PathBuf;

use elsa::sync::FrozenVec;
use memmap2::MmapRaw;

use crate::util::pages::{ReadWindows, map_writable, release_written};

/// Lists of units stay in memory up to this many bytes. Those of RocksDB (147 MB, 7.7 million entries) are half as long. In the tests
/// of this crate small programs use the file, too.
const IN_MEMORY: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// The same once the program has lists in the file.
const IN_MEMORY_LATER: usize = IN_MEMORY / 8;

/// The pages of the scratch file are released when more windows than this were read (16 MiB).
const WINDOWS: usize = 256;

/// A file without a name, which the system removes when the conversion ends. Each part is mapped when it is written.
#[derive(Default)]
pub(crate) struct ScratchFile {
    /// The folder for the file; `None` for the system's folder for temporary files.
    folder: Option<PathBuf>,
    parts: FrozenVec<Box<MmapRaw>>,
    read: ReadWindows,
}

impl ScratchFile {
    /// A scratch file in this folder. The caller gives the folder of the output, which has room for a file and is usually on a disk.
    pub(crate) fn in_folder(folder: PathBuf) -> ScratchFile {
        ScratchFile { folder: Some(folder), ..ScratchFile::default() }
    }

    /// True if lists of so many bytes should move to the file.
    pub(crate) fn is_wanted(&self, bytes: usize) -> bool {
        bytes >= if self.is_used() { IN_MEMORY_LATER } else { IN_MEMORY }
    }

    /// True if any lists are in the file: the program is large.
    pub(crate) fn is_used(&self) -> bool {
        !self.parts.is_empty()
    }

    /// A new part of the file, for lists that take `bytes` bytes together ([`ScratchPart::bytes_of`]).
    ///
    /// # Errors
    /// The disk is full, or the folder cannot be written to.
    pub(crate) fn part(&self, bytes: usize) -> io::Result<ScratchPart<'_>> {
        let mut file = match &self.folder {
            Some(folder) => tempfile::tempfile_in(folder)?,
            None => tempfile::tempfile()?,
        };
        fill(&mut file, bytes)?;
        // One mapping for each part: a mapping that grew would move the lists that are in it.
        let part = self.parts.push_get(Box::new(map_writable(&file, bytes)?));
        Ok(ScratchPart { part, used: 0, _lists: PhantomData })
    }

    /// Counts the pages of a list that is about to be read, and releases all pages when they are many. The system reads a released
    /// page from the file again when it is next used.
    pub(crate) fn reads<T>(&self, list: &[T]) {
        if self.read.is_over(list, WINDOWS) {
            self.release();
        }
    }

    /// Releases all pages.
    pub(crate) fn release(&self) {
        self.read.clear();
        self.parts.iter().for_each(release_written);
    }
}

/// The system keeps what is written at once together, up to 1 MiB, and maps all of it when one byte is read.
const AT_ONCE: usize = 64 << 10;

/// Writes zeros, so that a full disk is an error here: the system kills a program that stores to a mapped page for which the disk has no
/// room. File systems that compress or copy when written to reserve no room for zeros, so there it may still happen.
fn fill(file: &mut File, bytes: usize) -> io::Result<()> {
    let zeros = [0; AT_ONCE];
    let mut left = bytes;
    while left > 0 {
        let some = left.min(AT_ONCE);
        file.write_all(&zeros[..some])?;
        left -= some;
    }
    Ok(())
}

/// A part of the scratch file that is being filled. Its pages are released when it is dropped.
pub(crate) struct ScratchPart<'f> {
    part: &'f MmapRaw,
    /// Bytes from the start that lists have.
    used: usize,
    _lists: PhantomData<&'f mut [u8]>,
}

impl<'f> ScratchPart<'f> {
    /// The bytes that a list takes at most, with those before it that alignment takes; 0 if it is empty.
    pub(crate) fn bytes_of<T>(list: &[T]) -> usize {
        if list.is_empty() { 0 } else { size_of_val(list) + align_of::<T>() - 1 }
    }

    /// Moves the elements of a list into the part.
    ///
    /// # Panics
    /// The part is full: the caller asked for fewer bytes than its lists take.
    pub(crate) fn put<T: Send + Sync + 'f>(&mut self, mut list: Vec<T>) -> &'f mut [T] {
        const { assert!(!std::mem::needs_drop::<T>(), "nobody drops the elements") };
        if list.is_empty() {
            return &mut [];
        }
        let start = self.part.as_mut_ptr();
        let gap = start.wrapping_add(self.used).align_offset(align_of::<T>());
        let (at, len) = (self.used + gap, list.len());
        assert!(at + size_of_val(&list[..]) <= self.part.len(), "the lists take more than their part");
        self.used = at + size_of_val(&list[..]);
        // SAFETY: the mapping has these bytes, which no other list has since `used` only grows, and they are aligned. The
        // elements are moved: the list is left empty. The part is mapped as long as the file lives, and nobody else has the file,
        // which has no name.
        unsafe {
            let to = start.add(at).cast::<T>();
            std::ptr::copy_nonoverlapping(list.as_ptr(), to, len);
            list.set_len(0);
            std::slice::from_raw_parts_mut(to, len)
        }
    }
}

impl Drop for ScratchPart<'_> {
    fn drop(&mut self) {
        release_written(self.part);
    }
}

#[cfg(test)]
mod tests {
    use super::{ScratchFile, ScratchPart};

    #[test]
    fn lists_of_any_alignment_follow_each_other() {
        let scratch = ScratchFile::default();
        let (bytes, numbers) = (vec![1u8, 2, 3], vec![4u64, 5]);
        let mut part = scratch.part(ScratchPart::bytes_of(&bytes) + ScratchPart::bytes_of(&numbers)).unwrap();
        let (bytes, numbers, none) = (part.put(bytes), part.put(numbers), part.put(Vec::<u8>::new()));
        drop(part);
        scratch.release();
        assert_eq!((&*bytes, &*numbers, none.len()), (&[1, 2, 3][..], &[4, 5][..], 0));
    }
}

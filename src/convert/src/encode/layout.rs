//! Writes the file: a header, a directory, and the sections (schema, section 2).

use super::encoded::Encoded;
use super::section::Section;
use foldsym_format::header::{ALIGN, ENTRY_LEN, HEADER_LEN};
use foldsym_format::{DirectoryEntry, Header};
use rayon::prelude::*;
use std::io::{self, Write};

/// The CRC-32 of `foldsym_format::checksum`, ten times as fast: `flate2` uses the processor's instructions for it.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The first bytes of a section, which the directory repeats.
fn head(section: &Section) -> &[u8] {
    section.id.head(&section.bytes)
}

/// Bytes of header and directory.
fn front_len(sections: &[Section]) -> u64 {
    let entries = HEADER_LEN + sections.len() * ENTRY_LEN;
    (entries + sections.iter().map(|section| head(section).len()).sum::<usize>()) as u64
}

/// The directory of a file with these sections, which follow it in this order, and the file's length.
fn directory(sections: &[Section]) -> (Vec<u8>, u64) {
    // The only pass over all bytes of the file before it is written, so the threads share it.
    let checksums: Vec<u32> = sections.par_iter().map(|section| crc32(&section.bytes)).collect();
    let heads: Vec<u8> = sections.iter().flat_map(head).copied().collect();
    let mut directory = Vec::with_capacity(sections.len() * ENTRY_LEN + heads.len());
    let mut end = front_len(sections);
    for (section, checksum) in sections.iter().zip(checksums) {
        let (offset, len) = (end.next_multiple_of(ALIGN), section.bytes.len() as u64);
        let head_len = head(section).len() as u32;
        let entry = DirectoryEntry { id: section.id, checksum, offset, len, head_len };
        directory.extend_from_slice(&entry.write());
        end = offset + len;
    }
    directory.extend(heads);
    (directory, end)
}

impl Encoded {
    /// Bytes of the whole file.
    pub fn file_len(&self) -> u64 {
        let front = front_len(&self.sections);
        self.sections
            .iter()
            .fold(front, |at, section| at.next_multiple_of(ALIGN) + section.bytes.len() as u64)
    }

    /// The name of each section, and its bytes.
    pub(crate) fn section_lens(&self) -> Vec<(String, u64)> {
        let len = |section: &Section| (section.id.name().to_owned(), section.bytes.len() as u64);
        self.sections.iter().map(len).collect()
    }

    /// Writes the whole file to `out`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        let (directory, file_len) = directory(&self.sections);
        let header = Header { file_len, section_count: self.sections.len() as u32, ..self.header };
        out.write_all(&header.write(&directory))?;
        out.write_all(&directory)?;
        let mut at = (HEADER_LEN + directory.len()) as u64;
        for Section { bytes, .. } in &self.sections {
            let start = at.next_multiple_of(ALIGN);
            // Bytes between sections must be 0: no checksum covers them, and `verify` must find every change (schema, section
            // 2).
            out.write_all(&[0; ALIGN as usize][..(start - at) as usize])?;
            out.write_all(bytes)?;
            at = start + bytes.len() as u64;
        }
        Ok(())
    }

    /// The whole file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.file_len() as usize);
        self.write_to(&mut out).expect("writing to a vector does not fail");
        out
    }
}

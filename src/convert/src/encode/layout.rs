//! Puts sections behind a header and a directory, and writes the file (schema, section 2).

use super::{Encoded, Section};
use std::io::{self, Write};
use std::path::Path;

const MAGIC: [u8; 8] = *b"\x7ffsym\r\n\x1a";
const VERSION: u32 = 1;
const HEADER_LEN: usize = 64;
const ENTRY_LEN: usize = 32;
const CHECKSUM_AT: usize = 60;
/// Feature bit: rows and edges hold columns.
const COLUMNS: u64 = 1;

/// The fields of the header that do not follow from the sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) columns: bool,
    pub(super) image_base: u64,
    pub(super) machine: u16,
    pub(super) address_size: u8,
    pub(super) flags: u8,
    pub(super) unit_log2: u8,
    pub(super) max_depth: u32,
    pub(super) max_group: u32,
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The header and directory of a file with these sections, which stand behind them in this order.
fn front(header: &Header, sections: &[Section]) -> Vec<u8> {
    let directory_len = sections.len() * ENTRY_LEN;
    let mut directory = Vec::with_capacity(directory_len);
    let mut at = (HEADER_LEN + directory_len) as u64;
    let mut end = at;
    for section in sections {
        directory.extend_from_slice(&(section.id as u32).to_le_bytes());
        directory.extend_from_slice(&crc32(&section.bytes).to_le_bytes());
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(&(section.bytes.len() as u64).to_le_bytes());
        directory.extend_from_slice(&0u64.to_le_bytes());
        end = at + section.bytes.len() as u64;
        at = end.next_multiple_of(8);
    }
    let mut front = Vec::with_capacity(HEADER_LEN + directory_len);
    front.extend_from_slice(&MAGIC);
    front.extend_from_slice(&VERSION.to_le_bytes());
    front.extend_from_slice(&(directory_len as u32).to_le_bytes());
    front.extend_from_slice(&end.to_le_bytes());
    front.extend_from_slice(&(u64::from(header.columns) * COLUMNS).to_le_bytes());
    front.extend_from_slice(&header.image_base.to_le_bytes());
    front.extend_from_slice(&header.machine.to_le_bytes());
    front.extend_from_slice(&[header.address_size, header.flags, header.unit_log2, 0, 0, 0]);
    front.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    front.extend_from_slice(&header.max_depth.to_le_bytes());
    front.extend_from_slice(&header.max_group.to_le_bytes());
    front.extend_from_slice(&[0; 4]);
    front.extend_from_slice(&directory);
    let checksum = crc32(&front);
    front[CHECKSUM_AT..HEADER_LEN].copy_from_slice(&checksum.to_le_bytes());
    front
}

impl Encoded {
    /// Bytes of the whole file.
    pub fn file_len(&self) -> u64 {
        let front = HEADER_LEN + self.sections.len() * ENTRY_LEN;
        self.sections
            .iter()
            .fold(front as u64, |at, section| at.next_multiple_of(8) + section.bytes.len() as u64)
    }

    /// Writes the whole file to `out`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        let front = front(&self.header, &self.sections);
        out.write_all(&front)?;
        let mut at = front.len();
        for Section { bytes, .. } in &self.sections {
            out.write_all(&[0; 8][..at.next_multiple_of(8) - at])?;
            out.write_all(bytes)?;
            at = at.next_multiple_of(8) + bytes.len();
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

/// Writes the file to `path`: under another name in the same folder first, then renamed over what may be
/// there, so that nobody sees half a file. On an error nothing is left behind.
///
/// The file is not forced to the disk: it can be made again from the same input.
///
/// # Errors
/// Those of creating, writing and renaming the file.
pub fn write_file(encoded: &Encoded, path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fsym-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a plain `open` asks for; the process's mask takes its bits away.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    encoded.write_to(file.as_file_mut())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

//! Reads and writes the header and the directory (schema, section 2).

use crate::bits::{u8_at, u16_at, u32_at, word};
use crate::checksum::Crc32;
use crate::error::{FormatError, What};
use crate::features;
use crate::sections::SectionId;
pub use crate::version::VERSION;

/// The first bytes of every file.
pub const MAGIC: [u8; 8] = *b"\x7ffsym\r\n\x1a";
/// Bytes of the header.
pub const HEADER_LEN: usize = 64;
/// Bytes of a directory entry.
pub const ENTRY_LEN: usize = 32;
/// The most bytes of a section that the directory repeats.
pub const MAX_HEAD: u32 = 128;
/// The most sections.
pub const MAX_SECTIONS: u32 = 64;
/// The largest depth of a scope.
pub const MAX_DEPTH: u32 = 255;
/// The largest log2 of the unit of row offsets.
pub const MAX_UNIT_LOG2: u8 = 4;
/// Every section starts at a multiple of this.
pub const ALIGN: u64 = 8;

/// Bits of [`Header::flags`].
pub mod flags {
    /// The program is big-endian.
    pub const BIG_ENDIAN: u8 = 1 << 0;
    /// Relocatable: addresses are synthetic, see section SECTIONS.
    pub const RELOCATABLE: u8 = 1 << 1;
    /// Mach-O.
    pub const MACH_O: u8 = 1 << 2;
    /// Names are readable ones, without parameters, in place of linkage names.
    pub const READABLE_NAMES: u8 = 1 << 3;
    /// The first name is empty, and means that a name is missing.
    pub const EMPTY_NAME: u8 = 1 << 4;
    /// Two bits: how much of the program's debug information the file has, see [`DebugInfo::code`](crate::DebugInfo::code).
    pub const DEBUG_INFO: u8 = 0b11 << DEBUG_INFO_SHIFT;
    /// Where these bits begin.
    pub const DEBUG_INFO_SHIFT: u32 = 5;
    /// All that this version knows. Others are 0, which `verify` checks; opening lets them be.
    pub const KNOWN: u8 = BIG_ENDIAN | RELOCATABLE | MACH_O | READABLE_NAMES | EMPTY_NAME | DEBUG_INFO;
}

/// Byte offsets of the header's fields.
pub mod field {
    /// `magic`.
    pub const MAGIC: usize = 0;
    /// `version`.
    pub const VERSION: usize = 8;
    /// `directory_len`.
    pub const DIRECTORY_LEN: usize = 12;
    /// `file_len`.
    pub const FILE_LEN: usize = 16;
    /// `features`.
    pub const FEATURES: usize = 24;
    /// `image_base`.
    pub const IMAGE_BASE: usize = 32;
    /// `machine`.
    pub const MACHINE: usize = 40;
    /// `address_size`.
    pub const ADDRESS_SIZE: usize = 42;
    /// `flags`.
    pub const FLAGS: usize = 43;
    /// `unit_log2`.
    pub const UNIT_LOG2: usize = 44;
    /// `reserved`.
    pub const RESERVED: usize = 45;
    /// `section_count`.
    pub const SECTION_COUNT: usize = 48;
    /// `max_depth`.
    pub const MAX_DEPTH: usize = 52;
    /// `max_group`.
    pub const MAX_GROUP: usize = 56;
    /// `checksum`.
    pub const CHECKSUM: usize = 60;
}

/// Byte offsets of a directory entry's fields.
pub mod entry_field {
    /// `id`.
    pub const ID: usize = 0;
    /// `checksum`.
    pub const CHECKSUM: usize = 4;
    /// `offset`.
    pub const OFFSET: usize = 8;
    /// `len`.
    pub const LEN: usize = 16;
    /// `head_len`.
    pub const HEAD_LEN: usize = 24;
    /// `reserved`.
    pub const RESERVED: usize = 28;
}

/// The fields of the header. Magic, version and checksum follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Header {
    /// Bytes of the whole file.
    pub file_len: u64,
    /// Bits that a reader must know, see [`features`].
    pub features: u64,
    /// Link-time address that all stored addresses are relative to.
    pub image_base: u64,
    /// ELF `e_machine`.
    pub machine: u16,
    /// 4 or 8.
    pub address_size: u8,
    /// See [`flags`].
    pub flags: u8,
    /// Log2 of the unit of row offsets.
    pub unit_log2: u8,
    /// Bytes of the directory: of its entries and of the heads after them.
    pub directory_len: u32,
    /// Entries of the directory.
    pub section_count: u32,
    /// Largest depth of a scope: an answer has at most one frame more.
    pub max_depth: u32,
    /// Members of the largest group.
    pub max_group: u32,
}

impl Header {
    /// Bytes of the directory's entries; the heads follow.
    pub const fn entries_len(&self) -> usize {
        (self.section_count as usize).saturating_mul(ENTRY_LEN)
    }

    /// Reads the header at the start of a file. Checks each field by itself, and the checksum, which also covers the directory after the
    /// header. Takes constant time.
    ///
    /// # Errors
    /// Bytes that end early, another magic or version, unknown features, a field out of its range, or a
    /// checksum that does not match.
    pub fn parse(file: &[u8]) -> Result<Self, FormatError> {
        let early = FormatError::new(What::Truncated, file.len() as u64);
        let wrong = |what, at: usize| FormatError::new(what, at as u64);
        // First, so that a short file of another kind is not taken for a damaged one.
        if !file.starts_with(&MAGIC) && !MAGIC.starts_with(file) {
            return Err(wrong(What::Magic, field::MAGIC));
        }
        let bytes: &[u8; HEADER_LEN] = file.first_chunk().ok_or(early)?;
        let u32_of = |at| u32_at(bytes, at).ok_or(early);
        let u64_of = |at| word(bytes, at).ok_or(early);
        let u8_of = |at| u8_at(bytes, at).ok_or(early);
        // The version is checked before the checksum, since another version may compute its checksum in another way.
        let version = u32_of(field::VERSION)?;
        if version != VERSION {
            return Err(FormatError::new(What::Version, version.into()));
        }
        let header = Self {
            file_len: u64_of(field::FILE_LEN)?,
            features: u64_of(field::FEATURES)?,
            image_base: u64_of(field::IMAGE_BASE)?,
            machine: u16_at(bytes, field::MACHINE).ok_or(early)?,
            address_size: u8_of(field::ADDRESS_SIZE)?,
            flags: u8_of(field::FLAGS)?,
            unit_log2: u8_of(field::UNIT_LOG2)?,
            directory_len: u32_of(field::DIRECTORY_LEN)?,
            section_count: u32_of(field::SECTION_COUNT)?,
            max_depth: u32_of(field::MAX_DEPTH)?,
            max_group: u32_of(field::MAX_GROUP)?,
        };
        // A feature changes the layout of records: a reader that does not know it would give wrong answers.
        if header.features & !features::KNOWN != 0 {
            return Err(wrong(What::Features, field::FEATURES));
        }
        if header.section_count > MAX_SECTIONS {
            return Err(wrong(What::Length, field::SECTION_COUNT));
        }
        // The checksum is to take constant time: no more than all heads can have.
        let heads = (header.directory_len as usize).checked_sub(header.entries_len());
        if heads.is_none_or(|heads| heads > header.section_count.saturating_mul(MAX_HEAD) as usize) {
            return Err(wrong(What::Length, field::DIRECTORY_LEN));
        }
        let end = HEADER_LEN.saturating_add(header.directory_len as usize);
        let directory = file.get(HEADER_LEN..end).ok_or(early)?;
        if u32_of(field::CHECKSUM)? != checksum(bytes, directory) {
            return Err(wrong(What::Checksum, field::CHECKSUM));
        }
        // From here on the bytes are as some writer meant them.
        if bytes.get(field::RESERVED..field::SECTION_COUNT) != Some(&[0; 3]) {
            return Err(wrong(What::Reserved, field::RESERVED));
        }
        if !matches!(header.address_size, 4 | 8) {
            return Err(wrong(What::Value, field::ADDRESS_SIZE));
        }
        if header.unit_log2 > MAX_UNIT_LOG2 {
            return Err(wrong(What::Value, field::UNIT_LOG2));
        }
        // The scratch of a lookup has room for a path of this many levels (`Frames` in foldsym-lookup).
        if header.max_depth > MAX_DEPTH {
            return Err(wrong(What::Value, field::MAX_DEPTH));
        }
        Ok(header)
    }

    /// The header's bytes, with the length of this directory and the checksum over both.
    pub fn write(&self, directory: &[u8]) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        put(&mut out, field::MAGIC, MAGIC);
        put(&mut out, field::VERSION, VERSION.to_le_bytes());
        put(&mut out, field::DIRECTORY_LEN, (directory.len() as u32).to_le_bytes());
        put(&mut out, field::FILE_LEN, self.file_len.to_le_bytes());
        put(&mut out, field::FEATURES, self.features.to_le_bytes());
        put(&mut out, field::IMAGE_BASE, self.image_base.to_le_bytes());
        put(&mut out, field::MACHINE, self.machine.to_le_bytes());
        put(&mut out, field::ADDRESS_SIZE, [self.address_size]);
        put(&mut out, field::FLAGS, [self.flags]);
        put(&mut out, field::UNIT_LOG2, [self.unit_log2]);
        put(&mut out, field::SECTION_COUNT, self.section_count.to_le_bytes());
        put(&mut out, field::MAX_DEPTH, self.max_depth.to_le_bytes());
        put(&mut out, field::MAX_GROUP, self.max_group.to_le_bytes());
        // Last, since it covers all other fields.
        let sum = checksum(&out, directory);
        put(&mut out, field::CHECKSUM, sum.to_le_bytes());
        out
    }
}

/// The checksum of header and directory, with the checksum field taken as 0.
fn checksum(header: &[u8; HEADER_LEN], directory: &[u8]) -> u32 {
    let mut zeroed = *header;
    // The field is part of the bytes that it covers. The writer computes the sum before the field has a value (schema, section 2).
    put(&mut zeroed, field::CHECKSUM, [0; 4]);
    let mut crc = Crc32::new();
    crc.update(&zeroed);
    crc.update(directory);
    crc.finish()
}

/// Copies `bytes` to `out[at..]`; does nothing if they do not fit.
fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(to) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<N>()) {
        *to = bytes;
    }
}

/// One section as the directory has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Which section.
    pub id: SectionId,
    /// CRC-32 of its bytes.
    pub checksum: u32,
    /// Where it starts, from the start of the file.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
    /// How many of its first bytes the directory repeats.
    pub head_len: u32,
}

impl DirectoryEntry {
    /// Reads entry `index` of a directory, by itself; `None` past the end or where a reserved byte is not
    /// 0.
    pub fn parse(directory: &[u8], index: usize) -> Option<Self> {
        let at = index.checked_mul(ENTRY_LEN)?;
        let bytes: &[u8; ENTRY_LEN] = directory.get(at..)?.first_chunk()?;
        if u32_at(bytes, entry_field::RESERVED)? != 0 {
            return None;
        }
        Some(Self {
            id: SectionId(u32_at(bytes, entry_field::ID)?),
            checksum: u32_at(bytes, entry_field::CHECKSUM)?,
            offset: word(bytes, entry_field::OFFSET)?,
            len: word(bytes, entry_field::LEN)?,
            head_len: u32_at(bytes, entry_field::HEAD_LEN)?,
        })
    }

    /// The entry's bytes.
    pub fn write(&self) -> [u8; ENTRY_LEN] {
        let mut out = [0; ENTRY_LEN];
        put(&mut out, entry_field::ID, self.id.0.to_le_bytes());
        put(&mut out, entry_field::CHECKSUM, self.checksum.to_le_bytes());
        put(&mut out, entry_field::OFFSET, self.offset.to_le_bytes());
        put(&mut out, entry_field::LEN, self.len.to_le_bytes());
        put(&mut out, entry_field::HEAD_LEN, self.head_len.to_le_bytes());
        out
    }

    /// The end of the section in the file; `None` if that is past all numbers.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

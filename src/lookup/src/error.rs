//! Damage in a file: the section, the kind of damage, and the offset.

use core::fmt;

use foldsym_format::{FormatError, SectionId, What};

/// Bytes that the format does not allow: the file is damaged, or is not a `.fsym` of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The section; [`Error::FILE`] for header, directory and the bytes between sections.
    pub section: SectionId,
    /// The kind of damage.
    pub what: What,
    /// Where: a number as in [`FormatError::offset`]. Byte offsets count from the start of the section, or of the file for [`Error::FILE`].
    pub offset: u64,
}

impl Error {
    /// No section: the header, the directory or padding.
    pub const FILE: SectionId = SectionId(0);

    pub(crate) const fn new(section: SectionId, what: What, offset: u64) -> Self {
        Self { section, what, offset }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.section != Self::FILE {
            write!(f, "section {}: ", self.section.name())?;
        }
        write!(f, "{}", FormatError::new(self.what, self.offset))
    }
}

impl core::error::Error for Error {}

/// Says in which section an error of the format's readers happened.
pub(crate) trait InSection<T> {
    fn within(self, section: SectionId) -> Result<T, Error>;
}

impl<T> InSection<T> for Result<T, FormatError> {
    #[inline(always)]
    fn within(self, section: SectionId) -> Result<T, Error> {
        match self {
            Ok(value) => Ok(value),
            Err(FormatError { what, offset }) => Err(Error { section, what, offset }),
        }
    }
}

/// Reads so many records, and ends at the first damaged one: a damaged block header gives an error for each record of the block.
pub(crate) fn until_damaged<T>(
    len: u32,
    mut read: impl FnMut(u32) -> Result<T, Error>,
) -> impl Iterator<Item = Result<T, Error>> {
    let mut damaged = false;
    (0..len).map_while(move |record| {
        if damaged {
            return None;
        }
        let read = read(record);
        damaged = read.is_err();
        Some(read)
    })
}

/// A record that is not after the one before it.
pub(crate) fn order(section: SectionId, record: u32) -> Error {
    Error::new(section, What::Order, record.into())
}

/// A record with a value out of range.
pub(crate) fn value(section: SectionId, record: u32) -> Error {
    Error::new(section, What::Value, record.into())
}

/// Narrows a value of a table to an id or a count.
#[inline(always)]
pub(crate) fn small(value: i64, section: SectionId, record: u32) -> Result<u32, Error> {
    match u32::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => Err(Error::new(section, What::Value, record.into())),
    }
}

/// Takes a value of a table that is never negative.
#[inline(always)]
pub(crate) fn large(value: i64, section: SectionId, record: u32) -> Result<u64, Error> {
    match u64::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => Err(Error::new(section, What::Value, record.into())),
    }
}

/// Reads `0: none; else 1 + id`.
#[inline(always)]
pub(crate) fn optional(value: i64, section: SectionId, record: u32) -> Result<Option<u32>, Error> {
    // The lowest i64 wraps to the highest, which is no `u32` either.
    if value == 0 { Ok(None) } else { small(value.wrapping_sub(1), section, record).map(Some) }
}

//! The reader type that we give to `gimli`. It accepts LEB128 numbers of any length.
//!
//! `gimli`'s own readers refuse padded numbers: forms and tags of more than three bytes, and other numbers of more than ten.
//! DWARF 5 7.6 allows padding everywhere, and with those readers a unit with a padded number would be lost.

use std::borrow::Cow;

use gimli::{EndianSlice, Reader, ReaderOffsetId, Result};

use crate::util::leb;

pub(crate) type Dwarf<'f, E> = gimli::Dwarf<Bytes<'f, E>>;

/// A byte order known at compile time, so that the decoding of every form is inlined.
pub(crate) trait Endianity: gimli::Endianity + Send + Sync {}
impl Endianity for gimli::LittleEndian {}
impl Endianity for gimli::BigEndian {}

/// The bytes of a debug section, with their byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bytes<'f, E: gimli::Endianity>(EndianSlice<'f, E>);

impl<E: gimli::Endianity + Default> Default for Bytes<'_, E> {
    fn default() -> Self {
        Bytes(EndianSlice::new(&[], E::default()))
    }
}

impl<'f, E: gimli::Endianity> Bytes<'f, E> {
    #[inline]
    pub(crate) fn new(bytes: &'f [u8], endian: E) -> Self {
        Bytes(EndianSlice::new(bytes, endian))
    }

    #[inline]
    pub(crate) fn slice(&self) -> &'f [u8] {
        self.0.slice()
    }

    /// The bytes at these offsets, which must be inside.
    #[inline]
    pub(crate) fn range(&self, offsets: std::ops::Range<usize>) -> Self {
        Bytes(self.0.range(offsets))
    }

    #[cold]
    fn bad(&self, problem: leb::Problem, too_large: gimli::Error) -> gimli::Error {
        // The errors of gimli's own readers, so that damage has the same message whoever reads the number.
        match problem {
            leb::Problem::Cut => gimli::Error::UnexpectedEof(self.offset_id()),
            leb::Problem::TooLarge => too_large,
        }
    }
}

impl<E: gimli::Endianity> std::ops::Deref for Bytes<'_, E> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.slice()
    }
}

impl<'f, E: gimli::Endianity> Reader for Bytes<'f, E> {
    type Endian = E;
    type Offset = usize;

    #[inline]
    fn endian(&self) -> E {
        self.0.endian()
    }

    #[inline]
    fn len(&self) -> usize {
        self.slice().len()
    }

    #[inline]
    fn empty(&mut self) {
        self.0.empty();
    }

    #[inline]
    fn truncate(&mut self, len: usize) -> Result<()> {
        self.0.truncate(len)
    }

    #[inline]
    fn offset_from(&self, base: &Self) -> usize {
        self.0.offset_from(base.0)
    }

    #[inline]
    fn offset_id(&self) -> ReaderOffsetId {
        self.0.offset_id()
    }

    #[inline]
    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.0.lookup_offset_id(id)
    }

    #[inline]
    fn find(&self, byte: u8) -> Result<usize> {
        Reader::find(&self.0, byte)
    }

    #[inline]
    fn skip(&mut self, len: usize) -> Result<()> {
        self.0.skip(len)
    }

    #[inline]
    fn split(&mut self, len: usize) -> Result<Self> {
        self.0.split(len).map(Bytes)
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(self.slice()))
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        self.0.to_string().map(Cow::Borrowed)
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        Ok(self.0.to_string_lossy())
    }

    #[inline]
    fn read_slice(&mut self, buf: &mut [u8]) -> Result<()> {
        Reader::read_slice(&mut self.0, buf)
    }

    #[inline]
    fn read_u8(&mut self) -> Result<u8> {
        self.0.read_u8()
    }

    #[inline]
    fn read_uleb128(&mut self) -> Result<u64> {
        let number = leb::unsigned(self.slice());
        let (value, len) = number.map_err(|problem| self.bad(problem, gimli::Error::BadUnsignedLeb128))?;
        self.skip(len)?;
        Ok(value)
    }

    #[inline]
    fn read_uleb128_u16(&mut self) -> Result<u16> {
        u16::try_from(self.read_uleb128()?).map_err(|_| gimli::Error::BadUnsignedLeb128)
    }

    #[inline]
    fn read_sleb128(&mut self) -> Result<i64> {
        let number = leb::signed(self.slice());
        let (value, len) = number.map_err(|problem| self.bad(problem, gimli::Error::BadSignedLeb128))?;
        self.skip(len)?;
        Ok(value)
    }
}

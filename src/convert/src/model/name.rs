//! A name of a unit. Its end is found only when it is needed.

use crate::util::text;

/// A name of a unit. Units name the same functions many times by their offsets in one string section: finding every
/// end would read each text once per unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitName<'f> {
    /// Its bytes.
    Text(&'f [u8]),
    /// Its bytes, the zero that ends it, and the rest of the section, which ends with a zero.
    Begins(&'f [u8]),
}

impl<'f> UnitName<'f> {
    /// The name; the first 65,536 bytes of a longer one.
    pub(crate) fn bytes(&self) -> &'f [u8] {
        match self {
            UnitName::Text(bytes) => bytes,
            UnitName::Begins(bytes) => text::until_zero(bytes).unwrap_or_default(),
        }
    }
}

impl<'f> From<&'f [u8]> for UnitName<'f> {
    fn from(bytes: &'f [u8]) -> Self {
        UnitName::Text(bytes)
    }
}

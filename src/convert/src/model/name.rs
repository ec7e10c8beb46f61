//! A name of a unit, whose end may be looked for later.

use std::borrow::Cow;

use crate::util::text;

/// A name of a unit. Units name the same functions again and again, by their places in one section: to look for the ends of
/// all of them would read each text once for each unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitName<'f> {
    /// Its bytes.
    Text(Cow<'f, [u8]>),
    /// Its bytes, the zero that ends it and what else the section has, which ends with a zero.
    Begins(&'f [u8]),
}

impl UnitName<'_> {
    /// The name; the first 65,536 bytes of one that is longer.
    pub fn bytes(&self) -> &[u8] {
        match self {
            UnitName::Text(bytes) => bytes,
            UnitName::Begins(bytes) => text::until_zero(bytes).unwrap_or_default(),
        }
    }
}

impl<'f> From<&'f [u8]> for UnitName<'f> {
    fn from(bytes: &'f [u8]) -> Self {
        UnitName::Text(Cow::Borrowed(bytes))
    }
}

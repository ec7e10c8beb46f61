//! Reads the forms in which people and programs write an address of a module.

use foldsym_store::{IdError, ModuleId};

/// Why a text is not an address of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// The text has another form.
    Form {
        /// The text.
        text: String,
        /// The form that was expected.
        expected: &'static str,
    },
    /// The text before the colon is not a build id.
    Id(IdError),
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Form { text, expected } => write!(f, "{text:?}: expected {expected}"),
            Self::Id(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ParseError {}

/// Reads a number: `0x` and hexadecimal digits, or decimal digits. A sign is not allowed.
///
/// ```
/// assert_eq!(foldsym_symbolize::number("0x1F"), Some(31));
/// assert_eq!(foldsym_symbolize::number("+1"), None);
/// ```
pub fn number(text: &str) -> Option<u64> {
    // Every address of a stream is read here, and `from_str_radix` takes more than twice as long.
    let bytes = text.as_bytes();
    let (digits, is_hex) = match bytes {
        [b'0', b'x' | b'X', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    let mut value = 0u64;
    for &digit in digits {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' if is_hex => digit - b'a' + 10,
            b'A'..=b'F' if is_hex => digit - b'A' + 10,
            _ => return None,
        };
        value = match is_hex {
            true if value >> 60 != 0 => return None,
            true => value << 4 | u64::from(digit),
            false => value.checked_mul(10)?.checked_add(u64::from(digit))?,
        };
    }
    (!digits.is_empty()).then_some(value)
}

/// Reads `module+0x123`, also in parentheses, as sanitizers and `backtrace_symbols` write it. The module's name may contain a plus sign.
///
/// # Errors
/// The text has another form.
///
/// ```
/// use foldsym_symbolize::module_and_offset;
/// assert_eq!(module_and_offset("(/usr/lib/libstdc++.so.6+0x10)")?, ("/usr/lib/libstdc++.so.6", 16));
/// # Ok::<(), foldsym_symbolize::ParseError>(())
/// ```
pub fn module_and_offset(text: &str) -> Result<(&str, u64), ParseError> {
    let inner = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(text);
    let parts = inner.rsplit_once('+').filter(|(name, _)| !name.is_empty());
    let parsed = parts.and_then(|(name, offset)| Some((name, number(offset)?)));
    parsed.ok_or_else(|| form(text, "MODULE+OFFSET"))
}

/// Reads `BUILDID:0x123`, and the same with a debug id.
///
/// # Errors
/// The text has another form.
///
/// ```
/// let (id, offset) = foldsym_symbolize::id_and_offset("abcdef0123:0x10")?;
/// assert_eq!((id.to_string().as_str(), offset), ("abcdef0123", 16));
/// # Ok::<(), foldsym_symbolize::ParseError>(())
/// ```
pub fn id_and_offset(text: &str) -> Result<(ModuleId, u64), ParseError> {
    let expected = "BUILDID:OFFSET";
    let (id, offset) = text.split_once(':').ok_or_else(|| form(text, expected))?;
    let offset = number(offset).ok_or_else(|| form(text, expected))?;
    Ok((ModuleId::parse(id).map_err(ParseError::Id)?, offset))
}

pub(crate) fn form(text: &str, expected: &'static str) -> ParseError {
    // A line may have any length, but the message should be short.
    ParseError::Form { text: text.chars().take(200).collect(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, value) in [
            ("0x10", Some(16)),
            ("0X1f", Some(31)),
            ("010", Some(10)),
            ("18446744073709551615", Some(u64::MAX)),
        ] {
            assert_eq!(number(text), value, "{text}");
        }
        for text in ["", "0x", "x", "-1", "+1", "0x+1", "1 2", "18446744073709551616", "ff"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn other_forms_are_errors() {
        for text in ["", "+", "+0x1", "a", "a+", "a+x", "a+-1", "+a+", "a+0x1ffffffffffffffff"] {
            assert!(module_and_offset(text).is_err(), "{text}");
        }
        assert_eq!(module_and_offset("a+b+12"), Ok(("a+b", 12)));
        for text in ["", ":", "abcd", "abcd:", "abcd:x", "xyz0:1", ":1", "../..:1", "abcd:1:2"] {
            assert!(id_and_offset(text).is_err(), "{text}");
        }
        let error = id_and_offset("abcd").unwrap_err();
        assert_eq!(error.to_string(), "\"abcd\": expected BUILDID:OFFSET");
    }
}

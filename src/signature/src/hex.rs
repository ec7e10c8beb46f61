//! Bytes as hexadecimal digits.

use std::fmt::Write;

/// The hexadecimal digits of the first bytes.
pub(crate) fn hex(bytes: &[u8], count: usize) -> String {
    bytes.iter().take(count).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

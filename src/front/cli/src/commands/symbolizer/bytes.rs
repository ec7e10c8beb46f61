//! Arguments, input lines and paths as text, without a loss: a path need not be UTF-8.
//!
//! A byte that is of no character becomes a character of the last private plane, `U+10FF00` more than it. Where the input has such a
//! character itself, its bytes are treated so too, so that every text leads back to its bytes.

use std::path::{Path, PathBuf};

const FIRST: u32 = 0x10_ff80;

/// Bytes as text.
pub(super) fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match u32::from(character) >= FIRST {
                true => push(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes()),
                false => text.push(character),
            }
        }
        push(&mut text, chunk.invalid());
    }
    text
}

fn push(text: &mut String, bytes: &[u8]) {
    // All are above 0x7f: lower ones are characters.
    text.extend(bytes.iter().filter_map(|byte| char::from_u32(FIRST - 0x80 + u32::from(*byte))));
}

/// The original bytes of a text.
pub(super) fn bytes_of(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match u32::from(character).checked_sub(FIRST) {
            Some(above) => bytes.push(0x80 + above as u8),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The path that a text names.
#[cfg(unix)]
pub(super) fn path_of(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes_of(text)).into()
}

#[cfg(not(unix))]
pub(super) fn path_of(text: &str) -> PathBuf {
    text.into()
}

/// A path as text.
pub(super) fn of_path(path: &Path) -> String {
    text_of(path.as_os_str().as_encoded_bytes())
}

/// A text for JSON, which has no other bytes than UTF-8.
pub(super) fn shown(text: &str) -> String {
    String::from_utf8_lossy(&bytes_of(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_leads_back() {
        let private = "\u{10ff80}\u{10ffff}\u{10ff7f}";
        for bytes in [
            b"plain".as_slice(),
            b"caf\xe9",
            b"\x80\xff\xfe",
            "naïve ☂".as_bytes(),
            private.as_bytes(),
            b"\xf4\x8f",
        ] {
            let text = text_of(bytes);
            assert_eq!(bytes_of(&text), bytes, "{text:?}");
            assert_eq!(path_of(&text).as_os_str().as_encoded_bytes(), bytes);
            assert_eq!(of_path(&path_of(&text)), text);
        }
        assert_eq!(
            (text_of(b"a b"), shown(&text_of(b"caf\xe9"))),
            ("a b".to_owned(), "caf\u{fffd}".to_owned())
        );
    }
}

//! Reads texts of the input that end in a zero byte, and bounds how many bytes of them are read.
//!
//! The input refers to a text by its offset, in a few bytes. So a hostile file can refer any number of times to one long string
//! or to suffixes of it. In real string tables at most the ends of names are shared, and many local symbols have one short name.

use foldsym_format::bits;
use foldsym_format::names::MAX_NAME;

use crate::util::budget::Budget;

/// The most bytes of a text that are read: one more than a file keeps, so that a text that is cut can be counted.
pub(crate) const MAX_TEXT: usize = MAX_NAME + 1;

// The bytes that all texts of a string table may have together: so many for each byte of the table, so many for each text, and
// so many for any table.
const COPIES: u64 = 4;
const EACH: u64 = 128;
const FLOOR: u64 = 1 << 16;

/// The text at the beginning of `bytes`, without its zero; the first [`MAX_TEXT`] bytes of a longer text. `None` if `bytes` end
/// before the text does.
pub(crate) fn until_zero(bytes: &[u8]) -> Option<&[u8]> {
    until_zero_within(bytes, MAX_TEXT)
}

/// As [`until_zero`], with at most `most` bytes in place of [`MAX_TEXT`].
pub(crate) fn until_zero_within(bytes: &[u8], most: usize) -> Option<&[u8]> {
    let looked_at = &bytes[..bytes.len().min(most)];
    match memchr::memchr(0, looked_at) {
        Some(end) => Some(&looked_at[..end]),
        None => (looked_at.len() == most).then_some(looked_at),
    }
}

/// The number of texts that are prefetched together.
pub(crate) const TOGETHER: usize = 16;

/// Prefetches the beginnings of these texts. Texts are spread over a section, so each is a cache miss; this way the processor
/// waits for all of them at once.
pub(crate) fn soon<'t>(texts: impl Iterator<Item = &'t [u8]>) {
    texts.for_each(|text| bits::touch(text, 0, 0..2));
}

/// The most bytes of a text of the input that a message repeats.
const SHOWN: usize = 200;

/// A text of the input, for a message: its beginning, in ASCII.
pub(crate) fn shown(text: &[u8]) -> String {
    beginning(text, |text| text.escape_ascii().to_string())
}

/// A path of the input, for a message: its beginning, in UTF-8.
pub(crate) fn shown_path(path: &[u8]) -> String {
    beginning(path, |path| String::from_utf8_lossy(path).into_owned())
}

fn beginning(text: &[u8], spelled: impl Fn(&[u8]) -> String) -> String {
    match text.get(..SHOWN).filter(|_| text.len() > SHOWN) {
        Some(beginning) => format!("{}... ({} bytes)", spelled(beginning), text.len()),
        None => spelled(text),
    }
}

/// A message that has texts of the input in it, for another message: its beginning and its end, which says what is wrong.
pub(crate) fn shown_reason(text: &str) -> String {
    let cut = |end: usize| (0..=end).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    if text.len() <= 3 * SHOWN {
        return text.to_owned();
    }
    let (beginning, end) = (&text[..cut(SHOWN)], &text[cut(text.len() - SHOWN)..]);
    format!("{beginning}... ({} bytes) ...{end}", text.len())
}

/// The last component of a path.
pub(crate) fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// True if two paths are the same once `.`, `..` and empty components are resolved by text alone (`a/./b`, `x/../b`, `a//b`).
pub(crate) fn is_same_path(one: &[u8], other: &[u8]) -> bool {
    one == other || (one.starts_with(b"/") == other.starts_with(b"/") && components(one) == components(other))
}

/// The components of a path, with `.`, `..` and empty ones resolved.
fn components(path: &[u8]) -> Vec<&[u8]> {
    // By text alone: these are folders of the machine that built the program, so there is no file system to ask about symbolic
    // links.
    let mut kept: Vec<&[u8]> = Vec::new();
    for component in path.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." if kept.last().is_some_and(|last| *last != b"..") => {
                kept.pop();
            }
            component => kept.push(component),
        }
    }
    kept
}

/// The budget of bytes for `texts` texts of a string table of `len` bytes.
pub(crate) fn room(len: usize, texts: usize) -> Budget {
    let for_table = COPIES.saturating_mul(len as u64);
    let for_texts = EACH.saturating_mul(texts as u64);
    Budget::new(for_table.saturating_add(for_texts).saturating_add(FLOOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_one() {
        for (one, other, same) in [
            ("/a/b.c", "/a/b.c", true),
            ("/a/b.c", "/a/./x/..//b.c", true),
            ("/a/b.c", "/a/x/b.c", false),
            ("/a/b.c", "a/b.c", false),
            ("../a/b.c", "../../a/b.c", false),
            ("a/../b.c", "./b.c", true),
            ("a/../b.c", "a/./../b.c", true),
            ("", "", true),
        ] {
            assert_eq!(is_same_path(one.as_bytes(), other.as_bytes()), same, "{one} {other}");
        }
    }

    #[test]
    fn a_reason_keeps_its_beginning_and_its_end() {
        assert_eq!(shown_reason("a: b"), "a: b");
        for letter in ["x", "\u{20ac}"] {
            let reason = format!("/{}: cannot open: File name too long", letter.repeat(200_000));
            let shown = shown_reason(&reason);
            assert!(shown.len() < 3 * SHOWN && shown.starts_with(&format!("/{letter}")), "{shown}");
            assert!(shown.ends_with("File name too long"), "{shown}");
        }
    }

    #[test]
    fn a_message_repeats_the_beginning_of_a_text() {
        assert_eq!(shown(b"a\x1b[2J"), "a\\x1b[2J");
        assert_eq!(shown(&[b'n'; SHOWN]), "n".repeat(SHOWN));
        assert_eq!(shown(&[b'n'; 200_000]), format!("{}... (200000 bytes)", "n".repeat(SHOWN)));
    }

    #[test]
    fn a_text_ends_at_a_zero_or_is_cut() {
        assert_eq!(until_zero(b"name\0more"), Some(&b"name"[..]));
        assert_eq!(until_zero(b"\0"), Some(&b""[..]));
        assert_eq!(until_zero(b"name"), None);
        assert_eq!(until_zero(b""), None);
        let mut long = vec![b'n'; MAX_TEXT - 1];
        assert_eq!(until_zero(&long), None);
        long.push(0);
        assert_eq!(until_zero(&long).map(<[u8]>::len), Some(MAX_TEXT - 1));
        long.insert(0, b'n');
        assert_eq!(until_zero(&long).map(<[u8]>::len), Some(MAX_TEXT));
    }
}

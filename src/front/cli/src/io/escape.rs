//! Escapes characters that control a terminal or are invisible: names and paths come from strangers.

/// Puts text; control characters, and bytes that are not UTF-8, become `\xNN` and similar escapes.
pub(crate) fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() || is_unseen(character) {
                out.extend(character.escape_default().to_string().into_bytes());
            } else {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        for byte in chunk.invalid() {
            // This shows the byte, not U+FFFD: two names that differ must not look equal.
            out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
}

/// The same in JSON: a reader of it gets the same characters. JSON has no other bytes than UTF-8.
pub(crate) fn push_escaped_json(out: &mut Vec<u8>, text: &[u8]) {
    for character in String::from_utf8_lossy(text).chars() {
        if character.is_control() || is_unseen(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        } else {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Invisible characters that change a text: they turn its direction, break lines, join or hide characters (Unicode's formats, separators
/// and tags), and can make one name look like another.
fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn terminals_see_no_control_character() {
        let mut out = Vec::new();
        super::push_escaped(&mut out, "a\u{1b}[2Jb\n\u{9b}c\u{202e}\u{e9}".as_bytes());
        super::push_escaped(&mut out, b"\xff");
        for unseen in ["\u{200e}", "\u{200f}", "\u{61c}", "\u{2028}", "\u{2029}", "\u{e0041}", "\u{feff}"] {
            let mut escaped = Vec::new();
            super::push_escaped(&mut escaped, unseen.as_bytes());
            assert!(escaped.is_ascii(), "{}", unseen.escape_unicode());
        }
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[2Jb\\n\\u{9b}c\\u{202e}\u{e9}\\xff");
    }
}

//! Writes JSON strings.

/// Writes a quoted string. Names are bytes, and JSON has only Unicode text: bytes that are not UTF-8 become U+FFFD.
pub fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    // Most names need no escape. This loop has no branch for each byte, so that it is compiled to vector instructions.
    let is_plain = |byte: &u8| (0x20..0x7f).contains(byte) & (*byte != b'"') & (*byte != b'\\');
    if text.iter().fold(true, |all, byte| all & is_plain(byte)) {
        out.extend_from_slice(text);
        out.push(b'"');
        return;
    }
    for chunk in text.utf8_chunks() {
        escape(out, chunk.valid());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    out.push(b'"');
}

fn escape(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        // DEL and the C1 controls are legal in JSON, but a terminal obeys some of them. A C1 control in UTF-8 is 0xc2, followed by
        // 0x80 to 0x9f.
        let c1 = byte == 0xc2 && bytes.get(at + 1).is_some_and(|next| (0x80..0xa0).contains(next));
        if byte >= 0x20 && byte != b'"' && byte != b'\\' && byte != 0x7f && !c1 {
            continue;
        }
        out.extend_from_slice(&bytes[copied..at]);
        copied = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0xc2 => {
                unicode(out, bytes[at + 1]);
                copied = at + 2;
            }
            _ => unicode(out, byte),
        }
    }
    out.extend_from_slice(&bytes[copied..]);
}

fn unicode(out: &mut Vec<u8>, code: u8) {
    out.extend_from_slice(format!("\\u{code:04x}").as_bytes());
}

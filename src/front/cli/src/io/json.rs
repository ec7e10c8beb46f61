//! Writes JSON text into a buffer, keys in the order in which they are written.

/// Puts a string, quoted. Names are bytes: what is not UTF-8 becomes U+FFFD, as JSON has no other way.
pub(crate) fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
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
        // DEL and the C1 controls are legal in JSON, but a terminal obeys some of them; C1 is caught by
        // its first UTF-8 byte, 0xc2, followed by 0x80 to 0x9f.
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

/// Puts a decimal number.
pub(crate) fn number(out: &mut Vec<u8>, value: impl Into<u64>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut value = value.into();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Puts `0x` and lower-case hexadecimal digits, without quotes.
pub(crate) fn hex(out: &mut Vec<u8>, value: u64) {
    let count = 16 - (value | 1).leading_zeros() as usize / 4;
    // The first digit in the highest bits, so that what is too many is behind.
    let first = value << (64 - 4 * count);
    out.extend_from_slice(b"0x");
    let end = out.len() + count;
    out.extend_from_slice(&eight_digits((first >> 32) as u32));
    if count > 8 {
        out.extend_from_slice(&eight_digits(first as u32));
    }
    out.truncate(end);
}

/// The hexadecimal digits of all four bytes, all at once: a digit in each byte of a word.
fn eight_digits(value: u32) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let spread = u64::from(value);
    let spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    let spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    let digits = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // 1 for each digit of 10 or more.
    let letters = (digits + 6 * ONES) >> 4 & ONES;
    (digits + ONES * u64::from(b'0') + letters * u64::from(b'a' - b'0' - 10)).to_be_bytes()
}

/// Puts an address as a JSON string.
pub(crate) fn address(out: &mut Vec<u8>, value: u64) {
    out.push(b'"');
    hex(out, value);
    out.push(b'"');
}

/// Puts an array.
pub(crate) fn list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut put: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put(out, item);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(put: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_come_back() {
        for text in ["", "plain", "a\"b\\c\nd\te\u{1}f\u{7f}g\u{9b}h\u{e9}\u{a0}", "\u{1f980}"] {
            let json = written(|out| string(out, text.as_bytes()));
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            assert!(json.chars().all(|c| !c.is_control()), "{json}");
        }
        assert_eq!(written(|out| string(out, b"a\xffb")), "\"a\u{fffd}b\"");
    }

    #[test]
    fn numbers() {
        for value in [0u64, 7, 10, 12345, 0x9abc_def0, 0x1_2345_6789, 0xfed_cba9_8765_4321, u64::MAX] {
            assert_eq!(written(|out| number(out, value)), value.to_string());
            assert_eq!(written(|out| hex(out, value)), format!("{value:#x}"));
        }
    }
}

//! Stands in for the codec of names: plain offsets and bytes.

/// Encodes sorted, unique strings.
pub(super) fn encode(strings: &[&[u8]]) -> Vec<u8> {
    let mut out = (strings.len() as u32).to_le_bytes().to_vec();
    let mut at = 0u32;
    for string in strings {
        out.extend_from_slice(&at.to_le_bytes());
        at += string.len() as u32;
    }
    out.extend_from_slice(&at.to_le_bytes());
    strings.iter().for_each(|string| out.extend_from_slice(string));
    out
}

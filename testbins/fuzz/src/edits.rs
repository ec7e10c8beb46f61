//! Edits of a sound `.fsym`: the input gives the place and the new value, and the checksums are corrected, so that a change reaches the
//! records.

use foldsym_format::checksum::crc32;
use foldsym_format::header::{ENTRY_LEN, HEADER_LEN};

/// Bytes of one edit: section, kind, place (3), value.
const EDIT: usize = 6;

/// A section of a file: its id, how many of its first bytes the directory repeats, and its bytes.
type Part = (u32, u32, Vec<u8>);

fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(&bytes[at..at + N]);
    u64::from_le_bytes(wide)
}

fn parts(file: &[u8]) -> Vec<Part> {
    let count = number::<4>(file, 48) as usize;
    (0..count)
        .map(|index| {
            let at = HEADER_LEN + index * ENTRY_LEN;
            let (offset, len) = (number::<8>(file, at + 8) as usize, number::<8>(file, at + 16) as usize);
            (
                number::<4>(file, at) as u32,
                number::<4>(file, at + 24) as u32,
                file[offset..offset + len].to_vec(),
            )
        })
        .collect()
}

fn assemble(header: &[u8], parts: &[Part]) -> Vec<u8> {
    let mut directory = Vec::new();
    let head = |(_, len, bytes): &Part| bytes[..bytes.len().min(*len as usize)].to_vec();
    let heads: Vec<u8> = parts.iter().flat_map(head).collect();
    let mut end = HEADER_LEN + parts.len() * ENTRY_LEN + heads.len();
    for part @ (id, _, bytes) in parts {
        let offset = end.next_multiple_of(8);
        directory.extend(id.to_le_bytes());
        directory.extend(crc32(bytes).to_le_bytes());
        directory.extend((offset as u64).to_le_bytes());
        directory.extend((bytes.len() as u64).to_le_bytes());
        directory.extend((head(part).len() as u64).to_le_bytes());
        end = offset + bytes.len();
    }
    directory.extend(heads);
    let mut out = header.to_vec();
    out[12..16].copy_from_slice(&(directory.len() as u32).to_le_bytes());
    out[16..24].copy_from_slice(&(end as u64).to_le_bytes());
    out[48..52].copy_from_slice(&(parts.len() as u32).to_le_bytes());
    out[60..64].fill(0);
    out.extend(directory);
    let sum = crc32(&out);
    out[60..64].copy_from_slice(&sum.to_le_bytes());
    for (_, _, bytes) in parts {
        out.resize(out.len().next_multiple_of(8), 0);
        out.extend(bytes);
    }
    out
}

/// The file with the edits of `input`, and its checksums right.
pub fn edited(file: &[u8], input: &[u8]) -> Vec<u8> {
    let mut header = file[..HEADER_LEN].to_vec();
    let mut parts = parts(file);
    for edit in input.chunks_exact(EDIT) {
        let (which, kind, value) = (edit[0] as usize % (parts.len() + 1), edit[1], edit[5]);
        let place = number::<3>(edit, 2) as usize;
        let Some((_, _, bytes)) = parts.get_mut(which) else {
            // Of the header only what is no length or checksum: those are made right again.
            let at = [24, 32, 40, 42, 43, 44, 45, 52, 53, 56, 57][place % 11];
            header[at] = if kind % 2 == 0 { value } else { header[at] ^ value };
            continue;
        };
        if bytes.is_empty() {
            bytes.push(value);
            continue;
        }
        let at = place % bytes.len();
        match kind % 10 {
            0 => bytes[at] = value,
            1 => bytes[at] ^= 1 << (value % 8),
            2 => bytes[at] = bytes[at].wrapping_add(1),
            3 => bytes[at] = bytes[at].wrapping_sub(1),
            // The front of a section is its header.
            4 => {
                let at = at % bytes.len().min(32);
                bytes[at] = value;
            }
            5 => bytes.truncate(at),
            6 => bytes.insert(at, value),
            7 => {
                let end = (at + 8).min(bytes.len());
                bytes[at..end].fill(value);
            }
            8 => {
                let from = (at * 7 + value as usize) % bytes.len();
                let end = (from + 8).min(bytes.len());
                let copied = bytes[from..end].to_vec();
                let fits = copied.len().min(bytes.len() - at);
                bytes[at..at + fits].copy_from_slice(&copied[..fits]);
            }
            _ => {
                bytes.remove(at);
            }
        }
    }
    assemble(&header, &parts)
}

//! Numbers and bits come back as they were written, at every length and at the end of the bytes.

use foldsym_format::varint::{MAX_LEN, read, unzigzag, write, zigzag};
use foldsym_format::{FormatError, Table, What, bits};

#[test]
fn varints_of_every_length() {
    let mut out = [0; MAX_LEN];
    for shift in 0..64 {
        for value in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift, (1 << shift) | 1] {
            let len = write(value, &mut out);
            assert_eq!(len, (64 - value.leading_zeros()).div_ceil(7).max(1) as usize);
            // Followed by other bytes, and as the last.
            for behind in [&[0xff; 12][..], &[0; 12], &[]] {
                let bytes = [&[0x80], &out[..len], behind].concat();
                assert_eq!(read(&bytes, 1), Some((value, 1 + len)), "{value:#x}");
            }
            for short in 0..len {
                assert_eq!(read(&out[..short], 0), None);
            }
            assert_eq!(zigzag(unzigzag(value)), value);
        }
    }
    // More than 64 bits, or more than 10 bytes.
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], 0), None);
    assert_eq!(read(&[0x80; 20], 0), None);
    assert_eq!(read(&[0], usize::MAX), None);
}

#[test]
fn bits_at_every_offset() {
    let data: Vec<u8> = (0..24u8).map(|byte| byte.wrapping_mul(0x9d) ^ 0x5a).collect();
    let bit = |at: u64| u64::from(data[at as usize / 8] >> (at % 8) & 1);
    for at in 0..128 {
        for width in 0..=bits::MAX_WIDTH {
            let expected = (0..u64::from(width)).map(|i| bit(at + i) << i).sum();
            assert_eq!(bits::read(&data, at, width), Some(expected));
        }
    }
    assert_eq!(bits::read(&data, 17 * 8, 0), None);
    assert_eq!(bits::read(&data, u64::MAX, 1), None);
}

/// A table of two columns by hand: block headers, then records of 4 and 60 bits, so that a record does not
/// fit one load.
#[test]
fn a_table_of_wide_records() {
    let block = 8 + 4 * 8;
    let mut table = vec![3, 0, 0, 0, 2, 2, 0, 0];
    table.extend((block as u64 | 60 << 48).to_le_bytes());
    table.extend([4, 56, 0, 0, 0, 0, 0, 0]);
    table.extend(1000i64.to_le_bytes());
    table.extend((-5i64).to_le_bytes());
    let records = [(3u64, 1u64 << 55), (0, 0), (15, (1 << 56) - 1)];
    let mut packed = vec![0u8; (60usize * 3).div_ceil(8)];
    for (i, (first, second)) in records.into_iter().enumerate() {
        let value = u128::from(first) | u128::from(second) << 4;
        for bit in 0..60 {
            let at = 60 * i + bit;
            packed[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
        }
    }
    table.extend(packed);
    table.extend([0; 8]);
    let opened = Table::open(&table, 2).unwrap();
    opened.verify().unwrap();
    let expected = [[1003, (1 << 55) - 5], [1000, -5], [1015, (1 << 56) - 6]];
    for (record, expected) in (0u32..).zip(expected) {
        assert_eq!(opened.record::<2>(record), Ok(expected));
        assert_eq!(opened.record::<1>(record), Ok([expected[0]]));
        assert_eq!([0, 1].map(|column| opened.value(record, column).unwrap()), expected);
    }
    assert_eq!(opened.record::<1>(3), Err(FormatError::new(What::NoRecord, 3)));
    assert_eq!(opened.value(0, 2), Err(FormatError::new(What::Columns, 2)));
    assert!(Table::open(&table, 3).is_err());
    for len in 0..block {
        assert!(Table::open(&table[..len], 2).is_err());
    }
    for len in block..table.len() {
        assert!(Table::open(&table[..len], 2).and_then(|table| table.verify()).is_err(), "{len}");
    }
    // A width of a column that the table does not have.
    table[8 + 8 + 2] = 1;
    assert_eq!(Table::open(&table, 2).unwrap().verify(), Err(FormatError::new(What::Width, 8)));
}

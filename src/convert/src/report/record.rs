//! The conversion record: how a `.fsym` was made, as a type and as the bytes of section RECORD.
//!
//! The bytes are a zstd frame of bincode 2 in its standard configuration: integers by their size, lengths before lists and
//! texts. `schema/README.md` (section 12) lists the fields in their order. The record depends on the program and the options
//! alone: it holds no time, no number of threads, no name of the program and no folder.

use std::collections::BTreeMap;
use std::io::Read;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::report::counts::Counts;

/// The most bytes of a decompressed record. The record of the Linux kernel has under 4,000.
const MAX_RECORD: usize = 16 << 20;

/// How a `.fsym` was made. `foldsym info` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConversionRecord {
    /// The name and the version of the tool that made the file.
    pub tool: String,
    /// What was read.
    pub counts: Counts,
    /// What was decided.
    pub decided: RecordedDecisions,
    /// What was skipped, repaired, or decided by a rule, by the name of the kind.
    pub diagnostics: BTreeMap<String, RecordedCase>,
    /// What opening the files of the program noticed, a line each.
    pub notes: Vec<String>,
}

/// [`Decided`](crate::report::Decided) with words in place of positions in arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "schema/report.md describes each key of `decided`")]
pub struct RecordedDecisions {
    pub functions: u64,
    pub unique: u64,
    pub likely: BTreeMap<String, u64>,
    pub symbol_only: u64,
    pub aliases: u64,
    pub folded_addresses: u64,
    pub folded_functions: u64,
    pub folded_by_evidence: BTreeMap<String, u64>,
    pub calls_into_folded: u64,
    pub calls_with_key: u64,
    pub call_keys: u64,
    pub tail_keys: u64,
    pub vtable_keys: u64,
    pub sure_vtable_keys: u64,
    pub slot_keys: u64,
    pub inlines_by_rows: u64,
    pub inlines_by_twin: u64,
    pub inlines_lost: u64,
    pub basic_blocks: Option<RecordedBlocks>,
}

/// What was read of the map of basic blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "schema/report.md describes each key of `decided.basic_blocks`")]
pub struct RecordedBlocks {
    pub map_bytes: u64,
    pub functions: u64,
    pub ranges: u64,
    pub blocks: u64,
    pub not_kept: RecordedUnkept,
}

/// What the map of basic blocks has and a `.fsym` does not keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "schema/report.md describes each key of `decided.basic_blocks.not_kept`")]
pub struct RecordedUnkept {
    pub call_ends: u64,
    pub functions_with_profile: u64,
    pub hashes: u64,
}

/// How often a kind of diagnostic was met, and where first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedCase {
    /// At least 1.
    pub count: u64,
    /// Offset in its section of the DIE, unit or line program of the first case.
    pub first: SectionOffset,
    /// The first case in words, as far as they do not depend on the folder of the program.
    pub example: Option<String>,
}

/// An offset in a section; in JSON a string of hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct SectionOffset(pub u64);

impl Serialize for SectionOffset {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(&format_args!("{:#x}", self.0));
        }
        serializer.serialize_newtype_struct("SectionOffset", &self.0)
    }
}

/// Why the bytes of section RECORD cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// They cannot be decompressed.
    #[error("not a zstd frame")]
    Frame,
    /// They decompress to more bytes than the record of any conversion has.
    #[error("more than {MAX_RECORD} bytes")]
    TooLong,
    /// The bytes in the frame are not coded as a record.
    #[error("not a conversion record: {0}")]
    Coding(String),
}

impl ConversionRecord {
    /// Decodes the bytes of section RECORD.
    ///
    /// # Errors
    /// The bytes are not a zstd frame, decompress to more than 16 MiB, are not coded as a record, or continue after the record.
    pub fn decode(section: &[u8]) -> Result<ConversionRecord, RecordError> {
        let frame = zstd::stream::read::Decoder::new(section).map_err(|_| RecordError::Frame)?;
        let mut bytes = Vec::new();
        // A few bytes of a zstd frame may decompress to gigabytes. One byte more than the limit shows that there are more.
        frame.take(MAX_RECORD as u64 + 1).read_to_end(&mut bytes).map_err(|_| RecordError::Frame)?;
        if bytes.len() > MAX_RECORD {
            return Err(RecordError::TooLong);
        }
        let (record, len) = bincode::serde::decode_from_slice(&bytes, codec())
            .map_err(|error| RecordError::Coding(error.to_string()))?;
        if len != bytes.len() {
            return Err(RecordError::Coding(format!("{} trailing bytes", bytes.len() - len)));
        }
        Ok(record)
    }

    /// The bytes that the frame of section RECORD holds.
    pub(crate) fn encode(&self) -> Vec<u8> {
        // The record has integers, texts, lists and maps of known length, and bincode refuses none of these.
        bincode::serde::encode_to_vec(self, codec()).unwrap_or_default()
    }

    /// The record with the keys of `schema/report.md`.
    pub fn to_json(&self) -> Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        // bincode codes fields without names, so the record has all of them. JSON leaves out a key without a value.
        leave_out_nulls(&mut json["decided"]);
        if let Value::Object(kinds) = &mut json["diagnostics"] {
            kinds.values_mut().for_each(leave_out_nulls);
        }
        json
    }
}

fn leave_out_nulls(json: &mut Value) {
    if let Value::Object(members) = json {
        members.retain(|_, value| !value.is_null());
    }
}

/// The configuration with which bincode codes a record. Its limit refuses a length above [`MAX_RECORD`] before memory is allocated.
fn codec() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<MAX_RECORD>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> ConversionRecord {
        let decided = RecordedDecisions::default();
        let case =
            RecordedCase { count: 3, first: SectionOffset(0x1234), example: Some("unit 0x40".to_owned()) };
        ConversionRecord {
            tool: "foldsym 0".to_owned(),
            counts: Counts { units: 7, rows: 70_000, inlines: u64::MAX, ..Counts::default() },
            decided: RecordedDecisions { likely: [("stripped".to_owned(), 251)].into(), ..decided },
            diagnostics: [("bad_unit".to_owned(), case)].into(),
            notes: vec!["a note".to_owned()],
        }
    }

    fn framed(bytes: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(bytes, 1).unwrap()
    }

    #[test]
    fn a_record_is_decoded_as_it_was() {
        let record = made();
        assert_eq!(ConversionRecord::decode(&framed(&record.encode())).unwrap(), record);
        let json = record.to_json();
        assert_eq!(json["diagnostics"]["bad_unit"]["first"], "0x1234");
        assert!(json["decided"].get("basic_blocks").is_none());
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let whole = made().encode();
        for len in 0..whole.len() {
            assert!(ConversionRecord::decode(&framed(&whole[..len])).is_err(), "the first {len} bytes");
        }
        let longer = [&whole[..], &[0]].concat();
        assert!(matches!(ConversionRecord::decode(&framed(&longer)), Err(RecordError::Coding(_))));
        assert!(matches!(ConversionRecord::decode(&whole), Err(RecordError::Frame)));
        // A text of 2^62 bytes: the limit refuses it before memory is allocated.
        let long_text = [&[253][..], &(1_u64 << 62).to_le_bytes()].concat();
        assert!(matches!(ConversionRecord::decode(&framed(&long_text)), Err(RecordError::Coding(_))));
        assert!(matches!(
            ConversionRecord::decode(&framed(&vec![0; MAX_RECORD + 1])),
            Err(RecordError::TooLong)
        ));
    }
}

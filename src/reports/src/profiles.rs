//! Turns the bytes of a profile, of any format, into decompressed bytes under bounds; and what the readers and writers of all profiles share.

use std::borrow::Cow;
use std::io::Read;

use crate::{Format, ReportError};

// What any input may cost. DEFLATE expands a byte to at most 1032, but profiles expand only by a factor of 4 to 10. So a byte of gzip
// justifies up to `MAX_RATIO` decompressed bytes. An input that is not compressed justifies its own length. A justified byte may take
// `MEMORY_A_BYTE` bytes of memory: the shortest sample of one frame and one value has 8 bytes, and takes up to 240. It may produce
// `FRAMES_A_BYTE` frames of a report: that sample counts as 17. Beyond that an input of any length may have the `FREE_` amounts, and none
// may have more than the `MAX_` amounts.

/// Decompressed bytes that a byte of gzip justifies.
const MAX_RATIO: u64 = 32;
/// Most bytes of a profile, after decompression.
const FREE_BYTES: u64 = 32 << 20;
const MAX_BYTES: u64 = 128 << 20;
/// Bytes of memory that the records of a profile take.
const MEMORY_A_BYTE: u64 = 32;
const FREE_MEMORY: u64 = 32 << 20;
const MAX_MEMORY: u64 = 240 << 20;
/// Bytes of memory that the records take for each byte as it was given, and for any input.
const MEMORY_OF_GIVEN: u64 = 24;
const FREE_OF_GIVEN: u64 = 120 << 20;
/// Frames of a report: a profile with more frames can be rewritten, but not printed completely.
const FRAMES_A_BYTE: u64 = 4;
const FREE_FRAMES: u64 = 1 << 16;
pub(crate) const MAX_FRAMES: u64 = 1 << 23;

/// Most functions of one frame, and of one stack beyond its frames: few bytes of a profile may refer to a long list again and again.
pub(crate) const MAX_INLINED: usize = 1 << 10;
pub(crate) const MAX_NAMES: usize = 1 << 17;
/// Most bytes of the names of one stack: what prints it may have all of them at once.
pub(crate) const MAX_NAMES_TEXT: usize = 8 << 20;

/// Bytes at the start of a file that identify its format.
pub(crate) const PREFIX: u64 = 64 << 10;
/// How many frames a sample counts as, besides its own: a thread of a report takes memory itself.
pub(crate) const PER_SAMPLE: usize = 16;

/// Most bytes of names of values and labels in all samples together, and of mappings' names: a few bytes of a profile may refer to a long
/// text again and again.
pub(crate) const MAX_TEXT: usize = 64 << 20;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewritten {
    /// Frames of all samples of a profile of pprof; of OpenTelemetry frames of all stacks, which samples share.
    pub frames: u64,
    /// Frames that have a function.
    pub named: u64,
    /// Further frames, whose functions are those that the profile had.
    pub kept: u64,
    /// Locations that were added, since an address has several answers.
    pub locations_added: u64,
}

/// Whether bytes, or what they decompress to, begin as a format's; the function sees the first 64 KiB of what is decompressed.
pub(crate) fn begins(bytes: &[u8], is_one: impl FnOnce(&[u8]) -> bool) -> bool {
    if bytes.starts_with(&GZIP) {
        let mut start = Vec::new();
        // The start may be truncated: the bytes that can be decompressed count.
        let _ = flate2::read::GzDecoder::new(bytes).take(PREFIX).read_to_end(&mut start);
        return is_one(&start);
    }
    is_one(bytes)
}

/// The decompressed bytes of a profile, and what they may cost.
pub(crate) struct Unpacked<'b> {
    format: Format,
    pub(crate) bytes: Cow<'b, [u8]>,
    /// Bytes as they were given.
    given: u64,
    justified: u64,
    of_caller: u64,
}

impl<'b> Unpacked<'b> {
    /// Decompresses gzip; other bytes stay where they are. `memory` are the bytes of memory that the caller allows.
    ///
    /// # Errors
    /// Damaged gzip, or too many bytes.
    pub(crate) fn new(bytes: &'b [u8], format: Format, memory: Option<u64>) -> Result<Self, ReportError> {
        let (given, of_caller) = (bytes.len() as u64, memory.unwrap_or(u64::MAX));
        let mut unpacked = Self { format, bytes: Cow::Borrowed(bytes), given, justified: given, of_caller };
        if bytes.starts_with(&GZIP) {
            let mut plain = Vec::new();
            let of_format = given.saturating_mul(MAX_RATIO).saturating_add(FREE_BYTES).min(MAX_BYTES);
            // What is decompressed is there while its records are made.
            let most = of_format.min(of_caller / 2);
            // One byte above the limit shows that there is more, so the rest need not be decompressed.
            let read = flate2::read::MultiGzDecoder::new(bytes).take(most + 1).read_to_end(&mut plain);
            read.map_err(|error| {
                unpacked.damaged(format!("gzip: damaged after {} decompressed bytes: {error}", plain.len()))
            })?;
            if plain.len() as u64 > most {
                if most < of_format {
                    return Err(unpacked.too_large());
                }
                return Err(
                    unpacked.damaged(format!("gzip: {given} compressed bytes expand to more than {most}"))
                );
            }
            unpacked.justified = given.saturating_mul(MAX_RATIO).min(plain.len() as u64);
            unpacked.bytes = Cow::Owned(plain);
        }
        if unpacked.bytes.len() as u64 > MAX_BYTES {
            return Err(unpacked.damaged(format!("{} bytes, more than {MAX_BYTES}", unpacked.bytes.len())));
        }
        Ok(unpacked)
    }

    fn damaged(&self, problem: String) -> ReportError {
        ReportError::Damaged { format: self.format, problem }
    }

    fn too_large(&self) -> ReportError {
        ReportError::Memory { format: self.format, most: self.of_caller }
    }

    /// Most frames of the report.
    pub(crate) fn most_frames(&self) -> usize {
        self.may(FRAMES_A_BYTE, FREE_FRAMES, MAX_FRAMES) as usize
    }

    fn may(&self, of_byte: u64, free: u64, max: u64) -> u64 {
        self.justified.saturating_mul(of_byte).saturating_add(free).min(max)
    }

    /// What the records may take beside the decompressed bytes, which are there at once.
    fn together(&self) -> u64 {
        self.given.saturating_mul(MEMORY_OF_GIVEN).saturating_add(FREE_OF_GIVEN)
    }

    /// Bytes of memory that the records may take.
    pub(crate) fn most_memory(&self) -> u64 {
        self.may(MEMORY_A_BYTE, FREE_MEMORY, MAX_MEMORY).min(self.together())
    }

    /// The same for a format whose records take the same memory whatever their bytes.
    pub(crate) fn most_memory_of_legacy(&self) -> u64 {
        self.together().min(MAX_MEMORY)
    }

    /// Bytes of memory that the caller allows for the records.
    pub(crate) fn left_of_caller(&self) -> u64 {
        let plain = if let Cow::Owned(plain) = &self.bytes { plain.len() as u64 } else { 0 };
        self.of_caller.saturating_sub(plain)
    }

    /// The error for records that take more memory than `most`, or than the caller allows.
    pub(crate) fn refused(&self, memory: u64, most: u64) -> ReportError {
        if memory <= most {
            return self.too_large();
        }
        self.damaged(format!(
            "its records take {memory} bytes of memory, more than {most} for {} bytes of input",
            self.given
        ))
    }
}

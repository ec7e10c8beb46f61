//! Reads profiles of OpenTelemetry (OTLP, `profiles/v1development`, protos 1.9 to 1.11), and writes them back with functions and lines.
//!
//! | part of a stack | address |
//! |---|---|
//! | first of a stack, and first of the program outside of the kernel's | exact |
//! | others | adjusted: the profiler of OpenTelemetry subtracts 1 from each return address. [`Options::callers`](crate::Options::callers) can say otherwise |
//! | all of the kernel (`profile.frame.type` is `kernel`), the first too | adjusted; counted from the start of section `.text` |
//!
//! An address in a mapping with a range is turned into a file offset, and that into a link-time address: this is right both for producers that
//! give addresses of the process, and for those that give link-time addresses and ranges. Without a range it is a link-time address. A frame
//! of no mapping (index 0) belongs to an interpreter, and stays as it is.
//!
//! The fields are read from the bytes as they are, not into generated types: such types lose the fields that they do not know, and a profile
//! that passes through must keep them.
//!
//! Messages may be hostile: decompressed bytes, records and frames are bounded, and an index without a target is a warning.

mod changes;
mod json_form;
mod message;
mod protobuf;
mod read;
mod tables;

pub use read::{NotRewritten, Profiles};
pub(crate) use read::{OtlpReader, begins_as_profile};

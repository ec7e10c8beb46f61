//! Bits of [`Header::features`](crate::Header::features): what a file holds that changes the layout of its records.

/// Rows and edges hold columns.
pub const COLUMNS: u64 = 1 << 0;
/// All that this version knows.
pub const KNOWN: u64 = COLUMNS;

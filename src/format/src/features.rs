//! Bits of [`Header::features`](crate::Header::features): contents of a file that change the layout of its records.

/// Rows and edges hold columns.
pub const COLUMNS: u64 = 1 << 0;
/// All that this version knows.
pub const KNOWN: u64 = COLUMNS;

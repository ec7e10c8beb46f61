//! The version of the format, apart from the header: errors name it too, and the header's reader has errors.

/// The version of the format.
pub const VERSION: u32 = 3;

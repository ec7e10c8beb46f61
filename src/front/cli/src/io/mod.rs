//! Input and output of the commands.

pub(crate) mod escape;
pub(crate) mod failure;
pub(crate) mod input;
pub(crate) mod limits;
pub(crate) mod mapped;
pub(crate) mod output;
#[cfg(feature = "convert")]
pub(crate) mod progress;

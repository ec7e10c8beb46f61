//! The options of signatures, by which stacks are put into buckets.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How the signatures of stacks are made and shown.
#[derive(Args, Default)]
pub(crate) struct SignatureOptions {
    /// Prints the signature of each stack, which names the bucket of its fault: a hash, and the functions that count. `only`: one line
    /// for each stack, in place of its frames; of a report those of the threads that crashed
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "also")]
    pub(crate) signature: Option<SignatureShown>,
    /// File of rules for signatures, which outweigh the built-in ones (schema/signatures.md)
    #[arg(long, value_name = "FILE", requires = "signature", hide_short_help = true)]
    pub(crate) signature_rules: Option<PathBuf>,
}

/// Where signatures are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SignatureShown {
    /// After the frames
    Also,
    /// In place of the frames
    Only,
}

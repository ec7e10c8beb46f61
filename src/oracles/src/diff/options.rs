//! The options of a comparison.

use std::path::PathBuf;

use super::causes::Oracle;

/// The options of one comparison.
pub(crate) struct DiffOptions {
    pub(crate) addresses: usize,
    pub(crate) exhaustive: bool,
    pub(crate) columns: bool,
    pub(crate) seed: u64,
    pub(crate) oracles: Vec<Oracle>,
    pub(crate) examples: usize,
    pub(crate) at: Vec<u64>,
    pub(crate) arch: Option<String>,
    pub(crate) fsym: Option<PathBuf>,
    pub(crate) foldsym: Option<PathBuf>,
    pub(crate) convert: Vec<String>,
}

impl Default for DiffOptions {
    fn default() -> DiffOptions {
        DiffOptions {
            addresses: 20_000,
            exhaustive: false,
            columns: false,
            seed: 1,
            oracles: vec![Oracle::Llvm, Oracle::Addr2line],
            examples: 1,
            at: Vec::new(),
            arch: None,
            fsym: None,
            foldsym: None,
            convert: Vec::new(),
        }
    }
}

//! A place in the sequence of symbols that `train` compresses.

/// A symbol of the sequence, and the pair that it forms with the next one.
#[derive(Clone, Copy)]
pub(super) struct PairPlace {
    pub(super) symbol: u32,
    /// The number of the pair; 0 for no pair, or for one that occurs too rarely. For a fresh pair its hash, until it is counted.
    pub(super) pair: u32,
}

impl PairPlace {
    /// A place whose pair is not known yet.
    pub(super) fn of(symbol: u32) -> PairPlace {
        PairPlace { symbol, pair: 0 }
    }
}

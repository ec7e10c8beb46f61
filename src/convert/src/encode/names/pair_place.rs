//! A place of the text of names whose pairs become symbols.

/// A symbol of the text, and the pair that it makes with the next one.
#[derive(Clone, Copy)]
pub(super) struct PairPlace {
    pub(super) symbol: u32,
    /// The pair's number; 0 for none, or for one that occurs too seldom. A fresh pair's hash, until it is counted.
    pub(super) pair: u32,
}

impl PairPlace {
    /// A place whose pair is not known yet.
    pub(super) fn of(symbol: u32) -> PairPlace {
        PairPlace { symbol, pair: 0 }
    }
}

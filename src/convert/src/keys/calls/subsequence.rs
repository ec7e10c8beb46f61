//! Aligns two lists of calls when the shorter one is a subsequence of the longer.

/// Two calls that belong together: the index of each in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AlignedCalls {
    pub(crate) left: usize,
    pub(crate) right: usize,
}

/// Aligns two lists if the shorter one is a subsequence of the longer, and returns the pairs that every possible
/// alignment has. Empty if there is no alignment. For example, `ab` aligns with `aab` in two ways, and only the pair
/// of the `b`s is in both.
pub(crate) fn embed(left: usize, right: usize, same: impl Fn(usize, usize) -> bool) -> Vec<AlignedCalls> {
    let swapped = left > right;
    let (short, long) = (left.min(right), left.max(right));
    let same = |at: usize, other: usize| if swapped { same(other, at) } else { same(at, other) };
    let (mut first, mut last) = (Vec::with_capacity(short), Vec::with_capacity(short));
    // There may be exponentially many alignments. `first` takes the earliest partner of each call and `last` the latest, and
    // every alignment lies between them. Where they agree, all alignments do.
    let mut others = 0..long;
    for at in 0..short {
        let Some(other) = others.find(|&other| same(at, other)) else { return Vec::new() };
        first.push(other);
    }
    let mut others = (0..long).rev();
    for at in (0..short).rev() {
        let Some(other) = others.find(|&other| same(at, other)) else { return Vec::new() };
        last.push(other);
    }
    let pairs = first.into_iter().zip(last.into_iter().rev()).enumerate();
    let forced = pairs.filter(|(_, (first, last))| first == last);
    let aligned = |(at, (other, _))| match swapped {
        true => AlignedCalls { left: other, right: at },
        false => AlignedCalls { left: at, right: other },
    };
    forced.map(aligned).collect()
}

#[cfg(test)]
mod tests {
    use super::{AlignedCalls, embed};

    #[test]
    fn only_pairs_that_every_way_has_are_pairs() {
        for (left, right, expected) in [
            ("abc", "abc", vec![(0, 0), (1, 1), (2, 2)]),
            ("abc", "ab", vec![(0, 0), (1, 1)]),
            ("bc", "abc", vec![(0, 1), (1, 2)]),
            ("aa", "aa", vec![(0, 0), (1, 1)]),
            ("aab", "ab", vec![(2, 1)]),
            ("abab", "ab", vec![]),
            ("ab", "ba", vec![]),
            ("", "ab", vec![]),
        ] {
            let same = |at: usize, other: usize| left.as_bytes()[at] == right.as_bytes()[other];
            let expected: Vec<AlignedCalls> =
                expected.into_iter().map(|(left, right)| AlignedCalls { left, right }).collect();
            assert_eq!(embed(left.len(), right.len(), same), expected, "{left} {right}");
        }
    }
}

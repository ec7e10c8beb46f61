//! Finds, among ranges sorted by start, the last one that covers a place, in a time that does not grow with the number of ranges that
//! ended before it.

/// Ranges that share a maximum.
const FAN: usize = 64;

/// The latest ends of ranges that are sorted by start. The caller keeps the ends themselves.
pub(crate) struct LatestEnds {
    /// The latest end of each [`FAN`] ranges, then the latest of each [`FAN`] of those, and so on.
    levels: Vec<Vec<u64>>,
}

impl LatestEnds {
    /// For as many ranges as there are ends.
    pub(crate) fn new(ends: impl Iterator<Item = u64>) -> LatestEnds {
        let mut levels: Vec<Vec<u64>> = Vec::new();
        let mut below: Vec<u64> = Vec::new();
        for (at, end) in ends.enumerate() {
            match below.last_mut().filter(|_| at % FAN > 0) {
                Some(latest) => *latest = end.max(*latest),
                None => below.push(end),
            }
        }
        while below.len() >= FAN {
            let above = below.chunks(FAN).map(|ends| ends.iter().copied().max().unwrap_or(0)).collect();
            levels.push(std::mem::replace(&mut below, above));
        }
        levels.push(below);
        LatestEnds { levels }
    }

    /// The last of the first `count` ranges that ends after a place. `end_of`: the end of a range, by its index.
    pub(crate) fn last_after(
        &self,
        count: usize,
        place: u64,
        end_of: impl Fn(usize) -> u64,
    ) -> Option<usize> {
        let end = |level: usize, at: usize| match level {
            0 => end_of(at),
            _ => self.levels.get(level - 1).and_then(|ends| ends.get(at)).copied().unwrap_or(0),
        };
        // From the place back to the start of its block, then over blocks, each time of the next size.
        let (mut level, mut until) = (0, count);
        let mut found = loop {
            let start = until - until % FAN;
            if let Some(at) = (start..until).rev().find(|&at| end(level, at) > place) {
                break at;
            }
            // This block begins with the first range, so all ranges before the place were compared.
            if start == 0 {
                return None;
            }
            (level, until) = (level + 1, start / FAN);
        };
        while level > 0 {
            level -= 1;
            // All ranges of a block that was passed over are before `count`.
            found = (FAN * found..FAN * (found + 1)).rev().find(|&at| end(level, at) > place)?;
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::LatestEnds;

    #[test]
    fn the_last_range_that_ends_after_a_place() {
        // Sizes at the borders of blocks; ends that rise, fall and repeat.
        for count in [0_usize, 1, 2, 63, 64, 65, 128, 4095, 4096, 4097, 5000] {
            let ends: Vec<u64> = (0..count as u64).map(|at| (at * 7919) % 1009 / (1 + at % 5)).collect();
            let latest = LatestEnds::new(ends.iter().copied());
            for first in [0, 1, 63, 64, 65, count / 2, count.saturating_sub(1), count] {
                let first = first.min(count);
                for place in [0, 1, 100, 500, 900, 1000, 1008, 2000] {
                    let expected = ends[..first].iter().rposition(|end| *end > place);
                    let found = latest.last_after(first, place, |at| ends[at]);
                    assert_eq!(found, expected, "{count} ranges, {first} of them, after {place}");
                }
            }
        }
    }
}

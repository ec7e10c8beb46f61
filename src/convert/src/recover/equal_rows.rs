//! Pairs functions that symbols placed with line sequences that all have the same rows.

use crate::model::AddressRange;
use crate::recover::erased::Erased;
use crate::util::budget::Budget;
use crate::util::hash::HashMap;

/// Gives functions of one unit, each with its range, the sequences that are left of their unit there. If all of these have the same rows
/// and there are enough of them, it does not matter which function gets which. `kinds`: sequences by their rows, those of a kind in reverse
/// order; `range_of`: the range of each.
pub(super) fn pair(
    placed: impl Iterator<Item = (AddressRange, Erased)>,
    kinds: &[Vec<usize>],
    range_of: impl Fn(usize) -> AddressRange,
    steps: &Budget,
) -> Vec<(Erased, usize)> {
    let mut functions: HashMap<AddressRange, Vec<Erased>> = HashMap::default();
    for (range, at) in placed {
        functions.entry(range).or_default().push(at);
    }
    if functions.is_empty() || !steps.spend(kinds.len()) {
        return Vec::new();
    }
    // `None` if sequences of a range differ.
    let mut of_range: HashMap<AddressRange, Option<&[usize]>> = HashMap::default();
    for kind in kinds {
        if let Some(&first) = kind.first() {
            of_range.entry(range_of(first)).and_modify(|known| *known = None).or_insert(Some(kind));
        }
    }
    let mut ranges: Vec<(AddressRange, Vec<Erased>)> = functions.into_iter().collect();
    // Nothing may depend on the order of a hash map.
    ranges.sort_unstable();
    let mut pairs = Vec::new();
    for (range, functions) in ranges {
        if let Some(Some(kind)) = of_range.get(&range)
            && functions.len() <= kind.len()
        {
            pairs.extend(functions.into_iter().zip(kind.iter().rev().copied()));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ImageAddr, UnitId};

    #[test]
    fn only_equal_rows_are_given() {
        let range = |at: u64| AddressRange::new(ImageAddr(at), ImageAddr(at + 8));
        let erased = |index| Erased { unit: UnitId::new(0), index };
        // Sequences 0 and 1 at 0x10, with equal rows; 2 and 3 at 0x20, with different ones.
        let kinds = [vec![1, 0], vec![2], vec![3]];
        let range_of = |index: usize| range(if index < 2 { 0x10 } else { 0x20 });
        let pairs = |placed: &[(u64, usize)]| {
            let placed = placed.iter().map(|&(at, index)| (range(at), erased(index)));
            pair(placed, &kinds, range_of, &Budget::new(100))
        };
        assert_eq!(pairs(&[(0x10, 7), (0x10, 5)]), [(erased(7), 0), (erased(5), 1)]);
        assert_eq!(pairs(&[(0x20, 7)]), []);
        assert_eq!(pairs(&[(0x10, 7), (0x10, 5), (0x10, 6)]), []);
    }
}

//! Pairs functions with line sequences by the distance from a function's declaration to the nearest row of a sequence.
//!
//! Inlined code has rows, too. If `g` only calls `f`, and `f` is inlined there, the sequence of `g` has rows as near to the
//! declaration of `f` as the sequence of `f` itself has. So the nearest sequence is not always the function's own. A pair is
//! accepted if there is no reason for another pair:
//!
//! - each is the other's nearest, and no other is as near; or
//! - no other function fits the sequence, no sequence fits the function better, and no other sequence fits only this function.
//!
//! Accepted pairs are removed, and more pairs may then be acceptable among the rest. Sequences with the same rows (of instances
//! of one template) count as one sequence, which as many functions may have: it does not matter which function gets which.

use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// The steps that each turn takes for each fit: several hash lookups for the function and for the sequence.
const STEPS_A_FIT: usize = 16;

/// A function may have been compiled to a sequence of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    pub(crate) function: usize,
    /// The number of all sequences with these rows.
    pub(crate) sequence: usize,
    /// The lines from the declaration to the nearest row after it.
    pub(crate) distance: u32,
}

/// The least distance of the fits of a function or of a sequence, how many have it, and how many fits there are.
#[derive(Clone, Copy)]
struct Nearest {
    distance: u32,
    count: u32,
    fits: u32,
}

impl Nearest {
    fn add(nearest: &mut HashMap<usize, Nearest>, key: usize, distance: u32) {
        let known = nearest.entry(key).or_insert(Nearest { distance, count: 0, fits: 0 });
        known.fits += 1;
        if distance < known.distance {
            (known.distance, known.count) = (distance, 0);
        }
        known.count += u32::from(distance == known.distance);
    }
}

/// The accepted pairs (function, sequence). A function is in at most one pair, a sequence in at most as many as `room` says. Each
/// turn visits all remaining fits. If the steps run out, the remaining fits give no pairs.
pub(crate) fn pair(mut fits: Vec<Fit>, room: &mut [usize], steps: &Budget) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    while steps.spend(fits.len().saturating_mul(STEPS_A_FIT)) {
        let (mut functions, mut sequences) = (HashMap::default(), HashMap::default());
        for fit in &fits {
            Nearest::add(&mut functions, fit.function, fit.distance);
            Nearest::add(&mut sequences, fit.sequence, fit.distance);
        }
        // For each sequence, the number of its nearest functions that have no other sequence as near. For each function, the number
        // of sequences that fit it and no other function.
        let (mut agree, mut alone): (HashMap<usize, u32>, HashMap<usize, u32>) = Default::default();
        let mutual = |fit: &Fit| {
            let function: Nearest = functions[&fit.function];
            let nearest = fit.distance == function.distance && function.count == 1;
            nearest && fit.distance == sequences[&fit.sequence].distance
        };
        for fit in &fits {
            *agree.entry(fit.sequence).or_default() += u32::from(mutual(fit));
            *alone.entry(fit.function).or_default() += u32::from(sequences[&fit.sequence].fits == 1);
        }
        let sure = |fit: &&Fit| {
            let sequence = sequences[&fit.sequence];
            let all = agree[&fit.sequence] == sequence.count && sequence.count as usize <= room[fit.sequence];
            let nearest = fit.distance == functions[&fit.function].distance;
            (mutual(fit) && all) || (nearest && sequence.fits == 1 && alone[&fit.function] == 1)
        };
        let found: Vec<(usize, usize)> =
            fits.iter().filter(sure).map(|fit| (fit.function, fit.sequence)).collect();
        if found.is_empty() {
            break;
        }
        let done: HashSet<usize> = found.iter().map(|pair| pair.0).collect();
        found.iter().for_each(|pair| room[pair.1] = room[pair.1].saturating_sub(1));
        fits.retain(|fit| !done.contains(&fit.function) && room[fit.sequence] > 0);
        pairs.extend(found);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::{Budget, Fit, pair};

    fn of(fits: &[(usize, usize, u32)], mut room: [usize; 2]) -> Vec<(usize, usize)> {
        let fits = fits.iter().map(|&(function, sequence, distance)| Fit { function, sequence, distance });
        let mut pairs = pair(fits.collect(), &mut room, &Budget::new(1 << 16));
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn only_what_nothing_speaks_against_is_a_pair() {
        for (fits, expected) in [
            (&[(0, 0, 1), (0, 1, 20), (1, 1, 1)][..], vec![(0, 0), (1, 1)]),
            // Both functions fit both sequences equally well.
            (&[(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1)], vec![]),
            // Function 1 only calls function 0, which is inlined there: the sequence of 1 has rows of both.
            (&[(0, 0, 1), (0, 1, 1), (1, 1, 1)], vec![(0, 0), (1, 1)]),
            // Two sequences that fit only function 0: one of them belongs to a function without a row in its own file.
            (&[(0, 0, 1), (0, 1, 1)], vec![]),
            (&[(0, 0, 0), (0, 1, 1)], vec![(0, 0)]),
            // Sequence 0 fits only function 0, which another sequence fits better: sequence 0 belongs to an unknown function.
            (&[(0, 0, 5), (0, 1, 1), (1, 1, 1)], vec![]),
            (&[], vec![]),
        ] {
            assert_eq!(of(fits, [1, 1]), expected, "{fits:?}");
        }
    }

    #[test]
    fn sequences_with_the_same_rows_are_those_of_as_many_functions() {
        let same = [(0, 0, 1), (1, 0, 1)];
        assert_eq!(of(&same, [2, 0]), [(0, 0), (1, 0)]);
        assert_eq!(of(&same, [3, 0]), [(0, 0), (1, 0)]);
        assert_eq!(of(&same, [1, 0]), []);
        let other = [(0, 0, 1), (1, 0, 1), (2, 0, 5), (2, 1, 5)];
        assert_eq!(of(&other, [2, 1]), [(0, 0), (1, 0), (2, 1)]);
    }
}

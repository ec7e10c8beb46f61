//! Pairs functions with line sequences by how near the rows of each are to the declaration of each.
//!
//! What is inlined has rows as well: the sequence of `g` may hold rows of `f`, and where `g` is no more than a call of
//! `f`, as near to its declaration as those in the sequence of `f` itself. So the nearest is not always its own. A pair
//! counts if nothing speaks for another one:
//!
//! - each is the other's nearest, and nothing else is as near; or
//! - no other function fits the sequence, nothing fits the function better, and no other sequence fits it alone.
//!
//! What is paired is out of the way of the rest, which may then have such pairs too. Sequences with the same rows (those
//! of instances of one template) are one here, which as many functions may have: it does not matter which is whose.

use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// Steps of a turn, a fit: some lookups of both sides.
const STEPS_A_FIT: usize = 16;

/// A function may have been compiled to a sequence of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    pub(crate) function: usize,
    /// All sequences with these rows.
    pub(crate) sequence: usize,
    /// Lines from the declaration to the nearest row behind it.
    pub(crate) distance: u32,
}

/// The least distance, and how many have it.
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

/// The pairs (function, sequence) that nothing speaks against: each function in one, and each sequence in as many as
/// `room` says. Each turn is a walk over all fits that are left; what is left when no steps are has no pair.
pub(crate) fn pair(mut fits: Vec<Fit>, room: &mut [usize], steps: &Budget) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    while steps.spend(fits.len().saturating_mul(STEPS_A_FIT)) {
        let (mut functions, mut sequences) = (HashMap::default(), HashMap::default());
        for fit in &fits {
            Nearest::add(&mut functions, fit.function, fit.distance);
            Nearest::add(&mut sequences, fit.sequence, fit.distance);
        }
        // By sequence: functions that are its nearest, and that it alone is the nearest to. By function: sequences that
        // no other one fits.
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
            // Nothing tells the two apart.
            (&[(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1)], vec![]),
            // 1 is a call of 0, inlined: its sequence has rows of both, and 0 has no row before those.
            (&[(0, 0, 1), (0, 1, 1), (1, 1, 1)], vec![(0, 0), (1, 1)]),
            // Two sequences that only 0 fits: the body of another function has no row in its file.
            (&[(0, 0, 1), (0, 1, 1)], vec![]),
            (&[(0, 0, 0), (0, 1, 1)], vec![(0, 0)]),
            // A sequence of 0's that fits it less than another has: it is somebody else's.
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

//! Pairs functions with line sequences by the distance from a function's declaration to the nearest row of a sequence. A function
//! without a declaration has the distance from the first row of a sequence to a call in the function's body.
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

/// Where the source has a function, as far as its DIEs tell; `F` is the id of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourcePlace<F> {
    /// The file and line of its declaration.
    Declared(F, u32),
    /// The file and line in the DIE of a thunk into which no call was inlined. clang takes them from the method, and gives the thunk's
    /// rows line 0. So rows that are equally near to the method and to the thunk are the method's. gcc writes the thunk's own file and
    /// line, and gives its rows that line.
    BareThunk(F, u32),
    /// The file and line of the first call in its body that was inlined. At `-g1` clang describes only functions with such calls,
    /// and leaves out their declarations.
    Calls(F, u32),
    Unknown,
}

impl<F: Copy + PartialEq> SourcePlace<F> {
    /// The place of a function that is declared there, unless the line is 0. `is_bare_thunk`: it is a thunk into which no call was
    /// inlined. `call`: the first call that was inlined into it.
    pub(crate) fn of(
        is_bare_thunk: bool,
        declared: (Option<F>, u32),
        call: Option<(Option<F>, u32)>,
    ) -> SourcePlace<F> {
        match (declared, call) {
            ((Some(file), line), _) if line > 0 && is_bare_thunk => SourcePlace::BareThunk(file, line),
            ((Some(file), line), _) if line > 0 => SourcePlace::Declared(file, line),
            ((None, 0), Some((Some(file), line))) if line > 0 => SourcePlace::Calls(file, line),
            _ => SourcePlace::Unknown,
        }
    }

    /// How far a sequence of rows, each with its file and line, is from the function, in half lines: from the declaration to the
    /// nearest row at or after it, or from the first row to the call, if the sequence ends at or after its line. A bare thunk is half a
    /// line farther than a function that is declared on the same line. `None` if the sequence cannot be the function's.
    pub(crate) fn distance(self, mut rows: impl Iterator<Item = (F, u32)>) -> Option<u32> {
        let (lines, half) = match self {
            SourcePlace::Unknown => return None,
            SourcePlace::Declared(file, line) | SourcePlace::BareThunk(file, line) => {
                let of_file = rows.filter(|row| row.0 == file);
                let nearest = of_file.filter_map(|row| row.1.checked_sub(line)).min()?;
                (nearest, u32::from(matches!(self, SourcePlace::BareThunk(..))))
            }
            SourcePlace::Calls(file, line) => {
                let (_, begin) = rows.next().filter(|row| row.0 == file)?;
                let distance = line.checked_sub(begin)?;
                let reaches = begin == line || rows.any(|row| row.0 == file && row.1 >= line);
                (reaches.then_some(distance)?, 0)
            }
        };
        Some(lines.saturating_mul(2).saturating_add(half))
    }
}

/// A function may have been compiled to a sequence of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    pub(crate) function: usize,
    /// The number of all sequences with these rows.
    pub(crate) sequence: usize,
    /// See [`SourcePlace::distance`].
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

/// A function and the sequence that is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Paired {
    pub(crate) function: usize,
    /// As [`Fit::sequence`].
    pub(crate) sequence: usize,
}

/// The accepted pairs. A function is in at most one pair, a sequence in at most as many as `room` says. Each
/// turn visits all remaining fits. If the steps run out, the remaining fits give no pairs.
pub(crate) fn pair(mut fits: Vec<Fit>, room: &mut [usize], steps: &Budget) -> Vec<Paired> {
    let mut pairs: Vec<Paired> = Vec::new();
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
            // `room` is the number of equal sequences: if more functions are nearest than there are sequences, nothing says
            // which function has none.
            let all = agree[&fit.sequence] == sequence.count && sequence.count as usize <= room[fit.sequence];
            let nearest = fit.distance == functions[&fit.function].distance;
            (mutual(fit) && all) || (nearest && sequence.fits == 1 && alone[&fit.function] == 1)
        };
        let pair = |fit: &Fit| Paired { function: fit.function, sequence: fit.sequence };
        let found: Vec<Paired> = fits.iter().filter(sure).map(pair).collect();
        if found.is_empty() {
            break;
        }
        let done: HashSet<usize> = found.iter().map(|pair| pair.function).collect();
        found.iter().for_each(|pair| room[pair.sequence] = room[pair.sequence].saturating_sub(1));
        fits.retain(|fit| !done.contains(&fit.function) && room[fit.sequence] > 0);
        pairs.extend(found);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::{Budget, Fit, SourcePlace, pair};

    fn of(fits: &[(usize, usize, u32)], mut room: [usize; 2]) -> Vec<(usize, usize)> {
        let fits = fits.iter().map(|&(function, sequence, distance)| Fit { function, sequence, distance });
        let mut pairs = pair(fits.collect(), &mut room, &Budget::new(1 << 16));
        pairs.sort_unstable();
        pairs.into_iter().map(|pair| (pair.function, pair.sequence)).collect()
    }

    #[test]
    fn a_call_in_a_function_tells_how_near_a_sequence_is() {
        let near = |rows: &[(u8, u32)]| {
            SourcePlace::of(false, (None, 0), Some((Some(1), 20))).distance(rows.iter().copied())
        };
        assert_eq!(near(&[(1, 15), (2, 90), (1, 21)]), Some(10));
        assert_eq!(near(&[(1, 20)]), Some(0));
        // It ends before the call, begins behind it, or begins in another file.
        assert_eq!(
            [&[(1, 15), (1, 19)][..], &[(1, 21), (1, 22)], &[(2, 15), (1, 25)], &[]].map(near),
            [None; 4]
        );
        // A declaration counts for more than a call.
        assert_eq!(SourcePlace::of(false, (Some(1), 5), Some((Some(1), 20))), SourcePlace::Declared(1, 5));
        assert_eq!(SourcePlace::<u8>::of(false, (None, 0), None), SourcePlace::Unknown);
    }

    #[test]
    fn a_thunk_is_farther_than_its_method_and_nearer_than_other_functions() {
        let far = |is_bare_thunk, line| {
            let place = SourcePlace::of(is_bare_thunk, (Some(1), line), None);
            place.distance([(1, 0), (1, 5), (2, 3)].into_iter())
        };
        assert_eq!([far(false, 5), far(true, 5), far(false, 4)], [Some(0), Some(1), Some(2)]);
        assert_eq!(far(true, 6), None);
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

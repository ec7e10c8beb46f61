//! The limits of finding the callees of calls: what each bounds, and what is lost if a program reaches it. Those of objects are in
//! `objects/class_caps.rs`. [`crate::util::budget`] explains why there are limits.

use std::ops::RangeInclusive;

/// Steps for matching calls: calls of the functions of each group. Later calls have no keys and stay `ambiguous` (`cap_call_matching`).
pub(crate) const MAX_MATCHING_STEPS: u64 = 1 << 28;

/// Comparisons of names of members, for all groups, to find functions in whose place the linker chose another. Calls into groups that are
/// not compared get no keys from records (`cap_call_matching`).
pub(crate) const MAX_COMPARISONS: u64 = 1 << 24;

/// Mentions of functions that are compared with symbols: those of some million calls. Calls after them have no guess. It is not reported,
/// since a guess is no answer.
pub(crate) const MAX_MENTIONS: usize = 1 << 22;

/// Steps for comparing symbols with mentions, and the pairs that are compared between two anchors: a table of them takes 4 MB. Gaps with
/// more, and those after the last step, have no guesses. It is not reported either.
pub(crate) const MAX_GUESS_STEPS: u64 = 1 << 28;
pub(crate) const MAX_GAP: usize = 1 << 20;

/// How often the code of a program is read, on average, for guesses by the order of DIEs: once for each unit that describes a function. The
/// rest has no guesses. It is not reported either.
pub(crate) const MAX_READS: u64 = 64;

/// Of the functions of a group that kept their addresses, so many are asked for the addresses of calls. It is not reported: they have the same
/// code, so the first one with recorded calls serves.
pub(crate) const MAX_SURVIVORS: usize = 4;

/// The largest group whose members are compared with a plain name. A call into a larger group gets no key if its record has only a plain
/// name, or a plain name that a C++ member may share. Its answer stays `ambiguous`. It is not reported, since most groups of that size are
/// of functions like `~A` and `get`, of which several members have the name.
pub(crate) const MAX_COMPARED: usize = 64;

/// Places of a name that may be the digit of a constructor or destructor. A name with more is that of no known function. It is not
/// reported, since no compiler writes such a name.
pub(crate) const MAX_VARIANTS: usize = 64;

/// Functions visited to find what one function reaches by tail calls. If it reaches more, it counts as reaching unknown functions
/// (`cap_tail_functions`).
pub(crate) const MAX_REACH: usize = 64;

/// Steps for the tail calls of all functions together: calls, jumps and members of groups. Each function gets an equal share within the
/// bounds of [`TAIL_STEPS`]. A function that uses its share up counts as reaching unknown functions (`cap_tail_steps`).
pub(crate) const MAX_TAIL_STEPS: u64 = 1 << 33;
pub(crate) const TAIL_STEPS: RangeInclusive<u64> = 1 << 14..=1 << 22;

/// Steps for the types of calls through pointers: members of groups that have a type of a call. Later calls show no type, so that fewer
/// answers are `likely` (`cap_pointer_calls`).
pub(crate) const MAX_TYPE_STEPS: u64 = 1 << 26;

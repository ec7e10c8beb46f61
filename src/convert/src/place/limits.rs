//! The limits of deciding who owns code: what each bounds, and what is lost if a program reaches it.
//! [`crate::util::budget`] explains why there are limits.

/// Functions inlined into one function whose names are compared with names of symbols. More are not asked, and it is not reported: the
/// order of symbols may still show the function's name.
pub(crate) const MAX_INLINED_NAMES: usize = 16;

/// Names and functions of one plain name at one range. If there are more, none of these functions gets a mangled name, and each
/// name counts as that of a function without a DIE.
pub(crate) const MAX_OVERLOADS: usize = 64;

/// Members of all groups together, in proportion to the `ranges` of functions and symbols: a range that other ranges cut has a group for
/// each of its pieces. Later ranges of folded code name no function.
pub(crate) fn group_members(ranges: usize) -> usize {
    ranges.saturating_mul(8).clamp(1 << 18, 1 << 22)
}

/// Definitions of one name at one range that are kept apart. Further ones count as the first.
pub(crate) const MAX_DEFINITIONS: usize = 16;

/// Symbols at the start of a part that may name it. Later ones name no part.
pub(crate) const MAX_PARTS: usize = 4096;

/// Functions of a part that each of its symbols is compared with. A symbol of a later one may count as that of a further function.
pub(crate) const MAX_PARTS_NAMED: usize = 256;

/// Names at one address, and line sequences at one address, that are compared with each other. If there are more of either, no name has
/// lines.
pub(crate) const MAX_LINE_OWNERS: usize = 256;

/// Names of one hash that are compared, and dots of a name that are tried. Real names have fewer of both. Beyond the limit a name
/// counts as a function of its own.
pub(crate) const MAX_TRIED: usize = 64;

/// Bytes of code that only jumps to another function, or calls it and returns, including prologue and epilogue. Larger code counts
/// as a function that does more.
pub(crate) const MAX_THUNK: u64 = 512;

/// The same for a function that gcc replaced by a jump. Most other functions that gcc describes without an address are larger.
pub(crate) const MAX_JUMP: u64 = 128;

/// Units and functions, all together, that are compared with the names of functions that jump; for those of gcc and for those of LLVM,
/// each. Later functions that jump are taken to be merged without a comparison.
pub(crate) const MAX_THUNK_STEPS: u64 = 1 << 24;

/// Symbols at one address that are compared, to see whether all are of one function. If there are more, the code there counts as that of
/// several functions, of which one may jump. No compiler writes as many for one function: this only adds doubt, and is not reported.
pub(crate) const MAX_THUNK_NAMES: usize = 256;

/// Symbols that are compared with a second and further range at their address, where each may be an alias of a function there or a
/// function of its own; in proportion to the `symbols` of the program. Later symbols are compared with the first range at their
/// address only, and the other ranges are not certain to have all their functions.
pub(crate) fn symbols_compared_again(symbols: usize) -> u64 {
    (1 << 18).max(4 * symbols as u64)
}

/// Comparisons of such symbols with the functions of parts, and, counted apart, of functions that share an entry with those; in
/// proportion to the `symbols` of the program. One comparison may take microseconds for names that are local to functions. Later parts
/// are not certain to have all their functions.
pub(crate) fn part_comparisons(symbols: usize) -> u64 {
    (1 << 20).max(16 * symbols as u64)
}

/// Comparisons of the name of a function with the symbols at its address, to decide whether it is certain to be the only one there; in
/// proportion to the `items`, which are symbols and ranges of code. Later functions are not certain.
pub(crate) fn certainty_comparisons(items: usize) -> u64 {
    (1 << 18).max(16 * items as u64)
}

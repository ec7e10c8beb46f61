//! The limits of finding folded and merged functions: what each bounds, and what is lost if a program reaches it.
//! [`crate::util::budget`] explains why there are limits.

/// Definitions of one name that are kept apart. If a name has as many, all erased functions of that name count as copies, and none
/// is found by its lines (`cap_folded_definitions`).
pub(crate) const MAX_DEFINITIONS: usize = 8;

/// Functions at one address, and instances of one declaration in a unit, that are compared with a codeless function. At an address with
/// more functions none is placed (`cap_merged_together`), and further instances show no address (`cap_merged_instances`).
pub(crate) const MAX_HERE: usize = 256;

/// Units with a function at the start of a line sequence that are compared with it. If the section was folded into one of a later
/// unit, its sequence is not split.
pub(crate) const MAX_UNITS_THERE: usize = 64;

/// Functions and rows that are compared to find folded sections: some hundred times the number of a large program. Sequences that
/// are compared after them are not split.
pub(crate) const MAX_SECTION_STEPS: u64 = 1 << 26;

/// Folded functions of one name, folded functions of one unit and size, and sequences of one unit and size, that are compared with each
/// other. Later ones are not found.
pub(crate) const MAX_TOGETHER: usize = 1024;

/// Steps for comparing folded functions with symbols, sequences and rows: some hundred times the steps of RocksDB. Later functions
/// are not found.
pub(crate) const MAX_SEARCH_STEPS: u64 = 1 << 28;

/// Steps for the inlined code of all folded functions, each of which compares a row or a place; and steps of first attempts that reach
/// no result. Later functions have no inlined frames.
pub(crate) const MAX_INLINE_STEPS: u64 = 1 << 30;

/// Functions whose inlined code is looked for side by side, whatever the number of threads, and the steps of each attempt. Most need
/// few; a function that needs more is tried again. One that needs more than the last attempt allows has no inlined frames.
pub(crate) const INLINE_ROUNDS: [(usize, u64); 2] = [(4096, 1 << 18), (64, 1 << 24)];

/// Functions at one address that a function is compared with to find its twin. Later ones are not compared. A function that has no
/// inlined frames for this or another reason is reported as `lost_inlines`.
pub(crate) const MAX_TWINS: usize = 64;

/// Rows times nodes of the inline tree of one function. A function with more has inlined frames only if it has a twin.
pub(crate) const MAX_CELLS: usize = 1 << 22;

//! The limits of reading calls through tables of functions: what each bounds, and what is lost if a program reaches it.
//! [`crate::util::budget`] explains why there are limits.

/// Bytes of one function that are read to find such calls. Later calls do not show which word they go through (`cap_slot_code`).
pub(crate) const MAX_SLOT_CODE: u64 = 1 << 20;

/// Targets of forward jumps whose registers are kept until the code is read up to them. If a function has more at once, none of its
/// calls shows which word it goes through (`cap_slot_jumps`). It bounds the memory: the registers at one target take 256 bytes. The work
/// hardly grows with it: at each jump, one target is found in a tree, and one set of registers is copied or compared. Some functions of a
/// large ordinary library have over 512 targets at once.
pub(crate) const MAX_JOINS: usize = 4096;

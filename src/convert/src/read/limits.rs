//! The limits of reading: what each bounds, and what is lost if a program reaches it. [`crate::util::budget`] explains the numbers.

use crate::open::{DebugSection, DebugSections};

/// While headers, roots or classes are read, pages are released after this many units.
pub(crate) const UNITS_BETWEEN: usize = 32;

/// The same while functions are read, when less is kept in memory. RocksDB has 343 units.
pub(crate) const FUNCTION_UNITS_BETWEEN: usize = 256;

/// The most attributes of an abbreviation. Some forms take no bytes, so a tiny entry could have any number of attributes. The rest of a
/// unit behind an entry with more is not read.
pub(crate) const MAX_ATTRIBUTES: usize = 256;

/// The most functions, and the most sequences, of one unit at one address that are compared with each other. Without this limit a
/// hostile file could make the comparison take time quadratic in its size. Later functions have no lines, and no function has those of
/// later sequences. If functions name their sequences and there are more, each keeps the one that it names: that is not reported, since
/// only dsymutil and a damaged file name those of others.
pub(crate) const MAX_FOLDED: usize = 1024;

/// A unit may have this many rows per row of its line program before [`Limits::of_others`] counts. A row of the program
/// mostly belongs to one function, and inlined ranges may split it into a few.
pub(crate) const OWN_ROWS: usize = 8;

/// The limits of one unit.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Entries of range lists, and rows past [`OWN_ROWS`]. Other units may have the same lists.
    pub(crate) of_others: u64,
    /// Bytes of memory. If a unit needs more, reading stops and the program is refused.
    pub(crate) kept: u64,
}

/// Any number of DIEs may name the same long range list. All units together may have this many times the entries of all lists.
const LIST_COPIES: u64 = 4;

/// The most entries of range lists in sections of these lengths. An entry of `.debug_ranges` has at least two addresses of 4
/// bytes. An entry of `.debug_rnglists` has at least a kind and one byte.
pub(crate) fn held(ranges: usize, range_lists: usize) -> u64 {
    (ranges / 8 + range_lists / 2) as u64
}

/// The most entries of range lists in the sections of a file.
pub(crate) fn held_by_lists(sections: &DebugSections<'_>) -> u64 {
    held(sections.get(DebugSection::Ranges).len(), sections.get(DebugSection::RngLists).len())
}

/// The most entries of range lists that all units together may have.
pub(crate) fn allowed_entries(held: u64) -> u64 {
    held.saturating_mul(LIST_COPIES)
}

/// The most rows of one line program; further rows are dropped. It bounds memory to 400 MB. Time needs no bound, since a row
/// takes at least one byte of the program. All of RocksDB has a tenth of these rows.
pub(crate) const MAX_PROGRAM_ROWS: usize = 1 << 24;

/// The most rows of a unit. Functions may share a range, and each keeps its own rows, so there may be more rows than in the
/// line program: [`ROW_COPIES`] for each of its rows, between these two numbers. Later functions have no lines.
pub(crate) const MAX_UNIT_ROWS: usize = 1 << 24;
pub(crate) const MIN_UNIT_ROWS: usize = 1 << 18;
pub(crate) const ROW_COPIES: usize = 16;

/// A unit may visit as many entries of range lists as [`allowed_entries`] of its sections, between these two numbers. Later functions
/// have no code.
pub(crate) const MAX_RANGES: u64 = 1 << 22;
pub(crate) const MIN_RANGES: u64 = 1 << 16;
/// The ranges of its root that each unit may have where a line program is divided among units.
pub(crate) const MIN_OWNERS: u64 = 64;

/// The deepest inlining that is kept; the format's `max_depth` is at most this. Code of deeper calls counts as that of the caller.
pub(crate) const MAX_INLINED_DEPTH: u16 = 255;

/// The most links of a chain of origins that are followed. It also ends cycles. A function with a longer chain has no name.
pub(crate) const MAX_ORIGINS: usize = 64;

/// The most bytes of all file paths of a unit together: each path may repeat the same long directory. Later files are unknown.
pub(crate) const MAX_PATH_BYTES: usize = 1 << 24;

/// The most bytes of names that a unit may read: a number for each of its own bytes, and a floor. Any number of its entries may
/// refer to the same long string, or to parts of it. Later functions have no names.
pub(crate) const NAME_BYTES: u64 = 1 << 10;
pub(crate) const MIN_NAME_BYTES: u64 = 1 << 16;

/// The bytes of the name and of the folder of a unit, each, that are read; a longer one is cut (`cap_root_path_bytes`). Both are paths. A
/// million units may name the same long string, and each unit reads it.
pub(crate) const MAX_ROOT_TEXT: usize = 4096;

/// The most bytes of `DW_AT_producer` that are read: the compiler's name and its command line. If a text reaches the limit and is not gcc's,
/// the compiler counts as one that merges functions (`cap_producer_bytes`).
pub(crate) const MAX_PRODUCER: usize = 4096;

/// The most classes that are read from one unit. Objects of later classes do not show which method ran.
pub(crate) const MAX_CLASSES: usize = 1 << 16;

/// The most entries that are read in the classes of one unit. Without a limit, classes nested in classes would be read again
/// and again. The limit is a multiple of the unit's size, between these two numbers. Objects of later classes do not show which method
/// ran.
pub(crate) const MAX_MEMBERS: usize = 1 << 22;
pub(crate) const MEMBERS_A_BYTE: usize = 2;
pub(crate) const MIN_MEMBERS: usize = 1 << 16;

/// The most lanes of a thread. A larger number is not kept, and is not reported: no processor has as many.
pub(crate) const MAX_LANES: u64 = 1 << 16;

/// The most expressions, and entries of location lists, that are read in a unit. Later locations are left out.
pub(crate) const MAX_LOCATION_ENTRIES: usize = 1 << 20;

/// The most bytes of expressions that are kept for a unit. Later locations are left out.
pub(crate) const MAX_EXPRESSION_BYTES: usize = 1 << 24;

/// The most bytes of one expression. A location with a longer one is left out.
pub(crate) const MAX_LONG_EXPRESSION: usize = 1 << 16;

/// The most references of a unit's expressions. An expression with a later one has no value.
pub(crate) const MAX_EXPRESSION_REFERENCES: usize = 1 << 16;

/// The most slots of a package's index that are tried for one id. A table that is two thirds full needs a few dozen at most. A unit
/// beyond it counts as one that the package lacks.
pub(crate) const MAX_PROBES: u32 = 4096;

/// All units together may have this many times the bytes of `.debug_info.dwo` or `.debug_abbrev.dwo`. Real packages share at
/// most abbreviations. A hostile index that gave every unit the whole section would make reading take quadratic time. A package with more
/// is not used.
pub(crate) const MAX_UNIT_COPIES: u64 = 16;

/// The most columns of a package's index; the standards define 8. A package with more is not used.
pub(crate) const MAX_INDEX_COLUMNS: u32 = 64;

//! Section ids and the columns of the tables (schema, section 3).

use crate::{features, names, starts, table};

/// The id of a section, as the directory has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionId(pub u32);

macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident = $id:literal;)*) => {
        impl SectionId {
            $($(#[$doc])* pub const $name: Self = Self($id);)*

            /// All ids that this version knows, in order.
            pub const ALL: &[Self] = &[$(Self($id)),*];

            /// The section's name in `schema/`; "?" for an id that this version does not know.
            pub const fn name(self) -> &'static str {
                match self.0 {
                    $($id => stringify!($name),)*
                    _ => "?",
                }
            }
        }
    };
}

sections! {
    /// The program's build id or UUID.
    BUILD_ID = 1;
    /// Disjoint ranges of code, sorted: all columns but their starts.
    PIECES = 2;
    /// Functions with code.
    FUNCTIONS = 3;
    /// Subprograms as the source has them.
    ORIGINS = 4;
    /// Inlined calls as the source has them.
    EDGES = 5;
    /// Row records.
    ROWS = 6;
    /// Scope records.
    SCOPES = 7;
    /// Function names.
    NAMES = 8;
    /// Paths.
    FILES = 9;
    /// Functions that share one range of code.
    GROUPS = 10;
    /// The functions of the groups.
    MEMBERS = 11;
    /// Other names of functions.
    ALIASES = 12;
    /// The program's loaded sections.
    SECTIONS = 13;
    /// An `fst` map from names to functions.
    NAME_INDEX = 14;
    /// How the file was made.
    RECORD = 15;
    /// Callees of calls, by return address.
    CALLS = 16;
    /// Basic blocks, by address.
    BLOCKS = 17;
    /// Expressions of functions, and the data that they refer to.
    LOCATIONS = 18;
    /// The functions that functions reach by tail calls.
    TAILS = 19;
    /// Where pieces start.
    STARTS = 20;
    /// Which functions run on the objects of a class.
    VTABLES = 21;
    /// Calls through tables of functions.
    SLOTS = 22;
    /// Where basic blocks start, as [`Self::STARTS`].
    BLOCK_STARTS = 30;
    /// Which basic blocks belong together, and to which function.
    BLOCK_RANGES = 32;
    /// Which function has which expressions.
    LOCATED = 33;
    /// The loaded parts of the program's file, and their addresses.
    SEGMENTS = 34;
    /// Rows of call frame information.
    UNWIND = 35;
    /// Functions at words of tables of virtual functions.
    OVERRIDERS = 36;
    /// Calls of functions of other modules.
    IMPORTS = 38;
    /// Global variables.
    DATA = 39;
    /// Likely callees of calls that were not recorded.
    GUESSES = 40;
    /// Virtual calls with the set of functions that each may call.
    DISPATCHES = 41;
    /// The functions of these sets.
    TARGETS = 42;
}

impl SectionId {
    /// The names of the columns of a table in a file without optional columns, in order; empty for a
    /// section that is no table (or whose columns this version does not define).
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::PIECES => &["gap", "pad", "skip", "owner", "rows", "name"],
            Self::FUNCTIONS => &["origin", "scopes", "flags", "name", "aliases"],
            Self::ORIGINS => &["name", "file", "line", "edges"],
            Self::EDGES => &["callee", "line", "file"],
            Self::GROUPS => &["first"],
            Self::MEMBERS => &["function", "rows", "how", "name"],
            Self::ALIASES => &["name", "last"],
            Self::CALLS => &["address", "caller", "callee", "how"],
            Self::TAILS => &["function", "target"],
            Self::BLOCK_RANGES => &["first", "entry", "next", "shared", "id", "flags"],
            Self::VTABLES => &["point", "function", "slot", "doubtful"],
            Self::SLOTS => &["address", "slot"],
            Self::OVERRIDERS => &["slot", "function", "doubtful"],
            Self::GUESSES => &["address", "caller", "callee"],
            Self::DISPATCHES => &["address", "set", "how"],
            Self::TARGETS => &["set", "point", "function", "doubtful"],
            Self::IMPORTS => &["address", "name"],
            Self::DATA => &["address", "size", "name", "file", "line"],
            Self::LOCATED => &["function", "kind", "place", "unit"],
            _ => &[],
        }
    }

    /// How many columns the table has in a file with these features; 0 for a section that is no table.
    pub const fn column_count(self, feature_bits: u64) -> u8 {
        match self {
            Self::PIECES => pieces::COLUMNS,
            Self::FUNCTIONS => functions::COLUMNS,
            Self::ORIGINS => origins::COLUMNS,
            // Only EDGES changes with the feature: the columns of rows are in ROWS, which is no table.
            Self::EDGES if feature_bits & features::COLUMNS != 0 => edges::COLUMNS_WITH_COLUMN,
            Self::EDGES => edges::COLUMNS,
            Self::GROUPS => groups::COLUMNS,
            Self::MEMBERS => members::COLUMNS,
            Self::ALIASES => aliases::COLUMNS,
            Self::CALLS => calls::COLUMNS,
            Self::TAILS => tails::COLUMNS,
            Self::BLOCK_RANGES => block_ranges::COLUMNS,
            Self::VTABLES => vtables::COLUMNS,
            Self::SLOTS => slots::COLUMNS,
            Self::OVERRIDERS => overriders::COLUMNS,
            Self::GUESSES => guesses::COLUMNS,
            Self::DISPATCHES => dispatches::COLUMNS,
            Self::TARGETS => targets::COLUMNS,
            Self::IMPORTS => imports::COLUMNS,
            Self::DATA => data::COLUMNS,
            Self::LOCATED => located::COLUMNS,
            _ => 0,
        }
    }

    /// The first bytes of a section, which the directory repeats: opening reads only these, and need not touch the section. All bytes, if
    /// the section is shorter.
    pub fn head(self, section: &[u8]) -> &[u8] {
        let len = match self {
            Self::STARTS | Self::BLOCK_STARTS => starts::INDEX,
            Self::NAMES | Self::FILES => names::HEADER_LEN.min(section.len()),
            // To open a file, a reader needs only the places of these sections, so the directory repeats none of their bytes.
            _ if self.columns().is_empty() => 0,
            _ => table::HEADERS,
        };
        section.get(..len).unwrap_or(section)
    }
}

/// Columns of PIECES.
pub mod pieces {
    /// Bytes without an owner, from the end of the padding to the next piece.
    pub const GAP: usize = 0;
    /// Bytes of padding after the body.
    pub const PAD: usize = 1;
    /// Bytes from the true start of the function's range to this piece.
    pub const SKIP: usize = 2;
    /// `2 x function`, or `2 x group + 1`.
    pub const OWNER: usize = 3;
    /// Offset in ROWS, 0: none.
    pub const ROWS: usize = 4;
    /// 0: the function's own name; else 1 + name.
    pub const NAME: usize = 5;
    /// Number of columns.
    pub const COLUMNS: u8 = 6;
}

/// Columns of FUNCTIONS.
pub mod functions {
    /// Origin.
    pub const ORIGIN: usize = 0;
    /// Offset in SCOPES, 0: nothing is inlined.
    pub const SCOPES: usize = 1;
    /// Bits, see [`PARTIAL`] and [`REASON`].
    pub const FLAGS: usize = 2;
    /// Its name minus that of its origin; 0: the same.
    pub const NAME: usize = 3;
    /// 0: none; else 1 + index of the first in ALIASES. No lookup of frames reads it.
    pub const ALIASES: usize = 4;
    /// Number of columns.
    pub const COLUMNS: u8 = 5;
    /// Flag: the unit's `.dwo` was missing, inlined frames are unknown.
    pub const PARTIAL: u64 = 1 << 0;
    /// Lowest bit of a field of the flags: why it is not certain that the function is the only one of its code; 0: it is certain.
    pub const REASON: u32 = 1;
    /// Bits of that field.
    pub const REASON_BITS: u32 = 4;
    /// All flags that this version knows.
    pub const KNOWN: u64 = PARTIAL | ((1 << REASON_BITS) - 1) << REASON;
}

/// Columns of ORIGINS.
pub mod origins {
    /// Name, minus the number of the origin.
    pub const NAME: usize = 0;
    /// 0: unknown; else 1 + file.
    pub const FILE: usize = 1;
    /// Line of the declaration, 0: unknown.
    pub const LINE: usize = 2;
    /// Index of its first edge in EDGES, minus [`EDGES_EACH`] times the number of the origin.
    pub const EDGES: usize = 3;
    /// About as many edges as an origin has: both columns rise from record to record, and are stored as distances from a line.
    pub const EDGES_EACH: i64 = 2;
    /// Number of columns.
    pub const COLUMNS: u8 = 4;
}

/// Columns of EDGES.
pub mod edges {
    /// Origin.
    pub const CALLEE: usize = 0;
    /// Line of the call minus the line of the caller's declaration.
    pub const LINE: usize = 1;
    /// A file code, see [`crate::records::file_code`].
    pub const FILE: usize = 2;
    /// Column of the call, only with the feature `COLUMNS`.
    pub const COLUMN: usize = 3;
    /// Number of columns without the feature `COLUMNS`.
    pub const COLUMNS: u8 = 3;
    /// Number of columns with it.
    pub const COLUMNS_WITH_COLUMN: u8 = 4;
}

/// Columns of GROUPS.
pub mod groups {
    /// Index of the first member in MEMBERS.
    pub const FIRST: usize = 0;
    /// Number of columns.
    pub const COLUMNS: u8 = 1;
}

/// Columns of MEMBERS.
pub mod members {
    /// Function.
    pub const FUNCTION: usize = 0;
    /// Offset in ROWS, 0: none.
    pub const ROWS: usize = 1;
    /// How it was recovered.
    pub const HOW: usize = 2;
    /// 0: the function's own name; else 1 + name.
    pub const NAME: usize = 3;
    /// Number of columns.
    pub const COLUMNS: u8 = 4;
}

/// Columns of ALIASES.
pub mod aliases {
    /// Name.
    pub const NAME: usize = 0;
    /// 1 on the last alias of a function.
    pub const LAST: usize = 1;
    /// Number of columns.
    pub const COLUMNS: u8 = 2;
}

/// Columns of CALLS.
pub mod calls {
    /// Return address minus image_base.
    pub const ADDRESS: usize = 0;
    /// 0: the record holds for any caller; else 1 + the member of a group that makes this call.
    pub const CALLER: usize = 1;
    /// Function.
    pub const CALLEE: usize = 2;
    /// The record of the callee, see [`CALL_SITE`] and the others.
    pub const HOW: usize = 3;
    /// Number of columns.
    pub const COLUMNS: u8 = 4;
    /// The compiler recorded the call.
    pub const CALL_SITE: u64 = 0;
    /// The linker kept the relocation of the call.
    pub const RELOCATION: u64 = 1;
    /// The compiler recorded the call, and may have merged the callee with one that it replaced.
    pub const DOUBTFUL: u64 = 2;
    /// The linker kept the relocation of the call, and the compiler may have merged the callee with one that it replaced.
    pub const DOUBTFUL_RELOCATION: u64 = 3;
    /// The callee is probably this one, and nothing is ruled out.
    pub const UNPROVEN: u64 = 4;
    /// The compiler recorded the call, or the linker kept its relocation, in a unit of which gcc merged functions: the callee may stand for
    /// one that only a symbol names.
    pub const MERGED: u64 = 5;
    /// The compiler recorded the call without a linkage name: the callee is likely this one, and nothing is ruled out.
    pub const NAME_ALONE: u64 = 6;
}

/// Columns of TAILS.
pub mod tails {
    /// Function.
    pub const FUNCTION: usize = 0;
    /// 0: also functions that are not known; else 1 + function.
    pub const TARGET: usize = 1;
    /// Number of columns.
    pub const COLUMNS: u8 = 2;
}

/// Columns of BLOCK_RANGES.
pub mod block_ranges {
    /// Index of the first block.
    pub const FIRST: usize = 0;
    /// 0: the function begins with this range; else 1 + index of the range that it begins with.
    pub const ENTRY: usize = 1;
    /// 0: the function has no further range; else 1 + index of the next, in the compiler's order.
    pub const NEXT: usize = 2;
    /// 0: the range has blocks of its own; else it is one block of another function's range, 1 + its index.
    pub const SHARED: usize = 3;
    /// In a shared block: this function's number of it.
    pub const ID: usize = 4;
    /// In a shared block: its flags in this function.
    pub const FLAGS: usize = 5;
    /// Number of columns.
    pub const COLUMNS: u8 = 6;
}
/// Columns of VTABLES.
pub mod vtables {
    /// The value of an object's vtable pointer, minus image_base.
    pub const POINT: usize = 0;
    /// Function, of a group.
    pub const FUNCTION: usize = 1;
    /// 0: the record holds for any call; else 1 + the slot that the call goes through.
    pub const SLOT: usize = 2;
    /// 1: other functions of the group may have run; [`GUESSED`]: also, and of several functions this one comes first.
    pub const DOUBTFUL: usize = 3;
    /// In [`DOUBTFUL`]: a guess chooses this function of several.
    pub const GUESSED: i64 = 2;
    /// Number of columns.
    pub const COLUMNS: u8 = 4;
}

/// Columns of SLOTS.
pub mod slots {
    /// Return address minus image_base.
    pub const ADDRESS: usize = 0;
    /// Which word of a table of functions the call goes through, with [`BY_OBJECT`] or without.
    pub const SLOT: usize = 1;
    /// Number of columns.
    pub const COLUMNS: u8 = 2;
    /// The code takes the table's address from the beginning of an object: it is a table of virtual functions.
    pub const BY_OBJECT: i64 = 1 << 16;
    /// The bits of the word's number.
    pub const WORD: i64 = BY_OBJECT - 1;
}

/// Columns of OVERRIDERS.
pub mod overriders {
    /// Which word of a table.
    pub const SLOT: usize = 0;
    /// Function, of a group.
    pub const FUNCTION: usize = 1;
    /// 1: the word may also lead to other functions of the group.
    pub const DOUBTFUL: usize = 2;
    /// Number of columns.
    pub const COLUMNS: u8 = 3;
}

/// Columns of DISPATCHES.
pub mod dispatches {
    /// Return address minus image_base.
    pub const ADDRESS: usize = 0;
    /// The number of a set of TARGETS.
    pub const SET: usize = 1;
    /// How the set is known: [`METHOD`] or [`TYPE`].
    pub const HOW: usize = 2;
    /// Number of columns.
    pub const COLUMNS: u8 = 3;

    /// The compiler recorded the method of the static class.
    pub const METHOD: u64 = 0;
    /// The compiler recorded the types of the functions that such calls call.
    pub const TYPE: u64 = 1;
}

/// Columns of TARGETS.
pub mod targets {
    /// The number of the set.
    pub const SET: usize = 0;
    /// 0: on any object; else 1 + vtable pointer minus image_base.
    pub const POINT: usize = 1;
    /// Function, of a group.
    pub const FUNCTION: usize = 2;
    /// 1: other functions of its group may run; else 0.
    pub const DOUBTFUL: usize = 3;
    /// Number of columns.
    pub const COLUMNS: u8 = 4;
}

/// Columns of GUESSES.
pub mod guesses {
    /// Return address minus image_base.
    pub const ADDRESS: usize = 0;
    /// Function, of a group with the call in its code, plus 1; 0: any function that has the code.
    pub const CALLER: usize = 1;
    /// Function, of a group.
    pub const CALLEE: usize = 2;
    /// Number of columns.
    pub const COLUMNS: u8 = 3;
}

/// Columns of IMPORTS.
pub mod imports {
    /// Return address minus image_base.
    pub const ADDRESS: usize = 0;
    /// Name.
    pub const NAME: usize = 1;
    /// Number of columns.
    pub const COLUMNS: u8 = 2;
}

/// Columns of DATA.
pub mod data {
    /// Address minus image_base.
    pub const ADDRESS: usize = 0;
    /// Bytes; 0: unknown.
    pub const SIZE: usize = 1;
    /// Name.
    pub const NAME: usize = 2;
    /// 0: unknown; else 1 + file.
    pub const FILE: usize = 3;
    /// Line of the declaration; 0: unknown.
    pub const LINE: usize = 4;
    /// Number of columns.
    pub const COLUMNS: u8 = 5;
}

/// Limits of SEGMENTS.
pub mod segments {
    /// The most segments of a file: a reader that looks for a file offset reads them all. ELF numbers 65,535 without an extension.
    pub const MAX: u32 = 1 << 16;
}

/// Columns of LOCATED.
pub mod located {
    /// Function.
    pub const FUNCTION: usize = 0;
    /// The kind, see [`LANES`] and the others.
    pub const KIND: usize = 1;
    /// Offset of the list in LOCATIONS; of [`LANES`] the number itself.
    pub const PLACE: usize = 2;
    /// Offset of the unit in LOCATIONS; of [`LANES`] 0.
    pub const UNIT: usize = 3;
    /// Number of columns.
    pub const COLUMNS: u8 = 4;
    /// How many lanes a thread has.
    pub const LANES: u64 = 0;
    /// The lanes that execute.
    pub const ACTIVE_LANE: u64 = 1;
    /// The program counter of each lane.
    pub const LANE_PC: u64 = 2;
    /// Where the pointer to a method's object is.
    pub const OBJECT: u64 = 3;
    /// The base of `DW_OP_fbreg`.
    pub const FRAME_BASE: u64 = 4;
    /// Its calls of callees that the compiler did not know, each by the byte before the return address; the unit is 0.
    pub const UNKNOWN_CALLS: u64 = 5;
}

//! Decides whether a further symbol at the address of a function is an alias of the function, or the name of a second
//! function that was folded into it.
//!
//! `entry_symbols` compares the symbols at an entry with the functions that DIEs describe there. A variant of a mangled name (`C1`, `C2`)
//! is an alias at once, and so is the symbol of a clone if the function has a symbol already. `decision` decides for each symbol
//! that no DIE explains. `entry_symbols` calls it for entries, `part_owners` for parts of functions, `symbol_ranges` for code without a
//! DIE, and `thunks` for jumps that a compiler may have left of merged functions. `folding_evidence` has the facts about the program.
//!
//! If the linker folds nothing, every further unmangled name is an alias: glibc has `read` and `__read` at one
//! address. If it folds, any of these shows that the name is a function of its own:
//!
//! - All functions described at the address were erased, so no DIE describes the survivor.
//! - A unit has a line sequence of exactly this range and no function for it (`-g1` describes no more).
//! - The symbol table gives another source file for the symbol than the functions there have.
//! - A function of this name and size was erased and is at no other address.
//!
//! Otherwise the name may be a folded function, and the answer is ambiguous, if two things hold: the program shows
//! that the linker folded something, and some objects have no unit (they were built without `-g`). If units describe
//! every object, each function has a DIE, and a name without a DIE is an alias.
//!
//! Mach-O has no aliases: a name is a function of its own unless a DIE explains it, and so is each of several names
//! of code that no DIE describes. If the linker is not known, a call must name the function as well. Assembly code
//! may leave out the size and the type of a function: a symbol without a size is taken to have the size of the
//! function at its address. A resolver that chooses a function at start-up (`STT_GNU_IFUNC`) has no code of its own.
//!
//! gcc merges functions itself, whatever the linker: a function that gcc describes without code is no alias of
//! another function of its unit.

mod decision;
mod entry_symbols;

pub(crate) use decision::{
    DescribedFunctions, is_own_function_of_part, is_own_function_without_die, may_be_merged_away,
};
pub(crate) use entry_symbols::{
    EntryMembers, SymbolMatch, adopt_unclaimed_symbol, assign_clones, classify_symbols, fits,
    place_unexplained,
};

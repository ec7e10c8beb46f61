//! The order policy: in which order the functions of one object stand among its DIEs, and in which among its symbols.
//!
//! | tool | DIEs | symbols |
//! |---|---|---|
//! | clang at `-g1` | where a function is first mentioned: called, or defined | the same |
//! | gcc | reversed | where it is defined |
//! | lld, mold | those of each object as they were, objects in the order of the link | the same; local symbols first |
//! | gold, GNU ld | the same | none |
//!
//! A symbol that several objects define stands where the first object that mentions it stands.

use crate::model::UnitHead;
use crate::open::Linker;

/// True if the DIEs of a unit and the symbols of its functions stand in one order. `line_tables`: the unit's compiler described lines
/// alone (`-g1`).
pub(crate) fn symbols_follow_dies(unit: &UnitHead<'_>, line_tables: bool, linker: Linker) -> bool {
    // What merges functions and does not describe them is LLVM. Other compilers that use it (rustc, Swift) write linkage names.
    keeps_order(linker) && line_tables && unit.may_merge() && unit.rewrites.is_none()
}

/// True if a linker leaves the symbols of an object in their order.
pub(crate) fn keeps_order(linker: Linker) -> bool {
    matches!(linker, Linker::MayFold | Linker::MayFoldAndLocalize | Linker::MayFoldAndDrop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_linkers_that_keep_the_order_of_objects_and_clang_have_one_order() {
        let clang = UnitHead::default();
        let gcc = UnitHead { keeps_callees: true, ..UnitHead::default() };
        for (linker, follow) in [
            (Linker::MayFold, true),
            (Linker::MayFoldAndLocalize, true),
            (Linker::MayFoldAndForget, false),
            (Linker::NeverFolds, false),
        ] {
            assert_eq!(symbols_follow_dies(&clang, true, linker), follow, "{linker:?}");
            assert!(!symbols_follow_dies(&gcc, true, linker), "{linker:?}");
            assert!(!symbols_follow_dies(&clang, false, linker), "{linker:?}");
        }
    }
}

//! The order policy: in which order the functions of one object stand among its DIEs, and in which among its symbols.
//!
//! | tool | DIEs | symbols |
//! |---|---|---|
//! | clang at `-g1` | where a function is first mentioned: called, or defined | the same, but by the order of the code |
//! | gcc | reversed | where it is defined |
//! | lld, mold | those of each object as they were, objects in the order of the link | the same; local symbols first |
//! | gold, GNU ld | the same | none |
//!
//! lld lists hidden symbols, which it makes local, after the other local symbols of their file. mold makes any symbol of a program local.
//! A symbol that several objects define stands where the first object that mentions it stands.

use crate::model::UnitHead;
use crate::open::{Format, Linker};

/// True if the DIEs of a unit and the symbols of its functions mostly stand in one order. They do not where clang moves a call in the code
/// of its caller, or where another object mentions the function first. `line_tables`: the unit's compiler described lines alone (`-g1`).
pub(crate) fn symbols_follow_dies(unit: &UnitHead<'_>, line_tables: bool) -> bool {
    // What merges functions and does not describe them is LLVM. Other compilers that use it (rustc, Swift) write linkage names.
    line_tables && unit.may_merge() && unit.rewrites.is_none()
}

/// True if a linker leaves the symbols of an object in their order. (Nobody has looked at linkers of Mach-O.)
pub(crate) fn keeps_order(format: Format, linker: Linker) -> bool {
    format == Format::Elf
        && matches!(linker, Linker::MayFold | Linker::MayFoldAndLocalize | Linker::MayFoldAndDrop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linkers_that_keep_the_order_of_symbols() {
        for (format, linker, keeps) in [
            (Format::Elf, Linker::MayFold, true),
            (Format::Elf, Linker::MayFoldAndLocalize, true),
            (Format::Elf, Linker::MayFoldAndForget, false),
            (Format::Elf, Linker::NeverFolds, false),
            (Format::MachO, Linker::MayFold, false),
        ] {
            assert_eq!(keeps_order(format, linker), keeps, "{linker:?}");
        }
    }

    #[test]
    fn only_units_of_clang_at_g1_have_one_order() {
        let gcc = UnitHead { keeps_callees: true, ..UnitHead::default() };
        assert!(symbols_follow_dies(&UnitHead::default(), true));
        assert!(!symbols_follow_dies(&UnitHead::default(), false) && !symbols_follow_dies(&gcc, true));
    }
}

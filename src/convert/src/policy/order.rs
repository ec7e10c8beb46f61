//! The order policy: in which order the functions of one object stand among its DIEs, and in which among its symbols.
//!
//! | tool | DIEs | symbols |
//! |---|---|---|
//! | clang at `-g1` | where a function is first mentioned: called, or defined | the same, but by the order of the code |
//! | gcc | reversed: functions that the source defines, then instances of templates where they are first mentioned | where it is emitted: functions before their callers, mostly in the reverse order of the DIEs |
//! | lld, mold | those of each object as they were, objects in the order of the link | the same; local symbols first |
//! | gold, GNU ld | the same | none |
//!
//! lld lists hidden symbols, which it makes local, after the other local symbols of their file. mold makes any symbol of a program local.
//! A symbol that several objects define stands where the first object that mentions it stands.

use crate::model::UnitHead;

/// True if the DIEs of a unit and the symbols of its functions mostly stand in one order. They do not where clang moves a call in the code
/// of its caller, or where another object mentions the function first. `line_tables`: the unit's compiler described lines alone (`-g1`).
pub(crate) fn symbols_follow_dies(unit: &UnitHead<'_>, line_tables: bool) -> bool {
    // What merges functions and does not describe them is LLVM. Other compilers that use it (rustc, Swift) write linkage names.
    line_tables && unit.may_merge() && unit.rewrites.is_none()
}

/// How the symbols of the functions of a unit mostly stand to its DIEs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DieOrder {
    Same,
    Reversed,
}

/// The order of DIEs in which the symbols of functions stand that differ in nothing else, as measured with clang at `-g1`, and with gcc at
/// `-g1` and `-O0`. `None` for other compilers; for clones of gcc with inlined code (`has_clones`: `f.isra.0`), which are made later, in another order; and
/// for units of gcc that record calls (`records_calls`), since a name by order makes the calls of its function uncertain.
pub(crate) fn order_of_symbols(
    unit: &UnitHead<'_>,
    line_tables: bool,
    records_calls: bool,
    has_clones: bool,
) -> Option<DieOrder> {
    match unit.keeps_callees {
        true => (!records_calls && !has_clones).then_some(DieOrder::Reversed),
        false => symbols_follow_dies(unit, line_tables).then_some(DieOrder::Same),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_units_of_clang_at_g1_have_one_order() {
        let gcc = UnitHead { keeps_callees: true, ..UnitHead::default() };
        assert!(symbols_follow_dies(&UnitHead::default(), true));
        assert!(!symbols_follow_dies(&UnitHead::default(), false) && !symbols_follow_dies(&gcc, true));
        let order = |unit: &UnitHead<'_>, [line_tables, records_calls, has_clones]: [bool; 3]| {
            order_of_symbols(unit, line_tables, records_calls, has_clones)
        };
        let clang = UnitHead::default();
        assert_eq!(order(&clang, [true, true, false]), Some(DieOrder::Same));
        assert_eq!(order(&clang, [false; 3]), None);
        assert_eq!(order(&gcc, [false; 3]), Some(DieOrder::Reversed));
        assert_eq!(order(&gcc, [false, true, false]), None);
        assert_eq!(order(&gcc, [false, false, true]), None);
    }
}

//! Decides which line sequence of a range belongs to which function there, if no DIE describes these functions.
//!
//! clang at `-g1` describes no function into which it inlined nothing. Of such a folded function only its symbol and its line sequence
//! remain, and no record joins the two. Two facts do:
//!
//! - *Equal lines.* All sequences of the range have the same lines, as instances of one template do. Each function that has a sequence
//!   has these lines.
//! - *Order.* clang emits the functions of an object in the order in which it first mentions them, and makes their symbols in the same
//!   order. Example: the unit has sequences with lines 7, 9 and 12 at 0x2000, and its symbols there are `f`, `g` and `h` in this order. So
//!   the lines of `g` are probably those from line 9 on. That is a guess ([`How::SymbolOrder`]).
//!
//! By order alone, a symbol that other objects know proves less: the first object that mentions it decides where it stands
//! ([`crate::policy::order`]). Objects that use an inline function or an instance of a template all define it, so the first one that
//! mentions it is also the one whose copy stayed. Other functions are defined once: the order counts if only their own unit has
//! sequences here.

use crate::members::ties::{TiedDescription, TiedSymbol, by_order};
use crate::model::{How, UnitId};
use crate::util::hash::{HashMap, HashSet};

/// A line sequence of the range that no described function has.
#[derive(Clone, Copy)]
pub(crate) struct FreeSequence<'u> {
    pub(crate) unit: UnitId,
    /// The base name of the unit's file.
    pub(crate) file: &'u [u8],
    /// The compiler emits functions in the order in which it makes their symbols.
    pub(crate) in_order: bool,
}

/// A function that only a symbol names.
#[derive(Clone, Copy)]
pub(crate) struct NamedFunction<'s> {
    pub(crate) symbol: TiedSymbol<'s>,
    /// The symbol is weak: each object that uses the function defines it.
    pub(crate) weak: bool,
}

/// By function: the index of its sequence, and how the sequence is known to be its own. `sequences`: by unit, of a unit in the order of its
/// line program. `equal`: all of them have the same lines, of the same files. The linker must have kept the symbols of all functions, and clang
/// must have compiled all units: gcc merges functions and leaves one sequence for several symbols.
pub(crate) fn owners(
    sequences: &[FreeSequence<'_>],
    functions: &[NamedFunction<'_>],
    equal: bool,
) -> Vec<Option<(usize, How)>> {
    let nothing = vec![None; functions.len()];
    if equal {
        // With fewer sequences than functions one of them has no debug information.
        if sequences.len() < functions.len() {
            return nothing;
        }
        let files: HashSet<&[u8]> = sequences.iter().map(|sequence| sequence.file).collect();
        let is_possible =
            |function: &NamedFunction<'_>| function.symbol.file.is_none_or(|file| files.contains(file));
        // It does not matter which function has which.
        let own = |(at, function)| is_possible(function).then_some((at, How::SymbolOnly));
        return functions.iter().enumerate().map(own).collect();
    }
    if sequences.len() != functions.len() || !are_in_order(sequences, functions) {
        return nothing;
    }
    let descriptions: Vec<TiedDescription> = (0..)
        .zip(sequences)
        .map(|(at, sequence)| TiedDescription { unit: sequence.unit, place: at })
        .collect();
    let symbols: Vec<TiedSymbol<'_>> = functions.iter().map(|function| function.symbol).collect();
    let files: HashMap<UnitId, &[u8]> =
        sequences.iter().map(|sequence| (sequence.unit, sequence.file)).collect();
    let mut owners = nothing;
    for (sequence, function) in by_order(&descriptions, &symbols, |unit| files[&unit]) {
        owners[function] = Some((sequence, How::SymbolOrder));
    }
    owners
}

/// True if symbols and sequences stand in one order.
fn are_in_order(sequences: &[FreeSequence<'_>], functions: &[NamedFunction<'_>]) -> bool {
    if !sequences.iter().all(|sequence| sequence.in_order) {
        return false;
    }
    // By file: its sequences, and its local symbols. A file with functions of both kinds has two lists of symbols, and nothing shows how
    // its sequences are to be divided.
    let mut of_file: HashMap<&[u8], (usize, usize)> = HashMap::default();
    for sequence in sequences {
        of_file.entry(sequence.file).or_default().0 += 1;
    }
    for file in functions.iter().filter_map(|function| function.symbol.file) {
        match of_file.get_mut(file) {
            Some((_, local)) => *local += 1,
            None => return false,
        }
    }
    let one_list = of_file.values().all(|(all, local)| *local == 0 || local == all);
    let one_unit = sequences.iter().all(|sequence| sequence.unit == sequences[0].unit);
    let defined_once = |function: &NamedFunction<'_>| function.symbol.file.is_none() && !function.weak;
    one_list && (one_unit || !functions.iter().any(defined_once))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(unit: u32, file: &[u8]) -> FreeSequence<'_> {
        FreeSequence { unit: UnitId::new(unit), file, in_order: true }
    }

    fn function(file: Option<&[u8]>, order: u32, weak: bool) -> NamedFunction<'_> {
        NamedFunction { symbol: TiedSymbol { file, order }, weak }
    }

    #[test]
    fn equal_lines_are_those_of_each_function_that_has_any() {
        let sequences = [sequence(0, b"a.cc"), sequence(0, b"a.cc")];
        let functions = [function(None, 4, false), function(None, 2, false), function(None, 3, false)];
        let own = |at| Some((at, How::SymbolOnly));
        assert_eq!(owners(&sequences, &functions[..2], true), [own(0), own(1)]);
        assert_eq!(owners(&sequences, &functions, true), [None; 3]);
        assert_eq!(owners(&[], &functions, true), [None; 3]);
        // A local function of another file.
        assert_eq!(owners(&sequences, &[function(Some(b"b.cc"), 1, false)], true), [None]);
    }

    #[test]
    fn different_lines_follow_the_order_of_symbols() {
        let by_order = |at: usize| Some((at, How::SymbolOrder));
        let one = [sequence(0, b"a.cc"), sequence(0, b"a.cc")];
        let functions = [function(None, 9, false), function(None, 5, false)];
        assert_eq!(owners(&one, &functions, false), [by_order(1), by_order(0)]);
        assert_eq!(owners(&one[..1], &functions, false), [None; 2]);
        // Another object may mention the function of the second unit first.
        let two = [sequence(0, b"a.cc"), sequence(1, b"b.cc")];
        assert_eq!(owners(&two, &functions, false), [None; 2]);
        let weak = functions.map(|function| NamedFunction { weak: true, ..function });
        assert_eq!(owners(&two, &weak, false), [by_order(1), by_order(0)]);
        let local = [function(Some(b"b.cc"), 1, false), function(Some(b"a.cc"), 2, false)];
        assert_eq!(owners(&two, &local, false), [by_order(1), by_order(0)]);
        // A local function and one of all objects, in one file.
        let mixed = [function(Some(b"a.cc"), 1, false), function(None, 2, true)];
        assert_eq!(owners(&one, &mixed, false), [None; 2]);
        let unordered = one.map(|sequence| FreeSequence { in_order: false, ..sequence });
        assert_eq!(owners(&unordered, &functions, false), [None; 2]);
    }
}

//! Resolves ties by the names of inlined code, or by order.
//!
//! A *tie* is a set of descriptions and a set of symbols at one range, of which any may belong to any. Example: at `-g1` clang describes
//! `Queue<Car>::add` and `Queue<Bus>::add` as `add` and `add`, and the linker folded the two. The symbols `_ZN5QueueI3CarE3addEPS0_` and
//! `_ZN5QueueI3BusE3addEPS0_` show that both functions are there. If `link<Car>` is inlined into one and `link<Bus>` into the other, these
//! names show which DIE is which function. Else only the order of DIEs and symbols does ([`crate::policy::order`]).

use crate::model::{DieOffset, UnitId};
use crate::policy::order::DieOrder;
use crate::util::hash::{HashMap, HashSet};

/// A description of a tie: its unit, and its place among the descriptions of the unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TiedDescription {
    pub(crate) unit: UnitId,
    pub(crate) place: u64,
}

impl TiedDescription {
    /// The description by a DIE, in a unit whose symbols stand in this order of its DIEs.
    pub(crate) fn of_die(unit: UnitId, die: DieOffset, order: DieOrder) -> Self {
        let place = match order {
            DieOrder::Same => die.0,
            DieOrder::Reversed => u64::MAX - die.0,
        };
        TiedDescription { unit, place }
    }
}

/// A symbol of a tie.
#[derive(Clone, Copy)]
pub(crate) struct TiedSymbol<'s> {
    /// The base name of the file of a local symbol; `None` for one that the whole program knows.
    pub(crate) file: Option<&'s [u8]>,
    /// Its place in the symbol table.
    pub(crate) order: u32,
}

/// Pairs descriptions with symbols, each by its index. A description belongs to the symbol with which it alone shares words that no other
/// symbol has. `None` unless that gives each description a symbol of its own. `descriptions`: the words of the names of inlined functions.
pub(crate) fn by_words(
    descriptions: &[HashSet<&str>],
    symbols: &[HashSet<&str>],
) -> Option<Vec<(usize, usize)>> {
    // By word: the only symbol that has it.
    let mut only: HashMap<&str, Option<usize>> = HashMap::default();
    for (at, words) in symbols.iter().enumerate() {
        for word in words {
            only.entry(word).and_modify(|known| *known = None).or_insert(Some(at));
        }
    }
    let mut taken = HashSet::default();
    let pair = |(at, words): (usize, &HashSet<&str>)| {
        let mut found = words.iter().filter_map(|word| *only.get(word)?);
        let symbol = found.next()?;
        (found.all(|other| other == symbol) && taken.insert(symbol)).then_some((at, symbol))
    };
    descriptions.iter().enumerate().map(pair).collect()
}

/// The words of a readable name.
pub(crate) fn words(readable: &str) -> HashSet<&str> {
    let all = readable.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    all.filter(|word| !word.is_empty()).collect()
}

/// Pairs descriptions with symbols, each by its index. `file` is the base name of a unit's file. If there are more of one kind, the
/// last ones of it stay without a partner.
pub(crate) fn by_order<'u>(
    descriptions: &[TiedDescription],
    symbols: &[TiedSymbol<'_>],
    file: impl Fn(UnitId) -> &'u [u8],
) -> Vec<(usize, usize)> {
    let mut places: Vec<usize> = (0..descriptions.len()).collect();
    places.sort_by_key(|&at| descriptions[at]);
    let mut by_place: Vec<usize> = (0..symbols.len()).collect();
    by_place.sort_by_key(|&at| symbols[at].order);
    let mut local: HashMap<&[u8], std::collections::VecDeque<usize>> = HashMap::default();
    let mut global = Vec::new();
    for at in by_place {
        match symbols[at].file {
            Some(file) => local.entry(file).or_default().push_back(at),
            None => global.push(at),
        }
    }
    let mut pairs = Vec::new();
    let mut rest = Vec::new();
    for at in places {
        match local.get_mut(file(descriptions[at].unit)).and_then(|own| own.pop_front()) {
            Some(symbol) => pairs.push((at, symbol)),
            None => rest.push(at),
        }
    }
    pairs.extend(rest.into_iter().zip(global));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(unit: u32, die: u64) -> TiedDescription {
        TiedDescription::of_die(UnitId::new(unit), DieOffset(die), DieOrder::Same)
    }

    #[test]
    fn local_symbols_are_those_of_the_units_of_their_file() {
        let descriptions =
            [description(1, 0x40), description(0, 0x90), description(0, 0x30), description(1, 0x60)];
        let symbol = |file, order| TiedSymbol { file, order };
        let symbols = [symbol(None, 9), symbol(Some(&b"b.cc"[..]), 4), symbol(None, 7), symbol(None, 8)];
        let file = |unit: UnitId| if unit == UnitId::new(0) { &b"a.cc"[..] } else { b"b.cc" };
        let mut pairs = by_order(&descriptions, &symbols, file);
        pairs.sort_unstable();
        // Those of a.cc come first, in the order of their DIEs: 0x30, 0x90.
        assert_eq!(pairs, [(0, 1), (1, 3), (2, 2), (3, 0)]);
    }

    #[test]
    fn the_last_ones_of_the_longer_list_have_no_partner() {
        let symbols = [3, 1].map(|order| TiedSymbol { file: None, order });
        let all = [description(0, 5), description(0, 1), description(0, 3)];
        let mut pairs = by_order(&all, &symbols, |_| b"");
        pairs.sort_unstable();
        assert_eq!(pairs, [(1, 1), (2, 0)]);
        assert_eq!(by_order(&all[..1], &symbols, |_| b""), [(0, 1)]);
        let reversed =
            [1, 3].map(|die| TiedDescription::of_die(UnitId::new(0), DieOffset(die), DieOrder::Reversed));
        assert_eq!(by_order(&reversed, &symbols, |_| b""), [(1, 1), (0, 0)]);
    }

    #[test]
    fn names_of_inlined_code_come_before_order() {
        let symbols = ["Box<Car>::weigh(long)", "Box<Bus>::weigh(long)"].map(words);
        let of = |names: [&str; 2]| by_words(&names.map(words), &symbols.each_ref().map(Clone::clone));
        assert_eq!(of(["long get<Bus>(Bus*)", "long get<Car>(Car*)"]), Some(vec![(0, 1), (1, 0)]));
        // One name for both, of both, or of none.
        assert_eq!(of(["get<Bus>", "get<Bus>"]), None);
        assert_eq!(of(["get<Bus> set<Car>", "get<Car>"]), None);
        assert_eq!(of(["get<Bus>", "get<Ox>"]), None);
    }
}

//! Guesses which method of a class a word of a vtable means, if no evidence decides: such a guess chooses the first candidate, and never
//! makes an answer `likely`.
//!
//! Words of a vtable are in the order in which the methods were declared. Example: `Parcel` declares `weigh` and then `price`, which have
//! the same code. Nothing describes its base `Scale`, for which the table is. Words 0 and 1 of the table lead to that code, so word 0
//! probably means `weigh`, and word 1 `price`. It is no evidence: `Scale` may declare them in another order. If nothing describes `Parcel`
//! either, the order of the symbols serves in place of that of the declarations.

use crate::keys::objects::class_caps::{MAX_GUESSED_AT, MAX_WORDS};
use crate::keys::objects::dispatch::{Dispatch, TableRange};
use crate::keys::objects::hierarchy::Signature;
use crate::keys::objects::meant_methods::TableClass;
use crate::model::{FuncId, GroupId, ImageAddr, Owner};
use crate::util::hash::HashMap;

/// The words of a vtable by the group that they lead to, in their order.
pub(crate) type WordsOfGroups = HashMap<GroupId, Vec<u64>>;

impl Dispatch<'_, '_, '_> {
    /// The table that probably begins at `point`, up to its end, for a class with virtual bases: words before and after the addresses of its
    /// functions may be any numbers. `None` if functions do not begin there.
    pub(crate) fn likely_table(&mut self, table: TableRange) -> Option<TableRange> {
        let point = table.point;
        let before = point.checked_sub(self.width)?;
        // The word before the first function is the address of the type information (Itanium C++ ABI 2.5.2), or 0 with
        // `-fno-rtti`.
        if self.is_function(self.words.at(before)) {
            return None;
        }
        let most = table.words(self.width).min(MAX_WORDS);
        let len = (0..most).take_while(|at| self.is_function(self.words.at(point + at * self.width))).count()
            as u64;
        (len > 0 && self.looks_for_guess(len as usize))
            .then_some(TableRange { point, end: point + len * self.width })
    }

    /// The words of a table that lead to each group, directly or by a thunk. Empty if too much was looked at.
    pub(crate) fn words_of_groups(&mut self, table: TableRange) -> WordsOfGroups {
        let mut words = WordsOfGroups::default();
        for number in 0..table.words(self.width).min(MAX_WORDS) {
            let groups = match self.owner_at_word(table.point + number * self.width) {
                None => continue,
                Some(Owner::Group(group)) => self.led_directly_to(group),
                Some(Owner::Function(function)) => {
                    self.groups_of(Some(Owner::Function(self.behind_thunk(function))))
                }
            };
            if !self.looks_for_guess(1 + groups.len()) {
                return WordsOfGroups::default();
            }
            for &group in &*groups {
                words.entry(group).or_default().push(number);
            }
        }
        words
    }

    /// The method that a word of a table means if its words are in the order of the class's declarations. `words`: those of the table
    /// that lead to the group. `related`: the members of the group that the class and its bases have.
    pub(crate) fn by_order(
        &mut self,
        class: &TableClass<'_>,
        words: &[u64],
        slot: u16,
        related: &[FuncId],
    ) -> Option<FuncId> {
        // One of the words means a method that is not known.
        if words.len() > related.len() {
            return None;
        }
        let at = words.binary_search(&u64::from(slot)).ok()?;
        let none: &[usize] = &[];
        let line = match class {
            TableClass::Known { line, .. } => line,
            TableClass::Named(_) => none,
        };
        let mut methods: Vec<(u16, FuncId)> = Vec::new();
        let (mut seen, mut overridden): (Vec<Signature<'_>>, usize) = (Vec::new(), 0);
        // The class comes before its bases.
        for class in line.iter().map(|&class| &self.classes.list[class]) {
            if !self.looks_for_guess(1 + class.methods.len()) {
                return None;
            }
            for method in class.methods.iter().filter(|method| method.is_virtual) {
                let Some(signature) = class.within(method.linkage_name) else { continue };
                let Some(function) = self.members.method(class, method) else { continue };
                if !related.contains(&function) {
                    continue;
                }
                if seen.contains(&signature) {
                    overridden += 1;
                } else {
                    seen.push(signature);
                    methods.push((method.slot, function));
                }
            }
        }
        if methods.is_empty() {
            let own = self.not_overridden(line, related)?;
            return self.by_symbols(words, at, &own);
        }
        methods.sort_unstable();
        let is_whole = methods.len() + overridden == related.len() && methods.len() == words.len();
        // Two methods that claim one slot have no order.
        let in_order = methods.is_sorted_by(|one, next| one.0 < next.0);
        (is_whole && in_order).then(|| methods[at].1)
    }

    /// Those of these methods that no nearer class of `line` overrides.
    fn not_overridden(&mut self, line: &[usize], related: &[FuncId]) -> Option<Vec<FuncId>> {
        if !self.looks_for_guess(line.len() * related.len()) {
            return None;
        }
        let signature_of = |function: FuncId| {
            let within =
                |class: &usize| self.names(function).find_map(|name| self.classes.list[*class].within(name));
            line.iter().enumerate().find_map(|(depth, class)| Some((within(class)?, depth)))
        };
        let methods: Vec<(FuncId, Option<(Signature<'_>, usize)>)> =
            related.iter().map(|&function| (function, signature_of(function))).collect();
        let is_overridden = |signature: Signature<'_>, depth: usize| {
            methods
                .iter()
                .filter_map(|(_, other)| *other)
                .any(|other| other.0 == signature && other.1 < depth)
        };
        let kept = methods
            .iter()
            .filter(|(_, of)| of.is_none_or(|(signature, depth)| !is_overridden(signature, depth)));
        Some(kept.map(|(function, _)| *function).collect())
    }

    /// The method at the same place among the symbols of these methods: compilers define methods in the order of the source.
    fn by_symbols(&mut self, words: &[u64], at: usize, related: &[FuncId]) -> Option<FuncId> {
        let starts = &self.index.functions.starts;
        let start = starts[related.first()?.index()];
        if related.len() != words.len() || related.iter().any(|function| starts[function.index()] != start) {
            return None;
        }
        let mut numbered = Vec::new();
        for &function in related {
            numbered.push((self.symbol_number(start, function)?, function));
        }
        numbered.sort_unstable();
        Some(numbered[at].1)
    }

    /// The place in the symbol table of a method's symbol at an address.
    fn symbol_number(&mut self, start: ImageAddr, function: FuncId) -> Option<u32> {
        let len = self.method_symbols.at(self.index, self.image, start).len();
        if !self.looks_for_guess(len) {
            return None;
        }
        let symbols = self.method_symbols.at(self.index, self.image, start);
        let of_name = |name| symbols.iter().find(|symbol| symbol.name == name);
        self.names(function).find_map(of_name).map(|symbol| symbol.number)
    }

    /// Counts what a guess looks at; false if it is too much. Guesses take nothing from the budget of evidence.
    fn looks_for_guess(&mut self, count: usize) -> bool {
        self.guessed_at += count as u64;
        self.guessed_at <= MAX_GUESSED_AT
    }
}

//! The members of groups at a slot of the program's vtables, where that is no proof: it makes an answer `likely`.
//!
//! A call `mov (%rdi), %rax; call *16(%rax)` goes through word 2 of some vtable. If every table of the program whose
//! word 2 leads to a group's code means the same member, that member probably ran. It is not proven: the table may be
//! in another module, or a function may have given up its frame by a tail call.
//!
//! A word holds only an address. The slot number of a described method shows which member the word means; `meant_methods` has the
//! other evidence. A word without evidence makes its slot doubtful for the group.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::diagnostics::{Cap, ClassCap, Diagnostics, Kind};
use crate::keys::index::Index;
use crate::keys::objects::class_caps::{self, MAX_LOOKED_AT, MAX_OF_SLOT, MAX_RELATED};
use crate::keys::objects::declaration_order::WordsOfGroups;
use crate::keys::objects::dispatch::{Dispatch, TableRange};
use crate::keys::objects::hierarchy::Subobject;
use crate::keys::objects::meant_methods::{TableClass, TableWord};
use crate::keys::objects::vtables::{Word, address_of};
use crate::model::{FuncId, GroupId, ImageAddr, OverriderKey, Owner, Piece, Row, SlotKey, VtableKey};
use crate::program::machine::{SlotCall, SlotCalls};
use crate::program::names::itanium::thunk_target;
use crate::util::hash::{HashMap, HashSet};

/// Pieces of code that one task reads.
const PIECES_AT_ONCE: usize = 256;

/// In place of the name of an unknown class: no linkage name begins with it.
const NO_CLASS: &[u8] = b"?";

/// A word of a table that leads to a group.
struct ToldWord {
    /// The index of the table among those of its class.
    table: usize,
    slot: u16,
    group: GroupId,
    /// The member that the word means, if that shows.
    function: Option<FuncId>,
    /// A thunk leads to it.
    by_thunk: bool,
    /// The method of the word only tail-calls it.
    by_tail_call: bool,
}

/// A group that a word of a table leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Led {
    group: GroupId,
    /// The member that the word means, if that shows.
    function: Option<FuncId>,
    /// The method of the word only tail-calls the member.
    by_tail_call: bool,
}

impl Led {
    /// A word that does not show which member it means.
    fn untold(group: GroupId) -> Led {
        Led { group, function: None, by_tail_call: false }
    }
}

/// By slot and group: the functions that words lead to, and whether a word leads to others too.
#[derive(Default)]
pub(crate) struct Overriders {
    at: HashMap<(u16, GroupId), (Vec<FuncId>, bool)>,
}

impl Overriders {
    fn add(&mut self, slot: u16, group: GroupId, function: Option<FuncId>) {
        let (functions, doubtful) = self.at.entry((slot, group)).or_default();
        match function {
            Some(function) if !functions.contains(&function) => functions.push(function),
            Some(_) => {}
            None => *doubtful = true,
        }
    }

    /// The keys. All are doubtful if the program may have unknown tables.
    pub(crate) fn keys(self, may_lack_tables: bool, diagnostics: &mut Diagnostics) -> Vec<OverriderKey> {
        let of = |((slot, _), (functions, doubtful)): ((u16, GroupId), (Vec<FuncId>, bool))| {
            let doubtful = doubtful || may_lack_tables;
            functions.into_iter().map(move |function| OverriderKey { slot, function, doubtful })
        };
        let mut keys: Vec<OverriderKey> = self.at.into_iter().flat_map(of).collect();
        keys.sort_unstable();
        // A function with several pieces may be in several groups: the doubtful key counts.
        keys.dedup_by(|next, kept| {
            let same = (next.slot, next.function) == (kept.slot, kept.function);
            kept.doubtful |= same && next.doubtful;
            same
        });
        for large in keys.chunk_by(|a, b| a.slot == b.slot).filter(|same| same.len() > MAX_OF_SLOT) {
            diagnostics.add(Kind::SkippedClasses(ClassCap::SlotKeys), 0, || {
                format!("word {} of vtables leads to over {MAX_OF_SLOT} folded functions: calls through it are left out", large[0].slot)
            });
        }
        let small = keys.chunk_by(|a, b| a.slot == b.slot).filter(|same| same.len() <= MAX_OF_SLOT);
        small.flatten().copied().collect()
    }
}

/// The calls of the program through a word of a vtable, as its code shows them.
pub(crate) fn decoded(index: &Index<'_, '_>, diagnostics: &mut Diagnostics) -> Vec<SlotKey> {
    let program = index.functions.program;
    // Few functions reach a limit.
    let cut: Mutex<Vec<(ImageAddr, Cap)>> = Mutex::default();
    let of_piece = |piece: &Piece| {
        let start = piece.start;
        let rows = match piece.owner {
            Owner::Function(_) => piece.rows,
            Owner::Group(group) => {
                program.groups[group.index()].members.iter().find_map(|member| member.rows)
            }
        };
        // A row of the line table begins at an instruction.
        let (rows, from) = rows.map_or((&[][..], start), |rows| {
            (
                program.code[rows.unit.index()].rows_of(rows.range),
                // Offsets of rows count from the start of the whole range, `skip` bytes before the piece.
                ImageAddr(start.0.wrapping_sub(u64::from(rows.skip))),
            )
        });
        let place = |row: &Row| ImageAddr(from.0.wrapping_add(u64::from(row.offset)));
        let begins = |address: ImageAddr| {
            let before = rows.partition_point(|row| place(row) <= address);
            before.checked_sub(1).map_or(start, |at| place(&rows[at]))
        };
        let SlotCalls { calls, cut: limit } = index.functions.machine.slot_calls(piece.code(), &begins);
        if let Some(limit) = limit {
            cut.lock().unwrap_or_else(PoisonError::into_inner).push((start, limit));
        }
        // A function pointer in the object itself is in no table: the call may reach a method of its class by another
        // slot.
        calls.into_iter().filter(|call| call.by_object)
    };
    let of_pieces = |pieces: &[Piece]| {
        let calls = pieces.iter().flat_map(of_piece);
        let key = |call: SlotCall| SlotKey {
            return_addr: call.return_addr,
            slot: call.slot,
            by_object: call.by_object,
        };
        calls.map(key).collect::<Vec<_>>()
    };
    let found = program.pieces.par_chunks(PIECES_AT_ONCE).flat_map_iter(of_pieces).collect();
    let mut cut = cut.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Threads add their pieces in any order.
    cut.sort_unstable();
    for (start, cap) in cut {
        class_caps::unread_calls(cap, start, diagnostics);
    }
    found
}

/// Chooses the member that probably runs, by slot and group, where words of the slot lead to several members of the group. Example: one word
/// leads to `price`, and another to a method that tail-calls `weigh`. Then `price` probably runs. Nothing is chosen if words lead to several
/// members without a tail call.
fn chosen(words: &[ToldWord]) -> HashMap<(u16, GroupId), Option<FuncId>> {
    let mut chosen = HashMap::default();
    let is_direct = |word: &&ToldWord| word.function.is_some() && !word.by_tail_call;
    for word in words.iter().filter(is_direct) {
        let of = chosen.entry((word.slot, word.group)).or_insert(word.function);
        *of = of.filter(|function| word.function == Some(*function));
    }
    let others = words.iter().filter(|word| word.by_tail_call);
    let contested: HashSet<(u16, GroupId)> = others
        .filter(|word| chosen.get(&(word.slot, word.group)).is_some_and(|of| *of != word.function))
        .map(|word| (word.slot, word.group))
        .collect();
    chosen.retain(|of, function| function.is_some() && contested.contains(of));
    chosen
}

impl<'p> Dispatch<'_, 'p, '_> {
    /// Adds the functions at the words of tables that the program calls through. Several classes may share the tables. Returns the
    /// keys of objects that point to one of these tables, all doubtful. A slot gives none for a group if a word of it in any of the
    /// tables leads to the group and does not show which member it means. Gives up beyond `most` words, and returns at most `most` keys and one.
    pub(crate) fn overriders(
        &mut self,
        found: &mut Overriders,
        classes: &[TableClass<'_>],
        tables: &[TableRange],
        most: usize,
    ) -> Vec<VtableKey> {
        let slots = self.slots;
        let mut words: Vec<ToldWord> = Vec::new();
        // A base may have a method with a thunk like that of another method of the class, in another table.
        let lacks_bases = classes.iter().any(|class| self.lacks_bases(class));
        let crowded = if lacks_bases { self.crowded(tables) } else { HashSet::default() };
        'tables: for (number, &TableRange { point, end }) in tables.iter().enumerate() {
            for &slot in slots {
                // Slots are sorted: all later ones are beyond the table too.
                let Some(place) = point.checked_add(u64::from(slot) * self.width) else { break };
                if place.checked_add(self.width).is_none_or(|after| after > end) {
                    break;
                }
                if words.len() > most {
                    self.lacks_words = true;
                    self.long_table.get_or_insert(point);
                    break 'tables;
                }
                for Led { group, function, by_tail_call } in
                    self.told_by(classes, &TableWord { number, point, slot, place, crowded: &crowded })
                {
                    found.add(slot, group, function);
                    let by_thunk = function.is_some_and(|function| self.is_thunk(place, function));
                    words.push(ToldWord { table: number, slot, group, function, by_thunk, by_tail_call });
                }
            }
        }
        let untold = words.iter().filter(|word| word.function.is_none());
        let untold: HashSet<(u16, GroupId)> = untold.map(|word| (word.slot, word.group)).collect();
        let is_told = |word: &&ToldWord| {
            let mut groups =
                word.function.into_iter().flat_map(|function| self.index.functions.groups(function));
            groups.all(|group| !untold.contains(&(word.slot, group)))
        };
        let chosen = chosen(&words);
        let keys = words.iter().filter(is_told).flat_map(|word| {
            let guessed = chosen.get(&(word.slot, word.group)).is_some_and(|of| *of == word.function);
            // Behind a thunk the function runs on another part of the object, which has another table.
            let run_on = if word.by_thunk { tables } else { &tables[word.table..=word.table] };
            let key = move |&TableRange { point, .. }: &TableRange| {
                let function = word.function?;
                Some(VtableKey { point, function, slot: Some(word.slot), doubtful: true, guessed })
            };
            run_on.iter().filter_map(key)
        });
        // One more shows the caller that there are too many.
        let mut keys: Vec<VtableKey> = keys.take(most + 1).collect();
        let mut of_groups: Vec<Option<WordsOfGroups>> = Vec::new();
        let mut untold: Vec<(u16, GroupId)> = untold.into_iter().collect();
        // In the same order on every run: with too many keys, the same ones are left out.
        untold.sort_unstable();
        for (slot, group) in untold {
            if keys.len() > most {
                break;
            }
            let of_group = self.several_related(classes, group);
            if of_group.is_empty() {
                continue;
            }
            of_groups.resize_with(tables.len(), || None);
            let here = words.iter().filter(|word| (word.slot, word.group) == (slot, group));
            let guess = self.guess(classes, tables, here, &of_group, &mut of_groups);
            keys.extend(tables.iter().flat_map(|&TableRange { point, .. }| {
                let key = move |function| VtableKey {
                    point,
                    function,
                    slot: Some(slot),
                    doubtful: true,
                    guessed: guess == Some(function),
                };
                of_group.iter().copied().map(key)
            }));
        }
        // A function in several groups has a word for each.
        keys.sort_unstable();
        keys.dedup_by(|next, kept| {
            let same = VtableKey { guessed: kept.guessed, ..*next } == *kept;
            kept.guessed |= same && next.guessed;
            same
        });
        keys
    }

    /// The groups of a function, and of those that it gives its frame to, where nothing shows which member a word means.
    fn led_to_by(&mut self, function: FuncId) -> Vec<Led> {
        let mut all = vec![function];
        all.extend(self.reach_of(function).members.iter().copied());
        let groups = all.into_iter().flat_map(|function| self.index.functions.groups(function));
        let mut groups: Vec<Led> = groups.map(Led::untold).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Which of several members probably runs: the method that the order of declarations gives for each of these words, which have one slot
    /// and lead to one group. Words of methods that only tail-call members of the group do not count. `of_groups`: by table, filled where
    /// needed.
    fn guess<'w>(
        &mut self,
        classes: &[TableClass<'_>],
        tables: &[TableRange],
        words: impl Iterator<Item = &'w ToldWord>,
        related: &[FuncId],
        of_groups: &mut [Option<WordsOfGroups>],
    ) -> Option<FuncId> {
        let [class] = classes else { return None };
        let mut guess = None;
        for word in words.filter(|word| !word.by_tail_call) {
            let of_table = &mut of_groups[word.table];
            let of_table = of_table.get_or_insert_with(|| match class {
                TableClass::Known { numbered: false, .. } => self
                    .likely_table(tables[word.table])
                    .map(|table| self.words_of_groups(table))
                    .unwrap_or_default(),
                _ => self.words_of_groups(tables[word.table]),
            });
            let Some(in_group) = of_table.get(&word.group) else { continue };
            // This word leads to the group by a tail call alone, of which the order of declarations shows nothing.
            if in_group.binary_search(&u64::from(word.slot)).is_err() {
                continue;
            }
            let function = word.function.or_else(|| self.by_order(class, in_group, word.slot, related))?;
            if *guess.get_or_insert(function) != function {
                return None;
            }
        }
        guess
    }

    /// The groups that a word leads to, each with the members that it means on objects of these classes, which share the table;
    /// `None` if some class does not show which member it is.
    fn told_by(&mut self, classes: &[TableClass<'_>], word: &TableWord<'_>) -> Vec<Led> {
        match classes {
            [class] => self.told(class, word),
            [] => self.told(&TableClass::Named(NO_CLASS), word),
            _ => {
                let each: Vec<_> = classes.iter().map(|class| self.told(class, word)).collect();
                // Where nothing is known of one class, its objects may lead anywhere in the same groups.
                let untold = each.iter().any(Vec::is_empty);
                let mut all: Vec<_> = each.into_iter().flatten().collect();
                let groups: Vec<GroupId> = all.iter().filter(|_| untold).map(|of| of.group).collect();
                all.extend(groups.into_iter().map(Led::untold));
                all.sort_unstable();
                all.dedup();
                all
            }
        }
    }

    /// True if a word leads to a function by a thunk, which changes the pointer to the object.
    fn is_thunk(&self, place: ImageAddr, function: FuncId) -> bool {
        match self.words.at(place) {
            Some(Word::Named(name)) => thunk_target(name).is_some(),
            Some(Word::Number(address)) => {
                self.index.functions.starts[function.index()] != address_of(address)
            }
            _ => false,
        }
    }

    /// The groups that a word leads to, each with the member that it means, if that shows.
    fn told(&mut self, class: &TableClass<'_>, word: &TableWord<'_>) -> Vec<Led> {
        let &TableWord { number, point, slot, place, .. } = word;
        let none: &[usize] = &[];
        let line = match class {
            TableClass::Known { line, .. } => line,
            TableClass::Named(_) => none,
        };
        let program = self.index.functions.program;
        // The loader writes a word with a name. It names the method, so no member of a group need be chosen.
        let first = match self.words.at(place) {
            Some(Word::Named(name)) => {
                let function = self.named(line, name);
                if let Some(function) = function.filter(|function| self.may_replace(class, *function)) {
                    return self.led_to_by(function);
                }
                function
            }
            Some(Word::Number(address)) => {
                let address = address_of(address);
                let Some(owner) = self.owner_at(address) else { return Vec::new() };
                match owner {
                    Owner::Group(group) => {
                        self.looked_at += program.groups[group.index()].members.len() as u64;
                        if self.looked_at > MAX_LOOKED_AT {
                            self.lacks_words = true;
                            return Vec::new();
                        }
                        let declared = match *class {
                            TableClass::Known { class, numbered: true, .. } if number == 0 => {
                                self.declared(class, slot, address)
                            }
                            _ => None,
                        };
                        // Another of the words that lead there may mean a method of a base that is not known.
                        let is_sole = |_: &FuncId| !word.crowded.contains(&group);
                        let function = declared
                            .or_else(|| self.alone(line, address).filter(is_sole))
                            .or_else(|| self.by_slot_name(class, group, slot, point))
                            .or_else(|| {
                                let related = self
                                    .by_thunk(class, group, number)
                                    .filter(is_sole)
                                    .or_else(|| self.only_related(class, group, word));
                                related.filter(|function| !self.may_replace(class, *function))
                            });
                        if function.is_none() {
                            return self.led_to(group).iter().copied().map(Led::untold).collect();
                        }
                        function
                    }
                    Owner::Function(function) => {
                        let function = self.behind_thunk(function);
                        if self.may_replace(class, function) {
                            return self.led_to_by(function);
                        }
                        Some(function)
                    }
                }
            }
            _ => None,
        };
        let Some(function) = first else { return Vec::new() };
        // A thunk, or a method that ends in a tail call, gives its frame to the function that it jumps to.
        let mut all = vec![function];
        if self.may_lead_into_group[function.index()] {
            all.extend(self.reach_of(function).members.iter().copied());
        }
        all.sort_unstable();
        all.dedup();
        let groups = |of| {
            let led = move |group| Led { group, function: Some(of), by_tail_call: of != function };
            self.index.functions.groups(of).map(led)
        };
        all.into_iter().flat_map(groups).collect()
    }

    /// Records the slots of methods as the words of a class's tables show them, for classes that do not declare them. `line`: the class
    /// and its bases, none of them virtual.
    pub(crate) fn learn_slots(&mut self, class: usize, line: &[usize], tables: &[TableRange]) {
        let subobjects = self.classes.subobjects(class);
        let is_described = |of: &Subobject| self.classes.list[of.class].described;
        // The declarations of described classes give their slots (`SlotNames::declared`).
        if subobjects.iter().all(is_described) {
            return;
        }
        let offsets: Vec<Option<u64>> = tables.iter().map(|table| self.offset_of(table.point)).collect();
        for (number, &TableRange { point, end }) in tables.iter().enumerate() {
            let mut here = subobjects.iter().filter(|of| Some(of.offset) == offsets[number]);
            // Classes add methods only to their first table, so all methods of another table are those of the base it is for.
            let own = here.next().filter(|own| !is_described(own));
            let others = here.filter(|of| !is_described(of) && self.has_table(of, &subobjects, &offsets));
            let others: Vec<Subobject> = others.copied().collect();
            if own.is_none() && others.is_empty() {
                continue;
            }
            for &slot in self.slots {
                let place = point.saturating_add(u64::from(slot) * self.width);
                if place.saturating_add(self.width) > end {
                    break;
                }
                let Some(Word::Number(address)) = self.words.at(place) else { continue };
                let address = address_of(address);
                if !self.looks_at(self.owner_at(address), line.len()) {
                    return;
                }
                let declared = if number == 0 { self.declared(class, slot, address) } else { None };
                let found = || {
                    let function =
                        self.alone(line, address).or_else(|| self.only_here(class, line, address, point));
                    function.filter(|function| !self.replaces_some(*function))
                };
                let function = declared.or_else(found);
                let Some(function) = function else { continue };
                let rest =
                    |name: &'p [u8]| line.iter().find_map(|&class| self.classes.list[class].within(name));
                let Some(rest) = self.names(function).find_map(rest) else { continue };
                if let Some(own) = own {
                    self.slot_names.add_own(own.class, slot, rest);
                }
                for of in &others {
                    self.slot_names.add_derived(of.class, slot, rest, of.within);
                }
            }
        }
    }

    /// True if a base at the start of a class is known to have a table. If it had none, another base with a table would be there.
    /// `offsets`: those of the tables of the whole object.
    fn has_table(&self, base: &Subobject, subobjects: &[Subobject], offsets: &[Option<u64>]) -> bool {
        let has_other = |of: &Subobject| {
            of.within == base.within && of.offset != base.offset && offsets.contains(&Some(of.offset))
        };
        self.classes.list[base.within].extends || subobjects.iter().any(has_other)
    }

    /// The members of a group that these classes have, if there are several: each may be at a word that does not show which it means.
    /// None if they are more than [`MAX_RELATED`], or if these classes have others in the groups of their parts: a key holds in all groups of
    /// its function, and would leave those others out.
    fn several_related(&self, classes: &[TableClass<'_>], group: GroupId) -> Vec<FuncId> {
        let of_group = |group: GroupId| {
            let mut all: Vec<FuncId> = classes.iter().flat_map(|class| self.related(class, group)).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let all = of_group(group);
        if !(2..=MAX_RELATED).contains(&all.len()) {
            return Vec::new();
        }
        let mut groups: Vec<GroupId> =
            all.iter().flat_map(|&function| self.index.functions.groups(function)).collect();
        groups.sort_unstable();
        groups.dedup();
        let has_only_these = |&other: &GroupId| {
            other == group || of_group(other).iter().all(|function| all.contains(function))
        };
        if groups.iter().all(has_only_these) { all } else { Vec::new() }
    }
}

//! The members of groups at a slot of the program's vtables, where that is no proof: it makes an answer `likely`.
//!
//! A call `mov (%rdi), %rax; call *16(%rax)` goes through word 2 of some vtable. If every table of the program whose
//! word 2 leads to a group's code means the same member, that member probably ran. It is not proven: the table may be
//! in another module, or a function may have given up its frame by a tail call.
//!
//! A word holds only an address. The class of the table shows which member the word means: by the slot number of the
//! method if the class is described, otherwise by the only member whose linkage name begins with the name of the
//! class or of one of its bases. A word without such evidence makes its slot doubtful for the group.

use std::rc::Rc;

use rayon::prelude::*;

use crate::keys::index::Index;
use crate::keys::objects::dispatch::{Dispatch, TableRange, target};
use crate::keys::objects::vtables::Word;
use crate::model::{FuncId, GroupId, ImageAddr, OverriderKey, Owner, Piece, SlotKey, VtableKey};
use crate::program::names::itanium::nested;
use crate::util::hash::HashMap;

/// Pieces of code that one task reads.
const PIECES_AT_ONCE: usize = 256;

/// Members of groups visited for words of tables; beyond it every word may lead to other functions too.
const MAX_LOOKED_AT: u64 = 1 << 26;

/// Keys of one slot; beyond it the slot gives no key.
const MAX_OF_SLOT: usize = 1 << 16;

/// The class of a table, as far as it is known.
pub(crate) enum TableClass<'c> {
    Known {
        class: usize,
        /// The class and all its bases.
        line: &'c [usize],
        /// Slot numbers of methods are the numbers of words.
        numbered: bool,
    },
    /// Unknown class: the text that the linkage names of its methods begin with.
    Named(&'c [u8]),
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
    pub(crate) fn keys(self, may_lack_tables: bool) -> Vec<OverriderKey> {
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
        let small = keys.chunk_by(|a, b| a.slot == b.slot).filter(|same| same.len() <= MAX_OF_SLOT);
        small.flatten().copied().collect()
    }
}

/// The calls of the program through a word of a vtable, as its code shows them.
pub(crate) fn decoded(index: &Index<'_, '_>) -> Vec<SlotKey> {
    let program = index.program;
    let of_piece = |piece: &Piece| {
        let start = piece.start.0;
        let rows = match piece.owner {
            Owner::Function(_) => piece.rows,
            Owner::Group(group) => {
                program.groups[group.index()].members.iter().find_map(|member| member.rows)
            }
        };
        // A row of the line table begins at an instruction.
        let (rows, from) = rows.map_or((&[][..], start), |rows| {
            (program.code[rows.unit.index()].rows_of(rows.range), start.wrapping_sub(u64::from(rows.skip)))
        });
        let begins = |address: u64| {
            let before = rows.partition_point(|row| from.wrapping_add(u64::from(row.offset)) <= address);
            before.checked_sub(1).map_or(start, |at| from.wrapping_add(u64::from(rows[at].offset)))
        };
        let calls = index.machine.slot_calls(start, start + u64::from(piece.body), &begins);
        // A function pointer in the object itself is in no table: the call may reach a method of its class by another
        // slot.
        calls.into_iter().filter(|call| call.by_object)
    };
    let of_pieces = |pieces: &[Piece]| {
        let calls = pieces.iter().flat_map(of_piece);
        let key = |call: crate::program::machine::SlotCall| SlotKey {
            return_addr: ImageAddr(call.return_addr),
            slot: call.slot,
            by_object: call.by_object,
        };
        calls.map(key).collect::<Vec<_>>()
    };
    program.pieces.par_chunks(PIECES_AT_ONCE).flat_map_iter(of_pieces).collect()
}

impl Dispatch<'_, '_, '_> {
    /// Adds the functions at the words of a class's tables that the program calls through. Returns the keys of
    /// objects that point to one of these tables, all doubtful. Gives up beyond `most` keys.
    pub(crate) fn overriders(
        &mut self,
        found: &mut Overriders,
        class: &TableClass<'_>,
        tables: &[TableRange],
        most: usize,
    ) -> Vec<VtableKey> {
        let mut keys = Vec::new();
        let slots = self.slots;
        for (number, &(point, end)) in tables.iter().enumerate() {
            for &slot in slots {
                let Some(place) = point.checked_add(u64::from(slot) * self.width) else { break };
                if place.checked_add(self.width).is_none_or(|after| after > end) {
                    break;
                }
                if keys.len() > most {
                    self.lacks_words = true;
                    return keys;
                }
                for (group, function) in self.told(class, number, slot, place) {
                    found.add(slot, group, function);
                    let key = |function| VtableKey {
                        point: ImageAddr(point),
                        function,
                        slot: Some(slot),
                        doubtful: true,
                    };
                    keys.extend(function.map(key));
                }
            }
        }
        keys
    }

    /// The groups that a word leads to, each with the member that it means, if that shows.
    fn told(
        &mut self,
        class: &TableClass<'_>,
        number: usize,
        slot: u16,
        place: u64,
    ) -> Vec<(GroupId, Option<FuncId>)> {
        let none: &[usize] = &[];
        let line = match class {
            TableClass::Known { line, .. } => line,
            TableClass::Named(_) => none,
        };
        let program = self.index.program;
        let first = match self.words.at(place) {
            Some(Word::Named(name)) => self.named(line, name),
            Some(Word::Number(address)) => {
                let address = address.cast_unsigned();
                let Ok(piece) = program.pieces.binary_search_by_key(&address, |piece| piece.start.0) else {
                    return Vec::new();
                };
                match program.pieces[piece].owner {
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
                        let function = declared
                            .or_else(|| self.alone(line, address))
                            .or_else(|| self.by_thunk(line, group))
                            .or_else(|| self.only_related(class, group));
                        if function.is_none() {
                            return self.led_to(group).iter().map(|group| (*group, None)).collect();
                        }
                        function
                    }
                    Owner::Function(function) => {
                        let method = self.names(function).find_map(target);
                        method.and_then(|method| self.members.program_wide(&method)).or(Some(function))
                    }
                }
            }
            _ => None,
        };
        let Some(function) = first else { return Vec::new() };
        let mut all = vec![function];
        // A thunk, or a method that ends in a tail call, gives its frame to the function that it jumps to.
        all.extend(self.reach_of(function).members.iter().copied());
        all.sort_unstable();
        all.dedup();
        all.into_iter().filter_map(|function| Some((self.index.group(function)?, Some(function)))).collect()
    }

    /// The group, and the groups that its members give their frames to: a word that leads to folded thunks may mean
    /// any of them.
    fn led_to(&mut self, group: GroupId) -> Rc<Vec<GroupId>> {
        if let Some(known) = self.led.get(&group) {
            return known.clone();
        }
        let mut groups = vec![group];
        let program = self.index.program;
        for member in &program.groups[group.index()].members {
            let methods: Vec<FuncId> = self
                .names(member.function)
                .filter_map(target)
                .filter_map(|method| self.members.program_wide(&method))
                .collect();
            let reach = self.reach_of(member.function);
            let reached = methods.iter().chain(&reach.members);
            groups.extend(reached.filter_map(|function| self.index.group(*function)));
        }
        groups.sort_unstable();
        groups.dedup();
        let groups = Rc::new(groups);
        self.led.insert(group, groups.clone());
        groups
    }

    /// The method that folded thunks lead to, of the class or of its nearest base that has one in the group.
    fn by_thunk(&self, line: &[usize], group: GroupId) -> Option<FuncId> {
        let members = &self.index.program.groups[group.index()].members;
        let targets: Vec<Vec<u8>> = members
            .iter()
            .flat_map(|member| self.names(member.function).filter_map(target).collect::<Vec<_>>())
            .collect();
        // Thunks of different methods may have been folded because their methods were: then nothing shows which
        // method the word means.
        let (mut nearest, mut method) = (None, None);
        for &class in line {
            for name in &targets {
                let Some(within) = self.classes.list[class].within(name) else { continue };
                if *method.get_or_insert(within) != within {
                    return None;
                }
                let function = self.method(&[class], name)?;
                nearest.get_or_insert(function);
            }
        }
        nearest
    }

    /// The only member of a group that the class or one of its bases has.
    fn only_related(&self, class: &TableClass<'_>, group: GroupId) -> Option<FuncId> {
        match class {
            TableClass::Known { line, .. } => {
                let related = self.members.of(line);
                let here = related.iter().find(|of| of.0 == group)?;
                if let [function] = here.1[..] { Some(function) } else { None }
            }
            TableClass::Named(key) => {
                let members = &self.index.program.groups[group.index()].members;
                let is_related = |function: FuncId| {
                    self.names(function).any(|name| {
                        let rest = nested(name).and_then(|name| name.strip_prefix(*key));
                        rest.is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
                    })
                };
                let mut related = members.iter().map(|member| member.function).filter(|f| is_related(*f));
                related.next().filter(|_| related.next().is_none())
            }
        }
    }
}

//! Finds which method a word of a vtable means, if the word leads to a group of folded functions.
//!
//! A word holds only an address, and several methods of the class and its bases may have that address. `told` in `overriders` asks for
//! the evidence in this order: the name that a base has at the slot ([`by_slot_name`]), the thunks at the address ([`by_thunk`]), and
//! that the group has one method alone which the table may lead to ([`only_related`]).
//!
//! Example: `Parcel` derives from `Item` and `Base`, and overrides `Base::get() const`. The other overload, `Base::get()`, has the code of
//! the overrider. In the table of `Parcel` for `Base` both words lead to that code. `Base` has `get()` at slot 0, so the word there means
//! `Base::get()`, though a thunk to `Parcel::get() const` is at the address too (`testbins/cases/overloads.cpp`).
//!
//! LLVM merges two equal methods, and puts the address of the one, or of its thunk, at the words of both. If LLVM merged another method
//! of these classes with the one that a word leads to, the thunks and the members of the group are no evidence
//! (`testbins/cases/merged_slots.cpp`).
//!
//! [`by_slot_name`]: Dispatch::by_slot_name
//! [`by_thunk`]: Dispatch::by_thunk
//! [`only_related`]: Dispatch::only_related

use crate::keys::objects::class_caps::{MAX_LOOKED_AT, MAX_TOGETHER};
use crate::keys::objects::dispatch::Dispatch;
use crate::keys::objects::hierarchy::Signature;
use crate::keys::objects::vtables::Word;
use crate::model::{FuncId, GroupId, ImageAddr, Owner};
use crate::program::names::itanium::{nested, thunk_target};
use crate::util::hash::HashSet;

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

/// A word of a table.
pub(crate) struct TableWord<'a> {
    /// The index of the table among those of its class.
    pub(crate) number: usize,
    /// The value of pointers to the table.
    pub(crate) point: ImageAddr,
    pub(crate) slot: u16,
    pub(crate) place: ImageAddr,
    /// Groups to which several words of the tables of the class lead.
    pub(crate) crowded: &'a HashSet<GroupId>,
}

/// True for the linkage name of a method or destructor of the class whose methods' linkage names begin with `key`.
fn is_of_key(name: &[u8], key: &[u8]) -> bool {
    let rest = nested(name).and_then(|name| name.strip_prefix(key));
    // A length begins the name of a method, or of a member class. Constructors (`C1`) are in no table.
    rest.is_some_and(|rest| matches!(rest, [b'0'..=b'9', ..] | [b'D', b'0'..=b'2', ..]))
}

impl<'p> Dispatch<'_, 'p, '_> {
    /// The method that folded thunks lead to, of the class or of its nearest base that has one in the group. `None` if the word may also
    /// mean another method: one of those that thunks lead to, or one of a base that the class inherits. `table`: the index of the table.
    pub(crate) fn by_thunk(
        &mut self,
        class: &TableClass<'_>,
        group: GroupId,
        table: usize,
    ) -> Option<FuncId> {
        let &TableClass::Known { line, numbered, .. } = class else { return None };
        if !self.looks_at(Some(Owner::Group(group)), line.len()) {
            return None;
        }
        let members = &self.index.functions.program.groups[group.index()].members;
        let targets: Vec<Vec<u8>> = members
            .iter()
            .flat_map(|member| self.names(member.function).filter_map(thunk_target).collect::<Vec<_>>())
            .collect();
        // Thunks of different methods may have been folded because their methods were: the word may mean any of these.
        let (mut found, mut method) = (Vec::new(), None);
        for (at, &class) in line.iter().enumerate() {
            for name in &targets {
                let Some(within) = self.classes.list[class].within(name) else { continue };
                if *method.get_or_insert(within) != within {
                    return None;
                }
                found.push((at, self.method(&[class], name)?));
            }
        }
        let (method, &(nearest_at, nearest)) = (method?, found.first()?);
        // Two bases may each have a method of this name, of which neither overrides the other.
        let is_overridden =
            |&(at, function): &(usize, FuncId)| function == nearest || self.overrides(line, nearest_at, at);
        if !found.iter().all(is_overridden)
            || (found.iter().any(|of| of.1 != nearest) && self.has_twice(line, &found))
        {
            return None;
        }
        // Tables other than the first lead to the methods of the class itself by thunks alone.
        let direct = if numbered && table > 0 { &line[1..] } else { line };
        let is_other = |function: FuncId| {
            let names = self.names(function).filter(|name| thunk_target(name).is_none());
            let signatures = names
                .flat_map(|name| direct.iter().filter_map(|&class| self.classes.list[class].within(name)));
            let signatures: Vec<Signature<'_>> = signatures.collect();
            !signatures.is_empty() && !signatures.contains(&method)
        };
        let has_other = members.iter().any(|member| is_other(member.function));
        (!has_other).then_some(nearest)
    }

    /// The place in the object of the pointer to a table.
    pub(crate) fn offset_of(&self, point: ImageAddr) -> Option<u64> {
        match self.words.at(point.checked_sub(2 * self.width)?) {
            // The offset from the subobject to the top of the object: 0 or negative (Itanium C++ ABI 2.5.2).
            Some(Word::Number(above)) => u64::try_from(above.checked_neg()?).ok(),
            _ => None,
        }
    }

    /// Counts that all members of a group are compared with these classes. False if too many were.
    pub(crate) fn looks_at(&mut self, owner: Option<Owner>, classes: usize) -> bool {
        if let Some(Owner::Group(group)) = owner {
            self.looked_at +=
                (self.index.functions.program.groups[group.index()].members.len() * classes) as u64;
        }
        self.lacks_words |= self.looked_at > MAX_LOOKED_AT;
        self.looked_at <= MAX_LOOKED_AT
    }

    /// The method at the slot, by the names that the bases of the class have there: a member of the group, or one that a thunk there
    /// leads to, of the class or a base of it.
    pub(crate) fn by_slot_name(
        &mut self,
        class: &TableClass<'_>,
        group: GroupId,
        slot: u16,
        point: ImageAddr,
    ) -> Option<FuncId> {
        let &TableClass::Known { class, line, numbered } = class else { return None };
        if !self.looks_at(Some(Owner::Group(group)), line.len()) {
            return None;
        }
        // Each with the number of its class in the line, and whether it is reached by a thunk.
        let mut related: Vec<(usize, FuncId, Signature<'_>, bool)> = Vec::new();
        for member in &self.index.functions.program.groups[group.index()].members {
            for name in self.names(member.function) {
                let mut of = line.iter().enumerate();
                let found = of.find_map(|(at, &class)| Some((at, self.classes.list[class].within(name)?)));
                let Some((at, rest)) = found else { continue };
                let (function, by_thunk) = match thunk_target(name) {
                    Some(method) => (self.members.program_wide(&method)?, true),
                    None => (member.function, false),
                };
                related.push((at, function, rest, by_thunk));
            }
        }
        // The comparison of all pairs below takes quadratic time.
        if related.len() > MAX_TOGETHER {
            return None;
        }
        related.sort_by_key(|of| of.0);
        // A class may have the method of this name from two bases. Then neither overrides the other. Classes of one name in two unnamed
        // namespaces may each have one.
        for (number, &(at, function, rest, _)) in related.iter().enumerate() {
            let before = related[..number].iter().find(|of| of.2 == rest);
            if before.is_some_and(|of| of.1 != function && (of.0 == at || !self.overrides(line, of.0, at))) {
                return None;
            }
        }
        if numbered {
            let offset = self.offset_of(point)?;
            let subobjects = self.classes.subobjects(class);
            let here = subobjects.iter().filter(|of| of.offset == offset);
            let name = { here.clone() }.find_map(|of| self.slot_names.of_class(of.class, slot))?;
            // A word leads to methods of other subobjects by a thunk alone.
            related.retain(|of| of.2 == name && (of.3 || here.clone().any(|base| base.class == line[of.0])));
            // Without a thunk all these methods are of classes at one place in the object. Of these classes one contains the next, so the
            // first method overrides the others.
            let by_thunk = related.iter().any(|of| of.3);
            let of_name: Vec<(usize, FuncId)> = related.iter().map(|of| (of.0, of.1)).collect();
            let &(_, first) = of_name.first()?;
            let is_one =
                of_name.iter().all(|of| of.1 == first) || !by_thunk || !self.has_twice(line, &of_name);
            return is_one.then_some(first);
        }
        let functions: Vec<(FuncId, Signature<'_>)> =
            related.into_iter().map(|(_, function, rest, _)| (function, rest)).collect();
        self.slot_names.of_any(slot, line, &functions)
    }

    /// True if a word that leads to a function may mean another method of these classes, which LLVM merged with it.
    pub(crate) fn may_replace(&self, class: &TableClass<'_>, function: FuncId) -> bool {
        self.replaces_one_of(function, |group| self.related(class, group))
    }

    /// The only member of a group that the class or one of its bases has. If it is a thunk, the method that it leads to.
    pub(crate) fn only_related(
        &self,
        class: &TableClass<'_>,
        group: GroupId,
        word: &TableWord<'_>,
    ) -> Option<FuncId> {
        // Of a class of which the bases are not known, several words that lead to the group may be inherited. From tables other than
        // the first its own methods are reached by thunks.
        let lacks_bases = self.lacks_bases(class);
        if lacks_bases && word.crowded.contains(&group) {
            return None;
        }
        let [function] = self.related_here(class, group, word.point)[..] else { return None };
        if self.has_unexplained(class, group) {
            return None;
        }
        let is_here =
            !lacks_bases || word.number == 0 || self.names(function).any(|name| thunk_target(name).is_some());
        is_here.then(|| self.behind_thunk(function))
    }

    /// The only member of the group at an address that a word of this table of the class may mean.
    pub(crate) fn only_here(
        &self,
        class: usize,
        line: &[usize],
        address: ImageAddr,
        point: ImageAddr,
    ) -> Option<FuncId> {
        let Some(Owner::Group(group)) = self.owner_at(address) else { return None };
        let of_class = TableClass::Known { class, line, numbered: true };
        match self.related_here(&of_class, group, point)[..] {
            [function] if !self.lacks_bases(&of_class) && !self.has_unexplained(&of_class, group) => {
                Some(function)
            }
            _ => None,
        }
    }

    /// True if the class or one of its bases has a method at the group's code of which only the symbol is known.
    fn has_unexplained(&self, class: &TableClass<'_>, group: GroupId) -> bool {
        let symbols = self.method_symbols.unexplained(self.index, self.image, group);
        match class {
            TableClass::Known { line, .. } => {
                line.iter().any(|&of| self.classes.list[of].key.is_some_and(|key| symbols.has_of(key)))
            }
            TableClass::Named(key) => symbols.has_of(key),
        }
    }

    /// The members of a group that a class or one of its bases has and that a word of this table may mean, with the method in place of a
    /// thunk. A word leads to methods of the class itself, and of the bases at the place in the object that the table is for;
    /// to those of other bases it leads by a thunk. `point`: the value of pointers to the table.
    pub(crate) fn related_here(
        &self,
        class: &TableClass<'_>,
        group: GroupId,
        point: ImageAddr,
    ) -> Vec<FuncId> {
        let all = self.related(class, group);
        let &TableClass::Known { class, line, numbered: true } = class else { return all };
        let is_doubtful = all.len() < 2 || self.classes.lacks_bases(line);
        let Some(offset) = self.offset_of(point).filter(|_| !is_doubtful) else { return all };
        let subobjects = self.classes.subobjects(class);
        let is_here = |class: usize| subobjects.iter().any(|of| (of.class, of.offset) == (class, offset));
        let classes_of = |function: FuncId| {
            let of = |name: &'p [u8]| {
                line.iter().filter(move |&&class| self.classes.list[class].within(name).is_some())
            };
            self.names(function).flat_map(of).copied().collect::<Vec<usize>>()
        };
        let is_elsewhere = |function: FuncId| {
            let classes = classes_of(function);
            !subobjects.is_empty() && !classes.is_empty() && !classes.into_iter().any(is_here)
        };
        let mut here: Vec<FuncId> = Vec::new();
        for function in all {
            let methods: Vec<Vec<u8>> = self.names(function).filter_map(thunk_target).collect();
            let thunks = methods.iter().map(|method| self.members.program_wide(method));
            here.extend(thunks.map(|method| method.unwrap_or(function)));
            let mut direct = self.names(function).filter(|name| thunk_target(name).is_none());
            let has_direct = methods.is_empty() || direct.next().is_some();
            if has_direct && !is_elsewhere(function) {
                here.push(function);
            }
        }
        here.sort_unstable();
        here.dedup();
        here
    }

    /// True if the bases of a class are not all known.
    pub(crate) fn lacks_bases(&self, class: &TableClass<'_>) -> bool {
        match class {
            TableClass::Known { line, .. } => self.classes.lacks_bases(line),
            TableClass::Named(_) => true,
        }
    }

    /// The members of a group that a class or one of its bases has, as far as these are known.
    pub(crate) fn related(&self, class: &TableClass<'_>, group: GroupId) -> Vec<FuncId> {
        match class {
            TableClass::Known { line, .. } => self.members.of_group(line, group),
            TableClass::Named(key) => {
                let members = &self.index.functions.program.groups[group.index()].members;
                let is_related = |function: FuncId| self.names(function).any(|name| is_of_key(name, key));
                members.iter().map(|member| member.function).filter(|f| is_related(*f)).collect()
            }
        }
    }

    /// True if a class of the line derives from another one, so that its methods override those of the other. The classes are given by
    /// their numbers in the line.
    fn overrides(&self, line: &[usize], one: usize, other: usize) -> bool {
        let bases = self.classes.ancestors(line[one], line.len());
        bases.is_some_and(|bases| bases.contains(&line[other]))
    }

    /// True if the object has two subobjects of the class of one of these methods: then a method may be overridden in one of them alone.
    fn has_twice(&self, line: &[usize], methods: &[(usize, FuncId)]) -> bool {
        let subobjects = line.first().map(|&class| self.classes.subobjects(class)).unwrap_or_default();
        let count = |class: usize| subobjects.iter().filter(|of| of.class == class).count();
        methods.iter().any(|of| count(line[of.0]) > 1)
    }
}

//! Finds the members of groups that a virtual call reaches, from the method of the static class that the call names.
//!
//! The callee is that method or an overrider in a class that derives from the static class. So only the vtables of these classes count,
//! and of each only the table for the subobject of the static class. Example: `Parcel` derives from `Item` and `Base`, and word 0 of both
//! tables leads to folded code. A call of `Base::get` on a `Parcel` goes through the second table.
//!
//! The overrider is found by name and checked by the word: the word must lead to its code, directly or by a thunk. A function that gives its
//! frame up by a tail call may show another member in its place.
//!
//! **The record proves no callee by itself.** LLVM merges the equal ends of two blocks, each with a virtual call of another class, into one,
//! and keeps one of the two records (clang 23, `if (c) { a->f(); abort(); } b->g(); abort();`). The line of the merged call is 0 unless both are
//! on one line (a macro). So a call without a line has no set, and the set of any other call rules no member out, with the object neither: its
//! class may derive from both static classes.

use std::rc::Rc;

use crate::keys::objects::class_caps::{MAX_ALL_KEYS, MAX_ANCESTORS, MAX_NAME, MAX_TARGET_STEPS, MAX_WORDS};
use crate::keys::objects::dispatch::{ClassTable, Dispatch, TableRange, parts, points};
use crate::keys::objects::hierarchy::Method;
use crate::keys::objects::virtual_calls::{StaticMethod, VirtualCall};
use crate::keys::objects::vtables::{Word, address_of};
use crate::keys::tail_calls::Reach;
use crate::model::{
    AddressRange, DispatchKey, FuncId, GroupId, ImageAddr, NONE16, Owner, TargetKey, VtableKey,
};
use crate::program::names::itanium::{overload, own_name, thunk_target};
use crate::toolchain::itanium_abi::is_no_method;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// The functions that calls of one method call.
#[derive(Default)]
struct Overriding {
    /// Sorted, distinct.
    functions: Vec<FuncId>,
    /// The pointers to the tables of a class, with the only function that runs on its objects.
    on_objects: Vec<(Vec<ImageAddr>, FuncId)>,
    /// Of each vtable of a derived class the function is known.
    is_known: bool,
}

/// A method that a class declares.
#[derive(Clone, Copy)]
struct Declared<'a> {
    class: usize,
    method: &'a Method<'a>,
}

/// The function with which a class overrides a method.
#[derive(Clone, Copy)]
struct Overrider {
    class: usize,
    function: Option<FuncId>,
    /// It has no code.
    is_pure: bool,
}

/// The vtable keys that are proven.
struct Proven {
    /// By point, slot (`None`: any call) and group.
    at: HashMap<(ImageAddr, Option<u16>, GroupId), FuncId>,
}

/// The functions to which vtables of unknown classes lead: such a class may derive from any other.
#[derive(Default)]
struct UnknownTables {
    groups: HashSet<GroupId>,
    /// They may reach any function.
    anywhere: bool,
}

/// The vtables of the program.
pub(crate) struct ProgramTables<'t> {
    pub(crate) known: &'t [ClassTable],
    /// All of them, sorted.
    pub(crate) ranges: &'t [AddressRange],
    /// The keys that they give for all calls.
    pub(crate) keys: &'t [VtableKey],
}

/// The sets of functions that virtual calls call.
#[derive(Default)]
pub(crate) struct CallTargets {
    pub(crate) dispatches: Vec<DispatchKey>,
    pub(crate) targets: Vec<TargetKey>,
    /// A limit was reached: later calls have no set.
    pub(crate) is_short: bool,
}

struct TargetSearch<'s, 'a, 'p, 'f> {
    dispatch: &'s mut Dispatch<'a, 'p, 'f>,
    steps: Budget,
    /// By class: its tables.
    tables: HashMap<usize, Vec<ClassTable>>,
    /// By class: the classes that derive from it, itself included.
    derived: HashMap<usize, Vec<usize>>,
    /// By class that is in `derived`: itself and all its bases, sorted.
    lines: HashMap<usize, Vec<usize>>,
    /// Virtual methods by their plain name.
    by_name: HashMap<&'a [u8], Vec<Declared<'a>>>,
    known: HashMap<StaticMethod, Rc<Overriding>>,
    unknown: UnknownTables,
    proven: Proven,
}

/// Finds the sets of these calls. `words_missing`: not all vtables of the program are known.
pub(crate) fn call_targets(
    dispatch: &mut Dispatch<'_, '_, '_>,
    calls: &[VirtualCall],
    tables: &ProgramTables<'_>,
    words_missing: bool,
) -> CallTargets {
    let mut found = CallTargets::default();
    if calls.is_empty() {
        return found;
    }
    let mut finder = TargetSearch::new(dispatch, tables);
    // By the methods that a call may name: the set, if it has members.
    let mut sets: HashMap<&[StaticMethod], Option<u32>> = HashMap::default();
    for call in calls {
        let set = sets.entry(&call.methods).or_insert_with(|| {
            let number = found.targets.last().map_or(0, |last| last.set + 1);
            let mut keys = finder.set(number, &call.methods, words_missing);
            found.is_short |= finder.steps.is_short() || found.targets.len() + keys.len() > MAX_ALL_KEYS;
            if found.is_short || keys.is_empty() {
                return None;
            }
            found.targets.append(&mut keys);
            Some(number)
        });
        found.dispatches.extend(set.map(|set| DispatchKey {
            return_addr: call.return_addr,
            set,
            by_type: false,
        }));
    }
    found
}

impl<'s, 'a, 'p, 'f> TargetSearch<'s, 'a, 'p, 'f> {
    fn new(dispatch: &'s mut Dispatch<'a, 'p, 'f>, tables: &ProgramTables<'_>) -> Self {
        let classes = dispatch.classes;
        let mut derived: HashMap<usize, Vec<usize>> = HashMap::default();
        let mut lines = HashMap::default();
        let mut by_name: HashMap<&[u8], Vec<Declared<'_>>> = HashMap::default();
        for (class, described) in classes.list.iter().enumerate() {
            let Some(mut line) = classes.ancestors(class, MAX_ANCESTORS) else { continue };
            line.iter().for_each(|&base| derived.entry(base).or_default().push(class));
            line.sort_unstable();
            lines.insert(class, line);
            for method in described.methods.iter().filter(|of| of.is_virtual && !of.is_destructor()) {
                by_name.entry(method.name).or_default().push(Declared { class, method });
            }
        }
        let mut by_class: HashMap<usize, Vec<ClassTable>> = HashMap::default();
        tables.known.iter().for_each(|table| by_class.entry(table.class).or_default().push(*table));
        let mut at = HashMap::default();
        for key in tables.keys.iter().filter(|key| !key.doubtful) {
            let groups = dispatch.index.functions.groups(key.function);
            at.extend(groups.map(|group| ((key.point, key.slot, group), key.function)));
        }
        let mut finder = TargetSearch {
            dispatch,
            steps: Budget::new(MAX_TARGET_STEPS),
            tables: by_class,
            derived,
            lines,
            by_name,
            known: HashMap::default(),
            unknown: UnknownTables::default(),
            proven: Proven { at },
        };
        finder.unknown = finder.unknown_tables(tables);
        finder
    }

    /// The functions of tables whose class, or some base of it, is not known.
    fn unknown_tables(&mut self, tables: &ProgramTables<'_>) -> UnknownTables {
        let classes = self.dispatch.classes;
        let lacks_bases = |class: usize| self.lines.get(&class).is_none_or(|line| classes.lacks_bases(line));
        let known = tables.known.iter().filter(|table| !lacks_bases(table.class));
        let known: HashSet<ImageAddr> = known.map(|table| table.address).collect();
        let mut unknown = UnknownTables::default();
        let width = self.dispatch.width.max(1);
        for range in tables.ranges.iter().filter(|range| !known.contains(&range.start)) {
            if !self.steps.spend((range.len() / width) as usize) {
                unknown.anywhere = true;
                break;
            }
            for place in (range.start.0..range.end.0).step_by(width as usize) {
                let word = self.dispatch.words.at(ImageAddr(place));
                if !self.dispatch.is_function(word) {
                    continue;
                }
                match self.dispatch.owner_at_word(ImageAddr(place)) {
                    Some(Owner::Group(group)) => {
                        unknown.groups.extend(self.dispatch.led_to(group).iter().copied());
                    }
                    Some(Owner::Function(function)) => {
                        let function = self.dispatch.behind_thunk(function);
                        let reach = self.dispatch.reach_of(function);
                        unknown.anywhere |= reach.unknown;
                        let all = reach.members.iter().copied().chain([function]);
                        unknown.groups.extend(all.flat_map(|of| self.dispatch.index.functions.groups(of)));
                    }
                    None => unknown.anywhere = true,
                }
            }
        }
        unknown
    }

    /// The keys of the set of calls that name one of these methods; none if the set has no member of a group.
    fn set(&mut self, set: u32, methods: &[StaticMethod], words_missing: bool) -> Vec<TargetKey> {
        let all: Vec<Rc<Overriding>> = methods.iter().map(|method| self.overriding(*method)).collect();
        let mut functions: Vec<FuncId> = all.iter().flat_map(|of| of.functions.iter().copied()).collect();
        functions.sort_unstable();
        functions.dedup();
        let mut reached: HashMap<GroupId, HashSet<FuncId>> = HashMap::default();
        if !functions.iter().any(|function| self.dispatch.may_lead_into_group[function.index()]) {
            return Vec::new();
        }
        for &function in &functions {
            let reach: Rc<Reach> = self.dispatch.reach_of(function);
            for &member in &reach.members {
                for group in self.dispatch.index.functions.groups(member) {
                    reached.entry(group).or_default().insert(member);
                }
            }
        }
        let index = self.dispatch.index;
        let is_known = all.iter().all(|of| of.is_known) && !words_missing;
        let mut members: Vec<(GroupId, FuncId)> = functions
            .iter()
            .flat_map(|&function| index.functions.groups(function).map(move |group| (group, function)))
            .chain(reached.iter().flat_map(|(&group, all)| all.iter().map(move |&member| (group, member))))
            .collect();
        members.sort_unstable();
        members.dedup();
        let mut doubted: HashSet<GroupId> = HashSet::default();
        for same in members.chunk_by(|a, b| a.0 == b.0) {
            let group = same[0].0;
            let is_other = |&(_, function): &(GroupId, FuncId)| self.may_be_other(function);
            if !is_known || self.unknown.groups.contains(&group) || same.iter().any(is_other) {
                doubted.insert(group);
            }
        }
        let key = |function, point, doubtful| TargetKey { set, point, function, doubtful };
        let mut keys: Vec<TargetKey> =
            members.iter().map(|&(group, function)| key(function, None, doubted.contains(&group))).collect();
        // Calls in folded code may name several methods, of which nothing shows which it was.
        let on_objects = match &all[..] {
            [of] => &of.on_objects[..],
            _ => &[],
        };
        for (points, function) in on_objects {
            let groups: Vec<GroupId> = index.functions.groups(*function).collect();
            if groups.is_empty() {
                continue;
            }
            for &point in points {
                let mut proven =
                    groups.iter().filter_map(|group| self.proven.at.get(&(point, None, *group)).copied());
                let other = proven.next();
                let of_slot = methods.iter().any(|of| {
                    groups.iter().any(|group| self.proven.at.contains_key(&(point, Some(of.slot), *group)))
                });
                // The key of the table says as much, or more.
                if other.is_some() || of_slot {
                    continue;
                }
                keys.push(key(*function, Some(point), true));
            }
        }
        keys.sort_unstable();
        keys.dedup_by(|next, kept| {
            let same = (next.point, next.function) == (kept.point, kept.function);
            kept.doubtful |= same && next.doubtful;
            same
        });
        keys
    }

    /// True if the code of a function may be that of another function that nothing names there.
    fn may_be_other(&self, function: FuncId) -> bool {
        let index = self.dispatch.index;
        self.dispatch.replaces_some(function)
            || index.replaced.contains(function)
            || index.functions.placed.tied.contains(&function)
    }

    fn overriding(&mut self, method: StaticMethod) -> Rc<Overriding> {
        if let Some(known) = self.known.get(&method) {
            return known.clone();
        }
        let name = method.name.map(|name| self.dispatch.index.functions.text(name));
        let mut found = match name {
            Some(name) => self.overriders(method.class, name, method.slot),
            None => self.destructors(method.class),
        };
        found.functions.sort_unstable();
        found.functions.dedup();
        let found = Rc::new(found);
        self.known.insert(method, found.clone());
        found
    }

    /// The destructors of a class and of those that derive from it. Nothing shows at which words of their vtables they are.
    fn destructors(&mut self, class: usize) -> Overriding {
        let Dispatch { classes, members, index, .. } = *self.dispatch;
        let mut found = Overriding { is_known: true, ..Overriding::default() };
        for &derived in self.derived.get(&class).map_or(&[][..], |derived| derived) {
            let of = &classes.list[derived];
            let Some(key) = of.key.filter(|_| self.steps.spend(1)) else {
                found.is_known = false;
                continue;
            };
            // A deleting, a complete and a base destructor (Itanium C++ ABI 5.1.4).
            let names = [&b"D0Ev"[..], b"D1Ev", b"D2Ev"].map(|end| [b"_ZN", key, end].concat());
            found.functions.extend(names.iter().filter_map(|name| members.function(of, name)));
            for (_, listed) in members.of(&[derived]) {
                let is_destructor = |function: &FuncId| {
                    let mut within = index.functions.names(*function).filter_map(|name| of.within(name));
                    within.any(|within| matches!(within.rest, b"D0Ev" | b"D1Ev" | b"D2Ev" | b"D4Ev"))
                };
                found.functions.extend(listed.into_iter().filter(is_destructor));
            }
        }
        found
    }

    /// The functions that override a method, itself included, on objects of each class that derives from its class.
    fn overriders(&mut self, class: usize, name: &[u8], slot: u16) -> Overriding {
        let Dispatch { classes, members, .. } = *self.dispatch;
        let derived = self.derived.get(&class).cloned().unwrap_or_default();
        let mut found = Overriding { is_known: slot != NONE16, ..Overriding::default() };
        // The classes with an overrider. `derived` is sorted.
        let mut declaring: Vec<Overrider> = Vec::new();
        let plain = own_name(name).unwrap_or_default();
        for &Declared { class: of, method } in self.by_name.get(&*plain).map_or(&[][..], |all| all) {
            if derived.binary_search(&of).is_ok() && may_override(method.linkage_name, name) {
                let function = members.method(&classes.list[of], method);
                declaring.push(Overrider { class: of, function, is_pure: method.is_pure });
            }
        }
        found.is_known &= !declaring.windows(2).any(|pair| pair[0].class == pair[1].class);
        // Classes that no unit describes: their methods are known by their names.
        let own = classes.list[class].within(name);
        for &of in &derived {
            let (Some(own), Some(key)) = (own, classes.list[of].key) else { continue };
            if !classes.list[of].described {
                let name = [b"_ZN", own.qualifiers, key, own.rest].concat();
                let function = members.function(&classes.list[of], &name);
                if function.is_some() || of == class {
                    declaring.push(Overrider { class: of, function, is_pure: false });
                }
            }
        }
        for &object in &derived {
            if !self.steps.spend(1 + declaring.len() * declaring.len().min(4)) {
                found.is_known = false;
                break;
            }
            self.on_class(object, (class, slot), &declaring, &mut found);
        }
        found
    }

    /// Adds the functions that run on objects of one class.
    fn on_class(
        &mut self,
        object: usize,
        (class, slot): (usize, u16),
        declaring: &[Overrider],
        found: &mut Overriding,
    ) {
        let classes = self.dispatch.classes;
        let Some(line) = self.lines.get(&object) else { return };
        let here: Vec<Overrider> =
            declaring.iter().filter(|of| line.binary_search(&of.class).is_ok()).copied().collect();
        // A method is overridden if a class with another one derives from its class.
        let derives = |one: usize, other: usize| {
            one != other && self.lines.get(&one).is_some_and(|line| line.binary_search(&other).is_ok())
        };
        let last: Vec<Overrider> = { here.iter() }
            .filter(|of| !here.iter().any(|other| derives(other.class, of.class)))
            .copied()
            .collect();
        let functions: Vec<FuncId> = last.iter().filter_map(|of| of.function).collect();
        found.functions.extend(functions.iter().copied());
        let is_abstract = last.iter().all(|of| of.is_pure);
        let lacks_bases = classes.lacks_bases(line);
        let numbered = classes.is_numbered(line);
        for table in self.tables.get(&object).cloned().unwrap_or_default() {
            // No object points to it once it is constructed, and before that a call of the method ends the program.
            if is_abstract && !lacks_bases {
                continue;
            }
            let Dispatch { words, width, .. } = *self.dispatch;
            if !self.steps.spend((table.size / width.max(1)).min(MAX_WORDS) as usize) {
                found.is_known = false;
                return;
            }
            let read = match numbered {
                true => parts(words, table.address, table.size, width),
                false => points(words, table.address, table.size, width),
            };
            let tables = read.unwrap_or_default();
            let of_table = match numbered {
                true => self.at_slot(object, (class, slot), &tables, &functions),
                // A class with too many words has no tables here.
                false if tables.is_empty() => WordTarget::Unknown,
                false => self.anywhere(&table, &functions),
            };
            match of_table {
                _ if lacks_bases => found.is_known = false,
                WordTarget::Unknown => found.is_known = false,
                WordTarget::One(function) => {
                    let points = tables.iter().map(|table| table.point).collect();
                    found.on_objects.push((points, function));
                }
                WordTarget::Elsewhere | WordTarget::Several | WordTarget::Nobody => {}
            }
        }
    }

    /// The function to which the tables of an object lead at a slot of the subobjects of a class.
    fn at_slot(
        &self,
        object: usize,
        (class, slot): (usize, u16),
        tables: &[TableRange],
        functions: &[FuncId],
    ) -> WordTarget {
        let subobjects = self.dispatch.classes.subobjects(object);
        let offsets = subobjects.iter().filter(|of| of.class == class).map(|of| of.offset);
        let mut found: Option<WordTarget> = None;
        for offset in offsets {
            let mut here = tables.iter().filter(|table| self.dispatch.offset_of(table.point) == Some(offset));
            let (Some(table), None) = (here.next(), here.next()) else { return WordTarget::Unknown };
            let Some(place) = table.point.checked_add(u64::from(slot) * self.dispatch.width) else {
                return WordTarget::Unknown;
            };
            if place >= table.end {
                return WordTarget::Unknown;
            }
            let at = match self.dispatch.words.at(place) {
                Some(word) if functions.is_empty() && self.is_pure(word) => WordTarget::Nobody,
                Some(Word::Number(address)) => self.only(functions, |of| self.leads(address_of(address), of)),
                Some(Word::Named(name)) => {
                    let target = thunk_target(name);
                    let name = target.as_deref().unwrap_or(name);
                    let is_named = |of: FuncId| self.dispatch.names(of).any(|own| own == name);
                    match functions.iter().any(|of| is_named(*of)) {
                        true => self.only(functions, is_named),
                        false => WordTarget::Elsewhere,
                    }
                }
                _ => WordTarget::Unknown,
            };
            found = Some(match (found, at) {
                (None, at) => at,
                (Some(WordTarget::One(one)), WordTarget::One(other)) if one == other => WordTarget::One(one),
                (Some(WordTarget::One(_) | WordTarget::Several), WordTarget::One(_)) => WordTarget::Several,
                _ => return WordTarget::Unknown,
            });
        }
        found.unwrap_or(WordTarget::Unknown)
    }

    /// True for the word of an abstract method: a call ends the program.
    fn is_pure(&self, word: Word<'_>) -> bool {
        match word {
            Word::Named(name) => is_no_method(name),
            Word::Number(address) => match self.dispatch.owner_at(address_of(address)) {
                Some(Owner::Function(function)) => self.dispatch.names(function).any(is_no_method),
                _ => false,
            },
            Word::Object(..) | Word::Unknown => false,
        }
    }

    /// The only function of a class with virtual bases, if some word of its tables leads to it: the numbers of the words are not known.
    fn anywhere(&self, table: &ClassTable, functions: &[FuncId]) -> WordTarget {
        let &[function] = functions else { return WordTarget::Unknown };
        let end = table.address.saturating_add(table.size);
        let mut places = (table.address.0..end.0).step_by(self.dispatch.width.max(1) as usize);
        let leads = |place: u64| match self.dispatch.words.at(ImageAddr(place)) {
            Some(Word::Number(address)) => self.leads(address_of(address), function),
            _ => false,
        };
        if places.any(leads) { WordTarget::One(function) } else { WordTarget::Unknown }
    }

    fn only(&self, functions: &[FuncId], is_it: impl Fn(FuncId) -> bool) -> WordTarget {
        let mut all = functions.iter().copied().filter(|function| is_it(*function));
        match (all.next(), all.next()) {
            (Some(function), None) => WordTarget::One(function),
            _ => WordTarget::Unknown,
        }
    }

    /// True if a word with this address leads to a function: the code is its own, or that of a thunk to it.
    fn leads(&self, address: ImageAddr, function: FuncId) -> bool {
        if self.dispatch.index.functions.starts[function.index()] == address {
            return true;
        }
        let program = self.dispatch.index.functions.program;
        let is_thunk = |thunk: FuncId| {
            let mut targets = self.dispatch.names(thunk).filter_map(thunk_target);
            targets.any(|target| self.dispatch.names(function).any(|name| name == target))
        };
        match self.dispatch.owner_at(address) {
            Some(Owner::Function(thunk)) => is_thunk(thunk),
            Some(Owner::Group(group)) => {
                let members = &program.groups[group.index()].members;
                self.steps.spend(members.len()) && members.iter().any(|member| is_thunk(member.function))
            }
            None => false,
        }
    }
}

/// The function at a word of the vtables of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordTarget {
    One(FuncId),
    /// Different ones, each known: the object has several subobjects of the static class.
    Several,
    /// The method is abstract.
    Nobody,
    /// A function of another module.
    Elsewhere,
    Unknown,
}

/// True if a method may override the method of the same plain name of a base. If a linkage name does not show which overload it is, it may.
fn may_override(one: &[u8], other: &[u8]) -> bool {
    let both = one.len() <= MAX_NAME && other.len() <= MAX_NAME;
    let overloads = both.then(|| overload(one).zip(overload(other))).flatten();
    overloads.is_none_or(|(one, other)| one == other)
}

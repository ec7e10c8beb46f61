//! Finds the functions that a virtual call through a slot reaches on objects of a class, from the words of the
//! class's vtables.
//!
//! An object has a vtable for each of its subobjects that has virtual methods. A call goes through one of these
//! tables. The function may run with the pointer of another subobject: a thunk adjusts the pointer on the way. So a
//! slot identifies a function only if it leads to the same function in every table that has the slot. In the first
//! table, the class's own slot numbers apply: the method is the one of this number in the most derived class that
//! declares it, and the word must lead to that method's code. An only declared class ends the search. In the other
//! tables a word leads to a thunk, whose symbol names the method, or to a function that shares its code with no
//! other.
//!
//! A method that is reached may give up its frame by a tail call. The functions that it reaches so count as reached,
//! and if they are unknown, the answer is doubtful. This holds for methods of all classes: a method may tail-call a
//! method of another object (`return inner->handle()`), and the frame then shows that other object. So a slot
//! identifies nothing if the function at the slot in any table may jump to unknown code, or to another member of the
//! group.

use std::rc::Rc;

use crate::diagnostics::ClassCap;
use crate::keys::index::Index;
use crate::keys::objects::class_caps::{MAX_BEGINS, MAX_OBJECT, MAX_PARTS, MAX_PASSED_ON, MAX_WORDS};
use crate::keys::objects::hierarchy::Classes;
use crate::keys::objects::members::Members;
use crate::keys::objects::method_symbols::MethodSymbols;
use crate::keys::objects::slot_names::SlotNames;
use crate::keys::objects::vtables::{Word, Words, address_of};
use crate::keys::tail_calls::{JumpsOf, Reach};
use crate::model::{FuncId, GroupId, ImageAddr, Owner};
use crate::open::Image;
use crate::program::names::itanium::thunk_target;
use crate::toolchain::itanium_abi::is_no_method;
use crate::util::hash::{HashMap, HashSet};

/// The vtable of a known class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClassTable {
    /// The address of its symbol.
    pub(crate) address: ImageAddr,
    /// The bytes of the symbol.
    pub(crate) size: u64,
    /// Index into [`Classes::list`].
    pub(crate) class: usize,
}

/// A vtable of a class.
#[derive(Clone, Copy)]
pub(crate) struct TableRange {
    /// The value of a pointer to it: the address of its slot 0.
    pub(crate) point: ImageAddr,
    /// The address after it.
    pub(crate) end: ImageAddr,
}

impl TableRange {
    /// The number of its words of `width` bytes.
    pub(crate) fn words(self, width: u64) -> u64 {
        self.end.0.saturating_sub(self.point.0) / width
    }
}

/// The vtables under a class's symbol; none if the first is not at its place. Each table follows two words. The first
/// of these is the offset from the subobject with the pointer to the start of the object: negative in all tables but
/// the first (Itanium C++ ABI 2.5.2).
///
/// # Errors
/// There are too many words or tables.
pub(crate) fn parts(
    words: &Words<'_, '_>,
    address: ImageAddr,
    size: u64,
    width: u64,
) -> Result<Vec<TableRange>, ClassCap> {
    let mut parts: Vec<TableRange> = Vec::new();
    let Some(end) = end_of_words(address, size, width)? else { return Ok(parts) };
    // The first table is that of the whole object, so the offset to its start is 0 (Itanium C++ ABI 2.5.2).
    if !matches!(words.at(address), None | Some(Word::Number(0))) {
        return Ok(parts);
    }
    parts.push(TableRange { point: address + 2 * width, end });
    // The first two words are those of the first table. A table that began in the last two would have no function.
    for at in 2..(size / width).saturating_sub(2) {
        let place = address + at * width;
        if let Some(Word::Number(above)) = words.at(place)
            && (-MAX_OBJECT..0).contains(&above)
        {
            if parts.len() >= MAX_PARTS {
                return Err(ClassCap::Parts);
            }
            if let Some(last) = parts.last_mut() {
                last.end = place;
            }
            parts.push(TableRange { point: place + 2 * width, end });
        }
    }
    Ok(parts)
}

/// The end of a table's words. `None` if it has too few, or reaches beyond the last address.
fn end_of_words(address: ImageAddr, size: u64, width: u64) -> Result<Option<ImageAddr>, ClassCap> {
    match address.checked_add(size) {
        Some(_) if size / width > MAX_WORDS => Err(ClassCap::LongTables),
        end => Ok(end.filter(|_| size / width >= 3)),
    }
}

/// The same for a class with virtual bases: the possible values of a pointer to one of its tables. Such a table also
/// begins with the offsets of the virtual bases and with the adjustments of their functions, which may be any
/// numbers. So each word counts that may be the offset to the start of the object. A value that no pointer has does
/// no harm. The slot numbers of the words are not known there.
///
/// # Errors
/// There are too many words or values.
pub(crate) fn points(
    words: &Words<'_, '_>,
    address: ImageAddr,
    size: u64,
    width: u64,
) -> Result<Vec<TableRange>, ClassCap> {
    let mut points: Vec<TableRange> = Vec::new();
    let Some(end) = end_of_words(address, size, width)? else { return Ok(points) };
    // `end_of_words` made sure of three words.
    for at in 0..size / width - 2 {
        let place = address + at * width;
        let Some(Word::Number(above)) = words.at(place) else { continue };
        // The next word is the address of the type information, or 0.
        let described = !matches!(words.at(place + width), None | Some(Word::Number(..0)));
        if (-MAX_OBJECT..=0).contains(&above) && described {
            if points.len() >= MAX_PARTS {
                return Err(ClassCap::Parts);
            }
            points.push(TableRange { point: place + 2 * width, end });
        }
    }
    Ok(points)
}

/// Adds to `all` what one more function reaches. True if the functions became more than `most` by that. From then on `all` counts as
/// reaching unknown functions. (False if it did so before.)
fn add_reached(all: &mut Reach, reach: &Reach, most: usize) -> bool {
    let new = reach.members.iter().filter(|member| !all.members.contains(member));
    let new: Vec<FuncId> = new.copied().collect();
    all.members.extend(new);
    let is_far = !all.unknown && !reach.unknown && all.members.len() > most;
    all.unknown |= reach.unknown || is_far;
    is_far
}

/// A method that calls through a slot reach.
pub(crate) struct Reached {
    pub(crate) slot: u16,
    pub(crate) function: FuncId,
    /// Another member of the group may have run.
    pub(crate) doubtful: bool,
}

pub(crate) struct Dispatch<'a, 'p, 'f> {
    pub(crate) index: &'a Index<'p, 'f>,
    pub(crate) classes: &'a Classes<'a>,
    pub(crate) members: &'a Members<'a, 'p, 'f>,
    pub(crate) words: &'a Words<'a, 'f>,
    pub(crate) image: &'a Image<'f>,
    pub(crate) width: u64,
    /// Slots that the program calls through.
    pub(crate) slots: &'a [u16],
    pub(crate) slot_names: SlotNames<'a>,
    /// By function: whether it is a member of a group or may reach one by tail calls.
    pub(crate) may_lead_into_group: &'a [bool],
    pub(crate) reach: HashMap<FuncId, Rc<Reach>>,
    pub(crate) jumps: JumpsOf,
    /// By slot: the members that the functions at it reach, in all tables.
    pub(crate) passed_on: HashMap<u16, Reach>,
    /// Slots whose functions reach too many members.
    pub(crate) far_slots: Vec<u16>,
    /// By group: the groups of all parts of its members.
    pub(crate) run_on: HashMap<GroupId, Rc<Vec<GroupId>>>,
    /// By group: the result of [`Dispatch::led_directly_to`].
    pub(crate) led_directly: HashMap<GroupId, Rc<Vec<GroupId>>>,
    /// By group: the groups that a word with its address may lead to.
    pub(crate) led: HashMap<GroupId, Rc<Vec<GroupId>>>,
    pub(crate) method_symbols: MethodSymbols<'f>,
    /// Words and methods that were looked at for guesses.
    pub(crate) guessed_at: u64,
    /// Members of groups visited for words of tables.
    pub(crate) looked_at: u64,
    /// Some words of tables were not read.
    pub(crate) lacks_words: bool,
    /// The first table of which some words were not read, because it has too many that lead to groups.
    pub(crate) long_table: Option<ImageAddr>,
}

impl<'a, 'p, 'f> Dispatch<'a, 'p, 'f> {
    /// The methods that calls through slots reach, if each is the only one of its group.
    pub(crate) fn reached(&mut self, class: usize, line: &[usize], parts: &[TableRange]) -> Vec<Reached> {
        let mut all = Vec::new();
        let longest = parts.iter().map(|part| part.words(self.width)).max().unwrap_or(0);
        let slots = self.slots;
        let crowded = if self.classes.lacks_bases(line) { self.crowded(parts) } else { HashSet::default() };
        for &slot in slots.iter().take_while(|&&slot| u64::from(slot) < longest) {
            let Some(direct) = self.direct(class, line, parts, slot, &crowded) else { continue };
            // Most slots lead into no group, and to follow tail calls is costly.
            if !direct.iter().any(|function| self.may_lead_into_group[function.index()]) {
                continue;
            }
            let (mut functions, mut doubtful) = (direct.clone(), false);
            for function in direct {
                let reach = self.reach_of(function);
                functions.extend(reach.members.iter().copied());
                doubtful |= reach.unknown;
            }
            functions.sort_unstable();
            functions.dedup();
            let mut count: HashMap<GroupId, u32> = HashMap::default();
            let groups = functions.iter().flat_map(|function| self.index.functions.groups(*function));
            groups.for_each(|group| *count.entry(group).or_default() += 1);
            for &function in &functions {
                let groups = || self.index.functions.groups(function);
                // A key holds in all groups of its function.
                if groups().next().is_none() || groups().any(|group| count[&group] > 1) {
                    continue;
                }
                let others = |group| {
                    self.members.unexcluded(group, &[function]) || self.is_passed_on(slot, group, function)
                };
                let doubtful = doubtful || groups().any(others);
                all.push(Reached { slot, function, doubtful });
            }
        }
        all
    }

    /// The function or the group whose code begins at an address.
    pub(crate) fn owner_at(&self, address: ImageAddr) -> Option<Owner> {
        self.index.owner_at(address)
    }

    /// The function or the group to which the word of a table at `place` leads.
    pub(crate) fn owner_at_word(&self, place: ImageAddr) -> Option<Owner> {
        match self.words.at(place)? {
            Word::Named(name) => self.members.program_wide(name).map(Owner::Function),
            Word::Number(address) => self.owner_at(address_of(address)),
            Word::Object(..) | Word::Unknown => None,
        }
    }

    /// The method that a thunk leads to, or the function itself if it is no thunk.
    pub(crate) fn behind_thunk(&self, function: FuncId) -> FuncId {
        let method = self.names(function).find_map(thunk_target);
        method.and_then(|method| self.members.program_wide(&method)).unwrap_or(function)
    }

    /// The groups of all parts of a function, or of all members of a group: code that begins there may run on in any of them. Each
    /// once.
    pub(crate) fn groups_of(&mut self, owner: Option<Owner>) -> Rc<Vec<GroupId>> {
        match owner {
            None => Rc::default(),
            Some(Owner::Function(function)) => Rc::new(self.index.functions.groups(function).collect()),
            Some(Owner::Group(group)) => {
                let index = self.index;
                // Any number of words may lead to one group, and its members are visited once.
                let all = self.run_on.entry(group).or_insert_with(|| {
                    let members = index.functions.program.groups[group.index()].members.iter();
                    let mut groups: Vec<GroupId> =
                        members.flat_map(|member| index.functions.groups(member.function)).collect();
                    groups.sort_unstable();
                    groups.dedup();
                    Rc::new(groups)
                });
                all.clone()
            }
        }
    }

    /// The group, and the groups of the methods that its thunks lead to.
    pub(crate) fn led_directly_to(&mut self, group: GroupId) -> Rc<Vec<GroupId>> {
        if let Some(known) = self.led_directly.get(&group) {
            return known.clone();
        }
        let mut groups = self.groups_of(Some(Owner::Group(group))).to_vec();
        for member in &self.index.functions.program.groups[group.index()].members {
            let methods = self.names(member.function).filter_map(thunk_target);
            let methods = methods.filter_map(|method| self.members.program_wide(&method));
            groups.extend(methods.flat_map(|method| self.index.functions.groups(method)));
        }
        groups.sort_unstable();
        groups.dedup();
        let groups = Rc::new(groups);
        self.led_directly.insert(group, groups.clone());
        groups
    }

    /// The group, and the groups that its members give their frames to: a word that leads to folded thunks may mean
    /// any of them.
    pub(crate) fn led_to(&mut self, group: GroupId) -> Rc<Vec<GroupId>> {
        if let Some(known) = self.led.get(&group) {
            return known.clone();
        }
        let mut groups = self.groups_of(Some(Owner::Group(group))).to_vec();
        let program = self.index.functions.program;
        for member in &program.groups[group.index()].members {
            let methods: Vec<FuncId> = self
                .names(member.function)
                .filter_map(thunk_target)
                .filter_map(|method| self.members.program_wide(&method))
                .collect();
            let reach = self.reach_of(member.function);
            let reached = methods.iter().chain(&reach.members);
            groups.extend(reached.flat_map(|function| self.index.functions.groups(*function)));
        }
        groups.sort_unstable();
        groups.dedup();
        let groups = Rc::new(groups);
        self.led.insert(group, groups.clone());
        groups
    }

    /// How many words of a class's tables lead to each group. The tables follow each other, and may overlap.
    pub(crate) fn words_into_groups(&mut self, parts: &[TableRange]) -> HashMap<GroupId, u32> {
        // Words are counted by owner first: the groups of a large group's members are added once for all its words.
        let mut owners: HashMap<Owner, u32> = HashMap::default();
        let start = parts.iter().map(|part| part.point).min().unwrap_or(ImageAddr(0));
        let end = parts.iter().map(|part| part.end).max().unwrap_or(ImageAddr(0));
        for place in (start.0..end.0).step_by(self.width.max(1) as usize) {
            if let Some(owner) = self.owner_at_word(ImageAddr(place)) {
                *owners.entry(owner).or_default() += 1;
            }
        }
        let mut counts: HashMap<GroupId, u32> = HashMap::default();
        for (owner, words) in owners {
            for &group in &*self.groups_of(Some(owner)) {
                *counts.entry(group).or_default() += words;
            }
        }
        counts
    }

    /// The groups to which several words of tables lead.
    pub(crate) fn crowded(&mut self, tables: &[TableRange]) -> HashSet<GroupId> {
        let words = self.words_into_groups(tables).into_iter();
        words.filter(|words| words.1 > 1).map(|words| words.0).collect()
    }

    /// Reads the function at each slot of a table of any class, known or not: functions follow words that are no
    /// code, in the order of their slots. Takes a step for each word, and gives up when the steps run out.
    pub(crate) fn look_at(&mut self, address: ImageAddr, size: u64) {
        let (slots, words) = (self.slots, self.words);
        // The slots that the word may have. Slot 0 is the first function, also behind an erased word.
        let (mut begins, mut erased): (Vec<u64>, bool) = (Vec::new(), false);
        for at in 0..(size / self.width).min(MAX_WORDS) {
            let word = words.at(address.saturating_add(at * self.width));
            if !self.is_function(word) {
                // One 0 between functions may be an erased function, or a number before the next table: slots are counted from
                // both places. A second 0, or any other word that is no function, ends the table.
                let gap = word == Some(Word::Number(0)) && !begins.is_empty() && !erased;
                (begins, erased) = (if gap { begins } else { Vec::new() }, gap);
                continue;
            }
            if begins.is_empty() || erased {
                begins.truncate(MAX_BEGINS);
                begins.push(at);
            }
            erased = false;
            let is_open = |slot: &u16| {
                slots.binary_search(slot).is_ok()
                    && self.passed_on.get(slot).is_none_or(|passed_on| !passed_on.unknown)
            };
            let here = begins.iter().filter_map(|begin| u16::try_from(at - begin).ok());
            let here: Vec<u16> = here.filter(is_open).collect();
            if here.is_empty() {
                continue;
            }
            let functions = word.and_then(|word| self.functions(word));
            for slot in here {
                self.pass_on(slot, functions.as_deref());
            }
        }
    }

    /// True for the word of a function.
    pub(crate) fn is_function(&self, word: Option<Word<'_>>) -> bool {
        match word {
            Some(Word::Number(number)) => self.index.functions.machine.is_code(address_of(number)),
            Some(Word::Named(_)) => true,
            Some(Word::Object(..) | Word::Unknown) | None => false,
        }
    }

    /// Adds the functions that a slot reaches; `None` for unknown functions.
    fn pass_on(&mut self, slot: u16, functions: Option<&[FuncId]>) {
        let mut passed_on = self.passed_on.remove(&slot).unwrap_or_default();
        passed_on.unknown |= functions.is_none();
        for &function in functions.unwrap_or_default() {
            if passed_on.unknown {
                break;
            }
            if add_reached(&mut passed_on, &self.reach_of(function), MAX_PASSED_ON) {
                self.far_slots.push(slot);
            }
        }
        self.passed_on.insert(slot, passed_on);
    }

    /// The functions that a word of a table leads to, with the method in place of a thunk; `None` if they are not
    /// known.
    fn functions(&self, word: Word<'_>) -> Option<Vec<FuncId>> {
        let address = match word {
            // This function ends the program.
            Word::Named(name) if is_no_method(name) => return Some(Vec::new()),
            Word::Named(name) => {
                let method = thunk_target(name);
                return Some(vec![self.members.program_wide(method.as_deref().unwrap_or(name))?]);
            }
            Word::Number(address) => address_of(address),
            Word::Object(..) | Word::Unknown => return None,
        };
        let program = self.index.functions.program;
        let members = match self.owner_at(address)? {
            Owner::Function(function) => vec![function],
            Owner::Group(group) => {
                program.groups[group.index()].members.iter().map(|member| member.function).collect()
            }
        };
        let mut functions = Vec::new();
        for member in members {
            let targets: Vec<Vec<u8>> = self.names(member).filter_map(thunk_target).collect();
            if targets.is_empty() {
                functions.push(member);
            }
            for method in targets {
                functions.push(self.members.program_wide(&method)?);
            }
        }
        Some(functions)
    }

    /// True if a call through a slot may be passed on to another member of the same group.
    fn is_passed_on(&self, slot: u16, group: GroupId, function: FuncId) -> bool {
        let other = |&member: &FuncId| {
            member != function && self.index.functions.groups(member).any(|of_member| of_member == group)
        };
        let passed_on = self.passed_on.get(&slot);
        passed_on.is_some_and(|reach| reach.unknown || reach.members.iter().any(other))
    }

    /// All names of a function.
    pub(crate) fn names(&self, function: FuncId) -> impl Iterator<Item = &'p [u8]> + use<'a, 'p, 'f> {
        let index = self.index;
        index.functions.names(function)
    }

    pub(crate) fn reach_of(&mut self, function: FuncId) -> Rc<Reach> {
        let index = self.index;
        let jumps = &mut self.jumps;
        self.reach.entry(function).or_insert_with(|| Rc::new(index.reach(jumps, function))).clone()
    }

    /// The functions that calls through a slot call, in any of the tables; `None` if one of them is not known.
    /// `crowded`: the groups of which nothing shows which member a word means.
    fn direct(
        &self,
        class: usize,
        line: &[usize],
        parts: &[TableRange],
        slot: u16,
        crowded: &HashSet<GroupId>,
    ) -> Option<Vec<FuncId>> {
        let mut found: HashSet<FuncId> = HashSet::default();
        for (number, &TableRange { point, end }) in parts.iter().enumerate() {
            let place = point.checked_add(u64::from(slot) * self.width)?;
            // This table is shorter, so a call through the slot uses another table of the object.
            if place.checked_add(self.width)? > end {
                continue;
            }
            let function = match self.words.at(place)? {
                Word::Object(..) | Word::Unknown => return None,
                // A call through a word of 0 reaches no function.
                Word::Number(0) => continue,
                Word::Named(name) => {
                    self.named(line, name).filter(|function| !self.replaces_of_line(line, *function))?
                }
                Word::Number(address) => {
                    let address = address_of(address);
                    let own = if number == 0 { self.declared(class, slot, address) } else { None };
                    let is_crowded = || matches!(self.owner_at(address), Some(Owner::Group(group)) if crowded.contains(&group));
                    own.or_else(|| self.alone(line, address).filter(|_| !is_crowded()))?
                }
            };
            found.insert(function);
        }
        let mut found: Vec<FuncId> = found.into_iter().collect();
        found.sort_unstable();
        Some(found)
    }

    /// The function of a name, or the function that a thunk of this name leads to.
    pub(crate) fn named(&self, line: &[usize], name: &[u8]) -> Option<FuncId> {
        match thunk_target(name) {
            Some(method) => self.method(line, &method),
            None => self.members.program_wide(name),
        }
    }

    /// A method of one of these classes, by its linkage name.
    pub(crate) fn method(&self, line: &[usize], name: &[u8]) -> Option<FuncId> {
        let mut of = line.iter().map(|&class| &self.classes.list[class]).filter(|class| class.has(name));
        self.members.function(of.next()?, name)
    }

    /// The method of this slot number in the class's first table, if the table's word leads to its code.
    pub(crate) fn declared(&self, class: usize, slot: u16, address: ImageAddr) -> Option<FuncId> {
        let (class, name) = self.classes.declared(class, slot)?;
        let function = self.members.function(&self.classes.list[class], name)?;
        (self.index.functions.starts[function.index()] == address).then_some(function)
    }

    /// The only function of these classes at an address, or behind the thunks there. `None` if LLVM may have put it in the place of
    /// another one.
    pub(crate) fn alone(&self, line: &[usize], address: ImageAddr) -> Option<FuncId> {
        let program = self.index.functions.program;
        let members = match self.owner_at(address)? {
            Owner::Function(function) => vec![function],
            Owner::Group(group) => {
                program.groups[group.index()].members.iter().map(|member| member.function).collect()
            }
        };
        if let [function] = members[..]
            && !self.names(function).any(|name| thunk_target(name).is_some())
        {
            return Some(function);
        }
        let mut methods: Vec<Option<FuncId>> = Vec::new();
        for &member in &members {
            let targets: Vec<Vec<u8>> = self.names(member).filter_map(thunk_target).collect();
            // The word may mean this function.
            if targets.is_empty() {
                return None;
            }
            for method in targets {
                if line.iter().any(|&class| self.classes.list[class].has(&method)) {
                    methods.push(self.method(line, &method));
                }
            }
        }
        methods.sort_unstable();
        methods.dedup();
        let [Some(method)] = methods[..] else { return None };
        (!self.replaces_of_line(line, method)).then_some(method)
    }

    /// True if LLVM may have put this method in the place of another one of these classes.
    fn replaces_of_line(&self, line: &[usize], method: FuncId) -> bool {
        self.replaces_one_of(method, |group| self.members.of_group(line, group))
    }

    /// True if LLVM may have put a function in the place of another one that `related` returns for a group of the function.
    pub(crate) fn replaces_one_of(&self, function: FuncId, related: impl Fn(GroupId) -> Vec<FuncId>) -> bool {
        let has_other = |group| related(group).iter().any(|other| *other != function);
        self.replaces_some(function) && self.index.functions.groups(function).any(has_other)
    }

    /// True if LLVM merged another function with this one, or with the method that this thunk leads to, and left the other as a jump. In
    /// vtables LLVM puts the address of this function in the place of the other's.
    pub(crate) fn replaces_some(&self, function: FuncId) -> bool {
        let methods = self.names(function).filter_map(thunk_target);
        let mut all = methods.filter_map(|method| self.members.program_wide(&method)).chain([function]);
        all.any(|function| self.index.passing.leads_to(self.index.functions.starts[function.index()]))
    }
}

#[cfg(test)]
mod tests {
    use super::{FuncId, Reach, add_reached};

    #[test]
    fn too_many_reached_functions_are_reported_once() {
        let of = |members: std::ops::Range<u32>| Reach {
            members: members.map(FuncId).collect(),
            ..Reach::default()
        };
        let mut all = Reach::default();
        assert!(!add_reached(&mut all, &of(0..3), 4) && !add_reached(&mut all, &of(1..4), 4) && !all.unknown);
        assert!(add_reached(&mut all, &of(3..5), 4) && all.unknown);
        assert!(!add_reached(&mut all, &of(5..9), 4));
        // An unknown function already makes them unknown.
        let mut all = Reach::default();
        assert!(!add_reached(&mut all, &Reach { unknown: true, ..of(0..9) }, 4) && all.unknown);
    }
}

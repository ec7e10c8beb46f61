//! The members of groups that are methods of classes, and the members that may run on any object.

use crate::keys::index::Index;
use crate::keys::objects::hierarchy::{Class, Classes, MAX_NAME, Method};
use crate::model::{FuncId, Function, GroupId, How, Instance, Member, NameId};
use crate::util::hash::{HashMap, HashSet};

/// The relation of group members to classes.
pub(crate) struct Members<'a, 'p, 'f> {
    index: &'a Index<'p, 'f>,
    /// By class: members with a name that begins with the class's.
    of_class: HashMap<usize, Vec<(GroupId, FuncId)>>,
    /// By group: members that may have run whatever the object is.
    unexcluded: HashMap<GroupId, HashSet<FuncId>>,
    /// Classes with a method that was erased and not recovered.
    lost: HashSet<usize>,
    /// Functions by their unit and the name in their DIE.
    functions: HashMap<(u32, NameId), FuncId>,
    /// Functions without linkage names, by unit and instance.
    instances: HashMap<(u32, Instance), FuncId>,
}

/// The unit in the key of a function that no unit describes.
const ANY_UNIT: u32 = u32::MAX;

impl<'a, 'p, 'f> Members<'a, 'p, 'f> {
    pub(crate) fn new(index: &'a Index<'p, 'f>, classes: &Classes<'_>) -> Self {
        let program = index.program;
        let mut functions = HashMap::default();
        let mut instances = HashMap::default();
        for (number, function) in program.functions.iter().enumerate() {
            let id = FuncId(number as u32);
            instances.extend(instance_of(index, function).map(|instance| (instance, id)));
            let unit = function.source.map_or(ANY_UNIT, |source| source.unit.0);
            let own = program.origins[function.origin.index()].name;
            functions.insert((unit, own), id);
        }
        let mut members = Members {
            index,
            of_class: HashMap::default(),
            unexcluded: HashMap::default(),
            lost: HashSet::default(),
            functions,
            instances,
        };
        for (number, group) in program.groups.iter().enumerate() {
            for member in &group.members {
                members.add_member(classes, GroupId(number as u32), member);
            }
        }
        members.add_lost(classes);
        members
    }

    /// Records the classes that a member is a method of, and whether it may run on any object.
    fn add_member(&mut self, classes: &Classes<'_>, group: GroupId, member: &Member) {
        let program = self.index.program;
        let text = |name: NameId| &*program.names[name.index()];
        let function = &program.functions[member.function.index()];
        let unit = function.source.map_or(ANY_UNIT, |source| source.unit.0);
        let own = program.origins[function.origin.index()].name;
        let others = function.symbol.into_iter().chain(function.aliases.iter().copied());
        let mut excluded = function.source.is_some() && member.how != How::SymbolOnly;
        let nameless = instance_of(self.index, function)
            .and_then(|(unit, instance)| classes.of_instance(unit, instance));
        if let Some((class, is_virtual)) = nameless {
            self.of_class.entry(class).or_default().push((group, member.function));
            // Its own symbol was found by its own name. If it has a symbol of another function, it may be that function.
            excluded &= is_virtual && others.clone().all(|name| is_unnamed(text(name)));
            if !excluded {
                self.unexcluded.entry(group).or_default().insert(member.function);
            }
            return;
        }
        for name in [own].into_iter().chain(others) {
            let bytes = text(name);
            for class in classes.named(bytes, unit) {
                self.of_class.entry(class).or_default().push((group, member.function));
            }
            excluded &= bytes.len() <= MAX_NAME && classes.is_virtual(bytes, unit);
        }
        if !excluded {
            self.unexcluded.entry(group).or_default().insert(member.function);
        }
    }

    /// Records the classes of erased functions that were not recovered.
    fn add_lost(&mut self, classes: &Classes<'_>) {
        let index = self.index;
        let program = index.program;
        for (unit_index, unit) in index.records.units.iter().enumerate() {
            for erased in unit.erased.iter().filter(|erased| !erased.removed) {
                if index.described(unit_index, erased.die).is_some() {
                    continue;
                }
                if let Some((class, _)) = classes.of_instance(unit_index as u32, erased.instance) {
                    self.lost.insert(class);
                    continue;
                }
                let origin = program.origin_of(unit_index, erased.origin);
                let name = program.origins[origin.index()].name;
                if index.of_name(name).is_some() {
                    continue;
                }
                self.lost.extend(classes.named(&program.names[name.index()], unit_index as u32));
            }
        }
    }

    /// The members that a class and its bases have, by group.
    pub(crate) fn of(&self, line: &[usize]) -> Vec<(GroupId, Vec<FuncId>)> {
        let all = line.iter().filter_map(|class| self.of_class.get(class)).flatten();
        let mut all: Vec<(GroupId, FuncId)> = all.copied().collect();
        all.sort_unstable();
        all.dedup();
        let groups = all.chunk_by(|a, b| a.0 == b.0);
        groups.map(|same| (same[0].0, same.iter().map(|member| member.1).collect())).collect()
    }

    /// True if a member that is not `related` may have run.
    pub(crate) fn unexcluded(&self, group: GroupId, related: &[FuncId]) -> bool {
        let unexcluded = self.unexcluded.get(&group);
        unexcluded.is_some_and(|members| members.iter().any(|member| !related.contains(member)))
    }

    /// True if a method of the classes may be at any address: it was erased, or is not in the program.
    pub(crate) fn lost(&self, classes: &Classes<'_>, line: &[usize]) -> bool {
        let mut overridden: HashSet<&[u8]> = HashSet::default();
        line.iter().any(|&class| {
            let methods = &classes.list[class].methods;
            let here = |method: &&Method<'_>| {
                let code = method.is_virtual && !method.is_pure && !method.is_destructor();
                code && !overridden.contains(method.name)
            };
            let known = |method: &Method<'_>| self.method(&classes.list[class], method).is_some();
            let lost = self.lost.contains(&class) || !methods.iter().filter(here).all(known);
            overridden.extend(methods.iter().filter(|method| method.is_virtual).map(|method| method.name));
            lost
        })
    }

    /// The function that every unit means by a name.
    pub(crate) fn program_wide(&self, name: &[u8]) -> Option<FuncId> {
        let name = self.index.placed.name_of(name)?;
        let any = || self.functions.get(&(ANY_UNIT, name)).copied();
        self.index.of_name(name).flatten().or_else(any)
    }

    /// The function of a method that a class declares.
    pub(crate) fn method(&self, class: &Class<'_>, method: &Method<'_>) -> Option<FuncId> {
        match (method.instance, class.local) {
            (Instance::NAMED, _) | (_, None) => self.function(class, method.linkage_name),
            (instance, Some(unit)) => self.instances.get(&(unit, instance)).copied(),
        }
    }

    /// The function of a class with this linkage name.
    pub(crate) fn function(&self, class: &Class<'_>, linkage_name: &[u8]) -> Option<FuncId> {
        match class.local {
            Some(unit) => {
                let name = self.index.placed.name_of(linkage_name)?;
                self.functions.get(&(unit, name)).copied()
            }
            None => self.program_wide(linkage_name),
        }
    }
}

/// The unit and the instance of a function without a linkage name.
fn instance_of(index: &Index<'_, '_>, function: &Function) -> Option<(u32, Instance)> {
    let source = function.source?;
    let instance = index.program.code[source.unit.index()].functions[source.function.index()].instance;
    Some((source.unit.0, instance)).filter(|(_, instance)| *instance != Instance::NAMED)
}

/// True for the mangled name of a member of an unnamed namespace.
pub(crate) fn is_unnamed(name: &[u8]) -> bool {
    name.windows(11).any(|part| part == b"_GLOBAL__N_")
}

//! The members of groups that are methods of classes, and the members that may run on any object.

use crate::keys::index::Index;
use crate::keys::objects::class_caps::MAX_NAME;
use crate::keys::objects::hierarchy::{Class, Classes, Method, NamelessClass};
use crate::model::{FuncId, Function, GroupId, Instance, Member, NameId};
use crate::program::names::itanium::overload;
use crate::toolchain::itanium_abi::is_unnamed;
use crate::util::fit::fit;
use crate::util::hash::{HashMap, HashSet};

/// The relation of group members to classes.
pub(crate) struct Members<'a, 'p, 'f> {
    index: &'a Index<'p, 'f>,
    /// By class: members with a name that begins with the class's.
    of_class: HashMap<usize, Vec<(GroupId, FuncId)>>,
    /// For each member of each group, in order: whether it may have run whatever the object is.
    unexcluded: Vec<bool>,
    /// By group: the index of its first member in `unexcluded`.
    first_members: Vec<u32>,
    /// Classes with a method that was erased and not recovered.
    lost: HashSet<usize>,
    /// Functions by their unit and name, sorted: those of units with classes of their own, and those that no unit describes and whose
    /// name several functions have. `Functions::of_name` finds the others.
    functions: Vec<(u32, NameId, FuncId)>,
    /// Functions without linkage names, by unit and instance.
    instances: HashMap<(u32, Instance), FuncId>,
}

/// The unit in the key of a function that no unit describes.
const ANY_UNIT: u32 = u32::MAX;

/// The methods of a class and of some of its bases, which may override those of a further base.
#[derive(Default)]
struct OverridingMethods<'n> {
    lists: Vec<&'n [Method<'n>]>,
    /// How many of the lists `known` has. It gets them when a method without a known function is met, since nearly all methods have one.
    listed: usize,
    /// By plain name: the overloads; `None` for one whose linkage name does not show which it is.
    known: HashMap<&'n [u8], HashSet<Option<Overload<'n>>>>,
}

/// See [`overload`].
type Overload<'n> = (&'n [u8], &'n [u8]);

fn overload_of<'n>(method: &Method<'n>) -> Option<Overload<'n>> {
    Some(method.linkage_name).filter(|name| name.len() <= MAX_NAME).and_then(overload)
}

impl<'n> OverridingMethods<'n> {
    /// True if one of them may override a method. (`get` of a derived class does not override `get(int)`.)
    fn may_override(&mut self, method: &Method<'_>) -> bool {
        for methods in &self.lists[self.listed..] {
            for own in methods.iter().filter(|own| own.is_virtual) {
                self.known.entry(own.name).or_default().insert(overload_of(own));
            }
        }
        self.listed = self.lists.len();
        self.known.get(method.name).is_some_and(|overloads| match overload_of(method) {
            None => true,
            own => overloads.contains(&own) || overloads.contains(&None),
        })
    }
}

impl<'a, 'p, 'f> Members<'a, 'p, 'f> {
    pub(crate) fn new(index: &'a Index<'p, 'f>, classes: &Classes<'_>) -> Self {
        let program = index.functions.program;
        let local: HashSet<u32> = classes.list.iter().filter_map(|class| class.local).collect();
        let mut functions = Vec::new();
        let mut instances = HashMap::default();
        for (number, function) in program.functions.iter().enumerate() {
            let id = FuncId(number as u32);
            instances.extend(instance_of(index, function).map(|instance| (instance, id)));
            let unit = function.source.map_or(ANY_UNIT, |source| source.unit.number());
            let own = program.origins[function.origin.index()].name;
            let is_needed = if unit == ANY_UNIT {
                index.functions.of_name(own) != Some(Some(id))
            } else {
                local.contains(&unit)
            };
            if is_needed {
                functions.push((unit, own, id));
            }
        }
        fit(&mut functions);
        functions.sort_unstable();
        let mut members = Members {
            index,
            of_class: HashMap::default(),
            unexcluded: Vec::with_capacity(program.groups.iter().map(|group| group.members.len()).sum()),
            first_members: Vec::with_capacity(program.groups.len()),
            lost: HashSet::default(),
            functions,
            instances,
        };
        for (number, group) in program.groups.iter().enumerate() {
            members.first_members.push(members.unexcluded.len() as u32);
            for member in &group.members {
                let is_excluded = members.add_member(classes, GroupId(number as u32), member);
                members.unexcluded.push(!is_excluded);
            }
        }
        members.add_lost(classes);
        members
    }

    /// Records the classes that a member is a method of. False if it may run on any object.
    fn add_member(&mut self, classes: &Classes<'_>, group: GroupId, member: &Member) -> bool {
        let index = self.index;
        let program = index.functions.program;
        let text = |name: NameId| index.functions.text(name);
        let function = &program.functions[member.function.index()];
        let unit = function.source.map_or(ANY_UNIT, |source| source.unit.number());
        let own = program.origins[function.origin.index()].name;
        let others = function.symbol.into_iter().chain(function.aliases.iter().copied());
        let mut excluded = function.source.is_some() && !member.how.is_undescribed();
        let nameless = instance_of(self.index, function)
            .and_then(|(unit, instance)| classes.of_instance(unit, instance));
        if let Some(NamelessClass { class, is_virtual }) = nameless {
            self.of_class.entry(class).or_default().push((group, member.function));
            // Its own symbol was found by its own name. If it has a symbol of another function, it may be that function.
            return excluded && is_virtual && others.clone().all(|name| is_unnamed(text(name)));
        }
        for name in [own].into_iter().chain(others) {
            let bytes = text(name);
            for class in classes.named(bytes, unit) {
                self.of_class.entry(class).or_default().push((group, member.function));
            }
            // Every name must be that of a virtual method: an alias may be a folded function that takes any argument.
            excluded &= bytes.len() <= MAX_NAME && classes.is_virtual(bytes, unit);
        }
        excluded
    }

    /// Records the classes of erased functions that were not recovered.
    fn add_lost(&mut self, classes: &Classes<'_>) {
        let index = self.index;
        let program = index.functions.program;
        for (unit_index, unit) in index.functions.records.units.iter().enumerate() {
            for erased in unit.erased.iter().filter(|erased| !erased.removed) {
                // `recover` found its address, so it is among the functions.
                if index.functions.described(unit_index, erased.die).is_some() {
                    continue;
                }
                if let Some(NamelessClass { class, .. }) =
                    classes.of_instance(unit_index as u32, erased.instance)
                {
                    self.lost.insert(class);
                    continue;
                }
                let origin = program.origin_of(unit_index, erased.origin);
                let name = program.origins[origin.index()].name;
                // Another unit has a copy of the method, and its address is known.
                if index.functions.of_name(name).is_some() {
                    continue;
                }
                self.lost.extend(classes.named(index.functions.text(name), unit_index as u32));
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

    /// The members of one group that a class and its bases have.
    pub(crate) fn of_group(&self, line: &[usize], group: GroupId) -> Vec<FuncId> {
        let of_class = |class: &usize| {
            // Groups were added in their order.
            let all = self.of_class.get(class).map(Vec::as_slice).unwrap_or_default();
            let first = all.partition_point(|of| of.0 < group);
            all[first..].iter().take_while(|of| of.0 == group).map(|of| of.1).collect::<Vec<_>>()
        };
        let mut members: Vec<FuncId> = line.iter().flat_map(of_class).collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// True if a member that is not `related` may have run.
    pub(crate) fn unexcluded(&self, group: GroupId, related: &[FuncId]) -> bool {
        let members = &self.index.functions.program.groups[group.index()].members;
        let unexcluded = &self.unexcluded[self.first_members[group.index()] as usize..];
        let mut left = members.iter().zip(unexcluded).filter(|(_, unexcluded)| **unexcluded);
        left.any(|(member, _)| !related.contains(&member.function))
    }

    /// True if a method of the classes may be at any address: it was erased, or is not in the program.
    pub(crate) fn lost(&self, classes: &Classes<'_>, line: &[usize]) -> bool {
        let mut before = OverridingMethods::default();
        line.iter().any(|&class| {
            let methods = &classes.list[class].methods;
            let mut is_lost = |method: &Method<'_>| {
                let code = method.is_virtual && !method.is_pure && !method.is_destructor();
                code && self.method(&classes.list[class], method).is_none() && !before.may_override(method)
            };
            let lost = self.lost.contains(&class) || methods.iter().any(&mut is_lost);
            before.lists.push(methods);
            lost
        })
    }

    /// The function that every unit means by a name.
    pub(crate) fn program_wide(&self, name: &[u8]) -> Option<FuncId> {
        let name = self.index.functions.placed.name_of(name)?;
        let any = || self.of_unit(ANY_UNIT, name);
        self.index.functions.of_name(name).flatten().or_else(any)
    }

    /// The last function of a unit with this name in its DIE.
    fn of_unit(&self, unit: u32, name: NameId) -> Option<FuncId> {
        let after = self.functions.partition_point(|&(in_unit, own, _)| (in_unit, own) <= (unit, name));
        let &(in_unit, own, function) = self.functions.get(after.checked_sub(1)?)?;
        ((in_unit, own) == (unit, name)).then_some(function)
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
                let name = self.index.functions.placed.name_of(linkage_name)?;
                self.of_unit(unit, name)
            }
            None => self.program_wide(linkage_name),
        }
    }
}

/// The unit and the instance of a function without a linkage name.
fn instance_of(index: &Index<'_, '_>, function: &Function) -> Option<(u32, Instance)> {
    let source = function.source?;
    let instance =
        index.functions.program.code[source.unit.index()].functions[source.function.index()].instance;
    Some((source.unit.number(), instance)).filter(|(_, instance)| *instance != Instance::NAMED)
}

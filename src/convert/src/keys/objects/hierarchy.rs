//! The classes of all units in one list without duplicates, with their bases.
//!
//! A class is identified by its key: the text that the linkage names of its methods begin with (`3geo5Shape` in
//! `_ZN3geo5Shape4areaEv`). The key is the same in each unit and in the symbol of the vtable. A class of an unnamed
//! namespace belongs to its unit. gcc writes no linkage names there, so such a class is identified by the DIEs of its
//! methods. A class that a unit only declares is looked up by name, if only one class has that name.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::keys::objects::class_caps::{MAX_ANCESTORS, MAX_NAME, MAX_SEARCHED, MAX_SUBOBJECTS};
use crate::keys::objects::type_info::{TypeId, TypeInfos};
use crate::model::{ClassUnit, ImageAddr, Instance, UnitClass, UnitMethod, UnitVtable};
use crate::program::names::itanium::{is_local_class, nested, qualified};
use crate::util::hash::{HashMap, HashSet};

/// A method as its class declares it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Method<'n> {
    pub(crate) linkage_name: &'n [u8],
    pub(crate) name: &'n [u8],
    pub(crate) instance: Instance,
    pub(crate) is_virtual: bool,
    pub(crate) is_pure: bool,
    pub(crate) slot: u16,
}

impl Method<'_> {
    pub(crate) fn is_destructor(&self) -> bool {
        self.name.starts_with(b"~")
    }
}

#[derive(Debug)]
pub(crate) struct Class<'n> {
    /// Its key, without `_ZN` and qualifiers; `None` if its methods have no linkage names.
    pub(crate) key: Option<&'n [u8]>,
    /// The unit, for a class that is local to one.
    pub(crate) local: Option<u32>,
    pub(crate) bases: Vec<ClassBase>,
    pub(crate) methods: Vec<Method<'n>>,
    /// False if only its type information is known: it may have any methods.
    pub(crate) described: bool,
    /// Its type information says that its vtable begins with the one of its only base.
    pub(crate) extends: bool,
}

/// A base of a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassBase {
    /// Index into [`Classes::list`]; [`UNKNOWN`] or [`OPAQUE`] for an unknown base.
    class: usize,
    /// `None` for a virtual base.
    offset: Option<u64>,
}

/// The class without linkage names that declares a method.
#[derive(Clone, Copy)]
pub(crate) struct NamelessClass {
    /// Index into [`Classes::list`].
    pub(crate) class: usize,
    /// The method is virtual in the sense of [`Classes::is_virtual`].
    pub(crate) is_virtual: bool,
}

/// A part of an object that begins with the members of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subobject {
    pub(crate) class: usize,
    /// From the start of the object.
    pub(crate) offset: u64,
    /// The class that derives from it on the way to the whole object; the class itself for that.
    pub(crate) within: usize,
}

const UNKNOWN: usize = usize::MAX;

/// A base that is only declared, with a name that no known class has. Its own bases are unknown too.
const OPAQUE: usize = usize::MAX - 1;

/// Why the bases of a class are not listed.
#[derive(PartialEq)]
enum NoLine {
    UnknownBase,
    /// There are more than asked for.
    TooMany,
}

impl Class<'_> {
    /// True for the name of one of its methods, or of a member of its member classes.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.within(name).is_some()
    }

    /// The signature of a method with this linkage name; `None` if the method is of another class.
    pub(crate) fn within<'a>(&self, name: &'a [u8]) -> Option<Signature<'a>> {
        let (qualifiers, nested) = qualified(name)?;
        Some(Signature { qualifiers, rest: nested.strip_prefix(self.key?)? })
    }
}

/// What the linkage names of a method and of its overriders have in common. `get() const` does not override `get()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Signature<'n> {
    /// `K` for a `const` method.
    pub(crate) qualifiers: &'n [u8],
    /// What follows the class (`5weighEv`).
    pub(crate) rest: &'n [u8],
}

/// The key of classes: the text that the linkage names of their methods begin with.
struct Key<'n> {
    text: &'n [u8],
    /// The class that all units share, and classes local to one unit.
    classes: Vec<usize>,
    /// The index of the longest other key that it begins with.
    outer: Option<usize>,
}

pub(crate) struct Classes<'n> {
    pub(crate) list: Vec<Class<'n>>,
    /// Sorted.
    keys: Vec<Key<'n>>,
    /// By unit and local id: the class.
    of_units: HashMap<(u32, u32), usize>,
    /// Linkage names of virtual methods, each with the unit if its class is local.
    virtuals: HashSet<(Option<u32>, &'n [u8])>,
    /// The classes of methods without linkage names, by unit and instance.
    instances: HashMap<(u32, Instance), NamelessClass>,
    /// Classes without linkage names by unit and name, [`UNKNOWN`] if several have one name.
    nameless: HashMap<(u32, &'n [u8]), usize>,
    /// By class and slot number: the linkage name of the method there, `None` if several methods claim the slot.
    numbered: HashMap<(usize, u16), Option<&'n [u8]>>,
    /// By class: the class whose table its own begins with, as far as [`Classes::first_base`] was asked.
    first_bases: RefCell<HashMap<usize, Option<usize>>>,
    /// Classes whose objects have too many parts.
    pub(crate) many_subobjects: RefCell<BTreeSet<usize>>,
}

/// The key of a new class, the unit that it is local to, and its methods.
type NewClass<'n> = (Option<&'n [u8]>, Option<u32>, Vec<Method<'n>>);

/// The classes joined so far, for finding them again.
#[derive(Default)]
struct JoinedClasses<'n, 'c> {
    keys: HashMap<&'n [u8], Vec<usize>>,
    /// Classes with keys by name, [`UNKNOWN`] if several have one name.
    named: HashMap<&'n [u8], usize>,
    /// Each class with the unit and the description that it was made of.
    new: Vec<(usize, u32, &'n ClassUnit<'c>, &'n UnitClass)>,
}

impl<'n> Classes<'n> {
    /// Joins the classes of these numbered units. `of_tables`: the key of the class that the symbol of a vtable names, by address.
    pub(crate) fn new(
        units: &[(u32, &'n ClassUnit<'_>)],
        of_tables: &HashMap<ImageAddr, &'n [u8]>,
    ) -> Classes<'n> {
        let mut classes = Classes {
            list: Vec::new(),
            keys: Vec::new(),
            of_units: HashMap::default(),
            virtuals: HashSet::default(),
            instances: HashMap::default(),
            nameless: HashMap::default(),
            numbered: HashMap::default(),
            first_bases: RefCell::default(),
            many_subobjects: RefCell::default(),
        };
        let mut joined = JoinedClasses::default();
        for &(unit_index, unit) in units {
            let of_table = |table: &UnitVtable| Some((table.class, *of_tables.get(&table.address)?));
            let of_tables: HashMap<u32, &[u8]> = unit.vtables.iter().filter_map(of_table).collect();
            for (local, class) in (0u32..).zip(unit.classes.iter()).filter(|(_, class)| !class.declared) {
                let of_table = of_tables.get(&local).copied();
                let added = classes.join(&mut joined, (unit_index, unit), (local, class), of_table);
                if let Some((key, of, methods)) = added {
                    let bases = Vec::new();
                    let class = Class { key, local: of, bases, methods, described: true, extends: false };
                    classes.list.push(class);
                }
            }
        }
        classes.find_bases(&joined);
        classes.sort_keys(joined.keys);
        classes.number_methods();
        classes
    }

    /// Looks up a class of a unit among those joined so far. For a new class, records its names and returns its key, the
    /// unit that it is local to, and its methods. `of_table`: the key that the symbol of its vtable gives, which counts for a class that
    /// declares no methods, such as `struct Derived : Base {}`.
    fn join<'c>(
        &mut self,
        joined: &mut JoinedClasses<'n, 'c>,
        (unit_index, unit): (u32, &'n ClassUnit<'c>),
        (local, class): (u32, &'n UnitClass),
        of_table: Option<&'n [u8]>,
    ) -> Option<NewClass<'n>> {
        let name = |local: u32| unit.names[local as usize].bytes();
        let of_methods = key(unit, class);
        let of_table = of_table
            .filter(|key| class.methods.is_empty() && !class.unnamed && ends_with(key, name(class.name)));
        let key = of_methods.or(of_table);
        let nameless = |method: &UnitMethod| method.instance != Instance::NAMED;
        if key.is_none() && !(class.unnamed && unit.methods_of(class).iter().all(nameless)) {
            return None;
        }
        let of = key.is_none_or(is_local_class).then_some(unit_index);
        let same = key.and_then(|key| joined.keys.get(key)).map_or(&[][..], |same| same);
        let known = same.iter().copied().find(|&other| self.list[other].local == of);
        let id = known.unwrap_or(self.list.len());
        self.of_units.insert((unit_index, local), id);
        // Each unit describes a class with the same members (C++ [basic.def.odr]), so the first description serves.
        if known.is_some() {
            return None;
        }
        let methods = unit.methods_of(class).iter().map(|method| Method {
            linkage_name: name(method.linkage_name),
            name: name(method.name),
            instance: method.instance,
            is_virtual: method.is_virtual,
            is_pure: method.is_pure,
            slot: method.slot,
        });
        let methods: Vec<Method> = methods.collect();
        let fixed = |method: &&Method| method.is_virtual && !method.is_destructor();
        match key {
            Some(key) => {
                let virtuals = methods.iter().filter(fixed);
                self.virtuals.extend(virtuals.map(|method| (of, method.linkage_name)));
                // A name without its namespace may be that of another class that is only declared.
                if of_methods.is_some() {
                    joined.named.entry(name(class.name)).and_modify(|other| *other = UNKNOWN).or_insert(id);
                }
                joined.keys.entry(key).or_default().push(id);
            }
            None => {
                let own = |method: &Method<'n>| {
                    let of = NamelessClass { class: id, is_virtual: fixed(&method) };
                    ((unit_index, method.instance), of)
                };
                self.instances.extend(methods.iter().map(own));
                let same = self.nameless.entry((unit_index, name(class.name)));
                same.and_modify(|other| *other = UNKNOWN).or_insert(id);
            }
        }
        joined.new.push((id, unit_index, unit, class));
        Some((key, of, methods))
    }

    /// Finds the bases of all classes, once every class has its id.
    fn find_bases(&mut self, joined: &JoinedClasses<'n, '_>) {
        for &(id, unit_index, unit, class) in &joined.new {
            let bases = unit.bases_of(class).iter().map(|base| {
                let whole = base.class.and_then(|class| self.of_units.get(&(unit_index, class)).copied());
                let declared = || {
                    let class = unit.classes.get(base.class? as usize).filter(|class| class.declared)?;
                    let name = unit.names[class.name as usize].bytes();
                    let missing = if name.is_empty() { UNKNOWN } else { OPAQUE };
                    Some(joined.named.get(name).copied().unwrap_or(missing))
                };
                ClassBase { class: whole.or_else(declared).unwrap_or(UNKNOWN), offset: base.offset }
            });
            self.list[id].bases = bases.collect();
        }
    }

    /// Lists the methods by their slots.
    fn number_methods(&mut self) {
        for (at, class) in self.list.iter().enumerate() {
            // clang writes slot 0 for every virtual destructor, which would contest the method that is there. gcc writes none.
            let methods = class.methods.iter().filter(|method| method.is_virtual && !method.is_destructor());
            for method in methods {
                let several = |name: &mut Option<&[u8]>| *name = None;
                self.numbered
                    .entry((at, method.slot))
                    .and_modify(several)
                    .or_insert(Some(method.linkage_name));
            }
        }
    }

    /// Adds the classes that no unit describes with all bases, by their type information.
    pub(crate) fn add_types(&mut self, types: &TypeInfos<'n>) {
        if types.list.is_empty() {
            return;
        }
        let keys = std::mem::take(&mut self.keys).into_iter();
        let mut keys: HashMap<&[u8], Vec<usize>> = keys.map(|key| (key.text, key.classes)).collect();
        let mut count: HashMap<&[u8], u32> = HashMap::default();
        types.list.iter().for_each(|(_, info)| *count.entry(info.key).or_default() += 1);
        let mut of: HashMap<TypeId<'_>, usize> = HashMap::default();
        let elsewhere = types.list.iter().flat_map(|(_, info)| &info.bases).filter_map(|(id, _)| match id {
            TypeId::Elsewhere(key) => Some((*id, *key)),
            TypeId::At(_) => None,
        });
        for (id, key) in types.list.iter().map(|(id, info)| (*id, info.key)).chain(elsewhere) {
            if of.contains_key(&id) {
                continue;
            }
            let local = is_local_class(key);
            let same = keys.entry(key).or_default();
            let known = same.iter().copied().find(|&class| !local && self.list[class].local.is_none());
            let class = known.unwrap_or(self.list.len());
            if known.is_none() {
                // Several units may have a local class of this name, and each its own methods.
                let alone = same.is_empty() && count.get(key) == Some(&1) && !types.shared_keys.contains(key);
                let named = key.len() <= MAX_NAME && (!local || alone);
                // Another module has the bases of a class that is there.
                let bases = match id {
                    TypeId::At(_) => Vec::new(),
                    TypeId::Elsewhere(_) => vec![ClassBase { class: OPAQUE, offset: Some(0) }],
                };
                let (key, methods) = (named.then_some(key), Vec::new());
                self.list.push(Class { key, local: None, bases, methods, described: false, extends: false });
                if named {
                    same.push(class);
                }
            }
            of.insert(id, class);
        }
        for (id, info) in &types.list {
            let class = &mut self.list[of[id]];
            if !class.described || class.bases.iter().any(|base| base.class >= OPAQUE) {
                let base = |(id, offset): &(TypeId<'_>, _)| ClassBase {
                    class: of.get(id).copied().unwrap_or(UNKNOWN),
                    offset: *offset,
                };
                class.bases = info.bases.iter().map(base).collect();
                class.extends = info.extends;
            }
        }
        // The cache was filled with the bases before the type information.
        self.first_bases.get_mut().clear();
        keys.retain(|_, classes| !classes.is_empty());
        self.sort_keys(keys);
    }

    /// Sorts the keys, and links each to the longest other key that it begins with.
    fn sort_keys(&mut self, keys: HashMap<&'n [u8], Vec<usize>>) {
        let keys = keys.into_iter().map(|(text, classes)| Key { text, classes, outer: None });
        self.keys = keys.collect();
        self.keys.sort_unstable_by_key(|key| key.text);
        for at in 1..self.keys.len() {
            let (before, here) = self.keys.split_at_mut(at);
            here[0].outer = longest(before, Some(at - 1), here[0].text);
        }
    }

    /// The class of a key that all units share.
    pub(crate) fn by_key(&self, key: &[u8]) -> Option<usize> {
        let at = self.keys.binary_search_by_key(&key, |known| known.text).ok()?;
        self.keys[at].classes.iter().copied().find(|&class| self.list[class].local.is_none())
    }

    /// The class without linkage names that declares a method of a unit.
    pub(crate) fn of_instance(&self, unit: u32, instance: Instance) -> Option<NamelessClass> {
        self.instances.get(&(unit, instance)).copied()
    }

    /// The only class without linkage names of this name in a unit.
    pub(crate) fn nameless(&self, unit: u32, name: &[u8]) -> Option<usize> {
        self.nameless.get(&(unit, name)).copied().filter(|&class| class != UNKNOWN)
    }

    /// The class of a unit's local id.
    pub(crate) fn of_unit(&self, unit: u32, local: u32) -> Option<usize> {
        self.of_units.get(&(unit, local)).copied()
    }

    /// A class and all its bases; `None` if a base is unknown, or if there are more than `most`.
    pub(crate) fn ancestors(&self, class: usize, most: usize) -> Option<Vec<usize>> {
        self.line_of(class, most).ok()
    }

    /// True if a class is not used because it has too many bases.
    pub(crate) fn has_many_ancestors(&self, class: usize, most: usize) -> bool {
        self.line_of(class, most) == Err(NoLine::TooMany)
    }

    /// A class and all its bases.
    fn line_of(&self, class: usize, most: usize) -> Result<Vec<usize>, NoLine> {
        let mut line = vec![class];
        let mut next = 0;
        while let Some(&at) = line.get(next) {
            next += 1;
            for &ClassBase { class: base, .. } in &self.list[at].bases {
                if base == UNKNOWN {
                    return Err(NoLine::UnknownBase);
                }
                if line.len() >= most {
                    return Err(NoLine::TooMany);
                }
                // A base may be reached twice. In damaged input bases may form a cycle, which ends here.
                if base != OPAQUE && !line.contains(&base) {
                    line.push(base);
                }
            }
        }
        Ok(line)
    }

    /// True if the slot numbers of the methods of a class with these ancestors are the numbers of words in its first table. Virtual
    /// bases are found through the table: there the numbers depend on the complete object.
    pub(crate) fn is_numbered(&self, line: &[usize]) -> bool {
        !line.iter().any(|&class| self.list[class].bases.iter().any(|base| base.offset.is_none()))
    }

    /// True if one of these classes may have any methods, or a base that is only declared, which may have any bases.
    pub(crate) fn is_open(&self, line: &[usize]) -> bool {
        self.has_undescribed(line) || self.lacks_bases(line)
    }

    /// True if one of these classes has a base that is only declared, which may have any bases.
    pub(crate) fn lacks_bases(&self, line: &[usize]) -> bool {
        line.iter().any(|&class| self.list[class].bases.iter().any(|base| base.class == OPAQUE))
    }

    /// True if no unit describes one of these classes: it may have any methods.
    pub(crate) fn has_undescribed(&self, line: &[usize]) -> bool {
        line.iter().any(|&class| !self.list[class].described)
    }

    /// The parts of an object at fixed offsets: the object of a class itself, then those of its bases. None if there are too many.
    pub(crate) fn subobjects(&self, class: usize) -> Vec<Subobject> {
        let mut all = vec![Subobject { class, offset: 0, within: class }];
        let mut next = 0;
        while let Some(&Subobject { class: within, offset: at, .. }) = all.get(next) {
            next += 1;
            for &ClassBase { class, offset } in &self.list[within].bases {
                let Some(offset) = offset.and_then(|offset| at.checked_add(offset)) else { continue };
                // A class that is a base twice has two subobjects, so none is skipped, and only the limit ends a cycle of bases.
                if all.len() >= MAX_SUBOBJECTS {
                    self.many_subobjects.borrow_mut().insert(all[0].class);
                    return Vec::new();
                }
                if class < OPAQUE {
                    all.push(Subobject { class, offset, within });
                }
            }
        }
        all
    }

    /// Classes that a function of this name may be a method of, directly or in a member class.
    pub(crate) fn named(&self, name: &[u8], unit: u32) -> Vec<usize> {
        let Some(rest) = nested(name) else { return Vec::new() };
        let rest = &rest[..rest.len().min(MAX_NAME)];
        let last = self.keys.partition_point(|key| key.text <= rest).checked_sub(1);
        let outer = |&at: &usize| self.keys[at].outer;
        let keys = std::iter::successors(longest(&self.keys, last, rest), outer);
        let of =
            |&&class: &&usize| self.list[class].local.is_none_or(|local| local == unit || unit == u32::MAX);
        keys.flat_map(|at| &self.keys[at].classes).filter(of).copied().collect()
    }

    /// True for a virtual method: it runs on objects that point to a table of its class. Constructors and destructors
    /// change the pointer while they run, so their object may point to any table.
    pub(crate) fn is_virtual(&self, name: &[u8], unit: u32) -> bool {
        self.virtuals.contains(&(None, name)) || self.virtuals.contains(&(Some(unit), name))
    }

    /// The base at offset 0 that has a table: the class shares that table.
    fn primary(&self, class: usize) -> Option<usize> {
        let bases = self.list[class].bases.iter();
        // A class shares the vtable pointer of its primary base, which is at offset 0 (Itanium C++ ABI 2.4).
        let first = bases.filter(|base| base.offset == Some(0)).map(|base| base.class);
        first.filter(|&base| base < OPAQUE).find(|&base| self.is_dynamic(base))
    }

    fn is_dynamic(&self, class: usize) -> bool {
        let line = self.ancestors(class, MAX_SEARCHED);
        line.is_none_or(|line| {
            let has_table =
                |class: &Class<'_>| !class.described || class.methods.iter().any(|method| method.is_virtual);
            line.iter().any(|&class| has_table(&self.list[class]))
        })
    }

    /// The most derived class that declares a method of this slot number in the first table of a class's objects, and
    /// the method's linkage name; `None` if no class declares it, or some class that may do so is unknown.
    pub(crate) fn declared(&self, class: usize, slot: u16) -> Option<(usize, &'n [u8])> {
        let mut at = class;
        // A class with more bases is left out before.
        for _ in 0..MAX_ANCESTORS {
            let class = &self.list[at];
            if !class.described {
                return None;
            }
            if let Some(name) = self.numbered.get(&(at, slot)) {
                return name.map(|name| (at, name));
            }
            at = self.first_base(at)?;
        }
        None
    }

    /// The base whose table the first table of a class begins with: the one at offset 0. `None` if there is none, or if an unknown
    /// class may be it.
    fn first_base(&self, class: usize) -> Option<usize> {
        if let Some(known) = self.first_bases.borrow().get(&class) {
            return *known;
        }
        let mut bases = self.list[class].bases.iter();
        // A virtual base may be the primary base if it is nearly empty, so it counts as unknown (Itanium C++ ABI 2.4).
        let is_unknown =
            bases.any(|base| base.offset.is_none() || (base.class >= OPAQUE && base.offset == Some(0)));
        let base = if is_unknown { None } else { self.primary(class) };
        self.first_bases.borrow_mut().insert(class, base);
        base
    }
}

/// The longest of the sorted keys that a text begins with. `last` is the last key that is not greater than the text:
/// every key that the text begins with is also one that `last` begins with.
fn longest(keys: &[Key<'_>], last: Option<usize>, text: &[u8]) -> Option<usize> {
    std::iter::successors(last, |&at| keys[at].outer).find(|&at| text.starts_with(keys[at].text))
}

/// True if the last component of a class's key is this name.
fn ends_with(key: &[u8], name: &[u8]) -> bool {
    let before =
        key.strip_suffix(name).and_then(|before| before.strip_suffix(name.len().to_string().as_bytes()));
    before.is_some_and(|before| !before.last().is_some_and(u8::is_ascii_digit))
}

/// The key of a class: the text before the methods' own names in their linkage names; `None` if the methods do not
/// agree on one.
fn key<'u>(unit: &'u ClassUnit<'_>, class: &UnitClass) -> Option<&'u [u8]> {
    let text = |local: u32| unit.names[local as usize].bytes();
    let class_name = text(class.name);
    let mut possible: Option<Vec<&[u8]>> = None;
    for method in unit.methods_of(class) {
        let Some(rest) = nested(text(method.linkage_name)).filter(|rest| rest.len() <= MAX_NAME) else {
            continue;
        };
        // The name of a class from a template may include its arguments.
        let is_class = |own: &[u8]| matches!(class_name.strip_prefix(own), Some([] | [b'<', ..]));
        // DWARF names a constructor `A` and a destructor `~A`, mangled names have `C1` and `D1` (Itanium C++ ABI 5.1.4).
        let own = match text(method.name) {
            [b'~', ..] => b"D".to_vec(),
            own if is_class(own) => b"C".to_vec(),
            // A linkage name has a code for an operator.
            own if !is_word(own) || own.starts_with(b"operator") => continue,
            own => [own.len().to_string().as_bytes(), own].concat(),
        };
        let is_behind = |at: usize| match (own.as_slice(), rest[at..].strip_prefix(&own[..])) {
            (b"C" | b"D", Some([b'0'..=b'9', behind @ ..])) => ends_name(behind),
            // An inherited constructor: `CI24Base`.
            (b"C", Some([b'I', b'0'..=b'9', ..])) => true,
            (b"C" | b"D", _) | (_, None) => false,
            (_, Some(behind)) => ends_name(behind),
        };
        match &mut possible {
            None => {
                let places = (1..rest.len()).filter(|&at| rest[at] == own[0] && is_behind(at));
                possible = Some(places.map(|at| &rest[..at]).collect());
            }
            Some(keys) => keys.retain(|key| rest.starts_with(key) && is_behind(key.len())),
        }
    }
    match possible?[..] {
        [key] => Some(key),
        _ => None,
    }
}

/// True for a plain name without template arguments.
fn is_word(name: &[u8]) -> bool {
    let begins = name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_');
    begins && !name.contains(&b' ') && !name.contains(&b'<')
}

/// True if the name of a function may end before this text: at the end of a nested name, at template arguments (DWARF may leave them
/// out), or at an ABI tag. (g++ and clang write `4nameB5cxx11` for a method `name` that returns a `std::string`.)
fn ends_name(behind: &[u8]) -> bool {
    matches!(behind, [b'E' | b'I', ..] | [b'B', b'0'..=b'9', ..])
}

#[cfg(test)]
mod tests;

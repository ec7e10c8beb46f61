//! The classes of all units in one list without duplicates, with their bases.
//!
//! A class is identified by its key: the text that the linkage names of its methods begin with (`3geo5Shape` in
//! `_ZN3geo5Shape4areaEv`). The key is the same in each unit and in the symbol of the vtable. A class of an unnamed
//! namespace belongs to its unit. gcc writes no linkage names there, so such a class is identified by the DIEs of its
//! methods. A class that a unit only declares is looked up by name, if only one class has that name.

use crate::model::{ClassUnit, Instance, UnitClass, UnitMethod};
use crate::program::names::itanium::{is_local_class, nested};
use crate::util::hash::{HashMap, HashSet};

/// Base classes followed from a class to the start of its first table.
const MAX_CHAIN: usize = 64;

/// Longer names are not compared with those of classes.
pub(crate) const MAX_NAME: usize = 2048;

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
    key: Option<&'n [u8]>,
    /// The unit, for a class that is local to one.
    pub(crate) local: Option<u32>,
    /// Each with its offset, `None` for a virtual base. An unknown base is [`UNKNOWN`] or [`OPAQUE`].
    pub(crate) bases: Vec<(usize, Option<u64>)>,
    pub(crate) methods: Vec<Method<'n>>,
    /// clang: the numbers of its methods count from the start of its first table.
    lists_slots: bool,
}

const UNKNOWN: usize = usize::MAX;

/// A base that is only declared, with a name that no known class has. Its own bases are unknown too.
const OPAQUE: usize = usize::MAX - 1;

impl Class<'_> {
    /// True for the name of one of its methods, or of a member of its member classes.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.within(name).is_some()
    }

    /// The rest of a method's name after the class: overriders of the method have the same rest.
    pub(crate) fn within<'a>(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        nested(name)?.strip_prefix(self.key?)
    }
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
    /// By unit and instance, methods without linkage names: their class, and whether they would be in `virtuals`.
    instances: HashMap<(u32, Instance), (usize, bool)>,
    /// Classes without linkage names by unit and name, [`UNKNOWN`] if several have one name.
    nameless: HashMap<(u32, &'n [u8]), usize>,
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
    /// Joins the classes of these numbered units.
    pub(crate) fn new(units: &[(u32, &'n ClassUnit<'_>)], lists_slots: impl Fn(u32) -> bool) -> Classes<'n> {
        let mut classes = Classes {
            list: Vec::new(),
            keys: Vec::new(),
            of_units: HashMap::default(),
            virtuals: HashSet::default(),
            instances: HashMap::default(),
            nameless: HashMap::default(),
        };
        let mut joined = JoinedClasses::default();
        for &(unit_index, unit) in units {
            for (local, class) in (0u32..).zip(&unit.classes).filter(|(_, class)| !class.declared) {
                let added = classes.join(&mut joined, (unit_index, unit), (local, class));
                if let Some((key, of, methods)) = added {
                    let (bases, lists_slots) = (Vec::new(), lists_slots(unit_index));
                    classes.list.push(Class { key, local: of, bases, methods, lists_slots });
                }
            }
        }
        classes.find_bases(&joined);
        classes.sort_keys(joined.keys);
        classes
    }

    /// Looks up a class of a unit among those joined so far. For a new class, records its names and returns its key, the
    /// unit that it is local to, and its methods.
    fn join<'c>(
        &mut self,
        joined: &mut JoinedClasses<'n, 'c>,
        (unit_index, unit): (u32, &'n ClassUnit<'c>),
        (local, class): (u32, &'n UnitClass),
    ) -> Option<NewClass<'n>> {
        let name = |local: u32| unit.names[local as usize].bytes();
        let key = key(unit, class);
        let nameless = |method: &UnitMethod| method.instance != Instance::NAMED;
        if key.is_none() && !(class.unnamed && class.methods.iter().all(nameless)) {
            return None;
        }
        let of = key.is_none_or(is_local_class).then_some(unit_index);
        let same = key.and_then(|key| joined.keys.get(key)).map_or(&[][..], |same| same);
        let known = same.iter().copied().find(|&other| self.list[other].local == of);
        let id = known.unwrap_or(self.list.len());
        self.of_units.insert((unit_index, local), id);
        if known.is_some() {
            return None;
        }
        let methods = class.methods.iter().map(|method| Method {
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
                joined.named.entry(name(class.name)).and_modify(|other| *other = UNKNOWN).or_insert(id);
                joined.keys.entry(key).or_default().push(id);
            }
            None => {
                let own = methods.iter().map(|method| (method.instance, (id, fixed(&method))));
                self.instances.extend(own.map(|(instance, of)| ((unit_index, instance), of)));
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
            let bases = class.bases.iter().map(|base| {
                let whole = base.class.and_then(|class| self.of_units.get(&(unit_index, class)).copied());
                let declared = || {
                    let class = unit.classes.get(base.class? as usize).filter(|class| class.declared)?;
                    let name = unit.names[class.name as usize].bytes();
                    let missing = if name.is_empty() { UNKNOWN } else { OPAQUE };
                    Some(joined.named.get(name).copied().unwrap_or(missing))
                };
                (whole.or_else(declared).unwrap_or(UNKNOWN), base.offset)
            });
            self.list[id].bases = bases.collect();
        }
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

    /// The class without linkage names that declares a method of a unit, and whether the method is virtual in the
    /// sense of [`Classes::is_virtual`].
    pub(crate) fn of_instance(&self, unit: u32, instance: Instance) -> Option<(usize, bool)> {
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
        let mut line = vec![class];
        let mut next = 0;
        while let Some(&at) = line.get(next) {
            next += 1;
            for &(base, _) in &self.list[at].bases {
                if base == UNKNOWN || line.len() >= most {
                    return None;
                }
                if base != OPAQUE && !line.contains(&base) {
                    line.push(base);
                }
            }
        }
        Some(line)
    }

    /// True if one of these classes has a base that is only declared, which may have any bases.
    pub(crate) fn is_open(&self, line: &[usize]) -> bool {
        line.iter().any(|&class| self.list[class].bases.iter().any(|base| base.0 == OPAQUE))
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
        let first = bases.filter(|base| base.1 == Some(0)).map(|base| base.0);
        first.filter(|&base| base < OPAQUE).find(|&base| self.is_dynamic(base))
    }

    fn is_dynamic(&self, class: usize) -> bool {
        let line = self.ancestors(class, 64);
        line.is_none_or(|line| {
            line.iter().any(|&class| self.list[class].methods.iter().any(|method| method.is_virtual))
        })
    }

    /// The most derived class that declares a method of this slot number in the first table of a class's objects, and
    /// the method's linkage name; `None` if no class declares it, or some class that may do so is unknown.
    pub(crate) fn declared(&self, class: usize, slot: u16) -> Option<(usize, &'n [u8])> {
        let mut at = class;
        for _ in 0..MAX_CHAIN {
            let class = &self.list[at];
            let mut numbered = class
                .methods
                .iter()
                .filter(|method| method.is_virtual && method.slot == slot && !method.is_destructor());
            if !class.lists_slots {
                return None;
            }
            match (numbered.next(), numbered.next()) {
                (Some(method), None) => return Some((at, method.linkage_name)),
                (Some(_), Some(_)) => return None,
                (None, _) => {}
            }
            // The table begins with the table of the base at offset 0.
            if class.bases.iter().any(|base| base.1.is_none() || (base.0 >= OPAQUE && base.1 == Some(0))) {
                return None;
            }
            at = self.primary(at)?;
        }
        None
    }
}

/// The longest of the sorted keys that a text begins with. `last` is the last key that is not greater than the text:
/// every key that the text begins with is also one that `last` begins with.
fn longest(keys: &[Key<'_>], last: Option<usize>, text: &[u8]) -> Option<usize> {
    std::iter::successors(last, |&at| keys[at].outer).find(|&at| text.starts_with(keys[at].text))
}

/// The key of a class: the text before the methods' own names in their linkage names; `None` if the methods do not
/// agree on one.
fn key<'u>(unit: &'u ClassUnit<'_>, class: &UnitClass) -> Option<&'u [u8]> {
    let text = |local: u32| unit.names[local as usize].bytes();
    let class_name = text(class.name);
    let mut possible: Option<Vec<&[u8]>> = None;
    for method in &class.methods {
        let Some(rest) = nested(text(method.linkage_name)).filter(|rest| rest.len() <= MAX_NAME) else {
            continue;
        };
        let own = match text(method.name) {
            [b'~', ..] => b"D".to_vec(),
            // The name of a class from a template may include its arguments.
            own if class_name.starts_with(own) => b"C".to_vec(),
            own if own.contains(&b' ') || own.contains(&b'<') => continue,
            own if own[0].is_ascii_alphabetic() || own[0] == b'_' => {
                [own.len().to_string().as_bytes(), own].concat()
            }
            _ => continue,
        };
        let is_behind = |at: usize| {
            let behind = rest[at..].strip_prefix(&own[..]);
            match (own.as_slice(), behind) {
                (b"C" | b"D", Some([b'0'..=b'9', b'E', ..])) => true,
                (b"C" | b"D", _) => false,
                (_, Some([b'E', ..])) => true,
                _ => false,
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NONE16, UnitBase, UnitMethod};

    /// Units with these classes: name, methods (linkage name, name, slot), bases (class of the unit, offset).
    type Described =
        (&'static str, &'static [(&'static str, &'static str, u16)], &'static [(u32, Option<u64>)]);

    fn numbered<'u>(units: &'u [(u32, ClassUnit<'static>)]) -> Vec<(u32, &'u ClassUnit<'static>)> {
        units.iter().map(|(number, unit)| (*number, unit)).collect()
    }

    fn program(units: &[&[Described]]) -> Vec<(u32, ClassUnit<'static>)> {
        let mut all = Vec::new();
        for (number, classes) in (0..).zip(units) {
            let mut unit = ClassUnit::default();
            let mut name = |text: &'static str| {
                unit.names.push(text.as_bytes().into());
                (unit.names.len() - 1) as u32
            };
            for (class, methods, bases) in *classes {
                let method = |&(linkage_name, own, slot): &(&'static str, &'static str, u16)| UnitMethod {
                    linkage_name: name(linkage_name),
                    name: name(own),
                    instance: Instance::NAMED,
                    is_virtual: slot != NONE16,
                    is_pure: false,
                    slot,
                };
                let methods = methods.iter().map(method).collect();
                let base = |&(class, offset): &(u32, Option<u64>)| UnitBase { class: Some(class), offset };
                let (name, declared) = (name(class), bases.is_empty() && class.is_empty());
                let bases = bases.iter().map(base).collect();
                unit.classes.push(UnitClass { name, declared, unnamed: false, bases, methods });
            }
            all.push((number, unit));
        }
        all
    }

    const BASE: Described = ("Base", &[("_ZN4Base2m0Ei", "m0", 0), ("_ZNK4Base2m1Ei", "m1", 1)], &[]);
    const SIDE: Described = ("Side", &[("_ZN4Side2q0Ei", "q0", 0), ("_ZN4SideD4Ev", "~Side", 0)], &[]);

    #[test]
    fn a_class_is_known_by_its_methods() {
        let of = |class: Described| {
            let program = program(&[&[class]]);
            let classes = Classes::new(&numbered(&program), |_| true);
            classes.list.first().map(|class| String::from_utf8(class.key.unwrap().to_vec()).unwrap())
        };
        assert_eq!(of(BASE).as_deref(), Some("4Base"));
        assert_eq!(of(SIDE).as_deref(), Some("4Side"));
        let nested: Described =
            ("C<a::m>", &[("_ZN1n1CIN1a1mEE1mEv", "m", 0), ("_ZN1n1CIN1a1mEE1kEv", "k", 1)], &[]);
        assert_eq!(of(nested).as_deref(), Some("1n1CIN1a1mEE"));
        // Only a constructor; an operator; names with different keys.
        assert_eq!(of(("S", &[("_ZN1SC4Ev", "S", NONE16)], &[])).as_deref(), Some("1S"));
        assert_eq!(of(("S", &[("_ZN1SplEi", "operator+", NONE16)], &[])), None);
        assert_eq!(of(("S", &[("_ZN1S1mEv", "m", 0), ("_ZN1T1kEv", "k", 1)], &[])), None);
    }

    #[test]
    fn a_name_is_of_each_class_that_it_stands_in() {
        let class = |name, method| -> Described { (name, method, &[]) };
        let classes = [
            class("A", &[("_ZN1A1mEv", "m", 0)]),
            class("B", &[("_ZN1A1B1mEv", "m", 0)]),
            class("C", &[("_ZN1A1B1C1mEv", "m", 0)]),
            class("D", &[("_ZN1A1D1mEv", "m", 0)]),
            class("B", &[("_ZN1B1mEv", "m", 0)]),
        ];
        let program = program(&[&classes]);
        let classes = Classes::new(&numbered(&program), |_| true);
        for (name, expected) in [
            ("_ZN1A1B1C1mEv", &[0, 1, 2][..]),
            ("_ZN1A1B1D1mEv", &[0, 1]),
            ("_ZN1A1D1B1mEv", &[0, 3]),
            ("_ZN1A1AEv", &[0]),
            ("_ZN1B1A1mEv", &[4]),
            ("_ZN1Av", &[0]),
            ("_ZN1a1mEv", &[]),
            ("_ZN1", &[]),
        ] {
            let mut found = classes.named(name.as_bytes(), 0);
            found.sort_unstable();
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn classes_of_unnamed_namespaces_are_their_units_own() {
        let local: Described = ("A", &[("_ZN12_GLOBAL__N_11A1mEv", "m", 0)], &[]);
        let program = program(&[&[local, BASE], &[local, BASE]]);
        let classes = Classes::new(&numbered(&program), |_| true);
        assert_eq!(classes.list.len(), 3);
        assert_ne!(classes.of_unit(0, 0), classes.of_unit(1, 0));
        assert_eq!(classes.of_unit(0, 1), classes.of_unit(1, 1));
        assert_eq!(classes.named(b"_ZN12_GLOBAL__N_11A1mEv", 1), [classes.of_unit(1, 0).unwrap()]);
        assert_eq!(classes.named(b"_ZN12_GLOBAL__N_11A1mEv", u32::MAX).len(), 2);
        assert_eq!(classes.by_key(b"12_GLOBAL__N_11A"), None);
        assert!(classes.by_key(b"4Base").is_some());
    }

    #[test]
    fn the_last_class_that_declares_a_slot() {
        let derived: Described =
            ("C", &[("_ZN1C2q0Ei", "q0", 2), ("_ZN1C2m0Ei", "m0", 0)], &[(0, Some(0)), (1, Some(16))]);
        let program = program(&[&[BASE, SIDE, derived]]);
        let classes = Classes::new(&numbered(&program), |_| true);
        assert_eq!(classes.ancestors(2, 8), Some(vec![2, 0, 1]));
        assert_eq!(classes.declared(2, 0), Some((2, &b"_ZN1C2m0Ei"[..])));
        assert_eq!(classes.declared(2, 1), Some((0, &b"_ZNK4Base2m1Ei"[..])));
        assert_eq!(classes.declared(2, 2), Some((2, &b"_ZN1C2q0Ei"[..])));
        assert_eq!(classes.declared(2, 3), None);
        // The slot number of a destructor means nothing: clang gives 0 to every one.
        assert_eq!(classes.declared(1, 0), Some((1, &b"_ZN4Side2q0Ei"[..])));
    }

    #[test]
    fn destructors_run_on_objects_of_any_class() {
        let class: Described = (
            "C",
            &[("_ZN1C1mEv", "m", 1), ("_ZN1CD0Ev", "~C", 0), ("_ZN1CD1Ev", "~C", 0), ("_ZN1CD2Ev", "~C", 0)],
            &[],
        );
        let declared: Described = ("E", &[("_ZN1E1mEv", "m", 1), ("_ZN1ED4Ev", "~E", 0)], &[]);
        let program = program(&[&[class, declared]]);
        let classes = Classes::new(&numbered(&program), |_| true);
        let names = ["_ZN1CD0Ev", "_ZN1CD1Ev", "_ZN1CD2Ev", "_ZN1ED0Ev", "_ZN1ED4Ev"];
        for destructor in names {
            assert!(!classes.is_virtual(destructor.as_bytes(), 0), "{destructor}");
        }
        assert!(classes.is_virtual(b"_ZN1C1mEv", 0) && classes.is_virtual(b"_ZN1E1mEv", 0));
    }

    #[test]
    fn what_derives_from_itself_or_from_nothing_known_has_no_answer() {
        let own: Described = ("C", &[("_ZN1C1mEv", "m", 0)], &[(0, Some(0))]);
        let program_of_one = program(&[&[own]]);
        let classes = Classes::new(&numbered(&program_of_one), |_| true);
        assert_eq!(classes.declared(0, 1), None);
        assert_eq!(classes.ancestors(0, 8), Some(vec![0]));
        let unknown: Described = ("C", &[("_ZN1C1mEv", "m", 0)], &[(7, Some(0))]);
        let program_of_one = program(&[&[unknown]]);
        let classes = Classes::new(&numbered(&program_of_one), |_| true);
        assert_eq!(classes.ancestors(0, 8), None);
        assert_eq!(classes.ancestors(0, 0), None);
        assert_eq!(classes.declared(0, 0), Some((0, &b"_ZN1C1mEv"[..])));
        assert_eq!(classes.declared(0, 1), None);
    }
}

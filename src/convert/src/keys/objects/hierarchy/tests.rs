//! Units and type information to classes with their bases.

use super::*;
use crate::keys::objects::type_info::TypeInfo;
use crate::model::{ImageAddr, NONE16, UnitBase, UnitMethod};

/// Units with these classes: name, methods (linkage name, name, slot), bases (class of the unit, offset).
type Described = (&'static str, &'static [(&'static str, &'static str, u16)], &'static [(u32, Option<u64>)]);

fn numbered<'u>(units: &'u [(u32, ClassUnit<'static>)]) -> Vec<(u32, &'u ClassUnit<'static>)> {
    units.iter().map(|(number, unit)| (*number, unit)).collect()
}

fn program(units: &[&[Described]]) -> Vec<(u32, ClassUnit<'static>)> {
    let mut all = Vec::new();
    for (number, classes) in (0..).zip(units) {
        let mut unit = ClassUnit::default();
        let mut name = |text: &'static str| {
            unit.names.own_mut().push(text.as_bytes().into());
            (unit.names.own().len() - 1) as u32
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
            let methods: Vec<UnitMethod> = methods.iter().map(method).collect();
            let base = |&(class, offset): &(u32, Option<u64>)| UnitBase { class: Some(class), offset };
            let (name, declared) = (name(class), bases.is_empty() && class.is_empty());
            let firsts = (unit.bases.len() as u32, unit.methods.len() as u32);
            unit.bases.own_mut().extend(bases.iter().map(base));
            unit.methods.own_mut().extend(methods);
            let bases = firsts.0..unit.bases.len() as u32;
            let methods = firsts.1..unit.methods.len() as u32;
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
        let classes = Classes::new(&numbered(&program), &HashMap::default());
        classes.list.first().map(|class| String::from_utf8(class.key.unwrap().to_vec()).unwrap())
    };
    assert_eq!(of(BASE).as_deref(), Some("4Base"));
    assert_eq!(of(SIDE).as_deref(), Some("4Side"));
    let nested: Described =
        ("C<a::m>", &[("_ZN1n1CIN1a1mEE1mEv", "m", 0), ("_ZN1n1CIN1a1mEE1kEv", "k", 1)], &[]);
    assert_eq!(of(nested).as_deref(), Some("1n1CIN1a1mEE"));
    // A method that returns a `std::string`; one whose name begins that of the class; a template; an operator.
    let tagged: Described =
        ("Item", &[("_ZN4Item2m0Ei", "m0", 0), ("_ZNK4Item4nameB5cxx11Ev", "name", 1)], &[]);
    assert_eq!(of(tagged).as_deref(), Some("4Item"));
    let begun: Described = ("node_base", &[("_ZN9node_base4nodeEv", "node", 0)], &[]);
    assert_eq!(of(begun).as_deref(), Some("9node_base"));
    let template: Described =
        ("S", &[("_ZN1S3getIiEEvv", "get", NONE16), ("_ZN1SC2IiEET_", "S", NONE16)], &[]);
    assert_eq!(of(template).as_deref(), Some("1S"));
    let compared: Described = ("S", &[("_ZN1SeqERKS_", "operator==", NONE16), ("_ZN1S1mEv", "m", 0)], &[]);
    assert_eq!(of(compared).as_deref(), Some("1S"));
    let inherited: Described = ("S", &[("_ZN1SCI24BaseEi", "S", NONE16), ("_ZN1S1mEv", "m", 0)], &[]);
    assert_eq!(of(inherited).as_deref(), Some("1S"));
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
    let classes = Classes::new(&numbered(&program), &HashMap::default());
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
    let classes = Classes::new(&numbered(&program), &HashMap::default());
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
    let classes = Classes::new(&numbered(&program), &HashMap::default());
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
    let classes = Classes::new(&numbered(&program), &HashMap::default());
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
    let classes = Classes::new(&numbered(&program_of_one), &HashMap::default());
    assert_eq!(classes.declared(0, 1), None);
    assert_eq!(classes.ancestors(0, 8), Some(vec![0]));
    let unknown: Described = ("C", &[("_ZN1C1mEv", "m", 0)], &[(7, Some(0))]);
    let program_of_one = program(&[&[unknown]]);
    let classes = Classes::new(&numbered(&program_of_one), &HashMap::default());
    assert_eq!(classes.ancestors(0, 8), None);
    assert_eq!(classes.ancestors(0, 0), None);
    assert_eq!(classes.declared(0, 0), Some((0, &b"_ZN1C1mEv"[..])));
    assert_eq!(classes.declared(0, 1), None);
}

/// Type information: its address, name, bases (address of theirs, offset).
type Typed<'a> = (u64, &'static str, &'a [(u64, Option<u64>)]);

fn typed(list: Vec<Typed<'_>>) -> TypeInfos<'static> {
    let info = |(at, key, bases): Typed<'_>| {
        let bases: Vec<_> =
            bases.iter().map(|&(base, offset)| (TypeId::At(ImageAddr(base)), offset)).collect();
        let info = TypeInfo { key: key.as_bytes(), extends: bases.len() == 1, bases };
        (TypeId::At(ImageAddr(at)), info)
    };
    TypeInfos { list: list.into_iter().map(info).collect(), ..TypeInfos::default() }
}

#[test]
fn classes_without_description_have_the_bases_of_their_type_information() {
    let program = program(&[&[BASE]]);
    let mut classes = Classes::new(&numbered(&program), &HashMap::default());
    let types = [
        (0x10, "4Base", &[][..]),
        (0x20, "4Item", &[]),
        (0x30, "6Parcel", &[(0x10, Some(0)), (0x20, Some(8))]),
        (0x40, "4Gift", &[(0x30, Some(0))]),
    ];
    classes.add_types(&typed(types.to_vec()));
    let [base, item, parcel, gift] =
        [&b"4Base"[..], b"4Item", b"6Parcel", b"4Gift"].map(|key| classes.by_key(key).unwrap());
    assert_eq!(base, 0);
    assert_eq!(classes.ancestors(gift, 8), Some(vec![gift, parcel, base, item]));
    assert!(classes.is_open(&[gift]) && !classes.is_open(&[base]) && !classes.lacks_bases(&[gift]));
    let of = |class, offset, within| Subobject { class, offset, within };
    assert_eq!(
        classes.subobjects(gift),
        [of(gift, 0, gift), of(parcel, 0, gift), of(base, 0, parcel), of(item, 8, parcel)]
    );
    // It may have any method at this slot.
    assert_eq!(classes.declared(parcel, 0), None);
    assert_eq!(classes.declared(base, 0), Some((base, &b"_ZN4Base2m0Ei"[..])));
    assert_eq!(classes.named(b"_ZN6Parcel5weighEv", u32::MAX), [parcel]);
}

#[test]
fn a_base_that_a_unit_only_declares_is_known_by_type_information() {
    let derived: Described = ("C", &[("_ZN1C1mEv", "m", 0)], &[(7, Some(0))]);
    let program = program(&[&[derived]]);
    let mut classes = Classes::new(&numbered(&program), &HashMap::default());
    assert_eq!(classes.ancestors(0, 8), None);
    classes.add_types(&typed(vec![(0x10, "1B", &[]), (0x20, "1C", &[(0x10, Some(0))])]));
    let base = classes.by_key(b"1B").unwrap();
    assert_eq!(classes.ancestors(0, 8), Some(vec![0, base]));
    assert_eq!((classes.declared(0, 0), classes.declared(0, 1)), (Some((0, &b"_ZN1C1mEv"[..])), None));
}

#[test]
fn type_information_of_equal_names_in_unnamed_namespaces_is_of_two_classes() {
    let mut classes = Classes::new(&[], &HashMap::default());
    let same = "12_GLOBAL__N_11A";
    let types = [(0x10, same, &[][..]), (0x20, same, &[]), (0x30, "1B", &[(0x10, Some(0))])];
    classes.add_types(&typed(types.to_vec()));
    assert_eq!((classes.list.len(), classes.by_key(same.as_bytes())), (3, None));
    assert!(classes.named(b"_ZN12_GLOBAL__N_11A1mEv", u32::MAX).is_empty());
    // One class of this name.
    let mut classes = Classes::new(&[], &HashMap::default());
    classes.add_types(&typed(vec![(0x10, same, &[])]));
    assert_eq!(classes.by_key(same.as_bytes()), Some(0));
    // Another vtable has this name.
    let mut types = typed(vec![(0x10, same, &[])]);
    types.shared_keys.insert(same.as_bytes());
    let mut classes = Classes::new(&[], &HashMap::default());
    classes.add_types(&types);
    assert_eq!((classes.list.len(), classes.by_key(same.as_bytes())), (1, None));
}

#[test]
fn type_information_that_leads_to_itself_or_to_nothing_has_an_end() {
    let mut classes = Classes::new(&[], &HashMap::default());
    let types = [
        (0x10, "1A", &[(0x20, Some(8))][..]),
        (0x20, "1B", &[(0x10, Some(8))]),
        (0x30, "1C", &[(0x40, Some(0))]),
        (0x50, "1D", &[(0x50, Some(0)), (0x50, Some(0))]),
    ];
    classes.add_types(&typed(types.to_vec()));
    let class = |key: &[u8]| classes.by_key(key).unwrap();
    assert_eq!(classes.ancestors(class(b"1A"), 8).map(|line| line.len()), Some(2));
    assert!(classes.subobjects(class(b"1A")).is_empty() && classes.subobjects(class(b"1D")).is_empty());
    // Each class counts once.
    assert!(classes.subobjects(class(b"1A")).is_empty());
    assert_eq!(classes.many_subobjects.take().into_iter().collect::<Vec<_>>(), [class(b"1A"), class(b"1D")]);
    assert_eq!(classes.ancestors(class(b"1C"), 8), None);
}

//! Compares the types that DIEs give with those that clang 23 wrote, for all functions of objects whose sources list types of every kind
//! (`testbins/cases/type_ids.cpp`). The sources were written after the encoder, from the grammar of the ABI.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::diagnostics::Diagnostics;
use crate::model::{TypeId, Unit};
use crate::open::{Files, ProgramSource, open_program};
use crate::options::Options;
use crate::read::options::ReadOptions;
use crate::read::units::split_files::SplitFiles;
use crate::read::{read, read_call_graph, read_types};

/// By function: the type that clang wrote, and the one that its DIE gives.
fn types(name: &str) -> BTreeMap<String, (Option<TypeId>, Option<TypeId>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built").join(name);
    let (files, options) = (Files::default(), Options::default().open());
    let (image, package) = open_program(&files, ProgramSource::Path(&path), &options).unwrap();
    let split = SplitFiles { files: &files, options: &options, package };
    let mut units: Vec<Unit<'_>> = Vec::new();
    read(&image, &split, ReadOptions::default(), &|_| (), &mut units);
    let mut diagnostics = Diagnostics::default();
    let graph = read_call_graph(&image, &mut diagnostics);
    let offsets: Vec<u64> = units.iter().map(|unit| unit.head.offset).collect();
    let described = read_types(&image, &split, &offsets, &mut diagnostics);
    assert_eq!(diagnostics.iter().count(), 0);
    assert_eq!(described.len(), units.len());
    let mut found = BTreeMap::new();
    for (unit, types) in units.iter().zip(&described) {
        for function in unit.code.functions.iter() {
            let start = unit.code.pieces[function.pieces.start as usize].start;
            let record = graph.records.iter().find(|record| record.entry == start).unwrap();
            let of = types.functions.iter().find(|of| of.die == function.die);
            let name = unit.tables.origins[function.origin.index()].name;
            let name = String::from_utf8_lossy(unit.tables.names[name as usize].bytes()).into_owned();
            found.insert(name, (record.type_id, of.map(|of| of.ids[0])));
        }
    }
    found
}

/// Asserts that all types are equal, but for functions that say in their names that they have none, and thunks. Returns the number of equal
/// ones.
#[track_caller]
fn assert_equal(name: &str) -> usize {
    let all = types(name);
    let lacking = |(_, of): &(&String, &(Option<TypeId>, Option<TypeId>))| of.1.is_none();
    let missing: BTreeSet<&String> = all.iter().filter(lacking).map(|(name, _)| name).collect();
    let expected: BTreeSet<&String> =
        all.keys().filter(|name| name.contains("unshown") || name.starts_with("_ZTh")).collect();
    assert_eq!(missing, expected, "{name}");
    let equal = all.iter().filter(|(_, (record, die))| record == die);
    let other: Vec<_> = all.iter().filter(|(_, (record, die))| die.is_some() && record != die).collect();
    assert!(other.is_empty(), "{name}: {other:x?}");
    equal.count()
}

#[test]
fn dies_give_the_types_that_clang_wrote() {
    assert_eq!(assert_equal("type_ids.clang.set/cpp.o"), 34);
    assert_eq!(assert_equal("type_ids.clang.set/c.o"), 7);
    // Templates without arguments in their names, and another byte order.
    assert_eq!(assert_equal("type_ids.clang.set/simple.o"), 34);
    assert_eq!(assert_equal("type_ids.clang.set/s390x.o"), 34);
}

#[test]
fn a_tag_of_the_abi_that_dwarf_does_not_have_gives_another_type() {
    let all = types("type_ids.clang.set/tagged.o");
    let other: Vec<_> = all.iter().filter(|(_, (record, die))| die.is_some() && record != die).collect();
    assert!(matches!(other[..], [(name, _)] if name.contains("tagged")), "{other:x?}");
}

#[test]
fn the_hash_is_that_of_llvm() {
    assert_eq!(super::hash(b"_ZTSFiiE.generalized"), TypeId(0xb23c_fe0c_3eb8_50a1));
}

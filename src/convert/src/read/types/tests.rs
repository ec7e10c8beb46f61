//! Compares the types that DIEs give with those that clang 23 wrote, for all functions of objects whose sources list types of every kind
//! (`testbins/cases/type_ids.cpp`). The sources were written after the encoder, from the grammar of the ABI.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::diagnostics::Diagnostics;
use crate::model::{TypeHash, Unit};
use crate::open::{Files, ProgramSource, open_program};
use crate::options::Options;
use crate::read::options::ReadOptions;
use crate::read::units::split_files::SplitFiles;
use crate::read::{read, read_call_graph, read_types};

/// By function: the type that clang wrote, and the one that its DIE gives.
fn types(name: &str) -> BTreeMap<String, (Option<TypeHash>, Option<TypeHash>)> {
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

/// Asserts that all types are equal, but that of `tagged`. These functions have no type: those that say so in their names, thunks, and
/// those in `others`. Returns the number of types.
#[track_caller]
fn assert_equal(name: &str, others: &[&str]) -> usize {
    let all = types(name);
    // DWARF does not have the tag of the ABI, so the type is another. A program with such a function has no types (`FunctionTypes::proven`).
    let differs = |name: &str, (record, die): (Option<TypeHash>, Option<TypeHash>)| {
        die.is_some() && record != die && !name.contains("6tagged")
    };
    let other: Vec<_> = all.iter().filter(|(name, of)| differs(name, **of)).collect();
    assert!(other.is_empty(), "{name}: {other:x?}");
    let tagged = all.iter().find(|(name, _)| name.contains("6tagged"));
    assert!(tagged.is_none_or(|(_, (record, die))| record != die), "{name}");
    let missing: BTreeSet<&String> =
        all.iter().filter(|(_, of)| of.1.is_none()).map(|(name, _)| name).collect();
    let lacks = |name: &&String| {
        let is_other = others.iter().any(|other| name.contains(other));
        is_other || name.contains("unshown") || name.starts_with("_ZTh")
    };
    assert_eq!(missing, all.keys().filter(lacks).collect(), "{name}");
    all.len() - missing.len()
}

#[test]
fn dies_give_the_types_that_clang_wrote() {
    // A template of which only pointers are used is a declaration, and clang writes no arguments of it if its name has them.
    let declared = ["4deep", "5packs", "6values", "7strings", "7vectors"];
    assert!(assert_equal("type_ids.clang.set/tagged.o", &declared) >= 25);
    assert!(assert_equal("type_ids.clang.set/c.o", &[]) >= 7);
    // An argument of 2^64 - 1 is too large.
    assert!(assert_equal("type_ids.clang.set/simple.o", &declared[2..3]) >= 29);
}

#[test]
fn the_hash_is_that_of_llvm() {
    assert_eq!(super::hash(b"_ZTSFiiE.generalized"), TypeHash(0xb23c_fe0c_3eb8_50a1));
}

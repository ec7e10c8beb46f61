//! Every place of an object in a file is one that gimli reads from the program, and no place of a live method is left out.
//!
//! `FOLDSYM_OBJECTS` names more programs, one a line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::locations::LocationKind;
use foldsym_lookup::records::Owner;
use foldsym_lookup::{GroupId, NameId, PieceId, ReturnAddr, SymbolFile};
use foldsym_testbins::objects::{Method, methods};
use foldsym_testbins::program::Program;
use foldsym_testbins::root;
use serde_json::Value;

type Places = Vec<(u64, u64, Vec<u8>)>;

#[derive(Debug, Default)]
struct Tally {
    /// Members of groups with a list, and entries of these.
    members: u64,
    entries: u64,
    /// Of members whose address the linker erased.
    erased: u64,
    /// Entries that gimli has and the file has not: their addresses were erased, not only their function's.
    left_out: u64,
    wrong: Vec<String>,
}

/// Where members of groups have their objects: by address, the names of each.
type Kept = Vec<(u64, BTreeSet<String>, Places)>;

fn kept(file: &SymbolFile<'_>) -> Kept {
    let locations = file.locations().unwrap();
    let mut buffer = vec![0; 1 << 16];
    let mut name = |id: Option<NameId>| {
        let len = id.map_or(0, |id| file.write_name(id, &mut buffer).unwrap());
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    };
    let mut out = Vec::new();
    for piece in 0..file.records().piece_count() {
        let piece = file.records().piece(PieceId(piece)).unwrap();
        let Owner::Group(GroupId(group)) = piece.owner else { continue };
        for member in file.records().members(file.records().group(GroupId(group)).unwrap()) {
            let id = member.unwrap().function;
            let function = file.records().function(id).unwrap();
            let mut names: BTreeSet<String> =
                file.records().aliases(&function).map(|alias| name(Some(alias.unwrap()))).collect();
            names.insert(name(file.records().function_name(id).unwrap()));
            names.insert(name(file.records().origin(function.origin).unwrap().name));
            let found = locations.and_then(|locations| locations.of(id, LocationKind::Object).unwrap());
            let places = |(start, len, code): (foldsym_lookup::ImageAddr, u64, &[u8])| {
                (if len == 0 { 0 } else { start.0 }, len, code.to_vec())
            };
            let list = found.map_or(Places::new(), |(list, _)| list.entries().map(places).collect());
            out.push((piece.start.0, names, list));
        }
    }
    out
}

fn compare(path: &Path, file: &SymbolFile<'_>) -> Tally {
    let mut tally = Tally::default();
    let all = methods(&Program::open(path, None).unwrap()).unwrap();
    let mut by_name: BTreeMap<&str, Vec<&Method>> = BTreeMap::new();
    for method in &all {
        by_name.entry(&method.name).or_default().push(method);
    }
    let kept = kept(file);
    for (start, names, list) in kept.iter().filter(|(.., list)| !list.is_empty()) {
        tally.members += 1;
        tally.entries += list.len() as u64;
        let same = |method: &&&Method| {
            // Entries relative to the function's old address, and entries with their own addresses. For an erased function linkers write 0
            // or 1 as the base address of a list (0 twice would end a list of DWARF 4).
            let live = method.starts.contains(start);
            let bases = if live { vec![*start] } else { vec![0, 1] };
            bases.into_iter().any(|base| {
                let moved = |&(at, len, ref code): &(u64, u64, Vec<u8>)| match len {
                    0 => (0, 0, code.clone()),
                    _ => (at.wrapping_sub(base).wrapping_add(*start), len, code.clone()),
                };
                let theirs: Places = method.places.iter().map(moved).collect();
                theirs == *list || (!live && list.iter().all(|entry| theirs.contains(entry)))
            })
        };
        let candidates = names.iter().filter_map(|name| by_name.get(&**name)).flatten();
        match candidates.clone().find(same) {
            Some(method) => {
                tally.erased += u64::from(!method.starts.contains(start));
                tally.left_out += (method.places.len() - list.len()) as u64;
            }
            None => tally.wrong.push(format!(
                "{start:#x} {names:?}: {list:x?} is none of {:x?}",
                candidates.collect::<Vec<_>>()
            )),
        }
    }
    // The entries of a live method must be there.
    for method in all.iter().filter(|method| !method.places.is_empty()) {
        let here = || kept.iter().filter(|(start, ..)| method.starts.contains(start));
        if here().next().is_some()
            && !here().any(|(_, names, list)| names.contains(&method.name) && !list.is_empty())
        {
            tally.wrong.push(format!("{:x?} {} is not kept", method.starts, method.name));
        }
    }
    tally
}

fn converted(path: &Path, output: &Path) -> Vec<u8> {
    let options = Options::default().with(|options| {
        options.threads = 2;
        options.locations = true;
    });
    convert(path, output, &options, &NoProgress)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    std::fs::read(output).unwrap()
}

fn programs() -> Vec<PathBuf> {
    let sets = std::fs::read_dir(root().join("built")).unwrap().map(|entry| entry.unwrap().path());
    let folded = sets.filter(|set| {
        let name = set.file_name().unwrap().to_str().unwrap();
        (name.starts_with("fold.") || name.starts_with("object.")) && !name.contains("split")
    });
    let mut programs: Vec<PathBuf> = folded.map(|set| set.join("program")).collect();
    programs.sort();
    programs
}

#[test]
fn gimli_reads_the_same_places() {
    let folder = tempfile::tempdir().unwrap();
    let more = std::env::var("FOLDSYM_OBJECTS").unwrap_or_default();
    let mut kept = 0;
    for path in programs().into_iter().chain(more.lines().map(PathBuf::from)) {
        let bytes = converted(&path, &folder.path().join("fsym"));
        let tally = compare(&path, &SymbolFile::open(&bytes).unwrap());
        println!(
            "{}: {} methods, {} erased; {} places, {} left out; {} different",
            path.display(),
            tally.members,
            tally.erased,
            tally.entries,
            tally.left_out,
            tally.wrong.len()
        );
        assert!(
            tally.wrong.is_empty(),
            "{}: {:#?}",
            path.display(),
            &tally.wrong[..tally.wrong.len().min(5)]
        );
        kept += tally.entries;
    }
    assert!(kept > 500, "{kept}");
}

/// The reader in Python holds every record, and has the same lists.
#[test]
fn the_independent_reader_reads_the_same_places() {
    let folder = tempfile::tempdir().unwrap();
    let reader = root().parent().unwrap().join("schema/reader.py");
    let output = folder.path().join("fsym");
    let mut unknown = 0;
    for path in programs() {
        let bytes = converted(&path, &output);
        let file = SymbolFile::open(&bytes).unwrap();
        let run = |what: &str| Command::new("python3").arg(&reader).arg(&output).arg(what).output();
        let check = match run("--check") {
            Ok(check) => check,
            Err(error) => {
                assert!(std::env::var("CI").as_deref() != Ok("true"), "python3: {error}");
                return println!("skipped: needs python3");
            }
        };
        assert!(check.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&check.stderr));
        let lines = String::from_utf8(run("--locations").unwrap().stdout).unwrap();
        let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let locations = file.locations().unwrap().unwrap();
        for row in &rows {
            let function = foldsym_lookup::FunctionId(row["Function"].as_u64().unwrap() as u32);
            let kind = match row["Kind"].as_str().unwrap() {
                "Object" => LocationKind::Object,
                "FrameBase" => LocationKind::FrameBase,
                "UnknownCalls" => {
                    for entry in row["Value"].as_array().unwrap() {
                        let before = entry[0].as_u64().unwrap();
                        let is_unknown =
                            |address| locations.is_unknown_call(function, ReturnAddr(address)).unwrap();
                        assert!(is_unknown(before + 1), "{}: {row}", path.display());
                        unknown += 1;
                    }
                    continue;
                }
                kind => panic!("{kind}"),
            };
            let (list, _) = locations.of(function, kind).unwrap().unwrap();
            let ours = list.entries().map(|(start, len, code)| {
                let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
                serde_json::json!([start.0, len, hex])
            });
            assert_eq!(row["Value"], ours.collect::<Value>(), "{}: {row}", path.display());
        }
        assert!(rows.len() > 10);
    }
    assert!(unknown > 20, "{unknown}");
}

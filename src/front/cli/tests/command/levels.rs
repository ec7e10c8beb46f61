//! An entry of a store never gets worse: which of two conversions stays, whatever their order, and what is said of it.

#![cfg(feature = "convert")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::{Ran, foldsym, program};
use object::{Object, ObjectSection};
use serde_json::Value;

/// A 64-bit little-endian program without the sections that `goes` takes by name.
fn without(bytes: &[u8], goes: &dyn Fn(&str) -> bool) -> Vec<u8> {
    let file = object::File::parse(bytes).unwrap();
    let table = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
    let mut out = bytes.to_vec();
    for section in file.sections().filter(|section| goes(section.name().unwrap_or_default())) {
        // The header becomes that of no section; the bytes stay and belong to nothing.
        let header = table + 64 * section.index().0;
        out[header..header + 64].fill(0);
    }
    out
}

fn is_debug(name: &str) -> bool {
    name.starts_with(".debug_")
}

fn stripped(bytes: &[u8]) -> Vec<u8> {
    without(bytes, &|name| is_debug(name) || name == ".symtab" || name == ".strtab")
}

fn without_symbols(bytes: &[u8]) -> Vec<u8> {
    without(bytes, &|name| name == ".symtab" || name == ".strtab")
}

/// The last unit is lost.
fn damaged(bytes: &[u8]) -> Vec<u8> {
    let file = object::File::parse(bytes).unwrap();
    let (start, size) = file.section_by_name(".debug_info").unwrap().file_range().unwrap();
    let (start, end) = (start as usize, (start + size) as usize);
    let (mut unit, mut last) = (start, start);
    while unit + 4 <= end {
        last = unit;
        unit += 4 + u32::from_le_bytes(bytes[unit..unit + 4].try_into().unwrap()) as usize;
    }
    let mut out = bytes.to_vec();
    // A version that no DWARF has.
    out[last + 4..last + 6].copy_from_slice(&[0x77, 0x77]);
    out
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn convert(&self, inputs: &[&Path], more: &[&str]) -> Ran {
        let store = self.path("store");
        let mut args: Vec<&str> = vec!["convert", "--store", store.to_str().unwrap()];
        args.extend(inputs.iter().map(|input| input.to_str().unwrap()));
        args.extend(more);
        foldsym(&args)
    }

    fn listed(&self) -> Vec<Value> {
        foldsym(&["store", "list", "--json", self.path("store").to_str().unwrap()]).json()
    }

    fn only(&self) -> Value {
        let listed = self.listed();
        assert_eq!(listed.len(), 1, "{listed:?}");
        listed[0].clone()
    }
}

fn demo() -> Vec<u8> {
    std::fs::read(program("demo.elf")).unwrap()
}

fn bytes_of(entry: &Value) -> Vec<u8> {
    std::fs::read(entry["Path"].as_str().unwrap()).unwrap()
}

/// A writer may be killed after it put a better file in place, and before it wrote its report.
#[test]
fn a_report_of_another_file_is_written_again() {
    let place = Place::new();
    let (whole, poor) = (place.file("whole/app", &demo()), place.file("poor/app", &stripped(&demo())));
    let report = |entry: &Value| PathBuf::from(entry["Path"].as_str().unwrap()).with_extension("json");
    assert_eq!(place.convert(&[&poor], &[]).code, 0);
    let old = std::fs::read(report(&place.only())).unwrap();
    assert_eq!(place.convert(&[&whole], &["--product", "mail"]).code, 0);
    let file = bytes_of(&place.only());
    std::fs::write(report(&place.only()), old).unwrap();
    assert_eq!(place.only()["Level"], "none");
    assert_eq!(place.convert(&[&whole], &[]).code, 0);
    assert_eq!(place.only()["Level"], "full");
    assert_eq!(bytes_of(&place.only()), file);
}

/// The level of the entry is the reason why an answer has no line.
#[test]
fn answers_have_the_level_of_their_entry() {
    for (bytes, level) in
        [(demo(), None), (stripped(&demo()), Some("none")), (damaged(&demo()), Some("partial"))]
    {
        let place = Place::new();
        assert_eq!(place.convert(&[&place.file("app", &bytes)], &[]).code, 0);
        let (store, id) = (place.path("store"), place.only()["BuildId"].as_str().unwrap().to_owned());
        let word = format!("{id}:0x2012b0");
        let answer =
            foldsym(&["lookup", "--json", "--store", store.to_str().unwrap(), &word]).json().remove(0);
        assert_eq!(answer.get("Level").and_then(Value::as_str), level, "{answer}");
        // In text it stands where a line is missing.
        let text = foldsym(&["lookup", "--certainty=all", "--store", store.to_str().unwrap(), &word]).out;
        let said = text.contains("[the file has symbols alone]\n??:0:0");
        assert_eq!(said, level == Some("none"), "{text}");
        let log =
            place.file("log.txt", format!("    #0 0x2012b0 (/app+0x2012b0) (BuildId: {id})\n").as_bytes());
        let text = foldsym(&["symbolize", "--store", store.to_str().unwrap(), log.to_str().unwrap()]).out;
        let said = text.contains(" from /app [the file has symbols alone]\n");
        assert_eq!(said, level == Some("none"), "{text}");
    }
}

#[test]
fn a_worse_file_does_not_replace_a_better_one() {
    let place = Place::new();
    let (whole, poor) = (place.file("whole/app", &demo()), place.file("poor/app", &stripped(&demo())));
    assert_eq!(place.convert(&[&whole], &[]).code, 0);
    let before = bytes_of(&place.only());
    let ran = place.convert(&[&poor], &["--unwind"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.out.contains(": kept, it has all debug information; ") && ran.out.contains("has symbols alone")
    );
    assert!(bytes_of(&place.only()) == before, "replaced");
    // Nor with `--force`, which may replace a file by one that is as good.
    assert!(place.convert(&[&poor], &["--unwind", "--force"]).out.contains(": kept, "));
    assert!(bytes_of(&place.only()) == before, "replaced");
    assert!(
        place.convert(&[&whole], &["--unwind"]).out.contains(": replaces one without rows for unwinding")
    );
    assert_eq!(place.only()["Level"], "full");
}

/// Several files of one build in one run: the options judge what the store has at the end, whichever came first.
#[test]
fn one_run_is_judged_by_what_the_store_has_at_its_end() {
    for turned in [false, true] {
        let place = Place::new();
        let mut inputs = [place.file("poor/app", &damaged(&demo())), place.file("whole/app", &demo())];
        if turned {
            inputs.reverse();
        }
        let [first, second] = &inputs;
        let ran = place.convert(&[first, second], &["--strict", "--threads", "1"]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(!ran.out.contains("with losses"), "{}", ran.out);
        let ran = place.convert(&[&place.file("bare/app", &stripped(&demo()))], &["--require-debug-info"]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    }
}

#[test]
fn a_better_program_replaces_what_came_first() {
    let whole = demo();
    for (poor, level, words) in [
        (stripped(&whole), "none", "symbols alone"),
        (damaged(&whole), "partial", "a part of the debug information (lost: lost_units)"),
    ] {
        let place = Place::new();
        let (poor, good) = (place.file("a/app", &poor), place.file("b/app", &whole));
        assert_eq!(place.convert(&[&poor], &[]).code, 0);
        assert_eq!(place.only()["Level"], level);
        let text = foldsym(&["store", "list", place.path("store").to_str().unwrap()]).out;
        assert!(text.contains(words), "{text}");
        let ran = place.convert(&[&good], &[]);
        assert!(ran.code == 0 && ran.out.contains(&format!(": replaces one that has {words}: ")), "{ran:?}");
        assert_eq!((&place.only()["Level"], &place.only()["Lost"]), (&"full".into(), &Value::Array(vec![])));
        // In one run, in either order and by any number of threads.
        let one = Place::new();
        let inputs = [one.file("a/app", &std::fs::read(&poor).unwrap()), one.file("b/app", &whole)];
        assert_eq!(one.convert(&[&inputs[0], &inputs[1]], &["--threads", "2"]).code, 0);
        assert_eq!(one.only()["Level"], "full");
    }
}

/// The `.dwo` files appear after the first conversion.
#[test]
fn a_program_is_converted_again_once_its_dwo_files_are_there() {
    let place = Place::new();
    let set = program("split.clang-dwarf5.set");
    let app = place.file("app", &std::fs::read(set.join("split")).unwrap());
    assert_eq!(place.convert(&[&app], &["--strict", "-q"]).code, 4);
    let entry = place.only();
    assert_eq!((&entry["Level"], &entry["Lost"][0]), (&"lines".into(), &"missing_dwo".into()));
    for dwo in ["a.dwo", "b.dwo"] {
        std::fs::copy(set.join(dwo), place.path(dwo)).unwrap();
    }
    let ran = place.convert(&[&app], &["--strict"]);
    assert!(ran.code == 0 && ran.out.contains("replaces one that has lines without functions"), "{ran:?}");
    assert!(place.convert(&[&app], &["--strict"]).out.contains("already in the store\n"));
}

#[test]
fn the_gate_says_the_same_each_time() {
    let place = Place::new();
    let (poor, lossy) = (place.file("poor", &stripped(&demo())), place.file("lossy", &damaged(&demo())));
    for _ in 0..3 {
        let ran = place.convert(&[&poor], &["--require-debug-info"]);
        assert_eq!(ran.code, 4, "{ran:?}");
    }
    for _ in 0..3 {
        let ran = place.convert(&[&lossy], &["--strict", "--require-debug-info", "--quiet"]);
        assert!(ran.code == 4 && ran.err.contains("warning"), "{ran:?}");
    }
    // What stands in the store is judged: the poor copy takes nothing from it.
    let whole = place.file("whole", &demo());
    for input in [&whole, &poor, &lossy, &whole] {
        let ran = place.convert(&[input], &["--strict", "--require-debug-info"]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

/// `--remap-path` is an option like others: a file with the paths that it asks for takes the place of one without, and stays.
#[test]
fn replaced_paths_stay() {
    let whole = demo();
    let remap = ["--remap-path", "/=/elsewhere/"];
    let answers = |place: &Place| {
        let (store, id) = (place.path("store"), place.only()["BuildId"].as_str().unwrap().to_owned());
        foldsym(&["lookup", "--store", store.to_str().unwrap(), &format!("{id}:0x2012b0")]).out
    };
    let mut made = Vec::new();
    for order in [[true, false], [false, true]] {
        let place = Place::new();
        let input = place.file("app", &whole);
        for with in order {
            let ran = place.convert(&[&input], if with { &remap } else { &[] });
            assert_eq!(ran.code, 0, "{ran:?}");
        }
        let again = place.convert(&[&input], &remap);
        assert!(again.out.contains("already in the store") && again.err.is_empty(), "{again:?}");
        let without = place.convert(&[&input], &["--unwind"]);
        assert!(without.out.contains(" and no --remap-path"), "{without:?}");
        assert!(without.err.contains("the store's file lacks rows for unwinding"), "{without:?}");
        let entry = place.only();
        let answer = answers(&place);
        assert!(answer.contains("\n/elsewhere/"), "{answer}");
        assert!(!entry.to_string().contains("elsewhere"), "{entry}");
        made.push(bytes_of(&entry));
    }
    assert_eq!(made[0], made[1]);
}

/// What a better file lacks by its options is said.
#[test]
fn options_that_are_lost_with_a_poorer_file_are_told() {
    let place = Place::new();
    let (whole, poor) = (place.file("whole/app", &demo()), place.file("poor/app", &stripped(&demo())));
    assert_eq!(place.convert(&[&poor], &["--unwind"]).code, 0);
    let ran = place.convert(&[&whole], &[]);
    assert!(ran.out.contains("replaces one that has symbols alone"), "{ran:?}");
    assert!(ran.err.contains("the file that it replaces had rows for unwinding"), "{ran:?}");
}

/// Without its abbreviations a program has no debug information that can be read.
#[test]
fn a_program_without_abbreviations_has_symbols_alone() {
    let place = Place::new();
    let input = place.file("app", &without(&demo(), &|name| name == ".debug_abbrev"));
    let ran = place.convert(&[&input], &["--require-debug-info"]);
    assert_eq!((ran.code, place.only()["Level"].as_str()), (4, Some("none")), "{ran:?}");
}

/// An input of the property: its name and bytes, the program that it is a copy of, and how good a copy it is.
struct Input {
    path: PathBuf,
    program: usize,
    rank: u32,
}

fn inputs(place: &Place) -> Vec<Input> {
    let other = std::fs::read(program("demo.gcc")).unwrap();
    let split = program("split.clang-dwarf5.set");
    let with_dwo = place.file("split/app", &std::fs::read(split.join("split")).unwrap());
    for dwo in ["a.dwo", "b.dwo"] {
        std::fs::copy(split.join(dwo), place.path(&format!("split/{dwo}"))).unwrap();
    }
    let alone = place.file("split-alone/app", &std::fs::read(split.join("split")).unwrap());
    let mut inputs =
        vec![Input { path: with_dwo, program: 2, rank: 3 }, Input { path: alone, program: 2, rank: 1 }];
    for (at, bytes) in [demo(), other].into_iter().enumerate() {
        for (rank, copy) in
            [stripped(&bytes), damaged(&bytes), without_symbols(&bytes), bytes.clone()].iter().enumerate()
        {
            let path = place.file(&format!("{at}.{rank}/app"), copy);
            inputs.push(Input { path, program: at, rank: rank as u32 });
        }
    }
    inputs
}

/// Random sequences of conversions end with the file of the best input, with the options that were asked for with it.
#[test]
fn any_sequence_ends_with_the_best_input() {
    let place = Place::new();
    let inputs = inputs(&place);
    let options = ["--unwind", "--columns", "--name-index"];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        // xorshift: the same sequences each time.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut made: BTreeMap<(usize, BTreeSet<&str>), Vec<u8>> = BTreeMap::new();
    for round in 0..8 {
        let _ = std::fs::remove_dir_all(place.path("store"));
        let mut best: BTreeMap<usize, (usize, BTreeSet<&str>)> = BTreeMap::new();
        let mut said = Vec::new();
        for _ in 0..7 {
            let at = next(inputs.len());
            let asked: BTreeSet<&str> = options.into_iter().filter(|_| next(3) == 0).collect();
            let more: Vec<&str> = asked.iter().copied().collect();
            let ran = place.convert(&[&inputs[at].path], &more);
            assert_eq!(ran.code, 0, "{ran:?}");
            said.push(ran.out);
            let (found, of_it) = best.entry(inputs[at].program).or_insert((at, BTreeSet::new()));
            match inputs[at].rank.cmp(&inputs[*found].rank) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => of_it.extend(&asked),
                std::cmp::Ordering::Greater => (*found, *of_it) = (at, asked),
            }
        }
        let listed: BTreeSet<Vec<u8>> = place.listed().iter().map(bytes_of).collect();
        let expected: BTreeSet<Vec<u8>> = best
            .into_values()
            .map(|key| {
                let convert = || {
                    let out = place.path("alone.fsym");
                    let mut args = vec!["convert", inputs[key.0].path.to_str().unwrap(), "-o"];
                    args.push(out.to_str().unwrap());
                    args.extend(&key.1);
                    assert_eq!(foldsym(&args).code, 0);
                    std::fs::read(&out).unwrap()
                };
                made.entry(key.clone()).or_insert_with(convert).clone()
            })
            .collect();
        assert!(listed == expected, "round {round}: {said:#?}");
    }
}

/// The program without its build id.
fn without_id(bytes: &[u8]) -> Vec<u8> {
    let mut out = without(bytes, &|name| name == ".note.gnu.build-id");
    let start = u64::from_le_bytes(bytes[0x20..0x28].try_into().unwrap()) as usize;
    let count = u16::from_le_bytes(bytes[0x38..0x3a].try_into().unwrap()) as usize;
    for header in (0..count).map(|at| start + 56 * at) {
        // PT_NOTE becomes PT_NULL.
        if out[header..header + 4] == [4, 0, 0, 0] {
            out[header] = 0;
        }
    }
    out
}

/// The program with another letter in a function's name.
fn renamed(bytes: &[u8], name: &str) -> Vec<u8> {
    let file = object::File::parse(bytes).unwrap();
    let (start, size) = file.section_by_name(".strtab").unwrap().file_range().unwrap();
    let table = &bytes[start as usize..(start + size) as usize];
    let at = table.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
    let mut out = bytes.to_vec();
    out[start as usize + at + name.len() - 1] ^= 1;
    out
}

fn function_of(bytes: &[u8]) -> String {
    use object::ObjectSymbol;
    let file = object::File::parse(bytes).unwrap();
    let named = |symbol: &object::Symbol<'_, '_>| {
        symbol.kind() == object::SymbolKind::Text && symbol.name().is_ok_and(|name| name.len() > 3)
    };
    let symbol = file.symbols().find(named).unwrap();
    symbol.name().unwrap().to_owned()
}

#[test]
fn programs_without_a_build_id_are_told_apart_by_their_contents() {
    let place = Place::new();
    let one = without_id(&demo());
    let inputs = [place.file("a/one", &one), place.file("b/two", &renamed(&one, &function_of(&one)))];
    for _ in 0..2 {
        assert_eq!(place.convert(&[&inputs[0], &inputs[1]], &[]).code, 0);
    }
    let listed = place.listed();
    assert_eq!(listed.len(), 2, "{listed:?}");
    // Breakpad takes both for one, so its id leads to both.
    let debug_id = listed[0]["DebugId"].as_str().unwrap().to_owned();
    assert_eq!(listed[1]["DebugId"], debug_id);
    let (store, cache) = (place.path("store"), place.path("cache"));
    let places = ["--store", store.to_str().unwrap(), "--cache", cache.to_str().unwrap()];
    let ask = |id: &str| {
        let module = format!("{{\"id\":\"{id}\",\"name\":\"x\",\"base\":{}}}", 0x20_0000);
        let request = format!("{{\"modules\":[{module}],\"frames\":[{}]}}\n", 0x20_12b0);
        let ran = common::foldsym_with(&[&["stack", "--json"], &places[..]].concat(), &request);
        ran.json()[0]["Frames"][0].clone()
    };
    let answer = ask(&debug_id);
    let message = answer["Unknown"]["Message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(message.contains("several programs have this id"), "{message}");
    for entry in &listed {
        let id = entry["BuildId"].as_str().unwrap();
        let named = format!("{} ({id})", entry["Name"].as_str().unwrap());
        assert!(message.contains(&named), "{message}");
        assert_eq!(ask(id)["Symbol"][1]["FunctionName"], "demo::crash()");
    }
    let ran = foldsym(&["store", "check", store.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // With one of them alone the id is enough.
    let gone = listed[0]["BuildId"].as_str().unwrap();
    assert_eq!(foldsym(&["store", "remove", store.to_str().unwrap(), gone]).code, 0);
    assert_eq!(ask(&debug_id)["Symbol"][1]["FunctionName"], "demo::crash()");
}

#[test]
fn objects_with_equal_code_and_different_functions_are_two() {
    let place = Place::new();
    let one = std::fs::read(program("inline.clang.o")).unwrap();
    let two = renamed(&one, &function_of(&one));
    let inputs = [place.file("a/x.o", &one), place.file("b/x.o", &two), place.file("c/x.o", &one)];
    assert_eq!(place.convert(&[&inputs[0], &inputs[1], &inputs[2]], &[]).code, 0);
    assert_eq!(place.listed().len(), 2);
}

/// Eight processes at once, some of which are killed, leave a sound store that no order of them makes worse.
#[test]
fn processes_that_are_killed_leave_the_best_file() {
    let place = Place::new();
    let inputs = inputs(&place);
    let store = place.path("store");
    let start = |at: usize| {
        let mut command = common::command();
        command.args(["convert", "--quiet", "--store"]).arg(&store).arg(&inputs[at % inputs.len()].path);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    for round in 0..3 {
        let mut running: Vec<_> = (0..8).map(|at| start(3 * round + at)).collect();
        for (at, child) in running.iter_mut().enumerate().filter(|(at, _)| at % 3 == 0) {
            std::thread::sleep(std::time::Duration::from_millis(7 * at as u64));
            child.kill().unwrap();
        }
        for (at, mut child) in running.into_iter().enumerate() {
            let code = child.wait().unwrap().code();
            assert!(at % 3 == 0 || code == Some(0), "{code:?}");
        }
        let ran = foldsym(&["store", "check", store.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    // Whoever was killed is run again: the best inputs first, which the others must not replace.
    for input in inputs.iter().rev() {
        assert_eq!(place.convert(&[&input.path], &[]).code, 0);
    }
    let listed = place.listed();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|entry| entry["Level"] == "full"), "{listed:?}");
}

//! Holds the specification, its tables for machines, the independent reader and the golden file together.
//!
//! `schema/reader.py` is written only from the text of `schema/`. Here it reads our files and must give our answers. Without `python3`
//! those tests print that and pass, except if `CI` is `true`.
//!
//! Long because all tests of the independent reader share the code that runs it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::records::{FileCode, Owner};
use foldsym_lookup::{
    Certainty, Evidence, Frames, ImageAddr, Lookup, PieceId, Resolved, ReturnAddr, StackAddr, SymbolFile,
    features, flags,
};
use foldsym_testbins::program::architectures;
use foldsym_testbins::root;
use foldsym_testbins::stacks::Stack;
use foldsym_testkit::writer;
use serde_json::{Value, json};

/// The input of a conversion: a file of `built/`, and the architecture to take from a fat one.
const PROGRAMS: &[(&str, Option<&str>)] = &[
    ("core.dwarf5", None),               // Rust; folded functions
    ("core.lines", None),                // lines without functions: files unknown
    ("demo.elf", None),                  // padding with lines
    ("golang.amd64.debug", None),        // Go; row records of several blocks
    ("inline.aarch64", None),            // units of 4 bytes
    ("inline.arm-thumb", None),          // units of 2 bytes
    ("inline.clang-symbols-only", None), // no debug information
    ("inline.clang.o", None),            // relocatable
    ("inline.gcc-dwarf2", None),         // calls without a line
    ("inline.i386", None),
    ("inline.mips-be", None),
    ("inline.s390x-be.o", None), // relocatable and big-endian
    ("lanes.first", None),       // expressions of functions
    ("lanes.user", None),
    ("lines.gas.o", None),
    ("macho.arm64", None),
    ("macho.fat", Some("x86_64")),
    ("macho.x86_64.dSYM", None), // pieces cut out of functions
    ("nested.gcc-o2", None),
    ("objects.clang-bb-sections", None),
    ("objects.clang-sections.o", None),
    ("objects.gcc-lto", None), // cold parts
    ("objects.gcc-o2", None),
    ("symbols.clang", None), // aliases
    ("units.clang-lto", None),
];

/// Contents that the programs must have between them; else the comparison leaves out a part of the format.
const FEATURES: &[&str] = &[
    "columns",
    "relocatable",
    "big-endian",
    "Mach-O",
    "unit above 1",
    "group",
    "alias",
    "symbol of a piece",
    "function name apart from its origin",
    "skip",
    "padding",
    "inlined 4 deep",
    "many rows",
    "file of a row",
    "no line",
    "line 0",
    "name index",
];

fn schema() -> PathBuf {
    root().parent().unwrap().join("schema")
}

fn converted(program: &str, arch: Option<&str>, columns: bool, folder: &Path) -> PathBuf {
    let output = folder.join(format!("{program}.{columns}.fsym"));
    let arch = arch.map(str::to_owned);
    let options = Options::default().with(|options| {
        options.threads = 2;
        options.arch = arch;
        options.columns = columns;
        options.unwind = columns;
        options.name_index = true;
    });
    let built = root().join("built").join(program);
    // Away from `built`, so that no separate debug file is found beside the program.
    let input = if built.is_file() { folder.join(program) } else { built.clone() };
    if built.is_file() {
        fs::copy(&built, &input).unwrap();
    }
    convert(&input, &output, &options, &NoProgress).unwrap_or_else(|error| panic!("{program}: {error}"));
    output
}

/// Runs `python3` with these arguments. `None` if it is missing; prints that.
fn python(arguments: &[&str], stdin: Stdio) -> Option<Output> {
    match Command::new("python3").args(arguments).stdin(stdin).output() {
        Ok(output) => Some(output),
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "python3: {error}");
            println!("skipped: needs python3");
            None
        }
    }
}

fn reader(file: &Path, arguments: &[&str], stdin: Stdio) -> Option<Output> {
    let script = schema().join("reader.py");
    python(&[&[script.to_str().unwrap(), file.to_str().unwrap()], arguments].concat(), stdin)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The frames that a lookup left, as the reader prints them.
fn stack(file: &SymbolFile<'_>, frames: &Frames) -> Vec<Value> {
    let mut buffer = vec![0; 1 << 16];
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).unwrap().to_owned();
    let mut out = Vec::new();
    for frame in file.frames(frames) {
        let frame = frame.unwrap();
        let name = frame.name.map(|id| {
            let len = file.write_name(id, &mut buffer).unwrap();
            text(&buffer[..len])
        });
        let path = frame.file.map(|id| {
            let len = file.write_path(id, &mut buffer).unwrap();
            text(&buffer[..len])
        });
        out.push(json!([name, path, frame.line, frame.column]));
    }
    out
}

fn answer(file: &SymbolFile<'_>, frames: &mut Frames, address: u64) -> Value {
    let mut out = json!({ "address": format!("{address:#x}"), "frames": [] });
    let Lookup::Found(answer) = file.lookup(ImageAddr(address), frames).unwrap() else { return out };
    out["frames"] = stack(file, frames).into();
    if answer.group.is_some() {
        let members = (0..answer.member_count()).map(|index| {
            let member = file.member_frames(&answer, index, frames).unwrap();
            json!({ "how": member.how.text(), "frames": stack(file, frames) })
        });
        out["members"] = members.collect();
    }
    out
}

/// Every row start of every piece, for groups of every member, and the edges of the piece. Adds what it sees to `seen`.
fn addresses(file: &SymbolFile<'_>, seen: &mut BTreeSet<&'static str>) -> BTreeSet<u64> {
    let mut out = BTreeSet::new();
    let mut note = |what: &'static str, holds: bool| {
        if holds {
            seen.insert(what);
        }
    };
    let header = file.header();
    note("columns", header.features & features::COLUMNS != 0);
    note("relocatable", header.flags & flags::RELOCATABLE != 0);
    note("big-endian", header.flags & flags::BIG_ENDIAN != 0);
    note("Mach-O", header.flags & flags::MACH_O != 0);
    note("unit above 1", header.unit_log2 > 0);
    note("inlined 4 deep", header.max_depth >= 4);
    note("name index", file.records().sections().any(|section| section.name == "NAME_INDEX"));
    for id in 0..file.records().piece_count() {
        let piece = file.records().piece(PieceId(id)).unwrap();
        let (start, body) = (piece.start.0, piece.body);
        let end = start + body + piece.pad;
        out.extend([start.wrapping_sub(1), start, start + body, end - 1, end]);
        note("skip", piece.skip > 0);
        note("padding", piece.pad > 0);
        let owners = match piece.owner {
            Owner::Function(function) => vec![(function, piece.rows, piece.name)],
            Owner::Group(group) => {
                note("group", true);
                let members = file.records().members(file.records().group(group).unwrap());
                members.map(|m| m.unwrap()).map(|m| (m.function, m.rows, m.name)).collect()
            }
        };
        for (id, rows, name) in owners {
            let function = file.records().function(id).unwrap();
            note("symbol of a piece", name.is_some());
            note("function name apart from its origin", function.name.is_some());
            note("alias", file.records().aliases(&function).next().is_some());
            let Some(rows) = rows else {
                note("no line", true);
                continue;
            };
            let rows: Vec<_> = file.records().rows(rows).unwrap().iter().map(|row| row.unwrap()).collect();
            note("many rows", rows.len() > 64);
            for row in rows {
                note("line 0", row.line.is_none());
                note("file of a row", row.file != FileCode::Origin);
                out.insert(start + row.offset);
            }
        }
    }
    out
}

/// What the independent reader says of all programs.
#[derive(Default)]
struct Compared {
    seen: BTreeSet<&'static str>,
    wrong: String,
    asked: usize,
}

/// `None` where there is no Python.
fn compared(columns: bool) -> Option<Compared> {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Compared::default();
    for (program, arch) in PROGRAMS {
        let path = converted(program, *arch, columns, folder.path());
        let check = reader(&path, &["--check"], Stdio::null())?;
        assert!(check.status.success(), "{program}: {}", stderr(&check));
        let bytes = fs::read(&path).unwrap();
        let file = SymbolFile::open(&bytes).unwrap();
        let mut frames = Frames::new();
        let addresses = addresses(&file, &mut all.seen);
        all.asked += addresses.len();
        let words: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
        let list = folder.path().join("addresses");
        fs::write(&list, words).unwrap();
        let answers = reader(&path, &["--lookup"], File::open(&list).unwrap().into())?;
        assert!(answers.status.success(), "{program}: {}", stderr(&answers));
        let answers = String::from_utf8(answers.stdout).unwrap();
        assert_eq!(answers.lines().count(), addresses.len(), "{program}");
        for (line, address) in answers.lines().zip(addresses) {
            let (theirs, ours) =
                (serde_json::from_str::<Value>(line).unwrap(), answer(&file, &mut frames, address));
            if theirs != ours {
                all.wrong +=
                    &format!("{program}, columns {columns}:\n  reader.py {theirs}\n  lookup    {ours}\n");
            }
        }
    }
    Some(all)
}

#[test]
fn the_independent_reader_accepts_what_we_write_and_answers_as_we_do() {
    let (plain, columns) = std::thread::scope(|scope| {
        let plain = scope.spawn(|| compared(false));
        let columns = compared(true);
        (plain.join().unwrap(), columns)
    });
    let (Some(plain), Some(columns)) = (plain, columns) else { return };
    let wrong = plain.wrong + &columns.wrong;
    assert!(wrong.is_empty(), "{wrong}");
    let asked = plain.asked + columns.asked;
    assert!(asked > 10_000, "{asked}");
    let seen: BTreeSet<_> = plain.seen.union(&columns.seen).collect();
    let unseen: Vec<_> = FEATURES.iter().filter(|feature| !seen.contains(feature)).collect();
    assert!(unseen.is_empty(), "no program shows: {unseen:?}");
}

/// The word of a frame in a line of a stack.
fn word(entry: StackAddr) -> String {
    match entry {
        StackAddr::Exact(address) => format!("={:#x}", address.0),
        StackAddr::Return(address) => format!("{:#x}", address.0),
        StackAddr::Foreign => "?".to_owned(),
    }
}

/// The reader's output for a resolved frame: its certainty, and the functions that it may be.
fn resolved(file: &SymbolFile<'_>, entry: StackAddr, resolved: &Resolved) -> Value {
    let by = match resolved.evidence {
        Some(Evidence::VirtualSlot) => "slot",
        Some(Evidence::Vtable) => "object",
        Some(Evidence::CallType) => "type",
        Some(_) => "call",
        None => "nothing",
    };
    let mut certainty = match resolved.certainty {
        None => return json!([null, []]),
        Some(certainty) => match resolved.reason {
            Some(reason) => format!("{}: {}", certainty.text(), reason.text()),
            None => certainty.text().to_owned(),
        },
    };
    let mut functions: Vec<u32> = match resolved.group {
        None => {
            let found = file.lookup(entry.lookup_address().unwrap(), &mut Frames::new()).unwrap();
            let Lookup::Found(found) = found else { panic!("no function at {entry:?}") };
            vec![found.function.0]
        }
        Some(group) => {
            let group = file.records().group(group).unwrap();
            let candidates = (0..resolved.candidate_count()).map(|index| resolved.candidate(index).unwrap());
            candidates.map(|member| file.records().member(group, member).unwrap().function.0).collect()
        }
    };
    if resolved.group.is_some() && resolved.certainty == Some(Certainty::Likely) {
        certainty += &format!(": {by} {}", functions[0]);
    }
    functions.sort_unstable();
    json!([certainty, functions])
}

/// The recorded stacks of a program, and each of them with a frame that is no return address: a signal's, or another
/// module's.
fn recorded(path: &Path) -> Vec<Vec<StackAddr>> {
    let mut out = Vec::new();
    for (turn, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
        let stack = Stack::parse(line).unwrap().unwrap();
        let linked = stack.addresses.iter().map(|address| address - stack.bias);
        let mut entries: Vec<StackAddr> =
            linked.map(|address| StackAddr::Return(ReturnAddr(address))).collect();
        entries[0] = StackAddr::Exact(ImageAddr(stack.addresses[0] - stack.bias));
        out.push(entries.clone());
        let at = turn % entries.len();
        entries[at] = match entries[at] {
            StackAddr::Return(address) if turn % 3 > 0 => StackAddr::Exact(ImageAddr(address.0)),
            _ => StackAddr::Foreign,
        };
        out.push(entries);
    }
    out
}

/// The members that a stack and the slots of its calls leave for each frame.
fn frames(file: &SymbolFile<'_>, stack: &[StackAddr]) -> Vec<Resolved> {
    let mut all: Vec<Resolved> = Vec::new();
    for (at, &address) in stack.iter().enumerate().rev() {
        let caller = stack.get(at + 1).copied();
        let mut frame = file.resolve_one(address, caller.zip(all.last())).unwrap();
        file.resolve_slot(&mut frame, caller).unwrap();
        all.push(frame);
    }
    all.reverse();
    all
}

#[test]
fn the_independent_reader_resolves_every_recorded_stack_as_we_do() {
    let folder = tempfile::tempdir().unwrap();
    let (mut wrong, mut seen, mut programs) = (String::new(), BTreeMap::new(), 0);
    for entry in fs::read_dir(root().join("built")).unwrap() {
        let set = entry.unwrap().path();
        let name = set.file_name().unwrap().to_str().unwrap().to_owned();
        if !set.join("stacks").exists() {
            continue;
        }
        programs += 1;
        let path = folder.path().join(&name);
        convert(
            &set.join("program"),
            &path,
            &Options::default().with(|options| options.threads = 2),
            &NoProgress,
        )
        .unwrap_or_else(|error| panic!("{name}: {error}"));
        let Some(check) = reader(&path, &["--check"], Stdio::null()) else { return };
        assert!(check.status.success(), "{name}: {}", stderr(&check));
        let stacks = recorded(&set.join("stacks"));
        let lines = stacks.iter().map(|stack| stack.iter().copied().map(word).collect::<Vec<_>>().join(" "));
        let list = folder.path().join("lines");
        fs::write(&list, lines.map(|line| line + "\n").collect::<String>()).unwrap();
        let Some(answers) = reader(&path, &["--stack"], File::open(&list).unwrap().into()) else { return };
        assert!(answers.status.success(), "{name}: {}", stderr(&answers));
        let answers = String::from_utf8(answers.stdout).unwrap();
        assert_eq!(answers.lines().count(), stacks.len(), "{name}");
        let bytes = fs::read(&path).unwrap();
        let file = SymbolFile::open(&bytes).unwrap();
        for (line, stack) in answers.lines().zip(&stacks) {
            let ours = frames(&file, stack);
            let ours: Vec<Value> =
                stack.iter().zip(&ours).map(|(entry, frame)| resolved(&file, *entry, frame)).collect();
            for frame in &ours {
                let word = frame[0].as_str().unwrap_or("none");
                *seen.entry(word.split(':').next().unwrap_or(word).to_owned()).or_insert(0) += 1;
            }
            let (theirs, ours) = (serde_json::from_str::<Value>(line).unwrap(), Value::from(ours));
            if theirs != ours {
                let words: Vec<String> = stack.iter().copied().map(word).collect();
                wrong += &format!("{name}: {}\n  reader.py {theirs}\n  lookup    {ours}\n", words.join(" "));
            }
        }
    }
    println!("{programs} programs: {seen:?}");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(programs >= 9, "{programs}");
    // Without one of them the comparison leaves a rule out.
    for kind in ["none", "unique", "likely", "exact", "narrowed", "ambiguous"] {
        assert!(seen.get(kind).is_some_and(|&count| count > 50), "{kind}: {seen:?}");
    }
}

/// The [`PROGRAMS`] are checked together with their answers.
#[test]
fn the_independent_reader_accepts_every_test_program() {
    let folder = tempfile::tempdir().unwrap();
    let (mut wrong, mut checked) = (String::new(), 0);
    for entry in fs::read_dir(root().join("built")).unwrap() {
        let built = entry.unwrap().path();
        let name = built.file_name().unwrap().to_str().unwrap().to_owned();
        let listed = PROGRAMS.iter().any(|(program, _)| *program == name);
        if listed || name.ends_with(".stack") || name.ends_with(".set") {
            continue;
        }
        let slices = architectures(&built).unwrap();
        let whole = slices.is_empty().then_some(None);
        for arch in slices.iter().map(|arch| Some(arch.as_str())).chain(whole) {
            let path = converted(&name, arch, false, folder.path());
            let Some(check) = reader(&path, &["--check"], Stdio::null()) else { return };
            checked += 1;
            if !check.status.success() {
                wrong += &format!("{name} {arch:?}: {}", stderr(&check));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(checked > 60, "{checked}");
}

#[test]
fn the_independent_reader_holds_what_no_row_shows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.fsym");
    for (what, bad, good) in writer::broken::row_records() {
        for (bytes, sound) in [(good, true), (bad, false)] {
            fs::write(&path, bytes).unwrap();
            let Some(check) = reader(&path, &["--check"], Stdio::null()) else { return };
            assert_eq!(check.status.success(), sound, "{what}: {}", stderr(&check));
            assert!(sound || stderr(&check).contains("ROWS"), "{what}: {}", stderr(&check));
        }
    }
}

#[test]
fn the_independent_reader_holds_what_the_text_says_of_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.fsym");
    let names = [
        (10, "GROUPS"),
        (11, "MEMBERS"),
        (16, "CALLS"),
        (19, "TAILS"),
        (21, "VTABLES"),
        (22, "SLOTS"),
        (36, "OVERRIDERS"),
        (40, "GUESSES"),
        (41, "DISPATCHES"),
        (42, "TARGETS"),
        (38, "IMPORTS"),
        (39, "DATA"),
    ];
    fs::write(&path, writer::broken::sound_calls().file()).unwrap();
    let Some(check) = reader(&path, &["--check"], Stdio::null()) else { return };
    assert!(check.status.success(), "{}", stderr(&check));
    for (what, section, bytes) in writer::broken::calls() {
        fs::write(&path, bytes).unwrap();
        let Some(check) = reader(&path, &["--check"], Stdio::null()) else { return };
        let name = names.iter().find(|(id, _)| *id == section).unwrap().1;
        assert!(
            stderr(&check).contains(name) && check.status.code() == Some(1),
            "{what}: {}",
            stderr(&check)
        );
    }
}

/// The reader against the sets of the tests' own writer, by rules that no recorded stack needs.
#[test]
fn the_independent_reader_resolves_random_programs_as_sets_do() {
    use writer::folded::{Folded, Frame};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.fsym");
    let list = folder.path().join("lines");
    for seed in 0..25 {
        let mut random = writer::Random(seed);
        let program = Folded::random(&mut random);
        fs::write(&path, program.file()).unwrap();
        let returns = program.returns();
        let (mut lines, mut expected) = (String::new(), Vec::new());
        for _ in 0..60 {
            let stack: Vec<Frame> = (0..1 + random.below(6))
                .map(|_| match random.below(12) {
                    0 => Frame::Foreign,
                    1 => Frame::Exact(returns[random.below(returns.len() as u64) as usize]),
                    _ => Frame::Return(returns[random.below(returns.len() as u64) as usize]),
                })
                .collect();
            let words = stack.iter().enumerate().map(|(at, frame)| match (at, frame) {
                // Without a sign, the first is exact.
                (0, Frame::Return(address)) => format!("{:#x}", address - 1),
                (_, Frame::Return(address)) => format!("{address:#x}"),
                (_, Frame::Exact(address)) => format!("={address:#x}"),
                (_, Frame::Foreign) => "?".to_owned(),
            });
            lines += &(words.collect::<Vec<_>>().join(" ") + "\n");
            let answers = (0..stack.len()).map(|at| match program.resolve(&stack[at..]) {
                ("none", _) => json!([null, []]),
                (certainty, functions) => json!([certainty, functions]),
            });
            expected.push(answers.collect::<Value>());
        }
        fs::write(&list, &lines).unwrap();
        let Some(answers) = reader(&path, &["--stack"], File::open(&list).unwrap().into()) else { return };
        assert!(answers.status.success(), "{}", stderr(&answers));
        let answers = String::from_utf8(answers.stdout).unwrap();
        assert_eq!(answers.lines().count(), expected.len());
        for ((answer, line), expected) in answers.lines().zip(lines.lines()).zip(expected) {
            let mut answer: Value = serde_json::from_str(answer).unwrap();
            // The sets do not show which member is the likely one; the tests of the reader do.
            for frame in answer.as_array_mut().unwrap() {
                if frame[0].as_str().is_some_and(|certainty| certainty.starts_with("likely: call ")) {
                    frame[0] = json!("likely");
                }
            }
            assert_eq!(answer, expected, "seed {seed}: {line}");
        }
    }
}

#[test]
fn the_independent_reader_refuses_each_changed_section() {
    let bytes = fs::read(golden("demo.fsym")).unwrap();
    let file = SymbolFile::open(&bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.fsym");
    let places =
        file.records().sections().filter(|s| s.len > 0).map(|s| (s.name, (s.offset + s.len / 2) as usize));
    for (name, at) in places.chain([("header", 16), ("directory", 65)]) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&path, changed).unwrap();
        let Some(check) = reader(&path, &["--check"], Stdio::null()) else { return };
        assert_eq!(check.status.code(), Some(1), "{name}: {}", stderr(&check));
    }
}

// The specification and its tables.

/// The keys of one table of `format.toml` and the texts of their values.
fn toml(table: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(schema().join("format.toml")).unwrap();
    let lines = text.lines().map(|line| line.split('#').next().unwrap().trim());
    let lines = lines.skip_while(|line| *line != format!("[{table}]")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    lines.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
}

fn columns_of(value: &str) -> Vec<String> {
    let names = value.trim_matches(['[', ']']).split(',');
    names.map(|name| name.trim().trim_matches('"').to_owned()).collect()
}

/// The columns of each table with all features on.
fn toml_columns() -> BTreeMap<String, Vec<String>> {
    let mut all = toml("columns");
    all.extend(toml("columns_with_COLUMNS"));
    all.into_iter().map(|(table, columns)| (table, columns_of(&columns))).collect()
}

/// The cells of a row of a Markdown table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(line.split('|').map(str::trim).collect())
}

/// The text of README.md from one heading to the next.
fn chapter<'t>(spec: &'t str, heading: &str) -> &'t str {
    let begin = spec.find(heading).unwrap_or_else(|| panic!("no {heading}"));
    let text = &spec[begin + heading.len()..];
    &text[..text.find("\n## ").unwrap_or(text.len())]
}

#[test]
fn the_sections_and_columns_of_the_text_are_those_of_the_tables_for_machines() {
    let spec = fs::read_to_string(schema().join("README.md")).unwrap();
    let chapter = chapter(&spec, "\n## 3. Sections\n");
    let (mut ids, mut in_list, mut in_tables) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut table = None;
    for line in chapter.lines() {
        if let Some(rest) = line.strip_prefix("**") {
            table = rest.split_once("**").map(|(name, _)| name.to_owned());
            continue;
        }
        let Some(cells) = cells(line).filter(|cells| !cells[0].is_empty() && !cells[0].starts_with('-'))
        else {
            continue;
        };
        match (&table, &cells[..]) {
            (None, [id, name, kind, content]) if id.parse::<u32>().is_ok() => {
                ids.insert((*name).to_owned(), (*id).to_owned());
                if *kind == "table" && !content.starts_with("reserved") {
                    in_list.insert((*name).to_owned(), columns_of(content));
                }
            }
            (Some(table), [column, _]) if *column != "column" || in_tables.contains_key(table) => {
                in_tables.entry(table.clone()).or_insert_with(Vec::new).push((*column).to_owned());
            }
            _ => {}
        }
    }
    assert_eq!(ids, toml("sections"));
    let columns = toml_columns();
    assert_eq!(in_list, columns);
    // GROUPS and ALIASES have a sentence instead of a table.
    for (name, of_table) in &in_tables {
        assert_eq!(Some(of_table), columns.get(name), "{name}");
    }
    let without: Vec<_> = columns.keys().filter(|name| !in_tables.contains_key(*name)).collect();
    assert_eq!(without, ["ALIASES", "GROUPS"]);
    for name in without {
        let sentence = &chapter[chapter.find(&format!("**{name}**")).unwrap()..];
        let sentence = sentence.split("\n\n").next().unwrap();
        let said = |column: &String| sentence.contains(column.as_str());
        assert!(columns[name].iter().all(said), "{name}: {sentence}");
    }
}

#[test]
fn the_independent_reader_has_the_ids_and_columns_of_the_tables_for_machines() {
    let code = "import json, sys; sys.path.insert(0, sys.argv[1]); import reader; \
                print(json.dumps([reader.SECTION_IDS, reader.COLUMNS, reader.HEADER_FIELDS, reader.HEADER_OFFSETS]))";
    let Some(output) = python(&["-c", code, schema().to_str().unwrap()], Stdio::null()) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids = value[0].as_object().unwrap().iter();
    let ids: BTreeMap<_, _> = ids.map(|(id, name)| (name.as_str().unwrap().to_owned(), id.clone())).collect();
    assert_eq!(ids, toml("sections"));
    let columns = value[1].as_object().unwrap().iter();
    let columns: BTreeMap<_, _> = columns
        .map(|(table, columns)| (table.clone(), columns.as_str().unwrap().replace(' ', ", ")))
        .collect();
    let plain = toml("columns").into_iter();
    let plain: BTreeMap<_, _> = plain.map(|(table, list)| (table, columns_of(&list).join(", "))).collect();
    assert_eq!(columns, plain);
    let fields = toml("header.fields");
    for (index, name) in value[2].as_array().unwrap().iter().enumerate() {
        let (begin, end) = (value[3][index].as_u64().unwrap(), value[3][index + 1].as_u64().unwrap());
        assert_eq!(fields[name.as_str().unwrap()], format!("[{begin}, {}]", end - begin), "{name}");
    }
    assert_eq!(fields.len(), value[2].as_array().unwrap().len());
}

// The golden file.

#[test]
fn the_independent_reader_decodes_the_conversion_record_as_we_do() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["core.dwarf5", "inline.clang-symbols-only", "lines.gas.o", "objects.clang-bb-sections"] {
        let bytes = fs::read(converted(name, None, false, folder.path())).unwrap();
        let file = SymbolFile::open(&bytes).unwrap();
        let section = file.records().section_bytes(foldsym_lookup::SectionId::RECORD).unwrap();
        let unpacked = folder.path().join("record");
        fs::write(&unpacked, zstd::decode_all(section).unwrap()).unwrap();
        let script = "import json, sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1]); import record; \
                      print(json.dumps(record.decode(open(sys.argv[2], 'rb').read())))";
        let arguments =
            ["-c", script, schema().to_str().unwrap(), unpacked.to_str().unwrap()].map(str::to_owned);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let Some(output) = python(&arguments, Stdio::null()) else { return };
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();
        let ours = foldsym_convert::report::ConversionRecord::decode(section).unwrap().to_json();
        assert_eq!(theirs, ours, "{name}");
        assert!(ours["counts"]["functions"].is_u64() && ours["decided"]["folded_by_evidence"].is_object());
    }
}

fn golden(name: &str) -> PathBuf {
    schema().join("golden").join(name)
}

#[test]
fn the_golden_file_is_what_we_write_and_its_listing_is_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.fsym");
    let options = Options::default().with(|options| {
        options.threads = 2;
        options.columns = true;
        options.name_index = true;
    });
    convert(&root().join("built/demo.elf"), &path, &options, &NoProgress).unwrap();
    let bytes = fs::read(&path).unwrap();
    let update = std::env::var("UPDATE_GOLDEN").as_deref() == Ok("1");
    if update {
        fs::write(golden("demo.fsym"), &bytes).unwrap();
    }
    let help = "see schema/golden/README.md on how to update it";
    assert!(bytes == fs::read(golden("demo.fsym")).unwrap(), "demo.fsym is not what we write; {help}");
    let Some(listing) = reader(&golden("demo.fsym"), &["--annotate"], Stdio::null()) else { return };
    assert!(listing.status.success(), "{}", stderr(&listing));
    let listing = String::from_utf8(listing.stdout).unwrap();
    if update {
        fs::write(golden("demo.md"), &listing).unwrap();
    }
    let committed = fs::read_to_string(golden("demo.md")).unwrap().replace("\r\n", "\n");
    assert!(listing == committed, "demo.md is not the listing of demo.fsym; {help}");
}

#[test]
fn the_independent_reader_reads_basic_blocks_as_we_do() {
    let folder = tempfile::tempdir().unwrap();
    for set in ["clang", "sections", "split", "profile", "aarch64"] {
        let input = root().join("built").join(format!("blocks.{set}.set")).join("program");
        let path = folder.path().join(format!("{set}.fsym"));
        convert(&input, &path, &Options::default(), &NoProgress).unwrap();
        let Some(check) = reader(&path, &["--check"], Stdio::null()) else { return };
        assert!(check.status.success(), "{set}: {}", stderr(&check));
        let theirs = reader(&path, &["--blocks"], Stdio::null()).unwrap();
        let theirs = String::from_utf8(theirs.stdout).unwrap();
        let bytes = fs::read(&path).unwrap();
        let file = SymbolFile::open(&bytes).unwrap();
        let blocks = file.basic_blocks().unwrap().unwrap();
        let ours = (0..blocks.len()).map(|index| {
            let block = blocks.block(index).unwrap();
            json!({
                "Id": block.id, "Start": format!("{:#x}", block.start.0), "Size": block.size,
                "Flags": block.flag_names().collect::<Vec<_>>(),
                "FunctionStart": format!("{:#x}", blocks.function_start(&block).unwrap().0),
            })
        });
        let theirs = theirs.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert_eq!(theirs.collect::<Vec<_>>(), ours.collect::<Vec<_>>(), "{set}");
    }
}

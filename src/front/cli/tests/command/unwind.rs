//! `dump --unwind` beside `llvm-dwarfdump`, and the page of `info --html`.

use crate::common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::foldsym;
use foldsym_lookup::{SectionId, SymbolFile};

/// Rows: first address, the address after the last, and the rules.
type Rows = BTreeMap<u64, (u64, String)>;

fn number(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// DWARF's number of a register, as LLVM names it.
fn register(name: &str) -> String {
    let x86 = ["RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP"];
    let found = x86.iter().position(|known| *known == name);
    let found = found.or_else(|| match name {
        "RIP" => Some(16),
        "LR" | "W30" => Some(30),
        "WSP" | "SP" => Some(31),
        "FP" | "W29" => Some(29),
        _ => name.trim_start_matches(['R', 'W', 'X', 'B', 'D', 'r', 'e', 'g']).parse().ok(),
    });
    found.map_or_else(|| name.to_owned(), |number| format!("reg{number}"))
}

/// LLVM's rules of a row, in our words; any expression is `expression`.
fn of_llvm(text: &str) -> String {
    let (cfa, rules) = text.split_once(": ").unwrap_or((text, ""));
    let value = |text: &str| {
        if text.contains("DW_OP_") {
            return if text.starts_with('[') { "[expression]" } else { "expression" }.to_owned();
        }
        match text.find(['+', '-']) {
            Some(at) if !text.contains("CFA") => format!("{}{}", register(&text[..at]), &text[at..]),
            Some(_) => text.to_owned(),
            None if text == "[CFA]" => "[CFA+0]".to_owned(),
            None => register(text),
        }
    };
    let cfa = value(cfa.trim_start_matches("CFA="));
    // LLVM leaves out an offset of 0.
    let offset = if cfa.starts_with("reg") && !cfa.contains(['+', '-']) { "+0" } else { "" };
    let mut words = vec![format!("CFA={cfa}{offset}")];
    let mut each: Vec<(u64, String)> = Vec::new();
    for rule in rules.split(", ").filter(|rule| rule.contains('=')) {
        let (name, what) = rule.split_once('=').unwrap();
        let name = register(name);
        let order = name.trim_start_matches("reg").parse().unwrap_or(u64::MAX);
        each.push((order, format!("{name}={}", value(what))));
    }
    each.sort();
    words.extend(each.into_iter().map(|(_, word)| word));
    words.join(" ")
}

fn llvm(program: &Path) -> Option<Rows> {
    let tool = Path::new("/usr/lib/llvm-22/bin/llvm-dwarfdump");
    let output = Command::new(tool).arg("--eh-frame").arg(program).output();
    let Ok(output) = output else {
        assert!(std::env::var_os("CI").is_none(), "needs llvm-dwarfdump 22");
        println!("skipped: needs llvm-dwarfdump 22");
        return None;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let (mut rows, mut end) = (Rows::new(), 0);
    let mut before: Option<u64> = None;
    for line in text.lines() {
        if let Some(range) = line.split_once(" FDE ").and_then(|(_, rest)| rest.split_once("pc=")) {
            end = number(range.1.split_once("...").unwrap().1);
            before = None;
        } else if line.contains(" CIE") {
            end = 0;
        }
        let row = line.strip_prefix("  0x").and_then(|row| row.split_once(": "));
        if let Some((address, what)) = row.filter(|_| end > 0) {
            let address = number(address);
            if let Some(row) = before.and_then(|before| rows.get_mut(&before)) {
                row.0 = address;
            }
            if address < end {
                rows.insert(address, (end, of_llvm(what)));
            }
            before = Some(address);
        }
    }
    Some(rows)
}

fn ours(program: &Path, folder: &Path) -> Rows {
    let symbols = folder.join("out.fsym");
    let (program, symbols) = (program.to_str().unwrap(), symbols.to_str().unwrap());
    let ran = foldsym(&["convert", "--quiet", "--unwind", program, "-o", symbols]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = foldsym(&["dump", symbols, "--unwind"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let row = |line: &str| {
        let (range, rest) = line.split_once(": return ").unwrap();
        let (start, end) = range.split_once("..").unwrap();
        let rest = rest.split_once(": ").unwrap().1.trim_end_matches(" signal");
        // The bytes of an expression are not compared.
        let mut words = Vec::new();
        let mut all = rest.split(' ');
        while let Some(word) = all.next() {
            words.push(word.to_owned());
            if word.ends_with("expression") {
                let hex = all.next().unwrap();
                if hex.ends_with(']') {
                    words.last_mut().unwrap().push(']');
                }
            }
        }
        (number(start), (number(end), words.join(" ")))
    };
    ran.out.lines().map(row).collect()
}

/// The rules at an address.
fn at(rows: &Rows, address: u64) -> Option<&str> {
    let (_, (end, what)) = rows.range(..=address).next_back()?;
    (address < *end).then_some(what)
}

/// At each boundary of either side, and one byte before it.
#[test]
fn rows_are_those_of_llvm_dwarfdump() {
    let folder = tempfile::tempdir().unwrap();
    let built = ["symbols.clang", "objects.gcc-o2", "fold.clang-lld.set/program", "inline.gcc-dwarf5"];
    let mut programs: Vec<PathBuf> = built.map(common::program).to_vec();
    // Two that are not test programs.
    programs.extend(["/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/gdb"].map(PathBuf::from));
    for program in programs.iter().filter(|program| program.exists()) {
        let Some(theirs) = llvm(program) else { return };
        let ours = ours(program, folder.path());
        assert!(theirs.len() > 1, "{}", program.display());
        let mut asked = 0;
        for address in theirs.iter().chain(&ours).flat_map(|(start, (end, _))| [*start, *end]) {
            for address in [address, address.wrapping_sub(1)] {
                asked += 1;
                assert_eq!(at(&ours, address), at(&theirs, address), "{} {address:#x}", program.display());
            }
        }
        println!("{}: {} rows, {asked} addresses", program.display(), ours.len());
    }
}

#[test]
fn an_address_without_a_row_is_said() {
    let fsym = common::Fsym::of("symbols.clang", &["--unwind"]);
    let ran = fsym.run("dump", &["--unwind", "--address", "0x1"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert_eq!(ran.err, "foldsym: 0x1: no row at this address\n");
}

/// A row of `reader.py --unwind` as `dump --unwind` prints it.
fn of_reader(row: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let what = |rule: &[serde_json::Value]| match (rule[0].as_str().unwrap(), rule.get(1)) {
        ("offset", Some(offset)) => format!("[CFA{:+}]", offset.as_i64().unwrap()),
        ("value_offset", Some(offset)) => format!("CFA{:+}", offset.as_i64().unwrap()),
        ("register", Some(register)) => match rule.get(2) {
            Some(offset) => format!("reg{register}{:+}", offset.as_i64().unwrap()),
            None => format!("reg{register}"),
        },
        ("expression", Some(bytes)) => format!("[expression {}]", text(bytes)),
        ("value_expression", Some(bytes)) => format!("expression {}", text(bytes)),
        (word, _) => word.to_owned(),
    };
    // The frame's address is not in memory.
    let cfa = what(row["cfa"].as_array().unwrap()).replace(['[', ']'], "");
    let mut line =
        format!("{}..{}: return reg{}: CFA={cfa}", text(&row["start"]), text(&row["end"]), row["return"]);
    for rule in row["registers"].as_array().unwrap() {
        let rule = rule.as_array().unwrap();
        line += &format!(" reg{}={}", rule[0], what(&rule[1..]));
    }
    if row["signal"] == true { line + " signal" } else { line }
}

/// The reader that is written only from the text of the format.
#[test]
fn rows_are_those_of_the_independent_reader() {
    let folder = tempfile::tempdir().unwrap();
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../schema/reader.py");
    let mut programs = ["symbols.clang", "inline.arm-thumb", "inline.s390x-be", "fold.clang-lld.set/program"]
        .map(common::program)
        .to_vec();
    programs.push("/lib/x86_64-linux-gnu/libc.so.6".into());
    let symbols = folder.path().join("out.fsym");
    for program in programs.iter().filter(|program| program.exists()) {
        let ran = foldsym(&[
            "convert",
            "--quiet",
            "--unwind",
            program.to_str().unwrap(),
            "-o",
            symbols.to_str().unwrap(),
        ]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let read = |option: &str| Command::new("python3").arg(&reader).arg(&symbols).arg(option).output();
        let Ok(theirs) = read("--unwind") else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "needs python3");
            return println!("skipped: needs python3");
        };
        let theirs = String::from_utf8(theirs.stdout).unwrap();
        let theirs = theirs.lines().map(|line| of_reader(&serde_json::from_str(line).unwrap()));
        let ours = foldsym(&["dump", symbols.to_str().unwrap(), "--unwind"]).out;
        assert!(ours.lines().count() > 1, "{}", program.display());
        for (ours, theirs) in ours.lines().zip(theirs.clone()) {
            assert_eq!(ours, theirs, "{}", program.display());
        }
        assert_eq!(theirs.count(), ours.lines().count());
        // A large program takes it long to check whole.
        if program.starts_with(foldsym_testbins::root()) {
            let checked = read("--check").unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
    }
}

/// Each bit of the section is changed: every read gives an answer or an error, and the whole file is known to be damaged.
#[test]
fn a_damaged_section_is_no_more_than_wrong() {
    let folder = tempfile::tempdir().unwrap();
    ours(&common::program("symbols.clang"), folder.path());
    let bytes = std::fs::read(folder.path().join("out.fsym")).unwrap();
    let file = SymbolFile::open(&bytes).unwrap();
    let section = file.records().section_bytes(SectionId::UNWIND).unwrap();
    let start = section.as_ptr() as usize - bytes.as_ptr() as usize;
    let mut addresses = Vec::new();
    let rows = file
        .unwind()
        .unwrap()
        .unwrap()
        .each_row(&mut |row| addresses.extend([row.start, row.end - 1]))
        .unwrap();
    assert!(rows > 4);
    let (mut opened, mut refused, mut changed) = (0, 0, bytes.clone());
    for at in start..start + section.len() {
        for bit in 0..8 {
            changed[at] ^= 1 << bit;
            let file = SymbolFile::open(&changed).unwrap();
            assert!(file.verify().is_err(), "bit {bit} of byte {at}");
            match file.unwind() {
                Ok(unwind) => {
                    opened += 1;
                    let unwind = unwind.unwrap();
                    let holds = unwind.verify().is_ok();
                    for &address in &addresses {
                        let Ok(Some(row)) = unwind.row(address) else { continue };
                        let inside = address.wrapping_sub(row.start);
                        let is_in_row = inside < row.end.wrapping_sub(row.start);
                        assert!(is_in_row || !holds, "bit {bit} of byte {at}");
                        // As many as there are bytes, at most.
                        assert!(row.rules().count() <= section.len());
                    }
                    let all = unwind.each_row(&mut |_| ());
                    assert!(!holds || all.is_ok(), "bit {bit} of byte {at}");
                }
                Err(_) => refused += 1,
            }
            changed[at] ^= 1 << bit;
        }
    }
    assert!(opened > 500 && refused > 100, "{opened} {refused}");
}

#[test]
fn one_row_and_none() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::program("symbols.clang");
    ours(&program, folder.path());
    let symbols = folder.path().join("out.fsym");
    let symbols = symbols.to_str().unwrap();
    // As `foldsym cfi` prints it, and the test of that.
    let ran = foldsym(&["dump", symbols, "--unwind", "--address", "0x2013e8"]);
    assert!(ran.out.ends_with(
        ": return reg16: CFA=reg7+48 reg3=[CFA-48] reg6=[CFA-16] reg12=[CFA-40] reg14=[CFA-32] reg15=[CFA-24] reg16=[CFA-8]\n"
    ), "{ran:?}");
    assert_eq!((ran.code, ran.out.lines().count()), (0, 1));
    assert_eq!(foldsym(&["dump", symbols, "--unwind", "--address", "0x10"]).code, 1);
    assert_eq!(foldsym(&["dump", symbols, "--unwind", "--function", "0"]).code, 2);
    let info = foldsym(&["info", symbols, "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    let rows = foldsym(&["dump", symbols, "--unwind"]).out.lines().count();
    assert_eq!(info["Counts"]["UnwindRows"], rows);
    assert!(info["Counts"]["UnwindRules"].as_u64().unwrap() > 1);
    let program = program.to_str().unwrap();
    foldsym(&["convert", "--quiet", program, "-o", symbols]);
    let ran = foldsym(&["dump", symbols, "--unwind"]);
    assert!(ran.code == 3 && ran.err.contains("convert with --unwind"), "{ran:?}");
}

#[test]
fn a_page_shows_where_the_bytes_go() {
    let folder = tempfile::tempdir().unwrap();
    let symbols = folder.path().join("a<b>.fsym");
    let symbols = symbols.to_str().unwrap();
    let program = common::program("demo.elf");
    foldsym(&["convert", "--quiet", program.to_str().unwrap(), "-o", symbols]);
    let ran = foldsym(&["info", symbols, "--html"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.starts_with("<!doctype html>") && !ran.out.contains("a<b>"));
    let data = ran.out.lines().find_map(|line| line.split_once("layout = ")).unwrap().1;
    let layout: serde_json::Value = serde_json::from_str(data.trim_end_matches(';')).unwrap();
    let size = std::fs::metadata(symbols).unwrap().len();
    let sum = |parts: &serde_json::Value| {
        parts.as_array().unwrap().iter().map(|part| part["Size"].as_u64().unwrap()).sum::<u64>()
    };
    // Nothing is counted twice, at any level.
    assert_eq!((layout["Size"].as_u64(), sum(&layout["Bytes"])), (Some(size), size));
    assert_eq!(layout["CodeSize"], sum(&layout["Code"]));
    let rows = layout["Bytes"].as_array().unwrap().iter().find(|part| part["Name"] == "ROWS").unwrap();
    assert!(sum(&rows["Parts"]) <= rows["Size"].as_u64().unwrap());
    for folder in layout["Code"].as_array().unwrap().iter().filter(|folder| folder.get("Parts").is_some()) {
        assert_eq!(folder["Size"], sum(&folder["Parts"]), "{folder}");
    }
    assert!(data.contains("demo::crash()"), "{data}");
}

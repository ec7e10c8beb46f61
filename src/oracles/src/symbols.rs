//! `cargo xtask symbols`: compares every name that a symbol table has for a function with the answers of a file.
//!
//! A linker that folds functions leaves their symbols at one address. Each of these names must be somebody there: a
//! function that shares the code, or another name of one (a constructor's variants).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fold::Foldsym;
use crate::llvm::readelf;
use xtask::sh;

const HELP: &str = "cargo xtask symbols [PROGRAM]... [--foldsym BIN]
  asks for the name of every function symbol of each PROGRAM (corpus/rocksdb/librocksdb.so) and counts those that share their
  address with others; fails for a name that is not found at its address
  --foldsym BIN   another build of foldsym than this checkout's";

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails, a name that is lost.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut programs, mut foldsym) = (Vec::new(), None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" => {
                println!("{HELP}");
                return Ok(());
            }
            "--foldsym" => foldsym = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            other if other.starts_with('-') => return Err(HELP.to_owned()),
            other => programs.push(PathBuf::from(other)),
        }
    }
    if programs.is_empty() {
        programs.push(sh::root().join("corpus/rocksdb/librocksdb.so"));
    }
    let foldsym = Foldsym::build(foldsym)?;
    let mut lost = 0;
    for program in &programs {
        println!("{}", program.display());
        lost += compare(&foldsym, program)?;
    }
    if lost == 0 { Ok(()) } else { Err(format!("{lost} names are lost")) }
}

/// How many names of the program are lost.
fn compare(foldsym: &Foldsym, program: &Path) -> Result<u64, String> {
    let symbols = symbols(program)?;
    let fsym = sh::scratch("symbols")?.join("program.fsym");
    let mut convert = Command::new(foldsym.path());
    sh::run(convert.args(["convert", "-q"]).arg(program).arg("-o").arg(&fsym))?;
    let mut find = Command::new(foldsym.path());
    let listed = sh::output(find.args(["find", "--no-demangle", "--regex", "^"]).arg(&fsym))?;
    let found = found(&listed);

    let shared: Vec<(&u64, &BTreeSet<String>)> =
        symbols.iter().filter(|(_, names)| names.len() > 1).collect();
    let variants = shared.iter().filter(|(_, names)| {
        let plain: BTreeSet<String> = names.iter().map(|name| without_variant(name)).collect();
        plain.len() == 1
    });
    println!(
        "{} addresses with {} names; at {} of them only variants of one constructor or destructor",
        shared.len(),
        shared.iter().map(|(_, names)| names.len()).sum::<usize>(),
        variants.count()
    );
    let (mut asked, mut lost) = (0_u64, 0_u64);
    for (address, names) in &symbols {
        for name in names {
            asked += 1;
            let is_at = |name: &str| found.get(name).is_some_and(|places| places.contains(address));
            // A cold part is of its function, whose parts all are listed with it.
            if !is_at(name) && !name.strip_suffix(".cold").is_some_and(is_at) {
                lost += 1;
                if lost <= 10 {
                    println!("{address:#x}: {name} is nobody there");
                }
            }
        }
    }
    println!("{asked} names of functions: {lost} not found");
    Ok(lost)
}

/// The names of functions at each address, from the symbol table.
fn symbols(program: &Path) -> Result<BTreeMap<u64, BTreeSet<String>>, String> {
    let found = readelf::functions(program)?;
    if found.is_empty() {
        return Err(format!("{}: no symbols of functions", program.display()));
    }
    Ok(found)
}

/// The starts of the parts of each function, by name and by alias. From the lines of `foldsym find`: name, ranges, source, and then the
/// folded functions and the aliases.
fn found(text: &str) -> HashMap<&str, BTreeSet<u64>> {
    let mut found: HashMap<&str, BTreeSet<u64>> = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split('\t');
        let (name, ranges) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let also = fields.nth(1).and_then(|rest| rest.split_once("also: "));
        let others = also.map_or("", |(_, others)| others).split(", ").filter(|name| !name.is_empty());
        let start =
            |range: &str| u64::from_str_radix(range.trim().split('-').next()?.strip_prefix("0x")?, 16).ok();
        let starts: Vec<u64> = ranges.split([',', ' ']).filter_map(start).collect();
        for name in std::iter::once(name).chain(others) {
            found.entry(name).or_default().extend(&starts);
        }
    }
    found
}

/// The name with every `C1E`, `D2E` and so on as one: variants of one constructor or destructor are then equal.
fn without_variant(name: &str) -> String {
    let mut bytes = name.as_bytes().to_vec();
    for at in 1..bytes.len().saturating_sub(1) {
        if matches!(bytes[at - 1], b'C' | b'D') && bytes[at].is_ascii_digit() && bytes[at + 1] == b'E' {
            bytes[at] = b'_';
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_find() {
        let text =
            "f\t0x10-0x20\ta.c:1\n_ZN1AD2Ev\t0x30-0x40, 0x50-0x60\ta.c:2\tfolded with 1 also: _ZN1AD1Ev, g\n";
        let found = found(text);
        assert_eq!(found["f"], [0x10].into());
        for name in ["_ZN1AD2Ev", "_ZN1AD1Ev", "g"] {
            assert_eq!(found[name], [0x30, 0x50].into(), "{name}");
        }
    }

    #[test]
    fn variants_of_one_function() {
        assert_eq!(without_variant("_ZN1AC1Ev"), without_variant("_ZN1AC2Ev"));
        assert_ne!(without_variant("_ZN1AC1Ev"), without_variant("_ZN1BC1Ev"));
    }
}

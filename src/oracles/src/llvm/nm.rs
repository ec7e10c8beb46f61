//! The text of `nm`, LLVM's and binutils': functions with their places, names, and the symbols of Mach-O.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Kind, Symbol, hex, of_arch, printed};
use xtask::sh;

/// Address, size, name.
pub(crate) type Placed = (u64, u64, String);

/// The functions of a program, sorted by address.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn functions(program: &Path) -> Result<Vec<Placed>, String> {
    let text = printed("llvm-nm", &["--defined-only", "--print-size", "--numeric-sort"], program)?;
    Ok(placed(&text, &["t", "T", "w", "W"]))
}

/// The functions of a program that have a size, by the `nm` of binutils: of its symbol table, or of its dynamic one where it has no other.
///
/// # Errors
/// `nm` is missing, or fails for both tables.
pub(crate) fn functions_by_binutils(program: &Path) -> Result<Vec<Placed>, String> {
    let list = |table: &[&str]| {
        sh::output(Command::new("nm").args(table).args(["--defined-only", "-S"]).arg(program))
    };
    let mut text = list(&[]).unwrap_or_default();
    if text.trim().is_empty() {
        text = list(&["-D"])?;
    }
    let mut found = placed(&text, &["t", "T", "W", "i"]);
    found.retain(|(_, size, _)| *size > 0);
    Ok(found)
}

/// The lines `Address Size Kind Name` of some kinds. A symbol without a size has no second word.
fn placed(text: &str, kinds: &[&str]) -> Vec<Placed> {
    let line = |line: &str| {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [address, size, kind, name] = words[..] else { return None };
        let found = (hex(address)?, hex(size)?, name.to_owned());
        kinds.contains(&kind).then_some(found)
    };
    text.lines().filter_map(line).collect()
}

/// The names that objects define.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn defined(objects: &[PathBuf]) -> Result<BTreeSet<String>, String> {
    let mut nm = Command::new(sh::llvm("llvm-nm")?);
    let text = sh::output(nm.args(["--defined-only", "--format=just-symbols"]).args(objects))?;
    let names = text.lines().map(|line| line.trim().to_owned());
    Ok(names.filter(|name| !name.is_empty()).collect())
}

/// The names of both symbol tables of a program, without versions, by the `nm` of binutils. None of a table that the program lacks.
pub(crate) fn names(program: &Path) -> BTreeSet<String> {
    let list = |table: &[&str]| sh::output(Command::new("nm").args(table).arg(program)).unwrap_or_default();
    let tables = [list(&[]), list(&["-D"])];
    tables.iter().flat_map(|text| text.lines()).map(last_name).collect()
}

fn last_name(line: &str) -> String {
    let name = line.rsplit(' ').next().unwrap_or_default();
    name.split('@').next().unwrap_or_default().to_owned()
}

/// The symbols of a Mach-O file.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn macho_symbols(file: &Path, arch: Option<&str>) -> Result<Vec<Symbol>, String> {
    let arch = of_arch(arch);
    let options = ["--no-sort", "--defined-only", "--format=posix"];
    let options: Vec<&str> = options.into_iter().chain(arch.as_deref()).collect();
    Ok(macho(&printed("llvm-nm", &options, file)?))
}

/// The lines `name type value size` of a Mach-O file; names lose the underscore that the format puts before them.
fn macho(text: &str) -> Vec<Symbol> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.rsplitn(4, ' ');
            let (_size, value, kind, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
            let address = hex(value)?;
            let kind = if kind.eq_ignore_ascii_case("t") { Kind::Function } else { Kind::Object };
            let name = name.strip_prefix('_').unwrap_or(name).to_owned();
            Some(Symbol { address, size: 0, kind, name, file: None })
        })
        .collect()
}

/// The functions of a linked Mach-O program with their sizes and source files, of its debug map: the lines `SO`, `FUN` with a
/// name, `FUN` with a size (of `llvm-nm --debug-syms --no-sort`).
///
/// # Errors
/// A tool of LLVM that is missing or fails.
pub(crate) fn debug_map(program: &Path) -> Result<Vec<Symbol>, String> {
    Ok(stabs(&printed("llvm-nm", &["--debug-syms", "--no-sort"], program)?))
}

fn stabs(text: &str) -> Vec<Symbol> {
    let (mut symbols, mut file): (Vec<Symbol>, Option<String>) = (Vec::new(), None);
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let value = words.next().and_then(hex);
        let (Some(value), Some("-")) = (value, words.next()) else { continue };
        let (kind, name) = (words.nth(2), words.next());
        match (kind, name) {
            (Some("SO"), name) => file = name.map(str::to_owned),
            (Some("FUN"), Some(name)) => symbols.push(Symbol {
                address: value,
                size: 0,
                kind: Kind::Function,
                name: name.strip_prefix('_').unwrap_or(name).to_owned(),
                file: file.clone(),
            }),
            (Some("FUN"), None) => {
                if let Some(last) = symbols.last_mut() {
                    last.size = value;
                }
            }
            _ => {}
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_a_place() {
        let text = "0000000000001000 0000000000000010 T f\n0000000000001010 t no_size\n\
            0000000000001020 0000000000000008 D data\n0000000000001030 0000000000000000 W g h\n";
        let expected = [(0x1000, 16, "f".to_owned()), (0x1030, 0, "g h".to_owned())];
        assert_eq!(placed(text, &["t", "T", "w", "W"]), expected);
    }

    #[test]
    fn a_name_has_no_version() {
        assert_eq!(last_name("0000000000001000 T _Z1fv@@V_1"), "_Z1fv");
        assert_eq!(last_name("                 U _Z1gv"), "_Z1gv");
    }

    #[test]
    fn a_symbol_of_macho_has_no_underscore() {
        let [function, data] = &macho("_f T 100000f00 0\n_d D 100001000 0\n")[..] else { panic!() };
        assert_eq!(
            (function.name.as_str(), function.address, function.kind),
            ("f", 0x1_0000_0f00, Kind::Function)
        );
        assert_eq!(data.kind, Kind::Object);
    }

    #[test]
    fn functions_of_a_debug_map() {
        let text = "0000000000000000 - 00 0000    SO /src/f0.cpp
0000000000000000 - 03 0001   OSO /tmp/f0.o
0000000100001a60 - 01 0000   FUN __ZL6local8PK4Stepi
0000000000000090 - 00 0000   FUN 
0000000000000000 - 01 0000    SO 
0000000100001a60 t __ZL6local8PK4Stepi";
        let [symbol] = &stabs(text)[..] else { panic!("{:?}", stabs(text)) };
        assert_eq!(
            (symbol.address, symbol.size, symbol.name.as_str()),
            (0x1_0000_1a60, 0x90, "_ZL6local8PK4Stepi")
        );
        assert_eq!(symbol.file.as_deref(), Some("/src/f0.cpp"));
    }
}

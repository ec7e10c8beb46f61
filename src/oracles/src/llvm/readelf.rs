//! The text of `llvm-readelf`: symbols, sections, the first segment, and what the loader writes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::{Kind, Symbol, hex, printed};

/// The symbols of an ELF file that have a section and may be looked up: of `.symtab`, or of `.dynsym` if there is no other.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn symbols(file: &Path, is_arm: bool) -> Result<Vec<Symbol>, String> {
    Ok(elf_symbols(&printed("llvm-readelf", &["--symbols", "--wide"], file)?, is_arm))
}

/// The names of functions at each address, of both symbol tables, without versions.
///
/// # Errors
/// The tool is missing or fails, or prints an address that is none.
pub(crate) fn functions(file: &Path) -> Result<BTreeMap<u64, BTreeSet<String>>, String> {
    functions_at(&printed("llvm-readelf", &["--file-header", "--symbols", "--wide"], file)?)
}

fn functions_at(text: &str) -> Result<BTreeMap<u64, BTreeSet<String>>, String> {
    let mut found: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    // Bit 0 of a function symbol of ARM says that its code is Thumb (AAELF32 5.5.3).
    let is_arm = text.lines().any(|line| line.split_ascii_whitespace().eq(["Machine:", "ARM"]));
    for line in symbol_lines(text).filter(|line| line.kind == "FUNC" && line.index != "UND") {
        let address =
            hex(line.value).ok_or_else(|| format!("llvm-readelf: a symbol's value is {}", line.value))?;
        let address = if is_arm { address & !1 } else { address };
        // A version may follow the name, and its number that.
        if let Some(name) = line.name.split(['@', ' ']).next().filter(|name| !name.is_empty()) {
            found.entry(address).or_default().insert(name.to_owned());
        }
    }
    Ok(found)
}

/// Name, address and size of the data symbols of both symbol tables.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn objects(file: &Path) -> Result<Vec<(String, u64, u64)>, String> {
    let text = printed("llvm-readelf", &["--symbols", "--wide"], file)?;
    let object = |line: SymbolLine<'_>| {
        Some((line.name.trim_end().to_owned(), hex(line.value)?, line.size.parse().ok()?))
    };
    Ok(symbol_lines(&text).filter(|line| line.kind == "OBJECT").filter_map(object).collect())
}

/// A line `Num: Value Size Type Bind Vis Ndx Name` of a symbol table.
struct SymbolLine<'t> {
    is_dynamic: bool,
    value: &'t str,
    size: &'t str,
    kind: &'t str,
    bind: &'t str,
    index: &'t str,
    /// To the end of the line: a name may have spaces, and a space at its end.
    name: &'t str,
}

/// The symbols of all tables.
fn symbol_lines(text: &str) -> impl Iterator<Item = SymbolLine<'_>> {
    let mut is_dynamic = false;
    text.lines().filter_map(move |line| {
        if line.starts_with("Symbol table ") {
            is_dynamic = line.contains(".dynsym");
            return None;
        }
        let mut rest = line;
        let mut word = || {
            rest = rest.trim_start();
            let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = tail;
            word
        };
        let [number, value, size, kind, bind, _visibility, index] = std::array::from_fn(|_| word());
        number.ends_with(':').then_some(SymbolLine { is_dynamic, value, size, kind, bind, index, name: rest })
    })
}

fn elf_symbols(text: &str, is_arm: bool) -> Vec<Symbol> {
    let has_symtab = text.contains("Symbol table '.symtab'");
    let mut symbols = Vec::new();
    let mut file = None;
    for line in symbol_lines(text).filter(|line| line.is_dynamic != has_symtab) {
        let mut name = line.name.trim_end();
        if line.kind == "FILE" {
            file = Some(name.to_owned());
            continue;
        }
        if line.is_dynamic {
            name = name.split('@').next().unwrap_or(name);
        }
        let kind = match line.kind {
            "FUNC" | "IFUNC" | "GNU_IFUNC" => Kind::Function,
            "NOTYPE" => Kind::Label,
            "OBJECT" => Kind::Object,
            _ => continue,
        };
        let parsed = (hex(line.value), line.size.parse::<u64>(), line.index.parse::<u32>());
        let (Some(address), Ok(size), Ok(_)) = parsed else { continue };
        // RISC-V's assemblers label places to compute differences. LLVM leaves out labels of exactly this name (with a space at its end)
        // and no others.
        if name.is_empty() || is_mapping_symbol(name) || line.name == ".L0 " {
            continue;
        }
        // The lowest bit of an ARM function symbol says Thumb.
        let address = if is_arm && kind == Kind::Function { address & !1 } else { address };
        let file = if line.bind == "LOCAL" { file.clone() } else { None };
        symbols.push(Symbol { address, size, kind, name: name.to_owned(), file });
    }
    symbols
}

/// `$x`, `$d.1` and so on mark code and data for disassemblers (ABI of the ARM architectures).
fn is_mapping_symbol(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next() == Some('$')
        && chars.next().is_some_and(|c| "adtx".contains(c))
        && matches!(chars.next(), None | Some('.'))
}

/// A section, as addresses `start .. start + size`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: String,
    /// Without `SHT_`.
    pub(crate) kind: String,
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) is_code: bool,
}

/// # Errors
/// The tool is missing or fails.
pub(crate) fn sections(program: &Path) -> Result<Vec<Section>, String> {
    Ok(printed("llvm-readelf", &["-S", "-W"], program)?.lines().filter_map(section).collect())
}

/// `  [18] .eh_frame  PROGBITS  00000000001a8f40 1a8f40 0256d0 00   A  0   0  8`: name, type, address, offset, size, size of an entry, and
/// flags, if there are any.
fn section(line: &str) -> Option<Section> {
    let (number, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [name, kind, start, _, size, _, flags, ..] = words[..] else { return None };
    // The first section has no name.
    (number.trim() != "0").then_some(())?;
    Some(Section {
        name: name.to_owned(),
        kind: kind.to_owned(),
        start: hex(start)?,
        size: hex(size)?,
        is_code: flags.contains('X'),
    })
}

/// The link-time address of the first segment that is loaded; `None` of a program without one.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn first_segment(program: &Path) -> Result<Option<u64>, String> {
    Ok(printed("llvm-readelf", &["--program-headers", "--wide"], program)?.lines().find_map(segment))
}

/// `  LOAD           0x000000 0x0000000000400000 0x...`: offset, address.
fn segment(line: &str) -> Option<u64> {
    let words = line.trim_start().strip_prefix("LOAD")?;
    hex(words.split_whitespace().nth(1)?.strip_prefix("0x")?)
}

/// The names of the programs that made a program, as they wrote them into `.comment`.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn comment(program: &Path) -> Result<String, String> {
    printed("llvm-readelf", &["-p", ".comment"], program)
}

/// What the loader writes: the address of a symbol, or another address of the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pointer {
    Name(String),
    Address(u64),
}

/// What the loader writes into the data of a program of x86-64, by address.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn pointers(program: &Path) -> Result<HashMap<u64, Pointer>, String> {
    Ok(relocated(&printed("llvm-readelf", &["-r", "-W"], program)?))
}

fn relocated(text: &str) -> HashMap<u64, Pointer> {
    let mut pointers = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(at), Some(&kind)) = (words.first().copied().and_then(hex), words.get(2)) else {
            continue;
        };
        let pointer = match (kind, words.len()) {
            ("R_X86_64_RELATIVE", 4) => hex(words[3]).map(Pointer::Address),
            ("R_X86_64_64", 7) if words[6] == "0" => Some(Pointer::Name(words[4].to_owned())),
            _ => None,
        };
        if let Some(pointer) = pointer {
            pointers.insert(at, pointer);
        }
    }
    pointers
}

#[cfg(test)]
mod tests {
    use super::*;

    const READELF: &str = "
Symbol table '.dynsym' contains 1 entries:
   Num:    Value          Size Type    Bind   Vis       Ndx Name
     1: 0000000000001000    16 FUNC    GLOBAL DEFAULT     2 d@@V1

Symbol table '.symtab' contains 6 entries:
   Num:    Value          Size Type    Bind   Vis       Ndx Name
     0: 0000000000000000     0 NOTYPE  LOCAL  DEFAULT   UND 
     1: 0000000000000000     0 FILE    LOCAL  DEFAULT   ABS a.c
     2: 0000000000001000    16 FUNC    LOCAL  DEFAULT     2 f
     3: 0000000000001008     0 NOTYPE  GLOBAL DEFAULT     2 label in f
     4: 0000000000001000     8 FUNC    GLOBAL DEFAULT     2 g
     5: 0000000000001008     0 NOTYPE  LOCAL  DEFAULT     2 $x.1
     6: 0000000000001020     8 OBJECT  GLOBAL DEFAULT     3 o
";

    #[test]
    fn symbols_are_read() {
        let symbols = elf_symbols(READELF, false);
        let names: Vec<&str> = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
        assert_eq!(names, ["f", "label in f", "g", "o"]);
        assert_eq!((symbols[0].address, symbols[0].size, symbols[0].kind), (0x1000, 16, Kind::Function));
        assert_eq!((symbols[1].kind, symbols[3].kind), (Kind::Label, Kind::Object));
        assert_eq!(symbols[0].file.as_deref(), Some("a.c"));
        assert_eq!(symbols[2].file, None);
    }

    #[test]
    fn functions_of_both_tables() {
        let found = functions_at(READELF).unwrap();
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [(0x1000, ["d", "f", "g"].map(str::to_owned).into())]
        );
        let thumb =
            "Machine: ARM\n 1: 00001001 4 FUNC GLOBAL DEFAULT 2 t\n 2: 0 0 FUNC GLOBAL DEFAULT UND u@V (2)\n";
        assert_eq!(
            functions_at(thumb).unwrap().into_iter().collect::<Vec<_>>(),
            [(0x1000, ["t".to_owned()].into())]
        );
        assert!(functions_at(" 1: x 4 FUNC GLOBAL DEFAULT 2 t\n").is_err());
    }

    #[test]
    fn labels_that_llvm_leaves_out_choose_nothing() {
        let text = "Symbol table '.symtab'\n 1: 0 0 NOTYPE LOCAL DEFAULT 2 .L0 \n 2: 0 0 NOTYPE LOCAL DEFAULT 2 .L01\n \
                    3: 0 0 NOTYPE LOCAL DEFAULT 2 .L0 \n";
        let names: Vec<_> = elf_symbols(text, false).into_iter().map(|symbol| symbol.name).collect();
        assert_eq!(names, [".L01"]);
    }

    #[test]
    fn dynamic_symbols_stand_in_for_missing_ones() {
        let dynamic = READELF.split("Symbol table '.symtab'").next().unwrap();
        let symbols = elf_symbols(dynamic, false);
        assert_eq!(symbols.iter().map(|symbol| symbol.name.as_str()).collect::<Vec<_>>(), ["d"]);
    }

    #[test]
    fn thumb_functions_lose_their_mark() {
        let text = "Symbol table '.symtab'\n 1: 00001001 4 FUNC GLOBAL DEFAULT 2 t\n";
        assert_eq!(elf_symbols(text, true)[0].address, 0x1000);
    }

    #[test]
    fn sections_are_read() {
        let name =
            |line| section(line).map(|section| (section.name, section.start, section.size, section.is_code));
        let header =
            "  [Nr] Name              Type            Address          Off    Size   ES Flg Lk Inf Al";
        assert_eq!(name(header), None);
        assert_eq!(
            name("  [ 0]                   NULL            0000000000000000 000000 000000 00      0   0  0"),
            None
        );
        let frames =
            "  [18] .eh_frame         PROGBITS        00000000001a8f40 1a8f40 0256d0 00   A  0   0  8";
        assert_eq!(name(frames), Some((".eh_frame".to_owned(), 0x1a_8f40, 0x2_56d0, false)));
        let code = "  [ 9] .text             PROGBITS        0000000000001000 001000 000010 00  AX  0   0 16";
        assert_eq!(name(code), Some((".text".to_owned(), 0x1000, 16, true)));
        let map = "  [30] .llvm_bb_addr_map LLVM_BB_ADDR_MAP 0000000000000000 002000 000123 00   L 9   0  1";
        assert_eq!(
            section(map).map(|map| (map.kind, map.size)),
            Some(("LLVM_BB_ADDR_MAP".to_owned(), 0x123))
        );
    }

    #[test]
    fn a_segment_has_an_address() {
        assert_eq!(
            segment("  LOAD           0x001000 0x0000000000401000 0x0000000000401000 0x10"),
            Some(0x40_1000)
        );
        assert_eq!(segment("  PHDR           0x000040 0x0000000000400040 0x0000000000400040 0x10"), None);
    }

    #[test]
    fn relocations_are_pointers() {
        let text = "    Offset             Info             Type               Symbol's Value  Symbol's Name + Addend\n\
            0000000000003de8  0000000000000008 R_X86_64_RELATIVE                         1130\n\
            0000000000003df0  0000000200000001 R_X86_64_64            0000000000001000 f + 0\n\
            0000000000003df8  0000000200000001 R_X86_64_64            0000000000001000 f + 8\n";
        let found: BTreeMap<u64, Pointer> = relocated(text).into_iter().collect();
        let expected = [(0x3de8, Pointer::Address(0x1130)), (0x3df0, Pointer::Name("f".to_owned()))];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }
}

//! Reads what the comparison needs of a program: the addresses of its code, and its symbols with the rule by which
//! llvm-symbolizer picks one. They are read through LLVM's own tools, so that no code of ours is on both sides.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::sh;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `STT_FUNC` and `STT_GNU_IFUNC`; every symbol of Mach-O, which has no types.
    Function,
    /// `STT_NOTYPE`: a label of assembly code.
    Label,
    Object,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// The last `STT_FILE` symbol before a local symbol.
    pub(crate) file: Option<String>,
}

impl Symbol {
    pub(crate) fn covers(&self, address: u64) -> bool {
        self.address <= address && (self.size == 0 || address - self.address < self.size)
    }
}

/// The symbols of one program, in the order by which llvm-symbolizer searches: by address, then size, then table.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    sorted: Vec<Symbol>,
    /// Where sections with code begin and end, as symbols without a size see it.
    code: Vec<Code>,
    ends: Vec<u64>,
    /// Some subprograms have their `DW_AT_decl_file` in the abbreviation (`DW_FORM_implicit_const`).
    implicit_files: bool,
}

impl Symbols {
    pub(crate) fn new(mut symbols: Vec<Symbol>) -> Symbols {
        symbols.sort_by_key(|symbol| (symbol.address, symbol.size));
        Symbols { sorted: symbols, ..Symbols::default() }
    }

    /// The same symbols in a program with these sections.
    pub(crate) fn within(self, code: &[Code]) -> Symbols {
        let ends = code.iter().filter_map(|code| code.start.checked_add(code.size)).collect();
        Symbols { code: code.to_vec(), ends, ..self }
    }

    /// The same symbols in a program that has, or has not, files of declarations in abbreviations.
    pub(crate) fn with_implicit_files(self, implicit_files: bool) -> Symbols {
        Symbols { implicit_files, ..self }
    }

    /// Whether the abbreviations of subprograms have the files of declarations (`DW_FORM_implicit_const`).
    pub(crate) fn has_implicit_files(&self) -> bool {
        self.implicit_files
    }

    /// The same symbols in a program whose sections, of code and of data, end at these addresses.
    pub(crate) fn ending(self, ends: Vec<u64>) -> Symbols {
        Symbols { ends, ..self }
    }

    /// Whether a section ends here: then a label belongs to the code or data before it (`_einittext`; a kernel's `__alt_instructions_end`
    /// ends data, and code follows).
    pub(crate) fn ends_section(&self, address: u64) -> bool {
        self.ends.contains(&address)
    }

    /// Whether both addresses are in one section with code.
    pub(crate) fn one_section(&self, a: u64, b: u64) -> bool {
        let holds = |code: &Code, address: u64| code.start <= address && address - code.start < code.size;
        self.code.iter().any(|code| holds(code, a) && holds(code, b))
    }

    /// The symbol that llvm-symbolizer takes: the largest of the symbols with the highest start at or before the address; none if the
    /// address is past its end.
    pub(crate) fn llvm_choice(&self, address: u64) -> Option<&Symbol> {
        self.last_before(address).filter(|symbol| symbol.covers(address))
    }

    /// The largest of the symbols with the highest start at or before the address.
    pub(crate) fn last_before(&self, address: u64) -> Option<&Symbol> {
        let after = self.sorted.partition_point(|symbol| symbol.address <= address);
        self.sorted[..after].last()
    }

    /// All symbols, by address.
    pub(crate) fn all(&self) -> &[Symbol] {
        &self.sorted
    }

    /// All symbols that start at this address.
    pub(crate) fn at(&self, address: u64) -> &[Symbol] {
        let start = self.sorted.partition_point(|symbol| symbol.address < address);
        let end = self.sorted.partition_point(|symbol| symbol.address <= address);
        &self.sorted[start..end]
    }

    /// The length of the gap that contains the address, from the end of the last symbol with a size before it to the next symbol. `None`
    /// inside a symbol, and before the first or after the last one.
    pub(crate) fn gap(&self, address: u64) -> Option<u64> {
        let after = self.sorted.partition_point(|symbol| symbol.address <= address);
        let end = |symbol: &Symbol| symbol.address.saturating_add(symbol.size);
        // An outer symbol may start far below; functions do not nest deeper than this.
        let before = self.sorted[after.saturating_sub(64)..after].iter().map(end).max()?;
        let next = self.sorted.get(after)?.address;
        (before <= address).then(|| next - before)
    }

    /// All symbols of this name, with or without a version suffix.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        let plain =
            move |symbol: &Symbol| symbol.name.split_once('@').is_some_and(|(plain, _)| plain == name);
        self.sorted.iter().filter(move |symbol| symbol.name == name || plain(symbol))
    }
}

/// A section with code, as addresses `start .. start + size`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) start: u64,
    pub(crate) size: u64,
}

#[derive(Debug)]
pub(crate) struct Program {
    /// The converter's input: a file or a dSYM bundle.
    pub(crate) path: PathBuf,
    /// The file with the code addresses and the DWARF. For a bundle it is the one inside; for a program without DWARF, the one inside the
    /// bundle next to it, which we find by its UUID and the oracles only by its name; else `path`.
    pub(crate) file: PathBuf,
    pub(crate) arch: Option<String>,
    pub(crate) code: Vec<Code>,
    pub(crate) symbols: Symbols,
    /// `ET_REL`: its addresses are offsets in a section.
    pub(crate) relocatable: bool,
    /// Has `.zdebug_*` sections, which LLVM 22 does not read.
    pub(crate) legacy_compressed: bool,
}

/// The kind of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Elf { relocatable: bool, arm: bool },
    MachO,
    Fat,
    Other,
}

impl Program {
    /// Whether a file is an ELF or Mach-O program, or a dSYM bundle.
    pub(crate) fn is_one(path: &Path) -> bool {
        container(&inner(path)).is_ok_and(|container| container != Container::Other)
    }

    /// The architectures of a fat file; one `None` for any other.
    ///
    /// # Errors
    /// A tool of LLVM that is missing or fails.
    pub(crate) fn architectures(path: &Path) -> Result<Vec<Option<String>>, String> {
        let file = inner(path);
        if container(&file)? != Container::Fat {
            return Ok(vec![None]);
        }
        let list = sh::output(Command::new(sh::llvm("llvm-lipo")?).arg(&file).arg("-archs"))?;
        Ok(list.split_whitespace().map(|arch| Some(arch.to_owned())).collect())
    }

    /// # Errors
    /// A file that is not a program, or a tool of LLVM that is missing or fails.
    pub(crate) fn open(path: &Path, arch: Option<&str>) -> Result<Program, String> {
        let file = companion(path)?.unwrap_or_else(|| inner(path));
        let container = container(&file)?;
        let mut headers = Command::new(sh::llvm("llvm-objdump")?);
        headers.arg("--section-headers").args(arch.map(|arch| format!("--arch={arch}"))).arg(&file);
        let headers = sh::output(&mut headers)?;
        let symbols = match container {
            Container::Elf { arm, .. } => {
                let mut readelf = Command::new(sh::llvm("llvm-readelf")?);
                elf_symbols(&sh::output(readelf.args(["--symbols", "--wide"]).arg(&file))?, arm)
            }
            Container::MachO | Container::Fat => {
                let mut nm = Command::new(sh::llvm("llvm-nm")?);
                nm.args(["--no-sort", "--defined-only", "--format=posix"]);
                nm.args(arch.map(|arch| format!("--arch={arch}")));
                macho_symbols(&sh::output(nm.arg(&file))?)
            }
            Container::Other => return Err(format!("{}: neither ELF nor Mach-O", file.display())),
        };
        let code = code_sections(&headers);
        let mut dwarf = Command::new(sh::llvm("llvm-dwarfdump")?);
        dwarf.arg("--debug-abbrev").args(arch.map(|arch| format!("--arch={arch}")));
        let implicit_files = has_implicit_files(&sh::output(dwarf.arg(&file))?);
        let ends = section_ends(&headers);
        let symbols = Symbols::new(symbols).within(&code).ending(ends).with_implicit_files(implicit_files);
        Ok(Program {
            path: path.to_owned(),
            file,
            arch: arch.map(str::to_owned),
            symbols,
            code,
            relocatable: matches!(container, Container::Elf { relocatable: true, .. }),
            legacy_compressed: headers.contains(" .zdebug_"),
        })
    }

    /// Whether this is a Mach-O program.
    pub(crate) fn is_macho(&self) -> bool {
        container(&self.file).is_ok_and(|container| container == Container::MachO)
    }

    /// The sections with code that have this address. In ET_REL an address is an offset, so there may be several.
    pub(crate) fn sections_at(&self, address: u64) -> impl Iterator<Item = &Code> {
        self.code.iter().filter(move |code| address.checked_sub(code.start).is_some_and(|at| at < code.size))
    }

    pub(crate) fn code_size(&self) -> u64 {
        self.code.iter().map(|code| code.size).sum()
    }
}

/// The file with the DWARF inside a dSYM bundle; any other path as it is.
fn inner(path: &Path) -> PathBuf {
    let inside = std::fs::read_dir(path.join("Contents/Resources/DWARF"));
    inside
        .ok()
        .and_then(|mut entries| entries.next()?.ok())
        .map_or_else(|| path.to_owned(), |entry| entry.path())
}

/// The file with the DWARF inside the bundle `PATH.dSYM`, where `path` is a Mach-O file and there is one.
fn companion(path: &Path) -> Result<Option<PathBuf>, String> {
    if path.is_dir() || container(path)? != Container::MachO {
        return Ok(None);
    }
    let mut bundle = path.as_os_str().to_owned();
    bundle.push(".dSYM");
    let bundle = PathBuf::from(bundle);
    let file = inner(&bundle);
    Ok((file != bundle).then_some(file))
}

fn container(path: &Path) -> Result<Container, String> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(20).read_to_end(&mut head));
    read.map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(match head.as_slice() {
        [0x7f, b'E', b'L', b'F', _, order, ..] if head.len() == 20 => {
            let half = |at: usize| {
                let bytes = [head[at], head[at + 1]];
                if *order == 2 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
            };
            // e_type ET_REL, e_machine EM_ARM
            Container::Elf { relocatable: half(16) == 1, arm: half(18) == 40 }
        }
        [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] | [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] => Container::MachO,
        [0xca, 0xfe, 0xba, 0xbe | 0xbf, ..] => Container::Fat,
        _ => Container::Other,
    })
}

/// Where the sections of all types end, of lines `Idx Name Size VMA [LMA] Type`.
fn section_ends(text: &str) -> Vec<u64> {
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let end = |line: &str| {
        let mut words = line.split_whitespace().skip(2);
        let size = hex(words.next()?)?;
        hex(words.next()?)?.checked_add(size)
    };
    text.lines().filter_map(end).filter(|&end| end > 0).collect()
}

/// The lines `Idx Name Size VMA [LMA] Type` whose type is TEXT.
fn code_sections(text: &str) -> Vec<Code> {
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    text.lines()
        .filter_map(|line| {
            let (words, types): (Vec<&str>, Vec<&str>) = line
                .split_whitespace()
                .partition(|word| !["TEXT", "TEXT,", "BSS", "DATA", "DEBUG"].contains(word));
            let [_, name, size, start, ..] = words.as_slice() else { return None };
            let code = Code { name: (*name).to_owned(), start: hex(start)?, size: hex(size)? };
            (types.iter().any(|word| word.starts_with("TEXT")) && code.size > 0).then_some(code)
        })
        .collect()
}

/// Whether an abbreviation of a subprogram holds the file of the declaration itself.
fn has_implicit_files(abbreviations: &str) -> bool {
    let mut subprogram = false;
    abbreviations.lines().any(|line| {
        if line.starts_with('[') {
            subprogram = line.contains("DW_TAG_subprogram");
        }
        let line = line.trim_start();
        subprogram && line.starts_with("DW_AT_decl_file") && line.contains("DW_FORM_implicit_const")
    })
}

/// The lines `Num: Value Size Type Bind Vis Ndx Name` of `.symtab`, or of `.dynsym` if there is no other.
fn elf_symbols(text: &str, arm: bool) -> Vec<Symbol> {
    let has_symtab = text.contains("Symbol table '.symtab'");
    let mut symbols = Vec::new();
    let (mut wanted, mut dynamic) = (false, false);
    let mut file = None;
    for line in text.lines() {
        if line.starts_with("Symbol table ") {
            dynamic = line.contains(".dynsym");
            wanted = dynamic != has_symtab;
            continue;
        }
        let mut rest = line;
        let mut word = || {
            rest = rest.trim_start();
            let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = tail;
            word
        };
        let [number, value, size, kind, bind, _visibility, index] = std::array::from_fn(|_| word());
        if !wanted || !number.ends_with(':') {
            continue;
        }
        let mut name = rest.trim_end();
        if kind == "FILE" {
            file = Some(name.to_owned());
            continue;
        }
        if dynamic {
            name = name.split('@').next().unwrap_or(name);
        }
        let kind = match kind {
            "FUNC" | "IFUNC" | "GNU_IFUNC" => Kind::Function,
            "NOTYPE" => Kind::Label,
            "OBJECT" => Kind::Object,
            _ => continue,
        };
        let parsed = (u64::from_str_radix(value, 16), size.parse::<u64>(), index.parse::<u32>());
        let (Ok(address), Ok(size), Ok(_)) = parsed else { continue };
        // RISC-V's assemblers label places to compute differences. LLVM leaves out labels of exactly this name (with a space at its end)
        // and no others.
        if name.is_empty() || is_mapping_symbol(name) || rest == ".L0 " {
            continue;
        }
        // The lowest bit of an ARM function symbol says Thumb.
        let address = if arm && kind == Kind::Function { address & !1 } else { address };
        let file = if bind == "LOCAL" { file.clone() } else { None };
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

/// The lines `name type value size` of a Mach-O file; names lose the underscore that the format puts before them.
fn macho_symbols(text: &str) -> Vec<Symbol> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.rsplitn(4, ' ');
            let (_size, value, kind, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
            let address = u64::from_str_radix(value, 16).ok()?;
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
    let mut nm = Command::new(sh::llvm("llvm-nm")?);
    let text = sh::output(nm.args(["--debug-syms", "--no-sort"]).arg(program))?;
    Ok(stabs(&text))
}

fn stabs(text: &str) -> Vec<Symbol> {
    let (mut symbols, mut file): (Vec<Symbol>, Option<String>) = (Vec::new(), None);
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let value = words.next().and_then(|value| u64::from_str_radix(value, 16).ok());
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
    fn symbols_are_read_and_chosen_as_llvm_does() {
        let symbols = Symbols::new(elf_symbols(READELF, false));
        let choice = |address| symbols.llvm_choice(address).map(|symbol| symbol.name.as_str());
        assert_eq!(choice(0xfff), None);
        assert_eq!(choice(0x1000), Some("f"));
        assert_eq!(choice(0x1008), Some("label in f"));
        assert_eq!(choice(0x1021), Some("o"));
        assert_eq!(choice(0x1028), None);
        assert_eq!(symbols.gap(0x1014), Some(16));
        assert_eq!((symbols.gap(0x100f), symbols.gap(0xfff), symbols.gap(0x1030)), (None, None, None));
        assert_eq!(symbols.at(0x1000).len(), 2);
        assert_eq!(symbols.named("f").next().unwrap().file.as_deref(), Some("a.c"));
        assert_eq!(symbols.named("g").next().unwrap().file, None);
    }

    #[test]
    fn labels_that_llvm_leaves_out_choose_nothing() {
        let text = "Symbol table '.symtab'\n 1: 0 0 NOTYPE LOCAL DEFAULT 2 .L0 \n 2: 0 0 NOTYPE LOCAL DEFAULT 2 .L01\n \
                    3: 0 0 NOTYPE LOCAL DEFAULT 2 .L0 \n";
        let names: Vec<_> = elf_symbols(text, false).into_iter().map(|symbol| symbol.name).collect();
        assert_eq!(names, [".L01"]);
    }

    #[test]
    fn files_in_abbreviations_of_subprograms_are_seen() {
        let of = |tag: &str, form: &str| {
            format!("[1] {tag}\tDW_CHILDREN_no\n\tDW_AT_name\tDW_FORM_strp\n\tDW_AT_decl_file\t{form}\n\n")
        };
        let implicit = "DW_FORM_implicit_const\t1";
        assert!(has_implicit_files(&of("DW_TAG_subprogram", implicit)));
        let others = of("DW_TAG_subprogram", "DW_FORM_data1") + &of("DW_TAG_variable", implicit);
        assert!(!has_implicit_files(&others));
    }

    #[test]
    fn dynamic_symbols_stand_in_for_missing_ones() {
        let dynamic = READELF.split("Symbol table '.symtab'").next().unwrap();
        let symbols = elf_symbols(dynamic, false);
        assert_eq!(symbols.iter().map(|symbol| symbol.name.as_str()).collect::<Vec<_>>(), ["d"]);
    }

    #[test]
    fn code_sections_are_found() {
        let text = "\na:\tfile format elf64-x86-64\nIdx Name Size VMA Type\n  0                 00000000 0000000000000000 \n  \
                    1 .text         00000010 0000000000001000 TEXT\n  2 .plt 00000008 0000000000002000 TEXT, BSS\n  \
                    3 .data 00000008 0000000000003000 DATA\n";
        let found: Vec<_> =
            code_sections(text).into_iter().map(|code| (code.name, code.start, code.size)).collect();
        assert_eq!(found, [(".text".to_owned(), 0x1000, 16), (".plt".to_owned(), 0x2000, 8)]);
        assert_eq!(section_ends(text), [0x1010, 0x2008, 0x3008]);
    }

    #[test]
    fn thumb_functions_lose_their_mark() {
        let text = "Symbol table '.symtab'\n 1: 00001001 4 FUNC GLOBAL DEFAULT 2 t\n";
        assert_eq!(elf_symbols(text, true)[0].address, 0x1000);
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

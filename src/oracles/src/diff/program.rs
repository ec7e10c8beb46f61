//! Reads what the comparison needs of a program: the addresses of its code, and its symbols with the rule by which
//! llvm-symbolizer picks one. They are read through LLVM's own tools, so that no code of ours is on both sides.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::llvm::{Code, Symbol, dwarfdump, nm, objdump, readelf};

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
        Ok(objdump::architectures(&file)?.into_iter().map(Some).collect())
    }

    /// # Errors
    /// A file that is not a program, or a tool of LLVM that is missing or fails.
    pub(crate) fn open(path: &Path, arch: Option<&str>) -> Result<Program, String> {
        let file = companion(path)?.unwrap_or_else(|| inner(path));
        let container = container(&file)?;
        let symbols = match container {
            Container::Elf { arm, .. } => readelf::symbols(&file, arm)?,
            Container::MachO | Container::Fat => nm::macho_symbols(&file, arch)?,
            Container::Other => return Err(format!("{}: neither ELF nor Mach-O", file.display())),
        };
        let sections = objdump::sections(&file, arch)?;
        let symbols = Symbols::new(symbols)
            .within(&sections.code)
            .ending(sections.ends)
            .with_implicit_files(dwarfdump::has_implicit_files(&file, arch)?);
        Ok(Program {
            path: path.to_owned(),
            file,
            arch: arch.map(str::to_owned),
            symbols,
            code: sections.code,
            relocatable: matches!(container, Container::Elf { relocatable: true, .. }),
            legacy_compressed: sections.has_zdebug,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llvm::Kind;

    #[test]
    fn symbols_are_chosen_as_llvm_does() {
        let symbol = |address, size, kind, name: &str| Symbol {
            address,
            size,
            kind,
            name: name.to_owned(),
            file: None,
        };
        let symbols = Symbols::new(vec![
            symbol(0x1000, 16, Kind::Function, "f"),
            symbol(0x1008, 0, Kind::Label, "label in f"),
            symbol(0x1000, 8, Kind::Function, "g"),
            symbol(0x1020, 8, Kind::Object, "o"),
        ]);
        let choice = |address| symbols.llvm_choice(address).map(|symbol| symbol.name.as_str());
        assert_eq!(choice(0xfff), None);
        assert_eq!(choice(0x1000), Some("f"));
        assert_eq!(choice(0x1008), Some("label in f"));
        assert_eq!(choice(0x1021), Some("o"));
        assert_eq!(choice(0x1028), None);
        assert_eq!(symbols.gap(0x1014), Some(16));
        assert_eq!((symbols.gap(0x100f), symbols.gap(0xfff), symbols.gap(0x1030)), (None, None, None));
        assert_eq!(symbols.at(0x1000).len(), 2);
    }
}

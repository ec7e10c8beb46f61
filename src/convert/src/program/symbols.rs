//! The code symbols of the image by address, with the range that each covers.

use rayon::prelude::*;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{AddressRange, ImageAddr, MAX_PIECE, NameId};
use crate::open::{Binding, CodeMark, Image, MarkKind, Symbol, SymbolKind};
use crate::toolchain::linkers::{GO_CODE_ENDS, SECTION_ENDS, bounded_section};
use crate::toolchain::suffixes::{is_stub_of_mold, names_part};
use crate::util::hash::HashSet;
use crate::util::text::{TOGETHER, base_name, soon};

/// A symbol that names code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeSymbol<'f> {
    pub(crate) name: &'f [u8],
    /// The id of its name, if a unit has that name and [`Symbols::numbered`] has looked it up.
    pub(crate) name_id: Option<NameId>,
    pub(crate) start: ImageAddr,
    /// The symbol's own size; for size 0, up to the next symbol, to data (see [`data_after`]) or the end of the section.
    pub(crate) end: ImageAddr,
    /// False for a label of assembly code (`STT_NOTYPE`). clang's basic-block sections begin with a label that has a
    /// size: such labels are parts of functions.
    pub(crate) function: bool,
    /// The file gives the type: false for the label of a part. DIEs name the code at a label.
    pub(crate) typed: bool,
    /// `STT_GNU_IFUNC`: its code is a resolver, so the name is an alias of the function at its address.
    pub(crate) indirect: bool,
    /// The file gives the size.
    pub(crate) sized: bool,
    pub(crate) local: bool,
    /// Each object that uses the function may define it (inline functions, instances of templates), or another definition takes its place.
    pub(crate) weak: bool,
    /// Other modules do not see it: it is local, or its visibility is not the default.
    pub(crate) hidden: bool,
    /// It is local because the linker made a symbol local that objects hide from other modules. Such symbols follow the other local
    /// symbols of their file (lld).
    pub(crate) made_local: bool,
    /// A linker's own name for a place: the beginning of a section (`__start_X`), the end of the code.
    pub(crate) of_linker: bool,
    /// The source file that the symbol table gives for a local symbol; empty if it gives none.
    pub(crate) file: &'f [u8],
    /// The index of that file in the symbol table: two files may have one name.
    pub(crate) file_id: Option<u32>,
    /// The index of the file before it in the symbol table; see [`crate::open::Symbol::file`].
    pub(crate) listed: Option<u32>,
    /// The symbol's index in the symbol table.
    pub(crate) order: u32,
}

/// Code symbols, sorted by start.
pub(crate) struct Symbols<'f> {
    sorted: Vec<CodeSymbol<'f>>,
    /// The base names of the files of the symbol table.
    files: HashSet<&'f [u8]>,
    last_file: Option<u32>,
    has_table: bool,
    has_locals: bool,
}

impl<'f> Symbols<'f> {
    /// The code symbols of an image, and the diagnostics of reading them.
    pub(crate) fn new(image: &Image<'f>) -> (Symbols<'f>, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let sections: HashSet<&[u8]> = image.sections.iter().map(|section| section.name.as_bytes()).collect();
        let symbols = image.symbols.iter().enumerate();
        let code: Vec<CodeSymbol<'f>> =
            symbols.filter_map(|(order, symbol)| code_symbol(image, &sections, order, symbol)).collect();
        let mut sorted = sorted_by_start(&code, |symbol| symbol.start);
        set_ends(image, &mut sorted, &mut diagnostics);
        let symbols = Symbols {
            sorted,
            files: image.symbol_files.iter().map(|file| base_name(file)).collect(),
            last_file: (image.symbol_files.len() as u32).checked_sub(1),
            has_table: image.symbols.iter().any(|symbol| !symbol.dynamic),
            has_locals: has_locals(image),
        };
        (symbols, diagnostics)
    }

    /// True if the program has its full symbol table, not only the dynamic one.
    pub(crate) fn has_table(&self) -> bool {
        self.has_table
    }

    /// True if the table has symbols that are local to their object, so that no tool removed these. Hidden symbols do
    /// not count: linkers make them local, and keep them. mold does so with other global symbols of a program too, so
    /// its table must also have file symbols.
    pub(crate) fn has_locals(&self) -> bool {
        self.has_locals
    }

    /// True if the table has file symbols (`STT_FILE`).
    pub(crate) fn has_files(&self) -> bool {
        self.last_file.is_some()
    }

    /// Looks up the names of all symbols, each once, since later steps need the ids several times.
    pub(crate) fn numbered(mut self, name_of: impl Fn(&[u8]) -> Option<NameId> + Sync) -> Symbols<'f> {
        self.sorted.par_chunks_mut(TOGETHER).for_each(|some| {
            soon(some.iter().map(|symbol| symbol.name));
            some.iter_mut().for_each(|symbol| symbol.name_id = name_of(symbol.name));
        });
        self
    }

    /// True if the symbol table has a file of this base name. The local symbols of an object without a file symbol
    /// (assembly code) follow those of another file.
    pub(crate) fn has_file(&self, name: &[u8]) -> bool {
        self.files.contains(name)
    }

    /// The base name of the file that a symbol certainly belongs to. Symbols after the last file symbol are
    /// uncertain: linkers put symbols there that became local at the link.
    pub(crate) fn sure_file<'s>(&self, symbol: &'s CodeSymbol<'f>) -> Option<&'s [u8]> {
        let is_sure = |file: u32| Some(file) != self.last_file && !symbol.file.is_empty();
        symbol.file_id.filter(|file| is_sure(*file)).map(|_| base_name(symbol.file))
    }

    /// The symbols that start at `address`, in the order of the symbol table.
    pub(crate) fn at(&self, address: ImageAddr) -> &[CodeSymbol<'f>] {
        let first = self.sorted.partition_point(|symbol| symbol.start < address);
        // Any number of symbols may start at one address, and this may be called as often.
        let count = self.sorted[first..].partition_point(|symbol| symbol.start == address);
        &self.sorted[first..first + count]
    }

    /// All symbols, by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &CodeSymbol<'f>> {
        self.sorted.iter()
    }

    /// The symbols of each address that has any, by address.
    pub(crate) fn by_address(&self) -> impl Iterator<Item = &[CodeSymbol<'f>]> {
        self.sorted.chunk_by(|a, b| a.start == b.start)
    }

    /// All symbols from an address on, by address.
    pub(crate) fn starting_from(&self, address: ImageAddr) -> &[CodeSymbol<'f>] {
        let first = self.sorted.partition_point(|symbol| symbol.start < address);
        &self.sorted[first..]
    }

    /// All symbols, by address, for several threads.
    pub(crate) fn par_iter(&self) -> impl ParallelIterator<Item = &CodeSymbol<'f>> {
        self.sorted.par_iter()
    }
}

/// A symbol of the image as a code symbol, if it names code. `order`: its index in the symbol table.
fn code_symbol<'f>(
    image: &Image<'f>,
    sections: &HashSet<&[u8]>,
    order: usize,
    symbol: &Symbol<'f>,
) -> Option<CodeSymbol<'f>> {
    let section = image.sections.get(symbol.section as usize)?;
    let start = ImageAddr(symbol.address);
    let code = section.executable
        // Linkers give a symbol of an end (`_etext`) the section that ends there, so its address is behind that section.
        && section.range.contains(start)
        && symbol.kind != SymbolKind::Data
        && !symbol.name.is_empty();
    let is_end = symbol.size == 0 && GO_CODE_ENDS.contains(&symbol.name);
    let typed = matches!(symbol.kind, SymbolKind::Function | SymbolKind::Indirect) && !is_end;
    code.then(|| CodeSymbol {
        name: symbol.name,
        name_id: None,
        start,
        end: match symbol.size {
            0 => section.range.end,
            // A damaged size may be any number. Code does not go on past its section.
            size => start.saturating_add(size).min(section.range.end),
        },
        // clang's parts have a size and no type (`f.__part.1`).
        function: typed || (symbol.size > 0 && names_part(symbol.name)),
        typed,
        indirect: symbol.kind == SymbolKind::Indirect,
        sized: symbol.size > 0,
        local: symbol.binding == Binding::Local,
        weak: symbol.binding == Binding::Weak,
        hidden: symbol.binding == Binding::Local || symbol.hidden,
        made_local: symbol.binding == Binding::Local && symbol.hidden,
        // A function of the program may have such a name too, but then it has a type or a size.
        of_linker: !typed && symbol.size == 0 && (is_end || is_of_linker(symbol.name, sections)),
        file: symbol
            .own_file()
            .and_then(|file| image.symbol_files.get(file as usize))
            .map_or(&[][..], |file| *file),
        file_id: symbol.own_file(),
        listed: symbol.file,
        order: order as u32,
    })
}

/// Sets the ends of symbols without a size, and cuts symbols that are too long for a piece.
fn set_ends<'f>(image: &Image<'f>, sorted: &mut [CodeSymbol<'f>], diagnostics: &mut Diagnostics) {
    let mut marks = image.code_marks.clone();
    marks.sort_unstable();
    // Any number of symbols may begin at one address: the data behind it is looked up once.
    let mut asked = (AddressRange::of(ImageAddr(0), 0), None);
    let mut next = ImageAddr(u64::MAX);
    // Backwards, so that the next higher start is known. All symbols of one address share it.
    for i in (0..sorted.len()).rev() {
        if i + 1 < sorted.len() && sorted[i + 1].start > sorted[i].start {
            next = sorted[i + 1].start;
        }
        let symbol = &mut sorted[i];
        if !symbol.sized {
            // `symbol.end` is the end of the section so far, which bounds the last symbol in it.
            symbol.end = next.min(symbol.end);
            if asked.0 != symbol.range() {
                asked = (symbol.range(), data_after(&marks, symbol.range()));
            }
            symbol.end = asked.1.unwrap_or(symbol.end);
            if symbol.function {
                diagnostics.add(Kind::SymbolWithoutSize, symbol.start.0, || {
                    format!("{} at {:#x}", String::from_utf8_lossy(symbol.name), symbol.start)
                });
            }
        }
        if symbol.end - symbol.start > MAX_PIECE {
            symbol.end = symbol.start + MAX_PIECE;
            diagnostics.add(Kind::Cap(Cap::SymbolBytes), symbol.start.0, || {
                let name = String::from_utf8_lossy(symbol.name);
                format!("{name} at {:#x} has more than {MAX_PIECE} bytes", symbol.start)
            });
        }
    }
}

fn has_locals(image: &Image<'_>) -> bool {
    // With an option that drops local symbols, mold drops file symbols too.
    let is_mold =
        || image.linker.policy().localizes || image.symbols.iter().any(|symbol| is_stub_of_mold(symbol.name));
    image.symbols.iter().any(|symbol| is_kept(symbol) && !is_stub_of_mold(symbol.name))
        && (!image.symbol_files.is_empty() || !is_mold())
}

/// True for the symbol of a function that is local to its object.
fn is_kept(symbol: &Symbol<'_>) -> bool {
    symbol.binding == Binding::Local && !symbol.dynamic && !symbol.hidden && symbol.kind != SymbolKind::Data
}

/// The start of data that ends a function without a size: a sized object, or a mapping symbol for data (`$d`) that no
/// code follows. Data that code follows are constants of the function. `most` is the range up to the next symbol or the
/// end of the section. `marks` are sorted.
fn data_after(marks: &[CodeMark], most: AddressRange) -> Option<ImageAddr> {
    let behind = &marks[marks.partition_point(|mark| ImageAddr(mark.address) <= most.start)..];
    let mut data = None;
    for mark in behind.iter().take_while(|mark| ImageAddr(mark.address) < most.end) {
        match mark.kind {
            MarkKind::Object => return data.or(Some(ImageAddr(mark.address))),
            MarkKind::Data => data = data.or(Some(ImageAddr(mark.address))),
            MarkKind::Code | MarkKind::Thumb => data = None,
        }
    }
    data
}

/// True for the names that linkers give to the start and the end of these sections.
fn is_of_linker(name: &[u8], sections: &HashSet<&[u8]>) -> bool {
    SECTION_ENDS.contains(&name) || bounded_section(name).is_some_and(|section| sections.contains(section))
}

/// Sorts items by address, those at one address in the order of the list. Indexes are sorted instead of the items,
/// which are large.
fn sorted_by_start<T: Copy>(list: &[T], start: impl Fn(&T) -> ImageAddr) -> Vec<T> {
    let mut places: Vec<(ImageAddr, u32)> = list.iter().map(start).zip(0..).collect();
    // Each entry has its own index, so no two are equal, and the order is always the same.
    places.sort_unstable();
    places.into_iter().map(|(_, at)| list[at as usize]).collect()
}

impl CodeSymbol<'_> {
    /// The addresses of its code.
    pub(crate) fn range(&self) -> AddressRange {
        AddressRange::new(self.start, self.end)
    }

    /// True if the symbol has exactly this name; `bytes` returns the bytes of the name.
    pub(crate) fn is_named<'n>(&self, name: NameId, bytes: impl FnOnce() -> &'n [u8]) -> bool {
        match self.name_id {
            Some(id) => id == name,
            None => self.name == bytes(),
        }
    }

    /// True if both are sized functions with one range: folded functions, or two names of one.
    pub(crate) fn shares(&self, other: &CodeSymbol<'_>) -> bool {
        let sized = |symbol: &CodeSymbol<'_>| symbol.function && symbol.sized && !symbol.indirect;
        sized(self) && sized(other) && (self.start, self.end) == (other.start, other.end)
    }

    /// True if both may be functions with one range, as far as the file gives sizes and types. A local label of
    /// assembly code lies within a function.
    pub(crate) fn may_share(&self, other: &CodeSymbol<'_>) -> bool {
        let global = |symbol: &CodeSymbol<'_>| !symbol.local && !symbol.of_linker;
        let function = |symbol: &CodeSymbol<'_>| (symbol.function || global(symbol)) && !symbol.indirect;
        let sized = self.sized && other.sized;
        function(self) && function(other) && self.start == other.start && (!sized || self.end == other.end)
    }

    /// True if the symbol table gives the two different files.
    pub(crate) fn of_another_file(&self, other: &CodeSymbol<'_>) -> bool {
        matches!((self.file_id, other.file_id), (Some(a), Some(b)) if a != b)
    }

    /// True if the symbol table shows that the two come from different objects: they have different files, or they
    /// are local and have one name, which an object has once. (Tools may remove file symbols.)
    pub(crate) fn of_another_object(&self, other: &CodeSymbol<'_>) -> bool {
        let twice = self.local && other.local && self.order != other.order && self.name == other.name;
        twice || self.of_another_file(other)
    }
}

/// The symbol that names the code at its address: a function before a label, then the largest, then a
/// global or weak one before a local one, then the last of the table (as `llvm-symbolizer` chooses).
pub(crate) fn principal<'s, 'f>(symbols: &'s [CodeSymbol<'f>]) -> Option<&'s CodeSymbol<'f>> {
    symbols.iter().max_by_key(|s| (s.function, s.sized, s.end, !s.local, s.order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_without_a_size_ends_where_data_begins() {
        use MarkKind::{Code, Data, Object};
        let ends = |marks: &[(u64, MarkKind)]| {
            let marks: Vec<_> = marks.iter().map(|&(address, kind)| CodeMark { address, kind }).collect();
            data_after(&marks, AddressRange::of(ImageAddr(0x10), 0x30)).map(|at| at.0)
        };
        assert_eq!(ends(&[]), None);
        assert_eq!(ends(&[(0x10, Code), (0x20, Object)]), Some(0x20));
        assert_eq!(ends(&[(0x10, Code), (0x18, Data), (0x20, Object)]), Some(0x18));
        // Constants between the instructions of one function.
        assert_eq!(ends(&[(0x10, Code), (0x18, Data), (0x20, Code)]), None);
        assert_eq!(ends(&[(0x10, Code), (0x18, Data), (0x20, Code), (0x30, Data)]), Some(0x30));
        // Objects of other functions, or at the function's own address.
        assert_eq!(ends(&[(0x08, Data), (0x10, Data), (0x40, Object)]), None);
    }
}

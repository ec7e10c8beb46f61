//! Decodes the DWARF of one program into [`Unit`]s, one unit at a time, in parallel over units.
//!
//! Of all entries only subprograms with code and what is inlined into them are kept; names, files and
//! lines of declaration are looked up where such a function refers to them. Only this module names
//! `gimli`. The order of the result is the order of the file, whatever the number of threads.

mod abbreviations;
mod basic_blocks;
mod bytes;
mod call_tables;
mod entries;
mod file;
mod line;
mod lists;
mod memory;
mod origin;
mod package;
mod pool;
mod queue;
mod shared;
mod space;
mod split;
mod task;
mod unit;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::budget::Allowance;
use crate::model::{BlockMap, SlotKey, Unit, UnitClasses};
use crate::open::{AddressRange, DebugSection, Image, Restored, SymbolKind};
use crate::report::{Diagnostics, Kind};
pub(crate) use bytes::Bytes;
use call_tables::CallTables;
use queue::Queue;
use space::Space;
pub(crate) use split::SplitFiles;
use split::Supply;
use task::{Task, Walk};

pub(crate) type Dwarf<'f, E> = gimli::Dwarf<Bytes<'f, E>>;

/// A byte order known at compile time, so that the decoding of every form is inlined.
pub(crate) trait Endianity: gimli::Endianity + Send + Sync {}
impl Endianity for gimli::LittleEndian {}
impl Endianity for gimli::BigEndian {}

/// What the reader should keep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadOptions {
    /// Keep the columns of rows and calls.
    pub columns: bool,
    /// Keep where methods have the pointer to their object.
    pub locations: bool,
    /// Methods may have been folded: read of the unit, too, which classes its tables of virtual functions are of. What
    /// the unit is read with is at hand; else all of it is read again, once it is known that they were.
    pub classes: bool,
}

/// Takes the units that were read, in the order of the file.
pub(crate) trait Take<'f>: Send {
    fn take(&mut self, unit: Unit<'f>);

    /// True where no more is taken: units that would come next need not be read.
    fn is_full(&self) -> bool {
        false
    }

    /// Takes what a table lists of calls through slots (`.debug_vcall`), before the units.
    fn take_slots(&mut self, _: &[SlotKey]) {}
}

impl<'f> Take<'f> for Vec<Unit<'f>> {
    fn take(&mut self, unit: Unit<'f>) {
        self.push(unit);
    }
}

/// Reads every unit of the image's debug information, split units from where `split` says. An image
/// without any gives no unit.
///
/// Uses the threads of the current `rayon` pool. `taker` has each unit as soon as all before it are read, so that
/// what it does with one goes on beside the reading of others.
pub(crate) fn read<'f>(
    image: &Image<'f>,
    split: &SplitFiles<'_, 'f>,
    options: ReadOptions,
    advance: &(dyn Fn(u64) + Sync),
    taker: &mut dyn Take<'f>,
) -> Diagnostics {
    let how = How { options, walk: Walk::Functions, advance };
    if image.arch.big_endian {
        read_with(image, split, gimli::BigEndian, how, taker)
    } else {
        read_with(image, split, gimli::LittleEndian, how, taker)
    }
}

/// Reads the classes of the units at these offsets, which are sorted: each that is returned has those and names alone.
/// Of what is damaged [`read`] has told.
pub(crate) fn read_classes<'f>(
    image: &Image<'f>,
    split: &SplitFiles<'_, 'f>,
    units: &[UnitClasses<'_>],
    diagnostics: &mut Diagnostics,
) -> Vec<Unit<'f>> {
    let how = How { options: ReadOptions::default(), walk: Walk::Classes(units), advance: &|_| () };
    let mut read = Vec::new();
    let counted = if image.arch.big_endian {
        read_with(image, split, gimli::BigEndian, how, &mut read)
    } else {
        read_with(image, split, gimli::LittleEndian, how, &mut read)
    };
    diagnostics.merge(counted.only(Kind::SkippedClasses));
    read
}

/// Units that are looked at between two times that the pages around them are given back.
const UNITS_BETWEEN: usize = 32;

/// How units are read.
#[derive(Clone, Copy)]
struct How<'a> {
    options: ReadOptions,
    walk: Walk<'a>,
    advance: &'a (dyn Fn(u64) + Sync),
}

fn read_with<'f, E: Endianity>(
    image: &Image<'f>,
    split: &SplitFiles<'_, 'f>,
    endian: E,
    How { options, walk, advance }: How<'_>,
    taker: &mut dyn Take<'f>,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    let space = Space::new(image, endian, split.files, &mut diagnostics);
    split.files.release(image.debug.get(DebugSection::Info));
    let code = Code::new(image);
    let sections = [DebugSection::Dcall, DebugSection::Vcall].map(|section| image.debug.get(section));
    let is_unit = |at: u64| {
        let found = space.main.unit_at(usize::try_from(at).unwrap_or(usize::MAX));
        found.is_some_and(|unit| space::offset_of(&space.main.headers[unit]) == at)
    };
    let tables = match walk {
        Walk::Functions => {
            call_tables::read(sections, image.arch.big_endian, &code, is_unit, &mut diagnostics)
        }
        Walk::Classes(_) | Walk::ClassesAt(_) => CallTables::default(),
    };
    taker.take_slots(&tables.slots);
    let supply = Supply::new(split, image, endian, &mut diagnostics);
    let (memory, allowance) = (Mutex::default(), Allowance::of(split.files));
    let (space, code, supply, tables) = (&space, &code, &supply, &tables);
    let task =
        Task { space, code, options, supply, tables, walk, memory: &memory, limit: u64::MAX, allowance };
    let again = |index: usize, how: queue::How| {
        if !how.split {
            supply.close();
        }
        task::read(&Task { limit: how.limit, ..task }, index)
    };
    let package = split.package.as_ref().map(|package| &package.debug);
    let held = [&image.debug].into_iter().chain(package).map(unit::held_by_lists).sum();
    let lists = unit::allowed_entries(held);
    let queue = Queue::new(taker, split.files, &image.debug, diagnostics, lists, allowance, &again);
    // Nothing is read once more but the names, which stay where they are; those of a package were copied.
    use DebugSection::{Abbrev, Addr, Info, Line, Ranges, RngLists, Str, StrOffsets};
    let give_back = || {
        for section in [Info, Abbrev, Line, Addr, Ranges, RngLists, StrOffsets] {
            split.files.release(image.debug.get(section));
        }
    };
    let next = AtomicUsize::new(0);
    let worker = || {
        let memory = Mutex::default();
        let task = Task { memory: &memory, ..task };
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            // By now more is kept than when functions were read.
            if matches!(walk, Walk::Classes(_)) && index.is_multiple_of(UNITS_BETWEEN) {
                give_back();
            }
            let Some(header) = space.main.headers.get(index).filter(|_| !queue.is_full()) else { break };
            let unit = queue.read(|| task::read(&task, index));
            // What was read is not asked for again, but by units that refer into it.
            split.files.release(space.main.read_by(index));
            advance(header.length_including_self() as u64);
            queue.put(index, unit);
        }
    };
    // Not `broadcast`, which waits for threads that are busy with something else.
    rayon::scope(|scope| (0..rayon::current_num_threads()).for_each(|_| scope.spawn(|_| worker())));
    give_back();
    if let Some(package) = &split.package {
        for section in [Info, Abbrev, Line, Ranges, RngLists, Str, StrOffsets] {
            split.files.release(package.debug.get(section));
        }
    }
    queue.finish()
}

/// Reads the image's basic-block address map.
pub(crate) fn read_blocks(image: &Image<'_>, diagnostics: &mut Diagnostics) -> BlockMap {
    if image.block_maps.is_empty() {
        return BlockMap::default();
    }
    basic_blocks::read(&image.block_maps, &image.arch, &Code::new(image), diagnostics)
}

/// The executable sections of the image: what tells a live address from a tombstone.
#[derive(Default)]
pub(crate) struct Code {
    /// Sorted and disjoint.
    ranges: Vec<AddressRange>,
    /// Address 0 is never a tombstone.
    zero_is_code: bool,
    /// Names and sizes of the symbols at address 0, where code is there: 0 is also a tombstone.
    at_zero: Vec<(Vec<u8>, u64)>,
    /// Where the debug sections have addresses that the linker had erased.
    restored: Restored,
}

impl Code {
    fn new(image: &Image<'_>) -> Code {
        let mut ranges: Vec<AddressRange> = image
            .sections
            .iter()
            .filter(|s| s.executable)
            .map(|s| s.range)
            .filter(|r| r.start < r.end)
            .collect();
        ranges.sort();
        let mut merged: Vec<AddressRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        let at_zero = match merged.first() {
            Some(first) if first.start == 0 => {
                let symbols = image.symbols.iter().filter(|s| s.address == 0 && !s.name.is_empty());
                let code = symbols.filter(|s| s.kind != SymbolKind::Data);
                code.map(|symbol| (symbol.name.to_vec(), symbol.size)).collect()
            }
            _ => Vec::new(),
        };
        let (zero_is_code, restored) = (image.zero_is_code, image.restored.clone());
        Code { ranges: merged, zero_is_code, at_zero, restored }
    }

    /// True where a function of this name and length may be at address 0, which linkers also write for the address of a
    /// function that they removed: a symbol there has its name, or there is no symbol to ask.
    pub(crate) fn believes_zero(&self, name: &[u8], len: u64) -> bool {
        self.zero_is_code
            || self.at_zero.is_empty()
            || self.at_zero.iter().any(|(symbol, size)| is_symbol_of(symbol, *size, name, len))
    }

    /// True where `address` lies in an executable section.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.section(address).is_some()
    }

    /// The executable section that `address` lies in.
    pub(crate) fn section(&self, address: u64) -> Option<AddressRange> {
        let after = self.ranges.partition_point(|r| r.start <= address);
        let range = *self.ranges.get(after.checked_sub(1)?)?;
        (address < range.end).then_some(range)
    }
}

/// True where a symbol may be that of a function, of which the name is a linkage name or, without one, the source's. A
/// mangled name (Itanium, Rust, Swift, D) has each identifier after its length: `_ZNK1W2upEi` has `2up`.
fn is_symbol_of(symbol: &[u8], size: u64, name: &[u8], len: u64) -> bool {
    if symbol.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest[0] == b'.') {
        return true;
    }
    if size != 0 && size != len {
        return false;
    }
    if name.starts_with(b"operator") {
        // Its mangled name has a code instead of an identifier.
        return size != 0 && symbol.starts_with(b"_Z");
    }
    let name = name.strip_prefix(b"~").unwrap_or(name);
    let identifier = name.split(|&byte| byte == b'<').next().unwrap_or_default();
    let mangled = [identifier.len().to_string().as_bytes(), identifier].concat();
    !identifier.is_empty() && memchr::memmem::find(symbol, &mangled).is_some()
}

/// Counts the damage of a unit's header walk.
fn bad_unit(diagnostics: &mut Diagnostics, offset: u64, error: gimli::Error) {
    diagnostics.add(Kind::BadUnit, offset, || format!("unit at .debug_info+{offset:#x}: {error}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_at_address_zero_tells_a_function_from_a_tombstone() {
        let believes = |symbol: &str, size: u64, name: &str, len: u64| {
            let at_zero = vec![(symbol.as_bytes().to_vec(), size)];
            let ranges = vec![AddressRange { start: 0, end: 64 }];
            let code = |zero_is_code| Code {
                ranges: ranges.clone(),
                zero_is_code,
                at_zero: at_zero.clone(),
                restored: Restored::default(),
            };
            assert!(code(true).believes_zero(name.as_bytes(), len));
            code(false).believes_zero(name.as_bytes(), len)
        };
        assert!(believes("main", 8, "main", 16));
        assert!(believes("_ZNK1W2upEi", 8, "_ZNK1W2upEi", 16));
        assert!(believes("_ZNK1W2upEi.cold", 0, "_ZNK1W2upEi", 16));
        assert!(!believes("_ZNK1W2upEi", 16, "_ZNK1W4downEi", 16));
        // Functions without a linkage name.
        assert!(believes("_ZNK1W2upEi", 16, "up", 16));
        assert!(believes("_ZNK1W2upEi", 0, "up", 16));
        assert!(believes("_ZN1WD2Ev", 16, "~W", 16));
        assert!(believes("_Z4pickIiEvT_", 16, "pick<int>", 16));
        assert!(believes("_ZplRK1WS1_", 16, "operator+", 16));
        assert!(!believes("_ZNK1W2upEi", 12, "up", 16), "another length");
        assert!(!believes("_ZNK1W2upEi", 16, "down", 16), "another name");
        assert!(!believes("setup", 16, "up", 16), "a plain name is whole");
        assert!(!believes("_ZplRK1WS1_", 0, "operator+", 16), "nothing but the length could tell");
    }
}

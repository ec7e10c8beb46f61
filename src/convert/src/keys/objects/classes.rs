//! Finds which member of a group runs on an object, by the vtable pointer that the object begins with.
//!
//! The pointer identifies the object's class. A virtual method runs only on objects of its class and of classes that
//! derive from it; other objects begin with a pointer to another table. So of a group of virtual methods, only
//! methods of the object's class and its bases can have run. Overridden methods count too, since they may be called
//! by their qualified name. If one method remains, it ran, whatever the caller. If several remain, or some base of
//! the object's class is unknown (clang describes no class whose table is in another object), the slot of the call
//! decides: `dispatch` finds the function at that slot.
//!
//! All other members of the group stay possible. Their first argument may point to anything, also to an object that
//! is the first member of their own object. Constructors run before the pointer is written, and destructors overwrite
//! it with a base's pointer. If any caller may hide a function that nothing names, the same holds for the function
//! that ran, and no member is ruled out.
//!
//! The linkage name of a method begins with its class's. So a method counts even if the class does not list its
//! declaration (instances of templates, implicit methods). gcc writes no linkage names for methods of a class in an
//! unnamed namespace. Such a method is identified by the DIE of its declaration, and the table of its class by the
//! file of the table's symbol, provided that the program has one such file and one such unit, and that the table
//! contains the methods.

use foldsym_demangle::demangle;

use crate::diagnostics::{Diagnostics, Kind};
use crate::keys::index::Index;
use crate::keys::objects::dispatch::{self, Dispatch, MAX_WORDS, Reached, TableRange, parts, points};
use crate::keys::objects::hierarchy::{Classes, MAX_NAME, Method};
use crate::keys::objects::members::{Members, is_unnamed};
use crate::keys::objects::overriders::{self, Overriders, TableClass};
use crate::keys::objects::vtables::{Word, Words};
use crate::keys::objects::wanted::is_table;
use crate::keys::tail_calls::JumpsOf;
use crate::model::{ClassUnit, ImageAddr, NONE16, OverriderKey, SlotKey, VtableKey};
use crate::open::{Binding, Image, Symbol, SymbolKind};
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// Classes that a class may derive from, itself included. If there are more, the class is not used.
const MAX_ANCESTORS: usize = 256;

/// Words and methods that are compared, over all tables: a large program has a few millions.
const MAX_WORK: usize = 1 << 28;

/// Keys of one table; the file cannot hold more.
const MAX_KEYS: usize = 1024;

/// Keys of all tables.
const MAX_ALL_KEYS: usize = 1 << 22;

/// The keys that objects give.
#[derive(Default)]
pub(crate) struct ObjectKeys {
    pub(crate) slots: Vec<SlotKey>,
    pub(crate) vtables: Vec<VtableKey>,
    pub(crate) overriders: Vec<OverriderKey>,
}

/// Finds the keys of the program's classes.
pub(crate) fn keys<'u, 'f>(
    index: &'u Index<'_, 'f>,
    image: &Image<'f>,
    read: Option<&'u [ClassUnit<'f>]>,
    diagnostics: &mut Diagnostics,
) -> ObjectKeys {
    let Some(read) = read else { return ObjectKeys::default() };
    let units = class_units(index, read, diagnostics);
    let ranges = table_ranges(image);
    if ranges.is_empty() {
        // Without tables no object gives a key, and the code need not be read. This is so for C and Rust programs.
        return ObjectKeys::default();
    }
    let heads = &index.program.heads;
    let classes = Classes::new(&units, |unit| !heads[unit as usize].keeps_callees);
    let members = Members::new(index, &classes);
    let words = Words::new(image, &ranges);
    let width = u64::from(image.arch.address_size);
    let mut tables = tables(image, &units, &classes);
    let has_methods =
        |table: &(u64, u64, usize)| has_methods(index, &members, &classes, &words, width, *table);
    tables.extend(unnamed_tables(index, image, &classes).into_iter().filter(has_methods));
    let (slots, slot_calls) = slots_of_calls(index);
    let dispatch = Dispatch {
        index,
        classes: &classes,
        members: &members,
        words: &words,
        width,
        slots: &slots,
        reach: HashMap::default(),
        jumps: JumpsOf::default(),
        passed_on: HashMap::default(),
        led: HashMap::default(),
        looked_at: 0,
        lacks_words: false,
    };
    let mut scan = TableScan { dispatch, overriders: Overriders::default(), vtables: Vec::new(), work: 0 };
    scan.read_slots(&ranges);
    scan.add_unknown(image, &tables);
    scan.add_known(&tables, diagnostics);
    scan.finish(image, slot_calls)
}

/// The classes of units by the number of the unit: those read for this step, and those read with the rest of their unit.
fn class_units<'u, 'f>(
    index: &'u Index<'_, 'f>,
    read: &'u [ClassUnit<'f>],
    diagnostics: &mut Diagnostics,
) -> Vec<(u32, &'u ClassUnit<'f>)> {
    let heads = &index.program.heads;
    let numbered = |unit: &'u ClassUnit<'f>| {
        let number = heads.binary_search_by_key(&unit.offset, |head| head.offset).ok()?;
        Some((number as u32, unit))
    };
    let mut units: Vec<(u32, &ClassUnit<'_>)> = read.iter().filter_map(numbered).collect();
    for (number, unit) in (0..).zip(&index.records.units) {
        let Some(described) = unit.described.as_deref() else { continue };
        diagnostics.merge(described.skipped.clone());
        units.push((number, described));
    }
    units.sort_by_key(|unit| unit.0);
    units
}

/// The ranges of all vtables, including those of unknown classes and construction vtables; sorted, each once.
fn table_ranges(image: &Image<'_>) -> Vec<(u64, u64)> {
    let is_any = |symbol: &&Symbol<'_>| is_table(symbol) || symbol.name.starts_with(b"_ZTC");
    let any = image.symbols.iter().filter(is_any);
    let mut ranges: Vec<(u64, u64)> =
        any.map(|symbol| (symbol.address, symbol.address.saturating_add(symbol.size))).collect();
    ranges.sort_unstable();
    ranges.dedup();
    ranges
}

/// True if a table leads to all virtual methods that its class declares.
fn has_methods(
    index: &Index<'_, '_>,
    members: &Members<'_, '_, '_>,
    classes: &Classes<'_>,
    words: &Words<'_, '_>,
    width: u64,
    (address, size, class): (u64, u64, usize),
) -> bool {
    let code = |method: &&Method<'_>| method.is_virtual && !method.is_pure && !method.is_destructor();
    let mut methods = classes.list[class].methods.iter().filter(code);
    let here: HashSet<u64> = (0..(size / width.max(1)).min(MAX_WORDS))
        .filter_map(|at| match words.at(address + at * width)? {
            Word::Number(number) => Some(number.cast_unsigned()),
            _ => None,
        })
        .collect();
    let leads_to = |method: &Method<'_>| {
        members.method(&classes.list[class], method).is_some_and(|f| here.contains(&index.starts[f.index()]))
    };
    methods.all(leads_to)
}

/// One scan over the vtables, which fills the keys of objects and of slots.
struct TableScan<'a, 'p, 'f> {
    dispatch: Dispatch<'a, 'p, 'f>,
    overriders: Overriders,
    vtables: Vec<VtableKey>,
    /// Words and methods compared so far.
    work: usize,
}

impl TableScan<'_, '_, '_> {
    /// Reads the functions at the slots of all tables.
    fn read_slots(&mut self, ranges: &[(u64, u64)]) {
        let width = self.dispatch.width;
        for &(address, end) in ranges.iter().filter(|_| matches!(width, 4 | 8)) {
            self.work += ((end - address) / width).min(MAX_WORDS) as usize;
            if self.work > MAX_WORK {
                break;
            }
            self.dispatch.look_at(address, end - address);
        }
    }

    /// Adds the keys of tables whose class no unit describes.
    fn add_unknown(&mut self, image: &Image<'_>, known: &[(u64, u64, usize)]) {
        let width = self.dispatch.width;
        for (address, size, key) in unknown_tables(image, known) {
            self.work += (size / width.max(1)).min(MAX_WORDS) as usize;
            if self.is_full() {
                self.dispatch.lacks_words = true;
                break;
            }
            let table = dispatch::parts(self.dispatch.words, address, size, width);
            let class = TableClass::Named(key);
            let most = MAX_KEYS * table.len();
            let told = self.dispatch.overriders(&mut self.overriders, &class, &table, most);
            // lld folded this table with that of another class: its objects may be of either class.
            if key != SHARED {
                self.vtables.extend(told);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.work > MAX_WORK || self.vtables.len() > MAX_ALL_KEYS
    }

    /// Adds the keys of tables of known classes.
    fn add_known(&mut self, tables: &[(u64, u64, usize)], diagnostics: &mut Diagnostics) {
        let Dispatch { classes, words, width, slots, .. } = self.dispatch;
        for &(address, size, class) in tables {
            let Some(line) = classes.ancestors(class, MAX_ANCESTORS) else { continue };
            // Virtual bases are found through the table: the slot numbers of its words depend on the complete object.
            let numbered =
                !line.iter().any(|&class| classes.list[class].bases.iter().any(|base| base.1.is_none()));
            let parts = match width {
                4 | 8 if numbered => parts(words, address, size, width),
                4 | 8 => points(words, address, size, width),
                _ => Vec::new(),
            };
            self.work += (size / width.max(1)).min(MAX_WORDS) as usize;
            if parts.is_empty() {
                continue;
            }
            self.work += line.iter().map(|&class| classes.list[class].methods.len()).sum::<usize>()
                + line.len() * line.len()
                + slots.len() * parts.len();
            if self.is_full() {
                self.dispatch.lacks_words = true;
                diagnostics.add(Kind::SkippedClasses, address, || {
                    format!(
                        "the tables of virtual functions from {address:#x} on are left out: there are too many"
                    )
                });
                break;
            }
            let first = self.vtables.len();
            self.add_proven(class, &line, &parts, numbered);
            self.add_probable(first, &TableClass::Known { class, line: &line, numbered }, &parts);
            if self.vtables.len() - first > MAX_KEYS * parts.len() {
                self.vtables.truncate(first);
                diagnostics.add(Kind::SkippedClasses, address, || {
                    format!(
                        "the table of virtual functions at {address:#x} has over {MAX_KEYS} keys: left out"
                    )
                });
            }
        }
    }

    /// Adds the keys of a class: for any call, the only member of a group that the class or a base has; for calls through a slot,
    /// the member that they reach.
    fn add_proven(&mut self, class: usize, line: &[usize], parts: &[TableRange], numbered: bool) {
        let Dispatch { index, classes, members, .. } = self.dispatch;
        let lost = index.has_forgotten_callers || classes.is_open(line) || members.lost(classes, line);
        let vtables = &mut self.vtables;
        let mut add = |function, slot, doubtful| {
            let key =
                |&(point, _): &TableRange| VtableKey { point: ImageAddr(point), function, slot, doubtful };
            vtables.extend(parts.iter().map(key));
        };
        for (group, related) in members.of(line) {
            if let [function] = related[..] {
                add(function, None, lost || members.unexcluded(group, &related));
            }
        }
        let reached = if numbered { self.dispatch.reached(class, line, parts) } else { Vec::new() };
        for Reached { slot, function, doubtful } in reached {
            add(function, Some(slot), doubtful || index.has_forgotten_callers);
        }
    }

    /// Adds the doubtful keys of a class, unless a key from `first` on is proven for the slot, or for any call.
    fn add_probable(&mut self, first: usize, class: &TableClass<'_>, parts: &[TableRange]) {
        let index = self.dispatch.index;
        let told = self.dispatch.overriders(&mut self.overriders, class, parts, MAX_KEYS * parts.len());
        let before = &self.vtables[first..];
        let place = |key: &VtableKey| (key.point.0, key.slot, index.group(key.function));
        let of_slots: HashSet<_> = before.iter().map(place).collect();
        let of_any = before.iter().filter(|key| key.slot.is_none() && !key.doubtful);
        let of_any: HashSet<_> = of_any.map(place).collect();
        let proven = |key: &VtableKey| {
            let (point, slot, group) = place(key);
            of_slots.contains(&(point, slot, group)) || of_any.contains(&(point, None, group))
        };
        let told: Vec<VtableKey> = told.into_iter().filter(|key| !proven(key)).collect();
        self.vtables.extend(told);
    }

    /// Sorts the keys and leaves out those that the file cannot hold and slots without keys.
    fn finish(self, image: &Image<'_>, slot_calls: Vec<SlotKey>) -> ObjectKeys {
        let TableScan { dispatch, overriders, mut vtables, .. } = self;
        vtables.sort_unstable();
        // Tables may overlap in a damaged file: of two keys for one word the doubtful one counts.
        vtables.dedup_by(|next, kept| {
            let same = (next.point, next.function, next.slot) == (kept.point, kept.function, kept.slot);
            kept.doubtful |= same && next.doubtful;
            same
        });
        let sound = vtables.chunk_by(|a, b| a.point == b.point).filter(|same| same.len() <= MAX_KEYS);
        let vtables: Vec<VtableKey> = sound.flatten().copied().collect();
        // Tables of unnamed namespaces have local symbols. If those were dropped, there may be unknown tables, and any
        // word may lead to another function.
        let has_locals = image
            .symbols
            .iter()
            .any(|symbol| symbol.binding == Binding::Local && !symbol.dynamic && !symbol.hidden);
        let overriders = overriders.keys(!has_locals || dispatch.lacks_words);
        let used: HashSet<u16> = vtables.iter().filter_map(|key| key.slot).collect();
        let through: HashSet<u16> = overriders.iter().map(|key| key.slot).collect();
        let mut slots = slot_calls;
        slots.retain(|key| used.contains(&key.slot) || (key.by_object && through.contains(&key.slot)));
        ObjectKeys { slots, vtables, overriders }
    }
}

/// The vtables of known classes: address of the symbol, bytes, class. Each address appears once. An address is left
/// out if it has symbols of two classes, since lld folds equal read-only tables. It is also left out if it has no
/// symbol, or only exported ones, since another name may then be missing.
fn tables(
    image: &Image<'_>,
    units: &[(u32, &ClassUnit<'_>)],
    classes: &Classes<'_>,
) -> Vec<(u64, u64, usize)> {
    let mut symbols: HashMap<u64, (&[u8], u64, bool)> = HashMap::default();
    for symbol in image.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Data) {
        let Some(name) = symbol.name.strip_prefix(b"_ZTV") else { continue };
        let known = symbols.entry(symbol.address).or_insert((name, symbol.size, !symbol.dynamic));
        known.2 &= known.0 == name;
    }
    let mut found: Vec<(u64, usize)> = Vec::new();
    for (&address, (name, ..)) in &symbols {
        let nested = name.strip_prefix(b"N").and_then(|name| name.strip_suffix(b"E"));
        if let Some(class) = classes.by_key(nested.unwrap_or(name)) {
            found.push((address, class));
        }
    }
    for (unit, described) in units {
        let class = |local: u32| classes.of_unit(*unit, local);
        found.extend(
            described.vtables.iter().filter_map(|table| Some((table.address.0, class(table.class)?))),
        );
    }
    found.sort_unstable();
    found.dedup();
    let alone = found.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0]);
    let sized = alone.filter_map(|(address, class)| {
        let &(_, size, one_name) = symbols.get(&address)?;
        one_name.then_some((address, size, class))
    });
    sized.collect()
}

/// The vtables of classes without linkage names (gcc, unnamed namespaces). A table is assigned to a class by its
/// local symbol if only one file of the symbol table and only one unit have that name, and if the unit has only one
/// such class of that name.
fn unnamed_tables(index: &Index<'_, '_>, image: &Image<'_>, classes: &Classes<'_>) -> Vec<(u64, u64, usize)> {
    let mut files: HashMap<&[u8], (u32, Vec<u32>)> = HashMap::default();
    for file in &image.symbol_files {
        files.entry(base_name(file)).or_default().0 += 1;
    }
    for (number, unit) in (0..).zip(&index.program.heads) {
        files.entry(&unit.file_name).or_default().1.push(number);
    }
    let mut found: Vec<(u64, u64, usize)> = Vec::new();
    let mut at: HashMap<u64, u32> = HashMap::default();
    for symbol in image.symbols.iter().filter(|symbol| is_table(symbol)) {
        *at.entry(symbol.address).or_default() += 1;
        let file = symbol.file.and_then(|file| image.symbol_files.get(file as usize));
        let Some((1, units)) = file.and_then(|file| files.get(base_name(file))) else { continue };
        let &[unit] = &units[..] else { continue };
        let class = symbol.name.strip_prefix(b"_ZTVN").and_then(|name| name.strip_suffix(b"E"));
        let class = class.filter(|class| is_unnamed(class) && class.len() <= MAX_NAME);
        // As demanglers write a function of the class: `(anonymous namespace)::C::x()`.
        let text = class.and_then(|class| demangle(&[b"_ZN", class, b"1xEv"].concat()));
        let own = text.as_deref().and_then(|text| text.split_once(UNNAMED)?.1.strip_suffix("::x()"));
        let Some(own) = own else { continue };
        // The name of a class in a template contains the template, and no class has that whole name.
        let own = if own.contains(['<', '(']) { own } else { own.rsplit("::").next().unwrap_or(own) };
        // gcc writes `> >` at the end of nested templates, clang and the demangler `>>`.
        let apart = own.replace(">>", "> >").replace(">>", "> >");
        let class =
            classes.nameless(unit, own.as_bytes()).or_else(|| classes.nameless(unit, apart.as_bytes()));
        found.extend(class.map(|class| (symbol.address, symbol.size, class)));
    }
    found.sort_unstable();
    // A class has one table, and a table's address has one class.
    let mut count: HashMap<usize, u32> = HashMap::default();
    found.iter().for_each(|table| *count.entry(table.2).or_default() += 1);
    found.retain(|table| count[&table.2] == 1 && at[&table.0] == 1);
    found
}

/// How demanglers write an unnamed namespace, in front of its members.
const UNNAMED: &str = "(anonymous namespace)::";

/// The vtables of classes that no unit describes, or of which there are several: address, bytes, and the text that
/// the linkage names of the class's methods begin with.
fn unknown_tables<'i>(image: &'i Image<'_>, known: &[(u64, u64, usize)]) -> Vec<(u64, u64, &'i [u8])> {
    let known: HashSet<u64> = known.iter().map(|table| table.0).collect();
    let named = |symbol: &'i Symbol<'_>| {
        let name = symbol.name.strip_prefix(b"_ZTV").filter(|_| symbol.kind == SymbolKind::Data)?;
        let nested = name.strip_prefix(b"N").and_then(|name| name.strip_suffix(b"E"));
        let key = nested.unwrap_or(name);
        let wanted = !known.contains(&symbol.address) && !key.is_empty() && key.len() <= MAX_NAME;
        wanted.then_some((symbol.address, symbol.size, key, symbol.dynamic))
    };
    let mut found: Vec<_> = image.symbols.iter().filter_map(named).collect();
    found.sort_unstable();
    found.dedup();
    // lld may have folded equal tables: their words are of no certain class. If all symbols are exported ones,
    // another name may be missing.
    let alone = found.chunk_by(|a, b| a.0 == b.0).map(|same| match same {
        [(address, size, key, false)] => (*address, *size, *key),
        _ => (same[0].0, same[0].1, SHARED),
    });
    alone.collect()
}

/// In place of a class's name for a shared table: no linkage name begins with it.
const SHARED: &[u8] = b"?";

/// The slots that calls without a recorded callee go through, sorted, and these calls by return address.
fn slots_of_calls(index: &Index<'_, '_>) -> (Vec<u16>, Vec<SlotKey>) {
    let calls = || index.records.units.iter().flat_map(|unit| &unit.calls);
    let through = calls().filter(|call| !call.tail && call.callee.is_none() && call.slot != NONE16);
    let key = |return_addr, slot, by_object| SlotKey { return_addr, slot, by_object };
    let mut keys: Vec<SlotKey> = through
        .filter_map(|call| Some(key(call.return_addr?, call.slot, false)))
        .chain(index.records.slots.iter().copied())
        .chain(overriders::decoded(index))
        .collect();
    keys.sort_unstable();
    keys.dedup_by(|next, kept| {
        let same = (next.return_addr, next.slot) == (kept.return_addr, kept.slot);
        kept.by_object |= same && next.by_object;
        same
    });
    // A call with a recorded callee needs no slot. If a call has two slots, neither counts.
    let sound = keys.chunk_by(|a, b| a.return_addr == b.return_addr).filter(|same| same.len() == 1);
    let mut keys: Vec<SlotKey> = sound.flatten().copied().collect();
    let through: HashSet<ImageAddr> = keys.iter().map(|key| key.return_addr).collect();
    let named: HashSet<ImageAddr> = calls()
        .filter(|call| call.callee.is_some())
        .filter_map(|call| call.return_addr.filter(|address| through.contains(address)))
        .collect();
    keys.retain(|key| !named.contains(&key.return_addr));
    let slots: HashSet<u16> = keys.iter().map(|key| key.slot).collect();
    let mut slots: Vec<u16> = slots.into_iter().collect();
    slots.sort_unstable();
    (slots, keys)
}

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

use crate::diagnostics::{ClassCap, Diagnostics};
use crate::keys::index::Index;
use crate::keys::objects::call_targets::{ProgramTables, call_targets};
use crate::keys::objects::class_caps::{
    self, MAX_ALL_KEYS, MAX_ANCESTORS, MAX_KEYS, MAX_NAME, MAX_WORDS, MAX_WORK,
};
use crate::keys::objects::class_units::{is_of_object, is_table, keys_of_tables};
use crate::keys::objects::dispatch::{ClassTable, Dispatch, Reached, TableRange, parts, points};
use crate::keys::objects::hierarchy::{Classes, Method};
use crate::keys::objects::meant_methods::TableClass;
use crate::keys::objects::members::Members;
use crate::keys::objects::method_symbols::MethodSymbols;
use crate::keys::objects::overriders::{self, Overriders};
use crate::keys::objects::slot_names::SlotNames;
use crate::keys::objects::table_types::types_of_tables;
use crate::keys::objects::unknown_tables::{UnknownTable, unknown_tables};
use crate::keys::objects::virtual_calls::virtual_calls;
use crate::keys::objects::vtables::{Word, Words, address_of};
use crate::keys::tail_calls::JumpsOf;
use crate::model::{
    AddressRange, ClassUnit, DispatchKey, FuncId, GroupId, ImageAddr, NONE16, OverriderKey, SlotKey,
    TargetKey, VtableKey,
};
use crate::open::{Image, Symbol, SymbolKind};
use crate::program::names::itanium::member_x;
use crate::toolchain::itanium_abi::{class_of_vtable, is_construction_vtable, is_unnamed};
use crate::util::fit::fit;
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// The keys that objects give.
#[derive(Default)]
pub(crate) struct ObjectKeys {
    pub(crate) slots: Vec<SlotKey>,
    pub(crate) vtables: Vec<VtableKey>,
    pub(crate) overriders: Vec<OverriderKey>,
    pub(crate) dispatches: Vec<DispatchKey>,
    pub(crate) targets: Vec<TargetKey>,
}

/// Finds the keys of the program's classes. `may_lead_into_group`: see [`Index::may_lead_into_group`].
pub(crate) fn keys<'u, 'f>(
    index: &'u Index<'_, 'f>,
    may_lead_into_group: &[bool],
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
    let words = Words::new(image, &ranges);
    let width = u64::from(image.arch.address_size);
    let mut classes = Classes::new(&units, &keys_of_tables(image));
    let types = types_of_tables(index, image, &classes, &words);
    if let Some(cap) = types.cut {
        class_caps::cut_types(cap, ranges[0].start, diagnostics);
    }
    classes.add_types(&types);
    let classes = classes;
    let members = Members::new(index, &classes);
    let mut tables = tables(image, &units, &classes);
    let has_methods = |table: &ClassTable| has_methods(index, &members, &classes, &words, width, *table);
    tables.extend(unnamed_tables(index, image, &classes).into_iter().filter(has_methods));
    // Of a class with an unknown base the methods are not all known. Its name shows some of them: see `unknown_tables`.
    for table in tables.iter().filter(|table| classes.has_many_ancestors(table.class, MAX_ANCESTORS)) {
        class_caps::many_ancestors(table.address, diagnostics);
    }
    tables.retain(|table| classes.ancestors(table.class, MAX_ANCESTORS).is_some());
    let (slots, slot_calls) = slots_of_calls(index, diagnostics);
    let dispatch = Dispatch {
        index,
        classes: &classes,
        members: &members,
        words: &words,
        image,
        width,
        slots: &slots,
        slot_names: SlotNames::declared(&classes),
        may_lead_into_group,
        reach: HashMap::default(),
        jumps: JumpsOf::default(),
        passed_on: HashMap::default(),
        far_slots: Vec::new(),
        run_on: HashMap::default(),
        led_directly: HashMap::default(),
        led: HashMap::default(),
        method_symbols: MethodSymbols::default(),
        guessed_at: 0,
        looked_at: 0,
        lacks_words: false,
        long_table: None,
    };
    let mut scan = TableScan { dispatch, overriders: Overriders::default(), vtables: Vec::new(), work: 0 };
    // In this order: the keys of known classes need what every slot of every table reaches, and the slots that `add_unknown`
    // first learns for classes without a description.
    scan.read_slots(&ranges);
    scan.add_unknown(image, &tables, diagnostics);
    scan.add_known(&tables, diagnostics);
    let tables = ProgramTables { known: &tables, ranges: &ranges, keys: &scan.vtables };
    // Without local symbols some vtables may be unknown.
    let words_missing = scan.dispatch.lacks_words || !image.symbols.iter().any(is_of_object);
    let calls = virtual_calls(index, &classes);
    let found = call_targets(&mut scan.dispatch, &calls, &tables, words_missing);
    if found.is_short {
        class_caps::unfollowed_calls(ranges[0].start, diagnostics);
    }
    scan.report(ranges[0].start, diagnostics);
    let keys = scan.finish(image, slot_calls, diagnostics);
    ObjectKeys { dispatches: found.dispatches, targets: found.targets, ..keys }
}

/// The classes of units by the number of the unit: those read for this step, and those read with the rest of their unit.
fn class_units<'u, 'f>(
    index: &'u Index<'_, 'f>,
    read: &'u [ClassUnit<'f>],
    diagnostics: &mut Diagnostics,
) -> Vec<(u32, &'u ClassUnit<'f>)> {
    let heads = &index.functions.program.heads;
    let numbered = |unit: &'u ClassUnit<'f>| {
        let number = heads.binary_search_by_key(&unit.offset, |head| head.offset).ok()?;
        Some((number as u32, unit))
    };
    let mut units: Vec<(u32, &ClassUnit<'_>)> = read.iter().filter_map(numbered).collect();
    for (number, unit) in (0..).zip(&index.functions.records.units) {
        let Some(described) = unit.described.as_deref() else { continue };
        diagnostics.merge(described.skipped.clone());
        units.push((number, described));
    }
    units.sort_by_key(|unit| unit.0);
    units
}

/// The ranges of all vtables, including those of unknown classes and construction vtables; sorted, each once.
fn table_ranges(image: &Image<'_>) -> Vec<AddressRange> {
    let is_any = |symbol: &&Symbol<'_>| is_table(symbol) || is_construction_vtable(symbol.name);
    let any = image.symbols.iter().filter(is_any);
    let range = |symbol: &Symbol<'_>| {
        let start = ImageAddr(symbol.address);
        AddressRange::new(start, start.saturating_add(symbol.size))
    };
    let mut ranges: Vec<AddressRange> = any.map(range).collect();
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
    ClassTable { address, size, class }: ClassTable,
) -> bool {
    let code = |method: &&Method<'_>| method.is_virtual && !method.is_pure && !method.is_destructor();
    let mut methods = classes.list[class].methods.iter().filter(code);
    let here: HashSet<ImageAddr> = (0..(size / width.max(1)).min(MAX_WORDS))
        .filter_map(|at| match words.at(address + at * width)? {
            Word::Number(number) => Some(address_of(number)),
            _ => None,
        })
        .collect();
    let leads_to = |method: &Method<'_>| {
        members
            .method(&classes.list[class], method)
            .is_some_and(|f| here.contains(&index.functions.starts[f.index()]))
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
    fn read_slots(&mut self, ranges: &[AddressRange]) {
        let width = self.dispatch.width;
        for range in ranges.iter().filter(|_| matches!(width, 4 | 8)) {
            self.work += (range.len() / width).min(MAX_WORDS) as usize;
            // Then `full` stops the later steps too, so no key rests on the tables that were read so far.
            if self.work > MAX_WORK {
                break;
            }
            self.dispatch.look_at(range.start, range.len());
        }
    }

    /// Records the slots of methods of known classes, as far as the words of the tables show them.
    fn learn_slots(&mut self, known: &[ClassTable]) {
        let Dispatch { width, classes, .. } = self.dispatch;
        if classes.list.iter().all(|class| class.described) {
            return;
        }
        for &ClassTable { address, size, class } in known {
            self.work += (size / width.max(1)).min(MAX_WORDS) as usize;
            if self.full().is_some() {
                break;
            }
            // If the table is too long, its keys are left out, which is reported then.
            let table = parts(self.dispatch.words, address, size, width).unwrap_or_default();
            if let Some(line) = self.dispatch.classes.ancestors(class, MAX_ANCESTORS)
                && self.dispatch.classes.is_numbered(&line)
            {
                self.work += line.len() * line.len();
                self.dispatch.learn_slots(class, &line, &table);
            }
        }
    }

    /// Adds the keys of tables whose class no unit describes.
    fn add_unknown(&mut self, image: &Image<'_>, known: &[ClassTable], diagnostics: &mut Diagnostics) {
        let width = self.dispatch.width;
        self.learn_slots(known);
        let known = known.iter().map(|table| table.address).collect();
        let unknown = unknown_tables(image, &known, diagnostics);
        let classes = self.dispatch.classes;
        // With the bases of each class that is described, and whether these have no virtual bases.
        let described = |key: &[u8]| {
            let class = classes.by_key(key)?;
            let line = classes.ancestors(class, MAX_ANCESTORS)?;
            let numbered = classes.is_numbered(&line);
            Some((class, line, numbered))
        };
        for UnknownTable { address, size, keys } in unknown {
            self.work += (size / width.max(1)).min(MAX_WORDS) as usize;
            if let Some(cap) = self.full() {
                self.dispatch.lacks_words = true;
                class_caps::tables_from(cap, address, diagnostics);
                break;
            }
            let table = self.ranges(parts(self.dispatch.words, address, size, width), address, diagnostics);
            let known: Vec<_> = keys.iter().map(|key| described(key)).collect();
            self.work += known.iter().flatten().map(|(_, line, _)| line.len() * line.len()).sum::<usize>();
            let mut of_table = Vec::new();
            for (&key, known) in keys.iter().zip(&known) {
                of_table.push(match known {
                    &Some((class, ref line, numbered)) => TableClass::Known { class, line, numbered },
                    None => TableClass::Named(key),
                });
            }
            let most = MAX_KEYS * table.len();
            let told = self.dispatch.overriders(&mut self.overriders, &of_table, &table, most);
            self.vtables.extend(told);
        }
    }

    /// The ranges of a class's tables; none if there are too many, or words.
    fn ranges(
        &mut self,
        found: Result<Vec<TableRange>, ClassCap>,
        address: ImageAddr,
        diagnostics: &mut Diagnostics,
    ) -> Vec<TableRange> {
        found.unwrap_or_else(|cap| {
            self.dispatch.lacks_words = true;
            class_caps::large_class(cap, address, diagnostics);
            Vec::new()
        })
    }

    /// Reports the limits that the scan reached. `first`: the address of the first table.
    fn report(&self, first: ImageAddr, diagnostics: &mut Diagnostics) {
        let Dispatch { classes, long_table, looked_at, far_slots, .. } = &self.dispatch;
        if let Some(point) = *long_table {
            class_caps::long_table(point, diagnostics);
        }
        class_caps::many_members(*looked_at, first, diagnostics);
        class_caps::far_slots(far_slots, diagnostics);
        for &class in &*classes.many_subobjects.borrow() {
            class_caps::many_subobjects(classes.list[class].key, diagnostics);
        }
    }

    /// The cap that is reached.
    fn full(&self) -> Option<ClassCap> {
        match self {
            TableScan { work, .. } if *work > MAX_WORK => Some(ClassCap::Tables),
            TableScan { vtables, .. } if vtables.len() > MAX_ALL_KEYS => Some(ClassCap::AllKeys),
            _ => None,
        }
    }

    /// Adds the keys of tables of known classes.
    fn add_known(&mut self, tables: &[ClassTable], diagnostics: &mut Diagnostics) {
        let Dispatch { classes, words, width, slots, .. } = self.dispatch;
        for &ClassTable { address, size, class } in tables {
            let Some(line) = classes.ancestors(class, MAX_ANCESTORS) else { continue };
            let numbered = classes.is_numbered(&line);
            let parts = match width {
                4 | 8 if numbered => parts(words, address, size, width),
                4 | 8 => points(words, address, size, width),
                _ => Ok(Vec::new()),
            };
            let parts = self.ranges(parts, address, diagnostics);
            self.work += (size / width.max(1)).min(MAX_WORDS) as usize;
            if parts.is_empty() {
                continue;
            }
            // All pairs of these classes count, since the searches compare a class with its bases, and so do all pairs of slots
            // and parts.
            self.work += line.iter().map(|&class| classes.list[class].methods.len()).sum::<usize>()
                + line.len() * line.len()
                + slots.len() * parts.len();
            if classes.lacks_bases(&line) {
                // The words of each part are counted by group, and parts of a class with virtual bases overlap.
                self.work += parts.iter().map(|part| part.words(width) as usize).sum::<usize>();
            }
            if let Some(cap) = self.full() {
                self.dispatch.lacks_words = true;
                class_caps::tables_from(cap, address, diagnostics);
                break;
            }
            let first = self.vtables.len();
            self.add_proven(class, &line, &parts, numbered);
            self.add_probable(first, &TableClass::Known { class, line: &line, numbered }, &parts);
            if self.vtables.len() - first > MAX_KEYS * parts.len() {
                self.vtables.truncate(first);
                class_caps::long_table(address, diagnostics);
            }
        }
    }

    /// Adds the keys of a class: for any call, the only member of a group that the class or a base has; for calls through a slot,
    /// the member that they reach.
    fn add_proven(&mut self, class: usize, line: &[usize], parts: &[TableRange], numbered: bool) {
        let Dispatch { index, classes, members, .. } = self.dispatch;
        // A method that is not known may be the one that ran, so then no member is proven.
        let lost = index.may_lack_functions() || classes.is_open(line) || members.lost(classes, line);
        // Each with whether others may have run.
        let related = members.of(line);
        let among: HashSet<FuncId> =
            { related.iter().filter(|of| of.1.len() > 1) }.flat_map(|of| of.1.iter().copied()).collect();
        let alone = related.into_iter().filter_map(|(group, related)| match related[..] {
            // In no group another one is related: a key holds in all groups of its function.
            [function] if !among.contains(&function) => {
                Some((group, function, lost || members.unexcluded(group, &related)))
            }
            _ => None,
        });
        let alone: Vec<(GroupId, FuncId, bool)> = alone.collect();
        // Methods may be missing, so two words that lead to a group are two methods of it, also if one alone is known.
        let words = match alone.iter().any(|(.., doubtful)| *doubtful) {
            true => self.dispatch.words_into_groups(parts),
            false => HashMap::default(),
        };
        let vtables = &mut self.vtables;
        let mut add = |function, slot, doubtful| {
            let key =
                |part: &TableRange| VtableKey { point: part.point, function, slot, doubtful, guessed: false };
            vtables.extend(parts.iter().map(key));
        };
        let mut sure: HashSet<FuncId> = HashSet::default();
        for (group, function, doubtful) in alone {
            if !doubtful || words.get(&group).is_none_or(|words| *words < 2) {
                add(function, None, doubtful);
            }
            if !doubtful {
                sure.insert(function);
            }
        }
        let undescribed = classes.has_undescribed(line);
        let reached = if numbered { self.dispatch.reached(class, line, parts) } else { Vec::new() };
        for Reached { slot, function, doubtful } in reached {
            let doubtful = doubtful || index.may_lack_functions() || undescribed;
            // What is sure of any call is sure of a call through a slot.
            if !doubtful || !sure.contains(&function) {
                add(function, Some(slot), doubtful);
            }
        }
    }

    /// Adds the doubtful keys of a class, unless a key from `first` on is proven for the slot, or for any call.
    fn add_probable(&mut self, first: usize, class: &TableClass<'_>, parts: &[TableRange]) {
        let index = self.dispatch.index;
        let told = self.dispatch.overriders(
            &mut self.overriders,
            std::slice::from_ref(class),
            parts,
            MAX_KEYS * parts.len(),
        );
        let before = &self.vtables[first..];
        let places = |key: &VtableKey| {
            let (point, slot) = (key.point, key.slot);
            index.functions.groups(key.function).map(move |group| (point, slot, group)).collect::<Vec<_>>()
        };
        let of_slots: HashSet<_> = before.iter().flat_map(places).collect();
        let of_any = before.iter().filter(|key| key.slot.is_none() && !key.doubtful);
        let of_any: HashSet<_> = of_any.flat_map(places).collect();
        let proven = |key: &VtableKey| {
            let is_proven = |place: &(ImageAddr, _, _)| {
                of_slots.contains(place) || of_any.contains(&(place.0, None, place.2))
            };
            places(key).iter().any(is_proven)
        };
        let told: Vec<VtableKey> = told.into_iter().filter(|key| !proven(key)).collect();
        self.vtables.extend(told);
    }

    /// Sorts the keys and leaves out those that the file cannot hold and slots without keys.
    fn finish(
        self,
        image: &Image<'_>,
        slot_calls: Vec<SlotKey>,
        diagnostics: &mut Diagnostics,
    ) -> ObjectKeys {
        let TableScan { dispatch, overriders, mut vtables, .. } = self;
        vtables.sort_unstable();
        // Tables may overlap in a damaged file: of two keys for one word the doubtful one counts.
        vtables.dedup_by(|next, kept| {
            let same = (next.point, next.function, next.slot) == (kept.point, kept.function, kept.slot);
            kept.doubtful |= same && next.doubtful;
            kept.guessed &= !same || next.guessed;
            same
        });
        let of_tables = || vtables.chunk_by(|a, b| a.point == b.point);
        for long in of_tables().filter(|same| same.len() > MAX_KEYS) {
            class_caps::long_table(long[0].point, diagnostics);
        }
        let sound = of_tables().filter(|same| same.len() <= MAX_KEYS);
        let vtables: Vec<VtableKey> = sound.flatten().copied().collect();
        // Tables of unnamed namespaces have local symbols. If those were dropped, there may be unknown tables, and any
        // word may lead to another function.
        let has_locals = image.symbols.iter().any(is_of_object);
        let overriders = overriders.keys(!has_locals || dispatch.lacks_words, diagnostics);
        let used: HashSet<u16> = vtables.iter().filter_map(|key| key.slot).collect();
        let through: HashSet<u16> = overriders.iter().map(|key| key.slot).collect();
        let mut slots = slot_calls;
        slots.retain(|key| used.contains(&key.slot) || (key.by_object && through.contains(&key.slot)));
        fit(&mut slots);
        ObjectKeys { slots, vtables, overriders, ..ObjectKeys::default() }
    }
}

/// The vtables of known classes. Each address appears once. An address is left
/// out if it has symbols of two classes, since lld folds equal read-only tables. It is also left out if it has no
/// symbol, or only exported ones, since another name may then be missing.
fn tables(image: &Image<'_>, units: &[(u32, &ClassUnit<'_>)], classes: &Classes<'_>) -> Vec<ClassTable> {
    let mut symbols: HashMap<ImageAddr, (&[u8], u64, bool)> = HashMap::default();
    for symbol in image.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Data) {
        let Some(name) = class_of_vtable(symbol.name) else { continue };
        let known = symbols.entry(ImageAddr(symbol.address)).or_insert((name, symbol.size, !symbol.dynamic));
        known.2 &= known.0 == name;
    }
    let mut found: Vec<(ImageAddr, usize)> = Vec::new();
    for (&address, (name, ..)) in &symbols {
        // The name of a nested class has `N` and `E` around it. In the linkage names of its methods the text between them
        // follows `_ZN` and qualifiers: `N1A1BE`, `_ZN1A1B1fEv`.
        let nested = name.strip_prefix(b"N").and_then(|name| name.strip_suffix(b"E"));
        if let Some(class) = classes.by_key(nested.unwrap_or(name)) {
            found.push((address, class));
        }
    }
    for (unit, described) in units {
        let class = |local: u32| classes.of_unit(*unit, local);
        found.extend(described.vtables.iter().filter_map(|table| Some((table.address, class(table.class)?))));
    }
    found.sort_unstable();
    found.dedup();
    let alone = found.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0]);
    let sized = alone.filter_map(|(address, class)| {
        let &(_, size, one_name) = symbols.get(&address)?;
        one_name.then_some(ClassTable { address, size, class })
    });
    sized.collect()
}

/// The vtables of classes without linkage names (gcc, unnamed namespaces). A table is assigned to a class by its
/// local symbol if only one file of the symbol table and only one unit have that name, and if the unit has only one
/// such class of that name.
fn unnamed_tables(index: &Index<'_, '_>, image: &Image<'_>, classes: &Classes<'_>) -> Vec<ClassTable> {
    let mut files: HashMap<&[u8], (u32, Vec<u32>)> = HashMap::default();
    for file in &image.symbol_files {
        files.entry(base_name(file)).or_default().0 += 1;
    }
    for (number, unit) in (0..).zip(&index.functions.program.heads) {
        files.entry(&unit.file_name).or_default().1.push(number);
    }
    let mut found: Vec<ClassTable> = Vec::new();
    let mut at: HashMap<ImageAddr, u32> = HashMap::default();
    for symbol in image.symbols.iter().filter(|symbol| is_table(symbol)) {
        let address = ImageAddr(symbol.address);
        *at.entry(address).or_default() += 1;
        let file = symbol.own_file().and_then(|file| image.symbol_files.get(file as usize));
        let Some((1, units)) = file.and_then(|file| files.get(base_name(file))) else { continue };
        let &[unit] = &units[..] else { continue };
        let class = class_of_vtable(symbol.name).and_then(|name| name.strip_prefix(b"N")?.strip_suffix(b"E"));
        let class = class.filter(|class| is_unnamed(class) && class.len() <= MAX_NAME);
        // As demanglers write a function of the class: `(anonymous namespace)::C::x()`.
        let text = class.and_then(|class| demangle(&member_x(class)));
        let own = text.as_deref().and_then(|text| text.split_once(UNNAMED)?.1.strip_suffix("::x()"));
        let Some(own) = own else { continue };
        // The name of a class in a template contains the template, and no class has that whole name.
        let own = if own.contains(['<', '(']) { own } else { own.rsplit("::").next().unwrap_or(own) };
        // gcc writes `> >` at the end of nested templates, clang and the demangler `>>`.
        let apart = own.replace(">>", "> >").replace(">>", "> >");
        let class =
            classes.nameless(unit, own.as_bytes()).or_else(|| classes.nameless(unit, apart.as_bytes()));
        found.extend(class.map(|class| ClassTable { address, size: symbol.size, class }));
    }
    found.sort_unstable();
    // A class has one table, and a table's address has one class.
    let mut count: HashMap<usize, u32> = HashMap::default();
    found.iter().for_each(|table| *count.entry(table.class).or_default() += 1);
    found.retain(|table| count[&table.class] == 1 && at[&table.address] == 1);
    found
}

/// How demanglers write an unnamed namespace, in front of its members.
const UNNAMED: &str = "(anonymous namespace)::";

/// The slots that calls without a recorded callee go through, sorted, and these calls by return address.
fn slots_of_calls(index: &Index<'_, '_>, diagnostics: &mut Diagnostics) -> (Vec<u16>, Vec<SlotKey>) {
    let calls = || index.functions.records.units.iter().flat_map(|unit| unit.calls.iter());
    let through = calls().filter(|call| !call.is_tail() && call.callee().is_none() && call.slot != NONE16);
    let key = |return_addr, slot, by_object| SlotKey { return_addr, slot, by_object };
    let recorded = through.filter_map(|call| Some(key(call.return_addr()?, call.slot, false)));
    let mut keys: Vec<SlotKey> = recorded.chain(index.functions.records.slots.iter().copied()).collect();
    let mut decoded = overriders::decoded(index, diagnostics);
    // A large program has a million of them: room for twice as many would be its peak.
    keys.reserve_exact(decoded.len());
    keys.append(&mut decoded);
    drop(decoded);
    keys.sort_unstable();
    keys.dedup_by(|next, kept| {
        let same = (next.return_addr, next.slot) == (kept.return_addr, kept.slot);
        kept.by_object |= same && next.by_object;
        same
    });
    // If a call has two slots, neither counts.
    let twice = keys.chunk_by(|a, b| a.return_addr == b.return_addr).filter(|same| same.len() > 1);
    let twice: HashSet<ImageAddr> = twice.map(|same| same[0].return_addr).collect();
    keys.retain(|key| !twice.contains(&key.return_addr));
    // A call with a recorded callee needs no slot. Few such calls are among `keys`: a table of the low bits of the addresses shows for most
    // others that they are not.
    let mut may_have_key = vec![false; (8 * keys.len()).next_power_of_two()];
    let mask = may_have_key.len() - 1;
    keys.iter().for_each(|key| may_have_key[key.return_addr.0 as usize & mask] = true);
    let has_key = |address: &ImageAddr| {
        may_have_key[address.0 as usize & mask]
            && keys.binary_search_by_key(address, |key| key.return_addr).is_ok()
    };
    let named = calls().filter(|call| call.callee().is_some()).filter_map(|call| call.return_addr());
    let named: HashSet<ImageAddr> = named.filter(has_key).collect();
    keys.retain(|key| !named.contains(&key.return_addr));
    let slots: HashSet<u16> = keys.iter().map(|key| key.slot).collect();
    let mut slots: Vec<u16> = slots.into_iter().collect();
    slots.sort_unstable();
    fit(&mut keys);
    (slots, keys)
}

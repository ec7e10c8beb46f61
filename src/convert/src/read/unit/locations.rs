//! Reads DWARF expressions of functions: the program counters of a thread's lanes (heterogeneous debugging), and the
//! locations of object pointers (`this`).
//!
//! Few functions have lanes, and object pointers are read on demand, so the walk only collects the offsets of these functions.
//! The result can be evaluated without the program. Location lists become ranges of addresses. The bytes of expressions are
//! not changed; the procedures, base types and `.debug_addr` entries that they refer to are stored with them.
//!
//! Long because finding, reading and keeping an expression share one cursor over the unit.

use foldsym_expr::{Dialect, DieRef, Problem, Reference, Settings, Type, dialect, references};
use gimli::{AttributeValue, DebugAddrIndex, RawLocListEntry, Reader as _, Section as _, UnitOffset};

use crate::diagnostics::{Cap, Kind};
use crate::model::{
    Located, LocatedValue, LocationEntry, LocationKind, LocationList, LocationReference, OPAQUE,
    UnitLocations,
};
use crate::read::limits::{
    MAX_ATTRIBUTES, MAX_EXPRESSION_BYTES, MAX_EXPRESSION_REFERENCES, MAX_LANES, MAX_LOCATION_ENTRIES,
    MAX_LONG_EXPRESSION,
};
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::space::{root_attributes, string};
use crate::read::unit::attributes as attribute;
use crate::read::unit::lists;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::walked_unit::WalkedUnit;
use crate::util::hash::HashSet;

/// The expressions of a unit collected so far.
struct Collected {
    settings: Settings,
    augmentation: Option<Vec<u8>>,
    out: UnitLocations,
    /// The references seen so far: kind and value, as in [`LocationReference::key`].
    seen: HashSet<(u8, u64)>,
    /// The references still to be read, each with the DIE whose expression has it.
    left: Vec<(Reference, UnitOffset)>,
    entries_left: usize,
    bytes_left: usize,
}

impl Collected {
    /// Counts an expression or an entry of a list. Entries without an expression count too: they take time, and any number of
    /// functions may refer to the same list.
    fn count(&mut self) -> Result<(), ListError> {
        self.entries_left = self.entries_left.checked_sub(1).ok_or(ListError::ManyEntries)?;
        Ok(())
    }

    /// Makes an entry, if its expression fits the limits. The caller has counted it.
    fn entry<E: Endianity>(
        &mut self,
        start: u64,
        len: u64,
        expression: &Bytes<'_, E>,
    ) -> Result<LocationEntry, ListError> {
        let bytes = expression.slice();
        if bytes.len() > MAX_LONG_EXPRESSION {
            return Err(ListError::LongExpression);
        }
        let Some(left) = self.bytes_left.checked_sub(bytes.len()) else {
            self.bytes_left = 0;
            return Err(ListError::ManyBytes);
        };
        self.bytes_left = left;
        Ok(LocationEntry { start, len, expression: bytes.to_vec() })
    }
}

/// The attributes of a DIE.
struct Attributes<'f, E: Endianity>(Vec<gimli::Attribute<Bytes<'f, E>>>);

impl<'f, E: Endianity> Attributes<'f, E> {
    fn get(&self, name: gimli::DwAt) -> Option<&gimli::Attribute<Bytes<'f, E>>> {
        self.0.iter().find(|attribute| attribute.name() == name)
    }

    fn value(&self, name: gimli::DwAt) -> Option<AttributeValue<Bytes<'f, E>>> {
        self.get(name).map(gimli::Attribute::value)
    }
}

/// The addresses of the function that owns a location list.
#[derive(Clone, Copy, Default)]
struct ListOwner {
    /// The index of `DW_AT_low_pc` in `.debug_addr`.
    start: Option<DebugAddrIndex>,
    /// True if it has `DW_AT_ranges`.
    in_parts: bool,
}

/// Why a location list was not read.
#[derive(Debug, thiserror::Error)]
enum ListError {
    #[error(transparent)]
    Damaged(#[from] gimli::Error),
    #[error(
        "over {MAX_LOCATION_ENTRIES} expressions and entries of location lists in the unit: this location is left out"
    )]
    ManyEntries,
    #[error("over {MAX_EXPRESSION_BYTES} bytes of expressions in the unit: this location is left out")]
    ManyBytes,
    #[error("an expression of over {MAX_LONG_EXPRESSION} bytes: the location is left out")]
    LongExpression,
    #[error("names an entry with over {MAX_ATTRIBUTES} attributes")]
    ManyAttributes,
}

impl ListError {
    fn kind(&self) -> Kind {
        match self {
            ListError::Damaged(_) | ListError::ManyAttributes => Kind::BadExpression,
            ListError::ManyEntries => Kind::Cap(Cap::LocationEntries),
            ListError::ManyBytes => Kind::Cap(Cap::ExpressionBytes),
            ListError::LongExpression => Kind::Cap(Cap::LongExpression),
        }
    }
}

/// The reader of a unit's expressions.
pub(crate) struct Locations<'w, 'a, 'f, E: Endianity> {
    pub(crate) unit: WalkedUnit<'a, 'f, E>,
    pub(crate) ids: &'w mut Numbering<'a, 'f, E>,
}

impl<'f, E: Endianity> Locations<'_, '_, 'f, E> {
    /// Reads the expressions of these functions; `None` if there are none.
    pub(crate) fn read(mut self, functions: Vec<UnitOffset>) -> Option<Box<UnitLocations>> {
        if functions.is_empty() {
            return None;
        }
        let header = &self.unit.unit.header;
        let settings = Settings {
            address_size: header.address_size(),
            offset_size: header.format().word_size(),
            version: header.version(),
            big_endian: !self.unit.dwarf.debug_info.reader().endian().is_little_endian(),
            ..Settings::default()
        };
        let mut collected = Collected {
            settings,
            augmentation: self.augmentation(),
            out: UnitLocations {
                version: settings.version,
                offset_size: settings.offset_size,
                ..UnitLocations::default()
            },
            seen: HashSet::default(),
            left: Vec::new(),
            entries_left: MAX_LOCATION_ENTRIES,
            bytes_left: MAX_EXPRESSION_BYTES,
        };
        for offset in functions {
            if let Err(error) = self.function_locations(offset, &mut collected) {
                self.refuse(offset, &error);
            }
        }
        while let Some((reference, from)) = collected.left.pop() {
            if collected.out.references.len() >= MAX_EXPRESSION_REFERENCES {
                let offset = self.unit.unit_offset;
                self.ids.diagnostics.add(Kind::Cap(Cap::ExpressionReferences), offset, || {
                    format!(
                        "the expressions of the unit at {offset:#x} refer to over {MAX_EXPRESSION_REFERENCES} entries and addresses: expressions \
                         that need a later one have no value"
                    )
                });
                break;
            }
            self.referred(reference, from, &mut collected);
        }
        let mut out = collected.out;
        if out.located.is_empty() {
            return None;
        }
        self.settle_codes(&mut out, &collected.settings, collected.augmentation.as_deref());
        out.references.sort_by_key(LocationReference::key);
        out.located.sort_by_key(|located| (located.die, located.kind));
        Some(Box::new(out))
    }

    /// True if a section offset is in this unit.
    fn has(&self, offset: u64) -> bool {
        let within =
            offset.checked_sub(self.unit.unit_offset).and_then(|offset| usize::try_from(offset).ok());
        within.is_some_and(|offset| UnitOffset(offset).is_in_bounds(self.unit.unit))
    }

    fn bad_expression(&mut self, offset: UnitOffset, what: &str) {
        let die = self.unit.die(offset).0;
        self.ids.diagnostics.add(Kind::BadExpression, die, || format!("entry at {die:#x}: {what}"));
    }

    /// Counts a location that was not read.
    fn refuse(&mut self, offset: UnitOffset, error: &ListError) {
        let die = self.unit.die(offset).0;
        self.ids.diagnostics.add(error.kind(), die, || format!("entry at {die:#x}: {error}"));
    }

    /// The unit's `DW_AT_LLVM_augmentation`.
    fn augmentation(&self) -> Option<Vec<u8>> {
        let mut value = None;
        let read = root_attributes(&self.unit.unit.header, self.unit.abbreviations, |attribute| {
            value = value.or((attribute.name() == attribute::AUGMENTATION).then(|| attribute.value()));
        });
        read.ok()?;
        let text = string(self.unit.dwarf, self.unit.unit, value?)?;
        Some(text.slice().iter().take(64).copied().collect())
    }

    /// The attributes of a DIE. Refuses one with too many, since attributes without bytes could be any number.
    fn entry(&self, offset: UnitOffset) -> Result<Attributes<'f, E>, ListError> {
        let mut input = self.unit.unit.header.range_from(offset..)?;
        let len = input.len();
        let code = input.read_uleb128()?;
        if code == 0 {
            return Err(gimli::Error::NoEntryAtGivenOffset(offset.0 as u64).into());
        }
        let declaration = self.unit.abbreviations.get(code)?;
        if declaration.attributes().take(MAX_ATTRIBUTES + 1).count() > MAX_ATTRIBUTES {
            return Err(ListError::ManyAttributes);
        }
        let values = UnitOffset(offset.0 + len - input.len());
        let mut entries = self.unit.unit.entries_raw(Some(values))?;
        let read = declaration.attributes().map(|spec| entries.read_attribute(spec));
        Ok(Attributes(read.collect::<gimli::Result<_>>()?))
    }

    fn function_locations(&mut self, offset: UnitOffset, collected: &mut Collected) -> Result<(), ListError> {
        let entry = self.entry(offset)?;
        let die = self.unit.die(offset);
        let first = collected.out.located.len();
        let own = ListOwner {
            start: match entry.value(gimli::DW_AT_low_pc) {
                Some(AttributeValue::DebugAddrIndex(index)) => Some(index),
                _ => None,
            },
            in_parts: entry.value(gimli::DW_AT_ranges).is_some(),
        };
        for attribute in &entry.0 {
            let (kind, value) = match attribute.name() {
                attribute::LANES | attribute::FIRST_LANES => {
                    let lanes = attribute.udata_value().filter(|lanes| (1..=MAX_LANES).contains(lanes));
                    if let Some(lanes) = lanes {
                        let value = LocatedValue::Number(lanes);
                        collected.out.located.push(Located { die, kind: LocationKind::Lanes, value });
                    } else {
                        self.bad_expression(offset, "a number of lanes that no thread has");
                    }
                    continue;
                }
                attribute::ACTIVE_LANE => (LocationKind::ActiveLane, attribute.value()),
                attribute::LANE_PC | attribute::FIRST_LANE_PC => (LocationKind::LanePc, attribute.value()),
                _ => continue,
            };
            self.keep(offset, (kind, own), value, collected);
        }
        let pointer = self.unit.options.locations.then(|| self.object_pointer(&entry)).flatten();
        if let Some(value) = pointer {
            let value = value.unwrap_or_else(|error| {
                self.refuse(offset, &error);
                None
            });
            let kind = LocationKind::Object;
            let kept = value.is_some_and(|value| self.keep(offset, (kind, own), value, collected));
            if !kept {
                // Kept without a location, so that the report can count the methods whose object pointer is not known.
                let value = LocatedValue::List(LocationList::default());
                collected.out.located.push(Located { die, kind, value });
            }
        }
        // The kept expressions may count from the frame base.
        if collected.out.located[first..].iter().any(Located::is_known)
            && let Some(value) = entry.value(gimli::DW_AT_frame_base)
        {
            self.keep(offset, (LocationKind::FrameBase, own), value, collected);
        }
        // If there are two of one kind, the first one counts.
        collected.out.located[first..].sort_by_key(|located| located.kind);
        let mut kept = collected.out.located.split_off(first);
        kept.dedup_by_key(|located| located.kind);
        collected.out.located.append(&mut kept);
        Ok(())
    }

    /// The `DW_AT_location` of the parameter to which a method's `DW_AT_object_pointer` refers (DWARF 5 5.7.8). `None` if there is
    /// no such attribute, and `Some(Ok(None))` if the parameter has no location.
    fn object_pointer(
        &self,
        function: &Attributes<'f, E>,
    ) -> Option<Result<Option<AttributeValue<Bytes<'f, E>>>, ListError>> {
        let value = function.value(gimli::DW_AT_object_pointer)?;
        // A parameter is always in the unit of its function.
        let AttributeValue::UnitRef(offset) = value else { return Some(Ok(None)) };
        Some(self.entry(offset).map(|parameter| parameter.value(gimli::DW_AT_location)))
    }

    /// Keeps the expressions of a value; false if it has none that can be read.
    fn keep(
        &mut self,
        offset: UnitOffset,
        (kind, own): (LocationKind, ListOwner),
        value: AttributeValue<Bytes<'f, E>>,
        collected: &mut Collected,
    ) -> bool {
        // With a constant as its value, it is another attribute with the same code.
        if !is_location(&value) {
            return false;
        }
        match self.list(&value, own, collected) {
            Ok(list) if list.entries.is_empty() => false,
            Ok(list) => {
                self.note_references(offset, &list, collected);
                let die = self.unit.die(offset);
                collected.out.located.push(Located { die, kind, value: LocatedValue::List(list) });
                true
            }
            Err(error) => {
                self.refuse(offset, &error);
                false
            }
        }
    }

    /// Reads an expression or a location list.
    fn list(
        &self,
        value: &AttributeValue<Bytes<'f, E>>,
        own: ListOwner,
        collected: &mut Collected,
    ) -> Result<LocationList, ListError> {
        let mut list = LocationList::default();
        match value {
            AttributeValue::Exprloc(gimli::Expression(bytes)) | AttributeValue::Block(bytes) => {
                collected.count()?;
                list.entries.push(collected.entry(0, 0, bytes)?);
            }
            AttributeValue::SecOffset(offset) => {
                let value = AttributeValue::LocationListsRef(gimli::LocationListsOffset(*offset));
                self.entries(value, own, collected, &mut list)?;
            }
            other => self.entries(*other, own, collected, &mut list)?,
        }
        Ok(list)
    }

    /// Reads the entries of a location list. If the linker erased all addresses in it, but its entries count from the start of
    /// the function, they are kept as offsets from there (`from_start`).
    fn entries(
        &self,
        value: AttributeValue<Bytes<'f, E>>,
        own: ListOwner,
        collected: &mut Collected,
        list: &mut LocationList,
    ) -> Result<(), ListError> {
        let Some(offset) = lists::locations_offset(&self.ids.origins.space.main, self.unit.unit, value)?
        else {
            return Ok(());
        };
        let mut raw = self.unit.dwarf.raw_locations(self.unit.unit, offset)?;
        // Before DWARF 5, a unit of several ranges has base 0, and its lists have addresses.
        let (mut base, mut bases) = (self.unit.unit.low_pc, 0);
        let mut base_erased = self.unit.unit.header.version() >= 5 && !self.unit.code.contains(base);
        // The entries with an erased base, each with the number of this base in the list.
        let (mut erased, mut lost, mut fallback) = (Vec::new(), false, None);
        let indexed = |index| self.unit.dwarf.address(self.unit.unit, index);
        while let Some(entry) = raw.next()? {
            collected.count()?;
            let (start, end, data, from) = match entry {
                RawLocListEntry::BaseAddress { .. } | RawLocListEntry::BaseAddressx { .. } => {
                    base = match entry {
                        RawLocListEntry::BaseAddressx { addr } => indexed(addr)?,
                        RawLocListEntry::BaseAddress { addr } => addr,
                        _ => base,
                    };
                    (bases, base_erased) = (bases + 1, !self.unit.code.contains(base));
                    continue;
                }
                RawLocListEntry::DefaultLocation { data } => {
                    fallback = Some(data);
                    continue;
                }
                RawLocListEntry::AddressOrOffsetPair { begin, end, data }
                | RawLocListEntry::OffsetPair { begin, end, data } => match base_erased {
                    true => (begin, end, data, Some(bases)),
                    false => (base.wrapping_add(begin), base.wrapping_add(end), data, None),
                },
                RawLocListEntry::StartxEndx { begin, end, data } => {
                    (indexed(begin)?, indexed(end)?, data, None)
                }
                RawLocListEntry::StartxLength { begin, length, data } => {
                    let start = indexed(begin)?;
                    // The index is the one of the function's start, so the entry begins there, even if the address was erased.
                    match own.start == Some(begin) && !self.unit.code.contains(start) {
                        true => (0, length, data, Some(0)),
                        false => (start, start.wrapping_add(length), data, None),
                    }
                }
                RawLocListEntry::StartEnd { begin, end, data } => (begin, end, data, None),
                RawLocListEntry::StartLength { begin, length, data } => {
                    (begin, begin.wrapping_add(length), data, None)
                }
            };
            let Some(len) = end.checked_sub(start).filter(|&len| len > 0) else { continue };
            let entry = collected.entry(start, len, &data.0)?;
            match from {
                Some(base) => erased.push((base, entry)),
                None if self.unit.code.contains(start) => list.entries.push(entry),
                None => lost = true,
            }
        }
        // Or the unit has a single function, whose address was erased, so the base of its list is erased too. Then an entry that
        // seems to be in code is an offset and not an address.
        if lost && bases == 0 && self.unit.unit.header.version() < 5 {
            list.entries.clear();
        }
        // If there were several bases, nothing shows which part of the function each of them was.
        let one_base = erased.iter().all(|(base, _)| [0, erased[erased.len() - 1].0].contains(base));
        if !erased.is_empty() && list.entries.is_empty() && one_base && !own.in_parts {
            list.from_start = true;
            list.entries.extend(erased.into_iter().map(|(_, entry)| entry));
        } else {
            lost |= !erased.is_empty();
        }
        // The default location holds at all other addresses. If an entry was lost, these are not known.
        if let Some(data) = fallback.filter(|_| !lost) {
            list.entries.push(collected.entry(0, 0, &data.0)?);
        }
        Ok(())
    }

    /// Collects the references of the expressions in a list, and counts expressions that are damaged.
    fn note_references(&mut self, offset: UnitOffset, list: &LocationList, collected: &mut Collected) {
        for entry in &list.entries {
            let chosen = dialect(&entry.expression, collected.augmentation.as_deref(), &collected.settings);
            let Some(chosen) = chosen else { continue };
            let settings = Settings { dialect: chosen, ..collected.settings };
            let read = references(&entry.expression, &settings, &mut |reference| {
                let key = match reference {
                    Reference::Procedure(DieRef::Unit(die)) => (0, die),
                    Reference::Procedure(DieRef::Section(die)) => (1, die),
                    Reference::BaseType(die) => (2, die),
                    Reference::AddressIndex(index) => (3, index),
                };
                if collected.seen.insert(key) {
                    collected.left.push((reference, offset));
                }
            });
            match read {
                Ok(()) | Err(Problem::Opaque { .. } | Problem::Unsupported(_)) => {}
                Err(problem) => self.bad_expression(offset, &problem.to_string()),
            }
        }
    }

    /// Reads the target of a reference in an expression of the DIE `from`. A missing target is counted and not kept; an evaluation
    /// that needs it will report it as missing.
    fn referred(&mut self, reference: Reference, from: UnitOffset, collected: &mut Collected) {
        let here = |offset: u64| usize::try_from(offset).map(UnitOffset);
        let (offset, by_section) = match reference {
            Reference::AddressIndex(index) => {
                let address = usize::try_from(index).ok().and_then(|index| {
                    self.unit.dwarf.address(self.unit.unit, gimli::DebugAddrIndex(index)).ok()
                });
                match address {
                    Some(address) => {
                        collected.out.references.push(LocationReference::Address(index, address));
                    }
                    None => self.bad_expression(from, &format!("no address {index}")),
                }
                return;
            }
            Reference::BaseType(offset) => {
                match self.base_type(offset) {
                    Some(found) => collected.out.references.push(found),
                    None => {
                        self.bad_expression(UnitOffset(offset as usize), "no base type of at most 8 bytes")
                    }
                }
                return;
            }
            Reference::Procedure(DieRef::Unit(offset)) => (Some(offset), None),
            // Offsets in an expression of another unit count from that unit, so it cannot be evaluated here.
            Reference::Procedure(DieRef::Section(offset)) if !self.has(offset) => {
                let die = self.unit.die(from).0;
                return self.ids.diagnostics.add(Kind::ForeignProcedure, die, || {
                    format!(
                        "entry at {die:#x}: calls the expression of the entry at {offset:#x}, of another unit"
                    )
                });
            }
            Reference::Procedure(DieRef::Section(offset)) => {
                (offset.checked_sub(self.unit.unit_offset), Some(offset))
            }
        };
        let entry = offset
            .and_then(|offset| here(offset).ok())
            .filter(|offset| offset.is_in_bounds(self.unit.unit))
            .and_then(|offset| self.entry(offset).ok());
        let at = UnitOffset(offset.unwrap_or(0) as usize);
        let Some(entry) = entry else {
            let offset = by_section.or(offset).unwrap_or(0);
            return self.bad_expression(
                from,
                &format!("calls the entry at {offset:#x}, which is none of this unit"),
            );
        };
        // A DIE without a location counts as an empty expression (DWARF 5 2.5.1.5).
        let value = entry.value(gimli::DW_AT_location).filter(is_location);
        let list = match value.map(|value| self.list(&value, ListOwner::default(), collected)) {
            Some(Ok(list)) => list,
            Some(Err(error)) => return self.refuse(at, &error),
            None => {
                let entry = LocationEntry { start: 0, len: 0, expression: Vec::new() };
                LocationList { entries: vec![entry], from_start: false }
            }
        };
        if list.from_start {
            return self.bad_expression(at, "a procedure whose addresses were erased");
        }
        self.note_references(at, &list, collected);
        collected.out.references.push(match (by_section, offset) {
            (Some(offset), _) => LocationReference::Section(offset, list),
            (None, offset) => LocationReference::Unit(offset.unwrap_or(0), list),
        });
    }

    /// A base type, if it is a number of at most 8 bytes.
    fn base_type(&self, offset: u64) -> Option<LocationReference> {
        let entry = self.entry(UnitOffset(usize::try_from(offset).ok()?)).ok()?;
        let Some(AttributeValue::Encoding(encoding)) = entry.value(gimli::DW_AT_encoding) else {
            return None;
        };
        let size = entry.get(gimli::DW_AT_byte_size)?.udata_value()?;
        let found = Type::of_encoding(encoding.0, size)?;
        Some(LocationReference::BaseType(offset, encoding.0, found.size))
    }

    /// Decides which generation of operation codes the unit's expressions use. Expressions that cannot be read with these codes
    /// are replaced by an opaque one.
    fn settle_codes(&mut self, out: &mut UnitLocations, settings: &Settings, augmentation: Option<&[u8]>) {
        let lists = |out: &UnitLocations, visit: &mut dyn FnMut(&LocationEntry)| {
            let referred = out.references.iter().filter_map(|reference| match reference {
                LocationReference::Unit(_, list) | LocationReference::Section(_, list) => Some(list),
                _ => None,
            });
            let located = out.located.iter().filter_map(|located| match &located.value {
                LocatedValue::List(list) => Some(list),
                LocatedValue::Number(_) => None,
            });
            referred.chain(located).flat_map(|list| &list.entries).for_each(visit);
        };
        let mut first = false;
        lists(out, &mut |entry| {
            first |= dialect(&entry.expression, augmentation, settings) == Some(Dialect::First);
        });
        out.first_codes = first;
        let settings = Settings { dialect: if first { Dialect::First } else { Dialect::User }, ..*settings };
        let unit = self.unit.unit_offset;
        // `die` is the section offset of the DIE that has the expression.
        let mut settle = |entry: &mut LocationEntry, die: u64| {
            let known = dialect(&entry.expression, augmentation, &settings).is_some();
            let read = references(&entry.expression, &settings, &mut |_| {});
            let what = match read {
                _ if !known => "codes of which it is not certain what they mean".to_owned(),
                Err(problem @ Problem::Opaque { .. }) => problem.to_string(),
                _ => return,
            };
            entry.expression = match read {
                Err(Problem::Opaque { op, .. }) if known => alone(op),
                _ => OPAQUE.to_vec(),
            };
            self.ids.diagnostics.add(Kind::OpaqueExpression, die, || {
                format!("an expression of the entry at {die:#x}: {what}")
            });
        };
        for reference in &mut out.references {
            let (die, list) = match reference {
                LocationReference::Unit(offset, list) => (unit + *offset, list),
                LocationReference::Section(offset, list) => (*offset, list),
                _ => continue,
            };
            list.entries.iter_mut().for_each(|entry| settle(entry, die));
        }
        for located in &mut out.located {
            if let LocatedValue::List(list) = &mut located.value {
                list.entries.iter_mut().for_each(|entry| settle(entry, located.die.0));
            }
        }
    }
}

/// An expression of just one unknown operation, so that an evaluation can report its code.
fn alone(op: u16) -> Vec<u8> {
    match op.to_be_bytes() {
        [0, code] => vec![code],
        // `DW_OP_LLVM_user`, with the number as a LEB128.
        [user, number @ 0..0x80] => vec![user, number],
        [user, number] => vec![user, number, 1],
    }
}

fn is_location<E: Endianity>(value: &AttributeValue<Bytes<'_, E>>) -> bool {
    matches!(
        value,
        AttributeValue::Exprloc(_)
            | AttributeValue::Block(_)
            | AttributeValue::SecOffset(_)
            | AttributeValue::LocationListsRef(_)
            | AttributeValue::DebugLocListsIndex(_)
    )
}

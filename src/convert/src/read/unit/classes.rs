//! Reads the classes whose tables of virtual functions a unit describes: bases, methods, slots (DWARF 5 5.7).
//!
//! A walk of its own, that only programs have in which methods were folded, and of their units those that may describe
//! tables. Most classes of a unit come from headers and are described by every unit that includes them; those that matter
//! are the ones whose table the program has from this unit. clang says which: a variable `_vtable$` with the table's
//! address, declared in the class. gcc does not; there every class with a pointer to such a table is read, and the symbols
//! (`_ZTV`) tell later which have one. While the entries are walked only their places are noted.

use gimli::AttributeValue;
use rustc_hash::FxHashMap;

use super::super::entries::{Entries, Entry, Wanted};
use super::super::origin::{IDENTITY, Origins, Tables};
use super::super::space::offset_of;
use super::super::task::Source;
use super::super::{Bytes, Dwarf, Endianity};
use super::MAX_ATTRIBUTES;
use crate::model::{ImageAddr, NONE16, Unit, UnitBase, UnitClass, UnitMethod, UnitVtable};
use crate::report::{Diagnostics, Kind};

/// Classes that are read of one unit.
const MAX_CLASSES: usize = 1 << 16;

/// Entries that are read of the classes of one unit: one class may stand in another.
const MAX_MEMBERS: usize = 1 << 22;

/// What an entry is to the walk.
#[derive(Clone, Copy)]
enum Role {
    Root,
    Class {
        /// It has a pointer to a table.
        dynamic: bool,
    },
    /// It may declare a table.
    Declaration,
    /// It may define one.
    Definition,
}

const WANTED: Wanted<Role> = Wanted {
    role: |abbreviation| match abbreviation.tag() {
        gimli::DW_TAG_compile_unit => Some(Role::Root),
        gimli::DW_TAG_class_type | gimli::DW_TAG_structure_type => {
            Some(Role::Class { dynamic: has(abbreviation, gimli::DW_AT_containing_type) })
        }
        gimli::DW_TAG_variable | gimli::DW_TAG_member if defines(abbreviation) => Some(Role::Definition),
        gimli::DW_TAG_variable | gimli::DW_TAG_member
            if has(abbreviation, gimli::DW_AT_artificial) && has(abbreviation, gimli::DW_AT_declaration) =>
        {
            Some(Role::Declaration)
        }
        _ => None,
    },
    inner: |_| false,
    noted: |_| false,
    attributes: &[
        gimli::DW_AT_producer,
        gimli::DW_AT_specification,
        gimli::DW_AT_location,
        gimli::DW_AT_linkage_name,
    ],
};

fn has(abbreviation: &gimli::Abbreviation, name: gimli::DwAt) -> bool {
    abbreviation.attributes().iter().any(|spec| spec.name() == name)
}

fn defines(abbreviation: &gimli::Abbreviation) -> bool {
    has(abbreviation, gimli::DW_AT_specification)
        && has(abbreviation, gimli::DW_AT_location)
        && has(abbreviation, gimli::DW_AT_linkage_name)
}

/// True where a unit with an entry of this kind may describe tables.
pub(super) fn may_be_of_table(abbreviation: &gimli::Abbreviation) -> bool {
    match abbreviation.tag() {
        gimli::DW_TAG_class_type | gimli::DW_TAG_structure_type => {
            has(abbreviation, gimli::DW_AT_containing_type)
        }
        gimli::DW_TAG_variable | gimli::DW_TAG_member => defines(abbreviation),
        _ => false,
    }
}

/// Where the classes of a unit are.
#[derive(Default)]
struct Noted {
    /// Declarations of tables, with their classes; by place.
    declared: Vec<(gimli::UnitOffset, gimli::UnitOffset)>,
    /// Tables with an address, and their declarations.
    defined: Vec<(u64, gimli::UnitOffset)>,
    /// gcc's classes with a pointer to a table.
    dynamic: Vec<gimli::UnitOffset>,
}

struct ClassReader<'a, 'f, E: Endianity> {
    dwarf: &'a Dwarf<'f, E>,
    unit: &'a gimli::Unit<Bytes<'f, E>>,
    unit_offset: u64,
    origins: Origins<'a, 'f, E>,
    out: Unit<'f>,
    diagnostics: Diagnostics,
}

/// Reads the classes of a unit: what is returned has those, and names, alone.
pub(in super::super) fn classes<'f, E: Endianity>(
    source: &Source<'_, 'f, E>,
    diagnostics: &mut Diagnostics,
) -> Unit<'f> {
    let &Source { space, unit, index, files, .. } = source;
    let unit_offset = offset_of(&unit.header);
    let origins = Origins {
        space,
        here: unit,
        here_index: index,
        here_files: files,
        row_files: None,
        tables: Tables::new(unit.header.length_including_self()),
        entries: Entries::new(unit, IDENTITY),
    };
    let out = Unit { offset: unit_offset, ..Unit::default() };
    let dwarf = &space.main.dwarf;
    let mut reader =
        ClassReader { dwarf, unit, unit_offset, origins, out, diagnostics: std::mem::take(diagnostics) };
    let mut noted = Noted::default();
    // The walk over functions has told of damage.
    _ = reader.walk(&mut noted);
    reader.read_classes(noted);
    if reader.origins.tables.name_bytes.is_none() {
        // Some have no names: nothing can be told.
        (reader.out.classes, reader.out.vtables) = (Vec::new(), Vec::new());
        reader.diagnostics.add(Kind::SkippedClasses, unit_offset, || {
            format!("the classes of the unit at {unit_offset:#x} have longer names than fit its size")
        });
    }
    *diagnostics = reader.diagnostics;
    reader.out.names = reader.origins.tables.names;
    reader.out
}

impl<'f, E: Endianity> ClassReader<'_, 'f, E> {
    /// Notes where classes and tables are.
    fn walk(&mut self, noted: &mut Noted) -> gimli::Result<()> {
        let mut entries = Entries::new(self.unit, WANTED);
        // Classes that enclose the entry being read, with their depths.
        let mut open: Vec<(isize, gimli::UnitOffset)> = Vec::new();
        let mut lists_dynamic = false;
        while let Some(mut entry) = entries.next(isize::MAX)? {
            while open.last().is_some_and(|open| open.0 >= entry.closes) {
                open.pop();
            }
            match entry.role {
                Role::Root => {
                    while let Some(attribute) = entries.attribute(&mut entry)? {
                        if attribute.name == gimli::DW_AT_producer {
                            let producer = self.dwarf.attr_string(self.unit, attribute.value);
                            lists_dynamic = producer.is_ok_and(|text| text.slice().starts_with(b"GNU "));
                        }
                    }
                }
                Role::Class { dynamic } => {
                    if dynamic && lists_dynamic {
                        noted.dynamic.push(entry.offset);
                    }
                    open.push((entry.depth, entry.offset));
                    entries.skip(&entry)?;
                }
                Role::Declaration => {
                    if let Some(&(_, class)) = open.last() {
                        noted.declared.push((entry.offset, class));
                    }
                    entries.skip(&entry)?;
                }
                Role::Definition => noted.defined.extend(self.table(&mut entries, entry)?),
            }
        }
        Ok(())
    }

    /// A table's address and declaration.
    fn table(
        &mut self,
        entries: &mut Entries<'_, 'f, E, Role>,
        mut entry: Entry<Role>,
    ) -> gimli::Result<Option<(u64, gimli::UnitOffset)>> {
        let (mut specification, mut address, mut is_table) = (None, None, false);
        while let Some(attribute) = entries.attribute(&mut entry)? {
            match (attribute.name, attribute.value) {
                (gimli::DW_AT_specification, AttributeValue::UnitRef(target)) => specification = Some(target),
                (gimli::DW_AT_location, AttributeValue::Exprloc(expression)) => {
                    address = match expression.operations(self.unit.encoding()).next() {
                        Ok(Some(gimli::Operation::Address { address })) => Some(address),
                        Ok(Some(gimli::Operation::AddressIndex { index })) => {
                            self.dwarf.address(self.unit, index).ok()
                        }
                        _ => None,
                    };
                }
                (gimli::DW_AT_linkage_name, value) => {
                    let place = self.origins.place(entry.offset);
                    let name = self.origins.name(place, value);
                    is_table = name.is_some_and(|name| name.slice().starts_with(b"_ZTV"));
                }
                _ => {}
            }
        }
        // Tombstones: 0, and the last two of the address size.
        let last = u64::MAX >> (64 - 8 * u32::from(self.unit.encoding().address_size.clamp(1, 8)));
        let address = address.filter(|&address| is_table && address > 1 && address < last - 1);
        Ok(address.zip(specification))
    }

    /// Reads the classes that were noted.
    fn read_classes(&mut self, noted: Noted) {
        let Noted { declared, defined, dynamic } = noted;
        let mut reading = Reading::default();
        for (address, declaration) in defined {
            if let Ok(at) = declared.binary_search_by_key(&declaration, |&(place, _)| place) {
                let class = reading.id(declared[at].1);
                self.out.vtables.push(UnitVtable { address: ImageAddr(address), class });
            }
        }
        for class in dynamic {
            reading.id(class);
        }
        while let Some(&offset) = reading.places.get(self.out.classes.len()) {
            let members = reading.members;
            let class = if reading.places.len() > MAX_CLASSES || members > MAX_MEMBERS {
                self.diagnostics.add(Kind::SkippedClasses, self.unit_offset, || {
                    format!("the unit has over {MAX_CLASSES} classes, or {MAX_MEMBERS} entries in them")
                });
                None
            } else {
                self.read_class(offset, &mut reading).ok()
            };
            let mut name = || self.origins.tables.name(b"");
            let class = class.unwrap_or_else(|| UnitClass {
                name: name(),
                declared: true,
                bases: Vec::new(),
                methods: Vec::new(),
            });
            self.out.classes.push(class);
        }
    }

    fn read_class(&mut self, offset: gimli::UnitOffset, reading: &mut Reading) -> gimli::Result<UnitClass> {
        let unit = self.unit;
        let mut entries = unit.entries_raw(Some(offset))?;
        let depth = entries.next_depth();
        let empty = self.origins.tables.name(b"");
        let mut class = UnitClass { name: empty, declared: false, bases: Vec::new(), methods: Vec::new() };
        let mut first = true;
        while !entries.is_empty() && (first || entries.next_depth() > depth) {
            let at = entries.next_depth() - depth;
            reading.members += 1;
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            if abbreviation.attributes().len() > MAX_ATTRIBUTES {
                return Err(gimli::Error::InvalidAbbreviationCode(abbreviation.code()));
            }
            let child = at == 1;
            match abbreviation.tag() {
                _ if std::mem::take(&mut first) => {
                    for spec in abbreviation.attributes() {
                        let attribute = entries.read_attribute(*spec)?;
                        match attribute.name() {
                            gimli::DW_AT_name => class.name = self.class_text(offset, attribute.value()),
                            gimli::DW_AT_declaration | gimli::DW_AT_signature => class.declared = true,
                            _ => {}
                        }
                    }
                    if !abbreviation.has_children() {
                        break;
                    }
                }
                gimli::DW_TAG_inheritance if child => {
                    let base = self.base(&mut entries, abbreviation, reading)?;
                    class.bases.push(base);
                }
                gimli::DW_TAG_subprogram if child => {
                    class.methods.push(self.method(&mut entries, abbreviation, offset)?);
                }
                _ => entries.skip_attributes(abbreviation.attributes())?,
            }
        }
        Ok(class)
    }

    fn base(
        &mut self,
        entries: &mut gimli::EntriesRaw<'_, Bytes<'f, E>>,
        abbreviation: &gimli::Abbreviation,
        reading: &mut Reading,
    ) -> gimli::Result<UnitBase> {
        let (mut base, mut is_virtual) = (UnitBase { class: None, offset: None }, false);
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match (attribute.name(), attribute.value()) {
                (gimli::DW_AT_type, AttributeValue::UnitRef(target)) => base.class = Some(reading.id(target)),
                (gimli::DW_AT_data_member_location, _) => base.offset = attribute.udata_value(),
                (gimli::DW_AT_virtuality, AttributeValue::Virtuality(virtuality)) => {
                    is_virtual = virtuality != gimli::DW_VIRTUALITY_none;
                }
                _ => {}
            }
        }
        base.offset = base.offset.filter(|_| !is_virtual);
        Ok(base)
    }

    fn method(
        &mut self,
        entries: &mut gimli::EntriesRaw<'_, Bytes<'f, E>>,
        abbreviation: &gimli::Abbreviation,
        class: gimli::UnitOffset,
    ) -> gimli::Result<UnitMethod> {
        let empty = self.origins.tables.name(b"");
        let mut method =
            UnitMethod { linkage_name: empty, name: empty, is_virtual: false, is_pure: false, slot: NONE16 };
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match (attribute.name(), attribute.value()) {
                (gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name, value) => {
                    method.linkage_name = self.class_text(class, value);
                }
                (gimli::DW_AT_name, value) => method.name = self.class_text(class, value),
                (gimli::DW_AT_virtuality, AttributeValue::Virtuality(virtuality)) => {
                    method.is_virtual = virtuality != gimli::DW_VIRTUALITY_none;
                    method.is_pure = virtuality == gimli::DW_VIRTUALITY_pure_virtual;
                }
                (gimli::DW_AT_vtable_elem_location, AttributeValue::Exprloc(expression)) => {
                    let operation = expression.operations(self.unit.encoding()).next();
                    if let Ok(Some(gimli::Operation::UnsignedConstant { value })) = operation {
                        method.slot = u16::try_from(value).unwrap_or(NONE16);
                    }
                }
                (gimli::DW_AT_vtable_elem_location, _) => {
                    let slot = attribute.udata_value().and_then(|slot| u16::try_from(slot).ok());
                    method.slot = slot.unwrap_or(NONE16);
                }
                _ => {}
            }
        }
        Ok(method)
    }

    fn class_text(&mut self, place: gimli::UnitOffset, value: AttributeValue<Bytes<'f, E>>) -> u32 {
        let text = self.origins.name(self.origins.place(place), value);
        self.origins.tables.name(text.map_or(&[], |text| text.slice()))
    }
}

/// The classes of a unit while they are read.
#[derive(Default)]
struct Reading {
    /// By id.
    places: Vec<gimli::UnitOffset>,
    ids: FxHashMap<gimli::UnitOffset, u32>,
    members: usize,
}

impl Reading {
    fn id(&mut self, place: gimli::UnitOffset) -> u32 {
        *self.ids.entry(place).or_insert_with(|| {
            self.places.push(place);
            (self.places.len() - 1) as u32
        })
    }
}

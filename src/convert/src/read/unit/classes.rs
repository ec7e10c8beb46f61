//! Reads the classes with a vtable in a unit: bases, methods and slots (DWARF 5 5.7).
//!
//! Most classes come from headers, and every unit that includes them describes them. The only classes that matter are
//! the ones whose vtable this unit emitted. clang marks them: the class declares a variable `__clang_vtable`
//! (`_vtable$` before clang 23), whose definition has the vtable's address. gcc does not mark them, so every class with a vtable pointer is read, and later the symbols
//! (`_ZTV...`) show which of them have a vtable.
//!
//! The walk over the unit only collects the offsets of classes. If the linker may have folded functions, clang's
//! classes are read directly after the walk. The classes of gcc and of a `.dwo` are read later, if methods were folded.

use gimli::{AttributeValue, UnitOffset};

use crate::diagnostics::{ClassCap, Diagnostics, Kind};
use crate::model::{ClassPlaces, ClassUnit, Instance, NONE16, UnitBase, UnitClass, UnitMethod, UnitVtable};
use crate::read::limits::{MAX_CLASSES, MAX_MEMBERS, MEMBERS_A_BYTE, MIN_MEMBERS, NAME_BYTES};
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::entries::{Attribute, Entries, Entry, Wanted};
use crate::read::space::offset_of;
use crate::read::unit::class_places::VtableDefinition;
use crate::read::unit::memory::Memory;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::origins::{IDENTITY, NameText, Origins, UnitTables};
use crate::read::unit::roles::{MemberRole, Role};
use crate::read::unit::source::UnitSource;
use crate::read::unit::walked_unit::{UnitEntries, WalkedUnit};
use crate::toolchain::itanium_abi::is_vtable;
use crate::util::hash::HashMap;

/// The address and the declaration of a vtable, from the definition of its variable.
pub(crate) fn vtable_definition<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    ids: &mut Numbering<'_, 'f, E>,
    entries: &mut UnitEntries<'_, 'f, E>,
    mut entry: Entry<Role>,
) -> gimli::Result<Option<VtableDefinition>> {
    let (mut specification, mut address, mut is_table) = (None, None, false);
    while let Some(attribute) = entries.attribute(&mut entry)? {
        match (attribute.name, attribute.value) {
            (gimli::DW_AT_specification, AttributeValue::UnitRef(target)) => specification = Some(target),
            (gimli::DW_AT_location, AttributeValue::Exprloc(expression)) => {
                // clang gives the start of the symbol `_ZTV...`, and not the address point to which pointers in objects
                // lead.
                address = unit.fixed_address(expression).map(|(address, _)| address);
            }
            (gimli::DW_AT_linkage_name, value) => {
                let place = ids.origins.place(entry.offset);
                let name = ids.origins.name(place, value);
                // Definitions of other static data members have the same attributes. Only the name shows that it is a
                // vtable.
                is_table = name.is_some_and(|name| is_vtable(name.slice()));
            }
            _ => {}
        }
    }
    let address = address.filter(|_| is_table);
    Ok(address.zip(specification).map(|(address, declaration)| VtableDefinition { address, declaration }))
}

/// The entries of a class.
const MEMBERS: Wanted<MemberRole> = Wanted {
    // All other entries have a role too, because the end of a class is found by the depth of the next entry.
    role: |abbreviation| match abbreviation.tag {
        gimli::DW_TAG_inheritance => Some(MemberRole::Base),
        gimli::DW_TAG_subprogram => Some(MemberRole::Method),
        _ => Some(MemberRole::Other),
    },
    inner: |_| false,
    attribute: |name| {
        matches!(
            name,
            gimli::DW_AT_name
                | gimli::DW_AT_linkage_name
                | gimli::DW_AT_MIPS_linkage_name
                | gimli::DW_AT_declaration
                | gimli::DW_AT_signature
                | gimli::DW_AT_type
                | gimli::DW_AT_data_member_location
                | gimli::DW_AT_virtuality
                | gimli::DW_AT_vtable_elem_location
        )
    },
};

struct ClassReader<'a, 'f, E: Endianity> {
    unit: &'a gimli::Unit<Bytes<'f, E>>,
    unit_offset: u64,
    entries: Entries<'a, 'f, E, MemberRole>,
    origins: Origins<'a, 'f, E>,
    out: ClassUnit<'f>,
    diagnostics: Diagnostics,
}

/// Reads the classes of a unit.
pub(crate) fn classes<'f, E: Endianity>(
    source: &UnitSource<'_, 'f, E>,
    places: &ClassPlaces,
    memory: &mut Memory,
    diagnostics: &mut Diagnostics,
) -> ClassUnit<'f> {
    let &UnitSource { space, unit, index, abbreviations, files, .. } = source;
    let unit_offset = offset_of(&unit.header);
    let origins = Origins {
        space,
        here: unit,
        here_index: index,
        here_files: files,
        row_files: None,
        tables: UnitTables::new(
            unit.header.length_including_self(),
            std::mem::take(&mut memory.ids),
            Default::default(),
        ),
        entries: Entries::new(unit, abbreviations, IDENTITY, std::mem::take(&mut memory.identities)),
    };
    let entries = Entries::new(unit, abbreviations, MEMBERS, std::mem::take(&mut memory.members));
    let out = ClassUnit { offset: unit_offset, ..ClassUnit::default() };
    let counted = std::mem::take(diagnostics);
    let mut reader = ClassReader { unit, unit_offset, entries, origins, out, diagnostics: counted };
    reader.read_classes(places);
    if reader.origins.tables.name_bytes.is_none() {
        // Some names are missing, so nothing can be concluded from these classes.
        (reader.out.classes, reader.out.vtables) = Default::default();
        (reader.out.bases, reader.out.methods) = Default::default();
        reader.diagnostics.add(Kind::SkippedClasses(ClassCap::Names), unit_offset, || {
            format!("the classes of the unit at {unit_offset:#x} have over {NAME_BYTES} bytes of names for each byte of the unit: they are left out")
        });
    }
    *diagnostics = reader.diagnostics;
    let mut tables = reader.origins.tables;
    reader.out.names = std::mem::take(&mut tables.names).into();
    (memory.ids, memory.members) = (tables.into_ids(), reader.entries.into_plans());
    memory.identities = reader.origins.entries.into_plans();
    reader.out
}

impl<'f, E: Endianity> ClassReader<'_, 'f, E> {
    /// Reads the classes at these places and their bases.
    fn read_classes(&mut self, places: &ClassPlaces) {
        let mut reading = Reading { unnamed: &places.unnamed, ..Reading::default() };
        let len = self.unit.header.length_including_self();
        let most = len.saturating_mul(MEMBERS_A_BYTE).clamp(MIN_MEMBERS, MAX_MEMBERS);
        for &(address, class) in &places.tables {
            let class = reading.id(UnitOffset(class));
            self.out.vtables.push(UnitVtable { address, class });
        }
        for &class in &places.dynamic {
            reading.id(UnitOffset(class));
        }
        // Reading a class may add its bases to the list.
        while let Some(&offset) = reading.places.get(self.out.classes.len()) {
            let members = reading.members;
            let class = if reading.places.len() > MAX_CLASSES {
                self.diagnostics.add(Kind::SkippedClasses(ClassCap::Classes), self.unit_offset, || {
                    format!("the unit has over {MAX_CLASSES} classes: further ones are not read")
                });
                None
            } else if members > most {
                self.diagnostics.add(Kind::SkippedClasses(ClassCap::Members), self.unit_offset, || {
                    format!("the classes of the unit have over {most} entries: further classes are not read")
                });
                None
            } else {
                self.read_class(offset, &mut reading).ok()
            };
            let mut name = || self.origins.tables.name(NameText::Whole(b""));
            // Bases and vtables already refer to this number, so a class that was not read keeps its place. As a mere
            // declaration it rules nothing out.
            let class = class.unwrap_or_else(|| UnitClass {
                name: name(),
                declared: true,
                unnamed: false,
                bases: 0..0,
                methods: 0..0,
            });
            self.out.classes.push(class);
        }
    }

    fn read_class(&mut self, offset: UnitOffset, reading: &mut Reading<'_>) -> gimli::Result<UnitClass> {
        self.entries.start(offset)?;
        let empty = self.origins.tables.name(NameText::Whole(b""));
        let unnamed = reading.unnamed.binary_search(&offset.0).is_ok();
        let (bases, methods) = (self.out.bases.len() as u32, self.out.methods.len() as u32);
        let mut class = UnitClass {
            name: empty,
            declared: false,
            unnamed,
            bases: bases..bases,
            methods: methods..methods,
        };
        // `MEMBERS` gives every entry a role, so this is the class itself and not an entry after it.
        let Some(mut entry) = self.entries.next(isize::MAX)? else { return Ok(class) };
        let depth = entry.depth;
        reading.members += 1;
        while let Some(attribute) = self.entries.attribute(&mut entry)? {
            match attribute.name {
                gimli::DW_AT_name => class.name = self.class_text(offset, attribute.value),
                // With `DW_AT_signature` the class itself is in a type unit (DWARF 5 3.1.4).
                gimli::DW_AT_declaration | gimli::DW_AT_signature => class.declared = true,
                _ => {}
            }
        }
        while self.entries.is_inside(depth)
            && let Some(entry) = self.entries.next(isize::MAX)?
            && entry.depth > depth
        {
            reading.members += 1;
            // Deeper entries are members of nested classes.
            let child = entry.depth == depth + 1;
            match entry.role {
                MemberRole::Base if child => {
                    let base = self.base(entry, reading)?;
                    self.out.bases.push(base);
                    class.bases.end += 1;
                }
                MemberRole::Method if child => {
                    let mut method = self.method(entry, offset)?;
                    // gcc writes no linkage names for methods in an unnamed namespace, so methods of two classes may differ
                    // only in their DIEs (`Instance`).
                    if unnamed && method.linkage_name == empty {
                        method.instance = self.origins.instance(self.origins.place(entry.offset));
                    }
                    self.out.methods.push(method);
                    class.methods.end += 1;
                }
                _ => self.entries.skip(&entry)?,
            }
        }
        Ok(class)
    }

    fn base(&mut self, mut entry: Entry<MemberRole>, reading: &mut Reading<'_>) -> gimli::Result<UnitBase> {
        let (mut base, mut is_virtual) = (UnitBase { class: None, offset: None }, false);
        while let Some(attribute) = self.entries.attribute(&mut entry)? {
            match (attribute.name, attribute.value) {
                // A base in another unit stays `None`, which means unknown.
                (gimli::DW_AT_type, AttributeValue::UnitRef(target)) => base.class = Some(reading.id(target)),
                (gimli::DW_AT_data_member_location, _) => base.offset = attribute.number(),
                (gimli::DW_AT_virtuality, _) => {
                    is_virtual = virtuality(&attribute).is_some_and(|is| is != gimli::DW_VIRTUALITY_none);
                }
                _ => {}
            }
        }
        // Where a virtual base is depends on the class of the whole object.
        base.offset = base.offset.filter(|_| !is_virtual);
        Ok(base)
    }

    fn method(&mut self, mut entry: Entry<MemberRole>, class: UnitOffset) -> gimli::Result<UnitMethod> {
        let empty = self.origins.tables.name(NameText::Whole(b""));
        let mut method = UnitMethod {
            linkage_name: empty,
            name: empty,
            instance: Instance::NAMED,
            is_virtual: false,
            is_pure: false,
            slot: NONE16,
        };
        while let Some(attribute) = self.entries.attribute(&mut entry)? {
            match (attribute.name, attribute.value) {
                (gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name, value) => {
                    method.linkage_name = self.class_text(class, value);
                }
                (gimli::DW_AT_name, value) => method.name = self.class_text(class, value),
                (gimli::DW_AT_virtuality, _) => {
                    if let Some(virtuality) = virtuality(&attribute) {
                        method.is_virtual = virtuality != gimli::DW_VIRTUALITY_none;
                        method.is_pure = virtuality == gimli::DW_VIRTUALITY_pure_virtual;
                    }
                }
                // The standard has the address of the slot here (DWARF 5 5.7.8). gcc and clang write the index of the slot as a constant.
                // Before DWARF 4, expressions are blocks.
                (
                    gimli::DW_AT_vtable_elem_location,
                    AttributeValue::Exprloc(gimli::Expression(bytes)) | AttributeValue::Block(bytes),
                ) => {
                    let operation = gimli::Expression(bytes).operations(self.unit.encoding()).next();
                    if let Ok(Some(gimli::Operation::UnsignedConstant { value })) = operation {
                        method.slot = u16::try_from(value).unwrap_or(NONE16);
                    }
                }
                (gimli::DW_AT_vtable_elem_location, _) => {
                    let slot = attribute.number().and_then(|slot| u16::try_from(slot).ok());
                    method.slot = slot.unwrap_or(NONE16);
                }
                _ => {}
            }
        }
        Ok(method)
    }

    fn class_text(&mut self, place: UnitOffset, value: AttributeValue<Bytes<'f, E>>) -> u32 {
        let text = self.origins.name(self.origins.place(place), value);
        self.origins.tables.name(NameText::Whole(text.map_or(&[], |text| text.slice())))
    }
}

fn virtuality<E: Endianity>(attribute: &Attribute<'_, E>) -> Option<gimli::DwVirtuality> {
    attribute.number().and_then(|number| u8::try_from(number).ok()).map(gimli::DwVirtuality)
}

/// The state of reading the classes of a unit.
#[derive(Default)]
struct Reading<'a> {
    /// See [`ClassPlaces::unnamed`].
    unnamed: &'a [usize],
    /// The offset of each class, by local id.
    places: Vec<UnitOffset>,
    ids: HashMap<UnitOffset, u32>,
    members: usize,
}

impl Reading<'_> {
    fn id(&mut self, place: UnitOffset) -> u32 {
        *self.ids.entry(place).or_insert_with(|| {
            self.places.push(place);
            (self.places.len() - 1) as u32
        })
    }
}

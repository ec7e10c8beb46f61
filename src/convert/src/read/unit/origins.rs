//! Finds the name, file and line of a subprogram's declaration along its chain of origins.
//!
//! A concrete or inlined subprogram refers to an abstract one (`DW_AT_abstract_origin`), which may refer to a declaration
//! (`DW_AT_specification`). The target may be in the same unit, in another unit (LTO) or in a supplementary file (dwz). The
//! first DIE of the chain that has an attribute gives its value (DWARF 5 2.13.2, 3.3.8).

use std::sync::Arc;

use gimli::AttributeValue;

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{CalleePlace, DieOffset, Instance, LocalOrigin, NONE16, UnitName, UnitOrigin};
use crate::read::limits::{MAX_ATTRIBUTES, MAX_ORIGINS, MAX_PATH_BYTES, MIN_NAME_BYTES, NAME_BYTES};
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::entries::{Attribute, Entries, Wanted};
use crate::read::sections::line::DefinedFile;
use crate::read::space::{Info, Space};
use crate::read::unit::file::FileTable;
use crate::util::hash::HashMap;
use crate::util::numbers::{NumberedMap, Numbers};

/// File indexes below this number are looked up in a vector instead of a hash map.
const MAX_DENSE: u64 = 1 << 12;

/// Used in place of a unit in the keys of [`UnitTables::file_indexes`], for the file table of the rows.
const ROW_FILES: u32 = u32::MAX;

/// The place of a DIE: `.debug_info`, unit, and offset in the unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DiePlace {
    /// True for the supplementary file.
    supplementary: bool,
    unit: u32,
    offset: usize,
}

/// A [`DiePlace`] in 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedPlace {
    /// The unit's index times 2, plus 1 for the supplementary file.
    unit: u32,
    pub(crate) offset: u32,
}

impl DiePlace {
    /// `None` if the unit's index is 2^31 or more, or the offset in the unit is 4 GiB or more.
    pub(crate) fn packed(self) -> Option<PackedPlace> {
        let unit = self.unit.checked_mul(2)? | u32::from(self.supplementary);
        Some(PackedPlace { unit, offset: u32::try_from(self.offset).ok()? })
    }
}

/// The bytes of a name attribute.
#[derive(Clone, Copy)]
pub(crate) enum NameText<'f> {
    Whole(&'f [u8]),
    /// See [`UnitName::Begins`].
    Begins(&'f [u8]),
}

/// The attributes of a subprogram's identity that were found so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct SubprogramIdentity<'f> {
    pub(crate) linkage_name: Option<NameText<'f>>,
    pub(crate) name: Option<NameText<'f>>,
    /// Index into [`UnitTables::files`], or [`NONE16`].
    pub(crate) file: Option<u16>,
    pub(crate) line: Option<u32>,
    /// `DW_AT_external`.
    pub(crate) external: bool,
    /// The next DIE of the chain.
    pub(crate) next: Option<DiePlace>,
}

/// The lookup tables for names and origins of a unit.
#[derive(Default)]
pub(crate) struct Ids {
    /// Numbers of names by address in memory and length. The length is [`usize::MAX`] for [`NameText::Begins`].
    names: Numbers,
    places: Vec<(usize, usize)>,
    origins: Numbers,
    /// Origins by the DIE offset in the unit.
    resolved: NumberedMap<usize, LocalOrigin>,
}

impl Ids {
    /// Clears the tables, and keeps their memory.
    pub(crate) fn empty(&mut self) {
        if self.names.empty() {
            self.places.clear();
        } else {
            self.places = Vec::new();
        }
        self.origins.empty();
        self.resolved.empty();
    }
}

/// The names, files and origins of the current unit, each once.
pub(crate) struct UnitTables<'f> {
    pub(crate) names: Vec<UnitName<'f>>,
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) origins: Vec<UnitOrigin>,
    /// For each origin, true if a DIE on a chain to it has `DW_AT_external`.
    external: Vec<bool>,
    ids: Ids,
    file_ids: HashMap<Vec<u8>, u16>,
    /// (supplementary, unit, file index) to file id, for the pairs looked up so far.
    file_indexes: HashMap<(bool, u32, u64), u16>,
    /// The same for file indexes of the current unit below [`MAX_DENSE`].
    here_files: Vec<Option<u16>>,
    resolved: HashMap<DiePlace, LocalOrigin>,
    /// The files that the unit's line program defines.
    pub(crate) defined: Arc<Vec<DefinedFile>>,
    /// True if a file was left out, because there were too many files.
    pub(crate) lacks_files: bool,
    /// True if a file was left out, because its path did not fit.
    pub(crate) lacks_path_bytes: bool,
    /// The number of bytes that paths may still have.
    path_bytes: usize,
    /// The number of bytes of names that may still be read; `None` after a name did not fit.
    pub(crate) name_bytes: Option<u64>,
}

impl<'f> UnitTables<'f> {
    /// Empty tables for a unit of `unit` bytes. `ids` must be empty.
    pub(crate) fn new(unit: usize, ids: Ids, defined: Arc<Vec<DefinedFile>>) -> UnitTables<'f> {
        UnitTables {
            names: Vec::new(),
            files: Vec::new(),
            origins: Vec::new(),
            external: Vec::new(),
            ids,
            file_ids: HashMap::default(),
            file_indexes: HashMap::default(),
            here_files: Vec::new(),
            resolved: HashMap::default(),
            defined,
            lacks_files: false,
            lacks_path_bytes: false,
            path_bytes: MAX_PATH_BYTES,
            name_bytes: Some((unit as u64).saturating_mul(NAME_BYTES).saturating_add(MIN_NAME_BYTES)),
        }
    }

    /// The number of a name. Names are compared by their place in memory only, so equal strings at different places get
    /// different numbers; `merge` compares their content later.
    pub(crate) fn name(&mut self, name: NameText<'f>) -> u32 {
        let (bytes, len) = match name {
            NameText::Whole(bytes) => (bytes, bytes.len()),
            NameText::Begins(bytes) => (bytes, usize::MAX),
        };
        let Ids { names, places, .. } = &mut self.ids;
        let number = names.number(places, (bytes.as_ptr() as usize, len));
        if number as usize == self.names.len() {
            self.names.push(match name {
                NameText::Whole(bytes) => UnitName::from(bytes),
                NameText::Begins(bytes) => UnitName::Begins(bytes),
            });
        }
        number
    }

    /// The lookup tables, cleared, for the next unit.
    pub(crate) fn into_ids(self) -> Ids {
        let mut ids = self.ids;
        ids.empty();
        ids
    }

    /// True if a DIE of the function has `DW_AT_external`.
    pub(crate) fn is_external(&self, origin: LocalOrigin) -> bool {
        self.external[origin.index()]
    }

    /// The name of an origin.
    pub(crate) fn name_of(&self, origin: LocalOrigin) -> &[u8] {
        self.names[self.origins[origin.index()].name as usize].bytes()
    }

    fn file(&mut self, path: Vec<u8>) -> u16 {
        if let Some(&id) = self.file_ids.get(&path) {
            return id;
        }
        // `NONE16` means that the file is unknown, so it is no id.
        if self.files.len() >= usize::from(NONE16) {
            self.lacks_files = true;
            return NONE16;
        }
        let Some(left) = self.path_bytes.checked_sub(path.len()) else {
            self.lacks_path_bytes = true;
            return NONE16;
        };
        self.path_bytes = left;
        let id = self.files.len() as u16;
        self.files.push(path.clone());
        self.file_ids.insert(path, id);
        id
    }

    pub(crate) fn origin(&mut self, origin: UnitOrigin) -> LocalOrigin {
        let number = self.ids.origins.number(&mut self.origins, origin);
        if number as usize == self.external.len() {
            self.external.push(false);
        }
        LocalOrigin(number)
    }
}

/// Looks up the identities of functions for the current unit.
pub(crate) struct Origins<'a, 'f, E: Endianity> {
    pub(crate) space: &'a Space<'f, E>,
    /// The current unit: the one at this index of `space.main`.
    pub(crate) here: &'a gimli::Unit<Bytes<'f, E>>,
    pub(crate) here_index: usize,
    /// The file table for `DW_AT_decl_file` and `DW_AT_call_file` of this unit.
    pub(crate) here_files: FileTable<'a, 'f, E>,
    /// The file table for its rows, if it is another one (a `.dwo` with a `.debug_line.dwo`).
    pub(crate) row_files: Option<FileTable<'a, 'f, E>>,
    pub(crate) tables: UnitTables<'f>,
    /// A cursor over the entries of this unit, at any position.
    pub(crate) entries: Entries<'a, 'f, E, ()>,
}

impl<'a, 'f, E: Endianity> Origins<'a, 'f, E> {
    fn info(&self, supplementary: bool) -> Option<&'a Info<'f, E>> {
        if supplementary { self.space.supplementary.as_ref() } else { Some(&self.space.main) }
    }

    /// The offset of a DIE in its section.
    pub(crate) fn die(&self, place: DiePlace) -> DieOffset {
        let header = if self.is_here(place) {
            Some(&self.here.header)
        } else {
            self.info(place.supplementary).and_then(|info| info.headers.get(place.unit as usize))
        };
        DieOffset(header.map_or(0, crate::read::space::offset_of) + place.offset as u64)
    }

    pub(crate) fn is_here(&self, place: DiePlace) -> bool {
        !place.supplementary && place.unit as usize == self.here_index
    }

    /// How the DIE at a place can be found from outside of the unit.
    pub(crate) fn callee_place(&self, place: DiePlace) -> CalleePlace {
        if self.is_here(place) {
            return CalleePlace::Here;
        }
        let split = self.space.main.dwarf.file_type == gimli::DwarfFileType::Dwo;
        if place.supplementary || split { CalleePlace::OtherDebugFile } else { CalleePlace::Program }
    }

    /// The place of a DIE of the current unit.
    pub(crate) fn place(&self, offset: gimli::UnitOffset) -> DiePlace {
        DiePlace { supplementary: false, unit: self.here_index as u32, offset: offset.0 }
    }

    /// The target of a reference attribute of the DIE at `from`.
    pub(crate) fn target(
        &self,
        from: DiePlace,
        value: gimli::AttributeValue<Bytes<'f, E>>,
        diagnostics: &mut Diagnostics,
    ) -> Option<DiePlace> {
        let (supplementary, section_offset) = match value {
            // The offset counts from the unit of the DIE that has the attribute, which need not be the current unit.
            gimli::AttributeValue::UnitRef(offset) => return Some(DiePlace { offset: offset.0, ..from }),
            // The target is in the same file: only `DW_FORM_ref_sup4`, `DW_FORM_ref_sup8` and `DW_FORM_GNU_ref_alt` lead to the
            // supplementary file.
            gimli::AttributeValue::DebugInfoRef(offset) => (from.supplementary, offset.0),
            gimli::AttributeValue::DebugInfoRefSup(offset) => (true, offset.0),
            _ => return None,
        };
        let found = self.info(supplementary).and_then(|info| {
            let unit = info.unit_at(section_offset)?;
            let offset = section_offset - crate::read::space::offset_of(&info.headers[unit]) as usize;
            Some(DiePlace { supplementary, unit: unit as u32, offset })
        });
        if found.is_none() {
            diagnostics.add(Kind::BadReference, section_offset as u64, || {
                let which = if supplementary { "supplementary " } else { "" };
                format!("reference to {which}.debug_info+{section_offset:#x}, where no unit is")
            });
        }
        found
    }

    /// Runs `f` on the unit of a place.
    fn with_unit<T>(
        &self,
        place: DiePlace,
        f: impl FnOnce(&gimli::Unit<Bytes<'f, E>>, &Info<'f, E>) -> Option<T>,
    ) -> Option<T> {
        if self.is_here(place) {
            return f(self.here, &self.space.main);
        }
        let info = self.info(place.supplementary)?;
        f(info.unit(place.unit as usize)?, info)
    }

    /// The local id of the file with this index in the unit of `place`.
    pub(crate) fn file(&mut self, place: DiePlace, index: u64, diagnostics: &mut Diagnostics) -> u16 {
        let key = (place.supplementary, place.unit, index);
        // Nearly all lookups are of the current unit. Only its low indexes get a vector, since a damaged index may be any
        // number.
        if self.is_here(place) && index < MAX_DENSE {
            let at = index as usize;
            if let Some(&Some(id)) = self.tables.here_files.get(at) {
                return id;
            }
            let path = self.here_path(index);
            let id = self.keep_file(index, path, place, diagnostics);
            if self.tables.here_files.len() <= at {
                self.tables.here_files.resize(at + 1, None);
            }
            self.tables.here_files[at] = Some(id);
            return id;
        }
        if let Some(&id) = self.tables.file_indexes.get(&key) {
            return id;
        }
        // A file index counts in the table of the unit that has the DIE, not of the unit that refers to the DIE.
        let path = if self.is_here(place) {
            self.here_path(index)
        } else {
            self.with_unit(place, |unit, info| {
                let header = info.line_header(place.unit as usize, unit);
                FileTable::of((&info.dwarf, info.relative_paths), unit, header).path(index)
            })
        };
        let id = self.keep_file(index, path, place, diagnostics);
        self.tables.file_indexes.insert(key, id);
        id
    }

    /// The path of a file of the current unit.
    fn here_path(&self, index: u64) -> Option<Vec<u8>> {
        self.here_files.path(index).or_else(|| self.here_files.defined_path(index, &self.tables.defined))
    }

    /// The local id of the file with this index in a row of the current unit.
    pub(crate) fn row_file(&mut self, index: u64, diagnostics: &mut Diagnostics) -> u16 {
        let place = self.place(gimli::UnitOffset(0));
        let Some(table) = self.row_files else { return self.file(place, index, diagnostics) };
        let key = (false, ROW_FILES, index);
        if let Some(&id) = self.tables.file_indexes.get(&key) {
            return id;
        }
        let id = self.keep_file(index, table.path(index), place, diagnostics);
        self.tables.file_indexes.insert(key, id);
        id
    }

    fn keep_file(
        &mut self,
        index: u64,
        path: Option<Vec<u8>>,
        place: DiePlace,
        diagnostics: &mut Diagnostics,
    ) -> u16 {
        match path {
            Some(path) => self.tables.file(path),
            None => {
                // Index 0 means no file before DWARF 5. Compilers also write it for artificial code.
                if index != 0 {
                    diagnostics.add(Kind::BadFileIndex, place.offset as u64, || {
                        format!("file {index} at DIE {:#x} of unit {}", place.offset, place.unit)
                    });
                }
                NONE16
            }
        }
    }

    /// Adds an attribute to an identity, unless an earlier DIE of the chain had it.
    pub(crate) fn take(
        &mut self,
        place: DiePlace,
        identity: &mut SubprogramIdentity<'f>,
        attribute: &Attribute<'f, E>,
        diagnostics: &mut Diagnostics,
    ) {
        match attribute.name {
            // Before DWARF 4 compilers wrote the linkage name in an attribute of MIPS.
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name if identity.linkage_name.is_none() => {
                identity.linkage_name = self.text(place, attribute.value, diagnostics);
            }
            // Not needed if there is a linkage name.
            gimli::DW_AT_name if identity.name.is_none() && identity.linkage_name.is_none() => {
                identity.name = self.text(place, attribute.value, diagnostics);
            }
            gimli::DW_AT_decl_file if identity.file.is_none() => {
                if let Some(index) = attribute.number() {
                    identity.file = Some(self.file(place, index, diagnostics));
                }
            }
            gimli::DW_AT_decl_line if identity.line.is_none() => {
                identity.line = attribute.number().and_then(|line| u32::try_from(line).ok());
            }
            // Any DIE of the chain may have it: a method that is defined outside of its class has it only on its
            // declaration.
            gimli::DW_AT_external => identity.external |= attribute.is_set(),
            // Of both attributes the abstract instance counts: it leads to the declaration as well.
            gimli::DW_AT_abstract_origin => {
                identity.next = self.target(place, attribute.value, diagnostics);
            }
            gimli::DW_AT_specification if identity.next.is_none() => {
                identity.next = self.target(place, attribute.value, diagnostics);
            }
            _ => {}
        }
    }

    /// The name in an attribute. Names of [`NameText::Begins`] are not counted here; `merge` counts them when it finds their end.
    fn text(
        &mut self,
        place: DiePlace,
        value: gimli::AttributeValue<Bytes<'f, E>>,
        diagnostics: &mut Diagnostics,
    ) -> Option<NameText<'f>> {
        let begins = self.with_unit(place, |unit, info| info.begins(unit, value));
        if let Some(begins) = begins {
            return Some(NameText::Begins(begins));
        }
        let may_read = self.tables.name_bytes.is_some();
        let name = self.name(place, value);
        // A missing supplementary file is reported once, not for each of its strings.
        let of_file =
            matches!(value, AttributeValue::DebugStrRef(_) | AttributeValue::DebugStrOffsetsIndex(_));
        if name.is_none() && may_read && of_file {
            diagnostics.add(Kind::BadString, place.offset as u64, || {
                format!("the name of DIE {:#x} of unit {} is not in .debug_str", place.offset, place.unit)
            });
        }
        name.map(|name| NameText::Whole(name.slice()))
    }

    /// The string of an attribute; `None` once the unit has read too many bytes of names.
    pub(crate) fn name(
        &mut self,
        place: DiePlace,
        value: gimli::AttributeValue<Bytes<'f, E>>,
    ) -> Option<Bytes<'f, E>> {
        let left = self.tables.name_bytes?;
        let name = self.with_unit(place, |unit, info| info.string(unit, value))?;
        // The name that exceeds the limit is still used: it was read already, and it is not long (`text::MAX_TEXT`).
        self.tables.name_bytes = left.checked_sub(name.len() as u64);
        Some(name)
    }

    /// The origin at the end of the chain from `place`. The result is cached for each place.
    pub(crate) fn resolve(&mut self, place: DiePlace, diagnostics: &mut Diagnostics) -> LocalOrigin {
        let here = self.is_here(place);
        // Nearly all references stay in their unit. Their map has a key of one word and keeps its memory for the next
        // unit.
        let known = match here {
            true => self.tables.ids.resolved.get(&place.offset),
            false => self.tables.resolved.get(&place).copied(),
        };
        if let Some(origin) = known {
            return origin;
        }
        let identity = SubprogramIdentity { next: Some(place), ..SubprogramIdentity::default() };
        let (origin, _) = self.finish(place, identity, diagnostics);
        match here {
            true => self.tables.ids.resolved.insert(place.offset, origin),
            false => {
                self.tables.resolved.insert(place, origin);
            }
        }
        origin
    }

    /// Follows the rest of an identity's chain. Returns the identity's id, and its instance, which depends on the end of the
    /// chain.
    pub(crate) fn finish(
        &mut self,
        start: DiePlace,
        mut identity: SubprogramIdentity<'f>,
        diagnostics: &mut Diagnostics,
    ) -> (LocalOrigin, Instance) {
        let (mut links, mut end) = (0, start);
        while let Some(place) = identity.next.take() {
            // The rest of the chain has nothing that is needed, and each of its links may lead to another unit.
            if identity.linkage_name.is_some() && identity.file.is_some() && identity.line.is_some() {
                break;
            }
            links += 1;
            if links > MAX_ORIGINS {
                diagnostics.add(Kind::OriginCycle, start.offset as u64, || {
                    format!("origin chain of DIE {:#x} is longer than {MAX_ORIGINS}", start.offset)
                });
                break;
            }
            end = place;
            if self.read_die(place, &mut identity, diagnostics).is_none() {
                diagnostics.add(Kind::MissingEntry, place.offset as u64, || match place.offset {
                    // The header of the unit is there. gcc 12 writes such references into the `.dwo` files of the link: what they mean is
                    // in the objects, and a `.dwo` file has no relocations.
                    0 => format!(
                        "DIE {:#x} of unit {} refers to nothing, as those of gcc with -flto and -gsplit-dwarf do (link with \
                         -gno-split-dwarf)",
                        start.offset, start.unit
                    ),
                    offset => format!("no DIE at {offset:#x} of unit {}", place.unit),
                });
            }
        }
        // A linkage name identifies the function. Without one, the last entry of the chain does, among functions of one name and line.
        let instance = match identity.linkage_name {
            Some(_) => Instance::NAMED,
            None => self.instance(end),
        };
        let name = identity.linkage_name.or(identity.name);
        if name.is_none() {
            diagnostics.add(Kind::Nameless, start.offset as u64, || {
                format!("subprogram at DIE {:#x} of unit {} has no name", start.offset, start.unit)
            });
        }
        let name = self.tables.name(name.unwrap_or(NameText::Whole(&[])));
        let origin = self.tables.origin(UnitOrigin {
            name,
            file: identity.file.unwrap_or(NONE16),
            line: identity.line.unwrap_or(0),
        });
        // Several DIEs may lead to one origin, and the chain of some may have ended before the DIE with the attribute.
        self.tables.external[origin.index()] |= identity.external;
        (origin, instance)
    }

    /// The instance of a function whose chain of origins ends at this place.
    pub(crate) fn instance(&self, end: DiePlace) -> Instance {
        let split = self.space.main.dwarf.file_type == gimli::DwarfFileType::Dwo;
        Instance::new(self.die(end), self.callee_place(end), split)
    }

    /// Adds the attributes of the DIE at `place` to an identity.
    fn read_die(
        &mut self,
        place: DiePlace,
        identity: &mut SubprogramIdentity<'f>,
        diagnostics: &mut Diagnostics,
    ) -> Option<()> {
        if self.is_here(place) {
            let mut entry = self.entries.entry_at(gimli::UnitOffset(place.offset)).ok()??;
            while let Some(attribute) = self.entries.attribute(&mut entry).ok()? {
                self.take(place, identity, &attribute, diagnostics);
            }
            return Some(());
        }
        let unit = self.info(place.supplementary)?.unit(place.unit as usize)?;
        let mut entries = unit.entries_raw(Some(gimli::UnitOffset(place.offset))).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        // The entries of this unit have the same limit: their abbreviations get no plan (`Entries::is_refused`).
        if abbreviation.attributes().len() > MAX_ATTRIBUTES {
            return None;
        }
        for spec in abbreviation.attributes() {
            let attribute = Attribute::of(&entries.read_attribute(*spec).ok()?);
            self.take(place, identity, &attribute, diagnostics);
        }
        Some(())
    }
}

/// Any entry, with the attributes that [`Origins::take`] needs.
pub(crate) const IDENTITY: Wanted<()> = Wanted {
    role: |_| Some(()),
    inner: |()| false,
    attribute: |name| {
        matches!(
            name,
            gimli::DW_AT_linkage_name
                | gimli::DW_AT_MIPS_linkage_name
                | gimli::DW_AT_name
                | gimli::DW_AT_decl_file
                | gimli::DW_AT_decl_line
                | gimli::DW_AT_external
                | gimli::DW_AT_abstract_origin
                | gimli::DW_AT_specification
        )
    },
};

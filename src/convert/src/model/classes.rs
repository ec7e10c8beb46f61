//! Classes with tables of virtual functions, as units describe them, and what follows for folded functions.

use super::{FuncId, ImageAddr, Instance, UnitName};
use crate::diagnostics::Diagnostics;

/// A class of the unit, as far as virtual calls concern it (DWARF 5 5.7).
#[derive(Clone, Debug)]
pub struct UnitClass {
    /// Index into [`ClassUnit::names`].
    pub name: u32,
    /// Nothing but its name is known here (`DW_AT_declaration`).
    pub declared: bool,
    /// It stands in a namespace without a name, and is gcc's, which writes no linkage names there.
    pub unnamed: bool,
    pub bases: Vec<UnitBase>,
    pub methods: Vec<UnitMethod>,
}

/// A class that another derives from (`DW_TAG_inheritance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitBase {
    /// Index into [`ClassUnit::classes`]; `None` for one that is not in the unit.
    pub class: Option<u32>,
    /// Bytes from the start of the object; `None` for a virtual base.
    pub offset: Option<u64>,
}

/// A method as its class declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitMethod {
    /// Index into [`ClassUnit::names`]: the linkage name.
    pub linkage_name: u32,
    /// Index into [`ClassUnit::names`]: the name in the source.
    pub name: u32,
    /// Tells a method of an unnamed class without a linkage name apart; else [`Instance::NAMED`].
    pub instance: Instance,
    pub is_virtual: bool,
    /// It has no code of its own.
    pub is_pure: bool,
    /// `DW_AT_vtable_elem_location`; [`super::NONE16`] where there is none. clang gives 0 to every destructor.
    pub slot: u16,
}

/// A table of virtual functions that the unit describes (clang's `_vtable$`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitVtable {
    /// Where the table's symbol is, not what an object's pointer holds.
    pub address: ImageAddr,
    /// Index into [`ClassUnit::classes`].
    pub class: u32,
}

/// A call through a table of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotKey {
    pub return_addr: ImageAddr,
    /// Which word of the table.
    pub slot: u16,
    /// The code loads the table's address from the beginning of an object, so that it is a table of virtual functions.
    pub by_object: bool,
}

/// A function of a group that stands at a word of a table of virtual functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OverriderKey {
    pub slot: u16,
    pub function: FuncId,
    /// At this word some table leads to the group's code, and nothing shows to which of its functions.
    pub doubtful: bool,
}

/// Which function of a group runs on an object whose pointer to its virtual functions holds `point`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VtableKey {
    pub point: ImageAddr,
    pub function: FuncId,
    /// Only where the call goes through this word of the table; `None`: whoever calls.
    pub slot: Option<u16>,
    /// Other functions of the group may have run: this is the likeliest.
    pub doubtful: bool,
}

/// Where a unit describes classes whose table of virtual functions the program may have from it.
#[derive(Clone, Debug, Default)]
pub struct ClassPlaces {
    /// Tables, with the offset of their class's entry in the unit.
    pub tables: Vec<(ImageAddr, usize)>,
    /// Offsets of gcc's classes with a pointer to a table.
    pub dynamic: Vec<usize>,
    /// Those of them that stand in a namespace without a name, sorted.
    pub unnamed: Vec<usize>,
}

impl ClassPlaces {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.dynamic.is_empty()
    }

    /// True where those of tables are all.
    pub(crate) fn is_of_tables(&self) -> bool {
        !self.tables.is_empty() && self.dynamic.is_empty()
    }
}

/// A unit, by its offset, and its classes.
pub(crate) type UnitClasses<'a> = (u64, &'a ClassPlaces);

/// The classes of a unit.
#[derive(Default)]
pub struct ClassUnit<'f> {
    /// Offset of the unit's header in `.debug_info`.
    pub offset: u64,
    pub names: Vec<UnitName<'f>>,
    /// Classes that have a table of virtual functions, and what they derive from.
    pub classes: Vec<UnitClass>,
    pub vtables: Vec<UnitVtable>,
    /// What was left out: it counts only once the classes are asked for.
    pub(crate) skipped: Diagnostics,
}

//! Classes with vtables, as units describe them, and the keys that follow from them.

use std::ops::Range;

use super::{FuncId, ImageAddr, Instance, UnitName};
use crate::diagnostics::Diagnostics;
use crate::util::spill::{SpillList, SpillVec};

/// A class of the unit, as far as virtual calls need it (DWARF 5 5.7).
#[derive(Clone, Debug)]
pub(crate) struct UnitClass {
    /// Index into [`ClassUnit::names`].
    pub name: u32,
    /// Only its name is known here (`DW_AT_declaration`).
    pub declared: bool,
    /// It is in an unnamed namespace, for which gcc writes no linkage names.
    pub unnamed: bool,
    /// Index range into [`ClassUnit::bases`].
    pub bases: Range<u32>,
    /// Index range into [`ClassUnit::methods`].
    pub methods: Range<u32>,
}

/// A base class (`DW_TAG_inheritance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitBase {
    /// Index into [`ClassUnit::classes`]; `None` if the class is not in the unit.
    pub class: Option<u32>,
    /// Bytes from the start of the object; `None` for a virtual base.
    pub offset: Option<u64>,
}

/// A method as its class declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitMethod {
    /// Index into [`ClassUnit::names`]: the linkage name.
    pub linkage_name: u32,
    /// Index into [`ClassUnit::names`]: the name in the source.
    pub name: u32,
    /// Identifies a method without a linkage name, in an unnamed namespace; otherwise [`Instance::NAMED`].
    pub instance: Instance,
    pub is_virtual: bool,
    /// It has no code of its own.
    pub is_pure: bool,
    /// `DW_AT_vtable_elem_location`; [`super::NONE16`] if there is none. clang gives 0 to every destructor.
    pub slot: u16,
}

/// A vtable that the unit describes (clang's `__clang_vtable`, before clang 23 `_vtable$`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitVtable {
    /// The address of the table's symbol, which an object's pointer does not hold.
    pub address: ImageAddr,
    /// Index into [`ClassUnit::classes`].
    pub class: u32,
}

/// A call through a table of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotKey {
    pub return_addr: ImageAddr,
    /// The word of the table.
    pub slot: u16,
    /// The code loads the table's address from the start of an object, so it is a vtable.
    pub by_object: bool,
}

/// A member of a group at a word of a vtable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OverriderKey {
    pub slot: u16,
    pub function: FuncId,
    /// Some vtable leads to the group's code at this word, and nothing shows which member it means.
    pub doubtful: bool,
}

/// The member of a group that runs on an object whose vtable pointer is `point`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VtableKey {
    pub point: ImageAddr,
    pub function: FuncId,
    /// The key holds only for calls through this word of the table; `None`: for any caller.
    pub slot: Option<u16>,
    /// Other members may have run.
    pub doubtful: bool,
    /// Several members have a doubtful key for this call, and this one comes first. It is a guess.
    pub guessed: bool,
}

/// A virtual call of which the compiler recorded the method of the static class, or a call through a pointer with types that the
/// compiler recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DispatchKey {
    pub return_addr: ImageAddr,
    /// The number of a set of [`TargetKey`]s.
    pub set: u32,
    /// The set is of the functions that have a type of the call.
    pub by_type: bool,
}

/// A member of a group that runs after the calls of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetKey {
    pub set: u32,
    /// The vtable pointer of the object that it runs on; `None`: any object.
    pub point: Option<ImageAddr>,
    pub function: FuncId,
    /// Other members may run.
    pub doubtful: bool,
}

/// The places in a unit of classes whose vtable the program may have from this unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassPlaces {
    /// Vtables, each with the offset of its class's DIE in the unit.
    pub tables: Vec<(ImageAddr, usize)>,
    /// Offsets of gcc's classes with a vtable pointer.
    pub dynamic: Vec<usize>,
    /// Those classes that are in an unnamed namespace, sorted.
    pub unnamed: Vec<usize>,
}

impl ClassPlaces {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.dynamic.is_empty()
    }

    /// True if there are no classes of gcc: the vtables are enough.
    pub(crate) fn is_of_tables(&self) -> bool {
        !self.tables.is_empty() && self.dynamic.is_empty()
    }
}

/// A unit, by its offset, and its classes.
pub(crate) type UnitClasses<'a> = (u64, &'a ClassPlaces);

/// The classes of a unit. `merge` moves the lists of a large program to the scratch file.
#[derive(Default)]
pub(crate) struct ClassUnit<'f> {
    /// Offset of the unit's header in `.debug_info`.
    pub offset: u64,
    pub names: SpillList<'f, UnitName<'f>>,
    /// Classes that have a vtable, and their bases.
    pub classes: SpillVec<'f, UnitClass>,
    pub bases: SpillVec<'f, UnitBase>,
    pub methods: SpillVec<'f, UnitMethod>,
    pub vtables: SpillVec<'f, UnitVtable>,
    /// The diagnostics of reading the classes. They count only if the classes are used.
    pub(crate) skipped: Diagnostics,
}

impl ClassUnit<'_> {
    /// The bases of one of its classes.
    pub(crate) fn bases_of(&self, class: &UnitClass) -> &[UnitBase] {
        &self.bases[class.bases.start as usize..class.bases.end as usize]
    }

    /// The methods of one of its classes.
    pub(crate) fn methods_of(&self, class: &UnitClass) -> &[UnitMethod] {
        &self.methods[class.methods.start as usize..class.methods.end as usize]
    }
}

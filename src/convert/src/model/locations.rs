//! The expressions of functions that are kept: locations of lanes, and of the objects of methods.

use super::DieOffset;

/// The property of a function that an expression or a number gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LocationKind {
    /// The number of lanes of a thread (`DW_AT_LLVM_lanes`): a number.
    Lanes = 0,
    /// The lanes that execute (`DW_AT_LLVM_active_lane`).
    ActiveLane = 1,
    /// The program counter of each lane (`DW_AT_LLVM_lane_pc`).
    LanePc = 2,
    /// The location of a method's object pointer; an empty list if it is lost.
    Object = 3,
    /// `DW_AT_frame_base`.
    FrameBase = 4,
}

/// An expression, and the addresses at which it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationEntry {
    /// An image address; if [`LocationList::from_start`], bytes from the start of the function.
    pub start: u64,
    /// Bytes; 0 for an expression that holds wherever no other one of the list does.
    pub len: u64,
    /// As the unit has it, or [`OPAQUE`].
    pub expression: Vec<u8>,
}

/// In place of an expression that cannot be read: an operation that does not exist.
pub(crate) const OPAQUE: [u8; 1] = [0];

/// A location list (DWARF 5 2.6.2) with its addresses, or a single expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocationList {
    /// In the order of the list: the first one that holds at an address counts.
    pub entries: Vec<LocationEntry>,
    /// The function's address was erased: addresses count from its start.
    pub from_start: bool,
}

/// The locations of one kind of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The function.
    pub die: DieOffset,
    pub kind: LocationKind,
    pub value: LocatedValue,
}

impl Located {
    /// False for an empty list: the function has a location of this kind that is not known.
    pub fn is_known(&self) -> bool {
        !matches!(&self.value, LocatedValue::List(list) if list.entries.is_empty())
    }
}

/// See [`Located`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocatedValue {
    Number(u64),
    List(LocationList),
}

/// The entries and values that the operations of expressions refer to in their unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocationReference {
    /// By its offset from the unit's header (`DW_OP_call2`, `DW_OP_call4`): the expressions of an entry.
    Unit(u64, LocationList),
    /// The same by its offset in `.debug_info` (`DW_OP_call_ref`).
    Section(u64, LocationList),
    /// By its offset from the unit's header: encoding (DWARF 5 7.8) and bytes of a base type.
    BaseType(u64, u8, u8),
    /// By its index: an entry of the unit's part of `.debug_addr`.
    Address(u64, u64),
}

impl LocationReference {
    /// The order of a unit's references: by kind and key.
    pub fn key(&self) -> (u8, u64) {
        match *self {
            LocationReference::Unit(key, _) => (0, key),
            LocationReference::Section(key, _) => (1, key),
            LocationReference::BaseType(key, ..) => (2, key),
            LocationReference::Address(key, _) => (3, key),
        }
    }
}

/// The kept expressions of a unit's functions, with everything that they refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitLocations {
    pub version: u16,
    /// 4, or 8 in 64-bit DWARF.
    pub offset_size: u8,
    /// Operations of the heterogeneous extensions have the opcodes of 2020.
    pub first_codes: bool,
    /// By [`LocationReference::key`], distinct.
    pub references: Vec<LocationReference>,
    /// In the order of the functions' entries, then by kind.
    pub located: Vec<Located>,
}

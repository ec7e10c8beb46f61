//! Codes of attributes that LLVM added and gimli has no names for.
//!
//! Attributes of the extensions. The first generation's codes mean other things in LLVM 22, on entries of types; of a
//! subprogram only the extensions have them.

use gimli::DwAt;

/// `DW_AT_LLVM_active_lane`, that LLVM 22 has no code for.
pub(crate) const ACTIVE_LANE: DwAt = DwAt(0x3e08);
/// `DW_AT_LLVM_lanes`.
pub(crate) const LANES: DwAt = DwAt(0x3e11);
pub(crate) const FIRST_LANES: DwAt = DwAt(0x3e0a);
/// `DW_AT_LLVM_lane_pc`.
pub(crate) const LANE_PC: DwAt = DwAt(0x3e12);
pub(crate) const FIRST_LANE_PC: DwAt = DwAt(0x3e0b);
/// `DW_AT_LLVM_augmentation` of a unit.
pub(crate) const AUGMENTATION: DwAt = DwAt(0x3e09);

/// clang's pointer to the line sequence of a function (`DW_AT_LLVM_stmt_sequence`; LLVM 20 and later).
pub(crate) const STMT_SEQUENCE: DwAt = DwAt(0x3e0c);

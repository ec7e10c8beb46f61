//! Codes of LLVM's attributes for which gimli has no names.
//!
//! The extensions for heterogeneous debugging changed their codes once; `FIRST_...` are the old ones. LLVM 22 uses the old
//! codes for other attributes, but only on types. On a subprogram they always belong to the extensions.

use gimli::DwAt;

/// `DW_AT_LLVM_active_lane`, which LLVM 22 does not define.
pub(crate) const ACTIVE_LANE: DwAt = DwAt(0x3e08);
/// `DW_AT_LLVM_lanes`.
pub(crate) const LANES: DwAt = DwAt(0x3e11);
pub(crate) const FIRST_LANES: DwAt = DwAt(0x3e0a);
/// `DW_AT_LLVM_lane_pc`.
pub(crate) const LANE_PC: DwAt = DwAt(0x3e12);
pub(crate) const FIRST_LANE_PC: DwAt = DwAt(0x3e0b);
/// `DW_AT_LLVM_augmentation` of a unit.
pub(crate) const AUGMENTATION: DwAt = DwAt(0x3e09);

/// `DW_AT_LLVM_virtual_call_origin` (LLVM 23): at a virtual call, the declaration of the method in the static class.
pub(crate) const VIRTUAL_CALL_ORIGIN: DwAt = DwAt(0x3e14);

/// `DW_AT_LLVM_stmt_sequence` (LLVM 20 and later): the offset of a function's line sequence.
pub(crate) const STMT_SEQUENCE: DwAt = DwAt(0x3e0c);

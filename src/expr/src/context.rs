//! The interface that an evaluation needs from its caller: registers, memory, and the data that expressions refer to.

use crate::location::Location;
use crate::op::DieRef;
use crate::value::{Type, Value};

/// The stopped program, as far as the caller knows it. A method returns `None` for what the caller does not know, and the evaluation ends
/// with [`crate::Missing`]. All methods but those on registers and memory have a default that knows nothing.
///
/// Registers are those of the frame that is evaluated: of an outer frame, those that the call frame information recovered.
pub trait Context<'e> {
    /// Fills `bytes` from the register's bytes, beginning at byte `offset`, in the order of the program's memory.
    fn read_register(&self, register: u64, offset: u64, bytes: &mut [u8]) -> Option<()>;

    /// Fills `bytes` from memory. Space 0 is the program's memory.
    fn read_memory(&self, space: u64, address: u64, bytes: &mut [u8]) -> Option<()>;

    /// Bytes of a register, if known; offsets in it are then checked.
    fn register_size(&self, _register: u64) -> Option<u64> {
        None
    }

    /// Bytes of an address in an address space other than 0; `None`: as many as in space 0.
    fn address_size(&self, _space: u64) -> Option<u8> {
        None
    }

    /// The lane that is evaluated, from 0.
    fn lane(&self) -> Option<u64> {
        None
    }

    /// The location that `DW_AT_frame_base` of the function gives, in memory.
    fn frame_base(&self) -> Option<Location<'e>> {
        None
    }

    /// The canonical frame address: a memory location.
    fn frame_cfa(&self) -> Option<Location<'e>> {
        None
    }

    /// The object whose attribute is evaluated.
    fn object(&self) -> Option<Location<'e>> {
        None
    }

    /// The address at `offset` in the thread's storage of this module.
    fn tls(&self, _offset: u64) -> Option<u64> {
        None
    }

    /// The address in the running program of a link-time one.
    fn relocate(&self, address: u64) -> u64 {
        address
    }

    /// Entry `index` of the unit's part of `.debug_addr`, unrelocated.
    fn indexed_address(&self, _index: u64) -> Option<u64> {
        None
    }

    /// The value that the expression `block` had when the function was entered (DWARF 5 2.5.1.7). The expression is usually a single
    /// register operation, and its value has the generic type.
    fn entry_value(&self, _block: &'e [u8]) -> Option<Value> {
        None
    }

    /// Where the caller of the function has this register.
    fn entry_register(&self, _register: u64) -> Option<Location<'e>> {
        None
    }

    /// The value of the caller's argument for a parameter, by the offset of its entry in the unit.
    fn parameter(&self, _die: u64) -> Option<u64> {
        None
    }

    /// `DW_AT_location` of an entry: of a location list, the expression at the program counter. It is decoded with the same settings. An
    /// entry without one is an empty expression.
    fn procedure(&self, _die: DieRef) -> Option<&'e [u8]> {
        None
    }

    /// The base type at an offset in the unit.
    fn base_type(&self, _die: u64) -> Option<Type> {
        None
    }
}

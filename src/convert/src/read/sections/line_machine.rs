//! The line number state machine (DWARF 5 6.2): its registers, and how operation advances change the address.

/// The registers of the line number state machine (DWARF 5 6.2.2) that foldsym needs.
pub(super) struct Registers {
    // Not here: `is_stmt` and the registers like it, which choose places for breakpoints. An address is looked up whether or
    // not a statement begins there.
    pub(super) address: u64,
    pub(super) op_index: u64,
    pub(super) file: u64,
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Registers {
    pub(super) fn reset() -> Registers {
        // The initial file is 1 in all versions, although files count from 0 since DWARF 5 (6.2.2, 6.2.4).
        Registers { address: 0, op_index: 0, file: 1, line: 1, column: 0 }
    }
}

/// The header fields that the state machine needs (DWARF 5 6.2.4).
pub(super) struct LineMachine {
    pub(super) min_instruction_length: u64,
    pub(super) max_operations: u64,
    pub(super) line_base: i64,
    pub(super) line_range: u8,
    pub(super) opcode_base: u8,
    pub(super) address_mask: u64,
}

impl LineMachine {
    /// For each special opcode, the operation advance and the line increment (DWARF 5 6.2.5.1).
    pub(super) fn special(&self) -> [(u8, i16); 256] {
        std::array::from_fn(|opcode| {
            // Elements below `opcode_base` wrap, and are never read: these opcodes are not special.
            let adjusted = (opcode as u8).wrapping_sub(self.opcode_base);
            // `line_range` is not 0: gimli refuses such a header, and `interpret` does not rely on that.
            let by = self.line_base + i64::from(adjusted % self.line_range);
            (adjusted / self.line_range, by as i16)
        })
    }

    /// Adds an operation advance to the address (DWARF 5 6.2.5.1).
    #[inline(always)]
    pub(super) fn advance(&self, registers: &mut Registers, operations: u64) {
        // All processors but VLIW ones have 1 here, and so nearly all rows need no division.
        if self.max_operations == 1 {
            // An address wraps at its size, and the program goes on: a dead sequence at the tombstone -1 wraps, and later
            // sequences may be live.
            let bytes = self.min_instruction_length.wrapping_mul(operations);
            registers.address = registers.address.wrapping_add(bytes) & self.address_mask;
        } else {
            let total = registers.op_index.wrapping_add(operations);
            let bytes = self.min_instruction_length.wrapping_mul(total / self.max_operations);
            registers.address = registers.address.wrapping_add(bytes) & self.address_mask;
            registers.op_index = total % self.max_operations;
        }
    }
}

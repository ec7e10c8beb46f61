//! The properties of a unit, and the caller's options, that affect decoding and evaluation.

/// Which codes the operations of the heterogeneous extensions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dialect {
    /// `DW_OP_LLVM_user` and a number: LLVM since 2023.
    #[default]
    User,
    /// Codes of their own from 0xe1 on: ROCm's compilers of 2020 to 2022. See [`crate::dialect`].
    First,
}

/// The use of an expression's result (DWARF 5 2.5: its context decides).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Where something is. An empty stack is the undefined location.
    Location,
    /// A number.
    Value,
}

/// How to read the bytes of an expression, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of an address: 1 to 8.
    pub address_size: u8,
    /// Bytes of an offset in a section: 4, or 8 in 64-bit DWARF.
    pub offset_size: u8,
    /// The unit's version.
    pub version: u16,
    /// The program's byte order.
    pub big_endian: bool,
    /// Which codes the extensions have.
    pub dialect: Dialect,
    /// LLVM's meaning of `DW_OP_xderef` on GPUs, at the end of a location expression or of its part before `DW_OP_piece`: it gives the
    /// place of the variable. By the standard it would read the variable, and the value would be used as its address.
    pub xderef_is_place: bool,
    /// An evaluation of more operations is given up.
    pub max_steps: u32,
}

impl Default for Settings {
    /// A little-endian program with addresses of 8 bytes, and 10,000 steps.
    fn default() -> Settings {
        Settings {
            address_size: 8,
            offset_size: 4,
            version: 5,
            big_endian: false,
            dialect: Dialect::User,
            xderef_is_place: false,
            max_steps: 10_000,
        }
    }
}

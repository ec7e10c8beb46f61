//! Why an expression has no result.

/// Data that the caller's context lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The bytes of a register.
    Register(u64),
    /// Bytes of memory.
    Memory {
        /// The address space; 0 is the program's memory.
        space: u64,
        /// The first byte that was read.
        address: u64,
    },
    /// The lane (`DW_OP_LLVM_push_lane`).
    Lane,
    /// The frame's base (`DW_OP_fbreg`).
    FrameBase,
    /// The frame's canonical address (`DW_OP_call_frame_cfa`).
    FrameCfa,
    /// The object (`DW_OP_push_object_address`).
    Object,
    /// Thread-local storage (`DW_OP_form_tls_address`).
    Tls,
    /// The value of an expression on entry (`DW_OP_entry_value`).
    EntryValue,
    /// A register's place on entry (`DW_OP_LLVM_call_frame_entry_reg`).
    EntryRegister(u64),
    /// A parameter of the caller (`DW_OP_GNU_parameter_ref`).
    Parameter(u64),
    /// An entry of `.debug_addr` (`DW_OP_addrx`, `DW_OP_constx`).
    AddressIndex(u64),
    /// The expression of an entry that is called (`DW_OP_call2`, `DW_OP_call4`, `DW_OP_call_ref`).
    Procedure(u64),
    /// A base type of at most 8 bytes, at this offset in the unit.
    BaseType(u64),
}

/// Why an evaluation ended without a result. Small, without allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// An absence with its reason: the expression is sound, but the context lacks data that it needs.
    Missing(Missing),
    /// The value was optimised out: an undefined location was read.
    Undefined,
    /// An operation that is not known. The expression is opaque: not even its length is known from here.
    Opaque {
        /// The operation's code; of a `DW_OP_LLVM_user` operation, 0xe900 and its number.
        op: u16,
        /// Its offset in the expression.
        offset: u32,
    },
    /// An operation that is known, and that no context can answer (`DW_OP_GNU_uninit`, `DW_OP_GNU_variable_value`).
    Unsupported(u16),
    /// An operand is cut off, or does not fit into 64 bits.
    Truncated,
    /// A branch leaves the expression.
    BadBranch,
    /// An operation needs more entries than the stack has.
    StackEmpty,
    /// A value cannot become the location that is needed, or the other way round.
    NotConvertible,
    /// A composite that is still being built was used as if it were whole.
    Incomplete,
    /// The types of the operands differ, or the operation is not defined for them.
    TypeMismatch,
    /// `DW_OP_div` or `DW_OP_mod` by zero.
    DivisionByZero,
    /// A number of bytes, bits or parts that the operation does not allow.
    BadSize(u64),
    /// An offset leads out of the storage.
    OutOfStorage,
    /// More steps than [`crate::Settings::max_steps`].
    TooManySteps,
    /// More calls within calls than the caller has room for.
    TooDeep,
    /// More stack entries than the caller has room for.
    StackFull,
    /// More parts of composites than the caller has room for.
    TooManyParts,
}

impl From<Missing> for Problem {
    fn from(missing: Missing) -> Problem {
        Problem::Missing(missing)
    }
}

impl core::fmt::Display for Missing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Missing::Register(number) => write!(f, "register {number} is not given"),
            Missing::Memory { space: 0, address } => write!(f, "memory at {address:#x} is not given"),
            Missing::Memory { space, address } => {
                write!(f, "memory at {address:#x} of address space {space} is not given")
            }
            Missing::Lane => f.write_str("no lane is given"),
            Missing::FrameBase => f.write_str("the frame base is not known"),
            Missing::FrameCfa => f.write_str("the canonical frame address is not known"),
            Missing::Object => f.write_str("no object is given"),
            Missing::Tls => f.write_str("thread-local storage is not given"),
            Missing::EntryValue => f.write_str("a value on entry is not known"),
            Missing::EntryRegister(number) => write!(f, "register {number} on entry is not known"),
            Missing::Parameter(die) => write!(f, "the parameter at unit offset {die:#x} is not known"),
            Missing::AddressIndex(index) => write!(f, ".debug_addr has no entry {index}"),
            Missing::Procedure(die) => write!(f, "no expression is given for the entry at {die:#x}"),
            Missing::BaseType(die) => write!(f, "no base type of at most 8 bytes at unit offset {die:#x}"),
        }
    }
}

impl core::fmt::Display for Problem {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Problem::Missing(missing) => missing.fmt(f),
            Problem::Undefined => f.write_str("optimised out"),
            Problem::Opaque { op, offset } => write!(f, "unknown operation {op:#x} at byte {offset}"),
            Problem::Unsupported(op) => write!(f, "operation {op:#x} has no value"),
            Problem::Truncated => f.write_str("an operand is cut off or too large"),
            Problem::BadBranch => f.write_str("a branch leaves the expression"),
            Problem::StackEmpty => f.write_str("an operation lacks operands"),
            Problem::NotConvertible => f.write_str("a value is used as a location, or a location as a value"),
            Problem::Incomplete => f.write_str("a composite location is used before it is complete"),
            Problem::TypeMismatch => f.write_str("operands of the wrong type"),
            Problem::DivisionByZero => f.write_str("division by zero"),
            Problem::BadSize(size) => write!(f, "a size of {size} is not allowed here"),
            Problem::OutOfStorage => f.write_str("an offset leads out of the storage"),
            Problem::TooManySteps => f.write_str("too many steps"),
            Problem::TooDeep => f.write_str("too many calls within calls"),
            Problem::StackFull => f.write_str("too many entries on the stack"),
            Problem::TooManyParts => f.write_str("too many parts of composite locations"),
        }
    }
}

impl core::error::Error for Problem {}

//! What the functions of a unit name as their line sequences (`DW_AT_LLVM_stmt_sequence`), for `verify`.

/// The values of a unit, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SequenceUses {
    /// The beginning of `DW_AT_producer`.
    pub(crate) producer: Vec<u8>,
    /// Functions with a value that names a sequence, or should.
    pub(crate) values: u64,
    /// Values at which no sequence begins.
    pub(crate) no_sequence: u64,
    /// Values that name the sequence of another function.
    pub(crate) of_another: u64,
    /// Values that several functions have.
    pub(crate) shared: u64,
}

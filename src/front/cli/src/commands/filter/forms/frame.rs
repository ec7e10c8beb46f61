//! A frame as its line in a log has it, whatever the form.

use foldsym_symbolize::AddressKind;

/// The function that a line names, in place of an address of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// Bytes from this symbol to the next.
    pub(crate) size: Option<u64>,
    /// The producer may have named the nearest symbol before the address: the offset may be beyond that function.
    pub(crate) is_nearest: bool,
}

/// A frame as its line has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Text in front of the frame's number.
    pub(crate) prefix: String,
    /// Its number in the stack, if the line has one.
    pub(crate) number: Option<u64>,
    /// The address in the process, as written; empty if the line has none.
    pub(crate) given: String,
    /// Functions and places that the line has already.
    pub(crate) names: String,
    /// `None` if the line does not say.
    pub(crate) module: Option<String>,
    pub(crate) id: Option<String>,
    /// A link-time address of the module, or an offset from the start of the function that the line names.
    pub(crate) address: u64,
    /// The address counts from the module's first segment.
    pub(crate) is_offset: bool,
    pub(crate) symbol: Option<Symbol>,
    /// The frame proves nothing about others: the kernel found the address on the stack, and does not know whether it is a caller; or the
    /// line is about one function.
    pub(crate) is_doubtful: bool,
    /// The kind of the address; `None` if it follows from the position in the stack: exact, then return addresses.
    pub(crate) kind: Option<AddressKind>,
    /// How many frames out from this one a signal was delivered, if the line shows it.
    pub(crate) signal: Option<usize>,
}

//! Options of the reader of units.

/// What the reader keeps in addition to functions and rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadOptions {
    /// Keep the columns of rows and calls.
    pub columns: bool,
    /// Keep the locations of the object pointers (`this`) of methods.
    pub locations: bool,
    /// Read classes with a vtable together with the functions, because methods may have been folded. If this is false and
    /// methods turn out to be folded, their units are read a second time.
    pub classes: bool,
}

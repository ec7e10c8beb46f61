//! Options of the reader of units.

/// What the reader keeps in addition to functions and rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadOptions {
    /// Keep the columns of rows and calls.
    pub columns: bool,
    /// Keep the locations of the object pointers (`this`) of methods.
    pub locations: bool,
    /// Keep variables at fixed addresses.
    pub data: bool,
    /// Leave the folder of the compiler out of paths.
    pub relative_paths: bool,
    /// Read clang's classes with a vtable in the same pass as the functions; true if the linker may have folded methods. All
    /// other classes are read in a second pass over their unit, once it is known that methods were folded.
    pub classes: bool,
    /// Count what the functions name as their line sequences.
    pub sequences: bool,
}

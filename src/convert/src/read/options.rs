//! What the reader of units should keep.

/// What the reader should keep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadOptions {
    /// Keep the columns of rows and calls.
    pub columns: bool,
    /// Keep where methods have the pointer to their object.
    pub locations: bool,
    /// Methods may have been folded: read of the unit, too, which classes its tables of virtual functions are of. What
    /// the unit is read with is at hand; else all of it is read again, once it is known that they were.
    pub classes: bool,
}

//! What types of relocations do to the bytes of debug sections.

/// What one relocation type does; the number is the width of its place in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelocationAction {
    /// Nothing that matters for debug sections.
    Skip,
    /// Symbol + addend.
    Set(u8),
    /// Symbol + addend - place.
    Relative(u8),
    /// What is there + symbol + addend.
    Add(u8),
    /// What is there - symbol - addend.
    Sub(u8),
    /// As `Set`, `Add` and `Sub`, on the low 6 bits of a byte.
    Set6,
    Add6,
    Sub6,
    /// As `Set`, `Add` and `Sub`, on a ULEB128 whose length stays.
    SetUleb,
    AddUleb,
    SubUleb,
}

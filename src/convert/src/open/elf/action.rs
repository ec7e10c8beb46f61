//! What each relocation type does to the bytes of a debug section.

/// What one relocation type does. The number is the width of the relocated field in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelocationAction {
    /// Nothing that matters in debug sections.
    Skip,
    /// Symbol + addend.
    Set(u8),
    /// Symbol + addend - place.
    Relative(u8),
    /// Old value + symbol + addend.
    Add(u8),
    /// Old value - symbol - addend.
    Sub(u8),
    /// `Set`, `Add` and `Sub` on the low 6 bits of a byte.
    Set6,
    Add6,
    Sub6,
    /// `Set`, `Add` and `Sub` on a ULEB128 number, whose length in bytes stays the same.
    SetUleb,
    AddUleb,
    SubUleb,
}

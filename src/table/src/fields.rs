//! Selects the fields of a table's answers by name.

use crate::TableError;

/// The fields of an answer, in their order in the column.
pub const FIELDS: [&str; 17] = [
    "frame",
    "address",
    "function",
    "linkage_name",
    "file",
    "line",
    "column",
    "inlined",
    "module",
    "certainty",
    "evidence",
    "reason",
    "candidate_count",
    "candidates",
    "unknown",
    "message",
    "source",
];

/// Some of the [`FIELDS`]. Only the requested columns are made, since text takes most of the time of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolFields(u32);

impl SymbolFields {
    /// All of them.
    pub const ALL: Self = Self((1 << FIELDS.len()) - 1);

    /// The fields with these names, in any order.
    ///
    /// # Errors
    /// There is no field of a name, or no name at all.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, TableError> {
        let wrong = |what| TableError::Column { column: crate::SYMBOLS.to_owned(), what };
        // There are fewer than 32 fields, so each has a bit.
        let mut bits = 0;
        for name in names {
            let at = FIELDS.iter().position(|field| *field == name);
            let at =
                at.ok_or_else(|| wrong(format!("has no field {name:?}: expected {}", FIELDS.join(", "))))?;
            bits |= 1 << at;
        }
        if bits == 0 { Err(wrong("needs at least one field".to_owned())) } else { Ok(Self(bits)) }
    }

    /// Whether the field of this name is one of them.
    pub fn has(self, name: &str) -> bool {
        FIELDS.iter().position(|field| *field == name).is_some_and(|at| self.0 & (1 << at) != 0)
    }
}

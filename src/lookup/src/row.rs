//! One row: from which offset on code belongs to which scope, line, file and column.

use foldsym_format::records::file_code;

use crate::ids::FileId;

/// How a row or call gives its file. Exhaustive: these are all codes of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCode {
    /// It is the file of the origin that the row or call is in.
    Origin,
    /// It is not known.
    Unknown,
    /// It is this file.
    File(FileId),
}

impl FileCode {
    pub(crate) const fn new(code: u32) -> Self {
        match code as u64 {
            file_code::ORIGIN => Self::Origin,
            file_code::UNKNOWN => Self::Unknown,
            _ => Self::File(FileId(code.wrapping_sub(file_code::FIRST as u32))),
        }
    }

    /// The code of a file, which is a u32 in any file with fewer than 2^32 - 2 paths.
    pub(crate) const fn code(self) -> u32 {
        match self {
            Self::Origin => file_code::ORIGIN as u32,
            Self::Unknown => file_code::UNKNOWN as u32,
            Self::File(file) => file.0.wrapping_add(file_code::FIRST as u32),
        }
    }
}

/// From an offset on, up to the next row, code belongs to this scope and line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Bytes from the start of the piece.
    pub offset: u64,
    /// Node of the function's inline tree, 0: the function itself.
    pub scope: u32,
    /// The line, relative to the line of the declaration of the scope's origin; `None`: no line is known.
    pub line: Option<i64>,
    /// The file.
    pub file: FileCode,
    /// The column, 0: unknown or not kept.
    pub column: u32,
}

/// A row without its offset; the file as it is stored.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    pub(crate) scope: u32,
    pub(crate) line: Option<i64>,
    pub(crate) file: u32,
    pub(crate) column: u32,
}

impl Spot {
    /// The row of code without rows: only the function is known.
    pub(crate) const NONE: Self = Self { scope: 0, line: None, file: file_code::UNKNOWN as u32, column: 0 };
}

//! The functions of a unit and whose each row of its line program is, while that is found out.
//!
//! The walk hands each function over as it ends, so that no inline tree is kept longer. Functions at an address where several
//! sequences begin wait for the rest of the unit.

use crate::model::{BareLines, LocalOrigin, NONE16, UnitCode};
use crate::read::code::CodeSections;
use crate::read::limits::OWN_ROWS;
use crate::read::sections::line::{LineRow, Lines};
use crate::util::budget::Budget;
use crate::util::hash::HashSet;
use crate::util::paint::{Painter, Segment};

/// Rows that a unit may keep: functions may share a range, and each keeps its rows.
const MAX_ROWS: usize = 1 << 24;
const MIN_ROWS: usize = 1 << 18;
const ROW_COPIES: usize = 32;

/// No row of the line table covers the address.
pub(crate) const NO_FILE: u32 = u32::MAX;

/// Whose rows a function has.
#[derive(Clone, Copy)]
pub(crate) enum RowOwner {
    /// Those of this sequence, before others that cover the same code.
    Sequence(usize),
    /// Those of the first sequences that cover its code.
    Any,
}

/// A piece at an address at which several sequences start.
pub(crate) struct SharedPiece {
    /// Index into the unit's pieces.
    pub(crate) piece: usize,
    pub(crate) origin: LocalOrigin,
    /// The sequence that its `DW_AT_LLVM_stmt_sequence` names.
    pub(crate) named: Option<usize>,
    pub(crate) segments: Vec<Segment>,
    /// As `rows` takes it.
    pub(crate) joined: bool,
}

/// A function that has its address of its sequence alone.
#[derive(Clone, Copy)]
pub(crate) struct BySequence {
    /// Index into the unit's functions.
    pub(crate) function: usize,
    pub(crate) sequence: usize,
}

/// What the line program of a unit is given to.
pub(crate) struct Assign<'a> {
    pub(crate) unit_offset: u64,
    pub(crate) sections: &'a CodeSections,
    /// Columns are kept.
    pub(crate) columns: bool,
    pub(crate) lines: Lines,
    /// Functions with their pieces and rows.
    pub(crate) code: UnitCode<'static>,
    /// Code that has lines and no function.
    pub(crate) bare: Vec<BareLines>,
    /// Sequences that no function claims.
    pub(crate) unclaimed: Vec<BareLines>,
    /// By sequence: a function has its rows.
    pub(crate) claimed: Vec<bool>,
    /// Pieces whose rows wait for the rest of the unit.
    pub(crate) shared: Vec<SharedPiece>,
    pub(crate) by_sequence: Vec<BySequence>,
    /// Sequences that functions name which kept their address.
    pub(crate) named: HashSet<usize>,
    /// Sequences that show that there are more functions than the unit describes, and not whose lines they are.
    pub(crate) in_doubt: Vec<usize>,
    pub(crate) painter: Painter,
    pub(crate) segments: Vec<Segment>,
    pub(crate) runs: Vec<LineRow>,
    pub(crate) last_file: (u32, u16),
    /// Rows that may be kept.
    pub(crate) max_rows: usize,
    /// There was no room for the rows of a function.
    pub(crate) no_more_rows: bool,
    /// Rows that may still be compared to find the sequence of a function, and sequences that may be looked at for it.
    pub(crate) compared: Budget,
    /// Rows and segments that may still be joined, whether or not a row is kept of them.
    pub(crate) joined: Budget,
}

impl<'a> Assign<'a> {
    /// `more_rows`: what it may keep besides its own; `items`: entries and rows, which bound what is compared.
    pub(crate) fn new(
        (unit_offset, entry_bytes): (u64, usize),
        sections: &'a CodeSections,
        columns: bool,
        lines: Lines,
        more_rows: u64,
    ) -> Assign<'a> {
        let own_rows = OWN_ROWS * lines.rows.len();
        let more_rows = usize::try_from(more_rows).unwrap_or(usize::MAX);
        let max_rows =
            (MIN_ROWS + ROW_COPIES * lines.rows.len()).min(own_rows.saturating_add(more_rows)).min(MAX_ROWS);
        let items = entry_bytes + lines.rows.len();
        // Mostly a function keeps the rows of its lines, and some more where what is inlined begins and ends.
        let room = lines.rows.len() + lines.rows.len() / 4;
        Assign {
            unit_offset,
            sections,
            columns,
            claimed: vec![false; lines.sequences.len()],
            lines,
            code: UnitCode { rows: Vec::with_capacity(room).into(), ..UnitCode::default() },
            bare: Vec::new(),
            unclaimed: Vec::new(),
            shared: Vec::new(),
            by_sequence: Vec::new(),
            named: HashSet::default(),
            in_doubt: Vec::new(),
            painter: Painter::default(),
            segments: Vec::new(),
            runs: Vec::new(),
            last_file: (NO_FILE, NONE16),
            max_rows,
            no_more_rows: false,
            compared: Budget::of_part(items),
            joined: Budget::of_part(items),
        }
    }

    /// Rows that the unit has past its own: others may have them as well.
    pub(crate) fn rows_of_others(&self) -> usize {
        self.code.rows.len().saturating_sub(OWN_ROWS * self.lines.rows.len())
    }
}

//! Assigns the rows of a unit's line program to its functions.
//!
//! The walk hands over each function as it ends, so that its inline tree can be freed. If several sequences begin at a
//! function's address, its rows are assigned after the walk, when all functions of the unit are known.

use crate::model::{BareLines, LocalOrigin, NONE16, Stray, UnitCode};
use crate::read::code::CodeSections;
use crate::read::limits::{MAX_UNIT_ROWS, MIN_UNIT_ROWS, OWN_ROWS, ROW_COPIES};
use crate::read::sections::line::{LineRow, Lines};
use crate::util::budget::Budget;
use crate::util::fit::fit;
use crate::util::hash::HashSet;
use crate::util::paint::{Painter, Segment};

/// No row of the line table covers the address.
pub(crate) const NO_FILE: u32 = u32::MAX;

/// The sequences from which a function takes its rows.
#[derive(Clone, Copy)]
pub(crate) enum RowOwner {
    /// This sequence first. Code that it does not cover gets rows of other sequences.
    Sequence(usize),
    /// For each address the first sequence that covers it.
    Any,
    /// As [`RowOwner::Any`], but the sequence stays unclaimed: the code may be another function's.
    Stray,
}

/// Where the source has the first call that is inlined into a function.
#[derive(Clone, Copy)]
pub(crate) struct InlinedFirst {
    /// The unit's id of the file.
    pub(crate) file: u16,
    pub(crate) line: u32,
}

/// A piece at an address at which several sequences start. It waits for its rows.
pub(crate) struct SharedPiece {
    /// Index into the unit's pieces.
    pub(crate) piece: usize,
    pub(crate) origin: LocalOrigin,
    /// The first call that is inlined into the function.
    pub(crate) inlined: Option<InlinedFirst>,
    /// The sequence to which its `DW_AT_LLVM_stmt_sequence` refers.
    pub(crate) named: Option<usize>,
    pub(crate) segments: Vec<Segment>,
    /// See the parameter `joined` of [`Assign::rows`].
    pub(crate) joined: bool,
}

/// A function whose address is known only from its sequence.
#[derive(Clone, Copy)]
pub(crate) struct BySequence {
    /// Index into the unit's functions.
    pub(crate) function: usize,
    pub(crate) sequence: usize,
}

/// The state of the assignment: the line program of a unit and the functions that get its rows.
pub(crate) struct Assign<'a> {
    pub(crate) unit_offset: u64,
    pub(crate) sections: &'a CodeSections,
    /// True if columns are kept.
    pub(crate) columns: bool,
    pub(crate) lines: Lines,
    /// Functions with their pieces and rows.
    pub(crate) code: UnitCode<'static>,
    /// Code with lines that no function of the unit contains.
    pub(crate) bare: Vec<BareLines>,
    /// Sequences that no function of the unit has.
    pub(crate) unclaimed: Vec<BareLines>,
    /// Inlined code outside of the ranges of its function.
    pub(crate) strays: Vec<Stray>,
    /// For each sequence, true if a function has its rows.
    pub(crate) claimed: Vec<bool>,
    /// Pieces that get their rows after the walk.
    pub(crate) shared: Vec<SharedPiece>,
    pub(crate) by_sequence: Vec<BySequence>,
    /// The sequences named by functions that kept their addresses.
    pub(crate) named: HashSet<usize>,
    /// Sequences that show that there are more functions than the unit describes, but it is not known which of the functions
    /// have which of these lines.
    pub(crate) in_doubt: Vec<usize>,
    pub(crate) memory: RowMemory,
    pub(crate) limits: RowLimits,
}

/// What the assignment made.
pub(crate) struct Assigned {
    pub(crate) code: UnitCode<'static>,
    pub(crate) bare: Vec<BareLines>,
    pub(crate) unclaimed: Vec<BareLines>,
    pub(crate) strays: Vec<Stray>,
}

/// Memory that is used again for the next function.
pub(crate) struct RowMemory {
    pub(crate) painter: Painter,
    pub(crate) segments: Vec<Segment>,
    pub(crate) runs: Vec<LineRow>,
    /// The file of the last row, by its number in the line table and in the unit.
    pub(crate) last_file: (u32, u16),
}

/// What the assignment may spend on one unit, and what is left of it.
pub(crate) struct RowLimits {
    /// The most rows that the unit may have.
    pub(crate) max_rows: usize,
    /// True if a function got no rows because there were too many.
    pub(crate) no_more_rows: bool,
    /// The budget for finding the sequences of functions: one step for each row or sequence that is compared.
    pub(crate) compared: Budget,
    /// The budget for joining rows with inline trees: one step for each row or segment, even if no row is kept.
    pub(crate) joined: Budget,
}

impl<'a> Assign<'a> {
    /// `more_rows` is the number of rows that the unit may have in addition to [`OWN_ROWS`] per row of its line program.
    pub(crate) fn new(
        unit_offset: u64,
        entry_bytes: usize,
        sections: &'a CodeSections,
        columns: bool,
        lines: Lines,
        more_rows: u64,
    ) -> Assign<'a> {
        let own_rows = OWN_ROWS * lines.rows.len();
        let more_rows = usize::try_from(more_rows).unwrap_or(usize::MAX);
        let max_rows = (MIN_UNIT_ROWS + ROW_COPIES * lines.rows.len())
            .min(own_rows.saturating_add(more_rows))
            .min(MAX_UNIT_ROWS);
        // The budgets grow with the input. The comparisons that they limit would grow with the product of functions and
        // sequences.
        let items = entry_bytes + lines.rows.len();
        // Most functions keep the rows of their lines, and a few more at the boundaries of inlined code.
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
            strays: Vec::new(),
            shared: Vec::new(),
            by_sequence: Vec::new(),
            named: HashSet::default(),
            in_doubt: Vec::new(),
            memory: RowMemory {
                painter: Painter::default(),
                segments: Vec::new(),
                runs: Vec::new(),
                last_file: (NO_FILE, NONE16),
            },
            limits: RowLimits {
                max_rows,
                no_more_rows: false,
                compared: Budget::of_part(items),
                joined: Budget::of_part(items),
            },
        }
    }

    /// The functions with their rows, after all rows are assigned.
    pub(crate) fn finish(self) -> Assigned {
        let Assign { mut code, bare, unclaimed, mut strays, .. } = self;
        code.fit();
        fit(&mut strays);
        Assigned { code, bare, unclaimed, strays }
    }

    /// The number of rows past [`OWN_ROWS`] per row of the line program.
    pub(crate) fn rows_of_others(&self) -> usize {
        self.code.rows.len().saturating_sub(OWN_ROWS * self.lines.rows.len())
    }
}

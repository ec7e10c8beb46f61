//! Finds the row of an address in the section UNWIND (schema, section 11).

use foldsym_format::bits::{self, TAIL, mask, u8_at, u32_at};
use foldsym_format::records::unwind as layout;
use foldsym_format::{FormatError, Starts, Table, What, varint};

use crate::row::{Cfa, Row, expression};

/// An opened section. It borrows the bytes and is `Copy`.
#[derive(Clone, Copy)]
pub struct Unwind<'d> {
    pub(crate) data: &'d [u8],
    pub(crate) starts: Starts<'d>,
    pub(crate) runs: Table<'d>,
    pub(crate) rules: Table<'d>,
    pub(crate) saves: &'d [u8],
    /// Bit of the first rule of the sequences, and of the first delta.
    pub(crate) sequences_at: u64,
    pub(crate) deltas_at: u64,
    pub(crate) sequences: u32,
    pub(crate) rule_width: u32,
    pub(crate) group: u32,
    pub(crate) unit_log2: u32,
    pub(crate) image_base: u64,
}

impl core::fmt::Debug for Unwind<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Unwind").field("runs", &self.runs.len()).field("rules", &self.rules.len()).finish()
    }
}

fn early(at: u64) -> FormatError {
    FormatError::new(What::Truncated, at)
}

impl<'d> Unwind<'d> {
    /// Opens the bytes of the section, whose addresses count from `image_base` of the file's header. Takes constant time.
    ///
    /// # Errors
    /// A field out of range, or parts that do not fit the section.
    pub fn open(data: &'d [u8], image_base: u64) -> Result<Self, FormatError> {
        let whole = data.len() as u64;
        let len = |at: usize| u32_at(data, at).map(|len| len as usize).ok_or(early(whole));
        let byte = |at: usize| u8_at(data, at).map(u32::from).ok_or(early(whole));
        let part = |from: usize, len: usize| {
            let to = from.checked_add(len).ok_or(early(whole))?;
            Ok::<_, FormatError>((data.get(from..to).ok_or(early(whole))?, to))
        };
        let (rule_width, group) = (byte(layout::RULE_WIDTH)?, byte(layout::GROUP)?);
        let (unit_log2, reserved) = (byte(layout::UNIT_LOG2)?, byte(layout::RESERVED)?);
        if reserved != 0 {
            return Err(FormatError::new(What::Reserved, layout::RESERVED as u64));
        }
        // Later shifts and reads rely on these bounds: [`bits::read`] takes at most [`bits::MAX_WIDTH`] bits.
        if rule_width > 32 || !(1..=32).contains(&group) || unit_log2 > 4 {
            return Err(FormatError::new(What::Width, layout::RULE_WIDTH as u64));
        }
        let (starts, at) = part(layout::HEAD, len(layout::STARTS_LEN)?)?;
        let (runs, at) = part(at, len(layout::RUNS_LEN)?)?;
        let (rules, at) = part(at, len(layout::RULES_LEN)?)?;
        let (saves, at) = part(at, len(layout::SAVES_LEN)?)?;
        let sequences = u32_at(data, layout::SEQUENCES).ok_or(early(whole))?;
        let sequences_at = (at as u64).wrapping_shl(3);
        // The product of two 32-bit numbers does not wrap.
        let bytes = u64::from(sequences).wrapping_mul(rule_width.into()).div_ceil(8);
        let deltas = bytes.wrapping_add(at as u64);
        // Without the zeros at the end, [`bits::read`] could not load the last deltas.
        if deltas.saturating_add(TAIL as u64) > whole {
            return Err(early(whole));
        }
        let starts = Starts::open(starts)?;
        let runs = Table::open(runs, layout::RUN_COLUMNS)?;
        // A run's start and its record have the same index, so later reads need no second check.
        if starts.len() != runs.len() {
            return Err(FormatError::new(What::Length, layout::RUNS_LEN as u64));
        }
        Ok(Self {
            data,
            starts,
            runs,
            rules: Table::open(rules, layout::RULE_COLUMNS)?,
            saves,
            sequences_at,
            deltas_at: deltas.wrapping_shl(3),
            sequences,
            rule_width,
            group,
            unit_log2,
            image_base,
        })
    }

    /// The row at a link-time address; `None` if no entry covers it. Takes a search among some starts and a step for each row of a run.
    ///
    /// # Errors
    /// Damage.
    pub fn row(&self, address: u64) -> Result<Option<Row<'d>>, FormatError> {
        // An address below the base wraps to an address after all runs, where no entry is.
        let key = address.wrapping_sub(self.image_base);
        let Some(found) = self.starts.find(key)? else { return Ok(None) };
        // Such a key is after the last run: the last start is the end of that run (schema, section 11).
        if key >= found.next {
            return Ok(None);
        }
        let [sequence, place] = self.runs.record(found.piece)?;
        // Rows begin at whole units from the run's start, so the rest of a unit does not change the row.
        let inside = key.wrapping_sub(found.start).wrapping_shr(self.unit_log2);
        let Passed { rows: nth, units, next } = Deltas::new(self, place)?.pass(inside)?;
        let unit = 1u64.wrapping_shl(self.unit_log2);
        let behind = |units: u64| found.start.saturating_add(units.saturating_mul(unit));
        let start = behind(units);
        let end = next.map_or(found.next, |next| behind(next).min(found.next));
        let range = [start, end].map(|at| at.wrapping_add(self.image_base));
        self.row_of(self.rule_number(sequence, nth)?, range)
    }

    /// The number of a rule of a sequence.
    #[inline]
    pub(crate) fn rule_number(&self, sequence: i64, nth: u32) -> Result<u32, FormatError> {
        let at = u64::try_from(sequence).ok().and_then(|at| at.checked_add(nth.into()));
        let at = at.filter(|&at| at < self.sequences.into());
        let at = at.ok_or(FormatError::new(What::NoRecord, sequence.cast_unsigned()))?;
        // The product of two 32-bit numbers does not wrap.
        let bit = at.wrapping_mul(self.rule_width.into()).wrapping_add(self.sequences_at);
        Ok(bits::read(self.data, bit, self.rule_width).ok_or(early(bit >> 3))? as u32)
    }

    /// A rule, as the row of a range.
    pub(crate) fn row_of(&self, rule: u32, [start, end]: [u64; 2]) -> Result<Option<Row<'d>>, FormatError> {
        let [base, offset, saves] = self.rules.record(rule)?;
        let cfa = match base {
            layout::NO_ENTRY => return Ok(None),
            layout::UNKNOWN => Cfa::Unknown,
            layout::BY_EXPRESSION => {
                let at = usize::try_from(offset).map_err(|_| FormatError::new(What::Value, rule.into()))?;
                Cfa::Expression(expression(self.saves, at).ok_or(early(offset.cast_unsigned()))?.0)
            }
            _ => {
                let register = base.wrapping_sub(layout::FIRST_REGISTER);
                let register =
                    u64::try_from(register).map_err(|_| FormatError::new(What::Value, rule.into()))?;
                Cfa::Register { register, offset }
            }
        };
        let at = usize::try_from(saves).map_err(|_| FormatError::new(What::Value, rule.into()))?;
        let (head, return_register, at) = match self.saves.get(at..at.wrapping_add(2)) {
            // Nearly always a byte each.
            Some(&[head, register]) if (head | register) & 0x80 == 0 => {
                (head.into(), register.into(), at.wrapping_add(2))
            }
            _ => {
                let (head, at) = varint::read(self.saves, at).ok_or(early(at as u64))?;
                let (register, at) = varint::read(self.saves, at).ok_or(early(at as u64))?;
                // A head of one byte has fewer.
                if head >> 1 > layout::MAX_SAVES {
                    return Err(FormatError::new(What::Value, rule.into()));
                }
                (head, register, at)
            }
        };
        // That the registers are inside of the bytes is not checked here: [`Rules`](crate::row::Rules) ends with the bytes.
        Ok(Some(Row {
            start,
            end,
            cfa,
            return_register,
            signal: head & 1 != 0,
            saves: self.saves,
            at,
            count: head >> 1,
        }))
    }
}

/// The rows of a run before the searched one.
struct Passed {
    /// How many.
    rows: u32,
    /// Where that one begins, in units from the first row.
    units: u64,
    /// Where the next one begins, if there is one.
    next: Option<u64>,
}

/// Distances in bytes between the starts of consecutive rows of a run.
pub(crate) struct Deltas<'u, 'd> {
    unwind: &'u Unwind<'d>,
    pub(crate) bit: u64,
    pub(crate) left: u32,
    /// How many there were at first.
    rows: u32,
    /// The loaded bits, and how many of them are left.
    word: u64,
    loaded: u32,
}

impl<'u, 'd> Deltas<'u, 'd> {
    pub(crate) fn new(unwind: &'u Unwind<'d>, place: i64) -> Result<Self, FormatError> {
        let bit = unwind.deltas_at.wrapping_add(place.cast_unsigned());
        // Without this check, a damaged place could have other parts of the section read as deltas.
        if bit < unwind.deltas_at {
            return Err(FormatError::new(What::NoRecord, place.cast_unsigned()));
        }
        let mut deltas = Self { unwind, bit, left: 0, rows: 0, word: 0, loaded: 0 };
        // At most 31, which bounds the time of a step.
        deltas.left = deltas.take(layout::COUNT_BITS)? as u32;
        deltas.rows = deltas.left;
        Ok(deltas)
    }

    #[inline(always)]
    fn take(&mut self, width: u32) -> Result<u64, FormatError> {
        // One load of memory gives several numbers, since a width is at most 33.
        if self.loaded < width {
            self.word =
                bits::read(self.unwind.data, self.bit, bits::MAX_WIDTH).ok_or(early(self.bit >> 3))?;
            self.loaded = bits::MAX_WIDTH;
        }
        let value = self.word & mask(width);
        self.word = self.word.wrapping_shr(width);
        self.loaded = self.loaded.wrapping_sub(width);
        self.bit = self.bit.wrapping_add(width.into());
        Ok(value)
    }

    /// Passes the rows that end at or before a number of units from the first row. As [`Deltas::next`], but for the time: it is most of a step's.
    #[inline(always)]
    fn pass(self, inside: u64) -> Result<Passed, FormatError> {
        let (data, group) = (self.unwind.data, self.unwind.group);
        let width = group.wrapping_add(1);
        let one = mask(width);
        let (mut word, mut loaded, mut left) = (self.word, self.loaded, self.left);
        // The first bit after those that were loaded.
        let mut end = self.bit.wrapping_add(loaded.into());
        // Units up to the row, and of the number that is read so far.
        // A delta is stored less 1 (schema, section 11), so its value begins with 1.
        let (mut units, mut value, mut shift) = (0u64, 1u64, 0u32);
        while left > 0 {
            if loaded < width {
                let at = end.wrapping_sub(loaded.into());
                word = bits::read(data, at, bits::MAX_WIDTH).ok_or(early(at >> 3))?;
                (loaded, end) = (bits::MAX_WIDTH, at.wrapping_add(bits::MAX_WIDTH.into()));
            }
            let taken = word & one;
            word = word.wrapping_shr(width);
            loaded = loaded.wrapping_sub(width);
            value = value.saturating_add((taken >> 1).wrapping_shl(shift));
            if taken & 1 != 0 {
                // A number of several groups.
                shift = shift.wrapping_add(group);
                // No distance has more than 64 bits, so this is damage. The shift above must stay below 64.
                if shift >= u64::BITS {
                    return Err(FormatError::new(What::Value, end >> 3));
                }
                continue;
            }
            let next = units.saturating_add(value);
            if next > inside {
                let rows = self.rows.wrapping_sub(left);
                return Ok(Passed { rows, units, next: Some(next) });
            }
            (units, value, shift) = (next, 1, 0);
            left = left.wrapping_sub(1);
        }
        Ok(Passed { rows: self.rows, units, next: None })
    }

    /// The next one, in bytes; `None` after the last row.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<u64>, FormatError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        Ok(Some(self.value()?.saturating_add(1).wrapping_shl(self.unwind.unit_log2)))
    }

    /// A number in groups.
    #[inline(always)]
    fn value(&mut self) -> Result<u64, FormatError> {
        let group = self.unwind.group;
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let taken = self.take(group.wrapping_add(1))?;
            if shift >= u64::BITS {
                return Err(FormatError::new(What::Value, self.bit >> 3));
            }
            value |= (taken >> 1).wrapping_shl(shift);
            shift = shift.wrapping_add(group);
            if taken & 1 == 0 {
                break;
            }
        }
        Ok(value)
    }
}

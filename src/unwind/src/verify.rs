//! Checks the whole section and returns its first fault; lists all its rows in order.

use foldsym_format::bits::TAIL;
use foldsym_format::records::unwind as layout;
use foldsym_format::{FormatError, What, varint};

use crate::row::expression;
use crate::row::{Cfa, Row};
use crate::section::{Deltas, Unwind};

impl<'d> Unwind<'d> {
    /// How many runs of rows the section has.
    pub const fn run_count(&self) -> u32 {
        self.runs.len()
    }

    /// How many different rules it has, with that of code without an entry.
    pub const fn rule_count(&self) -> u32 {
        self.rules.len()
    }

    /// Visits all rows by address, and returns how many there are. Code that no entry covers has none.
    ///
    /// # Errors
    /// Damage; the rows in front of it were given.
    pub fn each_row(&self, take: &mut dyn FnMut(&Row<'d>)) -> Result<u64, FormatError> {
        let mut rows = 0u64;
        self.each_rule(&mut |rule, range| {
            if let Some(row) = self.row_of(rule, range)? {
                take(&row);
                rows = rows.wrapping_add(1);
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// All rows as rules with their ranges. Returns the bit at which the deltas end.
    fn each_rule(
        &self,
        take: &mut dyn FnMut(u32, [u64; 2]) -> Result<(), FormatError>,
    ) -> Result<u64, FormatError> {
        // The deltas of each run must begin at the bit at which the deltas of the run before it ended.
        let mut end_bit = self.deltas_at;
        for run in 0..self.runs.len() {
            let wrong = FormatError::new(What::Value, run.into());
            let place = self.starts.get(run)?;
            let [sequence, bit] = self.runs.record(run)?;
            let mut deltas = Deltas::new(self, bit)?;
            // Nothing is between two runs' deltas, and no two runs share theirs.
            if deltas.bit.wrapping_sub(layout::COUNT_BITS.into()) != end_bit {
                return Err(wrong);
            }
            let (mut start, mut nth) = (place.start, 0);
            loop {
                let delta = deltas.next()?;
                let end = delta.map_or(place.next, |delta| start.saturating_add(delta));
                // No row is empty. The last one has no delta and ends where the next run begins.
                if start >= end || end > place.next || (delta.is_some() && end == place.next) {
                    return Err(wrong);
                }
                let range = [start, end].map(|at| at.wrapping_add(self.image_base));
                take(self.rule_number(sequence, nth)?, range)?;
                (start, nth) = (end, nth.wrapping_add(1));
                if delta.is_none() {
                    break;
                }
            }
            end_bit = deltas.bit;
        }
        Ok(end_bit)
    }

    /// Checks the whole section: that starts rise, each run's rows are inside of it, each rule and each record of saved
    /// registers can be read, and no byte is left over. Takes time by the section's size and its number of rules: a rule reads at most
    /// [`MAX_SAVES`](layout::MAX_SAVES) registers.
    ///
    /// # Errors
    /// The first fault.
    pub fn verify(&self) -> Result<(), FormatError> {
        self.starts.verify()?;
        self.runs.verify()?;
        self.rules.verify()?;
        let rules = self.rules.len();
        let wrong = |rule: u32| FormatError::new(What::Value, rule.into());
        for rule in 0..rules {
            let record: [i64; 3] = self.rules.record(rule)?;
            // Rule 0 says that no entry covers the code, and no other rule says so (schema, section 11).
            if (record[0] == layout::NO_ENTRY) != (rule == 0) || (rule == 0 && record != [0; 3]) {
                return Err(wrong(rule));
            }
            let Some(row) = self.row_of(rule, [0, 0])? else { continue };
            let mut registers = row.rules();
            // A step looks only at the first 33 rules, which suffices only if they are sorted.
            let mut before = None;
            for (register, _) in registers.by_ref() {
                if before.is_some_and(|before| before >= register) {
                    return Err(FormatError::new(What::Order, rule.into()));
                }
                before = Some(register);
            }
            // The iterator also ends at a rule that it cannot read. Then the number of remaining rules is not 0.
            if registers.rest().1 != 0 {
                return Err(wrong(rule));
            }
        }
        if rules == 0 {
            return Err(FormatError::new(What::Length, layout::RULES_LEN as u64));
        }
        self.verify_saves()?;
        let end_bit = self.each_rule(&mut |rule, _| if rule < rules { Ok(()) } else { Err(wrong(rule)) })?;
        let end = usize::try_from(end_bit.div_ceil(8)).unwrap_or(usize::MAX);
        let tail = self.data.get(end..).ok_or(FormatError::new(What::Truncated, end_bit >> 3))?;
        let used = end_bit & 7;
        // The bits after the deltas in the last byte must also be 0.
        let last = end.checked_sub(1).and_then(|at| self.data.get(at)).copied().unwrap_or(0);
        if tail.len() != TAIL
            || tail.iter().any(|&byte| byte != 0)
            || (used != 0 && last.wrapping_shr(used as u32) != 0)
        {
            return Err(FormatError::new(What::Reserved, end as u64));
        }
        Ok(())
    }

    /// The records of saved registers come first, adjacent to each other, then the expressions of frame addresses.
    fn verify_saves(&self) -> Result<(), FormatError> {
        // Records and expressions are not marked as such: the first expression that a rule refers to separates them.
        let mut first_expression = self.saves.len();
        for rule in 0..self.rules.len() {
            let [base, offset, _] = self.rules.record(rule)?;
            if base == layout::BY_EXPRESSION {
                first_expression = first_expression.min(usize::try_from(offset).unwrap_or(usize::MAX));
            }
        }
        let mut at = 0usize;
        let wrong = |at: usize| FormatError::new(What::Value, at as u64);
        while at < first_expression {
            let (head, next) = varint::read(self.saves, at).ok_or(wrong(at))?;
            let (return_register, next) = varint::read(self.saves, next).ok_or(wrong(at))?;
            if head >> 1 > layout::MAX_SAVES {
                return Err(wrong(at));
            }
            let row = Row {
                start: 0,
                end: 0,
                cfa: Cfa::Unknown,
                return_register,
                signal: head & 1 != 0,
                saves: self.saves,
                at: next,
                count: head >> 1,
            };
            let mut rules = row.rules();
            rules.by_ref().for_each(drop);
            let (next, left) = rules.rest();
            if left != 0 {
                return Err(wrong(at));
            }
            at = next;
        }
        while at < self.saves.len() {
            at = expression(self.saves, at).ok_or(wrong(at))?.1;
        }
        Ok(())
    }
}

//! Writes UNWIND: the rows of call frame information, in runs that share their sequences of rules (schema, section 11, which
//! defines *row*, *run*, *rule* and *sequence*).

use foldsym_format::bits::TAIL;
use foldsym_format::records::unwind as layout;

use super::bits::{BitWriter, put_varint, width_of};
use super::section::{EncodeError, Section};
use super::starts::{self, StartBuckets};
use super::tables::Table;
use crate::model::{UnwindCfa, UnwindRow, UnwindRows};
use crate::util::hash::HashMap;
use foldsym_format::SectionId;

/// For this section a small size counts more than few comparisons in a lookup.
const BUCKETS: &StartBuckets = &starts::BLOCKS;

/// The sizes in bits that are tried for the groups of a delta. With less than 4 bits most deltas would take several groups, and
/// a reader spends time on each group of every row that it steps past.
const GROUPS: std::ops::RangeInclusive<u32> = 4..=7;
/// The most rows that this writer puts into a run; a reader accepts [`layout::MAX_ROWS`].
const ROWS: usize = layout::MAX_ROWS / 2;
/// A row begins a new run if the number of its bytes, times the number of rows before it in the run, is more than this: to reach one of
/// these bytes, a reader would step past all these rows. Such a row is usually the body of a function, between the prologue that
/// saves registers and the epilogue that restores them, and most addresses of stacks are in it. A run takes some 5 bytes.
const LONG: u64 = 1024;

/// The section.
///
/// # Errors
/// A part is longer than its length has room for.
pub(super) fn section(unwind: &UnwindRows, image_base: u64) -> Result<Section, EncodeError> {
    let runs: Vec<&[UnwindRow]> = runs(&unwind.rows);
    // Without runs there is no code that ends: the only row may be one that could not be stored.
    let last = unwind.rows.last().filter(|_| !runs.is_empty());
    let end = last.map_or(0, |last| last.start.wrapping_sub(image_base));
    let begins: Vec<u64> = runs.iter().map(|run| run[0].start.wrapping_sub(image_base)).collect();
    let deltas = || runs.iter().flat_map(|run| run.windows(2)).map(|pair| pair[1].start - pair[0].start);
    let unit_log2 = deltas().fold(4, |unit, delta| unit.min(delta.trailing_zeros()));
    let cost = |group: u32| -> u64 {
        let bits =
            |delta: u64| u64::from(width_of((delta >> unit_log2) - 1).div_ceil(group).max(1) * (group + 1));
        deltas().map(bits).sum()
    };
    // Measured for each program: how long instructions are, and so how large deltas are, depends on the processor.
    let group = GROUPS.min_by_key(|&group| cost(group)).unwrap_or(layout::COUNT_BITS);

    let mut sequences = RuleSequences::default();
    sequences.add(&runs);
    let mut packed_deltas = Vec::new();
    let mut places = Vec::with_capacity(runs.len());
    let mut bits = BitWriter::new(&mut packed_deltas);
    let mut at = 0u64;
    for run in &runs {
        places.push(at);
        bits.put(run.len() as u64 - 1, layout::COUNT_BITS);
        at += u64::from(layout::COUNT_BITS);
        for pair in run.windows(2) {
            // Rows have different addresses, so that a delta is at least one unit.
            let mut left = ((pair[1].start - pair[0].start) >> unit_log2) - 1;
            loop {
                let more = u64::from(left >> group != 0);
                bits.put((left & ((1 << group) - 1)) << 1 | more, group + 1);
                at += u64::from(group) + 1;
                left >>= group;
                if more == 0 {
                    break;
                }
            }
        }
    }
    bits.finish();

    let (saves, rules) = rules(unwind);
    let starts = starts::encode(&begins, end, BUCKETS);
    let run_record = |i: usize| [i64::from(sequences.of_run[i]), places[i] as i64];
    let run_table = Table { count: runs.len(), record: run_record }.encode();
    let rule_table = Table { count: rules.len(), record: |i: usize| rules[i] }.encode();
    let rule_width = width_of(rules.len() as u64 - 1);
    let mut out = Vec::new();
    let parts = [starts.len(), run_table.len(), rule_table.len(), sequences.rules.len(), saves.len()];
    for len in lengths(parts)? {
        out.extend_from_slice(&len.to_le_bytes());
    }
    out.extend_from_slice(&[rule_width as u8, group as u8, unit_log2 as u8, 0]);
    out.extend_from_slice(&starts);
    out.extend_from_slice(&run_table);
    out.extend_from_slice(&rule_table);
    out.extend_from_slice(&saves);
    let mut bits = BitWriter::new(&mut out);
    sequences.rules.iter().for_each(|&rule| bits.put(rule.into(), rule_width));
    bits.finish();
    out.extend_from_slice(&packed_deltas);
    out.resize(out.len() + TAIL, 0);
    Ok(Section::new(SectionId::UNWIND, out))
}

/// The lengths of the parts, in the order of the section. A part whose length does not fit is an error: with a truncated length a
/// reader would look for the next part in the wrong place.
fn lengths(parts: [usize; 5]) -> Result<[u32; 5], EncodeError> {
    let mut lengths = [0; 5];
    for ((length, bytes), what) in
        lengths.iter_mut().zip(parts).zip(["starts", "runs", "rules", "sequences", "saves"])
    {
        *length = u32::try_from(bytes).map_err(|_| EncodeError::UnwindPart { what, bytes })?;
    }
    Ok(lengths)
}

/// Splits the rows into runs. A run has at most [`ROWS`] rows of one entry, and the code after the entry that no other entry
/// covers. The last row of the program has no rule and belongs to no run: the last run ends at its address.
fn runs(rows: &[UnwindRow]) -> Vec<&[UnwindRow]> {
    let mut runs = Vec::new();
    let mut first = 0;
    for at in 1..rows.len() {
        let passed = at - first;
        let is_last = at + 1 == rows.len();
        let bytes = rows.get(at + 1).map_or(0, |next| next.start - rows[at].start);
        let is_long = bytes.saturating_mul(passed as u64) > LONG;
        if is_last || rows[at].first || passed == ROWS || is_long {
            runs.push(&rows[first..at]);
            first = at;
        }
    }
    runs
}

/// The sequences of rules of all runs, concatenated. A run may use a part of the sequence of another run.
#[derive(Default)]
struct RuleSequences {
    rules: Vec<u32>,
    /// For each run the index of its first rule in `rules`.
    of_run: Vec<u32>,
}

impl RuleSequences {
    fn add(&mut self, runs: &[&[UnwindRow]]) {
        let of = |run: &[UnwindRow]| -> Vec<u32> { run.iter().map(|row| row.rule).collect() };
        let mut wanted: Vec<Vec<u32>> = runs.iter().map(|run| of(run)).collect();
        // The longest first: a shorter sequence may be the beginning or the end of a longer one, and is not added then.
        wanted.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        wanted.dedup();
        let mut known: HashMap<Vec<u32>, u32> = HashMap::default();
        for sequence in wanted {
            if known.contains_key(&sequence) {
                continue;
            }
            let at = self.rules.len() as u32;
            self.rules.extend_from_slice(&sequence);
            // Only beginnings and ends, two of each length. All parts of a sequence would be as many as the square of its length.
            for cut in 1..sequence.len() {
                known.entry(sequence[..cut].to_vec()).or_insert(at);
                known.entry(sequence[cut..].to_vec()).or_insert(at + cut as u32);
            }
            known.entry(sequence).or_insert(at);
        }
        self.of_run = runs.iter().map(|run| known[&of(run)]).collect();
    }
}

/// Returns the bytes of the records of saved registers and of the expressions, and the records of the rules, which refer to these
/// by offset.
fn rules(unwind: &UnwindRows) -> (Vec<u8>, Vec<[i64; 3]>) {
    let mut out = Vec::new();
    let mut place = |record: &[u8]| {
        let at = out.len() as i64;
        out.extend_from_slice(record);
        at
    };
    let saves: Vec<i64> = unwind.saves.iter().map(|record| place(record)).collect();
    let with_len = |bytes: &Vec<u8>| {
        let mut record = Vec::new();
        put_varint(&mut record, bytes.len() as u64);
        record.extend_from_slice(bytes);
        place(&record)
    };
    let expressions: Vec<i64> = unwind.expressions.iter().map(with_len).collect();
    let rule = |rule: &crate::model::UnwindRule| {
        let (base, offset) = match rule.cfa {
            UnwindCfa::Unknown => (layout::UNKNOWN, 0),
            UnwindCfa::Register { register, offset } => (layout::FIRST_REGISTER + register as i64, offset),
            UnwindCfa::Expression(number) => (layout::BY_EXPRESSION, expressions[number as usize]),
        };
        [base, offset, saves[rule.saves as usize]]
    };
    // Rule 0 is code without an entry, so the numbers of the other rules are those of [`UnwindRow`](crate::model::UnwindRow).
    let rules = std::iter::once([layout::NO_ENTRY, 0, 0]).chain(unwind.rules.iter().map(rule)).collect();
    (out, rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_part_of_4_gib_is_refused_by_name() {
        let most = u32::MAX as usize;
        assert_eq!(lengths([most, 1, 2, 3, most]).unwrap(), [u32::MAX, 1, 2, 3, u32::MAX]);
        let error = lengths([0, 0, most + 1, 0, 0]).unwrap_err().to_string();
        assert_eq!(error, "the rules of UNWIND have 4294967296 bytes: a file holds less than 2^32");
        assert!(lengths([0, 0, 0, 0, usize::MAX]).unwrap_err().to_string().contains("saves"));
    }

    #[test]
    fn a_program_whose_only_row_is_not_stored_has_no_end() {
        let row = UnwindRow { start: 0x1000, rule: 0, first: true };
        let unwind = UnwindRows { rows: vec![row], ..UnwindRows::default() };
        let bytes = section(&unwind, 0x400).unwrap().bytes;
        // The starts follow the lengths of the five parts and four more bytes.
        let len = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        foldsym_format::starts::Starts::open(&bytes[24..24 + len]).unwrap().verify().unwrap();
    }
}

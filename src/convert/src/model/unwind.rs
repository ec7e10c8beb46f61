//! Rows of call frame information of the whole program.

use crate::util::hash::HashMap;

/// The rules for the caller's registers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnwindRule {
    /// The canonical frame address.
    pub cfa: UnwindCfa,
    /// Index into [`UnwindRows::saves`].
    pub saves: u32,
}

/// How the canonical frame address is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnwindCfa {
    /// It is not known.
    Unknown,
    /// A register plus an offset.
    Register { register: u64, offset: i64 },
    /// Index into [`UnwindRows::expressions`].
    Expression(u32),
}

/// A row: the rules from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwindRow {
    pub start: u64,
    /// 0: no entry covers it; else 1 + index into [`UnwindRows::rules`].
    pub rule: u32,
    /// It begins an entry.
    pub first: bool,
}

/// All rows of a program.
#[derive(Clone, Debug, Default)]
pub struct UnwindRows {
    /// By address; the last one has rule 0.
    pub rows: Vec<UnwindRow>,
    pub rules: Vec<UnwindRule>,
    /// The rules of saved registers, each in the file's encoding.
    pub saves: Vec<Vec<u8>>,
    pub expressions: Vec<Vec<u8>>,
}

impl UnwindRows {
    /// The number of a rule in rows. A new rule is added; `known` has the numbers of all.
    pub(crate) fn number(&mut self, known: &mut HashMap<UnwindRule, u32>, rule: UnwindRule) -> u32 {
        let next = self.rules.len() as u32 + 1;
        let number = *known.entry(rule.clone()).or_insert(next);
        if number == next {
            self.rules.push(rule);
        }
        number
    }
}

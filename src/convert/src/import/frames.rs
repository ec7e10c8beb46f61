//! Turns STACK CFI records into rows of call frame information.
//!
//! A record has a rule for `.cfa`, for `.ra` (the return address) and for registers, each an expression in postfix form. Rules of simple
//! forms are rules of DWARF, the others become DWARF expressions. A change has the rules that differ from the row before.

use std::collections::BTreeMap;

use foldsym_format::records::unwind as layout;
use foldsym_format::varint;

use super::registers::NamedRegisters;
use super::symbols::{FrameStart, SymTables, at};
use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{UnwindCfa, UnwindRow, UnwindRows, UnwindRule};
use crate::util::budget::Allowance;
use crate::util::hash::HashMap;

/// The words of an expression, at most: readers bound the steps of one.
const MOST_WORDS: usize = 64;
/// The values on the stack of a reader, less the frame address.
const DEEPEST: usize = 30;

/// The rows of a file of so many bytes.
pub(super) fn rows(
    symbols: &SymTables<'_>,
    registers: &NamedRegisters,
    bytes: usize,
    diagnostics: &mut Diagnostics,
) -> UnwindRows {
    let mut order: Vec<&FrameStart<'_>> = symbols.frames.iter().collect();
    order.sort_by_key(|frame| (frame.address, frame.end));
    let mut writer = RowWriter {
        registers,
        rows: UnwindRows::default(),
        saves: HashMap::default(),
        expressions: HashMap::default(),
        rules: HashMap::default(),
        left: Allowance::of(bytes as u64, 0).kept(),
        covered: 0,
        diagnostics,
    };
    for frame in order {
        let start = frame.address.max(writer.covered);
        if start > frame.address {
            writer.diagnostics.add(Kind::OverlappingRecord, frame.offset, || at(frame.offset));
        }
        if start < frame.end {
            writer.frame(frame, start, &symbols.frame_changes[frame.changes.clone()]);
        }
    }
    writer.gap(u64::MAX);
    writer.rows
}

struct RowWriter<'r, 'd> {
    registers: &'r NamedRegisters,
    rows: UnwindRows,
    saves: HashMap<Vec<u8>, u32>,
    expressions: HashMap<Vec<u8>, u32>,
    rules: HashMap<UnwindRule, u32>,
    /// Bytes that may still be kept: each change may make a new list of all registers.
    left: u64,
    /// The end of the code that has rows.
    covered: u64,
    diagnostics: &'d mut Diagnostics,
}

/// The rules that hold.
#[derive(Clone, Default)]
struct Rules {
    cfa: Option<Cfa>,
    /// Of the return address.
    returns: Option<Vec<u8>>,
    /// By register, in the file's encoding.
    saved: BTreeMap<u64, Vec<u8>>,
}

#[derive(Clone)]
enum Cfa {
    Register(u64, i64),
    Expression(Vec<u8>),
}

impl RowWriter<'_, '_> {
    fn frame(&mut self, frame: &FrameStart<'_>, start: u64, changes: &[(u64, &[u8])]) {
        self.gap(start);
        let mut rules = Rules::default();
        self.apply(&mut rules, frame.rules, frame.offset);
        let mut order: Vec<&(u64, &[u8])> = changes.iter().collect();
        order.sort_by_key(|(address, _)| *address);
        let mut changes = order.into_iter().peekable();
        let mut address = start;
        let mut first = true;
        loop {
            while let Some((_, text)) = changes.next_if(|(change, _)| *change <= address) {
                self.apply(&mut rules, text, frame.offset);
            }
            let next = changes.peek().map_or(frame.end, |(next, _)| *next).min(frame.end);
            let rule = self.rule(&rules).unwrap_or_else(|| {
                self.diagnostics.add(Kind::InexpressibleFrame, frame.offset, || at(frame.offset));
                0
            });
            self.rows.rows.push(UnwindRow { start: address, rule, first });
            first = false;
            if next == frame.end {
                break;
            }
            address = next;
        }
        self.covered = frame.end;
    }

    /// Ends the code that has rows, unless more begins right there.
    fn gap(&mut self, next: u64) {
        if self.covered < next && !self.rows.rows.is_empty() {
            self.rows.rows.push(UnwindRow { start: self.covered, rule: 0, first: true });
        }
    }

    /// Changes rules as a record says. A rule that cannot be expressed leaves its register without one.
    fn apply(&mut self, rules: &mut Rules, text: &[u8], offset: u64) {
        let words = text.split(|&byte| byte == b' ' || byte == b'\t').filter(|word| !word.is_empty());
        let words: Vec<&[u8]> = words.collect();
        let mut lost = words.first().is_some_and(|word| !word.ends_with(b":"));
        for rule in words.chunk_by(|_, next| !next.ends_with(b":")) {
            let Some(name) = rule[0].strip_suffix(b":") else { continue };
            let expression = self.expression(&rule[1..]);
            match name {
                b".cfa" => {
                    rules.cfa = expression.as_deref().and_then(cfa);
                    lost |= rules.cfa.is_none();
                }
                b".ra" => {
                    rules.returns = expression.as_deref().and_then(|words| match words {
                        // The exporter's mark for a frame without a caller.
                        [RuleWord::Number(0)] => Some(vec![layout::UNDEFINED as u8]),
                        words => saved(words, self.registers.returns),
                    });
                    lost |= rules.returns.is_none();
                }
                name => match self.registers.number(name) {
                    Some(register) => match expression.as_deref().and_then(|words| saved(words, register)) {
                        Some(rule) => drop(rules.saved.insert(register, rule)),
                        None => {
                            lost = true;
                            rules.saved.insert(register, vec![layout::UNDEFINED as u8]);
                        }
                    },
                    None => lost = true,
                },
            }
        }
        if lost {
            self.diagnostics.add(Kind::InexpressibleFrame, offset, || at(offset));
        }
    }

    fn expression(&self, words: &[&[u8]]) -> Option<Vec<RuleWord>> {
        if words.is_empty() || words.len() > MOST_WORDS {
            return None;
        }
        let words: Option<Vec<RuleWord>> = words.iter().map(|word| self.word(word)).collect();
        words.filter(|words| is_sound(words))
    }

    fn word(&self, word: &[u8]) -> Option<RuleWord> {
        Some(match word {
            b".cfa" => RuleWord::Cfa,
            b".undef" => RuleWord::Undefined,
            b"^" => RuleWord::Load,
            b"+" => RuleWord::Operation(0x22),
            b"-" => RuleWord::Operation(0x1c),
            b"*" => RuleWord::Operation(0x1e),
            b"/" => RuleWord::Operation(0x1b),
            b"%" => RuleWord::Operation(0x1d),
            b"@" => RuleWord::Align,
            word => match self.registers.number(word) {
                Some(register) => RuleWord::Register(register),
                None => RuleWord::Number(std::str::from_utf8(word).ok()?.parse().ok()?),
            },
        })
    }

    /// The number of a row's rule; `None` if it cannot be kept.
    fn rule(&mut self, rules: &Rules) -> Option<u32> {
        let cfa = match rules.cfa.as_ref()? {
            &Cfa::Register(register, offset) => UnwindCfa::Register { register, offset },
            Cfa::Expression(bytes) => UnwindCfa::Expression(intern(
                &mut self.expressions,
                &mut self.rows.expressions,
                bytes,
                &mut self.left,
            )?),
        };
        let returns = rules.returns.as_ref()?;
        let mut out = Vec::new();
        // `.ra` counts, whatever the register has a rule of its own for.
        let others = rules.saved.iter().filter(|(register, _)| **register != self.registers.returns);
        let others: Vec<_> = others.map(|(register, rule)| (*register, rule)).collect();
        put(&mut out, (others.len() as u64 + 1) << 1);
        put(&mut out, self.registers.returns);
        let place = others.partition_point(|(register, _)| *register < self.registers.returns);
        let (below, above) = others.split_at(place);
        let own = (self.registers.returns, returns);
        for (register, rule) in below.iter().chain([&own]).chain(above) {
            // The first number of a rule has the kind in its lowest bits, and the kind is the first byte here.
            put(&mut out, *register << layout::KIND_BITS | u64::from(rule[0]));
            out.extend_from_slice(&rule[1..]);
        }
        let saves = intern(&mut self.saves, &mut self.rows.saves, &out, &mut self.left);
        let Some(saves) = saves else {
            let limit = || "bytes of rules, in proportion to the bytes of the file".to_owned();
            self.diagnostics.add(Kind::Cap(Cap::FrameRows), 0, limit);
            return None;
        };
        Some(self.rows.number(&mut self.rules, UnwindRule { cfa, saves }))
    }
}

/// A word of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleWord {
    Cfa,
    Undefined,
    Load,
    Register(u64),
    Number(i64),
    /// An operation of DWARF on two values.
    Operation(u8),
    /// The first value, rounded down to a multiple of the second, a power of 2.
    Align,
}

/// True if every operation has its values, and one value is left.
fn is_sound(words: &[RuleWord]) -> bool {
    let mut depth = 0usize;
    for word in words {
        let needed = match word {
            RuleWord::Cfa | RuleWord::Undefined | RuleWord::Register(_) | RuleWord::Number(_) => 0,
            RuleWord::Load => 1,
            RuleWord::Operation(_) | RuleWord::Align => 2,
        };
        if depth < needed || depth - needed >= DEEPEST {
            return false;
        }
        depth = depth - needed + 1;
    }
    depth == 1
}

/// The offset in `N +` or `N -`.
fn offset(words: &[RuleWord]) -> Option<i64> {
    match *words {
        [] => Some(0),
        [RuleWord::Number(number), RuleWord::Operation(0x22)] => Some(number),
        [RuleWord::Number(number), RuleWord::Operation(0x1c)] => number.checked_neg(),
        _ => None,
    }
}

fn cfa(words: &[RuleWord]) -> Option<Cfa> {
    if let [RuleWord::Register(register), rest @ ..] = words
        && let Some(offset) = offset(rest)
        && offset.unsigned_abs() < layout::MAX_OFFSET
    {
        return Some(Cfa::Register(*register, offset));
    }
    code(words).map(Cfa::Expression)
}

/// A register's rule: its kind, then its value. `None` if it cannot be expressed.
fn saved(words: &[RuleWord], own: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (kind, value) = match words {
        [RuleWord::Undefined] => (layout::UNDEFINED, None),
        [RuleWord::Register(register)] if *register == own => (layout::SAME, None),
        [RuleWord::Register(register)] => (layout::REGISTER, Some(*register)),
        [RuleWord::Cfa, rest @ .., RuleWord::Load] if offset(rest).is_some() => {
            (layout::OFFSET, offset(rest).map(varint::zigzag))
        }
        [RuleWord::Cfa, rest @ ..] if offset(rest).is_some() => {
            (layout::VALUE_OFFSET, offset(rest).map(varint::zigzag))
        }
        _ => {
            let (kind, words) = match words {
                [place @ .., RuleWord::Load] => (layout::EXPRESSION, place),
                _ => (layout::VALUE_EXPRESSION, words),
            };
            // The frame address is on the stack at first: an expression cannot get it later.
            let code = code(words.strip_prefix(&[RuleWord::Cfa]).unwrap_or(words))?;
            out.push(kind as u8);
            put(&mut out, code.len() as u64);
            out.extend_from_slice(&code);
            return Some(out);
        }
    };
    out.push(kind as u8);
    value.into_iter().for_each(|value| put(&mut out, value));
    Some(out)
}

/// The operations of DWARF (DWARF 5 2.5); `None` if a word has none.
fn code(words: &[RuleWord]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for &word in words {
        match word {
            RuleWord::Cfa | RuleWord::Undefined => return None,
            RuleWord::Load => out.push(0x06),
            // `DW_OP_breg0` to `DW_OP_breg31`, `DW_OP_bregx`
            RuleWord::Register(register) => {
                match u8::try_from(register).ok().filter(|register| *register < 32) {
                    Some(register) => out.push(0x70 + register),
                    None => {
                        out.push(0x92);
                        put(&mut out, register);
                    }
                }
                out.push(0);
            }
            // `DW_OP_const8s`
            RuleWord::Number(number) => {
                out.push(0x0f);
                out.extend_from_slice(&number.to_le_bytes());
            }
            RuleWord::Operation(operation) => out.push(operation),
            // `DW_OP_neg`, `DW_OP_and`
            RuleWord::Align => out.extend_from_slice(&[0x1f, 0x1a]),
        }
    }
    Some(out)
}

fn intern(
    known: &mut HashMap<Vec<u8>, u32>,
    all: &mut Vec<Vec<u8>>,
    bytes: &[u8],
    left: &mut u64,
) -> Option<u32> {
    if let Some(&found) = known.get(bytes) {
        return Some(found);
    }
    // Kept twice, each with a header.
    *left = left.checked_sub(2 * bytes.len() as u64 + 64)?;
    let number = all.len() as u32;
    known.insert(bytes.to_vec(), number);
    all.push(bytes.to_vec());
    Some(number)
}

fn put(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; varint::MAX_LEN];
    let len = varint::write(value, &mut bytes);
    out.extend_from_slice(&bytes[..len]);
}

//! Writes rows of call frame information as `STACK CFI` records: all rules of a row, or only the rules that differ from the row before.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use foldsym_lookup::{Error, SectionId};
use foldsym_unwind::{Cfa, Row, Rule, Unwind};

use crate::ExportError;

/// The most rows with only changes after a row with all rules: a reader steps through them one by one.
const MOST_CHANGES: usize = 64;

/// For each register, `.cfa` or `.ra` the postfix expression of its rule.
// The map is ordered, so that the same rows give the same bytes.
type Rules = BTreeMap<String, String>;

/// Writes all rows, and returns the number of rows that this format cannot express. Addresses in the file are relative to `base`.
pub(crate) fn write(
    unwind: &Unwind<'_>,
    machine: u16,
    base: u64,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    let mut writer = RuleWriter {
        base,
        records: Vec::new(),
        block: Vec::new(),
        end: 0,
        before: Rules::new(),
        left_out: 0,
    };
    let read = unwind.each_row(&mut |row| writer.row(row, rules(row, machine)));
    let damaged = |error: foldsym_format::FormatError| Error {
        section: SectionId::UNWIND,
        what: error.what,
        offset: error.offset,
    };
    read.map_err(damaged)?;
    writer.end_block();
    out.write_all(&writer.records)?;
    Ok(writer.left_out)
}

struct RuleWriter {
    base: u64,
    records: Vec<u8>,
    /// The rows of the block that is not written yet: the address and the text of each.
    block: Vec<(u64, String)>,
    /// The end of the last of these rows.
    end: u64,
    before: Rules,
    left_out: u64,
}

impl RuleWriter {
    fn row(&mut self, row: &Row<'_>, rules: Option<Rules>) {
        let Some(rules) = rules else {
            self.left_out += 1;
            return self.end_block();
        };
        // If only `.cfa` and `.ra` have rules, no register is saved: a function begins or ends here. A new block costs nothing then.
        let begins_anew = rules.len() == 2;
        // A record holds up to the next one, so a gap between rows begins a new block.
        if self.end != row.start || self.block.len() > MOST_CHANGES || begins_anew {
            self.end_block();
        }
        let mut text = String::new();
        let is_first = self.block.is_empty();
        for (register, expression) in &rules {
            if is_first || self.before.get(register) != Some(expression) {
                // Writing to a string cannot fail.
                let _ = write!(text, " {register}: {expression}");
            }
        }
        if !is_first {
            for register in self.before.keys().filter(|register| !rules.contains_key(*register)) {
                let _ = write!(text, " {register}: {register}");
            }
        }
        if is_first || !text.is_empty() {
            self.block.push((row.start.wrapping_sub(self.base), text));
        }
        self.end = row.end;
        self.before = rules;
    }

    /// Writes the rows of the block. Its first record has the number of bytes that it covers, which is known only now.
    fn end_block(&mut self) {
        let end = self.end.wrapping_sub(self.base);
        for (at, (start, text)) in self.block.drain(..).enumerate() {
            let head = match at {
                0 => format!("STACK CFI INIT {start:x} {:x}{text}\n", end.wrapping_sub(start)),
                _ => format!("STACK CFI {start:x}{text}\n"),
            };
            self.records.extend_from_slice(head.as_bytes());
        }
        self.before.clear();
    }
}

/// The rules of a row; `None` if the format cannot express them.
fn rules(row: &Row<'_>, machine: u16) -> Option<Rules> {
    let Cfa::Register { register: base, offset } = row.cfa else { return None };
    let mut rules = Rules::new();
    rules.insert(".cfa".to_owned(), format!("{} {}", register(machine, base)?, added(offset)));
    // Without a rule the return address is in the register where the call put it.
    let mut returns_to = register(machine, row.return_register).unwrap_or_default();
    for (number, rule) in row.rules() {
        // Vector registers have no names in this format, and no unwinder needs them.
        let name = register(machine, number);
        let place = match rule {
            Rule::Undefined if number == row.return_register => "0".to_owned(),
            // A register that the callee need not preserve: no unwinder needs its value.
            Rule::Undefined => continue,
            Rule::SameValue => match &name {
                Some(name) => name.clone(),
                None => continue,
            },
            Rule::Offset(offset) => format!(".cfa {} ^", added(offset)),
            Rule::ValueOffset(offset) => format!(".cfa {}", added(offset)),
            Rule::Register(other) => register(machine, other)?,
            Rule::Expression(_) | Rule::ValueExpression(_) => return None,
        };
        if number == row.return_register {
            returns_to.clone_from(&place);
        }
        let Some(name) = name else { continue };
        if number != row.return_register || machine != X86_64 && machine != X86 {
            rules.insert(name, place);
        }
    }
    if returns_to.is_empty() {
        return None;
    }
    rules.insert(".ra".to_owned(), returns_to);
    Some(rules)
}

fn added(offset: i64) -> String {
    match offset {
        0.. => format!("{offset} +"),
        _ => format!("{} -", offset.unsigned_abs()),
    }
}

// `EM_386`, `EM_ARM`, `EM_X86_64`, `EM_AARCH64`.
const X86: u16 = 3;
const ARM: u16 = 40;
const X86_64: u16 = 62;
const AARCH64: u16 = 183;

/// Breakpad's name of the register with a DWARF number; `None` if it has none.
fn register(machine: u16, number: u64) -> Option<String> {
    const X86_NAMES: [&str; 9] = ["$eax", "$ecx", "$edx", "$ebx", "$esp", "$ebp", "$esi", "$edi", "$eip"];
    const X86_64_NAMES: [&str; 17] = [
        "$rax", "$rdx", "$rcx", "$rbx", "$rsi", "$rdi", "$rbp", "$rsp", "$r8", "$r9", "$r10", "$r11", "$r12",
        "$r13", "$r14", "$r15", "$rip",
    ];
    let at = usize::try_from(number).ok()?;
    match machine {
        X86 => X86_NAMES.get(at).map(|name| (*name).to_owned()),
        X86_64 => X86_64_NAMES.get(at).map(|name| (*name).to_owned()),
        ARM => match number {
            0..=12 => Some(format!("r{number}")),
            13 => Some("sp".to_owned()),
            14 => Some("lr".to_owned()),
            15 => Some("pc".to_owned()),
            _ => None,
        },
        AARCH64 => match number {
            0..=30 => Some(format!("x{number}")),
            31 => Some("sp".to_owned()),
            32 => Some("pc".to_owned()),
            _ => None,
        },
        _ => None,
    }
}

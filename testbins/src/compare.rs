//! Compares answers with the expected ones, address by address, under the named rules by which they may differ.

use std::collections::BTreeMap;

use crate::expected::{Expected, PrintedFrame, keeps_llvm_name};

/// One frame of an answer; "" and 0 for what is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The linkage name, not demangled.
    pub name: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// What the answers of one source of answers can be held to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Compare columns; a `.fsym` has them only if they were requested.
    pub columns: bool,
    /// The source reads no symbols (`addr2line`): the outermost name is not compared, and where llvm-symbolizer knows
    /// a symbol's name alone, no answer is right.
    pub dwarf_only: bool,
}

/// One address with a wrong answer.
#[derive(Debug, Clone)]
pub struct Mismatch {
    pub address: u64,
    /// What differs: `depth`, `name`, `file`, `line`, `column`.
    pub what: &'static str,
    pub expected: Vec<Frame>,
    pub found: Vec<Frame>,
}

/// The outcome for one program.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub addresses: u64,
    /// How often each accepted difference was used, by kind.
    pub used: BTreeMap<String, u64>,
    pub mismatches: Vec<Mismatch>,
}

impl Outcome {
    /// A short text of the first `limit` mismatches: one line each for the address and for both stacks.
    pub fn describe(&self, limit: usize) -> String {
        let stack = |frames: &[Frame]| -> String {
            let texts = frames.iter().map(|f| format!("{} {}:{}:{}", f.name, f.file, f.line, f.column));
            texts.collect::<Vec<_>>().join(" <- ")
        };
        let mut text = format!("{} of {} addresses differ", self.mismatches.len(), self.addresses);
        for m in self.mismatches.iter().take(limit) {
            let (expected, found) = (stack(&m.expected), stack(&m.found));
            text += &format!("\n{:#x} {}\n  expected {expected}\n  found    {found}", m.address, m.what);
        }
        text
    }
}

/// Asks `answer` for every address of `expected`, innermost frame first.
///
/// An empty answer and one frame without name and file are the same: nothing is known.
pub fn compare(expected: &Expected, options: Options, mut answer: impl FnMut(u64) -> Vec<Frame>) -> Outcome {
    let mut outcome = Outcome::default();
    for run in &expected.runs {
        let wanted = &expected.stacks[run.stack];
        for address in run.start..run.end {
            outcome.addresses += 1;
            let found = answer(address);
            match check(expected, options, address, wanted, &found) {
                Ok(None) => {}
                Ok(Some(kind)) => *outcome.used.entry(kind.to_owned()).or_default() += 1,
                Err(what) => {
                    let wanted = wanted.iter().map(|f| Frame {
                        name: f.name.clone(),
                        file: f.file.clone(),
                        line: f.line,
                        column: f.column,
                    });
                    outcome.mismatches.push(Mismatch { address, what, expected: wanted.collect(), found });
                }
            }
        }
    }
    outcome
}

/// The accepted difference that was used, or what is wrong.
fn check<'e>(
    expected: &'e Expected,
    options: Options,
    address: u64,
    wanted: &[PrintedFrame],
    found: &[Frame],
) -> Result<Option<&'e str>, &'static str> {
    let unknown = |name: &str, file: &str| name.is_empty() && file.is_empty();
    let nothing_found = found.iter().all(|f| unknown(&f.name, &f.file));
    let accepted = if options.dwarf_only { None } else { expected.accepted_at(address) };
    if wanted.iter().all(|f| unknown(&f.name, &f.file)) {
        return match accepted {
            Some(accepted) if found.len() == 1 && accepted.names.contains(&found[0].name) => {
                Ok(Some(&accepted.kind))
            }
            Some(accepted) if !keeps_llvm_name(&accepted.kind) => Err("name"),
            _ if nothing_found => Ok(None),
            // The line table covers bytes that DW_AT_ranges of the unit leaves out: padding and thunks without a DIE.
            _ if !options.dwarf_only && found.len() == 1 && found[0].name.is_empty() => {
                Ok(Some("outside-unit"))
            }
            _ => Err("depth"),
        };
    }
    // Between functions llvm-symbolizer prints the line of the row before; that code belongs to no function.
    if nothing_found && wanted.len() == 1 && wanted[0].name.is_empty() {
        return Ok(Some("padding"));
    }
    if options.dwarf_only && nothing_found && wanted.len() == 1 && wanted[0].file.is_empty() {
        return Ok(Some("symbol-only"));
    }
    // Where there is no DWARF, llvm-symbolizer fills the file in from the STT_FILE symbol before it, often a wrong one.
    let by_symbol = wanted.len() == 1 && wanted[0].line == 0 && !wanted[0].file.contains('/');
    let file_of_symbol = by_symbol && !wanted[0].file.is_empty() && found.iter().all(|f| f.file.is_empty());
    if file_of_symbol && options.dwarf_only && nothing_found {
        return Ok(Some("symbol-file"));
    }
    if wanted.len() != found.len() {
        return Err("depth");
    }
    let mut used = None;
    for (depth, (wanted_frame, frame)) in wanted.iter().zip(found).enumerate() {
        let outermost = depth + 1 == wanted.len();
        if outermost && options.dwarf_only {
            // The DIE's name against the symbol's: the accepted differences are about symbols.
        } else if outermost {
            match accepted {
                Some(accepted) if accepted.names.contains(&frame.name) => used = Some(accepted.kind.as_str()),
                Some(accepted) if !keeps_llvm_name(&accepted.kind) => return Err("name"),
                _ if frame.name != wanted_frame.name => return Err("name"),
                _ => {}
            }
        } else if frame.name != wanted_frame.name {
            return Err("name");
        }
        if file_of_symbol {
            used = used.or(Some("symbol-file"));
        } else if frame.file != wanted_frame.file {
            return Err("file");
        }
        if frame.line != wanted_frame.line {
            return Err("line");
        }
        // A column of no line means nothing, and only llvm-symbolizer prints it.
        if options.columns && frame.line != 0 && frame.column != wanted_frame.column {
            return Err("column");
        }
    }
    Ok(used)
}

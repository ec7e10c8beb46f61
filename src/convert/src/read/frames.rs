//! Turns `.eh_frame` and `.debug_frame` into one list of unwind rows for the whole program, sorted by address.

use foldsym_expr::cfi::{Cfa, Fde, FrameSection, Row, Rule};
use foldsym_format::records::unwind as layout;
use foldsym_format::varint;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{ImageAddr, UnwindCfa, UnwindRow, UnwindRows, UnwindRule};
use crate::open::{DebugSection, Image, ImageKind};
use crate::util::hash::HashMap;

/// The most registers with a rule in one row. Only functions of GPUs save more.
const REGISTERS: usize = 64;
/// The deepest nesting of `DW_CFA_remember_state`. Compilers nest one or two levels.
const REMEMBERED: usize = 6;
/// The most rows per byte of the sections: an instruction has at least one byte and begins at most one row.
const ROWS_A_BYTE: usize = 1;
/// The most bytes of instructions of CIEs that are executed: [`MIN_INITIAL`], and this many for each byte of the sections. Each entry
/// executes those of its CIE, and any number of entries may have one CIE. An entry has at least 16 bytes, and a CIE about 10 bytes of
/// instructions; for a GPU it has up to 2 KiB.
const INITIAL_A_BYTE: usize = 64;
const MIN_INITIAL: usize = 1 << 24;

/// The unwind rows of the program. None for object files, since their sections have no final addresses.
pub(crate) fn read_unwind(image: &Image<'_>, diagnostics: &mut Diagnostics) -> UnwindRows {
    let mut reader = Reader::default();
    if image.kind == ImageKind::Relocatable {
        return reader.rows;
    }
    let sections = sections(image);
    let mut fdes = Vec::new();
    for (order, section) in sections.iter().enumerate() {
        for fde in section.fdes() {
            match fde {
                Ok(fde) => fdes.push((fde, order)),
                Err(error) => diagnostics.add(Kind::BadFrame, error.entry, || error.to_string()),
            }
        }
    }
    // If several entries begin at one address, `.eh_frame` comes first, then file order. `foldsym cfi` uses the same order.
    fdes.sort_by_key(|(fde, order)| (fde.start, *order, fde.offset));
    let held = sections.iter().map(|section| section.bytes.len()).sum::<usize>();
    let most = held * ROWS_A_BYTE;
    let most_initial = held.saturating_mul(INITIAL_A_BYTE).saturating_add(MIN_INITIAL);
    let (mut end, mut initial) = (0, 0usize);
    for (fde, order) in &fdes {
        // Linkers drop the entries of removed and folded functions from `.eh_frame`. `.debug_frame` is not loaded, so its
        // entries stay there with a tombstone in place of the address.
        let Some(limit) = executable_end(image, fde) else {
            diagnostics.add(Kind::DeadFrame, fde.offset, || {
                format!("call frame entry for {:#x}, which is in no executable section", fde.start)
            });
            continue;
        };
        // Each address has one row. `.eh_frame` and `.debug_frame` may both describe a function; the entry that came
        // first keeps all of its range, and a later one only what is after it.
        let from = fde.start.max(end);
        let to = fde.start.saturating_add(fde.len).min(limit);
        if fde.start < end {
            diagnostics.add(Kind::OverlappingFrames, fde.offset, || {
                format!(
                    "the call frame entry for {:#x}..{to:#x} overlaps an earlier one and is used only from {end:#x} on",
                    fde.start
                )
            });
        }
        if from >= to {
            continue;
        }
        if reader.rows.rows.len() > most {
            let problem = || {
                format!(
                    "over {most} rows of call frame information: the code from {from:#x} on cannot be unwound"
                )
            };
            diagnostics.add(Kind::Cap(Cap::FrameRows), fde.offset, problem);
            break;
        }
        initial = initial.saturating_add(fde.initial_len());
        if initial > most_initial {
            let problem = || {
                format!(
                    "over {most_initial} bytes of instructions of common entries: the code from {from:#x} on cannot be unwound"
                )
            };
            diagnostics.add(Kind::Cap(Cap::FrameRows), fde.offset, problem);
            break;
        }
        reader.entry(&sections[*order], fde, from..to, end, diagnostics);
        end = to;
    }
    reader.gap(end);
    reader.rows
}

/// The sections with call frame information that the program has, `.eh_frame` first.
fn sections<'f>(image: &Image<'f>) -> Vec<FrameSection<'f>> {
    let section = |bytes, eh, address| FrameSection {
        bytes,
        eh,
        address,
        address_size: image.arch.address_size,
        big_endian: image.arch.big_endian,
    };
    let named =
        image.sections.iter().find(|section| section.name == ".eh_frame" || section.name == "__eh_frame");
    let eh = named.and_then(|found| {
        let all = image.data.iter().chain(&image.code);
        all.copied().find(|(start, bytes)| *start == found.range.start.0 && !bytes.is_empty())
    });
    let debug = image.debug.get(DebugSection::Frame);
    let mut found: Vec<_> = eh.map(|(start, bytes)| section(bytes, true, start)).into_iter().collect();
    // Addresses in `.debug_frame` are absolute (DWARF 5 6.4.1), so the address of the section does not matter. Those in
    // `.eh_frame` mostly count from the place of the field.
    found.extend((!debug.is_empty()).then(|| section(debug, false, 0)));
    found
}

/// The end of the executable section in which an entry begins.
fn executable_end(image: &Image<'_>, fde: &Fde<'_>) -> Option<u64> {
    let start = ImageAddr(fde.start);
    let behind = image.sections.partition_point(|section| section.range.start <= start);
    let before = image.sections[..behind].iter().rev();
    // Empty sections may have the same address.
    let section = before.take(8).find(|section| section.executable && start < section.range.end)?;
    Some(section.range.end.0)
}

#[derive(Default)]
struct Reader {
    rows: UnwindRows,
    rules: HashMap<UnwindRule, u32>,
    saves: HashMap<Vec<u8>, u32>,
    expressions: HashMap<Vec<u8>, u32>,
}

impl Reader {
    /// Ends the last row: the code from this address on has no unwind information.
    fn gap(&mut self, from: u64) {
        let rows = &mut self.rows.rows;
        if rows.last().is_some_and(|last| last.rule != 0) {
            rows.push(UnwindRow { start: from, rule: 0, first: false });
        }
    }

    /// Appends the rows of an entry, cut to `range`. The previous entry ended at `before`.
    fn entry(
        &mut self,
        section: &FrameSection<'_>,
        fde: &Fde<'_>,
        range: std::ops::Range<u64>,
        before: u64,
        diagnostics: &mut Diagnostics,
    ) {
        if before < range.start {
            self.gap(before);
        }
        let begun = self.rows.rows.len();
        let mut foreign = false;
        let walked =
            section.each_row::<REGISTERS, REMEMBERED>(fde, &mut |row: &Row<'_, REGISTERS>, row_end| {
                // The rows outside of `range` are executed too, since each row takes over the rules of the row before it.
                // Only their storing is left out.
                let start = row.start.max(range.start);
                if row_end <= start || start >= range.end {
                    return;
                }
                // Rule 0 ends the unwinding here. Any rule that is only nearly right would lead to a wrong caller.
                let rule = self.rule(row, fde).unwrap_or_else(|| {
                    foreign = true;
                    0
                });
                let rows = &mut self.rows.rows;
                let first = rows.len() == begun;
                // Damaged instructions may go back to a lower address. Such a row is dropped.
                let same = !first && rows.last().is_some_and(|last| last.rule == rule || last.start >= start);
                if !same {
                    rows.push(UnwindRow { start, rule, first });
                }
            });
        if let Err(error) = walked {
            diagnostics.add(Kind::BadFrameRows, error.entry, || error.to_string());
            // An entry is kept as a whole or not at all: its damage may have begun before the instruction at which the
            // reader saw it.
            self.rows.rows.truncate(begun);
        } else if foreign {
            diagnostics.add(Kind::UnheldFrame, fde.offset, || {
                "a frame address that a .fsym cannot hold: in another address space, or a large offset"
                    .to_owned()
            });
        }
        // The entry still covers its range, so a row must begin here. Else the last row of the entry before would hold
        // for this code.
        if self.rows.rows.len() == begun {
            self.rows.rows.push(UnwindRow { start: range.start, rule: 0, first: true });
        }
    }

    /// The number of a row's rule. `None` if the file format cannot hold the rule.
    fn rule(&mut self, row: &Row<'_, REGISTERS>, fde: &Fde<'_>) -> Option<u32> {
        let cfa = match row.cfa {
            Cfa::Unknown => UnwindCfa::Unknown,
            Cfa::Register { register, offset, space: 0 } => {
                let fits = register < layout::MAX_REGISTER && offset.unsigned_abs() < layout::MAX_OFFSET;
                fits.then_some(UnwindCfa::Register { register, offset })?
            }
            Cfa::Register { .. } => return None,
            Cfa::Expression(bytes) => {
                UnwindCfa::Expression(intern(&mut self.expressions, &mut self.rows.expressions, bytes))
            }
        };
        let saves = intern(&mut self.saves, &mut self.rows.saves, &saves(row, fde));
        Some(self.rows.number(&mut self.rules, UnwindRule { cfa, saves }))
    }
}

fn intern(known: &mut HashMap<Vec<u8>, u32>, all: &mut Vec<Vec<u8>>, bytes: &[u8]) -> u32 {
    if let Some(&found) = known.get(bytes) {
        return found;
    }
    let number = all.len() as u32;
    known.insert(bytes.to_vec(), number);
    all.push(bytes.to_vec());
    number
}

/// Encodes the places in which a row's registers are saved.
fn saves(row: &Row<'_, REGISTERS>, fde: &Fde<'_>) -> Vec<u8> {
    let mut rules: Vec<(u64, Rule<'_>)> = row.rules().collect();
    // The order of the instructions means nothing. In order of the registers, equal rules have equal bytes and are stored
    // once.
    rules.sort_by_key(|(register, _)| *register);
    let mut out = Vec::new();
    put(&mut out, (rules.len() as u64) << 1 | u64::from(fde.is_signal()));
    put(&mut out, fde.cie.return_register);
    for (register, rule) in rules {
        let (kind, value) = match rule {
            Rule::Undefined => (layout::UNDEFINED, None),
            Rule::SameValue => (layout::SAME, None),
            Rule::Offset(offset) => (layout::OFFSET, Some(varint::zigzag(offset))),
            Rule::ValueOffset(offset) => (layout::VALUE_OFFSET, Some(varint::zigzag(offset))),
            Rule::Register(register) => (layout::REGISTER, Some(register)),
            Rule::Expression(bytes) => (layout::EXPRESSION, Some(bytes.len() as u64)),
            Rule::ValueExpression(bytes) => (layout::VALUE_EXPRESSION, Some(bytes.len() as u64)),
        };
        // The format has 61 bits for a register number. A larger number is damage and loses its upper bits.
        put(&mut out, register << layout::KIND_BITS | kind);
        value.into_iter().for_each(|value| put(&mut out, value));
        if let Rule::Expression(bytes) | Rule::ValueExpression(bytes) = rule {
            out.extend_from_slice(bytes);
        }
    }
    out
}

fn put(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; varint::MAX_LEN];
    let len = varint::write(value, &mut bytes);
    out.extend_from_slice(&bytes[..len]);
}

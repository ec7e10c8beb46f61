//! Prints the rows of section UNWIND: where the caller's registers are, from each address on.

use std::fmt::Write;
use std::io;

use foldsym_lookup::{Error, SectionId, SymbolFile};
use foldsym_unwind::{Cfa, FormatError, Row, Rule, Unwind};

use crate::answer::address::Space;
use crate::answer::open::damaged;
use crate::io::failure::{Failure, complain, exit};
use crate::io::mapped::Mapped;
use crate::io::output::Output;

/// Prints all rows, or the one that covers an address.
pub(super) fn run(file: &SymbolFile<'_>, mapped: &Mapped, address: Option<&str>) -> Result<u8, Failure> {
    let wrong = |error| damaged(mapped, error);
    let Some(unwind) = file.unwind().map_err(wrong)? else {
        let what = "no section UNWIND: convert with --unwind";
        return Err(Failure::input(mapped.path(), what));
    };
    let of_section = |error: FormatError| {
        // The reader of rows gets only the bytes of the section, so its errors name no section.
        wrong(Error { section: SectionId::UNWIND, what: error.what, offset: error.offset })
    };
    let mut out = Output::new();
    let code = match address {
        Some(address) => {
            let space = Space { sections: crate::answer::open::sections(file), ..Space::default() };
            let place = space.parse(address);
            let place = place.map_err(|error| Failure::usage(format!("--address: {error}")))?;
            let row = space.image(place).map(|image| unwind.row(image.0)).transpose().map_err(of_section)?;
            match row.flatten() {
                Some(row) => push(&mut out.text, &row),
                None => {
                    complain(&format!("{address}: no row at this address"));
                    return Ok(exit::NOTHING);
                }
            }
            0
        }
        None => {
            let (rows, written) = all(&unwind, &mut out);
            written?;
            // The rows before damage are printed first, then the error.
            out.flush()?;
            if rows.map_err(of_section)? == 0 { exit::NOTHING } else { 0 }
        }
    };
    out.flush()?;
    Ok(code)
}

/// Prints all rows, a buffer at a time. Gives their number, and whether they were written.
fn all(unwind: &Unwind<'_>, out: &mut Output) -> (Result<u64, FormatError>, io::Result<()>) {
    let mut written = Ok(());
    let rows = unwind.each_row(&mut |row| {
        // The walk cannot be stopped.
        if written.is_ok() {
            push(&mut out.text, row);
            written = out.give();
        }
    });
    (rows, written)
}

/// Puts a row as `foldsym cfi` prints one.
fn push(out: &mut Vec<u8>, row: &Row<'_>) {
    let mut text = format!("{:#x}..{:#x}: return reg{}: CFA=", row.start, row.end, row.return_register);
    // Writing to a string cannot fail.
    let _ = match row.cfa {
        Cfa::Unknown => write!(text, "unknown"),
        Cfa::Register { register, offset } => write!(text, "reg{register}{offset:+}"),
        Cfa::Expression(bytes) => write!(text, "expression {}", hex(bytes)),
    };
    for (register, rule) in row.rules() {
        let _ = write!(text, " reg{register}=");
        let _ = match rule {
            Rule::Undefined => write!(text, "undefined"),
            Rule::SameValue => write!(text, "same"),
            Rule::Offset(offset) => write!(text, "[CFA{offset:+}]"),
            Rule::ValueOffset(offset) => write!(text, "CFA{offset:+}"),
            Rule::Register(register) => write!(text, "reg{register}"),
            Rule::Expression(bytes) => write!(text, "[expression {}]", hex(bytes)),
            Rule::ValueExpression(bytes) => write!(text, "expression {}", hex(bytes)),
        };
    }
    if row.signal {
        text.push_str(" signal");
    }
    text.push('\n');
    out.extend_from_slice(text.as_bytes());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

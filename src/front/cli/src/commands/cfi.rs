//! `foldsym cfi`: prints the row of call frame information that holds at an address of a program.

use std::fmt::Write;

use foldsym_convert::internal::open::{Files, FrameBytes, frame_sections};
use foldsym_expr::cfi::{Cfa, FrameSection, Row, Rule};

use crate::args::Cfi;
use crate::io::failure::{Failure, exit};
use crate::io::output::Output;

/// Registers that a row has room for: AMD's compiler names some hundreds of 2,048 that a lane has.
const REGISTERS: usize = 1024;
/// States remembered within states: compilers nest one or two.
const REMEMBERED: usize = 16;

/// One line for each address and each section that covers it.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Cfi) -> Result<u8, Failure> {
    let files = Files::default();
    let sections =
        frame_sections(&files, &args.program, args.target.as_deref()).map_err(|error| Failure {
            message: error.to_string(),
            code: if error.is_usage() { exit::USAGE } else { exit::BAD_INPUT },
        })?;
    let mut out = Output::new();
    let mut code = 0;
    for &address in &args.addresses {
        let mut covered = false;
        // A program may have `.eh_frame` and `.debug_frame`, and both may cover an address.
        for section in &sections {
            let line = line(section, address)
                .map_err(|error| Failure::input(&args.program, format!("section {}: {error}", section.name)));
            // The answers before the damage are printed first, then the error.
            let line = match line {
                Ok(line) => line,
                Err(failure) => {
                    out.flush()?;
                    return Err(failure);
                }
            };
            if let Some(line) = line {
                covered = true;
                out.text.extend_from_slice(line.as_bytes());
            }
        }
        if !covered {
            code = exit::NOTHING;
            out.text.extend_from_slice(format!("{address:#x}: no entry\n").as_bytes());
        }
        out.give()?;
    }
    out.flush()?;
    Ok(code)
}

fn line(section: &FrameBytes<'_>, address: u64) -> Result<Option<String>, foldsym_expr::cfi::CfiError> {
    let frames = FrameSection {
        bytes: section.bytes,
        eh: section.eh,
        address: section.address,
        address_size: section.address_size,
        big_endian: section.big_endian,
    };
    let Some(fde) = frames.find(address)? else { return Ok(None) };
    let row: Row<'_, REGISTERS> = frames.row::<REGISTERS, REMEMBERED>(&fde, address)?;
    let mut text = format!(
        "{address:#x}: {} entry {:#x}, {:#x}..{:#x}, row {:#x}, return reg{}: CFA={}",
        section.name,
        fde.offset,
        fde.start,
        fde.start.wrapping_add(fde.len),
        row.start,
        fde.cie.return_register,
        cfa(row.cfa)
    );
    let mut rules: Vec<_> = row.rules().collect();
    rules.sort_by_key(|(register, _)| *register);
    for (register, rule) in rules {
        // Writing to a string cannot fail.
        let _ = write!(text, " reg{register}={}", self::rule(rule));
    }
    text.push('\n');
    Ok(Some(text))
}

fn cfa(cfa: Cfa<'_>) -> String {
    match cfa {
        Cfa::Unknown => "unknown".to_owned(),
        Cfa::Register { register, offset, space: 0 } => format!("reg{register}{offset:+}"),
        Cfa::Register { register, offset, space } => format!("reg{register}{offset:+} in space {space}"),
        Cfa::Expression(bytes) => format!("expression {}", hex(bytes)),
    }
}

fn rule(rule: Rule<'_>) -> String {
    match rule {
        Rule::Undefined => "undefined".to_owned(),
        Rule::SameValue => "same".to_owned(),
        Rule::Offset(offset) => format!("[CFA{offset:+}]"),
        Rule::ValueOffset(offset) => format!("CFA{offset:+}"),
        Rule::Register(register) => format!("reg{register}"),
        Rule::Expression(bytes) => format!("[expression {}]", hex(bytes)),
        Rule::ValueExpression(bytes) => format!("expression {}", hex(bytes)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

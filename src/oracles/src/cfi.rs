//! `cargo xtask cfi`: the rows of call frame information of programs, by `foldsym cfi` and by `llvm-dwarfdump`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci;
use crate::fold::Foldsym;
use xtask::sh;

const HELP: &str = "cargo xtask cfi [PROGRAM]... [--foldsym BIN] [--limit N]
  compares the rows of call frame information that `foldsym cfi` prints with those of llvm-dwarfdump --eh-frame
  --debug-frame, at the first and the last address of N rows spread over a program (5000); fails if one differs
  without a program: linked programs of testbins/built of eight processors, the C library, and foldsym itself
  --foldsym BIN   another build of foldsym than this checkout's";

/// Programs of `testbins/built` that are compared if none is named: one for each kind of frame section and each processor.
const COMMITTED: &[&str] = &[
    "inline.clang-dwarf5",
    "inline.gcc-dwarf2",
    "inline.i386",
    "inline.i386-gcc",
    "inline.x32",
    "inline.aarch64-gcc",
    "inline.arm-thumb",
    "inline.riscv64-relax",
    "inline.s390x-be",
    "inline.ppc64-be",
    "inline.mips-be",
    "objects.clang-split",
    "objects.gcc-o2",
    "symbols.clang",
];

/// Arguments of one run of foldsym.
const AT_ONCE: usize = 2000;

/// A row as both print it, in our words.
struct Row {
    /// First address, and the address after the last.
    start: u64,
    end: u64,
    /// The rules that foldsym prints after the address.
    text: String,
}

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails, a difference.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut programs, mut foldsym, mut limit) = (Vec::new(), None, 5000);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--foldsym" => foldsym = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            "--limit" => {
                limit = args.next().and_then(|n| n.parse().ok()).filter(|&n| n > 0).ok_or(HELP)?;
            }
            other if other.starts_with('-') => return Err(HELP.to_owned()),
            other => programs.push(PathBuf::from(other)),
        }
    }
    let foldsym = Foldsym::build(foldsym)?;
    if programs.is_empty() {
        programs.extend(COMMITTED.iter().map(|name| sh::root().join("testbins/built").join(name)));
        programs.extend(ci::c_library());
        programs.push(foldsym.path().to_owned());
    }
    let mut bad = 0;
    for program in &programs {
        bad += compare(&foldsym, program, limit)?;
    }
    if bad == 0 { Ok(()) } else { Err(format!("{bad} rows differ")) }
}

/// Prints what differs in one program, and says how much it is.
fn compare(foldsym: &Foldsym, program: &Path, limit: usize) -> Result<usize, String> {
    let name = program.display();
    let mut dump = Command::new(sh::llvm("llvm-dwarfdump")?);
    let text = sh::output(dump.args(["--eh-frame", "--debug-frame"]).arg(program))?;
    let rows = rows(&text).map_err(|error| format!("{name}: llvm-dwarfdump: {error}"))?;
    if rows.is_empty() {
        return Err(format!("{name}: llvm-dwarfdump prints no row"));
    }
    // Every n-th row, so that there are at most `limit`.
    let asked: Vec<&Row> = rows.iter().step_by(rows.len().div_ceil(limit)).collect();
    let addresses: Vec<(u64, &Row)> =
        asked.iter().flat_map(|&row| [(row.start, row), (row.end - 1, row)]).collect();
    let (mut asked_rows, mut different) = (0, 0);
    for chunk in addresses.chunks(AT_ONCE) {
        let mut ask = Command::new(foldsym.path());
        ask.arg("cfi").arg(program).args(chunk.iter().map(|(address, _)| format!("{address:#x}")));
        let answers = sh::output(&mut ask)?;
        for (address, row) in chunk {
            // A program may have both sections: then there is a line of each.
            let prefix = format!("{address:#x}: ");
            let ours: Vec<&str> = answers.lines().filter_map(|line| line.strip_prefix(&prefix)).collect();
            asked_rows += 1;
            if !ours.contains(&row.text.as_str()) {
                different += 1;
                if different <= 10 {
                    println!(
                        "{name} {address:#x}:\n  foldsym        {ours:?}\n  llvm-dwarfdump {:?}",
                        row.text
                    );
                }
            }
        }
    }
    println!("{name}: {} rows, {asked_rows} addresses: {different} differ", rows.len());
    Ok(different)
}

/// The rows of all entries that `llvm-dwarfdump` printed.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut machine, mut section, mut entry) = ("", "", None);
    // Offset and return address of each common part, and the first row of the entry.
    let (mut returns, mut first): (Vec<(u64, u64)>, usize) = (Vec::new(), 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words.as_slice() {
            [.., "file", "format", format] => machine = format,
            [name @ (".eh_frame" | ".debug_frame"), "contents:"] => {
                (section, entry) = (name, None);
                returns.clear();
            }
            [at, _, _, "CIE"] => returns.push((hex(at)?, 0)),
            ["Return", "address", "column:", number] => {
                let last = returns.last_mut().ok_or(line)?;
                last.1 = number.parse().map_err(|_| line)?;
            }
            [at, _, _, "FDE", common, pc] => {
                let common = hex(common.trim_start_matches("cie="))?;
                let (start, end) = pc.trim_start_matches("pc=").split_once("...").ok_or(line)?;
                let known = returns.iter().find(|(at, _)| *at == common).ok_or(line)?;
                entry = Some((hex(at)?, hex(start)?, hex(end)?, known.1));
                first = rows.len();
            }
            [address, cfa, ..] if address.starts_with("0x") && cfa.starts_with("CFA=") => {
                let (offset, start, end, returned) = entry.ok_or(line)?;
                let row = hex(address.trim_end_matches(':'))?;
                // The row before ends here. If two rows begin at one address, the last one counts.
                if let Some(last) = rows[first..].last_mut() {
                    last.end = row;
                }
                let (_, rules) = line.split_once(": ").ok_or(line)?;
                let rules = self::rules(rules, machine).map_err(|error| format!("{error} in {line}"))?;
                let text = format!(
                    "{section} entry {offset:#x}, {start:#x}..{end:#x}, row {row:#x}, return reg{returned}: {rules}"
                );
                rows.push(Row { start: row, end, text });
            }
            _ => {}
        }
    }
    rows.retain(|row| row.start < row.end);
    Ok(rows)
}

/// `CFA=RSP+8: RIP=[CFA-8], RBX=...` in our words: registers by number, expressions by their bytes.
fn rules(text: &str, machine: &str) -> Result<String, String> {
    let (cfa, others) = match text.split_once(": ") {
        Some((cfa, others)) => (cfa, others),
        None => (text.trim_end_matches(':'), ""),
    };
    let mut known: Vec<(u64, String)> = Vec::new();
    // A comma may also be inside an expression.
    for part in others.split(", ").filter(|part| !part.is_empty()) {
        match part.split_once('=').map(|(name, rule)| (register(name, machine), rule)) {
            Some((Ok(register), rule)) => known.push((register, rule.to_owned())),
            _ => match known.last_mut() {
                Some((_, rule)) => *rule += &format!(", {part}"),
                None => return Err(format!("rule `{part}`")),
            },
        }
    }
    known.sort();
    let cfa = place(cfa.trim_start_matches("CFA="), machine)?;
    // The frame's address is a register plus an offset; a rule is a register.
    let mut out =
        format!("CFA={}{}", cfa, if cfa.starts_with("reg") && !cfa.contains(['+', '-']) { "+0" } else { "" });
    for (register, rule) in known {
        out += &match rule.strip_prefix('[').and_then(|rule| rule.strip_suffix(']')) {
            Some(rule) => format!(" reg{register}=[{}]", place(rule, machine)?),
            None => format!(" reg{register}={}", place(&rule, machine)?),
        };
    }
    Ok(out)
}

/// `RSP+8`, `CFA-8`, `same` or an expression.
fn place(text: &str, machine: &str) -> Result<String, String> {
    if text.starts_with("DW_OP_") {
        let bytes: Vec<u8> = text.split(", ").map(operation).collect::<Result<Vec<_>, _>>()?.concat();
        return Ok(format!(
            "expression {}",
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        ));
    }
    let (base, offset) = match text.find(['+', '-']) {
        Some(at) => (&text[..at], text[at..].parse::<i64>().map_err(|_| format!("offset of `{text}`"))?),
        None => (text, 0),
    };
    match base {
        "undefined" | "same" => Ok(base.to_owned()),
        "CFA" => Ok(format!("CFA{offset:+}")),
        _ => {
            let register = register(base, machine)?;
            Ok(if offset == 0 { format!("reg{register}") } else { format!("reg{register}{offset:+}") })
        }
    }
}

/// Operations without an operand (DWARF 5 7.7.1), but for literals.
const WITHOUT_OPERAND: &[(&str, u8)] = &[
    ("DW_OP_deref", 0x06),
    ("DW_OP_dup", 0x12),
    ("DW_OP_drop", 0x13),
    ("DW_OP_over", 0x14),
    ("DW_OP_swap", 0x16),
    ("DW_OP_rot", 0x17),
    ("DW_OP_abs", 0x19),
    ("DW_OP_and", 0x1a),
    ("DW_OP_div", 0x1b),
    ("DW_OP_minus", 0x1c),
    ("DW_OP_mod", 0x1d),
    ("DW_OP_mul", 0x1e),
    ("DW_OP_neg", 0x1f),
    ("DW_OP_not", 0x20),
    ("DW_OP_or", 0x21),
    ("DW_OP_plus", 0x22),
    ("DW_OP_shl", 0x24),
    ("DW_OP_shr", 0x25),
    ("DW_OP_shra", 0x26),
    ("DW_OP_xor", 0x27),
    ("DW_OP_eq", 0x29),
    ("DW_OP_ge", 0x2a),
    ("DW_OP_gt", 0x2b),
    ("DW_OP_le", 0x2c),
    ("DW_OP_lt", 0x2d),
    ("DW_OP_ne", 0x2e),
];

/// The bytes of an operation that the call frame information of programs has.
fn operation(text: &str) -> Result<Vec<u8>, String> {
    let unknown = || format!("operation `{text}`");
    let name = text.split(' ').next().unwrap_or_default();
    if let Some(number) = name.strip_prefix("DW_OP_lit") {
        return Ok(vec![0x30 + number.parse::<u8>().map_err(|_| unknown())?]);
    }
    if let Some(number) = name.strip_prefix("DW_OP_breg") {
        let at = text.rfind(['+', '-']).ok_or_else(unknown)?;
        let mut offset: i64 = text[at..].parse().map_err(|_| unknown())?;
        let mut bytes = vec![0x70 + number.parse::<u8>().map_err(|_| unknown())?];
        loop {
            let byte = (offset & 0x7f) as u8;
            offset >>= 7;
            let last = offset == if byte & 0x40 == 0 { 0 } else { -1 };
            bytes.push(byte | if last { 0 } else { 0x80 });
            if last {
                return Ok(bytes);
            }
        }
    }
    // Assembly of the cryptography in the command with a server gives the frame's address by it.
    if let Some(operand) = text.strip_prefix("DW_OP_plus_uconst 0x") {
        let mut operand = u64::from_str_radix(operand, 16).map_err(|_| unknown())?;
        let mut bytes = vec![0x23];
        while operand > 0x7f {
            bytes.push((operand & 0x7f) as u8 | 0x80);
            operand >>= 7;
        }
        bytes.push(operand as u8);
        return Ok(bytes);
    }
    let known = WITHOUT_OPERAND.iter().find(|(known, _)| *known == text);
    Ok(vec![known.ok_or_else(unknown)?.1])
}

/// DWARF's number of a register by the name that `llvm-dwarfdump` prints.
fn register(name: &str, machine: &str) -> Result<u64, String> {
    const X86_64: [&str; 17] = [
        "RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP", "R8", "R9", "R10", "R11", "R12", "R13",
        "R14", "R15", "RIP",
    ];
    const I386: [&str; 9] = ["EAX", "ECX", "EDX", "EBX", "ESP", "EBP", "ESI", "EDI", "EIP"];
    let named = |names: &[&str]| names.iter().position(|known| *known == name).map(|at| at as u64);
    let numbered = |start: &str, end: &str| {
        let number = name.strip_prefix(start)?.strip_suffix(end)?;
        number.parse::<u64>().ok().filter(|&number| number < 32)
    };
    let found = match machine {
        "elf64-x86-64" | "elf32-x86-64" => named(&X86_64),
        "elf32-i386" => named(&I386),
        "elf64-littleaarch64" if name == "WSP" => Some(31),
        "elf64-littleaarch64" => numbered("W", ""),
        "elf32-littlearm" => match name {
            "SP" => Some(13),
            "LR" => Some(14),
            _ => numbered("R", ""),
        },
        "elf64-littleriscv" => numbered("X", ""),
        "elf64-s390" => numbered("R", "D"),
        "elf64-powerpc" if name == "LR8" => Some(65),
        "elf64-powerpc" => numbered("X", ""),
        "elf32-mips" => match name {
            "SP_64" => Some(29),
            "FP_64" => Some(30),
            "RA_64" => Some(31),
            _ => numbered("S", "_64").map(|number| 16 + number),
        },
        _ => return Err(format!("no names of registers of {machine}")),
    };
    found.ok_or_else(|| format!("register `{name}` of {machine}"))
}

fn hex(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).map_err(|_| format!("address `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_translated() {
        let x86 = |text| rules(text, "elf64-x86-64").unwrap();
        assert_eq!(x86("CFA=RSP+16: RBX=[CFA-16], RIP=[CFA-8]"), "CFA=reg7+16 reg3=[CFA-16] reg16=[CFA-8]");
        assert_eq!(x86("CFA=RSP+8: RIP=undefined"), "CFA=reg7+8 reg16=undefined");
        assert_eq!(x86("CFA=RSP: RSI=RBX, RIP=[CFA]"), "CFA=reg7+0 reg4=reg3 reg16=[CFA+0]");
        assert_eq!(
            x86("CFA=DW_OP_breg7 RSP+160, DW_OP_deref: RBX=[DW_OP_breg7 RSP-1, DW_OP_lit3], RIP=[CFA-8]"),
            "CFA=expression 77a00106 reg3=[expression 777f33] reg16=[CFA-8]"
        );
        assert_eq!(
            x86("CFA=DW_OP_breg7 RSP+64, DW_OP_deref, DW_OP_plus_uconst 0x88: RIP=[CFA-8]"),
            "CFA=expression 77c00006238801 reg16=[CFA-8]"
        );
        rules("CFA=RSP+8: RIP=[DW_OP_bra]", "elf64-x86-64").unwrap_err();
        rules("CFA=R99+8", "elf64-x86-64").unwrap_err();
    }

    #[test]
    fn rows_end_where_the_next_begins() {
        let text = "p:\tfile format elf64-x86-64\n\n.eh_frame contents:\n\n00000000 00000014 00000000 CIE\n  \
                    Return address column: 16\n\n  CFA=RSP+8: RIP=[CFA-8]\n\n00000018 00000014 0000001c FDE \
                    cie=00000000 pc=00001020...00001040\n  0x1020: CFA=RSP+8: RIP=[CFA-8]\n  0x1024: CFA=RSP+16: \
                    RIP=[CFA-8]\n  0x1024: CFA=RSP+32: RIP=[CFA-8]\n";
        let rows = rows(text).unwrap();
        let ranges: Vec<(u64, u64)> = rows.iter().map(|row| (row.start, row.end)).collect();
        assert_eq!(ranges, [(0x1020, 0x1024), (0x1024, 0x1040)]);
        assert_eq!(
            rows[1].text,
            ".eh_frame entry 0x18, 0x1020..0x1040, row 0x1024, return reg16: CFA=reg7+32 reg16=[CFA-8]"
        );
    }
}

//! The text of `llvm-objdump` and `llvm-lipo`: architectures, sections, and the calls of a disassembly.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Code, hex, of_arch, printed};
use xtask::sh;

/// The architectures of a fat file.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn architectures(file: &Path) -> Result<Vec<String>, String> {
    let list = sh::output(Command::new(sh::llvm("llvm-lipo")?).arg(file).arg("-archs"))?;
    Ok(list.split_whitespace().map(str::to_owned).collect())
}

/// The sections of a program.
#[derive(Debug)]
pub(crate) struct Sections {
    pub(crate) code: Vec<Code>,
    /// Where the sections of all types end.
    pub(crate) ends: Vec<u64>,
    /// Has `.zdebug_*` sections, which LLVM 22 does not read.
    pub(crate) has_zdebug: bool,
}

/// # Errors
/// The tool is missing or fails.
pub(crate) fn sections(file: &Path, arch: Option<&str>) -> Result<Sections, String> {
    let arch = of_arch(arch);
    let options: Vec<&str> = ["--section-headers"].into_iter().chain(arch.as_deref()).collect();
    let text = printed("llvm-objdump", &options, file)?;
    Ok(Sections {
        code: code_sections(&text),
        ends: section_ends(&text),
        has_zdebug: text.contains(" .zdebug_"),
    })
}

/// Where the sections of all types end, of lines `Idx Name Size VMA [LMA] Type`.
fn section_ends(text: &str) -> Vec<u64> {
    let end = |line: &str| {
        let mut words = line.split_whitespace().skip(2);
        let size = hex(words.next()?)?;
        hex(words.next()?)?.checked_add(size)
    };
    text.lines().filter_map(end).filter(|&end| end > 0).collect()
}

/// The lines `Idx Name Size VMA [LMA] Type` whose type is TEXT.
fn code_sections(text: &str) -> Vec<Code> {
    text.lines()
        .filter_map(|line| {
            let (words, types): (Vec<&str>, Vec<&str>) = line
                .split_whitespace()
                .partition(|word| !["TEXT", "TEXT,", "BSS", "DATA", "DEBUG"].contains(word));
            let [_, name, size, start, ..] = words.as_slice() else { return None };
            let code = Code { name: (*name).to_owned(), start: hex(start)?, size: hex(size)? };
            (types.iter().any(|word| word.starts_with("TEXT")) && code.size > 0).then_some(code)
        })
        .collect()
}

/// Gives each line of a program's disassembly to `each`. It is many times as long as the program, so it is not kept.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn disassemble(program: &Path, mut each: impl FnMut(&str)) -> Result<(), String> {
    let mut objdump = Command::new(sh::llvm("llvm-objdump")?);
    objdump.args(["--disassemble", "--no-show-raw-insn"]).arg(program);
    let mut child = objdump.stdout(Stdio::piped()).spawn().map_err(|e| format!("llvm-objdump: {e}"))?;
    let out = child.stdout.take().ok_or("llvm-objdump: no output")?;
    for line in BufReader::new(out).lines() {
        each(&line.map_err(|e| format!("llvm-objdump: {e}"))?);
    }
    let status = child.wait().map_err(|e| format!("llvm-objdump: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("llvm-objdump: {status}")) }
}

/// A call, or a jump that may leave its function.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Transfer<'l> {
    pub(crate) at: u64,
    pub(crate) target: u64,
    pub(crate) symbol: &'l str,
    /// The size of a call; `None` of a jump.
    pub(crate) size: Option<u64>,
    /// It goes where the word at the target leads, which the loader writes.
    pub(crate) through_pointer: bool,
}

/// `  448987: \tcallq\t0x4488f0 <name>`. A jump within a function has `<name+0x10>`. Through a pointer:
/// `  18d31c: \tcallq\t*0x2c1966(%rip)         # 0x44ec88 <name+0x44ec88>`.
pub(crate) fn transfer(line: &str) -> Option<Transfer<'_>> {
    let (address, rest) = line.trim_start().split_once(':')?;
    let (mnemonic, operand) = rest.trim_start().split_once('\t')?;
    let size = match mnemonic {
        "callq" => Some(5),
        "bl" => Some(4),
        "b" => None,
        _ if mnemonic.starts_with('j') || mnemonic.starts_with("b.") => None,
        _ => return None,
    };
    let operand = operand.trim_start();
    let (place, size, through_pointer) = match operand.strip_prefix('*') {
        // A prefix of one byte and an operand of one more than a call of an address has.
        Some(rest) if mnemonic != "bl" => {
            (rest.split_once("(%rip)")?.1.split_once("# ")?.1, size.map(|_| 6), true)
        }
        _ => (operand, size, false),
    };
    let (target, symbol) = place.strip_prefix("0x")?.split_once(" <")?;
    let at = hex(address)?;
    let target = hex(target)?;
    Some(Transfer { at, target, symbol: symbol.split('>').next()?, size, through_pointer })
}

/// `\tcallq\t*0x18(%rax)`: the offset of the word in the table.
pub(crate) fn indirect_call(text: &str) -> Option<u64> {
    let operand = text.trim_start().strip_prefix("callq")?.trim_start().strip_prefix('*')?;
    let (offset, register) = operand.split_once("(%")?;
    if !register.starts_with('r') || register.starts_with("rip") || register.contains(',') {
        return None;
    }
    match offset.strip_prefix("0x") {
        Some(digits) => hex(digits),
        None => offset.is_empty().then_some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_sections_are_found() {
        let text = "\na:\tfile format elf64-x86-64\nIdx Name Size VMA Type\n  0                 00000000 0000000000000000 \n  \
                    1 .text         00000010 0000000000001000 TEXT\n  2 .plt 00000008 0000000000002000 TEXT, BSS\n  \
                    3 .data 00000008 0000000000003000 DATA\n";
        let found: Vec<_> =
            code_sections(text).into_iter().map(|code| (code.name, code.start, code.size)).collect();
        assert_eq!(found, [(".text".to_owned(), 0x1000, 16), (".plt".to_owned(), 0x2000, 8)]);
        assert_eq!(section_ends(text), [0x1010, 0x2008, 0x3008]);
    }

    #[test]
    fn calls_and_jumps_are_read_from_a_disassembly() {
        let read = |line| transfer(line).map(|found| (found.at, found.target, found.symbol, found.size));
        let line = "  448987:      \tcallq\t0x4488f0 <deregister_tm_clones>";
        assert_eq!(read(line), Some((0x44_8987, 0x44_88f0, "deregister_tm_clones", Some(5))));
        let plt = "  448982:      \tcallq\t0xb2fe90 <__cxa_finalize@plt>";
        assert_eq!(read(plt).map(|(_, _, name, _)| name), Some("__cxa_finalize@plt"));
        let pointer = "  44898c:      \tcallq\t*0x738d9d(%rip)    # 0xb81730 <x+0x8>";
        assert_eq!(read(pointer), Some((0x44_898c, 0xb8_1730, "x+0x8", Some(6))));
        assert!(transfer(pointer).unwrap().through_pointer && !transfer(line).unwrap().through_pointer);
        assert_eq!(read("  44898c:      \tcallq\t*0x8(%rax)"), None);
        assert_eq!(read("  448a47:      \tjmp\t0x4489fc <f>"), Some((0x44_8a47, 0x44_89fc, "f", None)));
        assert_eq!(
            read("100000608:     \tbl\t0x100003ee0 <_p>"),
            Some((0x1_0000_0608, 0x1_0000_3ee0, "_p", Some(4)))
        );
        assert_eq!(
            read("1000006ec:     \tb\t0x1000006a0 <_q>").map(|(_, _, name, size)| (name, size)),
            Some(("_q", None))
        );
        assert_eq!(read("1000006ec:     \tbr\tx8"), None);
        assert_eq!(read("0000000000448970 <f>:"), None);
    }

    #[test]
    fn calls_through_tables_are_read_from_a_disassembly() {
        for (text, offset) in [
            ("       \tcallq\t*0x18(%rax)", Some(0x18)),
            ("       \tcallq\t*(%rax)", Some(0)),
            ("       \tcallq\t*%rax", None),
            ("       \tcallq\t*0x738d9d(%rip)    # 0xb81730 <x>", None),
            ("       \tcallq\t*0x8(%rax,%rcx,8)", None),
            ("       \tcallq\t*0x1c(%rax)", Some(0x1c)),
            ("       \tjmpq\t*0x18(%rax)", None),
        ] {
            assert_eq!(indirect_call(text), offset, "{text}");
        }
    }
}

//! The forms that name a function and an offset from its start: the Linux kernel's, and `backtrace_symbols` of glibc.

use foldsym_symbolize::{AddressKind, number};

use super::frame::{Frame, Symbol};
use crate::answer::address::hex;

/// Reads `/opt/app(+0x1567) [0x55d0c1234567]`, `app(f+0x12) [0x55d0c1234567]` or `app(+0x1567)`, of glibc's `backtrace_symbols`.
pub(super) fn backtrace(line: &str) -> Option<Frame> {
    let (module, rest) = line.split_once('(')?;
    let (place, rest) = rest.split_once(')')?;
    let (name, offset) = place.rsplit_once("+0x")?;
    // A line without the address of the process must end here, and names no function: other text has parentheses too.
    let given = match rest.trim() {
        "" if name.is_empty() => "",
        rest => rest.strip_prefix('[')?.strip_suffix(']').filter(|given| number(given).is_some())?,
    };
    let module = module.trim_start();
    let is_one = |name: &str| !name.contains(|character: char| character.is_whitespace() || character == '+');
    if module.is_empty() || !is_one(name) || (given.is_empty() && !is_one(module)) {
        return None;
    }
    Some(Frame {
        given: given.to_owned(),
        module: Some(module.to_owned()),
        address: hex(offset)?,
        symbol: (!name.is_empty()).then(|| Symbol { name: name.to_owned(), size: None, is_nearest: false }),
        // The first is that of the call of `backtrace`, which leaves itself out.
        kind: Some(AddressKind::Return),
        ..Frame::default()
    })
}

/// What stands before the address of the program counter: x86, Arm, AArch64, PowerPC, RISC-V, MIPS, s390, SPARC, LoongArch, PA-RISC,
/// Alpha.
const COUNTERS: &[&str] = &[
    "RIP:", "EIP:", "PC is at", "pc :", "NIP", "epc :", "epc   :", "PSW :", "TPC:", "ERA:", "IAOQ[0]:",
    "pc is at", "PC:",
];

/// Reads the last `FUNCTION+0xOFFSET/0xSIZE` of a line, followed by `[MODULE]` or `[MODULE BUILDID]`, of the Linux kernel. Arm writes
/// `(f+0x6/0x1e) from [<c0101234>] (g+0x8/0x10)`: the last one is the caller.
pub(super) fn kernel(line: &str) -> Option<Frame> {
    // Most lines of a log end here.
    let slash = line.rfind("/0x")?;
    let start = line[..slash].rfind(|character: char| character.is_ascii_whitespace()).map_or(0, |at| at + 1);
    let (offset, rest) = (&line[start..slash], &line[slash + 3..]);
    let end = rest.find(|character: char| !character.is_ascii_hexdigit()).unwrap_or(rest.len());
    let (size, rest) = (hex(&rest[..end])?, rest[end..].trim_start_matches([')', '>']).trim());
    let (name, offset) = offset.rsplit_once("+0x")?;
    let offset = hex(offset)?;
    // x86 writes the segment before the instruction's address: `RIP: 0010:f+0x1/0x2`.
    let name = name.rsplit(':').next()?.trim_start_matches(['(', '<']);
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
    if !name.starts_with(|first: char| !first.is_ascii_digit()) || !name.bytes().all(is_of_name) {
        return None;
    }
    let (module, id) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        // Code of the kernel itself has no `[MODULE]`.
        None => ("vmlinux".to_owned(), None),
        Some((module, _)) => {
            let (module, id) =
                module.split_once(' ').map_or((module, None), |(module, id)| (module, Some(id)));
            (format!("{module}.ko"), id)
        }
    };
    let before = &line[..start];
    // Other registers have longer names: `RPC:`.
    let is_word = |at: usize| !before[..at].ends_with(|last: char| last.is_ascii_alphabetic());
    let is_counter = COUNTERS.iter().any(|word| before.match_indices(word).any(|(at, _)| is_word(at)));
    // The line is about the function, as of `initcall f+0x0/0x10 returned 0`: no call returns to its first byte.
    let is_start = !is_counter && offset == 0;
    Some(Frame {
        // The innermost frame of a stack.
        number: is_counter.then_some(0),
        module: Some(module),
        id: id.map(str::to_owned),
        address: offset,
        symbol: Some(Symbol { name: name.to_owned(), size: Some(size), is_nearest: false }),
        // The kernel prints `?` before an address that its unwinder did not confirm.
        is_doubtful: is_start || before.trim_end().ends_with('?'),
        kind: Some(if is_counter || is_start { AddressKind::Exact } else { AddressKind::Return }),
        ..Frame::default()
    })
}

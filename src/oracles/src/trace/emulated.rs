//! Steps a program of another processor: turns the log of `qemu-user` into the entries and stacks that `tracer.c` prints.
//!
//! qemu runs the program one instruction at a time (`-singlestep`). It logs the registers before each (`-d cpu,nochain`), and each
//! delivered signal (`-trace user_handle_signal`). Nothing is sampled: the log has every instruction except those of [`SEARCHED`]. The
//! shadow stack is built from the instructions in the program's file and the stack pointer:
//!
//! - A call (`bl`, `blr`; `jal` and `jalr` that write `ra`) pushes its return address, with the stack pointer at the call.
//! - The address is popped when the program is at it with that stack pointer, or when the stack pointer is above.
//! - A landing pad has the stack pointer of the call that was left, too. So a call is also popped by an indirect jump into the middle of
//!   the caller, from another function.
//! - A signal pushes the interrupted instruction; it is popped when the stack pointer is back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::entries::{Limits, Run, Word};
use super::symbols::FunctionSymbols;
use super::targets::Emulated;
use xtask::sh;

/// Functions of libgcc that find a frame description in a static program: at the first throw they sort all of them, in millions of
/// instructions. They call only each other, so the log is complete without them.
const SEARCHED: &[&str] = &[
    "add_fdes",
    "classify_object_over_fdes",
    "count_fdes",
    "fde_mixed_encoding_compare",
    "fde_single_encoding_compare",
    "fde_unencoded_compare",
    "frame_downheap",
    "frame_heapsort",
    "linear_search_fdes",
    "read_encoded_value_with_base",
    "search_object",
];
/// Stacks that are deeper are left out, as by `tracer.c`.
const PRINTED: usize = 200;

/// Runs a program to its end or to the limits.
///
/// # Errors
/// qemu is missing, or the file is not a program.
pub(super) fn run(
    emulated: Emulated,
    program: &Path,
    entries: &[u64],
    symbols: &FunctionSymbols,
    limits: Limits,
) -> Result<Run, String> {
    let bytes = std::fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    let code = ProgramCode::of(&bytes).ok_or_else(|| format!("{}: no ELF64 program", program.display()))?;
    let qemu = sh::tool(emulated.qemu(), "qemu-user")?;
    let help = sh::output(Command::new(&qemu).arg("-help"))?;
    let one = if help.contains("one-insn-per-tb") { "-one-insn-per-tb" } else { "-singlestep" };
    let mut child = Command::new(&qemu)
        .args([one, "-d", "cpu,nochain", "-trace", "user_handle_signal", "-dfilter", &logged(symbols)])
        .arg(program)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", qemu.display()))?;
    let stepped = follow(emulated, &mut child, &code, entries, symbols, limits);
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().map_err(|error| format!("{}: {error}", qemu.display()))?;
    stepped
}

/// The ranges of addresses that are logged: all but the code of [`SEARCHED`].
fn logged(symbols: &FunctionSymbols) -> String {
    let (mut from, mut ranges) = (0, Vec::new());
    let skipped: BTreeSet<(u64, u64)> = SEARCHED.iter().flat_map(|name| symbols.ranges(name)).collect();
    for (start, end) in skipped {
        if start > from {
            ranges.push(format!("{from:#x}..{:#x}", start - 1));
        }
        from = from.max(end);
    }
    ranges.push(format!("{from:#x}..{:#x}", i64::MAX));
    ranges.join(",")
}

/// Reads the log.
fn follow(
    emulated: Emulated,
    child: &mut Child,
    code: &ProgramCode<'_>,
    entries: &[u64],
    symbols: &FunctionSymbols,
    limits: Limits,
) -> Result<Run, String> {
    let entries: BTreeSet<u64> = entries.iter().copied().collect();
    let log = child.stderr.take().ok_or("qemu: no log")?;
    let mut log = BufReader::with_capacity(1 << 20, log);
    let mut shadow = Shadow::new(emulated, code, symbols);
    let (mut numbers, mut run) = (BTreeMap::new(), Run::default());
    let (mut line, mut pc, mut steps, mut why) = (Vec::new(), None, 0, "ended");
    loop {
        line.clear();
        if log.read_until(b'\n', &mut line).map_err(|error| format!("qemu: {error}"))? == 0 {
            break;
        }
        if line.starts_with(b"user_handle_signal") {
            shadow.signal();
        }
        pc = emulated.pc(&line).or(pc);
        let Some((at, sp)) = pc.zip(emulated.sp(&line)) else { continue };
        pc = None;
        shadow.step(at, sp);
        steps += 1;
        if steps > limits.steps {
            why = "steps";
            break;
        }
        if shadow.calls.len() > PRINTED || !entries.contains(&at) {
            continue;
        }
        if run.entries.len() == limits.entries {
            why = "entries";
            break;
        }
        let stack = shadow.stack(at);
        let number = *numbers.entry(stack).or_insert_with_key(|stack: &Vec<Word>| {
            run.stacks.push(stack.clone());
            run.stacks.len() - 1
        });
        run.entries.push(number);
    }
    run.end = format!("{why} after {steps}");
    Ok(run)
}

/// The effect of an instruction on the stack of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instruction {
    Call,
    /// Jumps to the address in a register, and keeps no return address: a return, a tail call, a jump table, the unwinder's jump.
    Indirect,
    SystemCall,
    Other,
}

impl Emulated {
    fn qemu(self) -> &'static str {
        match self {
            Emulated::AArch64 => "qemu-aarch64",
            Emulated::RiscV64 => "qemu-riscv64",
        }
    }

    /// The program counter, in the first line of the registers.
    fn pc(self, line: &[u8]) -> Option<u64> {
        match self {
            Emulated::AArch64 => hex(line.strip_prefix(b" PC=")?),
            Emulated::RiscV64 => hex(line.strip_prefix(b" pc ")?),
        }
    }

    /// The stack pointer, in a line after it.
    fn sp(self, line: &[u8]) -> Option<u64> {
        let (first, name): (&[u8], &[u8]) = match self {
            Emulated::AArch64 => (b"X29=", b"SP="),
            Emulated::RiscV64 => (b" x0/zero ", b"x2/sp "),
        };
        let at =
            line.starts_with(first).then(|| line.windows(name.len()).position(|word| word == name))??;
        hex(&line[at + name.len()..])
    }

    /// The instruction and its length, from four bytes of code.
    fn decode(self, bytes: [u8; 4]) -> (Instruction, u64) {
        let word = u32::from_le_bytes(bytes);
        match self {
            Emulated::AArch64 => (aarch64(word), 4),
            Emulated::RiscV64 if word & 3 == 3 => (riscv(word), 4),
            Emulated::RiscV64 => (compressed(word & 0xffff), 2),
        }
    }
}

/// Hexadecimal digits after blanks.
fn hex(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    u64::from_str_radix(std::str::from_utf8(&text[..digits]).ok()?, 16).ok()
}

/// Arm ARM C4.1, "Branches, Exception Generating and System instructions".
fn aarch64(word: u32) -> Instruction {
    match word {
        _ if word >> 26 == 0b100101 => Instruction::Call,
        // BLR, BLRAA and their like; BR and RET.
        _ if word & 0xfeff_f000 == 0xd63f_0000 => Instruction::Call,
        _ if word & 0xfe9f_f000 == 0xd61f_0000 => Instruction::Indirect,
        _ if word & 0xffe0_001f == 0xd400_0001 => Instruction::SystemCall,
        _ => Instruction::Other,
    }
}

/// The unprivileged ISA's base instructions; `ra` is x1.
fn riscv(word: u32) -> Instruction {
    match (word & 0x7f, word >> 7 & 31) {
        (0x6f | 0x67, 1) => Instruction::Call,
        (0x67, 0) => Instruction::Indirect,
        _ if word == 0x73 => Instruction::SystemCall,
        _ => Instruction::Other,
    }
}

/// C.JALR and C.JR; without a register they are other instructions.
fn compressed(word: u32) -> Instruction {
    match (word & 0xf07f, word >> 7 & 31) {
        (_, 0) => Instruction::Other,
        (0x9002, _) => Instruction::Call,
        (0x8002, _) => Instruction::Indirect,
        _ => Instruction::Other,
    }
}

/// A program's bytes by address.
struct ProgramCode<'b> {
    segments: Vec<(u64, &'b [u8])>,
}

impl<'b> ProgramCode<'b> {
    /// The segments that are loaded, of a little-endian ELF64 program.
    fn of(bytes: &'b [u8]) -> Option<Self> {
        let number = |at: usize, len: usize| {
            let field = bytes.get(at..at.checked_add(len)?)?;
            Some(field.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte)))
        };
        bytes.starts_with(b"\x7fELF\x02\x01").then_some(())?;
        let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        let mut segments = Vec::new();
        for at in 0..count {
            let header = usize::try_from(table.checked_add(at * size)?).ok()?;
            // PT_LOAD
            if number(header, 4)? == 1 {
                let (offset, address, len) =
                    (number(header + 8, 8)?, number(header + 16, 8)?, number(header + 32, 8)?);
                let from = usize::try_from(offset).ok()?;
                segments.push((address, bytes.get(from..from.checked_add(usize::try_from(len).ok()?)?)?));
            }
        }
        Some(Self { segments })
    }

    /// Four bytes, or two and zeros at the end.
    fn at(&self, address: u64) -> [u8; 4] {
        let mut found = [0; 4];
        for (start, bytes) in &self.segments {
            if let Some(at) = address.checked_sub(*start).and_then(|at| usize::try_from(at).ok())
                && let Some(rest) = bytes.get(at..)
            {
                let len = rest.len().min(4);
                found[..len].copy_from_slice(&rest[..len]);
            }
        }
        found
    }
}

/// A call's return address, or an interrupted instruction.
struct Kept {
    word: Word,
    /// The stack pointer at the call; for a signal, below that of the interrupted code.
    slot: u64,
}

/// The stack of return addresses beside the program's own.
struct Shadow<'r> {
    emulated: Emulated,
    code: &'r ProgramCode<'r>,
    symbols: &'r FunctionSymbols,
    calls: Vec<Kept>,
    /// The instruction before: its address, the stack pointer, its kind, its length.
    before: Option<(u64, u64, Instruction, u64)>,
    is_signal: bool,
}

impl<'r> Shadow<'r> {
    fn new(emulated: Emulated, code: &'r ProgramCode<'r>, symbols: &'r FunctionSymbols) -> Self {
        Self { emulated, code, symbols, calls: Vec::new(), before: None, is_signal: false }
    }

    /// The next instruction is that of a signal's handler.
    fn signal(&mut self) {
        self.is_signal = true;
    }

    /// The program is at an instruction.
    fn step(&mut self, pc: u64, sp: u64) {
        let mut jumped = None;
        if let Some((at, slot, instruction, len)) = self.before {
            // Signals that a program sends itself come after the system call; others stop the instruction itself.
            let stopped = if instruction == Instruction::SystemCall { at + len } else { at };
            if std::mem::take(&mut self.is_signal) {
                if pc != stopped {
                    self.calls.push(Kept { word: Word::Exact(stopped), slot: slot - 1 });
                }
            } else if instruction == Instruction::Call {
                self.calls.push(Kept { word: Word::Return(at + len), slot });
            } else if instruction == Instruction::Indirect {
                jumped = Some(at);
            }
        }
        while self.calls.last().is_some_and(|top| top.slot < sp) {
            self.calls.pop();
        }
        if let Some(Kept { word: Word::Return(back), slot }) = self.calls.last()
            && *slot == sp
            && (*back == pc || jumped.is_some_and(|from| self.is_landing(from, pc, *back)))
        {
            self.calls.pop();
        }
        let (instruction, len) = self.emulated.decode(self.code.at(pc));
        self.before = Some((pc, sp, instruction, len));
    }

    /// Whether a jump leaves its function for the middle of the caller; `back` is the return address of the call.
    fn is_landing(&self, from: u64, pc: u64, back: u64) -> bool {
        let names = |address: u64| -> BTreeSet<&str> {
            self.symbols.at(address).iter().map(|name| name.split(".cold").next().unwrap_or(name)).collect()
        };
        let here = names(pc);
        !self.symbols.is_start(pc) && here.is_disjoint(&names(from)) && !here.is_disjoint(&names(back - 1))
    }

    /// Innermost first.
    fn stack(&self, pc: u64) -> Vec<Word> {
        std::iter::once(Word::Exact(pc)).chain(self.calls.iter().rev().map(|call| call.word)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_jumps_and_system_calls_are_known() {
        let aarch64 = |word: u32| Emulated::AArch64.decode(word.to_le_bytes()).0;
        assert_eq!([0x94000001, 0x97ffffff, 0xd63f0100, 0xd73f0901].map(aarch64), [Instruction::Call; 4]);
        assert_eq!([0xd65f03c0, 0xd61f0200, 0xd71f0a11].map(aarch64), [Instruction::Indirect; 3]);
        assert_eq!(aarch64(0xd4000001), Instruction::SystemCall);
        // b, cbz, brk, udf
        assert_eq!([0x14000001, 0xb4000040, 0xd4200000, 0].map(aarch64), [Instruction::Other; 4]);
        let riscv = |word: u32| Emulated::RiscV64.decode(word.to_le_bytes());
        // jal ra; jalr ra, (a5); c.jalr a5
        assert_eq!([0x008000ef, 0x000780e7].map(riscv), [(Instruction::Call, 4); 2]);
        assert_eq!(riscv(0x9782), (Instruction::Call, 2));
        // jr a5 long and short; ret
        assert_eq!(riscv(0x00078067), (Instruction::Indirect, 4));
        assert_eq!([0x8782, 0x8082].map(riscv), [(Instruction::Indirect, 2); 2]);
        assert_eq!(riscv(0x73), (Instruction::SystemCall, 4));
        // c.ebreak, c.mv, c.j, jal zero
        assert_eq!([0x9002, 0x853e, 0xa001].map(riscv), [(Instruction::Other, 2); 3]);
        assert_eq!(riscv(0x0000006f), (Instruction::Other, 4));
    }

    #[test]
    fn registers_are_read_from_the_log() {
        let line = b" PC=0000000000240580 X00=0000000000000000 X01=0000000000000000\n";
        assert_eq!((Emulated::AArch64.pc(line), Emulated::AArch64.sp(line)), (Some(0x240580), None));
        let line = b"X29=0000000000000000 X30=00000000002405b0  SP=0000005500800840\n";
        assert_eq!((Emulated::AArch64.pc(line), Emulated::AArch64.sp(line)), (None, Some(0x5500800840)));
        assert_eq!(Emulated::RiscV64.pc(b" pc       0000000000038330\n"), Some(0x38330));
        let line =
            b" x0/zero  0000000000000000 x1/ra    0000000000038334 x2/sp    0000004000800870 x3/gp    00\n";
        assert_eq!(Emulated::RiscV64.sp(line), Some(0x4000800870));
    }

    fn shadow<'r>(code: &'r ProgramCode<'r>, symbols: &'r FunctionSymbols) -> Shadow<'r> {
        Shadow::new(Emulated::AArch64, code, symbols)
    }

    /// `outer` (0x100) calls `inner` (0x200), which tail-calls `last` (0x300); that calls `unwind` (0x400), which jumps.
    fn program() -> (Vec<u8>, FunctionSymbols) {
        let mut bytes = vec![0; 0x400];
        let mut put =
            |at: usize, word: u32| bytes[at - 0x100..at - 0xfc].copy_from_slice(&word.to_le_bytes());
        put(0x104, 0x9400003f); // bl inner
        put(0x204, 0xd61f0200); // br x16
        put(0x308, 0x9400003e); // bl unwind
        put(0x30c, 0xd65f03c0); // ret
        put(0x310, 0xd4000001); // svc
        put(0x408, 0xd61f0200); // br x16
        let symbols = [(0x100, "outer"), (0x200, "inner"), (0x300, "last"), (0x400, "unwind")];
        (bytes, FunctionSymbols::new(symbols.map(|(start, name)| (start, 0x80, name.to_owned())).to_vec()))
    }

    #[test]
    fn a_stack_follows_calls_tail_calls_returns_and_signals() {
        let (bytes, symbols) = program();
        let code = ProgramCode { segments: vec![(0x100, &bytes)] };
        let mut shadow = shadow(&code, &symbols);
        let mut stack = |steps: &[(u64, u64)]| {
            steps.iter().for_each(|(pc, sp)| shadow.step(*pc, *sp));
            let calls: Vec<Word> = shadow.calls.iter().map(|call| call.word).collect();
            calls
        };
        assert_eq!(stack(&[(0x100, 0x900), (0x104, 0x8f0), (0x200, 0x8f0)]), [Word::Return(0x108)]);
        // The tail call keeps the return address of `inner`; so does the frame of the callee.
        assert_eq!(stack(&[(0x204, 0x8f0), (0x300, 0x8f0), (0x304, 0x8e0)]), [Word::Return(0x108)]);
        assert_eq!(stack(&[(0x308, 0x8e0), (0x400, 0x8e0)]), [Word::Return(0x108), Word::Return(0x30c)]);
        assert_eq!(stack(&[(0x30c, 0x8e0)]), [Word::Return(0x108)]);
        assert_eq!(stack(&[(0x108, 0x8f0)]), []);
        let mut shadow = self::shadow(&code, &symbols);
        [(0x300, 0x8f0), (0x310, 0x8e0)].iter().for_each(|(pc, sp)| shadow.step(*pc, *sp));
        shadow.signal();
        shadow.step(0x100, 0x500);
        assert_eq!(shadow.stack(0x100), [Word::Exact(0x100), Word::Exact(0x314)]);
        shadow.step(0x104, 0x4f0);
        shadow.step(0x200, 0x4f0);
        assert_eq!(shadow.stack(0x200), [Word::Exact(0x200), Word::Return(0x108), Word::Exact(0x314)]);
        shadow.step(0x314, 0x8e0);
        assert_eq!(shadow.stack(0x314), [Word::Exact(0x314)]);
    }

    #[test]
    fn a_landing_pad_leaves_the_call() {
        let (bytes, symbols) = program();
        let code = ProgramCode { segments: vec![(0x100, &bytes)] };
        let mut shadow = shadow(&code, &symbols);
        for (pc, sp) in [(0x104, 0x8f0), (0x200, 0x8f0), (0x308, 0x8e0), (0x400, 0x8e0), (0x408, 0x8d0)] {
            shadow.step(pc, sp);
        }
        assert_eq!(shadow.calls.len(), 2);
        // The unwinder puts the stack pointer of `outer` back and jumps past the call.
        shadow.step(0x120, 0x8f0);
        assert_eq!(shadow.stack(0x120), [Word::Exact(0x120)]);
        // A jump to the start of a function is a tail call of it.
        shadow.step(0x104, 0x8f0);
        shadow.step(0x204, 0x8f0);
        shadow.step(0x100, 0x8f0);
        assert_eq!(shadow.stack(0x100), [Word::Exact(0x100), Word::Return(0x108)]);
    }
}

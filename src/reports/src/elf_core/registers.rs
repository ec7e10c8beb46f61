//! Converts the registers of a thread (`struct elf_prstatus` of Linux) for `minidump-unwind`.

use minidump::format::{CONTEXT_AMD64, CONTEXT_ARM64, CONTEXT_X86, ContextFlagsCpu};
use minidump::system_info::Cpu;
use minidump::{MinidumpContext, MinidumpRawContext};
use object::{Endian as _, Endianness};

/// Offsets of the thread's id and of the registers in `struct elf_prstatus`, and the bytes of a register: by the size of a word.
const OF_64: (usize, usize, usize) = (32, 112, 8);
const OF_32: (usize, usize, usize) = (24, 72, 4);

/// The thread's id, its signal, and its registers; `None` if they are truncated.
pub(super) fn read(status: &[u8], cpu: Cpu, endian: Endianness) -> Option<(u64, u32, MinidumpContext)> {
    let signal = number(status.get(..4)?, endian)?;
    // `pr_info.si_signo`. The next field, `pr_cursig`, has the same number in the thread that died of the signal.
    let current = status.get(12..14)?;
    let current = match endian {
        Endianness::Little => u16::from_le_bytes([current[0], current[1]]),
        Endianness::Big => u16::from_be_bytes([current[0], current[1]]),
    };
    let signal = if current != 0 { current.into() } else { u32::try_from(signal).unwrap_or(0) };
    let (of_id, registers, size) = if cpu == Cpu::X86 { OF_32 } else { OF_64 };
    let id = number(status.get(of_id..of_id + 4)?, endian)?;
    let register = |index: usize| {
        let at = registers + size * index;
        number(status.get(at..at + size)?, endian)
    };
    let half = |index: usize| u32::try_from(register(index)?).ok();
    let raw = match cpu {
        // The order of `struct user_regs_struct`. 15 is `orig_rax`, 17 is `cs` and 18 is `eflags`, which unwinding does not need.
        Cpu::X86_64 => MinidumpRawContext::Amd64(CONTEXT_AMD64 {
            context_flags: ContextFlagsCpu::CONTEXT_AMD64.bits(),
            r15: register(0)?,
            r14: register(1)?,
            r13: register(2)?,
            r12: register(3)?,
            rbp: register(4)?,
            rbx: register(5)?,
            r11: register(6)?,
            r10: register(7)?,
            r9: register(8)?,
            r8: register(9)?,
            rax: register(10)?,
            rcx: register(11)?,
            rdx: register(12)?,
            rsi: register(13)?,
            rdi: register(14)?,
            rip: register(16)?,
            rsp: register(19)?,
            ..CONTEXT_AMD64::default()
        }),
        // The order of `struct user_regs_struct` of i386. 7 to 10 are segments, and 11 is `orig_eax`.
        Cpu::X86 => MinidumpRawContext::X86(CONTEXT_X86 {
            context_flags: ContextFlagsCpu::CONTEXT_X86.bits(),
            ebx: half(0)?,
            ecx: half(1)?,
            edx: half(2)?,
            esi: half(3)?,
            edi: half(4)?,
            ebp: half(5)?,
            eax: half(6)?,
            eip: half(12)?,
            eflags: half(14)?,
            esp: half(15)?,
            ..CONTEXT_X86::default()
        }),
        Cpu::Arm64 => {
            // The order of `struct user_pt_regs`: x0 to x30, `sp`, `pc`.
            let mut iregs = [0; 31];
            for (index, value) in iregs.iter_mut().enumerate() {
                *value = register(index)?;
            }
            let context_flags = ContextFlagsCpu::CONTEXT_ARM64.bits();
            let (sp, pc) = (register(31)?, register(32)?);
            MinidumpRawContext::Arm64(CONTEXT_ARM64 {
                context_flags,
                iregs,
                sp,
                pc,
                ..CONTEXT_ARM64::default()
            })
        }
        _ => return None,
    };
    Some((id, signal, MinidumpContext::from_raw(raw)))
}

/// A number of 4 or 8 bytes.
pub(super) fn number(bytes: &[u8], endian: Endianness) -> Option<u64> {
    Some(match bytes.len() {
        4 => endian.read_u32(bytes.try_into().ok()?).into(),
        8 => endian.read_u64(bytes.try_into().ok()?),
        _ => return None,
    })
}

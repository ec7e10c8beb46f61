//! The processors that a MODULE record may name, and Breakpad's names of their registers.

/// A processor.
pub(super) struct NamedProcessor {
    /// Its name in reports.
    pub(super) name: &'static str,
    /// ELF `e_machine`; 0 if unknown.
    pub(super) machine: u16,
    pub(super) address_size: u8,
    pub(super) big_endian: bool,
}

/// The processor of a MODULE record.
pub(super) fn processor(word: &[u8]) -> NamedProcessor {
    let (name, machine, address_size, big_endian) = match word.to_ascii_lowercase().as_slice() {
        b"x86" | b"i386" => ("i386", 3, 4, false),
        b"x86_64" | b"x86_64h" | b"amd64" => ("x86_64", 62, 8, false),
        b"arm" => ("arm", 40, 4, false),
        b"arm64" | b"arm64e" | b"aarch64" => ("aarch64", 183, 8, false),
        b"mips" => ("mips", 8, 4, false),
        b"mips64" => ("mips64", 8, 8, false),
        b"ppc" => ("ppc", 20, 4, true),
        b"ppc64" => ("ppc64", 21, 8, true),
        b"riscv" => ("riscv32", 243, 4, false),
        b"riscv64" => ("riscv64", 243, 8, false),
        b"s390x" => ("s390x", 22, 8, true),
        _ => ("unknown", 0, 8, false),
    };
    NamedProcessor { name, machine, address_size, big_endian }
}

/// Registers by DWARF's numbers.
pub(super) struct NamedRegisters {
    machine: u16,
    /// The register that has the return address.
    pub(super) returns: u64,
}

impl NamedRegisters {
    /// The registers of a processor; `None` if this version has no names for them.
    pub(super) fn of(processor: &NamedProcessor) -> Option<Self> {
        let returns = match processor.machine {
            3 => 8,
            62 => 16,
            40 => 14,
            183 => 30,
            8 => 31,
            243 => 1,
            _ => return None,
        };
        Some(NamedRegisters { machine: processor.machine, returns })
    }

    /// DWARF's number of a register; `None` if it has none. x86 and MIPS write a `$` before the name.
    pub(super) fn number(&self, name: &[u8]) -> Option<u64> {
        let name = std::str::from_utf8(name.strip_prefix(b"$").unwrap_or(name)).ok()?;
        let place = |names: &[&str]| names.iter().position(|&own| own == name).map(|at| at as u64);
        let numbered = |prefix: &str, from: u64, count: u64| {
            let number =
                name.strip_prefix(prefix).filter(|digits| digits.len() < 3 && !digits.starts_with('+'));
            let number = number.and_then(|digits| digits.parse::<u64>().ok());
            number.filter(|number| *number < count).map(|number| from + number)
        };
        match self.machine {
            3 => place(&["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"]),
            62 => place(&["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"])
                .or_else(|| numbered("r", 0, 16).filter(|number| *number > 7))
                .or_else(|| numbered("xmm", 17, 16))
                .or_else(|| (name == "rip").then_some(16)),
            40 => match name {
                "fp" => Some(11),
                "sp" => Some(13),
                "lr" => Some(14),
                "pc" => Some(15),
                _ => numbered("r", 0, 16).or_else(|| numbered("d", 256, 32)),
            },
            183 => match name {
                "fp" => Some(29),
                "lr" => Some(30),
                "sp" => Some(31),
                "pc" => Some(32),
                _ => numbered("x", 0, 31).or_else(|| numbered("d", 64, 32)).or_else(|| numbered("v", 64, 32)),
            },
            8 => place(&[
                "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
                "t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp",
                "fp", "ra",
            ]),
            _ => place(&[
                "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
                "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
                "t5", "t6",
            ]),
        }
    }
}

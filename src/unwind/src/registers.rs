//! The integer registers of a frame, by DWARF's numbers.

/// A processor that can be stepped on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Machine {
    /// Registers 0 to 15 are rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15; 16 is rip.
    X86_64,
    /// Registers 0 to 30 are x0 to x30, 31 is sp, 32 is pc.
    Aarch64,
}

impl Machine {
    /// The processor of an ELF machine number, as the header of a `.fsym` has it. The number says neither how long addresses are nor their byte
    /// order (x32 and big-endian AArch64 have the same numbers): the caller checks that they have 8 bytes and are little-endian.
    pub const fn of_elf(number: u16) -> Option<Self> {
        match number {
            62 => Some(Machine::X86_64),
            183 => Some(Machine::Aarch64),
            _ => None,
        }
    }

    /// DWARF's number of the stack pointer.
    pub const fn stack_pointer(self) -> u64 {
        match self {
            Machine::X86_64 => 7,
            Machine::Aarch64 => 31,
        }
    }

    /// DWARF's number of the program counter.
    pub const fn program_counter(self) -> u64 {
        match self {
            Machine::X86_64 => 16,
            Machine::Aarch64 => 32,
        }
    }
}

/// More registers than either processor has.
pub(crate) const REGISTERS: usize = 33;

/// The known registers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    machine: Machine,
    values: [u64; REGISTERS],
    /// A bit for each register that is known.
    known: u64,
}

impl Registers {
    /// None is known.
    pub const fn new(machine: Machine) -> Self {
        Self { machine, values: [0; REGISTERS], known: 0 }
    }

    /// The processor.
    pub const fn machine(&self) -> Machine {
        self.machine
    }

    fn index(&self, register: u64) -> Option<usize> {
        usize::try_from(register).ok().filter(|_| register <= self.machine.program_counter())
    }

    /// The value of a register; `None` if it is unknown, or the register is not one of these.
    #[inline]
    pub fn get(&self, register: u64) -> Option<u64> {
        let at = self.index(register)?;
        // `index` accepts no register above the program counter's, so the cast loses nothing and the shift is in range.
        (self.known.wrapping_shr(register as u32) & 1 != 0).then(|| self.values.get(at).copied()).flatten()
    }

    /// Sets a register; ignores any other one.
    #[inline]
    pub fn set(&mut self, register: u64, value: u64) {
        if let Some(slot) = self.index(register).and_then(|at| self.values.get_mut(at)) {
            *slot = value;
            self.known |= 1u64.wrapping_shl(register as u32);
        }
    }

    /// As [`Self::set`], of a register whose number was compared with that of the program counter.
    #[inline(always)]
    pub(crate) fn put(&mut self, register: u64, value: u64) {
        if let Some(slot) = self.values.get_mut(register as usize) {
            *slot = value;
            self.known |= 1u64.wrapping_shl(register as u32);
        }
    }

    /// Forgets a register.
    #[inline]
    pub fn forget(&mut self, register: u64) {
        if self.index(register).is_some() {
            self.known &= !1u64.wrapping_shl(register as u32);
        }
    }
}

//! The code of an image as bytes: the processor that executes it, and the bytes at an address.

use std::sync::OnceLock;

use crate::open::{Format, Image, MarkKind};
use crate::util::hash::{HashMap, HashSet};

pub(super) const EM_386: u16 = 3;
pub(super) const EM_ARM: u16 = 40;
pub(crate) const EM_X86_64: u16 = 62;
pub(crate) const EM_AARCH64: u16 = 183;
pub(super) const EM_RISCV: u16 = 243;

/// A processor whose code is supported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Processor {
    X86 { wide: bool },
    AArch64,
    Arm,
    RiscV { wide: bool },
}

impl Processor {
    pub(super) fn of(image: &Image<'_>) -> Option<Processor> {
        let wide = image.arch.address_size == 8;
        match image.arch.machine {
            EM_X86_64 => Some(Processor::X86 { wide: true }),
            EM_386 => Some(Processor::X86 { wide: false }),
            EM_AARCH64 => Some(Processor::AArch64),
            // Big-endian files may have little-endian code (BE8).
            EM_ARM if !image.arch.big_endian => Some(Processor::Arm),
            EM_RISCV if !image.arch.big_endian => Some(Processor::RiscV { wide }),
            _ => None,
        }
    }

    pub(super) fn is_narrow(self) -> bool {
        matches!(self, Processor::Arm | Processor::RiscV { wide: false })
    }
}

/// The mapping symbols by address: where code of an instruction set, or data, begins. The last one of each address.
pub(super) type CodeMarks = Vec<(u64, MarkKind)>;

/// Starts of RISC-V instructions, by code section, one bit per two bytes. Instruction lengths vary, so code is read
/// forward from symbols and marks.
pub(super) type RunStarts = Vec<(u64, Vec<u64>)>;

/// Functions that compilers call or jump to in any function.
#[derive(Default)]
pub(super) struct Added {
    pub(super) all: HashSet<u64>,
    /// Those that only return (`-mfunction-return=thunk-extern`).
    pub(super) returns: HashSet<u64>,
}

/// The loader's values of slots, by address; `None` for an address of another module.
pub(super) type Slots = HashMap<u64, Option<u64>>;

/// The code of an image.
pub(crate) struct Machine<'i, 'f> {
    pub(super) image: &'i Image<'f>,
    /// `None` if the processor is not supported.
    pub(super) processor: Option<Processor>,
    /// Computed at first use.
    pub(super) marks: OnceLock<CodeMarks>,
    pub(super) starts: OnceLock<RunStarts>,
    pub(super) added: OnceLock<Added>,
    pub(super) slots: OnceLock<Slots>,
    pub(super) offset_table: OnceLock<Option<u64>>,
}

impl<'i, 'f> Machine<'i, 'f> {
    pub(crate) fn new(image: &'i Image<'f>) -> Self {
        Machine {
            image,
            processor: Processor::of(image),
            marks: OnceLock::new(),
            starts: OnceLock::new(),
            added: OnceLock::new(),
            slots: OnceLock::new(),
            offset_table: OnceLock::new(),
        }
    }

    /// True if linkers leave jumps in the places of functions that they fold: lld's `--icf=safe_thunks`, only for
    /// Mach-O.
    pub(crate) fn has_linkers_jumps(&self) -> bool {
        self.image.format == Format::MachO
    }

    /// True if an address is in an executable section.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.image.section_at(address).is_some_and(|section| self.image.sections[section].executable)
    }

    pub(super) fn bytes(&self, start: u64, end: u64) -> Option<&'f [u8]> {
        Some(self.section_bytes(start, end)?.1)
    }

    /// The bytes of a range, and the start of its section.
    pub(super) fn section_bytes(&self, start: u64, end: u64) -> Option<(u64, &'f [u8])> {
        let (section, bytes) = self.section_from(start)?;
        if let Some(files) = self.image.files {
            files.was_read(end.saturating_sub(start).min(bytes.len() as u64) as usize);
        }
        Some((section, bytes.get(..usize::try_from(end.checked_sub(start)?).ok()?)?))
    }

    /// The bytes from an address to the end of its section, and the start of the section.
    pub(super) fn section_from(&self, start: u64) -> Option<(u64, &'f [u8])> {
        let after = self.image.code.partition_point(|&(section, _)| section <= start);
        let (section, bytes) = *self.image.code.get(after.checked_sub(1)?)?;
        Some((section, bytes.get(usize::try_from(start - section).ok()?..)?))
    }

    /// The address that the file stores at an address of data, or in a table among code. Bit 0 of an ARM address
    /// selects the instruction set.
    pub(super) fn word_at(&self, address: u64, size: u8) -> Option<u64> {
        let of = |sections: &[(u64, &'f [u8])]| {
            let after = sections.partition_point(|&(section, _)| section <= address);
            let (section, bytes) = *sections.get(after.checked_sub(1)?)?;
            bytes.get(usize::try_from(address - section).ok()?..)
        };
        let word = of(&self.image.data).filter(|word| !word.is_empty());
        let word = word.or_else(|| of(&self.image.code))?;
        let word = match size {
            4 => u64::from(word.first_chunk().map(|word| u32::from_le_bytes(*word))?),
            8 => word.first_chunk().map(|word| u64::from_le_bytes(*word))?,
            _ => return None,
        };
        Some(if self.processor == Some(Processor::Arm) { word & !1 } else { word })
    }

    /// The address that the file stores at an address of data (little-endian).
    pub(super) fn address_at(&self, address: u64) -> Option<u64> {
        self.word_at(address, self.image.arch.address_size)
    }

    /// True if the loader resolves called functions by name.
    pub(super) fn is_slot(&self, address: u64) -> bool {
        let Some(section) = self.image.section_at(address) else { return false };
        let name = &self.image.sections[section].name;
        ["got", "__la_symbol_ptr"].iter().any(|slots| name.contains(slots))
    }

    /// True for the address of a linker's stub, which belongs to a name.
    pub(crate) fn is_stub(&self, target: u64) -> bool {
        let Some(section) = self.image.section_at(target) else { return false };
        let name = &self.image.sections[section].name;
        [".plt", ".iplt", "__stubs", "__auth_stubs"].iter().any(|stubs| name.contains(stubs))
    }

    /// The address of a symbol. On 32-bit ARM, bit 0 selects the instruction set.
    pub(super) fn without_mode(&self, address: u64) -> u64 {
        if self.processor == Some(Processor::Arm) { address & !1 } else { address }
    }
}

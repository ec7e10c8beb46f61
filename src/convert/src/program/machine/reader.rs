//! The code of an image as bytes: which processor reads it, and what stands at an address.

use std::sync::OnceLock;

use crate::open::{Format, Image, MarkKind};
use crate::util::hash::{HashMap, HashSet};

pub(super) const EM_386: u16 = 3;
pub(super) const EM_ARM: u16 = 40;
pub(crate) const EM_X86_64: u16 = 62;
pub(crate) const EM_AARCH64: u16 = 183;
pub(super) const EM_RISCV: u16 = 243;

/// A processor whose code is read.
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
            // The order of bytes in big-endian code is not the one of data, in some files (BE8).
            EM_ARM if !image.arch.big_endian => Some(Processor::Arm),
            EM_RISCV if !image.arch.big_endian => Some(Processor::RiscV { wide }),
            _ => None,
        }
    }

    pub(super) fn is_narrow(self) -> bool {
        matches!(self, Processor::Arm | Processor::RiscV { wide: false })
    }
}

/// Where code of an instruction set begins, and data: the mapping symbols, by address, the last of each.
pub(super) type CodeMarks = Vec<(u64, MarkKind)>;

/// Where instructions of RISC-V begin, in each code section: one bit for every two bytes. They have no one length, so that they
/// are read forward from symbols and marks.
pub(super) type RunStarts = Vec<(u64, Vec<u64>)>;

/// Calls and jumps that compilers add to any function.
#[derive(Default)]
pub(super) struct Added {
    pub(super) all: HashSet<u64>,
    /// Those that return (`-mfunction-return=thunk-extern`).
    pub(super) returns: HashSet<u64>,
}

/// What the loader writes into slots: by address; `None` for another module's.
pub(super) type Slots = HashMap<u64, Option<u64>>;

/// The code of an image.
pub(crate) struct Machine<'i, 'f> {
    pub(super) image: &'i Image<'f>,
    /// `None` where its code is not read.
    pub(super) processor: Option<Processor>,
    /// Once they are asked for.
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

    /// True where linkers leave jumps in the places of functions that they folded: lld's `--icf=safe_thunks`, for Mach-O alone.
    pub(crate) fn has_linkers_jumps(&self) -> bool {
        self.image.format == Format::MachO
    }

    /// True where an address is in an executable section.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.image.section_at(address).is_some_and(|section| self.image.sections[section].executable)
    }

    pub(super) fn bytes(&self, start: u64, end: u64) -> Option<&'f [u8]> {
        Some(self.section_bytes(start, end)?.1)
    }

    /// The bytes of a range, and where its section begins.
    pub(super) fn section_bytes(&self, start: u64, end: u64) -> Option<(u64, &'f [u8])> {
        let (section, bytes) = self.section_from(start)?;
        if let Some(files) = self.image.files {
            files.was_read(end.saturating_sub(start).min(bytes.len() as u64) as usize);
        }
        Some((section, bytes.get(..usize::try_from(end.checked_sub(start)?).ok()?)?))
    }

    /// The bytes from an address to the end of its section, and where that begins.
    pub(super) fn section_from(&self, start: u64) -> Option<(u64, &'f [u8])> {
        let after = self.image.code.partition_point(|&(section, _)| section <= start);
        let (section, bytes) = *self.image.code.get(after.checked_sub(1)?)?;
        Some((section, bytes.get(usize::try_from(start - section).ok()?..)?))
    }

    /// The address that the program's file has at an address of data, or of a table among code. Bit 0 of ARM's tells the
    /// instruction set.
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

    /// The address that the program's file has at an address of data (little-endian).
    pub(super) fn address_at(&self, address: u64) -> Option<u64> {
        self.word_at(address, self.image.arch.address_size)
    }

    /// True where the loader writes the addresses of functions that are called by name.
    pub(super) fn is_slot(&self, address: u64) -> bool {
        let Some(section) = self.image.section_at(address) else { return false };
        let name = &self.image.sections[section].name;
        ["got", "__la_symbol_ptr"].iter().any(|slots| name.contains(slots))
    }

    /// True where a linker's stub is: it belongs to a name.
    pub(crate) fn is_stub(&self, target: u64) -> bool {
        let Some(section) = self.image.section_at(target) else { return false };
        let name = &self.image.sections[section].name;
        [".plt", ".iplt", "__stubs", "__auth_stubs"].iter().any(|stubs| name.contains(stubs))
    }

    /// The address of a symbol, whose bit 0 tells the instruction set on 32-bit ARM.
    pub(super) fn without_mode(&self, address: u64) -> u64 {
        if self.processor == Some(Processor::Arm) { address & !1 } else { address }
    }
}

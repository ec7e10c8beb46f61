//! The code of an image as bytes: the processor that executes it, and the bytes at an address.

use std::sync::OnceLock;

use crate::model::{AddressRange, ImageAddr};
use crate::open::{Format, Image, MarkKind};
use crate::toolchain::linkers::{has_slots, has_stubs};
use crate::util::fit::fit;
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
            // Instructions of AArch64 are little-endian in big-endian files too (Arm ARM, instruction endianness).
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
pub(super) type CodeMarks = Vec<(ImageAddr, MarkKind)>;

/// Starts of RISC-V instructions, by code section, one bit per two bytes. Instruction lengths vary, so code is read
/// forward from symbols and marks.
pub(super) type RunStarts = Vec<(ImageAddr, Vec<u64>)>;

/// Functions that compilers call or jump to in any function.
#[derive(Default)]
pub(super) struct Added {
    pub(super) all: HashSet<ImageAddr>,
    /// Those that only return (`-mfunction-return=thunk-extern`).
    pub(super) returns: HashSet<ImageAddr>,
}

/// Thunks that go where a register points (x86), by address: the number of the register in instructions, `None` if several registers
/// claim the address.
pub(super) type RegisterThunks = HashMap<ImageAddr, Option<u8>>;

/// The loader's values of slots.
#[derive(Default)]
pub(super) struct Slots {
    /// By address, [`Slots::ELSEWHERE`] for an address of another module. Sorted: a large program has hundreds of thousands.
    written: Vec<(ImageAddr, ImageAddr)>,
}

impl Slots {
    /// No code is there.
    const ELSEWHERE: ImageAddr = ImageAddr(u64::MAX);

    /// Adds the value of a slot; [`Slots::sorted`] has to follow.
    pub(super) fn add(&mut self, slot: ImageAddr, value: Option<ImageAddr>) {
        self.written.push((slot, value.unwrap_or(Slots::ELSEWHERE)));
    }

    /// The same values, to be looked up. Of several of one slot the last counts.
    pub(super) fn sorted(mut self) -> Slots {
        // Stable, since the last value of a slot counts.
        self.written.sort_by_key(|written| written.0);
        self.written.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = next.1;
            }
            is_same
        });
        fit(&mut self.written);
        self
    }

    /// The value of a slot, if the loader writes it: `Some(None)` for an address of another module.
    pub(super) fn get(&self, slot: ImageAddr) -> Option<Option<ImageAddr>> {
        let at = self.written.binary_search_by_key(&slot, |written| written.0).ok()?;
        Some(Some(self.written[at].1).filter(|value| *value != Slots::ELSEWHERE))
    }
}

/// The code of an image.
pub(crate) struct Machine<'i, 'f> {
    pub(super) image: &'i Image<'f>,
    /// `None` if the processor is not supported.
    pub(super) processor: Option<Processor>,
    /// Computed at first use.
    pub(super) marks: OnceLock<CodeMarks>,
    pub(super) starts: OnceLock<RunStarts>,
    pub(super) added: OnceLock<Added>,
    pub(super) register_thunks: OnceLock<RegisterThunks>,
    pub(super) slots: OnceLock<Slots>,
    pub(super) offset_table: OnceLock<Option<ImageAddr>>,
}

impl<'i, 'f> Machine<'i, 'f> {
    /// As [`Image::release_pages`].
    pub(crate) fn release_pages(&self) {
        self.image.release_pages();
    }

    /// True if code of this program is read with its whole symbol table: RISC-V code begins at symbols.
    pub(crate) fn reads_all_symbols(image: &Image<'_>) -> bool {
        matches!(Processor::of(image), Some(Processor::RiscV { .. }))
    }

    pub(crate) fn new(image: &'i Image<'f>) -> Self {
        Machine {
            image,
            processor: Processor::of(image),
            marks: OnceLock::new(),
            starts: OnceLock::new(),
            added: OnceLock::new(),
            register_thunks: OnceLock::new(),
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
    pub(crate) fn is_code(&self, address: ImageAddr) -> bool {
        self.image.section_at(address).is_some_and(|section| self.image.sections[section].executable)
    }

    pub(super) fn bytes(&self, code: AddressRange) -> Option<&'f [u8]> {
        Some(self.section_bytes(code)?.1)
    }

    /// The bytes of a range, and the start of its section.
    pub(super) fn section_bytes(&self, code: AddressRange) -> Option<(ImageAddr, &'f [u8])> {
        let (start, end) = (code.start.0, code.end.0);
        let (section, bytes) = self.section_from(code.start)?;
        if let Some(files) = self.image.files {
            // Without this, the pages of all code that is read would stay in memory.
            files.was_read(end.saturating_sub(start).min(bytes.len() as u64) as usize);
        }
        Some((section, bytes.get(..usize::try_from(end.checked_sub(start)?).ok()?)?))
    }

    /// The bytes from an address to the end of its section, and the start of the section.
    pub(super) fn section_from(&self, start: ImageAddr) -> Option<(ImageAddr, &'f [u8])> {
        let after = self.image.code.partition_point(|&(section, _)| ImageAddr(section) <= start);
        let (section, bytes) = *self.image.code.get(after.checked_sub(1)?)?;
        let section = ImageAddr(section);
        Some((section, bytes.get(usize::try_from(start - section).ok()?..)?))
    }

    /// The address that the file stores at an address of data, or in a table among code. Bit 0 of an ARM address
    /// selects the instruction set.
    pub(super) fn word_at(&self, address: ImageAddr, size: u8) -> Option<ImageAddr> {
        let of = |sections: &[(u64, &'f [u8])]| {
            let after = sections.partition_point(|&(section, _)| ImageAddr(section) <= address);
            let (section, bytes) = *sections.get(after.checked_sub(1)?)?;
            bytes.get(usize::try_from(address - ImageAddr(section)).ok()?..)
        };
        // The section of data before the address may end before it. Then the word is in a table among code.
        let word = of(&self.image.data).filter(|word| !word.is_empty());
        let word = word.or_else(|| of(&self.image.code))?;
        let word = match size {
            4 => u64::from(word.first_chunk().map(|word| u32::from_le_bytes(*word))?),
            8 => word.first_chunk().map(|word| u64::from_le_bytes(*word))?,
            _ => return None,
        };
        Some(self.without_mode(ImageAddr(word)))
    }

    /// The address that the file stores at an address of data (little-endian).
    pub(super) fn address_at(&self, address: ImageAddr) -> Option<ImageAddr> {
        self.word_at(address, self.image.arch.address_size)
    }

    /// True if the loader resolves called functions by name.
    pub(super) fn is_slot(&self, address: ImageAddr) -> bool {
        let Some(section) = self.image.section_at(address) else { return false };
        let name = &self.image.sections[section].name;
        has_slots(name)
    }

    /// True for the address of a linker's stub, which belongs to a name.
    pub(crate) fn is_stub(&self, target: ImageAddr) -> bool {
        let Some(section) = self.image.section_at(target) else { return false };
        let name = &self.image.sections[section].name;
        has_stubs(name.as_bytes())
    }

    /// The address of a symbol. On 32-bit ARM, bit 0 selects the instruction set.
    pub(super) fn without_mode(&self, address: ImageAddr) -> ImageAddr {
        if self.processor == Some(Processor::Arm) { ImageAddr(address.0 & !1) } else { address }
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;
    use crate::model::ImageAddr;

    #[test]
    fn of_several_values_of_a_slot_the_last_counts() {
        let mut slots = Slots::default();
        for (slot, value) in
            [(0x20, Some(1)), (0x10, Some(2)), (0x20, None), (0x10, Some(3)), (0x30, Some(4))]
        {
            slots.add(ImageAddr(slot), value.map(ImageAddr));
        }
        let slots = slots.sorted();
        let found = [0x10, 0x20, 0x30, 0x18]
            .map(|slot| slots.get(ImageAddr(slot)).map(|value| value.map(|value| value.0)));
        assert_eq!(found, [Some(Some(3)), Some(None), Some(Some(4)), None]);
    }
}

//! Applies the relocations of `ET_REL` sections to a copy of their bytes, at synthetic addresses.
//!
//! Assemblers use few relocation types in debug sections: absolute words, PC-relative words, and on RISC-V and LoongArch
//! pairs that add one label and subtract another, since the linker may move either. Thread-local offsets are not
//! relocated: they occur only in the locations of thread-local variables, which foldsym does not read.
//!
//! A section with a relocation of an unknown type is not read at all. Any address or offset in it may be wrong, and
//! nobody could see that the resulting functions, files and lines are wrong.
//!
//! In a linked file nothing is applied: its debug sections are final, even if the linker kept `.rela.debug_*`.

use std::sync::OnceLock;

use object::elf;
use object::endian::Endianness;

use super::action::RelocationAction;
use super::others::{self, OtherTypes};
use crate::diagnostics::opening::{OpenDiagnosticKind, OpenDiagnostics};
use crate::open::elf_tables::{RelocationRows, SymbolPlace, SymbolTable, Tables};
use crate::open::relocations::{decode, has_addend};

/// The index of the section that relocations apply to, the relocations, and their symbols.
type TargetRelocations<'f> = (usize, RelocationRows<'f>, Option<SymbolTable<'f>>);

/// The relocations of one `ET_REL` file.
pub(super) struct Relocator<'a, 'f> {
    machine: u16,
    endian: Endianness,
    mips64el: bool,
    /// Relocation sections, sorted by the index of the section that they apply to. In a damaged file one may have no symbol table.
    sections: Vec<TargetRelocations<'f>>,
    /// For each section the number to add to the value of a symbol in it.
    bias: &'a [u64],
    is_mips64: bool,
    /// The file's bytes, and whether its class is 64-bit.
    file: (&'f [u8], bool),
    /// The types that the tables in this file do not list; read on first use.
    others: OnceLock<OtherTypes>,
}

impl<'a, 'f> Relocator<'a, 'f> {
    /// Finds the relocation sections. In a linked file it takes none.
    pub(super) fn new(tables: &Tables<'f>, bias: &'a [u64]) -> Self {
        let mut sections = Vec::new();
        if tables.is_relocatable() {
            let all = tables.relocation_sections();
            sections.extend(all.map(|(section, rows, symbols)| (section.info, rows, symbols)));
        }
        // Stable, so that several relocation sections of one target are applied in the order of the file.
        sections.sort_by_key(|(target, ..)| *target);
        Self {
            machine: tables.machine,
            endian: tables.endian,
            mips64el: tables.is_mips64el(),
            sections,
            bias,
            is_mips64: tables.machine == elf::EM_MIPS.0 && tables.is_64,
            file: (tables.data, tables.is_64),
            others: OnceLock::new(),
        }
    }

    fn sections_of(&self, target: usize) -> &[TargetRelocations<'f>] {
        let start = self.sections.partition_point(|(other, ..)| *other < target);
        let end = self.sections.partition_point(|(other, ..)| *other <= target);
        &self.sections[start..end]
    }

    /// True if a section has relocations.
    pub(super) fn applies_to(&self, target: usize) -> bool {
        !self.sections_of(target).is_empty()
    }

    /// Applies the relocations of a section to its bytes. Returns false if a relocation has an unknown type, or if the relocations have no
    /// symbol table; the bytes must not be used then.
    #[must_use]
    pub(super) fn apply(&self, target: usize, bytes: &mut [u8], diagnostics: &mut OpenDiagnostics) -> bool {
        let mut is_whole = true;
        let base = self.bias.get(target).copied().unwrap_or(0);
        for (_, rows, symbols) in self.sections_of(target) {
            let explicit = has_addend(*rows);
            let Some(symbols) = symbols else {
                if decode(*rows, self.endian, self.mips64el).next().is_none() {
                    continue;
                }
                let first = || format!("section {target}, whose relocations name no symbol table");
                diagnostics.note(OpenDiagnosticKind::BadRelocation, first);
                is_whole = false;
                continue;
            };
            for row in decode(*rows, self.endian, self.mips64el) {
                let Some(action) = self.action(row.r_type.0) else {
                    let kind =
                        OpenDiagnosticKind::UnknownRelocation { machine: self.machine, kind: row.r_type.0 };
                    diagnostics.note(kind, || {
                        let machine = others::machine_name(self.machine);
                        let name =
                            others::name(self.machine, row.r_type.0).unwrap_or("a type without a name");
                        format!("{machine}, {name}, section {target}, offset {:#x}", row.r_offset)
                    });
                    // The other rows are still looked at, so that the report has every unknown type of the section.
                    is_whole = false;
                    continue;
                };
                let place = usize::try_from(row.r_offset).ok().and_then(|offset| bytes.get_mut(offset..));
                let (Some(symbol), Some(place)) = (self.value(symbols, row.r_sym), place) else {
                    let first =
                        || format!("section {target}, offset {:#x}, symbol {}", row.r_offset, row.r_sym);
                    diagnostics.note(OpenDiagnosticKind::BadRelocation, first);
                    continue;
                };
                let operand = RelocatedValue {
                    value: symbol.wrapping_add_signed(row.r_addend),
                    place_addr: base.wrapping_add(row.r_offset),
                    explicit,
                    big_endian: self.endian == Endianness::Big,
                };
                if operand.patch(action, place).is_none() {
                    let first = || format!("section {target}, offset {:#x}", row.r_offset);
                    diagnostics.note(OpenDiagnosticKind::BadRelocation, first);
                }
            }
        }
        is_whole
    }

    /// A symbol's synthetic address. Symbol 0 and undefined symbols have 0, which a static linker gives to undefined weak symbols.
    fn value(&self, symbols: &SymbolTable<'_>, index: u32) -> Option<u64> {
        if index == 0 {
            return Some(0);
        }
        let symbol = symbols.get(index as usize)?;
        match symbol.place {
            SymbolPlace::Undefined => Some(0),
            // The value of an absolute symbol is its address, and that of a common symbol its alignment. Only the location of
            // a variable refers to a common symbol.
            SymbolPlace::Special => Some(symbol.value),
            SymbolPlace::Section(section) => Some(self.bias.get(section)?.wrapping_add(symbol.value)),
        }
    }

    /// The width in bytes of a relocation type that writes symbol + addend; `None` for all other types.
    pub(super) fn absolute(&self, kind: u32) -> Option<u8> {
        match action(self.machine, kind) {
            Some(RelocationAction::Set(width)) => Some(width),
            _ => None,
        }
    }

    fn action(&self, kind: u32) -> Option<RelocationAction> {
        // MIPS64 packs up to three types into one relocation; debug sections use one.
        if self.is_mips64 && kind > 0xff {
            return None;
        }
        // Called only if our own table has no answer: collecting these types parses the file once more.
        let others = || self.others.get_or_init(|| OtherTypes::read(self.file.0, self.file.1)).get(kind);
        action(self.machine, kind)
            .or_else(others)
            .or_else(|| others::is_thread_local(self.machine, kind).then_some(RelocationAction::Skip))
    }
}

/// True if a linker erased relocations of debug sections. `ld -r` does so for relocations against discarded sections: it
/// gives them type 0 and no symbol, and leaves 0 in the relocated field.
pub(super) fn has_erased(tables: &Tables<'_>) -> bool {
    tables.relocation_sections().any(|(section, rows, _)| {
        let target = tables.sections.get(section.info);
        let is_debug = target.is_some_and(|target| target.name.starts_with(b".debug_"));
        let mut rows = decode(rows, tables.endian, tables.is_mips64el());
        is_debug && rows.any(|row| row.r_type.0 == 0 && row.r_sym == 0)
    })
}

/// The operands of one relocation.
struct RelocatedValue {
    /// Symbol plus explicit addend.
    value: u64,
    /// Synthetic address of the relocated field.
    place_addr: u64,
    /// False if the addend is the old value of the field.
    explicit: bool,
    big_endian: bool,
}

impl RelocatedValue {
    /// Writes to the start of `place`; `None` if `place` is too short.
    fn patch(&self, action: RelocationAction, place: &mut [u8]) -> Option<()> {
        // With `Rel` the addend is in the field. With `Rela` the field may hold anything, and counting it would add
        // twice.
        let kept = |old: u64| if self.explicit { 0 } else { old };
        match action {
            RelocationAction::Skip => Some(()),
            RelocationAction::Set(width) => self.word(place, width, |old| self.value.wrapping_add(kept(old))),
            RelocationAction::Relative(width) => self
                .word(place, width, |old| self.value.wrapping_add(kept(old)).wrapping_sub(self.place_addr)),
            // Types that add or subtract take the old value of the field by definition, even if the relocation has an addend.
            RelocationAction::Add(width) => self.word(place, width, |old| old.wrapping_add(self.value)),
            RelocationAction::Sub(width) => self.word(place, width, |old| old.wrapping_sub(self.value)),
            RelocationAction::Set6 => low6(place, |_| self.value),
            RelocationAction::Add6 => low6(place, |old| old.wrapping_add(self.value)),
            RelocationAction::Sub6 => low6(place, |old| old.wrapping_sub(self.value)),
            RelocationAction::SetUleb => uleb(place, |_| self.value),
            RelocationAction::AddUleb => uleb(place, |old| old.wrapping_add(self.value)),
            RelocationAction::SubUleb => uleb(place, |old| old.wrapping_sub(self.value)),
        }
    }

    fn word(&self, place: &mut [u8], width: u8, change: impl FnOnce(u64) -> u64) -> Option<()> {
        let width = usize::from(width);
        let place = place.get_mut(..width)?;
        let mut word = [0; 8];
        if self.big_endian {
            word[8 - width..].copy_from_slice(place);
            word = change(u64::from_be_bytes(word)).to_be_bytes();
            place.copy_from_slice(&word[8 - width..]);
        } else {
            word[..width].copy_from_slice(place);
            word = change(u64::from_le_bytes(word)).to_le_bytes();
            place.copy_from_slice(&word[..width]);
        }
        Some(())
    }
}

fn low6(place: &mut [u8], change: impl FnOnce(u64) -> u64) -> Option<()> {
    // The upper 2 bits are the opcode of `DW_CFA_advance_loc`, whose operand is in the low 6 (DWARF 5 7.24).
    let byte = place.first_mut()?;
    *byte = *byte & 0xc0 | change(u64::from(*byte & 0x3f)) as u8 & 0x3f;
    Some(())
}

fn uleb(place: &mut [u8], change: impl FnOnce(u64) -> u64) -> Option<()> {
    // Ten bytes hold 64 bits. A longer number is damage.
    let length = place.iter().take(10).position(|byte| byte & 0x80 == 0)? + 1;
    let bytes = &mut place[..length];
    let old = bytes.iter().rev().fold(0u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    // A pair of relocations sets an address and subtracts another. Both are cut to the 7 bits per byte of this number, and
    // the difference is exact modulo that many bits.
    let mut value = change(old);
    for byte in bytes {
        *byte = *byte & 0x80 | value as u8 & 0x7f;
        value >>= 7;
    }
    Some(())
}

/// The relocation types that occur in debug sections, from the ELF supplement of each processor.
fn action(machine: u16, kind: u32) -> Option<RelocationAction> {
    use RelocationAction::{Relative, Set, Skip};
    // 0 is `R_*_NONE` on every processor.
    if kind == 0 {
        return Some(Skip);
    }
    Some(match elf::Machine(machine) {
        elf::EM_X86_64 => match elf::RelocationType(kind) {
            elf::R_X86_64_64 => Set(8),
            elf::R_X86_64_32 | elf::R_X86_64_32S => Set(4),
            elf::R_X86_64_16 => Set(2),
            elf::R_X86_64_8 => Set(1),
            elf::R_X86_64_PC32 => Relative(4),
            elf::R_X86_64_PC64 => Relative(8),
            elf::R_X86_64_DTPOFF32
            | elf::R_X86_64_DTPOFF64
            | elf::R_X86_64_TPOFF32
            | elf::R_X86_64_TPOFF64 => Skip,
            _ => return None,
        },
        elf::EM_386 | elf::EM_IAMCU => match elf::RelocationType(kind) {
            elf::R_386_32 => Set(4),
            elf::R_386_16 => Set(2),
            elf::R_386_8 => Set(1),
            elf::R_386_PC32 => Relative(4),
            elf::R_386_TLS_LDO_32 => Skip,
            _ => return None,
        },
        elf::EM_AARCH64 => match elf::RelocationType(kind) {
            elf::R_AARCH64_ABS64 => Set(8),
            elf::R_AARCH64_ABS32 => Set(4),
            elf::R_AARCH64_ABS16 => Set(2),
            elf::R_AARCH64_PREL64 => Relative(8),
            elf::R_AARCH64_PREL32 => Relative(4),
            // Object files of ILP32 have type numbers of their own.
            elf::R_AARCH64_P32_ABS32 => Set(4),
            // `R_AARCH64_TLS_DTPREL64`: assemblers write it for thread-local variables.
            _ if kind == 1029 => Skip,
            _ => return None,
        },
        elf::EM_ARM => match elf::RelocationType(kind) {
            elf::R_ARM_ABS32 => Set(4),
            elf::R_ARM_REL32 => Relative(4),
            elf::R_ARM_TLS_LDO32 => Skip,
            _ => return None,
        },
        elf::EM_RISCV => return riscv(kind),
        elf::EM_LOONGARCH => return loongarch(kind),
        _ => return other_machine(machine, kind),
    })
}

fn other_machine(machine: u16, kind: u32) -> Option<RelocationAction> {
    use RelocationAction::{Add, Relative, Set, Skip};
    Some(match elf::Machine(machine) {
        elf::EM_PPC64 => match elf::RelocationType(kind) {
            elf::R_PPC64_ADDR64 | elf::R_PPC64_UADDR64 => Set(8),
            elf::R_PPC64_ADDR32 | elf::R_PPC64_UADDR32 => Set(4),
            elf::R_PPC64_REL32 => Relative(4),
            elf::R_PPC64_REL64 => Relative(8),
            // `R_PPC64_TOC` fills the second word of a descriptor in `.opd`, and only the first is read.
            elf::R_PPC64_DTPREL64 | elf::R_PPC64_TOC => Skip,
            _ => return None,
        },
        elf::EM_PPC => match elf::RelocationType(kind) {
            elf::R_PPC_ADDR32 | elf::R_PPC_UADDR32 => Set(4),
            elf::R_PPC_REL32 => Relative(4),
            elf::R_PPC_DTPREL32 => Skip,
            _ => return None,
        },
        elf::EM_S390 => match elf::RelocationType(kind) {
            elf::R_390_64 => Set(8),
            elf::R_390_32 => Set(4),
            elf::R_390_16 => Set(2),
            elf::R_390_8 => Set(1),
            elf::R_390_PC32 => Relative(4),
            elf::R_390_PC64 => Relative(8),
            elf::R_390_TLS_LDO32 | elf::R_390_TLS_LDO64 => Skip,
            _ => return None,
        },
        elf::EM_MIPS => match elf::RelocationType(kind) {
            elf::R_MIPS_64 => Set(8),
            elf::R_MIPS_32 => Set(4),
            elf::R_MIPS_16 => Set(2),
            // `R_MIPS_PC32`.
            _ if kind == 248 => Relative(4),
            elf::R_MIPS_TLS_DTPREL32 | elf::R_MIPS_TLS_DTPREL64 => Skip,
            _ => return None,
        },
        // `R_AMDGPU_ABS64`, `ABS32`, `REL32`, `REL64`: numbers from LLVM's AMDGPU guide.
        elf::EM_AMDGPU => match kind {
            3 => Set(8),
            6 => Set(4),
            4 => Relative(4),
            5 => Relative(8),
            _ => return None,
        },
        elf::EM_SPARC | elf::EM_SPARC32PLUS | elf::EM_SPARCV9 => match elf::RelocationType(kind) {
            elf::R_SPARC_64 | elf::R_SPARC_UA64 => Set(8),
            elf::R_SPARC_32 | elf::R_SPARC_UA32 => Set(4),
            elf::R_SPARC_DISP32 => Relative(4),
            elf::R_SPARC_DISP64 => Relative(8),
            elf::R_SPARC_TLS_DTPOFF32 | elf::R_SPARC_TLS_DTPOFF64 => Skip,
            _ => return None,
        },
        // For SH and Xtensa, assemblers write the addend into the relocated field. Their `Rela` records hold addend 0.
        elf::EM_SH if elf::RelocationType(kind) == elf::R_SH_DIR32 => Add(4),
        elf::EM_XTENSA if elf::RelocationType(kind) == elf::R_XTENSA_32 => Add(4),
        elf::EM_HEXAGON if elf::RelocationType(kind) == elf::R_HEX_32 => Set(4),
        // `R_BPF_64_ABS64` and `R_BPF_64_ABS32`.
        elf::EM_BPF if kind == 2 => Set(8),
        elf::EM_BPF if kind == 3 => Set(4),
        _ => return None,
    })
}

fn riscv(kind: u32) -> Option<RelocationAction> {
    use RelocationAction::{Add, Relative, Set, Set6, SetUleb, Skip, Sub, Sub6, SubUleb};
    Some(match elf::RelocationType(kind) {
        elf::R_RISCV_64 => Set(8),
        elf::R_RISCV_32 | elf::R_RISCV_SET32 => Set(4),
        elf::R_RISCV_SET16 => Set(2),
        elf::R_RISCV_SET8 => Set(1),
        elf::R_RISCV_SET6 => Set6,
        elf::R_RISCV_32_PCREL => Relative(4),
        elf::R_RISCV_ADD64 => Add(8),
        elf::R_RISCV_ADD32 => Add(4),
        elf::R_RISCV_ADD16 => Add(2),
        elf::R_RISCV_ADD8 => Add(1),
        elf::R_RISCV_SUB64 => Sub(8),
        elf::R_RISCV_SUB32 => Sub(4),
        elf::R_RISCV_SUB16 => Sub(2),
        elf::R_RISCV_SUB8 => Sub(1),
        elf::R_RISCV_SUB6 => Sub6,
        // `R_RISCV_SET_ULEB128` and `R_RISCV_SUB_ULEB128`.
        _ if kind == 60 => SetUleb,
        _ if kind == 61 => SubUleb,
        // Both types mark places that the linker may shorten, and change no byte by themselves (RISC-V psABI, linker relaxation).
        elf::R_RISCV_RELAX | elf::R_RISCV_ALIGN => Skip,
        elf::R_RISCV_TLS_DTPREL32 | elf::R_RISCV_TLS_DTPREL64 => Skip,
        _ => return None,
    })
}

fn loongarch(kind: u32) -> Option<RelocationAction> {
    use RelocationAction::{Add, Add6, AddUleb, Relative, Set, Skip, Sub, Sub6, SubUleb};
    Some(match elf::RelocationType(kind) {
        elf::R_LARCH_64 => Set(8),
        elf::R_LARCH_32 => Set(4),
        elf::R_LARCH_32_PCREL => Relative(4),
        elf::R_LARCH_64_PCREL => Relative(8),
        elf::R_LARCH_ADD64 => Add(8),
        elf::R_LARCH_ADD32 => Add(4),
        elf::R_LARCH_ADD24 => Add(3),
        elf::R_LARCH_ADD16 => Add(2),
        elf::R_LARCH_ADD8 => Add(1),
        elf::R_LARCH_ADD6 => Add6,
        elf::R_LARCH_SUB64 => Sub(8),
        elf::R_LARCH_SUB32 => Sub(4),
        elf::R_LARCH_SUB24 => Sub(3),
        elf::R_LARCH_SUB16 => Sub(2),
        elf::R_LARCH_SUB8 => Sub(1),
        elf::R_LARCH_SUB6 => Sub6,
        elf::R_LARCH_ADD_ULEB128 => AddUleb,
        elf::R_LARCH_SUB_ULEB128 => SubUleb,
        elf::R_LARCH_RELAX | elf::R_LARCH_ALIGN => Skip,
        elf::R_LARCH_TLS_DTPREL32 | elf::R_LARCH_TLS_DTPREL64 => Skip,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operand(value: u64) -> RelocatedValue {
        RelocatedValue { value, place_addr: 0x10, explicit: true, big_endian: false }
    }

    #[test]
    fn a_uleb_pair_leaves_the_difference_in_the_length_it_has() {
        let mut place = [0x80, 0x80, 0x00, 0x55];
        operand(0x1234_5678).patch(RelocationAction::SetUleb, &mut place).unwrap();
        operand(0x1234_5600).patch(RelocationAction::SubUleb, &mut place).unwrap();
        assert_eq!(place, [0xf8, 0x80, 0x00, 0x55]);
    }

    #[test]
    fn a_uleb_without_an_end_is_refused() {
        assert_eq!(operand(1).patch(RelocationAction::SetUleb, &mut [0x80, 0x80]), None);
        assert_eq!(operand(1).patch(RelocationAction::SetUleb, &mut [0x80; 12]), None);
    }

    #[test]
    fn six_bits_leave_the_opcode() {
        let mut place = [0x40];
        operand(0x105).patch(RelocationAction::Set6, &mut place).unwrap();
        operand(0x102).patch(RelocationAction::Sub6, &mut place).unwrap();
        assert_eq!(place, [0x43]);
    }

    #[test]
    fn words_in_both_byte_orders() {
        let mut place = [1, 0, 0, 0];
        let implicit = RelocatedValue { explicit: false, ..operand(0x100) };
        implicit.patch(RelocationAction::Set(4), &mut place).unwrap();
        assert_eq!(place, [1, 1, 0, 0]);
        let big = RelocatedValue { big_endian: true, ..operand(0x100) };
        big.patch(RelocationAction::Relative(2), &mut place).unwrap();
        assert_eq!(place, [0, 0xf0, 0, 0]);
        assert_eq!(big.patch(RelocationAction::Set(8), &mut place), None);
    }
}

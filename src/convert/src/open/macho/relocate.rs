//! Applies the relocations of a Mach-O object's debug sections.
//!
//! If a relocation names a section, the relocated field already holds an address in this file, and nothing changes. If it
//! names a symbol, the field holds an addend.

use object::endian::Endianness;
use object::macho::{self, CpuType, Relocation};

use crate::diagnostics::opening::{OpenDiagnosticKind, OpenDiagnostics};

pub(super) struct Relocations<'f> {
    pub(super) rows: &'f [Relocation<Endianness>],
    pub(super) endian: Endianness,
    pub(super) cpu: CpuType,
    /// The section's ordinal, for messages.
    pub(super) section: usize,
}

impl Relocations<'_> {
    /// Adds the values of symbols to the relocated fields in `bytes`; `value` returns the value of a symbol by index. Returns
    /// false if a relocation has an unknown type; the bytes must not be used then.
    #[must_use]
    pub(super) fn apply(
        &self,
        bytes: &mut [u8],
        value: impl Fn(u32) -> Option<u64>,
        diagnostics: &mut OpenDiagnostics,
    ) -> bool {
        let mut is_whole = true;
        let subtractor = match self.cpu {
            macho::CPU_TYPE_X86_64 => Some(macho::X86_64_RELOC_SUBTRACTOR),
            macho::CPU_TYPE_ARM64 | macho::CPU_TYPE_ARM64_32 => Some(macho::ARM64_RELOC_SUBTRACTOR),
            _ => None,
        };
        let mut subtracted = Some(0);
        for row in self.rows {
            if row.r_scattered(self.endian, self.cpu) {
                // A difference of two addresses, which the assembler has already written.
                subtracted = Some(0);
                continue;
            }
            let row = row.info(self.endian);
            let symbol = if row.r_extern { value(row.r_symbolnum) } else { Some(0) };
            // A difference takes two rows: the first names what is subtracted, and the next one what it is subtracted
            // from.
            if Some(row.r_type) == subtractor {
                subtracted = symbol;
                continue;
            }
            // Type 0 is a plain word on every processor (`*_RELOC_UNSIGNED`, `*_RELOC_VANILLA`).
            if row.r_type.0 != 0 || row.r_pcrel {
                let kind = OpenDiagnosticKind::UnknownRelocation { machine: 0, kind: row.r_type.0.into() };
                diagnostics.note(kind, || format!("section {}, offset {:#x}", self.section, row.r_address));
                (subtracted, is_whole) = (Some(0), false);
                continue;
            }
            let added = symbol.zip(subtracted).map(|(symbol, subtracted)| symbol.wrapping_sub(subtracted));
            subtracted = Some(0);
            // `r_length` has 2 bits (Mach-O reloc.h), so the field has at most 8 bytes.
            let place =
                bytes.get_mut(row.r_address as usize..).and_then(|rest| rest.get_mut(..1 << row.r_length));
            match (added, place) {
                (Some(added), Some(place)) => self.add(place, added),
                _ => diagnostics.note(OpenDiagnosticKind::BadRelocation, || {
                    format!("section {}, offset {:#x}", self.section, row.r_address)
                }),
            }
        }
        is_whole
    }

    fn add(&self, place: &mut [u8], added: u64) {
        let width = place.len();
        let mut word = [0; 8];
        if self.endian == Endianness::Big {
            word[8 - width..].copy_from_slice(place);
            word = u64::from_be_bytes(word).wrapping_add(added).to_be_bytes();
            place.copy_from_slice(&word[8 - width..]);
        } else {
            word[..width].copy_from_slice(place);
            word = u64::from_le_bytes(word).wrapping_add(added).to_le_bytes();
            place.copy_from_slice(&word[..width]);
        }
    }
}

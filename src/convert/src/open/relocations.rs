//! Relocations in a linked file: those that the linker applied and kept (`--emit-relocs`), and those for the loader. They
//! are decoded on demand, one by one.

use object::elf;
use object::endian::Endianness;
use object::read::elf::{Crel, CrelIterator};

use super::elf_tables::{RelocationRows, SymbolPlace, SymbolTable, Tables};

/// One relocation. If it is not for the loader, the linker has already applied it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptRelocation {
    /// Offset in the section that it applies to. For the loader's relocations it is an address.
    pub section_off: u64,
    /// The processor's type number (`R_X86_64_64`, ...).
    pub kind: u32,
    /// Index in the symbol table of its relocation section; 0 if it names none. See [`KeptSection::symbol`].
    pub symbol: u32,
    /// 0 if the encoding has no addend: see [`KeptSection::has_addend`].
    pub addend: i64,
}

/// The symbol that a relocation names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RelocationSymbol<'f> {
    /// Empty for section symbols.
    pub name: &'f [u8],
    /// Image address; `None` if the symbol is undefined.
    pub address: Option<u64>,
    /// Size in bytes; 0 if the file gives none.
    pub size: u64,
    /// `STT_SECTION`: it represents its whole section and names no function.
    pub is_section: bool,
    /// `STT_FUNC` or `STT_GNU_IFUNC`.
    pub is_function: bool,
    /// `STB_LOCAL`: other object files may have a function of the same name.
    pub is_local: bool,
}

/// One relocation section of a linked file.
#[derive(Clone, Copy)]
pub(crate) struct KeptSection<'f> {
    /// The name of the section that it applies to; empty for the loader's relocations.
    pub target_name: &'f [u8],
    /// The index of that section in the file.
    pub target_index: usize,
    /// False if the encoding has no addends. They were in the relocated field, and the linker overwrote them.
    pub has_addend: bool,
    target_address: u64,
    rows: RelocationRows<'f>,
    symbols: Option<SymbolTable<'f>>,
    endian: Endianness,
    mips64el: bool,
}

impl<'f> KeptSection<'f> {
    /// All relocations, in file order, which need not be the order of offsets. Ends at the first damaged `SHT_CREL` entry.
    pub(crate) fn iter(&self) -> impl Iterator<Item = KeptRelocation> + use<'f> {
        let base = self.target_address;
        decode(self.rows, self.endian, self.mips64el).map(move |row| KeptRelocation {
            // In a linked file `r_offset` is an address. Debug sections have address 0.
            section_off: row.r_offset.wrapping_sub(base),
            kind: row.r_type.0,
            symbol: row.r_sym,
            addend: row.r_addend,
        })
    }

    /// The number of relocations. For `SHT_CREL` it is the claimed number, but at most one per byte of the section.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        match self.rows {
            RelocationRows::Rel32(rows) => rows.len(),
            RelocationRows::Rel64(rows) => rows.len(),
            RelocationRows::Rela32(rows) => rows.len(),
            RelocationRows::Rela64(rows) => rows.len(),
            RelocationRows::Crel(bytes) => {
                CrelIterator::new(bytes).map_or(0, |rows| rows.len().min(bytes.len()))
            }
        }
    }

    /// The image address of the symbol with this index; `None` if the symbol is undefined, for index 0 and outside the table.
    pub(crate) fn symbol_address(&self, index: u32) -> Option<u64> {
        let raw = self.symbols.as_ref().filter(|_| index != 0)?.get(index as usize)?;
        (raw.place != SymbolPlace::Undefined).then_some(raw.value)
    }

    /// The symbol with this index; `None` for index 0 and outside the table.
    pub(crate) fn symbol(&self, index: u32) -> Option<RelocationSymbol<'f>> {
        let table = self.symbols.as_ref().filter(|_| index != 0)?;
        let raw = table.get(index as usize)?;
        let kind = elf::SymbolType(raw.kind);
        Some(RelocationSymbol {
            name: table.name(raw.name).unwrap_or_default(),
            address: (raw.place != SymbolPlace::Undefined).then_some(raw.value),
            size: raw.size,
            is_section: kind == elf::STT_SECTION,
            is_function: kind == elf::STT_FUNC || kind == elf::STT_GNU_IFUNC,
            is_local: elf::SymbolBind(raw.bind) == elf::STB_LOCAL,
        })
    }

    /// The image address that a relocation refers to: symbol + addend. `None` if the symbol is undefined or the encoding has
    /// no addend.
    pub(crate) fn target(&self, relocation: &KeptRelocation) -> Option<u64> {
        let address = match relocation.symbol {
            // Symbol 0 has the value 0, so the addend is the address.
            0 => 0,
            index => self.symbol(index)?.address?,
        };
        self.has_addend.then(|| address.wrapping_add_signed(relocation.addend))
    }
}

/// Relocation sections of one linked file.
#[derive(Clone, Default)]
pub(crate) struct KeptRelocations<'f> {
    sections: Vec<KeptSection<'f>>,
}

impl<'f> KeptRelocations<'f> {
    /// The relocation sections, in file order.
    pub(crate) fn sections(&self) -> &[KeptSection<'f>] {
        &self.sections
    }

    /// Appends the relocation sections of a separate debug file.
    pub(in crate::open) fn append(&mut self, mut other: Self) {
        self.sections.append(&mut other.sections);
    }

    /// Finds the relocation sections of a linked file that the loader applies. Their offsets are addresses.
    pub(in crate::open) fn for_loader(tables: &Tables<'f>) -> Self {
        let loaded =
            tables.relocation_sections().filter(|(section, ..)| section.flags & elf::SHF_ALLOC.0 != 0);
        let sections = loaded.map(|(_, rows, symbols)| KeptSection {
            target_name: &[],
            target_index: 0,
            has_addend: has_addend(rows),
            // `r_offset` is an address here (System V gABI, relocation), and callers want addresses, so nothing is subtracted.
            target_address: 0,
            rows,
            symbols,
            endian: tables.endian,
            mips64el: tables.is_mips64el(),
        });
        Self { sections: sections.collect() }
    }

    /// Finds the relocation sections of a linked file that the linker applied and kept (`--emit-relocs`).
    pub(in crate::open) fn find(tables: &Tables<'f>) -> Self {
        let mut sections = Vec::new();
        for (section, rows, symbols) in tables.relocation_sections() {
            // The loader reads its relocations from memory, so they are allocated. The kept ones are not.
            let for_loader = section.flags & elf::SHF_ALLOC.0 != 0;
            // `sh_info` 0 names no section to which the relocations apply.
            let target = tables.sections.get(section.info).filter(|_| section.info != 0 && !for_loader);
            let Some(target) = target else { continue };
            sections.push(KeptSection {
                target_name: target.name,
                target_index: target.index,
                has_addend: has_addend(rows),
                target_address: target.address,
                rows,
                symbols,
                endian: tables.endian,
                mips64el: tables.is_mips64el(),
            });
        }
        Self { sections }
    }
}

/// True if the encoding has a field for the addend.
pub(super) fn has_addend(rows: RelocationRows<'_>) -> bool {
    match rows {
        RelocationRows::Rel32(_) | RelocationRows::Rel64(_) => false,
        RelocationRows::Rela32(_) | RelocationRows::Rela64(_) => true,
        RelocationRows::Crel(bytes) => CrelIterator::new(bytes).is_ok_and(|rows| rows.is_rela()),
    }
}

/// Decodes rows of any encoding; ends at the first damaged one.
pub(super) fn decode(
    rows: RelocationRows<'_>,
    endian: Endianness,
    mips64el: bool,
) -> impl Iterator<Item = Crel> {
    // At most one of the five is not empty. A chain of all five needs no boxed iterator and no dispatch per row.
    let (mut rel32, mut rel64, mut rela32, mut rela64) = (&[][..], &[][..], &[][..], &[][..]);
    let mut crel = None;
    match rows {
        RelocationRows::Rel32(rows) => rel32 = rows,
        RelocationRows::Rel64(rows) => rel64 = rows,
        RelocationRows::Rela32(rows) => rela32 = rows,
        RelocationRows::Rela64(rows) => rela64 = rows,
        RelocationRows::Crel(bytes) => crel = CrelIterator::new(bytes).ok(),
    }
    let rela64 = rela64.iter().map(move |row| Crel::from_rela(row, endian, mips64el));
    let rela32 = rela32.iter().map(move |row| Crel::from_rela(row, endian, false));
    // The other order of `r_info` on little-endian MIPS64 is read in `Rela` only: assemblers write no `Rel` for MIPS64.
    let rel64 = rel64.iter().map(move |row| Crel::from_rel(row, endian));
    let rel32 = rel32.iter().map(move |row| Crel::from_rel(row, endian));
    // Each entry of `SHT_CREL` is a difference from the entry before it, so nothing can be read after a damaged one.
    rela64.chain(rela32).chain(rel64).chain(rel32).chain(crel.into_iter().flatten().map_while(Result::ok))
}

//! Builds ELF files of both classes and byte orders.

// `sh_type` and `sh_flags` (System V gABI, sections).
pub(super) const PROGBITS: u32 = 1;
pub(super) const RELA: u32 = 4;
pub(super) const NOTE: u32 = 7;
pub(super) const NOBITS: u32 = 8;
pub(super) const REL: u32 = 9;
pub(super) const ALLOC: u64 = 2;
pub(super) const CODE: u64 = 2 | 4;
pub(super) const COMPRESSED: u64 = 0x800;

/// A buffer with one byte order.
#[derive(Clone, Default)]
pub(super) struct Bytes {
    pub(super) out: Vec<u8>,
    pub(super) big: bool,
}

impl Bytes {
    pub(super) fn number(&mut self, value: u64, width: usize) -> &mut Self {
        let mut bytes = value.to_le_bytes()[..width].to_vec();
        if self.big {
            bytes.reverse();
        }
        self.out.extend(bytes);
        self
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    fn align(&mut self, to: usize) {
        self.out.resize(self.out.len().next_multiple_of(to), 0);
    }
}

#[derive(Clone)]
pub(super) struct Sec {
    pub(super) name: &'static str,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) align: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) bytes: Vec<u8>,
    /// The size in the section header, if it differs from the number of bytes: for `NOBITS` and for damaged sections.
    pub(super) size: Option<u64>,
}

#[derive(Clone)]
pub(super) struct Sym {
    pub(super) name: &'static str,
    pub(super) value: u64,
    pub(super) size: u64,
    /// `STT_*`.
    pub(super) kind: u8,
    /// `STB_*`.
    pub(super) bind: u8,
    pub(super) section: u16,
}

pub(super) const fn func(name: &'static str, value: u64, size: u64, section: u16) -> Sym {
    Sym { name, value, size, kind: 2, bind: 1, section }
}

/// An ELF file under construction. `build` adds section 0, so the first section pushed has index 1.
#[derive(Clone)]
pub(super) struct Elf {
    pub(super) is_64: bool,
    pub(super) big: bool,
    pub(super) file_type: u16,
    pub(super) machine: u16,
    pub(super) sections: Vec<Sec>,
    /// The symbols of `.symtab`; `build` adds symbol 0.
    pub(super) symbols: Vec<Sym>,
    pub(super) dynamic: Vec<Sym>,
    /// `PT_LOAD` addresses.
    pub(super) loads: Vec<u64>,
}

impl Elf {
    pub(super) fn new(is_64: bool, big: bool, file_type: u16, machine: u16) -> Self {
        let (sections, symbols, dynamic, loads) = Default::default();
        Self { is_64, big, file_type, machine, sections, symbols, dynamic, loads }
    }

    /// A little-endian 64-bit file for x86-64.
    pub(super) fn x86_64(file_type: u16) -> Self {
        Self::new(true, false, file_type, 62)
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes { out: Vec::new(), big: self.big }
    }

    pub(super) fn word(&self) -> usize {
        if self.is_64 { 8 } else { 4 }
    }

    /// Adds a section and returns its index.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        kind: u32,
        flags: u64,
        address: u64,
        bytes: &[u8],
    ) -> usize {
        let bytes = bytes.to_vec();
        self.sections.push(Sec { name, kind, flags, address, align: 1, link: 0, info: 0, bytes, size: None });
        self.sections.len()
    }

    /// Adds a section with `SHF_COMPRESSED`: a compression header, then these bytes.
    pub(super) fn add_compressed(
        &mut self,
        name: &'static str,
        method: u32,
        claimed: u64,
        input: &[u8],
    ) -> usize {
        let mut bytes = self.bytes();
        // `Elf64_Chdr` has a reserved word after the type, and `Elf32_Chdr` has none.
        bytes.number(method.into(), 4);
        if self.is_64 {
            bytes.number(0, 4);
        }
        bytes.number(claimed, self.word()).number(1, self.word()).raw(input);
        let bytes = bytes.out;
        self.add(name, PROGBITS, COMPRESSED, 0, &bytes)
    }

    /// Adds a build id note.
    pub(super) fn add_build_id(&mut self, id: &[u8]) {
        let mut bytes = self.bytes();
        // Size of the name, size of the id, `NT_GNU_BUILD_ID`.
        bytes.number(4, 4).number(id.len() as u64, 4).number(3, 4).raw(b"GNU\0").raw(id);
        let bytes = bytes.out;
        self.add(".note.gnu.build-id", NOTE, ALLOC, 0x20, &bytes);
    }

    /// Adds relocations (offset, type, symbol, addend) of a section. Their symbol table is `.symtab`, after all other sections.
    pub(super) fn add_relocations(
        &mut self,
        name: &'static str,
        target: usize,
        kind: u32,
        rows: &[(u64, u32, u32, i64)],
    ) {
        let mut bytes = self.bytes();
        for &(offset, r_type, symbol, addend) in rows {
            bytes.number(offset, self.word());
            // `ELF64_R_INFO` and `ELF32_R_INFO` (System V gABI, relocation).
            let info = if self.is_64 {
                u64::from(symbol) << 32 | u64::from(r_type)
            } else {
                u64::from(symbol << 8 | r_type)
            };
            bytes.number(info, self.word());
            if kind == RELA {
                bytes.number(addend as u64, self.word());
            }
        }
        let bytes = bytes.out;
        let index = self.add(name, kind, 0, 0, &bytes);
        self.sections[index - 1].info = target as u32;
    }

    fn symbol_table(&self, symbols: &[Sym], names: &mut Vec<u8>) -> Vec<u8> {
        let mut bytes = self.bytes();
        bytes.raw(&vec![0; if self.is_64 { 24 } else { 16 }]);
        for symbol in symbols {
            let name = names.len() as u64;
            names.extend_from_slice(symbol.name.as_bytes());
            names.push(0);
            // The classes have the same fields in different orders: in the 64-bit class `st_info` comes before `st_value`.
            let info = u64::from(symbol.bind << 4 | symbol.kind);
            let section = symbol.section.into();
            if self.is_64 {
                bytes.number(name, 4).number(info, 1).number(0, 1).number(section, 2);
                bytes.number(symbol.value, 8).number(symbol.size, 8);
            } else {
                bytes.number(name, 4).number(symbol.value, 4).number(symbol.size, 4);
                bytes.number(info, 1).number(0, 1).number(section, 2);
            }
        }
        bytes.out
    }

    /// The bytes of the file.
    pub(super) fn build(&self) -> Vec<u8> {
        let mut sections = self.sections.clone();
        let plain = |name, kind, bytes: Vec<u8>| Sec {
            name,
            kind,
            flags: 0,
            address: 0,
            align: 1,
            link: 0,
            info: 0,
            bytes,
            size: None,
        };
        let mut names = vec![0];
        let symbols = self.symbol_table(&self.symbols, &mut names);
        let dynamic = self.symbol_table(&self.dynamic, &mut names);
        let symtab = sections.len() as u32 + 1;
        for section in &mut sections {
            if (section.kind == RELA || section.kind == REL) && section.link == 0 {
                section.link = symtab;
            }
        }
        if !self.symbols.is_empty() {
            // `sh_link` is the index of `.strtab`, which follows the symbol tables.
            let strings = symtab + 1 + u32::from(!self.dynamic.is_empty());
            sections.push(Sec { link: strings, ..plain(".symtab", 2, symbols) });
        }
        if !self.dynamic.is_empty() {
            let strings = sections.len() as u32 + 2;
            sections.push(Sec { link: strings, ..plain(".dynsym", 11, dynamic) });
        }
        sections.push(plain(".strtab", 3, names));
        let mut names = vec![0];
        let mut name_offsets = Vec::new();
        for name in sections.iter().map(|section| section.name).chain([".shstrtab"]) {
            name_offsets.push(names.len());
            names.extend_from_slice(name.as_bytes());
            names.push(0);
        }
        sections.push(plain(".shstrtab", 3, names));
        self.write(&sections, &name_offsets)
    }

    fn write(&self, sections: &[Sec], name_offsets: &[usize]) -> Vec<u8> {
        let word = self.word();
        let (header_size, segment_size, row_size) = if self.is_64 { (64, 56, 64) } else { (52, 32, 40) };
        let mut body = self.bytes();
        body.out.resize(header_size + segment_size * self.loads.len(), 0);
        let mut offsets = Vec::new();
        for section in sections {
            body.align(8);
            offsets.push(body.out.len() as u64);
            body.raw(&section.bytes);
        }
        body.align(8);
        let table = body.out.len() as u64;
        body.raw(&vec![0; row_size]);
        for ((section, name), offset) in sections.iter().zip(name_offsets).zip(offsets) {
            body.number(*name as u64, 4).number(section.kind.into(), 4).number(section.flags, word);
            body.number(section.address, word).number(offset, word);
            body.number(section.size.unwrap_or(section.bytes.len() as u64), word);
            body.number(section.link.into(), 4).number(section.info.into(), 4);
            body.number(section.align, word).number(0, word);
        }
        let mut header = self.bytes();
        header.raw(b"\x7fELF").raw(&[1 + u8::from(self.is_64), 1 + u8::from(self.big), 1]).raw(&[0; 9]);
        header.number(self.file_type.into(), 2).number(self.machine.into(), 2).number(1, 4).number(0, word);
        header.number(if self.loads.is_empty() { 0 } else { header_size as u64 }, word).number(table, word);
        header.number(0, 4).number(header_size as u64, 2).number(segment_size as u64, 2);
        header.number(self.loads.len() as u64, 2).number(row_size as u64, 2);
        header.number(sections.len() as u64 + 1, 2).number(sections.len() as u64, 2);
        // `p_flags` is the second field in the 64-bit class, and the seventh in the 32-bit class.
        for &address in &self.loads {
            header.number(1, 4);
            if self.is_64 {
                header.number(5, 4);
            }
            header
                .number(0, word)
                .number(address, word)
                .number(address, word)
                .number(0, word)
                .number(0x1000, word);
            if !self.is_64 {
                header.number(5, 4);
            }
            header.number(0x1000, word);
        }
        body.out[..header.out.len()].copy_from_slice(&header.out);
        body.out
    }
}

/// A program of each class and byte order, with code, symbols, a build id and two debug sections.
pub(super) fn programs() -> Vec<Elf> {
    let program = |is_64, big, machine| {
        let mut elf = Elf::new(is_64, big, 2, machine);
        elf.loads = vec![0x1000];
        elf.add(".text", PROGBITS, CODE, 0x1000, &[0x90; 0x40]);
        elf.add_build_id(&[0xab, 0xcd, 0xef]);
        elf.add(".debug_info", PROGBITS, 0, 0, b"info bytes");
        elf.add(".debug_str", PROGBITS, 0, 0, b"string\0");
        elf.symbols = vec![func("first", 0x1000, 0x10, 1), func("second", 0x1010, 0x20, 1)];
        elf
    };
    vec![
        program(true, false, 62),
        program(true, true, 22),
        program(false, false, 3),
        program(false, true, 20),
    ]
}

//! Assembles small programs whose DWARF no compiler would write: ELF for x86-64, `.debug_info` by hand.

/// Where the code of every made program begins.
pub const CODE: u64 = 0x1000;

/// Bytes of code.
pub const CODE_LEN: u64 = 0x1000;

/// Where a section of this name is loaded; others are not.
pub const DATA: (&str, u64) = (".data.rel.ro", CODE + CODE_LEN);

/// Where stubs of the linker are loaded.
pub const STUBS: (&str, u64) = (".plt", CODE + 2 * CODE_LEN);

pub fn uleb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The value of an attribute, with the form that it is written in.
#[derive(Clone, Copy)]
pub enum Value<'s> {
    /// `DW_FORM_string`.
    Text(&'s str),
    /// The same, of any bytes but zero.
    Bytes(&'s [u8]),
    /// `DW_FORM_addr`.
    Address(u64),
    /// `DW_FORM_udata`.
    Number(u64),
    /// `DW_FORM_ref4`, to a label that is set before or after.
    Label(&'s str),
    /// `DW_FORM_sec_offset`, cut to the width of the unit.
    Offset(u64),
    /// `DW_FORM_flag_present`.
    Flag,
    /// `DW_FORM_loclistx`.
    ListIndex(u64),
    /// `DW_FORM_rnglistx`.
    RangeIndex(u64),
    /// `DW_FORM_exprloc`.
    Expression(&'s [u8]),
}

impl Value<'_> {
    fn form(&self) -> gimli::DwForm {
        match self {
            Value::Text(_) | Value::Bytes(_) => gimli::DW_FORM_string,
            Value::Address(_) => gimli::DW_FORM_addr,
            Value::Number(_) => gimli::DW_FORM_udata,
            Value::Label(_) => gimli::DW_FORM_ref4,
            Value::Offset(_) => gimli::DW_FORM_sec_offset,
            Value::Flag => gimli::DW_FORM_flag_present,
            Value::ListIndex(_) => gimli::DW_FORM_loclistx,
            Value::RangeIndex(_) => gimli::DW_FORM_rnglistx,
            Value::Expression(_) => gimli::DW_FORM_exprloc,
        }
    }
}

/// One compile unit and its abbreviations. Entries are opened and closed one by one, so that any depth can be made.
pub struct Info {
    version: u16,
    /// 64-bit DWARF: offsets have 8 bytes.
    wide: bool,
    pub out: Vec<u8>,
    abbreviations: Vec<u8>,
    shapes: Vec<(u16, Vec<(u16, u16)>)>,
    labels: Vec<(String, u32)>,
    holes: Vec<(String, usize)>,
}

impl Info {
    /// A unit whose root has a name, the line program at 0, and these attributes, each instead of its own.
    pub fn new(version: u16, attributes: &[(gimli::DwAt, Value<'_>)]) -> Info {
        Info::of_width(version, false, attributes)
    }

    /// As [`Info::new`], of 64-bit DWARF.
    pub fn wide(version: u16, attributes: &[(gimli::DwAt, Value<'_>)]) -> Info {
        Info::of_width(version, true, attributes)
    }

    fn of_width(version: u16, wide: bool, attributes: &[(gimli::DwAt, Value<'_>)]) -> Info {
        let (shapes, labels, holes) = Default::default();
        let out = if wide { [[0xff; 4], [0; 4], [0; 4]].concat() } else { vec![0; 4] };
        let mut info = Info { version, wide, out, abbreviations: Vec::new(), shapes, labels, holes };
        info.out.extend(version.to_le_bytes());
        if version >= 5 {
            info.out.extend([1, 8]);
            info.offset(0);
        } else {
            info.offset(0);
            info.out.push(8);
        }
        let mut root = vec![
            (gimli::DW_AT_name, Value::Text("unit.c")),
            (gimli::DW_AT_comp_dir, Value::Text("/made")),
            (gimli::DW_AT_stmt_list, Value::Offset(0)),
        ];
        root.retain(|(name, _)| attributes.iter().all(|(other, _)| other != name));
        root.extend(attributes);
        info.open(gimli::DW_TAG_compile_unit, &root);
        info
    }

    /// Names the next entry.
    pub fn label(&mut self, name: &str) -> &mut Info {
        self.labels.push((name.to_owned(), self.out.len() as u32));
        self
    }

    /// Begins an entry; what follows is inside.
    pub fn open(&mut self, tag: gimli::DwTag, attributes: &[(gimli::DwAt, Value<'_>)]) -> &mut Info {
        let shape = (tag.0, attributes.iter().map(|(name, value)| (name.0, value.form().0)).collect());
        let known = self.shapes.iter().position(|known| *known == shape);
        let code = known.unwrap_or_else(|| {
            uleb(&mut self.abbreviations, self.shapes.len() as u64 + 1);
            uleb(&mut self.abbreviations, tag.0.into());
            self.abbreviations.push(1);
            for &(name, form) in &shape.1 {
                uleb(&mut self.abbreviations, name.into());
                uleb(&mut self.abbreviations, form.into());
            }
            self.abbreviations.extend([0, 0]);
            self.shapes.push(shape);
            self.shapes.len() - 1
        });
        uleb(&mut self.out, code as u64 + 1);
        for (_, value) in attributes {
            match value {
                Value::Text(text) => {
                    self.out.extend(text.as_bytes());
                    self.out.push(0);
                }
                Value::Bytes(bytes) => {
                    self.out.extend(*bytes);
                    self.out.push(0);
                }
                Value::Address(address) => self.out.extend(address.to_le_bytes()),
                Value::Number(number) | Value::ListIndex(number) | Value::RangeIndex(number) => {
                    uleb(&mut self.out, *number)
                }
                Value::Label(name) => {
                    self.holes.push(((*name).to_owned(), self.out.len()));
                    self.out.extend([0; 4]);
                }
                Value::Offset(offset) => self.offset(*offset),
                Value::Flag => {}
                Value::Expression(bytes) => {
                    uleb(&mut self.out, bytes.len() as u64);
                    self.out.extend(*bytes);
                }
            }
        }
        self
    }

    fn offset(&mut self, offset: u64) {
        let width = if self.wide { 8 } else { 4 };
        self.out.extend(&offset.to_le_bytes()[..width]);
    }

    /// Ends the entry opened last.
    pub fn close(&mut self) -> &mut Info {
        self.out.push(0);
        self
    }

    /// A subprogram with a name and code, closed.
    pub fn function(&mut self, name: &str, start: u64, len: u64) -> &mut Info {
        let attributes = [
            (gimli::DW_AT_name, Value::Text(name)),
            (gimli::DW_AT_low_pc, Value::Address(start)),
            (gimli::DW_AT_high_pc, Value::Number(len)),
        ];
        self.open(gimli::DW_TAG_subprogram, &attributes).close()
    }

    /// The sections, the root closed.
    pub fn sections(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.close();
        for (name, at) in &self.holes {
            let target = self.labels.iter().find(|(label, _)| label == name).unwrap().1;
            self.out[*at..at + 4].copy_from_slice(&target.to_le_bytes());
        }
        if self.wide {
            let len = self.out.len() as u64 - 12;
            self.out[4..12].copy_from_slice(&len.to_le_bytes());
        } else {
            let len = self.out.len() as u32 - 4;
            self.out[..4].copy_from_slice(&len.to_le_bytes());
        }
        assert!(self.version <= 5);
        vec![
            (".debug_info", self.out.clone()),
            (".debug_abbrev", [self.abbreviations.as_slice(), &[0]].concat()),
        ]
    }
}

/// The sections of two units of 32-bit DWARF 4.
pub fn two_units(first: &mut Info, second: &mut Info) -> Vec<(&'static str, Vec<u8>)> {
    let (mut sections, others) = (first.sections(), second.sections());
    let abbreviations = sections[1].1.len() as u32;
    let at = sections[0].1.len();
    for (ours, (_, theirs)) in sections.iter_mut().zip(others) {
        ours.1.extend(theirs);
    }
    assert_eq!((first.version, second.version), (4, 4));
    sections[0].1[at + 6..at + 10].copy_from_slice(&abbreviations.to_le_bytes());
    sections
}

/// A line program of version 4, with one file in the compilation directory.
pub fn line_program(opcodes: &[u8]) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 14, 13];
    header.extend([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
    header.extend(b"\0unit.c\0\0\0\0\0");
    let mut out = Vec::new();
    out.extend((6 + header.len() as u32 + opcodes.len() as u32).to_le_bytes());
    out.extend(4_u16.to_le_bytes());
    out.extend((header.len() as u32).to_le_bytes());
    out.extend(header);
    out.extend(opcodes);
    out
}

/// Opcodes for rows, each (address, line), and the end of their sequence. They may be in any order.
pub fn sequence(rows: &[(u64, i8)], end: u64) -> Vec<u8> {
    let set_address = |out: &mut Vec<u8>, address: u64| {
        out.extend([0, 9, 2]);
        out.extend(address.to_le_bytes());
    };
    let (mut out, mut line) = (Vec::new(), 1);
    for &(address, to) in rows {
        set_address(&mut out, address);
        // DW_LNS_advance_line with an operand of one byte, DW_LNS_copy
        out.extend([3, (to - line) as u8 & 0x7f, 1]);
        line = to;
    }
    set_address(&mut out, end);
    out.extend([0, 1, 1]);
    out
}

/// A program with code, these sections, and these function symbols: (name, address, size).
pub fn elf(debug: &[(&str, Vec<u8>)], symbols: &[(&str, u64, u64)]) -> Vec<u8> {
    elf_at(CODE, debug, symbols)
}

/// As [`elf`], with the code at this address.
pub fn elf_at(code: u64, debug: &[(&str, Vec<u8>)], symbols: &[(&str, u64, u64)]) -> Vec<u8> {
    elf_with(code, debug, &symbols.iter().map(|&symbol| Symbol::Global(symbol)).collect::<Vec<_>>())
}

/// A program that has this code at an address.
pub fn with_code(mut program: Vec<u8>, address: u64, code: &[u8]) -> Vec<u8> {
    // The code is the first section, after the header.
    let at = 64 + (address - CODE) as usize;
    program[at..at + code.len()].copy_from_slice(code);
    program
}

/// An entry of a symbol table.
#[derive(Clone, Copy)]
pub enum Symbol<'s> {
    /// A function: name, address, size.
    Global((&'s str, u64, u64)),
    /// The same, of the file named last.
    Local((&'s str, u64, u64)),
    /// As `Local`, without a type.
    Label((&'s str, u64, u64)),
    /// As `Local`, in [`STUBS`].
    Stub((&'s str, u64, u64)),
    /// What is in [`DATA`].
    Object((&'s str, u64, u64)),
    /// The same, of the file named last.
    LocalObject((&'s str, u64, u64)),
    /// As `Global`, without a type.
    GlobalLabel((&'s str, u64, u64)),
    /// As `Global`, of a function that is chosen at start-up.
    Indirect((&'s str, u64, u64)),
    /// The file of the local symbols after it.
    File(&'s str),
}

/// As [`elf_at`], with any symbols. A section `.dynsym` has its names in `.strtab` too.
pub fn elf_with(code: u64, debug: &[(&str, Vec<u8>)], symbols: &[Symbol<'_>]) -> Vec<u8> {
    let (mut strings, mut table) = (vec![0], vec![0; 24]);
    let section = |of: &str| debug.iter().position(|(name, _)| *name == of).map_or(0, |at| at as u16 + 2);
    let (data, stubs) = (section(DATA.0), section(STUBS.0));
    for symbol in symbols {
        // Binding and type, section.
        let (info, section, (name, address, size)) = match *symbol {
            Symbol::Global(function) => (0x12, 1_u16, function),
            Symbol::Local(function) => (0x02, 1, function),
            Symbol::Label(label) => (0x00, 1, label),
            Symbol::Stub(stub) => (0x02, stubs, stub),
            Symbol::Object(object) => (0x11, data, object),
            Symbol::LocalObject(object) => (0x01, data, object),
            Symbol::GlobalLabel(label) => (0x10, 1, label),
            Symbol::Indirect(function) => (0x1a, 1, function),
            Symbol::File(name) => (0x04, 0xfff1, (name, 0, 0)),
        };
        table.extend((strings.len() as u32).to_le_bytes());
        table.extend([info, 0]);
        table.extend(section.to_le_bytes());
        table.extend(address.to_le_bytes());
        table.extend(size.to_le_bytes());
        strings.extend(name.as_bytes());
        strings.push(0);
    }
    // (name, type, flags, address, link, entry size, bytes)
    type Section<'s> = (&'s str, u32, u64, u64, u32, u64, Vec<u8>);
    let mut sections: Vec<Section<'_>> = vec![(".text", 1, 6, code, 0, 0, vec![0x90; CODE_LEN as usize])];
    let symtab = debug.len() as u32 + 2;
    sections.extend(debug.iter().map(|(name, bytes)| {
        let (kind, flags, address, link, entry) = match *name {
            name if name == DATA.0 => (1, 3, DATA.1, 0, 0),
            name if name == STUBS.0 => (1, 6, STUBS.1, 0, 0),
            ".dynsym" => (11, 0, 0, symtab + 1, 24),
            _ => (1, 0, 0, 0, 0),
        };
        (*name, kind, flags, address, link, entry, bytes.clone())
    }));
    sections.push((".symtab", 2, 0, 0, symtab + 1, 24, table));
    sections.push((".strtab", 3, 0, 0, 0, 0, strings));
    let mut names = vec![0];
    let mut starts: Vec<u32> = Vec::new();
    for name in sections.iter().map(|section| section.0).chain([".shstrtab"]) {
        starts.push(names.len() as u32);
        names.extend(name.as_bytes());
        names.push(0);
    }
    sections.push((".shstrtab", 3, 0, 0, 0, 0, names));

    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    out.extend(2_u16.to_le_bytes());
    out.extend(62_u16.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    out.resize(64, 0);
    let mut headers = vec![0; 64];
    for ((_, kind, flags, address, link, entry, bytes), name) in sections.iter().zip(starts) {
        headers.extend(name.to_le_bytes());
        headers.extend(kind.to_le_bytes());
        for word in [*flags, *address, out.len() as u64, bytes.len() as u64] {
            headers.extend(word.to_le_bytes());
        }
        headers.extend(link.to_le_bytes());
        headers.extend(u32::from(matches!(*kind, 2 | 11)).to_le_bytes());
        headers.extend(1_u64.to_le_bytes());
        headers.extend(entry.to_le_bytes());
        out.extend(bytes);
    }
    let table = out.len() as u64;
    out.extend(headers);
    out[0x28..0x30].copy_from_slice(&table.to_le_bytes());
    let count = sections.len() as u16;
    for (at, number) in [(0x34, 64), (0x3a, 64), (0x3c, count + 1), (0x3e, count)] {
        out[at..at + 2].copy_from_slice(&number.to_le_bytes());
    }
    out
}

/// A Mach-O program for x86-64 with code, these sections, and these global symbols: (name without `_`, address).
pub fn macho(debug: &[(&str, Vec<u8>)], symbols: &[(&str, u64)]) -> Vec<u8> {
    let fixed = |name: &str| {
        let mut bytes = [0; 16];
        bytes[..name.len().min(16)].copy_from_slice(&name.as_bytes()[..name.len().min(16)]);
        bytes
    };
    let sections: Vec<(&str, String, u64, u32, Vec<u8>)> =
        [("__TEXT", "__text".to_owned(), CODE, 0x8000_0400, vec![0x90; CODE_LEN as usize])]
            .into_iter()
            .chain(
                debug.iter().map(|(name, bytes)| {
                    ("__DWARF", format!("__{}", &name[1..]), 0, 0x0200_0000, bytes.clone())
                }),
            )
            .collect();
    let commands_len = 152 * sections.len() + 24;
    let (mut commands, mut data) = (Vec::new(), Vec::new());
    for (segment, name, address, flags, bytes) in &sections {
        let (offset, size) = ((32 + commands_len + data.len()) as u64, bytes.len() as u64);
        commands.extend([0x19_u32, 152].map(u32::to_le_bytes).concat());
        commands.extend(fixed(segment));
        commands.extend([address & !0xfff, 0x1000, offset, size].map(u64::to_le_bytes).concat());
        commands.extend([5_u32, 5, 1, 0].map(u32::to_le_bytes).concat());
        commands.extend([fixed(name), fixed(segment)].concat());
        commands.extend([*address, size].map(u64::to_le_bytes).concat());
        commands.extend([offset as u32, 0, 0, 0, *flags, 0, 0, 0].map(u32::to_le_bytes).concat());
        data.extend(bytes);
    }
    let (mut table, mut strings) = (Vec::new(), vec![0]);
    for (name, address) in symbols {
        table.extend((strings.len() as u32).to_le_bytes());
        table.extend([0x0f, 1, 0, 0]);
        table.extend(address.to_le_bytes());
        strings.extend([b"_", name.as_bytes(), b"\0"].concat());
    }
    let symbols_at = (32 + commands_len + data.len()) as u32;
    let strings_at = symbols_at + table.len() as u32;
    let symtab = [2, 24, symbols_at, symbols.len() as u32, strings_at, strings.len() as u32];
    commands.extend(symtab.map(u32::to_le_bytes).concat());
    let header =
        [0xfeed_facf, 0x0100_0007, 3, 2, sections.len() as u32 + 1, commands_len as u32, 0x20_0000, 0];
    [header.map(u32::to_le_bytes).concat(), commands, data, table, strings].concat()
}

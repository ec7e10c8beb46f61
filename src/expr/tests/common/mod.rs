//! A made-up stopped program for the tests, an assembler for expressions, and stacks as text.

#![allow(dead_code)] // each test uses what it needs

use std::collections::BTreeMap;

use foldsym_expr::{
    Buffers, Context, DieRef, Entry, Evaluation, Location, Node, Problem, Settings, Storage, Type, Value,
    Want,
};

/// What the program knows; everything else is missing.
#[derive(Default)]
pub(crate) struct Known<'e> {
    pub(crate) registers: BTreeMap<u64, Vec<u8>>,
    /// Bytes by address space and address.
    pub(crate) memory: BTreeMap<(u64, u64), Vec<u8>>,
    pub(crate) lane: Option<u64>,
    pub(crate) base: Option<Location<'e>>,
    pub(crate) cfa: Option<Location<'e>>,
    pub(crate) object: Option<Location<'e>>,
    pub(crate) procedures: BTreeMap<u64, &'e [u8]>,
    pub(crate) types: BTreeMap<u64, Type>,
    pub(crate) entry: BTreeMap<u64, Location<'e>>,
    pub(crate) sizes: BTreeMap<u64, u8>,
    /// What every expression gave when the function was entered.
    pub(crate) on_entry: Option<Value>,
}

impl Known<'_> {
    pub(crate) fn register(mut self, number: u64, value: u64) -> Self {
        self.registers.insert(number, value.to_le_bytes().to_vec());
        self
    }

    /// A register with a 4-byte element for each lane: `first`, `first + 1`, ...
    pub(crate) fn vector(mut self, number: u64, first: u32) -> Self {
        self.registers.insert(number, (0..64).flat_map(|lane| (first + lane).to_le_bytes()).collect());
        self
    }

    pub(crate) fn memory(mut self, space: u64, address: u64, bytes: &[u8]) -> Self {
        self.memory.insert((space, address), bytes.to_vec());
        self
    }
}

impl<'e> Context<'e> for Known<'e> {
    fn read_register(&self, register: u64, offset: u64, bytes: &mut [u8]) -> Option<()> {
        let all = self.registers.get(&register)?;
        bytes.copy_from_slice(all.get(offset as usize..)?.get(..bytes.len())?);
        Some(())
    }
    fn read_memory(&self, space: u64, address: u64, bytes: &mut [u8]) -> Option<()> {
        let (&(found, start), all) = self.memory.range(..=(space, address)).next_back()?;
        let from = all.get((address - start) as usize..).filter(|_| found == space)?;
        bytes.copy_from_slice(from.get(..bytes.len())?);
        Some(())
    }
    fn register_size(&self, register: u64) -> Option<u64> {
        self.registers.get(&register).map(|bytes| bytes.len() as u64)
    }
    fn address_size(&self, space: u64) -> Option<u8> {
        self.sizes.get(&space).copied()
    }
    fn lane(&self) -> Option<u64> {
        self.lane
    }
    fn frame_base(&self) -> Option<Location<'e>> {
        self.base
    }
    fn frame_cfa(&self) -> Option<Location<'e>> {
        self.cfa
    }
    fn object(&self) -> Option<Location<'e>> {
        self.object
    }
    fn procedure(&self, die: DieRef) -> Option<&'e [u8]> {
        let (DieRef::Unit(offset) | DieRef::Section(offset)) = die;
        self.procedures.get(&offset).copied()
    }
    fn entry_value(&self, _block: &'e [u8]) -> Option<Value> {
        self.on_entry
    }
    fn base_type(&self, die: u64) -> Option<Type> {
        self.types.get(&die).copied()
    }
    fn entry_register(&self, register: u64) -> Option<Location<'e>> {
        self.entry.get(&register).copied()
    }
}

/// The whole stack after each operation, the last line what the expression gives.
pub(crate) fn steps<'e>(code: &'e [u8], known: &Known<'e>, settings: Settings) -> Vec<String> {
    let mut buffers: Buffers<'e> = Buffers::new();
    let mut evaluation = Evaluation::new(code, Want::Location, settings, buffers.scratch());
    let mut lines = Vec::new();
    loop {
        match evaluation.step(known) {
            Ok(true) => {
                let entries: Vec<String> =
                    evaluation.stack().iter().map(|entry| text(&evaluation, *entry)).collect();
                lines.push(entries.join(" | "));
            }
            Ok(false) => break,
            Err(problem) => {
                lines.push(format!("error: {problem}"));
                return lines;
            }
        }
    }
    lines.push(match evaluation.result() {
        Ok(entry) => format!("= {}", text(&evaluation, entry)),
        Err(problem) => format!("error: {problem}"),
    });
    lines
}

/// Runs to the end.
pub(crate) fn run<'e>(code: &'e [u8], want: Want, known: &Known<'e>) -> Result<Entry<'e>, Problem> {
    let mut buffers: Buffers<'e> = Buffers::new();
    Evaluation::new(code, want, Settings::default(), buffers.scratch()).run(known)
}

/// The number that an expression gives.
pub(crate) fn value(code: &[u8], known: &Known<'_>) -> Result<u64, Problem> {
    let mut buffers: Buffers<'_> = Buffers::new();
    match Evaluation::new(code, Want::Value, Settings::default(), buffers.scratch()).run(known)? {
        Entry::Value(value) => Ok(value.bits()),
        other => panic!("{other:?}"),
    }
}

/// The bytes at the location that an expression gives.
pub(crate) fn bytes<'e>(code: &'e [u8], len: usize, known: &Known<'e>) -> Result<Vec<u8>, Problem> {
    let mut buffers: Buffers<'e> = Buffers::new();
    let mut evaluation = Evaluation::new(code, Want::Location, Settings::default(), buffers.scratch());
    let Entry::Location(location) = evaluation.run(known)? else { panic!("no location") };
    let mut bytes = vec![0; len];
    evaluation.read(location, &mut bytes, known).map(|()| bytes)
}

fn text(evaluation: &Evaluation<'_, '_>, entry: Entry<'_>) -> String {
    match entry {
        Entry::Value(value) => format!("{:#x}", value.bits()),
        Entry::Location(location) => place(evaluation, location),
        Entry::Incomplete(id) => {
            let whole = Location::start(Storage::Composite(id));
            format!("incomplete {}", place(evaluation, whole))
        }
    }
}

fn place(evaluation: &Evaluation<'_, '_>, location: Location<'_>) -> String {
    let offset = match (location.byte, location.bit) {
        (0, 0) => String::new(),
        (byte, 0) => format!("+{byte}"),
        (byte, bit) => format!("+{} bits", byte * 8 + u64::from(bit)),
    };
    match location.storage {
        Storage::Memory { space: 0 } => format!("memory {:#x}{}", location.byte, bits(location.bit)),
        Storage::Memory { space } => format!("memory {space}:{:#x}{}", location.byte, bits(location.bit)),
        Storage::Register(number) => format!("reg{number}{offset}"),
        Storage::Bytes(bytes) => format!("bytes {bytes:x?}{offset}"),
        Storage::Value(value) => format!("implicit {:#x}{offset}", value.bits()),
        Storage::Pointer { die, offset, .. } => format!("pointer to {die:?}+{offset}"),
        Storage::Undefined => "undefined".to_owned(),
        Storage::Composite(id) => {
            let mut parts = Vec::new();
            match evaluation.node(id) {
                Node::Extend { of, bits, count } => {
                    parts.push(format!("{count} x {bits} bits of {}", place(evaluation, of)));
                }
                Node::Select { zero, one, mask, bits, count } => parts.push(format!(
                    "{count} x {bits} bits of {mask:#x} ? {} : {}",
                    place(evaluation, one),
                    place(evaluation, zero)
                )),
                mut node => {
                    while let Node::Piece { before, bits, of, .. } = node {
                        let len =
                            if bits % 8 == 0 { format!("{}", bits / 8) } else { format!("{bits} bits") };
                        parts.insert(0, format!("{len} of {}", place(evaluation, of)));
                        node = before.map_or(Node::Free, |id| evaluation.node(id));
                    }
                }
            }
            format!("[{}]{offset}", parts.join(", "))
        }
    }
}

fn bits(bit: u8) -> String {
    if bit == 0 { String::new() } else { format!(" bit {bit}") }
}

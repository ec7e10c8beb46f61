//! Registers and memory of a stopped program, as JSON has them.

use std::collections::BTreeMap;

use foldsym_expr::amdgpu;
use foldsym_stopped::Machine;
use serde_json::Value;

use crate::answer::address_map::AddressMap;
use crate::io::failure::{quoted, shortened};
use foldsym_symbolize::number;

/// ELF's numbers of processors whose registers have names here.
const X86_64: u16 = 62;
const AARCH64: u16 = 183;
const AMDGPU: u16 = 224;

/// Names of x86-64 registers by their DWARF numbers (System V ABI, figure 3.36).
const X86_64_NAMES: [&str; 17] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "rip",
];

/// Bytes of memory, by address space and address.
type Memory = BTreeMap<(u64, u64), Vec<u8>>;

/// The state of the stopped program.
#[derive(Debug, Default)]
pub(crate) struct Stopped {
    registers: BTreeMap<u64, Vec<u8>>,
    /// In blocks that do not overlap.
    memory: Memory,
    big_endian: bool,
}

impl Stopped {
    /// Takes `regs` and `mem` of a JSON object; other keys are somebody else's.
    ///
    /// # Errors
    /// The fault of the object, for the user.
    pub(crate) fn parse(json: &Value, machine: u16, big_endian: bool, wide: bool) -> Result<Stopped, String> {
        let mut stopped = Stopped { big_endian, ..Stopped::default() };
        if let Some(registers) = json.get("regs") {
            let registers = registers.as_object().ok_or("\"regs\" is not an object")?;
            for (name, value) in registers {
                let number = register(name, machine, wide).ok_or_else(|| no_register(name, machine))?;
                let bytes = stopped.bytes(number, value, machine);
                let bytes = bytes.ok_or_else(|| {
                    let value = value.to_string();
                    format!("register {name}: {} is not a number that fits the register", shortened(&value))
                })?;
                // An object may give one register twice: by its name and by its DWARF number.
                if stopped.registers.insert(number, bytes).is_some() {
                    return Err(format!("register {name} is given twice"));
                }
            }
        }
        if let Some(memory) = json.get("mem") {
            let mut given = Memory::new();
            for block in memory.as_array().ok_or("\"mem\" is not a list")? {
                let wrong = |what: &str| format!("\"mem\": {} {what}", shortened(&block.to_string()));
                refuse_unknown(block, &["addr", "hex", "space"]).map_err(|error| wrong(&error))?;
                let address = block.get("addr").and_then(unsigned).ok_or_else(|| wrong("has no \"addr\""))?;
                let hex = block.get("hex").and_then(Value::as_str).and_then(unhex);
                let bytes = hex.ok_or_else(|| wrong("has no \"hex\", two digits for each byte"))?;
                let space = match block.get("space") {
                    Some(space) => unsigned(space).ok_or_else(|| wrong("has no number for \"space\""))?,
                    None => 0,
                };
                // The last byte must have an address; the byte after it need not.
                if address.checked_add((bytes.len() as u64).saturating_sub(1)).is_none() {
                    return Err(wrong("goes past the end of memory"));
                }
                // If two blocks begin at one address and agree, the longer one has all bytes.
                let longer = match given.get(&(space, address)) {
                    Some(known) if !known.starts_with(&bytes) && !bytes.starts_with(known) => {
                        return Err(wrong("differs from another at its address"));
                    }
                    Some(known) => known.len() < bytes.len(),
                    None => true,
                };
                if longer {
                    given.insert((space, address), bytes);
                }
            }
            stopped.memory = disjoint(&given);
        }
        Ok(stopped)
    }

    /// The bytes of a register's value, in the order of memory.
    fn bytes(&self, number: u64, value: &Value, machine: u16) -> Option<Vec<u8>> {
        let size = if machine == AMDGPU { amdgpu::register_size(number)? } else { 8 };
        if let Some(lanes) = value.as_array() {
            let lanes: Option<Vec<u32>> =
                lanes.iter().map(|lane| unsigned(lane).and_then(|lane| lane.try_into().ok())).collect();
            let bytes: Vec<u8> = lanes?.into_iter().flat_map(u32::to_le_bytes).collect();
            // A list may be shorter than the register: a read past its lanes gets no value.
            return (bytes.len() as u64 <= size).then_some(bytes);
        }
        let value = unsigned(value)?;
        // A vector register needs a list of lanes.
        let size = usize::try_from(size).ok().filter(|&size| size <= 8)?;
        // At 8 bytes any value fits, and the shift would overflow.
        if size < 8 && value >> (8 * size) != 0 {
            return None;
        }
        Some(match self.big_endian {
            true => value.to_be_bytes()[8 - size..].to_vec(),
            false => value.to_le_bytes()[..size].to_vec(),
        })
    }
}

impl Machine for Stopped {
    fn register(&self, number: u64, offset: u64, bytes: &mut [u8]) -> Option<()> {
        let all = self.registers.get(&number)?;
        // The low part of a register of a big-endian program is its end.
        let skip = if self.big_endian && offset == 0 { all.len().checked_sub(bytes.len())? } else { 0 };
        let from = all.get(usize::try_from(offset).ok()?..)?.get(skip..)?;
        bytes.copy_from_slice(from.get(..bytes.len())?);
        Some(())
    }

    fn memory(&self, space: u64, address: u64, bytes: &mut [u8]) -> Option<()> {
        let mut done = 0;
        while done < bytes.len() {
            let at = address.checked_add(done as u64)?;
            // Blocks do not overlap: no earlier one can hold the address. The other bytes are in other blocks.
            let (&(_, start), all) = self.memory.range((space, 0)..=(space, at)).next_back()?;
            let from = all.get(usize::try_from(at - start).ok()?..).filter(|from| !from.is_empty())?;
            // `from` is not empty, so the loop ends.
            let count = from.len().min(bytes.len() - done);
            bytes[done..done + count].copy_from_slice(&from[..count]);
            done += count;
        }
        Some(())
    }
}

/// The same memory in blocks that do not overlap. Of several blocks that have an address, the one that begins last gives its byte.
fn disjoint(given: &Memory) -> Memory {
    let mut spaces: BTreeMap<u64, AddressMap<&[u8]>> = BTreeMap::new();
    // In order of address, so that a block replaces the bytes of those that begin before it.
    for (&(space, start), bytes) in given {
        spaces.entry(space).or_default().add(start, bytes.len() as u64, bytes);
    }
    let mut apart = Memory::new();
    for (space, blocks) in &spaces {
        for (first, last, start, bytes) in blocks.parts() {
            // Both are less than the length of the whole block.
            let part = &bytes[(first - start) as usize..=(last - start) as usize];
            apart.insert((*space, first), part.to_vec());
        }
    }
    apart
}

/// Refuses an object with an unknown key: a misspelled key must not be ignored silently.
///
/// # Errors
/// The unknown key, and the known ones.
pub(crate) fn refuse_unknown(json: &Value, known: &[&str]) -> Result<(), String> {
    let mut keys = json.as_object().into_iter().flat_map(|object| object.keys());
    match keys.find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown key {}, expected {}", quoted(key), known.join(", "))),
        None => Ok(()),
    }
}

/// DWARF's number of a register; `wide` is a GPU's wave of more than 32 lanes.
fn register(name: &str, machine: u16, wide: bool) -> Option<u64> {
    if let Ok(number) = name.parse::<u64>() {
        return Some(number);
    }
    let numbered = |prefix: &str| name.strip_prefix(prefix)?.parse::<u64>().ok();
    match machine {
        X86_64 => X86_64_NAMES.iter().position(|&known| known == name).map(|at| at as u64),
        // DWARF for the Arm 64-bit Architecture: `x0` is 0, and `sp` 31.
        AARCH64 if name == "sp" => Some(31),
        AARCH64 => numbered("x").filter(|&x| x <= 30),
        // LLVM's "User Guide for AMDGPU Backend", "Register Identifier": waves of 32 and of 64 lanes have different vector numbers.
        AMDGPU if name == "vcc" => Some(if wide { 768 } else { 512 }),
        AMDGPU => match (numbered("s"), numbered("v"), numbered("a")) {
            (Some(s @ 0..=63), ..) => Some(32 + s),
            (Some(s @ 64..=105), ..) => Some(1088 - 64 + s),
            (_, Some(v @ 0..=255), _) => Some(if wide { 2560 } else { 1536 } + v),
            (_, _, Some(a @ 0..=255)) => Some(if wide { 3072 } else { 2048 } + a),
            _ => None,
        },
        _ => None,
    }
}

/// Why a name is not a register.
fn no_register(name: &str, machine: u16) -> String {
    match machine {
        X86_64 | AARCH64 | AMDGPU => format!("{} is not a register of this processor", quoted(name)),
        _ => format!(
            "{}: registers of this processor (ELF's number {machine}) have no names here, give DWARF's numbers",
            quoted(name)
        ),
    }
}

/// A number of JSON, or a string that is one as everywhere on the command line.
fn unsigned(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| number(value.as_str()?))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| digit.try_into().ok())).collect();
    let digits = digits?;
    // A digit without its partner is an error, not half a byte.
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn registers_by_name_and_number() {
        for (name, machine, wide, number) in [
            ("rdi", X86_64, false, Some(5)),
            ("r15", X86_64, false, Some(15)),
            ("x0", AARCH64, false, Some(0)),
            ("sp", AARCH64, false, Some(31)),
            ("x31", AARCH64, false, None),
            ("s34", AMDGPU, true, Some(66)),
            ("s64", AMDGPU, true, Some(1088)),
            ("v2", AMDGPU, true, Some(2562)),
            ("v2", AMDGPU, false, Some(1538)),
            ("vcc", AMDGPU, true, Some(768)),
            ("66", AMDGPU, true, Some(66)),
            ("rdi", AMDGPU, true, None),
            ("rdi", 0, true, None),
        ] {
            assert_eq!(register(name, machine, wide), number, "{name}");
        }
    }

    #[test]
    fn values_and_memory() {
        let json = json!({
            "regs": {"s1": "0x12345678", "v0": [1, 2, 3]},
            "mem": [{"addr": "0x10", "hex": "0a0b0c", "space": 6}, {"addr": 16, "hex": "ff"}],
        });
        let stopped = Stopped::parse(&json, AMDGPU, false, true).unwrap();
        let mut bytes = [0; 2];
        assert_eq!(stopped.register(33, 2, &mut bytes), Some(()));
        assert_eq!(bytes, [0x34, 0x12]);
        assert_eq!(stopped.register(33, 3, &mut bytes), None);
        assert_eq!(stopped.register(2560, 4, &mut bytes), Some(()));
        assert_eq!(bytes, [2, 0]);
        assert_eq!(stopped.memory(6, 0x11, &mut bytes), Some(()));
        assert_eq!(bytes, [0x0b, 0x0c]);
        assert_eq!(stopped.memory(6, 0x12, &mut bytes), None);
        assert_eq!(stopped.memory(0, 0x10, &mut bytes), None);
        assert_eq!(stopped.memory(5, 0x11, &mut bytes), None);
        assert_eq!(stopped.memory(0, 0x10, &mut bytes[..1]), Some(()));
    }

    fn read(stopped: &Stopped, space: u64, at: u64, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0xff; len];
        stopped.memory(space, at, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn memory_of_several_blocks() {
        let json = json!({"mem": [
            {"addr": 0x10, "hex": "0001020304050607"},
            {"addr": 0x12, "hex": "02"},
            {"addr": 0x18, "hex": "08"},
            {"addr": 0x18, "hex": "0809"},
            {"addr": 0x1b, "hex": "0b"},
        ]});
        let stopped = Stopped::parse(&json, X86_64, false, true).unwrap();
        let read = |at: u64, len: usize| read(&stopped, 0, at, len);
        assert_eq!(read(0x10, 10), Some((0..10).collect()));
        assert_eq!(read(0x13, 3), Some(vec![3, 4, 5]));
        assert_eq!(read(0x19, 2), None);
        assert_eq!(read(0xf, 1), None);
        assert_eq!(read(u64::MAX, 2), None);
    }

    #[test]
    fn blocks_in_each_other() {
        let json = json!({"mem": [
            {"addr": 0x10, "hex": "000102030405060708090a0b0c0d0e0f"},
            {"addr": 0x12, "hex": "a2a3a4a5a6a7"},
            {"addr": 0x13, "hex": "b3"},
            {"addr": 0x15, "hex": "c5c6c7c8"},
            {"addr": 0x1f, "hex": "dfe0"},
            {"addr": 0x30, "hex": ""},
            {"addr": 0x11, "hex": "ee", "space": 3},
            {"addr": u64::MAX - 1, "hex": "fefd"},
            {"addr": u64::MAX, "hex": "fc"},
        ]});
        let stopped = Stopped::parse(&json, X86_64, false, true).unwrap();
        let read = |space: u64, at: u64, len: usize| read(&stopped, space, at, len);
        let expected = [0, 1, 0xa2, 0xb3, 0xa4, 0xc5, 0xc6, 0xc7, 0xc8, 9, 10, 11, 12, 13, 14, 0xdf, 0xe0];
        assert_eq!(read(0, 0x10, 17), Some(expected.to_vec()));
        assert_eq!((read(0, 0x10, 18), read(0, 0x30, 1)), (None, None));
        assert_eq!((read(3, 0x11, 1), read(3, 0x12, 1)), (Some(vec![0xee]), None));
        assert_eq!(read(0, u64::MAX - 1, 2), Some(vec![0xfe, 0xfc]));
        // Each block ends before the next begins, so a read at any address looks at one.
        let blocks =
            stopped.memory.iter().map(|((space, start), bytes)| (*space, *start, bytes.len() as u64));
        let blocks: Vec<_> = blocks.collect();
        assert!(
            blocks.windows(2).all(|pair| (pair[0].0, pair[0].1 + (pair[0].2 - 1)) < (pair[1].0, pair[1].1))
        );
    }

    #[test]
    fn processors_without_names_of_registers() {
        let parse = |json| Stopped::parse(&json, 243, false, true);
        assert!(parse(json!({"regs": {"10": 1}})).is_ok());
        let error = parse(json!({"regs": {"a0": 1}})).unwrap_err();
        assert!(error.contains("243") && error.contains("DWARF's numbers"), "{error}");
    }

    #[test]
    fn what_does_not_parse() {
        for json in [
            json!({"regs": []}),
            json!({"regs": {"q1": 1}}),
            json!({"regs": {"s1": -1}}),
            json!({"regs": {"s1": "x"}}),
            json!({"regs": {"s1": "0x100000000"}}),
            json!({"regs": {"s1": 1, "33": 2}}),
            json!({"regs": {"s1": [1, 2]}}),
            json!({"regs": {"v1": 5}}),
            json!({"mem": {}}),
            json!({"mem": [{"hex": "00"}]}),
            json!({"mem": [{"addr": 1, "hex": "0"}]}),
            json!({"mem": [{"addr": 1, "hex": "+1"}]}),
            json!({"mem": [{"addr": 1, "hex": "00", "space": "x"}]}),
            json!({"mem": [{"addr": 1, "hex": "00"}, {"addr": 1, "hex": "01"}]}),
            json!({"mem": [{"addr": u64::MAX, "hex": "0000"}]}),
        ] {
            assert!(Stopped::parse(&json, AMDGPU, false, true).is_err(), "{json}");
        }
    }
}

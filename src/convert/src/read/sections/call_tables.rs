//! Reads the call tables of the 2009 proposal. By the return address of a call, `.debug_dcall` gives the callee's DIE, and
//! `.debug_vcall` gives the vtable slot that the call goes through.
//!
//! Current compilers do not write these sections. A program that has them gets the same keys as from call sites. Both
//! sections have a part for each unit:
//!
//! - a length (4 bytes, or `0xffffffff` and 8 bytes) and a version (1 byte: 4)
//! - in `.debug_dcall` only: the offset of the unit in `.debug_info`
//! - the size of an address (1 byte)
//! - for each call an address and a ULEB128, up to the end of the part
//!
//! Damage loses the rest of its part. If the length of the part is damaged, the rest of the section is lost.

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{ImageAddr, NONE16, SlotKey};
use crate::read::code::CodeSections;
use crate::util::leb;

const VERSION: u8 = 4;

/// A call in `.debug_dcall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DirectCall {
    /// The unit's offset in `.debug_info`.
    pub(crate) unit: u64,
    pub(crate) return_addr: ImageAddr,
    /// The offset of the callee's DIE, in the unit or in `.debug_info`: the proposal says both.
    pub(crate) callee: u64,
}

/// The calls in both tables, sorted.
#[derive(Default)]
pub(crate) struct CallTables {
    pub(crate) direct: Vec<DirectCall>,
    pub(crate) slots: Vec<SlotKey>,
}

impl CallTables {
    /// The direct calls of a unit.
    pub(crate) fn of_unit(&self, unit: u64) -> &[DirectCall] {
        let first = self.direct.partition_point(|call| call.unit < unit);
        let count = self.direct[first..].partition_point(|call| call.unit == unit);
        &self.direct[first..first + count]
    }
}

/// A reader of one of the two sections.
struct TableSection<'s, 'f> {
    name: &'static str,
    direct: bool,
    bytes: &'f [u8],
    at: usize,
    big_endian: bool,
    code: &'s CodeSections,
}

/// Reads both sections. `is_unit` returns true if a unit begins at this offset of `.debug_info`.
pub(crate) fn read(
    sections: [&[u8]; 2],
    big_endian: bool,
    code: &CodeSections,
    is_unit: impl Fn(u64) -> bool,
    diagnostics: &mut Diagnostics,
) -> CallTables {
    let mut tables = CallTables::default();
    for (bytes, name, direct) in [(sections[0], ".debug_dcall", true), (sections[1], ".debug_vcall", false)] {
        let mut section = TableSection { name, direct, bytes, at: 0, big_endian, code };
        while section.at < bytes.len() {
            let part = section.at;
            let bad = |diagnostics: &mut Diagnostics, text: String| {
                diagnostics.add(Kind::BadCallTable, part as u64, || format!("{name}+{part:#x}: {text}"));
            };
            match section.part(&is_unit, &mut tables, diagnostics) {
                Ok(()) => {}
                Err(Damage::Part(text)) => bad(diagnostics, text),
                Err(Damage::Section(text)) => {
                    bad(diagnostics, text);
                    break;
                }
            }
        }
    }
    // `of_unit` needs the calls of a unit side by side, but nothing orders the parts of a section by unit.
    tables.direct.sort_unstable();
    tables.direct.dedup();
    tables.slots.sort_unstable();
    tables.slots.dedup();
    tables
}

/// What is lost by damage.
enum Damage {
    /// The rest of the part.
    Part(String),
    /// The rest of the section.
    Section(String),
}

impl TableSection<'_, '_> {
    /// Reads a part, and moves on to the next one.
    fn part(
        &mut self,
        is_unit: &impl Fn(u64) -> bool,
        tables: &mut CallTables,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Damage> {
        let short = || Damage::Section("the length of the part is cut off".to_owned());
        let end = self.bytes.len();
        let (len, width) = match self.number(4, end).ok_or_else(short)? {
            0xffff_ffff => (self.number(8, end).ok_or_else(short)?, 8),
            // DWARF 5 7.2.2 reserves these lengths.
            len @ 0xffff_fff0.. => return Err(Damage::Section(format!("{len:#x} is no length"))),
            len => (len, 4),
        };
        let left = (end - self.at) as u64;
        if len > left {
            return Err(Damage::Section(format!("a part of {len:#x} bytes, where {left:#x} are left")));
        }
        let end = self.at + len as usize;
        let result = self.calls(end, width, is_unit, tables, diagnostics);
        // Also after damage: the length of the part was in order, so the next part can be read.
        self.at = end;
        result.map_err(Damage::Part)
    }

    /// Reads a part after its length, up to `end`.
    fn calls(
        &mut self,
        end: usize,
        width: usize,
        is_unit: &impl Fn(u64) -> bool,
        tables: &mut CallTables,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), String> {
        let cut = || "the header is cut off".to_owned();
        let version = self.number(1, end).ok_or_else(cut)?;
        if version != u64::from(VERSION) {
            return Err(format!("version {version}, {VERSION} is known"));
        }
        let unit = if self.direct { self.number(width, end).ok_or_else(cut)? } else { 0 };
        let address_size = self.number(1, end).ok_or_else(cut)?;
        if !matches!(address_size, 2 | 4 | 8) {
            return Err(format!("addresses of {address_size} bytes"));
        }
        // The callee is searched among the entries of the unit, so without the unit it cannot be found.
        if self.direct && !is_unit(unit) {
            return Err(format!("no unit begins at .debug_info+{unit:#x}"));
        }
        while self.at < end {
            let at = self.at;
            let call = || format!("the call at {}+{at:#x} is cut off, or its number is too large", self.name);
            let (Some(address), after) =
                number(self.bytes, self.at, end, address_size as usize, self.big_endian)
            else {
                return Err(call());
            };
            let Some((value, after)) = uleb(self.bytes, after, end) else { return Err(call()) };
            self.at = after;
            // The byte before the return address: a call that does not return may be the last instruction of its
            // section.
            if !self.code.contains(address.wrapping_sub(1)) {
                diagnostics.add(Kind::DeadCall, address, || {
                    format!(
                        "the call of {}+{at:#x} returns to {address:#x}, which does not follow any code",
                        self.name
                    )
                });
                continue;
            }
            let return_addr = ImageAddr(address);
            // `NONE16` in a slot means that there is none. A vtable of 65,535 words is damage.
            match u16::try_from(value).ok().filter(|slot| *slot != NONE16) {
                _ if self.direct => tables.direct.push(DirectCall { unit, return_addr, callee: value }),
                Some(slot) => tables.slots.push(SlotKey { return_addr, slot, by_object: false }),
                None => diagnostics.add(Kind::BadCallSlot, at as u64, || {
                    format!("slot {value} of {}+{at:#x} is too large", self.name)
                }),
            }
        }
        Ok(())
    }

    /// The next number of `width` bytes; `None` if it would end after `end`.
    fn number(&mut self, width: usize, end: usize) -> Option<u64> {
        let (found, after) = number(self.bytes, self.at, end, width, self.big_endian);
        self.at = after;
        found
    }
}

/// The number of up to 8 bytes at an offset, and the offset of its end.
fn number(bytes: &[u8], at: usize, end: usize, width: usize, big_endian: bool) -> (Option<u64>, usize) {
    let after = at.saturating_add(width);
    let Some(bytes) = bytes.get(..end).and_then(|bytes| bytes.get(at..after)) else { return (None, at) };
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    let number = if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) };
    (Some(number), after)
}

/// The ULEB128 number at an offset, and the offset of its end. `None` if it is cut off or has more than 64 bits.
fn uleb(bytes: &[u8], at: usize, end: usize) -> Option<(u64, usize)> {
    let (value, len) = leb::unsigned(bytes.get(at..end)?).ok()?;
    Some((value, at + len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AddressRange;

    fn code() -> CodeSections {
        CodeSections { ranges: vec![AddressRange::of(ImageAddr(0x1000), 0x1000)], ..CodeSections::default() }
    }

    fn part(direct: bool, body: &[u8]) -> Vec<u8> {
        let mut part = vec![VERSION];
        if direct {
            part.extend(0x40_u32.to_le_bytes());
        }
        part.push(8);
        part.extend(body);
        [&(part.len() as u32).to_le_bytes()[..], &part].concat()
    }

    fn call(address: u64, value: &[u8]) -> Vec<u8> {
        [&address.to_le_bytes()[..], value].concat()
    }

    /// The direct calls, the slots, the number of damaged places, and the number of calls outside of code.
    type Found = (Vec<(u64, u64)>, Vec<(u64, u16)>, u64, u64);

    fn of(dcall: &[u8], vcall: &[u8]) -> Found {
        let mut diagnostics = Diagnostics::default();
        let tables = read([dcall, vcall], false, &code(), |unit| unit == 0x40, &mut diagnostics);
        let count = |kind| diagnostics.count(kind);
        (
            tables.of_unit(0x40).iter().map(|call| (call.return_addr.0, call.callee)).collect(),
            tables.slots.iter().map(|call| (call.return_addr.0, call.slot)).collect(),
            count(Kind::BadCallTable) + count(Kind::BadCallSlot),
            count(Kind::DeadCall),
        )
    }

    #[test]
    fn calls_of_both_tables() {
        let dcall = [part(true, &call(0x1010, &[0x85, 1])), part(true, &call(0x1005, &[3]))].concat();
        let vcall = part(false, &[call(0x1020, &[2]), call(0, &[1]), call(0x2001, &[1])].concat());
        let expected = (vec![(0x1005, 3), (0x1010, 0x85)], vec![(0x1020, 2)], 0, 2);
        assert_eq!(of(&dcall, &vcall), expected);
        // 64-bit DWARF.
        let mut body = vec![VERSION];
        body.extend(0x40_u64.to_le_bytes());
        body.push(8);
        body.extend(call(0x1010, &[7]));
        let wide = [&[0xff; 4][..], &(body.len() as u64).to_le_bytes(), &body].concat();
        assert_eq!(of(&wide, &[]), (vec![(0x1010, 7)], vec![], 0, 0));
    }

    #[test]
    fn damage_costs_the_part_or_the_rest() {
        let good = part(true, &call(0x1010, &[7]));
        let with = |bad: Vec<u8>| {
            let (calls, _, damaged, _) = of(&[bad, good.clone()].concat(), &[]);
            (calls.len(), damaged)
        };
        let set = |at: usize, byte: u8| {
            let mut part = part(true, &call(0x1010, &[9]));
            part[at] = byte;
            part
        };
        // Version, unit, size of an address; a call without its number, a number of too many bits.
        assert_eq!(with(set(4, 5)), (1, 1));
        assert_eq!(with(set(5, 0x41)), (1, 1));
        assert_eq!(with(set(9, 3)), (1, 1));
        assert_eq!(with(part(true, &0x1010_u64.to_le_bytes())), (1, 1));
        assert_eq!(with(part(true, &call(0x1010, &[0x80]))), (1, 1));
        let many = [&[0xff; 9][..], &[2]].concat();
        assert_eq!(with(part(true, &call(0x1010, &many))), (1, 1));
        // Wrong lengths.
        assert_eq!(with(set(3, 0x7f)), (0, 1));
        assert_eq!(with(vec![0xf1, 0xff, 0xff, 0xff]), (0, 1));
        assert_eq!(with([[0xff; 4], [0xff; 4], [0xff; 4]].concat()), (0, 1));
        assert_eq!(with(vec![0, 0, 0, 0]), (1, 1));
        // A slot number that is too large.
        let vcall = part(false, &[call(0x1020, &[0xff, 0xff, 3]), call(0x1030, &[1])].concat());
        assert_eq!(of(&[], &vcall), (vec![], vec![(0x1030, 1)], 1, 0));
        // It and a damaged part each keep a first case.
        let mut diagnostics = Diagnostics::default();
        read([&set(4, 5), &vcall], false, &code(), |unit| unit == 0x40, &mut diagnostics);
        let examples: Vec<&str> = diagnostics.iter().map(|(_, seen)| &*seen.example).collect();
        assert!(examples.len() == 2 && examples[0].starts_with(".debug_dcall+0x0: "), "{examples:?}");
        assert!(examples[1].starts_with("slot 65535 of .debug_vcall+"), "{examples:?}");
    }

    /// Changes each byte of a section, and cuts the section at each byte.
    #[test]
    fn no_damage_is_more_than_counted() {
        let whole = [part(true, &call(0x1010, &[0x85, 1])), part(true, &call(0x1005, &[3]))].concat();
        for at in 0..whole.len() {
            let (calls, _, damaged, _) = of(&whole[..at], &[]);
            assert!(calls.len() < 2 && (damaged == 1 || at == 0 || at == 20), "{at}");
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                assert!(of(&changed, &changed).0.len() <= 2, "{at}");
            }
        }
    }
}

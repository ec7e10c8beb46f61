//! Reads out of machine code what debug information leaves out: where a function may jump to.
//!
//! On x86 every byte is tried as the beginning of a jump, so that no jump to an address is missed; what is found besides
//! is a few jumps too many, which can make an answer less sure, never wrong. Only where one of them would go through a
//! register or memory, or on a count, the code is walked from its start by the lengths of its instructions ([`x86`]), to
//! tell what is one, and which are those of a `switch`. Code that leaves in another way (a stub that returns to where it wants to go) does not show:
//! what no compiler described counts as code that may go anywhere.

mod aarch64;
mod ways;
mod x86;

use std::ops::Range;
use std::sync::OnceLock;

use crate::open::{Format, Image, KeptRelocation, KeptSection};
use crate::util::hash::HashMap;
pub(crate) use ways::is_added;

const EM_386: u16 = 3;
pub(crate) const EM_X86_64: u16 = 62;
pub(crate) const EM_AARCH64: u16 = 183;

const R_X86_64_PC32: u32 = 2;
const R_X86_64_PLT32: u32 = 4;
const R_X86_64_GOTPCREL: u32 = 9;
const R_X86_64_GOTPCRELX: u32 = 41;
const R_X86_64_REX_GOTPCRELX: u32 = 42;
const R_386_PC32: u32 = 2;
const R_386_PLT32: u32 = 4;
const R_AARCH64_CALL26: u32 = 283;

/// The code of an image.
pub(crate) struct Machine<'i, 'f> {
    image: &'i Image<'f>,
    /// Once they are asked for.
    added: OnceLock<ways::Added>,
    slots: OnceLock<ways::Slots>,
    offset_table: OnceLock<Option<u64>>,
}

/// Where a range of code may jump to.
#[derive(Default)]
pub(crate) struct Jumps {
    /// Through a register or memory.
    pub(crate) indirect: bool,
    /// Through a register or memory, and not shown to be the jump of a `switch` or to another module's function.
    pub(crate) anywhere: bool,
    /// The words that the loader fills with the addresses of functions that jumps name (`-fno-plt`): sorted, each once.
    pub(crate) slots: Vec<u64>,
    /// Addresses outside of the range, or its first one: sorted, each as often as a jump goes there.
    pub(crate) targets: Vec<u64>,
    /// Those of jumps that reach 127 bytes: most are no jumps, so that only those to the beginning of a function count.
    pub(crate) short: Vec<u64>,
}

/// Where a jump through a register or memory goes, as far as the code shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Indirect {
    /// To the sum of two numbers, of which one was read from a table: to a place of a `switch`. (Code that was made
    /// so does not record such a jump, but every other one.)
    Table,
    /// To what a table holds at a number: to a place of a `switch` or to a function, as its first word tells.
    TableAt(u64),
    /// To what stands at an address.
    Through(u64),
    Anywhere,
}

impl Jumps {
    /// Takes up the indirect jumps of `code`. `first` reads an address of the program's file.
    fn judge(
        &mut self,
        found: &[Indirect],
        code: Range<u64>,
        first: impl Fn(u64) -> Option<u64>,
        is_slot: impl Fn(u64) -> bool,
    ) {
        self.indirect |= !found.is_empty();
        for &jump in found {
            match jump {
                Indirect::Table => {}
                // A table of functions holds no place within one.
                Indirect::TableAt(table) => {
                    self.anywhere |=
                        !first(table).is_some_and(|first| first != code.start && code.contains(&first));
                }
                Indirect::Through(slot) if is_slot(slot) => self.slots.push(slot),
                Indirect::Through(_) | Indirect::Anywhere => self.anywhere = true,
            }
        }
        self.slots.sort_unstable();
        self.slots.dedup();
    }
}

/// A call that a relocation names the callee of.
pub(crate) struct NamedCall<'f> {
    pub(crate) return_addr: u64,
    /// The callee's own symbol, and its address.
    pub(crate) name: &'f [u8],
    pub(crate) callee: u64,
}

impl<'i, 'f> Machine<'i, 'f> {
    pub(crate) fn new(image: &'i Image<'f>) -> Self {
        Machine { image, added: OnceLock::new(), slots: OnceLock::new(), offset_table: OnceLock::new() }
    }

    /// True where linkers leave jumps in the places of functions that they folded: lld's `--icf=safe_thunks`, for Mach-O alone.
    pub(crate) fn has_linkers_jumps(&self) -> bool {
        self.image.format == Format::MachO
    }

    /// True where an address is in an executable section.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.image.section_at(address).is_some_and(|section| self.image.sections[section].executable)
    }

    /// True where code is at hand, of a machine whose jumps are known.
    pub(crate) fn can_read(&self, start: u64, end: u64) -> bool {
        matches!(self.image.arch.machine, EM_X86_64 | EM_386 | EM_AARCH64) && self.bytes(start, end).is_some()
    }

    fn bytes(&self, start: u64, end: u64) -> Option<&'f [u8]> {
        let after = self.image.code.partition_point(|&(section, _)| section <= start);
        let (section, bytes) = *self.image.code.get(after.checked_sub(1)?)?;
        let from = usize::try_from(start - section).ok()?;
        bytes.get(from..usize::try_from(end - section).ok()?)
    }

    /// Adds all that may be a jump out of `start..end` to an address; nothing where the code is not at hand or of another
    /// machine.
    pub(crate) fn add_direct_jumps(&self, start: u64, end: u64, jumps: &mut Jumps) {
        let Some(bytes) = self.bytes(start, end) else { return };
        match self.image.arch.machine {
            EM_X86_64 | EM_386 => {
                let counting = x86_jumps(bytes, start, jumps);
                jumps.short.extend(counting);
            }
            EM_AARCH64 => _ = aarch64::jumps(bytes, start, jumps),
            _ => {}
        }
    }

    /// The jumps out of `start..end`, of the short ones those to such addresses; `None` where the code is not at hand or
    /// of another machine.
    pub(crate) fn jumps(&self, start: u64, end: u64, is_entry: impl Fn(u64) -> bool) -> Option<Jumps> {
        let bytes = self.bytes(start, end)?;
        let mut jumps = Jumps::default();
        let indirect = match self.image.arch.machine {
            machine @ (EM_X86_64 | EM_386) => {
                let mut counting = x86_jumps(bytes, start, &mut jumps);
                jumps.short.retain(|&target| is_entry(target));
                counting.retain(|&target| is_entry(target));
                // Only where one of them would matter.
                if jumps.indirect || !counting.is_empty() {
                    let found = x86::walk(bytes, start, machine == EM_X86_64);
                    let real =
                        |target: &u64| found.as_ref().is_none_or(|found| found.counting.contains(target));
                    jumps.short.extend(counting.into_iter().filter(real));
                    found.map(|found| found.indirect)
                } else {
                    Some(Vec::new())
                }
            }
            EM_AARCH64 => Some(aarch64::jumps(bytes, start, &mut jumps)),
            _ => return None,
        };
        match indirect {
            Some(found) => {
                jumps.judge(&found, start..end, |table| self.address_at(table), |slot| self.is_slot(slot));
            }
            None => jumps.anywhere = jumps.indirect,
        }
        jumps.targets.retain(|&target| target <= start || target >= end);
        jumps.targets.sort_unstable();
        jumps.short.sort_unstable();
        jumps.short.dedup();
        Some(jumps)
    }

    /// The address that the program's file has at an address of data (little-endian).
    fn address_at(&self, address: u64) -> Option<u64> {
        let after = self.image.data.partition_point(|&(section, _)| section <= address);
        let (section, bytes) = *self.image.data.get(after.checked_sub(1)?)?;
        let word = bytes.get(usize::try_from(address - section).ok()?..)?;
        match self.image.arch.address_size {
            4 => word.first_chunk().map(|word| u32::from_le_bytes(*word).into()),
            _ => word.first_chunk().map(|word| u64::from_le_bytes(*word)),
        }
    }

    /// True where the loader writes the addresses of functions that are called by name.
    fn is_slot(&self, address: u64) -> bool {
        let Some(section) = self.image.section_at(address) else { return false };
        let name = &self.image.sections[section].name;
        ["got", "__la_symbol_ptr"].iter().any(|slots| name.contains(slots))
    }

    /// How many calls of `start..end` go straight to each address of such; `None` where the code is not at hand or of
    /// another machine.
    pub(crate) fn calls(
        &self,
        start: u64,
        end: u64,
        such: impl Fn(u64) -> bool,
    ) -> Option<HashMap<u64, usize>> {
        let bytes = self.bytes(start, end)?;
        let mut targets = HashMap::default();
        let add = |target: u64| {
            if such(target) {
                *targets.entry(target).or_default() += 1;
            }
        };
        self.straight_calls(bytes, start, add).then_some(targets)
    }

    /// All that may be a call to an address, in code at `start`; false for another machine.
    fn straight_calls(&self, bytes: &[u8], start: u64, mut add: impl FnMut(u64)) -> bool {
        match self.image.arch.machine {
            EM_X86_64 | EM_386 => {
                for (at, call) in bytes.windows(5).enumerate().filter(|(_, call)| call[0] == 0xe8) {
                    let by = i32::from_le_bytes([call[1], call[2], call[3], call[4]]).into();
                    add(start.wrapping_add(at as u64 + 5).wrapping_add_signed(by));
                }
            }
            EM_AARCH64 => {
                let words = bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
                for (address, word) in (start..).step_by(4).zip(words) {
                    if word & 0xfc00_0000 == 0x9400_0000 {
                        add(address.wrapping_add_signed(i64::from((word << 6).cast_signed() >> 6) * 4));
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// Where the call goes to that returns to an address; `None` where it does not go straight there.
    pub(crate) fn call_before(&self, return_addr: u64) -> Option<u64> {
        match self.image.arch.machine {
            EM_X86_64 | EM_386 => match self.bytes(return_addr.checked_sub(5)?, return_addr)? {
                [0xe8, by @ ..] => {
                    let by = i32::from_le_bytes(by.try_into().ok()?);
                    Some(return_addr.wrapping_add_signed(by.into()))
                }
                _ => None,
            },
            EM_AARCH64 => {
                let call = return_addr.checked_sub(4)?;
                let word = u32::from_le_bytes(self.bytes(call, return_addr)?.try_into().ok()?);
                let by = i64::from((word << 6).cast_signed() >> 6) * 4;
                (word & 0xfc00_0000 == 0x9400_0000).then(|| call.wrapping_add_signed(by))
            }
            _ => None,
        }
    }

    /// True where the code is at hand and does not show a call that goes straight to an address. What looks like one may
    /// be the end of another instruction: then nothing is said.
    pub(crate) fn is_indirect_call(&self, return_addr: u64) -> bool {
        let at_hand = return_addr.checked_sub(5).and_then(|start| self.bytes(start, return_addr)).is_some();
        let known = matches!(self.image.arch.machine, EM_X86_64 | EM_386 | EM_AARCH64);
        at_hand && known && self.call_before(return_addr).is_none()
    }

    /// True where the call that returns to an address goes straight to other code than the callee's or a stub in a
    /// section of its own (`.plt`): a stub belongs to a name, but a thunk that a linker put between call and callee
    /// because they are far apart belongs to an address, and so to all functions that were folded there.
    pub(crate) fn calls_other_code(&self, return_addr: u64, callee: u64) -> bool {
        let Some(target) = self.call_before(return_addr).filter(|&target| target != callee) else {
            return false;
        };
        !self.is_stub(target)
    }

    /// True where the call that returns to an address goes to a stub that belongs to the callee's name.
    pub(crate) fn calls_stub(&self, return_addr: u64) -> bool {
        self.call_before(return_addr).is_some_and(|target| self.is_stub(target))
    }

    /// True where a linker's stub is: it belongs to a name.
    pub(crate) fn is_stub(&self, target: u64) -> bool {
        let Some(section) = self.image.section_at(target) else { return false };
        let name = &self.image.sections[section].name;
        [".plt", ".iplt", "__stubs", "__auth_stubs"].iter().any(|stubs| name.contains(stubs))
    }

    /// The calls for which the linker kept a relocation against the own symbol of a function at such an address.
    pub(crate) fn named_calls(&self, is_callee: impl Fn(u64) -> bool) -> Vec<NamedCall<'f>> {
        let machine = self.image.arch.machine;
        let mut found = Vec::new();
        for (base, kept) in self.image.kept_code_relocations() {
            // Most name few symbols, again and again.
            let mut known: HashMap<u32, bool> = HashMap::default();
            kept.iter().filter(|relocation| is_call(machine, relocation.kind)).for_each(|relocation| {
                let is_named = || kept.symbol_address(relocation.symbol).is_some_and(&is_callee);
                if *known.entry(relocation.symbol).or_insert_with(is_named) {
                    found.extend(self.named_call(base, kept, relocation));
                }
            });
        }
        found
    }

    fn named_call(
        &self,
        base: u64,
        kept: &KeptSection<'f>,
        relocation: KeptRelocation,
    ) -> Option<NamedCall<'f>> {
        let place = base.checked_add(relocation.section_off)?;
        let before = || self.bytes(place.checked_sub(2)?, place);
        let is_call = match (self.image.arch.machine, relocation.kind) {
            (EM_AARCH64, _) => true,
            // Through the offset table, or rewritten by the linker to a call of the function itself.
            (EM_X86_64, R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX) => {
                matches!(before()?, [0xff, 0x15] | [0x67, 0xe8])
            }
            _ => matches!(before()?, [_, 0xe8]),
        };
        let symbol = kept.symbol(relocation.symbol).filter(|_| is_call)?;
        let named = symbol.is_function && !symbol.is_local && !symbol.name.is_empty();
        let (return_addr, name, callee) = (place.checked_add(4)?, symbol.name, symbol.address?);
        named.then_some(NamedCall { return_addr, name, callee })
    }
}

/// True for a relocation that a call has.
fn is_call(machine: u16, kind: u32) -> bool {
    match machine {
        EM_X86_64 => matches!(
            kind,
            R_X86_64_PC32 | R_X86_64_PLT32 | R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX
        ),
        EM_386 => matches!(kind, R_386_PC32 | R_386_PLT32),
        EM_AARCH64 => kind == R_AARCH64_CALL26,
        _ => false,
    }
}

/// Every place that could be a jump out of the code: `jmp` and the conditional ones to an address (Intel SDM: EB, E9,
/// 70..7F, 0F 80..8F), `jmp` through a register or memory (FF /4). Gives where those on a count go (E0..E3): compilers
/// write none, and many other instructions have these bytes.
fn x86_jumps(bytes: &[u8], start: u64, jumps: &mut Jumps) -> Vec<u64> {
    let mut counting = Vec::new();
    let len = bytes.len();
    let mut look = |at: usize| {
        let (next, by) = match bytes[at..] {
            [0xff, operand, ..] => {
                jumps.indirect |= operand >> 3 & 7 == 4;
                return;
            }
            [0xe9, a, b, c, d, ..] => (at + 5, i32::from_le_bytes([a, b, c, d])),
            [0x0f, 0x80..=0x8f, a, b, c, d, ..] => (at + 6, i32::from_le_bytes([a, b, c, d])),
            [0xeb | 0x70..=0x7f | 0xe0..=0xe3, by, ..] => (at + 2, by.cast_signed().into()),
            _ => return,
        };
        let to = (next as u64).wrapping_add_signed(by.into());
        // Behind the start, and before the end.
        if to.wrapping_sub(1) < len as u64 - 1 {
            return;
        }
        let found = match bytes[at] {
            0xe9 | 0x0f => &mut jumps.targets,
            0xe0..=0xe3 => &mut counting,
            _ => &mut jumps.short,
        };
        found.push(start.wrapping_add(to));
    };
    let mut look_at = |at: usize, mut places: u32| {
        while places != 0 {
            look(at + places.trailing_zeros() as usize);
            places &= places - 1;
        }
    };
    let mut at = 0;
    while let Some(some) = bytes[at..].first_chunk() {
        look_at(at, leaving(some, at, len - at));
        at += TOGETHER;
    }
    // The rest, and what stands before it once more; the last byte begins nothing.
    match bytes.last_chunk() {
        Some(some) => {
            let last = len - some.len();
            look_at(at, leaving(some, last, some.len()) >> (at - last));
        }
        None => (0..len).for_each(look),
    }
    counting
}

/// Places that are looked at together.
const TOGETHER: usize = 16;

/// Which of the first places may begin a jump out of the code, one bit a place; `before` and `after` are how many bytes the
/// code has before and from the first. Without branches, for vectors: most places begin none, and which do cannot be foreseen.
fn leaving(bytes: &[u8; TOGETHER + 1], before: usize, after: usize) -> u32 {
    let (low, high) = (-2 - before.min(100) as i8, after.min(127) as i8 - 2);
    let mut found = [0; TOGETHER];
    for at in 0..TOGETHER {
        let (byte, next) = (bytes[at], bytes[at + 1]);
        let far = u8::from(byte == 0xe9) | (u8::from(byte == 0x0f) & u8::from(next & 0xf0 == 0x80));
        let indirect = u8::from(byte == 0xff) & u8::from(next & 0x38 == 0x20);
        let short = u8::from(byte & 0xf0 == 0x70) | u8::from(byte == 0xeb) | u8::from(byte & 0xfc == 0xe0);
        let (by, place) = (next.cast_signed(), at as i8);
        let out = u8::from(by >= high - place) | u8::from(by <= low - place);
        found[at] = far | indirect | (short & out);
    }
    let (found, _) = found.as_chunks();
    // The bytes are 0 or 1: the product has them side by side in its highest byte.
    let bits = |bytes: [u8; 8]| (u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32;
    bits(found[0]) | bits(found[1]) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x86(bytes: &[u8]) -> Jumps {
        let mut jumps = Jumps::default();
        x86_jumps(bytes, 0x1000, &mut jumps);
        jumps
    }

    #[test]
    fn jumps_of_x86() {
        assert_eq!(x86(&[0xe9, 0xfb, 0x0f, 0, 0]).targets, [0x2000]);
        assert_eq!(x86(&[0x0f, 0x84, 0xfa, 0xff, 0xff, 0xff]).targets, [0x1000]);
        assert_eq!(x86(&[0x90, 0xeb, 0x10]).short, [0x1013]);
        // jmp *%rax, jmp *%r11, jmp *8(%rdi), jmp *(%rip); call *%rax and push are none.
        for indirect in [&[0xff, 0xe0][..], &[0x41, 0xff, 0xe3], &[0xff, 0x67, 8], &[0xff, 0x25, 0, 0, 0, 0]]
        {
            assert!(x86(indirect).indirect, "{indirect:x?}");
        }
        for other in [&[0xff, 0xd0][..], &[0xff, 0x75, 8], &[0xc3]] {
            assert!(!x86(other).indirect, "{other:x?}");
        }
    }

    /// Every place, one after the other.
    fn one_by_one(bytes: &[u8], start: u64) -> (bool, [Vec<u64>; 3]) {
        let (mut indirect, mut found): (bool, [Vec<u64>; 3]) = Default::default();
        for at in 0..bytes.len() {
            let (kind, len, by) = match bytes[at..] {
                [0xff, operand, ..] => {
                    indirect |= operand >> 3 & 7 == 4;
                    continue;
                }
                [0xe9, a, b, c, d, ..] => (0, 5, i32::from_le_bytes([a, b, c, d])),
                [0x0f, 0x80..=0x8f, a, b, c, d, ..] => (0, 6, i32::from_le_bytes([a, b, c, d])),
                [0x70..=0x7f | 0xeb, by, ..] => (1, 2, by.cast_signed().into()),
                [0xe0..=0xe3, by, ..] => (2, 2, by.cast_signed().into()),
                _ => continue,
            };
            let to = (at + len) as i64 + i64::from(by);
            if to <= 0 || to >= bytes.len() as i64 {
                found[kind].push(start.wrapping_add_signed(to));
            }
        }
        (indirect, found)
    }

    /// Places that are looked at together answer as each alone does, in code of any length.
    #[test]
    fn places_together_answer_as_one_by_one() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        const OPCODES: [u8; 12] = [0xe9, 0x0f, 0x80, 0x8f, 0x70, 0x7f, 0xeb, 0xe0, 0xe3, 0xff, 0x25, 0];
        let mut found_any = [false; 3];
        for round in 0..6_000 {
            // Dense and sparse ones.
            let many = if round % 2 == 0 { 2 } else { 40 };
            let len = if round % 8 == 0 { random(600) } else { random(80) };
            let code: Vec<u8> = (0..len)
                .map(|_| match random(many) {
                    0 => OPCODES[random(OPCODES.len() as u64) as usize],
                    1 => random(256) as u8,
                    _ => 0x90,
                })
                .collect();
            let mut jumps = Jumps::default();
            let counting = x86_jumps(&code, 0x1000, &mut jumps);
            let found = [jumps.targets, jumps.short, counting];
            for (any, found) in found_any.iter_mut().zip(&found) {
                *any |= !found.is_empty();
            }
            assert_eq!((jumps.indirect, found), one_by_one(&code, 0x1000), "{code:x?}");
        }
        assert_eq!(found_any, [true; 3]);
    }

    #[test]
    fn jumps_of_x86_on_a_count() {
        let counting = |bytes: &[u8]| x86_jumps(bytes, 0x1000, &mut Jumps::default());
        // loopne, loope, loop, jrcxz: out of the code; one within it.
        for opcode in 0xe0..=0xe3 {
            assert_eq!(counting(&[0x90, opcode, 0x10]), [0x1013]);
            assert_eq!(counting(&[0x90, opcode, 0xff]), [0; 0]);
        }
    }

    #[test]
    fn where_indirect_jumps_go() {
        let judge = |jump: Indirect| {
            let mut jumps = Jumps::default();
            let words =
                |table: u64| [(1, 0x1010), (2, 0x1000), (3, 0x2000)].into_iter().find(|word| word.0 == table);
            let found = [jump, jump];
            jumps.judge(&found, 0x1000..0x1020, |table| words(table).map(|word| word.1), |slot| slot == 9);
            (jumps.indirect, jumps.anywhere, jumps.slots)
        };
        assert_eq!(judge(Indirect::Table), (true, false, vec![]));
        // The first word leads into the code; to its beginning; elsewhere; is not at hand.
        assert_eq!(judge(Indirect::TableAt(1)), (true, false, vec![]));
        for table in [2, 3, 4] {
            assert_eq!(judge(Indirect::TableAt(table)), (true, true, vec![]), "{table}");
        }
        assert_eq!(judge(Indirect::Through(9)), (true, false, vec![9]));
        assert_eq!(judge(Indirect::Through(8)), (true, true, vec![]));
        assert_eq!(judge(Indirect::Anywhere), (true, true, vec![]));
    }
}

//! Reads out of machine code what debug information leaves out: where a function may jump to, whom it calls.
//!
//! Code is decoded forward from where it is known to begin, by decoders of others for x86 and ARM and a small table for RISC-V,
//! and only where an answer depends on it: in functions that reach folded ones, in small code that may pass a call on. Which
//! functions those are is asked of all code of a program, so that comes from cheaper checks that miss no jump to an address and
//! find a few too many, which can make an answer less sure, never wrong. Where bytes are no instructions, those checks are what
//! is left on x86; elsewhere instructions that are not known are passed over, since their lengths are. Code that leaves in
//! another way (a stub that returns to where it wants to go) does not show: what no compiler described counts as code that may
//! go anywhere.

mod aarch64;
mod arm;
mod code;
mod inst;
mod riscv;
mod run;
mod slots;
mod ways;
mod x86;

use std::ops::Range;
use std::sync::OnceLock;

use crate::open::{Format, Image, KeptRelocation, KeptSection};
use crate::util::hash::HashMap;
use code::Processor;
pub(crate) use slots::SlotCall;
pub(crate) use ways::is_added;

const EM_386: u16 = 3;
const EM_ARM: u16 = 40;
pub(crate) const EM_X86_64: u16 = 62;
pub(crate) const EM_AARCH64: u16 = 183;
const EM_RISCV: u16 = 243;

const R_X86_64_PC32: u32 = 2;
const R_X86_64_PLT32: u32 = 4;
const R_X86_64_GOTPCREL: u32 = 9;
const R_X86_64_GOTPCRELX: u32 = 41;
const R_X86_64_REX_GOTPCRELX: u32 = 42;
const R_386_PC32: u32 = 2;
const R_386_PLT32: u32 = 4;
const R_AARCH64_CALL26: u32 = 283;
const R_ARM_PC24: u32 = 1;
const R_ARM_THM_CALL: u32 = 10;
const R_ARM_CALL: u32 = 28;
const R_ARM_JUMP24: u32 = 29;
const R_RISCV_JAL: u32 = 17;
const R_RISCV_CALL: u32 = 18;
const R_RISCV_CALL_PLT: u32 = 19;
const R_RISCV_RVC_JUMP: u32 = 45;

/// The code of an image.
pub(crate) struct Machine<'i, 'f> {
    image: &'i Image<'f>,
    /// `None` where its code is not read.
    processor: Option<Processor>,
    /// Once they are asked for.
    marks: OnceLock<code::CodeMarks>,
    starts: OnceLock<code::RunStarts>,
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

/// Where control goes at an instruction, other than to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    /// Always or on a condition.
    Jump(Target),
    Call(Target),
    Return,
}

/// Where a jump or call goes, as far as the code shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    To(u64),
    /// To the sum of two numbers, of which one was read from a table: to a place of a `switch`. (Code that was made
    /// so does not record such a jump, but every other one.)
    Table,
    /// To what a table at this address holds at a number: to a place of a `switch` or to a function, as its first word tells, which
    /// has so many bytes.
    TableAt(u64, u8),
    /// To an address plus something that is not known: to a branch of a `switch`, if it is in the same code.
    Near(u64),
    /// To what stands at an address.
    Through(u64),
    Anywhere,
}

impl Jumps {
    /// Takes up the jumps of `code`. `first` reads the first address of a table in the program's file.
    fn judge(
        &mut self,
        found: impl IntoIterator<Item = Target>,
        code: Range<u64>,
        first: impl Fn(u64, u8) -> Option<u64>,
        is_slot: impl Fn(u64) -> bool,
    ) {
        for jump in found {
            self.indirect |= !matches!(jump, Target::To(_));
            let is_within = |place: u64| place != code.start && code.contains(&place);
            match jump {
                Target::To(target) if is_within(target) => {}
                Target::To(target) => self.targets.push(target),
                Target::Table => {}
                // A table of functions holds no place within one.
                Target::TableAt(table, size) => self.anywhere |= !first(table, size).is_some_and(is_within),
                Target::Near(place) => self.anywhere |= !is_within(place),
                Target::Through(slot) if is_slot(slot) => self.slots.push(slot),
                Target::Through(_) | Target::Anywhere => self.anywhere = true,
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
        Machine {
            image,
            processor: Processor::of(image),
            marks: OnceLock::new(),
            starts: OnceLock::new(),
            added: OnceLock::new(),
            slots: OnceLock::new(),
            offset_table: OnceLock::new(),
        }
    }

    /// True where linkers leave jumps in the places of functions that they folded: lld's `--icf=safe_thunks`, for Mach-O alone.
    pub(crate) fn has_linkers_jumps(&self) -> bool {
        self.image.format == Format::MachO
    }

    /// True where an address is in an executable section.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.image.section_at(address).is_some_and(|section| self.image.sections[section].executable)
    }

    /// True where code is at hand, of an instruction set that is read.
    pub(crate) fn can_read(&self, start: u64, end: u64) -> bool {
        match self.processor {
            None => false,
            Some(Processor::Arm) => self.has_instruction_set(start, end),
            Some(_) => self.bytes(start, end).is_some(),
        }
    }

    fn bytes(&self, start: u64, end: u64) -> Option<&'f [u8]> {
        Some(self.section_bytes(start, end)?.1)
    }

    /// The bytes of a range, and where its section begins.
    fn section_bytes(&self, start: u64, end: u64) -> Option<(u64, &'f [u8])> {
        let (section, bytes) = self.section_from(start)?;
        Some((section, bytes.get(..usize::try_from(end.checked_sub(start)?).ok()?)?))
    }

    /// The bytes from an address to the end of its section, and where that begins.
    fn section_from(&self, start: u64) -> Option<(u64, &'f [u8])> {
        let after = self.image.code.partition_point(|&(section, _)| section <= start);
        let (section, bytes) = *self.image.code.get(after.checked_sub(1)?)?;
        Some((section, bytes.get(usize::try_from(start - section).ok()?..)?))
    }

    /// Adds all that may be a jump out of `start..end` to an address; nothing where the code is not at hand or not read.
    pub(crate) fn add_direct_jumps(&self, start: u64, end: u64, jumps: &mut Jumps) {
        match self.processor {
            None => {}
            Some(Processor::X86 { .. }) => {
                let Some(bytes) = self.bytes(start, end) else { return };
                let counting = x86::scan::jumps(bytes, start, jumps);
                jumps.short.extend(counting);
            }
            Some(_) => self.add_jumps_of_runs(start, end, &mut jumps.targets),
        }
    }

    /// Where control goes in `start..end`; `None` where the code is not at hand, not read, or not all of it is instructions.
    fn flows(&self, start: u64, end: u64) -> Option<Vec<Flow>> {
        match self.processor? {
            Processor::X86 { wide } => x86::flows(self.bytes(start, end)?, start, wide),
            _ => self.flows_of_runs(start, end),
        }
    }

    /// The jumps out of `start..end`; `None` where the code is not at hand or not read. Where not all of it is instructions, the
    /// jumps are what looks like one, and of the short ones those to such addresses.
    pub(crate) fn jumps(&self, start: u64, end: u64, is_entry: impl Fn(u64) -> bool) -> Option<Jumps> {
        let mut jumps = Jumps::default();
        if let Processor::X86 { .. } = self.processor? {
            let counting = x86::scan::jumps(self.bytes(start, end)?, start, &mut jumps);
            jumps.short.extend(counting);
            jumps.short.retain(|&target| is_entry(target));
            jumps.targets.retain(|&target| self.is_code(target));
            // Most functions have none of these, and need not be decoded.
            if !jumps.indirect && jumps.short.is_empty() && jumps.targets.is_empty() {
                return Some(jumps);
            }
        }
        match self.flows(start, end) {
            Some(found) => {
                jumps = Jumps::default();
                let found = found.into_iter().filter_map(|flow| match flow {
                    Flow::Jump(target) => Some(target),
                    _ => None,
                });
                let first = |table: u64, size: u8| self.word_at(table, size);
                jumps.judge(found, start..end, first, |slot| self.is_slot(slot));
            }
            None if matches!(self.processor, Some(Processor::X86 { .. })) => jumps.anywhere = jumps.indirect,
            None => return None,
        }
        jumps.targets.sort_unstable();
        jumps.short.sort_unstable();
        jumps.short.dedup();
        Some(jumps)
    }

    /// The address that the program's file has at an address of data, or of a table among code. Bit 0 of ARM's tells the
    /// instruction set.
    fn word_at(&self, address: u64, size: u8) -> Option<u64> {
        let of = |sections: &[(u64, &'f [u8])]| {
            let after = sections.partition_point(|&(section, _)| section <= address);
            let (section, bytes) = *sections.get(after.checked_sub(1)?)?;
            bytes.get(usize::try_from(address - section).ok()?..)
        };
        let word = of(&self.image.data).filter(|word| !word.is_empty());
        let word = word.or_else(|| of(&self.image.code))?;
        let word = match size {
            4 => u64::from(word.first_chunk().map(|word| u32::from_le_bytes(*word))?),
            8 => word.first_chunk().map(|word| u64::from_le_bytes(*word))?,
            _ => return None,
        };
        Some(if self.processor == Some(Processor::Arm) { word & !1 } else { word })
    }

    /// The address that the program's file has at an address of data (little-endian).
    fn address_at(&self, address: u64) -> Option<u64> {
        self.word_at(address, self.image.arch.address_size)
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
        let mut targets = HashMap::default();
        let mut add = |target: u64| {
            if such(target) {
                *targets.entry(target).or_default() += 1;
            }
        };
        let calls = |flow: Flow| match flow {
            Flow::Call(Target::To(target)) => Some(target),
            _ => None,
        };
        match (self.flows(start, end), self.processor?) {
            (Some(flows), _) => flows.into_iter().filter_map(calls).for_each(&mut add),
            (None, Processor::X86 { .. }) => x86::scan::calls(self.bytes(start, end)?, start, &mut add),
            (None, _) => return None,
        }
        Some(targets)
    }

    /// Where the call goes to that returns to an address; `None` where it does not go straight there.
    pub(crate) fn call_before(&self, return_addr: u64) -> Option<u64> {
        match self.call_to(return_addr)? {
            Target::To(target) => Some(target),
            _ => None,
        }
    }

    /// The call that returns to an address; `None` where the code is not at hand or does not show it for certain.
    fn call_to(&self, return_addr: u64) -> Option<Target> {
        match self.processor? {
            Processor::X86 { wide } => {
                let bytes = |len: u64| self.bytes(return_addr.checked_sub(len)?, return_addr);
                x86::call_before(bytes(5)?, bytes(7), return_addr, wide)
            }
            _ => self.call_of_run(return_addr),
        }
    }

    /// True where the code is at hand and does not show a call that goes straight to an address. What looks like one may
    /// be the end of another instruction: then nothing is said.
    pub(crate) fn is_indirect_call(&self, return_addr: u64) -> bool {
        self.call_to(return_addr).is_some_and(|target| !matches!(target, Target::To(_)))
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
                let address =
                    || kept.symbol_address(relocation.symbol).map(|address| self.without_mode(address));
                let is_named = || address().is_some_and(&is_callee);
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
        let return_addr = match (self.processor?, relocation.kind) {
            // Through the offset table, or rewritten by the linker to a call of the function itself.
            (
                Processor::X86 { wide: true },
                R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX,
            ) => matches!(before()?, [0xff, 0x15] | [0x67, 0xe8]).then(|| place.checked_add(4))??,
            (Processor::X86 { .. }, _) => matches!(before()?, [_, 0xe8]).then(|| place.checked_add(4))??,
            _ => self.return_of_call(place)?,
        };
        let symbol = kept.symbol(relocation.symbol)?;
        let named = symbol.is_function && !symbol.is_local && !symbol.name.is_empty();
        let callee = self.without_mode(symbol.address?);
        named.then_some(NamedCall { return_addr, name: symbol.name, callee })
    }

    /// The address of a symbol, whose bit 0 tells the instruction set on 32-bit ARM.
    fn without_mode(&self, address: u64) -> u64 {
        if self.processor == Some(Processor::Arm) { address & !1 } else { address }
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
        EM_ARM => matches!(kind, R_ARM_PC24 | R_ARM_THM_CALL | R_ARM_CALL | R_ARM_JUMP24),
        EM_RISCV => {
            matches!(kind, R_RISCV_JAL | R_RISCV_CALL | R_RISCV_CALL_PLT | R_RISCV_RVC_JUMP)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_indirect_jumps_go() {
        let judge = |jump: Target| {
            let mut jumps = Jumps::default();
            let words =
                |table: u64| [(1, 0x1010), (2, 0x1000), (3, 0x2000)].into_iter().find(|word| word.0 == table);
            let found = [jump, jump];
            jumps.judge(found, 0x1000..0x1020, |table, _| words(table).map(|word| word.1), |slot| slot == 9);
            (jumps.indirect, jumps.anywhere, jumps.slots)
        };
        assert_eq!(judge(Target::Table), (true, false, vec![]));
        // The first word leads into the code; to its beginning; elsewhere; is not at hand.
        assert_eq!(judge(Target::TableAt(1, 8)), (true, false, vec![]));
        for table in [2, 3, 4] {
            assert_eq!(judge(Target::TableAt(table, 8)), (true, true, vec![]), "{table}");
        }
        assert_eq!(judge(Target::Through(9)), (true, false, vec![9]));
        assert_eq!(judge(Target::Through(8)), (true, true, vec![]));
        assert_eq!(judge(Target::Anywhere), (true, true, vec![]));
        assert_eq!(judge(Target::Near(0x1004)), (true, false, vec![]));
        assert_eq!(judge(Target::Near(0x1020)), (true, true, vec![]));
        assert_eq!(judge(Target::To(0x1000)), (false, false, vec![]));
    }
}

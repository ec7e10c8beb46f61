//! Reads from machine code what debug information omits: where a function may jump to, and which functions it calls.
//!
//! Code is decoded forward from a known start, by decoder crates for x86 and ARM and by a small table for RISC-V. It
//! is decoded only if an answer depends on it: in functions that reach folded ones, and in small code that may pass a
//! call on. To find those functions, cheaper checks run over all code of the program. They miss no jump to an address
//! and find a few places that are no jumps; a false jump can make an answer less sure but never wrong. If some bytes
//! are not instructions, x86 code gets only the cheap check; on other processors unknown instructions are skipped, since their
//! lengths are known. Some ways of leaving code do not show, for example a return to an address that the code pushed.
//! So code that no compiler described counts as code that may jump anywhere.
//!
//! Decoders calculate with addresses as numbers: a register may hold either. What they return has image addresses.

mod aarch64;
mod arm;
mod code;
mod flow;
mod imports;
mod inst;
mod limits;
mod padding;
mod passed_calls;
mod reader;
mod register_thunks;
mod register_values;
mod riscv;
mod run;
mod slots;
mod x86;

use crate::model::{AddressRange, ImageAddr};
use crate::open::{KeptRelocation, KeptSection};
use crate::program::names::itanium::is_program_wide;
use crate::util::hash::HashMap;
pub(crate) use flow::Jumps;
use flow::{Flow, Target};
pub(crate) use limits::{MAX_JOINS, MAX_SLOT_CODE};
use reader::{EM_386, EM_ARM, EM_RISCV, Processor};
pub(crate) use reader::{EM_AARCH64, EM_X86_64, Machine};
pub(crate) use register_values::{SlotCall, SlotCalls};

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

/// A call whose instruction has the address of its target.
pub(crate) struct CallInCode {
    pub(crate) return_addr: ImageAddr,
    pub(crate) target: ImageAddr,
}

/// A direct call, or a direct jump out of a function.
pub(crate) struct Transfer {
    /// The return address of a call.
    pub(crate) return_addr: Option<ImageAddr>,
    pub(crate) target: ImageAddr,
}

/// A call with a relocation that names its callee.
pub(crate) struct NamedCall<'f> {
    pub(crate) return_addr: ImageAddr,
    /// The callee's own symbol, and its address.
    pub(crate) name: &'f [u8],
    pub(crate) callee: ImageAddr,
}

impl<'f> Machine<'_, 'f> {
    /// True if the program has code of a supported instruction set.
    pub(crate) fn can_read(&self, code: AddressRange) -> bool {
        match self.processor {
            None => false,
            Some(Processor::Arm) => self.has_instruction_set(code),
            Some(_) => self.bytes(code).is_some(),
        }
    }

    /// Adds everything that may be a direct jump out of `code`; nothing if the code is missing or not supported.
    pub(crate) fn add_direct_jumps(&self, code: AddressRange, jumps: &mut Jumps) {
        match self.processor {
            None => {}
            Some(Processor::X86 { .. }) => {
                let Some(bytes) = self.bytes(code) else { return };
                let counting = x86::scan::jumps(bytes, code.start, jumps);
                // Like short jumps, these count only if a function begins at their target.
                jumps.short.extend(counting);
            }
            Some(_) => self.add_jumps_of_runs(code, &mut jumps.targets),
        }
    }

    /// The control flow of `code`; `None` if the code is missing, not supported, or not all of it is
    /// instructions.
    fn flows(&self, code: AddressRange) -> Option<Vec<Flow>> {
        match self.processor? {
            Processor::X86 { wide } => x86::flows(self.bytes(code)?, code.start.0, wide),
            _ => self.flows_of_runs(code),
        }
    }

    /// The jumps out of `code`; `None` if the code is missing or not supported. If not all of it is
    /// instructions, every place that looks like a jump counts, and a short one only if `is_entry` accepts its target.
    pub(crate) fn jumps(&self, code: AddressRange, is_entry: impl Fn(ImageAddr) -> bool) -> Option<Jumps> {
        let mut jumps = Jumps::default();
        if let Processor::X86 { .. } = self.processor? {
            let counting = x86::scan::jumps(self.bytes(code)?, code.start, &mut jumps);
            jumps.short.extend(counting);
            jumps.short.retain(|&target| is_entry(target));
            // Bytes that are no jump seldom lead into code of the program.
            jumps.targets.retain(|&target| self.is_code(target));
            // Most functions have no such jump and need no decoding.
            if !jumps.indirect && jumps.short.is_empty() && jumps.targets.is_empty() {
                return Some(jumps);
            }
        }
        match self.flows(code) {
            Some(found) => {
                jumps = Jumps::default();
                let found = found.into_iter().filter_map(|flow| match flow {
                    Flow::Jump(target) => Some(target),
                    _ => None,
                });
                let first = |table: ImageAddr, size: u8| self.word_at(table, size);
                jumps.judge(found, code, first, |slot| self.is_slot(slot));
            }
            // Not all bytes are instructions, so nothing shows that an indirect jump is that of a `switch`.
            None if matches!(self.processor, Some(Processor::X86 { .. })) => jumps.anywhere = jumps.indirect,
            None => return None,
        }
        jumps.targets.sort_unstable();
        jumps.short.sort_unstable();
        jumps.short.dedup();
        Some(jumps)
    }

    /// How many calls of `code` go directly to each accepted address; `None` if the code is missing or not
    /// supported.
    pub(crate) fn calls(
        &self,
        code: AddressRange,
        such: impl Fn(ImageAddr) -> bool,
    ) -> Option<HashMap<ImageAddr, usize>> {
        let mut targets = HashMap::default();
        let mut add = |target: ImageAddr| {
            if such(target) {
                *targets.entry(target).or_default() += 1;
            }
        };
        let calls = |flow: Flow| match flow {
            Flow::Call(Target::To(target)) => Some(target),
            _ => None,
        };
        match (self.flows(code), self.processor?) {
            (Some(flows), _) => flows.into_iter().filter_map(calls).for_each(&mut add),
            (None, Processor::X86 { .. }) => x86::scan::calls(self.bytes(code)?, code.start, &mut add),
            (None, _) => return None,
        }
        Some(targets)
    }

    /// The calls of `code`: where each returns to, and where it goes, in the order of the code. `entries`: where other code
    /// jumps into this. `None` where the code is not at hand, not read, or not all of it is instructions.
    fn calls_in_order(&self, code: AddressRange, entries: &[ImageAddr]) -> Option<Vec<(ImageAddr, Target)>> {
        match self.processor? {
            Processor::X86 { wide } => x86::calls(self.bytes(code)?, code.start.0, wide),
            _ => self.calls_of_runs(code, entries),
        }
    }

    /// The direct calls of `code`; none if its calls are not known.
    pub(crate) fn direct_calls(&self, code: AddressRange) -> impl Iterator<Item = CallInCode> {
        let calls = self.calls_in_order(code, &[]).into_iter().flatten();
        calls.filter_map(|(return_addr, target)| match target {
            Target::To(target) => Some(CallInCode { return_addr, target }),
            _ => None,
        })
    }

    /// The places of `code` that may transfer control directly to an accepted address, in their order. On x86 bytes that are no
    /// instruction are seldom among them, on other processors jumps are not.
    pub(crate) fn transfers(
        &self,
        code: AddressRange,
        is_start: impl Fn(ImageAddr) -> bool,
    ) -> Vec<Transfer> {
        let mut found = Vec::new();
        if let (Some(Processor::X86 { wide: true }), Some(bytes)) = (self.processor, self.bytes(code)) {
            x86::scan::near(bytes, code.start, |is_call, next, target| {
                if is_start(target) {
                    found.push(Transfer { return_addr: is_call.then_some(next), target });
                }
            });
            return found;
        }
        let calls = self.direct_calls(code).filter(|call| is_start(call.target));
        found.extend(calls.map(|call| Transfer { return_addr: Some(call.return_addr), target: call.target }));
        found
    }

    /// The target of the call before a return address; `None` if it is no direct call.
    pub(crate) fn call_before(&self, return_addr: ImageAddr) -> Option<ImageAddr> {
        match self.call_to(return_addr)? {
            Target::To(target) => Some(target),
            _ => None,
        }
    }

    /// The call before a return address; `None` if the code is missing or does not show it for certain.
    fn call_to(&self, return_addr: ImageAddr) -> Option<Target> {
        match self.processor? {
            Processor::X86 { wide } => {
                let bytes =
                    |len: u64| self.bytes(AddressRange::new(return_addr.checked_sub(len)?, return_addr));
                // Near the start of a section there are fewer than seven bytes. Then the call cannot be of the longer form.
                x86::call_before(bytes(5)?, bytes(7), return_addr.0, wide)
            }
            _ => self.call_of_run(return_addr),
        }
    }

    /// True if the code is present and shows no direct call. If the end of another instruction may look like a call,
    /// it is false.
    pub(crate) fn is_indirect_call(&self, return_addr: ImageAddr) -> bool {
        self.call_to(return_addr).is_some_and(|target| !matches!(target, Target::To(_)))
    }

    /// True if the call before a return address goes directly to code that is neither the callee's nor a stub in a
    /// section of its own (`.plt`). A stub belongs to a name. A thunk that a linker put between distant code belongs
    /// to an address, and so to all functions that were folded there.
    pub(crate) fn calls_other_code(&self, return_addr: ImageAddr, callee: ImageAddr) -> bool {
        let Some(target) = self.call_before(return_addr).filter(|&target| target != callee) else {
            return false;
        };
        !self.is_stub(target)
    }

    /// True if the call before a return address goes to a stub, which belongs to the callee's name.
    pub(crate) fn calls_stub(&self, return_addr: ImageAddr) -> bool {
        self.call_before(return_addr).is_some_and(|target| self.is_stub(target))
    }

    /// The calls with a kept relocation against a function's own symbol, for functions at accepted addresses.
    pub(crate) fn named_calls(&self, is_callee: impl Fn(ImageAddr) -> bool) -> Vec<NamedCall<'f>> {
        let machine = self.image.arch.machine;
        let mut found = Vec::new();
        for (base, kept) in self.image.kept_code_relocations() {
            // Most relocations name a few symbols again and again.
            let mut known: HashMap<u32, bool> = HashMap::default();
            kept.iter().filter(|relocation| is_call(machine, relocation.kind)).for_each(|relocation| {
                let address = || kept.symbol_address(relocation.symbol).map(ImageAddr);
                let is_named = || address().is_some_and(|address| is_callee(self.without_mode(address)));
                if *known.entry(relocation.symbol).or_insert_with(is_named) {
                    found.extend(self.named_call(base, kept, relocation));
                }
            });
        }
        found
    }

    fn named_call(
        &self,
        base: ImageAddr,
        kept: &KeptSection<'f>,
        relocation: KeptRelocation,
    ) -> Option<NamedCall<'f>> {
        let place = base.checked_add(relocation.section_off)?;
        let before = || self.bytes(AddressRange::new(place.checked_sub(2)?, place));
        let return_addr = match (self.processor?, relocation.kind) {
            // A call through the GOT, or one that the linker rewrote into a direct call.
            (
                Processor::X86 { wide: true },
                R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX,
            ) => matches!(before()?, [0xff, 0x15] | [0x67, 0xe8]).then(|| place.checked_add(4))??,
            (Processor::X86 { .. }, _) => matches!(before()?, [_, 0xe8]).then(|| place.checked_add(4))??,
            _ => self.return_of_call(place)?,
        };
        let symbol = kept.symbol(relocation.symbol)?;
        // mold makes the global symbols of a program local.
        let is_shared = !symbol.is_local || is_program_wide(symbol.name);
        let named = symbol.is_function && is_shared && !symbol.name.is_empty();
        let callee = self.without_mode(ImageAddr(symbol.address?));
        named.then_some(NamedCall { return_addr, name: symbol.name, callee })
    }
}

/// True for a type of relocation that calls have.
fn is_call(machine: u16, kind: u32) -> bool {
    match machine {
        // Before version 2.31, GNU as gave a direct call `R_X86_64_PC32` where it now gives `R_X86_64_PLT32`.
        EM_X86_64 => matches!(
            kind,
            R_X86_64_PC32 | R_X86_64_PLT32 | R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX
        ),
        EM_386 => matches!(kind, R_386_PC32 | R_386_PLT32),
        EM_AARCH64 => kind == R_AARCH64_CALL26,
        // `R_ARM_JUMP24` is the type of `B` and of a conditional `BL` (ELF for the Arm Architecture). `return_of_call` tells them apart.
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
            let words = |table: ImageAddr| {
                [(1, 0x1010), (2, 0x1000), (3, 0x2000)].into_iter().find(|word| word.0 == table.0)
            };
            let first = |table: ImageAddr, _| words(table).map(|word| ImageAddr(word.1));
            let code = AddressRange::of(ImageAddr(0x1000), 0x20);
            jumps.judge([jump, jump], code, first, |slot| slot == ImageAddr(9));
            (jumps.indirect, jumps.anywhere, jumps.slots)
        };
        assert_eq!(judge(Target::Table), (true, false, vec![]));
        // The first word leads into the code; to its beginning; to other code; is missing.
        assert_eq!(judge(Target::TableAt(ImageAddr(1), 8)), (true, false, vec![]));
        for table in [2, 3, 4] {
            assert_eq!(judge(Target::TableAt(ImageAddr(table), 8)), (true, true, vec![]), "{table}");
        }
        assert_eq!(judge(Target::Through(ImageAddr(9))), (true, false, vec![ImageAddr(9)]));
        assert_eq!(judge(Target::Through(ImageAddr(8))), (true, true, vec![]));
        assert_eq!(judge(Target::Anywhere), (true, true, vec![]));
        assert_eq!(judge(Target::Near(ImageAddr(0x1004))), (true, false, vec![]));
        assert_eq!(judge(Target::Near(ImageAddr(0x1020))), (true, true, vec![]));
        assert_eq!(judge(Target::To(ImageAddr(0x1000))), (false, false, vec![]));
    }
}

//! The targets to which small code passes its call on: directly, or through stubs of the linker and slots of the
//! loader. Code that compilers add to each function is ignored.

use super::flow::{Flow, Hop, MAX_STUB, Target};
use super::reader::{Added, EM_386, EM_AARCH64, EM_ARM, EM_RISCV, EM_X86_64, Machine, Processor, Slots};
use super::x86;
use crate::model::{AddressRange, ImageAddr};
use crate::open::KeptRelocation;
use crate::toolchain::functions::{is_added, is_return_thunk};

/// Stubs and jumps followed one after the other.
const MAX_HOPS: usize = 4;

/// `R_RISCV_JUMP_SLOT`
const RISCV_JUMP_SLOT: u32 = 5;

impl Machine<'_, '_> {
    /// The function to which small code passes its call on, with unchanged arguments: the only accepted address that
    /// it jumps to, or calls before it returns. Code that compilers add to each function is ignored: a frame, a stack
    /// guard, a counter, calls of a profiler. `None` for code that does anything else, and for a stub.
    pub(crate) fn passes_on(
        &self,
        code: AddressRange,
        such: impl Fn(ImageAddr) -> bool,
    ) -> Option<ImageAddr> {
        // mold gives stubs symbols.
        if self.is_stub(code.start) {
            return None;
        }
        let does_no_more = match self.processor? {
            Processor::X86 { wide } => x86::only_passes_on(self.bytes(code)?, code.start.0, wide),
            _ => self.runs_only_pass_on(code),
        };
        if !does_no_more {
            return None;
        }
        let jumps = self.jumps(code, &such)?;
        let outside = |target: &ImageAddr| !code.contains(*target);
        let follow = |hop: Hop| self.follow(hop, &such).filter(outside);
        let straight = jumps.targets.iter().chain(&jumps.short).copied().filter(outside).map(Hop::To);
        let through = jumps.slots.iter().copied().map(Hop::Through);
        let mut targets: Vec<ImageAddr> = straight.chain(through).filter_map(follow).collect();
        let returns = |target: &ImageAddr| self.added().returns.contains(target);
        let flows = self.flows(code)?;
        // A call passes the call on only if the code returns after it. Code without a return calls what never returns.
        if flows.contains(&Flow::Return) || jumps.targets.iter().any(returns) {
            let calls = flows.into_iter().filter_map(|flow| match flow {
                Flow::Call(Target::To(target)) => Some(Hop::To(target)),
                Flow::Call(Target::Through(slot)) => Some(Hop::Through(slot)),
                _ => None,
            });
            targets.extend(calls.filter_map(follow));
        }
        targets.sort_unstable();
        targets.dedup();
        match targets[..] {
            [target] => Some(target),
            _ => None,
        }
    }

    /// The first accepted address behind stubs and jumps; `None` for functions that compilers call on their own.
    fn follow(&self, mut hop: Hop, such: impl Fn(ImageAddr) -> bool) -> Option<ImageAddr> {
        // In a hostile file, stubs may jump in a circle.
        for _ in 0..MAX_HOPS {
            let at = match hop {
                Hop::To(address) => address,
                Hop::Through(slot) => self.in_slot(slot)?,
            };
            if such(at) {
                // Compilers add calls of profilers and stack guards to any function: code is not there to pass its call on to these.
                return (!self.added().all.contains(&at)).then_some(at);
            }
            hop = self.hop(at)?;
        }
        None
    }

    /// The target of code that only jumps: a stub of the procedure linkage table, or a thunk between distant code.
    pub(super) fn hop(&self, address: ImageAddr) -> Option<Hop> {
        let section = &self.image.sections[self.image.section_at(address)?];
        match self.processor? {
            Processor::X86 { wide } => {
                let end = section.range.end.min(address.saturating_add(MAX_STUB));
                let bytes = self.bytes(AddressRange::new(address, end))?;
                x86::hop(bytes, address.0, wide, || self.offset_table())
            }
            _ => self.hop_of_run(AddressRange::new(address, section.range.end)),
        }
    }

    /// The start of the GOT, from which i386 code addresses its slots.
    fn offset_table(&self) -> Option<ImageAddr> {
        let named = |name: &str| self.image.sections.iter().find(|section| section.name == name);
        // EBX has the address of `_GLOBAL_OFFSET_TABLE_`: the start of `.got.plt`, or of `.got` where GNU ld puts both
        // into that (`-z now`).
        let find = || named(".got.plt").or_else(|| named(".got")).map(|section| section.range.start);
        *self.offset_table.get_or_init(find)
    }

    /// The loader's value of a slot; `None` for an address of another module.
    fn in_slot(&self, slot: ImageAddr) -> Option<ImageAddr> {
        match self.slots.get_or_init(|| self.read_slots()).get(slot) {
            Some(written) => written,
            // No relocation: the linker itself wrote the address, as in a program that is not moved when it is loaded.
            None if self.is_slot(slot) => self.address_at(slot).filter(|address| self.is_code(*address)),
            None => None,
        }
    }

    /// The loader's relocation types for slots: by name, and relative (System V ABIs of x86-64, i386, AArch64, ARM
    /// and RISC-V).
    pub(super) fn slot_relocations(&self) -> Option<([u32; 2], u32)> {
        Some(match self.image.arch.machine {
            // `R_*_GLOB_DAT` and `R_*_JUMP_SLOT`, then `R_*_RELATIVE`. i386 and ARM have `Rel` relocations, without an addend:
            // there the linker writes the address into the slot, and `in_slot` reads it.
            EM_X86_64 => ([6, 7], 8),
            EM_386 => ([6, 7], u32::MAX),
            EM_AARCH64 => ([1025, 1026], 1027),
            EM_ARM => ([21, 22], u32::MAX),
            // RISC-V has no `GLOB_DAT`: `R_RISCV_64` and `R_RISCV_32` fill slots and data alike (`fills_slot`).
            EM_RISCV if self.image.arch.address_size == 8 => ([2, RISCV_JUMP_SLOT], 3),
            EM_RISCV => ([1, RISCV_JUMP_SLOT], 3),
            _ => return None,
        })
    }

    /// True where a relocation of such a type fills a slot. RISC-V has no type for slots that are read before the program runs: there
    /// the loader fills every pointer to a function in the same way, and the program may change it.
    pub(super) fn fills_slot(&self, relocation: &KeptRelocation) -> bool {
        self.image.arch.machine != EM_RISCV
            || relocation.kind == RISCV_JUMP_SLOT
            || (relocation.addend == 0 && self.is_slot(ImageAddr(relocation.section_off)))
    }

    fn read_slots(&self) -> Slots {
        let Some((by_name, relative)) = self.slot_relocations() else { return Slots::default() };
        let mut slots = Slots::default();
        for section in self.image.loader.sections() {
            for relocation in section.iter() {
                let place = ImageAddr(relocation.section_off);
                if by_name.contains(&relocation.kind) && self.fills_slot(&relocation) {
                    let address = section.symbol_address(relocation.symbol);
                    slots.add(place, address.map(|address| self.without_mode(ImageAddr(address))));
                // A position-independent program has most of these relocations for vtables and other data.
                } else if relocation.kind == relative && section.has_addend && self.is_slot(place) {
                    slots.add(place, Some(ImageAddr(relocation.addend.cast_unsigned())));
                }
            }
        }
        slots.sorted()
    }

    fn added(&self) -> &Added {
        self.added.get_or_init(|| {
            let mut added = Added::default();
            for symbol in self.image.symbols.iter().filter(|symbol| is_added(symbol.name)) {
                let address = ImageAddr(symbol.address);
                added.all.insert(address);
                if is_return_thunk(symbol.name) {
                    added.returns.insert(address);
                }
            }
            added
        })
    }
}

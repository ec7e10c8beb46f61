//! Calls of functions of other modules, with the names that the linker bound them to.
//!
//! `call read@plt` goes to a stub of the procedure linkage table, and the stub jumps through a slot that the loader fills. The
//! relocation of the slot has the name. `call *read@GOTPCREL(%rip)` (`-fno-plt`) goes through the slot itself.

use rayon::prelude::*;

use super::flow::{Hop, Target};
use super::reader::{Machine, Processor};
use crate::model::{AddressRange, ImageAddr};
use crate::open::Format;
use crate::util::hash::HashMap;

/// Ranges of code that one task reads.
const RANGES_AT_ONCE: usize = 256;

/// What is found of imports in ranges of code.
#[derive(Default)]
pub(crate) struct FoundImports<'f> {
    /// Where each call of a function of another module returns to, and its name. In the order of the ranges.
    pub(crate) calls: Vec<(ImageAddr, &'f [u8])>,
    /// The ranges that could not be read.
    pub(crate) unread: Vec<AddressRange>,
}

impl<'f> Machine<'_, 'f> {
    /// The calls in ranges of code that go to functions of other modules; `None` where the relocations or the code of such programs
    /// are not read.
    pub(crate) fn imports(&self, ranges: &[AddressRange]) -> Option<FoundImports<'f>> {
        let slots = self.imported_slots()?;
        // A static program imports nothing, so no code is read.
        if slots.is_empty() {
            return Some(FoundImports::default());
        }
        let entries = self.entries_from_outside(ranges);
        let of_ranges = |some: &[AddressRange]| {
            // Most stubs are called again and again.
            let mut stubs: HashMap<ImageAddr, Option<&'f [u8]>> = HashMap::default();
            let mut found = FoundImports::default();
            for &range in some {
                let AddressRange { start, end } = range;
                let entered =
                    entries.partition_point(|at| *at < start)..entries.partition_point(|at| *at < end);
                let Some(calls) = self.calls_in_order(range, &entries[entered]) else {
                    found.unread.push(range);
                    continue;
                };
                for (return_addr, target) in calls {
                    let name = match target {
                        Target::Through(slot) => slots.get(&slot).copied(),
                        Target::To(stub) if self.is_stub(stub) => {
                            let through = || match self.hop(stub)? {
                                Hop::Through(slot) => slots.get(&slot).copied(),
                                Hop::To(_) => None,
                            };
                            *stubs.entry(stub).or_insert_with(through)
                        }
                        _ => None,
                    };
                    found.calls.extend(name.map(|name| (return_addr, name)));
                }
            }
            found
        };
        // Chunks are collected in their order, so the result does not depend on threads.
        let found: Vec<FoundImports<'f>> = ranges.par_chunks(RANGES_AT_ONCE).map(of_ranges).collect();
        Some(FoundImports {
            calls: found.iter().flat_map(|some| &some.calls).copied().collect(),
            unread: found.iter().flat_map(|some| &some.unread).copied().collect(),
        })
    }

    /// Where ranges jump into others, as a cold part jumps back into its function: sorted. None on x86, whose calls are read
    /// without the values of registers.
    fn entries_from_outside(&self, ranges: &[AddressRange]) -> Vec<ImageAddr> {
        if matches!(self.processor, Some(Processor::X86 { .. })) {
            return Vec::new();
        }
        let of_range = |&range: &AddressRange| {
            let mut targets = Vec::new();
            self.add_jumps_of_runs(range, &mut targets);
            targets.retain(|target| !range.contains(*target));
            targets
        };
        let mut entries: Vec<ImageAddr> = ranges.par_iter().flat_map_iter(of_range).collect();
        entries.par_sort_unstable();
        entries.dedup();
        entries
    }

    /// The slots that the loader fills with addresses of other modules, with the names.
    fn imported_slots(&self) -> Option<HashMap<ImageAddr, &'f [u8]>> {
        // The tables by which dyld binds slots are not read.
        if self.processor.is_none() || self.image.format == Format::MachO {
            return None;
        }
        let (by_name, _) = self.slot_relocations()?;
        let sections = self.image.loader.sections().iter();
        let relocations =
            sections.flat_map(|section| section.iter().map(move |relocation| (section, relocation)));
        let named = relocations
            .filter(|(_, relocation)| by_name.contains(&relocation.kind) && self.fills_slot(relocation));
        let imported = named.filter_map(|(section, relocation)| {
            let symbol = section.symbol(relocation.symbol)?;
            // A symbol with an address is a function of this program, which the loader may replace by one of another module.
            let is_import = symbol.address.is_none() && !symbol.name.is_empty();
            is_import.then_some((ImageAddr(relocation.section_off), symbol.name))
        });
        Some(imported.collect())
    }
}

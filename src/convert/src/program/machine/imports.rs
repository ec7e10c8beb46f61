//! Calls of functions of other modules, with the names that the linker bound them to.
//!
//! `call read@plt` goes to a stub of the procedure linkage table, and the stub jumps through a slot that the loader fills. The
//! relocation of the slot has the name. `call *read@GOTPCREL(%rip)` (`-fno-plt`) goes through the slot itself.

use rayon::prelude::*;

use super::flow::{Hop, Target};
use super::reader::Machine;
use crate::util::hash::HashMap;

/// Ranges of code that one task reads.
const RANGES_AT_ONCE: usize = 256;

impl<'f> Machine<'_, 'f> {
    /// The calls in ranges of code that go to functions of other modules: return address and name, in the order of
    /// the ranges.
    pub(crate) fn imports(&self, ranges: &[(u64, u64)]) -> Vec<(u64, &'f [u8])> {
        let slots = self.imported_slots();
        if slots.is_empty() {
            return Vec::new();
        }
        let of_ranges = |some: &[(u64, u64)]| {
            // Most stubs are called again and again.
            let mut stubs: HashMap<u64, Option<&'f [u8]>> = HashMap::default();
            let mut found = Vec::new();
            for &(start, end) in some {
                for (return_addr, target) in self.calls_in_order(start, end) {
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
                    found.extend(name.map(|name| (return_addr, name)));
                }
            }
            found
        };
        ranges.par_chunks(RANGES_AT_ONCE).flat_map_iter(of_ranges).collect()
    }

    /// The slots in which the loader writes addresses of other modules, with the names.
    fn imported_slots(&self) -> HashMap<u64, &'f [u8]> {
        let Some((by_name, _)) = self.slot_relocations() else { return HashMap::default() };
        let sections = self.image.loader.sections().iter();
        let relocations =
            sections.flat_map(|section| section.iter().map(move |relocation| (section, relocation)));
        let named = relocations.filter(|(_, relocation)| by_name.contains(&relocation.kind));
        let imported = named.filter_map(|(section, relocation)| {
            let symbol = section.symbol(relocation.symbol)?;
            let is_import = symbol.address.is_none() && !symbol.name.is_empty();
            is_import.then_some((relocation.section_off, symbol.name))
        });
        imported.collect()
    }
}

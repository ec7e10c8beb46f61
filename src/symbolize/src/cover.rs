//! Cuts the mappings of a process into ranges of memory with one module each.
//!
//! Mappings may overlap. An address belongs to the mapping with the highest start that contains it: a module within another hides a part
//! of that one. A mapping without a known end goes up to the start of the next.

/// Where a module is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mapped {
    pub(crate) start: u64,
    /// Its last address; `None` if it goes up to the next mapping.
    pub(crate) last: Option<u64>,
    /// Index of the module.
    pub(crate) module: usize,
}

/// First and last address, and index of the module; by address, without overlaps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cover {
    parts: Vec<(u64, u64, usize)>,
}

impl Cover {
    /// Takes mappings in any order.
    pub(crate) fn new(mut mapped: Vec<Mapped>) -> Cover {
        // Of several with one start the last counts: the longest, and of these that of the last module.
        mapped.sort_unstable_by_key(|mapped| (mapped.start, mapped.last.unwrap_or(u64::MAX), mapped.module));
        let mut parts = Vec::with_capacity(mapped.len());
        // Those that have begun, each hidden by what lies above it. None above another is open.
        let mut begun: Vec<Mapped> = Vec::new();
        // 128 bits, since the end of the last mapping may be 2^64.
        let mut at = 0_u128;
        for next in mapped.iter().map(Some).chain([None]) {
            let end = next.map_or(1 << 64, |next| u128::from(next.start));
            // Each mapping is pushed once and popped once, so the whole loop takes linear time. A report may have a million modules.
            while let Some(top) = begun.last().filter(|_| at < end) {
                let top_end = top.last.map_or(end, |last| u128::from(last) + 1).min(end);
                if at < top_end {
                    parts.push((at as u64, (top_end - 1) as u64, top.module));
                    at = top_end;
                }
                if at < end || top.last.is_none() {
                    begun.pop();
                }
            }
            at = end;
            begun.pop_if(|top| top.last.is_none());
            begun.extend(next);
        }
        Cover { parts }
    }

    /// The module that has an address.
    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        let behind = self.parts.partition_point(|&(start, ..)| start <= address);
        let &(_, last, module) = self.parts.get(behind.checked_sub(1)?)?;
        (address <= last).then_some(module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the words above say it.
    fn slow(mapped: &[Mapped], address: u64) -> Option<usize> {
        let next = |of: &Mapped| mapped.iter().map(|one| one.start).filter(|start| *start > of.start).min();
        let has = |one: &&Mapped| {
            let last = one.last.or(next(one).map(|next| next - 1)).unwrap_or(u64::MAX);
            (one.start..=last).contains(&address)
        };
        let key = |one: &&Mapped| (one.start, one.last.unwrap_or(u64::MAX), one.module);
        mapped.iter().filter(has).max_by_key(key).map(|one| one.module)
    }

    #[test]
    fn an_address_behind_a_nested_module_is_of_the_one_around_it() {
        let part = |start, last, module| Mapped { start, last, module };
        let cover = Cover::new(vec![
            part(0x20_0000, Some(0x20_ffff), 0),
            part(0x20_8000, Some(0x20_8fff), 1),
            part(0x20_8100, Some(0x20_8100), 2),
        ]);
        for (address, module) in [
            (0x20_0000, Some(0)),
            (0x20_8000, Some(1)),
            (0x20_8100, Some(2)),
            (0x20_8101, Some(1)),
            (0x20_9000, Some(0)),
            (0x20_ffff, Some(0)),
            (0x21_0000, None),
        ] {
            assert_eq!(cover.find(address), module, "{address:#x}");
        }
    }

    #[test]
    fn every_overlap() {
        let mut state = 7_u64;
        let mut random = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        for _ in 0..2000 {
            let count = random(7);
            let mapped: Vec<Mapped> = (0..count as usize)
                .map(|module| {
                    let start = random(20);
                    let last = Some(start + random(12)).filter(|_| random(4) > 0);
                    Mapped { start, last, module }
                })
                .collect();
            let cover = Cover::new(mapped.clone());
            for address in (0..36).chain([u64::MAX]) {
                assert_eq!(cover.find(address), slow(&mapped, address), "{address} {mapped:?}");
            }
        }
        let last = Cover::new(vec![Mapped { start: u64::MAX, last: Some(u64::MAX), module: 3 }]);
        assert_eq!((last.find(u64::MAX), last.find(0)), (Some(3), None));
    }
}

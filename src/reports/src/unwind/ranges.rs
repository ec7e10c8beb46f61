//! The ranges of modules as `minidump-unwind` takes them.

use foldsym_symbolize::{Mapping, Modules};
use minidump::{MinidumpModule, MinidumpModuleList, Module as _};

/// Bytes of a module's first range, and of each further one: a module of a minidump has 32 bits for its size.
const MAX_RANGE: u64 = u32::MAX as u64;
/// Most further ranges of all modules together. A warning names the first module that would have more.
pub(super) const MAX_MORE: usize = 1 << 10;

/// The ranges of modules, and the index of the first module that has too few.
pub(super) fn ranges(modules: &Modules) -> (MinidumpModuleList, Option<usize>) {
    let (mut list, mut left, mut too_large) = (Vec::new(), MAX_MORE, None);
    for (index, module) in modules.iter().enumerate() {
        let Mapping::LoadAddress { address, size } = module.mapping else { continue };
        let size = size.unwrap_or(0);
        let range = |from: u64| {
            let size = u32::try_from(size - from).unwrap_or(u32::MAX);
            MinidumpModule::new(address.saturating_add(from), size, "")
        };
        list.push(range(0));
        let mut end = MAX_RANGE;
        while end < size && left > 0 {
            list.push(range(end));
            (end, left) = (end.saturating_add(MAX_RANGE), left - 1);
        }
        if end < size {
            too_large = too_large.or(Some(index));
        }
    }
    (MinidumpModuleList::from_modules(list), too_large)
}

/// The bits that addresses of a process on AArch64 have. A signed pointer has its pointer authentication code above them. Their number is
/// a choice of the system, which reports do not have: these are the bits that `minidump-unwind` takes, from the modules' addresses.
pub(super) fn address_bits(list: &MinidumpModuleList) -> u64 {
    let end = list.by_addr().next_back().map_or(0, |last| last.base_address().saturating_add(last.size()));
    let most = end.max((1 << 47) - 1);
    most.checked_next_power_of_two().map_or(u64::MAX, |bit| bit - 1)
}

//! The data of a report about its process, as walks read it.

use foldsym_symbolize::Modules;
use minidump::Endian;
use minidump::system_info::{Cpu, Os};

/// A range of the process's memory: its start, and its bytes.
pub(crate) type Range<'m> = (u64, &'m [u8]);

/// The report's data about the process.
pub(crate) struct Process<'w> {
    pub(crate) modules: &'w Modules,
    pub(crate) os: Os,
    pub(crate) cpu: Cpu,
    pub(crate) endian: Endian,
    /// Whether the memory at an address is executable; `None` if the report does not say.
    pub(crate) executable: &'w (dyn Fn(u64) -> Option<bool> + Sync),
    /// The range of memory that contains an address, if the report has it.
    pub(crate) memory: &'w (dyn Fn(u64) -> Option<Range<'w>> + Sync),
    /// The first range of memory above an address that the report has, if it may be the stack that a pointer there belongs to.
    pub(crate) above: &'w (dyn Fn(u64) -> Option<Range<'w>> + Sync),
}

impl Process<'_> {
    /// A word of the processor's size, anywhere in the process.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let (base, bytes) = (self.memory)(address)?;
        let bytes = bytes.get(usize::try_from(address.checked_sub(base)?).ok()?..)?;
        let is_big = matches!(self.endian, Endian::Big);
        if matches!(self.cpu, Cpu::X86) {
            let word = *bytes.first_chunk()?;
            return Some(u64::from(if is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }));
        }
        let word = *bytes.first_chunk()?;
        Some(if is_big { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) })
    }
}

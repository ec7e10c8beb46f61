//! Turns addresses of the crashed process into bytes, without a fault where nothing is mapped.

use core::sync::atomic::{AtomicBool, Ordering};

use foldsym_unwind::Process;

use crate::sys::{self, MemoryRead};

/// Bytes that are read at once: a walk reads neighbouring words. A block never spans two pages.
const BLOCK: usize = 256;

/// The system forbids process_vm_readv (a sandbox, an emulator).
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Finds how memory can be read here.
pub(crate) fn prepare() {
    let word = 1u64;
    let mut bytes = [0u8; 8];
    let works = sys::read_memory(sys::thread(), (&raw const word) as u64, &mut bytes);
    FORBIDDEN.store(works != MemoryRead::Whole, Ordering::Relaxed);
}

/// Memory of this process, with the block that was read last.
pub(crate) struct Memory {
    thread: i32,
    /// Where the block is; no block is at 1.
    at: u64,
    block: [u8; BLOCK],
}

impl Memory {
    pub(crate) const fn new() -> Self {
        Memory { thread: 0, at: 1, block: [0; BLOCK] }
    }

    /// Forgets what was read.
    pub(crate) fn begin(&mut self) {
        self.thread = sys::thread();
        self.at = 1;
    }

    fn fetch(&mut self, at: u64) -> Option<()> {
        if self.at == at {
            return Some(());
        }
        // For the system call that asks whether memory can be read, address 0 means that no memory is given.
        if at == 0 {
            return None;
        }
        self.at = 1;
        let read = match FORBIDDEN.load(Ordering::Relaxed) {
            true => MemoryRead::Forbidden,
            false => sys::read_memory(self.thread, at, &mut self.block),
        };
        if read == MemoryRead::Unmapped {
            return None;
        }
        if read == MemoryRead::Forbidden {
            // Also where the program entered a sandbox after the installation.
            FORBIDDEN.store(true, Ordering::Relaxed);
            sys::is_readable(at).then_some(())?;
            let mut from = at;
            for byte in &mut self.block {
                // SAFETY: the kernel has just read from this page. If another thread unmaps it now, the handler is entered again, and goes
                // on with the next part of the report.
                *byte = unsafe { (from as *const u8).read_volatile() };
                from = from.wrapping_add(1);
            }
        }
        self.at = at;
        Some(())
    }

    /// Reads any number of bytes.
    pub(crate) fn copy(&mut self, mut address: u64, bytes: &mut [u8]) -> Option<()> {
        for byte in bytes {
            let offset = (address & (BLOCK as u64).wrapping_sub(1)) as usize;
            self.fetch(address.wrapping_sub(offset as u64))?;
            *byte = self.block.get(offset).copied()?;
            address = address.wrapping_add(1);
        }
        Some(())
    }

    /// Reads a word.
    pub(crate) fn word(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.copy(address, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }
}

impl Process for Memory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.copy(address, bytes)
    }

    fn strip(&self, address: u64) -> u64 {
        // Pointer authentication of AArch64 is above the 48 bits of an address; x86-64's addresses of programs have 47.
        if cfg!(target_arch = "aarch64") { address & 0x0000_ffff_ffff_ffff } else { address }
    }
}

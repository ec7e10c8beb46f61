//! Counts the turns of the loops whose number the bytes of a file decide.
//!
//! With the feature `steps`, tests and fuzzing hold each question to the bound that its documentation states. Without
//! it there is no counter and no code.

#[cfg(feature = "steps")]
mod counter {
    use core::sync::atomic::{AtomicU64, Ordering};

    /// One for the process: who asks it runs one thread.
    static STEPS: AtomicU64 = AtomicU64::new(0);

    /// Counts one turn.
    pub fn step() {
        // Relaxed: the count orders no other memory.
        STEPS.fetch_add(1, Ordering::Relaxed);
    }

    /// The turns since the last call, by all threads.
    pub fn take() -> u64 {
        STEPS.swap(0, Ordering::Relaxed)
    }
}

#[cfg(feature = "steps")]
pub use counter::{step, take};

/// Counts one turn, where the feature `steps` asks for it.
#[cfg(not(feature = "steps"))]
#[inline(always)]
pub const fn step() {}

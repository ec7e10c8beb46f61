//! The memory of all requests together: bodies, work and answers. This is the only place that counts it.
//!
//! What a request needs is taken before it is used: the bytes of its body as they come, then the work on them, then its answer as it grows. What
//! does not fit waits for a while for others to end, and is refused then. Open files and threads have a share of their own ([`Shares`]).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// The semaphore counts memory in units of this many bytes.
const UNIT: usize = 1 << 10;
/// Bytes of memory that reading a report takes for each byte of it, and for any report: threads are read one after another, so that this
/// is the list of a report's modules and samples, and one stack.
const WORK_A_BYTE: usize = 24;
const LEAST_WORK: usize = 4 << 20;
/// The same for a profile, which is compressed, and for a minidump or core, whose stacks are walked.
const HEAVY_WORK: usize = 128 << 20;

/// Bytes of memory that the work on a body may take.
fn work_on(body: &[u8]) -> usize {
    let is_heavy =
        [&b"\x1f\x8b"[..], b"MDMP", b"PMDM", b"\x7fELF"].iter().any(|magic| body.starts_with(magic));
    let least = if is_heavy { HEAVY_WORK } else { LEAST_WORK };
    body.len().saturating_mul(WORK_A_BYTE).saturating_add(least)
}

/// How the memory of a server is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// For bodies, work and answers.
    pub(crate) requests: usize,
    /// For symbol files that are open.
    pub(crate) files: u64,
    /// For what one thread keeps from request to request.
    pub(crate) thread: u64,
}

impl Shares {
    pub(crate) fn of(memory: usize, threads: usize) -> Self {
        let (files, kept) = (memory / 4, memory / 8);
        let thread = kept / threads.max(1);
        Self { requests: memory - files - kept, files: files as u64, thread: thread as u64 }
    }
}

/// The memory for requests.
pub(crate) struct Memory {
    free: Arc<Semaphore>,
    units: usize,
    wait: Duration,
}

/// What one request has of it, given back when it is dropped.
pub(crate) struct Held {
    permit: Option<OwnedSemaphorePermit>,
    free: Arc<Semaphore>,
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

impl Memory {
    /// Memory of so many bytes, for which a request waits so long.
    pub(crate) fn new(bytes: usize, wait: Duration) -> Self {
        // `acquire_many` takes 32 bits: 4 TiB.
        let units = units(bytes).clamp(1, (u32::MAX as usize).min(Semaphore::MAX_PERMITS));
        Self { free: Arc::new(Semaphore::new(units)), units, wait }
    }

    /// The part of a request that has nothing yet.
    pub(crate) fn nothing(&self) -> Held {
        Held { permit: None, free: self.free.clone() }
    }

    /// Waits until a part has so many bytes. False if that takes too long, or there will never be so many.
    pub(crate) async fn grow(&self, held: &mut Held, bytes: usize) -> bool {
        let more = units(bytes).saturating_sub(held.units());
        if more == 0 {
            return true;
        }
        if units(bytes) > self.units {
            return false;
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let taken = self.free.clone().acquire_many_owned(more);
        match tokio::time::timeout(self.wait, taken).await {
            Ok(Ok(permit)) => {
                held.add(permit);
                true
            }
            _ => false,
        }
    }

    /// Waits for the memory that the work on a body takes: at most half of what the body leaves, since its answer needs some too.
    pub(crate) async fn work(&self, held: &Held, body: &[u8]) -> Option<Held> {
        let wanted = work_on(body);
        let most = self.units.saturating_sub(held.units()).saturating_mul(UNIT) / 2;
        let mut held = self.nothing();
        self.grow(&mut held, wanted.min(most)).await.then_some(held)
    }
}

impl Held {
    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        self.units() * UNIT
    }

    fn units(&self) -> usize {
        self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }

    fn add(&mut self, permit: OwnedSemaphorePermit) {
        match &mut self.permit {
            Some(held) => held.merge(permit),
            None => self.permit = Some(permit),
        }
    }

    /// Has so many bytes from now on. False if there are not so many: the part stays as it was.
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        let (now, then) = (self.units(), units(bytes));
        if then <= now {
            // What is split off is given back.
            drop(self.permit.as_mut().and_then(|permit| permit.split(now - then)));
            return true;
        }
        let more = u32::try_from(then - now).unwrap_or(u32::MAX);
        match self.free.clone().try_acquire_many_owned(more) {
            Ok(permit) => {
                self.add(permit);
                true
            }
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(memory: &Memory) -> usize {
        memory.free.available_permits() * UNIT
    }

    #[tokio::test]
    async fn what_does_not_fit_waits_and_is_refused() {
        let memory = Memory::new(100 * UNIT, Duration::from_millis(20));
        let mut one = memory.nothing();
        assert!(memory.grow(&mut one, 60 * UNIT).await && one.resize(70 * UNIT));
        let mut other = memory.nothing();
        assert!(!memory.grow(&mut other, 40 * UNIT).await && !other.resize(31 * UNIT));
        assert_eq!(free(&memory), 30 * UNIT);
        assert!(one.resize(10 * UNIT) && memory.grow(&mut other, 40 * UNIT).await);
        assert_eq!(free(&memory), 50 * UNIT);
        assert!(!memory.grow(&mut other, 101 * UNIT).await, "there will never be so much");
        // Work that needs more than all gets half of what the body leaves.
        drop(other);
        assert!(memory.work(&one, &[0; 1 << 17]).await.is_some_and(|work| work.units() == 45));
        drop(one);
        assert_eq!(free(&memory), 100 * UNIT);
    }

    #[test]
    fn shares_are_no_more_than_the_whole() {
        for (memory, threads) in [(1 << 30, 4), (1 << 20, 1), (100, 64), (0, 0)] {
            let Shares { requests, files, thread } = Shares::of(memory, threads);
            assert!(requests + files as usize + thread as usize * threads <= memory);
        }
    }
}

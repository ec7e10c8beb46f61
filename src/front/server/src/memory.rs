//! The memory of all requests together: bodies, work and answers. This is the only place that counts it.
//!
//! What a request needs is taken before it is used: the bytes of its body as they come, then the work on them, then its answer as it grows. What
//! does not fit waits for a while for others to end, and is refused then. Open files and threads have a share of their own ([`Shares`]).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::pool::Length;

/// Memory is counted in units of this many bytes.
const UNIT: usize = 1 << 10;
/// How often a thread that waits for memory looks whether its client still waits.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of memory that reading a report takes for each byte of it, and for any report: threads are read one after another, so that this
/// is the list of a report's modules and samples, and one stack.
const WORK_A_BYTE: usize = 24;
const LEAST_WORK: usize = 4 << 20;
/// The same for a profile, and for a minidump or core, whose stacks are walked.
const HEAVY_WORK: usize = 128 << 20;
/// A profile that is not compressed takes more for each byte.
const PROFILE_A_BYTE: usize = 32;

/// Bytes of memory that the work on a body may take.
fn work_on(body: &[u8]) -> usize {
    let is_heavy =
        [&b"\x1f\x8b"[..], b"MDMP", b"PMDM", b"\x7fELF"].iter().any(|magic| body.starts_with(magic));
    let is_profile = foldsym_reports::begins_as_profile(body);
    let least = if is_heavy || is_profile { HEAVY_WORK } else { LEAST_WORK };
    let a_byte = if is_profile { PROFILE_A_BYTE } else { WORK_A_BYTE };
    body.len().saturating_mul(a_byte).saturating_add(least)
}

/// Bytes of work that a small request may take: those of 64 KiB of text.
const SHORT_WORK: usize = LEAST_WORK + (64 << 10) * WORK_A_BYTE;

/// Bytes of an answer that a thread for short requests writes.
pub(crate) const SHORT_ANSWER: usize = 1 << 20;

/// Whether the work on a body may be long.
pub(crate) fn length_of_work(body: &[u8]) -> Length {
    if work_on(body) <= SHORT_WORK { Length::Short } else { Length::Long }
}

/// How the memory of a server is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// For bodies, work and answers.
    pub(crate) requests: usize,
    /// For the conversion of a program.
    pub(crate) conversion: usize,
    /// For symbol files that are open.
    pub(crate) files: u64,
    /// For the unwind rules of programs, which walks of stacks keep.
    pub(crate) programs: u64,
    /// For what one thread keeps from request to request.
    pub(crate) thread: u64,
}

impl Shares {
    pub(crate) fn of(memory: usize, threads: usize, converts: bool) -> Self {
        let (opened, kept) = (memory / 4, memory / 8);
        let conversion = if converts { memory / 4 } else { 0 };
        let (programs, thread) = (opened / 4, kept / threads.max(1));
        let files = opened - programs;
        Self {
            requests: memory - opened - kept - conversion,
            conversion,
            files: files as u64,
            programs: programs as u64,
            thread: thread as u64,
        }
    }
}

/// The memory for requests.
///
/// Who waits takes nothing meanwhile, and nobody waits in line: a small request goes on although a large one waits.
#[derive(Debug)]
pub(crate) struct Memory {
    free: Arc<Free>,
    units: usize,
    wait: Duration,
}

/// The units that nobody has.
#[derive(Debug)]
struct Free {
    units: Mutex<usize>,
    /// Wake threads and futures that wait for units.
    for_threads: Condvar,
    for_futures: Notify,
}

impl Free {
    fn lock(&self) -> MutexGuard<'_, usize> {
        // No panic leaves the number half written.
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_take(&self, units: usize) -> bool {
        let mut free = self.lock();
        let rest = free.checked_sub(units);
        *free = rest.unwrap_or(*free);
        rest.is_some()
    }

    fn give_back(&self, units: usize) {
        if units > 0 {
            *self.lock() += units;
            self.for_threads.notify_all();
            self.for_futures.notify_waiters();
        }
    }
}

/// What one request, or a conversion, has of it, given back when it is dropped.
pub(crate) struct Held {
    units: usize,
    free: Arc<Free>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.free.give_back(self.units);
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

impl Memory {
    /// Memory of so many bytes, for which a request waits so long.
    pub(crate) fn new(bytes: usize, wait: Duration) -> Self {
        let units = units(bytes).max(1);
        let free = Free { units: Mutex::new(units), for_threads: Condvar::new(), for_futures: Notify::new() };
        Self { free: Arc::new(free), units, wait }
    }

    /// The part of a request that has nothing yet.
    pub(crate) fn nothing(&self) -> Held {
        Held { units: 0, free: self.free.clone() }
    }

    /// How many bytes all requests may have together.
    pub(crate) fn bytes(&self) -> usize {
        self.units.saturating_mul(UNIT)
    }

    /// How long a request waits.
    pub(crate) fn wait(&self) -> Duration {
        self.wait
    }

    /// Waits until a part has so many bytes. False if that takes too long, or there will never be so many.
    pub(crate) async fn grow(&self, held: &mut Held, bytes: usize) -> bool {
        if units(bytes) <= held.units {
            return true;
        }
        if units(bytes) > self.units {
            return false;
        }
        let end = Instant::now() + self.wait;
        loop {
            // Made before the try, so that it sees what is given back after it.
            let freed = self.free.for_futures.notified();
            if held.resize(bytes) {
                return true;
            }
            if tokio::time::timeout_at(end.into(), freed).await.is_err() {
                return held.resize(bytes);
            }
        }
    }

    /// Waits for the memory that the work on a body takes: at most half of what the body leaves, since its answer needs some too.
    pub(crate) async fn work(&self, held: &Held, body: &[u8]) -> Option<Held> {
        let wanted = work_on(body);
        let most = self.units.saturating_sub(held.units).saturating_mul(UNIT) / 2;
        let mut held = self.nothing();
        self.grow(&mut held, wanted.min(most)).await.then_some(held)
    }
}

impl Held {
    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        self.units * UNIT
    }

    /// Has so many bytes from now on. False if there are not so many: the part stays as it was.
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        let then = units(bytes);
        match then.checked_sub(self.units) {
            Some(more) if !self.free.try_take(more) => return false,
            Some(_) => {}
            None => self.free.give_back(self.units - then),
        }
        self.units = then;
        true
    }

    /// As [`Held::resize`], but a thread waits here for what is not free, at most `patience`, which is less afterwards, and while somebody
    /// wants it to.
    pub(crate) fn wait_for(
        &mut self,
        bytes: usize,
        patience: &mut Duration,
        is_wanted: &dyn Fn() -> bool,
    ) -> bool {
        let (start, whole) = (Instant::now(), *patience);
        loop {
            if self.resize(bytes) {
                return true;
            }
            *patience = whole.saturating_sub(start.elapsed());
            if patience.is_zero() || !is_wanted() {
                return false;
            }
            let (free, more) = (self.free.lock(), units(bytes).saturating_sub(self.units));
            let wait = (*patience).min(LOOK);
            // A panic of another thread is no reason to stop, and the loop looks at what is free itself.
            drop(self.free.for_threads.wait_timeout_while(free, wait, |free| *free < more));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(memory: &Memory) -> usize {
        *memory.free.lock() * UNIT
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
        assert!(memory.work(&one, &[0; 1 << 17]).await.is_some_and(|work| work.units == 45));
        drop(one);
        assert_eq!(free(&memory), 100 * UNIT);
    }

    #[tokio::test]
    async fn who_waits_takes_nothing() {
        let memory = Memory::new(100 * UNIT, Duration::from_secs(10));
        let (mut running, mut large, mut small) = (memory.nothing(), memory.nothing(), memory.nothing());
        assert!(running.resize(60 * UNIT));
        let goes_on = async {
            tokio::task::yield_now().await;
            assert!(running.resize(70 * UNIT), "an answer that runs grows meanwhile");
            assert!(
                memory.grow(&mut small, 20 * UNIT).await,
                "a small request does not wait behind a large one"
            );
            drop((running, small));
        };
        let (is_there, ()) = tokio::join!(memory.grow(&mut large, 90 * UNIT), goes_on);
        assert!(is_there && free(&memory) == 10 * UNIT);
    }

    #[test]
    fn a_thread_waits_for_memory_for_a_while() {
        let memory = Memory::new(100 * UNIT, Duration::ZERO);
        let (mut one, mut other) = (memory.nothing(), memory.nothing());
        assert!(one.resize(90 * UNIT) && other.resize(10 * UNIT));
        let mut patience = Duration::from_millis(20);
        assert!(!other.wait_for(20 * UNIT, &mut patience, &|| true) && patience.is_zero());
        let mut patience = Duration::from_secs(60);
        assert!(!other.wait_for(20 * UNIT, &mut patience, &|| false), "nobody wants it");
        let later = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            drop(one);
        });
        assert!(other.wait_for(20 * UNIT, &mut patience, &|| true) && !patience.is_zero());
        assert!(later.join().is_ok() && free(&memory) == 80 * UNIT);
    }

    #[test]
    fn a_small_text_is_short_work() {
        assert_eq!(length_of_work(b"{}"), Length::Short);
        assert_eq!(length_of_work(&[b'{'; 64 << 10]), Length::Short);
        assert_eq!(length_of_work(&[b'{'; (64 << 10) + 1]), Length::Long);
        // A few bytes may be a profile of millions of frames, or a walk. This one has the types of its values, and no more.
        let profile = [0x0a, 0x04, 0x08, 0x01, 0x10, 0x02];
        let heap = b"heap profile:      1:       10 [     2:       20] @ heapprofile\n";
        for begin in [&b"\x1f\x8b"[..], b"MDMP", b"\x7fELF", &profile, heap] {
            assert_eq!(length_of_work(begin), Length::Long);
        }
        // Text may begin with the bytes of a profile's first field.
        for text in ["\n0  app 0x0000000000001000 f + 1\n", "Hello", "Zeit", "heap of lines", "\0"] {
            assert_eq!(length_of_work(text.as_bytes()), Length::Short, "{text:?}");
            assert_eq!(work_on(text.as_bytes()), LEAST_WORK + text.len() * WORK_A_BYTE);
        }
    }

    #[test]
    fn shares_are_no_more_than_the_whole() {
        for (memory, threads) in [(1 << 30, 4), (1 << 20, 1), (100, 64), (0, 0)] {
            for converts in [false, true] {
                let Shares { requests, conversion, files, programs, thread } =
                    Shares::of(memory, threads, converts);
                let all = requests + conversion + (files + programs) as usize + thread as usize * threads;
                assert!(all <= memory);
            }
        }
    }
}

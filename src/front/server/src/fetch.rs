//! Fetches files from remote stores and debuginfod servers in threads of its own.
//!
//! The threads that answer wait for no network: an answer that lacks a file is given up, its files are fetched here, and it is made again. So
//! a silent store takes these threads alone, and requests about local modules go on being answered.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use foldsym_symbolize::{Symbolizer, Unfetched};
use tokio::sync::watch;

/// Modules that wait for a thread; further ones are not fetched.
const QUEUE: usize = 1 << 10;

/// The modules that are fetched or wait for it, each with a channel that closes when it is done.
type Fetching = Mutex<HashMap<Unfetched, watch::Receiver<()>>>;

/// What is left of the modules and the time that one request has.
pub(crate) struct Asking {
    left: usize,
    until: Instant,
}

/// The threads. They end when it is dropped.
pub(crate) struct Fetcher {
    queue: mpsc::SyncSender<(Unfetched, watch::Sender<()>)>,
    running: Arc<Fetching>,
    /// Modules that one request may have fetched.
    most: usize,
    /// How long a request waits for them.
    wait: Duration,
}

fn lock(running: &Fetching) -> MutexGuard<'_, HashMap<Unfetched, watch::Receiver<()>>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fetcher {
    pub(crate) fn start(
        symbolizer: &Arc<Symbolizer>,
        threads: usize,
        most: usize,
        wait: Duration,
    ) -> io::Result<Self> {
        let (queue, receiver) = mpsc::sync_channel::<(Unfetched, watch::Sender<()>)>(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        let running = Arc::<Fetching>::default();
        for number in 0..threads.max(1) {
            let (symbolizer, receiver, running) = (symbolizer.clone(), receiver.clone(), running.clone());
            let work = move || {
                let next = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok((module, done)) = next() {
                    // The panic was already printed. Whoever waits sees that nothing was found.
                    let _ = catch_unwind(AssertUnwindSafe(|| symbolizer.fetch(&module)));
                    lock(&running).remove(&module);
                    drop(done);
                }
            };
            // A fetched program is converted.
            std::thread::Builder::new().name(format!("fetch-{number}")).stack_size(8 << 20).spawn(work)?;
        }
        Ok(Self { queue, running, most, wait })
    }

    /// What a request may have fetched, in all its rounds.
    pub(crate) fn asking(&self) -> Asking {
        Asking { left: self.most, until: Instant::now() + self.wait }
    }

    /// Fetches the first of some modules, and waits until those are there that the answer needs, or for a while. What one request asked
    /// for is fetched although its client does not wait any more: the next one needs it too. False if none came that the answer needs.
    pub(crate) async fn fetch(&self, mut modules: Vec<Unfetched>, asking: &mut Asking) -> bool {
        modules.sort_by_key(|module| !module.is_needed());
        modules.truncate(asking.left);
        asking.left -= modules.len();
        let mut waiting = Vec::new();
        for module in modules {
            let is_needed = module.is_needed();
            waiting.extend(self.begin(module).filter(|_| is_needed));
        }
        let mut has_come = false;
        for mut done in waiting {
            // The sender never sends: the channel closes when the module was fetched. A channel that closed in time is also seen after the time.
            match tokio::time::timeout_at(asking.until.into(), done.changed()).await {
                Ok(_) => has_come = true,
                // The answer is made once more with what came. What came later is answered as not fetched.
                Err(_) => asking.left = 0,
            }
        }
        has_come
    }

    /// Has a module fetched, unless it is fetched already or too many are.
    fn begin(&self, module: Unfetched) -> Option<watch::Receiver<()>> {
        let mut running = lock(&self.running);
        if let Some(done) = running.get(&module) {
            return Some(done.clone());
        }
        let (sender, done) = watch::channel(());
        self.queue.try_send((module.clone(), sender)).ok()?;
        running.insert(module, done.clone());
        Some(done)
    }
}

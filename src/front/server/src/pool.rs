//! The threads that answer requests. Each has its own worker of the engine, which keeps names from request to request. All of them share
//! the unwind data that was read to walk stacks.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use foldsym_reports::{Kept, Reader};
use foldsym_symbolize::{Symbolizer, Worker};
use tokio::sync::oneshot;

/// The work of a thread for a request.
type Task = Box<dyn FnOnce(&mut Answering<'_>) + Send>;

/// Bytes of JSON of earlier answers that a thread keeps.
const MAX_TEXTS: usize = 16 << 20;

/// What a thread answers with.
pub(crate) struct Answering<'s> {
    /// It fetches nothing: the modules that it lacks are to be taken from it.
    pub(crate) symbolizer: &'s Symbolizer,
    pub(crate) reader: Reader<'s>,
    pub(crate) worker: Worker<'s>,
}

/// The threads. They end when it is dropped.
pub(crate) struct Pool {
    tasks: mpsc::Sender<Task>,
}

/// Asks whether the client still waits.
pub(crate) struct Waiting<T>(oneshot::Sender<T>);

impl<T> Waiting<T> {
    pub(crate) fn is_there(&self) -> bool {
        !self.0.is_closed()
    }
}

impl Pool {
    /// Starts the threads, each of which keeps at most so many bytes from request to request.
    pub(crate) fn start(symbolizer: &Arc<Symbolizer>, threads: usize, most: u64) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<Task>();
        let receiver = Arc::new(Mutex::new(receiver));
        let kept = Arc::<Kept>::default();
        for number in 0..threads {
            let (symbolizer, receiver, kept) = (symbolizer.clone(), receiver.clone(), kept.clone());
            let work = move || {
                // A thread holds the lock while it waits: one thread waits for a task, the others for the lock.
                let next = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let symbolizer = symbolizer.without_fetching();
                let texts = usize::try_from(most / 2).unwrap_or(usize::MAX).min(MAX_TEXTS);
                let worker = || {
                    let mut worker = symbolizer.worker();
                    worker.keep_texts(texts);
                    worker
                };
                let (reader, first) = (Reader::sharing(&symbolizer, kept), worker());
                let mut answering = Answering { symbolizer: &symbolizer, reader, worker: first };
                while let Ok(task) = next() {
                    // The panic was already printed. The worker's cache may be inconsistent, so the worker is replaced.
                    if catch_unwind(AssertUnwindSafe(|| task(&mut answering))).is_err() {
                        answering.worker = worker();
                        // The next request must not fetch the modules of this one.
                        let _ = symbolizer.take_unfetched();
                    }
                }
            };
            // Demangling and reading need as much stack as a command has.
            std::thread::Builder::new().name(format!("answer-{number}")).stack_size(8 << 20).spawn(work)?;
        }
        Ok(Self { tasks: sender })
    }

    /// Runs a task on the next free thread. `None` if it panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Answering<'_>, &Waiting<T>) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        let waiting = Waiting(sender);
        let task: Task = Box::new(move |answering| {
            // The client may have gone while the task waited for a thread.
            if waiting.is_there() {
                let result = task(answering, &waiting);
                // Sending fails if the client has gone meanwhile.
                let _ = waiting.0.send(result);
            }
        });
        self.tasks.send(task).ok()?;
        receiver.await.ok()
    }
}

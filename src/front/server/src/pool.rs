//! The threads that answer requests. Each has its own worker of the engine, which keeps names from request to request. All of them share
//! the unwind data that was read to walk stacks.
//!
//! A long task keeps its thread until it is done, or while it waits for memory. So there is one thread more than the caller asks for, which
//! runs short tasks alone: those never wait behind long ones only. The other threads run tasks in the order in which they came.
//!
//! How long a task takes is not known before. So that thread does not open files, wait for memory, or write long answers: a task that needs
//! one of these is given up there, and runs once more as a long one.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use foldsym_reports::{Kept, Reader};
use foldsym_symbolize::{Symbolizer, Worker};
use tokio::sync::oneshot;

/// The work of a thread for a request.
type Task = Box<dyn FnOnce(&mut Answering<'_>) + Send>;

/// How long a task may take, by what is known of it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// A small request.
    Short,
    /// Any other.
    Long,
}

/// Threads that run short tasks alone.
pub(crate) const FOR_SHORT: usize = 1;

/// The tasks that wait for a thread, the first one first.
#[derive(Default)]
struct Queue {
    tasks: Mutex<Tasks>,
    changed: Condvar,
}

#[derive(Default)]
struct Tasks {
    waiting: VecDeque<(Length, Task)>,
    is_closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Tasks> {
        // No panic leaves the list half changed.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Tasks)) {
        change(&mut self.lock());
        // A thread that the task is not for may wake up first.
        self.changed.notify_all();
    }

    /// Waits for the next task, or the next short one; `None` if there is none and none will come.
    fn next(&self, is_for_short: bool) -> Option<Task> {
        let mut tasks = self.lock();
        loop {
            let is_mine = |(length, _): &(Length, Task)| !is_for_short || *length == Length::Short;
            if let Some(at) = tasks.waiting.iter().position(is_mine) {
                return tasks.waiting.remove(at).map(|(_, task)| task);
            }
            if tasks.is_closed {
                return None;
            }
            tasks = self.changed.wait(tasks).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Bytes of JSON of earlier answers that a thread keeps.
const MAX_TEXTS: usize = 16 << 20;

/// What a thread answers with.
pub(crate) struct Answering<'s> {
    /// It fetches nothing: the modules that it lacks are to be taken from it.
    pub(crate) symbolizer: &'s Symbolizer,
    pub(crate) reader: Reader<'s>,
    pub(crate) worker: Worker<'s>,
    /// The thread is for short tasks alone: its symbolizer opens nothing either.
    pub(crate) is_for_short: bool,
}

/// The threads. They end when it is dropped.
pub(crate) struct Pool {
    queue: Arc<Queue>,
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.change(|tasks| tasks.is_closed = true);
    }
}

/// Asks whether the client still waits.
pub(crate) struct Waiting<T>(oneshot::Sender<T>);

impl<T> Waiting<T> {
    pub(crate) fn is_there(&self) -> bool {
        !self.0.is_closed()
    }
}

impl Pool {
    /// Starts so many threads and those for short tasks. Each keeps at most so many bytes from request to request.
    pub(crate) fn start(
        symbolizer: &Arc<Symbolizer>,
        threads: usize,
        most: u64,
        kept: Kept,
    ) -> io::Result<Self> {
        let queue = Arc::<Queue>::default();
        // Ends the threads that were started, if the system refuses one.
        let pool = Self { queue: queue.clone() };
        let kept = Arc::new(kept);
        for number in 0..threads + FOR_SHORT {
            let (symbolizer, queue, kept) = (symbolizer.clone(), queue.clone(), kept.clone());
            let work = move || {
                let is_for_short = number >= threads;
                let symbolizer = match is_for_short {
                    true => symbolizer.without_opening(),
                    false => symbolizer.without_fetching(),
                };
                let texts = usize::try_from(most / 2).unwrap_or(usize::MAX).min(MAX_TEXTS);
                let worker = || {
                    let mut worker = symbolizer.worker();
                    worker.keep_texts(texts);
                    worker
                };
                let (reader, first) = (Reader::sharing(&symbolizer, kept), worker());
                let mut answering =
                    Answering { symbolizer: &symbolizer, reader, worker: first, is_for_short };
                while let Some(task) = queue.next(is_for_short) {
                    // The panic was already printed. The worker's cache may be inconsistent, so the worker is replaced.
                    if catch_unwind(AssertUnwindSafe(|| task(&mut answering))).is_err() {
                        answering.worker = worker();
                        // The next request must not fetch the modules of this one.
                        let _ = (symbolizer.take_unfetched(), symbolizer.take_left());
                    }
                }
            };
            // Demangling and reading need as much stack as a command has.
            std::thread::Builder::new().name(format!("answer-{number}")).stack_size(8 << 20).spawn(work)?;
        }
        Ok(pool)
    }

    /// Runs a task on the next free thread that takes it. `None` if it panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        length: Length,
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
        self.queue.change(|tasks| tasks.waiting.push_back((length, task)));
        receiver.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// Long tasks that do not end hold their threads. Short ones that came later are run all the same.
    #[tokio::test]
    async fn short_tasks_do_not_wait_for_long_ones() {
        for threads in [1, 2] {
            let symbolizer = Arc::new(Symbolizer::builder().build().unwrap());
            let pool = Arc::new(Pool::start(&symbolizer, threads, 1 << 20, Kept::default()).unwrap());
            let (started, has_started) = mpsc::channel();
            let (release, released) = mpsc::channel::<()>();
            let released = Arc::new(Mutex::new(released));
            // More than there are threads.
            let long: Vec<_> = (0..threads + 2)
                .map(|_| {
                    let (pool, started, released) = (pool.clone(), started.clone(), released.clone());
                    tokio::spawn(async move {
                        let task = move |_: &mut Answering<'_>, _: &Waiting<()>| {
                            let _ = started.send(());
                            let _ = released.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        };
                        pool.run(Length::Long, task).await
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            for _ in 0..threads {
                has_started.recv_timeout(Duration::from_secs(60)).unwrap();
            }
            let mut answered = 0;
            for _ in 0..20 {
                let short = pool.run(Length::Short, |_, _| ());
                // Only a failure takes this long.
                answered += usize::from(tokio::time::timeout(Duration::from_secs(30), short).await.is_ok());
            }
            assert_eq!(answered, 20);
            assert!(has_started.try_recv().is_err(), "no long task took the place of short ones");
            drop(release);
            for task in long {
                assert_eq!(task.await.unwrap(), Some(()));
            }
        }
    }
}

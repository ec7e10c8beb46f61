//! The methods of [`Symbolizer`] that answer stacks, one by one or many with several threads.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use crate::frame::Frame;
use crate::stack::Stack;
use crate::symbolizer::Symbolizer;
use crate::worker::Worker;

/// The number of stacks that a thread takes from a batch at a time.
const PART: usize = 64;

impl Symbolizer {
    /// Answers one stack: returns an answer for each of its frames, in order. Finds and opens files as they are needed.
    ///
    /// For many stacks, make a [`Worker`] for each thread or call [`Symbolizer::symbolize_batch`]: both keep the names of files.
    pub fn symbolize(&self, stack: &Stack) -> Vec<Frame> {
        let mut frames = Vec::new();
        self.worker().symbolize(stack, &mut frames);
        frames
    }

    /// Answers many stacks, in order, with [`Builder::threads`](crate::Builder::threads) threads. The answers do not depend on the number of
    /// threads.
    pub fn symbolize_batch(&self, stacks: &[Stack]) -> Vec<Vec<Frame>> {
        let mut answers = vec![Vec::new(); stacks.len()];
        let available = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = if self.threads == 0 { available() } else { self.threads };
        // Each thread makes a worker, so there are no more threads than parts.
        let threads = threads.min(stacks.len().div_ceil(PART));
        let parts = Mutex::new(stacks.chunks(PART).zip(answers.chunks_mut(PART)));
        let work = || {
            let mut worker = self.worker();
            loop {
                // The lock is released before the part is answered.
                let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((stacks, answers)) = part else { break };
                for (stack, frames) in stacks.iter().zip(answers) {
                    worker.symbolize(stack, frames);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        answers
    }

    /// Makes a worker, with which one thread answers many stacks. It keeps the names of files.
    pub fn worker(&self) -> Worker<'_> {
        Worker::new(self)
    }
}

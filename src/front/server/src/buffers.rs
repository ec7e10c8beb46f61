//! Reuses the buffers of responses that were sent: growing a fresh buffer copies the response and touches new pages.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::memory::Held;

/// Buffers that are kept, and the bytes that one may have to be kept.
const KEPT: usize = 4;
const LARGEST: usize = 2 << 20;

/// Buffers of answers that were sent.
#[derive(Default)]
pub(crate) struct Buffers {
    free: Mutex<Vec<Vec<u8>>>,
}

impl Buffers {
    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        // A panic while the lock is held leaves the list usable.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty buffer: the one that was sent last, or a new one of a capacity.
    pub(crate) fn take(&self, capacity: usize) -> Vec<u8> {
        self.free().pop().unwrap_or_else(|| Vec::with_capacity(capacity))
    }

    /// An answer, whose buffer comes back when it was sent or is not wanted any more, and its part of the memory then too.
    pub(crate) fn answer(self: &Arc<Self>, mut bytes: Vec<u8>, held: Option<Held>) -> Bytes {
        if bytes.capacity() > LARGEST {
            bytes.shrink_to_fit();
        }
        let held = held.map(|mut held| {
            held.resize(bytes.capacity());
            held
        });
        Bytes::from_owner(Answer { bytes, home: self.clone(), _held: held })
    }
}

/// An answer that is sent.
struct Answer {
    bytes: Vec<u8>,
    home: Arc<Buffers>,
    _held: Option<Held>,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        let mut free = self.home.free();
        // The memory of one large answer must not stay reserved as long as the server runs.
        if free.len() < KEPT && bytes.capacity() <= LARGEST {
            bytes.clear();
            free.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_empty_and_a_large_one_does_not() {
        let buffers = Arc::new(Buffers::default());
        let mut bytes = buffers.take(100);
        bytes.extend_from_slice(b"answer");
        let (capacity, place) = (bytes.capacity(), bytes.as_ptr());
        let answer = buffers.answer(bytes, None);
        assert_eq!(&answer[..], b"answer");
        // It is still being sent.
        let other = buffers.take(7);
        assert_ne!(other.as_ptr(), place);
        drop(answer);
        let again = buffers.take(7);
        assert_eq!((again.len(), again.capacity(), again.as_ptr()), (0, capacity, place));
        drop(buffers.answer(vec![0; LARGEST + 1], None));
        assert_eq!(buffers.take(7).capacity(), 7);
        let answers: Vec<Bytes> =
            (0..2 * KEPT).map(|_| buffers.answer(Vec::with_capacity(9), None)).collect();
        drop(answers);
        assert_eq!(buffers.free().len(), KEPT);
    }
}

//! What a worker gives back between two stacks: files, and the memory of lists that a large stack made grow.

use std::sync::Arc;

use foldsym_store::SymbolMap;

use super::{State, Worker};
use crate::loaded::Loaded;
use crate::unknown::Unknown;

/// The most files whose names a worker keeps. A worker with more files drops all of them before the next stack.
pub(crate) const MAX_FILES: usize = 256;
/// The frames or modules for which a worker keeps room between two stacks.
const KEPT_ROOM: usize = 1 << 16;

impl Worker<'_> {
    /// Forgets all files if there are too many. Indices of files become invalid.
    pub(crate) fn make_room(&mut self) {
        // One of two stacks in turn must not close the files of the other, so half of the bytes may stay.
        self.rest(self.symbolizer.files.most_bytes / 2);
    }

    /// Forgets all files if they are too many, or they and the names of theirs that are kept have more than `most_bytes`, and gives back the memory of a large stack. [`Worker::answer`] does
    /// so before each stack; a thread that waits for its next stack calls this, so that it does not hold them meanwhile.
    pub fn rest(&mut self, most_bytes: u64) {
        shrink(&mut self.placed);
        shrink(&mut self.unknown);
        shrink(&mut self.addresses);
        shrink(&mut self.resolved);
        shrink(&mut self.firsts);
        if self.states.capacity() > KEPT_ROOM {
            (self.states, self.failed, self.modules) = (Vec::new(), Vec::new(), None);
        }
        let names = || self.files.iter().map(|file| file.names.size() as u64).sum::<u64>();
        let is_bounded = most_bytes < u64::MAX / 2;
        if self.files.len() > MAX_FILES || is_bounded && self.bytes.saturating_add(names()) > most_bytes {
            self.forgotten += self.files.len();
            self.files = Vec::new();
            self.bytes = 0;
            self.by_map.clear();
            self.texts.clear();
            self.ranker.clear();
            self.modules = None;
        }
    }

    /// The index of a file, which is used from now on, unless the files of this stack have too many bytes.
    pub(super) fn admit(&mut self, map: Arc<SymbolMap>) -> State {
        let at = Arc::as_ptr(&map) as usize;
        if let Some(known) = self.by_map.get(&at) {
            return Ok(*known);
        }
        let (bytes, most) = (map.bytes().len() as u64, self.symbolizer.files.most_bytes);
        // The file that a stack needs first is used whatever its size.
        if self.bytes.saturating_add(bytes) > most && !self.files.is_empty() {
            let why = format!("not opened: the files of the stack have more than {most} bytes");
            return Err(Unknown::Failed(why.into()));
        }
        self.bytes += bytes;
        self.files.push(Loaded::new(map, self.symbolizer.demangle));
        self.by_map.insert(at, self.files.len() - 1);
        Ok(self.files.len() - 1)
    }
}

/// Gives back the memory of a list that one large stack made grow.
fn shrink<T>(list: &mut Vec<T>) {
    if list.capacity() > KEPT_ROOM {
        list.clear();
        list.shrink_to(KEPT_ROOM);
    }
}

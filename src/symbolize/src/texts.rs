//! The JSON of answers that were given before. Stacks of a program repeat the same addresses, and most of the time for an answer is
//! spent on the lookup and on its text.

use foldhash::HashMap;
use foldsym_lookup::Resolved;

use crate::certainty::{Certainty, Reason};

/// The answer for a link-time address of a file, if it depends on nothing else.
#[derive(Clone, Copy)]
struct Earlier {
    /// The reader's result for the address, without candidates.
    resolved: Resolved,
    /// Where the text is: its start and its end. Equal if there is none yet.
    text: (usize, usize),
    /// How sure the answer of the text is.
    sure: Sure,
}

/// How sure an answer is, and why it is not certain.
pub(crate) type Sure = (Option<Certainty>, Option<Reason>);

/// Earlier answers by file and link-time address. The caller numbers the files.
///
/// An answer that seldom repeats costs more memory and time than it saves. So a few answers are kept at first, and more only while kept
/// answers are found at least as often as new ones are added.
#[derive(Default)]
pub(crate) struct Texts {
    /// The upper limit of the bytes that are kept, and the current limit.
    most: usize,
    limit: usize,
    /// Texts that were kept since `limit` was set, and how often one was found.
    kept: usize,
    found: usize,
    known: HashMap<(usize, u64), Earlier>,
    bytes: Vec<u8>,
}

/// Bytes of memory for an answer, without its text.
const ENTRY: usize = 2 * size_of::<((usize, u64), Earlier)>();

/// Bytes that are kept at first, and at least.
const LEAST: usize = 1 << 20;

impl Texts {
    /// An empty value that keeps at most this many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, limit: most.min(LEAST), ..Self::default() }
    }

    /// The reader's result for an address that was resolved before.
    pub(crate) fn resolved(&self, file: usize, address: u64) -> Option<Resolved> {
        self.known.get(&(file, address)).map(|kept| kept.resolved)
    }

    /// Keeps the reader's result for an address in code of one function.
    pub(crate) fn resolve(&mut self, file: usize, address: u64, resolved: Resolved) {
        if self.make_room(0) {
            self.known.insert((file, address), Earlier { resolved, text: (0, 0), sure: (None, None) });
        }
    }

    /// The text for an address of a file.
    pub(crate) fn text(&self, file: usize, address: u64) -> Option<&[u8]> {
        let (start, end) = self.known.get(&(file, address))?.text;
        self.bytes.get(start..end).filter(|text| !text.is_empty())
    }

    /// How sure the answer is whose text is kept for an address of a file.
    pub(crate) fn sure(&mut self, file: usize, address: u64) -> Option<Sure> {
        let kept = self.known.get(&(file, address)).filter(|kept| kept.text.0 < kept.text.1)?;
        self.found += 1;
        Some(kept.sure)
    }

    /// Keeps the text of an address that was resolved, unless it is too large.
    pub(crate) fn insert(&mut self, file: usize, address: u64, text: &[u8], sure: Sure) {
        if !self.make_room(text.len()) {
            return;
        }
        if let Some(kept) = self.known.get_mut(&(file, address)) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(text);
            (kept.text, kept.sure) = ((start, self.bytes.len()), sure);
            self.kept += 1;
        }
    }

    /// The bytes that are kept.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.known.len() * ENTRY
    }

    /// Drops all answers.
    pub(crate) fn clear(&mut self) {
        // The values are replaced, since `clear` would keep their memory.
        (self.known, self.bytes) = (HashMap::default(), Vec::new());
    }

    /// True if there is room for one more answer and this many bytes of text, possibly after raising the limit or dropping all answers.
    fn make_room(&mut self, text: usize) -> bool {
        let need = text + ENTRY;
        // The text would take more than half of the room.
        if need > self.limit / 2 {
            return false;
        }
        let is_full = |texts: &Self| texts.size() + need > texts.limit;
        if is_full(self) {
            self.limit = match self.found >= self.kept {
                true => self.limit.saturating_mul(2).min(self.most),
                false => (self.limit / 2).max(LEAST.min(self.most)),
            };
            // The counts restart, so that the limit follows recent stacks.
            (self.found, self.kept) = (0, 0);
            if is_full(self) {
                self.clear();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1 << 23;
    const SURE: Sure = (Some(Certainty::Unique), None);

    fn add(texts: &mut Texts, address: u64, text: &[u8]) {
        texts.resolve(1, address, Resolved::NONE);
        texts.insert(1, address, text, SURE);
    }

    #[test]
    fn answers_that_nobody_asks_for_again_stay_few() {
        let mut texts = Texts::new(MOST);
        for address in 0..20_000 {
            add(&mut texts, address, &[address as u8; 1000]);
            assert!(texts.size() <= LEAST);
        }
        // The last ones are there, and not under another address or file.
        assert_eq!(texts.text(1, 19_999), Some(&[19_999_u64 as u8; 1000][..]));
        assert_eq!(texts.sure(1, 19_999), Some(SURE));
        assert_eq!((texts.text(1, 0), texts.text(2, 19_999)), (None, None));
    }

    #[test]
    fn answers_that_come_again_are_kept() {
        let mut texts = Texts::new(MOST);
        for address in 0..4000 {
            add(&mut texts, address, &[address as u8; 1000]);
            assert_eq!(texts.sure(1, address), Some(SURE), "{address}");
        }
        assert!((0..4000).all(|address| texts.text(1, address) == Some(&[address as u8; 1000][..])));
        assert!(texts.size() > 4 * LEAST && texts.size() <= MOST);
        // After a time without repetition there are few, and then more again.
        for address in 10_000..40_000 {
            add(&mut texts, address, &[0; 1000]);
        }
        assert!(texts.limit < MOST / 2);
        for address in 50_000..58_000 {
            add(&mut texts, address, &[0; 1000]);
            texts.sure(1, address);
            texts.sure(1, address);
        }
        assert_eq!(texts.limit, MOST);
    }

    #[test]
    fn what_does_not_fit_drops_nothing() {
        let mut texts = Texts::new(MOST);
        add(&mut texts, 1, b"a");
        add(&mut texts, 2, &[0; MOST]);
        assert_eq!((texts.text(1, 1), texts.text(1, 2)), (Some(&b"a"[..]), None));
        // A text is kept only together with the reader's result for the address.
        texts.insert(3, 1, b"a", SURE);
        assert!(texts.text(3, 1).is_none() && texts.resolved(3, 1).is_none());
        let mut none = Texts::new(0);
        add(&mut none, 1, b"a");
        assert!(none.text(1, 1).is_none() && none.resolved(1, 1).is_none());
    }
}

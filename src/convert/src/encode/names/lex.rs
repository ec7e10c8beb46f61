//! Turns sorted names into front-coded suffixes made of words.
//!
//! A word is what mangling schemes and programmers repeat: a length with its identifier
//! (`7rocksdb`), a run of letters with the underscores before it, a number, any other byte. Cutting
//! at words decides where tokens can begin: it may cost size, never correctness. A suffix begins
//! at a word as well: the same word would otherwise appear in as many pieces as it has first bytes
//! shared with neighbours.

/// Ends a suffix in a sequence of symbols.
pub(super) const END: u32 = u32::MAX;

/// The words of all suffixes.
pub(super) struct Lexed<'n> {
    /// Word numbers, each suffix ended by [`END`].
    pub(super) sequence: Vec<u32>,
    /// For each name, how many bytes it keeps of the one before.
    pub(super) keeps: Vec<u32>,
    /// The distinct words, in order of first use.
    pub(super) words: Vec<&'n [u8]>,
    /// How often each word is used.
    pub(super) uses: Vec<u32>,
}

/// Cuts `names` into suffixes and words; every `block`-th name keeps nothing.
pub(super) fn lex<'n>(names: &[&'n [u8]], block: usize) -> Lexed<'n> {
    let mut out = Lexed {
        sequence: Vec::new(),
        keeps: Vec::with_capacity(names.len()),
        words: Vec::new(),
        uses: Vec::new(),
    };
    let mut numbers = Interner::default();
    // Ends and numbers of the words of the name before: what the next one keeps is not cut again.
    let mut cuts: Vec<(u32, u32)> = Vec::new();
    let mut before: &[u8] = &[];
    for (i, &name) in names.iter().enumerate() {
        let shared = shared_prefix(before, name);
        // A word that ends where the names part may go on in this name.
        while cuts.last().is_some_and(|cut| cut.0 as usize >= shared) {
            cuts.pop();
        }
        let head = i % block == 0;
        if head {
            for &(_, word) in &cuts {
                out.sequence.push(word);
                out.uses[word as usize] += 1;
            }
        }
        let mut keep = cuts.last().map_or(0, |cut| cut.0 as usize);
        let mut at = keep;
        while at < name.len() {
            let end = word_end(name, at);
            let word = numbers.number(&name[at..end], &mut out.words);
            if word as usize == out.uses.len() {
                out.uses.push(0);
            }
            cuts.push((end as u32, word));
            if end <= shared && !head {
                keep = end;
            } else {
                out.sequence.push(word);
                out.uses[word as usize] += 1;
            }
            at = end;
        }
        out.sequence.push(END);
        out.keeps.push(if head { 0 } else { keep as u32 });
        before = name;
    }
    out
}

/// The number of bytes that `a` and `b` begin with alike.
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let (mut wide_a, mut wide_b) = (a[..most].chunks_exact(8), b[..most].chunks_exact(8));
    let mut at = 0;
    for (x, y) in wide_a.by_ref().zip(wide_b.by_ref()) {
        let differ = u64::from_le_bytes(x.try_into().unwrap()) ^ u64::from_le_bytes(y.try_into().unwrap());
        if differ != 0 {
            return at + differ.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + wide_a.remainder().iter().zip(wide_b.remainder()).take_while(|(x, y)| x == y).count()
}

const DIGIT: u8 = 1;
const LETTER: u8 = 2;
const INNER: u8 = 4;

/// What each byte can be part of: a number, a run of letters, an identifier.
static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        class[byte] = if b.is_ascii_digit() {
            DIGIT | INNER
        } else if b.is_ascii_alphabetic() || b >= 0x80 {
            LETTER | INNER
        } else if matches!(b, b'_' | b'$' | b'.') {
            INNER
        } else {
            0
        };
        byte += 1;
    }
    class
};

/// No word is longer: a number of up to three digits and that many bytes.
const MAX_WORD: usize = 96;

/// The end of the word of `name` that begins at `at`.
fn word_end(name: &[u8], at: usize) -> usize {
    let rest = &name[at..];
    let rest = &rest[..rest.len().min(MAX_WORD)];
    let is = |byte: u8, class: u8| CLASS[usize::from(byte)] & class != 0;
    let begins = |from: usize, class: u8| rest.get(from).is_some_and(|&byte| is(byte, class));
    if is(rest[0], DIGIT) {
        let number = &rest[..rest.len().min(3)];
        let digits = number.iter().position(|&byte| !is(byte, DIGIT)).unwrap_or(number.len());
        let length = number[..digits].iter().fold(0, |n, b| n * 10 + usize::from(b - b'0'));
        // `12BlockBuilder`, as C++ and Rust mangle; the identifier does not begin with a digit.
        if rest[0] != b'0'
            && length >= 2
            && !begins(digits, DIGIT)
            && let Some(identifier) = rest.get(digits..digits + length)
            && identifier.iter().all(|&byte| is(byte, INNER))
        {
            return at + digits + length;
        }
        return at + digits;
    }
    let letters = rest.iter().position(|&byte| byte != b'_').unwrap_or(rest.len());
    if begins(letters, LETTER) {
        let run = rest[letters..].iter().position(|&byte| !is(byte, LETTER));
        return at + run.map_or(rest.len(), |run| letters + run);
    }
    at + letters.max(1)
}

/// Numbers distinct byte strings in order of first sight: an open-addressing table of
/// (hash, number + 1). A table of its own, so that the order never hangs on a hasher's seed.
#[derive(Default)]
struct Interner {
    slots: Vec<(u32, u32)>,
}

impl Interner {
    fn number<'n>(&mut self, word: &'n [u8], words: &mut Vec<&'n [u8]>) -> u32 {
        if words.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = hash(word);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let (slot_hash, number) = self.slots[at];
            if number == 0 {
                words.push(word);
                self.slots[at] = (hash, words.len() as u32);
                return words.len() as u32 - 1;
            }
            if slot_hash == hash && words[number as usize - 1] == word {
                return number - 1;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1024);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); size]);
        for slot in old.into_iter().filter(|slot| slot.1 != 0) {
            let mut at = slot.0 as usize & (size - 1);
            while self.slots[at].1 != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }
}

fn hash(word: &[u8]) -> u32 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = word.len() as u64;
    let mut wide = word.chunks_exact(8);
    for chunk in wide.by_ref() {
        state = (state.rotate_left(5) ^ u64::from_le_bytes(chunk.try_into().unwrap())).wrapping_mul(MIX);
    }
    let mut last = 0;
    for &byte in wide.remainder() {
        last = last << 8 | u64::from(byte);
    }
    state = (state.rotate_left(5) ^ last).wrapping_mul(MIX);
    (state >> 32) as u32
}
